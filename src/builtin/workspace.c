/* SPDX-License-Identifier: Apache-2.0
 * builtin/workspace.c: EnterWorkspace, ExitWorkspace, GetWorkspaceState (C7.5).
 * A workspace is a directory beneath the one the runtime serves; entering it
 * makes it the execution root of the conversation's later calls. */
#include "builtin/work.h"

#include "base/arena.h"
#include "builtin/file_int.h"
#include "call/workspace.h"
#include "family/workspace/workspace.h"
#include "path/path.h"

#define LISTED 1000u

struct ask {
    struct wbi_root *base; /* the runtime's own, held by the call */
    struct wbi_root *into; /* what was entered, counted */
    struct wbi_str path;   /* of it, relative to base */
};

static wb_rc describe(struct wbi_workspace_output *o, struct wbi_exec *x, const char *disposition,
                      struct wbi_error *err)
{
    struct wbi_root *root;
    wb_rc rc = wbi_workspace_path(x->call, &o->active, err);

    if (rc == WB_OK)
        rc = wbi_workspace_root(x->call, &root, err);
    if (rc != WB_OK)
        return rc;
    o->disposition = disposition;
    o->workspace_root = x->runtime->places.root;
    o->active = wbi_arena_str(x->arena, o->active);
    o->execution_root = wbi_arena_str(x->arena, wbi_root_path(root));
    return o->active.p && o->execution_root.p ? WB_OK : wbi_fail_nomem(err);
}

/* ---- EnterWorkspace ---- */

static wb_rc run_enter(struct wbi_job *j)
{
    struct ask *ask = j->state;
    struct wbi_str path = wbi_json_get_str(j->exec->input, "path");
    wb_rc rc = wbi_root_beneath(ask->base, path, &j->err, &ask->into);

    if (rc == WB_OK)
        rc = wbi_path_real(ask->base, path, j->arena, &j->err, &ask->path);
    return wbi_job_tell_path(j, rc);
}

static void done_enter(struct wbi_job *j)
{
    struct ask *ask = j->state;
    const struct wbi_call *call = j->exec->call;
    struct wbi_workspace_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    struct wbi_str active = WBI_NONE;
    bool same = false, left;

    if (j->rc == WB_OK && o == NULL)
        j->rc = wbi_fail_nomem(&j->err);
    if (j->rc == WB_OK)
        j->rc = wbi_workspace_path(call, &active, &j->err);
    if (j->rc == WB_OK && j->exec->cancel != WBI_CANCEL_NONE)
        j->rc = WB_ECANCELLED; /* it stays where it is, and says so */
    if (j->rc == WB_OK) {
        same = wbi_str_eq(active, ask->path);
        if (wbi_str_eqz(ask->path, ".")) /* it may be there already */
            j->rc = wbi_workspace_leave(call, &left, &j->err);
        else if (!same)
            j->rc = wbi_workspace_enter(call, ask->into, ask->path, &j->err);
    }
    wbi_root_unref(ask->into);
    if (j->rc == WB_OK)
        j->rc = describe(o, j->exec, same ? "already_active" : "entered", &j->err);
    j->typed = o;
}

/* A success that moves nobody would send the next calls to the wrong place. */
static void fail_alone(struct wbi_exec *x)
{
    struct wbi_fault fault = {
        .kind = WBI_KIND_TOOL_EXECUTION_FAILED,
        .message = WBI_LIT("there is no conversation to move: requests of this client stand each "
                           "alone, so no later call would work in another directory"),
        .hint = WBI_LIT("give paths and workdir from the root of the workspace instead")};

    wbi_exec_fail_fault(x, &fault);
}

static void start_enter(struct wbi_exec *x)
{
    struct ask *ask = wbi_arena_zalloc(x->arena, sizeof(*ask));
    struct wbi_error err = WBI_ERROR_INIT;

    if (x->call->inv.alone)
        fail_alone(x);
    else if (ask == NULL)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
    else if (wbi_runtime_root(x->runtime, &ask->base, &err) != WB_OK)
        wbi_exec_fail(x, WBI_KIND_WORKDIR_NOT_FOUND, "%s", err.text);
    else if (wbi_job_hold_root(x->arena, ask->base, &err) != WB_OK)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "%s", err.text);
    else
        wbi_job_start(x, run_enter, done_enter, ask, /* with_root= */ false);
}

const struct wbi_tool_ops wbi_enter_workspace_ops = {start_enter, wbi_job_cancel};

/* ---- ExitWorkspace ---- */

static void start_exit(struct wbi_exec *x)
{
    struct wbi_workspace_output *o = wbi_arena_zalloc(x->arena, sizeof(*o));
    struct wbi_complete complete = {.ok = true, .typed = o};
    struct wbi_error err = WBI_ERROR_INIT;
    bool left;
    wb_rc rc = o ? wbi_workspace_leave(x->call, &left, &err) : wbi_fail_nomem(&err);

    if (rc == WB_OK)
        rc = describe(o, x, left ? "exited" : "not_entered", &err);
    if (rc == WB_OK)
        wbi_exec_done(x, &complete);
    else
        wbi_exec_fail(x, err.kind ? err.kind : WBI_KIND_INTERNAL_ERROR, "%s", err.text);
}

const struct wbi_tool_ops wbi_exit_workspace_ops = {start_exit, NULL};

/* ---- GetWorkspaceState ---- */

static wb_rc run_state(struct wbi_job *j)
{
    struct wbi_workspace_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    struct wbi_list_request req = {
        .path = WBI_LIT(""), .max_depth = 1, .max_entries = LISTED, .stop = &j->stop};

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    j->typed = o;
    o->has_listing = true;
    return wbi_file_list(j->root, &req, j->arena, &j->err, &o->listing);
}

static void done_state(struct wbi_job *j)
{
    if (j->rc == WB_OK)
        j->rc =
            describe((struct wbi_workspace_output *)(uintptr_t)j->typed, j->exec, "state", &j->err);
}

static void start_state(struct wbi_exec *x)
{
    wbi_job_start(x, run_state, done_state, NULL, /* with_root= */ true);
}

const struct wbi_tool_ops wbi_workspace_state_ops = {start_state, wbi_job_cancel};
