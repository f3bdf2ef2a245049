/* SPDX-License-Identifier: Apache-2.0
 * wire/decode.c: from a line to the calls in it. Chooses the codec, unwraps
 * {"item", "invocation"}, and holds what all codecs need to fill a call. */
#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "wire/wire_int.h"

static const struct wbi_codec *const codecs[WBI_PROVIDER_COUNT] = {
    [WBI_PROVIDER_RESPONSES] = &wbi_codec_responses,
    [WBI_PROVIDER_CHAT] = &wbi_codec_chat,
    [WBI_PROVIDER_ANTHROPIC] = &wbi_codec_anthropic,
    [WBI_PROVIDER_GEMINI] = &wbi_codec_gemini,
    [WBI_PROVIDER_MCP] = &wbi_codec_mcp,
    [WBI_PROVIDER_NATIVE] = &wbi_codec_native,
};

const struct wbi_codec *wbi_codec_of(enum wbi_provider provider)
{
    return (unsigned)provider < WBI_PROVIDER_COUNT ? codecs[provider] : NULL;
}

const char *wbi_provider_name(enum wbi_provider provider)
{
    const struct wbi_codec *codec = wbi_codec_of(provider);

    if (codec != NULL)
        return codec->name;
    return provider == WBI_PROVIDER_AUTO ? "auto" : "?";
}

bool wbi_provider_parse(struct wbi_str name, enum wbi_provider *ret)
{
    for (int p = WBI_PROVIDER_AUTO; p < WBI_PROVIDER_COUNT; p++) {
        if (wbi_str_eqz(name, wbi_provider_name((enum wbi_provider)p))) {
            *ret = (enum wbi_provider)p;
            return true;
        }
    }
    return false;
}

const char *wbi_wire_kind_name(enum wbi_wire_kind kind)
{
    static const char *const names[] = {
        [WBI_WIRE_FUNCTION] = "function_call",
        [WBI_WIRE_CUSTOM] = "custom_tool_call",
        [WBI_WIRE_LOCAL_SHELL] = "local_shell_call",
        [WBI_WIRE_SHELL] = "shell_call",
        [WBI_WIRE_APPLY_PATCH] = "apply_patch_call",
        [WBI_WIRE_TOOL_USE] = "tool_use",
        [WBI_WIRE_GEMINI_CALL] = "functionCall",
        [WBI_WIRE_MCP_CALL] = "tools/call",
        [WBI_WIRE_NATIVE] = "invocation",
    };

    return (unsigned)kind < WBI_COUNT(names) && names[kind] ? names[kind] : "?";
}

wb_rc wbi_decoding_problem(struct wbi_decoding *d, struct wbi_wire_call *call, enum wbi_kind kind,
                           const char *fmt, ...)
{
    char text[512];
    va_list ap;
    struct wbi_error cut; /* its formatter cuts at UTF-8 boundaries */

    if (call->problem_kind != WBI_KIND_NONE)
        return WB_OK;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)wbi_fail(&cut, WB_EINPUT, "%s", text);
    call->problem = wbi_arena_str(d->arena, wbi_str_z(cut.text));
    if (call->problem.p == NULL)
        return wbi_fail_nomem(d->err);
    call->problem_kind = kind;
    return WB_OK;
}

wb_rc wbi_decoding_add(struct wbi_decoding *d, enum wbi_wire_kind kind, const wbi_json *item,
                       struct wbi_wire_call **ret)
{
    struct wbi_wire_turn *turn = d->turn;
    struct wbi_wire_call *call;

    if (turn->n == WBI_LIMIT_TURN_CALLS)
        return wbi_fail(d->err, WB_ELIMIT, "a turn holds at most %u calls", WBI_LIMIT_TURN_CALLS);
    if (turn->n == d->room) {
        size_t room = d->room ? d->room * 2 : 1;
        struct wbi_wire_call *calls =
            wbi_arena_grow(d->arena, turn->calls, d->room * sizeof(*calls), room * sizeof(*calls));
        if (calls == NULL)
            return wbi_fail_nomem(d->err);
        turn->calls = calls;
        d->room = room;
    }
    call = &turn->calls[turn->n];
    memset(call, 0, sizeof(*call));
    call->kind = kind;
    call->item = item;
    call->index = turn->n++;
    *ret = call;
    return WB_OK;
}

static bool has_control(struct wbi_str s)
{
    return wbi_utf8_control(s) < s.n;
}

/* Ids are echoed into logs and records: short and printable (C2.2). */
wb_rc wbi_decoding_check_id(struct wbi_decoding *d, struct wbi_wire_call *call, const char *member)
{
    if (call->id.n > WBI_LIMIT_ID)
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "%s has %zu bytes; at most %u are accepted", member, call->id.n,
                                    WBI_LIMIT_ID);
    if (has_control(call->id))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "%s has a control character; none is accepted", member);
    return WB_OK;
}

