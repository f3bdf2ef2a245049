/* SPDX-License-Identifier: Apache-2.0
 * text/preview_group.c: many failures of one shape are told as a group: how
 * many there are, and what differs between them, each distinct message once.
 * A message is the line without the place it names (what stands before the
 * clause with its strongest word). */
#include "text/preview_bits_int.h"

#include "base/hash.h"
#include "text/tokens.h"

#define GROUPS_MAX 4u
#define MESSAGES_MAX 2048u
#define SLOTS 4096u
#define GROUP_SEVERITY 60u
#define REMEMBERED 64u /* of one shape; there may be more */
#define APART 100u     /* lines between two of a kind */
#define RARE 16u       /* at most one in so many belongs where a message does */

struct group {
    uint32_t shape;
    size_t first; /* pick that stands for it */
    uint64_t count;
};

struct distinct {
    uint64_t slot[SLOTS];
    struct wbi_str text[MESSAGES_MAX];
    uint64_t root[MESSAGES_MAX];
    bool first[MESSAGES_MAX]; /* told ahead of the others */
    struct roots roots;
    size_t n;
};

/* Where the clause with the strongest word starts. */
static struct wbi_str message_of(const struct pick *p)
{
    size_t at = p->rec->hit < p->text.n ? p->rec->hit : 0, i;

    if (p->rec->flags & LINE_FILE) { /* the name in its new form */
        for (i = p->text.n; i > 0 && p->text.p[i - 1] != ' ';)
            i--;
        return wbi_str_from(p->text, i);
    }
    for (i = at; i > 1 && i > p->rec->start; i--) {
        char a = p->text.p[i - 2], b = p->text.p[i - 1];

        if ((b == ' ' && (a == ':' || a == ')' || a == ' ' || a == ']')) || b == '\t')
            return wbi_str_trim(wbi_str_from(p->text, i));
    }
    return wbi_str_trim(wbi_str_from(p->text, p->rec->start));
}

static bool is_digit(char c)
{
    return (uint8_t)(c - '0') < 10;
}

static bool in_name(char c)
{
    return is_digit(c) || (unsigned char)((c | 0x20) - 'a') < 26 || c == '_';
}

/* From i on, behind whole words of eight bytes without a digit. */
static size_t skip_no_digits(struct wbi_str s, size_t i)
{
    const uint8_t *p = (const uint8_t *)s.p, *end = p + s.n;

    while (s.n - i >= 8 && (digits_of(load_8(p + i, end)) & BYTES(0x80)) == 0)
        i += 8;
    return i;
}

/* Numbers that stand alone (counters, sizes, addresses) make no new message. */
static uint64_t message_hash(struct wbi_str s)
{
    uint64_t h = 1;
    size_t from = 0, i = 0;
    bool glued = false;

    while (i < s.n) {
        size_t skipped = skip_no_digits(s, i);

        if (skipped == i && (!is_digit(s.p[i]) || glued))
            skipped = i + 1;
        if (skipped > i) {
            i = skipped;
            glued = in_name(s.p[i - 1]);
            continue;
        }
        h = wbi_hash64(s.p + from, i - from, h);
        while (i < s.n && is_digit(s.p[i]))
            i++;
        from = i;
    }
    return wbi_hash64(s.p + from, s.n - from, h) | 1;
}

/* False when it was there already (or there is no room). */
static bool add_distinct(struct distinct *d, struct wbi_str s)
{
    uint64_t h = message_hash(s);
    size_t i = (size_t)(h >> 32) & (SLOTS - 1);

    while (d->slot[i] != 0 && d->slot[i] != h)
        i = (i + 1) & (SLOTS - 1);
    if (d->slot[i] == h || d->n == MESSAGES_MAX)
        return false;
    d->slot[i] = h;
    d->first[d->n] = false;
    d->text[d->n++] = s;
    return true;
}

static bool tells(const struct record *r)
{
    return r->flags & LINE_FILE || r->severity >= GROUP_SEVERITY;
}

/* How many of the remembered lines of each shape tell a failure: need not be all. */
static void count_telling(const struct chooser *c, uint32_t *telling)
{
    for (size_t i = 0; i < c->n; i++)
        if (tells(c->picks[i].rec))
            telling[c->picks[i].rec->shape]++;
}

