/* SPDX-License-Identifier: Apache-2.0
 * run/tasks_test.c: commands with spooled output, promotion, tasks and what is
 * left of them after a crash (C5.2, C7.1, C7.2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "artifact/read.h"
#include "loop/loop.h"
#include "run/tasks.h"
#include "run/tasks_int.h"
#include "support/census.h"
#include "text/secrets.h"

struct bench {
    char dir[64], facts_dir[80], store_dir[80];
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    struct wbi_artifact_store *store;
    struct wbi_fact_dir *facts;
    struct wbi_tasks *tasks;
    struct wbi_arena *arena;
    uint64_t ids;
    int finished;
    bool done;
    struct wbi_process_end end;
    struct wbi_spool *spool;
    uint64_t seen;
};

static void on_finished(void *arg, const struct wbi_task_info *task)
{
    struct bench *b = arg;

    assert_true(wbi_task_over(task->state));
    b->finished++;
    b->done = true;
}

static void open_all(struct bench *b, const char *owner)
{
    struct wbi_tasks_config c = {
        .clock = wbi_clock_system(), .ids = wbi_ids_system(), .on_finished = on_finished, .arg = b};

    assert_int_equal(wbi_loop_new(NULL, &b->loop, NULL), WB_OK);
    assert_int_equal(wbi_runner_new(b->loop, c.clock, &b->runner, NULL), WB_OK);
    assert_int_equal(wbi_artifact_store_open(b->store_dir, NULL, NULL, c.clock, &b->store, NULL),
                     WB_OK);
    assert_int_equal(wbi_fact_dir_open(b->facts_dir, &b->facts, NULL), WB_OK);
    c.loop = b->loop;
    c.runner = b->runner;
    c.store = b->store;
    c.facts = wbi_fact_dir_facts(b->facts);
    snprintf(c.owner, sizeof(c.owner), "%s", owner);
    assert_int_equal(wbi_tasks_new(&c, &b->tasks, NULL), WB_OK);
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    if (b == NULL || wbi_arena_new(64u << 20, &b->arena) != WB_OK)
        return -1;
    strcpy(b->dir, "/tmp/wb-tasks-XXXXXX");
    if (mkdtemp(b->dir) == NULL)
        return -1;
    snprintf(b->facts_dir, sizeof(b->facts_dir), "%s/tasks", b->dir);
    snprintf(b->store_dir, sizeof(b->store_dir), "%s/artifacts", b->dir);
    open_all(b, "me");
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    char command[128];

    assert_int_equal(wbi_tasks_busy(b->tasks), 0);
    wbi_tasks_free(b->tasks);
    wbi_runner_free(b->runner);
    wbi_artifact_store_close(b->store);
    wbi_fact_dir_close(b->facts);
    wbi_loop_free(b->loop);
    wbi_arena_free(b->arena);
    snprintf(command, sizeof(command), "rm -rf %s", b->dir);
    assert_int_equal(system(command), 0);
    free(b);
    return 0;
}

static void count(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    (void)stream;
    ((struct bench *)arg)->seen += bytes.n;
}

static void ended(void *arg, const struct wbi_process_end *end, struct wbi_spool *spool)
{
    struct bench *b = arg;

    b->end = *end;
    b->spool = spool;
    b->done = true;
}

/* cmd: what it is called, whatever it runs. */
static struct wbi_command *start_as(struct bench *b, struct wbi_str cmd, const char *line,
                                    enum wbi_stdin_kind in)
{
    static const struct wbi_command_ops ops = {count, ended};
    static const struct wbi_str env[] = {WBI_LIT_INIT("PATH=/usr/bin:/bin")};
    char call[32];
    struct wbi_command_spec s = {.process = {.shell_line = wbi_str_z(line),
                                             .env = env,
                                             .env_count = 1,
                                             .stdin_kind = in,
                                             .grace_ms = 100,
                                             .linger_ms = 100},
                                 .cmd = cmd,
                                 .workdir = WBI_LIT("/w"),
                                 .accepts_input = in != WBI_STDIN_NULL};
    struct wbi_command *c = NULL;
    struct wbi_error err = WBI_ERROR_INIT;

    snprintf(call, sizeof(call), "call_%llu", (unsigned long long)++b->ids);
    s.call_id = wbi_str_z(call);
    b->done = false;
    b->seen = 0;
    if (wbi_command_start(b->tasks, &s, &ops, b, &c, &err) != WB_OK)
        fail_msg("%s", err.text);
    return c;
}