wb_rc wbi_decoding_id(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *from,
                      const char *first, const char *second)
{
    const wbi_json *v = wbi_json_get(from, first);
    const char *member = first;

    if (wbi_json_str(v).n == 0 && second != NULL) {
        const wbi_json *other = wbi_json_get(from, second);
        if (wbi_json_str(other).n > 0 || v == NULL) {
            v = other;
            member = second;
        }
    }
    call->id_value = v != NULL ? v : wbi_wire_find_id(from); /* to tell which one it is */
    if (!wbi_json_is(v, WBI_JSON_STR) || wbi_json_str(v).n == 0)
        return wbi_decoding_problem(
            d, call, WBI_KIND_MALFORMED_CALL, "a %s needs %s, a string, to be answered; got %s",
            wbi_wire_kind_name(call->kind), first,
            wbi_json_is(v, WBI_JSON_STR) ? "an empty one" : wbi_json_type_name(v));
    call->id = wbi_json_str(v);
    call->answerable = true;
    return wbi_decoding_check_id(d, call, member);
}

wb_rc wbi_decoding_set_name(struct wbi_decoding *d, struct wbi_wire_call *call, struct wbi_str name,
                            const char *member, struct wbi_str *ret)
{
    if (name.n > WBI_LIMIT_TOOL_NAME || has_control(name))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "%s must have at most %u bytes and no control characters",
                                    member, WBI_LIMIT_TOOL_NAME);
    *ret = name;
    return WB_OK;
}

wb_rc wbi_decoding_name(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *from,
                        const char *member)
{
    const wbi_json *v = wbi_json_get(from, member);
    struct wbi_str name = wbi_json_get_str(from, member);

    if (name.n == 0)
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "%s %s needs %s, a string that names the tool; got %s",
                                    call->kind == WBI_WIRE_NATIVE ? "an" : "a",
                                    wbi_wire_kind_name(call->kind), member,
                                    name.p ? "an empty string" : wbi_json_type_name(v));
    return wbi_decoding_set_name(d, call, name, member, &call->name);
}

/* True when JSON text ends inside a string or an open container. */
static bool json_text_is_cut(struct wbi_str text)
{
    size_t depth = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"') {
            for (i++; i < text.n && text.p[i] != '"'; i++)
                if (text.p[i] == '\\')
                    i++;
            if (i >= text.n)
                return true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return depth > 0;
}

static wb_rc bad_arguments(struct wbi_decoding *d, struct wbi_wire_call *call, struct wbi_str text,
                           const char *member, const struct wbi_error *why)
{
    call->text = text;
    call->truncated = call->truncated || json_text_is_cut(text);
    if (why->line > 0)
        call->parse_error =
            wbi_arena_fmt(d->arena, "%s at line %u column %u", why->text, why->line, why->column);
    else
        call->parse_error = wbi_arena_str(d->arena, wbi_str_z(why->text));
    if (call->parse_error.p == NULL)
        return wbi_fail_nomem(d->err);
    return wbi_decoding_problem(d, call, WBI_KIND_INVALID_TOOL_INPUT,
                                "%s is not valid JSON%s: %.*s; one JSON object is accepted", member,
                                json_text_is_cut(text) ? " (it ends early)" : "",
                                WBI_FMT(call->parse_error));
}

wb_rc wbi_decoding_arguments(struct wbi_decoding *d, struct wbi_wire_call *call,
                             const wbi_json *arguments, const char *member)
{
    struct wbi_error why = WBI_ERROR_INIT;
    struct wbi_str text = wbi_json_str(arguments);
    wb_rc rc;

    if (wbi_json_is(arguments, WBI_JSON_OBJ)) {
        call->input = arguments;
        return WB_OK;
    }
    if (arguments != NULL && !wbi_json_is(arguments, WBI_JSON_STR) &&
        !wbi_json_is(arguments, WBI_JSON_NULL))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "%s must be JSON text in a string; got %s", member,
                                    wbi_json_type_name(arguments));
    if (wbi_str_trim(text).n == 0)
        text = WBI_LIT("{}"); /* models leave the arguments of a tool without any empty */
    rc = wbi_json_read(d->arena, text, WBI_JSON_STRICT, &call->input, &why);
    if (rc == WB_ENOMEM)
        return wbi_fail_nomem(d->err);
    return rc == WB_OK ? WB_OK : bad_arguments(d, call, text, member, &why);
}

