/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_tools.c: `waybill tools`. */
#include <string.h>

#include "cli/cli.h"

static const char *const columns[] = {"modelName=NAME", "version=VERSION", "effect=EFFECT",
                                      "origin=ORIGIN", "description=DESCRIPTION"};

static int list(const struct args *a, wb_runtime *runtime)
{
    wb_error *error = NULL;
    size_t n;
    char *json;
    int code;

    if (wb_tools_list(runtime, a->principal, NULL, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    if (strcmp(json, "[]") == 0 && !a->json) {
        note(a, "no tools yet; declare one in tools.d/NAME.json, then `waybill config trust`");
        code = EXIT_OK;
    } else {
        code = print_table(a, json, n, columns, sizeof(columns) / sizeof(columns[0]));
    }
    wb_free(json);
    return code;
}

static int show(const struct args *a, wb_runtime *runtime, const char *name)
{
    wb_error *error = NULL;
    size_t n;
    char *json;
    int code;

    if (wb_tools_list(runtime, a->principal, name, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    if (strcmp(json, "[]") == 0) {
        (void)usage_error(a, "there is no tool \"%s\"; `waybill tools list` shows them", name);
        code = EXIT_NEGATIVE;
    } else {
        code = print_pretty(a, json, n);
    }
    wb_free(json);
    return code;
}

static int run(const struct args *a)
{
    const char *verb = a->word_count > 0 ? a->words[0] : "list";
    wb_runtime *runtime;
    int code;

    if (strcmp(verb, "list") != 0 && strcmp(verb, "show") != 0)
        return usage_error(a, "there is no \"%s\"; say list or show NAME", verb);
    if (strcmp(verb, "list") == 0 && a->word_count > 1)
        return usage_error(a, "list takes no words; say show NAME for one tool");
    if (strcmp(verb, "show") == 0 && a->word_count != 2)
        return usage_error(a, "name one tool: waybill tools show NAME");
    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    code = strcmp(verb, "list") == 0 ? list(a, runtime) : show(a, runtime, a->words[1]);
    wb_runtime_free(runtime);
    return code;
}

static const struct option_spec options[] = {{NULL, NULL, false}};

const struct command command_tools = {
    "tools",
    "List the tools there are, or show one.",
    "[list | show NAME]",
    "\nexamples:\n"
    "  waybill tools list\n"
    "  waybill tools show ReadFile --json\n",
    options,
    run,
};
