/* SPDX-License-Identifier: Apache-2.0
 * tests/guarded_test.c: approvals, events, frames, redaction and reloading, as a caller
 * of the library sees them. Sentences in quotes are those of seed 001. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api_int.h"
#include "config/config.h"
#include "config/layers_int.h"
#include "support/guarded.h"

static struct guarded g;

static int teardown(void **state)
{
    (void)state;
    guarded_close(&g);
    return 0;
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", g.root, name);
    f = fopen(path, "wbe");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static char *read_text(const char *name)
{
    static char text[64 * 1024];
    char path[128];
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", g.root, name);
    f = fopen(path, "rbe");
    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    return text;
}

static int count(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

static char *view(wb_request *r, wb_view which)
{
    static char text[16384];
    wb_result *result;

    assert_int_equal(wb_call_run(g.runtime, r, &result), WB_OK);
    snprintf(text, sizeof(text), "%s", wb_result_view(result, which, NULL));
    wb_result_free(result);
    return text;
}

/* ---- approvals ---- */

#define ASK "[{\"principal\":\"local\",\"allow\":[\"*\"],\"approval\":{\"local::t\":\"ask\"}}]"

static void pending_id(char id[64])
{
    char *text, *at;
    size_t n;

    assert_int_equal(wb_approvals_list(g.runtime, &text, &n, NULL), WB_OK);
    at = strstr(text, "\"id\":\"");
    assert_non_null(at);
    snprintf(id, 64, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    wb_free(text);
}

/* C3.4: `ask` parks the call; yes lets it go on, no and silence refuse it. */
static void an_approval_ends_in_yes_no_or_silence(void **state)
{
    struct asked a;
    struct scripted *t;
    wb_error *error = NULL;
    char id[64];

    (void)state;
    guarded_open(&g, NULL, ASK, false);
    t = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    ask(&g, &a, "t", 0);
    settle_down(&g);
    assert_int_equal(a.done, 0);
    pending_id(id);
    assert_int_equal(wb_approval_resolve(g.runtime, id, 1, "ann", NULL), WB_OK);
    wait_for(&a);
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    assert_int_equal(wb_approval_resolve(g.runtime, id, 0, "ann", &error), WB_ENOTFOUND);
    wb_error_free(error);
    ask(&g, &a, "t", 0);
    pending_id(id);
    assert_int_equal(wb_approval_resolve(g.runtime, id, 0, NULL, NULL), WB_OK);
    wait_for(&a);
    assert_string_equal(a.kind, "approval_denied");
    assert_string_equal(at(&a, "/error/category"), "\"AuthError\"");
    assert_string_equal(at(&a, "/error/isRetryable"), "false");
    ask(&g, &a, "t", WB_FIELD_DEADLINE, deadline_in(&g, 5), 0);
    guarded_pass_ms(&g, 5);
    wait_for(&a);
    assert_string_equal(a.kind, "approval_denied");
    ask(&g, &a, "t", 0);
    wb_call_cancel(g.runtime, a.id);
    wait_for(&a);
    assert_string_equal(a.kind, "cancelled");
    assert_int_equal(t->runs, 1);
}

struct elsewhere {
    _Atomic int done;
};

static void note_done(wb_result *result, void *arg)
{
    assert_int_equal(wb_result_ok(result), 1);
    ((struct elsewhere *)arg)->done = 1;
}

static void an_approval_is_answered_from_another_thread(void **state)
{
    struct elsewhere over = {0};
    wb_request *r = wb_request_new("t");
    size_t n;
    char *text, id[64];

    (void)state;
    guarded_open(&g, NULL, ASK, true);
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    assert_int_equal(wb_runtime_start(g.runtime, NULL), WB_OK);
    assert_int_equal(wb_call_submit(g.runtime, r, note_done, &over, NULL), WB_OK);
    wb_request_free(r);
    do {
        assert_int_equal(wb_approvals_list(g.runtime, &text, &n, NULL), WB_OK);
        n = strlen(text);
        wb_free(text);
    } while (n <= 2);
    pending_id(id);
    assert_int_equal(wb_approval_resolve(g.runtime, id, 1, "ann", NULL), WB_OK);
    while (over.done == 0)
        usleep(1000);
}

struct voter {
    const char *id;
    int granted;
    wb_rc rc;
};

static void *vote(void *arg)
{
    struct voter *v = arg;
    wb_error *error = NULL;

    v->rc = wb_approval_resolve(g.runtime, v->id, v->granted, "somebody", &error);
    wb_error_free(error);
    return NULL;
}

static void count_outcome(wb_result *result, void *arg)
{
    atomic_int *ends = arg;

    atomic_fetch_add(&ends[wb_result_ok(result) ? 1 : 0], 1);
}

/* Many answers at once: one counts, the others are told that nothing waits any more. */
static void the_first_of_many_answers_counts(void **state)
{
    struct voter voters[8];
    pthread_t threads[8];
    char id[64], *text;
    size_t n;

    (void)state;
    guarded_open(&g, NULL, ASK, false);
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    assert_int_equal(wb_runtime_start(g.runtime, NULL), WB_OK);
    for (int round = 0; round < 20; round++) {
        atomic_int ends[2] = {0, 0};
        int counted = 0, granted = 0;
        wb_request *r = wb_request_new("t");

        assert_int_equal(wb_call_submit(g.runtime, r, count_outcome, ends, NULL), WB_OK);
        wb_request_free(r);
        do {
            assert_int_equal(wb_approvals_list(g.runtime, &text, &n, NULL), WB_OK);
            wb_free(text);
        } while (n <= 2);
        pending_id(id);
        for (int i = 0; i < 8; i++) {
            voters[i] = (struct voter){.id = id, .granted = i % 2};
            assert_int_equal(pthread_create(&threads[i], NULL, vote, &voters[i]), 0);
        }
        for (int i = 0; i < 8; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_true(voters[i].rc == WB_OK || voters[i].rc == WB_ENOTFOUND);
            counted += voters[i].rc == WB_OK;
            granted += voters[i].rc == WB_OK && voters[i].granted;
        }
        assert_int_equal(counted, 1);
        while (atomic_load(&ends[0]) + atomic_load(&ends[1]) == 0)
            sched_yield();
        assert_int_equal(atomic_load(&ends[1]), granted);
        assert_int_equal(atomic_load(&ends[0]), 1 - granted);
    }
}

/* A deadline is a no, and an answer after it changes nothing. */
static void an_answer_after_the_deadline_is_too_late(void **state)
{
    struct scripted *t;
    struct asked a;
    char id[64];

    (void)state;
    guarded_open(&g, NULL, ASK, false);
    t = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    ask(&g, &a, "t", WB_FIELD_DEADLINE, deadline_in(&g, 5), 0);
    pending_id(id);
    guarded_pass_ms(&g, 5);
    wait_for(&a);
    assert_string_equal(a.kind, "approval_denied");
    assert_string_equal(at(&a, "/error/message"), "\"t was not approved in time\"");
    assert_int_equal(wb_approval_resolve(g.runtime, id, 1, "ann", NULL), WB_ENOTFOUND);
    settle_down(&g);
    assert_int_equal(a.done, 1);
    assert_int_equal(t->runs, 0);
}

/* ---- events ---- */

/* C8.10; "Tracing spans should link on these ids for end-to-end visibility." */
static void events_come_once_each_and_link_to_the_trace(void **state)
{
    struct asked a;
    char *text;

    (void)state;
    guarded_open(&g,
                 "{\"tools\":{\"local::slow\":{\"rate\":{\"count\":1,\"periodMs\":1000}},"
                 "\"local::bad\":{\"circuit\":{\"minCalls\":1,\"openMs\":1000}}}}",
                 NULL, false);
    (void)guarded_tool(&g, "slow", "Pure", NULL, "ok", NULL);
    (void)guarded_tool(&g, "bad", "Pure", NULL, "fail", "ok");
    answer(&g, &a, "slow", WB_FIELD_CORRELATION_ID, "corr-1", WB_FIELD_CAUSATION_ID, "cause-1",
           WB_FIELD_HEADERS,
           "{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}", 0);
    answer(&g, &a, "slow", 0);
    answer(&g, &a, "bad", 0);
    answer(&g, &a, "bad", 0);
    guarded_pass_ms(&g, 1000);
    answer(&g, &a, "bad", 0);
    answer(&g, &a, "nothing", 0);
    text = read_text("events.jsonl");
    assert_int_equal(count(text, "dev.waybill.ToolInvoked"), 6);
    assert_int_equal(count(text, "dev.waybill.ToolSucceeded"), 2);
    assert_int_equal(count(text, "dev.waybill.ToolFailed"), 4);
    assert_int_equal(count(text, "dev.waybill.PolicyApplied"), 6);
    assert_int_equal(count(text, "dev.waybill.RateLimited"), 1);
    assert_int_equal(count(text, "dev.waybill.CircuitOpen"), 1);
    assert_int_equal(count(text, "dev.waybill.CircuitHalfOpen"), 1);
    assert_int_equal(count(text, "dev.waybill.CircuitClosed"), 1);
    assert_int_equal(count(text, "\"correlationid\":\"corr-1\""), 3);
    assert_int_equal(count(text, "\"causationid\":\"cause-1\""), 3);
    assert_int_equal(count(text, "00-0af7651916cd43dd8448eb211c80319c-"), 3);
    assert_int_equal(count(text, "b7ad6b7169203331"), 0); /* a span of its own */
}

static void events_that_cannot_be_opened_are_refused_at_the_start(void **state)
{
    wb_options *o = wb_options_new();
    wb_error *error = NULL;
    wb_runtime *runtime;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    assert_int_equal(wb_options_set(o, WB_OPT_BARE, "1"), WB_OK);
    assert_int_equal(wb_options_set(o, WB_OPT_EVENTS, "/nowhere/at/all"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, &error), WB_ESTATE);
    assert_non_null(strstr(wb_error_text(error), "/nowhere/at/all"));
    wb_error_free(error);
    error = NULL;
    assert_int_equal(wb_options_set(o, WB_OPT_EVENTS, "987654"), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, &error), WB_ESTATE);
    wb_error_free(error);
    wb_options_free(o);
}

