/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/demo_server.c: an MCP server with a fixed set of tools, resources
 * and prompts, those the official conformance suite asks for, on stdio or HTTP.
 * It stands on src/mcp and src/http alone, so that the protocol is proven apart
 * from the runtime; behind a gateway it is the fixture upstream.
 *   mcp_demo_server                       newline-framed messages on stdio
 *   mcp_demo_server --http ADDRESS:PORT   Streamable HTTP at /mcp */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "json/write.h"
#include "support/mcp_stand.h"

#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg" \
    "gg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
#define TEXT(t) "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define FORM(message, properties)               \
    "{\"mode\":\"form\",\"message\":\"" message \
    "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties "}}}"
#define STRING(name) "\"" name "\":{\"type\":\"string\"}"
#define SAMPLE(text)                                                                             \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}]," \
    "\"maxTokens\":100}"

static struct mcp_stand stand = {.name = "demo"};

/* One call that takes its time or asks back. */
struct job {
    struct wbi_mcp_request *r;
    const struct tool *tool;
    struct wbi_timer *timer;
    int step, waiting;
    struct wbi_buf said;
};

struct tool {
    const char *name;
    const char *schema; /* NULL: no arguments */
    const char *result; /* for tools that always say the same */
    void (*go)(struct job *j, const wbi_json *arguments);
};

static void finish(struct job *j, const char *result)
{
    wbi_mcp_reply(j->r, wbi_str_z(result));
    wbi_timer_free(j->timer);
    wbi_buf_fini(&j->said);
    wbi_free(j);
}

static void finish_text(struct job *j, struct wbi_str text)
{
    struct wbi_buf b;

    wbi_buf_init(&b, 64u << 20);
    wbi_buf_addz(&b, "{\"content\":[{\"type\":\"text\",\"text\":");
    wbi_json_quote(&b, text);
    wbi_buf_addz(&b, "}]}");
    wbi_mcp_reply(j->r, wbi_buf_str(&b));
    wbi_buf_fini(&b);
    wbi_timer_free(j->timer);
    wbi_buf_fini(&j->said);
    wbi_free(j);
}

/* Tools that take several steps of 50 ms. */
static void on_step(void *arg)
{
    struct job *j = arg;
    static const char *const lines[] = {"\"Tool execution started\"", "\"Tool processing data\"",
                                        "\"Tool execution completed\""};
    bool logs = j->tool->name[10] == 'w' && j->tool->name[15] == 'l';

    if (wbi_mcp_cancelled(j->r) || j->step == 3) {
        finish(j, TEXT("done"));
        return;
    }
    if (logs)
        wbi_mcp_log(j->r, WBI_LIT("info"), WBI_LIT("demo"), wbi_str_z(lines[j->step]), WBI_NONE);
    else
        wbi_mcp_progress(j->r, j->step * 50, 100, WBI_NONE, WBI_NONE);
    j->step++;
    wbi_timer_start(j->timer, 50);
}

static void go_steps(struct job *j, const wbi_json *arguments)
{
    (void)arguments;
    if (wbi_timer_new(stand.loop, on_step, j, &j->timer) != WB_OK)
        finish(j, TEXT("no timer"));
    else
        on_step(j);
}

static void on_slept(void *arg)
{
    finish(arg, TEXT("slept"));
}

static void go_slow(struct job *j, const wbi_json *arguments)
{
    int64_t ms = 0;

    (void)wbi_json_i64(wbi_json_get(arguments, "ms"), &ms);
    if (wbi_timer_new(stand.loop, on_slept, j, &j->timer) != WB_OK)
        finish(j, TEXT("no timer"));
    else
        wbi_timer_start(j->timer, ms < 30000 ? ms : 30000);
}

static void go_echo(struct job *j, const wbi_json *arguments)
{
    wbi_buf_addz(&j->said, "Echo: ");
    wbi_buf_adds(&j->said, wbi_json_get_str(arguments, "message"));
    finish_text(j, wbi_buf_str(&j->said));
}

static void go_big(struct job *j, const wbi_json *arguments)
{
    int64_t n = 0;

    (void)wbi_json_i64(wbi_json_get(arguments, "bytes"), &n);
    for (int64_t i = 0; i < n && i < 32 << 20; i++)
        wbi_buf_addc(&j->said, 'x');
    finish_text(j, wbi_buf_str(&j->said));
}

