/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_config.c: `waybill config`. */
#include <string.h>

#include "cli/cli.h"

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
    if (show)
        code = print_pretty(a, json, n);
    else
        note(a, "the configuration is fine");
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
    const char *verb = a->word_count == 1 ? a->words[0] : "";
    size_t n;
    const char *schema;

    if (strcmp(verb, "check") == 0)
        return report(a, /* show= */ false);
    if (strcmp(verb, "show") == 0)
        return report(a, /* show= */ true);
    if (strcmp(verb, "trust") == 0)
        return trust(a);
    if (strcmp(verb, "schema") == 0) {
        schema = wb_config_schema(&n);
        (void)put(schema, n); /* finish_output tells */
        return EXIT_OK;
    }
    return usage_error(a, "say check, show, schema or trust");
}

static const struct option_spec options[] = {{NULL, NULL, false}};

const struct command command_config = {
    "config",
    "Check, show or trust the configuration of the workspace.",
    "check | show | schema | trust",
    "`check` reads the user's config.json and the workspace's waybill.json and\n"
    "tools.d/*.json; an error names file, line and column (exit 3). Until `trust`\n"
    "records their hash, a workspace's files may only tighten policy. `schema` prints\n"
    "the JSON Schema of these files for editors.\n"
    "\nexamples:\n"
    "  waybill config check && waybill config trust\n"
    "  waybill config schema > waybill.schema.json\n",
    options,
    run,
};
