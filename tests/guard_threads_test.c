/* SPDX-License-Identifier: Apache-2.0
 * tests/guard_threads_test.c: guards under many threads. Guards run on the loop thread
 * only; threads meet them through wb_call_submit. Run under TSan (preset tsan). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "waybill/waybill.h"

#define THREADS 16
#define PER_THREAD 8
#define CALLS (THREADS * PER_THREAD)

struct crowd {
    wb_runtime *runtime;
    const char *tool, *key;
    _Atomic int64_t now_ns;
    _Atomic int ok, refused, ended, runs;
    _Atomic bool failing, hold; /* hold: tools end when it is taken back */
    wb_tool_call *_Atomic held[CALLS];
    _Atomic int held_n;
    pthread_barrier_t start;
    char root[64];
};

static int64_t mono(void *arg)
{
    return atomic_load(&((struct crowd *)arg)->now_ns);
}

static int64_t wall(void *arg)
{
    (void)arg;
    return INT64_C(1763187480000);
}

/* Ends on another thread, so that calls overlap. */
static void *finish(void *arg)
{
    wb_tool_finish_json(arg, "{}", 2);
    return NULL;
}

static void run(wb_tool_call *call, void *arg)
{
    struct crowd *c = arg;
    pthread_t thread;

    atomic_fetch_add(&c->runs, 1);
    if (atomic_load(&c->failing)) {
        wb_tool_fail(call, "upstream_unavailable", "down", NULL);
        return;
    }
    if (atomic_load(&c->hold)) {
        atomic_store(&c->held[atomic_load(&c->held_n)], call); /* the loop thread alone adds */
        atomic_fetch_add(&c->held_n, 1);
        return;
    }
    assert_int_equal(pthread_create(&thread, NULL, finish, call), 0);
    assert_int_equal(pthread_detach(thread), 0);
}

static void on_done(wb_result *result, void *arg)
{
    struct crowd *c = arg;

    atomic_fetch_add(wb_result_ok(result) ? &c->ok : &c->refused, 1);
    atomic_fetch_add(&c->ended, 1);
}

static void open_crowd(struct crowd *c, const char *settings)
{
    wb_options *o = wb_options_new();
    wb_error *error = NULL;
    char path[128];
    FILE *f;

    atomic_store(&c->now_ns, 1000000000);
    snprintf(c->root, sizeof(c->root), "/tmp/waybill-crowd-XXXXXX");
    assert_non_null(mkdtemp(c->root));
    snprintf(path, sizeof(path), "%s/config.json", c->root);
    f = fopen(path, "wbe");
    assert_non_null(f);
    fprintf(f, "{\"policies\":{\"environment\":{%s}}}", settings);
    assert_int_equal(fclose(f), 0);
    assert_non_null(o);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, c->root), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_LEDGER, "0"), WB_OK);
    assert_int_equal(wb_options_set_clock(o, mono, wall, c), WB_OK);
    if (wb_runtime_new(o, &c->runtime, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
    wb_options_free(o);
    assert_int_equal(pthread_barrier_init(&c->start, NULL, THREADS), 0);
}

static void add_tool(struct crowd *c, const char *name, const char *effect)
{
    char text[256];

    snprintf(text, sizeof(text),
             "{\"name\":\"%s\",\"description\":\"For tests.\",\"version\":\"1.0.0\","
             "\"inputSchema\":{\"type\":\"object\"},\"effect\":\"%s\"}",
             name, effect);
    assert_int_equal(wb_tool_register(c->runtime, text, NULL, run, NULL, c, NULL), WB_OK);
    c->tool = name;
}

static void close_crowd(struct crowd *c)
{
    char path[128];

    wb_runtime_free(c->runtime);
    assert_int_equal(pthread_barrier_destroy(&c->start), 0);
    snprintf(path, sizeof(path), "%s/config.json", c->root);
    (void)unlink(path);
    (void)rmdir(c->root);
}

static void *submit_some(void *arg)
{
    struct crowd *c = arg;
    wb_request *r = wb_request_new(c->tool);

    assert_non_null(r);
    assert_int_equal(wb_request_set(r, WB_FIELD_IDEMPOTENCY_KEY, c->key), WB_OK);
    (void)pthread_barrier_wait(&c->start); /* one thread gets another value */
    for (int i = 0; i < PER_THREAD; i++)
        assert_int_equal(wb_call_submit(c->runtime, r, on_done, c, NULL), WB_OK);
    wb_request_free(r);
    return NULL;
}

/* All threads at once; returns when every call has its outcome. */
static void rush(struct crowd *c)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_some, c), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    while (atomic_load(&c->ended) + atomic_load(&c->held_n) < CALLS)
        sched_yield();
}