/* ---- frames ---- */

/* C8.9 */
static void heartbeats_come_while_a_call_runs(void **state)
{
    struct asked a;
    struct scripted *t;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    t = guarded_tool(&g, "t", "Pure", NULL, "hold", NULL);
    ask(&g, &a, "t", WB_FIELD_HEARTBEAT_MS, "1", 0);
    while (strstr(a.frames, "\"sequence\":1,\"event\":\"heartbeat\"") == NULL)
        (void)wb_runtime_turn(g.runtime, 1);
    scripted_finish(t, 0);
    wait_for(&a);
    assert_int_equal(count(a.frames, "\"event\":\"completed\""), 1);
    assert_non_null(strstr(a.frames, "\"sequence\":0,"));
    assert_int_equal(strncmp(strrchr(a.frames, '{'), "{\"callId\"", 9), 0); /* the last one */
}

/* ---- redaction ---- */

/* "Apply redaction before emitting events, traces, or ledger writes." "`metadata?` —
 * caller-supplied opaque key/values for audit (policy may redact/limit)." */
static void rules_of_policy_reach_the_record(void **state)
{
    wb_request *r = wb_request_new("t");
    char *text;

    (void)state;
    guarded_open(&g, "{\"tools\":{\"local::t\":{\"redact\":[\"who.name\",\"metadata.run\"]}}}",
                 NULL, false);
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    assert_int_equal(wb_request_set(r, WB_FIELD_INPUT, "{\"who\":{\"name\":\"Ada\",\"age\":36}}"),
                     WB_OK);
    assert_int_equal(wb_request_set(r, WB_FIELD_METADATA, "{\"run\":\"Lovelace\"}"), WB_OK);
    text = view(r, WB_VIEW_RECORD);
    assert_null(strstr(text, "Ada"));
    assert_null(strstr(text, "Lovelace"));
    assert_non_null(strstr(text, "\"age\":36"));
    assert_non_null(strstr(text, "{\"type\":\"ToolInvoked\",\"time\":"));
    assert_null(strstr(text, "specversion")); /* events in short */
    wb_request_free(r);
}

