/* SPDX-License-Identifier: Apache-2.0
 * family/envelope.c: the "__envelope" operations. Lookups touch top-level members
 * and one path only; values are written by the flat writer, so neither depth
 * nor size of a root matters. */
#include "family/envelope.h"

#include "base/checked.h"
#include "json/pointer.h"

static const char *const default_path = "result";

/* Members of the documented envelope and their older spellings: attach replaces
 * these and keeps all others. */
static const char *const known_members[] = {
    "version",     "tool",      "provider", "model",     "toolCallId", "contentType",
    "payloadPath", "schemaRef", "compat",   "createdAt", "tags",       "createdUtc"};

static bool is_known(struct wbi_str name)
{
    for (size_t i = 0; i < WBI_COUNT(known_members); i++)
        if (wbi_str_eqz(name, known_members[i]))
            return true;
    return false;
}

static bool is_blank(struct wbi_str s)
{
    return wbi_str_trim(s).n == 0;
}

/* Content types */

static const char *const type_names[] = {"Unknown", "Unknown", "Text",  "List",
                                         "Object",  "Image",   "Binary"};

const char *wbi_content_type_name(enum wbi_content_type type)
{
    return type_names[type];
}

bool wbi_content_type_by_name(struct wbi_str name, enum wbi_content_type *ret)
{
    for (int t = WBI_CONTENT_UNKNOWN; t <= WBI_CONTENT_BINARY; t++)
        if (wbi_str_ieq(name, wbi_str_z(type_names[t]))) {
            *ret = (enum wbi_content_type)t;
            return true;
        }
    return false;
}

/* Text for a string, List for an array, Object for an object, else Unknown. */
static enum wbi_content_type content_type_of(const wbi_json *payload)
{
    switch (wbi_json_type(payload)) {
    case WBI_JSON_STR:
        return WBI_CONTENT_TEXT;
    case WBI_JSON_ARR:
        return WBI_CONTENT_LIST;
    case WBI_JSON_OBJ:
        return WBI_CONTENT_OBJECT;
    default:
        return WBI_CONTENT_UNKNOWN;
    }
}

bool wbi_content_type_fits(enum wbi_content_type type, const wbi_json *payload)
{
    return type < WBI_CONTENT_TEXT || type > WBI_CONTENT_OBJECT || content_type_of(payload) == type;
}

/* A stored contentType: a name, or the number older writers used (0 Unknown to
 * 5 Binary). Anything else is Unknown. */
static enum wbi_content_type stored_type(const wbi_json *v)
{
    enum wbi_content_type type;
    uint64_t n;

    if (wbi_content_type_by_name(wbi_json_str(v), &type))
        return type;
    if (wbi_json_u64(v, &n) && n <= WBI_CONTENT_BINARY - WBI_CONTENT_UNKNOWN)
        return (enum wbi_content_type)(WBI_CONTENT_UNKNOWN + n);
    return WBI_CONTENT_UNKNOWN;
}

/* Finding */

static wb_rc not_an_object(struct wbi_error *err, const char *what, const wbi_json *v)
{
    return wbi_fail(err, WB_EINPUT, "%s is of type %s; it must be an object", what,
                    wbi_json_type_name(v));
}

/* The root's envelope, NULL when it has none. */
static wb_rc find_envelope(const wbi_json *root, const wbi_json **ret, struct wbi_error *err)
{
    const wbi_json *env;

    if (!wbi_json_is(root, WBI_JSON_OBJ))
        return not_an_object(err, "the root", root);
    env = wbi_json_get(root, WBI_ENVELOPE_KEY);
    if (env != NULL && !wbi_json_is(env, WBI_JSON_OBJ))
        return not_an_object(err, "the reserved member \"" WBI_ENVELOPE_KEY "\"", env);
    *ret = env;
    return WB_OK;
}

/* A path that leads to or into the envelope itself. */
static bool leads_into_envelope(struct wbi_str path)
{
    const size_t n = sizeof(WBI_ENVELOPE_KEY) - 1;
    bool pointer = path.n > 0 && path.p[0] == '/';
    struct wbi_str s = wbi_str_from(path, pointer);

    return wbi_str_starts(s, WBI_LIT(WBI_ENVELOPE_KEY)) &&
           (s.n == n || s.p[n] == (pointer ? '/' : '.'));
}

