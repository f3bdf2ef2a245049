/* SPDX-License-Identifier: Apache-2.0
 * call/redact.c: members by name and path, texts by form and known value. */
#include "call/redact.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "call/guards.h"
#include "call/views.h"
#include "catalog/catalog.h"
#include "text/hygiene.h"
#include "text/hygiene_value.h"
#include "text/redact.h"
#include "wire/wire.h"

/* ---- rules ---- */

static void free_rules(void *rules)
{
    wbi_redact_rules_free(rules);
}

static wb_rc hash_paths(const struct wbi_str *paths, size_t n, uint8_t sum[WBI_SHA256_SIZE])
{
    struct wbi_sha256 *h = NULL;
    wb_rc rc = wbi_sha256_new(&h);

    for (size_t i = 0; rc == WB_OK && i < n; i++) {
        uint64_t length = paths[i].n;
        rc = wbi_sha256_add(h, &length, sizeof(length));
        if (rc == WB_OK)
            rc = wbi_sha256_add(h, paths[i].p, paths[i].n);
    }
    if (rc == WB_OK)
        rc = wbi_sha256_end(h, sum);
    wbi_sha256_free(h);
    return rc;
}

/* Compiled once per set of paths; sets beyond those kept live with the arena. */
static wb_rc compile(struct wbi_guards *g, struct wbi_arena *arena, const struct wbi_str *paths,
                     size_t n, const struct wbi_redact_rules **ret)
{
    uint8_t sum[WBI_SHA256_SIZE];
    struct wbi_redact_rules *rules;
    wb_rc rc = hash_paths(paths, n, sum);

    for (size_t i = 0; rc == WB_OK && i < g->rules_n; i++) {
        if (memcmp(g->rules[i].sum, sum, sizeof(sum)) == 0) {
            *ret = g->rules[i].rules;
            return WB_OK;
        }
    }
    if (rc == WB_OK)
        rc = wbi_redact_rules_new(paths, n, /* by_name= */ true, &rules, NULL);
    if (rc != WB_OK)
        return rc;
    if (g->rules_n < WBI_GUARD_RULE_SETS) {
        memcpy(g->rules[g->rules_n].sum, sum, sizeof(sum));
        g->rules[g->rules_n++].rules = rules;
    } else {
        rc = wbi_arena_defer(arena, free_rules, rules);
        if (rc != WB_OK) {
            wbi_redact_rules_free(rules);
            return rc;
        }
    }
    *ret = rules;
    return WB_OK;
}

/* Default names, and the paths that policy gives for the tool and principal. */
static wb_rc rules_of(struct wbi_runtime *rt, struct wbi_arena *arena, struct wbi_str tool,
                      struct wbi_str principal, const struct wbi_redact_rules **ret)
{
    const struct wbi_policy_effective *e;
    wb_rc rc = wbi_policy_effective(rt->guards->policy, tool, principal, WBI_NO_LIMIT_MS, &e);

    if (rc != WB_OK)
        return rc;
    if (e->values.redact_n > 0)
        return compile(rt->guards, arena, e->values.redact, e->values.redact_n, ret);
    *ret = rt->redact_rules;
    return WB_OK;
}

/* The name that policy has for the tool. A call that was refused before it had one, or whose
 * principal does not see it, is recorded with its input all the same: what its name means
 * counts, whoever may know. */
static struct wbi_str policy_name(struct wbi_call *call)
{
    struct wbi_runtime *rt = call->runtime;
    struct wbi_str name = wbi_call_qualified(call), origin, full;
    const struct wbi_tool *tool;

    if (call->tool != NULL || call->named.qualified.p != NULL || name.n == 0)
        return name;
    if (call->catalog != NULL &&
        wbi_catalog_resolve(call->catalog, NULL, NULL, call->inv.name_space, name, WBI_NONE, &tool,
                            NULL) == WB_OK)
        return tool->qualified;
    if (rt->qualify != NULL &&
        rt->qualify(rt->find_more_arg, wbi_call_full_name(call), call->arena, &origin, &full))
        return full;
    if (wbi_name_parts(name).origin == WBI_NAME_UNKNOWN)
        return wbi_arena_fmt(call->arena, "local::%.*s", WBI_FMT(name));
    return name;
}

static wb_rc find_rules(struct wbi_call *call)
{
    struct wbi_str tool;

    if (call->rules != NULL)
        return WB_OK;
    tool = policy_name(call);
    return rules_of(call->runtime, call->arena, tool.p ? tool : WBI_LIT(""), call->inv.principal,
                    &call->rules);
}

