/* SPDX-License-Identifier: Apache-2.0
 * text/preview_odd_test.c: what is unlike the rest is shown (C6.1): rows of tables, one of few
 * numbers, words in capitals, what in a JSON element tells of a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "text/preview_int.h"

#define BUDGET 300u

static const char *const names[] = {"amber",  "beacon", "cursor", "dock",   "ember", "filter",
                                    "gate",   "harbor", "inlet",  "jetty",  "kiln",  "ledger",
                                    "mosaic", "north",  "orchid", "parcel", "quay"};
#define NAMES (sizeof names / sizeof *names)

static struct wbi_arena *arena;
static struct wbi_buf text;

static int start(void **state)
{
    (void)state;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return 1;
    wbi_buf_init_arena(&text, arena, 8u << 20);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    wbi_arena_free(arena);
    return 0;
}

/* Two words that are another pair for each i under 289. */
static const char *first(size_t i)
{
    return names[i % NAMES];
}

static const char *second(size_t i)
{
    return names[(i / NAMES + i) % NAMES];
}

static struct wbi_str show(uint64_t budget)
{
    struct wbi_preview_policy policy = {.budget = budget};
    struct wbi_preview v;

    assert_int_equal(wbi_buf_rc(&text), WB_OK);
    assert_int_equal(wbi_preview_text(arena, wbi_buf_str(&text), &policy, &v, NULL), WB_OK);
    assert_true(v.truncated);
    assert_true(v.tokens <= budget);
    return v.text;
}

static size_t times(struct wbi_str s, const char *z)
{
    size_t n = 0, at;

    while ((at = wbi_str_find(s, wbi_str_z(z))) < s.n) {
        n++;
        s = wbi_str_from(s, at + 1);
    }
    return n;
}

static void assert_has(struct wbi_str s, const char *z)
{
    if (times(s, z) == 0)
        fail_msg("%s is not in:\n%.*s", z, (int)s.n, s.p);
}

/* A form in which %zu stands for n. */
static void add_element(const char *form, size_t n)
{
    struct wbi_str s = wbi_str_z(form);
    size_t at = wbi_str_find(s, WBI_LIT("%zu"));

    wbi_buf_adds(&text, wbi_str_head(s, at));
    wbi_buf_addf(&text, "%zu", n);
    wbi_buf_adds(&text, wbi_str_from(s, at + 3));
}

static void a_row_with_another_mark_is_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < 160; i++)
        wbi_buf_addf(&text, "  %s %s    %s_%s%s\n", first(i), second(i), second(i), first(i),
                     i == 77 ? "    +- [~%]" : "");
    assert_has(show(BUDGET), "+- [~%]");
}

static void a_row_with_another_word_in_its_column_is_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < 160; i++)
        wbi_buf_addf(&text, "%s-%s   eu   %s\n", first(i), second(i), i == 81 ? "torn" : "whole");
    assert_has(show(BUDGET), "torn");
}

/* Prose has no columns: nothing is told to be rare in it, and all of it is read as before. */
static void lines_of_prose_are_no_rows(void **state)
{
    struct wbi_str s;

    (void)state;
    for (size_t i = 0; i < 160; i++)
        wbi_buf_addf(&text, "The %s of the %s%s goes to %s.\n", first(i), second(i),
                     i == 77 ? " (and its lid)" : "", second(i + 3));
    s = show(BUDGET);
    assert_int_equal(times(s, "(and its lid)"), 0);
}

static void one_number_among_few_that_are_the_same_is_shown(void **state)
{
    (void)state;
    for (size_t disk = 0; disk < 9; disk++)
        for (size_t i = 0; i < NAMES; i++)
            wbi_buf_addf(&text, "%s_sectors  always  %d\n", names[i],
                         disk == 5 && i == 8 ? 184 : 0);
    assert_has(show(BUDGET), "inlet_sectors  always  184");
}

/* However the others rise and fall. */
static void the_only_negative_number_is_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < 300; i++)
        wbi_buf_addf(&text, "part-%03zu  %zu  %d\n", i, i % 7,
                     i == 151 ? -5 : (int)(i * 3 % 90) + 1);
    assert_has(show(BUDGET), "part-151  4  -5");
}

