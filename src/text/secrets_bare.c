/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_bare.c: a text without its visible marks (<U+200B>), and where what is left of
 * it stood. */
#include "text/secrets_int.h"

struct piece {
    size_t at;    /* in the bare text */
    size_t stood; /* in the whole one */
};

size_t wbi_mark_at(struct wbi_str t, size_t i)
{
    size_t k = i + 3;

    if (t.n - i < 8 || t.p[i] != '<' || t.p[i + 1] != 'U' || t.p[i + 2] != '+')
        return 0;
    while (k < t.n && k < i + 9 && wbi_in_alphabet((uint8_t)t.p[k], A_HEX))
        k++;
    return k >= i + 7 && k < t.n && t.p[k] == '>' ? k + 1 - i : 0;
}

void wbi_bare_fini(struct bare *b)
{
    wbi_buf_fini(&b->text);
    wbi_buf_fini(&b->pieces);
}

static void add_piece(struct bare *b, struct wbi_str t, size_t from, size_t to)
{
    struct piece piece = {b->text.n, from};

    if (from == to)
        return;
    wbi_buf_add(&b->pieces, &piece, sizeof piece);
    wbi_buf_add(&b->text, t.p + from, to - from);
}

wb_rc wbi_bare_of(struct wbi_str t, struct bare *b)
{
    size_t from = 0, i = 0, mark;
    const char *open;

    b->whole = t.n;
    wbi_buf_init(&b->text, t.n + 1);
    wbi_buf_init(&b->pieces, (t.n + 1) * sizeof(struct piece));
    while (i < t.n && (open = memchr(t.p + i, '<', t.n - i)) != NULL) {
        i = (size_t)(open - t.p);
        mark = wbi_mark_at(t, i);
        if (mark > 0) {
            add_piece(b, t, from, i);
            from = i + mark;
        }
        i += mark > 0 ? mark : 1;
    }
    add_piece(b, t, from, t.n);
    if (wbi_buf_rc(&b->text) == WB_OK && wbi_buf_rc(&b->pieces) == WB_OK)
        return WB_OK;
    wbi_bare_fini(b);
    return WB_ENOMEM;
}

size_t wbi_bare_stood(const struct bare *b, size_t at)
{
    const struct piece *pieces = (const void *)b->pieces.p;
    size_t low = 0, high = b->pieces.n / sizeof *pieces;

    if (at >= b->text.n)
        return b->whole;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return pieces[low].stood + at - pieces[low].at;
}
