/* SPDX-License-Identifier: Apache-2.0
 * text/preview_test.c: previews (C6.1 to C6.4): what must be kept is kept, the
 * budget holds, every line is shown or named in a gap, small things are whole,
 * and the shapes are the golden ones of tests/golden/text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "text/hygiene.h"
#include "text/preview_world_test.h"

#define GOLDEN WAYBILL_SOURCE "/tests/golden/text/"

static struct wbi_str load(const char *folder, const char *name, const char *end)
{
    char path[512];
    struct wbi_buf b;
    char piece[4096];
    size_t n;
    FILE *f;

    assert_true((size_t)snprintf(path, sizeof path, "%s%s%s", folder, name, end) < sizeof path);
    f = fopen(path, "rb");
    if (f == NULL)
        return WBI_NONE;
    wbi_buf_init_arena(&b, arena, 64u << 20);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        wbi_buf_add(&b, piece, n);
    fclose(f);
    return wbi_buf_str(&b);
}

/* Segments cover every line once and in order; shown lines are verbatim. */
static void check_segments(struct wbi_str text, const struct wbi_preview *v)
{
    uint64_t next = 1, shown = 0;

    (void)text;
    for (size_t i = 0; i < v->n_segments; i++) {
        const struct wbi_segment *s = &v->segments[i];
        char range[64];

        assert_int_equal(s->first, next);
        assert_true(s->last >= s->first);
        if (s->kind == WBI_SEGMENT_GAP) {
            if (s->first == s->last)
                snprintf(range, sizeof range, "line %llu left out", (unsigned long long)s->first);
            else
                snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)s->first,
                         (unsigned long long)s->last);
            assert_true(has(*v, range));
        } else if (s->kind != WBI_SEGMENT_SUMMARY) {
            shown += s->last - s->first + 1;
        }
        next = s->last + 1;
    }
    assert_int_equal(next, v->lines_total + 1);
    if (v->n_segments > 0 && v->segments[0].kind != WBI_SEGMENT_SUMMARY)
        assert_int_equal(shown, v->lines_shown);
}

