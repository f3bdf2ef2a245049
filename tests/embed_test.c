/* SPDX-License-Identifier: Apache-2.0
 * tests/embed_test.c: the library in a host with ways of its own: signals as they come,
 * threads, forks, descriptors that are closed, a locale, arguments
 * that are missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "waybill/waybill.h"
#include "workspace.h"

static void count_run(wb_tool_call *call, void *arg)
{
    ++*(int *)arg;
    wb_tool_finish_text(call, "done", 4);
}

/* A bare runtime whose tool "count" counts its calls. */
static wb_runtime *counting_runtime(int *runs)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime;

    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_tool_register(runtime, "{\"name\":\"count\",\"effect\":\"Pure\"}", NULL,
                                      count_run, NULL, runs, NULL),
                     WB_OK);
    return runtime;
}

/* ---- readers that go away ---- */

/* The end that is read from a pipe with this text and no more. */
static int input_of(const char *text)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    return ends[0];
}

/* The end that is written of a pipe that nobody reads. */
static int output_to_nobody(void)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    return ends[1];
}

/* dispatch.h: a reader of out that goes away does not stop the calls, whatever the host
 * does with SIGPIPE; its default would end this test. */
static void dispatch_goes_on_without_a_reader(void **state)
{
    static const char lines[] = "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"count\","
                                "\"input\":{}}\n{\"type\":\"tool_use\",\"id\":\"b\","
                                "\"name\":\"count\",\"input\":{}}\n";
    int runs = 0, in = input_of(lines), out = output_to_nobody();
    wb_runtime *runtime = counting_runtime(&runs);

    (void)state;
    (void)signal(SIGPIPE, SIG_DFL);
    assert_int_equal(wb_dispatch(runtime, NULL, in, out, -1, NULL), WB_OK);
    assert_int_equal(runs, 2);
    wb_runtime_free(runtime);
    close(in);
    close(out);
}

/* serve.h: that whoever reads the answers has gone is no failure. */
static void serving_ends_without_a_reader(void **state)
{
    static const char lines[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}\n";
    int runs = 0, in = input_of(lines), out = output_to_nobody();
    wb_serve_options o = {.in = in, .out = out, .stop = -1, .access_log = -1};
    wb_runtime *runtime = counting_runtime(&runs);

    (void)state;
    (void)signal(SIGPIPE, SIG_DFL);
    assert_int_equal(wb_serve(runtime, &o, NULL), WB_OK);
    wb_runtime_free(runtime);
    close(in);
    close(out);
}

struct visitor {
    pthread_t thread;
    int stop;
    unsigned port;
};

/* One request, then the end of the server. */
static void *visit(void *arg)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    struct visitor *v = arg;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)v->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char answer[400];

    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0)
        (void)recv(fd, answer, sizeof(answer), 0);
    close(fd);
    (void)write(v->stop, "", 1);
    return NULL;
}

static void on_ready(const char *url, void *arg)
{
    struct visitor *v = arg;

    assert_int_equal(sscanf(url, "http://127.0.0.1:%u/", &v->port), 1);
    assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
}

static void serving_goes_on_without_a_reader_of_its_access_log(void **state)
{
    int runs = 0, stop[2], log = output_to_nobody();
    struct visitor v;
    wb_serve_options o = {
        .http = "127.0.0.1:0", .access_log = log, .on_ready = on_ready, .arg = &v};
    wb_runtime *runtime = counting_runtime(&runs);

    (void)state;
    (void)signal(SIGPIPE, SIG_DFL);
    assert_int_equal(pipe(stop), 0);
    o.stop = stop[0];
    v.stop = stop[1];
    assert_int_equal(wb_serve(runtime, &o, NULL), WB_OK);
    pthread_join(v.thread, NULL);
    wb_runtime_free(runtime);
    close(log);
    close(stop[0]);
    close(stop[1]);
}

/* ---- a host with a locale ---- */

