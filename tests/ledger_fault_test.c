/* SPDX-License-Identifier: Apache-2.0
 * tests/ledger_fault_test.c: the disk, the locks and the memory fail, one call
 * at a time. Whatever fails: refused or marked unknown, never silently unrecorded,
 * never twice, never a crash, and well again afterwards. (L3, L4, C1, C2; rows 113, 114,
 * 126 of the attack list) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "faults/faults.h"
#include "state_fixture.h"

enum { CALLS = 3 };

static const char *const call_names[FAULT_CALLS] = {"write", "sync",   "open",  "rename",
                                                    "lock",  "resize", "alloc", "thread"};

static bool fine_kind(enum wbi_kind kind)
{
    return kind == WBI_KIND_LOW_DISK_SPACE || kind == WBI_KIND_STATE_UNAVAILABLE ||
           kind == WBI_KIND_OUTCOME_UNKNOWN;
}

static bool has_row(struct fixture *f, unsigned long call, bool outcome)
{
    struct wbi_record record;
    char id[40];

    wbi_arena_reset(f->arena);
    (void)fixture_row(id, WBI_KIND_INTENT, call);
    if (wbi_ledger_get(f->ledger, f->arena, wbi_str_z(id), &record, NULL) != WB_OK)
        return false;
    return outcome ? record.has_outcome : record.has_intent;
}

/* Appends while a fault is armed; what was acknowledged must be there. */
static long append_under_fault(struct fixture *f, enum fault_call call, long n, int error)
{
    wb_rc intents[CALLS], outcomes[CALLS];
    struct wbi_error err;
    long hits;

    /* SQLite's own locks: each failure makes it wait for seconds, so not here */
    faults_arm(call, n, error, false, call == FAULT_LOCK ? "ledger.lock" : f->base);
    for (unsigned long i = 0; i < CALLS; i++) {
        err = (struct wbi_error)WBI_ERROR_INIT;
        intents[i] = fixture_append(f, WBI_KIND_INTENT, i, &err);
        if (intents[i] != WB_OK && !fine_kind(err.kind))
            fail_msg("%s %ld errno %d: intent failed as %d: %s", call_names[call], n, error,
                     (int)err.kind, err.text);
        outcomes[i] = fixture_append(f, WBI_KIND_OUTCOME, i, &err);
    }
    hits = faults_disarm();
    if (fixture_append(f, WBI_KIND_OUTCOME, 100, &err) != WB_OK) /* well again */
        fail_msg("%s %ld errno %d: does not recover: %s", call_names[call], n, error, err.text);
    for (int round = 0; round < 2; round++) {
        for (unsigned long i = 0; i < CALLS; i++) {
            if ((intents[i] == WB_OK && !has_row(f, i, false)) ||
                (outcomes[i] == WB_OK && !has_row(f, i, true)))
                fail_msg("%s %ld errno %d: an acknowledged row is missing", call_names[call], n,
                         error);
        }
        if (!fixture_verify(f).good)
            fail_msg("%s %ld errno %d: %s", call_names[call], n, error, fixture_verify(f).what);
        fixture_close(f);
        fixture_open(f);
    }
    return hits;
}

static void every_call_fails_once_while_appending(void **state)
{
    static const struct {
        enum fault_call call;
        int error;
    } cases[] = {{FAULT_WRITE, ENOSPC}, {FAULT_WRITE, EIO},
                 {FAULT_WRITE, EINTR},  {FAULT_WRITE, FAULT_SHORT_WRITE},
                 {FAULT_SYNC, EIO},     {FAULT_SYNC, ENOSPC},
                 {FAULT_SYNC, EINTR},   {FAULT_OPEN, EMFILE},
                 {FAULT_OPEN, EIO},     {FAULT_LOCK, ENOLCK},
                 {FAULT_LOCK, EINTR},   {FAULT_RESIZE, EIO},
                 {FAULT_RENAME, EIO}};
    unsigned long points = 0;

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        long hits = 1;
        for (long n = 1; hits > 0 && n < 400; n++, points++) {
            struct fixture f;
            fixture_init(&f);
            fixture_open(&f);
            hits = append_under_fault(&f, cases[c].call, n, cases[c].error);
            fixture_fini(&f);
        }
    }
    print_message("%lu fault points while appending\n", points);
    assert_true(points > 50);
}