static wb_rc check_path(struct wbi_str path, struct wbi_error *err)
{
    if (leads_into_envelope(path))
        return wbi_fail(err, WB_EINPUT,
                        "payloadPath leads into the reserved member \"" WBI_ENVELOPE_KEY
                        "\"; it must name the payload");
    return WB_OK;
}

/* "a.b.0" from the root; NULL when it leads nowhere. */
static const wbi_json *at_dotted(const wbi_json *v, struct wbi_str path)
{
    for (bool more = true; more && v != NULL;) {
        struct wbi_str name = wbi_str_head(path, wbi_str_index(path, '.'));
        uint64_t i;

        more = name.n < path.n;
        path = wbi_str_from(path, name.n + 1);
        if (!wbi_json_is(v, WBI_JSON_ARR))
            v = wbi_json_getn(v, name);
        else
            v = wbi_parse_u64(name, &i) && i < SIZE_MAX ? wbi_json_at(v, (size_t)i) : NULL;
    }
    return v;
}

/* A literal top-level name wins over a path of the same spelling. */
static const wbi_json *at_path(const wbi_json *root, struct wbi_str path)
{
    const wbi_json *v = wbi_json_getn(root, path);

    if (v != NULL)
        return v;
    if (path.n > 0 && path.p[0] == '/')
        return wbi_json_pointer(root, path, &v, NULL) == WB_OK ? v : NULL;
    return at_dotted(root, path);
}

static const wbi_json *by_names(const wbi_json *root, const wbi_json *names)
{
    WBI_JSON_EACH (names, name) {
        const wbi_json *v = NULL;

        if (wbi_json_is(name, WBI_JSON_STR) && !wbi_str_eqz(wbi_json_str(name), WBI_ENVELOPE_KEY))
            v = wbi_json_getn(root, wbi_json_str(name));
        if (v != NULL)
            return v;
    }
    return NULL;
}

static const wbi_json *by_usual_names(const wbi_json *root)
{
    static const char *const usual[] = {"result", "list", "items"};
    const wbi_json *v = NULL;

    for (size_t i = 0; i < WBI_COUNT(usual) && v == NULL; i++)
        v = wbi_json_get(root, usual[i]);
    return v;
}

/* The payload, NULL when there is none; path and compat as the envelope has them. */
static const wbi_json *find_payload(const wbi_json *root, struct wbi_str path,
                                    const wbi_json *compat)
{
    const wbi_json *v = is_blank(path) ? NULL : at_path(root, path);

    if (v == NULL)
        v = by_names(root, compat);
    return v ? v : by_usual_names(root);
}

wb_rc wbi_envelope_payload(const wbi_json *root, const wbi_json **ret, struct wbi_error *err)
{
    const wbi_json *env = NULL, *v;
    struct wbi_str path;
    wb_rc rc = find_envelope(root, &env, err);

    if (rc != WB_OK)
        return rc;
    path = wbi_json_get_str(env, "payloadPath");
    rc = check_path(path, err);
    if (rc != WB_OK)
        return rc;
    v = find_payload(root, path, wbi_json_get(env, "compat"));
    if (v == NULL)
        return wbi_fail(err, WB_ENOTFOUND,
                        "the root has no payload: nothing at \"%.*s\", nor under result, list or "
                        "items",
                        WBI_FMT(wbi_str_head(path.p ? path : wbi_str_z(default_path), 100)));
    *ret = v;
    return WB_OK;
}

/* Writing */

static void write_compat(struct wbi_jw *w, const struct wbi_envelope *env)
{
    wbi_jw_key(w, "compat");
    wbi_jw_obj(w);
    for (size_t i = 0; i < env->compat_n; i++) {
        wbi_jw_keyn(w, env->compat[i].key);
        wbi_jw_str(w, env->compat[i].value);
    }
    wbi_jw_obj_end(w);
}

static void write_optional(struct wbi_jw *w, const char *name, struct wbi_str value)
{
    if (value.p != NULL)
        wbi_jw_kstr(w, name, value);
}

static void write_tags(struct wbi_jw *w, const struct wbi_envelope *env)
{
    wbi_jw_key(w, "tags");
    wbi_jw_arr(w);
    for (size_t i = 0; i < env->tags_n; i++)
        wbi_jw_str(w, env->tags[i]);
    wbi_jw_arr_end(w);
}

