/* SPDX-License-Identifier: Apache-2.0
 * tests/ledger_cli_test.c: the ledger as people and scripts meet it: the binary in a
 * workspace, its output, its exit codes (I2, I3; C12; rows 111 to 130 of the attack
 * list where they can be shown from outside). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>

#include "workspace.h"

static const char *const views[] = {"receipt", "canonical", "result", "envelope", "record"};

/* The first "call_…" in the last output. */
static void first_id(const struct workspace *w, char ret[40])
{
    const char *at = strstr(w->out, "call_");

    assert_non_null(at);
    snprintf(ret, 40, "%.25s", at);
}

static void tamper(const struct workspace *w, const char *sql)
{
    char path[200], *message = NULL;
    sqlite3 *db;

    snprintf(path, sizeof(path), "%s/ledger.db", w->state);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

/* C12.3, I3: "replays a call's surfaces byte for byte" */
static void show_prints_what_call_printed(void **state)
{
    static const char *const calls[] = {"echo --input '{\"a\":[1,2.50,\"\\u00e9\"]}'",
                                        "pure --input '{\"b\":\"two\\nlines\"}'", "broken",
                                        "nosuchtool", "echo --input '{\"a\":1,\"a\":2}'"};
    struct workspace w;

    (void)state;
    ws_init(&w);
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
        for (size_t v = 0; v < 5; v++) {
            char *printed;
            size_t n;
            (void)ws_run(&w, "call %s --call-id id-%zu-%zu --view %s", calls[c], c, v, views[v]);
            printed = w.out;
            n = w.out_n;
            w.out = NULL;
            assert_true(n > 0);
            ws_expect(&w, 0, ws_run(&w, "ledger show id-%zu-%zu --view %s", c, v, views[v]), NULL);
            if (w.out_n != n || memcmp(w.out, printed, n) != 0)
                fail_msg("%s as %s\ncall: %s\nshow: %s", calls[c], views[v], printed, w.out);
            free(printed);
        }
    }
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good");
    ws_fini(&w);
}

/* I2: not found 1, usage 2; I3: "a provider call id if unique" */
static void lists_filter_and_exit_codes_are_as_documented(void **state)
{
    struct workspace w;
    char id[40];

    (void)state;
    ws_init(&w);
    ws_expect(&w, 0, ws_run(&w, "ledger list --json"), "[]");
    ws_expect(&w, 0, ws_run(&w, "call echo --call-id twice"), NULL);
    ws_expect(&w, 0, ws_run(&w, "call pure --call-id twice"), NULL);
    ws_expect(&w, 1, ws_run(&w, "call broken --call-id once"), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger list --json"), "\"status\":\"success\"");
    ws_expect(&w, 0, ws_run(&w, "ledger list"), "TOOL");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --tool pure"), "\"tool\":\"pure\"");
    assert_false(ws_has(w.out, "echo"));
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --tool local::pure"), "\"tool\":\"pure\"");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --tool mcp__pure__pure"), "[]");
    ws_expect(&w, 2, ws_run(&w, "ledger list --error-kind weird"), "no error kind \"weird\"");
    ws_expect(&w, 2, ws_run(&w, "ledger prune --older-than weird"), "older-than must be a time");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --status error"), "tool_execution_failed");
    assert_false(ws_has(w.out, "success"));
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --error-kind tool_execution_failed"), "broken");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --error-kind timed_out"), "[]");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --since 1h --limit 1"), "broken");
    assert_false(ws_has(w.out, "echo"));
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --until 1h"), "[]");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --since 2020-01-01T00:00:00Z"), "echo");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --conversation nobody"), "[]");
    ws_expect(&w, 2, ws_run(&w, "ledger list --since yesterday"), "15m");
    ws_expect(&w, 2, ws_run(&w, "ledger list --limit none"), "whole number");
    ws_expect(&w, 2, ws_run(&w, "ledger lost"), "verify");
    ws_expect(&w, 2, ws_run(&w, "ledger show"), "ID is missing");
    ws_expect(&w, 2, ws_run(&w, "ledger show once --view item"), "receipt");
    ws_expect(&w, 1, ws_run(&w, "ledger show call_00000000000000000000"), "no call has the id");
    ws_expect(&w, 2, ws_run(&w, "ledger show twice"), "several calls");
    ws_expect(&w, 0, ws_run(&w, "ledger show once --view canonical"), "tool_execution_failed");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --tool echo"), NULL);
    first_id(&w, id);
    ws_expect(&w, 0, ws_run(&w, "ledger show %s", id), "echo completed");
    ws_expect(&w, 0, ws_run(&w, "ledger tail --limit 1"), "\"tool\":\"broken\"");
    assert_int_equal(strchr(w.out, '\n') - w.out, (int)w.out_n - 1); /* one line */
    ws_expect(&w, 0, ws_run(&w, "ledger export --tool echo"), "\"kind\":\"intent\"");
    assert_true(ws_has(w.out, "\"kind\":\"outcome\""));
    assert_false(ws_has(w.out, "\"tool\":\"pure\""));
    ws_fini(&w);
}

