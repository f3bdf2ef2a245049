/* SPDX-License-Identifier: Apache-2.0
 * call/tool_policies.c: the guards a descriptor declares, as the settings
 * `policies.tools["local::NAME"]` would have. They hold for all versions of the
 * tool; the last declared counts. */
#include "base/limits.h"
#include "call/local_tool.h"
#include "guard/policy.h"

/* {"tools": {"local::NAME": {…}}}; *ret is NULL when it declares none. */
static wb_rc as_policies(struct wbi_arena *arena, const wbi_json *descriptor, const wbi_json **ret,
                         struct wbi_error *err)
{
    const wbi_json *policies = wbi_json_get(descriptor, "policies");
    const wbi_json *timeout = wbi_json_get(descriptor, "timeoutMs");
    struct wbi_str name = wbi_json_get_str(descriptor, "name");
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    *ret = NULL;
    if (policies != NULL && !wbi_json_is(policies, WBI_JSON_OBJ))
        return wbi_fail(err, WB_EINPUT, "policies must be an object; got %s",
                        wbi_json_type_name(policies));
    if (policies == NULL && timeout == NULL)
        return WB_OK;
    if (timeout != NULL && wbi_json_get(policies, "timeoutMs") != NULL)
        return wbi_fail(err, WB_EINPUT, "timeoutMs stands in the tool and in its policies");
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addz(&text, "{\"tools\":{");
    wbi_jw_keyn(&w, wbi_str_starts(name, WBI_LIT("local::"))
                        ? name
                        : wbi_arena_fmt(arena, "local::%.*s", WBI_FMT(name)));
    wbi_jw_obj(&w);
    if (timeout != NULL)
        wbi_jw_kval(&w, "timeoutMs", timeout);
    WBI_JSON_EACH_MEMBER (policies, key) {
        wbi_jw_keyn(&w, wbi_json_str(key));
        wbi_jw_val(&w, key_val);
    }
    wbi_jw_obj_end(&w);
    wbi_buf_addz(&text, "}}");
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    return wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, err);
}

typedef wb_rc use_fn(struct wbi_policy *policy, const wbi_json *policies, struct wbi_str file,
                     struct wbi_error *err);

static wb_rc with_policies(struct wbi_policy *policy, const wbi_json *descriptor,
                           struct wbi_str file, use_fn *use, struct wbi_error *err)
{
    struct wbi_error inner = WBI_ERROR_INIT;
    const wbi_json *policies;
    struct wbi_arena *arena;
    wb_rc rc;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return wbi_fail_nomem(err);
    rc = as_policies(arena, descriptor, &policies, &inner);
    if (rc == WB_OK && policies != NULL)
        rc = use(policy, policies, file, &inner);
    wbi_arena_free(arena);
    if (rc != WB_OK) {
        /* "/tools/local::NAME/rate/count" is "/rate/count" of the tool's own. */
        struct wbi_str at = wbi_str_z(inner.at);
        for (int i = 0; i < 2 && at.n > 0; i++)
            at = wbi_str_from(at, 1 + wbi_str_index(wbi_str_from(at, 1), '/'));
        return wbi_fail(err, rc, "%s%.*s%s%s", at.n > 0 ? "policies" : "", WBI_FMT(at),
                        at.n > 0 ? ": " : "", inner.text);
    }
    return WB_OK;
}

static wb_rc add(struct wbi_policy *policy, const wbi_json *policies, struct wbi_str file,
                 struct wbi_error *err)
{
    return wbi_policy_add(policy, policies, file, WBI_POLICY_TRUSTED, err);
}

wb_rc wbi_tool_policies_add(struct wbi_policy *policy, const wbi_json *descriptor,
                            struct wbi_str file, struct wbi_error *err)
{
    return with_policies(policy, descriptor, file, add, err);
}

static wb_rc check(struct wbi_policy *policy, const wbi_json *policies, struct wbi_str file,
                   struct wbi_error *err)
{
    (void)policy;
    (void)file;
    return wbi_policy_check(policies, err);
}

wb_rc wbi_tool_policies_check(const wbi_json *descriptor, struct wbi_error *err)
{
    return with_policies(NULL, descriptor, WBI_NONE, check, err);
}
