/* SPDX-License-Identifier: Apache-2.0
 * run/stdio.c: the three standard descriptors of a child.
 * Known input goes into a sealed memory file: the child reads it at its own pace,
 * nobody has to feed it and a child that never reads blocks nobody. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/fd.h"
#include "run/process_int.h"

void wbi_fd_drop(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

int wbi_fd_high(int fd)
{
    int high, saved;

    if (fd < 0 || fd > 2)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    saved = errno;
    (void)close(fd);
    errno = saved;
    return high;
}

/* keep: the end that stays with us and does not block (0 read, 1 write). */
static bool open_pipe(int keep, int *ret_ours, int *ret_child)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    ends[0] = wbi_fd_high(ends[0]);
    ends[1] = wbi_fd_high(ends[1]);
    if (ends[0] < 0 || ends[1] < 0 || fcntl(ends[keep], F_SETFL, O_NONBLOCK) != 0) {
        int saved = errno;
        wbi_fd_drop(&ends[0]);
        wbi_fd_drop(&ends[1]);
        errno = saved;
        return false;
    }
    /* Refused when the user's pipes take too much already: the default then. */
    (void)fcntl(ends[keep], F_SETPIPE_SZ, (int)WBI_RUN_PIPE_BYTES);
    *ret_ours = ends[keep];
    *ret_child = ends[1 - keep];
    return true;
}

static int open_bytes(struct wbi_str bytes)
{
    int fd = wbi_fd_high(memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING));

    if (fd < 0)
        return -1;
    if (wbi_write_all(fd, bytes.p, bytes.n) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        goto failed;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        goto failed;
    return fd;
failed:
    wbi_fd_drop(&fd);
    return -1;
}

/* The child's side is opened through ours: no name in /dev/pts is trusted. */
static bool open_tty(const struct wbi_process_spec *spec, struct wbi_stdio *io)
{
    struct winsize size = {.ws_row = spec->tty_rows ? spec->tty_rows : 24,
                           .ws_col = spec->tty_columns ? spec->tty_columns : 80};
    int unlocked = 0;

    io->out[0] = wbi_fd_high(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    if (io->out[0] < 0 || ioctl(io->out[0], TIOCSPTLCK, &unlocked) != 0 ||
        ioctl(io->out[0], TIOCSWINSZ, &size) != 0)
        return false;
    io->child[0] = wbi_fd_high(ioctl(io->out[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (io->child[0] < 0)
        return false;
    io->child[1] = fcntl(io->child[0], F_DUPFD_CLOEXEC, 3);
    io->child[2] = fcntl(io->child[0], F_DUPFD_CLOEXEC, 3);
    io->in = fcntl(io->out[0], F_DUPFD_CLOEXEC, 3);
    return io->child[1] >= 0 && io->child[2] >= 0 && io->in >= 0;
}

static bool open_input(const struct wbi_process_spec *spec, struct wbi_stdio *io)
{
    switch (spec->stdin_kind) {
    case WBI_STDIN_BYTES:
        io->child[0] = open_bytes(spec->stdin_bytes);
        break;
    case WBI_STDIN_PIPE:
        return open_pipe(1, &io->in, &io->child[0]);
    case WBI_STDIN_FD:
        io->child[0] = fcntl(spec->stdin_fd, F_DUPFD_CLOEXEC, 3);
        break;
    default:
        io->child[0] = wbi_fd_high(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    return io->child[0] >= 0;
}

wb_rc wbi_stdio_open(const struct wbi_process_spec *spec, struct wbi_stdio *ret,
                     struct wbi_error *err)
{
    struct wbi_stdio io = {{-1, -1, -1}, -1, {-1, -1}};
    bool ok;

    if (spec->stdin_kind == WBI_STDIN_BYTES && spec->stdin_bytes.n > WBI_LIMIT_STDIN)
        return wbi_fail(err, WB_ELIMIT, "input of %zu bytes, at most %u are accepted",
                        spec->stdin_bytes.n, WBI_LIMIT_STDIN);
    if (spec->stdin_kind == WBI_STDIN_TTY)
        ok = open_tty(spec, &io);
    else
        ok = open_input(spec, &io) && open_pipe(0, &io.out[0], &io.child[1]) &&
             open_pipe(0, &io.out[1], &io.child[2]);
    if (!ok) {
        int saved = errno;
        wbi_stdio_close(&io);
        return wbi_launch_error(err, WBI_STAGE_STDIO, saved, NULL);
    }
    *ret = io;
    return WB_OK;
}

void wbi_stdio_close(struct wbi_stdio *io)
{
    for (int i = 0; i < 3; i++)
        wbi_fd_drop(&io->child[i]);
    wbi_fd_drop(&io->in);
    wbi_fd_drop(&io->out[0]);
    wbi_fd_drop(&io->out[1]);
}
