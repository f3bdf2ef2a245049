/* SPDX-License-Identifier: Apache-2.0
 * mcp/overlong.c: see overlong.h. The bytes may be no JSON at all: whatever they are,
 * an id is only believed when it reads as one. */
#include "mcp/overlong.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The value of `id` is over: it counts if it is all there. */
static void end_id(struct wbi_overlong *o)
{
    while (o->in_id && o->id_n > 0 && is_blank(o->id[o->id_n - 1]))
        o->id_n--;
    o->in_id = false;
}

static void end_key(struct wbi_overlong *o)
{
    struct wbi_str key = wbi_str_make(o->key, o->key_n);

    o->in_key = false;
    o->has_method = o->has_method || wbi_str_eqz(key, "method");
    o->has_answer = o->has_answer || wbi_str_eqz(key, "result") || wbi_str_eqz(key, "error");
}

static void keep(struct wbi_overlong *o, char c)
{
    if (o->in_key && o->key_n < sizeof(o->key))
        o->key[o->key_n++] = c;
    if (o->in_id && o->id_n < sizeof(o->id))
        o->id[o->id_n++] = c;
}

static void in_text(struct wbi_overlong *o, char c)
{
    if (o->in_id || c != '"' || o->escaped)
        keep(o, c);
    if (c == '"' && !o->escaped) {
        o->in_text = false;
        if (o->in_key)
            end_key(o);
    }
    o->escaped = c == '\\' && !o->escaped;
}

static void begin_text(struct wbi_overlong *o, char c)
{
    o->in_text = true;
    if (o->in_id) {
        keep(o, c);
    } else if (o->depth == 1 && o->key_n == 0) {
        o->in_key = true;
    }
}

/* Outside of texts. A member of the message begins with its key, behind a brace or comma. */
static void between(struct wbi_overlong *o, char c)
{
    switch (c) {
    case '{':
    case '[':
        o->is_object = o->depth == 0 ? c == '{' : o->is_object;
        o->id_n = o->in_id ? sizeof(o->id) : o->id_n; /* no id is made of parts */
        o->depth++;
        o->key_n = o->depth == 1 ? 0 : o->key_n;
        break;
    case '}':
    case ']':
        if (o->depth == 1)
            end_id(o);
        o->loose = o->loose || (o->depth == 1 && c == ']');
        o->depth -= o->depth > 0;
        o->ended = o->ended || o->depth == 0;
        break;
    case ',':
        if (o->depth == 1) {
            end_id(o);
            o->key_n = 0;
        }
        break;
    case ':':
        if (o->depth == 1 && wbi_str_eqz(wbi_str_make(o->key, o->key_n), "id")) {
            o->in_id = o->ids == 0;
            o->ids++;
        }
        break;
    case '"':
        begin_text(o, c);
        break;
    default:
        if (o->id_n > 0 || c > ' ')
            keep(o, c);
    }
}

void wbi_overlong_feed(struct wbi_overlong *o, struct wbi_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        o->loose =
            o->loose || (o->depth == 0 && !is_blank(bytes.p[i]) && (o->ended || bytes.p[i] != '{'));
        (o->in_text ? in_text : between)(o, bytes.p[i]);
    }
}

static bool is_integer(struct wbi_str s)
{
    int64_t n;

    if (s.n > 1 && s.p[0] == '-')
        return s.p[1] >= '1' && s.p[1] <= '9' && wbi_parse_i64(s, &n);
    return s.n > 0 && (s.n == 1 || s.p[0] != '0') && s.p[0] >= '0' && s.p[0] <= '9' &&
           wbi_parse_i64(s, &n);
}

/* Without escapes or control bytes, whose reading would be somebody else's work. */
static bool is_plain_text(struct wbi_str s)
{
    if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < s.n; i++) {
        if (s.p[i] < ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\')
            return false;
    }
    return true;
}

struct wbi_str wbi_overlong_id(const struct wbi_overlong *o)
{
    struct wbi_str id = wbi_str_make(o->id, o->id_n);

    if (!o->is_object || o->in_id || o->id_n == sizeof(o->id))
        return WBI_NONE;
    return is_integer(id) || is_plain_text(id) ? id : WBI_NONE;
}

struct wbi_str wbi_overlong_raw(const struct wbi_overlong *o)
{
    if (!o->is_object || !o->ended || o->depth > 0 || o->in_text || o->loose || o->ids != 1 ||
        o->id_n == sizeof(o->id))
        return WBI_NONE;
    return wbi_str_make(o->id, o->id_n);
}
