/* SPDX-License-Identifier: Apache-2.0
 * guard/authorize_test.c: bindings, gates, approvals (C3.4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/limits.h"
#include "guard/approvals.h"
#include "guard/authorize.h"

struct world {
    struct wbi_arena *arena;
    struct wbi_auth *auth;
};

static int setup(void **state)
{
    static struct world w;

    *state = &w;
    return wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &w.arena) == WB_OK && wbi_auth_new(&w.auth) == WB_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    struct world *w = *state;

    wbi_auth_free(w->auth);
    wbi_arena_free(w->arena);
    return 0;
}

static wb_rc add(struct world *w, const char *text, enum wbi_policy_trust trust,
                 struct wbi_error *err)
{
    const wbi_json *v;

    assert_int_equal(wbi_json_read(w->arena, wbi_str_z(text), WBI_JSON_STRICT, &v, err), WB_OK);
    return wbi_auth_add(w->auth, v, trust, err);
}

static struct wbi_auth_answer ask(struct world *w, const char *principal, const char *tool,
                                  enum wbi_guard_effect effect, bool network)
{
    struct wbi_auth_tool t = {.qualified = wbi_str_z(tool), .effect = effect, .network = network};
    struct wbi_auth_answer answer;

    wbi_authorize(w->auth, wbi_str_z(principal), &t, &answer);
    /* the list a principal sees and what it may call are the same set */
    assert_int_equal(wbi_auth_lists(w->auth, wbi_str_z(principal), &t),
                     answer.verdict == WBI_AUTH_ALLOWED || answer.verdict == WBI_AUTH_ASK);
    assert_false(wbi_kind_row(answer.kind)->retryable); /* never retryable */
    return answer;
}

static enum wbi_auth_verdict verdict(struct world *w, const char *principal, const char *tool)
{
    return ask(w, principal, tool, WBI_GUARD_PURE, false).verdict;
}

static void without_bindings_local_may_do_everything_and_others_nothing(void **state)
{
    struct world *w = *state;

    assert_int_equal(verdict(w, "local", "mcp::x::y"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "eve", "mcp::x::y"), WBI_AUTH_HIDDEN);
    assert_int_equal(add(w, "[]", WBI_POLICY_TRUSTED, NULL), WB_OK);
    assert_int_equal(verdict(w, "local", "mcp::x::y"), WBI_AUTH_HIDDEN); /* empty allows nothing */
}

/* S1 AuthError "Missing/invalid credentials, forbidden scope/binding." */
static void globs_allow_deny_wins_and_the_rest_is_hidden(void **state)
{
    struct world *w = *state;
    struct wbi_auth_answer answer;

    assert_int_equal(add(w,
                         "[{\"principal\":\"ci-*\",\"allow\":[\"local::*\",\"MCP::git::*\"],"
                         "\"deny\":[\"*Delete*\"]},"
                         "{\"principal\":[\"ci-1\",\"ann\"],\"allow\":[\"mcp::db::delete\"]},"
                         "{\"principal\":\"nobody\",\"allow\":[]}]",
                         WBI_POLICY_TRUSTED, NULL),
                     WB_OK);
    assert_int_equal(verdict(w, "ci-1", "local::ReadFile"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "CI-1", "mcp::GIT::push"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "ci-1", "mcp::other::x"), WBI_AUTH_HIDDEN);
    answer = ask(w, "ci-1", "mcp::db::delete", WBI_GUARD_PURE, false);
    assert_int_equal(answer.verdict, WBI_AUTH_DENIED); /* although another binding allows it */
    assert_int_equal(answer.kind, WBI_KIND_FORBIDDEN);
    assert_int_equal(verdict(w, "ann", "mcp::db::delete"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "nobody", "local::ReadFile"), WBI_AUTH_HIDDEN);
    answer = ask(w, "stranger", "local::ReadFile", WBI_GUARD_PURE, false);
    assert_int_equal(answer.kind, WBI_KIND_UNKNOWN_TOOL);
}

