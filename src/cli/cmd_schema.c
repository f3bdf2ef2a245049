/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_schema.c: `waybill schema`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- documents given by --remote ---- */

struct document {
    struct document *next;
    char *text;
};

struct remotes {
    const struct args *a;
    struct document *open; /* read so far: good until the end */
};

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *hit = c ? strchr(digits, c) : NULL;

    return hit ? (int)((hit - digits) % 16) : -1;
}

/* The name of a file that a part of a URI stands for: %20 is a space. False: of none. */
static bool file_name(const char *part, char *out, size_t size)
{
    size_t n = 0;

    for (; *part != '\0' && n + 1 < size; part++) {
        char c = *part;

        if (c == '%' && hex_digit(part[1]) >= 0 && hex_digit(part[2]) >= 0) {
            c = (char)(hex_digit(part[1]) * 16 + hex_digit(part[2]));
            part += 2;
        }
        if (c == '\0')
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return *part == '\0' && strstr(out, "..") == NULL;
}

/* Where a URI leads by one --remote URI=FILE|DIR; false: nowhere. */
static bool remote_path(const char *spec, const char *uri, char *out, size_t size)
{
    const char *equals = strrchr(spec, '='), *place = equals ? equals + 1 : "";
    size_t n = equals ? (size_t)(equals - spec) : 0;
    const char *rest;
    char name[4096];

    if (equals == NULL || strncmp(uri, spec, n) != 0)
        return false;
    rest = uri + n;
    if (*rest == '\0')
        return snprintf(out, size, "%s", place) < (int)size;
    if (spec[n - 1] != '/' && *rest != '/')
        return false; /* "…/ab" does not answer for "…/abc" */
    while (*rest == '/')
        rest++;
    return file_name(rest, name, sizeof(name)) &&
           snprintf(out, size, "%s/%s", place, name) < (int)size;
}

static char *load_quietly(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rbe");
    size_t n = 0, cap = 4096;
    char *text = f ? malloc(cap) : NULL;

    while (text != NULL) {
        size_t got = fread(text + n, 1, cap - n, f);
        char *more;
        n += got;
        if (got == 0)
            break;
        if (n < cap)
            continue;
        more = cap < ((size_t)64 << 20) ? realloc(text, cap * 2) : NULL;
        if (more == NULL) {
            free(text);
            text = NULL;
            break;
        }
        text = more;
        cap *= 2;
    }
    if (text != NULL && ferror(f)) { /* a folder, say */
        free(text);
        text = NULL;
    }
    if (f != NULL)
        fclose(f);
    *ret_size = n;
    return text;
}

static int find_remote(const char *uri, const char **ret_text, size_t *ret_size, void *arg)
{
    struct remotes *r = arg;
    const char *spec;
    char path[4096];

    for (size_t i = 0; (spec = args_nth(r->a, "--remote", i)) != NULL; i++) {
        struct document *d;

        if (!remote_path(spec, uri, path, sizeof(path)))
            continue;
        d = malloc(sizeof(*d));
        if (d == NULL)
            return 0;
        d->text = load_quietly(path, ret_size);
        if (d->text == NULL) {
            free(d);
            continue;
        }
        d->next = r->open;
        r->open = d;
        *ret_text = d->text;
        return 1;
    }
    return 0;
}

static void remotes_free(struct remotes *r)
{
    while (r->open != NULL) {
        struct document *next = r->open->next;
        free(r->open->text);
        free(r->open);
        r->open = next;
    }
}

static bool check_remotes(const struct args *a)
{
    const char *spec;

    for (size_t i = 0; (spec = args_nth(a, "--remote", i)) != NULL; i++) {
        const char *equals = strrchr(spec, '=');
        if (equals == NULL || equals == spec || equals[1] == '\0') {
            (void)usage_error(a, "--remote must be URI=FILE or URI=DIR; got \"%s\"", spec);
            return false;
        }
        if (access(equals + 1, R_OK) != 0) {
            (void)usage_error(a, "cannot open %s: %s", equals + 1, strerror(errno));
            return false;
        }
    }
    return true;
}

static wb_schema_options schema_options(const struct args *a, struct remotes *r)
{
    wb_schema_options o = {.draft = args_get(a, "--draft"),
                           .format = args_has(a, "--format"),
                           .remote = find_remote,
                           .arg = r};
    return o;
}

/* ---- check ---- */

static void print_errors(const struct args *a, const char *report, size_t size)
{
    char pointer[64];

    for (size_t i = 0;; i++) {
        char *text;
        size_t n;

        (void)snprintf(pointer, sizeof(pointer), "/errors/%zu/message", i);
        if (wb_json_pointer(report, size, pointer, &text, &n, NULL) != WB_OK)
            return;
        (void)usage_error(a, "%s", text);
        wb_free(text);
    }
}

static int judge(const struct args *a, const wb_schema *schema)
{
    wb_error *error = NULL;
    char *instance, *report;
    size_t size, n;
    int valid;
    wb_rc rc;

    instance = read_file(a, a->words[2], &size);
    if (instance == NULL)
        return EXIT_USAGE;
    rc = wb_schema_check(schema, instance, size, &valid, &report, &n, &error);
    free(instance);
    if (rc != WB_OK)
        return fail(a, a->words[2], error);
    if (a->json)
        (void)put_line(report, n); /* finish_output tells */
    else
        print_errors(a, report, n);
    wb_free(report);
    return valid ? EXIT_OK : EXIT_NEGATIVE;
}

static int check(const struct args *a)
{
    struct remotes remotes = {.a = a};
    wb_schema_options o = schema_options(a, &remotes);
    wb_schema *schema = NULL;
    wb_error *error = NULL;
    char *text;
    size_t size;
    int code;

    if (strcmp(a->words[1], "-") == 0 && strcmp(a->words[2], "-") == 0)
        return usage_error(a, "only one of SCHEMA and INSTANCE can be standard input");
    text = read_file(a, a->words[1], &size);
    if (text == NULL)
        return EXIT_USAGE;
    if (wb_schema_compile(text, size, &o, &schema, &error) == WB_OK)
        code = judge(a, schema);
    else
        code = fail(a, a->words[1], error);
    wb_schema_free(schema);
    remotes_free(&remotes);
    free(text);
    return code;
}

/* ---- run ---- */

static int run_line(const struct args *a, const char *line, size_t size, int *judged)
{
    struct remotes remotes = {.a = a};
    wb_schema_options o = schema_options(a, &remotes);
    wb_error *error = NULL;
    char *out;
    size_t n;
    wb_rc rc = wb_schema_run(line, size, &o, judged, &out, &n, &error);

    remotes_free(&remotes);
    if (rc != WB_OK)
        return fail(a, NULL, error);
    (void)put_line(out, n); /* finish_output tells */
    wb_free(out);
    return flush_output() ? EXIT_OK : reader_gone() ? EXIT_NO_READER : EXIT_INTERNAL;
}

/* Every line is answered; 2 when one of them got no verdict. */
static int run_lines(const struct args *a)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int code = EXIT_OK, bad = 0;

    while (code == EXIT_OK && (n = getline(&line, &cap, stdin)) > 0) {
        int judged = 1;

        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n == 0)
            continue;
        code = run_line(a, line, (size_t)n, &judged);
        bad |= !judged;
    }
    free(line);
    if (code == EXIT_OK && ferror(stdin))
        return usage_error(a, "cannot read standard input: %s", strerror(errno));
    return code == EXIT_OK && bad ? EXIT_USAGE : code;
}