wb_rc wbi_decoding_input(struct wbi_decoding *d, struct wbi_wire_call *call,
                         const struct wbi_buf *text)
{
    if (wbi_buf_rc(text) != WB_OK)
        return wbi_fail(d->err, wbi_buf_rc(text), "the call's input does not fit into memory");
    return wbi_json_read(d->arena, wbi_buf_str(text), WBI_JSON_STRICT, &call->input, d->err);
}

void wbi_decoding_cut_last(struct wbi_decoding *d, const wbi_json *last_item)
{
    struct wbi_wire_turn *turn = d->turn;

    if (turn->n > 0 && turn->calls[turn->n - 1].item == last_item)
        turn->calls[turn->n - 1].truncated = true;
}

static enum wbi_provider detect_object(const wbi_json *v)
{
    static const enum wbi_provider order[] = {
        WBI_PROVIDER_NATIVE,    WBI_PROVIDER_MCP,       WBI_PROVIDER_GEMINI,
        WBI_PROVIDER_RESPONSES, WBI_PROVIDER_ANTHROPIC, WBI_PROVIDER_CHAT,
    };

    if (!wbi_json_is(v, WBI_JSON_OBJ))
        return WBI_PROVIDER_AUTO;
    for (size_t i = 0; i < WBI_COUNT(order); i++)
        if (codecs[order[i]]->knows(v))
            return order[i];
    return WBI_PROVIDER_AUTO;
}

/* Arrays are told by their first element with a known shape. */
static enum wbi_provider detect(const wbi_json *line)
{
    if (!wbi_json_is(line, WBI_JSON_ARR))
        return detect_object(line);
    WBI_JSON_EACH (line, e) {
        enum wbi_provider p = detect_object(e);
        if (p != WBI_PROVIDER_AUTO)
            return p;
    }
    return WBI_PROVIDER_AUTO;
}

static wb_rc no_call(struct wbi_error *err, enum wbi_provider provider, const wbi_json *body)
{
    if (!wbi_json_is(body, WBI_JSON_OBJ) && !wbi_json_is(body, WBI_JSON_ARR))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "a line must be a JSON object; got %s", wbi_json_type_name(body));
    if (provider == WBI_PROVIDER_AUTO)
        return wbi_fail_kind(
            err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
            "not a tool call of a known shape; accepted are OpenAI Responses and Chat items, "
            "Anthropic tool_use, Gemini functionCall, MCP tools/call, an invocation with toolName, "
            "or a whole response of one of them");
    return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                         "no tool call of the shape \"%s\" in this line",
                         wbi_provider_name(provider));
}

static wb_rc decode_body(struct wbi_decoding *d, const struct wbi_codec *codec,
                         const wbi_json *body)
{
    wb_rc rc;

    if (!wbi_json_is(body, WBI_JSON_ARR))
        return wbi_json_is(body, WBI_JSON_OBJ) ? codec->decode(d, body) : WB_OK;
    WBI_JSON_EACH (body, e) {
        if (!wbi_json_is(e, WBI_JSON_OBJ))
            continue;
        rc = codec->decode(d, e);
        if (rc != WB_OK)
            return rc;
    }
    return WB_OK;
}

static bool inputs_differ(const struct wbi_wire_call *call, const wbi_json *beside)
{
    if (call->is_text) /* its JSON form */
        return !wbi_str_eq(call->text, wbi_json_get_str(beside, "input"));
    return call->input == NULL || !wbi_json_equal(call->input, beside);
}

/* Whether the value given beside an item is another than its own. Which tool is called under
 * which id and with what is for the item alone to say; which names one tool has the catalog
 * knows (wbi_stage_resolve). */
static bool contradicts(const struct wbi_wire_call *call, struct wbi_str name, const wbi_json *v)
{
    const wbi_json *own = wbi_json_getn(call->invocation, name);

    if (wbi_json_is(v, WBI_JSON_NULL))
        return false;
    if (wbi_str_eqz(name, "input"))
        return inputs_differ(call, v);
    if (wbi_str_eqz(name, "toolName"))
        return false;
    if (wbi_str_eqz(name, "callId")) /* of MCP the string, not its JSON text */
        return call->id.n > 0 &&
               !wbi_str_eq(wbi_json_is(call->id_value, WBI_JSON_STR) ? wbi_json_str(call->id_value)
                                                                     : call->id,
                           wbi_json_str(v));
    return own != NULL && !wbi_json_is(own, WBI_JSON_NULL) && !wbi_json_equal(own, v);
}

