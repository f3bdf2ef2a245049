/* SPDX-License-Identifier: Apache-2.0
 * call/compact_int.h: one result of a history and the forms it can take. */
#ifndef WBI_CALL_COMPACT_INT_H
#define WBI_CALL_COMPACT_INT_H

#include "call/compact.h"
#include "wire/history.h"

#define WBI_COMPACT_NONE ((size_t)-1)

struct wbi_compact_item {
    size_t entry;
    size_t message;
    size_t round;
    size_t same; /* the next item whose call has the same hash, or NONE */
    struct wbi_str id;
    struct wbi_str name;
    struct wbi_str text;     /* as it stands in the history */
    struct wbi_str body;     /* without our mark */
    struct wbi_str artifact; /* path of the first one */
    struct wbi_compact_known known;
    struct wbi_str now; /* the form chosen */
    uint64_t cost;      /* of it, in token units */
    uint64_t first;     /* cost as it came */
    int rung;           /* of it */
    int frozen;         /* rung it came in with */
    bool failed;
    bool important; /* a failure or a mutation */
    bool folded;
    bool special; /* now is a fold or a note of what changed */
    bool refused; /* neither was smaller: not tried again */
};

struct wbi_compact_job {
    struct wbi_arena *arena;
    struct wbi_history h;
    const struct wbi_compact_source *source;
    struct wbi_compact_item *items;
    size_t n;
    struct wbi_buf scratch;
    uint64_t total; /* units of what has been seen so far */
    bool noted;     /* a fold or a note of what changed was made */
};

/* Token units of a text as it stands in JSON. */
uint64_t wbi_compact_cost(struct wbi_compact_job *j, struct wbi_str text);
/* it->entry is set: text, what is known of it, the rung it came in with. */
WB_MUST_CHECK wb_rc wbi_compact_item_read(struct wbi_compact_job *j, struct wbi_compact_item *it,
                                          struct wbi_error *err);
/* The form of a rung above 0, whether or not it is smaller. */
WB_MUST_CHECK wb_rc wbi_compact_form(struct wbi_compact_job *j, const struct wbi_compact_item *it,
                                     int rung, struct wbi_str *ret, struct wbi_error *err);
/* What stands in the place of a result whose call was made again later: that the
 * result is equal, or what changed; before it what is protected of a recorded one and
 * does not stand in the later. */
WB_MUST_CHECK wb_rc wbi_compact_again(struct wbi_compact_job *j, const struct wbi_compact_item *it,
                                      const struct wbi_compact_item *later, bool equal,
                                      struct wbi_str *ret, struct wbi_error *err);

#endif