/* A minus is a sign in a field of a row, too, and behind an equals sign. */
static void a_negative_number_in_a_field_is_shown(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        wbi_buf_clear(&text);
        for (size_t i = 0; i < 600; i++) {
            int n = i == 333 ? -7 : 1 + (int)(i * 37 % 40);

            if (k == 0)
                wbi_buf_addf(&text, "%zu,SKU-%zu,eu,%d,%zu.50,EUR\n", 10000 + i, i * 7 % 900, n,
                             i * 31 % 900);
            else if (k == 1)
                wbi_buf_addf(&text, "%zu;eu;%d;%zu\n", 10000 + i, n, i * 31 % 900);
            else
                wbi_buf_addf(&text, "order=%zu qty=%d price=%zu\n", 10000 + i, n, i * 31 % 900);
        }
        assert_has(show(BUDGET), k == 0 ? ",-7," : k == 1 ? ";-7;" : "=-7 ");
    }
}

/* 41G is more than 900K, whatever the numbers before the units. */
static void a_size_counts_with_its_unit(void **state)
{
    static const char *const sizes[][2] = {{"K", "41G"}, {"MB", "41.2GB"}, {"Mi", "3Ti"}};

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        wbi_buf_clear(&text);
        for (size_t i = 0; i < 400; i++) {
            if (i == 222)
                wbi_buf_addf(&text, "%s\t./%s/%s\n", sizes[k][1], first(i), second(i));
            else
                wbi_buf_addf(&text, "%zu%s\t./%s/%s\n", 4 + i * 37 % 900, sizes[k][0], first(i),
                             second(i));
        }
        assert_has(show(BUDGET), sizes[k][1]);
    }
}

/* The seconds of a clock come anew again and again. */
static void a_clock_is_not_odd(void **state)
{
    struct wbi_str s;

    (void)state;
    for (size_t i = 0; i < 480; i++)
        wbi_buf_addf(&text, "after %zu.%zu s packet %zu taken\n", i / 120, i % 10, i * 7919 % 997);
    s = show(BUDGET);
    assert_int_equal(times(s, "after 2.0 s packet 278 taken"), 0);
}

/* Bars and rows of dots of any length make rows alike, so that their numbers are seen. */
static void bars_are_alike_whatever_their_length(void **state)
{
    static const char bar[] = "++++++++++++++++++++------------------------------";

    (void)state;
    for (size_t i = 0; i < 300; i++)
        wbi_buf_addf(&text, " src/%s/%s.go | %4zu %.*s\n", first(i), second(i),
                     i == 177 ? 8123 : 2 + i % 40, (int)(2 + i * 7 % 30), bar + i * 11 % 19);
    assert_has(show(BUDGET), "| 8123 +");
}

/* Two of hundreds are as few as one: they come before the largest of many numbers, whole. */
static void two_lines_unlike_hundreds_are_shown_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < 400; i++) {
        wbi_buf_addf(&text, "gate %zu to gate %zu: ack of %zu, window %zu, stamp %zu, echo %zu\n",
                     i % 3, i % 5, i * 7919 % 9973, i * 31 % 977, i * 6007 % 99991,
                     i * 4001 % 99989);
        if (i == 190 || i == 196)
            wbi_buf_addf(&text,
                         "gate %zu to gate %zu: sent once more, ack of %zu, window %zu, stamp %zu, "
                         "echo %zu, bytes %zu, from %zu to %zu, hops %zu, lane %zu, rate %zu\n",
                         i, i, i, i, i, i, i, i, i, i, i, i);
    }
    assert_has(show(340), "sent once more, ack of 190, window 190, stamp 190, echo 190, bytes 190");
}

static void equal_lines_are_not_offered_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        wbi_buf_addz(&text, "SUMMARY of the total result\n");
        for (size_t k = 0; k < 24; k++)
            wbi_buf_addf(&text, "%s %s is stowed\n", first(i * 24 + k), second(i * 24 + k));
    }
    assert_true(times(show(BUDGET), "SUMMARY of the total result") <= 2);
}

