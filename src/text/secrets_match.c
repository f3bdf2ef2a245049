/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_match.c: anchored matchers, one per form of secret. Each looks at
 * a bounded piece of one line (key blocks: of many) and never backtracks. Values
 * that were replaced already, placeholders and code are left alone. */
#include "text/secrets_int.h"

#include "base/limits.h"

#define CURL_LINE 2048u /* an option this far behind its command is still its */

static bool is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}
static bool is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}
static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}
static bool is_alnum(uint8_t c)
{
    return is_lower(c) || is_upper(c) || is_digit(c);
}

#define IN(a) (1u << (a))
#define ALNUM (IN(A_WORD) | IN(A_ALNUM) | IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY))
#define LETTER (ALNUM | IN(A_LETTER))
#define UPPER (LETTER | IN(A_UPPER32))
#define DIGIT (ALNUM | IN(A_HEX) | IN(A_LOWHEX))
#define HEX_LETTER (LETTER | IN(A_HEX) | IN(A_LOWHEX))

/* A bit per alphabet; A_ANY is not among them. */
const uint16_t wbi_alphabets[256] = {
    ['0'] = DIGIT,
    ['1'] = DIGIT,
    ['2' ... '7'] = DIGIT | IN(A_UPPER32),
    ['8' ... '9'] = DIGIT,
    ['A' ... 'C'] = UPPER | IN(A_HEX),
    ['D'] = UPPER | IN(A_HEX) | IN(A_PASSW),
    ['E' ... 'F'] = UPPER | IN(A_HEX),
    ['G' ... 'N'] = UPPER,
    ['O'] = UPPER | IN(A_PASSW),
    ['P' ... 'R'] = UPPER,
    ['S'] = UPPER | IN(A_NAME_ENDS),
    ['T' ... 'Z'] = UPPER,
    ['a' ... 'c'] = HEX_LETTER,
    ['d'] = HEX_LETTER | IN(A_PASSW),
    ['e' ... 'f'] = HEX_LETTER,
    ['g' ... 'n'] = LETTER,
    ['o'] = LETTER | IN(A_PASSW),
    ['p' ... 'r'] = LETTER,
    ['s'] = LETTER | IN(A_NAME_ENDS),
    ['t' ... 'z'] = LETTER,
    ['_'] = IN(A_WORD) | IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY),
    ['-'] = IN(A_WORD) | IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY),
    ['+'] = IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY),
    ['/'] = IN(A_BASE64) | IN(A_TOKEN),
    ['='] = IN(A_BASE64) | IN(A_TOKEN) | IN(A_NAME_ENDS) | IN(A_AUTHORITY),
    [','] = IN(A_BASE64),
    ['.'] = IN(A_TOKEN) | IN(A_AUTHORITY),
    ['~'] = IN(A_TOKEN) | IN(A_AUTHORITY),
    ['"'] = IN(A_NAME_ENDS) | IN(A_MEMBER),
    ['\\'] = IN(A_NAME_ENDS) | IN(A_MEMBER),
    [':'] = IN(A_NAME_ENDS) | IN(A_MEMBER) | IN(A_AUTHORITY),
    ['\''] = IN(A_NAME_ENDS),
    [']'] = IN(A_NAME_ENDS) | IN(A_AUTHORITY),
    [' '] = IN(A_NAME_ENDS),
    ['\t'] = IN(A_NAME_ENDS),
    ['!'] = IN(A_AUTHORITY),
    ['$' ... '&'] = IN(A_AUTHORITY),
    ['('] = IN(A_AUTHORITY),
    ['*'] = IN(A_AUTHORITY),
    [';'] = IN(A_AUTHORITY),
    ['['] = IN(A_AUTHORITY),
    ['^'] = IN(A_AUTHORITY),
    ['`'] = IN(A_AUTHORITY),
    ['{' ... '}'] = IN(A_AUTHORITY),
    [0x7f ... 0xff] = IN(A_AUTHORITY),
};

static size_t run(struct wbi_str t, size_t at, uint8_t alphabet)
{
    size_t i = at;

    while (i < t.n && wbi_in_alphabet((uint8_t)t.p[i], alphabet))
        i++;
    return i - at;
}

