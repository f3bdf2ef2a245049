/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_lean.c: a call of any names, ids, texts and times. What the ledger
 * keeps of it comes back byte for byte, whatever stands in it. Then the same pieces as
 * columns of a row that nobody of ours wrote: nothing is read beyond them. */
#include <stdlib.h>

#include "base/limits.h"
#include "call/call.h"
#include "call/guards.h"
#include "call/record.h"
#include "call/views.h"
#include "ledger/lean.h"

/* The first byte of an input says what kind of call it is. */
enum {
    FAILED = 1u << 0,
    NO_TOOL = 1u << 1,
    REPLAYED = 1u << 2,
    CACHED = 1u << 3,
    OWN_OUTPUT = 1u << 4,   /* which is not the canonical result */
    HIDDEN_ID = 1u << 5,    /* the invocation's correlation id was redacted */
    HIDDEN_TOOL = 1u << 6,  /* and its tool name */
    NO_CANONICAL = 1u << 7, /* no memory was left for it */
};

/* Then come lines in this order, each any bytes; an empty id or principal is absent. */
enum { ID, TOOL, VERSION, ORIGIN, PRINCIPAL, SUMMARY, RESULT, OUTPUT, METADATA, TIMES, LINES };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct wbi_str take_line(struct wbi_str *rest)
{
    struct wbi_str line = wbi_str_head(*rest, wbi_str_index(*rest, '\n'));

    *rest = wbi_str_from(*rest, line.n + 1);
    return line;
}

/* The line where it is JSON, else a string of it. */
static struct wbi_str as_json(struct wbi_arena *arena, struct wbi_str line, const wbi_json **ret)
{
    struct wbi_buf text;

    if (line.n > 0 && wbi_json_read(arena, line, WBI_JSON_STRICT, ret, NULL) == WB_OK)
        return line;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_CALL_ARENA);
    wbi_json_quote(&text, line);
    require(wbi_buf_rc(&text) == WB_OK &&
            wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, NULL) == WB_OK);
    return wbi_buf_str(&text);
}

static void write_invocation(struct wbi_call *call, unsigned kind)
{
    struct wbi_invocation inv = call->inv;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, call->arena, WBI_LIMIT_CALL_ARENA);
    if (kind & HIDDEN_ID)
        inv.correlation_id = WBI_LIT("[redacted]");
    if (call->tool != NULL)
        inv.tool_name = kind & HIDDEN_TOOL ? WBI_LIT("[redacted]") : call->tool->qualified;
    wbi_invocation_write(&w, &inv, WBI_NONE);
    require(wbi_buf_rc(&text) == WB_OK);
    call->redacted_invocation = wbi_buf_str(&text);
}

static void decide(struct wbi_call *call, const struct wbi_str *lines, unsigned kind)
{
    const wbi_json *v;
    const bool nothing = wbi_str_eqz(lines[RESULT], "null"); /* which no tool may succeed with */
    struct wbi_str result = as_json(call->arena, nothing ? WBI_NONE : lines[RESULT], &v);
    struct wbi_str output = as_json(call->arena, lines[OUTPUT], &v);
    struct wbi_fault fault = {.kind = WBI_KIND_INTERNAL_ERROR, .message = lines[SUMMARY]};
    struct wbi_buf canonical;
    wb_rc rc;

    if (wbi_json_is(v, WBI_JSON_OBJ))
        fault.details = output;
    wbi_fault_cause(&fault, WBI_KIND_INTERNAL_ERROR, lines[VERSION], lines[SUMMARY]);
    rc = kind & FAILED ? wbi_outcome_fail(&call->outcome, call->arena, &fault)
                       : wbi_outcome_succeed(&call->outcome, call->arena, lines[SUMMARY], result,
                                             kind & OWN_OUTPUT ? output : WBI_NONE);
    require(rc == WB_OK);
    if (kind & NO_CANONICAL)
        return;
    wbi_buf_init_arena(&canonical, call->arena, WBI_LIMIT_CALL_ARENA);
    require(wbi_view_canonical(&call->outcome, wbi_call_tool_name(call), &canonical) == WB_OK);
    call->canonical = wbi_buf_str(&canonical);
}