static unsigned severity_of(const char *line)
{
    struct words *words = wbi_arena_zalloc(arena, sizeof *words);
    struct wbi_str s = wbi_str_z(line);
    struct line_facts f = {.n_numbers = 0};

    assert_non_null(words);
    wbi_words_init(words, WBI_LIT("x"));
    wbi_line_look(words, s, s.n, &f);
    return f.severity;
}

static void names_in_capitals_tell_by_their_last_part(void **state)
{
    (void)state;
    assert_true(severity_of("LedgerDb  CREATE_FAILED  no such zone") >= 72);
    assert_true(severity_of("state is CREATE_FAILED") >= FAILURE);
    assert_true(severity_of("state is PROTOCOL_ERROR") >= FAILURE);
    assert_true(severity_of("state is CREATE_COMPLETE") < FAILURE);
    assert_true(severity_of("state is FAILED_INIT") < FAILURE);
    assert_true(severity_of("state is on_failed") < FAILURE);
    assert_true(severity_of("the job was cancelled") >= FAILURE);
    assert_true(severity_of("the keeper died") >= FAILURE);
}

static void what_is_not_so_tells_a_failure(void **state)
{
    (void)state;
    assert_true(severity_of("chown: operation not permitted") >= 80);
    assert_true(severity_of("module rates was not resolved") >= FAILURE);
    assert_true(severity_of("the column does not exist") >= FAILURE);
    assert_true(severity_of("module rates was resolved") < FAILURE);
}

static void what_names_itself_a_warning_tells_less(void **state)
{
    (void)state;
    assert_true(severity_of("level=error msg=\"request failed\"") >
                severity_of("level=warning msg=\"request failed\"") + 25);
    assert_true(severity_of("level=warning msg=\"request failed\"") >= FAILURE);
    assert_true(severity_of("level=warning msg=\"request failed\"") >
                severity_of("level=info msg=\"request failed\""));
}

/* What tells of a failure stands deep in an element; it is shown with the blanks of the text. */
/* Six hundred warnings that sound like failures, no two alike, and one line among them. */
static void warn_with(const char *level)
{
    wbi_buf_clear(&text);
    for (size_t i = 0; i < 600; i++) {
        if (i == 300)
            wbi_buf_addf(&text, "10:25:00 %s [db] primary lost, data is gone\n", level);
        wbi_buf_addf(&text,
                     "10:%02zu:%02zu WARN [%s] link to %s failed: timeout in %zu ms, retrying\n",
                     i / 60, i % 60, first(i), second(i * 7 + i / 3), i * 7919 % 9999);
    }
}

/* C6.4: what a log calls worse than a warning is shown, however much the warnings say. */
static void what_names_a_worse_level_is_shown(void **state)
{
    static const char *const worse[] = {"CRITICAL", "CRIT",  "SEVERE", "ALERT",      "EMERG",
                                        "FATAL",    "ERROR", "ERR",    "level=alert"};

    (void)state;
    for (size_t i = 0; i < sizeof worse / sizeof *worse; i++) {
        warn_with(worse[i]);
        assert_has(show(1000), "primary lost");
    }
    warn_with("[crit]");
    assert_has(show(1000), "primary lost");
}

/* What a program calls WARNING: may be the failure itself; only a level is taken at its word. */
static void a_message_with_the_word_warning_is_no_level(void **state)
{
    const struct wbi_str said = WBI_LIT("WARNING: data race, 2 accesses failed"),
                         logged = WBI_LIT("10:25:00 WARNING data race, 2 accesses failed");
    struct line_facts message, level;
    struct words words;

    (void)state;
    wbi_words_init(&words, WBI_LIT(""));
    wbi_line_look(&words, said, said.n, &message);
    wbi_line_look(&words, logged, logged.n, &level);
    assert_true(message.severity > level.severity);
    assert_true(level.severity >= FAILURE);
}

/* C6.4: the one step that is marked as failed. */
static void a_line_with_the_mark_of_a_failure_is_shown(void **state)
{
    static const char *const failed[] = {"\xe2\x9c\x95", "\xe2\x9c\x96", "\xe2\x9c\x97",
                                         "\xe2\x9c\x98", "\xe2\x9d\x8c", "\xc3\x97"};

    (void)state;
    for (size_t k = 0; k < sizeof failed / sizeof *failed; k++) {
        wbi_buf_clear(&text);
        for (size_t i = 0; i < 1000; i++) {
            wbi_buf_addf(&text, "  %s ", i == 500 ? failed[k] : "\xe2\x9c\x94");
            for (size_t n = 0; n < 8; n++)
                wbi_buf_addc(&text, (char)('a' + (i * 7919 + 13) / (n * n + 1) % 26));
            wbi_buf_addf(&text, " %s\n", second(i));
        }
        assert_has(show(1000), failed[k]);
    }
}

