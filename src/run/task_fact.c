/* SPDX-License-Identifier: Apache-2.0
 * run/task_fact.c: a task as a durable fact, and what is done over all of them. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/write.h"
#include "run/tasks_int.h"
#include "text/secrets.h"

#define LIST_MAX 100000u
#define TEXT_KEPT (64u * WBI_KIB) /* of a text: a record has room for it however it is escaped */

static const char *const state_names[] = {"queued", "running",   "cancelling", "completed",
                                          "failed", "cancelled", "interrupted"};

const char *wbi_task_state_name(enum wbi_task_state state)
{
    return (size_t)state < WBI_COUNT(state_names) ? state_names[state] : "interrupted";
}

static enum wbi_task_state state_of(struct wbi_str name)
{
    for (size_t i = 0; i < WBI_COUNT(state_names); i++)
        if (wbi_str_eqz(name, state_names[i]))
            return (enum wbi_task_state)i;
    return WBI_TASK_INTERRUPTED;
}

static void write_output(struct wbi_jw *w, const struct wbi_artifact *a)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "name", a->name);
    wbi_jw_kstrz(w, "role", a->role);
    wbi_jw_kint(w, "bytes", (int64_t)a->bytes);
    wbi_jw_kint(w, "lines", (int64_t)a->lines);
    wbi_jw_kint(w, "dropped", (int64_t)a->dropped);
    wbi_jw_kstrz(w, "sha256", a->sha256);
    wbi_jw_kbool(w, "complete", a->complete);
    wbi_jw_kstrz(w, "reason", a->reason);
    wbi_jw_obj_end(w);
}

static struct wbi_str kept(struct wbi_str text)
{
    return wbi_str_head(text, wbi_utf8_cut(text, TEXT_KEPT));
}

/* Facts are read by people and other processes: no secret gets there (C8.8). */
static void write_text(struct wbi_jw *w, const struct wbi_tasks *t, const char *name,
                       struct wbi_str text, wb_rc *rc)
{
    struct wbi_buf clean;

    if (text.p == NULL || t->config.secrets == NULL || *rc != WB_OK) {
        wbi_jw_kstr(w, name, kept(text));
        return;
    }
    wbi_buf_init(&clean, 2 * WBI_LIMIT_ARGUMENT_BYTES);
    *rc = wbi_secrets_replace(t->config.secrets, text, &clean, NULL);
    if (*rc == WB_OK)
        *rc = wbi_buf_rc(&clean);
    if (*rc == WB_OK)
        wbi_jw_kstr(w, name, kept(wbi_buf_str(&clean)));
    wbi_buf_fini(&clean);
}

wb_rc wbi_task_store(struct wbi_tasks *t, const struct wbi_task_info *info,
                     const struct wbi_str *had, struct wbi_error *err)
{
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);
    wb_rc rc = WB_OK;

    wbi_buf_init(&text, WBI_LIMIT_FACT);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "id", info->id);
    wbi_jw_kstrz(&w, "owner", info->owner);
    wbi_jw_kstrz(&w, "state", wbi_task_state_name(info->state));
    wbi_jw_kstr(&w, "call_id", info->call_id);
    write_text(&w, t, "cmd", info->cmd, &rc);
    write_text(&w, t, "workdir", info->workdir, &rc);
    wbi_jw_kstr(&w, "shell", info->shell);
    wbi_jw_kbool(&w, "tty", info->tty);
    wbi_jw_kbool(&w, "accepts_input", info->accepts_input);
    wbi_jw_kint(&w, "exit_status", info->exit_status);
    wbi_jw_kint(&w, "signal", info->signal);
    wbi_jw_kbool(&w, "timed_out", info->timed_out);
    wbi_jw_kint(&w, "limit", info->limit);
    wbi_jw_kint(&w, "containment", info->containment);
    write_text(&w, t, "error", info->error, &rc);
    wbi_jw_kint(&w, "started_ms", info->started_ms);
    wbi_jw_kint(&w, "ended_ms", info->ended_ms);
    wbi_jw_kbool(&w, "delivered", info->delivered);
    wbi_jw_key(&w, "output");
    wbi_jw_arr(&w);
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++)
        write_output(&w, &info->output[i]);
    wbi_jw_arr_end(&w);
    wbi_jw_obj_end(&w);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&text);
    if (rc != WB_OK)
        rc = wbi_fail(err, rc, "the task's record is too large");
    else
        rc = t->config.facts.put(t->config.facts.arg, wbi_str_z(info->id), had, wbi_buf_str(&text),
                                 err);
    wbi_buf_fini(&text);
    return rc;
}

