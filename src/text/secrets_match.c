/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_match.c: anchored matchers, one per form of secret. Each looks at
 * a bounded piece of one line and never backtracks. Values that were replaced already,
 * placeholders and code are left alone. Key blocks: secrets_block.c; values beside a
 * name: secrets_value.c. */
#include "text/secrets_int.h"

#define COOKIE_MAX 4096u
#define CURL_LINE 2048u /* an option this far behind its command is still its */

#define IN(a) (1u << (a))
#define ALNUM (IN(A_WORD) | IN(A_ALNUM) | IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY))
#define LETTER (ALNUM | IN(A_LETTER))
#define UPPER (LETTER | IN(A_UPPER32) | IN(A_CAPITAL))
#define LOWER (LETTER | IN(A_NO_WORD))
#define DIGIT (ALNUM | IN(A_HEX) | IN(A_LOWHEX) | IN(A_CAPITAL))
#define HEX_LETTER (LETTER | IN(A_HEX) | IN(A_LOWHEX))

/* A bit per alphabet, all but A_ANY. */
const uint16_t wbi_alphabets[256] = {
    ['0' ... '1'] = DIGIT | IN(A_DIGITS64),
    ['2' ... '5'] = DIGIT | IN(A_UPPER32) | IN(A_DIGITS64),
    ['6' ... '7'] = DIGIT | IN(A_UPPER32),
    ['8' ... '9'] = DIGIT,
    ['A'] = UPPER | IN(A_HEX) | IN(A_DIGITS64),
    ['B' ... 'C'] = UPPER | IN(A_HEX),
    ['D'] = UPPER | IN(A_HEX) | IN(A_PASSW),
    ['E'] = UPPER | IN(A_HEX) | IN(A_DIGITS64),
    ['F'] = UPPER | IN(A_HEX),
    ['G' ... 'H'] = UPPER,
    ['I'] = UPPER | IN(A_DIGITS64),
    ['J' ... 'L'] = UPPER,
    ['M'] = UPPER | IN(A_DIGITS64),
    ['N'] = UPPER,
    ['O'] = UPPER | IN(A_PASSW),
    ['P'] = UPPER,
    ['Q'] = UPPER | IN(A_DIGITS64),
    ['R'] = UPPER,
    ['S'] = UPPER | IN(A_NAME_ENDS),
    ['T'] = UPPER,
    ['U'] = UPPER | IN(A_DIGITS64),
    ['V' ... 'X'] = UPPER,
    ['Y'] = UPPER | IN(A_DIGITS64),
    ['Z'] = UPPER,
    ['a' ... 'b'] = HEX_LETTER | IN(A_NO_WORD),
    ['c'] = HEX_LETTER | IN(A_DIGITS64),
    ['d'] = HEX_LETTER | IN(A_PASSW),
    ['e' ... 'f'] = HEX_LETTER | IN(A_NO_WORD),
    ['g'] = LOWER | IN(A_DIGITS64),
    ['h'] = LETTER,
    ['i' ... 'j'] = LOWER,
    ['k'] = LOWER | IN(A_DIGITS64),
    ['l' ... 'n'] = LOWER,
    ['o'] = LOWER | IN(A_PASSW),
    ['p' ... 'r'] = LOWER,
    ['s'] = LETTER | IN(A_NAME_ENDS),
    ['t'] = LETTER,
    ['u' ... 'v'] = LOWER,
    ['w'] = LOWER | IN(A_DIGITS64),
    ['x'] = LETTER | IN(A_DIGITS64),
    ['y' ... 'z'] = LOWER | IN(A_DIGITS64),
    ['_'] = IN(A_WORD) | IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY),
    ['-'] = IN(A_WORD) | IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY),
    ['+'] = IN(A_BASE64) | IN(A_TOKEN) | IN(A_AUTHORITY),
    ['/'] = IN(A_BASE64) | IN(A_TOKEN),
    ['='] = IN(A_BASE64) | IN(A_TOKEN) | IN(A_NAME_ENDS) | IN(A_AUTHORITY),
    [','] = IN(A_BASE64) | IN(A_NAME_ENDS),
    ['.'] = IN(A_TOKEN) | IN(A_AUTHORITY),
    ['~'] = IN(A_TOKEN) | IN(A_AUTHORITY),
    ['"'] = IN(A_NAME_ENDS) | IN(A_MEMBER),
    ['\\'] = IN(A_NAME_ENDS) | IN(A_MEMBER),
    [':'] = IN(A_NAME_ENDS) | IN(A_MEMBER) | IN(A_AUTHORITY),
    ['\''] = IN(A_NAME_ENDS),
    [']'] = IN(A_NAME_ENDS) | IN(A_AUTHORITY),
    [' '] = IN(A_NAME_ENDS),
    ['\t'] = IN(A_NAME_ENDS),
    ['\n'] = IN(A_NAME_ENDS),
    ['>'] = IN(A_NAME_ENDS),
    ['<'] = IN(A_NAME_ENDS),
    ['!'] = IN(A_AUTHORITY),
    ['$'] = IN(A_AUTHORITY),
    ['%' ... '&'] = IN(A_AUTHORITY) | IN(A_NAME_ENDS),
    ['('] = IN(A_AUTHORITY),
    ['*'] = IN(A_AUTHORITY),
    [';'] = IN(A_AUTHORITY),
    ['['] = IN(A_AUTHORITY),
    ['^'] = IN(A_AUTHORITY),
    ['`'] = IN(A_AUTHORITY),
    ['{' ... '}'] = IN(A_AUTHORITY),
    [0x7f ... 0xff] = IN(A_AUTHORITY),
};

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