static struct wbi_command *start(struct bench *b, const char *line, enum wbi_stdin_kind in)
{
    return start_as(b, wbi_str_z(line), line, in);
}

static struct wbi_str promote(struct bench *b, struct wbi_command *c)
{
    const char *id = NULL;

    assert_int_equal(wbi_command_promote(c, &id, NULL), WB_OK);
    return wbi_arena_str(b->arena, wbi_str_z(id));
}

static struct wbi_task_info info_of(struct bench *b, struct wbi_str id)
{
    struct wbi_task_info info;

    assert_int_equal(wbi_tasks_get(b->tasks, id, b->arena, &info, NULL), WB_OK);
    return info;
}

static const char *output_of(struct bench *b, const struct wbi_artifact *a)
{
    struct wbi_read_query q = {.first = 1};
    struct wbi_read_page page;

    assert_int_equal(wbi_artifact_read(b->store, a, &q, b->arena, &page, NULL), WB_OK);
    return wbi_arena_strz(b->arena, page.text);
}

static void turn_until_output(struct bench *b, uint64_t bytes)
{
    while (b->seen < bytes)
        (void)wbi_loop_turn(b->loop, true);
}

static void a_short_command_hands_its_spool_over(void **state)
{
    struct bench *b = *state;

    (void)start(b, "echo hi; echo oh >&2; exit 4", WBI_STDIN_NULL);
    wbi_loop_run(b->loop, &b->done);
    assert_int_equal(b->end.exit_status, 4);
    assert_int_equal(wbi_spool_counts(b->spool, 0).bytes, 3);
    assert_int_equal(wbi_spool_counts(b->spool, 1).lines, 1);
    wbi_spool_discard(b->spool);
    assert_int_equal(b->finished, 0);
}

static void promotion_keeps_the_process_and_every_byte(void **state)
{
    struct bench *b = *state;
    struct wbi_command *c = start(b, "echo $$; read x; echo got $x; exit 5", WBI_STDIN_PIPE);
    struct wbi_task_info info;
    struct wbi_str id;
    pid_t pid;

    turn_until_output(b, 2);
    while ((pid = wbi_process_pid(wbi_command_process(c))) == 0)
        (void)wbi_loop_turn(b->loop, true);
    id = promote(b, c);
    info = info_of(b, id);
    assert_int_equal(info.state, WBI_TASK_RUNNING);
    assert_int_equal(atoi(output_of(b, &info.output[0])), pid); /* readable while it runs */
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_LIT("me\n"), true, NULL), WB_OK);
    b->done = false;
    wbi_loop_run(b->loop, &b->done);
    info = info_of(b, id);
    assert_int_equal(info.state, WBI_TASK_COMPLETED);
    assert_int_equal(info.exit_status, 5);
    assert_int_equal(info.containment, WBI_CONTAIN_HOLDER);
    assert_true(info.output[0].complete);
    assert_non_null(strstr(output_of(b, &info.output[0]), "\ngot me\n"));
    assert_int_equal(b->finished, 1);
}

static void note_retrieval(void *arg, enum wbi_retrieval r)
{
    *(int *)arg = (int)r;
}

static void waiting_has_three_answers(void **state)
{
    struct bench *b = *state;
    struct wbi_str id = promote(b, start(b, "read x", WBI_STDIN_PIPE));
    struct wbi_task_wait *w = NULL, *gone = NULL;
    int r = -1, never = -1;

    assert_int_equal(wbi_tasks_wait(b->tasks, id, 0, note_retrieval, &r, &w, NULL), WB_OK);
    assert_string_equal(wbi_retrieval_name((enum wbi_retrieval)r), "not_ready");
    r = -1;
    assert_int_equal(wbi_tasks_wait(b->tasks, id, 20, note_retrieval, &r, &w, NULL), WB_OK);
    while (r == -1)
        (void)wbi_loop_turn(b->loop, true);
    assert_string_equal(wbi_retrieval_name((enum wbi_retrieval)r), "timeout");
    r = -1;
    assert_int_equal(wbi_tasks_wait(b->tasks, id, 60000, note_retrieval, &r, &w, NULL), WB_OK);
    assert_int_equal(wbi_tasks_wait(b->tasks, id, 60000, note_retrieval, &never, &gone, NULL),
                     WB_OK);
    wbi_tasks_unwait(gone);
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_NONE, true, NULL), WB_OK);
    while (r == -1)
        (void)wbi_loop_turn(b->loop, true);
    assert_string_equal(wbi_retrieval_name((enum wbi_retrieval)r), "success");
    assert_int_equal(never, -1);
    r = -1;
    assert_int_equal(wbi_tasks_wait(b->tasks, id, 60000, note_retrieval, &r, &w, NULL), WB_OK);
    assert_int_equal(r, WBI_RETRIEVAL_SUCCESS); /* over is over */
}