/* The start itself: it fails with a reason or succeeds, and the next one succeeds. */
static void every_call_fails_once_while_starting(void **state)
{
    static const struct {
        enum fault_call call;
        int error;
    } cases[] = {{FAULT_WRITE, ENOSPC}, {FAULT_WRITE, EIO},   {FAULT_WRITE, FAULT_SHORT_WRITE},
                 {FAULT_SYNC, EIO},     {FAULT_OPEN, EMFILE}, {FAULT_OPEN, EINTR},
                 {FAULT_LOCK, ENOLCK},  {FAULT_RENAME, EIO},  {FAULT_RESIZE, ENOSPC}};
    unsigned long points = 0;

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        long hits = 1;
        for (long n = 1; hits > 0 && n < 400; n++, points++) {
            struct wbi_error err = WBI_ERROR_INIT;
            struct fixture f;
            wb_rc rc;
            fixture_init(&f);
            faults_arm(cases[c].call, n, cases[c].error, false,
                       cases[c].call == FAULT_LOCK ? "lock" : f.base);
            rc = fixture_try(&f, &err);
            if (rc == WB_OK)
                (void)fixture_append(&f, WBI_KIND_OUTCOME, 1, &err);
            hits = faults_disarm();
            if (rc != WB_OK && err.text[0] == '\0')
                fail_msg("%s %ld: no reason given", call_names[cases[c].call], n);
            fixture_close(&f);
            if (fixture_try(&f, &err) != WB_OK)
                fail_msg("%s %ld errno %d: the next start fails: %s", call_names[cases[c].call], n,
                         cases[c].error, err.text);
            fixture_append(&f, WBI_KIND_OUTCOME, 2, NULL);
            assert_true(has_row(&f, 2, true));
            assert_true(fixture_verify(&f).good);
            fixture_fini(&f);
        }
    }
    print_message("%lu fault points while starting\n", points);
    assert_true(points > 50);
}

/* row 113: "fsync EIO once, then success: fail-stop, reopen, reconcile; never retry fsync" */
static void a_failed_sync_is_settled_by_reopening(void **state)
{
    struct wbi_store_health health;
    struct wbi_error err = WBI_ERROR_INIT;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    faults_arm(FAULT_SYNC, 1, EIO, false, "ledger.db-wal");
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 2, &err), WB_OK);
    assert_int_equal(faults_disarm(), 1);
    wbi_store_health(f.store, &health);
    assert_int_equal(health.reopened, 1);
    assert_true(has_row(&f, 2, false));
    faults_arm(FAULT_SYNC, 1, EIO, false, "ledger.db-wal"); /* the small tables too */
    assert_int_equal(wbi_store_put(f.store, WBI_LIT("t"), WBI_LIT("k"), WBI_LIT("1"),
                                   WBI_MUST_BE_NEW, NULL, &err),
                     WB_OK);
    assert_int_equal(faults_disarm(), 1);
    assert_true(fixture_verify(&f).good);
    fixture_fini(&f);
}

static void a_disk_that_never_syncs_is_said_to_be_unknown(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_store_health health;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    faults_arm(FAULT_SYNC, 1, EIO, true, f.base);
    assert_int_not_equal(fixture_append(&f, WBI_KIND_INTENT, 2, &err), WB_OK);
    assert_true(fine_kind(err.kind));
    wbi_store_health(f.store, &health);
    assert_false(health.writable);
    assert_true(has_row(&f, 1, true)); /* reads go on */
    faults_disarm();
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 3, &err), WB_OK);
    assert_true(fixture_verify(&f).good);
    fixture_fini(&f);
}

/* One call is recorded, then nothing more can be written. */
static void fill_the_disk(struct fixture *f)
{
    fixture_init(f);
    fixture_open(f);
    fixture_call(f, 1);
    faults_arm(FAULT_WRITE, 1, ENOSPC, true, f->base);
}