/* L2, row 116, through the command: "verify names the first bad one" */
static void any_change_of_a_row_is_found(void **state)
{
    static const struct {
        const char *sql, *what;
    } changes[] = {
        {"UPDATE ledger SET status = 'error' WHERE seq = 2", "row 2 "},
        {"UPDATE ledger SET receipt = receipt || ' ' WHERE seq = 4", "row 4 "},
        {"UPDATE ledger SET time_ms = time_ms + 1 WHERE seq = 1", "row 1 "},
        {"UPDATE ledger SET duration_us = 0.5 WHERE seq = 2", "row 2 "},
        {"DELETE FROM ledger WHERE seq = 3", "row 3 is missing"},
        {"UPDATE ledger SET seq = 99 WHERE seq = 2; UPDATE ledger SET seq = 2 WHERE seq = 4; "
         "UPDATE ledger SET seq = 4 WHERE seq = 99",
         "row 2 "},
        {"INSERT INTO ledger (seq, call_id, kind, time_ms, duration_us, hash) VALUES "
         "(7, 'call_x', 'outcome', 1, 1, zeroblob(32))",
         "row 7 "},
        {"DELETE FROM ledger WHERE seq > 4", "rows 5 to 6 are missing"},
        {"UPDATE meta SET value = zeroblob(32) WHERE name = 'anchor_hash'", "row 1 "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct workspace w;
        ws_init(&w);
        for (int n = 0; n < 3; n++)
            ws_expect(&w, 0, ws_run(&w, "call echo"), NULL);
        ws_expect(&w, 0, ws_run(&w, "ledger verify --json"), "\"good\":true,\"rows\":6");
        tamper(&w, changes[i].sql);
        ws_expect(&w, 1, ws_run(&w, "ledger verify"), changes[i].what);
        ws_expect(&w, 1, ws_run(&w, "ledger verify --json"), "\"good\":false");
        ws_fini(&w);
    }
}

/* ---- the witness ---- */

static void checkpoints_file(const struct workspace *w, char ret[300])
{
    char folder[200];
    struct dirent *e;
    DIR *d;

    snprintf(folder, sizeof(folder), "%s/instances", w->user);
    d = opendir(folder);
    assert_non_null(d);
    ret[0] = '\0';
    while ((e = readdir(d)) != NULL) {
        size_t n = strlen(e->d_name);
        if (n > 12 && strcmp(e->d_name + n - 12, ".checkpoints") == 0)
            snprintf(ret, 300, "%s/%.80s", folder, e->d_name);
    }
    closedir(d);
}

__attribute__((format(printf, 1, 2))) static void shell(const char *fmt, ...)
{
    char command[900];
    va_list args;

    va_start(args, fmt);
    vsnprintf(command, sizeof(command), fmt, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

/* The unsigned head of the newest row also notices; here the signed file must. */
static void forget_head(const struct workspace *w)
{
    shell("rm -f %s/instances/*.head", w->user);
}

static void calls(struct workspace *w, int n)
{
    for (int i = 0; i < n; i++)
        ws_expect(w, 0, ws_run(w, "call echo"), NULL);
}

/* issue: "Witness tests: tail cut" */
static void a_cut_tail_shows_against_the_checkpoint(void **state)
{
    struct workspace w;

    (void)state;
    ws_init(&w);
    calls(&w, 3);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint --json"), "\"seq\":6");
    forget_head(&w);
    tamper(&w, "DELETE FROM ledger WHERE seq > 4");
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "rows 5 to 6 are missing");
    ws_fini(&w);
}

/* "whole chain rewritten": a ledger that verifies by itself, under the same id. */
static void a_rewritten_chain_shows_against_the_checkpoint(void **state)
{
    struct workspace w;

    (void)state;
    ws_init(&w);
    calls(&w, 1);
    shell("cp -r %s %s/before", w.state, w.base);
    calls(&w, 2);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint"), NULL);
    shell("rm -rf %s && mv %s/before %s", w.state, w.base, w.state);
    forget_head(&w);
    ws_expect(&w, 0, ws_run(&w, "call pure"), NULL);
    calls(&w, 2); /* as many rows again, but others */
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "row 6 is not the one a witness has seen");
    ws_fini(&w);
}

