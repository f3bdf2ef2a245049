/* SPDX-License-Identifier: Apache-2.0
 * ledger/lean.c: see lean.h. The texts are ours (call/record.c, call/views.c): members
 * have a fixed order and no white space between them, and a quote inside a string is
 * escaped, so that a name with its quotes can only be a name. */
#include "ledger/lean.h"

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "json/write.h"

#define NOWHERE SIZE_MAX
#define NAMES 64 /* bytes, of what is put back into a result */

static size_t find_last(struct wbi_str s, struct wbi_str needle)
{
    size_t room = s.n >= needle.n ? s.n - needle.n + 1 : 0;

    while (room > 0) {
        const char *p = memrchr(s.p, needle.p[0], room);

        if (p == NULL)
            break;
        room = (size_t)(p - s.p);
        if (memcmp(p, needle.p, needle.n) == 0)
            return room;
    }
    return NOWHERE;
}

/* A string with its quotes, or null; absent where neither is. */
static struct wbi_str value_at(struct wbi_str s, size_t from)
{
    if (wbi_str_starts(wbi_str_from(s, from), WBI_LIT("null")))
        return wbi_str_make(s.p + from, 4);
    if (from >= s.n || s.p[from] != '"')
        return WBI_NONE;
    for (size_t i = from + 1; i < s.n; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == '"')
            return wbi_str_make(s.p + from, i + 1 - from);
    }
    return WBI_NONE;
}

/* Does text go on at `at` with s, in quotes and not escaped? */
static bool says(struct wbi_str text, size_t at, struct wbi_str s)
{
    return s.n > 0 && at + s.n + 2 <= text.n && text.p[at] == '"' &&
           memcmp(text.p + at + 1, s.p, s.n) == 0 && text.p[at + 1 + s.n] == '"' &&
           memchr(s.p, '\\', s.n) == NULL && memchr(s.p, '"', s.n) == NULL;
}

#define TOOL WBI_LIT("{\"toolName\":")
#define CORRELATION WBI_LIT(",\"correlationId\":")
#define RESULT WBI_LIT(",\"result\":")
#define RESULT_END WBI_LIT(",\"error\":null}")

bool wbi_lean_has_tool(struct wbi_str invocation, struct wbi_str tool)
{
    return wbi_str_starts(invocation, TOOL) && says(invocation, TOOL.n, tool);
}

bool wbi_lean_has_correlation(struct wbi_str invocation, struct wbi_str id)
{
    size_t at = find_last(invocation, CORRELATION);

    return at != NOWHERE && says(invocation, at + CORRELATION.n, id);
}

/* No value ends in the middle of another one and where that ends, so this is the whole. */
bool wbi_lean_has_output(struct wbi_str canonical, struct wbi_str output)
{
    if (output.n == 0 || !wbi_str_ends(canonical, RESULT_END))
        return false;
    canonical.n -= RESULT_END.n;
    if (!wbi_str_ends(canonical, output))
        return false;
    canonical.n -= output.n;
    return wbi_str_ends(canonical, RESULT);
}

struct wbi_str wbi_lean_result(struct wbi_str canonical)
{
    size_t at = wbi_str_find(canonical, RESULT) + RESULT.n;

    if (at + RESULT_END.n >= canonical.n || !wbi_str_ends(canonical, RESULT_END))
        return WBI_NONE;
    return wbi_str_make(canonical.p + at, canonical.n - RESULT_END.n - at);
}

/* Where the policy snapshot belongs, which always is in front of these two; *ret_bare
 * without the first of them. */
static size_t place_of_policy(struct wbi_str result, bool *ret_bare)
{
    size_t origin = find_last(result, WBI_LIT(",\"origin\":\"")), at;

    *ret_bare = false;
    if (origin == NOWHERE || origin == 0)
        return NOWHERE;
    result.n = origin;
    at = find_last(result, CORRELATION);
    if (at == NOWHERE || at == 0 ||
        at + CORRELATION.n + value_at(result, at + CORRELATION.n).n != origin) {
        *ret_bare = true;
        return origin;
    }
    return result.p[at - 1] != '}' ? at : NOWHERE; /* the end of a snapshot */
}

