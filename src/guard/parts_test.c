/* SPDX-License-Identifier: Apache-2.0
 * guard/parts_test.c: deadlines, slots, budgets, retries, keys and cache, each
 * by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/clock.h"
#include "guard/budget.h"
#include "guard/cache.h"
#include "guard/deadline.h"
#include "guard/idempotency.h"
#include "guard/retry.h"
#include "guard/slots.h"

#define MS WBI_NS_PER_MS
#define S WBI_NS_PER_S

static struct wbi_key key(const char *name)
{
    return wbi_key_of(1, 'T', wbi_str_z(name), WBI_NONE, WBI_NONE);
}

/* ---- deadline ---- */

/* C8.1, S1 "deadline? — absolute timestamp; must be ≤ policy timeout." */
static void an_attempt_ends_at_the_nearer_of_deadline_and_timeout(void **state)
{
    struct wbi_attempt_limit l = wbi_deadline_limit(S, 3 * S, 5000);

    (void)state;
    assert_int_equal(l.limit_ms, 2000);
    assert_true(l.by_deadline);
    l = wbi_deadline_limit(S, 30 * S, 5000);
    assert_int_equal(l.ends_ns, 6 * S);
    assert_false(l.by_deadline);
    assert_int_equal(wbi_deadline_limit(S, S + 1, WBI_NO_LIMIT_MS).limit_ms, 1);
    assert_true(wbi_deadline_limit(S, S, WBI_NO_LIMIT_MS).expired); /* now == deadline */
    assert_int_equal(wbi_deadline_limit(S, S - 1, 50).limit_ms, 0);
    l = wbi_deadline_limit(S, WBI_NO_DEADLINE, WBI_NO_LIMIT_MS);
    assert_false(l.expired);
    assert_int_equal(l.limit_ms, WBI_NO_LIMIT_MS);
    assert_int_equal(wbi_deadline_from_wall(10500, 10000, 7 * S), 7 * S + 500 * MS);
    assert_int_equal(wbi_deadline_from_wall(INT64_MAX, INT64_MIN, S), WBI_NO_DEADLINE - 1);
    assert_int_equal(wbi_deadline_from_wall(INT64_MIN, INT64_MAX, -S), INT64_MIN);
}

/* ---- slots ---- */

static struct wbi_slot_ask slot_ask(int64_t tool_limit, int64_t provider_limit, int64_t queue)
{
    return (struct wbi_slot_ask){
        {key("tool"), key("provider")}, {tool_limit, provider_limit}, queue};
}

static void slots_count_and_come_back(void **state)
{
    struct wbi_slot_ask a = slot_ask(2, WBI_SLOTS_UNLIMITED, 0);
    struct wbi_slots s;
    size_t scope;

    (void)state;
    wbi_slots_init(&s);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wbi_slots_admit(&s, &a, true, &scope), WB_OK);
        wbi_slots_take(&s, &a);
    }
    assert_int_equal(wbi_slots_admit(&s, &a, true, &scope), WB_EAGAIN);
    assert_int_equal(scope, 0);
    a.limit[0] = 1; /* lowering the limit does not disturb what runs */
    wbi_slots_settle(&s, &a);
    assert_int_equal(wbi_slots_admit(&s, &a, true, &scope), WB_EAGAIN);
    wbi_slots_settle(&s, &a);
    assert_int_equal(wbi_slots_admit(&s, &a, true, &scope), WB_OK);
    a.limit[0] = 0; /* 0 rejects everything */
    assert_int_equal(wbi_slots_admit(&s, &a, true, &scope), WB_EAGAIN);
    wbi_slots_fini(&s);
}

/* C8.4: a fair queue: one principal's many calls do not hold up another's one. */
static void principals_take_turns(void **state)
{
    static const char *const arrivals = "AAAABAC";
    static const char *const served = "ABCAAAA";
    struct wbi_slot_ask a = slot_ask(1, WBI_SLOTS_UNLIMITED, 10);
    struct wbi_slot_waiter w[7] = {0};
    struct wbi_slots s;

    (void)state;
    wbi_slots_init(&s);
    assert_int_equal(wbi_slots_admit(&s, &a, true, &(size_t){0}), WB_OK);
    wbi_slots_take(&s, &a);
    for (size_t i = 0; i < 7; i++) {
        char name[] = {arrivals[i], 0};
        assert_int_equal(wbi_slots_wait(&s, &w[i], &a, key(name)), WB_OK);
    }
    assert_null(wbi_slots_next(&s));
    for (size_t i = 0; i < 7; i++) {
        char name[] = {served[i], 0};
        struct wbi_slot_waiter *next;
        wbi_slots_settle(&s, &a);
        next = wbi_slots_next(&s);
        assert_non_null(next);
        assert_true(wbi_key_eq(next->principal, key(name)));
        wbi_slots_take(&s, &a);
    }
    assert_int_equal(s.waiting, 0);
    wbi_slots_fini(&s);
}

