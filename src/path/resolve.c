/* SPDX-License-Identifier: Apache-2.0
 * path/resolve.c: one path, one root descriptor, one answer from the kernel.
 * openat2 does the whole work in one step; it may say EAGAIN when a rename
 * passes by, which is retried a bounded number of times. The component walk for
 * systems without it opens every component with O_NOFOLLOW and expands links
 * itself, so that nothing is ever followed by the kernel out of the root. */
#include "path/path_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

static int kernel_resolve(int root_fd, const char *rel, int oflags, unsigned rflags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)oflags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd;

    if (rflags & WBI_RESOLVE_NO_SYMLINKS)
        how.resolve |= RESOLVE_NO_SYMLINKS;
    for (unsigned tries = 0; tries < WBI_LIMIT_PATH_RETRIES; tries++) {
        fd = syscall(SYS_openat2, root_fd, rel, &how, sizeof(how));
        if (fd >= 0)
            return (int)fd;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
    return -EAGAIN;
}

int wbi_resolve(struct wbi_root *root, const char *rel, int oflags, unsigned rflags)
{
    int fd;

    oflags |= O_CLOEXEC;
    if ((root->flags & WBI_ROOT_WALK) == 0 &&
        !atomic_load_explicit(&root->no_openat2, memory_order_relaxed)) {
        fd = kernel_resolve(root->fd, rel, oflags, rflags);
        if (fd == -ENOSYS)
            atomic_store_explicit(&root->no_openat2, true, memory_order_relaxed);
        else if (fd != -EPERM) /* old container filters answer unknown calls so */
            return fd;
    }
    for (unsigned tries = 0; tries < WBI_LIMIT_PATH_RETRIES; tries++) {
        fd = wbi_walk(root->fd, rel, oflags, rflags);
        if (fd != -EAGAIN)
            return fd;
    }
    return -EAGAIN;
}

/* ---- the component walk ---- */

struct walk {
    int root_fd;
    int cur; /* directory reached; root_fd itself is never closed */
    unsigned links;
    size_t done_n;
    char done[WBI_PATH_BUF];     /* components behind us, none of them a link */
    char rest[2 * WBI_PATH_BUF]; /* text still to go */
    char *at;
};

static void set_cur(struct walk *w, int fd)
{
    if (w->cur != w->root_fd)
        close(w->cur);
    w->cur = fd;
}

/* Cuts the next component out of the rest; false at the end. */
static bool next_component(struct walk *w, char **ret, bool *ret_last)
{
    char *end;

    while (*w->at == '/')
        w->at++;
    if (*w->at == '\0')
        return false;
    *ret = w->at;
    end = w->at;
    while (*end != '/' && *end != '\0')
        end++;
    w->at = end;
    if (*end == '/') {
        *end = '\0';
        w->at = end + 1;
    }
    *ret_last = *w->at == '\0';
    return true;
}

/* The parent is reached from the root again: `..` is never given to the kernel,
 * and a directory moved meanwhile cannot lead elsewhere. */
static int step_up(struct walk *w)
{
    char *p = w->done;
    int fd;

    if (w->done_n == 0)
        return -EXDEV;
    while (w->done_n > 0 && w->done[w->done_n - 1] != '/')
        w->done_n--;
    if (w->done_n > 0)
        w->done_n--;
    w->done[w->done_n] = '\0';
    set_cur(w, w->root_fd);
    while (*p != '\0') {
        char *slash = strchr(p, '/');

        if (slash != NULL)
            *slash = '\0';
        fd = openat(w->cur, p, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
        if (slash != NULL)
            *slash = '/';
        if (fd < 0)
            return errno == ELOOP || errno == ENOTDIR || errno == ENOENT ? -EAGAIN : -errno;
        set_cur(w, fd);
        p = slash != NULL ? slash + 1 : p + strlen(p);
    }
    return 0;
}

static int expand_link(struct walk *w, int link_fd)
{
    char target[WBI_PATH_BUF];
    size_t rest_n = strlen(w->at);
    ssize_t n = readlinkat(link_fd, "", target, sizeof(target));

    if (n < 0)
        return -errno;
    if ((size_t)n >= sizeof(target) || (size_t)n + 1 + rest_n + 1 > sizeof(w->rest))
        return -ENAMETOOLONG;
    if (++w->links > WBI_LIMIT_PATH_LINKS)
        return -ELOOP;
    if (n > 0 && target[0] == '/')
        return -EXDEV;
    memmove(w->rest + n + 1, w->at, rest_n + 1);
    memcpy(w->rest, target, (size_t)n);
    w->rest[n] = rest_n > 0 ? '/' : '\0';
    w->at = w->rest;
    return 0;
}

static int step_down(struct walk *w, int fd, const char *name)
{
    size_t n = strlen(name);

    if (w->done_n + 1 + n >= sizeof(w->done)) {
        close(fd);
        return -ENAMETOOLONG;
    }
    if (w->done_n > 0)
        w->done[w->done_n++] = '/';
    memcpy(w->done + w->done_n, name, n + 1);
    w->done_n += n;
    set_cur(w, fd);
    return 0;
}

/* Opens the last component for real; it was no link a moment ago. */
static int open_last(struct walk *w, const char *name, int oflags)
{
    int fd = openat(w->cur, name, oflags | O_NOFOLLOW);

    if (fd >= 0)
        return fd;
    return errno == ELOOP ? -EAGAIN : -errno;
}

/* 1: go on; 0 or more in *ret_fd with return 0: opened; negative: failed. */
static int walk_component(struct walk *w, const char *name, bool last, int oflags, unsigned rflags,
                          int *ret_fd)
{
    struct stat st;
    int fd, rc;

    fd = openat(w->cur, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0) {
        rc = -errno;
        close(fd);
        return rc;
    }
    if (S_ISLNK(st.st_mode) && !(last && (oflags & O_NOFOLLOW))) {
        rc = rflags & WBI_RESOLVE_NO_SYMLINKS ? -ELOOP : expand_link(w, fd);
        close(fd);
        return rc < 0 ? rc : 1;
    }
    if (last) {
        close(fd);
        *ret_fd = open_last(w, name, oflags);
        return *ret_fd < 0 ? *ret_fd : 0;
    }
    if (!S_ISDIR(st.st_mode)) {
        close(fd);
        return -ENOTDIR;
    }
    rc = step_down(w, fd, name);
    return rc < 0 ? rc : 1;
}

int wbi_walk(int root_fd, const char *rel, int oflags, unsigned rflags)
{
    struct walk w = {.root_fd = root_fd, .cur = root_fd};
    size_t n = strlen(rel);
    char *name;
    bool last;
    int fd = -1, rc = 1;

    if (n == 0)
        return -ENOENT;
    if (n >= sizeof(w.done))
        return -ENAMETOOLONG;
    if (rel[0] == '/')
        return -EXDEV;
    memcpy(w.rest, rel, n + 1);
    w.at = w.rest;
    if (rel[n - 1] == '/')
        oflags |= O_DIRECTORY;
    while (rc == 1 && next_component(&w, &name, &last)) {
        if (strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") == 0) {
            rc = step_up(&w);
            rc = rc < 0 ? rc : 1;
            continue;
        }
        rc = walk_component(&w, name, last, oflags, rflags, &fd);
    }
    if (rc == 1) { /* ended in "." or "..": the directory reached */
        fd = openat(w.cur, ".", oflags);
        rc = fd < 0 ? -errno : 0;
    }
    set_cur(&w, w.root_fd);
    return rc < 0 ? rc : fd;
}
