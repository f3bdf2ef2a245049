/* SPDX-License-Identifier: Apache-2.0
 * artifact/stream.h: a range of an artifact in one go, for people: no pages, no
 * budget, memory flat. */
#ifndef WBI_ARTIFACT_STREAM_H
#define WBI_ARTIFACT_STREAM_H

#include "artifact/read.h"

/* A piece of the range; what it returns but WB_OK ends the reading. */
typedef wb_rc wbi_piece_fn(void *arg, struct wbi_str piece);

/* As wbi_artifact_read, without page_token and limits. Failures of each are
 * returned as they are. */
WB_MUST_CHECK wb_rc wbi_artifact_stream(const struct wbi_artifact_store *s,
                                        const struct wbi_artifact *a,
                                        const struct wbi_read_query *q, wbi_piece_fn *each,
                                        void *arg, struct wbi_error *err);

#endif