/* ---- replacing ---- */

static bool is_noted(const struct wbi_call *call, struct wbi_str path)
{
    for (size_t i = 0; i < call->facts.redaction_count; i++)
        if (wbi_str_eq(call->facts.redactions[i], path))
            return true;
    return false;
}

/* A stream of frames that all lose the same takes no more room. */
wb_rc wbi_redact_note(struct wbi_call *call, struct wbi_str path)
{
    size_t n = call->facts.redaction_count;
    struct wbi_str *all = call->facts.redactions;

    if (is_noted(call, path))
        return WB_OK;
    if ((n & (n - 1)) == 0) /* full at the powers of two */
        all = wbi_arena_array(call->arena, n > 0 ? 2 * n : 1, sizeof(*all));
    path = wbi_arena_str(call->arena, path);
    if (all == NULL || path.p == NULL)
        return WB_ENOMEM;
    if (n > 0 && all != call->facts.redactions)
        memcpy(all, call->facts.redactions, n * sizeof(*all));
    all[n] = path;
    call->facts.redactions = all;
    call->facts.redaction_count = n + 1;
    return WB_OK;
}

/* Note the paths, each under where it was found ("output.token"). */
static wb_rc note_paths(struct wbi_call *call, const char *where,
                        const struct wbi_redact_list *list)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < list->n; i++) {
        struct wbi_str path = list->path[i];
        bool dot = path.n > 0 && path.p[0] != '[';

        path = wbi_arena_fmt(list->arena, "%s%s%.*s", where, dot ? "." : "", WBI_FMT(path));
        rc = path.p ? wbi_redact_note(call, path) : WB_ENOMEM;
    }
    return rc;
}

static wb_rc redact_json_in(struct wbi_call *call, struct wbi_arena *arena, const char *where,
                            struct wbi_str *text)
{
    struct wbi_redact_list list = {.arena = arena};
    const wbi_json *v;
    struct wbi_buf out;
    wb_rc rc;

    if (text->p == NULL)
        return WB_OK;
    rc = find_rules(call);
    if (rc == WB_OK)
        rc = wbi_json_read(arena, *text, WBI_JSON_STRICT, &v, NULL);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_redact_json(call->runtime->secrets, call->rules, v, &out, &list);
    if (rc != WB_OK)
        return rc;
    if (list.n == 0)
        return WB_OK; /* keep the text as it is */
    *text = wbi_buf_str(&out);
    return note_paths(call, where, &list);
}

/* Of a text that is known to be JSON: most hold nothing, and one look tells. */
static wb_rc redact_json(struct wbi_call *call, const char *where, struct wbi_str *text)
{
    wb_rc rc = find_rules(call);

    if (rc != WB_OK || text->p == NULL ||
        wbi_redact_is_clean(call->runtime->secrets, call->rules, *text))
        return rc;
    return redact_json_in(call, call->arena, where, text);
}

wb_rc wbi_redact_text(struct wbi_call *call, const char *where, struct wbi_str *text)
{
    static const struct wbi_str whole = {"", 0};
    struct wbi_redact_list list = {call->arena, &whole, 1};
    struct wbi_buf out;
    bool found = false;
    wb_rc rc = WB_OK;

    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_JSON_TEXT);
    if (text->n > 0)
        rc = wbi_redact_string(call->runtime->secrets, *text, &out, &found);
    if (rc != WB_OK || !found)
        return rc;
    *text = wbi_buf_str(&out);
    return note_paths(call, where, &list);
}

void wbi_redact_error(const struct wbi_runtime *rt, struct wbi_error *err)
{
    struct wbi_buf clean, out;
    bool found = false;
    wb_rc rc;

    wbi_buf_init(&clean, WBI_LIMIT_RECEIPT);
    wbi_buf_init(&out, WBI_LIMIT_RECEIPT);
    rc = wbi_hygiene_clean(wbi_str_z(err->text), &clean, NULL);
    if (rc == WB_OK)
        rc = wbi_redact_string(rt->secrets, wbi_buf_str(&clean), &out, &found);
    if (rc != WB_OK) /* rather nothing of it than all */
        (void)wbi_fail_kind(err, err->rc, err->kind, "no memory to say what is wrong");
    else
        (void)wbi_fail_kind(err, err->rc, err->kind, "%.*s",
                            WBI_FMT(wbi_buf_str(found ? &out : &clean)));
    wbi_buf_fini(&out);
    wbi_buf_fini(&clean);
}

