/* SPDX-License-Identifier: Apache-2.0
 * api/family.c: families registered from outside, and projecting and rendering
 * by hand. */
#include "api/api_int.h"
#include "artifact/store.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "builtin/builtin.h"
#include "call/views.h"
#include "family/canonical.h"
#include "family/generic/generic.h"
#include "family/receipt.h"
#include "text/hygiene.h"

struct wbi_api_family {
    struct wbi_api_family *next;
    wb_runtime *runtime;
    struct wbi_family family;
    char *name;
    wb_project_cb project;
    wb_render_cb render;
    void *arg;
};

void wb_text_add(wb_text *text, const char *bytes, size_t size)
{
    if (text != NULL && bytes != NULL)
        wbi_buf_add(text->buf, bytes, size);
}

void wb_text_quote(wb_text *text, const char *bytes, size_t size)
{
    if (text != NULL && (bytes != NULL || size == 0))
        wbi_json_quote(text->buf, wbi_str_make(bytes, size));
}

/* A payload that is not clean is cleaned by itself: a sequence it does not end must not take
 * what follows it in the receipt with it. */
void wb_text_section(wb_text *text, const char *name, const char *bytes, size_t size)
{
    struct wbi_str payload = wbi_str_make(bytes, size);
    struct wbi_buf clean;

    if (text == NULL || name == NULL || (bytes == NULL && size > 0))
        return;
    if (wbi_hygiene_is_clean(payload)) {
        wbi_receipt_section(text->buf, name, payload);
        return;
    }
    wbi_buf_init(&clean, WBI_LIMIT_RECEIPT);
    if (wbi_hygiene_clean(payload, &clean, NULL) == WB_OK)
        wbi_receipt_section(text->buf, name, wbi_buf_str(&clean));
    else
        (void)wbi_buf_grow(text->buf, text->buf->max + 1); /* fails it, too */
    wbi_buf_fini(&clean);
}

/* It becomes part of a file's name, in which a dash stands before it. */
static bool is_role(struct wbi_str role)
{
    for (size_t i = 0; i < role.n; i++)
        if (!(role.p[i] >= 'a' && role.p[i] <= 'z') && !(role.p[i] >= '0' && role.p[i] <= '9') &&
            role.p[i] != '_')
            return false;
    return role.n > 0 && role.n < WBI_ARTIFACT_ROLE;
}

wb_rc wb_sink_put(wb_sink *sink, const char *role, const void *bytes, size_t size,
                  const char **ret_path)
{
    struct wbi_str path;
    wb_rc rc;

    if (sink == NULL || role == NULL || ret_path == NULL || (bytes == NULL && size > 0))
        return WB_EMISUSE;
    if (!is_role(wbi_str_z(role)))
        return WB_EINPUT;
    if (sink->sink == NULL)
        return WB_EUNSUPPORTED;
    rc = sink->sink->put(sink->sink->arg, role, wbi_str_make(bytes, size), &path, NULL);
    if (rc != WB_OK)
        return rc;
    *ret_path = wbi_arena_strz(sink->arena, path);
    return *ret_path ? WB_OK : WB_ENOMEM;
}

/* What the caller's functions write is shown to models and people (C6.5). */
static wb_rc make_clean(struct wbi_buf *text, struct wbi_arena *arena)
{
    struct wbi_buf clean;
    wb_rc rc = wbi_buf_rc(text);

    if (rc != WB_OK || wbi_hygiene_is_clean(wbi_buf_str(text)))
        return rc;
    wbi_buf_init_arena(&clean, arena, WBI_LIMIT_RECEIPT);
    rc = wbi_hygiene_clean(wbi_buf_str(text), &clean, NULL);
    if (rc != WB_OK)
        return rc;
    wbi_buf_clear(text);
    wbi_buf_adds(text, wbi_buf_str(&clean));
    return wbi_buf_rc(text);
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    struct wbi_api_family *f = arg;
    struct wbi_buf summary;
    struct wb_text result_text = {ret_result}, summary_text = {&summary};
    struct wb_sink sink = {p->sink, p->arena};
    const wbi_json *v;
    wb_rc rc;

    wbi_buf_init_arena(&summary, p->arena, WBI_LIMIT_RECEIPT);
    wbi_api_enter(f->runtime);
    rc = f->project(full->output.p, full->output.n, p->budget_tokens, &sink, &result_text,
                    &summary_text, f->arg);
    wbi_api_leave(f->runtime);
    if (rc != WB_OK)
        return wbi_fail(err, rc, "family %s could not project the output", f->name);
    rc = wbi_json_read(p->arena, wbi_buf_str(ret_result), WBI_JSON_STRICT, &v, err);
    if (rc != WB_OK || wbi_json_is(v, WBI_JSON_NULL))
        return wbi_fail(err, WB_EINPUT, "family %s wrote no JSON result", f->name);
    wbi_buf_clear(ret_result);
    wbi_json_write(ret_result, v); /* compact, so that it reads back to the same bytes */
    rc = make_clean(&summary, p->arena);
    *ret_summary = wbi_buf_str(&summary);
    return rc;
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *ret_receipt, struct wbi_error *err)
{
    struct wbi_api_family *f = arg;
    struct wb_text receipt = {ret_receipt};
    struct wbi_buf text;
    wb_rc rc;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    if (c->text.p != NULL)
        wbi_buf_adds(&text, c->text);
    else
        wbi_json_write(&text, c->root);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    wbi_api_enter(f->runtime);
    rc = f->render(text.p, text.n, &receipt, f->arg);
    wbi_api_leave(f->runtime);
    if (rc == WB_OK)
        rc = make_clean(ret_receipt, arena);
    if (rc == WB_OK && ret_receipt->n == 0)
        wbi_buf_adds(ret_receipt, c->summary); /* a model reads how it went, whoever shows it */
    return rc == WB_OK ? wbi_buf_rc(ret_receipt)
                       : wbi_fail(err, rc, "family %s could not render", f->name);
}

