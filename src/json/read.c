/* SPDX-License-Identifier: Apache-2.0
 * json/read.c: yyjson parses (in a loop, whatever the depth), one flat pass
 * after it refuses what it lets by: depth, duplicate names, numbers that are no
 * integer and overflow. The tree is laid out in document order, so the pass
 * needs no recursion, and nothing else sees a tree it has not passed. */

#include <math.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/json_int.h"

static void *arena_malloc(void *ctx, size_t n)
{
    return wbi_arena_alloc(ctx, n);
}

static void *arena_realloc(void *ctx, void *p, size_t old_n, size_t n)
{
    return wbi_arena_grow(ctx, p, old_n, n);
}

static void arena_free(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

/* One text being read: what a check needs to say where it failed. yyjson keeps
 * strings and raw numbers at their place in its copy of the text, so a pointer
 * into the copy is a place in the text. */
struct reading {
    struct wbi_arena *arena;
    struct wbi_str text;
    const char *copy;
    enum wbi_json_flags flags;
    struct wbi_error *err;
};

static wb_rc bad_at(const struct reading *r, size_t offset, wb_rc rc, const char *what)
{
    (void)wbi_fail(r->err, rc, "%s", what);
    wbi_error_locate(r->err, r->text.p, r->text.n, offset);
    return rc;
}

size_t wbi_json_offset(const char *copy, const wbi_json *v)
{
    const wbi_json *end = wbi_json_skip(v);

    while (v < end && wbi_json_str(v).p == NULL)
        v++;
    if (v == end)
        return SIZE_MAX;
    /* A string is found at its quote. */
    return (size_t)(wbi_json_str(v).p - copy) - wbi_json_is(v, WBI_JSON_STR);
}

static size_t place_of(const struct reading *r, const wbi_json *v)
{
    return wbi_json_offset(r->copy, v);
}

/* One of 64 places, by what tells most names apart: equal names share it. */
static inline uint64_t mark_of(struct wbi_str name)
{
    uint8_t first = name.n > 0 ? (uint8_t)name.p[0] : 0;
    uint8_t middle = name.n > 0 ? (uint8_t)name.p[name.n / 2] : 0;
    uint8_t last = name.n > 0 ? (uint8_t)name.p[name.n - 1] : 0;

    return UINT64_C(1) << ((name.n * 5 + first + middle * 3u + last * 7u) & 63);
}

static bool is_among_first(const wbi_json *o, size_t n, struct wbi_str name)
{
    const wbi_json *k = wbi_json_first(o);

    for (; n > 0; n--, k = wbi_json_skip(k + 1))
        if (wbi_str_eq(wbi_json_str(k), name))
            return true;
    return false;
}

/* The second of two equal names, NULL when all differ. Names are compared only
 * where their marks are equal. */
static const wbi_json *repeated_among_few(const wbi_json *o)
{
    uint64_t seen = 0;
    size_t i = 0;

    WBI_JSON_EACH_MEMBER (o, k) {
        struct wbi_str name = wbi_json_str(k);
        uint64_t mark = mark_of(name);

        if ((seen & mark) != 0 && is_among_first(o, i, name))
            return k;
        seen |= mark;
        i++;
    }
    return NULL;
}

/* Open addressing over a table of keys twice as large as the object. */
static wb_rc repeated_among_many(struct wbi_arena *arena, const wbi_json *o, const wbi_json **ret)
{
    size_t slots = 64;
    const wbi_json **table;
    uint64_t seed = (uint64_t)(uintptr_t)o * UINT64_C(0x9e3779b97f4a7c15);

    while (slots < wbi_json_count(o) * 2)
        slots *= 2;
    table = wbi_arena_array(arena, slots, sizeof(*table));
    if (table == NULL)
        return WB_ENOMEM;
    *ret = NULL;
    WBI_JSON_EACH_MEMBER (o, k) {
        struct wbi_str name = wbi_json_str(k);
        size_t at = wbi_hash64(name.p, name.n, seed) & (slots - 1);
        for (; table[at] != NULL; at = (at + 1) & (slots - 1))
            if (wbi_str_eq(wbi_json_str(table[at]), name)) {
                *ret = k;
                return WB_OK;
            }
        table[at] = k;
    }
    return WB_OK;
}

#define PAIRWISE_UP_TO 16

static wb_rc check_names(const struct reading *r, const wbi_json *o)
{
    const wbi_json *again = NULL;
    wb_rc rc = WB_OK;

    if (wbi_json_count(o) <= PAIRWISE_UP_TO)
        again = repeated_among_few(o);
    else
        rc = repeated_among_many(r->arena, o, &again);
    if (rc != WB_OK)
        return wbi_fail_nomem(r->err);
    if (again == NULL)
        return WB_OK;
    (void)wbi_fail(r->err, WB_EINPUT, "the object has a second member named \"%.*s\"",
                   WBI_FMT(wbi_str_head(wbi_json_str(again), 100)));
    wbi_error_locate(r->err, r->text.p, r->text.n, place_of(r, again));
    return WB_EINPUT;
}

/* Raw numbers are those yyjson could not hold: huge integers stay, others go. */
static wb_rc check_big(const struct reading *r, const wbi_json *v)
{
    struct wbi_str s = wbi_json_str(v);

    if (r->flags == WBI_JSON_AS_WRITTEN || (r->flags & WBI_JSON_TO_REFUSE) != 0 ||
        (r->flags == WBI_JSON_PASSED_ON && isfinite(wbi_json_num(v))))
        return WB_OK;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '-' && (s.p[i] < '0' || s.p[i] > '9'))
            return bad_at(r, place_of(r, v), WB_EINPUT,
                          "the number is too large for a double (about 1.8e308)");
    return WB_OK;
}

