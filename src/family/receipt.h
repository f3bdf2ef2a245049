/* SPDX-License-Identifier: Apache-2.0
 * family/receipt.h: what all receipts share (C6): length-marked sections, the
 * error receipt, and the way from a canonical result to its family's renderer. */
#ifndef WBI_FAMILY_RECEIPT_H
#define WBI_FAMILY_RECEIPT_H

#include "catalog/tool.h"
#include "family/canonical.h"

/* A section: "NAME: (N lines)" and the lines of text, each as it is, so that no
 * payload can forge a section. Nothing for an empty text. */
void wbi_receipt_section(struct wbi_buf *out, const char *name, struct wbi_str text);
/* The same for the text of a preview, which has no line end behind its last line: that may be
 * an empty one. Nothing for an absent text. */
void wbi_receipt_preview(struct wbi_buf *out, const char *name, struct wbi_str text);
/* "name: value" on one line, control and hidden characters made visible. */
void wbi_receipt_line(struct wbi_buf *out, const char *name, struct wbi_str value);
/* The call that reads lines of an artifact, with "A-B" for which; on one line, the path as JSON
 * has it. Absent when out of memory. */
struct wbi_str wbi_receipt_read_call(struct wbi_arena *arena, struct wbi_str path);
/* Lines of text, the last one counted whether or not it ends in a line end. */
size_t wbi_receipt_lines(struct wbi_str text);

/* A stream of a result by the prefix of its members: PREFIX_preview,
 * PREFIX_truncated, PREFIX_artifact (index into artifacts), PREFIX_bytes,
 * PREFIX_lines, PREFIX_encoding, PREFIX_redraws, PREFIX_dropped_bytes. The header says where
 * the whole is and that this is not all of it; the other writes the section. */
void wbi_receipt_stream_header(struct wbi_buf *out, const wbi_json *result, const char *prefix,
                               const char *section);
void wbi_receipt_stream(struct wbi_buf *out, const wbi_json *result, const char *prefix,
                        const char *section);

/* The budget of a receipt in tokens; one below the least counts as the least and
 * the receipt says so (I3). */
#define WBI_BUDGET_LEAST 200u
#define WBI_BUDGET_MOST 64000u
struct wbi_allowance {
    uint32_t tokens;
    uint32_t asked; /* what was wished for, when it was raised */
    bool raised;
};
/* The member "budget" when it was raised; the line that tells it. */
void wbi_receipt_write_budget(struct wbi_jw *w, const struct wbi_allowance *budget);
void wbi_receipt_budget(struct wbi_buf *out, const wbi_json *result);

/* What an error says, a line; what has more is marked with its length like any payload: servers
 * and tools say it. */
void wbi_receipt_message(struct wbi_buf *out, struct wbi_str message);
/* Of an error's receipt, but for what the call had produced (C6.1): the whole, and what its
 * first line, the hint and the names of details cost. */
#define WBI_ERROR_TOKENS 1000u
#define WBI_ERROR_FRAME_TOKENS 100u

/* family NULL: chosen by the shape of the result (the generic one). No line end
 * at the end of the receipt. */
WB_MUST_CHECK wb_rc wbi_receipt_render(const struct wbi_family *family,
                                       const struct wbi_canonical *c, struct wbi_arena *arena,
                                       struct wbi_buf *out, struct wbi_error *err);

#endif
