/* SPDX-License-Identifier: Apache-2.0
 * builtin/work.c: CreateWorkItem, UpdateWorkItem, CompleteWorkItem and
 * ListWorkItems (C7.5): one entry of the store each, changed only as it was
 * read, so that several processes may share the queue. */
#include "builtin/work.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "builtin/command_int.h"
#include "builtin/job.h"
#include "family/work/work.h"
#include "store/store.h"
#include "text/redact.h"

#define TABLE WBI_LIT("work_items")
#define TRIES 16

/* What the loop thread knows and the pool thread needs. */
struct ask {
    struct wbi_store *store;
    char id[WBI_ID_SIZE]; /* of a new item */
    char now[WBI_RFC3339_SIZE];
};

/* ---- the queue ---- */

static int older(const void *a, const void *b)
{
    const struct wbi_work_item *x = a, *y = b;
    int order = wbi_str_cmp(x->created_at, y->created_at);

    return order ? order : wbi_str_cmp(x->id, y->id);
}

/* Every item, oldest first. */
static wb_rc read_all(struct wbi_job *j, struct wbi_work_item **ret, size_t *ret_n)
{
    const struct ask *ask = j->state;
    struct wbi_entry *entries;
    struct wbi_work_item *items;
    size_t n;
    wb_rc rc = wbi_store_list(ask->store, j->arena, TABLE, WBI_LIT(""), WBI_NONE,
                              WBI_LIMIT_WORK_ITEMS, &entries, &n, &j->err);

    if (rc != WB_OK)
        return rc;
    items = wbi_arena_array(j->arena, n, sizeof(*items));
    if (items == NULL)
        return wbi_fail_nomem(&j->err);
    for (size_t i = 0; i < n; i++) {
        const wbi_json *v;

        rc = wbi_json_read(j->arena, entries[i].value, WBI_JSON_STRICT, &v, &j->err);
        if (rc != WB_OK)
            return rc;
        items[i] = wbi_work_item_read(v);
    }
    if (n > 1)
        qsort(items, n, sizeof(*items), older);
    *ret = items;
    *ret_n = n;
    return WB_OK;
}

static bool wanted(const struct wbi_work_item *item, struct wbi_str status)
{
    if (wbi_str_eqz(status, "all"))
        return true;
    if (status.p == NULL || wbi_str_eqz(status, "unfinished"))
        return wbi_work_unfinished(item->status);
    return item->status == wbi_work_status_by_name(status);
}

/* Counts all and keeps those with the status, oldest first. */
static wb_rc take_queue(struct wbi_job *j, struct wbi_work_output *o, struct wbi_str status)
{
    struct wbi_work_item *items = NULL;
    size_t n = 0, kept = 0;
    wb_rc rc = read_all(j, &items, &n);

    if (rc != WB_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        o->in_state[items[i].status]++;
        if (wanted(&items[i], status))
            items[kept++] = items[i];
    }
    o->items = items;
    o->count = o->total = kept;
    return WB_OK;
}

/* Without its secrets: they would never be shown, and have no place in the store (C8.8). */
static wb_rc put_item(struct wbi_job *j, const struct wbi_work_item *item, int64_t expected)
{
    const struct ask *ask = j->state;
    struct wbi_buf text, kept;
    struct wbi_jw w = wbi_jw_to(&text);
    const wbi_json *v;
    wb_rc rc;

    wbi_buf_init_arena(&text, j->arena, WBI_LIMIT_STORE_VALUE);
    wbi_buf_init_arena(&kept, j->arena, WBI_LIMIT_STORE_VALUE);
    wbi_work_item_write(&w, item);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(&j->err);
    rc = wbi_json_read(j->arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, &j->err);
    if (rc != WB_OK)
        return rc;
    rc = wbi_redact_json(j->exec->runtime->secrets, NULL, v, &kept, NULL);
    if (rc != WB_OK || wbi_buf_rc(&kept) != WB_OK)
        return wbi_fail_nomem(&j->err);
    return wbi_store_put(ask->store, TABLE, item->id, wbi_buf_str(&kept), expected, NULL, &j->err);
}

/* ---- the tools ---- */

static wb_rc run_create(struct wbi_job *j)
{
    const struct ask *ask = j->state;
    struct wbi_work_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    const wbi_json *in = j->exec->input;
    wb_rc rc;

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    j->typed = o;
    o->action = WBI_WORK_CREATED;
    o->item =
        (struct wbi_work_item){.id = wbi_str_z(ask->id),
                               .title = wbi_json_get_str(in, "title"),
                               .notes = wbi_json_get_str(in, "notes"),
                               .priority = wbi_json_get_str(in, "priority"),
                               .status = wbi_work_status_by_name(wbi_json_get_str(in, "status")),
                               .created_at = wbi_str_z(ask->now),
                               .updated_at = wbi_str_z(ask->now)};
    rc = take_queue(j, o, WBI_LIT("all"));
    if (rc == WB_OK && o->count >= WBI_LIMIT_WORK_ITEMS)
        return wbi_fail(&j->err, WB_ELIMIT, "there are %u work items, which is the most",
                        WBI_LIMIT_WORK_ITEMS);
    if (rc == WB_OK)
        rc = put_item(j, &o->item, WBI_MUST_BE_NEW);
    memset(o->in_state, 0, sizeof(o->in_state));
    return rc == WB_OK ? take_queue(j, o, WBI_NONE) : rc;
}

static wb_rc not_found(struct wbi_job *j, struct wbi_str id)
{
    return wbi_fail_kind(&j->err, WB_ENOTFOUND, WBI_KIND_WORK_ITEM_NOT_FOUND,
                         "there is no work item %.*s", WBI_FMT(wbi_str_head(id, 64)));
}