static void text_member(const wbi_json *v, const char *name, char *into, size_t room)
{
    struct wbi_str s = wbi_json_get_str(v, name);

    if (s.n > 0 && s.n < room)
        memcpy(into, s.p, s.n);
}

static int64_t int_member(const wbi_json *v, const char *name)
{
    int64_t n = 0;

    return wbi_json_i64(wbi_json_get(v, name), &n) ? n : 0;
}

static void read_output(const wbi_json *v, struct wbi_str call_id, struct wbi_artifact *a)
{
    text_member(v, "name", a->name, sizeof(a->name));
    text_member(v, "role", a->role, sizeof(a->role));
    text_member(v, "sha256", a->sha256, sizeof(a->sha256));
    text_member(v, "reason", a->reason, sizeof(a->reason));
    if (call_id.n > 0)
        memcpy(a->call_id, call_id.p, WBI_MIN(call_id.n, sizeof(a->call_id) - 1));
    a->bytes = (uint64_t)int_member(v, "bytes");
    a->lines = (uint64_t)int_member(v, "lines");
    a->dropped = (uint64_t)int_member(v, "dropped");
    a->complete = wbi_json_true(wbi_json_get(v, "complete"));
}

/* *ret_text is what it was read from, for whoever changes it. */
static wb_rc load(struct wbi_tasks *t, struct wbi_str id, struct wbi_arena *arena,
                  struct wbi_task_info *ret, struct wbi_str *ret_text, struct wbi_error *err)
{
    const wbi_json *v = NULL, *output;
    wb_rc rc = t->config.facts.get(t->config.facts.arg, id, arena, ret_text, err);

    if (rc == WB_OK)
        rc = wbi_json_read(arena, *ret_text, WBI_JSON_STRICT, &v, err);
    if (rc != WB_OK)
        return rc;
    memset(ret, 0, sizeof(*ret));
    text_member(v, "id", ret->id, sizeof(ret->id));
    text_member(v, "owner", ret->owner, sizeof(ret->owner));
    ret->state = state_of(wbi_json_get_str(v, "state"));
    ret->call_id = wbi_json_get_str(v, "call_id");
    ret->cmd = wbi_json_get_str(v, "cmd");
    ret->workdir = wbi_json_get_str(v, "workdir");
    ret->shell = wbi_json_get_str(v, "shell");
    ret->error = wbi_json_get_str(v, "error");
    ret->tty = wbi_json_true(wbi_json_get(v, "tty"));
    ret->accepts_input = wbi_json_true(wbi_json_get(v, "accepts_input"));
    ret->exit_status = (int)int_member(v, "exit_status");
    ret->signal = (int)int_member(v, "signal");
    ret->timed_out = wbi_json_true(wbi_json_get(v, "timed_out"));
    ret->limit = (enum wbi_limit_hit)int_member(v, "limit");
    ret->containment = (enum wbi_containment)int_member(v, "containment");
    ret->started_ms = int_member(v, "started_ms");
    ret->ended_ms = int_member(v, "ended_ms");
    ret->delivered = wbi_json_true(wbi_json_get(v, "delivered"));
    output = wbi_json_get(v, "output");
    for (size_t i = 0; i < WBI_SPOOL_STREAMS && i < wbi_json_count(output); i++)
        read_output(wbi_json_at(output, i), ret->call_id, &ret->output[i]);
    return WB_OK;
}

wb_rc wbi_task_load(struct wbi_tasks *t, struct wbi_str id, struct wbi_arena *arena,
                    struct wbi_task_info *ret, struct wbi_error *err)
{
    struct wbi_str text;

    return load(t, id, arena, ret, &text, err);
}

/* Every stored task, into a growing array. */
struct gathering {
    struct wbi_tasks *tasks;
    struct wbi_arena *arena;
    struct wbi_buf items;
    wb_rc rc;
};