/* "witness missing" */
static void a_missing_witness_is_said_and_not_made_anew_in_silence(void **state)
{
    struct workspace w;
    char file[300];

    (void)state;
    ws_init(&w);
    calls(&w, 2);
    checkpoints_file(&w, file);
    assert_int_equal(unlink(file), 0);
    calls(&w, 1);
    checkpoints_file(&w, file);
    assert_string_equal(file, "");
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "witness in the user's state folder is missing");
    ws_expect(&w, 1, ws_run(&w, "ledger checkpoint"), "--restart");
    ws_expect(&w, 1, ws_run(&w, "ledger prune --keep 1"), "--restart");
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint --restart"), "\"ok\"");
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good");
    ws_fini(&w);
}

/* "key rotated": with a statement all is well, without one it is not. */
static void a_rotated_key_needs_the_old_keys_signature(void **state)
{
    struct workspace w;
    struct stat st;
    char key[300];

    (void)state;
    ws_init(&w);
    calls(&w, 1);
    checkpoints_file(&w, key);
    shell("cp %s %s/copy", key, w.base);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint --rotate"), NULL);
    calls(&w, 1);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint --rotate"), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger verify --json"), "\"keys\":3");
    ws_expect(&w, 0, ws_run(&w, "ledger verify --witness %s/copy", w.base), "good");
    shell("mv %s %s/own", key, w.base); /* it alone says that the old key led to the new */
    ws_expect(&w, 1, ws_run(&w, "ledger verify --witness %s/copy", w.base), "is missing");
    shell("mv %s/own %s", w.base, key);
    snprintf(key, sizeof(key), "%s/ledger.key", w.user);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    shell("printf '%%064d\\n' 7 > %s", key); /* somebody's key */
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "not signed by the user's key");
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint --restart"), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good");
    assert_int_equal(unlink(key), 0);
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "signatures cannot be checked");
    shell("printf '%%064d\\n' 7 > %s && chmod 644 %s", key, key);
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "0600");
    ws_fini(&w);
}

/* The key is the user's: all ledgers go on with the new one, and none with the old. */
static void a_key_is_rotated_for_all_workspaces(void **state)
{
    struct workspace w;
    char other[200];

    (void)state;
    ws_init(&w);
    snprintf(other, sizeof(other), "--state %s/other", w.base);
    calls(&w, 1);
    ws_expect(&w, 0, ws_run(&w, "call echo %s", other), NULL);
    shell("cp -p %s/ledger.key %s/old.key", w.user, w.base);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint --rotate"), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger verify %s", other), "good");
    ws_expect(&w, 0, ws_run(&w, "call echo %s", other), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint --rotate %s", other), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger verify --json %s", other), "\"keys\":3");
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good");
    shell("cd %s && mv ledger.key new.key && mv %s/old.key ledger.key", w.user, w.base);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint %s", other), NULL);
    shell("cd %s && mv new.key ledger.key", w.user);
    ws_expect(&w, 1, ws_run(&w, "ledger verify %s", other), "not signed by the user's key");
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good");
    ws_fini(&w);
}

