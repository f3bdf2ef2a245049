/* SPDX-License-Identifier: Apache-2.0
 * call/partial.c */
#include "call/partial.h"

#include "artifact/shown.h"
#include "base/limits.h"
#include "call/redact.h"
#include "call/runtime.h"
#include "family/generic/generic.h"
#include "family/receipt.h"
#include "text/preview.h"
#include "text/tokens.h"

#define PREVIEW_TOKENS 800u /* of the 1,000 of an error (C6.1); its header has the rest */

struct shown {
    struct wbi_str raw, clean, path;
    struct wbi_preview preview;
};

/* raw without what a policy names in it, which is all that is kept of it; returned as it may
 * be shown. Both are absent where that could not be found out. */
static struct wbi_str redact(struct wbi_call *call, const char *where, struct wbi_str *raw)
{
    struct wbi_str shown;

    if (wbi_redact_json_text(call, where, raw) != WB_OK)
        *raw = WBI_NONE;
    shown = *raw;
    if (wbi_redact_said(call, where, &shown) != WB_OK)
        *raw = shown = WBI_NONE;
    return shown;
}

struct wbi_str wbi_partial_clean(struct wbi_call *call, const char *where, struct wbi_str text)
{
    return redact(call, where, &text);
}

/* Absent: it could not be kept. */
static struct wbi_str keep(struct wbi_call *call, const char *role, struct wbi_str bytes)
{
    const struct wbi_sink *sink = wbi_runtime_sink(call);
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_str path;

    if (sink == NULL || sink->put(sink->arg, role, bytes, &path, &err) != WB_OK)
        return WBI_NONE;
    return path;
}

static bool preview(struct wbi_call *call, const struct wbi_partial_stream *s,
                    const struct wbi_preview_policy *policy, struct shown *ret)
{
    if (s->whole != NULL)
        return wbi_shown_preview(s->whole, call->arena, policy, &ret->preview, NULL) == WB_OK;
    return wbi_preview_text(call->arena, ret->clean, policy, &ret->preview, NULL) == WB_OK;
}

/* What the preview leaves out is kept, and the preview says how to read it. */
static bool show(struct wbi_call *call, const struct wbi_partial_stream *s, uint64_t tokens,
                 struct shown *ret)
{
    struct wbi_preview_policy policy = {.budget = tokens};

    ret->path = s->path;
    if (ret->path.p == NULL) {
        if (!preview(call, s, &policy, ret))
            return false;
        if ((ret->preview.truncated || s->truncated) && !s->not_kept)
            ret->path = keep(call, s->name, ret->raw);
        if (ret->path.p == NULL)
            return true;
    }
    policy.read_call = wbi_receipt_read_call(call->arena, ret->path);
    return preview(call, s, &policy, ret);
}

static void put(struct wbi_jw *w, const char *name, const char *member, int64_t number)
{
    char key[40];

    (void)snprintf(key, sizeof(key), "%s_%s", name, member);
    wbi_jw_kint(w, key, number);
}

static void write_stream(struct wbi_jw *w, const struct wbi_partial_stream *s,
                         const struct shown *shown)
{
    char key[40];

    (void)snprintf(key, sizeof(key), "%s_preview", s->name);
    wbi_jw_kstr(w, key, shown->preview.text);
    (void)snprintf(key, sizeof(key), "%s_truncated", s->name);
    wbi_jw_kbool(w, key, shown->preview.truncated || s->truncated);
    put(w, s->name, "bytes", (int64_t)s->bytes);
    put(w, s->name, "lines", (int64_t)shown->preview.lines_total);
}

static void write_artifacts(struct wbi_jw *w, const struct wbi_partial_stream *s,
                            const struct shown *shown, size_t n)
{
    int at = 0;

    for (size_t i = 0; i < n; i++) {
        if (shown[i].path.p == NULL)
            continue;
        if (at++ == 0) {
            wbi_jw_key(w, "artifacts");
            wbi_jw_arr(w);
        }
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "path", shown[i].path);
        wbi_jw_obj_end(w);
    }
    if (at == 0)
        return;
    wbi_jw_arr_end(w);
    at = 0;
    for (size_t i = 0; i < n; i++)
        if (shown[i].path.p != NULL)
            put(w, s[i].name, "artifact", at++);
}

