/* SPDX-License-Identifier: Apache-2.0
 * family/command/batch.c: several commands in one receipt and one budget. */
#include "family/command/command_int.h"

#include <string.h>

#include "base/checked.h"
#include "base/limits.h"
#include "json/write.h"
#include "text/hygiene.h"
#include "text/tokens.h"

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

static wb_rc write_item(const struct wbi_command_output *o, struct wbi_arena *arena,
                        struct wbi_jw *w, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "status", wbi_disposition_name(o->disposition));
    wbi_jw_kstr(w, "command", wbi_command_shown(o->cmd));
    if (o->telling != WBI_TELL_ALL)
        wbi_jw_kstrz(w, "told", o->telling == WBI_TELL_LINE ? "line" : "count");
    if (o->disposition == WBI_DISPOSITION_LOST)
        wbi_jw_kstrz(w, "error", o->status_lost ? WBI_BATCH_UNKNOWN : WBI_BATCH_LOST);
    if (o->disposition == WBI_DISPOSITION_COMPLETED || o->disposition == WBI_DISPOSITION_LOST)
        rc = wbi_command_write_completed(o, arena, w, err);
    else if (o->disposition == WBI_DISPOSITION_STOPPED)
        rc = wbi_command_write_partial(o, arena, w, err);
    else if (o->error != NULL)
        wbi_jw_kstrz(w, "error", o->error);
    wbi_jw_obj_end(w);
    return rc;
}

static wb_rc write_items(const struct wbi_command_batch *b, struct wbi_arena *arena,
                         struct wbi_jw *w, struct wbi_error *err)
{
    wbi_jw_arr(w);
    for (size_t i = 0; i < b->count; i++) {
        wb_rc rc = write_item(&b->items[i], arena, w, err);
        if (rc != WB_OK)
            return rc;
    }
    wbi_jw_arr_end(w);
    return WB_OK;
}

#define TRIES 6
#define LINE_ROOM 40 /* with less left over no line becomes more */

/* What the items cost as they are rendered; UINT64_MAX when out of memory. */
static uint64_t cost_of(struct wbi_str items, struct wbi_arena *arena)
{
    const wbi_json *v;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_json_read(arena, items, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        return UINT64_MAX;
    wbi_batch_render_items(v, &out);
    return wbi_buf_rc(&out) == WB_OK ? wbi_tokens(wbi_buf_str(&out)) : UINT64_MAX;
}

static bool all_told(const struct wbi_command_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->items[i].telling != WBI_TELL_ALL)
            return false;
    return true;
}

/* The items within tokens: shares are estimates, so the outcome is counted and what
 * came out too long is shared again, and so is what leaves room while a command is a line. */
static wb_rc fit_items(struct wbi_command_batch *b, uint64_t tokens, struct wbi_arena *arena,
                       struct wbi_str *ret, struct wbi_error *err)
{
    uint64_t goal = tokens, cost, fits = 0, too_much = 0;

    for (int i = 0; i < TRIES; i++) {
        struct wbi_buf text;
        struct wbi_jw w = wbi_jw_to(&text);
        wb_rc rc = wbi_batch_share(b, goal, arena);
        wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
        if (rc == WB_OK)
            rc = write_items(b, arena, &w, err);
        if (rc == WB_OK)
            rc = wbi_buf_rc(&text);
        cost = rc == WB_OK ? cost_of(wbi_buf_str(&text), arena) : 0;
        if (rc != WB_OK || cost == UINT64_MAX)
            return rc != WB_OK ? rc : wbi_fail_nomem(err);
        cost += cost / 20;
        if (cost <= tokens || fits == 0)
            *ret = wbi_buf_str(&text);
        if (cost <= tokens) {
            if (all_told(b) || tokens - cost < LINE_ROOM)
                break;
            fits = goal;
        } else {
            too_much = goal;
        }
        if (fits == 0)
            goal -= WBI_MIN(goal, cost - tokens + tokens / 16);
        else
            goal = too_much > fits ? (fits + too_much) / 2 : goal + tokens - cost;
    }
    return WB_OK;
}

#define TOP_TOKENS 16 /* the summary, and a raised budget as much again */

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    struct wbi_command_batch batch = *(const struct wbi_command_batch *)full->typed;
    struct tally t = count(&batch);
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct wbi_str items;
    wb_rc rc;

    (void)arg;
    rc = fit_items(&batch, batch.budget.tokens - TOP_TOKENS * (batch.budget.raised ? 2u : 1u),
                   p->arena, &items, err);
    if (rc != WB_OK)
        return rc;
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "item_count", (int64_t)batch.count);
    wbi_jw_kint(&w, "completed_count", t.completed);
    wbi_jw_kint(&w, "failed_count", t.failed);
    wbi_jw_kint(&w, "skipped_count", t.skipped);
    wbi_jw_kraw(&w, "items", items);
    wbi_receipt_write_budget(&w, &batch.budget);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "%lld of %zu commands completed", (long long)t.completed,
                                 batch.count);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

