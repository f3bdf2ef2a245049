/* SPDX-License-Identifier: Apache-2.0
 * run/holder_test.c: nothing of a command outlives it (S8, C7.1): random process
 * trees, escapes, killed runtimes, holders and keepers, then a census. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "run/capture.h"
#include "run/process_int.h"
#include "run/holder.h"
#include "run/holder_int.h"
#include "support/census.h"

struct bench {
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    bool done;
    struct wbi_process_end end;
    char out[4096];
};

static char mark[64];
static uint64_t seed;

static uint64_t roll(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static int set_up(void **state)
{
    static struct bench b;

    if (wbi_loop_new(NULL, &b.loop, NULL) != WB_OK ||
        wbi_runner_new(b.loop, wbi_clock_system(), &b.runner, NULL) != WB_OK)
        return -1;
    *state = &b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    wbi_runner_free(b->runner);
    wbi_loop_free(b->loop);
    return 0;
}

static void note(void *arg, const struct wbi_captured *c)
{
    struct bench *b = arg;

    b->end = c->end;
    snprintf(b->out, sizeof(b->out), "%.*s", WBI_FMT(c->out));
    b->done = true;
}

static struct wbi_capture *start(struct bench *b, const char *line, int64_t timeout_ms,
                                 struct wbi_rlimits limits)
{
    struct wbi_str env[] = {WBI_LIT("PATH=/usr/bin:/bin"), wbi_str_z(mark)};
    struct wbi_capture_spec s = {.process = {.shell_line = wbi_str_z(line),
                                             .env = env,
                                             .env_count = 2,
                                             .timeout_ms = timeout_ms,
                                             .grace_ms = 50,
                                             .linger_ms = 50,
                                             .limits = limits}};
    struct wbi_capture *c = NULL;
    struct wbi_error err = WBI_ERROR_INIT;

    b->done = false;
    if (wbi_capture_start(b->runner, &s, note, b, &c, &err) != WB_OK)
        fail_msg("%s", err.text);
    return c;
}

static void run(struct bench *b, const char *line, int64_t timeout_ms)
{
    (void)start(b, line, timeout_ms, (struct wbi_rlimits){0});
    wbi_loop_run(b->loop, &b->done);
}

static void a_daemon_with_the_pipe_dies_and_delays_nothing(void **state) /* row 40 */
{
    struct bench *b = *state;

    run(b, "(setsid sh -c 'trap \"\" TERM HUP; echo alive; sleep 60' &) ; sleep 0.05; echo end", 0);
    assert_int_equal(b->end.exit_status, 0);
    assert_true(b->end.pipe_held);
    assert_true(b->end.swept >= 1);
    assert_true(b->end.duration_ns < 20 * WBI_NS_PER_S); /* of the 60 it would hold it */
    assert_int_equal(census_after_death(0, mark), 0);
}

static void a_quiet_daemon_dies_too(void **state)
{
    struct bench *b = *state;

    run(b, "(exec >/dev/null 2>&1 </dev/null; setsid sleep 60 &)", 0);
    assert_int_equal(b->end.exit_status, 0);
    assert_false(b->end.pipe_held);
    assert_int_equal(b->end.swept, 1);
    assert_int_equal(census(0, mark), 0); /* at once: the answer came after the sweep */
}

static void pass_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    (void)arg;
    (void)stream;
    (void)bytes;
}

static void note_end(void *arg, const struct wbi_process_end *end)
{
    struct bench *b = arg;

    b->end = *end;
    b->done = true;
}

static void a_command_that_ended_in_time_is_not_late(void **state)
{
    static const struct wbi_process_ops ops = {.on_output = pass_output, .on_end = note_end};
    struct bench *b = *state;
    struct wbi_str env[] = {WBI_LIT("PATH=/usr/bin:/bin"), wbi_str_z(mark)};
    struct wbi_process_spec s = {
        .shell_line = WBI_LIT("(exec >/dev/null 2>&1 </dev/null; setsid sleep 60 &)"),
        .env = env,
        .env_count = 2,
        .timeout_ms = 60000};
    struct wbi_process *p = NULL;

    b->done = false;
    assert_int_equal(wbi_process_start(b->runner, &s, &ops, b, &p, NULL), WB_OK);
    while (p->phase != WBI_SWEEPING)
        (void)wbi_loop_turn(b->loop, true);
    wbi_timer_start(p->deadline, 0); /* its time is over while the daemon is looked after */
    wbi_loop_run(b->loop, &b->done);
    assert_int_equal(b->end.exit_status, 0);
    assert_int_equal(b->end.swept, 1);
    assert_false(b->end.timed_out);
    assert_int_equal(b->end.limit, WBI_HIT_NONE);
}

