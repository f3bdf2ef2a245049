/* SPDX-License-Identifier: Apache-2.0
 * tests/artifact_fault_test.c: the writing of an artifact with every single system call
 * failing (EIO, ENOSPC, EMFILE, short writes) and with the writer killed in front of every
 * single one: counts add up, what is kept is a beginning of what was printed, what says it is
 * complete is, and the store is sound at the next start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "artifact/read.h"
#include "artifact/spool.h"
#include "artifact/store_int.h"
#include "faults/faults.h"

static const char text[] = "one\ntwo\nthree\nfour\nfive\nsix\n";
static const enum fault_call calls[] = {FAULT_WRITE, FAULT_SYNC, FAULT_OPEN, FAULT_RENAME,
                                        FAULT_LINK};
static char dir[64];

static struct wbi_artifact_store *open_store(void)
{
    struct wbi_artifact_store *s = NULL;

    assert_int_equal(wbi_artifact_store_open(dir, NULL, NULL, wbi_clock_system(), &s, NULL), WB_OK);
    return s;
}

/* Both streams in pieces; WB_OK when all of it was kept. */
static wb_rc write_one(struct wbi_artifact_store *s, struct wbi_error *err)
{
    static const char *const roles[] = {"stdout", "stderr"};
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_spool *spool;
    bool whole = true;
    wb_rc rc = wbi_spool_open(s, WBI_LIT("call"), roles, &spool, err);

    if (rc != WB_OK)
        return rc;
    for (size_t at = 0; at < sizeof(text) - 1; at += 7)
        for (int stream = 0; stream < 2; stream++)
            wbi_spool_add(spool, stream, wbi_str_head(wbi_str_from(wbi_str_z(text), at), 7));
    for (int stream = 0; stream < 2; stream++) {
        struct wbi_spool_counts c = wbi_spool_counts(spool, stream);
        assert_int_equal(c.bytes, sizeof(text) - 1); /* always true, whatever the disk does */
        assert_int_equal(c.kept + c.dropped, c.bytes);
        assert_true((c.dropped > 0) == (c.reason != NULL));
        whole &= c.dropped == 0;
    }
    rc = wbi_spool_finish(spool, 3, got, err);
    return rc != WB_OK ? rc : whole ? WB_OK : WB_EIO;
}

static bool holds(int fd, const struct wbi_artifact *a)
{
    char have[sizeof(text) + 10];
    ssize_t n = pread(fd, have, sizeof(have), 0);

    return n >= 0 && (size_t)n == a->bytes && (size_t)n < sizeof(text) &&
           memcmp(have, text, (size_t)n) == 0 && (!a->complete || (size_t)n == sizeof(text) - 1);
}

