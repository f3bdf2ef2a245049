/* SPDX-License-Identifier: Apache-2.0
 * tests/support/mortal.h: calls in processes of their own that share a state directory,
 * each with a clock of its own, and that may be killed. Include after cmocka.h. */
#ifndef WAYBILL_TESTS_MORTAL_H
#define WAYBILL_TESTS_MORTAL_H

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "waybill/waybill.h"

static char mortal_root[64];

/* What this process's clocks show beside the time there is. */
static struct {
    int64_t mono_ns, wall_ms;
    void (*on_read)(void);
} mortal_clock;

static inline int64_t mortal_read(clockid_t id)
{
    struct timespec t;

    if (mortal_clock.on_read != NULL)
        mortal_clock.on_read();
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t mortal_mono(void *arg)
{
    (void)arg;
    return mortal_read(CLOCK_MONOTONIC) + mortal_clock.mono_ns;
}

static inline int64_t mortal_wall(void *arg)
{
    (void)arg;
    return mortal_read(CLOCK_REALTIME) / 1000000 + mortal_clock.wall_ms;
}

static inline int mortal_remove(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static inline void mortal_config(const char *policies, const char *bindings)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/config.json", mortal_root);
    f = fopen(path, "wbe");
    assert_non_null(f);
    fprintf(f, "{\"policies\":%s%s%s}", policies, bindings ? ",\"bindings\":" : "",
            bindings ? bindings : "");
    assert_int_equal(fclose(f), 0);
}

static inline int mortal_setup(void **state)
{
    char path[128];

    (void)state;
    memset(&mortal_clock, 0, sizeof(mortal_clock));
    snprintf(mortal_root, sizeof(mortal_root), "/tmp/waybill-mortal-XXXXXX");
    if (mkdtemp(mortal_root) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/work", mortal_root);
    mortal_config("{}", NULL);
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("XDG_STATE_HOME");
    return setenv("HOME", mortal_root, 1) | mkdir(path, 0700);
}

static inline int mortal_teardown(void **state)
{
    (void)state;
    return nftw(mortal_root, mortal_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* One byte per execution, durable as any effect in the world. */
static inline void take_effect(void)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/effects", mortal_root);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1)
        _exit(99);
    close(fd);
}

static inline long effects(void)
{
    struct stat st;
    char path[128];

    snprintf(path, sizeof(path), "%s/effects", mortal_root);
    return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

static inline void live(wb_tool_call *call, void *arg)
{
    (void)arg;
    take_effect();
    wb_tool_finish_json(call, "{\"done\":true}", 13);
}

static inline wb_options *mortal_options(void)
{
    wb_options *o = wb_options_new();
    char path[128];

    snprintf(path, sizeof(path), "%s/config.json", mortal_root);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    snprintf(path, sizeof(path), "%s/work", mortal_root);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, path), WB_OK);
    assert_int_equal(wb_options_set_clock(o, mortal_mono, mortal_wall, NULL), WB_OK);
    return o;
}

/* With a tool "t" of that effect, under the policies last written. */
static inline wb_runtime *mortal_open(const char *effect, wb_tool_run_cb run)
{
    wb_options *o = mortal_options();
    wb_runtime *runtime;
    char text[256];

    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    snprintf(text, sizeof(text),
             "{\"name\":\"t\",\"description\":\"For tests.\",\"version\":\"1.0.0\","
             "\"inputSchema\":{\"type\":\"object\"},\"effect\":\"%s\"}",
             effect);
    assert_int_equal(wb_tool_register(runtime, text, NULL, run, NULL, NULL, NULL), WB_OK);
    return runtime;
}

struct mortal_outcome {
    int done;
    char kind[64];
    char text[4096]; /* the Result */
};

static inline void mortal_take(wb_result *result, void *arg)
{
    struct mortal_outcome *o = arg;

    o->done++;
    snprintf(o->kind, sizeof(o->kind), "%s", wb_result_kind(result));
    snprintf(o->text, sizeof(o->text), "%s", wb_result_view(result, WB_VIEW_RESULT, NULL));
}

static inline void mortal_submit(wb_runtime *runtime, const char *key, struct mortal_outcome *o)
{
    wb_request *r = wb_request_new("t");

    memset(o, 0, sizeof(*o));
    assert_int_equal(wb_request_set(r, WB_FIELD_IDEMPOTENCY_KEY, key), WB_OK);
    assert_int_equal(wb_call_submit(runtime, r, mortal_take, o, NULL), WB_OK);
    wb_request_free(r);
}

/* One call in a runtime of its own, to its end. Returns its kind, "" for a success. */
static inline const char *call_once(wb_tool_run_cb run, const char *key, struct mortal_outcome *o)
{
    wb_runtime *runtime = mortal_open("IdempotentWrite", run);

    mortal_submit(runtime, key, o);
    while (o->done == 0)
        (void)wb_runtime_turn(runtime, 1);
    wb_runtime_free(runtime);
    return o->kind;
}

/* A child that ends with its parent, whatever becomes of that. */
static inline pid_t mortal_fork(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* fn in a child, which must be killed in it (or, if it may live, may return). */
static inline bool mortal_killed(void (*fn)(void), bool may_live)
{
    pid_t child = mortal_fork();
    int status;

    if (child == 0) {
        fn();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (may_live && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return false;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return true;
}

#endif
