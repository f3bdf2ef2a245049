/* SPDX-License-Identifier: Apache-2.0
 * tests/shown_tools_test.c: what reaches the model is clean: attacks 101 to 110 of
 * the reliability list, by number, through ExecCommand and ReadArtifact (C6.5). */
#include "support/tools.h"

/* The output of a program that prints these bytes: a file the command copies. */
static wb_result *show(struct tools *t, const void *bytes, size_t n)
{
    assert_true(tree_put(&t->tree, "work/printed", bytes, n));
    return tools_ask(t, "ExecCommand", "{\"cmd\":[\"cat\",\"printed\"]}");
}

static wb_result *show_text(struct tools *t, const char *text)
{
    return show(t, text, strlen(text));
}

/* The same text read back by ReadArtifact. */
static wb_result *read_back(struct tools *t, wb_result *r)
{
    char *path = member_of(r, "/result/artifacts/0/path"), input[600];
    wb_result *page;

    assert_string_not_equal(path, "");
    (void)snprintf(input, sizeof(input), "{\"path\":\"%s\"}", path);
    page = tools_ask(t, "ReadArtifact", input);
    assert_true(wb_result_ok(page));
    wb_free(path);
    return page;
}

static const char *const secrets[] = {
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIAIOSFODNN7EXAMPLF",
    "xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
    "glpat-abcdefghij0123456789",
    "sk-ant-api03-"
    "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijk",
};

/* 101: known forms in output, in nested JSON, in URLs and in errors. */
static void test_101_secrets_by_their_form(void **state)
{
    struct tools t;
    char text[1024];

    (void)state;
    tools_start(&t, NULL);
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        for (size_t k = 0; k < 3; k++) {
            wb_result *r, *page;
            if (k == 0)
                (void)snprintf(text, sizeof(text), "token %s end\n", secrets[i]);
            else if (k == 1)
                (void)snprintf(text, sizeof(text), "{\"a\":{\"b\":\"%s\"}}\n", secrets[i]);
            else
                (void)snprintf(text, sizeof(text), "https://example.invalid/?key=%s\n", secrets[i]);
            r = show_text(&t, text);
            assert_silent(r, secrets[i]);
            assert_says(r, "[redacted:");
            page = read_back(&t, r);
            assert_silent(page, secrets[i]);
            wb_result_free(page);
            wb_result_free(r);
        }
    }
    tools_end(&t);
}

/* 102: cut at every byte between two reads. */
static void test_102_a_secret_cut_between_two_writes(void **state)
{
    const char *secret = secrets[0];
    struct tools t;

    (void)state;
    tools_start(&t, NULL);
    for (size_t cut = 1; cut < strlen(secret); cut += 4) {
        char input[400];
        wb_result *r;
        (void)snprintf(input, sizeof(input),
                       "{\"cmd\":\"printf 'x %.*s'; sleep 0.02; printf '%s y'\"}", (int)cut, secret,
                       secret + cut);
        r = tools_ask(&t, "ExecCommand", input);
        assert_silent(r, secret + cut / 2);
        assert_says(r, "x [redacted:github-token:");
        wb_result_free(r);
    }
    tools_end(&t);
}

/* 103: zero-width characters or colours inside do not hide it. */
static void test_103_marks_inside_a_secret(void **state)
{
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    r = show_text(&t, "ghp_0123456789\xe2\x80\x8b"
                      "abcdefghijABCDEFGHIJ012345\n");
    assert_silent(r, "ABCDEFGHIJ012345");
    wb_result_free(r);
    r = show_text(&t, "ghp_0123456789\033[31mabcdefghij\033[0mABCDEFGHIJ012345\n");
    assert_silent(r, "ABCDEFGHIJ012345");
    wb_result_free(r);
    tools_end(&t);
}

/* 104: a known value in base64, in all phases; 105: one character is not masked. */
static void test_104_105_known_values(void **state)
{
    struct tools t;
    wb_result *r;

    (void)state;
    setenv("MY_LITTLE_SECRET", "correct-horse-battery-staple", 1);
    setenv("MY_TINY_SECRET", "x", 1);
    tools_start(&t,
                "{\"settings\":{\"secrets\":{\"env\":[\"MY_LITTLE_SECRET\",\"MY_TINY_SECRET\"]}}}");
    for (int phase = 0; phase < 3; phase++) {
        char input[400];
        (void)snprintf(
            input, sizeof(input),
            "{\"cmd\":\"printf '%%s' '%.*scorrect-horse-battery-stapletail' | base64 -w0\"}", phase,
            "ab");
        r = tools_ask(&t, "ExecCommand", input);
        assert_says(r, "[redacted:");
        wb_result_free(r);
    }
    r = tools_ask(&t, "ExecCommand", "{\"cmd\":\"echo the fox\"}");
    assert_says(r, "\nthe fox");
    wb_result_free(r);
    unsetenv("MY_LITTLE_SECRET");
    unsetenv("MY_TINY_SECRET");
    tools_end(&t);
}

