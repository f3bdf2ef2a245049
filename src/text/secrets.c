/* SPDX-License-Identifier: Apache-2.0
 * text/secrets.c: finding and replacing over a text or a stream. The leftmost
 * match wins, of two at one place the longer. Text with visible marks
 * (<U+200B>) is judged once more without them. */
#include "text/secrets.h"

#include <endian.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/local.h"
#include "text/secrets_int.h"

wb_rc wbi_secrets_new(const struct wbi_secrets_options *o, struct wbi_secrets **ret,
                      size_t *ret_ignored, struct wbi_error *err)
{
    struct wbi_secrets *s;
    size_t ignored = 0;
    wb_rc rc;

    if (o->n_known > WBI_LIMIT_SECRET_KNOWN)
        return wbi_fail(err, WB_ELIMIT, "%zu known secret values are too many, at most %u",
                        o->n_known, WBI_LIMIT_SECRET_KNOWN);
    s = wbi_zalloc(sizeof *s);
    if (s == NULL)
        return wbi_fail_nomem(err);
    wbi_prefilter_init(&s->filter);
    s->key_n = o->key.n < WBI_SECRETS_KEY_MAX ? o->key.n : WBI_SECRETS_KEY_MAX;
    if (s->key_n > 0)
        memcpy(s->key, o->key.p, s->key_n);
    rc = wbi_known_new(o->known, o->n_known, &s->known, &ignored);
    if (rc != WB_OK) {
        wbi_free(s);
        return wbi_fail_nomem(err);
    }
    if (ret_ignored != NULL)
        *ret_ignored = ignored;
    *ret = s;
    return WB_OK;
}

void wbi_secrets_free(struct wbi_secrets *s)
{
    if (s == NULL)
        return;
    wbi_known_free(s->known);
    wbi_free(s);
}

/* ---- finding ---- */

#define NOWHERE SIZE_MAX

struct finder {
    const struct wbi_secrets *set;
    struct wbi_str text;
    size_t limit; /* what begins behind it is judged again, without what stands before it */
    bool final;   /* no more text will come */
    size_t mark;  /* first visible mark, or NOWHERE */
    size_t wait;  /* from here on more text is needed, or NOWHERE */
    struct scan scan;
    struct secret known; /* the next known value, found ahead */
    bool has_known;
    struct sealed sealed; /* the object under way whose values are all secret */
    struct secret value;  /* the next one of them */
    bool has_value;
    size_t left;    /* bytes that may yet be read for such objects */
    size_t literal; /* of the secret found last; its value may stand behind */
    struct runs runs;
};

/* The literal and a byte that may follow it. */
static inline __attribute__((always_inline)) bool literal_here(const struct rule *r, size_t n,
                                                               struct wbi_str t, size_t at)
{
    if (n > t.n - at || (n < t.n - at && !wbi_in_alphabet((uint8_t)t.p[at + n], r->alphabet)))
        return false;
    if (n <= 8) /* compared as a number already */
        return true;
    if (r->fold)
        return wbi_str_ieq(wbi_str_make(t.p + at, n), wbi_str_make(r->literal, n));
    return memcmp(t.p + at, r->literal, n) == 0;
}

