/* SPDX-License-Identifier: Apache-2.0
 * family/envelope_test.c: the "__envelope" key. Quotes are sentences of seed 004;
 * W and N are the checklists of the research on it (C4.3). What the seed shows
 * in another language's code is here the same operation with the same data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "family/envelope.h"

static struct wbi_arena *arena;
static struct wbi_buf out;
static struct wbi_clock_manual noon = {0, INT64_C(1794744000000)};
static struct wbi_clock at_noon;

#define NOON "2026-11-15T12:00:00.000Z"

static int set_up(void **state)
{
    (void)state;
    at_noon = wbi_clock_by_hand(&noon);
    wbi_buf_init(&out, 1 << 20);
    return wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_buf_fini(&out);
    wbi_arena_free(arena);
    return 0;
}

static const wbi_json *json(const char *text)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;

    if (wbi_json_read(arena, wbi_str_z(text), WBI_JSON_STRICT, &v, &err) != WB_OK)
        fail_msg("%s: %s", text, err.text);
    return v;
}

static const wbi_json *written(void)
{
    return json(out.p);
}

static void assert_attach(const char *root, const struct wbi_envelope *env, const char *expected)
{
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_attach(json(root), env, &out, NULL), WB_OK);
    assert_string_equal(out.p, expected);
}

static void assert_ensure(const char *root, const struct wbi_envelope *env, const char *expected)
{
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_ensure(json(root), env, &out, NULL), WB_OK);
    assert_string_equal(out.p, expected);
}

static void assert_payload(const char *root, const char *expected)
{
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *v = NULL;
    wb_rc rc = wbi_envelope_payload(json(root), &v, &err);

    if (expected == NULL) {
        assert_int_equal(rc, WB_ENOTFOUND);
        assert_null(v);
        return;
    }
    if (rc != WB_OK)
        fail_msg("%s: %s", root, err.text);
    wbi_buf_clear(&out);
    wbi_json_write(&out, v);
    assert_string_equal(out.p, expected);
}

/* "1. Build a `JObject` as the root for your tool result payload."
 * "2. Put the actual data at a predictable key (e.g., `result`, `list`, or a domain-specific key)."
 * "3. Attach the envelope with metadata."
 * "4. Add the tool result to the interaction stream via `AIBody.AddInteractionToolResult(...)`."
 * "Typical usage inside a tool implementation:" and its sample, whole: result =
 * generatedText; Create(tool: "text_generate", provider, model, contentType: Text,
 * payloadPath: "result"); WithEnvelope. The stream of step 4 is here the root
 * itself, which the caller sends on: what is attached is what it gets.
 * "Attach under "__envelope""
 * "tool: string. Tool name (e.g., "text_generate", "list_generate", "img_generate")."
 * "provider: string. Provider name (e.g., "OpenAI", "MistralAI", "DeepSeek")."
 * "model: string. Model used."
 * "Shorthands available in `ToolResultEnvelopeExtensions`:" are wbi_envelope_attach, _ensure, _get,
 * _payload and _wrap, each with its test below. "See `…/ToolResultEnvelope.cs` for the
 * authoritative implementation and `…/ToolResultEnvelopeExtensions.cs` for convenience helpers."
 * names code of another project; where it and the document differ the document holds (C4.3). The
 * tools under "Examples in repo" (text_generate, list_generate, img_generate) are those used here.
 */
static void the_sample_of_the_seed(void **state)
{
    struct wbi_envelope env = {.tool = WBI_LIT("text_generate"),
                               .provider = WBI_LIT("OpenAI"),
                               .model = WBI_LIT("gpt-5"),
                               .content_type = WBI_CONTENT_TEXT,
                               .payload_path = WBI_LIT("result"),
                               .clock = &at_noon};

    (void)state;
    assert_attach("{\"result\":\"generated text\"}", &env,
                  "{\"result\":\"generated text\",\"__envelope\":{\"version\":\"1.0\","
                  "\"tool\":\"text_generate\",\"provider\":\"OpenAI\",\"model\":\"gpt-5\","
                  "\"contentType\":\"Text\",\"payloadPath\":\"result\","
                  "\"createdAt\":\"" NOON "\",\"tags\":[]}}");
    assert_payload(out.p, "\"generated text\"");
}

