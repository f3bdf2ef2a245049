/* SPDX-License-Identifier: Apache-2.0
 * ledger/lean.c: see lean.h. The texts are ours (call/record.c, call/views.c): members
 * have a fixed order and no white space between them, and a quote inside a string is
 * escaped, so that a name with its quotes can only be a name. */
#include "ledger/lean.h"

#include "base/buf.h"
#include "base/limits.h"

#define NOWHERE SIZE_MAX

static size_t find_last(struct wbi_str s, struct wbi_str needle)
{
    for (size_t at = s.n >= needle.n ? s.n - needle.n + 1 : 0; at-- > 0;)
        if (s.p[at] == needle.p[0] && memcmp(s.p + at, needle.p, needle.n) == 0)
            return at;
    return NOWHERE;
}

struct wbi_str wbi_lean_result(struct wbi_str canonical)
{
    const struct wbi_str name = WBI_LIT(",\"result\":"), behind = WBI_LIT(",\"error\":null}");
    size_t at = wbi_str_find(canonical, name) + name.n;

    if (at + behind.n >= canonical.n || !wbi_str_ends(canonical, behind))
        return WBI_NONE;
    return wbi_str_make(canonical.p + at, canonical.n - behind.n - at);
}

/* Where the policy snapshot belongs, which always is in front of these two. */
static size_t place_of_policy(struct wbi_str result)
{
    size_t origin = find_last(result, WBI_LIT(",\"origin\":\"")), at;

    if (origin == NOWHERE)
        return NOWHERE;
    at = find_last(wbi_str_head(result, origin), WBI_LIT(",\"correlationId\":\""));
    if (at == NOWHERE || at == 0 || result.p[at - 1] == '}') /* the end of a snapshot */
        return NOWHERE;
    return at;
}

static wb_rc fill_result(struct wbi_arena *arena, struct wbi_row *row)
{
    const struct wbi_str text = row->result, head = WBI_LIT("{\"status\":\"Ok\",");
    struct wbi_str output = WBI_NONE;
    size_t place = row->policy.p != NULL ? place_of_policy(text) : NOWHERE, from = 0;
    struct wbi_buf out;

    if (wbi_str_starts(text, head) &&
        !wbi_str_starts(wbi_str_from(text, head.n), WBI_LIT("\"output\":")))
        output = wbi_lean_result(row->canonical);
    if (output.p == NULL && place == NOWHERE)
        return WB_OK;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    if (output.p != NULL) {
        wbi_buf_adds(&out, head);
        wbi_buf_addz(&out, "\"output\":");
        wbi_buf_adds(&out, output);
        wbi_buf_addc(&out, ',');
        from = head.n;
    }
    if (place != NOWHERE) {
        wbi_buf_add(&out, text.p + from, place - from);
        wbi_buf_addz(&out, ",\"policySnapshot\":");
        wbi_buf_adds(&out, row->policy);
        from = place;
    }
    wbi_buf_adds(&out, wbi_str_from(text, from));
    row->result = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

/* What stands in quotes from the start of s on. */
static struct wbi_str quoted(struct wbi_str s)
{
    return wbi_str_head(s, wbi_str_index(s, '"'));
}

static wb_rc fill_events(struct wbi_arena *arena, struct wbi_row *row)
{
    const struct wbi_str start = WBI_LIT("{\"startedAt\":\""), type = WBI_LIT("{\"type\":\""),
                         time = WBI_LIT("\",\"time\":\""), next = WBI_LIT("\",\"sequence\":");
    struct wbi_str rest = row->events, told = WBI_NONE;
    struct wbi_buf out;
    size_t at;

    if (wbi_str_starts(row->timings, start))
        told = quoted(wbi_str_from(row->timings, start.n));
    if (told.p == NULL || wbi_str_find(rest, type) == rest.n)
        return WB_OK;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    while ((at = wbi_str_find(rest, type)) < rest.n) {
        at += type.n;
        at += quoted(wbi_str_from(rest, at)).n;
        wbi_buf_add(&out, rest.p, at);
        rest = wbi_str_from(rest, at);
        if (wbi_str_starts(rest, time)) {
            told = quoted(wbi_str_from(rest, time.n));
        } else if (wbi_str_starts(rest, next)) {
            wbi_buf_adds(&out, time);
            wbi_buf_adds(&out, told);
        }
    }
    wbi_buf_adds(&out, rest);
    row->events = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

wb_rc wbi_lean_fill(struct wbi_arena *arena, struct wbi_row *row)
{
    wb_rc rc = fill_result(arena, row);

    return rc == WB_OK ? fill_events(arena, row) : rc;
}
