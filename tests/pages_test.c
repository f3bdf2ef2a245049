/* SPDX-License-Identifier: Apache-2.0
 * tests/pages_test.c: what is read page by page. Whatever the budget, pages joined
 * are what one large page has (C7.7), and every page keeps its budget (C6.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "text/tokens.h"
#include "toolbox.h"

static const unsigned budgets[] = {200, 230, 300, 500, 1000, 8000};
#define MANY 64000u

static struct toolbox box;

static int set_up(void **state)
{
    (void)state;
    toolbox_make(&box);
    assert_int_equal(mkdir(tree_at(&box.tree, "work/sub"), 0755), 0);
    assert_int_equal(mkdir(tree_at(&box.tree, "work/sub/z"), 0755), 0);
    toolbox_open(&box);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    toolbox_end(&box);
    return 0;
}

/* n characters without blanks, as base64 has them. */
static void add_noise(struct wbi_buf *out, size_t n)
{
    static uint32_t seed = 1;

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        wbi_buf_addc(
            out, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234567"[seed / 65536 % 60]);
    }
}

static void put(const char *path, const struct wbi_buf *text)
{
    assert_true(tree_put(&box.tree, path, text->p, text->n));
}

/* One call; its receipt keeps the budget. */
static struct toolcall page(const char *tool, const char *input, unsigned budget,
                            struct wbi_str token)
{
    struct toolcall c;

    c = token.p == NULL
            ? toolbox_callf(&box, tool, "{%s,\"max_output_tokens\":%u}", input, budget)
            : toolbox_callf(&box, tool, "{%s,\"max_output_tokens\":%u,\"pageToken\":\"%.*s\"}",
                            input, budget, WBI_FMT(token));
    if (!c.ok)
        fail_msg("%.*s", WBI_FMT(c.receipt));
    if (wbi_tokens(c.receipt) > budget)
        fail_msg("%u tokens, %u allowed:\n%.*s", (unsigned)wbi_tokens(c.receipt), budget,
                 WBI_FMT(c.receipt));
    return c;
}

/* ---- SearchFiles ---- */

/* "path:12 path-13 …" of all pages; texts of lines that are not cut must be whole. */
static struct wbi_str searched(const char *input, unsigned budget, unsigned *ret_pages)
{
    struct wbi_str token = WBI_NONE;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, box.arena, WBI_LIMIT_JSON_TEXT);
    *ret_pages = 0;
    do {
        struct toolcall c = page("SearchFiles", input, budget, token);
        bool shows = false, cut = false;

        WBI_JSON_EACH (wbi_json_get(c.result, "files"), f) {
            WBI_JSON_EACH (wbi_json_get(f, "lines"), l) {
                int64_t number = 0;

                assert_true(wbi_json_i64(wbi_json_get(l, "line"), &number));
                wbi_buf_adds(&out, wbi_json_get_str(f, "path"));
                wbi_buf_addf(&out, "%c%lld ", wbi_json_true(wbi_json_get(l, "match")) ? ':' : '-',
                             (long long)number);
                shows = true;
                cut = cut || wbi_json_true(wbi_json_get(l, "cut"));
            }
        }
        assert_true(shows);
        assert_int_equal(cut, wbi_str_find(c.receipt, WBI_LIT("\nCut: ")) < c.receipt.n);
        assert_int_equal(cut, wbi_str_find(c.receipt, WBI_LIT("[line cut]\n")) < c.receipt.n);
        token = wbi_json_get_str(c.result, "nextToken");
        ++*ret_pages;
    } while (token.p != NULL);
    return wbi_buf_str(&out);
}

static void make_searched_files(void)
{
    struct wbi_buf text;

    wbi_buf_init_arena(&text, box.arena, WBI_LIMIT_JSON_TEXT);
    for (int i = 1; i <= 101; i++)
        wbi_buf_addf(&text, "line %d%s\n", i, i % 37 == 14 ? " NEEDLE" : "");
    put("work/sub/short.txt", &text);
    wbi_buf_clear(&text);
    for (int i = 1; i <= 21; i++) {
        add_noise(&text, 950);
        if (i == 11)
            wbi_buf_addz(&text, "NEEDLE");
        add_noise(&text, 950);
        wbi_buf_addc(&text, '\n');
    }
    put("work/sub/long.txt", &text);
    assert_true(tree_puts(&box.tree, "work/sub/z/deep.txt", "NEEDLE\r\nb\r\nNEEDLE"));
}

static void c77_pages_of_a_search_joined_are_all_lines(void **state)
{
    static const char *const asked[] = {"\"context\":0",
                                        "\"context\":1",
                                        "\"context\":50",
                                        "\"before\":3",
                                        "\"after\":50",
                                        "\"context\":10",
                                        "\"context\":20,\"max_matches\":1"};
    char input[128];
    unsigned pages;

    (void)state;
    make_searched_files();
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct wbi_str all;

        snprintf(input, sizeof(input),
                 "\"pattern\":\"NEEDLE$|[0-9]NEEDLE|NEEDLE\",\"path\":\"sub\",%s", asked[i]);
        all = searched(input, MANY, &pages);
        for (size_t k = 0; k < sizeof(budgets) / sizeof(budgets[0]); k++) {
            struct wbi_str joined = searched(input, budgets[k], &pages);

            if (!wbi_str_eq(joined, all))
                fail_msg("%s at %u\n%.*s\n%.*s", asked[i], budgets[k], WBI_FMT(joined),
                         WBI_FMT(all));
            assert_true(budgets[k] > 200 || pages > 1);
        }
    }
}

