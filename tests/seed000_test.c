/* SPDX-License-Identifier: Apache-2.0
 * tests/seed000_test.c: sentences of seed 000 ("Tool Result Envelope") about large payloads
 * that no test of a single family shows: they stand once, never in the summary, and within
 * the budget of their family. tests/seeds/000.cite names the tests of all sentences. */
#include "support/tools.h"

#include "text/tokens.h"

#define MARK "the-one-line-that-counts"

static unsigned times(const char *text, const char *part)
{
    unsigned n = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

static void assert_within(wb_result *r, uint64_t tokens)
{
    const char *receipt = receipt_of(r);
    uint64_t cost = wbi_tokens(wbi_str_z(receipt));

    if (cost > tokens)
        fail_msg("%llu tokens in a receipt of %llu:\n%.400s", (unsigned long long)cost,
                 (unsigned long long)tokens, receipt);
}

/* "`summary_text`: concise result"; "Large stdout, stderr, task logs, or full child-agent reports
 * should not be placed here"; "Holon should not also duplicate it". */
static void assert_stands_once(wb_result *r)
{
    const char *canonical = wb_result_view(r, WB_VIEW_CANONICAL, NULL);
    char *summary = member_of(r, "/summary_text");

    assert_int_equal(times(canonical, MARK), 1);
    assert_int_equal(times(receipt_of(r), MARK), 1);
    assert_int_equal(times(summary, MARK), 0);
    assert_true(summary[0] != '\0' && strlen(summary) <= 200);
    wb_free(summary);
}

/* "When a full payload is available through an artifact reference": the path alone is there. */
static void assert_referenced(wb_result *r, const char *role)
{
    char pointer[64], *path, *second, *reference;
    struct stat st;

    (void)snprintf(pointer, sizeof(pointer), "/result/%s", role);
    assert_member(r, pointer, "0");
    path = member_of(r, "/result/artifacts/0/path");
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 50000);
    reference = member_of(r, "/result/artifacts/0");
    assert_int_equal(strlen(reference), strlen(path) + strlen("{\"path\":\"\"}"));
    second = member_of(r, "/result/artifacts/1");
    assert_string_equal(second, "");
    wb_free(path);
    wb_free(reference);
    wb_free(second);
}

#define LONG "echo " MARK "; seq 1 20000"

static void a_commands_output_stands_once(void **state)
{
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    r = tools_ask(&t, "ExecCommand", "{\"cmd\":\"echo " MARK "\"}");
    assert_stands_once(r);
    assert_member(r, "/result/artifacts", "[]"); /* I3: the preview is all of it */
    assert_member(r, "/result/output", "");      /* "over one unstructured `output` blob" */
    wb_result_free(r);
    r = tools_ask(&t, "ExecCommand", "{\"cmd\":\"" LONG "\"}");
    assert_stands_once(r);
    assert_referenced(r, "stdout_artifact");
    assert_within(r, 8000);
    wb_result_free(r);
    tools_end(&t);
}

/* "This rule is especially important for `TaskOutput`, where output and result summary can
 * otherwise repeat the same large text."; "`TaskOutput` should also use the shared outer envelope.
 * Its `result` may contain `retrieval_status` and a task output snapshot, but large output should
 * be bounded and should reference artifacts when available." */
static void a_tasks_output_stands_once(void **state)
{
    struct tools t;
    wb_result *r;
    char *id, input[200];

    (void)state;
    tools_start(&t, NULL);
    r = tools_ask(&t, "ExecCommand", "{\"cmd\":\"" LONG "\",\"yield_time_ms\":0}");
    id = member_of(r, "/result/task_handle/task_id");
    wb_result_free(r);
    (void)snprintf(input, sizeof(input), "{\"task_id\":\"%s\",\"wait_ms\":20000}", id);
    r = tools_ask(&t, "TaskOutput", input);
    assert_member(r, "/tool_name", "TaskOutput");
    assert_member(r, "/status", "success");
    assert_member(r, "/error", "null");
    assert_member(r, "/result/retrieval_status", "success");
    assert_member(r, "/result/task/task_id", id);
    assert_member(r, "/result/stdout_truncated", "true");
    assert_stands_once(r);
    assert_referenced(r, "stdout_artifact");
    assert_within(r, 8000);
    wb_result_free(r);
    wb_free(id);
    tools_end(&t);
}

