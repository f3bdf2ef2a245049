/* SPDX-License-Identifier: Apache-2.0
 * tests/support/guarded.c: see guarded.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guarded.h"
#include "json/pointer.h"
#include "json/write.h"
#include "store/store.h"

static int64_t mono(void *arg)
{
    const struct guarded *g = arg;
    struct timespec now;

    if (!g->real_time)
        return g->mono_ns;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return g->mono_ns + (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t wall(void *arg)
{
    return ((const struct guarded *)arg)->wall_ms;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static void write_config(const struct guarded *g, const char *path, const char *policies,
                         const char *bindings)
{
    FILE *f = fopen(path, "wbe");

    (void)g;
    assert_non_null(f);
    fprintf(f, "{\"policies\": %s, \"bindings\": %s}", policies ? policies : "{}",
            bindings ? bindings : "[]");
    assert_int_equal(fclose(f), 0);
}

void guarded_open(struct guarded *g, const char *policies, const char *bindings, bool ledger)
{
    wb_options *o = wb_options_new();
    wb_error *error = NULL;
    char path[128];

    *g = (struct guarded){.mono_ns = 1000000000, .wall_ms = 1763187480000};
    assert_non_null(o);
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &g->arena), WB_OK);
    snprintf(g->root, sizeof(g->root), "/tmp/waybill-guarded-XXXXXX");
    assert_non_null(mkdtemp(g->root));
    assert_int_equal(setenv("HOME", g->root, 1), 0);
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("XDG_STATE_HOME");
    snprintf(path, sizeof(path), "%s/work", g->root);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, path), WB_OK);
    snprintf(path, sizeof(path), "%s/config.json", g->root);
    write_config(g, path, policies, bindings);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_LEDGER, ledger ? "1" : "0"), WB_OK);
    snprintf(path, sizeof(path), "%s/events.jsonl", g->root);
    assert_int_equal(wb_options_set(o, WB_OPT_EVENTS, path), WB_OK);
    assert_int_equal(wb_options_set_clock(o, mono, wall, g), WB_OK);
    if (wb_runtime_new(o, &g->runtime, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
    wb_options_free(o);
    if (ledger) /* now, not in the time of the first call */
        assert_int_equal(wbi_runtime_open_ledger(g->runtime->rt, NULL), WB_OK);
}

