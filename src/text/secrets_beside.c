/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_beside.c: values that only what stands beside them tells: passwords in SQL
 * statements, codes in the addresses and forms of OAuth, the private members of a JSON Web
 * Key; and the blocks of YAML. */
#include "base/checked.h"
#include "text/secrets_int.h"

/* ---- YAML ---- */

size_t wbi_in_block(struct judged *j, size_t i)
{
    struct wbi_str t = j->text;
    size_t k = i + 1, line;

    if (i >= t.n || (t.p[i] != '|' && t.p[i] != '>'))
        return i;
    while (k < t.n && k <= i + 2 &&
           (t.p[k] == '-' || t.p[k] == '+' || wbi_is_digit((uint8_t)t.p[k])))
        k++;
    if (k < t.n && t.p[k] != '\n')
        return i;
    line = k + (k < t.n);
    k = wbi_skip_blanks(t, line, 64);
    j->undecided = k >= t.n;
    return k > line && k < t.n ? k : i;
}

/* ---- SQL ---- */

#define SQL_VALUE_MAX 256u

/* A statement about users begins before `at` in its line. */
static bool in_statement(const struct judged *j, size_t at)
{
    static const char *const verbs[] = {"create user", "alter user",   "create role", "alter role",
                                        "grant ",      "create login", "alter login"};
    size_t start = wbi_near_line_start(j->text, at);
    struct wbi_str before = wbi_str_make(j->text.p + start, at - start);

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (wbi_find_fold(before, wbi_str_z(verbs[i])) < before.n)
            return true;
    return false;
}

/* Behind IDENTIFIED: where the value after BY or AS may begin; 0 when neither comes. */
static size_t behind_by(struct wbi_str t, size_t i)
{
    for (unsigned words = 0; words < 4; words++) {
        size_t n = wbi_run(t, i, A_WORD);
        struct wbi_str word = wbi_str_make(t.p + i, n);

        i = wbi_skip_blanks(t, i + n, 4);
        if (wbi_str_ieq(word, WBI_LIT("by")) || wbi_str_ieq(word, WBI_LIT("as")))
            return i;
        if (n == 0)
            return 0;
    }
    return 0;
}

/* Behind PASSWORD: blanks, = or (, and the letter of an escaped or national text. */
static size_t behind_password(struct wbi_str t, size_t i)
{
    i = wbi_skip_blanks(t, i, 4);
    if (i < t.n && (t.p[i] == '=' || t.p[i] == '('))
        i = wbi_skip_blanks(t, i + 1, 4);
    return i + (i + 1 < t.n && strchr("ENen", t.p[i]) != NULL && t.p[i + 1] == '\'');
}

/* The quote that ends the text at i, or where it cannot go on. */
static size_t text_end(const struct judged *j, size_t i, char quote)
{
    struct wbi_str t = wbi_str_head(j->text, i + SQL_VALUE_MAX);

    while (i < t.n && (uint8_t)t.p[i] >= ' ' && t.p[i] != quote &&
           !(t.p[i] == '[' && wbi_mask_at(j->set, j->text, i) > 0))
        i += t.p[i] == '\\' ? 2 : 1;
    return i;
}

/* IDENTIFIED [WITH plugin] BY 'value'; PASSWORD 'value' of CREATE USER and its like. Capitals
 * make a statement of the first one, small letters are more often prose. */
bool wbi_match_sql(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    bool identified = r->literal[0] == 'i';
    size_t i = at + r->n, end;
    char quote;

    if (wbi_word_before(j, at))
        return false;
    i = identified ? behind_by(t, i) : behind_password(t, i);
    if (i == 0 || i >= t.n || (t.p[i] != '\'' && t.p[i] != '"'))
        return false;
    if (!(identified && memcmp(t.p + at, "IDENTIFIED", 10) == 0) && !in_statement(j, at))
        return false;
    quote = t.p[i];
    i = wbi_skip_masks(j->set, t, i + 1);
    end = text_end(j, i, quote);
    return end >= i + 4 && end < t.n && t.p[end] == quote &&
           !wbi_sample_password(wbi_str_make(t.p + i, end - i)) && wbi_found(ret, i, end, r->label);
}

/* ---- OAuth ---- */

#define QUERY_REACH 1024u

static bool query_char(uint8_t c)
{
    return c > ' ' && c < 127 && strchr("\"'<>\\`", c) == NULL;
}

