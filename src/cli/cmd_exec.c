/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_exec.c: `waybill exec` (I2, I3). A front end that shows and a runtime
 * that runs, joined by a socket: a thread of this process, or, when the command
 * may become a task that outlives us, a process of its own that holds it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- messages from the runtime to the front end ---- */

enum { FRAME_OUTPUT = 'o', FRAME_NOTE = 'n', FRAME_RESULT = 'r' };

struct frame {
    char kind;
    int code; /* of FRAME_RESULT: the exit code */
    int held; /* of FRAME_RESULT: the command goes on as a task */
    size_t size;
};

static bool send_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t n = recv(fd, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* ---- the request ---- */

/* The input of ExecCommand; free() it. */
static char *make_input(const struct args *a, long long timeout, long long yield, long long tokens)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    fputs("{\"cmd\":[", out);
    for (size_t i = 0; i < a->rest_count; i++) {
        fputs(i > 0 ? "," : "", out);
        put_quoted(out, a->rest[i], strlen(a->rest[i]));
    }
    fputc(']', out);
    if (args_has(a, "--workdir")) {
        fputs(",\"workdir\":", out);
        put_quoted(out, args_get(a, "--workdir"), strlen(args_get(a, "--workdir")));
    }
    if (timeout > 0)
        fprintf(out, ",\"timeout_ms\":%lld", timeout);
    if (yield >= 0)
        fprintf(out, ",\"yield_time_ms\":%lld", yield);
    if (tokens >= 0)
        fprintf(out, ",\"max_output_tokens\":%lld", tokens);
    if (args_has(a, "--tty"))
        fputs(",\"tty\":true", out);
    if (args_has(a, "--tty") && yield < 0)
        fputs(",\"accepts_input\":false", out); /* it becomes no task that one could write to */
    fputc('}', out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- the exit code (I2) ---- */

static bool member(const char *json, size_t n, const char *pointer, char *out, size_t size)
{
    char *text;
    size_t got;

    if (wb_json_pointer(json, n, pointer, &text, &got, NULL) != WB_OK)
        return false;
    (void)snprintf(out, size, "%s", text);
    wb_free(text);
    return true;
}

static int number(const char *json, size_t n, const char *pointer, int otherwise)
{
    char text[32];

    if (!member(json, n, pointer, text, sizeof(text)) || strcmp(text, "null") == 0)
        return otherwise;
    return (int)strtol(text, NULL, 10);
}

static int exit_code(wb_result *result, int *ret_held)
{
    char text[64];
    size_t n = 0;
    const char *json = wb_result_view(result, WB_VIEW_CANONICAL, &n);
    int signal;

    *ret_held = 0;
    if (json == NULL)
        return EXIT_OWN_FAILURE;
    if (!wb_result_ok(result))
        return number(json, n, "/error/details/exit_code", EXIT_OWN_FAILURE);
    if (member(json, n, "/result/disposition", text, sizeof(text)) &&
        strcmp(text, "completed") != 0) {
        *ret_held = strcmp(text, "promoted_to_task") == 0;
        return EXIT_PROMOTED;
    }
    if (member(json, n, "/result/timed_out", text, sizeof(text)))
        return EXIT_TIMED_OUT;
    signal = number(json, n, "/result/signal", 0);
    return signal > 0 ? 128 + signal : number(json, n, "/result/exit_status", EXIT_OWN_FAILURE);
}

/* ---- the runtime's side ---- */

struct work {
    const struct args *a;
    wb_view view;
    wb_request *request;
    wb_runtime *runtime;
    wb_call_id id;
    int fd; /* to the front end */
    int held;
};

static void on_output(const char *stream, const char *bytes, size_t size, void *arg)
{
    struct work *w = arg;
    struct frame f = {.kind = FRAME_OUTPUT, .size = size};

    (void)stream;
    if (send_all(w->fd, &f, sizeof(f)))
        (void)send_all(w->fd, bytes, size); /* nobody looks any more */
}

static void on_approval(const char *approval, size_t size, void *arg)
{
    struct work *w = arg;
    char *text = approval_text(approval, size);
    struct frame f = {.kind = FRAME_NOTE, .size = text != NULL ? strlen(text) : 0};

    if (text != NULL && send_all(w->fd, &f, sizeof(f)))
        (void)send_all(w->fd, text, f.size); /* nobody looks any more */
    free(text);
}

static void on_done(wb_result *result, void *arg)
{
    struct work *w = arg;
    struct frame f = {.kind = FRAME_RESULT, .code = EXIT_OWN_FAILURE};
    const char *text = NULL;

    if (result != NULL) {
        f.code = exit_code(result, &f.held);
        text = wb_result_view(result, w->view, &f.size);
    }
    w->held = f.held;
    if (send_all(w->fd, &f, sizeof(f)) && text != NULL)
        (void)send_all(w->fd, text, f.size);
    (void)shutdown(w->fd, SHUT_WR);
}

static bool open_work(struct work *w)
{
    wb_options *o = runtime_options(w->a);
    wb_error *error = NULL;
    bool ok = o != NULL && wb_options_set(o, WB_OPT_DIRECT, "1") == WB_OK;

    if (ok && !args_has(w->a, "--clean-env"))
        ok = wb_options_set(o, WB_OPT_INHERIT_ENV, "1") == WB_OK;
    if (ok && args_has(w->a, "--stdin"))
        ok = wb_options_set(o, WB_OPT_INHERIT_STDIN, "1") == WB_OK;
    if (ok && wb_runtime_new(o, &w->runtime, &error) != WB_OK) {
        (void)fail(w->a, NULL, error);
        ok = false;
    }
    if (ok)
        wb_runtime_on_approval(w->runtime, on_approval, w);
    wb_options_free(o);
    return ok;
}

static bool start_work(struct work *w)
{
    wb_error *error = NULL;

    if (args_has(w->a, "--live") && wb_request_on_output(w->request, on_output, w) != WB_OK)
        return false;
    if (wb_runtime_start(w->runtime, &error) != WB_OK) {
        (void)fail(w->a, NULL, error);
        return false;
    }
    return wb_call_submit(w->runtime, w->request, on_done, w, &w->id) == WB_OK;
}

/* ---- the front end's side ---- */

struct front {
    const struct args *a;
    int fd;
    int signals;
    void (*cancel)(struct front *f);
    struct work *work;
    int signalled; /* the signal we were asked to end by */
    long long signalled_at;
    bool progress, at_line_start, drawn;
    unsigned long long bytes;
    time_t started;
};

static void erase_progress(struct front *f)
{
    if (f->drawn)
        fputs("\r\033[K", stderr);
    f->drawn = false;
}

/* A line about what goes on, on a terminal, between lines of output. */
static void draw_progress(struct front *f)
{
    if (!f->progress || !f->at_line_start)
        return;
    fprintf(stderr, "\r\033[K[%lld s, %llu bytes]", (long long)(time(NULL) - f->started), f->bytes);
    fflush(stderr);
    f->drawn = true;
}

static bool show_output(struct front *f, size_t size)
{
    char bytes[16384];

    erase_progress(f);
    while (size > 0) {
        size_t n = size < sizeof(bytes) ? size : sizeof(bytes);
        if (!receive_all(f->fd, bytes, n))
            return false;
        (void)fwrite(bytes, 1, n, stderr);
        f->at_line_start = bytes[n - 1] == '\n';
        f->bytes += n;
        size -= n;
    }
    fflush(stderr);
    return true;
}

static bool show_note(struct front *f, size_t size)
{
    char *text = malloc(size + 1);
    bool ok = text != NULL && receive_all(f->fd, text, size);

    erase_progress(f);
    if (ok)
        note(f->a, "%.*s", (int)size, text);
    free(text);
    return ok;
}

static int show_result(struct front *f, const struct frame *r)
{
    char *text = malloc(r->size + 1);
    bool ok;

    erase_progress(f); /* the receipt may go to the same terminal */
    ok = text != NULL && receive_all(f->fd, text, r->size);
    if (!ok)
        (void)usage_error(f->a, "the receipt did not arrive; `waybill ledger list` shows the call");
    else /* finish_output tells */
        ok = (put_line(text, r->size) && flush_output()) || reader_gone();
    free(text);
    if (!ok)
        return EXIT_OWN_FAILURE;
    return f->signalled != 0 && !r->held ? 128 + f->signalled : r->code;
}

/* False at the end; then *ret_code is set. */
static bool take_frame(struct front *f, int *ret_code)
{
    struct frame r;

    if (!receive_all(f->fd, &r, sizeof(r))) {
        (void)usage_error(f->a, "the runtime ended without an answer");
        *ret_code = EXIT_OWN_FAILURE;
        return false;
    }
    if (r.kind == FRAME_OUTPUT)
        return show_output(f, r.size);
    if (r.kind == FRAME_NOTE)
        return show_note(f, r.size);
    *ret_code = show_result(f, &r);
    return false;
}

/* timeout(1) and others signal a process and then its group: one wish, heard twice. */
#define SAME_WISH_MS 500

static long long now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void take_signal(struct front *f)
{
    struct signalfd_siginfo info;

    if (read(f->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    if (f->signalled != 0 && now_ms() - f->signalled_at < SAME_WISH_MS)
        return;
    if (f->signalled != 0)
        _exit(128 + (int)info.ssi_signo); /* asked twice; the holder ends the command */
    f->signalled = (int)info.ssi_signo;
    f->signalled_at = now_ms();
    f->cancel(f);
}

static int look(struct front *f)
{
    struct pollfd on[2] = {{.fd = f->fd, .events = POLLIN}, {.fd = f->signals, .events = POLLIN}};
    int code = EXIT_OWN_FAILURE;

    f->at_line_start = true;
    f->started = time(NULL);
    f->progress =
        args_has(f->a, "--live") && !f->a->quiet && isatty(STDERR_FILENO) && !dumb_terminal();
    for (;;) {
        int n = poll(on, 2, f->progress ? 1000 : -1);
        if (n == 0)
            draw_progress(f);
        if (n > 0 && (on[1].revents & POLLIN) != 0)
            take_signal(f);
        if (n > 0 && on[0].revents != 0 && !take_frame(f, &code))
            return code;
    }
}

/* ---- here: a thread of this process ---- */

static void cancel_here(struct front *f)
{
    wb_call_cancel(f->work->runtime, f->work->id);
}

static int run_here(struct work *w, int fds[2], int signals)
{
    struct front f = {
        .a = w->a, .fd = fds[0], .signals = signals, .cancel = cancel_here, .work = w};
    int code = EXIT_OWN_FAILURE;

    w->fd = fds[1];
    if (open_work(w) && start_work(w))
        code = look(&f);
    close_runtime(w->a, w->runtime);
    return code;
}

/* ---- held: a process of its own ---- */

static void cancel_held(struct front *f)
{
    (void)send_all(f->fd, "c", 1); /* it has ended if this fails */
}

/* Until the answer is given: a byte, or the end of the front end, cancels. */
static void watch_front(struct work *w)
{
    struct pollfd on = {.fd = w->fd, .events = POLLIN};
    char byte;

    while (poll(&on, 1, -1) < 0 && errno == EINTR)
        continue;
    if (recv(w->fd, &byte, 1, 0) <= 0 && w->held)
        return;
    wb_call_cancel(w->runtime, w->id);
    while (recv(w->fd, &byte, 1, 0) < 0 && errno == EINTR)
        continue;
}

static int hold(struct work *w)
{
    (void)setsid(); /* cannot fail in a fresh child */
    if (!open_work(w))
        return EXIT_OWN_FAILURE;
    let_go(!args_has(w->a, "--stdin"));
    if (!start_work(w)) {
        wb_runtime_free(w->runtime);
        return EXIT_OWN_FAILURE;
    }
    watch_front(w);
    let_go(true);
    wb_tasks_hold(w->runtime);
    wb_runtime_free(w->runtime);
    return 0;
}

static int run_held(struct work *w, int fds[2], int signals, const sigset_t *before)
{
    struct front f = {.a = w->a, .fd = fds[0], .signals = signals, .cancel = cancel_held};
    pid_t pid = fork();

    if (pid < 0) {
        (void)usage_error(w->a, "cannot start the process that holds the command: %s",
                          strerror(errno));
        return EXIT_OWN_FAILURE;
    }
    if (pid == 0) {
        (void)sigprocmask(SIG_SETMASK, before, NULL);
        (void)close(fds[0]);
        (void)close(signals);
        w->fd = fds[1];
        _exit(hold(w));
    }
    (void)close(fds[1]);
    fds[1] = -1;
    return look(&f);
}

/* ---- the command ---- */

static int run_request(struct work *w, bool held)
{
    sigset_t ends, before;
    int fds[2], signals, code;

    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ends, &before);
    signals = signalfd(-1, &ends, SFD_CLOEXEC);
    if (signals < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        (void)usage_error(w->a, "%s", strerror(errno));
        return EXIT_OWN_FAILURE;
    }
    code = held ? run_held(w, fds, signals, &before) : run_here(w, fds, signals);
    (void)close(fds[0]);
    if (fds[1] >= 0)
        (void)close(fds[1]);
    (void)close(signals);
    return code;
}

#define MS_MAX 86400000LL

static int run(const struct args *a)
{
    struct work w = {.a = a};
    long long timeout = 0, yield = -1, tokens = -1;
    char *input;
    int code = EXIT_OWN_FAILURE;

    if (a->rest_count == 0 || a->word_count > 0) {
        (void)usage_error(a, "give the command after --, as in: waybill exec -- make test");
        return EXIT_OWN_FAILURE;
    }
    if (args_has(a, "--tty") && args_has(a, "--stdin")) {
        (void)usage_error(a, "--tty and --stdin exclude each other");
        return EXIT_OWN_FAILURE;
    }
    if (!view_by_name(a, &w.view) || !args_number(a, "--timeout-ms", 0, MS_MAX, &timeout) ||
        !args_number(a, "--yield-ms", 0, 3600000, &yield) ||
        !args_number(a, "--max-tokens", 0, 64000, &tokens))
        return EXIT_OWN_FAILURE;
    input = make_input(a, timeout, yield, tokens);
    if (input != NULL && wb_json_check(input, strlen(input), NULL) == WB_EINPUT) {
        (void)usage_error(a, "the command and --workdir must be UTF-8, for a call is kept as text; "
                             "put other bytes into a script and run that");
        free(input);
        return EXIT_OWN_FAILURE;
    }
    w.request = wb_request_new("ExecCommand");
    if (input != NULL && w.request != NULL &&
        wb_request_set(w.request, WB_FIELD_INPUT, input) == WB_OK)
        code = run_request(&w, yield >= 0);
    wb_request_free(w.request);
    free(input);
    return code;
}

static const struct option_spec options[] = {
    {"--workdir", "DIR", "start it there"},
    {"--timeout-ms", "N", "end it then; 0 is no limit"},
    {"--yield-ms", "N", "let it go on as a task then"},
    {"--max-tokens", "N", "budget of the receipt (8,000)"},
    {"--tty", NULL, "give it a terminal"},
    {"--live", NULL, "copy its output to standard error while it comes"},
    {"--stdin", NULL, "pass standard input on; else it has none"},
    {"--clean-env", NULL, "the environment of model calls instead of this one"},
    {"--view", "VIEW", "receipt, canonical, result, envelope or record"},
    {NULL},
};

const struct command command_exec = {
    "exec",
    "Run a command and print its receipt.",
    "[--workdir D] [--timeout-ms N] [--yield-ms N] [--max-tokens N] [--tty] [--live] … -- CMD ARG…",
    "The receipt goes to standard output; the exit status is the command's own. 128+N: ended by\n"
    "signal N; 75: it goes on as a task (--yield-ms); 124: out of time; 125: Waybill itself "
    "failed;\n"
    "126: not executable; 127: not found. Without --clean-env the command has this environment.\n"
    "\nexamples:\n"
    "  waybill exec -- make test\n"
    "  waybill exec --max-tokens 2000 --timeout-ms 60000 -- sh -c 'npm test 2>&1'\n"
    "  waybill exec --yield-ms 2000 -- npm run dev      # then: waybill tasks list\n",
    options,
    NULL,
    run,
    true,
};
