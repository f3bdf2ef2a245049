/* SPDX-License-Identifier: Apache-2.0
 * run/holder_main.c: the holder process: forks a keeper per request, ends with
 * its control socket. It is a copy of the runtime made without exec (so that the
 * library works inside any program): it closes everything, gives back the memory
 * it does not need and uses no heap. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/holder_int.h"

#define SHED_FROM (256u * 1024u) /* smaller mappings are not worth it */
#define THREAD_BLOCK (256u * 1024u)

static void close_all_but(int fd)
{
    int low = dup2(fd, 0);

    (void)low;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 1u, ~0u, 0) == 0)
        return;
#endif
    for (int i = 1; i < 65536; i++)
        (void)close(i);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEP_ALL_MEMORY 1 /* shadow memory looks like any other */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                     \
    __has_feature(memory_sanitizer)
#define KEEP_ALL_MEMORY 1
#endif
#endif

#ifndef KEEP_ALL_MEMORY
static uintptr_t hex(const char **p)
{
    uintptr_t v = 0;

    for (;; (*p)++) {
        char c = **p;
        if (c >= '0' && c <= '9')
            v = v * 16 + (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (uintptr_t)(c - 'a' + 10);
        else
            return v;
    }
}

/* What lies in [from, to) but not in [keep, keep + n); neighbours of the same kind
 * show as one mapping. */
static void unmap_around(uintptr_t from, uintptr_t to, uintptr_t keep, size_t n,
                         void (*rest)(uintptr_t, uintptr_t))
{
    uintptr_t last = keep + n;

    if (last <= from || keep >= to) {
        rest(from, to);
        return;
    }
    if (from < keep)
        rest(from, keep);
    if (last < to)
        rest(last, to);
}

static void unmap(uintptr_t from, uintptr_t to)
{
    (void)munmap((void *)from, to - from);
}

/* The thread's own block: errno, the stack guard and the like. */
static void unmap_but_thread(uintptr_t from, uintptr_t to)
{
    uintptr_t here = (uintptr_t)&errno & ~((uintptr_t)THREAD_BLOCK - 1);

    unmap_around(from, to, here - THREAD_BLOCK, 3 * (size_t)THREAD_BLOCK, unmap);
}

/* One line of /proc/self/maps. Unmaps big private anonymous memory and all shared
 * mappings; keeps our area (with the stack), the thread block and what continues a file
 * (the uninitialised data of a library). */
static void shed_line(const struct wbi_holder_area *area, const char *line, uintptr_t *file_end)
{
    const char *p = line, *name;
    uintptr_t from = hex(&p), to;
    bool shared, writable;

    p++;
    to = hex(&p);
    if (strlen(p) < 6)
        return;
    writable = p[2] == 'w';
    shared = p[4] == 's';
    name = strchr(p, '/');
    if (name != NULL && !shared) {
        *file_end = to;
        return;
    }
    if (strchr(p, '[') != NULL && strstr(p, "[heap]") == NULL && strstr(p, "[anon") == NULL)
        return;
    if (from == *file_end) {
        *file_end = to;
        return;
    }
    if (shared || (writable && to - from >= SHED_FROM))
        unmap_around(from, to, (uintptr_t)area, area->size, unmap_but_thread);
}

static void shed_memory(struct wbi_holder_area *area)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    uintptr_t file_end = 0;
    size_t have = 0;
    ssize_t n;

    while (fd >= 0 && (n = read(fd, area->io + have, sizeof(area->io) - 1 - have)) > 0) {
        char *line = area->io, *end;
        have += (size_t)n;
        area->io[have] = '\0';
        while ((end = memchr(line, '\n', have - (size_t)(line - area->io))) != NULL) {
            *end = '\0';
            shed_line(area, line, &file_end);
            line = end + 1;
        }
        have -= (size_t)(line - area->io);
        memmove(area->io, line, have);
    }
    if (fd >= 0)
        (void)close(fd);
}
#else
static void shed_memory(struct wbi_holder_area *area)
{
    (void)area;
}
#endif