static void the_queue_is_bounded_and_can_be_left(void **state)
{
    struct wbi_slot_ask a = slot_ask(1, 1, 2);
    struct wbi_slot_waiter w[3] = {0};
    struct wbi_slots s;

    (void)state;
    wbi_slots_init(&s);
    assert_int_equal(wbi_slots_admit(&s, &a, true, &(size_t){0}), WB_OK);
    wbi_slots_take(&s, &a);
    assert_int_equal(wbi_slots_wait(&s, &w[0], &a, key("A")), WB_OK);
    assert_int_equal(wbi_slots_wait(&s, &w[1], &a, key("B")), WB_OK);
    assert_int_equal(wbi_slots_wait(&s, &w[2], &a, key("C")), WB_EAGAIN);
    wbi_slots_cancel(&s, &w[0]);
    wbi_slots_cancel(&s, &w[0]);
    assert_int_equal(wbi_slots_wait(&s, &w[2], &a, key("C")), WB_OK);
    wbi_slots_settle(&s, &a);
    /* a newcomer does not overtake those who wait */
    assert_int_equal(wbi_slots_admit(&s, &a, true, &(size_t){0}), WB_EAGAIN);
    assert_ptr_equal(wbi_slots_next(&s), &w[1]);
    wbi_slots_cancel(&s, &w[2]);
    wbi_slots_fini(&s);
}

/* Who waits for a slot of its tool is in nobody's way at the provider. */
static void a_full_tool_holds_up_no_other_of_its_provider(void **state)
{
    struct wbi_slot_ask full = slot_ask(1, 3, 2), other = slot_ask(2, 3, 2);
    struct wbi_slot_waiter w[5] = {0};
    struct wbi_slots s;
    size_t scope;

    (void)state;
    other.key[WBI_SLOT_TOOL] = key("other");
    wbi_slots_init(&s);
    assert_int_equal(wbi_slots_admit(&s, &full, true, &scope), WB_OK);
    wbi_slots_take(&s, &full);
    assert_int_equal(wbi_slots_wait(&s, &w[0], &full, key("A")), WB_OK);
    assert_int_equal(wbi_slots_wait(&s, &w[1], &full, key("A")), WB_OK);
    assert_int_equal(wbi_slots_scope(&s, &full), WBI_SLOT_TOOL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wbi_slots_admit(&s, &other, true, &scope), WB_OK);
        wbi_slots_take(&s, &other);
    }
    assert_int_equal(wbi_slots_admit(&s, &other, true, &scope), WB_EAGAIN);
    assert_int_equal(scope, WBI_SLOT_TOOL);
    other.limit[WBI_SLOT_TOOL] = WBI_SLOTS_UNLIMITED;
    assert_int_equal(wbi_slots_admit(&s, &other, true, &scope), WB_EAGAIN);
    assert_int_equal(scope, WBI_SLOT_PROVIDER);
    assert_int_equal(wbi_slots_scope(&s, &other), WBI_SLOT_PROVIDER);
    /* the provider's queue has its own two places */
    assert_int_equal(wbi_slots_wait(&s, &w[2], &other, key("B")), WB_OK);
    assert_int_equal(wbi_slots_wait(&s, &w[3], &other, key("B")), WB_OK);
    assert_int_equal(wbi_slots_wait(&s, &w[4], &other, key("B")), WB_EAGAIN);
    wbi_slots_settle(&s, &other);
    assert_int_equal(wbi_slots_admit(&s, &other, true, &scope), WB_EAGAIN); /* its turn is w[2]'s */
    assert_ptr_equal(wbi_slots_next(&s), &w[2]);
    wbi_slots_take(&s, &other);
    wbi_slots_settle(&s, &full); /* both could go now; the first of them does */
    assert_ptr_equal(wbi_slots_next(&s), &w[0]);
    for (int i = 0; i < 4; i++)
        wbi_slots_cancel(&s, &w[i]);
    wbi_slots_fini(&s);
}

/* ---- budget ---- */

struct budget_disk {
    struct wbi_budget_record record;
    bool there, broken;
};

static wb_rc disk_load(void *arg, const struct wbi_budget_settings *s, struct wbi_budget_time t,
                       bool exact, struct wbi_budget_record *ret)
{
    struct budget_disk *d = arg;

    (void)s, (void)t, (void)exact;
    *ret = d->record;
    return d->there ? WB_OK : WB_ENOTFOUND;
}

