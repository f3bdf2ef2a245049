/* SPDX-License-Identifier: Apache-2.0
 * family/canonical.c: five members, two legal combinations, nothing else. */
#include "family/canonical.h"

static wb_rc refuse(struct wbi_error *err, const char *at, const char *text)
{
    wb_rc rc = wbi_fail(err, WB_EINPUT, "not a canonical result: %s", text);

    if (err != NULL)
        memcpy(err->at, at, strlen(at) + 1);
    return rc;
}

static wb_rc check_error(const wbi_json *error, struct wbi_error *err)
{
    static const char *const known[] = {"kind", "message", "details", "recovery_hint", "retryable"};

    if (wbi_json_get_str(error, "kind").p == NULL)
        return refuse(err, "/error/kind", "error.kind must be a string");
    if (wbi_json_get_str(error, "message").p == NULL)
        return refuse(err, "/error/message", "error.message must be a string");
    if (!wbi_json_is(wbi_json_get(error, "retryable"), WBI_JSON_BOOL))
        return refuse(err, "/error/retryable", "error.retryable must be true or false");
    WBI_JSON_EACH_MEMBER (error, key) {
        size_t i = 0;
        (void)key_val;
        while (i < 5 && !wbi_str_eqz(wbi_json_str(key), known[i]))
            i++;
        if (i == 5)
            return refuse(err, "/error",
                          "error has kind, message, details, recovery_hint and retryable only");
    }
    return WB_OK;
}

static wb_rc check_members(const wbi_json *v, struct wbi_error *err)
{
    static const char *const names[] = {"tool_name", "status", "summary_text", "result", "error"};

    if (!wbi_json_is(v, WBI_JSON_OBJ))
        return refuse(err, "", "it must be an object");
    for (size_t i = 0; i < 5; i++)
        if (wbi_json_get(v, names[i]) == NULL)
            return refuse(err, "",
                          "tool_name, status, summary_text, result and error must all "
                          "be there, null where absent");
    if (wbi_json_count(v) != 5)
        return refuse(err, "",
                      "it has other members than tool_name, status, summary_text, "
                      "result and error");
    if (wbi_json_get_str(v, "tool_name").p == NULL)
        return refuse(err, "/tool_name", "tool_name must be a string");
    if (wbi_json_get_str(v, "summary_text").p == NULL)
        return refuse(err, "/summary_text", "summary_text must be a string");
    return WB_OK;
}

wb_rc wbi_canonical_read(const wbi_json *v, struct wbi_canonical *ret, struct wbi_error *err)
{
    struct wbi_canonical c;
    struct wbi_str status = wbi_json_get_str(v, "status");
    wb_rc rc = check_members(v, err);

    if (rc != WB_OK)
        return rc;
    c.text = WBI_NONE;
    c.root = v;
    c.tool_name = wbi_json_get_str(v, "tool_name");
    c.summary = wbi_json_get_str(v, "summary_text");
    c.result = wbi_json_get(v, "result");
    c.error = wbi_json_get(v, "error");
    c.success = wbi_str_eqz(status, "success");
    if (!c.success && !wbi_str_eqz(status, "error"))
        return refuse(err, "/status", "status must be \"success\" or \"error\"");
    if (c.success && (wbi_json_is(c.result, WBI_JSON_NULL) || !wbi_json_is(c.error, WBI_JSON_NULL)))
        return refuse(err, "/status", "a success has a result and no error");
    if (!c.success &&
        (!wbi_json_is(c.result, WBI_JSON_NULL) || !wbi_json_is(c.error, WBI_JSON_OBJ)))
        return refuse(err, "/status", "an error has an error object and no result");
    if (!c.success) {
        rc = check_error(c.error, err);
        if (rc != WB_OK)
            return rc;
    }
    *ret = c;
    return WB_OK;
}

wb_rc wbi_canonical_parse(struct wbi_arena *arena, struct wbi_str text, struct wbi_canonical *ret,
                          struct wbi_error *err)
{
    const wbi_json *v;
    wb_rc rc = wbi_json_read(arena, text, WBI_JSON_STRICT, &v, err);

    return rc == WB_OK ? wbi_canonical_read(v, ret, err) : rc;
}