/* ---- a tree that runs away, but not far: this program as the command ---- */

#define SPAWN_MOST 300   /* processes in all; then it makes no more */
#define SPAWN_LIMIT 50   /* allowed */
#define SPAWN_SECONDS 60 /* then each ends by itself */

static atomic_int *spawned; /* shared by all of them */

static void spawn_one(bool sessions);

/* Each makes two more; with sessions, every one in its own, deaf, its parent gone. */
_Noreturn static void be_spawned(bool sessions)
{
    if (sessions)
        (void)setsid();
    for (int i = 1; i < 32; i++)
        if (i != SIGALRM)
            (void)signal(i, SIG_IGN);
    (void)alarm(SPAWN_SECONDS);
    spawn_one(sessions);
    spawn_one(sessions);
    if (sessions && atomic_fetch_add(spawned, 1) < SPAWN_MOST && fork() > 0)
        _exit(0); /* the child goes on in its place */
    for (;;)
        (void)pause();
}

static void spawn_one(bool sessions)
{
    if (atomic_fetch_add(spawned, 1) < SPAWN_MOST && fork() == 0)
        be_spawned(sessions);
}

/* "how" is group, sessions, or slow: one every twenty milliseconds, each noted in a file. */
static int spawn(const char *how, const char *file)
{
    struct timespec pause_between = {.tv_nsec = 20000000};

    spawned =
        mmap(NULL, sizeof(*spawned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (spawned == MAP_FAILED)
        return 1;
    (void)alarm(SPAWN_SECONDS);
    if (strcmp(how, "slow") != 0)
        be_spawned(strcmp(how, "sessions") == 0);
    for (int i = 0; i < SPAWN_MOST; i++) {
        int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd < 0 || write(fd, "+", 1) != 1 || close(fd) != 0)
            return 1;
        if (fork() == 0)
            for ((void)alarm(SPAWN_SECONDS);;)
                (void)pause();
        (void)nanosleep(&pause_between, NULL);
    }
    for (;;)
        (void)pause();
}

static void start_spawning(struct bench *b, const char *how, const char *file)
{
    char line[4096], self[2048];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(n > 0);
    self[n] = '\0';
    (void)snprintf(line, sizeof(line), "exec '%s' --spawn %s '%s'", self, how, file);
    (void)start(b, line, 0, (struct wbi_rlimits){.processes = SPAWN_LIMIT});
    wbi_loop_run(b->loop, &b->done);
    assert_int_equal(b->end.limit, WBI_HIT_PROCESSES);
    assert_string_equal(wbi_limit_name(b->end.limit), "processes");
    assert_int_equal(b->end.unkillable, 0);
    assert_int_equal(census_after_death(0, mark), 0);
}

static void a_runaway_tree_is_stopped_and_named(void **state) /* row 36 */
{
    start_spawning(*state, "group", "");
    start_spawning(*state, "sessions", "");
}

static void a_growing_tree_does_not_grow_on(void **state) /* row 36 */
{
    char file[] = "/tmp/waybill-spawned-XXXXXX";
    int fd = mkstemp(file);
    struct stat st;

    assert_true(fd >= 0);
    start_spawning(*state, "slow", file);
    assert_int_equal(fstat(fd, &st), 0);
    assert_in_range(st.st_size, SPAWN_LIMIT, SPAWN_MOST - 1); /* it was stopped, it did not stop */
    (void)close(fd);
    (void)unlink(file);
}

static void long_arguments_reach_the_command(void **state)
{
    struct bench *b = *state;
    struct wbi_buf line;

    wbi_buf_init(&line, 1 << 20);
    wbi_buf_addz(&line, "x='");
    for (int i = 0; i < 100000; i++)
        wbi_buf_addc(&line, 'a');
    wbi_buf_addz(&line, "'; echo ${#x}");
    run(b, line.p, 0);
    assert_string_equal(b->out, "100000\n");
    wbi_buf_fini(&line);
}

static void a_killed_holder_is_replaced(void **state)
{
    struct bench *b = *state;
    pid_t first;

    run(b, "echo one", 0);
    first = wbi_holder_pid(b->runner->holder);
    assert_int_equal(kill(first, SIGKILL), 0);
    for (siginfo_t info = {0}; info.si_pid != first;) /* dead, not yet reaped */
        assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT | __WALL), 0);
    run(b, "echo two", 0);
    assert_string_equal(b->out, "two\n");
    assert_int_not_equal(wbi_holder_pid(b->runner->holder), first);
}

