/* SPDX-License-Identifier: Apache-2.0
 * tests/router_test.c: lines of provider items through the library (C9). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <pty.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "api/api_int.h"
#include "waybill/waybill.h"

#define CALLS 40

/* Tools that end when the test says so, and what came out. */
struct world {
    wb_runtime *runtime;
    wb_router *router;
    wb_tool_call *running[CALLS];
    int number[CALLS]; /* of the call that runs in that place */
    size_t count;
    int exclusive_running, parallel_running;
    int started, answered;
    int order[CALLS * 2];
    char last[4096];
};

static int number_of(wb_tool_call *call)
{
    const char *text = wb_tool_call_string(call, "/n", NULL);

    return text ? atoi(text) : -1;
}

static void keep(struct world *w, wb_tool_call *call)
{
    w->running[w->count] = call;
    w->number[w->count++] = number_of(call);
    w->started++;
}

/* C9.4: an exclusive call runs alone, and nothing joins it. */
static void run_exclusive(wb_tool_call *call, void *arg)
{
    struct world *w = arg;

    assert_int_equal(w->exclusive_running, 0);
    assert_int_equal(w->parallel_running, 0);
    w->exclusive_running++;
    keep(w, call);
}

static void run_parallel(wb_tool_call *call, void *arg)
{
    struct world *w = arg;

    assert_int_equal(w->exclusive_running, 0);
    w->parallel_running++;
    keep(w, call);
}

static void take_line(const char *line, size_t size, void *arg)
{
    struct world *w = arg;
    const char *id = strstr(line, "\"call_id\":\"c");

    snprintf(w->last, sizeof(w->last), "%.*s", (int)size, line);
    assert_true(w->answered < CALLS * 2);
    w->order[w->answered++] = id ? atoi(id + 12) : -1;
}

static void world_begin(struct world *w)
{
    wb_options *o = wb_options_new();

    memset(w, 0, sizeof(*w));
    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &w->runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_tool_register(w->runtime, "{\"name\":\"alone\",\"parallel\":false}", NULL,
                                      run_exclusive, NULL, w, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(w->runtime, "{\"name\":\"beside\",\"parallel\":true}", NULL,
                                      run_parallel, NULL, w, NULL),
                     WB_OK);
    assert_int_equal(wb_router_new(w->runtime, NULL, take_line, w, &w->router, NULL), WB_OK);
}

static void world_end(struct world *w)
{
    wb_router_free(w->router);
    wb_runtime_free(w->runtime);
}

/* End one of the running calls, one way or another. */
static void end_one(struct world *w, size_t at, unsigned how)
{
    wb_tool_call *call = w->running[at];
    const char *in = wb_tool_call_input(call, NULL);

    if (strstr(in, "\"alone\"") != NULL)
        w->exclusive_running--;
    else
        w->parallel_running--;
    w->running[at] = w->running[w->count - 1];
    w->number[at] = w->number[--w->count];
    if (how % 3 == 0)
        wb_tool_fail(call, NULL, "it broke", NULL);
    else if (how % 3 == 1)
        wb_tool_finish_json(call, "{\"done\":true}", 13);
    else
        wb_tool_finish_text(call, "done", 4);
}

/* Random parallel and exclusive calls with random ends and a random cancel: one
 * output per call, in call order, exclusivity never violated (asserted above). */
