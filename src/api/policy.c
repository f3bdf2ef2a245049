/* SPDX-License-Identifier: Apache-2.0
 * api/policy.c: explaining and reloading policies, answering approvals. */
#include <poll.h>
#include <unistd.h>

#include "api/api_int.h"
#include "api/ledger_int.h"
#include "base/limits.h"
#include "call/guards.h"
#include "call/reach.h"
#include "control/control.h"
#include "store/store.h"

/* ---- explaining ---- */

static const char *access_name(enum wbi_auth_verdict verdict)
{
    switch (verdict) {
    case WBI_AUTH_ALLOWED:
        return "allowed";
    case WBI_AUTH_ASK:
        return "ask";
    case WBI_AUTH_HIDDEN:
        return "hidden";
    case WBI_AUTH_DENIED:
        break;
    }
    return "denied";
}

static void write_access(struct wbi_jw *w, struct wbi_runtime *rt, const struct wbi_tool *tool,
                         struct wbi_str principal)
{
    struct wbi_auth_answer answer;
    struct wbi_auth_tool t;

    if (tool == NULL) {
        wbi_jw_kstrz(w, "access", "hidden");
        wbi_jw_kstrz(w, "reason", "there is no such tool");
        return;
    }
    t = wbi_guards_tool(tool);
    wbi_authorize(rt->guards->auth, principal, &t, &answer);
    wbi_jw_kstrz(w, "access", access_name(answer.verdict));
    if (answer.verdict == WBI_AUTH_HIDDEN) /* its message is for callers, who may not know */
        wbi_jw_kstrz(w, "reason", "the bindings do not allow it to this principal");
    if (answer.verdict == WBI_AUTH_DENIED)
        wbi_jw_kstrz(w, "reason", answer.message);
}

static wb_rc explain(struct wbi_runtime *rt, struct wbi_str name, struct wbi_str principal,
                     struct wbi_buf *out, struct wbi_error *err)
{
    const struct wbi_policy_effective *effective;
    struct wbi_viewer viewer = wbi_guards_viewer(rt, principal);
    const struct wbi_tool *tool = NULL;
    struct wbi_catalog *catalog;
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc = wbi_runtime_catalog(rt, &catalog, err);

    if (rc != WB_OK)
        return rc;
    rc = wbi_catalog_resolve(catalog, NULL, &viewer, WBI_NONE, name, WBI_NONE, &tool, NULL);
    if (rc == WB_ENOTFOUND) /* hidden perhaps: whoever explains may know */
        rc = wbi_catalog_resolve(catalog, NULL, NULL, WBI_NONE, name, WBI_NONE, &tool, NULL);
    if (rc != WB_OK && rc != WB_ENOTFOUND)
        return wbi_fail(err, rc, "the tool cannot be looked up");
    rc = wbi_policy_effective(rt->guards->policy, tool ? tool->qualified : name, principal,
                              tool && tool->timeout_ms > 0 ? tool->timeout_ms : WBI_NO_LIMIT_MS,
                              &effective);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "tool", tool ? tool->qualified : name);
    wbi_jw_kstr(&w, "principal", principal);
    write_access(&w, rt, tool, principal);
    wbi_jw_key(&w, "values");
    wbi_policy_write_explain(&w, effective);
    wbi_jw_obj_end(&w);
    return WB_OK; /* out says itself whether it has it all */
}

