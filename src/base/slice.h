/* SPDX-License-Identifier: Apache-2.0
 * base/slice.h: bytes with a length. Slices never own memory and are not
 * NUL-terminated; an absent slice has p == NULL, an empty one p != NULL, n == 0. */
#ifndef WBI_BASE_SLICE_H
#define WBI_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wbi_str {
    const char *p;
    size_t n;
};

/* Slice of a string literal; for initializers use WBI_LIT_INIT. */
#define WBI_LIT(s) ((struct wbi_str){"" s, sizeof(s) - 1})
#define WBI_LIT_INIT(s)     \
    {                       \
        "" s, sizeof(s) - 1 \
    }
#define WBI_NONE ((struct wbi_str){NULL, 0})
/* For "%.*s". */
#define WBI_FMT(s) (int)((s).n > 0x7fffffff ? 0x7fffffff : (s).n), ((s).p ? (s).p : "")

static inline struct wbi_str wbi_str_make(const char *p, size_t n)
{
    return (struct wbi_str){p, n};
}

/* NULL gives the absent slice. */
static inline struct wbi_str wbi_str_z(const char *z)
{
    return (struct wbi_str){z, z ? strlen(z) : 0};
}

static inline bool wbi_str_eq(struct wbi_str a, struct wbi_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool wbi_str_eqz(struct wbi_str a, const char *z)
{
    size_t n = strlen(z);
    return a.n == n && (n == 0 || memcmp(a.p, z, n) == 0);
}

static inline bool wbi_str_starts(struct wbi_str s, struct wbi_str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool wbi_str_ends(struct wbi_str s, struct wbi_str suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* The part from byte `from` on; empty when from is past the end. */
static inline struct wbi_str wbi_str_from(struct wbi_str s, size_t from)
{
    if (from > s.n)
        from = s.n;
    return (struct wbi_str){s.p ? s.p + from : NULL, s.n - from};
}

static inline struct wbi_str wbi_str_head(struct wbi_str s, size_t n)
{
    return (struct wbi_str){s.p, n < s.n ? n : s.n};
}

/* Offset of c, or s.n when it does not occur. */
size_t wbi_str_index(struct wbi_str s, char c);
/* Offset of needle, or s.n when it does not occur. */
size_t wbi_str_find(struct wbi_str s, struct wbi_str needle);
/* wbi_str_trim for what begins or ends with a control character or a space. */
struct wbi_str wbi_str_trim_ends(struct wbi_str s);
/* Without ASCII white space at both ends; most have none. */
static inline struct wbi_str wbi_str_trim(struct wbi_str s)
{
    if (s.n == 0 || ((uint8_t)s.p[0] > ' ' && (uint8_t)s.p[s.n - 1] > ' '))
        return s;
    return wbi_str_trim_ends(s);
}
/* Byte order like memcmp, shorter first. */
int wbi_str_cmp(struct wbi_str a, struct wbi_str b);
/* ASCII case-insensitive equality. */
bool wbi_str_ieq(struct wbi_str a, struct wbi_str b);
/* The ASCII capitals of n bytes made small, in place. */
void wbi_lower(char *p, size_t n);
/* Whole slice as a decimal number; false on anything else or overflow. */
bool wbi_parse_u64(struct wbi_str s, uint64_t *ret);
bool wbi_parse_i64(struct wbi_str s, int64_t *ret);

/* Shell-style glob over the whole slice: * ? and literal bytes, no recursion. */
bool wbi_glob_match(struct wbi_str pattern, struct wbi_str text);

#endif
