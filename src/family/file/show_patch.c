/* SPDX-License-Identifier: Apache-2.0
 * family/file/show_patch.c: ApplyPatch. Counts always, changed paths as far as they
 * fit; the previews of the files share what is left of the budget, and a patch of
 * which something does not fit is kept as an artifact. */
#include "base/arena.h"
#include "base/utf8.h"
#include "family/file/show_int.h"

#define SHOWN_DIAGNOSTICS 8u
#define DIAGNOSTIC_TEXT 700u
#define PATCH_HEADER_TOKENS 120u

static const char *const action_names[] = {"add", "modify", "delete", "move"};
static const char action_letters[] = "AMDR";

static struct wbi_str change_line(struct wbi_arena *arena, char letter, struct wbi_str path,
                                  struct wbi_str from)
{
    if (from.p != NULL)
        return wbi_arena_fmt(arena, "%c %.*s -> %.*s\n", letter, WBI_FMT(from), WBI_FMT(path));
    return wbi_arena_fmt(arena, "%c %.*s\n", letter, WBI_FMT(path));
}

/* ---- projecting ---- */

struct project {
    const struct wbi_patch_output *o;
    const struct wbi_projection *p;
    struct wbi_jw *w;
    uint64_t left; /* units for previews */
    size_t shown;  /* changes whose paths fit */
    bool cut;      /* some path or preview was left out or is not whole */
};

