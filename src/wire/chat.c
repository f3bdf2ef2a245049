/* SPDX-License-Identifier: Apache-2.0
 * wire/chat.c: OpenAI Chat Completions. Tool messages hold text only and have
 * no error flag; of several choices the first one is the conversation. */
#include "wire/wire_int.h"

static bool is_call(const wbi_json *v)
{
    return wbi_json_get_as(v, "function", WBI_JSON_OBJ) != NULL ||
           wbi_json_get_as(v, "custom", WBI_JSON_OBJ) != NULL ||
           (wbi_json_get(v, "id") != NULL &&
            (wbi_str_eqz(wbi_json_get_str(v, "type"), "function") ||
             wbi_str_eqz(wbi_json_get_str(v, "type"), "custom")));
}

static bool knows(const wbi_json *v)
{
    return is_call(v) || wbi_json_get_as(v, "tool_calls", WBI_JSON_ARR) != NULL ||
           wbi_json_get_as(v, "choices", WBI_JSON_ARR) != NULL;
}

static wb_rc decode_custom(struct wbi_decoding *d, struct wbi_wire_call *call,
                           const wbi_json *custom)
{
    const wbi_json *input = wbi_json_get(custom, "input");

    call->is_text = true;
    if (!wbi_json_is(input, WBI_JSON_STR))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "custom.input must be a string; got %s",
                                    wbi_json_type_name(input));
    call->text = wbi_json_str(input);
    return WB_OK;
}

static wb_rc decode_call(struct wbi_decoding *d, const wbi_json *v)
{
    const wbi_json *custom = wbi_json_get(v, "custom");
    bool is_custom = custom != NULL || wbi_str_eqz(wbi_json_get_str(v, "type"), "custom");
    const wbi_json *body = is_custom ? custom : wbi_json_get(v, "function");
    struct wbi_wire_call *call;
    wb_rc rc = wbi_decoding_add(d, is_custom ? WBI_WIRE_CUSTOM : WBI_WIRE_FUNCTION, v, &call);

    if (rc == WB_OK)
        rc = wbi_decoding_id(d, call, v, "id", NULL);
    if (rc == WB_OK)
        rc = wbi_decoding_name(d, call, body, "name");
    if (rc == WB_OK && is_custom)
        rc = decode_custom(d, call, body);
    else if (rc == WB_OK)
        rc = wbi_decoding_arguments(d, call, wbi_json_get(body, "arguments"), "arguments");
    return rc;
}

static wb_rc decode_message(struct wbi_decoding *d, const wbi_json *message, bool cut)
{
    const wbi_json *last = NULL;

    WBI_JSON_EACH (wbi_json_get(message, "tool_calls"), v) {
        wb_rc rc = decode_call(d, v);
        if (rc != WB_OK)
            return rc;
        last = v;
    }
    if (cut)
        wbi_decoding_cut_last(d, last);
    return WB_OK;
}

static wb_rc decode(struct wbi_decoding *d, const wbi_json *v)
{
    const wbi_json *choice = wbi_json_at(wbi_json_get(v, "choices"), 0);
    const wbi_json *delta = wbi_json_get(choice, "delta");

    if (wbi_json_count(wbi_json_get(delta, "tool_calls")) > 0) {
        d->unfinished++; /* a chunk of a stream: pieces of calls */
        return WB_OK;
    }
    if (choice != NULL) {
        d->turn->id = wbi_json_get_str(v, "id");
        d->turn->model = wbi_json_get_str(v, "model");
        return decode_message(d, wbi_json_get(choice, "message"),
                              wbi_str_eqz(wbi_json_get_str(choice, "finish_reason"), "length"));
    }
    if (wbi_json_get(v, "tool_calls") != NULL)
        return decode_message(d, v, false);
    return is_call(v) ? decode_call(d, v) : WB_OK;
}

static void encode(struct wbi_jw *w, const struct wbi_wire_call *call,
                   const struct wbi_wire_answer *answer)
{
    struct wbi_str text;

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "role", "tool");
    wbi_jw_kstr(w, "tool_call_id", call->id);
    wbi_jw_key(w, "content");
    if (wbi_content_is_text(answer, &text)) {
        wbi_jw_str(w, text);
    } else {
        wbi_jw_arr(w);
        for (size_t i = 0; i < answer->parts_n; i++) {
            char note[WBI_NOTE_SIZE];
            wbi_jw_obj(w);
            wbi_jw_kstrz(w, "type", "text");
            wbi_jw_kstr(w, "text", wbi_part_text(&answer->parts[i], note));
            wbi_jw_obj_end(w);
        }
        wbi_jw_arr_end(w);
    }
    wbi_jw_obj_end(w);
}

const struct wbi_codec wbi_codec_chat = {"chat", knows, decode, encode};
