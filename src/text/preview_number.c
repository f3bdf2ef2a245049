/* SPDX-License-Identifier: Apache-2.0
 * text/preview_number.c: lines that say the same as many others but for a number
 * far from all the numbers before, or another value where there was only ever one:
 * a time of 212 ms among times of 2, a status of 502 among 200s. Mean and variance
 * are kept per number of the shapes that come up often, in one pass. */
#include "text/preview_int.h"

#include "base/alloc.h"

#define SHAPES_MAX 256u /* shapes whose numbers are watched */
#define WATCH_FROM 3u   /* lines of a shape until then */
#define REST_FROM 12u   /* numbers of which the farthest may stand out in the end */
#define SAME_FROM 5u    /* numbers that are all the same but one */
#define JUDGE_FROM 48u  /* numbers seen until one can be odd */
#define ODD_MAX 3u      /* lines of one column that are called odd */
#define FAR 64.0        /* eight standard deviations, squared */

/* The smallest or the largest value so far. */
struct extreme {
    uint64_t line; /* where it came first */
    int64_t value;
    uint32_t n; /* times it came */
};

struct column {
    int64_t last;
    uint32_t falls; /* times it was less than before */
    uint32_t rises;
    uint32_t negative; /* times it was */
    struct extreme low;
    struct extreme high;
    double mean;
    double sum; /* of squared distances to the mean */
    uint32_t n;
    int64_t value[2]; /* the only ones so far */
    uint8_t n_values; /* 3: more than that */
    uint8_t odd;
};

struct columns {
    struct column column[NUMBERS_MAX];
    uint8_t n;
};

static bool far_off(const struct column *c, int64_t v)
{
    double distance = (double)v - c->mean;
    double slack = (c->mean < 0 ? -c->mean : c->mean) * 0.2 + 2;

    return distance * distance > FAR * c->sum / c->n + slack * slack;
}

/* Goes up and down: no counter, no time. */
static bool varies(const struct column *c)
{
    return c->falls * 8 > c->n && c->rises * 8 > c->n;
}

/* Went up more than once and never down: the seconds of a clock, a counter. */
static bool counts(const struct column *c)
{
    return c->falls == 0 && c->rises > 1;
}

static bool new_value(struct column *c, int64_t v)
{
    for (uint8_t i = 0; i < c->n_values && i < 2; i++)
        if (c->value[i] == v)
            return false;
    if (c->n_values < 2)
        c->value[c->n_values] = v;
    if (c->n_values < 3)
        c->n_values++;
    return c->n_values <= 3;
}

static bool meet(struct extreme *e, int64_t v, uint64_t line, bool beyond)
{
    if (beyond)
        *e = (struct extreme){line, v, 0};
    e->n += v == e->value;
    return beyond;
}

/* The largest or smallest so far. */
static bool peak(struct column *c, int64_t v, uint64_t line)
{
    bool first = c->n > 1 && c->low.value == c->high.value;
    bool low = meet(&c->low, v, line, c->n == 0 || v < c->low.value);
    bool high = meet(&c->high, v, line, c->n == 0 || v > c->high.value);

    c->negative += v < 0;
    c->rises += c->n > 0 && v > c->last;
    c->falls += c->n > 0 && v < c->last;
    c->last = v;
    return (low || high) && (first || varies(c) || (v < 0 && c->negative == 1));
}

static bool add(struct column *c, int64_t v)
{
    bool few = c->n_values <= 2, odd;
    double before = (double)v - c->mean;

    odd = few && new_value(c, v) && c->n >= JUDGE_FROM && !counts(c);
    odd |= !few && c->n >= JUDGE_FROM && far_off(c, v);
    c->n++;
    c->mean += before / c->n;
    c->sum += before * ((double)v - c->mean);
    if (odd)
        c->odd++;
    return odd && c->odd <= ODD_MAX;
}

static bool stands_out(const struct extreme *e, uint64_t line)
{
    return e->line == line && e->n <= 2;
}

/* What the column would be without it, by mean and variance, is far from it. */
static bool far_from_rest(const struct column *c, int64_t v)
{
    struct column rest = {.n = c->n - 1};
    double distance = (double)v - c->mean;

    rest.mean = (c->mean * c->n - (double)v) / rest.n;
    rest.sum = c->sum - distance * distance * c->n / rest.n;
    return far_off(&rest, v);
}

/* All others are one number. */
static bool only_other(const struct column *c)
{
    return c->n >= SAME_FROM && c->n_values == 2 && (c->low.n == 1 || c->high.n == 1) &&
           c->low.n + c->high.n == c->n;
}

unsigned wbi_columns_peak(const struct wbi_preview_index *x, const struct record *r)
{
    const struct shape *s = &x->shapes[r->shape];
    const struct columns *t = s->table != 0 ? &x->columns[s->table - 1] : NULL;
    unsigned best = 0;

    for (uint8_t i = 0; t != NULL && i < t->n; i++) {
        const struct column *c = &t->column[i];
        bool high = stands_out(&c->high, r->line);

        if (!high && !stands_out(&c->low, r->line))
            continue;
        if (c->n >= REST_FROM &&
            (far_from_rest(c, high ? c->high.value : c->low.value) || (!high && c->negative == 1)))
            return 3;
        if (only_other(c) && (high ? c->high.n : c->low.n) == 1)
            best = 2;
        else if (c->n >= JUDGE_FROM && varies(c) && best == 0)
            best = 1;
    }
    return best;
}

/* Room for one more; most texts have few such shapes. */
static bool grow(struct wbi_preview_index *x)
{
    size_t cap = x->n_columns < 4 ? 4 : x->n_columns * 2;
    struct columns *grown = x->columns;

    if (x->n_columns == 0 || (x->n_columns >= 4 && (x->n_columns & (x->n_columns - 1)) == 0))
        grown = wbi_realloc(x->columns, cap * sizeof *grown);
    if (grown == NULL)
        return false;
    x->columns = grown;
    return true;
}

wb_rc wbi_columns_add(struct wbi_preview_index *x, struct shape *s, uint64_t line,
                      const struct line_facts *f, uint16_t *ret_flags)
{
    struct columns *t;

    *ret_flags = 0;
    if (s->table == 0) {
        if (f->n_numbers == 0 || s->count < WATCH_FROM || x->n_columns == SHAPES_MAX)
            return WB_OK;
        if (!grow(x))
            return WB_ENOMEM;
        x->columns[x->n_columns] = (struct columns){.n = f->n_numbers};
        s->table = (uint32_t)++x->n_columns;
    }
    t = &x->columns[s->table - 1];
    if (f->n_numbers != t->n) /* columns cannot be told apart */
        return WB_OK;
    for (uint8_t i = 0; i < t->n; i++) {
        *ret_flags |= peak(&t->column[i], f->number[i], line) ? LINE_PEAK : 0;
        *ret_flags |= add(&t->column[i], f->number[i]) ? LINE_ODD : 0;
    }
    return WB_OK;
}
