/* SPDX-License-Identifier: Apache-2.0
 * tests/ledger_test.c: rows, the chain, reading, verifying, and what a start
 * does about calls that a dead process left open. "Row N" cites the attack list
 * of the reliability research. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#include "loop/loop.h"
#include "state_fixture.h"

/* C12.2: rows are hash-chained, from the directory's own id on */
static void rows_are_numbered_and_chained(void **state)
{
    struct wbi_witness anchor, tail;
    struct wbi_row_query all = {.max = 10};
    uint8_t hash[WBI_SHA256_SIZE];
    struct wbi_sha256 *sha;
    struct wbi_row *rows;
    struct fixture f;
    size_t n;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    fixture_call(&f, 2);
    assert_int_equal(wbi_store_anchor(f.store, &anchor, NULL), WB_OK);
    assert_int_equal(wbi_store_rows(f.store, f.arena, &all, &rows, &n, NULL), WB_OK);
    assert_int_equal(n, 4);
    assert_int_equal(wbi_sha256_new(&sha), WB_OK);
    memcpy(hash, anchor.hash, sizeof(hash));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].seq, i + 1);
        assert_int_equal(wbi_chain_hash(sha, hash, &rows[i], hash), WB_OK);
        assert_memory_equal(hash, rows[i].hash, sizeof(hash));
    }
    assert_int_equal(wbi_store_tail(f.store, &tail, NULL), WB_OK);
    assert_int_equal(tail.seq, 4);
    assert_memory_equal(tail.hash, hash, sizeof(hash));
    assert_true(fixture_verify(&f).good);
    wbi_sha256_free(sha);
    fixture_fini(&f);
}

/* The definition of docs/ledger.md, byte by byte: a change of it must be seen. */
static void chain_bytes_are_as_documented(void **state)
{
    struct wbi_row row = {.seq = 1, .time_ms = 2, .duration_us = -1};
    uint8_t prev[WBI_SHA256_SIZE] = {0}, hash[WBI_SHA256_SIZE], expected[WBI_SHA256_SIZE];
    static const char numbers[] = "\0\0\0\0\0\0\0\1"
                                  "\0\0\0\0\0\0\0\2"
                                  "\xff\xff\xff\xff\xff\xff\xff\xff";
    char bytes[256];
    struct wbi_sha256 *sha;
    size_t n = 0;

    (void)state;
    row.call_id = WBI_LIT("ab");
    row.kind = WBI_LIT("");
    memcpy(bytes, "waybill.ledger.row.v1", 22);
    n = 22;
    memset(bytes + n, 0, 32);
    n += 32;
    memcpy(bytes + n, numbers, 24);
    n += 24;
    memcpy(bytes + n,
           "T\0\0\0\0\0\0\0\2ab"
           "T\0\0\0\0\0\0\0\0",
           20);
    n += 20;
    memset(bytes + n, 'N', 17);
    n += 17;
    assert_int_equal(wbi_sha256_new(&sha), WB_OK);
    assert_int_equal(wbi_sha256(bytes, n, expected), WB_OK);
    assert_int_equal(wbi_chain_hash(sha, prev, &row, hash), WB_OK);
    assert_memory_equal(hash, expected, sizeof(hash));
    wbi_sha256_free(sha);
}

/* C1.1: exactly one outcome */
static void a_call_has_one_intent_and_one_outcome(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    assert_int_equal(fixture_append(&f, WBI_KIND_OUTCOME, 1, NULL), WB_EEXISTS);
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 1, NULL), WB_EEXISTS);
    assert_int_equal(fixture_append(&f, WBI_KIND_OUTCOME, 2, NULL), WB_OK); /* Pure: no intent */
    assert_int_equal(fixture_verify(&f).rows, 3);
    fixture_fini(&f);
}

static void a_row_without_call_or_of_endless_length_is_refused(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_row row = {.kind = WBI_LIT_INIT("outcome")};
    struct fixture f;
    char *large = malloc(WBI_LIMIT_ROW_TEXT + 1);

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, &err), WB_EMISUSE);
    assert_non_null(large);
    memset(large, 'x', WBI_LIMIT_ROW_TEXT + 1);
    row.call_id = WBI_LIT("call_1");
    row.receipt = wbi_str_make(large, WBI_LIMIT_ROW_TEXT + 1);
    assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, &err), WB_ELIMIT);
    row.receipt.n = 5u << 20; /* far over a page */
    assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, &err), WB_OK);
    assert_true(fixture_verify(&f).good);
    free(large);
    fixture_fini(&f);
}

