/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_connect.c: `waybill connect`. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* The file's text, *ret NULL when there is none. False, and said, when it cannot be read: what
 * is not known must not be replaced. */
static bool current_text(const struct args *a, const char *path, char **ret)
{
    struct stat st;
    size_t n;

    *ret = NULL;
    if (path == NULL || lstat(path, &st) != 0)
        return true;
    if (S_ISLNK(st.st_mode) && access(path, F_OK) != 0) {
        (void)usage_error(a, "%s is a link to nothing; make the file that it names first", path);
        return false;
    }
    *ret = read_file(a, path, &n);
    if (*ret != NULL && strlen(*ret) != n) {
        (void)usage_error(a, "%s holds a NUL byte and is no text", path);
        free(*ret);
        *ret = NULL;
    }
    return *ret != NULL;
}

static bool says_yes(const struct args *a, const char *path)
{
    char answer[16];

    if (args_has(a, "--yes"))
        return true;
    if (!isatty(STDIN_FILENO))
        return false;
    fprintf(stderr, "write %s? [y/N] ", path);
    return fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static void make_parents(const char *path)
{
    char at[4200];

    (void)snprintf(at, sizeof(at), "%s", path);
    for (char *slash = at + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(at, 0700); /* may exist; opening tells */
        *slash = '/';
    }
}

/* The text in a new file, with the rights of the one it replaces. */
static bool write_new(const char *temp, const char *path, const char *text)
{
    struct stat st;
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 07777 : 0600;
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok;

    if (f == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    ok = fputs(text, f) != EOF && fflush(f) == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    return fclose(f) == 0 && ok;
}

/* Written beside it and renamed, so that nobody reads half a file. What was there
 * stays as FILE.waybill-old; a link stays one. */
static int write_file(const struct args *a, const char *given, const char *text)
{
    char real[4096], temp[4200], old[4200];
    const char *path = realpath(given, real) != NULL ? real : given;
    bool replaces = access(path, F_OK) == 0;

    make_parents(path);
    if ((size_t)snprintf(temp, sizeof(temp), "%s.waybill-new", path) >= sizeof(temp) ||
        (size_t)snprintf(old, sizeof(old), "%s.waybill-old", path) >= sizeof(old))
        return usage_error(a, "the path is too long");
    (void)unlink(old); /* of an earlier time */
    if (!write_new(temp, path, text) || (replaces && link(path, old) != 0) ||
        rename(temp, path) != 0) {
        (void)usage_error(a, "cannot write %s: %s", path, strerror(errno));
        (void)unlink(temp); /* best effort */
        return EXIT_STATE;
    }
    if (replaces)
        note(a, "wrote %s; what was there is in %s", path, old);
    else
        note(a, "wrote %s", path);
    return EXIT_OK;
}

/* Twice: the first time tells which file, the second what it becomes. *known: how the
 * client starts Waybill now, if it does. WB_EIO: said already. */
static wb_rc plan(const struct args *a, wb_runtime *runtime, const char *program, char **path,
                  char **text, char **known, wb_error **error)
{
    wb_rc rc = wb_connect(runtime, a->words[0], program, NULL, path, text, error);
    char *current = NULL;

    if (rc == WB_OK && !current_text(a, *path, &current))
        rc = WB_EIO;
    if (rc != WB_OK || current == NULL)
        return rc;
    wb_free(*path);
    wb_free(*text);
    rc = wb_connect(runtime, a->words[0], program, current, path, text, error);
    if (rc == WB_OK && wb_connect_known(runtime, a->words[0], current, known, NULL) != WB_OK)
        *known = NULL; /* nothing to tell */
    free(current);
    return rc;
}

static int connect_client(const struct args *a, wb_runtime *runtime)
{
    char program[4096] = "waybill";
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    char *path = NULL, *text = NULL, *known = NULL;
    wb_error *error = NULL;
    int code = EXIT_OK;
    wb_rc rc;

    if (n > 0)
        program[n] = '\0';
    rc = plan(a, runtime, program, &path, &text, &known, &error);
    if (rc == WB_EEXISTS) {
        note(a, "%s: %s", wb_error_at(error), wb_error_text(error));
        wb_error_free(error);
        return EXIT_OK;
    }
    if (rc != WB_OK && error != NULL)
        return fail(a, NULL, error);
    if (rc != WB_OK) {
        wb_free(path);
        wb_free(text);
        return EXIT_STATE;
    }
    if (known != NULL)
        note(a, "the client knows another Waybill already: %s", known);
    if (path != NULL)
        fprintf(stderr, "%s would become:\n", path);
    else
        fprintf(stderr, "paste this into the client's configuration:\n");
    (void)put(text, strlen(text)); /* finish_output tells */
    (void)fflush(stdout);
    if (path != NULL && says_yes(a, path))
        code = write_file(a, path, text);
    else if (path != NULL)
        note(a, "nothing was written; %s",
             isatty(STDIN_FILENO) ? "say yes, or give --yes"
                                  : "there is no terminal to ask at, so give --yes");
    wb_free(path);
    wb_free(text);
    wb_free(known);
    return code;
}

static int run(const struct args *a)
{
    wb_runtime *runtime;
    int code;

    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    code = connect_client(a, runtime);
    wb_runtime_free(runtime);
    return code;
}

static const struct option_spec options[] = {
    {"--yes", NULL, "write it without asking"},
    {NULL},
};

static const struct form forms[] = {
    {"CLIENT", "CLIENT is codex, claude, or another for a snippet"},
    {NULL, NULL},
};

const struct command command_connect = {
    "connect",
    "Tell an agent's client to use Waybill.",
    "codex|claude|NAME [--yes]",
    "Shows what the client's configuration would become and writes it after a yes. Codex:\n"
    "~/.codex/config.toml. Claude Code: .mcp.json of the workspace. Any other name gets the\n"
    "snippet to paste: that of VS Code (`vscode`), of Zed (`zed`), or the mcpServers that\n"
    "most have. A file that is changed is kept beside it as FILE.waybill-old. Where another\n"
    "program or workspace stands, that is said, and replaced after a yes. The client\n"
    "starts `waybill serve --root DIR`; --config, --state and --as can be added to its args\n"
    "by hand.\n"
    "\nexamples:\n"
    "  waybill connect codex\n"
    "  waybill connect cursor\n",
    options,
    forms,
    run,
};
