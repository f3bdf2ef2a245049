/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_serve.c: `waybill serve`. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define HOSTS_MAX 65 /* one more than are accepted, which is said */

static void on_ready(const char *url, void *arg)
{
    (void)arg;
    fprintf(stderr, "listening on %s\n", url);
}

static void on_notice(const char *text, void *arg)
{
    char *line = strdup(text);

    (void)arg;
    if (line != NULL)
        make_one_line(line);
    fprintf(stderr, "%s\n", line != NULL ? line : "out of memory");
    free(line);
}

/* -1 without one; -2: a message was printed. */
static int open_access_log(const struct args *a)
{
    const char *path = args_get(a, "--access-log");
    int fd;

    if (path == NULL)
        return -1;
    if (strcmp(path, "-") == 0)
        return STDERR_FILENO;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    (void)usage_error(a, "cannot open %s: %s", path, strerror(errno));
    return -2;
}

/* What is served, and what SIGHUP reads again. */
struct serving {
    const struct args *a;
    wb_runtime *runtime;
    char *token; /* of the start; NULL: none is asked for */
};

static wb_rc read_token(const struct serving *s, char **ret, wb_error **reterr)
{
    int created = 0;
    wb_rc rc = wb_serve_token(s->runtime, args_get(s->a, "--token-file"), ret, &created, reterr);

    if (rc == WB_OK && created)
        fprintf(stderr, "token (shown once, kept in the user's state folder): %s\n", *ret);
    return rc;
}

static void renew_token(const struct serving *s)
{
    const char *file = args_get(s->a, "--token-file");
    wb_error *error = NULL;
    char *token = NULL;
    struct stat st;

    if (file != NULL && stat(file, &st) == 0 && !S_ISREG(st.st_mode))
        return; /* a pipe, say: it gave its token once, and reading it again could wait forever */
    if (read_token(s, &token, &error) == WB_OK &&
        wb_serve_set_token(s->runtime, token, &error) == WB_OK)
        note(s->a, "the token was read again; no other is accepted");
    else
        warn(s->a, "the old token stays in force: %s", wb_error_text(error));
    wb_error_free(error);
    wb_free(token);
}

static void on_hangup(const wb_error *error, void *arg)
{
    const struct serving *s = arg;

    say_reloaded(s->a, error);
    if (s->token != NULL)
        renew_token(s);
}

static int serve(struct serving *s, wb_serve_options *o, int hangup)
{
    const char *auth = args_get(s->a, "--auth");
    wb_error *error = NULL;
    int code = EXIT_OK;
    wb_rc rc;

    if (o->http != NULL && (auth == NULL || strcmp(auth, "token") == 0) &&
        read_token(s, &s->token, &error) != WB_OK) {
        (void)fail(s->a, NULL, error);
        return EXIT_STATE;
    }
    o->token = s->token;
    if (hangup >= 0 && wb_runtime_reload_on(s->runtime, hangup, on_hangup, s, &error) != WB_OK) {
        (void)fail(s->a, "SIGHUP", error);
        error = NULL;
    }
    rc = wb_serve(s->runtime, o, &error);
    if (rc != WB_OK)
        code = fail(s->a, NULL, error);
    return o->http == NULL && rc == WB_EIO ? EXIT_NEGATIVE : code; /* as `waybill dispatch` */
}

static int run(const struct args *a)
{
    const char *hosts[HOSTS_MAX + 1] = {NULL};
    const char *auth = args_get(a, "--auth");
    wb_serve_options o = {.http = args_get(a, "--http"),
                          .in = STDIN_FILENO,
                          .out = STDOUT_FILENO,
                          .hosts = hosts,
                          .on_ready = on_ready,
                          .on_notice = a->quiet ? NULL : on_notice};
    struct serving s = {.a = a};
    int code, hangup;

    if (auth != NULL && strcmp(auth, "token") != 0 && strcmp(auth, "none") != 0)
        return usage_error(a, "--auth must be token or none; got \"%s\"", auth);
    if (args_get(a, "--token-file") != NULL &&
        (o.http == NULL || (auth && strcmp(auth, "none") == 0)))
        return usage_error(a, "--token-file is for --http, and not beside --auth none");
    if (o.http == NULL &&
        (args_get(a, "--access-log") != NULL || args_nth(a, "--allow-host", 0) != NULL))
        return usage_error(a, "--access-log and --allow-host are for --http");
    for (size_t i = 0; i < HOSTS_MAX && args_nth(a, "--allow-host", i) != NULL; i++)
        hosts[i] = args_nth(a, "--allow-host", i);
    o.access_log = open_access_log(a);
    if (o.access_log == -2)
        return EXIT_USAGE;
    o.stop = signal_descriptor(SIGTERM, SIGINT);
    hangup = signal_descriptor(SIGHUP, SIGHUP);
    s.runtime = open_runtime(a, &code);
    if (s.runtime == NULL)
        return code;
    if (o.http == NULL && isatty(STDIN_FILENO))
        note(a, "waiting for MCP messages on standard input; clients start this by themselves "
                "(`waybill connect`), and --http ADDR:PORT serves by HTTP");
    code = serve(&s, &o, hangup);
    close_runtime(a, s.runtime);
    wb_free(s.token);
    return code;
}

static const struct option_spec options[] = {
    {"--http", "ADDR:PORT", "MCP over HTTP at /mcp; port 0 takes a free one"},
    {"--auth", "token|none", "none: on loopback only, no token is asked for"},
    {"--token-file", "FILE", "the bearer token, instead of the user's own"},
    {"--allow-host", "NAME", "a Host that may be named, too, with any port", true},
    {"--access-log", "FILE", "a JSON line a request; - is standard error"},
    {NULL},
};

static const struct form forms[] = {
    {"", NULL},
    {NULL, NULL},
};

const struct command command_serve = {
    "serve",
    "Serve the tools as an MCP server, on stdio or HTTP.",
    "[--http ADDR:PORT] [--auth token|none] [--token-file F]",
    "Without --http one client is served on standard input and output. With it, MCP is at\n"
    "/mcp, health at /healthz, Prometheus metrics at /metrics; `listening on URL` on stderr\n"
    "says when it is ready. A bearer token is asked for: the user's own, made (0600) and\n"
    "printed once at the first start, or the one of --token-file. Host and Origin are checked\n"
    "always: loopback, ADDR and each --allow-host are served. SIGTERM answers what is owed and\n"
    "ends; a second one cancels. SIGHUP reads policies, bindings and the token again; files\n"
    "that are wrong change nothing. Tools of MCP servers that cannot be offered are told on\n"
    "stderr, with the reason. Exit 1 when messages on standard input or output were lost; a\n"
    "client that goes is no error.\n"
    "\nexamples:\n"
    "  waybill serve\n"
    "  waybill serve --http 127.0.0.1:7717\n",
    options,
    forms,
    run,
};
