/* SPDX-License-Identifier: Apache-2.0
 * serve/server_tools.c: a server's tool definitions as tools of the catalog.
 * Effects come from the configuration; what a server says about its own tools
 * counts only when it is trusted (C3.7). A tool that cannot be declared is left
 * out; one whose definition changed is there, but blocked. All pins of a list are
 * looked up and written together, before any of its tools can be called. */
#include <stdio.h>

#include "base/checked.h"
#include "base/limits.h"
#include "family/generic/generic.h"
#include "json/write.h"
#include "serve/definition.h"
#include "serve/pin_files.h"
#include "serve/upstreams_int.h"

/* What the configuration says about one tool by its name; NULL: nothing. */
static const wbi_json *setting(const struct wbi_server *s, struct wbi_str tool, const char *name)
{
    return wbi_json_get(wbi_json_getn(wbi_json_get(s->value, "tools"), tool), name);
}

/* By name, else by the last pattern that fits. */
static const wbi_json *said_effect(const struct wbi_server *s, struct wbi_str tool)
{
    const wbi_json *found = setting(s, tool, "effect"), *by_glob = NULL;

    WBI_JSON_EACH_MEMBER (wbi_json_get(s->value, "effects"), k) {
        if (wbi_glob_match(wbi_json_str(k), tool))
            by_glob = k_val;
    }
    return found != NULL ? found : by_glob;
}

static enum wbi_effect effect_of(const struct wbi_server *s, const wbi_json *tool)
{
    const wbi_json *said = said_effect(s, wbi_json_get_str(tool, "name"));
    const wbi_json *hints = wbi_json_get(tool, "annotations");

    if (said != NULL)
        return wbi_effect_by_name(wbi_json_str(said));
    if (s->trusted && wbi_json_true(wbi_json_get(hints, "readOnlyHint")))
        return WBI_EFFECT_PURE;
    if (s->trusted && wbi_json_true(wbi_json_get(hints, "idempotentHint")))
        return WBI_EFFECT_IDEMPOTENT_WRITE;
    return WBI_EFFECT_EXTERNAL;
}

static void write_descriptor(struct wbi_jw *w, const struct wbi_server *s, const wbi_json *tool)
{
    static const char *const passed[] = {"title", "description", "inputSchema", "outputSchema"};
    static const char *const set[] = {"timeoutMs", "budgetTokens", "scopes", "credentials"};
    struct wbi_str name = wbi_json_get_str(tool, "name");
    enum wbi_effect effect = effect_of(s, tool);
    const wbi_json *parallel = setting(s, name, "parallel");

    wbi_jw_obj(w);
    wbi_jw_key(w, "name");
    wbi_buf_addc(w->out, '"'); /* both parts are plain characters */
    wbi_buf_adds(w->out, s->origin);
    wbi_buf_addz(w->out, "::");
    wbi_buf_adds(w->out, name);
    wbi_buf_addc(w->out, '"');
    w->comma = true;
    if (s->version[0] != '\0') /* what callers pin it by (C3.2) */
        wbi_jw_kstrz(w, "version", s->version);
    for (size_t i = 0; i < WBI_COUNT(passed); i++)
        if (wbi_json_get(tool, passed[i]) != NULL)
            wbi_jw_kval(w, passed[i], wbi_json_get(tool, passed[i]));
    for (size_t i = 0; i < WBI_COUNT(set); i++)
        if (setting(s, name, set[i]) != NULL)
            wbi_jw_kval(w, set[i], setting(s, name, set[i]));
    if (setting(s, name, "timeoutMs") == NULL)
        wbi_jw_kint(w, "timeoutMs", s->spec.call_ms > 0 ? s->spec.call_ms : WBI_UPSTREAM_CALL_MS);
    wbi_jw_kstrz(w, "effect", wbi_effect_name(effect));
    wbi_jw_kbool(w, "parallel",
                 parallel != NULL ? wbi_json_true(parallel) : effect == WBI_EFFECT_PURE);
    wbi_jw_kval(w, "definition", tool);
    wbi_jw_obj_end(w);
}

