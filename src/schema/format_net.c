/* SPDX-License-Identifier: Apache-2.0
 * schema/format_net.c: addresses, host names, mail, URIs (RFC 3986), the
 * same beyond ASCII, URI templates (RFC 6570). */
#include "base/checked.h"
#include "base/utf8.h"
#include "schema/schema_int.h"

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(int c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_hex(int c)
{
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static bool one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* A byte of a character beyond ASCII, where such are accepted. */
static bool is_beyond(char c, bool wide)
{
    return wide && (unsigned char)c > 127;
}

bool wbi_format_ipv4(struct wbi_str s)
{
    size_t at = 0;

    for (int part = 0; part < 4; part++) {
        size_t from = at;
        int v = 0;
        while (at < s.n && at < from + 3 && is_digit(s.p[at]))
            v = v * 10 + (s.p[at++] - '0');
        if (at == from || v > 255 || (at > from + 1 && s.p[from] == '0'))
            return false;
        if (part < 3 && (at >= s.n || s.p[at++] != '.'))
            return false;
    }
    return at == s.n;
}

bool wbi_format_ipv6(struct wbi_str s)
{
    size_t at = 0, groups = 0;
    bool gap = false;

    if (wbi_str_starts(s, WBI_LIT("::"))) {
        gap = true;
        at = 2;
    }
    while (at < s.n) {
        size_t from = at;
        while (at < s.n && is_hex(s.p[at]))
            at++;
        if (at < s.n && s.p[at] == '.') {
            groups += 2;
            return wbi_format_ipv4(wbi_str_from(s, from)) && (gap ? groups < 8 : groups == 8);
        }
        if (at == from || at > from + 4)
            return false;
        groups++;
        if (at == s.n)
            break;
        if (s.p[at++] != ':' || at == s.n)
            return false;
        if (s.p[at] == ':') {
            if (gap)
                return false;
            gap = true;
            at++;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

static bool is_label(struct wbi_str label)
{
    if (label.n == 0 || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-')
        return false;
    for (size_t i = 0; i < label.n; i++)
        if (!is_digit(label.p[i]) && !is_alpha(label.p[i]) && label.p[i] != '-')
            return false;
    if (wbi_str_ieq(wbi_str_head(label, 4), WBI_LIT("xn--")))
        return wbi_format_a_label(label);
    return true;
}

bool wbi_format_hostname(struct wbi_str s)
{
    if (s.n == 0 || s.n > 253)
        return false;
    for (;;) {
        size_t n = wbi_str_index(s, '.');
        if (!is_label(wbi_str_head(s, n)))
            return false;
        if (n == s.n)
            return true;
        s = wbi_str_from(s, n + 1);
    }
}

/* Bytes of the next full stop, one of four; 0 where none stands. */
static size_t stop_at(struct wbi_str s, size_t at)
{
    static const struct wbi_str stops[] = {WBI_LIT_INIT("."), WBI_LIT_INIT("\xe3\x80\x82"),
                                           WBI_LIT_INIT("\xef\xbc\x8e"),
                                           WBI_LIT_INIT("\xef\xbd\xa1")};

    for (size_t i = 0; i < WBI_COUNT(stops); i++)
        if (wbi_str_starts(wbi_str_from(s, at), stops[i]))
            return stops[i].n;
    return 0;
}

static bool is_ascii(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] > 126)
            return false;
    return true;
}

bool wbi_format_idn_hostname(struct wbi_str s)
{
    size_t length = 0; /* as ASCII, with a full stop behind each label */
    bool any_right = false, all_fit = true;

    for (;;) {
        struct wbi_str label;
        bool right, fits;
        size_t n = 0, stop = 0;

        while (n < s.n && (stop = stop_at(s, n)) == 0)
            n++;
        label = wbi_str_head(s, n);
        if (is_ascii(label))
            n = is_label(label) ? label.n : 0;
        else
            n = wbi_format_u_label(label);
        length += n + 1;
        if (n == 0 || length > 254)
            return false;
        wbi_format_directions(label, &right, &fits);
        any_right |= right;
        all_fit &= fits;
        if (label.n == s.n)
            return !any_right || all_fit;
        s = wbi_str_from(s, label.n + stop);
    }
}

static bool is_local_part(struct wbi_str s, bool wide)
{
    bool dot = true; /* none at the start */

    if (s.n > 1 && s.p[0] == '"') {
        for (size_t i = 1; i + 1 < s.n; i++) {
            if (s.p[i] == '\\' && i + 2 < s.n)
                i++;
            else if (s.p[i] == '"' || (unsigned char)s.p[i] < 32 ||
                     ((unsigned char)s.p[i] > 126 && !is_beyond(s.p[i], wide)))
                return false;
        }
        return s.p[s.n - 1] == '"';
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' && dot)
            return false;
        dot = s.p[i] == '.';
        if (!dot && !is_alpha(s.p[i]) && !is_digit(s.p[i]) &&
            !one_of(s.p[i], "!#$%&'*+-/=?^_`{|}~") && !is_beyond(s.p[i], wide))
            return false;
    }
    return !dot;
}

bool wbi_format_email(struct wbi_str s, bool wide)
{
    size_t at = s.n;
    struct wbi_str domain;

    while (at > 0 && s.p[at - 1] != '@')
        at--;
    if (at < 2 || at == s.n || !is_local_part(wbi_str_head(s, at - 1), wide))
        return false;
    domain = wbi_str_from(s, at);
    if (domain.p[0] != '[')
        return wide ? wbi_format_idn_hostname(domain) : wbi_format_hostname(domain);
    if (domain.p[domain.n - 1] != ']')
        return false;
    domain = wbi_str_make(domain.p + 1, domain.n - 2);
    if (wbi_str_ieq(wbi_str_head(domain, 5), WBI_LIT("IPv6:")))
        return wbi_format_ipv6(wbi_str_from(domain, 5));
    return wbi_format_ipv4(domain);
}

/* All of s is unreserved, sub-delims, %XX or one of extra. */
static bool uri_chars(struct wbi_str s, const char *extra, bool wide)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            if (i + 2 >= s.n || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2]))
                return false;
            i += 2;
        } else if (!is_alpha(c) && !is_digit(c) && !one_of(c, "-._~!$&'()*+,;=") &&
                   !one_of(c, extra) && !is_beyond(c, wide)) {
            return false;
        }
    }
    return true;
}