/* One with another decimal point and other names of months, made for this test. */
static bool set_foreign_locale(const struct workspace *ws)
{
    char command[400];

    snprintf(command, sizeof(command),
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 > /dev/null 2>&1", ws->base);
    return system(command) <= 256 && setenv("LOCPATH", ws->base, 1) == 0 &&
           setlocale(LC_ALL, "de_DE.UTF-8") != NULL &&
           strcmp(localeconv()->decimal_point, ",") == 0;
}

struct reader {
    struct visitor v;
    char called[4000], metrics[20000];
};

/* Sends a request and hears all of its answer. */
static void ask(unsigned port, const char *request, char *answer, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ssize_t got = 0;
    size_t n = 0;

    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
        while (n + 1 < size && (got = recv(fd, answer + n, size - n - 1, 0)) > 0)
            n += (size_t)got;
    answer[n] = '\0';
    close(fd);
}

static void *call_and_read_metrics(void *arg)
{
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"half\","
        "\"arguments\":{\"n\":5},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
        "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    char request[1000];
    struct reader *r = arg;

    snprintf(request, sizeof(request),
             "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
             "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: half\r\n"
             "Mcp-Param-N: 5.0\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    ask(r->v.port, request, r->called, sizeof(r->called));
    ask(r->v.port, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        r->metrics, sizeof(r->metrics));
    (void)write(r->v.stop, "", 1);
    return NULL;
}

static void on_ready_to_call(const char *url, void *arg)
{
    struct reader *r = arg;

    assert_int_equal(sscanf(url, "http://127.0.0.1:%u/", &r->v.port), 1);
    assert_int_equal(pthread_create(&r->v.thread, NULL, call_and_read_metrics, r), 0);
}

static void tell_half(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_finish_json(call, "{\"half\":2.5}", 12);
}

/* What goes over the wire is the same in every locale: dates, numbers, headers. */
static void a_locale_of_the_host_changes_nothing(void **state)
{
    static const char schema[] =
        "{\"name\":\"half\",\"effect\":\"Pure\",\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"}}}}";
    static struct reader r;
    int runs = 0, stop[2];
    wb_serve_options o = {
        .http = "127.0.0.1:0", .access_log = -1, .on_ready = on_ready_to_call, .arg = &r};
    struct workspace ws;
    wb_runtime *runtime;

    (void)state;
    ws_init(&ws);
    if (!set_foreign_locale(&ws)) {
        ws_fini(&ws);
        print_message("skipped: a foreign locale (localedef makes none)\n");
        skip();
    }
    runtime = counting_runtime(&runs);
    assert_int_equal(wb_tool_register(runtime, schema, NULL, tell_half, NULL, NULL, NULL), WB_OK);
    assert_int_equal(pipe(stop), 0);
    o.stop = stop[0];
    r.v.stop = stop[1];
    assert_int_equal(wb_serve(runtime, &o, NULL), WB_OK);
    pthread_join(r.v.thread, NULL);
    wb_runtime_free(runtime);
    assert_non_null(setlocale(LC_ALL, "C"));
    assert_non_null(strstr(r.called, "2.5")); /* 5.0 in the header is the 5 of the body */
    assert_int_equal(strspn(strstr(r.called, "\r\nDate: ") + 8, "MonTueWdThFriSa"), 3);
    assert_non_null(strstr(r.metrics, "le=\"0.00025\"}"));
    assert_null(strstr(r.metrics, "0,"));
    close(stop[0]);
    close(stop[1]);
    ws_fini(&ws);
}

/* ---- a runtime with a thread of its own ---- */

#define WORKERS 3
#define ROUNDS 300

static void echo(wb_tool_call *call, void *arg)
{
    size_t n;
    const char *input = wb_tool_call_input(call, &n);

    (void)arg;
    wb_tool_finish_json(call, input, n);
}

