/* SPDX-License-Identifier: Apache-2.0
 * tests/guard_crash_test.c: what keys, budgets, approvals and caches know after their
 * process was killed with -9 (C8.6: "an unknown outcome after a crash is not rerun"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdatomic.h>

#include "support/mortal.h"

/* ---- dying at the n-th step: a clock that is read, bytes written, a sync ---- */

static atomic_long countdown; /* 0: nothing happens */

static void step(void)
{
    if (atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1)
        kill(getpid(), SIGKILL);
}

/* These stand in the program itself, so that the libraries call them. */
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);

    if (real == NULL)
        real = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    step();
    return real(fd, p, n, at);
}

int fdatasync(int fd)
{
    static int (*real)(int);

    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    step();
    return real(fd);
}

int fsync(int fd)
{
    static int (*real)(int);

    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    step();
    return real(fd);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
}

static void die_before(wb_tool_call *call, void *arg)
{
    (void)call;
    (void)arg;
    die();
}

static void die_after(wb_tool_call *call, void *arg)
{
    (void)call;
    (void)arg;
    take_effect();
    die();
}

static const char *key_now; /* of the call in the child */
static wb_tool_run_cb run_now;

static void one_call(void)
{
    struct mortal_outcome o;

    (void)call_once(run_now, key_now, &o);
}

static void killed_in(wb_tool_run_cb run, const char *key)
{
    run_now = run;
    key_now = key;
    (void)mortal_killed(one_call, false);
}

/* ---- keys ---- */

static void a_claim_of_a_killed_process_is_unknown_and_never_run_again(void **state)
{
    struct mortal_outcome o;

    (void)state;
    killed_in(die_before, "before");
    assert_int_equal(effects(), 0);
    assert_string_equal(call_once(live, "before", &o), "outcome_unknown");
    assert_int_equal(effects(), 0); /* nobody can tell, so it is not run */
    killed_in(die_after, "after");
    assert_int_equal(effects(), 1);
    assert_string_equal(call_once(live, "after", &o), "outcome_unknown");
    assert_string_equal(call_once(live, "after", &o), "outcome_unknown");
    assert_int_equal(effects(), 1);
}

static void a_completed_key_is_replayed_by_the_next_process(void **state)
{
    struct mortal_outcome o;

    (void)state;
    assert_string_equal(call_once(live, "k", &o), "");
    assert_string_equal(call_once(live, "k", &o), "");
    assert_non_null(strstr(o.text, "\"replayed\":true"));
    assert_non_null(strstr(o.text, "\"output\":{\"done\":true}"));
    assert_int_equal(effects(), 1);
}

static void count_down_call(void)
{
    mortal_clock.on_read = step;
    one_call();
}

/* Where a call was when its process died, told by what the next one finds. */
struct deaths {
    long unclaimed, claimed, executed, stored;
};

static void look_after(struct deaths *d, long before)
{
    struct mortal_outcome o, again;
    const char *kind = call_once(live, key_now, &o);

    if (strstr(o.text, "\"replayed\":true") != NULL) {
        d->stored++;
    } else if (kind[0] == '\0') {
        d->unclaimed++;
    } else {
        assert_string_equal(kind, "outcome_unknown");
        d->executed += effects() > before;
        d->claimed += effects() == before;
    }
    assert_in_range(effects() - before, 0, 1); /* of both calls together */
    assert_string_equal(call_once(live, key_now, &again), kind);
    assert_in_range(effects() - before, 0, 1);
}

/* Killed at one step after the other, from the opening of the runtime to its closing: before
 * the claim, between claim and start, after the effect, while its outcome is stored. */
static void a_call_killed_at_any_step_is_never_run_twice(void **state)
{
    struct deaths d = {0};
    bool killed = true;
    char key[32];

    (void)state;
    run_now = live;
    key_now = "warm";
    one_call(); /* the state directory is there already */
    for (long n = 1; killed; n++) {
        long before = effects();
        snprintf(key, sizeof(key), "k%ld", n);
        key_now = key;
        atomic_store(&countdown, n);
        killed = mortal_killed(count_down_call, true);
        atomic_store(&countdown, 0);
        look_after(&d, before);
    }
    print_message("killed before the claim %ld, claimed %ld, executed %ld, stored %ld\n",
                  d.unclaimed, d.claimed, d.executed, d.stored);
    assert_true(d.unclaimed > 0 && d.claimed > 0 && d.executed > 0 && d.stored > 0);
}

static void fail_once(wb_tool_call *call, void *arg)
{
    (void)arg;
    take_effect();
    wb_tool_fail(call, "upstream_unavailable", "perhaps later", NULL);
}