/* log2 of small counts, times 1000, by table and halving. */
static unsigned log2_1000(unsigned n)
{
    static const uint16_t below16[16] = {0,    0,    1000, 1585, 2000, 2322, 2585, 2807,
                                         3000, 3170, 3322, 3459, 3585, 3700, 3807, 3907};
    unsigned add = 0;

    while (n >= 16) {
        n /= 2;
        add += 1000;
    }
    return add + below16[n];
}

unsigned wbi_entropy(struct wbi_str s)
{
    unsigned count[256] = {0}, sum = 0, n = (unsigned)(s.n < 4096 ? s.n : 4096);

    if (n == 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        count[(uint8_t)s.p[i]]++;
    for (unsigned i = 0; i < 256; i++)
        sum += count[i] * log2_1000(count[i]);
    return (log2_1000(n) - sum / n) / 10;
}

static bool found(struct secret *ret, size_t from, size_t to, const char *label)
{
    *ret = (struct secret){from, to, label, false};
    return true;
}

/* ---- what stands before a literal ---- */

static bool all_hex(const char *p, size_t n)
{
    return run(wbi_str_make(p, n), 0, A_HEX) == n;
}

/* One escaped character ends before `at`: \n, \x1b, \033, \u001b, \U0000001b, %20, =3D. */
static bool ends_code(const struct judged *j, size_t at)
{
    size_t back = at - j->floor;
    const char *p = j->text.p + at;

    if (back >= 2 && p[-2] == '\\' && memchr("nrtbfvae0", p[-1], 9) != NULL)
        return true;
    if (back >= 3 && (p[-3] == '%' || p[-3] == '=') && all_hex(p - 2, 2))
        return true;
    if (back >= 4 && p[-4] == '\\' && (p[-3] == 'x' ? all_hex(p - 2, 2) : all_hex(p - 3, 3)))
        return true;
    if (back >= 6 && p[-6] == '\\' && p[-5] == 'u' && all_hex(p - 4, 4))
        return true;
    return back >= 10 && p[-10] == '\\' && p[-9] == 'U' && all_hex(p - 8, 8);
}

/* The last letter of an escaped terminal sequence stands before `at`: \x1b[1;31m,
 * \u009b0m, %1B%5B0m, \e(B. */
static bool ends_sequence(const struct judged *j, size_t at)
{
    struct wbi_str t = j->text;
    size_t i = at - 1;

    while (i > j->floor && at - i < 24 && (is_digit((uint8_t)t.p[i - 1]) || t.p[i - 1] == ';'))
        i--;
    if (i == j->floor || is_digit((uint8_t)t.p[at - 1]))
        return false;
    if (t.p[i - 1] == '[')
        return true;
    if (t.p[i - 1] == '(')
        return ends_code(j, i - 1);
    return (t.p[i - 1] | 0x20) == 'b' && ends_code(j, i) &&
           (t.p[i - 2] == '9' || t.p[i - 2] == '5');
}

/* What stands before `at` is the end of an escape and no letter of a word. */
static bool ends_escape(const struct judged *j, size_t at)
{
    return ends_code(j, at) || ends_sequence(j, at);
}

/* What begins at `at` goes on a word. */
static bool word_before(const struct judged *j, size_t at)
{
    return at > j->floor && is_alnum((uint8_t)j->text.p[at - 1]) && !ends_escape(j, at);
}

/* Where a word that reaches `at` begins, when letters of an escape before it were taken
 * for its own: they stand at `from`. */
static size_t behind_escape(const struct judged *j, size_t from, size_t at)
{
    size_t begins = from;

    for (size_t i = from + 1; i <= at && i <= from + 9; i++)
        if (ends_escape(j, i))
            begins = i;
    return begins;
}

bool wbi_match_prefix(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t n = strlen(r->literal), body = run(t, at + n, r->alphabet);
    uint8_t next = at + n + body < t.n ? (uint8_t)t.p[at + n + body] : ' ';

    if (body < r->min || body > r->max || word_before(j, at))
        return false;
    /* a fixed length that goes on in other letters is something else */
    if (r->min == r->max && (is_alnum(next) || next == '_'))
        return false;
    if (wbi_entropy(wbi_str_make(t.p + at + n, body)) < 200)
        return false;
    return found(ret, at, at + n + body, r->label);
}

bool wbi_match_context(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    (void)j;
    (void)at;
    (void)r;
    (void)ret;
    return false;
}

/* The literal stands inside: sk-…T3BlbkFJ…, 123456:A…, xxx1Q~…, ….atlasv1.… */
bool wbi_match_inner(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at, to = at + strlen(r->literal), n;

    if (r->literal[0] == ':') {
        while (from > j->floor && at - from < 17 && is_digit((uint8_t)t.p[from - 1]))
            from--;
        n = run(t, to, A_WORD);
        if (n == 34 && word_before(j, from))
            from = behind_escape(j, from, at);
        return n == 34 && at - from >= 5 && at - from <= 16 && !word_before(j, from) &&
               found(ret, from, to + n, r->label);
    }
    if (r->literal[0] == 'Q') {
        n = run(t, to, A_TOKEN);
        return at >= j->floor + 4 && is_digit((uint8_t)t.p[at - 1]) && n >= 31 && n <= 34 &&
               wbi_in_alphabet((uint8_t)t.p[at - 2], A_TOKEN) &&
               wbi_in_alphabet((uint8_t)t.p[at - 3], A_TOKEN) &&
               wbi_in_alphabet((uint8_t)t.p[at - 4], A_TOKEN) && !word_before(j, at - 4) &&
               found(ret, at - 4, to + n, r->label);
    }
    while (from > j->floor && at - from < 160 && wbi_in_alphabet((uint8_t)t.p[from - 1], A_WORD))
        from--;
    n = run(t, to, A_WORD);
    if (r->literal[0] == '.') {
        if (at - from > 14)
            from = behind_escape(j, from, at);
        return at - from == 14 && n >= 60 && n <= 70 && found(ret, from, to + n, r->label);
    }
    if (t.p[from] != 's')
        from = behind_escape(j, from, at);
    return n >= 10 && wbi_str_starts(wbi_str_make(t.p + from, at - from), WBI_LIT("sk-")) &&
           found(ret, from, to + n, r->label);
}

/* A value near a name: discord … = 64 hex, cloudflare … = 40. */
bool wbi_match_near(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    bool discord = r->label[0] == 'd', assigned = false;
    size_t i = at + strlen(r->literal), end = i + 48 < t.n ? i + 48 : t.n, n;

    for (; i < end && t.p[i] != '\n'; i++) {
        uint8_t c = (uint8_t)t.p[i];

        assigned |= c == '=' || c == ':';
        if (!assigned || !is_alnum(c) || word_before(j, i))
            continue;
        n = run(t, i, discord ? A_LOWHEX : A_WORD);
        if (n == (discord ? 64u : 40u) && wbi_entropy(wbi_str_make(t.p + i, n)) > 300)
            return found(ret, i, i + n, r->label);
    }
    return false;
}

bool wbi_match_webhook(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at + strlen(r->literal), n = run(t, from, A_TOKEN);
    struct wbi_str path = wbi_str_make(t.p + from, n);

    return n >= 43 &&
           (wbi_str_starts(path, WBI_LIT("services/")) ||
            wbi_str_starts(path, WBI_LIT("workflows/")) ||
            wbi_str_starts(path, WBI_LIT("triggers/"))) &&
           found(ret, from, from + n, r->label);
}

bool wbi_match_jwt(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t a = run(t, at, A_WORD), b, c, i = at + a;

    if (at > j->floor && wbi_in_alphabet((uint8_t)t.p[at - 1], A_WORD) && !ends_escape(j, at))
        return false;
    if (a < 14 || i + 3 >= t.n || t.p[i] != '.' || t.p[i + 1] != 'e' || t.p[i + 2] != 'y')
        return false;
    b = run(t, i + 1, A_WORD);
    i += 1 + b;
    if (b < 12 || i >= t.n || t.p[i] != '.')
        return false;
    c = run(t, i + 1, A_WORD);
    return found(ret, at, i + 1 + c, r->label);
}

/* ---- names and values ---- */

/* What nobody would use, or what is no value at all. */
static bool placeholder(struct wbi_str v)
{
    static const char *const words[] = {
        "example", "changeme",  "placeholder", "redacted", "xxxx",       "your",    "dummy",
        "sample",  "undefined", "null",        "function", "****",       "insert",  "replace",
        "todo",    "localhost", "node_mod",    "password", "secret",     "default", "test-",
        "fake",    "mock",      "none",        "process.", "env.",       "require", "import",
        "return",  "string",    "config",      "....",     "1234567890", "abcdef",
    };
    char low[160];
    size_t n = v.n < sizeof low ? v.n : sizeof low;

    if (v.n == 0 || v.p[0] == '[' || v.p[0] == '<' || v.p[0] == '$' || v.p[0] == '{' ||
        v.p[0] == '%' || v.p[0] == '*')
        return true;
    for (size_t i = 0; i < n; i++)
        low[i] = (char)(is_upper((uint8_t)v.p[i]) ? v.p[i] | 0x20 : v.p[i]);
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (wbi_str_find(wbi_str_make(low, n), wbi_str_z(words[w])) < n)
            return true;
    return false;
}

/* <password>, [password], {{ password }}, $PASSWORD, %s, ***: in the place of one. */
static bool stand_in(struct wbi_str v)
{
    char first = v.p[0], last = v.p[v.n - 1];

    return first == '$' || first == '%' || first == '*' || (first == '<' && last == '>') ||
           (first == '{' && last == '}') ||
           (first == '[' && last == ']' && wbi_str_index(v, ']') == v.n - 1);
}

/* git hashes, UUIDs, digests: identifiers that look random by design. */
static bool identifier(struct wbi_str v)
{
    size_t hex = run(v, 0, A_HEX), dashes = 0;

    if (hex == v.n)
        return v.n == 32 || v.n == 40 || v.n == 64 || v.n < 20;
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] == '-')
            dashes++;
        else if (!wbi_in_alphabet((uint8_t)v.p[i], A_HEX))
            return wbi_str_starts(v, WBI_LIT("sha256")) || wbi_str_starts(v, WBI_LIT("sha512")) ||
                   wbi_str_starts(v, WBI_LIT("sha1"));
    }
    return v.n == 36 && dashes == 4;
}

