/* SPDX-License-Identifier: Apache-2.0
 * path/read.c: looking at what is there. Nothing here blocks on a fifo, opens a
 * device for real or maps a file that others may cut short. */
#include "path/path_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/hash.h"

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a named pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    case S_IFLNK:
        return "a symbolic link";
    default:
        return "something special";
    }
}

static wb_rc fail_type(struct wbi_error *err, struct wbi_str path, mode_t mode)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_FILE_UNREADABLE,
                         "`%s` is %s, and no regular file",
                         wbi_path_show(path.n > 0 ? path : WBI_LIT("."), shown), type_name(mode));
}

wb_rc wbi_path_open_read(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                         int *ret_fd, struct stat *ret_st)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF];
    struct stat st;
    wb_rc rc = wbi_path_relative(root, path, err, rel);
    int fd;

    if (rc)
        return rc;
    /* Opening a device may already do something: ask what it is first. */
    fd = wbi_resolve(root, rel, O_PATH, 0);
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "opening");
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        close(fd);
        return fail_type(err, path, st.st_mode);
    }
    close(fd);
    fd = wbi_resolve(root, rel, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "opening");
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return fail_type(err, path, st.st_mode);
    }
    if (ret_st != NULL)
        *ret_st = st;
    *ret_fd = fd;
    return WB_OK;
}

wb_rc wbi_path_open_dir(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                        int *ret_fd)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF], shown[WBI_PATH_SHOWN];
    wb_rc rc = wbi_path_relative(root, path, err, rel);
    struct stat st;
    int fd;

    if (rc)
        return rc;
    fd = wbi_resolve(root, rel, O_RDONLY | O_DIRECTORY, 0);
    if (fd == -ENOTDIR && wbi_path_stat(root, path, NULL, &st) == WB_OK)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT, "`%s` is not a directory",
                             wbi_path_show(path, shown));
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "opening");
    *ret_fd = fd;
    return WB_OK;
}

wb_rc wbi_path_open_workdir(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                            int *ret_fd)
{
    struct stat st;
    wb_rc rc = wbi_path_open_dir(root, path, err, ret_fd);

    if (rc != WB_OK && err != NULL &&
        (err->kind == WBI_KIND_FILE_NOT_FOUND || wbi_path_stat(root, path, NULL, &st) == WB_OK))
        err->kind = WBI_KIND_WORKDIR_NOT_FOUND;
    return rc;
}

wb_rc wbi_path_stat(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                    struct stat *ret)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF];
    wb_rc rc = wbi_path_relative(root, path, err, rel);
    int fd, failed;

    if (rc)
        return rc;
    fd = wbi_resolve(root, rel, O_PATH, 0);
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "looking at");
    failed = fstat(fd, ret) < 0 ? -errno : 0;
    close(fd);
    return failed ? wbi_path_fail(err, failed, path, "looking at") : WB_OK;
}

wb_rc wbi_path_real(struct wbi_root *root, struct wbi_str path, struct wbi_arena *arena,
                    struct wbi_error *err, struct wbi_str *ret)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF], real[WBI_PATH_BUF];
    wb_rc rc = wbi_path_relative(root, path, err, rel);
    struct wbi_str s;
    bool named;
    int fd;

    if (rc)
        return rc;
    fd = wbi_resolve(root, rel, O_PATH, 0);
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "looking at");
    named = wbi_path_fd_name(root, fd, real);
    close(fd);
    if (!named)
        return wbi_path_fail(err, -EXDEV, path, "looking at");
    s.p = wbi_arena_strz(arena, wbi_str_z(real));
    if (s.p == NULL)
        return wbi_fail_nomem(err);
    s.n = strlen(real);
    *ret = s;
    return WB_OK;
}

#define AT_HAND_BYTES ((size_t)32 * 1024)

/* All bytes of a small file, which are in memory; one more shows that it has not grown, and
 * what takes no position is no file. */
static bool read_cached(int fd, const struct stat *st, struct wbi_arena *arena, struct wbi_str *ret)
{
    struct iovec into = {NULL, (size_t)st->st_size + 1};

    if ((size_t)st->st_size >= AT_HAND_BYTES)
        return false;
    into.iov_base = wbi_arena_alloc(arena, into.iov_len);
    if (into.iov_base == NULL || preadv2(fd, &into, 1, 0, RWF_NOWAIT) != st->st_size)
        return false;
    *ret = wbi_str_make(into.iov_base, (size_t)st->st_size);
    return true;
}

static int open_cached(struct wbi_root *root, const char *rel, unsigned oflags)
{
    struct open_how how = {.flags = oflags | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV |
                                      RESOLVE_CACHED};

    return (int)syscall(SYS_openat2, root->fd, rel, &how, sizeof(how));
}

/* Opening a device or a pipe may already do something (the writer of a pipe goes on, and
 * what it writes is lost), so a path is looked at first. Where it was a regular file
 * beneath the root before, one call tells that it still is one. */
static bool is_regular(struct wbi_root *root, const char *rel, _Atomic uint64_t *known,
                       uint64_t hash, struct stat *ret_st)
{
    bool regular;
    int fd;

    if (atomic_load_explicit(known, memory_order_relaxed) == hash &&
        fstatat(root->fd, rel, ret_st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
        S_ISREG(ret_st->st_mode))
        return true;
    fd = open_cached(root, rel, O_PATH);
    if (fd < 0)
        return false;
    regular = fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode);
    close(fd);
    if (regular)
        atomic_store_explicit(known, hash, memory_order_relaxed);
    return regular;
}