static void turn_a_while(wb_runtime *runtime)
{
    for (int i = 0; i < 8; i++)
        (void)wb_runtime_turn(runtime, 0);
}

static void die_between_attempts(void)
{
    wb_runtime *runtime = mortal_open("IdempotentWrite", fail_once);
    struct mortal_outcome o;

    mortal_submit(runtime, "k", &o);
    while (effects() == 0)
        (void)wb_runtime_turn(runtime, 0);
    turn_a_while(runtime);
    assert_int_equal(o.done, 0); /* it waits for its second attempt */
    die();
}

static void a_call_killed_between_attempts_is_unknown(void **state)
{
    struct mortal_outcome o;

    (void)state;
    mortal_config("{\"environment\":{\"retry\":{\"maxAttempts\":3,\"baseMs\":60000,\"capMs\":60000,"
                  "\"jitter\":\"none\"}}}",
                  NULL);
    (void)mortal_killed(die_between_attempts, false);
    assert_string_equal(call_once(live, "k", &o), "outcome_unknown");
    assert_int_equal(effects(), 1);
}

static void hold(wb_tool_call *call, void *arg)
{
    (void)call;
    (void)arg;
    take_effect();
}

static void die_in_the_queue(void)
{
    wb_runtime *runtime = mortal_open("IdempotentWrite", hold);
    struct mortal_outcome runs, waits;

    mortal_submit(runtime, "runs", &runs);
    while (effects() == 0)
        (void)wb_runtime_turn(runtime, 0);
    mortal_submit(runtime, "waits", &waits);
    turn_a_while(runtime);
    assert_int_equal(waits.done, 0);
    die();
}

/* A call that waits holds its place and nothing else. */
static void a_call_killed_in_the_queue_has_taken_nothing(void **state)
{
    struct mortal_outcome o;

    (void)state;
    mortal_config("{\"environment\":{\"concurrency\":{\"limit\":1},"
                  "\"budget\":{\"windowMs\":3600000,\"calls\":2,\"id\":\"b\"}}}",
                  NULL);
    (void)mortal_killed(die_in_the_queue, false);
    assert_string_equal(call_once(live, "runs", &o), "outcome_unknown");
    assert_string_equal(call_once(live, "waits", &o), ""); /* the second of two */
    assert_int_equal(effects(), 2);
    assert_string_equal(call_once(live, "more", &o), "budget_exceeded");
}

/* ---- approvals ---- */

static bool somebody_waits(void)
{
    wb_options *o = mortal_options();
    char *text = NULL;
    bool any;

    assert_int_equal(wb_approvals_list_all(o, &text, NULL, NULL), WB_OK);
    any = strstr(text, "approval_") != NULL;
    wb_free(text);
    wb_options_free(o);
    return any;
}

static void die_unanswered(void)
{
    wb_runtime *runtime = mortal_open("IdempotentWrite", live);
    struct mortal_outcome o;
    char *text;

    mortal_submit(runtime, "k", &o);
    for (bool asked = false; !asked; wb_free(text)) {
        (void)wb_runtime_turn(runtime, 0);
        assert_int_equal(wb_approvals_list(runtime, &text, NULL, NULL), WB_OK);
        asked = strstr(text, "approval_") != NULL;
    }
    die();
}

/* Nothing was claimed or spent, nobody waits any more, and a yes is not remembered. */
static void a_call_killed_while_it_asked_has_taken_nothing(void **state)
{
    static const char one[] =
        "{\"environment\":{\"budget\":{\"windowMs\":3600000,\"calls\":1,\"id\":\"b\"}}}";
    struct mortal_outcome o;

    (void)state;
    mortal_config(one, "[{\"principal\":\"*\",\"allow\":[\"*\"],\"approval\":{\"*\":\"ask\"}}]");
    (void)mortal_killed(die_unanswered, false);
    assert_false(somebody_waits());
    assert_int_equal(effects(), 0);
    mortal_config(one, NULL);
    assert_string_equal(call_once(live, "k", &o), "");
    assert_null(strstr(o.text, "\"replayed\""));
    assert_int_equal(effects(), 1);
}

/* ---- the cache ---- */

static void die_in_a_fill(void)
{
    wb_runtime *runtime = mortal_open("Pure", die_after);
    struct mortal_outcome o;

    mortal_submit(runtime, "k", &o);
    for (;;)
        (void)wb_runtime_turn(runtime, 1);
}

