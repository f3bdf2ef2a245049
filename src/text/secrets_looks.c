/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_looks.c: what a value by itself looks like: a password, something random, a
 * placeholder, a path, a name of code. */
#include "text/secrets_int.h"

static bool has_word(struct wbi_str v, const char *const *words, size_t n)
{
    char low[160];
    size_t m = v.n < sizeof low ? v.n : sizeof low;

    for (size_t i = 0; i < m; i++)
        low[i] = (char)(wbi_is_upper((uint8_t)v.p[i]) ? v.p[i] | 0x20 : v.p[i]);
    for (size_t w = 0; w < n; w++)
        if (wbi_str_find(wbi_str_make(low, m), wbi_str_z(words[w])) < m)
            return true;
    return false;
}

static bool names_itself(struct wbi_str v)
{
    static const char *const words[] = {"password", "secret"};

    return has_word(v, words, 2);
}

bool wbi_stand_in(struct wbi_str v)
{
    static const char *const words[] = {"pass", "password", "passwd", "pwd", "secret", "passwort"};
    char first = v.p[0], last = v.p[v.n - 1];

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (wbi_str_ieq(v, wbi_str_z(words[i])))
            return true;
    return first == '$' || first == '%' || first == '*' || (first == '<' && last == '>') ||
           (first == '{' && last == '}') ||
           (first == '[' && last == ']' && wbi_str_index(v, ']') == v.n - 1);
}

/* Base64 of what public keys begin with, in X.509's form and in that of SSH. */
static bool public_key(struct wbi_str v)
{
    static const char *const heads[] = {"MFkwEwYHKoZI",     "MHYwEAYHKoZI", "MIIBIjANBgkqhkiG",
                                        "MIICIjANBgkqhkiG", "MCowBQYDK2",   "AAAAB3NzaC1",
                                        "AAAAC3NzaC1",      "AAAAE2VjZHNh"};

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (wbi_str_starts(v, wbi_str_z(heads[i])))
            return true;
    return false;
}

/* git hashes, UUIDs, digests, public keys: what looks random by design. */
static bool identifier(struct wbi_str v)
{
    size_t hex = wbi_run(v, 0, A_HEX), dashes = 0;

    if (public_key(v))
        return true;
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
    return wbi_is_lower(c) ? 1 : wbi_is_upper(c) ? 2 : wbi_is_digit(c) ? 3 : 0;
}

/* How often small letters, capitals and digits change. */
static size_t kind_changes(struct wbi_str v)
{
    size_t changes = 0;

    for (size_t i = 1; i < v.n; i++) {
        unsigned before = kind((uint8_t)v.p[i - 1]), now = kind((uint8_t)v.p[i]);

        changes += before != 0 && now != 0 && before != now;
    }
    return changes;
}

bool wbi_even(struct wbi_str v)
{
    return kind_changes(v) <= v.n / 5;
}

/* Linux-node-9f86…, fk_rails_8e0c1b2a3d, 2024/build-3f2a….tar.gz: words and digests in parts. A
 * word that services put before their keys makes it none. */
static bool named_digest(struct wbi_str v)
{
    static const char *const of_keys[] = {"live", "prod", "secret", "token", "key", "sk_", "sk-"};
    size_t digests = 0, words = 0, parts = 0, n;

    for (size_t i = 0; i < v.n; i += n + 1, parts++) {
        struct wbi_str part;

        n = wbi_run(v, i, A_ALNUM);
        part = wbi_str_make(v.p + i, n);
        if (n >= 8 && wbi_run(part, 0, A_LOWHEX) == n) {
            digests++;
            words += n == 40 || n == 64; /* enough with one word */
        } else if (n > 16 || kind_changes(part) > 2) {
            return false;
        } else {
            words += n >= 2 && wbi_run(part, 0, A_LETTER) == n;
        }
    }
    return digests > 0 && words > 0 && words + parts >= 4 &&
           !has_word(v, of_keys, sizeof of_keys / sizeof *of_keys);
}

/* As often as in random text. */
static bool scrambled(struct wbi_str v)
{
    return v.n >= 16 && kind_changes(v) >= v.n / 3;
}

