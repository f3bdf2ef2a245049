/* SPDX-License-Identifier: Apache-2.0
 * api/ledger.c: reading what was written down. No configuration is read: a
 * broken file must not hide the ledger. */
#include "api/ledger_int.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "call/record.h"
#include "call/recover.h"
#include "catalog/names.h"

/* Whoever only looks makes nothing: a folder with a state directory in it is a workspace. */
static wb_rc open_store(wb_ledger *l, bool to_write, struct wbi_error *err)
{
    bool examine = l->mode == WB_LEDGER_EXAMINE;
    struct wbi_store_options so = {.dir = l->places.state.p,
                                   .user_dir = l->places.user_state.p,
                                   .ids = l->ids,
                                   .examine = examine,
                                   .existing = !to_write};
    struct wbi_ledger_options lo = {.clock = l->clock,
                                    .close_call = wbi_recover_call,
                                    .close_arg = &l->places.state,
                                    .examine = examine};
    struct wbi_ledger *ledger = NULL;
    struct wbi_store *store = NULL;
    wb_rc rc = wbi_store_open(&so, &store, err);

    if (rc == WB_OK)
        rc = wbi_ledger_open(store, &lo, &ledger, NULL, err);
    if (rc != WB_OK) {
        wbi_store_close(store);
        return rc;
    }
    wbi_ledger_free(l->ledger);
    wbi_store_close(l->store);
    l->ledger = ledger;
    l->store = store;
    return WB_OK;
}

static wb_rc open_all(wb_ledger *l, const wb_options *options, wb_ledger_mode mode,
                      struct wbi_error *err)
{
    struct wbi_runtime_options o = wbi_api_options(options);
    struct wbi_places_wish wish = {.root = o.root, .state = o.state, .config = o.config_file};
    struct wbi_env env = wbi_env_process();
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &l->arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    l->mode = mode;
    l->ids = o.ids ? *o.ids : wbi_ids_system();
    l->clock = o.clock ? *o.clock : wbi_clock_system();
    rc = wbi_places_find(l->arena, &wish, &env, &l->places, err);
    return rc == WB_OK ? open_store(l, /* to_write= */ false, err) : rc;
}

wb_rc wbi_ledger_refresh(wb_ledger *l, bool to_write, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (!wbi_store_absent(l->store) || open_store(l, to_write, &err) == WB_OK)
        return WB_OK;
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_ledger_open(const wb_options *options, wb_ledger_mode mode, wb_ledger **ret,
                     wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    wb_ledger *l;

    if (ret == NULL || mode < WB_LEDGER_READ || mode > WB_LEDGER_EXAMINE)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_open: ret is NULL, or no mode");
    l = wbi_zalloc(sizeof(*l));
    if (l == NULL)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    if (open_all(l, options, mode, &err) != WB_OK) {
        wb_ledger_free(l);
        return wbi_api_fail(reterr, &err);
    }
    *ret = l;
    return WB_OK;
}

void wb_ledger_free(wb_ledger *l)
{
    if (l == NULL)
        return;
    wbi_ledger_free(l->ledger);
    wbi_store_close(l->store);
    wbi_arena_free(l->arena);
    wbi_free(l);
}

/* ---- filters ---- */

wb_rc wbi_filter_time(const wb_ledger *l, const char *name, const char *text, int64_t *ret,
                      struct wbi_error *err)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    struct wbi_str s = wbi_str_z(text);
    int64_t n;

    if (text == NULL || wbi_time_parse(s, ret))
        return WB_OK;
    for (size_t i = 0; s.n > 1 && i < sizeof(units) / sizeof(units[0]); i++) {
        if (s.p[s.n - 1] == units[i].unit && wbi_parse_i64(wbi_str_head(s, s.n - 1), &n) &&
            n >= 0 && n <= 1000000) {
            *ret = wbi_wall_ms(&l->clock) - n * units[i].ms;
            return WB_OK;
        }
    }
    return wbi_fail(err, WB_EINPUT,
                    "%s must be a time such as 2026-11-15T08:00:00Z, or so long ago: 90s, 15m, 2h, "
                    "7d; got \"%.60s\"",
                    name, text);
}

