/* SPDX-License-Identifier: Apache-2.0
 * wire/wire_test.c: what holds for every provider at once, under damage and
 * little memory; and the sentences of seed S2 (translated) that the golden
 * pairs do not show one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena_fixture.h"
#include "base/checked.h"
#include "base/limits.h"
#include "catalog/names.h"
#include "json/write.h"
#include "wire/wire.h"

static const wbi_json *parse(const char *text)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;

    if (wbi_json_read(arena, wbi_str_z(text), WBI_JSON_STRICT, &v, &err) != WB_OK)
        fail_msg("%s: %s", err.text, text);
    return v;
}

static struct wbi_wire_call decode_one(const char *text)
{
    struct wbi_wire_turn turn = {.n = 0};
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_wire_decode(arena, WBI_PROVIDER_AUTO, parse(text), &turn, &err) != WB_OK)
        fail_msg("%s", err.text);
    assert_int_equal(turn.n, 1);
    return turn.calls[0];
}

static struct wbi_str encode_one(const struct wbi_wire_call *call, struct wbi_wire_answer answer)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    assert_int_equal(wbi_wire_encode(call, &answer, &out, NULL), WB_OK);
    return wbi_buf_str(&out);
}

static void assert_str(struct wbi_str got, const char *want)
{
    if (!wbi_str_eqz(got, want))
        fail_msg("want %s\n got %.*s", want, WBI_FMT(got));
}

/* One call as each provider writes it. */
static const char *const same_call[] = {
    "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"F\",\"arguments\":\"{\\\"a\\\":1}"
    "\"}",
    "{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"F\",\"arguments\":\"{\\\"a\\\":"
    "1}\"}}",
    "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"F\",\"input\":{\"a\":1}}",
    "{\"functionCall\":{\"id\":\"c1\",\"name\":\"F\",\"args\":{\"a\":1}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"method\":\"tools/"
    "call\",\"params\":{\"name\":\"F\",\"arguments\":{\"a\":1}}}",
    "{\"toolName\":\"F\",\"callId\":\"c1\",\"input\":{\"a\":1}}",
};

/* Issue: "the same call sent as each provider yields the same …"; C9.2 "One text for all
 * providers". */
static void all_providers_mean_the_same_call_and_carry_the_same_text(void **state)
{
    const wbi_json *input = parse("{\"a\":1}");

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(same_call); i++) {
        struct wbi_wire_call call = decode_one(same_call[i]);
        struct wbi_str out;

        assert_int_equal(call.provider, WBI_PROVIDER_RESPONSES + i);
        assert_str(call.name, "F");
        assert_true(wbi_json_equal(call.input, input));
        assert_int_equal(call.problem_kind, WBI_KIND_NONE);
        out = encode_one(&call, (struct wbi_wire_answer){
                                    .receipt = WBI_LIT("one \xc3\xa9 text\n"),
                                    .result = WBI_LIT("{\"output\":\"one \xc3\xa9 text\\n\"}")});
        assert_true(wbi_str_find(out, WBI_LIT("\"one \xc3\xa9 text\\n\"")) < out.n);
        assert_true(wbi_str_find(out, WBI_LIT("\"c1\"")) < out.n);
    }
}

/* S2 1.1 "1) If name can be parsed as an MCP tool (session.parse_mcp_tool_name(&name)), create:
 * ToolPayload::Mcp { server, tool, raw_arguments }; 2) otherwise create: ToolPayload::Function
 * { arguments }". S2 1 "Tool call sources (model output item -> ToolCall)". */