static bool plain_name(struct wbi_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-' || c == '.' || c == '/'))
            return false;
    }
    return name.n > 0;
}

/* One definition of a list on its way into the catalog. */
struct candidate {
    const wbi_json *tool;   /* as it came: what is pinned */
    const wbi_json *shown;  /* as the protocol allows it */
    struct wbi_str blocked; /* absent when it may be used, else why not */
    struct wbi_str waits;   /* the same in a few words; absent where somebody has said no */
    bool plain;             /* it shows a person what a model reads */
    bool fresh;             /* its pin is new: good once it was kept */
};

struct candidates {
    struct wbi_runtime *rt;
    struct wbi_server *s;
    struct wbi_arena *arena;
    struct wbi_arena *scratch; /* of one tool */
    struct candidate *list;
    size_t n;
};

static void note(struct wbi_server_notes *notes, struct wbi_str name, struct wbi_str why)
{
    size_t at = strlen(notes->text);

    notes->count++;
    if (name.n == 0)
        name = WBI_LIT("one without a name");
    if (at + 1 < sizeof(notes->text))
        (void)snprintf(notes->text + at, sizeof(notes->text) - at, "%s%.*s (%.*s)",
                       at > 0 ? "; " : "", WBI_FMT(wbi_str_head(name, 64)),
                       WBI_FMT(wbi_str_head(why, 160)));
}

static void leave_out(struct wbi_server *s, struct wbi_str name, const char *why)
{
    note(&s->left_out, name, wbi_str_z(why));
}

static wb_rc read_candidate(const struct candidates *all, const wbi_json *tool, struct candidate *c,
                            struct wbi_error *err)
{
    const struct wbi_secrets *secrets = all->rt->secrets;
    wb_rc rc;

    *c = (struct candidate){.tool = tool, .plain = !wbi_definition_hides(tool)};
    if (!plain_name(wbi_json_get_str(tool, "name")))
        return wbi_fail(err, WB_EINPUT, "its name is no plain one");
    rc = wbi_definition_take(all->arena, tool, &c->shown, err);
    if (rc == WB_OK && !wbi_mcp_headers_usable(wbi_json_get(tool, "inputSchema")))
        return wbi_fail(err, WB_EINPUT, "its x-mcp-header cannot be sent");
    if (rc == WB_OK && (!c->plain || wbi_definition_tells(secrets, c->shown)))
        rc = wbi_definition_clean(all->arena, secrets, c->shown, &c->shown, err);
    return rc;
}

/* False when it cannot be offered, which is noted, or is not wanted. */
static bool take(const struct candidates *all, const wbi_json *tool, struct candidate *c)
{
    struct wbi_str name = wbi_json_get_str(tool, "name");
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_json_true(setting(all->s, name, "disabled")))
        return false;
    if (read_candidate(all, tool, c, &err) == WB_OK)
        return true;
    leave_out(all->s, name, err.text);
    return false;
}

/* Blocked it is, also where there is no memory to say more. */
static void block(struct candidate *c, struct wbi_str why)
{
    c->blocked = why.p != NULL ? why : WBI_LIT("the definition of this tool waits for approval");
}

static void block_unchecked(const struct candidates *all, struct candidate *c, const char *why)
{
    c->waits = wbi_arena_fmt(all->arena, "it cannot be checked: %s", why);
    block(c,
          wbi_arena_fmt(all->arena, "the definition of %.*s of server %.*s cannot be checked: %s",
                        WBI_FMT(wbi_json_get_str(c->tool, "name")), WBI_FMT(all->s->name), why));
}

static struct wbi_str why_blocked(const struct candidate *c, enum wbi_pin_state state)
{
    return state == WBI_PIN_REFUSED   ? WBI_LIT("was refused")
           : state == WBI_PIN_CHANGED ? WBI_LIT("has changed since it was accepted")
           : c->plain                 ? WBI_LIT("was not approved yet")
                                      : WBI_LIT("holds hidden characters");
}

/* With the next step; pins of a workspace's server are looked for in that workspace. */
static void block_unapproved(const struct candidates *all, struct candidate *c,
                             enum wbi_pin_state state, struct wbi_str workspace)
{
    struct wbi_str server = all->s->name, tool = wbi_json_get_str(c->tool, "name");
    struct wbi_str why = why_blocked(c, state);

