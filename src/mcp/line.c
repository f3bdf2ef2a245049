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

static void give_up(struct wbi_lines *l, struct wbi_str piece)
{
    if (!l->skipping) {
        l->skipping = true;
        l->too_long++;
        l->about = (struct wbi_overlong){0};
        wbi_overlong_feed(&l->about, wbi_buf_str(&l->held));
        wbi_buf_fini(&l->held);
    }
    wbi_overlong_feed(&l->about, piece);
}

/* Keep a piece; past the cap (or out of memory) the whole line is given up. */
static void hold(struct wbi_lines *l, struct wbi_str piece)
{
    size_t n = l->held.n;

    if (l->skipping || piece.n > l->max - n) {
        give_up(l, piece);
        return;
    }
    wbi_buf_adds(&l->held, piece);
    if (wbi_buf_rc(&l->held) != WB_OK) {
        l->held.n = n;
        give_up(l, piece);
    }
}

/* The line that is held is over; false when there is nothing in it. */
static bool end_line(struct wbi_lines *l, struct wbi_str *ret)
{
    l->lost = l->skipping;
    l->skipping = false;
    *ret = WBI_NONE;
    if (l->lost)
        return true;
    *ret = without_cr(wbi_buf_str(&l->held));
    if (wbi_str_trim(*ret).n == 0) {
        wbi_buf_clear(&l->held);
        return false;
    }
    l->given = true;
    return true;
}

bool wbi_lines_next(struct wbi_lines *l, struct wbi_str *bytes, struct wbi_str *ret)
{
    l->lost = false;
    if (l->given)
        wbi_buf_clear(&l->held);
    l->given = false;
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
        if (end_line(l, ret))
            return true;
    }
    return false;
}
