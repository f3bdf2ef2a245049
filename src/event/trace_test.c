/* SPDX-License-Identifier: Apache-2.0
 * event/trace_test.c: trace context as the W3C's own cases have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/checked.h"
#include "event/trace.h"

#define ID "12345678901234567890123456789012"
#define SPAN "1234567890123456"

static void traceparents_are_taken_or_restart_the_trace(void **state)
{
    static const struct {
        const char *text;
        bool ok;
    } rows[] = {
        {"00-" ID "-" SPAN "-01", true},
        {"00-" ID "-" SPAN "-00", true},
        {"00-" ID "-" SPAN "-ff", true}, /* unknown flags are not an error */
        {" 00-" ID "-" SPAN "-01\t", true},
        {"01-" ID "-" SPAN "-01", true}, /* later versions: the first 55 count */
        {"cc-" ID "-" SPAN "-01", true},
        {"cc-" ID "-" SPAN "-01-what-the-future-will-be-like", true},
        {"cc-" ID "-" SPAN "-01.what-the-future-will-not-be-like", false},
        {"00-" ID "-" SPAN "-01-extra", false},
        {"00-" ID "-" SPAN "-01.", false},
        {"ff-" ID "-" SPAN "-01", false},
        {".0-" ID "-" SPAN "-01", false},
        {"0.-" ID "-" SPAN "-01", false},
        {"0-" ID "-" SPAN "-01", false},
        {"000-" ID "-" SPAN "-01", false},
        {"FF-" ID "-" SPAN "-01", false},
        {"0A-" ID "-" SPAN "-01", false},
        {"00-00000000000000000000000000000000-" SPAN "-01", false},
        {"00-" ID "-0000000000000000-01", false},
        {"00-.2345678901234567890123456789012-" SPAN "-01", false},
        {"00-1234567890123456789012345678901.-" SPAN "-01", false},
        {"00-1234567890123456789012345678901-" SPAN "-01", false},
        {"00-" ID "3-" SPAN "-01", false},
        {"00-ABCDEF78901234567890123456789012-" SPAN "-01", false},
        {"00-" ID "-.234567890123456-01", false},
        {"00-" ID "-123456789012345-01", false},
        {"00-" ID "-12345678901234567-01", false},
        {"00-" ID "-ABCDEF7890123456-01", false},
        {"00-" ID "-" SPAN "-.0", false},
        {"00-" ID "-" SPAN "-0.", false},
        {"00-" ID "-" SPAN "-1", false},
        {"00-" ID "-" SPAN "-0A", false},
        {"00-" ID "-" SPAN, false},
        {"00_" ID "_" SPAN "_01", false},
        {"00-" ID "-" SPAN "-01,00-" ID "-" SPAN "-01", false},
        {"", false},
        {"-", false},
    };

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_trace t;
        bool ok = wbi_trace_parse(wbi_str_z(rows[i].text), &t);
        if (ok != rows[i].ok)
            print_error("row %zu: %s\n", i, rows[i].text);
        assert_int_equal(ok, rows[i].ok);
    }
}

static void tracestates_are_valid_or_dropped(void **state)
{
    static const struct {
        const char *text;
        bool ok;
    } rows[] = {
        {"foo=1", true},
        {"foo=1,bar=2", true},
        {"foo=1 \t , \t bar=2, \t baz=3", true},
        {"foo=1,", true},
        {",foo=1,,bar=2", true},
        {"", true},
        {"foo@tenant=1", true},
        {"0foo@tenant=1", true},
        {"a-b_c*d/e=value with spaces", true},
        {"foo=1,foo=1", false}, /* duplicate keys */
        {"foo=1,foo=2", false},
        {"foo", false},
        {"foo=", false},
        {"=1", false},
        {"foo =1", false},
        {"FOO=1", false},
        {"foo.bar=1", false},
        {"0foo=1", false},
        {"foo@=1", false},
        {"@foo=1", false},
        {"foo@@bar=1", false},
        {"foo@bar@baz=1", false},
        {"foo=bar=baz", false},
        {"foo=\x01", false},
        {"foo=\xc3\xa4", false},
        {"foo@thatsystemnameistoolong=1", false},
    };
    char many[512], value[300] = "k=";
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        if (wbi_trace_state_valid(wbi_str_z(rows[i].text)) != rows[i].ok)
            print_error("row %zu: %s\n", i, rows[i].text);
        assert_int_equal(wbi_trace_state_valid(wbi_str_z(rows[i].text)), rows[i].ok);
    }
    for (int i = 0; i < 33; i++)
        n += (size_t)snprintf(many + n, sizeof(many) - n, "%sa%d=1", i ? "," : "", i);
    assert_false(wbi_trace_state_valid(wbi_str_make(many, n))); /* at most 32 members */
    assert_true(wbi_trace_state_valid(wbi_str_make(many, n - 6)));
    memset(value + 2, 'v', 257);
    assert_true(wbi_trace_state_valid(wbi_str_make(value, 2 + 256)));
    assert_false(wbi_trace_state_valid(wbi_str_make(value, 2 + 257)));
}

/* S1 "Tracing spans should link on these ids for end-to-end visibility." */
static void a_child_keeps_trace_flags_and_state_and_gets_a_span(void **state)
{
    uint64_t counter = 0;
    struct wbi_ids ids = wbi_ids_counting(&counter);
    struct wbi_trace parent, child;
    char text[WBI_TRACEPARENT_SIZE];

    (void)state;
    assert_true(
        wbi_trace_begin(WBI_LIT("00-" ID "-" SPAN "-03"), WBI_LIT("a=1,b=2"), &ids, &parent));
    wbi_trace_format(&parent, text);
    assert_string_equal(text, "00-" ID "-" SPAN "-03");
    wbi_trace_child(&parent, &ids, &child);
    assert_memory_equal(child.trace_id, parent.trace_id, 16);
    assert_memory_not_equal(child.span_id, parent.span_id, 8);
    assert_int_equal(child.flags, 3);
    assert_string_equal(child.state, "a=1,b=2");
    wbi_trace_format(&child, text);
    assert_true(wbi_trace_parse(wbi_str_z(text), &child));
}

static void a_bad_parent_begins_anew_and_drops_the_state(void **state)
{
    uint64_t counter = 7;
    struct wbi_ids ids = wbi_ids_counting(&counter);
    struct wbi_trace t;
    char text[WBI_TRACEPARENT_SIZE];

    (void)state;
    assert_false(wbi_trace_begin(WBI_LIT("nonsense"), WBI_LIT("a=1"), &ids, &t));
    assert_string_equal(t.state, "");
    wbi_trace_format(&t, text);
    assert_true(wbi_trace_parse(wbi_str_z(text), &t));
    assert_false(wbi_trace_begin(WBI_NONE, WBI_NONE, &ids, &t));
    /* a bad state does not spoil a good parent; unknown flags are not passed on */
    assert_true(wbi_trace_begin(WBI_LIT("00-" ID "-" SPAN "-ff"), WBI_LIT("A=1"), &ids, &t));
    assert_string_equal(t.state, "");
    assert_int_equal(t.flags, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traceparents_are_taken_or_restart_the_trace),
        cmocka_unit_test(tracestates_are_valid_or_dropped),
        cmocka_unit_test(a_child_keeps_trace_flags_and_state_and_gets_a_span),
        cmocka_unit_test(a_bad_parent_begins_anew_and_drops_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
