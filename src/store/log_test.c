/* SPDX-License-Identifier: Apache-2.0
 * store/log_test.c: a file whose writes are gathered reads as one whose are not, and
 * what fails is told to whoever asks for the next thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/log.c"

enum { SIZE = 5 * KEPT };

/* A file in memory. */
struct memory {
    sqlite3_file file; /* first: SQLite's view of it */
    unsigned char bytes[SIZE];
    sqlite3_int64 size;
    int writes, syncs, closed;
    int fail; /* the code of writes from now on */
};

static int memory_close(sqlite3_file *file)
{
    ((struct memory *)file)->closed++;
    return SQLITE_OK;
}

static int memory_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    memcpy(to, ((struct memory *)file)->bytes + at, (size_t)n);
    return SQLITE_OK;
}

static int memory_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct memory *m = (struct memory *)file;

    assert_in_range(n, 1, 0x1ffff); /* what unixWrite takes */
    m->writes++;
    if (m->fail != SQLITE_OK)
        return m->fail;
    memcpy(m->bytes + at, from, (size_t)n);
    m->size = WBI_MAX(m->size, at + n);
    return SQLITE_OK;
}

static int memory_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    ((struct memory *)file)->size = size;
    return SQLITE_OK;
}

static int memory_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    ((struct memory *)file)->syncs++;
    return SQLITE_OK;
}

static int memory_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    *ret = ((struct memory *)file)->size;
    return SQLITE_OK;
}

static int memory_sector(sqlite3_file *file)
{
    (void)file;
    return 512;
}

static const sqlite3_io_methods in_memory = {
    .iVersion = 3,
    .xClose = memory_close,
    .xRead = memory_read,
    .xWrite = memory_write,
    .xTruncate = memory_truncate,
    .xSync = memory_sync,
    .xFileSize = memory_size,
    .xSectorSize = memory_sector,
};

static struct memory *open_memory(void)
{
    struct memory *m = wbi_zalloc(sizeof(*m));

    assert_non_null(m);
    m->file.pMethods = &in_memory;
    gather(&m->file);
    assert_ptr_not_equal(m->file.pMethods, &in_memory);
    return m;
}

static void close_memory(struct memory *m)
{
    assert_int_equal(m->file.pMethods->xClose(&m->file), SQLITE_OK);
    assert_int_equal(m->closed, 1);
    assert_ptr_equal(m->file.pMethods, &in_memory);
}

static int put(struct memory *m, const void *from, int n, sqlite3_int64 at)
{
    return m->file.pMethods->xWrite(&m->file, from, n, at);
}

