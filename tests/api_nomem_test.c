/* SPDX-License-Identifier: Apache-2.0
 * tests/api_nomem_test.c: functions of the library that give out a text, with the
 * n-th allocation failing, for every n: they give it, or fail and say so. */
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

static wb_runtime *runtime; /* of the workspace, with tools and artifacts in it */
static wb_options *options;
static char root[4096];

#define TEXT(text) text, sizeof(text) - 1

/* Each gives its text out by *ret, or leaves it as it is and fails. */
typedef wb_rc give_fn(char **ret, wb_error **error);

static const char schema[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
                             "\"b\":{\"pattern\":\"^x+$\"}},\"required\":[\"c\"]}";
static const char canonical[] =
    "{\"tool_name\":\"t\",\"status\":\"success\",\"summary_text\":\"done\","
    "\"result\":{\"a\":[1,2,{\"b\":\"text\"}]},\"error\":null}";
static const char history[] =
    "[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\","
    "\"type\":\"function\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"done\"}]";

static wb_rc give_pretty(char **ret, wb_error **error)
{
    return wb_json_pretty(TEXT(canonical), ret, NULL, error);
}

static wb_rc give_pointer(char **ret, wb_error **error)
{
    return wb_json_pointer(TEXT(canonical), "/result/a", ret, NULL, error);
}

static wb_rc give_table(char **ret, wb_error **error)
{
    static const char *const columns[] = {"/a=A", "b=B"};

    return wb_json_table(TEXT("[{\"a\":1,\"b\":\"x\"},{\"a\":22}]"), columns, 2, 60, ret, NULL,
                         error);
}

static wb_rc give_verdict(char **ret, wb_error **error)
{
    wb_schema *compiled = NULL;
    int valid = 0;
    wb_rc rc = wb_schema_compile(TEXT(schema), NULL, &compiled, error);

    if (rc == WB_OK)
        rc = wb_schema_check(compiled, TEXT("{\"a\":\"1\",\"b\":\"y\"}"), &valid, ret, NULL, error);
    wb_schema_free(compiled);
    return rc;
}

static wb_rc give_run(char **ret, wb_error **error)
{
    int judged = 0;

    return wb_schema_run(TEXT("{\"id\":1,\"schema\":{\"type\":\"string\"},\"instance\":2}"), NULL,
                         &judged, ret, NULL, error);
}

static wb_rc give_lint(char **ret, wb_error **error)
{
    size_t refused = 0;

    return wb_schema_lint(TEXT("{\"oneOf\":[{\"type\":\"object\"}],\"type\":\"object\"}"), NULL,
                          &refused, ret, NULL, error);
}

static wb_rc give_tools_check(char **ret, wb_error **error)
{
    size_t errors = 0;

    return wb_tools_check(TEXT("[{\"name\":\"a\",\"command\":[\"true\"]},{\"name\":\"b\"}]"), root,
                          &errors, ret, NULL, error);
}

static wb_rc give_rung(char **ret, wb_error **error)
{
    return wb_compact_result(TEXT(canonical), 2, ret, NULL, error);
}

static wb_rc give_compacted(char **ret, wb_error **error)
{
    return wb_compact_history(runtime, "chat", TEXT(history), 100000, NULL, ret, NULL, error);
}

static wb_rc give_patch(char **ret, wb_error **error)
{
    int good = 0;

    return wb_patch_apply(root, TEXT("*** Begin Patch\n*** Add File: n\n+x\n*** End Patch\n"),
                          WB_PATCH_CHECK, ret, NULL, &good, error);
}

static wb_rc give_explained(char **ret, wb_error **error)
{
    return wb_policy_explain(runtime, "ReadFile", NULL, ret, NULL, error);
}

static wb_rc give_approvals(char **ret, wb_error **error)
{
    return wb_approvals_list(runtime, ret, NULL, error);
}

static wb_rc give_all_approvals(char **ret, wb_error **error)
{
    return wb_approvals_list_all(options, ret, NULL, error);
}

static wb_rc give_tools(char **ret, wb_error **error)
{
    return wb_tools_list(runtime, NULL, NULL, ret, NULL, error);
}

static wb_rc give_definitions(char **ret, wb_error **error)
{
    return wb_tools_export(runtime, NULL, "responses", ret, NULL, error);
}

static wb_rc give_parallel(char **ret, wb_error **error)
{
    int parallel = 0;
    wb_rc rc = wb_tool_parallel(runtime, NULL, "ReadFile", &parallel, error);

    return rc == WB_OK ? wb_json_canonical(TEXT("1"), ret, NULL, error) : rc;
}

static wb_rc give_artifacts(char **ret, wb_error **error)
{
    return wb_artifact_list(runtime, ret, NULL, error);
}

static wb_rc give_stats(char **ret, wb_error **error)
{
    return wb_artifact_stats(runtime, ret, NULL, error);
}

static wb_rc give_pruned(char **ret, wb_error **error)
{
    return wb_artifact_prune(runtime, -1, ret, NULL, error);
}

static wb_rc give_verified(char **ret, wb_error **error)
{
    return wb_artifact_verify(runtime, NULL, ret, NULL, error);
}

static wb_rc give_root(char **ret, wb_error **error)
{
    return wb_config_root(options, ret, NULL, error);
}

static wb_rc give_pins(char **ret, wb_error **error)
{
    return wb_pins_list(runtime, ret, NULL, error);
}

static wb_rc give_connection(char **ret, wb_error **error)
{
    char *path = NULL;
    wb_rc rc = wb_connect(runtime, "codex", "/bin/waybill", "[a]\nb = 1\n", &path, ret, error);

    wb_free(path);
    return rc;
}

static wb_rc give_health(char **ret, wb_error **error)
{
    wb_ledger *ledger = NULL;
    wb_rc rc = wb_ledger_open(options, WB_LEDGER_READ, &ledger, error);

    if (rc == WB_OK)
        rc = wb_live_health(ledger, ret, NULL, error);
    wb_ledger_free(ledger);
    return rc;
}

static void every_allocation(const char *name, give_fn *give)
{
    long hits = 1, n;

    for (n = -1; hits > 0 || n <= 0; n++) {
        wb_error *error = NULL;
        char *text = NULL;
        wb_rc rc;

        alloc_fault_start(n, n >= 0 && n % 2 == 0);
        rc = give(&text, &error);
        atomic_store(&alloc_faults.until, -1);
        if ((rc == WB_OK) != (text != NULL))
            fail_msg("%s: %s with%s a text when allocation %ld fails", name, wb_rc_name(rc),
                     text ? "" : "out", n);
        if (rc != WB_OK && wb_error_rc(error) != rc && wb_error_rc(error) != WB_ENOMEM)
            fail_msg("%s: %s, but its error is %s", name, wb_rc_name(rc),
                     wb_rc_name(wb_error_rc(error)));
        if (rc != WB_OK && wb_error_text(error)[0] == '\0')
            fail_msg("%s: an error without a text when allocation %ld fails", name, n);
        wb_free(text);
        wb_error_free(error);
        forget_crypto_errors();
        hits = alloc_fault_stop();
        if (hits == 0 && rc != WB_OK)
            fail_msg("%s: %s though no allocation failed (%ld)", name, wb_rc_name(rc), n);
    }
    print_message("%s: %ld allocations\n", name, n - 1);
}

static void the_library_bears_missing_memory(void **state)
{
    static const struct {
        const char *name;
        give_fn *give;
    } all[] = {
        {"pretty", give_pretty},
        {"pointer", give_pointer},
        {"table", give_table},
        {"verdict", give_verdict},
        {"run", give_run},
        {"lint", give_lint},
        {"check", give_tools_check},
        {"rung", give_rung},
        {"compacted", give_compacted},
        {"patch", give_patch},
        {"explained", give_explained},
        {"approvals", give_approvals},
        {"all", give_all_approvals},
        {"tools", give_tools},
        {"definitions", give_definitions},
        {"parallel", give_parallel},
        {"artifacts", give_artifacts},
        {"stats", give_stats},
        {"pruned", give_pruned},
        {"verified", give_verified},
        {"root", give_root},
        {"pins", give_pins},
        {"connection", give_connection},
        {"health", give_health},
    };
    struct workspace w;

    (void)state;
    if (!ALLOC_FAULTS) {
        print_message("skipped: failing allocations (a sanitizer owns malloc)\n");
        return;
    }
    ws_init(&w);
    (void)snprintf(root, sizeof(root), "%s", w.root);
    options = wb_options_new();
    assert_int_equal(ws_run(&w, "call ExecCommand --input '{\"cmd\":\"seq 1 30000\"}'"), 0);
    assert_int_equal(wb_options_set(options, WB_OPT_ROOT, w.root), WB_OK);
    assert_int_equal(wb_runtime_new(options, &runtime, NULL), WB_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        every_allocation(all[i].name, all[i].give);
    wb_runtime_free(runtime);
    wb_options_free(options);
    ws_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_library_bears_missing_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
