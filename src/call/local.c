/* SPDX-License-Identifier: Apache-2.0
 * call/local.c: loading what the files of the user and the workspace say. */
#include "call/local.h"

#include "call/local_tool.h"
#include "config/config.h"
#include "ledger/ledger.h"
#include "run/process.h"

static wb_rc find_places(struct wbi_runtime *rt, const struct wbi_runtime_options *o,
                         struct wbi_error *err)
{
    struct wbi_places_wish wish = {.root = o->root, .state = o->state, .config = o->config_file};
    struct wbi_env env = wbi_env_process();
    wb_rc rc = wbi_places_find(rt->arena, &wish, &env, &rt->places, err);

    if (rc == WB_OK)
        rc = wbi_config_load(&rt->places, &rt->config, err);
    if (rc != WB_OK)
        return rc;
    rt->root = rt->places.root;
    rt->state = rt->places.state;
    return WB_OK;
}

/* A tool that is wrong is refused with its file and line, not left out. */
static wb_rc add_tools(struct wbi_runtime *rt, struct wbi_error *err)
{
    const struct wbi_config_tool *tools;
    size_t n = wbi_config_tools(rt->config, &tools);

    for (size_t i = 0; i < n; i++) {
        struct wbi_error inner = WBI_ERROR_INIT;
        wb_rc rc = wbi_local_tool_add(rt, tools[i].descriptor, &inner);

        if (rc != WB_OK) {
            (void)wbi_fail(err, rc == WB_ENOMEM ? rc : WB_EINPUT, "tool %.*s: %s",
                           WBI_FMT(tools[i].name), inner.text);
            wbi_error_at(err, tools[i].file);
            if (err != NULL) {
                err->line = tools[i].line;
                err->column = 1;
            }
            return err ? err->rc : rc;
        }
    }
    return WB_OK;
}

wb_rc wbi_runtime_load(struct wbi_runtime *rt, const struct wbi_runtime_options *o,
                       struct wbi_error *err)
{
    wb_rc rc = find_places(rt, o, err);

    rt->no_ledger = o->no_ledger;
    if (rc == WB_OK)
        rc = wbi_runner_new(rt->loop, rt->clock, &rt->runner, err);
    if (rc == WB_OK)
        rc = add_tools(rt, err);
    return rc;
}

bool wbi_runtime_keeps_ledger(const struct wbi_runtime *rt)
{
    return !rt->no_ledger;
}

static void wake(void *arg, struct wbi_post *node)
{
    wbi_loop_post(arg, node);
}

wb_rc wbi_runtime_open_ledger(struct wbi_runtime *rt, struct wbi_error *err)
{
    struct wbi_store_options so = {.dir = rt->places.state.p,
                                   .user_dir = rt->places.user_state.p,
                                   .ids = rt->ids,
                                   .wake = wake,
                                   .wake_arg = rt->loop};
    struct wbi_ledger_options lo = {.clock = rt->clock};
    wb_rc rc = WB_OK;

    if (rt->ledger != NULL)
        return WB_OK;
    if (rt->store == NULL)
        rc = wbi_store_open(&so, &rt->store, err);
    if (rc == WB_OK)
        rc = wbi_ledger_open(rt->store, &lo, &rt->ledger, NULL, err);
    return rc;
}

/* Rows on their way are written; their completions run before the loop goes. */
static void close_ledger(struct wbi_runtime *rt)
{
    wbi_ledger_free(rt->ledger);
    wbi_store_close(rt->store);
    rt->ledger = NULL;
    rt->store = NULL;
}

void wbi_runtime_unload(struct wbi_runtime *rt)
{
    close_ledger(rt);
    wbi_runner_free(rt->runner);
    wbi_config_unref(rt->config);
}
