/* SPDX-License-Identifier: Apache-2.0
 * api/artifact.c: the artifact store, for people. */
#include "waybill/artifact.h"

#include "api/api_int.h"
#include "artifact/cleaner.h"
#include "artifact/stream.h"
#include "base/limits.h"
#include "builtin/builtin.h"
#include "call/upkeep.h"
#include "store/dir.h"
#include "text/regex.h"

/* Whoever only looks makes nothing: a folder with a state directory in it is a workspace. */
static bool is_absent(const wb_runtime *runtime)
{
    const char *state = runtime->rt->places.state.p;

    return wbi_runtime_keeps_ledger(runtime->rt) && state != NULL && wbi_dir_absent(state);
}

/* ---- reading ---- */

struct reading {
    struct wbi_read_query q;
    struct wbi_regex *regex;
    struct wbi_line_matcher matcher;
    struct wbi_cleaner cleaner;
    wb_piece_cb on_piece;
    void *arg;
};

static wb_rc ask(const wb_artifact_query *query, struct reading *r, struct wbi_error *err)
{
    struct wbi_str value = wbi_str_z(query->value);
    struct wbi_read_query *q = &r->q;
    wb_rc rc = WB_OK;

    if (query->range > WB_RANGE_JSON || (query->range != WB_RANGE_ALL && value.p == NULL))
        return wbi_fail(err, WB_EMISUSE, "the range is none, or has no value");
    q->context = query->context;
    switch (query->range) {
    case WB_RANGE_ALL:
        break;
    case WB_RANGE_LINES:
        return wbi_range_lines(value, &q->first, &q->last, err);
    case WB_RANGE_BYTES:
        q->kind = WBI_READ_BYTES;
        return wbi_range_bytes(value, &q->first, &q->last, err);
    case WB_RANGE_TAIL:
        q->kind = WBI_READ_TAIL;
        if (!wbi_parse_u64(value, &q->first) || q->first == 0)
            return wbi_fail(err, WB_EINPUT, "tail must be a number of lines from 1 on");
        break;
    case WB_RANGE_GREP:
        q->kind = WBI_READ_GREP;
        q->pattern = value;
        rc = wbi_regex_compile(value, query->raw ? WBI_REGEX_BYTES : 0, &r->regex, err);
        r->matcher = (struct wbi_line_matcher){r->regex, wbi_grep_regex};
        q->matcher = &r->matcher;
        break;
    case WB_RANGE_JSON:
        q->kind = WBI_READ_JSON;
        q->json_path = value;
        break;
    }
    return rc;
}

static wb_rc give_piece(void *arg, struct wbi_str piece)
{
    struct reading *r = arg;

    return r->on_piece(piece.p, piece.n, r->arg);
}

