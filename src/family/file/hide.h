/* SPDX-License-Identifier: Apache-2.0
 * family/file/hide.h: secrets in some lines of a file that only the lines around them tell:
 * a key block, the value of a name in the line before, a block of YAML. What is shown
 * loses its other secrets later, as all texts do. */
#ifndef WBI_FAMILY_FILE_HIDE_H
#define WBI_FAMILY_FILE_HIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

struct wbi_secrets;

#define WBI_HIDE_BEFORE (16u * 1024u) /* bytes looked at before what is shown */
#define WBI_HIDE_BEHIND (4u * 1024u)
#define WBI_HIDE_MOST (4u * 1024u * 1024u) /* texts over that are left as they are */

struct wbi_hide {
    const struct wbi_secrets *secrets;
    struct wbi_arena *arena;
    struct wbi_str clean, shown; /* what is left of both */
    bool any;                    /* the text holds secrets; else there is nothing to ask */
};

struct wbi_hidden {
    struct wbi_str clean; /* the line as it would be shown without this */
    struct wbi_str shown; /* never empty where clean is not */
    bool hides;           /* shown has less, and the line alone would not tell */
};

/* text: the lines and what stands around them, without carriage returns at their ends; must
 * outlive h. WB_ENOMEM. To be ended in any case. */
WB_MUST_CHECK wb_rc wbi_hide_begin(struct wbi_hide *h, const struct wbi_secrets *secrets,
                                   struct wbi_str text);
void wbi_hide_end(struct wbi_hide *h);
void wbi_hide_skip(struct wbi_hide *h, uint64_t lines);
/* The next line; its texts live until the end. */
WB_MUST_CHECK wb_rc wbi_hide_line(struct wbi_hide *h, struct wbi_hidden *ret);

#endif
