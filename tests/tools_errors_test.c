/* SPDX-License-Identifier: Apache-2.0
 * tests/tools_errors_test.c: golden receipts are complete. tests/tools_errors.json says of
 * every kind of the error table who makes it:
 *   families  {kind: {tools: [names] or "all", others: why no other tool makes it}}: each of
 *             these tools has a step in tests/tools/NAME.json that ends with that kind
 *   journey   {kind: where}: a stage makes it, the same for every tool; one receipt of it
 *             stands in tests/tools, tests/journeys or tests/cli
 * That the files come out as they say is proved by tests/tools_test.c, journeys_test.c and
 * cli_test.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error_table.h"
#include "datafiles.h"
#include "shared_vectors.h"
#include "toolbox.h"

#define TESTS WAYBILL_SOURCE "/tests"

static struct wbi_arena *arena;
static const wbi_json *families, *journey;
static const wbi_json *catalogue; /* the built-in tools */

static struct {
    struct wbi_str tool, kind;
} shown[1024];
static size_t shown_n;

static struct wbi_str text_of(const char *path)
{
    struct wbi_buf text;
    struct wbi_str kept;

    if (!read_whole_file(path, &text))
        fail_msg("cannot read %s", path);
    kept = wbi_arena_str(arena, wbi_buf_str(&text));
    wbi_buf_fini(&text);
    return kept;
}

static const wbi_json *json_of(const char *path)
{
    const wbi_json *v;

    if (wbi_json_read(arena, text_of(path), WBI_JSON_STRICT, &v, NULL) != WB_OK)
        fail_msg("%s is no JSON", path);
    return v;
}

static bool is_tool(struct wbi_str name)
{
    WBI_JSON_EACH (catalogue, tool)
        if (wbi_str_eq(wbi_json_get_str(tool, "modelName"), name))
            return true;
    return false;
}

static bool is_named(const wbi_json *row, struct wbi_str tool)
{
    const wbi_json *tools = wbi_json_get(row, "tools");

    if (wbi_str_eqz(wbi_json_str(tools), "all"))
        return is_tool(tool);
    WBI_JSON_EACH (tools, name)
        if (wbi_str_eq(wbi_json_str(name), tool))
            return true;
    return false;
}

static bool is_shown(struct wbi_str tool, struct wbi_str kind)
{
    for (size_t i = 0; i < shown_n; i++)
        if (wbi_str_eq(tool, shown[i].tool) && wbi_str_eq(kind, shown[i].kind))
            return true;
    return false;
}

/* A step counts when its receipt is there and says the kind. */
static void note_steps(const char *path, const char *name)
{
    (void)name;
    WBI_JSON_EACH (wbi_json_get(json_of(path), "steps"), step) {
        struct wbi_str kind = wbi_json_get_str(step, "kind"), tool = wbi_json_get_str(step, "call");
        struct wbi_str first = wbi_json_str(wbi_json_at(wbi_json_get(step, "receipt"), 0));
        struct wbi_str head = wbi_arena_fmt(arena, "Error: %.*s (", WBI_FMT(kind));

        if (kind.p == NULL || first.p == NULL || is_shown(tool, kind))
            continue;
        assert_true(wbi_str_starts(first, head));
        assert_true(shown_n < sizeof(shown) / sizeof(shown[0]));
        shown[shown_n].tool = tool;
        shown[shown_n++].kind = kind;
    }
}

static int set_up(void **state)
{
    const wbi_json *table;
    struct toolbox b;
    char *text;
    size_t n;

    (void)state;
    assert_int_equal(wbi_arena_new((size_t)64 << 20, &arena), WB_OK);
    toolbox_make(&b);
    toolbox_open(&b);
    assert_int_equal(wb_tools_list(b.runtime, NULL, NULL, &text, &n, NULL), WB_OK);
    assert_int_equal(wbi_json_read(arena, wbi_arena_str(arena, wbi_str_make(text, n)),
                                   WBI_JSON_STRICT, &catalogue, NULL),
                     WB_OK);
    wb_free(text);
    toolbox_end(&b);
    table = json_of(TESTS "/tools_errors.json");
    families = wbi_json_get(table, "families");
    journey = wbi_json_get(table, "journey");
    each_data_file(TESTS "/tools", ".json", NULL, note_steps);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_arena_free(arena);
    return 0;
}

/* ---- the table and the file name the same kinds ---- */

