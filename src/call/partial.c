/* SPDX-License-Identifier: Apache-2.0
 * call/partial.c */
#include "call/partial.h"

#include "artifact/shown.h"
#include "base/limits.h"
#include "call/exec.h"
#include "call/redact.h"
#include "call/runtime.h"
#include "text/preview.h"
#include "text/tokens.h"

#define PREVIEW_TOKENS 800u /* of the 1,000 of an error (C6.1); its header has the rest */

struct shown {
    struct wbi_str clean, path;
    struct wbi_preview preview;
};

struct wbi_str wbi_partial_clean(struct wbi_exec *x, const char *where, struct wbi_str text)
{
    return wbi_redact_said(x->call, where, &text) == WB_OK ? text : WBI_NONE;
}

/* Absent: it could not be kept. */
static struct wbi_str keep(struct wbi_exec *x, const struct wbi_partial_stream *s)
{
    const struct wbi_sink *sink = wbi_runtime_sink(x->call);
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_str path;

    if (sink == NULL || sink->put(sink->arg, s->name, s->raw, &path, &err) != WB_OK)
        return WBI_NONE;
    return path;
}

static bool preview(struct wbi_exec *x, const struct wbi_partial_stream *s,
                    const struct wbi_preview_policy *policy, struct shown *ret)
{
    if (s->whole != NULL)
        return wbi_shown_preview(s->whole, x->arena, policy, &ret->preview, NULL) == WB_OK;
    return wbi_preview_text(x->arena, ret->clean, policy, &ret->preview, NULL) == WB_OK;
}

/* What the preview leaves out is kept, and the preview says how to read it. */
static bool show(struct wbi_exec *x, const struct wbi_partial_stream *s, uint64_t tokens,
                 struct shown *ret)
{
    struct wbi_preview_policy policy = {.budget = tokens};

    ret->path = s->path;
    if (ret->path.p == NULL) {
        if (!preview(x, s, &policy, ret))
            return false;
        if (ret->preview.truncated || s->truncated)
            ret->path = keep(x, s);
        if (ret->path.p == NULL)
            return true;
    }
    policy.read_call = wbi_arena_fmt(x->arena, "ReadArtifact {\"path\":\"%.*s\",\"lines\":\"A-B\"}",
                                     WBI_FMT(ret->path));
    return preview(x, s, &policy, ret);
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

void wbi_partial_write(struct wbi_exec *x, struct wbi_jw *w, const struct wbi_partial_stream *s,
                       size_t n)
{
    struct shown shown[WBI_PARTIAL_STREAMS] = {0};
    uint64_t tokens[WBI_PARTIAL_STREAMS], need[WBI_PARTIAL_STREAMS] = {0};
    bool big;

    for (size_t i = 0; i < n; i++) {
        shown[i].clean = wbi_partial_clean(x, s[i].name, s[i].raw);
        need[i] = with_slack(s[i].whole != NULL ? wbi_shown_tokens(s[i].whole)
                                                : wbi_tokens(shown[i].clean));
    }
    big = need[1] > need[0];
    wbi_preview_split(PREVIEW_TOKENS, need[0], need[1], &tokens[0], &tokens[1]);
    tokens[big] = PREVIEW_TOKENS - tokens[!big]; /* JSON is worth room for white space */
    wbi_jw_obj(w);
    for (size_t i = 0; i < n; i++)
        if (shown[i].clean.n > 0 && show(x, &s[i], tokens[i], &shown[i]))
            write_stream(w, &s[i], &shown[i]);
    write_artifacts(w, s, shown, n);
    wbi_jw_obj_end(w);
}
