/* SPDX-License-Identifier: Apache-2.0
 * tests/compact_recorded_test.c: C11 over conversations recorded with the real tools,
 * for every provider: protected members on every rung, monotone rungs, legality,
 * determinism, prefix stability. The exact token count is held by
 * tests/compact_tokens_test.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/limits.h"
#include "json/json.h"
#include "json/write.h"
#include "waybill/waybill.h"

/* What a model might do while it looks for a bug. */
static const struct {
    const char *name, *input;
} steps[] = {
    {"WriteFile", "{\"path\":\"a.txt\",\"content\":\"one\\ntwo\\nthree\\n\",\"mode\":\"create\"}"},
    {"ExecCommand", "{\"cmd\":\"seq 1 3000 | sed 's/^/line /'; echo warning: W1 >&2\"}"},
    {"ReadFile", "{\"path\":\"a.txt\"}"},
    {"ReadFile", "{\"path\":\"nowhere.txt\"}"},
    {"ExecCommand", "{\"cmd\":\"echo FAILED: the one line; seq 1 400; exit 3\"}"},
    {"NoSuchTool", "{}"},
    {"ApplyPatch",
     "{\"patch\":\"*** Begin Patch\\n*** Update File: a.txt\\n@@\\n one\\n-two\\n+2\\n "
     "three\\n*** End Patch\\n\"}"},
    {"ReadFile", "{\"path\":\"a.txt\"}"},
    {"ReadFile", "{\"path\":\"a.txt\"}"},
    {"ListFiles", "{}"},
    {"SearchFiles", "{\"pattern\":\"three\"}"},
    {"ReadFile", "{\"path\":7}"},
    {"ExecCommandBatch", "{\"items\":[{\"cmd\":\"echo first\"},{\"cmd\":\"seq 1 500; exit 2\"}]}"},
    {"CreateWorkItem", "{\"objective\":\"find the bug\"}"},
    {"ExecCommand", "{\"cmd\":\"seq 1 300\"}"},
    {"ExecCommand", "{\"cmd\":\"seq 1 300\"}"},
    {"ExecCommand", "{\"cmd\":\"head -c 60000 /dev/zero | tr '\\\\0' x\"}"},
    {"TaskList", "{}"},
    {"ReadFile", "{\"path\":\"a.txt\"}"},
    {"ExecCommand", "{\"cmd\":\"echo done\"}"},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))
#define PROVIDERS 4

static const char *const providers[PROVIDERS] = {"responses", "chat", "anthropic", "gemini"};

static struct world {
    char root[64];
    wb_runtime *runtime;
    struct wbi_arena *arena;
    struct wbi_str history[PROVIDERS][STEPS + 1]; /* the first n rounds */
    struct wbi_str canonical[STEPS];
    struct wbi_str line; /* of the router, last */
} w;

static struct wbi_str kept(const char *text, size_t n)
{
    struct wbi_str copy = wbi_arena_str(w.arena, wbi_str_make(text, n));

    assert_non_null(copy.p);
    return copy;
}

static bool has(struct wbi_str text, struct wbi_str part)
{
    return wbi_str_find(text, part) < text.n;
}

/* ---- recording ---- */

static void on_line(const char *line, size_t size, void *arg)
{
    (void)arg;
    w.line = kept(line, size);
    if (line[0] == '[') /* a turn of several items: they follow each other in the history */
        w.line = wbi_str_make(w.line.p + 1, size - 2);
}

/* The item a provider's model sends for step i; in a conversation of its own shape. */
static struct wbi_str call_item(int p, size_t i)
{
    struct wbi_buf quoted;

    wbi_buf_init_arena(&quoted, w.arena, WBI_MIB);
    wbi_json_quote(&quoted, wbi_str_z(steps[i].input));
    switch (p) {
    case 0:
        return wbi_arena_fmt(w.arena,
                             "{\"type\":\"function_call\",\"call_id\":\"r%zu\",\"name\":\"%s\","
                             "\"arguments\":%.*s}",
                             i, steps[i].name, WBI_FMT(wbi_buf_str(&quoted)));
    case 1:
        return wbi_arena_fmt(w.arena,
                             "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
                             "\"c%zu\",\"type\":\"function\",\"function\":{\"name\":\"%s\","
                             "\"arguments\":%.*s}}]}",
                             i, steps[i].name, WBI_FMT(wbi_buf_str(&quoted)));
    case 2:
        return wbi_arena_fmt(w.arena,
                             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
                             "\"a%zu\",\"name\":\"%s\",\"input\":%s}]}",
                             i, steps[i].name, steps[i].input);
    default:
        return wbi_arena_fmt(w.arena,
                             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"g%zu\","
                             "\"name\":\"%s\",\"args\":%s}}]}",
                             i, steps[i].name, steps[i].input);
    }
}

