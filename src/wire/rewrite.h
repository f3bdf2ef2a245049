/* SPDX-License-Identifier: Apache-2.0
 * wire/rewrite.h: the text of a recorded output, and a history with other texts
 * in the places of some. Everything else stays as it is, byte for byte where the
 * history is written without white space. */
#ifndef WBI_WIRE_REWRITE_H
#define WBI_WIRE_REWRITE_H

#include "wire/history.h"

/* All text of an output, parts joined by line ends; media are left out. Absent
 * when it has none. */
struct wbi_str wbi_history_text(struct wbi_arena *arena, const struct wbi_history *h,
                                const struct wbi_history_entry *e);
/* True where the output is a list of parts, not one text. */
bool wbi_history_has_parts(const struct wbi_history *h, const struct wbi_history_entry *e);
/* True where an output is its text: one string, or the texts of a shell's commands. */
bool wbi_history_is_text(const struct wbi_history *h, const struct wbi_history_entry *e);
/* Adds what goes besides when the text of an output is replaced, as JSON: media beside a
 * text, and the whole of lists of parts and objects, with the texts in them. */
void wbi_history_add_rest(const struct wbi_history *h, const struct wbi_history_entry *e,
                          struct wbi_buf *out);
/* True when two outputs say and show the same. */
bool wbi_history_equal(const struct wbi_history *h, const struct wbi_history_entry *a,
                       const struct wbi_history_entry *b);
/* True where the output says that its call failed. */
bool wbi_history_failed(const struct wbi_history *h, const struct wbi_history_entry *e,
                        struct wbi_str text);

/* The history with texts[i] as the text of entry i where it is present (outputs
 * only). Adds to out; WB_ENOMEM or WB_ELIMIT when out is full. ends (may be NULL)
 * has room for every message and gets where in out each one ends. */
WB_MUST_CHECK wb_rc wbi_history_rewrite(const struct wbi_history *h, const struct wbi_str *texts,
                                        struct wbi_buf *out, size_t *ends);

#endif