/* What the holder and those it forked and waited for have used. */
static unsigned long ticks_of(pid_t pid)
{
    unsigned long t[4] = {0};
    char path[64], text[1024] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    assert_int_equal(sscanf(strrchr(text, ')'),
                            ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &t[0],
                            &t[1], &t[2], &t[3]),
                     4);
    return t[0] + t[1] + t[2] + t[3];
}

static void set(void *arg)
{
    *(bool *)arg = true;
}

static void count_end(void *arg, const struct wbi_captured *c)
{
    (void)c;
    ++*(int *)arg;
}

/* Where no spare keeper can get ready (here for want of a descriptor), the next one is forked
 * some time later and the command waits; the holder forked as fast as it could. */
static void a_spare_that_cannot_get_ready_is_no_hurry(void **state)
{
    struct wbi_capture_spec s = {.process = {.shell_line = WBI_LIT("exit 0")}};
    struct bench *b = *state;
    struct rlimit before, few;
    struct wbi_capture *c;
    struct wbi_timer *timer;
    bool later = false;
    unsigned long ticks;
    pid_t holder;
    int ended = 0;

    run(b, "echo one", 0);
    holder = wbi_holder_pid(b->runner->holder);
    assert_int_equal(prlimit(holder, RLIMIT_NOFILE, NULL, &before), 0);
    few = (struct rlimit){.rlim_cur = 4, .rlim_max = before.rlim_max};
    assert_int_equal(prlimit(holder, RLIMIT_NOFILE, &few, NULL), 0);
    for (int i = 0; i < 2; i++) /* the first takes the spare that may be there */
        assert_int_equal(wbi_capture_start(b->runner, &s, count_end, &ended, &c, NULL), WB_OK);
    ticks = ticks_of(holder);
    assert_int_equal(wbi_timer_new(b->loop, set, &later, &timer), WB_OK);
    wbi_timer_start(timer, 500);
    wbi_loop_run(b->loop, &later);
    wbi_timer_free(timer);
    ticks = ticks_of(holder) - ticks;
    assert_int_equal(prlimit(holder, RLIMIT_NOFILE, &before, NULL), 0);
    assert_true(ended < 2);
    while (ended < 2)
        (void)wbi_loop_turn(b->loop, true);
    assert_true(ticks <= 5);
}

static void a_killed_keeper_takes_its_command_with_it(void **state)
{
    struct bench *b = *state;

    run(b, "(setsid sleep 60 &) ; sleep 0.05; kill -9 $PPID; sleep 60", 0);
    assert_true(b->end.status_lost || b->end.signal == SIGKILL);
    assert_int_equal(census_after_death(0, mark), 0);
    run(b, "echo next", 0);
    assert_string_equal(b->out, "next\n");
}

/* The holder wakes a keeper that its command has stopped; with the holder stopped, too, the
 * runtime kills the keeper some time after it should have answered. */
static void a_stopped_keeper_holds_up_no_timeout(void **state)
{
    struct bench *b = *state;

    run(b, "(setsid sleep 60 &) ; kill -STOP $PPID; exec sleep 60", 300);
    assert_true(b->end.timed_out);
    assert_int_equal(b->end.signal, SIGTERM);
    assert_true(b->end.duration_ns < 8 * WBI_NS_PER_S);
    assert_int_equal(census_after_death(0, mark), 0);
    run(b,
        "(setsid sleep 60 &) ; read -r a b c holder rest </proc/$PPID/stat;"
        "trap '' TERM; kill -STOP $holder; sleep 0.1; kill -STOP $PPID; exec sleep 60",
        1000);
    assert_true(b->end.timed_out);
    assert_int_equal(b->end.signal, SIGKILL);
    assert_int_equal(census_after_death(0, mark), 0);
    run(b, "echo next", 0);
    assert_string_equal(b->out, "next\n");
}

static void note_one_more(void *arg, const struct wbi_captured *c)
{
    int *well = arg;

    *well += c->end.rc == WB_OK && c->end.exit_status == 0;
}

/* C1.2: more requests than a stopped holder's socket takes. It is woken for each, so that all
 * of them run, and the loop waits for nobody. */