/* Rows have the model name; callers may say any (C2.5). What is no qualified name is looked
 * for as it is. */
static wb_rc tool_in_rows(wb_ledger *l, struct wbi_str name, struct wbi_str *ret,
                          struct wbi_error *err)
{
    struct wbi_name_parts parts = wbi_name_parts(name);
    struct wbi_name_in in = {.qualified = name};
    struct wbi_names *names;
    struct wbi_buf mcp;
    wb_rc rc;

    *ret = name;
    if (parts.origin == WBI_NAME_UNKNOWN)
        return WB_OK;
    wbi_buf_init(&mcp, WBI_LIMIT_SMALL_ARENA);
    if (parts.origin == WBI_NAME_MCP) {
        wbi_buf_addf(&mcp, "mcp::%.*s::%.*s", WBI_FMT(parts.server), WBI_FMT(parts.tool));
        in.qualified = wbi_buf_str(&mcp);
    }
    rc = wbi_buf_rc(&mcp) == WB_OK ? wbi_names_new(&in, 1, NULL, &names, err) : wbi_fail_nomem(err);
    wbi_buf_fini(&mcp);
    if (rc != WB_OK)
        return rc;
    *ret = wbi_names_at(names, 0)->model;
    memcpy(l->tool, ret->p, ret->n);
    *ret = wbi_str_make(l->tool, ret->n);
    wbi_names_free(names);
    return WB_OK;
}

wb_rc wbi_filter_query(wb_ledger *l, const wb_ledger_filter *f, struct wbi_row_query *ret,
                       struct wbi_error *err)
{
    struct wbi_row_query q = {.max = 0};
    wb_rc rc;

    if (f == NULL) {
        *ret = q;
        return WB_OK;
    }
    q.status = wbi_str_z(f->status);
    q.error_kind = wbi_str_z(f->error_kind);
    q.conversation = wbi_str_z(f->conversation);
    if (f->error_kind != NULL && wbi_kind_by_name(q.error_kind) == WBI_KIND_NONE)
        return wbi_fail(err, WB_EINPUT, "there is no error kind \"%.60s\"; see docs/errors.md",
                        f->error_kind);
    rc = tool_in_rows(l, wbi_str_z(f->tool), &q.tool, err);
    if (rc == WB_OK)
        rc = wbi_filter_time(l, "since", f->since, &q.since_ms, err);
    if (rc == WB_OK)
        rc = wbi_filter_time(l, "until", f->until, &q.until_ms, err);
    if (rc == WB_OK)
        *ret = q;
    return rc;
}

/* ---- lists ---- */

struct listing {
    wb_ledger *l;
    struct wbi_jw w;
    struct wbi_arena *arena;
    size_t left;
    bool open_only; /* the filter asks for calls without an outcome */
    wb_rc rc;
};

static void write_summary(struct listing *s, const struct wbi_row *row)
{
    const wbi_json *canonical;

    if (row->canonical.p != NULL &&
        wbi_json_read(s->arena, row->canonical, WBI_JSON_STRICT, &canonical, NULL) == WB_OK)
        wbi_jw_kstr(&s->w, "summary", wbi_json_get_str(canonical, "summary_text"));
    wbi_arena_reset(s->arena);
}

static void write_call(struct listing *s, const struct wbi_row *row, bool open)
{
    struct wbi_jw *w = &s->w;
    char time[WBI_RFC3339_SIZE];

    wbi_time_format(row->time_ms, time);
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "id", row->call_id);
    wbi_jw_kstrz(w, "time", time);
    wbi_jw_kstr(w, "tool", row->tool);
    wbi_jw_kstr(w, "status", open ? WBI_LIT("open") : row->status);
    wbi_jw_kstr(w, "error_kind", row->error_kind);
    wbi_jw_key(w, "duration_ms");
    if (row->duration_us >= 0)
        wbi_jw_real(w, (double)row->duration_us / 1000.0);
    else
        wbi_jw_null(w);
    wbi_jw_kstr(w, "effect", row->effect);
    wbi_jw_kstr(w, "principal", row->principal);
    wbi_jw_kstr(w, "conversation", row->conversation);
    wbi_jw_kstr(w, "call_id", row->provider_call_id);
    write_summary(s, row);
    wbi_jw_obj_end(w);
}