/* "Schema (fields in "__envelope")", each with its type:
 * "version: string. Envelope semver (e.g., "1.0")."
 * "toolCallId: string. Correlates to the tool call, when available."
 * "contentType: enum ToolResultContentType. One of: Unknown, Text, List, Object, Image, Binary."
 * "schemaRef: string. Optional JSON Schema reference (URL or in-repo path)."
 * "compat: object. Optional compatibility keys for downstream logic."
 * "createdAt: string. ISO timestamp."
 * "tags: array of strings. Arbitrary labels to help catalog results."
 * "Use `schemaRef` for linking a JSON Schema when structured output is expected."
 * "Use `tags` to add optional categorization or hints."
 * "Use `compat` for feature flags or migration aids when evolving consumers."
 * "Traceability: Tracks tool, provider, model, and tool call identifiers." */
static void every_field_is_written(void **state)
{
    static const struct wbi_envelope_pair compat[] = {{WBI_LIT_INIT("b"), WBI_LIT_INIT("2")},
                                                      {WBI_LIT_INIT("a"), WBI_LIT_INIT("x\"y")}};
    static const struct wbi_str tags[] = {WBI_LIT_INIT("z"), WBI_LIT_INIT("a")};
    struct wbi_envelope env = {.tool = WBI_LIT("local::list_generate"),
                               .provider = WBI_LIT("MistralAI"),
                               .model = WBI_LIT("m"),
                               .tool_call_id = WBI_LIT("call_1"),
                               .content_type = WBI_CONTENT_LIST,
                               .payload_path = WBI_LIT("list"),
                               .schema_ref = WBI_LIT("https://example.com/s.json"),
                               .compat = compat,
                               .compat_n = 2,
                               .created_at = WBI_LIT("2026-01-02T03:04:05Z"),
                               .tags = tags,
                               .tags_n = 2};
    struct wbi_envelope_view view;

    (void)state;
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_OK);
    assert_string_equal(out.p,
                        "{\"version\":\"1.0\",\"tool\":\"local::list_generate\","
                        "\"provider\":\"MistralAI\",\"model\":\"m\","
                        "\"toolCallId\":\"call_1\",\"contentType\":\"List\","
                        "\"payloadPath\":\"list\",\"schemaRef\":\"https://example.com/s.json\","
                        "\"compat\":{\"b\":\"2\",\"a\":\"x\\\"y\"},"
                        "\"createdAt\":\"2026-01-02T03:04:05Z\",\"tags\":[\"z\",\"a\"]}");
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_attach(json("{\"list\":[]}"), &env, &out, NULL), WB_OK);
    assert_int_equal(wbi_envelope_view(written(), &view, NULL), WB_OK);
    assert_true(wbi_str_eqz(view.version, "1.0"));
    assert_true(wbi_str_eq(view.tool, env.tool));
    assert_true(wbi_str_eq(view.provider, env.provider));
    assert_true(wbi_str_eq(view.model, env.model));
    assert_true(wbi_str_eq(view.tool_call_id, env.tool_call_id));
    assert_int_equal(view.content_type, WBI_CONTENT_LIST);
    assert_true(wbi_str_eq(view.payload_path, env.payload_path));
    assert_true(wbi_str_eq(view.schema_ref, env.schema_ref));
    assert_true(wbi_str_eq(view.created_at, env.created_at));
    assert_int_equal(wbi_json_count(view.compat), 2);
    assert_int_equal(wbi_json_count(view.tags), 2);
}

/* "payloadPath: string. Path to the payload relative to the root (defaults to "result")."
 * "Payload remains at your chosen key (default "result")"
 * N1: a blank payloadPath is "result". */
static void an_envelope_has_defaults(void **state)
{
    struct wbi_envelope env = {.payload_path = WBI_LIT("  ")};
    const char *expected = "{\"version\":\"1.0\",\"contentType\":\"Unknown\","
                           "\"payloadPath\":\"result\",\"tags\":[]}";

    (void)state;
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_OK);
    assert_string_equal(out.p, expected);
    env.payload_path = WBI_NONE;
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_OK);
    assert_string_equal(out.p, expected);
}

