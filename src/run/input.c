/* SPDX-License-Identifier: Apache-2.0
 * run/input.c: what a running child is told on its standard input. */
#include <errno.h>
#include <poll.h>

#include "base/fd.h"
#include "base/limits.h"
#include "loop/loop.h"
#include "run/process_int.h"

#define END_OF_TEXT 4
#define ENDS_AT_ONCE 16u /* each read of a terminal takes one */
#define ENDS_MOST 64u    /* a program that draws at each of them is not fed for ever */

static void end_input(struct wbi_process *p)
{
    wbi_loop_undefer(p->runner->loop, &p->in_flush);
    wbi_watch_free(p->in_watch);
    p->in_watch = NULL;
    p->in_watched = false;
    wbi_fd_drop(&p->in);
    wbi_buf_fini(&p->pending);
}

/* Wait for room only while something waits for it. */
static void watch_room(struct wbi_process *p)
{
    bool wanted = p->pending.n > 0;

    if (p->in_watch == NULL || wanted == p->in_watched)
        return;
    p->in_watched = wanted;
    if (wbi_watch_set(p->in_watch, wanted ? WBI_WATCH_WRITE : 0) != WB_OK)
        end_input(p);
}

static void write_pending(struct wbi_process *p)
{
    while (p->pending.n > p->taken) {
        ssize_t n = wbi_write_quiet(p->in, p->pending.p + p->taken, p->pending.n - p->taken);
        if (n == -EAGAIN)
            break;
        if (n < 0) { /* nobody reads any more */
            end_input(p);
            return;
        }
        p->taken += (size_t)n;
    }
    if (p->taken > 0 && p->taken >= p->pending.n / 2) { /* seldom enough for large inputs */
        p->pending.n -= p->taken;
        memmove(p->pending.p, p->pending.p + p->taken, p->pending.n);
        p->taken = 0;
    }
    if (p->pending.n == 0 && p->in_closing && !p->in_tty) {
        end_input(p);
        return;
    }
    watch_room(p);
}

static void on_turn_ends(void *arg)
{
    write_pending(arg);
}

static void on_input_ready(void *arg, int events)
{
    (void)events;
    write_pending(arg);
}

/* All of it or nothing. */
static wb_rc take(struct wbi_process *p, struct wbi_str bytes, struct wbi_str end,
                  struct wbi_error *err)
{
    size_t n = bytes.n + end.n, before;

    if (p->in_flush.waiting && n > WBI_LIMIT_PENDING_INPUT - p->pending.n)
        write_pending(p);
    if (p->in < 0 || p->in_closing || p->phase != WBI_RUNNING)
        return wbi_fail(err, WB_ENOTFOUND, "the process takes no input, or no more");
    if (n > p->pending.max)
        return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the input has %zu bytes, at most %zu may wait to be read; nothing "
                             "was written: send it in smaller pieces",
                             n, p->pending.max);
    if (n > p->pending.max - p->pending.n)
        return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_TOOL_EXECUTION_FAILED,
                             "%zu bytes wait to be read already, at most %zu may; nothing was "
                             "written: send it again when the process has read",
                             p->pending.n, p->pending.max);
    if (p->in_watch == NULL) {
        wb_rc rc = wbi_watch_new(p->runner->loop, p->in, on_input_ready, p, &p->in_watch, err);
        if (rc != WB_OK)
            return rc;
    }
    before = p->pending.n;
    wbi_buf_adds(&p->pending, bytes);
    wbi_buf_adds(&p->pending, end);
    if (wbi_buf_rc(&p->pending) != WB_OK) {
        p->pending.n = before;
        p->pending.rc = WB_OK; /* what waits already is whole */
        return wbi_fail_nomem(err);
    }
    p->in_flush.fn = on_turn_ends;
    p->in_flush.arg = p;
    wbi_loop_defer(p->runner->loop, &p->in_flush);
    return WB_OK;
}

wb_rc wbi_process_input(struct wbi_process *p, struct wbi_str bytes, struct wbi_error *err)
{
    return take(p, bytes, WBI_LIT(""), err);
}

wb_rc wbi_process_line(struct wbi_process *p, struct wbi_str line, struct wbi_error *err)
{
    return take(p, line, WBI_LIT("\n"), err);
}

bool wbi_process_reads(const struct wbi_process *p)
{
    struct pollfd in = {.fd = p->in};

    return p->in >= 0 && !p->in_closing && p->phase == WBI_RUNNING &&
           (poll(&in, 1, 0) != 1 || (in.revents & (POLLERR | POLLHUP)) == 0);
}

/* A terminal has no end that lasts: whoever reads it again has to be told again. */
static bool end_terminal(struct wbi_process *p)
{
    char ends[ENDS_AT_ONCE];

    memset(ends, END_OF_TEXT, sizeof(ends));
    p->ends_told = ENDS_AT_ONCE;
    return wbi_process_input(p, wbi_str_make(ends, sizeof(ends)), NULL) == WB_OK;
}

void wbi_process_close_input(struct wbi_process *p)
{
    if (p->in < 0 || p->in_closing)
        return;
    if (p->in_tty && !end_terminal(p))
        end_input(p); /* full or gone: hang up instead */
    p->in_closing = true;
    if (p->in >= 0)
        write_pending(p);
}

void wbi_process_end_again(struct wbi_process *p)
{
    static const char end = END_OF_TEXT;

    if (!p->in_tty || !p->in_closing || p->in < 0 || p->pending.n > 0 || p->ends_told == ENDS_MOST)
        return;
    p->ends_told++;
    (void)wbi_write_quiet(p->in, &end, 1); /* where it has no room, there are ends enough */
}
