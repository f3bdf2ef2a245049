/* SPDX-License-Identifier: Apache-2.0
 * tests/support/counting.h: a runtime with nothing but a tool that counts its calls. Include
 * after cmocka.h. */
#ifndef WAYBILL_TESTS_SUPPORT_COUNTING_H
#define WAYBILL_TESTS_SUPPORT_COUNTING_H

#include "waybill/waybill.h"

static inline void count_run(wb_tool_call *call, void *arg)
{
    ++*(int *)arg;
    wb_tool_finish_text(call, "done", 4);
}

/* A bare runtime whose tool "count" counts its calls. */
static inline wb_runtime *counting_runtime(int *runs)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime;

    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    assert_int_equal(wb_tool_register(runtime, "{\"name\":\"count\",\"effect\":\"Pure\"}", NULL,
                                      count_run, NULL, runs, NULL),
                     WB_OK);
    return runtime;
}

#endif
