/* SPDX-License-Identifier: Apache-2.0
 * catalog/semver.h: semantic versions and ranges with npm's meaning, strict
 * (no loose mode, no pre-releases but where a range names one). */
#ifndef WBI_CATALOG_SEMVER_H
#define WBI_CATALOG_SEMVER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/* Slices point into the text it was parsed from. */
struct wbi_semver {
    uint64_t major;
    uint64_t minor;
    uint64_t patch;
    struct wbi_str pre;   /* "alpha.1", absent without one */
    struct wbi_str build; /* ignored by every comparison */
};

/* White space around and one "v" in front are allowed. WB_EINPUT otherwise,
 * also for numbers over 2^53 - 1 and texts over WBI_LIMIT_SEMVER_TEXT. */
WB_MUST_CHECK wb_rc wbi_semver_parse(struct wbi_str text, struct wbi_semver *ret,
                                     struct wbi_error *err);
/* Precedence: -1, 0 or 1. */
int wbi_semver_compare(const struct wbi_semver *a, const struct wbi_semver *b);

struct wbi_semver_range; /* immutable, in its arena */

/* text is copied. WB_EINPUT, WB_ELIMIT (over WBI_LIMIT_SEMVER_RANGE), WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_semver_range_parse(struct wbi_arena *arena, struct wbi_str text,
                                           struct wbi_semver_range **ret, struct wbi_error *err);
bool wbi_semver_satisfies(const struct wbi_semver_range *range, const struct wbi_semver *version);

/* Index of the highest of versions that satisfies range, the first of equals; texts that are
 * no version are passed over. WB_ENOTFOUND when none fits, else the errors of
 * wbi_semver_range_parse. */
WB_MUST_CHECK wb_rc wbi_semver_pick(struct wbi_arena *arena, struct wbi_str range,
                                    const struct wbi_str *versions, size_t n, size_t *ret_index,
                                    struct wbi_error *err);

#endif
