/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_value.c: a value beside a telling name, as configuration, environments, code,
 * command lines, tables, XML and JSON write the two. A name says how much a value must look
 * like a secret: behind that of a password almost anything is one, behind a mere "key" only
 * what is random. Placeholders, paths and code are left alone. */
#include "base/limits.h"
#include "text/secrets_int.h"

#define VALUE_MAX 150u       /* what a value is judged by; longer ones need a strong name */
#define LONG_VALUE_MAX 4000u /* session tokens of clouds have a thousand and more */
#define QUOTED_MAX 256u

/* ---- names ---- */

static bool ends_with_fold(struct wbi_str s, struct wbi_str end)
{
    return s.n >= end.n && (s.p[s.n - 1] | 0x20) == end.p[end.n - 1] && /* most differ there */
           wbi_str_ieq(wbi_str_from(s, s.n - end.n), end);
}

#define W(z) WBI_LIT_INIT(z)

static bool ends_with_any(struct wbi_str name, const struct wbi_str *ends, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ends_with_fold(name, ends[i]))
            return true;
    return false;
}

/* The word stands alone or behind _, - or a small letter before its capital. */
static bool last_word(struct wbi_str name, struct wbi_str word)
{
    size_t at = name.n - word.n;

    if (!ends_with_fold(name, word))
        return false;
    return at == 0 || name.p[at - 1] == '_' || name.p[at - 1] == '-' ||
           (wbi_is_upper((uint8_t)name.p[at]) && wbi_is_lower((uint8_t)name.p[at - 1]));
}

/* nextPageToken and its like: where a list goes on is no secret, and whoever asks for the
 * rest has to say it. */
static bool is_place_in_list(struct wbi_str name)
{
    static const struct wbi_str words[] = {W("page"), W("next"),   W("continuation"),
                                           W("sync"), W("cursor"), W("progress")};

    if (!ends_with_fold(name, WBI_LIT("token")))
        return false;
    name.n -= strlen("token");
    if (name.n > 0 && (name.p[name.n - 1] == '_' || name.p[name.n - 1] == '-'))
        name.n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (last_word(name, words[i]))
            return true;
    return false;
}

/* A name that ends in one of these, or is one of those. */
enum strength wbi_name_strength(struct wbi_str name)
{
    static const struct wbi_str passwords[] = {W("password"), W("passwd"), W("passwort"),
                                               W("passphrase"), W("pwd")};
    static const struct wbi_str strong[] = {
        W("token"),           W("secret"),      W("apikey"),           W("api_key"),
        W("api-key"),         W("access_key"),  W("accesskey"),        W("access-key"),
        W("secret_key"),      W("secretkey"),   W("secret-key"),       W("private_key"),
        W("privatekey"),      W("auth_key"),    W("authkey"),          W("signing_key"),
        W("master_key"),      W("account_key"), W("encryption_key"),   W("accountkey"),
        W("credential"),      W("credentials"), W("presharedkey"),     W("preshared_key"),
        W("secret_key_base"), W("key-data"),    W("subscription-key"), W("hmac_key"),
        W("app_key"),         W("private-key"), W("encryptionkey"),    W("signingkey")};
    static const struct wbi_str weak[] = {W("auth"), W("key"), W("tokens"), W("keys"),
                                          W("secrets")};

    while (name.n > 0 && (name.p[0] == '_' || name.p[0] == '-'))
        name = wbi_str_from(name, 1);
    if (ends_with_any(name, passwords, sizeof passwords / sizeof *passwords) ||
        last_word(name, WBI_LIT("pass")) || last_word(name, WBI_LIT("pw")) ||
        last_word(name, WBI_LIT("psk")))
        return PASSWORD;
    if (ends_with_any(name, strong, sizeof strong / sizeof *strong) ||
        last_word(name, WBI_LIT("pat")))
        return is_place_in_list(name) ? NOT_A_NAME : STRONG;
    for (size_t i = 0; i < sizeof weak / sizeof *weak; i++)
        if (wbi_str_ieq(name, weak[i]))
            return WEAK;
    return last_word(name, WBI_LIT("key")) && wbi_str_find(name, WBI_LIT("ub")) == name.n
               ? FAINT
               : NOT_A_NAME;
}

