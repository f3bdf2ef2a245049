/* SPDX-License-Identifier: Apache-2.0
 * family/file/needle.c: finding fast. Most searches hold a piece of plain text
 * that every match must contain; its rarest byte is looked for with memchr,
 * and the expression runs only where the piece occurs. */
#include "family/file/search.h"

#include "base/arena.h"
#include "base/utf8.h"

/* How common a byte is in source text, from 0 on; a guess is enough. */
static unsigned commonness(unsigned char c)
{
    static const char by_use[] = " etaoinsrlcdu\tpm_fhg.(),bv;=\"yw-0kx/1'>*:2{}<#I";
    const char *hit = c ? strchr(by_use, c) : NULL;

    if (c == '\n')
        return 300;
    return hit ? 256 - (unsigned)(hit - by_use) : c < 0x80 ? 100 : 10;
}

static void choose_rare(struct wbi_needle *n)
{
    unsigned best = 1000;

    for (size_t i = 0; i < n->literal.n; i++) {
        unsigned c = commonness((unsigned char)n->literal.p[i]);

        if (c < best) {
            best = c;
            n->rare = n->literal.p[i];
            n->rare_at = i;
        }
    }
}

static bool is_meta(char c)
{
    return c != '\0' && strchr("\\^$.|?*+()[]{}#", c) != NULL;
}

/* Behind the class that starts at `from`; 0 where its end is not plain to see. */
static size_t behind_class(struct wbi_str p, size_t from)
{
    size_t i = from + 1;

    i += i < p.n && p.p[i] == '^';
    i += i < p.n && p.p[i] == ']'; /* the first one is a member */
    while (i < p.n && p.p[i] != ']') {
        char next = i + 1 < p.n ? p.p[i + 1] : '\0';

        if ((p.p[i] == '[' && next == ':') || (p.p[i] == '\\' && next == 'c'))
            return 0;
        i += p.p[i] == '\\' ? 2 : 1;
    }
    return i < p.n ? i + 1 : 0;
}

/* Behind the brace and the numbers of a repeat; another brace is text. */
static size_t behind_brace(struct wbi_str p, size_t from)
{
    size_t i = from + 1;

    while (i < p.n && p.p[i] != '\0' && strchr("0123456789, \t", p.p[i]) != NULL)
        i++;
    return i < p.n && p.p[i] == '}' ? i + 1 : i;
}

/* Without its last character, all of its bytes. */
static size_t without_last(const char *run, size_t n)
{
    while (n > 1 && ((unsigned char)run[n - 1] & 0xc0) == 0x80)
        n--;
    return n > 0 ? n - 1 : 0;
}

/* Alternatives, options, verbs and quoting: nothing can be said of such an expression. */
static bool is_involved(struct wbi_str p)
{
    return wbi_str_index(p, '|') < p.n || wbi_str_find(p, WBI_LIT("(?")) < p.n ||
           wbi_str_find(p, WBI_LIT("(*")) < p.n || wbi_str_find(p, WBI_LIT("\\Q")) < p.n ||
           wbi_str_find(p, WBI_LIT("\\E")) < p.n;
}

/* The longest run of plain characters outside groups, classes and repeats, as far as the
 * expression is understood: what is given back must be in every match. */
static struct wbi_str required_text(struct wbi_str p)
{
    struct wbi_str best = {"", 0};
    size_t from = 0, depth = 0, i = 0;

    if (is_involved(p))
        return best;
    for (;;) {
        size_t run;

        while (i < p.n && !is_meta(p.p[i]))
            i++;
        run = i - from;
        if (i < p.n && strchr("?*{", p.p[i]) != NULL)
            run = without_last(p.p + from, run); /* it may not be there */
        if (depth == 0 && run > best.n)
            best = wbi_str_make(p.p + from, run);
        if (i == p.n || p.p[i] == '\\') /* what an escape takes is not known */
            return best;
        depth += p.p[i] == '(';
        depth -= p.p[i] == ')' && depth > 0;
        from = p.p[i] == '[' ? behind_class(p, i) : p.p[i] == '{' ? behind_brace(p, i) : i + 1;
        if (from == 0)
            return best;
        i = from;
    }
}

static struct wbi_str quoted(struct wbi_str s, struct wbi_arena *arena)
{
    char *out = wbi_arena_alloc(arena, s.n * 2 + 1);
    size_t n = 0;

    for (size_t i = 0; out != NULL && i < s.n; i++) {
        if (is_meta(s.p[i]))
            out[n++] = '\\';
        out[n++] = s.p[i];
    }
    return wbi_str_make(out, n);
}

static bool is_ascii(struct wbi_str s)
{
    size_t at = 0;

    for (unsigned char any = 0; at < s.n; any = 0) {
        size_t end = s.n - at < 4096 ? s.n : at + 4096;

        while (at < end)
            any |= (unsigned char)s.p[at++];
        if (any >= 0x80)
            return false;
    }
    return true;
}

/* Whether something in the expression stands for characters of any kind or by number, and so
 * not for the bytes of those that have more than one. `\351` is octal; to read `\1` so, too,
 * costs nothing. */
static bool reads_characters(struct wbi_str p)
{
    for (size_t i = 0; i < p.n; i++) {
        char next = i + 1 < p.n ? p.p[i + 1] : '\0';

        if ((unsigned char)p.p[i] >= 0x80 || p.p[i] == '.' || (p.p[i] == '(' && next == '*') ||
            (p.p[i] == '[' && (next == '^' || next == ':')))
            return true;
        if (p.p[i] != '\\')
            continue;
        if (next != '\0' && strchr("pPXxoNsSdDwWbBhHvVR01234567", next) != NULL)
            return true;
        i++;
    }
    return false;
}

