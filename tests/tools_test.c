/* SPDX-License-Identifier: Apache-2.0
 * tests/tools_test.c: the built-in tools as data (tests/tools/NAME.json): a
 * workspace, calls in order, and the receipt of each (C6.7 "golden-tested").
 * Every result is checked against the schema of its tool (family/NAME/results.json),
 * rendered again to the same bytes, shown by the ledger as the caller saw it, and a tool
 * that is never called fails the test. WAYBILL_UPDATE=1 rewrites the receipts.
 *   files   {path: text}; links {path: target}; config: waybill.json
 *   steps   [{call, input, maxTokens?, kind?, receipt: [lines]}]; "$next" in an
 *           input is the last nextToken, "$id" the id of the last
 *           work item, "$task" the last task, "$path" the last artifact; with
 *           "any": true the receipt is not compared (it depends on time, or on how
 *           many tokens the name of the workspace costs); receipts have ID for the digits of ids,
 *           ROOT for the root. fault: {call: write|sync|read, path: part of it, error: ENOSPC|EIO,
 *           always?, nth?} makes the first (nth) such system call of the step fail, or all; {call,
 * path, meanwhile: {path: text}} writes files in front of it, as another process would. reopen:
 * true ends the runtime and makes a new one in front of the step after   {path: text or null} when
 * all is done tests/tools_errors_test.c tells which errors the files have to show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datafiles.h"
#include "faults/faults.h"
#include "shared_vectors.h"
#include "support/results.h"
#include "toolbox.h"

/* C6.6 "Rendering the same canonical result again gives the same bytes". */
static void check_render(const struct toolcall *c)
{
    struct wbi_buf text;
    char *receipt;
    size_t n;

    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, c->canonical);
    assert_int_equal(wb_render(text.p, text.n, &receipt, &n, NULL), WB_OK);
    assert_true(wbi_str_eq(wbi_str_make(receipt, n), c->receipt));
    wb_free(receipt);
    wbi_buf_fini(&text);
}

/* No line is a name without its value, and none has a hole: "Agent  completed". */
static void check_no_gaps(const char *receipt, const char *canonical)
{
    for (const char *line = receipt; line != NULL; line = strchr(line, '\n')) {
        size_t n = strcspn(line += line[0] == '\n', "\n");

        if (n == 0 || line[n - 1] == ' ' || (line == receipt && memmem(line, n, "  ", 2) != NULL))
            fail_msg("a gap in \"%.*s\" of\n%s", (int)n, line, canonical);
    }
}

/* Seed 000: "Compaction may later derive a bounded model-visible receipt from the preserved
 * canonical result": what is left of it on any rung is told, and nothing else. */
static void check_rungs(const struct toolcall *c)
{
    struct wbi_str summary = wbi_json_get_str(c->canonical, "summary_text");
    struct wbi_buf text;

    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, c->canonical);
    for (int rung = 1; rung <= 3; rung++) {
        char *smaller, *receipt;
        size_t n;

        assert_int_equal(wb_compact_result(text.p, text.n, rung, &smaller, &n, NULL), WB_OK);
        assert_int_equal(wb_render(smaller, n, &receipt, NULL, NULL), WB_OK);
        if (rung > 1) /* there, texts of files still are what they are */
            check_no_gaps(receipt, smaller);
        if (c->ok && rung == 3)
            assert_true(wbi_str_find(wbi_str_z(receipt), summary) < strlen(receipt));
        wb_free(smaller);
        wb_free(receipt);
    }
    wbi_buf_fini(&text);
}

/* ---- one file ---- */

static void make_parents(const char *path)
{
    char dir[4096];

    for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(dir, sizeof(dir), "%.*s", (int)(p - path), path);
        (void)mkdir(dir, 0755);
    }
}

static const char *place(struct toolbox *b, struct wbi_str name)
{
    char relative[2048];

    snprintf(relative, sizeof(relative), "work/%.*s", WBI_FMT(name));
    return tree_at(&b->tree, relative);
}

