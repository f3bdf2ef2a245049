/* SPDX-License-Identifier: Apache-2.0
 * wire/encode.c: from answers to output items, messages of a turn, and the
 * lines that belong to no provider. */
#include "wire/wire_int.h"

void wbi_wire_error_json(struct wbi_buf *out, enum wbi_kind kind, struct wbi_str message)
{
    const struct wbi_kind_row *row = wbi_kind_row(kind);
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "kind", row->kind);
    wbi_jw_kstr(&w, "message", message);
    wbi_jw_kstrz(&w, "recovery_hint", row->hint);
    wbi_jw_kbool(&w, "retryable", row->retryable);
    wbi_jw_obj_end(&w);
}

static void start_error_line(struct wbi_jw *w, size_t line, const wbi_json *id)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", "waybill.error");
    wbi_jw_key(w, "line");
    if (line > 0)
        wbi_jw_uint(w, line);
    else
        wbi_jw_null(w);
    wbi_jw_kval(w, "id", id);
    wbi_jw_key(w, "error");
}

void wbi_wire_error_line(struct wbi_buf *out, size_t line, const wbi_json *id,
                         struct wbi_str canonical_error)
{
    struct wbi_jw w = wbi_jw_to(out);

    start_error_line(&w, line, id);
    wbi_jw_raw(&w, canonical_error.p ? canonical_error : WBI_LIT("null"));
    wbi_jw_obj_end(&w);
}

static void error_line_of(struct wbi_buf *out, const struct wbi_wire_call *call,
                          const struct wbi_wire_answer *answer)
{
    struct wbi_jw w = wbi_jw_to(out);

    if (answer->error.p != NULL) {
        wbi_wire_error_line(out, call->line, call->id_value, answer->error);
        return;
    }
    start_error_line(&w, call->line, call->id_value);
    wbi_wire_error_json(out, call->problem_kind ? call->problem_kind : WBI_KIND_MALFORMED_CALL,
                        call->problem.p ? call->problem : answer->receipt);
    wbi_jw_obj_end(&w);
}

static wb_rc finish(const struct wbi_buf *out, struct wbi_error *err)
{
    if (wbi_buf_rc(out) == WB_OK)
        return WB_OK;
    return wbi_fail(err, wbi_buf_rc(out), "the output item does not fit into its buffer");
}

wb_rc wbi_wire_encode(const struct wbi_wire_call *call, const struct wbi_wire_answer *answer,
                      struct wbi_buf *out, struct wbi_error *err)
{
    const struct wbi_codec *codec = wbi_codec_of(call->provider);
    struct wbi_jw w = wbi_jw_to(out);

    if (codec == NULL)
        return wbi_fail(err, WB_EMISUSE, "the call names no provider");
    if (call->answerable)
        codec->encode(&w, call, answer);
    else
        error_line_of(out, call, answer);
    return finish(out, err);
}

struct wbi_str wbi_wire_group(enum wbi_provider provider, struct wbi_buf *items)
{
    const char *head = "[", *tail = "]";
    size_t n = items->n, head_n;

    if (provider == WBI_PROVIDER_ANTHROPIC)
        head = "{\"role\":\"user\",\"content\":[";
    else if (provider == WBI_PROVIDER_GEMINI)
        head = "{\"role\":\"user\",\"parts\":[";
    if (head[0] == '{')
        tail = "]}";
    head_n = strlen(head);
    wbi_buf_add(items, head, head_n); /* room, then moved to the front */
    wbi_buf_addz(items, tail);
    if (wbi_buf_rc(items) != WB_OK)
        return wbi_buf_str(items);
    memmove(items->p + head_n, items->p, n);
    memcpy(items->p, head, head_n);
    return wbi_buf_str(items);
}