/* C8.8: whatever leaves the runtime has lost what the paths name: input, output, details,
 * frames and what is replayed; wildcards and quoted names included. */
static void leak(wb_tool_call *call, void *arg)
{
    static const char partial[] = "{\"users\":[{\"mail\":\"m1@x.y\",\"id\":1}]}";
    static const char out[] = "{\"users\":[{\"id\":2},{\"mail\":\"m2@x.y\",\"id\":3}],"
                              "\"a.b\":{\"pin\":9081726354}}";

    wb_tool_partial(call, partial, sizeof(partial) - 1);
    if (*(const int *)arg)
        wb_tool_fail(call, NULL, "no", "{\"users\":[{\"mail\":{\"at\":\"m3@x.y\"}}],\"n\":5}");
    else
        wb_tool_finish_json(call, out, sizeof(out) - 1);
}

static char seen_frames[4096];

static void keep_frame(const char *frame, size_t size, void *arg)
{
    size_t used = strlen(seen_frames);

    (void)arg;
    snprintf(seen_frames + used, sizeof(seen_frames) - used, "%.*s\n", (int)size, frame);
}

static void paths_are_redacted_on_every_surface(void **state)
{
    static const wb_view views[] = {WB_VIEW_RESULT, WB_VIEW_RECORD, WB_VIEW_CANONICAL,
                                    WB_VIEW_RECEIPT, WB_VIEW_ENVELOPE};
    int fails = 0;
    wb_request *r = wb_request_new("leak");
    char *text;

    (void)state;
    guarded_open(&g,
                 "{\"environment\":{\"redact\":[\"users[*].mail\"]},"
                 "\"tools\":{\"local::leak\":{\"redact\":[\"[\\\"a.b\\\"].pin\"]}}}",
                 NULL, true);
    assert_int_equal(wb_tool_register(g.runtime,
                                      "{\"name\":\"leak\",\"description\":\"For tests.\","
                                      "\"version\":\"1.0.0\",\"inputSchema\":{\"type\":\"object\"},"
                                      "\"effect\":\"IdempotentWrite\"}",
                                      NULL, leak, NULL, &fails, NULL),
                     WB_OK);
    assert_int_equal(wb_request_set(r, WB_FIELD_INPUT, "{\"users\":[{\"mail\":\"m0@x.y\"}]}"),
                     WB_OK);
    assert_int_equal(wb_request_set_frames(r, keep_frame, NULL), WB_OK);
    for (fails = 0; fails < 2; fails++) {
        assert_int_equal(wb_request_set(r, WB_FIELD_IDEMPOTENCY_KEY, fails ? "f" : "k"), WB_OK);
        for (size_t i = 0; i < 5; i++) { /* the first runs, the others are replays */
            text = view(r, views[i]);
            assert_null(strstr(text, "@x.y"));
            assert_null(strstr(text, "9081726354"));
            if (i > 0)
                continue;
            if (fails)
                assert_non_null(strstr(
                    text,
                    "\"redactions\":[\"invocation.input.users[0].mail\",\"frames.users[0].mail\","
                    "\"error.details.users[0].mail\"]"));
            else
                assert_non_null(strstr(
                    text,
                    "\"redactions\":[\"invocation.input.users[0].mail\",\"frames.users[0].mail\","
                    "\"output.users[1].mail\",\"output[\\\"a.b\\\"].pin\"]"));
        }
    }
    assert_null(strstr(seen_frames, "@x.y"));
    assert_int_equal(
        count(seen_frames, "\"event\":\"partial\",\"data\":{\"users\":[{\"mail\":\"[red"), 2);
    assert_null(strstr(read_text("events.jsonl"), "@x.y"));
    wb_request_free(r);
}