/* ---- what stands before a literal ---- */

static bool all_hex(const char *p, size_t n)
{
    return wbi_run(wbi_str_make(p, n), 0, A_HEX) == n;
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

    while (i > j->floor && at - i < 24 && (wbi_is_digit((uint8_t)t.p[i - 1]) || t.p[i - 1] == ';'))
        i--;
    if (i == j->floor || wbi_is_digit((uint8_t)t.p[at - 1]))
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
bool wbi_word_before(const struct judged *j, size_t at)
{
    return at > j->floor && wbi_is_alnum((uint8_t)j->text.p[at - 1]) && !ends_escape(j, at);
}

/* Where a word that reaches `at` begins, when letters of an escape before it were taken
 * for its own: they stand at `from`. */
size_t wbi_behind_escape(const struct judged *j, size_t from, size_t at)
{
    size_t begins = from;

    for (size_t i = from + 1; i <= at && i <= from + 9; i++)
        if (ends_escape(j, i))
            begins = i;
    return begins;
}

/* By which something long is judged: a text of literals is not read once for each. */
#define JUDGED_BYTES 512u

bool wbi_match_prefix(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t n = r->n, body = wbi_judged_run(j, at + n, r->alphabet);
    uint8_t next = at + n + body < t.n ? (uint8_t)t.p[at + n + body] : ' ';

    if (body < r->min || body > r->max || wbi_word_before(j, at))
        return false;
    /* a fixed length that goes on in other letters is something else */
    if (r->min == r->max && (wbi_is_alnum(next) || next == '_'))
        return false;
    if (wbi_entropy(wbi_str_head(wbi_str_make(t.p + at + n, body), JUDGED_BYTES)) < 200)
        return false;
    return wbi_found(ret, at, at + n + body, r->label);
}

/* sk-… of many services; those of OpenAI are told by what is inside. */
bool wbi_match_sk(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str body;

    if (!wbi_match_prefix(j, at, r, ret))
        return false;
    body = wbi_str_make(j->text.p + at, ret->to - at);
    if (wbi_str_find(body, WBI_LIT("T3BlbkFJ")) < body.n)
        ret->label = "openai-key";
    return true;
}

bool wbi_match_context(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    (void)j;
    (void)at;
    (void)r;
    (void)ret;
    return false;
}

/* https://api.telegram.org/bot123456:A… */
static bool ends_with_bot(const struct judged *j, size_t at)
{
    return at >= j->floor + 4 && memcmp(j->text.p + at - 4, "/bot", 4) == 0;
}

/* The literal stands inside: sk-…T3BlbkFJ…, 123456:A…, xxx1Q~…, ….atlasv1.… */
bool wbi_match_inner(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at, to = at + r->n, n;

    if (r->literal[0] == ':') {
        while (from > j->floor && at - from < 17 && wbi_is_digit((uint8_t)t.p[from - 1]))
            from--;
        n = wbi_judged_run(j, to, A_WORD);
        if (n == 34 && wbi_word_before(j, from))
            from = wbi_behind_escape(j, from, at);
        return n == 34 && at - from >= 5 && at - from <= 16 &&
               (!wbi_word_before(j, from) || ends_with_bot(j, from)) &&
               wbi_found(ret, from, to + n, r->label);
    }
    if (r->literal[0] == 'Q') {
        n = wbi_judged_run(j, to, A_TOKEN);
        return at >= j->floor + 4 && wbi_is_digit((uint8_t)t.p[at - 1]) && n >= 31 && n <= 34 &&
               wbi_in_alphabet((uint8_t)t.p[at - 2], A_TOKEN) &&
               wbi_in_alphabet((uint8_t)t.p[at - 3], A_TOKEN) &&
               wbi_in_alphabet((uint8_t)t.p[at - 4], A_TOKEN) && !wbi_word_before(j, at - 4) &&
               wbi_found(ret, at - 4, to + n, r->label);
    }
    while (from > j->floor && at - from < 160 && wbi_in_alphabet((uint8_t)t.p[from - 1], A_WORD))
        from--;
    n = wbi_judged_run(j, to, A_WORD);
    if (r->literal[0] == '.') {
        if (at - from > 14)
            from = wbi_behind_escape(j, from, at);
        return at - from == 14 && n >= 60 && n <= 70 && wbi_found(ret, from, to + n, r->label);
    }
    if (t.p[from] != 's')
        from = wbi_behind_escape(j, from, at);
    return n >= 10 && wbi_str_starts(wbi_str_make(t.p + from, at - from), WBI_LIT("sk-")) &&
           wbi_found(ret, from, to + n, r->label);
}

/* A value near a name: discord … = 64 hex, cloudflare … = 40. */
bool wbi_match_near(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    bool discord = r->label[0] == 'd', assigned = false;
    size_t i = at + r->n, end = i + 48 < t.n ? i + 48 : t.n, n;

    for (; i < end && t.p[i] != '\n'; i++) {
        uint8_t c = (uint8_t)t.p[i];

        assigned |= c == '=' || c == ':';
        if (!assigned || !wbi_is_alnum(c) || wbi_word_before(j, i))
            continue;
        n = wbi_judged_run(j, i, discord ? A_LOWHEX : A_WORD);
        if (n == (discord ? 64u : 40u) && wbi_entropy(wbi_str_make(t.p + i, n)) > 300)
            return wbi_found(ret, i, i + n, r->label);
    }
    return false;
}

/* The path behind the literal is the secret; of Slack's it says what it is. */
bool wbi_match_webhook(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at + r->n, n = wbi_judged_run(j, from, A_TOKEN);
    struct wbi_str path = wbi_str_make(t.p + from, n);

    if (strcmp(r->label, "slack-webhook") != 0)
        return n >= r->min && wbi_found(ret, from, from + n, r->label);
    return n >= 43 &&
           (wbi_str_starts(path, WBI_LIT("services/")) ||
            wbi_str_starts(path, WBI_LIT("workflows/")) ||
            wbi_str_starts(path, WBI_LIT("triggers/"))) &&
           wbi_found(ret, from, from + n, r->label);
}

/* The literal stands between min characters and at least max more: checked words inside
 * the keys of clouds, a dot inside a token. */
bool wbi_match_around(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at, to = at + r->n, n = wbi_judged_run(j, to, r->alphabet);

    while (from > j->floor && at - from < r->min &&
           wbi_in_alphabet((uint8_t)t.p[from - 1], r->alphabet))
        from--;
    return at - from == r->min && n >= r->max && n <= r->max + 4u && !wbi_word_before(j, from) &&
           wbi_entropy(wbi_str_make(t.p + from, at - from)) >= 300 &&
           wbi_found(ret, from, to + n, r->label);
}

/* $6$salt$hash and its like. */
bool wbi_match_crypt(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i = at + r->n, from = at + (r->literal[0] == ':'), last = from;

    for (; i < t.n && i - at < 300 &&
           (wbi_in_alphabet((uint8_t)t.p[i], A_TOKEN) || t.p[i] == '$' || t.p[i] == ',');
         i++)
        if (t.p[i] == '$')
            last = i;
    return last > from && i - last > 22 && i - last < 120 &&
           wbi_entropy(wbi_str_make(t.p + last, i - last)) >= 350 &&
           wbi_found(ret, from, i, r->label);
}

/* A time, or a word of at most as many letters: what the columns of a table have beside keys. */
static bool short_field(struct wbi_str v)
{
    for (size_t i = 0; i < v.n; i++)
        if (!wbi_is_digit((uint8_t)v.p[i]) && strchr("TZ:+-.\"", v.p[i]) == NULL)
            return false;
    return v.n < 40;
}

/* The id of a key and what stands beside it in a table: the key, a session token. */
bool wbi_match_aws(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i, n;

    if (!wbi_match_prefix(j, at, r, ret))
        return false;
    for (i = ret->to; i < t.n && i - at < 3000 && strchr("\t ,|\"", t.p[i]) != NULL; i += n) {
        size_t from = i;

        while (i < t.n && i - from < 4 && strchr("\t ,|\"", t.p[i]) != NULL)
            i++;
        n = 0;
        while (i + n < t.n && (wbi_in_alphabet((uint8_t)t.p[i + n], A_TOKEN) || t.p[i + n] == ':'))
            n++;
        if ((n == 40 || n >= 100) && wbi_entropy(wbi_str_make(t.p + i, n)) >= 400)
            ret->to = i + n;
        else if (n == 0 || !short_field(wbi_str_make(t.p + i, n)))
            break;
    }
    return true;
}

/* Four more parts behind the first: an encrypted one. */
static bool encrypted(const struct judged *j, size_t i, size_t *ret_end)
{
    struct wbi_str t = j->text;

    for (unsigned parts = 0; parts < 4; parts++) {
        size_t n;

        if (i >= t.n || t.p[i] != '.')
            return false;
        n = wbi_judged_run(j, i + 1, A_WORD);
        if (n < 12 && parts > 0)
            return false;
        i += 1 + n;
    }
    *ret_end = i;
    return true;
}

bool wbi_match_jwt(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t a = wbi_judged_run(j, at, A_WORD), b, c, i = at + a;

    if (at > j->floor && wbi_in_alphabet((uint8_t)t.p[at - 1], A_WORD) && !ends_escape(j, at))
        return false;
    if (a < 14 || i + 3 >= t.n || t.p[i] != '.')
        return false;
    if (t.p[i + 1] != 'e' || t.p[i + 2] != 'y')
        return encrypted(j, i, &i) && wbi_found(ret, at, i, r->label);
    b = wbi_judged_run(j, i + 1, A_WORD);
    i += 1 + b;
    if (b < 12 || i >= t.n || t.p[i] != '.')
        return false;
    c = wbi_judged_run(j, i + 1, A_WORD);
    return wbi_found(ret, at, i + 1 + c, r->label);
}

/* ---- addresses, headers, options ---- */

/* A token in the place of a user: https://TOKEN@host, https://TOKEN:x-oauth-basic@host. */
static bool token_user(struct wbi_str v)
{
    return v.n >= 20 && wbi_run(v, 0, A_WORD) == v.n && !wbi_wordy(v) && wbi_entropy(v) >= 350;
}

bool wbi_match_url(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i = at + 3, colon = 0, last = 0, user, end = at + 512 < t.n ? at + 512 : t.n;

    if (at == j->floor || !wbi_is_alnum((uint8_t)t.p[at - 1]))
        return false;
    for (;;) {
        while (i < end && wbi_in_alphabet((uint8_t)t.p[i], A_AUTHORITY)) {
            size_t mask = colon == 0 && t.p[i] == '[' ? wbi_mask_at(j->set, t, i) : 0;

            if (t.p[i] == ':' && colon == 0 && last == 0)
                colon = i;
            i += mask > 0 ? mask : 1; /* of the user, or a part of it */
        }
        if (i >= end || t.p[i] != '@')
            break;
        last = i++; /* one in a password is not its end */
    }
    if (last == 0)
        return false;
    user = colon > 0 ? colon : last;
    if (token_user(wbi_str_make(t.p + at + 3, user - at - 3)))
        return wbi_found(ret, at + 3, last, r->label);
    if (colon == 0 || last <= colon + 3)
        return false;
    if (wbi_stand_in(wbi_str_make(t.p + colon + 1, last - colon - 1)) || t.p[colon + 1] == '.')
        return false;
    return wbi_found(ret, colon + 1, last, r->label);
}

/* One value after a scheme word. */
static bool credential(const struct judged *j, size_t at, size_t min, const char *label,
                       struct secret *ret)
{
    size_t i = wbi_skip_masks(j->set, j->text, at), n = wbi_judged_run(j, i, A_TOKEN);

    return n >= min && wbi_found(ret, i, i + n, label);
}

/* The part of Authorization: Digest … or AWS4-HMAC-SHA256 … that proves. */
static bool proof(const struct judged *j, size_t at, const char *label, struct secret *ret)
{
    static const char *const names[] = {"response=", "Signature="};
    struct wbi_str t = j->text, line = wbi_str_from(t, at);

    line = wbi_str_head(line, CURL_LINE);
    line = wbi_str_head(line, wbi_str_index(line, '\n'));
    for (size_t k = 0; k < 2; k++) {
        size_t i = wbi_str_find(line, wbi_str_z(names[k])), n;

        if (i == line.n)
            continue;
        i += at + strlen(names[k]);
        while (i < t.n && (t.p[i] == '"' || t.p[i] == '\\'))
            i++;
        n = wbi_judged_run(j, i, A_HEX);
        if (n >= 16)
            return wbi_found(ret, i, i + n, label);
    }
    return false;
}

static bool wordy_start(struct wbi_str t, const struct secret *found)
{
    return wbi_wordy(
        wbi_str_head(wbi_str_make(t.p + found->from, found->to - found->from), JUDGED_BYTES));
}

bool wbi_match_header(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    static const char *const schemes[] = {"digest", "aws4-hmac-sha256", "basic",    "bearer",
                                          "token",  "negotiate",        "apikey",   "ssws",
                                          "splunk", "geniekey",         "api-token"};
    size_t i = wbi_value_start(t, at + r->n), n;

    if (i == 0)
        return false;
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
        n = strlen(schemes[k]);
        if (i + n + 1 < t.n && t.p[i + n] == ' ' &&
            wbi_str_ieq(wbi_str_make(t.p + i, n), wbi_str_make(schemes[k], n)))
            return k < 2 ? proof(j, i, r->label, ret)
                         : credential(j, wbi_skip_blanks(t, i + n, 4), 6, r->label, ret);
    }
    return credential(j, i, 16, r->label, ret) && (ret->to == t.n || t.p[ret->to] != '(') &&
           !wordy_start(t, ret);
}

