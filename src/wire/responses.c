/* SPDX-License-Identifier: Apache-2.0
 * wire/responses.c: OpenAI Responses items. Outputs carry no success flag but
 * in shell_call_output (outcome) and apply_patch_call_output (status), so the
 * receipt's first line has to say it. */
#include <stdio.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "wire/wire_int.h"

struct item_type {
    const char *type;
    enum wbi_wire_kind kind;
};

static const struct item_type item_types[] = {
    {"function_call", WBI_WIRE_FUNCTION},       {"custom_tool_call", WBI_WIRE_CUSTOM},
    {"local_shell_call", WBI_WIRE_LOCAL_SHELL}, {"shell_call", WBI_WIRE_SHELL},
    {"apply_patch_call", WBI_WIRE_APPLY_PATCH},
};

/* 0 for an item that is no call. */
static enum wbi_wire_kind kind_of(const wbi_json *v)
{
    struct wbi_str type = wbi_json_get_str(v, "type");

    for (size_t i = 0; i < WBI_COUNT(item_types); i++)
        if (wbi_str_eqz(type, item_types[i].type))
            return item_types[i].kind;
    return (enum wbi_wire_kind)0;
}

/* The response of a stream event, or v itself. */
static const wbi_json *response_of(const wbi_json *v)
{
    const wbi_json *inner = wbi_json_get_as(v, "response", WBI_JSON_OBJ);

    return inner != NULL ? inner : v;
}

static bool knows(const wbi_json *v)
{
    return kind_of(v) != 0 || wbi_json_get_as(response_of(v), "output", WBI_JSON_ARR) != NULL ||
           wbi_str_eqz(wbi_json_get_str(v, "object"), "response");
}

static wb_rc decode_custom(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *v)
{
    const wbi_json *input = wbi_json_get(v, "input");

    call->is_text = true;
    if (!wbi_json_is(input, WBI_JSON_STR))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "input of a custom_tool_call must be a string; got %s",
                                    wbi_json_type_name(input));
    call->text = wbi_json_str(input);
    return WB_OK;
}

static bool all_strings(const wbi_json *array)
{
    WBI_JSON_EACH (array, e) {
        if (!wbi_json_is(e, WBI_JSON_STR))
            return false;
    }
    return wbi_json_count(array) > 0;
}

/* As it came, but for null, which says nothing: the tool's schema tells what is wrong with it. */
static void copy(struct wbi_jw *w, const wbi_json *from, const char *member)
{
    const wbi_json *v = wbi_json_get(from, member);

    if (v != NULL && !wbi_json_is(v, WBI_JSON_NULL))
        wbi_jw_kval(w, member, v);
}

/* The registered tool local_shell takes ExecCommand's words; what the item
 * cannot say is filled in with its default, so that the record shows it. */
static wb_rc decode_local_shell(struct wbi_decoding *d, struct wbi_wire_call *call,
                                const wbi_json *v)
{
    const wbi_json *action = wbi_json_get_as(v, "action", WBI_JSON_OBJ);
    const wbi_json *command = wbi_json_get_as(action, "command", WBI_JSON_ARR);
    const wbi_json *workdir = wbi_json_get(action, "working_directory");
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    call->name = WBI_LIT(WBI_WIRE_TOOL_LOCAL_SHELL);
    if (!all_strings(command))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "action.command of a local_shell_call must be a non-empty "
                                    "array of strings");
    if (wbi_json_is(workdir, WBI_JSON_NULL))
        workdir = NULL;
    if (workdir != NULL && !wbi_json_is(workdir, WBI_JSON_STR))
        return wbi_decoding_problem(d, call, WBI_KIND_INVALID_TOOL_INPUT,
                                    "action.working_directory must be a string; got %s",
                                    wbi_json_type_name(workdir));
    wbi_buf_init_arena(&text, d->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kval(&w, "cmd", command);
    if (workdir != NULL)
        wbi_jw_kval(&w, "workdir", workdir);
    copy(&w, action, "timeout_ms");
    copy(&w, action, "env");
    wbi_jw_kstrz(&w, "sandbox_permissions", "use_default");
    wbi_jw_knull(&w, "prefix_rule");
    wbi_jw_knull(&w, "justification");
    wbi_jw_obj_end(&w);
    return wbi_decoding_input(d, call, &text);
}

