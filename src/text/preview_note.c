/* SPDX-License-Identifier: Apache-2.0
 * text/preview_note.c: what is worth noting in a large JSON value. Values are
 * counted by key; elements of arrays that tell a failure or hold a value unlike
 * their many siblings' are noted, most telling first; keys with few kinds of
 * values are told as counts. */
#include "text/preview_json_int.h"

#include <math.h>

#include "base/hash.h"
#include "base/limits.h"
#include "json/write.h"
#include "text/tokens.h"

#define SLOTS 4096u
#define KIND_BYTES 48u  /* longer strings are no kinds */
#define LOOK_BYTES 400u /* of longer strings only the first line is looked at */
#define TOLD_KEYS 3u
#define TOLD_VALUES 12u

struct tally {
    uint64_t hash;
    uint64_t key;          /* of values: the key they stand under */
    const wbi_json *first; /* key or value */
    uint32_t count;
    uint32_t distinct;
    uint64_t bytes; /* of keys: of the strings under it */
    bool untold;    /* of keys: some string is too long to be a kind */
};

struct notes {
    struct words words;
    struct tally keys[SLOTS];
    struct tally values[SLOTS];
    struct json_walk walk;
    const wbi_json *element[WBI_LIMIT_JSON_DEPTH + 1]; /* innermost open one, by depth */
    struct note {
        const wbi_json *v;
        const wbi_json *why; /* what in it tells most */
        uint64_t kind;
        float score;
    } note[NOTES_MAX];
    size_t n;
};

/* ---- walking a value without recursion ---- */

void wbi_json_walk_start(struct json_walk *w, const wbi_json *v)
{
    w->depth = 0;
    w->at = v;
    w->left[0] = 1;
    w->object[0] = false;
}

const wbi_json *wbi_json_walk_next(struct json_walk *w, const wbi_json **ret_key, size_t *ret_depth)
{
    const wbi_json *v;

    while (w->left[w->depth] == 0) {
        if (w->depth == 0)
            return NULL;
        w->depth--;
    }
    w->left[w->depth]--;
    *ret_depth = w->depth;
    *ret_key = NULL;
    if (w->object[w->depth])
        *ret_key = w->at++;
    v = w->at++;
    if (wbi_json_count(v) > 0 && w->depth < WBI_LIMIT_JSON_DEPTH) {
        w->depth++;
        w->left[w->depth] = wbi_json_count(v);
        w->object[w->depth] = wbi_json_is(v, WBI_JSON_OBJ);
    }
    return v;
}

/* ---- counting ---- */

static struct tally *tally_slot(struct tally *table, uint64_t hash)
{
    size_t i = (size_t)(hash >> 30) & (SLOTS - 1);

    for (size_t step = 0; step < 32; step++, i = (i + 1) & (SLOTS - 1))
        if (table[i].hash == hash || table[i].hash == 0)
            return &table[i];
    return NULL;
}

/* Equal for values of one kind: small scalars by value, text by shape. 0 for others. */
static uint64_t value_hash(const wbi_json *v, const struct line_facts *f)
{
    struct wbi_str s = wbi_text_of(v), number = wbi_json_str(v);
    uint64_t n;

    if (s.p != NULL && s.n <= KIND_BYTES)
        return wbi_hash64(s.p, s.n, 7) | 1;
    if (s.p != NULL)
        return f->shape | 1;
    if (wbi_json_is(v, WBI_JSON_BOOL))
        return wbi_json_true(v) ? 3 : 5;
    if (number.n <= 3 && wbi_parse_u64(number, &n))
        return n * 2 + 101;
    return 0;
}

static uint64_t key_hash(const wbi_json *key)
{
    struct wbi_str s = key ? wbi_json_str(key) : WBI_LIT("");

    return wbi_hash64(s.p, s.n, 3) | 1;
}

static uint64_t member_hash(uint64_t key, uint64_t value)
{
    return (key ^ value * 0x9e3779b97f4a7c15u) | 1;
}

/* What a long text begins with: a message stands before its trace. */
static struct wbi_str first_line(struct wbi_str s)
{
    const char *end = memchr(s.p, '\n', LOOK_BYTES);

    return wbi_str_head(s, end != NULL ? (size_t)(end - s.p) : LOOK_BYTES);
}

