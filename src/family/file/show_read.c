/* SPDX-License-Identifier: Apache-2.0
 * family/file/show_read.c: ReadFile and WriteFile. As many whole lines as the
 * budget holds, or a part of one that is too long; the token reads on behind it. */
#include "base/arena.h"
#include "base/utf8.h"
#include "family/file/show_int.h"

/* ---- ReadFile ---- */

static void add_number(struct wbi_buf *out, uint64_t number)
{
    wbi_buf_addf(out, "%6llu\t", (unsigned long long)number);
}

/* The first `bytes` of the text of line i, with what says that there is more. */
static wb_rc add_line(struct wbi_buf *text, const struct wbi_read_output *o, size_t i, size_t bytes,
                      struct wbi_arena *arena)
{
    const struct wbi_read_line *l = &o->r.lines[i];
    unsigned long long all = (i == 0 ? o->r.within : 0) + l->length;
    struct wbi_str shown = wbi_file_clean(arena, wbi_str_head(l->text, bytes));

    if (shown.p == NULL)
        return WB_ENOMEM;
    if (o->numbered)
        add_number(text, o->r.first_line + i);
    wbi_buf_adds(text, shown);
    if ((bytes < l->text.n && !l->hidden) || l->goes_on)
        wbi_buf_addf(text, "[line cut: %llu bytes in all; the next page goes on in it]", all);
    else if (l->length > l->text.n || bytes < l->text.n)
        wbi_buf_addf(text, "[line cut: %llu bytes in all]", all);
    wbi_buf_addc(text, '\n');
    return wbi_buf_rc(text);
}

/* What a token of the next page looks like. */
#define SOME_TOKEN WBI_LIT("1.1.1.17000000000000000000.1")

/* All lines, where they have so few bytes that no tokens need be counted. */
static wb_rc fill_small(const struct wbi_read_output *o, struct wbi_arena *arena,
                        struct wbi_buf *text, bool *ret_fits)
{
    uint64_t most = wbi_file_room_bytes(o->budget.tokens, o->r.path, SOME_TOKEN);
    wb_rc rc = WB_OK;

    *ret_fits = true;
    for (size_t i = 0; i < o->r.n_lines && rc == WB_OK && *ret_fits; i++) {
        *ret_fits = o->r.lines[i].text.n <= most - text->n;
        if (*ret_fits)
            rc = add_line(text, o, i, SIZE_MAX, arena);
        *ret_fits &= text->n <= most;
    }
    return rc;
}

/* What of a page is shown. */
struct shown {
    size_t lines;
    size_t bytes; /* of the text of its only line, where that is too long; else 0 */
};

#define MARK_UNITS (30u * WBI_TOKEN_UNIT) /* number and mark of a line that is cut */
#define LEAST_UNITS (16u * WBI_TOKEN_UNIT)

/* How many bytes of a line cost no more than room when they are shown. */
static size_t fitting(struct wbi_str line, uint64_t room, struct wbi_arena *arena)
{
    uint64_t units = room > MARK_UNITS + LEAST_UNITS ? room - MARK_UNITS : LEAST_UNITS;
    size_t n = line.n;

    for (;;) {
        struct wbi_str text = wbi_file_clean(arena, wbi_str_head(line, n));
        size_t fits = wbi_tokens_prefix(text, units), cut;

        if (fits >= text.n)
            return n;
        cut = wbi_utf8_cut(line, text.p == line.p ? fits : (size_t)((uint64_t)n * fits / text.n));
        if (cut == 0 || cut == n)
            return n < 4 ? n : 4; /* one character goes on always */
        n = cut;
    }
}

static wb_rc fill_counted(const struct wbi_read_output *o, struct wbi_arena *arena,
                          struct wbi_buf *text, struct shown *ret)
{
    uint64_t room = wbi_file_room(o->budget.tokens, o->r.path, SOME_TOKEN);
    uint64_t used = 0;

    for (size_t i = 0; i < o->r.n_lines; i++) {
        size_t before = text->n;
        wb_rc rc = add_line(text, o, i, SIZE_MAX, arena);

        if (rc != WB_OK)
            return rc;
        used += wbi_tokens_units(wbi_str_make(text->p + before, text->n - before));
        if (used <= room)
            continue;
        text->n = before;
        ret->lines = i > 0 ? i : 1;
        if (i > 0)
            return WB_OK;
        ret->bytes = fitting(o->r.lines[0].text, room, arena);
        rc = add_line(text, o, 0, ret->bytes, arena);
        if (o->r.lines[0].hidden)
            ret->bytes = 0; /* no place in it is one in the file: the next line goes on */
        return rc;
    }
    return WB_OK;
}

