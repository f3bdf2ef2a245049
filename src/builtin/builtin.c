/* SPDX-License-Identifier: Apache-2.0
 * builtin/builtin.c: the list of families. */
#include "builtin/builtin.h"

#include "base/limits.h"
#include "builtin/command_int.h"
#include "builtin/file_int.h"
#include "builtin/task_int.h"
#include "builtin/work.h"
#include "family/agent/agent.h"
#include "family/file/show.h"
#include "family/notify/notify.h"
#include "family/work/work.h"
#include "family/workspace/workspace.h"

extern const char wbi_data_family_command_tools_json[];
extern const size_t wbi_data_family_command_tools_json_n;
extern const char wbi_data_family_task_tools_json[];
extern const size_t wbi_data_family_task_tools_json_n;
extern const char wbi_data_family_artifact_tools_json[];
extern const size_t wbi_data_family_artifact_tools_json_n;

extern const char wbi_data_family_file_tools_json[];
extern const size_t wbi_data_family_file_tools_json_n;
extern const char wbi_data_family_work_tools_json[];
extern const size_t wbi_data_family_work_tools_json_n;
extern const char wbi_data_family_workspace_tools_json[];
extern const size_t wbi_data_family_workspace_tools_json_n;
extern const char wbi_data_family_notify_tools_json[];
extern const size_t wbi_data_family_notify_tools_json_n;
extern const char wbi_data_family_agent_tools_json[];
extern const size_t wbi_data_family_agent_tools_json_n;

