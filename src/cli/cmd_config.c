/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_config.c: `waybill config`. */
#include <string.h>

#include "cli/cli.h"

/* A table of what the report lists at `pointer`, and a word on it, if there is something. */
static int tell_list(const struct args *a, const char *json, size_t size, const char *pointer,
                     const char *const *columns, size_t n_columns, const char *word)
{
    wb_error *error = NULL;
    size_t n;
    char *list;
    int code = EXIT_OK;

    if (wb_json_pointer(json, size, pointer, &list, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    if (strcmp(list, "[]") != 0) {
        code = print_table(a, list, n, columns, n_columns);
        note(a, "%s", word);
    }
    wb_free(list);
    return code;
}

/* What a workspace that is not trusted wished for: what it got, and what it did not. */
static int tell_wishes(const struct args *a, const char *json, size_t size)
{
    static const char *const applied[] = {"file=FILE", "what=APPLIES"};
    static const char *const ignored[] = {"file=FILE", "what=LEFT OUT", "reason=WHY"};
    int code = tell_list(a, json, size, "/tightening", applied, 2,
                         "these values are tighter than what holds without them, and count before "
                         "the workspace is trusted");

    if (code == EXIT_OK)
        code = tell_list(a, json, size, "/ignored", ignored, 3,
                         "read these files, then `waybill config trust` lets them count");
    return code;
}

/* A warning with the names that the report lists at `pointer`, if there are some. */
static int tell_names(const struct args *a, const char *json, size_t size, const char *pointer,
                      const char *what)
{
    wb_error *error = NULL;
    size_t n;
    char *list;

    if (wb_json_pointer(json, size, pointer, &list, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    if (strcmp(list, "[]") != 0)
        warn(a, "%s %s", what, list);
    wb_free(list);
    return EXIT_OK;
}

static int report(const struct args *a, bool show)
{
    wb_options *o = runtime_options(a);
    wb_error *error = NULL;
    size_t n;
    char *json;
    wb_rc rc;
    int code = EXIT_OK;

    if (o == NULL)
        return EXIT_INTERNAL;
    rc = wb_config_check(o, &json, &n, &error);
    wb_options_free(o);
    if (rc != WB_OK) {
        (void)fail(a, NULL, error);
        return EXIT_STATE;
    }
    if (show || a->json) {
        code = print_pretty(a, json, n);
    } else {
        note(a, "the configuration is fine");
        code = tell_wishes(a, json, n);
        if (code == EXIT_OK)
            code =
                tell_names(a, json, n, "/unmasked",
                           "too short (under 8 bytes) or too long to be redacted: the values of");
        if (code == EXIT_OK)
            code = tell_names(a, json, n, "/unusedBudgets",
                              "without effect: settings.budgets has names of no built-in tool:");
        if (code == EXIT_OK)
            code = tell_names(a, json, n, "/unusedGlobs",
                              "without effect: policies and bindings have globs of no tool:");
    }
    wb_free(json);
    return code;
}

static int trust(const struct args *a)
{
    wb_options *o = runtime_options(a);
    wb_error *error = NULL;
    wb_rc rc;

    if (o == NULL)
        return EXIT_INTERNAL;
    rc = wb_config_trust(o, &error);
    wb_options_free(o);
    if (rc != WB_OK) {
        (void)fail(a, NULL, error);
        return EXIT_STATE;
    }
    note(a, "the workspace's configuration is trusted as it is now; any change asks again");
    return EXIT_OK;
}

static int run(const struct args *a)
{
    const char *verb = a->words[0], *schema;
    size_t n;

    if (strcmp(verb, "check") == 0)
        return report(a, /* show= */ false);
    if (strcmp(verb, "show") == 0)
        return report(a, /* show= */ true);
    if (strcmp(verb, "trust") == 0)
        return trust(a);
    schema = wb_config_schema(&n);
    (void)put(schema, n); /* finish_output tells */
    return EXIT_OK;
}

static const struct option_spec options[] = {{NULL}};

static const struct form forms[] = {
    {"check", NULL}, {"show", NULL}, {"schema", NULL}, {"trust", NULL}, {NULL, NULL},
};

const struct command command_config = {
    "config",
    "Check, show or trust the configuration of the workspace.",
    "check | show | schema | trust",
    "`check` reads the user's config.json and the workspace's waybill.json and\n"
    "tools.d/*.json; an error names file, line and column (exit 3). Until `trust`\n"
    "records their hash, a workspace's files may only tighten policy; `check` lists\n"
    "which policies apply then and what is left out. What is wrong cannot be trusted.\n"
    "`schema` prints the JSON Schema of these files for editors.\n"
    "\nexamples:\n"
    "  waybill config check && waybill config trust\n"
    "  waybill config schema > waybill.schema.json\n",
    options,
    forms,
    run,
};