/* Cookie: name=value; … hides them all, Set-Cookie: name=value; Path=… the value. */
bool wbi_match_cookie(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    bool set = at >= j->floor + 4 && (t.p[at - 4] | 0x20) == 's' && t.p[at - 1] == '-';
    size_t i = wbi_value_start(t, at + r->n), from, n;

    if (i == 0 || (!set && wbi_word_before(j, at)))
        return false;
    n = 0;
    while (i + n < t.n && (wbi_in_alphabet((uint8_t)t.p[i + n], A_WORD) || t.p[i + n] == '.'))
        n++;
    if (n == 0 || i + n >= t.n || t.p[i + n] != '=')
        return false;
    from = wbi_skip_masks(j->set, t, i + n + 1);
    for (i = from; i < t.n && i - from < COOKIE_MAX && (uint8_t)t.p[i] >= ' ' &&
                   strchr("\"'\\[", t.p[i]) == NULL;
         i++)
        if (set && t.p[i] == ';')
            break;
    return i >= from + 8 && wbi_found(ret, from, i, r->label);
}

/* sig=… of an address: base64, also as URLs write it; X-Amz-Signature=…: hexadecimal. */
bool wbi_match_signature(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at + r->n, i = from;

    if (wbi_word_before(j, at))
        return false;
    while (i < t.n && i - from <= 128 &&
           (wbi_in_alphabet((uint8_t)t.p[i], A_BASE64) || t.p[i] == '%'))
        i++;
    return i - from >= r->min && i - from <= 128 &&
           wbi_entropy(wbi_str_make(t.p + from, i - from)) >= 330 &&
           wbi_found(ret, from, i, r->label);
}

