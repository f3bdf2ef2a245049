/* SPDX-License-Identifier: Apache-2.0
 * wire/golden_test.c: the pairs in tests/golden/wire/<provider>/. A file gives a
 * line, what is to be read from it, the answers, and the exact output items:
 * {"cites": [...], "provider", "line", "calls": [{...}] | "error": "part of it",
 *  "answers": [...], "output": [...], "group": …}. A receipt may be
 * {"repeat": text, "count": n}; "@RECEIPT@" stands for it in the outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "json/write.h"
#include "wire/wire.h"

#define GOLDEN WAYBILL_SOURCE "/tests/golden/wire"
#define MOST 16

static struct wbi_arena *arena;
static char place[600];

static void must(bool ok, const char *what, struct wbi_str expected, struct wbi_str got)
{
    if (!ok)
        fail_msg("%s: %s\nexpected %.*s\n     got %.*s", place, what,
                 WBI_FMT(wbi_str_head(expected, 2000)), WBI_FMT(wbi_str_head(got, 2000)));
}

static void must_equal(const char *what, struct wbi_str expected, struct wbi_str got)
{
    must(wbi_str_eq(expected, got), what, expected, got);
}

static struct wbi_str compact(const wbi_json *v)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&b, v);
    assert_int_equal(wbi_buf_rc(&b), WB_OK);
    return wbi_buf_str(&b);
}

static const wbi_json *read_golden(const char *path)
{
    static char text[4 << 20];
    FILE *f = fopen(path, "rb");
    const wbi_json *v = NULL;
    struct wbi_error err;
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof(text), f);
    fclose(f);
    if (wbi_json_read(arena, wbi_str_make(text, n), WBI_JSON_STRICT, &v, &err) != WB_OK)
        fail_msg("%s: %s", path, err.text);
    return v;
}

static struct wbi_str receipt_of(const wbi_json *v)
{
    struct wbi_str unit = wbi_json_get_str(v, "repeat");
    struct wbi_buf b;
    int64_t count = 0;

    if (!wbi_json_is(v, WBI_JSON_OBJ))
        return wbi_json_str(v);
    assert_true(wbi_json_i64(wbi_json_get(v, "count"), &count));
    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    for (int64_t i = 0; i < count; i++)
        wbi_buf_adds(&b, unit);
    return wbi_buf_str(&b);
}

static void read_parts(const wbi_json *v, struct wbi_wire_answer *answer)
{
    struct wbi_wire_part *parts = wbi_arena_array(arena, MOST, sizeof(*parts));

    WBI_JSON_EACH (v, block) {
        struct wbi_wire_part *part = &parts[answer->parts_n++];
        assert_true(wbi_wire_part_read(block, part));
        if (wbi_str_eqz(wbi_json_get_str(block, "type"), "file")) { /* ours, not MCP's */
            part->type = WBI_PART_FILE;
            part->name = wbi_json_get_str(block, "name");
        }
    }
    answer->parts = v ? parts : NULL;
}

static void read_outcomes(const wbi_json *v, struct wbi_wire_answer *answer)
{
    struct wbi_wire_outcome *outcomes = wbi_arena_array(arena, MOST, sizeof(*outcomes));

    WBI_JSON_EACH (v, o) {
        struct wbi_wire_outcome *one = &outcomes[answer->outcomes_n++];
        one->receipt = wbi_json_get_str(o, "receipt");
        one->timed_out = wbi_json_true(wbi_json_get(o, "timed_out"));
        (void)wbi_json_i64(wbi_json_get(o, "exit_code"), &one->exit_code);
    }
    answer->outcomes = outcomes;
}

static struct wbi_str json_or_none(const wbi_json *v)
{
    return v ? compact(v) : WBI_NONE;
}

static struct wbi_wire_answer read_answer(const wbi_json *v)
{
    struct wbi_wire_answer a = {.receipt = receipt_of(wbi_json_get(v, "receipt"))};

    a.is_error = wbi_json_true(wbi_json_get(v, "is_error"));
    a.error_kind = wbi_kind_by_name(wbi_json_get_str(v, "error_kind"));
    a.error = json_or_none(wbi_json_get(v, "error"));
    a.structured = json_or_none(wbi_json_get(v, "structured"));
    a.meta = json_or_none(wbi_json_get(v, "meta"));
    a.result = json_or_none(wbi_json_get(v, "result"));
    a.call_id = wbi_json_get_str(v, "call_id");
    read_parts(wbi_json_get(v, "parts"), &a);
    read_outcomes(wbi_json_get(v, "outcomes"), &a);
    return a;
}

/* Expected text with the receipt in place of its stand-in. */
static struct wbi_str expand(const wbi_json *v, struct wbi_str receipt)
{
    struct wbi_str text = compact(v), mark = WBI_LIT("\"@RECEIPT@\"");
    size_t at = wbi_str_find(text, mark);
    struct wbi_buf b;

    if (at == text.n)
        return text;
    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_adds(&b, wbi_str_head(text, at));
    wbi_json_quote(&b, receipt);
    wbi_buf_adds(&b, wbi_str_from(text, at + mark.n));
    return wbi_buf_str(&b);
}

