/* SPDX-License-Identifier: Apache-2.0
 * call/invocation.c */
#include "call/invocation.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "text/secrets.h"

static wb_rc wrong_type(struct wbi_error *err, struct wbi_str name, const char *want,
                        const wbi_json *got)
{
    wb_rc rc = wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL, "%.*s must be %s; got %s",
                             WBI_FMT(name), want, wbi_json_type_name(got));
    if (err != NULL && name.n + 2 < sizeof(err->at)) {
        err->at[0] = '/';
        memcpy(err->at + 1, name.p, name.n);
        err->at[name.n + 1] = '\0';
    }
    return rc;
}

struct text_member {
    const char *name;
    size_t offset;
};

#define TEXT(member, field)                            \
    {                                                  \
        member, offsetof(struct wbi_invocation, field) \
    }
static const struct text_member text_members[] = {
    TEXT("toolName", tool_name),
    TEXT("versionRange", version_range),
    TEXT("correlationId", correlation_id),
    TEXT("causationId", causation_id),
    TEXT("idempotencyKey", idempotency_key),
    TEXT("deadline", deadline),
    TEXT("callId", call_id),
    TEXT("conversationId", conversation_id),
    TEXT("turnId", turn_id),
    TEXT("provider", provider),
    TEXT("model", model),
};

static struct wbi_str *find_text(struct wbi_invocation *inv, struct wbi_str name)
{
    for (size_t i = 0; i < sizeof(text_members) / sizeof(text_members[0]); i++)
        if (wbi_str_eqz(name, text_members[i].name))
            return (struct wbi_str *)(void *)((char *)inv + text_members[i].offset);
    return NULL;
}

static wb_rc read_member(struct wbi_invocation *inv, struct wbi_str name, const wbi_json *v,
                         struct wbi_error *err)
{
    struct wbi_str *text = find_text(inv, name);
    bool null = wbi_json_is(v, WBI_JSON_NULL);

    if (text != NULL) {
        if (!null && !wbi_json_is(v, WBI_JSON_STR))
            return wrong_type(err, name, "a string", v);
        if (text->p == NULL && !null)
            *text = wbi_json_str(v);
        return WB_OK;
    }
    if (wbi_str_eqz(name, "input")) {
        if (inv->input == NULL && !null)
            inv->input = v;
        return WB_OK;
    }
    if (wbi_str_eqz(name, "headers") || wbi_str_eqz(name, "metadata")) {
        if (!null && !wbi_json_is(v, WBI_JSON_OBJ))
            return wrong_type(err, name, "an object", v);
        if (!null && name.p[0] == 'h')
            inv->headers = v;
        else if (!null)
            inv->metadata = v;
        return WB_OK;
    }
    return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                         "an invocation has no member \"%.*s\"; it has toolName, versionRange, "
                         "input, correlationId, causationId, idempotencyKey, headers, deadline, "
                         "metadata, callId, conversationId, turnId, provider and model",
                         WBI_FMT(wbi_str_head(name, 80)));
}

/* The first wrong member is told; the others are read on, for a refusal is answered with
 * the caller's ids too (C2.2). */
wb_rc wbi_invocation_read(const wbi_json *obj, struct wbi_invocation *inv, struct wbi_error *err)
{
    wb_rc first = WB_OK;

    if (!wbi_json_is(obj, WBI_JSON_OBJ))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "an invocation must be an object; got %s", wbi_json_type_name(obj));
    WBI_JSON_EACH_MEMBER (obj, key) {
        wb_rc rc = read_member(inv, wbi_json_str(key), key_val, first == WB_OK ? err : NULL);
        if (first == WB_OK)
            first = rc;
    }
    return first;
}

static bool blank(struct wbi_str s)
{
    return wbi_str_trim(s).n == 0;
}

void wbi_invocation_rpc_id(struct wbi_invocation *inv, const wbi_json *id, struct wbi_str text)
{
    struct wbi_str value = wbi_json_is(id, WBI_JSON_STR) ? wbi_json_str(id) : WBI_NONE;

    inv->call_id = inv->key_id = text;
    if (value.n > 0 && wbi_utf8_control(value) == value.n) /* others cannot be told or typed */
        inv->call_id = value;
}

