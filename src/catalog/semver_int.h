/* SPDX-License-Identifier: Apache-2.0
 * catalog/semver_int.h: what versions and ranges share. */
#ifndef WBI_CATALOG_SEMVER_INT_H
#define WBI_CATALOG_SEMVER_INT_H

#include "catalog/semver.h"

#define WBI_SEMVER_MAX_NUMBER UINT64_C(9007199254740991)

/* Each reads at *at, moves it behind what it read, and is false (with *at
 * anywhere) on anything else. A number has no leading zero. */
bool wbi_semver_number(struct wbi_str s, size_t *at, uint64_t *ret);
/* "-" and identifiers; absent when there is no "-". */
bool wbi_semver_pre(struct wbi_str s, size_t *at, struct wbi_str *ret);
/* "+" and identifiers; absent when there is no "+". */
bool wbi_semver_build(struct wbi_str s, size_t *at, struct wbi_str *ret);

#endif