/* A name that has an effect under `policies` has it under `bindings`, above all in `deny`. */
static void a_local_tool_goes_by_its_own_name(void **state)
{
    struct world *w = *state;

    assert_int_equal(add(w,
                         "[{\"principal\":\"ann\",\"allow\":[\"*\"],\"deny\":[\"fs.write\"]},"
                         "{\"principal\":\"bob\",\"allow\":[\"fs.*\"],"
                         "\"approval\":{\"FS.write\":\"ask\"}}]",
                         WBI_POLICY_TRUSTED, NULL),
                     WB_OK);
    assert_int_equal(verdict(w, "ann", "local::fs.write"), WBI_AUTH_DENIED);
    assert_int_equal(verdict(w, "ann", "local::fs.read"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "ann", "mcp::a::fs.write"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "bob", "local::fs.write"), WBI_AUTH_ASK);
    assert_int_equal(verdict(w, "bob", "local::fs.read"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "bob", "mcp::a::fs.read"), WBI_AUTH_HIDDEN);
}

/* Who allows a server's tool does not mean a local one that calls itself so. */
static void a_local_tool_gets_nothing_by_the_name_of_a_servers(void **state)
{
    static const char *const tools[] = {"local::git__push", "local::MCP::git::push"};
    struct world *w = *state;

    assert_int_equal(add(w,
                         "[{\"principal\":\"ann\",\"allow\":[\"git__push\",\"mcp::git::*\"]},"
                         "{\"principal\":\"bob\",\"allow\":[\"*\"],"
                         "\"approval\":{\"*\":\"ask\",\"git__push\":\"allow\","
                         "\"mcp::git::*\":\"allow\"}},"
                         "{\"principal\":\"cy\",\"allow\":[\"local::*\"],"
                         "\"deny\":[\"git__push\",\"mcp::git::*\"]}]",
                         WBI_POLICY_TRUSTED, NULL),
                     WB_OK);
    assert_int_equal(verdict(w, "ann", "mcp::git::push"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "bob", "mcp::git::push"), WBI_AUTH_ALLOWED);
    for (size_t i = 0; i < WBI_COUNT(tools); i++) {
        assert_int_equal(verdict(w, "ann", tools[i]), WBI_AUTH_HIDDEN);
        assert_int_equal(verdict(w, "bob", tools[i]), WBI_AUTH_ASK);
        assert_int_equal(verdict(w, "cy", tools[i]), WBI_AUTH_DENIED);
    }
}

static void effects_and_network_are_gated(void **state)
{
    struct world *w = *state;

    assert_int_equal(add(w,
                         "[{\"principal\":\"r\",\"allow\":[\"*\"],\"effects\":[\"Pure\"],"
                         "\"network\":false}]",
                         WBI_POLICY_TRUSTED, NULL),
                     WB_OK);
    assert_int_equal(ask(w, "r", "t", WBI_GUARD_PURE, false).verdict, WBI_AUTH_ALLOWED);
    assert_int_equal(ask(w, "r", "t", WBI_GUARD_IDEMPOTENT_WRITE, false).kind, WBI_KIND_FORBIDDEN);
    assert_int_equal(ask(w, "r", "t", WBI_GUARD_PURE, true).kind, WBI_KIND_FORBIDDEN);
}

