/* SPDX-License-Identifier: Apache-2.0
 * text/preview_json_test.c: previews of JSON (C6.1, C6.2): what it says stays what it was, and
 * nothing is shown twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "text/preview_world_test.h"

static void text_inside_json_is_unfolded_once(void **state)
{
    struct wbi_preview v = preview(
        WBI_LIT(
            "{\"content\":[{\"type\":\"text\",\"text\":\"[{\\\"name\\\":\\\"a.c\\\",\\\"type\\\":"
            "\\\"file\\\"},"
            "{\\\"name\\\":\\\"b.c\\\",\\\"type\\\":\\\"file\\\"}]\"}],\"structuredContent\":"
            "[{\"name\":\"a.c\",\"type\":\"file\"},{\"name\":\"b.c\",\"type\":\"file\"}],"
            "\"pad\":[1000001,1000002,1000003,1000004,1000005,1000006,1000007,1000008,1000009,"
            "1000010,"
            "1000011,1000012,1000013,1000014,1000015,1000016,1000017,1000018,1000019,1000020,"
            "1000021,"
            "1000022,1000023,1000024,1000025,1000026,1000027,1000028,1000029,1000030,1000031]}"),
        220);

    (void)state;
    assert_true(has(v, "(JSON text)"));
    assert_true(has(v, "{\"name\":\"a.c\",\"type\":\"file\"}"));
    assert_true(has(v, "(same as above)"));
}

/* C5.2: what is shown once is not left out, as long as it is said which text that is. */
static void a_text_that_stands_above_is_named(void **state)
{
    static const struct {
        const char *first, *second;
        const char *said;
        bool cut;
    } cases[] = {
        {"alpha", "alpha", "(same text as above)", false},
        {"alpha", "beta", "(same text as above: \"alpha word", false},
        {"a start that is longer than what is told of it, one", /* of these nobody can tell */
         "a start that is longer than what is told of it, two", "(same text as above: \"a start",
         true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wbi_preview v;
        struct wbi_buf b;

        wbi_buf_init(&b, 1u << 16);
        for (size_t k = 0; k < 6; k++) {
            wbi_buf_addf(&b, "%s{\"body\":\"%s", k ? "," : "[",
                         k == 1 ? cases[i].second : cases[i].first);
            for (int n = 0; n < 100; n++)
                wbi_buf_addz(&b, " word");
            wbi_buf_addz(&b, "\"}");
        }
        wbi_buf_addc(&b, ']');
        v = preview(wbi_buf_str(&b), 450);
        assert_true(has(v, cases[i].said));
        assert_int_equal(v.truncated, cases[i].cut);
        wbi_buf_fini(&b);
    }
}

/* I3: what a program printed is what is shown, but for white space. */
static void numbers_in_json_stay_as_they_were_written(void **state)
{
    struct wbi_preview v = preview(
        WBI_LIT("{\"x\":3.141592653589793238462643,\"v\":1.10,\"y\":1.0,\"z\":1e5,\"w\":-0.0}"),
        400);
    struct wbi_buf many;

    (void)state;
    assert_string_equal(v.text.p,
                        "{\n  \"x\": 3.141592653589793238462643,\n  \"v\": 1.10,\n  \"y\": 1.0,\n"
                        "  \"z\": 1e5,\n  \"w\": -0.0\n}");
    wbi_buf_init(&many, 1u << 20);
    wbi_buf_addz(&many, "[1.10");
    for (int i = 0; i < 500; i++)
        wbi_buf_addz(&many, ",\n{\"long member\":[2.50,\"text\",-0.0]}");
    wbi_buf_addz(&many, ",1E400]");
    v = preview(wbi_buf_str(&many), 400);
    assert_true(v.truncated && has(v, "1.10") && has(v, "[2.50,\"text\",-0.0]") && has(v, "1E400"));
    wbi_buf_fini(&many);
}

/* Row 109: also behind an escape, and in JSON inside of text. */
static void hidden_characters_of_json_are_made_visible(void **state)
{
    static const char json[] =
        "{\"x\":\"\\u202e\\u200b\\u009b31m\",\"t\":"
        "\"{\\\"inner\\\":\\\"some text \\\\u202e and more of it\\\"}\",\"n\":[0";
    struct wbi_preview v;
    struct wbi_buf text;

    (void)state;
    wbi_buf_init(&text, 1u << 20);
    wbi_buf_addz(&text, json);
    wbi_buf_addz(&text, "]}");
    v = preview(wbi_buf_str(&text), 400);
    assert_true(has(v, "\"<U+202E><U+200B><U+009B>31m\""));
    text.n -= 2;
    for (int i = 0; i < 100; i++)
        wbi_buf_addf(&text, ",%d", 1000001 + i);
    wbi_buf_addz(&text, "]}");
    v = preview(wbi_buf_str(&text), 250);
    assert_true(has(v, "\"<U+202E><U+200B><U+009B>31m\""));
    assert_true(has(v, "\"some text <U+202E> and more of it\""));
    wbi_buf_fini(&text);
}

/* JSON that fits only without more white space is not cut. */
static void compact_json_that_fits_is_shown_whole(void **state)
{
    struct wbi_preview v;
    struct wbi_buf text;

    (void)state;
    wbi_buf_init(&text, 1u << 20);
    wbi_buf_addz(&text, "[{\"a\":0}");
    for (int i = 1; i < 250; i++)
        wbi_buf_addf(&text, ",{\"a\":%d}", i);
    wbi_buf_addz(&text, "]\n");
    v = preview(wbi_buf_str(&text), 2000);
    assert_false(v.truncated);
    assert_int_equal(v.text.n, text.n - 1);
    assert_memory_equal(v.text.p, text.p, v.text.n);
    wbi_buf_fini(&text);
}

/* Where there is hardly any room, the way to the reason of a failure goes before counts. */
static void the_reason_deep_in_a_report_is_shown(void **state)
{
    (void)state;
    for (int at = 3; at < 40; at += 9) {
        struct wbi_buf b;

        wbi_buf_init(&b, 1u << 20);
        wbi_buf_addz(&b,
                     "{\"numFailed\":1,\"numPassed\":39,\"numPending\":0,\"open\":[],\"startTime\":"
                     "17139,\"success\":false,\"suites\":[{\"endTime\":17140,\"results\":[");
        for (int i = 0; i < 40; i++)
            wbi_buf_addf(
                &b,
                "%s{\"ancestors\":[\"cart\"],\"duration\":%d,\"messages\":[%s],"
                "\"fullName\":\"cart case %d of this suite\",\"invocations\":1,\"location\":"
                "null,\"retries\":[],\"status\":\"%s\"}",
                i > 0 ? "," : "", i,
                i == at ? "\"Error: expect(received).toBe(expected) // Object.is "
                          "equality\\n\\nExpected: 1190\\nReceived: 1290\\n    at Object.toBe "
                          "(/srv/app/cart.test.js:17:50)\""
                        : "",
                i % 4, i == at ? "failed" : "passed");
        wbi_buf_addz(&b, "],\"message\":\"\",\"name\":\"/srv/app/cart.test.js\"}],\"ended\":true}");
        for (uint64_t budget = 280; budget < 600; budget += 40) {
            struct wbi_preview v = preview(wbi_buf_str(&b), budget);

            assert_true(v.truncated && v.tokens <= budget);
            assert_true(has(v, "Expected: 1190\\nReceived: 1290"));
        }
        wbi_buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_inside_json_is_unfolded_once),
        cmocka_unit_test(a_text_that_stands_above_is_named),
        cmocka_unit_test(numbers_in_json_stay_as_they_were_written),
        cmocka_unit_test(hidden_characters_of_json_are_made_visible),
        cmocka_unit_test(compact_json_that_fits_is_shown_whole),
        cmocka_unit_test(the_reason_deep_in_a_report_is_shown),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