/* C6.4: errors fill all that can be remembered long before something worse comes. */
static void the_worst_finds_room_in_a_flood_of_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < 90000; i++) {
        if (i == 60000)
            wbi_buf_addz(&text, "FATAL primary lost, data is gone\n");
        wbi_buf_addf(&text, "ERROR %s %s %c%c%c%c\n", first(i), second(i),
                     (int)('g' + (i >> 12) % 16), (int)('g' + (i >> 8) % 16),
                     (int)('g' + (i >> 4) % 16), (int)('g' + i % 16));
    }
    assert_has(show(1000), "primary lost");
    assert_has(show(8000), "primary lost");
}

/* An outline of brackets says nothing; one of names does. */
static void brackets_are_no_outline(void **state)
{
    static const char *const opens[] = {"{", "server_%zu {"};

    (void)state;
    for (size_t form = 0; form < 2; form++) {
        wbi_buf_clear(&text);
        for (size_t i = 0; i < 12; i++) {
            if (form == 0)
                wbi_buf_addz(&text, opens[0]);
            else
                add_element(opens[1], i);
            for (size_t k = 0; k < 60; k++)
                wbi_buf_addf(&text, "\n    \"%s %s\": \"%s\",", first(i * 60 + k),
                             second(i * 60 + k), second(k));
            wbi_buf_addz(&text, "\n}\n");
        }
        assert_int_equal(times(show(500), "[outline"), form);
        assert_int_equal(times(show(500), "; }"), 0);
    }
    assert_has(show(500), "server_7 {");
}

/* C6.4: a long line is cut around its strongest word, wherever that stands. */
static void a_failure_deep_in_a_long_line_is_shown(void **state)
{
    static const size_t deep[] = {WBI_LIMIT_TEXT_LINE - 12, WBI_LIMIT_TEXT_LINE - 3,
                                  WBI_LIMIT_TEXT_LINE, 2 * WBI_LIMIT_TEXT_LINE - 300, 1000000};

    (void)state;
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        wbi_buf_clear(&text);
        for (size_t n = 0; n < deep[i]; n++)
            wbi_buf_addc(&text, n % 6 == 5 || n + 1 == deep[i] ? ' ' : 'x');
        wbi_buf_addz(&text, "FATAL: disk exploded ");
        for (size_t n = 0; n < 100000; n++)
            wbi_buf_addc(&text, n % 6 == 5 ? ' ' : 'x');
        assert_has(show(500), "FATAL: disk exploded");
    }
}

/* C6.4: a report of tests is often one line, which begins with how many failed. */
static void a_count_of_failures_does_not_hide_the_failure(void **state)
{
    static const char *const counts[] = {"errors=\"0\" failures=\"1\"",
                                         "errors=\"2\" failures=\"11\"", "failures=\"0\""};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t n = 90; n <= 900; n *= 10) {
            wbi_buf_clear(&text);
            wbi_buf_addf(&text, "<?xml version=\"1.0\"?><testsuite tests=\"900\" %s>", counts[i]);
            for (size_t k = 0; k < n; k++)
                wbi_buf_addf(&text, "%s<testcase classname=\"com.shop.T%zu\" name=\"works\"/>",
                             k == n / 2 ? "<testcase name=\"sums\"><failure message=\"11, not 10\""
                                          "/></testcase>"
                                        : "",
                             k);
            wbi_buf_addz(&text, "</testsuite>\n");
            assert_has(show(500), "11, not 10");
        }
}

/* A report on one line may begin with how it went, and name it for each element as well: what is
 * shown is the element that tells why. */