static wb_rc disk_reserve(void *arg, const struct wbi_budget_settings *s,
                          const struct wbi_budget_step *step, struct wbi_budget_record *ret,
                          struct wbi_budget_refusal *refusal)
{
    struct budget_disk *d = arg;
    wb_rc rc;

    (void)s;
    if (d->broken)
        return WB_EIO;
    rc = wbi_budget_apply(step, &d->record, refusal);
    d->there = true;
    *ret = d->record;
    return rc;
}

static wb_rc disk_settle(void *arg, const struct wbi_budget_settings *s,
                         const struct wbi_budget_step *step)
{
    struct wbi_budget_record ignored;

    return disk_reserve(arg, s, step, &ignored, NULL);
}

static struct wbi_budget_settings budget(int64_t calls, int64_t time_ns, int64_t cost)
{
    return (struct wbi_budget_settings){true, WBI_LIT("b"), 60 * S, {calls, time_ns, cost}};
}

static struct wbi_budget_time at(int64_t now_ns)
{
    return (struct wbi_budget_time){now_ns, 1000000 + now_ns / MS};
}

static void budgets_reserve_settle_refund_and_turn(void **state)
{
    struct wbi_budget_settings s = budget(WBI_BUDGET_UNLIMITED, WBI_BUDGET_UNLIMITED, 100);
    struct wbi_budget_amount half = {1, 0, 50}, spent, reserved, actual = {1, S, 70};
    struct wbi_budget_hold hold[2] = {{.estimate = half}, {.estimate = half}};
    struct wbi_budget_refusal refusal;
    struct wbi_budget b;

    (void)state;
    wbi_budget_init(&b, NULL, 3);
    for (int i = 0; i < 2; i++) { /* an exact fit is allowed */
        assert_int_equal(wbi_budget_admit(&b, &s, &half, at(0), &refusal), WB_OK);
        assert_int_equal(wbi_budget_take(&b, &s, &hold[i], at(0), &refusal), WB_OK);
    }
    assert_int_equal(wbi_budget_admit(&b, &s, &half, at(S), &refusal), WB_EAGAIN);
    assert_string_equal(refusal.what, "cost");
    assert_int_equal(refusal.reset_after_ms, 59000);
    wbi_budget_cancel(&b, &s, &hold[0], at(S));
    wbi_budget_settle(&b, &s, &hold[1], &actual, at(S));
    wbi_budget_peek(&b, &s, S, &spent, &reserved);
    assert_int_equal(spent.cost, 70);
    assert_int_equal(reserved.cost + reserved.calls, 0);
    assert_int_equal(wbi_budget_admit(&b, &s, &half, at(S), &refusal), WB_EAGAIN);
    assert_int_equal(wbi_budget_admit(&b, &s, &half, at(60 * S - 1), &refusal), WB_EAGAIN);
    assert_int_equal(refusal.reset_after_ms, 1);
    assert_int_equal(wbi_budget_admit(&b, &s, &half, at(60 * S), &refusal), WB_OK);
    half.cost = 101; /* never fits: no promise of a reset */
    assert_int_equal(wbi_budget_admit(&b, &s, &half, at(60 * S), &refusal), WB_EAGAIN);
    assert_int_equal(refusal.reset_after_ms, -1);
    wbi_budget_fini(&b);
}

static void budgets_survive_a_restart(void **state)
{
    struct budget_disk disk = {0};
    struct wbi_budget_store store = {disk_load, disk_reserve, disk_settle, &disk};
    struct wbi_budget_settings s = budget(2, WBI_BUDGET_UNLIMITED, WBI_BUDGET_UNLIMITED);
    struct wbi_budget_hold one = {.estimate = {1, 0, 0}};
    struct wbi_budget_refusal refusal;
    struct wbi_budget b;

    (void)state;
    wbi_budget_init(&b, &store, 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wbi_budget_admit(&b, &s, &one.estimate, at(0), &refusal), WB_OK);
        assert_int_equal(wbi_budget_take(&b, &s, &one, at(0), &refusal), WB_OK);
    }
    wbi_budget_fini(&b); /* killed with both calls running */
    wbi_budget_init(&b, &store, 4);
    assert_int_equal(wbi_budget_admit(&b, &s, &one.estimate, at(20 * S), &refusal), WB_EAGAIN);
    assert_int_equal(refusal.reset_after_ms, 40000);
    disk.broken = true;
    assert_int_equal(wbi_budget_admit(&b, &s, &one.estimate, at(60 * S), &refusal), WB_OK);
    assert_int_equal(wbi_budget_take(&b, &s, &one, at(60 * S), &refusal), WB_EIO);
    wbi_budget_fini(&b);
}