static void go_log(struct job *j, const wbi_json *arguments)
{
    (void)arguments;
    wbi_mcp_log(j->r, WBI_LIT("info"), WBI_LIT("demo"), WBI_LIT("\"a log line\""), WBI_NONE);
    finish(j, TEXT("logged"));
}

static void go_changed(struct job *j, const wbi_json *arguments)
{
    bool tools = j->tool->name[13] == 't';

    (void)arguments;
    finish(j, TEXT("changed"));
    wbi_mcp_list_changed(stand.server, tools ? WBI_MCP_TOOLS : WBI_MCP_PROMPTS);
}

static void ask_round(struct job *j);

static void on_answer(void *arg, const wbi_json *answer, bool is_error)
{
    struct job *j = arg;
    const char *legacy;

    if (answer == NULL)
        return; /* the request was answered, and the job with it */
    legacy = j->tool->name;
    if (j->said.n == 0 && wbi_str_eqz(wbi_str_z(legacy), "test_sampling"))
        wbi_buf_addz(&j->said, "LLM response: ");
    else if (j->said.n == 0)
        wbi_buf_addz(&j->said, "Elicitation completed: ");
    if (is_error)
        wbi_buf_addz(&j->said, "error ");
    if (wbi_json_get_str(answer, "action").p != NULL) {
        wbi_buf_addf(&j->said,
                     "action=%.*s, content=", WBI_FMT(wbi_json_get_str(answer, "action")));
        wbi_json_write(&j->said, wbi_json_get(answer, "content"));
    } else if (wbi_json_get_str(wbi_json_get(answer, "content"), "text").p != NULL) {
        wbi_buf_adds(&j->said, wbi_json_get_str(wbi_json_get(answer, "content"), "text"));
    } else {
        wbi_json_write(&j->said, answer);
    }
    if (--j->waiting > 0)
        return;
    j->step++;
    ask_round(j);
}

struct question {
    const char *tool;
    int round;
    const char *key, *method, *params;
};

#define ELICIT "elicitation/create"
#define CREATE "sampling/createMessage"
#define IR "test_input_required_result_"
#define CONFIRM FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}")
#define ENUM(name, rest) "\"" name "\":{\"type\":\"string\"," rest "}"