/* "Use `ToolResultContentType` to classify payloads:"
 * "Text: single string value under "result""
 * "List: array under "list" or a result that is a list"
 * "Object: structured JSON object"
 * "Image: image URL/base64 or a bitmap-like object"
 * "Binary: opaque bytes or binary-like structure"
 * W10: a mismatch is a warning, not a failure. */
static void content_types_classify(void **state)
{
    static const struct {
        const char *root;
        const char *type;
    } cases[] = {
        {"{\"result\":\"words\"}", "Text"},   {"{\"list\":[1,2]}", "List"},
        {"{\"result\":[1,2]}", "List"},       {"{\"result\":{\"a\":1}}", "Object"},
        {"{\"result\":7}", "Unknown"},        {"{\"result\":null}", "Unknown"},
        {"{\"other\":\"words\"}", "Unknown"}, {"{\"items\":[]}", "List"},
    };
    static const char *const names[] = {"Unknown", "Text", "List", "Object", "Image", "Binary"};
    static const char *const shapes[] = {"\"https://example.com/i.png\"", "\"iVBORw0KGgo=\"",
                                         "{\"width\":1,\"height\":1,\"data\":\"AA==\"}",
                                         "[137,80,78,71]"};
    struct wbi_envelope env = {.content_type = WBI_CONTENT_INFER};
    enum wbi_content_type type;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wbi_buf_clear(&out);
        assert_int_equal(wbi_envelope_attach(json(cases[i].root), &env, &out, NULL), WB_OK);
        assert_true(wbi_str_eqz(
            wbi_json_get_str(wbi_json_get(written(), "__envelope"), "contentType"), cases[i].type));
    }
    for (size_t i = 0; i < 6; i++) {
        assert_true(wbi_content_type_by_name(wbi_str_z(names[i]), &type));
        assert_string_equal(wbi_content_type_name(type), names[i]);
    }
    assert_false(wbi_content_type_by_name(WBI_LIT("Video"), &type));
    env.content_type = WBI_CONTENT_IMAGE; /* an image's URL is a string all the same */
    assert_attach("{\"result\":\"https://example.com/i.png\"}", &env,
                  "{\"result\":\"https://example.com/i.png\",\"__envelope\":{\"version\":\"1.0\","
                  "\"contentType\":\"Image\",\"payloadPath\":\"result\",\"tags\":[]}}");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        assert_true(wbi_content_type_fits(WBI_CONTENT_IMAGE, json(shapes[i])));
        assert_true(wbi_content_type_fits(WBI_CONTENT_BINARY, json(shapes[i])));
    }
    env.content_type = WBI_CONTENT_TEXT;
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_attach(json("{\"result\":[1]}"), &env, &out, NULL), WB_OK);
    assert_false(wbi_content_type_fits(WBI_CONTENT_TEXT, json("[1]")));
    assert_true(wbi_content_type_fits(WBI_CONTENT_TEXT, json("\"a\"")));
    assert_true(wbi_content_type_fits(WBI_CONTENT_BINARY, json("[1]")));
    assert_true(wbi_content_type_fits(WBI_CONTENT_UNKNOWN, json("[1]")));
}

/* "A non-breaking, standardized metadata wrapper for AI tool results. It stores machine- and
 * human-friendly metadata under a reserved root key "__envelope" while leaving the actual
 * payload at predictable paths like "result" or "list"."
 * "Root reserved key: "__envelope" (JObject)"
 * "Non-breaking: Existing payloads remain under their usual keys; envelope adds metadata under a
 * reserved key."
 * "Existing tool results remain valid; envelope is additive under a reserved root key."
 * "Consumers not aware of the envelope can ignore `"__envelope"` and still read the payload keys."
 * "Prefer adding new metadata fields inside `"__envelope"` rather than altering payload shape."
 * "Envelope = metadata attached to the payload (`JObject`) under `"__envelope"`."
 * "`AddInteractionToolResult` = how the wrapped payload is appended to the conversation/interaction
 * stream." (here: the caller) "Keep using `AIBody.AddInteractionToolResult(JObject, AIMetrics?,
 * List<AIRuntimeMessage>?)`." "The envelope and `AddInteractionToolResult` are complementary:"
 * W2, W3: without "__envelope" the root is what it was, byte for byte. */
