/* SPDX-License-Identifier: Apache-2.0
 * run/process_test.c: real children on a real loop; the same
 * promises with and without a holder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "run/capture.h"
#include "support/census.h"

struct bench {
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    bool done, ended, held;
    struct wbi_captured got;
    char out[65536], err[4096];
};

static const struct wbi_str environment[] = {WBI_LIT_INIT("PATH=/usr/bin:/bin"),
                                             WBI_LIT_INIT("ONLY=this")};

static int set_up_alone(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    if (b == NULL || wbi_loop_new(NULL, &b->loop, NULL) != WB_OK ||
        wbi_runner_new(b->loop, wbi_clock_system(), &b->runner, NULL) != WB_OK)
        return -1;
    *state = b;
    return 0;
}

static int set_up_held(void **state)
{
    if (set_up_alone(state) != 0)
        return -1;
    ((struct bench *)*state)->held = true;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    assert_int_equal(wbi_runner_busy(b->runner), 0);
    wbi_runner_free(b->runner);
    wbi_loop_free(b->loop);
    free(b);
    return 0;
}

static void keep(void *arg, const struct wbi_captured *c)
{
    struct bench *b = arg;

    assert_false(b->done); /* one answer */
    b->got = *c;
    snprintf(b->out, sizeof(b->out), "%.*s", WBI_FMT(c->out));
    snprintf(b->err, sizeof(b->err), "%.*s", WBI_FMT(c->err));
    b->done = true;
}

static struct wbi_capture_spec line(const char *text)
{
    return (struct wbi_capture_spec){
        .process = {.shell_line = wbi_str_z(text), .env = environment, .env_count = 2}};
}

static struct wbi_capture *start(struct bench *b, const struct wbi_capture_spec *spec)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_capture *c = NULL;
    struct wbi_capture_spec copy = *spec;

    b->done = false;
    copy.process.uncontained = !b->held;
    if (wbi_capture_start(b->runner, &copy, keep, b, &c, &err) != WB_OK)
        fail_msg("%s", err.text);
    return c;
}

static void run(struct bench *b, const struct wbi_capture_spec *spec)
{
    (void)start(b, spec);
    wbi_loop_run(b->loop, &b->done);
}

static void both_streams_and_the_status_come_back(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("echo out; echo err >&2; exit 7");

    run(b, &s);
    assert_string_equal(b->out, "out\n");
    assert_string_equal(b->err, "err\n");
    assert_int_equal(b->got.end.exit_status, 7);
    assert_int_equal(b->got.end.signal, 0);
    assert_int_equal(b->got.end.limit, WBI_HIT_NONE);
    assert_string_equal(wbi_containment_name(b->got.end.containment), b->held ? "holder" : "group");
    assert_false(b->got.out_truncated);
}

static void arguments_are_passed_literally(void **state) /* row 31 */
{
    struct bench *b = *state;
    struct wbi_str argv[] = {WBI_LIT("printf"), WBI_LIT("[%s]"), WBI_LIT("a; $(id) && `x` | y\n"),
                             WBI_LIT("")};
    struct wbi_capture_spec s = {.process = {.argv = argv, .argc = 4}};

    run(b, &s);
    assert_string_equal(b->out, "[a; $(id) && `x` | y\n][]");
}

static void input_bytes_reach_the_child_and_end(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("cat; echo; wc -c </dev/stdin");

    s.process.stdin_kind = WBI_STDIN_BYTES;
    s.process.stdin_bytes = WBI_LIT("{\"a\":1}");
    run(b, &s);
    assert_string_equal(b->out, "{\"a\":1}\n7\n");
}

static void a_child_that_ignores_its_input_is_no_error(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("exit 0");
    char *big = calloc(1, 4u << 20);

    assert_non_null(big);
    s.process.stdin_kind = WBI_STDIN_BYTES;
    s.process.stdin_bytes = wbi_str_make(big, 4u << 20);
    run(b, &s);
    assert_int_equal(b->got.end.exit_status, 0);
    free(big);
}

