/* SPDX-License-Identifier: Apache-2.0
 * family/generic/generic.c: output that fits is the result as it is; output
 * that does not is kept whole as an artifact and shown by a preview:
 * {output_preview, truncated, artifacts, output_artifact}. */
#include "family/generic/generic_int.h"

#include "artifact/shown.h"
#include "base/limits.h"
#include "family/envelope.h"
#include "family/canonical.h"
#include "family/receipt.h"
#include "text/hygiene.h"
#include "text/preview.h"
#include "text/tokens.h"

/* Tokens of a receipt's header and section line, kept free by the projector. */
#define HEADER_TOKENS 60
/* Tokens for the artifact line and the notice in the header. */
#define CUT_HEADER_TOKENS 160

struct wbi_str wbi_generic_display(struct wbi_arena *arena, const wbi_json *v)
{
    struct wbi_buf text;

    if (wbi_json_is(v, WBI_JSON_STR))
        return wbi_json_str(v);
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_pretty(&text, v);
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

/* The value that is shown: the payload of a root with an envelope, else all. */
static const wbi_json *shown_value(const wbi_json *root)
{
    const wbi_json *payload = root;

    if (wbi_json_is(wbi_json_get(root, WBI_ENVELOPE_KEY), WBI_JSON_OBJ) &&
        wbi_envelope_payload(root, &payload, NULL) != WB_OK)
        return root;
    return payload;
}

struct wbi_str wbi_generic_clean(struct wbi_arena *arena, struct wbi_str raw)
{
    struct wbi_buf text;

    if (wbi_hygiene_is_clean(raw))
        return raw;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_hygiene_clean(raw, &text, NULL) != WB_OK)
        return WBI_NONE;
    return wbi_buf_str(&text);
}

static void put_artifact(struct wbi_jw *w, struct wbi_str path)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "path", path);
    wbi_jw_obj_end(w);
}

static void put_artifacts(struct wbi_jw *w, struct wbi_str path, const struct wbi_str *media,
                          size_t media_n)
{
    wbi_jw_key(w, "artifacts");
    wbi_jw_arr(w);
    if (path.p != NULL)
        put_artifact(w, path);
    for (size_t i = 0; i < media_n; i++)
        put_artifact(w, media[i]);
    wbi_jw_arr_end(w);
    if (path.p != NULL)
        wbi_jw_kint(w, "output_artifact", 0);
}

/* Beside a receipt's header; a token has a byte at least, so most need not be counted. */
static bool fits(const struct wbi_projection *p, struct wbi_str text)
{
    return text.n + HEADER_TOKENS <= p->budget_tokens ||
           wbi_tokens(text) + HEADER_TOKENS <= p->budget_tokens;
}

/* Cleaning may take most of a text away: it is told as it is. */
static bool fits_whole(const struct wbi_projection *p, struct wbi_str raw, struct wbi_str clean)
{
    return fits(p, clean) && (raw.p == clean.p || fits(p, raw));
}

uint64_t wbi_generic_room(const struct wbi_projection *p)
{
    return p->budget_tokens > CUT_HEADER_TOKENS * 2 ? p->budget_tokens - CUT_HEADER_TOKENS
                                                    : p->budget_tokens / 2;
}

/* False without memory. */
static bool name_read_call(const struct wbi_projection *p, struct wbi_str path,
                           struct wbi_preview_policy *policy)
{
    if (path.p == NULL)
        return true;
    policy->read_call = wbi_receipt_read_call(p->arena, path);
    return policy->read_call.p != NULL;
}

static void put_preview(struct wbi_jw *w, const struct wbi_preview *preview, uint64_t bytes)
{
    wbi_jw_kstr(w, "output_preview", preview->text);
    wbi_jw_kbool(w, "truncated", preview->truncated);
    wbi_jw_kint(w, "output_lines", (int64_t)preview->lines_total);
    wbi_jw_kint(w, "output_bytes", (int64_t)bytes);
}

