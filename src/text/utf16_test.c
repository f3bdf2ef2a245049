/* SPDX-License-Identifier: Apache-2.0
 * text/utf16_test.c: output in UTF-16 is cleaned as the text it is (C6.5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "text/hygiene.h"

/* In pieces of every size, so that each byte is the last of one. */
static struct wbi_hygiene_counts expect(struct wbi_str in, const char *want)
{
    struct wbi_hygiene_counts counts = {0};

    for (size_t piece = 1; piece <= in.n; piece++) {
        struct wbi_hygiene h;
        struct wbi_buf out;

        wbi_buf_init(&out, 1u << 20);
        wbi_hygiene_init_output(&h);
        for (size_t at = 0; at < in.n; at += piece)
            assert_int_equal(wbi_hygiene_feed(&h, wbi_str_head(wbi_str_from(in, at), piece), &out),
                             WB_OK);
        assert_int_equal(wbi_hygiene_finish(&h, &out), WB_OK);
        wbi_buf_addc(&out, '\0');
        assert_string_equal(out.p, want);
        counts = h.counts;
        assert_int_equal(counts.bytes_in, in.n);
        wbi_hygiene_fini(&h);
        wbi_buf_fini(&out);
    }
    return counts;
}
#define EXPECT(in, want) expect(wbi_str_make(in, sizeof(in) - 1), want)

static void a_byte_order_mark_tells(void **state)
{
    struct wbi_hygiene_counts c;

    (void)state;
    c = EXPECT("\xff\xfeo\0k\0\r\0\n\0\x3d\xd8\x00\xde!\0", "ok\n\xf0\x9f\x98\x80!");
    assert_int_equal(c.decoded, 1);
    assert_int_equal(c.lines, 1);
    EXPECT("\xfe\xff\0o\0k\0\n", "ok\n");
    EXPECT("\xff\xfe\x2d\x4e\x87\x65\n\0\x2d\x4e\n\0", "\xe4\xb8\xad\xe6\x96\x87\n\xe4\xb8\xad\n");
    EXPECT("\xff\xfe", "");
}

static void letters_with_a_nul_behind_each_tell(void **state)
{
    (void)state;
    assert_int_equal(EXPECT("r\0e\0a\0d\0y\0 \0n\0o\0w\0", "ready now").decoded, 1);
    assert_int_equal(EXPECT("o\0k\0\n\0", "ok\n").decoded, 1);
    EXPECT("f\0\xfc\0r\0\n\0", "f\xc3\xbcr\n");
    /* a colour and a redraw are played out */
    EXPECT("\xff\xfe\x1b\0[\0m\0a\0\r\0b\0\n\0", "b\n");
}

static void other_bytes_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(EXPECT("a\0b\0c\0", "a<U+0000>b<U+0000>c<U+0000>").decoded, 0);
    EXPECT("one\0two\0", "one<U+0000>two<U+0000>");
    EXPECT("\xff\xfe\0\0a\0\0\0",
           "\xef\xbf\xbd\xef\xbf\xbd<U+0000><U+0000>a<U+0000><U+0000><U+0000>");
    EXPECT("a", "a");
    EXPECT("\xff", "\xef\xbf\xbd");
}

static void halves_are_repaired(void **state)
{
    (void)state;
    assert_int_equal(
        EXPECT("\xff\xfe\x3d\xd8x\0\x00\xdcy\0z", "\xef\xbf\xbdx\xef\xbf\xbdy\xef\xbf\xbd")
            .repaired,
        3);
}

/* Several programs may print to one stream. */
static void plain_text_behind_it_is_plain(void **state)
{
    (void)state;
    EXPECT("\xff\xfeo\0k\0\n\0error: no such file\n\xc3\xa9", "ok\nerror: no such file\n\xc3\xa9");
    EXPECT("\xff\xfeo\0k\0\n\0bad\n", "ok\nbad\n");
    EXPECT("\xff\xfeo\0k\0\n\0bad", "ok\nbad");
}

static void half_a_character_waits(void **state)
{
    static const char bytes[] = "\xff\xfeo\0k\0\x3d\xd8\x00";
    struct wbi_hygiene h;
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 1u << 10);
    wbi_hygiene_init_output(&h);
    assert_int_equal(wbi_hygiene_feed(&h, wbi_str_make(bytes, sizeof(bytes) - 1), &out), WB_OK);
    assert_int_equal(wbi_hygiene_finish_so_far(&h, &out), WB_OK);
    assert_int_equal(out.n, 2);
    assert_memory_equal(out.p, "ok", 2);
    wbi_hygiene_fini(&h);
    wbi_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_order_mark_tells),
        cmocka_unit_test(letters_with_a_nul_behind_each_tell),
        cmocka_unit_test(other_bytes_are_left_alone),
        cmocka_unit_test(halves_are_repaired),
        cmocka_unit_test(plain_text_behind_it_is_plain),
        cmocka_unit_test(half_a_character_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
