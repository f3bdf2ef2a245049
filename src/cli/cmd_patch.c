/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_patch.c: `waybill patch apply|check`. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int print_outcome(const struct args *a, char *canonical, size_t size, int ok)
{
    wb_error *error = NULL;
    char *receipt;
    size_t n;

    if (a->json) {
        (void)put_line(canonical, size); /* finish_output tells */
    } else {
        if (wb_render(canonical, size, &receipt, &n, &error) != WB_OK)
            return fail(a, NULL, error);
        (void)put_line(receipt, n);
        wb_free(receipt);
    }
    return ok ? EXIT_OK : EXIT_NEGATIVE;
}

static int run(const struct args *a)
{
    unsigned flags = args_has(a, "--allow-guarded") ? WB_PATCH_GUARDED : 0;
    wb_error *error = NULL;
    char *text, *canonical;
    size_t size, n;
    int ok = 0, code;
    wb_rc rc;

    if (strcmp(a->words[0], "check") == 0)
        flags |= WB_PATCH_CHECK;
    text = read_file(a, "-", &size);
    if (text == NULL)
        return EXIT_USAGE;
    rc = wb_patch_apply(a->root ? a->root : ".", text, size, flags, &canonical, &n, &ok, &error);
    free(text);
    if (rc != WB_OK)
        return fail(a, NULL, error);
    code = print_outcome(a, canonical, n, ok);
    wb_free(canonical);
    return code;
}

static const struct option_spec options[] = {
    {"--allow-guarded", NULL, "also write .git, editor settings, Waybill's own files"},
    {NULL},
};

static const struct form forms[] = {
    {"apply", "the patch comes on standard input"},
    {"check", "the patch comes on standard input"},
    {NULL, NULL},
};

const struct command command_patch = {
    "patch",
    "Apply a patch to the files beneath the working directory.",
    "apply|check [--allow-guarded] < PATCH",
    "Reads a patch from standard input: the text from \"*** Begin Patch\" to\n"
    "\"*** End Patch\", or a unified diff. Context decides where a change goes, line\n"
    "numbers are hints. All files are changed or none; after a failure nothing is.\n"
    "check only says what it would do. --json prints the canonical result.\n"
    "\nexample:\n"
    "  git diff | (cd ../copy && waybill patch apply)\n",
    options,
    forms,
    run,
};