bool wbi_path_read_at_hand(struct wbi_root *root, struct wbi_str path, struct wbi_arena *arena,
                           struct wbi_str *ret, struct stat *ret_st)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF];
    _Atomic uint64_t *known;
    uint64_t hash;
    bool all;
    int fd;

    if (!root->local || (root->flags & WBI_ROOT_WALK) != 0 ||
        wbi_path_relative(root, path, NULL, rel) != WB_OK)
        return false;
    hash = wbi_hash64(rel, strlen(rel), root->ino) | 1; /* 0 is no path's */
    known = &root->regular[(hash >> 8) % WBI_COUNT(root->regular)];
    if (!is_regular(root, rel, known, hash, ret_st))
        return false;
    fd = open_cached(root, rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    all = fd >= 0 && read_cached(fd, ret_st, arena, ret);
    if (fd >= 0)
        close(fd);
    if (!all)
        atomic_store_explicit(known, 0, memory_order_relaxed);
    return all;
}

ssize_t wbi_path_read(int fd, void *p, size_t n)
{
    ssize_t got;

    do
        got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t wbi_path_pread(int fd, void *p, size_t n, off_t at)
{
    ssize_t got;

    do
        got = pread(fd, p, n, at);
    while (got < 0 && errno == EINTR);
    return got;
}

static wb_rc fail_size(struct wbi_error *err, struct wbi_str path, size_t max)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_TOOL_EXECUTION_FAILED,
                         "`%s` is larger than the %zu bytes accepted here",
                         wbi_path_show(path, shown), max);
}

wb_rc wbi_path_read_all(struct wbi_root *root, struct wbi_str path, size_t max,
                        struct wbi_arena *arena, struct wbi_error *err, struct wbi_str *ret,
                        struct stat *ret_st)
{
    struct stat st;
    size_t room, n = 0;
    ssize_t got = 1;
    char *p;
    int fd;
    wb_rc rc = wbi_path_open_read(root, path, err, &fd, &st);

    if (rc)
        return rc;
    if ((uint64_t)st.st_size > max) {
        close(fd);
        return fail_size(err, path, max);
    }
    room = (size_t)st.st_size + 1; /* one more byte shows that it grew */
    p = wbi_arena_alloc(arena, room);
    while (p != NULL && n < room && (got = wbi_path_read(fd, p + n, room - n)) > 0)
        n += (size_t)got;
    if (p == NULL)
        rc = wbi_fail_nomem(err);
    else if (got < 0)
        rc = wbi_path_fail(err, -errno, path, "reading");
    else if (n == room)
        rc =
            wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_FILE_CHANGED, "the file grew while it was read");
    close(fd);
    if (rc)
        return rc;
    p[n] = '\0';
    *ret = wbi_str_make(p, n);
    if (ret_st != NULL)
        *ret_st = st;
    return WB_OK;
}

/* ---- directories ---- */

struct kernel_dirent {
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type;
    char name[];
};

void wbi_listing_init(struct wbi_listing *d, int fd)
{
    d->fd = fd;
    d->n = d->at = 0;
    d->failed = false;
}

static bool fill(struct wbi_listing *d)
{
    long got;

    do
        got = syscall(SYS_getdents64, d->fd, d->buf, sizeof(d->buf));
    while (got < 0 && errno == EINTR);
    d->failed = got < 0;
    d->n = got > 0 ? (unsigned)got : 0;
    d->at = 0;
    return d->n > 0;
}

static unsigned char type_of(int dir_fd, const char *name)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(st.st_mode);
}

bool wbi_listing_next(struct wbi_listing *d, struct wbi_listing_entry *ret)
{
    for (;;) {
        const struct kernel_dirent *e;

        if (d->at >= d->n && !fill(d))
            return false;
        e = (const struct kernel_dirent *)(const void *)(d->buf + d->at);
        d->at += e->reclen;
        if (e->name[0] == '.' && (e->name[1] == '\0' || (e->name[1] == '.' && e->name[2] == '\0')))
            continue;
        ret->name = wbi_str_z(e->name);
        ret->type = e->type != DT_UNKNOWN ? e->type : type_of(d->fd, e->name);
        return true;
    }
}

static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

int wbi_path_open_child_dir(int dir_fd, const char *name)
{
    if (!is_plain_name(name)) {
        errno = EINVAL;
        return -1;
    }
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int wbi_path_open_unnamed(int dir_fd, const char *dir)
{
    return openat(dir_fd, dir, O_TMPFILE | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int wbi_path_open_child_file(int dir_fd, const char *name, struct stat *ret_st)
{
    int fd;

    if (!is_plain_name(name)) {
        errno = EINVAL;
        return -1;
    }
    fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int wbi_path_stat_child(int dir_fd, const char *name, struct stat *ret_st)
{
    if (!is_plain_name(name)) {
        errno = EINVAL;
        return -1;
    }
    return fstatat(dir_fd, name, ret_st, AT_SYMLINK_NOFOLLOW);
}