static unsigned kind(uint8_t c)
{
    return is_lower(c) ? 1 : is_upper(c) ? 2 : is_digit(c) ? 3 : 0;
}

/* Small letters, capitals and digits change as often as in random text. */
static bool scrambled(struct wbi_str v)
{
    size_t changes = 0;

    for (size_t i = 1; i < v.n; i++) {
        unsigned before = kind((uint8_t)v.p[i - 1]), now = kind((uint8_t)v.p[i]);

        changes += before != 0 && now != 0 && before != now;
    }
    return v.n >= 20 && changes >= v.n / 3;
}

/* Words joined by dots, slashes or underscores are code and paths. */
static bool wordy(struct wbi_str v)
{
    size_t digits = 0, letters = 0, parts = 1, changes = 0;

    if (((v.p[0] == '/' || v.p[0] == '.') && !scrambled(v)) ||
        wbi_str_find(v, WBI_LIT("://")) < v.n)
        return true;
    for (size_t i = 0; i < v.n; i++) {
        uint8_t c = (uint8_t)v.p[i];

        digits += is_digit(c);
        letters += is_lower(c) || is_upper(c);
        parts += c == '.' || c == '/' || c == '_' || c == '-' || c == ':';
        changes += i > 0 && is_digit(c) != is_digit((uint8_t)v.p[i - 1]);
    }
    if (digits == 0 || letters == 0)
        return true;
    return parts >= 3 && changes <= 2 && v.n / parts <= 12;
}

