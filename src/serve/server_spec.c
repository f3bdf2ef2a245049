/* SPDX-License-Identifier: Apache-2.0
 * serve/server_spec.c: one member of mcpServers, whose shape was checked when it was
 * loaded; members of other clients are left alone. Commands are argument arrays; the
 * environment is an allow list plus what is written; ${NAME} in a value of env,
 * headers or url is taken from Waybill's own environment, so that no secret has
 * to stand in a file. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/limits.h"
#include "config/variable.h"
#include "serve/upstreams_int.h"

/* What every program gets. */
static const char *const passed_on[] = {"PATH",   "HOME",  "USER", "LOGNAME",
                                        "TMPDIR", "SHELL", "LANG", "TERM"};

static wb_rc wrong(struct wbi_error *err, const char *member, const char *want)
{
    return wbi_fail(err, WB_EINPUT, "%s must be %s", member, want);
}

/* Replaces each variable; one that nothing stands for is an error, not an empty text. */
static wb_rc expand(struct wbi_arena *arena, struct wbi_str text, struct wbi_str *ret,
                    struct wbi_error *err)
{
    struct wbi_variable v;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    for (; wbi_variable_find(text, &v); text = v.after) {
        char *name = wbi_arena_strz(arena, v.name);
        struct wbi_str value = wbi_str_z(name != NULL ? getenv(name) : NULL);

        wbi_buf_adds(&out, v.before);
        if (value.n == 0 && v.otherwise.p != NULL)
            value = v.otherwise;
        if (value.p == NULL)
            return wbi_fail(err, WB_ESTATE, "the environment has no %.*s", WBI_FMT(v.name));
        wbi_buf_adds(&out, value);
    }
    wbi_buf_adds(&out, text);
    if (wbi_buf_rc(&out) != WB_OK)
        return wbi_fail_nomem(err);
    *ret = wbi_buf_str(&out);
    return WB_OK;
}

static wb_rc read_argv(struct wbi_arena *arena, struct wbi_server *s, struct wbi_error *err)
{
    const wbi_json *command = wbi_json_get(s->value, "command");
    const wbi_json *more = wbi_json_get(s->value, "args");
    struct wbi_str *argv;
    size_t n = 0;

    if (more != NULL && !wbi_json_is(more, WBI_JSON_ARR))
        return wrong(err, "args", "an array of strings");
    argv = wbi_arena_array(arena, wbi_json_count(more) + 1, sizeof(*argv));
    if (argv == NULL)
        return wbi_fail_nomem(err);
    argv[n++] = wbi_json_str(command);
    WBI_JSON_EACH (more, word)
        argv[n++] = wbi_json_str(word);
    for (size_t i = 0; i < n; i++)
        if (argv[i].p == NULL)
            return wrong(err, "command and args", "strings; no shell is used");
    if (n == 0 || argv[0].n == 0)
        return wrong(err, "command", "a program");
    s->spec.argv = argv;
    s->spec.argc = n;
    return WB_OK;
}

static wb_rc read_env(struct wbi_arena *arena, struct wbi_server *s, struct wbi_error *err)
{
    const wbi_json *env = wbi_json_get(s->value, "env");
    struct wbi_str *list, value;

    if (env != NULL && !wbi_json_is(env, WBI_JSON_OBJ))
        return wrong(err, "env", "an object of strings");
    list = wbi_arena_array(arena, wbi_json_count(env) + WBI_COUNT(passed_on), sizeof(*list));
    if (list == NULL)
        return wbi_fail_nomem(err);
    s->spec.env = list;
    for (size_t i = 0; i < WBI_COUNT(passed_on); i++) {
        const char *own = getenv(passed_on[i]);

        if (own == NULL || wbi_json_get(env, passed_on[i]) != NULL)
            continue;
        list[s->spec.env_count] = wbi_arena_fmt(arena, "%s=%s", passed_on[i], own);
        if (list[s->spec.env_count++].p == NULL)
            return wbi_fail_nomem(err);
    }
    WBI_JSON_EACH_MEMBER (env, k) {
        wb_rc rc;

        if (!wbi_json_is(k_val, WBI_JSON_STR) || wbi_json_str(k).n == 0)
            return wrong(err, "env", "an object of strings");
        rc = expand(arena, wbi_json_str(k_val), &value, err);
        if (rc != WB_OK)
            return rc;
        list[s->spec.env_count] =
            wbi_arena_fmt(arena, "%.*s=%.*s", WBI_FMT(wbi_json_str(k)), WBI_FMT(value));
        if (list[s->spec.env_count++].p == NULL)
            return wbi_fail_nomem(err);
    }
    return WB_OK;
}

static bool has_line_end(struct wbi_str text)
{
    return wbi_str_index(text, '\n') < text.n || wbi_str_index(text, '\r') < text.n;
}

/* What each exchange says by itself. Files of other clients often have it, too, and some servers
 * refuse what is said twice. */
static bool is_of_exchange(struct wbi_str name)
{
    static const char *const own[] = {"Accept",         "Connection",       "Content-Length",
                                      "Content-Type",   "Expect",           "Last-Event-ID",
                                      "Mcp-Method",     "Mcp-Name",         "MCP-Protocol-Version",
                                      "Mcp-Session-Id", "Transfer-Encoding"};
    static const struct wbi_str param = WBI_LIT_INIT("Mcp-Param-");

    for (size_t i = 0; i < WBI_COUNT(own); i++)
        if (wbi_str_ieq(name, wbi_str_z(own[i])))
            return true;
    return wbi_str_ieq(wbi_str_head(name, param.n), param);
}

