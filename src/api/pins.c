/* SPDX-License-Identifier: Apache-2.0
 * api/pins.c: looking at pins and deciding about them. */
#include "api/api_int.h"
#include "base/limits.h"
#include "config/config.h"
#include "json/write.h"
#include "serve/pin_files.h"

struct pins {
    struct wbi_arena *arena;
    struct wbi_pin_files files;
    struct wbi_pin_sheet *sheet; /* of the server that was named, else NULL */
    struct wbi_pin_store store;
    struct wbi_str server, tool;
};

/* name: "SERVER/TOOL", where whole also "SERVER"; NULL: all servers. */
static wb_rc open_pins(wb_runtime *runtime, const char *name, bool whole, bool to_write,
                       struct pins *p, struct wbi_error *err)
{
    struct wbi_str key = wbi_str_z(name);
    size_t slash = wbi_str_index(key, '/');
    bool good = name == NULL || (slash > 0 && (slash + 1 < key.n || (whole && slash == key.n)));
    wb_rc rc;

    if (runtime == NULL)
        return wbi_fail(err, WB_EMISUSE, "there is no runtime");
    if (!good)
        return wbi_fail(err, WB_EINPUT, "name a pin as SERVER/TOOL; got \"%.80s\"", name);
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &p->arena) != WB_OK)
        return wbi_fail_nomem(err);
    p->sheet = NULL;
    p->server = wbi_str_head(key, slash);
    p->tool = wbi_str_from(key, slash + 1);
    rc = wbi_pin_files_open(p->arena, runtime->rt, &p->files, err);
    if (rc == WB_OK && name != NULL)
        rc = wbi_pin_sheet_open(&p->files, p->arena, p->server, to_write, &p->sheet, err);
    if (rc != WB_OK)
        wbi_arena_free(p->arena);
    else if (p->sheet != NULL)
        p->store = wbi_pin_sheet_store(p->sheet);
    return rc;
}

static bool is_configured(const struct wbi_runtime *rt, struct wbi_str server)
{
    const struct wbi_config_server *servers;
    size_t n = rt->made_of != NULL ? wbi_config_servers(rt->made_of, &servers) : 0;

    while (n > 0 && !wbi_str_eq(servers[n - 1].name, server))
        n--;
    return n > 0;
}

/* Whether a server has told its tools at all. */
struct seen {
    const struct pins *p;
    bool any;
};

static void look(void *arg, const struct wbi_pin *pin)
{
    struct seen *seen = arg;

    seen->any |= wbi_str_eq(pin->server, seen->p->server);
}

/* Whoever asks for a workspace's server may be in another folder; and nobody may have asked one
 * that is new for its tools. */
static void say_where(const struct pins *p, struct wbi_error *err)
{
    struct seen seen = {.p = p};
    struct wbi_error why = *err;

    if (!is_configured(p->files.rt, p->server))
        (void)wbi_fail(err, why.rc,
                       "%s, and no server %.*s is configured here; name the workspace "
                       "of one with --root",
                       why.text, WBI_FMT(p->server));
    else if (wbi_pin_files_each(&p->files, look, &seen, NULL) == WB_OK && !seen.any)
        (void)wbi_fail(err, why.rc,
                       "%s: its tools were not seen yet; `waybill tools list` asks for them",
                       why.text);
}

/* What was decided counts when it is written. */
static wb_rc close_pins(struct pins *p, wb_rc rc, struct wbi_error *err)
{
    wb_rc closed =
        p->sheet != NULL ? wbi_pin_sheet_close(p->sheet, NULL, rc == WB_OK ? err : NULL) : WB_OK;

    if (rc == WB_ENOTFOUND)
        say_where(p, err);
    wbi_arena_free(p->arena);
    return rc == WB_OK ? closed : rc;
}

static void write_pin(void *arg, const struct wbi_pin *pin)
{
    struct wbi_jw *w = arg;
    const wbi_json *accepted = wbi_json_get(pin->value, "accepted");
    const wbi_json *pending = wbi_json_get(pin->value, "pending");

    wbi_jw_obj(w);
    wbi_jw_kstr(w, "server", pin->server);
    wbi_jw_kstr(w, "tool", pin->tool);
    wbi_jw_kstrz(w, "state",
                 wbi_pin_is_refused(pending) ? wbi_pin_state_name(WBI_PIN_REFUSED)
                 : pending == NULL           ? wbi_pin_state_name(WBI_PIN_ACCEPTED)
                 : accepted == NULL          ? wbi_pin_state_name(WBI_PIN_NEW)
                                             : wbi_pin_state_name(WBI_PIN_CHANGED));
    wbi_jw_kval(w, "hash", wbi_json_get(accepted, "hash"));
    wbi_jw_kval(w, "pendingHash", wbi_json_get(pending, "hash"));
    wbi_jw_kval(w, "since", wbi_json_get(pending != NULL ? pending : accepted, "at"));
    if (pin->workspace.p != NULL)
        wbi_jw_kstr(w, "workspace", pin->workspace);
    wbi_jw_obj_end(w);
}