/* Strong names are secrets whatever the value looks like. */
enum strength { NOT_A_NAME, WEAK, STRONG };

static bool ends_with_fold(struct wbi_str s, struct wbi_str end)
{
    return s.n >= end.n && wbi_str_ieq(wbi_str_from(s, s.n - end.n), end);
}

/* A name that ends in one of these, or is one of those. */
static enum strength name_strength(struct wbi_str name)
{
#define W(z) WBI_LIT_INIT(z)
    static const struct wbi_str strong[] = {
        W("token"),       W("secret"),         W("password"),    W("passwd"),
        W("passwort"),    W("apikey"),         W("api_key"),     W("api-key"),
        W("access_key"),  W("accesskey"),      W("access-key"),  W("secret_key"),
        W("secretkey"),   W("secret-key"),     W("private_key"), W("privatekey"),
        W("auth_key"),    W("authkey"),        W("signing_key"), W("master_key"),
        W("account_key"), W("encryption_key"), W("accountkey"),  W("credential"),
        W("credentials"), W("passphrase"),     W("pwd")};
    static const struct wbi_str weak[] = {W("auth"), W("key"), W("tokens"), W("keys"),
                                          W("secrets")};
#undef W

    for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
        if (ends_with_fold(name, strong[i]))
            return STRONG;
    for (size_t i = 0; i < sizeof weak / sizeof *weak; i++)
        if (wbi_str_ieq(name, weak[i]))
            return WEAK;
    return NOT_A_NAME;
}

