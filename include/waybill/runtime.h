/* SPDX-License-Identifier: Apache-2.0
 * waybill/runtime.h: a runtime: the tools there are and the calls under way.
 * Nothing is global; runtimes share nothing. The library does not log, print,
 * exit, or set attributes of the process. */
#ifndef WAYBILL_RUNTIME_H
#define WAYBILL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "waybill/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wb_options wb_options;
typedef struct wb_runtime wb_runtime;

typedef enum wb_option {
    WB_OPT_ROOT = 1,          /* workspace root; default: found as docs/configuration.md says */
    WB_OPT_STATE = 2,         /* state directory */
    WB_OPT_CONFIG = 3,        /* a file instead of the user's config.json, trusted as that is;
                                 the workspace's files count as ever */
    WB_OPT_PRINCIPAL = 4,     /* of calls that name none; default "local" */
    WB_OPT_BARE = 5,          /* "1": no files, no configuration, no built-in tools */
    WB_OPT_LEDGER = 6,        /* "0": keep no ledger */
    WB_OPT_CONVERSATION = 7,  /* id of the conversation of calls that name none */
    WB_OPT_EVENTS = 8,        /* file (or descriptor number) for events as JSON Lines */
    WB_OPT_INHERIT_ENV = 9,   /* "1": commands inherit the caller's environment */
    WB_OPT_DIRECT = 10,       /* "1": commands are run for the person who started this
                                 process: any directory, no task unless asked for */
    WB_OPT_INHERIT_STDIN = 11 /* "1": commands read this process's standard input */
} wb_option;

/* NULL when out of memory. Any thread; one thread at a time per object. */
WB_API wb_options *wb_options_new(void);
/* The setters and wb_options_free: as wb_options_new.
 * value is copied; NULL takes an option back. WB_EMISUSE for an unknown option,
 * WB_ENOMEM. */
WB_API wb_rc wb_options_set(wb_options *options, wb_option option, const char *value);
/* Run on the caller's loop: a uv_loop_t that outlives the runtime. A call under way keeps it
 * alive, one that another thread submits only once the loop has begun it. So do commands that go
 * on as tasks and MCP servers that were started, until wb_runtime_free. Whoever runs it is the
 * loop thread from its first turn on, also where another thread has made the runtime. */
WB_API wb_rc wb_options_set_uv_loop(wb_options *options, void *uv_loop);
/* A clock of the caller's (tests): monotonic nanoseconds and wall milliseconds. */
WB_API wb_rc wb_options_set_clock(wb_options *options, int64_t (*mono_ns)(void *arg),
                                  int64_t (*wall_ms)(void *arg), void *arg);
/* A source of the bytes ids are made of (tests): the same bytes, the same ids. */
WB_API wb_rc wb_options_set_ids(wb_options *options,
                                void (*fill)(void *arg, uint8_t *out, size_t size), void *arg);
/* NULL is fine. */
WB_API void wb_options_free(wb_options *options);

/* options may be NULL (defaults) and stay the caller's. Any thread. Errors: WB_ESTATE
 * (configuration or state unusable), WB_EINPUT (a file is wrong: text, place and
 * what would be accepted), WB_ENOMEM, WB_EMISUSE where descriptor 0, 1 or 2 is closed.
 * A runtime is its process's: in a child that this one forks (without exec) the threads behind
 * it are missing, so nothing but wb_runtime_free may be called there, which then does nothing.
 * What drives the loop or waits for it is WB_EMISUSE there. */
WB_API WB_MUST_CHECK wb_rc wb_runtime_new(const wb_options *options, wb_runtime **ret,
                                          wb_error **reterr);
/* Cancels what runs, waits for it (also for tools that were given up on and still
 * have to finish), frees everything. Free kept results before. On the loop thread,
 * or after wb_runtime_start from any thread but the loop's own. Inside a callback of this
 * runtime, whose call is still on the stack, it does nothing. NULL is fine. */
WB_API void wb_runtime_free(wb_runtime *runtime);

/* How many events no reader of WB_OPT_EVENTS has taken, after a moment's patience (a
 * second at most) with a slow one. Loop thread, or any thread while the loop runs. */
WB_API uint64_t wb_runtime_events_lost(wb_runtime *runtime);

/* Tells, a line each, what is missing though nothing failed: at once, that files of the
 * workspace do not count because they are not trusted as they are; while tools are listed
 * or exported, servers whose tools are not there and tools that were left out, with the
 * reason. NULL: nobody is told any longer. On the loop thread. */
WB_API void wb_runtime_on_notice(wb_runtime *runtime,
                                 void (*on_notice)(const char *text, void *arg), void *arg);

/* Waits until the rows of the calls answered so far are on the disk: a call without effects
 * is recorded behind its reply. The error says how many are not, and why; the runtime goes
 * on trying until it is freed. Loop thread, or any thread while the loop runs. */
WB_API WB_MUST_CHECK wb_rc wb_runtime_flush(wb_runtime *runtime, wb_error **reterr);

/* Three ways to drive the loop; use one. "Loop thread" is the one that drives it, also inside
 * callbacks; before that, the one that made the runtime.
 * (1) Own thread: start it; callbacks come on that thread. WB_EMISUSE where it runs already, the
 * loop is the caller's, or inside a callback, which is on the thread that drives it. */
WB_API WB_MUST_CHECK wb_rc wb_runtime_start(wb_runtime *runtime, wb_error **reterr);
/* (2) This thread: until no call is under way, those included that other threads have submitted
 * meanwhile. Inside a callback, whose call is, it does nothing. */
WB_API void wb_runtime_run(wb_runtime *runtime);
/* One turn of the loop; waits for an event if wait is not 0 and a call or a task is under way.
 * Returns the number of calls under way. With the caller's loop (3), uv_run drives instead. Inside
 * a callback that gets frames or output it does nothing. */
WB_API size_t wb_runtime_turn(wb_runtime *runtime, int wait);

#ifdef __cplusplus
}
#endif
#endif
