/* SPDX-License-Identifier: Apache-2.0
 * path/swap.c: publishing several staged files as one change. Each step can be
 * taken back until settle: the old file waits under the temporary name. Also
 * the locked files that journals are kept in. */
#include "path/path_int.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

wb_rc wbi_path_stage_removal(struct wbi_root *root, struct wbi_str path, unsigned flags,
                             const char *temp, struct wbi_error *err, struct wbi_staged *ret)
{
    struct wbi_staged s = {.removal = true, .synced = !(root->flags & WBI_ROOT_NO_SYNC)};
    struct wbi_target t;
    wb_rc rc = wbi_target_open(root, path, flags, err, &t);

    if (rc)
        return rc;
    if (!t.exists || !S_ISREG(t.st.st_mode)) {
        close(t.dir_fd);
        if (t.exists && S_ISLNK(t.st.st_mode))
            return wbi_path_fail_link(err, path);
        return wbi_path_fail(err, t.exists ? -EISDIR : -ENOENT, path, "removing");
    }
    s.dir_fd = t.dir_fd;
    s.ino = t.st.st_ino;
    memcpy(s.name, t.name, sizeof(s.name));
    snprintf(s.temp, sizeof(s.temp), "%s", temp);
    *ret = s;
    return WB_OK;
}