static wb_rc fill_page(const struct wbi_read_output *o, struct wbi_arena *arena,
                       struct wbi_buf *text, struct shown *ret)
{
    bool fits;
    wb_rc rc = fill_small(o, arena, text, &fits);

    *ret = (struct shown){.lines = o->r.n_lines};
    if (rc != WB_OK || fits)
        return rc;
    wbi_buf_clear(text);
    return fill_counted(o, arena, text, ret);
}

/* The last line shown goes on in the next page. */
static bool ends_in_line(const struct wbi_read_output *o, const struct shown *shown)
{
    return shown->bytes > 0 || (shown->lines > 0 && o->r.lines[shown->lines - 1].goes_on);
}

static int64_t count_cut(const struct wbi_read_output *o, const struct shown *shown)
{
    int64_t cut = 0;

    for (size_t i = 0; i < shown->lines && shown->bytes == 0; i++)
        cut += o->r.lines[i].length > o->r.lines[i].text.n && !o->r.lines[i].goes_on;
    return cut;
}

static struct wbi_str next_token(const struct wbi_read_output *o, const struct shown *shown,
                                 struct wbi_arena *arena)
{
    if (shown->bytes > 0)
        return wbi_read_token_in(&o->r, 0, shown->bytes, arena);
    return wbi_read_token(&o->r, shown->lines, arena);
}

static void put_facts(struct wbi_jw *w, const struct wbi_read_output *o, const struct shown *shown)
{
    const struct wbi_read_result *r = &o->r;
    int64_t cut = count_cut(o, shown);

    wbi_jw_kint(w, "first_line", (int64_t)r->first_line);
    if (r->within > 0)
        wbi_jw_kint(w, "first_line_offset", (int64_t)r->within);
    wbi_jw_kint(w, "line_count", (int64_t)shown->lines);
    if (ends_in_line(o, shown))
        wbi_jw_kbool(w, "last_line_goes_on", true);
    if (r->counted)
        wbi_jw_kint(w, "total_lines", (int64_t)r->total_lines);
    wbi_jw_kint(w, "size_bytes", (int64_t)r->size);
    wbi_jw_kstrz(w, "encoding", r->encoding);
    if (r->crlf)
        wbi_jw_kbool(w, "crlf", true);
    if (r->counted)
        wbi_jw_kbool(w, "final_newline", r->final_newline);
    if (cut > 0)
        wbi_jw_kint(w, "cut_lines", cut);
    if (r->has_sha256)
        wbi_jw_kstrz(w, "sha256", r->sha256);
    if (o->numbered)
        wbi_jw_kbool(w, "numbered", true);
}

