/* SPDX-License-Identifier: Apache-2.0
 * text/preview.c: the way through a preview: whole if it fits, JSON by its
 * structure, otherwise lines chosen and rendered. */
#include "text/preview.h"

#include "base/limits.h"
#include "text/hygiene.h"
#include "text/preview_int.h"
#include "text/tokens.h"

#define JSON_LOOK 64u                      /* bytes that tell whether a text may be JSON */
#define SPARE_UNITS (60u * WBI_TOKEN_UNIT) /* less is not worth growing lines for */

static wb_rc read_all(struct chooser *c, struct wbi_str *ret)
{
    struct wbi_buf b;
    wb_rc rc;

    wbi_buf_init_arena(&b, c->arena, (size_t)c->index->bytes + 1);
    rc = c->source.read(c->source.arg, 0, (size_t)c->index->bytes, &b);
    *ret = wbi_buf_str(&b);
    return rc != WB_OK ? rc : wbi_buf_rc(&b);
}

/* WB_EINPUT when it does not fit after all. */
static wb_rc show_whole(struct chooser *c, struct wbi_preview *ret)
{
    struct wbi_segment *s = wbi_arena_array(c->arena, 1, sizeof *s);
    wb_rc rc = s ? read_all(c, &ret->text) : WB_ENOMEM;

    if (rc != WB_OK)
        return rc;
    /* the sum over the lines is an estimate from above: good enough when it fits */
    ret->tokens = c->index->units <= wbi_preview_usable(c->policy->budget)
                      ? wbi_tokens_of_units(c->index->units)
                      : wbi_tokens(ret->text);
    if (ret->tokens * WBI_TOKEN_UNIT > wbi_preview_usable(c->policy->budget) + WBI_TOKEN_UNIT)
        return WB_EINPUT; /* the guess by bytes was a little too low */
    if (ret->text.p == NULL)
        ret->text = WBI_LIT("");
    if (ret->text.n > 0 && ret->text.p[ret->text.n - 1] == '\n')
        ret->text.n--;
    *s = (struct wbi_segment){WBI_SEGMENT_LINES, 1, c->index->lines};
    ret->segments = s;
    ret->n_segments = c->index->lines > 0;
    ret->lines_shown = c->index->lines;
    ret->first_lines = c->index->lines;
    return WB_OK;
}

static wb_rc choose_lines(struct chooser *c, struct wbi_preview *ret)
{
    uint64_t units = wbi_preview_usable(c->policy->budget);
    uint64_t notice = 40 * WBI_TOKEN_UNIT + wbi_tokens_units(c->policy->read_call);
    wb_rc rc = wbi_index_picks(c);

    if (rc != WB_OK)
        return rc;
    c->units = units > 4 * notice ? units - notice : units; /* what is too much is dropped again */
    c->line_cap = c->units / 9 > 40 * WBI_TOKEN_UNIT ? c->units / 9 : 40 * WBI_TOKEN_UNIT;
    wbi_buf_init_arena(&c->groups, c->arena, WBI_LIMIT_RECEIPT);
    wbi_buf_init_arena(&c->out, c->arena, WBI_LIMIT_RECEIPT);
    rc = wbi_choose(c);
    if (rc == WB_OK)
        rc = wbi_render(c, ret);
    if (rc != WB_OK || c->n == 0)
        return rc;
    /* prices are estimates from above: what the text really left is used too */
    c->spent = c->rendered + 4 * WBI_TOKEN_UNIT;
    c->units = units;
    if (c->spent + 20 * WBI_TOKEN_UNIT > units)
        return WB_OK;
    rc = wbi_choose_more(c);
    if (rc == WB_OK)
        rc = wbi_render(c, ret);
    if (rc != WB_OK || c->rendered + SPARE_UNITS > units)
        return rc;
    rc = wbi_grow_clipped(c, units - c->rendered - SPARE_UNITS / 2);
    return rc != WB_OK ? rc : wbi_render(c, ret);
}