/* An intent stands for its call only while there is no outcome. */
static bool lacks(struct listing *s, const struct wbi_row *row, const char *kind)
{
    struct wbi_row_query q = {.call_id = row->call_id, .kind = wbi_str_z(kind), .max = 1};
    struct wbi_row *rows;
    size_t n = 1;

    s->rc = wbi_store_rows(s->l->store, s->arena, &q, &rows, &n, NULL);
    wbi_arena_reset(s->arena);
    return s->rc == WB_OK && n == 0;
}

/* Told by its newest row, so once. */
static bool is_open(struct listing *s, const struct wbi_row *row)
{
    bool asked = wbi_str_eqz(row->kind, WBI_KIND_ASKED);

    return (asked || wbi_str_eqz(row->kind, WBI_KIND_INTENT)) && lacks(s, row, WBI_KIND_OUTCOME) &&
           (!asked || lacks(s, row, WBI_KIND_INTENT));
}

static bool list_row(void *arg, const struct wbi_row *row)
{
    struct listing *s = arg;
    bool open = is_open(s, row);

    if (open || (!s->open_only && wbi_str_eqz(row->kind, WBI_KIND_OUTCOME))) {
        write_call(s, row, open);
        s->left--;
    }
    return s->rc == WB_OK && s->left > 0;
}

