/* SPDX-License-Identifier: Apache-2.0
 * call/stored.c */
#include "call/stored.h"

#include "base/limits.h"
#include "call/redact.h"
#include "call/views.h"
#include "family/canonical.h"

/* What passes as it came does so again; large images are left to their artifacts. */
static void put_raw(struct wbi_jw *w, const struct wbi_call *call)
{
    struct wbi_str raw = wbi_call_untouched(call);

    if (raw.p == NULL || raw.n > WBI_LIMIT_STORED_RAW)
        return;
    wbi_jw_kraw(w, "raw", raw);
    if (call->complete != NULL && call->complete->loose)
        wbi_jw_kbool(w, "loose", true);
}

/* What the canonical form does not have of an error. */
static void put_error(struct wbi_jw *w, const struct wbi_fault *f)
{
    wbi_jw_kstr(w, "code", wbi_fault_code(f));
    if (f->cause_count == 0)
        return;
    wbi_jw_key(w, "causes");
    wbi_jw_arr(w);
    for (size_t i = 0; i < f->cause_count; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "kind", wbi_kind_row(f->causes[i].kind)->kind);
        if (f->causes[i].code.p != NULL)
            wbi_jw_kstr(w, "code", f->causes[i].code);
        wbi_jw_kstr(w, "message", f->causes[i].message);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

/* What was removed from the outcome; of its invocation and frames another call has its own. */
static void put_redactions(struct wbi_jw *w, const struct wbi_call_facts *facts)
{
    wbi_jw_key(w, "redactions");
    wbi_jw_arr(w);
    for (size_t i = 0; i < facts->redaction_count; i++)
        if (!wbi_str_starts(facts->redactions[i], WBI_LIT("invocation")) &&
            !wbi_str_starts(facts->redactions[i], WBI_LIT("frames")))
            wbi_jw_str(w, facts->redactions[i]);
    wbi_jw_arr_end(w);
}

struct wbi_str wbi_stored_write(struct wbi_call *call, bool whole)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc;

    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_CALL_ARENA);
    wbi_jw_obj(&w);
    if (whole && call->outcome.output.p != NULL)
        wbi_jw_kraw(&w, "output", call->outcome.output);
    if (whole)
        put_raw(&w, call);
    if (call->outcome.state == WBI_OUTCOME_ERROR)
        put_error(&w, &call->outcome.fault);
    if (call->facts.redaction_count > 0)
        put_redactions(&w, &call->facts);
    wbi_jw_key(&w, "canonical");
    rc = wbi_view_canonical(&call->outcome, wbi_call_tool_name(call), &out);
    wbi_buf_addc(&out, '}');
    return rc == WB_OK && wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static struct wbi_str text_of(struct wbi_call *call, const wbi_json *v)
{
    struct wbi_buf out;

    if (v == NULL)
        return WBI_NONE;
    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_CALL_ARENA);
    wbi_json_write(&out, v);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static wb_rc restore_error(struct wbi_call *call, const wbi_json *root, const wbi_json *error)
{
    bool retryable = wbi_json_true(wbi_json_get(error, "retryable"));
    struct wbi_fault fault = {.kind = wbi_kind_by_name(wbi_json_get_str(error, "kind")),
                              .code = wbi_json_get_str(root, "code"),
                              .message = wbi_json_get_str(error, "message"),
                              .details = text_of(call, wbi_json_get(error, "details")),
                              .hint = wbi_json_get_str(error, "recovery_hint"),
                              .retryable = retryable ? WBI_RETRYABLE_YES : WBI_RETRYABLE_NO};

    WBI_JSON_EACH (wbi_json_get(root, "causes"), c)
        wbi_fault_cause(&fault, wbi_kind_by_name(wbi_json_get_str(c, "kind")),
                        wbi_json_get_str(c, "code"), wbi_json_get_str(c, "message"));
    return wbi_outcome_fail(&call->outcome, call->arena, &fault);
}

wb_rc wbi_stored_restore(struct wbi_call *call, struct wbi_str bytes)
{
    struct wbi_str kept = wbi_arena_str(call->arena, bytes), result;
    struct wbi_canonical c;
    const wbi_json *root = NULL;
    wb_rc rc;

    if (kept.p == NULL)
        return bytes.p ? WB_ENOMEM : WB_ENOTFOUND;
    rc = wbi_json_read(call->arena, kept, WBI_JSON_STRICT, &root, NULL);
    if (rc == WB_OK)
        rc = wbi_canonical_read(wbi_json_get(root, "canonical"), &c, NULL);
    WBI_JSON_EACH (wbi_json_get(root, "redactions"), path) {
        if (rc == WB_OK)
            rc = wbi_redact_note(call, wbi_json_str(path));
    }
    if (rc != WB_OK)
        return rc;
    call->facts.kept_raw = text_of(call, wbi_json_get(root, "raw"));
    call->facts.kept_loose = wbi_json_true(wbi_json_get(root, "loose"));
    if (!c.success)
        return restore_error(call, root, c.error);
    result = text_of(call, c.result);
    if (result.p == NULL)
        return WB_ENOMEM;
    return wbi_outcome_succeed(&call->outcome, call->arena, c.summary, result,
                               text_of(call, wbi_json_get(root, "output")));
}
