/* SPDX-License-Identifier: Apache-2.0
 * text/preview_line.c: what one line says: its shape (the line with numbers,
 * paths and quoted names left out, so that lines of one kind compare equal) and
 * how much it sounds like a failure. Words are looked up by hash; a word inside
 * a file name or an identifier weighs little. */
#include "text/preview_words_int.h"

#define PREFIX_MAX 96u /* times are looked for in so many bytes */
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

struct look {
    const struct words *words;
    const uint8_t *p;
    size_t n;
    const uint8_t *readable; /* up to here */
    uint64_t shape;
    uint64_t chunk; /* hash of the chunk under way */
    bool chunk_open;
    bool chunk_varies; /* digits, slashes or dots in it: not part of the shape */
    uint8_t quote;     /* closing character, 0 outside */
    uint64_t before;   /* hash of the word before */
    uint8_t best;
    uint32_t hit;
    uint32_t query;
    uint8_t extra;
    bool passed;
    bool chunk_dot; /* a dot or slash in it, before letters */
    bool place;     /* a line of a file was named */
    bool code;      /* letters beside digits */
    bool quiet;     /* the line names a level that nobody reads */
    uint8_t n_numbers;
    int32_t number[NUMBERS_MAX];
};

static void end_chunk(struct look *k)
{
    if (!k->chunk_open)
        return;
    if (k->quote == 0)
        k->shape = mix(k->shape, k->chunk_varies ? 1 : k->chunk);
    k->chunk_open = false;
    k->chunk_varies = false;
    k->chunk_dot = false;
    k->chunk = HASH_START;
}

/* TypeError, NullPointerException: the name of an exception. */
static bool names_exception(const uint8_t *p, size_t n)
{
    return (n > 5 && memcmp(p + n - 5, "Error", 5) == 0) ||
           (n > 9 && memcmp(p + n - 9, "Exception", 9) == 0);
}

/* "0 failed", "failed: 0", "no errors": the failure that did not happen. */
static bool denied_by_zero(const struct look *k, size_t from, size_t to)
{
    size_t i = from;

    while (i > 0 && (k->p[i - 1] == ' ' || k->p[i - 1] == '\t'))
        i--;
    if (i > 0 && i < from && k->p[i - 1] == '0' && (i == 1 || class_of[k->p[i - 2]] != C_DIGIT))
        return true;
    if (i > 1 && i < from && (k->p[i - 1] | 0x20) == 'o' && (k->p[i - 2] | 0x20) == 'n' &&
        (i == 2 || class_of[k->p[i - 3]] != C_LETTER))
        return true;
    i = to;
    while (i < k->n && (k->p[i] == ':' || k->p[i] == '=' || k->p[i] == ' '))
        i++;
    return i > to && i < k->n && k->p[i] == '0' &&
           (i + 1 == k->n ||
            (class_of[k->p[i + 1]] != C_DIGIT && k->p[i + 1] != '.' && k->p[i + 1] != 'x'));
}

/* Part of a path, a file name, an option: the word names something else. */
static bool inside_name(const struct look *k, size_t from, size_t to)
{
    uint8_t next = to < k->n ? k->p[to] : ' ', prev = from > 0 ? k->p[from - 1] : ' ';

    if (prev == '/' || prev == '.' || prev == '-' || prev == '\\' || prev == '+' || prev == '$')
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

    if (kind == KIND_FAIL) {
        if (inside_name(k, from, to))
            w /= 4;
        else if (denied_by_zero(k, from, to))
            w = 34;
        else if (next == ':' || next == '!' || next == ']')
            w += 14;
        if (w > 40 && from == 0)
            w += 6;
        if (w > 40 && to - from > 3 && (k->p[from + 1] & 0x20) == 0)
            w += 6;
    } else if (inside_name(k, from, to)) {
        w /= 3;
    }
    /* several such words in one line: a summary, or a very clear complaint */
    if (k->best > 10 && w > 10 && k->extra < 12)
        k->extra += 4;
    if (w > k->best) {
        k->best = (uint8_t)w;
        k->hit = (uint32_t)from;
    }
}

/* org.acme.store.LimitError: the last part of a name says what was thrown. */
static void weigh_exception(struct look *k, size_t from, size_t to)
{
    bool last = to == k->n || (k->p[to] != '.' && k->p[to] != '(' && k->p[to] != '/');
    size_t start = from;

    while (last && start > 0 &&
           (class_of[k->p[start - 1]] == C_LETTER || k->p[start - 1] == '.' ||
            class_of[k->p[start - 1]] == C_DIGIT || k->p[start - 1] == '$'))
        start--;
    weigh(k, 92, KIND_FAIL, start, to);
}

