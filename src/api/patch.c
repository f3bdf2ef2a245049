/* SPDX-License-Identifier: Apache-2.0
 * api/patch.c: patches without a runtime. Journals are kept in the user's state
 * folder: the directory that is patched stays free of anything of ours. */
#include "waybill/patch.h"

#include "api/api_int.h"
#include "base/arena.h"
#include "base/limits.h"
#include "call/views.h"
#include "config/places.h"
#include "family/file/show.h"
#include "path/path.h"

#define TOOL_NAME WBI_LIT("ApplyPatch")
#define BUDGET_TOKENS 8000u /* for people */

struct patching {
    struct wbi_arena *arena;
    struct wbi_patch_output out;
    struct wbi_patch_disk disk;
    struct wbi_patch_fault fault;
    struct wbi_outcome outcome;
};

/* The user's folder of journals; none where there is no such folder. */
static wb_rc open_journal(struct patching *g, const struct wbi_places *places,
                          struct wbi_error *err)
{
    struct wbi_root *all;
    struct wbi_str path;
    wb_rc rc;

    if (places->user_state.p == NULL)
        return WB_OK;
    path = wbi_arena_fmt(g->arena, "%.*s/patches", WBI_FMT(places->user_state));
    if (path.p == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_root_open("/", WBI_ROOT_GRANT, err, &all);
    if (rc != WB_OK)
        return rc;
    rc = wbi_path_mkdirs(all, path, 0, err);
    wbi_root_unref(all);
    if (rc == WB_OK)
        rc = wbi_root_open(path.p, WBI_ROOT_GRANT, err, &g->disk.journal);
    if (rc == WB_OK)
        rc = wbi_patch_recover(g->disk.root, g->disk.journal, g->arena, err, NULL, NULL);
    return rc;
}

static wb_rc prepare(struct patching *g, struct wbi_error *err)
{
    struct wbi_places_wish wish = {.root = WBI_NONE};
    struct wbi_env env = wbi_env_process();
    struct wbi_places places;
    wb_rc rc = wbi_places_find(g->arena, &wish, &env, &places, err);

    if (rc == WB_OK)
        rc = wbi_places_guard(&places, g->disk.root, err);
    return rc != WB_OK || g->out.check ? rc : open_journal(g, &places, err);
}

static wb_rc succeed(struct patching *g, struct wbi_error *err)
{
    struct wbi_complete complete = {.ok = true, .typed = &g->out};
    struct wbi_projection p = {
        .arena = g->arena, .budget_tokens = BUDGET_TOKENS, .tool_name = TOOL_NAME};
    struct wbi_str summary;
    struct wbi_buf result;
    wb_rc rc;

    wbi_buf_init_arena(&result, g->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_patch_family.project(NULL, &complete, &p, &result, &summary, err);
    if (rc == WB_OK)
        rc = wbi_outcome_succeed(&g->outcome, g->arena, summary, wbi_buf_str(&result), WBI_NONE);
    return rc;
}

static wb_rc fail(struct patching *g, const struct wbi_error *why)
{
    struct wbi_fault fault = {.kind = why->kind ? why->kind : WBI_KIND_TOOL_EXECUTION_FAILED,
                              .message = wbi_str_z(why->text),
                              .details = wbi_patch_fault_details(g->arena, &g->fault)};
    wb_rc rc;

    if (fault.kind == WBI_KIND_EXECUTION_ROOT_VIOLATION)
        fault.hint = WBI_LIT("use paths beneath the working directory");
    if (fault.kind == WBI_KIND_FORBIDDEN)
        fault.hint = WBI_LIT("this name is protected; --allow-guarded writes it");
    rc = wbi_outcome_fail(&g->outcome, g->arena, &fault);
    return rc == WB_OK ? wbi_outcome_bound(&g->outcome, g->arena) : rc;
}

static wb_rc run(struct patching *g, unsigned flags, struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_patch_fs fs = wbi_patch_fs_path(&g->disk);
    struct wbi_error why = WBI_ERROR_INIT;
    wb_rc rc;

    g->out.check = (flags & WB_PATCH_CHECK) != 0;
    g->disk.write_flags = flags & WB_PATCH_GUARDED ? WBI_WRITE_GRANT : 0;
    rc = prepare(g, err);
    if (rc != WB_OK)
        return rc;
    rc = wbi_patch_apply(g->out.text, &fs, g->out.check ? WBI_PATCH_CHECK : 0, g->arena, &why,
                         &g->fault, &g->out.r);
    if (rc == WB_ENOMEM)
        return wbi_fail_nomem(err);
    rc = rc == WB_OK ? succeed(g, err) : fail(g, &why);
    return rc == WB_OK ? wbi_view_canonical(&g->outcome, TOOL_NAME, out) : rc;
}

wb_rc wb_patch_apply(const char *dir, const char *text, size_t size, unsigned flags, char **ret,
                     size_t *ret_size, int *ret_ok, wb_error **reterr)
{
    struct patching g = {.arena = NULL};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    wb_rc rc;

    if (dir == NULL || text == NULL || ret == NULL || ret_ok == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "wb_patch_apply needs a directory, a text, "
                                 "ret and ret_ok");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &g.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    g.out.text = wbi_str_make(text, size);
    rc = wbi_root_open(dir, 0, &err, &g.disk.root);
    if (rc == WB_ENOTFOUND || rc == WB_EIO) /* not a file that the patch names */
        rc = WB_ESTATE;
    if (rc == WB_OK)
        rc = run(&g, flags, &out, &err);
    *ret_ok = g.outcome.state == WBI_OUTCOME_SUCCESS;
    wbi_root_unref(g.disk.journal);
    wbi_root_unref(g.disk.root);
    wbi_arena_free(g.arena);
    if (rc != WB_OK) {
        wbi_buf_fini(&out);
        err.rc = rc;
        return wbi_api_fail(reterr, &err);
    }
    return wbi_api_give(&out, ret, ret_size, reterr);
}
