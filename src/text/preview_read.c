/* SPDX-License-Identifier: Apache-2.0
 * text/preview_read.c: a line taken apart into words, numbers, marks and what is quoted: its
 * shape, its numbers, and the words to be weighed. Where vectors have 64 lanes that is done 63
 * bytes at a time, and piece by piece elsewhere and for what is not ASCII. */
#include "text/preview_look_int.h"
#include "text/preview_shape_int.h"

/* Of the chunk (what stands between blanks and marks) under way: that there is one, that it
 * has digits, slashes or dots and is no part of the shape, that a dot comes before letters. */
enum { OPEN = 1, VARIES = 2, DOT = 4 };

/* Where a line is read: apart from the above, so that all of it stays in registers. */
struct reader {
    struct window w;
    struct shape_text shape;
    size_t number_end; /* where the last number ended */
    unsigned state;    /* of the chunk */
    uint8_t quote;     /* closing character, 0 outside */
    bool wide;
};

static INLINE void end_chunk(struct reader *r)
{
    if (r->state == 0)
        return;
    shape_end_chunk(&r->shape, (r->state & VARIES) != 0, r->quote != 0);
    r->state = 0;
}

static bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') < 10;
}

/* What is at i, of the next bytes of the line. */
static INLINE void look_from(struct reader *r, const struct look *k, size_t i)
{
    uint64_t below = (1ull << (k->n - i < WINDOW ? k->n - i : WINDOW)) - 1;

    if (r->wide)
        window_wide(&r->w, k->p + i, k->readable);
    else
        window_plain(&r->w, k->p + i, k->readable);
    r->w.letter &= below;
    r->w.digit &= below;
    r->w.base = i;
}

/* Where the letters or digits at i end. */
static INLINE size_t end_of(struct reader *r, const struct look *k, size_t i, bool letters)
{
    for (;;) {
        size_t at = i - r->w.base;
        size_t n = (size_t)__builtin_ctzll(~((letters ? r->w.letter : r->w.digit) >> at));

        i += n;
        if (at + n < WINDOW || i == k->n)
            return i;
        look_from(r, k, i);
    }
}

static bool is_hex(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 6;
}

/* Letters at i; returns where they end. A word glued to digits is a name. */
static INLINE size_t read_word(struct look *k, struct reader *r, size_t i)
{
    size_t to = end_of(r, k, i, /* letters= */ true);
    uint64_t hash = hash_letters(k->p + i, to - i, k->readable);
    uint8_t last = k->p[to - 1];

    if (to - i == 2 && is_hex(k->p[i]) && is_hex(last))
        r->state |= VARIES; /* one byte of a dump, a hash or an address */
    if (i == r->number_end || (to < k->n && is_digit(k->p[to]) && k->p[i] != '_')) {
        r->state |= OPEN | VARIES;
        k->code = true;
        k->before = 0;
        if (may_be_known(k->words, hash))
            wbi_look_glued(k, hash);
        return to;
    }
    r->state |= OPEN;
    shape_word(&r->shape, hash, k->p + i, to - i, k->readable);
    if (may_be_known(k->words, hash))
        wbi_look_known(k, hash, i, to);
    else if ((last == 'r' || last == 'n' || last < 'a') && to - i > 5)
        wbi_look_exception(k, i, to);
    k->before = hash;
    return to;
}

/* Commas stand between fields, not within numbers: several, none before a blank, and not
 * all of them between digits. */
static bool is_row(struct look *k)
{
    size_t commas = 0, plain = 0;
    const uint8_t *at = k->p, *end = k->p + k->n;

    if (k->row != 0)
        return k->row == 1;
    k->row = 2;
    while ((at = memchr(at, ',', (size_t)(end - at))) != NULL) {
        bool before = at > k->p && class_of[at[-1]] == C_DIGIT;

        at++;
        if (at == end || *at == ' ')
            return false;
        commas++;
        plain += !before || class_of[*at] != C_DIGIT;
    }
    if (commas >= 3 && plain > 0)
        k->row = 1;
    return k->row == 1;
}

/* The minus at i is a sign: nothing stands before it that it could join a number to. */
static bool is_sign(const struct look *k, size_t i)
{
    return i == 0 || class_of[k->p[i - 1]] == C_SPACE || memchr("=,;:|([", k->p[i - 1], 7) != NULL;
}

