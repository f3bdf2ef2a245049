/* SPDX-License-Identifier: Apache-2.0
 * guard/authorize.c: bindings and the one predicate over them. Questions are
 * answered in the order: deny, hidden, effect gates, approval by rule "deny",
 * scopes, credentials, approval by rule "ask". */
#include "guard/authorize.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "catalog/names.h"
#include "guard/policy_int.h"

enum rule { RULE_NONE = 0, RULE_ALLOW, RULE_ASK, RULE_DENY };

struct approval_rule {
    struct wbi_str pattern;
    enum rule rule;
};

struct binding {
    struct binding *next;
    bool tighten_only;
    struct wbi_str *principals, *allow, *deny, *scopes;
    size_t principals_n, allow_n, deny_n, scopes_n;
    bool has_allow, has_effects, network;
    uint32_t effects; /* bit per effect */
    struct approval_rule *approval;
    size_t approval_n;
};

struct wbi_auth {
    struct wbi_arena *arena;
    struct binding *first, *last;
    bool any_giving; /* a binding that may give exists */
};

wb_rc wbi_auth_new(struct wbi_auth **ret)
{
    struct wbi_auth *a = wbi_zalloc(sizeof(*a));
    wb_rc rc;

    if (a == NULL)
        return WB_ENOMEM;
    rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &a->arena);
    if (rc != WB_OK) {
        wbi_free(a);
        return rc;
    }
    *ret = a;
    return WB_OK;
}

void wbi_auth_free(struct wbi_auth *a)
{
    if (a == NULL)
        return;
    wbi_arena_free(a->arena);
    wbi_free(a);
}

/* ---- reading ---- */

struct auth_reader {
    struct wbi_policy_place at;
    struct wbi_arena *arena;
};

static wb_rc read_list(struct auth_reader *r, const wbi_json *o, const char *name, bool lower,
                       struct wbi_str **ret, size_t *ret_n)
{
    const wbi_json *v = wbi_json_get(o, name);
    size_t back = wbi_policy_enter(&r->at, wbi_str_z(name));
    wb_rc rc = WB_OK;

    if (v != NULL)
        rc = wbi_policy_strings(&r->at, r->arena, v, lower, ret, ret_n);
    if (rc == WB_OK)
        wbi_policy_leave(&r->at, back);
    return rc;
}

static wb_rc read_principals(struct auth_reader *r, const wbi_json *o, struct binding *b)
{
    const wbi_json *v = wbi_json_get(o, "principal");

    if (wbi_json_is(v, WBI_JSON_ARR))
        return read_list(r, o, "principal", true, &b->principals, &b->principals_n);
    (void)wbi_policy_enter(&r->at, WBI_LIT("principal"));
    if (wbi_json_str(v).n == 0 || !wbi_json_is(v, WBI_JSON_STR))
        return wbi_policy_bad(&r->at, "must be a glob or an array of globs");
    wbi_policy_leave(&r->at, r->at.n - strlen("/principal"));
    b->principals = wbi_arena_array(r->arena, 1, sizeof(*b->principals));
    if (b->principals == NULL)
        return wbi_fail_nomem(r->at.err);
    b->principals[0] = wbi_policy_lower(r->arena, wbi_json_str(v));
    if (b->principals[0].p == NULL)
        return wbi_fail_nomem(r->at.err);
    b->principals_n = 1;
    return WB_OK;
}

static wb_rc read_gates(struct auth_reader *r, const wbi_json *o, struct binding *b)
{
    const wbi_json *network = wbi_json_get(o, "network");
    struct wbi_str *names = NULL;
    size_t n = 0;
    wb_rc rc = read_list(r, o, "effects", false, &names, &n);

    if (rc != WB_OK)
        return rc;
    b->has_effects = wbi_json_get(o, "effects") != NULL;
    for (size_t i = 0; i < n; i++) {
        enum wbi_guard_effect effect;
        if (!wbi_guard_effect_by_name(names[i], &effect))
            return wbi_policy_bad(&r->at,
                                  "effects: \"%.*s\" is none of Pure, IdempotentWrite, "
                                  "NonIdempotentWrite, ExternalSideEffects",
                                  WBI_FMT(names[i]));
        b->effects |= 1u << effect;
    }
    if (network != NULL && !wbi_json_is(network, WBI_JSON_BOOL))
        return wbi_policy_bad(&r->at, "network must be true or false");
    b->network = network == NULL || wbi_json_true(network);
    return WB_OK;
}

static enum rule rule_by_name(struct wbi_str name)
{
    if (wbi_str_eqz(name, "allow"))
        return RULE_ALLOW;
    if (wbi_str_eqz(name, "ask"))
        return RULE_ASK;
    return wbi_str_eqz(name, "deny") ? RULE_DENY : RULE_NONE;
}

