/* SPDX-License-Identifier: Apache-2.0
 * path/root.c: the root itself, the way from a path as given to one relative to
 * it, and the words for what went wrong. */
#include "path/path_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"

/* The kernel's name of a descriptor; 0 where it gives none. */
static size_t fd_path(int fd, char out[WBI_PATH_BUF])
{
    char link[40];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, out, WBI_PATH_BUF);
    if (n <= 0 || (size_t)n >= WBI_PATH_BUF || out[0] != '/')
        return 0;
    out[n] = '\0';
    return (size_t)n;
}

static bool is_local(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    switch ((uint32_t)fs.f_type) {
    case BTRFS_SUPER_MAGIC:
    case EXT4_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case XFS_SUPER_MAGIC:
        return true;
    default:
        return false;
    }
}

/* Takes fd over, also on failure. */
static wb_rc root_from_fd(int fd, const char *given, unsigned flags, struct wbi_error *err,
                          struct wbi_root **ret)
{
    WBI_LARGE_LOCAL char name[WBI_PATH_BUF];
    struct wbi_root *root;
    struct stat st;
    size_t n = fd_path(fd, name);
    const char *path = n > 0 ? name : given;

    n = strlen(path);
    root = wbi_alloc(sizeof(*root) + n + 1);
    if (root == NULL) {
        close(fd);
        return wbi_fail_nomem(err);
    }
    if (fstat(fd, &st) < 0) {
        wb_rc rc = wbi_fail_errno(err, errno, "execution root");
        close(fd);
        wbi_free(root);
        return rc;
    }
    atomic_init(&root->refs, 1);
    atomic_init(&root->no_openat2, false);
    root->fd = fd;
    root->local = is_local(fd);
    root->guarded = false;
    root->n_kept = 0;
    root->flags = flags;
    root->dev = st.st_dev;
    root->ino = st.st_ino;
    for (size_t i = 0; i < WBI_COUNT(root->regular); i++)
        atomic_init(&root->regular[i], 0);
    root->path_n = n;
    memcpy(root->path, path, n + 1);
    *ret = root;
    return WB_OK;
}

/* Says nothing of a directory: this process or the system has too much open. */
static bool is_exhaustion(int errno_value)
{
    return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM;
}

wb_rc wbi_root_open(const char *dir, unsigned flags, struct wbi_error *err, struct wbi_root **ret)
{
    char shown[WBI_PATH_SHOWN];
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return wbi_fail_kind(err, errno == ENOENT ? WB_ENOTFOUND : WB_EIO,
                             is_exhaustion(errno) ? WBI_KIND_NONE : WBI_KIND_WORKDIR_NOT_FOUND,
                             "the execution root `%s` cannot be opened: %s",
                             wbi_path_show(wbi_str_z(dir), shown), strerrordesc_np(errno));
    return root_from_fd(fd, dir, flags, err, ret);
}

/* ---- guarded places ---- */

static bool within(struct wbi_str path, struct wbi_str dir)
{
    return wbi_str_starts(path, dir) && (path.n == dir.n || path.p[dir.n] == '/');
}

bool wbi_root_keeps(const struct wbi_root *root, const char *real)
{
    for (unsigned i = 0; i < root->n_kept; i++)
        if (within(wbi_str_z(real), root->kept[i]))
            return true;
    return false;
}

static wb_rc keep(struct wbi_root *root, struct wbi_str rel, struct wbi_error *err)
{
    char *copy;

    if (rel.n == 0 || wbi_path_guarded(rel))
        return WB_OK; /* the root itself, which its user chose, or guarded anyway */
    if (root->n_kept == WBI_ROOT_KEPT)
        return wbi_fail(err, WB_ELIMIT, "a root has at most %d guarded places", WBI_ROOT_KEPT);
    copy = wbi_strdup(rel);
    if (copy == NULL)
        return wbi_fail_nomem(err);
    root->kept[root->n_kept++] = wbi_str_make(copy, rel.n);
    return WB_OK;
}

/* Adds the names of rest; empty ones and "." are none. */
static size_t add_names(char *out, size_t n, struct wbi_str rest)
{
    while (rest.n > 0) {
        size_t len = wbi_str_index(rest, '/');

        if (len > 0 && !wbi_str_eqz(wbi_str_head(rest, len), ".")) {
            out[n++] = '/';
            memcpy(out + n, rest.p, len);
            n += len;
        }
        rest = wbi_str_from(rest, len + 1);
    }
    return n;
}