/* 0x and digits, perhaps UL behind them; not so many as a key has. */
static bool hex_number(struct wbi_str v)
{
    size_t digits = wbi_run(v, 2, A_HEX);

    return wbi_str_starts(v, WBI_LIT("0x")) && digits < 64 && 2 + digits + 3 >= v.n;
}

static bool pathlike(struct wbi_str v)
{
    return hex_number(v) ||
           (v.n > 1 && v.p[0] == '@' && v.p[1] == '/') || /* what curl reads from a file */
           ((v.p[0] == '/' || v.p[0] == '.' || v.p[0] == '~') && !(v.n >= 20 && scrambled(v))) ||
           wbi_str_find(v, WBI_LIT("://")) < v.n;
}

/* a, e, i, o, u, y */
#define VOWELS (1u | 1u << 4 | 1u << 8 | 1u << 14 | 1u << 20 | 1u << 24)

/* A name of code: mostly small letters in runs, as words have them, in more than one part. */
static bool code_name(struct wbi_str v)
{
    size_t in_words = 0, low = 0, parts = 1;
    bool vowel = false;

    for (size_t i = 0; i <= v.n; i++) {
        uint8_t c = i < v.n ? (uint8_t)v.p[i] : 0;

        if (wbi_is_lower(c)) {
            vowel |= VOWELS >> (c - 'a') & 1;
            low++;
            continue;
        }
        if (low >= 3 && vowel)
            in_words += low + (i > low && wbi_is_upper((uint8_t)v.p[i - low - 1]));
        low = 0;
        vowel = false;
        parts += c == '.' || c == '_' || c == '-' || wbi_is_upper(c);
        if (c != 0 && !wbi_is_alnum(c) && memchr("._-$", c, 4) == NULL)
            return false;
    }
    return parts >= 2 && in_words * 10 >= v.n * 7;
}

/* Capitals that begin a part: Your-Api-Key. */
static size_t part_capitals(struct wbi_str v)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < v.n; i++)
        n += wbi_is_upper((uint8_t)v.p[i]) && wbi_is_lower((uint8_t)v.p[i + 1]) &&
             (i == 0 || !wbi_is_alnum((uint8_t)v.p[i - 1]));
    return n;
}

/* Not only capitals of words change: digits are strewn among letters, or small ones and capitals
 * are mixed. */
static bool random_looking(struct wbi_str v)
{
    return v.n >= 16 && kind_changes(v) - part_capitals(v) >= v.n / 5 && !code_name(v);
}

bool wbi_wordy(struct wbi_str v)
{
    size_t digits = 0, letters = 0, parts = 1, changes = 0;

    if (pathlike(v) || code_name(v))
        return true;
    for (size_t i = 0; i < v.n; i++) {
        uint8_t c = (uint8_t)v.p[i];

        digits += wbi_is_digit(c);
        letters += wbi_is_lower(c) || wbi_is_upper(c);
        parts += c == '.' || c == '/' || c == '_' || c == '-' || c == ':';
        changes += i > 0 && wbi_is_digit(c) != wbi_is_digit((uint8_t)v.p[i - 1]);
    }
    if (letters == 0 || (digits == 0 && !scrambled(v)))
        return true;
    return parts >= 3 && changes <= 2 && v.n / parts <= 12 && !random_looking(v);
}

/* The word is a part of v or the beginning of one: fake-…, dummyToken…, …_none. */
static bool stands_apart(struct wbi_str v, struct wbi_str word)
{
    for (size_t i = 0; i + word.n <= v.n; i++) {
        struct wbi_str here = wbi_str_make(v.p + i, word.n);
        size_t end = i + word.n;

        if (wbi_str_ieq(here, word) && kind_changes(here) == part_capitals(here) &&
            (i == 0 || kind((uint8_t)v.p[i - 1]) == 0) &&
            (end == v.n || kind((uint8_t)v.p[end]) != kind((uint8_t)v.p[end - 1])))
            return true;
    }
    return false;
}

/* One random value in a thousand holds a brief word by chance, so in such a value it has to
 * stand apart. */
