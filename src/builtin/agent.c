/* SPDX-License-Identifier: Apache-2.0
 * builtin/agent.c: RunAgent (C7.5): a configured child agent, run like a command:
 * its input on standard input, its report from standard output, both streams
 * spooled from the first byte, exit and deadline supervised. */
#include "builtin/work.h"

#include "base/arena.h"
#include "base/limits.h"
#include "builtin/command_int.h"
#include "call/workspace.h"
#include "config/config.h"
#include "family/agent/agent.h"

struct agent_state {
    struct wbi_running_command running;
    struct wbi_agent_output out;
};

/* The one that is named, or the only one there is. */
static const wbi_json *find_agent(struct wbi_exec *x, struct wbi_str *name)
{
    const wbi_json *all =
        x->runtime->config ? wbi_config_setting(x->runtime->config, "/agents") : NULL;

    *name = wbi_json_get_str(x->input, "agent");
    if (name->p == NULL && wbi_json_count(all) == 1) {
        *name = wbi_json_str(wbi_json_first(all));
        return wbi_json_first(all) + 1;
    }
    return name->p ? wbi_json_getn(all, *name) : NULL;
}

static void fail_unknown(struct wbi_exec *x, struct wbi_str name)
{
    const wbi_json *all =
        x->runtime->config ? wbi_config_setting(x->runtime->config, "/agents") : NULL;
    struct wbi_buf names;

    wbi_buf_init_arena(&names, x->arena, WBI_LIMIT_JSON_TEXT);
    WBI_JSON_EACH_MEMBER (all, key) {
        wbi_buf_addf(&names, "%s%.*s", names.n ? ", " : "", WBI_FMT(wbi_json_str(key)));
        (void)key_val;
    }
    if (wbi_json_count(all) == 0)
        wbi_exec_fail(x, WBI_KIND_TOOL_EXECUTION_FAILED,
                      "no child agent is configured; the user adds one under settings.agents");
    else if (name.p == NULL)
        wbi_exec_fail(x, WBI_KIND_INVALID_TOOL_INPUT, "agent is missing: one of %.*s",
                      WBI_FMT(wbi_buf_str(&names)));
    else
        wbi_exec_fail(x, WBI_KIND_INVALID_TOOL_INPUT, "there is no agent \"%.*s\"; there is %.*s",
                      WBI_FMT(wbi_str_head(name, 64)), WBI_FMT(wbi_buf_str(&names)));
}

/* What the agent reads: a whole line, whatever was given. */
static struct wbi_str agent_input(struct wbi_exec *x)
{
    struct wbi_str input = wbi_json_get_str(x->input, "input");

    if (input.n > 0 && input.p[input.n - 1] == '\n')
        return input;
    return wbi_arena_fmt(x->arena, "%.*s\n", WBI_FMT(input));
}

static void fail_start(struct wbi_exec *x, struct wbi_str name, const struct wbi_error *err)
{
    struct wbi_fault fault = {.kind = err->kind ? err->kind : WBI_KIND_COMMAND_SPAWN_FAILED};

    fault.message = wbi_arena_fmt(x->arena, "agent %.*s: %s", WBI_FMT(name), err->text);
    if (fault.kind == WBI_KIND_WORKDIR_NOT_FOUND && wbi_json_get(x->input, "workdir") == NULL)
        fault.hint = WBI_LIT(WBI_HINT_WORKSPACE_GONE);
    wbi_exec_fail_fault(x, &fault);
}

static void done(const struct wbi_running_command *r)
{
    struct agent_state *s = r->arg;
    struct wbi_exec *x = r->exec;
    struct wbi_complete complete = {
        .ok = true, .typed = &s->out, .artifacts = x->artifacts, .audit = x->audit};

    wbi_exec_done(x, &complete);
}

static void on_end(struct wbi_running_command *r)
{
    struct agent_state *s = r->arg;

    if (r->end.rc != WB_OK) {
        fail_start(r->exec, s->out.agent, &r->end.error); /* the system refused it */
        return;
    }
    r->exec->artifacts = wbi_command_facts(r->exec, r->kept, WBI_SPOOL_STREAMS);
    r->exec->audit = wbi_arena_fmt(r->exec->arena, "{\"containment\":\"%s\",\"sandbox\":\"none\"}",
                                   wbi_containment_name(r->end.containment));
    if (r->end.cancelled && r->exec->cancel != WBI_CANCEL_NONE)
        wbi_exec_stopped(r->exec, wbi_running_partial(r));
    else if (r->end.status_lost)
        wbi_running_fail_unknown(r, "agent");
    else if (wbi_running_lost(r))
        wbi_running_fail_lost(r, "agent");
    else
        done(r);
}

static void start(struct wbi_exec *x)
{
    struct wbi_str name;
    const wbi_json *agent = find_agent(x, &name);
    struct wbi_command_ask ask = {.cmd = wbi_json_get_as(agent, "command", WBI_JSON_ARR),
                                  .env = wbi_json_get_as(agent, "env", WBI_JSON_OBJ),
                                  .workdir = wbi_json_get_str(x->input, "workdir"),
                                  .call_id = wbi_str_z(x->call->name),
                                  .stdin_bytes = agent_input(x)};
    struct wbi_error err = WBI_ERROR_INIT;
    struct agent_state *s = wbi_exec_alloc(x, sizeof(*s));

    if (s == NULL)
        return;
    if (ask.cmd == NULL) {
        fail_unknown(x, name);
        return;
    }
    x->state = s;
    s->out.agent = wbi_arena_str(x->arena, name); /* the files may be read again meanwhile */
    s->out.run.cmd = wbi_command_text(x->arena, ask.cmd);
    s->out.run.budget_tokens = wbi_exec_budget(x).tokens; /* of what is shown where it is ended */
    (void)wbi_json_i64(wbi_json_get(agent, "timeoutMs"), &ask.timeout_ms); /* absent: none */
    (void)wbi_json_i64(wbi_json_get(x->input, "timeout_ms"), &ask.timeout_ms);
    s->running = (struct wbi_running_command){.exec = x,
                                              .out = &s->out.run,
                                              .live = x->call->on_frame != NULL,
                                              .keep_all = true,
                                              .on_end = on_end,
                                              .arg = s};
    if (wbi_running_start(&s->running, &ask, &err) != WB_OK)
        fail_start(x, name, &err);
}

static void cancel(struct wbi_exec *x)
{
    struct agent_state *s = x->state;

    if (s != NULL)
        wbi_running_stop(&s->running);
}

const struct wbi_tool_ops wbi_run_agent_ops = {start, cancel};