/* Eight bytes, the first one lowest. */
static uint64_t first_bytes(struct wbi_str t, size_t at)
{
    const uint8_t *p = (const uint8_t *)t.p + at;
    uint64_t v = 0;

    if (t.n - at >= 8) {
        memcpy(&v, p, 8);
        return le64toh(v);
    }
    for (size_t i = 0; i < t.n - at; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* What a literal that is no secret itself says about the text around it. */
static void take_context(struct finder *f, const struct rule *rule, size_t at, size_t from)
{
    if (rule->literal[0] == '<') {
        if (f->mark == NOWHERE && wbi_mark_at(f->text, at) > 0)
            f->mark = at;
        return;
    }
    if (f->has_value || at >= f->limit ||
        !wbi_sealed_open(&f->sealed, wbi_str_head(f->text, f->limit), at, &f->left))
        return;
    if (f->sealed.unfinished && !f->final && f->limit - f->sealed.from < WBI_LIMIT_SECRET_SEALED)
        f->wait = f->sealed.from;
    else
        f->has_value = wbi_sealed_next(&f->sealed, f->set, f->text, from, &f->value);
}

/* Does the literal of the i-th rule in order stand at `at`? here: first_bytes. */
static bool rule_here(const struct prefilter *p, size_t i, struct wbi_str t, size_t at,
                      uint64_t here)
{
    return ((here | p->soft[i]) & p->mask[i]) == p->want[i] &&
           literal_here(&wbi_secret_rules[p->order[i]], p->length[i], t, at);
}

/* The longest match of any rule whose literal stands at `at`. */
static bool match_at(struct finder *f, size_t at, size_t floor, struct secret *ret)
{
    const struct prefilter *p = &f->set->filter;
    struct judged j = {f->set, f->text, floor, f->limit, false, &f->runs};
    uint64_t here = first_bytes(f->text, at);
    unsigned key = wbi_rule_key(here);
    struct secret m = {0};
    bool any = false;

    for (size_t i = p->start[key]; i < p->start[key + 1]; i++) {
        const struct rule *rule = &wbi_secret_rules[p->order[i]];

        if (!rule_here(p, i, f->text, at, here))
            continue;
        if (rule->match == wbi_match_context) {
            take_context(f, rule, at, floor);
            continue;
        }
        if (!(rule->match ? rule->match : wbi_match_prefix)(&j, at, rule, &m) ||
            wbi_masked_before(f->set, f->text, &m))
            continue;
        if (!any || m.from < ret->from || (m.from == ret->from && m.to > ret->to))
            *ret = m;
        any = true;
    }
    if (!any && j.undecided && !f->final)
        f->wait = wbi_line_start(f->text, at);
    return any;
}

static void finder_start(struct finder *f, const struct wbi_secrets *set, struct wbi_str text,
                         size_t limit, bool final)
{
    f->set = set;
    f->text = text;
    f->limit = limit;
    f->final = final;
    f->mark = NOWHERE;
    f->wait = NOWHERE;
    f->has_value = false;
    f->left = SEALED_READS * text.n;
    f->literal = 0;
    f->runs.there = 0;
    wbi_scan_start(&f->scan, &set->filter, text);
    f->has_known = wbi_known_next(set->known, text, 0, &f->known);
}

static bool comes_first(const struct secret *a, const struct secret *b)
{
    return a->from < b->from || (a->from == b->from && a->to >= b->to);
}

/* What is known ahead: a known value or one of a sealed object; NULL for none. */
static const struct secret *ahead(struct finder *f, size_t from)
{
    while (f->has_known && f->known.from < from)
        f->has_known = wbi_known_next(f->set->known, f->text, from, &f->known);
    if (f->has_value && f->value.from < from)
        f->has_value = wbi_sealed_next(&f->sealed, f->set, f->text, from, &f->value);
    if (!f->has_known)
        return f->has_value ? &f->value : NULL;
    return f->has_value && comes_first(&f->value, &f->known) ? &f->value : &f->known;
}

/* Next secret at or after from; none beyond where more text is needed. */
static bool finder_next(struct finder *f, size_t from, struct secret *ret)
{
    const struct secret *next = ahead(f, from);
    struct secret m;
    size_t at;

    for (;;) {
        at = wbi_scan_next(&f->scan, from);
        if (at >= f->text.n || (next != NULL && next->to <= at))
            break;
        if (!match_at(f, at, from, &m)) {
            if (f->wait != NOWHERE)
                return false;
            if (f->has_value) /* it may have come just now */
                next = ahead(f, from);
            continue;
        }
        if (next != NULL && comes_first(next, &m))
            break;
        *ret = m;
        f->literal = at;
        return true;
    }
    if (next == NULL)
        return false;
    *ret = *next;
    f->literal = ret->from;
    /* candidates passed over lie before its end or are looked at again */
    wbi_scan_start(&f->scan, &f->set->filter, f->text);
    f->scan.at = ret->to;
    return true;
}

/* ---- replacing ---- */

static void count(struct wbi_secrets_report *r, const char *label)
{
    if (r == NULL)
        return;
    r->total++;
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->row[i].label, label) == 0) {
            r->row[i].count++;
            return;
        }
    }
    if (r->n < sizeof r->row / sizeof *r->row) {
        struct wbi_str s = wbi_str_head(wbi_str_z(label), WBI_SECRETS_LABEL_SIZE - 1);

        memcpy(r->row[r->n].label, s.p, s.n);
        r->row[r->n].label[s.n] = '\0';
        r->row[r->n++].count = 1;
    }
}

