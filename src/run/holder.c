/* SPDX-License-Identifier: Apache-2.0
 * run/holder.c: starting the holder and asking it for commands. */
#include "run/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "run/holder_int.h"
#include "run/process_int.h"

#define HOLDER_STACK (256u * 1024u)
/* A holder that nobody holds up takes the next request long before; one that did not, once more. */
#define TAKES_MS 1000
#define TAKES_AGAIN_MS 10

struct wbi_holder {
    pid_t pid;
    int control;
    bool stuck; /* it did not take a request in time, and none since */
    struct wbi_buf strings;
};

static bool open_pair(int ret[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) != 0)
        return false;
    ret[0] = wbi_fd_high(ret[0]);
    ret[1] = wbi_fd_high(ret[1]);
    if (ret[0] >= 0 && ret[1] >= 0)
        return true;
    wbi_fd_drop(&ret[0]);
    wbi_fd_drop(&ret[1]);
    return false;
}

/* No exec follows, so the exit signal stays 0: the host program's own waiting
 * for children never sees the holder. */
static pid_t copy_process(int control)
{
    size_t size = sizeof(struct wbi_holder_area) + HOLDER_STACK;
    struct wbi_holder_area *area;
    sigset_t all, before;
    pid_t pid;

    size = (size + 65535) / 65536 * 65536;
    area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return -1;
    area->size = size;
    area->control = control;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    pid = clone(wbi_holder_main, (char *)area + size, 0, area);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)munmap(area, size);
    return pid;
}

wb_rc wbi_holder_new(struct wbi_holder **ret, struct wbi_error *err)
{
    struct wbi_holder *h = wbi_zalloc(sizeof(*h));
    int ends[2];

    if (h == NULL)
        return wbi_fail_nomem(err);
    if (!open_pair(ends)) {
        wbi_free(h);
        return wbi_fail_errno(err, errno, "cannot open the holder's socket");
    }
    h->control = ends[0];
    h->pid = copy_process(ends[1]);
    wbi_fd_drop(&ends[1]);
    if (h->pid < 0) {
        int failed = errno;
        wbi_fd_drop(&h->control);
        wbi_free(h);
        return wbi_fail_errno(err, failed, "cannot start the holder");
    }
    wbi_buf_init(&h->strings, WBI_LIMIT_ARGUMENT_BYTES * 3);
    *ret = h;
    return WB_OK;
}

void wbi_holder_free(struct wbi_holder *h)
{
    if (h == NULL)
        return;
    wbi_fd_drop(&h->control);
    (void)kill(h->pid, SIGCONT); /* a command may have stopped it */
    while (waitpid(h->pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    wbi_buf_fini(&h->strings);
    wbi_free(h);
}

pid_t wbi_holder_pid(const struct wbi_holder *h)
{
    return h->pid;
}

static uint32_t add_all(struct wbi_buf *b, char *const *v)
{
    uint32_t count = 0;

    for (; v[count] != NULL; count++)
        wbi_buf_add(b, v[count], strlen(v[count]) + 1);
    return count;
}

/* The strings in a memory file, for requests too long for a message. */
static int block_of(const struct wbi_buf *strings)
{
    int fd = wbi_fd_high(memfd_create("arguments", MFD_CLOEXEC));
    size_t done = 0;

    while (fd >= 0 && done < strings->n) {
        ssize_t n = write(fd, strings->p + done, strings->n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            wbi_fd_drop(&fd);
            break;
        }
        done += (size_t)n;
    }
    return fd;
}

/* 0 or an errno. The loop's thread waits here: as long as a burst of requests may need, but for
 * a holder that somebody keeps from working not again and again. */
static int send_in_time(struct wbi_holder *h, const struct msghdr *m)
{
    for (int tries = h->stuck ? TAKES_AGAIN_MS : TAKES_MS;; tries--) {
        int failed;

        (void)kill(h->pid, SIGCONT); /* a command may have stopped it */
        failed = sendmsg(h->control, m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
        h->stuck = failed == EAGAIN;
        if (failed != EINTR && (failed != EAGAIN || tries <= 1))
            return failed;
        (void)poll(NULL, 0, 1);
    }
}

static int send_request(struct wbi_holder *h, struct wbi_request *rq, const int *fds, int count)
{
    char space[CMSG_SPACE(WBI_REQUEST_FDS * sizeof(int))] = {0};
    struct iovec parts[2] = {{rq, sizeof(*rq)}, {h->strings.p, h->strings.n}};
    struct msghdr m = {.msg_iov = parts,
                       .msg_iovlen = rq->flags & WBI_REQUEST_BLOCK ? 1 : 2,
                       .msg_control = space,
                       .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, (size_t)count * sizeof(int));
    return send_in_time(h, &m);
}

static bool is_dead(const struct wbi_holder *h)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 ||
           info.si_pid != 0;
}

wb_rc wbi_holder_launch(struct wbi_holder *h, const struct wbi_launch *l, int *ret_socket,
                        struct wbi_error *err)
{
    struct wbi_request rq = {.limits = l->limits,
                             .flags = (l->tty ? WBI_REQUEST_TTY : 0u) |
                                      (l->allow_new_privs ? WBI_REQUEST_NEW_PRIVS : 0u)};
    int pair[2] = {-1, -1}, block = -1, count = 4, failed;
    int fds[WBI_REQUEST_FDS];

    if (is_dead(h)) /* its spare may still take what is sent, or may not */
        return wbi_fail(err, WB_EAGAIN, "the holder is gone");
    wbi_buf_clear(&h->strings);
    wbi_buf_add(&h->strings, l->path, strlen(l->path) + 1);
    rq.argc = add_all(&h->strings, l->argv);
    rq.envc = add_all(&h->strings, l->envp);
    if (wbi_buf_rc(&h->strings) != WB_OK)
        return wbi_fail(err, wbi_buf_rc(&h->strings), "arguments and environment are too long");
    rq.bytes = (uint32_t)h->strings.n;
    if (!open_pair(pair))
        return wbi_launch_error(err, WBI_STAGE_STDIO, errno, NULL);
    memcpy(fds, l->stdio, sizeof(l->stdio));
    fds[3] = pair[1];
    if (l->workdir_fd >= 0) {
        rq.flags |= WBI_REQUEST_WORKDIR;
        fds[count++] = l->workdir_fd;
    }
    failed = 0;
    if (h->strings.n > WBI_REQUEST_INLINE) {
        rq.flags |= WBI_REQUEST_BLOCK;
        fds[count++] = block = block_of(&h->strings);
        failed = block < 0 ? errno : 0;
    }
    if (failed == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0)
        failed = errno;
    if (failed == 0)
        failed = send_request(h, &rq, fds, count);
    wbi_fd_drop(&pair[1]);
    wbi_fd_drop(&block);
    if (failed == 0) {
        *ret_socket = pair[0];
        return WB_OK;
    }
    wbi_fd_drop(&pair[0]);
    if (failed == EPIPE || failed == ECONNRESET || failed == ENOTCONN)
        return wbi_fail(err, WB_EAGAIN, "the holder is gone");
    return wbi_launch_error(err, WBI_STAGE_STDIO, failed, NULL);
}