void guarded_close(struct guarded *g)
{
    wb_runtime_free(g->runtime);
    wbi_arena_free(g->arena);
    (void)nftw(g->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void guarded_pass_ms(struct guarded *g, int64_t ms)
{
    g->mono_ns += ms * 1000000;
    g->wall_ms += ms;
}

/* ---- tools ---- */

static void finish_well(wb_tool_call *call)
{
    static const char out[] = "{\"done\":true}";

    wb_tool_finish_json(call, out, sizeof(out) - 1);
}

static void run(wb_tool_call *call, void *arg)
{
    struct scripted *t = arg;
    int i = 0;

    while (i < t->runs && i < 7 && t->script[i + 1] != NULL)
        i++;
    t->runs++;
    guarded_pass_ms(t->world, t->takes_ms);
    if (strcmp(t->script[i], "ok") == 0) {
        finish_well(call);
    } else if (strcmp(t->script[i], "fail") == 0) {
        char text[64];
        snprintf(text, sizeof(text), "no answer in run %d", t->runs);
        wb_tool_fail(call, "upstream_unavailable", text, NULL);
    } else if (strcmp(t->script[i], "broken") == 0) {
        wb_tool_fail(call, "tool_execution_failed", "it cannot", NULL);
    } else if (strcmp(t->script[i], "odd") == 0) {
        wb_tool_finish_json(call, "{\"done\":7}", 10);
    } else if (strcmp(t->script[i], "leak") == 0) {
        wb_tool_fail(call, "upstream_unavailable",
                     "refused: Bearer ghp_0123456789abcdefghijklmnopqrstuvwxyz", NULL);
    } else if (strcmp(t->script[i], "partials") == 0) {
        wb_tool_partial(call, "{\"n\":1,\"token\":\"hidden\"}", 24);
        wb_tool_partial(call, "{\"n\":2}", 7);
        wb_tool_fail(call, "upstream_unavailable", "cut off", NULL);
    } else {
        assert_true(t->held_n < HELD_MAX);
        t->held[t->held_n++] = call;
    }
}

static void cancel(wb_tool_call *call, void *arg)
{
    struct scripted *t = arg;

    for (int i = 0; i < t->held_n; i++) {
        if (t->held[i] != call)
            continue;
        if (strcmp(t->script[0], "deaf") == 0)
            return;
        t->held[i] = NULL;
        if (strcmp(t->script[0], "late") == 0)
            finish_well(call);
        else
            wb_tool_fail(call, "cancelled", "stopped on request", NULL);
    }
}

struct scripted *guarded_tool(struct guarded *g, const char *name, const char *effect,
                              const char *more, const char *first, const char *second)
{
    struct scripted *t = &g->tools[g->tools_n++];
    const char *version = strchr(name, '@');
    wb_error *error = NULL;
    char text[1024];

    *t = (struct scripted){.world = g, .script = {first, second}};
    snprintf(text, sizeof(text),
             "{\"name\":\"%.*s\",\"description\":\"For tests.\",\"version\":\"%s\","
             "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}},"
             "\"effect\":\"%s\",\"parallel\":true%s}",
             (int)strcspn(name, "@"), name, version ? version + 1 : "1.0.0", effect,
             more ? more : "");
    if (wb_tool_register(g->runtime, text, NULL, run, cancel, t, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
    return t;
}

void scripted_finish(struct scripted *t, int i)
{
    wb_tool_call *call = t->held[i];

    assert_non_null(call);
    t->held[i] = NULL;
    finish_well(call);
}

/* ---- calls ---- */

static void on_done(wb_result *result, void *arg)
{
    struct asked *a = arg;
    size_t n;
    const char *text = wb_result_view(result, WB_VIEW_RESULT, &n);

    a->done++;
    assert_non_null(text);
    snprintf(a->kind, sizeof(a->kind), "%s", wb_result_kind(result));
    assert_int_equal(
        wbi_json_read(a->world->arena, wbi_str_make(text, n), WBI_JSON_STRICT, &a->result, NULL),
        WB_OK);
    if (a->world->ended_n < ENDED_MAX) {
        struct ended *e = &a->world->ended[a->world->ended_n];
        snprintf(e->call, sizeof(e->call), "%s", wb_result_call(result));
        snprintf(e->kind, sizeof(e->kind), "%s", a->kind);
        e->result = a->result;
    }
    a->world->ended_n++;
}

static void on_frame(const char *frame, size_t size, void *arg)
{
    struct asked *a = arg;
    size_t used = strlen(a->frames);

    assert_int_equal(a->done, 0); /* frames come before the result */
    snprintf(a->frames + used, sizeof(a->frames) - used, "%.*s\n", (int)size, frame);
}

static void submit(struct guarded *g, struct asked *a, const char *tool, va_list ap)
{
    int field;

    *a = (struct asked){.world = g};
    a->request = wb_request_new(tool);
    assert_non_null(a->request);
    while ((field = va_arg(ap, int)) != 0) {
        const char *value = va_arg(ap, const char *);
        if (field == WB_FIELD_HEARTBEAT_MS)
            assert_int_equal(wb_request_set_frames(a->request, on_frame, a), WB_OK);
        assert_int_equal(wb_request_set(a->request, (wb_field)field, value), WB_OK);
    }
    assert_int_equal(wb_call_submit(g->runtime, a->request, on_done, a, &a->id), WB_OK);
    wb_request_free(a->request);
}

void ask(struct guarded *g, struct asked *a, const char *tool, ...)
{
    va_list ap;

    va_start(ap, tool);
    submit(g, a, tool, ap);
    va_end(ap);
}

void wait_for(struct asked *a)
{
    while (a->done == 0)
        (void)wb_runtime_turn(a->world->runtime, 1);
    assert_int_equal(a->done, 1);
}

const wbi_json *answer(struct guarded *g, struct asked *a, const char *tool, ...)
{
    va_list ap;

    va_start(ap, tool);
    submit(g, a, tool, ap);
    va_end(ap);
    wait_for(a);
    return a->result;
}

static wb_rc nothing(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    (void)op, (void)tx, (void)err;
    return WB_OK;
}

/* What waits for the disk goes on behind an operation of our own, which comes last. */
void settle_down(struct guarded *g)
{
    for (int i = 0; i < 4; i++) {
        struct wbi_op op = {.apply = nothing};

        for (int turn = 0; turn < 4; turn++)
            (void)wb_runtime_turn(g->runtime, 0);
        if (g->runtime->rt->store != NULL)
            assert_int_equal(wbi_store_run(g->runtime->rt->store, &op, NULL), WB_OK);
    }
}

const char *at(const struct asked *a, const char *pointer)
{
    struct wbi_buf text;
    const wbi_json *v;

    if (wbi_json_pointer(a->result, wbi_str_z(pointer), &v, NULL) != WB_OK)
        return "";
    wbi_buf_init_arena(&text, a->world->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, v);
    wbi_buf_addc(&text, '\0');
    assert_int_equal(wbi_buf_rc(&text), WB_OK);
    return text.p;
}

int64_t number_at(const struct asked *a, const char *pointer)
{
    const wbi_json *v;
    int64_t n;

    assert_int_equal(wbi_json_pointer(a->result, wbi_str_z(pointer), &v, NULL), WB_OK);
    assert_true(wbi_json_i64(v, &n));
    return n;
}

const char *deadline_in(const struct guarded *g, int64_t ms)
{
    static char text[WBI_RFC3339_SIZE];

    wbi_time_format(g->wall_ms + ms, text);
    return text;
}
