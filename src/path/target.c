/* SPDX-License-Identifier: Apache-2.0
 * path/target.c: where a write would really land. The directory that will hold
 * the name is opened by a path without links, so the name whose guard was
 * checked is the place that is written; a path that does lead through links is
 * resolved beneath the root first, named by the kernel, and opened again under
 * that name. A swap in between makes the second opening fail. */
#include "path/path_int.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/arena.h"

static bool has_dot_dot(const char *p)
{
    while (*p != '\0') {
        size_t n = strcspn(p, "/");

        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        p += n;
        while (*p == '/')
            p++;
    }
    return false;
}

/* Appends the components of text without "." and empty ones; false when there
 * is no room or a ".." among them. */
static bool append_clean(char real[WBI_PATH_BUF], const char *text)
{
    size_t used = strlen(real);

    if (has_dot_dot(text))
        return false;
    if (strcmp(real, ".") == 0)
        used = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "/");

        if (n > 0 && !(n == 1 && text[0] == '.')) {
            if (used + n + 2 > WBI_PATH_BUF)
                return false;
            if (used > 0)
                real[used++] = '/';
            memcpy(real + used, text, n);
            used += n;
        }
        text += n;
        while (*text == '/')
            text++;
    }
    if (used == 0)
        real[used++] = '.';
    real[used] = '\0';
    return true;
}

/* An existing directory opened under its real name. */
static int open_real_dir(struct wbi_root *root, const char *rel, char real[WBI_PATH_BUF])
{
    int fd = -ELOOP;

    if (!has_dot_dot(rel))
        fd = wbi_resolve(root, rel, O_RDONLY | O_DIRECTORY, WBI_RESOLVE_NO_SYMLINKS);
    if (fd >= 0) {
        real[0] = '\0';
        if (append_clean(real, rel))
            return fd;
        close(fd);
        return -ENAMETOOLONG;
    }
    if (fd != -ELOOP && fd != -ENOTDIR)
        return fd;
    fd = wbi_resolve(root, rel, O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    if (!wbi_path_fd_name(root, fd, real)) {
        close(fd);
        return -EXDEV;
    }
    close(fd);
    return wbi_resolve(root, real, O_RDONLY | O_DIRECTORY, WBI_RESOLVE_NO_SYMLINKS);
}

/* The deepest directory of rel that exists; rest gets the text of the missing
 * ones, "" when there are none. With WBI_WRITE_OVER_FILE what is no directory counts as
 * missing. */
static int open_deepest(struct wbi_root *root, const char *rel, unsigned flags,
                        char real[WBI_PATH_BUF], char rest[WBI_PATH_BUF])
{
    char have[WBI_PATH_BUF];
    size_t n = strlen(rel);

    memcpy(have, rel, n + 1);
    rest[0] = '\0';
    for (;;) {
        int fd = open_real_dir(root, have, real);

        if ((fd != -ENOENT && !(fd == -ENOTDIR && (flags & WBI_WRITE_OVER_FILE))) || n == 0)
            return fd;
        while (n > 0 && have[n - 1] == '/')
            n--;
        while (n > 0 && have[n - 1] != '/')
            n--;
        memcpy(rest, rel + n, strlen(rel + n) + 1);
        if (n == 0)
            memcpy(have, ".", 2);
        else
            have[n] = '\0';
        if (has_dot_dot(rest))
            return -ENOENT;
    }
}

static wb_rc refuse(struct wbi_str path, const char *what, struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_FORBIDDEN,
                         "`%s` is %s; writing it needs an explicit grant",
                         wbi_path_show(path, shown), what);
}

#define GUARDED "version control internals, agent, editor, shell and Waybill configuration"

static bool granted(const struct wbi_root *root, unsigned flags)
{
    return (root->flags & WBI_ROOT_GRANT) || (flags & WBI_WRITE_GRANT);
}

/* name: the path as given, or the real one. */
static wb_rc check_guard(struct wbi_root *root, const char *name, unsigned flags,
                         struct wbi_str path, struct wbi_error *err)
{
    if (granted(root, flags))
        return WB_OK;
    if (root->guarded)
        return refuse(path,
                      "in a guarded directory (" GUARDED
                      ", or where Waybill keeps its state or its user's settings)",
                      err);
    if (wbi_path_guarded(wbi_str_z(name)))
        return refuse(path, "a guarded name (" GUARDED ")", err);
    return WB_OK;
}

