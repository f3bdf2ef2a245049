/* SPDX-License-Identifier: Apache-2.0
 * base/hash.c: hexadecimal, and the hash of tables. */
#include "base/hash.h"

#include "base/checked.h"

/* Both digits of the sixteen bytes that begin with h. */
#define ROW(h) \
    h "0" h "1" h "2" h "3" h "4" h "5" h "6" h "7" h "8" h "9" h "a" h "b" h "c" h "d" h "e" h "f"

void wbi_hex(const uint8_t *p, size_t n, char *out)
{
    static const char pairs[] = ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6")
        ROW("7") ROW("8") ROW("9") ROW("a") ROW("b") ROW("c") ROW("d") ROW("e") ROW("f");

    for (size_t i = 0; i < n; i++)
        memcpy(out + 2 * i, pairs + 2 * (size_t)p[i], 2);
    out[2 * n] = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool wbi_unhex(struct wbi_str s, uint8_t *out)
{
    if (s.n % 2 != 0)
        return false;
    for (size_t i = 0; i < s.n; i += 2) {
        int high = hex_value(s.p[i]), low = hex_value(s.p[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i / 2] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 m = (unsigned __int128)a * b;

    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* n (1 to 8) bytes as a number, the first one lowest; a copy of a length that is
 * not known would be a call. */
static inline uint64_t load64(const uint8_t *p, size_t n)
{
    uint64_t v;
    uint32_t head, tail;

    if (n == 8) {
        memcpy(&v, p, 8);
        return v;
    }
    if (n < 4)
        return p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) | (uint64_t)p[n - 1] << (8 * (n - 1));
    memcpy(&head, p, 4);
    memcpy(&tail, p + n - 4, 4); /* they overlap */
    return head | (uint64_t)tail << (8 * (n - 4));
}

#define K0 UINT64_C(0xa0761d6478bd642f)
#define K1 UINT64_C(0xe7037ed1a0b428db)

void wbi_hash64_twice(const void *data, size_t n, uint64_t lane[2])
{
    const uint8_t *p = data;
    uint64_t h = lane[0] ^ K0 ^ n, g = lane[1] ^ K0 ^ n, x, y;

    for (; n > 16; p += 16, n -= 16) {
        x = load64(p, 8) ^ K1;
        y = load64(p + 8, 8);
        h = mix(x, y ^ h);
        g = mix(x, y ^ g);
    }
    x = (n > 0 ? load64(p, WBI_MIN(n, (size_t)8)) : 0) ^ K1;
    y = n > 8 ? load64(p + 8, n - 8) : 0;
    lane[0] = mix(mix(x, y ^ h), K0);
    lane[1] = mix(mix(x, y ^ g), K0);
}

uint64_t wbi_hash64(const void *data, size_t n, uint64_t seed)
{
    const uint8_t *p = data;
    uint64_t h = seed ^ K0 ^ n;

    for (; n > 16; p += 16, n -= 16)
        h = mix(load64(p, 8) ^ K1, load64(p + 8, 8) ^ h);
    if (n > 8)
        return mix(mix(load64(p, 8) ^ K1, load64(p + 8, n - 8) ^ h), K0);
    return mix(mix((n ? load64(p, n) : 0) ^ K1, h), K0);
}
