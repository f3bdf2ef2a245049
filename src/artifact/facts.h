/* SPDX-License-Identifier: Apache-2.0
 * artifact/facts.h: small durable facts about artifacts and tasks, as JSON texts
 * under a key. An interface, so that the ledger's store can take their place; the
 * default keeps one file per key in a directory, replaced as a whole. */
#ifndef WBI_ARTIFACT_FACTS_H
#define WBI_ARTIFACT_FACTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* Keys are 1 to 200 letters, digits, '_', '-' or '.', not starting with '.'. */
#define WBI_FACT_KEY_MAX 200u

struct wbi_facts {
    void *arg;
    /* Durable when it returns; replaces what the key had. With `had` (NULL: whatever it is)
     * only that text, the absent one for a key that has none: WB_EAGAIN when somebody else
     * was quicker. */
    wb_rc (*put)(void *arg, struct wbi_str key, const struct wbi_str *had, struct wbi_str json,
                 struct wbi_error *err);
    /* WB_ENOTFOUND when there is none; the text lives in arena. */
    wb_rc (*get)(void *arg, struct wbi_str key, struct wbi_arena *arena, struct wbi_str *ret,
                 struct wbi_error *err);
    /* Every key once, in any order, until each returns false. The key is good
     * during the call; each may put and remove. */
    wb_rc (*list)(void *arg, bool (*each)(void *each_arg, struct wbi_str key), void *each_arg,
                  struct wbi_error *err);
    /* Fine when there is none. */
    wb_rc (*remove)(void *arg, struct wbi_str key, struct wbi_error *err);
};

bool wbi_fact_key_ok(struct wbi_str key);

struct wbi_fact_dir;
/* path is made if absent (0700). */
WB_MUST_CHECK wb_rc wbi_fact_dir_open(const char *path, struct wbi_fact_dir **ret,
                                      struct wbi_error *err);
void wbi_fact_dir_close(struct wbi_fact_dir *d); /* NULL is fine */
/* Remove what puts that died left behind, once it is old. */
void wbi_fact_dir_tidy(struct wbi_fact_dir *d, int64_t now_ms);
struct wbi_facts wbi_fact_dir_facts(struct wbi_fact_dir *d);

#endif
