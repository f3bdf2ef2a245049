/* SPDX-License-Identifier: Apache-2.0
 * call/budgets.c: one entry per budget in the store's table "budgets". A
 * reservation reads, checks and adds in one transaction and waits for the disk:
 * two processes can never both take the last of it. What was reserved is settled
 * without waiting.
 *
 * Windows are measured on the monotonic clock, which all processes of one boot
 * share, so that a wall clock that steps gives nobody a new window; a record of
 * an earlier boot is aged by the wall clock. */
#include "call/budgets.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "guard/deadline.h"
#include "json/write.h"
#include "store/lock.h"
#include "store/store.h"

struct budgets {
    struct wbi_budget_store store;
    struct wbi_runtime *rt;
};

#define TABLE WBI_LIT("budgets")

/* ---- the record as text ---- */

static wb_rc read_record(struct wbi_arena *arena, struct wbi_str text, struct wbi_str boot,
                         struct wbi_budget_time t, struct wbi_budget_record *ret)
{
    struct wbi_budget_record r = {.window = 1};
    int64_t started_ms, age_ns;
    const wbi_json *v;

    if (wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL) != WB_OK ||
        !wbi_json_i64(wbi_json_get(v, "start"), &started_ms) ||
        !wbi_json_i64(wbi_json_get(v, "calls"), &r.spent.calls) ||
        !wbi_json_i64(wbi_json_get(v, "timeNs"), &r.spent.time_ns) ||
        !wbi_json_i64(wbi_json_get(v, "cost"), &r.spent.cost))
        return WB_ESTATE;
    if (wbi_json_i64(wbi_json_get(v, "startNs"), &r.start_ns) &&
        wbi_json_i64(wbi_json_get(v, "window"), &r.window) && boot.n > 0 &&
        wbi_str_eq(wbi_json_get_str(v, "boot"), boot)) {
        r.start_ns = WBI_MIN(r.start_ns, t.now_ns);
    } else { /* one from the future (the wall clock stepped) starts now */
        age_ns = wbi_ms_to_ns(WBI_MAX(t.wall_ms - started_ms, 0));
        r.start_ns = wbi_time_after(t.now_ns, -age_ns);
    }
    *ret = r;
    return WB_OK;
}

static void write_record(struct wbi_jw *w, struct wbi_str id, struct wbi_str boot,
                         struct wbi_budget_time t, const struct wbi_budget_record *r)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "id", id);
    wbi_jw_kstr(w, "boot", boot);
    wbi_jw_kint(w, "window", r->window);
    wbi_jw_kint(w, "startNs", r->start_ns);
    wbi_jw_kint(w, "start", t.wall_ms - (t.now_ns - r->start_ns) / WBI_NS_PER_MS);
    wbi_jw_kint(w, "calls", r->spent.calls);
    wbi_jw_kint(w, "timeNs", r->spent.time_ns);
    wbi_jw_kint(w, "cost", r->spent.cost);
    wbi_jw_obj_end(w);
}

/* ---- one step in a transaction ---- */

struct step_op {
    struct wbi_op op; /* first: the writer hands it back */
    struct wbi_budget_step step;
    struct wbi_budget_record record;   /* out */
    struct wbi_budget_refusal refusal; /* out */
    bool looks;                        /* changes nothing */
    bool found;
    struct wbi_str id;
    char key[WBI_SHA256_HEX];
};

static wb_rc write_step(struct step_op *s, struct wbi_tx *tx, struct wbi_error *err)
{
    struct wbi_change change = {
        .table = TABLE, .key = wbi_str_z(s->key), .expected = WBI_ANY_GENERATION};
    struct wbi_buf value;
    struct wbi_jw w = wbi_jw_to(&value);
    wb_rc rc;

    wbi_buf_init(&value, WBI_LIMIT_STORE_VALUE);
    write_record(&w, s->id, wbi_owner_boot(wbi_tx_owner(tx)), s->step.time, &s->record);
    change.value = wbi_buf_str(&value);
    rc = wbi_buf_rc(&value);
    if (rc == WB_OK)
        rc = wbi_tx_change(tx, &change, err);
    wbi_buf_fini(&value);
    return rc;
}

static wb_rc apply(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    struct step_op *s = (struct step_op *)op;
    struct wbi_arena *arena;
    struct wbi_str text;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return rc;
    s->record = (struct wbi_budget_record){0};
    rc = wbi_tx_get(tx, arena, TABLE, wbi_str_z(s->key), &text, err);
    s->found = rc == WB_OK;
    if (rc == WB_OK)
        rc = read_record(arena, text, wbi_owner_boot(wbi_tx_owner(tx)), s->step.time, &s->record);
    else if (rc == WB_ENOTFOUND)
        rc = WB_OK;
    wbi_arena_free(arena);
    if (rc != WB_OK || s->looks)
        return rc;
    rc = wbi_budget_apply(&s->step, &s->record, &s->refusal);
    return rc == WB_OK ? write_step(s, tx, err) : rc;
}

