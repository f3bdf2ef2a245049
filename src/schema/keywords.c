/* SPDX-License-Identifier: Apache-2.0
 * schema/keywords.c: names to keywords and back. */
#include "schema/keywords.h"

static const struct wbi_keyword_row rows[KW_COUNT] = {
#define X(id, text, in, vocab) [KW_##id] = {WBI_LIT_INIT(text), in, vocab},
    WBI_KEYWORDS(X)
#undef X
};

const struct wbi_keyword_row *wbi_keyword_row(enum wbi_keyword keyword)
{
    return &rows[keyword < KW_COUNT ? keyword : KW_NONE];
}

enum wbi_keyword wbi_keyword_find(struct wbi_str name)
{
    int low = KW_NONE + 1, high = KW_FALSE - 1;

    while (low <= high) {
        int middle = (low + high) / 2;
        int c = wbi_str_cmp(name, rows[middle].name);
        if (c == 0)
            return (enum wbi_keyword)middle;
        if (c < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return KW_NONE;
}