static void outputs_come_once_and_in_order(void **state)
{
    const char *text = getenv("WAYBILL_SEED");
    unsigned seed = text ? (unsigned)strtoul(text, NULL, 10) : 7;
    int rounds = getenv("WAYBILL_SOAK") ? 2000 : 100;

    (void)state;
    print_message("seed %u\n", seed);
    for (int round = 0; round < rounds; round++) {
        struct world w;
        int sent = 0;

        world_begin(&w);
        while (sent < CALLS || wb_router_pending(w.router) > 0) {
            if (sent < CALLS && rand_r(&seed) % 2) {
                const char *tool = rand_r(&seed) % 3 ? "beside" : "alone";
                char line[200];
                snprintf(line, sizeof(line),
                         "{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"%s\","
                         "\"arguments\":\"{\\\"n\\\":\\\"%d\\\",\\\"t\\\":\\\"%s\\\"}\"}",
                         sent, tool, sent, tool);
                assert_int_equal(wb_router_line(w.router, line, strlen(line), NULL), WB_OK);
                sent++;
            } else if (w.count > 0) {
                end_one(&w, (size_t)rand_r(&seed) % w.count, (unsigned)rand_r(&seed));
            }
            (void)wb_runtime_turn(w.runtime, 0);
        }
        assert_int_equal(w.answered, CALLS);
        assert_int_equal(w.started, CALLS);
        for (int i = 0; i < CALLS; i++)
            assert_int_equal(w.order[i], i);
        world_end(&w);
    }
}

/* C9.4: the same id twice is one execution and the same bytes; with another
 * input it is refused and not run. */
static void a_repeated_id_runs_once(void **state)
{
    static const char line[] = "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"beside\","
                               "\"arguments\":\"{\\\"n\\\":\\\"1\\\"}\"}";
    static const char other[] =
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"beside\","
        "\"arguments\":\"{\\\"n\\\":\\\"2\\\"}\"}";
    struct world w;
    char first[4096];

    (void)state;
    world_begin(&w);
    assert_int_equal(wb_router_line(w.router, line, sizeof(line) - 1, NULL), WB_OK);
    assert_int_equal(wb_router_line(w.router, line, sizeof(line) - 1, NULL), WB_OK);
    assert_int_equal(w.started, 1);
    end_one(&w, 0, 1);
    assert_int_equal(w.answered, 2);
    memcpy(first, w.last, sizeof(first));
    assert_int_equal(wb_router_line(w.router, line, sizeof(line) - 1, NULL), WB_OK);
    assert_int_equal(w.answered, 3);
    assert_string_equal(w.last, first);
    assert_int_equal(wb_router_line(w.router, other, sizeof(other) - 1, NULL), WB_OK);
    assert_int_equal(w.answered, 4);
    assert_non_null(strstr(w.last, "malformed_call"));
    assert_int_equal(w.started, 1);
    world_end(&w);
}

/* C1.1: also where the call itself could not begin. */
static void a_repeat_of_a_call_that_cannot_begin_is_answered(void **state)
{
    static const char *const lines[] = {
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"alone\","
        "\"arguments\":\"{\\\"n\\\":\\\"1\\\",\\\"t\\\":\\\"alone\\\"}\"}",
        "{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"beside\",\"arguments\":\"{}\"}",
        "{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"beside\",\"arguments\":\"{}\"}"};
    struct world w;

    (void)state;
    world_begin(&w);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(wb_router_line(w.router, lines[i], strlen(lines[i]), NULL), WB_OK);
    w.runtime->rt->stopping = true; /* takes no more calls */
    end_one(&w, 0, 1);
    assert_int_equal(w.answered, 3);
    assert_int_equal(wb_router_pending(w.router), 0);
    assert_non_null(strstr(w.last, "\"waybill.error\""));
    world_end(&w);
}

/* Bytes made for one provider are no answer to another (C9.2). */
static void an_id_in_another_shape_is_refused_in_that_shape(void **state)
{
    static const char *const lines[] = {
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"beside\",\"arguments\":\"{}\"}",
        "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"beside\",\"input\":{}}",
        "{\"toolName\":\"beside\",\"callId\":\"c1\",\"input\":{}}",
    };
    static const char *const heads[] = {"{\"type\":\"function_call_output\",\"call_id\":\"c1\"",
                                        "{\"type\":\"tool_result\",\"tool_use_id\":\"c1\"",
                                        "{\"callId\":\"c1\",\"status\":\"Error\""};
    struct world w;

    (void)state;
    world_begin(&w);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wb_router_line(w.router, lines[i], strlen(lines[i]), NULL), WB_OK);
        if (i == 0)
            end_one(&w, 0, 1);
        assert_int_equal(w.answered, i + 1);
        assert_memory_equal(w.last, heads[i], strlen(heads[i]));
        assert_int_equal(strstr(w.last, "a call of another shape") != NULL, i > 0);
    }
    assert_int_equal(w.started, 1);
    world_end(&w);
}

