/* SPDX-License-Identifier: Apache-2.0
 * serve/definition.c: definitions are cleaned as text: in compact JSON a string is
 * a name when a colon follows, and belongs to the last name otherwise. */
#include "serve/definition.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/write.h"
#include "text/hygiene.h"
#include "text/redact.h"
#include "wire/definitions.h"

static bool hides(struct wbi_str s)
{
    struct wbi_hygiene_counts n = {0};
    struct wbi_buf out;
    wb_rc rc;

    if (wbi_hygiene_is_clean(s))
        return false;
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    rc = wbi_hygiene_clean(s, &out, &n);
    wbi_buf_fini(&out);
    return rc != WB_OK || n.sequences + n.redraws + n.invisible + n.controls + n.repaired > 0;
}

/* Without recursion: a parsed text is one run of values. */
bool wbi_definition_hides(const wbi_json *tool)
{
    const wbi_json *end = wbi_json_skip(tool);

    for (; tool < end; tool++)
        if (wbi_json_is(tool, WBI_JSON_STR) && hides(wbi_json_str(tool)))
            return true;
    return false;
}

bool wbi_definition_tells(const struct wbi_secrets *secrets, const wbi_json *v)
{
    const wbi_json *end = wbi_json_skip(v);

    for (; v < end; v++)
        if (wbi_json_is(v, WBI_JSON_STR) && wbi_secrets_found(secrets, wbi_json_str(v)))
            return true;
    return false;
}

static bool is_prose(struct wbi_str name)
{
    return wbi_str_eqz(name, "\"description\"") || wbi_str_eqz(name, "\"title\"");
}

/* Values that only tell what may be given. */
static bool is_sample(struct wbi_str name)
{
    return wbi_str_eqz(name, "\"default\"") || wbi_str_eqz(name, "\"examples\"");
}

static wb_rc add_cleaned(struct wbi_arena *arena, const struct wbi_secrets *secrets,
                         struct wbi_str quoted, bool prose, struct wbi_buf *out)
{
    const wbi_json *v;
    struct wbi_buf clean, safe;
    struct wbi_str text;
    bool found = false;
    wb_rc rc = wbi_json_read(arena, quoted, WBI_JSON_STRICT, &v, NULL);

    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&clean, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&safe, arena, WBI_LIMIT_JSON_TEXT);
    text = wbi_json_str(v);
    if (prose) {
        rc = wbi_hygiene_clean(text, &clean, NULL);
        text = wbi_buf_str(&clean);
    }
    if (rc == WB_OK)
        rc = wbi_redact_string(secrets, text, &safe, &found);
    if (rc == WB_OK)
        wbi_json_quote(out, found ? wbi_buf_str(&safe) : text);
    return rc;
}

/* Where the walk is: how deep, and how deep the object or list lies that is all a sample. */
struct samples {
    size_t depth, from; /* from 0: none */
};

static void step(struct samples *s, char c, struct wbi_str name)
{
    if (c == '{' || c == '[') {
        s->depth++;
        if (s->from == 0 && is_sample(name))
            s->from = s->depth;
    } else if (c == '}' || c == ']') {
        s->from = s->from == s->depth ? 0 : s->from;
        s->depth -= s->depth > 0;
    }
}

/* What a person or a model reads of a question, besides. */
static bool is_asked(struct wbi_str name)
{
    return is_prose(name) || wbi_str_eqz(name, "\"message\"") || wbi_str_eqz(name, "\"text\"") ||
           wbi_str_eqz(name, "\"systemPrompt\"") || wbi_str_eqz(name, "\"enumNames\"");
}

/* rest: compact JSON. */
static wb_rc clean_strings(struct wbi_arena *arena, const struct wbi_secrets *secrets,
                           bool (*prose)(struct wbi_str name), struct wbi_str rest,
                           struct wbi_buf *out)
{
    struct wbi_str name = WBI_NONE;
    struct samples samples = {0};
    wb_rc rc = WB_OK;

    while (rc == WB_OK && rest.n > 0) {
        size_t n = rest.p[0] == '"' ? wbi_json_quoted(rest) : 1;
        struct wbi_str piece = wbi_str_head(rest, n);

        rest = wbi_str_from(rest, n);
        if (n > 1 && rest.n > 0 && rest.p[0] == ':')
            name = piece;
        else if (n > 1 && (prose(name) || is_sample(name) || samples.from > 0)) {
            rc = add_cleaned(arena, secrets, piece, prose(name), out);
            continue;
        }
        if (n == 1)
            step(&samples, piece.p[0], name);
        wbi_buf_adds(out, piece);
    }
    return rc == WB_OK ? wbi_buf_rc(out) : rc;
}

wb_rc wbi_question_clean(struct wbi_arena *arena, const struct wbi_secrets *secrets,
                         struct wbi_str *params)
{
    struct wbi_buf out;
    wb_rc rc;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    rc = clean_strings(arena, secrets, is_asked, *params, &out);
    if (rc == WB_OK)
        *params = wbi_buf_str(&out);
    return rc;
}

