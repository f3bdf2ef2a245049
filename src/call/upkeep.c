/* SPDX-License-Identifier: Apache-2.0
 * call/upkeep.c: when the store is tidied, and what must stay. */
#include "call/upkeep.h"

#include "ledger/ledger.h"
#include "loop/loop.h"
#include "run/tasks.h"

enum { FIRST_MS = 1000, NEXT_MS = 250, AGAIN_MS = 3600 * 1000 };
enum { STEP_FILES = 16, LAST_FILES = 64 }; /* a commit each: some hundredths of a second */

struct wbi_upkeep {
    struct wbi_timer *timer;
};

/* What live tasks write, what younger tasks have written and what younger records name stays. */
struct keeping {
    struct wbi_runtime *rt;
    struct wbi_arena *arena, *scratch;
    struct wbi_task_info *tasks;
    size_t task_count;
    int64_t records_since_ms;
};

#define CALL_ID_SIZE (sizeof("call_") - 1 + 20) /* as wbi_id_ordered makes them */

struct wbi_str wbi_artifact_call(const char *call_id)
{
    struct wbi_str id = wbi_str_z(call_id);

    return id.n > CALL_ID_SIZE && id.p[CALL_ID_SIZE] == '_' ? wbi_str_head(id, CALL_ID_SIZE) : id;
}

/* One that ran for weeks was asked about since the call that started it. */
static bool keeps(const struct keeping *k, const struct wbi_task_info *task)
{
    return !wbi_task_over(task->state) || task->ended_ms >= k->records_since_ms;
}

static bool is_referenced(void *arg, const struct wbi_artifact *a)
{
    struct keeping *k = arg;
    struct wbi_record record;
    wb_rc rc;

    for (size_t i = 0; i < k->task_count; i++)
        for (int s = 0; s < WBI_SPOOL_STREAMS && keeps(k, &k->tasks[i]); s++)
            if (strcmp(k->tasks[i].output[s].name, a->name) == 0)
                return true;
    rc = wbi_ledger_get(k->rt->ledger, k->scratch, wbi_artifact_call(a->call_id), &record, NULL);
    wbi_arena_reset(k->scratch);
    if (rc != WB_OK)
        return rc != WB_ENOTFOUND; /* not known: it stays */
    return !record.has_outcome || record.outcome.time_ms >= k->records_since_ms;
}

static wb_rc open_keeping(struct wbi_runtime *rt, struct keeping *k, struct wbi_error *err)
{
    wb_rc rc;

    *k = (struct keeping){.rt = rt};
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &k->arena) != WB_OK ||
        wbi_arena_new(WBI_LIMIT_CALL_ARENA, &k->scratch) != WB_OK)
        rc = wbi_fail_nomem(err);
    else
        rc = wbi_tasks_list(rt->tasks, k->arena, &k->tasks, &k->task_count, err);
    k->records_since_ms = wbi_wall_ms(&rt->clock) - wbi_artifact_age(rt->artifacts);
    return rc;
}

static void close_keeping(struct keeping *k)
{
    wbi_arena_free(k->scratch);
    wbi_arena_free(k->arena);
}

wb_rc wbi_upkeep_prune(struct wbi_runtime *rt, int64_t age_ms, struct wbi_artifact_stats *ret,
                       struct wbi_error *err)
{
    int64_t usual_ms = wbi_artifact_age(rt->artifacts);
    struct keeping k;
    wb_rc rc;

    if (age_ms >= 0)
        wbi_artifact_set_age(rt->artifacts, age_ms);
    rc = open_keeping(rt, &k, err);
    if (rc == WB_OK)
        rc = wbi_artifact_prune(rt->artifacts, is_referenced, &k, ret, err);
    close_keeping(&k);
    wbi_artifact_set_age(rt->artifacts, usual_ms);
    return rc;
}

/* True when there is nothing left to do, or nothing can be done. Tasks go before their output
 * may: those that ended as long ago name nothing any more. */
static bool step(struct wbi_runtime *rt, uint64_t most)
{
    int64_t before_ms = wbi_wall_ms(&rt->clock) - wbi_artifact_age(rt->artifacts);
    struct wbi_artifact_stats stats;
    struct keeping k;
    uint64_t forgotten = 0;
    bool done = true;
    wb_rc rc = wbi_tasks_forget(rt->tasks, before_ms, most, &forgotten, NULL);

    if (rc == WB_OK && forgotten == most)
        return false;
    rc = open_keeping(rt, &k, NULL);
    if (rc == WB_OK)
        rc = wbi_artifact_tidy(rt->artifacts, is_referenced, &k, most, &stats, &done, NULL);
    close_keeping(&k);
    return rc != WB_OK || done;
}

static void on_timer(void *arg)
{
    struct wbi_runtime *rt = arg;
    bool done = !wbi_artifact_tidy_due(rt->artifacts) || step(rt, STEP_FILES);

    wbi_tasks_settle(rt->tasks);
    wbi_timer_start(rt->upkeep->timer, done ? AGAIN_MS : NEXT_MS);
}

void wbi_upkeep_begin(struct wbi_runtime *rt)
{
    struct wbi_upkeep *u = wbi_arena_zalloc(rt->arena, sizeof(*u));

    if (u == NULL || wbi_timer_new(rt->loop, on_timer, rt, &u->timer) != WB_OK)
        return; /* the next one will */
    rt->upkeep = u;
    wbi_timer_background(u->timer);
    wbi_timer_start(u->timer, FIRST_MS);
}

void wbi_upkeep_end(struct wbi_runtime *rt)
{
    if (rt->upkeep == NULL)
        return;
    wbi_timer_free(rt->upkeep->timer);
    rt->upkeep = NULL;
    if (wbi_artifact_tidy_due(rt->artifacts))
        (void)step(rt, LAST_FILES);
}