static void stdin_is_empty_unless_given(void **state) /* row 44 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("cat; readlink /proc/self/fd/0");

    run(b, &s);
    assert_string_equal(b->out, "/dev/null\n");
}

/* One of the two signals that the C library keeps for itself: some parents hand
 * it down ignored, and sigaction() will not say so. */
static void library_signal(unsigned long handler)
{
    unsigned long action[8] = {handler};

    assert_int_equal(syscall(SYS_rt_sigaction, 32, action, NULL, (NSIG - 1) / 8), 0);
}

static void nothing_else_is_inherited(void **state) /* S7, row 52 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s =
        line("ls /proc/self/fd | grep -v '^[012]$' | wc -l; env | sort | grep -v '^_=\\|^PWD='; "
             "grep -E 'NoNewPrivs|SigBlk|SigIgn' /proc/self/status | sort; ulimit -c; "
             "[ $(ps -o pgid= -p $$) = $$ ] && [ $(ps -o sid= -p $$) = $$ ] && echo leader");
    int leak = open("/dev/null", O_RDONLY); /* not close-on-exec */
    void (*before)(int) = signal(SIGUSR2, SIG_IGN);

    library_signal((unsigned long)SIG_IGN);
    run(b, &s);
    library_signal((unsigned long)SIG_DFL);
    (void)signal(SIGUSR2, before);
    close(leak);
    /* one descriptor: the directory that ls itself reads */
    assert_string_equal(b->out, "1\nONLY=this\nPATH=/usr/bin:/bin\n"
                                "NoNewPrivs:\t1\nSigBlk:\t0000000000000000\n"
                                "SigIgn:\t0000000000000000\n0\nleader\n");
}

static void the_working_directory_is_used(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("pwd");
    int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

    s.process.workdir = WBI_LIT("/tmp");
    run(b, &s);
    assert_string_equal(b->out, "/tmp\n");
    s.process.workdir_fd = fd;
    run(b, &s);
    assert_string_equal(b->out, "/usr\n");
    close(fd);
}

static void expect_refused(struct bench *b, struct wbi_process_spec p, wb_rc rc, enum wbi_kind kind,
                           int code)
{
    struct wbi_capture_spec s = {.process = p};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_capture *c = NULL;

    assert_int_equal(wbi_capture_start(b->runner, &s, keep, b, &c, &err), rc);
    assert_int_equal(err.kind, kind);
    assert_int_equal(wbi_spawn_exit_code(rc, &err), code);
    assert_true(err.text[0] != '\0');
    assert_int_equal(wbi_runner_busy(b->runner), 0);
}

static void failures_to_start_are_classified(void **state) /* I2: 126, 127 */
{
    struct bench *b = *state;
    enum wbi_kind spawn = WBI_KIND_COMMAND_SPAWN_FAILED;
    struct wbi_str missing[] = {WBI_LIT("no-such-program-anywhere")},
                   data[] = {WBI_LIT("/etc/passwd")}, dir[] = {WBI_LIT("/usr")},
                   away[] = {WBI_LIT("/nowhere/x")}, fine[] = {WBI_LIT("true")},
                   nul[] = {WBI_LIT("true"), WBI_LIT("a\0b")}, none[] = {WBI_LIT("")};

    expect_refused(b, (struct wbi_process_spec){.argv = missing, .argc = 1}, WB_ENOTFOUND, spawn,
                   127);
    expect_refused(b, (struct wbi_process_spec){.argv = away, .argc = 1}, WB_ENOTFOUND, spawn, 127);
    expect_refused(b, (struct wbi_process_spec){.argv = data, .argc = 1}, WB_EDENIED, spawn, 126);
    expect_refused(b, (struct wbi_process_spec){.argv = dir, .argc = 1}, WB_EDENIED, spawn, 126);
    expect_refused(
        b, (struct wbi_process_spec){.argv = fine, .argc = 1, .workdir = WBI_LIT("/nowhere")},
        WB_ENOTFOUND, WBI_KIND_WORKDIR_NOT_FOUND, 125);
    expect_refused(
        b, (struct wbi_process_spec){.argv = fine, .argc = 1, .workdir = WBI_LIT("/etc/passwd")},
        WB_ENOTFOUND, WBI_KIND_WORKDIR_NOT_FOUND, 125);
    expect_refused(b, (struct wbi_process_spec){.argv = nul, .argc = 2}, WB_EINPUT, WBI_KIND_NONE,
                   125);
    expect_refused(b, (struct wbi_process_spec){.argv = none, .argc = 1}, WB_ENOTFOUND, spawn, 127);
    expect_refused(b, (struct wbi_process_spec){.argc = 0}, WB_EINPUT, WBI_KIND_NONE, 125);
}

