/* SPDX-License-Identifier: Apache-2.0
 * path/write.c: changing what is there. A file is old or new, never torn:
 * everything goes into a temporary file of the same directory, is synced, and
 * takes the name in one rename. Because the old file is replaced and never
 * opened for writing, hard links to it elsewhere keep their content. */
#include "path/path_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/id.h"

static int copy_old(int dir_fd, const char *name, int to)
{
    char buf[65536];
    struct stat st;
    int failed = 0, from = wbi_path_open_child_file(dir_fd, name, &st);
    ssize_t got;

    if (from < 0)
        return -errno;
    while (failed == 0 && (got = wbi_path_read(from, buf, sizeof(buf))) != 0)
        failed = got < 0 ? -errno : -wbi_write_all(to, buf, (size_t)got);
    close(from);
    return failed;
}

/* Owner and mode of the file that is replaced, without set-id bits. */
static int keep_attributes(int fd, const struct stat *old, unsigned flags)
{
    mode_t mode = old->st_mode & 0777;

    if (!S_ISREG(old->st_mode)) /* a folder's are not a file's */
        return 0;
    if (flags & WBI_WRITE_EXEC)
        mode |= (mode & 0444) >> 2;
    if (flags & WBI_WRITE_NO_EXEC)
        mode &= ~(mode_t)0111;
    if ((old->st_uid != geteuid() || old->st_gid != getegid()) &&
        fchown(fd, old->st_uid, old->st_gid) < 0)
        mode &= 0755; /* another owner now: at least no one else gains by it */
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

void wbi_path_temp_name(char temp[48])
{
    struct wbi_ids ids = wbi_ids_system();
    uint8_t random[10];
    char hex[sizeof(random) * 2 + 1];

    ids.fill(ids.arg, random, sizeof(random));
    wbi_hex(random, sizeof(random), hex);
    snprintf(temp, 48, ".waybill-tmp-%s", hex);
}

static int open_temp(int dir_fd, unsigned flags, const char *temp)
{
    int fd = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    flags & WBI_WRITE_EXEC ? 0777 : 0666);

    return fd < 0 ? -errno : fd;
}

static int fill_temp(const struct wbi_root *root, const struct wbi_target *t, int fd,
                     struct wbi_str data, unsigned flags)
{
    int failed = 0;

    if (t->exists)
        failed = keep_attributes(fd, &t->st, flags);
    if (failed == 0 && t->exists && (flags & WBI_WRITE_APPEND))
        failed = copy_old(t->dir_fd, t->name, fd);
    if (failed == 0)
        failed = -wbi_write_all(fd, data.p, data.n);
    if (failed == 0 && !(root->flags & WBI_ROOT_NO_SYNC) && fsync(fd) < 0)
        failed = -errno;
    return failed;
}

static wb_rc check_target(const struct wbi_target *t, struct wbi_str path, unsigned flags,
                          struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];

    if (!t->exists)
        return WB_OK;
    if (flags & WBI_WRITE_NEW)
        return wbi_path_fail(err, -EEXIST, path, "creating");
    if (S_ISDIR(t->st.st_mode) && (flags & WBI_WRITE_OVER_FOLDER))
        return WB_OK;
    if (!S_ISREG(t->st.st_mode))
        return wbi_fail_kind(err, WB_EEXISTS, WBI_KIND_FILE_EXISTS,
                             "`%s` exists and is not a regular file; it is not replaced",
                             wbi_path_show(path, shown));
    return WB_OK;
}

wb_rc wbi_path_stage(struct wbi_root *root, struct wbi_str path, struct wbi_str data,
                     unsigned flags, struct wbi_error *err, struct wbi_staged *ret)
{
    char temp[48];

    wbi_path_temp_name(temp);
    return wbi_path_stage_as(root, path, data, flags, temp, err, ret);
}

