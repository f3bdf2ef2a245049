/* SPDX-License-Identifier: Apache-2.0
 * text/preview_shape_int.h: the shape of a line while the line is read. Of each chunk (what
 * stands between blanks and marks) its letters, folded, and marks count, or only that it is
 * one, when it varies; marks count as they are, and of what is quoted only that it is. Where
 * a line is read many bytes at a time this is written down, to be hashed in the end, and else
 * hashed piece by piece: equal lines are told by both, though with hashes of their own. */
#ifndef WBI_TEXT_PREVIEW_SHAPE_INT_H
#define WBI_TEXT_PREVIEW_SHAPE_INT_H

#include "text/preview_bits_int.h"

#define SHAPE_BLOCK 256u /* hashed as soon as there are so many */
#define CHUNK_MAX 256u   /* bytes of one chunk that are written down */
#define CHUNK_FIRST 0x80u
#define SHAPE_BYTES (SHAPE_BLOCK + CHUNK_MAX + 64)
enum { SHAPE_VARIES = 1, SHAPE_QUOTED = 2, SHAPE_HIGH = 3 };

/* Apart from the bytes, so that it stays in registers. */
struct shape_text {
    uint8_t *bytes; /* SHAPE_BYTES, or NULL where nothing is written down */
    size_t n;       /* written */
    size_t chunk;   /* where the chunk under way begins; its hash when nothing is written */
    uint64_t hash;  /* of what came before */
};

static INLINE struct shape_text shape_begin(uint8_t *bytes)
{
    return (struct shape_text){bytes, 0, bytes != NULL ? 0 : HASH_START, HASH_START};
}

/* What is written now stays. */
static INLINE void shape_settle(struct shape_text *t)
{
    if (t->n >= SHAPE_BLOCK) {
        for (size_t i = 0; i < SHAPE_BLOCK; i += 8)
            t->hash = mix(t->hash, load_8(t->bytes + i, t->bytes + SHAPE_BLOCK));
        t->n -= SHAPE_BLOCK;
        memmove(t->bytes, t->bytes + SHAPE_BLOCK, t->n);
    }
    t->chunk = t->n;
}

/* Outside of chunks. */
static INLINE void shape_mark(struct shape_text *t, uint8_t c)
{
    if (t->bytes == NULL) {
        t->hash = mix(t->hash, c);
        return;
    }
    t->bytes[t->n++] = c;
    shape_settle(t);
}

/* Up to eight bytes of a chunk, the first lowest. */
static INLINE void shape_add(struct shape_text *t, uint64_t v, size_t n)
{
    if (t->bytes == NULL) {
        t->chunk = mix(t->chunk, v);
        return;
    }
    if (t->n - t->chunk > CHUNK_MAX)
        return;
    v = htole64(v);
    memcpy(t->bytes + t->n, &v, 8);
    t->n += n;
}

/* The n letters at p with that hash. */
static INLINE void shape_word(struct shape_text *t, uint64_t hash, const uint8_t *p, size_t n,
                              const uint8_t *readable)
{
    if (t->bytes == NULL) {
        t->chunk = mix(t->chunk, hash);
        return;
    }
    for (; n > 8; n -= 8, p += 8)
        shape_add(t, load_8(p, readable) | BYTES(0x20), 8);
    shape_add(t, load_8(p, readable) | BYTES(0x20), n);
}

/* Two words of a chunk are kept apart. */
static INLINE void shape_apart(struct shape_text *t)
{
    if (t->bytes != NULL)
        shape_add(t, '\'', 1);
}

static INLINE void shape_high(struct shape_text *t, uint64_t v, size_t n)
{
    if (t->bytes != NULL)
        shape_add(t, SHAPE_HIGH, 1);
    shape_add(t, v, n);
}

static INLINE void shape_end_chunk(struct shape_text *t, bool varies, bool quoted)
{
    if (t->bytes == NULL) {
        if (!quoted)
            t->hash = mix(t->hash, varies ? SHAPE_VARIES : t->chunk);
        t->chunk = HASH_START;
        return;
    }
    if (quoted)
        t->n = t->chunk;
    else if (varies)
        t->n = t->chunk + 1;
    t->bytes[t->chunk] = (varies ? SHAPE_VARIES : t->bytes[t->chunk]) | CHUNK_FIRST;
    shape_settle(t);
}

static INLINE uint64_t shape_end(const struct shape_text *t)
{
    uint64_t h = t->hash;
    size_t i = 0;

    if (t->bytes == NULL)
        return h;
    for (; i + 8 <= t->n; i += 8)
        h = mix(h, load_8(t->bytes + i, t->bytes + t->n));
    return mix(h, (load_8(t->bytes + i, t->bytes + i + 8) & ((1ull << 8 * (t->n - i)) - 1)) ^
                      (uint64_t)t->n << 56);
}

#endif