/* row 114, L3: "refuse new effects, keep serving reads and status, recover when freed" */
static void a_full_disk_refuses_appends_and_recovers(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_store_health health;
    struct fixture f;

    (void)state;
    fill_the_disk(&f);
    for (unsigned long i = 2; i < 5; i++) {
        err = (struct wbi_error)WBI_ERROR_INIT;
        assert_int_not_equal(fixture_append(&f, WBI_KIND_INTENT, i, &err), WB_OK);
        assert_int_equal(err.kind, WBI_KIND_LOW_DISK_SPACE);
    }
    wbi_store_health(f.store, &health);
    assert_false(health.writable);
    assert_int_equal(health.kind, WBI_KIND_LOW_DISK_SPACE);
    assert_true(strlen(health.reason) > 0);
    assert_true(has_row(&f, 1, true));
    assert_false(has_row(&f, 2, false));
    faults_disarm();
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 5, &err), WB_OK);
    wbi_store_health(f.store, &health);
    assert_true(health.writable);
    assert_true(fixture_verify(&f).good);
    fixture_fini(&f);
}

/* A call of a dead process is open, and cannot be closed now. */
static void a_full_disk_lets_an_open_call_be_read(void **state)
{
    struct wbi_ledger_options lo = {.close_call = NULL};
    struct wbi_error err = WBI_ERROR_INIT;
    struct fixture f;
    int status;
    pid_t dead;

    (void)state;
    fixture_init(&f);
    dead = fork();
    if (dead == 0)
        _exit(fixture_try(&f, NULL) != WB_OK || fixture_append(&f, WBI_KIND_INTENT, 1, NULL));
    assert_int_equal(waitpid(dead, &status, 0), dead);
    assert_int_equal(status, 0);
    lo.clock = wbi_clock_by_hand(&f.clock);
    assert_int_equal(fixture_try_store(&f, NULL), WB_OK);
    faults_arm(FAULT_WRITE, 1, ENOSPC, true, f.base);
    if (wbi_ledger_open(f.store, &lo, &f.ledger, &f.closed, &err) != WB_OK)
        fail_msg("%s", err.text);
    assert_int_equal(f.closed, 0);
    assert_true(has_row(&f, 1, false));
    fixture_close(&f);
    faults_disarm();
    fixture_open(&f);
    assert_int_equal(f.closed, 1);
    fixture_fini(&f);
}

static void append_lazily(struct fixture *f, unsigned long call)
{
    struct wbi_error err = WBI_ERROR_INIT;
    char id[40];
    struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, call);
    struct wbi_ledger_append a = {.row = &row, .never_opened = true};

    assert_int_equal(wbi_ledger_append(f->ledger, &a, &err), WB_OK);
}

/* More rows than a commit takes; who waits behind them is told, not kept waiting. */
static void rows_that_nobody_waits_for_outlast_a_full_disk(void **state)
{
    const unsigned long first = 2, end = first + WBI_LIMIT_STORE_BATCH + 100;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_store_health health;
    struct fixture f;

    (void)state;
    fill_the_disk(&f);
    for (unsigned long i = first; i < end; i++)
        append_lazily(&f, i);
    for (int i = 0; i < 2; i++) {
        err = (struct wbi_error)WBI_ERROR_INIT;
        assert_int_not_equal(wbi_ledger_flush(f.ledger, &err), WB_OK);
        assert_int_equal(err.kind, WBI_KIND_LOW_DISK_SPACE);
    }
    assert_int_not_equal(fixture_append(&f, WBI_KIND_INTENT, end, &err), WB_OK);
    wbi_store_health(f.store, &health);
    assert_false(health.writable);
    assert_int_equal(health.waiting, end - first);
    assert_int_equal(health.lost, 0);
    assert_false(has_row(&f, first, true));
    faults_disarm();
    assert_int_equal(wbi_ledger_flush(f.ledger, &err), WB_OK);
    wbi_store_health(f.store, &health);
    assert_true(health.writable);
    assert_int_equal(health.waiting, 0);
    assert_int_equal(health.lost, 0);
    for (unsigned long i = first; i < end; i++)
        assert_true(has_row(&f, i, true));
    assert_false(has_row(&f, end, false));
    assert_true(fixture_verify(&f).good);
    fixture_fini(&f);
}

/* Rows of calls 1 to count, each once, and so many that came to nothing. */
static void end_with_all(struct fixture *f, unsigned long count, size_t lost)
{
    struct wbi_store_health health;

    assert_int_equal(wbi_ledger_flush(f->ledger, NULL), WB_OK);
    wbi_store_health(f->store, &health);
    assert_true(health.writable);
    assert_int_equal(health.waiting, 0);
    assert_int_equal(health.lost, lost);
    for (unsigned long i = 1; i <= count; i++)
        assert_true(has_row(f, i, true));
    assert_int_equal(fixture_verify(f).rows, count);
    assert_true(fixture_verify(f).good);
    fixture_fini(f);
}