#undef W

bool wbi_secrets_telling(struct wbi_str name)
{
    return wbi_name_strength(name) >= STRONG;
}

static bool name_char(uint8_t c)
{
    return wbi_is_alnum(c) || c == '_' || c == '-';
}

/* ---- between a name and its value ---- */

struct place {
    size_t at;  /* where the value starts; 0: there is none */
    char quote; /* that opens it, 0 for none; of an escaped one its first byte */
    bool tight; /* nothing but them: name=value, --name value, a line of a file */
    bool block; /* of YAML: it begins in the line behind the head */
};

/* A quote, also as HTML, URLs and JSON write it, or a backslash. */
static size_t quote_at(struct wbi_str t, size_t i, char *ret_quote)
{
    static const char *const spelt[] = {"&quot;", "&#34;", "&#39;", "%22", "%27", "\\u0022"};
    struct wbi_str rest = wbi_str_from(t, i);

    if (rest.n == 0)
        return 0;
    if (rest.p[0] == '"' || rest.p[0] == '\'' || rest.p[0] == '`') {
        *ret_quote = rest.p[0];
        return 1;
    }
    if (rest.p[0] != '&' && rest.p[0] != '%' && rest.p[0] != '\\')
        return 0;
    for (size_t k = 0; k < sizeof spelt / sizeof *spelt; k++)
        if (wbi_str_starts(rest, wbi_str_z(spelt[k]))) {
            *ret_quote = rest.p[0];
            return strlen(spelt[k]);
        }
    return rest.p[0] == '\\';
}

static size_t skip_quotes(struct wbi_str t, size_t i, char *ret_quote)
{
    size_t n;

    while ((n = quote_at(t, i, ret_quote)) > 0)
        i += n;
    return i;
}

/* One quote, and backslashes before it: two are an empty text. */
static size_t open_quote(struct wbi_str t, size_t i, char *ret_quote)
{
    char quote = 0;
    size_t n;

    while ((n = quote_at(t, i, &quote)) > 0) {
        i += n;
        if (quote != 0) {
            *ret_quote = quote;
            break;
        }
    }
    return i;
}

/* = : := => %3D %3A; where it ends, or i. */
static size_t assignment(struct wbi_str t, size_t i)
{
    if (i >= t.n)
        return i;
    if (t.p[i] == '%' && i + 3 <= t.n && t.p[i + 1] == '3' &&
        ((t.p[i + 2] | 0x20) == 'd' || (t.p[i + 2] | 0x20) == 'a'))
        return i + 3;
    if (t.p[i] != '=' && t.p[i] != ':')
        return i;
    i++;
    return i + (i < t.n && (t.p[i] == '=' || t.p[i] == '>'));
}

size_t wbi_value_start(struct wbi_str t, size_t i)
{
    size_t assigned;
    char quote;

    while (i < t.n && (t.p[i] == '"' || t.p[i] == '\'' || t.p[i] == ']' || t.p[i] == '\\'))
        i++;
    i = wbi_skip_blanks(t, i, 24);
    assigned = assignment(t, i);
    return assigned == i ? 0 : open_quote(t, wbi_skip_blanks(t, assigned, 24), &quote);
}

/* The name is itself the value of a member called name or key: {"name": "X", "value": …},
 * <add key="X" value=…>. */
static bool is_named(const struct judged *j, size_t from)
{
    struct wbi_str t = j->text, before;
    size_t i = from;

    while (i > j->floor && strchr("\"' \\>", t.p[i - 1]) != NULL)
        i--;
    if (i > j->floor && (t.p[i - 1] == ':' || t.p[i - 1] == '='))
        i--;
    else if (i == from || t.p[i] != '>')
        return false;
    while (i > j->floor && strchr("\"' \\", t.p[i - 1]) != NULL)
        i--;
    before = wbi_str_make(t.p + j->floor, i - j->floor);
    return ends_with_fold(before, WBI_LIT("name")) || ends_with_fold(before, WBI_LIT("key"));
}

