/* SPDX-License-Identifier: Apache-2.0
 * cli/tools_files.c: writing and checking descriptors. What is written is what a
 * runtime accepts: it is checked before it gets its name. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tools_files.h"

/* The workspace's root as every command finds it; free() it. */
static char *find_root(const struct args *a, int *ret_exit)
{
    wb_options *o = runtime_options(a);
    wb_error *error = NULL;
    char *root = NULL, *copy = NULL;
    size_t n;

    *ret_exit = EXIT_INTERNAL;
    if (o == NULL)
        return NULL;
    if (wb_config_root(o, &root, &n, &error) != WB_OK) {
        *ret_exit = fail(a, NULL, error);
    } else {
        copy = strdup(root);
        wb_free(root);
    }
    wb_options_free(o);
    return copy;
}

/* A JSON string. */
static void write_string(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, out);
    }
    fputc('"', out);
}

/* ---- check ---- */

struct checking {
    const struct args *a;
    const char *root;
    size_t errors;
    size_t files;
    int code;
};

/* "FILE:LINE:COLUMN: severity: message" for every finding. */
static void print_findings(const char *file, const char *json, size_t size)
{
    char *line;

    for (size_t i = 0;; i++) {
        static const char *const members[] = {"line", "column",  "severity",
                                              "tool", "message", "providers"};
        char *value[6] = {NULL}, pointer[64];
        size_t n;

        for (size_t m = 0; m < 6; m++) {
            (void)snprintf(pointer, sizeof(pointer), "/%zu/%s", i, members[m]);
            if (wb_json_pointer(json, size, pointer, &value[m], &n, NULL) != WB_OK)
                value[m] = NULL;
        }
        if (value[4] == NULL)
            return;
        if (asprintf(&line, "%s:%s:%s: %s: %s%s%s%s%s", file, value[0], value[1], value[2],
                     value[3] ? value[3] : "", value[3] ? ": " : "", value[4], value[5] ? " " : "",
                     value[5] ? value[5] : "") >= 0) {
            make_one_line(line);
            (void)put_line(line, strlen(line)); /* finish_output tells */
            free(line);
        }
        for (size_t m = 0; m < 6; m++)
            wb_free(value[m]);
    }
}

/* The name of a file as text: it may be any bytes. */
static void write_file_name(const char *name)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    if (out == NULL)
        return;
    write_string(out, name);
    if (fclose(out) == 0 && wb_json_check(text, n, NULL) != WB_OK)
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)text[i] >= 0x80)
                text[i] = '?';
    (void)put(text, n); /* finish_output tells */
    free(text);
}

static void check_file(struct checking *c, const char *path, const char *shown)
{
    wb_error *error = NULL;
    size_t size, n, errors = 0;
    char *text = read_file(c->a, path, &size), *found;

    if (text == NULL) {
        c->code = EXIT_USAGE;
        return;
    }
    c->files++;
    if (wb_tools_check(text, size, c->root, &errors, &found, &n, &error) != WB_OK) {
        c->code = fail(c->a, shown, error);
    } else if (c->a->json) {
        printf("%s{\"file\":", c->files > 1 ? "," : "");
        write_file_name(shown);
        printf(",\"findings\":");
        (void)put(found, n); /* finish_output tells */
        printf("}");
        wb_free(found);
    } else {
        print_findings(shown, found, n);
        wb_free(found);
    }
    c->errors += errors;
    free(text);
}

static int is_json(const struct dirent *e)
{
    size_t n = strlen(e->d_name);

    return e->d_name[0] != '.' && n > 5 && strcmp(e->d_name + n - 5, ".json") == 0;
}

/* Neither a link nor a pipe that nobody writes to: a runtime takes none of them. */
static bool is_plain(struct checking *c, const char *path, const char *shown)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        return true;
    c->code = usage_error(c->a, "%s is no regular file", shown);
    return false;
}

static void check_folder(struct checking *c)
{
    char path[4096], shown[300];
    struct dirent **list;
    int n;

    (void)snprintf(path, sizeof(path), "%s/tools.d", c->root);
    n = scandir(path, &list, is_json, alphasort);
    if (n < 0)
        return; /* no folder: nothing to check */
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof(path), "%s/tools.d/%s", c->root, list[i]->d_name);
        (void)snprintf(shown, sizeof(shown), "tools.d/%s", list[i]->d_name);
        if (c->code == EXIT_OK && is_plain(c, path, shown))
            check_file(c, path, shown);
        free(list[i]);
    }
    free(list);
}