/* ---- lint ---- */

static const char *const columns[] = {"tool=TOOL",       "path=PLACE",          "keyword=KEYWORD",
                                      "refused=REFUSED", "providers=PROVIDERS", "text=FINDING"};

static int lint_file(const struct args *a, const char *name, size_t *refused)
{
    wb_error *error = NULL;
    char *text, *found;
    size_t size, n, here = 0;
    wb_rc rc;
    int code = EXIT_OK;

    text = read_file(a, name, &size);
    if (text == NULL)
        return EXIT_USAGE;
    rc = wb_schema_lint(text, size, args_get(a, "--provider"), &here, &found, &n, &error);
    free(text);
    if (rc != WB_OK)
        return fail(a, name, error);
    if (a->json || strcmp(found, "[]") != 0)
        code = print_table(a, found, n, columns, sizeof(columns) / sizeof(columns[0]));
    else
        note(a, "%s: nothing that providers refuse", name);
    wb_free(found);
    *refused += here;
    return code;
}

static int lint(const struct args *a)
{
    size_t refused = 0;
    int code = EXIT_OK;

    if (a->word_count < 2)
        code = lint_file(a, "-", &refused);
    for (size_t i = 1; code == EXIT_OK && i < a->word_count; i++)
        code = lint_file(a, a->words[i], &refused);
    return code == EXIT_OK && refused > 0 ? EXIT_NEGATIVE : code;
}

static int run(const struct args *a)
{
    const char *verb = a->words[0];
    const char *draft = args_get(a, "--draft");

    if (draft != NULL && strcmp(draft, "2020-12") != 0 && strcmp(draft, "7") != 0)
        return usage_error(a, "--draft must be 2020-12 or 7; got \"%s\"", draft);
    if (!check_remotes(a))
        return EXIT_USAGE;
    if (strcmp(verb, "check") == 0)
        return check(a);
    if (strcmp(verb, "run") == 0)
        return run_lines(a);
    return lint(a);
}

static const struct option_spec options[] = {
    {"--draft", "2020-12|7", "where the schema names none (2020-12)", false, "check run"},
    {"--format", NULL, "\"format\" is checked, too", false, "check run"},
    {"--remote", "URI=FILE|DIR", "what stands behind a URI", true, "check run"},
    {"--provider", "responses|chat|anthropic|gemini|mcp",
     "only what these say, a comma between them", false, "lint"},
    {NULL},
};

static const struct form forms[] = {
    {"check SCHEMA INSTANCE", NULL},
    {"run", "JSON Lines come on standard input"},
    {"lint [FILE…]", NULL},
    {NULL, NULL},
};

const struct command command_schema = {
    "schema",
    "Check values against JSON Schema, and tool definitions for providers.",
    "check SCHEMA INSTANCE | run | lint [FILE…]",
    "`check` exits 0 when the instance is valid, 1 when it is not (the errors on stderr,\n"
    "or with --json on stdout), 2 when the schema is bad. `run` reads JSON Lines\n"
    "{id, draft?, format?, schema, instance} and answers {id, valid, errors}; valid is\n"
    "null, and the exit code 2, where there was no verdict. `lint` says what providers\n"
    "refuse in schemas and tool definitions (exit 1) or do not enforce.\n"
    "Files may be -. Nothing is fetched: --remote gives the document behind a URI, or a\n"
    "folder for all URIs that begin with it.\n"
    "\nexamples:\n"
    "  waybill schema check tool.schema.json input.json --json\n"
    "  waybill schema check s.json i.json --remote https://example.com/schemas/=./schemas\n"
    "  waybill schema lint tools.d/greet.json --provider gemini,anthropic\n",
    options,
    forms,
    run,
};
