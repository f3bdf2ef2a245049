/* SPDX-License-Identifier: Apache-2.0
 * json/canonical.c: the JSON Canonicalization Scheme (RFC 8785).
 * Strings and numbers are written as everywhere (json/write.c has the same
 * escapes and ECMAScript's numbers); what is added is the order of members. The
 * keys of all open objects stand on one stack of pointers, each object's sorted
 * when it is opened; there is no recursion. */
#include "json/canonical.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "json/json_int.h"
#include "json/pointer.h"
#include "json/write.h"

#define KEYS_INLINE 64
#define SAFE_INTEGER INT64_C(9007199254740991)

/* An open container: for objects keys[base, base + total) are its members in
 * order, for arrays `next` is the element to come. */
struct frame {
    const wbi_json *next;
    size_t base;
    size_t total;
    size_t done;
    bool object;
};

struct canon {
    struct wbi_buf *out;
    struct wbi_error *err;
    const wbi_json **keys; /* few, until they do not fit */
    size_t keys_n;
    size_t keys_cap;
    size_t depth;
    bool any_integer; /* large ones are written as they are */
    const wbi_json *few[KEYS_INLINE];
    struct frame frames[WBI_LIMIT_JSON_DEPTH];
};

/* Order by UTF-16 code units. UTF-8 bytes give it but for one case: characters
 * past U+FFFF (first byte F0 and up) are surrogates, which come before U+E000
 * to U+FFFF (first byte EE or EF). */
static int compare_names(struct wbi_str a, struct wbi_str b)
{
    size_t n = WBI_MIN(a.n, b.n), i = 0;
    uint8_t x, y;

    while (i < n && a.p[i] == b.p[i])
        i++;
    if (i == n)
        return a.n < b.n ? -1 : a.n > b.n;
    x = (uint8_t)a.p[i];
    y = (uint8_t)b.p[i];
    if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0))
        return x >= 0xf0 ? -1 : 1;
    return x < y ? -1 : 1;
}

static bool before(const wbi_json *a, const wbi_json *b)
{
    return compare_names(wbi_json_str(a), wbi_json_str(b)) < 0;
}