wb_rc wb_artifact_read(wb_runtime *runtime, const wb_artifact_query *query, wb_piece_cb on_piece,
                       void *arg, wb_error **reterr)
{
    struct reading r = {.on_piece = on_piece, .arg = arg};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_artifact found;
    wb_rc rc;

    if (wbi_api_check(runtime, "wb_artifact_read", reterr) != WB_OK)
        return WB_EMISUSE;
    if (query == NULL || query->ref == NULL || on_piece == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_artifact_read: an argument is NULL");
    if (is_absent(runtime))
        rc = wbi_fail_kind(&err, WB_ENOTFOUND, WBI_KIND_ARTIFACT_NOT_FOUND,
                           "no artifact %.80s; nothing is kept here yet", query->ref);
    else
        rc = wbi_builtin_find_artifact(runtime->rt, wbi_str_z(query->ref), &found, &err);
    if (rc == WB_OK)
        rc = ask(query, &r, &err);
    if (rc == WB_OK) {
        r.cleaner = wbi_cleaner_text(runtime->rt->secrets);
        r.q.cleaner = query->raw ? NULL : &r.cleaner;
        rc = wbi_artifact_stream(runtime->rt->artifacts, &found, &r.q, give_piece, &r, &err);
    }
    wbi_regex_free(r.regex);
    if (rc == WB_OK)
        return WB_OK;
    err.rc = rc;
    return wbi_api_fail(reterr, &err);
}

/* ---- the store ---- */

/* rt->artifacts stays NULL where nothing is kept yet. */
static wb_rc open_store(wb_runtime *runtime, const char *function, const void *ret,
                        wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_api_check(runtime, function, reterr) != WB_OK)
        return WB_EMISUSE;
    if (ret == NULL) {
        (void)wbi_fail(&err, WB_EMISUSE, "%s: NULL", function);
        return wbi_api_fail(reterr, &err);
    }
    if (is_absent(runtime) || wbi_runtime_open_artifacts(runtime->rt, &err) == WB_OK)
        return WB_OK;
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_artifact_list(wb_runtime *runtime, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    wb_rc rc = open_store(runtime, "wb_artifact_list", ret, reterr);

    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    if (runtime->rt->artifacts != NULL)
        rc = wbi_builtin_list_artifacts(runtime->rt, &out, &err);
    else
        wbi_buf_addz(&out, "[]");
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

static void write_stats(struct wbi_jw *w, const struct wbi_artifact_stats *s)
{
    wbi_jw_kint(w, "count", (int64_t)s->count);
    wbi_jw_kint(w, "bytes", (int64_t)s->bytes);
    wbi_jw_kint(w, "incomplete", (int64_t)s->incomplete);
    wbi_jw_kint(w, "writing", (int64_t)s->writing);
    wbi_jw_kint(w, "expired", (int64_t)s->expired);
}

wb_rc wb_artifact_stats(wb_runtime *runtime, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_artifact_stats stats = {0};
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = open_store(runtime, "wb_artifact_stats", ret, reterr);

    if (rc != WB_OK)
        return rc;
    if (runtime->rt->artifacts != NULL &&
        wbi_artifact_stat(runtime->rt->artifacts, &stats, &err) != WB_OK)
        return wbi_api_fail(reterr, &err);
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    write_stats(&w, &stats);
    wbi_jw_obj_end(&w);
    return wbi_api_give(&out, ret, ret_size, reterr);
}

wb_rc wb_artifact_prune(wb_runtime *runtime, int64_t older_than_ms, char **ret, size_t *ret_size,
                        wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_artifact_stats removed = {0}, left = {0};
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = open_store(runtime, "wb_artifact_prune", ret, reterr);

    if (rc != WB_OK)
        return rc;
    if (runtime->rt->artifacts != NULL)
        rc = wbi_upkeep_prune(runtime->rt, older_than_ms, &removed, &err);
    if (rc == WB_OK && runtime->rt->artifacts != NULL)
        rc = wbi_artifact_stat(runtime->rt->artifacts, &left, &err);
    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "removed", (int64_t)removed.removed);
    wbi_jw_kint(&w, "removed_bytes", (int64_t)removed.removed_bytes);
    write_stats(&w, &left);
    wbi_jw_obj_end(&w);
    return wbi_api_give(&out, ret, ret_size, reterr);
}

struct verifying {
    struct wbi_artifact_store *store;
    struct wbi_arena *arena;
    struct wbi_jw w;
    int bad;
};

static void on_bad(void *arg, const struct wbi_artifact *a, const char *what)
{
    struct verifying *v = arg;

    v->bad++;
    wbi_jw_obj(&v->w);
    wbi_jw_kstr(&v->w, "path", wbi_artifact_path(v->store, v->arena, a->name));
    wbi_jw_kstrz(&v->w, "what", what);
    wbi_jw_obj_end(&v->w);
}

wb_rc wb_artifact_verify(wb_runtime *runtime, int *ret_good, char **ret, size_t *ret_size,
                         wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_artifact_stats stats = {0};
    struct verifying v = {.bad = 0};
    uint64_t finished;
    struct wbi_buf out;
    wb_rc rc = open_store(runtime, "wb_artifact_verify", ret, reterr);

    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &v.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    v.store = runtime->rt->artifacts;
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    v.w = wbi_jw_to(&out);
    wbi_jw_obj(&v.w);
    wbi_jw_key(&v.w, "bad");
    wbi_jw_arr(&v.w);
    if (v.store != NULL) /* what dead writers left is looked at too */
        rc = wbi_artifact_recover(v.store, &finished, &err);
    if (rc == WB_OK && v.store != NULL)
        rc = wbi_artifact_verify(v.store, on_bad, &v, &stats, &err);
    wbi_jw_arr_end(&v.w);
    wbi_jw_kint(&v.w, "count", (int64_t)stats.count);
    wbi_jw_obj_end(&v.w);
    wbi_arena_free(v.arena);
    if (rc != WB_OK) {
        wbi_buf_fini(&out);
        return wbi_api_fail(reterr, &err);
    }
    if (ret_good != NULL)
        *ret_good = v.bad == 0;
    return wbi_api_give(&out, ret, ret_size, reterr);
}
