/* SPDX-License-Identifier: Apache-2.0
 * run/alloc_test.c: a whole journey (start, spool, promote, wait, read, prune) with
 * the n-th allocation failing, for every n: no crash, no leak, no process left.
 * The allocator of base/ is replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "artifact/read.h"
#include "faults/base_fault.h"
#include "loop/loop.h"
#include "run/tasks.h"
#include "support/census.h"

struct journey {
    char dir[64], path[96], facts_path[96];
    struct wbi_loop *loop;
    struct wbi_runner *runner;
    struct wbi_artifact_store *store;
    struct wbi_fact_dir *facts;
    struct wbi_tasks *tasks;
    bool waited;
};

static void on_end(void *arg, const struct wbi_process_end *end, struct wbi_spool *spool)
{
    (void)arg;
    (void)end;
    wbi_spool_discard(spool);
}

static void on_ready(void *arg, enum wbi_retrieval r)
{
    (void)r;
    ((struct journey *)arg)->waited = true;
}

static wb_rc open_parts(struct journey *j)
{
    struct wbi_tasks_config c = {
        .clock = wbi_clock_system(), .ids = wbi_ids_system(), .owner = "o"};
    wb_rc rc = wbi_loop_new(NULL, &j->loop, NULL);

    if (rc == WB_OK)
        rc = wbi_runner_new(j->loop, c.clock, &j->runner, NULL);
    if (rc == WB_OK)
        rc = wbi_artifact_store_open(j->path, NULL, NULL, c.clock, &j->store, NULL);
    if (rc == WB_OK)
        rc = wbi_fact_dir_open(j->facts_path, &j->facts, NULL);
    if (rc != WB_OK)
        return rc;
    c.loop = j->loop;
    c.runner = j->runner;
    c.store = j->store;
    c.facts = wbi_fact_dir_facts(j->facts);
    return wbi_tasks_new(&c, &j->tasks, NULL);
}

static wb_rc run_one(struct journey *j)
{
    static const struct wbi_command_ops ops = {NULL, on_end};
    static const struct wbi_str env[] = {WBI_LIT_INIT("PATH=/usr/bin:/bin"),
                                         WBI_LIT_INIT("WAYBILL_ALLOC=1")};
    struct wbi_command_spec s = {.process = {.shell_line = WBI_LIT("echo a; echo b >&2; cat"),
                                             .env = env,
                                             .env_count = 2,
                                             .stdin_kind = WBI_STDIN_PIPE},
                                 .call_id = WBI_LIT("call"),
                                 .cmd = WBI_LIT("x")};
    struct wbi_task_wait *w = NULL;
    struct wbi_command *c = NULL;
    struct wbi_str id;
    const char *name = NULL;
    char copy[WBI_ID_SIZE];
    wb_rc rc = wbi_command_start(j->tasks, &s, &ops, j, &c, NULL);

    if (rc != WB_OK)
        return rc;
    rc = wbi_command_promote(c, &name, NULL);
    if (rc != WB_OK) {
        wbi_process_close_input(wbi_command_process(c));
        return rc;
    }
    snprintf(copy, sizeof(copy), "%s", name);
    id = wbi_str_z(copy);
    rc = wbi_tasks_input(j->tasks, id, WBI_LIT("hello\n"), true, NULL);
    if (rc == WB_OK)
        rc = wbi_tasks_wait(j->tasks, id, 60000, on_ready, j, &w, NULL);
    while (rc == WB_OK && !j->waited)
        (void)wbi_loop_turn(j->loop, true);
    return rc;
}

static wb_rc look_back(struct journey *j)
{
    struct wbi_read_query q = {.kind = WBI_READ_TAIL, .first = 2};
    struct wbi_task_info *tasks = NULL;
    struct wbi_artifact_stats stats;
    struct wbi_artifact found;
    struct wbi_read_page page;
    struct wbi_arena *arena = NULL;
    char id[WBI_ID_SIZE];
    size_t n = 0;
    wb_rc rc = wbi_arena_new(16u << 20, &arena);

    if (rc == WB_OK)
        rc = wbi_tasks_list(j->tasks, arena, &tasks, &n, NULL);
    if (rc == WB_OK)
        rc = wbi_tasks_take_finished(j->tasks, id, NULL);
    if (rc == WB_OK)
        rc = wbi_artifact_find(j->store, WBI_LIT("call-stdout.log"), &found, NULL);
    if (rc == WB_OK)
        rc = wbi_artifact_read(j->store, &found, &q, arena, &page, NULL);
    if (rc == WB_OK) {
        assert_true(wbi_str_eqz(page.text, "a\nhello\n"));
        rc = wbi_artifact_verify(j->store, NULL, NULL, &stats, NULL);
    }
    if (rc == WB_OK)
        rc = wbi_artifact_prune(j->store, NULL, NULL, &stats, NULL);
    wbi_arena_free(arena);
    return rc;
}

/* WB_OK when nothing failed. */
static wb_rc travel(struct journey *j)
{
    char command[128];
    wb_rc rc;

    strcpy(j->dir, "/tmp/wb-alloc-XXXXXX");
    assert_non_null(mkdtemp(j->dir));
    snprintf(j->path, sizeof(j->path), "%s/a", j->dir);
    snprintf(j->facts_path, sizeof(j->facts_path), "%s/t", j->dir);
    rc = open_parts(j);
    if (rc == WB_OK)
        rc = run_one(j);
    if (rc == WB_OK)
        rc = look_back(j);
    if (j->tasks != NULL) {
        wbi_tasks_stop_all(j->tasks);
        while (wbi_tasks_busy(j->tasks) > 0)
            (void)wbi_loop_turn(j->loop, true);
    }
    wbi_tasks_free(j->tasks);
    wbi_runner_free(j->runner);
    wbi_artifact_store_close(j->store);
    wbi_fact_dir_close(j->facts);
    wbi_loop_free(j->loop);
    snprintf(command, sizeof(command), "rm -rf %s", j->dir);
    assert_int_equal(system(command), 0);
    return rc;
}

static void every_failing_allocation_is_survived(void **state)
{
    bool complete = false;
    long n;

    (void)state;
    for (n = 0; n < 2000 && !complete; n++) {
        struct journey j = {.waited = false};
        wb_rc rc;
        live = 0;
        until_failure = n;
        rc = travel(&j);
        complete = rc == WB_OK && until_failure >= 0;
        until_failure = -1;
        if (live != 0)
            fail_msg("%ld allocations leaked when number %ld failed", live, n);
    }
    assert_true(complete);
    printf("%ld allocations failed in turn\n", n - 1);
    assert_int_equal(census_after_death(0, "WAYBILL_ALLOC=1"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failing_allocation_is_survived)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