wb_rc wb_policy_explain(wb_runtime *runtime, const char *tool, const char *principal, char **ret,
                        size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    wb_rc rc;

    if (wbi_api_check(runtime, "wb_policy_explain", reterr) != WB_OK)
        return WB_EMISUSE;
    if (tool == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_policy_explain: NULL");
    if (strncmp(tool, "local::", 7) != 0)
        wbi_api_fetch_upstreams(runtime); /* it may be a server's */
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    rc = explain(runtime->rt, wbi_str_z(tool),
                 principal ? wbi_str_z(principal) : runtime->rt->principal, &out, &err);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

/* ---- reloading ---- */

struct reload {
    wb_runtime *runtime;
    struct wbi_error err;
    wb_rc rc;
};

static void reload_here(void *arg)
{
    struct reload *r = arg;

    r->rc = wbi_guards_reload(r->runtime->rt, &r->err);
}

wb_rc wb_runtime_reload(wb_runtime *runtime, wb_error **reterr)
{
    struct reload r = {.runtime = runtime};

    if (wbi_api_check(runtime, "wb_runtime_reload", reterr) != WB_OK)
        return WB_EMISUSE;
    wbi_api_on_loop(runtime, reload_here, &r);
    return r.rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &r.err);
}

static void on_readable(void *arg, int events)
{
    wb_runtime *runtime = arg;
    struct pollfd more = {.fd = runtime->reload_fd, .events = POLLIN};
    wb_error shown = {.e = WBI_ERROR_INIT};
    bool failed;
    char bytes[512];

    (void)events;
    do {
        if (read(runtime->reload_fd, bytes, sizeof(bytes)) <= 0) {
            wbi_watch_free(runtime->reload_watch); /* it ended: nothing more will come */
            runtime->reload_watch = NULL;
            return;
        }
    } while (poll(&more, 1, 0) == 1);
    failed = wbi_guards_reload(runtime->rt, &shown.e) != WB_OK;
    if (runtime->on_reload == NULL)
        return;
    wbi_api_enter(runtime);
    runtime->on_reload(failed ? &shown : NULL, runtime->reload_arg);
    wbi_api_leave(runtime);
}

wb_rc wb_runtime_reload_on(wb_runtime *runtime, int fd, wb_reload_cb on_reload, void *arg,
                           wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc;

    if (runtime == NULL || fd < 0 || runtime->reload_watch != NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE,
                                 "wb_runtime_reload_on: no descriptor, or twice");
    runtime->reload_fd = fd;
    runtime->on_reload = on_reload;
    runtime->reload_arg = arg;
    rc = wbi_watch_new(runtime->rt->loop, fd, on_readable, runtime, &runtime->reload_watch, &err);
    if (rc == WB_OK)
        rc = wbi_watch_set(runtime->reload_watch, WBI_WATCH_READ);
    if (rc == WB_OK && runtime->callers_loop) /* which ends when nothing is under way */
        wbi_watch_background(runtime->reload_watch);
    if (rc == WB_OK)
        return WB_OK;
    err.rc = rc;
    return wbi_api_fail(reterr, &err);
}

/* ---- approvals of this runtime ---- */

struct asked {
    wb_runtime *runtime;
    struct wbi_buf *out;
    const char *id, *who;
    bool granted;
    wb_rc rc;
};

static void list_here(void *arg)
{
    struct asked *a = arg;
    struct wbi_jw w = wbi_jw_to(a->out);

    wbi_approvals_write(a->runtime->rt, &w);
}

wb_rc wb_approvals_list(wb_runtime *runtime, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_buf out;
    struct asked a = {.runtime = runtime, .out = &out};

    if (wbi_api_check(runtime, "wb_approvals_list", reterr) != WB_OK)
        return WB_EMISUSE;
    if (ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_approvals_list: NULL");
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    wbi_api_on_loop(runtime, list_here, &a);
    return wbi_api_give(&out, ret, ret_size, reterr);
}

/* The call's stage is on the stack: what would run the loop must not (showing). */
static void on_asked(void *arg, const struct wbi_approval *approval)
{
    wb_runtime *runtime = arg;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    wbi_approval_write(runtime->rt, approval, &w);
    wbi_buf_addc(&out, '\0');
    if (wbi_buf_rc(&out) == WB_OK) { /* without memory it is still in the list */
        wbi_api_enter(runtime);
        runtime->showing++;
        runtime->on_approval(out.p, out.n - 1, runtime->approval_arg);
        runtime->showing--;
        wbi_api_leave(runtime);
    }
    wbi_buf_fini(&out);
}

void wb_runtime_on_approval(wb_runtime *runtime, wb_approval_cb on_approval, void *arg)
{
    if (runtime == NULL)
        return;
    runtime->on_approval = on_approval;
    runtime->approval_arg = arg;
    runtime->rt->on_asked = on_approval != NULL ? on_asked : NULL;
    runtime->rt->on_asked_arg = runtime;
}

static void resolve_here(void *arg)
{
    struct asked *a = arg;
    struct wbi_runtime *rt = a->runtime->rt;

    a->rc = wbi_approvals_resolve(rt->guards->approvals, wbi_str_z(a->id), a->granted,
                                  wbi_str_z(a->who));
    wbi_guards_arm(rt);
}

static wb_rc answer_of(wb_rc rc, wb_error **reterr)
{
    if (rc == WB_OK)
        return WB_OK;
    return wbi_api_fail_text(reterr, rc,
                             "no call waits for an approval with that id (any more); `waybill "
                             "approve list` shows those that do");
}

wb_rc wb_approval_resolve(wb_runtime *runtime, const char *id, int granted, const char *who,
                          wb_error **reterr)
{
    struct asked a = {.runtime = runtime, .id = id, .who = who, .granted = granted != 0};

    if (wbi_api_check(runtime, "wb_approval_resolve", reterr) != WB_OK)
        return WB_EMISUSE;
    if (id == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_approval_resolve: NULL");
    wbi_api_on_loop(runtime, resolve_here, &a);
    return answer_of(a.rc, reterr);
}

/* ---- approvals of all runtimes ---- */

#define CONTROL_TIMEOUT_MS 2000

struct gathering {
    struct wbi_buf *out; /* of a list */
    size_t n;
    bool resolved;
};

static bool take_list(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                      const struct wbi_error *err)
{
    struct gathering *g = arg;

    (void)instance;
    (void)err;
    if (rc != WB_OK)
        return true; /* it went away, or has no such method */
    WBI_JSON_EACH (result, entry) {
        if (g->n++ > 0)
            wbi_buf_addc(g->out, ',');
        wbi_json_write(g->out, entry);
    }
    return true;
}

static bool take_answer(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                        const struct wbi_error *err)
{
    struct gathering *g = arg;

    (void)instance;
    (void)err;
    g->resolved = rc == WB_OK && wbi_json_true(result);
    return !g->resolved;
}

/* Ask every live runtime of the state directory; without becoming one, which would
 * only wait for its own answer. */
static wb_rc ask_all(const wb_options *options, const char *method, struct wbi_str params,
                     wbi_control_each_fn *each, void *arg, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    wb_ledger *ledger;
    wb_rc rc = wb_ledger_open(options, WB_LEDGER_READ, &ledger, reterr);

    if (rc != WB_OK)
        return rc;
    rc = wbi_control_call(wbi_store_dir(ledger->store)->run_fd, NULL, method, params,
                          CONTROL_TIMEOUT_MS, each, arg, &err);
    wb_ledger_free(ledger);
    return rc == WB_OK || rc == WB_ENOTFOUND ? WB_OK : wbi_api_fail(reterr, &err);
}

wb_rc wb_approvals_list_all(const wb_options *options, char **ret, size_t *ret_size,
                            wb_error **reterr)
{
    struct wbi_buf out;
    struct gathering g = {.out = &out};
    wb_rc rc;

    if (ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_approvals_list_all: NULL");
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addc(&out, '[');
    rc = ask_all(options, "approvals.list", WBI_NONE, take_list, &g, reterr);
    wbi_buf_addc(&out, ']');
    if (rc == WB_OK)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    return rc;
}

wb_rc wb_approval_resolve_any(const wb_options *options, const char *id, int granted,
                              const char *who, wb_error **reterr)
{
    struct gathering g = {.n = 0};
    struct wbi_buf params;
    struct wbi_jw w = wbi_jw_to(&params);
    wb_rc rc;

    if (id == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_approval_resolve_any: id is NULL");
    wbi_buf_init(&params, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "id", id);
    wbi_jw_kbool(&w, "granted", granted != 0);
    if (who != NULL)
        wbi_jw_kstrz(&w, "who", who);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&params) != WB_OK)
        rc = wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    else
        rc = ask_all(options, "approvals.resolve", wbi_buf_str(&params), take_answer, &g, reterr);
    wbi_buf_fini(&params);
    return rc == WB_OK ? answer_of(g.resolved ? WB_OK : WB_ENOTFOUND, reterr) : rc;
}
