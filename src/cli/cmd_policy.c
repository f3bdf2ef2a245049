/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_policy.c: `waybill policy` and `waybill approve`. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static int run_policy(const struct args *a)
{
    wb_error *error = NULL;
    wb_runtime *runtime;
    size_t n;
    char *json;
    int code;

    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    if (wb_policy_explain(runtime, a->words[1], a->principal, &json, &n, &error) == WB_OK) {
        code = print_pretty(a, json, n);
        wb_free(json);
    } else {
        code = fail(a, NULL, error);
    }
    wb_runtime_free(runtime);
    return code;
}

static int list(const struct args *a, const wb_options *o)
{
    static const char *const columns[] = {"id=ID", "tool=TOOL", "principal=PRINCIPAL",
                                          "expiresInMs=EXPIRES IN MS", "invocation=INVOCATION"};
    wb_error *error = NULL;
    size_t n;
    char *json;
    int code;

    if (wb_approvals_list_all(o, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_whole_list(a, json, n, columns, sizeof(columns) / sizeof(columns[0]),
                            "no call waits for a yes");
    wb_free(json);
    return code;
}

static int resolve(const struct args *a, const wb_options *o, int granted)
{
    wb_error *error = NULL;
    char who[64];
    wb_rc rc;

    (void)snprintf(who, sizeof(who), "uid %lu", (unsigned long)getuid());
    rc = wb_approval_resolve_any(o, a->words[1], granted, who, &error);
    if (rc == WB_OK) {
        note(a, "%s", granted ? "approved" : "refused");
        return EXIT_OK;
    }
    (void)fail(a, NULL, error);
    return rc == WB_ENOTFOUND ? EXIT_NEGATIVE : exit_code_of(rc);
}

static int run_approve(const struct args *a)
{
    const char *verb = a->word_count > 0 ? a->words[0] : "list";
    wb_options *o;
    int code;

    o = runtime_options(a);
    if (o == NULL)
        return EXIT_INTERNAL;
    if (strcmp(verb, "list") == 0)
        code = list(a, o);
    else
        code = resolve(a, o, strcmp(verb, "yes") == 0);
    wb_options_free(o);
    return code;
}

static const struct option_spec options[] = {{NULL}};

static const struct form policy_forms[] = {
    {"explain TOOL", "`waybill tools list` shows them"},
    {NULL, NULL},
};

const struct command command_policy = {
    "policy",
    "Show which limits hold for a tool, and where each comes from.",
    "explain TOOL [--as PRINCIPAL] [--json]",
    "Layers, weakest first: built-in, environment, principals, tools; a value names the\n"
    "file and the glob that gave it. `access` says whether the principal may call the\n"
    "tool: allowed, ask, hidden or denied.\n"
    "\nexample:\n"
    "  waybill policy explain mcp::github::issues.create --as ci-main\n",
    options,
    policy_forms,
    run_policy,
};

static const struct form approve_forms[] = {
    {"list", NULL},
    {"yes ID", "`waybill approve list` shows them"},
    {"no ID", "`waybill approve list` shows them"},
    {"", NULL},
    {NULL, NULL},
};

const struct command command_approve = {
    "approve",
    "Answer calls that wait for a yes.",
    "list | yes ID | no ID",
    "A tool whose binding says \"ask\" waits until somebody answers, at most until its\n"
    "deadline; no answer means no. All runtimes that use this state directory are asked.\n"
    "Exit 1: no call waits under that ID (any more).\n"
    "\nexamples:\n"
    "  waybill approve list\n"
    "  waybill approve yes approval_2f61c0…\n",
    options,
    approve_forms,
    run_approve,
};