/* Rows of any length, whatever is gathered on the way to the hash. */
static void chain_bytes_are_the_same_for_long_texts(void **state)
{
    static char text[6000], bytes[22 + 32 + 24 + 19 * 9 + 2 * sizeof(text)];
    struct wbi_row row = {.call_id = WBI_LIT("c")};
    uint8_t prev[WBI_SHA256_SIZE] = {7}, hash[WBI_SHA256_SIZE], expected[WBI_SHA256_SIZE];
    struct wbi_str *texts[WBI_ROW_TEXT_COUNT];
    struct wbi_sha256 *sha;

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 23);
    assert_int_equal(wbi_sha256_new(&sha), WB_OK);
    wbi_row_texts(&row, texts);
    for (size_t length = 0; length < sizeof(text); length += length < 1800 ? 100 : 1) {
        size_t n = 22 + 32;
        row.kind = wbi_str_make(text, length % 60);
        row.invocation = wbi_str_make(text, length);
        row.events = wbi_str_make(text, sizeof(text) - length);
        memcpy(bytes, "waybill.ledger.row.v1", 22);
        memcpy(bytes + 22, prev, sizeof(prev));
        memset(bytes + n, 0, 24);
        n += 24;
        for (size_t i = 0; i < WBI_ROW_TEXT_COUNT; i++) {
            bytes[n++] = texts[i]->p != NULL ? 'T' : 'N';
            if (texts[i]->p == NULL)
                continue;
            memset(bytes + n, 0, 6);
            bytes[n + 6] = (char)(texts[i]->n >> 8);
            bytes[n + 7] = (char)texts[i]->n;
            n += 8;
            memcpy(bytes + n, texts[i]->p, texts[i]->n);
            n += texts[i]->n;
        }
        assert_int_equal(wbi_chain_hash(sha, prev, &row, hash), WB_OK);
        assert_int_equal(wbi_sha256(bytes, n, expected), WB_OK);
        assert_memory_equal(hash, expected, sizeof(hash));
    }
    wbi_sha256_free(sha);
}

static bool same_texts(void *arg, const struct wbi_row *row)
{
    struct wbi_row *kept = arg;

    assert_true(wbi_str_eq(row->invocation, kept->invocation));
    assert_true(wbi_str_eq(row->canonical, kept->canonical));
    assert_true(wbi_str_eq(row->timings, kept->timings));
    kept->seq++;
    return true;
}

/* docs/ledger.md: what columns say is not stored again, and comes back as it was */
static void what_columns_say_is_stored_once(void **state)
{
    struct wbi_row_query all = {.max = 10};
    char id[40];
    struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, 1), *rows;
    struct wbi_ledger_append append = {.row = &row, .never_opened = true};
    struct fixture f;
    size_t n;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    row.time_ms = 1700000000000;
    row.invocation = wbi_arena_fmt(f.arena,
                                   "{\"toolName\":\"t\",\"correlationId\":\"c\",\"callId\":\"%s\","
                                   "\"conversationId\":\"conv_1\",\"principal\":\"local\"}",
                                   id + 5);
    row.canonical = WBI_LIT("{\"tool_name\":\"ExecCommand\",\"status\":\"success\","
                            "\"summary_text\":\"\",\"result\":1,\"error\":null}");
    row.timings = WBI_LIT("{\"startedAt\":\"2023-11-14T22:13:20.000Z\",\"durationMs\":1}");
    assert_int_equal(wbi_ledger_append(f.ledger, &append, NULL), WB_OK);
    assert_int_equal(wbi_ledger_flush(f.ledger, NULL), WB_OK);
    assert_int_equal(wbi_store_rows(f.store, f.arena, &all, &rows, &n, NULL), WB_OK);
    assert_int_equal(n, 1);
    assert_true(wbi_str_eqz(rows[0].invocation,
                            "{\"toolName\":\"t\",\"correlationId\":\"c\",\"principal\":3}"));
    assert_true(
        wbi_str_eqz(rows[0].canonical, "{\"summary_text\":\"\",\"result\":1,\"error\":null}"));
    assert_true(wbi_str_eqz(rows[0].timings, "{\"durationMs\":1}"));
    row.seq = 0;
    assert_int_equal(wbi_ledger_list(f.ledger, &all, same_texts, &row, NULL), WB_OK);
    assert_int_equal(row.seq, 1);
    assert_true(fixture_verify(&f).good);
    fixture_fini(&f);
}

