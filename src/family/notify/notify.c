/* SPDX-License-Identifier: Apache-2.0
 * family/notify/notify.c */
#include "family/notify/notify.h"

#include "family/canonical.h"

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_notify_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);

    (void)arg;
    (void)p;
    (void)err;
    wbi_jw_obj(&w);
    wbi_jw_kbool(&w, "delivered", o->delivered);
    wbi_jw_kstrz(&w, "channel", o->delivered ? "command" : "event");
    wbi_jw_kstr(&w, "level", o->level.p ? o->level : WBI_LIT("info"));
    wbi_jw_obj_end(&w);
    *ret_summary =
        o->delivered ? WBI_LIT("notification delivered") : WBI_LIT("notification recorded");
    return wbi_buf_rc(ret_result);
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_addz(out, wbi_json_true(wbi_json_get(c->result, "delivered"))
                          ? "Notification delivered\n"
                          : "Notification recorded; no command that delivers it is configured\n");
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_notify_family = {"notify", NULL, project, render, {"/delivered"}};
