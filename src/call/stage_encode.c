/* SPDX-License-Identifier: Apache-2.0
 * call/stage_encode.c: ENCODE, the receipt as the provider's own item (C9.2).
 * Calls that came by no provider have no item. */
#include "base/limits.h"
#include "call/stages_int.h"
#include "call/views.h"
#include "family/command/command.h"
#include "family/generic/generic.h"
#include "wire/wire.h"

/* Links that go beside a receipt; the text names all. */
#define LINKS_MAX 32u

static wb_rc error_json(struct wbi_call *call, struct wbi_str *ret)
{
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_JSON_TEXT);
    wbi_view_error(&call->outcome.fault, &w);
    *ret = wbi_buf_str(&text);
    return wbi_buf_rc(&text);
}

/* The upstream's own members; ours of the same name win. */
static void write_own_meta(struct wbi_call *call, struct wbi_jw *w)
{
    const wbi_json *own = NULL;

    if (call->complete == NULL || call->complete->meta.p == NULL ||
        wbi_json_read(call->arena, call->complete->meta, WBI_JSON_STRICT, &own, NULL) != WB_OK)
        return;
    WBI_JSON_EACH_MEMBER (own, k) {
        if (wbi_str_eqz(wbi_json_str(k), "waybill/call"))
            continue;
        wbi_jw_keyn(w, wbi_json_str(k));
        wbi_jw_val(w, k_val);
    }
}

/* `_meta["waybill/call"]`: what a client may want to know besides the text (I4). */
static wb_rc mcp_meta(struct wbi_call *call, const struct wbi_wire_call *wire, struct wbi_str *ret)
{
    bool canonical = call->inv.canonical || wbi_wire_mcp_asks_canonical(wire->meta);
    bool ok = call->outcome.state == WBI_OUTCOME_SUCCESS;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    write_own_meta(call, &w);
    wbi_jw_key(&w, "waybill/call");
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "id", call->name);
    wbi_jw_kstrz(&w, "status", ok ? "success" : "error");
    if (!ok)
        wbi_jw_kstrz(&w, "errorKind", wbi_kind_row(call->outcome.fault.kind)->kind);
    if (call->facts.artifacts.p != NULL)
        wbi_jw_kraw(&w, "artifacts", call->facts.artifacts);
    if (canonical && call->canonical.p != NULL)
        wbi_jw_kraw(&w, "canonical", call->canonical);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    *ret = wbi_buf_str(&text);
    return wbi_buf_rc(&text);
}

static wb_rc result_json(struct wbi_call *call, struct wbi_str *ret)
{
    struct wbi_buf text;
    wb_rc rc;

    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_view_result(call, &text);
    *ret = wbi_buf_str(&text);
    return rc;
}

/* What concerns the whole call stands with its last command. */
static void render_end(const struct wbi_call *call, const wbi_json *items, struct wbi_buf *receipt)
{
    wbi_batch_render_kept(items, receipt);
    if (call->facts.coercion.p != NULL)
        wbi_buf_addf(receipt, "input_coercion: %.*s\n", WBI_FMT(call->facts.coercion));
    if (call->unrecorded.p != NULL)
        wbi_buf_addf(receipt, "%.*s\n", WBI_FMT(call->unrecorded));
}

