/* SPDX-License-Identifier: Apache-2.0
 * tests/visible_test.c: the list a principal sees and what it may call are the same set
 * (C3.4), over random catalogues of tools in several versions, and random bindings reloaded
 * into each. WAYBILL_SOAK=1 tries twenty times as many, WAYBILL_SEED repeats them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "chance.h"
#include "json/write.h"
#include "support/guarded.h"

static struct guarded g;

/* What a version of a tool may be like; newer ones need not be what older ones were. */
static const char *const kinds[][2] = {
    {"Pure", ""},
    {"IdempotentWrite", ",\"scopes\":[\"fs:write\"]"},
    {"ExternalSideEffects", ",\"scopes\":[\"git:push\",\"net\"]"},
    {"Pure", ",\"credentials\":[\"WAYBILL_TEST_HELD\"]"},
    {"NonIdempotentWrite", ",\"credentials\":[\"WAYBILL_TEST_MISSING\"]"},
};
static const char *const names[] = {"fs.read", "fs.write", "git.push", "git.log", "mail"};
#define NAMES (sizeof(names) / sizeof(names[0]))
/* In the order in which a call without a range takes them. */
static const char *const versions[] = {"2.0.0", "1.10.0", "1.9.0", "3.0.0-rc.1"};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))
static bool exists[NAMES][VERSIONS];
static const char *const people[] = {"local", "ann", "ci-main"};

static void add_list(struct wbi_jw *w, const char *name, const char *const *words, size_t n)
{
    wbi_jw_key(w, name);
    wbi_jw_arr(w);
    while (chance(3) != 0)
        wbi_jw_strz(w, words[chance(n)]);
    wbi_jw_arr_end(w);
}

static void add_binding(struct wbi_jw *w)
{
    static const char *const who[] = {"*", "local", "ann", "ci-*", "?nn", "nobody"};
    static const char *const which[] = {"*",       "local::*", "LOCAL::FS.*", "*git*", "mail",
                                        "fs_read", "fs.write", "*.push",      "x*"};
    static const char *const scopes[] = {"fs:*", "git:push", "net", "*"};
    static const char *const effects[] = {"Pure", "IdempotentWrite", "NonIdempotentWrite",
                                          "ExternalSideEffects"};
    static const char *const rules[] = {"allow", "ask", "deny"};

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "principal", who[chance(6)]);
    add_list(w, "allow", which, 9);
    if (chance(3) == 0)
        add_list(w, "deny", which, 9);
    if (chance(2))
        add_list(w, "scopes", scopes, 4);
    if (chance(3) == 0)
        add_list(w, "effects", effects, 4);
    if (chance(3) == 0)
        wbi_jw_kbool(w, "network", chance(2));
    if (chance(2)) {
        wbi_jw_key(w, "approval");
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, which[chance(9)], rules[chance(3)]);
        wbi_jw_obj_end(w);
    }
    wbi_jw_obj_end(w);
}

static void rebind(struct wbi_buf *text)
{
    struct wbi_jw w = wbi_jw_to(text);
    wb_error *error = NULL;
    char path[128];
    FILE *f;

    wbi_buf_clear(text);
    wbi_jw_obj(&w);
    if (chance(20) != 0) { /* else: no bindings at all */
        wbi_jw_key(&w, "bindings");
        wbi_jw_arr(&w);
        for (uint64_t n = chance(5); n > 0; n--)
            add_binding(&w);
        wbi_jw_arr_end(&w);
    }
    wbi_jw_obj_end(&w);
    wbi_buf_addc(text, '\0');
    snprintf(path, sizeof(path), "%s/config.json", g.root);
    f = fopen(path, "wbe");
    assert_non_null(f);
    assert_true(fputs(text->p, f) >= 0);
    assert_int_equal(fclose(f), 0);
    if (wb_runtime_reload(g.runtime, &error) != WB_OK)
        fail_msg("%s: %s", text->p, wb_error_text(error));
}

static void make_catalogue(void)
{
    for (size_t n = 0; n < NAMES; n++) {
        size_t sure = chance(VERSIONS);
        for (size_t v = 0; v < VERSIONS; v++) {
            size_t kind = chance(5);
            char name[64], more[128];

            exists[n][v] = v == sure || chance(2);
            if (!exists[n][v])
                continue;
            g.tools_n = 0; /* one script serves all */
            snprintf(name, sizeof(name), "%s@%s", names[n], versions[v]);
            snprintf(more, sizeof(more), "%s,\"title\":\"%s\"", kinds[kind][1], versions[v]);
            (void)guarded_tool(&g, name, kinds[kind][0], more, "ok", NULL);
        }
    }
}

/* Is the version in the list that `tools list` prints? */
static bool listed(const char *list, size_t n, size_t v)
{
    char entry[160];

    snprintf(entry, sizeof(entry),
             "\"qualifiedName\":\"local::%s\",\"origin\":\"local\",\"version\":\"%s\"", names[n],
             versions[v]);
    return strstr(list, entry) != NULL;
}

