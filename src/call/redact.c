/* SPDX-License-Identifier: Apache-2.0
 * call/redact.c: members by name and path, texts by form and known value. */
#include "call/redact.h"

#include "base/limits.h"
#include "call/runtime.h"
#include "text/redact.h"

/* Note the paths, each under where it was found ("output.token"). */
static wb_rc note_paths(struct wbi_call *call, const char *where,
                        const struct wbi_redact_list *list)
{
    struct wbi_str *all;
    size_t n = call->facts.redaction_count;

    if (list->n == 0)
        return WB_OK;
    all = wbi_arena_array(call->arena, n + list->n, sizeof(*all));
    if (all == NULL)
        return WB_ENOMEM;
    if (n > 0)
        memcpy(all, call->facts.redactions, n * sizeof(*all));
    for (size_t i = 0; i < list->n; i++) {
        all[n + i] = wbi_arena_fmt(call->arena, "%s%s%.*s", where, list->path[i].n ? "." : "",
                                   WBI_FMT(list->path[i]));
        if (all[n + i].p == NULL)
            return WB_ENOMEM;
    }
    call->facts.redactions = all;
    call->facts.redaction_count = n + list->n;
    return WB_OK;
}

/* Only what may hold something is rewritten: names and forms are looked for in
 * the text first. */
static wb_rc redact_json(struct wbi_call *call, const char *where, struct wbi_str *text)
{
    struct wbi_redact_list list = {.arena = call->arena};
    const wbi_json *v;
    struct wbi_buf out;
    wb_rc rc;

    if (text->p == NULL)
        return WB_OK;
    rc = wbi_json_read(call->arena, *text, WBI_JSON_STRICT, &v, NULL);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_redact_json(call->runtime->secrets, call->runtime->redact_rules, v, &out, &list);
    if (rc != WB_OK)
        return rc;
    if (list.n == 0)
        return WB_OK; /* keep the text as it is */
    *text = wbi_buf_str(&out);
    return note_paths(call, where, &list);
}

static wb_rc redact_text(struct wbi_call *call, const char *where, struct wbi_str *text)
{
    static const struct wbi_str whole = {"", 0};
    struct wbi_redact_list list = {call->arena, &whole, 1};
    struct wbi_buf out;
    wb_rc rc;

    if (text->n == 0 || !wbi_secrets_found(call->runtime->secrets, *text))
        return WB_OK;
    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_secrets_replace(call->runtime->secrets, *text, &out, NULL);
    if (rc != WB_OK)
        return rc;
    *text = wbi_buf_str(&out);
    return note_paths(call, where, &list);
}

wb_rc wbi_redact_outcome(struct wbi_call *call)
{
    struct wbi_outcome *o = &call->outcome;
    bool same = o->output.p == o->result.p && o->output.n == o->result.n;
    wb_rc rc = redact_text(call, "summary_text", &o->summary);

    if (rc == WB_OK && o->state == WBI_OUTCOME_SUCCESS) {
        rc = redact_json(call, "output", &o->result);
        if (same)
            o->output = o->result;
        else if (rc == WB_OK)
            rc = redact_json(call, "output", &o->output);
    } else if (rc == WB_OK) {
        rc = redact_text(call, "error.message", &o->fault.message);
        if (rc == WB_OK)
            rc = redact_json(call, "error.details", &o->fault.details);
        for (size_t i = 0; rc == WB_OK && i < o->fault.cause_count; i++)
            rc = redact_text(call, "error.causedBy", &o->fault.causes[i].message);
    }
    return rc;
}

wb_rc wbi_redacted_invocation(struct wbi_call *call, struct wbi_str *ret)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = WB_OK;

    if (call->redacted_invocation.p == NULL) {
        wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_CALL_ARENA);
        wbi_invocation_write(&w, &call->inv, WBI_NONE);
        if (wbi_buf_rc(&out) != WB_OK)
            return wbi_buf_rc(&out);
        call->redacted_invocation = wbi_buf_str(&out);
        rc = redact_json(call, "invocation", &call->redacted_invocation);
    }
    *ret = call->redacted_invocation;
    return rc;
}
