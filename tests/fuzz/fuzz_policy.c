/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_policy.c: any JSON as policies and as bindings. What is
 * accepted must resolve, be explained as JSON, and be accepted again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "guard/authorize.h"
#include "guard/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_policies(struct wbi_arena *arena, const wbi_json *v)
{
    const struct wbi_policy_effective *e;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_policy *policy;
    const wbi_json *again;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    if (wbi_policy_new(&policy) != WB_OK)
        return;
    wbi_buf_init(&out, WBI_MIB);
    if (wbi_policy_add(policy, v, WBI_LIT("f"), WBI_POLICY_TRUSTED, &err) == WB_OK &&
        wbi_policy_add(policy, v, WBI_LIT("g"), WBI_POLICY_TIGHTEN_ONLY, &err) == WB_OK &&
        wbi_policy_effective(policy, WBI_LIT("mcp::git::push"), WBI_LIT("ci-1"), 30000, &e) ==
            WB_OK) {
        wbi_policy_write_explain(&w, e);
        if (wbi_buf_rc(&out) == WB_OK &&
            wbi_json_read(arena, wbi_buf_str(&out), WBI_JSON_STRICT, &again, &err) != WB_OK)
            abort();
    }
    wbi_buf_fini(&out);
    wbi_policy_free(policy);
}

static void try_bindings(const wbi_json *v)
{
    struct wbi_auth_tool tool = {.qualified = WBI_LIT("mcp::git::push")};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_auth_answer answer;
    struct wbi_auth *auth;

    if (wbi_auth_new(&auth) != WB_OK)
        return;
    if (wbi_auth_add(auth, v, WBI_POLICY_TRUSTED, &err) == WB_OK) {
        wbi_authorize(auth, WBI_LIT("ci-1"), &tool, &answer);
        if (wbi_auth_lists(auth, WBI_LIT("ci-1"), &tool) !=
            (answer.verdict == WBI_AUTH_ALLOWED || answer.verdict == WBI_AUTH_ASK))
            abort();
    }
    wbi_auth_free(auth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_arena *arena;
    const wbi_json *v;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return 0;
    if (wbi_json_read(arena, wbi_str_make((const char *)data, size), WBI_JSON_CONFIG, &v, NULL) ==
        WB_OK) {
        try_policies(arena, v);
        try_bindings(v);
    }
    wbi_arena_free(arena);
    return 0;
}
