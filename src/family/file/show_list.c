/* SPDX-License-Identifier: Apache-2.0
 * family/file/show_list.c: ListFiles and SearchFiles. As many entries, or lines
 * of matches, as the budget holds; the token goes on behind the last one. */
#include "base/arena.h"
#include "family/file/show_int.h"

/* ---- ListFiles ---- */

static const char *type_name(char type)
{
    return type == 'f' ? "file" : type == 'd' ? "directory" : type == 'l' ? "link" : "other";
}

/* Also what the receipt shows: counted here, written there. */
static void add_entry_line(struct wbi_buf *out, struct wbi_str path, struct wbi_str type,
                           int64_t size)
{
    wbi_buf_adds(out, path);
    if (wbi_str_eqz(type, "directory"))
        wbi_buf_addc(out, '/');
    else if (wbi_str_eqz(type, "link"))
        wbi_buf_addc(out, '@');
    else if (wbi_str_eqz(type, "file"))
        wbi_buf_addf(out, "  %lld", (long long)size);
    else
        wbi_buf_addz(out, "  (no regular file)");
    wbi_buf_addc(out, '\n');
}

/* What there is for lines when the page ends behind this path (absent: with the listing). */
static wb_rc room_before(const struct wbi_list_output *o, struct wbi_arena *arena,
                         struct wbi_str end, uint64_t *ret)
{
    struct wbi_str token = end.p ? wbi_token_encode(arena, end) : end;

    *ret = wbi_file_room(o->budget.tokens, o->r.path, token);
    return end.p == NULL || token.p != NULL ? WB_OK : WB_ENOMEM;
}

/* How many entries fit, at least one: all, or those behind which a token fits as well.
 * units: what each line costs. */
static wb_rc entries_fitting(const struct wbi_list_output *o, struct wbi_arena *arena,
                             const uint64_t *units, size_t *ret)
{
    size_t n = o->r.n_entries, i;
    uint64_t used = 0, room;
    wb_rc rc = room_before(o, arena, o->r.next_token, &room);

    for (i = 0; i < n; i++)
        used += units[i];
    *ret = n;
    if (rc != WB_OK || used <= room)
        return rc;
    used = 0;
    for (i = 0; i < n && rc == WB_OK; i++) {
        used += units[i];
        rc = room_before(o, arena, o->r.entries[i].path, &room);
        if (used > room && i > 0)
            break;
    }
    *ret = i;
    return rc;
}

static void put_entry(struct wbi_jw *w, const struct wbi_list_entry *e, struct wbi_str name)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "path", name);
    wbi_jw_kstrz(w, "type", type_name(e->type));
    if (e->type == 'f')
        wbi_jw_kint(w, "size_bytes", (int64_t)e->size);
    wbi_jw_obj_end(w);
}

static wb_rc put_entries(struct wbi_jw *w, const struct wbi_list_output *o, struct wbi_arena *arena,
                         size_t *ret_shown)
{
    struct wbi_str *names = wbi_arena_array(arena, o->r.n_entries, sizeof(*names));
    uint64_t *units = wbi_arena_array(arena, o->r.n_entries, sizeof(*units));
    struct wbi_buf line;

    if (o->r.n_entries > 0 && (names == NULL || units == NULL))
        return WB_ENOMEM;
    wbi_buf_init_arena(&line, arena, WBI_LIMIT_JSON_TEXT);
    for (size_t i = 0; i < o->r.n_entries; i++) {
        const struct wbi_list_entry *e = &o->r.entries[i];

        names[i] = wbi_file_name(arena, wbi_file_beneath(arena, o->r.path, e->path));
        if (names[i].p == NULL)
            return WB_ENOMEM;
        wbi_buf_clear(&line);
        add_entry_line(&line, names[i], wbi_str_z(type_name(e->type)), (int64_t)e->size);
        units[i] = wbi_tokens_units(wbi_buf_str(&line));
    }
    if (wbi_buf_rc(&line) != WB_OK || entries_fitting(o, arena, units, ret_shown) != WB_OK)
        return WB_ENOMEM;
    for (size_t i = 0; i < *ret_shown; i++)
        put_entry(w, &o->r.entries[i], names[i]);
    return WB_OK;
}

