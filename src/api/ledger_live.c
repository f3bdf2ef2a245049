/* SPDX-License-Identifier: Apache-2.0
 * api/ledger_live.c: asking the runtimes at work, through their sockets. */
#include "api/ledger_int.h"
#include "base/limits.h"
#include "control/control.h"

/* A live runtime answers at once; one that is stopped or stuck is left out. */
#define ANSWER_MS 2000

struct gathered {
    struct wbi_jw w;
    bool lists; /* each answer is an array */
};

static void write_one(struct wbi_jw *w, const char *instance, const wbi_json *v)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "instance", instance);
    WBI_JSON_EACH_MEMBER (v, key) {
        if (!wbi_str_eqz(wbi_json_str(key), "instance")) {
            wbi_jw_keyn(w, wbi_json_str(key));
            wbi_jw_val(w, key_val);
        }
    }
    wbi_jw_obj_end(w);
}

static bool gather(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                   const struct wbi_error *err)
{
    struct gathered *g = arg;

    (void)err;
    if (rc != WB_OK)
        return true;
    if (!g->lists) {
        write_one(&g->w, instance, result);
        return true;
    }
    WBI_JSON_EACH (result, item) {
        write_one(&g->w, instance, item);
    }
    return true;
}

static wb_rc ask_all(wb_ledger *l, const char *method, bool lists, char **ret, size_t *ret_size,
                     wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct gathered g = {.lists = lists};
    struct wbi_buf out;
    wb_rc rc;

    if (l == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_live_calls, wb_live_health: NULL");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    g.w = wbi_jw_to(&out);
    wbi_jw_arr(&g.w);
    rc = wbi_control_call(wbi_store_dir(l->store)->run_fd, NULL, method, WBI_NONE, ANSWER_MS,
                          gather, &g, &err);
    wbi_jw_arr_end(&g.w);
    if (rc == WB_OK || rc == WB_ENOTFOUND) /* nobody at work: an empty list */
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_live_calls(wb_ledger *l, char **ret, size_t *ret_size, wb_error **reterr)
{
    return ask_all(l, "calls.list", true, ret, ret_size, reterr);
}

wb_rc wb_live_health(wb_ledger *l, char **ret, size_t *ret_size, wb_error **reterr)
{
    return ask_all(l, "health", false, ret, ret_size, reterr);
}

struct cancel {
    struct wbi_str id;
    bool done, own;
    size_t calls; /* that have the id from their caller, in all processes */
    struct wbi_error err;
};

static bool count_calls(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                        const struct wbi_error *err)
{
    struct cancel *c = arg;

    (void)instance;
    (void)err;
    if (rc != WB_OK)
        return true;
    WBI_JSON_EACH (result, call) {
        if (wbi_str_eq(wbi_json_get_str(call, "id"), c->id))
            c->own = true;
        if (wbi_str_eq(wbi_json_get_str(call, "callId"), c->id))
            c->calls++;
    }
    return true;
}

static bool take_cancel(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                        const struct wbi_error *err)
{
    struct cancel *c = arg;

    (void)instance;
    (void)result;
    if (rc == WB_OK)
        c->done = true;
    else if (err->kind == WBI_KIND_MALFORMED_CALL) /* ambiguous there: worth saying */
        (void)wbi_fail(&c->err, WB_EINPUT, "%s", err->text);
    return !c->done;
}

/* A caller's id may be that of calls in several processes: none of them is the one meant. */
static wb_rc check_single(wb_ledger *l, struct cancel *c, struct wbi_error *err)
{
    wb_rc rc = wbi_control_call(wbi_store_dir(l->store)->run_fd, NULL, "calls.list", WBI_NONE,
                                ANSWER_MS, count_calls, c, err);

    if (rc == WB_OK && !c->own && c->calls > 1)
        return wbi_fail(err, WB_EINPUT,
                        "%zu calls in flight have the id %.*s; name one by its own, call_… "
                        "(`waybill calls list`)",
                        c->calls, WBI_FMT(wbi_str_head(c->id, 80)));
    return rc;
}

wb_rc wb_live_cancel(wb_ledger *l, const char *id, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct cancel c = {.id = wbi_str_z(id), .err = WBI_ERROR_INIT};
    struct wbi_buf params;
    struct wbi_jw w = wbi_jw_to(&params);
    wb_rc rc;

    if (l == NULL || id == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_live_cancel: NULL");
    rc = wbi_ledger_refresh(l, /* to_write= */ false, reterr);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init(&params, WBI_LIMIT_CONTROL_LINE);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "id", id);
    wbi_jw_obj_end(&w);
    rc = wbi_buf_rc(&params);
    if (rc == WB_OK)
        rc = check_single(l, &c, &err);
    if (rc == WB_OK)
        rc = wbi_control_call(wbi_store_dir(l->store)->run_fd, NULL, "calls.cancel",
                              wbi_buf_str(&params), ANSWER_MS, take_cancel, &c, &err);
    wbi_buf_fini(&params);
    if (rc == WB_OK && !c.done && c.err.rc != WB_OK)
        err = c.err;
    else if (rc == WB_ENOTFOUND || (rc == WB_OK && !c.done))
        (void)wbi_fail(&err, WB_ENOTFOUND, "no call in flight has the id %.80s", id);
    else if (rc == WB_OK)
        return WB_OK;
    return wbi_api_fail(reterr, &err);
}
