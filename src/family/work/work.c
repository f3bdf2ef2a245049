/* SPDX-License-Identifier: Apache-2.0
 * family/work/work.c */
#include "family/work/work.h"

#include "base/arena.h"
#include "base/limits.h"
#include "family/canonical.h"
#include "family/compact.h"
#include "family/receipt.h"
#include "text/hygiene.h"
#include "text/tokens.h"

#define QUEUE_SHOWN 20u
#define LIST_HEADER_TOKENS 100u

static const char *const status_names[WBI_WORK_STATES] = {"open", "in_progress", "blocked",
                                                          "completed", "cancelled"};

const char *wbi_work_status_name(enum wbi_work_status status)
{
    return status_names[status];
}

enum wbi_work_status wbi_work_status_by_name(struct wbi_str name)
{
    for (unsigned i = 0; i < WBI_WORK_STATES; i++)
        if (wbi_str_eqz(name, status_names[i]))
            return (enum wbi_work_status)i;
    return WBI_WORK_OPEN;
}

static void put_text(struct wbi_jw *w, const char *name, struct wbi_str text)
{
    if (text.p != NULL)
        wbi_jw_kstr(w, name, text);
}

void wbi_work_item_write(struct wbi_jw *w, const struct wbi_work_item *item)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "id", item->id);
    wbi_jw_kstr(w, "title", item->title);
    wbi_jw_kstrz(w, "status", wbi_work_status_name(item->status));
    put_text(w, "priority", item->priority);
    put_text(w, "notes", item->notes);
    put_text(w, "report", item->report);
    wbi_jw_kstr(w, "created_at", item->created_at);
    wbi_jw_kstr(w, "updated_at", item->updated_at);
    wbi_jw_obj_end(w);
}

struct wbi_work_item wbi_work_item_read(const wbi_json *v)
{
    return (struct wbi_work_item){.id = wbi_json_get_str(v, "id"),
                                  .title = wbi_json_get_str(v, "title"),
                                  .status = wbi_work_status_by_name(wbi_json_get_str(v, "status")),
                                  .priority = wbi_json_get_str(v, "priority"),
                                  .notes = wbi_json_get_str(v, "notes"),
                                  .report = wbi_json_get_str(v, "report"),
                                  .created_at = wbi_json_get_str(v, "created_at"),
                                  .updated_at = wbi_json_get_str(v, "updated_at")};
}

/* ---- projecting ---- */

static void put_counts(struct wbi_jw *w, const struct wbi_work_output *o)
{
    wbi_jw_key(w, "counts");
    wbi_jw_obj(w);
    for (unsigned i = 0; i < WBI_WORK_STATES; i++)
        wbi_jw_kint(w, status_names[i], (int64_t)o->in_state[i]);
    wbi_jw_obj_end(w);
}

static void put_sizes(struct wbi_jw *w, size_t total, size_t shown)
{
    wbi_jw_kint(w, "total", (int64_t)total);
    wbi_jw_kint(w, "shown", (int64_t)shown);
    wbi_jw_kint(w, "omitted", (int64_t)(total - shown));
}

/* The unfinished items by id, title and status. */
static void put_queue(struct wbi_jw *w, const struct wbi_work_output *o)
{
    size_t shown = o->count < QUEUE_SHOWN ? o->count : QUEUE_SHOWN;

    wbi_jw_key(w, "queue");
    wbi_jw_obj(w);
    put_sizes(w, o->count, shown);
    put_counts(w, o);
    wbi_jw_key(w, "items");
    wbi_jw_arr(w);
    for (size_t i = 0; i < shown; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "id", o->items[i].id);
        wbi_jw_kstr(w, "title", o->items[i].title);
        wbi_jw_kstrz(w, "status", wbi_work_status_name(o->items[i].status));
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    wbi_jw_obj_end(w);
}

/* Also what the receipt shows: counted here, written there. A title stays on its line. */
static void add_item_line(struct wbi_buf *out, const struct wbi_work_item *item,
                          struct wbi_str status)
{
    bool special = item->priority.p != NULL && !wbi_str_eqz(item->priority, "normal");

    wbi_buf_addf(out, "%.*s %.*s%s%.*s: ", WBI_FMT(item->id), WBI_FMT(status), special ? ", " : "",
                 special ? (int)item->priority.n : 0, special ? item->priority.p : "");
    wbi_hygiene_one_line(item->title, out);
    wbi_buf_addc(out, '\n');
}

/* How many of the items fit the budget of a list, at least one. */
static wb_rc fitting(const struct wbi_work_output *o, struct wbi_arena *arena, size_t *ret)
{
    uint64_t room =
        (o->budget.tokens > 2 * LIST_HEADER_TOKENS ? o->budget.tokens - LIST_HEADER_TOKENS
                                                   : LIST_HEADER_TOKENS) *
        (uint64_t)WBI_TOKEN_UNIT;
    uint64_t used = 0;
    struct wbi_buf line;
    size_t i;

    wbi_buf_init_arena(&line, arena, WBI_LIMIT_RECEIPT);
    for (i = 0; i < o->count; i++) {
        wbi_buf_clear(&line);
        add_item_line(&line, &o->items[i], wbi_str_z(wbi_work_status_name(o->items[i].status)));
        used += wbi_tokens_units(wbi_buf_str(&line));
        if (used > room && i > 0)
            break;
    }
    *ret = i;
    return wbi_buf_rc(&line);
}