static void scopes_and_credentials_are_needed(void **state)
{
    struct wbi_auth_tool t = {.qualified = WBI_LIT("t")};
    struct world *w = *state;
    struct wbi_auth_answer answer;

    assert_int_equal(wbi_json_read(w->arena, WBI_LIT("[\"repo:read\",\"repo:write\"]"),
                                   WBI_JSON_STRICT, &t.scopes, NULL),
                     WB_OK);
    assert_int_equal(add(w,
                         "[{\"principal\":\"a\",\"allow\":[\"*\"],\"scopes\":[\"repo:read\"]},"
                         "{\"principal\":\"b\",\"allow\":[\"*\"],\"scopes\":[\"repo:*\"]}]",
                         WBI_POLICY_TRUSTED, NULL),
                     WB_OK);
    wbi_authorize(w->auth, WBI_LIT("a"), &t, &answer);
    assert_int_equal(answer.kind, WBI_KIND_FORBIDDEN);
    assert_non_null(strstr(answer.message, "repo:write"));
    wbi_authorize(w->auth, WBI_LIT("b"), &t, &answer);
    assert_int_equal(answer.verdict, WBI_AUTH_ALLOWED);
    t.missing_credential = WBI_LIT("GIT_TOKEN");
    wbi_authorize(w->auth, WBI_LIT("b"), &t, &answer);
    assert_int_equal(answer.kind, WBI_KIND_UNAUTHORIZED);
}

static void approval_rules_allow_ask_or_deny(void **state)
{
    struct world *w = *state;

    assert_int_equal(add(w,
                         "[{\"principal\":\"*\",\"allow\":[\"*\"],\"approval\":{\"*\":\"ask\","
                         "\"local::read*\":\"allow\",\"local::rm\":\"deny\"}}]",
                         WBI_POLICY_TRUSTED, NULL),
                     WB_OK);
    assert_int_equal(verdict(w, "a", "local::exec"), WBI_AUTH_ASK);
    assert_int_equal(verdict(w, "a", "local::readfile"), WBI_AUTH_ALLOWED);
    assert_int_equal(ask(w, "a", "local::rm", WBI_GUARD_PURE, false).kind,
                     WBI_KIND_APPROVAL_DENIED);
    /* a stricter binding wins over a milder one */
    assert_int_equal(add(w, "[{\"principal\":\"a\",\"approval\":{\"*\":\"ask\"}}]",
                         WBI_POLICY_TIGHTEN_ONLY, NULL),
                     WB_OK);
    assert_int_equal(verdict(w, "a", "local::readfile"), WBI_AUTH_ASK);
}

static void an_untrusted_file_gives_nothing(void **state)
{
    struct world *w = *state;

    assert_int_equal(add(w,
                         "[{\"principal\":\"*\",\"allow\":[\"local::*\"],\"deny\":[\"local::rm\"],"
                         "\"effects\":[\"Pure\"]}]",
                         WBI_POLICY_TIGHTEN_ONLY, NULL),
                     WB_OK);
    assert_int_equal(verdict(w, "local", "local::read"), WBI_AUTH_ALLOWED);
    assert_int_equal(verdict(w, "local", "mcp::x::y"), WBI_AUTH_HIDDEN);
    assert_int_equal(verdict(w, "local", "local::rm"), WBI_AUTH_DENIED);
    assert_int_equal(verdict(w, "eve", "local::read"), WBI_AUTH_HIDDEN);
    assert_int_equal(ask(w, "local", "local::w", WBI_GUARD_IDEMPOTENT_WRITE, false).verdict,
                     WBI_AUTH_DENIED);
}

static void bad_bindings_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *text, *at;
    } bad[] = {
        {"{}", ""},
        {"[1]", "/0"},
        {"[{\"principal\":\"a\"},{\"principal\":5}]", "/1/principal"},
        {"[{\"principal\":\"a\",\"allows\":[]}]", "/0/allows"},
        {"[{\"principal\":\"a\",\"allow\":\"*\"}]", "/0/allow"},
        {"[{\"principal\":\"a\",\"effects\":[\"pure\"]}]", "/0"},
        {"[{\"principal\":\"a\",\"approval\":{\"*\":\"maybe\"}}]", "/0/approval"},
        {"[{\"principal\":\"a\",\"network\":\"no\"}]", "/0"},
    };
    struct world *w = *state;

    for (size_t i = 0; i < WBI_COUNT(bad); i++) {
        struct wbi_error err = WBI_ERROR_INIT;
        assert_int_equal(add(w, bad[i].text, WBI_POLICY_TRUSTED, &err), WB_EINPUT);
        assert_string_equal(err.at, bad[i].at);
        assert_int_equal(verdict(w, "local", "t"), WBI_AUTH_ALLOWED); /* nothing was taken */
    }
}