/* Ids go into logs and headers: short, and no control characters (C2.2). */
static wb_rc check_id(const char *name, struct wbi_str s, size_t most, struct wbi_error *err)
{
    size_t at;

    if (s.n == 0)
        return WB_OK;
    if (s.n > most)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "%s has %zu bytes; at most %zu are accepted", name, s.n, most);
    at = wbi_utf8_control(s);
    if (at < s.n)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "%s has a control character at byte %zu; none is accepted", name, at);
    return WB_OK;
}

struct id {
    const char *name;
    struct wbi_str *s;
    size_t most;
};

/* One look at all that may be one: hardly a call has one that is. made_up: an id of ours. */
static bool may_hold_secrets(const struct id *ids, size_t n, const struct wbi_str *made_up,
                             const struct wbi_secrets *secrets)
{
    char all[8 * (WBI_LIMIT_ID + 1)];
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (ids[i].s->n < WBI_LIMIT_SECRET_KNOWN_MIN || ids[i].s == made_up)
            continue;
        memcpy(all + at, ids[i].s->p, ids[i].s->n);
        at += ids[i].s->n;
        all[at++] = '\n';
    }
    return at > 0 && wbi_secrets_found(secrets, wbi_str_make(all, at));
}

/* Ids are told and written down everywhere as they are, so none may be a secret. One that is
 * becomes what stands for it: it is not carried on into results, events and rows. */
static wb_rc refuse_secrets(const struct id *ids, size_t n, struct wbi_arena *arena,
                            const struct wbi_secrets *secrets, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < n; i++) {
        struct wbi_buf mask;

        if (!wbi_secrets_found(secrets, *ids[i].s))
            continue;
        wbi_buf_init_arena(&mask, arena, WBI_LIMIT_ID);
        *ids[i].s = wbi_secrets_mask(secrets, "value", *ids[i].s, &mask) == WB_OK
                        ? wbi_buf_str(&mask)
                        : WBI_LIT("[redacted]");
        rc = wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                           "%s looks like a secret; ids carry none", ids[i].name);
    }
    return rc;
}

static wb_rc check_ids(struct wbi_invocation *inv, struct wbi_arena *arena,
                       const struct wbi_secrets *secrets, struct wbi_error *err)
{
    /* the first three are kept redacted, or as hashes */
    const struct id ids[] = {
        {"toolName", &inv->tool_name, WBI_LIMIT_TOOL_NAME},
        {"versionRange", &inv->version_range, WBI_LIMIT_SEMVER_TEXT},
        {"idempotencyKey", &inv->idempotency_key, WBI_LIMIT_IDEMPOTENCY_KEY},
        {"correlationId", &inv->correlation_id, WBI_LIMIT_ID},
        {"causationId", &inv->causation_id, WBI_LIMIT_ID},
        {"callId", &inv->call_id, WBI_LIMIT_ID},
        {"conversationId", &inv->conversation_id, WBI_LIMIT_ID},
        {"turnId", &inv->turn_id, WBI_LIMIT_ID},
        {"principal", &inv->principal, WBI_LIMIT_ID},
        {"provider", &inv->provider, WBI_LIMIT_ID},
        {"model", &inv->model, WBI_LIMIT_ID},
    };
    const size_t n = sizeof(ids) / sizeof(ids[0]), told = 3;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < n && rc == WB_OK; i++)
        rc = check_id(ids[i].name, *ids[i].s, ids[i].most, err);
    if (rc != WB_OK)
        (void)refuse_secrets(ids + told, n - told, arena, secrets, NULL); /* it is told already */
    else if (may_hold_secrets(ids + told, n - told, inv->passing ? &inv->conversation_id : NULL,
                              secrets))
        rc = refuse_secrets(ids + told, n - told, arena, secrets, err);
    return rc;
}

/* C2.3: headers carry no secrets. Neither value nor name is repeated where it is one. */
static wb_rc check_headers(const wbi_json *headers, const struct wbi_secrets *secrets,
                           struct wbi_error *err)
{
    if (wbi_json_count(headers) > WBI_LIMIT_HEADERS_ENTRIES)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "headers has %zu entries; at most %u are accepted",
                             wbi_json_count(headers), WBI_LIMIT_HEADERS_ENTRIES);
    WBI_JSON_EACH_MEMBER (headers, key) {
        struct wbi_str name = wbi_json_str(key);

        if (!wbi_json_is(key_val, WBI_JSON_STR))
            return wrong_type(err, WBI_LIT("headers"), "an object of strings", key_val);
        if (wbi_secrets_found(secrets, name))
            return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                                 "the name of a header looks like a secret; headers carry none");
        if (wbi_secrets_name(name) || wbi_secrets_found(secrets, wbi_json_str(key_val)))
            return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                                 "header \"%.*s\" looks like a secret; headers carry none, put "
                                 "credentials into the configuration",
                                 WBI_FMT(wbi_str_head(name, 80)));
    }
    return WB_OK;
}