static void the_envelope_is_additive(void **state)
{
    static const char *const roots[] = {
        "{\"result\":\"a\",\"list\":[1,{\"deep\":[null,true,0.5]}],\"messages\":[\"m\"]}", "{}",
        "{\"\":0,\"envelope\":{},\"_envelope\":1}"};
    struct wbi_envelope env = {.tool = WBI_LIT("t"), .clock = &at_noon};
    struct wbi_buf without;

    (void)state;
    wbi_buf_init(&without, 1 << 16);
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        struct wbi_jw w = wbi_jw_to(&without);
        const wbi_json *root;

        wbi_buf_clear(&out);
        wbi_buf_clear(&without);
        assert_int_equal(wbi_envelope_attach(json(roots[i]), &env, &out, NULL), WB_OK);
        root = written();
        assert_true(wbi_json_is(wbi_json_get(root, "__envelope"), WBI_JSON_OBJ));
        wbi_jw_obj(&w);
        WBI_JSON_EACH_MEMBER (root, k) {
            if (wbi_str_eqz(wbi_json_str(k), "__envelope"))
                continue;
            wbi_jw_keyn(&w, wbi_json_str(k));
            wbi_jw_val(&w, k_val);
        }
        wbi_jw_obj_end(&w);
        assert_string_equal(without.p, roots[i]);
    }
    wbi_buf_fini(&without);
}

/* "`root.WithEnvelope(envelope)`": N2 (place kept) and I3: "`attach` replaces a valid envelope and
 * keeps unknown members". */
static void attach_replaces_and_keeps_what_it_does_not_know(void **state)
{
    struct wbi_envelope env = {.tool = WBI_LIT("new")};

    (void)state;
    assert_attach("{\"__envelope\":{\"tool\":\"old\",\"model\":\"gone\",\"createdUtc\":\"2020\","
                  "\"compat\":[\"x\"],\"messages\":[{\"text\":\"kept\"}],\"future\":1},"
                  "\"result\":\"a\"}",
                  &env,
                  "{\"__envelope\":{\"version\":\"1.0\",\"tool\":\"new\",\"contentType\":\"Text\","
                  "\"payloadPath\":\"result\",\"tags\":[],\"messages\":[{\"text\":\"kept\"}],"
                  "\"future\":1},\"result\":\"a\"}");
}

/* "`root.EnsureEnvelope(tool, type, payloadPath)`": an existing one wins and arguments are ignored;
 * W4: twice is once, time stamp included; W5, N4 and N5: nothing is lost and compat does not grow.
 */
static void ensure_is_idempotent(void **state)
{
    struct wbi_envelope env = {.tool = WBI_LIT("t"), .clock = &at_noon};
    const char *had = "{\"result\":1,\"__envelope\":{\"compat\":[\"data\"],\"createdUtc\":"
                      "\"2020-01-01T00:00:00Z\",\"contentType\":1,\"x\":{\"y\":[]}}}";
    char once[400];

    (void)state;
    assert_ensure("{\"result\":1}", &env,
                  "{\"result\":1,\"__envelope\":{\"version\":\"1.0\",\"tool\":\"t\","
                  "\"contentType\":\"Unknown\",\"payloadPath\":\"result\",\"createdAt\":\"" NOON
                  "\",\"tags\":[]}}");
    (void)snprintf(once, sizeof(once), "%s", out.p);
    noon.wall_ms += 1000;
    env.tool = WBI_LIT("other");
    assert_ensure(once, &env, once);
    noon.wall_ms -= 1000;
    assert_ensure(had, &env, had);
    assert_ensure("{\"__envelope\":{}}", &env, "{\"__envelope\":{}}");
}

/* "`root.GetEnvelope()`": spellings of the document are written, older ones read; I3: "`get`
 * without one prints `null`"; N3: the name is case-sensitive. W14: a newer version is read. */