static void stopping_asks_then_forces_and_never_regresses(void **state)
{
    struct bench *b = *state;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_str id =
        promote(b, start(b, "trap '' TERM; echo part; while :; do sleep 1; done", WBI_STDIN_NULL));
    struct wbi_task_info info;

    while (info_of(b, id).output[0].bytes == 0)
        (void)wbi_loop_turn(b->loop, true);
    b->done = false;
    assert_int_equal(wbi_tasks_stop(b->tasks, id, NULL), WB_OK);
    assert_int_equal(info_of(b, id).state, WBI_TASK_CANCELLING);
    assert_int_equal(wbi_tasks_stop(b->tasks, id, NULL), WB_OK);
    wbi_loop_run(b->loop, &b->done);
    info = info_of(b, id);
    assert_int_equal(info.state, WBI_TASK_CANCELLED);
    assert_int_equal(info.signal, SIGKILL);
    assert_string_equal(output_of(b, &info.output[0]), "part\n");
    assert_int_equal(wbi_tasks_stop(b->tasks, id, &err), WB_EMISUSE);
    assert_int_equal(err.kind, WBI_KIND_TASK_NOT_RUNNING);
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_LIT("x"), false, &err), WB_EMISUSE);
    assert_int_equal(wbi_tasks_stop(b->tasks, WBI_LIT("task_unknown"), &err), WB_ENOTFOUND);
    assert_int_equal(err.kind, WBI_KIND_TASK_NOT_FOUND);
    assert_int_equal(wbi_tasks_stop(b->tasks, WBI_LIT("../x"), &err), WB_ENOTFOUND);
}

/* Whoever asks while its output goes to the disk: it is nobody else's, and was not cancelled. */
static void what_has_ended_by_itself_is_not_stopped(void **state)
{
    struct bench *b = *state;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_command *c = start(b, "echo part; exit 3", WBI_STDIN_PIPE);
    struct wbi_str id = promote(b, c);
    struct wbi_task_info info;

    while ((c = wbi_task_live(b->tasks, id)) != NULL && c->process != NULL)
        (void)wbi_loop_turn(b->loop, true);
    assert_non_null(c);
    assert_int_equal(info_of(b, id).state, WBI_TASK_RUNNING);
    assert_int_equal(wbi_tasks_stop(b->tasks, id, &err), WB_OK);
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_LIT("x"), false, &err), WB_EMISUSE);
    assert_int_equal(err.kind, WBI_KIND_TASK_NOT_RUNNING);
    assert_non_null(strstr(err.text, "has ended"));
    wbi_tasks_stop_all(b->tasks);
    b->done = false;
    wbi_loop_run(b->loop, &b->done);
    info = info_of(b, id);
    assert_int_equal(info.state, WBI_TASK_COMPLETED);
    assert_int_equal(info.exit_status, 3);
}

static struct wbi_str fact_of(struct bench *b, struct wbi_str id)
{
    struct wbi_facts facts = wbi_fact_dir_facts(b->facts);
    struct wbi_str text;

    assert_int_equal(facts.get(facts.arg, id, b->arena, &text, NULL), WB_OK);
    return text;
}

static bool holds(struct wbi_str text, const char *part)
{
    return wbi_str_find(text, wbi_str_z(part)) < text.n;
}

