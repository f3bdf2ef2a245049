/* SPDX-License-Identifier: Apache-2.0
 * family/work/work.h: work items and the family that shows them (C7.5). A
 * mutation answers with the item and a snapshot of the queue, a list with the
 * items asked for; what does not fit is counted. */
#ifndef WBI_FAMILY_WORK_WORK_H
#define WBI_FAMILY_WORK_WORK_H

#include "catalog/tool.h"
#include "family/receipt.h"

enum wbi_work_status {
    WBI_WORK_OPEN = 0,
    WBI_WORK_IN_PROGRESS,
    WBI_WORK_BLOCKED,
    WBI_WORK_COMPLETED,
    WBI_WORK_CANCELLED
};
#define WBI_WORK_STATES 5
/* "open", "in_progress", … */
const char *wbi_work_status_name(enum wbi_work_status status);
/* OPEN for a name it does not know. */
enum wbi_work_status wbi_work_status_by_name(struct wbi_str name);
static inline bool wbi_work_unfinished(enum wbi_work_status status)
{
    return status <= WBI_WORK_BLOCKED;
}

/* Times are RFC 3339; notes, priority and report may be absent. */
struct wbi_work_item {
    struct wbi_str id, title, notes, priority, report;
    enum wbi_work_status status;
    struct wbi_str created_at, updated_at;
};

enum wbi_work_action { WBI_WORK_CREATED, WBI_WORK_UPDATED, WBI_WORK_DONE, WBI_WORK_LISTED };

struct wbi_work_output {
    enum wbi_work_action action;
    struct wbi_work_item item;         /* of a mutation */
    const struct wbi_work_item *items; /* LISTED: those asked for; else the unfinished ones */
    size_t count;
    size_t total;                     /* LISTED: of all pages */
    size_t in_state[WBI_WORK_STATES]; /* of the whole queue */
    struct wbi_str next_token;        /* LISTED: behind items */
    struct wbi_allowance budget;      /* LISTED */
};

extern const struct wbi_family wbi_work_family; /* typed: struct wbi_work_output */

/* As it is stored. */
void wbi_work_item_write(struct wbi_jw *w, const struct wbi_work_item *item);
/* Slices point into v. */
struct wbi_work_item wbi_work_item_read(const wbi_json *v);

#endif