static void get_gives_the_envelope_in_the_documented_spelling(void **state)
{
    (void)state;
    wbi_buf_clear(&out);
    assert_int_equal(
        wbi_envelope_get(json("{\"__envelope\":{\"version\":\"2.7\",\"contentType\":2,"
                              "\"createdUtc\":\"2020-01-01T00:00:00Z\",\"compat\":[\"b\",\"a\"],"
                              "\"tags\":[\"t\"],\"unknown\":{\"k\":1}}}"),
                         &out, NULL),
        WB_OK);
    assert_string_equal(out.p, "{\"version\":\"2.7\",\"contentType\":\"List\",\"createdAt\":"
                               "\"2020-01-01T00:00:00Z\",\"compat\":[\"b\",\"a\"],\"tags\":[\"t\"],"
                               "\"unknown\":{\"k\":1}}");
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_get(json("{\"result\":1,\"__Envelope\":{}}"), &out, NULL),
                     WB_ENOTFOUND);
    assert_string_equal(out.p, "null");
}

static void odd_members_read_as_absent(void **state)
{
    struct wbi_envelope_view view;

    (void)state;
    assert_int_equal(
        wbi_envelope_view(json("{\"__envelope\":{\"tool\":5,\"contentType\":\"Hologram\","
                               "\"payloadPath\":null,\"compat\":\"x\",\"tags\":{},"
                               "\"createdUtc\":\"2020-01-01T00:00:00Z\"}}"),
                          &view, NULL),
        WB_OK);
    assert_null(view.tool.p);
    assert_null(view.compat);
    assert_null(view.tags);
    assert_int_equal(view.content_type, WBI_CONTENT_UNKNOWN);
    assert_true(wbi_str_eqz(view.payload_path, "result"));
    assert_true(wbi_str_eqz(view.created_at, "2020-01-01T00:00:00Z"));
    assert_int_equal(wbi_envelope_view(json("{\"__envelope\":{\"contentType\":9}}"), &view, NULL),
                     WB_OK);
    assert_int_equal(view.content_type, WBI_CONTENT_UNKNOWN);
    assert_int_equal(
        wbi_envelope_view(json("{\"__envelope\":{\"contentType\":\"image\"}}"), &view, NULL),
        WB_OK);
    assert_int_equal(view.content_type, WBI_CONTENT_IMAGE);
    assert_int_equal(wbi_envelope_view(json("{}"), &view, NULL), WB_ENOTFOUND);
}

/* "`root.GetPayload()`"; "Consistent parsing: Downstream consumers can reliably find payload and
 * classify content type."; "Human readable: Allows people to quickly understand what a result is
 * and where to find content."; "Designed for consistent parsing and better human readability".
 * C4.3: payloadPath, then an array compat, then result, list, items; N6 and its bug. */
