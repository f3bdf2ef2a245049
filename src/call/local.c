/* SPDX-License-Identifier: Apache-2.0
 * call/local.c: loading what the files of the user and the workspace say. */
#include "call/local.h"

#include <stdio.h>
#include <unistd.h>

#include "artifact/spool.h"
#include "base/limits.h"
#include "base/sign.h"
#include "call/control.h"
#include "call/kept.h"
#include "call/keys.h"
#include "call/known.h"
#include "call/local_tool.h"
#include "call/recover.h"
#include "call/upkeep.h"
#include "call/workspace.h"
#include "config/config.h"
#include "ledger/checkpoint.h"
#include "path/path.h"
#include "run/process.h"
#include "run/tasks.h"

static wb_rc find_places(struct wbi_runtime *rt, const struct wbi_runtime_options *o,
                         struct wbi_error *err)
{
    struct wbi_places_wish wish = {.root = o->root, .state = o->state, .config = o->config_file};
    struct wbi_env env = wbi_env_process();
    wb_rc rc = wbi_places_find(rt->arena, &wish, &env, &rt->places, err);

    rt->places.as_trusted = o->as_trusted;
    if (rc == WB_OK)
        rc = wbi_config_load(&rt->places, &rt->config, err);
    if (rc == WB_OK)
        rc = wbi_config_validate(rt->config, err);
    if (rc != WB_OK)
        return rc;
    rt->made_of = wbi_config_ref(rt->config);
    rt->root = rt->places.root;
    rt->state = rt->places.state;
    return WB_OK;
}

wb_rc wbi_runtime_declare(struct wbi_runtime *rt, struct wbi_error *err)
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
    rt->inherit_env = o->inherit_env;
    rt->direct = o->direct;
    rt->inherit_stdin = o->inherit_stdin;
    if (rc == WB_OK)
        rc = wbi_known_load(rt, err);
    return rc;
}

bool wbi_runtime_keeps_ledger(const struct wbi_runtime *rt)
{
    return !rt->no_ledger;
}

bool wbi_runtime_ledger_exists(const struct wbi_runtime *rt)
{
    struct wbi_root *state;
    struct stat st;
    bool there;

    if (rt->ledger != NULL)
        return true;
    if (wbi_root_open(rt->places.state.p, 0, NULL, &state) != WB_OK)
        return false;
    there = wbi_path_lstat(state, WBI_LIT("ledger.db"), &st);
    wbi_root_unref(state);
    return there;
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
    struct wbi_ledger_options lo = {
        .clock = rt->clock, .close_call = wbi_recover_call, .close_arg = &rt->places.state};
    wb_rc rc = WB_OK;

    if (rt->ledger != NULL)
        return WB_OK;
    if (rt->store == NULL)
        rc = wbi_store_open(&so, &rt->store, err);
    if (rc == WB_OK)
        rc = wbi_ledger_open(rt->store, &lo, &rt->ledger, NULL, err);
    rt->state_refused = rc == WB_ESTATE;
    if (rc == WB_OK)
        wbi_runtime_control_open(rt);
    if (rc == WB_OK && wbi_checkpoint_begin(rt->ledger, NULL) != WB_OK)
        return WB_OK; /* `ledger verify` will tell; calls go on */
    return rc;
}

enum { CHECKPOINT_ROWS = 256, CHECKPOINT_CALLS = 1024, CHECKPOINT_MS = 250 };

static void write_witness(void *arg)
{
    struct wbi_runtime *rt = arg;
    wb_rc rc = wbi_checkpoint_due(rt->ledger, CHECKPOINT_ROWS, NULL);

    (void)rc; /* a witness that lags proves less, it is not wrong */
    wbi_sign_leave();
}

static void on_witnessed(void *arg)
{
    ((struct wbi_runtime *)arg)->witnessing = false;
}

/* Signing and syncing take milliseconds: not on the loop's thread. */
void wbi_runtime_recorded(struct wbi_runtime *rt)
{
    int64_t now_ns;

    if (++rt->recorded % CHECKPOINT_CALLS != 0 || rt->witnessing)
        return;
    now_ns = wbi_now_ns(&rt->clock);
    if (rt->witnessed_ns != 0 && now_ns - rt->witnessed_ns < CHECKPOINT_MS * WBI_NS_PER_MS)
        return;
    rt->witnessed_ns = now_ns;
    rt->witnessing = wbi_loop_work(rt->loop, write_witness, on_witnessed, rt, NULL) == WB_OK;
}

void wbi_runtime_unrecorded(struct wbi_runtime *rt, const struct wbi_error *why)
{
    rt->unrecorded++;
    rt->why_unrecorded = *why;
}