/* What is said to follow is what follows. */
static void c62_a_search_says_what_is_left(void **state)
{
    struct wbi_buf text;
    struct toolcall c;

    (void)state;
    wbi_buf_init_arena(&text, box.arena, WBI_LIMIT_JSON_TEXT);
    for (int i = 1; i <= 60; i++)
        wbi_buf_addf(&text, "%s %d of a file\n", i == 2 ? "NEEDLE" : "line", i);
    put("work/f.txt", &text);
    c = page("SearchFiles", "\"pattern\":\"NEEDLE\",\"after\":50", 300, WBI_NONE);
    assert_true(wbi_str_starts(c.receipt, WBI_LIT("1 match in 1 file (searched 1 file)\nMore: the "
                                                  "context of the last match goes on;")));
    c = page("SearchFiles", "\"pattern\":\"NEEDLE\",\"after\":50", 300,
             wbi_json_get_str(c.result, "nextToken"));
    assert_true(wbi_str_starts(c.receipt, WBI_LIT("No further matches, context of the last one "
                                                  "(searched 1 file)\n")));
    assert_true(wbi_str_find(c.receipt, WBI_LIT("\nf.txt\n")) < c.receipt.n);
}

/* A line that is cut shows its match. */
static void c61_a_long_line_is_cut_around_its_match(void **state)
{
    (void)state;
    make_searched_files();
    for (size_t k = 0; k < sizeof(budgets) / sizeof(budgets[0]); k++) {
        struct toolcall c = page("SearchFiles", "\"pattern\":\"NEEDLE\",\"path\":\"sub/long.txt\"",
                                 budgets[k], WBI_NONE);

        assert_true(wbi_str_find(c.receipt, WBI_LIT("NEEDLE")) < c.receipt.n);
    }
}

/* ---- ReadFile ---- */

/* The text of all pages, without what says that a line goes on. */
static struct wbi_str read_text(const char *input, unsigned budget)
{
    static const char mark[] = " bytes in all; the next page goes on in it]\n";
    struct wbi_str token = WBI_NONE;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, box.arena, WBI_LIMIT_JSON_TEXT);
    do {
        struct toolcall c = page("ReadFile", input, budget, token);
        struct wbi_str text = wbi_json_get_str(c.result, "text");
        size_t at = wbi_str_find(text, wbi_str_z(mark));
        bool goes_on = wbi_json_true(wbi_json_get(c.result, "last_line_goes_on"));

        assert_int_equal(goes_on, at < text.n);
        if (goes_on) {
            assert_true(wbi_str_find(c.receipt, WBI_LIT("\nMore: the last line goes on;")) <
                        c.receipt.n);
            text.n = at;
            while (text.p[--text.n] != '[')
                continue;
        }
        wbi_buf_adds(&out, text);
        token = wbi_json_get_str(c.result, "nextToken");
        assert_true(!goes_on || token.p != NULL);
    } while (token.p != NULL);
    return wbi_buf_str(&out);
}

