/* SPDX-License-Identifier: Apache-2.0
 * catalog/names_test.c: C2.5, both directions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/checked.h"
#include "catalog/names.h"

#define LOCAL(s)                               \
    {                                          \
        .qualified = WBI_LIT_INIT("local::" s) \
    }
#define BUILTIN(s)                                              \
    {                                                           \
        .qualified = WBI_LIT_INIT("local::" s), .builtin = true \
    }
#define MCP(server, tool)                                   \
    {                                                       \
        .qualified = WBI_LIT_INIT("mcp::" server "::" tool) \
    }

static struct wbi_names *names_of(const struct wbi_name_in *in, size_t n)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_names *names = NULL;

    if (wbi_names_new(in, n, NULL, &names, &err) != WB_OK)
        fail_msg("%s", err.text);
    return names;
}

static const struct wbi_name *find(const struct wbi_names *names, const char *name)
{
    return wbi_names_find(names, WBI_NONE, wbi_str_z(name));
}

static void assert_model(const struct wbi_names *names, const char *qualified, const char *model)
{
    const struct wbi_name *name = find(names, qualified);

    assert_non_null(name);
    assert_int_equal(name->model.n, strlen(model));
    assert_memory_equal(name->model.p, model, name->model.n);
    assert_ptr_equal(find(names, model), name);
}

static void every_kind_of_tool_has_its_model_name(void **state)
{
    static const struct wbi_name_in in[] = {
        BUILTIN("ExecCommand"),
        LOCAL("fs.write"),
        MCP("github", "issues.create"),
        LOCAL("7zip"),
        LOCAL("\xc3\xbc"
              "bersicht"),
        MCP("my server", "read"),
    };
    struct wbi_names *names = names_of(in, WBI_COUNT(in));

    (void)state;
    assert_model(names, "local::ExecCommand", "ExecCommand");
    assert_model(names, "local::fs.write", "fs_write");
    assert_model(names, "mcp::github::issues.create", "github__issues_create");
    assert_model(names, "local::7zip", "_7zip");
    assert_model(names,
                 "local::\xc3\xbc"
                 "bersicht",
                 "_bersicht");
    assert_model(names, "mcp::my server::read", "my_server__read");
    assert_int_equal(find(names, "mcp::github::issues.create")->index, 2);
    assert_null(find(names, "nothing"));
    wbi_names_free(names);
}

static void decoding_accepts_every_spelling_of_an_mcp_tool(void **state)
{
    static const struct wbi_name_in in[] = {MCP("github", "issues.create"), LOCAL("x")};
    static const char *const spellings[] = {
        "mcp::github::issues.create", "github__issues_create",      "github__issues.create",
        "mcp__github__issues_create", "mcp__github__issues.create",
    };
    static const char *const spaces[] = {"github", "mcp__github", "mcp__github__"};
    struct wbi_names *names = names_of(in, WBI_COUNT(in));

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(spellings); i++) {
        const struct wbi_name *name = find(names, spellings[i]);
        assert_non_null(name);
        assert_int_equal(name->index, 0);
        assert_int_equal(name->parts.origin, WBI_NAME_MCP);
    }
    for (size_t i = 0; i < WBI_COUNT(spaces); i++)
        assert_non_null(wbi_names_find(names, wbi_str_z(spaces[i]), WBI_LIT("issues_create")));
    assert_non_null(wbi_names_find(names, WBI_LIT("functions"), WBI_LIT("x")));
    assert_null(wbi_names_find(names, WBI_LIT("gitlab"), WBI_LIT("issues_create")));
    wbi_names_free(names);
}

/* C2.5 "if a name can be read as an MCP tool, that reading wins". */
static void the_mcp_reading_of_a_name_wins(void **state)
{
    static const struct wbi_name_in in[] = {LOCAL("github__read"), LOCAL("mcp__github__read"),
                                            MCP("github", "read")};
    struct wbi_names *names = names_of(in, WBI_COUNT(in));

    (void)state;
    assert_int_equal(find(names, "github__read")->index, 2);
    assert_int_equal(find(names, "mcp__github__read")->index, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct wbi_name *local = find(names, in[i].qualified.p);
        assert_int_equal(local->index, i);
        assert_true(local->model.n == in[i].qualified.n - 7 + 9);
        assert_ptr_equal(wbi_names_find(names, WBI_NONE, local->model), local);
    }
    wbi_names_free(names);
}