/* "Cache metadata must be omitted/redacted in logs unless explicitly allowed." */
static void cache_metadata_stays_out_of_the_record(void **state)
{
    wb_request *r = wb_request_new("t"), *told = wb_request_new("u");

    (void)state;
    guarded_open(&g,
                 "{\"environment\":{\"cache\":{\"ttlMs\":60000}},"
                 "\"tools\":{\"local::u\":{\"cache\":{\"ttlMs\":60000,\"log\":true}}}}",
                 NULL, false);
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    (void)guarded_tool(&g, "u", "Pure", NULL, "ok", NULL);
    (void)view(r, WB_VIEW_RESULT);
    (void)view(told, WB_VIEW_RESULT);
    assert_non_null(strstr(view(r, WB_VIEW_RESULT), "\"cached\":true"));
    assert_null(strstr(view(r, WB_VIEW_RECORD), "cached"));
    assert_int_equal(count(read_text("events.jsonl"), "cacheHit"), 1); /* u's first call: a miss */
    assert_non_null(strstr(view(told, WB_VIEW_RECORD), "\"cached\":true"));
    wb_request_free(r);
    wb_request_free(told);
}

/* C8.7: identical calls wait for the one that runs; when that one is cancelled the next of
 * them runs; other principals share nothing. */
static void a_cancelled_leader_hands_over_to_a_follower(void **state)
{
    struct asked leader, follower, other;
    struct scripted *t;

    (void)state;
    guarded_open(&g, "{\"environment\":{\"cache\":{\"ttlMs\":1000}}}",
                 "[{\"principal\":\"*\",\"allow\":[\"*\"]}]", false);
    t = guarded_tool(&g, "t", "Pure", NULL, "hold", "ok");
    ask(&g, &leader, "t", 0);
    ask(&g, &follower, "t", 0);
    settle_down(&g);
    assert_int_equal(t->runs, 1);
    answer(&g, &other, "t", WB_FIELD_PRINCIPAL, "ann", 0);
    assert_string_equal(at(&other, "/status"), "\"Ok\"");
    assert_string_equal(at(&other, "/cached"), "");
    assert_int_equal(t->runs, 2);
    assert_int_equal(follower.done, 0);
    wb_call_cancel(g.runtime, leader.id);
    wait_for(&leader);
    assert_string_equal(leader.kind, "cancelled");
    wait_for(&follower);
    assert_string_equal(at(&follower, "/status"), "\"Ok\"");
    assert_int_equal(t->runs, 3);
    g.wall_ms += 3600000; /* the time an outcome is kept is not the wall's */
    answer(&g, &follower, "t", 0);
    assert_string_equal(at(&follower, "/cached"), "true");
    g.mono_ns += INT64_C(1000) * 1000000;
    answer(&g, &follower, "t", 0);
    assert_string_equal(at(&follower, "/cached"), "");
    assert_int_equal(t->runs, 4);
}

