/* SPDX-License-Identifier: Apache-2.0
 * api/connect.c: the configuration of clients. Codex keeps a TOML file of the
 * user's (a table is added at its end), Claude Code a JSON file in the project (a
 * member is added); all other members stay as they are. Where we are known already, but by
 * another program or for another workspace, only that is replaced. */
#include <stdlib.h>

#include "api/connect_int.h"
#include "base/checked.h"
#include "base/limits.h"
#include "json/write.h"

struct connecting {
    struct wbi_runtime *rt;
    struct wbi_arena *arena;
    struct wbi_str program, current;
    struct wbi_buf path, text;
    const char *member;     /* of a JSON file: where it keeps its servers */
    struct wbi_start start; /* how the client starts us now */
};

void wbi_start_add(struct wbi_start *start, struct wbi_str word)
{
    if (start->n < WBI_COUNT(start->words))
        start->words[start->n] = word;
    start->n++;
}

/* `program serve`, with that root; whatever else was added by hand. */
static bool start_is(const struct wbi_start *s, struct wbi_str program, struct wbi_str root)
{
    bool ours = s->n > 3 && s->n <= WBI_COUNT(s->words) && wbi_str_eq(s->words[0], program) &&
                wbi_str_eqz(s->words[1], "serve");

    for (size_t i = 2; ours && i + 1 < s->n; i++)
        if (wbi_str_eqz(s->words[i], "--root"))
            return wbi_str_eq(s->words[i + 1], root);
    return false;
}

