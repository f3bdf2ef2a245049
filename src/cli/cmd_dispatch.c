/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_dispatch.c: `waybill dispatch` and `waybill repair`. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

static int run(const struct args *a)
{
    wb_dispatch_options o = {.provider = args_get(a, "--provider"),
                             .group = args_has(a, "--group"),
                             .frames = args_has(a, "--frames")};
    long long parallel = 0;
    wb_error *error = NULL;
    wb_runtime *runtime;
    int code, stop, hangup;

    if (!args_number(a, "--parallel", 1, 1024, &parallel))
        return EXIT_USAGE;
    o.parallel = (unsigned)parallel;
    stop = signal_descriptor(SIGTERM, SIGINT);
    hangup = signal_descriptor(SIGHUP, SIGHUP);
    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    tell_notices(a, runtime);
    reload_on_hangup(a, runtime, hangup);
    code = EXIT_OK;
    if (wb_dispatch(runtime, &o, STDIN_FILENO, STDOUT_FILENO, stop, &error) != WB_OK) {
        code = fail(a, NULL, error);
        if (code != EXIT_USAGE)
            code = EXIT_NEGATIVE;
    }
    close_runtime(a, runtime);
    return code;
}

static const struct option_spec options[] = {
    {"--provider", "NAME", "whose items come; auto: each line tells"},
    {"--parallel", "N", "at most N calls at once"},
    {"--group", NULL, "one message for the answers of a turn"},
    {"--frames", NULL, "tell what running calls do, a JSON line each time"},
    {NULL},
};

static const struct form forms[] = {
    {"", "items come on standard input, one a line"},
    {NULL, NULL},
};

const struct command command_dispatch = {
    "dispatch",
    "Answer provider items, one JSON line in, one line out per call.",
    "[--provider auto|responses|chat|anthropic|gemini|mcp|native] [--parallel N] [--group] "
    "[--frames]",
    "A line is an item, a whole response or message, or {\"item\": …, \"invocation\": {…}}.\n"
    "Answers come in call order, in the provider's own shape; a line that is no call is\n"
    "answered by {\"type\": \"waybill.error\", …}. `--group` packs the answers of a turn into\n"
    "the provider's message. EOF finishes running calls, SIGTERM cancels them; each call\n"
    "is answered and recorded either way. SIGHUP reads policies and bindings again; files\n"
    "that are wrong change nothing. Exit 1 only when a line could not be taken.\n"
    "\nexample:\n"
    "  echo '{\"type\": \"tool_use\", \"id\": \"t1\", \"name\": \"greet\", \"input\": {}}' \\\n"
    "    | waybill dispatch\n",
    options,
    forms,
    run,
};

static int run_repair(const struct args *a)
{
    const char *provider = args_get(a, "--provider");
    wb_error *error = NULL;
    size_t size, n;
    char *text, *out;
    wb_rc rc;

    if (provider == NULL)
        return usage_error(a, "--provider is needed: responses, chat, anthropic or gemini");
    text = read_file(a, a->word_count ? a->words[0] : "-", &size);
    if (text == NULL)
        return EXIT_USAGE;
    rc = wb_repair(provider, text, size, &out, &n, &error);
    free(text);
    if (rc != WB_OK)
        return fail(a, NULL, error);
    (void)put(out, n); /* finish_output tells */
    if (n == 0 || out[n - 1] != '\n')
        (void)put("\n", 1);
    wb_free(out);
    return EXIT_OK;
}

static const struct option_spec repair_options[] = {
    {"--provider", "NAME", "whose form the history has: responses, chat, anthropic or gemini"},
    {NULL},
};

static const struct form repair_forms[] = {
    {"[FILE]", "without one standard input is read"},
    {NULL, NULL},
};

const struct command command_repair = {
    "repair",
    "Make a conversation legal for its provider: every call has one output.",
    "--provider responses|chat|anthropic|gemini [FILE]",
    "Reads the bare array or the request object and writes the same form. Calls without\n"
    "an output get one that says the outcome is unknown, outputs without a call and\n"
    "repeated ones go. A legal history comes back byte for byte.\n"
    "\nexample:\n"
    "  waybill repair --provider anthropic < request.json > repaired.json\n",
    repair_options,
    repair_forms,
    run_repair,
};