static void put_files(struct toolbox *b, const wbi_json *files)
{
    static const struct timespec times[2] = {{1767225600, 0}, {1767225600, 0}};

    WBI_JSON_EACH_MEMBER (files, key) {
        const char *path = place(b, wbi_json_str(key));
        FILE *f;

        make_parents(path);
        f = fopen(path, "wb");
        assert_non_null(f);
        fwrite(wbi_json_str(key_val).p, 1, wbi_json_str(key_val).n, f);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
}

static void put_workspace(struct toolbox *b, const wbi_json *data)
{
    struct wbi_buf text;

    put_files(b, wbi_json_get(data, "files"));
    WBI_JSON_EACH_MEMBER (wbi_json_get(data, "links"), key) {
        char *target = wbi_arena_strz(b->arena, wbi_json_str(key_val));
        assert_int_equal(symlink(target, place(b, wbi_json_str(key))), 0);
    }
    if (wbi_json_get(data, "config") != NULL) {
        wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
        wbi_json_write(&text, wbi_json_get(data, "config"));
        assert_true(tree_put(&b->tree, "work/waybill.json", text.p, text.n));
        wbi_buf_fini(&text);
    }
}

struct last {
    struct wbi_str next, id, task, path;
};

static struct wbi_str replaced(struct toolbox *b, struct wbi_str text, const char *what,
                               struct wbi_str by)
{
    size_t at = wbi_str_find(text, wbi_str_z(what));

    if (at == text.n)
        return text;
    return wbi_arena_fmt(b->arena, "%.*s%.*s%.*s", WBI_FMT(wbi_str_head(text, at)), WBI_FMT(by),
                         WBI_FMT(wbi_str_from(text, at + strlen(what))));
}

/* The input as text, "$next" and "$id" replaced. */
static const char *input_of(struct toolbox *b, const wbi_json *step, const struct last *last)
{
    struct wbi_buf text;
    struct wbi_str input = WBI_LIT("{}");

    wbi_buf_init_arena(&text, b->arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_json_get(step, "input") != NULL) {
        wbi_json_write(&text, wbi_json_get(step, "input"));
        input = wbi_buf_str(&text);
    }
    input = replaced(b, replaced(b, input, "$next", last->next), "$id", last->id);
    input = replaced(b, replaced(b, input, "$task", last->task), "$path", last->path);
    return wbi_arena_strz(b->arena, input);
}

/* ---- what goes wrong during a step ---- */

static struct {
    struct toolbox *box;
    const wbi_json *files;
} meanwhile;

static void do_meanwhile(void)
{
    put_files(meanwhile.box, meanwhile.files);
}

static int error_of(struct wbi_str name)
{
    if (wbi_str_eqz(name, "ENOSPC"))
        return ENOSPC;
    assert_true(wbi_str_eqz(name, "EIO"));
    return EIO;
}

static void arm(struct toolbox *b, const wbi_json *fault)
{
    static const char *const names[] = {
        [FAULT_WRITE] = "write", [FAULT_READ] = "read", [FAULT_SYNC] = "sync"};
    struct wbi_str call = wbi_json_get_str(fault, "call");
    int which = 0, error = FAULT_MEANWHILE;
    int64_t nth = 1;

    if (fault == NULL)
        return;
    while (which <= FAULT_SYNC && !wbi_str_eqz(call, names[which]))
        which++;
    assert_true(which <= FAULT_SYNC);
    meanwhile.box = b;
    meanwhile.files = wbi_json_get(fault, "meanwhile");
    faults.meanwhile = do_meanwhile;
    if (meanwhile.files == NULL)
        error = error_of(wbi_json_get_str(fault, "error"));
    (void)wbi_json_i64(wbi_json_get(fault, "nth"), &nth); /* absent: the first */
    faults_arm((enum fault_call)which, (long)nth, error,
               wbi_json_true(wbi_json_get(fault, "always")),
               wbi_arena_strz(b->arena, wbi_json_get_str(fault, "path")));
}

static void disarm(const wbi_json *fault)
{
    if (faults_disarm() == 0 && fault != NULL)
        fail_msg("no such call was made: %.*s of %.*s", WBI_FMT(wbi_json_get_str(fault, "call")),
                 WBI_FMT(wbi_json_get_str(fault, "path")));
}

/* ---- the ledger gives back what the caller saw (C12.3) ---- */

static const wb_view kept_views[] = {WB_VIEW_CANONICAL, WB_VIEW_RESULT, WB_VIEW_ENVELOPE,
                                     WB_VIEW_RECORD};
#define KEPT_VIEWS (sizeof(kept_views) / sizeof(kept_views[0]))

struct seen {
    struct seen *before;
    const char *id;
    struct wbi_str texts[KEPT_VIEWS];
};

static struct seen *see(struct toolbox *b, wb_result *result, struct seen *before)
{
    struct seen *seen = wbi_arena_zalloc(b->arena, sizeof(*seen));
    const wbi_json *record;

    assert_non_null(seen);
    seen->before = before;
    for (size_t i = 0; i < KEPT_VIEWS; i++) {
        size_t n;
        const char *text = wb_result_view(result, kept_views[i], &n);

        assert_non_null(text);
        seen->texts[i] = wbi_arena_str(b->arena, wbi_str_make(text, n));
    }
    assert_int_equal(
        wbi_json_read(b->arena, seen->texts[KEPT_VIEWS - 1], WBI_JSON_STRICT, &record, NULL),
        WB_OK);
    seen->id = wbi_arena_strz(b->arena, wbi_json_get_str(record, "id"));
    return seen;
}

/* Ends the runtime: until then rows may still be on their way. */
static void check_ledger(struct toolbox *b, const char *name, const struct seen *newest)
{
    wb_options *o = toolbox_options(b);
    wb_ledger *ledger = NULL;
    char *text;
    size_t n;

    toolbox_close(b);
    if (wb_ledger_open(o, WB_LEDGER_READ, &ledger, NULL) != WB_OK) { /* that is what it is about */
        assert_true(wbi_str_find(newest->texts[0], WBI_LIT("state_unavailable")) <
                    newest->texts[0].n);
        newest = NULL;
    }
    for (const struct seen *s = newest; s != NULL; s = s->before) {
        for (size_t i = 0; i < KEPT_VIEWS; i++) {
            if (wb_ledger_show(ledger, s->id, kept_views[i], &text, &n, NULL) != WB_OK)
                fail_msg("%s: %s is not there: %.*s", name, s->id, WBI_FMT(s->texts[3]));
            if (!wbi_str_eq(wbi_str_make(text, n), s->texts[i]))
                fail_msg("%s: %s\nsaw   %.*s\nshown %s", name, s->id, WBI_FMT(s->texts[i]), text);
            wb_free(text);
        }
    }
    wb_ledger_free(ledger);
    wb_options_free(o);
}

static struct toolcall run_step(struct toolbox *b, const wbi_json *step, const struct last *last,
                                struct seen **seen)
{
    char *tool = wbi_arena_strz(b->arena, wbi_json_get_str(step, "call"));
    char *budget = wbi_arena_strz(b->arena, wbi_json_get_str(step, "maxTokens"));
    wb_request *request = wb_request_new(tool);
    wb_result *result = NULL;
    struct toolcall c;

    assert_int_equal(wb_request_set(request, WB_FIELD_INPUT, input_of(b, step, last)), WB_OK);
    if (wbi_json_get(step, "maxTokens") != NULL)
        assert_int_equal(wb_request_set(request, WB_FIELD_MAX_TOKENS, budget), WB_OK);
    arm(b, wbi_json_get(step, "fault"));
    assert_int_equal(wb_call_run(b->runtime, request, &result), WB_OK);
    disarm(wbi_json_get(step, "fault"));
    wb_request_free(request);
    c = toolbox_take(b, result);
    *seen = see(b, result, *seen);
    wb_result_free(result);
    check_render(&c);
    check_rungs(&c);
    return c;
}

static size_t hex_digits(struct wbi_str s)
{
    size_t n = 0;

    while (n < s.n && strchr("0123456789abcdef", s.p[n]) != NULL && s.p[n] != '\0')
        n++;
    return n;
}

/* Ids count what other rooms have drawn before: their digits are not compared. */
static struct wbi_str without_ids(struct toolbox *b, struct wbi_str text)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, b->arena, WBI_LIMIT_JSON_TEXT);
    for (size_t i = 0; i < text.n; i++) {
        struct wbi_str rest = wbi_str_from(text, i + 1);

        wbi_buf_addc(&out, text.p[i]);
        if (text.p[i] == '_' && hex_digits(rest) == 20) {
            wbi_buf_addz(&out, "ID");
            i += 20;
        }
    }
    return wbi_buf_str(&out);
}