static void frames_become_few_writes(void **state)
{
    static char page[8192];
    struct memory *m = open_memory();
    sqlite3_int64 at = 32;

    (void)state;
    assert_int_equal(put(m, page, 32, 0), SQLITE_OK);
    for (int i = 0; i < 20; i++) {
        memset(page, 'a' + i, sizeof(page));
        assert_int_equal(put(m, page, 24, at), SQLITE_OK);
        assert_int_equal(put(m, page, sizeof(page), at + 24), SQLITE_OK);
        at += 24 + (sqlite3_int64)sizeof(page);
    }
    assert_int_equal(m->writes, at / KEPT); /* a whole one each */
    assert_int_equal(m->size, at / KEPT * KEPT);
    assert_int_equal(m->file.pMethods->xSync(&m->file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    assert_int_equal(m->writes, at / KEPT + 1);
    assert_int_equal(m->syncs, 1);
    assert_int_equal(m->size, at);
    for (sqlite3_int64 i = 32; i < at; i++)
        assert_int_equal(m->bytes[i], 'a' + (i - 32) / 8216);
    assert_int_equal(m->file.pMethods->xSync(&m->file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    assert_int_equal(m->writes, at / KEPT + 1); /* nothing was left */
    assert_int_equal(m->file.pMethods->xSectorSize(&m->file), 512);
    close_memory(m);
    wbi_free(m);
}

/* Whatever is written where, and read in between. */
static void reads_as_if_written_at_once(void **state)
{
    static unsigned char text[2 * KEPT + 99], have[SIZE];
    struct memory *m = open_memory(), *plain = wbi_zalloc(sizeof(*plain));
    uint32_t chance = 7;
    sqlite3_int64 size, at = 0;

    (void)state;
    assert_non_null(plain);
    for (int round = 0; round < 4000; round++) {
        int n;
        chance = chance * 1664525 + 1013904223;
        n = chance >> 31 ? (int)(chance >> 8) % (int)sizeof(text) : (int)(chance >> 8) % 500;
        if ((chance >> 4) % 4 == 0 || at + n > SIZE)
            at = (chance >> 5) % (SIZE - (unsigned)n);
        memset(text, (int)(chance >> 24), (size_t)n);
        assert_int_equal(put(m, text, n, at), SQLITE_OK);
        if (n > 0) {
            memcpy(plain->bytes + at, text, (size_t)n);
            plain->size = WBI_MAX(plain->size, at + n);
        }
        at += n;
        if (chance % 5 == 0) {
            assert_int_equal(m->file.pMethods->xRead(&m->file, have, SIZE, 0), SQLITE_OK);
            assert_memory_equal(have, plain->bytes, SIZE);
        } else if (chance % 5 == 1) {
            assert_int_equal(m->file.pMethods->xFileSize(&m->file, &size), SQLITE_OK);
            assert_int_equal(size, plain->size);
        } else if (chance % 50 == 2) {
            plain->size /= 2;
            assert_int_equal(m->file.pMethods->xTruncate(&m->file, plain->size), SQLITE_OK);
            assert_int_equal(m->size, plain->size);
        }
    }
    assert_int_equal(m->file.pMethods->xSync(&m->file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    close_memory(m);
    assert_memory_equal(m->bytes, plain->bytes, SIZE);
    assert_int_equal(m->size, plain->size);
    wbi_free(plain);
    wbi_free(m);
}

static void what_fails_is_told(void **state)
{
    static char text[KEPT];
    sqlite3_int64 size;
    struct memory *m = open_memory();
    const sqlite3_io_methods *ask = m->file.pMethods;

    (void)state;
    m->fail = SQLITE_FULL;
    assert_int_equal(put(m, text, 100, 0), SQLITE_OK);
    assert_int_equal(ask->xSync(&m->file, SQLITE_SYNC_NORMAL), SQLITE_FULL);
    assert_int_equal(m->syncs, 0);
    assert_int_equal(put(m, text, 100, 0), SQLITE_OK);
    assert_int_equal(ask->xRead(&m->file, text, 1, 0), SQLITE_FULL);
    assert_int_equal(put(m, text, 100, 0), SQLITE_OK);
    assert_int_equal(ask->xFileSize(&m->file, &size), SQLITE_FULL);
    assert_int_equal(put(m, text, 100, 0), SQLITE_OK);
    assert_int_equal(ask->xTruncate(&m->file, 0), SQLITE_FULL);
    assert_int_equal(put(m, text, 100, 0), SQLITE_OK);
    assert_int_equal(put(m, text, 100, 1000), SQLITE_FULL); /* what was before it */
    assert_int_equal(put(m, text, KEPT, 0), SQLITE_FULL);
    close_memory(m);
    wbi_free(m);
}

/* Who closes it without a sync has given up what he wrote; others may have written there. */
static void what_was_not_synced_is_not_written_at_the_end(void **state)
{
    static char text[100];
    struct memory *m = open_memory();

    (void)state;
    assert_int_equal(put(m, text, sizeof(text), 0), SQLITE_OK);
    close_memory(m);
    assert_int_equal(m->writes, 0);
    assert_int_equal(m->size, 0);
    wbi_free(m);
}

/* Pages that do not fit in SQLite's memory go to the log, and are read back, before the
 * commit; somebody else sees all of it or nothing. */
static void a_large_commit_is_there_for_others(void **state)
{
    char path[] = "/tmp/wbi_log_XXXXXX", file[64];
    struct wbi_db db = {.sql = NULL}, other = {.sql = NULL};
    static const char *const beside[] = {"", "-wal", "-shm"};
    int64_t n = -1;

    (void)state;
    assert_non_null(mkdtemp(path));
    (void)snprintf(file, sizeof(file), "%s/db", path);
    assert_int_equal(sqlite3_open(file, &db.sql), SQLITE_OK);
    assert_int_equal(wbi_db_exec(&db,
                                 "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; "
                                 "PRAGMA synchronous=FULL; PRAGMA cache_size=10; "
                                 "CREATE TABLE t (x INTEGER PRIMARY KEY, y)",
                                 NULL),
                     WB_OK);
    wbi_db_gather_log(&db);
    assert_int_equal(sqlite3_open(file, &other.sql), SQLITE_OK);
    assert_int_equal(wbi_db_exec(&db,
                                 "BEGIN; WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                                 "FROM c WHERE i < 2000) INSERT INTO t SELECT i, "
                                 "printf('%.900c', 'x') FROM c; UPDATE t SET y = y || x",
                                 NULL),
                     WB_OK);
    assert_int_equal(wbi_db_number(&other, "SELECT count(*) FROM t", &n, NULL), WB_OK);
    assert_int_equal(n, 0);
    assert_int_equal(wbi_db_exec(&db, "COMMIT", NULL), WB_OK);
    assert_int_equal(wbi_db_number(&other, "SELECT sum(length(y)) FROM t", &n, NULL), WB_OK);
    assert_int_equal(n, 2000 * 900 + 9 + 180 + 2700 + 4004);
    assert_int_equal(
        wbi_db_exec(&db, "BEGIN; DELETE FROM t; ROLLBACK; DELETE FROM t WHERE x > 1", NULL), WB_OK);
    assert_int_equal(wbi_db_number(&other, "SELECT sum(x) FROM t", &n, NULL), WB_OK);
    assert_int_equal(n, 1);
    assert_int_equal(
        wbi_db_number(&other,
                      "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'",
                      &n, NULL),
        WB_OK);
    assert_int_equal(n, 1);
    wbi_db_close(&db);
    wbi_db_close(&other);
    for (size_t i = 0; i < WBI_COUNT(beside); i++) {
        (void)snprintf(file, sizeof(file), "%s/db%s", path, beside[i]);
        (void)unlink(file);
    }
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_become_few_writes),
        cmocka_unit_test(reads_as_if_written_at_once),
        cmocka_unit_test(what_fails_is_told),
        cmocka_unit_test(what_was_not_synced_is_not_written_at_the_end),
        cmocka_unit_test(a_large_commit_is_there_for_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