static wb_runtime *started_runtime(void)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime;

    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_tool_register(runtime,
                                      "{\"name\":\"echo\",\"effect\":\"Pure\",\"parallel\":true}",
                                      NULL, echo, NULL, NULL, NULL),
                     WB_OK);
    assert_int_equal(wb_runtime_start(runtime, NULL), WB_OK);
    return runtime;
}

struct worker {
    pthread_t thread;
    wb_runtime *runtime;
    sem_t done;
    wb_result *result;
    int wrong;
};

static void keep_result(wb_result *result, void *arg)
{
    struct worker *w = arg;

    w->result = wb_result_ref(result);
    sem_post(&w->done);
}

static void *keep_and_free(void *arg)
{
    struct worker *w = arg;
    wb_request *request = wb_request_new("echo");

    for (int i = 0; i < ROUNDS; i++) {
        char input[40];
        const char *seen;

        (void)snprintf(input, sizeof(input), "{\"i\":%d}", i);
        w->wrong += wb_request_set(request, WB_FIELD_INPUT, input) != WB_OK ||
                    wb_call_submit(w->runtime, request, keep_result, w, NULL) != WB_OK;
        sem_wait(&w->done);
        seen = wb_result_view(w->result, WB_VIEW_RECORD, NULL);
        w->wrong += seen == NULL || strstr(seen, input) == NULL;
        wb_result_free(wb_result_ref(w->result));
        wb_result_free(w->result);
    }
    wb_request_free(request);
    return NULL;
}

/* call.h: a result may be kept, looked at and freed on any thread. */
static void kept_results_are_freed_on_any_thread(void **state)
{
    wb_runtime *runtime = started_runtime();
    struct worker workers[WORKERS];

    (void)state;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.runtime = runtime};
        assert_int_equal(sem_init(&workers[i].done, 0, 0), 0);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, keep_and_free, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong, 0);
        sem_destroy(&workers[i].done);
    }
    wb_runtime_free(runtime);
}

static void *list_often(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < ROUNDS; i++) {
        char *list = NULL, *definitions = NULL;
        int parallel = 0;

        w->wrong += wb_tools_list(w->runtime, NULL, NULL, &list, NULL, NULL) != WB_OK ||
                    strstr(list, "\"echo\"") == NULL;
        w->wrong += wb_tools_export(w->runtime, NULL, "chat", &definitions, NULL, NULL) != WB_OK ||
                    strstr(definitions, "\"echo\"") == NULL;
        w->wrong +=
            wb_tool_parallel(w->runtime, NULL, "echo", &parallel, NULL) != WB_OK || parallel != 1;
        wb_free(list);
        wb_free(definitions);
    }
    return NULL;
}

/* tool.h: after wb_runtime_start tools are listed from any thread; the first look and the
 * first call both want the catalog made. */
static void tools_are_listed_from_any_thread(void **state)
{
    wb_runtime *runtime = started_runtime();
    struct worker caller = {.runtime = runtime}, listers[2] = {caller, caller};

    (void)state;
    assert_int_equal(sem_init(&caller.done, 0, 0), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&listers[i].thread, NULL, list_often, &listers[i]), 0);
    (void)keep_and_free(&caller);
    for (int i = 0; i < 2; i++) {
        pthread_join(listers[i].thread, NULL);
        assert_int_equal(listers[i].wrong, 0);
    }
    assert_int_equal(caller.wrong, 0);
    sem_destroy(&caller.done);
    wb_runtime_free(runtime);
}