/* The receipt as an array of lines, the workspace written as ROOT. */
static void put_receipt(struct wbi_jw *w, struct toolbox *b, struct wbi_str receipt)
{
    struct wbi_str root = wbi_str_z(b->tree.root);
    struct wbi_buf text;

    receipt = without_ids(b, receipt);
    wbi_buf_init_arena(&text, b->arena, WBI_LIMIT_JSON_TEXT);
    while (receipt.n > 0) {
        size_t at = wbi_str_find(receipt, root);
        wbi_buf_adds(&text, wbi_str_head(receipt, at));
        if (at < receipt.n)
            wbi_buf_addz(&text, "ROOT");
        receipt = wbi_str_from(receipt, at + root.n);
    }
    wbi_jw_arr(w);
    for (struct wbi_str rest = wbi_buf_str(&text);;) {
        size_t n = wbi_str_index(rest, '\n');
        wbi_jw_str(w, wbi_str_head(rest, n));
        if (n == rest.n)
            break;
        rest = wbi_str_from(rest, n + 1);
    }
    wbi_jw_arr_end(w);
}

/* The step as it came out. */
static void put_step(struct wbi_jw *w, struct toolbox *b, const wbi_json *step,
                     const struct toolcall *c)
{
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (step, key) {
        if (wbi_str_eqz(wbi_json_str(key), "kind") || wbi_str_eqz(wbi_json_str(key), "receipt"))
            continue;
        wbi_jw_keyn(w, wbi_json_str(key));
        wbi_jw_val(w, key_val);
    }
    if (!c->ok)
        wbi_jw_kstrz(w, "kind", c->kind);
    if (!wbi_json_true(wbi_json_get(step, "any"))) {
        wbi_jw_key(w, "receipt");
        put_receipt(w, b, c->receipt);
    }
    wbi_jw_obj_end(w);
}

