/* SPDX-License-Identifier: Apache-2.0
 * tests/seed_citations_test.c: every sentence and every example of the seeds has a row
 * in tests/seeds/NUMBER.cite, and every row names tests that exist. A row:
 *   SECTION.NUMBER HASH first words of the sentence
 *     path/to/x_test.c:function     a test of that program
 *     path/to/data                  a golden, journey or conversation
 *     path/to/data:words            the part of it that holds these words
 *     - reason                      nothing to show (no sentence about behaviour)
 * The seeds are read where they are; without them only the rows are checked.
 * WAYBILL_UPDATE=1 writes rows for new and changed sentences, without tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <glob.h>

#include "arena_fixture.h"
#include "shared_vectors.h"
#include "support/seed.h"

#define FOLDER WAYBILL_SOURCE "/tests/seeds"

static const char *const seeds[] = {"000", "001", "002", "004"};

struct row {
    struct wbi_str head;  /* the row's first line */
    struct wbi_str hash;  /* in it */
    struct wbi_str cites; /* the lines below, with their ends */
    bool used;
};

struct citations {
    struct wbi_buf text;
    struct row rows[SEED_SENTENCES_MAX];
    size_t n;
};

static struct citations cited;
static struct seed_sentence sentences[SEED_SENTENCES_MAX];

static struct wbi_str next_line(struct wbi_str *text)
{
    size_t n = wbi_str_index(*text, '\n');
    struct wbi_str line = wbi_str_head(*text, n);

    *text = wbi_str_from(*text, n + 1);
    return line;
}

static void read_rows(const char *seed)
{
    char path[512];
    struct wbi_str rest;

    (void)snprintf(path, sizeof(path), FOLDER "/%s.cite", seed);
    cited.n = 0;
    if (!read_whole_file(path, &cited.text) && getenv("WAYBILL_UPDATE") == NULL)
        fail_msg("%s: cannot be read", path);
    for (rest = wbi_buf_str(&cited.text); rest.n > 0;) {
        struct wbi_str line = next_line(&rest);

        if (line.n == 0 || line.p[0] == '#')
            continue;
        if (line.p[0] == ' ') {
            assert_true(cited.n > 0);
            if (cited.rows[cited.n - 1].cites.p == NULL)
                cited.rows[cited.n - 1].cites.p = line.p;
            cited.rows[cited.n - 1].cites.n =
                (size_t)(line.p + line.n + 1 - cited.rows[cited.n - 1].cites.p);
            continue;
        }
        assert_true(cited.n < SEED_SENTENCES_MAX);
        cited.rows[cited.n++] = (struct row){
            .head = line,
            .hash = wbi_str_head(wbi_str_from(line, wbi_str_index(line, ' ') + 1), 8),
        };
    }
}

/* ---- the tests a row names ---- */

/* Times name stands in text as a whole word. */
static unsigned words(struct wbi_str text, struct wbi_str name)
{
    unsigned n = 0;
    size_t at;

    while ((at = wbi_str_find(text, name)) < text.n) {
        bool before = at > 0 && (isalnum((unsigned char)text.p[at - 1]) || text.p[at - 1] == '_');
        struct wbi_str rest = wbi_str_from(text, at + name.n);
        bool after = rest.n > 0 && (isalnum((unsigned char)rest.p[0]) || rest.p[0] == '_');

        n += !before && !after;
        text = rest;
    }
    return n;
}

/* What is wrong with a citation, NULL when it holds. A test in C is defined and listed. */
static const char *wrong(struct wbi_str cite)
{
    struct wbi_str path = wbi_str_head(cite, wbi_str_index(cite, ':'));
    struct wbi_str part = wbi_str_from(cite, path.n + 1);
    bool program = wbi_str_ends(path, WBI_LIT("_test.c"));
    const char *problem = NULL;
    char whole[512];
    struct wbi_buf text;

    if (!wbi_str_starts(path, WBI_LIT("tests/")) && !program)
        return "is no test";
    (void)snprintf(whole, sizeof(whole), WAYBILL_SOURCE "/%.*s", WBI_FMT(path));
    if (!read_whole_file(whole, &text))
        problem = "does not exist";
    else if (program && (part.n == 0 || words(wbi_buf_str(&text), part) < 2))
        problem = "has no such test";
    else if (part.n > 0 && wbi_str_find(wbi_buf_str(&text), part) == text.n)
        problem = "does not hold these words";
    wbi_buf_fini(&text);
    return problem;
}

static unsigned wrong_cites(const char *seed, const struct row *row)
{
    struct wbi_str rest = row->cites;
    unsigned bad = 0;

    if (rest.n == 0) {
        printf("seed %s: no test for: %.*s\n", seed, WBI_FMT(row->head));
        return 1;
    }
    while (rest.n > 0) {
        struct wbi_str cite = wbi_str_trim(next_line(&rest));
        bool reason = wbi_str_starts(cite, WBI_LIT("- "));
        const char *problem = reason ? NULL : wrong(cite);

        if (problem != NULL) {
            printf("seed %s: %.*s\n  %.*s %s\n", seed, WBI_FMT(row->head), WBI_FMT(cite), problem);
            bad++;
        }
    }
    return bad;
}

