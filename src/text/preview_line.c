/* SPDX-License-Identifier: Apache-2.0
 * text/preview_line.c: what one line says: its shape (the line with numbers,
 * paths and quoted names left out, so that lines of one kind compare equal) and
 * how much it sounds like a failure. Words are looked up by hash; a word inside
 * a file name or an identifier weighs little. */
#include <strings.h>

#include "text/preview_bits_int.h"

#define PREFIX_MAX 96u   /* times are looked for in so many bytes */
#define EXIT_NEAR 20u    /* bytes behind "exit" in which its status is looked for */
#define PROGRESS_MAX 12u /* bytes of how far it went, or how long it took */
#define LEVEL_NEAR 5u    /* bytes between "level" and its value */
#define LEVEL_WEIGHT 104u
#define SURE_WORD 80u
#define WEAK_WORD 60u /* below, it may as well be the name of a value */
#define MUCH_SURER 15u
/* Lines alike but for how it went are not of one shape. */
enum { SHAPE_DENIED = 3, SHAPE_FAILED = 4 };
enum { C_LETTER, C_DIGIT, C_SPACE, C_SLASH, C_JOIN, C_QUOTE, C_OTHER, C_HIGH };

#define X4(c) c, c, c, c
#define X8(c) X4(c), X4(c)
#define X16(c) X8(c), X8(c)
static const uint8_t class_of[256] = {
    X8(C_OTHER),
    C_OTHER,
    C_SPACE,
    C_SPACE,
    X4(C_SPACE),
    C_OTHER,
    X16(C_OTHER),
    /*  ! " # $ % & ' ( ) * + , - . / */
    C_SPACE,
    C_OTHER,
    C_QUOTE,
    C_OTHER,
    C_OTHER,
    C_OTHER,
    C_OTHER,
    C_QUOTE,
    C_OTHER,
    C_OTHER,
    C_OTHER,
    C_JOIN,
    C_OTHER,
    C_JOIN,
    C_JOIN,
    C_SLASH,
    X8(C_DIGIT),
    C_DIGIT,
    C_DIGIT,
    X4(C_OTHER),
    C_OTHER,
    C_OTHER,
    C_JOIN,
    X16(C_LETTER),
    X8(C_LETTER),
    C_LETTER,
    C_LETTER,
    C_OTHER,
    C_SLASH,
    C_OTHER,
    C_OTHER,
    C_LETTER,
    C_QUOTE,
    X16(C_LETTER),
    X8(C_LETTER),
    C_LETTER,
    C_LETTER,
    X4(C_OTHER),
    C_OTHER,
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
    X16(C_HIGH),
};

/* What is found in a line on the way. */
struct look {
    const struct words *words;
    const uint8_t *p;
    size_t n;
    const uint8_t *readable; /* up to here */
    uint64_t before;         /* hash of the word before */
    struct line_facts *facts;
    uint32_t hit;
    uint32_t query;
    uint8_t best;
    uint8_t extra;
    uint64_t outcome; /* part of the shape: lines alike but for how it went */
    uint8_t row;      /* of fields between commas: 1 yes, 2 no, 0 not looked at */
    uint8_t n_numbers;
    bool passed;
    bool place; /* a line of a file was named */
    bool code;  /* letters beside digits */
    bool quiet; /* the line names a level that nobody reads */
    bool time;  /* a colon between digits */
};

/* Of the chunk (what stands between blanks and marks) under way: that there is one, that it
 * has digits, slashes or dots and is no part of the shape, that a dot comes before letters. */
enum { OPEN = 1, VARIES = 2, DOT = 4 };

/* Where a line is read: apart from the above, so that all of it stays in registers. */
struct reader {
    struct window w;
    uint64_t shape;
    uint64_t chunk;    /* hash of the chunk under way */
    size_t number_end; /* where the last number ended */
    unsigned state;    /* of the chunk */
    uint8_t quote;     /* closing character, 0 outside */
    bool wide;
};

static INLINE void end_chunk(struct reader *r)
{
    if (r->state == 0)
        return;
    if (r->quote == 0)
        r->shape = mix(r->shape, r->state & VARIES ? 1 : r->chunk);
    r->state = 0;
    r->chunk = HASH_START;
}

static bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') < 10;
}

