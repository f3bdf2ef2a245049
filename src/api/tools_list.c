/* SPDX-License-Identifier: Apache-2.0
 * api/tools_list.c: the tools there are, as JSON. */
#include "api/api_int.h"
#include "base/limits.h"
#include "call/guards.h"
#include "serve/upstreams.h"

static void write_grammar(struct wbi_jw *w, const struct wbi_tool *t)
{
    wbi_jw_key(w, "grammar");
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "syntax", t->grammar_syntax == WBI_GRAMMAR_REGEX ? "regex" : "lark");
    wbi_jw_kstr(w, "definition", t->grammar);
    wbi_jw_obj_end(w);
}

static void write_tool(struct wbi_jw *w, const struct wbi_tool *t)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "modelName", t->model_name);
    wbi_jw_kstr(w, "qualifiedName", t->qualified);
    wbi_jw_kstr(w, "origin", t->origin);
    wbi_jw_kstr(w, "version", t->version);
    if (t->title.p != NULL)
        wbi_jw_kstr(w, "title", t->title);
    wbi_jw_kstr(w, "description", t->description.p ? t->description : WBI_LIT(""));
    wbi_jw_kstrz(w, "effect", wbi_effect_name(t->effect));
    wbi_jw_kbool(w, "parallel", t->parallel);
    wbi_jw_kstrz(w, "inputKind", t->input_kind == WBI_INPUT_TEXT ? "text" : "json");
    if (t->grammar.p != NULL)
        write_grammar(w, t);
    wbi_jw_kstrz(w, "idempotencyKey", t->needs_key ? "required" : "optional");
    if (t->timeout_ms > 0)
        wbi_jw_kint(w, "timeoutMs", t->timeout_ms);
    wbi_jw_kint(w, "budgetTokens", t->budget_tokens);
    wbi_jw_kstrz(w, "family", t->family->name);
    if (t->tags != NULL)
        wbi_jw_kval(w, "tags", t->tags);
    if (t->deprecated.p != NULL)
        wbi_jw_kstr(w, "deprecated", t->deprecated);
    wbi_jw_kval(w, "inputSchema", t->input_schema);
    if (t->output_schema != NULL)
        wbi_jw_kval(w, "outputSchema", t->output_schema);
    wbi_jw_obj_end(w);
}

/* The model name of the tool that any spelling finds; none of them: the name itself. */
static struct wbi_str model_name(const struct wbi_catalog *catalog, const char *name)
{
    const struct wbi_tool *t;

    if (name == NULL || wbi_catalog_resolve(catalog, NULL, NULL, WBI_NONE, wbi_str_z(name),
                                            WBI_NONE, &t, NULL) != WB_OK)
        return wbi_str_z(name);
    return t->model_name;
}

static bool wanted(const struct wbi_tool *t, struct wbi_str name)
{
    return name.p == NULL ? !t->hidden : wbi_str_eq(t->model_name, name);
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static void on_notice(void *arg, const char *text)
{
    wbi_api_notice(arg, "%s", text);
}

static void fetch(void *arg, struct wbi_errand *errand)
{
    if (wbi_upstreams_ready(arg, wbi_errand_done, errand) != WB_OK)
        wbi_errand_done(errand);
}

void wbi_api_fetch_upstreams(wb_runtime *runtime)
{
    bool done = false;

    if (runtime->ups == NULL || wbi_api_showing(runtime))
        return;
    if (runtime->threaded) {
        if (!wbi_loop_here(runtime->rt->loop))
            wbi_api_wait_for_loop(runtime, fetch, runtime->ups);
        return;
    }
    if (runtime->on_notice != NULL)
        wbi_upstreams_notices(runtime->ups, on_notice, runtime);
    if (wbi_upstreams_ready(runtime->ups, set_true, &done) == WB_OK)
        while (!done)
            (void)wbi_loop_turn(runtime->rt->loop, /* wait= */ true);
    if (runtime->on_notice != NULL)
        wbi_upstreams_notices(runtime->ups, NULL, NULL);
}

struct listing {
    struct wbi_runtime *rt;
    const char *principal, *name;
    struct wbi_buf out;
    wb_rc rc;
    struct wbi_error err;
};

static void list(void *arg)
{
    struct listing *l = arg;
    struct wbi_jw w = wbi_jw_to(&l->out);
    struct wbi_catalog *catalog;
    struct wbi_str model;

    l->rc = wbi_runtime_catalog(l->rt, &catalog, &l->err);
    if (l->rc != WB_OK)
        return;
    model = model_name(catalog, l->name);
    wbi_jw_arr(&w);
    for (size_t i = 0; i < wbi_catalog_count(catalog); i++)
        if (wanted(wbi_catalog_at(catalog, i), model) &&
            wbi_guards_lists(l->rt, wbi_str_z(l->principal), wbi_catalog_at(catalog, i)))
            write_tool(&w, wbi_catalog_at(catalog, i));
    wbi_jw_arr_end(&w);
}

wb_rc wb_tools_list(wb_runtime *runtime, const char *principal, const char *name, char **ret,
                    size_t *ret_size, wb_error **reterr)
{
    struct listing l = {.principal = principal, .name = name, .err = WBI_ERROR_INIT};

    if (wbi_api_check(runtime, "wb_tools_list", reterr) != WB_OK)
        return WB_EMISUSE;
    if (ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_tools_list: NULL");
    l.rt = runtime->rt;
    wbi_buf_init(&l.out, WBI_LIMIT_CALL_ARENA);
    wbi_api_fetch_upstreams(runtime);
    wbi_api_with_loop(runtime, list, &l);
    return wbi_api_end(&l.out, l.rc, &l.err, ret, ret_size, reterr);
}
