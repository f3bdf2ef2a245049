/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_doctor.c: `waybill doctor`. */
#include <string.h>

#include "cli/cli.h"

static int run(const struct args *a)
{
    static const char *const columns[] = {"check=CHECK", "status=STATUS", "text=WHAT", "next=NEXT"};
    wb_options *o = runtime_options(a);
    wb_error *error = NULL;
    size_t n;
    char *json;
    wb_rc rc;
    int code;

    if (o == NULL)
        return EXIT_INTERNAL;
    rc = wb_doctor(o, &json, &n, &error);
    wb_options_free(o);
    if (rc != WB_OK)
        return fail(a, NULL, error);
    code = print_table(a, json, n, columns, sizeof(columns) / sizeof(columns[0]));
    if (code == EXIT_OK && strstr(json, "\"status\":\"broken\"") != NULL)
        code = EXIT_STATE;
    wb_free(json);
    return code;
}

static const struct option_spec options[] = {{NULL}};

static const struct form forms[] = {
    {"", NULL},
    {NULL, NULL},
};

const struct command command_doctor = {
    "doctor",
    "Say what this machine offers and what stands in the way.",
    "",
    "MCP servers of the configuration are started and asked for their tools. Exit 3 when\n"
    "something is broken.\n\nexample:\n  waybill doctor\n",
    options,
    forms,
    run,
};