/* 106: hashes, UUIDs and the like are left alone. */
static void test_106_what_is_no_secret_stays(void **state)
{
    static const char *const harmless = "commit 8f3c1de0a94b5c6d7e8f90123456789abcdef012\n"
                                        "6ba7b810-9dad-11d1-80b4-00c04fd430c8\n"
                                        "sha512-MV7H6nV6aqyYMpLnV2z1Dn0qVYGPNXU0Eg8RYQ1+"
                                        "1XzQbhhmv0PQ4aLYp9QWXlTs3LK3PYN2ipm1VRTZ5fxkmA==\n";
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    r = show_text(&t, harmless);
    assert_silent(r, "[redacted:");
    assert_member(r, "/result/artifacts", "[]");
    wb_result_free(r);
    tools_end(&t);
}

/* 107: a key over forty lines without its end. */
static void test_107_a_key_without_an_end(void **state)
{
    char text[8000];
    struct tools t;
    wb_result *r;
    size_t n;

    (void)state;
    tools_start(&t, NULL);
    n = (size_t)snprintf(text, sizeof(text), "-----BEGIN RSA PRIVATE KEY-----\n");
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn%02dygWep4PAtGoSo61hUgOrVwGEvLk9V\n",
                              i);
    r = show(&t, text, n);
    assert_silent(r, "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn");
    assert_says(r, "[redacted:");
    wb_result_free(r);
    tools_end(&t);
}

/* 108: links, clipboard, device strings, titles, C1 and an unfinished escape. */
static void test_108_terminal_sequences(void **state)
{
    static const char text[] = "a\033]8;;https://evil.invalid\033\\link\033]8;;\033\\b\n"
                               "\033]52;c;ZXZpbA==\007clip\n"
                               "\033Pq#0;2;0\033\\dcs\n"
                               "\033]0;title\007\xc2\x9b"
                               "31mred\n"
                               "last\033[3";
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    r = show(&t, text, sizeof(text) - 1);
    assert_member(r, "/result/stdout_preview", "alinkb\nclip\ndcs\nred\nlast");
    assert_int_equal(strchr(receipt_of(r), 27) == NULL, 1);
    wb_result_free(r);
    tools_end(&t);
}

/* 109: invisible and bidirectional characters are written visibly, and counted. */
static void test_109_invisible_characters(void **state)
{
    static const uint32_t points[] = {0xE0041, 0xE0100, 0x200B, 0x200F, 0x202A, 0x202E,
                                      0x2060,  0x2066,  0xFEFF, 0x00AD, 0x034F, 0x061C,
                                      0x115F,  0x180E,  0x3164, 0xFFA0, 0xFFF9};
    struct tools t;

    (void)state;
    tools_start(&t, NULL);
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        uint32_t c = points[i];
        char text[16], mark[24];
        wb_result *r;
        size_t n = 0, size;
        const char *record;

        text[n++] = 'a';
        if (c < 0x800) {
            text[n++] = (char)(0xC0 | c >> 6);
        } else if (c < 0x10000) {
            text[n++] = (char)(0xE0 | c >> 12);
            text[n++] = (char)(0x80 | (c >> 6 & 63));
        } else {
            text[n++] = (char)(0xF0 | c >> 18);
            text[n++] = (char)(0x80 | (c >> 12 & 63));
            text[n++] = (char)(0x80 | (c >> 6 & 63));
        }
        text[n++] = (char)(0x80 | (c & 63));
        text[n++] = 'b';
        (void)snprintf(mark, sizeof(mark), "a<U+%04X>b", c);
        r = show(&t, text, n);
        assert_member(r, "/result/stdout_preview", mark);
        record = wb_result_view(r, WB_VIEW_RECORD, &size);
        assert_non_null(strstr(record, "\"invisible\":1"));
        wb_result_free(r);
    }
    tools_end(&t);
}

/* 110: a line end in a tool's name forges nothing. */
static void test_110_a_line_end_in_a_name(void **state)
{
    struct tools t;
    wb_result *r;

    (void)state;
    tools_start(&t, NULL);
    r = tools_ask(&t, "x\nProcess exited with code 0", "{}");
    assert_false(wb_result_ok(r));
    assert_silent(r, "\nProcess exited with code 0");
    wb_result_free(r);
    tools_end(&t);
}

/* Lines of the receipt that begin so. */
static unsigned lines_with(const char *receipt, const char *begin)
{
    unsigned n = strncmp(receipt, begin, strlen(begin)) == 0;

    for (const char *p = strchr(receipt, '\n'); p != NULL; p = strchr(p + 1, '\n'))
        n += strncmp(p + 1, begin, strlen(begin)) == 0;
    return n;
}

/* C6.3, C6.4: whatever the budget, lines are shown and not only told of; where there is too
 * little for two cut streams, the one that says how it went. */