/* s: zeroed but for step and looks. The id is not copied. */
static wb_rc prepare(struct budgets *b, const struct wbi_budget_settings *settings,
                     struct step_op *s)
{
    struct wbi_str id = settings->id;
    char text[WBI_LIMIT_ID + 32];
    uint8_t sum[WBI_SHA256_SIZE];
    int n = snprintf(text, sizeof(text), "%lld/%.*s", (long long)settings->window_ns, WBI_FMT(id));
    wb_rc rc;

    wbi_error_clear(&b->rt->why_unchecked);
    rc = wbi_runtime_open_ledger(b->rt, &b->rt->why_unchecked);
    if (rc == WB_OK)
        rc = wbi_store_own(b->rt->store, &b->rt->why_unchecked);
    if (rc == WB_OK && (n < 0 || (size_t)n >= sizeof(text)))
        rc = WB_ELIMIT;
    if (rc == WB_OK)
        rc = wbi_sha256(text, (size_t)n, sum);
    if (rc != WB_OK)
        return rc;
    wbi_hex(sum, sizeof(sum), s->key);
    s->op.apply = apply;
    s->op.size = sizeof(*s) + id.n;
    s->id = id;
    return WB_OK;
}

/* ---- what the guard asks ---- */

static wb_rc load_exactly(struct budgets *b, struct step_op *s, struct wbi_budget_record *ret)
{
    wb_rc rc = wbi_store_run(b->rt->store, &s->op, &b->rt->why_unchecked);

    if (rc == WB_OK && !s->found)
        rc = WB_ENOTFOUND;
    if (rc == WB_OK)
        *ret = s->record;
    return rc;
}

static wb_rc load(void *arg, const struct wbi_budget_settings *settings, struct wbi_budget_time t,
                  bool exact, struct wbi_budget_record *ret)
{
    struct budgets *b = arg;
    struct step_op s = {.step.time = t, .looks = true};
    struct wbi_entry entry;
    struct wbi_arena *arena;
    wb_rc rc = prepare(b, settings, &s);

    if (rc == WB_OK && exact)
        return load_exactly(b, &s, ret);
    if (rc != WB_OK || (rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena)) != WB_OK)
        return rc;
    rc = wbi_store_get(b->rt->store, arena, TABLE, wbi_str_z(s.key), &entry, &b->rt->why_unchecked);
    if (rc == WB_OK)
        rc = read_record(arena, entry.value,
                         wbi_owner_boot(wbi_str_z(wbi_store_owner(b->rt->store))), t, ret);
    wbi_arena_free(arena);
    return rc;
}

static wb_rc reserve(void *arg, const struct wbi_budget_settings *settings,
                     const struct wbi_budget_step *step, struct wbi_budget_record *ret,
                     struct wbi_budget_refusal *refusal)
{
    struct budgets *b = arg;
    struct step_op s = {.step = *step};
    wb_rc rc = prepare(b, settings, &s);

    if (rc == WB_OK)
        rc = wbi_store_run(b->rt->store, &s.op, &b->rt->why_unchecked);
    if (rc == WB_OK)
        *ret = s.record;
    else if (rc == WB_EAGAIN)
        *refusal = s.refusal;
    return rc;
}

static void end_settle(struct wbi_op *op, wb_rc rc, const struct wbi_error *err)
{
    (void)rc; /* a reservation that could not be settled stays charged */
    (void)err;
    wbi_free(op);
}

static wb_rc settle(void *arg, const struct wbi_budget_settings *settings,
                    const struct wbi_budget_step *step)
{
    struct budgets *b = arg;
    struct step_op *s = wbi_zalloc(sizeof(*s) + settings->id.n);
    char *copy;
    wb_rc rc;

    if (s == NULL)
        return WB_ENOMEM;
    copy = (char *)(s + 1);
    s->step = *step;
    rc = prepare(b, settings, s);
    s->id = wbi_text_move(&copy, settings->id);
    s->op.done = end_settle;
    if (rc == WB_OK)
        rc = wbi_store_submit(b->rt->store, &s->op, NULL);
    if (rc != WB_OK)
        wbi_free(s);
    return rc;
}

const struct wbi_budget_store *wbi_budgets_store(struct wbi_runtime *rt)
{
    struct budgets *b = wbi_arena_zalloc(rt->arena, sizeof(*b));

    if (b == NULL)
        return NULL;
    b->rt = rt;
    b->store = (struct wbi_budget_store){load, reserve, settle, b};
    return &b->store;
}