/* Its first character, as far as that can be told cheaply, opens a value. */
static bool starts_like_json(struct chooser *c)
{
    size_t n = c->index->bytes < JSON_LOOK ? (size_t)c->index->bytes : JSON_LOOK;
    struct wbi_buf b;
    struct wbi_str s;

    wbi_buf_init_arena(&b, c->arena, JSON_LOOK);
    if (c->source.read(c->source.arg, 0, n, &b) != WB_OK || wbi_buf_rc(&b) != WB_OK)
        return false;
    s = wbi_str_trim(wbi_buf_str(&b));
    return s.n == 0 || s.p[0] == '{' || s.p[0] == '[';
}

static bool in_brackets(struct wbi_str s)
{
    return s.n > 1 &&
           ((s.p[0] == '{' && s.p[s.n - 1] == '}') || (s.p[0] == '[' && s.p[s.n - 1] == ']'));
}

static bool looks_like_json(struct chooser *c, struct wbi_str *ret)
{
    struct wbi_str s;

    if (c->policy->plain || c->index->bytes > WBI_LIMIT_PREVIEW_JSON || c->index->bytes < 2 ||
        !starts_like_json(c) || read_all(c, &s) != WB_OK)
        return false;
    *ret = wbi_str_trim(s);
    return in_brackets(*ret);
}

bool wbi_preview_respells(struct wbi_str text)
{
    return in_brackets(wbi_str_trim(text)) && wbi_hygiene_json_respelled(text);
}

wb_rc wbi_preview_make(struct wbi_arena *arena, struct wbi_preview_index *index,
                       const struct wbi_preview_policy *policy, wbi_preview_read read, void *arg,
                       struct wbi_preview *ret, struct wbi_error *err)
{
    struct chooser c = {.index = index, .policy = policy, .arena = arena};
    struct wbi_preview v = {.lines_total = index->lines};
    bool whole = index->units * 9 / 10 <= wbi_preview_usable(policy->budget), is_json;
    struct wbi_str json;
    wb_rc rc = WB_EINPUT;

    c.source = (struct source){read, arg, arena};
    is_json = looks_like_json(&c, &json);
    if (is_json)
        rc = wbi_preview_json(arena, json, index->lines, whole, policy, &v);
    if (rc == WB_EINPUT && whole) {
        rc = show_whole(&c, &v); /* JSON that fits only without more white space, too */
        if (rc == WB_EINPUT && is_json)
            rc = wbi_preview_json(arena, json, index->lines, false, policy, &v);
    }
    if (rc == WB_EINPUT) {
        rc = wbi_index_look(index);
        if (rc == WB_OK)
            rc = choose_lines(&c, &v);
    }
    if (rc != WB_OK)
        return wbi_fail(err, rc, "the preview of %llu lines could not be made",
                        (unsigned long long)index->lines);
    *ret = v;
    return WB_OK;
}

static wb_rc read_memory(void *arg, uint64_t offset, size_t n, struct wbi_buf *out)
{
    const struct wbi_str *s = arg;

    if (offset > s->n || n > s->n - offset)
        return WB_EINTERNAL;
    wbi_buf_add(out, s->p + offset, n);
    return wbi_buf_rc(out);
}

wb_rc wbi_preview_text(struct wbi_arena *arena, struct wbi_str text,
                       const struct wbi_preview_policy *policy, struct wbi_preview *ret,
                       struct wbi_error *err)
{
    struct wbi_preview_index *index = NULL;
    wb_rc rc = wbi_preview_index_new(policy->command, &index);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_preview_index_feed(index, text);
    if (rc == WB_OK)
        rc = wbi_preview_index_end(index);
    if (rc == WB_OK)
        rc = wbi_preview_make(arena, index, policy, read_memory, &text, ret, err);
    else
        wbi_fail_nomem(err);
    wbi_preview_index_free(index);
    return rc;
}

void wbi_preview_split(uint64_t budget, uint64_t need_a, uint64_t need_b, uint64_t *ret_a,
                       uint64_t *ret_b)
{
    uint64_t half = budget / 2;

    if (need_a <= half)
        *ret_a = need_a;
    else if (need_b < budget - half)
        *ret_a = need_a < budget - need_b ? need_a : budget - need_b;
    else
        *ret_a = half;
    *ret_b = need_b < budget - *ret_a ? need_b : budget - *ret_a;
}
