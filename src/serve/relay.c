/* SPDX-License-Identifier: Apache-2.0
 * serve/relay.c: an upstream's side requests, passed on. */
#include "serve/relay.h"

#include "base/limits.h"
#include "json/write.h"
#include "serve/definition.h"
#include "serve/upstreams_int.h"
#include "text/hygiene.h"
#include "text/hygiene_value.h"
#include "text/redact.h"

#define LOGGER_MAX 1024u
#define MORE_MAX (16u * WBI_KIB) /* of further members, to which no bound is known */
#define LOG_REST (32u * WBI_KIB) /* of a message: what is not its data */

void wbi_relay_client(struct wbi_upstream_request *q, struct wbi_mcp_request *r)
{
    if (r == NULL)
        return;
    q->meta = wbi_mcp_meta(r);
    q->abilities = wbi_mcp_abilities(r);
    q->log_level = wbi_mcp_log_level(r);
    q->log_asked = wbi_mcp_log_asked(r);
    if (q->conversation.p == NULL) /* a call may be of one that its client named */
        q->conversation = wbi_mcp_conversation(r);
    q->progress = wbi_mcp_wants_progress(r);
}

static void on_answer(void *arg, const wbi_json *answer, bool is_error)
{
    struct wbi_buf b;

    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    if (answer != NULL)
        wbi_json_write(&b, answer);
    else
        wbi_buf_addz(&b, "{\"code\":-32603,\"message\":\"the request has ended\"}");
    if (wbi_buf_rc(&b) == WB_OK) /* in our spelling an answer may be longer than it came */
        wbi_upstream_answer(arg, wbi_buf_str(&b), is_error);
    else
        wbi_upstream_answer(
            arg, WBI_LIT("{\"code\":-32603,\"message\":\"the answer is too long\"}"), true);
    wbi_buf_fini(&b);
}

/* Before it is asked: the server may say at once that it is done. */
static void note_elicitation(struct wbi_server *s, const struct wbi_mcp_request *r,
                             struct wbi_str params)
{
    struct wbi_arena *arena = NULL;
    const wbi_json *v;

    if (wbi_mcp_era(r) == WBI_ERA_MODERN || params.p == NULL ||
        wbi_arena_new(WBI_LIMIT_MESSAGE_ARENA, &arena) != WB_OK)
        return;
    if (wbi_json_read(arena, params, WBI_JSON_STRICT, &v, NULL) == WB_OK &&
        wbi_mcp_able_with(wbi_mcp_abilities(r), WBI_LIT("elicitation/create"), v))
        wbi_server_elicits(s, wbi_mcp_conversation(r), v);
    wbi_arena_free(arena);
}

/* The client's question, without what a person or a model must not read. */
static wb_rc put_question(struct wbi_server *s, struct wbi_mcp_request *r,
                          struct wbi_upstream_ask *ask, struct wbi_str key, struct wbi_str method,
                          struct wbi_str params)
{
    struct wbi_arena *arena = NULL;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);

    if (rc == WB_OK && params.p != NULL)
        rc = wbi_question_clean(arena, wbi_server_runtime(s)->secrets, &params);
    if (rc == WB_OK && wbi_str_eqz(method, "elicitation/create"))
        note_elicitation(s, r, params);
    if (rc == WB_OK)
        rc = wbi_mcp_ask(r, key, method, params, on_answer, ask);
    wbi_arena_free(arena);
    return rc;
}

void wbi_relay_ask(struct wbi_server *s, struct wbi_mcp_request *r, struct wbi_upstream_ask *ask,
                   struct wbi_str key, struct wbi_str method, struct wbi_str params)
{
    wb_rc rc = r != NULL ? put_question(s, r, ask, key, method, params) : WB_EDENIED;

