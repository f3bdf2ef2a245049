/* SPDX-License-Identifier: Apache-2.0
 * call/workspace.c: a short list; a conversation that never entered a workspace
 * is not in it. Nothing is dropped to make room: a conversation that was moved
 * back without knowing would write in the wrong place. */
#include "call/workspace.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "call/call.h"
#include "json/write.h"
#include "path/path.h"
#include "store/store.h"

#define TABLE WBI_LIT("workspaces")
#define KEPT_DAYS 90

struct entry {
    char *conversation;
    char *path;
    struct wbi_root *root; /* NULL: not opened yet, or it was removed */
    bool passing;          /* of a conversation that ends, and is nobody's then */
};

struct wbi_workspaces {
    struct entry *entries;
    size_t n, cap;
    bool recalled; /* what the store keeps is in the list */
};

static struct entry *find(const struct wbi_runtime *rt, struct wbi_str conversation)
{
    struct wbi_workspaces *w = rt->workspaces;

    for (size_t i = 0; w != NULL && i < w->n; i++)
        if (wbi_str_eqz(conversation, w->entries[i].conversation))
            return &w->entries[i];
    return NULL;
}

static void drop(struct entry *e)
{
    wbi_root_unref(e->root);
    wbi_free(e->conversation);
    wbi_free(e->path);
}

static wb_rc make(struct wbi_str conversation, struct wbi_str path, struct entry *ret,
                  struct wbi_error *err)
{
    *ret = (struct entry){.conversation = wbi_strdup(conversation), .path = wbi_strdup(path)};
    if (ret->conversation != NULL && ret->path != NULL)
        return WB_OK;
    drop(ret);
    return wbi_fail_nomem(err);
}

static struct wbi_workspaces *list_of(struct wbi_runtime *rt)
{
    if (rt->workspaces == NULL)
        rt->workspaces = wbi_zalloc(sizeof(*rt->workspaces));
    return rt->workspaces;
}

/* Room for one more. */
static wb_rc reserve(struct wbi_runtime *rt, struct wbi_error *err)
{
    struct wbi_workspaces *w = list_of(rt);
    struct entry *more;
    size_t cap;

    if (w == NULL)
        return wbi_fail_nomem(err);
    if (w->n < w->cap)
        return WB_OK;
    cap = w->cap ? w->cap * 2 : 4;
    more = wbi_realloc(w->entries, cap * sizeof(*more));
    if (more == NULL)
        return wbi_fail_nomem(err);
    w->entries = more;
    w->cap = cap;
    return WB_OK;
}

/* ---- what outlives the process ---- */

static bool is_kept(const struct wbi_call *call)
{
    return !call->inv.passing && wbi_runtime_keeps_ledger(call->runtime);
}

/* path absent: forget it. Behind whatever was queued before, in front of the
 * outcome of the call, which is on the disk before the reply. */
static wb_rc keep(const struct wbi_call *call, struct wbi_str path, struct wbi_error *err)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_change change = {
        .table = TABLE, .key = call->inv.conversation_id, .expected = WBI_ANY_GENERATION};
    char now[WBI_RFC3339_SIZE], *hex = wbi_alloc(2 * path.n + 1);
    struct wbi_buf value;
    struct wbi_jw w = wbi_jw_to(&value);
    wb_rc rc = hex ? wbi_runtime_open_ledger(rt, err) : wbi_fail_nomem(err);

    wbi_buf_init(&value, WBI_LIMIT_STORE_VALUE);
    if (rc == WB_OK && path.p != NULL) { /* names are bytes, and values text */
        wbi_hex((const uint8_t *)path.p, path.n, hex);
        wbi_time_format(wbi_wall_ms(&rt->clock), now);
        wbi_jw_obj(&w);
        wbi_jw_kstrz(&w, "pathHex", hex);
        wbi_jw_kstrz(&w, "enteredAt", now);
        wbi_jw_obj_end(&w);
        change.value = wbi_buf_str(&value);
        rc = wbi_buf_rc(&value);
    }
    if (rc == WB_OK)
        rc = wbi_store_change_later(rt->store, &change, 1, NULL, NULL, err);
    wbi_buf_fini(&value);
    wbi_free(hex);
    return rc;
}