int tools_check(const struct args *a)
{
    struct checking c = {.a = a};
    char *root = find_root(a, &c.code);

    if (root == NULL)
        return c.code;
    c.code = EXIT_OK;
    c.root = root;
    if (a->json)
        printf("[");
    if (a->word_count < 2)
        check_folder(&c);
    for (size_t i = 1; c.code == EXIT_OK && i < a->word_count; i++)
        check_file(&c, a->words[i], a->words[i]);
    if (a->json)
        printf("]\n");
    else if (c.code == EXIT_OK && c.errors == 0)
        note(a, "%zu file%s checked, no errors", c.files, c.files == 1 ? "" : "s");
    free(root);
    return c.code == EXIT_OK && c.errors > 0 ? EXIT_NEGATIVE : c.code;
}

/* ---- add ---- */

struct draft {
    const struct args *a;
    char *text;
    size_t size;
    FILE *out;
    int members;
    int code; /* EXIT_OK until something is wrong */
};

static void put_name(struct draft *d, const char *name)
{
    fprintf(d->out, "%s\"%s\":", d->members++ > 0 ? "," : "", name);
}

/* Bytes that are no UTF-8 are refused when it is read back. */
static void put_string(struct draft *d, const char *s)
{
    write_string(d->out, s);
}

static void put_text_option(struct draft *d, const char *option, const char *member)
{
    const char *value = args_get(d->a, option);

    if (value == NULL)
        return;
    put_name(d, member);
    put_string(d, value);
}

/* "@FILE" or the value itself, as JSON or as a string. */
static void put_file_option(struct draft *d, const char *option, const char *member, bool json)
{
    const char *value = args_get(d->a, option);
    wb_error *error = NULL;
    size_t n;
    char *text = value ? read_value(d->a, value, &n) : NULL;

    if (value == NULL)
        return;
    if (text == NULL) {
        d->code = EXIT_USAGE;
        return;
    }
    /* By itself: `{}, "effect": "Pure"` would fit into the draft as it is. */
    if (json && wb_json_check(text, n, &error) != WB_OK)
        d->code = fail(d->a, option, error);
    put_name(d, member);
    if (json)
        fwrite(text, 1, n, d->out);
    else
        put_string(d, text);
    free(text);
}

static void put_list(struct draft *d, const char *option, const char *member)
{
    const char *value = args_get(d->a, option);

    if (value == NULL)
        return;
    put_name(d, member);
    fputc('[', d->out);
    for (size_t i = 0; (value = args_nth(d->a, option, i)) != NULL; i++) {
        fputs(i > 0 ? "," : "", d->out);
        put_string(d, value);
    }
    fputc(']', d->out);
}

static void put_number(struct draft *d, const char *option, const char *member, long long high)
{
    long long v = 0;

    if (!args_number(d->a, option, 1, high, &v))
        d->code = EXIT_USAGE;
    if (v == 0)
        return;
    put_name(d, member);
    fprintf(d->out, "%lld", v);
}

static void put_env(struct draft *d)
{
    const char *value = args_get(d->a, "--env");

    if (value == NULL)
        return;
    put_name(d, "env");
    fputc('{', d->out);
    for (size_t i = 0; (value = args_nth(d->a, "--env", i)) != NULL; i++) {
        char *pair = strdup(value), *equals = pair ? strchr(pair, '=') : NULL;

        if (equals == NULL || equals == pair) {
            d->code = usage_error(d->a, "--env must be NAME=VALUE; got \"%s\"", value);
            free(pair);
            break;
        }
        *equals = '\0';
        fputs(i > 0 ? "," : "", d->out);
        put_string(d, pair);
        fputc(':', d->out);
        put_string(d, equals + 1);
        free(pair);
    }
    fputc('}', d->out);
}

static void put_command(struct draft *d)
{
    if (d->a->rest_count == 0) {
        put_list(d, "--command", "command");
        return;
    }
    put_name(d, "command");
    fputc('[', d->out);
    for (size_t i = 0; i < d->a->rest_count; i++) {
        fputs(i > 0 ? "," : "", d->out);
        put_string(d, d->a->rest[i]);
    }
    fputc(']', d->out);
}

