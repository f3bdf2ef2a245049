/* SPDX-License-Identifier: Apache-2.0
 * guard/rate_test.c: rate limits to the nanosecond. Vectors are named as in the
 * research on rate limiting: A throttled and redis-cell, B and C from the
 * formula, D Go's x/time/rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/checked.h"
#include "base/clock.h"
#include "guard/deadline.h"
#include "guard/rate.h"

#define MS WBI_NS_PER_MS
#define S WBI_NS_PER_S

static struct wbi_rate_limit limit(int64_t count, int64_t period_ns, int64_t capacity)
{
    struct wbi_rate_limit made;

    assert_int_equal(wbi_rate_limit_make(count, period_ns, capacity, &made), WB_OK);
    return made;
}

static struct wbi_rate_ask ask(const char *name, struct wbi_rate_limit l, int64_t quantity)
{
    return (struct wbi_rate_ask){wbi_key_of(7, 'R', wbi_str_z(name), WBI_NONE, WBI_NONE), l,
                                 quantity};
}

static void vector_a_throttled_and_redis_cell(void **state)
{
    static const struct {
        int64_t at_ms, quantity, remaining, reset_ms, retry_ms;
        bool limited, never;
    } rows[] = {
        {0, 6, 5, 0, 0, true, true},           {0, 1, 4, 1000, 0, false, false},
        {0, 1, 3, 2000, 0, false, false},      {0, 1, 2, 3000, 0, false, false},
        {0, 1, 1, 4000, 0, false, false},      {0, 1, 0, 5000, 0, false, false},
        {0, 1, 0, 5000, 1000, true, false},    {3000, 1, 2, 3000, 0, false, false},
        {3100, 1, 1, 3900, 0, false, false},   {4000, 1, 1, 4000, 0, false, false},
        {8000, 1, 4, 1000, 0, false, false},   {9500, 1, 4, 1000, 0, false, false},
        {9500, 0, 4, 1000, 0, false, false},   {9500, 2, 2, 3000, 0, false, false},
        {9500, 5, 2, 3000, 3000, true, false}, {15000, 6, 5, 0, 0, true, true},
    };
    struct wbi_rate_limit l = limit(1, S, 5);
    int64_t tat = 0;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_rate_answer a =
            wbi_rate_check(&l, tat, rows[i].quantity, rows[i].at_ms * MS, &tat);
        assert_int_equal(a.admitted, !rows[i].limited);
        assert_int_equal(a.never, rows[i].never);
        assert_int_equal(a.remaining, rows[i].remaining);
        assert_int_equal(a.reset_ns, rows[i].reset_ms * MS);
        assert_int_equal(a.retry_ns, rows[i].retry_ms * MS);
    }
}

struct step {
    int64_t at_ns;
    int64_t retry_ms; /* 0: admitted */
};

static void walk(struct wbi_rate_limit l, const struct step *steps, size_t n)
{
    struct wbi_rate r;
    struct wbi_rate_ask a = ask("tool", l, 1);

    wbi_rate_init(&r);
    for (size_t i = 0; i < n; i++) {
        struct wbi_rate_refusal refusal;
        wb_rc rc = wbi_rate_admit(&r, &a, 1, steps[i].at_ns, &refusal);
        assert_int_equal(rc, steps[i].retry_ms ? WB_EAGAIN : WB_OK);
        if (rc == WB_OK)
            wbi_rate_take(&r, &a, 1, steps[i].at_ns);
        else
            assert_int_equal(refusal.retry_after_ms, steps[i].retry_ms);
    }
    wbi_rate_fini(&r);
}

static void vectors_b_and_c_round_waits_up(void **state)
{
    static const struct step b[] = {{0, 0}, {1, 334}, {333333332, 1}, {333333333, 0}};
    static const struct step c[] = {{0, 0},         {0, 0},         {0, 0},          {0, 143},
                                    {142857141, 1}, {142857142, 0}, {150000000, 136}};

    (void)state;
    walk(limit(3, S, 1), b, WBI_COUNT(b));
    walk(limit(7, S, 3), c, WBI_COUNT(c));
}

struct go_row {
    int64_t at, tokens, quantity;
    bool ok;
};

static void go_rows(const struct go_row *rows, size_t n)
{
    struct wbi_rate r;

    wbi_rate_init(&r);
    for (size_t i = 0; i < n; i++) {
        struct wbi_rate_ask a = ask("tool", limit(10, S, 3), rows[i].quantity);
        struct wbi_rate_refusal refusal;
        int64_t now = rows[i].at * 100 * MS;
        wb_rc rc;
        assert_int_equal(wbi_rate_peek(&r, &a, now).remaining, rows[i].tokens);
        rc = wbi_rate_admit(&r, &a, 1, now, &refusal);
        assert_int_equal(rc == WB_OK, rows[i].ok);
        if (rc == WB_OK)
            wbi_rate_take(&r, &a, 1, now);
    }
    wbi_rate_fini(&r);
}