wb_rc wbi_batch_write_partial(const struct wbi_command_batch *batch, struct wbi_arena *arena,
                              struct wbi_jw *w, struct wbi_error *err)
{
    struct wbi_command_batch b = *batch;
    const struct wbi_command_output *last = &b.items[b.count - 1];
    struct wbi_str items;
    wb_rc rc = fit_items(&b, b.budget.tokens - WBI_ERROR_FRAME_TOKENS, arena, &items, err);

    if (rc != WB_OK)
        return rc;
    wbi_jw_obj(w);
    wbi_jw_kint(w, "commands_completed",
                (int64_t)b.count - (last->disposition == WBI_DISPOSITION_STOPPED));
    wbi_jw_kint(w, "commands", (int64_t)b.planned);
    wbi_jw_kraw(w, "items", items);
    wbi_jw_obj_end(w);
    return WB_OK;
}

/* ---- the receipt ---- */

#define OUTCOME_WORDS 32
#define LEFT_WORDS 96

/* "exit 0", "signal 9", "memory limit", "not started", …: in few words how it ended. */
static void outcome_words(const wbi_json *item, char into[OUTCOME_WORDS])
{
    struct wbi_str status = wbi_json_get_str(item, "status");
    struct wbi_str limit = wbi_json_get_str(item, "limit");
    int64_t number = 0;

    if (wbi_json_true(wbi_json_get(item, "timed_out")))
        (void)snprintf(into, OUTCOME_WORDS, "timed out");
    else if (limit.p != NULL)
        (void)snprintf(into, OUTCOME_WORDS, "%.*s limit",
                       (int)WBI_MIN(limit.n, (size_t)OUTCOME_WORDS - 7), limit.p);
    else if (wbi_json_i64(wbi_json_get(item, "exit_status"), &number))
        (void)snprintf(into, OUTCOME_WORDS, "exit %lld", (long long)number);
    else if (wbi_json_i64(wbi_json_get(item, "signal"), &number))
        (void)snprintf(into, OUTCOME_WORDS, "signal %lld", (long long)number);
    else if (wbi_str_eqz(status, "failed"))
        (void)snprintf(into, OUTCOME_WORDS, "%s",
                       wbi_json_get(item, "exit_status") ? "unknown" : "not started");
    else
        (void)snprintf(into, OUTCOME_WORDS, "%.*s",
                       (int)WBI_MIN(status.n, (size_t)OUTCOME_WORDS - 1), status.p);
}

static int64_t lines_of(const wbi_json *item, const char *name)
{
    int64_t n = 0;

    return wbi_json_i64(wbi_json_get(item, name), &n) ? n : 0;
}

/* "; 5000 lines of stdout left out", or nothing. */
static void left_words(const wbi_json *item, char into[LEFT_WORDS])
{
    long long lines[2] = {lines_of(item, "stdout_lines"), lines_of(item, "stderr_lines")};

    into[0] = '\0';
    if (lines[0] > 0 && lines[1] > 0)
        (void)snprintf(into, LEFT_WORDS, "; %lld lines of stdout, %lld of stderr left out",
                       lines[0], lines[1]);
    else if (lines[0] + lines[1] > 0)
        (void)snprintf(into, LEFT_WORDS, "; %lld line%s of %s left out", lines[0] + lines[1],
                       lines[0] + lines[1] == 1 ? "" : "s", lines[0] > 0 ? "stdout" : "stderr");
}

void wbi_command_render_item(const wbi_json *item, struct wbi_buf *out)
{
    struct wbi_str error = wbi_json_get_str(item, "error");
    char how[OUTCOME_WORDS], left[LEFT_WORDS];
    bool ran = wbi_json_get(item, "exit_status") != NULL;

    if (wbi_json_get(item, "told") != NULL) { /* alone, as one of a shell_call */
        outcome_words(item, how);
        left_words(item, left);
        wbi_buf_addf(out, "%s%s\n", how, left);
        return;
    }
    if (error.p != NULL)
        wbi_receipt_line(out,
                         wbi_str_starts(error, WBI_LIT("outcome_unknown")) ? "Not known"
                         : ran                                             ? "Not kept"
                                                                           : "Not started",
                         error);
    if (ran) {
        wbi_command_render_completed(item, out);
    } else if (wbi_str_eqz(wbi_json_get_str(item, "status"), "stopped")) {
        wbi_buf_addz(out, "Stopped with the call\n");
        wbi_command_render_streams(item, out);
    } else if (error.p == NULL) {
        wbi_buf_addz(out, "Skipped after an earlier failure\n");
    }
}