/* The largest groups of failures and the files of a diff, largest first. */
static size_t find_groups(const struct chooser *c, uint32_t *telling, struct group *g)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        const struct record *r = c->picks[i].rec;
        struct group found = {r->shape, i, 0};
        size_t at;

        if (!tells(r) || telling[r->shape] <= (r->flags & LINE_FILE ? 3 : GROUP_FROM))
            continue;
        found.count =
            telling[r->shape] < REMEMBERED ? telling[r->shape] : c->index->shapes[r->shape].count;
        telling[r->shape] = 0;
        for (at = n; at > 0 && g[at - 1].count < found.count; at--)
            if (at < GROUPS_MAX)
                g[at] = g[at - 1];
        if (at < GROUPS_MAX) {
            g[at] = found;
            n += n < GROUPS_MAX;
        }
    }
    return n;
}

/* A complaint by itself, or of something that belongs elsewhere than the rest, says more
 * than one of a flood: those are told first. */
static void put_first(struct distinct *d)
{
    size_t first = 0;

    for (size_t i = 0; i < d->n; i++) {
        struct wbi_str text = d->text[i];

        if (!d->first[i] && !wbi_roots_rare(&d->roots, d->root[i], RARE))
            continue;
        memmove(&d->text[first + 1], &d->text[first], (i - first) * sizeof *d->text);
        d->text[first++] = text;
    }
}

static wb_rc collect(struct chooser *c, const struct group *g, struct distinct *d)
{
    uint64_t before = c->picks[g->first].rec->line;
    struct pick *p;
    wb_rc rc = WB_OK;

    for (size_t i = g->first; i < c->n && rc == WB_OK && d->n < MESSAGES_MAX; i++) {
        p = &c->picks[i];
        if (p->rec->shape != g->shape || !tells(p->rec))
            continue;
        rc = wbi_pick_load(c, p);
        if (rc == WB_OK && add_distinct(d, message_of(p))) {
            d->first[d->n - 1] = p->rec->line > before + APART;
            d->root[d->n - 1] = wbi_path_root(wbi_str_from(p->text, p->rec->start));
            wbi_roots_add(&d->roots, d->root[d->n - 1]);
        }
        before = p->rec->line;
    }
    if (!(c->picks[g->first].rec->flags & LINE_FILE))
        put_first(d);
    return rc;
}

/* Messages of lines that are shown anyway need no second telling. */
static wb_rc skip_shown(struct chooser *c, struct distinct *d)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < c->n && rc == WB_OK; i++) {
        struct pick *p = &c->picks[i];

        if (p->wave == 0 || !tells(p->rec))
            continue;
        rc = wbi_pick_load(c, p);
        if (rc == WB_OK)
            add_distinct(d, message_of(p));
    }
    d->n = 0;
    return rc;
}

static void tell(struct chooser *c, const struct group *g, const struct distinct *d, uint64_t limit)
{
    uint64_t head = c->spent + 24 * WBI_TOKEN_UNIT, cost = head;
    size_t n = 0;
    bool files;

    while (n < d->n) {
        uint64_t units = wbi_tokens_units(d->text[n]) + WBI_TOKEN_UNIT;

        if (cost + units > limit)
            break;
        cost += units;
        n++;
    }
    if (n == 0)
        return;
    files = (c->picks[g->first].rec->flags & LINE_FILE) != 0;
    wbi_buf_addf(&c->groups, "[%llu lines like line %llu; %zu of %zu more distinct %s:]\n",
                 (unsigned long long)g->count, (unsigned long long)c->picks[g->first].rec->line, n,
                 d->n, files ? "files" : "messages");
    for (size_t i = 0; i < n; i++) {
        wbi_buf_adds(&c->groups, d->text[i]);
        wbi_buf_addc(&c->groups, files && i + 1 < n ? ' ' : '\n');
    }
    c->spent = cost;
}

wb_rc wbi_choose_groups(struct chooser *c)
{
    struct group g[GROUPS_MAX];
    uint32_t *telling = wbi_arena_array(c->arena, c->index->cap_shapes, sizeof *telling);
    struct distinct *d;
    uint64_t limit =
        c->spent + (c->units * 88 / 100 > c->spent ? c->units * 88 / 100 - c->spent : 0);
    size_t n;
    wb_rc rc;

    if (telling == NULL)
        return WB_ENOMEM;
    count_telling(c, telling);
    n = find_groups(c, telling, g);
    if (n == 0)
        return WB_OK;
    d = wbi_arena_alloc(c->arena, sizeof *d);
    if (d == NULL)
        return WB_ENOMEM;
    d->n = 0;
    memset(d->slot, 0, sizeof d->slot); /* the rest is written before it is read */
    rc = skip_shown(c, d);
    for (size_t i = 0; i < n && rc == WB_OK; i++) {
        d->n = 0;
        d->roots = (struct roots){.total = 0};
        rc = collect(c, &g[i], d);
        if (rc == WB_OK && d->n > 0)
            tell(c, &g[i], d, limit);
    }
    return rc != WB_OK ? rc : wbi_buf_rc(&c->groups);
}
