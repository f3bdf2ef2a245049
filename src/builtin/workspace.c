/* SPDX-License-Identifier: Apache-2.0
 * builtin/workspace.c: EnterWorkspace, ExitWorkspace, GetWorkspaceState (C7.5).
 * A workspace is a directory beneath the one the runtime serves; entering it
 * makes it the execution root of the conversation's later calls. */
#include "builtin/work.h"

#include "base/arena.h"
#include "base/limits.h"
#include "builtin/job.h"
#include "call/workspace.h"
#include "family/workspace/workspace.h"
#include "path/path.h"

#define LISTED 1000u

struct ask {
    struct wbi_root *base; /* the runtime's own; lives as long as it */
    struct wbi_root *into; /* what was entered, counted */
    struct wbi_str path;   /* of it, relative to base */
};

static void describe(struct wbi_workspace_output *o, struct wbi_exec *x, const char *disposition)
{
    struct wbi_str conversation = x->call->inv.conversation_id;
    struct wbi_root *root;

    o->disposition = disposition;
    o->workspace_root = x->runtime->places.root;
    o->active = wbi_arena_str(x->arena, wbi_workspace_path(x->runtime, conversation));
    o->execution_root = o->workspace_root;
    if (wbi_workspace_root(x->runtime, conversation, &root, NULL) == WB_OK)
        o->execution_root = wbi_arena_str(x->arena, wbi_root_path(root));
}

/* ---- EnterWorkspace ---- */

static wb_rc run_enter(struct wbi_job *j)
{
    struct ask *ask = j->state;
    struct wbi_str path = wbi_json_get_str(j->exec->input, "path");
    wb_rc rc = wbi_root_beneath(ask->base, path, &j->err, &ask->into);

    if (rc == WB_OK)
        rc = wbi_path_real(ask->base, path, j->arena, &j->err, &ask->path);
    return rc;
}

static void done_enter(struct wbi_job *j)
{
    struct ask *ask = j->state;
    struct wbi_runtime *rt = j->exec->runtime;
    struct wbi_str conversation = j->exec->call->inv.conversation_id;
    struct wbi_workspace_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    bool same = false;

    if (j->rc == WB_OK && j->exec->cancel == WBI_CANCEL_NONE) {
        same = wbi_str_eq(wbi_workspace_path(rt, conversation), ask->path);
        if (wbi_str_eqz(ask->path, "."))
            (void)wbi_workspace_leave(rt, conversation); /* it may be there already */
        else if (!same)
            j->rc = wbi_workspace_enter(rt, conversation, ask->into, ask->path, &j->err);
    }
    wbi_root_unref(ask->into);
    if (j->rc == WB_OK && o == NULL)
        j->rc = wbi_fail_nomem(&j->err);
    if (j->rc == WB_OK)
        describe(o, j->exec, same ? "already_active" : "entered");
    j->typed = o;
}

static void start_enter(struct wbi_exec *x)
{
    struct ask *ask = wbi_arena_zalloc(x->arena, sizeof(*ask));
    struct wbi_error err = WBI_ERROR_INIT;

    if (ask == NULL)
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
    else if (wbi_runtime_root(x->runtime, &ask->base, &err) != WB_OK)
        wbi_exec_fail(x, WBI_KIND_WORKDIR_NOT_FOUND, "%s", err.text);
    else
        wbi_job_start(x, run_enter, done_enter, ask, /* with_root= */ false);
}

const struct wbi_tool_ops wbi_enter_workspace_ops = {start_enter, wbi_job_cancel};

/* ---- ExitWorkspace ---- */

static void start_exit(struct wbi_exec *x)
{
    struct wbi_workspace_output *o = wbi_arena_zalloc(x->arena, sizeof(*o));
    struct wbi_complete complete = {.ok = true, .typed = o};
    bool left;

    if (o == NULL) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    left = wbi_workspace_leave(x->runtime, x->call->inv.conversation_id);
    describe(o, x, left ? "exited" : "not_entered");
    wbi_exec_done(x, &complete);
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
        describe((struct wbi_workspace_output *)(uintptr_t)j->typed, j->exec, "state");
}

static void start_state(struct wbi_exec *x)
{
    wbi_job_start(x, run_state, done_state, NULL, /* with_root= */ true);
}

const struct wbi_tool_ops wbi_workspace_state_ops = {start_state, wbi_job_cancel};