struct golden {
    const char *name;
    uint64_t budget;
    const char *keep[8];
};
static const struct golden goldens[] = {
    {"small", 400, {"one\ntwo\nthree"}},
    {"small_json", 400, {"  \"items\": ["}},
    {"pytest",
     400,
     {"assert 67 == 66", "test_login_needs_token", "no attribute 'strip'", "2 failed, 410 passed"}},
    {"build",
     400,
     {"error: too few arguments to function 'ring_flush'", "src/mod171.c:40:9",
      "FAILED: CMakeFiles/app.dir/src/mod171.c.o", "build stopped"}},
    {"tap", 400, {"not ok 97 - queue_drop_97", "not ok 203 - queue_drop_203", "on line 214"}},
    {"types", 500, {"TS2551", "'vat'", "Found 400 errors in 37 files.", "Cannot find name"}},
    {"java",
     500,
     {"IllegalStateException: cannot settle order 5512", "Settle.java:71",
      "Caused by: java.sql.SQLException: connection refused by db-3"}},
    {"recursion", 400, {"SIGSEGV", "#0 ", "parse_file", "main (argc=2) at main.c:12"}},
    {"trace", 400, {"ECONNREFUSED", "+++ exited with 3 +++"}},
    {"memcheck", 400, {"Invalid read of size 4", "list.c:44", "ERROR SUMMARY: 1 errors"}},
    {"diff", 600, {"diff --git a/src/file0.c", "b/src/file12.c", "b/src/file23.c"}},
    {"lint_json", 600, {"'ledgerRow' is not defined.", "part17.js"}},
    {"listing", 400, {"missing: No such file or directory", "file_000.dat", "file_499.dat"}},
    {"minified", 400, {"Error: bad state 9", "bundle.min.js:1:31874"}},
    {"ci", 400, {"expected 200, got 503 from /health", "exit code 1"}},
    {"times",
     500,
     {"MismatchError: expected: <10.24> but was: <10.25>", "RoundingTest.java:88",
      "Tests run: 412, Failures: 1", "exit code 1"}},
    {"rules",
     500,
     {"use of memory after it is freed", "/src/part5.c:77:9",
      "style-braces \xc3\x97"
      "13",
      "flow-dead-store", "Suppressed 311 warnings."}},
    {"report",
     600,
     {"use after free on address 0x60", "report app/s.c:9", "session_close app/s.c:18",
      "session_open app/s.c:11", "SUMMARY: use after free"}},
    {"deep_json",
     500,
     {"'helperX' is not defined.", "m19.js",
      "\"no-undef\" \xc3\x97"
      "1"}},
    {"manual", 400, {"parcel - keep and price parcels", "PRICES AND ZONES", "STALE LABELS"}},
    {"tree", 400, {"carrier-core@4.1.0", "label-printer@7.0.1", "route-plan@3.3.3"}},
    {"frames",
     500,
     {"no tariff for zone 7", "job 59 taken", "depot::price::tariff_of", "depot::quote::run",
      "src/quote.rs:40:9"}},
    {"elsewhere", 400, {"/etc/depot/license.key"}},
    {"table", 400, {"Mounted on", "/srv/spool97"}},
    {"checks", 400, {"Found parser, version 3.4", "written to: /srv/b", "lease_r: phony"}},
    {"batches", 400, {"batch 171: 12 done, 2 failed", "batch 299"}},
    {"modules_json", 600, {"ring", "queue", "audit", "lease"}},
    {"words_diff", 500, {"b/src/part1.c", "b/src/part7.c", "b/src/part13.c"}},
    {"cause",
     500,
     {"NameError: name 'tarif' is not defined", "src/shop/settle.py:88", "30 failed, 210 passed"}},
    {"levels",
     500,
     {"TASK [check : run it]", "upstream quotes-b is not known", "failed=1", "read past its end"}},
    {"subtests", 400, {"not ok 6 - when", "rows.test.js:90:3", "expected: 'row 42'", "# fail 1"}},
    {"sql", 400, {"duplicate key value violates unique constraint", "Key (id)=(77)"}},
    /* of several failures what each complains of, before the names of all that failed */
    {"values",
     400,
     {"Expected: 1190", "Received: 1290", "-   \"currency\": \"CHF\"", "+   \"currency\": \"EUR\"",
      "Received: \"Hello Ada and Bob\"", "Cannot read properties of undefined",
      "6 failed, 31 passed"}},
    {"sides",
     400,
     {"left: 1290", "right: 1190", "2 tea, 1 jam", "2 tea, 2 jam", "contains(\"Hello Ada, Bob\")",
      "19 passed; 5 failed"}},
    {"labels",
     400,
     {"cart_test.cc:41: Failure", "Which is: 1290\n  1190", "actual: 990 vs 1900",
      "Which is: \"Hello Ada and Bob\"", "  \"Hello Ada, Bob\"", "3 FAILED TESTS"}},
    {"both_values",
     500,
     {"expected: <1190> but was: <1290>", "expected: <1900> but was: <990>", "NullPointer"}},
    {"changes",
     400,
     {"1290 to be 1190", "-   \"currency\": \"CHF\"", "+   \"currency\": \"EUR\"", "990 to be 1900",
      "Cannot read properties of undefined"}},
    {"asserts",
     400,
     {"assert 1950 == 1500", "assert 99 == 100", "assert -2 >= 0",
      "'The-Long-Way-Home' == 'the-long-way-home'", "KeyError: 'washer'", "6 failed, 41 passed"}},
    /* where the program itself was, below the frames of its libraries */
    {"own_frame",
     400,
     {"index out of range [0] with length 0", "FirstTag(...)", "book/book.go:26",
      "assignment to entry in nil map", "store/store.go:13"}},
};