/* ---- approvals ---- */

struct ended {
    int times;
    enum wbi_approval_end how;
    struct wbi_approvals *reenter;
};

static void on_end(void *arg, const struct wbi_approval *approval, enum wbi_approval_end how,
                   struct wbi_str who)
{
    struct ended *e = arg;

    (void)who;
    e->times++;
    e->how = how;
    if (e->reenter != NULL) /* already over: cannot end twice */
        assert_int_equal(wbi_approvals_resolve(e->reenter, wbi_str_z(approval->id), true, WBI_NONE),
                         WB_ENOTFOUND);
}

static void approvals_end_once_and_a_deadline_counts_as_no(void **state)
{
    uint64_t counter = 0;
    struct wbi_ids ids = wbi_ids_counting(&counter);
    struct wbi_approval like = {.tool = WBI_LIT("local::exec"),
                                .principal = WBI_LIT("ann"),
                                .text = WBI_LIT("rm -rf build"),
                                .created_ns = 1,
                                .deadline_ns = 100};
    struct ended e[4] = {0};
    char id[4][WBI_ID_SIZE];
    struct wbi_approvals *a;

    (void)state;
    assert_int_equal(wbi_approvals_new(&ids, &a), WB_OK);
    for (int i = 0; i < 4; i++) {
        like.deadline_ns = 100 + i;
        e[i].reenter = a;
        assert_int_equal(wbi_approvals_create(a, &like, on_end, &e[i], id[i]), WB_OK);
    }
    assert_int_equal(wbi_approvals_count(a), 4);
    assert_true(wbi_str_eqz(wbi_approvals_at(a, 1)->text, "rm -rf build"));
    assert_null(wbi_approvals_at(a, 4));
    assert_int_equal(wbi_approvals_resolve(a, wbi_str_z(id[2]), true, WBI_LIT("bob")), WB_OK);
    assert_int_equal(e[2].how, WBI_APPROVAL_GRANTED);
    assert_int_equal(wbi_approvals_resolve(a, wbi_str_z(id[2]), false, WBI_LIT("bob")),
                     WB_ENOTFOUND);
    assert_int_equal(wbi_approvals_resolve(a, wbi_str_z(id[1]), false, WBI_LIT("bob")), WB_OK);
    assert_int_equal(e[1].how, WBI_APPROVAL_REFUSED);
    assert_int_equal(wbi_approvals_next_wake(a), 100);
    wbi_approvals_tick(a, 99);
    assert_int_equal(e[0].times, 0);
    wbi_approvals_tick(a, 100);
    assert_int_equal(e[0].how, WBI_APPROVAL_EXPIRED);
    wbi_approvals_withdraw(a, wbi_str_z(id[3]));
    wbi_approvals_tick(a, 1000);
    assert_int_equal(e[0].times + e[1].times + e[2].times, 3);
    assert_int_equal(e[3].times, 0);
    wbi_approvals_free(a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_bindings_local_may_do_everything_and_others_nothing),
        TEST(globs_allow_deny_wins_and_the_rest_is_hidden),
        TEST(a_local_tool_goes_by_its_own_name),
        TEST(a_local_tool_gets_nothing_by_the_name_of_a_servers),
        TEST(effects_and_network_are_gated),
        TEST(scopes_and_credentials_are_needed),
        TEST(approval_rules_allow_ask_or_deny),
        TEST(an_untrusted_file_gives_nothing),
        TEST(bad_bindings_are_refused_with_their_place),
        cmocka_unit_test(approvals_end_once_and_a_deadline_counts_as_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
