/* SPDX-License-Identifier: Apache-2.0
 * tests/recover_test.c: whatever a receipt leaves out is read back by its own
 * hints: exactly the missing lines of the cleaned text, page by page, and the
 * exact bytes with raw (C5.5, C6.2; S0 "Large Output": bounded preview, full value
 * through the artifact). Over outputs made here, and over ../shared/corpus. */
#include "support/tools.h"

#include <dirent.h>

#include "shared_vectors.h"
#include "text/hygiene.h"

/* ---- what must come back ---- */

struct expected {
    struct wbi_buf raw, cleaned;
    const char **lines; /* line i + 1 begins at lines[i]; one more marks the end */
    size_t count;
};

static void expect(struct expected *e, const char *path)
{
    const char *at, *end;
    size_t cap = 1024;

    assert_true(read_whole_file(path, &e->raw));
    wbi_buf_init(&e->cleaned, (size_t)256 << 20);
    assert_int_equal(wbi_hygiene_clean(wbi_buf_str(&e->raw), &e->cleaned, NULL), WB_OK);
    e->lines = malloc(cap * sizeof(*e->lines));
    e->count = 0;
    at = e->cleaned.p;
    end = at + e->cleaned.n;
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        if (e->count + 2 > cap) {
            cap *= 2;
            e->lines = realloc(e->lines, cap * sizeof(*e->lines));
        }
        assert_non_null(e->lines);
        e->lines[e->count++] = at;
        at = feed ? feed + 1 : end;
    }
    e->lines[e->count] = end;
}

static void expect_end(struct expected *e)
{
    free(e->lines);
    wbi_buf_fini(&e->raw);
    wbi_buf_fini(&e->cleaned);
}

/* ---- following hints ---- */

/* The JSON object that begins at text, as a string of its own. */
static char *object_at(const char *text)
{
    size_t depth = 0, n = 0;
    bool quoted = false;

    do {
        assert_int_not_equal(text[n], '\0');
        if (text[n] == '\\' && quoted)
            n++;
        else if (text[n] == '"')
            quoted = !quoted;
        else if (!quoted && text[n] == '{')
            depth++;
        else if (!quoted && text[n] == '}')
            depth--;
        n++;
    } while (depth > 0);
    return strndup(text, n);
}

/* Calls of a receipt's own hint until none is given; contents joined. */
static void follow(struct tools *t, const char *first, struct wbi_buf *ret, int *pages)
{
    char *input = strdup(first);

    while (input != NULL) {
        wb_result *r = tools_ask(t, "ReadArtifact", input);
        char *content = member_of(r, "/result/content");
        const char *next = strstr(receipt_of(r), "Next page: ReadArtifact ");
        const char *section = strstr(receipt_of(r), "\ncontent: (");

        if (!wb_result_ok(r))
            fail_msg("%s\n%s", input, receipt_of(r));
        wbi_buf_addz(ret, content);
        free(input);
        /* the call stands in the header, where no content can forge it */
        input = next != NULL && (section == NULL || next < section) ? object_at(next + 24) : NULL;
        assert_true(++*pages < 100000);
        wb_free(content);
        wb_result_free(r);
    }
}

/* The next gap a receipt tells of; NULL when there is none. */
static const char *next_gap(const char *at, unsigned long long *first, unsigned long long *last)
{
    for (;;) {
        const char *a = strstr(at, "; line"), *b = strstr(at, "[… line");
        const char *found = a && (b == NULL || a < b) ? a + 6 : b ? b + strlen("[… line") : NULL;
        char *dash, *end;

        if (found == NULL)
            return NULL;
        found += *found == 's'; /* one line, or several */
        *first = strtoull(found, &dash, 10);
        end = dash;
        *last = *dash == '-' ? strtoull(dash + 1, &end, 10) : *first;
        if (strncmp(end, " left out", 9) == 0 || *end == ':')
            return end;
        at = found;
    }
}

struct tally {
    int receipts, gaps, pages;
};

static void check_gap(struct tools *t, const struct expected *e, const char *path,
                      unsigned long long first, unsigned long long last, struct tally *tally)
{
    char input[1024];
    struct wbi_buf got;
    size_t want;

    if (first < 1 || last < first || last > e->count)
        fail_msg("gap %llu-%llu of %zu lines", first, last, e->count);
    (void)snprintf(input, sizeof(input),
                   "{\"path\":\"%s\",\"lines\":\"%llu-%llu\",\"max_output_tokens\":4000}", path,
                   first, last);
    wbi_buf_init(&got, (size_t)256 << 20);
    follow(t, input, &got, &tally->pages);
    want = (size_t)(e->lines[last] - e->lines[first - 1]);
    if (strstr(got.p ? got.p : "", "[redacted:") == NULL &&
        (got.n != want || memcmp(got.p, e->lines[first - 1], want) != 0))
        fail_msg("lines %llu-%llu came back otherwise (%zu bytes, not %zu)", first, last, got.n,
                 want);
    wbi_buf_fini(&got);
    tally->gaps++;
}

/* The call that the cut itself names. */
static void check_hint(struct tools *t, const char *preview, struct tally *tally)
{
    const char *call = strstr(preview, "ReadArtifact {");
    struct wbi_buf got;
    char *hint;

    if (call == NULL)
        fail_msg("the cut names no call: %.300s", preview);
    hint = object_at(call + strlen("ReadArtifact "));
    wbi_buf_init(&got, (size_t)256 << 20);
    follow(t, hint, &got, &tally->pages);
    assert_true(got.n > 0);
    wbi_buf_fini(&got);
    free(hint);
}