/* A name means one tool, whether a server has told its tools yet or not. */
static void names_of_local_tools_do_not_hang_on_what_servers_have_told(void **state)
{
    static const struct wbi_str list[] = {WBI_LIT_INIT("srv"), WBI_LIT_INIT("web")};
    static const struct wbi_name_servers servers = {list, WBI_COUNT(list)};
    static const char *const reserved[] = {"srv__echo", "mcp__srv__echo", "web__go",
                                           "mcp__web__go"};
    static const char *const own[] = {"echo", "fs.write", "srv__", "srv_echo", "other__echo"};
    struct wbi_name_in in[12] = {MCP("bare", "echo"), MCP("bare", "fs.write"), MCP("srv", "echo")};
    char qualified[9][40];
    struct wbi_names *names;

    (void)state;
    in[0].prefix = in[1].prefix = WBI_LIT("");
    for (size_t i = 0; i < 9; i++) {
        (void)snprintf(qualified[i], sizeof(qualified[i]), "local::%s",
                       i < 4 ? reserved[i] : own[i - 4]);
        in[i + 3] = (struct wbi_name_in){.qualified = wbi_str_z(qualified[i])};
    }
    for (size_t told = 0; told < 2; told++) {
        size_t without = told ? 0 : 3;

        assert_int_equal(wbi_names_new(in + without, 12 - without, &servers, &names, NULL), WB_OK);
        for (size_t i = 0; i < WBI_COUNT(reserved); i++) {
            const struct wbi_name *found = find(names, reserved[i]);
            const struct wbi_name *local = find(names, qualified[i]);

            assert_true(found == NULL || found->parts.origin == WBI_NAME_MCP);
            assert_int_equal(local->model.n, strlen(reserved[i]) + 9);
        }
        for (size_t i = 0; i < WBI_COUNT(own); i++)
            assert_ptr_equal(find(names, own[i]), find(names, qualified[i + 4]));
        wbi_names_free(names);
    }
}

static void colliding_and_long_names_get_a_hash(void **state)
{
    static const struct wbi_name_in in[] = {
        LOCAL("fs.write"),
        LOCAL("fs/write"),
        MCP("a", "b__c"),
        MCP("a__b", "c"),
        LOCAL("fs write"),
        LOCAL("as_it_is"),
        LOCAL("as.it.is"),
        MCP("s", "a_tool_whose_name_is_much_longer_than_sixty_four_characters_can_hold"),
    };
    struct wbi_names *names = names_of(in, WBI_COUNT(in));

    (void)state;
    assert_model(names, "local::as_it_is", "as_it_is");
    assert_null(wbi_names_at(names, WBI_COUNT(in)));
    for (size_t i = 0; i < WBI_COUNT(in); i++) {
        const struct wbi_name *name = wbi_names_at(names, i);
        assert_non_null(name);
        assert_true(wbi_name_is_model_name(name->model));
        assert_ptr_equal(wbi_names_find(names, WBI_NONE, name->model), name);
    }
    assert_int_equal(find(names, in[7].qualified.p)->model.n, 64);
    assert_null(find(names, "fs_write"));     /* three tools could be meant */
    assert_null(find(names, "mcp__a__b__c")); /* two */
    wbi_names_free(names);
}

static void a_prefix_stands_for_the_server(void **state)
{
    struct wbi_name_in in[] = {MCP("search", "query"), MCP("bare", "run"), MCP("plain", "go")};
    struct wbi_names *names;

    (void)state;
    in[0].prefix = WBI_LIT("web");
    in[1].prefix = WBI_LIT("");
    names = names_of(in, WBI_COUNT(in));
    assert_model(names, "mcp::search::query", "web__query");
    assert_model(names, "mcp::bare::run", "run");
    assert_model(names, "mcp::plain::go", "plain__go");
    assert_non_null(find(names, "mcp__web__query")); /* every spelling still finds it */
    assert_non_null(find(names, "mcp__search__query"));
    assert_non_null(find(names, "search__query"));
    wbi_names_free(names);
}

static void a_name_taken_by_a_hash_gets_a_longer_one(void **state)
{
    struct wbi_name_in in[3] = {LOCAL("a.b"), LOCAL("a/b"), {.qualified = WBI_NONE}};
    struct wbi_names *names = names_of(in, 2);
    char squatter[100];
    struct wbi_str first = find(names, "local::a.b")->model;

    (void)state;
    (void)snprintf(squatter, sizeof(squatter), "local::%.*s", WBI_FMT(first));
    in[2].qualified = wbi_str_z(squatter);
    wbi_names_free(names);
    names = names_of(in, 3);
    assert_model(names, squatter, squatter + 7);
    assert_int_equal(find(names, "local::a.b")->model.n, 3 + 1 + 16);
    wbi_names_free(names);
}

