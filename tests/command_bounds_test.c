/* SPDX-License-Identifier: Apache-2.0
 * tests/command_bounds_test.c: what commands, batches and tasks tell when they meet a bound: a
 * budget, a deadline, the output limit, what one call may take. Cites C5, C6, C7.1, C7.2. */
#include "run/process.h"
#include "support/commands.h"

#include "base/checked.h"
#include "text/tokens.h"

/* C5.6: of a batch that is stopped, what had ended before is told, not only what ran. */
static void test_a_stopped_batch_tells_what_had_ended(void **state)
{
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    r = ask_in_time(&t, "ExecCommandBatch",
                    "{\"commands\":[\"echo one; exit 4\",[\"no-such-program\"],"
                    "\"echo two; sleep 100\",\"echo never\"]}");
    assert_member(r, "/error/kind", "timed_out");
    assert_member(r, "/error/details/partial/commands_completed", "2");
    assert_member(r, "/error/details/partial/items/0/exit_status", "4");
    assert_member(r, "/error/details/partial/items/2/status", "stopped");
    assert_says(r, "\nCommand 1: echo one; exit 4\nProcess exited with code 4\n"
                   "stdout: (1 line)\none\n"
                   "Command 2: no-such-program\n"
                   "Not started: program not found: no-such-program is not in " WBI_SEARCH_PATH
                   "; name one elsewhere by its path\n"
                   "Command 3: echo two; sleep 100\nStopped with the call\n"
                   "stdout: (1 line)\ntwo\n"
                   "Not started: 1 of 4 commands");
    wb_result_free(r);
    r = ask_in_time(&t, "ExecCommandBatch", "{\"commands\":[\"echo one\",\"sleep 100\"]}");
    assert_says(r, "stdout: (1 line)\none\nCommand 2: sleep 100\nStopped with the call");
    wb_result_free(r);
    tools_end(&t);
}

/* A batch of `count` times the same line. */
static wb_result *ask_batch(struct tools *t, const char *line, int count, int tokens)
{
    char input[4096] = "{\"commands\":[";
    size_t n = strlen(input);

    for (int i = 0; i < count; i++)
        n += (size_t)snprintf(input + n, sizeof(input) - n, "%s\"%s\"", i > 0 ? "," : "", line);
    (void)snprintf(input + n, sizeof(input) - n, "],\"max_output_tokens\":%d}", tokens);
    return tools_ask(t, "ExecCommandBatch", input);
}

/* C6.1, I3: however many commands and however small the budget, the receipt keeps to it, and
 * what it does not show is kept. */
static void test_a_batch_keeps_to_its_budget_and_loses_nothing(void **state)
{
    static const char *const lines[] = {"seq 5000", "echo hello world", "seq 300; seq 90 >&2",
                                        "for i in $(seq 3000); do printf 'x y '; done"};
    static const int budgets[] = {200, 300, 1000, 2500};
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    for (size_t i = 0; i < WBI_COUNT(lines); i++)
        for (size_t k = 0; k < WBI_COUNT(budgets); k++) {
            char *last, *kept;
            r = ask_batch(&t, lines[i], 12, budgets[k]);
            last = member_of(r, "/result/items/11/stdout_truncated");
            assert_in_range(wbi_tokens(wbi_str_z(receipt_of(r))), 1, budgets[k]);
            kept = member_of(r, "/result/items/11/artifacts");
            assert_true(strcmp(last, "false") == 0 || strstr(kept, "_12-stdout.log") != NULL);
            if (strstr(receipt_of(r), "left out)") != NULL)
                assert_says(r, "_N-stdout.log\"}, N the number of the command");
            wb_free(last);
            wb_free(kept);
            wb_result_free(r);
        }
    r = ask_batch(&t, "echo hello world", 12, 200);
    assert_says(r, "12 of 12 commands completed\n");
    assert_says(r, " more commands: ");
    assert_says(r, "-12 exit 0\nOutput left out: ReadArtifact {");
    wb_result_free(r);
    r = ask_batch(&t, "seq 5000; exit 3", 12, 1000);
    assert_says(r, "Command 12 (exit 3; 5000 lines of stdout left out): seq 5000; exit 3");
    wb_result_free(r);
    tools_end(&t);
}