/* Whether the text holds it as a string. */
static bool quotes(const struct connecting *c, struct wbi_str word)
{
    struct wbi_buf quoted;

    wbi_buf_init_arena(&quoted, c->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_quote(&quoted, word);
    return wbi_str_find(c->current, wbi_buf_str(&quoted)) < c->current.n;
}

/* Codex knows us, in a form that is not taken apart here. */
static wb_rc leave_alone(const struct connecting *c, struct wbi_error *err)
{
    if (quotes(c, c->program) && quotes(c, c->rt->root))
        return wbi_fail(err, WB_EEXISTS, "Codex knows Waybill already");
    return wbi_fail(
        err, WB_EINPUT,
        "Codex knows Waybill already, but not this program with this workspace, and not "
        "as a table [mcp_servers.waybill] with a command; change it by hand (`waybill "
        "connect snippet` shows command and args)");
}

static wb_rc connect_codex(struct connecting *c, struct wbi_error *err)
{
    const char *home = getenv("CODEX_HOME");
    struct wbi_toml_entry entry;
    wb_rc rc;

    if (home != NULL) {
        wbi_buf_addf(&c->path, "%s/config.toml", home);
    } else {
        home = getenv("HOME");
        if (home == NULL)
            return wbi_fail(err, WB_ESTATE, "HOME is not set");
        wbi_buf_addf(&c->path, "%s/.codex/config.toml", home);
    }
    rc = wbi_toml_find(c->arena, c->current, &entry, err);
    if (rc != WB_OK)
        return rc;
    if (entry.loose || entry.by_url)
        return leave_alone(c, err);
    c->start = entry.start;
    if (start_is(&c->start, c->program, c->rt->root))
        return wbi_fail(err, WB_EEXISTS, "Codex knows Waybill already");
    wbi_toml_put(c->current, &entry, c->program, c->rt->root, &c->text);
    return WB_OK;
}

/* ---- JSON ---- */

static void find_start(const wbi_json *server, struct wbi_start *ret)
{
    if (wbi_json_get_str(server, "command").p != NULL)
        wbi_start_add(ret, wbi_json_get_str(server, "command"));
    else if (wbi_json_get_str(server, "url").p != NULL)
        wbi_start_add(ret, wbi_json_get_str(server, "url"));
    WBI_JSON_EACH (wbi_json_get_as(server, "args", WBI_JSON_ARR), word)
        wbi_start_add(ret, wbi_json_str(word));
}

/* Behind the value at `at` of a text that was parsed. */
static size_t skip_json(struct wbi_str t, size_t at)
{
    size_t depth = 0;

    for (bool in_string = false; at < t.n; at++) {
        char ch = t.p[at];

        if (in_string && ch == '\\')
            at++;
        else if (ch == '"')
            in_string = !in_string;
        else if (!in_string && (ch == '{' || ch == '['))
            depth++;
        else if (!in_string && (ch == '}' || ch == ']'))
            depth--;
        if (!in_string && depth == 0 && (ch == '"' || ch == '}' || ch == ']'))
            return at + 1;
        if (!in_string && depth == 0 && at + 1 < t.n && strchr(",}] \t\r\n", t.p[at + 1]) != NULL)
            return at + 1; /* a number or a word */
    }
    return at;
}

/* An old server with our command and args; what only goes with a url is left out. */
static void write_server(const struct connecting *c, const wbi_json *old, struct wbi_jw *w)
{
    static const char *const replaced[] = {"command", "args", "url", "headers"};

    wbi_jw_obj(w);
    wbi_jw_kstr(w, "command", c->program);
    wbi_jw_key(w, "args");
    wbi_jw_arr(w);
    wbi_jw_strz(w, "serve");
    wbi_jw_strz(w, "--root");
    wbi_jw_str(w, c->rt->root);
    wbi_jw_arr_end(w);
    WBI_JSON_EACH_MEMBER (old, k) {
        bool ours = false;

        for (size_t i = 0; i < WBI_COUNT(replaced); i++)
            ours |= wbi_str_eqz(wbi_json_str(k), replaced[i]);
        if (wbi_str_eqz(wbi_json_str(k), "type"))
            ours = !wbi_str_eqz(wbi_json_str(k_val), "stdio");
        if (ours)
            continue;
        wbi_jw_keyn(w, wbi_json_str(k));
        wbi_jw_val(w, k_val);
    }
    wbi_jw_obj_end(w);
}

/* The blanks that the line of `at` begins with. */
static struct wbi_str indent_of(struct wbi_str t, size_t at)
{
    size_t from, n = 0;

    for (from = at; from > 0 && t.p[from - 1] != '\n';)
        from--;
    while (from + n < at && (t.p[from + n] == ' ' || t.p[from + n] == '\t'))
        n++;
    return wbi_str_make(t.p + from, n);
}

/* The file's text with another value behind `key`, written as the old one was: on one
 * line, or on several. */
static wb_rc replace_server(struct connecting *c, size_t key, const wbi_json *old,
                            struct wbi_error *err)
{
    struct wbi_str t = c->current, indent = indent_of(t, key), rest;
    size_t from = skip_json(t, key), end;
    struct wbi_buf flat, lines;
    struct wbi_jw w = wbi_jw_to(&flat);
    const wbi_json *v;
    wb_rc rc;

    wbi_buf_init_arena(&flat, c->arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&lines, c->arena, WBI_LIMIT_JSON_TEXT);
    while (from < t.n && strchr(": \t\r\n", t.p[from]) != NULL)
        from++;
    end = skip_json(t, from);
    write_server(c, old, &w);
    rc = wbi_json_read(c->arena, wbi_buf_str(&flat), WBI_JSON_STRICT, &v, err);
    if (rc != WB_OK)
        return rc;
    wbi_json_pretty(&lines, v);
    wbi_buf_adds(&c->text, wbi_str_head(t, from));
    rest = wbi_str_index(wbi_str_make(t.p + from, end - from), '\n') < end - from
               ? wbi_buf_str(&lines)
               : wbi_buf_str(&flat);
    for (size_t n; rest.n > 0; rest = wbi_str_from(rest, n)) {
        n = WBI_MIN(wbi_str_index(rest, '\n') + 1, rest.n);
        wbi_buf_adds(&c->text, wbi_str_head(rest, n));
        if (rest.p[n - 1] == '\n')
            wbi_buf_adds(&c->text, indent);
    }
    wbi_buf_adds(&c->text, wbi_str_from(t, end));
    return WB_OK;
}

/* mcpServers of the file, with ours at the end; absent members are made. */
static void write_servers(const struct connecting *c, const wbi_json *servers, struct wbi_jw *w)
{
    wbi_jw_key(w, c->member);
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (servers, k) {
        wbi_jw_keyn(w, wbi_json_str(k));
        wbi_jw_val(w, k_val);
    }
    wbi_jw_key(w, "waybill");
    write_server(c, NULL, w);
    wbi_jw_obj_end(w);
}

/* copy: as wbi_json_read_placed gives it. */
static wb_rc write_json(struct connecting *c, const wbi_json *root, const char *copy,
                        struct wbi_error *err)
{
    const wbi_json *servers = wbi_json_get(root, c->member), *ours, *v;
    struct wbi_buf flat;
    struct wbi_jw w = wbi_jw_to(&flat);
    bool written = false;
    wb_rc rc;

    if (servers != NULL && !wbi_json_is(servers, WBI_JSON_OBJ))
        return wbi_fail(err, WB_EINPUT, "mcpServers of the file is no object");
    ours = wbi_json_get(servers, "waybill");
    find_start(ours, &c->start);
    if (start_is(&c->start, c->program, c->rt->root))
        return wbi_fail(err, WB_EEXISTS, "the client knows Waybill already");
    if (ours != NULL) /* its name stands before it */
        return replace_server(c, wbi_json_offset(copy, ours - 1), ours, err);
    wbi_buf_init_arena(&flat, c->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (root, k) {
        written = written || k_val == servers;
        if (k_val == servers) {
            write_servers(c, servers, &w);
            continue;
        }
        wbi_jw_keyn(&w, wbi_json_str(k));
        wbi_jw_val(&w, k_val);
    }
    if (!written)
        write_servers(c, servers, &w);
    wbi_jw_obj_end(&w);
    rc = wbi_json_read(c->arena, wbi_buf_str(&flat), WBI_JSON_STRICT, &v, err);
    if (rc != WB_OK)
        return rc;
    wbi_json_pretty(&c->text, v);
    wbi_buf_addc(&c->text, '\n');
    return WB_OK;
}

static wb_rc connect_claude(struct connecting *c, struct wbi_error *err)
{
    const wbi_json *root = NULL;
    const char *copy = NULL;
    wb_rc rc = WB_OK;

    wbi_buf_adds(&c->path, c->rt->root);
    wbi_buf_addz(&c->path, "/.mcp.json");
    if (wbi_str_trim(c->current).n > 0) {
        rc = wbi_json_read_placed(c->arena, c->current, WBI_JSON_STRICT, &root, &copy, err);
        if (rc == WB_OK && !wbi_json_is(root, WBI_JSON_OBJ))
            rc = wbi_fail(err, WB_EINPUT, "the file holds no JSON object");
    }
    return rc == WB_OK ? write_json(c, root, copy, err) : rc;
}

static const char *member_of(struct wbi_str client)
{
    if (wbi_str_eqz(client, "vscode"))
        return "servers";
    return wbi_str_eqz(client, "zed") ? "context_servers" : "mcpServers";
}

/* Everything but the buffers' ends; what c.start points to lives in the arena. */
static wb_rc plan(struct connecting *c, const wb_runtime *runtime, const char *client,
                  const char *current, struct wbi_error *err)
{
    struct wbi_str name = wbi_str_z(client);

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &c->arena) != WB_OK)
        return wbi_fail_nomem(err);
    c->rt = runtime->rt;
    c->member = member_of(name);
    c->current = current != NULL ? wbi_str_z(current) : WBI_LIT("");
    wbi_buf_init(&c->path, WBI_LIMIT_PATH);
    wbi_buf_init(&c->text, WBI_LIMIT_CONFIG_FILE);
    if (wbi_str_eqz(name, "codex"))
        return connect_codex(c, err);
    if (wbi_str_eqz(name, "claude"))
        return connect_claude(c, err);
    return write_json(c, NULL, NULL, err);
}

