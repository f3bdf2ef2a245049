/* SPDX-License-Identifier: Apache-2.0
 * text/preview_number.c: lines that say the same as many others but for a number
 * far from all the numbers before, or another value where there was only ever one:
 * a time of 212 ms among times of 2, a status of 502 among 200s. Mean and variance
 * are kept per number of the shapes that come up often, in one pass. */
#include "text/preview_int.h"

#include "base/alloc.h"

#define SHAPES_MAX 64u /* shapes whose numbers are watched */
#define WATCH_FROM 16u /* lines of a shape until then */
#define JUDGE_FROM 48u /* numbers seen until one can be odd */
#define ODD_MAX 3u     /* lines of one column that are called odd */
#define FAR 64.0       /* eight standard deviations, squared */

struct column {
    double mean;
    double sum; /* of squared distances to the mean */
    uint32_t n;
    int32_t value[2]; /* the only ones so far */
    uint8_t n_values; /* 3: more than that */
    uint8_t odd;
};

struct columns {
    struct column column[NUMBERS_MAX];
    uint8_t n;
};

static bool far_off(const struct column *c, int32_t v)
{
    double distance = (double)v - c->mean;
    double slack = (c->mean < 0 ? -c->mean : c->mean) * 0.2 + 2;

    return distance * distance > FAR * c->sum / c->n + slack * slack;
}

static bool new_value(struct column *c, int32_t v)
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

static bool add(struct column *c, int32_t v)
{
    bool few = c->n_values <= 2, odd;
    double before = (double)v - c->mean;

    odd = few && new_value(c, v);
    if (c->n >= JUDGE_FROM)
        odd |= !few && far_off(c, v);
    else
        odd = false;
    c->n++;
    c->mean += before / c->n;
    c->sum += before * ((double)v - c->mean);
    if (odd)
        c->odd++;
    return odd && c->odd <= ODD_MAX;
}

wb_rc wbi_columns_add(struct wbi_preview_index *x, struct shape *s, const struct line_facts *f,
                      bool *ret_odd)
{
    struct columns *t;

    *ret_odd = false;
    if (s->table == 0) {
        if (f->n_numbers == 0 || s->count < WATCH_FROM || x->n_columns == SHAPES_MAX)
            return WB_OK;
        if (x->columns == NULL)
            x->columns = wbi_zalloc_array(SHAPES_MAX, sizeof *x->columns);
        if (x->columns == NULL)
            return WB_ENOMEM;
        x->columns[x->n_columns].n = f->n_numbers;
        s->table = (uint32_t)++x->n_columns;
    }
    t = &x->columns[s->table - 1];
    if (f->n_numbers != t->n) /* columns cannot be told apart */
        return WB_OK;
    for (uint8_t i = 0; i < t->n; i++)
        *ret_odd |= add(&t->column[i], f->number[i]);
    return WB_OK;
}