wb_rc wbi_path_stage_folder(struct wbi_root *root, struct wbi_str path, unsigned flags,
                            const char *temp, struct wbi_error *err, struct wbi_staged *ret)
{
    struct stat st;
    wb_rc rc = wbi_path_stage_removal(root, path, flags, temp, err, ret);

    if (rc)
        return rc;
    ret->removal = false;
    ret->old_ino = ret->ino;
    if (mkdirat(ret->dir_fd, temp, 0777) < 0 ||
        fstatat(ret->dir_fd, temp, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        int failed = -errno;

        close(ret->dir_fd);
        ret->dir_fd = -1;
        return wbi_path_fail(err, failed, path, "making a folder in the place of");
    }
    ret->ino = st.st_ino;
    return WB_OK;
}

static bool is_folder(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Exchanges two names; where the file system cannot, the old file is moved
 * aside by way of a third name, which a crash may leave behind. That needs files. */
static int exchange(int dir, const char *a, const char *b)
{
    char third[64];

    if (renameat2(dir, a, dir, b, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (is_folder(dir, a) || is_folder(dir, b))
        return -EOPNOTSUPP;
    snprintf(third, sizeof(third), "%.48s~", strncmp(a, ".waybill-tmp", 12) == 0 ? a : b);
    if (linkat(dir, b, dir, third, 0) < 0)
        return -errno;
    if (renameat(dir, a, dir, b) < 0) {
        int failed = -errno;
        unlinkat(dir, third, 0);
        return failed;
    }
    return renameat(dir, third, dir, a) < 0 ? -errno : 0;
}

wb_rc wbi_path_exchange(struct wbi_root *root, struct wbi_str path, struct wbi_str other,
                        unsigned flags, struct wbi_error *err)
{
    struct wbi_target a, b;
    int failed;
    wb_rc rc = wbi_target_open(root, path, flags, err, &a);

    if (rc)
        return rc;
    rc = wbi_target_open(root, other, flags, err, &b);
    if (rc) {
        close(a.dir_fd);
        return rc;
    }
    failed = exchange(a.dir_fd, a.name, b.name);
    if (failed == 0 && !(root->flags & WBI_ROOT_NO_SYNC) && fsync(a.dir_fd) < 0)
        failed = -errno;
    close(a.dir_fd);
    close(b.dir_fd);
    return failed ? wbi_path_fail(err, failed, path, "replacing") : WB_OK;
}

static int move_new(int dir, const char *from, const char *to)
{
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(dir, from, dir, to, 0) < 0)
        return -errno;
    return unlinkat(dir, from, 0) < 0 ? -errno : 0;
}

/* Is what now lies under the temporary name the file seen at staging? */
static bool took_expected(const struct wbi_staged *s)
{
    struct stat st;

    return fstatat(s->dir_fd, s->temp, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_ino == (s->removal ? s->ino : s->old_ino);
}

wb_rc wbi_path_swap(struct wbi_staged *s, struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];
    wb_rc rc;
    int failed;

    if (s->removal)
        failed = move_new(s->dir_fd, s->name, s->temp);
    else if (s->exclusive)
        failed = move_new(s->dir_fd, s->temp, s->name);
    else
        failed = exchange(s->dir_fd, s->temp, s->name);
    s->swapped = failed == 0;
    if (failed)
        return wbi_path_fail(err, failed, wbi_str_z(s->name), "replacing");
    if (s->exclusive || took_expected(s))
        return WB_OK;
    rc = wbi_path_unswap(s, err);
    return rc ? rc
              : wbi_fail_kind(err, WB_EAGAIN, WBI_KIND_FILE_CHANGED,
                              "`%s` was replaced by another process meanwhile",
                              wbi_path_show(wbi_str_z(s->name), shown));
}

wb_rc wbi_path_unswap(struct wbi_staged *s, struct wbi_error *err)
{
    int failed;

    if (!s->swapped)
        return WB_OK;
    if (s->removal)
        failed = move_new(s->dir_fd, s->temp, s->name);
    else if (s->exclusive)
        failed = move_new(s->dir_fd, s->name, s->temp);
    else
        failed = exchange(s->dir_fd, s->temp, s->name);
    s->swapped = failed != 0;
    return failed ? wbi_path_fail(err, failed, wbi_str_z(s->name), "restoring") : WB_OK;
}

wb_rc wbi_path_sync_staged(struct wbi_staged *s, struct wbi_error *err)
{
    if (s->synced && fsync(s->dir_fd) < 0)
        return wbi_path_fail(err, -errno, wbi_str_z(s->name), "syncing the directory of");
    return WB_OK;
}

void wbi_path_settle(struct wbi_staged *s)
{
    if (s->dir_fd < 0)
        return;
    if (!s->exclusive || !s->swapped)
        unlinkat(s->dir_fd, s->temp, 0);
    close(s->dir_fd);
    s->dir_fd = -1;
}

/* ---- locked files ---- */

static wb_rc lock(int fd, struct wbi_str path, struct wbi_error *err, int *ret_fd)
{
    char shown[WBI_PATH_SHOWN];

    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *ret_fd = fd;
        return WB_OK;
    }
    close(fd);
    return wbi_fail(err, WB_EAGAIN, "`%s` is held by another process", wbi_path_show(path, shown));
}

static wb_rc open_locked(struct wbi_root *root, struct wbi_str path, int flags, const char *doing,
                         struct wbi_error *err, int *ret_fd)
{
    struct wbi_target t;
    int fd, failed;
    wb_rc rc = wbi_target_open(root, path, WBI_WRITE_GRANT, err, &t);

    if (rc)
        return rc;
    fd = openat(t.dir_fd, t.name, flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    failed = fd < 0 ? -errno : 0;
    close(t.dir_fd);
    if (failed)
        return wbi_path_fail(err, failed, path, doing);
    return lock(fd, path, err, ret_fd);
}

wb_rc wbi_path_create_locked(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                             int *ret_fd)
{
    return open_locked(root, path, O_CREAT | O_EXCL, "creating", err, ret_fd);
}

wb_rc wbi_path_open_locked(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                           int *ret_fd)
{
    return open_locked(root, path, O_NONBLOCK, "opening", err, ret_fd);
}

wb_rc wbi_path_append_fd(int fd, struct wbi_str text, bool sync, struct wbi_error *err)
{
    int failed = lseek(fd, 0, SEEK_END) < 0 ? errno : wbi_write_all(fd, text.p, text.n);

    if (failed)
        return wbi_path_fail(err, -failed, WBI_LIT("the patch journal"), "writing");
    if (sync && fsync(fd) < 0)
        return wbi_path_fail(err, -errno, WBI_LIT("the patch journal"), "syncing");
    return WB_OK;
}
