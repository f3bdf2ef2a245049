/* SPDX-License-Identifier: Apache-2.0
 * text/regex_ecma.c: ECMA-262 expressions, checked and put into PCRE2's syntax.
 * What PCRE2 reads otherwise is rewritten: . \s \S \v \u \x \c, long property
 * names, empty classes, literal brackets and braces. What ECMA-262 does not
 * have (possessive quantifiers, comments, verbs, \A, \Z, \a) is refused.
 * Identity escapes of punctuation are let through, as in engines without `u`. */
#include "base/checked.h"
#include "base/utf8.h"
#include "text/regex.h"
#include "text/regex_int.h"

struct rewriter {
    struct wbi_str in;
    size_t at;
    struct wbi_buf *out;
    struct wbi_error *err;
    size_t open;     /* parentheses */
    size_t groups;   /* capturing groups in the whole pattern */
    bool can_repeat; /* a quantifier may follow */
};

#define SPACE_RANGES                                                                              \
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}" \
    "\\x{3000}\\x{feff}"
#define NOT_SPACE_RANGES                                                             \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}" \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"   \
    "\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"
/* Beside a property, PCRE2 forgets what is beyond U+00FF in \D and \W of a negated class. */
#define NOT_DIGIT_RANGES "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}"
#define NOT_WORD_RANGES "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}"

static wb_rc bad(struct rewriter *r, const char *what)
{
    (void)wbi_fail(r->err, WB_EINPUT, "bad regular expression at byte %zu: %s", r->at, what);
    if (r->err != NULL)
        r->err->offset = r->at;
    return WB_EINPUT;
}

static int peek(const struct rewriter *r, size_t ahead)
{
    return r->at + ahead < r->in.n ? (unsigned char)r->in.p[r->at + ahead] : -1;
}

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void put_code_point(struct rewriter *r, uint32_t cp)
{
    wbi_buf_addf(r->out, "\\x{%x}", (unsigned)cp);
}

/* n hex digits at `ahead`; false when they are not there. */
static bool hex_at(const struct rewriter *r, size_t ahead, size_t n, uint32_t *ret)
{
    uint32_t v = 0;

    for (size_t i = 0; i < n; i++) {
        int d = hex_digit(peek(r, ahead + i));
        if (d < 0)
            return false;
        v = v * 16 + (uint32_t)d;
    }
    *ret = v;
    return true;
}

/* \u{…}, \uHHHH or a pair of surrogates; r->at is at the `u`. */
static wb_rc unicode_escape(struct rewriter *r, uint32_t *ret)
{
    uint32_t v = 0, low;

    if (peek(r, 1) == '{') {
        size_t i = 2;
        for (; hex_digit(peek(r, i)) >= 0 && v <= 0x10ffff; i++)
            v = v * 16 + (uint32_t)hex_digit(peek(r, i));
        if (i == 2 || peek(r, i) != '}' || v > 0x10ffff)
            return bad(r, "\\u{…} needs a code point");
        r->at += i + 1;
    } else {
        if (!hex_at(r, 1, 4, &v))
            return bad(r, "\\u needs four hexadecimal digits");
        r->at += 5;
        if (v >= 0xd800 && v < 0xdc00 && peek(r, 0) == '\\' && peek(r, 1) == 'u' &&
            hex_at(r, 2, 4, &low) && low >= 0xdc00 && low < 0xe000) {
            v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
            r->at += 6;
        }
    }
    if (v >= 0xd800 && v < 0xe000)
        v = 0xfffd; /* no text of ours holds a lone surrogate */
    *ret = v;
    return WB_OK;
}

struct property {
    const char *name;
    const char *short_name;
};

