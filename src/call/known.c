/* SPDX-License-Identifier: Apache-2.0
 * call/known.c: secrets known by their value: what `settings.secrets.env` and the
 * `credentials` of tools name. */
#include "call/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "config/config.h"
#include "text/secrets.h"

const char *wbi_credential(struct wbi_str name)
{
    char z[256];
    const char *value;

    if (name.n == 0 || name.n >= sizeof(z))
        return NULL;
    memcpy(z, name.p, name.n);
    z[name.n] = '\0';
    value = getenv(z);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static wb_rc add_known(struct wbi_arena *arena, const wbi_json *names,
                       struct wbi_secrets_known *known, size_t *n)
{
    WBI_JSON_EACH (names, name) {
        const char *value = wbi_credential(wbi_json_str(name));
        struct wbi_str copy = wbi_arena_str(arena, wbi_json_str(name));

        if (copy.p == NULL)
            return WB_ENOMEM;
        if (value != NULL)
            known[(*n)++] = (struct wbi_secrets_known){wbi_str_z(value), copy};
    }
    return WB_OK;
}

/* Values that are not looked for: in every output there would be such words. */
static wb_rc note_unmasked(struct wbi_runtime *rt, const struct wbi_secrets_known *known, size_t n)
{
    struct wbi_str *names = wbi_arena_array(rt->arena, n + 1, sizeof(*names));
    size_t count = 0;

    if (names == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (known[i].value.n < WBI_LIMIT_SECRET_KNOWN_MIN ||
            known[i].value.n > WBI_LIMIT_SECRET_KNOWN_MAX)
            names[count++] = known[i].label;
    rt->unmasked = names;
    rt->unmasked_n = count;
    return WB_OK;
}

wb_rc wbi_known_load(struct wbi_runtime *rt, struct wbi_error *err)
{
    const wbi_json *names = wbi_config_setting(rt->config, "/secrets/env");
    struct wbi_secrets_options o = {.key = rt->conversation};
    const struct wbi_config_tool *tools;
    size_t tools_n = wbi_config_tools(rt->config, &tools), most = wbi_json_count(names);
    struct wbi_secrets_known *known;
    struct wbi_secrets *fresh;
    wb_rc rc;

    for (size_t i = 0; i < tools_n; i++)
        most += wbi_json_count(wbi_json_get(tools[i].descriptor, "credentials"));
    if (most == 0)
        return WB_OK;
    known = wbi_arena_array(rt->arena, most, sizeof(*known));
    rc = known ? add_known(rt->arena, names, known, &o.n_known) : WB_ENOMEM;
    for (size_t i = 0; rc == WB_OK && i < tools_n; i++)
        rc = add_known(rt->arena, wbi_json_get(tools[i].descriptor, "credentials"), known,
                       &o.n_known);
    if (rc == WB_OK)
        rc = note_unmasked(rt, known, o.n_known);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    o.known = known;
    rc = wbi_secrets_new(&o, &fresh, NULL, err);
    if (rc != WB_OK)
        return rc;
    wbi_secrets_free(rt->secrets);
    rt->secrets = fresh;
    return WB_OK;
}
