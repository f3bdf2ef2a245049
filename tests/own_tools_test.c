/* SPDX-License-Identifier: Apache-2.0
 * tests/own_tools_test.c: tools and families of a host in a workspace: output that is too
 * long to be a value, what projectors keep, and what renderers show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>

#include "waybill/waybill.h"
#include "workspace.h"

#define MIB ((size_t)1024 * 1024)

static struct workspace ws;

static wb_runtime *open_runtime(void)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime;

    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, ws.root), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    wb_options_free(o);
    return runtime;
}

static wb_result *call(wb_runtime *runtime, const char *tool)
{
    wb_request *request = wb_request_new(tool);
    wb_result *result = NULL;

    assert_int_equal(wb_call_run(runtime, request, &result), WB_OK);
    wb_request_free(request);
    return result;
}

/* ---- what a tool knows of its call ---- */

static char told[600];

static void tell(wb_tool_call *tool_call, void *arg)
{
    static const wb_field fields[] = {WB_FIELD_INPUT,
                                      WB_FIELD_CORRELATION_ID,
                                      WB_FIELD_CAUSATION_ID,
                                      WB_FIELD_CALL_ID,
                                      WB_FIELD_IDEMPOTENCY_KEY,
                                      WB_FIELD_CONVERSATION_ID,
                                      WB_FIELD_TURN_ID,
                                      WB_FIELD_PRINCIPAL,
                                      WB_FIELD_PROVIDER,
                                      WB_FIELD_MODEL,
                                      WB_FIELD_HEADERS,
                                      WB_FIELD_METADATA,
                                      WB_FIELD_MAX_TOKENS,
                                      WB_FIELD_LENIENT,
                                      WB_FIELD_HEARTBEAT_MS,
                                      (wb_field)0,
                                      (wb_field)99};
    int64_t left = wb_tool_call_left_ms(tool_call);
    size_t n = 0;

    (void)arg;
    assert_int_equal(strncmp(wb_tool_call_id(tool_call), "call_", 5), 0);
    assert_true(left > 0 && left <= 90000);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        n += (size_t)snprintf(told + n, sizeof(told) - n, "%s|",
                              wb_tool_call_field(tool_call, fields[i]));
    assert_true(n < sizeof(told));
    wb_tool_finish_json(tool_call, "{}", 2);
}

static wb_runtime *open_telling(void)
{
    wb_runtime *runtime = open_runtime();

    assert_int_equal(wb_tool_register(runtime,
                                      "{\"name\":\"tell\",\"effect\":\"IdempotentWrite\","
                                      "\"timeoutMs\":90000}",
                                      NULL, tell, NULL, NULL, NULL),
                     WB_OK);
    return runtime;
}

/* C8.6: an effect is written once per key, so the tool has to know the key; and S1's
 * invocation is what it is asked with. */
static void a_tool_knows_what_it_was_asked_with(void **state)
{
    static const struct {
        wb_field field;
        const char *value;
    } given[] = {{WB_FIELD_INPUT, "{\"a\":1}"},
                 {WB_FIELD_CORRELATION_ID, "cor"},
                 {WB_FIELD_CAUSATION_ID, "cause"},
                 {WB_FIELD_CALL_ID, "id"},
                 {WB_FIELD_IDEMPOTENCY_KEY, "key"},
                 {WB_FIELD_CONVERSATION_ID, "talk"},
                 {WB_FIELD_TURN_ID, "turn"},
                 {WB_FIELD_PRINCIPAL, "local"},
                 {WB_FIELD_PROVIDER, "p"},
                 {WB_FIELD_MODEL, "m"},
                 {WB_FIELD_HEADERS, "{\"h\":\"v\"}"},
                 {WB_FIELD_METADATA, "{\"n\":2}"},
                 {WB_FIELD_MAX_TOKENS, "300"}};
    wb_runtime *runtime = open_telling();
    wb_request *request = wb_request_new("tell");
    wb_result *result;

    (void)state;
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        assert_int_equal(wb_request_set(request, given[i].field, given[i].value), WB_OK);
    assert_int_equal(wb_call_run(runtime, request, &result), WB_OK);
    assert_string_equal(wb_result_kind(result), "");
    assert_string_equal(told, "{\"a\":1}|cor|cause|id|key|talk|turn|local|p|m|"
                              "{\"h\":\"v\"}|{\"n\":2}||||||");
    wb_result_free(result);
    wb_request_free(request);
    wb_runtime_free(runtime);
}

static void on_line(const char *line, size_t size, void *arg)
{
    (void)line;
    (void)size;
    (void)arg;
}

/* C8.6: a model names no key; the tool gets the one that stands for its call. */
static void a_tool_knows_the_key_of_a_models_call(void **state)
{
    static const char line[] =
        "{\"item\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"tell\",\"input\":{}},"
        "\"invocation\":{\"conversationId\":\"talk\",\"correlationId\":\"cor\"}}";
    wb_runtime *runtime = open_telling();
    wb_router *router;

    (void)state;
    assert_int_equal(wb_router_new(runtime, NULL, on_line, NULL, &router, NULL), WB_OK);
    assert_int_equal(wb_router_line(router, line, sizeof(line) - 1, NULL), WB_OK);
    wb_runtime_run(runtime);
    assert_string_equal(told, "{}|cor||t1|talk/t1|talk||local|anthropic|||||||||");
    wb_router_free(router);
    wb_runtime_free(runtime);
}

