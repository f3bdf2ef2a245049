/* SPDX-License-Identifier: Apache-2.0
 * family/file/search.h: what is looked for, compiled once for a search. */
#ifndef WBI_FAMILY_FILE_SEARCH_H
#define WBI_FAMILY_FILE_SEARCH_H

#include "family/file/file.h"
#include "text/regex.h"

struct wbi_needle {
    struct wbi_regex *re;      /* over bytes */
    struct wbi_regex *re_utf8; /* over characters, where that may find something else */
    bool wide;                 /* it may do so in ASCII, too: `é?` is one byte and another */
    bool by_line;              /* lines are to be looked at one by one, not as one text */
    struct wbi_str literal;    /* must occur in every match; empty: none known. Decides alone
                                * where there is no expression */
    char rare;                 /* its least common byte, at rare_at */
    size_t rare_at;
};

WB_MUST_CHECK wb_rc wbi_needle_compile(const struct wbi_search_request *req,
                                       struct wbi_arena *arena, struct wbi_error *err,
                                       struct wbi_needle *ret);
void wbi_needle_free(struct wbi_needle *n);
/* Whether the literal occurs at or after from; true when none is known.
 * *ret_at: where. */
bool wbi_needle_literal(const struct wbi_needle *n, struct wbi_str text, size_t from,
                        size_t *ret_at);
/* Is text to be read as characters? */
bool wbi_needle_reads_utf8(const struct wbi_needle *n, struct wbi_str text);
/* First match at or after from. utf8: text is well-formed, to be read as characters. */
enum wbi_regex_verdict wbi_needle_find(const struct wbi_needle *n, struct wbi_str text, size_t from,
                                       bool utf8, struct wbi_regex_span *ret);

#endif