/* G2: what one process holds or has spent counts for the other at once. */
static void a_budget_is_one_for_two_processes(void **state)
{
    struct budget_disk disk = {0};
    struct wbi_budget_store store = {disk_load, disk_reserve, disk_settle, &disk};
    struct wbi_budget_settings s = budget(WBI_BUDGET_UNLIMITED, WBI_BUDGET_UNLIMITED, 10);
    struct wbi_budget_hold x = {.estimate = {1, 0, 6}}, y = {.estimate = {1, 0, 6}};
    struct wbi_budget_amount less = {1, 0, 3}, spent, reserved;
    struct wbi_budget_refusal refusal;
    struct wbi_budget a, b;

    (void)state;
    wbi_budget_init(&a, &store, 3);
    wbi_budget_init(&b, &store, 4);
    /* both looked before either took: the second is told so when it takes */
    assert_int_equal(wbi_budget_admit(&a, &s, &x.estimate, at(0), &refusal), WB_OK);
    assert_int_equal(wbi_budget_admit(&b, &s, &y.estimate, at(0), &refusal), WB_OK);
    assert_int_equal(wbi_budget_take(&a, &s, &x, at(0), &refusal), WB_OK);
    assert_int_equal(wbi_budget_take(&b, &s, &y, at(1), &refusal), WB_EAGAIN);
    assert_string_equal(refusal.what, "cost");
    assert_int_equal(refusal.reset_after_ms, 60000);
    wbi_budget_settle(&a, &s, &x, &less, at(S));
    assert_int_equal(wbi_budget_admit(&b, &s, &y.estimate, at(S), &refusal), WB_OK);
    assert_int_equal(wbi_budget_take(&b, &s, &y, at(S), &refusal), WB_OK);
    wbi_budget_peek(&b, &s, S, &spent, &reserved);
    assert_int_equal(spent.cost, 3);
    assert_int_equal(reserved.cost, 6);
    /* a call that outlives its window is charged in the next, and counted by its
     * own process until then */
    assert_int_equal(wbi_budget_admit(&b, &s, &y.estimate, at(60 * S), &refusal), WB_EAGAIN);
    assert_int_equal(wbi_budget_admit(&a, &s, &x.estimate, at(60 * S), &refusal), WB_OK);
    assert_int_equal(wbi_budget_take(&a, &s, &x, at(60 * S), &refusal), WB_OK);
    wbi_budget_settle(&b, &s, &y, &less, at(61 * S));
    wbi_budget_cancel(&a, &s, &x, at(61 * S));
    assert_int_equal(disk.record.spent.cost, 3);
    assert_int_equal(disk.record.window, 2);
    wbi_budget_fini(&a);
    wbi_budget_fini(&b);
}

/* ---- retry ---- */

static void fixed_bits(void *arg, uint8_t *out, size_t n)
{
    memset(out, *(const int *)arg, n);
}

static struct wbi_retry_settings no_jitter(int32_t attempts, int64_t quota)
{
    struct wbi_retry_settings s = wbi_retry_defaults();

    s.max_attempts = attempts;
    s.jitter = WBI_JITTER_NONE;
    s.quota = quota;
    return s;
}

/* Statuses as in the vectors: 200 succeeds, others fail. Returns success. */
static bool run_call(struct wbi_retry *r, const struct wbi_retry_settings *s, const int *statuses)
{
    struct wbi_retry_state st = {.attempts = 1};
    int64_t delay;

    for (;; statuses++) {
        if (*statuses == 200) {
            wbi_retry_settle(r, &st, key("p"));
            return true;
        }
        if (wbi_retry_admit(r, s, &st, key("p"), WBI_RETRY_TRANSIENT, WBI_HINT_NONE, 0,
                            WBI_NO_DEADLINE, &delay) != WBI_RETRY_GO)
            return false;
    }
}

static void vector_h_retry_quota(void **state)
{
    static const struct {
        int64_t quota;
        int32_t attempts;
        int first[6];
        bool ok;
        int64_t left;
        int second[6];
        int64_t left_after;
    } rows[] = {
        {500, 3, {500, 500, 200}, true, 495, {0}, 0},
        {500, 3, {502, 502, 502}, false, 490, {0}, 0},
        {5, 3, {500, 502}, false, 0, {0}, 0},
        {0, 3, {500}, false, 0, {0}, 0},
        {10, 5, {500, 502, 503}, false, 0, {0}, 0},
        {15, 5, {500, 502, 200}, true, 10, {500, 200}, 10},
        {500, 3, {500, 500, 200}, true, 495, {500, 200}, 495},
    };
    int bits = 0;
    struct wbi_ids random = {fixed_bits, &bits};

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_retry_settings s = no_jitter(rows[i].attempts, rows[i].quota);
        struct wbi_retry r;
        wbi_retry_init(&r, &random);
        assert_int_equal(run_call(&r, &s, rows[i].first), rows[i].ok);
        assert_int_equal(wbi_retry_quota(&r, &s, key("p")), rows[i].left);
        if (rows[i].second[0] != 0) {
            assert_true(run_call(&r, &s, rows[i].second));
            assert_int_equal(wbi_retry_quota(&r, &s, key("p")), rows[i].left_after);
        }
        wbi_retry_fini(&r);
    }
}

