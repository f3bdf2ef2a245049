/* SPDX-License-Identifier: Apache-2.0
 * json/read.c: yyjson parses, one flat pass after it refuses what it lets by:
 * depth, duplicate names, numbers that are no integer and overflow. The tree
 * is laid out in document order, so the pass needs no recursion. */
#include <math.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "json/json.h"

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

static wb_rc bad(struct wbi_error *err, struct wbi_str text, size_t offset, wb_rc rc,
                 const char *what)
{
    (void)wbi_fail(err, rc, "%s", what);
    wbi_error_locate(err, text.p, text.n, offset);
    return rc;
}

/* Open containers during the flat pass. */
struct level {
    const wbi_json *container;
    size_t left;
};

static bool names_differ_pairwise(const wbi_json *o)
{
    size_t i = 0;

    WBI_JSON_EACH_MEMBER(o, a)
    {
        size_t j = 0;
        WBI_JSON_EACH_MEMBER(o, b)
        {
            if (j++ >= i)
                break;
            if (wbi_str_eq(wbi_json_str(a), wbi_json_str(b)))
                return false;
        }
        i++;
    }
    return true;
}

/* Open addressing over a table of keys twice as large as the object. */
static wb_rc names_differ_hashed(struct wbi_arena *arena, const wbi_json *o, bool *ret)
{
    size_t slots = 64;
    const wbi_json **table;
    uint64_t seed = (uint64_t)(uintptr_t)o * UINT64_C(0x9e3779b97f4a7c15);

    while (slots < wbi_json_count(o) * 2)
        slots *= 2;
    table = wbi_arena_array(arena, slots, sizeof(*table));
    if (table == NULL)
        return WB_ENOMEM;
    *ret = false;
    WBI_JSON_EACH_MEMBER(o, k)
    {
        struct wbi_str name = wbi_json_str(k);
        size_t at = wbi_hash64(name.p, name.n, seed) & (slots - 1);
        for (; table[at] != NULL; at = (at + 1) & (slots - 1))
            if (wbi_str_eq(wbi_json_str(table[at]), name))
                return WB_OK;
        table[at] = k;
    }
    *ret = true;
    return WB_OK;
}

#define PAIRWISE_UP_TO 16

static wb_rc check_names(struct wbi_arena *arena, const wbi_json *o, struct wbi_error *err)
{
    bool differ = true;
    wb_rc rc = WB_OK;

    if (wbi_json_count(o) <= PAIRWISE_UP_TO)
        differ = names_differ_pairwise(o);
    else
        rc = names_differ_hashed(arena, o, &differ);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    if (!differ)
        return wbi_fail(err, WB_EINPUT, "an object has two members of the same name");
    return WB_OK;
}

/* Raw numbers are those yyjson could not hold: huge integers stay, others go. */
static wb_rc check_big(const wbi_json *v, struct wbi_error *err)
{
    struct wbi_str s = wbi_json_str(v);

    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '-' && (s.p[i] < '0' || s.p[i] > '9'))
            return wbi_fail(err, WB_EINPUT, "number is too large for a double");
    return WB_OK;
}

static wb_rc check_tree(struct wbi_arena *arena, const wbi_json *root, struct wbi_error *err)
{
    struct level stack[WBI_LIMIT_JSON_DEPTH];
    const wbi_json *v = root;
    size_t depth = 0;
    wb_rc rc = WB_OK;

    for (;;) {
        enum wbi_json_type type = wbi_json_type(v);
        size_t children = wbi_json_count(v);

        if (type == WBI_JSON_OBJ && children > 1)
            rc = check_names(arena, v, err);
        else if (type == WBI_JSON_BIG)
            rc = check_big(v, err);
        if (rc != WB_OK)
            return rc;
        if (type == WBI_JSON_ARR || type == WBI_JSON_OBJ) {
            if (depth == WBI_LIMIT_JSON_DEPTH)
                return wbi_fail(err, WB_ELIMIT, "nested deeper than %u levels",
                                WBI_LIMIT_JSON_DEPTH);
            stack[depth].container = v;
            stack[depth++].left = type == WBI_JSON_OBJ ? children * 2 : children;
        }
        v++;
        while (depth > 0 && stack[depth - 1].left == 0)
            depth--;
        if (depth == 0)
            return WB_OK;
        stack[depth - 1].left--;
    }
}