static void vector_d_go_and_a_clock_that_goes_back(void **state)
{
    static const struct go_row forward[] = {{0, 3, 2, true},  {0, 1, 2, false}, {0, 1, 1, true},
                                            {0, 0, 1, false}, {1, 1, 4, false}, {2, 2, 1, true},
                                            {3, 2, 1, true},  {4, 2, 1, true},  {4, 1, 1, true},
                                            {4, 0, 1, false}, {9, 3, 3, true},  {9, 0, 0, true}};
    /* matrix row 19, S1: no token burst when the clock steps back */
    static const struct go_row back[] = {{1, 3, 1, true},  {0, 2, 1, true}, {0, 1, 1, true},
                                         {0, 0, 1, false}, {1, 1, 1, true}, {1, 0, 1, false},
                                         {2, 1, 1, true}};

    (void)state;
    go_rows(forward, WBI_COUNT(forward));
    go_rows(back, WBI_COUNT(back));
}

static void long_runs_keep_to_the_rate_exactly(void **state)
{
    struct wbi_rate_limit l = limit(100, S, 100);
    int64_t tat = 0, admitted = 0;

    (void)state;
    for (int64_t now = 0; now < 5 * S; now += MS) /* Vector D: within 0.1 % of 600 */
        admitted += wbi_rate_check(&l, tat, 1, now, &tat).admitted;
    assert_in_range(admitted, 599, 600);
    l = limit(10, 13 * S, 1); /* 0.769… per second admits at once */
    assert_true(wbi_rate_check(&l, 0, 1, 0, &tat).admitted);
}

/* C8.2: both or neither; matrix 12. S1 "throttlingScope? — which limiter (tool
 * id or provider id) applied." */
static void a_call_takes_from_all_limiters_or_none(void **state)
{
    struct wbi_rate_limit wide = limit(10, S, 10), narrow = limit(1, S, 1);
    struct wbi_rate_ask asks[2] = {ask("tool", wide, 1), ask("provider", narrow, 1)};
    struct wbi_rate_refusal refusal;
    struct wbi_rate r;

    (void)state;
    wbi_rate_init(&r);
    assert_int_equal(wbi_rate_admit(&r, asks, 2, 0, &refusal), WB_OK);
    wbi_rate_take(&r, asks, 2, 0);
    assert_int_equal(wbi_rate_admit(&r, asks, 2, 0, &refusal), WB_EAGAIN);
    assert_int_equal(refusal.which, 1);
    assert_int_equal(refusal.retry_after_ms, 1000);
    assert_int_equal(wbi_rate_peek(&r, &asks[0], 0).remaining, 9);
    wbi_rate_cancel(&r, asks, 2);
    assert_int_equal(wbi_rate_peek(&r, &asks[0], 0).remaining, 10);
    assert_int_equal(wbi_rate_peek(&r, &asks[1], 0).remaining, 1);
    wbi_rate_fini(&r);
}

static void the_longest_wait_is_told_and_too_much_has_none(void **state)
{
    struct wbi_rate_ask asks[2] = {ask("a", limit(1, S, 1), 1), ask("b", limit(1, 5 * S, 1), 1)};
    struct wbi_rate_refusal refusal;
    struct wbi_rate r;

    (void)state;
    wbi_rate_init(&r);
    assert_int_equal(wbi_rate_admit(&r, asks, 2, 0, &refusal), WB_OK);
    wbi_rate_take(&r, asks, 2, 0);
    assert_int_equal(wbi_rate_admit(&r, asks, 2, 0, &refusal), WB_EAGAIN);
    assert_int_equal(refusal.which, 1);
    assert_int_equal(refusal.retry_after_ms, 5000);
    asks[0].quantity = 2; /* more than the bucket ever holds: no hint */
    assert_int_equal(wbi_rate_admit(&r, asks, 2, 0, &refusal), WB_EAGAIN);
    assert_true(refusal.never);
    assert_int_equal(refusal.which, 0);
    wbi_rate_fini(&r);
}

static void bad_rates_are_refused_when_configured(void **state)
{
    static const struct {
        int64_t count, period, capacity;
    } bad[] = {{0, S, 1}, {1, 0, 1}, {1, S, 0}, {-1, S, 1}, {10, 5, 1}, {1, INT64_MAX, 2}};
    struct wbi_rate_limit l;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(bad); i++)
        assert_int_equal(wbi_rate_limit_make(bad[i].count, bad[i].period, bad[i].capacity, &l),
                         WB_EINPUT);
}