/* A line of the witness that was edited is not believed. */
static void an_edited_checkpoint_is_not_believed(void **state)
{
    struct workspace w;
    char file[300];

    (void)state;
    ws_init(&w);
    calls(&w, 2);
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint"), NULL);
    checkpoints_file(&w, file);
    shell("cp %s %s/copy", file, w.base);
    ws_expect(&w, 0, ws_run(&w, "ledger verify --witness %s/copy", w.base), "good");
    ws_expect(&w, 2, ws_run(&w, "ledger verify --witness %s/none", w.base), "no file");
    shell("sed -i '2s/\"seq\":4/\"seq\":3/' %s", file);
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "line 2 of the witness is not signed");
    shell("cp %s/copy %s && printf '{\"torn' >> %s", w.base, file, file);
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good"); /* a kill while it was written */
    ws_expect(&w, 0, ws_run(&w, "ledger checkpoint"), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good");
    ws_fini(&w);
}

/* ---- retention ---- */

static void prune_keeps_the_rest_verifiable(void **state)
{
    struct workspace w;

    (void)state;
    ws_init(&w);
    calls(&w, 4);
    ws_expect(&w, 2, ws_run(&w, "ledger prune"), "--older-than");
    ws_expect(&w, 0, ws_run(&w, "ledger prune --keep 3 --dry-run --json"), "\"would_remove\":5");
    ws_expect(&w, 0, ws_run(&w, "ledger prune --older-than 1h --json"), "\"removed\":0");
    ws_expect(&w, 0, ws_run(&w, "ledger prune --keep 3 --json"), "\"removed\":5,\"first_kept\":6");
    ws_expect(&w, 0, ws_run(&w, "ledger verify --json"), "\"good\":true,\"rows\":3");
    calls(&w, 1);
    ws_expect(&w, 0, ws_run(&w, "ledger verify --json"), "\"good\":true,\"rows\":5");
    ws_expect(&w, 0, ws_run(&w, "ledger prune --older-than 0s --json"), "\"removed\":5");
    ws_expect(&w, 0, ws_run(&w, "ledger verify --json"), "\"good\":true,\"rows\":0");
    calls(&w, 1);
    ws_expect(&w, 0, ws_run(&w, "ledger verify --json"), "\"good\":true,\"rows\":2");
    ws_fini(&w);
}

/* Rows that vanish without a signed statement are no retention. */
static void a_moved_anchor_without_a_statement_is_found(void **state)
{
    struct workspace w;

    (void)state;
    ws_init(&w);
    calls(&w, 3);
    tamper(&w, "UPDATE meta SET value = 2 WHERE name = 'anchor_seq'; UPDATE meta SET value = "
               "(SELECT hash FROM ledger WHERE seq = 2) WHERE name = 'anchor_hash'; "
               "DELETE FROM ledger WHERE seq <= 2");
    ws_expect(&w, 1, ws_run(&w, "ledger verify"), "oldest rows are gone");
    ws_fini(&w);
}

/* ---- statistics, replay ---- */