static const struct question questions[] = {
    {"test_sampling", 0, "s", CREATE, SAMPLE("Test prompt for sampling")},
    {"test_elicitation", 0, "e", ELICIT,
     FORM("Please provide your information", STRING("username") "," STRING("email"))},
    {"test_elicitation_sep1034_defaults", 0, "e", ELICIT,
     FORM("Defaults",
          "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
          "\"age\":{\"type\":\"integer\",\"default\":30},"
          "\"score\":{\"type\":\"number\",\"default\":95.5},"
          "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
          "\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":true}")},
    {"test_elicitation_sep1330_enums", 0, "e", ELICIT,
     FORM(
         "Enums",
         ENUM("untitledSingle", "\"enum\":[\"option1\",\"option2\",\"option3\"]") "," ENUM(
             "titledSingle",
             "\"oneOf\":[{\"const\":\"value1\",\"title\":\"First Option\"},"
             "{\"const\":\"value2\",\"title\":\"Second Option\"},"
             "{\"const\":\"value3\",\"title\":\"Third Option\"}]") "," ENUM("legacyEnum",
                                                                            "\"enum\":[\"opt1\","
                                                                            "\"opt2\",\"opt3\"],"
                                                                            "\"enumNames\":["
                                                                            "\"Option "
                                                                            "One\",\"Option "
                                                                            "Two\",\"Option "
                                                                            "Three\"]") ","
                                                                                        "\"untitled"
                                                                                        "Multi\":{"
                                                                                        "\"type\":"
                                                                                        "\"array\","
                                                                                        "\"items\":"
                                                                                        "{\"type\":"
                                                                                        "\"string\""
                                                                                        ","
                                                                                        "\"enum\":["
                                                                                        "\"option1"
                                                                                        "\","
                                                                                        "\"option2"
                                                                                        "\","
                                                                                        "\"option3"
                                                                                        "\"]}},"
                                                                                        "\"titledMu"
                                                                                        "lti\":{"
                                                                                        "\"type\":"
                                                                                        "\"array\","
                                                                                        "\"items\":"
                                                                                        "{\"anyOf\""
                                                                                        ":["
                                                                                        "{\"const\""
                                                                                        ":\"value1"
                                                                                        "\","
                                                                                        "\"title\":"
                                                                                        "\"First "
                                                                                        "Choice\"},"
                                                                                        "{\"const\""
                                                                                        ":\"value2"
                                                                                        "\","
                                                                                        "\"title\":"
                                                                                        "\"Second "
                                                                                        "Choice\"},"
                                                                                        "{\"const\""
                                                                                        ":\"value3"
                                                                                        "\","
                                                                                        "\"title\":"
                                                                                        "\"Third "
                                                                                        "Choice\"}]"
                                                                                        "}}")},
    {"test_missing_capability", 0, "s", CREATE, SAMPLE("hello")},
    {"test_streaming_elicitation", 0, "who", ELICIT, FORM("Who?", STRING("name"))},
    {IR "elicitation", 0, "user_name", ELICIT, FORM("What is your name?", STRING("name"))},
    {IR "sampling", 0, "capital_question", CREATE, SAMPLE("What is the capital of France?")},
    {IR "list_roots", 0, "client_roots", "roots/list", "{}"},
    {IR "request_state", 0, "confirm", ELICIT, CONFIRM},
    {IR "tampered_state", 0, "confirm", ELICIT, CONFIRM},
    {IR "multiple_inputs", 0, "user_name", ELICIT, FORM("What is your name?", STRING("name"))},
    {IR "multiple_inputs", 0, "greeting", CREATE, SAMPLE("Generate a greeting")},
    {IR "multiple_inputs", 0, "client_roots", "roots/list", "{}"},
    {IR "multi_round", 0, "step1", ELICIT, FORM("Step 1: What is your name?", STRING("name"))},
    {IR "multi_round", 1, "step2", ELICIT,
     FORM("Step 2: What is your favorite color?", STRING("color"))},
    {IR "capabilities", 0, "s", CREATE, SAMPLE("hello")},
    {IR "capabilities", 0, "e", ELICIT, FORM("hello", STRING("name"))},
    {IR "capabilities", 0, "r", "roots/list", "{}"},
    {IR "prompt", 0, "user_context", ELICIT,
     FORM("What context should the prompt use?", STRING("context"))},
};

static void end_questions(struct job *j)
{
    struct wbi_str name = wbi_str_z(j->tool->name);

    if (wbi_str_eqz(name, IR "prompt")) {
        struct wbi_buf b;

        wbi_buf_init(&b, 1u << 20);
        wbi_buf_addz(&b, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                         "\"text\":");
        wbi_json_quote(&b, wbi_buf_str(&j->said));
        wbi_buf_addz(&b, "}}]}");
        wbi_mcp_reply(j->r, wbi_buf_str(&b));
        wbi_buf_fini(&b);
        wbi_buf_fini(&j->said);
        wbi_free(j);
        return;
    }
    if (wbi_str_eqz(name, IR "request_state") || wbi_str_eqz(name, IR "tampered_state"))
        wbi_buf_addz(&j->said, " state-ok");
    finish_text(j, j->said.n > 0 ? wbi_buf_str(&j->said) : WBI_LIT("ok"));
}

/* Ask everything of this round; a client that cannot be asked gets an error,
 * unless the tool asks only for what is there. */
static void ask_round(struct job *j)
{
    bool optional = wbi_str_eqz(wbi_str_z(j->tool->name), IR "capabilities");

    for (size_t i = 0; i < WBI_COUNT(questions); i++) {
        const struct question *q = &questions[i];
        struct wbi_str method = wbi_str_z(q->method);

        if (q->round != j->step || !wbi_str_eqz(wbi_str_z(q->tool), j->tool->name))
            continue;
        if (wbi_mcp_ask(j->r, wbi_str_z(q->key), method, wbi_str_z(q->params), on_answer, j) ==
            WB_OK) {
            j->waiting++;
        } else if (!optional) {
            wbi_mcp_fail_able(j->r, wbi_mcp_required(method, NULL));
            wbi_buf_fini(&j->said);
            wbi_free(j);
            return;
        }
    }
    if (j->waiting == 0)
        end_questions(j);
}

static void go_ask(struct job *j, const wbi_json *arguments)
{
    (void)arguments;
    ask_round(j);
}

#define ARG(name, type)                                                   \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"" type \
    "\"}},\"required\":[\"" name "\"]}"
#define SCHEMA_2020                                                                           \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","      \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{" \
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{"     \
    "\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"              \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                 \
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"                       \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"        \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                       \
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"                  \
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

static const struct tool tools[] = {
    {"echo", ARG("message", "string"), NULL, go_echo},
    {"slow", ARG("ms", "integer"), NULL, go_slow},
    {"big", ARG("bytes", "integer"), NULL, go_big},
    {"test_simple_text", NULL, TEXT("This is a simple text response for testing."), NULL},
    {"test_image_content", NULL, "{\"content\":[" IMAGE "]}", NULL},
    {"test_audio_content", NULL,
     "{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]}", NULL},
    {"test_embedded_resource", NULL,
     "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
     "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]}",
     NULL},
    {"test_multiple_content_types", NULL,
     "{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"}," IMAGE
     ",{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
     "\"mimeType\":\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\""
     "}}]}",
     NULL},
    {"test_error_handling", NULL,
     "{\"isError\":true,\"content\":[{\"type\":\"text\","
     "\"text\":\"This tool intentionally returns an error for testing\"}]}",
     NULL},
    {"test_tool_with_logging", NULL, NULL, go_steps},
    {"test_tool_with_progress", NULL, NULL, go_steps},
    {"test_reconnection", NULL, TEXT("Reconnection test completed"), NULL},
    {"test_logging_tool", NULL, NULL, go_log},
    {"test_sampling", ARG("prompt", "string"), NULL, go_ask},
    {"test_elicitation", ARG("message", "string"), NULL, go_ask},
    {"test_elicitation_sep1034_defaults", NULL, NULL, go_ask},
    {"test_elicitation_sep1330_enums", NULL, NULL, go_ask},
    {"test_missing_capability", NULL, NULL, go_ask},
    {"test_streaming_elicitation", NULL, NULL, go_ask},
    {"test_trigger_tool_change", NULL, NULL, go_changed},
    {"test_trigger_prompt_change", NULL, NULL, go_changed},
    {IR "elicitation", NULL, NULL, go_ask},
    {IR "sampling", NULL, NULL, go_ask},
    {IR "list_roots", NULL, NULL, go_ask},
    {IR "request_state", NULL, NULL, go_ask},
    {IR "tampered_state", NULL, NULL, go_ask},
    {IR "multiple_inputs", NULL, NULL, go_ask},
    {IR "multi_round", NULL, NULL, go_ask},
    {IR "capabilities", NULL, NULL, go_ask},
    {"test_header_param",
     "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
     "\"x-mcp-header\":\"Region\"}}}",
     TEXT("ok"), NULL},
    {"json_schema_2020_12_tool", SCHEMA_2020, TEXT("ok"), NULL},
};
static const struct tool asking_prompt = {IR "prompt", NULL, NULL, go_ask};

static void start_job(struct wbi_mcp_request *r, const struct tool *tool, const wbi_json *arguments)
{
    struct job *j = wbi_zalloc(sizeof(*j));

    if (j == NULL) {
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("out of memory"), WBI_NONE);
        return;
    }
    j->r = r;
    j->tool = tool;
    wbi_buf_init(&j->said, 64u << 20);
    wbi_mcp_set_user(r, j);
    tool->go(j, arguments);
}

