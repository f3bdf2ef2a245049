/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_ledger.c: the ledger against raw SQLite and against one
 * fdatasync, in the same run on the same disk. Prints one JSON object.
 * WAYBILL_BENCH_ROWS: rows of the ledger whose start is timed (default 50,000;
 * the target speaks of 1,000,000). WAYBILL_BENCH_DIR: where (default /var/tmp). */
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ledger/ledger.h"

extern const char wbi_data_store_schema_sql[];

enum { LONE = 1500, GROUPED = 20000, GROUP = 100, PURE = 4000 };

static char base[256];
static char invocation[320], canonical[512], receipt[300];

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_ledger: %s failed\n", what);
        exit(1);
    }
}

static int64_t now(void)
{
    struct wbi_clock c = wbi_clock_system();

    return wbi_now_ns(&c);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static double percentile_us(int64_t *times, size_t n, double p)
{
    qsort(times, n, sizeof(*times), by_value);
    return (double)times[(size_t)((double)(n - 1) * p)] / 1000.0;
}

static struct wbi_row make_row(char id[32], unsigned long i)
{
    struct wbi_row row = {.duration_us = 1500, .time_ms = 1700000000000 + (int64_t)i};

    snprintf(id, 32, "call_%020lx", i * 2654435761ul);
    row.call_id = wbi_str_make(id, 25);
    row.provider_call_id = wbi_str_make(id + 5, 20);
    row.kind = WBI_LIT(WBI_KIND_OUTCOME);
    row.tool = WBI_LIT("ExecCommand");
    row.status = WBI_LIT("success");
    row.conversation = WBI_LIT("conv_0123456789");
    row.principal = WBI_LIT("local");
    row.effect = WBI_LIT("Pure");
    row.invocation = wbi_str_make(invocation, sizeof(invocation));
    row.canonical = wbi_str_make(canonical, sizeof(canonical));
    row.receipt = wbi_str_make(receipt, sizeof(receipt));
    return row;
}

static double raw_sqlite(unsigned long rows, unsigned long group, int64_t *times)
{
    static const char insert[] =
        "INSERT INTO ledger (seq, call_id, kind, time_ms, tool, status, duration_us, conversation, "
        "provider_call_id, principal, effect, hash, invocation, canonical, receipt) VALUES "
        "(?,?,?,?,?,?,?,?,?,?,?,zeroblob(32),?,?,?)";
    char path[300], id[32];
    sqlite3_stmt *st = NULL;
    sqlite3 *db = NULL;
    int64_t start, t;

    snprintf(path, sizeof(path), "%s/raw%lu.db", base, group);
    must(sqlite3_open(path, &db) == SQLITE_OK, "open");
    must(sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", 0, 0, 0) == SQLITE_OK,
         "pragma");
    must(sqlite3_exec(db, wbi_data_store_schema_sql, 0, 0, 0) == SQLITE_OK, "schema");
    must(sqlite3_prepare_v2(db, insert, -1, &st, NULL) == SQLITE_OK, "prepare");
    start = now();
    for (unsigned long i = 0; i < rows; i += group) {
        t = now();
        sqlite3_exec(db, "BEGIN IMMEDIATE", 0, 0, 0);
        for (unsigned long j = 0; j < group; j++) {
            struct wbi_row r = make_row(id, i + j);
            struct wbi_str texts[] = {r.call_id,   r.kind,   WBI_NONE,       r.tool,
                                      r.status,    WBI_NONE, r.conversation, r.provider_call_id,
                                      r.principal, r.effect, r.invocation,   r.canonical,
                                      r.receipt};
            sqlite3_bind_int64(st, 1, (sqlite3_int64)(i + j + 1));
            for (int c = 0; c < 13; c++)
                sqlite3_bind_text(st, c + 2, texts[c].p, (int)texts[c].n, SQLITE_STATIC);
            sqlite3_bind_int64(st, 4, r.time_ms);
            sqlite3_bind_int64(st, 7, r.duration_us);
            must(sqlite3_step(st) == SQLITE_DONE, "insert");
            sqlite3_reset(st);
        }
        must(sqlite3_exec(db, "COMMIT", 0, 0, 0) == SQLITE_OK, "commit");
        if (times != NULL)
            times[i / group] = now() - t;
    }
    t = now() - start;
    sqlite3_finalize(st);
    sqlite3_close(db);
    return (double)rows * 1e9 / (double)t;
}

/* Appending 4 KiB and one fdatasync: the least a durable acknowledgement costs. */
static void fdatasyncs(int64_t *times, size_t n)
{
    static const char page[4096];
    char path[300];
    int fd;

    snprintf(path, sizeof(path), "%s/sync", base);
    fd = open(path, O_CREAT | O_RDWR, 0600);
    for (size_t i = 0; i < n; i++) {
        int64_t t = now();
        must(pwrite(fd, page, sizeof(page), (off_t)(i * sizeof(page))) == sizeof(page), "write");
        must(fdatasync(fd) == 0, "fdatasync");
        times[i] = now() - t;
    }
    close(fd);
}

struct bench {
    struct wbi_store *store;
    struct wbi_ledger *ledger;
};

static struct bench open_ledger(const char *name)
{
    char dir[300], user[300];
    struct wbi_store_options o = {.dir = dir, .user_dir = user, .ids = wbi_ids_system()};
    struct wbi_ledger_options lo = {.clock = wbi_clock_system()};
    struct wbi_error err = WBI_ERROR_INIT;
    struct bench b;

    snprintf(dir, sizeof(dir), "%s/%s", base, name);
    snprintf(user, sizeof(user), "%s/user", base);
    must(wbi_store_open(&o, &b.store, &err) == WB_OK, err.text);
    must(wbi_ledger_open(b.store, &lo, &b.ledger, NULL, &err) == WB_OK, err.text);
    return b;
}

static void close_ledger(struct bench *b)
{
    wbi_ledger_free(b->ledger);
    wbi_store_close(b->store);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long acknowledged, wanted;

static void count(void *arg, const struct wbi_ledger_ack *ack)
{
    (void)arg;
    must(ack->rc == WB_OK, "append");
    pthread_mutex_lock(&mutex);
    if (++acknowledged == wanted)
        pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
}

static void wait_for(unsigned long n)
{
    pthread_mutex_lock(&mutex);
    wanted = n;
    while (acknowledged < n)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* At most `ahead` rows are unacknowledged at any time. */
static double grouped(unsigned long rows, unsigned long ahead)
{
    struct bench b = open_ledger("grouped");
    int64_t start = now(), t;
    char id[32];

    acknowledged = 0;
    for (unsigned long i = 0; i < rows; i++) {
        struct wbi_row row = make_row(id, i);
        struct wbi_ledger_append a = {.row = &row, .done = count};
        must(wbi_ledger_append(b.ledger, &a, NULL) == WB_OK, "append");
        if (i >= ahead && i % GROUP == 0)
            wait_for(i - ahead);
    }
    wait_for(rows);
    t = now() - start;
    close_ledger(&b);
    return (double)rows * 1e9 / (double)t;
}

static void lone(int64_t *times, size_t n)
{
    struct bench b = open_ledger("lone");
    char id[32];

    for (size_t i = 0; i < n; i++) {
        struct wbi_row row = make_row(id, i);
        int64_t t = now();
        must(wbi_ledger_append_wait(b.ledger, &row, NULL, NULL) == WB_OK, "append");
        times[i] = now() - t;
    }
    close_ledger(&b);
}

static void stamp(void *arg, const struct wbi_ledger_ack *ack)
{
    *(int64_t *)arg = now() - *(int64_t *)arg;
    count(NULL, ack);
}

/* The same with a callback: one change of thread to the writer. */
static void posted(int64_t *times, size_t n)
{
    struct bench b = open_ledger("posted");
    char id[32];

    acknowledged = 0;
    for (size_t i = 0; i < n; i++) {
        struct wbi_row row = make_row(id, i);
        struct wbi_ledger_append a = {.row = &row, .done = stamp, .arg = &times[i]};
        times[i] = now();
        must(wbi_ledger_append(b.ledger, &a, NULL) == WB_OK, "append");
        wait_for(i + 1);
    }
    close_ledger(&b);
}

/* What a Pure call pays: the append itself, nobody waits. Paced, so that it is
 * the price of a call now and then as well as of many. */
static void pure(int64_t *times, size_t n)
{
    struct bench b = open_ledger("pure");
    char id[32];

    for (size_t i = 0; i < n; i++) {
        struct wbi_row row = make_row(id, i);
        struct wbi_ledger_append a = {.row = &row};
        int64_t t = now();
        must(wbi_ledger_append(b.ledger, &a, NULL) == WB_OK, "append");
        times[i] = now() - t;
        while (now() - t < 50000)
            ;
    }
    close_ledger(&b);
}

static double start_ms(unsigned long rows, double *ret_bytes)
{
    struct bench b = open_ledger("start");
    char id[32], path[300];
    int64_t best = INT64_MAX;
    struct stat st;

    for (unsigned long i = 0; i < rows; i++) {
        struct wbi_row row = make_row(id, i);
        struct wbi_ledger_append a = {.row = &row};
        while (wbi_ledger_append(b.ledger, &a, NULL) != WB_OK)
            must(wbi_ledger_flush(b.ledger, NULL) == WB_OK, "flush");
    }
    close_ledger(&b);
    for (int i = 0; i < 5; i++) {
        int64_t t = now();
        b = open_ledger("start");
        t = now() - t;
        best = t < best ? t : best;
        close_ledger(&b);
    }
    snprintf(path, sizeof(path), "%s/start/ledger.db", base);
    must(stat(path, &st) == 0, "stat");
    *ret_bytes = (double)st.st_size / (double)rows;
    return (double)best / 1e6;
}

/* `ledger stats` over the ledger that start_ms made. */
static double stats_ms(void)
{
    struct bench b = open_ledger("start");
    struct wbi_row_query all = {.max = 0};
    int64_t best = INT64_MAX;
    struct wbi_buf out;

    for (int i = 0; i < 3; i++) {
        int64_t t = now();
        wbi_buf_init(&out, 1u << 20);
        must(wbi_ledger_stats(b.ledger, &all, &out, NULL) == WB_OK, "stats");
        wbi_buf_fini(&out);
        t = now() - t;
        best = t < best ? t : best;
    }
    close_ledger(&b);
    return (double)best / 1e6;
}

/* A receipt as commands give them. */
static void fill_receipt(void)
{
    static const char text[] = "src/runtime/turn.rs:118: warning: unused variable `n`\n";

    for (size_t i = 0; i < sizeof(receipt); i++)
        receipt[i] = text[i % (sizeof(text) - 1)];
}

int main(void)
{
    static int64_t sync_times[LONE], lone_times[LONE], pure_times[PURE], raw_times[LONE],
        posted_times[LONE];
    const char *rows_text = getenv("WAYBILL_BENCH_ROWS"), *where = getenv("WAYBILL_BENCH_DIR");
    unsigned long rows = rows_text ? strtoul(rows_text, NULL, 10) : 50000;
    double raw1, raw100, ours, bytes, start, stats, sync50, lone50;
    char command[300];

    snprintf(base, sizeof(base), "%s/waybill-bench-XXXXXX", where ? where : "/var/tmp");
    must(mkdtemp(base) != NULL, "mkdtemp");
    memset(invocation, 'i', sizeof(invocation));
    memset(canonical, 'c', sizeof(canonical));
    fill_receipt();
    fdatasyncs(sync_times, LONE);
    raw1 = raw_sqlite(LONE, 1, raw_times);
    lone(lone_times, LONE);
    posted(posted_times, LONE);
    raw100 = raw_sqlite(GROUPED, GROUP, NULL);
    ours = grouped(GROUPED, 2 * GROUP);
    pure(pure_times, PURE);
    start = start_ms(rows, &bytes);
    stats = stats_ms();
    sync50 = percentile_us(sync_times, LONE, 0.5);
    lone50 = percentile_us(lone_times, LONE, 0.5);
    printf("{\"fdatasync_us\":{\"p50\":%.0f,\"p99\":%.0f},"
           "\"lone_ack_us\":{\"p50\":%.0f,\"p99\":%.0f},\"lone_ack_over_fdatasync\":%.2f,"
           "\"posted_ack_us\":{\"p50\":%.0f,\"p99\":%.0f},"
           "\"raw_1_rows_s\":%.0f,\"raw_1_us\":{\"p50\":%.0f,\"p99\":%.0f},"
           "\"raw_100_rows_s\":%.0f,\"ledger_rows_s\":%.0f,\"ledger_over_raw_100\":%.2f,"
           "\"pure_append_us\":{\"p50\":%.1f,\"p99\":%.1f},\"bytes_per_row\":%.0f,"
           "\"start_rows\":%lu,\"start_ms\":%.1f,\"stats_ms\":%.0f}\n",
           sync50, percentile_us(sync_times, LONE, 0.99), lone50,
           percentile_us(lone_times, LONE, 0.99), lone50 / sync50,
           percentile_us(posted_times, LONE, 0.5), percentile_us(posted_times, LONE, 0.99), raw1,
           percentile_us(raw_times, LONE, 0.5), percentile_us(raw_times, LONE, 0.99), raw100, ours,
           ours / raw100, percentile_us(pure_times, PURE, 0.5),
           percentile_us(pure_times, PURE, 0.99), bytes, rows, start, stats);
    snprintf(command, sizeof(command), "rm -rf '%s'", base);
    return system(command) == 0 ? 0 : 1;
}
