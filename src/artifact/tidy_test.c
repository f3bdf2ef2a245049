/* SPDX-License-Identifier: Apache-2.0
 * artifact/tidy_test.c: retention by age and size in bounded steps (C5.3, C5.4), what dead
 * writers left, and a count that is exact and cheap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "artifact/spool.h"
#include "artifact/store_int.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static char dir[64];
static struct wbi_artifact_store *store;
static struct wbi_clock_manual now;

static void open_store(const struct wbi_artifact_policy *policy)
{
    wbi_artifact_store_close(store);
    store = NULL;
    assert_int_equal(
        wbi_artifact_store_open(dir, policy, NULL, wbi_clock_by_hand(&now), &store, NULL), WB_OK);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/wb-tidy-XXXXXX");
    now.wall_ms = INT64_C(1794725756000);
    if (mkdtemp(dir) == NULL)
        return -1;
    open_store(NULL);
    return 0;
}

static int tear_down(void **state)
{
    char command[100];

    (void)state;
    wbi_artifact_store_close(store);
    store = NULL;
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

/* As if its last byte had come `days` ago. */
static void keep(const char *call, const char *text, int days)
{
    static const char *const roles[] = {"stdout", "stderr"};
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_spool *s;

    now.wall_ms -= days * DAY_MS;
    times[1].tv_sec = now.wall_ms / 1000;
    assert_int_equal(wbi_spool_open(store, wbi_str_z(call), roles, &s, NULL), WB_OK);
    wbi_spool_add(s, 0, wbi_str_z(text));
    assert_int_equal(wbi_spool_finish(s, 1, got, NULL), WB_OK);
    assert_int_equal(utimensat(wbi_artifact_dir(store), got[0].name, times, 0), 0);
    now.wall_ms += days * DAY_MS;
}

static bool is_there(const char *name)
{
    struct wbi_artifact a;

    return wbi_artifact_find(store, wbi_str_z(name), &a, NULL) == WB_OK;
}

static bool names_kept(void *arg, const struct wbi_artifact *a)
{
    ++*(int *)arg;
    return strncmp(a->call_id, "kept", 4) == 0;
}

static struct wbi_artifact_stats tidy(uint64_t most, bool expect_done)
{
    struct wbi_artifact_stats stats;
    int asked = 0;
    bool done;

    assert_int_equal(wbi_artifact_tidy(store, names_kept, &asked, most, &stats, &done, NULL),
                     WB_OK);
    assert_int_equal(done, expect_done);
    assert_true(stats.removed + stats.finished <= most);
    return stats;
}

static void what_is_too_old_goes_and_what_is_named_stays(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_artifact a;
    struct wbi_artifact_stats stats;

    (void)state;
    keep("old", "twenty days", 20);
    keep("kept", "twenty days too", 20);
    keep("young", "ten days", 10);
    keep("again", "twenty days", 1); /* the same text as old's: the same file */
    assert_int_equal(utimensat(wbi_artifact_dir(store), "again-stdout.log",
                               (struct timespec[2]){{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}}, 0),
                     0);
    assert_true(wbi_artifact_tidy_due(store));
    stats = tidy(100, true);
    assert_int_equal(stats.removed, 1);
    assert_int_equal(stats.removed_bytes, 0); /* "again" has them */
    assert_true(is_there("kept-stdout.log") && is_there("again-stdout.log"));
    assert_true(is_there("young-stdout.log"));
    assert_int_equal(wbi_artifact_find(store, WBI_LIT("old-stdout.log"), &a, &err), WB_ENOTFOUND);
    assert_int_equal(err.kind, WBI_KIND_ARTIFACT_EXPIRED);

    assert_false(wbi_artifact_tidy_due(store)); /* for an hour, whoever asks */
    now.wall_ms += 3600 * 1000;
    assert_true(wbi_artifact_tidy_due(store));
}

