/* SPDX-License-Identifier: Apache-2.0
 * artifact/shown.h: one stream of output as it may be shown: cleaned, redacted,
 * indexed for a preview while it arrives. Memory stays flat: beyond a cap the
 * cleaned text goes to a file without a name. Line numbers are those of the raw
 * bytes. One thread at a time. */
#ifndef WBI_ARTIFACT_SHOWN_H
#define WBI_ARTIFACT_SHOWN_H

#include "text/hygiene.h"
#include "text/preview.h"
#include "text/secrets.h"

struct wbi_shown;

/* dir_fd: where the file without a name may be made (stays the caller's), or -1:
 * then the middle of a text over the cap cannot be shown. command as in
 * wbi_preview_policy; secrets may be NULL and must outlive it. */
WB_MUST_CHECK wb_rc wbi_shown_new(int dir_fd, const struct wbi_secrets *secrets,
                                  struct wbi_str command, struct wbi_shown **ret);
void wbi_shown_free(struct wbi_shown *s); /* NULL is fine */
/* Hand each piece of text on as it is taken, cleaned and redacted; whole lines but the last. */
void wbi_shown_tap(struct wbi_shown *s, void (*on_text)(void *arg, struct wbi_str text), void *arg);
/* Failures stick and are told by wbi_shown_end. */
void wbi_shown_feed(struct wbi_shown *s, struct wbi_str raw);
/* No more will come. May be called again. */
WB_MUST_CHECK wb_rc wbi_shown_end(struct wbi_shown *s);
/* The same for what is still being printed: the start of a character at its end is left out. */
WB_MUST_CHECK wb_rc wbi_shown_end_so_far(struct wbi_shown *s);

/* After the end. */
uint64_t wbi_shown_tokens(const struct wbi_shown *s); /* of the whole cleaned text */
uint64_t wbi_shown_lines(const struct wbi_shown *s);
double wbi_shown_worst(struct wbi_shown *s); /* as wbi_preview_index_worst */
/* What is shown differs in more than white space from what was printed: cleaning or redaction
 * did something, or JSON is spelled otherwise. */
bool wbi_shown_changed(const struct wbi_shown *s);
const struct wbi_hygiene_counts *wbi_shown_counts(const struct wbi_shown *s);
uint64_t wbi_shown_secrets(const struct wbi_shown *s); /* replaced */
WB_MUST_CHECK wb_rc wbi_shown_preview(struct wbi_shown *s, struct wbi_arena *arena,
                                      const struct wbi_preview_policy *policy,
                                      struct wbi_preview *ret, struct wbi_error *err);

#endif