wb_rc wbi_definition_clean(struct wbi_arena *arena, const struct wbi_secrets *secrets,
                           const wbi_json *v, const wbi_json **ret, struct wbi_error *err)
{
    struct wbi_buf text, out;
    wb_rc rc;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, v);
    rc = wbi_buf_rc(&text);
    if (rc == WB_OK)
        rc = clean_strings(arena, secrets, is_prose, wbi_buf_str(&text), &out);
    if (rc != WB_OK)
        return wbi_fail(err, rc, "a definition could not be cleaned");
    return wbi_json_read(arena, wbi_buf_str(&out), WBI_JSON_STRICT, ret, err);
}

/* ---- what the protocol allows ---- */

/* So some write what they leave out. */
static bool is_nothing(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_NULL);
}

static bool all_strings(const wbi_json *list)
{
    WBI_JSON_EACH (list, e) {
        if (!wbi_json_is(e, WBI_JSON_STR))
            return false;
    }
    return wbi_json_is(list, WBI_JSON_ARR);
}

static bool is_bool(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_BOOL);
}

static bool good_annotations(const wbi_json *v)
{
    WBI_JSON_EACH_MEMBER (v, k) {
        struct wbi_str name = wbi_json_str(k);

        if (is_nothing(k_val))
            continue;
        if (wbi_str_eqz(name, "title") ? !wbi_json_is(k_val, WBI_JSON_STR)
                                       : wbi_str_ends(name, WBI_LIT("Hint")) && !is_bool(k_val))
            return false;
    }
    return wbi_json_is(v, WBI_JSON_OBJ);
}

static bool good_icon(const wbi_json *v)
{
    struct wbi_str theme = wbi_json_get_str(v, "theme");

    return wbi_json_get_str(v, "src").p != NULL &&
           (wbi_json_get(v, "mimeType") == NULL || wbi_json_get_str(v, "mimeType").p != NULL) &&
           (wbi_json_get(v, "sizes") == NULL || all_strings(wbi_json_get(v, "sizes"))) &&
           (wbi_json_get(v, "theme") == NULL || wbi_str_eqz(theme, "light") ||
            wbi_str_eqz(theme, "dark"));
}

static bool good_icons(const wbi_json *v)
{
    WBI_JSON_EACH (v, e) {
        if (!good_icon(e))
            return false;
    }
    return wbi_json_is(v, WBI_JSON_ARR);
}

static bool good_execution(const wbi_json *v)
{
    const wbi_json *task = wbi_json_get(v, "taskSupport");
    struct wbi_str said = wbi_json_str(task);

    return wbi_json_is(v, WBI_JSON_OBJ) &&
           (task == NULL || wbi_str_eqz(said, "required") || wbi_str_eqz(said, "optional") ||
            wbi_str_eqz(said, "forbidden"));
}

/* Whether a member has the form that the protocol gives it; unknown ones may have any. */
static bool good_member(struct wbi_str name, const wbi_json *v)
{
    if (wbi_str_eqz(name, "title") || wbi_str_eqz(name, "description"))
        return wbi_json_is(v, WBI_JSON_STR);
    if (wbi_str_eqz(name, "outputSchema") || wbi_str_eqz(name, "_meta"))
        return wbi_json_is(v, WBI_JSON_OBJ);
    if (wbi_str_eqz(name, "annotations"))
        return good_annotations(v);
    if (wbi_str_eqz(name, "icons"))
        return good_icons(v);
    return !wbi_str_eqz(name, "execution") || good_execution(v);
}

/* Plainly one of an object. */
static bool is_object(const wbi_json *schema)
{
    return wbi_str_eqz(wbi_json_get_str(schema, "type"), "object");
}

/* Members whose own members that are null are left out: nobody could read them otherwise. */
static bool is_trimmed(struct wbi_str name)
{
    return wbi_str_eqz(name, "annotations") || wbi_str_eqz(name, "inputSchema") ||
           wbi_str_eqz(name, "outputSchema");
}

static bool holds_nothing(const wbi_json *v)
{
    WBI_JSON_EACH_MEMBER (v, k) {
        if (is_nothing(k_val))
            return true;
    }
    return false;
}

void wbi_definition_members(struct wbi_jw *w, const wbi_json *v)
{
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (v, k) {
        if (is_nothing(k_val))
            continue;
        wbi_jw_keyn(w, wbi_json_str(k));
        wbi_jw_val(w, k_val);
    }
    wbi_jw_obj_end(w);
}