static wb_rc list_project(void *arg, const struct wbi_complete *full,
                          const struct wbi_projection *p, struct wbi_buf *ret_result,
                          struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_list_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct wbi_str name = wbi_file_name(p->arena, o->r.path.n ? o->r.path : WBI_LIT("."));
    struct wbi_str token = o->r.next_token;
    size_t shown = 0;

    (void)arg;
    if (name.p == NULL)
        return wbi_fail_nomem(err);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "path", name);
    wbi_jw_key(&w, "entries");
    wbi_jw_arr(&w);
    if (put_entries(&w, o, p->arena, &shown) != WB_OK)
        return wbi_fail_nomem(err);
    wbi_jw_arr_end(&w);
    wbi_jw_kint(&w, "entry_count", (int64_t)shown);
    if (o->r.unreadable > 0)
        wbi_jw_kint(&w, "unreadable_directories", o->r.unreadable);
    if (o->r.too_deep > 0)
        wbi_jw_kint(&w, "too_deep_directories", o->r.too_deep);
    if (shown < o->r.n_entries)
        token = o->r.entries[shown - 1].path;
    if (wbi_file_put_token(&w, p->arena, token) != WB_OK)
        return wbi_fail_nomem(err);
    wbi_receipt_write_budget(&w, &o->budget);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "listed %zu entr%s of %.*s", shown,
                                 shown == 1 ? "y" : "ies", WBI_FMT(name));
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static void passed_over(struct wbi_buf *out, const wbi_json *r, const char *member, const char *one,
                        const char *many)
{
    int64_t n = wbi_result_int(r, member);

    if (n == 0)
        return;
    wbi_buf_addz(out, "Passed over: ");
    wbi_file_count(out, n, one, many);
    wbi_buf_addc(out, '\n');
}

static wb_rc list_render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                         struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *r = c->result;
    struct wbi_buf lines;

    (void)arg;
    (void)err;
    wbi_buf_addf(out, "Listed %.*s: ", WBI_FMT(wbi_json_get_str(r, "path")));
    wbi_file_count(out, wbi_result_int(r, "entry_count"), "entry", "entries");
    wbi_buf_addc(out, '\n');
    passed_over(out, r, "unreadable_directories", "directory that may not be read",
                "directories that may not be read");
    passed_over(out, r, "too_deep_directories", "directory below the greatest depth",
                "directories below the greatest depth");
    wbi_receipt_budget(out, r);
    wbi_file_more(out, r, "the listing goes on");
    wbi_buf_init_arena(&lines, arena, WBI_LIMIT_RECEIPT);
    WBI_JSON_EACH (wbi_json_get(r, "entries"), e) {
        add_entry_line(&lines, wbi_json_get_str(e, "path"), wbi_json_get_str(e, "type"),
                       wbi_result_int(e, "size_bytes"));
    }
    if (wbi_buf_rc(&lines) != WB_OK)
        return wbi_buf_rc(&lines);
    wbi_receipt_section(out, "entries", wbi_buf_str(&lines));
    wbi_file_more_at_cut(out, r, "the listing goes on");
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_list_family = {
    "file", NULL, list_project, list_render, {"/path", "/entries"}};

/* ---- SearchFiles ---- */

static const char *const mode_names[] = {"lines", "files", "count"};

static void add_file_line(struct wbi_buf *out, struct wbi_str path, int64_t matches)
{
    wbi_buf_adds(out, path);
    if (matches > 0)
        wbi_buf_addf(out, " (%lld)", (long long)matches);
    wbi_buf_addc(out, '\n');
}

/* before: number of the line shown before it, 0: none. "--" stands between groups
 * of lines that do not follow each other. */
static void add_match_line(struct wbi_buf *out, int64_t before, int64_t number, bool is_match,
                           struct wbi_str text, bool cut)
{
    if (before > 0 && number > before + 1 && !is_match)
        wbi_buf_addz(out, "--\n");
    wbi_buf_addf(out, "%lld%c", (long long)number, is_match ? ':' : '-');
    wbi_buf_adds(out, text);
    wbi_buf_addz(out, cut ? "[line cut]\n" : "\n");
}

struct page {
    struct wbi_arena *arena;
    struct wbi_jw *w;
    struct wbi_buf line; /* one line of the receipt, to be counted */
    uint32_t budget;
    uint64_t room, used;
    size_t files;
    uint64_t matches;
    struct wbi_str token; /* absent: all is shown */
    bool full;
};

static uint64_t cost(struct page *g)
{
    uint64_t units = wbi_tokens_units(wbi_buf_str(&g->line));

    wbi_buf_clear(&g->line);
    return units;
}

