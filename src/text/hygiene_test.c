/* SPDX-License-Identifier: Apache-2.0
 * text/hygiene_test.c: cleaned text (C6.5; attack rows 108 and 109; O1, O4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "text/hygiene.h"

static struct wbi_hygiene_counts counts;

static void expect(struct wbi_str in, const char *want)
{
    struct wbi_buf out, again;
    struct wbi_hygiene h;

    wbi_buf_init(&out, 1u << 20);
    wbi_buf_init(&again, 1u << 20);
    assert_int_equal(wbi_hygiene_clean(in, &out, &counts), WB_OK);
    wbi_buf_addc(&out, '\0');
    assert_string_equal(out.p, want);
    out.n--;
    /* clean text stays as it is */
    assert_true(wbi_hygiene_is_clean(wbi_buf_str(&out)));
    assert_int_equal(wbi_hygiene_clean(wbi_buf_str(&out), &again, NULL), WB_OK);
    assert_int_equal(again.n, out.n);
    assert_memory_equal(again.p ? again.p : "", out.p, out.n);
    /* byte by byte gives the same */
    wbi_buf_clear(&again);
    wbi_hygiene_init(&h);
    for (size_t i = 0; i < in.n; i++)
        assert_int_equal(wbi_hygiene_feed(&h, wbi_str_make(in.p + i, 1), &again), WB_OK);
    assert_int_equal(wbi_hygiene_finish(&h, &again), WB_OK);
    assert_int_equal(again.n, out.n);
    assert_memory_equal(again.p ? again.p : "", out.p, out.n);
    assert_memory_equal(&h.counts, &counts, sizeof counts);
    wbi_hygiene_fini(&h);
    wbi_buf_fini(&out);
    wbi_buf_fini(&again);
}
#define EXPECT(in, want) expect(wbi_str_make(in, sizeof(in) - 1), want)

static void plain_text_passes(void **state)
{
    (void)state;
    EXPECT("", "");
    EXPECT("one\n\ttwo\n\nthree", "one\n\ttwo\n\nthree");
    EXPECT("na\xc3\xafve \xe2\x80\x98quoted\xe2\x80\x99\n",
           "na\xc3\xafve \xe2\x80\x98quoted\xe2\x80\x99\n");
    assert_int_equal(counts.lines, 1);
    EXPECT("\xe2\x9a\xa0\xef\xb8\x8f careful", "\xe2\x9a\xa0\xef\xb8\x8f careful");
}

static void redraws_end_in_their_final_text(void **state)
{
    (void)state;
    EXPECT("10%\r50%\r100%\n", "100%\n");
    assert_int_equal(counts.redraws, 2);
    EXPECT("one\r\ntwo\r\n", "one\ntwo\n");
    EXPECT("abc\rX\n", "Xbc\n");
    EXPECT("abcdef\rX\x1b[K\n", "X\n");
    EXPECT("progress 10%\x1b[2K\rdone\n", "done\n");
    EXPECT("abc\b\bX\n", "aXc\n");
    EXPECT("_\bu_\bn\n", "un\n");
    EXPECT("a\x1b[3Cb\n", "a   b\n");
    EXPECT("abc\x1b[1GX\n", "Xbc\n");
    EXPECT("caf\xc3\xa9\rX\n", "Xaf\xc3\xa9\n");
}

/* row 108 */
static void escape_sequences_vanish_and_the_state_survives(void **state)
{
    (void)state;
    EXPECT("\x1b[1;31mred\x1b[0m", "red");
    EXPECT("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ after", "link after");
    EXPECT("\x1b]52;c;Zm9v\x07text", "text");
    EXPECT("\x1b]0;title\x07text", "text");
    EXPECT("\x1bPq#0;2;0\x1b\\text", "text");
    EXPECT("\xc2\x9b"
           "31mred",
           "red");
    EXPECT("\x9b"
           "31mred",
           "\xef\xbf\xbd"
           "31mred");
    EXPECT("\x1b(B\x1b[mtext\x0f", "text");
    EXPECT("text\x1b", "text");
    EXPECT("text\x1b[12;", "text");
    EXPECT("\x1b]0;never closed\nnext line", "\nnext line");
    EXPECT("\x1b[31\xc3\xa9", "\xc3\xa9");
    assert_int_equal(counts.sequences, 1);
}

/* row 109 */
static void invisible_characters_are_shown_and_counted(void **state)
{
    static const uint32_t list[] = {
        0xe0000, 0xe0001, 0xe007f, 0xe0100, 0xe01ef, 0xfe00, 0xfe0f, 0x200b, 0x200f,
        0x202a,  0x202e,  0x2060,  0x206f,  0xfeff,  0x00ad, 0x034f, 0x061c, 0x115f,
        0x1160,  0x180b,  0x180f,  0x3164,  0xffa0,  0xfff9, 0xfffb,
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char in[8] = "a", want[32];
        size_t n = 1 + wbi_utf8_put(list[i], in + 1);

        in[n++] = 'b';
        snprintf(want, sizeof want, "a<U+%04X>b", (unsigned)list[i]);
        expect(wbi_str_make(in, n), want);
        assert_int_equal(counts.invisible, 1);
    }
    /* nor is a selector whose symbol is drawn over */
    EXPECT("\xe2\x9a\xa0\xef\xb8\x8f\rA\n", "A<U+FE0F>\n");
    assert_int_equal(counts.invisible, 1);
    EXPECT("ab\xe2\x9a\xa0\xef\xb8\x8f\x1b[3D\xe2\x9a\xa0\xef\xb8\x8e\n",
           "a\xe2\x9a\xa0\xef\xb8\x8e<U+FE0F>\n");
    EXPECT("\xe2\x9a\xa0\xef\xb8\x8f 10%\r\xe2\x9a\xa0\xef\xb8\x8f 20%\n",
           "\xe2\x9a\xa0\xef\xb8\x8f 20%\n");
    assert_int_equal(counts.invisible, 0);
}