static void payloads_are_found_in_order(void **state)
{
    static const struct {
        const char *root;
        const char *payload;
    } cases[] = {
        {"{\"result\":1,\"list\":2}", "1"},
        {"{\"list\":2,\"items\":3}", "2"},
        {"{\"items\":3}", "3"},
        {"{\"other\":4}", NULL}, /* not the whole root, envelope and all */
        {"{\"result\":1,\"data\":5,\"__envelope\":{\"payloadPath\":\"data\"}}", "5"},
        {"{\"result\":null,\"list\":2}", "null"}, /* W7: present and null is found */
        {"{\"result\":1,\"data\":null,\"__envelope\":{\"payloadPath\":\"data\"}}", "null"},
        /* W8: a missing path falls back */
        {"{\"list\":2,\"__envelope\":{\"payloadPath\":\"gone\"}}", "2"},
        {"{\"b\":6,\"result\":1,\"__envelope\":{\"payloadPath\":\"gone\",\"compat\":[\"a\",\"b\"]}"
         "}",
         "6"},
        {"{\"b\":6,\"a\":7,\"__envelope\":{\"compat\":[\"a\",\"b\"]}}", "7"},
        {"{\"b\":6,\"result\":1,\"__envelope\":{\"compat\":[]}}", "1"},
        /* an object compat names no keys */
        {"{\"b\":6,\"result\":1,\"__envelope\":{\"compat\":{\"b\":\"b\"}}}", "1"},
        {"{\"result\":1,\"__envelope\":{\"payloadPath\":\" \"}}", "1"},
        /* W6: the literal name first, then a path */
        {"{\"a.b\":1,\"a\":{\"b\":2},\"__envelope\":{\"payloadPath\":\"a.b\"}}", "1"},
        {"{\"a\":{\"b\":[0,{\"c\":2}]},\"__envelope\":{\"payloadPath\":\"a.b.1.c\"}}", "2"},
        {"{\"a\":{\"b\":[0,2]},\"__envelope\":{\"payloadPath\":\"/a/b/1\"}}", "2"},
        {"{\"/a\":3,\"a\":4,\"__envelope\":{\"payloadPath\":\"/a\"}}", "3"},
        {"{\"a\":{\"b\":1},\"__envelope\":{\"payloadPath\":\"a.c\"}}", NULL},
        {"{\"a\":1,\"__envelope\":{\"payloadPath\":\"a.b.c\"}}", NULL},
        {"{\"__envelope\":{\"compat\":[\"__envelope\"]}}", NULL},
        {"{\"list\":8,\"__envelope\":{\"compat\":[1,null,\"list\"]}}", "8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_payload(cases[i].root, cases[i].payload);
}

/* "`payload.WrapPayload(envelope, payloadKey)`": over any JSON; W9: payloadPath is the key, so that
 * the payload is found again (N7 and its bug). */
static void wrap_takes_any_payload(void **state)
{
    static const char *const payloads[] = {"\"text\"", "[1]", "{\"__envelope\":3}", "null", "true",
                                           "12",       "[]"};
    struct wbi_envelope env = {.tool = WBI_LIT("img_generate"), .payload_path = WBI_LIT("ignored")};
    char root[400];

    (void)state;
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        wbi_buf_clear(&out);
        assert_int_equal(wbi_envelope_wrap(json(payloads[i]), &env, WBI_LIT("data"), &out, NULL),
                         WB_OK);
        (void)snprintf(root, sizeof(root), "%s", out.p);
        assert_true(wbi_str_eqz(
            wbi_json_get_str(wbi_json_get(json(root), "__envelope"), "payloadPath"), "data"));
        assert_payload(root, payloads[i]);
    }
    env.payload_path = WBI_NONE;
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_wrap(NULL, &env, WBI_NONE, &out, NULL), WB_OK);
    assert_string_equal(out.p, "{\"result\":null,\"__envelope\":{\"version\":\"1.0\","
                               "\"tool\":\"img_generate\",\"contentType\":\"Unknown\","
                               "\"payloadPath\":\"result\",\"tags\":[]}}");
}

/* W1: the reserved key is never overwritten; I3: "a non-object `__envelope` or root is refused (1)
 * but by `wrap`". */
static void collisions_are_refused(void **state)
{
    static const char *const roots[] = {"[]",
                                        "\"x\"",
                                        "null",
                                        "{\"__envelope\":[]}",
                                        "{\"__envelope\":null}",
                                        "{\"__envelope\":\"x\"}"};
    struct wbi_envelope env = {.tool = WBI_LIT("t")};

    (void)state;
    wbi_buf_clear(&out);
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        const wbi_json *root = json(roots[i]), *v = NULL;
        struct wbi_error err = WBI_ERROR_INIT;

        assert_int_equal(wbi_envelope_attach(root, &env, &out, &err), WB_EINPUT);
        assert_int_equal(wbi_envelope_ensure(root, &env, &out, &err), WB_EINPUT);
        assert_int_equal(wbi_envelope_get(root, &out, &err), WB_EINPUT);
        assert_int_equal(wbi_envelope_payload(root, &v, &err), WB_EINPUT);
        assert_true(strlen(err.text) > 0);
    }
    assert_int_equal(out.n, 0);
    assert_int_equal(wbi_envelope_wrap(json("[]"), &env, WBI_NONE, &out, NULL), WB_OK);
}