/* Most of the text's nesting before it is parsed, so that a text of brackets
 * costs no tree. Counts every bracket outside strings. */
static bool too_deep(struct wbi_str text)
{
    size_t depth = 0;

    if (text.n <= WBI_LIMIT_JSON_DEPTH)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"') {
            for (i++; i < text.n && text.p[i] != '"'; i++)
                if (text.p[i] == '\\')
                    i++;
        } else if (c == '[' || c == '{') {
            if (++depth > WBI_LIMIT_JSON_DEPTH)
                return true;
        } else if (c == ']' || c == '}') {
            depth -= depth > 0;
        }
    }
    return false;
}

wb_rc wbi_json_read(struct wbi_arena *arena, struct wbi_str text, enum wbi_json_flags flags,
                    const wbi_json **ret, struct wbi_error *err)
{
    yyjson_read_flag f = YYJSON_READ_BIGNUM_AS_RAW;
    yyjson_alc alc = {arena_malloc, arena_realloc, arena_free, arena};
    yyjson_read_err yerr;
    yyjson_doc *doc;
    wb_rc rc;

    if (flags & WBI_JSON_CONFIG)
        f |= YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS;
    if (text.n > WBI_LIMIT_JSON_TEXT)
        return wbi_fail(err, WB_ELIMIT, "JSON text of %zu bytes is over the limit of %u", text.n,
                        WBI_LIMIT_JSON_TEXT);
    if (text.n == 0)
        return bad(err, text, 0, WB_EINPUT, "the text is empty; one JSON value is needed");
    if (too_deep(text))
        return wbi_fail(err, WB_ELIMIT, "nested deeper than %u levels", WBI_LIMIT_JSON_DEPTH);
    doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.n, f, &alc, &yerr);
    if (doc == NULL) {
        if (yerr.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
            return wbi_fail_nomem(err);
        return bad(err, text, yerr.pos, WB_EINPUT, yerr.msg);
    }
    rc = check_tree(arena, doc->root, err);
    if (rc == WB_OK)
        *ret = doc->root;
    return rc;
}

const char *wbi_json_type_name(const wbi_json *v)
{
    static const char *const names[] = {"nothing", "null",   "boolean", "integer", "number",
                                        "integer", "string", "array",   "object"};

    return names[wbi_json_type(v)];
}

bool wbi_json_i64(const wbi_json *v, int64_t *ret)
{
    if (wbi_json_is(v, WBI_JSON_REAL)) {
        double d = wbi_json_num(v);
        if (d != floor(d) || d < -9223372036854775808.0 || d >= 9223372036854775808.0)
            return false;
        *ret = (int64_t)d;
        return true;
    }
    if (!wbi_json_is(v, WBI_JSON_INT))
        return false;
    if (yyjson_get_subtype((yyjson_val *)(uintptr_t)v) == YYJSON_SUBTYPE_UINT &&
        v->uni.u64 > INT64_MAX)
        return false;
    *ret = v->uni.i64;
    return true;
}

bool wbi_json_u64(const wbi_json *v, uint64_t *ret)
{
    int64_t i;

    if (wbi_json_is(v, WBI_JSON_INT) &&
        yyjson_get_subtype((yyjson_val *)(uintptr_t)v) == YYJSON_SUBTYPE_UINT) {
        *ret = v->uni.u64;
        return true;
    }
    if (!wbi_json_i64(v, &i) || i < 0)
        return false;
    *ret = (uint64_t)i;
    return true;
}

const wbi_json *wbi_json_getn(const wbi_json *v, struct wbi_str name)
{
    return yyjson_obj_getn((yyjson_val *)(uintptr_t)v, name.p ? name.p : "", name.n);
}

const wbi_json *wbi_json_get(const wbi_json *v, const char *name)
{
    return wbi_json_getn(v, wbi_str_z(name));
}

const wbi_json *wbi_json_get_as(const wbi_json *v, const char *name, enum wbi_json_type type)
{
    const wbi_json *member = wbi_json_get(v, name);

    return wbi_json_is(member, type) ? member : NULL;
}

struct wbi_str wbi_json_get_str(const wbi_json *v, const char *name)
{
    return wbi_json_str(wbi_json_get_as(v, name, WBI_JSON_STR));
}

const wbi_json *wbi_json_at(const wbi_json *v, size_t i)
{
    return yyjson_arr_get((yyjson_val *)(uintptr_t)v, i);
}
