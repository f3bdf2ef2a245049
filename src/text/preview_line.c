/* SPDX-License-Identifier: Apache-2.0
 * text/preview_line.c: what one line says: its shape (the line with numbers,
 * paths and quoted names left out, so that lines of one kind compare equal) and
 * how much it sounds like a failure. Words are looked up by hash; a word inside
 * a file name or an identifier weighs little. No word here belongs to a single
 * program: they are the vocabulary in which programs complain. */
#include "text/preview_int.h"

#include <endian.h>
#include <pthread.h>

enum kind {
    KIND_NONE,
    KIND_FAIL,
    KIND_WARN,
    KIND_SUMMARY,
    KIND_NOT,
    KIND_PASS,
    KIND_QUIET,
    KIND_NOTE,
    KIND_PLACE
};

struct word {
    const char *text;
    uint8_t weight;
    uint8_t kind;
};

/* Weights: how sure the word alone makes us that the line tells what went wrong. */
static const struct word vocabulary[] = {
    {"fatal", 100, KIND_FAIL},
    {"panic", 100, KIND_FAIL},
    {"panicked", 100, KIND_FAIL},
    {"segfault", 100, KIND_FAIL},
    {"segmentation", 95, KIND_FAIL},
    {"traceback", 85, KIND_FAIL},
    {"abort", 85, KIND_FAIL},
    {"aborted", 90, KIND_FAIL},
    {"aborting", 85, KIND_FAIL},
    {"crash", 80, KIND_FAIL},
    {"crashed", 95, KIND_FAIL},
    {"sigsegv", 100, KIND_FAIL},
    {"sigabrt", 100, KIND_FAIL},
    {"sigkill", 95, KIND_FAIL},
    {"sigbus", 100, KIND_FAIL},
    {"sigfpe", 100, KIND_FAIL},
    {"sigill", 100, KIND_FAIL},
    {"error", 90, KIND_FAIL},
    {"errors", 75, KIND_FAIL},
    {"err", 75, KIND_FAIL},
    {"exception", 90, KIND_FAIL},
    {"failed", 92, KIND_FAIL},
    {"fail", 90, KIND_FAIL},
    {"failure", 90, KIND_FAIL},
    {"failures", 80, KIND_FAIL},
    {"failing", 80, KIND_FAIL},
    {"fails", 70, KIND_FAIL},
    {"unhandled", 85, KIND_FAIL},
    {"uncaught", 90, KIND_FAIL},
    {"caused", 80, KIND_FAIL},
    {"assertion", 88, KIND_FAIL},
    {"assert", 60, KIND_FAIL},
    {"undefined", 80, KIND_FAIL},
    {"undeclared", 90, KIND_FAIL},
    {"unresolved", 85, KIND_FAIL},
    {"conflict", 85, KIND_FAIL},
    {"conflicts", 75, KIND_FAIL},
    {"conflicting", 75, KIND_FAIL},
    {"rejected", 88, KIND_FAIL},
    {"denied", 85, KIND_FAIL},
    {"refused", 85, KIND_FAIL},
    {"invalid", 80, KIND_FAIL},
    {"illegal", 80, KIND_FAIL},
    {"unable", 85, KIND_FAIL},
    {"cannot", 85, KIND_FAIL},
    {"couldn", 85, KIND_FAIL},
    {"missing", 60, KIND_FAIL},
    {"mismatch", 80, KIND_FAIL},
    {"mismatched", 80, KIND_FAIL},
    {"corrupt", 80, KIND_FAIL},
    {"corrupted", 80, KIND_FAIL},
    {"corruption", 80, KIND_FAIL},
    {"leak", 70, KIND_FAIL},
    {"leaked", 75, KIND_FAIL},
    {"leaks", 65, KIND_FAIL},
    {"lost", 55, KIND_FAIL},
    {"overflow", 75, KIND_FAIL},
    {"killed", 88, KIND_FAIL},
    {"timeout", 70, KIND_FAIL},
    {"timed", 70, KIND_FAIL},
    {"unexpected", 75, KIND_FAIL},
    {"unmet", 80, KIND_FAIL},
    {"broken", 65, KIND_FAIL},
    {"incompatible", 70, KIND_FAIL},
    {"unknown", 50, KIND_FAIL},
    {"expected", 55, KIND_FAIL},
    {"received", 40, KIND_FAIL},
    {"actual", 45, KIND_FAIL},
    {"wrong", 60, KIND_FAIL},
    {"bad", 60, KIND_FAIL},
    {"uninitialized", 70, KIND_FAIL},
    {"uninitialised", 70, KIND_FAIL},
    {"detected", 45, KIND_FAIL},
    {"unsupported", 55, KIND_FAIL},
    {"violation", 75, KIND_FAIL},
    {"violates", 70, KIND_FAIL},
    {"unreachable", 70, KIND_FAIL},
    {"exceeded", 65, KIND_FAIL},
    {"exhausted", 70, KIND_FAIL},
    {"interrupted", 65, KIND_FAIL},
    {"terminated", 70, KIND_FAIL},
    {"oom", 80, KIND_FAIL},
    {"bug", 55, KIND_FAIL},
    {"critical", 80, KIND_FAIL},
    {"severe", 75, KIND_FAIL},
    {"emerg", 90, KIND_FAIL},
    {"alert", 60, KIND_FAIL},
    {"incomplete", 70, KIND_FAIL},
    {"duplicate", 45, KIND_FAIL},
    {"unrecognized", 65, KIND_FAIL},
    {"forbidden", 70, KIND_FAIL},
    {"unauthorized", 75, KIND_FAIL},
    {"stopped", 62, KIND_FAIL},
    {"deadlock", 85, KIND_FAIL},
    {"overrun", 70, KIND_FAIL},
    {"misaligned", 60, KIND_FAIL},
    {"problem", 55, KIND_FAIL},
    {"problems", 60, KIND_FAIL},
    {"regression", 60, KIND_FAIL},
    {"warning", 26, KIND_WARN},
    {"warn", 24, KIND_WARN},
    {"warnings", 24, KIND_WARN},
    {"deprecated", 22, KIND_WARN},
    {"implicit", 40, KIND_WARN},
    {"note", 6, KIND_NOTE},
    {"passed", 42, KIND_PASS},
    {"pass", 20, KIND_PASS},
    {"ok", 5, KIND_PASS},
    {"success", 20, KIND_PASS},
    {"successful", 20, KIND_PASS},
    {"succeeded", 25, KIND_PASS},
    {"total", 32, KIND_SUMMARY},
    {"summary", 45, KIND_SUMMARY},
    {"tests", 34, KIND_SUMMARY},
    {"result", 40, KIND_SUMMARY},
    {"results", 34, KIND_SUMMARY},
    {"returned", 40, KIND_SUMMARY},
    {"exited", 62, KIND_SUMMARY},
    {"exit", 45, KIND_SUMMARY},
    {"finished", 30, KIND_SUMMARY},
    {"done", 12, KIND_SUMMARY},
    {"completed", 24, KIND_SUMMARY},
    {"elapsed", 25, KIND_SUMMARY},
    {"installed", 22, KIND_SUMMARY},
    {"upgraded", 22, KIND_SUMMARY},
    {"removed", 16, KIND_SUMMARY},
    {"skipped", 26, KIND_SUMMARY},
    {"changed", 20, KIND_SUMMARY},
    {"renamed", 26, KIND_SUMMARY},
    {"insertions", 30, KIND_SUMMARY},
    {"deletions", 30, KIND_SUMMARY},
    {"status", 18, KIND_SUMMARY},
    {"not", 12, KIND_NOT},
    {"no", 8, KIND_NOT},
    {"didn", 50, KIND_NOT},
    {"can", 0, KIND_NOT},
    {"could", 0, KIND_NOT},
    {"such", 0, KIND_NONE},
    {"found", 0, KIND_NONE},
    {"defined", 0, KIND_NONE},
    {"debug", 0, KIND_QUIET},
    {"trace", 0, KIND_QUIET},
    {"verbose", 0, KIND_QUIET},
    {"line", 0, KIND_PLACE},
};