static void put_hunks(struct wbi_jw *w, const struct wbi_patch_change *c)
{
    wbi_jw_key(w, "hunks");
    wbi_jw_arr(w);
    for (size_t i = 0; i < c->n_hunks; i++) {
        wbi_jw_obj(w);
        wbi_jw_kint(w, "old_start", c->hunks[i].old_start);
        wbi_jw_kint(w, "old_count", c->hunks[i].old_count);
        wbi_jw_kint(w, "new_start", c->hunks[i].new_start);
        wbi_jw_kint(w, "new_count", c->hunks[i].new_count);
        wbi_jw_kint(w, "added_count", c->hunks[i].added);
        wbi_jw_kint(w, "removed_count", c->hunks[i].removed);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

/* Whole lines of text that cost at most *units, which is lowered. */
static struct wbi_str take_lines(struct wbi_str text, uint64_t *units)
{
    size_t at = 0;

    while (at < text.n) {
        size_t end = at + wbi_str_index(wbi_str_from(text, at), '\n');
        uint64_t cost;

        end += end < text.n;
        cost = wbi_tokens_units(wbi_str_make(text.p + at, end - at));
        if (cost > *units)
            break;
        *units -= cost;
        at = end;
    }
    return wbi_str_head(text, at);
}

static wb_rc put_change(struct project *j, const struct wbi_patch_change *c)
{
    struct wbi_arena *arena = j->p->arena;
    struct wbi_str path = wbi_file_name(arena, c->path);
    struct wbi_str from = c->from_path.p ? wbi_file_name(arena, c->from_path) : WBI_NONE;
    struct wbi_str preview = wbi_file_clean(arena, c->preview), shown;
    bool cut;

    if (path.p == NULL || (c->from_path.p != NULL && from.p == NULL) ||
        (c->preview.p != NULL && preview.p == NULL))
        return WB_ENOMEM;
    shown = take_lines(preview, &j->left);
    cut = c->preview_truncated || shown.n < preview.n;
    j->cut = j->cut || cut;
    wbi_jw_obj(j->w);
    wbi_jw_kstrz(j->w, "action", action_names[c->action]);
    wbi_jw_kstr(j->w, "path", path);
    if (from.p != NULL)
        wbi_jw_kstr(j->w, "from_path", from);
    if (c->again)
        wbi_jw_kbool(j->w, "again", true);
    if (c->exec >= 0)
        wbi_jw_kbool(j->w, "executable", c->exec == 1);
    put_hunks(j->w, c);
    wbi_jw_kint(j->w, "added_count", c->added);
    wbi_jw_kint(j->w, "removed_count", c->removed);
    wbi_jw_kstr(j->w, "diff_preview", shown.n ? shown : WBI_NONE);
    wbi_jw_kbool(j->w, "diff_truncated", cut);
    wbi_jw_obj_end(j->w);
    return WB_OK;
}

static uint64_t diagnostics_units(const struct wbi_patch_result *r)
{
    uint64_t units = 0;

    for (size_t i = 0; i < r->n_diagnostics && i < SHOWN_DIAGNOSTICS; i++)
        units += wbi_tokens_units(wbi_str_head(r->diagnostics[i].message, DIAGNOSTIC_TEXT)) +
                 wbi_tokens_units(r->diagnostics[i].path) + 12 * WBI_TOKEN_UNIT;
    return units;
}

/* Share the budget out: the header, then paths (twice: in the list and above their
 * previews), then previews. */
static void share_budget(struct project *j)
{
    const struct wbi_patch_result *r = &j->o->r;
    uint64_t all = (uint64_t)j->p->budget_tokens * WBI_TOKEN_UNIT;
    uint64_t used = PATCH_HEADER_TOKENS * WBI_TOKEN_UNIT + diagnostics_units(r);

    for (j->shown = 0; j->shown < r->n_changes; j->shown++) {
        const struct wbi_patch_change *c = &r->changes[j->shown];
        uint64_t cost =
            2 * wbi_tokens_units(c->path) + wbi_tokens_units(c->from_path) + 8 * WBI_TOKEN_UNIT;

        if (used + cost > all && j->shown > 0)
            break;
        used += cost;
    }
    j->cut = j->shown < r->n_changes;
    j->left = all > used ? all - used : 0;
}

static void put_diagnostics(struct project *j)
{
    const struct wbi_patch_result *r = &j->o->r;

    wbi_jw_key(j->w, "diagnostics");
    wbi_jw_arr(j->w);
    for (size_t i = 0; i < r->n_diagnostics; i++) {
        struct wbi_str text = r->diagnostics[i].message;

        text.n = wbi_utf8_cut(text, text.n < DIAGNOSTIC_TEXT ? text.n : DIAGNOSTIC_TEXT);
        wbi_jw_obj(j->w);
        wbi_jw_kstrz(j->w, "kind", r->diagnostics[i].kind);
        wbi_jw_kstr(j->w, "path", wbi_file_name(j->p->arena, r->diagnostics[i].path));
        wbi_jw_kstr(j->w, "message", wbi_file_clean(j->p->arena, text));
        wbi_jw_obj_end(j->w);
    }
    wbi_jw_arr_end(j->w);
    if (r->diagnostics_total > r->n_diagnostics)
        wbi_jw_kint(j->w, "diagnostics_total", (int64_t)r->diagnostics_total);
}

/* The patch itself, where its previews do not show all of it. The files are changed and the
 * caller has its text: that it could not be kept makes no failure of it. */
static wb_rc keep_patch(struct project *j, struct wbi_error *err)
{
    struct wbi_str path = WBI_NONE;
    wb_rc rc = WB_OK;

    if (!j->cut)
        return WB_OK;
    if (j->p->sink != NULL)
        rc = j->p->sink->put(j->p->sink->arg, "patch", j->o->text, &path, err);
    if (rc != WB_OK || path.p == NULL)
        return rc == WB_ENOMEM ? rc : WB_OK;
    wbi_jw_key(j->w, "artifacts");
    wbi_jw_arr(j->w);
    wbi_jw_obj(j->w);
    wbi_jw_kstr(j->w, "path", path);
    wbi_jw_obj_end(j->w);
    wbi_jw_arr_end(j->w);
    wbi_jw_kint(j->w, "patch_artifact", 0);
    return WB_OK;
}

static struct wbi_str patch_summary(const struct wbi_patch_output *o, struct wbi_arena *arena)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addz(&out, o->check ? "would patch" : "patched");
    for (size_t i = 0; i < o->r.n_changes && out.n < 400; i++) {
        const struct wbi_patch_change *c = &o->r.changes[i];

        if (c->again)
            continue;
        wbi_buf_addf(&out, "%s%c:", i ? ", " : " ", action_letters[c->action]);
        if (c->from_path.p != NULL)
            wbi_buf_addf(&out, "%.*s->", WBI_FMT(wbi_file_name(arena, c->from_path)));
        wbi_buf_adds(&out, wbi_file_name(arena, c->path));
    }
    if (o->r.n_changes == 0)
        wbi_buf_addz(&out, " nothing");
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static wb_rc put_changes(struct project *j)
{
    wb_rc rc = WB_OK;

    wbi_jw_key(j->w, "changed_files");
    wbi_jw_arr(j->w);
    for (size_t i = 0; rc == WB_OK && i < j->shown; i++)
        rc = put_change(j, &j->o->r.changes[i]);
    wbi_jw_arr_end(j->w);
    wbi_jw_key(j->w, "changed_paths");
    wbi_jw_arr(j->w);
    for (size_t i = 0; i < j->shown; i++) {
        const struct wbi_patch_change *c = &j->o->r.changes[i];

        if (c->from_path.p != NULL)
            wbi_jw_str(j->w, wbi_file_name(j->p->arena, c->from_path));
        if (!c->again)
            wbi_jw_str(j->w, wbi_file_name(j->p->arena, c->path));
    }
    wbi_jw_arr_end(j->w);
    return rc;
}

static int64_t file_count(const struct wbi_patch_result *r)
{
    int64_t n = 0;

    for (size_t i = 0; i < r->n_changes; i++)
        n += !r->changes[i].again;
    return n;
}

static wb_rc patch_project(void *arg, const struct wbi_complete *full,
                           const struct wbi_projection *p, struct wbi_buf *ret_result,
                           struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_patch_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct project j = {.o = o, .p = p, .w = &w};
    wb_rc rc;

    (void)arg;
    share_budget(&j);
    wbi_jw_obj(&w);
    wbi_jw_kbool(&w, "applied", !o->check);
    wbi_jw_kstrz(&w, "form", o->r.form == WBI_PATCH_CODEX ? "codex" : "unified");
    if (put_changes(&j) != WB_OK)
        return wbi_fail_nomem(err);
    wbi_jw_kint(&w, "changed_file_count", file_count(&o->r));
    wbi_jw_kint(&w, "added_count", o->r.added);
    wbi_jw_kint(&w, "removed_count", o->r.removed);
    put_diagnostics(&j);
    rc = keep_patch(&j, err);
    wbi_jw_obj_end(&w);
    if (rc != WB_OK)
        return rc;
    *ret_summary = patch_summary(o, p->arena);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

/* ---- the receipt ---- */

static char letter_of(struct wbi_str action)
{
    for (size_t i = 0; i < 4; i++)
        if (wbi_str_eqz(action, action_names[i]))
            return action_letters[i];
    return '?';
}

static void first_line(const wbi_json *r, bool diagnosed, struct wbi_buf *out)
{
    bool applied = wbi_json_true(wbi_json_get(r, "applied"));

    wbi_buf_addz(out, diagnosed ? "Success with diagnostics. " : "Success. ");
    wbi_buf_addz(out, applied ? "Updated the following files:\n"
                              : "Nothing was written; the patch would update:\n");
}

static void render_diagnostics(const wbi_json *r, struct wbi_buf *out)
{
    const wbi_json *list = wbi_json_get(r, "diagnostics");
    int64_t total = wbi_result_int(r, "diagnostics_total");
    size_t n = 0, all = wbi_json_count(list);

    if (all == 0)
        return;
    if (total > (int64_t)all)
        all = (size_t)total;
    wbi_buf_addz(out, "Diagnostics:\n");
    WBI_JSON_EACH (list, d) {
        struct wbi_str path = wbi_json_get_str(d, "path"); /* none: of the whole patch */

        if (n++ < SHOWN_DIAGNOSTICS)
            wbi_buf_addf(out, "- %.*s%s%.*s: %.*s\n", WBI_FMT(wbi_json_get_str(d, "kind")),
                         path.n > 0 ? " on " : "", WBI_FMT(path),
                         WBI_FMT(wbi_json_get_str(d, "message")));
    }
    if (all > SHOWN_DIAGNOSTICS)
        wbi_buf_addf(out, "- omitted %zu additional diagnostics\n", all - SHOWN_DIAGNOSTICS);
    wbi_buf_addz(out, "Read the changed regions before the next patch of them\n");
}

static wb_rc render_previews(const wbi_json *r, struct wbi_arena *arena, struct wbi_buf *out)
{
    struct wbi_str path = wbi_json_get_str(wbi_json_at(wbi_json_get(r, "artifacts"), 0), "path");
    struct wbi_buf text;
    size_t cut = 0;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_RECEIPT);
    WBI_JSON_EACH (wbi_json_get(r, "changed_files"), f) {
        struct wbi_str preview = wbi_json_get_str(f, "diff_preview");

        if (preview.n > 0 && wbi_json_count(wbi_json_get(r, "changed_files")) > 1)
            wbi_buf_addf(&text, "%c %.*s\n", letter_of(wbi_json_get_str(f, "action")),
                         WBI_FMT(wbi_json_get_str(f, "path")));
        wbi_buf_adds(&text, preview);
        if (preview.n > 0 && preview.p[preview.n - 1] != '\n')
            wbi_buf_addc(&text, '\n');
        cut += wbi_json_true(wbi_json_get(f, "diff_truncated"));
    }
    if (cut > 0)
        wbi_buf_addf(out, "Diff is truncated below for %zu file%s\n", cut, cut == 1 ? "" : "s");
    if (path.p != NULL)
        wbi_receipt_line(out, "Patch artifact", path);
    if (wbi_buf_rc(&text) == WB_OK)
        wbi_receipt_section(out, "diff", wbi_buf_str(&text));
    return wbi_buf_rc(&text);
}

static wb_rc patch_render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                          struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *r = c->result, *files = wbi_json_get(r, "changed_files");
    int64_t left_out;

    (void)arg;
    (void)err;
    first_line(r, wbi_json_count(wbi_json_get(r, "diagnostics")) > 0, out);
    if (wbi_json_count(files) == 0)
        wbi_buf_addz(out, "(no file changes recorded)\n");
    left_out = wbi_result_int(r, "changed_file_count");
    WBI_JSON_EACH (files, f) {
        struct wbi_str line;

        if (wbi_json_true(wbi_json_get(f, "again")))
            continue;
        left_out--;
        line = change_line(arena, letter_of(wbi_json_get_str(f, "action")),
                           wbi_json_get_str(f, "path"), wbi_json_get_str(f, "from_path"));
        if (line.p == NULL)
            return WB_ENOMEM;
        wbi_buf_adds(out, line);
    }
    if (left_out > 0)
        wbi_buf_addf(out, "and %lld more file%s%s\n", (long long)left_out, left_out == 1 ? "" : "s",
                     wbi_json_get(r, "patch_artifact") ? "; the patch artifact names them" : "");
    wbi_buf_addf(out, "Lines: %lld added, %lld removed\n",
                 (long long)wbi_result_int(r, "added_count"),
                 (long long)wbi_result_int(r, "removed_count"));
    render_diagnostics(r, out);
    return render_previews(r, arena, out);
}

const struct wbi_family wbi_patch_family = {
    "file", NULL, patch_project, patch_render, {"/applied", "/changed_files", "/added_count"}};
