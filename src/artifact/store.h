/* SPDX-License-Identifier: Apache-2.0
 * artifact/store.h: complete outputs on disk (C5.3, C5.4).
 * An artifact is a file STATE/artifacts/<call>-<role>.log. That name is chosen
 * before the first byte, is given out as an absolute path, and stays: while it is
 * written, when it is finished, until it is pruned. A finished artifact is synced,
 * read-only, and also linked as by-hash/<SHA-256>; equal contents share one file.
 * Facts (size, lines, hash, completeness) are kept beside it. Functions are for
 * one thread at a time unless they say otherwise. */
#ifndef WBI_ARTIFACT_STORE_H
#define WBI_ARTIFACT_STORE_H

#include "artifact/facts.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/limits.h"
#include "json/write.h"

struct wbi_artifact_store;

struct wbi_artifact_policy {
    uint64_t stream_bytes; /* most of one stream; 0: WBI_ARTIFACT_STREAM_BYTES */
    uint64_t call_bytes;   /* of all streams of a call; 0: WBI_ARTIFACT_CALL_BYTES */
    uint64_t store_bytes;  /* of the whole store; 0: WBI_ARTIFACT_STORE_BYTES */
    uint64_t free_bytes;   /* always left free on the disk; 0: WBI_ARTIFACT_FREE_BYTES, but
                            * no more than a twentieth of a small one */
    int64_t age_ms;        /* kept that long at least; 0: WBI_ARTIFACT_AGE_MS */
};

#define WBI_ARTIFACT_NAME 168
#define WBI_ARTIFACT_ROLE 24

/* What is known about one artifact. */
struct wbi_artifact {
    char name[WBI_ARTIFACT_NAME]; /* of the file in the store */
    char call_id[WBI_LIMIT_ID + 1];
    char role[WBI_ARTIFACT_ROLE]; /* "stdout", "stderr", "combined", "output", … */
    uint64_t bytes, lines;        /* kept */
    uint64_t dropped;             /* bytes that were printed but not kept */
    char sha256[WBI_SHA256_HEX];  /* "" while it is written */
    bool writing;                 /* a live process still writes it */
    bool complete;
    bool expired;    /* it was pruned; the file is gone */
    bool uncounted;  /* unfinished and large: lines is not known */
    char reason[32]; /* why it is not complete: "stream_quota", "call_quota",
                        "store_quota", "low_disk_space", "no_space", "io_error",
                        "output_limit", "interrupted"; "" if it is */
    int64_t created_ms;
    int64_t sealed_ms; /* its age counts from here; 0 while it is written */
};

/* path is absolute; it is made if absent. facts NULL: files in path/.facts. */
WB_MUST_CHECK wb_rc wbi_artifact_store_open(const char *path,
                                            const struct wbi_artifact_policy *policy,
                                            const struct wbi_facts *facts, struct wbi_clock clock,
                                            struct wbi_artifact_store **ret, struct wbi_error *err);
void wbi_artifact_store_close(struct wbi_artifact_store *s); /* NULL is fine */

/* What the record of a call says of it (C4.6), as one object. */
void wbi_artifact_record(struct wbi_jw *w, struct wbi_str path, const struct wbi_artifact *a);

/* The directory itself, for files without a name; stays the store's. */
int wbi_artifact_dir(const struct wbi_artifact_store *s);
/* "/…/artifacts/NAME" in arena; absent slice when out of memory. */
struct wbi_str wbi_artifact_path(const struct wbi_artifact_store *s, struct wbi_arena *arena,
                                 const char *name);

/* Any thread, without a store: whether there is something at a path of one (NUL-terminated),
 * how much, and whether its writer finished it. */
bool wbi_artifact_left(const char *path, uint64_t *ret_bytes, bool *ret_sealed);

/* ref: the path as given, a file name, or at least 8 hex digits of the SHA-256.
 * WB_ENOTFOUND with kind artifact_not_found or artifact_expired; WB_EINPUT when
 * several contents fit. An unfinished file of a dead writer is finished first. */
