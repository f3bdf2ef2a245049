/* SPDX-License-Identifier: Apache-2.0
 * text/utf16.h: output in UTF-16, as programs of Windows print it, made UTF-8. A byte order
 * mark tells it, or Western letters with a NUL behind each from the first on. Other
 * bytes pass as they are, and so does plain text behind a line of UTF-16: one stream may be
 * that of several programs. */
#ifndef WBI_TEXT_UTF16_H
#define WBI_TEXT_UTF16_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

/* So many bytes tell whether it is UTF-16, or no longer. */
#define WBI_UTF16_LOOK 16u

enum wbi_utf16_mode { WBI_UTF16_NOT, WBI_UTF16_MAYBE, WBI_UTF16_LITTLE, WBI_UTF16_BIG };

struct wbi_utf16 {
    enum wbi_utf16_mode mode; /* NOT: nothing is held, and nothing need be fed any more */
    bool seen;                /* something was decoded */
    bool starts;              /* a line starts */
    uint8_t n;
    uint8_t held[WBI_UTF16_LOOK];
    uint16_t high;     /* the first half of a pair, or 0 */
    uint64_t unpaired; /* halves without the other, as U+FFFD */
};

void wbi_utf16_init(struct wbi_utf16 *u);
/* The next bytes; what they tell is added to out, whose failure sticks to it. */
void wbi_utf16_feed(struct wbi_utf16 *u, struct wbi_str bytes, struct wbi_buf *out);
/* No more will come. cut: half a character at the end is not one that is broken. */
void wbi_utf16_finish(struct wbi_utf16 *u, bool cut, struct wbi_buf *out);

#endif
