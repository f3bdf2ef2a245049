/* SPDX-License-Identifier: Apache-2.0
 * tests/visible_test.c: the list a principal sees and what it may call are the same set
 * (C3.4), over random bindings, reloaded into one runtime. WAYBILL_SOAK=1 tries twenty times
 * as many, WAYBILL_SEED repeats them. */
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

static const char *const tools[][3] = {
    {"fs.read", "Pure", ""},
    {"fs.write", "IdempotentWrite", ",\"scopes\":[\"fs:write\"]"},
    {"git.push", "ExternalSideEffects", ",\"scopes\":[\"git:push\",\"net\"]"},
    {"git.log", "Pure", ",\"credentials\":[\"WAYBILL_TEST_HELD\"]"},
    {"mail", "NonIdempotentWrite", ",\"credentials\":[\"WAYBILL_TEST_MISSING\"]"},
};
#define TOOLS (sizeof(tools) / sizeof(tools[0]))
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

static bool listed(const char *who, const char *tool)
{
    char name[64], *text;
    bool found;

    assert_int_equal(wb_tools_list(g.runtime, who, NULL, &text, NULL, NULL), WB_OK);
    snprintf(name, sizeof(name), "\"qualifiedName\":\"local::%s\"", tool);
    found = strstr(text, name) != NULL;
    wb_free(text);
    return found;
}

/* What a call comes to: it runs, it waits for a yes, or it is refused by AUTHORIZE. */
static bool callable(const char *who, const char *tool, bool *ret_hidden)
{
    struct asked a;
    char name[64];

    snprintf(name, sizeof(name), "local::%s", tool);
    ask(&g, &a, name, WB_FIELD_PRINCIPAL, who, WB_FIELD_IDEMPOTENCY_KEY, "k", 0);
    settle_down(&g);
    if (a.done == 0) { /* parked: it may be called once somebody agrees */
        wb_call_cancel(g.runtime, a.id);
        wait_for(&a);
        assert_string_equal(a.kind, "cancelled");
        return true;
    }
    *ret_hidden = strcmp(a.kind, "unknown_tool") == 0;
    if (a.kind[0] != '\0' && !*ret_hidden)
        assert_string_equal(at(&a, "/error/category"), "\"AuthError\"");
    return a.kind[0] == '\0';
}

static void what_is_listed_is_what_may_be_called(void **state)
{
    long rounds = (long)soak(10000), may = 0, hidden_n = 0, denied = 0;
    struct wbi_buf text;

    (void)state;
    chance_start();
    print_message("%ld rounds\n", rounds);
    (void)setenv("WAYBILL_TEST_HELD", "some-value", 1);
    (void)unsetenv("WAYBILL_TEST_MISSING");
    guarded_open(&g, NULL, NULL, false);
    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    for (size_t i = 0; i < TOOLS; i++) {
        g.tools_n = 0; /* one script serves all */
        (void)guarded_tool(&g, tools[i][0], tools[i][1], tools[i][2], "ok", NULL);
    }
    for (long round = 0; round < rounds; round++) {
        rebind(&text);
        for (size_t p = 0; p < 3; p++) {
            for (size_t i = 0; i < TOOLS; i++) {
                bool hidden = false, seen = listed(people[p], tools[i][0]);
                if (callable(people[p], tools[i][0], &hidden) != seen)
                    fail_msg("%s is %s to %s under %s", tools[i][0],
                             seen ? "listed, but refused" : "not listed, but may be called",
                             people[p], text.p);
                may += seen;
                hidden_n += hidden;
                denied += !seen && !hidden;
            }
        }
        wbi_arena_reset(g.arena);
    }
    printf("may %ld, hidden %ld, denied %ld\n", may, hidden_n, denied);
    assert_true(may > 0 && hidden_n > 0 && denied > 0);
    wbi_buf_fini(&text);
    guarded_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_listed_is_what_may_be_called)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
