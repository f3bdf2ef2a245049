/* SPDX-License-Identifier: Apache-2.0
 * json/write.c: one writer for every surface, so that a value written, read
 * back and written again has the same bytes. */
#include "json/write.h"

#include <math.h>

#include "base/limits.h"
#include "base/utf8.h"

static void before_value(struct wbi_jw *w)
{
    if (w->comma)
        wbi_buf_addc(w->out, ',');
    w->comma = true;
}

void wbi_jw_obj(struct wbi_jw *w)
{
    before_value(w);
    wbi_buf_addc(w->out, '{');
    w->comma = false;
}

void wbi_jw_obj_end(struct wbi_jw *w)
{
    wbi_buf_addc(w->out, '}');
    w->comma = true;
}

void wbi_jw_arr(struct wbi_jw *w)
{
    before_value(w);
    wbi_buf_addc(w->out, '[');
    w->comma = false;
}

void wbi_jw_arr_end(struct wbi_jw *w)
{
    wbi_buf_addc(w->out, ']');
    w->comma = true;
}

void wbi_jw_keyn(struct wbi_jw *w, struct wbi_str name)
{
    before_value(w);
    wbi_json_quote(w->out, name);
    wbi_buf_addc(w->out, ':');
    w->comma = false;
}

void wbi_jw_key(struct wbi_jw *w, const char *name)
{
    wbi_jw_keyn(w, wbi_str_z(name));
}

void wbi_jw_str(struct wbi_jw *w, struct wbi_str s)
{
    before_value(w);
    if (s.p == NULL)
        wbi_buf_addz(w->out, "null");
    else
        wbi_json_quote(w->out, s);
}

void wbi_jw_strz(struct wbi_jw *w, const char *z)
{
    wbi_jw_str(w, wbi_str_z(z));
}

void wbi_jw_int(struct wbi_jw *w, int64_t v)
{
    before_value(w);
    wbi_buf_addi(w->out, v);
}

void wbi_jw_uint(struct wbi_jw *w, uint64_t v)
{
    before_value(w);
    wbi_buf_addu(w->out, v);
}

static void add_real(struct wbi_buf *out, double v)
{
    char text[WBI_JSON_NUMBER_SIZE];

    if (!isfinite(v)) {
        wbi_buf_addz(out, "null");
        return;
    }
    wbi_buf_add(out, text, wbi_json_number(v, text));
}

void wbi_jw_real(struct wbi_jw *w, double v)
{
    before_value(w);
    add_real(w->out, v);
}

void wbi_jw_bool(struct wbi_jw *w, bool v)
{
    before_value(w);
    wbi_buf_addz(w->out, v ? "true" : "false");
}

void wbi_jw_null(struct wbi_jw *w)
{
    before_value(w);
    wbi_buf_addz(w->out, "null");
}

void wbi_jw_val(struct wbi_jw *w, const wbi_json *v)
{
    before_value(w);
    wbi_json_write(w->out, v);
}

void wbi_jw_raw(struct wbi_jw *w, struct wbi_str json)
{
    before_value(w);
    wbi_buf_adds(w->out, json);
}

void wbi_jw_kstr(struct wbi_jw *w, const char *name, struct wbi_str s)
{
    wbi_jw_key(w, name);
    wbi_jw_str(w, s);
}

void wbi_jw_kstrz(struct wbi_jw *w, const char *name, const char *z)
{
    wbi_jw_key(w, name);
    wbi_jw_strz(w, z);
}

void wbi_jw_kint(struct wbi_jw *w, const char *name, int64_t v)
{
    wbi_jw_key(w, name);
    wbi_jw_int(w, v);
}

void wbi_jw_kbool(struct wbi_jw *w, const char *name, bool v)
{
    wbi_jw_key(w, name);
    wbi_jw_bool(w, v);
}

void wbi_jw_knull(struct wbi_jw *w, const char *name)
{
    wbi_jw_key(w, name);
    wbi_jw_null(w);
}

void wbi_jw_kval(struct wbi_jw *w, const char *name, const wbi_json *v)
{
    wbi_jw_key(w, name);
    wbi_jw_val(w, v);
}

void wbi_jw_kraw(struct wbi_jw *w, const char *name, struct wbi_str json)
{
    wbi_jw_key(w, name);
    wbi_jw_raw(w, json);
}

/* Bytes that need an escape: controls, quote, backslash; and bytes >= 0x80,
 * which are checked. */
