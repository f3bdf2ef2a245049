/* SPDX-License-Identifier: Apache-2.0
 * base/id.c */
#include "base/id.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"

static void system_fill(void *arg, uint8_t *out, size_t n)
{
    (void)arg;
    while (n > 0) {
        ssize_t got = getrandom(out, n, 0);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            memset(out, 0, n); /* cannot happen for 256 bytes or less after boot */
            return;
        }
        out += got;
        n -= (size_t)got;
    }
}

struct wbi_ids wbi_ids_system(void)
{
    return (struct wbi_ids){.fill = system_fill};
}

static void pooled_fill(void *arg, uint8_t *out, size_t n)
{
    struct wbi_ids_pool *pool = arg;

    if (n > sizeof(pool->bytes)) {
        system_fill(NULL, out, n);
        return;
    }
    if (pool->left < n) {
        system_fill(NULL, pool->bytes, sizeof(pool->bytes));
        pool->left = sizeof(pool->bytes);
    }
    pool->left -= n;
    memcpy(out, pool->bytes + pool->left, n);
}

struct wbi_ids wbi_ids_pooled(struct wbi_ids_pool *pool)
{
    pooled_fill(pool, (uint8_t *)&pool->serial, sizeof(pool->serial));
    return (struct wbi_ids){pooled_fill, pool, &pool->serial};
}

static void counting_fill(void *arg, uint8_t *out, size_t n)
{
    uint64_t v = ++*(uint64_t *)arg;

    memset(out, 0, n);
    for (size_t i = 0; i < n && i < sizeof(v); i++)
        out[n - 1 - i] = (uint8_t)(v >> (8 * i));
}

struct wbi_ids wbi_ids_counting(uint64_t *counter)
{
    return (struct wbi_ids){.fill = counting_fill, .arg = counter};
}

void wbi_id_uuid(const struct wbi_ids *ids, char out[WBI_UUID_SIZE])
{
    uint8_t b[16];
    char hex[33];

    ids->fill(ids->arg, b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    wbi_hex(b, sizeof(b), hex);
    memcpy(out, hex, 8);
    out[8] = '-';
    memcpy(out + 9, hex + 8, 4);
    out[13] = '-';
    memcpy(out + 14, hex + 12, 4);
    out[18] = '-';
    memcpy(out + 19, hex + 16, 4);
    out[23] = '-';
    memcpy(out + 24, hex + 20, 12);
    out[36] = '\0';
}

#define ID_BYTES 10

static void write_id(const char *prefix, const uint8_t b[ID_BYTES], char out[WBI_ID_SIZE])
{
    size_t n = strlen(prefix);

    if (n > 16)
        n = 16;
    memcpy(out, prefix, n);
    wbi_hex(b, ID_BYTES, out + n);
}

void wbi_id_make(const struct wbi_ids *ids, const char *prefix, char out[WBI_ID_SIZE])
{
    uint8_t b[ID_BYTES];

    ids->fill(ids->arg, b, sizeof(b));
    write_id(prefix, b, out);
}

void wbi_id_ordered(const struct wbi_ids *ids, int64_t wall_ms, const char *prefix,
                    char out[WBI_ID_SIZE])
{
    uint8_t b[ID_BYTES];
    uint32_t serial;

    if (ids->serial == NULL) {
        wbi_id_make(ids, prefix, out);
        return;
    }
    serial = ++*ids->serial;
    for (unsigned i = 0; i < 6; i++)
        b[i] = (uint8_t)((uint64_t)wall_ms >> (40 - 8 * i));
    for (unsigned i = 0; i < 4; i++)
        b[6 + i] = (uint8_t)(serial >> (24 - 8 * i));
    write_id(prefix, b, out);
}