/* A command that has one line: how it ended, what is not shown, what it was. */
static void line_item(const wbi_json *item, size_t number, struct wbi_buf *out)
{
    char how[OUTCOME_WORDS], left[LEFT_WORDS], name[32 + OUTCOME_WORDS + LEFT_WORDS];

    outcome_words(item, how);
    left_words(item, left);
    (void)snprintf(name, sizeof(name), "Command %zu (%s%s)", number, how, left);
    wbi_receipt_line(out, name, wbi_json_get_str(item, "command"));
}

static bool is_told(const wbi_json *item, const char *how)
{
    return wbi_str_eqz(wbi_json_get_str(item, "told"), how);
}

/* "1-7 exit 0, " */
static void add_run(struct wbi_buf *list, size_t first, size_t last, const char *how)
{
    wbi_buf_addf(list, "%s%zu", list->n > 0 ? ", " : "", first);
    if (last > first)
        wbi_buf_addf(list, "-%zu", last);
    wbi_buf_addf(list, " %s", how);
}

/* "9 more commands: 1-7 exit 0, 9 exit 2, 12 skipped" */
static void counted_items(const wbi_json *items, struct wbi_buf *out)
{
    size_t number = 0, first = 0, last = 0, total = 0;
    char how[OUTCOME_WORDS], run[OUTCOME_WORDS] = "";
    struct wbi_buf list;

    wbi_buf_init(&list, WBI_LIMIT_RECEIPT);
    WBI_JSON_EACH (items, item) {
        number++;
        if (!is_told(item, "count"))
            continue;
        outcome_words(item, how);
        if (total++ == 0 || last + 1 != number || strcmp(how, run) != 0) {
            if (total > 1)
                add_run(&list, first, last, run);
            first = number;
            memcpy(run, how, sizeof(run));
        }
        last = number;
    }
    if (total > 0) {
        add_run(&list, first, last, run);
        wbi_buf_addf(out, "%zu more command%s: %.*s\n", total, total == 1 ? "" : "s",
                     WBI_FMT(wbi_buf_str(&list)));
    }
    if (wbi_buf_rc(&list) != WB_OK)
        out->rc = wbi_buf_rc(&list);
    wbi_buf_fini(&list);
}

/* Where the output of those is that have no lines of their own. Files of a batch are named
 * after the number of the command. */
void wbi_batch_render_kept(const wbi_json *items, struct wbi_buf *out)
{
    size_t number = 0;

    WBI_JSON_EACH (items, item) {
        struct wbi_str path =
            wbi_json_get_str(wbi_json_at(wbi_json_get(item, "artifacts"), 0), "path");
        char mark[32];
        size_t at;

        number++;
        if (path.p == NULL || wbi_json_get(item, "told") == NULL)
            continue;
        (void)snprintf(mark, sizeof(mark), "_%zu-std", number);
        at = wbi_str_find(path, wbi_str_z(mark));
        if (at >= path.n) { /* it has a name of its own */
            wbi_buf_addf(out, "Output of command %zu: ", number);
            wbi_hygiene_one_line(path, out);
            wbi_buf_addc(out, '\n');
            continue;
        }
        wbi_buf_addz(out, "Output left out: ReadArtifact {\"path\":");
        wbi_json_quote(out, wbi_str_head(path, at));
        if (wbi_buf_rc(out) == WB_OK) /* the name goes on */
            out->p[--out->n] = '\0';
        wbi_buf_addz(out, "_N-stdout.log\"}, N the number of the command; or -stderr.log\n");
        return;
    }
}

static void render_item(const wbi_json *item, size_t number, struct wbi_buf *out)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "Command %zu", number);
    wbi_receipt_line(out, name, wbi_json_get_str(item, "command"));
    wbi_command_render_item(item, out);
}

void wbi_batch_render_items(const wbi_json *items, struct wbi_buf *out)
{
    size_t number = 0;

    WBI_JSON_EACH (items, item) {
        number++;
        if (is_told(item, "line"))
            line_item(item, number, out);
        else if (!is_told(item, "count"))
            render_item(item, number, out);
    }
    counted_items(items, out);
    wbi_batch_render_kept(items, out);
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    wbi_receipt_budget(out, c->result);
    wbi_batch_render_items(wbi_json_get(c->result, "items"), out);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_batch_family = {
    "batch", NULL, project, render, {"/items", "/item_count"}};