/* TypeError, NullPointerException: the name of an exception. */
static bool names_exception(const uint8_t *p, size_t n)
{
    return (n > 5 && memcmp(p + n - 5, "Error", 5) == 0) ||
           (n > 9 && memcmp(p + n - 9, "Exception", 9) == 0);
}

/* "failed=1", "failed: 3": the number behind a word is its own, not the one before it. */
static bool has_value(const struct look *k, size_t to)
{
    size_t i = to;

    if (i == k->n || (k->p[i] != '=' && k->p[i] != ':'))
        return false;
    for (i++; i < k->n && k->p[i] == ' ';)
        i++;
    return i < k->n && is_digit(k->p[i]);
}

/* "0 failed", "no errors": the failure that did not happen. */
static bool denied_before(const struct look *k, size_t from)
{
    size_t i = from;

    while (i > 0 && (k->p[i - 1] == ' ' || k->p[i - 1] == '\t'))
        i--;
    if (i > 0 && i < from && k->p[i - 1] == '0' && (i == 1 || class_of[k->p[i - 2]] != C_DIGIT))
        return true;
    return i > 1 && i < from && (k->p[i - 1] | 0x20) == 'o' && (k->p[i - 2] | 0x20) == 'n' &&
           (i == 2 || class_of[k->p[i - 3]] != C_LETTER);
}

/* "failed: 0" */
static bool denied_after(const struct look *k, size_t to)
{
    size_t i = to;

    while (i < k->n && (k->p[i] == ':' || k->p[i] == '=' || k->p[i] == ' '))
        i++;
    return i > to && i < k->n && k->p[i] == '0' &&
           (i + 1 == k->n ||
            (class_of[k->p[i + 1]] != C_DIGIT && k->p[i + 1] != '.' && k->p[i + 1] != 'x'));
}

/* "exited with 3", "exit status: 1": what a number close behind makes of the weight. */
static unsigned weigh_exit(struct look *k, unsigned weight, size_t to)
{
    size_t end = to + EXIT_NEAR < k->n ? to + EXIT_NEAR : k->n, i = to;

    while (i < end && class_of[k->p[i]] != C_DIGIT)
        i++;
    if (i == end || class_of[k->p[i - 1]] == C_LETTER)
        return weight;
    if (k->p[i] == '0')
        return weight / 3;
    k->outcome = mix(k->outcome, SHAPE_FAILED);
    return weight + 28;
}

/* Part of a path, a file name, an option: the word names something else. */
static bool inside_name(const struct look *k, size_t from, size_t to)
{
    uint8_t next = to < k->n ? k->p[to] : ' ', prev = from > 0 ? k->p[from - 1] : ' ';

    if (prev == '/' || prev == '.' || prev == '-' || prev == '\\' || prev == '+' || prev == '$')
        return true;
    if ((prev == ':' && from > 1 && k->p[from - 2] == ':') ||
        (next == ':' && to + 1 < k->n && k->p[to + 1] == ':'))
        return true;
    if (next == '/' || next == '(' || next == '\\' || next == '+' || (prev == '(' && next == ','))
        return true;
    return (next == '.' || next == '-') && to + 1 < k->n &&
           (class_of[k->p[to + 1]] == C_LETTER || class_of[k->p[to + 1]] == C_DIGIT);
}

static void weigh(struct look *k, uint8_t weight, uint8_t kind, size_t from, size_t to)
{
    unsigned w = weight;
    uint8_t next = to < k->n ? k->p[to] : ' ';

    if (kind == KIND_FAIL || kind == KIND_PAIR) {
        if (inside_name(k, from, to) || (weight < WEAK_WORD && next == '='))
            w /= 4;
        else if (denied_after(k, to) ||
                 (kind == KIND_FAIL && denied_before(k, from) && !has_value(k, to))) {
            w = 34;
            k->outcome = mix(k->outcome, SHAPE_DENIED);
        } else if (next == ':' || next == '!' || next == ']')
            w += 14;
        if (w > 40 && from == 0)
            w += 6;
        if (w > 40 && to - from > 3 && (k->p[from + 1] & 0x20) == 0)
            w += 6;
    } else if (inside_name(k, from, to)) {
        w /= 3;
    } else if (kind == KIND_EXIT) {
        w = weigh_exit(k, w, to);
    }
    /* several such words in one line: a summary, or a very clear complaint */
    if (k->best > 10 && w > 10 && k->extra < 12)
        k->extra += 4;
    if (w > k->best) { /* of several that leave little doubt the first is shown */
        if (k->best < SURE_WORD || w > k->best + MUCH_SURER)
            k->hit = (uint32_t)from;
        k->best = (uint8_t)w;
    }
}

