/* SPDX-License-Identifier: Apache-2.0
 * json/number.c: doubles in ECMAScript's form (RFC 8785, 3.2.2.3).
 * yyjson finds the shortest digits; only their layout is made here. */
#include <math.h>

#include "json/json_int.h"
#include "json/write.h"

/* Digits without leading or trailing zeros, and the decimal exponent: the
 * value is 0.d1d2d3… * 10^point. */
struct decimal {
    char digits[24];
    int count;
    int point;
};

static size_t yyjson_digits(double v, char *out, size_t size)
{
    WBI_LARGE_LOCAL char pool[512];
    yyjson_alc alc;
    yyjson_val val = {.tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL, .uni = {.f64 = v}};
    size_t n = 0;
    char *text;

    if (!yyjson_alc_pool_init(&alc, pool, sizeof(pool)))
        return 0;
    text = yyjson_val_write_opts(&val, YYJSON_WRITE_NOFLAG, &alc, &n, NULL);
    if (text == NULL || n >= size)
        return 0;
    memcpy(out, text, n);
    out[n] = '\0';
    return n;
}

static void read_decimal(const char *text, struct decimal *d)
{
    int exponent = 0, sign = 1;
    bool fraction = false;

    *d = (struct decimal){.count = 0};
    for (; *text != '\0' && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        if (d->count == 0 && *text == '0') {
            d->point -= fraction;
            continue;
        }
        if (d->count < (int)sizeof(d->digits))
            d->digits[d->count++] = *text;
        d->point += !fraction;
    }
    if (*text != '\0') {
        text++;
        if (*text == '-' || *text == '+')
            sign = *text++ == '-' ? -1 : 1;
        for (; *text >= '0' && *text <= '9'; text++)
            exponent = exponent * 10 + (*text - '0');
    }
    d->point += sign * exponent;
    while (d->count > 0 && d->digits[d->count - 1] == '0')
        d->count--;
}

static size_t put_zeros(char *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = '0';
    return n > 0 ? (size_t)n : 0;
}

static size_t put_exponent(char *out, int e)
{
    size_t n = 0;
    int magnitude = e < 0 ? -e : e;

    out[n++] = 'e';
    out[n++] = e < 0 ? '-' : '+';
    if (magnitude >= 100)
        out[n++] = (char)('0' + magnitude / 100);
    if (magnitude >= 10)
        out[n++] = (char)('0' + magnitude / 10 % 10);
    out[n++] = (char)('0' + magnitude % 10);
    return n;
}

static size_t put_decimal(const struct decimal *d, char *out)
{
    size_t n = 0, count = (size_t)d->count;

    if (d->point > 21 || d->point <= -6) { /* one digit, the rest behind the point */
        out[n++] = d->digits[0];
        if (count > 1) {
            out[n++] = '.';
            memcpy(out + n, d->digits + 1, count - 1);
            n += count - 1;
        }
        return n + put_exponent(out + n, d->point - 1);
    }
    if (d->point <= 0) {
        out[n++] = '0';
        out[n++] = '.';
        n += put_zeros(out + n, -d->point);
        memcpy(out + n, d->digits, count);
        return n + count;
    }
    if (d->count <= d->point) {
        memcpy(out, d->digits, count);
        return count + put_zeros(out + count, d->point - d->count);
    }
    memcpy(out, d->digits, (size_t)d->point);
    n = (size_t)d->point;
    out[n++] = '.';
    memcpy(out + n, d->digits + d->point, count - (size_t)d->point);
    return n + count - (size_t)d->point;
}

size_t wbi_json_number(double v, char out[WBI_JSON_NUMBER_SIZE])
{
    struct decimal d;
    char text[64];
    size_t n = 0;

    if (v < 0) {
        out[n++] = '-';
        v = -v;
    }
    if (v == 0 || yyjson_digits(v, text, sizeof(text)) == 0) {
        out[0] = '0';
        return 1;
    }
    read_decimal(text, &d);
    return n + put_decimal(&d, out + n);
}