static bool name_char(uint8_t c)
{
    return is_alnum(c) || c == '_' || c == '-';
}

static size_t skip_blanks(struct wbi_str t, size_t i, size_t most)
{
    size_t from = i;

    while (i < t.n && i - from < most && (t.p[i] == ' ' || t.p[i] == '\t'))
        i++;
    return i;
}

/* After a name: quotes, blanks and one of = : := => ; where the value starts,
 * or 0. *ret_quote is the quote that opens it. */
static size_t value_start(struct wbi_str t, size_t i, char *ret_quote)
{
    while (i < t.n && (t.p[i] == '"' || t.p[i] == '\'' || t.p[i] == ']' || t.p[i] == '\\'))
        i++;
    i = skip_blanks(t, i, 24);
    if (i >= t.n || (t.p[i] != '=' && t.p[i] != ':'))
        return 0;
    i++;
    if (i < t.n && (t.p[i] == '=' || t.p[i] == '>'))
        i++;
    i = skip_blanks(t, i, 24);
    *ret_quote = 0;
    while (i < t.n && (t.p[i] == '\\' || t.p[i] == '"' || t.p[i] == '\'' || t.p[i] == '`')) {
        if (t.p[i] != '\\')
            *ret_quote = t.p[i];
        i++;
    }
    return i;
}

/* A letter, a digit or one of _./+=~@!#$%^&*:-? */
static bool value_char(uint8_t c)
{
    static const uint64_t chars[2] = {0xa7ffec7a00000000u, 0x47fffffec7ffffffu};

    return c < 128 && (chars[c >> 6] >> (c & 63) & 1);
}

#define VALUE_MAX 150u       /* what a value is judged by; longer ones need a strong name */
#define LONG_VALUE_MAX 4000u /* session tokens of clouds have a thousand and more */

/* Where the value at i that was read up to end ends, or the first byte beyond most. */
static size_t value_end(struct wbi_str t, size_t i, size_t end, size_t most)
{
    while (end < t.n && end - i <= most && value_char((uint8_t)t.p[end]))
        end++;
    return end;
}

size_t wbi_value_before(struct wbi_str t, size_t at, size_t floor)
{
    size_t i = at;

    while (i > floor && at - i <= LONG_VALUE_MAX && value_char((uint8_t)t.p[i - 1]))
        i--;
    return i;
}