static const char *category_of(struct wbi_str name)
{
    static const struct property table[] = {{"Letter", "L"},
                                            {"Cased_Letter", "L&"},
                                            {"LC", "L&"},
                                            {"Uppercase_Letter", "Lu"},
                                            {"Lowercase_Letter", "Ll"},
                                            {"Titlecase_Letter", "Lt"},
                                            {"Modifier_Letter", "Lm"},
                                            {"Other_Letter", "Lo"},
                                            {"Mark", "M"},
                                            {"Combining_Mark", "M"},
                                            {"Nonspacing_Mark", "Mn"},
                                            {"Spacing_Mark", "Mc"},
                                            {"Enclosing_Mark", "Me"},
                                            {"Number", "N"},
                                            {"Decimal_Number", "Nd"},
                                            {"digit", "Nd"},
                                            {"Letter_Number", "Nl"},
                                            {"Other_Number", "No"},
                                            {"Punctuation", "P"},
                                            {"punct", "P"},
                                            {"Connector_Punctuation", "Pc"},
                                            {"Dash_Punctuation", "Pd"},
                                            {"Open_Punctuation", "Ps"},
                                            {"Close_Punctuation", "Pe"},
                                            {"Initial_Punctuation", "Pi"},
                                            {"Final_Punctuation", "Pf"},
                                            {"Other_Punctuation", "Po"},
                                            {"Symbol", "S"},
                                            {"Math_Symbol", "Sm"},
                                            {"Currency_Symbol", "Sc"},
                                            {"Modifier_Symbol", "Sk"},
                                            {"Other_Symbol", "So"},
                                            {"Separator", "Z"},
                                            {"Space_Separator", "Zs"},
                                            {"Line_Separator", "Zl"},
                                            {"Paragraph_Separator", "Zp"},
                                            {"Other", "C"},
                                            {"Control", "Cc"},
                                            {"cntrl", "Cc"},
                                            {"Format", "Cf"},
                                            {"Surrogate", "Cs"},
                                            {"Private_Use", "Co"},
                                            {"Unassigned", "Cn"}};

    for (size_t i = 0; i < WBI_COUNT(table); i++)
        if (wbi_str_eqz(name, table[i].name))
            return table[i].short_name;
    return NULL;
}

static void put_property(struct rewriter *r, bool negated, struct wbi_str name, bool in_class)
{
    const char *category = category_of(name);
    char p = negated ? 'P' : 'p';

    if (wbi_str_eqz(name, "ASCII")) {
        wbi_buf_addf(r->out, "%s%s%s", in_class ? "" : "[",
                     negated ? "\\x{80}-\\x{10ffff}" : "\\x{0}-\\x{7f}", in_class ? "" : "]");
        return;
    }
    if (category != NULL)
        wbi_buf_addf(r->out, "\\%c{%s}", p, category);
    else if (wbi_str_eqz(name, "Assigned"))
        wbi_buf_addz(r->out, negated ? "\\p{Cn}" : "\\P{Cn}");
    else
        wbi_buf_addf(r->out, "\\%c{%.*s}", p, WBI_FMT(name));
}

/* Of a script by its name alone PCRE2 takes the extensions. */
static void put_script(struct rewriter *r, bool negated, bool extensions, struct wbi_str name)
{
    wbi_buf_addf(r->out, "\\%c{%s:%.*s}", negated ? 'P' : 'p', extensions ? "scx" : "sc",
                 WBI_FMT(name));
}

/* \p{…}; r->at is at the p. */
static wb_rc property_escape(struct rewriter *r, bool in_class)
{
    bool negated = r->in.p[r->at] == 'P';
    size_t from = r->at + 2, to = from, eq;
    struct wbi_str name, key;
    bool extensions;

    if (peek(r, 1) != '{')
        return bad(r, "\\p needs a property name in braces");
    while (to < r->in.n && (is_letter((unsigned char)r->in.p[to]) || r->in.p[to] == '_' ||
                            r->in.p[to] == '=' || is_digit((unsigned char)r->in.p[to])))
        to++;
    if (to == from || to >= r->in.n || r->in.p[to] != '}')
        return bad(r, "\\p needs a property name in braces");
    name = wbi_str_make(r->in.p + from, to - from);
    r->at = to + 1;
    eq = wbi_str_index(name, '=');
    key = wbi_str_head(name, eq);
    if (eq == name.n) {
        put_property(r, negated, name, in_class);
        return WB_OK;
    }
    name = wbi_str_from(name, eq + 1);
    extensions = wbi_str_eqz(key, "Script_Extensions") || wbi_str_eqz(key, "scx");
    if (extensions || wbi_str_eqz(key, "Script") || wbi_str_eqz(key, "sc"))
        put_script(r, negated, extensions, name);
    else if (wbi_str_eqz(key, "General_Category") || wbi_str_eqz(key, "gc"))
        put_property(r, negated, name, in_class);
    else
        return bad(r, "unknown property");
    return WB_OK;
}

/* In a group of its own: repeated, PCRE2 does not match one to a group that took no part. */
static void put_reference(struct rewriter *r, size_t number)
{
    wbi_buf_addf(r->out, "(?:\\g{%zu})", number);
}

