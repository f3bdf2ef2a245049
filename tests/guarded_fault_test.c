/* SPDX-License-Identifier: Apache-2.0
 * tests/guarded_fault_test.c: a call that is asked for, limited, streamed, redacted and
 * retried, with the n-th allocation failing, for every n: no crash, no leak, one
 * outcome or a clean refusal to start (C1.1), and no secret in what is recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults/alloc_fault.h"
#include "waybill/waybill.h"

static char config[64];

static const char settings[] =
    "{\"policies\":{\"environment\":{\"timeoutMs\":60000,\"redact\":[\"mail\"],"
    "\"rate\":{\"count\":100,\"periodMs\":1},\"concurrency\":{\"limit\":1},"
    "\"budget\":{\"windowMs\":1000,\"calls\":100},\"circuit\":{\"minCalls\":50},"
    "\"retry\":{\"maxAttempts\":3,\"baseMs\":1,\"jitter\":\"none\"}}},"
    "\"bindings\":[{\"principal\":\"local\",\"allow\":[\"*\"],\"approval\":{\"*\":\"ask\"}}]}";

struct run {
    wb_runtime *runtime;
    int runs, done, frames;
    int shown, told; /* records, and secrets in them */
    int lost;        /* approvals that went away before they were answered */
};

static void tool(wb_tool_call *call, void *arg)
{
    struct run *r = arg;

    if (r->runs++ == 0) {
        wb_tool_fail(call, "upstream_unavailable", "not yet", "{\"mail\":\"a@b\"}");
        return;
    }
    wb_tool_partial(call, "{\"mail\":\"a@b\",\"n\":1}", 20);
    wb_tool_finish_json(call, "{\"mail\":\"a@b\"}", 14);
}

static void on_frame(const char *frame, size_t size, void *arg)
{
    struct run *r = arg;

    (void)frame;
    (void)size;
    r->frames++;
}

static void on_done(wb_result *result, void *arg)
{
    struct run *r = arg;
    const char *record = wb_result_view(result, WB_VIEW_RECORD, NULL);

    if (record == NULL) /* once more, as the ledger asks after the view did */
        record = wb_result_view(result, WB_VIEW_RECORD, NULL);
    r->done++;
    r->shown += record != NULL;
    r->told += record != NULL && (strstr(record, "a@b") || strstr(record, "hunter22"));
}

/* Say yes to whatever waits; a list that cannot be made is asked for again. */
static void approve(struct run *r)
{
    char *text, *at, id[64];

    if (wb_approvals_list(r->runtime, &text, NULL, NULL) != WB_OK)
        return;
    at = strstr(text, "\"id\":\"");
    if (at != NULL) {
        snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 6, "\""), at + 6);
        r->lost += wb_approval_resolve(r->runtime, id, 1, "ann", NULL) != WB_OK;
    }
    wb_free(text);
}

static wb_rc submit(struct run *r)
{
    wb_request *q = wb_request_new("t");
    wb_rc rc = q ? WB_OK : WB_ENOMEM;

    if (rc == WB_OK)
        rc = wb_request_set(q, WB_FIELD_IDEMPOTENCY_KEY, "k");
    if (rc == WB_OK)
        rc = wb_request_set(q, WB_FIELD_INPUT, "{\"mail\":\"a@b\"}");
    if (rc == WB_OK)
        rc = wb_request_set(q, WB_FIELD_METADATA, "{\"password\":\"hunter22\"}");
    if (rc == WB_OK)
        rc = wb_request_set_frames(q, on_frame, r);
    if (rc == WB_OK)
        rc = wb_call_submit(r->runtime, q, on_done, r, NULL);
    wb_request_free(q);
    return rc;
}

/* Everything once; true when a call was taken. */
static bool whole_call(struct run *r)
{
    wb_options *o = wb_options_new();
    wb_rc rc = o ? WB_OK : WB_ENOMEM;
    bool taken;
    int turns = 0;

    if (rc == WB_OK)
        rc = wb_options_set(o, WB_OPT_CONFIG, config);
    if (rc == WB_OK)
        rc = wb_options_set(o, WB_OPT_ROOT, "/tmp");
    if (rc == WB_OK)
        rc = wb_options_set(o, WB_OPT_LEDGER, "0");
    if (rc == WB_OK)
        rc = wb_runtime_new(o, &r->runtime, NULL);
    if (rc == WB_OK)
        rc = wb_tool_register(
            r->runtime,
            "{\"name\":\"t\",\"description\":\"For tests.\",\"version\":\"1.0.0\","
            "\"inputSchema\":{\"type\":\"object\"},\"effect\":\"IdempotentWrite\"}",
            NULL, tool, NULL, r, NULL);
    taken = rc == WB_OK && submit(r) == WB_OK;
    while (taken && r->done == 0 && turns++ < 10000) {
        approve(r);
        (void)wb_runtime_turn(r->runtime, 0);
    }
    wb_runtime_free(r->runtime);
    wb_options_free(o);
    return taken;
}

static void every_allocation_may_fail(void **state)
{
    long n, hits = 1, live;
    struct run r = {NULL};

    (void)state;
    assert_true(whole_call(&r)); /* fills the caches of libraries */
    assert_int_equal(r.runs, 2);
    assert_int_equal(r.done, 1);
    assert_int_equal(r.frames, 2);
    assert_int_equal(r.shown, 1);
    assert_int_equal(r.told, 0);
    assert_int_equal(r.lost, 0);
    if (!ALLOC_FAULTS)
        return;
    for (n = 0; hits > 0; n++) {
        bool taken;

        r = (struct run){NULL};
        alloc_fault_start(n, false);
        taken = whole_call(&r);
        atomic_store(&alloc_faults.until, -1);
        live = atomic_load(&alloc_faults.live);
        hits = alloc_fault_stop();
        if (live != 0)
            fail_msg("%ld allocations are left when number %ld fails", live, n);
        if (r.done != (taken ? 1 : 0))
            fail_msg("%d outcomes when allocation %ld fails", r.done, n);
        if (r.told != 0)
            fail_msg("a secret is recorded when allocation %ld fails", n);
    }
    print_message("%ld allocations\n", n - 1);
}

static int setup(void **state)
{
    int fd;

    (void)state;
    snprintf(config, sizeof(config), "/tmp/waybill-fault-XXXXXX");
    fd = mkstemp(config);
    if (fd < 0 || write(fd, settings, sizeof(settings) - 1) != (ssize_t)sizeof(settings) - 1)
        return -1;
    return close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
