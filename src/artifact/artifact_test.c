/* SPDX-License-Identifier: Apache-2.0
 * artifact/artifact_test.c: spooling, finishing, finding, keeping (C5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "artifact/cleaner.h"
#include "artifact/read.h"
#include "artifact/spool.h"
#include "base/checked.h"
#include "loop/loop.h"

static const char *const both[] = {"stdout", "stderr"};

struct bench {
    char dir[256];
    struct wbi_artifact_store *store;
    struct wbi_clock_manual time;
    struct wbi_arena *arena;
};

static void open_store(struct bench *b, const struct wbi_artifact_policy *policy)
{
    struct wbi_error err = WBI_ERROR_INIT;

    wbi_artifact_store_close(b->store);
    b->store = NULL;
    if (wbi_artifact_store_open(b->dir, policy, NULL, wbi_clock_by_hand(&b->time), &b->store,
                                &err) != WB_OK)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    if (b == NULL || wbi_arena_new(256u << 20, &b->arena) != WB_OK)
        return -1;
    strcpy(b->dir, "/tmp/wb-artifacts-XXXXXX");
    if (mkdtemp(b->dir) == NULL)
        return -1;
    b->time.wall_ms = 1794725756000;
    open_store(b, NULL);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    char command[300];

    wbi_artifact_store_close(b->store);
    wbi_arena_free(b->arena);
    snprintf(command, sizeof(command), "rm -rf %s", b->dir);
    assert_int_equal(system(command), 0);
    free(b);
    return 0;
}

static struct wbi_spool *spool(struct bench *b, const char *call)
{
    struct wbi_spool *s = NULL;

    assert_int_equal(wbi_spool_open(b->store, wbi_str_z(call), both, &s, NULL), WB_OK);
    return s;
}

static struct wbi_artifact keep_text(struct bench *b, const char *call, const char *text)
{
    struct wbi_artifact got[2];
    struct wbi_spool *s = spool(b, call);

    wbi_spool_add(s, 0, wbi_str_z(text));
    assert_int_equal(wbi_spool_finish(s, 1, got, NULL), WB_OK);
    return got[0];
}

static char *slurp(struct bench *b, const char *name)
{
    static char text[4096];
    char path[512];
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", b->dir, name);
    f = fopen(path, "re");
    if (f == NULL)
        return NULL;
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static void the_path_is_readable_from_the_first_byte_to_the_end(void **state) /* C5.3 */
{
    struct bench *b = *state;
    struct wbi_spool *s = spool(b, "call_1");
    struct wbi_artifact got[2], found, *all;
    char name[WBI_ARTIFACT_NAME];
    size_t count;

    wbi_spool_add(s, 0, WBI_LIT("one\ntw"));
    snprintf(name, sizeof(name), "%s", wbi_spool_name(s, 0));
    assert_string_equal(name, "call_1-stdout.log");
    assert_string_equal(slurp(b, name), "one\ntw");
    assert_int_equal(
        wbi_artifact_find(b->store, wbi_artifact_path(b->store, b->arena, name), &found, NULL),
        WB_OK);
    assert_true(found.writing);
    assert_int_equal(wbi_artifact_list(b->store, b->arena, &all, &count, NULL), WB_OK);
    assert_int_equal(count, 1);
    assert_true(all[0].writing && !all[0].uncounted);
    assert_int_equal(all[0].lines, 2);
    assert_int_equal(all[0].bytes, 6);
    wbi_spool_add(s, 0, WBI_LIT("o"));
    assert_int_equal(wbi_spool_counts(s, 0).lines, 2);
    assert_int_equal(wbi_spool_finish(s, 3, got, NULL), WB_OK);
    assert_string_equal(got[0].name, name);
    assert_string_equal(got[1].name, ""); /* stderr was silent */
    assert_string_equal(slurp(b, name), "one\ntwo");
    assert_int_equal(got[0].bytes, 7);
    assert_int_equal(got[0].lines, 2);
    assert_true(got[0].complete);
    assert_string_equal(got[0].sha256,
                        "21066d108d5319ecb5a1fc4454f42ef22fc5f1c7df49c31d90294950e0ea8b2c");
    assert_int_equal(wbi_artifact_find(b->store, wbi_str_make(got[0].sha256, 8), &found, NULL),
                     WB_OK);
    assert_string_equal(found.name, name);
    assert_string_equal(found.role, "stdout");
    assert_string_equal(found.call_id, "call_1");
}

