/* SPDX-License-Identifier: Apache-2.0
 * tests/dispatch_crash_test.c: `waybill dispatch` under mixed load, killed with -9 at
 * random moments, alone and three on one state directory (C1.1, C12.3; rows 111 and
 * 117). WAYBILL_SOAK: how many kills (50 unless told, 1000 for "1"); WAYBILL_SEED
 * repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>

#include "chance.h"
#include "json/json.h"
#include "base/limits.h"
#include "waybill/waybill.h"
#include "workspace.h"

enum { CALLS = 40 };

struct dispatcher {
    pid_t pid;
    int in, out;
    unsigned long number; /* its calls are t-NUMBER-0 … */
    int64_t since;        /* its rows come behind this one */
    bool answered[CALLS];
    char rest[65536];
    size_t rest_n;
};

static const char *tool_of(unsigned long i)
{
    static const char *const tools[] = {"echo", "pure", "echo", "broken", "nosuchtool", "echo"};

    return tools[i % 6];
}

static void feed(struct dispatcher *d)
{
    for (unsigned long i = 0; i < CALLS; i++) {
        char line[200];
        int n = snprintf(line, sizeof(line),
                         "{\"type\":\"tool_use\",\"id\":\"t-%lu-%lu\",\"name\":\"%s\","
                         "\"input\":{\"n\":%lu}}\n",
                         d->number, i, tool_of(i), i);
        assert_int_equal(write(d->in, line, (size_t)n), n); /* the pipe holds all of it */
    }
}

static struct dispatcher start(struct workspace *w, unsigned long number)
{
    struct dispatcher d = {.number = number};
    int in[2], out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    d.pid = fork();
    if (d.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        if (chdir(w->root) == 0)
            execl(getenv("WAYBILL"), "waybill", "dispatch", "--parallel", "4", (char *)NULL);
        _exit(99);
    }
    assert_true(d.pid > 0);
    close(in[0]);
    close(out[1]);
    d.in = in[1];
    d.out = out[0];
    feed(&d);
    return d;
}

static void take_answer(struct dispatcher *d, char *line)
{
    char *at = strstr(line, "\"tool_use_id\":\"t-");
    unsigned long number, i;
    char *end;

    if (at == NULL)
        fail_msg("no answer: %s", line);
    number = strtoul(at + strlen("\"tool_use_id\":\"t-"), &end, 10);
    i = strtoul(end + 1, NULL, 10);
    assert_int_equal(number, d->number);
    assert_true(i < CALLS);
    if (d->answered[i])
        fail_msg("call %lu was answered twice", i);
    d->answered[i] = true;
}

/* What stands in the pipe; waits for at most ms when there is nothing. false: its end. */
static bool drain(struct dispatcher *d, int ms)
{
    struct pollfd p = {.fd = d->out, .events = POLLIN};
    char *line;
    ssize_t n;

    if (poll(&p, 1, ms) != 1)
        return true;
    n = read(d->out, d->rest + d->rest_n, sizeof(d->rest) - d->rest_n - 1);
    if (n <= 0)
        return false;
    d->rest_n += (size_t)n;
    d->rest[d->rest_n] = '\0';
    line = d->rest;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        take_answer(d, line);
    }
    d->rest_n -= (size_t)(line - d->rest);
    memmove(d->rest, line, d->rest_n);
    return true;
}

static void end(struct dispatcher *d)
{
    int status;

    while (drain(d, 30000))
        ;
    close(d->in);
    close(d->out);
    assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
}

/* ---- what the ledger says ---- */

struct tally {
    struct wbi_arena *arena;
    struct dispatcher *who; /* NULL: only count */
    unsigned intents[CALLS], outcomes[CALLS];
    bool good[CALLS]; /* its outcome is not outcome_unknown */
    size_t rows, unknown;
};

static void take_row(const char *line, size_t size, void *arg)
{
    struct tally *t = arg;
    const wbi_json *row;
    struct wbi_str id;
    char text[64];
    unsigned long number, i;
    char *at;

    wbi_arena_reset(t->arena);
    assert_int_equal(wbi_json_read(t->arena, wbi_str_make(line, size), WBI_JSON_STRICT, &row, NULL),
                     WB_OK);
    t->rows++;
    id = wbi_json_get_str(row, "provider_call_id");
    snprintf(text, sizeof(text), "%.*s", WBI_FMT(id));
    if (strncmp(text, "t-", 2) != 0)
        return;
    number = strtoul(text + 2, &at, 10);
    i = strtoul(at + 1, NULL, 10);
    if (wbi_str_eqz(wbi_json_get_str(row, "error_kind"), "outcome_unknown"))
        t->unknown++;
    if (t->who == NULL || number != t->who->number)
        return;
    if (wbi_str_eqz(wbi_json_get_str(row, "kind"), "intent")) {
        t->intents[i]++;
        return;
    }
    t->outcomes[i]++;
    t->good[i] = !wbi_str_eqz(wbi_json_get_str(row, "error_kind"), "outcome_unknown");
}