/* W8: a payloadPath that names the envelope; and other fields nothing can be made of. */
static void bad_fields_are_refused(void **state)
{
    static const struct wbi_envelope_pair twice[] = {{WBI_LIT_INIT("k"), WBI_LIT_INIT("1")},
                                                     {WBI_LIT_INIT("k"), WBI_LIT_INIT("2")}};
    static const char *const paths[] = {"__envelope", "__envelope.tool", "/__envelope",
                                        "/__envelope/tool"};
    const wbi_json *root = json("{\"result\":1}"), *v = NULL;

    (void)state;
    wbi_buf_clear(&out);
    for (size_t i = 0; i < 4; i++) {
        struct wbi_envelope env = {.payload_path = wbi_str_z(paths[i])};
        char stored[100];

        assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_EINPUT);
        assert_int_equal(wbi_envelope_attach(root, &env, &out, NULL), WB_EINPUT);
        assert_int_equal(wbi_envelope_wrap(root, &env, wbi_str_z(paths[i]), &out, NULL), WB_EINPUT);
        (void)snprintf(stored, sizeof(stored), "{\"__envelope\":{\"payloadPath\":\"%s\"}}",
                       paths[i]);
        assert_int_equal(wbi_envelope_payload(json(stored), &v, NULL), WB_EINPUT);
    }
    struct wbi_envelope env = {.compat = twice, .compat_n = 2};
    assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_EINPUT);
    env = (struct wbi_envelope){.created_at = WBI_LIT("yesterday")};
    assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_EINPUT);
    env = (struct wbi_envelope){.tool = WBI_LIT("t")};
    assert_int_equal(wbi_envelope_wrap(root, &env, WBI_LIT(" "), &out, NULL), WB_EINPUT);
    assert_int_equal(out.n, 0);
    env.payload_path = WBI_LIT("__envelopes");
    assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_OK);
}

/* W11: createdAt is RFC 3339 in UTC. */
static void times_are_written_in_utc(void **state)
{
    struct wbi_envelope env = {.created_at = WBI_LIT("2026-11-15T08:18:00+02:00")};

    (void)state;
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_create(&env, NULL, &out, NULL), WB_OK);
    assert_true(wbi_str_eqz(wbi_json_get_str(written(), "createdAt"), "2026-11-15T06:18:00.000Z"));
}

/* W15: size and depth of a root are no matter. */
static void large_roots_are_handled(void **state)
{
    struct wbi_envelope env = {.tool = WBI_LIT("t")};
    struct wbi_buf text, small;

    (void)state;
    wbi_buf_init(&text, 1 << 20);
    wbi_buf_addz(&text, "{\"result\":");
    for (unsigned i = 1; i < WBI_LIMIT_JSON_DEPTH; i++)
        wbi_buf_addc(&text, '[');
    for (unsigned i = 1; i < WBI_LIMIT_JSON_DEPTH; i++)
        wbi_buf_addc(&text, ']');
    for (int i = 0; i < 5000; i++)
        wbi_buf_addf(&text, ",\"k%d\":[%d]", i, i);
    wbi_buf_addc(&text, '}');
    wbi_buf_clear(&out);
    assert_int_equal(wbi_envelope_attach(json(text.p), &env, &out, NULL), WB_OK);
    assert_int_equal(wbi_json_count(written()), 5002);
    wbi_buf_init(&small, 100);
    assert_int_equal(wbi_envelope_attach(json(text.p), &env, &small, NULL), WB_ELIMIT);
    wbi_buf_fini(&small);
    wbi_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_of_the_seed),
        cmocka_unit_test(every_field_is_written),
        cmocka_unit_test(an_envelope_has_defaults),
        cmocka_unit_test(content_types_classify),
        cmocka_unit_test(the_envelope_is_additive),
        cmocka_unit_test(attach_replaces_and_keeps_what_it_does_not_know),
        cmocka_unit_test(ensure_is_idempotent),
        cmocka_unit_test(get_gives_the_envelope_in_the_documented_spelling),
        cmocka_unit_test(odd_members_read_as_absent),
        cmocka_unit_test(payloads_are_found_in_order),
        cmocka_unit_test(wrap_takes_any_payload),
        cmocka_unit_test(collisions_are_refused),
        cmocka_unit_test(bad_fields_are_refused),
        cmocka_unit_test(times_are_written_in_utc),
        cmocka_unit_test(large_roots_are_handled),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