/* C12.3: "replays a call's surfaces byte for byte" */
static void get_returns_what_was_appended(void **state)
{
    struct wbi_record record;
    struct wbi_error err = WBI_ERROR_INIT;
    char id[40];
    struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, 7);
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    row.receipt = wbi_str_make("a\0b\n\xc3\xa9", 6);
    row.events = WBI_LIT("[]");
    row.trust = WBI_LIT("");
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 7, NULL), WB_OK);
    assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, NULL), WB_OK);
    assert_int_equal(wbi_ledger_get(f.ledger, f.arena, wbi_str_z(id), &record, &err), WB_OK);
    assert_true(record.has_intent && record.has_outcome);
    assert_true(wbi_str_eqz(record.intent.owner, wbi_store_owner(f.store)));
    assert_true(wbi_str_eq(record.outcome.receipt, row.receipt));
    assert_true(wbi_str_eqz(record.outcome.events, "[]"));
    assert_non_null(record.outcome.trust.p); /* empty is not absent */
    assert_null(record.outcome.policy.p);
    assert_int_equal(record.outcome.time_ms, 1700000000000);
    /* I3: "or a provider call id if unique" */
    assert_int_equal(wbi_ledger_get(f.ledger, f.arena, row.provider_call_id, &record, &err), WB_OK);
    assert_true(wbi_str_eqz(record.outcome.call_id, id));
    row.call_id = WBI_LIT("call_other");
    assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, NULL), WB_OK);
    assert_int_equal(wbi_ledger_get(f.ledger, f.arena, row.provider_call_id, &record, &err),
                     WB_EINPUT);
    assert_int_equal(wbi_ledger_get(f.ledger, f.arena, WBI_LIT("call_none"), &record, &err),
                     WB_ENOTFOUND);
    fixture_fini(&f);
}

struct seen {
    size_t n;
    int64_t first, last;
    size_t stop_at;
};

static bool see(void *arg, const struct wbi_row *row)
{
    struct seen *s = arg;

    if (s->n++ == 0)
        s->first = row->seq;
    s->last = row->seq;
    return s->n != s->stop_at;
}

static struct seen list(struct fixture *f, struct wbi_row_query q)
{
    struct seen s = {.n = 0};

    assert_int_equal(wbi_ledger_list(f->ledger, &q, see, &s, NULL), WB_OK);
    return s;
}

static void lists_filter_and_go_both_ways(void **state)
{
    struct fixture f;
    struct seen s;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    for (unsigned long i = 1; i <= 300; i++) { /* more than a chunk */
        char id[40];
        struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, i);
        struct wbi_ledger_append a = {.row = &row};
        row.time_ms = (int64_t)i * 1000;
        if (i % 3 == 0) {
            row.tool = WBI_LIT("Read");
            row.status = WBI_LIT("error");
            row.error_kind = WBI_LIT("timed_out");
            row.conversation = WBI_LIT("conv_2");
        }
        assert_int_equal(wbi_ledger_append(f.ledger, &a, NULL), WB_OK);
    }
    assert_int_equal(wbi_ledger_flush(f.ledger, NULL), WB_OK);
    s = list(&f, (struct wbi_row_query){.max = 0});
    assert_true(s.n == 300 && s.first == 1 && s.last == 300);
    s = list(&f, (struct wbi_row_query){.newest_first = true});
    assert_true(s.n == 300 && s.first == 300 && s.last == 1);
    s = list(&f, (struct wbi_row_query){.newest_first = true, .max = 5});
    assert_true(s.n == 5 && s.first == 300 && s.last == 296);
    s = list(&f, (struct wbi_row_query){.after_seq = 298}); /* tail */
    assert_true(s.n == 2 && s.first == 299);
    s = list(&f, (struct wbi_row_query){.tool = WBI_LIT("Read"), .status = WBI_LIT("error")});
    assert_true(s.n == 100 && s.first == 3);
    assert_int_equal(list(&f, (struct wbi_row_query){.error_kind = WBI_LIT("timed_out")}).n, 100);
    assert_int_equal(list(&f, (struct wbi_row_query){.conversation = WBI_LIT("conv_1")}).n, 200);
    assert_int_equal(list(&f, (struct wbi_row_query){.kind = WBI_LIT("intent")}).n, 0);
    s = list(&f, (struct wbi_row_query){.since_ms = 10000, .until_ms = 20000});
    assert_true(s.n == 10 && s.first == 10 && s.last == 19);
    fixture_fini(&f);
}