static void a_name_that_leads_nowhere_is_not_executable(void **state) /* I2: 126, as timeout */
{
    struct bench *b = *state;
    char name[] = "/tmp/wb-loop-XXXXXX", text[600];
    struct wbi_str loop[] = {wbi_str_z(name)}, longer[] = {wbi_str_make(text, sizeof(text))};

    close(mkstemp(name));
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink(name, name), 0);
    memset(text, 'x', sizeof(text));
    expect_refused(b, (struct wbi_process_spec){.argv = loop, .argc = 1}, WB_EDENIED,
                   WBI_KIND_COMMAND_SPAWN_FAILED, 126);
    expect_refused(b, (struct wbi_process_spec){.argv = longer, .argc = 1}, WB_EDENIED,
                   WBI_KIND_COMMAND_SPAWN_FAILED, 126);
    unlink(name);
}

static void a_script_without_interpreter_is_not_executable(void **state)
{
    struct bench *b = *state;
    char name[] = "/tmp/wb-script-XXXXXX";
    int fd = mkstemp(name);
    struct wbi_str argv[] = {wbi_str_z(name)};

    assert_int_equal(write(fd, "echo no\n", 8), 8);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    if (b->held) { /* exec fails in another process: the answer says so */
        struct wbi_capture_spec s = {.process = {.argv = argv, .argc = 1}};
        run(b, &s);
        assert_int_equal(b->got.end.rc, WB_EDENIED);
        assert_int_equal(wbi_spawn_exit_code(b->got.end.rc, &b->got.end.error), 126);
    } else {
        expect_refused(b, (struct wbi_process_spec){.argv = argv, .argc = 1, .uncontained = true},
                       WB_EDENIED, WBI_KIND_COMMAND_SPAWN_FAILED, 126);
    }
    unlink(name);
}

