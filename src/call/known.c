/* SPDX-License-Identifier: Apache-2.0
 * call/known.c: secrets known by their value: what `settings.secrets.env` and the
 * `credentials` of tools name, and what servers, tools and commands are given under a
 * telling name, which they may repeat. */
#include "call/known.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "config/config.h"
#include "config/variable.h"
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

/* Values and names of what is known, which grow as they are found. */
struct found {
    struct wbi_runtime *rt;
    struct wbi_secrets_known *known;
    size_t n, room;
};

static bool has(const struct found *f, struct wbi_str value, struct wbi_str name)
{
    for (size_t i = 0; i < f->n; i++)
        if (wbi_str_eq(f->known[i].value, value) && wbi_str_eq(f->known[i].label, name))
            return true;
    return false;
}

static wb_rc add(struct found *f, struct wbi_str value, struct wbi_str name)
{
    if (value.n == 0 || has(f, value, name))
        return WB_OK;
    if (f->n == f->room) {
        size_t room = f->room == 0 ? 8 : 2 * f->room;
        struct wbi_secrets_known *more = wbi_arena_array(f->rt->arena, room, sizeof(*more));

        if (more == NULL)
            return WB_ENOMEM;
        if (f->n > 0)
            memcpy(more, f->known, f->n * sizeof(*more));
        f->known = more;
        f->room = room;
    }
    name = wbi_arena_str(f->rt->arena, name);
    if (name.p == NULL)
        return WB_ENOMEM;
    f->known[f->n++] = (struct wbi_secrets_known){value, name};
    return WB_OK;
}

static wb_rc add_variable(struct found *f, struct wbi_str name)
{
    const char *value = wbi_credential(name);

    return value != NULL ? add(f, wbi_str_z(value), name) : WB_OK;
}

static wb_rc add_variables(struct found *f, const wbi_json *names)
{
    wb_rc rc = WB_OK;

    WBI_JSON_EACH (names, name)
        if (rc == WB_OK)
            rc = add_variable(f, wbi_json_str(name));
    return rc;
}

/* ---- what servers are given ---- */

static bool tells(struct wbi_str name)
{
    return wbi_secrets_name(name) || wbi_secrets_telling(name);
}

/* A value that stands in the file is one if it looks like one: others are words that any
 * output may have. "Bearer" and its like are none of it. */
static wb_rc add_written(struct found *f, struct wbi_str name, struct wbi_str text)
{
    struct wbi_str value = text;
    struct wbi_buf line;
    wb_rc rc = WB_OK;

    while (wbi_str_index(value, ' ') < value.n)
        value = wbi_str_from(value, wbi_str_index(value, ' ') + 1);
    wbi_buf_init(&line, WBI_LIMIT_SECRET_KNOWN_MAX);
    wbi_buf_addf(&line, "api_token=%.*s", WBI_FMT(value));
    if (wbi_buf_rc(&line) == WB_OK && wbi_secrets_found(f->rt->secrets, wbi_buf_str(&line)))
        rc = add(f, value, name);
    wbi_buf_fini(&line);
    return rc;
}

/* Each variable of text that tells. told: the member does, so what it ends with counts, too,
 * unless that is only a part of a word, as the folder of a file is. */
static wb_rc add_taken(struct found *f, struct wbi_str text, bool told)
{
    bool apart = true; /* nothing, or a blank, stands before it */
    struct wbi_variable v;
    wb_rc rc = WB_OK;

    for (; rc == WB_OK && wbi_variable_find(text, &v); text = v.after) {
        if (v.before.n > 0)
            apart = wbi_str_ends(v.before, WBI_LIT(" "));
        if (tells(v.name) || (told && apart && v.after.n == 0)) {
            rc = add_variable(f, v.name);
            if (rc == WB_OK && v.otherwise.n > 0)
                rc = add_written(f, v.name, v.otherwise);
        }
        apart = false;
    }
    return rc;
}