static bool is_future_address(struct wbi_str s)
{
    size_t dot = wbi_str_index(s, '.');

    if (s.n < 4 || (s.p[0] != 'v' && s.p[0] != 'V') || dot < 2 || dot + 1 >= s.n)
        return false;
    for (size_t i = 1; i < dot; i++)
        if (!is_hex(s.p[i]))
            return false;
    return uri_chars(wbi_str_from(s, dot + 1), ":", false) && wbi_str_index(s, '%') == s.n;
}

static bool is_port(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    return true;
}

static bool is_authority(struct wbi_str s, bool wide)
{
    size_t at = wbi_str_index(s, '@'), end;

    if (at < s.n) {
        if (!uri_chars(wbi_str_head(s, at), ":", wide))
            return false;
        s = wbi_str_from(s, at + 1);
    }
    if (s.n > 0 && s.p[0] == '[') {
        end = wbi_str_index(s, ']');
        if (end == s.n)
            return false;
        struct wbi_str address = wbi_str_make(s.p + 1, end - 1), port = wbi_str_from(s, end + 1);
        return (wbi_format_ipv6(address) || is_future_address(address)) &&
               (port.n == 0 || (port.p[0] == ':' && is_port(wbi_str_from(port, 1))));
    }
    end = wbi_str_index(s, ':');
    return uri_chars(wbi_str_head(s, end), "", wide) && is_port(wbi_str_from(s, end + 1));
}

