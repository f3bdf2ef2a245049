/* SPDX-License-Identifier: Apache-2.0
 * artifact/store_int.h: what the files of artifact/ share. */
#ifndef WBI_ARTIFACT_STORE_INT_H
#define WBI_ARTIFACT_STORE_INT_H

#include <sys/stat.h>

#include "artifact/store.h"
#include "base/buf.h"
#include "base/checked.h"

struct wbi_artifact_store {
    int dir;     /* STATE/artifacts */
    int by_hash; /* its folder of links named by content */
    char *path;  /* absolute, without a slash at the end */
    struct wbi_artifact_policy policy;
    struct wbi_facts facts;
    struct wbi_clock clock;
    struct wbi_fact_dir *own_facts;
    bool counted; /* used is known */
    uint64_t used;
};

/* Open a directory without following a link, make it (0700) if absent. */
WB_MUST_CHECK wb_rc wbi_open_dir(int at, const char *name, int *ret, struct wbi_error *err);
/* Name of the index of arrival that belongs to an artifact. */
/* Old files that never got their final name: their writer died. */
void wbi_remove_leftovers(int dir, int64_t now_ms);
/* Bytes that may still be written, by the free-space guard and the store's cap;
 * 0 and a reason when there is no room. */
uint64_t wbi_store_room(struct wbi_artifact_store *s, const char **ret_reason);
/* Fill used, from a young note or by looking; false when that failed. */
bool wbi_store_count(struct wbi_artifact_store *s);
/* What the files take, equal contents once. */
WB_MUST_CHECK wb_rc wbi_store_bytes(const struct wbi_artifact_store *s, uint64_t *ret,
                                    struct wbi_error *err);
/* Every artifact's file once, until fn returns false. */
WB_MUST_CHECK wb_rc wbi_store_each_file(const struct wbi_artifact_store *s,
                                        bool (*fn)(void *, const char *, const struct stat *),
                                        void *arg, struct wbi_error *err);
/* Its name goes, and the content with its last name; the fact stays and says so. */
WB_MUST_CHECK wb_rc wbi_artifact_expire(struct wbi_artifact_store *s, struct wbi_artifact *a,
                                        struct wbi_artifact_stats *stats, struct wbi_error *err);
uint64_t wbi_count_newlines(const void *p, size_t n);
/* A sealed file becomes an artifact: its fact is stored, then equal contents become one file.
 * While the fact is stored the caller holds the file's lock, under its name. */
WB_MUST_CHECK wb_rc wbi_artifact_finish(struct wbi_artifact_store *s, const struct wbi_artifact *a,
                                        struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_artifact_put_fact(struct wbi_artifact_store *s,
                                          const struct wbi_artifact *a, struct wbi_error *err);

/* The text lives in arena; WB_ENOTFOUND when there is no fact of that name. */
WB_MUST_CHECK wb_rc wbi_artifact_get_fact(struct wbi_artifact_store *s, struct wbi_str name,
                                          struct wbi_arena *arena, struct wbi_artifact *ret,
                                          struct wbi_error *err);
/* Size, lines and hash of the file as it is now, nothing else changed. */
WB_MUST_CHECK wb_rc wbi_artifact_measure(const struct wbi_artifact_store *s, struct wbi_artifact *a,
                                         struct wbi_error *err);

#endif