bool wbi_match_generic(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t named, from = at, to = at + strlen(r->literal), start, end;
    struct wbi_str name, value;
    enum strength strength;
    char quote = 0;

    while (from > j->floor && at - from < 40 && name_char((uint8_t)t.p[from - 1]))
        from--;
    while (to < t.n && to - at < 40 && name_char((uint8_t)t.p[to]))
        to++;
    start = value_start(t, to, &quote);
    if (start == 0)
        return false;
    named = from;
    name = wbi_str_make(t.p + named, to - named);
    from = wbi_skip_masks(j->set, t, start);
    end = value_end(t, from, from, VALUE_MAX);
    value = wbi_str_make(t.p + from, end - from);
    if (value.n < 10) /* most are: before the name is compared */
        return false;
    strength = name_strength(name);
    if (strength == NOT_A_NAME)
        strength = name_strength(wbi_str_from(name, behind_escape(j, named, at) - named));
    if (strength == NOT_A_NAME || placeholder(value) || wordy(value))
        return false;
    if (value.n > VALUE_MAX)
        end = value_end(t, from, end, LONG_VALUE_MAX);
    if (end - from > (strength == STRONG ? LONG_VALUE_MAX : VALUE_MAX))
        return false;
    if (end < t.n && (t.p[end] == '(' || t.p[end] == '{' ||
                      (t.p[end] == '[' && wbi_mask_at(j->set, t, end) == 0)))
        return false;
    if (strength == WEAK && (identifier(value) || wbi_entropy(value) < 380))
        return false;
    /* hexadecimal has at most four bits a character, so its floor is lower */
    if (wbi_entropy(value) < (run(value, 0, A_HEX) == value.n ? 300u : 350u))
        return false;
    return found(ret, from, end, strength == STRONG ? "secret-value" : "key-value");
}

bool wbi_match_url(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i = at + 3, colon = 0, last = 0, end = at + 512 < t.n ? at + 512 : t.n;

    if (at == j->floor || !is_alnum((uint8_t)t.p[at - 1]))
        return false;
    while (i < end && wbi_in_alphabet((uint8_t)t.p[i], A_AUTHORITY)) {
        size_t mask = colon == 0 && t.p[i] == '[' ? wbi_mask_at(j->set, t, i) : 0;

        if (t.p[i] == ':' && colon == 0)
            colon = i;
        i += mask > 0 ? mask : 1; /* of the user, or a part of it */
    }
    if (i < end && t.p[i] == '@')
        last = i;
    if (colon == 0 || last <= colon + 3)
        return false;
    if (stand_in(wbi_str_make(t.p + colon + 1, last - colon - 1)) || t.p[colon + 1] == '.')
        return false;
    return found(ret, colon + 1, last, r->label);
}

/* One value after a scheme word. */
static bool credential(const struct judged *j, size_t at, size_t min, const char *label,
                       struct secret *ret)
{
    size_t i = wbi_skip_masks(j->set, j->text, at), n = run(j->text, i, A_TOKEN);

    return n >= min && found(ret, i, i + n, label);
}

bool wbi_match_header(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    static const char *const schemes[] = {"basic",  "bearer",    "token",
                                          "digest", "negotiate", "apikey"};
    char quote;
    size_t i = value_start(t, at + strlen(r->literal), &quote), n;

    if (i == 0)
        return false;
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
        n = strlen(schemes[k]);
        if (i + n + 1 < t.n && t.p[i + n] == ' ' &&
            wbi_str_ieq(wbi_str_make(t.p + i, n), wbi_str_make(schemes[k], n)))
            return credential(j, skip_blanks(t, i + n, 4), 6, r->label, ret);
    }
    return credential(j, i, 16, r->label, ret);
}

bool wbi_match_bearer(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i = at + strlen(r->literal);

    if (i >= t.n || t.p[i] != ' ' || word_before(j, at))
        return false;
    return credential(j, i + 1, 16, r->label, ret) &&
           !wordy(wbi_str_make(t.p + ret->from, ret->to - ret->from));
}

/* word stands before `at` in the same line, at or after floor. */
static bool same_line_has(struct wbi_str t, size_t at, size_t floor, struct wbi_str word)
{
    size_t from = at - floor < CURL_LINE ? floor : at - CURL_LINE;
    struct wbi_str before = wbi_str_make(t.p + from, at + 1 - from);
    const char *nl = memrchr(before.p, '\n', before.n);

    if (nl != NULL)
        before = wbi_str_from(before, (size_t)(nl - before.p) + 1);
    return wbi_str_find(before, word) < before.n;
}