static void finished_files_are_immutable_and_equal_ones_share(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact one = keep_text(b, "call_a", "same\n"),
                        two = keep_text(b, "call_b", "same\n");
    char p1[512], p2[512];
    struct stat s1, s2;

    snprintf(p1, sizeof(p1), "%s/%s", b->dir, one.name);
    snprintf(p2, sizeof(p2), "%s/%s", b->dir, two.name);
    assert_int_equal(stat(p1, &s1), 0);
    assert_int_equal(stat(p2, &s2), 0);
    assert_int_equal(s1.st_ino, s2.st_ino);
    assert_int_equal(s1.st_mode & 0777, 0400);
    assert_string_equal(one.sha256, two.sha256);
}

static void a_repeated_call_id_overwrites_nothing(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact one = keep_text(b, "call_x", "first"),
                        two = keep_text(b, "call_x", "second");
    struct wbi_artifact odd = keep_text(b, "../../etc/x y", "odd");

    assert_string_equal(one.name, "call_x-stdout.log");
    assert_string_equal(two.name, "call_x.2-stdout.log");
    assert_string_equal(slurp(b, one.name), "first");
    assert_string_equal(odd.name, "______etc_x_y-stdout.log");
}

static void what_is_not_asked_for_is_removed(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact_stats stats;
    struct wbi_artifact got[2];
    struct wbi_spool *s = spool(b, "call_2");

    wbi_spool_add(s, 0, WBI_LIT("a"));
    wbi_spool_add(s, 1, WBI_LIT("b"));
    assert_int_equal(wbi_spool_finish(s, 2, got, NULL), WB_OK);
    assert_string_equal(got[0].name, "");
    assert_string_equal(got[1].role, "stderr");
    s = spool(b, "call_3");
    wbi_spool_add(s, 0, WBI_LIT("c"));
    wbi_spool_add(s, 1, WBI_LIT("c"));
    wbi_spool_discard(s);
    assert_int_equal(wbi_artifact_stat(b->store, &stats, NULL), WB_OK);
    assert_int_equal(stats.count, 1);
}

static void two_streams_are_two_files(void **state)
{
    struct bench *b = *state;
    struct wbi_spool *s = spool(b, "call_4");
    struct wbi_artifact got[2];
    unsigned files = 0;
    DIR *d;

    wbi_spool_add(s, 0, WBI_LIT("a"));
    wbi_spool_add(s, 1, WBI_LIT("b"));
    wbi_spool_add(s, 0, WBI_LIT("c"));
    assert_int_equal(wbi_spool_finish(s, 3, got, NULL), WB_OK);
    assert_string_equal(got[0].name, "call_4-stdout.log");
    assert_string_equal(got[1].name, "call_4-stderr.log");
    d = opendir(b->dir);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        files += e->d_type == DT_REG;
    closedir(d);
    assert_int_equal(files, 2);
}

static void quotas_cut_count_and_say_so(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact_policy p = {.stream_bytes = 10, .call_bytes = 15};
    struct wbi_artifact got[2];
    struct wbi_spool_counts c;
    struct wbi_spool *s;

    open_store(b, &p);
    s = spool(b, "call_5");
    wbi_spool_add(s, 0, WBI_LIT("12345678"));
    wbi_spool_add(s, 0, WBI_LIT("90123\n"));
    wbi_spool_add(s, 1, WBI_LIT("abcdefgh"));
    c = wbi_spool_counts(s, 0);
    assert_int_equal(c.bytes, 14);
    assert_int_equal(c.kept, 10);
    assert_int_equal(c.dropped, 4);
    assert_string_equal(c.reason, "stream_quota");
    assert_string_equal(wbi_spool_counts(s, 1).reason, "call_quota");
    assert_int_equal(wbi_spool_finish(s, 3, got, NULL), WB_OK);
    assert_false(got[0].complete);
    assert_string_equal(got[0].reason, "stream_quota");
    assert_int_equal(got[0].dropped, 4);
    assert_string_equal(slurp(b, got[0].name), "1234567890");
    assert_string_equal(slurp(b, got[1].name), "abcde");
}

