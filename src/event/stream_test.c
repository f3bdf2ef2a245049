/* SPDX-License-Identifier: Apache-2.0
 * event/stream_test.c: frames (C8.9). S1 "The Result envelope is delivered at
 * completion; partials are emitted as events/frames out-of-band."; "Some providers
 * stream partial results. When streaming is enabled by a caller:" */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/limits.h"
#include "event/stream.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

static bool next_is(struct wbi_stream *s, const char *expected)
{
    struct wbi_str frame = wbi_stream_peek(s);
    bool same = wbi_str_eqz(frame, expected);

    if (!same)
        print_error("%.*s\n", WBI_FMT(frame));
    wbi_stream_drop(s);
    return same;
}

/* S1 "Partial frames carry correlationId and sequence numbers."; matrix 20:
 * a stream that fails at frame k gives 0..k-1 and one error frame. */
static void frames_count_from_zero_and_end_once(void **state)
{
    struct wbi_stream *s;
    int calls = 0;

    (void)state;
    assert_int_equal(wbi_stream_new(WBI_LIT("c-1"), 10000, count, &calls, &s), WB_OK);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_PARTIAL, WBI_LIT("{\"text\":\"a\"}")), WB_OK);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_HEARTBEAT, WBI_NONE), WB_OK);
    assert_int_equal(calls, 1);
    assert_false(wbi_stream_committed(s));
    assert_true(next_is(s, "{\"correlationId\":\"c-1\",\"sequence\":0,\"event\":\"partial\","
                           "\"data\":{\"text\":\"a\"}}"));
    assert_true(wbi_stream_committed(s));
    assert_true(next_is(
        s, "{\"correlationId\":\"c-1\",\"sequence\":1,\"event\":\"heartbeat\",\"data\":{}}"));
    assert_null(wbi_stream_peek(s).p);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_ERROR, WBI_LIT("{\"kind\":\"timed_out\"}")),
                     WB_OK);
    assert_int_equal(calls, 2);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_COMPLETED, WBI_NONE), WB_EMISUSE);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_PARTIAL, WBI_NONE), WB_EMISUSE);
    assert_true(next_is(s, "{\"correlationId\":\"c-1\",\"sequence\":2,\"event\":\"error\","
                           "\"data\":{\"kind\":\"timed_out\"}}"));
    assert_null(wbi_stream_peek(s).p);
    wbi_stream_free(s);
}

static void a_slow_caller_misses_partials_but_never_the_end(void **state)
{
    struct wbi_stream *s;
    int taken = 0;

    (void)state;
    assert_int_equal(wbi_stream_new(WBI_LIT("c"), 300, NULL, NULL, &s), WB_OK);
    for (int i = 0; i < 100; i++) {
        wb_rc rc = wbi_stream_put(s, WBI_FRAME_PARTIAL, WBI_LIT("{\"i\":1}"));
        assert_true(rc == WB_OK || rc == WB_EAGAIN);
        taken += rc == WB_OK;
    }
    assert_in_range(taken, 1, 10);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_COMPLETED, WBI_NONE), WB_OK);
    for (int i = 0; i <= taken; i++) { /* no gaps in what arrives */
        char part[32];

        snprintf(part, sizeof(part), "\"sequence\":%d,", i);
        assert_true(wbi_str_find(wbi_stream_peek(s), wbi_str_z(part)) < wbi_stream_peek(s).n);
        if (i == taken) {
            snprintf(part, sizeof(part), "\"leftOut\":%d}", 100 - taken);
            assert_true(wbi_str_find(wbi_stream_peek(s), wbi_str_z(part)) < wbi_stream_peek(s).n);
        }
        wbi_stream_drop(s);
    }
    assert_null(wbi_stream_peek(s).p);
    wbi_stream_free(s);
}

static void a_frame_has_a_largest_size(void **state)
{
    static char big[WBI_LIMIT_FRAME + 10];
    struct wbi_stream *s;

    (void)state;
    memset(big, '1', sizeof(big));
    assert_int_equal(wbi_stream_new(WBI_LIT("c"), 1 << 20, NULL, NULL, &s), WB_OK);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_PARTIAL, wbi_str_make(big, sizeof(big))),
                     WB_ELIMIT);
    assert_int_equal(wbi_stream_put(s, WBI_FRAME_COMPLETED, WBI_NONE), WB_OK);
    assert_true(
        next_is(s, "{\"correlationId\":\"c\",\"sequence\":0,\"event\":\"completed\",\"data\":{}}"));
    wbi_stream_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_count_from_zero_and_end_once),
        cmocka_unit_test(a_slow_caller_misses_partials_but_never_the_end),
        cmocka_unit_test(a_frame_has_a_largest_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