static size_t plain_run(const uint8_t *p, size_t n)
{
    size_t i = 0;

    while (i < n && p[i] >= 0x20 && p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

static void add_escape(struct wbi_buf *out, uint8_t c)
{
    switch (c) {
    case '"':
        wbi_buf_addz(out, "\\\"");
        return;
    case '\\':
        wbi_buf_addz(out, "\\\\");
        return;
    case '\b':
        wbi_buf_addz(out, "\\b");
        return;
    case '\f':
        wbi_buf_addz(out, "\\f");
        return;
    case '\n':
        wbi_buf_addz(out, "\\n");
        return;
    case '\r':
        wbi_buf_addz(out, "\\r");
        return;
    case '\t':
        wbi_buf_addz(out, "\\t");
        return;
    default:
        wbi_buf_addf(out, "\\u%04x", c);
    }
}

void wbi_json_quote(struct wbi_buf *out, struct wbi_str s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    size_t at = 0;

    wbi_buf_addc(out, '"');
    while (at < s.n) {
        size_t run = plain_run(p + at, s.n - at), skip = 1, len;

        wbi_buf_add(out, p + at, run);
        at += run;
        if (at == s.n)
            break;
        if (p[at] < 0x80) {
            add_escape(out, p[at++]);
            continue;
        }
        len = wbi_utf8_step(p + at, s.n - at, &skip);
        if (len > 0)
            wbi_buf_add(out, p + at, len);
        else
            wbi_buf_addz(out, "\xef\xbf\xbd");
        at += len ? len : skip;
    }
    wbi_buf_addc(out, '"');
}

static void add_scalar(struct wbi_buf *out, const wbi_json *v)
{
    switch (wbi_json_type(v)) {
    case WBI_JSON_BOOL:
        wbi_buf_addz(out, wbi_json_true(v) ? "true" : "false");
        return;
    case WBI_JSON_INT:
        if (yyjson_get_subtype((yyjson_val *)(uintptr_t)v) == YYJSON_SUBTYPE_UINT)
            wbi_buf_addu(out, v->uni.u64);
        else
            wbi_buf_addi(out, v->uni.i64);
        return;
    case WBI_JSON_REAL:
        add_real(out, wbi_json_num(v));
        return;
    case WBI_JSON_BIG:
        wbi_buf_adds(out, wbi_json_str(v));
        return;
    case WBI_JSON_STR:
        wbi_json_quote(out, wbi_json_str(v));
        return;
    default:
        wbi_buf_addz(out, "null");
    }
}

static void new_line(struct wbi_buf *out, size_t depth)
{
    wbi_buf_addc(out, '\n');
    for (size_t i = 0; i < depth; i++)
        wbi_buf_addz(out, "  ");
}

struct open_value {
    size_t done; /* keys and values written so far */
    size_t total;
    bool object;
};

/* What stands in front of the next child of an open container. */
static void before_child(struct wbi_buf *out, const struct open_value *o, size_t depth, bool pretty)
{
    if (o->object && o->done % 2 == 1) {
        wbi_buf_addz(out, pretty ? ": " : ":");
        return;
    }
    if (o->done > 0)
        wbi_buf_addc(out, ',');
    if (pretty)
        new_line(out, depth);
}

/* Flat walk in document order; pretty adds line ends and indentation. */
static void write_tree(struct wbi_buf *out, const wbi_json *v, bool pretty)
{
    struct open_value stack[WBI_LIMIT_JSON_DEPTH];
    size_t depth = 0;

    if (v == NULL) {
        wbi_buf_addz(out, "null");
        return;
    }
    for (;; v++) {
        bool object = wbi_json_is(v, WBI_JSON_OBJ), array = wbi_json_is(v, WBI_JSON_ARR);
        size_t count = wbi_json_count(v);

        if (depth > 0) {
            before_child(out, &stack[depth - 1], depth, pretty);
            stack[depth - 1].done++;
        }
        if (count > 0 && depth < WBI_LIMIT_JSON_DEPTH) {
            wbi_buf_addc(out, object ? '{' : '[');
            stack[depth++] = (struct open_value){0, object ? count * 2 : count, object};
            continue;
        }
        if (object || array)
            wbi_buf_addz(out, object ? "{}" : "[]");
        else
            add_scalar(out, v);
        for (; depth > 0 && stack[depth - 1].done == stack[depth - 1].total; depth--) {
            if (pretty)
                new_line(out, depth - 1);
            wbi_buf_addc(out, stack[depth - 1].object ? '}' : ']');
        }
        if (depth == 0)
            return;
    }
}

void wbi_json_write(struct wbi_buf *out, const wbi_json *v)
{
    write_tree(out, v, false);
}

void wbi_json_pretty(struct wbi_buf *out, const wbi_json *v)
{
    write_tree(out, v, true);
}