WB_MUST_CHECK wb_rc wbi_artifact_find(struct wbi_artifact_store *s, struct wbi_str ref,
                                      struct wbi_artifact *ret, struct wbi_error *err);
/* A descriptor for reading, the caller's to close. */
WB_MUST_CHECK wb_rc wbi_artifact_open(const struct wbi_artifact_store *s,
                                      const struct wbi_artifact *a, int *ret_fd,
                                      struct wbi_error *err);

/* Whether output can be kept: low_disk_space, with why and what makes room. */
WB_MUST_CHECK wb_rc wbi_artifact_room(struct wbi_artifact_store *s, struct wbi_error *err);

/* Newest first; ones being written too. The array lives in arena. */
WB_MUST_CHECK wb_rc wbi_artifact_list(struct wbi_artifact_store *s, struct wbi_arena *arena,
                                      struct wbi_artifact **ret, size_t *ret_count,
                                      struct wbi_error *err);

/* Finish files whose writer is dead: they become artifacts that are not complete,
 * reason "interrupted". For start-up. */
WB_MUST_CHECK wb_rc wbi_artifact_recover(struct wbi_artifact_store *s, uint64_t *ret_count,
                                         struct wbi_error *err);

struct wbi_artifact_stats {
    uint64_t count, bytes; /* kept; equal contents count once in bytes */
    uint64_t incomplete, writing, expired;
    uint64_t removed, removed_bytes; /* by wbi_artifact_prune and wbi_artifact_tidy */
    uint64_t finished;               /* by wbi_artifact_tidy: their writers were dead */
    uint64_t bad;                    /* by wbi_artifact_verify */
};
WB_MUST_CHECK wb_rc wbi_artifact_stat(struct wbi_artifact_store *s, struct wbi_artifact_stats *ret,
                                      struct wbi_error *err);
/* Remove what is older than the policy's age, then the oldest until there is room below
 * the store's cap; never what is being written or what `referenced` (may be NULL) names. */
WB_MUST_CHECK wb_rc wbi_artifact_prune(struct wbi_artifact_store *s,
                                       bool (*referenced)(void *arg, const struct wbi_artifact *a),
                                       void *arg, struct wbi_artifact_stats *ret,
                                       struct wbi_error *err);
/* A step of both, recovering and pruning, for whoever has a moment: at most `most` files are
 * finished or removed; *ret_done says that nothing was left to do. What is referenced must
 * not change meanwhile. Due again an hour after somebody was done. */
WB_MUST_CHECK wb_rc wbi_artifact_tidy(struct wbi_artifact_store *s,
                                      bool (*referenced)(void *arg, const struct wbi_artifact *a),
                                      void *arg, uint64_t most, struct wbi_artifact_stats *ret,
                                      bool *ret_done, struct wbi_error *err);
bool wbi_artifact_tidy_due(const struct wbi_artifact_store *s);
/* Another age than the policy's, for one pruning by hand. */
void wbi_artifact_set_age(struct wbi_artifact_store *s, int64_t age_ms);
int64_t wbi_artifact_age(const struct wbi_artifact_store *s);
/* Compare every finished file with its facts; on_bad (may be NULL) hears what is
 * wrong: "missing", "size", "hash", "unreadable". */
WB_MUST_CHECK wb_rc wbi_artifact_verify(struct wbi_artifact_store *s,
                                        void (*on_bad)(void *arg, const struct wbi_artifact *a,
                                                       const char *what),
                                        void *arg, struct wbi_artifact_stats *ret,
                                        struct wbi_error *err);

/* Any thread: hash, sync, protect and link the file of a; fills sha256, bytes and
 * lines. The caller then stores the fact on the store's own thread. */
WB_MUST_CHECK wb_rc wbi_artifact_seal(const struct wbi_artifact_store *s, struct wbi_artifact *a,
                                      struct wbi_error *err);

#endif
