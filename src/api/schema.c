/* SPDX-License-Identifier: Apache-2.0
 * api/schema.c: compiling and asking schemas through waybill/schema.h. */
#include "api/api_int.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "schema/schema.h"

struct wb_schema {
    struct wbi_schema *compiled;
};

/* One compilation: documents live in its arena. */
struct compiling {
    struct wbi_arena *arena;
    const wb_schema_options *given;
    struct wbi_error broken; /* a document that was given and is no JSON */
};

static const wbi_json *remote(void *arg, struct wbi_str uri)
{
    struct compiling *c = arg;
    const wbi_json *root = NULL;
    char *name = wbi_arena_strz(c->arena, uri);
    const char *text = NULL;
    size_t size = 0;

    if (name == NULL || c->given->remote(name, &text, &size, c->given->arg) == 0)
        return NULL;
    if (wbi_json_read(c->arena, wbi_str_make(text, size), WBI_JSON_STRICT, &root, &c->broken) !=
        WB_OK) {
        wbi_error_at(&c->broken, uri);
        return NULL;
    }
    return root;
}

static bool read_draft(struct wbi_str name, enum wbi_schema_draft *ret)
{
    static const struct {
        const char *name;
        enum wbi_schema_draft draft;
    } names[] = {{"2020-12", WBI_SCHEMA_2020_12},       {"draft2020-12", WBI_SCHEMA_2020_12},
                 {"draft-2020-12", WBI_SCHEMA_2020_12}, {"7", WBI_SCHEMA_DRAFT_07},
                 {"07", WBI_SCHEMA_DRAFT_07},           {"draft7", WBI_SCHEMA_DRAFT_07},
                 {"draft-07", WBI_SCHEMA_DRAFT_07}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (wbi_str_eqz(name, names[i].name)) {
            *ret = names[i].draft;
            return true;
        }
    }
    return false;
}

static wb_rc compile(struct compiling *c, const wbi_json *schema, struct wbi_str draft, bool format,
                     struct wbi_schema **ret, struct wbi_error *err)
{
    struct wbi_schema_options opt = {.format_assert = format, .arg = c};
    wb_rc rc;

    if (draft.p != NULL && !read_draft(draft, &opt.draft))
        return wbi_fail(err, WB_EINPUT, "draft must be 2020-12 or 7; got \"%.*s\"",
                        WBI_FMT(wbi_str_head(draft, 40)));
    if (c->given->remote != NULL)
        opt.remote = remote;
    rc = wbi_schema_compile(schema, &opt, ret, err);
    if (rc != WB_OK && rc != WB_ENOMEM && c->broken.rc != WB_OK) {
        *err = c->broken; /* the cause, not that it was missed */
        return err->rc;
    }
    return rc;
}

static const wb_schema_options no_options;