/* More than a commit takes, so that some commits have no other. */
static void rows_that_nobody_waits_for_are_written_together(void **state)
{
    const unsigned long count = 2 * WBI_LIMIT_STORE_BATCH + 100;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    for (unsigned long i = 1; i <= count; i++)
        append_lazily(&f, i);
    end_with_all(&f, count, 0);
}

/* One that is there already, and one that comes twice: the others do not suffer for it. */
static void a_row_that_is_there_already_costs_no_other(void **state)
{
    const unsigned long count = 2 * WBI_LIMIT_STORE_BATCH + 100, there = 5, twice = 200;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    assert_int_equal(fixture_append(&f, WBI_KIND_OUTCOME, there, NULL), WB_OK);
    for (unsigned long i = 1; i <= count; i++) {
        append_lazily(&f, i);
        if (i == twice)
            append_lazily(&f, i);
    }
    end_with_all(&f, count, 2);
}

/* The end tries once more and leaves nothing behind but what was written. */
static void rows_that_wait_for_space_end_with_the_ledger(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct fixture f;

    (void)state;
    fill_the_disk(&f);
    append_lazily(&f, 2);
    assert_int_not_equal(wbi_ledger_flush(f.ledger, &err), WB_OK);
    fixture_close(&f);
    faults_disarm();
    fixture_open(&f);
    assert_true(has_row(&f, 1, true));
    assert_false(has_row(&f, 2, true));
    assert_int_equal(fixture_append(&f, WBI_KIND_OUTCOME, 3, &err), WB_OK);
    assert_true(fixture_verify(&f).good);
    fixture_fini(&f);
}

/* Nobody comes to ask: the writer tries again by itself. */
static void a_kept_row_is_written_once_there_is_space(void **state)
{
    struct wbi_store_health health;
    struct fixture f;

    (void)state;
    fill_the_disk(&f);
    append_lazily(&f, 2);
    do
        wbi_store_health(f.store, &health);
    while (health.writable);
    assert_int_equal(health.kind, WBI_KIND_LOW_DISK_SPACE);
    faults_disarm();
    do
        wbi_store_health(f.store, &health);
    while (!health.writable);
    assert_true(has_row(&f, 2, true));
    assert_int_equal(health.lost, 0);
    fixture_fini(&f);
}

static void a_really_full_and_a_read_only_disk(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    unsigned long written = 0;
    struct fixture f;
    char at[200], file[240];

    (void)state;
    fixture_init(&f);
    snprintf(at, sizeof(at), "%s/at", f.base);
    if (geteuid() != 0 || mkdir(at, 0700) != 0 ||
        fixture_shell("mount -t tmpfs -o size=1m,mode=0700 none %s >/dev/null 2>&1", at) != 0) {
        print_message("skipped: full and read-only disk (no tmpfs may be mounted here)\n");
        fixture_fini(&f);
        return;
    }
    snprintf(f.dir, sizeof(f.dir), "%.150s/s", at);
    snprintf(file, sizeof(file), "%s/ballast", at);
    fixture_open(&f);
    fixture_call(&f, 1);
    assert_int_equal(fixture_shell("dd if=/dev/zero of=%s bs=1k count=500 2>/dev/null", file), 0);
    while (written < 5000 && fixture_append(&f, WBI_KIND_OUTCOME, 10 + written, &err) == WB_OK)
        written++;
    assert_in_range(written, 1, 4999);
    assert_int_equal(err.kind, WBI_KIND_LOW_DISK_SPACE);
    assert_true(has_row(&f, 9 + written, true));
    assert_int_equal(unlink(file), 0);
    assert_int_equal(fixture_append(&f, WBI_KIND_OUTCOME, 9000, &err), WB_OK);
    assert_true(fixture_verify(&f).good);
    fixture_close(&f);

    assert_int_equal(fixture_shell("mount -o remount,ro %s", at), 0);
    fixture_open(&f); /* reads go on */
    assert_true(has_row(&f, 9000, true));
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 9001, &err), WB_ESTATE);
    assert_int_equal(err.kind, WBI_KIND_STATE_UNAVAILABLE);
    assert_true(fixture_verify(&f).good);
    fixture_close(&f);
    assert_int_equal(fixture_shell("umount %s", at), 0);
    fixture_fini(&f);
}