static void other_controls_are_shown(void **state)
{
    (void)state;
    EXPECT("a\0b\x01\x7f", "a<U+0000>b<U+0001><U+007F>");
    assert_int_equal(counts.controls, 3);
    EXPECT("ding\x07", "ding");
    EXPECT("\x7f"
           "ELF\x02\r\x01",
           "<U+007F>ELF<U+0002><U+000D><U+0001>");
    EXPECT("\xc2\x85", "<U+0085>");
}

/* O4: one mark per maximal ill-formed subpart */
static void broken_utf8_is_repaired_by_rule(void **state)
{
    (void)state;
    EXPECT("a\xff"
           "b",
           "a\xef\xbf\xbd"
           "b");
    EXPECT("\xe2\x82", "\xef\xbf\xbd");
    EXPECT("\xe2\x82"
           "A",
           "\xef\xbf\xbd"
           "A");
    EXPECT("\xf0\x9f\x92", "\xef\xbf\xbd");
    EXPECT("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");
    assert_int_equal(counts.repaired, 2);
}

static void names_stay_on_one_line(void **state)
{
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 1000);
    wbi_hygiene_one_line(
        WBI_LIT("no\nsuch\t\x1b[31m \xe2\x80\xae\xc2\x9b\x7f \xe2\x9a\xa0\xef\xb8\x8f \xff\xc3"),
        &out);
    assert_true(wbi_str_eqz(wbi_buf_str(&out),
                            "no\\nsuch<U+0009><U+001B>[31m <U+202E><U+009B><U+007F> "
                            "\xe2\x9a\xa0\xef\xb8\x8f \xef\xbf\xbd\xef\xbf\xbd"));
    wbi_buf_fini(&out);
}

/* What JSON text says is clean too (C6.5, row 109); what is hidden is never lost. */
static void escapes_of_hidden_characters_become_marks(void **state)
{
    static const struct {
        const char *json;
        const char *want; /* NULL: stays as it is */
        bool respelled;   /* when read and written again */
    } cases[] = {
        {"{\"a\":[1.10,true,\"b\\n\\t\\\"\\\\\"]}", NULL, false},
        {"[\"\\u202e\\u200B\\u009b31m\\u007f\"]", "[\"<U+202E><U+200B><U+009B>31m<U+007F>\"]",
         true},
        {"[\"\\udb40\\udc41\\ufeff\"]", "[\"<U+E0041><U+FEFF>\"]", true},
        {"[\"\\\\u202e\\\\\\u202e\"]", "[\"\\\\u202e\\\\<U+202E>\"]", true},
        {"[\"\\u26a0\\ufe0f \xe2\x9a\xa0\\ufe0f a\\ufe0f\"]",
         "[\"\\u26a0\\ufe0f \xe2\x9a\xa0\\ufe0f a<U+FE0F>\"]", true},
        {"[\"\\u001b[31m\\u0000\"]", NULL, false},
        {"[\"\\u001B\"]", NULL, true},
        {"[\"\\u000a\"]", NULL, true},
        {"[\"a\\/b\"]", NULL, true},
        {"[\"gh\\u0070\"]", NULL, true},
        {"[\"\\u20\"]", NULL, false},
        {"\\", NULL, false},
    };
    struct wbi_arena *arena;

    (void)state;
    assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wbi_str json = wbi_str_z(cases[i].json), got;
        const char *want = cases[i].want ? cases[i].want : cases[i].json;

        assert_int_equal(wbi_hygiene_json(arena, json, &got), WB_OK);
        if (!wbi_str_eqz(got, want))
            fail_msg("%s became %.*s", cases[i].json, WBI_FMT(got));
        assert_int_equal(wbi_hygiene_json_respelled(json), cases[i].respelled);
    }
    wbi_arena_free(arena);
}

static void a_huge_line_stays_in_bounds(void **state)
{
    struct wbi_hygiene h;
    struct wbi_buf out;
    char piece[1000];
    uint64_t total = 0;

    (void)state;
    memset(piece, 'x', sizeof piece);
    wbi_hygiene_init(&h);
    wbi_buf_init(&out, 1u << 20);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(wbi_hygiene_feed(&h, wbi_str_make(piece, sizeof piece), &out), WB_OK);
        total += out.n;
        wbi_buf_clear(&out);
        assert_true(h.line.n <= 65 * 1024);
    }
    assert_int_equal(wbi_hygiene_finish(&h, &out), WB_OK);
    assert_int_equal(total + out.n, 3000000);
    wbi_hygiene_fini(&h);
    wbi_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_passes),
        cmocka_unit_test(redraws_end_in_their_final_text),
        cmocka_unit_test(escape_sequences_vanish_and_the_state_survives),
        cmocka_unit_test(invisible_characters_are_shown_and_counted),
        cmocka_unit_test(other_controls_are_shown),
        cmocka_unit_test(broken_utf8_is_repaired_by_rule),
        cmocka_unit_test(names_stay_on_one_line),
        cmocka_unit_test(escapes_of_hidden_characters_become_marks),
        cmocka_unit_test(a_huge_line_stays_in_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
