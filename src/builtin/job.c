/* SPDX-License-Identifier: Apache-2.0
 * builtin/job.c */
#include "builtin/job.h"

#include "base/arena.h"
#include "base/limits.h"
#include "call/redact.h"
#include "call/workspace.h"
#include "path/path.h"

static void free_arena(void *arena)
{
    wbi_arena_free(arena);
}

static void unref_root(void *root)
{
    wbi_root_unref(root);
}

static enum wbi_kind kind_of(const struct wbi_job *j)
{
    if (j->err.kind != WBI_KIND_NONE)
        return j->err.kind;
    return j->rc == WB_ENOMEM ? WBI_KIND_INTERNAL_ERROR : WBI_KIND_TOOL_EXECUTION_FAILED;
}

/* Default hints speak of commands; these of files. */
static const char *file_hint(enum wbi_kind kind)
{
    if (kind == WBI_KIND_EXECUTION_ROOT_VIOLATION)
        return "use a path beneath the active workspace";
    if (kind == WBI_KIND_FORBIDDEN)
        return "this name is protected; write elsewhere or ask the user to make the change";
    if (kind == WBI_KIND_INVALID_TOOL_INPUT)
        return "correct what the message names, then call again";
    if (kind == WBI_KIND_WORKDIR_NOT_FOUND)
        return "list the directory above to see what exists";
    return NULL;
}

static void fail(struct wbi_job *j)
{
    struct wbi_fault fault = {.kind = kind_of(j), .details = j->details};
    const char *hint = j->hint ? j->hint : file_hint(fault.kind);

    fault.message = wbi_arena_str(j->arena, wbi_str_z(j->err.text));
    fault.hint = wbi_str_z(hint);
    fault.code = wbi_str_z(j->code);
    wbi_exec_fail_fault(j->exec, &fault);
}

static void work(void *arg)
{
    struct wbi_job *j = arg;

    j->rc = j->run(j);
}

static void done(void *arg)
{
    struct wbi_job *j = arg;
    struct wbi_complete complete = {.ok = true};

    if (j->done != NULL)
        j->done(j);
    if (j->redacted != NULL && j->rc == WB_OK &&
        wbi_redact_note(j->exec->call, wbi_str_z(j->redacted)) != WB_OK)
        j->rc = wbi_fail_nomem(&j->err);
    complete.typed = j->typed;
    if (j->rc == WB_OK)
        wbi_exec_done(j->exec, &complete);
    else if (j->rc == WB_ECANCELLED && j->exec->cancel != WBI_CANCEL_NONE)
        wbi_exec_stopped(j->exec, WBI_NONE);
    else
        fail(j);
}

wb_rc wbi_job_hold_root(struct wbi_arena *arena, struct wbi_root *root, struct wbi_error *err)
{
    if (wbi_arena_defer(arena, unref_root, wbi_root_ref(root)) == WB_OK)
        return WB_OK;
    wbi_root_unref(root);
    return wbi_fail_nomem(err);
}

static wb_rc take_root(struct wbi_job *j)
{
    struct wbi_root *root;
    wb_rc rc = wbi_workspace_root(j->exec->call, &root, &j->err);

    if (rc == WB_OK)
        rc = wbi_job_hold_root(j->arena, root, &j->err);
    if (rc == WB_OK)
        j->root = root;
    else if (j->err.kind == WBI_KIND_WORKDIR_NOT_FOUND)
        j->hint = WBI_HINT_WORKSPACE_GONE;
    return rc;
}

static struct wbi_job *make(struct wbi_exec *x)
{
    struct wbi_job *j = NULL;
    struct wbi_arena *arena;

    if (wbi_loop_arena(x->runtime->loop, WBI_ARENA_CALL, WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return NULL;
    if (wbi_arena_defer(x->arena, free_arena, arena) != WB_OK)
        wbi_arena_free(arena);
    else
        j = wbi_arena_zalloc(arena, sizeof(*j));
    if (j == NULL)
        return NULL;
    j->exec = x;
    j->arena = arena;
    x->state = j;
    return j;
}

static void start(struct wbi_job *j, wb_rc rc)
{
    if (rc == WB_OK) {
        rc = wbi_loop_work(j->exec->runtime->loop, work, done, j, &j->err);
        if (rc == WB_OK)
            return; /* it belongs to the pool thread now */
    }
    j->rc = rc;
    fail(j);
}

void wbi_job_start(struct wbi_exec *x, wb_rc (*run)(struct wbi_job *j),
                   void (*on_done)(struct wbi_job *j), void *state, bool with_root)
{
    struct wbi_job *j = make(x);

    if (j == NULL) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    j->run = run;
    j->done = on_done;
    j->state = state;
    start(j, with_root ? take_root(j) : WB_OK);
}

void wbi_job_start_quick(struct wbi_exec *x, wb_rc (*run)(struct wbi_job *j),
                         bool (*at_hand)(struct wbi_job *j))
{
    struct wbi_job *j = make(x);
    wb_rc rc;

    if (j == NULL) {
        wbi_exec_fail(x, WBI_KIND_INTERNAL_ERROR, "out of memory");
        return;
    }
    j->run = run;
    rc = take_root(j);
    if (rc == WB_OK && at_hand(j)) {
        work(j);
        done(j);
        return;
    }
    start(j, rc);
}

void wbi_job_cancel(struct wbi_exec *x)
{
    struct wbi_job *j = x->state;

    if (j != NULL)
        atomic_store(&j->stop, true);
}
