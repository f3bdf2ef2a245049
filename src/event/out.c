/* SPDX-License-Identifier: Apache-2.0
 * event/out.c: writing that does not block, on descriptors that are not ours.
 * Descriptors share their flags with whoever gave them, so O_NONBLOCK is set on
 * a description of our own, opened through /proc; a socket is told with each
 * write; where neither works, only what the kernel has room for is written. */
#include "event/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

/* How often a reader that was slow is tried again. */
#define AGAIN_MS 10

enum way { WAY_FILE, WAY_SOCKET, WAY_NONBLOCKING, WAY_ASKING };

struct wbi_event_out {
    int fd;
    enum way way;
    struct wbi_timer *again;
    struct wbi_buf waiting; /* whole lines; the first `taken` bytes are written */
    size_t taken;
    uint64_t lost;
    bool gone;     /* the reader */
    bool given_up; /* it took nothing for as long as one waits */
};

/* ---- opening ---- */

static int above_std(int fd)
{
    int high = fd;

    if (fd >= 0 && fd <= 2) {
        high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        (void)close(fd);
    }
    return high;
}

static int open_file(struct wbi_str target)
{
    const int flags = O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    char path[WBI_LIMIT_PATH + 1];
    int fd;

    if (target.n >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, target.p, target.n);
    path[target.n] = '\0';
    fd = open(path, O_WRONLY | flags, 0600);
    if (fd < 0 && errno == ENXIO) /* a named pipe whose reader has not come yet */
        fd = open(path, O_RDWR | flags, 0600);
    return above_std(fd);
}

static bool is_number(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* A description of our own where there can be one. */
static int open_descriptor(struct wbi_str target, bool *ret_own)
{
    char path[64];
    uint64_t number;
    struct stat st;
    int fd;

    if (!wbi_parse_u64(target, &number) || number > INT32_MAX) {
        errno = EBADF;
        return -1;
    }
    if (fstat((int)number, &st) != 0)
        return -1;
    *ret_own = false;
    if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)number);
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        *ret_own = fd >= 0;
        if (fd >= 0)
            return above_std(fd);
    }
    return fcntl((int)number, F_DUPFD_CLOEXEC, 3);
}

static enum way way_of(int fd, bool own)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return WAY_FILE;
    if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
        return WAY_SOCKET;
    return own ? WAY_NONBLOCKING : WAY_ASKING;
}

static void send_waiting(struct wbi_event_out *out);

static void on_again(void *arg)
{
    send_waiting(arg);
}

wb_rc wbi_event_out_open(struct wbi_loop *loop, struct wbi_str target, struct wbi_event_out **ret,
                         struct wbi_error *err)
{
    struct wbi_event_out *out = wbi_zalloc(sizeof(*out));
    bool own = true;

    if (out == NULL)
        return wbi_fail_nomem(err);
    out->fd = is_number(target) ? open_descriptor(target, &own) : open_file(target);
    if (out->fd < 0) {
        wb_rc rc = wbi_fail(err, WB_ESTATE,
                            "events cannot be written to \"%.*s\": %s; give a file or the "
                            "number of an open descriptor",
                            WBI_FMT(wbi_str_head(target, 200)), strerrordesc_np(errno));
        wbi_free(out);
        return rc;
    }
    out->way = way_of(out->fd, own);
    wbi_buf_init(&out->waiting, WBI_LIMIT_EVENTS_WAITING);
    if (wbi_timer_new(loop, on_again, out, &out->again) != WB_OK) {
        (void)close(out->fd);
        wbi_free(out);
        return wbi_fail_nomem(err);
    }
    wbi_timer_background(out->again);
    *ret = out;
    return WB_OK;
}

void wbi_event_out_free(struct wbi_event_out *out)
{
    if (out == NULL)
        return;
    wbi_event_out_flush(out);
    wbi_timer_free(out->again);
    wbi_buf_fini(&out->waiting);
    (void)close(out->fd); /* nothing can be done about a failure */
    wbi_free(out);
}

