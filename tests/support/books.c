/* SPDX-License-Identifier: Apache-2.0
 * tests/support/books.c: see books.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "books.h"
#include "json/pointer.h"
#include "json/write.h"

/* ---- events ---- */

static struct wbi_str events_text(const struct guarded *g)
{
    struct wbi_buf text;
    char path[128];
    size_t n = 1;
    FILE *f;

    snprintf(path, sizeof(path), "%s/events.jsonl", g->root);
    f = fopen(path, "rbe");
    if (f == NULL)
        return WBI_LIT("");
    wbi_buf_init_arena(&text, g->arena, WBI_LIMIT_CALL_ARENA);
    while (n > 0) {
        char *room = wbi_buf_room(&text, 65536);
        assert_non_null(room);
        n = fread(room, 1, 65536, f);
        text.n += n;
    }
    fclose(f);
    return wbi_buf_str(&text);
}

/* The next event of the text, NULL behind the last. */
static const wbi_json *next_event(const struct guarded *g, struct wbi_str *text)
{
    size_t n = wbi_str_index(*text, '\n');
    const wbi_json *event;

    if (text->n == 0)
        return NULL;
    assert_int_equal(wbi_json_read(g->arena, wbi_str_head(*text, n), WBI_JSON_STRICT, &event, NULL),
                     WB_OK);
    *text = wbi_str_from(*text, n + 1);
    return event;
}

static bool is_type(const wbi_json *event, const char *type)
{
    struct wbi_str name = wbi_json_get_str(event, "type");

    return wbi_str_eqz(wbi_str_from(name, strlen("dev.waybill.")), type);
}

int events_of(const struct guarded *g, const char *type)
{
    struct wbi_str text = events_text(g);
    const wbi_json *event;
    int n = 0;

    while ((event = next_event(g, &text)) != NULL)
        n += is_type(event, type);
    return n;
}

static void check_end(const struct ended *e, const wbi_json *event)
{
    const wbi_json *data = wbi_json_get(event, "data"), *error = wbi_json_get(data, "error");

    assert_int_equal(is_type(event, "ToolSucceeded"), e->kind[0] == '\0');
    assert_int_equal(error == NULL, e->kind[0] == '\0');
    if (error != NULL)
        assert_true(wbi_str_eqz(wbi_json_get_str(error, "kind"), e->kind));
    assert_true(
        wbi_json_equal(wbi_json_get(data, "attempts"), wbi_json_get(e->result, "attempts")));
    assert_int_equal(wbi_json_true(wbi_json_get(data, "replayed")),
                     wbi_json_true(wbi_json_get(e->result, "replayed")));
}

static void check_events(const struct guarded *g, const struct ended *e)
{
    struct wbi_str text = events_text(g);
    int invoked = 0, ended = 0;
    const wbi_json *event;

    while ((event = next_event(g, &text)) != NULL) {
        if (!wbi_str_eqz(wbi_json_get_str(event, "subject"), e->call))
            continue;
        /* behind the end only what the end did to a circuit */
        assert_true(ended == 0 || wbi_str_starts(wbi_json_get_str(event, "type"),
                                                 WBI_LIT("dev.waybill.Circuit")));
        if (is_type(event, "ToolInvoked"))
            invoked++;
        else
            assert_int_equal(invoked, 1);
        if (is_type(event, "ToolSucceeded") || is_type(event, "ToolFailed")) {
            check_end(e, event);
            ended++;
        }
    }
    if (invoked != 1 || ended != 1)
        fail_msg("%s (%s): %d ToolInvoked, %d ends", e->call, e->kind, invoked, ended);
}

/* ---- the ledger ---- */

static wb_ledger *open_ledger(const struct guarded *g)
{
    wb_options *o = wb_options_new();
    wb_ledger *ledger;
    char path[128];

    snprintf(path, sizeof(path), "%s/work", g->root);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, path), WB_OK);
    assert_int_equal(wb_ledger_open(o, WB_LEDGER_READ, &ledger, NULL), WB_OK);
    wb_options_free(o);
    return ledger;
}

static const wbi_json *list_calls(const struct guarded *g, wb_ledger *ledger)
{
    const wbi_json *list;
    struct wbi_str copy;
    char *text;

    assert_int_equal(wb_ledger_list(ledger, NULL, &text, NULL, NULL), WB_OK);
    copy = wbi_arena_str(g->arena, wbi_str_z(text));
    wb_free(text);
    assert_int_equal(wbi_json_read(g->arena, copy, WBI_JSON_STRICT, &list, NULL), WB_OK);
    return list;
}

/* C8.7: that a result came from the cache is for its caller alone. */
static void write_without_cached(struct wbi_buf *out, const wbi_json *result)
{
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (result, k) {
        if (wbi_str_eqz(wbi_json_str(k), "cached"))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
}

static void check_row(const struct guarded *g, wb_ledger *ledger, const wbi_json *list,
                      const struct ended *e)
{
    struct wbi_buf told;
    char *kept;
    int rows = 0;

    WBI_JSON_EACH (list, row) {
        if (!wbi_str_eqz(wbi_json_get_str(row, "id"), e->call))
            continue;
        rows++;
        assert_true(
            wbi_str_eqz(wbi_json_get_str(row, "status"), e->kind[0] == '\0' ? "success" : "error"));
        assert_true(e->kind[0] == '\0' ||
                    wbi_str_eqz(wbi_json_get_str(row, "error_kind"), e->kind));
    }
    assert_int_equal(rows, 1);
    wbi_buf_init_arena(&told, g->arena, WBI_LIMIT_JSON_TEXT);
    write_without_cached(&told, e->result);
    wbi_buf_addc(&told, '\0');
    assert_int_equal(wb_ledger_show(ledger, e->call, WB_VIEW_RESULT, &kept, NULL, NULL), WB_OK);
    assert_string_equal(kept, told.p);
    wb_free(kept);
}

void books_agree(struct guarded *g)
{
    const wbi_json *list;
    wb_ledger *ledger;

    wb_runtime_free(g->runtime);
    g->runtime = NULL;
    assert_true(g->ended_n <= ENDED_MAX);
    ledger = open_ledger(g);
    list = list_calls(g, ledger);
    assert_int_equal(wbi_json_count(list), g->ended_n); /* and no call is open */
    for (size_t i = 0; i < g->ended_n; i++) {
        check_events(g, &g->ended[i]);
        check_row(g, ledger, list, &g->ended[i]);
    }
    wb_ledger_free(ledger);
}

/* ---- files ---- */

static const char *sought;
static bool found;

static int seek_in(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    char *text;
    FILE *f;

    (void)ftw;
    if (type != FTW_F || !S_ISREG(st->st_mode) || st->st_size == 0)
        return 0;
    f = fopen(path, "rbe");
    text = malloc((size_t)st->st_size);
    assert_true(f != NULL && text != NULL);
    if (fread(text, 1, (size_t)st->st_size, f) == (size_t)st->st_size &&
        memmem(text, (size_t)st->st_size, sought, strlen(sought)) != NULL)
        found = true;
    free(text);
    fclose(f);
    return 0;
}

bool in_some_file(const struct guarded *g, const char *bytes)
{
    sought = bytes;
    found = false;
    assert_int_equal(nftw(g->root, seek_in, 16, FTW_PHYS), 0);
    return found;
}