static void record_provider(int p)
{
    wb_dispatch_options options = {.provider = providers[p], .group = 1};
    struct wbi_str history =
        p == 3 ? WBI_LIT("[{\"role\":\"user\",\"parts\":[{\"text\":\"find it\"}]}")
               : WBI_LIT("[{\"role\":\"user\",\"content\":\"find it\"}");
    wb_router *router;

    assert_int_equal(wb_router_new(w.runtime, &options, on_line, NULL, &router, NULL), WB_OK);
    for (size_t i = 0; i < STEPS; i++) {
        struct wbi_str item = call_item(p, i);
        w.history[p][i] = wbi_arena_fmt(w.arena, "%.*s]", WBI_FMT(history));
        w.line = WBI_NONE;
        assert_int_equal(wb_router_line(router, item.p, item.n, NULL), WB_OK);
        while (wb_router_pending(router) > 0)
            (void)wb_runtime_turn(w.runtime, 1);
        assert_non_null(w.line.p);
        history = wbi_arena_fmt(w.arena, "%.*s,%.*s,%.*s", WBI_FMT(history), WBI_FMT(item),
                                WBI_FMT(w.line));
    }
    w.history[p][STEPS] = wbi_arena_fmt(w.arena, "%.*s]", WBI_FMT(history));
    wb_router_free(router);
}

static void read_canonicals(const wb_options *options)
{
    wb_ledger *ledger;
    char id[16], *text;
    size_t size;

    assert_int_equal(wb_ledger_open(options, WB_LEDGER_READ, &ledger, NULL), WB_OK);
    for (size_t i = 0; i < STEPS; i++) {
        (void)snprintf(id, sizeof(id), "r%zu", i);
        assert_int_equal(wb_ledger_show(ledger, id, WB_VIEW_CANONICAL, &text, &size, NULL), WB_OK);
        w.canonical[i] = kept(text, size);
        wb_free(text);
    }
    wb_ledger_free(ledger);
}

static int set_up(void **state)
{
    wb_options *options = wb_options_new();
    char state_dir[80];

    (void)state;
    (void)snprintf(w.root, sizeof(w.root), "/tmp/waybill-recorded-XXXXXX");
    if (mkdtemp(w.root) == NULL || wbi_arena_new((size_t)1024 * WBI_MIB, &w.arena) != WB_OK)
        return -1;
    (void)snprintf(state_dir, sizeof(state_dir), "%s/.state", w.root);
    (void)wb_options_set(options, WB_OPT_ROOT, w.root);
    (void)wb_options_set(options, WB_OPT_STATE, state_dir);
    if (wb_runtime_new(options, &w.runtime, NULL) != WB_OK)
        return -1;
    for (int p = 0; p < PROVIDERS; p++)
        record_provider(p);
    read_canonicals(options);
    wb_options_free(options);
    return 0;
}

static int tear_down(void **state)
{
    char line[100];

    (void)state;
    wb_runtime_free(w.runtime);
    wbi_arena_free(w.arena);
    (void)snprintf(line, sizeof(line), "rm -rf %s", w.root);
    return system(line); /* NOLINT: a path of ours */
}

/* ---- one result ---- */

static const wbi_json *parsed(struct wbi_str text)
{
    const wbi_json *v = NULL;

    assert_int_equal(wbi_json_read(w.arena, text, WBI_JSON_STRICT, &v, NULL), WB_OK);
    return v;
}

static void same_member(const wbi_json *a, const wbi_json *b, const char *name)
{
    const wbi_json *x = wbi_json_get(a, name), *y = wbi_json_get(b, name);

    assert_true((x == NULL) == (y == NULL));
    assert_true(x == NULL || wbi_json_equal(x, y));
}

/* Every id, handle and artifact path that is a string anywhere in full. */
static void handles_are_in(const wbi_json *full, struct wbi_str small)
{
    const wbi_json *end = wbi_json_skip(full);

    for (const wbi_json *v = full + 1; v < end; v++) {
        struct wbi_str name = wbi_json_str(v);
        if (name.n > 3 && memcmp(name.p + name.n - 3, "_id", 3) == 0 && v + 1 < end &&
            wbi_json_is(v + 1, WBI_JSON_STR))
            assert_true(has(small, wbi_json_str(v + 1)));
    }
    WBI_JSON_EACH (wbi_json_get(wbi_json_get(full, "result"), "artifacts"), a)
        assert_true(has(small, wbi_json_get_str(a, "path")));
}