static void row_json_is_json_whatever_is_in_the_row(void **state)
{
    struct wbi_row row = {.seq = 3, .time_ms = 0, .duration_us = -1};
    const wbi_json *v;
    struct wbi_jw w;
    struct wbi_buf b;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    row.call_id = WBI_LIT("call_1");
    row.kind = WBI_LIT("outcome");
    row.tool = WBI_LIT("Evil\n2026-01-01 forged \"line\""); /* row 110 */
    row.canonical = WBI_LIT("{\"a\":[1,2]}");
    row.result = WBI_LIT("{not json");
    wbi_buf_init(&b, 1 << 16);
    w = wbi_jw_to(&b);
    wbi_ledger_row_json(&w, &row);
    assert_null(memchr(b.p, '\n', b.n));
    assert_int_equal(wbi_json_read(f.arena, wbi_buf_str(&b), WBI_JSON_STRICT, &v, NULL), WB_OK);
    assert_true(wbi_json_is(wbi_json_get(v, "canonical"), WBI_JSON_OBJ));
    assert_true(wbi_str_eqz(wbi_json_get_str(v, "result"), "{not json"));
    assert_true(wbi_str_eqz(wbi_json_get_str(v, "time"), "1970-01-01T00:00:00.000Z"));
    assert_null(wbi_json_get(v, "duration_us"));
    wbi_buf_fini(&b);
    fixture_fini(&f);
}