/* C6.4: of long outputs those of the commands that failed are shown, down to the line that tells
 * why, before any of the others is more than a line. */
static void test_what_failed_in_a_batch_comes_before_what_went_well(void **state)
{
    static const char input[] =
        "{\"commands\":[\"seq 300\","
        "\"for i in $(seq 500); do echo ok test $i; done; echo FAIL: test_foo; exit 1\","
        "\"echo small\",\"seq 2000 >&2\","
        "\"for i in $(seq 900); do echo compile $i.c; [ $i = 450 ] && "
        "echo '450.c:12:5: error: undeclared x'; done; exit 2\"],"
        "\"max_output_tokens\":%d}";
    static const int budgets[] = {700, 1000, 1500};
    struct tools t;

    (void)state;
    tools_start(&t, NULL);
    for (size_t i = 0; i < WBI_COUNT(budgets); i++) {
        char text[600];
        wb_result *r;
        (void)snprintf(text, sizeof(text), input, budgets[i]);
        r = tools_ask(&t, "ExecCommandBatch", text);
        assert_in_range(wbi_tokens(wbi_str_z(receipt_of(r))), 1, budgets[i]);
        assert_says(r, "\nFAIL: test_foo\n");
        assert_says(r, "\n450.c:12:5: error: undeclared x\n");
        assert_says(r, "\nsmall\n");
        wb_result_free(r);
    }
    tools_end(&t);
}

/* I3: what is all shown is not kept as well, however close it comes to the budget. */
static void test_what_just_fits_names_no_artifact(void **state)
{
    static const char *const lines[] = {"", " >&2; echo 'it failed' >&2",
                                        "; seq 90; seq 2000 2020 >&2"};
    struct tools t;
    int whole = 0, kept = 0;

    (void)state;
    tools_start(&t, NULL);
    for (size_t i = 0; i < WBI_COUNT(lines); i++)
        for (int last = 1010; last < 1160; last += 7) {
            char line[100];
            wb_result *r;
            bool artifact;
            (void)snprintf(line, sizeof(line), "seq 1000 %d%s", last, lines[i]);
            r = exec_line(&t, line, ",\"max_output_tokens\":300");
            artifact = strstr(receipt_of(r), " artifact: ") != NULL;
            assert_in_range(wbi_tokens(wbi_str_z(receipt_of(r))), 1, 300);
            assert_int_equal(artifact, strstr(receipt_of(r), " truncated") != NULL);
            whole += !artifact;
            kept += artifact;
            wb_result_free(r);
        }
    assert_true(whole > 10 && kept > 10);
    tools_end(&t);
}

/* C6.4: where there is room for one stream alone it is stderr of what failed, of a task as well. */
static void test_a_failed_task_shows_its_stderr_first(void **state)
{
    struct tools t;
    wb_result *r;
    char *id;

    (void)state;
    tools_start(&t, NULL);
    r = exec_line(&t, "for i in $(seq 300); do echo plain $i; echo note $i >&2; done; exit 1",
                  ",\"yield_time_ms\":0");
    id = task_of(r);
    wb_result_free(r);
    r = with_id(&t, "TaskOutput", id, ",\"wait_ms\":20000,\"max_output_tokens\":260");
    assert_says(r, "\nExit status: 1\n");
    assert_says(r, "\nstdout is left out here\n");
    assert_says(r, "\nnote 1\n");
    wb_result_free(r);
    wb_free(id);
    tools_end(&t);
}

/* C5.2: what is past the output limit is counted, and the artifact says that it is missing. The
 * reason on stderr is kept though stdout has spent it all. */