static void forget(struct wbi_holder_area *area, pid_t pid)
{
    for (uint32_t i = 0; i < area->keeper_count; i++)
        if (area->keepers[i] == pid)
            area->keepers[i] = area->keepers[--area->keeper_count];
}

/* Keepers that ended; if one was killed, its command is ours now and must go. */
static void reap_keepers(struct wbi_holder_area *area, int children)
{
    struct signalfd_siginfo s;
    pid_t pid;

    while (read(children, &s, sizeof(s)) == (ssize_t)sizeof(s))
        ;
    for (;;) {
        uint32_t count;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            forget(area, pid);
        count = wbi_scan_children(area);
        if (count <= area->keeper_count)
            return;
        wbi_kill_children(area, count);
        (void)poll(NULL, 0, 1);
    }
}

static void start_keeper(struct wbi_holder_area *area, const int *fds, int fd_count, int children)
{
    char *strings = area->strings;
    pid_t pid;

    if (area->keeper_count >= WBI_KEEPERS_MAX)
        return; /* the closed socket tells the runtime */
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid > 0)
        area->keepers[area->keeper_count++] = pid;
    if (pid != 0)
        return;
    (void)close(area->control);
    (void)close(children);
    if (area->request.flags & WBI_REQUEST_BLOCK)
        strings = mmap(NULL, area->request.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                       fds[fd_count - 1], 0);
    if (strings == MAP_FAILED)
        _exit(1);
    wbi_keeper_main(area, strings, fds);
}

static bool request_is_sound(const struct wbi_request *rq, ssize_t got, int fd_count)
{
    int expected = 4 + (rq->flags & WBI_REQUEST_WORKDIR ? 1 : 0) +
                   (rq->flags & WBI_REQUEST_BLOCK ? 1 : 0);

    if (got < (ssize_t)sizeof(*rq) || fd_count != expected || rq->bytes == 0)
        return false;
    return (rq->flags & WBI_REQUEST_BLOCK) || (size_t)got == sizeof(*rq) + rq->bytes;
}

/* False when the runtime is gone. */
static bool serve(struct wbi_holder_area *area, int children)
{
    char control[CMSG_SPACE(WBI_REQUEST_FDS * sizeof(int))];
    struct iovec parts[2] = {{&area->request, sizeof(area->request)},
                             {area->strings, sizeof(area->strings)}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control,
                       .msg_controllen = sizeof(control)};
    int fds[WBI_REQUEST_FDS], count = 0;
    ssize_t n = recvmsg(area->control, &m, MSG_CMSG_CLOEXEC);

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(c), (size_t)count * sizeof(int));
    }
    if (request_is_sound(&area->request, n, count))
        start_keeper(area, fds, count, children);
    for (int i = 0; i < count; i++)
        (void)close(fds[i]);
    return true;
}

int wbi_holder_main(void *arg)
{
    struct wbi_holder_area *area = arg;
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t child_ended;
    int children;

    for (int n = 1; n < NSIG; n++)
        (void)sigaction(n, &by_default, NULL); /* blocked, all of them, since the clone */
    (void)setsid();
    close_all_but(area->control);
    area->control = fcntl(0, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3; i++) { /* so that no later descriptor is one of these */
        (void)close(i);
        (void)open("/dev/null", O_RDWR);
    }
    (void)prctl(PR_SET_NAME, "waybill-holder", 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    shed_memory(area);
    (void)sigemptyset(&child_ended);
    (void)sigaddset(&child_ended, SIGCHLD);
    children = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
    for (;;) {
        struct pollfd fds[2] = {{.fd = area->control, .events = POLLIN},
                                {.fd = children, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents != 0)
            reap_keepers(area, children);
        if (fds[0].revents != 0 && !serve(area, children))
            _exit(0); /* keepers see the end of their own sockets */
    }
}