/* ---- configuration ---- */

static void a_failed_reload_keeps_the_old_policy_and_says_so(void **state)
{
    struct asked a;
    wb_error *error = NULL;
    char *text;

    (void)state;
    guarded_open(&g, "{\"environment\":{\"timeoutMs\":1000}}", NULL, false);
    (void)guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/policySnapshot/timeoutMs"), "1000");
    write_file("config.json", "{\"policies\":{\"environment\":{\"timeoutMs\":2000}}}");
    assert_int_equal(wb_runtime_reload(g.runtime, NULL), WB_OK);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/policySnapshot/timeoutMs"), "2000");
    write_file("config.json",
               "{\"policies\":\n{\"environment\":{\n\"timeoutMs\":3000,\n\"rate\":{\"count\":0,"
               "\"periodMs\":1}}}}");
    assert_int_equal(wb_runtime_reload(g.runtime, &error), WB_EINPUT);
    assert_non_null(strstr(wb_error_at(error), "config.json"));
    assert_int_equal(wb_error_line(error), 4);
    assert_non_null(strstr(wb_error_text(error), "/environment/rate/count\" must be"));
    wb_error_free(error);
    /* one that could not be started with is wrong, too, whatever it is that is wrong */
    write_file("config.json", "{\"tools\":[{\"name\":\"x\",\"command\":\"true\"}]}");
    assert_int_equal(wb_runtime_reload(g.runtime, &error), WB_EINPUT);
    assert_non_null(strstr(wb_error_text(error), "\"/tools/0/command\" must be an array"));
    wb_error_free(error);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/policySnapshot/timeoutMs"), "2000");
    assert_int_equal(wb_policy_explain(g.runtime, "t", "ann", &text, NULL, NULL), WB_OK);
    assert_non_null(strstr(text, "\"access\":\"hidden\"")); /* no binding, not "local" */
    assert_non_null(
        strstr(text, "\"timeoutMs\":{\"value\":2000,\"from\":{\"layer\":\"environment\""));
    wb_free(text);
}