wb_rc wb_schema_compile(const char *schema, size_t size, const wb_schema_options *options,
                        wb_schema **ret, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct compiling c = {.given = options ? options : &no_options, .broken = WBI_ERROR_INIT};
    struct wbi_schema *compiled = NULL;
    const wbi_json *root;
    wb_rc rc;

    if (schema == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_schema_compile: NULL");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &c.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    rc = wbi_json_read(c.arena, wbi_str_make(schema, size), WBI_JSON_STRICT, &root, &err);
    if (rc == WB_OK)
        rc = compile(&c, root, wbi_str_z(c.given->draft), c.given->format != 0, &compiled, &err);
    wbi_arena_free(c.arena);
    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    *ret = wbi_alloc(sizeof(**ret));
    if (*ret == NULL) {
        wbi_schema_free(compiled);
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    }
    (*ret)->compiled = compiled;
    return WB_OK;
}

void wb_schema_free(wb_schema *schema)
{
    if (schema == NULL)
        return;
    wbi_schema_free(schema->compiled);
    wbi_free(schema);
}

static void write_present(struct wbi_jw *w, const char *name, struct wbi_str s)
{
    if (s.p != NULL)
        wbi_jw_kstr(w, name, s);
}

static void write_errors(struct wbi_jw *w, const struct wbi_schema_report *r)
{
    wbi_jw_key(w, "errors");
    wbi_jw_arr(w);
    for (size_t i = 0; i < r->n_errors; i++) {
        const struct wbi_schema_error *e = &r->errors[i];

        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "code", wbi_schema_code_name(e->code));
        wbi_jw_kstr(w, "path", e->path);
        wbi_jw_kstr(w, "keyword", e->keyword);
        wbi_jw_kstr(w, "schemaPath", e->schema_path);
        write_present(w, "expected", e->expected);
        write_present(w, "found", e->found);
        write_present(w, "accepted", e->accepted);
        write_present(w, "missingField", e->missing);
        wbi_jw_kstr(w, "message", e->message);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    if (r->more)
        wbi_jw_kbool(w, "more", true);
}

wb_rc wb_schema_check(const wb_schema *schema, const char *instance, size_t size, int *ret_valid,
                      char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_report report;
    struct wbi_arena *arena;
    const wbi_json *v;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc;

    if (schema == NULL || instance == NULL || ret_valid == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_schema_check: NULL");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_json_read(arena, wbi_str_make(instance, size), WBI_JSON_STRICT, &v, &err);
    if (rc == WB_OK)
        rc = wbi_schema_check(schema->compiled, v, arena, &report, &err);
    if (rc == WB_OK) {
        wbi_jw_obj(&w);
        wbi_jw_kbool(&w, "valid", report.valid);
        write_errors(&w, &report);
        wbi_jw_obj_end(&w);
        *ret_valid = report.valid;
    }
    wbi_arena_free(arena);
    if (rc == WB_OK && ret != NULL)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

/* ---- schema run ---- */

struct run_line {
    struct compiling c;
    struct wbi_buf *out;
    bool judged;
};

/* No verdict is said as such, with the reason where errors stand. */
static void write_no_verdict(struct wbi_jw *w, const wbi_json *line, const struct wbi_error *err)
{
    bool complete = wbi_json_get(line, "schema") != NULL && wbi_json_get(line, "instance") != NULL;

    wbi_jw_knull(w, "valid");
    wbi_jw_key(w, "errors");
    wbi_jw_arr(w);
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "code",
                 err->rc == WB_ELIMIT ? "LimitReached"
                 : complete           ? "BadSchema"
                                      : "BadLine");
    wbi_jw_kstrz(w, "path", err->at);
    wbi_jw_kstrz(w, "message", err->text);
    wbi_jw_obj_end(w);
    wbi_jw_arr_end(w);
}

static wb_rc judge(struct run_line *l, const wbi_json *line, struct wbi_schema_report *ret,
                   struct wbi_error *err)
{
    const wbi_json *schema = wbi_json_get(line, "schema");
    const wbi_json *instance = wbi_json_get(line, "instance");
    const wbi_json *draft = wbi_json_get(line, "draft");
    const wbi_json *format = wbi_json_get(line, "format");
    struct wbi_str name = draft ? wbi_json_str(draft) : wbi_str_z(l->c.given->draft);
    struct wbi_schema *compiled;
    int64_t number;
    wb_rc rc;

    if (schema == NULL || instance == NULL)
        return wbi_fail(err, WB_EINPUT,
                        "a line is an object with schema and instance, and id, draft, format");
    if (wbi_json_i64(draft, &number))
        name = number == 7 ? WBI_LIT("7") : WBI_LIT("?");
    rc = compile(&l->c, schema, name, format ? wbi_json_true(format) : l->c.given->format != 0,
                 &compiled, err);
    if (rc != WB_OK)
        return rc;
    rc = wbi_schema_check(compiled, instance, l->c.arena, ret, err);
    wbi_schema_free(compiled);
    return rc;
}

static wb_rc run_line(struct run_line *l, struct wbi_str text)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_report report;
    struct wbi_jw w = wbi_jw_to(l->out);
    const wbi_json *line = NULL;
    wb_rc rc = wbi_json_read(l->c.arena, text, WBI_JSON_STRICT, &line, &err);

    if (rc == WB_OK)
        rc = judge(l, line, &report, &err);
    if (rc == WB_ENOMEM)
        return rc;
    wbi_jw_obj(&w);
    wbi_jw_kval(&w, "id", wbi_json_get(line, "id"));
    if (rc == WB_OK) {
        wbi_jw_kbool(&w, "valid", report.valid);
        write_errors(&w, &report);
    } else {
        write_no_verdict(&w, line, &err);
    }
    wbi_jw_obj_end(&w);
    l->judged = rc == WB_OK;
    return WB_OK;
}

wb_rc wb_schema_run(const char *line, size_t size, const wb_schema_options *options,
                    int *ret_judged, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_buf out;
    struct run_line l = {.c = {.given = options ? options : &no_options, .broken = WBI_ERROR_INIT},
                         .out = &out};
    wb_rc rc;

    if (line == NULL || ret_judged == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_schema_run: NULL");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &l.c.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = run_line(&l, wbi_str_make(line, size));
    wbi_arena_free(l.c.arena);
    if (rc == WB_OK) {
        *ret_judged = l.judged;
        return wbi_api_give(&out, ret, ret_size, reterr);
    }
    wbi_buf_fini(&out);
    return wbi_api_fail_text(reterr, rc, "out of memory");
}
