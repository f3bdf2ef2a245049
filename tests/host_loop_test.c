/* SPDX-License-Identifier: Apache-2.0
 * tests/host_loop_test.c: a host that runs the loop: its own of libuv, or turn by turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#include <uv.h>

#include "waybill/waybill.h"

enum { CALLS = 100 };

/* A host that makes everything on one thread and runs its loop on another. */
struct host {
    uv_loop_t loop;
    uv_async_t nudge;
    wb_runtime *runtime;
    pthread_t runner;
    sem_t turned, answered;
    atomic_bool over;
    int elsewhere, flushed;
};

static void on_nudge(uv_async_t *handle)
{
    struct host *h = handle->data;

    if (atomic_load(&h->over))
        uv_close((uv_handle_t *)handle, NULL);
    (void)sem_post(&h->turned);
}

static void *run(void *arg)
{
    struct host *h = arg;

    (void)uv_run(&h->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void note_thread(struct host *h)
{
    h->elsewhere += pthread_equal(h->runner, pthread_self()) == 0;
}

static void run_tool(wb_tool_call *call, void *arg)
{
    note_thread(arg);
    wb_tool_finish_text(call, "done", 4);
}

static void on_done(wb_result *result, void *arg)
{
    struct host *h = arg;

    note_thread(h);
    h->flushed += wb_result_ok(result) && wb_runtime_flush(h->runtime, NULL) == WB_OK;
    (void)sem_post(&h->answered);
}

static void open_host(struct host *h)
{
    wb_options *o = wb_options_new();

    assert_int_equal(sem_init(&h->turned, 0, 0), 0);
    assert_int_equal(sem_init(&h->answered, 0, 0), 0);
    assert_int_equal(uv_loop_init(&h->loop), 0);
    assert_int_equal(uv_async_init(&h->loop, &h->nudge, on_nudge), 0);
    h->nudge.data = h;
    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_options_set_uv_loop(o, &h->loop), WB_OK);
    assert_int_equal(wb_runtime_new(o, &h->runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_tool_register(h->runtime, "{\"name\":\"probe\",\"effect\":\"Pure\"}", NULL,
                                      run_tool, NULL, h, NULL),
                     WB_OK);
    assert_int_equal(pthread_create(&h->runner, NULL, run, h), 0);
    assert_int_equal(uv_async_send(&h->nudge), 0);
    assert_int_equal(sem_wait(&h->turned), 0);
}

static void close_host(struct host *h)
{
    atomic_store(&h->over, true);
    assert_int_equal(uv_async_send(&h->nudge), 0);
    pthread_join(h->runner, NULL);
    wb_runtime_free(h->runtime);
    assert_int_equal(uv_loop_close(&h->loop), 0);
    (void)sem_destroy(&h->turned);
    (void)sem_destroy(&h->answered);
}

/* runtime.h: "Whoever runs it is the loop thread", which tools and callbacks are on and which
 * may wait for the loop without waiting for itself. */
static void the_thread_that_runs_the_loop_is_its_own(void **state)
{
    struct host h = {.elsewhere = 0};
    wb_request *request = wb_request_new("probe");

    (void)state;
    open_host(&h);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(wb_call_submit(h.runtime, request, on_done, &h, NULL), WB_OK);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(sem_wait(&h.answered), 0);
    assert_int_equal(h.elsewhere, 0);
    assert_int_equal(h.flushed, CALLS);
    wb_request_free(request);
    close_host(&h);
}

static void *finish_later(void *call)
{
    uv_sleep(20);
    wb_tool_finish_text(call, "done", 4);
    return NULL;
}

static void run_elsewhere(wb_tool_call *call, void *arg)
{
    pthread_t thread;

    (void)arg;
    assert_int_equal(pthread_create(&thread, NULL, finish_later, call), 0);
    pthread_detach(thread);
}

static void stop_at_once(uv_async_t *handle)
{
    struct host *h = handle->data;
    wb_request *request = wb_request_new("elsewhere");
    wb_result *result;

    assert_int_equal(wb_call_run(h->runtime, request, &result), WB_OK);
    h->flushed += wb_result_ok(result);
    wb_result_free(result);
    wb_request_free(request);
    wb_runtime_free(h->runtime);
    uv_close((uv_handle_t *)handle, NULL);
}

/* A handle that is older than the runtime, whose callback waits for what other threads do:
 * libuv calls no younger one of its kind meanwhile. This would take for ever. */
static void an_older_handle_of_the_host_may_wait(void **state)
{
    struct host h = {.elsewhere = 0};
    wb_options *o = wb_options_new();

    (void)state;
    assert_int_equal(uv_loop_init(&h.loop), 0);
    assert_int_equal(uv_async_init(&h.loop, &h.nudge, stop_at_once), 0);
    h.nudge.data = &h;
    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_options_set_uv_loop(o, &h.loop), WB_OK);
    assert_int_equal(wb_runtime_new(o, &h.runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_tool_register(h.runtime, "{\"name\":\"elsewhere\"}", NULL, run_elsewhere,
                                      NULL, NULL, NULL),
                     WB_OK);
    assert_int_equal(uv_async_send(&h.nudge), 0);
    assert_int_equal(uv_run(&h.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(h.flushed, 1);
    assert_int_equal(uv_loop_close(&h.loop), 0);
}

/* Reads policies again when told to, which comes at some time or never. */
static wb_runtime *waiting_runtime(void *uv_loop, int fd)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime;

    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_options_set_uv_loop(o, uv_loop), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_runtime_reload_on(runtime, fd, NULL, NULL, NULL), WB_OK);
    return runtime;
}

/* runtime.h: "waits for an event if wait is not 0 and a call or a task is under way". What may
 * come without one is waited for by nobody: this would take for ever. */
static void a_turn_waits_for_what_is_under_way(void **state)
{
    int fds[2];
    wb_runtime *runtime;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    runtime = waiting_runtime(NULL, fds[0]);
    assert_int_equal(wb_runtime_turn(runtime, /* wait= */ 1), 0);
    wb_runtime_free(runtime);
    close(fds[0]);
    close(fds[1]);
}

/* Nor does it keep the host's loop alive. */
static void a_loop_of_the_host_ends_when_nothing_is_under_way(void **state)
{
    uv_loop_t loop;
    int fds[2];
    wb_runtime *runtime;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    runtime = waiting_runtime(&loop, fds[0]);
    assert_int_equal(uv_run(&loop, UV_RUN_NOWAIT), 0);
    wb_runtime_free(runtime);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_that_runs_the_loop_is_its_own),
        cmocka_unit_test(an_older_handle_of_the_host_may_wait),
        cmocka_unit_test(a_turn_waits_for_what_is_under_way),
        cmocka_unit_test(a_loop_of_the_host_ends_when_nothing_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