static wb_rc decode_shell(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *v)
{
    const wbi_json *action = wbi_json_get_as(v, "action", WBI_JSON_OBJ);
    const wbi_json *commands = wbi_json_get_as(action, "commands", WBI_JSON_ARR);
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    call->name = WBI_LIT(WBI_WIRE_TOOL_SHELL);
    if (!all_strings(commands))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "action.commands of a shell_call must be a non-empty array of "
                                    "strings");
    wbi_buf_init_arena(&text, d->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kval(&w, "commands", commands);
    copy(&w, action, "timeout_ms");
    copy(&w, action, "max_output_length");
    wbi_jw_obj_end(&w);
    return wbi_decoding_input(d, call, &text);
}

static wb_rc decode_payload(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *v)
{
    wb_rc rc = WB_OK;

    switch (call->kind) {
    case WBI_WIRE_LOCAL_SHELL:
        return decode_local_shell(d, call, v);
    case WBI_WIRE_SHELL:
        return decode_shell(d, call, v);
    case WBI_WIRE_APPLY_PATCH:
        call->name = WBI_LIT(WBI_WIRE_TOOL_APPLY_PATCH);
        return wbi_decoding_patch(d, call, wbi_json_get(v, "operation"));
    default:
        rc = wbi_decoding_name(d, call, v, "name");
        if (rc == WB_OK)
            rc = wbi_decoding_set_name(d, call, wbi_json_get_str(v, "namespace"), "namespace",
                                       &call->name_space);
        if (rc != WB_OK)
            return rc;
        if (call->kind == WBI_WIRE_CUSTOM)
            return decode_custom(d, call, v);
        return wbi_decoding_arguments(d, call, wbi_json_get(v, "arguments"), "arguments");
    }
}

static bool goes_on(struct wbi_str status)
{
    return wbi_str_eqz(status, "in_progress") || wbi_str_eqz(status, "queued");
}

static bool has_payload(const wbi_json *item)
{
    return wbi_json_get_str(item, "arguments").n > 0 || wbi_json_get_str(item, "input").n > 0 ||
           wbi_json_count(wbi_json_get(item, "action")) > 0 ||
           wbi_json_count(wbi_json_get(item, "operation")) > 0;
}

/* Streams show items before their arguments are there. An item that does not say goes by its
 * response; nothing more comes of one that is over. One that stands alone and has its
 * arguments is whole, whatever it says: clients send shell_call items so. */
static bool is_unfinished(const wbi_json *item, struct wbi_str response_status)
{
    struct wbi_str status = wbi_json_get_str(item, "status");

    if (goes_on(response_status))
        return status.n == 0 || goes_on(status);
    return response_status.n == 0 && goes_on(status) && !has_payload(item);
}

/* The model did not write it to its end. */
static bool was_cut(const wbi_json *item, struct wbi_str response_status)
{
    struct wbi_str status = wbi_json_get_str(item, "status");

    return wbi_str_eqz(status, "incomplete") ||
           (goes_on(status) && response_status.n > 0 && !wbi_str_eqz(response_status, "completed"));
}

static wb_rc decode_item(struct wbi_decoding *d, const wbi_json *v, enum wbi_wire_kind kind,
                         struct wbi_str response_status)
{
    struct wbi_wire_call *call;
    /* Old local shell items have only an id; it is what their output is keyed by then. */
    const char *second = kind == WBI_WIRE_LOCAL_SHELL ? "id" : NULL;
    wb_rc rc;