/* org.acme.store.LimitError: the last part of a name says what was thrown. */
static void weigh_exception(struct look *k, size_t from, size_t to)
{
    bool last = to == k->n || (k->p[to] != '.' && k->p[to] != '(' && k->p[to] != '/');
    size_t start = from;

    while (last && start > 0 &&
           (class_of[k->p[start - 1]] == C_LETTER || k->p[start - 1] == '.' ||
            class_of[k->p[start - 1]] == C_DIGIT || k->p[start - 1] == '$' ||
            k->p[start - 1] == ':'))
        start--;
    weigh(k, 92, KIND_FAIL, start, to);
}

/* level=error, "severity": "info": of lines that name how bad they are, it counts. What is
 * only a warning may tell a failure all the same. */
static void weigh_level(struct look *k, size_t to)
{
    static const struct wbi_str bad[] = {WBI_LIT_INIT("err"), WBI_LIT_INIT("fatal"),
                                         WBI_LIT_INIT("crit"), WBI_LIT_INIT("panic")};
    struct wbi_str value;
    size_t i = to;

    while (i < k->n && i < to + LEVEL_NEAR && class_of[k->p[i]] != C_LETTER)
        i++;
    value = wbi_str_make((const char *)k->p + i, k->n - i);
    if (i == to || i == to + LEVEL_NEAR ||
        (memchr(k->p + to, '=', i - to) == NULL && memchr(k->p + to, ':', i - to) == NULL))
        return;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        if (value.n >= bad[b].n && strncasecmp(value.p, bad[b].p, bad[b].n) == 0) {
            k->outcome = mix(k->outcome, SHAPE_FAILED);
            weigh(k, LEVEL_WEIGHT, KIND_FAIL, i, i + bad[b].n);
            return;
        }
    if (value.n >= 4 && strncasecmp(value.p, "warn", 4) != 0)
        k->quiet = true;
}

static uint32_t query_bit(const struct word_slot *slot)
{
    return slot->query != 0 ? 1u << (slot->query - 1) : 0;
}

/* Most likely a word of the vocabulary or of the command. */
static void known_word(struct look *k, uint64_t hash, size_t from, size_t to)
{
    const struct word_slot *slot = &k->words->slot[slot_of(k->words, hash)];
    uint8_t weight = slot->weight, kind = slot->kind;

    if (slot->hash == 0) {
        if (names_exception(k->p + from, to - from))
            weigh_exception(k, from, to);
        return;
    }
    k->query |= query_bit(slot);
    if (k->before != 0 && weight < 60) {
        uint8_t both = wbi_words_pair(k->words, k->before, slot->hash);

        if (both != 0) {
            weight = both;
            kind = KIND_PAIR;
        }
    }
    if (kind == KIND_PASS)
        k->passed = true;
    if (kind == KIND_PLACE && to + 1 < k->n && is_digit(k->p[to + 1]))
        k->place = true;
    if (kind == KIND_LEVEL)
        weigh_level(k, to);
    if (kind == KIND_QUIET && k->best == 0 && (k->p[from + 1] & 0x20) == 0)
        k->quiet = true;
    if (kind == KIND_NOTE && k->best == 0 && to < k->n && k->p[to] == ':')
        k->quiet = true;
    if (weight != 0)
        weigh(k, weight, kind, from, to);
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
            k->query |= query_bit(&k->words->slot[slot_of(k->words, hash)]);
        return to;
    }
    r->state |= OPEN;
    r->chunk = mix(r->chunk, hash);
    if (may_be_known(k->words, hash))
        known_word(k, hash, i, to);
    else if ((last == 'r' || last == 'n') && names_exception(k->p + i, to - i))
        weigh_exception(k, i, to);
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

/* Digits [from, to) are a number by themselves, perhaps with a sign, a unit or a
 * fraction: no part of a name, a time, a date, a version or a path. */
