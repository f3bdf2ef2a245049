/* SPDX-License-Identifier: Apache-2.0
 * mcp/sse.c: lines end in LF, CR or CRLF; an empty line ends an event. */
#include "mcp/sse.h"

void wbi_sse_init(struct wbi_sse *s, size_t max)
{
    memset(s, 0, sizeof(*s));
    s->max = max;
    wbi_buf_init(&s->line, max);
    wbi_buf_init(&s->data, max);
}

void wbi_sse_fini(struct wbi_sse *s)
{
    wbi_buf_fini(&s->line);
    wbi_buf_fini(&s->data);
}

static void take_field(struct wbi_sse *s)
{
    struct wbi_str line = wbi_buf_str(&s->line);
    struct wbi_str value;

    if (!wbi_str_starts(line, WBI_LIT("data")) || (line.n > 4 && line.p[4] != ':'))
        return;
    value = wbi_str_from(line, 5);
    if (value.n > 0 && value.p[0] == ' ')
        value = wbi_str_from(value, 1);
    if (s->has_data)
        wbi_buf_addc(&s->data, '\n');
    wbi_buf_adds(&s->data, value);
    s->has_data = true;
    s->overflow = s->overflow || wbi_buf_rc(&s->data) != WB_OK;
}

/* The line is complete; true when it ended an event that has data. */
static bool end_line(struct wbi_sse *s)
{
    bool empty = s->line.n == 0 && wbi_buf_rc(&s->line) == WB_OK, whole;

    if (!empty) {
        if (wbi_buf_rc(&s->line) != WB_OK)
            s->overflow = true;
        else
            take_field(s);
        wbi_buf_clear(&s->line);
        return false;
    }
    whole = s->has_data && !s->overflow;
    s->too_long += s->overflow;
    s->has_data = s->overflow = false;
    if (!whole)
        wbi_buf_clear(&s->data);
    return whole;
}

bool wbi_sse_next(struct wbi_sse *s, struct wbi_str *bytes, struct wbi_str *ret)
{
    if (!s->has_data)
        wbi_buf_clear(&s->data); /* the event given out last */
    while (bytes->n > 0) {
        size_t n = 0;
        char c;

        if (s->after_cr && bytes->p[0] == '\n')
            *bytes = wbi_str_from(*bytes, 1);
        s->after_cr = false;
        while (n < bytes->n && bytes->p[n] != '\n' && bytes->p[n] != '\r')
            n++;
        wbi_buf_add(&s->line, bytes->p, n);
        if (n == bytes->n) {
            *bytes = wbi_str_from(*bytes, n);
            return false;
        }
        c = bytes->p[n];
        *bytes = wbi_str_from(*bytes, n + 1);
        s->after_cr = c == '\r';
        if (end_line(s)) {
            *ret = wbi_buf_str(&s->data);
            return true;
        }
    }
    return false;
}
