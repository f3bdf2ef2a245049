/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_serve.c: `waybill serve`. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define HOSTS_MAX 32

static void on_ready(const char *url, void *arg)
{
    (void)arg;
    fprintf(stderr, "listening on %s\n", url);
}

static void on_notice(const char *text, void *arg)
{
    (void)arg;
    fprintf(stderr, "%s\n", text);
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

static int serve(const struct args *a, wb_runtime *runtime, wb_serve_options *o)
{
    const char *auth = args_get(a, "--auth");
    wb_error *error = NULL;
    char *token = NULL;
    int created = 0, code = EXIT_OK;

    if (o->http != NULL && (auth == NULL || strcmp(auth, "token") == 0)) {
        if (wb_serve_token(runtime, args_get(a, "--token-file"), &token, &created, &error) !=
            WB_OK) {
            (void)fail(a, NULL, error);
            return EXIT_STATE;
        }
        if (created)
            fprintf(stderr, "token (shown once, kept in the user's state folder): %s\n", token);
        o->token = token;
    }
    if (wb_serve(runtime, o, &error) != WB_OK)
        code = fail(a, NULL, error);
    wb_free(token);
    return code;
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
    wb_runtime *runtime;
    int code, hangup;

    if (auth != NULL && strcmp(auth, "token") != 0 && strcmp(auth, "none") != 0)
        return usage_error(a, "--auth must be token or none; got \"%s\"", auth);
    if (args_get(a, "--token-file") != NULL &&
        (o.http == NULL || (auth && strcmp(auth, "none") == 0)))
        return usage_error(a, "--token-file is for --http, and not beside --auth none");
    for (size_t i = 0; i < HOSTS_MAX && args_nth(a, "--allow-host", i) != NULL; i++)
        hosts[i] = args_nth(a, "--allow-host", i);
    o.access_log = open_access_log(a);
    if (o.access_log == -2)
        return EXIT_USAGE;
    o.stop = signal_descriptor(SIGTERM, SIGINT);
    hangup = signal_descriptor(SIGHUP, SIGHUP);
    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    reload_on_hangup(a, runtime, hangup);
    if (o.http == NULL && isatty(STDIN_FILENO))
        note(a, "waiting for MCP messages on standard input; clients start this by themselves "
                "(`waybill connect`), and --http ADDR:PORT serves by HTTP");
    code = serve(a, runtime, &o);
    close_runtime(a, runtime);
    return code;
}

static const struct option_spec options[] = {
    {"--http", "ADDR:PORT", false}, {"--auth", "token|none", false}, {"--token-file", "F", false},
    {"--allow-host", "NAME", true}, {"--access-log", "FILE", false}, {NULL, NULL, false},
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
    "printed once at the first start, or the one of --token-file. `--auth none` is for\n"
    "loopback only; Host and Origin are checked always (`--allow-host NAME` adds a name).\n"
    "`--access-log FILE` (`-`: stderr) writes one JSON line a request. SIGTERM answers what\n"
    "is owed and ends; a second one cancels. SIGHUP reads policies and bindings again; files\n"
    "that are wrong change nothing. Tools of MCP servers that cannot be offered are told on\n"
    "stderr, with the reason.\n"
    "\nexamples:\n"
    "  waybill serve\n"
    "  waybill serve --http 127.0.0.1:7717\n",
    options,
    forms,
    run,
};
