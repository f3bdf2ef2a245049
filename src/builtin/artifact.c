/* SPDX-License-Identifier: Apache-2.0
 * builtin/artifact.c: ReadArtifact and ListArtifacts (C5.5, C7.4). */
#include "builtin/reading_int.h"

#include "base/limits.h"
#include "call/upkeep.h"
#include "ledger/ledger.h"
#include "run/tasks.h"

/* ---- ReadArtifact ---- */

static void on_page(void *arg, wb_rc rc, const struct wbi_error *err)
{
    struct wbi_reading *r = arg;

    wbi_exec_end(r->exec, &r->view, rc, WBI_KIND_TOOL_EXECUTION_FAILED, err);
}

/* A task stands for what it prints: the first stream that has anything, ret[0]. The other is
 * ret[1], without a name where there is none. */
static wb_rc find_task_output(struct wbi_runtime *rt, struct wbi_str id,
                              struct wbi_artifact ret[WBI_SPOOL_STREAMS], struct wbi_error *err)
{
    struct wbi_artifact found[WBI_SPOOL_STREAMS] = {0};
    struct wbi_task_info info;
    struct wbi_arena *arena;
    bool second;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_tasks_get(rt->tasks, id, arena, &info, err);
    wbi_arena_free(arena);
    for (int i = 0; rc == WB_OK && i < WBI_SPOOL_STREAMS; i++) {
        struct wbi_str name = wbi_str_z(info.output[i].name);
        if (name.n > 0 && found[0].bytes == 0)
            rc = wbi_artifact_find(rt->artifacts, name, &found[i], err);
        else if (name.n > 0 && wbi_artifact_find(rt->artifacts, name, &found[i], NULL) != WB_OK)
            found[i].name[0] = '\0'; /* it is only the other one */
    }
    if (rc != WB_OK)
        return rc;
    second = found[0].bytes == 0 && found[1].bytes > 0;
    ret[0] = found[second];
    ret[1] = found[!second];
    if (ret[0].name[0] != '\0')
        return WB_OK;
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_ARTIFACT_NOT_FOUND,
                         "the task %.*s has printed nothing", WBI_FMT(wbi_str_head(id, 80)));
}

static bool is_task(struct wbi_str ref)
{
    return wbi_str_starts(ref, WBI_LIT("task_"));
}

wb_rc wbi_builtin_find_artifact(struct wbi_runtime *rt, struct wbi_str ref,
                                struct wbi_artifact *ret, struct wbi_error *err)
{
    struct wbi_artifact streams[WBI_SPOOL_STREAMS];
    wb_rc rc = wbi_runtime_open_artifacts(rt, err);

    if (rc != WB_OK || !is_task(ref))
        return rc == WB_OK ? wbi_artifact_find(rt->artifacts, ref, ret, err) : rc;
    rc = find_task_output(rt, ref, streams, err);
    if (rc == WB_OK)
        *ret = streams[0];
    return rc;
}

static wb_rc find(struct wbi_reading *r, struct wbi_error *err)
{
    struct wbi_exec *x = r->exec;
    struct wbi_str path = wbi_json_get_str(x->input, "path");
    struct wbi_str ref = path.p ? path : wbi_json_get_str(x->input, "ref");
    struct wbi_artifact streams[WBI_SPOOL_STREAMS] = {0};
    wb_rc rc;

    if (ref.p == NULL || (path.p != NULL && wbi_json_get(x->input, "ref") != NULL))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "give path (as a receipt names it) or ref (a SHA-256 or a task id)");
    rc = wbi_runtime_open_artifacts(x->runtime, err);
    if (rc == WB_OK)
        rc = is_task(ref) ? find_task_output(x->runtime, ref, streams, err)
                          : wbi_artifact_find(x->runtime->artifacts, ref, &streams[0], err);
    r->artifact = streams[0];
    r->other = streams[1];
    return rc;
}

/* A task that stands for its stderr may have printed to stdout when the next page is asked for:
 * that names the file. */
static struct wbi_str subject_of(struct wbi_exec *x, const struct wbi_artifact *a)
{
    static const char *const names[] = {"path", "ref"};
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, x->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    for (int i = 0; i < 2; i++) {
        struct wbi_str name = wbi_json_get_str(x->input, names[i]);
        if (is_task(name))
            wbi_jw_kstr(&w, "path", wbi_artifact_path(x->runtime->artifacts, x->arena, a->name));
        else if (name.p != NULL)
            wbi_jw_kstr(&w, names[i], name);
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_str(&text);
}

static void read_start(struct wbi_exec *x)
{
    struct wbi_reading *r = wbi_exec_alloc(x, sizeof(*r));
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    if (r == NULL)
        return;
    x->state = r;
    r->exec = x;
    r->on_done = on_page;
    r->arg = r;
    rc = find(r, &err);
    if (rc == WB_OK)
        rc = wbi_reading_start(r, &err);
    if (rc == WB_OK)
        r->view.subject = subject_of(x, &r->artifact);
    else
        wbi_exec_fail_error(
            x, rc == WB_EINPUT ? WBI_KIND_INVALID_TOOL_INPUT : WBI_KIND_TOOL_EXECUTION_FAILED,
            &err);
}

static void read_cancel(struct wbi_exec *x)
{
    struct wbi_reading *r = x->state;

    if (r != NULL)
        atomic_store(&r->stop, true);
}

const struct wbi_tool_ops wbi_read_artifact_ops = {read_start, read_cancel};

/* ---- ListArtifacts ---- */

/* The tool a call was made to, by the ledger. One artifact and the next are often
 * of the same call. */
struct tool_memory {
    char call_id[WBI_LIMIT_ID + 1];
    struct wbi_str tool;
};

static struct wbi_str tool_of(struct wbi_runtime *rt, struct wbi_arena *arena, const char *call_id,
                              struct tool_memory *memory)
{
    struct wbi_record record;

