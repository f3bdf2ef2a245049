/* SPDX-License-Identifier: Apache-2.0
 * tests/workspace.h: a trusted workspace with tools, a user's folder of its own, and
 * the binary run in it. Include after cmocka.h. */
#ifndef WAYBILL_TESTS_WORKSPACE_H
#define WAYBILL_TESTS_WORKSPACE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct workspace {
    char base[64], root[96], state[128], user[128];
    char *out, *err; /* of the last run, NUL-terminated */
    size_t out_n;
};

static inline int ws_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void ws_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline void ws_tool(struct workspace *w, const char *name, const char *effect,
                           const char *command)
{
    char path[200], text[600];

    snprintf(path, sizeof(path), "%s/tools.d/%s.json", w->root, name);
    snprintf(text, sizeof(text),
             "{\"name\":\"%s\",\"description\":\"a tool\",\"effect\":\"%s\",\"parallel\":true,"
             "\"inputSchema\":{\"type\":\"object\"},\"command\":%s}",
             name, effect, command);
    ws_write(path, text);
}

static inline char *ws_slurp(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0;
    long size;

    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    rewind(f);
    text = malloc((size_t)size + 1);
    assert_non_null(text);
    n = fread(text, 1, (size_t)size, f);
    text[n] = '\0';
    fclose(f);
    if (ret_n != NULL)
        *ret_n = n;
    return text;
}

/* waybill ARGS in the workspace; its exit code, what it wrote in w->out and w->err. */
__attribute__((format(printf, 2, 3))) static inline int ws_run(struct workspace *w, const char *fmt,
                                                               ...)
{
    char args[1000], command[1600], path[160];
    va_list list;
    int status;

    va_start(list, fmt);
    vsnprintf(args, sizeof(args), fmt, list);
    va_end(list);
    snprintf(command, sizeof(command), "cd %s && \"$WAYBILL\" %s >%s/out 2>%s/err", w->root, args,
             w->base, w->base);
    status = system(command);
    free(w->out);
    free(w->err);
    snprintf(path, sizeof(path), "%s/out", w->base);
    w->out = ws_slurp(path, &w->out_n);
    snprintf(path, sizeof(path), "%s/err", w->base);
    w->err = ws_slurp(path, NULL);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static inline void ws_init(struct workspace *w)
{
    char path[200];

    *w = (struct workspace){.out = NULL};
    if (getenv("WAYBILL") == NULL)
        setenv("WAYBILL", "build/dev/waybill", 1);
    snprintf(w->base, sizeof(w->base), "/tmp/waybill-ws-XXXXXX");
    assert_non_null(mkdtemp(w->base));
    snprintf(w->root, sizeof(w->root), "%s/root", w->base);
    snprintf(w->state, sizeof(w->state), "%s/.waybill", w->root);
    snprintf(w->user, sizeof(w->user), "%s/home/state/waybill", w->base);
    snprintf(path, sizeof(path), "%s/home", w->base);
    assert_int_equal(mkdir(w->root, 0700), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    setenv("HOME", path, 1);
    snprintf(path, sizeof(path), "%s/home/state", w->base);
    setenv("XDG_STATE_HOME", path, 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("WAYBILL_ROOT");
    unsetenv("WAYBILL_STATE");
    snprintf(path, sizeof(path), "%s/tools.d", w->root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/waybill.json", w->root);
    ws_write(path, "{}\n");
    ws_tool(w, "echo", "ExternalSideEffects", "[\"cat\"]");
    ws_tool(w, "pure", "Pure", "[\"cat\"]");
    ws_tool(w, "slow", "ExternalSideEffects", "[\"sleep\",\"30\"]");
    ws_tool(w, "broken", "ExternalSideEffects", "[\"false\"]");
    if (ws_run(w, "config trust") != 0)
        fail_msg("config trust: %s", w->err);
}

static inline void ws_fini(struct workspace *w)
{
    (void)nftw(w->base, ws_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(w->out);
    free(w->err);
}

static inline bool ws_has(const char *text, const char *needle)
{
    return strstr(text, needle) != NULL;
}

/* What the last run gave: its exit code, and a text that it wrote (NULL: any). */
static inline void ws_expect(struct workspace *w, int code, int got, const char *needle)
{
    if (code != got || (needle != NULL && !ws_has(w->out, needle) && !ws_has(w->err, needle)))
        fail_msg("exit %d, expected %d with \"%s\"\nout: %s\nerr: %s", got, code,
                 needle ? needle : "", w->out, w->err);
}

#endif
