/* SPDX-License-Identifier: Apache-2.0
 * mcp/sse.c: lines end in LF, CR or CRLF; an empty line ends an event; a stream may begin
 * with a byte order mark. */
#include "mcp/sse.h"

void wbi_sse_init(struct wbi_sse *s, size_t max)
{
    memset(s, 0, sizeof(*s));
    s->max = max;
    s->retry_ms = -1;
    wbi_buf_init(&s->line, max);
    wbi_buf_init(&s->data, max);
}

void wbi_sse_fini(struct wbi_sse *s)
{
    wbi_buf_fini(&s->line);
    wbi_buf_fini(&s->data);
}

void wbi_sse_restart(struct wbi_sse *s)
{
    wbi_buf_clear(&s->line);
    wbi_buf_clear(&s->data);
    s->begun = s->after_cr = s->has_data = s->overflow = false;
    memcpy(s->id, s->last_id, sizeof(s->id));
}

/* It is sent back in a header: nothing but visible characters. */
static void take_id(struct wbi_sse *s, struct wbi_str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < ' ' || value.p[i] > '~')
            return;
    if (value.n > WBI_SSE_ID)
        return;
    memcpy(s->id, value.p, value.n);
    s->id[value.n] = '\0';
}

static void take_retry(struct wbi_sse *s, struct wbi_str value)
{
    int64_t ms = 0;

    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9' || i > 8)
            return;
        ms = ms * 10 + (value.p[i] - '0');
    }
    if (value.n > 0)
        s->retry_ms = ms;
}

static void take_field(struct wbi_sse *s, struct wbi_str line)
{
    size_t colon = wbi_str_index(line, ':');
    struct wbi_str name = wbi_str_head(line, colon), value = wbi_str_from(line, colon + 1);

    if (value.n > 0 && value.p[0] == ' ')
        value = wbi_str_from(value, 1);
    if (wbi_str_eqz(name, "id"))
        take_id(s, value);
    else if (wbi_str_eqz(name, "retry"))
        take_retry(s, value);
    if (!wbi_str_eqz(name, "data"))
        return;
    if (s->has_data)
        wbi_buf_addc(&s->data, '\n');
    wbi_buf_adds(&s->data, value);
    s->has_data = true;
    s->overflow = s->overflow || wbi_buf_rc(&s->data) != WB_OK;
}

/* The line is complete; true when it ended an event that has data. */
static bool end_line(struct wbi_sse *s)
{
    struct wbi_str line = wbi_buf_str(&s->line);
    bool cut = wbi_buf_rc(&s->line) != WB_OK, whole;

    if (!s->begun && wbi_str_starts(line, WBI_LIT("\xef\xbb\xbf")))
        line = wbi_str_from(line, 3);
    s->begun = true;
    if (cut)
        s->overflow = true;
    else if (line.n > 0)
        take_field(s, line);
    wbi_buf_clear(&s->line);
    if (cut || line.n > 0)
        return false;
    memcpy(s->last_id, s->id, sizeof(s->last_id));
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
