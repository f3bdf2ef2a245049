/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_secrets.c: redaction against a plain loop of 20 PCRE2 patterns (JIT)
 * over the same text, turn by turn, medians: a log of many sources, one full of
 * what almost is a secret, and FILEs over and over; each with every way of scanning
 * that the machine has.
 *   bench_secrets [MIB [FILE…]] */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "text/secrets_int.h"

/* Eighteen that begin with a literal, credentials in an address, and a key with
 * its value: what a list of such expressions usually holds. */
static const char *const patterns[] = {
    "\\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\\b",
    "\\bAIza[\\w-]{35}\\b",
    "\\bghp_[0-9A-Za-z]{36}",
    "\\bgh[ours]_[0-9A-Za-z]{36}",
    "\\bgithub_pat_\\w{82}",
    "\\bglpat-[\\w-]{20}",
    "\\bsk-ant-api03-[\\w-]{93}AA",
    "\\bsk-proj-[\\w-]{40,}",
    "\\bhf_[A-Za-z]{34}\\b",
    "\\bxox[bpe]-[\\w-]{20,}",
    "\\b[sr]k_(?:test|live|prod)_[0-9A-Za-z]{10,99}",
    "\\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "\\bSG\\.[\\w.=-]{66}",
    "\\bnpm_[0-9A-Za-z]{36}\\b",
    "\\bhvs\\.[\\w-]{90,120}",
    "\\bdop_v1_[0-9a-f]{64}",
    "\\bey[A-Za-z0-9_-]{14,}\\.ey[A-Za-z0-9_-]{12,}\\.[A-Za-z0-9_-]*",
    "-----BEGIN[ A-Z]*PRIVATE KEY-----[\\s\\S]{0,16384}?-----END",
    "[a-zA-Z]{3,10}://[^/\\s:@]{3,20}:[^/\\s:@]{3,20}@.{1,100}[\"'\\s]",
    "(?i)(?:key|api|token|secret|client|passwd|password|auth|access)(?:[0-9a-z\\-_\\t .]{0,20})"
    "(?:[\\s|']|[\\s|\"]){0,3}(?:=|>|:{1,3}=|\\|\\|:|<=|=>|:|\\?=)(?:'|\"|\\s|=|\\x60){0,5}"
    "([0-9a-z\\-_.=]{10,150})(?:['|\"|\\n|\\r|\\s|\\x60|;]|$)",
};
#define PIECE (64u << 10)
#define N (sizeof patterns / sizeof *patterns)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A log of many sources: a service, a compiler, packages, commits, JSON, a listing. */
static void make_log(struct wbi_buf *b, size_t n)
{
    unsigned i = 0, r = 1;

    while (b->n < n) {
        i++;
        r = r * 1664525u + 1013904223u;
        wbi_buf_addf(b,
                     "2026-02-03T10:%02u:%02u.123Z INFO worker-%u handled request %08x "
                     "path=/api/v1/items/%u status=200 in %u ms\n",
                     i / 60 % 60, i % 60, i % 4, r, i, r % 97);
        wbi_buf_addf(b, "src/mod%u.c:%u:12: warning: unused variable 'tmp%u' [-Wunused-variable]\n",
                     i % 300, r % 900, i);
        wbi_buf_addf(
            b, "added @scope/pkg-%u@%u.%u.0 from https://registry.example.org/@scope%%2fpkg\n",
            r % 4000, r % 9, r % 31);
        wbi_buf_addf(b, "commit %08x%08x%08x Author: Dev %u <dev%u@example.org>\n", r, r * 31u,
                     r * 77u, r % 50, r % 50);
        wbi_buf_addf(b,
                     "{\"ts\":%u,\"level\":\"info\",\"user\":\"u%u\",\"bytes\":%u,\"ok\":true}\n",
                     1700000000u + i, r % 1000, r % 100000);
        wbi_buf_addf(b,
                     "-rw-r--r-- 1 root root %7u Nov  3 09:%02u usr/share/doc/lib%x/changelog.gz\n",
                     r % 1000000, i % 60, r >> 12);
        if (i % 200 == 0)
            wbi_buf_addf(
                b, "remote: https://u%u:pa55word%u@host/x.git token=ghp_%08x%08x%08x%08xQz7K\n", i,
                i, r, r * 5u, r * 9u, r * 3u);
    }
}

/* Every line begins like a secret or names one. */
static void make_near_misses(struct wbi_buf *b, size_t n)
{
    unsigned i = 0;

    while (b->n < n) {
        i++;
        wbi_buf_addf(b, "author: dev%u <dev%u@example.org> tokens=%u keys: %u\n", i, i, i, i % 7);
        wbi_buf_addf(b, "GET https://host%u.example.org:8443/auth/keys?token_count=%u 200\n", i % 9,
                     i);
        wbi_buf_addf(b, "def get_token(self, key): # password: <from the vault>, sk-%u\n", i);
        wbi_buf_addf(b, "secret: see vault/path/%u, ghp_short%u, AKIA is a prefix, eyJ%u\n", i, i,
                     i);
    }
}