/* The query or form that holds [from, to) also names the state, where to return or the
 * verifier. */
static bool in_callback(const struct judged *j, size_t from, size_t to)
{
    static const char *const names[] = {"state=", "redirect", "code_verifier="};
    struct wbi_str t = j->text, query;
    size_t start = from, end = to;

    while (start > j->floor && from - start < QUERY_REACH && query_char((uint8_t)t.p[start - 1]))
        start--;
    while (end < t.n && end - to < QUERY_REACH && query_char((uint8_t)t.p[end]))
        end++;
    query = wbi_str_make(t.p + start, end - start);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (wbi_str_find(query, wbi_str_z(names[i])) < query.n)
            return true;
    return false;
}

/* ?code=… of a callback, &code=… of a request for a token, and the verifier. */
bool wbi_match_oauth(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text, v;
    size_t from = wbi_skip_masks(j->set, t, at + r->n), to = from;

    while (to < t.n && to - from <= QUERY_REACH &&
           (wbi_in_alphabet((uint8_t)t.p[to], A_TOKEN) || t.p[to] == '%'))
        to++;
    v = wbi_str_make(t.p + from, to - from);
    return v.n >= r->min && v.n <= QUERY_REACH && !wbi_wordy(v) && wbi_entropy(v) >= 300 &&
           (r->n > 6 || in_callback(j, at, to)) && wbi_found(ret, from, to, r->label);
}

/* ---- JSON Web Keys ---- */

#define JWK_REACH 4096u /* a member of a key of 8,192 bits has 1,366 characters */

/* Does an object begin or end at i? A brace inside of a value, which may be another secret,
 * says nothing of where the member stands. */
static bool bounds_object(struct wbi_str t, size_t i)
{
    size_t next = i + 1;

    if (t.p[i] == '}')
        return next == t.n || strchr(" \t\r\n,]});", t.p[next]) != NULL;
    if (t.p[i] != '{')
        return false;
    while (next < t.n && (t.p[next] == ' ' || t.p[next] == '\t'))
        next++;
    return next == t.n || strchr("\"}\r\n", t.p[next]) != NULL;
}

/* Behind the last bound in [from, at). */
static size_t object_from(struct wbi_str t, size_t from, size_t at)
{
    while (at > from && !bounds_object(t, at - 1))
        at--;
    return at;
}

/* The first bound in [at, end), or end. */
static size_t object_to(struct wbi_str t, size_t at, size_t end)
{
    while (at < end && !bounds_object(t, at))
        at++;
    return at;
}

/* "kty" stands in the same object as what stands at `at`. *ret_open when the text ends
 * inside the object. */
static bool in_jwk(struct wbi_str t, size_t at, bool *ret_open)
{
    size_t from = object_from(t, at < JWK_REACH ? 0 : at - JWK_REACH, at);
    size_t reach = at + WBI_MIN(t.n - at, (size_t)JWK_REACH), to = object_to(t, at, reach);
    struct wbi_str object = wbi_str_make(t.p + from, to - from);

    *ret_open = reach == t.n && to == t.n;
    return wbi_str_find(object, WBI_LIT("\"kty\":")) < object.n;
}

/* Up to the quote that ends the string, or to the end of the line. */
static size_t string_run(struct wbi_str t, size_t from)
{
    size_t i = from;

    while (i < t.n && i - from < JWK_REACH && t.p[i] != '"' && t.p[i] != '\n')
        i++;
    return i - from;
}

/* A private member: whatever it holds, for a known value may stand in it. The type may stand on
 * either side of it, in other lines: both wait for the end of the object. */
bool wbi_match_jwk(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i = wbi_skip_blanks(t, at + r->n, 4), n;
    bool type = r->literal[2] == 't', jwk, open;

    if (at >= j->limit)
        return false;
    if (!type && (i >= t.n || t.p[i++] != '"'))
        return false;
    i = wbi_skip_masks(j->set, t, i);
    n = string_run(t, i);
    if (!type && (n < 20 || i + n >= t.n || t.p[i + n] != '"'))
        return false;
    jwk = in_jwk(wbi_str_head(t, j->limit), at, &open);
    j->undecided = open && (type || !jwk);
    return jwk && !type && wbi_found(ret, i, i + n, r->label);
}
