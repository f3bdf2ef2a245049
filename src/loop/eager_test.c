/* SPDX-License-Identifier: Apache-2.0
 * loop/eager_test.c: when the loop looks for one more event before it sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "loop/eager.h"

static struct wbi_eager make(int fd)
{
    struct wbi_eager e;

    wbi_eager_init(&e, fd);
    e.may = true; /* whatever machine this is */
    return e;
}

static void turn(struct wbi_eager *e, unsigned events)
{
    while (events-- > 0)
        wbi_eager_event(e);
    wbi_eager_turn(e);
}

static void only_a_single_event_is_followed_by_a_look(void **state)
{
    int fd = eventfd(1, EFD_CLOEXEC);
    struct wbi_eager e = make(fd);

    (void)state;
    turn(&e, 0);
    turn(&e, 2);
    turn(&e, 64);
    assert_int_equal(e.looks, 0);
    turn(&e, 1);
    assert_int_equal(e.looks, 1);
    assert_int_equal(e.hits, 1);
    turn(&e, 0); /* the event before counts once */
    assert_int_equal(e.looks, 1);
    close(fd);
}

static void looks_that_find_nothing_become_rare(void **state)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    struct wbi_eager e = make(fd);
    uint64_t one = 1, before;

    (void)state;
    for (int i = 0; i < 1000; i++)
        turn(&e, 1);
    assert_int_equal(e.hits, 0);
    assert_in_range(e.looks, 8, 8 + 1000 / 30);
    assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
    for (int i = 0; i < 100 && e.hits == 0; i++)
        turn(&e, 1);
    before = e.looks;
    for (int i = 0; i < 10; i++) /* one that found something makes them common again */
        turn(&e, 1);
    assert_int_equal(e.looks, before + 10);
    assert_int_equal(e.hits, 11);
    close(fd);
}

static void one_core_is_left_to_the_others(void **state)
{
    int fd = eventfd(1, EFD_CLOEXEC);
    struct wbi_eager e = make(fd);

    (void)state;
    e.may = false;
    turn(&e, 1);
    assert_int_equal(e.looks, 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_single_event_is_followed_by_a_look),
        cmocka_unit_test(looks_that_find_nothing_become_rare),
        cmocka_unit_test(one_core_is_left_to_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