static void a_report_on_one_line_tells_why(void **state)
{
    static const struct {
        const char *head;
        const char *passed;
        const char *failed;
        const char *tail;
        const char *why;
    } reports[] = {
        {"<?xml version=\"1.0\"?><test-run id=\"2\" result=\"Failed\" total=\"90\" passed=\"89\" "
         "failed=\"1\"><test-suite type=\"Assembly\" name=\"Shop.Tests.dll\" result=\"Failed\" "
         "failed=\"1\"><failure><message>One or more child tests had errors</message></failure>",
         "<test-case id=\"%zu\" fullname=\"Shop.Tests.Prices.Sums\" result=\"Passed\" "
         "asserts=\"1\"/>",
         "<test-case id=\"%zu\" fullname=\"Shop.Tests.Prices.Rounds\" result=\"Failed\" "
         "asserts=\"1\">"
         "<failure><message><![CDATA[Expected: 12.35 But was: 12.34]]></message></failure>"
         "</test-case>",
         "</test-suite></test-run>\n", "Expected: 12.35 But was: 12.34"},
        {"<TestRun><ResultSummary outcome=\"Failed\"><Counters passed=\"89\" failed=\"1\"/>"
         "</ResultSummary><Results>",
         "<UnitTestResult testId=\"%zu\" testName=\"Sums\" outcome=\"Passed\"/>",
         "<UnitTestResult testId=\"%zu\" testName=\"Rounds\" outcome=\"Failed\"><Output><ErrorInfo>"
         "<Message>Assert.AreEqual failed. Expected 12.35. Actual 12.34.</Message></ErrorInfo>"
         "</Output></UnitTestResult>",
         "</Results></TestRun>\n", "Expected 12.35. Actual 12.34."},
        {"<checkstyle version=\"10.12\">",
         "<file name=\"src/T%zu.java\"><error line=\"3\" severity=\"warning\" message=\"Missing a "
         "comment.\" source=\"checks.MissingComment\"/></file>",
         "<file name=\"src/T%zu.java\"><error line=\"88\" severity=\"error\" message=\"Inner "
         "assignments should be avoided.\" source=\"checks.InnerAssignment\"/></file>",
         "</checkstyle>\n", "Inner assignments should be avoided."},
        {"report: {\"failed\":1,\"success\":false,\"tests\":[",
         "{\"id\":%zu,\"name\":\"sums\",\"status\":\"passed\",\"messages\":[]},",
         "{\"id\":%zu,\"name\":\"rounds\",\"status\":\"failed\",\"messages\":[\"Error: expected "
         "12.35, received 12.34\"]},",
         "]}\n", "expected 12.35, received 12.34"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        for (size_t at = 20; at < 90; at += 23) {
            wbi_buf_clear(&text);
            wbi_buf_addz(&text, reports[i].head);
            for (size_t k = 0; k < 90; k++)
                add_element(k == at ? reports[i].failed : reports[i].passed, k);
            wbi_buf_addz(&text, reports[i].tail);
            for (uint64_t budget = 250; budget <= 1000; budget += 150)
                assert_has(show(budget), reports[i].why);
        }
}

/* A count of none is none, however it is written. */
static void an_attribute_or_member_that_counts_none_tells_no_failure(void **state)
{
    static const char *const forms[][3] = {
        {"<suite name=\"", "\" failures=\"", "\" time=\"1\"/>\n"},
        {"{\"suite\":\"", "\",\"failures\":", ",\"time\":1}\n"}};

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        wbi_buf_clear(&text);
        for (size_t k = 0; k < 400; k++)
            wbi_buf_addf(&text, "%s%s%s%d%s", forms[i][0], k == 177 ? "ledger" : first(k),
                         forms[i][1], k == 177, forms[i][2]);
        assert_has(show(300), "ledger");
    }
}

/* Members that say no failure do not hide the one that does. */
static void a_member_that_is_false_or_empty_tells_no_failure(void **state)
{
    static const char *const none[] = {"\"failed\":false", "\"error\": null", "\"errors\":[]",
                                       "\"failure\":{}",   "'error': None",   "\"error\":\"\""};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        wbi_buf_clear(&text);
        wbi_buf_addf(&text, "start\n{%s", none[i]);
        for (size_t k = 0; k < 900; k++)
            wbi_buf_addf(&text, ",\"case %zu\":\"%s\"", k, k == 450 ? "failed on line 31" : "ok");
        wbi_buf_addz(&text, "}\nend\n");
        assert_has(show(300), "failed on line 31");
    }
}