/* S1 "Retryable ⇒ failure that may succeed on retry (respect backoff hints and
 * policy)." */
static void delays_grow_are_capped_jittered_and_yield_to_hints(void **state)
{
    int bits = 0;
    struct wbi_ids random = {fixed_bits, &bits};
    struct wbi_retry_settings s = no_jitter(10, 500);
    struct wbi_retry_state st = {.attempts = 1};
    static const int64_t nominal_ms[] = {200, 400, 800, 1600};
    struct wbi_retry r;
    int64_t delay;

    (void)state;
    wbi_retry_init(&r, &random);
    for (int32_t i = 0; i < 4; i++)
        assert_int_equal(wbi_retry_nominal(&s, i), nominal_ms[i] * MS);
    assert_int_equal(wbi_retry_nominal(&s, -1), 0);
    assert_int_equal(wbi_retry_nominal(&s, INT32_MAX), s.cap_ns);
    s.jitter = WBI_JITTER_SPREAD;
    for (bits = 0; bits < 256; bits += 255) { /* the extremes: 160 and 240 ms */
        st = (struct wbi_retry_state){.attempts = 1};
        assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TRANSIENT, WBI_HINT_NONE,
                                         0, WBI_NO_DEADLINE, &delay),
                         WBI_RETRY_GO);
        assert_int_equal(delay, bits == 0 ? 160 * MS : 240 * MS);
    }
    s.jitter = WBI_JITTER_NONE;
    assert_int_equal(st.step, 1);
    assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TRANSIENT, 5000, 0,
                                     WBI_NO_DEADLINE, &delay),
                     WBI_RETRY_GO);
    assert_int_equal(delay, 5 * S);
    assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TRANSIENT, WBI_HINT_NONE, 0,
                                     WBI_NO_DEADLINE, &delay),
                     WBI_RETRY_GO);
    assert_int_equal(delay, 200 * MS); /* the hint counted once, growth begins again */
    wbi_retry_fini(&r);
}

static void retries_stop_for_good_reasons(void **state)
{
    int bits = 0;
    struct wbi_ids random = {fixed_bits, &bits};
    struct wbi_retry_settings s = no_jitter(3, 500);
    struct wbi_retry_state st = {.attempts = 1};
    struct wbi_retry r;
    int64_t d;

    (void)state;
    wbi_retry_init(&r, &random);
    /* never past the deadline: now + delay >= deadline stops at once */
    assert_int_equal(
        wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TRANSIENT, WBI_HINT_NONE, 0, 200 * MS, &d),
        WBI_RETRY_STOP_DEADLINE);
    assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TRANSIENT, 5000, 0, S, &d),
                     WBI_RETRY_STOP_DEADLINE);
    assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TRANSIENT, WBI_HINT_STOP, 0,
                                     WBI_NO_DEADLINE, &d),
                     WBI_RETRY_STOP_HINT);
    assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_FINAL, WBI_HINT_NONE, 0,
                                     WBI_NO_DEADLINE, &d),
                     WBI_RETRY_STOP_FINAL);
    assert_int_equal(wbi_retry_quota(&r, &s, key("p")), 500); /* none of these cost anything */
    assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TIMEOUT, WBI_HINT_NONE, 0,
                                     WBI_NO_DEADLINE, &d),
                     WBI_RETRY_GO);
    assert_int_equal(wbi_retry_quota(&r, &s, key("p")), 490); /* timeouts cost double */
    s.total_ns = S;
    assert_int_equal(wbi_retry_admit(&r, &s, &st, key("p"), WBI_RETRY_TRANSIENT, WBI_HINT_NONE, S,
                                     WBI_NO_DEADLINE, &d),
                     WBI_RETRY_STOP_DEADLINE);
    wbi_retry_fini(&r);
}

/* S1 "Retries are permitted only if the tool is IdempotentWrite and
 * idempotencyKey is present." */