/* Text in UTC stays as it was given, other offsets are turned into UTC. */
static void write_created_at(struct wbi_jw *w, const struct wbi_envelope *env)
{
    char text[WBI_RFC3339_SIZE];
    int64_t ms = 0;

    if (env->created_at.p != NULL && wbi_str_ends(env->created_at, WBI_LIT("Z"))) {
        wbi_jw_kstr(w, "createdAt", env->created_at);
        return;
    }
    if (env->created_at.p != NULL) {
        (void)wbi_time_parse(env->created_at, &ms); /* checked before */
    } else if (env->clock != NULL) {
        ms = wbi_wall_ms(env->clock);
    } else {
        return;
    }
    wbi_time_format(ms, text);
    wbi_jw_kstrz(w, "createdAt", text);
}

static wb_rc check_fields(const struct wbi_envelope *env, struct wbi_error *err)
{
    int64_t ms;

    if (env->created_at.p != NULL && !wbi_time_parse(env->created_at, &ms))
        return wbi_fail(err, WB_EINPUT,
                        "createdAt \"%.*s\" is no RFC 3339 time such as 2026-11-15T06:18:00Z",
                        WBI_FMT(wbi_str_head(env->created_at, 60)));
    for (size_t i = 0; i < env->compat_n; i++)
        for (size_t k = 0; k < i; k++)
            if (wbi_str_eq(env->compat[i].key, env->compat[k].key))
                return wbi_fail(err, WB_EINPUT, "compat names \"%.*s\" twice",
                                WBI_FMT(wbi_str_head(env->compat[i].key, 100)));
    return check_path(env->payload_path, err);
}

static void write_known(struct wbi_jw *w, const struct wbi_envelope *env, const wbi_json *payload)
{
    enum wbi_content_type type = env->content_type;

    if (type == WBI_CONTENT_INFER)
        type = content_type_of(payload);
    wbi_jw_kstrz(w, "version", WBI_ENVELOPE_VERSION);
    write_optional(w, "tool", env->tool);
    write_optional(w, "provider", env->provider);
    write_optional(w, "model", env->model);
    write_optional(w, "toolCallId", env->tool_call_id);
    wbi_jw_kstrz(w, "contentType", wbi_content_type_name(type));
    wbi_jw_kstr(w, "payloadPath",
                is_blank(env->payload_path) ? wbi_str_z(default_path) : env->payload_path);
    write_optional(w, "schemaRef", env->schema_ref);
    if (env->compat_n > 0)
        write_compat(w, env);
    write_created_at(w, env);
    write_tags(w, env);
}

static wb_rc buffer_rc(const struct wbi_buf *out, struct wbi_error *err)
{
    wb_rc rc = wbi_buf_rc(out);

    return rc == WB_OK ? WB_OK : wbi_fail(err, rc, "the root does not fit its buffer");
}

wb_rc wbi_envelope_write(struct wbi_jw *w, const struct wbi_envelope *env, const wbi_json *payload,
                         struct wbi_error *err)
{
    wb_rc rc = check_fields(env, err);

    if (rc != WB_OK)
        return rc;
    wbi_jw_obj(w);
    write_known(w, env, payload);
    wbi_jw_obj_end(w);
    return buffer_rc(w->out, err);
}

wb_rc wbi_envelope_create(const struct wbi_envelope *env, const wbi_json *payload,
                          struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(out);

    return wbi_envelope_write(&w, env, payload, err);
}

/* The new envelope, then what the old one had beside the known members. */
static void write_unknown(struct wbi_jw *w, const wbi_json *old)
{
    WBI_JSON_EACH_MEMBER (old, k) {
        if (is_known(wbi_json_str(k)))
            continue;
        wbi_jw_keyn(w, wbi_json_str(k));
        wbi_jw_val(w, k_val);
    }
}

static void write_over(struct wbi_jw *w, const struct wbi_envelope *env, const wbi_json *old,
                       const wbi_json *payload)
{
    wbi_jw_obj(w);
    write_known(w, env, payload);
    if (old != NULL)
        write_unknown(w, old);
    wbi_jw_obj_end(w);
}

wb_rc wbi_envelope_attach(const wbi_json *root, const struct wbi_envelope *env, struct wbi_buf *out,
                          struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(out);
    const wbi_json *old = NULL, *payload;
    wb_rc rc = find_envelope(root, &old, err);

    if (rc == WB_OK)
        rc = check_fields(env, err);
    if (rc != WB_OK)
        return rc;
    payload = find_payload(root, env->payload_path, NULL);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (root, k) {
        wbi_jw_keyn(&w, wbi_json_str(k));
        if (k_val == old)
            write_over(&w, env, old, payload);
        else
            wbi_jw_val(&w, k_val);
    }
    if (old == NULL) {
        wbi_jw_key(&w, WBI_ENVELOPE_KEY);
        write_over(&w, env, NULL, payload);
    }
    wbi_jw_obj_end(&w);
    return buffer_rc(out, err);
}