static wb_rc clean_text(struct wbi_call *call, struct wbi_str *text)
{
    struct wbi_buf out;
    wb_rc rc;

    if (text->n == 0 || wbi_hygiene_is_clean(*text))
        return WB_OK;
    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_hygiene_clean(*text, &out, NULL);
    *text = rc == WB_OK ? wbi_buf_str(&out) : *text;
    return rc;
}

/* Whether it begins as JSON does, which may be coloured. */
static bool may_be_json(struct wbi_str text)
{
    text = wbi_str_trim(text);
    return text.n > 0 && (text.p[0] == '{' || text.p[0] == '[' || text.p[0] == 0x1b);
}

wb_rc wbi_redact_json_text(struct wbi_call *call, const char *where, struct wbi_str *text)
{
    struct wbi_str json = *text;
    const char *before;
    const wbi_json *v;
    wb_rc rc = find_rules(call);

    if (rc != WB_OK || !may_be_json(json) ||
        wbi_redact_is_clean(call->runtime->secrets, call->rules, json))
        return rc;
    rc = clean_text(call, &json);
    if (rc != WB_OK || wbi_json_read(call->arena, json, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        return rc;
    before = json.p;
    rc = redact_json_in(call, call->arena, where, &json);
    if (json.p != before)
        *text = json;
    return rc;
}

/* Output that is one text. */
static wb_rc redact_quoted(struct wbi_call *call, struct wbi_str *output)
{
    const wbi_json *v = NULL;
    struct wbi_str text;
    struct wbi_buf out;
    const char *before;
    wb_rc rc;

    if (wbi_redact_is_clean(call->runtime->secrets, call->rules, *output))
        return WB_OK;
    rc = wbi_json_read(call->arena, *output, WBI_JSON_STRICT, &v, NULL);
    if (rc != WB_OK)
        return rc;
    text = wbi_json_str(v);
    before = text.p;
    rc = wbi_redact_json_text(call, "output", &text);
    if (rc != WB_OK || text.p == before)
        return rc;
    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_quote(&out, text);
    *output = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

static wb_rc redact_by(struct wbi_call *call, const struct wbi_redact_rules *rules,
                       const wbi_json *v, const wbi_json **ret)
{
    struct wbi_redact_list list = {.arena = call->arena};
    struct wbi_buf out;
    wb_rc rc;

    *ret = v;
    wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_redact_json(call->runtime->secrets, rules, v, &out, &list);
    if (rc != WB_OK || list.n == 0)
        return rc;
    return wbi_json_read(call->arena, wbi_buf_str(&out), WBI_JSON_STRICT, ret, NULL);
}

wb_rc wbi_redact_value(struct wbi_call *call, const wbi_json *v, const wbi_json **ret)
{
    wb_rc rc = find_rules(call);

    *ret = v;
    return rc == WB_OK ? redact_by(call, call->rules, v, ret) : rc;
}

wb_rc wbi_redact_block(struct wbi_call *call, const wbi_json *v, const wbi_json **ret)
{
    return redact_by(call, call->runtime->redact_rules, v, ret);
}

/* The texts of one part; media are bytes, whose reader decides. */
static wb_rc redact_part(struct wbi_call *call, struct wbi_wire_part *part)
{
    struct wbi_str *texts[] = {&part->text, &part->uri, &part->name};
    wb_rc rc = wbi_wire_part_clean(call->arena, part);
    bool found = false;

    for (size_t i = 0; rc == WB_OK && i < WBI_COUNT(texts); i++) {
        const char *before = texts[i]->p;

        if (texts[i] == &part->text)
            rc = wbi_redact_json_text(call, "output", texts[i]);
        if (rc == WB_OK)
            rc = wbi_redact_text(call, "output", texts[i]);
        found = found || texts[i]->p != before;
    }
    if (found && part->type == WBI_PART_RESOURCE && part->text.p != NULL)
        part->raw = NULL; /* its text may be JSON, in which a block has it still */
    else if (rc == WB_OK && found && part->raw != NULL)
        rc = wbi_redact_block(call, part->raw, &part->raw);
    return rc;
}

static wb_rc redact_parts(struct wbi_call *call, struct wbi_complete *full)
{
    struct wbi_wire_part *parts = wbi_arena_array(call->arena, full->part_count, sizeof(*parts));
    wb_rc rc = parts != NULL ? WB_OK : WB_ENOMEM;

    for (size_t i = 0; rc == WB_OK && i < full->part_count; i++) {
        parts[i] = full->parts[i];
        rc = redact_part(call, &parts[i]);
    }
    full->parts = rc == WB_OK ? parts : full->parts;
    return rc;
}

static wb_rc redact_members(struct wbi_call *call, struct wbi_complete *full)
{
    wb_rc rc = wbi_hygiene_value(call->arena, full->members, &full->members);

    if (rc == WB_EINPUT) {
        full->members = NULL;
        return WB_OK;
    }
    return rc == WB_OK ? wbi_redact_block(call, full->members, &full->members) : rc;
}

wb_rc wbi_redact_beside(struct wbi_call *call, struct wbi_complete *full)
{
    wb_rc rc = find_rules(call);

    if (rc == WB_OK && full->part_count > 0)
        rc = redact_parts(call, full);
    if (rc == WB_OK && full->members != NULL)
        rc = redact_members(call, full);
    return rc;
}

wb_rc wbi_redact_complete(struct wbi_call *call)
{
    struct wbi_complete *full = call->complete;
    const char *before = full->output.p;
    wb_rc rc = WB_OK;

    if (full->typed != NULL || full->output.p == NULL || full->bounded)
        return WB_OK;
    rc = find_rules(call);
    if (rc == WB_OK && full->flat && !full->looked)
        rc = redact_quoted(call, &full->output);
    if (rc == WB_OK && !full->looked)
        rc = redact_json(call, "output", &full->output);
    if (full->output.p != before)
        full->value = NULL;
    if (rc == WB_OK)
        rc = wbi_redact_beside(call, full);
    call->output_clean = rc == WB_OK;
    return rc;
}

/* Whether a text of these blocks is JSON that would be redacted. */
static wb_rc texts_would(struct wbi_call *call, const wbi_json *content, bool *ret)
{
    wb_rc rc = WB_OK;

    WBI_JSON_EACH (content, block) {
        struct wbi_wire_part part;
        const char *before;

        if (rc != WB_OK || *ret || !wbi_wire_part_read(block, &part))
            continue;
        before = part.text.p;
        rc = wbi_redact_json_text(call, "output", &part.text);
        *ret = part.text.p != before;
    }
    return rc;
}

bool wbi_redact_is_plain(struct wbi_call *call, struct wbi_str json)
{
    return find_rules(call) == WB_OK &&
           wbi_redact_is_clean(call->runtime->secrets, call->rules, json);
}

wb_rc wbi_redact_would(struct wbi_call *call, const wbi_json *result, const wbi_json *output,
                       bool *ret)
{
    struct wbi_redact_list list = {.arena = call->arena};
    struct wbi_buf out;
    wb_rc rc = find_rules(call);

    *ret = false;
    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    if (rc == WB_OK)
        rc = wbi_redact_json(call->runtime->secrets, call->rules, result, &out, &list);
    wbi_buf_clear(&out);
    if (rc == WB_OK && list.n == 0 && output != NULL)
        rc = wbi_redact_json(call->runtime->secrets, call->rules, output, &out, &list);
    wbi_buf_fini(&out);
    *ret = list.n > 0;
    return rc == WB_OK && !*ret ? texts_would(call, wbi_json_get(result, "content"), ret) : rc;
}

wb_rc wbi_redact_said(struct wbi_call *call, const char *where, struct wbi_str *text)
{
    wb_rc rc = clean_text(call, text);

    return rc == WB_OK ? wbi_redact_text(call, where, text) : rc;
}

/* What a tool or its server says of a failure is theirs (C6.5). Nothing was cut yet. */
static wb_rc redact_fault(struct wbi_call *call, struct wbi_fault *fault)
{
    wb_rc rc = wbi_redact_said(call, "error.message", &fault->message);

    if (rc == WB_OK && fault->details.p != NULL)
        rc = wbi_hygiene_json(call->arena, fault->details, &fault->details);
    if (rc == WB_OK)
        rc = redact_json_in(call, call->arena, "error.details", &fault->details);
    for (size_t i = 0; rc == WB_OK && i < fault->cause_count; i++)
        rc = wbi_redact_said(call, "error.causedBy", &fault->causes[i].message);
    return rc;
}

/* As the generic family has it: who may call a tool may know its name. */
static bool only_names_tool(const struct wbi_call *call, struct wbi_str summary)
{
    static const struct wbi_str rest = WBI_LIT_INIT(" completed");

    return call->tool != NULL && summary.n == call->tool->model_name.n + rest.n &&
           wbi_str_ends(summary, rest) && wbi_str_starts(summary, call->tool->model_name);
}

static wb_rc redact_success(struct wbi_call *call, struct wbi_outcome *o)
{
    bool same = wbi_str_eq(o->output, o->result); /* what fits is shown as it is */
    const char *before = o->result.p;
    wb_rc rc = WB_OK;

    if (!only_names_tool(call, o->summary))
        rc = wbi_redact_text(call, "summary_text", &o->summary);
    if (rc == WB_OK && (!same || !call->output_clean))
        rc = redact_json(call, "output", &o->result);
    if (o->result.p != before)
        call->result_value = NULL;
    if (same)
        o->output = o->result;
    else if (rc == WB_OK)
        rc = redact_json(call, "output", &o->output);
    return rc;
}

wb_rc wbi_redact_outcome(struct wbi_call *call)
{
    struct wbi_outcome *o = &call->outcome;
    wb_rc rc = find_rules(call); /* by the name as it came */

    if (rc == WB_OK && call->tool == NULL) /* the name of no tool may be anything */
        rc = wbi_redact_text(call, "tool_name", &call->inv.tool_name);
    if (rc == WB_OK && call->tool == NULL && call->named.qualified.p != NULL)
        rc = wbi_redact_text(call, "tool_name", &call->named.qualified);
    if (rc == WB_OK)
        rc = redact_json(call, "audit", &call->facts.audit);
    if (rc == WB_OK && o->state == WBI_OUTCOME_SUCCESS)
        return redact_success(call, o);
    if (rc == WB_OK)
        rc = redact_fault(call, &o->fault);
    return rc == WB_OK ? wbi_outcome_bound(o, call->arena) : rc;
}

wb_rc wbi_redact_passing(struct wbi_runtime *rt, struct wbi_str name, struct wbi_str principal,
                         struct wbi_str *text, struct wbi_redact_list *list)
{
    const struct wbi_redact_rules *rules;
    const wbi_json *v;
    struct wbi_buf out;
    wb_rc rc = rules_of(rt, list->arena, name, principal, &rules);

    if (rc != WB_OK || wbi_redact_is_clean(rt->secrets, rules, *text))
        return rc;
    rc = wbi_json_read(list->arena, *text, WBI_JSON_STRICT, &v, NULL);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&out, list->arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_redact_json(rt->secrets, rules, v, &out, list);
    if (rc == WB_OK && list->n > 0)
        *text = wbi_buf_str(&out);
    return rc;
}

wb_rc wbi_redact_frame(struct wbi_call *call, struct wbi_arena *scratch, struct wbi_str *data)
{
    wb_rc rc = redact_json_in(call, scratch, "frames", data);

    return rc == WB_OK && (data->n == 0 || data->p[0] != '{') ? WB_EINPUT : rc;
}

/* Paths of policy count from the input itself, too, not only from the whole
 * invocation ("input.user.name" and "user.name"). */
static wb_rc redacted_input(struct wbi_call *call, struct wbi_str *ret)
{
    struct wbi_buf text;
    wb_rc rc = find_rules(call);

    *ret = WBI_NONE;
    if (rc != WB_OK || call->rules == call->runtime->redact_rules || call->inv.input == NULL)
        return rc;
    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_CALL_ARENA);
    wbi_json_write(&text, call->inv.input);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_buf_rc(&text);
    *ret = wbi_buf_str(&text);
    return redact_json(call, "invocation.input", ret);
}

wb_rc wbi_redacted_invocation(struct wbi_call *call, struct wbi_str *ret)
{
    struct wbi_invocation inv = call->inv;
    struct wbi_str input, text;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);
    wb_rc rc;

    if (call->redacted_invocation.p == NULL) {
        rc = redacted_input(call, &input);
        if (rc != WB_OK)
            return rc;
        wbi_buf_init_arena(&out, call->arena, WBI_LIMIT_CALL_ARENA);
        inv.tool_name = wbi_call_qualified(call); /* C2.5, whichever name was sent */
        wbi_invocation_write(&w, &inv, input);
        if (wbi_buf_rc(&out) != WB_OK)
            return wbi_buf_rc(&out);
        text = wbi_buf_str(&out);
        rc = redact_json(call, "invocation", &text);
        if (rc != WB_OK) /* who asks again must not find it as it was */
            return rc;
        call->redacted_invocation = text;
    }
    *ret = call->redacted_invocation;
    return WB_OK;
}