static void only_idempotent_writes_with_a_key_are_retried(void **state)
{
    (void)state;
    for (int e = 0; e < WBI_GUARD_EFFECTS; e++) {
        assert_int_equal(wbi_retry_may((enum wbi_guard_effect)e, WBI_LIT("k")),
                         e == WBI_GUARD_IDEMPOTENT_WRITE);
        assert_false(wbi_retry_may((enum wbi_guard_effect)e, WBI_NONE));
        assert_false(wbi_retry_may((enum wbi_guard_effect)e, WBI_LIT(" \t")));
    }
}

/* ---- idempotency ---- */

static const struct wbi_idem_settings a_day = {WBI_IDEM_TTL_MS, WBI_IDEM_IN_FLIGHT_MS};
static const uint8_t print_a[32] = {1}, print_b[32] = {2};

static enum wbi_idem_answer look(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                                 const uint8_t *print, int64_t now, struct wbi_str *outcome)
{
    enum wbi_idem_answer answer;

    assert_int_equal(wbi_idem_admit(store, id, print, now, &answer, outcome), WB_OK);
    return answer;
}

static void a_key_runs_once_and_replays(void **state)
{
    struct wbi_idem_id id = {WBI_LIT("me"), WBI_LIT("local::put"), WBI_LIT("k1")};
    struct wbi_idem_id other_tool = {WBI_LIT("me"), WBI_LIT("local::del"), WBI_LIT("k1")};
    struct wbi_idem_id other_me = {WBI_LIT("m"), WBI_LIT("elocal::put"), WBI_LIT("k1")};
    struct wbi_idem_memory *m;
    struct wbi_idem_store store;
    enum wbi_idem_answer answer;
    struct wbi_str outcome = WBI_NONE;

    (void)state;
    assert_int_equal(wbi_idem_memory_new(5, &m), WB_OK);
    store = wbi_idem_memory_store(m);
    assert_int_equal(look(&store, &id, print_a, 0, &outcome), WBI_IDEM_NEW);
    assert_int_equal(wbi_idem_claim(&store, &id, &a_day, print_a, 0, &answer, &outcome), WB_OK);
    assert_int_equal(answer, WBI_IDEM_NEW);
    assert_int_equal(look(&store, &id, print_a, 0, &outcome), WBI_IDEM_RUNNING);
    assert_int_equal(look(&store, &id, print_b, 0, &outcome), WBI_IDEM_REUSED);
    /* matrix 7: another tool, and another principal, are independent */
    assert_int_equal(look(&store, &other_tool, print_a, 0, &outcome), WBI_IDEM_NEW);
    assert_int_equal(look(&store, &other_me, print_a, 0, &outcome), WBI_IDEM_NEW);
    /* the lost race compares fingerprints, too */
    assert_int_equal(wbi_idem_claim(&store, &id, &a_day, print_b, 0, &answer, &outcome), WB_OK);
    assert_int_equal(answer, WBI_IDEM_REUSED);
    assert_int_equal(wbi_idem_claim(&store, &id, &a_day, print_a, 0, &answer, &outcome), WB_OK);
    assert_int_equal(answer, WBI_IDEM_RUNNING);
    assert_int_equal(wbi_idem_settle(&store, &id, &a_day, print_a, 5, WBI_LIT("{\"x\":1}")), WB_OK);
    assert_int_equal(look(&store, &id, print_a, 6, &outcome), WBI_IDEM_REPLAY);
    assert_true(wbi_str_eqz(outcome, "{\"x\":1}"));
    assert_int_equal(look(&store, &id, print_b, 6, &outcome), WBI_IDEM_REUSED);
    /* I5: expired when now == expiry */
    assert_int_equal(look(&store, &id, print_a, WBI_IDEM_TTL_MS + 4, &outcome), WBI_IDEM_REPLAY);
    assert_int_equal(look(&store, &id, print_b, WBI_IDEM_TTL_MS + 5, &outcome), WBI_IDEM_NEW);
    assert_int_equal(
        wbi_idem_claim(&store, &id, &a_day, print_b, WBI_IDEM_TTL_MS + 5, &answer, &outcome),
        WB_OK);
    assert_int_equal(answer, WBI_IDEM_NEW);
    assert_int_equal(wbi_idem_memory_count(m), 1);
    wbi_idem_memory_free(m);
}