static wb_rc add_piece(const char *bytes, size_t size, void *arg)
{
    wbi_buf_add(arg, bytes, size);
    return WB_OK;
}

static void check_raw(struct tools *t, const struct expected *e, const char *path)
{
    wb_artifact_query q = {.ref = path, .raw = 1};
    struct wbi_buf got;

    wbi_buf_init(&got, (size_t)256 << 20);
    assert_int_equal(wb_artifact_read(t->runtime, &q, add_piece, &got, NULL), WB_OK);
    assert_int_equal(got.n, e->raw.n);
    assert_memory_equal(got.p, e->raw.p, got.n);
    wbi_buf_fini(&got);
}

/* One output at one budget: every gap, the call in the receipt itself, the bytes. */
static void check(struct tools *t, const char *file, int budget, struct tally *tally)
{
    char input[1200];
    unsigned long long first, last;
    struct expected e;
    wb_result *r;
    char *path, *truncated, *preview;
    const char *at;

    expect(&e, file);
    (void)snprintf(input, sizeof(input), "{\"cmd\":[\"cat\",\"%s\"],\"max_output_tokens\":%d}",
                   file, budget);
    r = tools_ask(t, "ExecCommand", input);
    assert_true(wb_result_ok(r));
    tally->receipts++;
    truncated = member_of(r, "/result/stdout_truncated");
    path = member_of(r, "/result/artifacts/0/path");
    preview = member_of(r, "/result/stdout_preview");
    if (strcmp(truncated, "true") == 0 && path[0] == '\0')
        fail_msg("%s at %d: something is left out and nothing is kept", file, budget);
    at = preview;
    while ((at = next_gap(at, &first, &last)) != NULL)
        check_gap(t, &e, path, first, last, tally);
    if (strcmp(truncated, "true") == 0)
        check_hint(t, preview, tally);
    if (path[0] != '\0')
        check_raw(t, &e, path);
    wb_free(truncated);
    wb_free(path);
    wb_free(preview);
    wb_result_free(r);
    expect_end(&e);
}

/* ---- outputs ---- */

static void write_file(const char *path, void (*fill)(FILE *f))
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fill(f);
    assert_int_equal(fclose(f), 0);
}

static void fill_log(FILE *f)
{
    for (int i = 1; i <= 4000; i++)
        fprintf(f,
                i % 977 == 0 ? "step %d: error: cannot open file%d.c\n" : "step %d: file%d.c ok\n",
                i, i);
}

static void fill_long_lines(FILE *f)
{
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 3000; k++)
            fprintf(f, "word%d ", i * k);
        fputc('\n', f);
    }
    fputs("no line end at the end", f);
}

static void fill_noise(FILE *f)
{
    unsigned x = 12345;

    for (int i = 0; i < 30000; i++) {
        x = x * 1103515245u + 12345u;
        fputc((int)(x >> 16 & 0xff), f);
    }
}

static void fill_runs(FILE *f)
{
    for (int i = 0; i < 3000; i++)
        fprintf(f, i % 500 == 99 ? "step %d\n" : i < 1500 ? "waiting for the lock\n" : "\n", i);
    for (int i = 0; i < 3000; i++)
        fprintf(f, "11:%02d:%02d still waiting\n", i / 60, i % 60);
}

static void fill_terminal(FILE *f)
{
    for (int i = 0; i < 800; i++)
        fprintf(f, "\033[3%dmline %d\033[0m\r%d %%\n", i % 8, i, i);
}

static void fill_json(FILE *f)
{
    fputc('[', f);
    for (int i = 0; i < 900; i++)
        fprintf(f, "%s{\"id\":%d,\"name\":\"entry %d\",\"ok\":%s}", i ? ",\n" : "", i, i,
                i == 451 ? "false" : "true");
    fputs("]\n", f);
}

/* S0 "Prefer Head And Tail For Logs", "Do Not Duplicate Large Payloads" */
static void test_what_is_left_out_of_own_outputs_is_read_back(void **state)
{
    static void (*const fills[])(FILE * f) = {fill_log,  fill_long_lines, fill_noise,
                                              fill_runs, fill_terminal,   fill_json};
    struct tools t;
    struct tally tally = {0, 0, 0};
    char path[200];

    (void)state;
    tools_start(&t, NULL);
    (void)snprintf(path, sizeof(path), "%s/output", t.tree.root);
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
        write_file(path, fills[i]);
        check(&t, path, 200, &tally);
        check(&t, path, 300, &tally);
        check(&t, path, 1000, &tally);
    }
    printf("own outputs: %d receipts, %d gaps, %d pages\n", tally.receipts, tally.gaps,
           tally.pages);
    assert_true(tally.gaps > 10);
    tools_end(&t);
}

static void test_what_is_left_out_of_the_corpus_is_read_back(void **state)
{
    char folder[1024], path[1400];
    struct tally tally = {0, 0, 0};
    struct dirent **list;
    struct tools t;
    int n;

    (void)state;
    if (!shared_present("corpus"))
        return;
    tools_start(&t, NULL);
    n = scandir(shared_path(folder, sizeof(folder), "corpus"), &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (strstr(list[i]->d_name, ".txt") != NULL) {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
            check(&t, path, 1000, &tally);
        }
        free(list[i]);
    }
    free(list);
    printf("corpus: %d receipts, %d gaps, %d pages\n", tally.receipts, tally.gaps, tally.pages);
    tools_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_left_out_of_own_outputs_is_read_back),
        cmocka_unit_test(test_what_is_left_out_of_the_corpus_is_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
