/* SPDX-License-Identifier: Apache-2.0
 * text/preview_wide_test.c: lines say the same, whatever vectors the machine has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "text/preview_int.h"
#include "text/tokens_int.h"

static uint64_t next_chance(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

/* Words, marks and runs of any length, so that they lie across every place where a look ends. */
static void add_random(struct wbi_buf *b, uint64_t *seed)
{
    static const char *const pieces[] = {"error",
                                         "TypeError",
                                         "IOException",
                                         "FAILED:",
                                         "0",
                                         "12",
                                         "2048",
                                         " ",
                                         "  ",
                                         "\t",
                                         "/",
                                         ".c:12",
                                         "(3,4)",
                                         "-",
                                         "-----",
                                         "....",
                                         "++++++",
                                         "+",
                                         "_x_9",
                                         "\"",
                                         "'",
                                         "`",
                                         "not",
                                         "found",
                                         "warning",
                                         ":",
                                         "[",
                                         "\xe2\x80\x9c",
                                         "\xe2\x80\x9d",
                                         "\xc3\xa4",
                                         "12:34:56",
                                         "DEBUG",
                                         " CREATE_FAILED",
                                         "_ERROR",
                                         "_EXCEPTION",
                                         "_FAILURES"};
    uint64_t kind = next_chance(seed, 20), n = next_chance(seed, 90);

    if (kind == 0) {
        for (uint64_t i = 0; i < n; i++)
            wbi_buf_addc(b, (char)('a' + i % 26));
    } else if (kind == 1) {
        for (uint64_t i = 0; i < n; i++)
            wbi_buf_addc(b, (char)('0' + i % 10));
    } else if (kind == 2) {
        char mark = "-=.+#"[next_chance(seed, 5)];

        for (uint64_t i = 0; i < n; i++)
            wbi_buf_addc(b, mark);
    } else {
        wbi_buf_addz(b, pieces[next_chance(seed, WBI_COUNT(pieces))]);
    }
}

#define LOOKS 20000u

/* The shape of a line by one way of reading it and by another. */
struct two_shapes {
    uint64_t a;
    uint64_t b;
};

static int by_shape(const void *x, const void *y)
{
    const struct two_shapes *p = x, *q = y;

    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

/* Lines are alike by both ways or by neither. */
static void assert_alike(struct two_shapes *s, size_t n)
{
    size_t alike = 0;

    for (int round = 0; round < 2; round++) {
        qsort(s, n, sizeof *s, by_shape);
        for (size_t i = 1; i < n; i++) {
            assert_true(s[i].a != s[i - 1].a || s[i].b == s[i - 1].b);
            alike += s[i].a == s[i - 1].a;
        }
        for (size_t i = 0; i < n; i++)
            s[i] = (struct two_shapes){s[i].b, s[i].a};
    }
    assert_true(alike > n / 4);
}

/* A copy of the line with nothing readable behind it. */
static char *random_line(uint64_t *seed, size_t *ret_n)
{
    struct wbi_buf line;
    char *exact;

    wbi_buf_init(&line, 1u << 20);
    for (uint64_t k = next_chance(seed, next_chance(seed, 2) ? 24 : 5); k > 0; k--)
        add_random(&line, seed);
    exact = malloc(line.n + 1);
    assert_non_null(exact);
    memcpy(exact, line.n > 0 ? line.p : "", line.n);
    *ret_n = line.n;
    wbi_buf_fini(&line);
    return exact;
}

static void lines_say_the_same_with_and_without_wide_vectors(void **state)
{
    struct words *words = calloc(1, sizeof *words);
    struct two_shapes *shapes = calloc(LOOKS, sizeof *shapes);

    (void)state;
    assert_non_null(words);
    assert_non_null(shapes);
    wbi_words_init(words, WBI_LIT("grep abcdefgh error found"));
    for (size_t lanes = 32; lanes <= wbi_tokens_lanes(); lanes *= 2) {
        uint64_t seed = 11;

        for (unsigned round = 0; round < LOOKS; round++) {
            struct line_facts a = {.n_numbers = 0}, b = {.n_numbers = 0};
            size_t all, n;
            char *line = random_line(&seed, &all);

            n = all > 0 ? (size_t)next_chance(&seed, all + 1) : 0;
            wbi_line_look_with(words, wbi_str_make(line, all), n, lanes, &a);
            wbi_line_look_with(words, wbi_str_make(line, n), n, 0, &b);
            shapes[round] = (struct two_shapes){a.shape, b.shape};
            a.shape = b.shape;
            assert_memory_equal(&a, &b, sizeof a);
            free(line);
        }
        assert_alike(shapes, LOOKS);
    }
    free(shapes);
    free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_say_the_same_with_and_without_wide_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