/* C5.4: what was written for weeks is young when it is finished. */
static void age_counts_from_the_end(void **state)
{
    static const char *const roles[] = {"stdout", "stderr"};
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_artifact_stats stats;
    struct wbi_spool *s;

    (void)state;
    assert_int_equal(wbi_spool_open(store, WBI_LIT("long"), roles, &s, NULL), WB_OK);
    wbi_spool_add(s, 0, WBI_LIT("twenty days"));
    now.wall_ms += 20 * DAY_MS;
    assert_int_equal(wbi_spool_finish(s, 1, got, NULL), WB_OK);
    assert_int_equal(utimensat(wbi_artifact_dir(store), got[0].name,
                               (struct timespec[2]){{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}}, 0),
                     0);
    assert_int_equal(tidy(100, true).removed, 0);
    assert_int_equal(wbi_artifact_prune(store, NULL, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.removed, 0);
    now.wall_ms += 20 * DAY_MS;
    assert_int_equal(tidy(100, true).removed, 1);
}

static void too_much_goes_from_the_oldest_on(void **state)
{
    struct wbi_artifact_policy p = {.store_bytes = 10};

    (void)state;
    keep("a", "aaaa", 3);
    keep("kept", "kkkk", 4);
    keep("b", "bbbb", 2);
    keep("c", "cccc", 1);
    keep("fresh", "ffff", 0); /* its call may not have told of it yet */
    open_store(&p);
    assert_int_equal(tidy(100, true).removed, 3);
    assert_true(is_there("kept-stdout.log") && is_there("fresh-stdout.log"));
    assert_false(is_there("a-stdout.log") || is_there("c-stdout.log"));
}

static void a_step_is_bounded_and_the_next_goes_on(void **state)
{
    char call[16];

    (void)state;
    for (int i = 0; i < 10; i++) {
        (void)snprintf(call, sizeof(call), "c%d", i);
        keep(call, call, 20 + i);
    }
    assert_int_equal(tidy(4, false).removed, 4);
    assert_true(wbi_artifact_tidy_due(store));
    assert_false(is_there("c9-stdout.log")); /* the oldest first */
    assert_true(is_there("c0-stdout.log"));
    assert_int_equal(tidy(4, false).removed, 4);
    assert_int_equal(tidy(4, true).removed, 2);
}

static void equal_contents_count_once_and_exactly(void **state)
{
    struct wbi_artifact_stats stats;

    (void)state;
    keep("a", "0123456", 0);
    keep("b", "0123456", 0);
    keep("c", "0123456", 0);
    keep("d", "xyz", 0);
    assert_int_equal(wbi_artifact_stat(store, &stats, NULL), WB_OK);
    assert_int_equal(stats.count, 4);
    assert_int_equal(stats.bytes, 10);
}

static void a_young_note_saves_the_count(void **state)
{
    struct wbi_artifact_policy p = {.store_bytes = 20};
    const char *why = NULL;

    (void)state;
    keep("a", "0123", 0);
    (void)tidy(9, true);
    keep("b", "45678", 0);
    open_store(NULL);
    assert_true(wbi_store_count(store));
    assert_int_equal(store->used, 4); /* as noted: far from full */
    open_store(&p);
    assert_true(wbi_store_count(store));
    assert_int_equal(store->used, 9); /* a small cap: what others wrote since may fill it */
    assert_int_equal(wbi_store_room(store, &why), 11);
    assert_string_equal(why, "store_quota");
    keep("c", "9abc", 0);
    (void)tidy(9, true); /* 13 of 20: near enough to look */
    keep("d", "def", 0);
    open_store(&p);
    assert_true(wbi_store_count(store));
    assert_int_equal(store->used, 16);
}

static void what_a_dead_writer_left_is_finished(void **state)
{
    static const char *const roles[] = {"stdout", "stderr"};
    struct wbi_artifact a;
    struct wbi_spool *s;
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0) {
        if (wbi_spool_open(store, WBI_LIT("dead"), roles, &s, NULL) != WB_OK)
            _exit(1);
        wbi_spool_add(s, 0, WBI_LIT("half a"));
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(wbi_spool_open(store, WBI_LIT("live"), roles, &s, NULL), WB_OK);
    wbi_spool_add(s, 0, WBI_LIT("still writing"));
    assert_int_equal(tidy(9, true).finished, 1);
    assert_int_equal(wbi_artifact_find(store, WBI_LIT("dead-stdout.log"), &a, NULL), WB_OK);
    assert_int_equal(a.bytes, 6);
    assert_string_equal(a.reason, "interrupted");
    assert_int_equal(wbi_artifact_find(store, WBI_LIT("live-stdout.log"), &a, NULL), WB_OK);
    assert_true(a.writing);
    wbi_spool_discard(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_too_old_goes_and_what_is_named_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(age_counts_from_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_much_goes_from_the_oldest_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_step_is_bounded_and_the_next_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_contents_count_once_and_exactly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_young_note_saves_the_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_dead_writer_left_is_finished, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