static void give_up(wb_tool_call *call, void *arg)
{
    struct world *w = arg;

    w->count--;
    w->exclusive_running--;
    wb_tool_fail(call, "cancelled", "stopped at once", NULL);
}

static void take_and_cancel(const char *line, size_t size, void *arg)
{
    struct world *w = arg;

    take_line(line, size, w);
    if (w->answered == 1)
        wb_router_cancel(w->router);
}

/* C9.3: every call that was taken is answered in order, though a cancelled one ends while the
 * others are still being told: an error line, an item without an id and a call that waits for
 * its turn come after it. Told from outside, or by whoever reads the first answer. */
static void calls_that_end_when_told_are_answered_in_order(void **state)
{
    static const char *const lines[] = {
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"stops\",\"arguments\":\"{}\"}",
        "not json",
        "{\"functionCall\":{\"name\":\"stops\",\"args\":{}}}",
        "{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"stops\",\"arguments\":\"{}\"}",
    };

    (void)state;
    for (int reader = 0; reader < 2; reader++) {
        struct world w;

        world_begin(&w);
        assert_int_equal(wb_tool_register(w.runtime, "{\"name\":\"stops\",\"parallel\":false}",
                                          NULL, run_exclusive, give_up, &w, NULL),
                         WB_OK);
        wb_router_free(w.router);
        assert_int_equal(wb_router_new(w.runtime, NULL, reader ? take_and_cancel : take_line, &w,
                                       &w.router, NULL),
                         WB_OK);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(wb_router_line(w.router, lines[i], strlen(lines[i]), NULL), WB_OK);
        assert_int_equal(w.answered, 0);
        if (reader) {
            w.exclusive_running--;
            w.count--;
            wb_tool_finish_text(w.running[0], "done", 4);
        } else {
            wb_router_cancel(w.router);
        }
        assert_int_equal(wb_router_pending(w.router), 0);
        assert_int_equal(w.answered, 4);
        assert_int_equal(w.order[0], 1);
        assert_int_equal(w.order[3], 2);
        assert_int_equal(w.count, 0);
        world_end(&w);
    }
}

/* ---- frames ---- */

static void *tell_more(void *arg)
{
    struct world *w = arg;

    wb_tool_partial(w->running[0], "{\"at\":1}", 8);
    return NULL;
}