/* Digits [from, to) are a number by themselves, perhaps with a sign, a unit or a
 * fraction: no part of a name, a time, a date, a version or a path. */
static bool stands_free(struct look *k, size_t from, size_t to)
{
    uint8_t prev = from > 0 ? k->p[from - 1] : ' ', next = to < k->n ? k->p[to] : ' ';
    size_t unit = to;

    if (class_of[prev] == C_LETTER || class_of[prev] == C_SLASH || prev == '.' || prev == '#')
        return false;
    if (prev == '-' && !is_sign(k, from - 1))
        return false;
    if ((prev == ':' || (prev == ',' && !is_row(k))) && from > 1 && is_digit(k->p[from - 2]))
        return false;
    if ((next == ':' || next == '-' || (next == ',' && !is_row(k))) && to + 1 < k->n &&
        is_digit(k->p[to + 1]))
        return false;
    while (unit < k->n && unit < to + 4 && class_of[k->p[unit]] == C_LETTER)
        unit++;
    return class_of[next] != C_SLASH && unit < to + 4 &&
           (unit == k->n || unit == to || !is_digit(k->p[unit]));
}

/* How often 1024 is in the unit of a size that ends at i: 12K, 1.5M, 3GiB, 7kB. */
static unsigned size_unit(const struct look *k, size_t i)
{
    static const char units[] = "KMGTP";
    const char *unit;

    if (i + 1 < k->n && k->p[i] == '.' && is_digit(k->p[i + 1]))
        while (++i < k->n && is_digit(k->p[i]))
            ;
    if (i == k->n || class_of[k->p[i]] != C_LETTER)
        return 0;
    unit = k->p[i] == 'k' ? units : memchr(units, k->p[i], sizeof units - 1);
    if (unit == NULL)
        return 0;
    i++;
    i += i < k->n && k->p[i] == 'i';
    i += i < k->n && k->p[i] == 'B';
    return i < k->n && (class_of[k->p[i]] == C_LETTER || is_digit(k->p[i]))
               ? 0
               : (unsigned)(unit - units) + 1;
}

static void keep_number(struct look *k, size_t from, size_t to)
{
    uint64_t v = 0;

    for (size_t i = from; i < to; i++)
        v = v * 10 + (k->p[i] - '0');
    for (unsigned unit = size_unit(k, to); unit > 0 && v < 1ull << 53; unit--)
        v *= 1024;
    k->facts->number[k->n_numbers++] = from > 0 && k->p[from - 1] == '-' ? -(int64_t)v : (int64_t)v;
}

static INLINE size_t read_number(struct look *k, struct reader *r, size_t i)
{
    size_t to = end_of(r, k, i, /* letters= */ false);

    r->state |= OPEN | VARIES;
    r->number_end = to;
    k->before = 0;
    if (r->quote == 0 && to - i < 10 && k->n_numbers < NUMBERS_MAX && stands_free(k, i, to))
        keep_number(k, i, to);
    return to;
}

static INLINE size_t read_quote(const struct look *k, struct reader *r, size_t i)
{
    uint8_t c = k->p[i];
    bool after_name =
        i > 0 && (class_of[k->p[i - 1]] == C_LETTER || class_of[k->p[i - 1]] == C_DIGIT);

    if (r->quote != 0 && (c == r->quote || (r->quote == '\'' && c == '`'))) {
        end_chunk(r);
        r->quote = 0;
        shape_mark(&r->shape, SHAPE_QUOTED);
    } else if (r->quote == 0 && !(c == '\'' && after_name)) {
        end_chunk(r);
        r->quote = c == '`' ? '\'' : c;
    } else if (i + 1 < k->n && class_of[k->p[i + 1]] == C_LETTER) {
        shape_apart(&r->shape);
    }
    return i + 1;
}

