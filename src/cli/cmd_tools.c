/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_tools.c: `waybill tools`: what there is. Adding and checking: see
 * cli/tools_files.c. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/tools_files.h"

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
    code = print_list(a, json, n, columns, sizeof(columns) / sizeof(columns[0]),
                      "no tool is shown to this principal; see bindings in the configuration");
    wb_free(json);
    return code;
}

/* Definitions for a provider, ready to be sent. */
static int export(const struct args *a, wb_runtime *runtime)
{
    wb_error *error = NULL;
    size_t n;
    char *json;
    int code;

    if (wb_tools_export(runtime, a->principal, args_get(a, "--format"), &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_pretty(a, json, n);
    wb_free(json);
    return code;
}

/* Whether a definition of any format is that of a tool. */
static bool defines(const char *json, size_t n, const char *model)
{
    static const char *const places[] = {"/name", "/function/name", "/custom/name"};
    bool same = false;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !same; i++) {
        char *name;

        if (wb_json_pointer(json, n, places[i], &name, NULL, NULL) != WB_OK)
            continue;
        same = strcmp(name, model) == 0;
        wb_free(name);
    }
    return same;
}

/* The definition of one tool among those beneath list; free with wb_free. */
static char *find_definition(const char *all, size_t size, const char *list, const char *model)
{
    char place[64], *json;
    size_t n;

    for (unsigned i = 0;; i++) {
        (void)snprintf(place, sizeof(place), "%s/%u", list, i);
        if (wb_json_pointer(all, size, place, &json, &n, NULL) != WB_OK)
            return NULL;
        if (defines(json, n, model))
            return json;
        wb_free(json);
    }
}

/* One tool as a definition for a provider; listed: its versions. */
static int show_definition(const struct args *a, wb_runtime *runtime, const char *listed, size_t n)
{
    bool gemini = strcmp(args_get(a, "--format"), "gemini") == 0;
    char *all = NULL, *model = NULL, *one = NULL, *text = NULL;
    wb_error *error = NULL;
    size_t size;
    int code = EXIT_INTERNAL, length;

    if (wb_tools_export(runtime, a->principal, args_get(a, "--format"), &all, &size, &error) !=
        WB_OK)
        return fail(a, NULL, error);
    if (wb_json_pointer(listed, n, "/0/modelName", &model, NULL, NULL) == WB_OK)
        one = find_definition(all, size, gemini ? "/0/functionDeclarations" : "", model);
    length = one == NULL ? -1
             : gemini    ? asprintf(&text, "[{\"functionDeclarations\":[%s]}]", one)
                         : asprintf(&text, "[%s]", one);
    if (length >= 0)
        code = print_pretty(a, text, (size_t)length);
    else if (one == NULL && model != NULL)
        code = EXIT_NEGATIVE; /* it was left out, which was told */
    else
        (void)usage_error(a, "out of memory");
    free(length >= 0 ? text : NULL);
    wb_free(one);
    wb_free(model);
    wb_free(all);
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
    } else if (args_has(a, "--format")) {
        code = show_definition(a, runtime, json, n);
    } else {
        code = print_pretty(a, json, n);
    }
    wb_free(json);
    return code;
}

static bool known_format(const struct args *a)
{
    static const char *const formats[] = {"responses", "chat", "anthropic", "gemini", "mcp"};
    const char *format = args_get(a, "--format");

    for (size_t i = 0; format != NULL && i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(format, formats[i]) == 0)
            return true;
    if (format != NULL)
        (void)usage_error(
            a, "--format must be responses, chat, anthropic, gemini or mcp; got \"%s\"", format);
    return format == NULL;
}

static int run(const struct args *a)
{
    const char *verb = a->word_count > 0 ? a->words[0] : "list";
    wb_runtime *runtime;
    int code;

    if (!known_format(a))
        return EXIT_USAGE;
    if (strcmp(verb, "add") == 0)
        return tools_add(a);
    if (a->rest != NULL)
        return usage_error(a, "only add takes a command after --");
    if (strcmp(verb, "check") == 0)
        return tools_check(a);
    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    tell_notices(a, runtime);
    if (strcmp(verb, "show") == 0)
        code = show(a, runtime, a->words[1]);
    else
        code = args_has(a, "--format") ? export(a, runtime) : list(a, runtime);
    wb_runtime_free(runtime);
    return code;
}

static const struct option_spec options[] = {
    {"--format", "responses|chat|anthropic|gemini|mcp", "definitions to be sent to this provider",
     false, "list show"},
    {"--command", "WORD", "the program, then its arguments", true, "add"},
    {"--title", "TEXT", "a name for people", false, "add"},
    {"--description", "TEXT", "what the model is told of it", false, "add"},
    {"--tool-version", "VERSION", "SemVer (1.0.0)", false, "add"},
    {"--input-schema", "JSON|@FILE", "what its input must be", false, "add"},
    {"--output-schema", "JSON|@FILE", "what its output must be", false, "add"},
    {"--effect", "EFFECT", "Pure, IdempotentWrite, NonIdempotentWrite or ExternalSideEffects",
     false, "add"},
    {"--parallel", NULL, "may run beside other calls", false, "add"},
    {"--timeout-ms", "N", "its calls are over then", false, "add"},
    {"--budget-tokens", "N", "budget of its receipts", false, "add"},
    {"--input-kind", "json|text", "text: one string, as custom tools have", false, "add"},
    {"--grammar", "LARK|@FILE", "of its text input", false, "add"},
    {"--output", "auto|json|text", "what it prints; auto: JSON if it is", false, "add"},
    {"--workdir", "DIR", "where it starts", false, "add"},
    {"--env", "NAME=VALUE", "beside the usual environment", true, "add"},
    {"--tag", "TAG", "a word to find it by", true, "add"},
    {"--force", NULL, "replace the file that is there", false, "add"},
    {NULL},
};

static const struct form forms[] = {
    {"list", "`waybill tools show NAME` shows one"},
    {"show NAME", "`waybill tools list` shows them"},
    {"add NAME", "its program stands behind --"},
    {"check [FILE…]", NULL},
    {"", NULL},
    {NULL, NULL},
};

const struct command command_tools = {
    "tools",
    "List, show, export, add and check tools.",
    "[list | show NAME | add NAME | check [FILE…]]",
    "With --format, `list` and `show` print definitions ready to be sent to a provider.\n"
    "`add` writes tools.d/NAME.json from the options (or from words after `--`, which\n"
    "are the command); `config trust` then lets it count. `check` checks descriptors,\n"
    "by default all of tools.d: errors with their line (exit 1), then programs that are\n"
    "not there, and what providers refuse or do not enforce.\n"
    "\nexamples:\n"
    "  waybill tools list --format responses\n"
    "  waybill tools add greet --description 'Say hello.' --effect Pure -- ./greet.sh\n"
    "  waybill tools check tools.d/greet.json && waybill config trust\n",
    options,
    forms,
    run,
    true,
};
