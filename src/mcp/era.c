/* SPDX-License-Identifier: Apache-2.0
 * mcp/era.c: versions, capabilities, levels, and values in headers. */
#include "mcp/era.h"

#include <locale.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/limits.h"
#include "json/write.h"

/* Whole numbers up to here are exact as doubles. */
#define MAX_EXACT INT64_C(9007199254740991)

static const char *const legacy[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

bool wbi_era_legacy_version(struct wbi_str version)
{
    for (size_t i = 0; i < WBI_COUNT(legacy); i++) {
        if (wbi_str_eqz(version, legacy[i]))
            return true;
    }
    return false;
}

bool wbi_era_modern_version(struct wbi_str version)
{
    return wbi_str_eqz(version, WBI_MCP_MODERN);
}

void wbi_era_put_versions(struct wbi_buf *out)
{
    wbi_buf_addz(out, "[\"" WBI_MCP_MODERN "\"");
    for (size_t i = 0; i < WBI_COUNT(legacy); i++) {
        wbi_buf_addz(out, ",\"");
        wbi_buf_addz(out, legacy[i]);
        wbi_buf_addc(out, '"');
    }
    wbi_buf_addc(out, ']');
}

void wbi_mcp_abilities_of(const wbi_json *capabilities, bool parted, struct wbi_mcp_abilities *ret)
{
    const wbi_json *elicitation = wbi_json_get_as(capabilities, "elicitation", WBI_JSON_OBJ);
    const wbi_json *sampling = wbi_json_get_as(capabilities, "sampling", WBI_JSON_OBJ);
    bool url = parted && wbi_json_get_as(elicitation, "url", WBI_JSON_OBJ) != NULL;

    ret->sampling = sampling != NULL;
    ret->sampling_tools = parted && wbi_json_get_as(sampling, "tools", WBI_JSON_OBJ) != NULL;
    ret->roots = wbi_json_get_as(capabilities, "roots", WBI_JSON_OBJ) != NULL;
    ret->elicitation_url = url;
    ret->elicitation_form =
        elicitation != NULL && (!url || wbi_json_get_as(elicitation, "form", WBI_JSON_OBJ) != NULL);
}

const char *wbi_mcp_ability_for(struct wbi_str method)
{
    if (wbi_str_eqz(method, "sampling/createMessage"))
        return "sampling";
    if (wbi_str_eqz(method, "elicitation/create"))
        return "elicitation";
    if (wbi_str_eqz(method, "roots/list"))
        return "roots";
    return NULL;
}

static bool has_tools(const wbi_json *params)
{
    return wbi_json_get(params, "tools") != NULL || wbi_json_get(params, "toolChoice") != NULL;
}

const char *wbi_mcp_required(struct wbi_str method, const wbi_json *params)
{
    const char *need = wbi_mcp_ability_for(method);

    if (need == NULL)
        return NULL;
    if (need[0] == 'e')
        return wbi_str_eqz(wbi_json_get_str(params, "mode"), "url")
                   ? "{\"elicitation\":{\"url\":{}}}"
                   : "{\"elicitation\":{\"form\":{}}}";
    if (need[0] == 's')
        return has_tools(params) ? "{\"sampling\":{\"tools\":{}}}" : "{\"sampling\":{}}";
    return "{\"roots\":{}}";
}

bool wbi_mcp_able(const struct wbi_mcp_abilities *a, struct wbi_str method)
{
    const char *need = wbi_mcp_ability_for(method);

    if (need == NULL)
        return false;
    if (need[0] == 'e')
        return a->elicitation_form || a->elicitation_url;
    return need[0] == 's' ? a->sampling : a->roots;
}

bool wbi_mcp_able_with(const struct wbi_mcp_abilities *a, struct wbi_str method,
                       const wbi_json *params)
{
    const wbi_json *mode = wbi_json_get(params, "mode");

    if (!wbi_mcp_able(a, method))
        return false;
    if (wbi_str_eqz(method, "sampling/createMessage"))
        return a->sampling_tools || !has_tools(params);
    if (!wbi_str_eqz(method, "elicitation/create"))
        return true;
    if (mode == NULL || wbi_str_eqz(wbi_json_str(mode), "form"))
        return a->elicitation_form;
    return wbi_str_eqz(wbi_json_str(mode), "url") && a->elicitation_url;
}

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};

