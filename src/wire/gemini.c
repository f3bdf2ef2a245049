/* SPDX-License-Identifier: Apache-2.0
 * wire/gemini.c: Gemini functionCall parts in, functionResponse parts out. The
 * id is optional there; results are matched by name, so the name is echoed as
 * it came. Success is response.output, failure response.error. */
#include <stdio.h>

#include "wire/wire_int.h"

/* Both spellings of a member are in use. */
static const wbi_json *either(const wbi_json *v, const char *camel, const char *snake,
                              enum wbi_json_type type)
{
    const wbi_json *member = wbi_json_get_as(v, camel, type);

    return member != NULL ? member : wbi_json_get_as(v, snake, type);
}

static const wbi_json *call_of(const wbi_json *part)
{
    return either(part, "functionCall", "function_call", WBI_JSON_OBJ);
}

/* The oldest form of Chat has a function_call, too; its input would be lost here. */
static bool is_old_chat(const wbi_json *f)
{
    return wbi_json_get(f, "args") == NULL && wbi_json_get(f, "arguments") != NULL;
}

static bool knows(const wbi_json *v)
{
    const wbi_json *f = call_of(v);

    return (f != NULL && !is_old_chat(f)) ||
           wbi_json_get_as(v, "candidates", WBI_JSON_ARR) != NULL ||
           wbi_json_get_as(v, "parts", WBI_JSON_ARR) != NULL;
}

/* The id may be missing, but not be something else. */
static wb_rc decode_id(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *f)
{
    const wbi_json *id = wbi_json_get(f, "id");

    if (id == NULL || wbi_json_is(id, WBI_JSON_NULL) ||
        (wbi_json_is(id, WBI_JSON_STR) && wbi_json_str(id).n == 0))
        return WB_OK;
    return wbi_decoding_id(d, call, f, "id", NULL);
}

/* A piece of a call whose arguments are streamed. */
static bool is_unfinished(const wbi_json *f)
{
    return wbi_json_true(either(f, "willContinue", "will_continue", WBI_JSON_BOOL)) ||
           (either(f, "partialArgs", "partial_args", WBI_JSON_ARR) != NULL &&
            wbi_json_get(f, "args") == NULL);
}

static wb_rc decode_part(struct wbi_decoding *d, const wbi_json *part)
{
    const wbi_json *f = call_of(part);
    const wbi_json *args = wbi_json_get(f, "args");
    struct wbi_wire_call *call;
    wb_rc rc;

    if (is_unfinished(f)) {
        d->unfinished++;
        return WB_OK;
    }
    rc = wbi_decoding_add(d, WBI_WIRE_GEMINI_CALL, part, &call);
    if (rc == WB_OK)
        rc = wbi_decoding_name(d, call, f, "name");
    if (rc == WB_OK)
        rc = decode_id(d, call, f);
    if (rc != WB_OK)
        return rc;
    call->answerable = call->name.p != NULL;
    if (is_old_chat(f))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "a functionCall has its input under args; got arguments");
    if (args != NULL && !wbi_json_is(args, WBI_JSON_OBJ) && !wbi_json_is(args, WBI_JSON_NULL))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "args must be an object; got %s", wbi_json_type_name(args));
    return wbi_decoding_arguments(d, call, args, "args");
}

static wb_rc decode_content(struct wbi_decoding *d, const wbi_json *content, bool cut)
{
    const wbi_json *last = NULL;

    WBI_JSON_EACH (wbi_json_get(content, "parts"), part) {
        last = part;
        if (call_of(part) != NULL) {
            wb_rc rc = decode_part(d, part);
            if (rc != WB_OK)
                return rc;
        }
    }
    if (cut)
        wbi_decoding_cut_last(d, last);
    return WB_OK;
}

static wb_rc decode(struct wbi_decoding *d, const wbi_json *v)
{
    const wbi_json *candidate = wbi_json_at(wbi_json_get(v, "candidates"), 0);

    if (call_of(v) != NULL)
        return decode_part(d, v);
    if (candidate == NULL)
        return decode_content(d, v, false);
    d->turn->id = wbi_json_str(either(v, "responseId", "response_id", WBI_JSON_STR));
    d->turn->model = wbi_json_str(either(v, "modelVersion", "model_version", WBI_JSON_STR));
    return decode_content(
        d, wbi_json_get(candidate, "content"),
        wbi_str_eqz(wbi_json_str(either(candidate, "finishReason", "finish_reason", WBI_JSON_STR)),
                    "MAX_TOKENS"));
}

/* Media go beside the response; the text says which. */
static bool goes_beside(const struct wbi_wire_part *part)
{
    static const char *const kinds[] = {"image/png", "image/jpeg", "image/webp", "application/pdf",
                                        NULL};
    enum wbi_wire_part_type as = wbi_part_as(part);

    return (as == WBI_PART_IMAGE || as == WBI_PART_FILE) && wbi_mime_in(part->mime, kinds) &&
           wbi_part_data(part).p != NULL;
}

static void encode_texts(struct wbi_jw *w, const struct wbi_wire_answer *answer)
{
    char note[WBI_NOTE_SIZE];
    size_t beside = 0;

    wbi_jw_arr(w);
    for (size_t i = 0; i < answer->parts_n; i++) {
        const struct wbi_wire_part *part = &answer->parts[i];
        if (goes_beside(part)) {
            (void)snprintf(note, sizeof(note), "[%.*s: see part %zu]", WBI_FMT(part->mime),
                           ++beside);
            wbi_jw_str(w, wbi_str_z(note));
        } else {
            wbi_jw_str(w, wbi_part_as(part) == WBI_PART_TEXT ? wbi_part_text(part, note)
                                                             : wbi_part_note(part, note));
        }
    }
    wbi_jw_arr_end(w);
}

static void encode_media(struct wbi_jw *w, const struct wbi_wire_answer *answer)
{
    bool any = false;

    for (size_t i = 0; i < answer->parts_n; i++) {
        const struct wbi_wire_part *part = &answer->parts[i];
        if (!goes_beside(part))
            continue;
        if (!any) {
            wbi_jw_key(w, "parts");
            wbi_jw_arr(w);
            any = true;
        }
        wbi_jw_obj(w);
        wbi_jw_key(w, "inlineData");
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "mimeType", part->mime);
        wbi_jw_kstr(w, "data", wbi_part_data(part));
        wbi_jw_obj_end(w);
        wbi_jw_obj_end(w);
    }
    if (any)
        wbi_jw_arr_end(w);
}

static void encode(struct wbi_jw *w, const struct wbi_wire_call *call,
                   const struct wbi_wire_answer *answer)
{
    struct wbi_str text;

    wbi_jw_obj(w);
    wbi_jw_key(w, "functionResponse");
    wbi_jw_obj(w);
    if (call->id.p != NULL)
        wbi_jw_kstr(w, "id", call->id);
    wbi_jw_kstr(w, "name", call->name);
    wbi_jw_key(w, "response");
    wbi_jw_obj(w);
    wbi_jw_key(w, answer->is_error ? "error" : "output");
    if (wbi_content_is_text(answer, &text))
        wbi_jw_str(w, text);
    else
        encode_texts(w, answer);
    wbi_jw_obj_end(w);
    encode_media(w, answer);
    wbi_jw_obj_end(w);
    wbi_jw_obj_end(w);
}

const struct wbi_codec wbi_codec_gemini = {"gemini", knows, decode, encode};
