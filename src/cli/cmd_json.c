/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_json.c: `waybill json`. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int check(const struct args *a, const char *text, size_t size)
{
    wb_error *error = NULL;

    if (wb_json_check(text, size, &error) == WB_OK)
        return EXIT_OK;
    (void)fail(a, NULL, error);
    return EXIT_NEGATIVE;
}

typedef wb_rc transform_fn(const char *, size_t, char **, size_t *, wb_error **);

static int print(const struct args *a, transform_fn *fn, const char *text, size_t size,
                 bool line_end)
{
    wb_error *error = NULL;
    size_t n;
    char *out;

    if (fn(text, size, &out, &n, &error) != WB_OK) {
        (void)fail(a, NULL, error);
        /* JSON that has no canonical form is a verdict, anything else no input (I2) */
        return wb_json_check(text, size, NULL) == WB_OK ? EXIT_NEGATIVE : EXIT_USAGE;
    }
    (void)(line_end ? put_line(out, n) : put(out, n)); /* finish_output tells */
    wb_free(out);
    return EXIT_OK;
}

static int run(const struct args *a)
{
    const char *verb = a->words[0];
    size_t size;
    char *text;
    int code;

    text = read_file(a, a->word_count == 2 ? a->words[1] : "-", &size);
    if (text == NULL)
        return EXIT_USAGE;
    if (strcmp(verb, "canonical") == 0)
        code = print(a, wb_json_canonical, text, size, /* line_end= */ false);
    else if (strcmp(verb, "pretty") == 0)
        code = print(a, wb_json_pretty, text, size, /* line_end= */ true);
    else
        code = check(a, text, size);
    free(text);
    return code;
}

static const struct option_spec options[] = {{NULL}};

static const struct form forms[] = {
    {"canonical [FILE]", NULL},
    {"check [FILE]", NULL},
    {"pretty [FILE]", NULL},
    {NULL, NULL},
};

const struct command command_json = {
    "json",
    "Check a JSON text, or print its canonical form (RFC 8785).",
    "canonical|check|pretty [FILE]",
    "The text is read from FILE or standard input. `canonical` prints the bytes without\n"
    "a line end; `check` is silent and exits 0, or prints line:column and exits 1. What\n"
    "is no JSON makes `canonical` and `pretty` exit 2, what has no canonical form 1.\n"
    "Duplicate member names are refused everywhere.\n"
    "\nexamples:\n"
    "  echo '{\"b\": 1.0, \"a\": [2e2]}' | waybill json canonical    # {\"a\":[200],\"b\":1}\n"
    "  waybill json check settings.json && echo fine\n",
    options,
    forms,
    run,
};
