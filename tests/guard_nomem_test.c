/* SPDX-License-Identifier: Apache-2.0
 * tests/guard_nomem_test.c: a story through all guards in which the n-th allocation
 * fails, for every n: no crash, no leak, nothing left taken. This program
 * brings its own base/alloc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "event/event.h"
#include "event/stream.h"
#include "guard/approvals.h"
#include "guard/authorize.h"
#include "guard/chain.h"

static long left = -1; /* allocations until one fails; negative: never */
static long alive;

static bool refuse(void)
{
    return left >= 0 && left-- == 0;
}

void *wbi_zalloc_array(size_t count, size_t size)
{
    void *p = refuse() ? NULL : calloc(count ? count : 1, size ? size : 1);

    alive += p != NULL;
    return p;
}
void *wbi_zalloc(size_t n)
{
    return wbi_zalloc_array(1, n);
}
void *wbi_alloc(size_t n)
{
    return wbi_zalloc_array(1, n);
}
void *wbi_realloc(void *old, size_t n)
{
    void *p = refuse() ? NULL : realloc(old, n ? n : 1);

    alive += p != NULL && old == NULL;
    return p;
}
void wbi_free(void *p)
{
    alive -= p != NULL;
    free(p);
}
char *wbi_strdup(struct wbi_str s)
{
    char *p = wbi_alloc(s.n + 1);

    if (p != NULL && s.n > 0)
        memcpy(p, s.p, s.n);
    return p;
}

static void on_ready(void *arg, struct wbi_guard_ticket *t, const struct wbi_guard_answer *answer)
{
    (void)arg, (void)t, (void)answer;
}

static void on_end(void *arg, const struct wbi_approval *approval, enum wbi_approval_end how,
                   struct wbi_str who)
{
    (void)arg, (void)approval, (void)how, (void)who;
}

static wb_rc take_line(void *arg, struct wbi_str line, const struct wbi_event_brief *brief)
{
    (void)arg, (void)line, (void)brief;
    return WB_OK;
}

static const char policies[] =
    "{\"environment\":{\"timeoutMs\":1000,\"rate\":{\"count\":99,\"periodMs\":1},"
    "\"providerRate\":{\"count\":99,\"periodMs\":1},\"circuit\":{},\"concurrency\":{\"limit\":2},"
    "\"budget\":{\"windowMs\":9,\"calls\":99},\"retry\":{},\"redact\":[\"a\"],"
    "\"cache\":{\"ttlMs\":9}},\"tools\":{\"*\":{\"redact\":[\"b\"]}}}";
static const char bindings[] =
    "[{\"principal\":\"p\",\"allow\":[\"*\"],\"approval\":{\"x\":\"ask\"}}]";

static void guards_story(const struct wbi_policy_values *values, uint64_t *counter)
{
    static const enum wbi_guard_effect effects[] = {
        WBI_GUARD_PURE, WBI_GUARD_PURE, WBI_GUARD_IDEMPOTENT_WRITE, WBI_GUARD_IDEMPOTENT_WRITE,
        WBI_GUARD_NON_IDEMPOTENT_WRITE};
    static const uint8_t input[32] = {3};
    struct wbi_clock_manual manual = {0};
    struct wbi_guard_parts parts = {.clock = wbi_clock_by_hand(&manual),
                                    .random = wbi_ids_counting(counter)};
    struct wbi_guard_outcome ok = {.class = WBI_GUARD_OK, .stored = WBI_LIT_INIT("{}")};
    struct wbi_guard_ticket t[5] = {0};
    struct wbi_guard_answer answer;
    struct wbi_guard_chain *chain;

    if (wbi_guard_chain_new(&parts, &chain) != WB_OK)
        return;
    for (int i = 0; i < 5; i++) {
        struct wbi_guard_request r = {.tool = WBI_LIT("t"),
                                      .origin = WBI_LIT("o"),
                                      .principal = WBI_LIT("p"),
                                      .effect = effects[i],
                                      .idempotency_key = i == 3 ? WBI_LIT("l") : WBI_LIT("k"),
                                      .input_hash = input,
                                      .deadline_ns = WBI_NO_DEADLINE,
                                      .policy = values,
                                      .on_ready = on_ready};
        wbi_guard_admit(chain, &r, i, &t[i], &answer);
    }
    for (int i = 0; i < 4; i++)
        assert_true(wbi_guard_settle(&t[i], &ok, 10 + i) != WB_EMISUSE);
    for (int i = 0; i < 5; i++)
        wbi_guard_cancel(&t[i], 20);
    assert_int_equal(wbi_guard_waiting(chain), 0);
    wbi_guard_chain_free(chain);
}