static void facts_are_kept_and_previews_are_golden(void **state)
{
    bool update = getenv("WAYBILL_UPDATE_GOLDEN") != NULL;
    unsigned wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const struct golden *g = &goldens[i];
        struct wbi_str text = load(GOLDEN, g->name, ".in"), want = load(GOLDEN, g->name, ".want");
        struct wbi_preview v;
        char path[512];
        FILE *f;

        assert_non_null(text.p);
        v = preview(text, g->budget);
        check_segments(text, &v);
        assert_true(v.tokens <= g->budget);
        for (size_t k = 0; k < 8 && g->keep[k] != NULL; k++) {
            if (!has(v, g->keep[k])) {
                print_error("%s lost \"%s\"\n", g->name, g->keep[k]);
                wrong++;
            }
        }
        if (update) {
            snprintf(path, sizeof path, GOLDEN "%s.want", g->name);
            f = fopen(path, "wb");
            assert_non_null(f);
            fprintf(f, "%.*s\n", WBI_FMT(v.text));
            fclose(f);
        } else if (want.n != v.text.n + 1 || memcmp(want.p, v.text.p, v.text.n) != 0) {
            print_error("%s differs from its golden preview:\n%.*s\n", g->name, WBI_FMT(v.text));
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* C6.3: the words of the seed, the counts, the call that reads the rest */
static void the_notice_says_what_is_missing_and_how_to_read_it(void **state)
{
    struct wbi_preview v = preview(load(GOLDEN, "build", ".in"), 400);
    char notice[128];

    (void)state;
    assert_true(v.truncated);
    snprintf(notice, sizeof notice, "[output truncated: showing first %llu and last %llu lines",
             (unsigned long long)v.first_lines, (unsigned long long)v.last_lines);
    assert_true(has(v, notice));
    assert_true(has(v, "ReadArtifact {\"path\":\"out\",\"lines\":\""));
}

/* An end of which nothing is shown is not named, whatever the budget. */
static void the_notice_never_counts_nothing(void **state)
{
    struct wbi_str text = load(GOLDEN, "build", ".in");

    (void)state;
    for (uint64_t budget = 10; budget < 600; budget += 7) {
        struct wbi_preview v = preview(text, budget);

        assert_false(has(v, "first 0") || has(v, "last 0"));
        assert_true(v.lines_shown > 0 || (budget < 60 && has(v, "showing no lines of")));
    }
}

static void small_text_is_whole_and_has_no_notice(void **state)
{
    struct wbi_preview v = preview(WBI_LIT("a\nb\n"), 100);

    (void)state;
    assert_false(v.truncated);
    assert_true(wbi_str_eqz(v.text, "a\nb"));
    assert_int_equal(v.lines_shown, 2);
    v = preview(WBI_LIT(""), 100);
    assert_int_equal(v.text.n, 0);
    assert_int_equal(v.n_segments, 0);
    assert_false(v.truncated);
}

struct file {
    struct wbi_str text;
    size_t reads;
    size_t bytes;
};
static wb_rc read_file(void *arg, uint64_t offset, size_t n, struct wbi_buf *out)
{
    struct file *f = arg;

    assert_true(offset + n <= f->text.n);
    f->reads++;
    f->bytes += n;
    wbi_buf_add(out, f->text.p + offset, n);
    return WB_OK;
}

/* Any cutting of the input gives the same preview, and few bytes are read again. */
static void pieces_of_any_size_give_the_same_preview(void **state)
{
    static const size_t steps[] = {1, 7, 64, 4096};
    struct wbi_str text = load(GOLDEN, "java", ".in");
    struct wbi_preview_policy policy = {.budget = 400};
    struct wbi_preview first = {.n_segments = 0}, v;

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct wbi_preview_index *x = NULL;
        struct file f = {text, 0, 0};

        assert_int_equal(wbi_preview_index_new(WBI_NONE, &x), WB_OK);
        for (size_t at = 0; at < text.n; at += steps[k])
            assert_int_equal(
                wbi_preview_index_feed(x, wbi_str_head(wbi_str_from(text, at), steps[k])), WB_OK);
        assert_int_equal(wbi_preview_index_end(x), WB_OK);
        assert_int_equal(wbi_preview_make(arena, x, &policy, read_file, &f, &v, NULL), WB_OK);
        if (k == 0)
            first = v;
        assert_true(wbi_str_eq(first.text, v.text));
        wbi_preview_index_free(x);
    }
}

/* Lines that say the same, in runs of 1 to 400, some with times before them. */
static struct wbi_str text_of_runs(void)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, arena, 8u << 20);
    for (unsigned i = 0; i < 60; i++)
        for (unsigned k = 0; k < 1 + i * i % 401; k++)
            if (i % 3 == 0)
                wbi_buf_addf(&b, "10:%02u:%02u worker %u waits\n", k / 60, k % 60, i);
            else
                wbi_buf_addf(&b, "%s%u\n", i % 3 == 1 ? "part " : "", i / 7);
    return wbi_buf_str(&b);
}