static wb_rc read_approval(struct auth_reader *r, const wbi_json *o, struct binding *b)
{
    const wbi_json *v = wbi_json_get(o, "approval");
    size_t back = wbi_policy_enter(&r->at, WBI_LIT("approval"));

    if (v != NULL && (!wbi_json_is(v, WBI_JSON_OBJ) || wbi_json_count(v) > WBI_LIMIT_POLICY_RULES))
        return wbi_policy_bad(&r->at, "must be an object of globs with allow, ask or deny");
    b->approval = wbi_arena_array(r->arena, wbi_json_count(v) + 1, sizeof(*b->approval));
    if (b->approval == NULL)
        return wbi_fail_nomem(r->at.err);
    WBI_JSON_EACH_MEMBER (v, key) {
        struct approval_rule *rule = &b->approval[b->approval_n++];
        rule->pattern = wbi_policy_lower(r->arena, wbi_json_str(key));
        rule->rule = rule_by_name(wbi_json_str(key_val));
        if (rule->pattern.p == NULL)
            return wbi_fail_nomem(r->at.err);
        if (rule->rule == RULE_NONE || rule->pattern.n == 0)
            return wbi_policy_bad(&r->at, "\"%.*s\" must be \"allow\", \"ask\" or \"deny\"",
                                  WBI_FMT(wbi_json_str(key)));
    }
    wbi_policy_leave(&r->at, back);
    return WB_OK;
}

static wb_rc read_binding(struct auth_reader *r, const wbi_json *o, struct binding *b)
{
    static const char *const known[] = {"principal", "allow",   "deny",     "scopes",
                                        "effects",   "network", "approval", NULL};
    wb_rc rc = wbi_policy_known(&r->at, o, known);

    if (rc == WB_OK)
        rc = read_principals(r, o, b);
    if (rc == WB_OK)
        rc = read_list(r, o, "allow", true, &b->allow, &b->allow_n);
    if (rc == WB_OK)
        rc = read_list(r, o, "deny", true, &b->deny, &b->deny_n);
    if (rc == WB_OK)
        rc = read_list(r, o, "scopes", true, &b->scopes, &b->scopes_n);
    if (rc == WB_OK)
        rc = read_gates(r, o, b);
    if (rc == WB_OK)
        rc = read_approval(r, o, b);
    b->has_allow = wbi_json_get(o, "allow") != NULL;
    return rc;
}

wb_rc wbi_auth_add(struct wbi_auth *a, const wbi_json *bindings, enum wbi_policy_trust trust,
                   struct wbi_error *err)
{
    struct auth_reader r = {.at = {.err = err}, .arena = a->arena};
    struct binding *first = NULL, *last = NULL;
    size_t index = 0;

    if (bindings == NULL)
        return WB_OK;
    if (!wbi_json_is(bindings, WBI_JSON_ARR) || wbi_json_count(bindings) > WBI_LIMIT_POLICY_RULES)
        return wbi_policy_bad(&r.at, "must be an array of at most %u bindings",
                              WBI_LIMIT_POLICY_RULES);
    WBI_JSON_EACH (bindings, o) {
        struct binding *b = wbi_arena_zalloc(a->arena, sizeof(*b));
        char number[24];
        size_t back;
        wb_rc rc;
        if (b == NULL)
            return wbi_fail_nomem(err);
        (void)snprintf(number, sizeof(number), "%zu", index++);
        back = wbi_policy_enter(&r.at, wbi_str_z(number));
        b->tighten_only = trust == WBI_POLICY_TIGHTEN_ONLY;
        rc = read_binding(&r, o, b);
        if (rc != WB_OK)
            return rc;
        wbi_policy_leave(&r.at, back);
        *(last ? &last->next : &first) = b;
        last = b;
    }
    if (trust != WBI_POLICY_TIGHTEN_ONLY) /* also an empty array: it allows nothing */
        a->any_giving = true;
    if (first != NULL) {
        *(a->last ? &a->last->next : &a->first) = first;
        a->last = last;
    }
    return WB_OK;
}

/* ---- asking ---- */

static bool matches_any(const struct wbi_str *patterns, size_t n, struct wbi_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (wbi_policy_matches(patterns[i], name))
            return true;
    }
    return false;
}

/* A local tool's own name that reads as one of a server (`github__push`, `MCP::github::push`):
 * who allows that means the server's. */
static bool reads_as_a_servers(struct wbi_str own)
{
    return wbi_str_find(own, WBI_LIT("__")) < own.n || wbi_str_find(own, WBI_LIT("::")) < own.n;
}

static bool names_tool(const struct wbi_str *patterns, size_t n, const struct wbi_auth_tool *tool,
                       bool giving)
{
    struct wbi_name_parts own = wbi_name_parts(tool->qualified);

    return matches_any(patterns, n, tool->qualified) ||
           (tool->model_name.p != NULL && matches_any(patterns, n, tool->model_name)) ||
           (own.origin == WBI_NAME_LOCAL && !(giving && reads_as_a_servers(own.tool)) &&
            matches_any(patterns, n, own.tool));
}

static bool gates_pass(const struct binding *b, const struct wbi_auth_tool *tool)
{
    return (!b->has_effects || (b->effects & 1u << tool->effect) != 0) &&
           (b->network || !tool->network);
}

