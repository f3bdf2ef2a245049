/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_render.c: `waybill render`. */
#include <stdlib.h>

#include "cli/cli.h"

static int run(const struct args *a)
{
    wb_error *error = NULL;
    size_t size, n;
    char *text, *receipt;
    wb_rc rc;

    text = read_file(a, a->word_count ? a->words[0] : "-", &size);
    if (text == NULL)
        return EXIT_USAGE;
    rc = wb_render(text, size, &receipt, &n, &error);
    free(text);
    if (rc != WB_OK)
        return fail(a, NULL, error);
    (void)put_line(receipt, n); /* finish_output tells */
    wb_free(receipt);
    return EXIT_OK;
}

static const struct option_spec options[] = {{NULL}};

static const struct form forms[] = {
    {"[FILE]", "without one standard input is read"},
    {NULL, NULL},
};

const struct command command_render = {
    "render",
    "Print the receipt of a canonical result.",
    "[FILE]",
    "Reads a canonical result (JSON with tool_name, status, summary_text, result and\n"
    "error) and prints what the model would read. Never cuts.\n"
    "\nexample:\n"
    "  waybill call NAME --view canonical | waybill render\n",
    options,
    forms,
    run,
};