/* ---- long output ---- */

struct output {
    size_t size;
    char byte;
};

static void say_much(wb_tool_call *tool_call, void *arg)
{
    const struct output *o = arg;
    char *text = malloc(o->size);

    assert_non_null(text);
    memset(text, o->byte, o->size);
    wb_tool_finish_text(tool_call, text, o->size);
    free(text);
}

static wb_result *call_saying(wb_runtime *runtime, const char *descriptor, struct output *o)
{
    assert_int_equal(wb_tool_register(runtime, descriptor, NULL, say_much, NULL, o, NULL), WB_OK);
    return call(runtime, "deploy");
}

static void check_kept(struct output o)
{
    static const char sign[] = "Artifact: ";
    wb_runtime *runtime = open_runtime();
    wb_result *result =
        call_saying(runtime, "{\"name\":\"deploy\",\"effect\":\"ExternalSideEffects\"}", &o);
    const char *receipt = wb_result_view(result, WB_VIEW_RECEIPT, NULL), *at;
    char path[300];
    struct stat st;

    if (!wb_result_ok(result))
        fail_msg("%s", receipt);
    at = strstr(receipt, sign);
    assert_non_null(at);
    at += sizeof(sign) - 1;
    (void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, o.size);
    assert_non_null(strstr(wb_result_view(result, WB_VIEW_RECORD, NULL), path));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

/* C5.2, as for commands: text of any length is a success with a preview, kept whole; bytes
 * that take six each as JSON are no exception. */
static void long_text_is_kept_and_shown(void **state)
{
    (void)state;
    check_kept((struct output){.size = 65 * MIB, .byte = 'a'});
    check_kept((struct output){.size = 10 * MIB, .byte = 1});
}

/* Where it has to be a value it cannot be one; but the tool has run (C4.7). */
static void long_text_that_must_be_a_value_is_invalid_output(void **state)
{
    struct output o = {.size = 65 * MIB, .byte = 'a'};
    wb_runtime *runtime = open_runtime();
    wb_result *result = call_saying(runtime,
                                    "{\"name\":\"deploy\",\"effect\":\"ExternalSideEffects\","
                                    "\"outputSchema\":{\"type\":\"string\"}}",
                                    &o);

    (void)state;
    assert_string_equal(wb_result_kind(result), "invalid_tool_output");
    assert_non_null(strstr(wb_result_view(result, WB_VIEW_RECEIPT, NULL), "deploy ran, but"));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

/* ---- what a projector keeps ---- */

static size_t files_in(const char *dir)
{
    struct dirent *e;
    DIR *d = opendir(dir);
    size_t n = 0;

    while (d != NULL && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    if (d != NULL)
        closedir(d);
    return n;
}

static void say_nothing(wb_tool_call *tool_call, void *arg)
{
    (void)arg;
    wb_tool_finish_json(tool_call, "{}", 2);
}

/* tool.h: a role is part of a name. What is none is refused before anything is written. */
static wb_rc keep_by_roles(const char *output, size_t size, unsigned budget, wb_sink *sink,
                           wb_text *result, wb_text *summary, void *arg)
{
    static const char *const bad[] = {"",
                                      "a/b",
                                      "../x",
                                      "a-b",
                                      "coverage report",
                                      "\xe6\x97\xa5",
                                      "Coverage",
                                      ".",
                                      "a23456789012345678901234"};
    char dir[200];
    const char *path = NULL;
    size_t before;

    (void)output;
    (void)size;
    (void)budget;
    (void)arg;
    (void)snprintf(dir, sizeof(dir), "%s/artifacts", ws.state);
    assert_int_equal(wb_sink_put(sink, "coverage_1", "x", 1, &path), WB_OK);
    assert_non_null(strstr(path, "-coverage_1.log"));
    before = files_in(dir);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(wb_sink_put(sink, bad[i], "x", 1, &path), WB_EINPUT);
    assert_int_equal(files_in(dir), before);
    assert_int_equal(wb_sink_put(sink, "empty", NULL, 4, &path), WB_EMISUSE);
    wb_text_add(result, "{}", 2);
    wb_text_add(result, NULL, 4);
    wb_text_add(summary, "kept", 4);
    return WB_OK;
}

static wb_rc render_nothing(const char *canonical, size_t size, wb_text *receipt, void *arg)
{
    (void)canonical;
    (void)size;
    (void)arg;
    wb_text_section(receipt, "nothing", NULL, 4);
    wb_text_add(receipt, "kept", 4);
    return WB_OK;
}

static void roles_are_names(void **state)
{
    wb_runtime *runtime = open_runtime();
    wb_result *result;

    (void)state;
    assert_int_equal(
        wb_family_register(runtime, "keeper", keep_by_roles, render_nothing, NULL, NULL), WB_OK);
    assert_int_equal(wb_tool_register(runtime, "{\"name\":\"keep\",\"effect\":\"Pure\"}", "keeper",
                                      say_nothing, NULL, NULL, NULL),
                     WB_OK);
    result = call(runtime, "keep");
    if (!wb_result_ok(result))
        fail_msg("%s", wb_result_view(result, WB_VIEW_RECEIPT, NULL));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

/* ---- what families show ---- */

static wb_rc odd_project(const char *output, size_t size, unsigned budget, wb_sink *sink,
                         wb_text *result, wb_text *summary, void *arg)
{
    (void)budget;
    (void)sink;
    (void)arg;
    wb_text_add(result, output, size);
    wb_text_add(summary, "\033[1mall\033[0m done", 16);
    return WB_OK;
}

static wb_rc odd_render(const char *canonical, size_t size, wb_text *receipt, void *arg)
{
    static const char payload[] = "a\033[31mb\nold\rnew\xe2\x80\xae\033]0;title";

    (void)canonical;
    (void)size;
    if (arg == NULL)
        return WB_OK;
    wb_text_add(receipt, "\033[32mdone\033[0m\n", 14);
    wb_text_section(receipt, "output", payload, sizeof(payload) - 1);
    wb_text_add(receipt, "the end\n", 8);
    return WB_OK;
}

static char writes[] = "writes";

/* C6.5: what is shown obeys nothing, whoever wrote it; and no payload hides what follows it. */
static void what_a_family_shows_is_clean(void **state)
{
    wb_runtime *runtime = open_runtime();
    wb_result *result;

    (void)state;
    assert_int_equal(wb_family_register(runtime, "f", odd_project, odd_render, writes, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(runtime, "{\"name\":\"shown\",\"effect\":\"Pure\"}", "f",
                                      say_nothing, NULL, NULL, NULL),
                     WB_OK);
    result = call(runtime, "shown");
    assert_string_equal(wb_result_view(result, WB_VIEW_RECEIPT, NULL),
                        "done\noutput: (2 lines)\nab\nnew<U+202E>\nthe end");
    assert_non_null(
        strstr(wb_result_view(result, WB_VIEW_CANONICAL, NULL), "\"summary_text\":\"all done\""));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

static wb_rc quote_project(const char *output, size_t size, unsigned budget, wb_sink *sink,
                           wb_text *result, wb_text *summary, void *arg)
{
    (void)output;
    (void)size;
    (void)budget;
    (void)sink;
    (void)arg;
    wb_text_add(result, "[", 1);
    wb_text_quote(result, "a\"b\\\n\xff\0", 7);
    wb_text_add(result, ",", 1);
    wb_text_quote(result, NULL, 0);
    wb_text_add(result, "]", 1);
    wb_text_add(summary, "quoted", 6);
    return WB_OK;
}

/* tool.h: a projector writes JSON; whatever bytes it has become one string of it. */
static void texts_are_quoted_for_projectors(void **state)
{
    wb_runtime *runtime = open_runtime();
    wb_result *result;

    (void)state;
    assert_int_equal(wb_family_register(runtime, "q", quote_project, odd_render, NULL, NULL),
                     WB_OK);
    assert_int_equal(wb_tool_register(runtime, "{\"name\":\"q\",\"effect\":\"Pure\"}", "q",
                                      say_nothing, NULL, NULL, NULL),
                     WB_OK);
    result = call(runtime, "q");
    assert_non_null(strstr(wb_result_view(result, WB_VIEW_CANONICAL, NULL),
                           "\"result\":[\"a\\\"b\\\\\\n\xef\xbf\xbd\\u0000\",\"\"]"));
    wb_result_free(result);
    wb_runtime_free(runtime);
}

/* C6.2: the first line states the outcome, also where the family shows nothing. */
static void an_empty_receipt_is_the_summary(void **state)
{
    wb_runtime *runtime = open_runtime();
    wb_result *result;

    (void)state;
    assert_int_equal(wb_family_register(runtime, "f", odd_project, odd_render, NULL, NULL), WB_OK);
    assert_int_equal(wb_tool_register(runtime, "{\"name\":\"shown\",\"effect\":\"Pure\"}", "f",
                                      say_nothing, NULL, NULL, NULL),
                     WB_OK);
    result = call(runtime, "shown");
    assert_true(wb_result_ok(result));
    assert_string_equal(wb_result_view(result, WB_VIEW_RECEIPT, NULL), "all done");
    wb_result_free(result);
    wb_runtime_free(runtime);
}

static int set_up(void **state)
{
    (void)state;
    ws_init(&ws);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ws_fini(&ws);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_knows_what_it_was_asked_with),
        cmocka_unit_test(a_tool_knows_the_key_of_a_models_call),
        cmocka_unit_test(long_text_is_kept_and_shown),
        cmocka_unit_test(long_text_that_must_be_a_value_is_invalid_output),
        cmocka_unit_test(roles_are_names),
        cmocka_unit_test(what_a_family_shows_is_clean),
        cmocka_unit_test(an_empty_receipt_is_the_summary),
        cmocka_unit_test(texts_are_quoted_for_projectors),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
