/* SPDX-License-Identifier: Apache-2.0
 * json/json.h: JSON values as the other rooms see them.
 * A parsed text is an immutable tree in its arena; accessors are inline. This
 * is the only header that includes yyjson. Rules of reading (C2.4, I5):
 * duplicate names, depth over WBI_LIMIT_JSON_DEPTH, invalid UTF-8, lone
 * surrogates, trailing bytes and numbers that overflow a double are refused;
 * integers beyond 64 bits are kept exact as text (type WBI_JSON_BIG). */
#ifndef WBI_JSON_JSON_H
#define WBI_JSON_JSON_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

typedef struct yyjson_val wbi_json;

enum wbi_json_type {
    WBI_JSON_NONE = 0, /* of a NULL value */
    WBI_JSON_NULL,
    WBI_JSON_BOOL,
    WBI_JSON_INT,  /* fits int64_t or uint64_t */
    WBI_JSON_REAL, /* double, finite */
    WBI_JSON_BIG,  /* integer beyond 64 bits, as its digits (but see WBI_JSON_AS_WRITTEN) */
    WBI_JSON_STR,
    WBI_JSON_ARR, /* containers come last */
    WBI_JSON_OBJ
};

enum wbi_json_flags {
    WBI_JSON_STRICT = 0,
    WBI_JSON_CONFIG = 1, /* comments and trailing commas, for files of people */
    /* For showing: every number is a WBI_JSON_BIG, the bytes it was written with. None is
     * too large. */
    WBI_JSON_AS_WRITTEN = 2,
    /* For finding out who sent a text that is refused: of members with one name the first
     * counts, U+FFFD and "?" stand where a lone surrogate, bad UTF-8 and a control character
     * were, 0 where it is too deep, and numbers that are too large are BIG. Nothing may be
     * done with such a tree but to refuse it. */
    WBI_JSON_TO_REFUSE = 4,
    /* As WBI_JSON_AS_WRITTEN, for passing on: what is too large is refused. */
    WBI_JSON_PASSED_ON = WBI_JSON_AS_WRITTEN | 8
};

/* Parse text (copied) into arena. err gets line, column and offset of what is
 * wrong. WB_EINPUT bad text, WB_ELIMIT too deep or large, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_json_read(struct wbi_arena *arena, struct wbi_str text,
                                  enum wbi_json_flags flags, const wbi_json **ret,
                                  struct wbi_error *err);

/* The same; *ret_copy is the arena's copy of the text, for wbi_json_offset. */
WB_MUST_CHECK wb_rc wbi_json_read_placed(struct wbi_arena *arena, struct wbi_str text,
                                         enum wbi_json_flags flags, const wbi_json **ret,
                                         const char **ret_copy, struct wbi_error *err);
/* Byte offset in the text of the first name, string or large integer at or in v
 * (a value of that read); SIZE_MAX when it has none. */
size_t wbi_json_offset(const char *copy, const wbi_json *v);

/* A table, since a jump for every value looked at is what such walks spend. */
static inline enum wbi_json_type wbi_json_type(const wbi_json *v)
{
    static const uint8_t types[] = {
        [YYJSON_TYPE_NONE] = WBI_JSON_NONE, [YYJSON_TYPE_RAW] = WBI_JSON_BIG,
        [YYJSON_TYPE_NULL] = WBI_JSON_NULL, [YYJSON_TYPE_BOOL] = WBI_JSON_BOOL,
        [YYJSON_TYPE_NUM] = WBI_JSON_INT,   [YYJSON_TYPE_STR] = WBI_JSON_STR,
        [YYJSON_TYPE_ARR] = WBI_JSON_ARR,   [YYJSON_TYPE_OBJ] = WBI_JSON_OBJ};
    uint8_t tag;

    if (v == NULL)
        return WBI_JSON_NONE;
    tag = (uint8_t)v->tag;
    if ((tag & YYJSON_TAG_MASK) == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL))
        return WBI_JSON_REAL;
    return (enum wbi_json_type)types[tag & YYJSON_TYPE_MASK];
}

