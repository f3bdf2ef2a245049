/* SPDX-License-Identifier: Apache-2.0
 * guard/approvals.h: calls that wait for somebody's yes (C3.4).
 * An approval ends exactly once: granted, refused, expired at its deadline
 * (which counts as refused) or withdrawn. Loop thread only. */
#ifndef WBI_GUARD_APPROVALS_H
#define WBI_GUARD_APPROVALS_H

#include "base/id.h"
#include "base/slice.h"
#include "waybill/rc.h"

struct wbi_approvals;

enum wbi_approval_end { WBI_APPROVAL_GRANTED = 1, WBI_APPROVAL_REFUSED, WBI_APPROVAL_EXPIRED };

struct wbi_approval {
    char id[WBI_ID_SIZE];
    struct wbi_str tool, principal;
    struct wbi_str text; /* what is to be approved, redacted; kept up to a limit */
    size_t text_size;    /* of all of it */
    int64_t created_ns, deadline_ns;
};

/* Slices live until the callback returns. May call any function here. */
typedef void wbi_approval_fn(void *arg, const struct wbi_approval *approval,
                             enum wbi_approval_end end, struct wbi_str who);

WB_MUST_CHECK wb_rc wbi_approvals_new(const struct wbi_ids *ids, struct wbi_approvals **ret);
/* Pending ones are dropped without a callback. NULL is fine. */
void wbi_approvals_free(struct wbi_approvals *a);

/* Park a call; `like` gives tool, principal, text (cut to
 * WBI_LIMIT_APPROVAL_TEXT) and times. WB_ELIMIT when too many wait. */
WB_MUST_CHECK wb_rc wbi_approvals_create(struct wbi_approvals *a, const struct wbi_approval *like,
                                         wbi_approval_fn *on_end, void *arg,
                                         char ret_id[WBI_ID_SIZE]);
/* WB_ENOTFOUND: no such approval is pending (any more). */
WB_MUST_CHECK wb_rc wbi_approvals_resolve(struct wbi_approvals *a, struct wbi_str id, bool granted,
                                          struct wbi_str who);
/* The call went away; no callback. */
void wbi_approvals_withdraw(struct wbi_approvals *a, struct wbi_str id);
/* Expire everything with deadline <= now. */
void wbi_approvals_tick(struct wbi_approvals *a, int64_t now_ns);
int64_t wbi_approvals_next_wake(const struct wbi_approvals *a); /* INT64_MAX: never */
/* The i-th pending one, oldest first; NULL past the end. */
const struct wbi_approval *wbi_approvals_at(const struct wbi_approvals *a, size_t i);
size_t wbi_approvals_count(const struct wbi_approvals *a);

#endif