    if (state != WBI_PIN_REFUSED)
        c->waits = wbi_arena_fmt(all->arena, "it %.*s", WBI_FMT(why));
    block(c, wbi_arena_fmt(all->arena,
                           "the definition of %.*s of server %.*s %.*s; a person can look at it "
                           "with `waybill pins show %.*s/%.*s%s%.*s` and accept it with "
                           "`waybill pins approve`",
                           WBI_FMT(tool), WBI_FMT(server), WBI_FMT(why), WBI_FMT(server),
                           WBI_FMT(tool), workspace.n > 0 ? " --root " : "", WBI_FMT(workspace)));
}

/* One that shows a person something else than a model reads is not accepted unseen. */
static void check_pin(const struct candidates *all, const struct wbi_pin_files *files,
                      struct wbi_pin_sheet *sheet, struct candidate *c)
{
    const struct wbi_server *s = all->s;
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_pin_store store = wbi_pin_sheet_store(sheet);
    enum wbi_pin_state state = WBI_PIN_NEW;
    enum wbi_pin_policy policy = c->plain ? s->pin_policy : WBI_PIN_APPROVAL;
    size_t puts = wbi_pin_sheet_puts(sheet);

    wbi_arena_reset(all->scratch);
    if (wbi_pin_check(&store, policy, s->name, c->tool, wbi_wall_ms(&all->rt->clock), all->scratch,
                      &state, &err) != WB_OK)
        block_unchecked(all, c, err.text);
    else if (state != WBI_PIN_ACCEPTED)
        block_unapproved(all, c, state, wbi_pin_files_workspace(files, s->name));
    c->fresh = wbi_pin_sheet_puts(sheet) > puts;
}

/* Pins that cannot be kept hold nothing: what they are of stays blocked. */
static void check_pins(const struct candidates *all)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_pin_sheet *sheet = NULL;
    struct wbi_pin_files files;
    wb_rc rc = wbi_pin_files_open(all->arena, all->rt, &files, &err);

    if (rc == WB_OK)
        rc = wbi_pin_sheet_open(&files, all->arena, all->s->name, /* to_write= */ true, &sheet,
                                &err);
    for (size_t i = 0; rc == WB_OK && i < all->n; i++)
        check_pin(all, &files, sheet, &all->list[i]);
    if (rc == WB_OK)
        rc = wbi_pin_sheet_close(sheet, &all->s->pins, &err);
    for (size_t i = 0; rc != WB_OK && i < all->n; i++)
        if (sheet == NULL || all->list[i].fresh)
            block_unchecked(all, &all->list[i], err.text);
}

bool wbi_server_pins_changed(const struct wbi_server *s, const struct wbi_runtime *rt)
{
    struct wbi_pin_stamp now;
    struct wbi_pin_files files;
    struct wbi_arena *arena;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return false;
    if (wbi_pin_files_open(arena, rt, &files, NULL) != WB_OK)
        files.dir = WBI_NONE;
    now = wbi_pin_files_stamp(&files, s->name);
    wbi_arena_free(arena);
    return now.inode != s->pins.inode || now.mtime_ns != s->pins.mtime_ns ||
           now.size != s->pins.size;
}

static wb_rc declare(const struct candidates *all, const struct candidate *c, struct wbi_error *err)
{
    struct wbi_server *s = all->s;
    struct wbi_tool_binding binding = {.family = &wbi_generic_family,
                                       .ops = &wbi_upstream_tool_ops,
                                       .ops_arg = s,
                                       .origin = s->origin,
                                       .prefix = s->prefix,
                                       .blocked = c->blocked,
                                       .hidden = c->blocked.p != NULL};
    const wbi_json *descriptor;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);
    wb_rc rc;

    wbi_arena_reset(all->scratch);
    wbi_buf_init_arena(&text, all->scratch, WBI_LIMIT_JSON_TEXT);
    write_descriptor(&w, s, c->shown);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    rc = wbi_json_read(all->scratch, wbi_buf_str(&text), WBI_JSON_STRICT, &descriptor, err);
    return rc == WB_OK ? wbi_runtime_add_tool(all->rt, descriptor, &binding, err) : rc;
}

