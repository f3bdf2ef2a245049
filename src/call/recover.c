/* SPDX-License-Identifier: Apache-2.0
 * call/recover.c: a call is built again from its intent as far as the surfaces
 * need it. Runs on the writer thread, so nothing of a runtime is touched. */
#include "call/recover.h"

#include <stdio.h>

#include "artifact/store.h"
#include "base/limits.h"
#include "call/call.h"
#include "call/views.h"
#include "family/receipt.h"

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

/* ---- what it had printed ---- */

struct found {
    const char *role;
    struct wbi_str path;
    uint64_t bytes;
    bool sealed; /* finished by its writer, who may have left something out all the same */
};

#define ROLES 4

/* Files are named after their call and role from the first byte on. */
static size_t find_artifacts(const struct wbi_str *state, struct wbi_str call_id,
                             struct wbi_arena *arena, struct found found[ROLES])
{
    static const char *const roles[ROLES] = {"stdout", "stderr", "combined", "output"};
    struct found *f;
    size_t n = 0;

    for (size_t i = 0; state != NULL && call_id.n > 0 && i < ROLES; i++) {
        f = &found[n];
        f->role = roles[i];
        f->path = wbi_arena_fmt(arena, "%.*s/artifacts/%.*s-%s.log", WBI_FMT(*state),
                                WBI_FMT(call_id), roles[i]);
        n += f->path.p != NULL && wbi_artifact_left(f->path.p, &f->bytes, &f->sealed);
    }
    return n;
}

/* The details of the error: where to read on. */
static struct wbi_str write_details(struct wbi_arena *arena, const struct found *found, size_t n)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    char key[40];

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "partial");
    wbi_jw_obj(&w);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(key, sizeof(key), "%s_preview", found[i].role);
        wbi_jw_kraw(&w, key, WBI_LIT("null"));
        (void)snprintf(key, sizeof(key), "%s_artifact", found[i].role);
        wbi_jw_kint(&w, key, (int64_t)i);
    }
    wbi_jw_key(&w, "artifacts");
    wbi_jw_arr(&w);
    for (size_t i = 0; i < n; i++) {
        wbi_jw_obj(&w);
        wbi_jw_kstr(&w, "path", found[i].path);
        wbi_jw_obj_end(&w);
    }
    wbi_jw_arr_end(&w);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

/* For the record (C4.6), as far as it can be told without reading them. */
static struct wbi_str write_facts(struct wbi_arena *arena, const struct found *found, size_t n)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_arr(&w);
    for (size_t i = 0; i < n; i++) {
        wbi_jw_obj(&w);
        wbi_jw_kstr(&w, "path", found[i].path);
        wbi_jw_kstrz(&w, "role", found[i].role);
        wbi_jw_kint(&w, "bytes", (int64_t)found[i].bytes);
        if (!found[i].sealed) {
            wbi_jw_kbool(&w, "complete", false);
            wbi_jw_kstrz(&w, "reason", "interrupted");
        }
        wbi_jw_obj_end(&w);
    }
    wbi_jw_arr_end(&w);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static wb_rc rebuild(const struct wbi_row *intent, struct wbi_str details, struct wbi_arena *arena,
                     struct wbi_call **ret)
{
    struct wbi_call *call = wbi_arena_zalloc(arena, sizeof(*call));
    struct wbi_tool *tool = wbi_arena_zalloc(arena, sizeof(*tool));
    struct wbi_unfinished was = wbi_ledger_unfinished(intent);
    struct wbi_fault fault = {
        .kind = was.kind, .message = wbi_str_z(was.message), .details = details};
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
    struct found found[ROLES];
    size_t n = find_artifacts(arg, intent->call_id, arena, found);
    struct wbi_call *call;
    wb_rc rc = rebuild(intent, n > 0 ? write_details(arena, found, n) : WBI_NONE, arena, &call);

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
    out->artifacts = write_facts(arena, found, n);
    out->events = WBI_LIT("[]");
    out->policy = wbi_arena_str(arena, wbi_call_snapshot(call));
    out->timings =
        wbi_arena_fmt(arena, "{\"startedAt\":\"%s\",\"closedAt\":\"%s\"}", started, closed);
    return out->artifacts.p != NULL && out->policy.p != NULL && out->timings.p != NULL ? WB_OK
                                                                                       : WB_ENOMEM;
}