const struct wbi_family *wbi_api_family_find(const wb_runtime *runtime, const char *name)
{
    if (wbi_str_eqz(WBI_LIT("generic"), name))
        return &wbi_generic_family;
    for (struct wbi_api_family *f = runtime->families; f != NULL; f = f->next)
        if (strcmp(f->name, name) == 0)
            return &f->family;
    return NULL;
}

wb_rc wb_family_register(wb_runtime *runtime, const char *name, wb_project_cb project_cb,
                         wb_render_cb render_cb, void *arg, wb_error **reterr)
{
    struct wbi_api_family *f;

    if (runtime == NULL || name == NULL || project_cb == NULL || render_cb == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "wb_family_register needs a runtime, a name and two functions");
    if (wbi_api_family_find(runtime, name) != NULL)
        return wbi_api_fail_text(reterr, WB_EEXISTS, "there is a family of that name already");
    f = wbi_zalloc(sizeof(*f));
    if (f != NULL)
        f->name = wbi_strdup(wbi_str_z(name));
    if (f == NULL || f->name == NULL) {
        wbi_free(f);
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    }
    f->runtime = runtime;
    f->project = project_cb;
    f->render = render_cb;
    f->arg = arg;
    f->family = (struct wbi_family){f->name, f, project, render, {NULL}};
    f->next = runtime->families;
    runtime->families = f;
    return WB_OK;
}

void wbi_api_families_free(wb_runtime *runtime)
{
    while (runtime->families != NULL) {
        struct wbi_api_family *f = runtime->families;
        runtime->families = f->next;
        wbi_free(f->name);
        wbi_free(f);
    }
}

/* ---- by hand ---- */

struct hand_sink {
    wb_sink_cb put;
    void *arg;
    struct wbi_arena *arena;
};

static wb_rc hand_put(void *arg, const char *role, struct wbi_str bytes, struct wbi_str *ret_path,
                      struct wbi_error *err)
{
    struct hand_sink *s = arg;
    const char *path = NULL;
    wb_rc rc = s->put(role, bytes.p, bytes.n, &path, s->arg);

    if (rc != WB_OK || path == NULL)
        return wbi_fail_kind(err, rc == WB_OK ? WB_EIO : rc, WBI_KIND_OUTPUT_PERSISTENCE_FAILED,
                             "the output could not be kept");
    *ret_path = wbi_arena_str(s->arena, wbi_str_z(path));
    return ret_path->p ? WB_OK : wbi_fail_nomem(err);
}

static wb_rc project_by_hand(struct wbi_arena *arena, const char *tool_name, struct wbi_str output,
                             unsigned budget, wb_sink_cb sink, void *sink_arg, struct wbi_buf *out,
                             struct wbi_error *err)
{
    struct hand_sink hand = {sink, sink_arg, arena};
    struct wbi_sink inner = {hand_put, &hand};
    struct wbi_projection p = {arena, budget ? budget : 8000, sink ? &inner : NULL,
                               wbi_str_z(tool_name)};
    struct wbi_complete full = {.ok = true};
    struct wbi_outcome outcome = {.state = WBI_OUTCOME_NONE};
    struct wbi_str summary = WBI_NONE;
    struct wbi_buf result, compact;
    const wbi_json *v;
    wb_rc rc;

    wbi_buf_init_arena(&compact, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&result, arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_json_read(arena, output, WBI_JSON_STRICT, &v, err);
    if (rc == WB_OK)
        wbi_json_write(&compact, v);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&compact);
    full.output = wbi_buf_str(&compact);
    if (rc == WB_OK)
        rc = wbi_generic_family.project(NULL, &full, &p, &result, &summary, err);
    if (rc == WB_OK)
        rc = wbi_outcome_succeed(&outcome, arena, summary, wbi_buf_str(&result), full.output);
    if (rc == WB_OK)
        rc = wbi_view_canonical(&outcome, p.tool_name, out);
    return rc;
}

wb_rc wb_project(const char *tool_name, const char *output, size_t size, unsigned budget_tokens,
                 wb_sink_cb sink, void *sink_arg, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    struct wbi_buf out;
    wb_rc rc;

    if (tool_name == NULL || output == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_project needs a name, output and ret");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = project_by_hand(arena, tool_name, wbi_str_make(output, size), budget_tokens, sink,
                         sink_arg, &out, &err);
    wbi_arena_free(arena);
    if (rc != WB_OK) {
        wbi_buf_fini(&out);
        err.rc = rc;
        return wbi_api_fail(reterr, &err);
    }
    return wbi_api_give(&out, ret, ret_size, reterr);
}

wb_rc wb_render(const char *canonical, size_t size, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_canonical c;
    struct wbi_arena *arena;
    struct wbi_buf out;
    wb_rc rc;

    if (canonical == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_render needs a text and ret");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_RECEIPT);
    rc = wbi_canonical_parse(arena, wbi_str_make(canonical, size), &c, &err);
    if (rc == WB_OK)
        rc = wbi_receipt_render(wbi_builtin_family_of(c.tool_name), &c, arena, &out, &err);
    wbi_arena_free(arena);
    if (rc != WB_OK) {
        wbi_buf_fini(&out);
        err.rc = rc;
        return wbi_api_fail(reterr, &err);
    }
    return wbi_api_give(&out, ret, ret_size, reterr);
}