static wb_rc back_reference(struct rewriter *r)
{
    size_t number = 0;

    while (is_digit(peek(r, 0)) && number < 100000)
        number = number * 10 + (size_t)(r->in.p[r->at++] - '0');
    if (number > r->groups)
        return bad(r, "back reference to a group that does not exist");
    put_reference(r, number);
    return WB_OK;
}

static size_t count_groups(struct wbi_str s)
{
    size_t n = 0;
    bool in_class = false;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == '[')
            in_class = true;
        else if (s.p[i] == ']')
            in_class = false;
        else if (s.p[i] == '(' && !in_class)
            n += i + 1 >= s.n || s.p[i + 1] != '?' ||
                 (i + 3 < s.n && s.p[i + 2] == '<' && s.p[i + 3] != '=' && s.p[i + 3] != '!');
    }
    return n;
}

/* The number of the group of that name, which is given in its brackets; 0 without one. */
static size_t group_named(const struct rewriter *r, struct wbi_str name)
{
    for (size_t from = 0;; from++) {
        size_t at = from + wbi_str_find(wbi_str_from(r->in, from), name);

        if (at >= r->in.n)
            return 0;
        if (at >= 2 && r->in.p[at - 1] == '?' && r->in.p[at - 2] == '(')
            return count_groups(wbi_str_head(r->in, at - 2)) + 1;
        from = at;
    }
}

static wb_rc named_reference(struct rewriter *r)
{
    size_t i = 2, number;

    if (peek(r, 1) != '<')
        return bad(r, "\\k needs a group name");
    while (peek(r, i) >= 0 && peek(r, i) != '>')
        i++;
    if (peek(r, i) != '>' || i == 2)
        return bad(r, "\\k needs a group name");
    number = group_named(r, wbi_str_make(r->in.p + r->at + 1, i));
    if (number == 0)
        return bad(r, "reference to a group that does not exist");
    put_reference(r, number);
    r->at += i + 1;
    return WB_OK;
}

/* Escapes that stand for one character, the same inside and outside classes.
 * WB_ENOTFOUND: none of these. r->at is behind the backslash. */
static wb_rc character_escape(struct rewriter *r, uint32_t *ret)
{
    static const char controls[] = "t\tn\nv\vf\fr\r";
    int c = peek(r, 0);

    for (size_t i = 0; i + 1 < sizeof(controls); i += 2)
        if (c == controls[i]) {
            *ret = (uint32_t)controls[i + 1];
            r->at++;
            return WB_OK;
        }
    if (c == 'u')
        return unicode_escape(r, ret);
    if (c == 'x') {
        if (!hex_at(r, 1, 2, ret))
            return bad(r, "\\x needs two hexadecimal digits");
        r->at += 3;
        return WB_OK;
    }
    if (c == 'c') {
        if (!is_letter(peek(r, 1)))
            return bad(r, "\\c needs a letter");
        *ret = (uint32_t)peek(r, 1) & 31;
        r->at += 2;
        return WB_OK;
    }
    if (c == '0' && !is_digit(peek(r, 1))) {
        *ret = 0;
        r->at++;
        return WB_OK;
    }
    if (c < 0)
        return bad(r, "\\ at the end");
    if (is_letter(c) || is_digit(c) || c == '_')
        return WB_ENOTFOUND;
    *ret = wbi_utf8_next(r->in, &r->at);
    return WB_OK;
}

/* \d \w and so on, which stand for a set. false: none of these. */
static bool class_escape(struct rewriter *r, bool in_class)
{
    int c = peek(r, 0);

    switch (c) {
    case 'd':
    case 'w':
        wbi_buf_addf(r->out, "\\%c", c);
        break;
    case 'D':
        wbi_buf_addz(r->out, in_class ? NOT_DIGIT_RANGES : "\\D");
        break;
    case 'W':
        wbi_buf_addz(r->out, in_class ? NOT_WORD_RANGES : "\\W");
        break;
    case 's':
        wbi_buf_addz(r->out, in_class ? SPACE_RANGES : "[" SPACE_RANGES "]");
        break;
    case 'S':
        wbi_buf_addz(r->out, in_class ? NOT_SPACE_RANGES : "[^" SPACE_RANGES "]");
        break;
    default:
        return false;
    }
    r->at++;
    return true;
}