static bool gather(void *arg, struct wbi_str key)
{
    struct gathering *g = arg;
    struct wbi_command *live = wbi_task_live(g->tasks, key);
    struct wbi_task_info info;
    wb_rc rc = WB_OK;

    if (!wbi_str_starts(key, WBI_LIT("task_")))
        return true;
    if (live != NULL) {
        wbi_task_refresh(live);
        info = live->info;
    } else {
        rc = wbi_task_load(g->tasks, key, g->arena, &info, NULL);
    }
    if (rc == WB_ENOMEM)
        g->rc = rc;
    if (rc == WB_OK) { /* a damaged fact hides no other */
        wbi_buf_add(&g->items, &info, sizeof(info));
        g->rc = wbi_buf_rc(&g->items);
    }
    return g->rc == WB_OK;
}

static int newest_first(const void *x, const void *y)
{
    const struct wbi_task_info *a = x, *b = y;

    if (a->started_ms != b->started_ms)
        return a->started_ms < b->started_ms ? 1 : -1;
    return strcmp(a->id, b->id);
}

wb_rc wbi_tasks_list(struct wbi_tasks *t, struct wbi_arena *arena, struct wbi_task_info **ret,
                     size_t *ret_count, struct wbi_error *err)
{
    struct gathering g = {.tasks = t, .arena = arena};
    wb_rc rc;

    wbi_tasks_settle(t);
    wbi_buf_init_arena(&g.items, arena, LIST_MAX * sizeof(struct wbi_task_info));
    rc = t->config.facts.list(t->config.facts.arg, gather, &g, err);
    if (rc == WB_OK && g.rc != WB_OK)
        rc = wbi_fail(err, g.rc, "cannot list the tasks");
    if (rc != WB_OK)
        return rc;
    *ret = (struct wbi_task_info *)(void *)g.items.p;
    *ret_count = g.items.n / sizeof(struct wbi_task_info);
    if (*ret_count > 1)
        qsort(*ret, *ret_count, sizeof(**ret), newest_first);
    return WB_OK;
}

static bool owner_is_dead(const struct wbi_tasks *t, const char *owner)
{
    if (strcmp(owner, t->config.owner) == 0)
        return true; /* ours, but not live: left by a runtime that had our name */
    return t->config.owner_alive == NULL || !t->config.owner_alive(t->config.arg, owner);
}

/* The owner is dead, so what it stored last is there: a task that ended is left alone. */
static wb_rc interrupt(struct wbi_tasks *t, struct wbi_str id, struct wbi_arena *arena,
                       uint64_t *count, struct wbi_error *err)
{
    struct wbi_error mine = WBI_ERROR_INIT;
    struct wbi_task_info info;
    struct wbi_str had;
    wb_rc rc = load(t, id, arena, &info, &had, err);

    if (rc != WB_OK || wbi_task_over(info.state))
        return rc == WB_ENOTFOUND ? WB_OK : rc;
    info.state = WBI_TASK_INTERRUPTED;
    info.ended_ms = wbi_wall_ms(&t->config.clock);
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++) {
        struct wbi_artifact *a = &info.output[i], found;
        if (a->name[0] != '\0' &&
            wbi_artifact_find(t->config.store, wbi_str_z(a->name), &found, NULL) == WB_OK)
            *a = found;
    }
    rc = wbi_task_store(t, &info, &had, &mine);
    *count += rc == WB_OK;
    if (rc == WB_EAGAIN || mine.kind == WBI_KIND_LOW_DISK_SPACE ||
        mine.kind == WBI_KIND_STATE_UNAVAILABLE)
        return WB_OK; /* another process did it, or will: reads go on */
    if (rc != WB_OK && err != NULL)
        *err = mine;
    return rc;
}

/* One task after the other, so that any number of them may be there. */
struct passing {
    struct wbi_tasks *tasks;
    struct wbi_arena *arena; /* of the one at hand */
    wb_rc (*each)(struct passing *p, const struct wbi_task_info *info);
    uint64_t done, most;
    int64_t before_ms;
    struct wbi_error *err;
    wb_rc rc;
};