/* Two words that together say more than either. */
struct pair {
    const char *first;
    const char *second;
    uint8_t weight;
};
static const struct pair pairs[PAIRS] = {
    {"not", "ok", 95},    {"not", "found", 78}, {"no", "such", 82},
    {"could", "not", 88}, {"can", "not", 85},   {"not", "defined", 70},
};

#define PREFIX_MAX 96u /* times are looked for in so many bytes */
#define HASH_START 0x9e3779b97f4a7c15u
#define HASH_STEP 0x9fb21c651e98df25u

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * HASH_STEP;
    return h ^ (h >> 29);
}

/* Eight bytes from p on, the first lowest; zeros behind what is readable. */
static inline uint64_t load_8(const uint8_t *p, const uint8_t *readable)
{
    uint64_t v = 0;

    if (readable - p >= 8) {
        memcpy(&v, p, 8);
        return le64toh(v);
    }
    while (readable > p)
        v = v << 8 | *--readable;
    return v;
}

#define BYTES(c) ((uint64_t)(c)*0x0101010101010101u)

/* How many of eight bytes from the first on are letters or underscores. */
static inline unsigned letters_of(uint64_t v)
{
    uint64_t low = (v | BYTES(0x20)) & BYTES(0x7f);
    uint64_t letter = (low + BYTES(0x80 - 'a')) & ~(low + BYTES(0x7f - 'z'));
    uint64_t line = ~(((v ^ BYTES('_')) & BYTES(0x7f)) + BYTES(0x7f));
    uint64_t other = ~((letter | line) & ~v) & BYTES(0x80);

    return other == 0 ? 8 : (unsigned)__builtin_ctzll(other) / 8;
}