wb_rc wb_pins_list(wb_runtime *runtime, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct pins p;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = ret != NULL ? open_pins(runtime, NULL, false, false, &p, &err)
                           : wbi_fail(&err, WB_EMISUSE, "wb_pins_list: ret is NULL");

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    wbi_jw_arr(&w);
    rc = wbi_pin_files_each(&p.files, write_pin, &w, &err);
    wbi_jw_arr_end(&w);
    rc = close_pins(&p, rc, &err);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

wb_rc wb_pins_diff(wb_runtime *runtime, const char *name, char **ret, size_t *ret_size,
                   wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    struct pins p;
    wb_rc rc = ret != NULL ? open_pins(runtime, name != NULL ? name : "", false, false, &p, &err)
                           : wbi_fail(&err, WB_EMISUSE, "wb_pins_diff: ret is NULL");

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_pin_diff(&p.store, p.server, p.tool, p.arena, &out, &err);
    rc = close_pins(&p, rc, &err);
    return wbi_api_end(&out, rc, &err, ret, ret_size, reterr);
}

/* Every pin of one server that waits and was not refused. */
struct approving {
    struct pins *p;
    int64_t wall_ms;
    size_t n;
    wb_rc rc;
    struct wbi_error *err;
};

static void approve_one(void *arg, const struct wbi_pin *pin)
{
    struct approving *all = arg;
    struct pins *p = all->p;
    const wbi_json *pending = wbi_json_get(pin->value, "pending");

    if (all->rc != WB_OK || pending == NULL || wbi_pin_is_refused(pending) ||
        !wbi_str_eq(pin->server, p->server) ||
        !wbi_str_eq(pin->workspace, wbi_pin_files_workspace(&p->files, p->server)))
        return;
    all->rc = wbi_pin_approve(&p->store, p->server, pin->tool, WBI_NONE, all->wall_ms, p->arena,
                              all->err);
    all->n++;
}

static wb_rc approve(struct pins *p, struct wbi_str hash, int64_t wall_ms, struct wbi_error *err)
{
    struct approving all = {.p = p, .wall_ms = wall_ms, .err = err};
    wb_rc rc;

    if (p->tool.n > 0)
        return wbi_pin_approve(&p->store, p->server, p->tool, hash, wall_ms, p->arena, err);
    if (hash.p != NULL)
        return wbi_fail(err, WB_EINPUT, "a hash is of one tool: name it as SERVER/TOOL");
    rc = wbi_pin_files_each(&p->files, approve_one, &all, err);
    if (rc == WB_OK)
        rc = all.rc;
    if (rc == WB_OK && all.n == 0)
        return wbi_fail(err, WB_ENOTFOUND, "nothing waits for approval at %.*s",
                        WBI_FMT(p->server));
    return rc;
}

wb_rc wb_pins_approve(wb_runtime *runtime, const char *name, const char *hash, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct pins p;
    wb_rc rc = open_pins(runtime, name != NULL ? name : "", true, true, &p, &err);

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    rc = approve(&p, wbi_str_z(hash), wbi_wall_ms(&runtime->rt->clock), &err);
    rc = close_pins(&p, rc, &err);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

/* The record says so as long as the definition stays: what was forgotten would wait again
 * when the server is listed next, and be approved with everything else. */
static wb_rc reject(struct pins *p, struct wbi_str key, struct wbi_error *err)
{
    struct wbi_str text;
    const wbi_json *record = NULL, *accepted, *pending;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = p->store.get(p->store.arg, key, p->arena, &text, err);

    if (rc == WB_OK)
        rc = wbi_json_read(p->arena, text, WBI_JSON_STRICT, &record, err);
    accepted = wbi_json_get(record, "accepted");
    pending = wbi_json_get(record, "pending");
    if (rc == WB_ENOTFOUND || (rc == WB_OK && pending == NULL))
        return wbi_fail(err, WB_ENOTFOUND, "nothing waits for approval at %.*s", WBI_FMT(key));
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&out, p->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (accepted != NULL)
        wbi_jw_kval(&w, "accepted", accepted);
    wbi_jw_key(&w, "pending");
    wbi_jw_obj(&w);
    wbi_jw_kval(&w, "hash", wbi_json_get(pending, "hash"));
    wbi_jw_kval(&w, "at", wbi_json_get(pending, "at"));
    wbi_jw_kbool(&w, "refused", true);
    wbi_jw_kval(&w, "tool", wbi_json_get(pending, "tool"));
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&out) != WB_OK)
        return wbi_fail_nomem(err);
    return p->store.put(p->store.arg, key, wbi_buf_str(&out), err);
}

wb_rc wb_pins_reject(wb_runtime *runtime, const char *name, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct pins p;
    wb_rc rc = open_pins(runtime, name != NULL ? name : "", false, true, &p, &err);

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    rc = reject(&p, wbi_str_z(name), &err);
    rc = close_pins(&p, rc, &err);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}