/* A process that reads its files again and again grows by none of them. */
static void files_that_are_replaced_are_let_go(void **state)
{
    struct wbi_config *first, *second;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    write_file("config.json", "{\"policies\":{\"environment\":{\"timeoutMs\":2000}}}");
    first = wbi_config_ref(g.runtime->rt->config);
    assert_int_equal(wb_runtime_reload(g.runtime, NULL), WB_OK);
    second = wbi_config_ref(g.runtime->rt->config);
    assert_int_equal(wb_runtime_reload(g.runtime, NULL), WB_OK);
    assert_int_equal(atomic_load(&first->refs), 2); /* tools are made of it */
    assert_int_equal(atomic_load(&second->refs), 1);
    wbi_config_unref(first);
    wbi_config_unref(second);
}

/* C8.7: what is cached is still validated and authorized. */
static void a_cached_answer_is_only_for_those_who_may_call(void **state)
{
    static const char policies[] = "{\"environment\":{\"cache\":{\"ttlMs\":60000}}}";
    struct scripted *t;
    struct asked a;
    char text[256];

    (void)state;
    guarded_open(&g, policies, "[{\"principal\":\"*\",\"allow\":[\"*\"]}]", false);
    t = guarded_tool(&g, "t", "Pure", NULL, "ok", NULL);
    answer(&g, &a, "t", 0);
    answer(&g, &a, "t", 0);
    assert_string_equal(at(&a, "/cached"), "true");
    answer(&g, &a, "t", WB_FIELD_PRINCIPAL, "ann", 0); /* has a cache of her own */
    assert_string_equal(at(&a, "/cached"), "");
    snprintf(text, sizeof(text),
             "{\"policies\":%s,\"bindings\":[{\"principal\":\"*\",\"allow\":[\"*\"],"
             "\"deny\":[\"t\"]}]}",
             policies);
    write_file("config.json", text);
    assert_int_equal(wb_runtime_reload(g.runtime, NULL), WB_OK);
    answer(&g, &a, "t", 0);
    assert_string_equal(a.kind, "forbidden");
    answer(&g, &a, "t", WB_FIELD_INPUT, "{\"n\":\"x\"}", 0);
    assert_string_equal(a.kind, "invalid_tool_input");
    assert_int_equal(t->runs, 2);
}

static void stay_in_partials(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_partial(call, "{\"n\":1}", 7);
}

static void stop_in_partials(wb_tool_call *call, void *arg)
{
    (void)arg;
    wb_tool_fail(call, "cancelled", "stopped on request", NULL);
}

