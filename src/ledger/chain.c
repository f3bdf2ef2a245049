/* SPDX-License-Identifier: Apache-2.0
 * ledger/chain.c: the definition of the chain (docs/ledger.md).
 * hash(n) = SHA-256(label, hash(n-1), seq, time_ms, duration_us, texts in order).
 * Numbers are eight bytes, highest first; a text is 'T', its length as such a
 * number and its bytes; an absent one is 'N'. So no two rows have the same bytes. */
#include <endian.h>

#include "base/local.h"
#include "ledger/ledger.h"

static const char label[] = "waybill.ledger.row.v1"; /* hashed with its NUL */

static size_t put_number(uint8_t *out, uint64_t v)
{
    v = htobe64(v);
    memcpy(out, &v, sizeof(v));
    return sizeof(v);
}

/* Small pieces are gathered, most rows whole: a call each would cost more than the hash. */
struct gather {
    struct wbi_sha256 *sha;
    uint8_t bytes[2048];
    size_t n;
    wb_rc rc;
};

static void flush(struct gather *g)
{
    if (g->rc == WB_OK && g->n > 0)
        g->rc = wbi_sha256_add(g->sha, g->bytes, g->n);
    g->n = 0;
}

static void add_text(struct gather *g, struct wbi_str s)
{
    if (g->n + 9 > sizeof(g->bytes))
        flush(g);
    g->bytes[g->n++] = s.p != NULL ? 'T' : 'N';
    if (s.p == NULL)
        return;
    g->n += put_number(g->bytes + g->n, s.n);
    if (g->n + s.n <= sizeof(g->bytes)) {
        memcpy(g->bytes + g->n, s.p, s.n);
        g->n += s.n;
        return;
    }
    flush(g);
    if (g->rc == WB_OK)
        g->rc = wbi_sha256_add(g->sha, s.p, s.n);
}

wb_rc wbi_chain_hash(struct wbi_sha256 *sha, const uint8_t prev[WBI_SHA256_SIZE],
                     struct wbi_row *row, uint8_t ret[WBI_SHA256_SIZE])
{
    WBI_LARGE_LOCAL struct gather g;
    struct wbi_str *texts[WBI_ROW_TEXT_COUNT];

    g.sha = sha;
    g.rc = wbi_sha256_restart(sha);
    memcpy(g.bytes, label, sizeof(label));
    g.n = sizeof(label);
    memcpy(g.bytes + g.n, prev, WBI_SHA256_SIZE);
    g.n += WBI_SHA256_SIZE;
    g.n += put_number(g.bytes + g.n, (uint64_t)row->seq);
    g.n += put_number(g.bytes + g.n, (uint64_t)row->time_ms);
    g.n += put_number(g.bytes + g.n, (uint64_t)row->duration_us);
    wbi_row_texts(row, texts);
    for (size_t i = 0; i < WBI_ROW_TEXT_COUNT; i++)
        add_text(&g, *texts[i]);
    flush(&g);
    return g.rc == WB_OK ? wbi_sha256_end(sha, ret) : g.rc;
}