static wb_ledger *open_state(struct workspace *w)
{
    wb_options *o = wb_options_new();
    wb_ledger *l = NULL;
    wb_error *error = NULL;

    assert_non_null(o);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, w->root), WB_OK);
    if (wb_ledger_open(o, WB_LEDGER_READ, &l, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
    wb_options_free(o);
    return l;
}

static void read_rows(struct workspace *w, int64_t *after, struct tally *t)
{
    wb_ledger *l = open_state(w);
    wb_error *error = NULL;

    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &t->arena), WB_OK);
    if (wb_ledger_rows(l, NULL, after, take_row, t, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
    wbi_arena_free(t->arena);
    wb_ledger_free(l);
}

/* d is dead: nothing answered is lost, everything accepted has ended once. */
static void check(struct workspace *w, struct dispatcher *d, int64_t *after)
{
    struct tally t = {.who = d};

    read_rows(w, after, &t);
    for (unsigned long i = 0; i < CALLS; i++) {
        bool effect = strcmp(tool_of(i), "echo") == 0 || strcmp(tool_of(i), "broken") == 0;
        if (t.outcomes[i] > 1 || t.intents[i] > 1)
            fail_msg("call %lu has %u intents and %u outcomes", i, t.intents[i], t.outcomes[i]);
        if (t.intents[i] == 1 && t.outcomes[i] != 1)
            fail_msg("call %lu was accepted and has no outcome", i);
        if (effect && d->answered[i] && !(t.outcomes[i] == 1 && t.good[i]))
            fail_msg("call %lu was answered, and its outcome was lost", i);
    }
}

static void assert_sound(struct workspace *w)
{
    if (ws_run(w, "ledger verify") != 0)
        fail_msg("verify: %s%s", w->out, w->err);
}

static void kill_now(struct dispatcher *d)
{
    kill(d->pid, SIGKILL);
    end(d);
}

static size_t count(const struct dispatcher *d)
{
    size_t n = 0;

    for (size_t i = 0; i < CALLS; i++)
        n += d->answered[i];
    return n;
}

static void nothing_answered_is_lost_by_kill_9(void **state)
{
    unsigned long rounds = soak(1000);
    size_t answered = 0;
    struct workspace w;
    int64_t after = 0;

    (void)state;
    chance_start();
    ws_init(&w);
    for (unsigned long round = 1; round <= rounds; round++) {
        struct dispatcher d = start(&w, round);
        unsigned long wanted = chance(CALLS);
        while (count(&d) < wanted && drain(&d, 10000))
            ;
        (void)poll(NULL, 0, (int)chance(4));
        kill_now(&d);
        answered += count(&d);
        check(&w, &d, &after);
        if (round % 10 == 0 || round == rounds)
            assert_sound(&w);
    }
    print_message("%lu kills, %zu answers kept\n", rounds, answered);
    ws_fini(&w);
}

static void three_processes_lose_only_the_dead_ones_calls(void **state)
{
    unsigned long rounds = soak(1000), next = 1000;
    struct dispatcher d[3];
    struct workspace w;
    struct tally t = {.who = NULL};
    int64_t from_start = 0, seen = 0;
    size_t answered = 0;

    (void)state;
    ws_init(&w);
    for (int i = 0; i < 3; i++)
        d[i] = start(&w, next++);
    for (unsigned long round = 1; round <= rounds; round++) {
        unsigned long victim = chance(3), wanted = chance(CALLS);
        int64_t after = d[victim].since;
        while (count(&d[victim]) < wanted && drain(&d[victim], 10000))
            ;
        kill_now(&d[victim]);
        answered += count(&d[victim]);
        check(&w, &d[victim], &after);
        if (round % 10 == 0)
            assert_sound(&w);
        d[victim] = start(&w, next++);
        d[victim].since = seen;
        seen = after;
    }
    for (int i = 0; i < 3; i++) { /* never killed: everything is answered and none unknown */
        struct tally own = {.who = &d[i]};
        int64_t after = d[i].since;
        int in = d[i].in;
        d[i].in = open("/dev/null", O_WRONLY | O_CLOEXEC);
        close(in);
        end(&d[i]);
        assert_int_equal(count(&d[i]), CALLS);
        read_rows(&w, &after, &own);
        for (size_t c = 0; c < CALLS; c++)
            assert_true(own.outcomes[c] == 1 && own.good[c]);
    }
    assert_sound(&w);
    read_rows(&w, &from_start, &t);
    print_message("%lu kills among three, %zu answers kept, %zu of %zu rows close unknown calls\n",
                  rounds, answered, t.unknown, t.rows);
    ws_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_answered_is_lost_by_kill_9),
        cmocka_unit_test(three_processes_lose_only_the_dead_ones_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