/* "child-agent supervision owns child-result report budgets" */
static void an_agents_report_has_its_own_budget(void **state)
{
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t,
                "{\"settings\":{\"agents\":{\"a\":{\"command\":[\"sh\",\"-c\",\"" LONG "\"]}}}}");
    r = tools_ask(&t, "RunAgent", "{\"agent\":\"a\",\"input\":\"report\"}");
    assert_stands_once(r);
    assert_referenced(r, "report_artifact");
    assert_within(r, 4000);
    wb_result_free(r);
    tools_end(&t);
}

/* "file mutation tools own changed-path and receipt budgets": many files, and one long change. */
static void a_patch_has_its_own_budget(void **state)
{
    char *input = malloc(200000), *at = input;
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    at += sprintf(at, "{\"input\":\"*** Begin Patch\\n");
    for (int i = 0; i < 300; i++)
        at += sprintf(at, "*** Add File: some/folder/with/file-%d.txt\\n+line of %d\\n", i, i);
    at += sprintf(at, "*** Add File: long.txt\\n");
    for (int i = 0; i < 3000; i++)
        at += sprintf(at, "+a line number %d\\n", i);
    (void)sprintf(at, "*** End Patch\"}");
    r = tools_ask(&t, "ApplyPatch", input);
    assert_member(r, "/status", "success");
    assert_member(r, "/result/changed_file_count", "301");
    assert_member(r, "/result/patch_artifact", "0"); /* "generated patch or report paths" */
    assert_says(r, " more files; the patch artifact names them\nLines: 3300 added, 0 removed\n");
    assert_within(r, 2000);
    wb_result_free(r);
    free(input);
    tools_end(&t);
}

/* "the shared envelope owns error-envelope and metadata preservation rules": an error stays within
 * its budget, and its stable members are whole. */
static void an_error_has_its_own_budget(void **state)
{
    char *input = malloc(100000);
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    memset(input, 'x', 99999);
    memcpy(input, "{\"path\":\"", 9);
    memcpy(input + 99997, "\"}", 3);
    r = tools_ask(&t, "ReadFile", input);
    assert_member(r, "/error/kind", "invalid_tool_input");
    assert_member(r, "/error/retryable", "false");
    assert_member(r, "/result", "null");
    assert_within(r, 1000);
    wb_result_free(r);
    free(input);
    tools_end(&t);
}

/* "failure artifact paths": what a tool printed before it failed, the line that matters in the
 * middle of it, within the budget of an error; the rest by its path. */
static void a_failure_names_its_artifacts(void **state)
{
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, "{\"tools\":[{\"name\":\"build\",\"command\":[\"sh\",\"-c\","
                    "\"seq 1 9000; echo main.c:7: error: " MARK "; seq 9001 18000; seq 1 9000 >&2;"
                    " exit 2\"]}]}");
    r = tools_ask(&t, "build", "{}");
    assert_member(r, "/error/kind", "tool_execution_failed");
    assert_member(r, "/error/details/exit_status", "2");
    assert_member(r, "/error/details/partial/stdout_truncated", "true");
    assert_member(r, "/error/details/partial/stdout_lines", "18001");
    assert_member(r, "/error/details/partial/stdout_artifact", "0");
    assert_member(r, "/error/details/partial/stderr_artifact", "1");
    assert_says(r, "main.c:7: error: " MARK "\n");
    assert_says(r, "left out: ReadArtifact {\"path\":\"");
    assert_stands_once(r);
    assert_within(r, 1000);
    wb_result_free(r);
    tools_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commands_output_stands_once),
        cmocka_unit_test(a_tasks_output_stands_once),
        cmocka_unit_test(an_agents_report_has_its_own_budget),
        cmocka_unit_test(a_patch_has_its_own_budget),
        cmocka_unit_test(an_error_has_its_own_budget),
        cmocka_unit_test(a_failure_names_its_artifacts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
