/* SPDX-License-Identifier: Apache-2.0
 * guard/idempotency.h: one execution per key (C8.6).
 * Identity is (principal, tool, key); the fingerprint is a hash of the
 * canonical input. A key is claimed before the call starts and completed after
 * it ended; what came of it is replayed. A claim that was neither completed
 * nor released in its time (a crash) is unknown and never run again. A record
 * is expired when now == expiry. Loop thread only. */
#ifndef WBI_GUARD_IDEMPOTENCY_H
#define WBI_GUARD_IDEMPOTENCY_H

#include "base/hash.h"
#include "guard/effect.h"

struct wbi_idem_id {
    struct wbi_str principal;
    struct wbi_str tool;
    struct wbi_str key;
};

enum wbi_idem_state { WBI_IDEM_IN_FLIGHT = 1, WBI_IDEM_DONE = 2, WBI_IDEM_UNKNOWN = 3 };

/* Times are milliseconds since 1970 on a clock that does not step while the
 * process runs (wall time at start plus monotonic time since). A store shared by
 * processes turns those of another into this one's. */
struct wbi_idem_record {
    enum wbi_idem_state state;
    uint8_t fingerprint[WBI_SHA256_SIZE];
    int64_t expires_ms;     /* the key is new again from here on */
    int64_t in_flight_ms;   /* a claim not settled by then is unknown */
    struct wbi_str outcome; /* DONE only; absent otherwise */
};

/* Where records live. All are atomic and, when they return WB_OK for put,
 * durable; they copy what they are given.
 * get: WB_OK or WB_ENOTFOUND; outcome stays readable until the next call of
 * any of the three. A store shared by processes answers UNKNOWN for a claim
 * whose owner is dead.
 * put: only_if_absent and a record exists (expired ones may be replaced when
 * now_ms >= expires_ms): WB_EEXISTS, nothing changed. */
struct wbi_idem_store {
    wb_rc (*get)(void *arg, const struct wbi_idem_id *id, int64_t now_ms,
                 struct wbi_idem_record *ret);
    wb_rc (*put)(void *arg, const struct wbi_idem_id *id, const struct wbi_idem_record *record,
                 bool only_if_absent, int64_t now_ms);
    wb_rc (*drop)(void *arg, const struct wbi_idem_id *id);
    void *arg;
};

struct wbi_idem_settings {
    int64_t ttl_ms;       /* default 24 h */
    int64_t in_flight_ms; /* default 1 h; at least as long as the call may run */
};
#define WBI_IDEM_TTL_MS (INT64_C(24) * 3600 * 1000)
#define WBI_IDEM_IN_FLIGHT_MS (INT64_C(3600) * 1000)

enum wbi_idem_answer {
    WBI_IDEM_NEW = 0, /* no record: may run */
    WBI_IDEM_REPLAY,  /* *ret_outcome holds the stored bytes */
    WBI_IDEM_RUNNING, /* call_in_flight */
    WBI_IDEM_REUSED,  /* idempotency_key_reused: another input */
    WBI_IDEM_LOST     /* outcome_unknown */
};

/* C8.6: a native IdempotentWrite must bring a key; blank counts as missing.
 * Part of validation: contract errors come before everything else. */
bool wbi_idem_missing(enum wbi_guard_effect effect, struct wbi_str key);
/* Keys count for everything but Pure calls, where they are ignored. */
bool wbi_idem_applies(enum wbi_guard_effect effect, struct wbi_str key);

/* Look only. rc is the store's; *ret_outcome lives until the store is asked
 * again. */
WB_MUST_CHECK wb_rc wbi_idem_admit(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                                   const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms,
                                   enum wbi_idem_answer *ret, struct wbi_str *ret_outcome);
/* Claim in one atomic step. When another claim won the race, *ret says what
 * holds for this call (the fingerprint is compared there too). */
WB_MUST_CHECK wb_rc wbi_idem_claim(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                                   const struct wbi_idem_settings *settings,
                                   const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms,
                                   enum wbi_idem_answer *ret, struct wbi_str *ret_outcome);
/* When a claim made now ceases to be the claimant's. */
int64_t wbi_idem_claim_ends(const struct wbi_idem_settings *settings, int64_t now_ms);
/* The call ended and its outcome is worth repeating. */
WB_MUST_CHECK wb_rc wbi_idem_settle(const struct wbi_idem_store *store,
                                    const struct wbi_idem_id *id,
                                    const struct wbi_idem_settings *settings,
                                    const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms,
                                    struct wbi_str outcome);
/* Nobody knows whether it took effect: not to be run again under this key. */
WB_MUST_CHECK wb_rc wbi_idem_lose(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                                  const struct wbi_idem_settings *settings,
                                  const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms);
/* Nothing started, or repeating is safe: the key is as new. */
WB_MUST_CHECK wb_rc wbi_idem_cancel(const struct wbi_idem_store *store,
                                    const struct wbi_idem_id *id);

/* Records in memory, for runtimes without a state directory and for tests. */
struct wbi_idem_memory;
WB_MUST_CHECK wb_rc wbi_idem_memory_new(uint64_t seed, struct wbi_idem_memory **ret);
void wbi_idem_memory_free(struct wbi_idem_memory *m);
struct wbi_idem_store wbi_idem_memory_store(struct wbi_idem_memory *m);
size_t wbi_idem_memory_count(const struct wbi_idem_memory *m);

#endif
