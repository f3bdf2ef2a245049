/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_block.c: keys of many lines: PEM (also as part of a URL, behind line numbers
 * and prefixes of logs), SSH2 and PuTTY, and a PEM block that is base64 as a whole; and how far
 * a block of YAML goes. */
#include "text/secrets_int.h"

#include "base/limits.h"

/* One of these pairs of hexadecimal digits, escaped as in URLs: "2b3d" for %2B and %3d. */
static bool percent_at(struct wbi_str t, size_t i, const char *pairs)
{
    if (i + 3 > t.n || t.p[i] != '%')
        return false;
    for (; *pairs != '\0'; pairs += 2)
        if (t.p[i + 1] == pairs[0] && (t.p[i + 2] | 0x20) == (pairs[1] | 0x20))
            return true;
    return false;
}

/* Base64, and what URLs escape of it. */
static size_t base64_run(struct wbi_str t, size_t at)
{
    size_t i = at;

    for (;;) {
        i += wbi_run(t, i, A_BASE64);
        if (!percent_at(t, i, "2b2f3d"))
            return i - at;
        i += 3;
    }
}

/* Base64 with visible marks in it. */
static bool marked_base64(struct wbi_str line)
{
    size_t i = 0, letters = 0, marks = 0;

    while (i < line.n) {
        size_t mark = wbi_mark_at(line, i), n = mark > 0 ? mark : wbi_run(line, i, A_BASE64);

        if (n == 0)
            return false;
        marks += mark > 0;
        letters += mark > 0 ? 0 : n;
        i += n;
    }
    return marks > 0 && (letters >= 16 || letters == 0);
}

#define PREFIX_MAX 80u

/* Base64 behind what grep, cat -n, git blame and logs write before a line. */
static bool behind_prefix(struct wbi_str line)
{
    size_t at = line.n, n, i;

    while (at > 0 && wbi_in_alphabet((uint8_t)line.p[at - 1], A_BASE64))
        at--;
    n = line.n - at;
    if (at == 0 || at > PREFIX_MAX || (n < 16 && (n < 2 || line.p[line.n - 1] != '=')))
        return false;
    for (i = at; i > 0 && line.p[i - 1] == ' ';)
        i--;
    return i > 0 && (strchr("|:>)]Z\t", line.p[i - 1]) != NULL ||
                     (i < at && wbi_is_digit((uint8_t)line.p[i - 1])));
}

/* A line that may stand inside a key block: base64, a header, nothing. */
static bool pem_line(struct wbi_str line)
{
    size_t i = 0, n;

    while (line.n > 0 && strchr(" \t\"',+|>#\r-*", line.p[0]) != NULL)
        line = wbi_str_from(line, 1);
    while (line.n > 0 && strchr(" \t\"',\r\\+", line.p[line.n - 1]) != NULL)
        line.n--;
    if (line.n == 0 || marked_base64(line))
        return true;
    n = base64_run(line, 0);
    if (n == line.n)
        return n >= 16 || line.p[n - 1] == '=' || (n >= 2 && wbi_entropy(line) > 0);
    while (i < line.n && (wbi_is_alnum((uint8_t)line.p[i]) || line.p[i] == '-'))
        i++;
    return (i > 0 && i < line.n && line.p[i] == ':' && i < 24) || behind_prefix(line);
}

/* Length of a line break written as \n, \u000a or %0A; 0 when there is none. */
static size_t escaped_break(struct wbi_str t, size_t i)
{
    if (t.p[i] == '%')
        return percent_at(t, i, "0a0d") ? 3 : 0;
    if (t.p[i] != '\\' || i + 1 >= t.n)
        return 0;
    if (t.p[i + 1] == 'n' || t.p[i + 1] == 'r')
        return 2;
    return i + 6 <= t.n && memcmp(t.p + i + 1, "u000", 4) == 0 &&
                   ((t.p[i + 5] | 0x20) == 'a' || (t.p[i + 5] | 0x20) == 'd')
               ? 6
               : 0;
}

/* Lines end at a newline or at one of quoted text. */
static size_t pem_line_end(struct wbi_str t, size_t at, size_t end, size_t *ret_next)
{
    t.n = end;
    for (size_t i = at; i < end; i++) {
        size_t n = t.p[i] == '\n' ? 1 : t.p[i] == '\\' || t.p[i] == '%' ? escaped_break(t, i) : 0;

        if (n > 0) {
            *ret_next = i + n;
            return i;
        }
    }
    *ret_next = end;
    return end;
}

