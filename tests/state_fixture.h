/* SPDX-License-Identifier: Apache-2.0
 * tests/state_fixture.h: a state directory of its own for each test, with a
 * ledger in it. Include after cmocka.h. */
#ifndef WAYBILL_TESTS_STATE_FIXTURE_H
#define WAYBILL_TESTS_STATE_FIXTURE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger.h"

struct fixture {
    char base[128], dir[160], user[160];
    struct wbi_clock_manual clock;
    struct wbi_store *store;
    struct wbi_ledger *ledger;
    struct wbi_arena *arena;
    size_t closed; /* calls of dead owners that the last open closed */
};

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void fixture_init(struct fixture *f)
{
    const char *where = getenv("TMPDIR");

    memset(f, 0, sizeof(*f));
    snprintf(f->base, sizeof(f->base), "%.80s/waybill-state-XXXXXX", where ? where : "/tmp");
    assert_non_null(mkdtemp(f->base));
    snprintf(f->dir, sizeof(f->dir), "%s/state", f->base);
    snprintf(f->user, sizeof(f->user), "%s/home/.local/state/waybill", f->base);
    f->clock = (struct wbi_clock_manual){.wall_ms = 1700000000000};
    assert_int_equal(wbi_arena_new(64u << 20, &f->arena), WB_OK);
}

static inline wb_rc fixture_try_store(struct fixture *f, struct wbi_error *err)
{
    struct wbi_store_options o = {.dir = f->dir, .user_dir = f->user, .ids = wbi_ids_system()};

    return wbi_store_open(&o, &f->store, err);
}

static inline wb_rc fixture_try(struct fixture *f, struct wbi_error *err)
{
    struct wbi_ledger_options lo = {.clock = wbi_clock_by_hand(&f->clock)};
    wb_rc rc = fixture_try_store(f, err);

    f->closed = 0;
    if (rc != WB_OK)
        return rc;
    rc = wbi_ledger_open(f->store, &lo, &f->ledger, &f->closed, err);
    if (rc != WB_OK) {
        wbi_store_close(f->store);
        f->store = NULL;
    }
    return rc;
}

static inline void fixture_close(struct fixture *f)
{
    wbi_ledger_free(f->ledger);
    wbi_store_close(f->store);
    f->ledger = NULL;
    f->store = NULL;
}

static inline void fixture_open(struct fixture *f)
{
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = fixture_try(f, &err);

    if (rc != WB_OK)
        print_error("open: %s\n", err.text);
    assert_int_equal(rc, WB_OK);
}

static inline void fixture_fini(struct fixture *f)
{
    fixture_close(f);
    wbi_arena_free(f->arena);
    remove_tree(f->base);
}

/* An intent, or an outcome; call_id is call_<number>. */
static inline struct wbi_row fixture_row(char id[40], const char *kind, unsigned long number)
{
    struct wbi_row row = {.duration_us = -1};

    snprintf(id, 40, "call_%020lu", number);
    row.call_id = wbi_str_z(id);
    row.provider_call_id = wbi_str_from(row.call_id, 5);
    row.kind = wbi_str_z(kind);
    row.tool = WBI_LIT("ExecCommand");
    row.conversation = WBI_LIT("conv_1");
    row.principal = WBI_LIT("local");
    row.effect = WBI_LIT("NonIdempotentWrite");
    row.invocation = WBI_LIT("{\"toolName\":\"local::ExecCommand\",\"input\":{\"cmd\":\"true\"}}");
    if (strcmp(kind, WBI_KIND_OUTCOME) == 0) {
        row.status = WBI_LIT("success");
        row.duration_us = 1234;
        row.canonical = WBI_LIT("{\"tool_name\":\"ExecCommand\",\"status\":\"success\"}");
        row.receipt = WBI_LIT("Process exited with code 0\n");
    }
    return row;
}

static inline wb_rc fixture_append(struct fixture *f, const char *kind, unsigned long number,
                                   struct wbi_error *err)
{
    char id[40];
    struct wbi_row row = fixture_row(id, kind, number);

    return wbi_ledger_append_wait(f->ledger, &row, NULL, err);
}

static inline void fixture_call(struct fixture *f, unsigned long number)
{
    assert_int_equal(fixture_append(f, WBI_KIND_INTENT, number, NULL), WB_OK);
    assert_int_equal(fixture_append(f, WBI_KIND_OUTCOME, number, NULL), WB_OK);
}

static inline struct wbi_verify_report fixture_verify(struct fixture *f)
{
    struct wbi_verify_report r = {.good = false};
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_ledger_verify(f->ledger, NULL, 0, &r, &err);

    if (rc != WB_OK)
        print_error("verify: %s\n", err.text);
    assert_int_equal(rc, WB_OK);
    return r;
}

/* What a shell makes of a command line. */
__attribute__((format(printf, 1, 2))) static inline int fixture_shell(const char *fmt, ...)
{
    char command[600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(command, sizeof(command), fmt, args);
    va_end(args);
    return system(command);
}

#endif