static void end_word(struct look *k, size_t from, size_t to, uint64_t hash)
{
    const struct word_slot *slot = &k->words->slot[slot_of(k->words, hash)];
    uint8_t weight, kind;

    k->chunk = mix(k->chunk, hash);
    k->chunk_open = true;
    if (slot->hash == 0) {
        k->before = hash;
        if (to - from > 5 && names_exception(k->p + from, to - from))
            weigh_exception(k, from, to);
        return;
    }
    if (slot->query != 0)
        k->query |= 1u << (slot->query - 1);
    weight = slot->weight;
    kind = slot->kind;
    if (k->before != 0 && weight < 60) {
        uint8_t both = wbi_words_pair(k->words, k->before, hash);

        if (both != 0) {
            weight = both;
            kind = KIND_FAIL;
        }
    }
    if (kind == KIND_PASS)
        k->passed = true;
    if (kind == KIND_PLACE && to + 1 < k->n && class_of[k->p[to + 1]] == C_DIGIT)
        k->place = true;
    if (kind == KIND_QUIET && k->best == 0 && (k->p[from + 1] & 0x20) == 0)
        k->quiet = true;
    if (kind == KIND_NOTE && k->best == 0 && to < k->n && k->p[to] == ':')
        k->quiet = true;
    if (weight != 0)
        weigh(k, weight, kind, from, to);
    k->before = hash;
}

/* Letters at i; returns where they end. A word glued to digits is a name. */
static size_t read_word(struct look *k, size_t i)
{
    const uint8_t *end;
    uint64_t hash = hash_letters(k->p + i, k->p + k->n, k->readable, &end);
    size_t from = i;

    i = (size_t)(end - k->p);
    if ((i < k->n && class_of[k->p[i]] == C_DIGIT && k->p[from] != '_') ||
        (from > 0 && class_of[k->p[from - 1]] == C_DIGIT)) {
        k->code = true;
        k->chunk_varies = true;
        k->chunk_open = true;
        k->before = 0;
        const struct word_slot *slot = &k->words->slot[slot_of(k->words, hash)];

        if (slot->hash != 0 && slot->query != 0)
            k->query |= 1u << (slot->query - 1);
        return i;
    }
    end_word(k, from, i, hash);
    return i;
}

/* Digits [from, to) are a number by themselves, perhaps with a sign, a unit or a
 * fraction: no part of a name, a time, a date, a version or a path. */
static bool stands_free(const struct look *k, size_t from, size_t to)
{
    uint8_t prev = from > 0 ? k->p[from - 1] : ' ', next = to < k->n ? k->p[to] : ' ';
    bool digit_before = from > 1 && class_of[k->p[from - 2]] == C_DIGIT;
    bool digit_after = to + 1 < k->n && class_of[k->p[to + 1]] == C_DIGIT;
    size_t unit = to;

    if (class_of[prev] == C_LETTER || class_of[prev] == C_SLASH || prev == '.' || prev == '#')
        return false;
    if (prev == '-' && from > 1 && class_of[k->p[from - 2]] != C_SPACE)
        return false;
    if (digit_before && (prev == ':' || prev == ','))
        return false;
    if (digit_after && (next == ':' || next == '-' || next == ','))
        return false;
    while (unit < k->n && unit < to + 4 && class_of[k->p[unit]] == C_LETTER)
        unit++;
    return class_of[next] != C_SLASH && unit < to + 4 &&
           (unit == k->n || unit == to || class_of[k->p[unit]] != C_DIGIT);
}

static size_t read_number(struct look *k, size_t i)
{
    size_t from = i;
    uint32_t v = 0;

    for (; i < k->n && class_of[k->p[i]] == C_DIGIT; i++)
        v = v * 10 + (k->p[i] - '0');
    k->chunk_open = true;
    k->chunk_varies = true;
    k->before = 0;
    if (k->quote == 0 && i - from < 10 && k->n_numbers < NUMBERS_MAX && stands_free(k, from, i))
        k->number[k->n_numbers++] = from > 0 && k->p[from - 1] == '-' ? -(int32_t)v : (int32_t)v;
    return i;
}

static size_t read_quote(struct look *k, size_t i)
{
    uint8_t c = k->p[i];
    bool after_name =
        i > 0 && (class_of[k->p[i - 1]] == C_LETTER || class_of[k->p[i - 1]] == C_DIGIT);

    if (k->quote != 0 && (c == k->quote || (k->quote == '\'' && c == '`'))) {
        end_chunk(k);
        k->quote = 0;
        k->shape = mix(k->shape, 2);
    } else if (k->quote == 0 && !(c == '\'' && after_name)) {
        end_chunk(k);
        k->quote = c == '`' ? '\'' : c;
    }
    return i + 1;
}

/* ‘…’ and “…” quote as ' and " do. */
static size_t read_high(struct look *k, size_t i)
{
    const uint8_t *p = k->p + i;

    if (i + 2 < k->n && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0x98 && p[2] <= 0x9d) {
        end_chunk(k);
        if ((p[2] & 3) == 0) {
            k->quote = 0xff;
        } else {
            k->quote = 0;
            k->shape = mix(k->shape, 2);
        }
        return i + 3;
    }
    k->chunk_open = true;
    for (; i + 8 <= k->n; i += 8) { /* a long run that opens or closes no quotation */
        uint64_t v = load_8(k->p + i, k->readable), quote = v ^ BYTES(0xe2);

        if ((v & BYTES(0x80)) != BYTES(0x80) || ((quote - BYTES(1)) & ~quote & BYTES(0x80)) != 0)
            break;
        k->chunk = mix(k->chunk, v);
    }
    if (k->p + i > p)
        return i;
    k->chunk = mix(k->chunk, *p);
    return i + 1;
}