/* C8.9: time that runs out in the middle of a stream is an error frame, then the Result. */
static void a_stream_that_runs_out_of_time_ends_in_an_error_frame(void **state)
{
    struct asked a;

    (void)state;
    guarded_open(&g, "{\"environment\":{\"timeoutMs\":50}}", NULL, false);
    assert_int_equal(wb_tool_register(g.runtime,
                                      "{\"name\":\"s\",\"description\":\"For tests.\","
                                      "\"version\":\"1.0.0\",\"effect\":\"Pure\"}",
                                      NULL, stay_in_partials, stop_in_partials, NULL, NULL),
                     WB_OK);
    answer(&g, &a, "s", WB_FIELD_HEARTBEAT_MS, "0", 0);
    assert_string_equal(a.kind, "timed_out");
    assert_string_equal(at(&a, "/output"), "");
    assert_non_null(strstr(a.frames, "\"sequence\":0,\"event\":\"partial\""));
    assert_non_null(strstr(a.frames, "\"sequence\":1,\"event\":\"error\""));
    assert_null(strstr(a.frames, "\"sequence\":2"));
}

/* A call waiting in a queue goes on under the policy it came in with. */
static void calls_under_way_keep_their_policy_over_a_reload(void **state)
{
    struct asked a, b;
    struct scripted *t;

    (void)state;
    guarded_open(&g,
                 "{\"environment\":{\"concurrency\":{\"limit\":1},\"redact\":[\"done\"],"
                 "\"budget\":{\"windowMs\":60000,\"calls\":9,\"id\":\"some-budget\"}}}",
                 NULL, false);
    t = guarded_tool(&g, "t", "Pure", NULL, "hold", NULL);
    ask(&g, &a, "t", 0);
    ask(&g, &b, "t", 0);
    settle_down(&g);
    write_file("config.json", "{}");
    assert_int_equal(wb_runtime_reload(g.runtime, NULL), WB_OK);
    scripted_finish(t, 0);
    wait_for(&a);
    settle_down(&g);
    scripted_finish(t, 1);
    wait_for(&b);
    assert_string_equal(at(&b, "/policySnapshot/budgetId"), "\"some-budget\"");
}

/* C2.2: "Set `causationId` when an invocation is triggered by a prior event or tool." The
 * span of the call is there for the tool to pass on. */
static wb_tool_call *seen;
static char seen_trace[64];

static void look(wb_tool_call *call, void *arg)
{
    (void)arg;
    seen = call;
    snprintf(seen_trace, sizeof(seen_trace), "%s", wb_tool_call_traceparent(call));
    wb_tool_finish_json(call, "{}", 2);
}

static void a_tool_gets_the_trace_to_pass_on(void **state)
{
    struct asked a;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    assert_int_equal(wb_tool_register(g.runtime,
                                      "{\"name\":\"look\",\"description\":\"For tests.\","
                                      "\"version\":\"1.0.0\",\"inputSchema\":{\"type\":\"object\"},"
                                      "\"effect\":\"Pure\"}",
                                      NULL, look, NULL, NULL, NULL),
                     WB_OK);
    answer(&g, &a, "look", WB_FIELD_TRACEPARENT,
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 0);
    assert_non_null(seen);
    assert_int_equal(strncmp(seen_trace, "00-0af7651916cd43dd8448eb211c80319c-", 36), 0);
    assert_null(strstr(seen_trace, "b7ad6b7169203331"));
}

/* C8.4: `cost` of policy is reserved, what the tool says is charged. */
static void spend(wb_tool_call *call, void *arg)
{
    const double *cost = arg;

    if (*cost >= 0)
        wb_tool_cost(call, *cost);
    wb_tool_finish_json(call, "{}", 2);
}

