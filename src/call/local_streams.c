/* SPDX-License-Identifier: Apache-2.0
 * call/local_streams.c: what a configured command printed before it ended badly
 * (C5.6): the lines that matter within the budget of an error, and where the rest is. */
#include "base/limits.h"
#include "call/exec.h"
#include "call/local_tool_int.h"
#include "text/hygiene.h"
#include "text/preview.h"
#include "text/tokens.h"

#define PREVIEW_TOKENS 800u /* of the 1,000 of an error (C6.1); its header has the rest */

struct stream {
    const char *name;
    struct wbi_str raw, clean, path;
    uint64_t bytes; /* printed, which may be more than was kept */
    bool dropped;
    struct wbi_preview preview;
};

struct wbi_str wbi_local_clean(struct wbi_exec *x, struct wbi_str text)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_CALL_ARENA);
    if (wbi_hygiene_clean(text, &out, NULL) != WB_OK)
        return WBI_NONE;
    return wbi_buf_str(&out);
}

/* Only what the preview does not show whole is worth a file; absent: it could not be kept. */
static void keep(struct wbi_exec *x, struct stream *s)
{
    const struct wbi_sink *sink = wbi_runtime_sink(x->call);
    struct wbi_error err = WBI_ERROR_INIT;

    if (sink == NULL || sink->put(sink->arg, s->name, s->raw, &s->path, &err) != WB_OK)
        s->path = WBI_NONE;
}

static bool show(struct wbi_exec *x, struct stream *s, uint64_t tokens)
{
    struct wbi_preview_policy policy = {.budget = tokens};

    if (wbi_tokens(s->clean) > tokens || s->dropped)
        keep(x, s);
    if (s->path.p != NULL)
        policy.read_call = wbi_arena_fmt(
            x->arena, "ReadArtifact {\"path\":\"%.*s\",\"lines\":\"A-B\"}", WBI_FMT(s->path));
    return wbi_preview_text(x->arena, s->clean, &policy, &s->preview, NULL) == WB_OK;
}

static void put(struct wbi_jw *w, const struct stream *s, const char *member, int64_t number)
{
    char key[40];

    (void)snprintf(key, sizeof(key), "%s_%s", s->name, member);
    wbi_jw_kint(w, key, number);
}

static void write_stream(struct wbi_jw *w, const struct stream *s)
{
    char key[40];

    (void)snprintf(key, sizeof(key), "%s_preview", s->name);
    wbi_jw_kstr(w, key, s->preview.text);
    (void)snprintf(key, sizeof(key), "%s_truncated", s->name);
    wbi_jw_kbool(w, key, s->preview.truncated || s->dropped);
    put(w, s, "bytes", (int64_t)s->bytes);
    put(w, s, "lines", (int64_t)s->preview.lines_total);
}

static void write_artifacts(struct wbi_jw *w, const struct stream s[2])
{
    int n = 0;

    if (s[0].path.p == NULL && s[1].path.p == NULL)
        return;
    wbi_jw_key(w, "artifacts");
    wbi_jw_arr(w);
    for (int i = 0; i < 2; i++) {
        if (s[i].path.p == NULL)
            continue;
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "path", s[i].path);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    for (int i = 0; i < 2; i++)
        if (s[i].path.p != NULL)
            put(w, &s[i], "artifact", n++);
}

void wbi_local_write_streams(struct wbi_exec *x, struct wbi_jw *w, const struct wbi_captured *c)
{
    struct stream s[2] = {
        {.name = "stdout", .raw = c->out, .bytes = c->out_bytes, .dropped = c->out_truncated},
        {.name = "stderr", .raw = c->err, .bytes = c->err_bytes, .dropped = c->err_truncated}};
    uint64_t tokens[2];

    for (int i = 0; i < 2; i++)
        s[i].clean = wbi_local_clean(x, s[i].raw);
    wbi_preview_split(PREVIEW_TOKENS, wbi_tokens(s[0].clean), wbi_tokens(s[1].clean), &tokens[0],
                      &tokens[1]);
    for (int i = 0; i < 2; i++)
        if (s[i].clean.n > 0 && show(x, &s[i], tokens[i]))
            write_stream(w, &s[i]);
    write_artifacts(w, s);
}