/* The servers' tools, too: whoever asks waits for them, while the loop goes on. */
static void tools_of_servers_are_listed_from_any_thread(void **state)
{
    const char *build = getenv("WAYBILL_BUILD");
    wb_options *o = wb_options_new();
    struct workspace ws;
    wb_runtime *runtime;
    char path[200], text[400], *list = NULL;

    (void)state;
    ws_init(&ws);
    snprintf(path, sizeof(path), "%s/config.json", ws.base);
    snprintf(text, sizeof(text), "{\"mcpServers\":{\"up\":{\"command\":\"%s/mcp_demo_server\"}}}",
             build ? build : "build/dev");
    ws_write(path, text);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, ws.root), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_runtime_start(runtime, NULL), WB_OK);
    assert_int_equal(wb_tools_list(runtime, NULL, NULL, &list, NULL, NULL), WB_OK);
    assert_non_null(strstr(list, "\"up__echo\""));
    wb_free(list);
    wb_runtime_free(runtime);
    ws_fini(&ws);
}

/* ---- processes ---- */

/* How a child ended that runs fn(arg): its exit status, or -1 for a signal. */
static int in_child(int (*fn)(void *), void *arg)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60); /* it must not wait for ever */
        _exit(fn(arg));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int open_without(void *arg)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime = NULL;
    wb_error *error = NULL;
    int told;

    close(*(int *)arg);
    if (wb_options_set(o, WB_OPT_BARE, "1") != WB_OK)
        return 2;
    told = wb_runtime_new(o, &runtime, &error) == WB_EMISUSE &&
           strstr(wb_error_text(error), "is closed") != NULL;
    wb_error_free(error);
    wb_options_free(o);
    return told ? 0 : 1;
}

/* runtime.h: our descriptors would take the place of the closed one. */
static void a_host_without_standard_descriptors_is_told(void **state)
{
    (void)state;
    for (int fd = 0; fd < 3; fd++)
        assert_int_equal(in_child(open_without, &fd), 0);
}

static wb_rc run_command(wb_runtime *runtime)
{
    wb_request *request = wb_request_new("ExecCommand");
    wb_result *result = NULL;
    wb_rc rc = wb_request_set(request, WB_FIELD_INPUT, "{\"cmd\":\"true\"}");

    if (rc == WB_OK)
        rc = wb_call_run(runtime, request, &result);
    if (rc == WB_OK && !wb_result_ok(result))
        rc = WB_EINTERNAL;
    wb_result_free(result);
    wb_request_free(request);
    return rc;
}

static int use_runtime_of_parent(void *arg)
{
    wb_runtime *runtime = arg;
    char *list = NULL;
    bool refused = run_command(runtime) == WB_EMISUSE &&
                   wb_runtime_start(runtime, NULL) == WB_EMISUSE &&
                   wb_runtime_flush(runtime, NULL) == WB_EMISUSE &&
                   wb_tools_list(runtime, NULL, NULL, &list, NULL, NULL) == WB_EMISUSE &&
                   wb_dispatch(runtime, NULL, 0, 1, -1, NULL) == WB_EMISUSE;

    wb_runtime_free(runtime);
    return refused ? 0 : 1;
}

/* runtime.h: a forked child has no threads behind the runtime; it is told, or nothing is
 * done, and its parent goes on. */
static void a_forked_child_is_refused(void **state)
{
    struct workspace ws;
    wb_options *o = wb_options_new();
    wb_runtime *runtime;

    (void)state;
    ws_init(&ws);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, ws.root), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(run_command(runtime), WB_OK);
    assert_int_equal(in_child(use_runtime_of_parent, runtime), 0);
    assert_int_equal(run_command(runtime), WB_OK);
    wb_runtime_free(runtime);
    runtime = started_runtime();
    assert_int_equal(in_child(use_runtime_of_parent, runtime), 0);
    wb_runtime_free(runtime);
    ws_fini(&ws);
}

/* ---- looking ---- */

/* ledger.h: a ledger that is not there yet is empty, and is not made by looking at it; whoever
 * holds it sees the first call. */
