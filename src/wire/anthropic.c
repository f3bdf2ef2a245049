/* SPDX-License-Identifier: Apache-2.0
 * wire/anthropic.c: Anthropic Messages. tool_use blocks come in, tool_result
 * blocks with a real is_error flag go out. */
#include "base/limits.h"
#include "wire/wire_int.h"

/* A request with a longer image, in base64, is refused there. */
#define IMAGE_MAX (5u * WBI_MIB)

static bool is_block(const wbi_json *v)
{
    return wbi_str_eqz(wbi_json_get_str(v, "type"), "tool_use");
}

static bool holds_block(const wbi_json *content)
{
    WBI_JSON_EACH (content, block) {
        if (is_block(block))
            return true;
    }
    return false;
}

/* The event that opens a block in a stream: its input comes in pieces. */
static bool is_opening(const wbi_json *v)
{
    return wbi_str_eqz(wbi_json_get_str(v, "type"), "content_block_start") &&
           is_block(wbi_json_get(v, "content_block"));
}

static bool knows(const wbi_json *v)
{
    return is_block(v) || is_opening(v) || holds_block(wbi_json_get(v, "content")) ||
           (wbi_str_eqz(wbi_json_get_str(v, "type"), "message") &&
            wbi_json_get_as(v, "content", WBI_JSON_ARR) != NULL);
}

static wb_rc decode_block(struct wbi_decoding *d, const wbi_json *v)
{
    const wbi_json *input = wbi_json_get(v, "input");
    struct wbi_wire_call *call;
    wb_rc rc = wbi_decoding_add(d, WBI_WIRE_TOOL_USE, v, &call);

    if (rc == WB_OK)
        rc = wbi_decoding_id(d, call, v, "id", NULL);
    if (rc == WB_OK)
        rc = wbi_decoding_name(d, call, v, "name");
    if (rc != WB_OK)
        return rc;
    if (input != NULL && !wbi_json_is(input, WBI_JSON_OBJ) && !wbi_json_is(input, WBI_JSON_NULL) &&
        !wbi_json_is(input, WBI_JSON_STR)) /* JSON text in a string is understood, too */
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "input must be an object; got %s", wbi_json_type_name(input));
    return wbi_decoding_arguments(d, call, input, "input");
}

/* Output ends at its own limit, or where the context window does. */
static bool hit_limit(struct wbi_str stop_reason)
{
    return wbi_str_eqz(stop_reason, "max_tokens") ||
           wbi_str_eqz(stop_reason, "model_context_window_exceeded");
}

static wb_rc decode(struct wbi_decoding *d, const wbi_json *v)
{
    const wbi_json *last = NULL;

    if (is_block(v))
        return decode_block(d, v);
    if (is_opening(v)) {
        d->unfinished++;
        return WB_OK;
    }
    d->turn->id = wbi_json_get_str(v, "id");
    d->turn->model = wbi_json_get_str(v, "model");
    WBI_JSON_EACH (wbi_json_get(v, "content"), block) {
        last = block;
        if (is_block(block)) {
            wb_rc rc = decode_block(d, block);
            if (rc != WB_OK)
                return rc;
        }
    }
    if (hit_limit(wbi_json_get_str(v, "stop_reason")))
        wbi_decoding_cut_last(d, last);
    return WB_OK;
}

static void encode_source(struct wbi_jw *w, const char *type, const struct wbi_wire_part *part)
{
    wbi_jw_kstrz(w, "type", type);
    wbi_jw_key(w, "source");
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", "base64");
    wbi_jw_kstr(w, "media_type", part->mime);
    wbi_jw_kstr(w, "data", wbi_part_data(part));
    wbi_jw_obj_end(w);
}

static void encode_part(struct wbi_jw *w, const struct wbi_wire_part *part)
{
    static const char *const documents[] = {"application/pdf", NULL};
    enum wbi_wire_part_type as = wbi_part_as(part);
    struct wbi_str text, data = wbi_part_data(part);
    char note[WBI_NOTE_SIZE];

    if (as == WBI_PART_TEXT && wbi_part_text(part, note).n == 0)
        return; /* empty text blocks are refused there */
    wbi_jw_obj(w);
    if (as == WBI_PART_IMAGE && data.p != NULL && data.n <= IMAGE_MAX &&
        wbi_mime_is_image(part->mime)) {
        encode_source(w, "image", part);
    } else if (as == WBI_PART_FILE && data.p != NULL && wbi_mime_in(part->mime, documents)) {
        encode_source(w, "document", part);
    } else {
        text = as == WBI_PART_TEXT ? wbi_part_text(part, note) : wbi_part_note(part, note);
        wbi_jw_kstrz(w, "type", "text");
        wbi_jw_kstr(w, "text", text);
    }
    wbi_jw_obj_end(w);
}

static void encode(struct wbi_jw *w, const struct wbi_wire_call *call,
                   const struct wbi_wire_answer *answer)
{
    const wbi_json *toolset = wbi_json_get_as(call->item, "toolset_name", WBI_JSON_STR);
    struct wbi_str text;

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", "tool_result");
    wbi_jw_kstr(w, "tool_use_id", call->id);
    wbi_jw_key(w, "content");
    if (wbi_content_is_text(answer, &text)) {
        wbi_jw_str(w, text);
    } else {
        wbi_jw_arr(w);
        for (size_t i = 0; i < answer->parts_n; i++)
            encode_part(w, &answer->parts[i]);
        wbi_jw_arr_end(w);
    }
    if (answer->is_error)
        wbi_jw_kbool(w, "is_error", true);
    if (toolset != NULL)
        wbi_jw_kval(w, "toolset_name", toolset);
    wbi_jw_obj_end(w);
}

const struct wbi_codec wbi_codec_anthropic = {"anthropic", knows, decode, encode};