static void test_every_kind_has_one_place(void **state)
{
    static const char *const kinds[] = {
#define X(id, kind, category, code, retryable, rpc, http, exit, hint) kind,
        WBI_ERROR_TABLE(X)
#undef X
    };
    size_t n = sizeof(kinds) / sizeof(kinds[0]);

    (void)state;
    for (size_t i = 0; i < n; i++)
        if ((wbi_json_get(families, kinds[i]) == NULL) == (wbi_json_get(journey, kinds[i]) == NULL))
            fail_msg("%s belongs to one of families and journey", kinds[i]);
    assert_int_equal(wbi_json_count(families) + wbi_json_count(journey), n);
}

/* What the code of the families and of their engines names is theirs to show. */
static void check_source(const char *path, const char *name)
{
    static const struct wbi_str mark = WBI_LIT("WBI_KIND_");
    static const struct {
        const char *id, *kind;
    } ids[] = {
#define X(id, kind, category, code, retryable, rpc, http, exit, hint) {#id, kind},
        WBI_ERROR_TABLE(X)
#undef X
    };
    struct wbi_str rest = text_of(path);

    if (strstr(name, "_test.c") != NULL)
        return;
    for (size_t at; (at = wbi_str_find(rest, mark)) < rest.n;) {
        size_t n = 0;

        rest = wbi_str_from(rest, at + mark.n);
        while (n < rest.n && (rest.p[n] == '_' || (rest.p[n] >= 'A' && rest.p[n] <= 'Z')))
            n++;
        for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
            if (wbi_str_eqz(wbi_str_head(rest, n), ids[i].id) &&
                strcmp(ids[i].kind, "internal_error") != 0 &&
                wbi_json_get(families, ids[i].kind) == NULL)
                fail_msg("%s makes %s, which no tool of the families shows", path, ids[i].kind);
    }
}

static void test_what_the_families_make_is_theirs(void **state)
{
    static const char *const folders[] = {"builtin",     "path",        "run",
                                          "artifact",    "family/file", "family/command",
                                          "family/task", "family/work", "family/workspace"};

    (void)state;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char folder[4096];

        (void)snprintf(folder, sizeof(folder), WAYBILL_SOURCE "/src/%s", folders[i]);
        each_data_file(folder, ".c", NULL, check_source);
    }
}

/* ---- every pair has its receipt ---- */

static void test_every_error_of_every_tool_is_shown(void **state)
{
    size_t pairs = 0;

    (void)state;
    WBI_JSON_EACH_MEMBER (families, kind) {
        bool all = wbi_str_eqz(wbi_json_get_str(kind_val, "tools"), "all");

        if (!all && wbi_json_get_str(kind_val, "others").n == 0)
            fail_msg("%.*s: others must say why", WBI_FMT(wbi_json_str(kind)));
        if (!all)
            WBI_JSON_EACH (wbi_json_get(kind_val, "tools"), name)
                if (!is_tool(wbi_json_str(name)))
                    fail_msg("%.*s is no built-in tool", WBI_FMT(wbi_json_str(name)));
        WBI_JSON_EACH (catalogue, row) {
            struct wbi_str tool = wbi_json_get_str(row, "modelName");
            bool named = is_named(kind_val, tool);

            pairs += named;
            if (named != is_shown(tool, wbi_json_str(kind)))
                fail_msg("%.*s of %.*s: %s", WBI_FMT(wbi_json_str(kind)), WBI_FMT(tool),
                         named ? "no receipt shows it"
                               : "shown, but tools_errors.json says it cannot occur");
        }
    }
    printf("%zu receipts of errors of %zu tools\n", pairs, wbi_json_count(catalogue));
}

static struct wbi_str wanted;
static bool found;

static void look_for(const char *path, const char *name)
{
    struct wbi_buf text;

    (void)name;
    assert_true(read_whole_file(path, &text));
    found = found || wbi_str_find(wbi_buf_str(&text), wanted) < text.n;
    wbi_buf_fini(&text);
}

static void test_every_error_of_the_journey_is_shown(void **state)
{
    (void)state;
    WBI_JSON_EACH_MEMBER (journey, kind) {
        if (wbi_json_str(kind_val).n == 0)
            fail_msg("%.*s: say where it is made", WBI_FMT(wbi_json_str(kind)));
        wanted = wbi_arena_fmt(arena, "Error: %.*s (", WBI_FMT(wbi_json_str(kind)));
        found = false;
        each_data_file(TESTS "/tools", ".json", NULL, look_for);
        each_data_file(TESTS "/journeys", ".json", NULL, look_for);
        each_data_file(TESTS "/cli", ".test", NULL, look_for);
        if (!found)
            fail_msg("no golden file shows %.*s", WBI_FMT(wbi_json_str(kind)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_has_one_place),
        cmocka_unit_test(test_what_the_families_make_is_theirs),
        cmocka_unit_test(test_every_error_of_every_tool_is_shown),
        cmocka_unit_test(test_every_error_of_the_journey_is_shown),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
