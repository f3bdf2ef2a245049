/* SPDX-License-Identifier: Apache-2.0
 * call/kept.h: facts of artifacts and tasks, in the one store. */
#ifndef WBI_CALL_KEPT_H
#define WBI_CALL_KEPT_H

#include "artifact/facts.h"

struct wbi_store;

/* A table of the store as facts. */
struct wbi_kept {
    struct wbi_store *store;
    struct wbi_str table;
};
/* k must outlive the facts; k->store must be open. */
struct wbi_facts wbi_kept_facts(struct wbi_kept *k);

#endif