wb_rc wbi_generic_put_shown(const struct wbi_projection *p, struct wbi_shown *text, uint64_t bytes,
                            struct wbi_str path, struct wbi_jw *w, struct wbi_error *err)
{
    struct wbi_preview_policy policy = {.budget = wbi_generic_room(p)};
    struct wbi_preview preview;
    wb_rc rc;

    if (!name_read_call(p, path, &policy))
        return wbi_fail_nomem(err);
    rc = wbi_shown_preview(text, p->arena, &policy, &preview, err);
    if (rc != WB_OK)
        return rc;
    wbi_jw_obj(w);
    put_preview(w, &preview, bytes);
    put_artifacts(w, path, &path, 0);
    wbi_jw_obj_end(w);
    return WB_OK;
}

wb_rc wbi_generic_put_large(const struct wbi_projection *p, struct wbi_str raw, uint64_t tokens,
                            const struct wbi_str *media, size_t media_n, struct wbi_jw *w,
                            struct wbi_error *err)
{
    struct wbi_preview_policy policy = {.budget = tokens};
    struct wbi_str text = wbi_generic_clean(p->arena, raw);
    struct wbi_str path = WBI_NONE;
    struct wbi_preview preview;
    wb_rc rc = WB_OK;

    if (text.p == NULL)
        return wbi_fail_nomem(err);
    if (p->sink != NULL)
        rc = p->sink->put(p->sink->arg, "output", raw, &path, err);
    if (rc != WB_OK)
        return rc;
    if (!name_read_call(p, path, &policy))
        return wbi_fail_nomem(err);
    rc = wbi_preview_text(p->arena, text, &policy, &preview, err);
    if (rc != WB_OK)
        return rc;
    put_preview(w, &preview, raw.n);
    put_artifacts(w, path, media, media_n);
    return WB_OK;
}

static bool was_cut(const wbi_json *result)
{
    return wbi_json_get_as(result, "output_preview", WBI_JSON_STR) != NULL &&
           wbi_json_is(wbi_json_get(result, "truncated"), WBI_JSON_BOOL);
}

/* A value that would be taken for a result of several parts or a cut one is told as the
 * structured part of one: nothing a tool says can pass for what was made of it here. So is
 * null, which as a result says that there is none. */
static bool is_no_result(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_NULL) || was_cut(v) || wbi_generic_has_parts(v);
}

static void put_as_part(struct wbi_jw *w, const wbi_json *v)
{
    wbi_jw_obj(w);
    wbi_jw_key(w, "content");
    wbi_jw_arr(w);
    wbi_jw_arr_end(w);
    wbi_jw_kval(w, "structured", v);
    wbi_jw_obj_end(w);
}

/* The root around a payload is the result as well. */
static bool root_fits(const struct wbi_projection *p, const wbi_json *root, struct wbi_str json)
{
    struct wbi_buf text;

    if (shown_value(root) == root)
        return true;
    if (json.p != NULL)
        return fits(p, json);
    wbi_buf_init_arena(&text, p->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, root);
    return wbi_buf_rc(&text) == WB_OK && fits(p, wbi_buf_str(&text));
}

/* A payload that can be shown, of a root that is too large: that is kept whole. */
static wb_rc put_large_root(const struct wbi_projection *p, const wbi_json *root,
                            struct wbi_str payload, struct wbi_jw *w, struct wbi_error *err)
{
    struct wbi_str whole = wbi_generic_display(p->arena, root), path = WBI_NONE;
    struct wbi_preview preview = {.text = payload, .truncated = true};
    wb_rc rc = WB_OK;

    preview.text.n -= wbi_str_ends(payload, WBI_LIT("\n"));
    if (whole.p == NULL)
        return wbi_fail_nomem(err);
    if (p->sink != NULL)
        rc = p->sink->put(p->sink->arg, "output", whole, &path, err);
    if (rc != WB_OK)
        return rc;
    preview.lines_total = wbi_receipt_lines(whole);
    put_preview(w, &preview, whole.n);
    put_artifacts(w, path, NULL, 0);
    return WB_OK;
}

