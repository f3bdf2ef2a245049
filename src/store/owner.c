/* SPDX-License-Identifier: Apache-2.0
 * store/owner.c: which process a row belongs to, and whether it still lives.
 * The lock file appears under its final name only once it is locked, so nobody
 * can mistake a starting process for a dead one. */
#include "store/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"

static bool read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return false;
    do
        got = read(fd, out, size - 1);
    while (got < 0 && errno == EINTR);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static void boot_id(char out[37])
{
    char text[64];

    if (!read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    (void)snprintf(out, 37, "%.36s", text);
}

/* Field 22 of /proc/self/stat, counted behind the name in parentheses. */
static uint64_t start_time(void)
{
    char text[1024];
    struct wbi_str rest;
    uint64_t value = 0;
    const char *p;

    if (!read_text("/proc/self/stat", text, sizeof(text)))
        return 0;
    p = strrchr(text, ')');
    rest = wbi_str_z(p != NULL ? p + 1 : "");
    for (int field = 2; field < 22; field++)
        rest = wbi_str_from(rest, wbi_str_index(rest, ' ') + 1);
    (void)wbi_parse_u64(wbi_str_head(rest, wbi_str_index(rest, ' ')), &value); /* else 0 */
    return value;
}

static bool take_lock(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int status;

    do
        status = fcntl(fd, F_OFD_SETLK, &l);
    while (status != 0 && errno == EINTR);
    return status == 0;
}

/* Makes, locks and names the lock file; false with errno. */
static bool make_lock(struct wbi_owner *o)
{
    char name[WBI_ID_SIZE + 8], temp[WBI_ID_SIZE + 8];
    int saved;

    (void)snprintf(name, sizeof(name), "%s.lock", o->instance);
    (void)snprintf(temp, sizeof(temp), ".%s.new", o->instance);
    do
        o->fd = openat(o->run_fd, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (o->fd < 0 && errno == EINTR);
    o->fd = wbi_fd_above_std(o->fd);
    if (o->fd >= 0 && take_lock(o->fd) && renameat(o->run_fd, temp, o->run_fd, name) == 0)
        return true;
    saved = errno;
    (void)unlinkat(o->run_fd, temp, 0); /* may not exist */
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    errno = saved;
    return false;
}

wb_rc wbi_owner_open(const struct wbi_dir *dir, const struct wbi_ids *ids, struct wbi_owner *ret,
                     struct wbi_error *err)
{
    struct wbi_owner o = {.fd = -1, .run_fd = dir->run_fd};
    char boot[37];

    boot_id(boot);
    wbi_id_make(ids, "own_", o.instance);
    (void)snprintf(o.text, sizeof(o.text), "%s:%s:%ld:%llu", o.instance, boot, (long)getpid(),
                   (unsigned long long)start_time());
    if (!make_lock(&o)) {
        bool full = errno == ENOSPC || errno == EDQUOT;
        wb_rc rc = wbi_fail_errno(err, errno, "state directory: cannot make a lock in run/");
        if (err != NULL)
            err->kind = full ? WBI_KIND_LOW_DISK_SPACE : WBI_KIND_STATE_UNAVAILABLE;
        return rc;
    }
    *ret = o;
    return WB_OK;
}

void wbi_owner_close(struct wbi_owner *owner)
{
    char name[WBI_ID_SIZE + 8];

    if (owner->fd < 0)
        return;
    (void)snprintf(name, sizeof(name), "%s.lock", owner->instance);
    (void)unlinkat(owner->run_fd, name, 0); /* a lock that stays is swept by the next start */
    close(owner->fd);
    owner->fd = -1;
}

/* 1 held, 0 free or absent, -1 cannot tell */
static int lock_held(int run_fd, const char *name)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int status, fd;

    do
        fd = openat(run_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == ENOENT || errno == ELOOP ? 0 : -1;
    do
        status = fcntl(fd, F_OFD_GETLK, &l);
    while (status != 0 && errno == EINTR);
    close(fd);
    if (status != 0)
        return -1;
    return l.l_type == F_UNLCK ? 0 : 1;
}

struct wbi_str wbi_owner_boot(struct wbi_str owner)
{
    struct wbi_str rest = wbi_str_from(owner, wbi_str_index(owner, ':') + 1);

    return wbi_str_head(rest, wbi_str_index(rest, ':'));
}

bool wbi_owner_alive(int run_fd, struct wbi_str owner)
{
    struct wbi_str instance = wbi_str_head(owner, wbi_str_index(owner, ':'));
    char name[WBI_ID_SIZE + 8];

    if (instance.n == 0 || instance.n >= WBI_ID_SIZE || memchr(instance.p, '/', instance.n) != NULL)
        return false; /* no owner of ours has such a name */
    (void)snprintf(name, sizeof(name), "%.*s.lock", WBI_FMT(instance));
    return lock_held(run_fd, name) != 0;
}

/* The owner a name in run/ belongs to; absent when it is no name of ours. */
static struct wbi_str owner_of(const char *name)
{
    static const char *const endings[] = {".lock", ".sock", ".new"};
    struct wbi_str s = wbi_str_z(name[0] == '.' ? name + 1 : name);

    if (!wbi_str_starts(s, WBI_LIT("own_")))
        return WBI_NONE;
    for (size_t i = 0; i < WBI_COUNT(endings); i++) {
        if (wbi_str_ends(s, wbi_str_z(endings[i])))
            return wbi_str_head(s, s.n - strlen(endings[i]));
    }
    return WBI_NONE;
}

/* Whoever makes a lock has it a moment later; a busy machine may make that long. */
static bool is_fresh(int run_fd, const char *name)
{
    struct stat st;

    return fstatat(run_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - st.st_mtime < WBI_STORE_LOCK_MADE_S;
}

static bool is_dead(int run_fd, const char *name)
{
    struct wbi_str owner = owner_of(name);

    if (owner.p == NULL)
        return false;
    /* A lock that is being made, or was left by one that died making it; sockets are
     * made by owners who have theirs. */
    if (name[0] == '.' && !wbi_str_ends(wbi_str_z(name), WBI_LIT(".sock")))
        return !is_fresh(run_fd, name) && lock_held(run_fd, name) == 0 &&
               !wbi_owner_alive(run_fd, owner);
    return !wbi_owner_alive(run_fd, owner);
}

void wbi_owner_sweep(int run_fd)
{
    int fd = wbi_fd_above_std(openat(run_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;

    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return; /* nothing is wrong but untidy */
    }
    for (unsigned seen = 0; seen < WBI_LIMIT_RUN_SCAN && (e = readdir(d)) != NULL; seen++) {
        if (is_dead(run_fd, e->d_name))
            (void)unlinkat(run_fd, e->d_name, 0); /* another sweeper may have been faster */
    }
    closedir(d);
}