    if (rc == WB_ELIMIT)
        wbi_upstream_answer(
            ask,
            WBI_LIT("{\"code\":-32603,\"message\":\"the question is too long, or one too many\"}"),
            true);
    else if (rc != WB_OK)
        wbi_upstream_answer(
            ask, WBI_LIT("{\"code\":-32601,\"message\":\"the client cannot be asked\"}"), true);
}

void wbi_relay_withdrawn(struct wbi_mcp_request *r, struct wbi_upstream_ask *ask)
{
    if (r != NULL)
        wbi_mcp_withdraw(r, ask);
}

void wbi_relay_elicits(struct wbi_server *s, const struct wbi_mcp_request *r, const wbi_json *error)
{
    if (r == NULL || wbi_mcp_era(r) == WBI_ERA_MODERN)
        return;
    WBI_JSON_EACH (wbi_json_get(wbi_json_get(error, "data"), "elicitations"), e)
        wbi_server_elicits(s, wbi_mcp_conversation(r), e);
}

/* The text clean and without secrets, which a colour may part; nothing of it where they cannot
 * be taken out. */
static struct wbi_str shown(const struct wbi_runtime *rt, struct wbi_str text,
                            struct wbi_buf *scratch)
{
    bool found = false, clean = text.n == 0 || wbi_hygiene_is_clean(text);
    struct wbi_buf cleaned;
    wb_rc rc = WB_OK;

    wbi_buf_init(&cleaned, scratch->max);
    if (!clean) {
        rc = wbi_hygiene_clean(text, &cleaned, NULL);
        text = wbi_buf_str(&cleaned);
    }
    if (rc == WB_OK && text.n > 0)
        rc = wbi_redact_string(rt->secrets, text, scratch, &found);
    if (rc == WB_OK && !found && !clean) {
        wbi_buf_clear(scratch);
        wbi_buf_adds(scratch, text);
        rc = wbi_buf_rc(scratch);
    }
    wbi_buf_fini(&cleaned);
    if (rc != WB_OK)
        return WBI_NONE;
    return found || !clean ? wbi_buf_str(scratch) : text;
}

/* The same of a value, as JSON. */
static wb_rc show_value(const struct wbi_runtime *rt, const wbi_json *v, struct wbi_buf *out)
{
    struct wbi_arena *arena = NULL;
    wb_rc rc = WB_OK;

    if (!wbi_hygiene_value_is_clean(v)) {
        rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);
        if (rc == WB_OK)
            rc = wbi_hygiene_value(arena, v, &v);
    }
    if (rc == WB_OK)
        rc = wbi_redact_json(rt->secrets, rt->redact_rules, v, out, NULL);
    wbi_arena_free(arena);
    return rc;
}

static bool is_known(const char *const *known, struct wbi_str name)
{
    while (*known != NULL && !wbi_str_eqz(name, *known))
        known++;
    return *known != NULL;
}

static bool is_of_hop(struct wbi_str name)
{
    return wbi_str_starts(name, WBI_LIT(WBI_META));
}

static bool has_more(const wbi_json *params, const char *const *known)
{
    WBI_JSON_EACH_MEMBER (params, k)
        if (!is_known(known, wbi_json_str(k)))
            return true;
    return false;
}

/* Without what it has of the protocol's own, which is of one hop. */
static void write_meta(struct wbi_jw *w, const wbi_json *meta)
{
    size_t n = 0;

    WBI_JSON_EACH_MEMBER (meta, k) {
        if (is_of_hop(wbi_json_str(k)))
            continue;
        if (n++ == 0) {
            wbi_jw_key(w, "_meta");
            wbi_jw_obj(w);
        }
        wbi_jw_keyn(w, wbi_json_str(k));
        wbi_jw_val(w, k_val);
    }
    if (n > 0)
        wbi_jw_obj_end(w);
}

