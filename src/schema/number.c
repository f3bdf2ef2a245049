/* SPDX-License-Identifier: Apache-2.0
 * schema/number.c: comparing and dividing JSON numbers by value.
 * Integers stay exact; a double counts as the shortest decimal that reads back
 * as it, so that 0.0075 is a multiple of 0.0001. */
#include <stdio.h>

#include "json/write.h"
#include "schema/schema_int.h"

__extension__ typedef unsigned __int128 u128;

static bool is_big(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_BIG);
}

/* Digits beyond 64 bits; far beyond a double this is infinite, which orders. */
static long double big_value(const wbi_json *v)
{
    struct wbi_str s = wbi_json_text(v);
    bool negative = s.n > 0 && s.p[0] == '-';
    long double value = 0;

    for (size_t i = negative; i < s.n; i++)
        value = value * 10 + (s.p[i] - '0');
    return negative ? -value : value;
}

static int compare_big(const wbi_json *a, const wbi_json *b)
{
    struct wbi_str x = wbi_json_text(a), y = wbi_json_text(b);
    bool minus_x = x.p[0] == '-', minus_y = y.p[0] == '-';
    int order;

    if (minus_x != minus_y)
        return minus_x ? -1 : 1;
    order = x.n != y.n ? (x.n < y.n ? -1 : 1) : memcmp(x.p, y.p, x.n);
    return minus_x ? -order : order;
}

/* Exact for 64-bit integers and doubles: the significand has 64 bits or more. */
static long double value_of(const wbi_json *v)
{
    int64_t i;
    uint64_t u;

    if (is_big(v))
        return big_value(v);
    if (wbi_json_is(v, WBI_JSON_REAL))
        return (long double)v->uni.f64;
    if (wbi_json_i64(v, &i))
        return (long double)i;
    return wbi_json_u64(v, &u) ? (long double)u : 0;
}

/* |v| = digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
};

static struct decimal decimal_of(const wbi_json *v)
{
    char text[WBI_JSON_NUMBER_SIZE];
    struct decimal d = {0, 0};
    size_t n, i = 0;
    int64_t whole;
    uint64_t u;

    if (wbi_json_is(v, WBI_JSON_INT)) {
        if (wbi_json_u64(v, &u))
            d.digits = u;
        else if (wbi_json_i64(v, &whole))
            d.digits = (uint64_t)0 - (uint64_t)whole;
        return d;
    }
    n = wbi_json_number(is_big(v) ? (double)big_value(v) : v->uni.f64, text);
    bool point = false;
    for (i = text[0] == '-'; i < n && text[i] != 'e'; i++) {
        if (text[i] == '.') {
            point = true;
        } else if (d.digits < UINT64_MAX / 100) {
            d.digits = d.digits * 10 + (uint64_t)(text[i] - '0');
            d.exponent -= point;
        } else {
            d.exponent += !point; /* only zeros are left there */
        }
    }
    if (i < n) {
        int e = 0;
        bool minus = text[++i] == '-';
        for (i += text[i] == '-' || text[i] == '+'; i < n; i++)
            e = e * 10 + (text[i] - '0');
        d.exponent += minus ? -e : e;
    }
    return d;
}

/* The digits of a number beyond 64 bits against a double's, which has 17 at most and only
 * zeros behind them. */
static int compare_digits(struct wbi_str big, struct decimal d)
{
    char text[32];
    size_t n = (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)d.digits);
    size_t length = n + (size_t)d.exponent;
    int order;

    if (big.n != length)
        return big.n < length ? -1 : 1;
    order = memcmp(big.p, text, n);
    for (; order == 0 && n < big.n; n++)
        order = big.p[n] != '0';
    return order;
}

static int compare_big_real(const wbi_json *big, const wbi_json *real)
{
    struct wbi_str x = wbi_json_text(big);
    bool minus = x.p[0] == '-';
    double y = minus ? -real->uni.f64 : real->uni.f64;
    int order = y < 1e18 ? 1 : compare_digits(wbi_str_from(x, minus), decimal_of(real));

    return minus ? -order : order;
}

int wbi_number_compare(const wbi_json *a, const wbi_json *b)
{
    long double x, y;
    int64_t i, j;

    if (wbi_json_is(a, WBI_JSON_INT) && wbi_json_is(b, WBI_JSON_INT) && wbi_json_i64(a, &i) &&
        wbi_json_i64(b, &j))
        return i < j ? -1 : i > j;
    if (is_big(a) && is_big(b))
        return compare_big(a, b);
    if (is_big(a) && wbi_json_is(b, WBI_JSON_REAL))
        return compare_big_real(a, b);
    if (wbi_json_is(a, WBI_JSON_REAL) && is_big(b))
        return -compare_big_real(b, a);
    x = value_of(a);
    y = value_of(b);
    return x < y ? -1 : x > y;
}

double wbi_number_double(const wbi_json *v)
{
    return wbi_json_num(v);
}

/* digits * 10^exponent mod m */
static uint64_t power_mod(uint64_t digits, int exponent, uint64_t m)
{
    u128 r = digits % m, base = 10 % m;

    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            r = r * base % m;
        base = base * base % m;
    }
    return (uint64_t)r;
}

static bool decimal_multiple(struct decimal v, struct decimal of)
{
    int e = v.exponent - of.exponent;

    if (v.digits == 0)
        return true;
    if (of.digits == 0)
        return false;
    if (e >= 0)
        return power_mod(v.digits, e, of.digits) == 0;
    for (; e < 0; e++) { /* scale the divisor up: past v it divides no more */
        if (v.digits % 10 != 0)
            return false;
        v.digits /= 10;
    }
    return v.digits % of.digits == 0;
}

static bool big_multiple(struct wbi_str digits, struct decimal of)
{
    u128 r = 0;

    for (; of.exponent > 0; of.exponent--, digits.n--)
        if (digits.n == 0 || digits.p[digits.n - 1] != '0')
            return false;
    for (size_t i = digits.p[0] == '-'; i < digits.n; i++)
        r = (r * 10 + (u128)(digits.p[i] - '0')) % of.digits;
    return power_mod((uint64_t)r, -of.exponent, of.digits) == 0;
}

bool wbi_number_multiple(const wbi_json *v, const wbi_json *of)
{
    struct decimal d = decimal_of(of);

    if (is_big(v) && d.digits != 0)
        return big_multiple(wbi_json_text(v), d);
    return decimal_multiple(decimal_of(v), d);
}
