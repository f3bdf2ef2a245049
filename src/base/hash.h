/* SPDX-License-Identifier: Apache-2.0
 * base/hash.h: SHA-256, hexadecimal, and a seeded 64-bit hash for tables. */
#ifndef WBI_BASE_HASH_H
#define WBI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define WBI_SHA256_SIZE 32
#define WBI_SHA256_HEX 65

/* Any thread. Only wbi_sha256_new can fail (WB_ENOMEM). */
WB_MUST_CHECK wb_rc wbi_sha256(const void *p, size_t n, uint8_t out[WBI_SHA256_SIZE]);

struct wbi_sha256;
WB_MUST_CHECK wb_rc wbi_sha256_new(struct wbi_sha256 **ret);
/* Ready for the next message. */
WB_MUST_CHECK wb_rc wbi_sha256_restart(struct wbi_sha256 *h);
WB_MUST_CHECK wb_rc wbi_sha256_add(struct wbi_sha256 *h, const void *p, size_t n);
WB_MUST_CHECK wb_rc wbi_sha256_end(struct wbi_sha256 *h, uint8_t out[WBI_SHA256_SIZE]);
void wbi_sha256_free(struct wbi_sha256 *h);

/* Lower case, NUL-terminated; out holds 2 n + 1 bytes. */
void wbi_hex(const uint8_t *p, size_t n, char *out);
/* Both cases; false on odd length or other bytes. out holds s.n / 2 bytes. */
bool wbi_unhex(struct wbi_str s, uint8_t *out);

/* Not cryptographic; the seed keeps outsiders from building collisions. */
uint64_t wbi_hash64(const void *p, size_t n, uint64_t seed);
/* Two of them in one pass, where 64 bits are too few: lane holds the seeds and
 * gets the hashes. */
void wbi_hash64_twice(const void *p, size_t n, uint64_t lane[2]);

#endif
