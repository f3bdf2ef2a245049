/* SPDX-License-Identifier: Apache-2.0
 * json/explain.c: why a text is no JSON, and where. yyjson says so too, but in other words
 * in every version, and what a call answers may not depend on the version installed. */

#include "base/checked.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/json_int.h"

/* The end of the string or comment that starts at i, or i when none does. */
static size_t skip_quiet(struct wbi_str text, size_t i)
{
    struct wbi_str rest = wbi_str_from(text, i);

    if (rest.p[0] == '"') {
        for (i++; i < text.n && text.p[i] != '"'; i++)
            i += text.p[i] == '\\';
    } else if (wbi_str_starts(rest, WBI_LIT("//"))) {
        i += wbi_str_index(rest, '\n');
    } else if (wbi_str_starts(rest, WBI_LIT("/*"))) {
        i += 3 + wbi_str_find(wbi_str_from(rest, 2), WBI_LIT("*/"));
    }
    return WBI_MIN(i, text.n - 1);
}

size_t wbi_json_place_of_depth(struct wbi_str text)
{
    size_t depth = 0, i;

    for (i = 0; i < text.n; i++) {
        i = skip_quiet(text, i);
        if (text.p[i] == '[' || text.p[i] == '{') {
            if (++depth > WBI_LIMIT_JSON_DEPTH)
                break;
        } else if (text.p[i] == ']' || text.p[i] == '}') {
            depth -= depth > 0;
        }
    }
    return i;
}

/* What stands in front of a place: the containers around it, and the last of its words. */
struct context {
    char open[WBI_LIMIT_JSON_DEPTH + 1]; /* [0] is the text itself */
    size_t depth;
    char last; /* { [ , : as they are, 'n' a name, 'v' a value, 0 nothing */
};

/* False: nested too deep to tell. */
static bool take_word(struct context *c, char word)
{
    bool name = c->open[c->depth] == '{' && (c->last == '{' || c->last == ',');

    if (word == '{' || word == '[') {
        if (c->depth == WBI_LIMIT_JSON_DEPTH)
            return false;
        c->open[++c->depth] = word;
    } else if (word == '}' || word == ']') {
        c->depth -= c->depth > 0;
        word = 'v';
    } else if (word != ',' && word != ':') {
        word = name ? 'n' : 'v';
    }
    c->last = word;
    return true;
}

/* The text is well-formed up to pos. */
static const char *unexpected(struct wbi_str text, size_t pos)
{
    struct context c = {.last = 0};

    for (size_t i = 0; i < pos; i++) {
        char word = text.p[i];
        if (word == ' ' || word == '\t' || word == '\r' || word == '\n')
            continue;
        i = skip_quiet(text, i);
        if (word != '/' && !take_word(&c, word))
            return "unexpected character";
    }
    if (c.depth == 0)
        return "unexpected character, expected a valid root value";
    if (c.last == 'n')
        return "unexpected character, expected a colon after object key";
    if (c.last == 'v')
        return c.open[c.depth] == '{'
                   ? "unexpected character, expected a comma or a closing brace"
                   : "unexpected character, expected a comma or a closing bracket";
    return c.open[c.depth] == '{' && c.last != ':'
               ? "unexpected character, expected a string for object key"
               : "unexpected character, expected a valid JSON value";
}

static const char *bad_literal(char first)
{
    switch (first) {
    case 't':
        return "invalid literal, expected a valid literal such as 'true'";
    case 'f':
        return "invalid literal, expected a valid literal such as 'false'";
    default:
        return "invalid literal, expected a valid literal such as 'null'";
    }
}

static const char *bad_string(unsigned char at)
{
    if (at < 0x20)
        return "unexpected control character in string";
    return at < 0x80 ? "invalid escaped sequence in string" : "invalid UTF-8 encoding in string";
}

/* Versions differ in where an escape goes wrong: its backslash is told, the first one of a
 * surrogate that has no second. */
static size_t place_of_escape(struct wbi_str text, size_t pos)
{
    static const char high[] = "89abAB";

    if (pos > 0 && text.p[pos] != '\\' && text.p[pos - 1] == '\\')
        pos--;
    if (pos > 6 && text.p[pos - 6] == '\\' && text.p[pos - 5] == 'u' &&
        (text.p[pos - 4] | 0x20) == 'd' && memchr(high, text.p[pos - 3], sizeof(high) - 1) != NULL)
        pos -= 6;
    return pos;
}

const char *wbi_json_explain(yyjson_read_code code, struct wbi_str text, size_t *pos)
{
    char at = *pos < text.n ? text.p[*pos] : '\0';

    if (wbi_str_starts(text, WBI_LIT("\xef\xbb\xbf")))
        return "byte order mark (BOM) is not supported";
    if (code == YYJSON_READ_ERROR_UNEXPECTED_CHARACTER ||
        (code == YYJSON_READ_ERROR_INVALID_NUMBER && at == '+'))
        return unexpected(text, WBI_MIN(*pos, text.n));
    if (code == YYJSON_READ_ERROR_LITERAL)
        return bad_literal(at);
    if (code == YYJSON_READ_ERROR_INVALID_STRING) {
        if (*pos < text.n)
            *pos = place_of_escape(text, *pos);
        return bad_string((unsigned char)text.p[WBI_MIN(*pos, text.n - 1)]);
    }
    if (code == YYJSON_READ_ERROR_INVALID_NUMBER)
        return "invalid number, expected digits without a leading zero";
    if (code == YYJSON_READ_ERROR_INVALID_COMMENT)
        return "unclosed multiline comment";
    if (code == YYJSON_READ_ERROR_JSON_STRUCTURE)
        return "trailing comma is not allowed";
    if (code == YYJSON_READ_ERROR_UNEXPECTED_CONTENT)
        return "unexpected content after document";
    return "unexpected end of data"; /* of spaces and comments alone, too */
}
