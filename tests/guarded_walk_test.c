/* SPDX-License-Identifier: Apache-2.0
 * tests/guarded_walk_test.c: a long random walk over whole calls against a simple model.
 * Tools succeed, fail, run out of time, are cancelled, do not listen and report late; calls
 * wait in queues, behind identical ones and between attempts; the wall clock steps about.
 * Whatever happens, each call has one outcome, slots and budgets come back exactly once, and
 * a key is executed once. WAYBILL_SOAK=1 walks a million steps, WAYBILL_SEED repeats a walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api_int.h"
#include "call/guards.h"
#include "chance.h"
#include "guard/chain_int.h"
#include "support/guarded.h"

#define CALLS 40
#define TOOLS 3
#define KEYS 6
#define INPUTS 4
#define COST 10 /* of policy, in millionths */
#define LIMIT 4

enum { READ = 0, PUT, SEND };
static const char *const names[TOOLS] = {"read", "put", "send"};
static const char *const effects[TOOLS] = {"Pure", "IdempotentWrite", "NonIdempotentWrite"};

enum manner { STOPS = 0, DEAF, ENDS_WELL };

struct one {
    bool used; /* there is a call, or a tool of one that is over */
    bool done; /* it has its outcome */
    wb_call_id id;
    wb_tool_call *held; /* its tool is out */
    int tool, key, input, runs;
    enum manner manner; /* when its tool is asked to stop */
    bool asked_to_stop;
};

static struct {
    struct guarded g;
    struct one one[CALLS];
    bool key_done[KEYS];
    int64_t attempts, cost; /* that are over */
    long outcomes, replayed, cached, overruled, late, retried;
} w;

/* ---- tools ---- */

static void charge(int64_t cost)
{
    w.attempts++;
    w.cost += cost;
}

enum end { END_OK, END_FAIL, END_BROKEN, END_STOPPED };

static void finish(struct one *o, enum end end)
{
    static const char *const kinds[] = {NULL, "upstream_unavailable", "tool_execution_failed",
                                        "cancelled"};
    wb_tool_call *call = o->held;
    int64_t cost = chance(2) ? (int64_t)chance(20) : -1;
    bool was_late = o->done;

    o->held = NULL;
    if (o->tool == PUT && (end == END_OK || (end == END_BROKEN && !was_late)))
        w.key_done[o->key] = true;
    if (!was_late)
        charge(cost >= 0 ? cost : COST);
    w.late += was_late;
    o->used = !was_late;
    if (cost >= 0)
        wb_tool_cost(call, (double)cost / WBI_COST_SCALE);
    if (end == END_OK)
        wb_tool_finish_json(call, "{}", 2);
    else
        wb_tool_fail(call, kinds[end], "no", NULL);
}

static void run(wb_tool_call *call, void *arg)
{
    struct one *o = &w.one[strtol(wb_tool_call_correlation_id(call), NULL, 10)];

    (void)arg;
    assert_true(o->used && !o->done);
    assert_null(o->held);
    for (int i = 0; i < CALLS; i++) {
        const struct one *other = &w.one[i];
        if (other->held == NULL || other->tool != o->tool)
            continue;
        if (o->tool == PUT) /* even one whose caller has gone */
            assert_int_not_equal(other->key, o->key);
        if (o->tool == READ && !other->done && !other->asked_to_stop) /* single flight */
            assert_int_not_equal(other->input, o->input);
    }
    if (o->tool == PUT)
        assert_false(w.key_done[o->key]);
    else
        assert_int_equal(o->runs, 0);
    o->held = call;
    o->asked_to_stop = false;
    w.retried += o->runs++ > 0;
    if (chance(4) == 0)
        finish(o, (enum end)chance(3));
}

static void stop(wb_tool_call *call, void *arg)
{
    (void)arg;
    for (int i = 0; i < CALLS; i++) {
        struct one *o = &w.one[i];
        if (o->held != call)
            continue;
        o->asked_to_stop = true;
        if (o->manner == STOPS)
            finish(o, END_STOPPED);
        else if (o->manner == ENDS_WELL)
            finish(o, END_OK);
        return;
    }
}

/* ---- calls ---- */

