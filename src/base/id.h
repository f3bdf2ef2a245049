/* SPDX-License-Identifier: Apache-2.0
 * base/id.h: identifiers from an injectable source. */
#ifndef WBI_BASE_ID_H
#define WBI_BASE_ID_H

#include <stddef.h>
#include <stdint.h>

struct wbi_ids {
    void (*fill)(void *arg, uint8_t *out, size_t n);
    void *arg;
    uint32_t *serial; /* of ordered ids; NULL: they are made like all others */
};

/* The kernel's random source. */
struct wbi_ids wbi_ids_system(void);
/* The same, taken in larger pieces: a system call for one id costs more than a
 * short call does. One thread at a time; not across fork. */
struct wbi_ids_pool {
    uint8_t bytes[512];
    size_t left;
    uint32_t serial;
};
struct wbi_ids wbi_ids_pooled(struct wbi_ids_pool *pool);
/* Counts up from *counter: same start, same ids. */
struct wbi_ids wbi_ids_counting(uint64_t *counter);

#define WBI_UUID_SIZE 37
/* Dashed version 4 UUID. */
void wbi_id_uuid(const struct wbi_ids *ids, char out[WBI_UUID_SIZE]);

#define WBI_ID_SIZE 40
/* prefix (at most 16 bytes) and 20 hex digits: "call_1f…". */
void wbi_id_make(const struct wbi_ids *ids, const char *prefix, char out[WBI_ID_SIZE]);
/* The same in the order of time: 12 digits of milliseconds, then 8 that begin
 * anywhere and count. An index of random ids has another page to write for every
 * row, one of these grows at its end. */
void wbi_id_ordered(const struct wbi_ids *ids, int64_t wall_ms, const char *prefix,
                    char out[WBI_ID_SIZE]);

#endif