    if (strcmp(memory->call_id, call_id) == 0)
        return memory->tool;
    memcpy(memory->call_id, call_id, sizeof(memory->call_id));
    memory->tool = WBI_NONE;
    if (rt->ledger != NULL &&
        wbi_ledger_get(rt->ledger, arena, wbi_artifact_call(call_id), &record, NULL) == WB_OK)
        memory->tool =
            wbi_arena_str(arena, record.has_outcome ? record.outcome.tool : record.intent.tool);
    return memory->tool;
}

static bool wanted(const struct wbi_artifact_row *r, const wbi_json *input)
{
    struct wbi_str tool = wbi_json_get_str(input, "tool"), role = wbi_json_get_str(input, "role");
    struct wbi_str call = wbi_json_get_str(input, "call_id");

    return (tool.p == NULL || wbi_str_eq(tool, r->tool)) &&
           (role.p == NULL || wbi_str_eq(role, r->role)) &&
           (call.p == NULL || wbi_str_starts(r->call_id, call));
}

static wb_rc gather(struct wbi_runtime *rt, struct wbi_arena *arena, const wbi_json *input,
                    struct wbi_artifact_rows *list, struct wbi_error *err)
{
    struct wbi_artifact *all;
    struct wbi_artifact_row *rows;
    struct tool_memory memory = {.call_id = ""};
    size_t n, skipped, kept = 0;
    wb_rc rc = wbi_runtime_open_artifacts(rt, err);

    if (rc == WB_OK)
        rc = wbi_artifact_list(rt->artifacts, arena, &all, &n, err);
    if (rc != WB_OK)
        return rc;
    rows = wbi_arena_array(arena, n > 0 ? n : 1, sizeof(*rows));
    if (rows == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct wbi_artifact *a = &all[i];
        struct wbi_artifact_row r = {.call_id = wbi_str_z(a->call_id),
                                     .role = wbi_str_z(a->role),
                                     .sha256 = a->sha256,
                                     .reason = a->reason,
                                     .bytes = a->bytes,
                                     .lines = a->lines,
                                     .uncounted = a->uncounted,
                                     .created_ms = a->created_ms,
                                     .complete = a->complete,
                                     .writing = a->writing,
                                     .expired = a->expired};
        r.path = wbi_artifact_path(rt->artifacts, arena, a->name);
        if (r.path.p == NULL)
            return wbi_fail_nomem(err);
        r.tool = tool_of(rt, arena, a->call_id, &memory);
        if (wanted(&r, input))
            rows[kept++] = r;
    }
    rc = wbi_paged_skip(rows, kept, wbi_artifact_mark, wbi_json_get_str(input, "pageToken"),
                        "ListArtifacts", &skipped, err);
    list->rows = rows + skipped;
    list->count = kept - skipped;
    list->total = kept;
    return rc;
}

wb_rc wbi_builtin_list_artifacts(struct wbi_runtime *rt, struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_artifact_rows list = {.rows = NULL};
    struct wbi_jw w = wbi_jw_to(out);
    struct wbi_arena *arena;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = gather(rt, arena, NULL, &list, err);
    wbi_jw_arr(&w);
    for (size_t i = 0; rc == WB_OK && i < list.count; i++)
        wbi_artifact_row_write(&w, &list.rows[i]);
    wbi_jw_arr_end(&w);
    wbi_arena_free(arena);
    if (rc == WB_OK && wbi_buf_rc(out) != WB_OK)
        return wbi_fail_nomem(err);
    return rc;
}

static void list_start(struct wbi_exec *x)
{
    struct wbi_artifact_rows *list = wbi_exec_alloc(x, sizeof(*list));
    struct wbi_error err = WBI_ERROR_INIT;
    int64_t limit = 0;
    wb_rc rc;

    if (list == NULL)
        return;
    list->budget = wbi_exec_budget(x);
    rc = gather(x->runtime, x->arena, x->input, list, &err);
    if (wbi_json_i64(wbi_json_get(x->input, "limit"), &limit) && limit > 0)
        list->limit = (size_t)limit;
    wbi_exec_end(x, list, rc, WBI_KIND_TOOL_EXECUTION_FAILED, &err);
}

const struct wbi_tool_ops wbi_list_artifacts_ops = {list_start, NULL};