static void forget(struct connecting *c)
{
    wbi_arena_free(c->arena);
    wbi_buf_fini(&c->path);
    wbi_buf_fini(&c->text);
}

wb_rc wb_connect(wb_runtime *runtime, const char *client, const char *program, const char *current,
                 char **ret_path, char **ret_text, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct connecting c = {.program = wbi_str_z(program)};
    wb_rc rc;

    if (runtime == NULL || client == NULL || program == NULL || ret_path == NULL ||
        ret_text == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_connect: NULL");
    rc = plan(&c, runtime, client, current, &err);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&c.path) != WB_OK ? WB_ELIMIT : wbi_buf_rc(&c.text);
    if (rc == WB_OK) {
        *ret_path = c.path.n > 0 ? wbi_buf_take(&c.path, NULL) : NULL;
        *ret_text = wbi_buf_take(&c.text, NULL);
    }
    if (rc != WB_OK && c.path.n > 0)
        wbi_error_at(&err, wbi_buf_str(&c.path));
    forget(&c);
    if (rc == WB_OK)
        return WB_OK;
    return err.rc != WB_OK ? wbi_api_fail(reterr, &err)
                           : wbi_api_fail_text(reterr, rc, "the text is too large");
}

wb_rc wb_connect_known(wb_runtime *runtime, const char *client, const char *current, char **ret,
                       wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct connecting c = {.program = WBI_LIT("")};
    struct wbi_buf out;
    wb_rc rc;

    if (runtime == NULL || client == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_connect_known: NULL");
    rc = plan(&c, runtime, client, current, &err);
    if (rc == WB_OK && c.start.n == 0)
        rc = wbi_fail(&err, WB_ENOTFOUND, "the client does not know Waybill");
    wbi_buf_init(&out, WBI_LIMIT_CONFIG_FILE);
    for (size_t i = 0; rc == WB_OK && i < c.start.n && i < WBI_COUNT(c.start.words); i++)
        wbi_buf_addf(&out, "%s%.*s", i == 0 ? "" : " ", WBI_FMT(c.start.words[i]));
    forget(&c);
    return wbi_api_end(&out, rc, &err, ret, NULL, reterr);
}