/* real: all of it, the last name, too. */
static wb_rc check_place(struct wbi_root *root, const char *real, unsigned flags,
                         struct wbi_str path, struct wbi_error *err)
{
    if (granted(root, flags) || !wbi_root_keeps(root, real))
        return WB_OK;
    return refuse(path, "where Waybill keeps its state or its user's settings", err);
}

static int sync_fd(const struct wbi_root *root, int fd)
{
    if (root->flags & WBI_ROOT_NO_SYNC)
        return 0;
    return fsync(fd) < 0 ? -errno : 0;
}

/* Makes the directories of rest beneath dir_fd, which is closed; the last one's
 * descriptor is returned. */
static int make_rest(struct wbi_root *root, int dir_fd, char *rest)
{
    char *p = rest;

    while (*p != '\0') {
        size_t n = strcspn(p, "/");
        char *end = p + n;
        char kept = *end;
        int child, failed = 0;

        *end = '\0';
        if (n > 0 && strcmp(p, ".") != 0) {
            if (mkdirat(dir_fd, p, 0777) < 0 && errno != EEXIST)
                failed = -errno;
            child =
                failed ? -1 : openat(dir_fd, p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (failed == 0 && child < 0)
                failed = errno == ELOOP ? -ENOTDIR : -errno;
            if (failed == 0)
                failed = sync_fd(root, dir_fd);
            close(dir_fd);
            if (failed) {
                if (child >= 0)
                    close(child);
                return failed;
            }
            dir_fd = child;
        }
        p = kept ? end + 1 : end;
    }
    return dir_fd;
}

/* The directory rel, made when flags say so, with its guard checked. */
static wb_rc open_dir_for_write(struct wbi_root *root, const char *rel, struct wbi_str path,
                                unsigned flags, struct wbi_error *err, char real[WBI_PATH_BUF],
                                int *ret_fd)
{
    char rest[WBI_PATH_BUF];
    int fd = open_deepest(root, rel, 0, real, rest);
    wb_rc rc;

    if (fd < 0)
        return wbi_path_fail(err, fd, path, "opening");
    if (!append_clean(real, rest)) {
        close(fd);
        return wbi_path_fail(err, -ENAMETOOLONG, path, "opening");
    }
    rc = check_guard(root, real, flags, path, err);
    if (rc == WB_OK)
        rc = check_place(root, real, flags, path, err);
    if (rc == WB_OK && rest[0] != '\0' && !(flags & WBI_WRITE_MKDIRS))
        rc = wbi_path_fail(err, -ENOENT, path, "opening");
    if (rc) {
        close(fd);
        return rc;
    }
    fd = make_rest(root, fd, rest);
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "making the directories of");
    *ret_fd = fd;
    return WB_OK;
}

/* rel → directory part (in dir) and last name; false when there is no name. */
static bool split(const char *rel, char dir[WBI_PATH_BUF], char name[256])
{
    const char *slash = strrchr(rel, '/');
    const char *last = slash ? slash + 1 : rel;
    size_t n = strlen(last);

    if (n == 0 || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return false;
    if (n > WBI_LIMIT_NAME)
        n = 0;
    memcpy(name, last, n);
    name[n] = '\0';
    if (slash == NULL) {
        memcpy(dir, ".", 2);
    } else {
        memcpy(dir, rel, (size_t)(slash - rel));
        dir[slash - rel] = '\0';
    }
    return true;
}

static wb_rc split_or_fail(const char *rel, struct wbi_str path, struct wbi_error *err,
                           char dir[WBI_PATH_BUF], char name[256])
{
    char shown[WBI_PATH_SHOWN];

    if (!split(rel, dir, name))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "`%s` does not end in a file name", wbi_path_show(path, shown));
    if (name[0] == '\0')
        return wbi_path_fail(err, -ENAMETOOLONG, path, "opening");
    return WB_OK;
}

static wb_rc target_at(struct wbi_root *root, const char *rel, struct wbi_str path, unsigned flags,
                       struct wbi_error *err, struct wbi_target *ret)
{
    char dir[WBI_PATH_BUF];
    int fd = -1;
    wb_rc rc = split_or_fail(rel, path, err, dir, ret->name);

