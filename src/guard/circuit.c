/* SPDX-License-Identifier: Apache-2.0
 * guard/circuit.c: the breaker's states and windows.
 * (1) Every call that counts is in the newest bucket (for time windows) and in
 * the ring (for count windows). (2) Passes carry the generation of their state; another generation
 * makes them worthless. (3) A probe is out exactly while its serial stands in
 * probe[]. */
#include "guard/circuit.h"

#include <string.h>

#include "base/checked.h"
#include "guard/deadline.h"

enum { RING_FAILED = 1, RING_SLOW = 2 };

const char *wbi_circuit_state_name(enum wbi_circuit_state state)
{
    static const char *const names[] = {"closed", "half-open", "open"};

    return names[state];
}

void wbi_circuit_init(struct wbi_circuit *c)
{
    memset(c, 0, sizeof(*c));
    c->generation = 1;
}

static int32_t probes_out(const struct wbi_circuit *c, int64_t now, int64_t *ret_first_expiry)
{
    int32_t out = 0;

    *ret_first_expiry = INT64_MAX;
    for (size_t i = 0; i < WBI_COUNT(c->probe); i++) {
        if (c->probe[i].serial == 0 || c->probe[i].expires_ns <= now)
            continue;
        out++;
        *ret_first_expiry = WBI_MIN(*ret_first_expiry, c->probe[i].expires_ns);
    }
    return out;
}

struct wbi_circuit_answer wbi_circuit_peek(const struct wbi_circuit *c,
                                           const struct wbi_circuit_settings *s, int64_t now_ns)
{
    struct wbi_circuit_answer a = {.admitted = true, .state = c->state};
    int64_t first_expiry;

    if (c->state == WBI_CIRCUIT_OPEN && now_ns < c->open_until_ns) {
        a.admitted = false;
        a.retry_after_ms = wbi_ms_up(c->open_until_ns - now_ns);
    } else if (c->state == WBI_CIRCUIT_HALF_OPEN &&
               probes_out(c, now_ns, &first_expiry) >= s->probes) {
        a.admitted = false;
        a.retry_after_ms = wbi_ms_up(WBI_MIN(first_expiry - now_ns, s->open_ns));
    }
    return a;
}

static void enter(struct wbi_circuit *c, enum wbi_circuit_state state)
{
    c->state = state;
    c->generation++;
    c->successes = 0;
    memset(c->probe, 0, sizeof(c->probe));
    memset(c->bucket, 0, sizeof(c->bucket));
    c->ring_at = 0;
    c->ring_used = 0;
}

static void take_probe(struct wbi_circuit *c, const struct wbi_circuit_settings *s, int64_t now,
                       struct wbi_circuit_pass *pass)
{
    for (size_t i = 0; i < WBI_COUNT(c->probe); i++) {
        if (c->probe[i].serial != 0 && c->probe[i].expires_ns > now)
            continue;
        c->probe[i].serial = ++c->next_serial;
        c->probe[i].expires_ns = wbi_time_after(now, s->probe_ns);
        pass->serial = c->probe[i].serial;
        return;
    }
}

enum wbi_circuit_change wbi_circuit_take(struct wbi_circuit *c,
                                         const struct wbi_circuit_settings *s, int64_t now_ns,
                                         struct wbi_circuit_pass *ret)
{
    enum wbi_circuit_change change = WBI_CIRCUIT_SAME;

    if (c->state == WBI_CIRCUIT_OPEN) {
        enter(c, WBI_CIRCUIT_HALF_OPEN);
        change = WBI_CIRCUIT_HALF_OPENED;
    }
    *ret = (struct wbi_circuit_pass){.generation = c->generation, .taken = true};
    if (c->state == WBI_CIRCUIT_HALF_OPEN)
        take_probe(c, s, now_ns, ret);
    return change;
}

/* ---- windows ---- */

static int64_t width_of(const struct wbi_circuit_settings *s)
{
    return WBI_MAX(s->window_ns / WBI_CIRCUIT_BUCKETS, 1);
}

static int64_t bucket_start(const struct wbi_circuit_settings *s, int64_t now)
{
    return now / width_of(s) * width_of(s);
}

static void count_in(struct wbi_circuit_counts *counts, bool failed, bool slow, int64_t duration)
{
    counts->calls++;
    counts->failed += failed;
    counts->slow += slow;
    counts->total_ns += duration;
}

static void record(struct wbi_circuit *c, const struct wbi_circuit_settings *s, int64_t now,
                   bool failed, bool slow, int64_t duration)
{
    int64_t start = bucket_start(s, now);

    if (c->bucket[c->bucket_at].counts.calls == 0 || c->bucket[c->bucket_at].start_ns < start) {
        c->bucket_at = (uint16_t)((c->bucket_at + 1) % WBI_CIRCUIT_BUCKETS);
        c->bucket[c->bucket_at].start_ns = start;
        c->bucket[c->bucket_at].counts = (struct wbi_circuit_counts){0};
    }
    count_in(&c->bucket[c->bucket_at].counts, failed, slow, duration);
    c->ring[c->ring_at] = (uint8_t)((failed ? RING_FAILED : 0) | (slow ? RING_SLOW : 0));
    c->ring_at = (uint16_t)((c->ring_at + 1) % WBI_LIMIT_CIRCUIT_CALLS);
    c->ring_used = (uint16_t)WBI_MIN(c->ring_used + 1u, WBI_LIMIT_CIRCUIT_CALLS);
}

