/* SPDX-License-Identifier: Apache-2.0
 * run/holder_main.c: the holder process: keeps one spare keeper ready for the next
 * request and ends with its control socket. It is a copy of the runtime made
 * without exec (so that the library works inside any program): it closes
 * everything, gives back the memory it does not need and uses no heap. */
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
#include "run/signals.h"

#define SHED_FROM (256u * 1024u) /* smaller mappings are not worth it */
#define THREAD_BLOCK (256u * 1024u)
#define RETRY_MS 100 /* when no spare could be forked */
#define QUIET_MS 20  /* after the first command has begun */

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

/* Sanitizers watch the functions of the C library, also for a library that was built without
 * them: whether the host has one is known at run time. */
#pragma weak __asan_init
#pragma weak __hwasan_init
#pragma weak __msan_init
#pragma weak __tsan_init
void __asan_init(void);
void __hwasan_init(void);
void __msan_init(void);
void __tsan_init(void);

static bool is_sanitized(void)
{
    return __asan_init != NULL || __hwasan_init != NULL || __msan_init != NULL ||
           __tsan_init != NULL;
}

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

static void forget(struct wbi_holder_area *area, pid_t pid)
{
    if (area->spare == pid) {
        area->spare = 0;
        area->wasted = true;
    }
    for (uint32_t i = 0; i < area->keeper_count; i++)
        if (area->keepers[i] == pid)
            area->keepers[i] = area->keepers[--area->keeper_count];
}

/* Keepers that ended; if one was killed, its command is ours now and must go. One that was
 * stopped, by its own command most likely, is woken: who else should end that? */
static void reap_keepers(struct wbi_holder_area *area, int children)
{
    struct signalfd_siginfo s;
    int status;
    pid_t pid;

    while (read(children, &s, sizeof(s)) == (ssize_t)sizeof(s))
        ;
    for (;;) {
        uint32_t count;
        while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
            if (WIFSTOPPED(status))
                (void)kill(pid, SIGCONT);
            else
                forget(area, pid);
        count = wbi_scan_children(area);
        if (count <= area->keeper_count)
            return;
        wbi_kill_children(area, count);
        (void)poll(NULL, 0, 1);
    }
}

static bool request_is_sound(const struct wbi_request *rq, ssize_t got, int fd_count)
{
    int expected =
        4 + (rq->flags & WBI_REQUEST_WORKDIR ? 1 : 0) + (rq->flags & WBI_REQUEST_BLOCK ? 1 : 0);

    if (got < (ssize_t)sizeof(*rq) || fd_count != expected || rq->bytes == 0)
        return false;
    return (rq->flags & WBI_REQUEST_BLOCK) || (size_t)got == sizeof(*rq) + rq->bytes;
}

/* The number of descriptors that came with a sound request, 0 for any other. */
static int receive(struct wbi_holder_area *area, int fds[WBI_REQUEST_FDS])
{
    char control[CMSG_SPACE(WBI_REQUEST_FDS * sizeof(int))];
    struct iovec parts[2] = {{&area->request, sizeof(area->request)},
                             {area->strings, sizeof(area->strings)}};
    struct msghdr m = {.msg_iov = parts,
                       .msg_iovlen = 2,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    int count = 0;
    ssize_t n = recvmsg(area->control, &m, MSG_CMSG_CLOEXEC);

    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0)
        _exit(0); /* the runtime is gone */
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(c), (size_t)count * sizeof(int));
    }
    if (request_is_sound(&area->request, n, count))
        return count;
    for (int i = 0; i < count; i++)
        (void)close(fds[i]);
    return 0;
}

/* A spare keeper: ready, its pages touched, waiting for the next request. */
_Noreturn static void wait_for_command(struct wbi_holder_area *area, int taken)
{
    int children = wbi_keeper_prepare(area), count = 0, fds[WBI_REQUEST_FDS];
    char *strings = area->strings;

    if (children < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        _exit(1); /* without a holder no spare: the runtime must see that it is gone */
    memset(area->strings, 0, 4096);
    memset(area->io, 0, 4096);
    while (count == 0)
        count = receive(area, fds);
    (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0); /* a command outlives the holder */
    while (write(taken, "", 1) < 0 && errno == EINTR)
        ;
    (void)close(taken);
    (void)close(area->control);
    if (area->request.flags & WBI_REQUEST_BLOCK) {
        strings =
            mmap(NULL, area->request.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[count - 1], 0);
        if (strings == MAP_FAILED)
            _exit(1); /* the ended socket tells the runtime */
        (void)close(fds[count - 1]);
    }
    wbi_keeper_main(area, children, strings, fds);
}

static void fork_spare(struct wbi_holder_area *area, const int taken[2], int children)
{
    pid_t pid;

    if (area->spare != 0 || area->wasted || area->keeper_count >= WBI_KEEPERS_MAX)
        return; /* requests wait in the socket */
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        (void)close(taken[0]);
        (void)close(children);
        wait_for_command(area, taken[1]);
    }
    if (pid > 0) {
        area->spare = pid;
        area->keepers[area->keeper_count++] = pid;
    }
}

_Noreturn static void leave(struct wbi_holder_area *area)
{
    for (uint32_t i = 0; i < area->keeper_count; i++)
        (void)kill(area->keepers[i], SIGCONT); /* nobody wakes them from now on */
    _exit(0);
}

static void become_holder(struct wbi_holder_area *area)
{
    wbi_signals_by_default(); /* blocked, all of them, since the clone */
    (void)setsid();
    close_all_but(area->control);
    area->control = fcntl(0, F_DUPFD_CLOEXEC, 3);
    if (area->control < 0)
        _exit(1);                 /* it would not see the runtime go */
    for (int i = 0; i < 3; i++) { /* so that no later descriptor is one of these */
        (void)close(i);
        (void)open("/dev/null", O_RDWR);
    }
    (void)prctl(PR_SET_NAME, "waybill-holder", 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!is_sanitized()) /* shadow memory looks like any other */
        shed_memory(area);
}

int wbi_holder_main(void *arg)
{
    struct wbi_holder_area *area = arg;
    int children, taken[2];
    sigset_t child_ended;
    bool begun = false, quiet = false; /* the first command may be the only one: no spare yet */
    char byte;

    become_holder(area);
    (void)sigemptyset(&child_ended);
    (void)sigaddset(&child_ended, SIGCHLD);
    children = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
    if (children < 0 || pipe2(taken, O_CLOEXEC | O_NONBLOCK) != 0)
        _exit(1);
    for (;;) {
        struct pollfd fds[3] = {{.fd = area->control, .events = quiet ? POLLIN : 0},
                                {.fd = children, .events = POLLIN},
                                {.fd = taken[0], .events = POLLIN}};
        int count;
        if (!quiet)
            fork_spare(area, taken, children);
        count = poll(fds, 3, area->spare != 0 ? -1 : quiet ? QUIET_MS : RETRY_MS);
        if (count < 0)
            continue;
        if ((fds[0].revents & ~POLLIN) != 0)
            leave(area); /* keepers see the end of their own sockets */
        if (count == 0 || fds[0].revents != 0)
            quiet = false;
        if (count == 0)
            area->wasted = false;
        if (fds[2].revents != 0 && read(taken[0], &byte, 1) == 1) {
            area->spare = 0;
            quiet = !begun;
            begun = true;
        }
        if (fds[1].revents != 0)
            reap_keepers(area, children);
    }
}