static wb_rc escape(struct rewriter *r)
{
    uint32_t cp;
    int c;
    wb_rc rc;

    r->at++;
    r->can_repeat = true;
    c = peek(r, 0);
    if (class_escape(r, false))
        return WB_OK;
    if (c == 'b' || c == 'B') {
        r->can_repeat = false;
        wbi_buf_addf(r->out, "\\%c", c);
        r->at++;
        return WB_OK;
    }
    if (c == 'p' || c == 'P')
        return property_escape(r, false);
    if (c == 'k')
        return named_reference(r);
    if (c >= '1' && c <= '9')
        return back_reference(r);
    rc = character_escape(r, &cp);
    if (rc == WB_ENOTFOUND)
        return bad(r, "no such escape in ECMA-262");
    if (rc == WB_OK)
        put_code_point(r, cp);
    return rc;
}

/* One member of a class. *ret_set: it is a set, so no end of a range. */
static wb_rc class_atom(struct rewriter *r, uint32_t *ret, bool *ret_set)
{
    wb_rc rc;

    *ret_set = false;
    if (peek(r, 0) != '\\') {
        *ret = wbi_utf8_next(r->in, &r->at);
        return WB_OK;
    }
    r->at++;
    if (class_escape(r, true)) {
        *ret_set = true;
        return WB_OK;
    }
    if (peek(r, 0) == 'p' || peek(r, 0) == 'P') {
        *ret_set = true;
        return property_escape(r, true);
    }
    if (peek(r, 0) == 'b') {
        *ret = 8;
        r->at++;
        return WB_OK;
    }
    if (peek(r, 0) == '_') {
        *ret = '_';
        r->at++;
        return WB_OK;
    }
    rc = character_escape(r, ret);
    return rc == WB_ENOTFOUND ? bad(r, "no such escape in a class") : rc;
}

static wb_rc class_members(struct rewriter *r)
{
    while (peek(r, 0) != ']') {
        uint32_t from, to;
        bool set, set_to;
        wb_rc rc;

        if (peek(r, 0) < 0)
            return bad(r, "class without ]");
        rc = class_atom(r, &from, &set);
        if (rc != WB_OK)
            return rc;
        if (!set)
            put_code_point(r, from);
        if (peek(r, 0) != '-' || peek(r, 1) == ']' || peek(r, 1) < 0)
            continue;
        r->at++;
        if (set) {
            wbi_buf_addz(r->out, "\\-");
            continue;
        }
        wbi_buf_addc(r->out, '-');
        rc = class_atom(r, &to, &set_to);
        if (rc != WB_OK)
            return rc;
        if (set_to || to < from)
            return bad(r, "range out of order in a class");
        put_code_point(r, to);
    }
    r->at++;
    return WB_OK;
}

static wb_rc class(struct rewriter *r)
{
    wb_rc rc;

    r->at++;
    r->can_repeat = true;
    if (peek(r, 0) == ']') {
        wbi_buf_addz(r->out, "(?!)");
        r->at++;
        return WB_OK;
    }
    if (peek(r, 0) == '^' && peek(r, 1) == ']') {
        wbi_buf_addz(r->out, "[\\x{0}-\\x{10ffff}]");
        r->at += 2;
        return WB_OK;
    }
    wbi_buf_addc(r->out, '[');
    if (peek(r, 0) == '^') {
        wbi_buf_addc(r->out, '^');
        r->at++;
    }
    rc = class_members(r);
    wbi_buf_addc(r->out, ']');
    return rc;
}

static bool name_char(int c, bool first)
{
    return is_letter(c) || c == '_' || c == '$' || c >= 0x80 || (!first && is_digit(c));
}

/* Bytes of the group's opening after "(", 0 when ECMA-262 has no such group. */
static size_t group_opening(const struct rewriter *r)
{
    size_t i = 2;

    if (peek(r, 1) != '?')
        return peek(r, 1) == '*' ? 0 : 1;
    if (peek(r, 2) == ':' || peek(r, 2) == '=' || peek(r, 2) == '!')
        return 3;
    if (peek(r, 2) == '<' && (peek(r, 3) == '=' || peek(r, 3) == '!'))
        return 4;
    if (peek(r, 2) == '<') {
        for (i = 3; name_char(peek(r, i), i == 3); i++)
            continue;
        return i > 3 && peek(r, i) == '>' ? i + 1 : 0;
    }
    while (peek(r, i) == 'i' || peek(r, i) == 'm' || peek(r, i) == 's' || peek(r, i) == '-')
        i++;
    return i > 2 && peek(r, i) == ':' ? i + 1 : 0;
}

