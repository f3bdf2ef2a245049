/* SPDX-License-Identifier: Apache-2.0
 * tests/ledger_disk_test.c: the ledger on disks that are full or read-only, as people and
 * scripts meet it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mount.h>

#include "workspace.h"

/* Another ledger would not know what was done: the effect would happen twice. */
static void a_state_directory_that_turns_read_only_is_still_the_one(void **state)
{
    struct workspace w;
    char command[200], *paid;

    (void)state;
    ws_init(&w);
    snprintf(command, sizeof(command), "[\"sh\",\"-c\",\"echo x >> %s/paid; echo {}\"]", w.base);
    ws_tool(&w, "pay", "IdempotentWrite", command);
    ws_expect(&w, 0, ws_run(&w, "config trust"), NULL);
    ws_expect(&w, 0, ws_run(&w, "call pay --idempotency-key k1 --call-id first"), "pay completed");
    ws_expect(&w, 0, ws_run(&w, "exec -- seq 20000"), NULL);
    if (geteuid() != 0 || mount(w.root, w.root, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, w.root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0) {
        print_message("skipped: a read-only workspace (nothing may be mounted here)\n");
        ws_fini(&w);
        return;
    }
    ws_expect(&w, 0, ws_run(&w, "call pay --idempotency-key k1"), "pay completed");
    ws_expect(&w, 3, ws_run(&w, "call pay --idempotency-key k2"),
              "Error: state_unavailable (not retryable)\nthe idempotency key could not be checked; "
              "nothing was executed: the state directory is on a read-only file system;");
    ws_expect(&w, 3, ws_run(&w, "call echo"), "read-only file system");
    ws_expect(&w, 0, ws_run(&w, "ledger show first"), "pay completed");
    ws_expect(&w, 0, ws_run(&w, "artifact list"), "-stdout.log");
    ws_expect(&w, 0, ws_run(&w, "tasks list"), NULL);
    ws_expect(&w, 3, ws_run(&w, "doctor"), "read-only file system");
    ws_expect(&w, 3, ws_run(&w, "ledger prune --keep 1"), "read-only file system");
    assert_int_equal(umount2(w.root, MNT_DETACH), 0);
    snprintf(command, sizeof(command), "%s/paid", w.base);
    paid = ws_slurp(command, NULL);
    assert_string_equal(paid, "x\n");
    free(paid);
    ws_fini(&w);
}

/* The effect happened while the disk filled up: its outcome is known, and stays so. */
static void an_outcome_that_finds_no_room_is_written_later(void **state)
{
    struct workspace w;
    char command[300], at[80];

    (void)state;
    ws_init(&w);
    snprintf(at, sizeof(at), "%s/at", w.base);
    assert_int_equal(mkdir(at, 0700), 0);
    if (mount("waybill-test", at, "tmpfs", 0, "size=2m,mode=700") != 0) {
        print_message("skipped: full disk (no tmpfs can be mounted here)\n");
        ws_fini(&w);
        return;
    }
    snprintf(command, sizeof(command),
             "[\"sh\",\"-c\",\"echo x >> %s/paid; cat /dev/zero > %s/fill 2>/dev/null; echo {}\"]",
             w.base, at);
    ws_tool(&w, "pay", "IdempotentWrite", command);
    snprintf(command, sizeof(command), "[\"sh\",\"-c\",\"rm %s/fill; echo {}\"]", at);
    ws_tool(&w, "free", "Pure", command);
    ws_expect(&w, 0, ws_run(&w, "config trust"), NULL);
    snprintf(command, sizeof(command), "%s/lines", w.base);
    ws_write(command,
             "{\"toolName\":\"pay\",\"input\":{},\"idempotencyKey\":\"k\",\"callId\":\"p1\"}\n"
             "{\"toolName\":\"pay\",\"input\":{},\"idempotencyKey\":\"k\",\"callId\":\"p2\"}\n"
             "{\"toolName\":\"free\",\"input\":{},\"callId\":\"f\"}\n"
             "{\"toolName\":\"pay\",\"input\":{},\"idempotencyKey\":\"k\",\"callId\":\"p3\"}\n");
    ws_expect(&w, 0, ws_run(&w, "dispatch --parallel 1 --state %s/s < %s/lines", at, w.base),
              "\"status\":\"Ok\"");
    assert_false(ws_has(w.out, "InFlight") || ws_has(w.out, "SystemError"));
    ws_expect(&w, 0, ws_run(&w, "ledger show p1 --state %s/s", at), "pay completed");
    ws_expect(&w, 0, ws_run(&w, "call pay --idempotency-key k --state %s/s", at), "pay completed");
    ws_expect(&w, 0, ws_run(&w, "ledger verify --state %s/s", at), "good");
    snprintf(command, sizeof(command), "%s/paid", w.base);
    free(w.out);
    w.out = ws_slurp(command, NULL);
    assert_string_equal(w.out, "x\n");
    assert_int_equal(umount(at), 0);
    ws_fini(&w);
}

static void fill_disk(const char *path)
{
    static const char nothing[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    while (write(fd, nothing, sizeof(nothing)) > 0)
        continue;
    close(fd);
}

/* issue: "A full or read-only disk: calls with effects are refused with the reason, reads
 * and status go on, recovery when space is back." */
static void a_full_disk_refuses_effects_only_and_recovers(void **state)
{
    struct workspace w;
    char at[200], fill[260];

    (void)state;
    ws_init(&w);
    snprintf(at, sizeof(at), "%s/disk", w.base);
    snprintf(fill, sizeof(fill), "%s/fill", at);
    assert_int_equal(mkdir(at, 0700), 0);
    if (mount("waybill-test", at, "tmpfs", 0, "size=1m,mode=700") != 0) {
        print_message("skipped: full disk (no tmpfs can be mounted here)\n");
        ws_fini(&w);
        return;
    }
    ws_expect(&w, 0, ws_run(&w, "call echo --state %s/s", at), NULL);
    fill_disk(fill);
    ws_expect(&w, 1, ws_run(&w, "call echo --state %s/s --view canonical", at), "low_disk_space");
    /* the same where a guard meets it first: its key could not be kept */
    ws_expect(&w, 1, ws_run(&w, "call echo --idempotency-key k --state %s/s --view canonical", at),
              "\"kind\":\"low_disk_space\",\"message\":\"the idempotency key could not be checked; "
              "nothing was executed: ");
    ws_expect(&w, 0, ws_run(&w, "call pure --state %s/s", at), "pure completed");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --state %s/s", at), "\"tool\":\"echo\"");
    ws_expect(&w, 0, ws_run(&w, "ledger verify --state %s/s", at), "good");
    assert_int_equal(unlink(fill), 0);
    ws_expect(&w, 0, ws_run(&w, "call echo --state %s/s", at), "echo completed");
    assert_int_equal(mount(NULL, at, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    ws_expect(&w, 3, ws_run(&w, "call echo --state %s/s --view canonical", at),
              "state_unavailable");
    ws_expect(&w, 0, ws_run(&w, "call pure --state %s/s", at), "pure completed");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --state %s/s", at), "\"tool\":\"echo\"");
    assert_int_equal(mount(NULL, at, NULL, MS_REMOUNT, "size=1m,mode=700"), 0);
    ws_expect(&w, 0, ws_run(&w, "call echo --state %s/s", at), "echo completed");
    ws_expect(&w, 0, ws_run(&w, "ledger verify --state %s/s", at), "good");
    assert_int_equal(umount(at), 0);
    ws_fini(&w);
}

/* C5.3: "a failed write is output_persistence_failed with what was saved"; a small disk is
 * no reason to refuse small outputs. */
static void output_that_fills_the_disk_is_an_error_with_what_was_saved(void **state)
{
    struct workspace w;
    char at[200];

    (void)state;
    ws_init(&w);
    snprintf(at, sizeof(at), "%s/disk", w.base);
    assert_int_equal(mkdir(at, 0700), 0);
    if (mount("waybill-test", at, "tmpfs", 0, "size=8m,mode=700") != 0) {
        print_message("skipped: full disk (no tmpfs can be mounted here)\n");
        ws_fini(&w);
        return;
    }
    ws_expect(&w, 0, ws_run(&w, "exec --state %s/s -- echo before", at), "before");
    ws_expect(&w, 125, ws_run(&w, "exec --state %s/s -- seq 1 2000000", at),
              "output_persistence_failed");
    assert_true(ws_has(w.out, "stdout artifact: ") && !ws_has(w.out, "Not recorded"));
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --state %s/s", at),
              "output_persistence_failed");
    ws_expect(&w, 0, ws_run(&w, "artifact list --json --state %s/s", at), "\"incomplete\"");
    ws_expect(&w, 0, ws_run(&w, "ledger verify --state %s/s", at), "good");
    ws_expect(&w, 0, ws_run(&w, "exec --state %s/s -- echo after", at), "after");
    assert_int_equal(umount(at), 0);
    ws_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_directory_that_turns_read_only_is_still_the_one),
        cmocka_unit_test(an_outcome_that_finds_no_room_is_written_later),
        cmocka_unit_test(a_full_disk_refuses_effects_only_and_recovers),
        cmocka_unit_test(output_that_fills_the_disk_is_an_error_with_what_was_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
