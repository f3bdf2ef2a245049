/* SPDX-License-Identifier: Apache-2.0
 * json/write.c: one writer for every surface, so that a value written, read
 * back and written again has the same bytes. */
#include "json/write.h"

#include <math.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/word.h"
#include "json/json_int.h"

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

void wbi_jw_str(struct wbi_jw *w, struct wbi_str s)
{
    before_value(w);
    if (s.p == NULL)
        wbi_buf_add(w->out, "null", 4);
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
    wbi_buf_adds(w->out, v ? WBI_LIT("true") : WBI_LIT("false"));
}

void wbi_jw_null(struct wbi_jw *w)
{
    before_value(w);
    wbi_buf_add(w->out, "null", 4);
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

/* 1 for bytes that need an escape: controls, quote, backslash. */
static const uint8_t needs_escape[256] = {1, 1, 1, 1, 1, 1, 1, 1, 1,         1,         1, 1,
                                          1, 1, 1, 1, 1, 1, 1, 1, 1,         1,         1, 1,
                                          1, 1, 1, 1, 1, 1, 1, 1, ['"'] = 1, ['\\'] = 1};

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

/* Bits that make a byte not plain besides the need of an escape. */
#define ANY_BYTE UINT64_C(0)
#define ASCII_ONLY WBI_EACH_BYTE(0x80)

/* Is none of eight bytes in need of an escape or of a look at its UTF-8? */
static inline bool eight_are_plain(uint64_t v, uint64_t refused)
{
    return (wbi_word_below(v, 0x20) | wbi_word_has(v, '"') | wbi_word_has(v, '\\') |
            (v & refused)) == 0;
}

typedef uint8_t sixteen __attribute__((vector_size(16)));
typedef char signed_sixteen __attribute__((vector_size(16)));

/* The same of sixteen; refused is one byte of the mask above. */
static inline bool sixteen_are_plain(sixteen v, uint8_t refused)
{
    sixteen bad = (sixteen)(v < 0x20) | (sixteen)(v == '"') | (sixteen)(v == '\\') | (v & refused);
#ifdef __SSE2__
    return __builtin_ia32_pmovmskb128((signed_sixteen)bad) == 0; /* bad bytes have their top bit */
#else
    uint64_t half[2];

    memcpy(half, &bad, sizeof(half));
    return (half[0] | half[1]) == 0;
#endif
}

static inline bool copy_sixteen(char *o, const char *p, uint8_t refused)
{
    sixteen v;

    memcpy(&v, p, sizeof(v));
    if (!sixteen_are_plain(v, refused))
        return false;
    memcpy(o, &v, sizeof(v));
    return true;
}

/* Eight to fifteen bytes as two words that overlap. */
static inline bool copy_some_plain(char *o, const char *p, size_t n, uint8_t refused)
{
    sixteen v;

    memcpy(&v, p, 8);
    memcpy((char *)&v + 8, p + n - 8, 8);
    if (!sixteen_are_plain(v, refused))
        return false;
    memcpy(o, &v, 8);
    memcpy(o + n - 8, (char *)&v + 8, 8);
    return true;
}

/* Four to seven likewise. */
static inline bool copy_few_plain(char *o, const char *p, size_t n, uint64_t refused)
{
    uint32_t head, tail;

    memcpy(&head, p, 4);
    memcpy(&tail, p + n - 4, 4);
    if (!eight_are_plain((uint64_t)tail << 32 | head, refused))
        return false;
    memcpy(o, &head, 4);
    memcpy(o + n - 4, &tail, 4);
    return true;
}

/* Copies plain bytes and stops at the first that is not. Most strings are short
 * and plain, so the end is copied as a whole, too. */
static inline size_t copy_plain(char *o, const char *p, size_t n, uint64_t refused)
{
    size_t i = 0;
    uint64_t v;

    while (n - i >= 16 && copy_sixteen(o + i, p + i, (uint8_t)refused))
        i += 16;
    if (n >= 16  ? n - i < 16 && copy_sixteen(o + n - 16, p + n - 16, (uint8_t)refused)
        : n >= 8 ? copy_some_plain(o, p, n, (uint8_t)refused)
                 : n >= 4 && copy_few_plain(o, p, n, refused))
        return n;
    for (; n - i >= 8; i += 8) {
        memcpy(&v, p + i, 8);
        if (!eight_are_plain(v, refused))
            break;
        memcpy(o + i, &v, 8);
    }
    for (; i < n && !needs_escape[(uint8_t)p[i]] && ((uint8_t)p[i] & refused) == 0; i++)
        o[i] = p[i];
    return i;
}

/* The inside of a string that is well-formed UTF-8; what it fills is reserved
 * piece by piece, so that a plain byte costs no look at the buffer. */
static void add_escaped(struct wbi_buf *out, struct wbi_str s)
{
    while (s.n > 0) {
        size_t piece = WBI_MIN(s.n, (size_t)4096);
        char *room = wbi_buf_room(out, piece);
        size_t run;

        if (room == NULL)
            return;
        run = copy_plain(room, s.p, piece, ANY_BYTE);
        out->n += run;
        room[run] = '\0';
        s = wbi_str_from(s, run);
        if (run < piece) {
            add_escape(out, (uint8_t)s.p[0]);
            s = wbi_str_from(s, 1);
        }
    }
}

/* The opening quote and the plain bytes that follow it; all of s and the closing
 * one where all are. Returns what is left, absent when nothing is to be done:
 * no output is shorter than s and its quotes. */
static inline struct wbi_str quote_plain(struct wbi_buf *out, struct wbi_str s, uint64_t refused)
{
    char *room = wbi_buf_room(out, s.n + 2);
    size_t run;

    if (room == NULL)
        return WBI_NONE;
    *room++ = '"';
    run = copy_plain(room, s.p, s.n, refused);
    if (run == s.n)
        room[run++] = '"';
    room[run] = '\0';
    out->n += 1 + run;
    return run > s.n ? WBI_NONE : wbi_str_from(s, run);
}

static void quote_well_formed(struct wbi_buf *out, struct wbi_str s)
{
    s = quote_plain(out, s, ANY_BYTE);
    if (s.p == NULL)
        return;
    add_escaped(out, s);
    wbi_buf_addc(out, '"');
}

/* Kept apart: with it, quoting what is plain would save registers for what it never needs. */
static __attribute__((noinline)) void quote_rest(struct wbi_buf *out, struct wbi_str s)
{
    while (s.n > 0) {
        size_t good = wbi_utf8_valid_prefix(s), skip = 0;

        add_escaped(out, wbi_str_head(s, good));
        s = wbi_str_from(s, good);
        if (s.n == 0)
            break;
        (void)wbi_utf8_step((const uint8_t *)s.p, s.n, &skip); /* ill-formed here */
        wbi_buf_addz(out, "\xef\xbf\xbd");
        s = wbi_str_from(s, skip);
    }
    wbi_buf_addc(out, '"');
}

void wbi_json_quote(struct wbi_buf *out, struct wbi_str s)
{
    s = quote_plain(out, s, ASCII_ONLY);
    if (s.p != NULL)
        quote_rest(out, s);
}

size_t wbi_json_quoted(struct wbi_str text)
{
    size_t n = 1;

    while (n < text.n && text.p[n] != '"')
        n += text.p[n] == '\\' ? 2 : 1;
    return n < text.n ? n + 1 : text.n;
}

static void add_integer(struct wbi_buf *out, const wbi_json *v)
{
    if (yyjson_get_subtype((yyjson_val *)(uintptr_t)v) == YYJSON_SUBTYPE_UINT)
        wbi_buf_addu(out, v->uni.u64);
    else
        wbi_buf_addi(out, v->uni.i64);
}

/* A scalar or an empty container; NULL is null. */
static void add_leaf(struct wbi_buf *out, const wbi_json *v, enum wbi_json_type type)
{
    switch (type) {
    case WBI_JSON_STR:
        quote_well_formed(out, wbi_json_str(v)); /* the reader checked it */
        return;
    case WBI_JSON_INT:
        add_integer(out, v);
        return;
    case WBI_JSON_REAL:
        add_real(out, wbi_json_num(v));
        return;
    case WBI_JSON_BIG:
        wbi_buf_adds(out, wbi_json_str(v));
        return;
    case WBI_JSON_BOOL:
        wbi_buf_adds(out, wbi_json_true(v) ? WBI_LIT("true") : WBI_LIT("false"));
        return;
    case WBI_JSON_OBJ:
        wbi_buf_add(out, "{}", 2);
        return;
    case WBI_JSON_ARR:
        wbi_buf_add(out, "[]", 2);
        return;
    case WBI_JSON_NONE:
    case WBI_JSON_NULL:
        break;
    }
    wbi_buf_add(out, "null", 4);
}

static void new_line(struct wbi_buf *out, size_t depth)
{
    wbi_buf_addc(out, '\n');
    for (size_t i = 0; i < depth; i++)
        wbi_buf_add(out, "  ", 2);
}

struct open_value {
    size_t left; /* keys and values to come: an odd number in an object is a value's turn */
    bool object;
};

/* What follows a whole value: the ends of all containers it is the last of, then
 * what separates it from the next. Returns the depth, 0 at the end. */
static inline size_t after_value(struct wbi_buf *out, struct open_value *stack, size_t depth,
                                 bool pretty)
{
    for (; depth > 0 && --stack[depth - 1].left == 0; depth--) {
        if (pretty)
            new_line(out, depth - 1);
        wbi_buf_addc(out, stack[depth - 1].object ? '}' : ']');
    }
    if (depth == 0)
        return 0;
    if (stack[depth - 1].object && stack[depth - 1].left % 2 == 1) {
        wbi_buf_addc(out, ':');
        if (pretty)
            wbi_buf_addc(out, ' ');
        return depth;
    }
    wbi_buf_addc(out, ',');
    if (pretty)
        new_line(out, depth);
    return depth;
}

/* Flat walk in document order; pretty adds line ends and indentation. The
 * reader bounds the depth. Inline, so that each form has a walk of its own. */
static inline void write_tree(struct wbi_buf *out, const wbi_json *v, bool pretty)
{
    WBI_LARGE_LOCAL struct open_value stack[WBI_LIMIT_JSON_DEPTH];
    size_t depth = 0;

    for (;; v++) {
        enum wbi_json_type type = wbi_json_type(v);
        size_t count = type >= WBI_JSON_ARR ? wbi_json_count(v) : 0;

        if (count > 0 && depth < WBI_LIMIT_JSON_DEPTH) {
            bool object = type == WBI_JSON_OBJ;
            wbi_buf_addc(out, object ? '{' : '[');
            stack[depth++] = (struct open_value){object ? count * 2 : count, object};
            if (pretty)
                new_line(out, depth);
            continue;
        }
        add_leaf(out, v, type);
        depth = after_value(out, stack, depth, pretty);
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