bool wbi_match_bearer(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i = at + r->n;

    if (i >= t.n || t.p[i] != ' ' || wbi_word_before(j, at))
        return false;
    return credential(j, i + 1, 16, r->label, ret) && !wordy_start(t, ret);
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

    while (i > floor && at - i < 8 && (wbi_is_lower((uint8_t)t.p[i - 1]) || t.p[i - 1] == '-'))
        i--;
    return t.p[at] == ' ' || (t.p[i] == '-' && t.p[i + 1] == '-');
}

/* curl … -u user:password, also -uuser:…, -su, --user and --proxy-user. */
bool wbi_match_curl(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    struct wbi_str rest = wbi_str_head(wbi_str_from(t, at), CURL_LINE);
    size_t n = wbi_str_index(rest, '\n'), i = r->n, colon;

    if (!same_line_has(t, at, j->floor, WBI_LIT("curl ")) || !option_starts(t, at, j->floor))
        return false;
    rest.n = n;
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
    if (i < colon + 4 || wbi_stand_in(wbi_str_make(rest.p + colon + 1, i - colon - 1)))
        return false;
    return wbi_found(ret, at + colon + 1, at + i, r->label);
}

/* Commands whose passwords stand behind an option without a telling name. */
static const struct {
    const char *command;
    const char *option;
    bool joined; /* nothing stands between the two */
    bool common; /* other commands have it, too: it must stand before the next one */
} commands[] = {
    {"sshpass ", " -p", false, false},       {"mysql", " -p", true, false},
    {"docker login ", " -p ", false, false}, {"redis-cli ", " -a ", false, false},
    {"zip ", " -P ", false, true},           {"ldapsearch ", " -w", false, true},
    {"ldapadd ", " -w", false, true},        {"ldapmodify ", " -w", false, true},
    {"ldapdelete ", " -w", false, true},     {"ldapwhoami ", " -w", false, true},
    {"ldappasswd ", " -w", false, true},
};

