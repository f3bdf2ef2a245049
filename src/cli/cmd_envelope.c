/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_envelope.c: `waybill envelope`. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *name;
    wb_envelope_op op;
} verbs[] = {
    {"create", WB_ENVELOPE_CREATE},   {"attach", WB_ENVELOPE_ATTACH},
    {"ensure", WB_ENVELOPE_ENSURE},   {"get", WB_ENVELOPE_GET},
    {"payload", WB_ENVELOPE_PAYLOAD}, {"wrap", WB_ENVELOPE_WRAP},
};

static bool find_verb(const char *name, wb_envelope_op *ret)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            *ret = verbs[i].op;
            return true;
        }
    }
    return false;
}

static size_t collect(const struct args *a, const char *name, const char *list[OPTIONS_MAX])
{
    size_t n = 0;

    while (n < OPTIONS_MAX && (list[n] = args_nth(a, name, n)) != NULL)
        n++;
    return n;
}

/* Whether the options alone are refused, whatever the root is. */
static bool bad_options(const wb_envelope *e)
{
    size_t n;
    char *out;

    if (wb_envelope_apply(WB_ENVELOPE_WRAP, e, "{}", 2, &out, &n, NULL) != WB_OK)
        return true;
    wb_free(out);
    return false;
}

/* W10: a mismatch is a warning. */
static void look_at_type(const struct args *a, const char *root, size_t size)
{
    if (!wb_envelope_fits(root, size))
        note(a, "contentType does not fit the payload; Text is for a string, List for an array, "
                "Object for an object");
}

static int apply(const struct args *a, wb_envelope_op op, const char *root, size_t size)
{
    const char *compat[OPTIONS_MAX], *tags[OPTIONS_MAX];
    wb_envelope e = {.tool = args_get(a, "--tool"),
                     .provider = args_get(a, "--provider"),
                     .model = args_get(a, "--model"),
                     .tool_call_id = args_get(a, "--tool-call-id"),
                     .content_type = args_get(a, "--content-type"),
                     .payload_path = args_get(a, "--payload-path"),
                     .schema_ref = args_get(a, "--schema-ref"),
                     .created_at = args_get(a, "--created-at"),
                     .compat = compat,
                     .tags = tags,
                     .payload_key = args_get(a, "--payload-key")};
    wb_error *error = NULL;
    size_t n;
    char *out;
    wb_rc rc;

    e.compat_count = collect(a, "--compat", compat);
    e.tag_count = collect(a, "--tag", tags);
    rc = wb_envelope_apply(op, &e, root, size, &out, &n, &error);
    if (rc == WB_ENOTFOUND && op == WB_ENVELOPE_GET) {
        wb_error_free(error);
        (void)put_line("null", 4); /* finish_output tells */
        return EXIT_NEGATIVE;
    }
    if (rc != WB_OK && bad_options(&e)) {
        (void)fail(a, NULL, error);
        return EXIT_USAGE;
    }
    if (rc != WB_OK) {
        (void)fail(a, NULL, error);
        return EXIT_NEGATIVE;
    }
    (void)put_line(out, n); /* finish_output tells */
    if (op == WB_ENVELOPE_GET || op == WB_ENVELOPE_PAYLOAD)
        look_at_type(a, root, size);
    else if (op != WB_ENVELOPE_CREATE)
        look_at_type(a, out, n);
    wb_free(out);
    return EXIT_OK;
}

static int run(const struct args *a)
{
    wb_error *error = NULL;
    wb_envelope_op op;
    size_t size = 0;
    char *root;
    int code;

    if (!find_verb(a->words[0], &op))
        return EXIT_INTERNAL; /* every form has its row */
    if (op == WB_ENVELOPE_CREATE)
        return apply(a, op, NULL, 0);
    root = read_file(a, "-", &size);
    if (root == NULL)
        return EXIT_USAGE;
    if (wb_json_check(root, size, &error) != WB_OK) {
        (void)fail(a, "standard input", error);
        code = EXIT_USAGE;
    } else {
        code = apply(a, op, root, size);
    }
    free(root);
    return code;
}

static const struct option_spec options[] = {
    {"--tool", "NAME", "the tool that made the result"},
    {"--provider", "NAME", "the provider of the model"},
    {"--model", "NAME", "the model that called"},
    {"--tool-call-id", "ID", "the provider's id of the call"},
    {"--content-type", "TYPE", "Unknown, Text, List, Object, Image or Binary"},
    {"--payload-path", "PATH", "where the payload is"},
    {"--schema-ref", "REF", "the schema of the payload"},
    {"--compat", "KEY=VALUE", "what older readers look for", true},
    {"--tag", "TAG", "a word to find it by", true},
    {"--created-at", "TIME", "RFC 3339; now without it"},
    {"--payload-key", "KEY", "the member that holds the payload"},
    {NULL},
};

static const struct form forms[] = {
    {"create", NULL},
    {"attach", "the root comes on standard input"},
    {"ensure", "the root comes on standard input"},
    {"get", "the root comes on standard input"},
    {"payload", "the root comes on standard input"},
    {"wrap", "the root comes on standard input"},
    {NULL, NULL},
};

const struct command command_envelope = {
    "envelope",
    "Work with the metadata a result carries under \"__envelope\".",
    "create|attach|ensure|get|payload|wrap [OPTIONS] < ROOT",
    "The root is read from standard input (not for create). `attach` replaces an\n"
    "envelope and keeps members it does not know, `ensure` keeps a valid one, `wrap`\n"
    "makes a new root around any value. Exit 1: no envelope (get), no payload, or a root\n"
    "that is no object; 2: options that make no envelope.\n"
    "\nexamples:\n"
    "  echo '{\"result\": \"hello\"}' | waybill envelope attach --tool text_generate --model m-1\n"
    "  echo '[1, 2]' | waybill envelope wrap --tool list_generate --payload-key list\n",
    options,
    forms,
    run,
};