/* Change a closed ledger behind its back. */
static void tamper(const struct fixture *f, const char *sql)
{
    char path[300], *message = NULL;
    sqlite3 *db;

    snprintf(path, sizeof(path), "%s/ledger.db", f->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

/* L2, row 116: "mutate each field of each row, verify names the first bad one" */
static void verify_names_the_first_bad_row(void **state)
{
    static const struct {
        const char *sql;
        int64_t bad;
    } cases[] = {
        {"UPDATE ledger SET tool = 'ReadFile' WHERE seq = 5", 5},
        {"UPDATE ledger SET time_ms = time_ms + 1 WHERE seq = 1", 1},
        {"UPDATE ledger SET duration_us = 0 WHERE seq = 2", 2},
        {"UPDATE ledger SET hash = zeroblob(32) WHERE seq = 7", 7},
        {"UPDATE ledger SET hash = 'short' WHERE seq = 7", 7},
        {"UPDATE ledger SET status = NULL WHERE seq = 4", 4},
        {"UPDATE ledger SET status = '' WHERE seq = 3", 3},
        {"UPDATE ledger SET receipt = CAST(receipt AS BLOB) WHERE seq = 6", 6},
        {"DELETE FROM ledger WHERE seq = 3", 3},
        {"DELETE FROM ledger WHERE seq = 1", 1},
        {"DELETE FROM ledger WHERE seq >= 39", 39}, /* a cut tail, by the user's witness */
        {"UPDATE ledger SET seq = -1 WHERE seq = 5; UPDATE ledger SET seq = 5 WHERE seq = 6; "
         "UPDATE ledger SET seq = 6 WHERE seq = -1",
         5}, /* swapped */
        {"INSERT INTO ledger (seq, call_id, kind, time_ms, duration_us, hash) VALUES "
         "(41, 'call_x', 'outcome', 1, 1, zeroblob(32))",
         41}, /* inserted */
        {"UPDATE ledger SET seq = seq + 100 WHERE seq > 20; UPDATE ledger SET seq = seq - 99 WHERE "
         "seq > 20; INSERT INTO ledger (seq, call_id, kind, time_ms, duration_us, hash) VALUES "
         "(21, 'call_x', 'outcome', 1, 1, zeroblob(32))",
         21}, /* inserted in the middle */
        {"UPDATE meta SET value = zeroblob(32) WHERE name = 'anchor_hash'", 1},
        {"DELETE FROM open_calls", 0}, /* a live call hidden from the next start */
        {"INSERT INTO open_calls VALUES ('call_y', 3, 'own_x')", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wbi_verify_report report;
        struct wbi_witness head;
        struct fixture f;
        fixture_init(&f);
        fixture_open(&f);
        for (unsigned long c = 1; c <= 20; c++)
            fixture_call(&f, c);
        assert_int_equal(wbi_store_tail(f.store, &head, NULL), WB_OK);
        assert_int_equal(wbi_dir_witness_write(wbi_store_dir(f.store), &head), WB_OK);
        if (cases[i].bad == 0)
            assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 30, NULL), WB_OK);
        assert_true(fixture_verify(&f).good);
        tamper(&f, cases[i].sql);
        report = fixture_verify(&f);
        if (report.good || report.first_bad != cases[i].bad)
            fail_msg("%s: bad row %lld (%s)", cases[i].sql, (long long)report.first_bad,
                     report.what);
        assert_true(strlen(report.what) > 0);
        fixture_fini(&f);
    }
}

static void every_column_is_under_the_hash(void **state)
{
    static const char *const columns[] = {"call_id",
                                          "kind",
                                          "tool",
                                          "status",
                                          "error_kind",
                                          "conversation",
                                          "provider_call_id",
                                          "principal",
                                          "effect",
                                          "owner",
                                          "invocation",
                                          "canonical",
                                          "result",
                                          "receipt",
                                          "artifacts",
                                          "timings",
                                          "policy",
                                          "trust",
                                          "events"};
    struct fixture f;

    (void)state;
    assert_int_equal(sizeof(columns) / sizeof(columns[0]), WBI_ROW_TEXT_COUNT);
    fixture_init(&f);
    fixture_open(&f);
    for (unsigned long i = 1; i <= WBI_ROW_TEXT_COUNT; i++)
        assert_int_equal(fixture_append(&f, WBI_KIND_OUTCOME, i, NULL), WB_OK);
    for (int i = WBI_ROW_TEXT_COUNT; i >= 1;
         i--) { /* the last one first: each is then the first bad one */
        struct wbi_verify_report report;
        char sql[200];
        snprintf(sql, sizeof(sql), "UPDATE ledger SET %s = coalesce(%s, '') || 'x' WHERE seq = %d",
                 columns[i - 1], columns[i - 1], i);
        tamper(&f, sql);
        report = fixture_verify(&f);
        assert_false(report.good);
        assert_int_equal(report.first_bad, i);
        assert_int_equal(report.rows, i - 1);
    }
    fixture_fini(&f);
}

static void a_witness_outside_shows_a_cut_tail(void **state)
{
    struct wbi_verify_report report;
    struct wbi_witness head;
    char path[400];
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    for (unsigned long c = 1; c <= 5; c++)
        fixture_call(&f, c);
    assert_int_equal(wbi_store_tail(f.store, &head, NULL), WB_OK);
    assert_int_equal(wbi_ledger_verify(f.ledger, &head, 1, &report, NULL), WB_OK);
    assert_true(report.good);
    tamper(&f, "DELETE FROM ledger WHERE seq > 8");
    snprintf(path, sizeof(path), "%s/instances/%s.head", f.user, wbi_store_dir(f.store)->id);
    assert_int_equal(unlink(path), 0);
    assert_true(fixture_verify(&f).good); /* the chain alone cannot see it */
    assert_int_equal(wbi_ledger_verify(f.ledger, &head, 1, &report, NULL), WB_OK);
    assert_false(report.good);
    assert_int_equal(report.first_bad, 9);
    fixture_fini(&f);
}

static void a_changed_tail_is_found_at_start(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    for (unsigned long c = 1; c <= 30; c++)
        fixture_call(&f, c);
    fixture_close(&f);
    tamper(&f, "UPDATE ledger SET status = 'error' WHERE seq = 58");
    assert_int_equal(fixture_try(&f, &err), WB_ESTATE);
    assert_non_null(strstr(err.text, "row 58"));
    fixture_fini(&f);
}

static void in_child(struct fixture *f, unsigned long from, unsigned long to, bool stay, int ready)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (fixture_try(f, &err) != WB_OK)
        _exit(1);
    for (unsigned long i = from; i <= to; i++) {
        if (fixture_append(f, WBI_KIND_INTENT, i, &err) != WB_OK)
            _exit(2);
    }
    if (write(ready, "r", 1) != 1)
        _exit(3);
    while (stay)
        pause();
    _exit(0); /* without closing: as dead as by a signal */
}