void wbi_runtime_ledger_health(struct wbi_runtime *rt, struct wbi_store_health *ret)
{
    *ret = (struct wbi_store_health){.writable = rt->unrecorded == 0};
    if (rt->store != NULL)
        wbi_store_health(rt->store, ret);
    ret->lost += rt->unrecorded;
}

static bool owner_alive(void *arg, const char *owner)
{
    const struct wbi_runtime *rt = arg;

    return wbi_store_owner_alive(rt->store, wbi_str_z(owner));
}

/* Facts of the store under one name, for as long as the runtime lives. */
static wb_rc facts_of(struct wbi_runtime *rt, struct wbi_str table, struct wbi_facts *ret,
                      struct wbi_error *err)
{
    struct wbi_kept *k = wbi_arena_alloc(rt->arena, sizeof(*k));

    if (k == NULL)
        return wbi_fail_nomem(err);
    *k = (struct wbi_kept){rt->store, table};
    *ret = wbi_kept_facts(k);
    return WB_OK;
}

/* 0 is the store's own default. */
static uint64_t limit(const struct wbi_runtime *rt, const char *pointer)
{
    int64_t n = rt->config ? wbi_config_number(rt->config, pointer, INT64_MAX) : INT64_MAX;

    return n == INT64_MAX ? 0 : (uint64_t)n;
}

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static wb_rc open_artifact_store(struct wbi_runtime *rt, struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1];
    struct wbi_artifact_policy policy = {.stream_bytes = limit(rt, "/limits/artifactStreamBytes"),
                                         .call_bytes = limit(rt, "/limits/artifactCallBytes"),
                                         .store_bytes = limit(rt, "/limits/artifactStoreBytes"),
                                         .free_bytes = limit(rt, "/limits/freeDiskBytes")};
    uint64_t days = limit(rt, "/limits/artifactAgeDays");
    struct wbi_facts facts;
    wb_rc rc;

    if (rt->artifacts != NULL)
        return WB_OK;
    policy.age_ms = (int64_t)(days < 36500 ? days : 36500) * DAY_MS;
    if ((size_t)snprintf(path, sizeof(path), "%.*s/artifacts", WBI_FMT(rt->places.state)) >=
        sizeof(path))
        return wbi_fail(err, WB_ELIMIT, "the path of the state directory is too long");
    rc = facts_of(rt, WBI_LIT("artifacts"), &facts, err);
    if (rc == WB_OK)
        rc = wbi_artifact_store_open(path, &policy, &facts, rt->clock, &rt->artifacts, err);
    return rc;
}

wb_rc wbi_runtime_root(struct wbi_runtime *rt, struct wbi_root **ret, struct wbi_error *err)
{
    struct wbi_root *root = NULL;
    wb_rc rc = WB_OK;

    if (rt->exec_root != NULL && wbi_root_gone(rt->exec_root)) { /* maybe it was made anew */
        wbi_root_unref(rt->exec_root);
        rt->exec_root = NULL;
    }
    if (rt->exec_root == NULL) {
        rc = wbi_root_open(rt->places.root.p, 0, err, &root);
        if (rc == WB_OK)
            rc = wbi_places_guard(&rt->places, root, err);
        if (rc == WB_OK)
            rt->exec_root = root;
        else
            wbi_root_unref(root);
    }
    *ret = rt->exec_root;
    return rc;
}

/* Tasks name their owner; where nothing can be written there will be none. */
static wb_rc own_store(struct wbi_runtime *rt, struct wbi_error *err)
{
    return wbi_store_dir(rt->store)->read_only ? WB_OK : wbi_store_own(rt->store, err);
}

wb_rc wbi_runtime_open_artifacts(struct wbi_runtime *rt, struct wbi_error *err)
{
    struct wbi_tasks_config config = {.loop = rt->loop,
                                      .runner = rt->runner,
                                      .clock = rt->clock,
                                      .ids = rt->ids,
                                      .secrets = rt->secrets,
                                      .owner_alive = owner_alive,
                                      .arg = rt};
    uint64_t interrupted;
    wb_rc rc;

    if (rt->tasks != NULL)
        return WB_OK;
    if (rt->no_ledger)
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "this runtime keeps no state");
    rc = wbi_runtime_open_ledger(rt, err); /* checks and makes the directory */
    if (rc == WB_OK)
        rc = own_store(rt, err);
    if (rc == WB_OK)
        rc = open_artifact_store(rt, err);
    if (rc == WB_OK)
        rc = facts_of(rt, WBI_LIT("tasks"), &config.facts, err);
    if (rc != WB_OK)
        return rc;
    config.store = rt->artifacts;
    (void)snprintf(config.owner, sizeof(config.owner), "%s", wbi_store_instance(rt->store));
    rc = wbi_tasks_new(&config, &rt->tasks, err);
    if (rc == WB_OK && wbi_tasks_recover(rt->tasks, &interrupted, NULL) != WB_OK)
        interrupted = 0; /* they stay as they are; the next start tries again */
    if (rc == WB_OK)
        wbi_upkeep_begin(rt);
    return rc;
}

