/* SPDX-License-Identifier: Apache-2.0
 * artifact/grep_test.c: lines of any length are looked at whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/read.h"
#include "base/limits.h"

/* What grep with a line of context finds. */
static struct wbi_read_page grep(int fd, const char *pattern, struct wbi_arena *arena)
{
    struct wbi_line_matcher matcher = {.match = wbi_grep_regex};
    struct wbi_read_query q = {.kind = WBI_READ_GREP, .matcher = &matcher, .context = 1};
    struct wbi_regex *re = NULL;
    struct wbi_read_page page;

    assert_int_equal(wbi_regex_compile(wbi_str_z(pattern), 0, &re, NULL), WB_OK);
    matcher.arg = re;
    assert_int_equal(wbi_read_fd(fd, WBI_LIT("x"), &q, arena, &page, NULL), WB_OK);
    wbi_regex_free(re);
    return page;
}

/* A line with FATAL so deep in it, and one line before and behind it. */
static int long_line(size_t deep)
{
    int fd = memfd_create("line", MFD_CLOEXEC);
    struct wbi_buf text;

    wbi_buf_init(&text, WBI_MIB);
    wbi_buf_addz(&text, "before\na");
    for (size_t n = 1; n < deep; n += 2)
        wbi_buf_addz(&text, "\xc3\xa4");
    wbi_buf_addz(&text, "FATAL: it broke ");
    for (size_t n = 0; n < 100000; n++)
        wbi_buf_addc(&text, 'x');
    wbi_buf_addz(&text, "end\nafter\n");
    assert_int_equal(wbi_buf_rc(&text), WB_OK);
    assert_int_equal(write(fd, text.p, text.n), text.n);
    wbi_buf_fini(&text);
    return fd;
}

/* What stands deep in a line is found, and what is shown of the line is around it; anchors mean
 * the line and no part of it. */
static void all_of_a_long_line_is_looked_at(void **state)
{
    static const size_t deep[] = {
        3000,  50000, WBI_LIMIT_GREP_LINE - 12, WBI_LIMIT_GREP_LINE - 4, WBI_LIMIT_GREP_LINE,
        500000};

    (void)state;
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        int fd = long_line(deep[i]);
        struct wbi_arena *arena = NULL;
        struct wbi_read_page page;

        assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
        page = grep(fd, "FATAL: it", arena);
        assert_int_equal(page.matches, 1);
        assert_non_null(memmem(page.text.p, page.text.n, "FATAL: it broke", 15));
        assert_true(page.text.n < 5000);
        assert_memory_equal(page.text.p, "1-before\n2:", 11);
        assert_memory_equal(page.text.p + page.text.n - 8, "3-after\n", 8);
        assert_int_equal(grep(fd, "^FATAL", arena).matches, 0);
        assert_int_equal(grep(fd, "x$", arena).matches, 0);
        assert_int_equal(grep(fd, "xend$", arena).matches, 1);
        assert_int_equal(grep(fd, "^a\xc3\xa4{500}", arena).matches, 1);
        wbi_arena_free(arena);
        close(fd);
    }
}

/* All pages of this size, one behind the other. */
static struct wbi_str joined(int fd, size_t max_bytes, struct wbi_arena *arena)
{
    struct wbi_line_matcher matcher = {.match = wbi_grep_regex};
    struct wbi_read_query q = {
        .kind = WBI_READ_GREP, .matcher = &matcher, .context = 2, .max_bytes = max_bytes};
    struct wbi_regex *re = NULL;
    struct wbi_read_page page;
    struct wbi_buf all;

    wbi_buf_init_arena(&all, arena, WBI_MIB);
    assert_int_equal(wbi_regex_compile(WBI_LIT("0"), 0, &re, NULL), WB_OK);
    matcher.arg = re;
    do {
        assert_int_equal(wbi_read_fd(fd, WBI_LIT("x"), &q, arena, &page, NULL), WB_OK);
        wbi_buf_adds(&all, page.text);
        q.page_token = wbi_arena_str(arena, wbi_str_z(page.next_token));
    } while (q.page_token.n > 0);
    wbi_regex_free(re);
    assert_int_equal(wbi_buf_rc(&all), WB_OK);
    return wbi_buf_str(&all);
}

/* The mark between two groups stands wherever pages end. */
static void pages_joined_are_one_answer(void **state)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    struct wbi_arena *arena = NULL;
    struct wbi_str whole;

    (void)state;
    for (int i = 1; i <= 64; i++)
        dprintf(fd, "%d\n", i);
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    whole = joined(fd, 0, arena);
    assert_non_null(memmem(whole.p, whole.n, "12-12\n--\n18-18\n", 15));
    for (size_t size = 1; size < 120; size++) {
        struct wbi_str paged = joined(fd, size, arena);

        assert_int_equal(paged.n, whole.n);
        assert_memory_equal(paged.p, whole.p, whole.n);
    }
    wbi_arena_free(arena);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_a_long_line_is_looked_at),
                                       cmocka_unit_test(pages_joined_are_one_answer)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