/* Length of a scheme before ':', 0 when there is none. */
static size_t scheme_length(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ':')
            return i;
        if (!is_alpha(s.p[i]) && (i == 0 || (!is_digit(s.p[i]) && !one_of(s.p[i], "+-."))))
            return 0;
    }
    return 0;
}

/* What is not ASCII are characters of IRIs (RFC 3987), where private ones count everywhere. */
static bool iri_chars(struct wbi_str s)
{
    for (size_t at = 0; at < s.n;) {
        uint32_t c = wbi_utf8_next(s, &at);

        if (c > 127 && (c < 0xa0 || (c >= 0xfdd0 && c <= 0xfdef) || (c >= 0xfff0 && c <= 0xffff) ||
                        (c & 0xfffe) == 0xfffe))
            return false;
    }
    return true;
}

bool wbi_format_uri(struct wbi_str s, bool absolute, bool wide)
{
    size_t scheme = scheme_length(s), n;
    struct wbi_str rest = scheme > 0 ? wbi_str_from(s, scheme + 1) : s;

    if ((absolute && scheme == 0) || (wide && !iri_chars(s)))
        return false;
    n = wbi_str_index(rest, '#');
    if (!uri_chars(wbi_str_from(rest, n + 1), ":@/?", wide))
        return false;
    rest = wbi_str_head(rest, n);
    n = wbi_str_index(rest, '?');
    if (!uri_chars(wbi_str_from(rest, n + 1), ":@/?", wide))
        return false;
    rest = wbi_str_head(rest, n);
    if (wbi_str_starts(rest, WBI_LIT("//"))) {
        rest = wbi_str_from(rest, 2);
        n = wbi_str_index(rest, '/');
        return is_authority(wbi_str_head(rest, n), wide) &&
               uri_chars(wbi_str_from(rest, n), ":@/", wide);
    }
    if (scheme == 0 && wbi_str_index(rest, ':') < wbi_str_index(rest, '/'))
        return false;
    return uri_chars(rest, ":@/", wide);
}

/* varname *( "," varname ) with modifiers; s is what stands between braces. */
static bool is_variable(struct wbi_str s)
{
    size_t at = 0;
    bool dot = true;

    for (; at < s.n && s.p[at] != ':' && s.p[at] != '*'; at++) {
        if (s.p[at] == '%') {
            if (at + 2 >= s.n || !is_hex(s.p[at + 1]) || !is_hex(s.p[at + 2]))
                return false;
            at += 2;
        } else if (s.p[at] == '.' ? dot
                                  : !is_alpha(s.p[at]) && !is_digit(s.p[at]) && s.p[at] != '_') {
            return false;
        }
        dot = s.p[at] == '.';
    }
    if (dot)
        return false;
    if (at == s.n || (s.p[at] == '*' && at + 1 == s.n))
        return true;
    s = wbi_str_from(s, at + 1);
    return s.p[-1] == ':' && s.n >= 1 && s.n <= 4 && s.p[0] != '0' && is_port(s);
}

static bool is_expression(struct wbi_str s)
{
    if (s.n > 0 && one_of(s.p[0], "+#./;?&=,!@|"))
        s = wbi_str_from(s, 1);
    for (;;) {
        size_t n = wbi_str_index(s, ',');
        if (!is_variable(wbi_str_head(s, n)))
            return false;
        if (n == s.n)
            return true;
        s = wbi_str_from(s, n + 1);
    }
}

bool wbi_format_uri_template(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '{') {
            struct wbi_str rest = wbi_str_from(s, i + 1);
            size_t n = wbi_str_index(rest, '}');
            if (n == rest.n || !is_expression(wbi_str_head(rest, n)))
                return false;
            i += n + 1;
        } else if (c == '%') {
            if (i + 2 >= s.n || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2]))
                return false;
            i += 2;
        } else if (c <= ' ' || c == 127 || one_of((char)c, "\"<>\\^`|}")) {
            return false;
        }
    }
    return true;
}