static void a_claim_nobody_closed_is_unknown_and_never_new(void **state)
{
    struct wbi_idem_id id = {WBI_LIT("me"), WBI_LIT("local::put"), WBI_LIT("k1")};
    struct wbi_idem_memory *m;
    struct wbi_idem_store store;
    enum wbi_idem_answer answer;
    struct wbi_str outcome;

    (void)state;
    assert_int_equal(wbi_idem_memory_new(5, &m), WB_OK);
    store = wbi_idem_memory_store(m);
    assert_int_equal(wbi_idem_claim(&store, &id, &a_day, print_a, 0, &answer, &outcome), WB_OK);
    assert_int_equal(look(&store, &id, print_a, WBI_IDEM_IN_FLIGHT_MS - 1, &outcome),
                     WBI_IDEM_RUNNING);
    assert_int_equal(look(&store, &id, print_a, WBI_IDEM_IN_FLIGHT_MS, &outcome), WBI_IDEM_LOST);
    assert_int_equal(wbi_idem_cancel(&store, &id), WB_OK);
    assert_int_equal(wbi_idem_cancel(&store, &id), WB_OK);
    assert_int_equal(look(&store, &id, print_b, 1, &outcome), WBI_IDEM_NEW); /* nothing stored */
    assert_int_equal(wbi_idem_lose(&store, &id, &a_day, print_a, 1), WB_OK);
    assert_int_equal(look(&store, &id, print_a, 2, &outcome), WBI_IDEM_LOST);
    wbi_idem_memory_free(m);
}

/* Another process holds the key whenever it is claimed, and has let go when it is looked
 * at, so many times. */
struct rival {
    int rounds, puts;
};

static wb_rc rival_get(void *arg, const struct wbi_idem_id *id, int64_t now_ms,
                       struct wbi_idem_record *ret)
{
    (void)arg, (void)id, (void)now_ms, (void)ret;
    return WB_ENOTFOUND;
}

static wb_rc rival_put(void *arg, const struct wbi_idem_id *id,
                       const struct wbi_idem_record *record, bool only_if_absent, int64_t now_ms)
{
    struct rival *r = arg;

    (void)id, (void)record, (void)now_ms;
    assert_true(only_if_absent);
    if (r->rounds-- > 0)
        return WB_EEXISTS;
    r->puts++;
    return WB_OK;
}

static void a_race_lost_to_a_claim_that_was_let_go_is_run_again(void **state)
{
    struct wbi_idem_id id = {WBI_LIT("me"), WBI_LIT("local::put"), WBI_LIT("k1")};
    struct rival r = {.rounds = 3};
    struct wbi_idem_store store = {rival_get, rival_put, NULL, &r};
    enum wbi_idem_answer answer;
    struct wbi_str outcome;

    (void)state;
    assert_int_equal(wbi_idem_claim(&store, &id, &a_day, print_a, 0, &answer, &outcome), WB_OK);
    assert_int_equal(answer, WBI_IDEM_NEW);
    assert_int_equal(r.puts, 1); /* new means claimed */
    r = (struct rival){.rounds = 1000};
    assert_int_equal(wbi_idem_claim(&store, &id, &a_day, print_a, 0, &answer, &outcome), WB_OK);
    assert_int_equal(answer, WBI_IDEM_RUNNING); /* somebody is at it all the time */
    assert_int_equal(r.puts, 0);
}

/* S1 "idempotencyKey? — required for IdempotentWrite; enables safe retries." */
static void keys_are_required_for_idempotent_writes_alone(void **state)
{
    (void)state;
    assert_true(wbi_idem_missing(WBI_GUARD_IDEMPOTENT_WRITE, WBI_NONE));
    assert_true(wbi_idem_missing(WBI_GUARD_IDEMPOTENT_WRITE, WBI_LIT("  ")));
    assert_false(wbi_idem_missing(WBI_GUARD_IDEMPOTENT_WRITE, WBI_LIT("k")));
    assert_false(wbi_idem_missing(WBI_GUARD_NON_IDEMPOTENT_WRITE, WBI_NONE));
    assert_false(wbi_idem_applies(WBI_GUARD_PURE, WBI_LIT("k"))); /* ignored, no error */
}

static void expired_keys_make_room(void **state)
{
    struct wbi_idem_settings brief = {10, 10};
    struct wbi_idem_memory *m;
    struct wbi_idem_store store;

    (void)state;
    assert_int_equal(wbi_idem_memory_new(5, &m), WB_OK);
    store = wbi_idem_memory_store(m);
    for (int64_t i = 0; i < 10000; i++) {
        char text[24];
        struct wbi_idem_id id = {WBI_LIT("me"), WBI_LIT("t"), WBI_NONE};
        snprintf(text, sizeof(text), "key-%d", (int)i);
        id.key = wbi_str_z(text);
        assert_int_equal(wbi_idem_settle(&store, &id, &brief, print_a, i, WBI_LIT("1")), WB_OK);
    }
    assert_in_range(wbi_idem_memory_count(m), 10, 100);
    wbi_idem_memory_free(m);
}