/* The next start: recover, then everything there is as it says. */
static void check_store(void)
{
    struct wbi_artifact_store *s = open_store();
    struct wbi_artifact_stats stats;
    struct wbi_artifact *all;
    struct wbi_arena *arena;
    uint64_t finished;
    size_t n;

    assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
    assert_int_equal(wbi_artifact_recover(s, &finished, NULL), WB_OK);
    assert_int_equal(wbi_artifact_verify(s, NULL, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.bad, 0);
    assert_int_equal(wbi_artifact_list(s, arena, &all, &n, NULL), WB_OK);
    for (size_t i = 0; i < n; i++) {
        int fd = -1;
        assert_false(all[i].writing);
        assert_true(all[i].complete || all[i].reason[0] != '\0');
        assert_int_equal(wbi_artifact_open(s, &all[i], &fd, NULL), WB_OK);
        assert_true(holds(fd, &all[i]));
        (void)close(fd);
    }
    wbi_arena_free(arena);
    wbi_artifact_store_close(s);
}

static int set_up(void **state)
{
    (void)state;
    /* in memory, where there is such a place: hundreds of stores, each synced */
    strcpy(dir, "/dev/shm/wb-afault-XXXXXX");
    if (mkdtemp(dir) != NULL)
        return 0;
    strcpy(dir, "/tmp/wb-afault-XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[100];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static void start_again(void)
{
    assert_int_equal(tear_down(NULL), 0);
    assert_int_equal(set_up(NULL), 0);
}

static void every_failing_call_is_told_and_survived(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EMFILE, FAULT_SHORT_WRITE};
    int points = 0;

    (void)state;
    for (size_t c = 0; c < WBI_COUNT(calls); c++)
        for (size_t e = 0; e < WBI_COUNT(errors); e++)
            for (long n = 1;; n++) {
                struct wbi_artifact_store *s = open_store();
                struct wbi_error err = WBI_ERROR_INIT;
                long hits;
                wb_rc rc;
                if (errors[e] == FAULT_SHORT_WRITE && calls[c] != FAULT_WRITE) {
                    wbi_artifact_store_close(s);
                    break;
                }
                faults_arm(calls[c], n, errors[e], /* sticky= */ false, dir);
                rc = write_one(s, &err);
                hits = faults_disarm();
                wbi_artifact_store_close(s);
                if (hits == 0 || errors[e] == FAULT_SHORT_WRITE)
                    assert_int_equal(rc, WB_OK);
                check_store();
                start_again();
                if (hits == 0)
                    break;
                points++;
            }
    printf("%d calls failed in turn\n", points);
    assert_true(points > 20);
}

static void a_writer_killed_at_every_call_leaves_a_sound_store(void **state)
{
    int points = 0;

    (void)state;
    for (size_t c = 0; c < WBI_COUNT(calls); c++)
        for (long n = 1;; n++) {
            int status;
            pid_t pid = fork();
            if (pid == 0) {
                struct wbi_artifact_store *s = open_store();
                faults_arm(calls[c], n, FAULT_DIE, false, dir);
                _exit(write_one(s, NULL) == WB_OK ? 0 : 1);
            }
            assert_int_equal(waitpid(pid, &status, 0), pid);
            check_store();
            start_again();
            if (WIFEXITED(status)) { /* it has no n-th call of this kind */
                assert_int_equal(WEXITSTATUS(status), 0);
                break;
            }
            assert_int_equal(WTERMSIG(status), SIGKILL);
            points++;
        }
    printf("killed at %d calls\n", points);
    assert_true(points > 20);
}

/* One byte at a time in the end: halves of halves. */
static void short_and_failing_reads_lose_nothing(void **state)
{
    struct wbi_artifact_store *s = open_store();
    struct wbi_read_query q = {.first = 2, .last = 5};
    struct wbi_artifact_stats stats;
    struct wbi_artifact a;
    struct wbi_arena *arena;
    struct wbi_read_page page;
    long n = 0, hits;

    (void)state;
    assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
    assert_int_equal(write_one(s, NULL), WB_OK);
    assert_int_equal(wbi_artifact_find(s, WBI_LIT("call-stdout.log"), &a, NULL), WB_OK);
    faults_arm(FAULT_READ, 1, FAULT_SHORT_READ, /* sticky= */ true, dir);
    assert_int_equal(wbi_artifact_read(s, &a, &q, arena, &page, NULL), WB_OK);
    assert_true(wbi_str_eqz(page.text, "two\nthree\nfour\nfive\n"));
    assert_int_equal(wbi_artifact_verify(s, NULL, NULL, &stats, NULL), WB_OK);
    assert_int_equal(stats.bad, 0);
    assert_true(faults_disarm() > 2);
    do {
        struct wbi_error err = WBI_ERROR_INIT;
        wb_rc rc;
        faults_arm(FAULT_READ, ++n, EIO, /* sticky= */ false, dir);
        rc = wbi_artifact_read(s, &a, &q, arena, &page, &err);
        hits = faults_disarm();
        assert_int_equal(rc == WB_OK, hits == 0);
    } while (hits > 0);
    wbi_arena_free(arena);
    wbi_artifact_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_failing_call_is_told_and_survived, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_writer_killed_at_every_call_leaves_a_sound_store, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(short_and_failing_reads_lose_nothing, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