static void programs_come_from_the_fixed_search_path_only(void **state) /* row 34 */
{
    struct bench *b = *state;
    struct wbi_str argv[] = {WBI_LIT("evil")}, env[] = {WBI_LIT("PATH=/tmp/wb-evil:.")};
    int fd;

    (void)mkdir("/tmp/wb-evil", 0755);
    fd = open("/tmp/wb-evil/evil", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    close(fd);
    expect_refused(b,
                   (struct wbi_process_spec){.argv = argv,
                                             .argc = 1,
                                             .env = env,
                                             .env_count = 1,
                                             .workdir = WBI_LIT("/tmp/wb-evil"),
                                             .search_path = WBI_LIT(".::wb-evil:/usr/bin")},
                   WB_ENOTFOUND, WBI_KIND_COMMAND_SPAWN_FAILED, 127);
    unlink("/tmp/wb-evil/evil");
    rmdir("/tmp/wb-evil");
}

static void captures_are_bounded_and_counted(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("head -c 1000000 /dev/zero | tr '\\0' x; printf abc >&2");

    s.out_cap = 100;
    s.err_cap = 3;
    run(b, &s);
    assert_int_equal(b->got.out_bytes, 1000000);
    assert_int_equal(strlen(b->out), 100);
    assert_true(b->got.out_truncated);
    assert_string_equal(b->err, "abc");
    assert_false(b->got.err_truncated);
}

static void a_deadline_ends_what_ignores_every_polite_signal(void **state) /* rows 38, 39; S12 */
{
    struct bench *b = *state;
    struct wbi_capture_spec deaf =
        line("trap '' TERM INT HUP; echo in; while :; do sleep 0.05; done");
    struct wbi_capture_spec stopped = line("kill -STOP $$; sleep 60");

    deaf.process.timeout_ms = stopped.process.timeout_ms = 150;
    deaf.process.grace_ms = stopped.process.grace_ms = 100;
    run(b, &deaf);
    assert_true(b->got.end.timed_out);
    assert_int_equal(b->got.end.limit, WBI_HIT_TIME);
    assert_int_equal(b->got.end.signal, SIGKILL);
    assert_string_equal(b->out, "in\n");
    assert_true(b->got.end.duration_ns >= 250 * WBI_NS_PER_MS);
    run(b, &stopped);
    assert_true(b->got.end.timed_out);
    assert_int_equal(b->got.end.signal, SIGTERM);
}

static void cancelling_ends_the_group_and_says_so(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("sleep 60 & sleep 60");
    struct wbi_capture *c = start(b, &s);

    wbi_capture_cancel(c);
    wbi_capture_cancel(c); /* twice is once */
    wbi_loop_run(b->loop, &b->done);
    assert_true(b->got.end.cancelled);
    assert_false(b->got.end.timed_out);
    assert_int_equal(b->got.end.signal, SIGTERM);
    assert_int_equal(census_after_death(b->got.end.pid, NULL), 0);
}

/* The one that ends may have words of ours unread; how the command ended still
 * arrives. Many times, because it is a race. */
static void a_stopped_command_keeps_its_status(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("sleep 60; true");

    s.process.timeout_ms = 3;
    for (int i = 0; i < 60; i++) {
        run(b, &s);
        assert_true(b->got.end.timed_out);
        assert_false(b->got.end.status_lost);
        assert_int_equal(b->got.end.signal, SIGTERM);
    }
}

static void note_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct bench *b = arg;

    (void)stream;
    b->done = b->done || bytes.n > 0;
}

static void note_end(void *arg, const struct wbi_process_end *end)
{
    struct bench *b = arg;

    b->got.end = *end;
    b->done = b->ended = true;
}

/* The same when we look only after all is over: several messages wait behind the error. */
static void an_end_that_waits_behind_an_error_is_told(void **state)
{
    static const struct wbi_process_ops ops = {note_output, note_end};
    struct bench *b = *state;
    struct wbi_capture_spec s = line("trap '' TERM; echo; exec true");

    for (int i = 0; i < 100; i++) {
        struct wbi_process *p = NULL;
        b->done = b->ended = false;
        assert_int_equal(wbi_process_start(b->runner, &s.process, &ops, b, &p, NULL), WB_OK);
        wbi_loop_run(b->loop, &b->done); /* it takes no TERM from here on */
        b->done = b->ended;
        if (!b->ended)
            wbi_process_stop(p);
        usleep(3000); /* it ends meanwhile, most times */
        wbi_loop_run(b->loop, &b->done);
        assert_false(b->got.end.status_lost);
        assert_int_equal(b->got.end.exit_status, 0);
    }
}