static void repeat_file(struct wbi_buf *b, size_t n, const char *path)
{
    FILE *f = fopen(path, "rb");
    char piece[65536];
    size_t got;

    while (f != NULL && b->n < n) {
        got = fread(piece, 1, sizeof piece, f);
        wbi_buf_add(b, piece, got);
        if (got < sizeof piece)
            rewind(f);
        if (b->n == 0)
            break;
    }
    if (f != NULL)
        fclose(f);
}

/* As its users use it: ours looks at the clock in long texts. */
static void compile_all(pcre2_code **ret)
{
    int error;
    PCRE2_SIZE at;

    for (size_t i = 0; i < N; i++) {
        ret[i] =
            pcre2_compile((PCRE2_SPTR)patterns[i], PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
        if (ret[i] == NULL || pcre2_jit_compile(ret[i], PCRE2_JIT_COMPLETE) != 0)
            abort();
    }
}

static size_t plain_loop(pcre2_code *const *all, struct wbi_str s)
{
    pcre2_match_data *found = pcre2_match_data_create(4, NULL);
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(found);
    size_t hits = 0;

    for (size_t i = 0; i < N; i++) {
        size_t at = 0;

        while (pcre2_match(all[i], (PCRE2_SPTR)s.p, s.n, at, 0, found, NULL) >= 0) {
            hits++;
            at = span[1] > at ? span[1] : at + 1;
        }
    }
    pcre2_match_data_free(found);
    return hits;
}

/* As a command's output is read: in pieces that fit the cache. */
static wb_rc redact(const struct wbi_secrets *set, struct wbi_str s, struct wbi_buf *out,
                    uint64_t *ret_hits)
{
    struct wbi_secrets_stream stream;
    wb_rc rc = WB_OK;

    wbi_secrets_stream_init(&stream, set);
    for (size_t at = 0; rc == WB_OK && at < s.n; at += PIECE) {
        wbi_buf_clear(out);
        rc = wbi_secrets_stream_feed(&stream, wbi_str_head(wbi_str_from(s, at), PIECE), out);
    }
    if (rc == WB_OK)
        rc = wbi_secrets_stream_finish(&stream, out);
    *ret_hits = stream.report.total;
    wbi_secrets_stream_fini(&stream);
    return rc;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One way of scanning: bytes judged at once. */
struct way {
    size_t lanes;
    const char *name;
};
static const struct way ways[] = {{64, "AVX-512"}, {32, "AVX2"}, {0, "plain"}};

#define ROUNDS 7
static wb_rc compare_way(const char *name, const struct way *way, const struct wbi_secrets *set,
                         pcre2_code *const *all, struct wbi_str text)
{
    double loop[ROUNDS], ours[ROUNDS], ratio[ROUNDS];
    uint64_t found = 0;
    struct wbi_buf out;
    size_t hits = 0;
    wb_rc rc = WB_OK;

    wbi_buf_init(&out, 16 * PIECE);
    for (int i = 0; i < ROUNDS && rc == WB_OK; i++) {
        double t0 = now(), t1;

        hits = plain_loop(all, text);
        t1 = now();
        rc = redact(set, text, &out, &found);
        ours[i] = (double)text.n / (now() - t1) / 1e6;
        loop[i] = (double)text.n / (t1 - t0) / 1e6;
        ratio[i] = ours[i] / loop[i];
    }
    qsort(loop, ROUNDS, sizeof *loop, by_size);
    qsort(ours, ROUNDS, sizeof *ours, by_size);
    qsort(ratio, ROUNDS, sizeof *ratio, by_size);
    printf("%-28s %-8s pcre2 loop of %zu: %4.0f MB/s (%zu hits), redaction: %5.0f MB/s (%llu), "
           "ratio %.1f\n",
           name, way->name, N, loop[ROUNDS / 2], hits, ours[ROUNDS / 2], (unsigned long long)found,
           ratio[ROUNDS / 2]);
    wbi_buf_fini(&out);
    return rc;
}

static wb_rc compare(const char *name, struct wbi_secrets *set, pcre2_code *const *all,
                     struct wbi_str text)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < sizeof ways / sizeof *ways; i++)
        if (wbi_prefilter_hold(&set->filter, ways[i].lanes))
            rc = compare_way(name, &ways[i], set, all, text);
    return rc;
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
    struct wbi_secrets_options options = {WBI_LIT("bench"), NULL, 0};
    struct wbi_secrets *set = NULL;
    struct wbi_buf text;
    pcre2_code *all[N];
    wb_rc rc = wbi_secrets_new(&options, &set, NULL, NULL);

    wbi_buf_init(&text, (mib + 1) << 20);
    compile_all(all); /* not part of the time */
    make_log(&text, mib << 20);
    if (rc == WB_OK)
        rc = compare("mixed log", set, all, wbi_buf_str(&text));
    wbi_buf_clear(&text);
    make_near_misses(&text, mib << 20);
    if (rc == WB_OK)
        rc = compare("near misses", set, all, wbi_buf_str(&text));
    for (int i = 2; i < argc && rc == WB_OK; i++) {
        wbi_buf_clear(&text);
        repeat_file(&text, mib << 20, argv[i]);
        rc = compare(argv[i], set, all, wbi_buf_str(&text));
    }
    for (size_t i = 0; i < N; i++)
        pcre2_code_free(all[i]);
    wbi_buf_fini(&text);
    wbi_secrets_free(set);
    return rc == WB_OK ? 0 : 1;
}
