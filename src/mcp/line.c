/* SPDX-License-Identifier: Apache-2.0
 * mcp/line.c: lines out of chunks; a line inside one chunk is not copied. */
#include "mcp/line.h"

void wbi_lines_init(struct wbi_lines *l, size_t max)
{
    memset(l, 0, sizeof(*l));
    l->max = max;
    wbi_buf_init(&l->held, max);
}

void wbi_lines_fini(struct wbi_lines *l)
{
    wbi_buf_fini(&l->held);
}

static struct wbi_str without_cr(struct wbi_str s)
{
    return s.n > 0 && s.p[s.n - 1] == '\r' ? wbi_str_head(s, s.n - 1) : s;
}

/* Keep a piece; past the cap (or out of memory) the whole line is given up. */
static void hold(struct wbi_lines *l, struct wbi_str piece)
{
    if (l->skipping)
        return;
    if (piece.n > l->max - l->held.n)
        l->skipping = true;
    else
        wbi_buf_adds(&l->held, piece);
    if (wbi_buf_rc(&l->held) != WB_OK)
        l->skipping = true;
    if (l->skipping)
        l->too_long++;
}

bool wbi_lines_next(struct wbi_lines *l, struct wbi_str *bytes, struct wbi_str *ret)
{
    if (l->held.n > 0 && l->held.p[l->held.n - 1] == '\n')
        wbi_buf_clear(&l->held); /* the line given out last */
    while (bytes->n > 0) {
        size_t end = wbi_str_index(*bytes, '\n');
        struct wbi_str piece = wbi_str_head(*bytes, end);
        bool whole = end < bytes->n;

        *bytes = wbi_str_from(*bytes, end + 1);
        if (whole && l->held.n == 0 && !l->skipping && piece.n <= l->max) {
            *ret = without_cr(piece);
            if (wbi_str_trim(*ret).n > 0)
                return true;
            continue;
        }
        hold(l, piece);
        if (!whole)
            return false;
        if (l->skipping) {
            l->skipping = false;
            wbi_buf_clear(&l->held);
            continue;
        }
        *ret = without_cr(wbi_buf_str(&l->held));
        if (wbi_str_trim(*ret).n == 0) {
            wbi_buf_clear(&l->held);
            continue;
        }
        l->held.max = l->max + 1;
        wbi_buf_addc(&l->held, '\n'); /* marks it as given out */
        l->held.max = l->max;
        if (wbi_buf_rc(&l->held) != WB_OK) {
            l->too_long++;
            wbi_buf_clear(&l->held);
            continue;
        }
        ret->p = l->held.p; /* it may have moved */
        return true;
    }
    return false;
}