/* Each byte is an event so many milliseconds after, or before, the one in front of it. */
static void happen(struct wbi_call *call, struct wbi_str times)
{
    int64_t at = call->started_wall_ms;

    wbi_buf_init_arena(&call->event_briefs, call->arena, WBI_LIMIT_CALL_ARENA);
    for (size_t i = 0; i < times.n && i < 1000; i++) {
        struct wbi_event_brief brief = {.type = (enum wbi_event_type)(i % WBI_EVENT_TYPES),
                                        .sequence = i + 1};

        brief.wall_ms = at += (int8_t)times.p[i] - '0';
        wbi_buf_add(&call->event_briefs, &brief, sizeof(brief));
    }
}

/* What call/record.c writes without leaving anything out. */
static void write_events(const struct wbi_call *call, struct wbi_buf *out)
{
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_arr(&w);
    for (size_t at = 0; at < call->event_briefs.n; at += sizeof(struct wbi_event_brief)) {
        char time[WBI_RFC3339_SIZE];
        struct wbi_event_brief brief;

        memcpy(&brief, call->event_briefs.p + at, sizeof(brief));
        wbi_time_format(brief.wall_ms, time);
        wbi_jw_obj(&w);
        wbi_jw_kstrz(&w, "type", wbi_event_type_name(brief.type));
        wbi_jw_kstrz(&w, "time", time);
        wbi_jw_kint(&w, "sequence", (int64_t)brief.sequence);
        wbi_jw_obj_end(&w);
    }
    wbi_jw_arr_end(&w);
}

