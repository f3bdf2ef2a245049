/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_call.c: `waybill call`. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct {
    const char *name;
    wb_view view;
} views[] = {
    {"receipt", WB_VIEW_RECEIPT},   {"canonical", WB_VIEW_CANONICAL}, {"result", WB_VIEW_RESULT},
    {"envelope", WB_VIEW_ENVELOPE}, {"record", WB_VIEW_RECORD},
};

bool view_by_name(const struct args *a, wb_view *ret)
{
    const char *name = args_get(a, "--view");

    *ret = a->json ? WB_VIEW_CANONICAL : WB_VIEW_RECEIPT;
    if (name == NULL)
        return true;
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        if (strcmp(views[i].name, name) == 0) {
            *ret = views[i].view;
            return true;
        }
    }
    (void)usage_error(
        a, "--view must be receipt, canonical, result, envelope or record; got \"%s\"", name);
    return false;
}

/* "+1500" is that many milliseconds from now. */
static bool relative_deadline(const char *text, char *out, size_t size)
{
    struct timespec now;
    struct tm utc;
    long long ms;
    char *end;
    size_t n;

    ms = strtoll(text + 1, &end, 10);
    if (!isdigit((unsigned char)text[1]) || *end != '\0' || ms > 86400000LL * 366)
        return false;
    clock_gettime(CLOCK_REALTIME, &now);
    ms += (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    now.tv_sec = (time_t)(ms / 1000);
    gmtime_r(&now.tv_sec, &utc);
    n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(out + n, size - n, ".%03lldZ", ms % 1000);
    return true;
}

static bool set_deadline(const struct args *a, wb_request *request)
{
    const char *text = args_get(a, "--deadline");
    char absolute[64];
    bool good;

    if (text == NULL)
        return true;
    good = text[0] == '+' ? relative_deadline(text, absolute, sizeof(absolute))
                          : wb_time_check(text) == WB_OK;
    if (!good) {
        (void)usage_error(a,
                          "--deadline must be an RFC 3339 time such as 2026-11-15T06:18:00Z, or "
                          "+MILLISECONDS of at most a year; got \"%s\"",
                          text);
        return false;
    }
    return wb_request_set(request, WB_FIELD_DEADLINE, text[0] == '+' ? absolute : text) == WB_OK;
}

/* Whether the i-th KEY=VALUE is one, and its key is that of none before. */
static bool check_pair(const struct args *a, const char *option, size_t i)
{
    const char *pair = args_nth(a, option, i), *equals = strchr(pair, '=');
    size_t n = equals ? (size_t)(equals - pair) : 0;

    if (n == 0) {
        (void)usage_error(a, "%s must be KEY=VALUE; got \"%s\"", option, pair);
        return false;
    }
    while (i-- > 0)
        if (strncmp(args_nth(a, option, i), pair, n + 1) == 0) {
            (void)usage_error(a, "%s names \"%.*s\" twice", option, (int)n, pair);
            return false;
        }
    return true;
}

/* KEY=VALUE options as one JSON object. NULL text when none was given. */
static bool set_pairs(const struct args *a, const char *option, wb_request *request, wb_field field)
{
    char *text = NULL;
    size_t size;
    FILE *out;
    bool ok = true;

    if (!args_has(a, option))
        return true;
    out = open_memstream(&text, &size);
    if (out == NULL)
        return false;
    fputc('{', out);
    for (size_t i = 0; args_nth(a, option, i) != NULL; i++) {
        const char *pair = args_nth(a, option, i), *equals = strchr(pair, '=');
        ok = check_pair(a, option, i);
        if (!ok)
            break;
        if (i > 0)
            fputc(',', out);
        put_quoted(out, pair, (size_t)(equals - pair));
        fputc(':', out);
        put_quoted(out, equals + 1, strlen(equals + 1));
    }
    fputc('}', out);
    ok = fclose(out) == 0 && ok && wb_request_set(request, field, text) == WB_OK;
    free(text);
    return ok;
}

static bool set_input(const struct args *a, wb_request *request)
{
    const char *value = args_get(a, "--input");
    size_t size;
    char *text;
    bool ok;

    if (value == NULL)
        return true;
    text = read_value(a, value, &size);
    if (text == NULL)
        return false;
    ok = strlen(text) == size; /* a NUL byte is no JSON */
    if (!ok)
        (void)usage_error(a, "the input has a NUL byte; it must be JSON text");
    ok = ok && wb_request_set(request, WB_FIELD_INPUT, text) == WB_OK;
    free(text);
    return ok;
}

static bool check_heartbeat(const struct args *a)
{
    long long number;

    if (args_has(a, "--heartbeat-ms") && !args_has(a, "--stream")) {
        (void)usage_error(a, "--heartbeat-ms says how often --stream sends a heartbeat; give "
                             "--stream, too, or leave it out");
        return false;
    }
    return args_number(a, "--heartbeat-ms", 0, INT_MAX, &number);
}

static bool fill(const struct args *a, wb_request *request)
{
    static const struct {
        const char *option;
        wb_field field;
    } plain[] = {
        {"--call-id", WB_FIELD_CALL_ID},
        {"--tool-version", WB_FIELD_VERSION_RANGE},
        {"--idempotency-key", WB_FIELD_IDEMPOTENCY_KEY},
        {"--correlation-id", WB_FIELD_CORRELATION_ID},
        {"--causation-id", WB_FIELD_CAUSATION_ID},
        {"--max-tokens", WB_FIELD_MAX_TOKENS},
        {"--traceparent", WB_FIELD_TRACEPARENT},
        {"--heartbeat-ms", WB_FIELD_HEARTBEAT_MS},
    };
    long long number;

    if (!args_number(a, "--max-tokens", 0, 1000000000, &number) || !check_heartbeat(a))
        return false;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (wb_request_set(request, plain[i].field, args_get(a, plain[i].option)) != WB_OK)
            return false;
    return set_input(a, request) && set_deadline(a, request) &&
           set_pairs(a, "--header", request, WB_FIELD_HEADERS) &&
           set_pairs(a, "--meta", request, WB_FIELD_METADATA);
}

int print_result(const struct args *a, wb_result *result, wb_view view)
{
    size_t n;
    const char *text = wb_result_view(result, view, &n);

    if (text == NULL) {
        (void)usage_error(a, "out of memory");
        return EXIT_INTERNAL;
    }
    (void)put_line(text, n); /* finish_output tells */
    return wb_result_exit_code(result);
}

static void show_frame(const char *frame, size_t size, void *arg)
{
    (void)arg;
    (void)put_line(frame, size); /* finish_output tells */
    (void)flush_output();        /* whoever asked for frames wants them now */
}

/* A call under way on the runtime's thread. */
struct asked {
    const struct args *a;
    wb_view view;
    int code;
    bool promoted;
    int done; /* readable when there is an answer */
};

static bool is_promoted(wb_result *result)
{
    size_t n = 0, got;
    const char *json = wb_result_view(result, WB_VIEW_CANONICAL, &n);
    char *text;
    bool is;

    if (json == NULL || wb_json_pointer(json, n, "/result/disposition", &text, &got, NULL) != WB_OK)
        return false;
    is = strcmp(text, "promoted_to_task") == 0;
    wb_free(text);
    return is;
}

static void on_done(wb_result *result, void *arg)
{
    struct asked *q = arg;

    if (result != NULL) {
        q->code = print_result(q->a, result, q->view);
        q->promoted = is_promoted(result);
    } else {
        (void)usage_error(q->a, "the call could not be started");
    }
    (void)eventfd_write(q->done, 1); /* cannot fail: it is the first */
}

/* The first signal cancels, so that the outcome is known; the next one ends us. */
static void await(struct asked *q, wb_runtime *runtime, wb_call_id id, int signals)
{
    struct pollfd on[2] = {{.fd = q->done, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;
    bool cancelled = false;
    eventfd_t ended;

    while ((on[0].revents & POLLIN) == 0) {
        if (poll(on, 2, -1) <= 0 || read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
            continue;
        if (cancelled)
            _exit(128 + (int)info.ssi_signo);
        cancelled = true;
        wb_call_cancel(runtime, id);
    }
    (void)eventfd_read(q->done, &ended); /* from here on what on_done wrote is ours to read */
}

/* Run and print. */
static void answer(struct asked *q, wb_runtime *runtime, wb_request *request, int signals)
{
    wb_error *error = NULL;
    wb_call_id id;
    wb_rc rc;

    q->code = EXIT_INTERNAL;
    q->done = eventfd(0, EFD_CLOEXEC);
    if (q->done < 0 || signals < 0) {
        (void)usage_error(q->a, "%s", strerror(errno));
        return;
    }
    if (wb_runtime_start(runtime, &error) != WB_OK) {
        (void)fail(q->a, NULL, error);
        return;
    }
    rc = wb_call_submit(runtime, request, on_done, q, &id);
    if (rc == WB_OK)
        await(q, runtime, id, signals);
    else
        (void)usage_error(q->a, "the call could not be started (%s)", wb_rc_name(rc));
}

static bool is_builtin(const char *given, const char *name)
{
    return strcmp(strncmp(given, "local::", 7) == 0 ? given + 7 : given, name) == 0;
}

static int call(const struct args *a, wb_request *request, wb_view view)
{
    struct asked q = {.a = a, .view = view};
    int signals = signal_descriptor(SIGINT, SIGTERM);
    wb_runtime *runtime = open_runtime(a, &q.code);

    if (runtime == NULL)
        return q.code;
    tell_notices(a, runtime);
    answer(&q, runtime, request, signals);
    close_runtime(a, runtime);
    if (q.code == EXIT_OK && is_builtin(a->words[0], "EnterWorkspace"))
        note(a, "this call is a conversation of its own, so no later one works there; lines of "
                "`waybill dispatch` that name a conversationId do");
    return q.code;
}

/* ---- commands: what becomes a task goes on when we are gone ---- */

static bool may_become_a_task(const char *tool)
{
    return is_builtin(tool, "ExecCommand") || is_builtin(tool, "local_shell");
}

/* The process that runs the call. It tells its exit code by fd, and stays while
 * there is a task. */
static int call_and_stay(const struct args *a, wb_request *request, wb_view view, int fd,
                         int signals)
{
    struct asked q = {.a = a, .view = view};
    wb_runtime *runtime;

    (void)setsid(); /* a terminal's signals are for our parent, who passes them on */
    runtime = open_runtime(a, &q.code);
    if (runtime == NULL)
        return q.code;
    answer(&q, runtime, request, signals);
    if (q.promoted) {
        q.code = finish_output(q.code);
        (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
        if (write(fd, &q.code, sizeof(q.code)) == (ssize_t)sizeof(q.code)) {
            (void)close(fd);
            let_go(/* input= */ true);
            signals_as_usual();
            wb_tasks_hold(runtime);
        }
    }
    close_runtime(a, runtime);
    return finish_output(q.code);
}

/* Until the child has told its exit code or ended: the first signal is passed on, the
 * next one ends it and us. */
static void await_child(pid_t pid, int fd, int signals)
{
    struct pollfd on[2] = {{.fd = fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;
    bool asked = false;

    while (on[0].revents == 0) {
        if (poll(on, 2, -1) <= 0 || read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
            continue;
        (void)kill(pid, asked ? SIGKILL : SIGTERM);
        if (asked)
            _exit(128 + (int)info.ssi_signo);
        asked = true;
    }
}

static int call_apart(const struct args *a, wb_request *request, wb_view view)
{
    int fds[2], code = EXIT_INTERNAL, status, signals = signal_descriptor(SIGINT, SIGTERM);
    pid_t self = getpid(), pid;

    if (signals < 0 || pipe2(fds, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
        (void)usage_error(a, "cannot start the process that runs the call: %s", strerror(errno));
        return EXIT_INTERNAL;
    }
    if (pid == 0) {
        (void)close(fds[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        _exit(getppid() == self ? call_and_stay(a, request, view, fds[1], signals) : EXIT_INTERNAL);
    }
    (void)close(fds[1]);
    await_child(pid, fds[0], signals);
    if (read(fds[0], &code, sizeof(code)) == (ssize_t)sizeof(code))
        return code;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_INTERNAL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(const struct args *a)
{
    wb_request *request;
    wb_view view;
    int code = EXIT_USAGE;

    if (!view_by_name(a, &view))
        return EXIT_USAGE;
    request = wb_request_new(a->words[0]);
    if (request == NULL)
        return EXIT_INTERNAL;
    if (args_has(a, "--stream") && wb_request_set_frames(request, show_frame, NULL) != WB_OK)
        return EXIT_INTERNAL;
    if (fill(a, request))
        code =
            may_become_a_task(a->words[0]) ? call_apart(a, request, view) : call(a, request, view);
    wb_request_free(request);
    return code;
}

static const struct option_spec options[] = {
    {"--input", "JSON|@FILE|-", "the input; {} without it"},
    {"--view", "VIEW", "receipt, canonical, result, envelope or record"},
    {"--call-id", "ID", "the caller's id of the call"},
    {"--tool-version", "RANGE", "the highest version in this range (npm's meaning)"},
    {"--deadline", "TIME|+MS", "over by then: RFC 3339, or milliseconds from now"},
    {"--idempotency-key", "KEY", "a repeat with the key gets the first outcome"},
    {"--correlation-id", "ID", "told in all that belongs to the call"},
    {"--causation-id", "ID", "the call that led to this one"},
    {"--header", "KEY=VALUE", "a header of the call; no secrets", true},
    {"--meta", "KEY=VALUE", "metadata, kept in the record", true},
    {"--max-tokens", "N", "a smaller budget for the receipt"},
    {"--traceparent", "TRACE", "W3C trace context"},
    {"--stream", NULL, "frames first, while the tool runs"},
    {"--heartbeat-ms", "N", "with --stream: a heartbeat so often, 0 never"},
    {NULL},
};

static const struct form forms[] = {
    {"NAME", "`waybill tools list` shows them"},
    {NULL, NULL},
};

const struct command command_call = {
    "call",
    "Call a tool and print what came of it.",
    "NAME [--input JSON|@FILE|-] [--view receipt|canonical|result|envelope|record] …",
    "NAME is a model name (ExecCommand) or a qualified one (local::fs.write). The view\n"
    "`receipt` is the text a model reads, `canonical` the runtime's record of the result,\n"
    "`result` the invocation's Result, `envelope` a root with \"__envelope\", `record` all\n"
    "that was written down. With --stream, frames come first, one JSON line each, while\n"
    "the tool runs; the last of them is \"completed\" or \"error\". A command that\n"
    "became a task goes on when this is over: `waybill tasks` reaches it. SIGINT or SIGTERM\n"
    "cancels the call, a second one ends it. Exit 0: the call succeeded; 1: it ended in an\n"
    "error; 2: there was none, an option is wrong.\n"
    "\nexamples:\n"
    "  waybill call weather --input '{\"city\": \"Bern\"}'\n"
    "  waybill call weather --input @request.json --view result\n"
    "  waybill call weather --deadline +2000 --meta run=17\n",
    options,
    forms,
    run,
};
