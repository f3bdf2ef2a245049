/* SPDX-License-Identifier: Apache-2.0
 * guard/policy.h: the settings of all guards, from configuration (C8, S1).
 * Layers: built-in < environment < principals < tools; in one layer a later
 * matching glob wins over an earlier one; a value of null takes an inherited
 * one away. An invocation may only tighten. A file that is not wholly good
 * changes nothing. Values are immutable once resolved. Loop thread only. */
#ifndef WBI_GUARD_POLICY_H
#define WBI_GUARD_POLICY_H

#include "guard/budget.h"
#include "guard/circuit.h"
#include "guard/deadline.h"
#include "guard/idempotency.h"
#include "guard/rate.h"
#include "guard/retry.h"
#include "guard/slots.h"
#include "json/json.h"
#include "json/write.h"

/* One unit of configuration and of provenance. */
enum wbi_policy_item {
    WBI_POLICY_TIMEOUT = 0,
    WBI_POLICY_RATE,
    WBI_POLICY_PROVIDER_RATE,
    WBI_POLICY_CIRCUIT,
    WBI_POLICY_CONCURRENCY,
    WBI_POLICY_BUDGET,
    WBI_POLICY_COST,
    WBI_POLICY_RETRY,
    WBI_POLICY_IDEMPOTENCY,
    WBI_POLICY_CACHE,
    WBI_POLICY_REDACT
};
#define WBI_POLICY_ITEMS 11
/* "timeoutMs", "rate", … as in the file. */
const char *wbi_policy_item_name(enum wbi_policy_item item);

struct wbi_policy_values {
    int64_t timeout_ms;         /* WBI_NO_LIMIT_MS: none */
    struct wbi_rate_limit rate; /* capacity 0: none */
    struct wbi_rate_limit provider_rate;
    bool rate_per_principal; /* each principal has a bucket of its own */
    struct wbi_circuit_settings circuit;
    int64_t concurrency;          /* per tool; WBI_SLOTS_UNLIMITED */
    int64_t provider_concurrency; /* per provider */
    int64_t queue_max;            /* 0: refuse at once */
    int64_t queue_timeout_ms;     /* WBI_NO_LIMIT_MS: until the deadline */
    struct wbi_budget_settings budget;
    int64_t cost; /* of one attempt, unless the tool says otherwise; millionths */
    struct wbi_retry_settings retry;
    struct wbi_idem_settings idempotency;
    int64_t cache_ttl_ns;         /* 0: no cache */
    bool cache_log;               /* events and records may name cache hits */
    const struct wbi_str *redact; /* paths; rules of all layers add up */
    size_t redact_n;
};

struct wbi_policy_source {
    const char *layer;      /* "built-in", "environment", "principal", "tool", "invocation" */
    struct wbi_str file;    /* as given to wbi_policy_add */
    struct wbi_str pattern; /* the glob that matched, as written; absent for environment */
};

struct wbi_policy_effective {
    struct wbi_policy_values values;
    struct wbi_policy_source source[WBI_POLICY_ITEMS];
    const struct wbi_policy_source *redact_source; /* of each path of values.redact */
};

/* No limits but the defaults: no timeout, one attempt, keys for 24 hours. */
struct wbi_policy_values wbi_policy_builtin(void);

struct wbi_policy;
WB_MUST_CHECK wb_rc wbi_policy_new(struct wbi_policy **ret);
void wbi_policy_free(struct wbi_policy *p); /* NULL is fine */

enum wbi_policy_trust {
    WBI_POLICY_TRUSTED = 0,
    WBI_POLICY_TIGHTEN_ONLY /* values looser than what holds without them are not taken */
};
/* Add the `policies` member of a configuration file (copied); NULL adds
 * nothing. Files added later win over earlier ones within a layer. WB_EINPUT
 * with err->at (a JSON Pointer below `policies`) and err->text: nothing of the
 * file was taken. */
WB_MUST_CHECK wb_rc wbi_policy_add(struct wbi_policy *p, const wbi_json *policies,
                                   struct wbi_str file, enum wbi_policy_trust trust,
                                   struct wbi_error *err);
/* Check only. */
WB_MUST_CHECK wb_rc wbi_policy_check(const wbi_json *policies, struct wbi_error *err);

/* What holds for a tool (qualified name) and a principal. builtin_timeout_ms is
 * the tool's own default (WBI_NO_LIMIT_MS: none). Resolved once and kept; *ret
 * lives until the policy is freed or changed by wbi_policy_add, or until
 * WBI_LIMIT_POLICY_CACHE other pairs were asked for: copy it into the call. */
WB_MUST_CHECK wb_rc wbi_policy_effective(struct wbi_policy *p, struct wbi_str tool,
                                         struct wbi_str principal, int64_t builtin_timeout_ms,
                                         const struct wbi_policy_effective **ret);

/* A value of a file that may only tighten. */
struct wbi_policy_tight {
    const char *layer;   /* "environment", "principal" or "tool" */
    struct wbi_str glob; /* absent for the environment */
    struct wbi_str file;
    const char *item;
    bool holds; /* for one at least of the tools and principals that were resolved */
};
/* Each of them. Rules that none of the resolved ones met are tried on the name that they have. */
WB_MUST_CHECK wb_rc wbi_policy_each_tight(struct wbi_policy *p,
                                          void (*each)(void *arg, const struct wbi_policy_tight *t),
                                          void *arg);

/* What an invocation asks for; WBI_NO_LIMIT_MS and 0: nothing. */
struct wbi_policy_wishes {
    int64_t timeout_ms;
    int32_t max_attempts;
    int64_t deadline_ns; /* monotonic; WBI_NO_DEADLINE */
    bool no_cache;
    int64_t max_tokens;    /* of the receipt */
    int64_t budget_tokens; /* and what it has without a wish */
};

struct wbi_policy_clamp {
    const char *what; /* "timeoutMs", "deadline", "retry.maxAttempts", "maxTokens" */
    int64_t asked, given;
};
struct wbi_policy_clamps {
    struct wbi_policy_clamp row[WBI_LIMIT_CLAMPED];
    size_t n;
};

/* Tighten `values` (the call's own copy) by the wishes; looser ones are
 * clamped and noted. A deadline later than now + timeoutMs is noted, too. */
void wbi_policy_tighten(struct wbi_policy_values *values, const struct wbi_policy_wishes *wishes,
                        int64_t now_ns, struct wbi_policy_clamps *ret);

struct wbi_policy_snapshot {
    const struct wbi_policy_values *values;
    struct wbi_str tool, origin;
    int64_t limit_ms;          /* effective limit of the attempt; WBI_NO_LIMIT_MS: none */
    const char *circuit_state; /* NULL: no circuit */
    const struct wbi_policy_clamps *clamps; /* may be NULL */
    const struct wbi_str *redactions;       /* what was removed */
    size_t redactions_n;
};
/* The object of C4.2. */
void wbi_policy_write_snapshot(struct wbi_jw *w, const struct wbi_policy_snapshot *s);
/* {"timeoutMs": {"value": …, "from": {"layer", "file"?, "pattern"?}}, …} for
 * `waybill policy explain`. */
void wbi_policy_write_explain(struct wbi_jw *w, const struct wbi_policy_effective *e);

#endif