/* Tokens are estimates: given its bare need, what fits would be cut. */
static uint64_t with_slack(uint64_t tokens)
{
    return tokens > 0 ? tokens + tokens / 8 + 12 : 0;
}

void wbi_partial_write(struct wbi_call *call, struct wbi_jw *w, const struct wbi_partial_stream *s,
                       size_t n)
{
    struct shown shown[WBI_PARTIAL_STREAMS] = {0};
    uint64_t tokens[WBI_PARTIAL_STREAMS], need[WBI_PARTIAL_STREAMS] = {0};
    bool big;

    for (size_t i = 0; i < n; i++) {
        shown[i].raw = s[i].raw;
        if (s[i].whole == NULL) /* else that is clean */
            shown[i].clean = redact(call, s[i].name, &shown[i].raw);
        need[i] = with_slack(s[i].whole != NULL ? wbi_shown_tokens(s[i].whole)
                                                : wbi_tokens(shown[i].clean));
    }
    big = need[1] > need[0];
    wbi_preview_split(PREVIEW_TOKENS, need[0], need[1], &tokens[0], &tokens[1]);
    tokens[big] = PREVIEW_TOKENS - tokens[!big]; /* JSON is worth room for white space */
    wbi_jw_obj(w);
    for (size_t i = 0; i < n; i++)
        if (need[i] > 0 && show(call, &s[i], tokens[i], &shown[i]))
            write_stream(w, &s[i], &shown[i]);
    write_artifacts(w, s, shown, n);
    wbi_jw_obj_end(w);
}

static struct wbi_partial_stream stream_of(const char *name, struct wbi_str text, bool not_kept)
{
    return (struct wbi_partial_stream){
        .name = name, .raw = text, .bytes = text.n, .not_kept = not_kept};
}

static struct wbi_str texts_of(struct wbi_arena *arena, const struct wbi_complete *full)
{
    struct wbi_buf all;

    wbi_buf_init_arena(&all, arena, WBI_LIMIT_CALL_ARENA);
    for (size_t i = 0; i < full->part_count; i++) {
        struct wbi_str text = full->parts[i].text;

        wbi_buf_adds(&all, text);
        if (text.n > 0 && text.p[text.n - 1] != '\n')
            wbi_buf_addc(&all, '\n');
    }
    return wbi_buf_rc(&all) == WB_OK ? wbi_buf_str(&all) : WBI_NONE;
}

/* As it is shown; absent where it could not be redacted. */
static struct wbi_str output_of(struct wbi_call *call)
{
    const struct wbi_complete *full = call->complete;
    const wbi_json *v;

    if (wbi_json_read(call->arena, full->output, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        return full->output; /* no JSON: text, then */
    if (wbi_redact_complete(call) != WB_OK ||
        wbi_json_read(call->arena, full->output, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        return WBI_NONE;
    return wbi_generic_display(call->arena, v);
}

struct wbi_str wbi_partial_of_output(struct wbi_call *call, bool not_kept)
{
    struct wbi_partial_stream said[WBI_PARTIAL_STREAMS];
    struct wbi_complete *full = call->complete;
    struct wbi_str output;
    size_t n = 0;

    if (full == NULL || full->output.p == NULL || full->bounded)
        return WBI_NONE;
    output = output_of(call);
    if (output.p == NULL)
        return WBI_NONE;
    said[n++] = stream_of("output", output, not_kept);
    if (!full->flat)
        said[n++] = stream_of("text", texts_of(call->arena, full), not_kept);
    return wbi_partial_details(call, said, n);
}

struct wbi_str wbi_partial_details(struct wbi_call *call, const struct wbi_partial_stream *s,
                                   size_t n)
{
    struct wbi_buf details;
    struct wbi_jw w = wbi_jw_to(&details);

    wbi_buf_init_arena(&details, call->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "partial");
    wbi_partial_write(call, &w, s, n);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&details) == WB_OK ? wbi_buf_str(&details) : WBI_NONE;
}