/* What models and MCP clients are told of: each name once. */
static bool told(const char *list, size_t n, size_t v)
{
    char entry[96], *dot;

    snprintf(entry, sizeof(entry), "\"name\":\"%s", names[n]);
    dot = strchr(entry, '.');
    if (dot != NULL)
        *dot = '_';
    snprintf(entry + strlen(entry), 48, "\",\"title\":\"%s\"", versions[v]);
    return strstr(list, entry) != NULL;
}

/* What a call comes to: it runs, it waits for a yes, or it is refused by AUTHORIZE. */
static bool callable(const char *who, size_t n, const char *range, const char *version,
                     bool *ret_hidden)
{
    struct asked a;
    char name[64];

    snprintf(name, sizeof(name), "local::%s", names[n]);
    ask(&g, &a, name, WB_FIELD_PRINCIPAL, who, WB_FIELD_IDEMPOTENCY_KEY, "k",
        WB_FIELD_VERSION_RANGE, range, 0);
    settle_down(&g);
    if (a.done == 0) { /* parked: it may be called once somebody agrees */
        wb_call_cancel(g.runtime, a.id);
        wait_for(&a);
        assert_string_equal(a.kind, "cancelled");
        assert_string_equal(at(&a, "/resolvedVersion"), version);
        return true;
    }
    *ret_hidden = strcmp(a.kind, "unknown_tool") == 0 || strcmp(a.kind, "unsupported_version") == 0;
    if (a.kind[0] != '\0' && !*ret_hidden)
        assert_string_equal(at(&a, "/error/category"), "\"AuthError\"");
    if (a.kind[0] == '\0')
        assert_string_equal(at(&a, "/resolvedVersion"), version);
    return a.kind[0] == '\0';
}

struct counts {
    long may, hidden, denied, older; /* older: not the newest there is */
};

/* Every version of a tool, then the tool by its bare name. */
static void look_at_tool(const char *who, size_t n, const char *list, const char *exported,
                         struct counts *c)
{
    bool hidden = false, any = false, newest = true;
    char quoted[32];

    for (size_t v = 0; v < VERSIONS; v++) {
        bool seen = listed(list, n, v);

        if (!exists[n][v])
            continue;
        hidden = false;
        snprintf(quoted, sizeof(quoted), "\"%s\"", versions[v]);
        if (callable(who, n, versions[v], quoted, &hidden) != seen)
            fail_msg("%s %s is %s to %s", names[n], versions[v],
                     seen ? "listed, but refused" : "not listed, but may be called", who);
        c->may += seen;
        c->hidden += hidden;
        c->denied += !seen && !hidden;
        if (told(exported, n, v) != (seen && !any))
            fail_msg("%s %s is told to %s or not, against the list", names[n], versions[v], who);
        if (seen && !any && !callable(who, n, NULL, quoted, &hidden))
            fail_msg("%s is refused to %s, who sees %s", names[n], who, versions[v]);
        c->older += seen && !any && !newest;
        any = any || seen;
        newest = false;
    }
    if (!any && callable(who, n, NULL, "", &hidden))
        fail_msg("%s may be called by %s, who sees none", names[n], who);
}

static void look_as(const char *who, struct counts *c)
{
    char *list, *exported;

    assert_int_equal(wb_tools_list(g.runtime, who, NULL, &list, NULL, NULL), WB_OK);
    assert_int_equal(wb_tools_export(g.runtime, who, "mcp", &exported, NULL, NULL), WB_OK);
    for (size_t n = 0; n < NAMES; n++)
        look_at_tool(who, n, list, exported, c);
    wb_free(list);
    wb_free(exported);
}

static void what_is_listed_is_what_may_be_called(void **state)
{
    long catalogues = (long)soak(2000);
    struct counts c = {0};
    struct wbi_buf text;

    (void)state;
    chance_start();
    print_message("%ld catalogues\n", catalogues);
    (void)setenv("WAYBILL_TEST_HELD", "some-value", 1);
    (void)unsetenv("WAYBILL_TEST_MISSING");
    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    while (catalogues-- > 0) {
        guarded_open(&g, NULL, NULL, false);
        make_catalogue();
        for (int round = 0; round < 10; round++) {
            rebind(&text);
            for (size_t p = 0; p < 3; p++)
                look_as(people[p], &c);
            wbi_arena_reset(g.arena);
        }
        guarded_close(&g);
    }
    printf("may %ld, hidden %ld, denied %ld, older %ld\n", c.may, c.hidden, c.denied, c.older);
    assert_true(c.may > 0 && c.hidden > 0 && c.denied > 0 && c.older > 0);
    wbi_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_listed_is_what_may_be_called)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