size_t wbi_pem_body(struct wbi_str t, size_t at, size_t most, bool *ret_ended)
{
    size_t end = most < t.n - at ? at + most : t.n, i = at, next, stop, mark;
    struct wbi_str line;

    *ret_ended = false;
    while (i < end) {
        stop = pem_line_end(t, i, end, &next);
        line = wbi_str_make(t.p + i, stop - i);
        mark = wbi_str_find(line, WBI_LIT("-----END"));
        if (mark < line.n) {
            struct wbi_str rest = wbi_str_from(line, mark + 8);
            size_t close = wbi_str_find(rest, WBI_LIT("-----"));

            *ret_ended = true;
            return i + mark + 8 + (close < rest.n ? close + 5 : rest.n) - at;
        }
        if (!pem_line(line)) {
            *ret_ended = true;
            return i - at;
        }
        i = next;
    }
    if (most <= t.n - at)
        *ret_ended = true;
    return i - at;
}

size_t wbi_indented_body(struct wbi_str t, size_t at, size_t most, size_t indent, bool *ret_ended)
{
    size_t end = most < t.n - at ? at + most : t.n, i = at, text, stop;

    *ret_ended = most <= t.n - at;
    while (i < end) {
        stop = i + wbi_str_index(wbi_str_make(t.p + i, end - i), '\n');
        for (text = i; text < stop && t.p[text] == ' ';)
            text++;
        if (text - i < indent && text < stop && t.p[text] != '\r') {
            *ret_ended = true;
            return i - at;
        }
        i = stop + (stop < end);
    }
    return i - at;
}

/* Where the title behind BEGIN ends; blanks may be written as in URLs. */
static size_t title_end(struct wbi_str t, size_t at)
{
    size_t i = at;

    while (i < t.n && i - at < 80) {
        if (wbi_is_alnum((uint8_t)t.p[i]) || t.p[i] == ' ' || t.p[i] == '+')
            i++;
        else if (percent_at(t, i, "20"))
            i += 3;
        else
            break;
    }
    return i;
}

static bool block_from(const struct judged *j, size_t at, size_t body, const struct rule *r,
                       struct secret *ret)
{
    bool ended;

    wbi_found(ret, at, body + wbi_pem_body(j->text, body, WBI_LIMIT_SECRET_PEM, &ended), r->label);
    ret->open = !ended;
    ret->left = WBI_LIMIT_SECRET_PEM;
    return true;
}

/* -----BEGIN … PRIVATE KEY … -----; of SSH2 ---- BEGIN … ----. */
bool wbi_match_pem(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text, title;
    size_t begin = at + r->n, end = title_end(t, begin);
    bool ssh2 = r->literal[4] == ' ';

    title = wbi_str_make(t.p + begin, end - begin);
    if (!wbi_str_starts(wbi_str_from(t, end), ssh2 ? WBI_LIT("----") : WBI_LIT("-----")))
        return false;
    if (!ssh2 && wbi_str_find(title, WBI_LIT("PRIVATE")) == title.n &&
        wbi_str_find(title, WBI_LIT("Static key")) == title.n)
        return false;
    return block_from(j, at, end + (ssh2 ? 4 : 5), r, ret);
}

/* Headers and lines of base64 to the end of the file. */
bool wbi_match_putty(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    return (at == 0 || j->text.p[at - 1] == '\n') && block_from(j, at, at, r, ret);
}

/* Base64 of a whole block, as kubeconfig and CI variables have it. Certificates and public
 * keys begin alike. */
bool wbi_match_packed(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    static const char *const open[] = {"BDRVJU", "BQVUJMS",    "BUUlVT",    "BYNTA5",
                                       "BORVcg", "BSU0EgUFVC", "BQR1AgUFVC"};
    struct wbi_str rest = wbi_str_from(j->text, at + r->n);
    size_t n = base64_run(wbi_str_head(rest, WBI_LIMIT_SECRET_PEM), 0);

    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (wbi_str_starts(rest, wbi_str_z(open[i])))
            return false;
    return n >= 60 && wbi_found(ret, at, at + r->n + n, r->label);
}
