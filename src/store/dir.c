/* SPDX-License-Identifier: Apache-2.0
 * store/dir.c: opening and, the first time, making a state directory.
 * (1) Making is a row of steps each of which may be repeated: the instance id is
 *     recorded with the user first, then moved into the directory; several
 *     processes may do so at once, one id wins.
 * (2) An entry is examined through its descriptor, never through its name. */
#include "store/dir.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT_STEP "move it away (or name another directory with --state) and run again"

int wbi_fd_above_std(int fd)
{
    int high, saved;

    if (fd < 0 || fd > 2)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    saved = errno;
    close(fd);
    errno = saved;
    return high;
}

static int open_at(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd;

    do
        fd = openat(dirfd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
    while (fd < 0 && errno == EINTR);
    return wbi_fd_above_std(fd);
}

static wb_rc refuse(struct wbi_error *err, const char *what, const char *why)
{
    return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                         "state directory refused: %s %s; " NEXT_STEP, what, why);
}

static wb_rc cannot(struct wbi_error *err, int errno_value, const char *doing, const char *name)
{
    if (errno_value == ENOSPC || errno_value == EDQUOT)
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_LOW_DISK_SPACE,
                             "state directory: cannot %s %s: no space left; free disk space", doing,
                             name);
    return wbi_fail_kind(err, WB_EIO, WBI_KIND_STATE_UNAVAILABLE,
                         "state directory: cannot %s %s: %s; check its permissions or name another "
                         "directory with --state",
                         doing, name, strerror(errno_value));
}

/* A directory that is ours, not a link, not writable by others; tightened to 0700. */
static wb_rc open_dir(int at, const char *name, int *ret, struct wbi_error *err)
{
    struct stat st;
    int fd = open_at(at, name, O_RDONLY | O_DIRECTORY, 0);
    wb_rc rc = WB_OK;

    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return refuse(err, name, "is not a directory (or a link to one)");
    if (fd < 0)
        return cannot(err, errno, "open", name);
    if (fstat(fd, &st) != 0)
        rc = cannot(err, errno, "examine", name);
    else if (st.st_uid != geteuid())
        rc = refuse(err, name, "belongs to another user");
    else if ((st.st_mode & 022) != 0)
        rc = refuse(err, name, "can be written by other users");
    else if ((st.st_mode & 0777) != 0700 && fchmod(fd, 0700) != 0 && errno != EROFS)
        rc = cannot(err, errno, "protect", name);
    if (rc != WB_OK)
        close(fd);
    else
        *ret = fd;
    return rc;
}

static wb_rc make_dir(int at, const char *name, int *ret, struct wbi_error *err)
{
    if (mkdirat(at, name, 0700) == 0) {
        if (fchmodat(at, name, 0700, 0) != 0) /* an odd umask */
            return cannot(err, errno, "protect", name);
    } else if (errno != EEXIST && errno != EROFS) {
        return cannot(err, errno, "make", name);
    }
    return open_dir(at, name, ret, err);
}

static bool made_or_there(const char *path)
{
    struct stat st;
    int why;

    if (mkdir(path, 0700) == 0)
        return chmod(path, 0700) == 0; /* an odd umask */
    why = errno;
    if (why == EEXIST || (why != ENOSPC && stat(path, &st) == 0))
        return true;
    errno = why;
    return false;
}

/* mkdir -p for the user's own folder. Its parents may be anything. */
static wb_rc make_user_folder(const char *path, struct wbi_error *err)
{
    char part[WBI_LIMIT_PATH + 1];
    size_t n = strlen(path);

    if (n > WBI_LIMIT_PATH)
        return wbi_fail(err, WB_ESTATE, "the user's state folder has a name over %u bytes",
                        WBI_LIMIT_PATH);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        char at = part[i];
        if (at != '/' && at != '\0')
            continue;
        part[i] = '\0';
        if (!made_or_there(part))
            return wbi_fail_kind(err, WB_EIO, WBI_KIND_STATE_UNAVAILABLE,
                                 "the user's state folder %s cannot be made: %s: %s; set "
                                 "XDG_STATE_HOME to a folder that can be written",
                                 path, part, strerror(errno));
        part[i] = at;
    }
    return WB_OK;
}