static wb_rc fill_result(struct wbi_arena *arena, struct wbi_row *row)
{
    const struct wbi_str text = row->result, head = WBI_LIT("{\"status\":\"Ok\",");
    const size_t id = find_last(row->invocation, CORRELATION);
    const struct wbi_str correlation =
        id != NOWHERE ? value_at(row->invocation, id + CORRELATION.n) : WBI_NONE;
    struct wbi_str output = WBI_NONE;
    bool bare = false;
    size_t place = row->policy.p != NULL ? place_of_policy(text, &bare) : NOWHERE, from = 0;
    struct wbi_buf out;

    if (wbi_str_starts(text, head) &&
        !wbi_str_starts(wbi_str_from(text, head.n), WBI_LIT("\"output\":")))
        output = wbi_lean_result(row->canonical);
    if (bare && correlation.p == NULL)
        place = NOWHERE;
    if (output.p == NULL && place == NOWHERE)
        return WB_OK;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    /* at once: an output may be large, and growing would leave copies of it behind */
    (void)wbi_buf_room(&out, text.n + output.n + row->policy.n + correlation.n + NAMES);
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
        if (bare) {
            wbi_buf_adds(&out, CORRELATION);
            wbi_buf_adds(&out, correlation);
        }
        from = place;
    }
    wbi_buf_adds(&out, wbi_str_from(text, from));
    row->result = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

static wb_rc fill_trust(struct wbi_arena *arena, struct wbi_row *row)
{
    struct wbi_str rest = wbi_str_from(row->trust, 1), tool = WBI_NONE;
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    if (!wbi_str_starts(row->trust, WBI_LIT("{\"")) ||
        wbi_str_starts(rest, WBI_LIT("\"principal\":")))
        return WB_OK;
    if (wbi_str_starts(row->invocation, TOOL))
        tool = value_at(row->invocation, TOOL.n);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "principal", row->principal);
    if (wbi_str_starts(rest, WBI_LIT("\"version\":")) && tool.p != NULL)
        wbi_jw_kraw(&w, "tool", tool);
    wbi_buf_addc(&out, ',');
    wbi_buf_adds(&out, rest);
    row->trust = wbi_buf_str(&out);
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

/* ---- what columns say ---- */

/* The last columns that an invocation tells, in its order; behind them come only strings. In
 * place of those left out stands the number of them, as what was the last one's value. */
enum { TOLD = 3 };
#define LAST WBI_LIT(",\"principal\":")

static void told_columns(const struct wbi_row *row, struct wbi_str names[TOLD],
                         struct wbi_str values[TOLD])
{
    names[0] = WBI_LIT(",\"callId\":");
    values[0] = row->provider_call_id;
    names[1] = WBI_LIT(",\"conversationId\":");
    values[1] = row->conversation;
    names[2] = LAST;
    values[2] = row->principal;
}

static char *own(struct wbi_str s)
{
    return (char *)(uintptr_t)s.p;
}

static void cut_invocation(struct wbi_row *row)
{
    struct wbi_str names[TOLD], values[TOLD], text = row->invocation;
    size_t at = find_last(text, LAST), end = at + LAST.n + row->principal.n + 2, from = at;
    unsigned n = 1;

    if (at == NOWHERE || !says(text, at + LAST.n, row->principal))
        return;
    told_columns(row, names, values);
    for (; n < TOLD; n++, from = at) { /* those directly in front of it */
        struct wbi_str name = names[TOLD - 1 - n], value = values[TOLD - 1 - n];

        at = from - WBI_MIN(from, name.n + value.n + 2);
        if (!wbi_str_starts(wbi_str_from(text, at), name) || !says(text, at + name.n, value))
            break;
    }
    memcpy(own(text) + from, LAST.p, LAST.n);
    from += LAST.n;
    own(text)[from++] = (char)('0' + n);
    memmove(own(text) + from, text.p + end, text.n - end);
    row->invocation.n -= end - from;
}