static void a_grandchild_cannot_hold_the_reply(void **state) /* S9 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("sleep 30 & echo done");

    s.process.linger_ms = 100;
    run(b, &s);
    assert_string_equal(b->out, "done\n");
    assert_int_equal(b->got.end.exit_status, 0);
    assert_true(b->got.end.pipe_held);
    assert_true(b->got.end.duration_ns < 2 * WBI_NS_PER_S);
    assert_int_equal(census_after_death(b->got.end.pid, NULL), 0);
}

static void closing_the_outputs_is_not_the_end(void **state) /* row 41 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("exec >&- 2>&-; sleep 0.1; exit 5");

    run(b, &s);
    assert_int_equal(b->got.end.exit_status, 5);
}

static void one_silent_stream_does_not_block_the_other(void **state) /* row 42 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("head -c 20000000 /dev/zero >&2; echo end");

    s.err_cap = 1;
    run(b, &s);
    assert_int_equal(b->got.err_bytes, 20000000);
    assert_string_equal(b->out, "end\n");
}

static void limits_are_kept_and_named(void **state) /* S11 */
{
    struct bench *b = *state;
    struct wbi_capture_spec output = line("yes"),
                            file = line("head -c 100000 /dev/zero >/tmp/wb-big"),
                            cpu = line("while :; do :; done"), files = line("ulimit -n");

    output.process.output_bytes = 100000;
    run(b, &output);
    assert_int_equal(b->got.end.limit, WBI_HIT_OUTPUT);
    assert_string_equal(wbi_limit_name(b->got.end.limit), "output");
    assert_int_equal(b->got.out.n, 100000);
    assert_int_equal(b->got.end.bytes[0] - b->got.end.dropped[0], 100000);
    assert_true(b->got.out_truncated);
    file.process.limits.file_bytes = 1000;
    file.process.argv =
        (struct wbi_str[]){WBI_LIT("dd"), WBI_LIT("if=/dev/zero"), WBI_LIT("of=/tmp/wb-big"),
                           WBI_LIT("bs=5000"), WBI_LIT("count=3")};
    file.process.argc = 5;
    file.process.shell_line = WBI_NONE;
    run(b, &file);
    unlink("/tmp/wb-big");
    assert_int_equal(b->got.end.limit, WBI_HIT_FILE_SIZE);
    cpu.process.limits.cpu_seconds = 1;
    run(b, &cpu);
    assert_int_equal(b->got.end.limit, WBI_HIT_CPU);
    files.process.limits.files = 17;
    run(b, &files);
    assert_string_equal(b->out, "17\n");
}

static void memory_is_limited(void **state) /* row 37 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("exec head -c 1 /dev/zero");
    struct wbi_capture_spec hog = line("(setsid tail /dev/zero &) ; sleep 20");

    s.process.limits.memory_bytes = 1 << 20; /* too little for any program */
    if (!b->held) {
        run(b, &s);
        assert_true(b->got.end.exit_status != 0);
        return;
    }
    hog.process.limits.memory_bytes = 100u << 20; /* it escaped its group in vain */
    run(b, &hog);
    assert_int_equal(b->got.end.limit, WBI_HIT_MEMORY);
    assert_true(b->got.end.duration_ns < 10 * WBI_NS_PER_S);
}