static wb_rc add_given(struct found *f, const wbi_json *members)
{
    wb_rc rc = WB_OK;

    WBI_JSON_EACH_MEMBER (members, k) {
        struct wbi_str name = wbi_json_str(k), text = wbi_json_str(k_val);
        bool taken = wbi_str_find(text, WBI_LIT("${")) < text.n;

        if (rc == WB_OK && taken)
            rc = add_taken(f, text, tells(name));
        else if (rc == WB_OK && tells(name))
            rc = add_written(f, name, text);
    }
    return rc;
}

static wb_rc add_servers(struct found *f)
{
    const struct wbi_config_server *servers;
    size_t n = wbi_config_servers(f->rt->config, &servers);
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < n; i++) {
        rc = add_given(f, wbi_json_get(servers[i].value, "env"));
        if (rc == WB_OK)
            rc = add_given(f, wbi_json_get(servers[i].value, "headers"));
        if (rc == WB_OK)
            rc = add_taken(f, wbi_json_get_str(servers[i].value, "url"), false);
    }
    return rc;
}

/* ---- what tools, agents and commands are given ---- */

/* Values that stand in a file: nothing in them is replaced before they are given. */
static wb_rc add_set(struct found *f, const wbi_json *members)
{
    wb_rc rc = WB_OK;

    WBI_JSON_EACH_MEMBER (members, k)
        if (rc == WB_OK && tells(wbi_json_str(k)))
            rc = add_written(f, wbi_json_str(k), wbi_json_str(k_val));
    return rc;
}

/* Variables that reach commands because settings.env allows them. */
static wb_rc add_allowed(struct found *f)
{
    const wbi_json *globs = wbi_config_setting(f->rt->config, "/env/allow");
    wb_rc rc = WB_OK;

    for (char **e = environ; globs != NULL && rc == WB_OK && e != NULL && *e != NULL; e++) {
        struct wbi_str entry = wbi_str_z(*e), name = wbi_str_head(entry, wbi_str_index(entry, '='));
        bool allowed = false;

        WBI_JSON_EACH (globs, glob)
            allowed = allowed || wbi_glob_match(wbi_json_str(glob), name);
        if (allowed && name.n < entry.n && tells(name))
            rc = add_written(f, name, wbi_str_from(entry, name.n + 1));
    }
    return rc;
}

static wb_rc add_commands(struct found *f)
{
    const struct wbi_config_tool *tools;
    size_t n = wbi_config_tools(f->rt->config, &tools);
    wb_rc rc = add_allowed(f);

    for (size_t i = 0; rc == WB_OK && i < n; i++) {
        rc = add_variables(f, wbi_json_get(tools[i].descriptor, "credentials"));
        if (rc == WB_OK)
            rc = add_set(f, wbi_json_get(tools[i].descriptor, "env"));
    }
    WBI_JSON_EACH_MEMBER (wbi_config_setting(f->rt->config, "/agents"), agent)
        if (rc == WB_OK)
            rc = add_set(f, wbi_json_get(agent_val, "env"));
    return rc;
}

/* ---- all of it ---- */

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

static wb_rc find_all(struct found *f)
{
    wb_rc rc = add_variables(f, wbi_config_setting(f->rt->config, "/secrets/env"));

    if (rc == WB_OK)
        rc = add_commands(f);
    if (rc == WB_OK)
        rc = add_servers(f);
    return rc == WB_OK ? note_unmasked(f->rt, f->known, f->n) : rc;
}

wb_rc wbi_known_load(struct wbi_runtime *rt, struct wbi_error *err)
{
    struct found f = {.rt = rt};
    struct wbi_secrets *fresh;
    wb_rc rc = find_all(&f);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    if (f.n == 0)
        return WB_OK;
    rc = wbi_secrets_new(&(struct wbi_secrets_options){rt->conversation, f.known, f.n}, &fresh,
                         NULL, err);
    if (rc != WB_OK)
        return rc;
    wbi_secrets_free(rt->secrets);
    rt->secrets = fresh;
    return WB_OK;
}