static wb_rc note_close(void *arg, const struct wbi_row *intent, struct wbi_arena *arena,
                        struct wbi_row *out)
{
    ++*(int *)arg;
    out->result = wbi_arena_fmt(arena, "{\"callId\":\"%.*s\"}", WBI_FMT(intent->call_id));
    return out->result.p != NULL ? WB_OK : WB_ENOMEM;
}

/* C12.2: "only rows of dead owners are closed as unknown" */
static void calls_of_dead_owners_alone_are_closed(void **state)
{
    struct wbi_ledger_options lo = {.close_call = note_close};
    struct wbi_record record;
    struct fixture f;
    char byte, id[40];
    int ready[2], status, noted = 0;
    pid_t living, dead;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 50);
    fixture_close(&f);
    assert_int_equal(pipe(ready), 0);
    living = fork();
    if (living == 0)
        in_child(&f, 1, 3, true, ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    dead = fork();
    if (dead == 0)
        in_child(&f, 101, 400, false, ready[1]); /* more than are closed at once */
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(waitpid(dead, &status, 0), dead);
    assert_int_equal(status, 0);

    tamper(&f, "INSERT INTO open_calls SELECT call_id, 1, (SELECT owner FROM open_calls ORDER BY "
               "seq DESC LIMIT 1) FROM ledger WHERE seq = 1"); /* ended: it only loses its note */
    lo.clock = wbi_clock_by_hand(&f.clock);
    lo.close_arg = &noted;
    assert_int_equal(fixture_try_store(&f, NULL), WB_OK);
    assert_int_equal(wbi_ledger_open(f.store, &lo, &f.ledger, &f.closed, NULL), WB_OK);
    assert_int_equal(f.closed, 300);
    assert_int_equal(noted, 301);
    (void)fixture_row(id, WBI_KIND_INTENT, 101);
    assert_int_equal(wbi_ledger_get(f.ledger, f.arena, wbi_str_z(id), &record, NULL), WB_OK);
    assert_true(record.has_outcome);
    assert_true(wbi_str_eqz(record.outcome.status, "error"));
    assert_true(wbi_str_eqz(record.outcome.error_kind, "outcome_unknown"));
    assert_true(wbi_str_starts(record.outcome.receipt,
                               WBI_LIT("Error: outcome_unknown (not retryable)\n")));
    assert_true(wbi_str_starts(
        record.outcome.canonical,
        WBI_LIT("{\"tool_name\":\"ExecCommand\",\"status\":\"error\",\"summary_text\":")));
    assert_true(wbi_str_starts(record.outcome.result, WBI_LIT("{\"callId\":\"call_")));
    (void)fixture_row(id, WBI_KIND_INTENT, 2);
    assert_int_equal(wbi_ledger_get(f.ledger, f.arena, wbi_str_z(id), &record, NULL), WB_OK);
    assert_false(record.has_outcome); /* its process lives */
    assert_true(fixture_verify(&f).good);
    fixture_close(&f);

    kill(living, SIGKILL);
    assert_int_equal(waitpid(living, &status, 0), living);
    fixture_open(&f);
    assert_int_equal(f.closed, 3);
    fixture_close(&f);
    fixture_open(&f);
    assert_int_equal(f.closed, 0);
    close(ready[0]);
    close(ready[1]);
    fixture_fini(&f);
}

