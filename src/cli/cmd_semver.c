/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_semver.c: `waybill semver`. */
#include <string.h>

#include "cli/cli.h"

static int bad(const struct args *a, wb_error *error)
{
    (void)fail(a, NULL, error);
    return EXIT_USAGE;
}

/* Those that fit are moved to the front and printed when none was bad. */
static int match(const struct args *a)
{
    size_t end = 2;

    for (size_t i = 2; i < a->word_count; i++) {
        wb_error *error = NULL;
        int fits;
        if (wb_semver_match(a->words[1], a->words[i], &fits, &error) != WB_OK)
            return bad(a, error);
        if (fits)
            a->words[end++] = a->words[i];
    }
    for (size_t i = 2; i < end; i++)
        (void)put_line(a->words[i], strlen(a->words[i])); /* finish_output tells */
    return end > 2 ? EXIT_OK : EXIT_NEGATIVE;
}

static int pick(const struct args *a)
{
    const char *const *versions = (const char *const *)(a->words + 2);
    wb_error *error = NULL;
    size_t index;
    wb_rc rc = wb_semver_pick(a->words[1], versions, a->word_count - 2, &index, &error);

    if (rc == WB_ENOTFOUND) {
        wb_error_free(error);
        return EXIT_NEGATIVE;
    }
    if (rc != WB_OK)
        return bad(a, error);
    (void)put_line(versions[index], strlen(versions[index])); /* finish_output tells */
    return EXIT_OK;
}

static int compare(const struct args *a)
{
    wb_error *error = NULL;
    int order;

    if (wb_semver_compare(a->words[1], a->words[2], &order, &error) != WB_OK)
        return bad(a, error);
    printf("%d\n", order);
    return EXIT_OK;
}

static int run(const struct args *a)
{
    if (strcmp(a->words[0], "match") == 0)
        return match(a);
    if (strcmp(a->words[0], "pick") == 0)
        return pick(a);
    return compare(a);
}

static const struct option_spec options[] = {{NULL}};

static const struct form forms[] = {
    {"match RANGE V…", NULL},
    {"pick RANGE V…", NULL},
    {"compare A B", NULL},
    {NULL, NULL},
};

const struct command command_semver = {
    "semver",
    "Match versions against ranges with npm's meaning.",
    "match RANGE V… | pick RANGE V… | compare A B",
    "`match` prints the versions that fit (exit 1 if none does), `pick` the highest,\n"
    "`compare` -1, 0 or 1. Bad syntax of any of them exits 2, and nothing is printed.\n"
    "\nexamples:\n"
    "  waybill semver pick '^1.2' 1.2.3 1.9.0 2.0.0    # 1.9.0\n"
    "  waybill semver match '>=1 <3' 0.9.0 2.5.1       # 2.5.1\n",
    options,
    forms,
    run,
};