/* The same preview, however the text comes, and whether its lines had to wait or not. */
static void runs_are_the_same_in_pieces_of_any_size(void **state)
{
    static const size_t steps[] = {3, 50, 1000, 65536, 1u << 20};
    struct wbi_str text = text_of_runs();
    struct wbi_preview_policy policy = {.budget = 700};

    (void)state;
    for (size_t n = 2000; n < text.n; n = n * 3 + 7) {
        struct wbi_str head = wbi_str_head(text, n);
        struct wbi_preview want = preview(head, 700), v;

        check_segments(head, &want);
        policy.read_call = WBI_LIT("ReadArtifact {\"path\":\"out\",\"lines\":\"A-B\"}");
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            struct wbi_preview_index *x = NULL;
            struct file f = {head, 0, 0};

            assert_int_equal(wbi_preview_index_new(WBI_NONE, &x), WB_OK);
            for (size_t at = 0; at < n; at += steps[k])
                assert_int_equal(
                    wbi_preview_index_feed(x, wbi_str_head(wbi_str_from(head, at), steps[k])),
                    WB_OK);
            assert_int_equal(wbi_preview_index_end(x), WB_OK);
            assert_int_equal(wbi_preview_make(arena, x, &policy, read_file, &f, &v, NULL), WB_OK);
            assert_true(wbi_str_eq(want.text, v.text));
            wbi_preview_index_free(x);
        }
    }
}

/* C6.4: one line with a count, however many there are. */
static void lines_that_say_the_same_fold_into_one(void **state)
{
    struct wbi_preview v;
    struct wbi_buf b;

    (void)state;
    wbi_buf_init_arena(&b, arena, 8u << 20);
    for (unsigned i = 0; i < 100000; i++)
        wbi_buf_addz(&b, "y\n");
    v = preview(wbi_buf_str(&b), 8000);
    assert_true(wbi_str_eqz(v.text, "y\n[output truncated: showing first 1 line of 100000; lines "
                                    "2-100000 left out, 99999 identical: ReadArtifact "
                                    "{\"path\":\"out\",\"lines\":\"2-100000\"}]"));
    assert_int_equal(v.lines_shown, 1);
    wbi_buf_clear(&b);
    wbi_buf_addz(&b, "begin\n\n\n\nsame\nsame\nsame\n");
    for (unsigned i = 0; i < 900; i++)
        wbi_buf_addf(&b, i == 377 ? "10:%02u:%02u slow disk\n" : "10:%02u:%02u heartbeat ok\n",
                     i / 60, i % 60);
    wbi_buf_addz(&b, "end");
    v = preview(wbi_buf_str(&b), 500);
    check_segments(wbi_buf_str(&b), &v);
    assert_true(has(v, "begin\n\n\n\nsame\nsame\nsame\n10:00:00 heartbeat ok\n[output truncated"));
    assert_true(has(v, "lines 9-384 left out, 376 alike: "));
    assert_true(has(v, "\n10:06:17 slow disk\n10:06:18 heartbeat ok\n"
                       "[\xe2\x80\xa6 lines 387-907: 521 alike left out]\nend"));
}

/* Numbers that are no time are what such lines tell. */
static void lines_with_other_numbers_do_not_fold(void **state)
{
    struct wbi_preview v;
    struct wbi_buf b;

    (void)state;
    wbi_buf_init_arena(&b, arena, 1u << 20);
    for (unsigned i = 0; i < 900; i++)
        wbi_buf_addf(&b, "%u bytes\n", 1000 + i * 7);
    v = preview(wbi_buf_str(&b), 500);
    assert_true(has(v, "1000 bytes\n1007 bytes\n1014 bytes\n"));
    assert_true(v.lines_shown > 50);
}