static void write_more(struct wbi_buf *out, const wbi_json *params, const char *const *known)
{
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (params, k) {
        struct wbi_str name = wbi_json_str(k);

        if (is_known(known, name))
            continue;
        if (wbi_str_eqz(name, "_meta")) {
            write_meta(&w, k_val);
            continue;
        }
        wbi_jw_keyn(&w, name);
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
}

/* Members that a notification has besides those that are known here: _meta, and what newer
 * revisions and vendors put there. Cleaned together with the known ones, so that none becomes
 * one of them. Absent: there are none, or they cannot be shown. */
static struct wbi_str more_of(const struct wbi_runtime *rt, const wbi_json *params,
                              const char *const *known, struct wbi_buf *scratch)
{
    struct wbi_arena *arena = NULL;
    struct wbi_str more = WBI_NONE;
    const wbi_json *v = NULL;
    struct wbi_buf text;
    wb_rc rc;

    if (!has_more(params, known) || wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return WBI_NONE;
    wbi_buf_init_arena(&text, arena, MORE_MAX);
    rc = wbi_hygiene_value(arena, params, &params);
    if (rc == WB_OK) {
        write_more(&text, params, known);
        rc = wbi_buf_rc(&text);
    }
    if (rc == WB_OK)
        rc = wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, NULL);
    if (rc == WB_OK && wbi_json_count(v) > 0)
        rc = wbi_redact_json(rt->secrets, rt->redact_rules, v, scratch, NULL);
    if (rc == WB_OK && scratch->n > 2)
        more = wbi_str_make(scratch->p + 1, scratch->n - 2);
    wbi_arena_free(arena);
    return more;
}

/* In place of a message that cannot be passed on: a client must know that there was one. */
static void log_instead(struct wbi_buf *b, wb_rc rc)
{
    wbi_buf_clear(b);
    wbi_buf_addz(b, rc == WB_ELIMIT ? "\"[a message of more than 16 MiB was left out]\""
                    : rc == WB_EINPUT
                        ? "\"[a message with names that hide each other was left out]\""
                        : "\"[a message was left out: out of memory]\"");
}

void wbi_relay_log(const struct wbi_runtime *rt, struct wbi_mcp_request *r, struct wbi_str level,
                   struct wbi_str logger, const wbi_json *data, const wbi_json *params)
{
    static const char *const known[] = {"level", "logger", "data", NULL};
    struct wbi_buf b, name, more;
    wb_rc rc;

    if (r == NULL || data == NULL) /* without data it is no message */
        return;
    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE - LOG_REST);
    wbi_buf_init(&name, 2 * LOGGER_MAX);
    wbi_buf_init(&more, MORE_MAX);
    logger = logger.n <= LOGGER_MAX ? shown(rt, logger, &name) : WBI_NONE;
    rc = show_value(rt, data, &b);
    if (rc != WB_OK)
        log_instead(&b, rc);
    wbi_mcp_log(r, level, logger, wbi_buf_str(&b), more_of(rt, params, known, &more));
    wbi_buf_fini(&b);
    wbi_buf_fini(&name);
    wbi_buf_fini(&more);
}

void wbi_relay_progress(const struct wbi_runtime *rt, struct wbi_mcp_request *r, double progress,
                        double total, struct wbi_str message, const wbi_json *params)
{
    static const char *const known[] = {"progressToken", "progress", "total", "message", NULL};
    struct wbi_buf b, more;

    wbi_buf_init(&b, WBI_LIMIT_MCP_MESSAGE);
    wbi_buf_init(&more, MORE_MAX);
    wbi_mcp_progress(r, progress, total, shown(rt, message, &b), more_of(rt, params, known, &more));
    wbi_buf_fini(&b);
    wbi_buf_fini(&more);
}

struct wbi_str wbi_relay_why(const struct wbi_runtime *rt, const char *why, struct wbi_buf *scratch)
{
    struct wbi_str text =
        shown(rt, wbi_str_z(why != NULL ? why : "the server did not answer"), scratch);

    return text.p != NULL ? text : WBI_LIT("the reason cannot be shown");
}