static void keep_newlines(struct wbi_str s, struct wbi_buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\n')
            wbi_buf_addc(out, '\n');
}

/* Key blocks are told by their first bytes: the rest may not have come yet. */
static wb_rc replace_one(const struct wbi_secrets *s, struct wbi_str text, const struct secret *m,
                         struct wbi_buf *out, struct wbi_secrets_report *report)
{
    struct wbi_str value = wbi_str_make(text.p + m->from, m->to - m->from);
    bool block = strcmp(m->label, "private-key") == 0;
    wb_rc rc = wbi_secrets_mask(s, m->label, block ? wbi_str_head(value, 27) : value, out);

    keep_newlines(value, out);
    count(report, m->label);
    return rc;
}

/* ---- text with visible marks ---- */

size_t wbi_mark_at(struct wbi_str t, size_t i)
{
    size_t k = i + 3;

    if (t.n - i < 8 || t.p[i] != '<' || t.p[i + 1] != 'U' || t.p[i + 2] != '+')
        return 0;
    while (k < t.n && k < i + 9 && wbi_in_alphabet((uint8_t)t.p[k], A_HEX))
        k++;
    return k >= i + 7 && k < t.n && t.p[k] == '>' ? k + 1 - i : 0;
}

/* A text without its marks, and where its pieces stood. */
struct bare {
    struct wbi_buf text;
    struct wbi_buf pieces; /* of struct piece */
    size_t whole;          /* bytes with marks */
};
struct piece {
    size_t at;    /* in the bare text */
    size_t stood; /* in the whole one */
};

static void bare_fini(struct bare *b)
{
    wbi_buf_fini(&b->text);
    wbi_buf_fini(&b->pieces);
}

static void add_piece(struct bare *b, struct wbi_str t, size_t from, size_t to)
{
    struct piece piece = {b->text.n, from};

    if (from == to)
        return;
    wbi_buf_add(&b->pieces, &piece, sizeof piece);
    wbi_buf_add(&b->text, t.p + from, to - from);
}

static wb_rc without_marks(struct wbi_str t, struct bare *b)
{
    size_t from = 0, i = 0, mark;
    const char *open;

    b->whole = t.n;
    wbi_buf_init(&b->text, t.n + 1);
    wbi_buf_init(&b->pieces, (t.n + 1) * sizeof(struct piece));
    while (i < t.n && (open = memchr(t.p + i, '<', t.n - i)) != NULL) {
        i = (size_t)(open - t.p);
        mark = wbi_mark_at(t, i);
        if (mark > 0) {
            add_piece(b, t, from, i);
            from = i + mark;
        }
        i += mark > 0 ? mark : 1;
    }
    add_piece(b, t, from, t.n);
    if (wbi_buf_rc(&b->text) == WB_OK && wbi_buf_rc(&b->pieces) == WB_OK)
        return WB_OK;
    bare_fini(b);
    return WB_ENOMEM;
}

/* Where byte `at` of the bare text stood. */
static size_t stood(const struct bare *b, size_t at)
{
    const struct piece *pieces = (const void *)b->pieces.p;
    size_t low = 0, high = b->pieces.n / sizeof *pieces;

    if (at >= b->text.n)
        return b->whole;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return pieces[low].stood + at - pieces[low].at;
}