/* A value of the store; false for one that is none, or too old. */
static bool read_kept(struct wbi_arena *arena, struct wbi_str value, int64_t now_ms,
                      struct wbi_str *ret_path)
{
    int64_t entered_ms;
    const wbi_json *v;
    struct wbi_str hex;
    char *path;

    if (wbi_json_read(arena, value, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        return false;
    hex = wbi_json_get_str(v, "pathHex");
    path = wbi_arena_alloc(arena, hex.n / 2 + 1);
    if (path == NULL || hex.n < 2 || !wbi_unhex(hex, (uint8_t *)path) ||
        !wbi_time_parse(wbi_json_get_str(v, "enteredAt"), &entered_ms))
        return false;
    *ret_path = wbi_str_make(path, hex.n / 2);
    return now_ms - entered_ms < (int64_t)KEPT_DAYS * 24 * 3600 * 1000;
}

static wb_rc recall_one(struct wbi_runtime *rt, struct wbi_arena *arena,
                        const struct wbi_entry *kept, struct wbi_error *err)
{
    struct wbi_change forget = {.table = TABLE, .key = kept->key, .expected = kept->generation};
    struct wbi_str path;
    wb_rc rc;

    if (!read_kept(arena, kept->value, wbi_wall_ms(&rt->clock), &path)) {
        rc = wbi_store_change_later(rt->store, &forget, 1, NULL, NULL, err);
        return rc == WB_ENOMEM ? rc : WB_OK; /* what cannot be written is old next time too */
    }
    rc = reserve(rt, err);
    if (rc == WB_OK)
        rc = make(kept->key, path, &rt->workspaces->entries[rt->workspaces->n], err);
    if (rc == WB_OK)
        rt->workspaces->n++;
    return rc;
}

enum { RECALL_AT_ONCE = 256 };

/* All of them: several processes may have come to more than one may. */
static wb_rc recall_all(struct wbi_runtime *rt, struct wbi_arena *arena, struct wbi_error *err)
{
    struct wbi_str after = WBI_NONE;
    struct wbi_entry *entries;
    size_t n = RECALL_AT_ONCE;
    wb_rc rc = WB_OK;

    while (rc == WB_OK && n == RECALL_AT_ONCE) {
        rc = wbi_store_list(rt->store, arena, TABLE, WBI_NONE, after, RECALL_AT_ONCE, &entries, &n,
                            err);
        for (size_t i = 0; rc == WB_OK && i < n; i++) {
            after = entries[i].key;
            if (find(rt, after) == NULL)
                rc = recall_one(rt, arena, &entries[i], err);
        }
    }
    return rc;
}

/* The conversations that other processes have left somewhere, once; those that
 * nobody can name again need none of it. */
static wb_rc recall(const struct wbi_call *call, struct wbi_error *err)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_workspaces *w = list_of(rt);
    struct wbi_arena *arena;
    wb_rc rc;

    if (w == NULL)
        return wbi_fail_nomem(err);
    if (w->recalled || !is_kept(call) || !wbi_runtime_ledger_exists(rt))
        return WB_OK;
    rc = wbi_runtime_open_ledger(rt, err);
    if (rc != WB_OK || (rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena)) != WB_OK)
        return rc;
    rc = recall_all(rt, arena, err);
    wbi_arena_free(arena);
    w->recalled = rc == WB_OK;
    return rc;
}

/* ---- where a conversation is ---- */