static const struct wbi_builtin_tool command_tools[] = {
    {"ExecCommand", &wbi_command_family, &wbi_exec_command_ops, false},
    {"ExecCommandBatch", &wbi_batch_family, &wbi_exec_batch_ops, false},
    {"local_shell", &wbi_command_family, &wbi_exec_command_ops, true},
    {"shell", &wbi_batch_family, &wbi_exec_batch_ops, true},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_tool task_tools[] = {
    {"TaskOutput", &wbi_task_output_family, &wbi_task_output_ops, false},
    {"TaskStatus", &wbi_task_status_family, &wbi_task_status_ops, false},
    {"TaskList", &wbi_task_list_family, &wbi_task_list_ops, false},
    {"TaskInput", &wbi_task_input_family, &wbi_task_input_ops, false},
    {"TaskStop", &wbi_task_stop_family, &wbi_task_stop_ops, false},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_tool artifact_tools[] = {
    {"ReadArtifact", &wbi_read_artifact_family, &wbi_read_artifact_ops, false},
    {"ListArtifacts", &wbi_list_artifacts_family, &wbi_list_artifacts_ops, false},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_tool file_tools[] = {
    {"ReadFile", &wbi_read_family, &wbi_read_file_ops, false},
    {"ListFiles", &wbi_list_family, &wbi_list_files_ops, false},
    {"SearchFiles", &wbi_search_family, &wbi_search_files_ops, false},
    {"WriteFile", &wbi_write_family, &wbi_write_file_ops, false},
    {"ApplyPatch", &wbi_patch_family, &wbi_apply_patch_ops, false},
    {"apply_patch", &wbi_patch_family, &wbi_apply_patch_ops, true},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_tool work_tools[] = {
    {"CreateWorkItem", &wbi_work_family, &wbi_create_work_ops, false},
    {"UpdateWorkItem", &wbi_work_family, &wbi_update_work_ops, false},
    {"CompleteWorkItem", &wbi_work_family, &wbi_complete_work_ops, false},
    {"ListWorkItems", &wbi_work_family, &wbi_list_work_ops, false},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_tool workspace_tools[] = {
    {"EnterWorkspace", &wbi_workspace_family, &wbi_enter_workspace_ops, false},
    {"ExitWorkspace", &wbi_workspace_family, &wbi_exit_workspace_ops, false},
    {"GetWorkspaceState", &wbi_workspace_family, &wbi_workspace_state_ops, false},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_tool notify_tools[] = {
    {"Notify", &wbi_notify_family, &wbi_notify_ops, false},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_tool agent_tools[] = {
    {"RunAgent", &wbi_agent_family, &wbi_run_agent_ops, false},
    {NULL, NULL, NULL, false},
};

static const struct wbi_builtin_family families[] = {
    {"command", wbi_data_family_command_tools_json, &wbi_data_family_command_tools_json_n,
     command_tools},
    {"task", wbi_data_family_task_tools_json, &wbi_data_family_task_tools_json_n, task_tools},
    {"artifact", wbi_data_family_artifact_tools_json, &wbi_data_family_artifact_tools_json_n,
     artifact_tools},
    {"file", wbi_data_family_file_tools_json, &wbi_data_family_file_tools_json_n, file_tools},
    {"work", wbi_data_family_work_tools_json, &wbi_data_family_work_tools_json_n, work_tools},
    {"workspace", wbi_data_family_workspace_tools_json, &wbi_data_family_workspace_tools_json_n,
     workspace_tools},
    {"notify", wbi_data_family_notify_tools_json, &wbi_data_family_notify_tools_json_n,
     notify_tools},
    {"agent", wbi_data_family_agent_tools_json, &wbi_data_family_agent_tools_json_n, agent_tools},
};

#define FAMILIES (sizeof(families) / sizeof(families[0]))

static const struct wbi_builtin_tool *find(const struct wbi_builtin_family *f, struct wbi_str name)
{
    for (const struct wbi_builtin_tool *t = f->tools; t->name != NULL; t++)
        if (wbi_str_eqz(name, t->name))
            return t;
    return NULL;
}

static wb_rc declare(struct wbi_catalog_builder *b, const struct wbi_builtin_family *f,
                     const wbi_json *descriptor, struct wbi_error *err)
{
    const struct wbi_builtin_tool *tool = find(f, wbi_json_get_str(descriptor, "name"));
    struct wbi_tool_binding binding = {.builtin = true};

    if (tool == NULL)
        return wbi_fail(err, WB_EINTERNAL, "family %s declares a tool it cannot run: %.*s", f->name,
                        WBI_FMT(wbi_json_get_str(descriptor, "name")));
    binding.family = tool->family;
    binding.ops = tool->ops;
    binding.hidden = tool->hidden;
    return wbi_catalog_add(b, descriptor, &binding, err);
}

static wb_rc declare_family(struct wbi_catalog_builder *b, const struct wbi_builtin_family *f,
                            struct wbi_error *err)
{
    struct wbi_arena *arena;
    const wbi_json *list;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_json_read(arena, wbi_str_make(f->tools_json, *f->tools_json_n), WBI_JSON_STRICT, &list,
                       err);
    WBI_JSON_EACH (rc == WB_OK ? list : NULL, descriptor) {
        if (rc == WB_OK)
            rc = declare(b, f, descriptor, err);
    }
    wbi_arena_free(arena);
    return rc;
}

wb_rc wbi_builtin_declare(struct wbi_catalog_builder *b, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < FAMILIES; i++)
        rc = declare_family(b, &families[i], err);
    return rc;
}

wb_rc wbi_builtin_load(struct wbi_runtime *rt, struct wbi_error *err)
{
    struct wbi_catalog_builder *b;
    wb_rc rc = wbi_runtime_additions(rt, &b, err);

    if (rc == WB_OK)
        rc = wbi_builtin_declare(b, err);
    if (rc == WB_OK)
        rc = wbi_task_serve(rt, err);
    if (rc == WB_OK)
        wbi_patches_recover(rt);
    return rc;
}

const struct wbi_family *wbi_builtin_family_of(struct wbi_str tool_name)
{
    for (size_t i = 0; i < FAMILIES; i++) {
        const struct wbi_builtin_tool *tool = find(&families[i], tool_name);
        if (tool != NULL)
            return tool->family;
    }
    return NULL;
}