struct posted {
    struct wbi_loop *loop;
    int done;
    bool all;
    bool on_loop;
    int64_t last;
};

static void wake_loop(void *arg, struct wbi_post *node)
{
    wbi_loop_post(((struct posted *)arg)->loop, node);
}

static void on_done(void *arg, const struct wbi_ledger_ack *ack)
{
    struct posted *p = arg;

    assert_int_equal(ack->rc, WB_OK);
    assert_true(ack->seq > p->last);
    p->last = ack->seq;
    p->on_loop = wbi_loop_here(p->loop);
    p->all = ++p->done == 200;
}

static void completions_come_to_the_loop_in_order(void **state)
{
    struct wbi_ledger_options lo = {.clock = wbi_clock_system()};
    struct posted p = {.done = 0};
    struct wbi_store_options o = {.ids = wbi_ids_system(), .wake = wake_loop, .wake_arg = &p};
    struct wbi_store_health health;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    o.dir = f.dir;
    o.user_dir = f.user;
    assert_int_equal(wbi_loop_new(NULL, &p.loop, NULL), WB_OK);
    assert_int_equal(wbi_store_open(&o, &f.store, NULL), WB_OK);
    assert_int_equal(wbi_ledger_open(f.store, &lo, &f.ledger, NULL, NULL), WB_OK);
    for (unsigned long i = 1; i <= 200; i++) {
        char id[40];
        struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, i);
        struct wbi_ledger_append a = {.row = &row, .done = on_done, .arg = &p};
        assert_int_equal(wbi_ledger_append(f.ledger, &a, NULL), WB_OK);
    }
    wbi_loop_run(p.loop, &p.all);
    assert_true(p.on_loop);
    wbi_store_health(f.store, &health);
    assert_true(health.writable);
    assert_int_equal(health.operations, 200);
    assert_true(health.commits < 200); /* what arrived during a commit went together */
    fixture_close(&f);
    wbi_loop_free(p.loop);
    fixture_fini(&f);
}

static void a_row_and_its_key_are_one_commit(void **state)
{
    struct wbi_change key = {WBI_LIT_INIT("keys"), WBI_LIT_INIT("k1"), WBI_LIT_INIT("{}"),
                             WBI_MUST_BE_NEW, 0};
    struct wbi_entry e;
    char id[40];
    struct wbi_row row = fixture_row(id, WBI_KIND_INTENT, 1);
    struct wbi_ledger_append a = {.row = &row, .changes = &key, .change_count = 1};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    assert_int_equal(wbi_ledger_append(f.ledger, &a, NULL), WB_OK);
    assert_int_equal(wbi_ledger_flush(f.ledger, NULL), WB_OK);
    assert_int_equal(wbi_store_get(f.store, f.arena, key.table, key.key, &e, NULL), WB_OK);
    row = fixture_row(id, WBI_KIND_INTENT, 2); /* the key exists: no row either */
    assert_int_equal(wbi_ledger_append(f.ledger, &a, NULL), WB_OK);
    row = fixture_row(id, WBI_KIND_INTENT, 1); /* the row exists: no key either */
    key.key = WBI_LIT("k2");
    assert_int_equal(wbi_ledger_append(f.ledger, &a, NULL), WB_OK);
    assert_int_equal(wbi_ledger_flush(f.ledger, NULL), WB_OK);
    assert_int_equal(wbi_store_get(f.store, f.arena, key.table, key.key, &e, NULL), WB_ENOTFOUND);
    assert_int_equal(fixture_verify(&f).rows, 1);
    fixture_fini(&f);
}

/* row 119: the clock goes back and forth, the order stays; row 128: 1970, 2038,
 * year 10000, locale and time zone change no byte */