static void stats_and_replay_tell_what_was_shown(void **state)
{
    struct workspace w;

    (void)state;
    ws_init(&w);
    ws_tool(&w, "large", "Pure", "[\"seq\",\"1\",\"60000\"]");
    ws_expect(&w, 0, ws_run(&w, "config trust"), NULL);
    calls(&w, 2);
    ws_expect(&w, 1, ws_run(&w, "call broken"), NULL);
    ws_expect(&w, 0, ws_run(&w, "call large --call-id big"), NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger stats"), "tool_execution_failed");
    ws_expect(&w, 0, ws_run(&w, "ledger stats --json"), "\"calls\":4,\"errors\":1");
    assert_false(ws_has(w.out, "\"kept_away\":0},\"histogram\"")); /* most of `large` was */
    ws_expect(&w, 0, ws_run(&w, "ledger stats --json --tool echo"), "\"calls\":2,\"errors\":0");
    ws_expect(&w, 0, ws_run(&w, "ledger stats --json --tool none"),
              "\"histogram\":{\"from_ms\":0,\"doublings\":[]}");
    ws_expect(&w, 0, ws_run(&w, "ledger replay --budget 400 --json --tool large"),
              "\"how\":\"exact\"");
    ws_expect(&w, 0, ws_run(&w, "ledger replay --budget 20000 --json --tool large"), "\"same\"");
    assert_true(w.out[0] == '[' && strchr(w.out, '\n') == w.out + w.out_n - 1); /* I2 */
    ws_expect(&w, 0, ws_run(&w, "ledger replay --budget 400"), "ALLOWED");
    ws_expect(&w, 2, ws_run(&w, "ledger replay"), "--budget");
    ws_fini(&w);
}

/* What a replay says is what a call with that budget says. */
static void a_replayed_command_reads_as_one_run_with_that_budget(void **state)
{
    struct workspace w;
    char small[40], large[40], *receipt, *at;

    (void)state;
    ws_init(&w);
    ws_expect(&w, 0,
              ws_run(&w, "call ExecCommand --input '{\"cmd\":\"seq 1 9000; echo bad >&2\"}'"),
              NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --limit 1"), NULL);
    first_id(&w, large);
    ws_expect(&w, 0,
              ws_run(&w, "call ExecCommand --input '{\"cmd\":\"seq 1 9000; echo bad >&2\","
                         "\"max_output_tokens\":400}' --view record"),
              NULL);
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --limit 1"), NULL);
    first_id(&w, small);
    ws_expect(&w, 0, ws_run(&w, "ledger show %s --view record", small), "\"receipt\":");
    at = strstr(w.out, "\"receipt\":");
    *strstr(at, ",\"artifacts\"") = '\0';
    receipt = strdup(at);
    assert_non_null(receipt);
    while ((at = strstr(receipt, small)) != NULL) /* only the name of the artifact differs */
        memcpy(at, large, strlen(large));
    *strstr(receipt, "stdout: (") = '\0'; /* names cost tokens: a line more or less may be shown */
    ws_expect(&w, 0, ws_run(&w, "ledger replay --budget 400 --json --limit 2"),
              "\"how\":\"exact\"");
    assert_true(ws_has(w.out, "[output truncated: showing first "));
    assert_true(ws_has(w.out, "stderr: (1 line)\\nbad"));
    if (!ws_has(w.out, receipt))
        fail_msg("%s\nreplayed: %s", receipt, w.out);
    free(receipt);
    shell("rm -f %s/artifacts/call_* %s/artifacts/by-hash/*", w.state, w.state);
    ws_expect(&w, 0, ws_run(&w, "ledger replay --budget 400 --json --limit 2"), "\"recorded\"");
    ws_expect(&w, 0, ws_run(&w, "ledger replay --budget 400 --json --limit 1"), small);
    assert_false(ws_has(w.out, large)); /* ledger.h: the newest that many */
    ws_fini(&w);
}

/* ---- other processes ---- */

static pid_t start_call(struct workspace *w, const char *tool, const char *key)
{
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        if (chdir(w->root) == 0)
            execl(getenv("WAYBILL"), "waybill", "call", tool, "--call-id", "mine",
                  "--idempotency-key", key, (char *)NULL);
        _exit(99);
    }
    assert_true(pid > 0);
    for (int i = 0; i < 2000; i++) {
        (void)poll(NULL, 0, 20);
        if (ws_run(w, "calls list --json") == 0 && ws_has(w->out, "\"stage\":\"execute\""))
            return pid;
    }
    fail_msg("the call never ran: %s", w->err);
    return -1;
}

/* issue: "how other processes reach a live runtime (list its calls, cancel one, health)" */
static void a_live_call_is_listed_and_cancelled_from_outside(void **state)
{
    struct workspace w;
    int status;
    pid_t pid;

    (void)state;
    ws_init(&w);
    ws_expect(&w, 0, ws_run(&w, "calls list --json"), "[]");
    ws_expect(&w, 1, ws_run(&w, "calls cancel mine"), "no call in flight");
    pid = start_call(&w, "slow", "a");
    ws_expect(&w, 0, ws_run(&w, "calls runtimes --json"), "\"writable\":true");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json --status open"), "\"status\":\"open\"");
    ws_expect(&w, 1, ws_run(&w, "ledger show mine"), "still running");
    ws_expect(&w, 0, ws_run(&w, "ledger prune --older-than 0s --json"), "\"removed\":0");
    ws_expect(&w, 0, ws_run(&w, "calls cancel mine"), NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    ws_expect(&w, 0, ws_run(&w, "ledger show mine"), "cancelled");
    ws_fini(&w);
}

/* C1.1, C12.2: closed with all surfaces, and only once the owner is dead */
static void the_call_of_a_killed_process_is_closed_with_all_surfaces(void **state)
{
    struct workspace w;
    int status;
    pid_t pid;

    (void)state;
    ws_init(&w);
    pid = start_call(&w, "slow", "a");
    ws_expect(&w, 0, ws_run(&w, "ledger list --json"), "\"status\":\"open\"");
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ws_expect(&w, 0, ws_run(&w, "ledger list --json"), "outcome_unknown");
    assert_false(ws_has(w.out, "open"));
    ws_expect(&w, 0, ws_run(&w, "ledger show mine"), "Error: outcome_unknown (not retryable)");
    ws_expect(&w, 0, ws_run(&w, "ledger show mine --view canonical"), "{\"tool_name\":\"slow\"");
    ws_expect(&w, 0, ws_run(&w, "ledger show mine --view result"), "\"code\":\"OutcomeUnknown\"");
    assert_true(ws_has(w.out, "\"resolvedVersion\":") && ws_has(w.out, "\"correlationId\":"));
    ws_expect(&w, 0, ws_run(&w, "ledger show mine --view envelope"), "\"tool\":\"local::slow\"");
    ws_expect(&w, 0, ws_run(&w, "ledger show mine --view record"), "\"closedAt\"");
    ws_expect(&w, 0, ws_run(&w, "ledger verify"), "good");
    ws_fini(&w);
}

/* C8.6: "an unknown outcome after a crash is not rerun", also before its time is over */
static void the_key_of_a_killed_process_is_unknown_at_once(void **state)
{
    struct workspace w;
    int status;
    pid_t pid;

    (void)state;
    ws_init(&w);
    ws_tool(&w, "slow", "IdempotentWrite", "[\"sleep\",\"30\"]");
    ws_expect(&w, 0, ws_run(&w, "config trust"), NULL);
    pid = start_call(&w, "slow", "k-1");
    ws_expect(&w, 1, ws_run(&w, "call slow --idempotency-key k-1"), "call_in_flight");
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ws_expect(&w, 1, ws_run(&w, "call slow --idempotency-key k-1"), "outcome_unknown");
    ws_fini(&w);
}

/* C8.4, docs/policies.md: budgets survive a restart where a state directory exists */
static void budgets_last_from_process_to_process(void **state)
{
    struct workspace w;
    char path[200];

    (void)state;
    ws_init(&w);
    snprintf(path, sizeof(path), "%s/waybill.json", w.root);
    ws_write(path, "{\"policies\":{\"environment\":{\"budget\":{\"windowMs\":3600000,"
                   "\"calls\":2}}}}\n");
    ws_expect(&w, 0, ws_run(&w, "config trust"), NULL);
    calls(&w, 2);
    ws_expect(&w, 1, ws_run(&w, "call echo"), "budget_exceeded");
    ws_fini(&w);
}

/* ---- state directories that cannot be used ---- */

/* Providers' items say it as receipts do. */
static void dispatch_says_not_recorded(struct workspace *w)
{
    static const char *const lines[] = {
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"pure\",\"arguments\":\"{}\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"pure\"}}",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char path[200];
        FILE *f;
        snprintf(path, sizeof(path), "%s/line", w->base);
        f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "%s\n", lines[i]);
        fclose(f);
        ws_expect(w, 0, ws_run(w, "dispatch < %s", path), "\\nNot recorded: ");
    }
}