static void a_terminal_is_a_terminal_of_its_own(void **state) /* row 45 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s =
        line("tty >/dev/null && echo yes; stty size; exec 0<&1; stty -echo; echo e >&2");

    s.process.stdin_kind = WBI_STDIN_TTY;
    s.process.tty_rows = 40;
    s.process.tty_columns = 65535;
    run(b, &s);
    assert_string_equal(b->out, "yes\r\n40 65535\r\ne\r\n");
    assert_int_equal(b->got.end.exit_status, 0);
}

struct talk {
    struct bench *b;
    struct wbi_process *p;
    struct wbi_buf seen;
    struct wbi_process_end end;
};

static void talk_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct talk *t = arg;

    (void)stream;
    wbi_buf_adds(&t->seen, bytes);
    if (wbi_str_find(bytes, WBI_LIT("name?")) < bytes.n) {
        assert_int_equal(wbi_process_input(t->p, WBI_LIT("Ada\n"), NULL), WB_OK);
        wbi_process_close_input(t->p);
    }
}

static void talk_end(void *arg, const struct wbi_process_end *end)
{
    struct talk *t = arg;

    t->end = *end;
    t->b->done = true;
}

static void a_child_can_be_talked_to(void **state)
{
    static const struct wbi_process_ops ops = {talk_output, talk_end};
    struct talk t = {.b = *state};
    struct wbi_process_spec s = {.shell_line = WBI_LIT("echo name?; read n; echo hi $n; cat"),
                                 .env = environment,
                                 .env_count = 2,
                                 .stdin_kind = WBI_STDIN_PIPE};

    for (int tty = 0; tty < 2; tty++) {
        t.b->done = false;
        wbi_buf_init(&t.seen, 1 << 20);
        if (tty)
            s.stdin_kind = WBI_STDIN_TTY;
        s.uncontained = !t.b->held;
        assert_int_equal(wbi_process_start(t.b->runner, &s, &ops, &t, &t.p, NULL), WB_OK);
        wbi_loop_run(t.b->loop, &t.b->done);
        assert_int_equal(t.end.exit_status, 0);
        assert_true(wbi_str_find(wbi_buf_str(&t.seen), WBI_LIT("hi Ada")) < t.seen.n);
        wbi_buf_fini(&t.seen);
    }
}

static void unheard_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct talk *t = arg;

    (void)stream;
    (void)bytes;
    if (!wbi_process_reads(t->p)) /* its keeper lets go of the input a little later */
        wbi_process_kill(t->p);
}

static void a_child_that_closed_its_input_reads_no_more(void **state)
{
    static const struct wbi_process_ops ops = {unheard_output, talk_end};
    struct talk t = {.b = *state};
    struct wbi_process_spec s = {.shell_line =
                                     WBI_LIT("exec 0<&-; while echo; do sleep 0.01; done"),
                                 .env = environment,
                                 .env_count = 2,
                                 .stdin_kind = WBI_STDIN_PIPE};

    t.b->done = false;
    s.uncontained = !t.b->held;
    assert_int_equal(wbi_process_start(t.b->runner, &s, &ops, &t, &t.p, NULL), WB_OK);
    wbi_loop_run(t.b->loop, &t.b->done);
    assert_int_equal(t.end.signal, SIGKILL);
}

static void input_nobody_reads_is_bounded_and_raises_no_signal(void **state)
{
    static const struct wbi_process_ops ops = {talk_output, talk_end};
    static char block[65536];
    struct talk t = {.b = *state};
    struct wbi_process_spec s = {.shell_line = WBI_LIT("exec 0<&-; sleep 0.2"),
                                 .env = environment,
                                 .env_count = 2,
                                 .stdin_kind = WBI_STDIN_PIPE};
    wb_rc rc = WB_OK;

    t.b->done = false;
    wbi_buf_init(&t.seen, 1 << 20);
    s.uncontained = !t.b->held;
    assert_int_equal(wbi_process_start(t.b->runner, &s, &ops, &t, &t.p, NULL), WB_OK);
    for (int i = 0; i < 64 && rc == WB_OK; i++)
        rc = wbi_process_input(t.p, wbi_str_make(block, sizeof(block)), NULL);
    assert_true(rc == WB_ELIMIT || rc == WB_ENOTFOUND);
    wbi_loop_run(t.b->loop, &t.b->done);
    assert_int_equal(t.end.exit_status, 0);
    wbi_buf_fini(&t.seen);
}