/* ‘…’ and “…” quote as ' and " do. */
static INLINE size_t read_high(const struct look *k, struct reader *r, size_t i)
{
    const uint8_t *p = k->p + i;

    if (i + 2 < k->n && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0x98 && p[2] <= 0x9d) {
        end_chunk(r);
        if ((p[2] & 3) == 0) {
            r->quote = 0xff;
        } else {
            r->quote = 0;
            shape_mark(&r->shape, SHAPE_QUOTED);
        }
        return i + 3;
    }
    r->state |= OPEN;
    for (; i + 8 <= k->n; i += 8) { /* a long run that opens or closes no quotation */
        uint64_t v = load_8(k->p + i, k->readable), quote = v ^ BYTES(0xe2);

        if ((v & BYTES(0x80)) != BYTES(0x80) || ((quote - BYTES(1)) & ~quote & BYTES(0x80)) != 0)
            break;
        shape_high(&r->shape, v, 8);
    }
    if (k->p + i > p)
        return i;
    shape_high(&r->shape, *p, 1);
    return i + 1;
}

/* What comes most often behind a word. */
static INLINE size_t skip_blank(const struct look *k, struct reader *r, size_t i)
{
    if (i == k->n || k->p[i] != ' ')
        return i;
    end_chunk(r);
    return i + 1;
}

/* The mark at i is that before it once more: of a bar or a row of dots only one counts. A rule
 * that a line begins with is as long as it is. */
static INLINE bool comes_again(const struct look *k, size_t i)
{
    return i > 0 && i >= k->rule && k->p[i - 1] == k->p[i];
}

static INLINE size_t read_join(const struct look *k, struct reader *r, size_t i)
{
    uint8_t c = k->p[i];

    if (c != '-' && i + 1 < k->n && class_of[k->p[i + 1]] == C_LETTER)
        r->state |= c == '.' ? VARIES | DOT : VARIES;
    if (!comes_again(k, i))
        shape_add(&r->shape, c, 1);
    r->state |= OPEN;
    return i + 1;
}

static INLINE size_t read_mark(struct look *k, struct reader *r, size_t i)
{
    uint8_t c = k->p[i];

    if ((c == ':' || c == '(') && i + 1 < k->n && is_digit(k->p[i + 1])) {
        k->place |= (r->state & DOT) != 0; /* a.c:12, a.ts(3,4) */
        k->time |= i == r->number_end;
    }
    end_chunk(r);
    if (r->quote == 0 && !comes_again(k, i))
        shape_mark(&r->shape, c);
    return i + 1;
}

/* One piece at i: a word, a number, blanks or one mark. */
static INLINE size_t read_piece(struct look *k, struct reader *r, size_t i)
{
    if (i - r->w.base >= WINDOW)
        look_from(r, k, i);
    if (r->w.letter >> (i - r->w.base) & 1)
        return skip_blank(k, r, read_word(k, r, i));
    switch (class_of[k->p[i]]) {
    case C_DIGIT:
        return skip_blank(k, r, read_number(k, r, i));
    case C_SPACE:
        end_chunk(r);
        while (++i < k->n && k->p[i] == ' ')
            ;
        return i;
    case C_SLASH:
        r->state |= OPEN | VARIES;
        return i + 1;
    case C_JOIN:
        return read_join(k, r, i);
    case C_QUOTE:
        return read_quote(k, r, i);
    case C_HIGH:
        return read_high(k, r, i);
    default:
        return read_mark(k, r, i);
    }
}

static INLINE uint64_t read_line(struct look *k, bool wide)
{
    struct reader r = {.shape = shape_begin(NULL), .number_end = SIZE_MAX, .wide = wide};
    size_t i = 0;

    if (k->n > 0)
        look_from(&r, k, 0);
    while (i < k->n)
        i = read_piece(k, &r, i);
    end_chunk(&r);
    return shape_end(&r.shape);
}

WIDE static uint64_t read_line_wide(struct look *k)
{
    return read_line(k, /* wide= */ true);
}

static uint64_t read_line_plain(struct look *k)
{
    return read_line(k, /* wide= */ false);
}

#if defined(__x86_64__)
#include "text/preview_wide_int.h"

/* The words of a window that begins at `base`. */
struct window_words {
    size_t base;
    uint64_t starts;
    uint64_t glued;  /* starts of those that are */
    uint64_t before; /* what came before all of them, as in struct look */
};

/* The hash of the word before what stands at s, as in struct look. */
WIDER static INLINE uint64_t word_before(const struct look *k, const struct line_bits *b,
                                         const struct window_words *w, unsigned s)
{
    uint64_t starts = _bzhi_u64(w->starts, s), digits = _bzhi_u64(b->digit, s);
    unsigned at;

    if (starts == 0)
        return digits == 0 ? w->before : 0;
    at = 63 - (unsigned)__builtin_clzll(starts);
    if (w->glued >> at & 1 || digits >> at != 0)
        return 0;
    return hash_letters(k->p + w->base + at, (size_t)__builtin_ctzll(~(b->letter >> at)),
                        k->readable);
}