static void a_full_store_and_a_full_disk_refuse_to_begin(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact_policy small = {.store_bytes = 5}, full = {.free_bytes = UINT64_MAX / 2};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_spool *s = NULL;
    char path[300];

    (void)keep_text(b, "call_6", "123456");
    open_store(b, &small);
    assert_int_equal(wbi_spool_open(b->store, WBI_LIT("x"), both, &s, &err), WB_ESTATE);
    assert_int_equal(err.kind, WBI_KIND_LOW_DISK_SPACE);
    assert_non_null(strstr(err.text, "artifactStoreBytes"));
    snprintf(path, sizeof(path), "%s/call_6-stdout.log", b->dir);
    assert_int_equal(unlink(path), 0); /* another process pruned */
    assert_int_equal(wbi_spool_open(b->store, WBI_LIT("x"), both, &s, &err), WB_OK);
    wbi_spool_discard(s);
    open_store(b, &full);
    assert_int_equal(wbi_spool_open(b->store, WBI_LIT("x"), both, &s, &err), WB_ESTATE);
    assert_int_equal(err.kind, WBI_KIND_LOW_DISK_SPACE);
}

static void a_disk_that_fills_up_is_survived(void **state) /* row 114: ENOSPC */
{
    struct bench *b = *state;
    struct bench small = {.time = b->time, .arena = b->arena};
    struct wbi_artifact_policy p = {.free_bytes = 1};
    struct wbi_artifact got[2];
    struct wbi_spool_counts c;
    struct wbi_spool *s;
    static char block[65536];

    snprintf(small.dir, sizeof(small.dir), "%.200s/tiny", b->dir);
    assert_int_equal(mkdir(small.dir, 0700), 0);
    if (mount("tmpfs", small.dir, "tmpfs", 0, "size=256k") != 0) {
        printf("skipped: disk that fills up (no right to mount: %s)\n", strerror(errno));
        rmdir(small.dir);
        return;
    }
    open_store(&small, &p);
    s = spool(&small, "call_7");
    for (int i = 0; i < 20; i++)
        wbi_spool_add(s, 0, wbi_str_make(block, sizeof(block)));
    c = wbi_spool_counts(s, 0);
    assert_int_equal(c.bytes, 20 * sizeof(block));
    assert_int_equal(c.kept + c.dropped, c.bytes);
    assert_true(c.kept > 0 && c.dropped > 0);
    assert_true(strcmp(c.reason, "no_space") == 0 || strcmp(c.reason, "low_disk_space") == 0);
    if (wbi_spool_finish(s, 1, got, NULL) == WB_OK) /* there may be no room for the fact */
        assert_string_equal(got[0].reason, c.reason);
    assert_false(got[0].complete);
    wbi_artifact_store_close(small.store);
    assert_int_equal(umount(small.dir), 0);
    rmdir(small.dir);
}