static void a_budget_of_cost_is_charged_what_a_call_takes(void **state)
{
    double cost = -1;
    struct asked a;

    (void)state;
    guarded_open(&g,
                 "{\"environment\":{\"budget\":{\"windowMs\":60000,\"cost\":1}},"
                 "\"tools\":{\"local::spend\":{\"cost\":0.25}}}",
                 NULL, false);
    assert_int_equal(wb_tool_register(g.runtime,
                                      "{\"name\":\"spend\",\"description\":\"For tests.\","
                                      "\"version\":\"1.0.0\",\"inputSchema\":{\"type\":\"object\"},"
                                      "\"effect\":\"Pure\"}",
                                      NULL, spend, NULL, &cost, NULL),
                     WB_OK);
    answer(&g, &a, "spend", 0); /* 0.25 */
    cost = 0;
    for (int i = 0; i < 9; i++)
        answer(&g, &a, "spend", 0); /* free of charge, it says */
    cost = 0.5;
    answer(&g, &a, "spend", 0); /* 0.75 */
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    cost = 3;
    answer(&g, &a, "spend", 0); /* exactly enough for what policy estimates */
    assert_string_equal(at(&a, "/status"), "\"Ok\"");
    answer(&g, &a, "spend", 0);
    assert_string_equal(at(&a, "/error/code"), "\"BudgetExceeded\"");
    assert_int_equal(number_at(&a, "/error/details/resetAfterMs"), 60000);
    assert_string_equal(at(&a, "/error/message"), "\"the cost of budget environment is spent\"");
}

#define PARTIALS 100

static void *produce(void *arg)
{
    char text[32];

    wb_tool_partial(arg, "no json", 7); /* left out */
    for (int i = 0; i < PARTIALS; i++) {
        int n = snprintf(text, sizeof(text), "{\"n\":%d}", i);
        wb_tool_partial(arg, text, (size_t)n);
    }
    wb_tool_finish_json(arg, "{}", 2);
    return NULL;
}

static void begin_producing(wb_tool_call *call, void *arg)
{
    pthread_t *thread = arg;

    assert_int_equal(pthread_create(thread, NULL, produce, call), 0);
}

/* C8.9: partial output of a library's tool comes in order from whichever thread. */
static void partials_come_in_order_from_another_thread(void **state)
{
    char frame[96];
    const char *from;
    pthread_t thread;
    struct asked a;

    (void)state;
    guarded_open(&g, NULL, NULL, false);
    assert_int_equal(wb_tool_register(g.runtime,
                                      "{\"name\":\"p\",\"description\":\"For tests.\","
                                      "\"version\":\"1.0.0\",\"inputSchema\":{\"type\":\"object\"},"
                                      "\"effect\":\"Pure\"}",
                                      NULL, begin_producing, NULL, &thread, NULL),
                     WB_OK);
    answer(&g, &a, "p", WB_FIELD_HEARTBEAT_MS, "0", WB_FIELD_CORRELATION_ID, "c", 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    from = a.frames;
    for (int i = 0; i < PARTIALS; i++) {
        int n = snprintf(frame, sizeof(frame),
                         "{\"correlationId\":\"c\",\"sequence\":%d,\"event\":\"partial\","
                         "\"data\":{\"n\":%d}}\n",
                         i, i);
        assert_memory_equal(from, frame, (size_t)n);
        from += n;
    }
    assert_int_equal(count(from, "\"event\":\"completed\""), 1);
    assert_int_equal(count(from, "\n"), 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_approval_ends_in_yes_no_or_silence),
        TEST(an_approval_is_answered_from_another_thread),
        TEST(the_first_of_many_answers_counts),
        TEST(an_answer_after_the_deadline_is_too_late),
        TEST(events_come_once_each_and_link_to_the_trace),
        TEST(events_that_cannot_be_opened_are_refused_at_the_start),
        TEST(heartbeats_come_while_a_call_runs),
        TEST(rules_of_policy_reach_the_record),
        TEST(paths_are_redacted_on_every_surface),
        TEST(cache_metadata_stays_out_of_the_record),
        TEST(a_cancelled_leader_hands_over_to_a_follower),
        TEST(a_cached_answer_is_only_for_those_who_may_call),
        TEST(a_stream_that_runs_out_of_time_ends_in_an_error_frame),
        TEST(a_failed_reload_keeps_the_old_policy_and_says_so),
        TEST(files_that_are_replaced_are_let_go),
        TEST(calls_under_way_keep_their_policy_over_a_reload),
        TEST(a_tool_gets_the_trace_to_pass_on),
        TEST(a_budget_of_cost_is_charged_what_a_call_takes),
        TEST(partials_come_in_order_from_another_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
