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

#include "support/counting.h"
#include "waybill/waybill.h"
#include "workspace.h"

/* ---- other threads ---- */

static void count_good(wb_result *result, void *arg)
{
    *(int *)arg += wb_result_ok(result);
}

struct submitter {
    wb_runtime *runtime;
    int good;
};

static void *submit_one(void *arg)
{
    struct submitter *s = arg;
    wb_request *request = wb_request_new("count");

    assert_int_equal(wb_call_submit(s->runtime, request, count_good, &s->good, NULL), WB_OK);
    wb_request_free(request);
    return NULL;
}

/* call.h: "any thread": also where nothing else is under way and keeps the loop awake. */
static void calls_of_other_threads_are_under_way(void **state)
{
    int runs = 0;
    struct submitter s = {.runtime = counting_runtime(&runs)};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, submit_one, &s), 0);
    pthread_join(thread, NULL);
    wb_runtime_run(s.runtime);
    assert_int_equal(s.good, 1);
    assert_int_equal(pthread_create(&thread, NULL, submit_one, &s), 0);
    pthread_join(thread, NULL);
    assert_int_equal(wb_runtime_turn(s.runtime, 0), 0);
    assert_int_equal(s.good, 2);
    wb_runtime_free(s.runtime);
}

/* ---- a socket for both ways ---- */

#define LINES 3000 /* more than a socket takes, and so are their answers */

/* Says all it has to say before it listens; returns how many lines it was answered. */
static void *talk_first(void *arg)
{
    int fd = *(int *)arg;
    char line[300], buf[65536];
    intptr_t lines = 0;
    ssize_t n;

    for (int i = 0; i < LINES; i++) {
        int size = snprintf(line, sizeof(line),
                            "{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"count\","
                            "\"arguments\":\"{\\\"n\\\":\\\"%0200d\\\"}\"}\n",
                            i, i);
        assert_int_equal(write(fd, line, (size_t)size), size);
    }
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    while ((n = read(fd, buf, sizeof(buf))) > 0)
        for (ssize_t i = 0; i < n; i++)
            lines += buf[i] == '\n';
    return (void *)lines;
}

/* Answers that the socket does not take yet keep nobody from reading on. */
static void one_socket_may_be_in_and_out(void **state)
{
    int runs = 0, s[2];
    wb_runtime *runtime = counting_runtime(&runs);
    pthread_t peer;
    void *lines;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
    assert_int_equal(pthread_create(&peer, NULL, talk_first, &s[1]), 0);
    assert_int_equal(wb_dispatch(runtime, NULL, s[0], s[0], -1, NULL), WB_OK);
    close(s[0]);
    pthread_join(peer, &lines);
    assert_int_equal((intptr_t)lines, LINES);
    assert_int_equal(runs, LINES);
    close(s[1]);
    wb_runtime_free(runtime);
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
    assert_int_equal(write(v->stop, "", 1), 1);
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
    assert_int_equal(write(r->v.stop, "", 1), 1);
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

/* Nor is a list with holes taken for one with less, or with nulls. */
static void holes_in_lists_are_told(void **state)
{
    static const char *const holes[] = {"a=b", NULL};
    char *text = NULL;

    (void)state;
    assert_int_equal(wb_envelope_apply(WB_ENVELOPE_CREATE,
                                       &(wb_envelope){.tags = holes, .tag_count = 2}, NULL, 0,
                                       &text, NULL, NULL),
                     WB_EMISUSE);
    assert_int_equal(wb_envelope_apply(WB_ENVELOPE_CREATE,
                                       &(wb_envelope){.compat = holes, .compat_count = 2}, NULL, 0,
                                       &text, NULL, NULL),
                     WB_EMISUSE);
    assert_null(text);
}

struct confused {
    wb_runtime *runtime;
    int runs, done;
};

/* Whatever would free the call that is on the stack, wait for its end, or drive the loop that
 * this thread is driving. */
static void misuse(struct confused *c)
{
    assert_int_equal(wb_runtime_start(c->runtime, NULL), WB_EMISUSE);
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
        cmocka_unit_test(calls_of_other_threads_are_under_way),
        cmocka_unit_test(one_socket_may_be_in_and_out),
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
        cmocka_unit_test(holes_in_lists_are_told),
        cmocka_unit_test(what_no_callback_may_do_is_not_done),
        cmocka_unit_test(a_stop_that_cannot_be_watched_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
