/* SPDX-License-Identifier: Apache-2.0
 * event/trace.c: reading and writing of trace context headers. */
#include "event/trace.h"

#include "base/hash.h"

#define MEMBERS 32
#define KEY_MAX 256
#define TENANT_MAX 241
#define SYSTEM_MAX 14
#define VALUE_MAX 256

static bool lower_hex(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

static bool all_zero(const uint8_t *p, size_t n)
{
    uint8_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any == 0;
}

static struct wbi_str part(struct wbi_str s, size_t from, size_t n)
{
    return wbi_str_make(s.p + from, n);
}

static bool shape_ok(struct wbi_str s)
{
    struct wbi_str version;

    if (s.n < 55)
        return false;
    version = part(s, 0, 2);
    if (!lower_hex(version) || wbi_str_eqz(version, "ff"))
        return false;
    /* version 00 ends here; a later one may go on after a dash */
    if (s.n > 55 && (wbi_str_eqz(version, "00") || s.p[55] != '-'))
        return false;
    return s.p[2] == '-' && s.p[35] == '-' && s.p[52] == '-' && lower_hex(part(s, 3, 32)) &&
           lower_hex(part(s, 36, 16)) && lower_hex(part(s, 53, 2));
}

bool wbi_trace_parse(struct wbi_str s, struct wbi_trace *ret)
{
    struct wbi_trace t = {.state = ""};

    s = wbi_str_trim(s);
    if (!shape_ok(s) || !wbi_unhex(part(s, 3, 32), t.trace_id) ||
        !wbi_unhex(part(s, 36, 16), t.span_id) || !wbi_unhex(part(s, 53, 2), &t.flags))
        return false;
    if (all_zero(t.trace_id, sizeof(t.trace_id)) || all_zero(t.span_id, sizeof(t.span_id)))
        return false;
    t.flags &= WBI_TRACE_SAMPLED | WBI_TRACE_RANDOM; /* unknown bits are not passed on */
    *ret = t;
    return true;
}

static bool key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' ||
           c == '/';
}

static bool key_part(struct wbi_str s, size_t max, bool digit_first)
{
    if (s.n == 0 || s.n > max)
        return false;
    if (!((s.p[0] >= 'a' && s.p[0] <= 'z') || (digit_first && s.p[0] >= '0' && s.p[0] <= '9')))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!key_char(s.p[i]))
            return false;
    }
    return true;
}

static bool key_ok(struct wbi_str key)
{
    size_t at = wbi_str_index(key, '@');

    if (at == key.n)
        return key_part(key, KEY_MAX, false);
    return key_part(wbi_str_head(key, at), TENANT_MAX, true) &&
           key_part(wbi_str_from(key, at + 1), SYSTEM_MAX, false);
}

static bool value_ok(struct wbi_str value)
{
    if (value.n == 0 || value.n > VALUE_MAX || value.p[value.n - 1] == ' ')
        return false;
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (c < 0x20 || c > 0x7e || c == ',' || c == '=')
            return false;
    }
    return true;
}

bool wbi_trace_state_valid(struct wbi_str s)
{
    struct wbi_str seen[MEMBERS];
    size_t n = 0;

    while (s.n > 0) {
        size_t comma = wbi_str_index(s, ',');
        struct wbi_str member = wbi_str_trim(wbi_str_head(s, comma));
        size_t equals = wbi_str_index(member, '=');
        struct wbi_str key = wbi_str_head(member, equals);
        s = wbi_str_from(s, comma + 1);
        if (member.n == 0)
            continue;
        if (n == MEMBERS || equals == member.n || !key_ok(key) ||
            !value_ok(wbi_str_from(member, equals + 1)))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (wbi_str_eq(seen[i], key))
                return false;
        }
        seen[n++] = key;
    }
    return true;
}

static void new_id(const struct wbi_ids *ids, uint8_t *out, size_t n)
{
    ids->fill(ids->arg, out, n);
    if (all_zero(out, n))
        out[n - 1] = 1;
}

bool wbi_trace_begin(struct wbi_str traceparent, struct wbi_str tracestate,
                     const struct wbi_ids *ids, struct wbi_trace *ret)
{
    if (traceparent.p == NULL || !wbi_trace_parse(traceparent, ret)) {
        ret->flags = WBI_TRACE_SAMPLED | WBI_TRACE_RANDOM;
        ret->state[0] = '\0';
        new_id(ids, ret->trace_id, sizeof(ret->trace_id));
        new_id(ids, ret->span_id, sizeof(ret->span_id));
        return false;
    }
    if (tracestate.n > 0 && tracestate.n <= WBI_LIMIT_TRACESTATE &&
        wbi_trace_state_valid(tracestate)) {
        memcpy(ret->state, tracestate.p, tracestate.n);
        ret->state[tracestate.n] = '\0';
    }
    return true;
}

void wbi_trace_child(const struct wbi_trace *parent, const struct wbi_ids *ids,
                     struct wbi_trace *ret)
{
    if (ret != parent)
        *ret = *parent;
    new_id(ids, ret->span_id, sizeof(ret->span_id));
}

void wbi_trace_format(const struct wbi_trace *t, char out[WBI_TRACEPARENT_SIZE])
{
    memcpy(out, "00-", 3);
    wbi_hex(t->trace_id, 16, out + 3);
    out[35] = '-';
    wbi_hex(t->span_id, 8, out + 36);
    out[52] = '-';
    wbi_hex(&t->flags, 1, out + 53);
}