static int sync_fd(int fd)
{
    return fsync(fd); /* an interrupted sync is a failed one */
}

/* A new small file, whole and (if asked) durable, or none. */
static wb_rc write_file(int dirfd, const char *name, const char *text, bool durable,
                        struct wbi_error *err)
{
    int fd = open_at(dirfd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    wb_rc rc = WB_OK;

    if (fd < 0)
        return errno == EEXIST ? WB_EEXISTS : cannot(err, errno, "make", name);
    if (wbi_write_all(fd, text, strlen(text)) != 0 || fchmod(fd, 0600) != 0 ||
        (durable && sync_fd(fd) != 0))
        rc = cannot(err, errno, "write", name);
    if (close(fd) != 0 && rc == WB_OK)
        rc = cannot(err, errno, "write", name);
    if (rc != WB_OK)
        (void)unlinkat(dirfd, name, 0); /* the next start makes it again */
    return rc;
}

wb_rc wbi_dir_check_file(int dirfd, const char *name, bool *ret_exists, struct wbi_error *err)
{
    struct stat st;

    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            return cannot(err, errno, "examine", name);
        *ret_exists = false;
        return WB_OK;
    }
    if (!S_ISREG(st.st_mode))
        return refuse(err, name, "is a link or a special file");
    if (st.st_uid != geteuid())
        return refuse(err, name, "belongs to another user");
    if (st.st_nlink > 1)
        return refuse(err, name, "has a second name (hard link)");
    *ret_exists = true;
    return WB_OK;
}

/* A short text file of ours; WB_ENOTFOUND when absent. */
static wb_rc read_file(int dirfd, const char *name, char *out, size_t size, struct wbi_error *err)
{
    bool exists;
    ssize_t got;
    int fd;
    wb_rc rc = wbi_dir_check_file(dirfd, name, &exists, err);

    if (rc != WB_OK)
        return rc;
    if (!exists)
        return WB_ENOTFOUND;
    fd = open_at(dirfd, name, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return cannot(err, errno, "open", name);
    do
        got = read(fd, out, size - 1);
    while (got < 0 && errno == EINTR);
    close(fd);
    if (got < 0)
        return cannot(err, errno, "read", name);
    out[got] = '\0';
    while (got > 0 && out[got - 1] == '\n')
        out[--got] = '\0';
    return WB_OK;
}

static bool expected_in_new(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".gitignore") == 0 ||
           strncmp(name, ".instance.", 10) == 0;
}

/* Another process may make it meanwhile. Its id is the first thing there, but not the first
 * to be listed, if it is listed at all. */