static void look(const struct notes *x, const wbi_json *v, struct line_facts *ret)
{
    struct wbi_str s = wbi_text_of(v);

    *ret = (struct line_facts){0};
    if (s.n > LOOK_BYTES)
        s = first_line(s);
    if (s.p != NULL && s.n > 0)
        wbi_line_look(&x->words, s, s.n, ret);
}

static void count_values(struct notes *x, const wbi_json *root)
{
    const wbi_json *key = NULL, *v;
    struct line_facts f;
    size_t depth;

    wbi_json_walk_start(&x->walk, root);
    while ((v = wbi_json_walk_next(&x->walk, &key, &depth)) != NULL) {
        uint64_t kh, both;
        struct tally *k, *p;

        look(x, v, &f);
        if (value_hash(v, &f) == 0)
            continue;
        kh = key_hash(key);
        both = member_hash(kh, value_hash(v, &f));
        k = tally_slot(x->keys, kh);
        p = tally_slot(x->values, both);
        if (k == NULL || p == NULL)
            continue;
        if (p->count++ == 0) {
            *p = (struct tally){.hash = both, .key = kh, .first = v, .count = 1};
            k->distinct++;
        }
        if (k->count++ == 0) {
            k->hash = kh;
            k->first = key;
        }
        k->bytes += wbi_text_of(v).n;
        k->untold |= wbi_text_of(v).n > KIND_BYTES;
    }
}

/* ---- noting ---- */

static bool truthy(const wbi_json *v)
{
    struct wbi_str s = wbi_text_of(v);

    if (s.p != NULL)
        return s.n > 0;
    if (wbi_json_is(v, WBI_JSON_ARR) || wbi_json_is(v, WBI_JSON_OBJ))
        return wbi_json_count(v) > 0;
    return wbi_json_true(v) || wbi_json_num(v) != 0;
}

static unsigned severity(const struct notes *x, const wbi_json *key, const wbi_json *v,
                         const struct line_facts *text)
{
    struct line_facts f;
    struct wbi_str s = wbi_text_of(v);
    unsigned most = s.p != NULL && text->severity >= (s.n <= 24 ? 80 : 55) ? text->severity : 0;

    if (key == NULL || !truthy(v))
        return most;
    if (wbi_str_eqz(wbi_json_str(key), "isError"))
        return 100;
    wbi_line_look(&x->words, wbi_json_str(key), wbi_json_str(key).n, &f);
    return f.severity >= 88 && f.severity > most ? f.severity : most;
}

bool wbi_notes_failure(const struct notes *x, const wbi_json *key, const wbi_json *v)
{
    struct line_facts f;

    look(x, v, &f);
    return severity(x, key, v, &f) >= (wbi_text_of(v).n <= 24 ? 80 : 88);
}

/* How much a value speaks for its element: a failure, or one of few kinds and rare. */
static float telling(struct notes *x, const wbi_json *key, const wbi_json *v, uint64_t *ret_kind)
{
    struct line_facts f;
    const struct tally *k, *p;
    uint64_t kh = key_hash(key), value;
    float score;

    look(x, v, &f);
    value = value_hash(v, &f);
    *ret_kind = member_hash(kh, value);
    score = (float)severity(x, key, v, &f);
    k = tally_slot(x->keys, kh);
    p = value != 0 ? tally_slot(x->values, *ret_kind) : NULL;
    if (k == NULL || p == NULL || p->count == 0)
        return score;
    if (k->count >= 20 && k->distinct <= 6 && p->count * 20 <= k->count && score < 70)
        score = 70;
    return score / (1.0f + 0.7f * log2f((float)p->count));
}

/* At most three of one kind; an element counts once, by its best. */
static void note(struct notes *x, const wbi_json *v, const wbi_json *why, uint64_t kind,
                 float score)
{
    size_t alike = 0, at;

    for (size_t i = 0; i < x->n; i++) {
        alike += x->note[i].kind == kind;
        if (x->note[i].v == v && x->note[i].score >= score)
            return;
    }
    if (alike >= 3 || (x->n == NOTES_MAX && x->note[x->n - 1].score >= score))
        return;
    for (at = 0; at < x->n; at++) {
        if (x->note[at].v == v) {
            memmove(&x->note[at], &x->note[at + 1], (x->n - at - 1) * sizeof *x->note);
            x->n--;
            break;
        }
    }
    x->n -= x->n == NOTES_MAX;
    for (at = x->n; at > 0 && x->note[at - 1].score < score; at--)
        x->note[at] = x->note[at - 1];
    x->note[at] = (struct note){v, why, kind, score};
    x->n++;
}