/* Pure calls may run again; what was never finished is in no cache, and no one waits for it. */
static void a_cache_fill_that_was_killed_is_run_anew(void **state)
{
    struct mortal_outcome first, second;
    wb_runtime *runtime;

    (void)state;
    mortal_config("{\"environment\":{\"cache\":{\"ttlMs\":60000},"
                  "\"budget\":{\"windowMs\":3600000,\"calls\":2,\"id\":\"b\"}}}",
                  NULL);
    (void)mortal_killed(die_in_a_fill, false);
    runtime = mortal_open("Pure", live);
    mortal_submit(runtime, "k", &first);
    mortal_submit(runtime, "k", &second);
    while (first.done + second.done < 2)
        (void)wb_runtime_turn(runtime, 1);
    wb_runtime_free(runtime);
    assert_string_equal(first.kind, "");
    assert_null(strstr(first.text, "\"cached\""));
    assert_non_null(strstr(second.text, "\"cached\":true")); /* spends nothing */
    assert_int_equal(effects(), 2);
}

/* ---- budgets ---- */

static void a_budget_outlives_its_process(void **state)
{
    struct mortal_outcome o;

    (void)state;
    mortal_config("{\"environment\":{\"budget\":{\"windowMs\":3600000,\"calls\":2,\"id\":\"b\"}}}",
                  NULL);
    killed_in(die_after, "1"); /* charged, whatever became of it */
    assert_string_equal(call_once(live, "2", &o), "");
    assert_string_equal(call_once(live, "3", &o), "budget_exceeded");
    assert_int_equal(effects(), 2);
}

/* A reservation of a killed process stays charged; it is never forgotten, nor taken twice. */
static void a_budget_reserved_by_a_killed_process_stays_charged_once(void **state)
{
    long kept = 0, lost = 0;
    struct mortal_outcome o;
    bool killed = true;
    char config[160];

    (void)state;
    run_now = live;
    key_now = "warm";
    one_call();
    for (long n = 1; killed; n += 3) {
        long before = effects(), more = 0;
        char key[32];
        snprintf(
            config, sizeof(config),
            "{\"environment\":{\"budget\":{\"windowMs\":3600000,\"calls\":2,\"id\":\"b%ld\"}}}", n);
        mortal_config(config, NULL);
        snprintf(key, sizeof(key), "k%ld", n);
        key_now = key;
        atomic_store(&countdown, n);
        killed = mortal_killed(count_down_call, true);
        atomic_store(&countdown, 0);
        for (int i = 0; i < 3; i++) {
            snprintf(key, sizeof(key), "more%ld-%d", n, i);
            more += call_once(live, key, &o)[0] == '\0';
        }
        assert_string_equal(o.kind, "budget_exceeded");
        assert_in_range(effects() - before, 1, 2);
        assert_true(effects() - before == more || more == 1); /* what had an effect was charged */
        kept += more == 2;
        lost += more == 1;
    }
    print_message("not yet charged %ld, charged %ld\n", kept, lost);
    assert_true(kept > 0 && lost > 0);
}

/* Calls with keys of its own until the budget is spent. Returns how many ran. */
static int spend(int who, int calls)
{
    struct mortal_outcome o;
    char key[32];
    int ran = 0;

    for (int i = 0; i < calls; i++) {
        const char *kind;

        snprintf(key, sizeof(key), "%d-%d", who, i);
        kind = call_once(live, key, &o);
        if (kind[0] == '\0')
            ran++;
        else if (strcmp(kind, "budget_exceeded") != 0)
            return 99;
    }
    return ran;
}

/* C8.4: a budget is one for all processes of a state directory; no process overwrites
 * what another has spent. */
static void processes_spend_one_budget_together(void **state)
{
    pid_t child[3];
    int status, ran = 0;

    (void)state;
    mortal_config("{\"environment\":{\"budget\":{\"windowMs\":3600000,\"calls\":11,\"id\":\"b\"}}}",
                  NULL);
    for (int i = 0; i < 3; i++) {
        child[i] = mortal_fork();
        if (child[i] == 0)
            _exit(spend(i, 6));
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 6);
        ran += WEXITSTATUS(status);
    }
    assert_int_equal(ran, 11);
    assert_int_equal(effects(), 11);
    assert_int_equal(spend(3, 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, mortal_setup, mortal_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_claim_of_a_killed_process_is_unknown_and_never_run_again),
        TEST(a_completed_key_is_replayed_by_the_next_process),
        TEST(a_call_killed_at_any_step_is_never_run_twice),
        TEST(a_call_killed_between_attempts_is_unknown),
        TEST(a_call_killed_in_the_queue_has_taken_nothing),
        TEST(a_call_killed_while_it_asked_has_taken_nothing),
        TEST(a_cache_fill_that_was_killed_is_run_anew),
        TEST(a_budget_outlives_its_process),
        TEST(a_budget_reserved_by_a_killed_process_stays_charged_once),
        TEST(processes_spend_one_budget_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