/* One pass over a text. */
struct pass {
    size_t limit;   /* replace up to here; a match may reach beyond */
    bool line_ends; /* nothing but a block goes on behind the text */
    bool final;     /* nothing at all does */
    size_t used;    /* how far it came */
    bool open;      /* it ended inside a key block */
    bool waits;     /* what is left needs more text to be judged */
    bool taken;     /* so does what was written behind the limit: it is to be taken back */
    bool marked;    /* nothing was done: there are visible marks before the limit */
    bool again;     /* what was written is to be judged once more */
    size_t lines;   /* where the lines written last begin that were changed, or NOWHERE */
    size_t changed; /* behind the last replacement in them */
};

/* A secret is left in lines that were changed. */
static bool any_left(const struct wbi_secrets *s, struct wbi_str text);

/* A replacement changes what others in its line are judged by: it ends values that went on,
 * and makes what follows the rest of one. So lines with replacements are judged again, with
 * the line before, which may name the value of the next. */
static void look_again(const struct wbi_secrets *s, struct pass *p, const struct wbi_buf *out,
                       bool end)
{
    const char *nl;
    size_t to = out->n;

    if (p->lines == NOWHERE || p->again)
        return;
    nl = memchr(out->p + p->changed, '\n', out->n - p->changed);
    if (nl == NULL && !end)
        return;
    if (nl != NULL)
        to = (size_t)(nl - out->p) + 1;
    p->again = any_left(s, wbi_str_make(out->p + p->lines, to - p->lines));
    p->lines = NOWHERE;
}

static void note_change(struct pass *p, const struct wbi_buf *out, size_t written, size_t from)
{
    if (p->lines == NOWHERE) {
        struct wbi_str text = wbi_str_make(out->p + written, from - written);

        p->lines = wbi_line_start(text, text.n);
        p->lines = written + wbi_line_start(text, p->lines > 0 ? p->lines - 1 : 0);
    }
    p->changed = out->n;
}

/* The finder does not look for marks inside of what it found. */
static void note_mark(struct finder *f, const struct secret *m)
{
    size_t from = f->literal < m->from ? f->literal : m->from;
    struct wbi_str found = wbi_str_make(f->text.p + from, m->to - from);
    size_t i = 0;

    while (f->mark == NOWHERE &&
           (i += wbi_str_find(wbi_str_from(found, i), WBI_LIT("<U+"))) < found.n) {
        if (wbi_mark_at(f->text, from + i) > 0)
            f->mark = from + i;
        i++;
    }
}

/* A match that reaches into what is not settled yet is left for later, its line with it,
 * so that it is judged with what stands before it. */
static void hold_back(struct pass *p, struct wbi_str text, size_t at, size_t literal)
{
    size_t line = wbi_line_start(text, literal);

    p->limit = literal > at ? literal : at;
    if (text.n - line <= WBI_LIMIT_SECRET_HOLD) {
        p->limit = line;
        p->taken = line < at;
    }
}

static wb_rc replace_plain(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                           struct wbi_buf *out, struct wbi_secrets_report *report)
{
    WBI_LARGE_LOCAL struct finder f;
    struct secret m;
    size_t at = 0, written = out->n;
    wb_rc rc = WB_OK;

    finder_start(&f, s, text, p->limit, p->final);
    p->lines = NOWHERE;
    while (rc == WB_OK && finder_next(&f, at, &m) && f.literal < p->limit) {
        size_t from;

        note_mark(&f, &m);
        if (f.mark < p->limit)
            break;
        if (!p->line_ends && !m.open && (m.to == text.n || m.to > p->limit)) {
            hold_back(p, text, at, f.literal < m.from ? f.literal : m.from);
            break;
        }
        wbi_buf_add(out, text.p + at, m.from - at);
        look_again(s, p, out, false);
        from = out->n;
        rc = replace_one(s, text, &m, out, report);
        note_change(p, out, written, from);
        at = m.to;
        p->open |= m.open && m.to == text.n;
    }
    p->waits = f.wait < p->limit;
    if (p->waits) {
        p->limit = f.wait;
        p->taken = f.wait < at;
    }
    if (rc == WB_OK && at < p->limit) {
        wbi_buf_add(out, text.p + at, p->limit - at);
        at = p->limit;
    }
    if (rc == WB_OK)
        rc = wbi_buf_rc(out);
    if (rc == WB_OK)
        look_again(s, p, out, true);
    p->used = at;
    p->marked = f.mark < p->limit;
    return rc;
}