/* The member "value" behind such a one, in the same line or the next. */
static size_t hop(struct judged *j, size_t from, size_t i)
{
    static const char *const members[] = {"value", "content", "/key"};
    struct wbi_str t = j->text;
    size_t lines = 0;

    if (!is_named(j, from))
        return 0;
    while (i < t.n && strchr("\"' \t,<\\", t.p[i]) != NULL)
        i++;
    for (; i < t.n && lines <= 1 && strchr("\"' \t,\n\\", t.p[i]) != NULL; i++)
        lines += t.p[i] == '\n';
    j->undecided = i >= t.n && lines <= 1;
    for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
        size_t n = strlen(members[k]);

        if (!wbi_str_starts(wbi_str_from(t, i), wbi_str_make(members[k], n)))
            continue;
        if (k < 2)
            return wbi_value_start(t, i + n);
        for (i += n; i < t.n && lines <= 1 && strchr(" \t>\n", t.p[i]) != NULL; i++)
            lines += t.p[i] == '\n';
        j->undecided = i >= t.n && lines <= 1;
        return wbi_str_starts(wbi_str_from(t, i), WBI_LIT("<string>")) ? i + 8 : 0;
    }
    return 0;
}

/* Nothing stands before the name in its line but blanks (and what it is a part of, as in
 * server.ssl.password), and nothing behind the value. */
static bool alone_in_line(const struct judged *j, size_t from, size_t value)
{
    struct wbi_str t = j->text;
    size_t i = from, end = value;

    while (i > j->floor && (t.p[i - 1] == '.' || wbi_is_alnum((uint8_t)t.p[i - 1])))
        i--;
    while (i > j->floor && (t.p[i - 1] == ' ' || t.p[i - 1] == '\t'))
        i--;
    while (end < t.n && (uint8_t)t.p[end] > ' ')
        end++;
    return (i == j->floor || t.p[i - 1] == '\n') && (end == t.n || t.p[end] == '\n');
}

/* machine HOST login USER password VALUE, of .netrc. */
static bool behind_login(const struct judged *j, size_t from)
{
    size_t start = wbi_near_line_start(j->text, from);
    struct wbi_str before;

    if (start < j->floor)
        start = j->floor;
    before = wbi_str_make(j->text.p + start, from - start);
    return wbi_str_find(before, WBI_LIT("login ")) < before.n;
}

/* The line begins as a row of a table does. */
static bool in_table(const struct judged *j, size_t from)
{
    size_t i = wbi_skip_blanks(j->text, wbi_near_line_start(j->text, from), 24);

    return j->text.p[i] == '|';
}

/* The word before `at`, and where it begins. */
static struct wbi_str last_word_before(const struct judged *j, size_t at, size_t *ret_from)
{
    struct wbi_str t = j->text;
    size_t end = at, i;

    while (end > j->floor && at - end < 24 && (t.p[end - 1] == ' ' || t.p[end - 1] == '\t'))
        end--;
    i = end;
    while (i > j->floor && end - i < 8 &&
           (wbi_in_alphabet((uint8_t)t.p[i - 1], A_LETTER) || t.p[i - 1] == '-'))
        i--;
    *ret_from = i;
    return end < at ? wbi_str_make(t.p + i, end - i) : wbi_str_make(t.p + at, 0);
}

/* ENV NAME value of a Dockerfile, setenv NAME value of csh, setx NAME value of Windows,
 * set -gx NAME value of fish. */
static bool behind_setter(const struct judged *j, size_t from)
{
    size_t at;
    struct wbi_str word = last_word_before(j, from, &at);

    if (word.n > 1 && word.p[0] == '-' && word.p[word.n - 1] == 'x')
        return wbi_str_eqz(last_word_before(j, at, &at), "set");
    return (wbi_str_eqz(word, "ENV") || wbi_str_eqz(word, "setenv") || wbi_str_eqz(word, "setx")) &&
           !wbi_word_before(j, at);
}

/* Only blanks stand between the two. "PASS name" is the result of a test. */
static size_t behind_blanks(const struct judged *j, size_t from, size_t to, size_t i,
                            enum strength strength, bool *ret_tight)
{
    struct wbi_str t = j->text, rest = wbi_str_from(t, i);
    bool password = wbi_str_ieq(wbi_str_make(t.p + from, to - from), WBI_LIT("password"));

