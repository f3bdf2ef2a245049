/* SPDX-License-Identifier: Apache-2.0
 * guard/circuit_test.c: the breaker's states, windows and probes. Vectors E to G
 * are resilience4j's, with the choices of I5: half-open at or after the wait,
 * only a failure trips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "guard/circuit.h"

#define MS WBI_NS_PER_MS
#define S WBI_NS_PER_S

static struct wbi_circuit_settings settings(void)
{
    return (struct wbi_circuit_settings){.set = true,
                                         .failure_percent = 50,
                                         .min_calls = 5,
                                         .window_ns = 20 * S,
                                         .open_ns = 5 * S,
                                         .probes = 4,
                                         .probe_ns = 60 * S,
                                         .slow_ns = 60 * S};
}

/* Look and take in one, as the chain does. */
static struct wbi_circuit_answer admit(struct wbi_circuit *c, const struct wbi_circuit_settings *s,
                                       int64_t now_ns, struct wbi_circuit_pass *ret,
                                       enum wbi_circuit_change *ret_change)
{
    struct wbi_circuit_answer a = wbi_circuit_peek(c, s, now_ns);

    *ret_change = WBI_CIRCUIT_SAME;
    if (a.admitted) {
        *ret_change = wbi_circuit_take(c, s, now_ns, ret);
        a.state = c->state;
    }
    return a;
}

static enum wbi_circuit_change call(struct wbi_circuit *c, const struct wbi_circuit_settings *s,
                                    int64_t now, bool failed, int64_t duration)
{
    struct wbi_circuit_pass pass;
    enum wbi_circuit_change change;

    assert_true(admit(c, s, now, &pass, &change).admitted);
    return wbi_circuit_settle(c, s, now, &pass, failed, duration);
}

