/* SPDX-License-Identifier: Apache-2.0
 * family/command/command.h: the complete output of commands, and the family that
 * shows it (C7.1, S0 "Command Tool Canonical Example"). */
#ifndef WBI_FAMILY_COMMAND_COMMAND_H
#define WBI_FAMILY_COMMAND_COMMAND_H

#include "artifact/shown.h"
#include "catalog/tool.h"
#include "family/receipt.h"

enum wbi_disposition {
    WBI_DISPOSITION_COMPLETED = 1,
    WBI_DISPOSITION_PROMOTED,
    WBI_DISPOSITION_ALREADY_RUNNING,
    WBI_DISPOSITION_FAILED,  /* in a batch: it could not be started */
    WBI_DISPOSITION_LOST,    /* in a batch: it ended, but how is not known (status_lost), or not all
                              * it printed could be written */
    WBI_DISPOSITION_SKIPPED, /* in a batch: an earlier one failed */
    WBI_DISPOSITION_STOPPED  /* in a batch: it ran when the call was stopped */
};

/* How much a batch tells of a command. */
enum wbi_telling {
    WBI_TELL_ALL = 0, /* how it ended, its output or the part of it that fits */
    WBI_TELL_LINE,    /* one line; its output is kept */
    WBI_TELL_COUNT    /* its number among others; the same */
};

/* One stream of a command: everything it printed is in the artifact. */
struct wbi_command_stream {
    struct wbi_shown *shown; /* NULL: nothing was printed */
    struct wbi_str artifact; /* absolute path; absent when none is kept */
    uint64_t bytes;          /* printed */
    uint64_t lines;
    uint64_t dropped;        /* of these, not kept */
    const char *drop_reason; /* NULL when none were */
    bool needless;           /* the artifact: all is shown here, so it is not told of (I3) */
};

struct wbi_command_output {
    enum wbi_disposition disposition;
    struct wbi_str cmd; /* as it was asked for */
    int exit_status;
    int signal;       /* 0: it exited */
    bool status_lost; /* nobody knows how it ended */
    bool timed_out;
    int64_t timeout_ms;
    const char *limit; /* name of the limit that ended it, NULL */
    uint32_t killed;   /* processes it left running when it exited, which were killed */
    const char *error; /* FAILED: why */
    bool combined;     /* a terminal: stdout holds both */
    struct wbi_command_stream stream[2];
    bool unasked[2]; /* counted, not shown */
    struct wbi_str task_id;
    struct wbi_str task_status;
    uint32_t budget_tokens;      /* for the whole receipt */
    struct wbi_allowance budget; /* as it was asked for */
    enum wbi_telling telling;    /* in a batch */
};

/* Several, in order. */
struct wbi_command_batch {
    struct wbi_command_output *items;
    size_t count;   /* of those that were begun or skipped */
    size_t planned; /* of all that were asked for */
    struct wbi_allowance budget;
};

extern const struct wbi_family wbi_command_family; /* typed: struct wbi_command_output */
extern const struct wbi_family wbi_batch_family;   /* typed: struct wbi_command_batch */

/* The previews and counts of a command as members of an open object, for
 * details.partial of calls that were cut short; artifacts included. */
WB_MUST_CHECK wb_rc wbi_command_write_partial(const struct wbi_command_output *out,
                                              struct wbi_arena *arena, struct wbi_jw *w,
                                              struct wbi_error *err);
/* The same of a batch: every command that was begun, in one budget. */
WB_MUST_CHECK wb_rc wbi_batch_write_partial(const struct wbi_command_batch *batch,
                                            struct wbi_arena *arena, struct wbi_jw *w,
                                            struct wbi_error *err);
/* Tokens that the command `at` of a running batch may cost and still be sure to be shown,
 * whatever the later ones print. */
uint32_t wbi_batch_sure(const struct wbi_command_batch *batch, size_t at, struct wbi_arena *arena);
/* How it ended, as members of an open object. */
void wbi_command_write_end(struct wbi_jw *w, const struct wbi_command_output *out);
/* One stream within a budget; nothing was printed: no text. Budget 0: it is left out. */
WB_MUST_CHECK wb_rc wbi_command_preview(const struct wbi_command_stream *s, struct wbi_str cmd,
                                        uint64_t budget, struct wbi_arena *arena,
                                        struct wbi_preview *ret, struct wbi_error *err);
/* Which streams are shown complete and as they were printed, so that nobody needs them as an
 * artifact; after the end of both. */
void wbi_command_shows_whole(const struct wbi_command_output *out, bool ret[2]);
/* The receipt of one item of a batch alone, as a shell_call answers it (I4). */
void wbi_command_render_item(const wbi_json *item, struct wbi_buf *out);
/* How to read what the items of a batch left out; nothing when all is told in full. */
void wbi_batch_render_kept(const wbi_json *items, struct wbi_buf *out);
/* The items of a batch, whole or stopped, as they stand in its receipt. */
void wbi_batch_render_items(const wbi_json *items, struct wbi_buf *out);
/* What all receipts of commands and tasks say first of what was left out. */
void wbi_command_render_streams(const wbi_json *result, struct wbi_buf *out);

#endif
