/* SPDX-License-Identifier: Apache-2.0
 * ledger/verify.c: is every row still what was appended, in its place?
 * Needs no secret and changes nothing. The chain shows any change of a row that
 * others follow; a tail cut off shows only against a head kept outside. */
#include "ledger/ledger_int.h"

#include <stdio.h>

#include "base/alloc.h"

struct verify {
    struct wbi_ledger *ledger;
    struct wbi_sha256 *sha;
    struct wbi_verify_report *report;
    struct wbi_witness anchor, prev;
    int64_t pruned;                  /* up to here since the verifying began; 0: nothing */
    const struct wbi_witness *heads; /* to be met on the way */
    bool *met;
    size_t heads_n;
    struct wbi_error *err;
    wb_rc rc;
};

__attribute__((format(printf, 3, 4))) static bool bad(struct verify *v, int64_t seq,
                                                      const char *fmt, ...)
{
    va_list args;

    v->report->good = false;
    v->report->first_bad = seq;
    va_start(args, fmt);
    (void)vsnprintf(v->report->what, sizeof(v->report->what), fmt, args);
    va_end(args);
    return false;
}

/* Rows come in several reads. Those that another process has pruned between two of them are
 * not missing: what is left follows from the anchor. */
static wb_rc follow_anchor(struct verify *v)
{
    wb_rc rc = wbi_store_anchor(v->ledger->store, &v->anchor, v->err);

    if (rc == WB_OK && v->anchor.seq > v->prev.seq)
        v->prev = v->anchor;
    return rc;
}

static bool check_row(void *arg, const struct wbi_row *given)
{
    struct verify *v = arg;
    struct wbi_row row = *given;
    uint8_t hash[WBI_SHA256_SIZE];

    if (row.seq > v->prev.seq + 1) {
        v->rc = follow_anchor(v);
        if (v->rc != WB_OK)
            return false;
        v->pruned = v->prev.seq;
    }
    if (row.seq <= v->pruned)
        return true; /* since it was read, maybe with others behind it */
    if (row.seq != v->prev.seq + 1)
        return bad(v, v->prev.seq + 1, "row %lld is missing (the next one is %lld)",
                   (long long)v->prev.seq + 1, (long long)row.seq);
    if (row.ill_typed)
        return bad(v, row.seq, "row %lld was edited: a column has another type",
                   (long long)row.seq);
    v->rc = wbi_chain_hash(v->sha, v->prev.hash, &row, hash);
    if (v->rc != WB_OK)
        return false;
    if (memcmp(hash, row.hash, sizeof(hash)) != 0)
        return bad(v, row.seq,
                   "row %lld does not follow from row %lld: it was edited, swapped, inserted or "
                   "moved",
                   (long long)row.seq, (long long)v->prev.seq);
    v->prev.seq = row.seq;
    memcpy(v->prev.hash, row.hash, sizeof(row.hash));
    v->report->rows++;
    for (size_t i = 0; i < v->heads_n; i++) {
        if (v->heads[i].seq == row.seq)
            v->met[i] = memcmp(v->heads[i].hash, row.hash, sizeof(row.hash)) == 0;
    }
    return true;
}

static void check_heads(struct verify *v)
{
    const struct wbi_witness *anchor = &v->anchor;

    for (size_t i = 0; v->report->good && i < v->heads_n; i++) {
        int64_t seq = v->heads[i].seq;
        if (v->met[i] || seq < anchor->seq ||
            (seq == anchor->seq && memcmp(v->heads[i].hash, anchor->hash, WBI_SHA256_SIZE) == 0))
            continue;
        if (seq > v->prev.seq)
            (void)bad(v, v->prev.seq + 1,
                      "rows %lld to %lld are missing: a witness has seen row %lld",
                      (long long)v->prev.seq + 1, (long long)seq, (long long)seq);
        else
            (void)bad(v, seq,
                      "row %lld is not the one a witness has seen: the ledger was rewritten",
                      (long long)seq);
    }
}

/* The given heads and the one in the user's folder. */
static wb_rc gather_heads(struct wbi_ledger *l, const struct wbi_witness *given, size_t n,
                          struct verify *v)
{
    struct wbi_witness *heads = wbi_zalloc_array(n + 1, sizeof(*heads));

    v->met = wbi_zalloc_array(n + 1, sizeof(*v->met));
    v->heads = heads;
    if (heads == NULL || v->met == NULL)
        return WB_ENOMEM;
    if (n > 0)
        memcpy(heads, given, n * sizeof(*heads));
    v->heads_n = n;
    if (wbi_dir_witness_read(wbi_store_dir(l->store), &heads[n]) == WB_OK)
        v->heads_n = n + 1;
    return WB_OK;
}

wb_rc wbi_ledger_verify(struct wbi_ledger *l, const struct wbi_witness *witnesses, size_t n,
                        struct wbi_verify_report *ret, struct wbi_error *err)
{
    struct wbi_verify_report report = {.good = true};
    struct verify v = {.ledger = l, .report = &report, .prev = {.seq = -1}, .err = err};
    struct wbi_row_query all = {.max = 0};
    struct wbi_error found = WBI_ERROR_INIT;
    wb_rc rc = wbi_sha256_new(&v.sha);

    if (rc == WB_OK)
        rc = gather_heads(l, witnesses, n, &v);
    if (rc != WB_OK)
        rc = wbi_fail(err, rc, "ledger: cannot verify: out of memory");
    else
        rc = follow_anchor(&v);
    if (rc == WB_OK)
        rc = wbi_ledger_list_stored(l, &all, check_row, &v, err);
    if (rc == WB_OK)
        rc = v.rc;
    if (rc == WB_OK && report.good)
        rc = follow_anchor(&v); /* the last rows, too, may have gone */
    if (rc == WB_OK)
        check_heads(&v);
    if (rc == WB_OK && report.good && wbi_store_check(l->store, &found) != WB_OK) {
        if (found.rc == WB_ESTATE)
            (void)bad(&v, 0, "%s", found.text);
        else
            rc = wbi_fail_kind(err, found.rc, found.kind, "%s", found.text);
    }
    report.head = v.prev;
    if (rc == WB_OK)
        *ret = report;
    wbi_sha256_free(v.sha);
    wbi_free(v.met);
    wbi_free((void *)(uintptr_t)v.heads);
    return rc;
}