/* The letters at p, folded, as a hash; *ret_end is where they end. */
static inline uint64_t hash_letters(const uint8_t *p, const uint8_t *end, const uint8_t *readable,
                                    const uint8_t **ret_end)
{
    uint64_t h = HASH_START, v;
    size_t n;

    do {
        v = load_8(p, readable);
        n = letters_of(v);
        n = n < (size_t)(end - p) ? n : (size_t)(end - p);
        if (n < 8)
            v &= (1ull << 8 * n) - 1;
        h = mix(h, (v | BYTES(0x20)) + n);
        p += n;
    } while (n == 8);
    *ret_end = p;
    return h;
}

static uint64_t hash_word(struct wbi_str s)
{
    const uint8_t *p = (const uint8_t *)s.p, *end;

    return hash_letters(p, p + s.n, p + s.n, &end);
}

static size_t slot_of(const struct words *w, uint64_t hash)
{
    size_t i = (size_t)(hash >> 40) & (WORD_SLOTS - 1);

    while (w->slot[i].hash != 0 && w->slot[i].hash != hash)
        i = (i + 1) & (WORD_SLOTS - 1);
    return i;
}

static bool is_letter(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26 || c == '_';
}

/* The command's words of four letters and more that mean nothing by themselves. */
static void add_query(struct words *w, struct wbi_str command)
{
    size_t at = 0, from;

    while (at < command.n && w->n_query < QUERY_WORDS) {
        while (at < command.n && !is_letter((uint8_t)command.p[at]))
            at++;
        from = at;
        while (at < command.n && is_letter((uint8_t)command.p[at]))
            at++;
        if (at - from >= 4) {
            uint64_t hash = hash_word(wbi_str_make(command.p + from, at - from));
            struct word_slot *slot = &w->slot[slot_of(w, hash)];

            if (slot->hash == 0)
                *slot = (struct word_slot){hash, 0, KIND_NONE, (uint8_t)++w->n_query};
        }
    }
}

static struct words known; /* the vocabulary; never changed once it is made */
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_known(void)
{
    struct words *w = &known;

    for (size_t i = 0; i < sizeof vocabulary / sizeof *vocabulary; i++) {
        uint64_t hash = hash_word(wbi_str_z(vocabulary[i].text));

        w->slot[slot_of(w, hash)] =
            (struct word_slot){hash, vocabulary[i].weight, vocabulary[i].kind, 0};
    }
    for (size_t i = 0; i < PAIRS; i++) {
        w->pair[i][0] = hash_word(wbi_str_z(pairs[i].first));
        w->pair[i][1] = hash_word(wbi_str_z(pairs[i].second));
    }
}

void wbi_words_init(struct words *w, struct wbi_str command)
{
    (void)pthread_once(&made, make_known);
    *w = known;
    add_query(w, command);
}

/* ---- one line ---- */

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

static uint8_t pair_weight(const struct words *w, uint64_t first, uint64_t second)
{
    for (size_t i = 0; i < PAIRS; i++)
        if (w->pair[i][1] == second && w->pair[i][0] == first)
            return pairs[i].weight;
    return 0;
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
        uint8_t both = pair_weight(k->words, k->before, hash);

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
    k->chunk = mix(k->chunk, *p);
    k->chunk_open = true;
    return i + 1;
}

static void read_line(struct look *k)
{
    size_t i = 0;

    while (i < k->n) {
        uint8_t c = k->p[i];

        switch (class_of[c]) {
        case C_LETTER:
            i = read_word(k, i);
            goto blank;
        case C_DIGIT:
            i = read_number(k, i);
        blank: /* what comes most often next */
            if (i == k->n || k->p[i] != ' ')
                break;
            /* fall through */
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