/* Each command of a shell_call: its receipt and how it ended (I4). */
static wb_rc shell_outcomes(struct wbi_call *call, struct wbi_wire_answer *answer)
{
    struct wbi_wire_outcome *list;
    const wbi_json *root, *items;
    size_t n = 0;

    if (call->canonical.p == NULL ||
        wbi_json_read(call->arena, call->canonical, WBI_JSON_STRICT, &root, NULL) != WB_OK)
        return WB_OK;
    items = wbi_json_get_as(wbi_json_get(root, "result"), "items", WBI_JSON_ARR);
    list = wbi_arena_array(call->arena, wbi_json_count(items), sizeof(*list));
    if (list == NULL)
        return WB_ENOMEM;
    WBI_JSON_EACH (items, item) {
        struct wbi_buf receipt;
        int64_t signal;
        wbi_buf_init_arena(&receipt, call->arena, WBI_LIMIT_RECEIPT);
        wbi_command_render_item(item, &receipt);
        if (n + 1 == wbi_json_count(items))
            render_end(call, items, &receipt);
        if (wbi_buf_rc(&receipt) != WB_OK)
            return wbi_buf_rc(&receipt);
        list[n].receipt = wbi_str_head(wbi_buf_str(&receipt), receipt.n > 0 ? receipt.n - 1 : 0);
        list[n].timed_out = wbi_json_true(wbi_json_get(item, "timed_out"));
        if (!wbi_json_i64(wbi_json_get(item, "exit_status"), &list[n].exit_code))
            list[n].exit_code =
                wbi_json_i64(wbi_json_get(item, "signal"), &signal) ? 128 + signal : 1;
        n++;
    }
    answer->outcomes = n ? list : NULL;
    answer->outcomes_n = n;
    return WB_OK;
}

/* Whether the outcome holds everything the tool said (I4): nothing was redacted.
 * That it fits its budget, the executor saw to when it kept the result. */
static bool is_whole(const struct wbi_call *call)
{
    for (size_t i = 0; i < call->facts.redaction_count; i++)
        if (!wbi_str_starts(call->facts.redactions[i], WBI_LIT("invocation")))
            return false;
    return true;
}

struct wbi_str wbi_call_untouched(const struct wbi_call *call)
{
    const struct wbi_complete *full = call->complete;
    bool ok = call->outcome.state == WBI_OUTCOME_SUCCESS;

    if (full == NULL)
        return call->inv.max_tokens == 0 ? call->facts.kept_raw : WBI_NONE;
    return is_whole(call) && full->ok == ok &&
                   (ok || call->outcome.fault.kind == WBI_KIND_TOOL_EXECUTION_FAILED)
               ? full->raw
               : WBI_NONE;
}

/* What was valid when it came may not be so without its secrets. */
static bool still_valid(struct wbi_call *call)
{
    const wbi_json *output;

    return is_whole(call) || (wbi_json_read(call->arena, call->outcome.output, WBI_JSON_STRICT,
                                            &output, NULL) == WB_OK &&
                              wbi_output_valid(call, output, NULL));
}

/* A client must refuse structured output that breaks the tool's promise, and a
 * success without any. So the text alone, which says what happened. */
static wb_rc withhold(struct wbi_call *call, struct wbi_wire_answer *answer)
{
    answer->receipt = wbi_arena_fmt(
        call->arena,
        "The tool ran and succeeded; do not repeat it for this. Its structured result held secrets "
        "and does not fit its outputSchema without them, so only the text is given.\n%.*s",
        WBI_FMT(call->outcome.receipt));
    answer->is_error = true;
    answer->parts = NULL;
    answer->parts_n = 0;
    return answer->receipt.p != NULL ? WB_OK : WB_ENOMEM;
}

/* Content that follows the receipt, and what only MCP has. */
static wb_rc build_mcp(struct wbi_call *call, const struct wbi_wire_call *wire,
                       struct wbi_wire_answer *answer)
{
    /* Only the receipt says what was made of the input, and that nothing was recorded. */
    if (call->unrecorded.p == NULL && call->facts.coercion.p == NULL)
        answer->mcp_result = wbi_call_untouched(call);
    if (!answer->is_error && call->tool->output_schema != NULL && !call->tool->builtin) {
        if (answer->mcp_result.p != NULL || still_valid(call))
            answer->structured = call->outcome.output;
        else if (withhold(call, answer) != WB_OK)
            return WB_ENOMEM;
    }
    return mcp_meta(call, wire, &answer->meta);
}

/* The receipt says what the texts say; images and the like go beside it, and for MCP
 * links, which its clients can follow. */
