/* SPDX-License-Identifier: Apache-2.0
 * text/preview_line.c: what one line says: its shape (the line with numbers,
 * paths and quoted names left out, so that lines of one kind compare equal) and
 * how much it sounds like a failure. Words are looked up by hash; a word inside
 * a file name or an identifier weighs little. */
#include <strings.h>

#include "text/preview_bits_int.h"
#include "text/preview_look_int.h"

#define PREFIX_MAX 96u   /* times are looked for in so many bytes */
#define EXIT_NEAR 20u    /* bytes behind "exit" in which its status is looked for */
#define PROGRESS_MAX 12u /* bytes of how far it went, or how long it took */
#define LEVEL_NEAR 5u    /* bytes between "level" and its value */
#define LEVEL_WITHIN 64u /* bytes in which a log names its level */
#define LEVEL_WEIGHT 104u
#define GRAVE_WEIGHT 116u /* of a level that is worse than an error */
#define ERROR_WEIGHT 90u
#define MARK_WEIGHT 82u
#define SURE_WORD 80u
#define WARNS_LESS 20u /* weight that a line loses which names itself a warning */
#define WARNS_MOST 79u /* below those that name themselves errors */
#define CONSTANT_WEIGHT 72u
#define WEAK_WORD 60u /* below, it may as well be the name of a value */
#define MUCH_SURER 15u
/* Lines alike but for how it went are not of one shape. */
enum { SHAPE_DENIED = 3, SHAPE_FAILED = 4 };

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

/* "failed": the word is a name in JSON, or in what Python prints. */
static bool is_member(const struct look *k, size_t to)
{
    return to + 1 < k->n && (k->p[to] == '"' || k->p[to] == '\'') && k->p[to + 1] == ':';
}

/* Where the value of the word that ends here begins, as texts, attributes and members have it:
 * failed: 3, failures="3", "failed": 3; `to` where it has none. */
