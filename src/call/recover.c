/* SPDX-License-Identifier: Apache-2.0
 * call/recover.c: a call is built again from its intent as far as the surfaces
 * need it. Runs on the writer thread, so nothing of a runtime is touched. */
#include "call/recover.h"

#include <stdio.h>

#include "artifact/store.h"
#include "base/checked.h"
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
    const char *section; /* as its members are called: the role, for a batch "command_2_stdout" */
    const char *role;
    struct wbi_str path;
    uint64_t bytes;
    bool sealed; /* finished by its writer, who may have left something out all the same */
};

struct search {
    struct wbi_str state, call_id;
    struct wbi_arena *arena;
    struct found *found;
    size_t n;
};

static const char *const roles[] = {"stdout", "stderr", "combined", "output"};

#define BATCH_MOST 1000u /* commands of a batch whose files are looked for */

/* Files are named after their call and role from the first byte on; those of a batch after the
 * number of the command, too (0: no batch). */
static void look(struct search *s, size_t number, const char *role)
{
    struct found *f = &s->found[s->n];
    char section[40], part[24] = "";

    (void)snprintf(section, sizeof(section), "%s", role);
    if (number > 0) {
        (void)snprintf(part, sizeof(part), "_%zu", number);
        (void)snprintf(section, sizeof(section), "command_%zu_%s", number, role);
    }
    f->role = role;
    f->path = wbi_arena_fmt(s->arena, "%.*s/artifacts/%.*s%s-%s.log", WBI_FMT(s->state),
                            WBI_FMT(s->call_id), part, role);
    if (f->path.p == NULL || !wbi_artifact_left(f->path.p, &f->bytes, &f->sealed))
        return;
    f->section = wbi_arena_strz(s->arena, wbi_str_z(section));
    s->n += f->section != NULL;
}

static wb_rc find_artifacts(const struct wbi_str *state, const struct wbi_row *intent,
                            const wbi_json *invocation, struct wbi_arena *arena, struct search *s)
{
    const wbi_json *input = wbi_json_get(invocation, "input");
    size_t batch = wbi_json_count(wbi_json_get_as(input, "commands", WBI_JSON_ARR));

    *s = (struct search){.call_id = intent->call_id, .arena = arena};
    if (state == NULL || intent->call_id.n == 0)
        return WB_OK;
    s->state = *state;
    batch = WBI_MIN(batch, BATCH_MOST);
    s->found = wbi_arena_array(arena, WBI_COUNT(roles) + 2 * batch, sizeof(*s->found));
    if (s->found == NULL)
        return WB_ENOMEM;
    for (size_t i = 0; i < WBI_COUNT(roles); i++)
        look(s, 0, roles[i]);
    for (size_t i = 0; i < 2 * batch; i++)
        look(s, i / 2 + 1, roles[i % 2]);
    return WB_OK;
}

/* The details of the error: where to read on. */
static struct wbi_str write_details(struct wbi_arena *arena, const struct found *found, size_t n)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    char key[64];

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "partial");
    wbi_jw_obj(&w);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(key, sizeof(key), "%s_preview", found[i].section);
        wbi_jw_kraw(&w, key, WBI_LIT("null"));
        (void)snprintf(key, sizeof(key), "%s_artifact", found[i].section);
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

static wb_rc rebuild(const struct wbi_row *intent, const wbi_json *invocation,
                     struct wbi_str details, struct wbi_arena *arena, struct wbi_call **ret)
{
    struct wbi_call *call = wbi_arena_zalloc(arena, sizeof(*call));
    struct wbi_tool *tool = wbi_arena_zalloc(arena, sizeof(*tool));
    struct wbi_unfinished was = wbi_ledger_unfinished(intent);
    struct wbi_fault fault = {
        .kind = was.kind, .message = wbi_str_z(was.message), .details = details};
    const wbi_json *trust;
    wb_rc rc = call && tool ? read_object(arena, intent->trust, &trust) : WB_ENOMEM;

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
    struct search left = {.n = 0};
    const wbi_json *invocation;
    struct wbi_str details = WBI_NONE;
    struct wbi_call *call;
    wb_rc rc = read_object(arena, intent->invocation, &invocation);

    if (rc == WB_OK)
        rc = find_artifacts(arg, intent, invocation, arena, &left);
    if (rc == WB_OK && left.n > 0)
        details = write_details(arena, left.found, left.n);
    if (rc == WB_OK)
        rc = rebuild(intent, invocation, details, arena, &call);
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
    out->artifacts = write_facts(arena, left.found, left.n);
    out->events = WBI_LIT("[]");
    out->policy = wbi_arena_str(arena, wbi_call_snapshot(call));
    out->timings =
        wbi_arena_fmt(arena, "{\"startedAt\":\"%s\",\"closedAt\":\"%s\"}", started, closed);
    return out->artifacts.p != NULL && out->policy.p != NULL && out->timings.p != NULL ? WB_OK
                                                                                       : WB_ENOMEM;
}