/* C6.4: however much room both ends took, the line that tells most of a failure may have the rest.
 */
static void the_worst_line_is_shown_whatever_the_ends_cost(void **state)
{
    (void)state;
    for (size_t i = 0; i < 500; i++) {
        bool odd = i == 311;

        wbi_buf_addf(
            &text,
            "{\"level\": %d, \"time\": %zu, \"pid\": 3, \"host\": \"h\", \"id\": \"r%zu\", "
            "\"err\": %s, \"errors\": [], \"failed\": %s, \"msg\": \"request %s\"}\n",
            odd ? 50 : 30, (size_t)1700000000000 + i, i,
            odd ? "{\"type\": \"TypeError\", \"message\": \"x.total is not a function\", "
                  "\"stack\": \"at tax.js:31:9\"}"
                : "null",
            odd ? "true" : "false", odd ? "errored" : "completed");
    }
    for (uint64_t budget = 200; budget <= 500; budget += 10)
        assert_has(show(budget), "\"level\": 50");
}

/* With little room, the frames of a complaint that is left out are left out as well: the one
 * that is shown is not theirs. */
static void frames_of_what_is_not_told_are_not_shown(void **state)
{
    struct wbi_str s;

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        wbi_buf_addf(&text,
                     "08:%02zu:%02zu INFO [exec-%zu] web.RequestLog - handled %s in %zu ms\n",
                     i / 60, i % 60, i % 8, first(i), i * 37 % 90);
        if (i != 150)
            continue;
        wbi_buf_addz(&text, "08:02:30 ERROR [exec-6] shop.Refunds - refund 8812 was not booked\n"
                            "org.framework.dao.DataIntegrityException: could not execute: insert "
                            "into refund (id, order_id, ledger_id, amount, currency, booked_at, "
                            "created_by) values (8812, 7781, 31, 40, EUR, now(), worker); the "
                            "statement; constraint [refund_ledger_foreign_key]\n");
        for (size_t k = 0; k < 40; k++)
            wbi_buf_addf(&text, "\tat org.framework.chain.Interceptor.invoke(Chain.java:%zu)\n",
                         100 + k);
        wbi_buf_addz(&text, "\tat com.shop.Refunds.book(Refunds.java:142)\n");
        for (size_t k = 0; k < 20; k++)
            wbi_buf_addf(&text, "\tat org.framework.web.Filter.run(Filter.java:%zu)\n", 100 + k);
    }
    s = show(290);
    assert_has(s, "refund 8812 was not booked");
    assert_int_equal(times(s, "DataIntegrityException"), 0);
    assert_int_equal(times(s, "Interceptor"), 0);
    assert_has(s, "Refunds.java:142");
}

static void what_in_json_tells_of_a_failure_stays_open(void **state)
{
    struct wbi_str s;

    (void)state;
    wbi_buf_addz(&text, "{\"stats\": {\"tests\": 90, \"failures\": 1}, \"tests\": [\n");
    for (size_t i = 0; i < 90; i++) {
        wbi_buf_addf(&text,
                     "%s{\"title\": \"%s %s\", \"file\": \"spec/%s.js\", \"speed\": \"fast\", "
                     "\"took\": %zu, \"tags\": [\"a\", \"b\"], \"err\": {",
                     i > 0 ? ",\n" : "", first(i), second(i), first(i), i);
        if (i == 47)
            wbi_buf_addz(&text, "\"kind\": \"x\", \"code\": 1, \"op\": \"same\", \"shown\": true, "
                                "\"message\": \"TypeError: cannot read legs of undefined\", "
                                "\"at\": \"spec/route.js:88\", \"depth\": 4");
        wbi_buf_addz(&text, "}}");
    }
    wbi_buf_addz(&text, "\n]}\n");
    s = show(500);
    assert_has(s, "TypeError: cannot read legs of undefined");
    assert_has(s, "\"failures\": 1");
}

