/* SPDX-License-Identifier: Apache-2.0
 * text/preview.h: the lines of an output that matter, within a token budget
 * (C6.3, C6.4). Two phases: an index is fed with the cleaned text once, in any
 * pieces, and stays small whatever the size; then lines are chosen and only
 * those are fetched through a read callback. Pure functions of text and policy. */
#ifndef WBI_TEXT_PREVIEW_H
#define WBI_TEXT_PREVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

struct wbi_preview_policy {
    /* Tokens for the whole preview text, its notices included. */
    uint64_t budget;
    /* The call that reads lines, with "A-B", quoted, where the range stands, such as
     * `ReadArtifact {"path":"x","lines":"A-B"}`; absent: notices name ranges only. */
    struct wbi_str read_call;
    /* What was run; lines that hold its rarer words rank higher. May be absent. */
    struct wbi_str command;
    /* Never parse and re-print the text as JSON. */
    bool plain;
};

enum wbi_segment_kind {
    WBI_SEGMENT_LINES,   /* shown verbatim */
    WBI_SEGMENT_CLIPPED, /* one line, shown in parts */
    WBI_SEGMENT_GAP,     /* left out */
    WBI_SEGMENT_SUMMARY  /* shown re-written (JSON); read the range for the text */
};

/* Lines are 1-based and of the cleaned text. */
struct wbi_segment {
    enum wbi_segment_kind kind;
    uint64_t first;
    uint64_t last;
};

struct wbi_preview {
    struct wbi_str text; /* never absent; no newline behind its last line, which may be empty */
    uint64_t tokens;     /* estimate of text */
    bool truncated;      /* something was left out */
    uint64_t lines_total;
    uint64_t lines_shown;               /* wholly or clipped */
    uint64_t first_lines;               /* shown from the start without a gap */
    uint64_t last_lines;                /* shown up to the end without a gap */
    const struct wbi_segment *segments; /* in order, covering every line */
    size_t n_segments;
};

/* Append exactly n bytes from offset of the cleaned text to out. */
typedef wb_rc (*wbi_preview_read)(void *arg, uint64_t offset, size_t n, struct wbi_buf *out);

struct wbi_preview_index;

/* command as in the policy; it is only looked at. Heap, a few MiB at most. */
WB_MUST_CHECK wb_rc wbi_preview_index_new(struct wbi_str command, struct wbi_preview_index **ret);
void wbi_preview_index_free(struct wbi_preview_index *index);
WB_MUST_CHECK wb_rc wbi_preview_index_feed(struct wbi_preview_index *index, struct wbi_str text);
/* No more text; an unfinished last line counts as a line. Feed no more after it. */
WB_MUST_CHECK wb_rc wbi_preview_index_end(struct wbi_preview_index *index);
uint64_t wbi_preview_index_lines(const struct wbi_preview_index *index);
/* Tokens of the whole text; past WBI_LIMIT_PREVIEW_TOKENS a guess by bytes. */
uint64_t wbi_preview_index_tokens(const struct wbi_preview_index *index);
/* How much its worst line tells of a failure, 0 for nothing, less the more lines are like it.
 * End the index first. 0 also when there is no memory to look. */
double wbi_preview_index_worst(struct wbi_preview_index *index);

/* True when the text is JSON whose strings the preview spells otherwise than it does. */
bool wbi_preview_respells(struct wbi_str text);

/* Choose and render. Everything in ret is in arena. End the index first.
 * WB_ENOMEM, or what read returns. */
WB_MUST_CHECK wb_rc wbi_preview_make(struct wbi_arena *arena, struct wbi_preview_index *index,
                                     const struct wbi_preview_policy *policy, wbi_preview_read read,
                                     void *arg, struct wbi_preview *ret, struct wbi_error *err);
/* Both phases for text in memory. */
WB_MUST_CHECK wb_rc wbi_preview_text(struct wbi_arena *arena, struct wbi_str text,
                                     const struct wbi_preview_policy *policy,
                                     struct wbi_preview *ret, struct wbi_error *err);

/* Share a budget of two streams by need: what one does not need the other
 * gets; when both want more than half, half each. */
void wbi_preview_split(uint64_t budget, uint64_t need_a, uint64_t need_b, uint64_t *ret_a,
                       uint64_t *ret_b);

#endif
