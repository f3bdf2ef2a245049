/* SPDX-License-Identifier: Apache-2.0
 * loop/alarm.c
 * (1) The ring is in the order of due_ns, its first member next to `ring`.
 * (2) The timer runs while the ring has members, and rings no later than the first is
 *     due; maybe earlier, when that one was stopped. */
#include "loop/alarm.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/clock.h"
#include "loop/loop.h"

struct wbi_alarms {
    struct wbi_timer *timer;
    struct wbi_clock clock;
    struct wbi_alarm ring; /* only its links are used */
    int64_t armed_ns;      /* when the timer rings; 0: it does not run */
};

static void unlink_alarm(struct wbi_alarm *a)
{
    a->prev->next = a->next;
    a->next->prev = a->prev;
    a->next = a->prev = NULL;
}

static int64_t due_after(int64_t now_ns, int64_t after_ms)
{
    if (after_ms <= 0)
        return now_ns;
    if (after_ms > (INT64_MAX - now_ns) / WBI_NS_PER_MS)
        return INT64_MAX;
    return now_ns + after_ms * WBI_NS_PER_MS;
}

static void arm(struct wbi_alarms *s)
{
    int64_t due_ns = s->ring.next->due_ns, now_ns;

    if (s->armed_ns != 0 && s->armed_ns <= due_ns)
        return;
    s->armed_ns = due_ns;
    now_ns = wbi_now_ns(&s->clock);
    wbi_timer_start(s->timer, due_ns > now_ns ? (due_ns - now_ns - 1) / WBI_NS_PER_MS + 1 : 0);
}

static void on_timer(void *arg)
{
    struct wbi_alarms *s = arg;
    int64_t now_ns = wbi_now_ns(&s->clock);

    s->armed_ns = 0;
    while (s->ring.next != &s->ring && s->ring.next->due_ns <= now_ns) {
        struct wbi_alarm *a = s->ring.next;

        unlink_alarm(a);
        a->on_due(a->arg); /* may free it, stop others and set new ones */
    }
    if (s->ring.next != &s->ring)
        arm(s);
}

wb_rc wbi_alarms_new(struct wbi_loop *loop, struct wbi_alarms **ret)
{
    struct wbi_alarms *s = wbi_zalloc(sizeof(*s));

    if (s == NULL || wbi_timer_new(loop, on_timer, s, &s->timer) != WB_OK) {
        wbi_free(s);
        return WB_ENOMEM;
    }
    s->clock = wbi_clock_system();
    s->ring.next = s->ring.prev = &s->ring;
    *ret = s;
    return WB_OK;
}

void wbi_alarms_free(struct wbi_alarms *s)
{
    if (s == NULL)
        return;
    while (s->ring.next != &s->ring)
        unlink_alarm(s->ring.next);
    wbi_timer_free(s->timer);
    wbi_free(s);
}

static void set(struct wbi_alarms *s, struct wbi_alarm *alarm, int64_t due_ns)
{
    struct wbi_alarm *before;

    if (alarm->next != NULL)
        unlink_alarm(alarm);
    alarm->due_ns = WBI_MAX(due_ns, INT64_C(1)); /* 0 would say that the timer does not run */
    before = s->ring.prev;
    while (before != &s->ring && before->due_ns > alarm->due_ns)
        before = before->prev;
    alarm->prev = before;
    alarm->next = before->next;
    before->next->prev = alarm;
    before->next = alarm;
    arm(s);
}

void wbi_alarm_start(struct wbi_alarms *s, struct wbi_alarm *alarm, int64_t after_ms)
{
    set(s, alarm, due_after(wbi_now_ns(&s->clock), after_ms));
}

void wbi_alarm_at(struct wbi_alarms *s, struct wbi_alarm *alarm, const struct wbi_clock *clock,
                  int64_t at_ns)
{
    int64_t left_ns;

    if (clock->mono_ns == s->clock.mono_ns) {
        set(s, alarm, at_ns);
        return;
    }
    left_ns = at_ns - wbi_now_ns(clock);
    wbi_alarm_start(s, alarm, left_ns <= 0 ? 0 : (left_ns - 1) / WBI_NS_PER_MS + 1);
}

void wbi_alarm_stop(struct wbi_alarms *s, struct wbi_alarm *alarm)
{
    if (alarm->next == NULL)
        return;
    unlink_alarm(alarm);
    if (s->ring.next == &s->ring) { /* an idle timer would keep the loop alive */
        s->armed_ns = 0;
        wbi_timer_stop(s->timer);
    }
}
