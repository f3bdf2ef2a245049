/* SPDX-License-Identifier: Apache-2.0
 * tests/toolbox.h: a runtime with all built-in tools on a throw-away workspace
 * (tree.h), called through the public library; clock and ids always the same.
 * Include after cmocka.h. */
#ifndef WAYBILL_TESTS_TOOLBOX_H
#define WAYBILL_TESTS_TOOLBOX_H

#include "base/limits.h"
#include "json/write.h"
#include "support/results.h"
#include "tree.h"
#include "waybill/waybill.h"

struct toolbox {
    struct tree tree; /* top/work is the workspace, top/home the user's folder */
    struct wbi_arena *arena;
    wb_runtime *runtime;
    uint64_t ids;
    bool real_time; /* clock and ids of the system */
    bool no_ledger;
};

struct toolcall {
    bool ok;
    const char *kind;       /* "" for a success */
    struct wbi_str receipt; /* all in the box's arena */
    const wbi_json *canonical;
    const wbi_json *result; /* of it, NULL for an error */
    const wbi_json *error;
};

static inline int64_t toolbox_ns(void *arg)
{
    (void)arg;
    return 1000000000;
}

static inline int64_t toolbox_ms(void *arg)
{
    (void)arg;
    return 1767225600000; /* 2026-01-01 */
}

static inline void toolbox_ids(void *arg, uint8_t *out, size_t n)
{
    uint64_t *counter = arg;

    for (size_t i = 0; i < n; i++)
        out[i] = i + 8 < n ? 0 : (uint8_t)(*counter >> (8 * (n - 1 - i)));
    (*counter)++;
}

static inline wb_options *toolbox_options(struct toolbox *b)
{
    wb_options *o = wb_options_new();

    assert_non_null(o);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, b->tree.root), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_CONVERSATION, "conv_test"), WB_OK);
    if (b->no_ledger)
        assert_int_equal(wb_options_set(o, WB_OPT_LEDGER, "0"), WB_OK);
    if (!b->real_time) {
        assert_int_equal(wb_options_set_clock(o, toolbox_ns, toolbox_ms, NULL), WB_OK);
        assert_int_equal(wb_options_set_ids(o, toolbox_ids, &b->ids), WB_OK);
    }
    return o;
}

/* The tree only; toolbox_open makes the runtime, once files are in place. */
static inline void toolbox_make(struct toolbox *b)
{
    *b = (struct toolbox){.ids = 1};
    assert_true(tree_make(&b->tree));
    assert_int_equal(mkdir(tree_at(&b->tree, "home"), 0700), 0);
    assert_int_equal(setenv("HOME", tree_at(&b->tree, "home"), 1), 0);
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("XDG_STATE_HOME");
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &b->arena), WB_OK);
}

static inline void toolbox_open(struct toolbox *b)
{
    wb_options *o = toolbox_options(b);
    wb_error *error = NULL;

    if (access(tree_at(&b->tree, "work/waybill.json"), F_OK) == 0)
        assert_int_equal(wb_config_trust(o, NULL), WB_OK);
    if (wb_runtime_new(o, &b->runtime, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
    wb_options_free(o);
}

static inline void toolbox_close(struct toolbox *b)
{
    wb_runtime_free(b->runtime);
    b->runtime = NULL;
}

static inline void toolbox_end(struct toolbox *b)
{
    toolbox_close(b);
    wbi_arena_free(b->arena);
    tree_remove(&b->tree);
}

static inline struct toolcall toolbox_take(struct toolbox *b, wb_result *result)
{
    struct toolcall c = {.ok = wb_result_ok(result) != 0, .kind = wb_result_kind(result)};
    size_t n;
    const char *text = wb_result_view(result, WB_VIEW_RECEIPT, &n);

    assert_non_null(text);
    c.receipt = wbi_arena_str(b->arena, wbi_str_make(text, n));
    text = wb_result_view(result, WB_VIEW_CANONICAL, &n);
    assert_non_null(text);
    if (result_breach(text, n) != NULL)
        fail_msg("%s", result_breach(text, n));
    assert_int_equal(
        wbi_json_read(b->arena, wbi_str_make(text, n), WBI_JSON_STRICT, &c.canonical, NULL), WB_OK);
    c.result = wbi_json_get_as(c.canonical, "result", WBI_JSON_OBJ);
    c.error = wbi_json_get_as(c.canonical, "error", WBI_JSON_OBJ);
    return c;
}

static inline struct toolcall toolbox_call(struct toolbox *b, const char *tool, const char *input)
{
    wb_request *request = wb_request_new(tool);
    wb_result *result = NULL;
    struct toolcall c;

    assert_non_null(request);
    assert_int_equal(wb_request_set(request, WB_FIELD_INPUT, input), WB_OK);
    assert_int_equal(wb_call_run(b->runtime, request, &result), WB_OK);
    wb_request_free(request);
    c = toolbox_take(b, result);
    wb_result_free(result);
    return c;
}

/* The same with a printf-made input; %s is taken as it is. */
__attribute__((format(printf, 3, 4))) static inline struct toolcall
toolbox_callf(struct toolbox *b, const char *tool, const char *fmt, ...)
{
    static char input[262144];
    va_list ap;

    va_start(ap, fmt);
    assert_true((size_t)vsnprintf(input, sizeof(input), fmt, ap) < sizeof(input));
    va_end(ap);
    return toolbox_call(b, tool, input);
}

#endif