static const struct tool *find_tool(struct wbi_str name)
{
    for (size_t i = 0; i < WBI_COUNT(tools); i++) {
        if (wbi_str_eqz(name, tools[i].name))
            return &tools[i];
    }
    return NULL;
}

static const wbi_json *on_schema(void *arg, struct wbi_mcp_request *r, struct wbi_str name,
                                 bool *ret_unknown)
{
    const struct tool *tool = find_tool(name);
    const wbi_json *schema = NULL;

    (void)arg;
    *ret_unknown = false;
    if (tool == NULL || tool->schema == NULL ||
        wbi_json_read(wbi_mcp_arena(r), wbi_str_z(tool->schema), 0, &schema, NULL) != WB_OK)
        return NULL;
    return schema;
}

static void on_call(void *arg, struct wbi_mcp_request *r, struct wbi_str name,
                    const wbi_json *arguments)
{
    const struct tool *tool = find_tool(name);

    (void)arg;
    if (tool != NULL && tool->result != NULL)
        wbi_mcp_reply(r, wbi_str_z(tool->result));
    else if (tool != NULL)
        start_job(r, tool, arguments);
    else
        wbi_mcp_fail(r, WBI_RPC_PARAMS,
                     wbi_arena_fmt(wbi_mcp_arena(r), "Unknown tool: %.*s", WBI_FMT(name)),
                     WBI_NONE);
}

