/* SPDX-License-Identifier: Apache-2.0
 * call/view_envelope.c: an outcome given out as a root with __envelope (C4.3). */
#include "base/limits.h"
#include "call/call.h"
#include "call/views.h"
#include "family/envelope.h"

static wb_rc tags_of(struct wbi_call *call, struct wbi_envelope *env)
{
    const wbi_json *tags = call->tool ? call->tool->tags : NULL;
    struct wbi_str *list = wbi_arena_array(call->arena, wbi_json_count(tags), sizeof(*list));
    size_t n = 0;

    if (list == NULL)
        return WB_ENOMEM;
    WBI_JSON_EACH(tags, tag)
    {
        list[n++] = wbi_json_str(tag);
    }
    env->tags = list;
    env->tags_n = n;
    return WB_OK;
}

static wb_rc describe(struct wbi_call *call, struct wbi_envelope *env)
{
    char *created = wbi_arena_alloc(call->arena, WBI_RFC3339_SIZE);

    if (created == NULL)
        return WB_ENOMEM;
    wbi_time_format(call->started_wall_ms, created);
    *env = (struct wbi_envelope){
        .tool = call->tool ? call->tool->qualified : call->inv.tool_name,
        .provider = call->inv.provider,
        .model = call->inv.model,
        .tool_call_id = call->inv.call_id.p ? call->inv.call_id : wbi_str_z(call->name),
        .created_at = wbi_str_make(created, WBI_RFC3339_SIZE - 1)};
    if (call->tool != NULL && call->tool->output_schema != NULL)
        env->schema_ref = wbi_json_get_str(call->tool->output_schema, "$id");
    return tags_of(call, env);
}

static wb_rc error_root(struct wbi_call *call, struct wbi_envelope *env, struct wbi_buf *out)
{
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc;

    env->content_type = WBI_CONTENT_UNKNOWN;
    env->payload_path = WBI_NONE;
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "error");
    wbi_view_error(&call->outcome.fault, &w);
    wbi_jw_key(&w, WBI_ENVELOPE_KEY);
    rc = wbi_envelope_write(&w, env, NULL, NULL);
    wbi_jw_obj_end(&w);
    return rc == WB_OK ? wbi_buf_rc(out) : rc;
}

wb_rc wbi_view_envelope(struct wbi_call *call, struct wbi_buf *out)
{
    struct wbi_outcome *o = &call->outcome;
    struct wbi_envelope env;
    const wbi_json *payload;
    wb_rc rc = describe(call, &env);

    if (rc == WB_OK && o->state == WBI_OUTCOME_ERROR)
        return error_root(call, &env, out);
    if (rc == WB_OK)
        rc = wbi_json_read(call->arena, o->result, WBI_JSON_STRICT, &payload, NULL);
    if (rc != WB_OK)
        return rc;
    /* A tool's own root with an envelope is kept (ensure). */
    if (wbi_json_is(wbi_json_get(payload, WBI_ENVELOPE_KEY), WBI_JSON_OBJ))
        return wbi_envelope_ensure(payload, &env, out, NULL);
    return wbi_envelope_wrap(payload, &env, WBI_NONE, out, NULL);
}
