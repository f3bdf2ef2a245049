/* SPDX-License-Identifier: Apache-2.0
 * call/recover.c: a call is built again from its intent as far as the surfaces
 * need it. Runs on the writer thread, so nothing of a runtime is touched. */
#include "call/recover.h"

#include "base/limits.h"
#include "call/call.h"
#include "call/views.h"
#include "family/receipt.h"

#define MESSAGE "the runtime ended before the outcome of this call was known"

/* A text somebody damaged reads as an empty object: the call is closed anyway. */
static wb_rc read_object(struct wbi_arena *arena, struct wbi_str text, const wbi_json **ret)
{
    wb_rc rc = WB_EINPUT;

    if (text.p != NULL)
        rc = wbi_json_read(arena, text, WBI_JSON_STRICT, ret, NULL);
    if (rc != WB_OK && rc != WB_ENOMEM)
        rc = wbi_json_read(arena, WBI_LIT("{}"), WBI_JSON_STRICT, ret, NULL);
    return rc;
}

/* "mcp::github" of "mcp::github::search", "local" of "local::fs.write". */
static struct wbi_str origin_of(struct wbi_str qualified)
{
    size_t at = wbi_str_find(qualified, WBI_LIT("::"));

    if (wbi_str_starts(qualified, WBI_LIT("mcp::")))
        at = 5 + wbi_str_find(wbi_str_from(qualified, 5), WBI_LIT("::"));
    return wbi_str_head(qualified, at);
}

static wb_rc rebuild(const struct wbi_row *intent, struct wbi_arena *arena, struct wbi_call **ret)
{
    struct wbi_call *call = wbi_arena_zalloc(arena, sizeof(*call));
    struct wbi_tool *tool = wbi_arena_zalloc(arena, sizeof(*tool));
    struct wbi_fault fault = {.kind = WBI_KIND_OUTCOME_UNKNOWN, .message = WBI_LIT(MESSAGE)};
    const wbi_json *invocation, *trust;
    wb_rc rc = call && tool ? read_object(arena, intent->invocation, &invocation) : WB_ENOMEM;

    if (rc == WB_OK)
        rc = read_object(arena, intent->trust, &trust);
    if (rc == WB_OK)
        rc = wbi_outcome_fail(&call->outcome, arena, &fault);
    if (rc != WB_OK)
        return rc;
    call->arena = arena;
    call->inv.tool_name = wbi_json_get_str(invocation, "toolName");
    call->inv.correlation_id = wbi_json_get_str(invocation, "correlationId");
    tool->qualified = wbi_json_get_str(trust, "tool");
    tool->version = wbi_json_get_str(trust, "version");
    tool->model_name = intent->tool;
    if (tool->qualified.p != NULL && tool->version.p != NULL) {
        tool->origin = origin_of(tool->qualified);
        call->tool = tool;
    }
    *ret = call;
    return WB_OK;
}

static wb_rc make_receipt(struct wbi_arena *arena, struct wbi_str canonical, struct wbi_buf *out)
{
    struct wbi_canonical c;
    wb_rc rc = wbi_canonical_parse(arena, canonical, &c, NULL);

    return rc == WB_OK ? wbi_receipt_render(NULL, &c, arena, out, NULL) : rc;
}

wb_rc wbi_recover_call(void *arg, const struct wbi_row *intent, struct wbi_arena *arena,
                       struct wbi_row *out)
{
    struct wbi_buf canonical, receipt, result;
    char started[WBI_RFC3339_SIZE], closed[WBI_RFC3339_SIZE];
    struct wbi_call *call;
    wb_rc rc = rebuild(intent, arena, &call);

    (void)arg;
    wbi_buf_init_arena(&canonical, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&receipt, arena, WBI_LIMIT_RECEIPT);
    wbi_buf_init_arena(&result, arena, WBI_LIMIT_JSON_TEXT);
    if (rc == WB_OK)
        rc = wbi_view_canonical(&call->outcome, intent->tool, &canonical);
    if (rc == WB_OK)
        rc = make_receipt(arena, wbi_buf_str(&canonical), &receipt);
    if (rc == WB_OK)
        rc = wbi_view_result(call, &result);
    if (rc != WB_OK)
        return rc;
    wbi_time_format(intent->time_ms, started);
    wbi_time_format(out->time_ms, closed);
    out->canonical = wbi_buf_str(&canonical);
    out->receipt = wbi_buf_str(&receipt);
    out->result = wbi_buf_str(&result);
    out->artifacts = WBI_LIT("[]");
    out->events = WBI_LIT("[]");
    out->policy = wbi_arena_str(arena, wbi_call_snapshot(call));
    out->timings =
        wbi_arena_fmt(arena, "{\"startedAt\":\"%s\",\"closedAt\":\"%s\"}", started, closed);
    return out->policy.p != NULL && out->timings.p != NULL ? WB_OK : WB_ENOMEM;
}