static void comes_back(struct wbi_call *call)
{
    const struct wbi_record_texts *t;
    struct wbi_buf result, events;
    struct wbi_str trust;
    struct wbi_row row = {.principal = call->inv.principal};

    wbi_buf_init_arena(&result, call->arena, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init_arena(&events, call->arena, WBI_LIMIT_CALL_ARENA);
    write_events(call, &events);
    require(wbi_view_result(call, &result) == WB_OK);
    require(wbi_record_trust(call, &trust) == WB_OK);
    require(wbi_record_make(call, &t) == WB_OK);
    row.invocation = t->invocation;
    row.canonical = t->canonical;
    row.result = t->result;
    row.policy = t->policy;
    row.timings = t->timings;
    row.trust = t->trust;
    row.events = t->events;
    for (int again = 0; again < 2; again++) { /* what is whole stays */
        require(wbi_lean_fill(call->arena, &row) == WB_OK);
        require(wbi_str_eq(row.result, wbi_buf_str(&result)));
        require(wbi_str_eq(row.trust, trust));
        require(wbi_str_eq(row.events, wbi_buf_str(&events)));
    }
}

/* In memory of its own, as the ledger's writer has it. */
static struct wbi_str writable(struct wbi_arena *arena, struct wbi_str s)
{
    struct wbi_str copy = s.p != NULL ? wbi_arena_str(arena, s) : s;

    require(copy.p != NULL || s.p == NULL);
    return copy;
}

/* What columns say is left out by the writer, of texts that are whole. */
static void columns_come_back(struct wbi_call *call, int64_t time_ms)
{
    const struct wbi_record_texts *t;
    struct wbi_buf events;
    struct wbi_row row = {.time_ms = time_ms,
                          .tool = wbi_call_tool_name(call),
                          .status = call->outcome.state == WBI_OUTCOME_SUCCESS ? WBI_LIT("success")
                                                                               : WBI_LIT("error"),
                          .conversation = call->inv.conversation_id,
                          .provider_call_id = call->inv.call_id,
                          .principal = call->inv.principal};

    require(wbi_record_make(call, &t) == WB_OK);
    row.invocation = writable(call->arena, t->invocation);
    row.canonical = writable(call->arena, t->canonical);
    row.timings = writable(call->arena, t->timings);
    row.events = writable(call->arena, t->events);
    wbi_buf_init_arena(&events, call->arena, WBI_LIMIT_CALL_ARENA);
    write_events(call, &events);
    wbi_lean_cut(&row);
    for (int again = 0; again < 2; again++) {
        require(wbi_lean_fill(call->arena, &row) == WB_OK);
        require(wbi_str_eq(row.invocation, t->invocation));
        require(wbi_str_eq(row.canonical, t->canonical));
        require(wbi_str_eq(row.timings, t->timings));
        require(wbi_str_eq(row.events, wbi_buf_str(&events)));
    }
}

static struct wbi_str or_none(struct wbi_str s)
{
    return s.n > 0 ? s : WBI_NONE;
}

static void record(struct wbi_arena *arena, unsigned kind, const struct wbi_str *lines)
{
    struct wbi_admission admission = {.values = {.cache_log = true}};
    struct wbi_tool tool = {.qualified = lines[TOOL],
                            .model_name = lines[TOOL],
                            .origin = lines[ORIGIN],
                            .version = lines[VERSION]};
    struct wbi_call *call = wbi_arena_zalloc(arena, sizeof(*call));
    const wbi_json *metadata;

    require(call != NULL);
    call->arena = arena;
    call->admission = &admission;
    call->started_wall_ms = 1763250000000 + (int64_t)lines[TIMES].n;
    call->inv.tool_name = lines[TOOL];
    call->inv.correlation_id = or_none(lines[ID]);
    call->inv.call_id = or_none(lines[ID]);
    call->inv.conversation_id = or_none(lines[VERSION]);
    call->inv.principal = or_none(lines[PRINCIPAL]);
    (void)as_json(arena, lines[METADATA], &metadata);
    call->inv.metadata = metadata;
    call->facts.replayed = (kind & REPLAYED) != 0;
    call->facts.cached = (kind & CACHED) != 0;
    if (kind & NO_TOOL)
        call->named.origin = lines[ORIGIN];
    else
        call->tool = &tool;
    decide(call, lines, kind);
    write_invocation(call, kind);
    happen(call, lines[TIMES]);
    comes_back(call);
    columns_come_back(call, call->started_wall_ms + (int64_t)(lines[ID].n % 2));
}

static void fill_what_is_not_ours(struct wbi_arena *arena, const struct wbi_str *lines)
{
    struct wbi_row row = {.principal = lines[PRINCIPAL],
                          .conversation = lines[ID],
                          .provider_call_id = lines[VERSION],
                          .tool = lines[TOOL],
                          .status = lines[ORIGIN],
                          .invocation = lines[METADATA],
                          .canonical = lines[RESULT],
                          .result = lines[OUTPUT],
                          .policy = lines[VERSION],
                          .timings = lines[TOOL],
                          .trust = lines[SUMMARY],
                          .events = lines[TIMES]};

    require(wbi_lean_fill(arena, &row) == WB_OK);
    row.invocation = writable(arena, lines[METADATA]);
    row.canonical = writable(arena, lines[RESULT]);
    row.timings = writable(arena, lines[TIMES]);
    row.events = writable(arena, lines[OUTPUT]);
    wbi_lean_cut(&row);
    require(wbi_lean_fill(arena, &row) == WB_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str lines[LINES], rest = wbi_str_make((const char *)data, size);
    struct wbi_arena *arena;
    unsigned kind = size > 0 ? data[0] : 0;

    require(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK);
    rest = wbi_str_from(rest, 1);
    for (size_t i = 0; i < LINES; i++)
        lines[i] = take_line(&rest);
    record(arena, kind, lines);
    fill_what_is_not_ours(arena, lines);
    wbi_arena_free(arena);
    return 0;
}
