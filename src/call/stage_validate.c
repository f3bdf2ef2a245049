/* SPDX-License-Identifier: Apache-2.0
 * call/stage_validate.c: VALIDATE, input against its schema (C3.3). Native
 * invocations are strict; input that a model wrote is repaired where only one
 * reading is possible, and the receipt says so. */
#include "base/limits.h"
#include "family/envelope.h"
#include "call/redact.h"
#include "call/stages_int.h"
#include "json/pointer.h"
#include "schema/schema.h"
#include "wire/wire.h"

static void write_error(struct wbi_jw *w, const struct wbi_schema_error *e)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "code", wbi_schema_code_name(e->code));
    wbi_jw_kstr(w, "path", e->path);
    wbi_jw_kstr(w, "message", e->message);
    wbi_jw_obj_end(w);
}

#define ERRORS_SHOWN 5

/* In the words of the envelope format where it has some. */
static struct wbi_str parse_error(struct wbi_call *call, const struct wbi_schema_error *e)
{
    if (e->missing.p == NULL)
        return e->message;
    return wbi_arena_fmt(call->arena, "missing field `%.*s`", WBI_FMT(e->missing));
}

/* A message does not show what is redacted everywhere else. */
static void hide_found(struct wbi_call *call, const wbi_json *v, const wbi_json *redacted,
                       struct wbi_schema_error *e)
{
    const wbi_json *is, *shown;
    size_t kept = e->message.n - e->found.n;

    if (e->found.n == 0 || !wbi_str_ends(e->message, e->found))
        return;
    if (wbi_json_pointer(v, e->path, &is, NULL) == WB_OK &&
        wbi_json_pointer(redacted, e->path, &shown, NULL) == WB_OK && wbi_json_equal(is, shown))
        return;
    e->found = WBI_LIT("a value that is redacted");
    e->message = wbi_arena_fmt(call->arena, "%.*s%.*s", (int)kept, e->message.p, WBI_FMT(e->found));
}

/* The reasons why v does not fit. */
static wb_rc check(struct wbi_call *call, const struct wbi_schema *schema, const wbi_json *v,
                   struct wbi_schema_report *ret, struct wbi_error *err)
{
    const wbi_json *redacted = v;
    wb_rc rc = wbi_schema_check(schema, v, call->arena, ret, err);

    if (rc != WB_OK)
        return rc;
    if (wbi_redact_value(call, v, &redacted) != WB_OK)
        return wbi_fail(err, WB_EIO, "the value could not be redacted");
    for (size_t i = 0; redacted != v && i < ret->n_errors; i++)
        hide_found(call, v, redacted, &ret->errors[i]);
    return WB_OK;
}

/* details: what was expected of the first error, and up to five in all. */
static struct wbi_str write_details(struct wbi_call *call, const struct wbi_schema_report *r)
{
    const struct wbi_schema_error *e = &r->errors[0];
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "tool_name", call->tool->model_name);
    wbi_jw_kstr(&w, "parse_error", parse_error(call, e));
    if (e->path.n > 0)
        wbi_jw_kstr(&w, "path", e->path);
    if (e->missing.p != NULL)
        wbi_jw_kstr(&w, "missingField", e->missing);
    if (e->expected.p != NULL)
        wbi_jw_kstr(&w, "expected", e->expected);
    if (e->accepted.p != NULL)
        wbi_jw_kstr(&w, "accepted", e->accepted);
    if (r->n_errors > 1) {
        wbi_jw_key(&w, "errors");
        wbi_jw_arr(&w);
        for (size_t i = 1; i < r->n_errors && i < ERRORS_SHOWN; i++)
            write_error(&w, &r->errors[i]);
        wbi_jw_arr_end(&w);
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static enum wbi_step refuse(struct wbi_call *call)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_schema_report report;
    struct wbi_fault fault = {.kind = WBI_KIND_INVALID_TOOL_INPUT};
    wb_rc rc = check(call, call->tool->input_compiled, call->inv.input, &report, &err);

    if (rc != WB_OK)
        return wbi_call_fail_error(call, WBI_KIND_INVALID_TOOL_INPUT, &err);
    if (report.valid || report.n_errors == 0)
        return wbi_call_fail(call, WBI_KIND_INTERNAL_ERROR, "the validator disagrees with itself");
    fault.code = wbi_str_z(wbi_schema_code_name(report.errors[0].code));
    fault.message =
        wbi_arena_fmt(call->arena, "input for %.*s does not match the tool schema: %.*s",
                      WBI_FMT(call->tool->model_name), WBI_FMT(report.errors[0].message));
    fault.hint =
        wbi_arena_fmt(call->arena, "provide input for %.*s that matches the published tool schema",
                      WBI_FMT(call->tool->model_name));
    fault.details = write_details(call, &report);
    return wbi_call_fail_fault(call, &fault);
}

#define COERCIONS_SHOWN 300 /* bytes, before the rest is only counted */