/* ---- where projectors keep what is too large ---- */

/* What was kept joins what the tool itself has kept, in the record (C4.6). */
wb_rc wbi_runtime_note_artifact(struct wbi_call *call, struct wbi_str path,
                                const struct wbi_artifact *a, struct wbi_error *err)
{
    struct wbi_str before = call->facts.artifacts;
    struct wbi_buf *out = &call->facts.noted;
    struct wbi_jw w = wbi_jw_to(out);

    if (out->p == NULL || out->p != before.p) {
        wbi_buf_init_arena(out, call->arena, WBI_LIMIT_JSON_TEXT);
        wbi_buf_adds(out, before.n > 2 ? before : WBI_NONE);
    }
    if (out->n > 0) /* an array that holds something: its end moves on */
        out->p[out->n - 1] = ',';
    else
        wbi_buf_addc(out, '[');
    wbi_artifact_record(&w, path, a);
    wbi_buf_addc(out, ']');
    if (wbi_buf_rc(out) != WB_OK)
        return wbi_fail_nomem(err);
    call->facts.artifacts = wbi_buf_str(out);
    return WB_OK;
}

static wb_rc keep(void *arg, const char *role, struct wbi_str bytes, struct wbi_str *ret_path,
                  struct wbi_error *err)
{
    struct wbi_call *call = arg;
    const char *const roles[WBI_SPOOL_STREAMS] = {role, NULL};
    struct wbi_artifact got[WBI_SPOOL_STREAMS];
    struct wbi_spool *spool;
    WBI_ERROR_HERE(why);
    wb_rc rc = wbi_runtime_open_artifacts(call->runtime, &why);

    if (rc == WB_OK)
        rc = wbi_spool_open(call->runtime->artifacts, wbi_str_z(call->name), roles, &spool, &why);
    if (rc != WB_OK) /* the tool ran: this is no refusal, whatever the reason is called */
        return wbi_fail_kind(err, rc, WBI_KIND_OUTPUT_PERSISTENCE_FAILED,
                             "the output could not be kept: %s", why.text);
    wbi_spool_add(spool, 0, bytes);
    rc = wbi_spool_finish(spool, 1, got, err);
    if (rc != WB_OK)
        return rc;
    if (got[0].name[0] != '\0') { /* what was saved of it, too */
        *ret_path = wbi_artifact_path(call->runtime->artifacts, call->arena, got[0].name);
        rc = ret_path->p != NULL ? wbi_runtime_note_artifact(call, *ret_path, &got[0], err)
                                 : wbi_fail_nomem(err);
    }
    if (rc == WB_OK &&
        (strcmp(got[0].reason, "io_error") == 0 || strcmp(got[0].reason, "no_space") == 0))
        rc = wbi_fail_kind(err, WB_EIO, WBI_KIND_OUTPUT_PERSISTENCE_FAILED,
                           "only %llu of %zu bytes of the output could be kept: %s",
                           (unsigned long long)got[0].bytes, bytes.n,
                           got[0].reason[0] == 'n' ? "the disk is full" : "writing failed");
    return rc;
}

const struct wbi_sink *wbi_runtime_sink(struct wbi_call *call)
{
    struct wbi_sink *sink;

    if (call->runtime->no_ledger)
        return NULL;
    sink = wbi_arena_alloc(call->arena, sizeof(*sink));
    if (sink != NULL)
        *sink = (struct wbi_sink){keep, call};
    return sink;
}

/* Rows on their way are written; their completions run before the loop goes. */
static void close_ledger(struct wbi_runtime *rt)
{
    while (rt->witnessing)
        (void)wbi_loop_turn(rt->loop, /* wait= */ true);
    wbi_keys_settle(rt->keys);
    if (rt->recorded > 0 && wbi_ledger_flush(rt->ledger, NULL) == WB_OK &&
        wbi_checkpoint_due(rt->ledger, CHECKPOINT_ROWS, NULL) != WB_OK)
        rt->recorded = 0; /* the next process tries again */
    wbi_ledger_free(rt->ledger);
    wbi_store_close(rt->store);
    rt->ledger = NULL;
    rt->store = NULL;
}

void wbi_runtime_unload(struct wbi_runtime *rt)
{
    wbi_workspaces_free(rt->workspaces);
    wbi_root_unref(rt->exec_root);
    wbi_upkeep_end(rt);
    wbi_tasks_free(rt->tasks);
    wbi_artifact_store_close(rt->artifacts);
    wbi_runtime_control_close(rt);
    close_ledger(rt);
    wbi_runner_free(rt->runner);
    wbi_config_unref(rt->config);
    wbi_config_unref(rt->made_of);
}
