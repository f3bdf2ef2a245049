/* SPDX-License-Identifier: Apache-2.0
 * guard/circuit.c: the breaker's states and windows.
 * (1) `sum` is the sum of the buckets (time window) or of the ring (count
 * window). (2) Passes carry the generation of their state; another generation
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
    c->sum = (struct wbi_circuit_counts){0};
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

struct wbi_circuit_answer wbi_circuit_admit(struct wbi_circuit *c,
                                            const struct wbi_circuit_settings *s, int64_t now_ns,
                                            struct wbi_circuit_pass *ret,
                                            enum wbi_circuit_change *ret_change)
{
    struct wbi_circuit_answer a = wbi_circuit_peek(c, s, now_ns);

    *ret_change = WBI_CIRCUIT_SAME;
    if (a.admitted) {
        *ret_change = wbi_circuit_take(c, s, now_ns, ret);
        a.state = c->state;
    }
    return a;
}

/* ---- windows ---- */

static void sum_sub(struct wbi_circuit_counts *sum, const struct wbi_circuit_counts *old)
{
    sum->calls -= old->calls;
    sum->failed -= old->failed;
    sum->slow -= old->slow;
    sum->total_ns -= old->total_ns;
}

/* Move the newest bucket to the one of `now`, dropping what falls out. */
static void roll(struct wbi_circuit *c, const struct wbi_circuit_settings *s, int64_t now)
{
    int64_t width = WBI_MAX(s->window_ns / WBI_CIRCUIT_BUCKETS, 1);
    int64_t index = now / width;

    if (index - c->bucket_index >= WBI_CIRCUIT_BUCKETS) {
        memset(c->bucket, 0, sizeof(c->bucket));
        c->sum = (struct wbi_circuit_counts){0};
        c->bucket_index = index;
        return;
    }
    while (c->bucket_index < index) {
        struct wbi_circuit_counts *oldest = &c->bucket[++c->bucket_index % WBI_CIRCUIT_BUCKETS];
        sum_sub(&c->sum, oldest);
        *oldest = (struct wbi_circuit_counts){0};
    }
}

static void count_in(struct wbi_circuit_counts *counts, bool failed, bool slow, int64_t duration)
{
    counts->calls++;
    counts->failed += failed;
    counts->slow += slow;
    counts->total_ns += duration;
}

static void record_time(struct wbi_circuit *c, const struct wbi_circuit_settings *s, int64_t now,
                        bool failed, bool slow, int64_t duration)
{
    roll(c, s, now);
    count_in(&c->bucket[c->bucket_index % WBI_CIRCUIT_BUCKETS], failed, slow, duration);
    count_in(&c->sum, failed, slow, duration);
}

static void record_count(struct wbi_circuit *c, const struct wbi_circuit_settings *s, bool failed,
                         bool slow)
{
    uint16_t size = (uint16_t)WBI_MIN((uint32_t)s->window_calls, WBI_LIMIT_CIRCUIT_CALLS);

    if (c->ring_used >= size) {
        uint8_t old = c->ring[c->ring_at];
        c->sum.calls--;
        c->sum.failed -= (old & RING_FAILED) != 0;
        c->sum.slow -= (old & RING_SLOW) != 0;
    } else {
        c->ring_used++;
    }
    c->ring[c->ring_at] = (uint8_t)((failed ? RING_FAILED : 0) | (slow ? RING_SLOW : 0));
    c->ring_at = (uint16_t)((c->ring_at + 1) % size);
    count_in(&c->sum, failed, slow, 0);
}

struct wbi_circuit_counts wbi_circuit_window(struct wbi_circuit *c,
                                             const struct wbi_circuit_settings *s, int64_t now_ns)
{
    if (s->window_calls == 0)
        roll(c, s, now_ns);
    return c->sum;
}

/* Only the kind of call that was just recorded can trip its own rate. */
static bool trips(const struct wbi_circuit *c, const struct wbi_circuit_settings *s, bool failed,
                  bool slow)
{
    uint32_t enough = (uint32_t)s->min_calls;
    uint64_t calls = c->sum.calls;

    if (s->window_calls > 0)
        enough = WBI_MIN(enough, (uint32_t)s->window_calls);
    if (calls < enough || calls == 0)
        return false;
    if (failed && (uint64_t)c->sum.failed * 100 >= calls * (uint64_t)s->failure_percent)
        return true;
    return slow && s->slow_percent > 0 &&
           (uint64_t)c->sum.slow * 100 >= calls * (uint64_t)s->slow_percent;
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
    if (s->window_calls > 0)
        record_count(c, s, failed, slow);
    else
        record_time(c, s, now_ns, failed, slow, duration_ns);
    return trips(c, s, failed, slow) ? open_until(c, s, now_ns) : WBI_CIRCUIT_SAME;
}

void wbi_circuit_cancel(struct wbi_circuit *c, struct wbi_circuit_pass *pass)
{
    if (!pass->taken)
        return;
    pass->taken = false;
    if (pass->generation == c->generation && pass->serial != 0)
        (void)give_probe_back(c, pass->serial);
}
