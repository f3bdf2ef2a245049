/* SPDX-License-Identifier: Apache-2.0
 * artifact/race_test.c: a writer that finishes while another process looks (C5.3). The moment
 * between two steps of one is a call of the facts, in which the other acts. And facts that
 * find no room on the disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "artifact/spool.h"

static const char *const both[] = {"stdout", "stderr"};

/* Facts that tell somebody once: after a get that found nothing, before a put. */
struct bench {
    char dir[64], facts_dir[80];
    struct wbi_fact_dir *files;
    struct wbi_facts facts;
    struct wbi_artifact_store *writer, *reader;
    struct wbi_spool *spool;
    void (*after_miss)(struct bench *b);
    void (*before_put)(struct bench *b);
    struct wbi_artifact seen;
    const char *ballast; /* no fact can be stored while that artifact is there */
};

static void tell(struct bench *b, void (**who)(struct bench *))
{
    void (*now)(struct bench *) = *who;

    *who = NULL;
    if (now != NULL)
        now(b);
}

static wb_rc get(void *arg, struct wbi_str key, struct wbi_arena *arena, struct wbi_str *ret,
                 struct wbi_error *err)
{
    struct bench *b = arg;
    wb_rc rc = b->facts.get(b->facts.arg, key, arena, ret, err);

    if (rc == WB_ENOTFOUND)
        tell(b, &b->after_miss);
    return rc;
}

static wb_rc put(void *arg, struct wbi_str key, const struct wbi_str *had, struct wbi_str json,
                 struct wbi_error *err)
{
    struct bench *b = arg;

    char path[96];
    struct stat st;

    tell(b, &b->before_put);
    snprintf(path, sizeof(path), "%s/%s", b->dir, b->ballast != NULL ? b->ballast : "none");
    if (stat(path, &st) == 0)
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_LOW_DISK_SPACE, "no space left");
    return b->facts.put(b->facts.arg, key, had, json, err);
}

static wb_rc list(void *arg, bool (*each)(void *, struct wbi_str), void *each_arg,
                  struct wbi_error *err)
{
    struct bench *b = arg;

    return b->facts.list(b->facts.arg, each, each_arg, err);
}

static wb_rc discard(void *arg, struct wbi_str key, struct wbi_error *err)
{
    struct bench *b = arg;

    return b->facts.remove(b->facts.arg, key, err);
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct wbi_facts told = {b, put, get, list, discard};

    assert_non_null(b);
    strcpy(b->dir, "/tmp/wb-race-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->facts_dir, sizeof(b->facts_dir), "%s/.facts", b->dir);
    assert_int_equal(wbi_fact_dir_open(b->facts_dir, &b->files, NULL), WB_OK);
    b->facts = wbi_fact_dir_facts(b->files);
    assert_int_equal(
        wbi_artifact_store_open(b->dir, NULL, &told, wbi_clock_system(), &b->writer, NULL), WB_OK);
    assert_int_equal(
        wbi_artifact_store_open(b->dir, NULL, &told, wbi_clock_system(), &b->reader, NULL), WB_OK);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    char command[128];

    wbi_artifact_store_close(b->writer);
    wbi_artifact_store_close(b->reader);
    wbi_fact_dir_close(b->files);
    snprintf(command, sizeof(command), "rm -rf %s", b->dir);
    assert_int_equal(system(command), 0);
    free(b);
    return 0;
}

static void begin(struct bench *b, const char *call, const char *text)
{
    assert_int_equal(wbi_spool_open(b->writer, wbi_str_z(call), both, &b->spool, NULL), WB_OK);
    wbi_spool_add(b->spool, 0, wbi_str_z(text));
}

static void finish(struct bench *b)
{
    struct wbi_artifact got[2];

    assert_int_equal(wbi_spool_finish(b->spool, 1, got, NULL), WB_OK);
}

static void discard_output(struct bench *b)
{
    wbi_spool_discard(b->spool);
}

static void look(struct bench *b)
{
    assert_int_equal(wbi_artifact_find(b->reader, WBI_LIT("b-stdout.log"), &b->seen, NULL), WB_OK);
}

static void a_writer_that_ends_meanwhile_is_not_taken_for_dead(void **state)
{
    struct bench *b = *state;
    struct wbi_arena *arena;
    struct wbi_artifact *all;
    size_t n;

    begin(b, "b", "all of it\n");
    b->after_miss = finish;
    look(b);
    assert_true(b->seen.complete);
    assert_string_equal(b->seen.reason, "");
    look(b); /* and its fact is the writer's */
    assert_true(b->seen.complete);

    begin(b, "c", "that too\n");
    b->after_miss = finish;
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
    assert_int_equal(wbi_artifact_list(b->reader, arena, &all, &n, NULL), WB_OK);
    assert_int_equal(n, 2);
    assert_true(all[0].complete && all[1].complete);
    wbi_arena_free(arena);
}

static void output_that_is_dropped_meanwhile_is_not_found(void **state)
{
    struct bench *b = *state;

    begin(b, "b", "nobody needs it\n");
    b->after_miss = discard_output;
    assert_int_equal(wbi_artifact_find(b->reader, WBI_LIT("b-stdout.log"), &b->seen, NULL),
                     WB_ENOTFOUND);
}

/* Equal contents become one file only when the fact is there: that file has no lock. */
static void an_equal_file_comes_in_after_the_fact(void **state)
{
    struct bench *b = *state;
    char path[96];
    struct stat one, other;

    begin(b, "a", "the same\n");
    finish(b);
    begin(b, "b", "the same\n");
    b->before_put = look;
    finish(b);
    assert_true(b->seen.writing);
    look(b);
    assert_true(b->seen.complete);
    snprintf(path, sizeof(path), "%s/a-stdout.log", b->dir);
    assert_int_equal(stat(path, &one), 0);
    snprintf(path, sizeof(path), "%s/b-stdout.log", b->dir);
    assert_int_equal(stat(path, &other), 0);
    assert_true(one.st_ino == other.st_ino);
}

static void pruning_makes_room_on_a_full_disk(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact_stats stats;
    struct wbi_error err = WBI_ERROR_INIT;

    begin(b, "a", "some\n");
    finish(b);
    begin(b, "b", "more\n");
    finish(b);
    b->ballast = "b-stdout.log";
    wbi_artifact_set_age(b->reader, -1000);
    assert_int_equal(wbi_artifact_prune(b->reader, NULL, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.removed, 2);
    assert_int_equal(wbi_artifact_find(b->reader, WBI_LIT("a-stdout.log"), &b->seen, &err),
                     WB_ENOTFOUND);
    assert_int_equal(err.kind, WBI_KIND_ARTIFACT_EXPIRED);
    assert_int_equal(wbi_artifact_verify(b->reader, NULL, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.bad, 0);
    assert_int_equal(stats.expired, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_writer_that_ends_meanwhile_is_not_taken_for_dead),
        TEST(output_that_is_dropped_meanwhile_is_not_found),
        TEST(an_equal_file_comes_in_after_the_fact),
        TEST(pruning_makes_room_on_a_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
