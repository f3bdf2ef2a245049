/* SPDX-License-Identifier: Apache-2.0
 * run/scan.c: finding descendants through /proc, without a heap.
 * Only children of this process are killed, and groups they are in: a child's id
 * cannot be reused before we reap it, and a group id not while it has a member. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/holder_int.h"

/* What getdents64 gives; the C library has no public name for it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static size_t put_number(char *at, unsigned long v)
{
    char digits[24];
    size_t n = 0;

    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    for (size_t i = 0; i < n; i++)
        at[i] = digits[n - 1 - i];
    return n;
}

static const char *number(const char *p, uint64_t *ret)
{
    uint64_t v = 0;

    while (*p == ' ')
        p++;
    while (*p >= '0' && *p <= '9')
        v = v * 10 + (uint64_t)(*p++ - '0');
    *ret = v;
    return p;
}

static ssize_t read_whole(const char *path, char *into, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    ssize_t n = 0;

    if (fd < 0)
        return -1;
    while (have < room - 1) {
        n = read(fd, into + have, room - 1 - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    (void)close(fd);
    into[have] = '\0';
    return n < 0 ? -1 : (ssize_t)have;
}

/* "pid (name) S ppid …", rss is field 24; the name may hold anything. */
static bool read_stat(const char *pid, struct wbi_scanned *ret)
{
    char path[64] = "/proc/", text[1024];
    const char *p;
    uint64_t v;
    size_t n = strlen(pid);

    if (n > 20)
        return false;
    memcpy(path + 6, pid, n);
    memcpy(path + 6 + n, "/stat", 6);
    if (read_whole(path, text, sizeof(text)) <= 0)
        return false;
    p = strrchr(text, ')');
    if (p == NULL || p[1] == '\0' || p[2] == '\0')
        return false;
    (void)number(pid, &v);
    ret->pid = (pid_t)v;
    p = number(p + 3, &v);
    ret->parent = (pid_t)v;
    for (int field = 5; field < 24; field++) {
        p += strspn(p, " ");
        p += strcspn(p, " ");
    }
    (void)number(p, &ret->rss_pages);
    ret->ours = false;
    return true;
}

static void scan_all(struct wbi_holder_area *area)
{
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;

    area->scanned_count = 0;
    if (fd < 0)
        return;
    while ((n = syscall(SYS_getdents64, fd, area->io, sizeof(area->io))) > 0) {
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(const void *)(area->io + at);
            at += e->size;
            if (e->name[0] < '1' || e->name[0] > '9' || area->scanned_count >= WBI_SCAN_MAX)
                continue;
            if (read_stat(e->name, &area->scanned[area->scanned_count]))
                area->scanned_count++;
        }
    }
    (void)close(fd);
}

static uint32_t children_by_stat(struct wbi_holder_area *area)
{
    pid_t self = getpid();
    uint32_t kept = 0;

    scan_all(area);
    for (uint32_t i = 0; i < area->scanned_count; i++)
        if (area->scanned[i].parent == self)
            area->scanned[kept++] = area->scanned[i];
    return kept;
}

void wbi_scan_whole(char *text, size_t n, size_t room)
{
    if (n + 1 < room)
        return;
    while (n > 0 && text[n - 1] != ' ')
        n--;
    text[n] = '\0';
}

uint32_t wbi_scan_children(struct wbi_holder_area *area)
{
    static const char tail[] = "/children";
    char path[64] = "/proc/self/task/";
    size_t n = strlen(path);
    const char *p = area->io;
    uint32_t count = 0;
    ssize_t have;

    n += put_number(path + n, (unsigned long)getpid());
    memcpy(path + n, tail, sizeof(tail));
    have = read_whole(path, area->io, sizeof(area->io));
    if (have < 0)
        return children_by_stat(area); /* a kernel without these files */
    wbi_scan_whole(area->io, (size_t)have, sizeof(area->io));
    while (count < WBI_SCAN_MAX) {
        uint64_t pid;
        p = number(p, &pid);
        if (pid == 0)
            return count;
        area->scanned[count++] = (struct wbi_scanned){.pid = (pid_t)pid, .parent = getpid()};
    }
    return count;
}

/* /proc lists by number, so the parent is found by halving. */
static bool is_ours(const struct wbi_holder_area *area, pid_t parent, pid_t self)
{
    uint32_t low = 0, high = area->scanned_count;

    if (parent == self)
        return true;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (area->scanned[middle].pid < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low < area->scanned_count && area->scanned[low].pid == parent && area->scanned[low].ours;
}

uint32_t wbi_scan_tree(struct wbi_holder_area *area, uint64_t *ret_pages)
{
    pid_t self = getpid();
    uint32_t count = 0;
    bool more = true;

    *ret_pages = 0;
    scan_all(area);
    while (more) { /* parents mostly come first: one pass, and one that finds no more */
        more = false;
        for (uint32_t i = 0; i < area->scanned_count; i++) {
            struct wbi_scanned *s = &area->scanned[i];
            if (s->ours || !is_ours(area, s->parent, self))
                continue;
            s->ours = more = true;
            *ret_pages += s->rss_pages;
            count++;
        }
    }
    return count;
}

static bool is_keeper(const struct wbi_holder_area *area, pid_t pid)
{
    for (uint32_t i = 0; i < area->keeper_count; i++)
        if (area->keepers[i] == pid)
            return true;
    return false;
}

void wbi_kill_children(struct wbi_holder_area *area, uint32_t count)
{
    pid_t own = getpgid(0), done = 0; /* once for each: it walks all members every time */

    for (uint32_t i = 0; i < count; i++) {
        pid_t pid = area->scanned[i].pid, group;
        if (is_keeper(area, pid))
            continue;
        group = getpgid(pid);
        if (group > 1 && group != own && group != done)
            (void)kill(-group, SIGKILL); /* at one stroke: no fork slips through */
        done = group;
        (void)kill(pid, SIGKILL);
    }
}
