/* SPDX-License-Identifier: Apache-2.0
 * call/partial.h: what a tool said before it failed (C5.6): the lines that matter
 * within the budget of an error, and where the rest is. */
#ifndef WBI_CALL_PARTIAL_H
#define WBI_CALL_PARTIAL_H

#include "json/write.h"

struct wbi_call;
struct wbi_shown;

#define WBI_PARTIAL_STREAMS 2

struct wbi_partial_stream {
    const char *name; /* prefix of its members, and its role as an artifact */
    struct wbi_str raw;
    uint64_t bytes; /* printed, which may be more than raw has */
    bool truncated; /* raw is not all of it */
    /* Where all of it is kept and all of it prepared for a preview; absent, NULL: raw is. */
    struct wbi_str path;
    struct wbi_shown *whole;
    bool not_kept; /* what is left out cannot be: that was tried */
};

/* text without terminal controls, invisible characters and secrets; absent without memory.
 * where: what it is called among the redactions. */
struct wbi_str wbi_partial_clean(struct wbi_call *call, const char *where, struct wbi_str text);
/* The object `partial` of an error's details: NAME_preview, NAME_truncated, NAME_bytes and
 * NAME_lines of streams that are not empty, artifacts and NAME_artifact. n: at most
 * WBI_PARTIAL_STREAMS. */
void wbi_partial_write(struct wbi_call *call, struct wbi_jw *w, const struct wbi_partial_stream *s,
                       size_t n);
/* {"partial": {…}}; absent without memory. */
struct wbi_str wbi_partial_details(struct wbi_call *call, const struct wbi_partial_stream *s,
                                   size_t n);
/* The same of the complete output of a tool that ran, where that cannot become its result:
 * `output`, and `text` for what an MCP tool says beside it. not_kept: it was tried to keep it.
 * Absent: there is none. */
struct wbi_str wbi_partial_of_output(struct wbi_call *call, bool not_kept);

#endif