/* 10⁶ lines: counts are true, the failure in the middle is there, memory is flat */
static void a_million_lines_keep_their_one_failure(void **state)
{
    struct wbi_preview_index *x = NULL;
    struct wbi_preview_policy policy = {.budget = 500};
    struct wbi_preview v;
    struct wbi_buf all;
    struct file f;

    (void)state;
    wbi_buf_init(&all, 64u << 20);
    for (int i = 0; i < 1000000; i++) {
        if (i == 612345)
            wbi_buf_addz(&all, "store.c:77: fatal: page 9 is corrupt\n");
        else
            wbi_buf_addf(&all, "tick %d ok\n", i);
    }
    assert_int_equal(wbi_buf_rc(&all), WB_OK);
    f = (struct file){wbi_buf_str(&all), 0, 0};
    assert_int_equal(wbi_preview_index_new(WBI_NONE, &x), WB_OK);
    assert_int_equal(wbi_preview_index_feed(x, f.text), WB_OK);
    assert_int_equal(wbi_preview_index_end(x), WB_OK);
    assert_int_equal(wbi_preview_index_lines(x), 1000000);
    assert_int_equal(wbi_preview_make(arena, x, &policy, read_file, &f, &v, NULL), WB_OK);
    assert_true(has(v, "store.c:77: fatal: page 9 is corrupt"));
    assert_true(has(v, "tick 0 ok"));
    assert_true(has(v, "tick 999999 ok"));
    assert_true(v.tokens <= 500);
    assert_true(f.bytes < 200000);
    check_segments(f.text, &v);
    wbi_preview_index_free(x);
    wbi_buf_fini(&all);
}

/* Lines of one shape: one reading far from all others, one status that never was. */
static void a_number_unlike_all_others_is_shown(void **state)
{
    struct wbi_preview v;
    struct wbi_buf b;

    (void)state;
    wbi_buf_init(&b, 1u << 20);
    for (unsigned i = 0; i < 6000; i++) {
        unsigned near = 20 + i * 7 % 3;

        wbi_buf_addf(&b, "%02u:%02u:%02u probe %u t=%u.%uC rh=%u%% code %u\n", i / 3600,
                     i / 60 % 60, i % 60, i % 16, i == 3456 ? 96 : near, i % 10, 40 + i % 5,
                     i == 4711 ? 502 : 200);
    }
    v = preview(wbi_buf_str(&b), 500);
    assert_true(has(v, "t=96."));
    assert_true(has(v, "code 502"));
    wbi_buf_fini(&b);
}

static void a_huge_line_is_cut_around_what_matters(void **state)
{
    struct wbi_buf b;
    struct wbi_preview v;

    (void)state;
    wbi_buf_init_arena(&b, arena, 4u << 20);
    for (int i = 0; i < 3000; i++)
        wbi_buf_addf(&b, "item%d, ", i);
    wbi_buf_addz(&b, "fatal error: disk is gone");
    for (int i = 0; i < 200000; i++)
        wbi_buf_addf(&b, "item%d, ", i);
    v = preview(wbi_buf_str(&b), 300);
    assert_true(has(v, "item0, "));
    assert_true(has(v, "fatal error: disk is gone"));
    assert_true(v.truncated);
    assert_true(v.tokens <= 300);
    assert_int_equal(v.segments[0].kind, WBI_SEGMENT_CLIPPED);
}

/* Where nothing else is worth showing, both ends of a line grow. */
static void long_lines_use_what_is_left(void **state)
{
    struct wbi_preview v;
    struct wbi_buf b;

    (void)state;
    wbi_buf_init_arena(&b, arena, 1u << 20);
    for (unsigned i = 0; i < 30000; i++)
        wbi_buf_addz(&b, i < 15000 ? "word " : "last ");
    for (uint64_t budget = 300; budget < 20000; budget = budget * 3 / 2) {
        v = preview(wbi_buf_str(&b), budget);
        assert_in_range(v.tokens, budget * 8 / 10, budget);
        assert_true(v.text.n > budget * 3);
        assert_true(has(v, "word word [\xe2\x80\xa6 ") || has(v, "word [\xe2\x80\xa6 ") ||
                    has(v, "word  [\xe2\x80\xa6 "));
        assert_true(has(v, "last last"));
        check_segments(wbi_buf_str(&b), &v);
    }
    wbi_buf_clear(&b);
    for (unsigned i = 0; i < 12000; i++)
        wbi_buf_addf(&b, i == 7000 ? "the disk is full, error 28; " : "%u,", i);
    wbi_buf_addz(&b, "\nshort\n");
    v = preview(wbi_buf_str(&b), 3000);
    assert_true(has(v, "0,1,2,3,"));
    assert_true(has(v, "the disk is full, error 28; "));
    assert_true(has(v, "11998,11999,\nshort"));
    assert_in_range(v.tokens, 2400, 3000);
}