static void on_done(wb_result *result, void *arg)
{
    struct one *o = arg;
    const char *text = wb_result_view(result, WB_VIEW_RESULT, NULL);
    char attempts[32];

    assert_true(o->used);
    assert_false(o->done); /* once */
    assert_non_null(text);
    snprintf(attempts, sizeof(attempts), "\"attempts\":%d,", o->runs > 0 ? o->runs : 1);
    if (o->runs > 0 || strstr(text, "\"replayed\"") == NULL)
        assert_non_null(strstr(text, attempts));
    w.outcomes++;
    w.replayed += strstr(text, "\"replayed\":true") != NULL;
    w.cached += strstr(text, "\"cached\":true") != NULL;
    assert_string_not_equal(wb_result_kind(result), "internal_error");
    o->done = true;
    o->used = o->held != NULL;
    if (o->held != NULL) { /* given up on: what it took is what policy says */
        charge(COST);
        w.overruled++;
    }
}

static void begin(struct one *o)
{
    wb_request *r;
    char text[32];
    bool timely;

    *o = (struct one){.used = true,
                      .tool = (int)chance(TOOLS),
                      .key = (int)chance(KEYS),
                      .input = (int)chance(INPUTS),
                      .manner = (enum manner)chance(3)};
    r = wb_request_new(names[o->tool]);
    assert_non_null(r);
    snprintf(text, sizeof(text), "%d", (int)(o - w.one));
    assert_int_equal(wb_request_set(r, WB_FIELD_CORRELATION_ID, text), WB_OK);
    snprintf(text, sizeof(text), "{\"n\":%d}", o->tool == PUT ? o->key : o->input);
    assert_int_equal(wb_request_set(r, WB_FIELD_INPUT, text), WB_OK);
    snprintf(text, sizeof(text), "%d", o->key);
    if (o->tool == PUT)
        assert_int_equal(wb_request_set(r, WB_FIELD_IDEMPOTENCY_KEY, text), WB_OK);
    timely = chance(8) != 0;
    if (!timely || chance(2))
        assert_int_equal(
            wb_request_set(r, WB_FIELD_DEADLINE, deadline_in(&w.g, timely ? 600000 : 0)), WB_OK);
    if (o->tool == PUT && w.key_done[o->key]) {
        long before = w.replayed;
        assert_int_equal(wb_call_submit(w.g.runtime, r, on_done, o, &o->id), WB_OK);
        settle_down(&w.g);
        assert_true(o->done && (!timely || w.replayed == before + 1));
    } else {
        assert_int_equal(wb_call_submit(w.g.runtime, r, on_done, o, &o->id), WB_OK);
    }
    wb_request_free(r);
}

struct search {
    long index;
    struct wbi_call *found;
};

static void match(void *arg, struct wbi_call *call)
{
    struct search *s = arg;

    if (strtol(call->inv.correlation_id.p, NULL, 10) == s->index)
        s->found = call;
}

/* The time of a running attempt is over, or the grace of one that was asked to stop. */
static void run_out_of_time(const struct one *o)
{
    struct wbi_calls *calls = w.g.runtime->rt->calls;
    struct search s = {.index = o - w.one};

    wbi_calls_each(calls, match, &s);
    assert_non_null(s.found);
    if (o->asked_to_stop)
        wbi_call_grace_over(s.found);
    else
        wbi_call_cancel(calls, s.found->id, WBI_CANCEL_DEADLINE);
}

static void finish_all(void)
{
    bool any = true;

    while (any) { /* each may let others in */
        any = false;
        for (int i = 0; i < CALLS; i++) {
            if (w.one[i].held != NULL)
                finish(&w.one[i], END_OK);
            any = any || w.one[i].used;
        }
        settle_down(&w.g);
    }
}

static void step(void)
{
    struct one *o = &w.one[chance(CALLS)];

    w.g.wall_ms += (int64_t)chance(7200000) - 3600000; /* must not matter */
    if (chance(4) == 0)
        w.g.mono_ns += (int64_t)chance(30) * 1000000;
    switch (chance(10)) {
    case 0:
        if (o->used && !o->done)
            wb_call_cancel(w.g.runtime, o->id);
        break;
    case 1:
    case 2:
        if (o->held != NULL && !o->done)
            run_out_of_time(o);
        break;
    case 3: /* queues that take too long */
        w.g.mono_ns += (int64_t)chance(300) * 1000000;
        wbi_guard_tick(w.g.runtime->rt->guards->chain, w.g.mono_ns);
        break;
    case 4:
        if (chance(40) == 0) { /* a key of yesterday is new */
            finish_all();
            w.g.mono_ns += INT64_C(86400000) * 1000000;
            memset(w.key_done, 0, sizeof(w.key_done));
        }
        break;
    default:
        if (!o->used)
            begin(o);
        else if (o->held != NULL)
            finish(o, (enum end)chance(3));
    }
    settle_down(&w.g);
}