/* C8.8: also of a command that became a task. */
static void no_secret_gets_into_a_fact(void **state)
{
    struct bench *b = *state;
    struct wbi_secrets_known known = {.value = WBI_LIT("hunter2-hunter2")};
    struct wbi_secrets_options options = {.key = WBI_LIT("k"), .known = &known, .n_known = 1};
    struct wbi_secrets *secrets;
    struct wbi_str id, fact;

    assert_int_equal(wbi_secrets_new(&options, &secrets, NULL, NULL), WB_OK);
    b->tasks->config.secrets = secrets;
    id = promote(b, start(b, "read x; : ghp_abcdefghijklmnopqrstuvwxyz0123456789 hunter2-hunter2",
                          WBI_STDIN_PIPE));
    fact = fact_of(b, id);
    assert_false(holds(fact, "ghp_"));
    assert_false(holds(fact, "hunter2"));
    assert_true(holds(fact, "read x; : [redacted:github-token:"));
    assert_true(wbi_str_ends(info_of(b, id).cmd, WBI_LIT("hunter2-hunter2"))); /* duplicates */
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_NONE, true, NULL), WB_OK);
    wbi_loop_run(b->loop, &b->done);
    assert_false(holds(fact_of(b, id), "hunter2"));
    b->tasks->config.secrets = NULL;
    wbi_secrets_free(secrets);
}

/* One that is promoted before it runs is told as running once it does. */
static void a_start_is_stored(void **state)
{
    struct bench *b = *state;
    struct wbi_str id = promote(b, start(b, "read x; sleep 0.05", WBI_STDIN_PIPE));
    struct wbi_command *c = wbi_task_live(b->tasks, id);

    assert_true(holds(fact_of(b, id), "\"state\":\"queued\""));
    while (wbi_process_pid(c->process) == 0)
        (void)wbi_loop_turn(b->loop, true);
    assert_true(holds(fact_of(b, id), "\"state\":\"running\""));
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_NONE, true, NULL), WB_OK);
    wbi_loop_run(b->loop, &b->done);
}

/* C7.1: it is promoted however long it is; the record keeps the beginning. */
static void the_longest_command_becomes_a_task(void **state)
{
    struct bench *b = *state;
    char *bells = malloc(WBI_LIMIT_ARGUMENT_BYTES);
    struct wbi_str cmd = wbi_str_make(bells, WBI_LIMIT_ARGUMENT_BYTES);
    struct wbi_command *c;
    struct wbi_str id;

    assert_non_null(bells);
    memset(bells, '\a', cmd.n); /* six bytes in JSON */
    c = start_as(b, cmd, "read x", WBI_STDIN_PIPE);
    id = promote(b, c);
    assert_true(wbi_str_eq(info_of(b, id).cmd, cmd));
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_NONE, true, NULL), WB_OK);
    wbi_loop_run(b->loop, &b->done);
    assert_int_equal(info_of(b, id).cmd.n, 64u * WBI_KIB);
    free(bells);
}

static const char *duplicate_of(const struct bench *b, const char *line, const char *dir,
                                struct wbi_str shell, bool tty)
{
    return wbi_tasks_duplicate(b->tasks, wbi_str_z(line), wbi_str_z(dir), shell, WBI_NONE, tty,
                               /* wants_input= */ false);
}

static void only_promoted_running_tasks_are_duplicates(void **state) /* I5 */
{
    struct bench *b = *state;
    struct wbi_command *c = start(b, "read x", WBI_STDIN_PIPE);
    struct wbi_str id;

    assert_null(duplicate_of(b, "read x", "/w", WBI_NONE, false));
    id = promote(b, c);
    assert_string_equal(duplicate_of(b, "read x", "/w", WBI_NONE, false), id.p);
    assert_null(duplicate_of(b, "read y", "/w", WBI_NONE, false));
    assert_null(duplicate_of(b, "read x", "/v", WBI_NONE, false));
    assert_null(duplicate_of(b, "read x", "/w", WBI_LIT("/bin/bash"), false));
    assert_null(duplicate_of(b, "read x", "/w", WBI_NONE, true));
    b->done = false;
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_NONE, true, NULL), WB_OK);
    wbi_loop_run(b->loop, &b->done);
    assert_null(duplicate_of(b, "read x", "/w", WBI_NONE, false));
}

/* Whoever wants to type has no use for a task without input, and whoever starts a command after
 * TaskStop none for the one that is about to end. */
static void a_task_that_cannot_stand_for_the_new_one_is_no_duplicate(void **state)
{
    struct bench *b = *state;
    struct wbi_command *c = start(b, "sleep 100", WBI_STDIN_NULL);
    struct wbi_str id = promote(b, c), cmd = c->info.cmd, dir = c->info.workdir;

    assert_string_equal(wbi_tasks_duplicate(b->tasks, cmd, dir, WBI_NONE, WBI_NONE, false, false),
                        id.p);
    assert_null(wbi_tasks_duplicate(b->tasks, cmd, dir, WBI_NONE, WBI_NONE, false, true));
    b->done = false;
    assert_int_equal(wbi_tasks_stop(b->tasks, id, NULL), WB_OK);
    assert_null(wbi_tasks_duplicate(b->tasks, cmd, dir, WBI_NONE, WBI_NONE, false, false));
    wbi_loop_run(b->loop, &b->done);
}