/* The partial comes from another thread: the loop brings it later. */
static void tell_later(wb_tool_call *call, void *arg)
{
    pthread_t thread;

    run_exclusive(call, arg);
    assert_int_equal(pthread_create(&thread, NULL, tell_more, arg), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void tell_at_once(wb_tool_call *call, void *arg)
{
    run_exclusive(call, arg);
    wb_tool_partial(call, "{\"at\":1}", 8);
}

/* The world's router is one with frames that come to on_line, of the tool "tells". */
static void world_tells(struct world *w, wb_tool_run_cb run, wb_line_cb on_line)
{
    wb_dispatch_options options = {.frames = 1};

    world_begin(w);
    wb_router_free(w->router);
    assert_int_equal(wb_tool_register(w->runtime, "{\"name\":\"tells\",\"parallel\":false}", NULL,
                                      run, give_up, w, NULL),
                     WB_OK);
    assert_int_equal(wb_router_new(w->runtime, &options, on_line, w, &w->router, NULL), WB_OK);
}

static const char tells[] =
    "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"tells\",\"arguments\":\"{}\"}";

static void try_to_run_the_loop(const char *line, size_t size, void *arg)
{
    wb_request *request = wb_request_new("beside");
    struct world *w = arg;
    wb_result *result;

    take_line(line, size, w);
    assert_int_equal(wb_call_run(w->runtime, request, &result), WB_EMISUSE);
    assert_int_equal(w->started, 1);
    (void)wb_runtime_turn(w->runtime, /* wait= */ 1); /* which would wait for ever */
    wb_request_free(request);
}

/* dispatch.h: whoever makes a frame is on the stack, so the loop does not run beneath it. */
static void a_line_of_frames_may_not_run_the_loop(void **state)
{
    struct world w;

    (void)state;
    world_tells(&w, tell_later, try_to_run_the_loop);
    assert_int_equal(wb_router_line(w.router, tells, strlen(tells), NULL), WB_OK);
    while (strstr(w.last, "\"event\":\"partial\"") == NULL)
        (void)wb_runtime_turn(w.runtime, /* wait= */ 1);
    wb_tool_finish_text(w.running[0], "done", 4);
    assert_int_equal(wb_router_pending(w.router), 0);
    assert_int_equal(w.order[w.answered - 1], 1);
    world_end(&w);
}

static void cancel_by_the_first_partial(const char *line, size_t size, void *arg)
{
    struct world *w = arg;

    take_line(line, size, w);
    if (strstr(w->last, "\"event\":\"partial\"") != NULL)
        wb_router_cancel(w->router);
}

/* C9.3: all calls that were taken are cancelled, also the one whose tool is still beginning. */
static void the_first_frame_may_cancel_its_own_call(void **state)
{
    struct world w;

    (void)state;
    world_tells(&w, tell_at_once, cancel_by_the_first_partial);
    assert_int_equal(wb_router_line(w.router, tells, strlen(tells), NULL), WB_OK);
    assert_int_equal(wb_router_pending(w.router), 0);
    assert_int_equal(w.count, 0);
    assert_non_null(strstr(w.last, "stopped at once"));
    world_end(&w);
}

/* One text for all providers (C9.2): the same call sent as each gives the same
 * receipt. */
static void one_receipt_for_every_provider(void **state)
{
    static const struct {
        const char *line, *pointer;
    } forms[] = {
        {"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"beside\",\"arguments\":\"{}\"}",
         "/output"},
        {"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":"
         "{\"name\":\"beside\",\"arguments\":\"{}\"}}]}",
         "/content"},
        {"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"beside\",\"input\":{}}", "/content"},
        {"{\"functionCall\":{\"id\":\"g\",\"name\":\"beside\",\"args\":{}}}",
         "/functionResponse/response/"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"beside\","
         "\"arguments\":{}}}",
         "/result/content/0/text"},
    };

    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        char *wanted = NULL;
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
            struct world w;
            char pointer[80], *text = NULL;
            world_begin(&w);
            assert_int_equal(wb_router_line(w.router, forms[i].line, strlen(forms[i].line), NULL),
                             WB_OK);
            end_one(&w, 0, how);
            snprintf(pointer, sizeof(pointer), "%s", forms[i].pointer);
            if (i == 3)
                strcat(pointer, how == 0 ? "error" : "output");
            assert_int_equal(wb_json_pointer(w.last, strlen(w.last), pointer, &text, NULL, NULL),
                             WB_OK);
            if (wanted == NULL) {
                wanted = text;
            } else {
                assert_string_equal(text, wanted);
                wb_free(text);
            }
            world_end(&w);
        }
        assert_true(strncmp(wanted, how == 0 ? "Error: " : "beside completed", 7) == 0);
        wb_free(wanted);
    }
}

static void run_at_once(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_finish_text(call, "done", 4);
}

/* C9.3, seed 002 3.1: fatal is misuse or a broken runtime. The stream breaks after one
 * whole line and a half (the other end of a terminal is gone: EIO); the call that was
 * accepted has its output, the half line was not, and the caller is told apart. */
