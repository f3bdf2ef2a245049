/* SPDX-License-Identifier: Apache-2.0
 * wire/mcp.c: MCP tools/call requests as they come on a line, and their
 * JSON-RPC responses. An unknown tool and a malformed request are JSON-RPC
 * errors; everything later is a result with isError (I4). */
#include "base/limits.h"
#include "wire/wire_int.h"

#define INVALID_PARAMS (-32602)

static bool knows(const wbi_json *v)
{
    return wbi_json_get(v, "jsonrpc") != NULL ||
           wbi_str_eqz(wbi_json_get_str(v, "method"), "tools/call");
}

/* Requests are answered to their id, whichever JSON type it has. */
static wb_rc decode_id(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *v)
{
    const wbi_json *id = wbi_json_get(v, "id");
    struct wbi_buf text;

    call->id_value = id;
    if (!wbi_json_is(id, WBI_JSON_STR) && !wbi_json_is(id, WBI_JSON_INT) &&
        !wbi_json_is(id, WBI_JSON_REAL) && !wbi_json_is(id, WBI_JSON_BIG))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "a tools/call request needs an id that is a string or a "
                                    "number; got %s",
                                    wbi_json_type_name(id));
    wbi_buf_init_arena(&text, d->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, id);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(d->err);
    call->id = wbi_buf_str(&text);
    call->answerable = true;
    return wbi_decoding_check_id(d, call, "id");
}

bool wbi_wire_mcp_asks_canonical(const wbi_json *meta)
{
    return wbi_str_eqz(wbi_json_get_str(meta, "waybill/view"), "canonical");
}

static void decode_meta(struct wbi_wire_call *call, const wbi_json *params)
{
    call->meta = wbi_json_get_as(params, "_meta", WBI_JSON_OBJ);
    call->progress_token = wbi_json_get(call->meta, "progressToken");
    call->traceparent = wbi_json_get_str(call->meta, "traceparent");
    call->tracestate = wbi_json_get_str(call->meta, "tracestate");
}

static wb_rc decode(struct wbi_decoding *d, const wbi_json *v)
{
    const wbi_json *params = wbi_json_get(v, "params");
    const wbi_json *arguments = wbi_json_get(params, "arguments");
    struct wbi_wire_call *call;
    wb_rc rc;

    if (!wbi_str_eqz(wbi_json_get_str(v, "method"), "tools/call"))
        return WB_OK;
    rc = wbi_decoding_add(d, WBI_WIRE_MCP_CALL, v, &call);
    if (rc == WB_OK)
        rc = decode_id(d, call, v);
    if (rc == WB_OK)
        rc = wbi_decoding_name(d, call, params, "name");
    if (rc != WB_OK)
        return rc;
    decode_meta(call, params);
    if (arguments != NULL && !wbi_json_is(arguments, WBI_JSON_OBJ))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "params.arguments must be an object; got %s",
                                    wbi_json_type_name(arguments));
    return wbi_decoding_arguments(d, call, arguments, "params.arguments");
}

/* An object but for the member that is replaced by other. */
static void write_with(struct wbi_jw *w, const wbi_json *object, const char *member,
                       struct wbi_str other)
{
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (object, k) {
        wbi_jw_keyn(w, wbi_json_str(k));
        if (wbi_str_eqz(wbi_json_str(k), member))
            wbi_jw_str(w, other);
        else
            wbi_jw_val(w, k_val);
    }
    wbi_jw_obj_end(w);
}

/* A block with members that are not known here. Bytes are the part's: what looks like a secret in
 * their base64 is none. */
static void encode_raw(struct wbi_jw *w, const struct wbi_wire_part *part)
{
    const wbi_json *resource = wbi_json_get(part->raw, "resource");
    bool media = part->data.p != NULL;

    if (!media || part->type != WBI_PART_RESOURCE) {
        if (media && !wbi_str_eq(wbi_json_get_str(part->raw, "data"), part->data))
            write_with(w, part->raw, "data", part->data);
        else
            wbi_jw_val(w, part->raw);
        return;
    }
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (part->raw, k) {
        wbi_jw_keyn(w, wbi_json_str(k));
        if (k_val == resource)
            write_with(w, resource, "blob", part->data);
        else
            wbi_jw_val(w, k_val);
    }
    wbi_jw_obj_end(w);
}