static void policy_story(struct wbi_arena *arena, uint64_t *counter)
{
    const struct wbi_policy_effective *e;
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v;
    struct wbi_policy *policy;

    if (wbi_policy_new(&policy) != WB_OK)
        return;
    if (wbi_json_read(arena, wbi_str_z(policies), WBI_JSON_STRICT, &v, &err) == WB_OK &&
        wbi_policy_add(policy, v, WBI_LIT("f"), WBI_POLICY_TRUSTED, &err) == WB_OK &&
        wbi_policy_effective(policy, WBI_LIT("t"), WBI_LIT("p"), 5, &e) == WB_OK)
        guards_story(&e->values, counter);
    wbi_policy_free(policy);
}

static void auth_story(struct wbi_arena *arena, uint64_t *counter)
{
    struct wbi_approval like = {.tool = WBI_LIT("t"), .text = WBI_LIT("x"), .deadline_ns = 5};
    struct wbi_ids ids = wbi_ids_counting(counter);
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_approvals *approvals;
    char id[WBI_ID_SIZE];
    struct wbi_auth *auth;
    const wbi_json *v;

    if (wbi_auth_new(&auth) == WB_OK) {
        if (wbi_json_read(arena, wbi_str_z(bindings), WBI_JSON_STRICT, &v, &err) == WB_OK) {
            wb_rc rc = wbi_auth_add(auth, v, WBI_POLICY_TRUSTED, &err);
            assert_true(rc == WB_OK || rc == WB_ENOMEM);
        }
        wbi_auth_free(auth);
    }
    if (wbi_approvals_new(&ids, &approvals) == WB_OK) {
        wb_rc rc = wbi_approvals_create(approvals, &like, on_end, NULL, id);
        assert_true(rc == WB_OK || rc == WB_ENOMEM);
        wbi_approvals_tick(approvals, 5);
        wbi_approvals_free(approvals);
    }
}

static void event_story(uint64_t *counter)
{
    struct wbi_clock_manual manual = {0};
    struct wbi_events_parts parts = {.sink = {.write = take_line},
                                     .source = WBI_LIT("/w"),
                                     .clock = wbi_clock_by_hand(&manual),
                                     .ids = wbi_ids_counting(counter)};
    struct wbi_event_call call = {.tool = WBI_LIT("t")};
    struct wbi_events *events;
    struct wbi_stream *stream;

    if (wbi_events_new(&parts, &events) == WB_OK) {
        assert_int_equal(wbi_event_invoked(events, &call), WB_OK);
        wbi_events_free(events);
    }
    if (wbi_stream_new(WBI_LIT("c"), 100, NULL, NULL, &stream) == WB_OK) {
        wb_rc rc = wbi_stream_put(stream, WBI_FRAME_PARTIAL, WBI_NONE);
        assert_true(rc == WB_OK || rc == WB_ENOMEM);
        wbi_stream_free(stream);
    }
}

static void any_allocation_may_fail(void **state)
{
    long n = 0;

    (void)state;
    for (bool failed = true; failed && n < 2000; n++) {
        struct wbi_arena *arena;
        uint64_t counter = 0;
        left = n;
        if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) == WB_OK) {
            policy_story(arena, &counter);
            auth_story(arena, &counter);
            event_story(&counter);
            wbi_arena_free(arena);
        }
        failed = left < 0; /* this run reached its failing allocation */
        left = -1;
        assert_int_equal(alive, 0);
    }
    assert_in_range(n, 20, 1999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