/* Groups lose their names, which may be longer there and of other letters than PCRE2 allows. */
static wb_rc open_group(struct rewriter *r)
{
    size_t n = group_opening(r);

    if (n == 0)
        return bad(r, "no such group in ECMA-262");
    if (r->in.p[r->at + n - 1] == '>')
        wbi_buf_addc(r->out, '(');
    else
        wbi_buf_add(r->out, r->in.p + r->at, n);
    r->at += n;
    r->open++;
    r->can_repeat = false;
    return WB_OK;
}

/* Length of {n}, {n,} or {n,m} here, 0 when the brace is a literal. */
static size_t counted_quantifier(const struct rewriter *r)
{
    size_t i = 1;

    if (!is_digit(peek(r, i)))
        return 0;
    while (is_digit(peek(r, i)))
        i++;
    if (peek(r, i) == ',')
        for (i++; is_digit(peek(r, i)); i++)
            continue;
    return peek(r, i) == '}' ? i + 1 : 0;
}

/* Whether {n,m} here, of n bytes, asks for more than it allows. */
static bool is_reversed(const struct rewriter *r, size_t n)
{
    struct wbi_str inside = wbi_str_make(r->in.p + r->at + 1, n - 2);
    size_t comma = wbi_str_index(inside, ',');
    uint64_t least, most;

    return wbi_parse_u64(wbi_str_head(inside, comma), &least) &&
           wbi_parse_u64(wbi_str_from(inside, comma + 1), &most) && most < least;
}

static wb_rc quantifier(struct rewriter *r, size_t n)
{
    if (!r->can_repeat)
        return bad(r, "nothing to repeat");
    if (n > 2 && is_reversed(r, n))
        return bad(r, "numbers of a quantifier out of order");
    wbi_buf_add(r->out, r->in.p + r->at, n);
    r->at += n;
    if (peek(r, 0) == '?') {
        wbi_buf_addc(r->out, '?');
        r->at++;
    }
    r->can_repeat = false;
    return WB_OK;
}

static void literal(struct rewriter *r)
{
    uint32_t cp = wbi_utf8_next(r->in, &r->at);

    if (cp < 0x80 && (is_letter((int)cp) || is_digit((int)cp)))
        wbi_buf_addc(r->out, (char)cp);
    else
        put_code_point(r, cp);
    r->can_repeat = true;
}

static wb_rc term(struct rewriter *r)
{
    int c = peek(r, 0);
    size_t n;

    switch (c) {
    case '\\':
        return escape(r);
    case '[':
        return class(r);
    case '(':
        return open_group(r);
    case ')':
        if (r->open == 0)
            return bad(r, ") without (");
        r->open--;
        r->can_repeat = true;
        break;
    case '*':
    case '+':
    case '?':
        return quantifier(r, 1);
    case '{':
        n = counted_quantifier(r);
        if (n > 0)
            return quantifier(r, n);
        literal(r);
        return WB_OK;
    case '.':
        wbi_buf_addz(r->out, "[^\\n\\r\\x{2028}\\x{2029}]");
        r->can_repeat = true;
        r->at++;
        return WB_OK;
    case '^':
    case '$':
    case '|':
        r->can_repeat = false;
        break;
    default:
        literal(r);
        return WB_OK;
    }
    wbi_buf_addc(r->out, (char)c);
    r->at++;
    return WB_OK;
}

wb_rc wbi_regex_rewrite(struct wbi_str pattern, struct wbi_buf *out, struct wbi_error *err)
{
    struct rewriter r = {.in = pattern, .out = out, .err = err};
    wb_rc rc;

    if (!wbi_utf8_valid(pattern))
        return wbi_fail(err, WB_EINPUT, "regular expression is not UTF-8");
    r.groups = count_groups(pattern);
    while (r.at < pattern.n) {
        rc = term(&r);
        if (rc != WB_OK)
            return rc;
    }
    if (r.open > 0)
        return bad(&r, "( without )");
    rc = wbi_buf_rc(out);
    return rc == WB_OK ? rc : wbi_fail(err, rc, "regular expression is too large");
}

bool wbi_regex_ecma_valid(struct wbi_str pattern)
{
    struct wbi_buf nowhere;

    /* A buffer that has failed takes nothing and allocates nothing. */
    wbi_buf_init(&nowhere, 0);
    nowhere.rc = WB_ELIMIT;
    return wbi_regex_rewrite(pattern, &nowhere, NULL) == WB_ELIMIT;
}
