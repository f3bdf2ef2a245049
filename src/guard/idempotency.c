/* SPDX-License-Identifier: Apache-2.0
 * guard/idempotency.c: the rules of keys over any store. Every path that finds
 * a record compares fingerprints first, the lost race included. */
#include "guard/idempotency.h"

#include "base/checked.h"

#define CLAIM_TRIES 8

bool wbi_idem_missing(enum wbi_guard_effect effect, struct wbi_str key)
{
    return effect == WBI_GUARD_IDEMPOTENT_WRITE && wbi_str_trim(key).n == 0;
}

bool wbi_idem_applies(enum wbi_guard_effect effect, struct wbi_str key)
{
    return effect != WBI_GUARD_PURE && wbi_str_trim(key).n > 0;
}

static enum wbi_idem_answer judge(const struct wbi_idem_record *record,
                                  const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms,
                                  struct wbi_str *ret_outcome)
{
    if (now_ms >= record->expires_ms)
        return WBI_IDEM_NEW;
    if (memcmp(record->fingerprint, fingerprint, WBI_SHA256_SIZE) != 0)
        return WBI_IDEM_REUSED;
    if (record->state == WBI_IDEM_DONE) {
        *ret_outcome = record->outcome;
        return WBI_IDEM_REPLAY;
    }
    if (record->state == WBI_IDEM_IN_FLIGHT && now_ms < record->in_flight_ms)
        return WBI_IDEM_RUNNING;
    return WBI_IDEM_LOST;
}

wb_rc wbi_idem_admit(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                     const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms,
                     enum wbi_idem_answer *ret, struct wbi_str *ret_outcome)
{
    struct wbi_idem_record record;
    wb_rc rc = store->get(store->arg, id, now_ms, &record);

    if (rc == WB_ENOTFOUND) {
        *ret = WBI_IDEM_NEW;
        return WB_OK;
    }
    if (rc == WB_OK)
        *ret = judge(&record, fingerprint, now_ms, ret_outcome);
    return rc;
}

static int64_t later(int64_t now_ms, int64_t ms)
{
    int64_t at;

    return wbi_add(now_ms, ms, &at) ? at : INT64_MAX;
}

static struct wbi_idem_record make_record(enum wbi_idem_state state,
                                          const struct wbi_idem_settings *settings,
                                          const uint8_t fingerprint[WBI_SHA256_SIZE],
                                          int64_t now_ms)
{
    struct wbi_idem_record record = {.state = state};

    memcpy(record.fingerprint, fingerprint, WBI_SHA256_SIZE);
    record.in_flight_ms = later(now_ms, settings->in_flight_ms);
    record.expires_ms = later(now_ms, settings->ttl_ms);
    /* a claim must not expire into a new key while it may still run */
    if (state == WBI_IDEM_IN_FLIGHT)
        record.expires_ms = WBI_MAX(record.expires_ms, record.in_flight_ms);
    return record;
}

int64_t wbi_idem_claim_ends(const struct wbi_idem_settings *settings, int64_t now_ms)
{
    return later(now_ms, WBI_MAX(settings->ttl_ms, settings->in_flight_ms));
}

wb_rc wbi_idem_claim(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                     const struct wbi_idem_settings *settings,
                     const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms,
                     enum wbi_idem_answer *ret, struct wbi_str *ret_outcome)
{
    struct wbi_idem_record record = make_record(WBI_IDEM_IN_FLIGHT, settings, fingerprint, now_ms);
    wb_rc rc = WB_EEXISTS;

    /* whoever won may have let go before it could be looked at: only a put is a claim */
    for (int tries = 0; rc == WB_EEXISTS && tries < CLAIM_TRIES; tries++) {
        rc = store->put(store->arg, id, &record, true, now_ms);
        if (rc == WB_OK)
            *ret = WBI_IDEM_NEW;
        if (rc != WB_EEXISTS)
            return rc;
        rc = wbi_idem_admit(store, id, fingerprint, now_ms, ret, ret_outcome);
        if (rc != WB_OK || *ret != WBI_IDEM_NEW)
            return rc;
        rc = WB_EEXISTS;
    }
    *ret = WBI_IDEM_RUNNING;
    return WB_OK;
}

wb_rc wbi_idem_settle(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                      const struct wbi_idem_settings *settings,
                      const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms,
                      struct wbi_str outcome)
{
    struct wbi_idem_record record = make_record(WBI_IDEM_DONE, settings, fingerprint, now_ms);

    record.outcome = outcome;
    return store->put(store->arg, id, &record, false, now_ms);
}

wb_rc wbi_idem_lose(const struct wbi_idem_store *store, const struct wbi_idem_id *id,
                    const struct wbi_idem_settings *settings,
                    const uint8_t fingerprint[WBI_SHA256_SIZE], int64_t now_ms)
{
    struct wbi_idem_record record = make_record(WBI_IDEM_UNKNOWN, settings, fingerprint, now_ms);

    return store->put(store->arg, id, &record, false, now_ms);
}

wb_rc wbi_idem_cancel(const struct wbi_idem_store *store, const struct wbi_idem_id *id)
{
    wb_rc rc = store->drop(store->arg, id);

    return rc == WB_ENOTFOUND ? WB_OK : rc;
}