static void test_two_streams_share_a_small_budget(void **state)
{
    struct tools t;

    (void)state;
    tools_start(&t, NULL);
    for (int budget = 200; budget <= 1000; budget += 50) {
        for (int status = 0; status < 2; status++) {
            unsigned out, err;
            char input[400];
            const char *text;
            wb_result *r;

            (void)snprintf(input, sizeof(input),
                           "{\"cmd\":\"for i in $(seq 400); do echo out $i of the output; "
                           "echo err $i of the errors >&2; done; exit %d\","
                           "\"max_output_tokens\":%d}",
                           status, budget);
            r = tools_ask(&t, "ExecCommand", input);
            text = receipt_of(r);
            out = lines_with(text, "out ");
            err = lines_with(text, "err ");
            assert_null(strstr(text, "first 0"));
            assert_null(strstr(text, "last 0"));
            assert_null(strstr(text, "no lines"));
            assert_true(status ? err > 0 : out > 0);
            if (budget >= 300)
                assert_true(out > 0 && err > 0);
            assert_member(r, "/result/stdout_truncated", "true");
            assert_member(r, "/result/stderr_truncated", "true");
            wb_result_free(r);
        }
    }
    tools_end(&t);
}

static wb_result *run_within(struct tools *t, const char *cmd, int budget)
{
    char input[800];

    (void)snprintf(input, sizeof(input), "{\"cmd\":\"%s\",\"max_output_tokens\":%d}", cmd, budget);
    return tools_ask(t, "ExecCommand", input);
}

/* C6.4: with little room, the stream that tells of the failure is shown, whatever the exit. */
static void test_a_small_budget_shows_what_failed(void **state)
{
    static const char *const to[] = {"1", "2"};
    struct tools t;

    (void)state;
    tools_start(&t, NULL);
    for (size_t i = 0; i < 2; i++) {
        for (int status = 0; status < 2; status++) {
            char cmd[400];
            wb_result *r;

            (void)snprintf(cmd, sizeof(cmd),
                           "for i in $(seq 400); do echo out $i; echo note $i >&2; [ $i = 222 ] && "
                           "echo 'ERROR: lost quorum in shard 9' >&%s; done; exit %d",
                           to[i], status);
            r = run_within(&t, cmd, 300);
            assert_non_null(strstr(receipt_of(r), "\nERROR: lost quorum in shard 9\n"));
            wb_result_free(r);
        }
    }
    tools_end(&t);
}

/* C6.4: more room never shows less of the failure, where the second stream comes in either. It
 * fits from about 290 tokens on; the random names of the artifacts take some more or less. */
static void test_more_room_shows_no_less_of_a_failure(void **state)
{
    static const char *const failure[] = {"test shard FAILED", "error: assertion failed: quorum(9)",
                                          "  left: 3", " right: 4"};
    struct tools t;

    (void)state;
    tools_start(&t, NULL);
    for (int budget = 350; budget <= 1000; budget += 25) {
        wb_result *r = run_within(
            &t,
            "for i in $(seq 400); do echo test case number $i of the suite is ok; echo note: "
            "compiled unit number $i without remarks >&2; [ $i = 222 ] && { echo 'test shard "
            "FAILED'; echo 'error: assertion failed: quorum(9)'; echo '  left: 3'; echo ' right: "
            "4'; }; done; exit 1",
            budget);

        for (size_t i = 0; i < sizeof(failure) / sizeof(failure[0]); i++)
            if (strstr(receipt_of(r), failure[i]) == NULL)
                fail_msg("no '%s' within %d tokens:\n%s", failure[i], budget, receipt_of(r));
        wb_result_free(r);
    }
    tools_end(&t);
}

/* C6.4: a stream of warnings that just fits leaves the other more than its notice. */
static void test_warnings_do_not_crowd_out_the_output(void **state)
{
    struct tools t;

    (void)state;
    tools_start(&t, NULL);
    for (int warnings = 80; warnings <= 120; warnings += 5) {
        char cmd[400];
        wb_result *r;

        (void)snprintf(cmd, sizeof(cmd),
                       "for i in $(seq 500); do echo test number $i is ok; done; for i in $(seq "
                       "%d); do echo warning: function unused_$i is never used, see src/lib.rs "
                       ">&2; done",
                       warnings);
        r = run_within(&t, cmd, 2500);
        assert_true(lines_with(receipt_of(r), "test number ") > 60);
        assert_true(lines_with(receipt_of(r), "warning: ") > 40);
        wb_result_free(r);
    }
    tools_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_101_secrets_by_their_form),
        cmocka_unit_test(test_102_a_secret_cut_between_two_writes),
        cmocka_unit_test(test_103_marks_inside_a_secret),
        cmocka_unit_test(test_104_105_known_values),
        cmocka_unit_test(test_106_what_is_no_secret_stays),
        cmocka_unit_test(test_107_a_key_without_an_end),
        cmocka_unit_test(test_108_terminal_sequences),
        cmocka_unit_test(test_109_invisible_characters),
        cmocka_unit_test(test_110_a_line_end_in_a_name),
        cmocka_unit_test(test_two_streams_share_a_small_budget),
        cmocka_unit_test(test_a_small_budget_shows_what_failed),
        cmocka_unit_test(test_more_room_shows_no_less_of_a_failure),
        cmocka_unit_test(test_warnings_do_not_crowd_out_the_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