/* Secrets that only show without the marks: their place in the marked text. */
static wb_rc replace_marked(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                            struct wbi_buf *out, struct wbi_secrets_report *report)
{
    struct bare bare;
    WBI_LARGE_LOCAL struct finder f;
    struct secret m;
    wb_rc rc = without_marks(text, &bare);
    size_t from = 0, at = 0, written = out->n, stands;

    if (rc != WB_OK)
        return rc;
    finder_start(&f, s, wbi_buf_str(&bare.text), bare.text.n, true);
    p->lines = NOWHERE;
    while (rc == WB_OK && finder_next(&f, at, &m)) {
        wbi_buf_add(out, text.p + from, stood(&bare, m.from) - from);
        look_again(s, p, out, false);
        stands = out->n;
        rc = replace_one(s, wbi_buf_str(&bare.text), &m, out, report);
        note_change(p, out, written, stands);
        from = m.to > m.from ? stood(&bare, m.to - 1) + 1 : stood(&bare, m.to);
        at = m.to;
        p->open = m.open && m.to == bare.text.n;
    }
    wbi_buf_add(out, text.p + from, text.n - from);
    bare_fini(&bare);
    if (rc == WB_OK)
        rc = wbi_buf_rc(out);
    if (rc == WB_OK)
        look_again(s, p, out, true);
    return rc;
}

/* Whichever of the two it takes. What was written before the first mark was seen is
 * taken back, and so is the beginning of a line whose end has to wait: they are judged
 * together. */
static wb_rc replace_once(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                          struct wbi_buf *out, struct wbi_secrets_report *report)
{
    WBI_LARGE_LOCAL struct wbi_secrets_report before;
    const struct pass first = *p;
    size_t n = out->n;
    bool waits = false;
    wb_rc rc;

    if (report != NULL)
        before = *report;
    while ((rc = replace_plain(s, text, p, out, report)) == WB_OK && (p->marked || p->taken)) {
        size_t limit = p->limit;

        out->n = n;
        if (report != NULL)
            *report = before;
        if (p->marked) {
            *p = (struct pass){.limit = first.limit, .used = first.limit};
            return replace_marked(s, wbi_str_head(text, first.limit), p, out, report);
        }
        waits |= p->waits;
        *p = first;
        p->limit = limit; /* less than before */
    }
    p->waits |= waits;
    return rc;
}

#define ROUNDS 16u /* each replaces more; texts that are not made for it need two */

static wb_rc replace(const struct wbi_secrets *s, struct wbi_str text, struct pass *p,
                     struct wbi_buf *out, struct wbi_secrets_report *report)
{
    size_t n = out->n;
    wb_rc rc = replace_once(s, text, p, out, report);
    bool again = p->again;

    for (unsigned round = 1; rc == WB_OK && again && round < ROUNDS; round++) {
        struct wbi_buf once;
        struct pass next;

        wbi_buf_init(&once, out->n - n + 1);
        wbi_buf_add(&once, out->p + n, out->n - n);
        rc = wbi_buf_rc(&once);
        out->n = n;
        next = (struct pass){.limit = once.n, .line_ends = true, .final = true};
        if (rc == WB_OK)
            rc = replace_once(s, wbi_buf_str(&once), &next, out, report);
        again = next.again;
        p->open |= next.open;
        wbi_buf_fini(&once);
    }
    return rc;
}

wb_rc wbi_secrets_replace(const struct wbi_secrets *s, struct wbi_str text, struct wbi_buf *out,
                          struct wbi_secrets_report *report)
{
    struct pass p = {.limit = text.n, .line_ends = true, .final = true};

    return replace(s, text, &p, out, report);
}