static void running_out_of_descriptors_is_an_error_and_leaks_none(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("echo fine");
    struct rlimit old, low;
    int hogs[256], n = 0, free_from;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    free_from = dup(0);
    close(free_from);
    low = old;
    low.rlim_cur = (rlim_t)free_from + 12;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (n < 256 && (hogs[n] = dup(0)) >= 0)
        n++;
    for (int room = 0; room <= n; room++) { /* fails at each place in turn */
        struct wbi_error err = WBI_ERROR_INIT;
        struct wbi_capture *c;
        b->done = false;
        s.process.uncontained = !b->held;
        if (wbi_capture_start(b->runner, &s, keep, b, &c, &err) == WB_OK) {
            wbi_loop_run(b->loop, &b->done);
            assert_string_equal(b->out, "fine\n");
        } else {
            assert_int_equal(wbi_runner_busy(b->runner), 0);
            assert_true(err.text[0] != '\0');
        }
        while (wbi_loop_turn(b->loop, false))
            ;
        if (room < n)
            close(hogs[room]);
    }
    assert_true(b->done); /* with all of them free it worked */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(dup(0), free_from);
    close(free_from);
}

static void descriptors_0_to_2_may_be_closed_in_the_parent(void **state) /* row 127 */
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("cat; echo out; echo err >&2");
    int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);

    close(0);
    s.process.stdin_kind = WBI_STDIN_BYTES;
    s.process.stdin_bytes = WBI_LIT("in\n");
    run(b, &s);
    assert_int_equal(dup2(saved, 0), 0);
    close(saved);
    assert_string_equal(b->out, "in\nout\n");
    assert_string_equal(b->err, "err\n");
}

static void many_run_at_once(void **state)
{
    struct bench *b = *state;
    struct wbi_capture_spec s = line("head -c 100000 /dev/zero; exit 3");
    static struct bench all[40];

    for (size_t i = 0; i < 40; i++) {
        struct wbi_capture *c;
        all[i].done = false;
        s.process.uncontained = !b->held;
        assert_int_equal(wbi_capture_start(b->runner, &s, keep, &all[i], &c, NULL), WB_OK);
    }
    for (size_t i = 0; i < 40; i++) {
        wbi_loop_run(b->loop, &all[i].done);
        assert_int_equal(all[i].got.out_bytes, 100000);
        assert_int_equal(all[i].got.end.exit_status, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_streams_and_the_status_come_back),
        cmocka_unit_test(arguments_are_passed_literally),
        cmocka_unit_test(input_bytes_reach_the_child_and_end),
        cmocka_unit_test(a_child_that_ignores_its_input_is_no_error),
        cmocka_unit_test(stdin_is_empty_unless_given),
        cmocka_unit_test(nothing_else_is_inherited),
        cmocka_unit_test(the_working_directory_is_used),
        cmocka_unit_test(failures_to_start_are_classified),
        cmocka_unit_test(a_name_that_leads_nowhere_is_not_executable),
        cmocka_unit_test(a_script_without_interpreter_is_not_executable),
        cmocka_unit_test(programs_come_from_the_fixed_search_path_only),
        cmocka_unit_test(captures_are_bounded_and_counted),
        cmocka_unit_test(a_deadline_ends_what_ignores_every_polite_signal),
        cmocka_unit_test(cancelling_ends_the_group_and_says_so),
        cmocka_unit_test(a_stopped_command_keeps_its_status),
        cmocka_unit_test(an_end_that_waits_behind_an_error_is_told),
        cmocka_unit_test(a_grandchild_cannot_hold_the_reply),
        cmocka_unit_test(closing_the_outputs_is_not_the_end),
        cmocka_unit_test(one_silent_stream_does_not_block_the_other),
        cmocka_unit_test(limits_are_kept_and_named),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(a_terminal_is_a_terminal_of_its_own),
        cmocka_unit_test(a_child_can_be_talked_to),
        cmocka_unit_test(a_child_that_closed_its_input_reads_no_more),
        cmocka_unit_test(input_nobody_reads_is_bounded_and_raises_no_signal),
        cmocka_unit_test(running_out_of_descriptors_is_an_error_and_leaks_none),
        cmocka_unit_test(descriptors_0_to_2_may_be_closed_in_the_parent),
        cmocka_unit_test(many_run_at_once),
    };

    return cmocka_run_group_tests_name("alone", tests, set_up_alone, tear_down) +
           cmocka_run_group_tests_name("held", tests, set_up_held, tear_down);
}