static bool was_made(int fd)
{
    return faccessat(fd, "instance", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Without an id only an empty directory may become a state directory. */
static wb_rc check_new(int fd, struct wbi_error *err)
{
    int copy = open_at(fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *e;
    wb_rc rc = WB_OK;

    if (d == NULL) {
        rc = cannot(err, errno, "list", ".");
        if (copy >= 0)
            close(copy);
        return rc;
    }
    while (rc == WB_OK && (e = readdir(d)) != NULL) {
        if (expected_in_new(e->d_name))
            continue;
        if (was_made(fd))
            break;
        rc = refuse(err, "it", "holds files but no instance id, so it was not made here");
    }
    closedir(d);
    return rc;
}

static wb_rc make_instance(struct wbi_dir *dir, const struct wbi_ids *ids, struct wbi_error *err)
{
    char id[WBI_ID_SIZE], temp[WBI_ID_SIZE + 16], text[WBI_ID_SIZE + 2];
    wb_rc rc = dir->is_users ? WB_OK : check_new(dir->fd, err);

    if (rc != WB_OK)
        return rc;
    wbi_id_make(ids, "state_", id);
    (void)snprintf(text, sizeof(text), "%s\n", id);
    (void)snprintf(temp, sizeof(temp), ".instance.%s", id);
    rc = write_file(dir->user_fd, id, dir->path, true, err);
    if (rc == WB_OK)
        rc = write_file(dir->fd, temp, text, true, err);
    if (rc != WB_OK)
        return rc == WB_EEXISTS ? wbi_fail(err, WB_EIO, "state directory: id used twice") : rc;
    if (renameat2(dir->fd, temp, dir->fd, "instance", RENAME_NOREPLACE) != 0) {
        if (errno != EEXIST)
            rc = cannot(err, errno, "make", "instance");
        (void)unlinkat(dir->user_fd, id, 0); /* another process's id counts */
        (void)unlinkat(dir->fd, temp, 0);
    }
    if (rc == WB_OK && sync_fd(dir->fd) != 0)
        rc = cannot(err, errno, "sync", "instance");
    if (rc == WB_OK && sync_fd(dir->user_fd) != 0)
        rc = cannot(err, errno, "sync", "instances");
    return rc;
}

static bool valid_id(const char *id)
{
    if (strncmp(id, "state_", 6) != 0 || strlen(id) != 26)
        return false;
    return strspn(id + 6, "0123456789abcdef") == 20;
}

static bool same_directory(int one, int other)
{
    struct stat a, b;

    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Whether the directory of this id is at place, and is not this one. */
static bool is_elsewhere(const struct wbi_dir *dir, const char *place)
{
    char id[WBI_ID_SIZE];
    int fd = open_at(AT_FDCWD, place, O_RDONLY | O_DIRECTORY, 0);
    bool elsewhere = fd >= 0 && !same_directory(fd, dir->fd) &&
                     read_file(fd, "instance", id, sizeof(id), NULL) == WB_OK &&
                     strcmp(id, dir->id) == 0;

    if (fd >= 0)
        close(fd);
    return elsewhere;
}

/* A small file of the user's folder, replaced whole by a rename. */
static wb_rc replace_file(const struct wbi_dir *dir, const char *name, const char *text)
{
    char temp[WBI_ID_SIZE + 32];
    wb_rc rc;

    (void)snprintf(temp, sizeof(temp), "%s.%ld", name, (long)getpid());
    (void)unlinkat(dir->user_fd, temp, 0); /* of a dead process with our number */
    rc = write_file(dir->user_fd, temp, text, false, NULL);
    if (rc == WB_OK && renameat(dir->user_fd, temp, dir->user_fd, name) != 0) {
        (void)unlinkat(dir->user_fd, temp, 0);
        rc = WB_EIO;
    }
    return rc;
}

/* The user's record of an id says where its directory is. One that is somewhere else
 * was moved, or is a copy: two directories with one id would each go on where the
 * witness has seen the other, and the first of them be refused from then on. */
static wb_rc check_place(struct wbi_dir *dir, struct wbi_error *err)
{
    char place[WBI_LIMIT_PATH + 1], why[300];
    wb_rc rc = read_file(dir->user_fd, dir->id, place, sizeof(place), err);

    if (rc == WB_ENOTFOUND)
        return refuse(err, "its instance id",
                      "is not known to this user, so it was made elsewhere");
    if (rc != WB_OK || strcmp(place, dir->path) == 0)
        return rc;
    if (is_elsewhere(dir, place)) {
        (void)snprintf(why, sizeof(why), "is a copy of %.200s, which is still there", place);
        return refuse(err, "it", why);
    }
    (void)replace_file(dir, dir->id, dir->path); /* else the next time */
    return WB_OK;
}

static wb_rc check_instance(struct wbi_dir *dir, const struct wbi_ids *ids, struct wbi_error *err)
{
    wb_rc rc = read_file(dir->fd, "instance", dir->id, sizeof(dir->id), err);

    if (rc == WB_ENOTFOUND) {
        rc = make_instance(dir, ids, err);
        if (rc == WB_OK)
            rc = read_file(dir->fd, "instance", dir->id, sizeof(dir->id), err);
    }
    if (rc != WB_OK)
        return rc;
    if (!valid_id(dir->id))
        return refuse(err, "its file `instance`", "holds no instance id");
    return check_place(dir, err);
}

static wb_rc find_path(struct wbi_dir *dir, struct wbi_error *err)
{
    char link[64];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir->fd);
    n = readlink(link, dir->path, sizeof(dir->path) - 16); /* room for "/ledger.db" */
    if (n <= 0 || dir->path[0] != '/' || (size_t)n >= sizeof(dir->path) - 16)
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "state directory: its path cannot be found (is /proc mounted, and "
                             "the path shorter than %u bytes?)",
                             WBI_LIMIT_PATH - 16);
    dir->path[n] = '\0';
    return WB_OK;
}

/* The user's folder and, in it, the ids of state directories that were made here. */
static wb_rc open_user(const char *user_path, int *ret_user, int *ret_instances,
                       struct wbi_error *err)
{
    wb_rc rc;

    if (user_path == NULL || user_path[0] != '/')
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "the user's state folder is unknown: set HOME or XDG_STATE_HOME to "
                             "an absolute path");
    rc = make_user_folder(user_path, err);
    if (rc == WB_OK)
        rc = open_dir(AT_FDCWD, user_path, ret_user, err);
    if (rc == WB_OK)
        rc = make_dir(*ret_user, "instances", ret_instances, err);
    return rc;
}

wb_rc wbi_dir_open(const char *path, const char *user_path, const struct wbi_ids *ids,
                   struct wbi_dir *ret, struct wbi_error *err)
{
    struct wbi_dir dir = {.fd = -1, .run_fd = -1, .artifacts_fd = -1, .user_fd = -1};
    int user = -1;
    wb_rc rc = open_user(user_path, &user, &dir.user_fd, err);

    if (rc == WB_OK)
        rc = make_dir(AT_FDCWD, path, &dir.fd, err);
    if (rc == WB_OK)
        dir.is_users = same_directory(user, dir.fd);
    if (user >= 0)
        close(user);
    if (rc == WB_OK)
        rc = find_path(&dir, err);
    if (rc == WB_OK)
        dir.read_only = faccessat(dir.fd, ".", W_OK, AT_EACCESS) != 0 && errno == EROFS;
    if (rc == WB_OK)
        rc = check_instance(&dir, ids, err);
    if (rc == WB_OK && !dir.read_only)
        rc = write_file(dir.fd, ".gitignore", "*\n", false, err);
    if (rc == WB_EEXISTS)
        rc = WB_OK;
    if (rc == WB_OK)
        rc = make_dir(dir.fd, "run", &dir.run_fd, err);
    if (rc == WB_OK)
        rc = make_dir(dir.fd, "artifacts", &dir.artifacts_fd, err);
    if (rc != WB_OK) {
        wbi_dir_close(&dir);
        return rc;
    }
    *ret = dir;
    return WB_OK;
}

bool wbi_dir_absent(const char *path)
{
    struct stat st;

    return lstat(path, &st) != 0 && errno == ENOENT;
}

void wbi_dir_close(struct wbi_dir *dir)
{
    int *fds[] = {&dir->fd, &dir->run_fd, &dir->artifacts_fd, &dir->user_fd};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

wb_rc wbi_dir_witness_read(const struct wbi_dir *dir, struct wbi_witness *ret)
{
    char name[WBI_ID_SIZE + 8], text[128];
    struct wbi_str line, hex;
    struct wbi_witness w;
    size_t space;

    (void)snprintf(name, sizeof(name), "%s.head", dir->id);
    if (read_file(dir->user_fd, name, text, sizeof(text), NULL) != WB_OK)
        return WB_ENOTFOUND;
    line = wbi_str_z(text);
    space = wbi_str_index(line, ' ');
    hex = wbi_str_from(line, space + 1);
    if (!wbi_parse_i64(wbi_str_head(line, space), &w.seq) || w.seq < 0 ||
        hex.n != 2 * WBI_SHA256_SIZE || !wbi_unhex(hex, w.hash))
        return WB_ENOTFOUND;
    *ret = w;
    return WB_OK;
}

wb_rc wbi_dir_witness_write(const struct wbi_dir *dir, const struct wbi_witness *w)
{
    char name[WBI_ID_SIZE + 8], hex[WBI_SHA256_HEX], text[128];

    wbi_hex(w->hash, sizeof(w->hash), hex);
    (void)snprintf(text, sizeof(text), "%lld %s\n", (long long)w->seq, hex);
    (void)snprintf(name, sizeof(name), "%s.head", dir->id);
    return replace_file(dir, name, text);
}
