/* SPDX-License-Identifier: Apache-2.0
 * store/row.h: one row of the ledger table, as every room sees it.
 * Texts are slices: absent is NULL in the database, empty is ''. Who fills a
 * row keeps its memory; who reads one gets slices of the given arena. */
#ifndef WBI_STORE_ROW_H
#define WBI_STORE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/slice.h"

/* The text columns in the order in which they are hashed and stored. */
/* clang-format off */
#define WBI_ROW_TEXTS(X) \
    X(call_id) X(kind) X(tool) X(status) X(error_kind) X(conversation) X(provider_call_id) \
    X(principal) X(effect) X(owner) X(invocation) X(canonical) X(result) X(receipt) \
    X(artifacts) X(timings) X(policy) X(trust) X(events)
/* clang-format on */
#define WBI_ROW_TEXT_COUNT 19

struct wbi_row {
    int64_t seq;         /* given by the ledger when the row is appended */
    int64_t time_ms;     /* wall clock */
    int64_t duration_us; /* -1: none */
#define X(name) struct wbi_str name;
    WBI_ROW_TEXTS(X)
#undef X
    uint8_t hash[WBI_SHA256_SIZE]; /* given by the ledger when the row is appended */
    bool ill_typed;                /* read from a database someone has tampered with */
};

/* The texts of a row as an array of WBI_ROW_TEXT_COUNT pointers, in order. */
void wbi_row_texts(struct wbi_row *row, struct wbi_str *ret[WBI_ROW_TEXT_COUNT]);

#endif
