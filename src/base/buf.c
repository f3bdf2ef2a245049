/* SPDX-License-Identifier: Apache-2.0
 * base/buf.c: see buf.h for the contract. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/checked.h"

void wbi_buf_init(struct wbi_buf *b, size_t max)
{
    *b = (struct wbi_buf){.max = max};
}

void wbi_buf_init_arena(struct wbi_buf *b, struct wbi_arena *arena, size_t max)
{
    *b = (struct wbi_buf){.max = max, .arena = arena};
}

void wbi_buf_fini(struct wbi_buf *b)
{
    if (b->arena == NULL)
        wbi_free(b->p);
    *b = (struct wbi_buf){.max = b->max, .arena = b->arena};
}

/* The NUL has its place behind the last byte. */
static void set_end(struct wbi_buf *b)
{
    b->end = b->cap <= b->max ? b->cap : b->max + 1;
}

void wbi_buf_clear(struct wbi_buf *b)
{
    b->n = 0;
    b->rc = WB_OK;
    set_end(b);
}

/* Most texts of a call fit, and are not moved a second time. */
#define FIRST_SIZE ((size_t)256)

static char *resize(struct wbi_buf *b, size_t cap)
{
    if (b->arena != NULL)
        return wbi_arena_grow(b->arena, b->p, b->cap, cap);
    return wbi_realloc(b->p, cap);
}

static bool fail(struct wbi_buf *b, wb_rc rc)
{
    b->rc = rc;
    b->end = b->n; /* nothing more is taken without a look at rc */
    return false;
}

/* Room for n more bytes and a NUL. */
static bool reserve(struct wbi_buf *b, size_t n)
{
    size_t need, cap;
    char *p;

    if (b->rc != WB_OK)
        return false;
    if (!wbi_add(b->n, n, &need) || need > b->max || !wbi_add(need, (size_t)1, &need))
        return fail(b, WB_ELIMIT);
    if (need <= b->cap)
        return true;
    cap = b->cap ? b->cap : FIRST_SIZE;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    p = resize(b, cap);
    if (p == NULL)
        return fail(b, WB_ENOMEM);
    b->p = p;
    b->cap = cap;
    set_end(b);
    return true;
}

/* The first memory of most texts of a call. */
static char *start(struct wbi_buf *b)
{
    b->p = wbi_arena_alloc(b->arena, FIRST_SIZE);
    if (b->p == NULL) {
        (void)fail(b, WB_ENOMEM);
        return NULL;
    }
    b->cap = FIRST_SIZE;
    set_end(b);
    return b->p;
}

char *wbi_buf_grow(struct wbi_buf *b, size_t n)
{
    if (b->p == NULL && b->arena != NULL && n < FIRST_SIZE && n <= b->max && b->rc == WB_OK)
        return start(b);
    return reserve(b, n) ? b->p + b->n : NULL;
}

/* 1233 / 4096 is nearly log10(2): right or one too few. */
static size_t digits_of(uint64_t v)
{
    static const uint64_t tens[] = {0,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    100000,
                                    1000000,
                                    10000000,
                                    100000000,
                                    1000000000,
                                    10000000000,
                                    100000000000,
                                    1000000000000,
                                    10000000000000,
                                    100000000000000,
                                    1000000000000000,
                                    10000000000000000,
                                    100000000000000000,
                                    1000000000000000000,
                                    10000000000000000000u};
    size_t low = (size_t)(64 - __builtin_clzll(v | 1)) * 1233 >> 12;

    return low + (v >= tens[low]);
}

void wbi_buf_addu(struct wbi_buf *b, uint64_t v)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    size_t n = digits_of(v), at = n;
    char *room = wbi_buf_room(b, n);

    if (room == NULL)
        return;
    for (; v >= 100; v /= 100) {
        at -= 2;
        memcpy(room + at, pairs + v % 100 * 2, 2);
    }
    if (v >= 10)
        memcpy(room, pairs + v * 2, 2);
    else
        room[0] = (char)('0' + v);
    room[n] = '\0';
    b->n += n;
}

void wbi_buf_addi(struct wbi_buf *b, int64_t v)
{
    if (v < 0) {
        wbi_buf_addc(b, '-');
        wbi_buf_addu(b, ~(uint64_t)v + 1);
        return;
    }
    wbi_buf_addu(b, (uint64_t)v);
}

void wbi_buf_addf(struct wbi_buf *b, const char *fmt, ...)
{
    char *room = wbi_buf_room(b, 0);
    va_list ap, again;
    int n;

    if (room == NULL)
        return;
    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(room, b->cap - b->n, fmt, ap); /* most fit and need no second look */
    va_end(ap);
    if (n < 0) {
        (void)fail(b, WB_EINTERNAL);
    } else if ((size_t)n < b->end - b->n) {
        b->n += (size_t)n;
    } else if (reserve(b, (size_t)n)) {
        (void)vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again); /* measured above */
        b->n += (size_t)n;
    } else {
        b->p[b->n] = '\0';
    }
    va_end(again);
}

char *wbi_buf_take(struct wbi_buf *b, size_t *ret_n)
{
    char *p;

    if (!reserve(b, 0)) {
        wbi_buf_fini(b);
        return NULL;
    }
    p = b->p;
    p[b->n] = '\0';
    if (ret_n != NULL)
        *ret_n = b->n;
    *b = (struct wbi_buf){.max = b->max};
    return p;
}

void wbi_buf_add64(struct wbi_buf *b, struct wbi_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        uint32_t v = (uint32_t)(uint8_t)bytes.p[i] << 16 |
                     (left > 1 ? (uint32_t)(uint8_t)bytes.p[i + 1] << 8 : 0) |
                     (left > 2 ? (uint32_t)(uint8_t)bytes.p[i + 2] : 0);
        char four[4] = {digits[v >> 18 & 63], digits[v >> 12 & 63],
                        left > 1 ? digits[v >> 6 & 63] : '=', left > 2 ? digits[v & 63] : '='};

        wbi_buf_add(b, four, sizeof(four));
    }
}
