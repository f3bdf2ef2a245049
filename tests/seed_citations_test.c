/* SPDX-License-Identifier: Apache-2.0
 * tests/seed_citations_test.c: every sentence and every example of the seeds has a row
 * in tests/seeds/NUMBER.cite, and every row names tests that exist. A row:
 *   SECTION.NUMBER HASH first words of the sentence
 * and below it tests (support/cites.h).
 * The seeds are read where they are; without them only the rows are checked.
 * WAYBILL_UPDATE=1 writes rows for new and changed sentences, without tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>

#include "arena_fixture.h"
#include "shared_vectors.h"
#include "support/cites.h"
#include "support/seed.h"

#define FOLDER WAYBILL_SOURCE "/tests/seeds"

static const char *const seeds[] = {"000", "001", "002", "004"};

struct citations {
    struct wbi_buf text;
    struct cite_row rows[SEED_SENTENCES_MAX];
    size_t n;
};

static struct citations cited;
static struct seed_sentence sentences[SEED_SENTENCES_MAX];

static void read_rows(const char *seed)
{
    char path[512];

    (void)snprintf(path, sizeof(path), FOLDER "/%s.cite", seed);
    if (!read_whole_file(path, &cited.text) && getenv("WAYBILL_UPDATE") == NULL)
        fail_msg("%s: cannot be read", path);
    cited.n = cite_rows(wbi_buf_str(&cited.text), cited.rows, SEED_SENTENCES_MAX);
}

static void test_every_row_names_tests_that_exist(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        unsigned reasons = 0;

        read_rows(seeds[i]);
        for (size_t r = 0; r < cited.n; r++) {
            bad += cite_wrong(seeds[i], &cited.rows[r]);
            reasons += cite_is_reason(&cited.rows[r]);
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

/* The hash stands behind the place. */
static bool is_of(const struct cite_row *row, const struct seed_sentence *s)
{
    struct wbi_str rest = wbi_str_from(row->head, wbi_str_index(row->head, ' ') + 1);

    return wbi_str_eqz(wbi_str_head(rest, 8), s->hash);
}

static struct cite_row *row_of(const struct seed_sentence *s)
{
    for (size_t r = 0; r < cited.n; r++)
        if (!cited.rows[r].used && is_of(&cited.rows[r], s))
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
        struct cite_row *row = row_of(&sentences[i]);

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
        struct cite_row *row = row_of(&sentences[i]);

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