static void sift_down(const wbi_json **heap, size_t at, size_t n)
{
    const wbi_json *moving = heap[at];

    for (;;) {
        size_t child = at * 2 + 1;

        if (child >= n)
            break;
        if (child + 1 < n && before(heap[child], heap[child + 1]))
            child++;
        if (!before(moving, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void heap_sort(const wbi_json **keys, size_t n)
{
    for (size_t i = n / 2; i > 0; i--)
        sift_down(keys, i - 1, n);
    for (size_t i = n - 1; i > 0; i--) {
        const wbi_json *largest = keys[0];

        keys[0] = keys[i];
        keys[i] = largest;
        sift_down(keys, 0, i);
    }
}

/* Insertion for what is short or nearly sorted, which is most of it. */
static void sort_keys(const wbi_json **keys, size_t n)
{
    size_t moves = 0;

    for (size_t i = 1; i < n; i++) {
        const wbi_json *key = keys[i];
        size_t j = i;

        for (; j > 0 && before(key, keys[j - 1]); j--, moves++)
            keys[j] = keys[j - 1];
        keys[j] = key;
        if (moves > n * 8 && n > 32) {
            heap_sort(keys, n);
            return;
        }
    }
}

static wb_rc reserve_keys(struct canon *c, size_t more)
{
    const wbi_json **keys;
    size_t need, size;

    if (!wbi_add(c->keys_n, more, &need))
        return wbi_fail_nomem(c->err);
    if (need <= c->keys_cap)
        return WB_OK;
    need = WBI_MAX(need, c->keys_cap * 2);
    if (!wbi_mul(need, sizeof(const wbi_json *), &size))
        return wbi_fail_nomem(c->err);
    keys = wbi_realloc(c->keys == c->few ? NULL : c->keys, size);
    if (keys == NULL)
        return wbi_fail_nomem(c->err);
    if (c->keys == c->few)
        memcpy(keys, c->few, c->keys_n * sizeof(const wbi_json *));
    c->keys = keys;
    c->keys_cap = need;
    return WB_OK;
}

static wb_rc open_object(struct canon *c, const wbi_json *v)
{
    struct frame *f = &c->frames[c->depth];
    size_t n = wbi_json_count(v);
    wb_rc rc = reserve_keys(c, n);

    if (rc != WB_OK)
        return rc;
    *f = (struct frame){.base = c->keys_n, .total = n, .object = true};
    WBI_JSON_EACH_MEMBER (v, k) {
        c->keys[c->keys_n++] = k;
    }
    sort_keys(c->keys + f->base, n);
    c->depth++;
    wbi_buf_addc(c->out, '{');
    return WB_OK;
}

static void open_array(struct canon *c, const wbi_json *v)
{
    c->frames[c->depth++] = (struct frame){.next = wbi_json_first(v), .total = wbi_json_count(v)};
    wbi_buf_addc(c->out, '[');
}

/* The JSON Pointer of the value at hand into err->at, cut where it is long. */
static void say_where(const struct canon *c)
{
    struct wbi_buf path;

    if (c->err == NULL)
        return;
    wbi_buf_init(&path, sizeof(c->err->at) - 1);
    for (size_t i = 0; i < c->depth; i++) {
        const struct frame *f = &c->frames[i];

        if (f->object)
            wbi_json_pointer_add(&path, wbi_json_str(c->keys[f->base + f->done - 1]));
        else
            wbi_buf_addf(&path, "/%zu", f->done - 1);
    }
    (void)snprintf(c->err->at, sizeof(c->err->at), "%.*s", WBI_FMT(wbi_buf_str(&path)));
    wbi_buf_fini(&path);
}

static wb_rc add_scalar(struct canon *c, const wbi_json *v)
{
    int64_t i = 0;

    if (!c->any_integer && (wbi_json_is(v, WBI_JSON_BIG) ||
                            (wbi_json_is(v, WBI_JSON_INT) &&
                             (!wbi_json_i64(v, &i) || i > SAFE_INTEGER || i < -SAFE_INTEGER)))) {
        (void)wbi_fail(c->err, WB_EINPUT,
                       "an integer beyond +-9007199254740991 has no canonical form; "
                       "write it as a string");
        say_where(c);
        return WB_EINPUT;
    }
    wbi_json_write(c->out, v);
    return WB_OK;
}

static wb_rc add_value(struct canon *c, const wbi_json *v)
{
    bool object = wbi_json_is(v, WBI_JSON_OBJ);

    if (!object && !wbi_json_is(v, WBI_JSON_ARR))
        return add_scalar(c, v);
    if (wbi_json_count(v) == 0) {
        wbi_buf_addz(c->out, object ? "{}" : "[]");
        return WB_OK;
    }
    if (c->depth == WBI_LIMIT_JSON_DEPTH)
        return wbi_fail(c->err, WB_ELIMIT, "nested deeper than %u levels", WBI_LIMIT_JSON_DEPTH);
    if (object)
        return open_object(c, v);
    open_array(c, v);
    return WB_OK;
}

/* The next value to write, its comma and name written; NULL when all is closed. */
static const wbi_json *next_value(struct canon *c)
{
    struct frame *f;
    const wbi_json *v;

    while (c->depth > 0 && c->frames[c->depth - 1].done == c->frames[c->depth - 1].total) {
        f = &c->frames[--c->depth];
        if (f->object)
            c->keys_n = f->base;
        wbi_buf_addc(c->out, f->object ? '}' : ']');
    }
    if (c->depth == 0)
        return NULL;
    f = &c->frames[c->depth - 1];
    if (f->done > 0)
        wbi_buf_addc(c->out, ',');
    if (f->object) {
        const wbi_json *key = c->keys[f->base + f->done++];

        wbi_json_write(c->out, key);
        wbi_buf_addc(c->out, ':');
        return key + 1;
    }
    f->done++;
    v = f->next;
    f->next = wbi_json_skip(v);
    return v;
}

static wb_rc write_all(const wbi_json *v, bool any_integer, struct wbi_buf *out,
                       struct wbi_error *err)
{
    WBI_LARGE_LOCAL struct canon c;
    wb_rc rc = WB_OK;

    if (v == NULL)
        return wbi_fail(err, WB_EMISUSE, "no value to write");
    c.out = out;
    c.err = err;
    c.keys = c.few;
    c.keys_cap = KEYS_INLINE;
    c.keys_n = 0;
    c.depth = 0;
    c.any_integer = any_integer;
    for (; v != NULL && rc == WB_OK; v = rc == WB_OK ? next_value(&c) : NULL)
        rc = add_value(&c, v);
    if (c.keys != c.few)
        wbi_free(c.keys);
    if (rc == WB_OK && wbi_buf_rc(out) != WB_OK)
        rc = wbi_fail(err, wbi_buf_rc(out), "the canonical form does not fit its buffer");
    return rc;
}

wb_rc wbi_json_canonical(const wbi_json *v, struct wbi_buf *out, struct wbi_error *err)
{
    return write_all(v, /* any_integer= */ false, out, err);
}

wb_rc wbi_json_canonical_any(const wbi_json *v, struct wbi_buf *out, struct wbi_error *err)
{
    return write_all(v, /* any_integer= */ true, out, err);
}