static wb_rc read_headers(struct wbi_arena *arena, struct wbi_server *s, struct wbi_error *err)
{
    const wbi_json *headers = wbi_json_get(s->value, "headers");
    struct wbi_str *list, value;

    if (headers != NULL && !wbi_json_is(headers, WBI_JSON_OBJ))
        return wrong(err, "headers", "an object of strings");
    list = wbi_arena_array(arena, wbi_json_count(headers), sizeof(*list));
    if (list == NULL)
        return wbi_fail_nomem(err);
    s->spec.headers = list;
    WBI_JSON_EACH_MEMBER (headers, k) {
        wb_rc rc;

        if (!wbi_json_is(k_val, WBI_JSON_STR))
            return wrong(err, "headers", "an object of strings");
        if (is_of_exchange(wbi_json_str(k)))
            continue;
        rc = expand(arena, wbi_json_str(k_val), &value, err);
        if (rc != WB_OK)
            return rc;
        if (has_line_end(wbi_json_str(k_val)) || has_line_end(wbi_json_str(k)))
            return wrong(err, "headers", "without line ends");
        value = wbi_str_trim(value); /* what a file gave to the environment often ends a line */
        if (has_line_end(value))
            return wbi_fail(err, WB_ESTATE, "the environment gives the header %.*s several lines",
                            WBI_FMT(wbi_json_str(k)));
        list[s->spec.header_count] =
            wbi_arena_fmt(arena, "%.*s: %.*s", WBI_FMT(wbi_json_str(k)), WBI_FMT(value));
        if (list[s->spec.header_count++].p == NULL)
            return wbi_fail_nomem(err);
    }
    return WB_OK;
}

static wb_rc read_ms(const struct wbi_server *s, const char *name, int64_t *ret,
                     struct wbi_error *err)
{
    const wbi_json *v = wbi_json_get(s->value, name);

    if (v != NULL && (!wbi_json_i64(v, ret) || *ret < 1 || *ret > INT64_C(86400000)))
        return wrong(err, name, "an integer from 1 to 86400000 (milliseconds)");
    return WB_OK;
}

static wb_rc read_flags(struct wbi_server *s, struct wbi_error *err)
{
    struct wbi_str pins = wbi_json_get_str(s->value, "pins");
    struct wbi_str era = wbi_json_get_str(s->value, "era");

    if (wbi_str_eqz(wbi_json_get_str(s->value, "type"), "sse"))
        return wbi_fail(err, WB_ESTATE,
                        "type must be \"stdio\" or \"http\"; the older \"sse\" is not spoken");
    if (wbi_json_get_str(s->value, "prefix").p != NULL)
        s->prefix = wbi_json_get_str(s->value, "prefix");
    s->trusted = wbi_json_true(wbi_json_get(s->value, "trusted"));
    if (wbi_str_eqz(pins, "approval"))
        s->pin_policy = WBI_PIN_APPROVAL;
    else if (pins.p != NULL && !wbi_str_eqz(pins, "firstUse"))
        return wrong(err, "pins", "\"firstUse\" or \"approval\"");
    if (wbi_str_eqz(era, "legacy"))
        s->spec.era = WBI_UP_LEGACY;
    else if (wbi_str_eqz(era, "modern"))
        s->spec.era = WBI_UP_MODERN;
    else if (era.p != NULL && !wbi_str_eqz(era, "auto"))
        return wrong(err, "era", "\"auto\", \"legacy\" or \"modern\"");
    return WB_OK;
}

wb_rc wbi_server_read(struct wbi_arena *arena, struct wbi_str root, struct wbi_server *s,
                      struct wbi_error *err)
{
    struct wbi_str url = wbi_json_get_str(s->value, "url");
    struct wbi_str cwd = wbi_json_get_str(s->value, "cwd");
    wb_rc rc = WB_OK;

    s->prefix = s->name;
    s->spec.name = wbi_arena_strz(arena, s->name);
    s->spec.workdir = root;
    if (cwd.p != NULL) /* from the root on, as a tool's workdir is */
        s->spec.workdir = wbi_str_starts(cwd, WBI_LIT("/"))
                              ? cwd
                              : wbi_arena_fmt(arena, "%.*s/%.*s", WBI_FMT(root), WBI_FMT(cwd));
    if (s->spec.name == NULL || s->spec.workdir.p == NULL)
        return wbi_fail_nomem(err);
    if (rc == WB_OK && (url.p != NULL) == (wbi_json_get(s->value, "command") != NULL))
        return wbi_fail(err, WB_EINPUT, "a server has either a command or a url");
    if (rc == WB_OK && url.p != NULL) {
        rc = expand(arena, url, &s->spec.url, err);
        if (rc == WB_OK && !wbi_str_starts(s->spec.url, WBI_LIT("http://")) &&
            !wbi_str_starts(s->spec.url, WBI_LIT("https://")))
            return wrong(err, "url", "one of http:// or https://");
        if (rc == WB_OK)
            rc = read_headers(arena, s, err);
    } else if (rc == WB_OK) {
        rc = read_argv(arena, s, err);
        if (rc == WB_OK)
            rc = read_env(arena, s, err);
    }
    if (rc == WB_OK)
        rc = read_ms(s, "timeoutMs", &s->spec.call_ms, err);
    if (rc == WB_OK)
        rc = read_ms(s, "startMs", &s->spec.start_ms, err);
    if (rc == WB_OK)
        rc = read_ms(s, "probeMs", &s->spec.probe_ms, err);
    if (rc == WB_OK)
        rc = read_flags(s, err);
    return rc;
}
