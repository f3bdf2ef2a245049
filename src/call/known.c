/* SPDX-License-Identifier: Apache-2.0
 * call/known.c: secrets known by their value. */
#include "call/known.h"

#include "config/config.h"
#include "text/secrets.h"

wb_rc wbi_known_load(struct wbi_runtime *rt, struct wbi_error *err)
{
    const wbi_json *names = wbi_config_setting(rt->config, "/secrets/env");
    struct wbi_secrets_options o = {.key = rt->conversation};
    struct wbi_env env = wbi_env_process();
    struct wbi_secrets_known *known;
    struct wbi_secrets *fresh;
    wb_rc rc;

    if (wbi_json_count(names) == 0)
        return WB_OK;
    known = wbi_arena_array(rt->arena, wbi_json_count(names), sizeof(*known));
    if (known == NULL)
        return wbi_fail_nomem(err);
    WBI_JSON_EACH (names, name) {
        struct wbi_str z = wbi_arena_str(rt->arena, wbi_json_str(name)); /* ends with a NUL */
        const char *value = z.p ? env.get(env.arg, z.p) : NULL;

        if (value != NULL && *value != '\0')
            known[o.n_known++] = (struct wbi_secrets_known){wbi_str_z(value), z};
    }
    o.known = known;
    rc = wbi_secrets_new(&o, &fresh, NULL, err);
    if (rc != WB_OK)
        return rc;
    wbi_secrets_free(rt->secrets);
    rt->secrets = fresh;
    return WB_OK;
}