/* Of all words of the window at i, those that may be known are looked at. */
WIDER static INLINE void read_words(struct look *k, const struct line_bits *b, size_t i, size_t end)
{
    uint64_t starts = b->letter & ~(b->letter << 1), lasts = b->letter & ~(b->letter >> 1);
    struct window_words w = {i, starts, glued_words(b, starts, lasts), k->before};
    uint64_t thrown =
        starts_of(lasts & (b->e << 1 | b->e << 4 | b->e << 8), lasts, starts) & ~w.glued;
    uint64_t left = thrown | may_be_words(k->words, b, k->p + i, k->n - i, starts);

    k->code |= w.glued != 0;
    for (; left != 0; left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctzll(left);
        size_t n = (size_t)__builtin_ctzll(~(b->letter >> s)), from = i + s;
        uint64_t hash = hash_letters(k->p + from, n, k->readable);

        if (!may_be_known(k->words, hash)) {
            if (thrown >> s & 1)
                wbi_look_exception(k, from, from + n);
        } else if (w.glued >> s & 1) {
            wbi_look_glued(k, hash);
        } else {
            k->before = word_before(k, b, &w, s);
            wbi_look_known(k, hash, from, from + n);
        }
    }
    if (i + end < k->n)
        k->before = word_before(k, b, &w, (unsigned)end);
}

/* The numbers outside of quotes that may stand free. */
WIDER static INLINE void read_numbers(struct look *k, const struct line_bits *b, size_t base)
{
    for (uint64_t left = free_numbers(b); left != 0 && k->n_numbers < NUMBERS_MAX;
         left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctzll(left);
        unsigned n = (unsigned)__builtin_ctzll(~(b->digit >> s));

        if (n < 10 && stands_free(k, base + s, base + s + n))
            keep_number(k, base + s, base + s + n);
    }
}

/* As much of the line as lies in chunks that end within the next 63 bytes; i is where none is
 * under way. Returns where that ends: i when there is none or it is not ASCII. */
WIDER static INLINE size_t read_window(struct look *k, struct reader *r, size_t i)
{
    struct line_bits b NOT_CLEARED;
    size_t rule = k->rule > i ? k->rule - i : i == 0;
    size_t end = look_64(&b, k->p + i, k->n - i, rule);

    if (end == 0)
        return i;
    find_quotes(&b, k->p + i, &r->quote);
    shape_write(&r->shape, &b);
    k->place |= (b.number_mark & behind_dots(&b)) != 0;
    k->time |= (b.number_mark & b.digit << 1) != 0;
    read_words(k, &b, i, end);
    read_numbers(k, &b, i);
    return i + end;
}

/* What is not ASCII is read piece by piece, to where a chunk cannot be under way. */
WIDER static uint64_t read_line_64(struct look *k)
{
    uint8_t bytes[SHAPE_BYTES] NOT_CLEARED;
    struct reader r = {.shape = shape_begin(bytes), .number_end = SIZE_MAX, .wide = true};
    size_t i = 0, to;

    while (i < k->n) {
        to = read_window(k, &r, i);
        if (to == i) {
            look_from(&r, k, i);
            do
                to = read_piece(k, &r, to);
            while (to < k->n && class_of[k->p[to - 1]] != C_SPACE &&
                   class_of[k->p[to - 1]] != C_OTHER);
            r.number_end = SIZE_MAX;
        }
        i = to;
    }
    end_chunk(&r);
    return shape_end(&r.shape);
}
#else
#define read_line_64 read_line_plain
#endif

uint64_t wbi_read_line(struct look *k, size_t lanes)
{
    uint8_t first = k->n > 0 ? class_of[k->p[0]] : C_SPACE;

    k->rule = 0;
    while (k->rule < k->n && k->p[k->rule] == k->p[0] && (first == C_JOIN || first == C_OTHER))
        k->rule++;
    if (lanes == 64)
        return read_line_64(k);
    return lanes == 32 ? read_line_wide(k) : read_line_plain(k);
}