    if (is_unfinished(v, response_status)) {
        d->unfinished++;
        return WB_OK;
    }
    rc = wbi_decoding_add(d, kind, v, &call);
    if (rc == WB_OK)
        rc = wbi_decoding_id(d, call, v, "call_id", second);
    if (rc == WB_OK)
        rc = decode_payload(d, call, v);
    if (rc == WB_OK && was_cut(v, response_status))
        call->truncated = true;
    return rc;
}

static bool hit_output_limit(const wbi_json *response)
{
    const wbi_json *details = wbi_json_get(response, "incomplete_details");

    return wbi_str_eqz(wbi_json_get_str(response, "status"), "incomplete") &&
           wbi_str_eqz(wbi_json_get_str(details, "reason"), "max_output_tokens");
}

static wb_rc decode(struct wbi_decoding *d, const wbi_json *v)
{
    enum wbi_wire_kind kind = kind_of(v);
    const wbi_json *last = NULL;

    struct wbi_str status;

    if (kind != 0)
        return decode_item(d, v, kind, WBI_NONE);
    v = response_of(v);
    status = wbi_json_get_str(v, "status");
    d->turn->id = wbi_json_get_str(v, "id");
    d->turn->model = wbi_json_get_str(v, "model");
    WBI_JSON_EACH (wbi_json_get(v, "output"), item) {
        kind = kind_of(item);
        last = item;
        if (kind != 0) {
            wb_rc rc = decode_item(d, item, kind, status);
            if (rc != WB_OK)
                return rc;
        }
    }
    if (hit_output_limit(v))
        wbi_decoding_cut_last(d, last);
    return WB_OK;
}

static void encode_image(struct wbi_jw *w, const struct wbi_wire_part *part)
{
    wbi_jw_kstrz(w, "type", "input_image");
    wbi_jw_key(w, "image_url");
    wbi_jw_data_url(w, part->mime, wbi_part_data(part));
    wbi_jw_kstrz(w, "detail", "auto");
}

struct file_type {
    const char *mime;
    const char *extension;
};

/* Files that are taken there, and only under a name that says what they are. */
static const struct file_type file_types[] = {
    {"application/pdf", ".pdf"},
    {"text/plain", ".txt"},
    {"text/markdown", ".md"},
    {"text/html", ".html"},
    {"text/csv", ".csv"},
    {"text/xml", ".xml"},
    {"application/xml", ".xml"},
    {"application/json", ".json"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"},
};

/* NULL: it is not taken. */
static const char *extension_of(struct wbi_str mime)
{
    for (size_t i = 0; i < WBI_COUNT(file_types); i++)
        if (wbi_str_ieq(mime, wbi_str_z(file_types[i].mime)))
            return file_types[i].extension;
    return NULL;
}

static void encode_file_name(struct wbi_jw *w, const struct wbi_wire_part *part)
{
    struct wbi_str extension = wbi_str_z(extension_of(part->mime));
    struct wbi_str name = part->name.n > 0 ? part->name : WBI_LIT("output");
    char full[300];

    if (name.n > extension.n && wbi_str_ieq(wbi_str_from(name, name.n - extension.n), extension)) {
        wbi_jw_kstr(w, "filename", name);
        return;
    }
    (void)snprintf(full, sizeof(full), "%.*s%s",
                   WBI_FMT(wbi_str_head(name, wbi_utf8_cut(name, 200))), extension.p);
    wbi_jw_kstrz(w, "filename", full);
}

static void encode_file(struct wbi_jw *w, const struct wbi_wire_part *part)
{
    wbi_jw_kstrz(w, "type", "input_file");
    encode_file_name(w, part);
    wbi_jw_key(w, "file_data");
    wbi_jw_data_url(w, part->mime, wbi_part_data(part));
}

static void encode_part(struct wbi_jw *w, const struct wbi_wire_part *part)
{
    char note[WBI_NOTE_SIZE];
    enum wbi_wire_part_type as = wbi_part_as(part);
    bool data = wbi_part_data(part).p != NULL;

    wbi_jw_obj(w);
    if (as == WBI_PART_IMAGE && data && wbi_mime_is_image(part->mime)) {
        encode_image(w, part);
    } else if (as == WBI_PART_FILE && data && extension_of(part->mime) != NULL) {
        encode_file(w, part);
    } else {
        wbi_jw_kstrz(w, "type", "input_text");
        wbi_jw_kstr(w, "text", wbi_part_text(part, note));
    }
    wbi_jw_obj_end(w);
}

static void encode_content(struct wbi_jw *w, const struct wbi_wire_answer *answer)
{
    struct wbi_str text;

    if (wbi_content_is_text(answer, &text)) {
        wbi_jw_str(w, text);
        return;
    }
    wbi_jw_arr(w);
    for (size_t i = 0; i < answer->parts_n; i++)
        encode_part(w, &answer->parts[i]);
    wbi_jw_arr_end(w);
}

static void encode_outcome(struct wbi_jw *w, struct wbi_str receipt, bool timed_out, int64_t code)
{
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "stdout", receipt);
    wbi_jw_kstrz(w, "stderr", "");
    wbi_jw_key(w, "outcome");
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", timed_out ? "timeout" : "exit");
    if (!timed_out)
        wbi_jw_kint(w, "exit_code", code);
    wbi_jw_obj_end(w);
    wbi_jw_obj_end(w);
}

