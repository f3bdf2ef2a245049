/* SPDX-License-Identifier: Apache-2.0
 * base/buf.h: a growing byte buffer with a mandatory cap.
 * Failure is sticky: after the first failed add every later add does nothing,
 * so a writer may add many times and ask wbi_buf_rc() once at the end. */
#ifndef WBI_BASE_BUF_H
#define WBI_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"
#include "waybill/rc.h"

struct wbi_arena;

struct wbi_buf {
    char *p;
    size_t n;
    size_t
        end; /* of what may be filled without a look at the rest: cap, max + 1, n after a failure */
    size_t cap;
    size_t max;
    struct wbi_arena *arena; /* NULL: heap */
    wb_rc rc;
};

void wbi_buf_init(struct wbi_buf *b, size_t max);
void wbi_buf_init_arena(struct wbi_buf *b, struct wbi_arena *arena, size_t max);
/* Frees heap memory, leaves an empty buffer; not needed for arena buffers. */
void wbi_buf_fini(struct wbi_buf *b);
/* Empty for reuse, memory kept, failure forgotten. */
void wbi_buf_clear(struct wbi_buf *b);

/* Room for n more bytes and a NUL; NULL when the buffer fails. */
char *wbi_buf_grow(struct wbi_buf *b, size_t n);

/* Room for n more bytes at the returned place, NULL on failure; then set b->n. */
static inline char *wbi_buf_room(struct wbi_buf *b, size_t n)
{
    if (n < b->end - b->n)
        return b->p + b->n;
    return wbi_buf_grow(b, n);
}

static inline void wbi_buf_add(struct wbi_buf *b, const void *p, size_t n)
{
    char *room = wbi_buf_room(b, n);

    if (room == NULL)
        return;
    if (n > 0)
        memcpy(room, p, n);
    room[n] = '\0';
    b->n += n;
}

static inline void wbi_buf_addc(struct wbi_buf *b, char c)
{
    wbi_buf_add(b, &c, 1);
}
static inline void wbi_buf_addz(struct wbi_buf *b, const char *z)
{
    wbi_buf_add(b, z, strlen(z));
}
static inline void wbi_buf_adds(struct wbi_buf *b, struct wbi_str s)
{
    wbi_buf_add(b, s.p, s.n);
}
void wbi_buf_addu(struct wbi_buf *b, uint64_t v);
void wbi_buf_addi(struct wbi_buf *b, int64_t v);
void wbi_buf_add64(struct wbi_buf *b, struct wbi_str bytes); /* as base64 */
__attribute__((format(printf, 2, 3))) void wbi_buf_addf(struct wbi_buf *b, const char *fmt, ...);

/* WB_OK, WB_ENOMEM or WB_ELIMIT. */
static inline wb_rc wbi_buf_rc(const struct wbi_buf *b)
{
    return b->rc;
}
static inline struct wbi_str wbi_buf_str(const struct wbi_buf *b)
{
    return wbi_str_make(b->p ? b->p : "", b->n);
}
/* Heap buffers only: hands the NUL-terminated memory out; free with wbi_free.
 * NULL if an add failed; the buffer is empty afterwards. */
char *wbi_buf_take(struct wbi_buf *b, size_t *ret_n);

#endif
