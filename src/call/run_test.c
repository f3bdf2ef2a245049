/* SPDX-License-Identifier: Apache-2.0
 * call/run_test.c: the driver with fake stages: one outcome per call whatever a
 * stage does (C1.1, C1.2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/limits.h"
#include "call/run.h"

enum behaviour { PASS, REFUSE, PARK, PARK_AT_ONCE, PARK_FOREVER, BEHAVIOURS };

/* One fake journey: what each stage does, and what was seen. */
struct fake {
    struct wbi_journey journey;
    struct wbi_loop *loop;
    struct wbi_calls *calls;
    enum behaviour does[WBI_STAGE_COUNT];
    bool came_back[WBI_STAGE_COUNT];
    int ran[WBI_STAGE_COUNT];
    int cancelled, settled, finished, released;
    struct wbi_call_ref ref; /* of the newest park */
    enum wbi_outcome_state state;
    enum wbi_kind kind;
    enum wbi_stage refused_at;
    struct wbi_clock_manual hand; /* the calls' clock, unless mono_ns is 0 */
};

static struct fake *fake_of(struct wbi_call *call)
{
    return call->on_done_arg;
}

static enum wbi_step fake_run(struct wbi_call *call)
{
    struct fake *f = fake_of(call);
    enum wbi_stage stage = call->stage;

    f->ran[stage]++;
    if (f->came_back[stage])
        return WBI_STEP_NEXT;
    switch (f->does[stage]) {
    case PASS:
        return WBI_STEP_NEXT;
    case REFUSE:
        f->refused_at = stage;
        return wbi_call_fail(call, WBI_KIND_TOOL_EXECUTION_FAILED, "refused in %s",
                             wbi_stage_name(stage));
    case PARK_AT_ONCE:
        f->came_back[stage] = true;
        f->ref = wbi_call_park(call);
        assert_true(wbi_call_resume(f->calls, f->ref));
        assert_false(wbi_call_resume(f->calls, f->ref)); /* twice: ignored */
        return WBI_STEP_PARKED;
    default:
        f->ref = wbi_call_park(call);
        return WBI_STEP_PARKED;
    }
}

static void fake_cancel(struct wbi_call *call)
{
    fake_of(call)->cancelled++;
}

static void fake_settle(struct wbi_call *call)
{
    fake_of(call)->settled++;
}

static void fake_finish(struct wbi_call *call)
{
    struct fake *f = fake_of(call);

    f->finished++;
    f->state = call->outcome.state;
    f->kind = call->outcome.state == WBI_OUTCOME_ERROR ? call->outcome.fault.kind : WBI_KIND_NONE;
}

static void fake_release(struct wbi_call *call)
{
    fake_of(call)->released++;
    wbi_arena_free(call->arena);
}

static void fake_init(struct fake *f)
{
    memset(f, 0, sizeof(*f));
    for (int s = 0; s < WBI_STAGE_COUNT; s++)
        f->journey.stages[s] = (struct wbi_stage_ops){fake_run, fake_cancel};
    f->journey.settle = fake_settle;
    f->journey.finish = fake_finish;
    f->journey.release = fake_release;
    assert_int_equal(wbi_loop_new(NULL, &f->loop, NULL), WB_OK);
    assert_int_equal(wbi_calls_new(f->loop, &f->calls), WB_OK);
}

static void fake_fini(struct fake *f)
{
    assert_int_equal(wbi_calls_count(f->calls), 0);
    wbi_calls_free(f->calls);
    wbi_loop_free(f->loop);
}

static uint64_t go(struct fake *f)
{
    struct wbi_arena *arena;
    struct wbi_call *call;

    assert_int_equal(wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena), WB_OK);
    call = wbi_arena_zalloc(arena, sizeof(*call));
    call->arena = arena;
    call->clock = f->hand.mono_ns != 0 ? wbi_clock_by_hand(&f->hand) : wbi_clock_system();
    call->on_done_arg = f;
    /* fake stages produce nothing: the outcome stays open unless refused */
    assert_int_equal(wbi_call_start(f->calls, call, &f->journey), WB_OK);
    return f->finished ? 0 : call->id;
}