struct shown_line {
    struct wbi_str text;
    bool cut;
};

/* What of a line costs at most units: of a match the part around it. */
static struct wbi_str shorten(struct page *g, const struct wbi_search_line *l, uint64_t units)
{
    size_t lead = units / WBI_TOKEN_UNIT / 4; /* a token has a byte at least */
    size_t skip = l->is_match && l->from > lead ? l->from - lead : 0;
    struct wbi_str text;

    while (skip < l->text.n && ((unsigned char)l->text.p[skip] & 0xC0) == 0x80)
        skip++;
    text = wbi_file_clean(g->arena, wbi_str_from(l->text, skip));
    text.n = wbi_tokens_prefix(text, units);
    return text;
}

#define LEAST_UNITS (16u * WBI_TOKEN_UNIT) /* of the text of a line */

/* One line that must be shown, since nothing else is on the page. */
static void cut_to_room(struct page *g, const struct wbi_search_line *l, struct shown_line *ret)
{
    uint64_t left = g->room > g->used ? g->room - g->used : 0, around;

    add_match_line(&g->line, 0, (int64_t)l->number, l->is_match, WBI_LIT(""), true);
    around = cost(g);
    ret->cut = true;
    ret->text = shorten(g, l, left > around + LEAST_UNITS ? left - around : LEAST_UNITS);
}

/* Lines up to the last one that fits. */
static wb_rc fill_lines(struct page *g, const struct wbi_search_file *f, struct shown_line *shown,
                        size_t *ret_n)
{
    size_t i;

    for (i = 0; i < f->n_lines && !g->full; i++) {
        const struct wbi_search_line *l = &f->lines[i];
        uint64_t units;

        shown[i] = (struct shown_line){wbi_file_clean(g->arena, l->text), l->cut};
        if (shown[i].text.p == NULL)
            return WB_ENOMEM;
        add_match_line(&g->line, i > 0 ? (int64_t)f->lines[i - 1].number : 0, (int64_t)l->number,
                       l->is_match, shown[i].text, l->cut);
        units = cost(g);
        if (g->used + units > g->room && (g->files > 0 || i > 0)) {
            g->full = true;
            break;
        }
        if (g->used + units > g->room)
            cut_to_room(g, l, &shown[i]);
        g->used += units;
        g->matches += l->is_match;
        if (shown[i].text.p == NULL)
            return WB_ENOMEM;
    }
    *ret_n = i;
    return WB_OK;
}

static void put_lines(struct page *g, const struct wbi_search_file *f,
                      const struct shown_line *shown, size_t n)
{
    wbi_jw_key(g->w, "lines");
    wbi_jw_arr(g->w);
    for (size_t i = 0; i < n; i++) {
        wbi_jw_obj(g->w);
        wbi_jw_kint(g->w, "line", (int64_t)f->lines[i].number);
        wbi_jw_kstr(g->w, "text", shown[i].text);
        if (f->lines[i].is_match)
            wbi_jw_kbool(g->w, "match", true);
        if (shown[i].cut)
            wbi_jw_kbool(g->w, "cut", true);
        wbi_jw_obj_end(g->w);
    }
    wbi_jw_arr_end(g->w);
}

/* Where the next page begins when only n lines of file `at` are shown. */
static wb_rc cut_page(struct page *g, const struct wbi_search_output *o, size_t at, size_t n)
{
    const struct wbi_search_file *f = &o->r.files[at];

    g->token = n > 0 ? wbi_search_token(g->arena, f->path, f->lines[n - 1].number)
                     : wbi_search_token(g->arena, o->r.files[at - 1].path, UINT64_MAX);
    return g->token.p ? WB_OK : WB_ENOMEM;
}

/* What there is for lines when the page may have to end in this file. */
static wb_rc set_room(struct page *g, const struct wbi_search_output *o,
                      const struct wbi_search_file *f)
{
    struct wbi_str here = wbi_search_token(g->arena, f->path, UINT64_MAX);
    struct wbi_str token = here.p ? wbi_token_encode(g->arena, here) : here;
    uint64_t behind = wbi_file_room(g->budget, WBI_NONE, o->r.next_token);

    g->room = wbi_file_room(g->budget, WBI_NONE, token);
    g->room = behind < g->room ? behind : g->room;
    return token.p ? WB_OK : WB_ENOMEM;
}

