/* SPDX-License-Identifier: Apache-2.0
 * loop/loop.h: the event loop as the other rooms see it; the only room with
 * uv.h. Everything here belongs to the loop thread but wbi_loop_post. */
#ifndef WBI_LOOP_LOOP_H
#define WBI_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"

struct wbi_loop;

/* own loop, or around the caller's uv_loop_t (never closed by us). */
WB_MUST_CHECK wb_rc wbi_loop_new(void *uv_loop_or_null, struct wbi_loop **ret,
                                 struct wbi_error *err);
/* Closes what is left and runs the loop until the close callbacks are done. */
void wbi_loop_free(struct wbi_loop *loop);

/* Run until *done becomes true; blocks. */
void wbi_loop_run(struct wbi_loop *loop, const bool *done);
/* One turn; waits for an event only if `wait`. Returns whether anything is
 * still registered that keeps the loop alive. */
bool wbi_loop_turn(struct wbi_loop *loop, bool wait);
/* True on the thread that runs (or last ran) the loop. Any thread. */
bool wbi_loop_here(const struct wbi_loop *loop);
/* Another thread is about to run the loop: until it does, no thread is its own. */
void wbi_loop_hand_over(struct wbi_loop *loop);
/* Loop thread: while held, the loop counts as busy and waits for posts. Counted. */
void wbi_loop_hold(struct wbi_loop *loop);
void wbi_loop_unhold(struct wbi_loop *loop);

/* Loop thread: an arena that served before, if there is one; wbi_arena_free on the
 * same thread keeps it for the next. */
WB_MUST_CHECK wb_rc wbi_loop_arena(struct wbi_loop *loop, enum wbi_arena_use use, size_t cap,
                                   struct wbi_arena **ret);

/* Any thread: fn(arg) runs once on the loop thread, in the order posted. The
 * node belongs to the caller and must live until fn runs. Never fails. */
struct wbi_post {
    struct wbi_post *next;
    void (*fn)(void *arg);
    void *arg;
};
void wbi_loop_post(struct wbi_loop *loop, struct wbi_post *post);
/* Whether some wait to run, which keep no loop alive that is not held. Loop thread. */
bool wbi_loop_is_posted(const struct wbi_loop *loop);

/* Loop thread: fn(arg) runs once, after the events of this turn and before the loop
 * waits again: what a turn has to write goes out together. The node lives until
 * then or until it is taken back; a node that waits already stays where it is. */
struct wbi_defer {
    struct wbi_defer *next;
    void (*fn)(void *arg);
    void *arg;
    bool waiting;
};
void wbi_loop_defer(struct wbi_loop *loop, struct wbi_defer *defer);
void wbi_loop_undefer(struct wbi_loop *loop, struct wbi_defer *defer);

/* One-shot timer on the monotonic clock. on_fire runs on the loop thread; a
 * stopped timer never fires. Freed timers may be freed from their callback. */
struct wbi_timer;
WB_MUST_CHECK wb_rc wbi_timer_new(struct wbi_loop *loop, void (*on_fire)(void *arg), void *arg,
                                  struct wbi_timer **ret);
void wbi_timer_start(struct wbi_timer *t, int64_t after_ms);
void wbi_timer_stop(struct wbi_timer *t);
/* From now on this timer alone keeps no loop alive. */
void wbi_timer_background(struct wbi_timer *t);
void wbi_timer_free(struct wbi_timer *t); /* NULL is fine */

/* How it waited so far (loop/eager.h). */
struct wbi_eager;
const struct wbi_eager *wbi_loop_eager(const struct wbi_loop *loop);

/* For loop/alarm.h: many deadlines on one timer. They end with the loop. */
struct wbi_alarms *wbi_loop_alarms(struct wbi_loop *loop);

/* Readiness of a descriptor that stays the caller's. */
/* GONE: neither what comes nor room, only that the other side is closed whole; told as READ. */
enum wbi_watch_events { WBI_WATCH_READ = 1, WBI_WATCH_WRITE = 2, WBI_WATCH_GONE = 4 };
struct wbi_watch;
WB_MUST_CHECK wb_rc wbi_watch_new(struct wbi_loop *loop, int fd,
                                  void (*on_ready)(void *arg, int events), void *arg,
                                  struct wbi_watch **ret, struct wbi_error *err);
/* events 0 pauses. */
WB_MUST_CHECK wb_rc wbi_watch_set(struct wbi_watch *w, int events);
/* From now on this watch alone keeps no loop alive. */
void wbi_watch_background(struct wbi_watch *w);
/* Stops at once; the descriptor may be closed right after. NULL is fine. */
void wbi_watch_free(struct wbi_watch *w);

/* Idle work that must not block the loop: work(arg) on a pool thread, then
 * done(arg) on the loop thread, exactly once. WB_EAGAIN where no thread may be started. */
WB_MUST_CHECK wb_rc wbi_loop_work(struct wbi_loop *loop, void (*work)(void *arg),
                                  void (*done)(void *arg), void *arg, struct wbi_error *err);

#endif