wb_rc wbi_path_stage_as(struct wbi_root *root, struct wbi_str path, struct wbi_str data,
                        unsigned flags, const char *temp, struct wbi_error *err,
                        struct wbi_staged *ret)
{
    struct wbi_staged s = {.exclusive = flags & WBI_WRITE_NEW,
                           .synced = !(root->flags & WBI_ROOT_NO_SYNC)};
    struct wbi_target t;
    struct stat st;
    int fd, failed;
    wb_rc rc = wbi_target_open(root, path, flags | WBI_TARGET_FOLLOW, err, &t);

    if (rc)
        return rc;
    s.dir_fd = t.dir_fd;
    s.old_ino = t.exists ? t.st.st_ino : 0;
    memcpy(s.name, t.name, sizeof(s.name));
    rc = check_target(&t, path, flags, err);
    if (rc) {
        close(t.dir_fd);
        return rc;
    }
    snprintf(s.temp, sizeof(s.temp), "%s", temp);
    fd = open_temp(t.dir_fd, flags, s.temp);
    if (fd < 0) {
        close(t.dir_fd);
        return wbi_path_fail(err, fd, path, "writing");
    }
    failed = fill_temp(root, &t, fd, data, flags);
    if (failed == 0 && fstat(fd, &st) == 0)
        s.ino = st.st_ino;
    if (close(fd) < 0 && failed == 0)
        failed = -errno;
    if (failed) {
        wbi_path_discard(&s);
        return wbi_path_fail(err, failed, path, "writing");
    }
    *ret = s;
    return WB_OK;
}

wb_rc wbi_path_put(struct wbi_root *root, struct wbi_str path, struct wbi_str data, unsigned flags,
                   struct wbi_error *err)
{
    struct wbi_target t;
    int fd, failed;
    wb_rc rc = wbi_target_open(root, path, flags, err, &t);

    if (rc)
        return rc;
    t.exists = false; /* if there is one, opening says so */
    fd = open_temp(t.dir_fd, flags, t.name);
    failed = fd < 0 ? fd : fill_temp(root, &t, fd, data, flags);
    if (fd >= 0 && close(fd) < 0 && failed == 0)
        failed = -errno;
    if (failed == 0 && !(root->flags & WBI_ROOT_NO_SYNC) && fsync(t.dir_fd) < 0)
        failed = -errno;
    close(t.dir_fd);
    return failed ? wbi_path_fail(err, failed, path, "writing") : WB_OK;
}

/* rename that refuses an existing target, also where the file system does not
 * know the flag. */
static int rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(from_dir, from, to_dir, to, 0) < 0)
        return -errno;
    return unlinkat(from_dir, from, 0) < 0 ? -errno : 0;
}

wb_rc wbi_path_publish(struct wbi_staged *s, struct wbi_error *err)
{
    struct wbi_str name = wbi_str_z(s->name);
    int failed;

    if (s->exclusive)
        failed = rename_new(s->dir_fd, s->temp, s->dir_fd, s->name);
    else
        failed = renameat(s->dir_fd, s->temp, s->dir_fd, s->name) < 0 ? -errno : 0;
    if (failed) {
        wb_rc rc = wbi_path_fail(err, failed, name, "replacing");
        wbi_path_discard(s);
        return rc;
    }
    if (s->synced && fsync(s->dir_fd) < 0)
        failed = -errno;
    close(s->dir_fd);
    s->dir_fd = -1;
    return failed ? wbi_path_fail(err, failed, name, "syncing the directory of") : WB_OK;
}

void wbi_path_discard(struct wbi_staged *s)
{
    if (s->dir_fd < 0)
        return;
    unlinkat(s->dir_fd, s->temp, 0);
    close(s->dir_fd);
    s->dir_fd = -1;
}

wb_rc wbi_path_write(struct wbi_root *root, struct wbi_str path, struct wbi_str data,
                     unsigned flags, struct wbi_error *err)
{
    struct wbi_staged s;
    wb_rc rc = wbi_path_stage(root, path, data, flags, err, &s);

    return rc ? rc : wbi_path_publish(&s, err);
}

static wb_rc finish(struct wbi_root *root, int fd, int failed, struct wbi_str path,
                    const char *doing, struct wbi_error *err)
{
    if (failed == 0 && !(root->flags & WBI_ROOT_NO_SYNC) && fsync(fd) < 0)
        failed = -errno;
    return failed ? wbi_path_fail(err, failed, path, doing) : WB_OK;
}

