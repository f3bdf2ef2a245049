/* SPDX-License-Identifier: Apache-2.0
 * family/generic/generic.c: output that fits is the result as it is; output
 * that does not is kept whole as an artifact and shown by a preview:
 * {output_preview, truncated, artifacts, output_artifact}. */
#include "family/generic/generic.h"

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

/* What a person would look at: strings as they are, other values pretty. */
static struct wbi_str display_text(struct wbi_arena *arena, const wbi_json *v)
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

static struct wbi_str clean(struct wbi_arena *arena, struct wbi_str raw)
{
    struct wbi_buf text;

    if (wbi_hygiene_is_clean(raw))
        return raw;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_hygiene_clean(raw, &text, NULL) != WB_OK)
        return WBI_NONE;
    return wbi_buf_str(&text);
}

static wb_rc project_large(const struct wbi_projection *p, struct wbi_str raw, struct wbi_str text,
                           struct wbi_jw *w, struct wbi_error *err)
{
    struct wbi_preview_policy policy = {.budget = p->budget_tokens > CUT_HEADER_TOKENS * 2
                                                      ? p->budget_tokens - CUT_HEADER_TOKENS
                                                      : p->budget_tokens / 2};
    struct wbi_str path = WBI_NONE;
    struct wbi_preview preview;
    wb_rc rc = WB_OK;

    if (p->sink != NULL)
        rc = p->sink->put(p->sink->arg, "output", raw, &path, err);
    if (rc != WB_OK)
        return rc;
    if (path.p != NULL) {
        policy.read_call = wbi_arena_fmt(
            p->arena, "ReadArtifact {\"path\":\"%.*s\",\"lines\":\"A-B\"}", WBI_FMT(path));
        if (policy.read_call.p == NULL)
            return wbi_fail_nomem(err);
    }
    rc = wbi_preview_text(p->arena, text, &policy, &preview, err);
    if (rc != WB_OK)
        return rc;
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "output_preview", preview.text);
    wbi_jw_kbool(w, "truncated", preview.truncated);
    wbi_jw_kint(w, "output_lines", (int64_t)preview.lines_total);
    wbi_jw_kint(w, "output_bytes", (int64_t)raw.n);
    wbi_jw_key(w, "artifacts");
    wbi_jw_arr(w);
    if (path.p != NULL) {
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "path", path);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    if (path.p != NULL)
        wbi_jw_kint(w, "output_artifact", 0);
    wbi_jw_obj_end(w);
    return WB_OK;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(ret_result);
    struct wbi_str raw, text;
    const wbi_json *v;
    wb_rc rc = wbi_json_read(p->arena, full->output, WBI_JSON_STRICT, &v, err);

    (void)arg;
    if (rc != WB_OK)
        return rc;
    raw = display_text(p->arena, shown_value(v));
    text = raw.p ? clean(p->arena, raw) : WBI_NONE;
    if (text.p == NULL)
        return wbi_fail_nomem(err);
    *ret_summary = wbi_arena_fmt(p->arena, "%.*s completed", WBI_FMT(p->tool_name));
    if (ret_summary->p == NULL)
        return wbi_fail_nomem(err);
    if (wbi_tokens(text) + HEADER_TOKENS <= p->budget_tokens) {
        wbi_jw_raw(&w, full->output);
        return wbi_buf_rc(ret_result);
    }
    rc = project_large(p, raw, text, &w, err);
    return rc == WB_OK ? wbi_buf_rc(ret_result) : rc;
}

static bool was_cut(const wbi_json *result)
{
    return wbi_json_get_as(result, "output_preview", WBI_JSON_STR) != NULL &&
           wbi_json_is(wbi_json_get(result, "truncated"), WBI_JSON_BOOL);
}

static void render_cut(const wbi_json *result, struct wbi_buf *out)
{
    int64_t lines = 0, bytes = 0;

    WBI_JSON_EACH(wbi_json_get(result, "artifacts"), artifact)
    {
        wbi_receipt_line(out, "Artifact", wbi_json_get_str(artifact, "path"));
    }
    if (wbi_json_true(wbi_json_get(result, "truncated")) &&
        wbi_json_i64(wbi_json_get(result, "output_lines"), &lines) &&
        wbi_json_i64(wbi_json_get(result, "output_bytes"), &bytes))
        wbi_buf_addf(out, "Output truncated: %lld lines, %lld bytes in all\n", (long long)lines,
                     (long long)bytes);
    wbi_receipt_section(out, "output", wbi_json_get_str(result, "output_preview"));
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_str text;

    (void)arg;
    wbi_buf_adds(out, c->summary);
    wbi_buf_addc(out, '\n');
    if (was_cut(c->result)) {
        render_cut(c->result, out);
        return wbi_buf_rc(out);
    }
    text = display_text(arena, shown_value(c->result));
    text = text.p ? clean(arena, text) : WBI_NONE;
    if (text.p == NULL)
        return wbi_fail_nomem(err);
    wbi_receipt_section(out, "output", text);
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_generic_family = {"generic", NULL, project, render};
