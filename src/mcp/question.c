/* SPDX-License-Identifier: Apache-2.0
 * mcp/question.c */
#include "mcp/question.h"

static const char *elicitation_fault(const wbi_json *params)
{
    bool url = wbi_str_eqz(wbi_json_get_str(params, "mode"), "url");

    if (wbi_json_get_str(params, "message").p == NULL)
        return "params.message must be a string";
    if (url && wbi_json_get_str(params, "url").p == NULL)
        return "params.url must be a string";
    if (!url && wbi_json_get_as(params, "requestedSchema", WBI_JSON_OBJ) == NULL)
        return "params.requestedSchema must be an object";
    return NULL;
}

static const char *sampling_fault(const wbi_json *params)
{
    const wbi_json *most = wbi_json_get(params, "maxTokens");

    if (wbi_json_get_as(params, "messages", WBI_JSON_ARR) == NULL)
        return "params.messages must be an array";
    if (!wbi_json_is(most, WBI_JSON_INT) && !wbi_json_is(most, WBI_JSON_REAL))
        return "params.maxTokens must be a number";
    return NULL;
}

const char *wbi_mcp_question_fault(struct wbi_str method, const wbi_json *params)
{
    if (params != NULL && !wbi_json_is(params, WBI_JSON_OBJ))
        return "params must be an object";
    if (wbi_str_eqz(method, "elicitation/create"))
        return elicitation_fault(params);
    return wbi_str_eqz(method, "sampling/createMessage") ? sampling_fault(params) : NULL;
}
