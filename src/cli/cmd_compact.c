/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_compact.c: `waybill compact`. */
#include <stdlib.h>

#include "cli/cli.h"

static int compact(const struct args *a, const char *provider, long long budget, const char *text,
                   size_t size)
{
    wb_compact_report report;
    wb_error *error = NULL;
    wb_runtime *runtime;
    int code = EXIT_OK;
    size_t n;
    char *out;
    wb_rc rc;

    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    rc = wb_compact_history(runtime, provider, text, size, (uint64_t)budget, &report, &out, &n,
                            &error);
    wb_runtime_free(runtime);
    if (rc == WB_ELIMIT && report.minimum > (uint64_t)budget) {
        fprintf(stderr, "minimum: %llu\n", (unsigned long long)report.minimum);
        wb_error_free(error);
        return EXIT_NEGATIVE;
    }
    if (rc != WB_OK)
        return fail(a, NULL, error);
    (void)put_line(out, n); /* finish_output tells */
    if (a->verbose)
        note(a, "%llu of %llu results compacted, about %llu to %llu tokens",
             (unsigned long long)report.compacted, (unsigned long long)report.results,
             (unsigned long long)report.tokens_before, (unsigned long long)report.tokens_after);
    wb_free(out);
    return EXIT_OK;
}

static int run(const struct args *a)
{
    const char *provider = args_get(a, "--provider");
    long long budget = 0;
    size_t size;
    char *text;
    int code;

    if (provider == NULL || !args_has(a, "--budget"))
        return usage_error(a, "--provider and --budget are needed");
    if (!args_number(a, "--budget", 0, 1000000000, &budget))
        return EXIT_USAGE;
    text = read_file(a, a->word_count ? a->words[0] : "-", &size);
    if (text == NULL)
        return EXIT_USAGE;
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '))
        size--; /* the line end is ours, not the history's */
    code = compact(a, provider, budget, text, size);
    free(text);
    return code;
}

static const struct option_spec options[] = {
    {"--provider", "NAME", "whose form the history has: responses, chat, anthropic or gemini"},
    {"--budget", "TOKENS", "what it may have at most"},
    {NULL},
};

static const struct form forms[] = {
    {"[FILE]", "without one standard input is read"},
    {NULL, NULL},
};

const struct command command_compact = {
    "compact",
    "Bring a conversation within a token budget.",
    "--provider responses|chat|anthropic|gemini --budget TOKENS [FILE]",
    "Reads the bare array or the request object and writes the same form. The newest\n"
    "rounds stay exact; older results step down to a trimmed preview, a summary, one\n"
    "line; failures and changes last longest. A call made again later gives way to the\n"
    "later one, with a note when its result was another. Each compacted result names its\n"
    "call and how to read the rest. A history that fits comes back as it is; one that was\n"
    "compacted before keeps its start until the next batch is due. Results recorded in the\n"
    "workspace's ledger keep their ids, handles and artifacts. A budget that cannot be met:\n"
    "exit 1 and `minimum: N` on stderr.\n"
    "\nexample:\n"
    "  waybill compact --provider anthropic --budget 60000 < request.json > smaller.json\n",
    options,
    forms,
    run,
};