static wb_rc open_kept(struct wbi_runtime *rt, struct entry *e, struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];
    struct wbi_root *base;
    wb_rc rc = wbi_runtime_root(rt, &base, err);

    if (rc == WB_OK && wbi_root_beneath(base, wbi_str_z(e->path), NULL, &e->root) != WB_OK)
        rc = wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_WORKDIR_NOT_FOUND,
                           "the workspace `%s` that this conversation has entered is no longer "
                           "there; ExitWorkspace goes back to the root",
                           wbi_path_show(wbi_str_z(e->path), shown));
    return rc;
}

wb_rc wbi_workspace_root(const struct wbi_call *call, struct wbi_root **ret, struct wbi_error *err)
{
    wb_rc rc = recall(call, err);
    struct entry *e = find(call->runtime, call->inv.conversation_id);

    if (rc != WB_OK)
        return rc;
    if (e == NULL)
        return wbi_runtime_root(call->runtime, ret, err);
    if (e->root != NULL && wbi_root_gone(e->root)) { /* maybe it was made anew */
        wbi_root_unref(e->root);
        e->root = NULL;
    }
    if (e->root == NULL)
        rc = open_kept(call->runtime, e, err);
    *ret = e->root;
    return rc;
}

wb_rc wbi_workspace_path(const struct wbi_call *call, struct wbi_str *ret, struct wbi_error *err)
{
    wb_rc rc = recall(call, err);
    struct entry *e = find(call->runtime, call->inv.conversation_id);

    *ret = e ? wbi_str_z(e->path) : WBI_LIT(".");
    return rc;
}

wb_rc wbi_workspace_enter(const struct wbi_call *call, struct wbi_root *root, struct wbi_str path,
                          struct wbi_error *err)
{
    struct wbi_runtime *rt = call->runtime;
    struct entry made, *e;
    wb_rc rc = recall(call, err);

    if (rc == WB_OK)
        rc = make(call->inv.conversation_id, path, &made, err);
    if (rc != WB_OK)
        return rc;
    e = find(rt, call->inv.conversation_id);
    if (e == NULL && rt->workspaces->n >= WBI_LIMIT_WORKSPACES)
        rc = wbi_fail(err, WB_ELIMIT,
                      "%u conversations are in workspaces of their own already; "
                      "one of them must exit first",
                      WBI_LIMIT_WORKSPACES);
    else if (e == NULL)
        rc = reserve(rt, err);
    if (rc == WB_OK && is_kept(call))
        rc = keep(call, path, err);
    if (rc != WB_OK) {
        drop(&made);
        return rc;
    }
    made.root = wbi_root_ref(root);
    made.passing = call->inv.passing;
    if (e != NULL)
        drop(e);
    else
        e = &rt->workspaces->entries[rt->workspaces->n++];
    *e = made;
    return WB_OK;
}

wb_rc wbi_workspace_leave(const struct wbi_call *call, bool *ret_left, struct wbi_error *err)
{
    struct wbi_workspaces *w;
    struct entry *e;
    wb_rc rc = recall(call, err);

    *ret_left = false;
    w = call->runtime->workspaces;
    e = find(call->runtime, call->inv.conversation_id);
    if (rc == WB_OK && e != NULL && is_kept(call))
        rc = keep(call, WBI_NONE, err);
    if (rc != WB_OK || e == NULL)
        return rc;
    drop(e);
    *e = w->entries[--w->n];
    *ret_left = true;
    return WB_OK;
}

void wbi_workspace_forget(struct wbi_runtime *rt, struct wbi_str conversation)
{
    struct wbi_workspaces *w = rt->workspaces;
    struct entry *e = find(rt, conversation);

    if (e == NULL || !e->passing)
        return;
    drop(e);
    *e = w->entries[--w->n];
}

void wbi_workspaces_free(struct wbi_workspaces *w)
{
    if (w == NULL)
        return;
    while (w->n > 0)
        drop(&w->entries[--w->n]);
    wbi_free(w->entries);
    wbi_free(w);
}