    if (rc == WB_OK)
        rc = check_guard(root, rel, flags, path, err);
    if (rc == WB_OK)
        rc = open_dir_for_write(root, dir, path, flags, err, ret->real, &fd);
    if (rc)
        return rc;
    if (!append_clean(ret->real, ret->name))
        rc = wbi_path_fail(err, -ENAMETOOLONG, path, "opening");
    else
        rc = check_place(root, ret->real, flags, path, err);
    if (rc) {
        close(fd);
        return rc;
    }
    ret->dir_fd = fd;
    ret->exists = fstatat(fd, ret->name, &ret->st, AT_SYMLINK_NOFOLLOW) == 0;
    return WB_OK;
}

/* Where a link at the end leads; real is the kernel's name for it. */
static wb_rc follow_last(struct wbi_root *root, const char *rel, struct wbi_str path,
                         struct wbi_error *err, char real[WBI_PATH_BUF])
{
    char shown[WBI_PATH_SHOWN];
    int fd = wbi_resolve(root, rel, O_PATH, 0);
    bool named;

    if (fd == -ENOENT)
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_FILE_NOT_FOUND,
                             "`%s` is a symbolic link to nothing; write the file it should name",
                             wbi_path_show(path, shown));
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "opening");
    named = wbi_path_fd_name(root, fd, real);
    close(fd);
    return named ? WB_OK : wbi_path_fail(err, -EXDEV, path, "opening");
}

wb_rc wbi_target_open(struct wbi_root *root, struct wbi_str path, unsigned flags,
                      struct wbi_error *err, struct wbi_target *ret)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF], real[WBI_PATH_BUF];
    wb_rc rc = wbi_path_relative(root, path, err, rel);

    if (rc == WB_OK)
        rc = target_at(root, rel, path, flags, err, ret);
    if (rc || !(flags & WBI_TARGET_FOLLOW) || !ret->exists || !S_ISLNK(ret->st.st_mode))
        return rc;
    close(ret->dir_fd);
    rc = follow_last(root, rel, path, err, real);
    if (rc == WB_OK)
        rc = target_at(root, real, path, flags, err, ret);
    if (rc == WB_OK && ret->exists && S_ISLNK(ret->st.st_mode)) {
        close(ret->dir_fd);
        rc = wbi_path_fail(err, -EAGAIN, path, "opening");
    }
    return rc;
}

wb_rc wbi_path_target(struct wbi_root *root, struct wbi_str path, unsigned flags,
                      struct wbi_arena *arena, struct wbi_error *err, struct wbi_str *ret)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF], dir[WBI_PATH_BUF], rest[WBI_PATH_BUF],
        real[WBI_PATH_BUF], name[256];
    struct stat st;
    wb_rc rc = wbi_path_relative(root, path, err, rel);
    bool is_link;
    int fd;

    if (rc == WB_OK)
        rc = split_or_fail(rel, path, err, dir, name);
    if (rc)
        return rc;
    fd = open_deepest(root, dir, flags, real, rest);
    if (fd < 0)
        return wbi_path_fail(err, fd, path, "opening");
    is_link =
        rest[0] == '\0' && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    close(fd);
    if (is_link && (flags & WBI_WRITE_NO_LINK))
        rc = wbi_path_fail_link(err, path);
    else if (is_link)
        rc = follow_last(root, rel, path, err, real);
    else if (!append_clean(real, rest) || !append_clean(real, name))
        rc = wbi_path_fail(err, -ENAMETOOLONG, path, "opening");
    if (rc == WB_OK)
        rc = check_guard(root, rel, flags, path, err);
    if (rc == WB_OK)
        rc = check_guard(root, real, flags, path, err);
    if (rc == WB_OK)
        rc = check_place(root, real, flags, path, err);
    if (rc)
        return rc;
    ret->p = wbi_arena_strz(arena, wbi_str_z(real));
    if (ret->p == NULL)
        return wbi_fail_nomem(err);
    ret->n = strlen(real);
    return WB_OK;
}

wb_rc wbi_path_mkdirs(struct wbi_root *root, struct wbi_str path, unsigned flags,
                      struct wbi_error *err)
{
    WBI_LARGE_LOCAL char rel[WBI_PATH_BUF], real[WBI_PATH_BUF];
    int fd;
    wb_rc rc = wbi_path_relative(root, path, err, rel);

    if (rc == WB_OK)
        rc = check_guard(root, rel, flags, path, err);
    if (rc == WB_OK)
        rc = open_dir_for_write(root, rel, path, flags | WBI_WRITE_MKDIRS, err, real, &fd);
    if (rc == WB_OK)
        close(fd);
    return rc;
}
