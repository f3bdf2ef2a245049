/* SPDX-License-Identifier: Apache-2.0
 * tests/ledger_nomem_test.c: reading, checking and pruning a ledger with the n-th
 * allocation failing, for every n: no crash, no leak, and the ledger is as sound as
 * before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "faults/alloc_fault.h"
#include "faults/crypto_errors.h"
#include "waybill/waybill.h"
#include "workspace.h"

static void ignore(const char *line, size_t size, void *arg)
{
    (void)line;
    *(size_t *)arg += size;
}

typedef wb_rc work_fn(wb_ledger *l, const wb_options *o, wb_error **error);

static wb_rc do_list(wb_ledger *l, const wb_options *o, wb_error **error)
{
    char *text = NULL;
    wb_rc rc = wb_ledger_list(l, &(wb_ledger_filter){.since = "7d"}, &text, NULL, error);

    (void)o;
    wb_free(text);
    return rc;
}

static wb_rc do_show(wb_ledger *l, const wb_options *o, wb_error **error)
{
    static const wb_view views[] = {WB_VIEW_RECEIPT, WB_VIEW_ENVELOPE, WB_VIEW_RECORD};
    wb_rc rc = WB_OK;

    (void)o;
    for (size_t i = 0; rc == WB_OK && i < 3; i++) {
        char *text = NULL;
        rc = wb_ledger_show(l, "id-1", views[i], &text, NULL, error);
        wb_free(text);
    }
    return rc;
}

static wb_rc do_rows(wb_ledger *l, const wb_options *o, wb_error **error)
{
    size_t n = 0;

    (void)o;
    return wb_ledger_rows(l, &(wb_ledger_filter){.limit = 3}, NULL, ignore, &n, error);
}

static wb_rc do_verify(wb_ledger *l, const wb_options *o, wb_error **error)
{
    char *text = NULL;
    int good = 0;
    wb_rc rc = wb_ledger_verify(l, NULL, &good, &text, NULL, error);

    (void)o;
    wb_free(text);
    return rc;
}

static wb_rc do_stats(wb_ledger *l, const wb_options *o, wb_error **error)
{
    char *text = NULL;
    wb_rc rc = wb_ledger_stats(l, NULL, &text, NULL, error);

    (void)o;
    wb_free(text);
    return rc;
}

static wb_rc do_checkpoint(wb_ledger *l, const wb_options *o, wb_error **error)
{
    char *text = NULL;
    wb_rc rc = wb_ledger_checkpoint(l, WB_CHECKPOINT_RESTART, &text, NULL, error);

    (void)o;
    wb_free(text);
    text = NULL;
    if (rc == WB_OK) /* a file of as many lines each time */
        rc = wb_ledger_checkpoint(l, WB_CHECKPOINT_ROTATE, &text, NULL, error);
    wb_free(text);
    return rc;
}

static wb_rc do_prune(wb_ledger *l, const wb_options *o, wb_error **error)
{
    char *text = NULL;
    wb_rc rc = wb_ledger_prune(l, &(wb_ledger_retention){.keep = 5}, &text, NULL, error);

    (void)o;
    wb_free(text);
    return rc;
}

static wb_rc do_live(wb_ledger *l, const wb_options *o, wb_error **error)
{
    char *text = NULL;
    wb_rc rc = wb_live_calls(l, &text, NULL, error);

    (void)o;
    wb_free(text);
    if (rc == WB_OK)
        rc = wb_live_cancel(l, "nobody", error);
    return rc == WB_ENOTFOUND ? WB_OK : rc;
}

static wb_rc do_replay(wb_ledger *l, const wb_options *o, wb_error **error)
{
    wb_runtime *runtime = NULL;
    size_t n = 0;
    wb_rc rc = wb_runtime_new(o, &runtime, error);

    if (rc == WB_OK)
        rc = wb_ledger_replay(l, runtime, NULL, 200, ignore, &n, error);
    wb_runtime_free(runtime);
    return rc;
}

static wb_rc run_once(const wb_options *o, work_fn *work)
{
    wb_ledger *l = NULL;
    wb_error *error = NULL;
    wb_rc rc = wb_ledger_open(o, WB_LEDGER_READ, &l, &error);

    if (rc == WB_OK)
        rc = work(l, o, &error);
    wb_ledger_free(l);
    wb_error_free(error);
    return rc;
}

static long run_with(const wb_options *o, work_fn *work, long n, wb_rc *ret_rc, long *ret_live)
{
    alloc_fault_start(n, false);
    *ret_rc = run_once(o, work);
    atomic_store(&alloc_faults.until, -1);
    forget_crypto_errors();
    *ret_live = atomic_load(&alloc_faults.live);
    return alloc_fault_stop();
}

static void every_allocation(const wb_options *o, const char *name, work_fn *work)
{
    long n = 0, hits = 1, live;
    wb_rc rc;

    assert_int_equal(run_once(o, work), WB_OK); /* what is made once */
    for (; hits > 0; n++) {
        hits = run_with(o, work, n, &rc, &live);
        if (live != 0) /* made once per process? Then not again. */
            hits = run_with(o, work, n, &rc, &live);
        if (live != 0)
            fail_msg("%s: %ld allocations are left when number %ld fails", name, live, n);
        if (hits == 0 && rc != WB_OK)
            fail_msg("%s: %s though no allocation failed (%ld)", name, wb_rc_name(rc), n);
    }
    print_message("%s: %ld allocations\n", name, n - 1);
}

static void the_ledger_bears_missing_memory(void **state)
{
    static const struct {
        const char *name;
        work_fn *work;
    } all[] = {
        {"list", do_list},     {"show", do_show},     {"rows", do_rows},
        {"verify", do_verify}, {"stats", do_stats},   {"checkpoint", do_checkpoint},
        {"live", do_live},     {"replay", do_replay}, {"prune", do_prune},
    };
    wb_options *o = wb_options_new();
    struct workspace w;

    (void)state;
    if (!ALLOC_FAULTS) {
        print_message("skipped: failing allocations (a sanitizer owns malloc)\n");
        wb_options_free(o);
        return;
    }
    ws_init(&w);
    for (int i = 0; i < 4; i++)
        (void)ws_run(&w, "call %s --call-id id-%d", i == 2 ? "broken" : "echo", i);
    assert_int_equal(ws_run(&w, "call ExecCommand --input '{\"cmd\":\"seq 1 3000\"}'"), 0);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, w.root), WB_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        every_allocation(o, all[i].name, all[i].work);
    if (ws_run(&w, "ledger verify") != 0)
        fail_msg("verify: %s%s", w.out, w.err);
    wb_options_free(o);
    ws_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_ledger_bears_missing_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
