/* SPDX-License-Identifier: Apache-2.0
 * tests/guard_clock_test.c: two processes on one state directory whose wall clocks are an
 * hour apart, either way: the clock stepped between their starts. Keys, budgets and
 * approvals go by the monotonic clock they share (docs/decisions/clocks-between-processes.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/mortal.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)

static const int64_t steps_ms[] = {0, HOUR, -HOUR};
#define STEPS (sizeof(steps_ms) / sizeof(steps_ms[0]))

/* A process whose clocks are ahead by so much. */
static void start_as(int64_t wall_ms, int64_t mono_ms)
{
    mortal_clock.wall_ms = wall_ms;
    mortal_clock.mono_ns = mono_ms * 1000000;
}

static bool replayed(const struct mortal_outcome *o)
{
    return o->kind[0] == '\0' && strstr(o->text, "\"replayed\":true") != NULL;
}

/* Ten minutes are ten minutes, whatever time it is said to be. */
static void a_completed_key_is_known_until_its_time_is_over(void **state)
{
    struct mortal_outcome o;

    (void)state;
    mortal_config("{\"environment\":{\"idempotency\":{\"ttlMs\":600000,\"inFlightMs\":600000}}}",
                  NULL);
    assert_string_equal(call_once(live, "k", &o), "");
    for (size_t i = 0; i < STEPS; i++) {
        start_as(steps_ms[i], 0);
        (void)call_once(live, "k", &o);
        assert_true(replayed(&o));
        start_as(steps_ms[i], 9 * MINUTE);
        (void)call_once(live, "k", &o);
        assert_true(replayed(&o));
    }
    assert_int_equal(effects(), 1);
    start_as(-HOUR, 10 * MINUTE);
    assert_string_equal(call_once(live, "k", &o), "");
    assert_false(replayed(&o));
    assert_int_equal(effects(), 2);
}

/* ---- a call of another process that runs ---- */

static int go[2], went[2]; /* to the child that holds a key, and from it */

static void finish_when_told(wb_tool_call *call, void *arg)
{
    char byte;

    (void)arg;
    if (write(went[1], "r", 1) != 1 || read(go[0], &byte, 1) != 1)
        _exit(98);
    take_effect();
    wb_tool_finish_json(call, "{\"done\":true}", 13);
}

static pid_t start_holder(void)
{
    struct mortal_outcome o;
    char byte;
    pid_t child;

    assert_int_equal(pipe(go) | pipe(went), 0);
    child = mortal_fork();
    if (child == 0)
        _exit(call_once(finish_when_told, "k", &o)[0] == '\0' ? 0 : 97);
    assert_int_equal(read(went[0], &byte, 1), 1);
    return child;
}

static void end_holder(pid_t child)
{
    int status;

    assert_int_equal(write(go[1], "g", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(go[0]);
    close(go[1]);
    close(went[0]);
    close(went[1]);
}

static void a_key_in_flight_elsewhere_stays_in_flight(void **state)
{
    struct mortal_outcome o;
    pid_t child;

    (void)state;
    mortal_config("{\"environment\":{\"idempotency\":{\"ttlMs\":1200000,\"inFlightMs\":600000}}}",
                  NULL);
    child = start_holder();
    for (size_t i = 0; i < STEPS; i++) {
        start_as(steps_ms[i], 0);
        assert_string_equal(call_once(live, "k", &o), "call_in_flight");
    }
    start_as(-HOUR, 10 * MINUTE); /* its time is over: nobody knows, and nobody runs it */
    assert_string_equal(call_once(live, "k", &o), "outcome_unknown");
    start_as(HOUR, 0);
    end_holder(child);
    (void)call_once(live, "k", &o);
    assert_true(replayed(&o));
    assert_int_equal(effects(), 1);
}

/* ---- budgets ---- */

static void a_window_turns_when_its_time_is_over(void **state)
{
    struct mortal_outcome o;

    (void)state;
    mortal_config("{\"environment\":{\"budget\":{\"windowMs\":600000,\"calls\":1,\"id\":\"b\"}}}",
                  NULL);
    assert_string_equal(call_once(live, "0", &o), "");
    for (size_t i = 0; i < STEPS; i++) {
        const char *reset;

        start_as(steps_ms[i], 0);
        assert_string_equal(call_once(live, "1", &o), "budget_exceeded");
        reset = strstr(o.text, "\"resetAfterMs\":");
        assert_non_null(reset);
        assert_in_range(atol(reset + 15), 9 * MINUTE, 10 * MINUTE);
    }
    start_as(-HOUR, 10 * MINUTE);
    assert_string_equal(call_once(live, "1", &o), "");
    assert_string_equal(call_once(live, "2", &o), "budget_exceeded");
    assert_int_equal(effects(), 2);
}

/* ---- approvals ---- */

static void wait_for_yes(int report)
{
    wb_runtime *runtime = mortal_open("IdempotentWrite", live);
    struct mortal_outcome o;

    mortal_submit(runtime, "k", &o);
    while (o.done == 0)
        (void)wb_runtime_turn(runtime, 1);
    _exit(write(report, o.kind, sizeof(o.kind)) == sizeof(o.kind) ? 0 : 1);
}

/* The id of the one that waits, and how long it still does. */
static long find_waiting(char id[64])
{
    wb_options *o = mortal_options();
    const char *at = NULL, *left;
    char *text;
    long ms;

    for (;;) {
        assert_int_equal(wb_approvals_list_all(o, &text, NULL, NULL), WB_OK);
        at = strstr(text, "approval_");
        if (at != NULL)
            break;
        wb_free(text);
    }
    snprintf(id, 64, "%.*s", (int)strcspn(at, "\""), at);
    left = strstr(text, "\"expiresInMs\":");
    assert_non_null(left);
    ms = atol(left + 14);
    wb_free(text);
    wb_options_free(o);
    return ms;
}

/* Who answers may think it is another hour: how long a call waits is its own process's. */
static void an_approval_is_answered_from_another_hour(void **state)
{
    (void)state;
    mortal_config("{}", "[{\"principal\":\"*\",\"allow\":[\"*\"],\"approval\":{\"*\":\"ask\"}}]");
    for (size_t i = 0; i < STEPS; i++) {
        char id[64], kind[64];
        wb_options *o;
        int report[2], status;
        pid_t child;

        start_as(0, 0);
        assert_int_equal(pipe(report), 0);
        child = mortal_fork();
        if (child == 0)
            wait_for_yes(report[1]);
        start_as(steps_ms[i], 0);
        assert_in_range(find_waiting(id), 9 * MINUTE, 10 * MINUTE);
        o = mortal_options();
        assert_int_equal(wb_approval_resolve_any(o, id, 1, "me", NULL), WB_OK);
        wb_options_free(o);
        assert_int_equal(read(report[0], kind, sizeof(kind)), sizeof(kind));
        assert_string_equal(kind, "");
        assert_int_equal(waitpid(child, &status, 0), child);
        close(report[0]);
        close(report[1]);
    }
    assert_int_equal(effects(), 1); /* the second and third were asked, then replayed */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, mortal_setup, mortal_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_completed_key_is_known_until_its_time_is_over),
        TEST(a_key_in_flight_elsewhere_stays_in_flight),
        TEST(a_window_turns_when_its_time_is_over),
        TEST(an_approval_is_answered_from_another_hour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
