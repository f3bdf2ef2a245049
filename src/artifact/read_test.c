/* SPDX-License-Identifier: Apache-2.0
 * artifact/read_test.c: reads that are not wanted any more. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_read_that_is_stopped_ends)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