/* A call that never came to its commands has one entry: the receipt. */
static void encode_shell(struct wbi_jw *w, const struct wbi_wire_call *call,
                         const struct wbi_wire_answer *answer)
{
    const wbi_json *most = wbi_json_get(wbi_json_get(call->item, "action"), "max_output_length");
    int64_t n;

    wbi_jw_key(w, "output");
    wbi_jw_arr(w);
    for (size_t i = 0; i < answer->outcomes_n; i++)
        encode_outcome(w, answer->outcomes[i].receipt, answer->outcomes[i].timed_out,
                       answer->outcomes[i].exit_code);
    if (answer->outcomes_n == 0)
        encode_outcome(w, answer->receipt, answer->error_kind == WBI_KIND_TIMED_OUT,
                       answer->is_error ? 1 : 0);
    wbi_jw_arr_end(w);
    if (wbi_json_i64(most, &n))
        wbi_jw_kval(w, "max_output_length", most);
}

static void encode(struct wbi_jw *w, const struct wbi_wire_call *call,
                   const struct wbi_wire_answer *answer)
{
    static const char *const types[] = {
        [WBI_WIRE_FUNCTION] = "function_call_output",
        [WBI_WIRE_CUSTOM] = "custom_tool_call_output",
        [WBI_WIRE_LOCAL_SHELL] = "function_call_output",
        [WBI_WIRE_SHELL] = "shell_call_output",
        [WBI_WIRE_APPLY_PATCH] = "apply_patch_call_output",
    };
    const wbi_json *caller = wbi_json_get_as(call->item, "caller", WBI_JSON_OBJ);

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", types[call->kind]);
    wbi_jw_kstr(w, "call_id", call->id);
    if (call->kind == WBI_WIRE_SHELL) {
        encode_shell(w, call, answer);
    } else if (call->kind == WBI_WIRE_APPLY_PATCH) {
        wbi_jw_kstrz(w, "status", answer->is_error ? "failed" : "completed");
        wbi_jw_kstr(w, "output", answer->receipt);
    } else {
        wbi_jw_key(w, "output");
        encode_content(w, answer);
    }
    if (caller != NULL)
        wbi_jw_kval(w, "caller", caller);
    wbi_jw_obj_end(w);
}

const struct wbi_codec wbi_codec_responses = {"responses", knows, decode, encode};