static void change_item(struct wbi_work_item *item, const wbi_json *in, struct wbi_str now,
                        bool complete)
{
    if (wbi_json_get_str(in, "title").p != NULL)
        item->title = wbi_json_get_str(in, "title");
    if (wbi_json_get_str(in, "notes").p != NULL)
        item->notes = wbi_json_get_str(in, "notes");
    if (wbi_json_get_str(in, "priority").p != NULL)
        item->priority = wbi_json_get_str(in, "priority");
    if (wbi_json_get_str(in, "report").p != NULL)
        item->report = wbi_json_get_str(in, "report");
    if (wbi_json_get_str(in, "status").p != NULL)
        item->status = wbi_work_status_by_name(wbi_json_get_str(in, "status"));
    if (complete)
        item->status = WBI_WORK_COMPLETED;
    item->updated_at = now;
}

/* Read, change, write; from the start when another process was faster. */
static wb_rc change(struct wbi_job *j, bool complete)
{
    const struct ask *ask = j->state;
    struct wbi_work_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    struct wbi_str id = wbi_json_get_str(j->exec->input, "id");
    struct wbi_entry entry;
    const wbi_json *v;
    wb_rc rc = WB_EAGAIN;

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    j->typed = o;
    o->action = complete ? WBI_WORK_DONE : WBI_WORK_UPDATED;
    if (id.n == 0 || id.n > WBI_ID_SIZE)
        return not_found(j, id);
    for (int i = 0; rc == WB_EAGAIN && i < TRIES; i++) {
        rc = wbi_store_get(ask->store, j->arena, TABLE, id, &entry, &j->err);
        if (rc == WB_ENOTFOUND)
            return not_found(j, id);
        if (rc == WB_OK)
            rc = wbi_json_read(j->arena, entry.value, WBI_JSON_STRICT, &v, &j->err);
        if (rc != WB_OK)
            return rc;
        o->item = wbi_work_item_read(v);
        change_item(&o->item, j->exec->input, wbi_str_z(ask->now), complete);
        rc = put_item(j, &o->item, entry.generation);
    }
    return rc == WB_OK ? take_queue(j, o, WBI_NONE) : rc;
}

static wb_rc run_update(struct wbi_job *j)
{
    return change(j, /* complete= */ false);
}

static wb_rc run_complete(struct wbi_job *j)
{
    return change(j, /* complete= */ true);
}

/* Goes on behind the item that the token names. */
static wb_rc skip_to(struct wbi_job *j, struct wbi_work_output *o, struct wbi_str token)
{
    if (token.p == NULL)
        return WB_OK;
    for (size_t i = 0; i < o->count; i++) {
        if (wbi_str_eq(o->items[i].id, token)) {
            o->items += i + 1;
            o->count -= i + 1;
            return WB_OK;
        }
    }
    return wbi_fail_kind(&j->err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                         "pageToken names an item that is no longer in this list; list again from "
                         "the start");
}

static wb_rc run_list(struct wbi_job *j)
{
    struct wbi_work_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    uint64_t most = WBI_LIMIT_WORK_ITEMS;
    wb_rc rc;

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    j->typed = o;
    o->action = WBI_WORK_LISTED;
    o->budget = wbi_exec_budget(j->exec);
    rc = take_queue(j, o, wbi_json_get_str(j->exec->input, "status"));
    if (rc == WB_OK)
        rc = skip_to(j, o, wbi_json_get_str(j->exec->input, "pageToken"));
    (void)wbi_json_u64(wbi_json_get(j->exec->input, "max_items"), &most); /* absent: all */
    if (rc == WB_OK && o->count > most) {
        o->count = (size_t)most;
        o->next_token = o->items[most - 1].id;
    }
    return rc;
}

static void start(struct wbi_exec *x, wb_rc (*run)(struct wbi_job *j))
{
    struct wbi_runtime *rt = x->runtime;
    struct ask *ask = wbi_exec_alloc(x, sizeof(*ask));
    struct wbi_error err = WBI_ERROR_INIT;

    if (ask == NULL)
        return;
    if (!wbi_runtime_keeps_ledger(rt)) {
        wbi_exec_fail(x, WBI_KIND_STATE_UNAVAILABLE,
                      "work items need a state directory, and this "
                      "runtime keeps none");
        return;
    }
    if (wbi_runtime_open_ledger(rt, &err) != WB_OK) {
        wbi_exec_fail(x, WBI_KIND_STATE_UNAVAILABLE, "%s", err.text);
        return;
    }
    ask->store = rt->store;
    wbi_id_make(&rt->ids, "work_", ask->id);
    wbi_time_format(wbi_wall_ms(&rt->clock), ask->now);
    wbi_job_start(x, run, NULL, ask, /* with_root= */ false);
}

static void start_create(struct wbi_exec *x)
{
    start(x, run_create);
}

static void start_update(struct wbi_exec *x)
{
    start(x, run_update);
}

static void start_complete(struct wbi_exec *x)
{
    start(x, run_complete);
}

static void start_list(struct wbi_exec *x)
{
    start(x, run_list);
}

const struct wbi_tool_ops wbi_create_work_ops = {start_create, NULL};
const struct wbi_tool_ops wbi_update_work_ops = {start_update, NULL};
const struct wbi_tool_ops wbi_complete_work_ops = {start_complete, NULL};
const struct wbi_tool_ops wbi_list_work_ops = {start_list, wbi_job_cancel};
