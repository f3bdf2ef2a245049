/* SPDX-License-Identifier: Apache-2.0
 * call/workspace.c: a short list; a conversation that never entered a workspace
 * is not in it. Nothing is dropped to make room: a conversation that was moved
 * back without knowing would write in the wrong place. */
#include "call/workspace.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "path/path.h"

struct entry {
    char *conversation;
    char *path;
    struct wbi_root *root;
};

struct wbi_workspaces {
    struct entry *entries;
    size_t n, cap;
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

wb_rc wbi_workspace_root(struct wbi_runtime *rt, struct wbi_str conversation, struct wbi_root **ret,
                         struct wbi_error *err)
{
    struct entry *e = find(rt, conversation);

    if (e == NULL)
        return wbi_runtime_root(rt, ret, err);
    *ret = e->root;
    return WB_OK;
}

struct wbi_str wbi_workspace_path(const struct wbi_runtime *rt, struct wbi_str conversation)
{
    struct entry *e = find(rt, conversation);

    return e ? wbi_str_z(e->path) : WBI_LIT(".");
}

static struct entry *add(struct wbi_runtime *rt, struct wbi_error *err)
{
    struct wbi_workspaces *w = rt->workspaces;

    if (w == NULL)
        w = rt->workspaces = wbi_zalloc(sizeof(*w));
    if (w != NULL && w->n == WBI_LIMIT_WORKSPACES) {
        (void)wbi_fail(err, WB_ELIMIT,
                       "%u conversations are in workspaces of their own already; "
                       "one of them must exit first",
                       WBI_LIMIT_WORKSPACES);
        return NULL;
    }
    if (w != NULL && w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 4;
        struct entry *more = wbi_realloc(w->entries, cap * sizeof(*more));
        if (more != NULL) {
            w->entries = more;
            w->cap = cap;
        }
    }
    if (w == NULL || w->n == w->cap) {
        (void)wbi_fail_nomem(err);
        return NULL;
    }
    return &w->entries[w->n];
}

wb_rc wbi_workspace_enter(struct wbi_runtime *rt, struct wbi_str conversation,
                          struct wbi_root *root, struct wbi_str path, struct wbi_error *err)
{
    struct entry made = {.conversation = wbi_strdup(conversation), .path = wbi_strdup(path)};
    struct entry *e = find(rt, conversation);
    bool known = e != NULL;

    if (made.conversation == NULL || made.path == NULL) {
        drop(&made);
        return wbi_fail_nomem(err);
    }
    if (!known)
        e = add(rt, err);
    if (e == NULL) {
        drop(&made);
        return err ? err->rc : WB_ENOMEM;
    }
    made.root = wbi_root_ref(root);
    if (known)
        drop(e);
    else
        rt->workspaces->n++;
    *e = made;
    return WB_OK;
}

bool wbi_workspace_leave(struct wbi_runtime *rt, struct wbi_str conversation)
{
    struct entry *e = find(rt, conversation);

    if (e == NULL)
        return false;
    drop(e);
    *e = rt->workspaces->entries[--rt->workspaces->n];
    return true;
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