    *ret_tight = false;
    if (wbi_str_starts(rest, WBI_LIT("is ")))
        return i + 3;
    if (wbi_str_starts(rest, WBI_LIT("is: ")))
        return i + 4;
    if (rest.n > 2 && rest.p[0] == '|' && rest.p[1] == ' ' && in_table(j, from))
        return i + 2;
    if (strength == PASSWORD && password && rest.n > 0 && (rest.p[0] == '\'' || rest.p[0] == '"'))
        return i;
    *ret_tight =
        strength >= STRONG && (t.p[from] == '-' || behind_login(j, from) ||
                               behind_setter(j, from) || (password && alone_in_line(j, from, i)));
    return *ret_tight ? i : 0;
}

/* define('NAME', 'value'), where the comma stands at i. */
static size_t next_argument(const struct judged *j, size_t from, size_t i)
{
    struct wbi_str t = j->text;
    size_t before = from > j->floor ? from - 1 : from;

    while (before > j->floor && t.p[before - 1] == ' ')
        before--;
    if (before == j->floor || t.p[before - 1] != '(')
        return 0;
    i = wbi_skip_blanks(t, i + 1, 24);
    return i < t.n && (t.p[i] == '\'' || t.p[i] == '"') ? i : 0;
}

/* The value of the name [from, to). */
static struct place find_value(struct judged *j, size_t from, size_t to, enum strength strength)
{
    struct wbi_str t = j->text;
    struct place p = {.tight = true};
    char closed = 0;
    size_t i = skip_quotes(t, to, &closed), blank;

    if (i < t.n && t.p[i] == ']')
        i = skip_quotes(t, i + 1, &closed);
    blank = wbi_skip_blanks(t, i, 24);
    p.at = assignment(t, blank);
    if (strength == PASSWORD && wbi_str_starts(wbi_str_from(t, blank), WBI_LIT("::")))
        return (struct place){0}; /* SomePass::name */
    if (p.at > blank) {
        p.tight = blank == i || alone_in_line(j, from, wbi_skip_blanks(t, p.at, 24));
    } else if ((p.at = hop(j, from, i)) > 0) {
        p.quote = t.p[p.at - 1] == '"' || t.p[p.at - 1] == '\'' ? t.p[p.at - 1] : 0;
    } else if (i < t.n && t.p[i] == '>' && from > j->floor &&
               (t.p[from - 1] == '<' || t.p[from - 1] == '"')) {
        return (struct place){i + 1, '<', true};
    } else if (blank < t.n && t.p[blank] == ',' && closed != 0) {
        p.at = next_argument(j, from, blank);
    } else if (blank > i) {
        p.at = behind_blanks(j, from, to, blank, strength, &p.tight);
    }
    if (p.at > 0) {
        i = open_quote(t, wbi_skip_blanks(t, p.at, 24), &p.quote);
        p.at = wbi_in_block(j, i);
        p.block = p.at != i;
    }
    return p;
}

/* ---- where a value ends ---- */

/* A letter, a digit or one of _./+=~@!#$%^&*:-? */
static bool value_char(uint8_t c)
{
    static const uint64_t chars[2] = {0xa7ffec7a00000000u, 0x47fffffec7ffffffu};

    return c < 128 && (chars[c >> 6] >> (c & 63) & 1);
}

/* A key block, or the next field of a form, begins within what value characters are. */
static bool other_begins(struct wbi_str t, size_t i, char quote)
{
    size_t n;

    if (t.p[i] == '-')
        return wbi_str_starts(wbi_str_from(t, i), WBI_LIT("-----BEGIN"));
    if (t.p[i] == '&') {
        n = wbi_run(t, i + 1, A_WORD);
        return quote == '&' || (n > 0 && i + 1 + n < t.n && t.p[i + 1 + n] == '=');
    }
    if (t.p[i] != '%' || i + 2 >= t.n)
        return false;
    return memcmp(t.p + i, "%22", 3) == 0 || memcmp(t.p + i, "%26", 3) == 0 ||
           memcmp(t.p + i, "%0A", 3) == 0;
}

/* Where the value at i that was read up to end ends, or the first byte beyond most. */
static size_t value_end(struct wbi_str t, size_t i, size_t end, size_t most, char quote)
{
    while (end < t.n && end - i <= most && value_char((uint8_t)t.p[end])) {
        if ((t.p[end] == '-' || t.p[end] == '&' || t.p[end] == '%') && other_begins(t, end, quote))
            break;
        end++;
    }
    return end;
}