static void a_stopped_holder_is_woken_for_the_next_command(void **state)
{
    struct wbi_str env[] = {WBI_LIT("PATH=/usr/bin:/bin"), wbi_str_z(mark)};
    struct wbi_capture_spec s = {
        .process = {.shell_line = WBI_LIT("exit 0"), .env = env, .env_count = 2}};
    struct bench *b = *state;
    int well = 0;

    run(b, "read -r a b c holder rest </proc/$PPID/stat; kill -STOP $holder", 0);
    (void)alarm(100); /* to hang is to fail */
    for (int i = 0; i < 400; i++) {
        struct wbi_capture *c;
        (void)kill(wbi_holder_pid(b->runner->holder), SIGSTOP);
        assert_int_equal(wbi_capture_start(b->runner, &s, note_one_more, &well, &c, NULL), WB_OK);
    }
    (void)kill(wbi_holder_pid(b->runner->holder), SIGCONT);
    while (well < 400)
        (void)wbi_loop_turn(b->loop, true);
    (void)alarm(0);
}

static bool launch_briefly(struct bench *b, const struct wbi_launch *l)
{
    struct wbi_error err = WBI_ERROR_INIT;
    int keeper;

    if (wbi_holder_launch(b->runner->holder, l, &keeper, &err) == WB_OK)
        return close(keeper) == 0;
    assert_int_equal(err.kind, WBI_KIND_COMMAND_SPAWN_FAILED);
    return false;
}

/* Somebody keeps the holder from working whatever is done: each command is told within reason,
 * one way or the other. */
static void a_holder_that_is_stopped_again_and_again_holds_up_no_loop(void **state)
{
    static char text[30000];
    char *argv[] = {text, NULL}, *envp[] = {NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct wbi_launch l = {.path = "/bin/true",
                           .argv = argv,
                           .envp = envp,
                           .stdio = {null, null, null},
                           .workdir_fd = -1};
    struct bench *b = *state;
    pid_t holder, stopper;

    run(b, "echo one", 0);
    holder = wbi_holder_pid(b->runner->holder);
    memset(text, 'a', sizeof(text) - 1);
    stopper = fork();
    for (bool there = stopper == 0; there;)
        there = kill(holder, SIGSTOP) == 0 && getppid() != 1;
    if (stopper == 0)
        _exit(0);
    (void)alarm(100);             /* to hang is to fail */
    for (int i = 0; i < 100; i++) /* a socket takes a handful */
        (void)launch_briefly(b, &l);
    assert_int_equal(kill(stopper, SIGKILL), 0);
    assert_int_equal(waitpid(stopper, NULL, 0), stopper);
    while (!launch_briefly(b, &l))
        ;
    (void)close(null);
    run(b, "echo next", 0);
    (void)alarm(0);
    assert_string_equal(b->out, "next\n");
}

/* A shell line that leaves a tree behind: double forks, sessions, deaf and
 * stopped processes, some holding the pipes. */
static void random_tree(struct wbi_buf *line, int depth)
{
    static const char *const leaves[] = {"sleep 100",
                                         "sleep 100 >/dev/null 2>&1",
                                         "sh -c 'trap \"\" TERM INT HUP; sleep 100; sleep 100'",
                                         "sh -c 'kill -STOP $$; sleep 100'",
                                         "setsid sleep 100",
                                         "nohup sleep 100 >/dev/null 2>&1",
                                         "sh -c 'exec >&- 2>&-; sleep 100'"};
    size_t children = 1 + roll(3);

    for (size_t i = 0; i < children; i++) {
        bool nest = depth > 0 && roll(2) == 0;
        wbi_buf_addz(line, roll(2) ? "( " : "{ ");
        char close = line->p[line->n - 2] == '(' ? ')' : '}';
        if (nest)
            random_tree(line, depth - 1);
        else
            wbi_buf_addz(line, leaves[roll(sizeof(leaves) / sizeof(leaves[0]))]);
        wbi_buf_addz(line, nest ? " " : " & ");
        wbi_buf_addc(line, close);
        wbi_buf_addz(line, roll(3) ? " & " : "; ");
    }
}

static void random_trees_leave_nobody(void **state) /* S8 */
{
    struct bench *b = *state;
    int rounds = getenv("WAYBILL_SOAK") != NULL ? 1000 : 50;

    for (int i = 0; i < rounds; i++) {
        struct wbi_buf line;
        uint64_t was = seed;
        size_t how;
        struct wbi_capture *c;

        wbi_buf_init(&line, 1 << 20);
        random_tree(&line, 3);
        how = roll(4);
        wbi_buf_addz(&line, how == 0 ? " sleep 0.02" : how == 1 ? " exit 3" : " wait; sleep 100");
        c = start(b, line.p, how == 2 ? 40 : 0, (struct wbi_rlimits){0});
        if (how == 3)
            wbi_capture_cancel(c);
        wbi_loop_run(b->loop, &b->done);
        if (b->end.unkillable != 0 || census_after_death(0, mark) != 0)
            fail_msg("left over, seed %llu: %s", (unsigned long long)was, line.p);
        wbi_buf_fini(&line);
    }
}

static void start_trees_and_wait(int tell)
{
    struct bench b[4];
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    char bytes[4] = "go";

    if (wbi_loop_new(NULL, &loop, NULL) != WB_OK ||
        wbi_runner_new(loop, wbi_clock_system(), &runner, NULL) != WB_OK)
        _exit(1);
    for (int i = 0; i < 4; i++) {
        b[i] = (struct bench){.loop = loop, .runner = runner};
        (void)start(&b[i], "(setsid sh -c 'trap \"\" TERM; sleep 100' &) ; sleep 100 & sleep 100",
                    0, (struct wbi_rlimits){0});
    }
    if (write(tell, bytes, 1) != 1)
        _exit(1);
    for (;;)
        (void)wbi_loop_turn(loop, true);
}

static void killing_the_runtime_leaves_nobody(void **state) /* row 54 */
{
    int ends[2], alive = 0;
    char byte;
    pid_t runtime;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    runtime = fork();
    if (runtime == 0)
        start_trees_and_wait(ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    for (int i = 0; i < 1000 && alive < 12; i++) { /* let them begin, however busy the machine is */
        usleep(10000);
        alive = census(0, mark);
    }
    assert_int_equal(kill(runtime, SIGKILL), 0);
    assert_int_equal(waitpid(runtime, NULL, 0), runtime);
    assert_true(alive >= 12);
    assert_int_equal(census_after_death(0, mark), 0);
}

static void the_holder_does_not_keep_the_parents_memory(void **state)
{
    struct bench *b = *state;
    size_t size = 64u << 20;
    char *big = malloc(size), path[64], text[256];
    unsigned long pages = 0;
    FILE *f;

    assert_non_null(big);
    memset(big, 1, size);
    wbi_holder_free(b->runner->holder);
    b->runner->holder = NULL;
    run(b, "echo x", 0);
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)wbi_holder_pid(b->runner->holder));
    f = fopen(path, "re");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    assert_int_equal(sscanf(text, "%*u %lu", &pages), 1);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(pages * (unsigned long)sysconf(_SC_PAGESIZE) < 8u << 20);
#endif
    free(big);
}