static void a_killed_writer_leaves_a_readable_partial_that_says_so(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact found;
    struct wbi_error err = WBI_ERROR_INIT;
    uint64_t count = 9;
    int ends[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct wbi_spool *s = spool(b, "call_8");
        wbi_spool_add(s, 0, WBI_LIT("half of"));
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(wbi_artifact_recover(b->store, &count, NULL), WB_OK);
    assert_int_equal(count, 0); /* its writer lives */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(wbi_artifact_recover(b->store, &count, NULL), WB_OK);
    assert_int_equal(count, 1);
    if (wbi_artifact_find(b->store, WBI_LIT("call_8-stdout.log"), &found, &err) != WB_OK)
        fail_msg("%s", err.text);
    assert_false(found.complete);
    assert_string_equal(found.reason, "interrupted");
    assert_int_equal(found.bytes, 7);
    assert_int_equal(strlen(found.sha256), 64);
    close(ends[0]);
    close(ends[1]);
}

static void a_write_error_is_classified_and_counted(void **state)
{
    struct bench *b = *state;
    struct wbi_spool *s = spool(b, "call_io");
    struct wbi_artifact got[2];
    struct rlimit old, low;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = 6;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    wbi_spool_add(s, 0, WBI_LIT("0123456789"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, before);
    wbi_spool_add(s, 0, WBI_LIT("ab"));
    assert_int_equal(wbi_spool_counts(s, 0).kept, 6);
    assert_int_equal(wbi_spool_counts(s, 0).dropped, 6);
    assert_int_equal(wbi_spool_finish(s, 1, got, NULL), WB_OK);
    assert_string_equal(got[0].reason, "io_error");
    assert_false(got[0].complete);
    assert_string_equal(slurp(b, got[0].name), "012345");
}

/* Writes and finishes artifacts until it is killed. */
static void write_for_ever(struct bench *b, int round)
{
    for (int i = 0;; i++) {
        struct wbi_artifact got[2];
        struct wbi_spool *s = NULL;
        char call[64];
        snprintf(call, sizeof(call), "kill_%d_%d", round, i);
        if (wbi_spool_open(b->store, wbi_str_z(call), both, &s, NULL) != WB_OK)
            _exit(1);
        wbi_spool_add(s, 0, WBI_LIT("some output\n"));
        wbi_spool_add(s, 1, wbi_str_z(call));
        wbi_spool_add(s, 0, WBI_LIT("more\n"));
        if (wbi_spool_finish(s, 3, got, NULL) != WB_OK)
            _exit(1);
    }
}

static void killing_at_any_point_leaves_a_sound_store(void **state)
{
    struct bench *b = *state;
    int rounds = getenv("WAYBILL_SOAK") != NULL ? 500 : 25;
    struct wbi_artifact_stats stats;
    struct wbi_artifact *all;
    char path[600];
    uint64_t count;
    size_t n;

    for (int i = 0; i < rounds; i++) {
        pid_t pid = fork();
        if (pid == 0)
            write_for_ever(b, i);
        usleep((useconds_t)(1000 + i * 797 % 12000)); /* the point of death differs */
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_int_equal(wbi_artifact_recover(b->store, &count, NULL), WB_OK);
        assert_true(count <= 2);
    }
    b->time.wall_ms += INT64_C(10) * 365 * 24 * 3600 * 1000;
    assert_int_equal(wbi_artifact_recover(b->store, &count, NULL), WB_OK);
    snprintf(path, sizeof(path), "ls -A %s %s/.facts | grep -c '^[.]\\(wr\\|eq\\|new\\)-'", b->dir,
             b->dir);
    assert_int_not_equal(system(path), 0); /* grep found none */
    assert_int_equal(wbi_artifact_verify(b->store, NULL, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.bad, 0);
    assert_true(stats.count > 0);
    assert_int_equal(wbi_artifact_list(b->store, b->arena, &all, &n, NULL), WB_OK);
    assert_int_equal(n, stats.count);
    for (size_t i = 0; i < n; i++)
        assert_true(all[i].complete || strcmp(all[i].reason, "interrupted") == 0);
}

static bool is_call_old2(void *arg, const struct wbi_artifact *a)
{
    (void)arg;
    return strcmp(a->call_id, "old2") == 0;
}

static void pruning_respects_references_and_age(void **state) /* C5.4 */
{
    struct bench *b = *state;
    struct wbi_artifact_policy p = {.age_ms = 1000, .store_bytes = 12};
    struct wbi_artifact_stats stats;
    struct wbi_artifact found;
    struct wbi_error err = WBI_ERROR_INIT;

    (void)keep_text(b, "old1", "first");
    (void)keep_text(b, "old2", "second");
    b->time.wall_ms += 5000;
    (void)keep_text(b, "new1", "third");
    open_store(b, &p);
    assert_int_equal(wbi_artifact_prune(b->store, is_call_old2, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.removed, 1);
    assert_int_equal(stats.removed_bytes, 5);
    assert_int_equal(wbi_artifact_find(b->store, WBI_LIT("old1-stdout.log"), &found, &err),
                     WB_ENOTFOUND);
    assert_int_equal(err.kind, WBI_KIND_ARTIFACT_EXPIRED);
    assert_int_equal(wbi_artifact_find(b->store, WBI_LIT("old3-stdout.log"), &found, &err),
                     WB_ENOTFOUND);
    assert_int_equal(err.kind, WBI_KIND_ARTIFACT_NOT_FOUND);
    p.store_bytes = 6; /* by size: the oldest go first, references stay */
    open_store(b, &p);
    assert_int_equal(wbi_artifact_prune(b->store, is_call_old2, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.removed, 1);
    assert_string_equal(slurp(b, "old2-stdout.log"), "second");
    assert_int_equal(wbi_artifact_stat(b->store, &stats, NULL), WB_OK);
    assert_int_equal(stats.count, 1);
    assert_int_equal(stats.expired, 2);
    assert_int_equal(wbi_artifact_prune(b->store, NULL, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.removed, 1); /* at its cap there is no room */
}

static void count_bad(void *arg, const struct wbi_artifact *a, const char *what)
{
    (void)a;
    strcat(arg, what);
    strcat(arg, " ");
}

static void verify_finds_damage(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact_stats stats;
    struct wbi_artifact a = keep_text(b, "v1", "honest text");
    char path[512], seen[256] = "";
    FILE *f;

    assert_int_equal(wbi_artifact_verify(b->store, count_bad, seen, &stats, NULL), WB_OK);
    assert_int_equal(stats.bad, 0);
    snprintf(path, sizeof(path), "%s/%s", b->dir, a.name);
    chmod(path, 0600);
    f = fopen(path, "r+e");
    fputs("hones! text", f);
    fclose(f);
    assert_int_equal(wbi_artifact_verify(b->store, count_bad, seen, &stats, NULL), WB_OK);
    assert_string_equal(seen, "hash ");
    assert_int_equal(truncate(path, 3), 0);
    assert_int_equal(wbi_artifact_verify(b->store, count_bad, seen, &stats, NULL), WB_OK);
    unlink(path);
    assert_int_equal(wbi_artifact_verify(b->store, count_bad, seen, &stats, NULL), WB_OK);
    assert_string_equal(seen, "hash size missing ");
}

struct later {
    bool done;
    wb_rc rc;
    struct wbi_artifact got[2];
};

static void on_later(void *arg, wb_rc rc, const struct wbi_artifact *got,
                     const struct wbi_error *err)
{
    struct later *l = arg;

    (void)err;
    l->rc = rc;
    memcpy(l->got, got, sizeof(l->got));
    l->done = true;
}

static void hashing_can_go_to_another_thread(void **state)
{
    struct bench *b = *state;
    struct wbi_spool *s = spool(b, "call_9");
    struct wbi_loop *loop;
    struct later l = {.done = false};

    assert_int_equal(wbi_loop_new(NULL, &loop, NULL), WB_OK);
    wbi_spool_add(s, 0, WBI_LIT("later"));
    assert_int_equal(wbi_spool_finish_later(s, loop, 1, on_later, &l), WB_OK);
    assert_false(l.done);
    wbi_loop_run(loop, &l.done);
    assert_int_equal(l.rc, WB_OK);
    assert_int_equal(l.got[0].bytes, 5);
    wbi_loop_free(loop);
}

/* Reading */

static struct wbi_read_page read_page(struct bench *b, const struct wbi_artifact *a,
                                      const struct wbi_read_query *q)
{
    struct wbi_read_page page;
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_artifact_read(b->store, a, q, b->arena, &page, &err) != WB_OK)
        fail_msg("%s", err.text);
    return page;
}

#define BYTES_ON .kind = WBI_READ_BYTES, .last = WBI_RANGE_END /* to the end */

static void expect_read(struct bench *b, const struct wbi_artifact *a, struct wbi_read_query q,
                        const char *text)
{
    struct wbi_read_page page = read_page(b, a, &q);
    char *z = wbi_arena_strz(b->arena, page.text);

    assert_string_equal(z, text);
}

static enum wbi_regex_verdict has_e(void *arg, struct wbi_str part, size_t from, bool goes_on,
                                    size_t *ret_at)
{
    (void)arg;
    (void)goes_on;
    *ret_at = from + wbi_str_index(wbi_str_from(part, from), 'e');
    return *ret_at < part.n ? WBI_REGEX_YES : WBI_REGEX_NO;
}

static const struct wbi_line_matcher with_e = {NULL, has_e};

static void ranges_are_as_documented(void **state) /* I3 */
{
    struct bench *b = *state;
    struct wbi_artifact a = keep_text(b, "r1", "one\ntwo\nthree\nfour\nfix\nsix\nseven");

    expect_read(b, &a, (struct wbi_read_query){.first = 2, .last = 3}, "two\nthree\n");
    expect_read(b, &a, (struct wbi_read_query){.first = 7}, "seven");
    expect_read(b, &a, (struct wbi_read_query){.first = 8}, "");
    expect_read(b, &a, (struct wbi_read_query){.kind = WBI_READ_BYTES, .first = 4, .last = 8},
                "two\n");
    expect_read(b, &a, (struct wbi_read_query){.kind = WBI_READ_BYTES}, ""); /* 0-0 */
    expect_read(b, &a, (struct wbi_read_query){BYTES_ON, .first = 24}, "ix\nseven");
    expect_read(b, &a, (struct wbi_read_query){.kind = WBI_READ_TAIL, .first = 2}, "six\nseven");
    expect_read(b, &a, (struct wbi_read_query){.kind = WBI_READ_TAIL, .first = 100, .max_lines = 1},
                "one\n");
    expect_read(b, &a, (struct wbi_read_query){.kind = WBI_READ_GREP, .matcher = &with_e},
                "1:one\n3:three\n7:seven\n");
    expect_read(b, &a,
                (struct wbi_read_query){.kind = WBI_READ_GREP, .matcher = &with_e, .context = 1},
                "1:one\n2-two\n3:three\n4-four\n--\n6-six\n7:seven\n");
}

static void c62_grep_cuts_long_lines_around_the_match_and_says_so(void **state)
{
    struct bench *b = *state;
    struct wbi_read_query q = {.kind = WBI_READ_GREP, .matcher = &with_e, .context = 1};
    char text[13010];
    struct wbi_artifact a;
    struct wbi_read_page page;

    memset(text, 'x', 13000);
    text[6000] = '\n';
    text[12000] = 'e';
    memcpy(text + 13000, "\nend\n", 6);
    a = keep_text(b, "g1", text);
    page = read_page(b, &a, &q);
    assert_int_equal(page.cut_lines, 2); /* one of context, one with a match */
    assert_true(wbi_str_find(page.text, WBI_LIT("xex")) < page.text.n);
    assert_memory_equal(page.text.p + 4098, "[line cut]\n2:x", 14);
    assert_memory_equal(page.text.p + page.text.n - 18, "x[line cut]\n3:end\n", 18);
}

static void json_paths_lead_to_values(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact a = keep_text(b, "j1",
                                      "{\"a\":[{\"b c\":[1,2]},7],\"~/\":true,"
                                      "\"n\":[1.10,-0.0,1e400],\"h\":\"\\u202e\"}");
    struct wbi_cleaner cleaner = wbi_cleaner_text(NULL);
    struct wbi_read_query q = {.kind = WBI_READ_JSON, .json_path = WBI_LIT("$.a[0]['b c']")};
    struct wbi_read_page page;
    static const char *const bad[] = {"a", "$a", "$.", "$.a[", "$.a[x]", "$.a['b", "/a/~2"};

    expect_read(b, &a, q, "[\n  1,\n  2\n]\n");
    q.json_path = WBI_LIT("/a/0/b c/1");
    expect_read(b, &a, q, "2\n");
    q.json_path = WBI_LIT("/~0~1");
    expect_read(b, &a, q, "true\n");
    q.json_path = WBI_LIT("$.n");
    expect_read(b, &a, q, "[\n  1.10,\n  -0.0,\n  1e400\n]\n");
    q.json_path = WBI_LIT("$.h");
    expect_read(b, &a, q, "\"\xe2\x80\xae\"\n");
    q.cleaner = &cleaner;
    expect_read(b, &a, q, "\"<U+202E>\"\n");
    q.json_path = WBI_LIT("$.a[9]");
    assert_int_equal(wbi_artifact_read(b->store, &a, &q, b->arena, &page, NULL), WB_ENOTFOUND);
    for (size_t i = 0; i < WBI_COUNT(bad); i++) {
        q.json_path = wbi_str_z(bad[i]);
        assert_int_equal(wbi_artifact_read(b->store, &a, &q, b->arena, &page, NULL), WB_EINPUT);
    }
}

/* Follow nextToken to the end; the pages together must be the whole. */
static void follow(struct bench *b, const struct wbi_artifact *a, struct wbi_read_query q,
                   struct wbi_str whole)
{
    struct wbi_buf all;
    struct wbi_read_page page = {.next_token = ""};

    wbi_buf_init(&all, 64u << 20);
    do {
        char token[WBI_PAGE_TOKEN];
        memcpy(token, page.next_token, sizeof(token));
        q.page_token = wbi_str_z(token);
        page = read_page(b, a, &q);
        assert_true(page.text.n <= q.max_bytes);
        assert_true(page.text.n > 0);
        wbi_buf_adds(&all, page.text);
    } while (page.next_token[0] != '\0');
    assert_true(wbi_str_eq(wbi_buf_str(&all), whole));
    wbi_buf_fini(&all);
}

static void pages_join_to_the_whole(void **state) /* C7.7 */
{
    struct bench *b = *state;
    struct wbi_buf text;
    struct wbi_spool *s = spool(b, "p1");
    struct wbi_artifact got[2];

    wbi_buf_init(&text, 16u << 20);
    for (int i = 0; i < 3000; i++) {
        for (int j = 0; j < i % 97; j++)
            wbi_buf_addz(&text, j % 5 ? "x" : "é…");
        wbi_buf_addc(&text, i % 7 == 0 ? (char)0x80 : ' ');
        if (i % 3)
            wbi_buf_addc(&text, '\n');
    }
    wbi_spool_add(s, 0, wbi_buf_str(&text));
    assert_int_equal(wbi_spool_finish(s, 1, got, NULL), WB_OK);
    for (size_t page = 50; page < 2000000; page = page * 7 + 1) {
        follow(b, &got[0], (struct wbi_read_query){.max_bytes = page}, wbi_buf_str(&text));
        follow(b, &got[0], (struct wbi_read_query){BYTES_ON, .max_bytes = page},
               wbi_buf_str(&text));
    }
    follow(b, &got[0],
           (struct wbi_read_query){.kind = WBI_READ_TAIL, .first = 1000000, .max_bytes = 999},
           wbi_buf_str(&text));
    wbi_buf_fini(&text);
}

static void a_token_fits_only_its_own_question(void **state)
{
    struct bench *b = *state;
    struct wbi_artifact a = keep_text(b, "t1", "a\nb\nc\n"),
                        other = keep_text(b, "t2", "a\nb\nc\n");
    struct wbi_read_query q = {.max_lines = 1};
    struct wbi_read_page page = read_page(b, &a, &q), next;

    q.page_token = wbi_str_z(page.next_token);
    assert_string_equal(wbi_arena_strz(b->arena, read_page(b, &a, &q).text), "b\n");
    assert_int_equal(wbi_artifact_read(b->store, &other, &q, b->arena, &next, NULL), WB_EINPUT);
    q.first = 2;
    assert_int_equal(wbi_artifact_read(b->store, &a, &q, b->arena, &next, NULL), WB_EINPUT);
    q.page_token = WBI_LIT("nonsense");
    assert_int_equal(wbi_artifact_read(b->store, &a, &q, b->arena, &next, NULL), WB_EINPUT);
}

/* A cleaner as text/ has one: upper case, and an end that adds something. */
static wb_rc shout_begin(void *arg, void **ret)
{
    *ret = arg;
    return WB_OK;
}
static wb_rc shout_feed(void *state, struct wbi_str raw, struct wbi_buf *out)
{
    (void)state;
    for (size_t i = 0; i < raw.n; i++)
        wbi_buf_addc(out, raw.p[i] >= 'a' && raw.p[i] <= 'z' ? (char)(raw.p[i] - 32) : raw.p[i]);
    return wbi_buf_rc(out);
}
static wb_rc shout_finish(void *state, struct wbi_buf *out)
{
    (void)state;
    wbi_buf_addz(out, "!\n");
    return wbi_buf_rc(out);
}
static void shout_end(void *state)
{
    ++*(int *)state;
}

static void reads_see_the_cleaned_text(void **state)
{
    struct bench *b = *state;
    int ended = 0;
    struct wbi_cleaner c = {&ended, shout_begin, shout_feed, shout_finish, shout_end};
    struct wbi_artifact a = keep_text(b, "c1", "one\ntwo");

    expect_read(b, &a, (struct wbi_read_query){.first = 2, .cleaner = &c}, "TWO!\n");
    assert_int_equal(ended, 1);
    expect_read(b, &a, (struct wbi_read_query){BYTES_ON, .first = 6, .cleaner = &c}, "O!\n");
    expect_read(b, &a, /* a page ends with a line */
                (struct wbi_read_query){BYTES_ON, .max_bytes = 6, .cleaner = &c}, "ONE\n");
    expect_read(b, &a, /* unless it has not even room for one */
                (struct wbi_read_query){BYTES_ON, .first = 4, .max_bytes = 4, .cleaner = &c},
                "TWO!");
}

static void lines_are_counted_at_any_length(void **state)
{
    struct bench *b = *state;
    static char text[20000];
    uint64_t feeds = 0;

    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = i % 3 == 0 || i > 9000 ? '\n' : 'x';
        feeds += text[i] == '\n';
    }
    for (size_t cut = 0; cut < 40; cut++) {
        struct wbi_spool *s = spool(b, "count");
        wbi_spool_add(s, 0, wbi_str_make(text, sizeof(text) / 2 + cut));
        wbi_spool_add(s, 0, wbi_str_from(wbi_str_make(text, sizeof(text)), sizeof(text) / 2 + cut));
        assert_int_equal(wbi_spool_counts(s, 0).lines, feeds);
        wbi_spool_discard(s);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_path_is_readable_from_the_first_byte_to_the_end),
        TEST(finished_files_are_immutable_and_equal_ones_share),
        TEST(a_repeated_call_id_overwrites_nothing),
        TEST(what_is_not_asked_for_is_removed),
        TEST(two_streams_are_two_files),
        TEST(quotas_cut_count_and_say_so),
        TEST(a_full_store_and_a_full_disk_refuse_to_begin),
        TEST(a_disk_that_fills_up_is_survived),
        TEST(a_killed_writer_leaves_a_readable_partial_that_says_so),
        TEST(a_write_error_is_classified_and_counted),
        TEST(killing_at_any_point_leaves_a_sound_store),
        TEST(pruning_respects_references_and_age),
        TEST(verify_finds_damage),
        TEST(hashing_can_go_to_another_thread),
        TEST(ranges_are_as_documented),
        TEST(c62_grep_cuts_long_lines_around_the_match_and_says_so),
        TEST(json_paths_lead_to_values),
        TEST(pages_join_to_the_whole),
        TEST(a_token_fits_only_its_own_question),
        TEST(reads_see_the_cleaned_text),
        TEST(lines_are_counted_at_any_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
