/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_ledger.c: `waybill ledger`. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/stats.h"

static bool read_filter(const struct args *a, size_t limit, wb_ledger_filter *ret)
{
    const char *status = args_get(a, "--status");
    long long n = (long long)limit;

    if (!args_number(a, "--limit", 1, 1000000000, &n))
        return false;
    if (status != NULL && strcmp(status, "success") != 0 && strcmp(status, "error") != 0 &&
        strcmp(status, "open") != 0) {
        (void)usage_error(a, "--status must be success, error or open; got \"%s\"", status);
        return false;
    }
    *ret = (wb_ledger_filter){.tool = args_get(a, "--tool"),
                              .status = status,
                              .error_kind = args_get(a, "--error-kind"),
                              .conversation = args_get(a, "--conversation"),
                              .since = args_get(a, "--since"),
                              .until = args_get(a, "--until"),
                              .limit = (size_t)n};
    return true;
}

static int list(const struct args *a, wb_ledger *ledger)
{
    static const char *const columns[] = {"id=ID",          "time=TIME",       "tool=TOOL",
                                          "status=STATUS",  "error_kind=KIND", "duration_ms=MS",
                                          "summary=SUMMARY"};
    wb_ledger_filter filter;
    wb_error *error = NULL;
    size_t n;
    char *json;
    int code;

    if (!read_filter(a, a->json ? 0 : 50, &filter))
        return EXIT_USAGE;
    if (wb_ledger_list(ledger, &filter, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_list(a, json, n, columns, sizeof(columns) / sizeof(columns[0]),
                      "no call is recorded here that fits");
    wb_free(json);
    return code;
}

static int show(const struct args *a, wb_ledger *ledger)
{
    wb_error *error = NULL;
    wb_view view;
    size_t n;
    char *text;

    if (!view_by_name(a, &view))
        return EXIT_USAGE;
    if (!args_has(a, "--view") && a->json)
        view = WB_VIEW_RECORD;
    if (wb_ledger_show(ledger, a->words[1], view, &text, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    (void)put_line(text, n); /* finish_output tells */
    wb_free(text);
    return EXIT_OK;
}

static void print_line(const char *line, size_t size, void *arg)
{
    (void)arg;
    (void)put_line(line, size); /* finish_output tells */
}

static int export(const struct args *a, wb_ledger *ledger)
{
    wb_ledger_filter filter;
    wb_error *error = NULL;

    if (!read_filter(a, 0, &filter))
        return EXIT_USAGE;
    if (wb_ledger_rows(ledger, &filter, NULL, print_line, NULL, &error) != WB_OK)
        return fail(a, NULL, error);
    return EXIT_OK;
}

/* Until the reader goes away or a signal ends us. */
static int follow(const struct args *a, wb_ledger *ledger, wb_ledger_filter *filter, int64_t after)
{
    const struct timespec pause = {0, 200 * 1000 * 1000};
    wb_error *error = NULL;

    filter->limit = 0;
    while (flush_output() && !reader_gone()) {
        (void)nanosleep(&pause, NULL);
        if (wb_ledger_rows(ledger, filter, &after, print_line, NULL, &error) != WB_OK)
            return fail(a, NULL, error);
    }
    return reader_gone() ? EXIT_NO_READER : EXIT_OK; /* else finish_output tells */
}

static int tail(const struct args *a, wb_ledger *ledger)
{
    wb_ledger_filter filter;
    wb_error *error = NULL;
    int64_t after = 0;

    if (!read_filter(a, 10, &filter))
        return EXIT_USAGE;
    if (wb_ledger_rows(ledger, &filter, &after, print_line, NULL, &error) != WB_OK)
        return fail(a, NULL, error);
    return args_has(a, "-f") ? follow(a, ledger, &filter, after) : EXIT_OK;
}

/* A member as text; "" where it is absent. Free with wb_free. */
static char *member(const char *json, size_t size, const char *pointer)
{
    char *text = NULL;

    if (wb_json_pointer(json, size, pointer, &text, NULL, NULL) != WB_OK)
        return NULL;
    return text;
}

static int verify(const struct args *a, wb_ledger *ledger)
{
    wb_error *error = NULL;
    char *json, *rows, *what;
    size_t n;
    int good;

    if (wb_ledger_verify(ledger, args_get(a, "--witness"), &good, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    if (a->json) {
        (void)put_line(json, n); /* finish_output tells */
    } else {
        rows = member(json, n, "/rows");
        what = member(json, n, "/what");
        if (good)
            printf("%sgood%s: %s rows follow from each other and from the witness\n",
                   style("green"), style("reset"), rows ? rows : "?");
        else
            printf("%sbad%s: %s (%s rows before it are good)\n", style("red"), style("reset"),
                   what ? what : "?", rows ? rows : "?");
        wb_free(rows);
        wb_free(what);
    }
    wb_free(json);
    return good ? EXIT_OK : EXIT_NEGATIVE;
}

static int stats(const struct args *a, wb_ledger *ledger)
{
    wb_ledger_filter filter;
    wb_error *error = NULL;
    char *json;
    size_t n;
    int code;

    if (!read_filter(a, 0, &filter))
        return EXIT_USAGE;
    if (wb_ledger_stats(ledger, &filter, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_stats(a, json, n);
    wb_free(json);
    return code;
}

static int prune(const struct args *a, wb_ledger *ledger)
{
    wb_ledger_retention wish = {.older_than = args_get(a, "--older-than"),
                                .dry_run = args_has(a, "--dry-run")};
    wb_error *error = NULL;
    long long keep = 0;
    char *json;
    size_t n;
    int code;

    if (!args_number(a, "--keep", 1, 1000000000000LL, &keep))
        return EXIT_USAGE;
    wish.keep = (size_t)keep;
    if (wish.older_than == NULL && keep == 0)
        return usage_error(a, "say what may go: --older-than 30d, or --keep ROWS, or both");
    if (wb_ledger_prune(ledger, &wish, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_pretty(a, json, n);
    wb_free(json);
    return code;
}

static int checkpoint(const struct args *a, wb_ledger *ledger)
{
    wb_checkpoint_op op = args_has(a, "--rotate")    ? WB_CHECKPOINT_ROTATE
                          : args_has(a, "--restart") ? WB_CHECKPOINT_RESTART
                                                     : WB_CHECKPOINT_WRITE;
    wb_error *error = NULL;
    char *json;
    size_t n;
    int code;

    if (args_has(a, "--rotate") && args_has(a, "--restart"))
        return usage_error(a, "give --rotate or --restart, not both");
    if (wb_ledger_checkpoint(ledger, op, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_pretty(a, json, n);
    wb_free(json);
    return code;
}

struct gathered {
    char *text;
    size_t size;
    FILE *out;
    bool any;
};

static void gather(const char *line, size_t size, void *arg)
{
    struct gathered *g = arg;

    if (g->any)
        fputc(',', g->out);
    g->any = true;
    fwrite(line, 1, size, g->out);
}

static int replay_with(const struct args *a, wb_ledger *ledger, wb_runtime *runtime,
                       const wb_ledger_filter *filter, unsigned budget)
{
    static const char *const columns[] = {"id=ID",      "tool=TOOL",       "status=STATUS",
                                          "how=HOW",    "allowed=ALLOWED", "tokens_then=THEN",
                                          "tokens=NOW", "receipt=RECEIPT"};
    wb_error *error = NULL;
    struct gathered g = {.text = NULL};
    int code;

    g.out = open_memstream(&g.text, &g.size);
    if (g.out == NULL)
        return EXIT_INTERNAL;
    fputc('[', g.out);
    code = wb_ledger_replay(ledger, runtime, filter, budget, gather, &g, &error) == WB_OK
               ? EXIT_OK
               : fail(a, NULL, error);
    fputc(']', g.out);
    fclose(g.out);
    if (code == EXIT_OK && g.text != NULL)
        code = print_table(a, g.text, g.size, columns, sizeof(columns) / sizeof(columns[0]));
    free(g.text);
    return code;
}

static int replay(const struct args *a, wb_ledger *ledger)
{
    wb_ledger_filter filter;
    wb_runtime *runtime;
    long long budget = 0;
    int code;

    if (!read_filter(a, 0, &filter) || !args_number(a, "--budget", 1, 1000000, &budget))
        return EXIT_USAGE;
    if (budget == 0)
        return usage_error(a, "--budget TOKENS is needed");
    if (budget < 200) {
        note(a, "a budget under 200 tokens counts as 200");
        budget = 200;
    }
    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    code = replay_with(a, ledger, runtime, &filter, (unsigned)budget);
    wb_runtime_free(runtime);
    return code;
}

static const struct verb {
    const char *name;
    int (*run)(const struct args *a, wb_ledger *ledger);
    wb_ledger_mode mode;
} verbs[] = {
    {"list", list, WB_LEDGER_READ},
    {"show", show, WB_LEDGER_READ},
    {"tail", tail, WB_LEDGER_READ},
    {"export", export, WB_LEDGER_READ},
    {"verify", verify, WB_LEDGER_EXAMINE},
    {"stats", stats, WB_LEDGER_READ},
    {"prune", prune, WB_LEDGER_READ},
    {"replay", replay, WB_LEDGER_READ},
    {"checkpoint", checkpoint, WB_LEDGER_READ},
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

wb_ledger *open_ledger(const struct args *a, wb_ledger_mode mode, int *ret_exit)
{
    wb_options *o = runtime_options(a);
    wb_ledger *ledger = NULL;
    wb_error *error = NULL;
    wb_rc rc;

    *ret_exit = EXIT_INTERNAL;
    if (o == NULL)
        return NULL;
    rc = wb_ledger_open(o, mode, &ledger, &error);
    wb_options_free(o);
    if (rc == WB_OK)
        return ledger;
    *ret_exit = fail(a, NULL, error);
    if (*ret_exit != EXIT_INTERNAL) /* whatever is wrong with it: it cannot be used */
        *ret_exit = EXIT_STATE;
    return NULL;
}

static int run(const struct args *a)
{
    const char *name = a->word_count > 0 ? a->words[0] : "list";
    const struct verb *verb = find_verb(name);
    wb_ledger *ledger;
    int code;

    if (verb == NULL)
        return EXIT_INTERNAL; /* every form has its row */
    ledger = open_ledger(a, verb->mode, &code);
    if (ledger == NULL)
        return code;
    code = verb->run(a, ledger);
    wb_ledger_free(ledger);
    return code;
}

#define FILTERED "list tail export stats replay"

static const struct option_spec options[] = {
    {"--tool", "NAME", "calls of this tool", false, FILTERED},
    {"--status", "success|error|open", "calls that ended so", false, FILTERED},
    {"--error-kind", "KIND", "calls that failed so", false, FILTERED},
    {"--conversation", "ID", "calls of this conversation", false, FILTERED},
    {"--since", "TIME", "from then on", false, FILTERED},
    {"--until", "TIME", "before then", false, FILTERED},
    {"--limit", "N", "the newest N", false, "list tail export replay"},
    {"--view", "VIEW", "receipt, canonical, result, envelope or record", false, "show"},
    {"-f", NULL, "go on with rows to come", false, "tail"},
    {"--witness", "FILE", "a copy of the witness, kept elsewhere", false, "verify"},
    {"--older-than", "TIME", "rows before then go", false, "prune"},
    {"--keep", "ROWS", "the newest ROWS stay", false, "prune"},
    {"--dry-run", NULL, "only count", false, "prune"},
    {"--rotate", NULL, "go on with a new key", false, "checkpoint"},
    {"--restart", NULL, "put the witness aside and begin a new one", false, "checkpoint"},
    {"--budget", "TOKENS", "of each receipt", false, "replay"},
    {NULL},
};

static const struct form forms[] = {
    {"list", NULL},   {"show ID", "`waybill ledger list` shows them"},
    {"tail", NULL},   {"export", NULL},
    {"verify", NULL}, {"stats", NULL},
    {"prune", NULL},  {"checkpoint", NULL},
    {"replay", NULL}, {"", NULL},
    {NULL, NULL},
};

const struct command command_ledger = {
    "ledger",
    "What was written down of calls: list, show, check, prune.",
    "list | show ID | tail [-f] | export | verify | stats | prune | checkpoint | replay",
    "  list         calls, newest first (50 on a terminal, all with --json)\n"
    "  show ID      one call as its caller got it; ID is call_… or a provider's id\n"
    "  tail [-f]    the newest rows as JSON Lines\n"
    "  export       rows as JSON Lines, oldest first\n"
    "  verify       every row, the file, the witness outside; exit 1 if something is wrong\n"
    "  stats        calls, errors, latency, tokens shown and kept away, largest results\n"
    "  prune        the oldest rows go (--older-than 30d, --keep ROWS); the rest still verifies\n"
    "  checkpoint   sign the newest row\n"
    "  replay       what the model would have seen with another --budget\n"
    "A TIME is RFC 3339, or so long ago: 90s, 15m, 2h, 7d.\n"
    "\nexamples:\n"
    "  waybill ledger list --status error --since 1h\n"
    "  waybill ledger show call_0a1b… --view canonical\n"
    "  waybill ledger export --tool ExecCommand > calls.jsonl\n",
    options,
    forms,
    run,
};

/* ---- calls in flight ---- */

static int list_live(const struct args *a, wb_ledger *ledger)
{
    static const char *const columns[] = {
        "id=ID",        "tool=TOOL",           "stage=STAGE",
        "elapsedMs=MS", "principal=PRINCIPAL", "instance=INSTANCE"};
    wb_error *error = NULL;
    char *json;
    size_t n;
    int code;

    if (wb_live_calls(ledger, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_list(a, json, n, columns, sizeof(columns) / sizeof(columns[0]),
                      "no call is in flight");
    wb_free(json);
    return code;
}

static int list_runtimes(const struct args *a, wb_ledger *ledger)
{
    static const char *const columns[] = {"instance=INSTANCE", "pid=PID",
                                          "version=VERSION",   "openedAt=SINCE",
                                          "calls=CALLS",       "/ledger/writable=LEDGER WRITABLE"};
    wb_error *error = NULL;
    char *json;
    size_t n;
    int code;

    if (wb_live_health(ledger, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_table(a, json, n, columns, sizeof(columns) / sizeof(columns[0]));
    wb_free(json);
    return code;
}

static int cancel(const struct args *a, wb_ledger *ledger, const char *id)
{
    wb_error *error = NULL;

    if (wb_live_cancel(ledger, id, &error) != WB_OK)
        return fail(a, NULL, error);
    note(a, "%s was asked to end", id);
    return EXIT_OK;
}

static int run_calls(const struct args *a)
{
    const char *verb = a->word_count > 0 ? a->words[0] : "list";
    bool cancels = strcmp(verb, "cancel") == 0, lists = strcmp(verb, "list") == 0;
    wb_ledger *ledger;
    int code;

    ledger = open_ledger(a, WB_LEDGER_READ, &code);
    if (ledger == NULL)
        return code;
    code = cancels ? cancel(a, ledger, a->words[1])
           : lists ? list_live(a, ledger)
                   : list_runtimes(a, ledger);
    wb_ledger_free(ledger);
    return code;
}

static const struct option_spec no_options[] = {{NULL}};

static const struct form calls_forms[] = {
    {"list", NULL},     {"cancel ID", "`waybill calls list` shows them"},
    {"runtimes", NULL}, {"", NULL},
    {NULL, NULL},
};

const struct command command_calls = {
    "calls",
    "Calls in flight in any process of the workspace; cancel one.",
    "[list | cancel ID | runtimes]",
    "ID is call_… or a provider's id. A cancelled call ends with its own outcome, in its\n"
    "own process; exit 1 when no call in flight has the id, 2 when several have it from\n"
    "their callers: then it takes the call_… id.\n"
    "\nexamples:\n"
    "  waybill calls list\n"
    "  waybill calls cancel call_0a1b…\n",
    no_options,
    calls_forms,
    run_calls,
};