static bool pass_one(void *arg, struct wbi_str key)
{
    struct passing *p = arg;
    struct wbi_task_info info;

    if (!wbi_str_starts(key, WBI_LIT("task_")) || wbi_task_live(p->tasks, key) != NULL)
        return true;
    wbi_arena_reset(p->arena);
    if (wbi_task_load(p->tasks, key, p->arena, &info, NULL) == WB_OK &&
        wbi_str_eqz(key, info.id)) /* a damaged fact hides no other */
        p->rc = p->each(p, &info);
    return p->rc == WB_OK && p->done < p->most;
}

static wb_rc pass_all(struct passing *p, uint64_t *ret_count)
{
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &p->arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(p->err);
    rc = p->tasks->config.facts.list(p->tasks->config.facts.arg, pass_one, p, p->err);
    wbi_arena_free(p->arena);
    if (rc == WB_OK)
        rc = p->rc;
    if (rc == WB_OK)
        *ret_count = p->done;
    return rc;
}

static wb_rc recover_one(struct passing *p, const struct wbi_task_info *info)
{
    if (wbi_task_over(info->state) || !owner_is_dead(p->tasks, info->owner))
        return WB_OK;
    return interrupt(p->tasks, wbi_str_z(info->id), p->arena, &p->done, p->err);
}

wb_rc wbi_tasks_recover(struct wbi_tasks *t, uint64_t *ret_count, struct wbi_error *err)
{
    struct passing p = {.tasks = t, .each = recover_one, .most = UINT64_MAX, .err = err};

    wbi_tasks_settle(t);
    return pass_all(&p, ret_count);
}

static wb_rc forget_one(struct passing *p, const struct wbi_task_info *info)
{
    wb_rc rc;

    if (!wbi_task_over(info->state) || info->ended_ms == 0 || info->ended_ms >= p->before_ms)
        return WB_OK;
    rc = p->tasks->config.facts.remove(p->tasks->config.facts.arg, wbi_str_z(info->id), p->err);
    p->done += rc == WB_OK;
    return rc;
}

wb_rc wbi_tasks_forget(struct wbi_tasks *t, int64_t before_ms, uint64_t most, uint64_t *ret_count,
                       struct wbi_error *err)
{
    struct passing p = {
        .tasks = t, .each = forget_one, .most = most, .before_ms = before_ms, .err = err};

    return pass_all(&p, ret_count);
}

/* WB_EAGAIN: another process was quicker, and tells of it. */
static wb_rc mark_delivered(struct wbi_tasks *t, struct wbi_str id, struct wbi_arena *arena,
                            struct wbi_error *err)
{
    struct wbi_command *live = wbi_task_live(t, id);
    struct wbi_task_info info;
    struct wbi_str had;
    wb_rc rc;

    if (live != NULL) { /* its end could not be stored when it came */
        live->info.delivered = true;
        rc = wbi_task_store(t, &live->info, NULL, err);
        live->info.delivered = rc == WB_OK;
        return rc;
    }
    rc = load(t, id, arena, &info, &had, err);
    if (rc != WB_OK || info.delivered)
        return rc == WB_OK || rc == WB_ENOTFOUND ? WB_EAGAIN : rc;
    info.delivered = true;
    return wbi_task_store(t, &info, &had, err);
}

wb_rc wbi_tasks_take_finished(struct wbi_tasks *t, char ret_id[WBI_ID_SIZE], struct wbi_error *err)
{
    struct wbi_task_info *all = NULL;
    struct wbi_arena *arena;
    size_t count = 0;
    bool found = false;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_tasks_list(t, arena, &all, &count, err);
    for (size_t i = count; i-- > 0 && rc == WB_OK && !found;) {
        if (!wbi_task_over(all[i].state) || all[i].delivered)
            continue;
        rc = mark_delivered(t, wbi_str_z(all[i].id), arena, err);
        found = rc == WB_OK;
        if (found)
            memcpy(ret_id, all[i].id, WBI_ID_SIZE);
        if (rc == WB_EAGAIN)
            rc = WB_OK;
    }
    wbi_arena_free(arena);
    if (rc == WB_OK && !found)
        return wbi_fail(err, WB_ENOTFOUND, "no ended task waits to be told of");
    return rc;
}
