/* SPDX-License-Identifier: Apache-2.0
 * artifact/cleaner.h: the cleaning and redaction of receipts, for ranged reads:
 * what a page shows is what a preview of the same lines shows (C6.5). */
#ifndef WBI_ARTIFACT_CLEANER_H
#define WBI_ARTIFACT_CLEANER_H

#include "artifact/read.h"

struct wbi_secrets;

/* secrets may be NULL (cleaning only) and must outlive the cleaner. Any thread. */
struct wbi_cleaner wbi_cleaner_text(const struct wbi_secrets *secrets);
/* Of a text that is still being written: the start of a character at its end is left for the
 * next read, so that reading on from there misses nothing. */
struct wbi_cleaner wbi_cleaner_text_so_far(const struct wbi_secrets *secrets);

#endif