/* issue: "Hostile state directories … are refused with a next step"; I2: exit 3 */
static void hostile_state_directories_are_refused_with_a_next_step(void **state)
{
    static const struct {
        const char *how; /* %s the state directory, %s the base */
        const char *what;
    } cases[] = {
        {"mv %s %s/real && ln -s real %s", "link"},
        {"echo state_00000000000000000000 > %s/instance; : %s", "made elsewhere"},
        {"rm %s/instance; : %s", "no instance id"},
        {"d=%s; printf 'no database at all' > $d/ledger.db; rm -f $d/ledger.db-*; : %s", "damaged"},
        {"rm -f %s/ledger.db*; : %s", "gone"},
        {"chmod 777 %s; : %s", "written by other users"},
        {"ln %s/ledger.db %s/second-name", "second name"},
        {"rm -rf %s/run && ln -s /tmp %s/root/.waybill/run", "not a directory"},
        {"mv %s/ledger.db %s/x && ln -s ../../x %s/root/.waybill/ledger.db", "link"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct workspace w;
        char command[600];
        ws_init(&w);
        calls(&w, 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(command, sizeof(command), cases[i].how, w.state, w.base,
                 i == 0 ? w.state : w.base);
#pragma GCC diagnostic pop
        assert_int_equal(system(command), 0);
        ws_expect(&w, 3, ws_run(&w, "ledger list"), cases[i].what);
        ws_expect(&w, 3, ws_run(&w, "ledger verify"), cases[i].what);
        assert_false(ws_has(w.err, "; run `waybill ledger verify`")); /* which this was */
        assert_true(ws_has(w.err, "move") || ws_has(w.err, "--state") || ws_has(w.err, "restore"));
        /* a call with an effect is refused with the reason, a Pure one is answered */
        ws_expect(&w, 3, ws_run(&w, "call echo"), "state_unavailable (not retryable)");
        assert_false(ws_has(w.out, "Not recorded")); /* the error says that, once */
        ws_expect(&w, 0, ws_run(&w, "call pure"), "Not recorded");
        dispatch_says_not_recorded(&w);
        ws_fini(&w);
    }
}

/* A workspace copied to another user or machine: what to do next is said. */
static void a_copied_workspace_gets_a_next_step_from_doctor(void **state)
{
    struct workspace w;

    (void)state;
    ws_init(&w);
    calls(&w, 1);
    ws_expect(&w, 0, ws_run(&w, "doctor"), "ledger");
    shell("rm -rf %s/instances", w.user);
    ws_expect(&w, 3, ws_run(&w, "doctor"), "made elsewhere");
    assert_true(ws_has(w.out, "copied"));
    ws_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_prints_what_call_printed),
        cmocka_unit_test(lists_filter_and_exit_codes_are_as_documented),
        cmocka_unit_test(any_change_of_a_row_is_found),
        cmocka_unit_test(a_cut_tail_shows_against_the_checkpoint),
        cmocka_unit_test(a_rewritten_chain_shows_against_the_checkpoint),
        cmocka_unit_test(a_missing_witness_is_said_and_not_made_anew_in_silence),
        cmocka_unit_test(a_rotated_key_needs_the_old_keys_signature),
        cmocka_unit_test(a_key_is_rotated_for_all_workspaces),
        cmocka_unit_test(an_edited_checkpoint_is_not_believed),
        cmocka_unit_test(prune_keeps_the_rest_verifiable),
        cmocka_unit_test(a_moved_anchor_without_a_statement_is_found),
        cmocka_unit_test(stats_and_replay_tell_what_was_shown),
        cmocka_unit_test(a_replayed_command_reads_as_one_run_with_that_budget),
        cmocka_unit_test(a_live_call_is_listed_and_cancelled_from_outside),
        cmocka_unit_test(the_call_of_a_killed_process_is_closed_with_all_surfaces),
        cmocka_unit_test(the_key_of_a_killed_process_is_unknown_at_once),
        cmocka_unit_test(budgets_last_from_process_to_process),
        cmocka_unit_test(hostile_state_directories_are_refused_with_a_next_step),
        cmocka_unit_test(a_copied_workspace_gets_a_next_step_from_doctor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
