/* SPDX-License-Identifier: Apache-2.0
 * tests/support/commands.h: commands and tasks as an agent calls them. */
#ifndef WAYBILL_TESTS_SUPPORT_COMMANDS_H
#define WAYBILL_TESTS_SUPPORT_COMMANDS_H

#include <time.h>

#include "support/tools.h"

/* ExecCommand with a line; more: further members, each behind its comma. */
static inline wb_result *exec_line(struct tools *t, const char *cmd, const char *more)
{
    char input[4096];

    (void)snprintf(input, sizeof(input), "{\"cmd\":\"%s\"%s}", cmd, more);
    return tools_ask(t, "ExecCommand", input);
}

static inline wb_result *with_id(struct tools *t, const char *tool, const char *id,
                                 const char *more)
{
    char input[1024];

    (void)snprintf(input, sizeof(input), "{\"task_id\":\"%s\"%s}", id, more);
    return tools_ask(t, tool, input);
}

/* The task that a command became; free it with wb_free. */
static inline char *task_of(wb_result *r)
{
    char *id = member_of(r, "/result/task_handle/task_id");

    assert_memory_equal(id, "task_", 5);
    return id;
}

/* A call with a deadline one to two seconds from now. */
static inline wb_result *ask_in_time(struct tools *t, const char *tool, const char *input)
{
    struct timespec now;
    char deadline[64];
    wb_request *request;
    wb_result *r;
    struct tm utc;
    time_t at;

    clock_gettime(CLOCK_REALTIME, &now);
    at = now.tv_sec + 2;
    gmtime_r(&at, &utc);
    (void)strftime(deadline, sizeof(deadline), "%Y-%m-%dT%H:%M:%SZ", &utc);
    request = wb_request_new(tool);
    assert_int_equal(wb_request_set(request, WB_FIELD_INPUT, input), WB_OK);
    assert_int_equal(wb_request_set(request, WB_FIELD_DEADLINE, deadline), WB_OK);
    assert_int_equal(wb_call_run(t->runtime, request, &r), WB_OK);
    wb_request_free(request);
    return r;
}

#endif