/* TaskInput says of a closed input to start the command again: that must not find this task. */
static void a_task_whose_input_is_closed_is_no_duplicate_for_more(void **state)
{
    struct bench *b = *state;
    struct wbi_command *c = start(b, "cat; sleep 100", WBI_STDIN_PIPE);
    struct wbi_str id = promote(b, c), cmd = c->info.cmd, dir = c->info.workdir;

    assert_string_equal(wbi_tasks_duplicate(b->tasks, cmd, dir, WBI_NONE, WBI_NONE, false, true),
                        id.p);
    assert_int_equal(wbi_tasks_input(b->tasks, id, WBI_NONE, true, NULL), WB_OK);
    assert_null(wbi_tasks_duplicate(b->tasks, cmd, dir, WBI_NONE, WBI_NONE, false, true));
    assert_string_equal(wbi_tasks_duplicate(b->tasks, cmd, dir, WBI_NONE, WBI_NONE, false, false),
                        id.p);
    b->done = false;
    assert_int_equal(wbi_tasks_stop(b->tasks, id, NULL), WB_OK);
    wbi_loop_run(b->loop, &b->done);
}

static void results_are_told_once_and_none_is_lost(void **state)
{
    struct bench *b = *state;
    char first[WBI_ID_SIZE], second[WBI_ID_SIZE], none[WBI_ID_SIZE];

    for (int i = 0; i < 2; i++) {
        (void)promote(b, start(b, "true", WBI_STDIN_NULL));
        b->done = false;
        wbi_loop_run(b->loop, &b->done);
    }
    assert_int_equal(wbi_tasks_take_finished(b->tasks, first, NULL), WB_OK);
    assert_int_equal(wbi_tasks_take_finished(b->tasks, second, NULL), WB_OK);
    assert_string_not_equal(first, second);
    assert_int_equal(wbi_tasks_take_finished(b->tasks, none, NULL), WB_ENOTFOUND);
}

static void a_terminal_is_one_stream(void **state)
{
    struct bench *b = *state;
    struct wbi_str id = promote(b, start(b, "echo out; echo err >&2", WBI_STDIN_TTY));
    struct wbi_task_info info;

    b->done = false;
    wbi_loop_run(b->loop, &b->done);
    info = info_of(b, id);
    assert_string_equal(info.output[0].role, "combined");
    assert_string_equal(output_of(b, &info.output[0]), "out\r\nerr\r\n");
    assert_string_equal(info.output[1].name, "");
}

