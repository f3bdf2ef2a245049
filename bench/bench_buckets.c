/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_buckets.c: which beginnings of secrets share a bucket of the scan. Decided here,
 * once, by what stands in FILEs, for a good sorting takes minutes: rules are moved from bucket
 * to bucket, at first also where more comes through. Writes src/text/secrets_buckets.c to
 * stdout, and what comes through, of a million places, to stderr. Any sorting finds the same;
 * after new rules, run it again over logs, code, listings and documents.
 *   bench_buckets FILE… > src/text/secrets_buckets.c */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/secrets_scan_int.h"

#define SAMPLE 400000u /* bytes of a file */
#define GRAMS 16000u   /* the most frequent ones */
#define MOVES 1500000u

/* Four bytes and how often they come. */
struct gram {
    uint8_t byte[DEEP];
    float weight;
};

static struct gram *grams;
static size_t n_grams;

/* What a bucket takes in each place. */
struct taken {
    bool takes[DEEP][256];
};

struct sorting {
    bool nibbles;
    struct taken rule[LITERALS_MAX];
    struct taken bucket[BUCKETS];
    float through[BUCKETS];
    uint8_t bucket_of[LITERALS_MAX];
};

static uint32_t state_of_chance = 7;

static uint32_t chance(uint32_t n)
{
    state_of_chance = state_of_chance * 1664525u + 1013904223u;
    return (state_of_chance >> 8) % n;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, DEEP);
}

static int by_weight(const void *a, const void *b)
{
    float x = ((const struct gram *)a)->weight, y = ((const struct gram *)b)->weight;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* Numbers and hashes differ from line to line: a processor cannot foretell whether one is a
 * candidate, which costs more than the candidate. */
static float cost_of(const uint8_t *byte)
{
    for (size_t i = 0; i < DEEP; i++)
        if (!wbi_in_alphabet(byte[i], A_LOWHEX))
            return 1;
    return 5;
}

static void read_sample(const char *path, float weight)
{
    static uint8_t bytes[SAMPLE];
    FILE *f = fopen(path, "rb");
    size_t n = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;

    for (size_t i = 0; i + DEEP < n; i++) {
        memcpy(grams[n_grams].byte, bytes + i, DEEP);
        grams[n_grams++].weight = weight * 1e6f / (float)n * cost_of(bytes + i);
    }
    if (f != NULL)
        fclose(f);
}

static void count_grams(void)
{
    size_t n = 0;

    qsort(grams, n_grams, sizeof *grams, by_bytes);
    for (size_t i = 0; i < n_grams; i++) {
        if (n > 0 && by_bytes(&grams[n - 1], &grams[i]) == 0)
            grams[n - 1].weight += grams[i].weight;
        else
            grams[n++] = grams[i];
    }
    qsort(grams, n, sizeof *grams, by_weight);
    n_grams = n < GRAMS ? n : GRAMS;
}

/* All bytes that have a low and a high nibble of what is wanted. */
static void widen(bool takes[256])
{
    bool low[16] = {false}, high[16] = {false};

    for (unsigned c = 0; c < 256; c++)
        if (takes[c])
            low[c & 15] = high[c >> 4] = true;
    for (unsigned c = 0; c < 256; c++)
        takes[c] = low[c & 15] && high[c >> 4];
}

static struct taken wanted_by(const struct rule *r)
{
    struct taken t = {{{false}}};

    for (size_t i = 0; i < DEEP; i++) {
        struct chars c = wbi_chars_of(r, i);

        for (unsigned byte = 0; byte < 128; byte++)
            t.takes[i][byte] = (c.bits[byte >> 6] >> (byte & 63)) & 1;
    }
    return t;
}

static float let_through(const struct taken *t)
{
    float sum = 0;

    for (size_t g = 0; g < n_grams; g++) {
        const uint8_t *b = grams[g].byte;

        if (t->takes[0][b[0]] && t->takes[1][b[1]] && t->takes[2][b[2]] && t->takes[3][b[3]])
            sum += grams[g].weight;
    }
    return sum;
}

/* The rules of a bucket but one, and perhaps one more. */
static struct taken joined(const struct sorting *s, unsigned bucket, size_t but, size_t more)
{
    struct taken t = {{{false}}};

    for (size_t r = 0; r < wbi_secret_rules_n; r++) {
        if ((s->bucket_of[r] != bucket || r == but) && r != more)
            continue;
        for (size_t i = 0; i < DEEP; i++)
            for (unsigned c = 0; c < 128; c++)
                t.takes[i][c] |= s->rule[r].takes[i][c];
    }
    for (size_t i = 0; i < DEEP && s->nibbles; i++)
        widen(t.takes[i]);
    return t;
}

static void move(struct sorting *s, size_t rule, unsigned to, double heat)
{
    unsigned from = s->bucket_of[rule];
    struct taken more = joined(s, to, SIZE_MAX, rule), less;
    float up = let_through(&more) - s->through[to], down;

    if (up > s->through[from] + 5 * heat)
        return;
    less = joined(s, from, rule, SIZE_MAX);
    down = s->through[from] - let_through(&less);
    if (up > down && exp((double)(down - up) / heat) * 65536 < chance(65536))
        return;
    s->bucket_of[rule] = (uint8_t)to;
    s->bucket[to] = more;
    s->through[to] += up;
    s->bucket[from] = less;
    s->through[from] -= down;
}

static float sum_of(const struct sorting *s)
{
    float sum = 0;

    for (unsigned b = 0; b < BUCKETS; b++)
        sum += s->through[b];
    return sum;
}

static void sort_rules(struct sorting *s, const char *name)
{
    double heat, cooler = pow(0.0005, 1.0 / MOVES);

    for (size_t r = 0; r < wbi_secret_rules_n; r++) {
        s->rule[r] = wanted_by(&wbi_secret_rules[r]);
        s->bucket_of[r] = (uint8_t)(r % BUCKETS);
    }
    for (unsigned b = 0; b < BUCKETS; b++) {
        s->bucket[b] = joined(s, b, SIZE_MAX, SIZE_MAX);
        s->through[b] = let_through(&s->bucket[b]);
    }
    heat = (double)sum_of(s) / 200;
    for (unsigned i = 0; i < MOVES; i++, heat *= cooler) {
        size_t rule = chance((uint32_t)wbi_secret_rules_n);
        unsigned to = chance(BUCKETS);

        if (to != s->bucket_of[rule])
            move(s, rule, to, heat);
    }
    fprintf(stderr, "%s: %.0f of a million places\n", name, (double)sum_of(s));
    printf("const uint8_t wbi_%s_buckets[] = {", name);
    for (size_t r = 0; r < wbi_secret_rules_n; r++)
        printf("%s%u,", r % 20 == 0 ? "\n    " : " ", s->bucket_of[r]);
    printf("\n};\n");
}

int main(int argc, char **argv)
{
    static struct sorting exact, nibbles = {.nibbles = true};

    grams = malloc((size_t)(argc + 1) * SAMPLE * sizeof *grams);
    if (argc < 2 || grams == NULL)
        return 2;
    for (int i = 1; i < argc; i++)
        read_sample(argv[i], 1.0f / (float)(argc - 1));
    count_grams();
    printf("/* SPDX-License-Identifier: Apache-2.0\n"
           " * text/secrets_buckets.c: written by bench/bench_buckets.c. */\n"
           "#include \"text/secrets_scan_int.h\"\n\n");
    sort_rules(&exact, "exact");
    sort_rules(&nibbles, "nibble");
    printf("const size_t wbi_buckets_n = sizeof wbi_exact_buckets;\n");
    free(grams);
    return 0;
}