static void a_function_name_that_parses_as_an_mcp_tool_becomes_an_mcp_call(void **state)
{
    static const struct wbi_name_in tools[] = {{WBI_LIT_INIT("mcp::github::issues.create"), false},
                                               {WBI_LIT_INIT("local::fs.write"), false}};
    struct wbi_wire_call mcp =
        decode_one("{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":"
                   "\"mcp__github__issues_create\",\"arguments\":\"{\\\"t\\\":1}\"}");
    struct wbi_wire_call local =
        decode_one("{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":"
                   "\"fs_write\",\"arguments\":\"{}\"}");
    const struct wbi_name *name;
    struct wbi_names *names;

    (void)state;
    assert_int_equal(wbi_names_new(tools, 2, NULL, &names, NULL), WB_OK);
    name = wbi_names_find(names, mcp.name_space, mcp.name);
    assert_non_null(name);
    assert_int_equal(name->parts.origin, WBI_NAME_MCP);
    assert_str(name->parts.server, "github");
    assert_str(name->parts.tool, "issues.create");
    assert_true(wbi_json_equal(mcp.input, parse("{\"t\":1}")));
    name = wbi_names_find(names, local.name_space, local.name);
    assert_non_null(name);
    assert_int_equal(name->parts.origin, WBI_NAME_LOCAL);
    wbi_names_free(names);
}

/* S2, head: "This file describes the protocol all tool handlers follow: call -> execute -> give
 * back to the model. Per-tool documents describe only differences of input and behaviour; the
 * common wrapping is as stated here." S2 2 "Dispatch (ToolCall -> handler)"; "Input:
 * ToolInvocation { session, turn, tracker, call_id, tool_name, payload }": every kind of item gives
 * call id, tool name and payload in one struct, whatever the tool. */
static void every_item_gives_call_id_tool_name_and_payload(void **state)
{
    static const char *const items[] = {
        "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}",
        "{\"type\":\"custom_tool_call\",\"call_id\":\"c\",\"name\":\"f\",\"input\":\"text\"}",
        "{\"type\":\"local_shell_call\",\"call_id\":\"c\",\"action\":{\"command\":[\"ls\"]}}",
        "{\"type\":\"shell_call\",\"call_id\":\"c\",\"action\":{\"commands\":[\"ls\"]}}",
        ("{\"type\":\"apply_patch_call\",\"call_id\":\"c\",\"operation\":{\"type\":\"delete_file\","
         "\"path\":\"a\"}}"),
    };

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(items); i++) {
        struct wbi_wire_call call = decode_one(items[i]);
        assert_str(call.id, "c");
        assert_true(call.name.n > 0);
        assert_true(call.is_text ? call.text.n > 0 : call.input != NULL);
    }
}

/* S2 3.1 "all tool handlers return Result<ResponseInputItem, FunctionCallError>: Fatal(message) is
 * thrown upwards and ends; other errors are wrapped as a failed tool output and given back to the
 * model, which goes on". S2 3.2 "internally success: Some(false) may be carried (for logs and later
 * extensions)": is_error is in the answer and never on the Responses wire. S2 "3. Error handling
 * (handler error -> given back to the model)". */
static void a_failure_is_an_ordinary_output_without_a_success_member(void **state)
{
    struct wbi_wire_call call = decode_one(same_call[0]);
    struct wbi_wire_answer failed = {.receipt = WBI_LIT("Error: x"), .is_error = true};
    struct wbi_wire_answer fine = {.receipt = WBI_LIT("Error: x")};

    (void)state;
    assert_str(encode_one(&call, failed),
               "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"Error: x\"}");
    assert_true(wbi_str_eq(encode_one(&call, failed), encode_one(&call, fine)));
}

static void lines_that_belong_to_no_provider(void **state)
{
    const wbi_json *id = parse("\"c9\"");
    struct wbi_buf out;

    (void)state;
    wbi_buf_init_arena(&out, arena, 4096);
    wbi_wire_error_line(&out, 3, id, WBI_LIT("{\"kind\":\"malformed_call\"}"));
    assert_str(wbi_buf_str(&out), "{\"type\":\"waybill.error\",\"line\":3,\"id\":\"c9\",\"error\":{"
                                  "\"kind\":\"malformed_call\"}}");
}

static void providers_have_names(void **state)
{
    enum wbi_provider p;

    (void)state;
    assert_true(wbi_provider_parse(WBI_LIT("gemini"), &p));
    assert_int_equal(p, WBI_PROVIDER_GEMINI);
    assert_true(wbi_provider_parse(WBI_LIT("auto"), &p));
    assert_int_equal(p, WBI_PROVIDER_AUTO);
    assert_false(wbi_provider_parse(WBI_LIT("?"), &p));
    assert_string_equal(wbi_provider_name((enum wbi_provider)99), "?");
}

