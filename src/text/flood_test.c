/* SPDX-License-Identifier: Apache-2.0
 * text/flood_test.c: cleaning, redaction and the index of a preview, one behind the other
 * as output passes them: a line without an end and binary noise, memory flat and counts
 * true, 1 GiB each with WAYBILL_SOAK, a twentieth otherwise; what looks like secrets and is
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/limits.h"
#include "text/hygiene.h"
#include "text/preview.h"
#include "text/secrets_int.h"

#define PIECE (64u * WBI_KIB)
#define MOST_KB (32 * 1024L)

struct pipeline {
    struct wbi_secrets *set;
    struct wbi_hygiene hygiene;
    struct wbi_secrets_stream secrets;
    struct wbi_preview_index *index;
    struct wbi_buf clean, shown;
    uint64_t bytes; /* that came out */
};

static void start(struct pipeline *p)
{
    struct wbi_secrets_options options = {.key = WBI_LIT("k")};

    *p = (struct pipeline){.bytes = 0};
    assert_int_equal(wbi_secrets_new(&options, &p->set, NULL, NULL), WB_OK);
    wbi_hygiene_init(&p->hygiene);
    wbi_secrets_stream_init(&p->secrets, p->set);
    assert_int_equal(wbi_preview_index_new(WBI_LIT("cat"), &p->index), WB_OK);
    wbi_buf_init(&p->clean, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init(&p->shown, WBI_LIMIT_CALL_ARENA);
}

static void pass_on(struct pipeline *p)
{
    assert_int_equal(wbi_secrets_stream_feed(&p->secrets, wbi_buf_str(&p->clean), &p->shown),
                     WB_OK);
    assert_int_equal(wbi_preview_index_feed(p->index, wbi_buf_str(&p->shown)), WB_OK);
    p->bytes += p->shown.n;
    wbi_buf_clear(&p->clean);
    wbi_buf_clear(&p->shown);
}

static void feed(struct pipeline *p, struct wbi_str text)
{
    assert_int_equal(wbi_hygiene_feed(&p->hygiene, text, &p->clean), WB_OK);
    pass_on(p);
}

/* Lines that were indexed. */
static uint64_t finish(struct pipeline *p)
{
    uint64_t lines;

    assert_int_equal(wbi_hygiene_finish(&p->hygiene, &p->clean), WB_OK);
    pass_on(p);
    assert_int_equal(wbi_secrets_stream_finish(&p->secrets, &p->shown), WB_OK);
    pass_on(p);
    assert_int_equal(wbi_preview_index_end(p->index), WB_OK);
    lines = wbi_preview_index_lines(p->index);
    wbi_preview_index_free(p->index);
    wbi_secrets_stream_fini(&p->secrets);
    wbi_hygiene_fini(&p->hygiene);
    wbi_secrets_free(p->set);
    wbi_buf_fini(&p->clean);
    wbi_buf_fini(&p->shown);
    return lines;
}

static uint64_t amount(void)
{
    return (uint64_t)WBI_MIB * 1024 / (getenv("WAYBILL_SOAK") != NULL ? 1 : 20);
}

static void check_memory(void)
{
    char line[200];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "re");

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    if (f != NULL)
        fclose(f);
    printf("resident peak: %ld KiB\n", kb);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(kb < MOST_KB);
#endif
}

static void a_line_without_an_end(void **state)
{
    static char piece[PIECE];
    struct pipeline p;
    uint64_t left;

    (void)state;
    memset(piece, 'x', sizeof piece);
    start(&p);
    for (left = amount(); left >= PIECE; left -= PIECE)
        feed(&p, wbi_str_make(piece, PIECE));
    assert_int_equal(finish(&p), 1);
    assert_int_equal(p.bytes, amount() - left);
    check_memory();
}

static void binary_noise(void **state)
{
    static uint64_t piece[PIECE / 8];
    struct pipeline p;
    uint64_t seed = 1, lines = 0, left;

    (void)state;
    start(&p);
    for (left = amount(); left >= PIECE; left -= PIECE) {
        for (size_t i = 0; i < PIECE / 8; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            piece[i] = seed;
        }
        for (size_t i = 0; i < PIECE; i++)
            lines += ((const char *)piece)[i] == '\n';
        feed(&p, wbi_str_make((const char *)piece, PIECE));
    }
    feed(&p, WBI_LIT("\n"));
    assert_int_equal(finish(&p), lines + 1);
    check_memory();
}

/* What every secret begins with, and nothing else: each is looked at without reading on to
 * the end of the line for it, which would take minutes. */
static void nothing_but_beginnings(void **state)
{
    static const char *const between[] = {"", "-", "="};
    enum { BETWEEN = sizeof between / sizeof *between };
    static char piece[PIECE];

    (void)state;
    for (size_t i = 0; i < wbi_secret_rules_n * BETWEEN; i++) {
        struct wbi_str literal = wbi_str_z(wbi_secret_rules[i / BETWEEN].literal);
        const char *gap = between[i % BETWEEN];
        struct pipeline p;
        size_t n = 0;

        while (n + literal.n + 1 <= PIECE) {
            memcpy(piece + n, literal.p, literal.n);
            memcpy(piece + n + literal.n, gap, strlen(gap));
            n += literal.n + strlen(gap);
        }
        start(&p);
        feed(&p, wbi_str_make(piece, n));
        assert_true(finish(&p) >= 1);
    }
}

/* Beginnings of objects that may be a Kubernetes Secret, as `grep -h apiVersion` prints them:
 * each is read up to the next, and what lies in one another no more than so often. Heads of
 * tables and of blocks, too. */
static void nothing_but_objects(void **state)
{
    static const char *const objects[] = {"apiVersion: v1\n",
                                          "kind: Secret\n",
                                          "kind: Secret\ndata:\n",
                                          "{\"kind\":\"Secret\",\"data\":{",
                                          "a,token\n",
                                          "a,token\nb,token\n",
                                          "password: |\n  a1b2c3d4\n"};
    static const char sealed[] = "apiVersion: v1\nkind: Secret\ndata:\n  colour: Ymx1ZQ==\n---\n";
    static char piece[PIECE];
    clock_t begin = clock();

    (void)state;
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        size_t n = 0, length = strlen(objects[i]);
        struct wbi_buf out;
        struct pipeline p;

        for (; n + length <= PIECE; n += length)
            memcpy(piece + n, objects[i], length);
        start(&p);
        for (int k = 0; k < 16; k++)
            feed(&p, wbi_str_make(piece, n));
        wbi_buf_init(&out, 4 * PIECE);
        assert_int_equal(wbi_secrets_replace(p.set, wbi_str_make(piece, n), &out, NULL), WB_OK);
        wbi_buf_clear(&out);
        memcpy(piece + n - n % length - sizeof sealed - length, sealed, sizeof sealed - 1);
        assert_int_equal(wbi_secrets_replace(p.set, wbi_str_make(piece, n), &out, NULL), WB_OK);
        if (i < 2) /* where objects lie in one another, not all are looked at */
            assert_true(wbi_str_find(wbi_buf_str(&out), WBI_LIT("Ymx1ZQ==")) == out.n);
        wbi_buf_fini(&out);
        (void)finish(&p);
    }
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 30); /* it took minutes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_without_an_end),
        cmocka_unit_test(binary_noise),
        cmocka_unit_test(nothing_but_beginnings),
        cmocka_unit_test(nothing_but_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