/* ---- writing ---- */

static bool has_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) > 0;
}

/* -EAGAIN when the reader is slow. */
static ssize_t write_some(const struct wbi_event_out *out, const char *p, size_t n)
{
    ssize_t wrote;

    switch (out->way) {
    case WAY_SOCKET:
        wrote = send(out->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        return wrote < 0 ? -errno : wrote;
    case WAY_ASKING:
        if (!has_room(out->fd))
            return -EAGAIN;
        return wbi_write_quiet(out->fd, p, WBI_MIN(n, (size_t)PIPE_BUF));
    case WAY_FILE:
    case WAY_NONBLOCKING:
        break;
    }
    return wbi_write_quiet(out->fd, p, n);
}

static struct wbi_str untaken(const struct wbi_event_out *out)
{
    return wbi_str_from(wbi_buf_str(&out->waiting), out->taken);
}

static uint64_t lines_in(struct wbi_str s)
{
    uint64_t n = 0;

    for (; s.n > 0; s = wbi_str_from(s, wbi_str_index(s, '\n') + 1))
        n++;
    return n;
}

/* A full disk may have room again for later lines. */
static void lose_waiting(struct wbi_event_out *out, ssize_t why)
{
    out->lost += lines_in(untaken(out));
    wbi_buf_clear(&out->waiting);
    out->taken = 0;
    out->gone = why != -ENOSPC && why != -EDQUOT;
}

/* Line by line, so that one that is short enough is never torn. */
static void send_waiting(struct wbi_event_out *out)
{
    struct wbi_str rest;

    while ((rest = untaken(out)).n > 0) {
        ssize_t n = write_some(out, rest.p, wbi_str_index(rest, '\n') + 1);
        if (n == -EAGAIN || n == -EINTR) {
            wbi_timer_start(out->again, AGAIN_MS);
            return;
        }
        if (n <= 0) {
            lose_waiting(out, n);
            return;
        }
        out->taken += (size_t)n;
    }
    wbi_buf_clear(&out->waiting);
    out->taken = 0;
}

/* Bytes already written make room for others. */
static void drop_taken(struct wbi_event_out *out)
{
    struct wbi_str rest = untaken(out);

    if (out->taken > 0 && rest.n > 0)
        memmove(out->waiting.p, rest.p, rest.n);
    out->waiting.n = rest.n;
    out->taken = 0;
}

wb_rc wbi_event_out_put(struct wbi_event_out *out, struct wbi_str line)
{
    size_t before;

    if (out->gone)
        return WB_EIO;
    if (out->waiting.n + line.n + 1 > WBI_LIMIT_EVENTS_WAITING)
        drop_taken(out);
    before = out->waiting.n;
    wbi_buf_adds(&out->waiting, line);
    wbi_buf_addc(&out->waiting, '\n');
    if (wbi_buf_rc(&out->waiting) != WB_OK) {
        out->waiting.n = before;
        out->waiting.rc = WB_OK;
        return WB_EAGAIN;
    }
    if (before == 0) /* else the timer tries */
        send_waiting(out);
    return WB_OK;
}

void wbi_event_out_flush(struct wbi_event_out *out)
{
    struct pollfd p = {.fd = out->fd, .events = POLLOUT};
    struct wbi_clock clock = wbi_clock_system();
    int64_t end = wbi_now_ns(&clock) + WBI_EVENTS_FLUSH_MS * WBI_NS_PER_MS;

    for (send_waiting(out); untaken(out).n > 0 && !out->given_up; send_waiting(out)) {
        int64_t left = (end - wbi_now_ns(&clock)) / WBI_NS_PER_MS;
        out->given_up = left <= 0 || poll(&p, 1, (int)left) <= 0;
    }
}

uint64_t wbi_event_out_untaken(const struct wbi_event_out *out)
{
    return out->lost + lines_in(untaken(out));
}