static wb_rc check_metadata(const wbi_json *metadata, struct wbi_arena *arena,
                            struct wbi_error *err)
{
    struct wbi_buf text;

    if (wbi_json_count(metadata) > WBI_LIMIT_METADATA_ENTRIES)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "metadata has %zu entries; at most %u are accepted",
                             wbi_json_count(metadata), WBI_LIMIT_METADATA_ENTRIES);
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_METADATA);
    wbi_json_write(&text, metadata);
    if (wbi_buf_rc(&text) == WB_ENOMEM)
        return wbi_fail_nomem(err);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "metadata is larger than %u bytes", WBI_LIMIT_METADATA);
    return WB_OK;
}

static wb_rc check_deadline(struct wbi_invocation *inv, struct wbi_error *err)
{
    if (inv->deadline.p == NULL) {
        if (inv->deadline_ms == 0)
            inv->deadline_ms = INT64_MAX;
        return WB_OK;
    }
    if (!wbi_time_parse(inv->deadline, &inv->deadline_ms))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "deadline must be an RFC 3339 time such as 2026-11-15T06:18:00Z");
    return WB_OK;
}

wb_rc wbi_invocation_check(struct wbi_invocation *inv, struct wbi_arena *arena,
                           const struct wbi_ids *ids, const struct wbi_secrets *secrets,
                           struct wbi_error *err)
{
    wb_rc rc = check_ids(inv, arena, secrets, err);

    if (rc == WB_OK && blank(inv->tool_name))
        rc = wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                           "toolName is missing; name one of the listed tools");
    if (rc == WB_OK && inv->headers != NULL)
        rc = check_headers(inv->headers, secrets, err);
    if (rc == WB_OK && inv->metadata != NULL)
        rc = check_metadata(inv->metadata, arena, err);
    if (rc == WB_OK)
        rc = check_deadline(inv, err);
    if (blank(inv->idempotency_key))
        inv->idempotency_key = WBI_NONE;
    /* What is refused is not carried on into results, events and headers. */
    if (check_id("causationId", inv->causation_id, WBI_LIMIT_ID, NULL) != WB_OK)
        inv->causation_id = WBI_NONE;
    if (blank(inv->correlation_id) ||
        check_id("correlationId", inv->correlation_id, WBI_LIMIT_ID, NULL) != WB_OK) {
        char uuid[WBI_UUID_SIZE];
        wbi_id_uuid(ids, uuid);
        inv->correlation_id = wbi_arena_str(arena, wbi_str_make(uuid, WBI_UUID_SIZE - 1));
        if (inv->correlation_id.p == NULL)
            return wbi_fail_nomem(err);
    }
    return rc;
}

static void maybe(struct wbi_jw *w, const char *name, struct wbi_str s)
{
    if (s.p != NULL)
        wbi_jw_kstr(w, name, s);
}

void wbi_invocation_write(struct wbi_jw *w, const struct wbi_invocation *inv,
                          struct wbi_str input_json)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "toolName", inv->tool_name.p ? inv->tool_name : WBI_LIT(""));
    maybe(w, "versionRange", inv->version_range);
    if (input_json.p != NULL)
        wbi_jw_kraw(w, "input", input_json);
    else
        wbi_jw_kval(w, "input", inv->input);
    wbi_jw_kstr(w, "correlationId", inv->correlation_id);
    maybe(w, "causationId", inv->causation_id);
    maybe(w, "idempotencyKey", inv->idempotency_key);
    if (inv->headers != NULL)
        wbi_jw_kval(w, "headers", inv->headers);
    maybe(w, "deadline", inv->deadline);
    if (inv->metadata != NULL)
        wbi_jw_kval(w, "metadata", inv->metadata);
    maybe(w, "callId", inv->call_id);
    maybe(w, "conversationId", inv->conversation_id);
    maybe(w, "turnId", inv->turn_id);
    maybe(w, "principal", inv->principal);
    maybe(w, "provider", inv->provider);
    maybe(w, "model", inv->model);
    wbi_jw_obj_end(w);
}