/* Of a long list of JSON as much is shown as the budget holds (C6.1). */
static void a_long_list_of_json_fills_its_budget(void **state)
{
    (void)state;
    wbi_buf_addc(&text, '[');
    for (size_t i = 0; i < 900; i++)
        wbi_buf_addf(&text, "%s{\"id\": %zu, \"name\": \"%s %s\", \"ok\": %s}", i > 0 ? ",\n" : "",
                     i, first(i), second(i), i == 412 ? "false" : "true");
    wbi_buf_addz(&text, "]\n");
    assert_true(times(show(8000), "\"id\": ") > 128);
}

/* With room for one element, it is the one that tells of the failure, not the first. */
static void the_only_element_of_json_that_fits_is_the_telling_one(void **state)
{
    struct wbi_str s;

    (void)state;
    wbi_buf_addc(&text, '[');
    for (size_t i = 0; i < 90; i++)
        wbi_buf_addf(&text,
                     "%s{\"file\": \"src/%s/%s.js\", \"line\": %zu, \"level\": \"%s\", "
                     "\"message\": \"'%s' %s\", \"rule\": \"no-%s\"}",
                     i > 0 ? ",\n" : "", first(i), second(i), i * 7, i == 61 ? "error" : "note",
                     second(i), i == 61 ? "is not defined" : "is assigned and never used",
                     i == 61 ? "undef" : "unused");
    wbi_buf_addz(&text, "]\n");
    s = show(150);
    assert_has(s, "is not defined");
    assert_has(s, "\xe2\x80\xa6 61 items left out");
    assert_has(s, "\xe2\x80\xa6 28 items left out");
    assert_int_equal(times(s, "never used"), 0);
}

/* Of a long text, its first line says what it is about. */
static void a_long_string_in_json_tells_by_its_first_line(void **state)
{
    (void)state;
    wbi_buf_addc(&text, '[');
    for (size_t i = 0; i < 90; i++) {
        wbi_buf_addf(&text, "%s{\"name\":\"%s %s\",\"took\":%zu,\"log\":\"%s\\n", i > 0 ? "," : "",
                     first(i), second(i), i, i == 52 ? "panic: lease 9 was lost" : "settled");
        for (size_t k = 0; k < 30; k++)
            wbi_buf_addf(&text, "  step %zu of %s was taken\\n", k, second(i + k));
        wbi_buf_addz(&text, "\"}");
    }
    wbi_buf_addc(&text, ']');
    assert_has(show(500), "panic: lease 9 was lost");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(a_row_with_another_mark_is_shown),
        TEST(a_row_with_another_word_in_its_column_is_shown),
        TEST(lines_of_prose_are_no_rows),
        TEST(one_number_among_few_that_are_the_same_is_shown),
        TEST(the_only_negative_number_is_shown),
        TEST(a_negative_number_in_a_field_is_shown),
        TEST(a_size_counts_with_its_unit),
        TEST(a_clock_is_not_odd),
        TEST(bars_are_alike_whatever_their_length),
        TEST(two_lines_unlike_hundreds_are_shown_whole),
        TEST(equal_lines_are_not_offered_twice),
        TEST(names_in_capitals_tell_by_their_last_part),
        TEST(what_is_not_so_tells_a_failure),
        TEST(what_names_itself_a_warning_tells_less),
        TEST(what_names_a_worse_level_is_shown),
        TEST(a_message_with_the_word_warning_is_no_level),
        TEST(a_line_with_the_mark_of_a_failure_is_shown),
        TEST(the_worst_finds_room_in_a_flood_of_errors),
        TEST(a_failure_deep_in_a_long_line_is_shown),
        TEST(brackets_are_no_outline),
        TEST(a_report_on_one_line_tells_why),
        TEST(a_count_of_failures_does_not_hide_the_failure),
        TEST(an_attribute_or_member_that_counts_none_tells_no_failure),
        TEST(a_member_that_is_false_or_empty_tells_no_failure),
        TEST(the_worst_line_is_shown_whatever_the_ends_cost),
        TEST(frames_of_what_is_not_told_are_not_shown),
        TEST(what_in_json_tells_of_a_failure_stays_open),
        TEST(a_long_list_of_json_fills_its_budget),
        TEST(the_only_element_of_json_that_fits_is_the_telling_one),
        TEST(a_long_string_in_json_tells_by_its_first_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
