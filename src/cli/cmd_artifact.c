/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_artifact.c: `waybill artifact`: complete outputs, for people. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int list(const struct args *a, wb_runtime *runtime)
{
    static const char *const columns[] = {"created_at=CREATED", "tool=TOOL",   "role=ROLE",
                                          "lines=LINES",        "bytes=BYTES", "state=STATE",
                                          "path=PATH"};
    wb_error *error = NULL;
    size_t n;
    char *json;
    int code;

    if (wb_artifact_list(runtime, &json, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    code = print_list(a, json, n, columns, sizeof(columns) / sizeof(columns[0]),
                      "nothing is kept here");
    wb_free(json);
    return code;
}

static wb_rc print_piece(const char *bytes, size_t size, void *arg)
{
    bool *printed = arg;

    *printed |= size > 0;
    return put(bytes, size) ? WB_OK : WB_EIO;
}

/* The one range that is asked for. */
static bool read_range(const struct args *a, wb_artifact_query *q)
{
    static const struct {
        const char *option;
        wb_range range;
    } ranges[] = {{"--lines", WB_RANGE_LINES},
                  {"--bytes", WB_RANGE_BYTES},
                  {"--tail", WB_RANGE_TAIL},
                  {"--grep", WB_RANGE_GREP},
                  {"--json-path", WB_RANGE_JSON}};
    long long context = 0;

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (!args_has(a, ranges[i].option))
            continue;
        if (q->range != WB_RANGE_ALL) {
            (void)usage_error(a, "give only one of --lines, --bytes, --tail, --grep, --json-path");
            return false;
        }
        q->range = ranges[i].range;
        q->value = args_get(a, ranges[i].option);
    }
    if (args_has(a, "-C") && q->range != WB_RANGE_GREP) {
        (void)usage_error(a, "-C belongs to --grep");
        return false;
    }
    if (!args_number(a, "-C", 0, 50, &context))
        return false;
    q->context = (unsigned)context;
    return true;
}

/* Artifacts are known by their whole path; people also name them from where they are. */
static const char *whole_path(const char *ref, char real[PATH_MAX])
{
    return strchr(ref, '/') != NULL && realpath(ref, real) != NULL ? real : ref;
}

static int read_one(const struct args *a, wb_runtime *runtime)
{
    wb_artifact_query q = {.raw = args_has(a, "--raw")};
    wb_error *error = NULL;
    bool printed = false;
    char real[PATH_MAX];

    q.ref = whole_path(a->words[1], real);
    if (!read_range(a, &q))
        return EXIT_USAGE;
    if (wb_artifact_read(runtime, &q, print_piece, &printed, &error) == WB_OK) {
        if (printed || q.range != WB_RANGE_GREP)
            return EXIT_OK;
        note(a, "no line matches \"%s\"", q.value); /* as grep does it */
        return EXIT_NEGATIVE;
    }
    if (ferror(stdout)) {
        wb_error_free(error);
        return EXIT_OK; /* finish_output tells */
    }
    return fail(a, q.ref, error);
}

static int print_object(const struct args *a, wb_rc rc, char *json, size_t n, wb_error *error,
                        int code)
{
    if (rc != WB_OK)
        return fail(a, NULL, error);
    if (print_pretty(a, json, n) != EXIT_OK)
        code = EXIT_INTERNAL;
    wb_free(json);
    return code;
}

static int prune(const struct args *a, wb_runtime *runtime)
{
    wb_error *error = NULL;
    long long days = -1;
    char *json = NULL;
    size_t n = 0;
    wb_rc rc;

    if (!args_number(a, "--older-than-days", 0, 36500, &days))
        return EXIT_USAGE;
    rc = wb_artifact_prune(runtime, days < 0 ? -1 : days * 86400000LL, &json, &n, &error);
    return print_object(a, rc, json, n, error, EXIT_OK);
}

static int verify(const struct args *a, wb_runtime *runtime)
{
    wb_error *error = NULL;
    int good = 0;
    char *json = NULL;
    size_t n = 0;
    wb_rc rc = wb_artifact_verify(runtime, &good, &json, &n, &error);

    return print_object(a, rc, json, n, error, good ? EXIT_OK : EXIT_NEGATIVE);
}

static int stats(const struct args *a, wb_runtime *runtime)
{
    wb_error *error = NULL;
    char *json = NULL;
    size_t n = 0;
    wb_rc rc = wb_artifact_stats(runtime, &json, &n, &error);

    return print_object(a, rc, json, n, error, EXIT_OK);
}

static int run(const struct args *a)
{
    static const struct {
        const char *verb;
        int (*run)(const struct args *a, wb_runtime *runtime);
    } verbs[] = {
        {"list", list}, {"read", read_one}, {"stats", stats}, {"prune", prune}, {"verify", verify}};
    const char *verb = a->word_count > 0 ? a->words[0] : "list";
    wb_runtime *runtime;
    int code;

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].verb, verb) != 0)
            continue;
        runtime = open_runtime(a, &code);
        if (runtime == NULL)
            return code;
        code = verbs[i].run(a, runtime);
        wb_runtime_free(runtime);
        return code;
    }
    return EXIT_INTERNAL; /* every form has its row */
}

static const struct option_spec options[] = {
    {"--lines", "A-B", "these lines, counted from 1", false, "read"},
    {"--bytes", "A-B", "these bytes, counted from 0, without B", false, "read"},
    {"--tail", "N", "the last N lines", false, "read"},
    {"--grep", "RE", "lines that match (PCRE2)", false, "read"},
    {"-C", "N", "with N lines around each match", false, "read"},
    {"--json-path", "PATH", "a part of what is JSON: $.a[0] or /a/0", false, "read"},
    {"--raw", NULL, "the bytes as they were printed", false, "read"},
    {"--older-than-days", "N", "instead of the age of the settings", false, "prune"},
    {NULL},
};

static const struct form forms[] = {
    {"list", NULL},   {"read REF", "REF is its path, its SHA-256 or a task"},
    {"stats", NULL},  {"prune", NULL},
    {"verify", NULL}, {"", NULL},
    {NULL, NULL},
};

const struct command command_artifact = {
    "artifact",
    "Complete outputs that are kept: list, read, count, prune, verify.",
    "list | read REF [--lines A-B|--bytes A-B|--tail N|--grep RE [-C N]|--json-path P] [--raw] | "
    "stats | prune | verify",
    "REF is the path as a receipt gives it, at least eight hex digits of its SHA-256, or the id "
    "of\n"
    "a task. Lines count from 1, both ends included; bytes from 0, the end excluded. Text is\n"
    "cleaned and redacted as in receipts. --grep exits 1 when no line matches.\n"
    "\nexamples:\n"
    "  waybill artifact read 3f2a90c1 --lines 120-180\n"
    "  waybill artifact read task_1f… --tail 50\n"
    "  waybill artifact read 3f2a90c1 --raw > output.bin\n",
    options,
    forms,
    run,
};
