/* SPDX-License-Identifier: Apache-2.0
 * http/again.c: a client says the same head again and again, but for the length of
 * the body. Parsing and judging it are a fifth of what a call costs, so a request
 * whose head is that of the last one, byte for byte, is taken as that one was.
 * (1) What is remembered belongs to `head`, `fields` and `places` of the connection:
 *     it is forgotten as soon as the parser begins another request.
 * (2) Anything else, half a request too, is the parser's: nothing is refused here. */
#include "http/http_int.h"

void wbi_again_forget(struct wbi_again *a)
{
    wbi_buf_clear(&a->raw);
}

static bool digits_at(const char *p, size_t n, size_t *ret)
{
    size_t v = 0;

    if (n == 0 || n > 9 || p[0] == '0')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (size_t)(p[i] - '0');
    }
    *ret = v;
    return true;
}

void wbi_again_keep(struct wbi_conn *c, const char *from, size_t used)
{
    struct wbi_again *a = &c->again;
    size_t head_n = used - c->body.n, length;

    wbi_again_forget(a);
    if (!c->keep_alive || c->places[WBI_HTTP_CONTENT_LENGTH] == 0 ||
        c->places[WBI_HTTP_EXPECT] != 0 || head_n > WBI_LIMIT_HTTP_AGAIN)
        return;
    a->value = c->fields[c->places[WBI_HTTP_CONTENT_LENGTH] - 1];
    a->digits = (size_t)(c->in.p + a->digits_in - from);
    if (!digits_at(from + a->digits, a->value.value_n, &length) || length != c->body.n)
        return;
    a->rules = c->http->rules;
    wbi_buf_add(&a->raw, from, head_n); /* without memory it is not remembered */
}

/* The same bytes before and after the digits. */
static bool same_head(const struct wbi_again *a, const char *p)
{
    size_t after = a->digits + a->value.value_n;

    return memcmp(p, a->raw.p, a->digits) == 0 &&
           memcmp(p + after, a->raw.p + after, a->raw.n - after) == 0;
}

bool wbi_again_take(struct wbi_conn *c)
{
    struct wbi_again *a = &c->again;
    const char *from = c->in.p + c->in_at;
    size_t have = c->in.n - c->in_at, head_n = a->raw.n, length;

    if (head_n == 0 || have <= head_n || a->rules != c->http->rules || c->http->draining)
        return false;
    if (!same_head(a, from) || !digits_at(from + a->digits, a->value.value_n, &length))
        return false;
    if (length > have - head_n || length > c->http->o.body_bytes)
        return false;
    wbi_buf_clear(&c->body);
    wbi_buf_add(&c->body, from + head_n, length);
    if (wbi_buf_rc(&c->body) != WB_OK)
        return false;
    memcpy(c->head.p + a->value.value, from + a->digits, a->value.value_n);
    c->in_at += head_n + length;
    c->bytes_in = head_n + length;
    return true;
}
