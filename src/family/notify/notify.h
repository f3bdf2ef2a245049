/* SPDX-License-Identifier: Apache-2.0
 * family/notify/notify.h: a notification, and the family that confirms it. */
#ifndef WBI_FAMILY_NOTIFY_NOTIFY_H
#define WBI_FAMILY_NOTIFY_NOTIFY_H

#include "catalog/tool.h"

struct wbi_notify_output {
    bool delivered; /* the configured command took it; else it is only recorded */
    struct wbi_str level;
};

extern const struct wbi_family wbi_notify_family; /* typed: struct wbi_notify_output */

#endif
