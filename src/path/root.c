/* SPDX-License-Identifier: Apache-2.0
 * path/root.c: the root itself, the way from a path as given to one relative to
 * it, and the words for what went wrong. */
#include "path/path_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
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

wb_rc wbi_root_open(const char *dir, unsigned flags, struct wbi_error *err, struct wbi_root **ret)
{
    char shown[WBI_PATH_SHOWN];
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return wbi_fail_kind(err, errno == ENOENT ? WB_ENOTFOUND : WB_EIO,
                             WBI_KIND_WORKDIR_NOT_FOUND,
                             "the execution root `%s` cannot be opened: %s",
                             wbi_path_show(wbi_str_z(dir), shown), strerrordesc_np(errno));
    return root_from_fd(fd, dir, flags, err, ret);
}

wb_rc wbi_root_beneath(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                       struct wbi_root **ret)
{
    WBI_LARGE_LOCAL char real[WBI_PATH_BUF];
    bool guarded;
    int fd;
    wb_rc rc = wbi_path_open_workdir(root, path, err, &fd);

    if (rc)
        return rc;
    /* Names in it no longer say that they stand in `.git`: the root does. */
    guarded =
        root->guarded || !wbi_path_fd_name(root, fd, real) || wbi_path_guarded(wbi_str_z(real));
    rc = root_from_fd(fd, root->path, root->flags, err, ret);
    if (rc == WB_OK)
        (*ret)->guarded = guarded;
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
    wbi_free(root);
}

int wbi_root_fd(const struct wbi_root *root)
{
    return root->fd;
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

    wbi_path_show(path, shown);
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