static bool stands_free(struct look *k, size_t from, size_t to)
{
    uint8_t prev = from > 0 ? k->p[from - 1] : ' ', next = to < k->n ? k->p[to] : ' ';
    size_t unit = to;

    if (class_of[prev] == C_LETTER || class_of[prev] == C_SLASH || prev == '.' || prev == '#')
        return false;
    if (prev == '-' && from > 1 && class_of[k->p[from - 2]] != C_SPACE)
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

static void keep_number(struct look *k, size_t from, size_t to)
{
    uint32_t v = 0;

    for (size_t i = from; i < to; i++)
        v = v * 10 + (k->p[i] - '0');
    k->facts->number[k->n_numbers++] = from > 0 && k->p[from - 1] == '-' ? -(int32_t)v : (int32_t)v;
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
        r->shape = mix(r->shape, 2);
    } else if (r->quote == 0 && !(c == '\'' && after_name)) {
        end_chunk(r);
        r->quote = c == '`' ? '\'' : c;
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
            r->shape = mix(r->shape, 2);
        }
        return i + 3;
    }
    r->state |= OPEN;
    for (; i + 8 <= k->n; i += 8) { /* a long run that opens or closes no quotation */
        uint64_t v = load_8(k->p + i, k->readable), quote = v ^ BYTES(0xe2);

        if ((v & BYTES(0x80)) != BYTES(0x80) || ((quote - BYTES(1)) & ~quote & BYTES(0x80)) != 0)
            break;
        r->chunk = mix(r->chunk, v);
    }
    if (k->p + i > p)
        return i;
    r->chunk = mix(r->chunk, *p);
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

static INLINE size_t read_join(const struct look *k, struct reader *r, size_t i)
{
    uint8_t c = k->p[i];

    if (c != '-' && i + 1 < k->n && class_of[k->p[i + 1]] == C_LETTER)
        r->state |= c == '.' ? VARIES | DOT : VARIES;
    r->chunk = mix(r->chunk, c);
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
    if (r->quote == 0)
        r->shape = mix(r->shape, c);
    return i + 1;
}

static INLINE uint64_t read_line(struct look *k, bool wide)
{
    struct reader r = {
        .shape = HASH_START, .chunk = HASH_START, .number_end = SIZE_MAX, .wide = wide};
    size_t i = 0;

    if (k->n > 0)
        look_from(&r, k, 0);
    while (i < k->n) {
        if (i - r.w.base >= WINDOW)
            look_from(&r, k, i);
        if (r.w.letter >> (i - r.w.base) & 1) {
            i = skip_blank(k, &r, read_word(k, &r, i));
            continue;
        }
        switch (class_of[k->p[i]]) {
        case C_DIGIT:
            i = skip_blank(k, &r, read_number(k, &r, i));
            break;
        case C_SPACE:
            end_chunk(&r);
            while (++i < k->n && k->p[i] == ' ')
                ;
            break;
        case C_SLASH:
            r.state |= OPEN | VARIES;
            i++;
            break;
        case C_JOIN:
            i = read_join(k, &r, i);
            break;
        case C_QUOTE:
            i = read_quote(k, &r, i);
            break;
        case C_HIGH:
            i = read_high(k, &r, i);
            break;
        default:
            i = read_mark(k, &r, i);
        }
    }
    end_chunk(&r);
    return r.shape;
}

WIDE static uint64_t read_line_wide(struct look *k)
{
    return read_line(k, /* wide= */ true);
}

static uint64_t read_line_plain(struct look *k)
{
    return read_line(k, /* wide= */ false);
}

/* Where the word with the time of day (12:34:56) near the start ends, or 0. */
static size_t after_time(struct wbi_str s)
{
    size_t most = s.n < PREFIX_MAX ? s.n : PREFIX_MAX, at = 2;
    const char *colon;

    while (at + 4 < most && (colon = memchr(s.p + at, ':', most - at - 4)) != NULL) {
        at = (size_t)(colon - s.p);
        if (class_of[(uint8_t)colon[-1]] == C_DIGIT && class_of[(uint8_t)colon[-2]] == C_DIGIT &&
            class_of[(uint8_t)colon[1]] == C_DIGIT && colon[3] == ':' &&
            class_of[(uint8_t)colon[4]] == C_DIGIT) {
            while (at < s.n && s.p[at] != ' ' && s.p[at] != '\t' && s.p[at] != ']')
                at++;
            return at + (at < s.n && s.p[at] == ']');
        }
        at++;
    }
    return 0;
}