static void run_until_killed(struct bench *b, int tell)
{
    struct wbi_command *c;

    open_all(b, "other"); /* the parent's loop is the parent's */
    c = start(b, "echo before; sleep 100", WBI_STDIN_NULL);
    turn_until_output(b, 7);
    (void)promote(b, c);
    if (write(tell, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)wbi_loop_turn(b->loop, true);
}

static void a_killed_runtime_leaves_interrupted_tasks_with_their_output(void **state)
{
    struct bench *b = *state;
    struct wbi_task_info *all;
    uint64_t recovered = 0;
    size_t n;
    int ends[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0)
        run_until_killed(b, ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(wbi_tasks_recover(b->tasks, &recovered, NULL), WB_OK);
    assert_int_equal(recovered, 1);
    assert_int_equal(wbi_tasks_list(b->tasks, b->arena, &all, &n, NULL), WB_OK);
    assert_int_equal(n, 1);
    assert_int_equal(all[0].state, WBI_TASK_INTERRUPTED);
    assert_string_equal(output_of(b, &all[0].output[0]), "before\n");
    assert_false(all[0].output[0].complete);
    assert_string_equal(all[0].output[0].reason, "interrupted");
    assert_int_equal(wbi_tasks_recover(b->tasks, &recovered, NULL), WB_OK);
    assert_int_equal(recovered, 0);
}

static struct wbi_task_info stored_task(struct bench *b, const char *owner,
                                        enum wbi_task_state state)
{
    struct wbi_task_info info = {.id = "task_1", .state = state, .started_ms = 1};

    snprintf(info.owner, sizeof(info.owner), "%s", owner);
    assert_int_equal(wbi_task_store(b->tasks, &info, NULL, NULL), WB_OK);
    return info;
}

/* The owner stores how its task ended, and is gone when somebody asks whether it lives. */
static bool ends_meanwhile(void *arg, const char *owner)
{
    (void)stored_task(arg, owner, WBI_TASK_COMPLETED);
    return false;
}

static void a_task_that_ends_while_its_owner_leaves_stays_ended(void **state) /* C7.2 */
{
    struct bench *b = *state;
    uint64_t recovered = 9;

    (void)stored_task(b, "other", WBI_TASK_RUNNING);
    b->tasks->config.owner_alive = ends_meanwhile;
    assert_int_equal(wbi_tasks_recover(b->tasks, &recovered, NULL), WB_OK);
    assert_int_equal(recovered, 0);
    assert_int_equal(info_of(b, WBI_LIT("task_1")).state, WBI_TASK_COMPLETED);
}

/* Another process tells of the task just before this one notes that it does. */
static wb_rc put_second(void *arg, struct wbi_str key, const struct wbi_str *had,
                        struct wbi_str json, struct wbi_error *err)
{
    struct wbi_facts facts = wbi_fact_dir_facts(arg);
    struct wbi_str other = WBI_LIT("{\"id\":\"task_1\",\"state\":\"failed\",\"delivered\":true}");

    assert_int_equal(facts.put(facts.arg, key, NULL, other, err), WB_OK);
    return facts.put(facts.arg, key, had, json, err);
}

static void two_processes_tell_of_a_task_once(void **state) /* C7.2 */
{
    struct bench *b = *state;
    char id[WBI_ID_SIZE];

    (void)stored_task(b, "other", WBI_TASK_FAILED);
    b->tasks->config.facts.put = put_second;
    assert_int_equal(wbi_tasks_take_finished(b->tasks, id, NULL), WB_ENOTFOUND);
    assert_true(info_of(b, WBI_LIT("task_1")).delivered);
}

static void what_ended_long_ago_is_forgotten(void **state)
{
    static const struct {
        const char *id;
        enum wbi_task_state state;
        int64_t ended_ms;
        bool stays;
    } rows[] = {{"task_1", WBI_TASK_COMPLETED, 100, false}, {"task_2", WBI_TASK_FAILED, 99, false},
                {"task_3", WBI_TASK_COMPLETED, 200, true},  {"task_4", WBI_TASK_RUNNING, 0, true},
                {"task_5", WBI_TASK_INTERRUPTED, 1, false}, {"task_6", WBI_TASK_QUEUED, 0, true}};
    struct bench *b = *state;
    uint64_t count;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wbi_task_info info = {.owner = "me", .ended_ms = rows[i].ended_ms};
        strcpy(info.id, rows[i].id);
        info.state = rows[i].state;
        assert_int_equal(wbi_task_store(b->tasks, &info, NULL, NULL), WB_OK);
    }
    assert_int_equal(wbi_tasks_forget(b->tasks, 200, 2, &count, NULL), WB_OK);
    assert_int_equal(count, 2);
    assert_int_equal(wbi_tasks_forget(b->tasks, 200, 2, &count, NULL), WB_OK);
    assert_int_equal(count, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wbi_task_info info;
        wb_rc rc = wbi_tasks_get(b->tasks, wbi_str_z(rows[i].id), b->arena, &info, NULL);
        assert_int_equal(rc, rows[i].stays ? WB_OK : WB_ENOTFOUND);
    }
}

static bool full;

static wb_rc put_full(void *arg, struct wbi_str key, const struct wbi_str *had, struct wbi_str json,
                      struct wbi_error *err)
{
    struct wbi_facts facts = wbi_fact_dir_facts(arg);

    if (full)
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_LOW_DISK_SPACE, "no room");
    return facts.put(facts.arg, key, had, json, err);
}