/* C6.1: the ends of lines cost as well, and most where lines are short. */
static void short_lines_that_fit_fit(void **state)
{
    struct wbi_buf b;

    (void)state;
    wbi_buf_init(&b, 1u << 16);
    for (unsigned n = 200; n < 700; n += 20) {
        struct wbi_preview v;

        wbi_buf_clear(&b);
        for (unsigned i = 0; i < n; i++)
            wbi_buf_addf(&b, i % 5 ? "%u\n" : "ok\n", 100 + i);
        v = preview(wbi_buf_str(&b), 1000);
        assert_true(wbi_tokens(v.text) <= 1000);
    }
    wbi_buf_fini(&b);
}

static void streams_share_a_budget_by_need(void **state)
{
    uint64_t a, b;

    (void)state;
    wbi_preview_split(1000, 100, 200, &a, &b);
    assert_true(a == 100 && b == 200);
    wbi_preview_split(1000, 5000, 50, &a, &b);
    assert_true(a == 950 && b == 50);
    wbi_preview_split(1000, 50, 5000, &a, &b);
    assert_true(a == 50 && b == 950);
    wbi_preview_split(1000, 5000, 5000, &a, &b);
    assert_true(a == 500 && b == 500);
    wbi_preview_split(0, 5, 5, &a, &b);
    assert_true(a == 0 && b == 0);
}

/* Every output of the corpus: within budget, all lines accounted for. */
static void the_corpus_stays_within_its_budgets(void **state)
{
    static const char *const names[] = {"apt_prompt_abort",
                                        "curl_clang_weverything_error",
                                        "ls_laR",
                                        "binary_cat",
                                        "jest_fail_default_color",
                                        "mcp_directory_tree",
                                        "link_undefined",
                                        "git_clone_progress"};
    const char *shared = getenv("WAYBILL_VECTORS");
    char folder[512];

    (void)state;
    snprintf(folder, sizeof folder, "%s/corpus/", shared ? shared : WAYBILL_SOURCE "/../shared");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct wbi_str raw = load(folder, names[i], ".txt");
        struct wbi_buf clean;

        if (raw.p == NULL) {
            print_message("skipped: corpus previews (no ../shared)\n");
            return;
        }
        wbi_buf_init(&clean, 64u << 20);
        assert_int_equal(wbi_hygiene_clean(raw, &clean, NULL), WB_OK);
        for (uint64_t budget = 60; budget <= 8000; budget = budget * 5 / 2) {
            struct wbi_preview v = preview(wbi_buf_str(&clean), budget);

            if (budget > 100)
                assert_true(v.tokens <= budget);
            check_segments(wbi_buf_str(&clean), &v);
        }
        wbi_buf_fini(&clean);
    }
}

/* More unlike lines than an index remembers: those that tell nothing make room. */
static void a_late_failure_after_a_flood_of_unlike_lines_is_kept(void **state)
{
    struct wbi_preview_policy policy = {.budget = 1000};
    struct wbi_buf b;
    struct wbi_preview v;
    uint64_t seed = 3;

    (void)state;
    wbi_buf_init(&b, 64u << 20);
    for (unsigned i = 0; i < 200000; i++) {
        char word[16];

        for (size_t k = 0; k < sizeof word; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            word[k] = (char)('a' + (seed >> 40) % 26);
        }
        wbi_buf_addf(&b, "%.16s\n", word);
        if (i == 150000)
            wbi_buf_addz(&b, "error: the queue of mail is stuck\n");
    }
    assert_int_equal(wbi_preview_text(arena, wbi_buf_str(&b), &policy, &v, NULL), WB_OK);
    assert_true(has(v, "error: the queue of mail is stuck"));
    wbi_buf_fini(&b);
}