/* C8.2: N threads at t0 with burst B admit exactly B. */
static void a_burst_of_b_admits_exactly_b(void **state)
{
    static struct crowd c;

    (void)state;
    open_crowd(&c, "\"rate\":{\"count\":1,\"periodMs\":3600000,\"burst\":7}");
    add_tool(&c, "t", "Pure");
    assert_int_equal(wb_runtime_start(c.runtime, NULL), WB_OK);
    rush(&c);
    assert_int_equal(atomic_load(&c.ok), 7);
    assert_int_equal(atomic_load(&c.runs), 7);
    assert_int_equal(atomic_load(&c.refused), CALLS - 7);
    close_crowd(&c);
}

/* C8.6: many parallel calls with one key start one execution. */
static void one_key_starts_one_execution(void **state)
{
    static struct crowd c;

    (void)state;
    open_crowd(&c, "");
    add_tool(&c, "t", "IdempotentWrite");
    c.key = "k";
    assert_int_equal(wb_runtime_start(c.runtime, NULL), WB_OK);
    rush(&c);
    assert_int_equal(atomic_load(&c.runs), 1);
    assert_true(atomic_load(&c.ok) >= 1); /* the one, and replays; others: in flight */
    close_crowd(&c);
}

/* C8.3: half-open with N probes and many callers runs N. */
static void half_open_runs_its_probes_only(void **state)
{
    static struct crowd c;
    wb_result *result;
    wb_request *r = wb_request_new("t");

    (void)state;
    open_crowd(&c, "\"circuit\":{\"failureRate\":50,\"minCalls\":1,\"openMs\":1000,\"probes\":3}");
    add_tool(&c, "t", "Pure");
    assert_non_null(r);
    atomic_store(&c.failing, true);
    assert_int_equal(wb_call_run(c.runtime, r, &result), WB_OK);
    wb_result_free(result);
    wb_request_free(r);
    assert_int_equal(atomic_load(&c.runs), 1);
    atomic_fetch_add(&c.now_ns, INT64_C(1000000000));
    assert_int_equal(wb_runtime_start(c.runtime, NULL), WB_OK);
    rush(&c); /* the first probe fails and opens it again; none follows */
    assert_int_equal(atomic_load(&c.runs), 2);
    atomic_store(&c.failing, false);
    atomic_store(&c.ended, 0);
    atomic_fetch_add(&c.now_ns, INT64_C(1000000000));
    atomic_store(&c.hold, true);
    rush(&c);
    assert_int_equal(atomic_load(&c.runs), 2 + 3);
    assert_int_equal(atomic_load(&c.ended), CALLS - 3);
    for (int i = 0; i < 3; i++)
        wb_tool_finish_json(atomic_load(&c.held[i]), "{}", 2);
    close_crowd(&c);
}

/* C8.4: slots come back exactly once, however many threads ask. */
static void every_slot_comes_back(void **state)
{
    static struct crowd c;

    (void)state;
    open_crowd(&c, "\"concurrency\":{\"limit\":2,\"queue\":1000}");
    add_tool(&c, "t", "Pure");
    assert_int_equal(wb_runtime_start(c.runtime, NULL), WB_OK);
    for (int round = 1; round <= 3; round++) {
        atomic_store(&c.ended, 0);
        rush(&c);
        assert_int_equal(atomic_load(&c.ok), round * CALLS);
    }
    close_crowd(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_of_b_admits_exactly_b),
        cmocka_unit_test(one_key_starts_one_execution),
        cmocka_unit_test(half_open_runs_its_probes_only),
        cmocka_unit_test(every_slot_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