/* ---- cache ---- */

/* S1 "Cache key should include toolName, resolvedVersion, and a canonicalized
 * input." and C8.7: content hash and authorization partition as well. */
static void every_part_of_a_cache_key_counts(void **state)
{
    struct wbi_cache_id base = {WBI_LIT("t"), WBI_LIT("1.0.0"), WBI_LIT("h"), WBI_LIT("alice"),
                                print_a};
    struct wbi_cache_id other[5];
    struct wbi_cache_entry *flight;
    struct wbi_cache c;
    struct wbi_str bytes;

    (void)state;
    wbi_cache_init(&c, 10000, 9);
    assert_int_equal(wbi_cache_admit(&c, &base, 0, &bytes), WBI_CACHE_MISS);
    assert_int_equal(wbi_cache_lead(&c, &base, &flight), WB_OK);
    assert_int_equal(wbi_cache_admit(&c, &base, 0, &bytes), WBI_CACHE_FLYING);
    assert_null(wbi_cache_settle(&c, flight, WBI_LIT("out"), 0, S));
    assert_int_equal(wbi_cache_admit(&c, &base, S - 1, &bytes), WBI_CACHE_HIT);
    assert_true(wbi_str_eqz(bytes, "out"));
    for (int i = 0; i < 5; i++)
        other[i] = base;
    other[0].tool = WBI_LIT("u");
    other[1].version = WBI_LIT("1.0.1"); /* matrix 14: an upgrade misses */
    other[2].content_hash = WBI_LIT("g");
    other[3].partition = WBI_LIT("bob");
    other[4].input_hash = print_b;
    for (int i = 0; i < 5; i++)
        assert_int_equal(wbi_cache_admit(&c, &other[i], 0, &bytes), WBI_CACHE_MISS);
    assert_int_equal(wbi_cache_admit(&c, &base, S, &bytes),
                     WBI_CACHE_MISS); /* now < stored + ttl */
    assert_int_equal(c.bytes, 0);
    wbi_cache_fini(&c);
}

static void the_cache_stays_small_and_forgets_the_oldest(void **state)
{
    struct wbi_cache c;
    struct wbi_str bytes;
    char big[600];

    (void)state;
    memset(big, 'x', sizeof(big));
    wbi_cache_init(&c, 5000, 9);
    for (uint8_t i = 0; i < 50; i++) {
        uint8_t print[32] = {i}, first[32] = {0};
        struct wbi_cache_id id = {WBI_LIT("t"), WBI_LIT("1"), WBI_NONE, WBI_NONE, print};
        struct wbi_cache_id kept = {WBI_LIT("t"), WBI_LIT("1"), WBI_NONE, WBI_NONE, first};
        struct wbi_cache_entry *flight;
        assert_int_equal(wbi_cache_lead(&c, &id, &flight), WB_OK);
        assert_null(wbi_cache_settle(&c, flight, wbi_str_make(big, sizeof(big)), 0, S));
        assert_true(c.bytes <= 5000);
        assert_int_equal(wbi_cache_admit(&c, &kept, 0, &bytes), WBI_CACHE_HIT); /* used: stays */
    }
    assert_in_range(c.table.used, 3, 8);
    wbi_cache_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_ends_at_the_nearer_of_deadline_and_timeout),
        cmocka_unit_test(slots_count_and_come_back),
        cmocka_unit_test(principals_take_turns),
        cmocka_unit_test(the_queue_is_bounded_and_can_be_left),
        cmocka_unit_test(a_full_tool_holds_up_no_other_of_its_provider),
        cmocka_unit_test(budgets_reserve_settle_refund_and_turn),
        cmocka_unit_test(budgets_survive_a_restart),
        cmocka_unit_test(a_budget_is_one_for_two_processes),
        cmocka_unit_test(vector_h_retry_quota),
        cmocka_unit_test(delays_grow_are_capped_jittered_and_yield_to_hints),
        cmocka_unit_test(retries_stop_for_good_reasons),
        cmocka_unit_test(only_idempotent_writes_with_a_key_are_retried),
        cmocka_unit_test(a_key_runs_once_and_replays),
        cmocka_unit_test(a_claim_nobody_closed_is_unknown_and_never_new),
        cmocka_unit_test(a_race_lost_to_a_claim_that_was_let_go_is_run_again),
        cmocka_unit_test(keys_are_required_for_idempotent_writes_alone),
        cmocka_unit_test(expired_keys_make_room),
        cmocka_unit_test(every_part_of_a_cache_key_counts),
        cmocka_unit_test(the_cache_stays_small_and_forgets_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