static bool any_in(const struct wbi_secrets *s, struct wbi_str text, bool *ret_marks)
{
    WBI_LARGE_LOCAL struct finder f;
    struct secret m;
    bool any;

    finder_start(&f, s, text, text.n, true);
    any = finder_next(&f, 0, &m);
    *ret_marks = f.mark != NOWHERE;
    return any;
}

static bool any_left(const struct wbi_secrets *s, struct wbi_str text)
{
    struct bare bare;
    bool found, marks;

    if (wbi_str_find(text, WBI_LIT("<U+")) == text.n)
        return any_in(s, text, &marks);
    if (without_marks(text, &bare) != WB_OK)
        return true;
    found = any_in(s, wbi_buf_str(&bare.text), &marks);
    bare_fini(&bare);
    return found;
}

bool wbi_secrets_suspected(const struct wbi_secrets *s, struct wbi_str text)
{
    const struct prefilter *p = &s->filter;
    struct secret ignored;
    WBI_LARGE_LOCAL struct scan scan;

    if (wbi_known_next(s->known, text, 0, &ignored))
        return true;
    wbi_scan_start(&scan, p, text);
    for (size_t at = wbi_scan_next(&scan, 0); at < text.n; at = wbi_scan_next(&scan, at + 1)) {
        uint64_t here = first_bytes(text, at);
        unsigned key = wbi_rule_key(here);

        for (size_t i = p->start[key]; i < p->start[key + 1]; i++)
            if (rule_here(p, i, text, at, here))
                return true;
    }
    return false;
}

bool wbi_secrets_knows_values(const struct wbi_secrets *s)
{
    return wbi_known_any(s->known);
}

bool wbi_secrets_found(const struct wbi_secrets *s, struct wbi_str text)
{
    struct bare bare;
    bool found, marks;

    if (any_in(s, text, &marks))
        return true;
    if (!marks)
        return false;
    if (without_marks(text, &bare) != WB_OK)
        return true; /* better too careful than not at all */
    found = any_in(s, wbi_buf_str(&bare.text), &marks);
    bare_fini(&bare);
    return found;
}

/* ---- stream ---- */

void wbi_secrets_stream_init(struct wbi_secrets_stream *st, const struct wbi_secrets *s)
{
    *st = (struct wbi_secrets_stream){.set = s};
    wbi_buf_init(&st->hold, SIZE_MAX / 2);
}

void wbi_secrets_stream_fini(struct wbi_secrets_stream *st)
{
    wbi_buf_fini(&st->hold);
}

/* How much of text may be settled now: whole lines, or when a line grows too
 * long all but the longest form. */
static size_t settled(const struct wbi_secrets_stream *st, struct wbi_str text)
{
    const char *nl = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;
    size_t limit = nl != NULL ? (size_t)(nl - text.p) + 1 : 0;
    size_t back = wbi_known_longest(st->set->known) + 4096;
    size_t block = wbi_known_longest_block(st->set->known);

    if (block > 0) { /* the lines in which a value of several lines may have begun wait */
        nl = text.n > block ? memrchr(text.p, '\n', text.n - block) : NULL;
        limit = nl != NULL ? (size_t)(nl - text.p) + 1 : 0;
    }
    if (text.n - limit > WBI_LIMIT_SECRET_HOLD + block)
        limit = text.n - back;
    return limit;
}

/* What is judged together ends with a line, if there is one. */
static struct wbi_str whole_lines(struct wbi_str text)
{
    const char *nl = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;

    return nl != NULL ? wbi_str_head(text, (size_t)(nl - text.p) + 1) : text;
}

/* Inside a key block: drop what belongs to it. Whole lines only, unless last. */
static size_t inside_pem(struct wbi_secrets_stream *st, struct wbi_str text, bool last,
                         struct wbi_buf *out)
{
    const char *nl = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;
    struct wbi_str whole = text;
    bool ended;
    size_t n;