static void looking_makes_no_state_directory(void **state)
{
    wb_options *o = wb_options_new();
    wb_ledger *ledger;
    wb_runtime *runtime;
    struct workspace ws;
    int64_t newest = -1;
    char *text;

    (void)state;
    ws_init(&ws);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, ws.root), WB_OK);
    assert_int_equal(wb_ledger_open(o, WB_LEDGER_READ, &ledger, NULL), WB_OK);
    assert_int_equal(wb_ledger_list(ledger, NULL, &text, NULL, NULL), WB_OK);
    assert_string_equal(text, "[]");
    wb_free(text);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    assert_int_equal(wb_artifact_list(runtime, &text, NULL, NULL), WB_OK);
    assert_string_equal(text, "[]");
    wb_free(text);
    assert_int_not_equal(access(ws.state, F_OK), 0);
    assert_int_equal(run_command(runtime), WB_OK);
    assert_int_equal(wb_ledger_newest(ledger, 0, &newest, NULL), WB_OK);
    assert_int_equal(newest, 2); /* intent and outcome */
    wb_runtime_free(runtime);
    wb_ledger_free(ledger);
    wb_options_free(o);
    ws_fini(&ws);
}

/* ---- misuse ---- */

/* An answer that nobody takes is misuse, not a crash; nor is anything done for it. */
static void a_missing_place_for_the_answer_is_told(void **state)
{
    int runs = 0;
    wb_runtime *runtime = counting_runtime(&runs);
    wb_error *error = NULL;
    int good;

    (void)state;
    assert_int_equal(wb_artifact_list(runtime, NULL, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_artifact_stats(runtime, NULL, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_artifact_prune(runtime, -1, NULL, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_artifact_verify(runtime, &good, NULL, NULL, &error), WB_EMISUSE);
    assert_string_equal(wb_error_text(error), "wb_artifact_verify: NULL");
    wb_error_free(error);
    assert_int_equal(wb_pins_list(runtime, NULL, NULL, NULL), WB_EMISUSE);
    assert_int_equal(wb_pins_diff(runtime, "a/b", NULL, NULL, NULL), WB_EMISUSE);
    wb_runtime_free(runtime);
}

/* What no header names is refused, though there would be room for it. */
static void values_that_are_not_named_are_told(void **state)
{
    wb_request *request = wb_request_new("probe");
    wb_options *options = wb_options_new();
    wb_ledger *ledger;

    (void)state;
    assert_int_equal(wb_options_set(options, (wb_option)(WB_OPT_INHERIT_STDIN + 1), "1"),
                     WB_EMISUSE);
    assert_int_equal(wb_request_set(request, (wb_field)(WB_FIELD_HEARTBEAT_MS + 1), "1"),
                     WB_EMISUSE);
    assert_int_equal(
        wb_ledger_open(options, (wb_ledger_mode)(WB_LEDGER_EXAMINE + 1), &ledger, NULL),
        WB_EMISUSE);
    wb_options_free(options);
    wb_request_free(request);
}

struct confused {
    wb_runtime *runtime;
    int runs, done;
};

/* Whatever would free the call that is on the stack, or wait for its end. */
static void misuse(struct confused *c)
{
    wb_runtime_run(c->runtime);
    wb_tasks_hold(c->runtime);
    wb_runtime_free(c->runtime);
}

static void misuse_and_finish(wb_tool_call *call, void *arg)
{
    misuse(arg);
    wb_tool_finish_json(call, "{}", 2);
}

static void misuse_when_done(wb_result *result, void *arg)
{
    struct confused *c = arg;

    assert_true(wb_result_ok(result));
    misuse(c);
    c->done++;
}

static void what_no_callback_may_do_is_not_done(void **state)
{
    struct confused c = {.done = 0};
    wb_request *request = wb_request_new("confused");

    (void)state;
    c.runtime = counting_runtime(&c.runs);
    assert_int_equal(wb_tool_register(c.runtime, "{\"name\":\"confused\"}", NULL, misuse_and_finish,
                                      NULL, &c, NULL),
                     WB_OK);
    assert_int_equal(wb_call_submit(c.runtime, request, misuse_when_done, &c, NULL), WB_OK);
    wb_runtime_run(c.runtime);
    assert_int_equal(c.done, 1);
    assert_int_equal(wb_runtime_start(c.runtime, NULL), WB_OK); /* and on a thread of its own */
    wb_request_free(request);
    wb_runtime_free(c.runtime);
}

/* ---- callbacks that call back ---- */

#define CHAIN_CALLS 100000 /* one inside the other they would need a stack of some 40 MB */

struct chain {
    wb_runtime *runtime;
    wb_request *request;
    int left, good;
};

static void submit_the_next(wb_result *result, void *arg)
{
    struct chain *c = arg;

    c->good += wb_result_ok(result);
    if (--c->left > 0)
        assert_int_equal(wb_call_submit(c->runtime, c->request, submit_the_next, c, NULL), WB_OK);
}

/* call.h: "maybe before this returns": whoever submits the next call when one is done needs
 * no stack for all of them, and the loop runs until the last is done. */
static void each_call_may_begin_the_next(void **state)
{
    struct chain c = {.left = CHAIN_CALLS};
    int runs = 0;

    (void)state;
    c.runtime = counting_runtime(&runs);
    c.request = wb_request_new("count");
    assert_int_equal(wb_call_submit(c.runtime, c.request, submit_the_next, &c, NULL), WB_OK);
    wb_runtime_run(c.runtime);
    assert_int_equal(c.good, CHAIN_CALLS);
    assert_int_equal(runs, CHAIN_CALLS);
    wb_request_free(c.request);
    wb_runtime_free(c.runtime);
}

struct meeting {
    wb_runtime *runtime;
    wb_tool_call *first, *second, *waiting;
    bool met;
};

static void leave_open(wb_tool_call *call, void *arg)
{
    *(wb_tool_call **)arg = call;
}

static void *finish_both(void *arg)
{
    struct meeting *m = arg;

    wb_tool_finish_text(m->first, "1", 1);
    wb_tool_finish_text(m->second, "2", 1);
    return NULL;
}

static void have_both_finished(wb_tool_call *call, void *arg)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, finish_both, arg), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    wb_tool_finish_text(call, "", 0);
}

static void wait_for_the_second(wb_result *result, void *arg)
{
    struct meeting *m = arg;
    wb_request *request = wb_request_new("waiting");
    wb_result *inner = NULL;

    (void)result;
    assert_int_equal(wb_call_run(m->runtime, request, &inner), WB_OK);
    m->met = wb_result_ok(inner);
    wb_result_free(inner);
    wb_request_free(request);
}

static void end_the_wait(wb_result *result, void *arg)
{
    (void)result;
    wb_tool_finish_text(((struct meeting *)arg)->waiting, "", 0);
}

static void nothing_more(wb_result *result, void *arg)
{
    (void)result;
    (void)arg;
}

static void submit(wb_runtime *runtime, const char *tool, wb_done_cb on_done, void *arg)
{
    wb_request *request = wb_request_new(tool);

    assert_int_equal(wb_call_submit(runtime, request, on_done, arg, NULL), WB_OK);
    wb_request_free(request);
}

/* call.h: a call that is run inside a callback gets what was on its way to the loop together
 * with what the callback is about. */
static void a_callback_may_wait_for_what_is_on_its_way(void **state)
{
    struct meeting m = {.met = false};
    int runs = 0;

    (void)state;
    m.runtime = counting_runtime(&runs);
    assert_int_equal(
        wb_tool_register(m.runtime, "{\"name\":\"first\"}", NULL, leave_open, NULL, &m.first, NULL),
        WB_OK);
    assert_int_equal(wb_tool_register(m.runtime, "{\"name\":\"second\"}", NULL, leave_open, NULL,
                                      &m.second, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(m.runtime, "{\"name\":\"waiting\"}", NULL, leave_open, NULL,
                                      &m.waiting, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(m.runtime, "{\"name\":\"both\"}", NULL, have_both_finished,
                                      NULL, &m, NULL),
                     WB_OK);
    submit(m.runtime, "first", wait_for_the_second, &m);
    submit(m.runtime, "second", end_the_wait, &m);
    submit(m.runtime, "both", nothing_more, NULL);
    wb_runtime_run(m.runtime);
    assert_true(m.met);
    wb_runtime_free(m.runtime);
}

/* ---- callbacks that end the call they are of ---- */

struct watched {
    wb_runtime *runtime;
    wb_call_id id;
    wb_tool_call *call;
    bool finishes; /* its tool is finished instead of cancelling it */
    int partials, last, done;
    wb_rc rc;    /* of a call that is run in between */
    size_t turn; /* of a turn in between: calls under way */
};

static void end_it_now(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_fail(call, "cancelled", "stopped", NULL);
}

static void *tell_more(void *arg)
{
    struct watched *w = arg;

    wb_tool_partial(w->call, "{\"n\":1}", 7);
    return NULL;
}

/* The partial comes from another thread, that the call may end beneath what brings it. */
static void tell_and_go_on(wb_tool_call *call, void *arg)
{
    struct watched *w = arg;
    pthread_t thread;

    w->call = call;
    assert_int_equal(pthread_create(&thread, NULL, tell_more, w), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void end_by_a_frame(const char *frame, size_t size, void *arg)
{
    struct watched *w = arg;
    wb_request *request = wb_request_new("count");
    wb_result *result;

    assert_int_equal(frame[size], '\0');
    assert_int_equal(w->last, 0); /* nothing behind the last one */
    w->last = strstr(frame, "\"event\":\"partial\"") == NULL;
    w->partials += !w->last;
    w->rc = wb_call_run(w->runtime, request, &result);
    w->turn = wb_runtime_turn(w->runtime, 1);
    wb_request_free(request);
    if (!w->last && w->finishes)
        wb_tool_finish_text(w->call, "", 0);
    else if (!w->last)
        wb_call_cancel(w->runtime, w->id);
}

static void see_the_end(wb_result *result, void *arg)
{
    struct watched *w = arg;

    assert_int_equal(w->last, 1); /* the last frame comes before the result */
    assert_int_equal(wb_result_ok(result), w->finishes);
    w->done++;
}

static void watch_one(bool finishes)
{
    struct watched w = {.finishes = finishes};
    wb_request *request = wb_request_new("told");
    int runs = 0;

    w.runtime = counting_runtime(&runs);
    assert_int_equal(wb_tool_register(w.runtime, "{\"name\":\"told\"}", NULL, tell_and_go_on,
                                      end_it_now, &w, NULL),
                     WB_OK);
    assert_int_equal(wb_request_set_frames(request, end_by_a_frame, &w), WB_OK);
    assert_int_equal(wb_call_submit(w.runtime, request, see_the_end, &w, &w.id), WB_OK);
    wb_runtime_run(w.runtime);
    assert_int_equal(w.partials, 1);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.rc, WB_EMISUSE); /* call.h: the loop may not be run there */
    assert_true(w.turn <= 1);
    assert_int_equal(runs, 0);
    wb_request_free(request);
    wb_runtime_free(w.runtime);
}

/* call.h: a call may be cancelled by whoever gets its frames. C8.9: exactly one last frame. */
static void a_frame_may_end_its_call(void **state)
{
    (void)state;
    watch_one(/* finishes= */ false);
    watch_one(/* finishes= */ true);
}

struct waiting {
    wb_runtime *runtime;
    wb_call_id id;
    int beats, last, done;
};

static void cancel_by_a_beat(const char *frame, size_t size, void *arg)
{
    struct waiting *w = arg;

    (void)size;
    w->beats += strstr(frame, "\"event\":\"heartbeat\"") != NULL;
    w->last += strstr(frame, "\"event\":\"error\"") != NULL;
    if (w->last == 0)
        wb_call_cancel(w->runtime, w->id);
}

static void count_the_end(wb_result *result, void *arg)
{
    struct waiting *w = arg;

    assert_string_equal(wb_result_kind(result), "cancelled");
    assert_int_equal(w->last, 1);
    w->done++;
}

/* One that has not begun ends at once when it is cancelled, beneath its own heartbeat. */
static void a_heartbeat_may_cancel_a_call_that_waits(void **state)
{
    struct waiting w = {.done = 0};
    wb_request *request = wb_request_new("held");
    wb_tool_call *held = NULL;
    struct workspace ws;
    wb_options *o = wb_options_new();
    char path[160];

    (void)state;
    ws_init(&ws);
    snprintf(path, sizeof(path), "%s/limit.json", ws.root);
    ws_write(path, "{\"policies\":{\"environment\":{\"concurrency\":{\"limit\":1}}}}");
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, ws.root), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_LEDGER, "0"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &w.runtime, NULL), WB_OK);
    assert_int_equal(wb_tool_register(w.runtime, "{\"name\":\"held\",\"parallel\":true}", NULL,
                                      leave_open, NULL, &held, NULL),
                     WB_OK);
    submit(w.runtime, "held", nothing_more, NULL);
    assert_int_equal(wb_request_set(request, WB_FIELD_HEARTBEAT_MS, "1"), WB_OK);
    assert_int_equal(wb_request_set_frames(request, cancel_by_a_beat, &w), WB_OK);
    assert_int_equal(wb_call_submit(w.runtime, request, count_the_end, &w, &w.id), WB_OK);
    while (w.done == 0)
        (void)wb_runtime_turn(w.runtime, 1);
    assert_int_equal(w.beats, 1);
    wb_tool_finish_text(held, "", 0);
    wb_runtime_run(w.runtime);
    wb_request_free(request);
    wb_runtime_free(w.runtime);
    wb_options_free(o);
    ws_fini(&ws);
}

/* dispatch.h: stop is for cancelling; where it could not be heard, nothing begins. */
static void a_stop_that_cannot_be_watched_is_told(void **state)
{
    int runs = 0;
    wb_runtime *runtime = counting_runtime(&runs);
    wb_error *error = NULL;
    int in[2], out[2];

    (void)state;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    close(in[1]);
    assert_int_equal(wb_dispatch(runtime, NULL, in[0], out[1], in[1], &error), WB_EIO);
    assert_string_equal(wb_error_text(error), "the streams cannot be watched");
    wb_error_free(error);
    close(in[0]);
    close(out[0]);
    close(out[1]);
    wb_runtime_free(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dispatch_goes_on_without_a_reader),
        cmocka_unit_test(serving_ends_without_a_reader),
        cmocka_unit_test(serving_goes_on_without_a_reader_of_its_access_log),
        cmocka_unit_test(a_locale_of_the_host_changes_nothing),
        cmocka_unit_test(kept_results_are_freed_on_any_thread),
        cmocka_unit_test(tools_are_listed_from_any_thread),
        cmocka_unit_test(tools_of_servers_are_listed_from_any_thread),
        cmocka_unit_test(a_host_without_standard_descriptors_is_told),
        cmocka_unit_test(a_forked_child_is_refused),
        cmocka_unit_test(looking_makes_no_state_directory),
        cmocka_unit_test(a_missing_place_for_the_answer_is_told),
        cmocka_unit_test(values_that_are_not_named_are_told),
        cmocka_unit_test(what_no_callback_may_do_is_not_done),
        cmocka_unit_test(each_call_may_begin_the_next),
        cmocka_unit_test(a_callback_may_wait_for_what_is_on_its_way),
        cmocka_unit_test(a_frame_may_end_its_call),
        cmocka_unit_test(a_heartbeat_may_cancel_a_call_that_waits),
        cmocka_unit_test(a_stop_that_cannot_be_watched_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