static void what_is_no_call_is_an_error_that_says_what_would_be(void **state)
{
    static const char *const lines[] = {"7",
                                        "\"x\"",
                                        "null",
                                        "{}",
                                        "[]",
                                        "[1,[]]",
                                        "{\"a\":1}",
                                        "{\"role\":\"user\",\"content\":\"hi\"}",
                                        "{\"item\":7}",
                                        "{\"invocation\":7}",
                                        "{\"item\":{\"id\":\"c1\"}}"};
    struct wbi_wire_turn turn;
    struct wbi_error err;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(lines); i++) {
        for (int p = WBI_PROVIDER_AUTO; p < WBI_PROVIDER_NATIVE; p++) {
            err = (struct wbi_error)WBI_ERROR_INIT;
            assert_int_equal(
                wbi_wire_decode(arena, (enum wbi_provider)p, parse(lines[i]), &turn, &err),
                WB_EINPUT);
            assert_int_equal(err.kind, WBI_KIND_MALFORMED_CALL);
            assert_true(err.text[0] != '\0');
        }
    }
    assert_str(wbi_json_str(wbi_wire_find_id(parse(lines[10]))), "c1");
}

#define ITEM(type, status) \
    "{\"type\":\"" type "\",\"call_id\":\"c1\",\"name\":\"t\",\"status\":\"" status "\"}"

#define WITHOUT_STATUS \
    "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"t\",\"arguments\":\"\"}"
#define EVENT(status, items) \
    "{\"type\":\"response." status "\",\"response\":" RESPONSE(status, items) "}"
#define RESPONSE(status, items) "{\"status\":\"" status "\",\"output\":[" items "]}"

/* C3.6: a message ends where its limit is reached, or where the context window does. */
static void the_last_call_of_a_message_that_was_cut_counts_as_cut(void **state)
{
    static const char *const reasons[] = {"max_tokens", "model_context_window_exceeded"};
    char line[256];

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(reasons); i++) {
        (void)snprintf(line, sizeof(line),
                       "{\"type\":\"message\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c1\","
                       "\"name\":\"t\",\"input\":{}}],\"stop_reason\":\"%s\"}",
                       reasons[i]);
        assert_true(decode_one(line).truncated);
    }
    assert_false(
        decode_one("{\"type\":\"message\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c1\","
                   "\"name\":\"t\",\"input\":{}}],\"stop_reason\":\"tool_use\"}")
            .truncated);
}

/* C3.6: a stream shows calls before their arguments are there; such a one must not run. */
static void a_call_that_is_still_being_written_is_none_yet(void **state)
{
    static const char *const lines[] = {
        ITEM("function_call", "in_progress"),
        ITEM("custom_tool_call", "in_progress"),
        ITEM("shell_call", "in_progress"),
        ITEM("local_shell_call", "in_progress"),
        ITEM("apply_patch_call", "in_progress"),
        "{\"type\":\"response.output_item.added\",\"item\":" ITEM("function_call", "completed") "}",
        EVENT("in_progress", WITHOUT_STATUS),
        "{\"functionCall\":{\"name\":\"t\",\"id\":\"p1\",\"willContinue\":true}}",
        "{\"functionCall\":{\"name\":\"t\",\"partial_args\":[]}}",
        "{\"id\":\"x\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\","
        "\"function\":{\"name\":\"t\",\"arguments\":\"\"}}]}}]}",
        "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":\"c1\",\"name\":\"t\",\"input\":{}}}",
    };
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_wire_turn turn;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(lines); i++) {
        assert_int_equal(wbi_wire_decode(arena, WBI_PROVIDER_AUTO, parse(lines[i]), &turn, &err),
                         WB_EAGAIN);
        assert_non_null(strstr(err.text, "still being written"));
    }
    assert_str(decode_one(RESPONSE("in_progress", ITEM("function_call", "in_progress") "," ITEM(
                                                      "custom_tool_call", "completed")))
                   .id,
               "c1"); /* the one that is whole */
    assert_str(decode_one(RESPONSE("completed", ITEM("function_call", "in_progress"))).id, "c1");
}