/* What comes most often behind a word. */
static inline size_t skip_blank(struct look *k, size_t i)
{
    if (i == k->n || k->p[i] != ' ')
        return i;
    end_chunk(k);
    return i + 1;
}

static void read_line(struct look *k)
{
    size_t i = 0;

    while (i < k->n) {
        uint8_t c = k->p[i];

        switch (class_of[c]) {
        case C_LETTER:
            i = skip_blank(k, read_word(k, i));
            break;
        case C_DIGIT:
            i = skip_blank(k, read_number(k, i));
            break;
        case C_SPACE:
            end_chunk(k);
            i++;
            break;
        case C_SLASH:
            k->chunk_open = true;
            k->chunk_varies = true;
            i++;
            break;
        case C_JOIN:
            if (c != '-' && i + 1 < k->n && class_of[k->p[i + 1]] == C_LETTER) {
                k->chunk_varies = true;
                k->chunk_dot |= c == '.';
            }
            k->chunk = mix(k->chunk, c);
            k->chunk_open = true;
            i++;
            break;
        case C_QUOTE:
            i = read_quote(k, i);
            break;
        case C_HIGH:
            i = read_high(k, i);
            break;
        default: /* a.c:12, a.ts(3,4) */
            if (k->chunk_dot && (c == ':' || c == '(') && i + 1 < k->n)
                k->place |= class_of[k->p[i + 1]] == C_DIGIT;
            end_chunk(k);
            if (k->quote == 0)
                k->shape = mix(k->shape, c);
            i++;
        }
    }
    end_chunk(k);
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

/* Indentation; behind a time or a prefix of numbers the blanks after it count,
 * but for the first. */
static uint8_t indent_of(struct wbi_str s, size_t *ret_start)
{
    size_t from = after_time(s), i;

    if (from == 0)
        from = class_of[s.n > 0 ? (uint8_t)s.p[0] : 0] == C_SPACE ? 0 : after_numbers(s);
    i = skip_blanks(s, from);
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

static uint16_t flags_of(struct wbi_str s, size_t start, uint8_t indent)
{
    uint16_t flags = 0;
    struct wbi_str t = wbi_str_trim(s);
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
    if ((c == 'T' || c == 'D' || start > 0) &&
        (starts(s, start, "Traceback (") || starts(s, start, "During handling of") ||
         starts(s, start, "The above exception")))
        flags |= LINE_TRACE;
    return flags;
}

/* "ok 12 - name", "name ... ok", "PASSED": what such a line mentions went well. */
static bool reports_success(struct wbi_str s, size_t start)
{
    struct wbi_str t = wbi_str_trim(s);

    if (starts(s, start, "ok ") || starts(s, start, "[ok]") || starts(s, start, "PASS") ||
        starts(s, start, "\xe2\x9c\x93") || starts(s, start, "\xe2\x9c\x94"))
        return true;
    return wbi_str_ends(t, WBI_LIT(" ok")) || wbi_str_ends(t, WBI_LIT(" OK")) ||
           wbi_str_ends(t, WBI_LIT(" PASSED")) || wbi_str_ends(t, WBI_LIT(" PASS"));
}

void wbi_line_look(const struct words *w, struct wbi_str text, size_t n, struct line_facts *ret)
{
    struct wbi_str line = wbi_str_head(text, n);
    struct look k = {.words = w,
                     .p = (const uint8_t *)line.p,
                     .n = line.n,
                     .readable = (const uint8_t *)text.p + text.n,
                     .shape = HASH_START,
                     .chunk = HASH_START};
    size_t start = 0;
    unsigned severity;

    read_line(&k);
    *ret = (struct line_facts){.shape = k.shape, .hit = k.hit, .query = k.query};
    ret->n_numbers = k.n_numbers;
    memcpy(ret->number, k.number, sizeof k.number);
    ret->indent = indent_of(line, &start);
    ret->start = (uint8_t)start;
    ret->flags = flags_of(line, start, ret->indent);
    ret->flags |= k.place ? LINE_PLACE : 0;
    ret->flags |= k.code ? LINE_CODE : 0;
    severity = (unsigned)(k.best + k.extra) / (k.quiet ? 2 : 1);
    if (k.passed && reports_success(line, start)) {
        ret->flags |= LINE_PASSED;
        severity /= 8;
    }
    if (starts(line, start, "E  ")) /* the marked line of an assertion */
        severity = severity > 85 ? severity : 85;
    ret->severity = (uint8_t)(severity > 130 ? 130 : severity);
}