static void check_after(struct toolbox *b, const char *name, const wbi_json *data)
{
    WBI_JSON_EACH_MEMBER (wbi_json_get(data, "after"), key) {
        struct wbi_buf text;
        bool there = read_whole_file(place(b, wbi_json_str(key)), &text);

        if (there != wbi_json_is(key_val, WBI_JSON_STR) ||
            (there && !wbi_str_eq(wbi_buf_str(&text), wbi_json_str(key_val))))
            fail_msg("%s: %.*s came out otherwise", name, WBI_FMT(wbi_json_str(key)));
        if (there)
            wbi_buf_fini(&text);
    }
}

static void remember(struct last *last, const wbi_json *result)
{
    struct wbi_str task = wbi_json_get_str(wbi_json_get(result, "task_handle"), "task_id");
    struct wbi_str path =
        wbi_json_get_str(wbi_json_at(wbi_json_get(result, "artifacts"), 0), "path");

    last->task = task.p ? task : last->task;
    last->path = path.p ? path : last->path;
}

static const struct seen *run_steps(struct toolbox *b, const wbi_json *data, struct wbi_jw *w)
{
    struct seen *seen = NULL;
    struct last last = {WBI_LIT(""), WBI_LIT(""), WBI_LIT(""), WBI_LIT("")};

    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (data, key) {
        wbi_jw_keyn(w, wbi_json_str(key));
        if (!wbi_str_eqz(wbi_json_str(key), "steps")) {
            wbi_jw_val(w, key_val);
            continue;
        }
        wbi_jw_arr(w);
        WBI_JSON_EACH (key_val, step) {
            struct toolcall c;
            struct wbi_str id, next;

            if (wbi_json_true(wbi_json_get(step, "reopen"))) {
                toolbox_close(b);
                toolbox_open(b);
            }
            c = run_step(b, step, &last, &seen);
            id = wbi_json_get_str(wbi_json_get(c.result, "work_item"), "id");

            put_step(w, b, step, &c);
            next = wbi_json_get_str(c.result, "nextToken");
            last.next = next.p ? next : last.next;
            last.id = id.p ? id : last.id;
            remember(&last, c.result);
        }
        wbi_jw_arr_end(w);
    }
    wbi_jw_obj_end(w);
    return seen;
}