/* The last rule of a binding that names the tool. */
static enum rule rule_of(const struct binding *b, const struct wbi_auth_tool *tool)
{
    enum rule rule = RULE_NONE;

    for (size_t i = 0; i < b->approval_n; i++) {
        if (names_tool(&b->approval[i].pattern, 1, tool, b->approval[i].rule == RULE_ALLOW))
            rule = b->approval[i].rule;
    }
    return rule;
}

/* What all bindings of a principal come to. */
struct findings {
    bool denied, allowed, gated, outside;
    enum rule rule; /* strictest over bindings */
};

static bool scope_granted(const struct wbi_auth *a, struct wbi_str principal, struct wbi_str scope)
{
    for (const struct binding *b = a->first; b != NULL; b = b->next) {
        if (!b->tighten_only && matches_any(b->principals, b->principals_n, principal) &&
            matches_any(b->scopes, b->scopes_n, scope))
            return true;
    }
    return false;
}

static void look_at(const struct binding *b, const struct wbi_auth_tool *tool, struct findings *f)
{
    bool named = names_tool(b->allow, b->allow_n, tool, /* giving= */ true);
    enum rule rule = rule_of(b, tool);

    f->denied = f->denied || names_tool(b->deny, b->deny_n, tool, /* giving= */ false);
    if (rule > f->rule)
        f->rule = rule;
    if (b->tighten_only) {
        f->outside = f->outside || (b->has_allow && !named);
        f->denied = f->denied || !gates_pass(b, tool);
    } else if (named) {
        if (gates_pass(b, tool))
            f->allowed = true;
        else
            f->gated = true;
    }
}

static void grant(struct wbi_auth_answer *ret, enum wbi_auth_verdict verdict)
{
    ret->verdict = verdict;
    ret->kind = WBI_KIND_NONE;
    ret->message[0] = '\0';
}

__attribute__((format(printf, 4, 5))) static void answer(struct wbi_auth_answer *ret,
                                                         enum wbi_auth_verdict verdict,
                                                         enum wbi_kind kind, const char *fmt, ...)
{
    va_list ap;

    *ret = (struct wbi_auth_answer){.verdict = verdict, .kind = kind};
    va_start(ap, fmt);
    (void)vsnprintf(ret->message, sizeof(ret->message), fmt, ap); /* cut is fine */
    va_end(ap);
}

static bool check_grants(const struct wbi_auth *a, struct wbi_str principal,
                         const struct wbi_auth_tool *tool, struct wbi_auth_answer *ret)
{
    WBI_JSON_EACH (a->any_giving ? tool->scopes : NULL, scope) {
        if (!scope_granted(a, principal, wbi_json_str(scope))) {
            answer(ret, WBI_AUTH_DENIED, WBI_KIND_FORBIDDEN,
                   "the scope %.*s is needed and not granted", WBI_FMT(wbi_json_str(scope)));
            return false;
        }
    }
    if (tool->missing_credential.p != NULL) {
        answer(ret, WBI_AUTH_DENIED, WBI_KIND_UNAUTHORIZED,
               "the credential %.*s is needed and not supplied", WBI_FMT(tool->missing_credential));
        return false;
    }
    return true;
}

void wbi_authorize(const struct wbi_auth *a, struct wbi_str principal,
                   const struct wbi_auth_tool *tool, struct wbi_auth_answer *ret)
{
    struct findings f = {0};

    f.allowed = !a->any_giving && wbi_str_eqz(principal, WBI_LOCAL_PRINCIPAL);
    for (const struct binding *b = a->first; b != NULL; b = b->next) {
        if (matches_any(b->principals, b->principals_n, principal))
            look_at(b, tool, &f);
    }
    if (f.denied)
        answer(ret, WBI_AUTH_DENIED, WBI_KIND_FORBIDDEN, "calling %.*s is denied to this principal",
               WBI_FMT(tool->qualified));
    else if (f.outside || (!f.allowed && !f.gated))
        answer(ret, WBI_AUTH_HIDDEN, WBI_KIND_UNKNOWN_TOOL, "there is no tool %.*s",
               WBI_FMT(tool->qualified));
    else if (!f.allowed)
        answer(ret, WBI_AUTH_DENIED, WBI_KIND_FORBIDDEN,
               "the effect of %.*s is not allowed to this principal", WBI_FMT(tool->qualified));
    else if (f.rule == RULE_DENY)
        answer(ret, WBI_AUTH_DENIED, WBI_KIND_APPROVAL_DENIED, "approval of %.*s is denied by rule",
               WBI_FMT(tool->qualified));
    else if (check_grants(a, principal, tool, ret))
        grant(ret, f.rule == RULE_ASK ? WBI_AUTH_ASK : WBI_AUTH_ALLOWED);
}

bool wbi_auth_lists(const struct wbi_auth *a, struct wbi_str principal,
                    const struct wbi_auth_tool *tool)
{
    struct wbi_auth_answer answered;

    wbi_authorize(a, principal, tool, &answered);
    return answered.verdict == WBI_AUTH_ALLOWED || answered.verdict == WBI_AUTH_ASK;
}