/* Behind the name of a password or secret a quoted value goes to its quote. Text with blanks
 * is more often a sentence. */
static size_t quoted_end(const struct judged *j, size_t i, size_t end, char quote)
{
    struct wbi_str t = j->text;
    size_t stop = end;

    if ((quote != '"' && quote != '\'') || end >= t.n || t.p[end] == quote ||
        (i > 1 && t.p[i - 2] == '\\'))
        return end;
    while (stop < t.n && stop - i < QUOTED_MAX && (uint8_t)t.p[stop] > ' ' && t.p[stop] != quote) {
        if (t.p[stop] == '[' && wbi_mask_at(j->set, t, stop) > 0)
            return end;
        stop += t.p[stop] == '\\' ? 2 : 1;
    }
    return stop < t.n && t.p[stop] == quote ? stop : end;
}

/* A variable as env prints it: NAME=value, nothing in between. */
static bool is_variable(struct wbi_str t, size_t from, size_t to)
{
    if (to >= t.n || t.p[to] != '=')
        return false;
    for (size_t i = from; i < to; i++)
        if (wbi_is_lower((uint8_t)t.p[i]) || t.p[i] == '-')
            return false;
    return true;
}

/* A variable alone in its line has the rest of the line. */
static size_t line_value_end(const struct judged *j, size_t from, size_t i, size_t end)
{
    struct wbi_str t = j->text;
    size_t start = wbi_near_line_start(t, from), stop = end;

    if (start != from || (start > 0 && t.p[start - 1] != '\n') || start < j->floor || end >= t.n ||
        memchr(",;|", t.p[end], 3) == NULL)
        return end;
    while (stop < t.n && stop - i < VALUE_MAX && (uint8_t)t.p[stop] > ' ' && t.p[stop] != '[')
        stop++;
    return stop == t.n || t.p[stop] == '\n' ? stop : end;
}

/* ---- judging ---- */

static enum strength strength_of(const struct judged *j, size_t from, size_t to, size_t at)
{
    struct wbi_str name = wbi_str_make(j->text.p + from, to - from);
    enum strength s = wbi_name_strength(name);

    return s != NOT_A_NAME
               ? s
               : wbi_name_strength(wbi_str_from(name, wbi_behind_escape(j, from, at) - from));
}

/* Code goes on with a call, a block or an index. */
static bool code_follows(const struct judged *j, size_t end, char quote)
{
    struct wbi_str t = j->text;

    if (end >= t.n || quote == '"' || quote == '\'')
        return false;
    return t.p[end] == '(' || t.p[end] == '{' ||
           (t.p[end] == '[' && wbi_mask_at(j->set, t, end) == 0);
}

/* PASS, Pass or pass alone, a colon and a blank. Small letters begin the line: further in they
 * are more often a member of YAML. */
static bool verdict_before(const struct judged *j, size_t from, size_t to)
{
    struct wbi_str t = j->text, name = wbi_str_make(t.p + from, to - from);

    return wbi_str_ieq(name, WBI_LIT("pass")) &&
           wbi_str_starts(wbi_str_from(t, to), WBI_LIT(": ")) &&
           (wbi_str_eqz(name, "PASS") || from == 0 || t.p[from - 1] == '\n');
}

/* "PASS: tests/foo2.sh", "pass: foo2test", "--- PASS: ExampleV2 (0.00s)": how a test went. */
static bool verdict(const struct judged *j, size_t from, size_t to, const struct place *p,
                    struct wbi_str v)
{
    struct wbi_str t = j->text;

    if (p->quote != 0 || !verdict_before(j, from, to))
        return false;
    if (from >= j->floor + 4 && memcmp(t.p + from - 4, "--- ", 4) == 0)
        return true;
    return wbi_name_of_test(v);
}