static void encode_block(struct wbi_jw *w, const struct wbi_wire_part *part)
{
    static const char *const types[] = {
        [WBI_PART_TEXT] = "text",         [WBI_PART_IMAGE] = "image",
        [WBI_PART_AUDIO] = "audio",       [WBI_PART_LINK] = "resource_link",
        [WBI_PART_RESOURCE] = "resource", [WBI_PART_FILE] = "resource",
        [WBI_PART_OTHER] = "text",
    };
    bool resource = part->type == WBI_PART_RESOURCE || part->type == WBI_PART_FILE;

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", types[part->type]);
    if (part->type == WBI_PART_TEXT || part->type == WBI_PART_OTHER) {
        wbi_jw_kstr(w, "text", part->text.p ? part->text : WBI_LIT(""));
        WBI_JSON_EACH_MEMBER (part->raw, k) {
            struct wbi_str name = wbi_json_str(k);

            if (wbi_str_eqz(name, "type") || wbi_str_eqz(name, "text"))
                continue;
            wbi_jw_keyn(w, name);
            wbi_jw_val(w, k_val);
        }
    } else if (part->type == WBI_PART_LINK || resource) {
        if (resource) {
            wbi_jw_key(w, "resource");
            wbi_jw_obj(w);
        }
        wbi_jw_kstr(w, "uri", part->uri.p ? part->uri : part->name);
        if (part->type == WBI_PART_LINK)
            wbi_jw_kstr(w, "name", part->name.p ? part->name : part->uri);
        if (part->mime.p != NULL)
            wbi_jw_kstr(w, "mimeType", part->mime);
        if (resource) {
            wbi_jw_kstr(w, part->data.p ? "blob" : "text", part->data.p ? part->data : part->text);
            wbi_jw_obj_end(w);
        }
    } else {
        wbi_jw_kstr(w, "data", part->data);
        wbi_jw_kstr(w, "mimeType", part->mime);
    }
    wbi_jw_obj_end(w);
}

static void encode_content(struct wbi_jw *w, const struct wbi_wire_answer *answer)
{
    const struct wbi_wire_part receipt = {.type = WBI_PART_TEXT, .text = answer->receipt};

    wbi_jw_key(w, "content");
    wbi_jw_arr(w);
    if (answer->parts_n == 0)
        encode_block(w, &receipt);
    for (size_t i = 0; i < answer->parts_n; i++) {
        if (answer->parts[i].raw != NULL && answer->parts[i].type != WBI_PART_TEXT)
            encode_raw(w, &answer->parts[i]);
        else
            encode_block(w, &answer->parts[i]);
    }
    wbi_jw_arr_end(w);
}

static void write_error(struct wbi_jw *w, const wbi_json *id, int code, struct wbi_str message,
                        struct wbi_str data)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "jsonrpc", "2.0");
    wbi_jw_kval(w, "id", id);
    wbi_jw_key(w, "error");
    wbi_jw_obj(w);
    wbi_jw_kint(w, "code", code);
    wbi_jw_kstr(w, "message", message);
    if (data.p != NULL)
        wbi_jw_kraw(w, "data", data);
    wbi_jw_obj_end(w);
    wbi_jw_obj_end(w);
}

static void write_result(struct wbi_jw *w, const struct wbi_wire_answer *answer)
{
    if (answer->mcp_result.p != NULL) {
        wbi_jw_raw(w, answer->mcp_result);
        return;
    }
    wbi_jw_obj(w);
    encode_content(w, answer);
    if (answer->structured.p != NULL)
        wbi_jw_kraw(w, "structuredContent", answer->structured);
    if (answer->is_error)
        wbi_jw_kbool(w, "isError", true);
    if (answer->meta.p != NULL)
        wbi_jw_kraw(w, "_meta", answer->meta);
    wbi_jw_obj_end(w);
}

void wbi_wire_mcp_result(struct wbi_buf *out, const struct wbi_wire_answer *answer)
{
    struct wbi_jw w = wbi_jw_to(out);

    write_result(&w, answer);
}

static void encode(struct wbi_jw *w, const struct wbi_wire_call *call,
                   const struct wbi_wire_answer *answer)
{
    if (answer->error_kind == WBI_KIND_UNKNOWN_TOOL ||
        answer->error_kind == WBI_KIND_MALFORMED_CALL) {
        write_error(w, call->id_value, INVALID_PARAMS, answer->receipt, answer->error);
        return;
    }
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "jsonrpc", "2.0");
    wbi_jw_kval(w, "id", call->id_value);
    wbi_jw_key(w, "result");
    write_result(w, answer);
    wbi_jw_obj_end(w);
}

const struct wbi_codec wbi_codec_mcp = {"mcp", knows, decode, encode};