static size_t value_of(const struct look *k, size_t to)
{
    size_t i = to;

    if (i + 1 < k->n && k->p[i] == '=' && k->p[i + 1] == '"')
        return i + 2;
    if (is_member(k, to))
        i++;
    while (i < k->n && (k->p[i] == ':' || k->p[i] == '=' || k->p[i] == ' '))
        i++;
    return i;
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

/* failures="12": how many there are, not what they are. */
static bool is_count(const struct look *k, size_t to)
{
    size_t i = value_of(k, to);

    if (i == to || k->p[i - 1] != '"' || i == k->n || !is_digit(k->p[i]))
        return false;
    while (i < k->n && is_digit(k->p[i]))
        i++;
    return i < k->n && k->p[i] == '"';
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

/* "failed": false, "errors": [] */
static bool denied_member(const struct look *k, size_t to, size_t value)
{
    static const char *const none[] = {"false", "null", "[]", "{}", "\"\"", "False", "None"};
    struct wbi_str rest = wbi_str_make((const char *)k->p + value, k->n - value);

    for (size_t i = 0; i < sizeof none / sizeof *none && is_member(k, to); i++)
        if (wbi_str_starts(rest, wbi_str_z(none[i])))
            return true;
    return false;
}

/* "failed: 0", failures="0" */
static bool denied_after(const struct look *k, size_t to)
{
    size_t i = value_of(k, to);

    if (denied_member(k, to, i))
        return true;
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
        } else if (w > WEAK_WORD && is_count(k, to))
            w = WEAK_WORD;
        else if (next == ':' || next == '!' || next == ']')
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

/* The word of n letters that ends here may end as ERROR and FAILED do: what the widest vectors
 * look for, by the E in it. */
static bool ends_as_failed(const uint8_t *end, size_t n)
{
    return n > 5 && (end[-2] == 'E' || end[-5] == 'E' || (n > 8 && end[-9] == 'E'));
}

/* CREATE_FAILED, ERR_PROTOCOL_ERROR: the last part of a name in capitals says how it went; less
 * surely than the word by itself, for such names are also those of constants. */
static void look_constant(struct look *k, size_t from, size_t to)
{
    const struct word_slot *slot;
    size_t last = to;

    if (!ends_as_failed(k->p + to, to - from))
        return;
    while (last > from && k->p[last - 1] != '_')
        last--;
    if (last == from || (k->p[last] & 0x20) != 0)
        return;
    slot = slot_of(k->words, hash_letters(k->p + last, to - last, k->readable));
    if (slot->hash == 0 || slot->weight < SURE_WORD ||
        (slot->kind != KIND_FAIL && slot->kind != KIND_GRAVE && slot->kind != KIND_ERROR))
        return;
    k->outcome = mix(k->outcome, SHAPE_FAILED);
    weigh(k, CONSTANT_WEIGHT, KIND_FAIL, from, to);
}

/* org.acme.store.LimitError: the last part of a name says what was thrown. */
void wbi_look_exception(struct look *k, size_t from, size_t to)
{
    bool last = to == k->n || (k->p[to] != '.' && k->p[to] != '(' && k->p[to] != '/');
    size_t start = from;

    if ((k->p[to - 1] & 0x20) == 0) {
        look_constant(k, from, to);
        return;
    }
    if (!names_exception(k->p + from, to - from))
        return;
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
    static const struct {
        struct wbi_str name;
        uint8_t weight;
    } bad[] = {{WBI_LIT_INIT("err"), LEVEL_WEIGHT},    {WBI_LIT_INIT("fatal"), GRAVE_WEIGHT},
               {WBI_LIT_INIT("crit"), GRAVE_WEIGHT},   {WBI_LIT_INIT("panic"), GRAVE_WEIGHT},
               {WBI_LIT_INIT("severe"), GRAVE_WEIGHT}, {WBI_LIT_INIT("alert"), GRAVE_WEIGHT},
               {WBI_LIT_INIT("emerg"), GRAVE_WEIGHT}};
    struct wbi_str value;
    size_t i = to;

    while (i < k->n && i < to + LEVEL_NEAR && class_of[k->p[i]] != C_LETTER)
        i++;
    value = wbi_str_make((const char *)k->p + i, k->n - i);
    if (i == to || i == to + LEVEL_NEAR ||
        (memchr(k->p + to, '=', i - to) == NULL && memchr(k->p + to, ':', i - to) == NULL))
        return;
    k->level = true;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        if (value.n >= bad[b].name.n && strncasecmp(value.p, bad[b].name.p, bad[b].name.n) == 0) {
            k->outcome = mix(k->outcome, SHAPE_FAILED);
            weigh(k, bad[b].weight, KIND_FAIL, i, i + bad[b].name.n);
            return;
        }
    if (value.n >= 4 && strncasecmp(value.p, "warn", 4) != 0)
        k->quiet = true;
    else
        k->warns = true;
}

/* CRITICAL, [warn]: the word is the level of a line of a log, which is the first such word near
 * its start, by itself and in capitals or brackets. What a program calls WARNING: is a message. */
static bool is_level(struct look *k, size_t from, size_t to)
{
    uint8_t prev = from > 0 ? k->p[from - 1] : ' ', next = to < k->n ? k->p[to] : ' ';
    bool capitals = ((k->p[from] | k->p[from + 1]) & 0x20) == 0;

    if (k->level || from > LEVEL_WITHIN || !(capitals || (prev == '[' && next == ']')) ||
        strchr(" \t[(|<", prev) == NULL || strchr(" \t])|>:", next) == NULL ||
        (from == 0 && next == ':' && to + 1 < k->n && k->p[to + 1] == ' '))
        return false;
    k->level = memmem(k->p, from, "INFO", 4) == NULL;
    return k->level;
}

/* A word that may be a level: what it weighs if it is. */
static uint8_t level_weight(struct look *k, const struct word_slot *slot, size_t from, size_t to)
{
    uint8_t level = slot->kind == KIND_GRAVE ? GRAVE_WEIGHT : ERROR_WEIGHT;

    if (!is_level(k, from, to))
        return slot->weight;
    k->warns |= slot->kind == KIND_WARNS;
    return slot->kind != KIND_WARNS && level > slot->weight ? level : slot->weight;
}

static uint32_t query_bit(const struct word_slot *slot)
{
    return slot->query != 0 ? 1u << (slot->query - 1) : 0;
}

void wbi_look_known(struct look *k, uint64_t hash, size_t from, size_t to)
{
    const struct word_slot *slot = slot_of(k->words, hash);
    uint8_t weight = slot->weight, kind = slot->kind;

    if (slot->hash == 0) {
        wbi_look_exception(k, from, to);
        return;
    }
    k->query |= query_bit(slot);
    if (k->before != 0 && weight < 60) {
        uint8_t both = wbi_words_pair(k->before, slot->hash);

        if (both != 0) {
            weight = both;
            kind = KIND_PAIR;
        }
    }
    if (kind >= KIND_GRAVE) {
        weight = level_weight(k, slot, from, to);
        kind = kind == KIND_WARNS ? KIND_WARN : KIND_FAIL;
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

void wbi_look_glued(struct look *k, uint64_t hash)
{
    k->query |= query_bit(slot_of(k->words, hash));
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

enum mark { MARKED_NOT, MARKED_PASSED, MARKED_FAILED };

/* What is drawn before the name of a test or a step that went well or not: ✓ ✔, ✕ ✖ ✗ ✘ ❌ ×. */
static enum mark marks(struct wbi_str s, size_t start)
{
    uint8_t c = start < s.n ? (uint8_t)s.p[start] : 0;

    if (c == 0xc3)
        return starts(s, start, "\xc3\x97 ") ? MARKED_FAILED : MARKED_NOT;
    if (c != 0xe2 || s.n - start < 3)
        return MARKED_NOT;
    if ((uint8_t)s.p[start + 1] == 0x9d)
        return (uint8_t)s.p[start + 2] == 0x8c ? MARKED_FAILED : MARKED_NOT;
    c = (uint8_t)s.p[start + 2];
    if ((uint8_t)s.p[start + 1] != 0x9c || c < 0x93 || c > 0x98)
        return MARKED_NOT;
    return c < 0x95 ? MARKED_PASSED : MARKED_FAILED;
}

/* "ok 12 - name", "name ... ok", "PASSED": what such a line mentions went well. */
static bool reports_success(struct wbi_str s, struct wbi_str line, size_t start)
{
    struct wbi_str t = before_progress(line);

    if (starts(s, start, "ok ") || starts(s, start, "[ok]") || starts(s, start, "PASS"))
        return true;
    return wbi_str_ends(t, WBI_LIT(" ok")) || wbi_str_ends(t, WBI_LIT(" OK")) ||
           wbi_str_ends(t, WBI_LIT(" PASSED")) || wbi_str_ends(t, WBI_LIT(" PASS"));
}

/* What the labels of values and legends begin with, see preview_evidence.c. */
static const bool begins_value[256] = {
    ['+'] = true, ['-'] = true, ['a'] = true, ['A'] = true, ['b'] = true, ['B'] = true,
    ['e'] = true, ['E'] = true, ['f'] = true, ['F'] = true, ['g'] = true, ['G'] = true,
    ['l'] = true, ['L'] = true, ['r'] = true, ['R'] = true, ['w'] = true, ['W'] = true};

/* It names what failed, and perhaps how far it went, and says no more. */
static bool only_names(struct wbi_str line, struct wbi_str trimmed, size_t start, enum mark mark)
{
    struct wbi_str t = before_progress(trimmed);
    size_t n = (size_t)(t.p + t.n - line.p);

    return n > start && wbi_names_failed(wbi_str_head(line, n), start, mark == MARKED_FAILED);
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

static void look(const struct words *w, struct wbi_str text, size_t n, size_t lanes,
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
    enum mark mark;

    ret->shape = wbi_read_line(&k, lanes);
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
    if (k.warns && severity > WARNS_LESS) {
        severity -= WARNS_LESS;
        severity = severity < WARNS_MOST ? severity : WARNS_MOST;
    }
    mark = marks(line, start);
    if (mark == MARKED_FAILED && severity < MARK_WEIGHT)
        severity = MARK_WEIGHT;
    if (mark == MARKED_PASSED || (k.passed && reports_success(line, trimmed, start))) {
        ret->flags |= LINE_PASSED;
        severity /= 8;
    }
    if (severity >= FAILURE && ret->indent > 0 && wbi_quotes_code(line, start, ret->indent))
        severity /= 3;
    if (severity >= FAILURE && wbi_announces(line, start))
        severity /= 8;
    if (starts(line, start, "E  ")) { /* the marked line of an assertion */
        severity = severity > 85 ? severity : 85;
        ret->flags |= LINE_MARKED;
    }
    if (start < line.n && begins_value[(uint8_t)line.p[start]] && wbi_names_value(line, start))
        ret->flags |= LINE_VALUE;
    else if (severity >= SURE && wbi_compares(line, start))
        ret->flags |= LINE_VALUE;
    else if (severity >= FAILURE && only_names(line, trimmed, start, mark))
        ret->flags |= LINE_VERDICT;
    ret->severity = (uint8_t)(severity > 130 ? 130 : severity);
}

void wbi_line_look(const struct words *w, struct wbi_str text, size_t n, struct line_facts *ret)
{
    look(w, text, n, w->lanes, ret);
}

void wbi_line_look_with(const struct words *w, struct wbi_str text, size_t n, size_t lanes,
                        struct line_facts *ret)
{
    look(w, text, n, lanes, ret);
}
