/* SPDX-License-Identifier: Apache-2.0
 * store/log.c: fewer writes to the log (ledger.db-wal).
 * SQLite writes each frame of a commit in two pieces, 24 bytes and a page, and the kernel
 * takes longer over many small writes than over the bytes. What follows on what was
 * written last is kept here and written as one, at the latest before anything else is
 * done with the file. A commit is synced before anybody else can see it (synchronous is
 * FULL), so nobody misses what is still kept; what fails then fails the commit. */
#include "store/store_int.h"

#include "base/alloc.h"
#include "base/checked.h"

enum { KEPT = 64 * WBI_KIB }; /* SQLite's own methods must be given less than twice as much */

/* Stands in for the methods of an open file; the file itself stays SQLite's. */
struct log_file {
    sqlite3_io_methods methods; /* first: a file points to it */
    const sqlite3_io_methods *real;
    sqlite3_int64 at; /* where the bytes belong */
    int n;
    char bytes[KEPT];
};

static struct log_file *of(sqlite3_file *file)
{
    return (struct log_file *)(uintptr_t)file->pMethods;
}

static int flush(sqlite3_file *file)
{
    struct log_file *log = of(file);
    int code = log->n > 0 ? log->real->xWrite(file, log->bytes, log->n, log->at) : SQLITE_OK;

    log->at += log->n;
    log->n = 0;
    return code;
}

/* What is still kept is of a transaction that was given up: a commit has been synced. It is
 * left out, for somebody else may have written there meanwhile. */
static int log_close(sqlite3_file *file)
{
    struct log_file *log = of(file);

    file->pMethods = log->real;
    wbi_free(log);
    return file->pMethods->xClose(file);
}

static int log_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    int code = flush(file);

    return code == SQLITE_OK ? of(file)->real->xRead(file, to, n, at) : code;
}

/* Writes end at multiples of KEPT, so that the kernel keeps them in pages as large. */
static int log_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct log_file *log = of(file);
    int code = at == log->at + log->n ? SQLITE_OK : flush(file);

    if (log->n == 0)
        log->at = at;
    for (const char *p = from; code == SQLITE_OK && n > 0;) {
        int room = KEPT - (int)((log->at + log->n) % KEPT), part = WBI_MIN(n, room);

        memcpy(log->bytes + log->n, p, (size_t)part);
        log->n += part;
        p += part;
        n -= part;
        if (part == room)
            code = flush(file);
    }
    return code;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int code = flush(file);

    return code == SQLITE_OK ? of(file)->real->xTruncate(file, size) : code;
}

static int log_sync(sqlite3_file *file, int flags)
{
    int code = flush(file);

    return code == SQLITE_OK ? of(file)->real->xSync(file, flags) : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    int code = flush(file);

    return code == SQLITE_OK ? of(file)->real->xFileSize(file, ret) : code;
}

/* Of version 1: a log is neither mapped nor locked. */
static sqlite3_io_methods methods_over(const sqlite3_io_methods *real)
{
    return (sqlite3_io_methods){
        .iVersion = 1,
        .xClose = log_close,
        .xRead = log_read,
        .xWrite = log_write,
        .xTruncate = log_truncate,
        .xSync = log_sync,
        .xFileSize = log_size,
        .xLock = real->xLock,
        .xUnlock = real->xUnlock,
        .xCheckReservedLock = real->xCheckReservedLock,
        .xFileControl = real->xFileControl,
        .xSectorSize = real->xSectorSize,
        .xDeviceCharacteristics = real->xDeviceCharacteristics,
    };
}

static void gather(sqlite3_file *file)
{
    struct log_file *log = wbi_alloc(sizeof(*log));

    if (log == NULL)
        return;
    log->real = file->pMethods;
    log->methods = methods_over(log->real);
    log->at = 0;
    log->n = 0;
    file->pMethods = &log->methods;
}

void wbi_db_gather_log(struct wbi_db *db)
{
    sqlite3_file *file = NULL;

    if (sqlite3_file_control(db->sql, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK &&
        file != NULL && file->pMethods != NULL)
        gather(file);
}