bool wbi_placeholder(struct wbi_str v)
{
    static const char *const words[] = {
        "xxxx",    "your",     "dummy",       "null",     "todo",    "test-",     "fake",
        "mock",    "none",     "env.",        "abcdef", /* the brief ones */
        "example", "changeme", "placeholder", "redacted", "sample",  "undefined", "function",
        "****",    "insert",   "replace",     "node_mod", "default", "localhost", "process.",
        "require", "import",   "return",      "string",   "config",  "....",      "1234567890",
    };
    const size_t brief = 11, all = sizeof words / sizeof *words;

    if (v.n == 0 || memchr("[<${%*", v.p[0], 6) != NULL)
        return true;
    if (!has_word(v, words, all))
        return false;
    if (!random_looking(v) || has_word(v, words + brief, all - brief))
        return true;
    for (size_t i = 0; i < brief; i++)
        if (stands_apart(v, wbi_str_z(words[i])))
            return true;
    return false;
}

struct traits {
    bool digit;
    bool letter;
    bool symbol;
};

static struct traits traits_of(struct wbi_str v)
{
    struct traits x = {false, false, false};

    for (size_t i = 0; i < v.n; i++) {
        uint8_t c = (uint8_t)v.p[i];

        x.digit |= wbi_is_digit(c);
        x.letter |= wbi_is_lower(c) || wbi_is_upper(c);
        x.symbol |= strchr("!@#^&*?+(){},;|<>$", c) != NULL;
    }
    return x;
}

bool wbi_sample_password(struct wbi_str v)
{
    return v.n == 0 || wbi_stand_in(v) || wbi_placeholder(v) ||
           (names_itself(v) && !traits_of(v).digit);
}

bool wbi_name_of_test(struct wbi_str v)
{
    static const char *const words[] = {"test", "spec", "check", "case", "bench"};
    size_t dot = v.n;

    if (traits_of(v).symbol)
        return false;
    if (wbi_str_index(v, '/') < v.n)
        return wbi_even(v);
    while (dot > 0 && wbi_is_lower((uint8_t)v.p[dot - 1]))
        dot--;
    if (dot > 1 && v.p[dot - 1] == '.' && v.n - dot >= 1 && v.n - dot <= 4) /* of a file */
        return true;
    return !scrambled(v) && has_word(v, words, sizeof words / sizeof *words);
}

/* Names of algorithms and the like have digits, too. */
static bool technical(struct wbi_str v)
{
    static const char *const words[] = {"sha1",  "sha2",   "sha5",   "md5",    "oauth2", "utf8",
                                        "utf-8", "base64", "pbkdf2", "argon2", "scrypt", "bcrypt"};

    return has_word(v, words, sizeof words / sizeof *words);
}

bool wbi_like_password(struct wbi_str v, char quote, bool tight, bool variable)
{
    struct traits x = traits_of(v);

    if (v.n < PASSWORD_MIN || !(x.letter || x.symbol) || pathlike(v))
        return false;
    if (!(variable || (x.letter && (x.digit || x.symbol))) || technical(v))
        return false;
    if (names_itself(v) && !(x.digit && (x.symbol || variable)))
        return false;
    if (variable)
        return true;
    if (quote == 0 && (code_name(v) || !tight))
        return false;
    return x.digit || (quote != 0 && quote != '<');
}

/* Hexadecimal has at most four bits a character, and what is random in other ways may repeat
 * a few. */
static bool varied(struct wbi_str v, unsigned entropy)
{
    bool hex = wbi_run(v, 0, A_HEX) == v.n;

    if (entropy >= (hex ? 300u : 350u))
        return true;
    return entropy >= 260 && ((hex && v.n >= 20) || random_looking(v));
}

bool wbi_like_random(struct wbi_str v, enum strength strength)
{
    unsigned entropy;

    if (v.n < VALUE_MIN || wbi_wordy(v) || names_itself(v))
        return false;
    entropy = wbi_entropy(v);
    if (strength <= WEAK && (identifier(v) || named_digest(v) || entropy < 380))
        return false;
    if (strength == FAINT && (v.n < 20 || !scrambled(v)))
        return false;
    return varied(v, entropy);
}