static void token_estimates_add_up(void **state)
{
    struct wbi_str text = load(GOLDEN, "pytest", ".in");
    uint64_t sum = 0;
    size_t at = 0;

    (void)state;
    assert_int_equal(wbi_tokens(WBI_LIT("")), 0);
    assert_true(wbi_tokens(WBI_LIT("hello world")) >= 2);
    while (at < text.n) {
        size_t n = wbi_str_index(wbi_str_from(text, at), '\n') + 1;

        sum += wbi_tokens_units(wbi_str_head(wbi_str_from(text, at), n));
        at += n;
    }
    assert_true(sum >= wbi_tokens_units(text));
    for (uint64_t units = 0; units < 4000; units += 333) {
        size_t n = wbi_tokens_prefix(text, units);

        assert_true(wbi_tokens_units(wbi_str_head(text, n)) <= units + 256);
    }
}

/* Lines are looked at late where a text is small; that does not change what is chosen, whatever
 * pieces it comes in. */
static void texts_of_any_size_are_looked_at_whole(void **state)
{
    static const unsigned lines[] = {60, 1999, 2000, 2001, 2500, 9000};
    static const size_t steps[] = {100, 4096, 70000, 1u << 20};
    struct wbi_preview_policy policy = {.budget = 120};

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(lines) * WBI_COUNT(steps); i++) {
        unsigned n = lines[i / WBI_COUNT(steps)];
        size_t step = steps[i % WBI_COUNT(steps)];
        struct wbi_preview_index *x = NULL;
        struct wbi_preview whole, v;
        struct wbi_buf b;
        struct file f;

        wbi_buf_init(&b, 64u << 20);
        for (unsigned k = 0; k < n; k++)
            wbi_buf_addf(&b, k == n / 2 ? "error: no such pump\n" : "step %u went well\n", k);
        f = (struct file){wbi_buf_str(&b), 0, 0};
        assert_int_equal(wbi_preview_text(arena, f.text, &policy, &whole, NULL), WB_OK);
        assert_int_equal(wbi_preview_index_new(WBI_NONE, &x), WB_OK);
        for (size_t at = 0; at < f.text.n; at += step)
            assert_int_equal(
                wbi_preview_index_feed(x, wbi_str_head(wbi_str_from(f.text, at), step)), WB_OK);
        assert_int_equal(wbi_preview_index_end(x), WB_OK);
        assert_int_equal(wbi_preview_make(arena, x, &policy, read_file, &f, &v, NULL), WB_OK);
        assert_int_equal(v.lines_total, n);
        assert_true(has(v, "error: no such pump"));
        assert_true(wbi_str_eq(whole.text, v.text));
        wbi_preview_index_free(x);
        wbi_buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_kept_and_previews_are_golden),
        cmocka_unit_test(the_notice_says_what_is_missing_and_how_to_read_it),
        cmocka_unit_test(the_notice_never_counts_nothing),
        cmocka_unit_test(small_text_is_whole_and_has_no_notice),
        cmocka_unit_test(pieces_of_any_size_give_the_same_preview),
        cmocka_unit_test(runs_are_the_same_in_pieces_of_any_size),
        cmocka_unit_test(lines_that_say_the_same_fold_into_one),
        cmocka_unit_test(lines_with_other_numbers_do_not_fold),
        cmocka_unit_test(a_million_lines_keep_their_one_failure),
        cmocka_unit_test(a_late_failure_after_a_flood_of_unlike_lines_is_kept),
        cmocka_unit_test(a_number_unlike_all_others_is_shown),
        cmocka_unit_test(a_huge_line_is_cut_around_what_matters),
        cmocka_unit_test(long_lines_use_what_is_left),
        cmocka_unit_test(short_lines_that_fit_fit),
        cmocka_unit_test(streams_share_a_budget_by_need),
        cmocka_unit_test(the_corpus_stays_within_its_budgets),
        cmocka_unit_test(token_estimates_add_up),
        cmocka_unit_test(texts_of_any_size_are_looked_at_whole),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