static void on_cancel(void *arg, struct wbi_mcp_request *r)
{
    struct job *j = wbi_mcp_user(r);

    (void)arg;
    if (j != NULL)
        finish(j, TEXT("cancelled"));
}

static const char prompts[] =
    "[{\"name\":\"test_simple_prompt\",\"description\":\"A prompt\"},"
    "{\"name\":\"test_prompt_with_arguments\",\"description\":\"Takes two\",\"arguments\":["
    "{\"name\":\"arg1\",\"description\":\"first\",\"required\":true},"
    "{\"name\":\"arg2\",\"description\":\"second\",\"required\":true}]},"
    "{\"name\":\"test_prompt_with_embedded_resource\",\"description\":\"With a resource\","
    "\"arguments\":[{\"name\":\"resourceUri\",\"description\":\"which\",\"required\":true}]},"
    "{\"name\":\"test_prompt_with_image\",\"description\":\"With an image\"},"
    "{\"name\":\"" IR "prompt\",\"description\":\"Asks back\"}]";

static const char resources[] =
    "[{\"uri\":\"test://static-text\",\"name\":\"static-text\",\"mimeType\":\"text/plain\"},"
    "{\"uri\":\"test://static-binary\",\"name\":\"static-binary\",\"mimeType\":\"image/png\"},"
    "{\"uri\":\"test://watched-resource\",\"name\":\"watched-resource\","
    "\"mimeType\":\"text/plain\"}]";

static void on_list(void *arg, struct wbi_mcp_request *r, enum wbi_mcp_list what)
{
    struct wbi_buf b;

    (void)arg;
    wbi_buf_init(&b, 1u << 20);
    if (what == WBI_MCP_PROMPTS)
        wbi_buf_addz(&b, prompts);
    if (what == WBI_MCP_RESOURCES)
        wbi_buf_addz(&b, resources);
    if (what == WBI_MCP_TEMPLATES)
        wbi_buf_addz(&b, "[{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"template\","
                         "\"mimeType\":\"application/json\"}]");
    for (size_t i = 0; what == WBI_MCP_TOOLS && i < WBI_COUNT(tools); i++) {
        wbi_buf_addf(&b, "%c{\"name\":\"%s\",\"description\":\"Fixture tool\",\"inputSchema\":%s}",
                     i == 0 ? '[' : ',', tools[i].name,
                     tools[i].schema != NULL ? tools[i].schema
                                             : "{\"type\":\"object\",\"properties\":{}}");
    }
    if (what == WBI_MCP_TOOLS)
        wbi_buf_addc(&b, ']');
    wbi_mcp_reply_list(r, wbi_buf_str(&b));
    wbi_buf_fini(&b);
}

