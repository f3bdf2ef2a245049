/* SPDX-License-Identifier: Apache-2.0
 * mcp/line_test.c: lines and events out of bytes, however they are cut, and what is known of
 * those that are too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/checked.h"
#include "mcp/line.h"
#include "mcp/sse.h"

static void lines_are_found_however_they_are_cut(void **state)
{
    static const char text[] = "one\n\n  \ntwo\r\nlong long long line\nthree\nrest";

    (void)state;
    for (size_t cut = 1; cut < sizeof(text); cut++) {
        char seen[64] = "";
        struct wbi_lines l;

        wbi_lines_init(&l, 10);
        for (size_t at = 0; at < sizeof(text) - 1; at += cut) {
            struct wbi_str bytes = wbi_str_make(text + at, WBI_MIN(cut, sizeof(text) - 1 - at));
            struct wbi_str line;

            while (wbi_lines_next(&l, &bytes, &line)) {
                size_t n = strlen(seen);
                (void)snprintf(seen + n, sizeof(seen) - n, "%.*s|", WBI_FMT(line));
                assert_int_equal(l.lost, line.p == NULL);
            }
        }
        assert_string_equal(seen, "one|two||three|");
        assert_int_equal(l.too_long, 1);
        wbi_lines_fini(&l);
    }
}

/* Of a message too long to be read, its id and whether it asks. */
static void what_was_too_long_is_still_known_by_its_id(void **state)
{
    static const struct {
        const char *line, *id; /* NULL: none that can be used */
        bool asks;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}", "7", true},
        {"{\"method\":\"m\",\"params\":{\"id\":9,\"x\":[{\"id\":8}]},\"id\":\"a b\"}", "\"a b\"",
         true},
        {" { \"id\" : -12 , \"result\" : { \"method\" : 1 } } ", "-12", false},
        {"{\"params\":\"\\\",\\\"id\\\":1,\",\"id\":0}", "0", false},
        {"{\"result\":\"\\\\\",\"id\":3}", "3", false},
        {"{\"x\":\"id\",\"y\":1}", NULL, false},
        {"{\"id\":null}", NULL, false},
        {"{\"id\":1.5}", NULL, false},
        {"{\"id\":007}", NULL, false},
        {"{\"id\":\"a\\u0062\"}", NULL, false},
        {"{\"id\":[\"a\"]}", NULL, false},
        {"{\"id\":{\"a\":1}}", NULL, false},
        {"{\"id\":\"never ends", NULL, false},
        {"{\"id\":5", NULL, false},
        {"[{\"id\":5,\"method\":\"m\"}]", NULL, false},
        {"}}}}]]\":,id,{\"id\":4}", NULL, false},
        {"\"id\":6", NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_str line = wbi_str_z(rows[i].line);

        for (size_t cut = 1; cut <= line.n; cut++) {
            struct wbi_overlong o = {0};
            struct wbi_str id;

            for (size_t at = 0; at < line.n; at += cut)
                wbi_overlong_feed(&o, wbi_str_head(wbi_str_from(line, at), cut));
            id = wbi_overlong_id(&o);
            if (!wbi_str_eq(id, wbi_str_z(rows[i].id)) || (id.p == NULL) != (rows[i].id == NULL) ||
                (id.p != NULL && o.has_method != rows[i].asks))
                fail_msg("%s in pieces of %zu: %.*s, %d", rows[i].line, cut, WBI_FMT(id),
                         o.has_method);
        }
    }
}

/* Row 95. */
static void events_are_found_however_they_are_cut(void **state)
{
    static const char text[] = ": hello\n\nevent: message\ndata: one\n\ndata:two\rdata: lines\r\r"
                               "id: 7\r\ndata: x\r\n\r\ndata: too long for the cap of it\n\n"
                               "data\n\nretry: 5\n\ndata: end\n\n";

    (void)state;
    for (size_t cut = 1; cut < sizeof(text); cut++) {
        char seen[128] = "";
        struct wbi_sse s;

        wbi_sse_init(&s, 16);
        for (size_t at = 0; at < sizeof(text) - 1; at += cut) {
            struct wbi_str bytes = wbi_str_make(text + at, WBI_MIN(cut, sizeof(text) - 1 - at));
            struct wbi_str data;

            while (wbi_sse_next(&s, &bytes, &data)) {
                size_t n = strlen(seen);
                (void)snprintf(seen + n, sizeof(seen) - n, "%.*s|", WBI_FMT(data));
            }
        }
        assert_string_equal(seen, "one|two\nlines|x||end|");
        assert_int_equal(s.too_long, 1);
        assert_string_equal(s.last_id, "7");
        assert_int_equal(s.retry_ms, 5);
        wbi_sse_fini(&s);
    }
}

/* HTML, "Interpreting an event stream": what no empty line has ended is discarded, and its
 * id with it; an event without data has one all the same; one byte order mark is skipped. */
static void half_an_event_is_nothing(void **state)
{
    static const struct {
        const char *stream, *seen, *last_id; /* so far, of all streams */
    } rows[] = {
        {"\xef\xbb\xbfid: 1\ndata: one\n\n", "one|", "1"},
        {"id: 2\ndata: ha", "one|", "1"},
        {"data: two\n\n", "one|two|", "1"},
        {"id: 3\ndata: three\n", "one|two|", "1"},
        {"id: 4\n\ndata: x\r", "one|two|", "4"},
        {"\ndata: four\n\nid: 5", "one|two|four|", "4"},
        {"\xef\xbb\xbf\ndata: five\n\n", "one|two|four|five|", "4"},
        {"id\ndata: six\n\n", "one|two|four|five|six|", ""},
    };
    char seen[64] = "";
    struct wbi_sse s;

    (void)state;
    wbi_sse_init(&s, 16);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_str bytes = wbi_str_z(rows[i].stream), data;

        wbi_sse_restart(&s);
        while (wbi_sse_next(&s, &bytes, &data)) {
            size_t n = strlen(seen);
            (void)snprintf(seen + n, sizeof(seen) - n, "%.*s|", WBI_FMT(data));
        }
        assert_string_equal(seen, rows[i].seen);
        assert_string_equal(s.last_id, rows[i].last_id);
    }
    wbi_sse_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found_however_they_are_cut),
        cmocka_unit_test(what_was_too_long_is_still_known_by_its_id),
        cmocka_unit_test(events_are_found_however_they_are_cut),
        cmocka_unit_test(half_an_event_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