/* One JSON value: as it is when it fits. */
static wb_rc put_value(const struct wbi_projection *p, const wbi_json *v, struct wbi_str json,
                       struct wbi_jw *w, struct wbi_error *err)
{
    struct wbi_str raw = wbi_generic_display(p->arena, shown_value(v));
    struct wbi_str text = raw.p ? wbi_generic_clean(p->arena, raw) : WBI_NONE;
    wb_rc rc;

    if (text.p == NULL)
        return wbi_fail_nomem(err);
    if (fits_whole(p, raw, text) && root_fits(p, v, json)) {
        if (is_no_result(v)) {
            put_as_part(w, v);
        } else if (json.p != NULL) {
            wbi_jw_raw(w, json);
            if (p->ret_value != NULL)
                *p->ret_value = v;
        } else {
            wbi_jw_val(w, v);
        }
        return WB_OK;
    }
    wbi_jw_obj(w);
    rc = shown_value(v) != v && wbi_tokens(text) <= wbi_generic_room(p)
             ? put_large_root(p, v, text, w, err)
             : wbi_generic_put_large(p, raw, wbi_generic_room(p), NULL, 0, w, err);
    wbi_jw_obj_end(w);
    return rc;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(ret_result);
    const wbi_json *v = full->value, *value = NULL;
    struct wbi_buf summary;
    wb_rc rc = WB_OK;

    (void)arg;
    if (v == NULL && full->output.p != NULL)
        rc = wbi_json_read(p->arena, full->output, WBI_JSON_STRICT, &v, err);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&summary, p->arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_adds(&summary, p->tool_name);
    wbi_buf_addz(&summary, " completed");
    *ret_summary = wbi_buf_str(&summary);
    if (wbi_buf_rc(&summary) != WB_OK)
        return wbi_fail_nomem(err);
    if (full->bounded) {
        wbi_jw_raw(&w, full->output);
    } else if (full->part_count > 0) {
        rc = wbi_generic_put_parts(full, v, p, &w, &value, err);
        if (rc == WB_OK && value != NULL)
            rc = put_value(p, value, WBI_NONE, &w, err);
    } else {
        rc = put_value(p, v, full->output, &w, err);
    }
    return rc == WB_OK ? wbi_buf_rc(ret_result) : rc;
}

void wbi_generic_render_cut(const wbi_json *result, struct wbi_buf *out)
{
    const wbi_json *artifacts = wbi_json_get(result, "artifacts");
    int64_t lines = 0, bytes = 0, at = -1;

    if (wbi_json_i64(wbi_json_get(result, "output_artifact"), &at) && at >= 0)
        wbi_receipt_line(out, "Artifact",
                         wbi_json_get_str(wbi_json_at(artifacts, (size_t)at), "path"));
    if (wbi_json_true(wbi_json_get(result, "truncated")) &&
        wbi_json_i64(wbi_json_get(result, "output_lines"), &lines) &&
        wbi_json_i64(wbi_json_get(result, "output_bytes"), &bytes))
        wbi_buf_addf(out, "Output truncated: %lld line%s, %lld bytes in all\n", (long long)lines,
                     lines == 1 ? "" : "s", (long long)bytes);
    wbi_receipt_preview(out, "output", wbi_json_get_str(result, "output_preview"));
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_str text;

    (void)arg;
    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    if (wbi_generic_has_parts(c->result))
        return wbi_generic_render_parts(c->result, arena, out);
    if (was_cut(c->result)) {
        wbi_generic_render_cut(c->result, out);
        return wbi_buf_rc(out);
    }
    text = wbi_generic_display(arena, shown_value(c->result));
    text = text.p ? wbi_generic_clean(arena, text) : WBI_NONE;
    if (text.p == NULL)
        return wbi_fail_nomem(err);
    wbi_receipt_section(out, "output", text);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_generic_family = {"generic", NULL, project, render, {NULL}};