/* "/limit: string read as integer; … and 7 more" */
static struct wbi_str describe(struct wbi_call *call, const struct wbi_schema_repair *r)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, call->arena, 4 * WBI_KIB);
    for (size_t i = 0; i < r->n_notes; i++) {
        if (out.n > COERCIONS_SHOWN) {
            wbi_buf_addf(&out, "; and %zu more", r->n_notes - i);
            break;
        }
        if (i > 0)
            wbi_buf_addz(&out, "; ");
        if (r->notes[i].path.n > 0) {
            wbi_buf_adds(&out, r->notes[i].path);
            wbi_buf_addz(&out, ": ");
        }
        wbi_buf_adds(&out, r->notes[i].text);
    }
    return wbi_buf_rc(&out) == WB_ENOMEM ? WBI_NONE : wbi_buf_str(&out);
}

/* C8.6: part of the contract, so it comes before authorization and policies. */
static enum wbi_step check_key(struct wbi_call *call)
{
    struct wbi_fault fault = {.kind = WBI_KIND_INVALID_TOOL_INPUT,
                              .code = WBI_LIT("RequiredMissing"),
                              .details = WBI_LIT("{\"missingField\":\"idempotencyKey\"}")};

    if (!call->inv.native || !call->tool->needs_key ||
        wbi_str_trim(call->inv.idempotency_key).n > 0)
        return WBI_STEP_NEXT;
    fault.message =
        wbi_arena_fmt(call->arena, "%.*s needs idempotencyKey, a text that is not blank",
                      WBI_FMT(call->tool->model_name));
    fault.hint = WBI_LIT("send an idempotencyKey; the same one when the call is repeated");
    return wbi_call_fail_fault(call, &fault);
}

/* C9.1: free text is for tools that take text, or that at least have the member it
 * would come in; not for every schema that lets unknown members pass. */
static bool takes_text(const struct wbi_tool *tool)
{
    return tool->input_kind == WBI_INPUT_TEXT ||
           wbi_json_get(wbi_json_get(tool->input_schema, "properties"), "input") != NULL;
}

static enum wbi_step refuse_text(struct wbi_call *call)
{
    struct wbi_fault fault = {.kind = WBI_KIND_INVALID_TOOL_INPUT, .code = WBI_LIT("InvalidType")};

    fault.message = wbi_arena_fmt(call->arena,
                                  "%.*s takes JSON arguments, not free text; call it as a function",
                                  WBI_FMT(call->tool->model_name));
    fault.hint =
        wbi_arena_fmt(call->arena, "provide input for %.*s that matches the published tool schema",
                      WBI_FMT(call->tool->model_name));
    return wbi_call_fail_fault(call, &fault);
}

enum wbi_step wbi_stage_validate(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    struct wbi_schema_repair repair = {.repaired = false};
    WBI_ERROR_HERE(err);

    if (wire != NULL && wire->is_text && !takes_text(call->tool))
        return refuse_text(call);
    if (wbi_schema_valid(call->tool->input_compiled, call->inv.input))
        return check_key(call);
    if (call->inv.native)
        return refuse(call);
    if (wbi_schema_coerce(call->tool->input_compiled, call->inv.input, call->arena, &repair,
                          &err) != WB_OK ||
        !repair.repaired)
        return refuse(call);
    call->inv.input = repair.value;
    call->facts.coercion = describe(call, &repair);
    return WBI_STEP_NEXT;
}

/* The root without its own __envelope object; root itself when it has none. */
static const wbi_json *without_envelope(struct wbi_arena *arena, const wbi_json *root)
{
    const wbi_json *bare = root;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    if (!wbi_json_is(wbi_json_get(root, WBI_ENVELOPE_KEY), WBI_JSON_OBJ))
        return root;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (root, key) {
        if (wbi_str_eqz(wbi_json_str(key), WBI_ENVELOPE_KEY))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(key));
        wbi_jw_val(&w, key_val);
    }
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&text) != WB_OK ||
        wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &bare, NULL) != WB_OK)
        return root;
    return bare;
}

bool wbi_output_valid(struct wbi_call *call, const wbi_json *output, struct wbi_error *err)
{
    const struct wbi_schema *schema = call->tool->output_compiled;
    struct wbi_schema_report report;
    struct wbi_error inner = WBI_ERROR_INIT;
    const wbi_json *bare;

    if (wbi_schema_valid(schema, output))
        return true;
    /* A root with an envelope of its own is exempt from additionalProperties. */
    bare = without_envelope(call->arena, output);
    if (bare != output && wbi_schema_valid(schema, bare))
        return true;
    if (check(call, schema, bare, &report, &inner) != WB_OK)
        (void)wbi_fail(err, WB_EINPUT, "%s", inner.text);
    else
        (void)wbi_fail(err, WB_EINPUT, "%.*s",
                       WBI_FMT(report.n_errors ? report.errors[0].message : WBI_LIT("unknown")));
    return false;
}