/* ---- the model ---- */

static void compare(void)
{
    struct wbi_guard_chain *chain = w.g.runtime->rt->guards->chain;
    struct wbi_budget_settings all = {true, WBI_LIT("all"), INT64_C(1000000) * 315360000000, {0}};
    struct wbi_budget_amount spent, reserved;
    int running[TOOLS] = {0}, open = 0, sum = 0;
    char name[32];

    for (int i = 0; i < CALLS; i++) {
        const struct one *o = &w.one[i];
        if (o->used && !o->done) {
            running[o->tool] += o->held != NULL;
            open++;
        }
    }
    assert_int_equal(wbi_calls_count(w.g.runtime->rt->calls), open);
    for (int t = 0; t < TOOLS; t++) {
        struct wbi_key key;
        snprintf(name, sizeof(name), "local::%s", names[t]);
        key = wbi_key_of(chain->seed, 'S', wbi_str_z(name), WBI_NONE, WBI_NONE);
        assert_int_equal(wbi_slots_in_use(&chain->slots, key), running[t]);
        assert_true(running[t] <= LIMIT);
        sum += running[t];
    }
    wbi_budget_peek(&chain->budget, &all, w.g.mono_ns, &spent, &reserved);
    assert_int_equal(reserved.calls, sum);
    assert_int_equal(reserved.cost, sum * COST);
    assert_int_equal(spent.calls, w.attempts);
    assert_int_equal(spent.cost, w.cost);
    assert_true(wbi_guard_waiting(chain) <= (size_t)(open - sum));
}

static void open_world(void)
{
    static const char policies[] =
        "{\"environment\":{\"budget\":{\"id\":\"all\",\"windowMs\":315360000000,"
        "\"calls\":1000000000,\"cost\":1000000000},\"cost\":0.00001,"
        "\"concurrency\":{\"limit\":4,\"queue\":6,\"queueTimeoutMs\":500}},"
        "\"tools\":{\"local::read\":{\"cache\":{\"ttlMs\":20}},"
        "\"local::put\":{\"retry\":{\"maxAttempts\":3,\"baseMs\":0,\"jitter\":\"none\","
        "\"quota\":1000000}},"
        "\"local::send\":{\"circuit\":{\"minCalls\":10,\"failureRate\":70,\"windowCalls\":20,"
        "\"openMs\":50,\"probes\":2},\"rate\":{\"count\":200,\"periodMs\":1000,\"burst\":20}}}}";
    char text[256];

    guarded_open(&w.g, policies, NULL, false);
    for (int t = 0; t < TOOLS; t++) {
        snprintf(text, sizeof(text),
                 "{\"name\":\"%s\",\"description\":\"For tests.\",\"version\":\"1.0.0\","
                 "\"inputSchema\":{\"type\":\"object\"},\"effect\":\"%s\"}",
                 names[t], effects[t]);
        assert_int_equal(wb_tool_register(w.g.runtime, text, NULL, run, stop, NULL, NULL), WB_OK);
    }
}

static void whole_calls_agree_with_the_model(void **state)
{
    long steps = (long)soak(1000000);
    char events[128];

    (void)state;
    chance_start();
    print_message("%ld steps\n", steps);
    open_world();
    snprintf(events, sizeof(events), "%s/events.jsonl", w.g.root);
    for (long i = 0; i < steps; i++) {
        step();
        compare();
        if (i % 4096 == 0) /* they would fill a disk */
            assert_int_equal(truncate(events, 0), 0);
    }
    finish_all();
    compare();
    for (int i = 0; i < CALLS; i++)
        assert_true(!w.one[i].used && w.one[i].held == NULL);
    printf("outcomes %ld, attempts %lld, retried %ld, replayed %ld, cached %ld, given up on %ld, "
           "late %ld\n",
           w.outcomes, (long long)w.attempts, w.retried, w.replayed, w.cached, w.overruled, w.late);
    assert_true(w.retried > 0 && w.replayed > 0 && w.cached > 0 && w.overruled > 0 && w.late > 0);
    guarded_close(&w.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_calls_agree_with_the_model)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
