/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_nibbles.c: the tables of the scan by nibbles. A bucket takes every byte whose
 * low nibble and whose high nibble are those of some byte it wants, so literals that share
 * nibbles belong together: they are put where they let the least through, then moved as long
 * as that gets better. A fifth of a millisecond, so only for machines that scan so. */
#include "text/secrets_scan_int.h"

#define ROUNDS_MAX 8

/* What stands in each place: bits of low and of high nibbles. */
struct nibbles {
    uint16_t low[DEEP];
    uint16_t high[DEEP];
};

struct sorting {
    uint16_t sums[8][2][256]; /* by high nibble, how often the low ones of a half come */
    struct nibbles rule[LITERALS_MAX];
    uint8_t bucket_of[LITERALS_MAX];
    struct nibbles bucket[BUCKETS];
    uint16_t rules_in[BUCKETS];
    float through[BUCKETS]; /* what it lets through, of a million places */
};

static void make_sums(struct sorting *s)
{
    for (unsigned high = 0; high < 8; high++)
        for (unsigned half = 0; half < 2; half++)
            for (unsigned set = 1; set < 256; set++) {
                unsigned low = (unsigned)__builtin_ctz(set);

                s->sums[high][half][set] = (uint16_t)(s->sums[high][half][set & (set - 1)] +
                                                      wbi_secret_often[high * 16 + half * 8 + low]);
            }
}

static struct nibbles nibbles_of(const struct rule *r)
{
    struct nibbles n = {{0}, {0}};

    for (size_t i = 0; i < DEEP; i++) {
        struct chars c = wbi_chars_of(r, i);

        for (unsigned half = 0; half < 2; half++)
            for (uint64_t left = c.bits[half]; left != 0; left &= left - 1) {
                unsigned byte = half * 64 + (unsigned)__builtin_ctzll(left);

                n.low[i] |= (uint16_t)(1u << (byte & 15));
                n.high[i] |= (uint16_t)(1u << (byte >> 4));
            }
        if ((c.bits[0] & c.bits[1]) == UINT64_MAX) /* also what is not ASCII */
            n.high[i] = UINT16_MAX;
    }
    return n;
}

static struct nibbles joined(const struct nibbles *a, const struct nibbles *b)
{
    struct nibbles n = *a;

    for (size_t i = 0; i < DEEP; i++) {
        n.low[i] |= b->low[i];
        n.high[i] |= b->high[i];
    }
    return n;
}

static float let_through(const struct sorting *s, const struct nibbles *n)
{
    float all = 1e6f;

    for (size_t i = 0; i < DEEP; i++) {
        unsigned sum = 0;

        for (unsigned left = n->high[i] & 0xffu; left != 0; left &= left - 1) {
            const uint16_t(*row)[256] = s->sums[__builtin_ctz(left)];

            sum += (unsigned)row[0][n->low[i] & 0xff] + row[1][n->low[i] >> 8];
        }
        all *= (float)sum / 2000.0f;
    }
    return all;
}

/* What a bucket lets through once it takes the rule as well. */
static float with_rule(const struct sorting *s, unsigned bucket, size_t rule)
{
    struct nibbles n = joined(&s->bucket[bucket], &s->rule[rule]);

    return let_through(s, &n);
}

static void enter(struct sorting *s, unsigned bucket, size_t rule)
{
    s->bucket[bucket] = joined(&s->bucket[bucket], &s->rule[rule]);
    s->through[bucket] = let_through(s, &s->bucket[bucket]);
    s->bucket_of[rule] = (uint8_t)bucket;
    s->rules_in[bucket]++;
}

/* The bucket without the rule. */
static struct nibbles without(const struct sorting *s, unsigned bucket, size_t rule)
{
    struct nibbles n = {{0}, {0}};

    for (size_t r = 0; r < wbi_secret_rules_n; r++)
        if (r != rule && s->bucket_of[r] == bucket)
            n = joined(&n, &s->rule[r]);
    return n;
}

static unsigned best_bucket(const struct sorting *s, size_t rule, unsigned but, float *ret_more)
{
    unsigned best = 0;

    *ret_more = 1e9f;
    for (unsigned b = 0; b < BUCKETS; b++) {
        float more = b != but ? with_rule(s, b, rule) - s->through[b] : 1e9f;

        if (more < *ret_more) {
            *ret_more = more;
            best = b;
        }
    }
    return best;
}

/* Into another bucket, if less comes through then. */
static bool move(struct sorting *s, size_t rule)
{
    unsigned from = s->bucket_of[rule], to;
    struct nibbles rest = without(s, from, rule);
    float less = s->through[from] - let_through(s, &rest), more;

    if (less <= 0)
        return false;
    to = best_bucket(s, rule, from, &more);
    if (more >= less)
        return false;
    s->bucket[from] = rest;
    s->through[from] = let_through(s, &rest);
    s->rules_in[from]--;
    enter(s, to, rule);
    return true;
}

/* Short literals first: they let most through and belong together. */
static void sort_rules(struct sorting *s)
{
    bool moved = true;
    float more;

    for (size_t length = 2; length <= DEEP; length++)
        for (size_t r = 0; r < wbi_secret_rules_n; r++) {
            size_t n = strlen(wbi_secret_rules[r].literal);

            if ((n < DEEP ? n : DEEP) == length)
                enter(s, best_bucket(s, r, BUCKETS, &more), r);
        }
    for (unsigned round = 0; round < ROUNDS_MAX && moved; round++) {
        moved = false;
        for (size_t r = 0; r < wbi_secret_rules_n; r++)
            moved |= move(s, r);
    }
}

void wbi_nibble_tables(struct prefilter *f)
{
    static const struct sorting nothing;
    struct sorting s = nothing;

    make_sums(&s);
    for (size_t r = 0; r < wbi_secret_rules_n; r++)
        s.rule[r] = nibbles_of(&wbi_secret_rules[r]);
    sort_rules(&s);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (size_t i = 0; i < DEEP; i++)
            for (unsigned n = 0; n < 16; n++) {
                f->low[b / 8][i][n] |= (uint8_t)((s.bucket[b].low[i] >> n & 1) << b % 8);
                f->high[b / 8][i][n] |= (uint8_t)((s.bucket[b].high[i] >> n & 1) << b % 8);
            }
}
