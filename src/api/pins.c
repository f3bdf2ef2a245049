/* SPDX-License-Identifier: Apache-2.0
 * api/pins.c: looking at pins and deciding about them. */
#include "api/api_int.h"
#include "base/limits.h"
#include "json/write.h"
#include "serve/pin_files.h"

struct pins {
    struct wbi_arena *arena;
    struct wbi_pin_files files;
    struct wbi_pin_store store;
    struct wbi_str server, tool;
};

/* name may be NULL: all. */
static wb_rc open_pins(wb_runtime *runtime, const char *name, struct pins *p, struct wbi_error *err)
{
    struct wbi_str key = wbi_str_z(name);
    size_t slash = wbi_str_index(key, '/');
    wb_rc rc;

    if (runtime == NULL)
        return wbi_fail(err, WB_EMISUSE, "there is no runtime");
    if (name != NULL && (slash == 0 || slash + 1 >= key.n))
        return wbi_fail(err, WB_EINPUT, "name a pin as SERVER/TOOL; got \"%.80s\"", name);
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &p->arena) != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_pin_files_open(p->arena, runtime->rt->places.user_state, &p->files, err);
    p->store = wbi_pin_files_store(&p->files);
    p->server = wbi_str_head(key, slash);
    p->tool = wbi_str_from(key, slash + 1);
    if (rc != WB_OK)
        wbi_arena_free(p->arena);
    return rc;
}

static void write_pin(void *arg, struct wbi_str key, const wbi_json *value)
{
    struct wbi_jw *w = arg;
    const wbi_json *accepted = wbi_json_get(value, "accepted");
    const wbi_json *pending = wbi_json_get(value, "pending");
    size_t slash = wbi_str_index(key, '/');

    wbi_jw_obj(w);
    wbi_jw_kstr(w, "server", wbi_str_head(key, slash));
    wbi_jw_kstr(w, "tool", wbi_str_from(key, slash + 1));
    wbi_jw_kstrz(w, "state",
                 wbi_pin_state_name(pending == NULL    ? WBI_PIN_ACCEPTED
                                    : accepted == NULL ? WBI_PIN_NEW
                                                       : WBI_PIN_CHANGED));
    wbi_jw_kval(w, "hash", wbi_json_get(accepted, "hash"));
    wbi_jw_kval(w, "pendingHash", wbi_json_get(pending, "hash"));
    wbi_jw_kval(w, "since", wbi_json_get(pending != NULL ? pending : accepted, "at"));
    wbi_jw_obj_end(w);
}

wb_rc wb_pins_list(wb_runtime *runtime, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct pins p;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = open_pins(runtime, NULL, &p, &err);

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    wbi_jw_arr(&w);
    rc = wbi_pin_files_each(&p.files, write_pin, &w, &err);
    wbi_jw_arr_end(&w);
    wbi_arena_free(p.arena);
    if (rc == WB_OK)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_pins_diff(wb_runtime *runtime, const char *name, char **ret, size_t *ret_size,
                   wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    struct pins p;
    wb_rc rc = open_pins(runtime, name, &p, &err);

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = wbi_pin_diff(&p.store, p.server, p.tool, p.arena, &out, &err);
    wbi_arena_free(p.arena);
    if (rc == WB_OK)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_pins_approve(wb_runtime *runtime, const char *name, const char *hash, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct pins p;
    wb_rc rc = open_pins(runtime, name != NULL ? name : "", &p, &err);

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    rc = wbi_pin_approve(&p.store, p.server, p.tool, wbi_str_z(hash),
                         wbi_wall_ms(&runtime->rt->clock), p.arena, &err);
    wbi_arena_free(p.arena);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

/* The record without what waits; nothing left: no record. */
static wb_rc reject(struct pins *p, struct wbi_str key, struct wbi_error *err)
{
    struct wbi_str text;
    const wbi_json *record;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc = p->store.get(p->store.arg, key, p->arena, &text, err);

    if (rc == WB_OK)
        rc = wbi_json_read(p->arena, text, WBI_JSON_STRICT, &record, err);
    if (rc == WB_ENOTFOUND || (rc == WB_OK && wbi_json_get(record, "pending") == NULL))
        return wbi_fail(err, WB_ENOTFOUND, "nothing waits for approval at %.*s", WBI_FMT(key));
    if (rc != WB_OK)
        return rc;
    if (wbi_json_get(record, "accepted") == NULL)
        return wbi_pin_files_drop(&p->files, key, err);
    wbi_buf_init_arena(&out, p->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kval(&w, "accepted", wbi_json_get(record, "accepted"));
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&out) != WB_OK)
        return wbi_fail_nomem(err);
    return p->store.put(p->store.arg, key, wbi_buf_str(&out), err);
}

wb_rc wb_pins_reject(wb_runtime *runtime, const char *name, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct pins p;
    wb_rc rc = open_pins(runtime, name != NULL ? name : "", &p, &err);

    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    rc = reject(&p, wbi_str_z(name), &err);
    wbi_arena_free(p.arena);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}