static void test_every_rung_keeps_what_is_protected(void **state)
{
    static const char *const always[] = {"tool_name", "status", "summary_text"};
    static const char *const of_errors[] = {"kind", "message", "recovery_hint", "retryable"};

    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        const wbi_json *full = parsed(w.canonical[i]);
        size_t before = w.canonical[i].n;
        for (int rung = 0; rung <= 3; rung++) {
            const wbi_json *small;
            char *text;
            size_t size;
            assert_int_equal(
                wb_compact_result(w.canonical[i].p, w.canonical[i].n, rung, &text, &size, NULL),
                WB_OK);
            assert_true(size <= before);
            before = size;
            small = parsed(kept(text, size));
            for (size_t k = 0; k < 3; k++)
                same_member(full, small, always[k]);
            for (size_t k = 0; k < 4; k++)
                same_member(wbi_json_get(full, "error"), wbi_json_get(small, "error"),
                            of_errors[k]);
            handles_are_in(full, wbi_str_make(text, size));
            wb_free(text);
        }
    }
}

/* ---- the whole conversation ---- */

static wb_rc try(int p, struct wbi_str history, uint64_t budget, struct wbi_str *ret,
                 wb_compact_report *report)
{
    char *text = NULL;
    size_t size = 0;
    wb_rc rc = wb_compact_history(w.runtime, providers[p], history.p, history.n, budget, report,
                                  &text, &size, NULL);

    *ret = text != NULL ? kept(text, size) : WBI_NONE;
    wb_free(text);
    return rc;
}

static struct wbi_str compacted(int p, struct wbi_str history, uint64_t budget)
{
    wb_compact_report report;
    struct wbi_str out;

    assert_int_equal(try(p, history, budget, &out, &report), WB_OK);
    assert_true(report.tokens_after <= budget);
    return out;
}

static uint64_t minimum_of(int p, struct wbi_str history)
{
    wb_compact_report report;
    struct wbi_str out;

    assert_int_equal(try(p, history, 1, &out, &report), WB_ELIMIT);
    return report.minimum;
}

static void check_legal(int p, struct wbi_str text)
{
    char *out;
    size_t size;

    assert_int_equal(wb_repair(providers[p], text.p, text.n, &out, &size, NULL), WB_OK);
    assert_true(wbi_str_eq(wbi_str_make(out, size), text));
    wb_free(out);
}

static void test_any_budget_gives_a_legal_history_with_what_is_protected(void **state)
{
    (void)state;
    for (int p = 0; p < PROVIDERS; p++) {
        struct wbi_str history = w.history[p][STEPS];
        uint64_t least = minimum_of(p, history);
        uint64_t budgets[] = {least, least + 1, least * 3 / 2, least * 2, least * 4, least * 100};
        for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
            struct wbi_str out = compacted(p, history, budgets[b]);
            check_legal(p, out);
            assert_true(wbi_str_eq(out, compacted(p, history, budgets[b])));
            assert_true(wbi_str_eq(out, compacted(p, out, budgets[b])));
            for (size_t i = 0; i < STEPS; i++) {
                const wbi_json *full = parsed(w.canonical[i]);
                assert_true(has(out, wbi_json_get_str(wbi_json_get(full, "error"), "kind")));
            }
            assert_true(has(out, WBI_LIT("code 3")) || has(out, WBI_LIT("status 3")));
        }
        assert_true(wbi_str_eq(compacted(p, history, least * 100), history));
    }
}

static void test_a_growing_conversation_keeps_its_compacted_start(void **state)
{
    (void)state;
    for (int p = 0; p < PROVIDERS; p++) {
        uint64_t budget = minimum_of(p, w.history[p][STEPS]) * 2;
        struct wbi_str before = WBI_NONE;
        size_t batches = 0;

        for (size_t n = 1; n <= STEPS; n++) {
            struct wbi_str out = compacted(p, w.history[p][n], budget), turn, longer;
            if (before.p != NULL) { /* the compacted start with the newest round behind it */
                turn = wbi_str_from(w.history[p][n], w.history[p][n - 1].n - 1);
                longer =
                    wbi_arena_fmt(w.arena, "%.*s%.*s", (int)before.n - 1, before.p, WBI_FMT(turn));
                assert_true(wbi_str_eq(compacted(p, longer, budget), out));
                batches += !wbi_str_eq(out, longer);
            }
            before = out;
        }
        assert_in_range(batches, 1, STEPS / 2); /* not every turn */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rung_keeps_what_is_protected),
        cmocka_unit_test(test_any_budget_gives_a_legal_history_with_what_is_protected),
        cmocka_unit_test(test_a_growing_conversation_keeps_its_compacted_start),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
