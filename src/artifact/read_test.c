/* SPDX-License-Identifier: Apache-2.0
 * artifact/read_test.c: reads that are not wanted any more, and of what still grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/read.h"
#include "base/limits.h"

static enum wbi_regex_verdict any(void *arg, struct wbi_str part, size_t from, bool goes_on,
                                  size_t *ret_at)
{
    (void)arg;
    (void)part;
    (void)goes_on;
    *ret_at = from;
    return WBI_REGEX_YES;
}

/* Whatever is asked of an artifact, of any size, ends when its call does. */
static void a_read_that_is_stopped_ends(void **state)
{
    static const enum wbi_read_kind kinds[] = {WBI_READ_LINES, WBI_READ_BYTES, WBI_READ_TAIL,
                                               WBI_READ_GREP, WBI_READ_JSON};
    static const struct wbi_line_matcher matcher = {NULL, any};
    int fd = memfd_create("text", MFD_CLOEXEC);
    atomic_bool stop = true;
    struct wbi_arena *arena;

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(write(fd, "[1]\n", 4), 4);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct wbi_read_query q = {
            .kind = kinds[i], .first = 1, .matcher = &matcher, .stop = &stop};
        struct wbi_read_page page;

        stop = true;
        assert_int_equal(wbi_read_fd(fd, WBI_LIT("x"), &q, arena, &page, NULL), WB_ECANCELLED);
        stop = false;
        assert_int_equal(wbi_read_fd(fd, WBI_LIT("x"), &q, arena, &page, NULL), WB_OK);
    }
    wbi_arena_free(arena);
    close(fd);
}

/* What prints while it is read; it stops some day, so that a read that runs after it ends. */
struct printer {
    int fd;
    int lines;
};

/* A cleaner that changes nothing, but while it works more is printed. */
static wb_rc begin_writing(void *arg, void **ret_state)
{
    *ret_state = arg;
    return WB_OK;
}

static wb_rc feed_writing(void *state, struct wbi_str raw, struct wbi_buf *out)
{
    struct printer *p = state;

    if (p->lines++ < 50)
        assert_int_equal(write(p->fd, "more\n", 5), 5);
    wbi_buf_adds(out, raw);
    return wbi_buf_rc(out);
}

static wb_rc finish_writing(void *state, struct wbi_buf *out)
{
    (void)state;
    return wbi_buf_rc(out);
}

static void end_writing(void *state)
{
    (void)state;
}

/* C7.2: the last line of a task that prints all the time is one line; the read sees what was
 * there when it began, and ends. */
static void a_read_sees_what_was_there_when_it_began(void **state)
{
    struct printer p = {memfd_create("text", MFD_CLOEXEC), 0};
    struct wbi_cleaner cleaner = {&p, begin_writing, feed_writing, finish_writing, end_writing};
    struct wbi_read_query q = {.kind = WBI_READ_TAIL, .first = 1, .cleaner = &cleaner};
    struct wbi_arena *arena;
    struct wbi_read_page page;

    (void)state;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(write(p.fd, "one\ntwo\n", 8), 8);
    assert_int_equal(wbi_read_fd(p.fd, WBI_LIT("x"), &q, arena, &page, NULL), WB_OK);
    assert_true(wbi_str_eqz(page.text, "two\n"));
    assert_int_equal(page.total_lines, 2);
    q = (struct wbi_read_query){.first = 2, .cleaner = &cleaner};
    assert_int_equal(wbi_read_fd(p.fd, WBI_LIT("x"), &q, arena, &page, NULL), WB_OK);
    assert_true(wbi_str_eqz(page.text, "two\nmore\nmore\n"));
    wbi_arena_free(arena);
    close(p.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_that_is_stopped_ends),
        cmocka_unit_test(a_read_sees_what_was_there_when_it_began),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