static bool write_draft(struct draft *d)
{
    d->out = open_memstream(&d->text, &d->size);
    if (d->out == NULL)
        return false;
    fputc('{', d->out);
    put_name(d, "name");
    put_string(d, d->a->words[1]);
    put_text_option(d, "--title", "title");
    put_text_option(d, "--description", "description");
    put_text_option(d, "--tool-version", "version");
    put_text_option(d, "--effect", "effect");
    if (args_has(d->a, "--parallel")) {
        put_name(d, "parallel");
        fputs("true", d->out);
    }
    put_number(d, "--timeout-ms", "timeoutMs", 86400000);
    put_number(d, "--budget-tokens", "budgetTokens", 64000);
    put_text_option(d, "--input-kind", "inputKind");
    put_file_option(d, "--grammar", "grammar", /* json= */ false);
    put_list(d, "--tag", "tags");
    put_file_option(d, "--input-schema", "inputSchema", /* json= */ true);
    put_file_option(d, "--output-schema", "outputSchema", /* json= */ true);
    put_command(d);
    put_env(d);
    put_text_option(d, "--workdir", "workdir");
    put_text_option(d, "--output", "output");
    fputc('}', d->out);
    return fclose(d->out) == 0;
}

/* Indented, and only if a runtime would take it; NULL: a message was printed. */
static char *finish_draft(struct draft *d, const char *root, size_t *ret_size)
{
    wb_error *error = NULL;
    char *found, *pretty;
    size_t n, errors = 0;

    if (d->code != EXIT_OK)
        return NULL;
    if (wb_tools_check(d->text, d->size, root, &errors, &found, &n, &error) != WB_OK) {
        d->code = fail(d->a, NULL, error);
        return NULL;
    }
    for (size_t i = 0; errors > 0; i++) {
        char pointer[64], *severity = NULL, *message = NULL;
        bool is_error, more;

        (void)snprintf(pointer, sizeof(pointer), "/%zu/severity", i);
        more = wb_json_pointer(found, n, pointer, &severity, NULL, NULL) == WB_OK;
        is_error = more && strcmp(severity, "error") == 0;
        (void)snprintf(pointer, sizeof(pointer), "/%zu/message", i);
        if (is_error && wb_json_pointer(found, n, pointer, &message, NULL, NULL) == WB_OK)
            d->code = usage_error(d->a, "%s", message);
        wb_free(severity);
        wb_free(message);
        if (!more || is_error)
            break;
    }
    wb_free(found);
    if (d->code != EXIT_OK)
        return NULL;
    if (wb_json_pretty(d->text, d->size, &pretty, ret_size, &error) == WB_OK)
        return pretty;
    d->code = fail(d->a, NULL, error);
    return NULL;
}

/* A new file, or with --force one that takes the place of the old. */
static int write_file(const struct args *a, const char *path, const char *text, size_t size)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_TRUNC;
    int fd = open(path, flags | (args_has(a, "--force") ? 0 : O_EXCL), 0644);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok;

    if (fd < 0 && errno == EEXIST) {
        (void)usage_error(a, "%s exists; --force replaces it", path);
        return EXIT_NEGATIVE;
    }
    ok = f != NULL && fwrite(text, 1, size, f) == size && fputc('\n', f) != EOF;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    if (ok)
        return EXIT_OK;
    (void)usage_error(a, "cannot write %s: %s", path, strerror(errno));
    return EXIT_STATE;
}

/* The name as a file: what is no letter, digit, '_', '-' or '.' becomes '_'. */
static bool file_name(const char *name, char *out, size_t size)
{
    size_t n = strlen(name);

    if (n == 0 || n + 6 > size)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || (c == '.' && i > 0);
        out[i] = fine ? c : '_';
    }
    memcpy(out + n, ".json", 6);
    return true;
}

static int place(const struct args *a, const char *root, const char *text, size_t size)
{
    char path[4096], name[256];
    int code;

    if (!file_name(a->words[1], name, sizeof(name)))
        return usage_error(a, "a name has 1 to 128 characters");
    (void)snprintf(path, sizeof(path), "%s/tools.d", root);
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        (void)usage_error(a, "cannot make %s: %s", path, strerror(errno));
        return EXIT_STATE;
    }
    (void)snprintf(path, sizeof(path), "%s/tools.d/%s", root, name);
    code = write_file(a, path, text, size);
    if (code == EXIT_OK)
        note(a, "tools.d/%s written; `waybill config trust` lets it count", name);
    return code;
}

int tools_add(const struct args *a)
{
    struct draft d = {.a = a};
    char *root, *text;
    size_t size;
    int code;

    if (a->rest_count == 0 && !args_has(a, "--command"))
        return usage_error(a, "say what it runs: --command PROGRAM, or -- PROGRAM ARG…");
    if (a->rest_count > 0 && args_has(a, "--command"))
        return usage_error(a, "say once what it runs: by --command, or behind --");
    root = find_root(a, &code);
    if (root == NULL)
        return code;
    if (write_draft(&d)) {
        text = finish_draft(&d, root, &size);
        code = text ? place(a, root, text, size) : d.code;
        wb_free(text);
    } else {
        code = EXIT_INTERNAL;
    }
    free(d.text);
    free(root);
    return code;
}