static wb_rc too_deep(const struct reading *r)
{
    (void)wbi_fail(r->err, WB_ELIMIT, "nested deeper than %u levels", WBI_LIMIT_JSON_DEPTH);
    wbi_error_locate(r->err, r->text.p, r->text.n, wbi_json_place_of_depth(r->text));
    return WB_ELIMIT;
}

/* One flat walk; `left` counts the keys and values still to come per level. */
static wb_rc check_tree(const struct reading *r, const wbi_json *v)
{
    WBI_LARGE_LOCAL size_t left[WBI_LIMIT_JSON_DEPTH];
    size_t depth = 0;

    for (;; v++) {
        enum wbi_json_type type = wbi_json_type(v);
        wb_rc rc = WB_OK;

        if (type >= WBI_JSON_ARR) {
            size_t count = wbi_json_count(v);
            if (depth == WBI_LIMIT_JSON_DEPTH)
                return too_deep(r);
            if (type == WBI_JSON_OBJ && count > 1 && !(r->flags & WBI_JSON_TO_REFUSE))
                rc = check_names(r, v);
            left[depth++] = type == WBI_JSON_OBJ ? count * 2 : count;
        } else if (type == WBI_JSON_BIG) {
            rc = check_big(r, v);
        }
        if (rc != WB_OK)
            return rc;
        while (depth > 0 && left[depth - 1] == 0)
            depth--;
        if (depth == 0)
            return WB_OK;
        left[depth - 1]--;
    }
}