wb_rc wbi_envelope_ensure(const wbi_json *root, const struct wbi_envelope *env, struct wbi_buf *out,
                          struct wbi_error *err)
{
    const wbi_json *old = NULL;
    wb_rc rc = find_envelope(root, &old, err);

    if (rc != WB_OK)
        return rc;
    if (old == NULL)
        return wbi_envelope_attach(root, env, out, err);
    wbi_json_write(out, root);
    return buffer_rc(out, err);
}

/* Members in their place, older spellings in the documented one. */
static void write_respelled(struct wbi_jw *w, const wbi_json *env)
{
    bool dated = wbi_json_get(env, "createdAt") != NULL;

    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (env, k) {
        struct wbi_str name = wbi_json_str(k);

        if (wbi_str_eqz(name, "contentType")) {
            wbi_jw_kstrz(w, "contentType", wbi_content_type_name(stored_type(k_val)));
        } else if (wbi_str_eqz(name, "createdUtc")) {
            if (!dated)
                wbi_jw_kval(w, "createdAt", k_val);
        } else {
            wbi_jw_keyn(w, name);
            wbi_jw_val(w, k_val);
        }
    }
    wbi_jw_obj_end(w);
}

wb_rc wbi_envelope_get(const wbi_json *root, struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(out);
    const wbi_json *env = NULL;
    wb_rc rc = find_envelope(root, &env, err);

    if (rc != WB_OK)
        return rc;
    if (env != NULL) {
        write_respelled(&w, env);
        return buffer_rc(out, err);
    }
    wbi_jw_null(&w);
    rc = buffer_rc(out, err);
    return rc == WB_OK ? wbi_fail(err, WB_ENOTFOUND, "the root has no envelope") : rc;
}

wb_rc wbi_envelope_wrap(const wbi_json *payload, const struct wbi_envelope *env,
                        struct wbi_str payload_key, struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_envelope with_path = *env;
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc;

    if (payload_key.p != NULL && is_blank(payload_key))
        return wbi_fail(err, WB_EINPUT, "the payload's key is blank; it must be a name");
    if (payload_key.p == NULL)
        payload_key = is_blank(env->payload_path) ? wbi_str_z(default_path) : env->payload_path;
    with_path.payload_path = payload_key;
    rc = check_fields(&with_path, err);
    if (rc != WB_OK)
        return rc;
    wbi_jw_obj(&w);
    wbi_jw_keyn(&w, payload_key);
    wbi_jw_val(&w, payload);
    wbi_jw_key(&w, WBI_ENVELOPE_KEY);
    write_over(&w, &with_path, NULL, payload);
    wbi_jw_obj_end(&w);
    return buffer_rc(out, err);
}

wb_rc wbi_envelope_view(const wbi_json *root, struct wbi_envelope_view *ret, struct wbi_error *err)
{
    const wbi_json *env = NULL, *compat;
    struct wbi_str path;
    wb_rc rc = find_envelope(root, &env, err);

    if (rc != WB_OK)
        return rc;
    if (env == NULL)
        return wbi_fail(err, WB_ENOTFOUND, "the root has no envelope");
    compat = wbi_json_get(env, "compat");
    path = wbi_json_get_str(env, "payloadPath");
    *ret = (struct wbi_envelope_view){
        .version = wbi_json_get_str(env, "version"),
        .tool = wbi_json_get_str(env, "tool"),
        .provider = wbi_json_get_str(env, "provider"),
        .model = wbi_json_get_str(env, "model"),
        .tool_call_id = wbi_json_get_str(env, "toolCallId"),
        .content_type = stored_type(wbi_json_get(env, "contentType")),
        .payload_path = is_blank(path) ? wbi_str_z(default_path) : path,
        .schema_ref = wbi_json_get_str(env, "schemaRef"),
        .created_at = wbi_json_get_str(env, "createdAt"),
        .compat =
            wbi_json_is(compat, WBI_JSON_OBJ) || wbi_json_is(compat, WBI_JSON_ARR) ? compat : NULL,
        .tags = wbi_json_get_as(env, "tags", WBI_JSON_ARR),
    };
    if (ret->created_at.p == NULL)
        ret->created_at = wbi_json_get_str(env, "createdUtc");
    return WB_OK;
}
