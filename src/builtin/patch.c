/* SPDX-License-Identifier: Apache-2.0
 * builtin/patch.c: ApplyPatch (C7.3): all files or none, over a crash too. */
#include "builtin/file_int.h"

#include "base/arena.h"
#include "call/workspace.h"
#include "config/config.h"
#include "family/file/show.h"
#include "path/path.h"

/* What the loop thread knows and the pool thread needs. */
struct ask {
    struct wbi_str state;     /* of the journal; absent: this runtime keeps none */
    struct wbi_str workspace; /* path of the root beneath the workspace */
    bool granted;
};

bool wbi_guarded_granted(const struct wbi_runtime *rt)
{
    return rt->config != NULL &&
           wbi_json_true(wbi_config_setting(rt->config, "/files/allowGuarded"));
}

/* Finishes what a crash left first: a patch is made on whole files. */
static wb_rc open_journal(struct wbi_job *j, struct wbi_root **ret)
{
    const struct ask *ask = j->state;
    wb_rc rc;

    *ret = NULL;
    if (ask->state.p == NULL)
        return WB_OK;
    rc = wbi_patches_journal(ask->state.p, ask->workspace, &j->err, ret);
    if (rc == WB_OK)
        rc = wbi_patch_recover(j->root, *ret, j->arena, &j->err, NULL, NULL);
    return rc;
}

static wb_rc run_patch(struct wbi_job *j)
{
    const struct ask *ask = j->state;
    struct wbi_patch_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    struct wbi_patch_disk disk = {.root = j->root,
                                  .write_flags = ask->granted ? WBI_WRITE_GRANT : 0};
    struct wbi_patch_fs fs = wbi_patch_fs_path(&disk);
    struct wbi_patch_fault fault = {.rule = NULL};
    wb_rc rc;

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    o->check = wbi_json_true(wbi_json_get(j->exec->input, "check"));
    o->text = wbi_json_get_str(j->exec->input, "patch");
    if (o->text.p == NULL)
        o->text = wbi_json_get_str(j->exec->input, "input"); /* a free-form call */
    rc = o->check ? WB_OK : open_journal(j, &disk.journal);
    if (rc == WB_OK)
        rc = wbi_patch_apply(o->text, &fs, o->check ? WBI_PATCH_CHECK : 0, j->arena, &j->err,
                             &fault, &o->r);
    if (rc != WB_OK)
        j->details = wbi_patch_fault_details(j->arena, &fault);
    wbi_root_unref(disk.journal);
    j->typed = o;
    return rc;
}

static void missing(struct wbi_exec *x)
{
    struct wbi_fault fault = {.kind = WBI_KIND_INVALID_TOOL_INPUT,
                              .code = WBI_LIT("RequiredMissing"),
                              .message = WBI_LIT("patch is missing: give the text of the patch"),
                              .details = WBI_LIT("{\"missingField\":\"patch\"}")};

    wbi_exec_fail_fault(x, &fault);
}

static void start_patch(struct wbi_exec *x)
{
    struct wbi_runtime *rt = x->runtime;
    struct ask *ask = wbi_arena_zalloc(x->arena, sizeof(*ask));
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_json_get(x->input, "patch") == NULL && wbi_json_get(x->input, "input") == NULL) {
        missing(x);
        return;
    }
    if (ask == NULL) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    if (wbi_runtime_keeps_ledger(rt)) {
        if (wbi_runtime_open_ledger(rt, &err) != WB_OK) { /* checks the state directory */
            wbi_exec_fail(x, WBI_KIND_STATE_UNAVAILABLE, "%s", err.text);
            return;
        }
        ask->state = rt->places.state;
    }
    if (wbi_workspace_path(x->call, &ask->workspace, &err) != WB_OK) {
        wbi_exec_fail(x, WBI_KIND_STATE_UNAVAILABLE, "%s", err.text);
        return;
    }
    ask->workspace = wbi_arena_str(x->arena, ask->workspace);
    ask->granted = wbi_guarded_granted(rt);
    wbi_job_start(x, run_patch, NULL, ask, /* with_root= */ true);
}

const struct wbi_tool_ops wbi_apply_patch_ops = {start_patch, NULL};