wb_rc wb_ledger_list(wb_ledger *l, const wb_ledger_filter *filter, char **ret, size_t *ret_size,
                     wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct listing s = {.l = l, .left = filter && filter->limit ? filter->limit : SIZE_MAX};
    struct wbi_row_query q = {.max = 0};
    struct wbi_buf out;
    wb_rc rc;

    if (l == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_list: NULL");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &s.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    s.w = wbi_jw_to(&out);
    rc = wbi_filter_query(l, filter, &q, &err);
    s.open_only = rc == WB_OK && wbi_str_eqz(q.status, "open");
    if (s.open_only)
        q.status = WBI_NONE;
    q.newest_first = true;
    wbi_jw_arr(&s.w);
    if (rc == WB_OK)
        rc = wbi_ledger_list(l->ledger, &q, list_row, &s, &err);
    if (rc == WB_OK && s.rc != WB_OK)
        rc = wbi_fail(&err, s.rc, "the ledger could not be read");
    wbi_jw_arr_end(&s.w);
    wbi_arena_free(s.arena);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

/* ---- one call ---- */

static wb_rc write_view(struct wbi_arena *arena, const struct wbi_row *row, wb_view view,
                        struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_record_texts t = {.id = row->call_id,
                                 .invocation = row->invocation,
                                 .canonical = row->canonical,
                                 .result = row->result,
                                 .receipt = row->receipt,
                                 .artifacts = row->artifacts,
                                 .timings = row->timings,
                                 .policy = row->policy,
                                 .events = row->events,
                                 .trust = row->trust};
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc = WB_OK;

    switch (view) {
    case WB_VIEW_RECEIPT:
        wbi_buf_adds(out, t.receipt);
        break;
    case WB_VIEW_CANONICAL:
        wbi_buf_adds(out, t.canonical);
        break;
    case WB_VIEW_RESULT:
        wbi_buf_adds(out, t.result);
        break;
    case WB_VIEW_RECORD:
        wbi_record_write(&w, &t);
        break;
    case WB_VIEW_ENVELOPE:
        rc = wbi_record_envelope(arena, &t, out);
        break;
    default:
        return wbi_fail(err, WB_EINPUT, "this view is not kept in the ledger");
    }
    if (rc == WB_OK)
        rc = wbi_buf_rc(out);
    return rc == WB_OK ? rc : wbi_fail(err, rc, "the recorded call cannot be shown as this view");
}

wb_rc wb_ledger_show(wb_ledger *l, const char *id, wb_view view, char **ret, size_t *ret_size,
                     wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_record record;
    struct wbi_arena *arena;
    struct wbi_buf out;
    wb_rc rc;

    if (l == NULL || id == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_show: NULL");
    if (*id == '\0') /* some callers give all their calls this id */
        return wbi_api_fail_text(reterr, WB_EINPUT, "the id is empty; ledger list shows them");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_ledger_get(l->ledger, arena, wbi_str_z(id), &record, &err);
    if (rc == WB_OK && !record.has_outcome)
        rc = wbi_fail(&err, WB_EAGAIN, "%.60s has no outcome yet: it is still running", id);
    if (rc == WB_OK)
        rc = write_view(arena, &record.outcome, view, &out, &err);
    wbi_arena_free(arena);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

/* ---- rows ---- */

struct lines {
    struct wbi_buf line;
    wb_line_cb on_line;
    void *arg;
    int64_t *after;
};

static bool give_row(void *arg, const struct wbi_row *row)
{
    struct lines *s = arg;
    struct wbi_jw w = wbi_jw_to(&s->line);

    wbi_buf_clear(&s->line);
    wbi_ledger_row_json(&w, row);
    if (wbi_buf_rc(&s->line) != WB_OK)
        return false;
    s->on_line(s->line.p, s->line.n, s->arg);
    *s->after = row->seq;
    return true;
}

/* The row in front of the newest `limit` rows that fit. */
struct skip {
    size_t left;
    int64_t seq;
};

static bool count_back(void *arg, const struct wbi_row *row)
{
    struct skip *s = arg;

    s->seq = row->seq - 1;
    return --s->left > 0;
}

wb_rc wbi_filter_newest(wb_ledger *l, const wb_ledger_filter *filter, struct wbi_row_query *q,
                        struct wbi_error *err)
{
    struct skip skip = {.left = filter ? filter->limit : 0};
    struct wbi_row_query back = *q;
    wb_rc rc;

    if (skip.left == 0)
        return WB_OK;
    back.newest_first = true;
    rc = wbi_ledger_list(l->ledger, &back, count_back, &skip, err);
    if (skip.seq > q->after_seq)
        q->after_seq = skip.seq;
    return rc;
}

wb_rc wb_ledger_rows(wb_ledger *l, const wb_ledger_filter *filter, int64_t *after,
                     wb_line_cb on_line, void *arg, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    int64_t from = after ? *after : 0;
    struct lines s = {.on_line = on_line, .arg = arg, .after = &from};
    struct wbi_row_query q = {.max = 0};
    wb_rc rc;

    if (l == NULL || on_line == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_rows: NULL");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&s.line, WBI_LIMIT_CALL_ARENA);
    rc = wbi_filter_query(l, filter, &q, &err);
    if (rc == WB_OK) {
        q.after_seq = from;
        rc = wbi_filter_newest(l, filter, &q, &err);
    }
    from = q.after_seq;
    if (rc == WB_OK)
        rc = wbi_ledger_list(l->ledger, &q, give_row, &s, &err);
    if (rc == WB_OK && wbi_buf_rc(&s.line) != WB_OK)
        rc = wbi_fail(&err, wbi_buf_rc(&s.line), "a row is too large to be written");
    wbi_buf_fini(&s.line);
    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    if (after != NULL)
        *after = from;
    return WB_OK;
}

wb_rc wb_ledger_newest(wb_ledger *l, size_t back, int64_t *ret, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_witness tail;
    wb_rc rc;

    if (l == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_ledger_newest: NULL");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    if (wbi_store_tail(l->store, &tail, &err) != WB_OK)
        return wbi_api_fail(reterr, &err);
    *ret = back < (size_t)tail.seq ? tail.seq - (int64_t)back : 0;
    return WB_OK;
}