static wb_rc media_parts(struct wbi_call *call, bool links, struct wbi_wire_answer *answer)
{
    const struct wbi_complete *full = call->complete;
    struct wbi_wire_part *parts;
    size_t n = 0, left = links ? LINKS_MAX : 0;

    if (full->part_count == 0 && full->members == NULL)
        return WB_OK;
    parts = wbi_arena_array(call->arena, full->part_count + 1, sizeof(*parts));
    if (parts == NULL)
        return WB_ENOMEM;
    parts[n++] = (struct wbi_wire_part){
        .type = WBI_PART_TEXT, .text = call->outcome.receipt, .raw = full->members};
    for (size_t i = 0; i < full->part_count; i++) {
        bool link = full->parts[i].type == WBI_PART_LINK && left > 0;

        left -= link;
        if (link || wbi_generic_is_media(&full->parts[i]))
            parts[n++] = full->parts[i];
    }
    if (n > 1 || full->members != NULL) {
        answer->parts = parts;
        answer->parts_n = n;
    }
    return WB_OK;
}

/* Whether content of the tool follows its receipt. Of a failure only what the tool itself failed
 * with, since what was found wrong with a success was not redacted, and only for MCP: others take
 * but text there. */
static bool has_content(const struct wbi_call *call, const struct wbi_wire_call *wire,
                        const struct wbi_wire_answer *answer)
{
    if (call->complete == NULL)
        return false;
    return !answer->is_error || (!call->complete->ok && wire->provider == WBI_PROVIDER_MCP);
}

static wb_rc build(struct wbi_call *call, const struct wbi_wire_call *wire,
                   struct wbi_wire_answer *answer)
{
    wb_rc rc = WB_OK;

    *answer = (struct wbi_wire_answer){.receipt = call->outcome.receipt,
                                       .is_error = call->outcome.state != WBI_OUTCOME_SUCCESS,
                                       .call_id = wbi_str_z(call->name)};
    if (answer->is_error) {
        answer->error_kind = call->outcome.fault.kind;
        rc = error_json(call, &answer->error);
    }
    if (rc == WB_OK && has_content(call, wire, answer))
        rc = media_parts(call, wire->provider == WBI_PROVIDER_MCP, answer);
    if (rc == WB_OK && wire->kind == WBI_WIRE_SHELL)
        rc = shell_outcomes(call, answer);
    if (rc == WB_OK && wire->provider == WBI_PROVIDER_MCP)
        rc = build_mcp(call, wire, answer);
    if (rc == WB_OK && wire->provider == WBI_PROVIDER_NATIVE)
        rc = result_json(call, &answer->result);
    return rc;
}

wb_rc wbi_view_mcp(struct wbi_call *call, struct wbi_buf *out)
{
    static const struct wbi_wire_call mcp = {.provider = WBI_PROVIDER_MCP,
                                             .kind = WBI_WIRE_MCP_CALL};
    struct wbi_wire_answer answer;
    wb_rc rc = build(call, &mcp, &answer);

    if (rc == WB_OK)
        wbi_wire_mcp_result(out, &answer);
    return rc == WB_OK ? wbi_buf_rc(out) : rc;
}

enum wbi_step wbi_stage_encode(struct wbi_call *call)
{
    const struct wbi_wire_call *wire = call->wire;
    struct wbi_wire_answer answer;
    struct wbi_buf item;
    wb_rc rc;

    if (wire == NULL)
        return WBI_STEP_NEXT;
    call->took_time = true;
    wbi_buf_init_arena(&item, call->arena, WBI_LIMIT_CALL_ARENA);
    rc = build(call, wire, &answer);
    if (rc == WB_OK)
        rc = wbi_wire_encode(wire, &answer, &item, NULL);
    if (rc != WB_OK)
        return WBI_STEP_REFUSED;
    call->facts.item = wbi_buf_str(&item);
    return WBI_STEP_NEXT;
}
