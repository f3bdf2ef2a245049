/* SPDX-License-Identifier: Apache-2.0
 * call/reach.c: approvals by the control socket. */
#include "call/reach.h"

#include "base/limits.h"
#include "call/control.h"
#include "call/guards.h"

/* An object also where only a part of it is kept. */
static void write_invocation(struct wbi_jw *w, const struct wbi_approval *a)
{
    if (a->text.n == a->text_size) {
        wbi_jw_kraw(w, "invocation", a->text);
        return;
    }
    wbi_jw_key(w, "invocation");
    wbi_jw_obj(w);
    wbi_jw_kint(w, "bytes", (int64_t)a->text_size);
    wbi_jw_kstr(w, "preview", a->text);
    wbi_jw_obj_end(w);
}

void wbi_approval_write(struct wbi_runtime *rt, const struct wbi_approval *a, struct wbi_jw *w)
{
    int64_t now = wbi_now_ns(&rt->clock);

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "id", a->id);
    wbi_jw_kstr(w, "tool", a->tool);
    wbi_jw_kstr(w, "principal", a->principal);
    write_invocation(w, a);
    wbi_jw_kint(w, "ageMs", (now - a->created_ns) / WBI_NS_PER_MS);
    wbi_jw_kint(w, "expiresInMs", wbi_ms_up(a->deadline_ns - now));
    wbi_jw_obj_end(w);
}

void wbi_approvals_write(struct wbi_runtime *rt, struct wbi_jw *w)
{
    struct wbi_approvals *pending = rt->guards->approvals;

    wbi_jw_arr(w);
    for (size_t i = 0; i < wbi_approvals_count(pending); i++)
        wbi_approval_write(rt, wbi_approvals_at(pending, i), w);
    wbi_jw_arr_end(w);
}

static void on_list(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);
    struct wbi_error err = WBI_ERROR_INIT;

    (void)params;
    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    wbi_approvals_write(arg, &w);
    if (wbi_buf_rc(&text) == WB_OK) {
        wbi_control_answer(request, wbi_buf_str(&text));
    } else {
        (void)wbi_fail_nomem(&err);
        wbi_control_refuse(request, &err);
    }
    wbi_buf_fini(&text);
}

static void on_resolve(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_runtime *rt = arg;
    struct wbi_str id = wbi_json_get_str(params, "id"), who = wbi_json_get_str(params, "who");
    const wbi_json *granted = wbi_json_get(params, "granted");
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    if (id.p == NULL || !wbi_json_is(granted, WBI_JSON_BOOL)) {
        (void)wbi_fail_kind(&err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                            "approvals.resolve needs id, a text, and granted, true or false");
        wbi_control_refuse(request, &err);
        return;
    }
    rc = wbi_approvals_resolve(rt->guards->approvals, id, wbi_json_true(granted), who);
    wbi_guards_arm(rt);
    wbi_control_answer(request, rc == WB_OK ? WBI_LIT("true") : WBI_LIT("false"));
}

wb_rc wbi_reach_offer(struct wbi_runtime *rt, struct wbi_error *err)
{
    wb_rc rc = wbi_runtime_control_method(rt, "approvals.list", on_list, rt, err);

    if (rc == WB_OK)
        rc = wbi_runtime_control_method(rt, "approvals.resolve", on_resolve, rt, err);
    return rc;
}

void wbi_reach_open(struct wbi_runtime *rt)
{
    if (!rt->no_ledger && wbi_runtime_open_ledger(rt, NULL) != WB_OK)
        return; /* RECORD will tell; the call can still be answered from inside */
}