/* The literal at `at` is a word of its own or the end of one that begins with --. */
static bool option_starts(struct wbi_str t, size_t at, size_t floor)
{
    size_t i = at;

    while (i > floor && at - i < 8 && (is_lower((uint8_t)t.p[i - 1]) || t.p[i - 1] == '-'))
        i--;
    return t.p[at] == ' ' || (t.p[i] == '-' && t.p[i + 1] == '-');
}

/* curl … -u user:password, also --user and --proxy-user. */
bool wbi_match_curl(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t n = wbi_str_index(wbi_str_from(t, at), '\n');
    struct wbi_str rest = wbi_str_make(t.p + at, n);
    size_t i = strlen(r->literal), colon;

    if (!same_line_has(t, at, j->floor, WBI_LIT("curl ")) || !option_starts(t, at, j->floor))
        return false;
    while (i < n && (rest.p[i] == '"' || rest.p[i] == '\'' || rest.p[i] == ' ' || rest.p[i] == '='))
        i++;
    colon = i;
    while ((colon = wbi_skip_masks(j->set, rest, colon)) < n && rest.p[colon] != ':' &&
           rest.p[colon] > ' ')
        colon++;
    if (colon >= n || rest.p[colon] != ':')
        return false;
    for (i = colon + 1; i < n && rest.p[i] > ' ' && rest.p[i] != '"' && rest.p[i] != '\'';)
        i++;
    if (i < colon + 4 || stand_in(wbi_str_make(rest.p + colon + 1, i - colon - 1)))
        return false;
    return found(ret, at + colon + 1, at + i, r->label);
}

/* ---- key blocks ---- */

/* Base64 with visible marks in it. */
static bool marked_base64(struct wbi_str line)
{
    size_t i = 0, letters = 0, marks = 0;

    while (i < line.n) {
        size_t mark = wbi_mark_at(line, i), n = mark > 0 ? mark : run(line, i, A_BASE64);

        if (n == 0)
            return false;
        marks += mark > 0;
        letters += mark > 0 ? 0 : n;
        i += n;
    }
    return marks > 0 && (letters >= 16 || letters == 0);
}

/* A line that may stand inside a key block: base64, a header, nothing. */
static bool pem_line(struct wbi_str line)
{
    size_t i = 0, n;

    while (line.n > 0 && strchr(" \t\"',+|>#\r-*", line.p[0]) != NULL)
        line = wbi_str_from(line, 1);
    while (line.n > 0 && strchr(" \t\"',\r\\", line.p[line.n - 1]) != NULL)
        line.n--;
    if (line.n == 0 || marked_base64(line))
        return true;
    n = run(line, 0, A_BASE64);
    if (n == line.n)
        return n >= 16 || line.p[n - 1] == '=' || (n >= 2 && wbi_entropy(line) > 0);
    while (i < line.n && (is_alnum((uint8_t)line.p[i]) || line.p[i] == '-'))
        i++;
    return i > 0 && i < line.n && line.p[i] == ':' && i < 24;
}

/* Lines end at a newline or at the two characters \n of quoted text. */
static size_t pem_line_end(struct wbi_str t, size_t at, size_t end, size_t *ret_next)
{
    for (size_t i = at; i < end; i++) {
        if (t.p[i] == '\n') {
            *ret_next = i + 1;
            return i;
        }
        if (t.p[i] == '\\' && i + 1 < end && (t.p[i + 1] == 'n' || t.p[i + 1] == 'r')) {
            *ret_next = i + 2;
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

bool wbi_match_pem(const struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    struct wbi_str rest = wbi_str_head(wbi_str_from(t, at + 10), 80);
    size_t key = wbi_str_find(rest, WBI_LIT("PRIVATE KEY")), close, from;
    bool ended;

    if (key == rest.n || memchr(rest.p, '\n', key) != NULL)
        return false;
    close = wbi_str_find(wbi_str_from(rest, key), WBI_LIT("-----"));
    if (close == rest.n - key)
        return false;
    from = at + 10 + key + close + 5;
    found(ret, at, from + wbi_pem_body(t, from, WBI_LIMIT_SECRET_PEM, &ended), r->label);
    ret->open = !ended;
    return true;
}