/* One of =:.-/[]TZ+, or a NUL. */
static bool in_number_prefix(uint8_t c)
{
    static const uint64_t marks[2] = {1ull << 0 | 1ull << '=' | 1ull << ':' | 1ull << '.' |
                                          1ull << '-' | 1ull << '/' | 1ull << '+' | 1ull << ',',
                                      1ull << ('[' - 64) | 1ull << (']' - 64) | 1ull << ('T' - 64) |
                                          1ull << ('Z' - 64)};

    return c < 128 && (marks[c >> 6] >> (c & 63) & 1);
}

/* Where a prefix of numbers and marks (times, process ids) ends, or 0. */
static size_t after_numbers(struct wbi_str s)
{
    size_t i = 0;

    while (i < s.n && i < 40 &&
           (class_of[(uint8_t)s.p[i]] == C_DIGIT || in_number_prefix((uint8_t)s.p[i])))
        i++;
    return i < 4 ? 0 : i;
}

static size_t skip_blanks(struct wbi_str s, size_t i)
{
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
        i++;
    return i;
}

/* Behind the lines that draw a tree or a frame (U+2500 to U+257F) and blanks. */
static size_t skip_drawing(struct wbi_str s, size_t i)
{
    while (i + 2 < s.n && (uint8_t)s.p[i] == 0xe2 && ((uint8_t)s.p[i + 1] & 0xfe) == 0x94)
        i = skip_blanks(s, i + 3);
    return i;
}

/* Indentation; behind a time or a prefix of numbers the blanks after it count,
 * but for the first. */
static uint8_t indent_of(struct wbi_str s, bool time, size_t *ret_start)
{
    size_t from = time ? after_time(s) : 0, i;

    if (from == 0)
        from = class_of[s.n > 0 ? (uint8_t)s.p[0] : 0] == C_SPACE ? 0 : after_numbers(s);
    i = skip_drawing(s, skip_blanks(s, from));
    if (from > 0 && i == from) { /* nothing but that prefix, or a word that began like one */
        *ret_start = 0;
        return 0;
    }
    *ret_start = i;
    i -= from + (from > 0);
    return (uint8_t)(i < 200 ? i : 200);
}

/* s has the literal z at that place; its length is known when this is compiled. */
#define starts(s, at, z) \
    ((s).n >= (at) + sizeof(z) - 1 && memcmp((s).p + (at), "" z, sizeof(z) - 1) == 0)

/* Frames, carets, source quotations, diff and test details. */
static bool attached(struct wbi_str s, size_t start, uint8_t indent)
{
    size_t i = start;
    char c = i < s.n ? s.p[i] : 0;

    if (c == '^' || c == '~' || c == '|')
        return true;
    if (c == '#' && i + 1 < s.n && class_of[(uint8_t)s.p[i + 1]] == C_DIGIT)
        return true;
    while (i < s.n && class_of[(uint8_t)s.p[i]] == C_DIGIT)
        i++;
    if (i > start && i + 1 < s.n && s.p[i] == ' ' && s.p[i + 1] == '|')
        return true;
    return indent > 0 && (c == 'a' || c == 'b' || c == 'f' || c == 'i') &&
           (starts(s, start, "at ") || starts(s, start, "by ") || starts(s, start, "from ") ||
            starts(s, start, "in "));
}

static uint16_t flags_of(struct wbi_str s, struct wbi_str t, size_t start, uint8_t indent)
{
    uint16_t flags = 0;
    char c;

    if (t.n == 0)
        return LINE_BLANK;
    c = t.p[0];
    if (t.n < 120 && t.n > 2 && t.p[t.n - 1] == ':' && class_of[(uint8_t)t.p[t.n - 2]] != C_OTHER)
        flags |= LINE_HEADING;
    if ((c == 'd' && starts(s, 0, "diff --")) || (c == 'I' && starts(s, 0, "Index: ")))
        flags |= LINE_HEADING | LINE_FILE;
    if (attached(s, start, indent))
        flags |= LINE_ATTACHED;
    if (start < s.n && (s.p[start] == 'T' || s.p[start] == 'D') &&
        (starts(s, start, "Traceback (") || starts(s, start, "During handling of") ||
         starts(s, start, "The above exception")))
        flags |= LINE_TRACE;
    return flags;
}

