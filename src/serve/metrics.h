/* SPDX-License-Identifier: Apache-2.0
 * serve/metrics.h: counts of calls by tool and origin, written as Prometheus
 * text. Labels are names of tools and codes only, never ids or inputs. */
#ifndef WBI_SERVE_METRICS_H
#define WBI_SERVE_METRICS_H

#include "base/buf.h"
#include "base/error.h"
#include "call/call.h"
#include "store/store.h"

struct wbi_metrics;

WB_MUST_CHECK wb_rc wbi_metrics_new(struct wbi_metrics **ret);
void wbi_metrics_free(struct wbi_metrics *m); /* NULL is fine */
/* A finished call. What cannot be kept is left out. */
void wbi_metrics_call(struct wbi_metrics *m, const struct wbi_call *call);
/* calls: those under way; lost: events, and lines of the access log, that no reader took. */
void wbi_metrics_write(struct wbi_metrics *m, struct wbi_calls *calls, uint64_t lost_events,
                       uint64_t lost_access, const struct wbi_store_health *ledger,
                       struct wbi_buf *out);

#endif
