/* SPDX-License-Identifier: Apache-2.0
 * tests/support/cites.c: see cites.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>

#include "cites.h"
#include "shared_vectors.h"

struct wbi_str cite_line(struct wbi_str *text)
{
    size_t n = wbi_str_index(*text, '\n');
    struct wbi_str line = wbi_str_head(*text, n);

    *text = wbi_str_from(*text, n + 1);
    return line;
}

size_t cite_rows(struct wbi_str text, struct cite_row *rows, size_t max)
{
    size_t n = 0;

    while (text.n > 0) {
        struct wbi_str line = cite_line(&text);

        if (line.n == 0 || line.p[0] == '#')
            continue;
        if (line.p[0] == ' ') {
            assert_true(n > 0);
            if (rows[n - 1].cites.p == NULL)
                rows[n - 1].cites.p = line.p;
            rows[n - 1].cites.n = (size_t)(line.p + line.n + 1 - rows[n - 1].cites.p);
            continue;
        }
        assert_true(n < max);
        rows[n++] = (struct cite_row){.head = line};
    }
    return n;
}

bool cite_is_reason(const struct cite_row *row)
{
    return wbi_str_starts(wbi_str_trim(row->cites), WBI_LIT("- "));
}

/* Times name stands in text as a whole word. */
static unsigned words(struct wbi_str text, struct wbi_str name)
{
    unsigned n = 0;
    size_t at;

    while ((at = wbi_str_find(text, name)) < text.n) {
        bool before = at > 0 && (isalnum((unsigned char)text.p[at - 1]) || text.p[at - 1] == '_');
        struct wbi_str rest = wbi_str_from(text, at + name.n);
        bool after = rest.n > 0 && (isalnum((unsigned char)rest.p[0]) || rest.p[0] == '_');

        n += !before && !after;
        text = rest;
    }
    return n;
}

/* What is wrong with a citation, NULL when it holds. A test in C is defined and listed. */
static const char *wrong(struct wbi_str cite)
{
    struct wbi_str path = wbi_str_head(cite, wbi_str_index(cite, ':'));
    struct wbi_str part = wbi_str_from(cite, path.n + 1);
    bool program = wbi_str_ends(path, WBI_LIT("_test.c"));
    const char *problem = NULL;
    char whole[512];
    struct wbi_buf text;

    if (!wbi_str_starts(path, WBI_LIT("tests/")) && !program)
        return "is no test";
    (void)snprintf(whole, sizeof(whole), WAYBILL_SOURCE "/%.*s", WBI_FMT(path));
    if (!read_whole_file(whole, &text))
        problem = "does not exist";
    else if (program && (part.n == 0 || words(wbi_buf_str(&text), part) < 2))
        problem = "has no such test";
    else if (part.n > 0 && wbi_str_find(wbi_buf_str(&text), part) == text.n)
        problem = "does not hold these words";
    wbi_buf_fini(&text);
    return problem;
}

unsigned cite_wrong(const char *list, const struct cite_row *row)
{
    struct wbi_str rest = row->cites;
    unsigned bad = 0;

    if (rest.n == 0) {
        printf("%s: no test for: %.*s\n", list, WBI_FMT(row->head));
        return 1;
    }
    while (rest.n > 0) {
        struct wbi_str cite = wbi_str_trim(cite_line(&rest));
        bool reason = wbi_str_starts(cite, WBI_LIT("- "));
        const char *problem = reason ? NULL : wrong(cite);

        if (problem != NULL) {
            printf("%s: %.*s\n  %.*s %s\n", list, WBI_FMT(row->head), WBI_FMT(cite), problem);
            bad++;
        }
    }
    return bad;
}