/* A list of more children than fit ends in the middle of a number. */
static void half_a_number_is_nobodys(void **state)
{
    static const struct {
        const char *read, *kept;
        size_t room;
    } rows[] = {
        {"101 102 103 ", "101 102 103 ", 32},
        {"101 102 103", "101 102 103", 32},
        {"101 102 10", "101 102 ", 11},
        {"101 102 ", "101 102 ", 9},
        {"1012", "", 5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32];

        snprintf(text, sizeof(text), "%s", rows[i].read);
        wbi_scan_whole(text, strlen(text), rows[i].room);
        assert_string_equal(text, rows[i].kept);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_number_is_nobodys),
        cmocka_unit_test(a_daemon_with_the_pipe_dies_and_delays_nothing),
        cmocka_unit_test(a_quiet_daemon_dies_too),
        cmocka_unit_test(a_command_that_ended_in_time_is_not_late),
        cmocka_unit_test(a_runaway_tree_is_stopped_and_named),
        cmocka_unit_test(a_growing_tree_does_not_grow_on),
        cmocka_unit_test(long_arguments_reach_the_command),
        cmocka_unit_test(a_killed_holder_is_replaced),
        cmocka_unit_test(a_spare_that_cannot_get_ready_is_no_hurry),
        cmocka_unit_test(a_killed_keeper_takes_its_command_with_it),
        cmocka_unit_test(a_stopped_keeper_holds_up_no_timeout),
        cmocka_unit_test(a_stopped_holder_is_woken_for_the_next_command),
        cmocka_unit_test(a_holder_that_is_stopped_again_and_again_holds_up_no_loop),
        cmocka_unit_test(random_trees_leave_nobody),
        cmocka_unit_test(killing_the_runtime_leaves_nobody),
        cmocka_unit_test(the_holder_does_not_keep_the_parents_memory),
    };
    const char *given = getenv("WAYBILL_SEED");

    if (argc == 4 && strcmp(argv[1], "--spawn") == 0)
        return spawn(argv[2], argv[3]);
    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    snprintf(mark, sizeof(mark), "WAYBILL_CENSUS=%d-%llu", (int)getpid(), (unsigned long long)seed);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
