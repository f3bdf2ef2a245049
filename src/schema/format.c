/* SPDX-License-Identifier: Apache-2.0
 * schema/format.c: the formats people use in tool schemas, by their grammars.
 * Dates and times: RFC 3339; durations: its appendix A; pointers: RFC 6901. */
#include "base/checked.h"
#include "schema/schema_int.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* n digits at s.p[at]; -1 when they are not there. */
static int digits(struct wbi_str s, size_t at, size_t n)
{
    int v = 0;

    if (at + n > s.n)
        return -1;
    for (size_t i = at; i < at + n; i++) {
        if (!is_digit(s.p[i]))
            return -1;
        v = v * 10 + (s.p[i] - '0');
    }
    return v;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

static bool is_date(struct wbi_str s)
{
    int year = digits(s, 0, 4), month = digits(s, 5, 2), day = digits(s, 8, 2);

    return s.n == 10 && s.p[4] == '-' && s.p[7] == '-' && year >= 0 && month >= 1 && month <= 12 &&
           day >= 1 && day <= days_in(year, month);
}

/* Minutes east of UTC from s.p[at] to the end; false when it is no offset. */
static bool offset_at(struct wbi_str s, size_t at, int *ret)
{
    int hour, minute;

    if (at >= s.n)
        return false;
    if (s.p[at] == 'Z' || s.p[at] == 'z') {
        *ret = 0;
        return at + 1 == s.n;
    }
    hour = digits(s, at + 1, 2);
    minute = digits(s, at + 4, 2);
    if ((s.p[at] != '+' && s.p[at] != '-') || s.n != at + 6 || s.p[at + 3] != ':' || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59)
        return false;
    *ret = (hour * 60 + minute) * (s.p[at] == '-' ? -1 : 1);
    return true;
}

static bool is_time(struct wbi_str s)
{
    int hour = digits(s, 0, 2), minute = digits(s, 3, 2), second = digits(s, 6, 2);
    int offset, utc;
    size_t at = 8;

    if (s.n < 9 || s.p[2] != ':' || s.p[5] != ':' || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 60)
        return false;
    if (s.p[at] == '.') {
        if (digits(s, ++at, 1) < 0)
            return false;
        while (at < s.n && is_digit(s.p[at]))
            at++;
    }
    if (!offset_at(s, at, &offset))
        return false;
    utc = (hour * 60 + minute - offset + 2880) % 1440;
    return second < 60 || utc == 23 * 60 + 59; /* leap seconds end a day in UTC */
}

static bool is_date_time(struct wbi_str s)
{
    return s.n > 11 && (s.p[10] == 'T' || s.p[10] == 't') && is_date(wbi_str_head(s, 10)) &&
           is_time(wbi_str_from(s, 11));
}

/* Units in order from `units`, without a gap; *ret_at moves on. */
static bool duration_part(struct wbi_str s, size_t *at, const char *units)
{
    size_t next = 0;
    bool any = false;

    while (*at < s.n && s.p[*at] != 'T') {
        size_t from = *at;
        while (*at < s.n && is_digit(s.p[*at]))
            ++*at;
        if (*at == from || *at == s.n)
            return false;
        size_t unit = 0;
        while (units[unit] != '\0' && units[unit] != s.p[*at])
            unit++;
        if (units[unit] == '\0' || (any ? unit != next : false))
            return false;
        next = unit + 1;
        any = true;
        ++*at;
    }
    return any;
}

static bool is_duration(struct wbi_str s)
{
    size_t at = 1, weeks = 1;

    if (s.n < 3 || s.p[0] != 'P')
        return false;
    while (weeks < s.n && is_digit(s.p[weeks]))
        weeks++;
    if (weeks > 1 && weeks + 1 == s.n && s.p[weeks] == 'W')
        return true;
    if (s.p[at] != 'T' && !duration_part(s, &at, "YMD"))
        return false;
    if (at == s.n)
        return true;
    at++;
    return duration_part(s, &at, "HMS") && at == s.n;
}

static bool is_uuid(struct wbi_str s)
{
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !is_hex(s.p[i]))
            return false;
    }
    return true;
}

