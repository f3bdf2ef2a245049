/* SPDX-License-Identifier: Apache-2.0
 * loop/alarm.h: many deadlines on one timer. An alarm is a member of what it wakes and
 * needs no memory; starting one costs a walk past those that are due later, which is
 * short where all wait about as long. Loop thread only. */
#ifndef WBI_LOOP_ALARM_H
#define WBI_LOOP_ALARM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "waybill/rc.h"

struct wbi_loop;
struct wbi_alarms; /* of a loop: wbi_loop_alarms */

/* All zero is an alarm that is not set. */
struct wbi_alarm {
    struct wbi_alarm *next, *prev;
    int64_t due_ns;
    void (*on_due)(void *arg);
    void *arg;
};

/* For the loop: it has one. */
WB_MUST_CHECK wb_rc wbi_alarms_new(struct wbi_loop *loop, struct wbi_alarms **ret);
/* What is set never rings. NULL is fine. */
void wbi_alarms_free(struct wbi_alarms *alarms);

/* Set, or set anew: on_due(arg) runs once, after_ms from now. */
void wbi_alarm_start(struct wbi_alarms *alarms, struct wbi_alarm *alarm, int64_t after_ms);
/* The same, when this clock shows at_ns or more. Of the system's clock no time is asked
 * where another alarm is due before. */
void wbi_alarm_at(struct wbi_alarms *alarms, struct wbi_alarm *alarm, const struct wbi_clock *clock,
                  int64_t at_ns);
/* A stopped alarm never rings; one that is not set is left alone. */
void wbi_alarm_stop(struct wbi_alarms *alarms, struct wbi_alarm *alarm);

#endif