/* What is wrong with one tool costs that tool; only want of memory costs more. */
static wb_rc declare_all(const struct candidates *all, struct wbi_error *err)
{
    all->s->has_blocked = false;
    for (size_t i = 0; i < all->n; i++) {
        const struct candidate *c = &all->list[i];
        struct wbi_error own = WBI_ERROR_INIT;
        wb_rc rc = declare(all, c, &own);

        if (rc == WB_ENOMEM)
            return wbi_fail_nomem(err);
        if (rc != WB_OK)
            leave_out(all->s, wbi_json_get_str(c->tool, "name"), own.text);
        else
            all->s->has_blocked |= c->blocked.p != NULL;
        if (rc == WB_OK && c->waits.p != NULL)
            note(&all->s->waiting, wbi_json_get_str(c->tool, "name"), c->waits);
    }
    return WB_OK;
}

static bool is_same(const struct candidates *all, struct wbi_catalog *catalog, const wbi_json *tool)
{
    struct wbi_str name = wbi_json_get_str(tool, "name"), qualified;
    const struct wbi_tool *known = NULL;
    struct candidate c;

    if (read_candidate(all, tool, &c, NULL) != WB_OK)
        return false;
    qualified = wbi_arena_fmt(all->arena, "%.*s::%.*s", WBI_FMT(all->s->origin), WBI_FMT(name));
    return qualified.p != NULL &&
           wbi_catalog_resolve(catalog, NULL, NULL, WBI_NONE, qualified, WBI_NONE, &known, NULL) ==
               WB_OK &&
           wbi_json_equal(c.shown, wbi_json_get(known->descriptor, "definition"));
}

wb_rc wbi_server_same_tools(struct wbi_runtime *rt, struct wbi_server *s, const wbi_json *tools,
                            struct wbi_arena *arena, struct wbi_str **ret, size_t *ret_count)
{
    const struct candidates all = {.rt = rt, .s = s, .arena = arena};
    struct wbi_catalog *catalog;
    wb_rc rc = wbi_runtime_catalog(rt, &catalog, NULL);

    *ret_count = 0;
    *ret = wbi_arena_array(arena, wbi_json_count(tools) + 1, sizeof(**ret));
    if (rc != WB_OK || *ret == NULL)
        return rc != WB_OK ? rc : WB_ENOMEM;
    WBI_JSON_EACH (tools, tool) {
        if (is_same(&all, catalog, tool))
            (*ret)[(*ret_count)++] = wbi_json_get_str(tool, "name");
    }
    return WB_OK;
}

wb_rc wbi_server_declare(struct wbi_runtime *rt, struct wbi_server *s, const wbi_json *tools,
                         struct wbi_error *err)
{
    struct candidates all = {.rt = rt, .s = s};
    struct wbi_catalog *now;
    wb_rc rc = wbi_runtime_drop_tools(rt, s->origin, err);

    if (rc != WB_OK)
        return rc;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &all.arena) != WB_OK ||
        wbi_arena_new(WBI_LIMIT_CALL_ARENA, &all.scratch) != WB_OK) {
        wbi_arena_free(all.arena);
        return wbi_fail_nomem(err);
    }
    s->left_out.text[0] = s->waiting.text[0] = '\0';
    s->left_out.count = s->waiting.count = 0;
    all.list = wbi_arena_array(all.arena, wbi_json_count(tools) + 1, sizeof(*all.list));
    if (all.list == NULL)
        rc = wbi_fail_nomem(err);
    WBI_JSON_EACH (tools, tool) {
        if (rc == WB_OK && take(&all, tool, &all.list[all.n]))
            all.n++;
    }
    if (rc == WB_OK) {
        check_pins(&all);
        rc = declare_all(&all, err);
    }
    wbi_arena_free(all.scratch);
    wbi_arena_free(all.arena);
    return rc == WB_OK ? wbi_runtime_catalog(rt, &now, err) : rc;
}
