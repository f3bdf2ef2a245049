/* SPDX-License-Identifier: Apache-2.0
 * family/file/list.c: what is beneath a directory, page by page. The token is
 * the last path given: the walk has one order, so it can be taken up there
 * whatever was added or removed meanwhile. */
#include "family/file/file.h"

#include <dirent.h>

#include "base/arena.h"
#include "base/checked.h"
#include "family/file/walk.h"

static char type_letter(unsigned char type)
{
    return type == DT_REG ? 'f' : type == DT_DIR ? 'd' : type == DT_LNK ? 'l' : 'o';
}

static bool wanted(const struct wbi_list_request *req, const struct wbi_globs *globs,
                   const struct wbi_walk_entry *e)
{
    if ((req->dirs_only && e->type != DT_DIR) || (req->files_only && e->type == DT_DIR))
        return false;
    return wbi_globs_match(globs, e->path);
}

static wb_rc add_entry(struct wbi_list_result *res, size_t *cap, const struct wbi_walk_entry *e,
                       struct wbi_arena *arena)
{
    struct wbi_list_entry *le;
    struct stat st;

    if (res->n_entries == *cap) {
        size_t more = *cap ? *cap * 2 : 64;

        le = wbi_arena_grow(arena, res->entries, *cap * sizeof(*le), more * sizeof(*le));
        if (le == NULL)
            return WB_ENOMEM;
        res->entries = le;
        *cap = more;
    }
    le = &res->entries[res->n_entries];
    le->type = type_letter(e->type);
    le->size = 0;
    if (e->type == DT_REG && wbi_path_stat_child(e->dir_fd, e->name, &st) == 0)
        le->size = (uint64_t)st.st_size;
    le->path = wbi_arena_str(arena, e->path);
    if (le->path.p == NULL)
        return WB_ENOMEM;
    res->n_entries++;
    return WB_OK;
}

static wb_rc gather(struct wbi_walk *w, const struct wbi_list_request *req,
                    const struct wbi_globs *globs, struct wbi_arena *arena, struct wbi_error *err,
                    struct wbi_list_result *res)
{
    size_t most = req->max_entries ? WBI_MIN(req->max_entries, WBI_LIMIT_LIST_ENTRIES)
                                   : WBI_LIMIT_LIST_ENTRIES;
    size_t cap = 0;
    struct wbi_walk_entry e;
    bool more;
    wb_rc rc;

    for (;;) {
        rc = wbi_walk_next(w, err, &e, &more);
        if (rc || !more)
            return rc;
        if (req->stop != NULL && *req->stop)
            return wbi_fail(err, WB_ECANCELLED, "the listing was stopped");
        if (!wanted(req, globs, &e))
            continue;
        if (res->n_entries == most) { /* one more exists: there is a next page */
            res->next_token = res->entries[most - 1].path;
            return WB_OK;
        }
        if (add_entry(res, &cap, &e, arena) != WB_OK)
            return wbi_fail_nomem(err);
    }
}

wb_rc wbi_file_list(struct wbi_root *root, const struct wbi_list_request *req,
                    struct wbi_arena *arena, struct wbi_error *err, struct wbi_list_result *ret)
{
    struct wbi_walk_options options = {
        .max_depth = req->max_depth, .hidden = req->hidden, .no_ignore = req->no_ignore};
    struct wbi_list_result res = {.path = req->path};
    struct wbi_globs globs;
    struct wbi_walk *w;
    wb_rc rc = wbi_globs_compile(req->glob, arena, err, &globs);

    if (rc)
        return rc;
    if (req->token.n > WBI_LIMIT_PATH ||
        (req->token.n > 0 && memchr(req->token.p, 0, req->token.n)))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "pageToken is not one that a listing has given");
    rc = wbi_walk_begin(root, req->path, &options, req->token, err, &w);
    if (rc)
        return rc;
    rc = gather(w, req, &globs, arena, err, &res);
    res.unreadable = wbi_walk_unreadable(w);
    res.too_deep = wbi_walk_too_deep(w);
    wbi_walk_end(w);
    if (rc == WB_OK)
        *ret = res;
    return rc;
}
