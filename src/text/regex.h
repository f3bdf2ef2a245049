/* SPDX-License-Identifier: Apache-2.0
 * text/regex.h: regular expressions with bounded work (PCRE2 with JIT).
 * The only door to pcre2.h. A compiled expression is immutable and may be
 * matched from any number of threads; matching allocates nothing as long as
 * no two threads use the same expression at once. */
#ifndef WBI_TEXT_REGEX_H
#define WBI_TEXT_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/slice.h"

struct wbi_regex;

enum wbi_regex_flags {
    WBI_REGEX_ECMA = 1, /* ECMA-262 syntax and meaning, `u` flag (JSON Schema) */
    WBI_REGEX_CASELESS = 2,
    WBI_REGEX_MULTILINE = 4, /* ^ and $ also at line breaks */
    WBI_REGEX_BYTES = 8      /* subjects may be anything; . is one byte */
};

/* Of characters, \w, \d, \s, \b and classes by name know all scripts; not in ECMA-262, which
 * means ASCII by them.
 * WB_EINPUT: not an expression (err says where), WB_EUNSUPPORTED: ECMA syntax
 * this engine lacks, WB_ELIMIT: longer than WBI_LIMIT_REGEX_PATTERN, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_regex_compile(struct wbi_str pattern, unsigned flags,
                                      struct wbi_regex **ret, struct wbi_error *err);
/* NULL is fine. */
void wbi_regex_free(struct wbi_regex *re);

enum wbi_regex_verdict {
    WBI_REGEX_NO = 0,
    WBI_REGEX_YES = 1,
    WBI_REGEX_LIMIT = 2 /* gave up: too much work or out of memory */
};

enum wbi_regex_effort {
    WBI_REGEX_QUICK, /* WBI_LIMIT_REGEX_QUICK steps: well under a millisecond */
    WBI_REGEX_FULL   /* WBI_LIMIT_REGEX_FULL steps: some ten milliseconds at most */
};
/* Steps are those from one place; all places together have about WBI_LIMIT_REGEX_CPU_NS. */

/* Does it match anywhere? subject must be UTF-8 unless WBI_REGEX_BYTES. */
enum wbi_regex_verdict wbi_regex_test(const struct wbi_regex *re, struct wbi_str subject,
                                      enum wbi_regex_effort effort);

struct wbi_regex_span {
    size_t from; /* both WBI_REGEX_UNSET for a group that took no part */
    size_t to;
};
#define WBI_REGEX_UNSET ((size_t)-1)

/* First match at or after byte `from`; spans[0] is the whole match, spans[i]
 * group i; spans beyond the expression's groups are WBI_REGEX_UNSET. */
enum wbi_regex_verdict wbi_regex_find(const struct wbi_regex *re, struct wbi_str subject,
                                      size_t from, struct wbi_regex_span *spans, size_t n_spans);

/* The same of a part of a longer text, for the whole match alone: of one that begins with it
 * unless from > 0, and ends with it unless it goes on. */
enum wbi_regex_verdict wbi_regex_find_part(const struct wbi_regex *re, struct wbi_str part,
                                           size_t from, bool goes_on, struct wbi_regex_span *span);

/* Whether pattern is ECMA-262 syntax (with or without an engine for it). */
bool wbi_regex_ecma_valid(struct wbi_str pattern);

#endif