static void test_the_output_limit_counts_what_it_drops(void **state)
{
    struct tools t;
    wb_result *r;
    char *id;

    (void)state;
    tools_start(&t, "{\"settings\":{\"limits\":{\"outputBytes\":100000}}}");
    r = exec_line(
        &t, "trap '' TERM; head -c 150000 /dev/zero | tr '\\\\0' '\\\\n'; echo the reason >&2", "");
    assert_member(r, "/result/limit", "output");
    assert_member(r, "/result/stdout_bytes", "150000");
    assert_member(r, "/result/stdout_lines", "150000");
    assert_member(r, "/result/stdout_dropped_bytes", "50000");
    assert_member(r, "/result/stdout_dropped_reason", "output_limit");
    assert_member(r, "/result/stdout_truncated", "true");
    assert_member(r, "/result/stderr_preview", "the reason");
    assert_member(r, "/result/stderr_bytes", "11");
    assert_says(r, "stdout: 50000 bytes could not be kept (output_limit)\n");
    wb_result_free(r);
    r = tools_ask(&t, "ListArtifacts", "{}");
    assert_says(r, "stdout, 100000 lines, 100000 bytes, incomplete");
    wb_result_free(r);
    r = exec_line(&t, "trap '' TERM; head -c 150000 /dev/zero | tr '\\\\0' '\\\\n'",
                  ",\"yield_time_ms\":0");
    id = task_of(r);
    wb_result_free(r);
    r = with_id(&t, "TaskOutput", id, ",\"wait_ms\":20000"); /* the same of a task */
    assert_member(r, "/result/stdout_bytes", "150000");
    assert_member(r, "/result/stdout_lines", "150000");
    assert_member(r, "/result/stdout_dropped_reason", "output_limit");
    wb_result_free(r);
    wb_free(id);
    tools_end(&t);
}

/* What one call cannot give is told: a stream alone, more waiting, more input, what is not there.
 */
static void test_a_task_tells_what_it_cannot_give(void **state)
{
    struct tools t;
    wb_result *r;
    char *id, *text;

    (void)state;
    tools_start(&t, NULL);
    r = exec_line(&t, "echo out; echo err >&2; wc -c",
                  ",\"yield_time_ms\":300,\"accepts_input\":true");
    id = task_of(r);
    wb_result_free(r);
    r = with_id(&t, "TaskOutput", id, ",\"stream\":\"stderr\"");
    assert_member(r, "/result/stderr_preview", "err");
    assert_member(r, "/result/stdout_preview", "null");
    assert_member(r, "/result/stdout_bytes", "4");
    assert_says(r, "\nstdout is left out here\n");
    wb_result_free(r);
    r = with_id(&t, "TaskOutput", id, ",\"stream\":\"combined\"");
    assert_member(r, "/result/stderr_preview", "err");
    assert_member(r, "/result/stdout_preview", "out");
    wb_result_free(r);
    r = with_id(&t, "TaskOutput", id, ",\"stream\":\"combined\",\"lines\":\"1\"");
    assert_member(r, "/error/kind", "invalid_tool_input");
    wb_result_free(r);
    r = with_id(&t, "TaskOutput", id, ",\"offset\":100");
    assert_member(r, "/result/end_byte", "4");
    assert_says(r, "\nNothing there: it has 4 bytes");
    wb_result_free(r);
    assert_true(asprintf(&text, "{\"task_id\":\"%s\",\"wait_ms\":3600000}", id) > 0);
    r = ask_in_time(&t, "TaskOutput", text);
    assert_member(r, "/result/retrieval_status", "timeout");
    assert_says(r, " ms, the most one call may; call again to wait on\n");
    wb_result_free(r);
    free(text);
    assert_true(asprintf(&text, "{\"task_id\":\"%s\",\"input\":\"%01500000d\"}", id, 7) > 0);
    r = tools_ask(&t, "TaskInput", text);
    assert_member(r, "/error/kind", "invalid_tool_input");
    assert_says(r, "the input has 1500000 bytes, at most 1048576 may wait to be read; nothing was "
                   "written: send it in smaller pieces");
    wb_result_free(r);
    free(text);
    r = with_id(&t, "TaskInput", id, ",\"input\":\"ab\",\"end_of_input\":true");
    wb_result_free(r);
    r = with_id(&t, "TaskOutput", id, ",\"wait_ms\":10000");
    assert_member(r, "/result/stdout_preview", "out\n2");
    wb_result_free(r);
    wb_free(id);
    tools_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stopped_batch_tells_what_had_ended),
        cmocka_unit_test(test_a_batch_keeps_to_its_budget_and_loses_nothing),
        cmocka_unit_test(test_what_failed_in_a_batch_comes_before_what_went_well),
        cmocka_unit_test(test_what_just_fits_names_no_artifact),
        cmocka_unit_test(test_a_failed_task_shows_its_stderr_first),
        cmocka_unit_test(test_a_task_tells_what_it_cannot_give),
        cmocka_unit_test(test_the_output_limit_counts_what_it_drops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