static bool judge(struct judged *j, size_t from, size_t to, enum strength strength,
                  const struct place *p, struct secret *ret)
{
    struct wbi_str t = j->text, v;
    bool variable = is_variable(t, from, to);
    size_t start = wbi_skip_masks(j->set, t, p->at);
    size_t end = value_end(t, start, start, VALUE_MAX, p->quote);

    if (strength >= STRONG) {
        end = quoted_end(j, start, end, p->quote);
        if (variable && p->quote == 0)
            end = line_value_end(j, from, start, end);
    }
    v = wbi_str_make(t.p + start, end - start);
    if (v.n < PASSWORD_MIN || code_follows(j, end, p->quote) || verdict(j, from, to, p, v))
        return false;
    if (p->quote == '<' && (end >= t.n || t.p[end] != '<'))
        return false;
    if ((!(strength == PASSWORD && wbi_like_password(v, p->quote, p->tight, variable)) &&
         !wbi_like_random(v, strength)) ||
        wbi_placeholder(v))
        return false;
    if (v.n > VALUE_MAX)
        end = value_end(t, start, end, LONG_VALUE_MAX, p->quote);
    if (end - start > (strength >= STRONG ? LONG_VALUE_MAX : VALUE_MAX))
        return false;
    return wbi_found(ret, start, end, strength >= STRONG ? "secret-value" : "key-value");
}

/* A value of more than one line: from its first line on, if that is a secret as a whole. */
static void whole_block(struct wbi_str t, size_t at, struct secret *ret)
{
    size_t next = ret->to + 1;
    bool ended;

    if (ret->to >= t.n || t.p[ret->to] != '\n')
        return;
    ret->indent = at - wbi_line_start(t, at);
    ret->left = WBI_LIMIT_SECRET_PEM;
    ret->to = next + wbi_indented_body(t, next, ret->left, ret->indent, &ended);
    ret->left -= ret->to - next;
    ret->open = !ended;
}

/* Said without comparing names: nothing assigns, or what follows is too short or a number. */
static bool no_value(struct wbi_str t, size_t i)
{
    bool letter = false;
    size_t from;

    if (i >= t.n || !wbi_in_alphabet((uint8_t)t.p[i], A_NAME_ENDS))
        return true;
    if (t.p[i] != '=' && t.p[i] != ':')
        return false;
    from = i + 1 + (i + 1 < t.n && t.p[i + 1] == ' ');
    for (i = from; i < t.n && i - from < VALUE_MIN && value_char((uint8_t)t.p[i]); i++)
        letter |= !wbi_is_digit((uint8_t)t.p[i]);
    return i > from && (i == t.n || t.p[i] == ' ' || t.p[i] == '\n') &&
           (i - from < PASSWORD_MIN || !letter);
}

/* A key that all may know, by its own name or by the words before it: of a cache ("Cache saved
 * with the key: …"), a public one, one of a foreign table, the nonce of a WebSocket. */
static bool open_key(const struct judged *j, size_t from, size_t to)
{
    static const char *const words[] = {"cache",   "public",   "foreign", "websocket",
                                        "sitekey", "site_key", "site-key"};
    struct wbi_str t = j->text, said;
    size_t i = from;

    while (i > j->floor && from - i < 64 &&
           (wbi_in_alphabet((uint8_t)t.p[i - 1], A_WORD) || t.p[i - 1] == ' '))
        i--;
    said = wbi_str_make(t.p + i, to - i);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (wbi_find_fold(said, wbi_str_z(words[k])) < said.n)
            return true;
    return false;
}

bool wbi_match_generic(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at, to = at + r->n;
    enum strength strength;
    struct place p;

    while (to < t.n && to - at < 40 && name_char((uint8_t)t.p[to]))
        to++;
    if (no_value(t, to))
        return false;
    while (from > j->floor && at - from < 40 && name_char((uint8_t)t.p[from - 1]))
        from--;
    strength = strength_of(j, from, to, at);
    if (strength == NOT_A_NAME)
        return false;
    p = find_value(j, from, to, strength);
    if (p.at == 0 && strength >= STRONG && at < j->limit && strchr(",;\t\n\"", t.p[to]) != NULL)
        wbi_columns_head(j->table, t, from, j->floor);
    if (p.at == 0 || p.at >= t.n)
        return false;
    if (!judge(j, from, to, strength, &p, ret) || (strength <= WEAK && open_key(j, from, to)))
        return false;
    if (p.block)
        whole_block(t, p.at, ret);
    return true;
}
