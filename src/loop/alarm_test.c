/* SPDX-License-Identifier: Apache-2.0
 * loop/alarm_test.c: alarms ring once, in the order they are due, and never after they
 * were stopped; a loop without one that is set does not wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "loop/alarm.h"
#include "loop/loop.h"

struct bell {
    struct wbi_alarm alarm;
    struct world *world;
    int number;
};

struct world {
    struct wbi_loop *loop;
    struct wbi_alarms *alarms;
    struct bell bell[8];
    char heard[64];
    int stop_at_three; /* the bell that the third one stops */
};

static void on_due(void *arg)
{
    struct bell *b = arg;
    size_t n = strlen(b->world->heard);

    b->world->heard[n] = (char)('0' + b->number);
    if (b->number == 3)
        wbi_alarm_stop(b->world->alarms, &b->world->bell[b->world->stop_at_three].alarm);
    if (b->number == 5 && n < 8) /* sets itself again */
        wbi_alarm_start(b->world->alarms, &b->alarm, 0);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    assert_int_equal(wbi_loop_new(NULL, &w->loop, NULL), WB_OK);
    w->alarms = wbi_loop_alarms(w->loop);
    for (int i = 0; i < 8; i++) {
        w->bell[i].world = w;
        w->bell[i].number = i;
        w->bell[i].alarm.on_due = on_due;
        w->bell[i].alarm.arg = &w->bell[i];
    }
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    wbi_loop_free(w->loop);
    free(w);
    return 0;
}

/* Until nothing is set any more. */
static void listen(struct world *w)
{
    while (wbi_loop_turn(w->loop, true))
        ;
}

static void they_ring_in_the_order_they_are_due(void **state)
{
    static const int after_ms[] = {20, 1, 12, 0, 6};
    struct world *w = *state;

    w->stop_at_three = 7;
    for (int i = 0; i < 5; i++)
        wbi_alarm_start(w->alarms, &w->bell[i].alarm, after_ms[i]);
    listen(w);
    assert_string_equal(w->heard, "31420");
}

static void a_stopped_one_is_silent(void **state)
{
    struct world *w = *state;

    wbi_alarm_start(w->alarms, &w->bell[0].alarm, 2);
    wbi_alarm_start(w->alarms, &w->bell[1].alarm, 4);
    wbi_alarm_start(w->alarms, &w->bell[2].alarm, 60000);
    wbi_alarm_stop(w->alarms, &w->bell[0].alarm);
    wbi_alarm_stop(w->alarms, &w->bell[0].alarm); /* a second time, and one never set */
    wbi_alarm_stop(w->alarms, &w->bell[7].alarm);
    wbi_alarm_stop(w->alarms, &w->bell[2].alarm);
    listen(w); /* nor does the loop wait a minute */
    assert_string_equal(w->heard, "1");
}

static void one_due_together_may_stop_the_next(void **state)
{
    struct world *w = *state;

    w->stop_at_three = 4;
    wbi_alarm_start(w->alarms, &w->bell[3].alarm, 0);
    wbi_alarm_start(w->alarms, &w->bell[4].alarm, 0);
    wbi_alarm_start(w->alarms, &w->bell[6].alarm, 0);
    listen(w);
    assert_string_equal(w->heard, "36");
}

static void setting_anew_moves_it(void **state)
{
    struct world *w = *state;

    wbi_alarm_start(w->alarms, &w->bell[0].alarm, 60000);
    wbi_alarm_start(w->alarms, &w->bell[1].alarm, 5);
    wbi_alarm_start(w->alarms, &w->bell[0].alarm, 1);
    wbi_alarm_start(w->alarms, &w->bell[2].alarm, INT64_MAX); /* never */
    wbi_alarm_start(w->alarms, &w->bell[2].alarm, 9);
    wbi_alarm_start(w->alarms, &w->bell[5].alarm, 12);
    listen(w);
    assert_string_equal(w->heard, "012555555");
}

static void a_clock_of_its_own_tells_how_long_is_left(void **state)
{
    struct wbi_clock_manual hand = {.mono_ns = 60 * WBI_NS_PER_S};
    struct wbi_clock system = wbi_clock_system(), still = wbi_clock_by_hand(&hand);
    int64_t now_ns = wbi_now_ns(&system);
    struct world *w = *state;

    wbi_alarm_at(w->alarms, &w->bell[0].alarm, &system, now_ns + 20 * WBI_NS_PER_MS);
    wbi_alarm_at(w->alarms, &w->bell[1].alarm, &still, hand.mono_ns + 10 * WBI_NS_PER_MS);
    wbi_alarm_at(w->alarms, &w->bell[2].alarm, &system, now_ns + 1);
    wbi_alarm_at(w->alarms, &w->bell[4].alarm, &system, INT64_MAX);
    wbi_alarm_at(w->alarms, &w->bell[4].alarm, &system, 0); /* long over: the first to ring */
    wbi_alarm_at(w->alarms, &w->bell[6].alarm, &still, INT64_MAX);
    wbi_alarm_at(w->alarms, &w->bell[6].alarm, &still, hand.mono_ns - 1);
    listen(w);
    assert_string_equal(w->heard, "42610");
    assert_true(wbi_now_ns(&system) >= now_ns + 20 * WBI_NS_PER_MS);
}

static void what_is_set_at_the_end_never_rings(void **state)
{
    struct world *w = *state;

    wbi_alarm_start(w->alarms, &w->bell[0].alarm, 0);
    wbi_loop_free(w->loop);
    w->loop = NULL;
    assert_string_equal(w->heard, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(they_ring_in_the_order_they_are_due),       TEST(a_stopped_one_is_silent),
        TEST(one_due_together_may_stop_the_next),        TEST(setting_anew_moves_it),
        TEST(a_clock_of_its_own_tells_how_long_is_left), TEST(what_is_set_at_the_end_never_rings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