static struct wbi_circuit_counts count_time(const struct wbi_circuit *c,
                                            const struct wbi_circuit_settings *s, int64_t now)
{
    struct wbi_circuit_counts sum = {0};
    int64_t start = bucket_start(s, now);

    for (size_t i = 0; i < WBI_CIRCUIT_BUCKETS; i++) {
        const struct wbi_circuit_counts *b = &c->bucket[i].counts;
        if (start - c->bucket[i].start_ns >= WBI_CIRCUIT_BUCKETS * width_of(s))
            continue;
        sum.calls += b->calls;
        sum.failed += b->failed;
        sum.slow += b->slow;
        sum.total_ns += b->total_ns;
    }
    return sum;
}

static struct wbi_circuit_counts count_last(const struct wbi_circuit *c,
                                            const struct wbi_circuit_settings *s)
{
    struct wbi_circuit_counts sum = {0};
    uint32_t n = WBI_MIN((uint32_t)s->window_calls, (uint32_t)c->ring_used);

    for (uint32_t i = 1; i <= n; i++) {
        uint8_t call =
            c->ring[(c->ring_at + WBI_LIMIT_CIRCUIT_CALLS - i) % WBI_LIMIT_CIRCUIT_CALLS];
        count_in(&sum, (call & RING_FAILED) != 0, (call & RING_SLOW) != 0, 0);
    }
    return sum;
}

struct wbi_circuit_counts wbi_circuit_window(const struct wbi_circuit *c,
                                             const struct wbi_circuit_settings *s, int64_t now_ns)
{
    return s->window_calls > 0 ? count_last(c, s) : count_time(c, s, now_ns);
}

/* Only the kind of call that was just recorded can trip its own rate. */
static bool trips(const struct wbi_circuit *c, const struct wbi_circuit_settings *s, int64_t now,
                  bool failed, bool slow)
{
    uint32_t enough = (uint32_t)s->min_calls;
    struct wbi_circuit_counts sum;
    uint64_t calls;

    if (!failed && !slow)
        return false;
    sum = wbi_circuit_window(c, s, now);
    calls = sum.calls;
    if (s->window_calls > 0)
        enough = WBI_MIN(enough, (uint32_t)s->window_calls);
    if (calls < enough || calls == 0)
        return false;
    if (failed && (uint64_t)sum.failed * 100 >= calls * (uint64_t)s->failure_percent)
        return true;
    return slow && s->slow_percent > 0 &&
           (uint64_t)sum.slow * 100 >= calls * (uint64_t)s->slow_percent;
}

static enum wbi_circuit_change open_until(struct wbi_circuit *c,
                                          const struct wbi_circuit_settings *s, int64_t now)
{
    enter(c, WBI_CIRCUIT_OPEN);
    c->open_until_ns = wbi_time_after(now, s->open_ns);
    return WBI_CIRCUIT_OPENED;
}

/* False when the probe was given up meanwhile. */
static bool give_probe_back(struct wbi_circuit *c, uint64_t serial)
{
    for (size_t i = 0; i < WBI_COUNT(c->probe); i++) {
        if (c->probe[i].serial == serial) {
            c->probe[i].serial = 0;
            return true;
        }
    }
    return false;
}

static enum wbi_circuit_change settle_probe(struct wbi_circuit *c,
                                            const struct wbi_circuit_settings *s, int64_t now,
                                            uint64_t serial, bool bad)
{
    if (!give_probe_back(c, serial))
        return WBI_CIRCUIT_SAME;
    if (bad)
        return open_until(c, s, now);
    if (++c->successes < s->probes)
        return WBI_CIRCUIT_SAME;
    enter(c, WBI_CIRCUIT_CLOSED);
    return WBI_CIRCUIT_CLOSED_AGAIN;
}

enum wbi_circuit_change wbi_circuit_settle(struct wbi_circuit *c,
                                           const struct wbi_circuit_settings *s, int64_t now_ns,
                                           struct wbi_circuit_pass *pass, bool failed,
                                           int64_t duration_ns)
{
    bool slow = s->slow_percent > 0 && duration_ns > s->slow_ns;

    if (!pass->taken)
        return WBI_CIRCUIT_SAME;
    pass->taken = false;
    if (pass->generation != c->generation)
        return WBI_CIRCUIT_SAME;
    if (c->state == WBI_CIRCUIT_HALF_OPEN)
        return settle_probe(c, s, now_ns, pass->serial, failed || slow);
    record(c, s, now_ns, failed, slow, duration_ns);
    return trips(c, s, now_ns, failed, slow) ? open_until(c, s, now_ns) : WBI_CIRCUIT_SAME;
}

void wbi_circuit_cancel(struct wbi_circuit *c, struct wbi_circuit_pass *pass)
{
    if (!pass->taken)
        return;
    pass->taken = false;
    if (pass->generation == c->generation && pass->serial != 0)
        (void)give_probe_back(c, pass->serial);
}