/* C1.1: a refusal at any stage leads to exactly one end, through PROJECT on. */
static void every_stage_may_refuse(void **state)
{
    (void)state;
    for (int s = 0; s < WBI_STAGE_COUNT; s++) {
        struct fake f;
        fake_init(&f);
        f.does[s] = REFUSE;
        (void)go(&f);
        assert_int_equal(f.finished, 1);
        assert_int_equal(f.released, 1);
        assert_int_equal(f.settled, 1);
        assert_int_equal(f.state, WBI_OUTCOME_ERROR);
        assert_int_equal(f.refused_at, s);
        for (int later = s + 1; later < WBI_STAGE_PROJECT; later++)
            assert_int_equal(f.ran[later], 0); /* C3.1: spends nothing in a later one */
        assert_int_equal(f.ran[WBI_STAGE_RECORD], 1);
        fake_fini(&f);
    }
}

static void every_stage_may_park_and_resume_once(void **state)
{
    (void)state;
    for (int s = 0; s < WBI_STAGE_COUNT; s++) {
        struct fake f;
        struct wbi_call_ref ref;
        fake_init(&f);
        f.does[s] = PARK;
        assert_int_not_equal(go(&f), 0);
        assert_int_equal(f.finished, 0);
        ref = f.ref;
        f.came_back[s] = true;
        assert_true(wbi_call_resume(f.calls, ref));
        assert_false(wbi_call_resume(f.calls, ref)); /* late or twice: nothing */
        assert_int_equal(f.finished, 1);
        assert_int_equal(f.released, 1);
        assert_int_equal(f.ran[s], 2);
        fake_fini(&f);
    }
}

static void a_stage_may_come_back_before_it_returns(void **state)
{
    (void)state;
    for (int s = 0; s < WBI_STAGE_COUNT; s++) {
        struct fake f;
        fake_init(&f);
        f.does[s] = PARK_AT_ONCE;
        (void)go(&f);
        assert_int_equal(f.finished, 1);
        assert_int_equal(f.ran[s], 2);
        fake_fini(&f);
    }
}

/* Cancel may come any number of times; the parked work still resumes once. */
static void cancel_asks_the_stage_and_waits_for_it(void **state)
{
    struct fake f;
    uint64_t id;

    (void)state;
    fake_init(&f);
    f.does[WBI_STAGE_EXECUTE] = PARK;
    id = go(&f);
    wbi_call_cancel(f.calls, id, WBI_CANCEL_ASKED);
    wbi_call_cancel(f.calls, id, WBI_CANCEL_ASKED);
    assert_int_equal(f.cancelled, 2);
    assert_int_equal(f.finished, 0);
    f.came_back[WBI_STAGE_EXECUTE] = true;
    assert_true(wbi_call_resume(f.calls, f.ref));
    assert_int_equal(f.finished, 1);
    wbi_call_cancel(f.calls, id, WBI_CANCEL_ASKED); /* over: nothing */
    assert_int_equal(f.cancelled, 2);
    fake_fini(&f);
}

static void cancel_before_execution_refuses_the_call(void **state)
{
    (void)state;
    for (int s = 0; s < WBI_STAGE_EXECUTE; s++) {
        struct fake f;
        uint64_t id;
        fake_init(&f);
        f.does[s] = PARK;
        id = go(&f);
        wbi_call_cancel(f.calls, id, WBI_CANCEL_ASKED);
        f.came_back[s] = true;
        assert_true(wbi_call_resume(f.calls, f.ref));
        assert_int_equal(f.finished, 1);
        assert_int_equal(f.kind, WBI_KIND_CANCELLED);
        assert_int_equal(f.ran[WBI_STAGE_EXECUTE], 0);
        fake_fini(&f);
    }
}

/* A stage that never comes back cannot hold its call: the limit, then the grace
 * time, then the end; the late resume finds nothing (C8.1). */
static void a_stage_that_never_resumes_is_overruled(void **state)
{
    struct fake f;
    struct wbi_call *call;
    struct wbi_call_ref late;
    uint64_t id;

    (void)state;
    fake_init(&f);
    f.does[WBI_STAGE_EXECUTE] = PARK_FOREVER;
    f.hand = (struct wbi_clock_manual){.mono_ns = 1, .wall_ms = 1};
    id = go(&f);
    call = wbi_calls_get(f.calls, id);
    late = f.ref;
    f.hand.mono_ns += 7 * WBI_NS_PER_S;
    wbi_call_hold(call); /* as an executor does */
    wbi_call_limit(call, 0);
    while (f.cancelled == 0)
        (void)wbi_loop_turn(f.loop, false);
    assert_int_equal(f.finished, 0);
    wbi_call_grace_over(call); /* the grace time, without waiting for it */
    assert_int_equal(f.finished, 1);
    assert_int_equal(f.kind, WBI_KIND_TIMED_OUT);
    assert_int_equal(call->ended_ns - call->started_ns, 7 * WBI_NS_PER_S); /* it took that long */
    assert_int_equal(call->stage_ns[WBI_STAGE_EXECUTE], 7 * WBI_NS_PER_S);
    assert_int_equal(wbi_call_wall_ms(call, call->ended_ns), 7001);
    assert_int_equal(f.released, 0); /* the executor still points into it */
    assert_false(wbi_call_resume(f.calls, late));
    wbi_call_release(call);
    assert_int_equal(f.released, 1);
    fake_fini(&f);
}

