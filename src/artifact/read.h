/* SPDX-License-Identifier: Apache-2.0
 * artifact/read.h: ranged reads over the cleaned text (C5.5).
 * Cleaning and matching belong to text/ and come in as callbacks. Reading streams
 * from the start (cleaning has state), so memory is bounded by the page asked
 * for, whatever the artifact's size. Any thread; nothing is shared. */
#ifndef WBI_ARTIFACT_READ_H
#define WBI_ARTIFACT_READ_H

#include <stdatomic.h>

#include "artifact/range.h"
#include "artifact/store.h"
#include "base/buf.h"
#include "json/json.h"
#include "text/regex.h"

/* Streaming hygiene. feed and finish append cleaned bytes to out. */
struct wbi_cleaner {
    void *arg;
    wb_rc (*begin)(void *arg, void **ret_state);
    wb_rc (*feed)(void *state, struct wbi_str raw, struct wbi_buf *out);
    wb_rc (*finish)(void *state, struct wbi_buf *out);
    void (*end)(void *state); /* after finish or a failure */
};

/* Looks for a match in one line without its line feed, or in WBI_LIMIT_GREP_LINE bytes of it:
 * from > 0 if the line began before the part, goes_on if it does not end with it. *ret_at: where
 * it begins. */
struct wbi_line_matcher {
    void *arg;
    enum wbi_regex_verdict (*match)(void *arg, struct wbi_str part, size_t from, bool goes_on,
                                    size_t *ret_at);
};

/* A matcher whose arg is a struct wbi_regex. */
enum wbi_regex_verdict wbi_grep_regex(void *regex, struct wbi_str part, size_t from, bool goes_on,
                                      size_t *ret_at);

enum wbi_read_kind {
    WBI_READ_LINES = 0, /* first to last, from 1; 0 for last: to the end */
    WBI_READ_BYTES,     /* first to last, from 0, last excluded; WBI_RANGE_END: to the end */
    WBI_READ_TAIL,      /* the last `first` lines */
    WBI_READ_GREP,      /* lines that match, as `grep -n` shows them */
    WBI_READ_JSON       /* the value at json_path, pretty-printed */
};

struct wbi_read_query {
    enum wbi_read_kind kind;
    uint64_t first, last;
    const struct wbi_line_matcher *matcher; /* for GREP */
    struct wbi_str pattern;                 /* its text: ties page tokens to it */
    uint32_t context;                       /* lines around a match */
    struct wbi_str json_path;               /* "/a/0/b" or "$.a[0]['b']"; "" or "$": the root */
    struct wbi_str page_token;
    size_t max_bytes;                  /* of a page; 0 or more: WBI_LIMIT_READ */
    uint64_t max_lines;                /* 0: no limit of its own */
    const struct wbi_cleaner *cleaner; /* NULL: the raw bytes */
    const atomic_bool *stop;           /* set: the read ends with WB_ECANCELLED; NULL: never */
    uint64_t there; /* set by the read: the raw bytes there are when it begins; of what is still
                     * written no more are looked at */
};

struct wbi_read_page {
    struct wbi_str text;             /* in the arena */
    uint64_t first_line, last_line;  /* shown; 0 where none; for BYTES byte offsets */
    uint64_t total_lines;            /* cleaned; 0 unless the end was seen; for BYTES the
                                      * bytes, of a range past them */
    uint64_t resume;                 /* for BYTES: where to read on once more was written; an
                                      * unfinished last line may be drawn over until then */
    uint64_t matches, cut_lines;     /* on this page, for GREP: cut are long ones */
    bool cut_line;                   /* the last line shown goes on in the next page */
    char next_token[WBI_PAGE_TOKEN]; /* "" at the end */
};

/* WB_EINPUT: a bad token or path, or no JSON; WB_ENOTFOUND: the path leads nowhere. */
WB_MUST_CHECK wb_rc wbi_artifact_read(const struct wbi_artifact_store *s,
                                      const struct wbi_artifact *a, const struct wbi_read_query *q,
                                      struct wbi_arena *arena, struct wbi_read_page *ret,
                                      struct wbi_error *err);
/* The same over any descriptor (from its start) or text; name ties the tokens. */
WB_MUST_CHECK wb_rc wbi_read_fd(int fd, struct wbi_str name, const struct wbi_read_query *q,
                                struct wbi_arena *arena, struct wbi_read_page *ret,
                                struct wbi_error *err);

/* Whether the query's page token is of this question about the artifact of that name. */
bool wbi_read_goes_on(struct wbi_str name, const struct wbi_read_query *q);

/* A value within another by "/a/0" or "$.a[0]"; also for other rooms. */
WB_MUST_CHECK wb_rc wbi_json_path(const wbi_json *root, struct wbi_str path, const wbi_json **ret,
                                  struct wbi_error *err);

#endif