/* --- damage --- */

static uint64_t seed;

static unsigned roll(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

static const char *const victims[] = {
    "{\"type\":\"function_call\",\"id\":\"f\",\"call_id\":\"c1\",\"name\":\"F\",\"arguments\":\"{"
    "\\\"a\\\":[1,2]}\",\"status\":\"completed\",\"caller\":{\"type\":\"direct\"}}",
    "{\"type\":\"custom_tool_call\",\"call_id\":\"c1\",\"name\":\"F\",\"input\":\"free \\n text\"}",
    "{\"type\":\"local_shell_call\",\"id\":\"l\",\"call_id\":\"c1\",\"action\":{\"type\":\"exec\","
    "\"command\":[\"ls\",\"-l\"],\"env\":{},\"timeout_ms\":5}}",
    "{\"type\":\"shell_call\",\"call_id\":\"c1\",\"action\":{\"commands\":[\"ls\"],\"max_output_"
    "length\":5}}",
    "{\"type\":\"apply_patch_call\",\"call_id\":\"c1\",\"operation\":{\"type\":\"create_file\","
    "\"path\":\"a\",\"diff\":\"+x\\n\"}}",
    "{\"id\":\"r\",\"object\":\"response\",\"status\":\"incomplete\",\"incomplete_details\":{"
    "\"reason\":\"max_output_tokens\"},\"output\":[{\"type\":\"function_call\",\"call_id\":\"c1\","
    "\"name\":\"F\",\"arguments\":\"{\"}]}",
    "{\"choices\":[{\"finish_reason\":\"length\",\"message\":{\"role\":\"assistant\",\"tool_"
    "calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"F\",\"arguments\":\"{}"
    "\"}}]}}]}",
    "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"custom\",\"custom\":{"
    "\"name\":\"F\",\"input\":\"x\"}}]}",
    "{\"type\":\"message\",\"role\":\"assistant\",\"stop_reason\":\"max_tokens\",\"content\":[{"
    "\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"F\",\"input\":{\"a\":1}}]}",
    "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"c1\",\"name\":\"F\","
    "\"args\":{}}}]},\"finishReason\":\"STOP\"}]}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"method\":\"tools/"
    "call\",\"params\":{\"name\":\"F\",\"arguments\":{},\"_meta\":{\"progressToken\":1}}}",
    "{\"toolName\":\"local::F\",\"callId\":\"c1\",\"input\":{}}",
    "{\"item\":{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"F\",\"input\":{}},\"invocation\":{"
    "\"correlationId\":\"k\"}}",
};

/* Another value behind some colon: keeps the text JSON more often than not. */
static size_t swap_value(char *text, size_t n, size_t room)
{
    static const char *const values[] = {"null",
                                         "7",
                                         "-1.5e9",
                                         "\"\"",
                                         "\"\\u0000\"",
                                         "[]",
                                         "{}",
                                         "true",
                                         "[null,{}]",
                                         "\"c1\"",
                                         "{\"type\":\"tool_use\"}"};
    const char *value = values[roll(WBI_COUNT(values))];
    size_t at = roll((unsigned)n), end, len = strlen(value);

    while (at < n && text[at] != ':')
        at++;
    if (at == n)
        return n;
    end = ++at;
    if (end < n && text[end] == '"')
        for (end++; end < n && (text[end] != '"' || text[end - 1] == '\\'); end++)
            ;
    while (end < n && text[end] != ',' && text[end] != '}')
        end++;
    if (n - (end - at) + len >= room)
        return n;
    memmove(text + at + len, text + end, n - end);
    memcpy(text + at, value, len);
    return n - (end - at) + len;
}

static size_t mutate(char *text, size_t n, size_t room)
{
    for (unsigned times = 1 + roll(3); times > 0 && n > 4; times--) {
        size_t at = roll((unsigned)n);
        switch (roll(6)) {
        case 0:
            text[at] = (char)roll(256);
            break;
        case 1:
            memmove(text + at, text + at + 1, n - at - 1);
            n--;
            break;
        case 2:
            n = roll(4) == 0 ? at + 1 : n;
            break;
        default:
            n = swap_value(text, n, room);
        }
    }
    return n;
}

static void check_output(const struct wbi_wire_call *call)
{
    struct wbi_wire_answer answer = {.receipt = WBI_LIT("r"),
                                     .is_error = true,
                                     .result = WBI_LIT("{\"status\":\"Error\"}"),
                                     .call_id = WBI_LIT("made")};
    const wbi_json *out;
    struct wbi_buf id;

    assert_int_equal(wbi_json_read(arena, encode_one(call, answer), WBI_JSON_STRICT, &out, NULL),
                     WB_OK);
    assert_int_equal(wbi_json_type(out), WBI_JSON_OBJ);
    if (!call->answerable) {
        assert_str(wbi_json_get_str(out, "type"), "waybill.error");
        assert_true(call->problem.n > 0);
        if (call->id_value != NULL)
            assert_true(wbi_json_equal(wbi_json_get(out, "id"), call->id_value));
        return;
    }
    if (call->id.p == NULL)
        return;
    wbi_buf_init_arena(&id, arena, 4096);
    if (call->provider == WBI_PROVIDER_MCP)
        wbi_buf_adds(&id, call->id);
    else
        wbi_json_quote(&id, call->id);
    assert_true(wbi_str_find(encode_one(call, answer), wbi_buf_str(&id)) <
                encode_one(call, answer).n);
}

static bool check_line(const wbi_json *line, enum wbi_provider provider)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_wire_turn turn;
    struct wbi_buf text;
    wb_rc rc = wbi_wire_decode(arena, provider, line, &turn, &err);

    if (rc != WB_OK) {
        assert_int_equal(rc, WB_EINPUT);
        assert_true(err.text[0] != '\0');
        wbi_buf_init_arena(&text, arena, 8192);
        wbi_wire_error_line(&text, 1, wbi_wire_find_id(line), WBI_LIT("{}"));
        assert_int_equal(wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &line, NULL),
                         WB_OK);
        return false;
    }
    for (size_t i = 0; i < turn.n; i++)
        check_output(&turn.calls[i]);
    return true;
}