static void c77_pages_of_a_file_joined_are_the_file(void **state)
{
    struct wbi_buf text;

    (void)state;
    wbi_buf_init_arena(&text, box.arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addz(&text, "\xef\xbb\xbf"
                        "short\n");
    add_noise(&text, 70000);
    wbi_buf_addz(&text, "\nbetween\n");
    for (int i = 0; i < 3000; i++)
        wbi_buf_addz(&text, "\xc3\xa9\xe2\x82\xac word ");
    wbi_buf_addz(&text, "\n\n");
    add_noise(&text, 131072);
    put("work/f.txt", &text);
    for (size_t k = 2; k < sizeof(budgets) / sizeof(budgets[0]); k++) {
        struct wbi_str joined =
            read_text("\"path\":\"f.txt\",\"max_line_bytes\":65536", budgets[k]);

        /* the last line has no newline; the mark at the start is no text */
        assert_int_equal(joined.n, text.n - 3 + 1);
        assert_memory_equal(joined.p, text.p + 3, text.n - 3);
    }
}

/* A limit of lines is that of all their pages. */
static void c77_a_line_is_cut_at_the_same_place_on_any_page(void **state)
{
    struct wbi_str all;
    struct wbi_buf text;

    (void)state;
    wbi_buf_init_arena(&text, box.arena, WBI_LIMIT_JSON_TEXT);
    add_noise(&text, 5000);
    wbi_buf_addz(&text, "\r\n");
    add_noise(&text, 3000);
    wbi_buf_addz(&text, "\r\nend\r\n");
    put("work/f.txt", &text);
    all = read_text("\"path\":\"f.txt\"", MANY);
    assert_true(wbi_str_find(all, WBI_LIT("[line cut: 5000 bytes in all]\n")) == 2000);
    for (size_t k = 0; k < sizeof(budgets) / sizeof(budgets[0]); k++) {
        struct wbi_str joined = read_text("\"path\":\"f.txt\"", budgets[k]);

        assert_true(wbi_str_eq(joined, all));
    }
}

/* ---- ReadArtifact ---- */

/* Everything of the pages but the text of lines: "12: 13- …". */
static struct wbi_str grepped(const char *path, unsigned context, unsigned budget)
{
    struct wbi_str token = WBI_NONE;
    struct wbi_buf out;
    char input[512];

    snprintf(input, sizeof(input), "\"path\":\"%s\",\"grep\":\"NEEDLE\",\"context\":%u", path,
             context);
    wbi_buf_init_arena(&out, box.arena, WBI_LIMIT_JSON_TEXT);
    do {
        struct toolcall c = page("ReadArtifact", input, budget, token);
        struct wbi_str rest = wbi_json_get_str(c.result, "content");
        bool cut = wbi_str_find(rest, WBI_LIT("[line cut]\n")) < rest.n;

        assert_int_equal(cut, wbi_str_find(c.receipt, WBI_LIT("\nCut: ")) < c.receipt.n);
        for (size_t n; rest.n > 0; rest = wbi_str_from(rest, n + 1)) {
            struct wbi_str line = wbi_str_head(rest, n = wbi_str_index(rest, '\n'));
            size_t digits = 0;

            while (digits < line.n && line.p[digits] >= '0' && line.p[digits] <= '9')
                digits++;
            wbi_buf_adds(&out, wbi_str_head(line, digits > 0 ? digits + 1 : 0));
            if (digits > 0 && line.p[digits] == ':')
                assert_true(wbi_str_find(line, WBI_LIT("NEEDLE")) < line.n);
        }
        token = wbi_json_get_str(c.result, "nextToken");
    } while (token.p != NULL);
    return wbi_buf_str(&out);
}

static void c55_pages_of_an_artifact_keep_their_budget(void **state)
{
    static const unsigned contexts[] = {0, 1, 50};
    struct toolcall c;
    char path[256];

    (void)state;
    make_searched_files();
    c = toolbox_call(&box, "ExecCommand",
                     "{\"cmd\":\"cat sub/short.txt sub/long.txt\",\"max_output_tokens\":200}");
    assert_true(c.ok);
    snprintf(
        path, sizeof(path), "%.*s",
        WBI_FMT(wbi_json_get_str(wbi_json_at(wbi_json_get(c.result, "artifacts"), 0), "path")));
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof(budgets) / sizeof(budgets[0]); k++) {
            struct wbi_str all = grepped(path, contexts[i], MANY);
            struct wbi_str joined = grepped(path, contexts[i], budgets[k]);

            if (!wbi_str_eq(all, joined))
                fail_msg("%u at %u\n%.*s\n%.*s", contexts[i], budgets[k], WBI_FMT(joined),
                         WBI_FMT(all));
        }
}

/* A path of an answer is one that the next call takes. */
static void c73_paths_name_the_file_for_the_next_call(void **state)
{
    static const char *const given[] = {"sub", "sub/", "./sub", "sub/../sub", "."};
    struct toolcall c;

    (void)state;
    assert_true(tree_puts(&box.tree, "work/f.txt", "other\n"));
    assert_true(tree_puts(&box.tree, "work/sub/f.txt", "NEEDLE\n"));
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        c = toolbox_callf(&box, "SearchFiles", "{\"pattern\":\"NEEDLE\",\"path\":\"%s\"}",
                          given[i]);
        c = toolbox_callf(
            &box, "ReadFile", "{\"path\":\"%.*s\"}",
            WBI_FMT(wbi_json_get_str(wbi_json_at(wbi_json_get(c.result, "files"), 0), "path")));
        assert_true(wbi_str_eqz(wbi_json_get_str(c.result, "text"), "NEEDLE\n"));
        c = toolbox_callf(&box, "ListFiles", "{\"path\":\"%s\",\"glob\":\"**/f.txt\"}", given[i]);
        WBI_JSON_EACH (wbi_json_get(c.result, "entries"), e) {
            struct toolcall r = toolbox_callf(&box, "ReadFile", "{\"path\":\"%.*s\"}",
                                              WBI_FMT(wbi_json_get_str(e, "path")));
            assert_true(r.ok);
            if (i < 4)
                assert_true(wbi_str_eqz(wbi_json_get_str(r.result, "text"), "NEEDLE\n"));
        }
    }
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(c77_pages_of_a_search_joined_are_all_lines),
        EACH(c62_a_search_says_what_is_left),
        EACH(c61_a_long_line_is_cut_around_its_match),
        EACH(c77_pages_of_a_file_joined_are_the_file),
        EACH(c77_a_line_is_cut_at_the_same_place_on_any_page),
        EACH(c55_pages_of_an_artifact_keep_their_budget),
        EACH(c73_paths_name_the_file_for_the_next_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