/* Without links as far as it exists; as it is written from there on. */
static size_t real_place(struct wbi_str place, char out[2 * WBI_PATH_BUF])
{
    WBI_LARGE_LOCAL char have[WBI_PATH_BUF];
    size_t at = place.n;

    if (place.n == 0 || place.n > WBI_LIMIT_PATH || place.p[0] != '/')
        return 0;
    memcpy(have, place.p, place.n);
    have[at] = '\0';
    while (at > 0 && realpath(have, out) == NULL) {
        while (at > 0 && have[at - 1] != '/')
            at--;
        while (at > 0 && have[at - 1] == '/')
            at--;
        have[at] = '\0';
    }
    if (at == 0 || strcmp(out, "/") == 0)
        out[0] = '\0';
    return add_names(out, strlen(out), wbi_str_from(place, at));
}

wb_rc wbi_root_guard(struct wbi_root *root, struct wbi_str place, struct wbi_error *err)
{
    WBI_LARGE_LOCAL char real[2 * WBI_PATH_BUF];
    struct wbi_str path = wbi_str_make(real, real_place(place, real));
    struct wbi_str top = wbi_str_make(root->path, root->path_n == 1 ? 0 : root->path_n);

    if (path.n == 0 || !within(path, top))
        return WB_OK;
    return keep(root, wbi_str_from(path, top.n + 1), err);
}

/* What a root keeps of the one above it, where it is rel; the names of what is in it no
 * longer say that they stand in `.git`, so the root does. */
static wb_rc inherit(struct wbi_root *root, const struct wbi_root *above, struct wbi_str rel,
                     struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    root->guarded = above->guarded || wbi_path_guarded(rel) || wbi_root_keeps(above, rel.p);
    if (wbi_str_eqz(rel, "."))
        rel = WBI_LIT("");
    for (unsigned i = 0; rc == WB_OK && i < above->n_kept; i++)
        if (rel.n == 0)
            rc = keep(root, above->kept[i], err);
        else if (within(above->kept[i], rel))
            rc = keep(root, wbi_str_from(above->kept[i], rel.n + 1), err);
    return rc;
}

wb_rc wbi_root_beneath(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                       struct wbi_root **ret)
{
    WBI_LARGE_LOCAL char real[WBI_PATH_BUF];
    bool named;
    int fd;
    wb_rc rc = wbi_path_open_workdir(root, path, err, &fd);

    if (rc)
        return rc;
    named = wbi_path_fd_name(root, fd, real);
    rc = root_from_fd(fd, root->path, root->flags, err, ret);
    if (rc)
        return rc;
    if (named)
        rc = inherit(*ret, root, wbi_str_z(real), err);
    else
        (*ret)->guarded = true;
    if (rc)
        wbi_root_unref(*ret);
    return rc;
}

struct wbi_root *wbi_root_ref(struct wbi_root *root)
{
    atomic_fetch_add_explicit(&root->refs, 1, memory_order_relaxed);
    return root;
}

void wbi_root_unref(struct wbi_root *root)
{
    if (root == NULL || atomic_fetch_sub_explicit(&root->refs, 1, memory_order_acq_rel) != 1)
        return;
    close(root->fd);
    for (unsigned i = 0; i < root->n_kept; i++)
        wbi_free((char *)(uintptr_t)root->kept[i].p);
    wbi_free(root);
}

int wbi_root_fd(const struct wbi_root *root)
{
    return root->fd;
}

bool wbi_root_gone(const struct wbi_root *root)
{
    struct stat st;

    return fstat(root->fd, &st) == 0 && st.st_nlink == 0;
}

struct wbi_str wbi_root_path(const struct wbi_root *root)
{
    return wbi_str_make(root->path, root->path_n);
}

unsigned wbi_root_flags(const struct wbi_root *root)
{
    return root->flags;
}

bool wbi_path_fd_name(const struct wbi_root *root, int fd, char out[WBI_PATH_BUF])
{
    WBI_LARGE_LOCAL char base[WBI_PATH_BUF];
    size_t base_n = fd_path(root->fd, base), n = fd_path(fd, out);

    if (base_n == 0 || n == 0)
        return false;
    if (base_n == 1) /* the root of the file system */
        base_n = 0;
    if (n < base_n || memcmp(out, base, base_n) != 0)
        return false;
    if (n == base_n || (base_n == 0 && n == 1)) {
        memcpy(out, ".", 2);
        return true;
    }
    if (out[base_n] != '/')
        return false;
    memmove(out, out + base_n + 1, n - base_n);
    return true;
}

