/* SPDX-License-Identifier: Apache-2.0
 * family/workspace/workspace.c */
#include "family/workspace/workspace.h"

#include "base/arena.h"
#include "base/limits.h"
#include "family/canonical.h"
#include "family/file/show.h"
#include "family/receipt.h"

#define SHOWN 20u

static wb_rc put_listing(struct wbi_jw *w, const struct wbi_list_result *l, struct wbi_arena *arena)
{
    size_t shown = l->n_entries < SHOWN ? l->n_entries : SHOWN;

    wbi_jw_key(w, "projection");
    wbi_jw_obj(w);
    wbi_jw_kint(w, "total", (int64_t)l->n_entries);
    wbi_jw_kint(w, "shown", (int64_t)shown);
    wbi_jw_kint(w, "omitted", (int64_t)(l->n_entries - shown));
    wbi_jw_key(w, "items");
    wbi_jw_arr(w);
    for (size_t i = 0; i < shown; i++) {
        struct wbi_str name = wbi_file_name(arena, l->entries[i].path);

        if (name.p == NULL)
            return WB_ENOMEM;
        if (l->entries[i].type == 'd')
            name = wbi_arena_fmt(arena, "%.*s/", WBI_FMT(name));
        wbi_jw_str(w, name);
    }
    wbi_jw_arr_end(w);
    wbi_jw_obj_end(w);
    return WB_OK;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_workspace_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct wbi_str active = wbi_file_name(p->arena, o->active);

    (void)arg;
    if (active.p == NULL)
        return wbi_fail_nomem(err);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "disposition", o->disposition);
    wbi_jw_kstr(&w, "active", active);
    wbi_jw_kstr(&w, "execution_root", o->execution_root);
    wbi_jw_kstr(&w, "workspace_root", o->workspace_root);
    if (o->has_listing && put_listing(&w, &o->listing, p->arena) != WB_OK)
        return wbi_fail_nomem(err);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "active workspace: %.*s", WBI_FMT(active));
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static const struct {
    const char *disposition;
    const char *line;
} first_lines[] = {
    {"entered", "Entered workspace "},
    {"already_active", "Already in workspace "},
    {"exited", "Back in workspace "},
    {"not_entered", "No workspace was entered; still in "},
};

static void first_line(struct wbi_str disposition, struct wbi_str active, struct wbi_buf *out)
{
    const char *line = "Active workspace: ";

    for (size_t i = 0; i < sizeof(first_lines) / sizeof(first_lines[0]); i++)
        if (wbi_str_eqz(disposition, first_lines[i].disposition))
            line = first_lines[i].line;
    wbi_buf_addz(out, line);
    wbi_buf_adds(out, active);
    wbi_buf_addc(out, '\n');
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *listing = wbi_json_get(c->result, "projection");
    int64_t total = 0, omitted = 0;
    struct wbi_buf lines;

    (void)arg;
    (void)err;
    first_line(wbi_json_get_str(c->result, "disposition"), wbi_json_get_str(c->result, "active"),
               out);
    wbi_receipt_line(out, "Execution root", wbi_json_get_str(c->result, "execution_root"));
    if (listing == NULL)
        return wbi_buf_rc(out);
    (void)wbi_json_i64(wbi_json_get(listing, "total"), &total); /* absent: 0 */
    (void)wbi_json_i64(wbi_json_get(listing, "omitted"), &omitted);
    wbi_buf_addf(out, "Entries: %lld in all, %lld omitted%s\n", (long long)total,
                 (long long)omitted, omitted > 0 ? "; ListFiles shows all" : "");
    wbi_buf_init_arena(&lines, arena, WBI_LIMIT_RECEIPT);
    WBI_JSON_EACH (wbi_json_get(listing, "items"), item) {
        wbi_buf_adds(&lines, wbi_json_str(item));
        wbi_buf_addc(&lines, '\n');
    }
    if (wbi_buf_rc(&lines) == WB_OK)
        wbi_receipt_section(out, "entries", wbi_buf_str(&lines));
    return wbi_buf_rc(&lines);
}

const struct wbi_family wbi_workspace_family = {
    "workspace", NULL, project, render, {"/disposition", "/active", "/execution_root"}};