static wb_rc read_project(void *arg, const struct wbi_complete *full,
                          const struct wbi_projection *p, struct wbi_buf *ret_result,
                          struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_read_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct wbi_str name = wbi_file_name(p->arena, o->r.path);
    struct wbi_str token = o->r.next_token;
    struct wbi_buf text, summary;
    struct shown shown;

    (void)arg;
    wbi_buf_init_arena(&text, p->arena, WBI_LIMIT_JSON_TEXT);
    if (name.p == NULL || fill_page(o, p->arena, &text, &shown) != WB_OK)
        return wbi_fail_nomem(err);
    if (shown.lines < o->r.n_lines || shown.bytes > 0) {
        token = next_token(o, &shown, p->arena);
        if (token.p == NULL)
            return wbi_fail_nomem(err);
    }
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "path", name);
    put_facts(&w, o, &shown);
    wbi_jw_kstr(&w, "text", wbi_buf_str(&text));
    if (wbi_file_put_token(&w, p->arena, token) != WB_OK)
        return wbi_fail_nomem(err);
    wbi_receipt_write_budget(&w, &o->budget);
    wbi_jw_obj_end(&w);
    wbi_buf_init_arena(&summary, p->arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addz(&summary, "read ");
    wbi_file_count(&summary, (int64_t)shown.lines, "line of ", "lines of ");
    wbi_buf_adds(&summary, name);
    *ret_summary = wbi_buf_str(&summary);
    return wbi_buf_rc(&summary) == WB_OK ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static void read_notes(const wbi_json *r, struct wbi_buf *out)
{
    struct wbi_str encoding = wbi_json_get_str(r, "encoding");
    int64_t within = wbi_result_int(r, "first_line_offset");
    int64_t cut = wbi_result_int(r, "cut_lines");

    if (within > 0)
        wbi_buf_addf(out, "Begins: behind the first %lld bytes of line %lld\n", (long long)within,
                     (long long)wbi_result_int(r, "first_line"));
    if (!wbi_str_eqz(encoding, "utf-8"))
        wbi_receipt_line(out, "Encoding", encoding);
    if (wbi_json_true(wbi_json_get(r, "crlf")))
        wbi_buf_addz(out, "Line ends: CRLF\n");
    if (wbi_json_is(wbi_json_get(r, "final_newline"), WBI_JSON_BOOL) &&
        !wbi_json_true(wbi_json_get(r, "final_newline")))
        wbi_buf_addz(out, "No newline at the end of the file\n");
    if (cut > 0)
        wbi_buf_addf(out, "Cut: %lld long line%s; max_line_bytes %u reads %s whole\n",
                     (long long)cut, cut == 1 ? "" : "s", WBI_LIMIT_READ_LINE,
                     cut == 1 ? "it" : "them");
    if (wbi_json_get_str(r, "sha256").p != NULL)
        wbi_receipt_line(out, "sha256", wbi_json_get_str(r, "sha256"));
}

static wb_rc read_render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                         struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *r = c->result;
    int64_t first = wbi_result_int(r, "first_line"), n = wbi_result_int(r, "line_count");
    const char *more = wbi_json_true(wbi_json_get(r, "last_line_goes_on")) ? "the last line goes on"
                                                                           : "the file goes on";
    int64_t total = -1;

    (void)arg;
    (void)arena;
    (void)err;
    (void)wbi_json_i64(wbi_json_get(r, "total_lines"), &total); /* absent: not counted */
    wbi_buf_addz(out, "Read ");
    wbi_buf_adds(out, wbi_json_get_str(r, "path"));
    wbi_buf_addz(out, n == 0 ? ": no lines" : ": lines ");
    if (n > 0) {
        wbi_buf_addi(out, first);
        wbi_buf_addc(out, '-');
        wbi_buf_addi(out, first + n - 1);
    }
    if (total >= 0) {
        wbi_buf_addz(out, " of ");
        wbi_buf_addi(out, total);
    }
    wbi_buf_addz(out, " (file of ");
    wbi_file_count(out, wbi_result_int(r, "size_bytes"), "byte", "bytes");
    wbi_buf_addz(out, ")\n");
    read_notes(r, out);
    wbi_receipt_budget(out, r);
    wbi_file_more(out, r, more);
    wbi_receipt_section(out, "text", wbi_json_get_str(r, "text"));
    wbi_file_more_at_cut(out, r, more);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_read_family = {
    "file", NULL, read_project, read_render, {"/path", "/size_bytes", "/text"}};

/* ---- WriteFile ---- */

static const char *action_name(const struct wbi_write_output *o)
{
    if (o->r.created)
        return "created";
    return o->mode == WBI_FILE_APPEND ? "appended" : "replaced";
}

static wb_rc write_project(void *arg, const struct wbi_complete *full,
                           const struct wbi_projection *p, struct wbi_buf *ret_result,
                           struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_write_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct wbi_str name = wbi_file_name(p->arena, o->r.path);

    (void)arg;
    if (name.p == NULL)
        return wbi_fail_nomem(err);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "path", name);
    wbi_jw_kstrz(&w, "action", action_name(o));
    wbi_jw_kint(&w, "size_bytes", (int64_t)o->r.size);
    wbi_jw_kint(&w, "total_lines", (int64_t)o->r.lines);
    wbi_jw_kstrz(&w, "sha256", o->r.sha256);
    if (o->r.unsynced)
        wbi_jw_kbool(&w, "synced", false);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "%s %.*s%s", action_name(o), WBI_FMT(name),
                                 o->r.unsynced ? " (not confirmed on the disk)" : "");
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static wb_rc write_render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                          struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *r = c->result;
    struct wbi_str action = wbi_json_get_str(r, "action");

    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_addz(out, wbi_str_eqz(action, "created")    ? "Created "
                      : wbi_str_eqz(action, "appended") ? "Appended to "
                                                        : "Replaced ");
    wbi_buf_adds(out, wbi_json_get_str(r, "path"));
    wbi_buf_addz(out, " (now ");
    wbi_file_count(out, wbi_result_int(r, "total_lines"), "line", "lines");
    wbi_buf_addz(out, ", ");
    wbi_file_count(out, wbi_result_int(r, "size_bytes"), "byte", "bytes");
    wbi_buf_addz(out, ")\n");
    wbi_receipt_line(out, "sha256", wbi_json_get_str(r, "sha256"));
    if (wbi_json_get(r, "synced") != NULL)
        wbi_buf_addz(out, "Not confirmed on the disk: the file is written, but its directory could "
                          "not be synced; should the machine crash, it may be as before\n");
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_write_family = {
    "file", NULL, write_project, write_render, {"/path", "/action", "/sha256"}};