static void note_all(struct notes *x, const wbi_json *root)
{
    const wbi_json *key = NULL, *v;
    uint64_t kind;
    size_t depth;
    float score;

    wbi_json_walk_start(&x->walk, root);
    while ((v = wbi_json_walk_next(&x->walk, &key, &depth)) != NULL) {
        x->element[depth] = key == NULL || depth == 0 ? v : x->element[depth - 1];
        score = telling(x, key, v, &kind);
        if (score >= 20 && x->element[depth] != root)
            note(x, x->element[depth], v, kind, score);
    }
}

wb_rc wbi_notes_take(struct wbi_arena *arena, const wbi_json *root, struct wbi_str command,
                     struct notes **ret)
{
    struct notes *x = wbi_arena_zalloc(arena, sizeof *x);

    if (x == NULL)
        return WB_ENOMEM;
    wbi_words_init(&x->words, command);
    count_values(x, root);
    note_all(x, root);
    *ret = x;
    return WB_OK;
}

bool wbi_notes_sure(const struct notes *x)
{
    return x->n > 0 && x->note[0].score >= SURE;
}

bool wbi_notes_within(const struct notes *x, const wbi_json *from, size_t most)
{
    const wbi_json *to = wbi_json_skip(from);

    for (size_t i = 0; i < x->n && i < most; i++)
        if (x->note[i].v >= from && x->note[i].v < to)
            return true;
    return false;
}

bool wbi_notes_why(const struct notes *x, const wbi_json *from, size_t most)
{
    const wbi_json *to = wbi_json_skip(from);

    for (size_t i = 0; i < x->n && i < most; i++)
        if (x->note[i].why >= from && x->note[i].why < to)
            return true;
    return false;
}

bool wbi_notes_has(const struct notes *x, const wbi_json *v, size_t most)
{
    for (size_t i = 0; i < x->n && i < most; i++)
        if (x->note[i].v == v)
            return true;
    return false;
}

/* ---- counts of kinds ---- */

static size_t values_of(const struct notes *x, uint64_t key, const struct tally **ret)
{
    size_t n = 0, at;

    for (size_t i = 0; i < SLOTS; i++) {
        const struct tally *p = &x->values[i];

        if (p->count == 0 || p->key != key)
            continue;
        if (n == TOLD_VALUES)
            return 0;
        for (at = n++; at > 0 && ret[at - 1]->count < p->count; at--)
            ret[at] = ret[at - 1];
        ret[at] = p;
    }
    return n;
}

/* More kinds tell more, and longer names more than marks and letters. */
static bool tells_more(const struct tally *a, const struct tally *b)
{
    if (a->distinct != b->distinct)
        return a->distinct > b->distinct;
    return a->bytes * b->count > b->bytes * a->count;
}

static void tell_key(const struct notes *x, const struct tally *key, struct wbi_buf *out)
{
    const struct tally *values[TOLD_VALUES];
    size_t n = values_of(x, key->hash, values);

    if (n == 0 || (n > 2 && values[0]->count == values[n - 1]->count)) /* all as often: a cycle */
        return;
    wbi_buf_addz(out, "\n[values of ");
    wbi_json_write(out, key->first);
    for (size_t i = 0; i < n; i++) {
        wbi_buf_addz(out, i == 0 ? ": " : ", ");
        wbi_json_write(out, values[i]->first);
        wbi_buf_addf(out, " \xc3\x97%u", values[i]->count);
    }
    wbi_buf_addc(out, ']');
}

void wbi_notes_tell(const struct notes *x, uint64_t units, struct wbi_buf *out)
{
    const struct tally *best[TOLD_KEYS];
    size_t n = 0, at;

    for (size_t i = 0; i < SLOTS; i++) {
        const struct tally *k = &x->keys[i];

        if (k->count < 20 || k->distinct < 2 || k->distinct > TOLD_VALUES || k->first == NULL ||
            k->untold || k->bytes < 3 * (uint64_t)k->count)
            continue;
        for (at = n; at > 0 && tells_more(k, best[at - 1]); at--)
            if (at < TOLD_KEYS)
                best[at] = best[at - 1];
        if (at < TOLD_KEYS) {
            best[at] = k;
            n += n < TOLD_KEYS;
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t before = out->n;

        tell_key(x, best[i], out);
        if (wbi_tokens_units(wbi_buf_str(out)) > units)
            out->n = before;
    }
}
