/* SPDX-License-Identifier: Apache-2.0
 * family/command/batch.c: several commands in one receipt and one budget. */
#include "family/command/command_int.h"

#include "base/limits.h"
#include "text/tokens.h"

/* Of a command that ran: the batch goes on, so its item tells what an ExecCommand would end in. */
#define LOST                                                                                   \
    "output_persistence_failed: its output could not all be written to the disk of the state " \
    "directory; what was saved is kept"

struct tally {
    int64_t completed, failed, skipped;
};

static struct tally count(const struct wbi_command_batch *b)
{
    struct tally t = {0, 0, 0};

    for (size_t i = 0; i < b->count; i++) {
        const struct wbi_command_output *o = &b->items[i];
        if (o->disposition == WBI_DISPOSITION_SKIPPED)
            t.skipped++;
        else if (o->disposition == WBI_DISPOSITION_COMPLETED && !o->timed_out)
            t.completed++;
        else
            t.failed++;
    }
    return t;
}

/* What an item needs at most, so that small ones leave room for large ones. */
static uint64_t need_of(const struct wbi_command_output *o)
{
    uint64_t need = 60 + wbi_tokens(wbi_command_shown(o->cmd));

    if (o->disposition == WBI_DISPOSITION_LOST)
        need += wbi_tokens(WBI_LIT(LOST));
    for (int i = 0; i < 2; i++)
        if (o->stream[i].shown != NULL)
            need += wbi_shown_tokens(o->stream[i].shown) + 150;
    return need;
}

/* Water filling: everybody gets what it needs up to an equal share of the rest. */
static void share(struct wbi_command_batch *b, uint32_t budget)
{
    size_t left = b->count;

    for (size_t done = 0; done < b->count; done++) {
        uint64_t fair = left ? budget / left : 0;
        struct wbi_command_output *smallest = NULL;
        for (size_t i = 0; i < b->count; i++)
            if (b->items[i].budget_tokens == 0 &&
                (smallest == NULL || need_of(&b->items[i]) < need_of(smallest)))
                smallest = &b->items[i];
        if (smallest == NULL)
            return;
        smallest->budget_tokens = (uint32_t)(need_of(smallest) < fair ? need_of(smallest)
                                             : fair > 60              ? fair
                                                                      : 60);
        budget -= smallest->budget_tokens < budget ? smallest->budget_tokens : budget;
        left--;
    }
}

static wb_rc write_item(const struct wbi_command_output *o, const struct wbi_projection *p,
                        struct wbi_jw *w, struct wbi_error *err)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "status", wbi_disposition_name(o->disposition));
    wbi_jw_kstr(w, "command", wbi_command_shown(o->cmd));
    if (o->disposition == WBI_DISPOSITION_LOST)
        wbi_jw_kstrz(w, "error", LOST);
    if (o->disposition == WBI_DISPOSITION_COMPLETED || o->disposition == WBI_DISPOSITION_LOST) {
        wb_rc rc = wbi_command_write_completed(o, p->arena, w, err);
        if (rc != WB_OK)
            return rc;
    } else if (o->error != NULL) {
        wbi_jw_kstrz(w, "error", o->error);
    }
    wbi_jw_obj_end(w);
    return WB_OK;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    struct wbi_command_batch batch = *(const struct wbi_command_batch *)full->typed;
    struct tally t = count(&batch);
    struct wbi_jw w = wbi_jw_to(ret_result);

    (void)arg;
    share(&batch, batch.budget.tokens);
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "item_count", (int64_t)batch.count);
    wbi_jw_kint(&w, "completed_count", t.completed);
    wbi_jw_kint(&w, "failed_count", t.failed);
    wbi_jw_kint(&w, "skipped_count", t.skipped);
    wbi_jw_key(&w, "items");
    wbi_jw_arr(&w);
    for (size_t i = 0; i < batch.count; i++) {
        wb_rc rc = write_item(&batch.items[i], p, &w, err);
        if (rc != WB_OK)
            return rc;
    }
    wbi_jw_arr_end(&w);
    wbi_receipt_write_budget(&w, &batch.budget);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "%lld of %zu commands completed", (long long)t.completed,
                                 batch.count);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

void wbi_command_render_item(const wbi_json *item, struct wbi_buf *out)
{
    struct wbi_str error = wbi_json_get_str(item, "error");
    bool ran = wbi_json_get(item, "exit_status") != NULL;

    if (error.p != NULL)
        wbi_receipt_line(out, ran ? "Not kept" : "Not started", error);
    if (ran)
        wbi_command_render_completed(item, out);
    else if (error.p == NULL)
        wbi_buf_addz(out, "Skipped after an earlier failure\n");
}

static void render_item(const wbi_json *item, size_t number, struct wbi_buf *out)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "Command %zu", number);
    wbi_receipt_line(out, name, wbi_json_get_str(item, "command"));
    wbi_command_render_item(item, out);
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    size_t number = 1;

    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    wbi_receipt_budget(out, c->result);
    WBI_JSON_EACH (wbi_json_get(c->result, "items"), item) {
        render_item(item, number++, out);
    }
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_batch_family = {
    "batch", NULL, project, render, {"/items", "/item_count"}};