/* The code unit of \uXXXX at p, or 0. */
static unsigned escaped_unit(struct wbi_str s)
{
    unsigned unit = 0;

    if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
        return 0;
    for (size_t i = 2; i < 6; i++) {
        char c = s.p[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            unit = unit << 4 | (unsigned)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            unit = unit << 4 | (unsigned)(lower - 'a' + 10);
        else
            return 0;
    }
    return unit;
}

/* Length of the escape at rest; a surrogate without its other half is overwritten. */
static size_t mend_escape(char *p, struct wbi_str rest)
{
    unsigned unit = escaped_unit(rest);

    if (unit >> 11 != 0xd800 >> 11)
        return WBI_MIN((size_t)2, rest.n);
    if (unit >> 10 == 0xd800 >> 10 && escaped_unit(wbi_str_from(rest, 6)) >> 10 == 0xdc00 >> 10)
        return 12;
    memcpy(p + 2, "fffd", 4);
    return 6;
}

/* Where a walk over a text stands. */
struct walk {
    bool in_string;
    size_t depth;
};

/* Walks over c; whether it belongs to a container that lies too deep. */
static bool lies_too_deep(struct walk *w, char c)
{
    bool deep = w->depth > WBI_LIMIT_JSON_DEPTH;

    if (c == '"')
        w->in_string = !w->in_string;
    else if (!w->in_string && (c == '[' || c == '{'))
        deep = ++w->depth > WBI_LIMIT_JSON_DEPTH;
    else if (!w->in_string && (c == ']' || c == '}') && w->depth > 0)
        w->depth--;
    return deep;
}

/* Mends what is at p and says how long it is. */
static size_t mend_one(char *p, size_t n, bool in_string)
{
    size_t bad = 0, step;

    if (*p == '\\')
        return mend_escape(p, wbi_str_make(p, n));
    if (in_string && (uint8_t)*p < 0x20)
        *p = '?';
    step = wbi_utf8_step((const uint8_t *)p, n, &bad);
    if (step > 0)
        return step;
    memset(p, '?', bad);
    return bad;
}

/* The text with what no string may hold, and by a number what lies too deep, overwritten,
 * each thing by as many bytes. */
static struct wbi_str mended(struct wbi_arena *arena, struct wbi_str text)
{
    char *p = wbi_arena_alloc(arena, text.n);
    struct walk w = {.depth = 0};
    size_t step;

    if (p == NULL)
        return WBI_NONE;
    memcpy(p, text.p, text.n);
    for (size_t i = 0; i < text.n; i += step) {
        size_t before = w.depth;
        bool deep = lies_too_deep(&w, p[i]);

        step = mend_one(p + i, text.n - i, w.in_string);
        if (deep)
            memset(p + i, ' ', step);
        if (deep && before == WBI_LIMIT_JSON_DEPTH) /* it begins here */
            p[i] = '0';
    }
    return wbi_str_make(p, text.n);
}

wb_rc wbi_json_read(struct wbi_arena *arena, struct wbi_str text, enum wbi_json_flags flags,
                    const wbi_json **ret, struct wbi_error *err)
{
    const char *copy;

    return wbi_json_read_placed(arena, text, flags, ret, &copy, err);
}

wb_rc wbi_json_read_placed(struct wbi_arena *arena, struct wbi_str text, enum wbi_json_flags flags,
                           const wbi_json **ret, const char **ret_copy, struct wbi_error *err)
{
    struct reading r = {.arena = arena, .text = text, .flags = flags, .err = err};
    yyjson_read_flag f =
        flags & WBI_JSON_AS_WRITTEN ? YYJSON_READ_NUMBER_AS_RAW : YYJSON_READ_BIGNUM_AS_RAW;
    yyjson_alc alc = {arena_malloc, arena_realloc, arena_free, arena};
    yyjson_read_err yerr;
    yyjson_doc *doc;
    wb_rc rc;

    if (flags & WBI_JSON_CONFIG)
        f |= YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS;
    if (text.n > WBI_LIMIT_JSON_TEXT)
        return wbi_fail(err, WB_ELIMIT, "JSON text of %zu bytes is over the limit of %u", text.n,
                        WBI_LIMIT_JSON_TEXT);
    if (flags & WBI_JSON_TO_REFUSE)
        text = mended(arena, text);
    if (text.p == NULL && r.text.n > 0)
        return wbi_fail_nomem(err);
    if (text.n == 0)
        return bad_at(&r, 0, WB_EINPUT, "the text is empty; one JSON value is needed");
    doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.n, f, &alc, &yerr);
    if (doc == NULL && yerr.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return wbi_fail_nomem(err);
    if (doc == NULL) {
        const char *why = wbi_json_explain(yerr.code, text, &yerr.pos);
        return bad_at(&r, yerr.pos, WB_EINPUT, why);
    }
    r.copy = doc->str_pool;
    rc = check_tree(&r, doc->root);
    if (rc != WB_OK)
        return rc;
    *ret = doc->root;
    *ret_copy = r.copy;
    return WB_OK;
}