static wb_rc put_file(struct page *g, const struct wbi_search_output *o, size_t at)
{
    const struct wbi_search_file *f = &o->r.files[at];
    struct wbi_str name = wbi_file_name(g->arena, wbi_file_beneath(g->arena, o->r.base, f->path));
    struct shown_line *shown = wbi_arena_array(g->arena, f->n_lines, sizeof(*shown));
    int64_t matches = o->mode == WBI_SEARCH_FILES ? 0 : (int64_t)f->matches;
    size_t n = 0;

    if (name.p == NULL || shown == NULL || set_room(g, o, f) != WB_OK)
        return WB_ENOMEM;
    add_file_line(&g->line, name, matches);
    g->used += cost(g);
    g->full = g->used > g->room && g->files > 0;
    if (!g->full && fill_lines(g, f, shown, &n) != WB_OK)
        return WB_ENOMEM;
    if (g->full && cut_page(g, o, at, n) != WB_OK)
        return WB_ENOMEM;
    if (g->full && n == 0) /* the next page begins with it */
        return WB_OK;
    if (o->mode != WBI_SEARCH_LINES)
        g->matches += f->matches;
    g->files++;
    wbi_jw_obj(g->w);
    wbi_jw_kstr(g->w, "path", name);
    if (o->mode != WBI_SEARCH_FILES)
        wbi_jw_kint(g->w, "matches", matches);
    if (o->mode == WBI_SEARCH_LINES)
        put_lines(g, f, shown, n);
    wbi_jw_obj_end(g->w);
    return wbi_buf_rc(&g->line);
}

/* Those with matches: of one whose matches an earlier page had, context is left. */
static size_t files_found(const struct wbi_search_result *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_files; i++)
        n += r->files[i].matches > 0;
    return n;
}

static void put_search_facts(struct wbi_jw *w, const struct wbi_search_output *o,
                             const struct page *g)
{
    const struct wbi_search_result *r = &o->r;

    wbi_jw_kint(w, "file_count", (int64_t)g->files);
    if (o->mode != WBI_SEARCH_FILES) {
        wbi_jw_kint(w, "match_count", (int64_t)g->matches);
        wbi_jw_kint(w, "matches_found", (int64_t)r->matches);
    }
    if (g->full && o->mode == WBI_SEARCH_LINES && g->matches == r->matches &&
        r->next_token.p == NULL)
        wbi_jw_kbool(w, "only_context_left", true);
    if (r->next_token.p != NULL) /* what lies behind it was not counted */
        wbi_jw_kbool(w, "stopped_early", true);
    wbi_jw_kint(w, "files_found", (int64_t)files_found(r));
    wbi_jw_kint(w, "files_searched", (int64_t)r->files_searched);
    if (r->binary_skipped > 0)
        wbi_jw_kint(w, "binary_files", r->binary_skipped);
    if (r->large_skipped > 0)
        wbi_jw_kint(w, "large_files", r->large_skipped);
    if (r->unreadable > 0)
        wbi_jw_kint(w, "unreadable_files", r->unreadable);
    if (r->too_deep > 0)
        wbi_jw_kint(w, "too_deep_directories", r->too_deep);
    if (r->gave_up)
        wbi_jw_kbool(w, "gave_up", true);
}

static wb_rc search_project(void *arg, const struct wbi_complete *full,
                            const struct wbi_projection *p, struct wbi_buf *ret_result,
                            struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_search_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct page g = {.arena = p->arena, .w = &w, .budget = o->budget.tokens};
    size_t found = files_found(&o->r);
    wb_rc rc = WB_OK;

    (void)arg;
    wbi_buf_init_arena(&g.line, p->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "pattern", wbi_file_name(p->arena, o->pattern));
    wbi_jw_kstrz(&w, "mode", mode_names[o->mode]);
    wbi_jw_key(&w, "files");
    wbi_jw_arr(&w);
    for (size_t i = 0; rc == WB_OK && !g.full && i < o->r.n_files; i++)
        rc = put_file(&g, o, i);
    wbi_jw_arr_end(&w);
    put_search_facts(&w, o, &g);
    if (rc == WB_OK)
        rc = wbi_file_put_token(&w, p->arena, g.full ? g.token : o->r.next_token);
    wbi_receipt_write_budget(&w, &o->budget);
    wbi_jw_obj_end(&w);
    if (rc == WB_OK)
        *ret_summary =
            wbi_arena_fmt(p->arena, "found %llu match%s in %zu file%s%s",
                          (unsigned long long)o->r.matches, o->r.matches == 1 ? "" : "es", found,
                          found == 1 ? "" : "s", o->r.next_token.p != NULL ? " so far" : "");
    if (rc != WB_OK || ret_summary->p == NULL)
        return wbi_fail_nomem(err);
    return wbi_buf_rc(ret_result);
}