static bool is_pointer(struct wbi_str s)
{
    if (s.n > 0 && s.p[0] != '/')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
            return false;
    return true;
}

static bool is_relative_pointer(struct wbi_str s)
{
    size_t at = 0;

    while (at < s.n && is_digit(s.p[at]))
        at++;
    if (at == 0 || (at > 1 && s.p[0] == '0'))
        return false;
    if (at + 1 == s.n && s.p[at] == '#')
        return true;
    return is_pointer(wbi_str_from(s, at));
}

enum wbi_format wbi_format_find(struct wbi_str name)
{
    static const char *const names[] = {[FORMAT_DATE_TIME] = "date-time",
                                        [FORMAT_DATE] = "date",
                                        [FORMAT_TIME] = "time",
                                        [FORMAT_DURATION] = "duration",
                                        [FORMAT_EMAIL] = "email",
                                        [FORMAT_HOSTNAME] = "hostname",
                                        [FORMAT_IPV4] = "ipv4",
                                        [FORMAT_IPV6] = "ipv6",
                                        [FORMAT_URI] = "uri",
                                        [FORMAT_URI_REFERENCE] = "uri-reference",
                                        [FORMAT_URI_TEMPLATE] = "uri-template",
                                        [FORMAT_UUID] = "uuid",
                                        [FORMAT_JSON_POINTER] = "json-pointer",
                                        [FORMAT_RELATIVE_JSON_POINTER] = "relative-json-pointer",
                                        [FORMAT_REGEX] = "regex",
                                        [FORMAT_IDN_EMAIL] = "idn-email",
                                        [FORMAT_IDN_HOSTNAME] = "idn-hostname",
                                        [FORMAT_IRI] = "iri",
                                        [FORMAT_IRI_REFERENCE] = "iri-reference"};

    for (size_t i = 1; i < WBI_COUNT(names); i++)
        if (wbi_str_eqz(name, names[i]))
            return (enum wbi_format)i;
    return FORMAT_NONE;
}

bool wbi_format_valid(enum wbi_format format, struct wbi_str s)
{
    switch (format) {
    case FORMAT_DATE_TIME:
        return is_date_time(s);
    case FORMAT_DATE:
        return is_date(s);
    case FORMAT_TIME:
        return is_time(s);
    case FORMAT_DURATION:
        return is_duration(s);
    case FORMAT_EMAIL:
        return wbi_format_email(s, false);
    case FORMAT_HOSTNAME:
        return wbi_format_hostname(s);
    case FORMAT_IPV4:
        return wbi_format_ipv4(s);
    case FORMAT_IPV6:
        return wbi_format_ipv6(s);
    case FORMAT_URI:
        return wbi_format_uri(s, true, false);
    case FORMAT_URI_REFERENCE:
        return wbi_format_uri(s, false, false);
    case FORMAT_URI_TEMPLATE:
        return wbi_format_uri_template(s);
    case FORMAT_UUID:
        return is_uuid(s);
    case FORMAT_JSON_POINTER:
        return is_pointer(s);
    case FORMAT_RELATIVE_JSON_POINTER:
        return is_relative_pointer(s);
    case FORMAT_REGEX:
        return wbi_regex_ecma_valid(s);
    case FORMAT_IDN_EMAIL:
        return wbi_format_email(s, true);
    case FORMAT_IDN_HOSTNAME:
        return wbi_format_idn_hostname(s);
    case FORMAT_IRI:
        return wbi_format_uri(s, true, true);
    case FORMAT_IRI_REFERENCE:
        return wbi_format_uri(s, false, true);
    case FORMAT_NONE:
        break;
    }
    return true;
}
