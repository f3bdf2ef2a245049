/* SPDX-License-Identifier: Apache-2.0
 * family/artifact/page.c: one page of an artifact or of a task's output. The next
 * call stands in the header, complete, so that following it needs no thought. */
#include "family/artifact/artifact.h"

#include "text/tokens.h"

static const char *const kind_names[] = {"lines", "bytes", "tail", "grep", "json"};

static void write_place(struct wbi_jw *w, const struct wbi_page_view *p)
{
    if (p->kind == WBI_PAGE_BYTES) {
        wbi_jw_kint(w, "first_byte", (int64_t)p->first);
        wbi_jw_kint(w, "end_byte", (int64_t)p->last);
        if (p->writing && p->next_token.n == 0 && p->resume < p->last)
            wbi_jw_kint(w, "resume_byte", (int64_t)p->resume);
        return;
    }
    if (p->kind == WBI_PAGE_GREP)
        wbi_jw_kint(w, "matches", (int64_t)p->matches);
    if (p->cut_lines > 0)
        wbi_jw_kint(w, "cut_lines", (int64_t)p->cut_lines);
    if (p->first > 0) {
        wbi_jw_kint(w, "first_line", (int64_t)p->first);
        wbi_jw_kint(w, "last_line", (int64_t)p->last);
    }
    if (p->total > 0)
        wbi_jw_kint(w, "total_lines", (int64_t)p->total);
}

void wbi_page_write(struct wbi_jw *w, const struct wbi_page_view *p)
{
    wbi_jw_kstr(w, "path", p->path);
    wbi_jw_kstrz(w, "view", kind_names[p->kind]);
    wbi_jw_kraw(w, "query", p->query);
    write_place(w, p);
    if (p->cut_line)
        wbi_jw_kbool(w, "cut_line", true);
    if (p->writing)
        wbi_jw_kbool(w, "writing", true);
    if (p->reason != NULL)
        wbi_jw_kstrz(w, "incomplete", p->reason);
    wbi_jw_kstr(w, "content", p->content);
    if (p->next_token.n > 0) {
        wbi_jw_kraw(w, "subject", p->subject);
        wbi_jw_kstr(w, "nextToken", p->next_token);
    }
    wbi_receipt_write_budget(w, &p->budget);
}

static struct wbi_str range_text(const struct wbi_page_view *p, struct wbi_arena *arena)
{
    unsigned long long first = p->first, last = p->last, total = p->total;

    if (p->kind == WBI_PAGE_BYTES && total > 0)
        return wbi_arena_fmt(arena, "no such bytes; there are %llu", total);
    if (p->kind == WBI_PAGE_BYTES && last == 0)
        return WBI_LIT("no such bytes");
    if (p->kind == WBI_PAGE_BYTES)
        return wbi_arena_fmt(arena, "bytes %llu-%llu", first, last);
    if (p->first == 0 && p->kind == WBI_PAGE_GREP)
        return WBI_LIT("no line matches");
    if (p->first == 0)
        return total > 0 ? wbi_arena_fmt(arena, "no such lines; there are %llu", total)
                         : WBI_LIT("no such lines");
    if (p->kind == WBI_PAGE_GREP)
        return wbi_arena_fmt(arena, "%llu match%s in lines %llu-%llu",
                             (unsigned long long)p->matches, p->matches == 1 ? "" : "es", first,
                             last);
    if (total > 0)
        return wbi_arena_fmt(arena, "lines %llu-%llu of %llu", first, last, total);
    return wbi_arena_fmt(arena, "lines %llu-%llu", first, last);
}

/* "lines 1-20 of 300": what a page holds. */
static struct wbi_str page_summary(const struct wbi_page_view *p, struct wbi_arena *arena)
{
    struct wbi_str range = range_text(p, arena);

    if (range.p == NULL || p->next_token.n == 0)
        return range;
    return wbi_arena_fmt(arena, "%.*s, more follow", WBI_FMT(range));
}

/* The call that reads on: what is read, the same question, the token. */
static void next_call(struct wbi_buf *out, struct wbi_str tool_name, const wbi_json *result)
{
    struct wbi_jw w = wbi_jw_to(out);

    if (wbi_json_get_str(result, "nextToken").p == NULL)
        return;
    wbi_buf_addz(out, "Next page: ");
    wbi_buf_adds(out, tool_name);
    wbi_buf_addc(out, ' ');
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (wbi_json_get(result, "subject"), key) {
        wbi_jw_keyn(&w, wbi_json_str(key));
        wbi_jw_val(&w, key_val);
    }
    WBI_JSON_EACH_MEMBER (wbi_json_get(result, "query"), key) {
        wbi_jw_keyn(&w, wbi_json_str(key));
        wbi_jw_val(&w, key_val);
    }
    wbi_jw_kstr(&w, "pageToken", wbi_json_get_str(result, "nextToken"));
    wbi_jw_obj_end(&w);
    wbi_buf_addc(out, '\n');
}

static void cut_lines(struct wbi_buf *out, const wbi_json *result)
{
    int64_t n = 0;

    if (wbi_json_i64(wbi_json_get(result, "cut_lines"), &n) && n > 0)
        wbi_buf_addf(out, "Cut: %lld long line%s; lines reads %s whole\n", (long long)n,
                     n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

void wbi_page_render_header(struct wbi_buf *out, struct wbi_str tool_name, const wbi_json *result)
{
    wbi_receipt_line(out, "Artifact", wbi_json_get_str(result, "path"));
    if (wbi_json_true(wbi_json_get(result, "writing")))
        wbi_buf_addz(out, "It is still being written\n");
    if (wbi_json_get_str(result, "incomplete").p != NULL)
        wbi_receipt_line(out, "Not complete", wbi_json_get_str(result, "incomplete"));
    if (wbi_json_true(wbi_json_get(result, "cut_line")))
        wbi_buf_addz(out, "The last line below is cut and goes on in the next page\n");
    cut_lines(out, result);
    next_call(out, tool_name, result);
    wbi_receipt_budget(out, result);
}

void wbi_page_render_content(struct wbi_buf *out, const wbi_json *result)
{
    wbi_receipt_section(out, "content", wbi_json_get_str(result, "content"));
}

uint32_t wbi_page_overhead(struct wbi_str path, struct wbi_str query)
{
    return (uint32_t)(2 * wbi_tokens(path) + wbi_tokens(query) + 130);
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_page_view *page = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);

    (void)arg;
    wbi_jw_obj(&w);
    wbi_page_write(&w, page);
    wbi_jw_obj_end(&w);
    *ret_summary = page_summary(page, p->arena);
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_addz(out, "Artifact read: ");
    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    wbi_page_render_header(out, c->tool_name, c->result);
    wbi_page_render_content(out, c->result);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_read_artifact_family = {
    "artifact", NULL, project, render, {"/path", "/content"}};