static void an_end_that_found_no_room_is_stored_later(void **state) /* C7.2 */
{
    struct bench *b = *state;
    struct wbi_task_info info;

    for (int leaves = 0; leaves < 2; leaves++) {
        struct wbi_str id = promote(b, start(b, "exit 3", WBI_STDIN_NULL));
        b->tasks->config.facts.put = put_full;
        full = true;
        b->done = false;
        wbi_loop_run(b->loop, &b->done);
        assert_int_equal(info_of(b, id).state, WBI_TASK_COMPLETED);
        full = false;
        assert_int_equal(wbi_task_load(b->tasks, id, b->arena, &info, NULL), WB_OK);
        assert_false(wbi_task_over(info.state));
        if (leaves) { /* what the process after this one finds */
            wbi_tasks_settle(b->tasks);
            assert_null(b->tasks->commands);
        } else {
            assert_int_equal(info_of(b, id).state, WBI_TASK_COMPLETED);
        }
        assert_int_equal(wbi_task_load(b->tasks, id, b->arena, &info, NULL), WB_OK);
        assert_int_equal(info.state, WBI_TASK_COMPLETED);
        assert_int_equal(info.exit_status, 3);
    }
}

static long resident_kib(void)
{
    char text[256];
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    assert_int_equal(sscanf(text, "%*u %lu", &pages), 1);
    return (long)(pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

static void
a_flood_on_both_streams_is_kept_whole_in_flat_memory(void **state) /* S10, rows 42, 43 */
{
    struct bench *b = *state;
    unsigned long long each = getenv("WAYBILL_SOAK") != NULL ? 5ull << 30 : 32ull << 20;
    char line[200];
    struct wbi_artifact got[2];
    long before;

    (void)start(b, "echo warm", WBI_STDIN_NULL);
    wbi_loop_run(b->loop, &b->done);
    wbi_spool_discard(b->spool);
    before = resident_kib();
    snprintf(line, sizeof(line), "yes | head -c %llu & head -c %llu /dev/zero >&2; wait", each,
             each);
    (void)start(b, line, WBI_STDIN_NULL);
    wbi_loop_run(b->loop, &b->done);
    assert_int_equal(b->end.exit_status, 0);
    assert_true(wbi_spool_counts(b->spool, 0).bytes == each);
    assert_true(wbi_spool_counts(b->spool, 0).lines == each / 2);
    assert_true(wbi_spool_counts(b->spool, 1).bytes == each);
    assert_true(wbi_spool_counts(b->spool, 1).lines == 1); /* one line, as long as all */
    assert_int_equal(wbi_spool_finish(b->spool, 3, got, NULL), WB_OK);
    assert_true(got[0].complete && got[0].bytes == each && got[1].bytes == each);
    assert_true(resident_kib() - before < 16 * 1024);
}

static void a_refused_start_leaves_nothing(void **state)
{
    static const struct wbi_command_ops ops = {count, ended};
    struct bench *b = *state;
    struct wbi_str argv[] = {WBI_LIT("no-such-program")};
    struct wbi_command_spec s = {.process = {.argv = argv, .argc = 1}, .call_id = WBI_LIT("c")};
    struct wbi_artifact_stats stats;
    struct wbi_command *c;

    assert_int_equal(wbi_command_start(b->tasks, &s, &ops, b, &c, NULL), WB_ENOTFOUND);
    assert_int_equal(wbi_tasks_busy(b->tasks), 0);
    assert_int_equal(wbi_artifact_stat(b->store, &stats, NULL), WB_OK);
    assert_int_equal(stats.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_short_command_hands_its_spool_over),
        TEST(promotion_keeps_the_process_and_every_byte),
        TEST(waiting_has_three_answers),
        TEST(stopping_asks_then_forces_and_never_regresses),
        TEST(what_has_ended_by_itself_is_not_stopped),
        TEST(the_longest_command_becomes_a_task),
        TEST(only_promoted_running_tasks_are_duplicates),
        TEST(a_task_that_cannot_stand_for_the_new_one_is_no_duplicate),
        TEST(a_task_whose_input_is_closed_is_no_duplicate_for_more),
        TEST(no_secret_gets_into_a_fact),
        TEST(a_start_is_stored),
        TEST(results_are_told_once_and_none_is_lost),
        TEST(a_terminal_is_one_stream),
        TEST(a_killed_runtime_leaves_interrupted_tasks_with_their_output),
        TEST(a_task_that_ends_while_its_owner_leaves_stays_ended),
        TEST(two_processes_tell_of_a_task_once),
        TEST(what_ended_long_ago_is_forgotten),
        TEST(an_end_that_found_no_room_is_stored_later),
        TEST(a_flood_on_both_streams_is_kept_whole_in_flat_memory),
        TEST(a_refused_start_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