/* S1 "retryAfterMs? — recommended client backoff.": exact to the millisecond. */
static void waiting_as_told_works_and_a_millisecond_less_does_not(void **state)
{
    uint64_t x = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct wbi_rate_limit l;
        struct wbi_rate_answer a;
        int64_t tat = 0, now, wait_ms;
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        l = limit((int64_t)(x % 997) + 1, (int64_t)(x >> 20) % (100 * S) + S, (int64_t)(x % 5) + 1);
        now = (int64_t)(x % (uint64_t)S);
        while ((a = wbi_rate_check(&l, tat, 1, now, &tat)).admitted)
            now += (int64_t)(x % 1000);
        wait_ms = (a.retry_ns + MS - 1) / MS;
        assert_false(wbi_rate_check(&l, tat, 1, now + (wait_ms - 1) * MS, &tat).admitted);
        assert_true(wbi_rate_check(&l, tat, 1, now + wait_ms * MS, &tat).admitted);
    }
}

static void full_buckets_are_forgotten_and_change_nothing(void **state)
{
    struct wbi_rate_refusal refusal;
    struct wbi_rate r;

    (void)state;
    wbi_rate_init(&r);
    for (int64_t i = 0; i < 20000; i++) {
        char name[] = {(char)i, (char)(i >> 8), 'x', 0};
        struct wbi_rate_ask a = {wbi_key_of(7, 'R', wbi_str_make(name, 3), WBI_NONE, WBI_NONE),
                                 limit(1, S, 1), 1};
        assert_int_equal(wbi_rate_admit(&r, &a, 1, i * 10 * MS, &refusal), WB_OK);
        wbi_rate_take(&r, &a, 1, i * 10 * MS);
        assert_int_equal(wbi_rate_admit(&r, &a, 1, i * 10 * MS, &refusal), WB_EAGAIN);
    }
    assert_in_range(r.tats.used, 100, 1000); /* only about 100 are not full at a time */
    wbi_rate_fini(&r);
}

/* Forgetting full buckets changes no answer: the same calls against one timestamp per key
 * that is never forgotten. WAYBILL_SOAK=1 uses a million keys. */
static void forgetting_changes_no_answer(void **state)
{
    uint64_t keys = getenv("WAYBILL_SOAK") ? 1000000 : 50000, x = 88172645463325252u;
    int64_t *tats = calloc(keys, sizeof(*tats)), now = S;
    struct wbi_rate_limit l = limit(3, S, 2);
    struct wbi_rate_refusal refusal;
    struct wbi_rate r;

    (void)state;
    assert_non_null(tats);
    wbi_rate_init(&r);
    for (uint64_t i = 0; i < 4 * keys; i++) {
        struct wbi_rate_answer want;
        struct wbi_rate_ask a = {.limit = l, .quantity = 1};
        uint64_t k;

        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        k = i % 3 == 0 ? i % keys : (x >> 11) % keys; /* all are used, some often */
        now += (int64_t)(x >> 40) % (i % 1000 == 0 ? 2 * S : MS);
        a.key = wbi_key_of(7, 'R', wbi_str_make((const char *)&k, sizeof(k)), WBI_NONE, WBI_NONE);
        want = wbi_rate_check(&l, tats[k], 1, now, &tats[k]);
        if (want.admitted) {
            assert_int_equal(wbi_rate_admit(&r, &a, 1, now, &refusal), WB_OK);
            wbi_rate_take(&r, &a, 1, now);
        } else {
            assert_int_equal(wbi_rate_admit(&r, &a, 1, now, &refusal), WB_EAGAIN);
            assert_int_equal(refusal.retry_after_ms, wbi_ms_up(want.retry_ns));
        }
    }
    assert_true(r.tats.used < keys / 2); /* most were forgotten */
    wbi_rate_fini(&r);
    free(tats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_a_throttled_and_redis_cell),
        cmocka_unit_test(vectors_b_and_c_round_waits_up),
        cmocka_unit_test(vector_d_go_and_a_clock_that_goes_back),
        cmocka_unit_test(long_runs_keep_to_the_rate_exactly),
        cmocka_unit_test(a_call_takes_from_all_limiters_or_none),
        cmocka_unit_test(the_longest_wait_is_told_and_too_much_has_none),
        cmocka_unit_test(bad_rates_are_refused_when_configured),
        cmocka_unit_test(waiting_as_told_works_and_a_millisecond_less_does_not),
        cmocka_unit_test(full_buckets_are_forgotten_and_change_nothing),
        cmocka_unit_test(forgetting_changes_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