/* Length of the prefix of an absolute path that is the root directory, 0 when
 * none is. The text is only the quick way; identity decides. */
static size_t root_prefix(const struct wbi_root *root, char *path, size_t n)
{
    struct stat st;

    if (n >= root->path_n && memcmp(path, root->path, root->path_n) == 0 &&
        (root->path_n == 1 || n == root->path_n || path[root->path_n] == '/'))
        return root->path_n;
    for (size_t i = 1; i <= n; i++) {
        char kept = path[i];
        bool same;

        if (kept != '/' && kept != '\0')
            continue;
        path[i] = '\0';
        same = stat(path, &st) == 0 && st.st_dev == root->dev && st.st_ino == root->ino;
        path[i] = kept;
        if (same)
            return i;
    }
    return 0;
}

static wb_rc outside(struct wbi_error *err, struct wbi_str path)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_EXECUTION_ROOT_VIOLATION,
                         "the path `%s` leaves the execution root; only paths that stay beneath "
                         "it, also through links and `..`, are accepted",
                         wbi_path_show(path, shown));
}

wb_rc wbi_path_relative(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                        char out[WBI_PATH_BUF])
{
    char shown[WBI_PATH_SHOWN];
    size_t skip;

    if (path.n > WBI_LIMIT_PATH)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the path `%s` has %zu bytes; at most %u are accepted",
                             wbi_path_show(path, shown), path.n, WBI_LIMIT_PATH);
    if (path.n > 0 && memchr(path.p, '\0', path.n) != NULL)
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the path `%s` holds a NUL byte; no file has such a name",
                             wbi_path_show(path, shown));
    if (path.n > 0)
        memcpy(out, path.p, path.n);
    out[path.n] = '\0';
    if (path.n == 0 || out[0] != '/') {
        if (path.n == 0)
            memcpy(out, ".", 2);
        return WB_OK;
    }
    skip = root_prefix(root, out, path.n);
    if (skip == 0)
        return outside(err, path);
    while (out[skip] == '/')
        skip++;
    memmove(out, out + skip, path.n - skip + 1);
    if (out[0] == '\0')
        memcpy(out, ".", 2);
    return WB_OK;
}

wb_rc wbi_path_fail(struct wbi_error *err, int neg_errno, struct wbi_str path, const char *doing)
{
    char shown[WBI_PATH_SHOWN];
    int e = -neg_errno;

    wbi_path_show(path.n > 0 ? path : WBI_LIT("."), shown);
    switch (e) {
    case EXDEV:
        return outside(err, path);
    case ENOENT:
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_FILE_NOT_FOUND, "`%s` does not exist",
                             shown);
    case ENOTDIR:
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_FILE_NOT_FOUND,
                             "`%s` does not exist: a part of the path is not a directory", shown);
    case EEXIST:
        return wbi_fail_kind(err, WB_EEXISTS, WBI_KIND_FILE_EXISTS, "`%s` exists already", shown);
    case ELOOP:
        return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_EXECUTION_ROOT_VIOLATION,
                             "`%s` leads through more than %u symbolic links", shown,
                             WBI_LIMIT_PATH_LINKS);
    case ENAMETOOLONG:
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "`%s` has a name longer than the %u bytes a file system takes", shown,
                             WBI_LIMIT_NAME);
    case ENOSPC:
    case EDQUOT:
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_LOW_DISK_SPACE,
                             "%s `%s`: no space left on the device", doing, shown);
    case EAGAIN:
        return wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_TOOL_EXECUTION_FAILED,
                             "%s `%s`: its directories were renamed %u times meanwhile", doing,
                             shown, WBI_LIMIT_PATH_RETRIES);
    default:
        return wbi_fail_kind(err, e == EACCES || e == EPERM ? WB_EDENIED : WB_EIO,
                             WBI_KIND_TOOL_EXECUTION_FAILED, "%s `%s`: %s", doing, shown,
                             e > 0 && strerrordesc_np(e) ? strerrordesc_np(e) : "unknown error");
    }
}

wb_rc wbi_path_fail_link(struct wbi_error *err, struct wbi_str path)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_FILE_UNREADABLE,
                         "`%s` is a symbolic link; text is changed through it, but it is not "
                         "added, deleted or moved: name the file it leads to, or use a command",
                         wbi_path_show(path, shown));
}
