/* SPDX-License-Identifier: Apache-2.0
 * text/preview_json_int.h: what the two files of JSON previews share. */
#ifndef WBI_TEXT_PREVIEW_JSON_INT_H
#define WBI_TEXT_PREVIEW_JSON_INT_H

#include "base/limits.h"
#include "json/json.h"
#include "text/preview_int.h"

#define NOTES_MAX 64u

/* Values in document order, without recursion. */
struct json_walk {
    size_t left[WBI_LIMIT_JSON_DEPTH + 1];
    bool object[WBI_LIMIT_JSON_DEPTH + 1];
    size_t depth;
    const wbi_json *at;
};
void wbi_json_walk_start(struct json_walk *w, const wbi_json *v);
/* Next value, its key (NULL in arrays) and depth; NULL at the end. */
const wbi_json *wbi_json_walk_next(struct json_walk *w, const wbi_json **ret_key,
                                   size_t *ret_depth);

/* A value that is shown by its own: numbers are as they were written, and no text. */
static inline struct wbi_str wbi_text_of(const wbi_json *v)
{
    return wbi_json_is(v, WBI_JSON_STR) ? wbi_json_str(v) : WBI_NONE;
}

struct notes;

/* In arena; root stays. */
WB_MUST_CHECK wb_rc wbi_notes_take(struct wbi_arena *arena, const wbi_json *root,
                                   struct wbi_str command, struct notes **ret);
/* The most telling note tells of a failure. */
bool wbi_notes_sure(const struct notes *x);
/* True when one of the `most` most telling elements is v or inside it. */
bool wbi_notes_within(const struct notes *x, const wbi_json *v, size_t most);
/* What tells of one of them is v or inside it. */
bool wbi_notes_why(const struct notes *x, const wbi_json *v, size_t most);
/* One of them is v itself. */
bool wbi_notes_has(const struct notes *x, const wbi_json *v, size_t most);
bool wbi_notes_failure(const struct notes *x, const wbi_json *key, const wbi_json *v);
/* Keys with few kinds of values, one line each with their counts, within so many units. */
void wbi_notes_tell(const struct notes *x, uint64_t units, struct wbi_buf *out);

#endif