static void on_prompt(void *arg, struct wbi_mcp_request *r, struct wbi_str name,
                      const wbi_json *arguments)
{
    struct wbi_buf b;

    (void)arg;
    if (wbi_str_eqz(name, asking_prompt.name)) {
        start_job(r, &asking_prompt, arguments);
        return;
    }
    wbi_buf_init(&b, 1u << 20);
    wbi_buf_addz(&b, "{\"messages\":[{\"role\":\"user\",\"content\":");
    if (wbi_str_eqz(name, "test_simple_prompt")) {
        wbi_buf_addz(&b, "{\"type\":\"text\",\"text\":\"This is a simple prompt for testing.\"}");
    } else if (wbi_str_eqz(name, "test_prompt_with_arguments")) {
        struct wbi_str text =
            wbi_arena_fmt(wbi_mcp_arena(r), "Prompt with arguments: arg1='%.*s', arg2='%.*s'",
                          WBI_FMT(wbi_json_get_str(arguments, "arg1")),
                          WBI_FMT(wbi_json_get_str(arguments, "arg2")));
        wbi_buf_addz(&b, "{\"type\":\"text\",\"text\":");
        wbi_json_quote(&b, text);
        wbi_buf_addc(&b, '}');
    } else if (wbi_str_eqz(name, "test_prompt_with_embedded_resource")) {
        wbi_buf_addz(&b, "{\"type\":\"resource\",\"resource\":{\"uri\":");
        wbi_json_quote(&b, wbi_json_get_str(arguments, "resourceUri"));
        wbi_buf_addz(&b, ",\"mimeType\":\"text/plain\","
                         "\"text\":\"Embedded resource content for testing.\"}}},"
                         "{\"role\":\"user\",\"content\":{\"type\":\"text\","
                         "\"text\":\"Please process the embedded resource above.\"}");
    } else if (wbi_str_eqz(name, "test_prompt_with_image")) {
        wbi_buf_addz(&b, IMAGE "},{\"role\":\"user\",\"content\":{\"type\":\"text\","
                               "\"text\":\"Please analyze the image above.\"}");
    } else {
        wbi_mcp_fail(r, WBI_RPC_PARAMS, WBI_LIT("Unknown prompt"), WBI_NONE);
        wbi_buf_fini(&b);
        return;
    }
    wbi_buf_addz(&b, "}]}");
    wbi_mcp_reply(r, wbi_buf_str(&b));
    wbi_buf_fini(&b);
}

static void on_read(void *arg, struct wbi_mcp_request *r, struct wbi_str uri)
{
    static const struct wbi_str head = WBI_LIT_INIT("test://template/"),
                                tail = WBI_LIT_INIT("/data");
    struct wbi_str id;

    (void)arg;
#define CONTENTS(uri, type, body) \
    "{\"contents\":[{\"uri\":\"" uri "\",\"mimeType\":\"" type "\"," body "}]}"
    if (wbi_str_eqz(uri, "test://static-text")) {
        wbi_mcp_reply(
            r, WBI_LIT(CONTENTS("test://static-text", "text/plain",
                                "\"text\":\"This is the content of the static text resource.\"")));
    } else if (wbi_str_eqz(uri, "test://static-binary")) {
        wbi_mcp_reply(
            r, WBI_LIT(CONTENTS("test://static-binary", "image/png", "\"blob\":\"" PNG "\"")));
    } else if (wbi_str_eqz(uri, "test://watched-resource")) {
        wbi_mcp_reply(
            r, WBI_LIT(CONTENTS("test://watched-resource", "text/plain", "\"text\":\"watched\"")));
    } else if (wbi_str_starts(uri, head) && wbi_str_ends(uri, tail) && uri.n > head.n + tail.n) {
        id = wbi_str_make(uri.p + head.n, uri.n - head.n - tail.n);
        wbi_mcp_reply(r, wbi_arena_fmt(wbi_mcp_arena(r),
                                       CONTENTS("test://template/%.*s/data", "application/json",
                                                "\"text\":\"{\\\"id\\\":\\\"%.*s\\\","
                                                "\\\"templateTest\\\":true}\""),
                                       WBI_FMT(id), WBI_FMT(id)));
    } else {
        wbi_mcp_fail_resource(r, uri);
    }
}

static void on_complete(void *arg, struct wbi_mcp_request *r, const wbi_json *params)
{
    (void)arg;
    (void)params;
    wbi_mcp_reply(r, WBI_LIT("{\"completion\":{\"values\":[\"paris\",\"park\",\"party\"],"
                             "\"total\":3,\"hasMore\":false}}"));
}

int main(int argc, char **argv)
{
    static const struct wbi_mcp_ops ops = {.list = on_list,
                                           .call = on_call,
                                           .read = on_read,
                                           .prompt = on_prompt,
                                           .complete = on_complete,
                                           .cancel = on_cancel,
                                           .schema = on_schema};
    struct wbi_mcp_options options = {
        .name = "waybill-demo", .version = "1.0.0", .shared_lists = true};
    const char *address = argc == 3 && strcmp(argv[1], "--http") == 0 ? argv[2] : NULL;
    struct wbi_error err = WBI_ERROR_INIT;

    if (mcp_stand_open(&stand, address, &options, &ops, &err) != WB_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 3;
    }
    mcp_stand_run(&stand);
    mcp_stand_free(&stand);
    return 0;
}