int wbi_mcp_level(struct wbi_str name)
{
    for (size_t i = 0; i < WBI_COUNT(levels); i++) {
        if (wbi_str_eqz(name, levels[i]))
            return (int)i;
    }
    return -1;
}

const char *wbi_mcp_level_name(int level)
{
    return level >= 0 && level < (int)WBI_COUNT(levels) ? levels[level] : NULL;
}

static int digit64(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Whether the base64 text stands for exactly `plain`, without decoding it. */
static bool base64_is(struct wbi_str text, struct wbi_str plain)
{
    size_t at = 0, pad = 0;
    uint32_t bits = 0, have = 0;

    if (text.n % 4 != 0)
        return false;
    while (text.n > 0 && pad < 2 && text.p[text.n - 1] == '=') {
        text.n--;
        pad++;
    }
    for (size_t i = 0; i < text.n; i++) {
        int d = digit64(text.p[i]);

        if (d < 0)
            return false;
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (at >= plain.n || (uint8_t)plain.p[at++] != (uint8_t)(bits >> have))
            return false;
        bits &= (1u << have) - 1;
    }
    return at == plain.n && bits == 0;
}

static bool header_is_text(struct wbi_str header, struct wbi_str plain)
{
    static const struct wbi_str open = WBI_LIT_INIT("=?base64?"), end = WBI_LIT_INIT("?=");
    struct wbi_str rest = wbi_str_from(header, open.n);

    if (!wbi_str_starts(header, open) || !wbi_str_ends(rest, end))
        return wbi_str_eq(header, plain); /* half a wrapper wraps nothing */
    return base64_is(wbi_str_head(rest, rest.n - end.n), plain);
}

/* "5", "5.0" and "5e0" are one number. */
static bool header_is_number(struct wbi_str header, int64_t value)
{
    char text[64], *end;
    int64_t whole;
    double real;
    locale_t c;

    if (wbi_parse_i64(header, &whole))
        return whole == value;
    if (header.n == 0 || header.n >= sizeof(text) || value > MAX_EXACT || value < -MAX_EXACT ||
        (header.p[0] != '-' && (header.p[0] < '0' || header.p[0] > '9')))
        return false;
    for (size_t i = 0; i < header.n; i++)
        if (header.p[i] == '\0' || strchr("0123456789+-.eE", header.p[i]) == NULL)
            return false;
    memcpy(text, header.p, header.n);
    text[header.n] = '\0';
    c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return false;
    real = strtod_l(text, &end, c); /* the host's may have another point */
    freelocale(c);
    return *end == '\0' && real == (double)value;
}

bool wbi_mcp_header_equals(struct wbi_str header, const wbi_json *value)
{
    int64_t n;

    switch (wbi_json_type(value)) {
    case WBI_JSON_STR:
        return header_is_text(header, wbi_json_str(value));
    case WBI_JSON_BOOL:
        return wbi_str_eqz(header, wbi_json_true(value) ? "true" : "false");
    case WBI_JSON_INT:
    case WBI_JSON_REAL:
        return wbi_json_i64(value, &n) && header_is_number(header, n);
    default:
        return false;
    }
}

void wbi_mcp_header_put(struct wbi_buf *out, struct wbi_str value)
{
    bool plain = value.n > 0 && value.p[0] > ' ' && value.p[value.n - 1] > ' ' &&
                 !wbi_str_starts(value, WBI_LIT("=?"));

    for (size_t i = 0; i < value.n; i++)
        plain = plain && value.p[i] >= ' ' && value.p[i] < 0x7f;
    if (plain) {
        wbi_buf_adds(out, value);
        return;
    }
    wbi_buf_addz(out, "=?base64?");
    wbi_buf_add64(out, value);
    wbi_buf_addz(out, "?=");
}

/* Of RFC 9110: a token. */
static bool is_header_name(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL)))
            return false;
    }
    return s.n > 0;
}