static void run_file(const char *path, const char *name)
{
    struct wbi_buf text, got, want;
    struct wbi_jw w = wbi_jw_to(&got);
    const struct seen *seen;
    const wbi_json *data, *v;
    struct toolbox b;

    assert_true(read_whole_file(path, &text));
    toolbox_make(&b);
    if (wbi_json_read(b.arena, wbi_buf_str(&text), WBI_JSON_STRICT, &data, NULL) != WB_OK)
        fail_msg("%s: not JSON", name);
    assert_non_null(wbi_json_get_str(data, "proves").p);
    put_workspace(&b, data);
    toolbox_open(&b);
    wbi_buf_init_arena(&got, b.arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&want, b.arena, WBI_LIMIT_JSON_TEXT);
    seen = run_steps(&b, data, &w);
    wbi_json_write(&want, data);
    if (getenv("WAYBILL_UPDATE") != NULL) {
        assert_int_equal(wbi_json_read(b.arena, wbi_buf_str(&got), WBI_JSON_STRICT, &v, NULL),
                         WB_OK);
        write_data_file(path, v);
    } else if (!wbi_str_eq(wbi_buf_str(&got), wbi_buf_str(&want))) {
        fail_msg("%s\nexpected %.*s\ngot      %.*s", name, WBI_FMT(wbi_buf_str(&want)),
                 WBI_FMT(wbi_buf_str(&got)));
    }
    check_after(&b, name, data);
    check_ledger(&b, name, seen);
    toolbox_end(&b);
    wbi_buf_fini(&text);
}

static void test_every_call_answers_as_it_says(void **state)
{
    (void)state;
    each_data_file(WAYBILL_SOURCE "/tests/tools", ".json", "WAYBILL_TOOLS", run_file);
}

/* How often a result of the tool was checked against its schema; fails without a schema. */
static unsigned checked(struct wbi_str tool)
{
    const char *known;
    unsigned n;

    for (size_t i = 0; (known = result_schema(i, &n)) != NULL; i++)
        if (wbi_str_eqz(tool, known))
            return n;
    fail_msg("%.*s has no schema of its result (results.json)", WBI_FMT(tool));
    return 0;
}

/* "Every tool of every family is called at least once and its result validated against its
 * own output schema": the catalogue says which there are. */
static void test_every_tool_of_the_catalogue_was_called(void **state)
{
    const wbi_json *list;
    struct toolbox b;
    char *text;
    size_t n;

    (void)state;
    if (getenv("WAYBILL_TOOLS") != NULL)
        return; /* only some of the files were played */
    toolbox_make(&b);
    toolbox_open(&b);
    assert_int_equal(wb_tools_list(b.runtime, NULL, NULL, &text, &n, NULL), WB_OK);
    assert_int_equal(wbi_json_read(b.arena, wbi_str_make(text, n), WBI_JSON_STRICT, &list, NULL),
                     WB_OK);
    assert_true(wbi_json_count(list) >= 20);
    WBI_JSON_EACH (list, tool) {
        struct wbi_str name = wbi_json_get_str(tool, "modelName");

        if (checked(name) == 0)
            fail_msg("%.*s was never called with success", WBI_FMT(name));
    }
    wb_free(text);
    toolbox_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_answers_as_it_says),
        cmocka_unit_test(test_every_tool_of_the_catalogue_was_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
