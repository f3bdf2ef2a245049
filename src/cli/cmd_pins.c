/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_pins.c: `waybill pins`. */
#include <string.h>

#include "cli/cli.h"

static const char *const columns[] = {"server=SERVER", "tool=TOOL", "state=STATE", "since=SINCE",
                                      "workspace=WORKSPACE"};

static int list(const struct args *a, wb_runtime *runtime)
{
    wb_error *error = NULL;
    size_t n;
    char *json;
    int code;

    if (wb_pins_list(runtime, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_list(a, json, n, columns, sizeof(columns) / sizeof(columns[0]),
                      "no tool of an MCP server was seen yet");
    wb_free(json);
    return code;
}

static int show(const struct args *a, wb_runtime *runtime, const char *name)
{
    wb_error *error = NULL;
    size_t n;
    char *text;

    if (wb_pins_diff(runtime, name, &text, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    (void)put(text, n); /* finish_output tells */
    wb_free(text);
    return EXIT_OK;
}

static int decide(const struct args *a, wb_runtime *runtime, bool yes, const char *name)
{
    wb_error *error = NULL;
    wb_rc rc = yes ? wb_pins_approve(runtime, name, args_get(a, "--hash"), &error)
                   : wb_pins_reject(runtime, name, &error);

    if (rc != WB_OK)
        return fail(a, NULL, error);
    note(a, "%s %s", yes ? "approved" : "rejected", name);
    return EXIT_OK;
}

static int run(const struct args *a)
{
    const char *verb = a->word_count > 0 ? a->words[0] : "list";
    bool lists = strcmp(verb, "list") == 0, shows = strcmp(verb, "show") == 0;
    bool approves = strcmp(verb, "approve") == 0;
    wb_runtime *runtime;
    int code;

    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    if (lists)
        code = list(a, runtime);
    else if (shows)
        code = show(a, runtime, a->words[1]);
    else
        code = decide(a, runtime, approves, a->words[1]);
    wb_runtime_free(runtime);
    return code;
}

static const struct option_spec options[] = {
    {"--hash", "HEX", "only the definition with this hash", false, "approve"},
    {NULL},
};

static const struct form forms[] = {
    {"list", NULL},
    {"show SERVER/TOOL", "`waybill pins list` shows them"},
    {"approve SERVER[/TOOL]", "`waybill pins list` shows them"},
    {"reject SERVER/TOOL", "`waybill pins list` shows them"},
    {"", NULL},
    {NULL, NULL},
};

const struct command command_pins = {
    "pins",
    "Look at changed tools of MCP servers, accept or refuse them.",
    "[list | show SERVER/TOOL | approve SERVER[/TOOL] [--hash HEX] | reject SERVER/TOOL]",
    "The definition of every tool of an MCP server is remembered when it is first seen. One\n"
    "that differs later cannot be called until it was approved; `show` prints the difference\n"
    "member by member, as JSON. With --hash only exactly what was looked at is approved; a\n"
    "server's name alone approves everything of it that waits. A gateway that runs takes notice\n"
    "when the tool is called, or its tools are listed, the next time. Servers that a workspace\n"
    "configures have pins of their own there: --root names another one.\n"
    "\nexamples:\n"
    "  waybill pins list\n"
    "  waybill pins show github/search && waybill pins approve github/search\n",
    options,
    forms,
    run,
};