static wb_rc fill_invocation(struct wbi_arena *arena, struct wbi_row *row)
{
    struct wbi_str names[TOLD], values[TOLD], text = row->invocation;
    size_t at = find_last(text, LAST), digit = at + LAST.n;
    struct wbi_buf out;

    if (at == NOWHERE || digit >= text.n || text.p[digit] < '1' || text.p[digit] > '0' + TOLD ||
        row->principal.p == NULL)
        return WB_OK;
    told_columns(row, names, values);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    (void)wbi_buf_room(&out, text.n + values[0].n + values[1].n + values[2].n + NAMES);
    wbi_buf_add(&out, text.p, at);
    for (size_t i = TOLD - (size_t)(text.p[digit] - '0'); i < TOLD; i++) {
        wbi_buf_adds(&out, names[i]);
        wbi_buf_addc(&out, '"');
        wbi_buf_adds(&out, values[i]);
        wbi_buf_addc(&out, '"');
    }
    wbi_buf_adds(&out, wbi_str_from(text, digit + 1));
    row->invocation = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

#define TOOL_NAME WBI_LIT("{\"tool_name\":")
#define STATUS WBI_LIT(",\"status\":")
#define SUMMARY WBI_LIT("{\"summary_text\":")
#define STARTED WBI_LIT("{\"startedAt\":\"")
#define DURATION WBI_LIT("{\"durationMs\":")

/* Without what stands in front of the comma at `at`, if next follows it. */
static struct wbi_str begin_at(struct wbi_str s, size_t at, struct wbi_str next)
{
    struct wbi_str rest = wbi_str_from(s, at);

    if (rest.n == 0 || rest.p[0] != ',' ||
        !wbi_str_starts(wbi_str_from(rest, 1), wbi_str_from(next, 1)))
        return s;
    own(rest)[0] = '{';
    return rest;
}

static void cut_canonical(struct wbi_row *row)
{
    struct wbi_str text = row->canonical;
    size_t status = TOOL_NAME.n + row->tool.n + 2, value = status + STATUS.n;

    if (wbi_str_starts(text, TOOL_NAME) && says(text, TOOL_NAME.n, row->tool) &&
        wbi_str_starts(wbi_str_from(text, status), STATUS) && says(text, value, row->status))
        row->canonical = begin_at(text, value + row->status.n + 2, SUMMARY);
}

static void cut_timings(struct wbi_row *row)
{
    struct wbi_str text = row->timings;
    char time[WBI_RFC3339_SIZE];

    wbi_time_format(row->time_ms, time);
    if (wbi_str_starts(text, STARTED) && says(text, STARTED.n - 1, wbi_str_z(time)))
        row->timings = begin_at(text, STARTED.n + sizeof(time), DURATION);
}

/* ---- the events of a call that went well ---- */

/* What stands in front of their numbers, and behind the last. */
enum { USUAL = 3 };
static const struct wbi_str usual[USUAL + 1] = {
    WBI_LIT_INIT("[{\"type\":\"ToolInvoked\",\"sequence\":"),
    WBI_LIT_INIT("},{\"type\":\"PolicyApplied\",\"sequence\":"),
    WBI_LIT_INIT("},{\"type\":\"ToolSucceeded\",\"sequence\":"),
    WBI_LIT_INIT("}]"),
};
static const struct wbi_str few[USUAL + 1] = {WBI_LIT_INIT("["), WBI_LIT_INIT(","),
                                              WBI_LIT_INIT(","), WBI_LIT_INIT("]")};

/* The numbers of a text that has just these pieces around them. */
static bool numbers_between(const struct wbi_str pieces[USUAL + 1], struct wbi_str text,
                            struct wbi_str ret[USUAL])
{
    for (size_t i = 0; i < USUAL; i++) {
        size_t n = 0;

        if (!wbi_str_starts(text, pieces[i]))
            return false;
        text = wbi_str_from(text, pieces[i].n);
        while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
            n++;
        if (n == 0)
            return false;
        ret[i] = wbi_str_head(text, n);
        text = wbi_str_from(text, n);
    }
    return wbi_str_eq(text, pieces[USUAL]);
}

static void cut_events(struct wbi_row *row)
{
    struct wbi_str numbers[USUAL];
    char *at = own(row->events);

    if (!numbers_between(usual, row->events, numbers))
        return;
    for (size_t i = 0; i < USUAL; i++) {
        *at++ = few[i].p[0];
        memmove(at, numbers[i].p, numbers[i].n);
        at += numbers[i].n;
    }
    *at++ = few[USUAL].p[0];
    row->events.n = (size_t)(at - row->events.p);
}

static wb_rc fill_usual(struct wbi_arena *arena, struct wbi_row *row)
{
    struct wbi_str n[USUAL];

    if (!numbers_between(few, row->events, n))
        return WB_OK;
    row->events = wbi_arena_fmt(arena, "%s%.*s%s%.*s%s%.*s%s", usual[0].p, WBI_FMT(n[0]),
                                usual[1].p, WBI_FMT(n[1]), usual[2].p, WBI_FMT(n[2]), usual[3].p);
    return row->events.p != NULL ? WB_OK : WB_ENOMEM;
}

void wbi_lean_cut(struct wbi_row *row)
{
    cut_invocation(row);
    cut_canonical(row);
    cut_timings(row);
    cut_events(row);
}

/* first, s without its brace. */
static wb_rc put_first(struct wbi_arena *arena, struct wbi_str first, struct wbi_str *s)
{
    char *p = wbi_arena_alloc(arena, first.n + s->n);

    if (p == NULL)
        return WB_ENOMEM;
    memcpy(p, first.p, first.n);
    memcpy(p + first.n, s->p + 1, s->n - 1);
    *s = wbi_str_make(p, first.n + s->n - 1);
    return WB_OK;
}

static wb_rc fill_canonical(struct wbi_arena *arena, struct wbi_row *row)
{
    struct wbi_str first;

    if (!wbi_str_starts(row->canonical, SUMMARY) || row->tool.p == NULL || row->status.p == NULL)
        return WB_OK;
    first = wbi_arena_fmt(arena, "{\"tool_name\":\"%.*s\",\"status\":\"%.*s\",", WBI_FMT(row->tool),
                          WBI_FMT(row->status));
    return first.p != NULL ? put_first(arena, first, &row->canonical) : WB_ENOMEM;
}

static wb_rc fill_timings(struct wbi_arena *arena, struct wbi_row *row)
{
    struct wbi_str first;
    char time[WBI_RFC3339_SIZE];

    if (!wbi_str_starts(row->timings, DURATION))
        return WB_OK;
    wbi_time_format(row->time_ms, time);
    first = wbi_arena_fmt(arena, "{\"startedAt\":\"%s\",", time);
    return first.p != NULL ? put_first(arena, first, &row->timings) : WB_ENOMEM;
}

wb_rc wbi_lean_fill(struct wbi_arena *arena, struct wbi_row *row)
{
    wb_rc rc = fill_invocation(arena, row);

    if (rc == WB_OK)
        rc = fill_canonical(arena, row);
    if (rc == WB_OK)
        rc = fill_timings(arena, row); /* in front of the events, which go by it */
    if (rc == WB_OK)
        rc = fill_result(arena, row);
    if (rc == WB_OK)
        rc = fill_trust(arena, row);
    if (rc == WB_OK)
        rc = fill_usual(arena, row);
    return rc == WB_OK ? fill_events(arena, row) : rc;
}