/* Without a "[ 37%]" or "(0 ms)" at its end. */
static struct wbi_str before_progress(struct wbi_str t)
{
    size_t i = t.n;
    char open;

    if (t.n == 0 || (t.p[t.n - 1] != ']' && t.p[t.n - 1] != ')'))
        return t;
    open = t.p[t.n - 1] == ']' ? '[' : '(';
    while (i > 0 && t.n - i < PROGRESS_MAX && t.p[i - 1] != open)
        i--;
    return i > 0 && t.p[i - 1] == open ? wbi_str_trim(wbi_str_head(t, i - 1)) : t;
}

/* "ok 12 - name", "name ... ok", "PASSED": what such a line mentions went well. */
static bool reports_success(struct wbi_str s, struct wbi_str line, size_t start)
{
    struct wbi_str t = before_progress(line);

    if (starts(s, start, "ok ") || starts(s, start, "[ok]") || starts(s, start, "PASS") ||
        starts(s, start, "\xe2\x9c\x93") || starts(s, start, "\xe2\x9c\x94"))
        return true;
    return wbi_str_ends(t, WBI_LIT(" ok")) || wbi_str_ends(t, WBI_LIT(" OK")) ||
           wbi_str_ends(t, WBI_LIT(" PASSED")) || wbi_str_ends(t, WBI_LIT(" PASS"));
}

/* The first eight bytes from start on, with every digit alike. */
static uint16_t opening_of(struct wbi_str s, size_t start)
{
    uint64_t v = load_8((const uint8_t *)s.p + start, (const uint8_t *)s.p + s.n);
    uint64_t high = (v & BYTES(0x7f)) + BYTES(0x80 - '0'),
             low = (v & BYTES(0x7f)) + BYTES(0x7f - '9');
    uint64_t digit = high & ~low & ~v & BYTES(0x80);

    return (uint16_t)(mix(HASH_START, v & ~(digit - (digit >> 7) + digit)) >> 48);
}

static void look(const struct words *w, struct wbi_str text, size_t n, bool wide,
                 struct line_facts *ret)
{
    struct wbi_str line = wbi_str_head(text, n), trimmed = wbi_str_trim(line);
    struct look k = {.words = w,
                     .p = (const uint8_t *)line.p,
                     .n = line.n,
                     .readable = (const uint8_t *)text.p + text.n,
                     .facts = ret};
    size_t start = 0;
    unsigned severity;

    ret->shape = wide ? read_line_wide(&k) : read_line_plain(&k);
    ret->shape = mix(ret->shape, k.outcome);
    ret->hit = k.hit;
    ret->query = k.query;
    ret->n_numbers = k.n_numbers;
    ret->indent = indent_of(line, k.time, &start);
    ret->start = (uint8_t)start;
    ret->opening = opening_of(line, start);
    ret->flags = flags_of(line, trimmed, start, ret->indent);
    ret->flags |= k.place ? LINE_PLACE : 0;
    ret->flags |= k.code ? LINE_CODE : 0;
    severity = (unsigned)(k.best + k.extra) / (k.quiet ? 2 : 1);
    if (k.passed && reports_success(line, trimmed, start)) {
        ret->flags |= LINE_PASSED;
        severity /= 8;
    }
    if (severity >= FAILURE && ret->indent > 0 && wbi_quotes_code(line, start, ret->indent))
        severity /= 3;
    if (starts(line, start, "E  ")) /* the marked line of an assertion */
        severity = severity > 85 ? severity : 85;
    ret->severity = (uint8_t)(severity > 130 ? 130 : severity);
}

void wbi_line_look(const struct words *w, struct wbi_str text, size_t n, struct line_facts *ret)
{
    look(w, text, n, have_wide(), ret);
}

void wbi_line_look_plain(const struct words *w, struct wbi_str text, size_t n,
                         struct line_facts *ret)
{
    look(w, text, n, /* wide= */ false, ret);
}