static void test_every_row_names_tests_that_exist(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        unsigned reasons = 0;

        read_rows(seeds[i]);
        for (size_t r = 0; r < cited.n; r++) {
            bad += wrong_cites(seeds[i], &cited.rows[r]);
            reasons += wbi_str_starts(wbi_str_trim(cited.rows[r].cites), WBI_LIT("- "));
        }
        printf("seed %s: %zu rows, %u of them without behaviour\n", seeds[i], cited.n, reasons);
        wbi_buf_fini(&cited.text);
    }
    if (bad > 0)
        fail_msg("%u citations do not hold", bad);
}

/* ---- the sentences ---- */

static bool read_seed(const char *seed, struct wbi_buf *text)
{
    char pattern[1024], name[64];
    glob_t found;
    bool ok;

    (void)snprintf(name, sizeof(name), "seeds/%s_*.txt", seed);
    ok = glob(shared_path(pattern, sizeof(pattern), name), 0, NULL, &found) == 0;
    if (ok)
        ok = read_whole_file(found.gl_pathv[0], text);
    else
        printf("skipped: sentences of seed %s (no ../shared)\n", seed);
    globfree(&found);
    return ok;
}

/* A row's first line as it should be: key, hash and the first words. */
static struct wbi_str head_of(const struct seed_sentence *s)
{
    size_t n = s->text.n;

    if (n > 72) {
        for (n = 72; n > 40 && s->text.p[n] != ' ';)
            n--;
        while (((unsigned char)s->text.p[n] & 0xc0) == 0x80)
            n--;
    }
    return wbi_arena_fmt(arena, "%u.%u %s %.*s", s->section, s->number, s->hash,
                         WBI_FMT(wbi_str_head(s->text, n)));
}

static struct row *row_of(const struct seed_sentence *s)
{
    for (size_t r = 0; r < cited.n; r++)
        if (!cited.rows[r].used && wbi_str_eqz(cited.rows[r].hash, s->hash))
            return &cited.rows[r];
    return NULL;
}

static void rewrite(const char *seed, size_t n)
{
    unsigned section = 0;
    char path[512];
    FILE *f;

    (void)snprintf(path, sizeof(path), FOLDER "/%s.cite", seed);
    f = fopen(path, "wb");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        struct row *row = row_of(&sentences[i]);

        if (sentences[i].section != section)
            fprintf(f, "%s# %.*s\n", section > 0 ? "\n" : "", WBI_FMT(sentences[i].heading));
        section = sentences[i].section;
        fprintf(f, "%.*s\n", WBI_FMT(head_of(&sentences[i])));
        if (row != NULL)
            fprintf(f, "%.*s", WBI_FMT(row->cites));
        if (row != NULL)
            row->used = true;
    }
    assert_int_equal(fclose(f), 0);
}

static unsigned compare(const char *seed, size_t n)
{
    unsigned bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct wbi_str head = head_of(&sentences[i]);
        struct row *row = row_of(&sentences[i]);

        if (row == NULL || !wbi_str_eq(row->head, head)) {
            printf("seed %s: no row, or another place: %.*s\n", seed, WBI_FMT(head));
            bad++;
        }
        if (row != NULL)
            row->used = true;
    }
    for (size_t r = 0; r < cited.n; r++) {
        if (!cited.rows[r].used) {
            printf("seed %s: no such sentence: %.*s\n", seed, WBI_FMT(cited.rows[r].head));
            bad++;
        }
    }
    return bad;
}

static void test_every_sentence_has_its_row(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct wbi_buf text;
        size_t n;

        if (!read_seed(seeds[i], &text))
            continue;
        n = seed_split(arena, wbi_buf_str(&text), sentences);
        assert_true(n > 0);
        read_rows(seeds[i]);
        if (getenv("WAYBILL_UPDATE") != NULL)
            rewrite(seeds[i], n);
        else
            bad += compare(seeds[i], n);
        wbi_buf_fini(&cited.text);
        wbi_buf_fini(&text);
    }
    if (bad > 0)
        fail_msg("%u rows differ; WAYBILL_UPDATE=1 writes them", bad);
}

/* The cutting itself, on words of its own. */
static void test_documents_are_cut_into_sentences(void **state)
{
    static const char text[] = "---\ntitle: x\n---\n# One\nA first one, e.g. this. `Second` is\n"
                               "wrapped.\n- an item\nthat goes on\nA paragraph. And\nmore.\n"
                               "## Two\n```json\n{ \"a\": 1.\n}\n```\n1) 一。二\n\n> Quoted\n";
    static const struct {
        const char *text;
        unsigned section, number;
    } want[] = {
        {"A first one, e.g. this.", 1, 1},
        {"`Second` is wrapped.", 1, 2},
        {"an item that goes on", 1, 3},
        {"A paragraph.", 1, 4},
        {"And more.", 1, 5},
        {"```json { \"a\": 1. } ```", 2, 1},
        {"一。", 2, 2},
        {"二", 2, 3},
        {"Quoted", 2, 4},
    };
    size_t n = seed_split(arena, wbi_str_z(text), sentences);

    (void)state;
    assert_int_equal(n, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(sentences[i].text.p, want[i].text);
        assert_int_equal(sentences[i].section, want[i].section);
        assert_int_equal(sentences[i].number, want[i].number);
    }
    assert_string_equal(sentences[0].heading.p, "One");
    assert_string_equal(sentences[2].hash, "f24ed108");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_are_cut_into_sentences),
        cmocka_unit_test(test_every_sentence_has_its_row),
        cmocka_unit_test(test_every_row_names_tests_that_exist),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