static void a_broken_stream_is_fatal_after_every_accepted_call(void **state)
{
    static const char line[] = "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"now\","
                               "\"arguments\":\"{}\"}\n{\"type\":\"function_call\",";
    struct termios raw;
    struct world w;
    wb_error *error = NULL;
    char got[500] = "";
    int in, other, out[2];

    (void)state;
    world_begin(&w);
    assert_int_equal(
        wb_tool_register(w.runtime, "{\"name\":\"now\"}", NULL, run_at_once, NULL, NULL, NULL),
        WB_OK);
    if (openpty(&in, &other, NULL, NULL, NULL) != 0) {
        print_message("skipped: a broken stream (no pseudo-terminals here)\n");
        world_end(&w);
        return;
    }
    assert_int_equal(tcgetattr(other, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(other, TCSANOW, &raw), 0);
    assert_int_equal(write(other, line, sizeof(line) - 1), sizeof(line) - 1);
    close(other);
    assert_int_equal(pipe(out), 0);
    assert_int_equal(wb_dispatch(w.runtime, NULL, in, out[1], -1, &error), WB_EIO);
    assert_non_null(strstr(wb_error_text(error), "the input cannot be read"));
    wb_error_free(error);
    assert_true(read(out[0], got, sizeof(got) - 1) > 0);
    assert_string_equal(got, "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":"
                             "\"now completed\\noutput: (1 line)\\ndone\"}\n");
    assert_int_equal(wb_router_line(NULL, line, 1, NULL), WB_EMISUSE);
    close(in);
    close(out[0]);
    close(out[1]);
    world_end(&w);
}

struct deserted {
    int in; /* where its lines come from */
    int runs;
};

/* The next line comes while this call runs, five in all. */
static void run_and_ask_again(wb_tool_call *call, void *arg)
{
    struct deserted *d = arg;
    char line[128];
    int n = snprintf(line, sizeof(line),
                     "{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"again\","
                     "\"arguments\":\"{}\"}\n",
                     ++d->runs);

    if (d->runs < 5)
        assert_int_equal(write(d->in, line, (size_t)n), n);
    else
        close(d->in);
    wb_tool_finish_text(call, "done", 4);
}

/* I3: the call that runs is finished and recorded; nobody could learn of another one. */
static void when_the_reader_has_gone_no_more_lines_are_taken(void **state)
{
    static const char line[] = "{\"type\":\"function_call\",\"call_id\":\"c0\",\"name\":\"again\","
                               "\"arguments\":\"{}\"}\n";
    struct deserted d = {.runs = 0};
    struct world w;
    int in[2], out[2];

    (void)state;
    world_begin(&w);
    assert_int_equal(wb_tool_register(w.runtime, "{\"name\":\"again\"}", NULL, run_and_ask_again,
                                      NULL, &d, NULL),
                     WB_OK);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    close(out[0]);
    d.in = in[1];
    assert_int_equal(write(in[1], line, sizeof(line) - 1), sizeof(line) - 1);
    assert_int_equal(wb_dispatch(w.runtime, NULL, in[0], out[1], -1, NULL), WB_OK);
    assert_int_equal(d.runs, 1);
    close(in[0]);
    close(in[1]);
    close(out[1]);
    world_end(&w);
}

#define LINES 3000
#define ANSWER ((size_t)20000)
/* What may be under way: unwritten answers, a pipe full of them, the calls of one read. */
#define UNDER_WAY (((size_t)4 << 20) / ANSWER + 4 + 65536 / 64)

/* A reader that begins late: when more was started than may wait for it, or it does not seem
 * to come to that. */
struct late_reader {
    int from;
    sem_t too_many;
    atomic_size_t started, lines;
    size_t most; /* started and not yet read */
};

static void run_long(wb_tool_call *call, void *arg)
{
    static char text[ANSWER];
    struct late_reader *r = arg;
    size_t started = atomic_fetch_add(&r->started, 1) + 1, read = atomic_load(&r->lines);

    for (size_t i = 0; i < sizeof(text); i++) /* all of it is shown */
        text[i] = "some words on every line\n"[i % 25];
    if (started - read > r->most)
        r->most = started - read;
    if (started == UNDER_WAY + 1)
        sem_post(&r->too_many);
    wb_tool_finish_text(call, text, sizeof(text));
}

static void *read_late(void *arg)
{
    struct late_reader *r = arg;
    static char buf[65536];
    struct timespec until;
    ssize_t n;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    (void)sem_timedwait(&r->too_many, &until);
    while ((n = read(r->from, buf, sizeof(buf))) > 0)
        for (ssize_t i = 0; i < n; i++)
            atomic_fetch_add(&r->lines, buf[i] == '\n');
    return NULL;
}

static FILE *many_lines(void)
{
    FILE *f = tmpfile();

    assert_non_null(f);
    for (int i = 0; i < LINES; i++)
        fprintf(f,
                "{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"long\","
                "\"arguments\":\"{}\"}\n",
                i);
    assert_int_equal(fflush(f), 0);
    rewind(f);
    return f;
}

/* C1.1: whoever reads late holds up the calls, and loses no answer. */
static void a_slow_reader_gets_every_answer(void **state)
{
    struct late_reader r = {.from = -1};
    FILE *in = many_lines();
    pthread_t reader;
    struct world w;
    int out[2];

    (void)state;
    world_begin(&w);
    assert_int_equal(sem_init(&r.too_many, 0, 0), 0);
    assert_int_equal(
        wb_tool_register(w.runtime, "{\"name\":\"long\"}", NULL, run_long, NULL, &r, NULL), WB_OK);
    assert_int_equal(pipe(out), 0);
    r.from = out[0];
    assert_int_equal(pthread_create(&reader, NULL, read_late, &r), 0);
    assert_int_equal(wb_dispatch(w.runtime, NULL, fileno(in), out[1], -1, NULL), WB_OK);
    close(out[1]);
    pthread_join(reader, NULL);
    assert_int_equal(atomic_load(&r.lines), LINES);
    assert_true(r.most <= UNDER_WAY);
    close(out[0]);
    fclose(in);
    sem_destroy(&r.too_many);
    world_end(&w);
}

#define PARTIALS 20000
#define PARTIAL ((size_t)1000)

static void run_talking(wb_tool_call *call, void *arg)
{
    char text[PARTIAL];

    memset(text, ' ', sizeof(text));
    memcpy(text, "{\"a\":1", 6);
    text[sizeof(text) - 1] = '}';
    for (int i = 0; i < PARTIALS; i++)
        wb_tool_partial(call, text, sizeof(text));
    wb_tool_finish_text(call, "done", 4);
    sem_post(&((struct late_reader *)arg)->too_many);
}

struct frames_seen {
    struct late_reader r;
    size_t bytes, frames, left_out;
    bool gap;
    char last[4096];
};

static void *read_frames_late(void *arg)
{
    struct frames_seen *seen = arg;
    FILE *f = fdopen(seen->r.from, "r");
    static char line[4096];

    while (sem_wait(&seen->r.too_many) != 0)
        ;
    while (fgets(line, sizeof(line), f) != NULL) {
        const char *sequence = strstr(line, "\"sequence\":"), *left = strstr(line, "\"leftOut\":");
        seen->bytes += strlen(line);
        seen->gap |= sequence != NULL && strtoul(sequence + 11, NULL, 10) != seen->frames;
        seen->frames += sequence != NULL;
        seen->left_out += left != NULL ? strtoul(left + 10, NULL, 10) : 0;
        memcpy(seen->last, line, sizeof(line));
    }
    fclose(f);
    return NULL;
}

/* C8.9: to whoever does not read partials are left out before they have a number, and the
 * last frame says how many; the answer comes. */
static void a_slow_reader_is_spared_partials(void **state)
{
    static const char line[] =
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"talking\","
        "\"arguments\":\"{}\"}\n";
    wb_dispatch_options options = {.frames = 1};
    struct frames_seen seen = {.bytes = 0};
    pthread_t reader;
    struct world w;
    int in[2], out[2];

    (void)state;
    world_begin(&w);
    assert_int_equal(sem_init(&seen.r.too_many, 0, 0), 0);
    assert_int_equal(wb_tool_register(w.runtime, "{\"name\":\"talking\"}", NULL, run_talking, NULL,
                                      &seen.r, NULL),
                     WB_OK);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    assert_int_equal(write(in[1], line, sizeof(line) - 1), sizeof(line) - 1);
    close(in[1]);
    seen.r.from = out[0];
    assert_int_equal(pthread_create(&reader, NULL, read_frames_late, &seen), 0);
    assert_int_equal(wb_dispatch(w.runtime, &options, in[0], out[1], -1, NULL), WB_OK);
    close(out[1]);
    pthread_join(reader, NULL);
    assert_false(seen.gap);
    assert_int_equal(seen.frames + seen.left_out, PARTIALS + 1);
    assert_true(seen.bytes < ((size_t)6 << 20));
    assert_non_null(strstr(seen.last, "\"call_id\":\"c1\""));
    close(in[0]);
    sem_destroy(&seen.r.too_many);
    world_end(&w);
}

#define CALL(id) \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"beside\",\"arguments\":\""
#define LARGEST ((size_t)64 * 1024 * 1024)

/* `filling` over and over between the two ends, as large as a line may be. */
static void send_large(struct world *w, const char *head, const char *filling, const char *tail)
{
    size_t head_n = strlen(head), tail_n = strlen(tail), step = strlen(filling);
    char *line = malloc(LARGEST), *at;

    assert_non_null(line);
    memcpy(line, head, head_n);
    for (at = line + head_n; (size_t)(line + LARGEST - at) >= step + tail_n; at += step)
        memcpy(at, filling, step);
    memcpy(at, tail, tail_n);
    assert_int_equal(wb_router_line(w->router, line, (size_t)(at - line) + tail_n, NULL), WB_OK);
    free(line);
}

/* A long text is no reason to lose a call; what takes more memory than a call may have is
 * refused, by its id. */
static void the_largest_lines_are_answered(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w);
    send_large(&w, CALL("c1") "{\\\"n\\\":\\\"", "7 texts ", "\\\"}\"}");
    assert_int_equal(w.started, 1);
    end_one(&w, 0, 1);
    assert_int_equal(w.answered, 1);
    assert_non_null(strstr(w.last, "\"c1\""));
    send_large(&w, CALL("c2") "[", "1,", "1]\"}");
    assert_int_equal(w.answered, 2);
    assert_non_null(strstr(w.last, "\"id\":\"c2\",\"error\":{\"kind\":\"internal_error\""));
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_come_once_and_in_order),
        cmocka_unit_test(a_broken_stream_is_fatal_after_every_accepted_call),
        cmocka_unit_test(when_the_reader_has_gone_no_more_lines_are_taken),
        cmocka_unit_test(a_slow_reader_gets_every_answer),
        cmocka_unit_test(a_slow_reader_is_spared_partials),
        cmocka_unit_test(a_repeated_id_runs_once),
        cmocka_unit_test(a_repeat_of_a_call_that_cannot_begin_is_answered),
        cmocka_unit_test(an_id_in_another_shape_is_refused_in_that_shape),
        cmocka_unit_test(calls_that_end_when_told_are_answered_in_order),
        cmocka_unit_test(a_line_of_frames_may_not_run_the_loop),
        cmocka_unit_test(the_first_frame_may_cancel_its_own_call),
        cmocka_unit_test(one_receipt_for_every_provider),
        cmocka_unit_test(the_largest_lines_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