/* A call whose attempt ran out of time may have another; one that is cancelled then, not
 * (C8.5). */
static void a_cancel_outranks_a_timeout(void **state)
{
    struct fake f;
    struct wbi_call *call;
    uint64_t id;

    (void)state;
    fake_init(&f);
    f.does[WBI_STAGE_EXECUTE] = PARK_FOREVER;
    id = go(&f);
    call = wbi_calls_get(f.calls, id);
    wbi_call_cancel(f.calls, id, WBI_CANCEL_DEADLINE);
    wbi_call_cancel(f.calls, id, WBI_CANCEL_ASKED);
    wbi_call_cancel(f.calls, id, WBI_CANCEL_DEADLINE);
    assert_int_equal(f.cancelled, 3);
    wbi_call_relimit(call, INT64_MAX);
    assert_int_equal(call->cancel, WBI_CANCEL_ASKED);
    assert_true(call->late);
    wbi_call_grace_over(call);
    assert_int_equal(f.finished, 1);
    assert_int_equal(f.kind, WBI_KIND_CANCELLED);
    fake_fini(&f);
}

/* Ids of calls that are over never name a newer call. */
static void ids_are_not_reused(void **state)
{
    struct fake f;
    uint64_t first;

    (void)state;
    fake_init(&f);
    f.does[WBI_STAGE_EXECUTE] = PARK;
    first = go(&f);
    f.came_back[WBI_STAGE_EXECUTE] = true;
    assert_true(wbi_call_resume(f.calls, f.ref));
    f.came_back[WBI_STAGE_EXECUTE] = false;
    f.finished = 0;
    assert_int_not_equal(go(&f), first);
    assert_null(wbi_calls_get(f.calls, first));
    f.came_back[WBI_STAGE_EXECUTE] = true;
    assert_true(wbi_call_resume(f.calls, f.ref));
    fake_fini(&f);
}

/* Random behaviours, cancels and resumes: always exactly one end. */
static void random_journeys_end_exactly_once(void **state)
{
    const char *text = getenv("WAYBILL_SEED");
    unsigned seed = text ? (unsigned)strtoul(text, NULL, 10) : 1;

    (void)state;
    print_message("seed %u\n", seed);
    for (int round = 0; round < 2000; round++) {
        struct fake f;
        uint64_t id;
        fake_init(&f);
        for (int s = 0; s < WBI_STAGE_COUNT; s++)
            f.does[s] = rand_r(&seed) % 3 ? PASS : (enum behaviour)(rand_r(&seed) % PARK_FOREVER);
        id = go(&f);
        while (f.finished == 0) {
            struct wbi_call *call = wbi_calls_get(f.calls, id);
            if (rand_r(&seed) % 4 == 0)
                wbi_call_cancel(f.calls, id, WBI_CANCEL_ASKED);
            f.came_back[call->stage] = true;
            (void)wbi_call_resume(f.calls, f.ref);
        }
        assert_int_equal(f.finished, 1);
        assert_int_equal(f.released, 1);
        assert_int_equal(f.settled, 1);
        fake_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_may_refuse),
        cmocka_unit_test(every_stage_may_park_and_resume_once),
        cmocka_unit_test(a_stage_may_come_back_before_it_returns),
        cmocka_unit_test(cancel_asks_the_stage_and_waits_for_it),
        cmocka_unit_test(cancel_before_execution_refuses_the_call),
        cmocka_unit_test(a_stage_that_never_resumes_is_overruled),
        cmocka_unit_test(a_cancel_outranks_a_timeout),
        cmocka_unit_test(ids_are_not_reused),
        cmocka_unit_test(random_journeys_end_exactly_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