struct wbi_mcp_header_walk wbi_mcp_header_walk(const wbi_json *schema, const wbi_json *arguments)
{
    struct wbi_mcp_header_walk w = {.depth = 0};
    const wbi_json *properties = wbi_json_get_as(schema, "properties", WBI_JSON_OBJ);

    if (wbi_json_count(properties) == 0)
        return w;
    w.at[0].key = wbi_json_first(properties);
    w.at[0].left = wbi_json_count(properties);
    w.at[0].values = arguments;
    w.depth = 1;
    return w;
}

bool wbi_mcp_header_next(struct wbi_mcp_header_walk *w, const wbi_json **ret_property,
                         const wbi_json **ret_name, const wbi_json **ret_value)
{
    while (w->depth > 0) {
        size_t top = w->depth - 1;
        const wbi_json *key = w->at[top].key, *property = key + 1, *inner, *value;

        if (w->at[top].left == 0) {
            w->depth--;
            continue;
        }
        w->at[top].left--;
        w->at[top].key = wbi_json_skip(property);
        value = wbi_json_getn(w->at[top].values, wbi_json_str(key));
        inner = wbi_json_get_as(property, "properties", WBI_JSON_OBJ);
        if (wbi_json_count(inner) > 0 && w->depth < WBI_LIMIT_MCP_HEADER_DEPTH) {
            w->at[w->depth].key = wbi_json_first(inner);
            w->at[w->depth].left = wbi_json_count(inner);
            w->at[w->depth++].values = value;
        }
        *ret_name = wbi_json_get(property, "x-mcp-header");
        if (*ret_name == NULL)
            continue;
        *ret_property = property;
        *ret_value = wbi_json_is(value, WBI_JSON_NULL) ? NULL : value;
        return true;
    }
    return false;
}

/* How often a schema has a name for a header, wherever that is. In compact JSON a quote
 * inside a text has a backslash, so that no text looks like the member. */
static wb_rc count_names(const wbi_json *schema, size_t *ret)
{
    static const struct wbi_str member = WBI_LIT_INIT("\"x-mcp-header\":\"");
    struct wbi_str rest;
    struct wbi_buf text;
    wb_rc rc;

    *ret = 0;
    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, schema);
    rc = wbi_buf_rc(&text);
    rest = wbi_buf_str(&text);
    for (;;) {
        size_t at = wbi_str_find(rest, member);

        if (at >= rest.n)
            break;
        ++*ret;
        rest = wbi_str_from(rest, at + member.n);
    }
    wbi_buf_fini(&text);
    return rc;
}

static bool named_before(const wbi_json *schema, const wbi_json *end, struct wbi_str name)
{
    struct wbi_mcp_header_walk w = wbi_mcp_header_walk(schema, NULL);
    const wbi_json *property, *other, *value;

    while (wbi_mcp_header_next(&w, &property, &other, &value) && property != end)
        if (wbi_str_ieq(wbi_json_str(other), name))
            return true;
    return false;
}

bool wbi_mcp_headers_usable(const wbi_json *input_schema)
{
    struct wbi_mcp_header_walk w = wbi_mcp_header_walk(input_schema, NULL);
    const wbi_json *property, *name, *value;
    size_t reached = 0, all;

    while (wbi_mcp_header_next(&w, &property, &name, &value)) {
        struct wbi_str type = wbi_json_get_str(property, "type");

        if (!wbi_str_eqz(type, "string") && !wbi_str_eqz(type, "integer") &&
            !wbi_str_eqz(type, "boolean"))
            return false;
        if (!is_header_name(wbi_json_str(name)) ||
            named_before(input_schema, property, wbi_json_str(name)))
            return false;
        reached++;
    }
    return input_schema == NULL || (count_names(input_schema, &all) == WB_OK && all == reached);
}