static void check_call(const wbi_json *want, const struct wbi_wire_call *call)
{
    struct wbi_str kind = wbi_str_z(wbi_wire_kind_name(call->kind));
    const wbi_json *input = wbi_json_get(want, "input");
    struct wbi_str problem = wbi_json_get_str(want, "problem");
    struct wbi_str says = wbi_json_get_str(want, "says");

    must_equal("kind", wbi_json_get_str(want, "kind"), kind);
    must_equal("id", wbi_json_get_str(want, "id"), call->id);
    must_equal("name", wbi_json_get_str(want, "name"), call->name);
    must_equal("namespace", wbi_json_get_str(want, "namespace"), call->name_space);
    must_equal("model", wbi_json_get_str(want, "model"), call->model);
    must_equal("turn", wbi_json_get_str(want, "turn"), call->turn_id);
    must_equal("traceparent", wbi_json_get_str(want, "traceparent"), call->traceparent);
    if (input != NULL)
        must_equal("input", compact(input), compact(call->input));
    must_equal("text", wbi_json_get_str(want, "text"), call->text);
    assert_int_equal(call->truncated, wbi_json_true(wbi_json_get(want, "truncated")));
    assert_int_equal(call->answerable, !wbi_json_true(wbi_json_get(want, "unanswerable")));
    must_equal("problem", problem,
               call->problem_kind ? wbi_str_z(wbi_kind_row(call->problem_kind)->kind) : WBI_NONE);
    must(says.n == 0 || wbi_str_find(call->problem, says) < call->problem.n, "says", says,
         call->problem);
    if (wbi_json_get(want, "invocation") != NULL)
        must_equal("invocation", compact(wbi_json_get(want, "invocation")),
                   compact(call->invocation ? call->invocation : call->beside));
}

static void check_answers(const wbi_json *golden, struct wbi_wire_turn *turn)
{
    const wbi_json *output = wbi_json_get(golden, "output");
    const wbi_json *group = wbi_json_get(golden, "group");
    struct wbi_wire_answer answers[MOST] = {0};
    struct wbi_buf b, items;

    assert_true(turn->n <= MOST);
    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&items, arena, WBI_LIMIT_JSON_TEXT);
    for (size_t i = 0; i < turn->n; i++) {
        answers[i] = read_answer(wbi_json_at(wbi_json_get(golden, "answers"), i));
        turn->calls[i].line = 1;
        wbi_buf_clear(&b);
        assert_int_equal(wbi_wire_encode(&turn->calls[i], &answers[i], &b, NULL), WB_OK);
        must_equal("output", expand(wbi_json_at(output, i), answers[i].receipt), wbi_buf_str(&b));
        if (turn->calls[i].answerable) {
            wbi_buf_addz(&items, items.n > 0 ? "," : "");
            wbi_buf_adds(&items, wbi_buf_str(&b));
        }
    }
    if (group != NULL)
        must_equal("group", compact(group), wbi_wire_group(turn->provider, &items));
}

/* Named outright and seen from its shape, a line is read alike. */
static void check_golden(const wbi_json *golden, enum wbi_provider provider)
{
    const wbi_json *line = wbi_json_get(golden, "line"), *calls = wbi_json_get(golden, "calls");
    struct wbi_str error = wbi_json_get_str(golden, "error");
    struct wbi_wire_turn turn = {.n = 0};
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_wire_decode(arena, provider, line, &turn, &err);

    if (error.p != NULL) {
        assert_int_equal(rc, WB_EINPUT);
        must(wbi_str_find(wbi_str_z(err.text), error) < strlen(err.text), "error", error,
             wbi_str_z(err.text));
        return;
    }
    if (rc != WB_OK)
        fail_msg("%s: %s", place, err.text);
    assert_int_equal(turn.n, wbi_json_count(calls));
    for (size_t i = 0; i < turn.n; i++)
        check_call(wbi_json_at(calls, i), &turn.calls[i]);
    check_answers(golden, &turn);
}

static int run_folder(enum wbi_provider provider)
{
    char folder[300];
    struct dirent *e;
    DIR *d;
    int n = 0;

    (void)snprintf(folder, sizeof(folder), "%s/%s", GOLDEN, wbi_provider_name(provider));
    d = opendir(folder);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        const wbi_json *golden;
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(place, sizeof(place), "%s/%s", folder, e->d_name);
        assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena), WB_OK);
        golden = read_golden(place);
        check_golden(golden, provider);
        if (!wbi_json_true(wbi_json_get(golden, "only_named")))
            check_golden(golden, WBI_PROVIDER_AUTO);
        wbi_arena_free(arena);
        n++;
    }
    closedir(d);
    return n;
}

static void golden_pairs_of_every_provider_hold(void **state)
{
    (void)state;
    for (int p = WBI_PROVIDER_RESPONSES; p < WBI_PROVIDER_COUNT; p++)
        assert_true(run_folder((enum wbi_provider)p) >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_pairs_of_every_provider_hold)};

    return cmocka_run_group_tests_name("wire/golden", tests, NULL, NULL);
}
