/* SPDX-License-Identifier: Apache-2.0
 * artifact/spool.h: the raw output of one call on its way to disk (C5.2).
 * Bytes go to the file from the first one on; memory does not grow. A failing disk
 * never fails the call: what could not be kept is counted, with the reason. */
#ifndef WBI_ARTIFACT_SPOOL_H
#define WBI_ARTIFACT_SPOOL_H

#include "artifact/store.h"

struct wbi_loop;
struct wbi_spool;

#define WBI_SPOOL_STREAMS 2

/* bytes == kept + dropped, always; lines are those of all bytes. */
struct wbi_spool_counts {
    uint64_t bytes, kept, dropped;
    uint64_t lines;
    const char *reason; /* why bytes were dropped, as wbi_artifact.reason; NULL */
};

/* roles: one or two names, lower case; NULL for none. Nothing is written yet.
 * Kind low_disk_space when there is no room to begin with. */
WB_MUST_CHECK wb_rc wbi_spool_open(struct wbi_artifact_store *store, struct wbi_str call_id,
                                   const char *const roles[WBI_SPOOL_STREAMS],
                                   struct wbi_spool **ret, struct wbi_error *err);
void wbi_spool_add(struct wbi_spool *s, int stream, struct wbi_str bytes);
/* Bytes that somebody else decided not to keep: counted, with the reason (a constant). */
void wbi_spool_drop(struct wbi_spool *s, int stream, struct wbi_str bytes, const char *reason);
struct wbi_spool_counts wbi_spool_counts(const struct wbi_spool *s, int stream);

/* Name of the stream's file, made now if nothing was printed yet; NULL when it
 * cannot be made (counts then give the reason). */
const char *wbi_spool_name(struct wbi_spool *s, int stream);

/* What is known of a stream so far, as an artifact being written. */
void wbi_spool_describe(const struct wbi_spool *s, int stream, struct wbi_artifact *ret);

/* Finish: streams of the mask that have a file are synced, hashed and recorded,
 * others removed. The spool is gone afterwards, also on failure. ret[i].name is ""
 * where there is no artifact. Kind output_persistence_failed, with ret filled for
 * what was saved. */
WB_MUST_CHECK wb_rc wbi_spool_finish(struct wbi_spool *s, unsigned int mask,
                                     struct wbi_artifact ret[WBI_SPOOL_STREAMS],
                                     struct wbi_error *err);
/* The same with the hashing and syncing on another thread; on_done runs on the
 * loop thread, exactly once, not from inside this call. When this fails the spool
 * is still the caller's and wbi_spool_finish may be used. */
WB_MUST_CHECK wb_rc wbi_spool_finish_later(
    struct wbi_spool *s, struct wbi_loop *loop, unsigned int mask,
    void (*on_done)(void *arg, wb_rc rc, const struct wbi_artifact got[WBI_SPOOL_STREAMS],
                    const struct wbi_error *err),
    void *arg);
/* Keep nothing. NULL is fine. */
void wbi_spool_discard(struct wbi_spool *s);

#endif