static void a_failed_lock_of_sqlite_is_survived(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct fixture f;

    (void)state;
    if (getenv("WAYBILL_SOAK") == NULL) {
        print_message("skipped: a failed lock of SQLite (it waits 20 s; set WAYBILL_SOAK)\n");
        return;
    }
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    faults_arm(FAULT_LOCK, 2, ENOLCK, false, "ledger.db");
    (void)!fixture_append(&f, WBI_KIND_INTENT, 2, &err);
    assert_int_equal(faults_disarm(), 1);
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 3, &err), WB_OK);
    assert_true(fixture_verify(&f).good);
    fixture_fini(&f);
}

static void no_thread_is_an_error(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    char id[40];
    struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, 1);
    struct wbi_ledger_append a = {.row = &row};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    faults_arm(FAULT_THREAD, 1, EAGAIN, true, NULL);
    assert_int_equal(wbi_ledger_append(f.ledger, &a, &err), WB_EAGAIN);
    assert_int_equal(err.kind, WBI_KIND_STATE_UNAVAILABLE);
    faults_disarm();
    assert_int_equal(wbi_ledger_append(f.ledger, &a, &err), WB_OK);
    assert_int_equal(wbi_ledger_flush(f.ledger, NULL), WB_OK);
    assert_true(has_row(&f, 1, true));
    fixture_fini(&f);
}

static bool stop(void *arg, const struct wbi_row *row)
{
    (void)row;
    ++*(int *)arg;
    return true;
}

/* C1, row 126: any allocation fails, alone or with all after it */
static void every_allocation_may_fail(void **state)
{
    unsigned long points = 0;

    (void)state;
    if (!faults_allocations_work()) {
        print_message("skipped: failing allocations (a sanitizer owns malloc)\n");
        return;
    }
    for (int sticky = 0; sticky < 2; sticky++) {
        long hits = 1;
        for (long n = 1; hits > 0 && n < 5000;
             n += n < 40 || getenv("WAYBILL_SOAK") ? 1 : 11, points++) {
            struct wbi_verify_report report;
            struct wbi_row_query all = {.max = 0};
            struct wbi_error err = WBI_ERROR_INIT;
            struct fixture f;
            int rows = 0;
            bool kept = false;
            fixture_init(&f);
            faults_arm(FAULT_ALLOC, n, ENOMEM, sticky != 0, NULL);
            if (fixture_try(&f, &err) == WB_OK) {
                kept = fixture_append(&f, WBI_KIND_INTENT, 1, &err) == WB_OK;
                (void)fixture_append(&f, WBI_KIND_OUTCOME, 1, &err);
                if (wbi_ledger_list(f.ledger, &all, stop, &rows, &err) == WB_OK && kept)
                    assert_true(rows > 0);
                (void)!wbi_ledger_verify(f.ledger, NULL, 0, &report, &err);
            }
            hits = faults_disarm();
            fixture_close(&f);
            fixture_open(&f);
            assert_true(!kept || has_row(&f, 1, false));
            assert_true(fixture_verify(&f).good);
            fixture_fini(&f);
        }
    }
    print_message("%lu allocation points\n", points);
    assert_true(points > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once_while_appending),
        cmocka_unit_test(every_call_fails_once_while_starting),
        cmocka_unit_test(a_failed_sync_is_settled_by_reopening),
        cmocka_unit_test(a_disk_that_never_syncs_is_said_to_be_unknown),
        cmocka_unit_test(a_full_disk_refuses_appends_and_recovers),
        cmocka_unit_test(a_full_disk_lets_an_open_call_be_read),
        cmocka_unit_test(rows_that_nobody_waits_for_outlast_a_full_disk),
        cmocka_unit_test(rows_that_nobody_waits_for_are_written_together),
        cmocka_unit_test(a_row_that_is_there_already_costs_no_other),
        cmocka_unit_test(rows_that_wait_for_space_end_with_the_ledger),
        cmocka_unit_test(a_kept_row_is_written_once_there_is_space),
        cmocka_unit_test(a_really_full_and_a_read_only_disk),
        cmocka_unit_test(no_thread_is_an_error),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_failed_lock_of_sqlite_is_survived),
    };
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0); /* faults are made here; a disk is only slower */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