/* Whether the expression may tell the ends of a line from those of the text, or what it looks
 * at or keeps from the lines around. True too often only costs time. */
static bool sees_other_lines(struct wbi_str p)
{
    for (size_t i = 0; i + 1 < p.n; i++) {
        struct wbi_str rest = wbi_str_from(p, i);
        char next = p.p[i + 1];

        if ((p.p[i] == '\\' && next != '\0' && strchr("AGKZz", next) != NULL) ||
            (next == '+' && p.p[i] != '\0' && strchr("?*+}", p.p[i]) != NULL) ||
            wbi_str_starts(rest, WBI_LIT("(*")) || wbi_str_starts(rest, WBI_LIT("(?=")) ||
            wbi_str_starts(rest, WBI_LIT("(?!")) || wbi_str_starts(rest, WBI_LIT("(?<")) ||
            wbi_str_starts(rest, WBI_LIT("(?>")) || wbi_str_starts(rest, WBI_LIT("(?*")))
            return true;
        i += p.p[i] == '\\';
    }
    return false;
}

static wb_rc compile(struct wbi_str pattern, unsigned flags, struct wbi_error *err,
                     struct wbi_regex **ret)
{
    struct wbi_error local = WBI_ERROR_INIT;
    wb_rc rc = wbi_regex_compile(pattern, flags | WBI_REGEX_MULTILINE, ret, &local);

    if (rc == WB_ENOMEM)
        return wbi_fail_nomem(err);
    if (rc)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT, "the pattern: %s",
                             local.text);
    return WB_OK;
}

/* Either will do: `\x{65e5}` is no byte, `\C` no character. */
static wb_rc compile_both(struct wbi_str pattern, unsigned flags, struct wbi_error *err,
                          struct wbi_needle *n)
{
    wb_rc rc = compile(pattern, flags | WBI_REGEX_BYTES, err, &n->re);

    n->by_line = sees_other_lines(pattern);
    if (rc == WB_ENOMEM || !reads_characters(pattern))
        return rc;
    n->wide = !is_ascii(pattern);
    if (n->re == NULL)
        return compile(pattern, flags, err, &n->re_utf8);
    return compile(pattern, flags, NULL, &n->re_utf8) == WB_ENOMEM ? wbi_fail_nomem(err) : WB_OK;
}

wb_rc wbi_needle_compile(const struct wbi_search_request *req, struct wbi_arena *arena,
                         struct wbi_error *err, struct wbi_needle *ret)
{
    struct wbi_needle n = {.literal = {"", 0}};
    struct wbi_str pattern = req->pattern;
    unsigned flags = req->ignore_case ? WBI_REGEX_CASELESS : 0u;
    bool plain = true;
    wb_rc rc = WB_OK;

    if (pattern.n == 0)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT, "the pattern is empty");
    if (req->literal && memchr(pattern.p, '\n', pattern.n) != NULL)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the pattern holds a newline; lines are searched one by one");
    for (size_t i = 0; i < pattern.n && !req->literal; i++)
        plain = plain && !is_meta(pattern.p[i]) && pattern.p[i] != '\n';
    if (req->literal)
        pattern = quoted(pattern, arena);
    if (pattern.p == NULL)
        return wbi_fail_nomem(err);
    if (!req->ignore_case)
        n.literal = plain ? req->pattern : required_text(pattern);
    choose_rare(&n);
    if (!plain || req->ignore_case)
        rc = compile_both(pattern, flags, err, &n);
    if (rc) {
        wbi_needle_free(&n);
        return rc;
    }
    *ret = n;
    return WB_OK;
}

void wbi_needle_free(struct wbi_needle *n)
{
    wbi_regex_free(n->re);
    wbi_regex_free(n->re_utf8);
    n->re = n->re_utf8 = NULL;
}

bool wbi_needle_literal(const struct wbi_needle *n, struct wbi_str text, size_t from,
                        size_t *ret_at)
{
    const char *p = text.p + from + n->rare_at, *end = text.p + text.n;

    *ret_at = from;
    if (n->literal.n == 0)
        return true;
    if (text.n < n->literal.n || from > text.n - n->literal.n)
        return false;
    end -= n->literal.n - n->rare_at - 1;
    while (p < end && (p = memchr(p, n->rare, (size_t)(end - p))) != NULL) {
        if (memcmp(p - n->rare_at, n->literal.p, n->literal.n) == 0) {
            *ret_at = (size_t)(p - n->rare_at - text.p);
            return true;
        }
        p++;
    }
    return false;
}

bool wbi_needle_reads_utf8(const struct wbi_needle *n, struct wbi_str text)
{
    if (n->re_utf8 == NULL || (n->re != NULL && !n->wide && is_ascii(text)))
        return false;
    return wbi_utf8_valid(text);
}

enum wbi_regex_verdict wbi_needle_find(const struct wbi_needle *n, struct wbi_str text, size_t from,
                                       bool utf8, struct wbi_regex_span *ret)
{
    const struct wbi_regex *re = utf8 && n->re_utf8 ? n->re_utf8 : n->re;
    size_t at;

    if (n->re == NULL && n->re_utf8 == NULL) {
        if (!wbi_needle_literal(n, text, from, &at))
            return WBI_REGEX_NO;
        ret->from = at;
        ret->to = at + n->literal.n;
        return WBI_REGEX_YES;
    }
    return re != NULL ? wbi_regex_find(re, text, from, ret, 1) : WBI_REGEX_NO;
}
