/* SPDX-License-Identifier: Apache-2.0
 * api/connect.c: the configuration of clients. Codex keeps a TOML file of the
 * user's (a table is added at its end), Claude Code a JSON file in the project (a
 * member is added); all other members stay as they are. */
#include <stdlib.h>

#include "api/api_int.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "json/write.h"

struct connecting {
    struct wbi_runtime *rt;
    struct wbi_arena *arena;
    struct wbi_str program, current;
    struct wbi_buf path, text;
    const char *member; /* of a JSON file: where it keeps its servers */
};

static void add_server(const struct connecting *c, struct wbi_jw *w)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "command", c->program);
    wbi_jw_key(w, "args");
    wbi_jw_arr(w);
    wbi_jw_strz(w, "serve");
    wbi_jw_strz(w, "--root");
    wbi_jw_str(w, c->rt->root);
    wbi_jw_arr_end(w);
    wbi_jw_obj_end(w);
}

/* A line of TOML without its blanks and quotes, as far as names of tables go. */
static struct wbi_str squeeze(struct wbi_str line, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < line.n && n < size; i++)
        if (strchr(" \t\r\"'", line.p[i]) == NULL || line.p[i] == '\0')
            out[n++] = line.p[i];
    return wbi_str_make(out, n);
}

/* Whether a text of several lines is open behind the line. */
static bool in_long_text(struct wbi_str line, bool before)
{
    for (size_t i = 0; i + 3 <= line.n; i++) {
        if (memcmp(line.p + i, "\"\"\"", 3) == 0 || memcmp(line.p + i, "'''", 3) == 0) {
            before = !before;
            i += 2;
        }
    }
    return before;
}

/* What the file says of us: WB_EEXISTS, or WB_EINPUT when a table of ours at its end
 * would contradict it. Comments do not count. */
static wb_rc check_toml(struct wbi_str text, struct wbi_error *err)
{
    bool in_text = false, in_servers = false;
    char room[128];

    while (text.n > 0) {
        size_t end = wbi_str_index(text, '\n');
        struct wbi_str raw = wbi_str_head(text, end), line = squeeze(raw, room, sizeof(room));
        bool said = in_text;

        text = wbi_str_from(text, end + 1);
        in_text = in_long_text(raw, in_text);
        if (said)
            continue;
        if (line.n > 0 && line.p[0] == '[')
            in_servers = wbi_str_starts(line, WBI_LIT("[mcp_servers]"));
        if (in_servers && (wbi_str_starts(line, WBI_LIT("waybill=")) ||
                           wbi_str_starts(line, WBI_LIT("waybill."))))
            return wbi_fail(err, WB_EEXISTS, "Codex knows Waybill already");
        if (wbi_str_starts(line, WBI_LIT("[mcp_servers.waybill]")) ||
            wbi_str_starts(line, WBI_LIT("[mcp_servers.waybill.")) ||
            wbi_str_starts(line, WBI_LIT("mcp_servers.waybill")))
            return wbi_fail(err, WB_EEXISTS, "Codex knows Waybill already");
        if (wbi_str_starts(line, WBI_LIT("mcp_servers=")))
            return wbi_fail(err, WB_EINPUT,
                            "mcp_servers is written as one value there; add waybill to it by hand "
                            "(`waybill connect snippet` shows command and args)");
    }
    return WB_OK;
}

static wb_rc connect_codex(struct connecting *c, struct wbi_error *err)
{
    wb_rc rc;

    const char *home = getenv("CODEX_HOME");

    if (home != NULL) {
        wbi_buf_addf(&c->path, "%s/config.toml", home);
    } else {
        home = getenv("HOME");
        if (home == NULL)
            return wbi_fail(err, WB_ESTATE, "HOME is not set");
        wbi_buf_addf(&c->path, "%s/.codex/config.toml", home);
    }
    rc = check_toml(c->current, err);
    if (rc != WB_OK)
        return rc;
    wbi_buf_adds(&c->text, c->current);
    if (c->current.n > 0 && c->current.p[c->current.n - 1] != '\n')
        wbi_buf_addc(&c->text, '\n');
    wbi_buf_addz(&c->text, c->current.n > 0 ? "\n[mcp_servers.waybill]\ncommand = "
                                            : "[mcp_servers.waybill]\ncommand = ");
    wbi_json_quote(&c->text, c->program);
    wbi_buf_addz(&c->text, "\nargs = [\"serve\", \"--root\", ");
    wbi_json_quote(&c->text, c->rt->root);
    wbi_buf_addz(&c->text, "]\n");
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
    add_server(c, w);
    wbi_jw_obj_end(w);
}

static wb_rc write_json(struct connecting *c, const wbi_json *root, struct wbi_error *err)
{
    const wbi_json *servers = wbi_json_get(root, c->member), *v;
    struct wbi_buf flat;
    struct wbi_jw w = wbi_jw_to(&flat);
    bool written = false;
    wb_rc rc;

    if (servers != NULL && !wbi_json_is(servers, WBI_JSON_OBJ))
        return wbi_fail(err, WB_EINPUT, "mcpServers of the file is no object");
    if (wbi_json_get(servers, "waybill") != NULL)
        return wbi_fail(err, WB_EEXISTS, "the client knows Waybill already");
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
    wb_rc rc = WB_OK;

    wbi_buf_adds(&c->path, c->rt->root);
    wbi_buf_addz(&c->path, "/.mcp.json");
    if (wbi_str_trim(c->current).n > 0) {
        rc = wbi_json_read(c->arena, c->current, WBI_JSON_STRICT, &root, err);
        if (rc == WB_OK && !wbi_json_is(root, WBI_JSON_OBJ))
            rc = wbi_fail(err, WB_EINPUT, "the file holds no JSON object");
    }
    return rc == WB_OK ? write_json(c, root, err) : rc;
}

static const char *member_of(struct wbi_str client)
{
    if (wbi_str_eqz(client, "vscode"))
        return "servers";
    return wbi_str_eqz(client, "zed") ? "context_servers" : "mcpServers";
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
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &c.arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    c.rt = runtime->rt;
    c.member = member_of(wbi_str_z(client));
    c.current = current != NULL ? wbi_str_z(current) : WBI_LIT("");
    wbi_buf_init(&c.path, WBI_LIMIT_PATH);
    wbi_buf_init(&c.text, WBI_LIMIT_CONFIG_FILE);
    if (wbi_str_eqz(wbi_str_z(client), "codex"))
        rc = connect_codex(&c, &err);
    else if (wbi_str_eqz(wbi_str_z(client), "claude"))
        rc = connect_claude(&c, &err);
    else
        rc = write_json(&c, NULL, &err);
    wbi_arena_free(c.arena);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&c.path) != WB_OK ? WB_ELIMIT : wbi_buf_rc(&c.text);
    if (rc == WB_OK) {
        *ret_path = c.path.n > 0 ? wbi_buf_take(&c.path, NULL) : NULL;
        *ret_text = wbi_buf_take(&c.text, NULL);
        return WB_OK;
    }
    if (c.path.n > 0)
        wbi_error_at(&err, wbi_buf_str(&c.path));
    wbi_buf_fini(&c.path);
    wbi_buf_fini(&c.text);
    return err.rc != WB_OK ? wbi_api_fail(reterr, &err)
                           : wbi_api_fail_text(reterr, rc, "the text is too large");
}
