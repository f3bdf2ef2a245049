/* SPDX-License-Identifier: Apache-2.0
 * tests/ledger_race_test.c: a ledger that one process verifies while another prunes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "state_fixture.h"

struct prune {
    struct wbi_op op; /* first: the writer hands it back */
    int64_t upto, anchor;
};

static wb_rc apply_prune(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    struct prune *p = (struct prune *)op;

    return wbi_tx_prune(tx, p->upto, 100, &p->anchor, err);
}

/* Another process: calls come at one end of the ledger and go at the other. */
static void append_and_prune(struct fixture *f)
{
    for (unsigned long i = 2;; i++) {
        struct prune p = {.op = {.apply = apply_prune}, .upto = 2 * (int64_t)i - 4};
        fixture_call(f, i);
        if (wbi_store_run(f->store, &p.op, NULL) != WB_OK)
            _exit(1);
    }
}

/* C12.2: what is pruned while it is verified is not missing. */
static void verify_follows_a_prune(void **state)
{
    struct fixture f;
    struct wbi_verify_report report;
    struct wbi_witness first, last;
    pid_t pruner;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    fixture_close(&f);
    pruner = fork();
    assert_true(pruner >= 0);
    if (pruner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fixture_open(&f);
        append_and_prune(&f);
    }
    fixture_open(&f);
    assert_int_equal(wbi_store_anchor(f.store, &first, NULL), WB_OK);
    do {
        report = fixture_verify(&f);
        if (!report.good)
            fail_msg("%s", report.what);
        assert_int_equal(wbi_store_anchor(f.store, &last, NULL), WB_OK);
        assert_int_equal(waitpid(pruner, NULL, WNOHANG), 0);
    } while (last.seq < first.seq + 200);
    kill(pruner, SIGKILL);
    assert_int_equal(waitpid(pruner, NULL, 0), pruner);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(verify_follows_a_prune)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