static void clocks_and_locales_change_no_order_and_no_byte(void **state)
{
    static const int64_t times[] = {
        0, 1, 1700000000000, 1699996400000, 1731622400000, 2147483648000, 253402300800000, -1};
    uint8_t first[WBI_SHA256_SIZE];
    struct wbi_sha256 *sha;

    (void)state;
    assert_int_equal(wbi_sha256_new(&sha), WB_OK);
    for (int round = 0; round < 2; round++) {
        uint8_t hash[WBI_SHA256_SIZE] = {0};
        struct fixture f;
        struct seen s;
        if (round == 1) {
            setenv("TZ", "Pacific/Kiritimati", 1);
            tzset();
            if (setlocale(LC_ALL, "tr_TR.UTF-8") == NULL)
                print_message("skipped: Turkish locale (not installed)\n");
        }
        fixture_init(&f);
        fixture_open(&f);
        for (unsigned long i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
            char id[40];
            struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, i);
            row.time_ms = f.clock.wall_ms = times[i];
            row.seq = (int64_t)i + 1;
            assert_int_equal(wbi_chain_hash(sha, hash, &row, hash), WB_OK);
            assert_int_equal(fixture_append(&f, WBI_KIND_OUTCOME, i, NULL), WB_OK);
        }
        s = list(&f, (struct wbi_row_query){.max = 0});
        assert_int_equal(s.n, sizeof(times) / sizeof(times[0]));
        assert_true(fixture_verify(&f).good);
        if (round == 0)
            memcpy(first, hash, sizeof(hash));
        else
            assert_memory_equal(first, hash, sizeof(hash));
        fixture_fini(&f);
    }
    wbi_sha256_free(sha);
    unsetenv("TZ");
    tzset();
    setlocale(LC_ALL, "C");
}

/* row 118: a foreign program reads for long: the log grows, which shows */
static void a_long_reader_stops_nobody_and_the_log_is_folded_in_later(void **state)
{
    struct wbi_store_health health;
    struct fixture f;
    char path[300], *large = calloc(1, 200000);
    sqlite3 *db;
    sqlite3_stmt *st;
    char id[40];
    struct wbi_row row;

    (void)state;
    assert_non_null(large);
    memset(large, 'x', 199999);
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    snprintf(path, sizeof(path), "%s/ledger.db", f.dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM ledger", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    for (unsigned long i = 2; i < 60; i++) {
        row = fixture_row(id, WBI_KIND_OUTCOME, i);
        row.receipt = wbi_str_make(large, 199999);
        assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, NULL), WB_OK);
    }
    wbi_store_health(f.store, &health);
    assert_true(health.writable && health.wal_pages > 2 * WBI_LIMIT_WAL_PAGES);
    sqlite3_finalize(st);
    sqlite3_close(db);
    for (unsigned long i = 60; i < 90; i++) {
        row = fixture_row(id, WBI_KIND_OUTCOME, i);
        row.receipt = wbi_str_make(large, 199999);
        assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, NULL), WB_OK);
    }
    wbi_store_health(f.store, &health);
    assert_true(health.wal_pages < 2 * WBI_LIMIT_WAL_PAGES);
    assert_true(fixture_verify(&f).good);
    free(large);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_numbered_and_chained),
        cmocka_unit_test(chain_bytes_are_as_documented),
        cmocka_unit_test(chain_bytes_are_the_same_for_long_texts),
        cmocka_unit_test(what_columns_say_is_stored_once),
        cmocka_unit_test(a_call_has_one_intent_and_one_outcome),
        cmocka_unit_test(a_row_without_call_or_of_endless_length_is_refused),
        cmocka_unit_test(get_returns_what_was_appended),
        cmocka_unit_test(lists_filter_and_go_both_ways),
        cmocka_unit_test(row_json_is_json_whatever_is_in_the_row),
        cmocka_unit_test(verify_names_the_first_bad_row),
        cmocka_unit_test(every_column_is_under_the_hash),
        cmocka_unit_test(a_witness_outside_shows_a_cut_tail),
        cmocka_unit_test(a_changed_tail_is_found_at_start),
        cmocka_unit_test(calls_of_dead_owners_alone_are_closed),
        cmocka_unit_test(completions_come_to_the_loop_in_order),
        cmocka_unit_test(a_row_and_its_key_are_one_commit),
        cmocka_unit_test(clocks_and_locales_change_no_order_and_no_byte),
        cmocka_unit_test(a_long_reader_stops_nobody_and_the_log_is_folded_in_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