/* The wrapper adds what its calls do not say; it changes nothing of what they do. */
static wb_rc check_beside(struct wbi_decoding *d, struct wbi_wire_call *call,
                          const wbi_json *invocation)
{
    wb_rc rc = WB_OK;

    if (!wbi_json_is(invocation, WBI_JSON_OBJ))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "invocation must be an object; got %s",
                                    wbi_json_type_name(invocation));
    if (d->turn->n > 1 && wbi_json_get_str(invocation, "idempotencyKey").n > 0)
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "invocation.idempotencyKey names one call; the item holds %zu",
                                    d->turn->n);
    WBI_JSON_EACH_MEMBER (invocation, k) {
        struct wbi_str name = wbi_json_str(k);
        if (rc == WB_OK && contradicts(call, name, k_val))
            rc = wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                      "invocation.%.*s is not what the item says itself; leave it "
                                      "out",
                                      WBI_FMT(wbi_str_head(name, 80)));
    }
    return rc;
}

/* invocation: what stands beside the item, or NULL. */
static wb_rc finish_calls(struct wbi_decoding *d, const wbi_json *invocation)
{
    struct wbi_wire_turn *turn = d->turn;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < turn->n && rc == WB_OK; i++) {
        struct wbi_wire_call *call = &turn->calls[i];
        call->provider = turn->provider;
        call->turn_id = turn->id;
        call->model = turn->model;
        if (invocation == NULL)
            continue;
        rc = check_beside(d, call, invocation);
        if (wbi_json_is(invocation, WBI_JSON_OBJ))
            call->beside = invocation;
    }
    return rc;
}

/* {"item", "invocation"} apart; an invocation alone is a native call. */
static wb_rc unwrap(const wbi_json *line, const wbi_json **ret_body,
                    const wbi_json **ret_invocation, enum wbi_provider *provider,
                    struct wbi_error *err)
{
    const wbi_json *item = wbi_json_get(line, "item");
    const wbi_json *invocation = wbi_json_get(line, "invocation");

    *ret_body = item != NULL ? item : line;
    *ret_invocation = NULL;
    if (invocation == NULL)
        return WB_OK;
    if (item != NULL) {
        *ret_invocation = wbi_json_is(invocation, WBI_JSON_NULL) ? NULL : invocation;
        return WB_OK;
    }
    if (!wbi_json_is(invocation, WBI_JSON_OBJ))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_MALFORMED_CALL,
                             "invocation must be an object; got %s",
                             wbi_json_type_name(invocation));
    *ret_body = invocation;
    *provider = WBI_PROVIDER_NATIVE;
    return WB_OK;
}

/* Not to be answered: the same call comes again when it is whole (C3.6). */
static wb_rc unfinished(struct wbi_error *err)
{
    return wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_MALFORMED_CALL,
                         "the call is still being written and was not run; send it when it is "
                         "whole (response.output_item.done, a message or block with all its "
                         "deltas, a part without willContinue)");
}

wb_rc wbi_wire_decode(struct wbi_arena *arena, enum wbi_provider provider, const wbi_json *line,
                      struct wbi_wire_turn *ret, struct wbi_error *err)
{
    struct wbi_wire_turn turn = {.id = WBI_NONE};
    struct wbi_decoding d = {.arena = arena, .turn = &turn, .err = err};
    const wbi_json *body, *invocation;
    wb_rc rc = unwrap(line, &body, &invocation, &provider, err);

    if (rc != WB_OK)
        return rc;
    if (provider == WBI_PROVIDER_AUTO)
        provider = detect(body);
    if (wbi_codec_of(provider) == NULL)
        return no_call(err, WBI_PROVIDER_AUTO, body);
    turn.provider = provider;
    rc = decode_body(&d, wbi_codec_of(provider), body);
    if (rc != WB_OK)
        return rc;
    if (wbi_str_eqz(wbi_json_get_str(line, "type"), "response.output_item.added")) {
        d.unfinished += turn.n; /* whatever their status says */
        turn.n = 0;
    }
    if (turn.n == 0)
        return d.unfinished > 0 ? unfinished(err) : no_call(err, provider, body);
    rc = finish_calls(&d, invocation);
    *ret = turn;
    return rc;
}

const wbi_json *wbi_wire_find_id(const wbi_json *line)
{
    static const char *const inside[] = {"item", "invocation", "functionCall", "function_call",
                                         "response"};
    static const char *const names[] = {"call_id", "callId", "tool_call_id", "tool_use_id", "id"};
    const wbi_json *place = line;

    for (int level = 0; level < 3 && place != NULL; level++) {
        const wbi_json *next = NULL;
        for (size_t i = 0; i < WBI_COUNT(names); i++) {
            const wbi_json *v = wbi_json_get(place, names[i]);
            if (wbi_json_str(v).n > 0 || wbi_json_is(v, WBI_JSON_INT))
                return v;
        }
        for (size_t i = 0; i < WBI_COUNT(inside) && next == NULL; i++)
            next = wbi_json_get_as(place, inside[i], WBI_JSON_OBJ);
        place = next;
    }
    return NULL;
}