/* Up to what ends a command. */
static struct wbi_str one_command(struct wbi_str line)
{
    size_t i = 0;

    while (i < line.n && strchr(";|&", line.p[i]) == NULL)
        i++;
    return wbi_str_head(line, i);
}

/* No part of another word; of zip, the end of unzip and not of a file's name. */
static bool is_command(const struct judged *j, size_t at)
{
    const char *p = j->text.p + at;

    if (p[0] == 'z' && at >= j->floor + 2 && p[-2] == 'u' && p[-1] == 'n')
        at -= 2;
    return !wbi_word_before(j, at) && !(p[0] == 'z' && at > j->floor && p[-1] == '.');
}

bool wbi_match_option(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text, line = wbi_str_from(t, at), searched;
    size_t k = 0, i, end;

    line = wbi_str_head(line, 512);
    line = wbi_str_head(line, wbi_str_index(line, '\n'));
    while (k < sizeof commands / sizeof *commands && strcmp(commands[k].command, r->literal) != 0)
        k++;
    if (k == sizeof commands / sizeof *commands)
        return false;
    searched = commands[k].common ? one_command(line) : line;
    i = wbi_str_find(searched, wbi_str_z(commands[k].option));
    if (i == searched.n || !is_command(j, at))
        return false;
    i += strlen(commands[k].option);
    if (!commands[k].joined)
        i = wbi_skip_blanks(line, i, 4);
    while (i < line.n && (line.p[i] == '\'' || line.p[i] == '"' || line.p[i] == '\\'))
        i++;
    i = at + wbi_skip_masks(j->set, line, i);
    for (end = i; end < t.n && end - i < CURL_LINE && (uint8_t)t.p[end] > ' ' &&
                  strchr("\"'`\\,[", t.p[end]) == NULL;)
        end++;
    while (end < t.n && ((uint8_t)t.p[end] & 0xc0) == 0x80) /* not inside a character */
        end++;
    return end >= i + 4 && !wbi_stand_in(wbi_str_make(t.p + i, end - i)) &&
           wbi_found(ret, i, end, r->label);
}

/* host:5432:database:user:password, a line of .pgpass. */
bool wbi_match_pgpass(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t i = at + r->n, end, start = wbi_near_line_start(t, at);

    if (start == at)
        return false;
    for (size_t k = start; k < at; k++)
        if (!wbi_in_alphabet((uint8_t)t.p[k], A_WORD) && t.p[k] != '.' && t.p[k] != '*')
            return false;
    for (unsigned fields = 0; fields < 2; fields++) {
        while (i < t.n && (wbi_in_alphabet((uint8_t)t.p[i], A_WORD) || t.p[i] == '*'))
            i++;
        if (i >= t.n || t.p[i++] != ':')
            return false;
    }
    for (end = i; end < t.n && (uint8_t)t.p[end] > ' ' && t.p[end] != '[';)
        end++;
    return end >= i + 4 && (end == t.n || t.p[end] == '\n') && wbi_found(ret, i, end, r->label);
}
