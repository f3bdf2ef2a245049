/* SPDX-License-Identifier: Apache-2.0
 * guard/circuit.h: circuit breaker (C8.3), one per tool and origin.
 * closed -> open when, with at least min_calls in the window, a failure brings
 * the failure rate (or a slow call the slow rate) to its threshold; a success
 * never trips it. open -> half-open at or after the wait, with the next call.
 * half-open: exactly `probes` calls may be out; a failed one opens it again
 * for a full wait, as many successes as probes close it. A call admitted in an
 * earlier state never counts in a later one. Loop thread only. */
#ifndef WBI_GUARD_CIRCUIT_H
#define WBI_GUARD_CIRCUIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "waybill/rc.h"

struct wbi_circuit_settings {
    bool set;
    int32_t failure_percent; /* 1..100 */
    int32_t slow_percent;    /* 1..100; 0: durations do not matter */
    int64_t slow_ns;         /* slow: longer than this */
    int32_t min_calls;
    int32_t window_calls; /* > 0: the last N calls; 0: the last window_ns */
    int64_t window_ns;
    int64_t open_ns;
    int32_t probes;
    int64_t probe_ns; /* a probe that has not reported by then is given up */
};

enum wbi_circuit_state { WBI_CIRCUIT_CLOSED = 0, WBI_CIRCUIT_HALF_OPEN = 1, WBI_CIRCUIT_OPEN = 2 };
/* "closed", "half-open", "open" */
const char *wbi_circuit_state_name(enum wbi_circuit_state state);

#define WBI_CIRCUIT_BUCKETS 10

struct wbi_circuit_counts {
    uint32_t calls, failed, slow;
    int64_t total_ns; /* durations; time windows only */
};

struct wbi_circuit {
    enum wbi_circuit_state state;
    uint64_t generation; /* counts changes of state */
    int64_t open_until_ns;

    /* half-open */
    uint64_t next_serial;
    struct {
        uint64_t serial; /* 0: free */
        int64_t expires_ns;
    } probe[WBI_LIMIT_CIRCUIT_PROBES];
    int32_t successes;

    /* closed: what both kinds of window are counted from, since settings may change from call
     * to call (a reload, another principal) */
    struct {
        int64_t start_ns;
        struct wbi_circuit_counts counts; /* no calls: unused */
    } bucket[WBI_CIRCUIT_BUCKETS];
    uint16_t bucket_at; /* the newest */
    uint16_t ring_at, ring_used;
    uint8_t ring[WBI_LIMIT_CIRCUIT_CALLS]; /* bit 0 failed, bit 1 slow */
};

/* What a call was admitted as; give it back to settle or cancel, once. */
struct wbi_circuit_pass {
    uint64_t generation;
    uint64_t serial; /* of the probe; 0: no probe */
    bool taken;
};

enum wbi_circuit_change {
    WBI_CIRCUIT_SAME = 0,
    WBI_CIRCUIT_OPENED,
    WBI_CIRCUIT_HALF_OPENED,
    WBI_CIRCUIT_CLOSED_AGAIN
};

struct wbi_circuit_answer {
    bool admitted;
    enum wbi_circuit_state state; /* after the answer */
    int64_t retry_after_ms;       /* refused only */
};

void wbi_circuit_init(struct wbi_circuit *c);
/* Would a call be let through now? Changes nothing. */
struct wbi_circuit_answer wbi_circuit_peek(const struct wbi_circuit *c,
                                           const struct wbi_circuit_settings *s, int64_t now_ns);
/* Take a pass (after a peek that admitted, at the same time); the answer says
 * whether this half-opened the circuit. */
enum wbi_circuit_change wbi_circuit_take(struct wbi_circuit *c,
                                         const struct wbi_circuit_settings *s, int64_t now_ns,
                                         struct wbi_circuit_pass *ret);
/* Report a call that counts (C8: execution and system errors and timeouts are
 * failures, Ok is success). */
enum wbi_circuit_change wbi_circuit_settle(struct wbi_circuit *c,
                                           const struct wbi_circuit_settings *s, int64_t now_ns,
                                           struct wbi_circuit_pass *pass, bool failed,
                                           int64_t duration_ns);
/* A call that says nothing about the provider: its probe is free again. */
void wbi_circuit_cancel(struct wbi_circuit *c, struct wbi_circuit_pass *pass);
/* What the window holds now. */
struct wbi_circuit_counts wbi_circuit_window(const struct wbi_circuit *c,
                                             const struct wbi_circuit_settings *s, int64_t now_ns);

#endif