    if (!last) {
        if (nl == NULL && text.n < WBI_LIMIT_SECRET_PEM)
            return 0;
        if (nl != NULL)
            whole.n = (size_t)(nl - text.p) + 1;
    }
    n = wbi_pem_body(whole, 0, st->pem_left, &ended);
    keep_newlines(wbi_str_head(whole, n), out);
    st->pem_left = ended ? 0 : st->pem_left - n;
    return n;
}

static wb_rc stream_step(struct wbi_secrets_stream *st, struct wbi_str text, bool last,
                         struct wbi_buf *out, size_t *ret_used)
{
    struct pass p = {.final = last};
    size_t used = 0;
    wb_rc rc = WB_OK;

    if (st->pem_left > 0) {
        used = inside_pem(st, text, last, out);
        if (st->pem_left > 0) {
            *ret_used = last ? text.n : used;
            return wbi_buf_rc(out);
        }
        text = wbi_str_from(text, used);
    }
    if (!last)
        text = whole_lines(text);
    p.limit = last ? text.n : settled(st, text);
    /* no secret but a block goes beyond a line */
    p.line_ends = last || (p.limit > 0 && text.p[p.limit - 1] == '\n' &&
                           wbi_known_longest_block(st->set->known) == 0);
    if (p.limit > 0)
        rc = replace(st->set, p.line_ends ? wbi_str_head(text, p.limit) : text, &p, out,
                     &st->report);
    if (p.open)
        st->pem_left = WBI_LIMIT_SECRET_PEM;
    st->waiting = p.waits;
    *ret_used = used + p.used;
    return rc;
}

static void drop_head(struct wbi_buf *b, size_t n)
{
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

static wb_rc feed_held(struct wbi_secrets_stream *st, struct wbi_str text, struct wbi_buf *out)
{
    size_t used = 0;
    wb_rc rc;

    wbi_buf_adds(&st->hold, text);
    rc = wbi_buf_rc(&st->hold);
    if (rc == WB_OK && st->hold.n > 0)
        rc = stream_step(st, wbi_buf_str(&st->hold), false, out, &used);
    if (rc == WB_OK && used > 0)
        drop_head(&st->hold, used);
    return rc;
}

/* The held start of a line is finished with the head of text, so that the rest
 * need not be copied; *ret_used says how much of text that took. */
static wb_rc finish_held_line(struct wbi_secrets_stream *st, struct wbi_str text,
                              struct wbi_buf *out, size_t *ret_used)
{
    const char *nl = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    size_t n = nl != NULL ? (size_t)(nl - text.p) + 1 : text.n, used = 0;
    wb_rc rc;

    wbi_buf_add(&st->hold, text.p, n);
    rc = wbi_buf_rc(&st->hold);
    if (rc == WB_OK)
        rc = stream_step(st, wbi_buf_str(&st->hold), false, out, &used);
    if (rc != WB_OK)
        return rc;
    drop_head(&st->hold, used);
    *ret_used = n;
    return WB_OK;
}

wb_rc wbi_secrets_stream_feed(struct wbi_secrets_stream *st, struct wbi_str text,
                              struct wbi_buf *out)
{
    size_t used = 0;
    wb_rc rc = WB_OK;

    if (wbi_known_longest_block(st->set->known) > 0) /* several lines are judged together */
        return feed_held(st, text, out);
    while (rc == WB_OK && st->hold.n > 0 && text.n > 0 && !st->waiting) {
        rc = finish_held_line(st, text, out, &used);
        text = wbi_str_from(text, used);
    }
    if (rc != WB_OK || text.n == 0)
        return rc;
    if (st->waiting)
        return feed_held(st, text, out);
    rc = stream_step(st, text, false, out, &used);
    if (rc == WB_OK)
        wbi_buf_adds(&st->hold, wbi_str_from(text, used));
    return rc != WB_OK ? rc : wbi_buf_rc(&st->hold);
}

wb_rc wbi_secrets_stream_finish(struct wbi_secrets_stream *st, struct wbi_buf *out)
{
    size_t used;
    wb_rc rc = stream_step(st, wbi_buf_str(&st->hold), true, out, &used);

    wbi_buf_clear(&st->hold);
    st->pem_left = 0;
    return rc;
}