/* Lines that are cut are counted in *cut. */
static void add_matches(struct wbi_buf *out, const wbi_json *file, int64_t *cut)
{
    int64_t before = 0;

    WBI_JSON_EACH (wbi_json_get(file, "lines"), l) {
        int64_t number = wbi_result_int(l, "line");
        bool is_cut = wbi_json_true(wbi_json_get(l, "cut"));

        add_match_line(out, before, number, wbi_json_true(wbi_json_get(l, "match")),
                       wbi_json_get_str(l, "text"), is_cut);
        *cut += is_cut;
        before = number;
    }
}

static void search_head(const wbi_json *r, bool names_only, struct wbi_buf *out)
{
    int64_t shown = wbi_result_int(r, names_only ? "file_count" : "match_count");
    int64_t found = wbi_result_int(r, names_only ? "files_found" : "matches_found");

    if (found == 0)
        wbi_buf_addz(out, wbi_result_int(r, "file_count") > 0
                              ? "No further matches, context of the last one"
                              : "No matches");
    else if (names_only)
        wbi_file_count(out, found, "file matches", "files match");
    else {
        wbi_file_count(out, found, "match", "matches");
        wbi_buf_addz(out, " in ");
        wbi_file_count(out, wbi_result_int(r, "files_found"), "file", "files");
    }
    if (found > 0 && wbi_json_true(wbi_json_get(r, "stopped_early")))
        wbi_buf_addz(out, " so far");
    wbi_buf_addz(out, " (searched ");
    wbi_file_count(out, wbi_result_int(r, "files_searched"), "file", "files");
    wbi_buf_addz(out, ")\n");
    if (shown < found)
        wbi_buf_addf(out, "Shown: %lld of them\n", (long long)shown);
}

static void search_notes(const wbi_json *r, int64_t cut, struct wbi_buf *out)
{
    passed_over(out, r, "binary_files", "binary file", "binary files");
    passed_over(out, r, "large_files", "file over the size limit", "files over the size limit");
    passed_over(out, r, "unreadable_files", "file that may not be read",
                "files that may not be read");
    passed_over(out, r, "too_deep_directories", "directory below the greatest depth",
                "directories below the greatest depth");
    if (wbi_json_true(wbi_json_get(r, "gave_up")))
        wbi_buf_addz(out, "Incomplete: the expression needed too much work on some files; "
                          "make it simpler\n");
    if (cut > 0)
        wbi_buf_addf(out,
                     "Cut: %lld long line%s; ReadFile with first_line and max_line_bytes %u "
                     "reads such a line whole\n",
                     (long long)cut, cut == 1 ? "" : "s", WBI_LIMIT_READ_LINE);
}

static wb_rc search_render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                           struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *r = c->result;
    bool names_only = wbi_str_eqz(wbi_json_get_str(r, "mode"), "files");
    const char *more = wbi_json_true(wbi_json_get(r, "only_context_left"))
                           ? "the context of the last match goes on"
                           : "there are further matches";
    struct wbi_buf lines;
    int64_t cut = 0;

    (void)arg;
    (void)err;
    wbi_buf_init_arena(&lines, arena, WBI_LIMIT_RECEIPT);
    WBI_JSON_EACH (wbi_json_get(r, "files"), f) {
        add_file_line(&lines, wbi_json_get_str(f, "path"), wbi_result_int(f, "matches"));
        add_matches(&lines, f, &cut);
    }
    if (wbi_buf_rc(&lines) != WB_OK)
        return wbi_buf_rc(&lines);
    search_head(r, names_only, out);
    search_notes(r, cut, out);
    wbi_receipt_budget(out, r);
    wbi_file_more(out, r, more);
    wbi_receipt_section(out, names_only ? "files" : "matches", wbi_buf_str(&lines));
    wbi_file_more_at_cut(out, r, more);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_search_family = {
    "file", NULL, search_project, search_render, {"/files", "/files_searched"}};