/* Issue: "10^5 mutated items: no crash, always one output or one clear protocol error with the
 * id echoed"; a twentieth by default. */
static void damaged_items_end_in_one_output_or_one_clear_error(void **state)
{
    int runs = getenv("WAYBILL_SOAK") ? 100000 : 5000, parsed = 0, calls = 0;
    char text[2048];

    (void)state;
    seed = 42;
    for (int run = 0; run < runs; run++) {
        const char *victim = victims[roll(WBI_COUNT(victims))];
        const wbi_json *line;
        size_t n = strlen(victim);

        wbi_arena_reset(arena);
        memcpy(text, victim, n);
        n = mutate(text, n, sizeof(text));
        if (wbi_json_read(arena, wbi_str_make(text, n), WBI_JSON_STRICT, &line, NULL) != WB_OK)
            continue;
        parsed++;
        calls += check_line(line, WBI_PROVIDER_AUTO);
        (void)check_line(line, (enum wbi_provider)(WBI_PROVIDER_RESPONSES + roll(6)));
    }
    assert_true(parsed > runs / 4);
    assert_true(calls > runs / 8);
}

static void little_memory_is_an_error_not_a_crash(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(victims); i++) {
        const wbi_json *line = parse(victims[i]);
        for (size_t cap = 16;; cap += 48) {
            struct wbi_arena *small;
            struct wbi_wire_turn turn;
            wb_rc rc;

            assert_int_equal(wbi_arena_new(cap, &small), WB_OK);
            rc = wbi_wire_decode(small, WBI_PROVIDER_AUTO, line, &turn, NULL);
            wbi_arena_free(small);
            if (rc == WB_OK)
                break;
            assert_int_equal(rc, WB_ENOMEM);
        }
    }
}