static wb_rc do_rename(struct wbi_root *root, const struct wbi_target *a,
                       const struct wbi_target *b, struct wbi_str to, unsigned flags,
                       struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];
    int failed;
    wb_rc rc;

    if (flags & WBI_WRITE_NEW)
        failed = rename_new(a->dir_fd, a->name, b->dir_fd, b->name);
    else
        failed = renameat(a->dir_fd, a->name, b->dir_fd, b->name) < 0 ? -errno : 0;
    if (failed == -EXDEV)
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_TOOL_EXECUTION_FAILED,
                             "`%s` is on another file system; copy the file and delete the old one",
                             wbi_path_show(to, shown));
    if (failed)
        return wbi_path_fail(err, failed, to, "renaming to");
    rc = finish(root, b->dir_fd, 0, to, "syncing the directory of", err);
    return rc ? rc : finish(root, a->dir_fd, 0, to, "syncing the directory of", err);
}

wb_rc wbi_path_rename(struct wbi_root *root, struct wbi_str from, struct wbi_str to, unsigned flags,
                      struct wbi_error *err)
{
    struct wbi_target a, b;
    char shown[WBI_PATH_SHOWN];
    wb_rc rc = wbi_target_open(root, from, flags & WBI_WRITE_GRANT, err, &a);

    if (rc)
        return rc;
    rc = wbi_target_open(root, to, flags, err, &b);
    if (rc) {
        close(a.dir_fd);
        return rc;
    }
    if (!a.exists)
        rc = wbi_path_fail(err, -ENOENT, from, "renaming");
    else if (S_ISDIR(a.st.st_mode) &&
             !((root->flags & WBI_ROOT_GRANT) || (flags & WBI_WRITE_GRANT)))
        /* A folder could carry a guarded name to its place. */
        rc = wbi_fail_kind(err, WB_EDENIED, WBI_KIND_FORBIDDEN,
                           "`%s` is a directory; only files are renamed without a grant",
                           wbi_path_show(from, shown));
    else
        rc = do_rename(root, &a, &b, to, flags, err);
    close(a.dir_fd);
    close(b.dir_fd);
    return rc;
}

static wb_rc remove_name(struct wbi_root *root, struct wbi_str path, unsigned flags, int how,
                         struct wbi_error *err)
{
    struct wbi_target t;
    int failed;
    wb_rc rc = wbi_target_open(root, path, flags & WBI_WRITE_GRANT, err, &t);

    if (rc)
        return rc;
    failed = unlinkat(t.dir_fd, t.name, how) < 0 ? -errno : 0;
    rc = finish(root, t.dir_fd, failed, path, "removing", err);
    close(t.dir_fd);
    return rc;
}

wb_rc wbi_path_unlink(struct wbi_root *root, struct wbi_str path, unsigned flags,
                      struct wbi_error *err)
{
    return remove_name(root, path, flags, 0, err);
}

wb_rc wbi_path_rmdir(struct wbi_root *root, struct wbi_str path, unsigned flags,
                     struct wbi_error *err)
{
    return remove_name(root, path, flags, AT_REMOVEDIR, err);
}

wb_rc wbi_path_sync_dir(struct wbi_root *root, struct wbi_str path, struct wbi_error *err)
{
    struct wbi_target t;
    wb_rc rc;

    if (root->flags & WBI_ROOT_NO_SYNC)
        return WB_OK;
    rc = wbi_target_open(root, path, WBI_WRITE_GRANT, err, &t);
    if (rc)
        return rc;
    rc = finish(root, t.dir_fd, 0, path, "syncing the directory of", err);
    close(t.dir_fd);
    return rc;
}

bool wbi_path_lstat(struct wbi_root *root, struct wbi_str path, struct stat *ret)
{
    struct wbi_target t;

    if (wbi_target_open(root, path, WBI_WRITE_GRANT, NULL, &t) != WB_OK)
        return false;
    close(t.dir_fd);
    if (t.exists)
        *ret = t.st;
    return t.exists;
}
