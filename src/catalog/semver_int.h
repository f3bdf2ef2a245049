/* SPDX-License-Identifier: Apache-2.0
 * catalog/semver_int.h: what versions and ranges share. */
#ifndef WBI_CATALOG_SEMVER_INT_H
#define WBI_CATALOG_SEMVER_INT_H

#include "catalog/semver.h"

#define WBI_SEMVER_MAX_NUMBER UINT64_C(9007199254740991)

enum wbi_semver_op {
    WBI_SEMVER_ANY, /* every release */
    WBI_SEMVER_EQ,
    WBI_SEMVER_LT,
    WBI_SEMVER_LE,
    WBI_SEMVER_GT,
    WBI_SEMVER_GE
};

struct wbi_semver_comparator {
    enum wbi_semver_op op;
    struct wbi_semver v;
};

/* Comparators that must all hold: a part of the range's list. */
struct wbi_semver_set {
    size_t first;
    size_t count;
};

/* One of the sets must hold. */
struct wbi_semver_range {
    struct wbi_semver_comparator *comparators;
    size_t comparators_n, comparators_cap;
    struct wbi_semver_set *sets;
    size_t sets_n, sets_cap;
};

/* Each reads at *at, moves it behind what it read, and is false (with *at
 * anywhere) on anything else. A number has no leading zero. */
bool wbi_semver_number(struct wbi_str s, size_t *at, uint64_t *ret);
/* "-" and identifiers; absent when there is no "-". */
bool wbi_semver_pre(struct wbi_str s, size_t *at, struct wbi_str *ret);
/* "+" and identifiers; absent when there is no "+". */
bool wbi_semver_build(struct wbi_str s, size_t *at, struct wbi_str *ret);

#endif