wb_rc wbi_definition_take(struct wbi_arena *arena, const wbi_json *tool, const wbi_json **ret,
                          struct wbi_error *err)
{
    const wbi_json *input = wbi_json_get(tool, "inputSchema");
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);
    bool good = true;

    if (!is_object(input))
        return wbi_fail(err, WB_EINPUT, "its inputSchema is not one of \"type\": \"object\"");
    WBI_JSON_EACH_MEMBER (tool, k)
        good &= good_member(wbi_json_str(k), k_val) &&
                !(is_trimmed(wbi_json_str(k)) && holds_nothing(k_val));
    *ret = tool;
    if (good)
        return WB_OK;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (tool, m) {
        if (!good_member(wbi_json_str(m), m_val))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(m));
        if (is_trimmed(wbi_json_str(m)))
            wbi_definition_members(&w, m_val);
        else
            wbi_jw_val(&w, m_val);
    }
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    return wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, err);
}

static bool good_argument(const wbi_json *argument)
{
    WBI_JSON_EACH_MEMBER (argument, k) {
        struct wbi_str name = wbi_json_str(k);
        bool good = wbi_str_eqz(name, "required") ? is_bool(k_val) : good_member(name, k_val);

        if (!good && !is_nothing(k_val))
            return false;
    }
    return wbi_json_get_str(argument, "name").p != NULL;
}

static bool good_arguments(const wbi_json *list)
{
    WBI_JSON_EACH (list, e) {
        if (!good_argument(e))
            return false;
    }
    return wbi_json_is(list, WBI_JSON_ARR);
}

static bool good_item_member(struct wbi_str name, const wbi_json *v)
{
    if (wbi_str_eqz(name, "mimeType"))
        return wbi_json_is(v, WBI_JSON_STR);
    if (wbi_str_eqz(name, "size"))
        return wbi_json_is(v, WBI_JSON_INT) || wbi_json_is(v, WBI_JSON_REAL);
    if (wbi_str_eqz(name, "arguments"))
        return good_arguments(v);
    return wbi_str_eqz(name, "annotations") || good_member(name, v);
}

static bool all_roles(const wbi_json *list)
{
    WBI_JSON_EACH (list, e) {
        if (!wbi_str_eqz(wbi_json_str(e), "user") && !wbi_str_eqz(wbi_json_str(e), "assistant"))
            return false;
    }
    return wbi_json_is(list, WBI_JSON_ARR);
}

static bool good_mark(struct wbi_str name, const wbi_json *v)
{
    int64_t ms;

    if (wbi_str_eqz(name, "audience"))
        return all_roles(v);
    if (wbi_str_eqz(name, "priority"))
        return (wbi_json_is(v, WBI_JSON_INT) || wbi_json_is(v, WBI_JSON_REAL)) &&
               wbi_json_num(v) >= 0 && wbi_json_num(v) <= 1;
    return !wbi_str_eqz(name, "lastModified") || wbi_time_parse(wbi_json_str(v), &ms);
}

bool wbi_item_tells(struct wbi_str name, const wbi_json *v)
{
    if (is_nothing(v) || !wbi_str_eqz(name, "annotations"))
        return !is_nothing(v);
    WBI_JSON_EACH_MEMBER (v, k) {
        if (!is_nothing(k_val) && !good_mark(wbi_json_str(k), k_val))
            return false;
    }
    return wbi_json_is(v, WBI_JSON_OBJ);
}

bool wbi_item_allowed(enum wbi_mcp_list what, const wbi_json *item)
{
    WBI_JSON_EACH_MEMBER (item, k) {
        if (!is_nothing(k_val) && !good_item_member(wbi_json_str(k), k_val))
            return false;
    }
    return wbi_json_get_str(item, "name").p != NULL &&
           (what != WBI_MCP_RESOURCES || wbi_json_get_str(item, "uri").p != NULL) &&
           (what != WBI_MCP_TEMPLATES || wbi_json_get_str(item, "uriTemplate").p != NULL);
}

/* ---- for clients of one era ---- */

static void write_schema(struct wbi_jw *w, const wbi_json *schema, bool legacy)
{
    if (!legacy) {
        wbi_jw_val(w, schema);
        return;
    }
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (schema, k) {
        wbi_jw_keyn(w, wbi_json_str(k));
        if (wbi_str_eqz(wbi_json_str(k), "properties"))
            wbi_definition_properties(w, k_val);
        else
            wbi_jw_val(w, k_val);
    }
    wbi_jw_obj_end(w);
}

void wbi_definition_write(struct wbi_jw *w, struct wbi_str name, const wbi_json *tool, bool legacy)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "name", name);
    WBI_JSON_EACH_MEMBER (tool, k) {
        struct wbi_str member = wbi_json_str(k);
        bool output = wbi_str_eqz(member, "outputSchema");

        if (wbi_str_eqz(member, "name") || (legacy && output && !is_object(k_val)))
            continue;
        wbi_jw_keyn(w, member);
        write_schema(w, k_val, legacy && (output || wbi_str_eqz(member, "inputSchema")));
    }
    wbi_jw_obj_end(w);
}
