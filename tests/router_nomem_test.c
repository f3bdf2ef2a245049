/* SPDX-License-Identifier: Apache-2.0
 * tests/router_nomem_test.c: a call id that comes again (C9.4) where the n-th allocation of the
 * first line failed, for every n: what ran is answered with the same bytes and not run again.
 * The allocator of base/ is replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "faults/base_fault.h"
#include "waybill/waybill.h"

struct world {
    wb_runtime *runtime;
    wb_router *router;
    int runs;
    char last[8192];
};

static void answer(wb_tool_call *call, void *arg)
{
    struct world *w = arg;

    w->runs++;
    wb_tool_finish_text(call, "done", 4);
}

static void take_line(const char *line, size_t size, void *arg)
{
    struct world *w = arg;

    snprintf(w->last, sizeof(w->last), "%.*s", (int)size, line);
}

static void begin(struct world *w)
{
    wb_options *o = wb_options_new();

    *w = (struct world){.runs = 0};
    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &w->runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_tool_register(w->runtime, "{\"name\":\"t\",\"effect\":\"Pure\"}", NULL,
                                      answer, NULL, w, NULL),
                     WB_OK);
    assert_int_equal(wb_router_new(w->runtime, NULL, take_line, w, &w->router, NULL), WB_OK);
}

static wb_rc send(struct world *w, const char *line)
{
    wb_rc rc = wb_router_line(w->router, line, strlen(line), NULL);

    while (wb_router_pending(w->router) > 0)
        (void)wb_runtime_turn(w->runtime, 0);
    return rc;
}

static void a_repeat_is_known_whatever_failed_before(void **state)
{
    char line[4096], text[3000], first[8192];
    bool failed = true;

    (void)state;
    memset(text, 'x', sizeof(text) - 1); /* longer than what buffers begin with */
    text[sizeof(text) - 1] = '\0';
    snprintf(line, sizeof(line),
             "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"t\","
             "\"arguments\":\"{\\\"n\\\":\\\"%s\\\"}\"}",
             text);
    for (long n = 0; failed; n++) {
        struct world w;
        wb_rc rc;

        begin(&w);
        until_failure = n;
        rc = send(&w, line);
        failed = until_failure < 0;
        until_failure = -1;
        assert_true(rc == WB_OK || w.runs == 0);
        if (w.runs == 1) {
            memcpy(first, w.last, sizeof(first));
            assert_int_equal(send(&w, line), WB_OK);
            assert_string_equal(w.last, first);
            assert_int_equal(w.runs, 1);
        }
        wb_router_free(w.router);
        wb_runtime_free(w.runtime);
    }
    assert_int_equal(live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeat_is_known_whatever_failed_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