static void put_list(struct wbi_jw *w, const struct wbi_work_output *o, size_t shown)
{
    put_sizes(w, o->total, shown);
    put_counts(w, o);
    wbi_jw_key(w, "work_items");
    wbi_jw_arr(w);
    for (size_t i = 0; i < shown; i++)
        wbi_work_item_write(w, &o->items[i]);
    wbi_jw_arr_end(w);
    if (shown < o->count)
        wbi_jw_kstr(w, "nextToken", o->items[shown - 1].id);
    else if (o->next_token.p != NULL)
        wbi_jw_kstr(w, "nextToken", o->next_token);
    wbi_receipt_write_budget(w, &o->budget);
}

static const char *const action_words[] = {"created", "updated", "completed", "listed"};

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_work_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    size_t shown = 0;

    (void)arg;
    wbi_jw_obj(&w);
    if (o->action == WBI_WORK_LISTED) {
        if (fitting(o, p->arena, &shown) != WB_OK)
            return wbi_fail_nomem(err);
        put_list(&w, o, shown);
        *ret_summary =
            wbi_arena_fmt(p->arena, "%zu work item%s", o->total, o->total == 1 ? "" : "s");
    } else {
        wbi_jw_kstrz(&w, "action", action_words[o->action]);
        wbi_jw_key(&w, "work_item");
        wbi_work_item_write(&w, &o->item);
        put_queue(&w, o);
        *ret_summary = wbi_arena_fmt(p->arena, "%s work item %.*s", action_words[o->action],
                                     WBI_FMT(o->item.id));
    }
    wbi_jw_obj_end(&w);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

/* ---- receipts ---- */

static void counts_line(const wbi_json *counts, struct wbi_buf *out)
{
    bool any = false;

    wbi_buf_addz(out, "Queue: ");
    for (unsigned i = 0; i < WBI_WORK_STATES; i++) {
        int64_t n = 0;

        if (!wbi_json_i64(wbi_json_get(counts, status_names[i]), &n) || n == 0)
            continue;
        wbi_buf_addf(out, "%s%lld %s", any ? ", " : "", (long long)n, status_names[i]);
        any = true;
    }
    wbi_buf_addz(out, any ? "\n" : "empty\n");
}

static void render_mutation(const wbi_json *r, struct wbi_buf *out)
{
    const wbi_json *item = wbi_json_get(r, "work_item");
    struct wbi_str action = wbi_json_get_str(r, "action");

    wbi_buf_addz(out, wbi_str_eqz(action, "created")   ? "Created work item "
                      : wbi_str_eqz(action, "updated") ? "Updated work item "
                                                       : "Completed work item ");
    wbi_buf_adds(out, wbi_json_get_str(item, "id"));
    wbi_buf_addc(out, '\n');
    wbi_receipt_line(out, "Title", wbi_json_get_str(item, "title"));
    wbi_receipt_line(out, "Status", wbi_json_get_str(item, "status"));
    counts_line(wbi_json_get(wbi_json_get(r, "queue"), "counts"), out);
}

static wb_rc render_list(const wbi_json *r, struct wbi_arena *arena, struct wbi_buf *out)
{
    int64_t total = 0, shown = 0, omitted = 0;
    struct wbi_str token = wbi_json_get_str(r, "nextToken");
    struct wbi_buf lines;

    (void)wbi_json_i64(wbi_json_get(r, "total"), &total); /* absent: 0 */
    (void)wbi_json_i64(wbi_json_get(r, "shown"), &shown);
    (void)wbi_json_i64(wbi_json_get(r, "omitted"), &omitted);
    wbi_buf_addf(out, "Work items: %lld in all, %lld shown, %lld omitted\n", (long long)total,
                 (long long)shown, (long long)omitted);
    counts_line(wbi_json_get(r, "counts"), out);
    wbi_receipt_budget(out, r);
    if (token.p != NULL)
        wbi_buf_addf(out, "More: repeat the call with pageToken \"%.*s\"\n", WBI_FMT(token));
    wbi_buf_init_arena(&lines, arena, WBI_LIMIT_RECEIPT);
    WBI_JSON_EACH (wbi_json_get(r, "work_items"), v) {
        struct wbi_work_item item = wbi_work_item_read(v);

        add_item_line(&lines, &item, wbi_json_get_str(v, "status"));
    }
    if (wbi_buf_rc(&lines) == WB_OK)
        wbi_receipt_section(out, "items", wbi_buf_str(&lines));
    return wbi_buf_rc(&lines);
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    (void)arg;
    (void)err;
    if (wbi_json_get(c->result, "total") != NULL)
        return render_list(c->result, arena, out);
    if (wbi_json_get(c->result, "action") == NULL) /* two shapes: needs cannot say it */
        return wbi_compact_show(arena, c, WBI_RUNG_SUMMARY, out);
    render_mutation(c->result, out);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_work_family = {"work", NULL, project, render, {NULL}};
