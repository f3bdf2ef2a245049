/* SPDX-License-Identifier: Apache-2.0
 * tests/guard_citations_test.c: every edge case of the guards that the contract research
 * names (sections 2.4 to 2.17), every vector of its section 3 and every row of the matrix in
 * its section 5 has a row in tests/guards.cite, and every row names tests that exist. The
 * research is read where it is; without it only the rows are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>

#include "shared_vectors.h"
#include "support/cites.h"

#define ROWS_MAX 256
#define MATRIX_ROWS 27

static struct wbi_buf text;
static struct cite_row rows[ROWS_MAX];
static size_t rows_n;

static int set_up(void **state)
{
    (void)state;
    if (!read_whole_file(WAYBILL_SOURCE "/tests/guards.cite", &text))
        return -1;
    rows_n = cite_rows(wbi_buf_str(&text), rows, ROWS_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_buf_fini(&text);
    return 0;
}

static void every_row_names_tests_that_exist(void **state)
{
    unsigned bad = 0, reasons = 0;

    (void)state;
    for (size_t i = 0; i < rows_n; i++) {
        bad += cite_wrong("guards", &rows[i]);
        reasons += cite_is_reason(&rows[i]);
    }
    printf("guards: %zu rows, %u of them without a test\n", rows_n, reasons);
    if (bad > 0)
        fail_msg("%u citations do not hold", bad);
}

/* Marks the row whose head is that name, or begins with it and a space. */
static unsigned need(struct wbi_str name)
{
    for (size_t i = 0; i < rows_n; i++) {
        struct wbi_str head = rows[i].head;

        if (wbi_str_starts(head, name) && (head.n == name.n || head.p[name.n] == ' ')) {
            rows[i].used = true;
            return 0;
        }
    }
    printf("guards: no row for %.*s\n", WBI_FMT(name));
    return 1;
}

/* "K10" and the like at the beginning, else 0 bytes. */
static size_t name_at(struct wbi_str s)
{
    size_t n = 1;

    if (s.n < 3 || !isupper((unsigned char)s.p[0]))
        return 0;
    while (n < s.n && isdigit((unsigned char)s.p[n]))
        n++;
    return n > 1 && n < s.n && s.p[n] == ' ' ? n : 0;
}

/* Edge cases begin a bullet or a sentence with their name. */
static unsigned need_edge_cases(struct wbi_str page)
{
    size_t from = wbi_str_find(page, WBI_LIT("\n### 2.4 ")),
           to = wbi_str_find(page, WBI_LIT("\n### 2.18 "));
    struct wbi_str part = wbi_str_head(wbi_str_from(page, from), to - from);
    unsigned bad = 0, n = 0;

    assert_true(from < to && to < page.n);
    for (size_t i = 2; i < part.n; i++) {
        struct wbi_str here = wbi_str_from(part, i);
        bool begins = part.p[i - 1] == ' ' && (part.p[i - 2] == '-' || part.p[i - 2] == '.');
        size_t length = begins ? name_at(here) : 0;

        if (length == 0)
            continue;
        bad += need(wbi_str_head(here, length));
        n++;
    }
    assert_true(n > 90); /* the page is what it was taken for */
    return bad;
}

static unsigned need_vectors(struct wbi_str page)
{
    unsigned bad = 0;

    for (char c = 'A'; c <= 'Z'; c++) {
        char there[16], name[16];

        (void)snprintf(there, sizeof(there), "- Vector %c", c);
        (void)snprintf(name, sizeof(name), "Vector %c", c);
        if (wbi_str_find(page, wbi_str_z(there)) < page.n)
            bad += need(wbi_str_z(name));
    }
    return bad;
}

static void every_edge_case_has_its_row(void **state)
{
    struct wbi_buf page;
    char path[1024];
    unsigned bad = 0;

    (void)state;
    for (int i = 1; i <= MATRIX_ROWS; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "Row %d", i);
        bad += need(wbi_str_z(name));
    }
    if (shared_present("research/contract.md")) {
        assert_true(
            read_whole_file(shared_path(path, sizeof(path), "research/contract.md"), &page));
        bad += need_edge_cases(wbi_buf_str(&page)) + need_vectors(wbi_buf_str(&page));
        wbi_buf_fini(&page);
        for (size_t i = 0; i < rows_n; i++) {
            if (!rows[i].used)
                printf("guards: no such edge case: %.*s\n", WBI_FMT(rows[i].head));
            bad += !rows[i].used;
        }
    }
    if (bad > 0)
        fail_msg("%u rows are missing or too many", bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_names_tests_that_exist),
        cmocka_unit_test(every_edge_case_has_its_row),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