static void order_of_registration_does_not_matter(void **state)
{
    struct wbi_name_in in[] = {LOCAL("fs.write"), LOCAL("fs/write"),  BUILTIN("Notify"),
                               MCP("x", "y"),     LOCAL("x__y"),      MCP("a", "b__c"),
                               MCP("a__b", "c"),  LOCAL("mcp__x__y"), LOCAL("Not.ify"),
                               LOCAL("Not_ify")};
    struct wbi_names *names = names_of(in, WBI_COUNT(in));

    (void)state;
    for (size_t turn = 1; turn < WBI_COUNT(in); turn++) {
        struct wbi_names *other;
        struct wbi_name_in first = in[0];
        memmove(in, in + 1, sizeof(in) - sizeof(in[0]));
        in[WBI_COUNT(in) - 1] = first;
        other = names_of(in, WBI_COUNT(in));
        for (size_t i = 0; i < WBI_COUNT(in); i++) {
            const struct wbi_name *a = wbi_names_at(names, i), *b = wbi_names_at(other, i);
            assert_true(wbi_str_eq(a->qualified, b->qualified));
            assert_true(wbi_str_eq(a->model, b->model));
        }
        wbi_names_free(other);
    }
    wbi_names_free(names);
}

static void bad_names_are_refused_with_the_accepted_form(void **state)
{
    static const char *const bad[] = {"",           "plain",    "local::",      "mcp::server",
                                      "mcp::::x",   "mcp::s::", "mcp__s__tool", "local::a\nb",
                                      "local::\xff"};
    struct wbi_name_in twice[] = {LOCAL("a"), LOCAL("a")}, builtin[] = {BUILTIN("a.b")};
    struct wbi_names *names;
    struct wbi_error err;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(bad); i++) {
        struct wbi_name_in in = {.qualified = wbi_str_z(bad[i])};
        assert_int_equal(wbi_names_new(&in, 1, NULL, &names, &err), WB_EINPUT);
        assert_true(err.text[0] != '\0');
    }
    assert_int_equal(wbi_names_new(twice, 2, NULL, &names, &err), WB_EEXISTS);
    assert_int_equal(wbi_names_new(builtin, 1, NULL, &names, &err), WB_EINPUT);
    assert_int_equal(wbi_names_new(NULL, 0, NULL, &names, &err), WB_OK);
    assert_null(find(names, "x"));
    wbi_names_free(names);
}

static void syntax_alone_tells_origin_and_server(void **state)
{
    struct wbi_name_parts p = wbi_name_parts(WBI_LIT("mcp__git__a__b"));

    (void)state;
    assert_int_equal(p.origin, WBI_NAME_MCP);
    assert_true(wbi_str_eqz(p.server, "git") && wbi_str_eqz(p.tool, "a__b"));
    p = wbi_name_parts(WBI_LIT("mcp::git::a::b"));
    assert_true(wbi_str_eqz(p.server, "git") && wbi_str_eqz(p.tool, "a::b"));
    assert_int_equal(wbi_name_parts(WBI_LIT("local::x")).origin, WBI_NAME_LOCAL);
    assert_int_equal(wbi_name_parts(WBI_LIT("git__x")).origin, WBI_NAME_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_tool_has_its_model_name),
        cmocka_unit_test(decoding_accepts_every_spelling_of_an_mcp_tool),
        cmocka_unit_test(the_mcp_reading_of_a_name_wins),
        cmocka_unit_test(names_of_local_tools_do_not_hang_on_what_servers_have_told),
        cmocka_unit_test(colliding_and_long_names_get_a_hash),
        cmocka_unit_test(a_prefix_stands_for_the_server),
        cmocka_unit_test(a_name_taken_by_a_hash_gets_a_longer_one),
        cmocka_unit_test(order_of_registration_does_not_matter),
        cmocka_unit_test(bad_names_are_refused_with_the_accepted_form),
        cmocka_unit_test(syntax_alone_tells_origin_and_server),
    };

    return cmocka_run_group_tests_name("catalog/names", tests, NULL, NULL);
}
