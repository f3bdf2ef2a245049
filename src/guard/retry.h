/* SPDX-License-Identifier: Apache-2.0
 * guard/retry.h: whether to try again, and when (C8.5).
 * Only an IdempotentWrite with a key is retried, which the caller checks
 * (wbi_retry_may). Delays grow exponentially with jitter, are capped and never
 * reach the deadline; a provider's hint replaces one delay and restarts the
 * growth; a quota per provider stops retry storms. Loop thread only. */
#ifndef WBI_GUARD_RETRY_H
#define WBI_GUARD_RETRY_H

#include "base/id.h"
#include "guard/effect.h"
#include "guard/table.h"

enum wbi_jitter { WBI_JITTER_SPREAD = 0, WBI_JITTER_FULL, WBI_JITTER_NONE };

struct wbi_retry_settings {
    bool set;
    int32_t max_attempts; /* the first try included; 1: no retries */
    int64_t base_ns;
    int64_t cap_ns;
    int32_t multiplier_percent; /* 200: doubles */
    enum wbi_jitter jitter;
    int32_t jitter_percent; /* of SPREAD: nominal times 1 - j .. 1 + j */
    int64_t total_ns;       /* most time from the first try to the last start; 0: no bound */
    int64_t quota;          /* tokens of a provider when full */
};

#define WBI_RETRY_QUOTA 500
#define WBI_RETRY_COST 5
#define WBI_RETRY_COST_TIMEOUT 10

struct wbi_retry_settings wbi_retry_defaults(void);

/* Of one call. */
struct wbi_retry_state {
    int32_t attempts; /* tries begun, >= 1 */
    int32_t step;     /* growth since the start or the last hint */
    int64_t last_cost;
    int64_t first_ns;
};

enum wbi_retry_failure {
    WBI_RETRY_TRANSIENT = 0,
    WBI_RETRY_TIMEOUT,
    WBI_RETRY_FINAL /* contract, auth, budget, key misuse: never again */
};

/* The provider said nothing / said "do not retry" (or gibberish). */
#define WBI_HINT_NONE INT64_C(-1)
#define WBI_HINT_STOP INT64_C(-2)

enum wbi_retry_verdict {
    WBI_RETRY_GO = 0,
    WBI_RETRY_STOP_FINAL,    /* the failure is not of the kind that passes */
    WBI_RETRY_STOP_ATTEMPTS, /* all tries used */
    WBI_RETRY_STOP_DEADLINE, /* the next try could not begin in time */
    WBI_RETRY_STOP_QUOTA,    /* the provider's quota is spent */
    WBI_RETRY_STOP_HINT      /* the provider asked to stop */
};

struct wbi_retry {
    struct wbi_table quotas; /* int64_t tokens spent, by provider */
    struct wbi_ids random;
};

void wbi_retry_init(struct wbi_retry *r, const struct wbi_ids *random);
void wbi_retry_fini(struct wbi_retry *r);
bool wbi_retry_may(enum wbi_guard_effect effect, struct wbi_str idempotency_key);

/* Nominal delay before try number step + 2 (step 0: base), capped. */
int64_t wbi_retry_nominal(const struct wbi_retry_settings *s, int32_t step);

/* Whether a try that begins so much later begins before the deadline and within total_ns. */
bool wbi_retry_in_time(const struct wbi_retry_settings *s, const struct wbi_retry_state *st,
                       int64_t now_ns, int64_t deadline_ns, int64_t delay_ns);

/* After a failed try. WBI_RETRY_GO takes from the quota, counts the try and
 * gives the delay. WB_ENOMEM and WB_ELIMIT of the quota table mean "stop". */
enum wbi_retry_verdict wbi_retry_admit(struct wbi_retry *r, const struct wbi_retry_settings *s,
                                       struct wbi_retry_state *st, struct wbi_key provider,
                                       enum wbi_retry_failure failure, int64_t hint_ms,
                                       int64_t now_ns, int64_t deadline_ns, int64_t *ret_delay_ns);
/* The call succeeded: a retry's cost comes back, a plain success earns one. */
void wbi_retry_settle(struct wbi_retry *r, struct wbi_retry_state *st, struct wbi_key provider);
/* Tokens a provider has left. */
int64_t wbi_retry_quota(const struct wbi_retry *r, const struct wbi_retry_settings *s,
                        struct wbi_key provider);

#endif
