/* SPDX-License-Identifier: Apache-2.0
 * text/hygiene.h: bytes of a program made fit to be shown (C6.5).
 * One streaming pass: UTF-8 repaired (one U+FFFD per maximal ill-formed
 * subpart), carriage returns, backspaces and in-line cursor moves played out to
 * the final text of each line, escape sequences removed, invisible and
 * bidirectional characters and other controls written visibly as <U+200B>.
 * The number of lines never changes, so line numbers of the cleaned text are
 * those of the raw bytes. Clean text passes through unchanged. */
#ifndef WBI_TEXT_HYGIENE_H
#define WBI_TEXT_HYGIENE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"
#include "text/utf16.h"

struct wbi_hygiene_counts {
    uint64_t bytes_in;
    uint64_t lines;     /* newlines seen */
    uint64_t repaired;  /* U+FFFD written for ill-formed bytes */
    uint64_t sequences; /* escape sequences removed, finished or not */
    uint64_t redraws;   /* carriage returns and backspaces that moved back over text */
    uint64_t invisible; /* invisible or bidirectional characters made visible */
    uint64_t controls;  /* other control characters made visible or dropped */
    uint64_t decoded;   /* streams that were UTF-16, or began so */
};

struct wbi_hygiene {
    struct wbi_hygiene_counts counts;
    struct wbi_buf line; /* the line under construction while the cursor is at its end */
    uint32_t *cells;     /* the same line as code points once something moved the cursor */
    size_t n_cells;
    size_t cap_cells;
    size_t cursor;
    uint32_t last;  /* last code point written, for variation selectors */
    uint32_t param; /* first number of the control sequence being read */
    bool have_param;
    bool private_param; /* a second number or a prefix: only the final byte counts */
    bool celled;
    bool binary;   /* the line holds controls no terminal drawing uses */
    bool returned; /* the last byte of the last feed was a carriage return */
    uint8_t state;
    uint8_t pending_n; /* bytes of an unfinished UTF-8 sequence */
    uint8_t pending[4];
    bool any_encoding;
    struct wbi_utf16 utf16; /* in front of everything else */
    struct wbi_buf utf8;    /* what one feed is in UTF-8 */
};

void wbi_hygiene_init(struct wbi_hygiene *h);
/* For what a program prints: UTF-16 is told and read as such. Line numbers are then those
 * of the text it is. */
void wbi_hygiene_init_output(struct wbi_hygiene *h);
/* Frees what init and feed took; needed also after a failure. */
void wbi_hygiene_fini(struct wbi_hygiene *h);
/* Clean the next bytes onto out. The last line stays inside until its newline
 * or finish; a line over WBI_LIMIT_TEXT_LINE is passed on in parts, and redraws
 * then reach back only to the last part. WB_ENOMEM, or out's WB_ELIMIT. */
WB_MUST_CHECK wb_rc wbi_hygiene_feed(struct wbi_hygiene *h, struct wbi_str bytes,
                                     struct wbi_buf *out);
/* End of the stream: the last line and a mark for bytes of a cut character.
 * The state is ready for a new stream; the counts go on. */
WB_MUST_CHECK wb_rc wbi_hygiene_finish(struct wbi_hygiene *h, struct wbi_buf *out);
/* The same where more may come later: bytes of a cut character are left out. */
WB_MUST_CHECK wb_rc wbi_hygiene_finish_so_far(struct wbi_hygiene *h, struct wbi_buf *out);

/* All of it for text in memory. ret_counts may be NULL. */
WB_MUST_CHECK wb_rc wbi_hygiene_clean(struct wbi_str bytes, struct wbi_buf *out,
                                      struct wbi_hygiene_counts *ret_counts);
/* True when cleaning would change nothing. */
bool wbi_hygiene_is_clean(struct wbi_str bytes);
/* True when cp is made visible after `before` (0: nothing), and for controls but those
 * below the blank. */
bool wbi_hygiene_hidden(uint32_t cp, uint32_t before);
/* The mark it is made visible by; returns its length. */
#define WBI_HYGIENE_MARK 16
size_t wbi_hygiene_mark(uint32_t cp, char out[WBI_HYGIENE_MARK]);

/* Text that must stay on one line and obeys nothing (a name, a command): newlines as \n, other
 * controls and hidden characters as marks, ill-formed bytes as U+FFFD. */
void wbi_hygiene_one_line(struct wbi_str text, struct wbi_buf *out);

/* JSON text that is clean, so that what it says is clean too: escapes of hidden characters
 * (\u202e) become marks. *ret is json itself when there are none, else in arena. */
WB_MUST_CHECK wb_rc wbi_hygiene_json(struct wbi_arena *arena, struct wbi_str json,
                                     struct wbi_str *ret);
/* True when JSON text, read and written again, has strings spelled otherwise. */
bool wbi_hygiene_json_respelled(struct wbi_str json);

#endif