static inline bool wbi_json_is(const wbi_json *v, enum wbi_json_type type)
{
    return wbi_json_type(v) == type;
}
/* "object", "string", "integer" … for messages. */
const char *wbi_json_type_name(const wbi_json *v);

/* Bytes of a string (or the digits of a BIG); absent slice for other types. */
static inline struct wbi_str wbi_json_str(const wbi_json *v)
{
    enum wbi_json_type t = wbi_json_type(v);
    if (t != WBI_JSON_STR && t != WBI_JSON_BIG)
        return WBI_NONE;
    return wbi_str_make(v->uni.str, (size_t)(v->tag >> YYJSON_TAG_BIT));
}
static inline bool wbi_json_true(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_BOOL) && yyjson_get_bool((yyjson_val *)(uintptr_t)v);
}
/* The nearest double of a number, which for a BIG may be infinite; 0 for other
 * types. */
double wbi_json_num(const wbi_json *v);
/* Integers, and reals with an integral value, that fit; false otherwise. */
bool wbi_json_i64(const wbi_json *v, int64_t *ret);
bool wbi_json_u64(const wbi_json *v, uint64_t *ret);

/* Members of an object, elements of an array, 0 for other types. */
static inline size_t wbi_json_count(const wbi_json *v)
{
    enum wbi_json_type t = wbi_json_type(v);
    return t == WBI_JSON_ARR || t == WBI_JSON_OBJ ? (size_t)(v->tag >> YYJSON_TAG_BIT) : 0;
}
/* NULL when v is no object or has no such member. */
const wbi_json *wbi_json_getn(const wbi_json *v, struct wbi_str name);
static inline const wbi_json *wbi_json_get(const wbi_json *v, const char *name)
{
    if (v == NULL) /* often: what the protocol leaves to the other side */
        return NULL;
    return wbi_json_getn(v, wbi_str_make(name, strlen(name))); /* a literal's is a constant */
}
/* wbi_json_get, but NULL unless the member has that type. */
static inline const wbi_json *wbi_json_get_as(const wbi_json *v, const char *name,
                                              enum wbi_json_type type)
{
    const wbi_json *member = wbi_json_get(v, name);

    return wbi_json_is(member, type) ? member : NULL;
}
/* The string member, or the absent slice. */
static inline struct wbi_str wbi_json_get_str(const wbi_json *v, const char *name)
{
    return wbi_json_str(wbi_json_get_as(v, name, WBI_JSON_STR));
}
/* Element i of an array, O(1) for flat arrays; NULL past the end. */
const wbi_json *wbi_json_at(const wbi_json *v, size_t i);

/* The value after v and everything inside it, in document order. */
static inline const wbi_json *wbi_json_skip(const wbi_json *v)
{
    return unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)v);
}
/* First element of a non-empty array / first KEY of a non-empty object; the
 * value of a key is key + 1. */
static inline const wbi_json *wbi_json_first(const wbi_json *v)
{
    return v + 1;
}

/* for each element e of array a; nothing when a is no array */
#define WBI_JSON_EACH(a, e)                                                                      \
    for (size_t e##_left = wbi_json_is((a), WBI_JSON_ARR) ? wbi_json_count(a) : 0, e##_once = 1; \
         e##_once; e##_once = 0)                                                                 \
        for (const wbi_json *e = e##_left > 0 ? (a) + 1 : NULL; e##_left > 0;                    \
             e##_left--, e = wbi_json_skip(e))
/* for each member of object o: k is the key value, k##_val the value */
#define WBI_JSON_EACH_MEMBER(o, k)                                                               \
    for (size_t k##_left = wbi_json_is((o), WBI_JSON_OBJ) ? wbi_json_count(o) : 0, k##_once = 1; \
         k##_once; k##_once = 0)                                                                 \
        for (const wbi_json *k = k##_left > 0 ? (o) + 1 : NULL,                                  \
                            *k##_val = k##_left > 0 ? k + 1 : NULL;                              \
             k##_left > 0; k##_left--, k = wbi_json_skip(k##_val), k##_val = k + 1)

/* Equal as JSON values: numbers by value, members in any order. */
bool wbi_json_equal(const wbi_json *a, const wbi_json *b);

#endif