static void trip(struct wbi_circuit *c, const struct wbi_circuit_settings *s, int64_t now)
{
    for (int i = 0; i < s->min_calls - 1; i++)
        assert_int_equal(call(c, s, now, true, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(call(c, s, now, true, 0), WBI_CIRCUIT_OPENED);
}

static void vector_e_trips_at_the_rate_once_enough_calls_were_made(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit c;

    (void)state;
    wbi_circuit_init(&c);
    for (int i = 0; i < 3; i++)
        assert_int_equal(call(&c, &s, 0, true, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(call(&c, &s, 0, false, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(call(&c, &s, 0, false, 0), WBI_CIRCUIT_SAME); /* I5: 60 %, but a success */
    assert_int_equal(call(&c, &s, 0, true, 0), WBI_CIRCUIT_OPENED);

    wbi_circuit_init(&c);
    for (int i = 0; i < 5; i++) /* S S S F F: 40 % */
        assert_int_equal(call(&c, &s, i * S, i > 2, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(call(&c, &s, 5 * S, true, 0), WBI_CIRCUIT_OPENED); /* 50 % */
}

static void vector_f_old_buckets_leave_the_window(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit_counts w;
    struct wbi_circuit c;

    (void)state;
    s.window_ns = 5 * S;
    s.min_calls = 100;
    s.slow_percent = 100;
    s.slow_ns = 500 * MS;
    wbi_circuit_init(&c);
    (void)call(&c, &s, 0, true, 0);
    (void)call(&c, &s, 100 * MS, false, 0);
    w = wbi_circuit_window(&c, &s, 100 * MS);
    assert_int_equal(w.failed * 100 / w.calls, 50);
    (void)call(&c, &s, 800 * MS, true, 800 * MS);
    w = wbi_circuit_window(&c, &s, 4800 * MS);
    assert_int_equal(w.calls, 3);
    assert_int_equal(w.failed, 2);
    assert_int_equal(w.slow, 1);
    assert_int_equal(wbi_circuit_window(&c, &s, 5800 * MS).calls, 0);
}

static void vector_g_slow_calls_have_a_rate_of_their_own(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit_counts w;
    struct wbi_circuit c;

    (void)state;
    s.min_calls = 6;
    s.failure_percent = 100;
    s.slow_percent = 50;
    s.slow_ns = 5 * S;
    wbi_circuit_init(&c);
    (void)call(&c, &s, 0, false, 10 * S);
    (void)call(&c, &s, 0, true, 10 * S);
    for (int i = 0; i < 3; i++)
        (void)call(&c, &s, 0, false, 100 * MS);
    w = wbi_circuit_window(&c, &s, 0);
    assert_int_equal(w.slow * 100 / w.calls, 40);
    assert_int_equal(w.total_ns / w.calls, 4060 * MS);
    assert_int_equal(call(&c, &s, 0, false, 5 * S), WBI_CIRCUIT_SAME);   /* equal is not slow */
    assert_int_equal(call(&c, &s, 0, false, 6 * S), WBI_CIRCUIT_SAME);   /* 3 of 7 */
    assert_int_equal(call(&c, &s, 0, false, 6 * S), WBI_CIRCUIT_OPENED); /* 4 of 8: 50 % */
}

static void a_count_window_holds_the_last_calls_only(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit c;

    (void)state;
    s.window_calls = 4;
    s.min_calls = 100; /* acts as 4 */
    wbi_circuit_init(&c);
    assert_int_equal(call(&c, &s, 0, true, 0), WBI_CIRCUIT_SAME);
    for (int i = 0; i < 4; i++)
        assert_int_equal(call(&c, &s, 0, false, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(wbi_circuit_window(&c, &s, 0).failed, 0);
    assert_int_equal(call(&c, &s, 0, true, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(call(&c, &s, 0, true, 0), WBI_CIRCUIT_OPENED);
}

/* S1 "circuitState? — open | half-open | closed if a circuit breaker
 * triggered."; matrix 9: N probes plus a burst of 2N calls run N. */
static void half_open_admits_exactly_its_probes_and_closes_on_success(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit_pass pass[8];
    struct wbi_circuit_answer a;
    enum wbi_circuit_change change;
    struct wbi_circuit c;
    int ran = 0;

    (void)state;
    wbi_circuit_init(&c);
    trip(&c, &s, 0);
    a = admit(&c, &s, 1, &pass[0], &change);
    assert_false(a.admitted);
    assert_int_equal(a.retry_after_ms, 5000);
    assert_string_equal(wbi_circuit_state_name(a.state), "open");
    assert_false(wbi_circuit_peek(&c, &s, 5 * S - 1).admitted);
    for (int i = 0; i < 8; i++) {
        a = admit(&c, &s, 5 * S, &pass[ran], &change);
        assert_int_equal(change, ran == 0 && i == 0 ? WBI_CIRCUIT_HALF_OPENED : WBI_CIRCUIT_SAME);
        assert_string_equal(wbi_circuit_state_name(a.state), "half-open");
        ran += a.admitted;
    }
    assert_int_equal(ran, 4);
    wbi_circuit_cancel(&c, &pass[3]); /* a released permit lets one more in */
    assert_true(admit(&c, &s, 5 * S, &pass[3], &change).admitted);
    assert_false(admit(&c, &s, 5 * S, &pass[4], &change).admitted);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wbi_circuit_settle(&c, &s, 6 * S, &pass[i], false, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(wbi_circuit_settle(&c, &s, 6 * S, &pass[3], false, 0),
                     WBI_CIRCUIT_CLOSED_AGAIN);
    assert_int_equal(wbi_circuit_window(&c, &s, 6 * S).calls, 0);
}

/* Matrix 10: a failed (timed out) probe opens it again for a full wait. */
static void a_failed_probe_opens_it_again_for_the_full_wait(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit_pass pass[2];
    enum wbi_circuit_change change;
    struct wbi_circuit c;

    (void)state;
    wbi_circuit_init(&c);
    trip(&c, &s, 0);
    assert_true(admit(&c, &s, 5 * S, &pass[0], &change).admitted);
    assert_true(admit(&c, &s, 5 * S, &pass[1], &change).admitted);
    assert_int_equal(wbi_circuit_settle(&c, &s, 9 * S, &pass[0], true, 4 * S), WBI_CIRCUIT_OPENED);
    assert_int_equal(wbi_circuit_peek(&c, &s, 9 * S).retry_after_ms, 5000);
    /* its sister of the same half-open time is a straggler now */
    assert_int_equal(wbi_circuit_settle(&c, &s, 9 * S, &pass[1], true, 4 * S), WBI_CIRCUIT_SAME);
    assert_int_equal(c.open_until_ns, 14 * S);
    for (int i = 0; i < 4; i++) /* four fresh permits */
        assert_true(admit(&c, &s, 14 * S, &pass[0], &change).admitted);
    assert_false(admit(&c, &s, 14 * S, &pass[0], &change).admitted);
}

static void probes_that_never_report_are_given_up(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit_pass lost, fresh;
    enum wbi_circuit_change change;
    struct wbi_circuit c;

    (void)state;
    s.probes = 1;
    wbi_circuit_init(&c);
    trip(&c, &s, 0);
    assert_true(admit(&c, &s, 5 * S, &lost, &change).admitted);
    assert_false(wbi_circuit_peek(&c, &s, 65 * S - 1).admitted);
    assert_true(admit(&c, &s, 65 * S, &fresh, &change).admitted);
    assert_int_equal(wbi_circuit_settle(&c, &s, 66 * S, &lost, true, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(wbi_circuit_settle(&c, &s, 66 * S, &fresh, false, 0),
                     WBI_CIRCUIT_CLOSED_AGAIN);
}

static void stragglers_of_an_earlier_state_do_not_count(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit_pass early[2];
    enum wbi_circuit_change change;
    struct wbi_circuit c;

    (void)state;
    wbi_circuit_init(&c);
    for (int i = 0; i < 2; i++)
        assert_true(admit(&c, &s, 0, &early[i], &change).admitted);
    trip(&c, &s, 0);
    assert_int_equal(wbi_circuit_settle(&c, &s, S, &early[0], false, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(c.state, WBI_CIRCUIT_OPEN);
    s.probes = 1;
    assert_int_equal(call(&c, &s, 5 * S, false, 0), WBI_CIRCUIT_CLOSED_AGAIN);
    assert_int_equal(wbi_circuit_settle(&c, &s, 6 * S, &early[1], true, 0), WBI_CIRCUIT_SAME);
    assert_int_equal(wbi_circuit_window(&c, &s, 6 * S).calls, 0);
}

static void a_pass_reports_once(void **state)
{
    struct wbi_circuit_settings s = settings();
    struct wbi_circuit_pass pass;
    enum wbi_circuit_change change;
    struct wbi_circuit c;

    (void)state;
    wbi_circuit_init(&c);
    assert_true(admit(&c, &s, 0, &pass, &change).admitted);
    for (int i = 0; i < 10; i++)
        (void)wbi_circuit_settle(&c, &s, 0, &pass, true, 0);
    assert_int_equal(wbi_circuit_window(&c, &s, 0).calls, 1);
}

/* Policies are read again while calls go on, and principals may have windows of their own: what
 * another window counted is neither kept for ever nor forgotten. */
static void windows_may_change_from_call_to_call(void **state)
{
    struct wbi_circuit_settings brief = settings(), wide = settings(), last = settings();
    struct wbi_circuit c;

    (void)state;
    brief.min_calls = wide.min_calls = last.min_calls = 100;
    brief.window_ns = S;
    wide.window_ns = 600 * S;
    last.window_calls = 3;
    wbi_circuit_init(&c);
    (void)call(&c, &brief, 1000 * S, true, 0);
    assert_int_equal(wbi_circuit_window(&c, &wide, 1000 * S).failed, 1);
    assert_int_equal(wbi_circuit_window(&c, &wide, 2000 * S).failed, 0); /* 600 s are over */
    for (int i = 0; i < 5; i++)
        (void)call(&c, &wide, 2000 * S, true, 0);
    assert_int_equal(wbi_circuit_window(&c, &last, 2000 * S).failed, 3);
    for (int i = 0; i < 3; i++)
        (void)call(&c, &last, 2001 * S, false, 0);
    assert_int_equal(wbi_circuit_window(&c, &last, 2001 * S).failed, 0);
    last.window_calls = 5;
    assert_int_equal(wbi_circuit_window(&c, &last, 2001 * S).failed, 2);
    assert_int_equal(wbi_circuit_window(&c, &wide, 2001 * S).failed, 5);
    assert_int_equal(wbi_circuit_window(&c, &brief, 2009 * S).calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_e_trips_at_the_rate_once_enough_calls_were_made),
        cmocka_unit_test(vector_f_old_buckets_leave_the_window),
        cmocka_unit_test(vector_g_slow_calls_have_a_rate_of_their_own),
        cmocka_unit_test(a_count_window_holds_the_last_calls_only),
        cmocka_unit_test(half_open_admits_exactly_its_probes_and_closes_on_success),
        cmocka_unit_test(a_failed_probe_opens_it_again_for_the_full_wait),
        cmocka_unit_test(probes_that_never_report_are_given_up),
        cmocka_unit_test(stragglers_of_an_earlier_state_do_not_count),
        cmocka_unit_test(a_pass_reports_once),
        cmocka_unit_test(windows_may_change_from_call_to_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