static void a_full_buffer_is_an_error(void **state)
{
    struct wbi_wire_call call = decode_one(same_call[2]);
    struct wbi_wire_answer answer = {.receipt = WBI_LIT("a receipt that does not fit")};
    struct wbi_buf out;

    (void)state;
    wbi_buf_init_arena(&out, arena, 20);
    assert_int_equal(wbi_wire_encode(&call, &answer, &out, NULL), WB_ELIMIT);
}

/* A request with a longer one is refused there. */
static void anthropic_takes_images_up_to_five_mebibytes(void **state)
{
    struct wbi_wire_call call = decode_one(same_call[2]);
    size_t most = 5u * WBI_MIB;
    char *data = wbi_arena_alloc(arena, most + 4);

    (void)state;
    memset(data, 'A', most + 4);
    for (size_t over = 0; over <= 4; over += 4) {
        struct wbi_wire_part part = {.type = WBI_PART_IMAGE,
                                     .mime = WBI_LIT("image/png"),
                                     .data = wbi_str_make(data, most + over)};
        struct wbi_str item =
            encode_one(&call, (struct wbi_wire_answer){.parts = &part, .parts_n = 1});

        assert_true((wbi_str_find(item, WBI_LIT("\"type\":\"image\"")) < item.n) == (over == 0));
        assert_true((item.n < 400) == (over > 0));
    }
}

static void a_block_is_what_its_members_say(void **state)
{
    struct wbi_wire_part part;

    (void)state;
    assert_false(wbi_wire_part_read(parse("[\"type\",\"text\"]"), &part));
    assert_false(wbi_wire_part_read(parse("{\"text\":\"a\"}"), &part));
    assert_false(wbi_wire_part_read(parse("{\"type\":123456789012345678901234567890}"), &part));
    assert_true(wbi_wire_part_read(parse("{\"date\":\"x\",\"text\":\"\",\"data\":1,\"urn\":\"x\","
                                         "\"mimetype\":\"x\",\"type\":\"text\"}"),
                                   &part));
    assert_int_equal(part.type, WBI_PART_TEXT);
    assert_true(part.text.p != NULL && part.text.n == 0);
    assert_true(part.data.p == NULL && part.uri.p == NULL && part.mime.p == NULL);
    assert_true(wbi_wire_part_read(parse("{\"uri\":\"u\",\"name\":\"n\",\"mimeType\":\"m\","
                                         "\"data\":\"d\",\"type\":\"resource_link\"}"),
                                   &part));
    assert_int_equal(part.type, WBI_PART_LINK);
    assert_str(part.uri, "u");
    assert_str(part.name, "n");
    assert_str(part.mime, "m");
    assert_str(part.data, "d");
    assert_true(wbi_wire_part_read(parse("{\"type\":\"new\",\"name\":\"n\"}"), &part));
    assert_int_equal(part.type, WBI_PART_OTHER);
    assert_str(part.name, "new"); /* what it is, for want of a better word */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_block_is_what_its_members_say),
        T(anthropic_takes_images_up_to_five_mebibytes),
        T(all_providers_mean_the_same_call_and_carry_the_same_text),
        T(a_function_name_that_parses_as_an_mcp_tool_becomes_an_mcp_call),
        T(every_item_gives_call_id_tool_name_and_payload),
        T(a_failure_is_an_ordinary_output_without_a_success_member),
        T(lines_that_belong_to_no_provider),
        T(providers_have_names),
        T(what_is_no_call_is_an_error_that_says_what_would_be),
        T(the_last_call_of_a_message_that_was_cut_counts_as_cut),
        T(a_call_that_is_still_being_written_is_none_yet),
        T(damaged_items_end_in_one_output_or_one_clear_error),
        T(little_memory_is_an_error_not_a_crash),
        T(a_full_buffer_is_an_error),
    };

    return cmocka_run_group_tests_name("wire/wire", tests, NULL, NULL);
}
