/* SPDX-License-Identifier: Apache-2.0
 * store/lock.c: the commit lock, as open-file-description locks on two bytes.
 * (1) Byte 0 is the lock, byte 1 the door to it: who wants the lock first takes
 *     the door, so a busy process cannot shut the others out.
 * (2) Waiting is bounded, because a stopped process must not stop all others;
 *     so it polls, quickly at first. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { COMMIT_BYTE = 0, DOOR_BYTE = 1 };

wb_rc wbi_commit_lock_open(const struct wbi_dir *dir, struct wbi_commit_lock *ret,
                           struct wbi_error *err)
{
    struct stat st;
    bool exists;
    int fd;
    wb_rc rc = wbi_dir_check_file(dir->fd, "ledger.lock", &exists, err);

    if (rc != WB_OK)
        return rc;
    do
        fd = openat(dir->fd, "ledger.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                    0600);
    while (fd < 0 && errno == EINTR);
    fd = wbi_fd_above_std(fd);
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = wbi_fail_errno(err, errno, "state directory: cannot open ledger.lock");
        if (fd >= 0)
            close(fd);
        return rc;
    }
    if (!exists)
        (void)fchmod(fd, 0600); /* an odd umask; an empty file keeps no secret */
    *ret = (struct wbi_commit_lock){fd, dir->fd, st.st_dev, st.st_ino};
    return WB_OK;
}

void wbi_commit_lock_close(struct wbi_commit_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}

static int try_byte(int fd, int byte, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int status;

    do
        status = fcntl(fd, F_OFD_SETLK, &l);
    while (status != 0 && errno == EINTR);
    return status;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / WBI_NS_PER_MS;
}

/* WB_OK, WB_EAGAIN at the deadline, WB_EIO with errno set. */
static wb_rc wait_byte(int fd, int byte, int64_t *deadline_ms)
{
    long pause_ns = 20000;

    while (try_byte(fd, byte, F_WRLCK) != 0) {
        struct timespec pause = {0, pause_ns};
        if (errno != EAGAIN && errno != EACCES)
            return WB_EIO;
        if (*deadline_ms == 0) /* the clock is read only when there is a wait */
            *deadline_ms = now_ms() + WBI_LIMIT_STORE_LOCK_MS;
        else if (now_ms() >= *deadline_ms)
            return WB_EAGAIN;
        (void)nanosleep(&pause, NULL);
        if (pause_ns < 500000)
            pause_ns += pause_ns / 2;
    }
    return WB_OK;
}

wb_rc wbi_commit_lock(struct wbi_commit_lock *lock, struct wbi_error *err)
{
    int64_t deadline_ms = 0;
    struct stat st;
    wb_rc rc = wait_byte(lock->fd, DOOR_BYTE, &deadline_ms);

    if (rc == WB_OK) {
        rc = wait_byte(lock->fd, COMMIT_BYTE, &deadline_ms);
        (void)try_byte(lock->fd, DOOR_BYTE, F_UNLCK); /* unlocking what we hold cannot fail */
    }
    if (rc == WB_EAGAIN)
        return wbi_fail_kind(err, rc, WBI_KIND_STATE_UNAVAILABLE,
                             "another process has held the ledger's commit lock for %d s (is it "
                             "stopped?); end or continue it",
                             WBI_LIMIT_STORE_LOCK_MS / 1000);
    if (rc != WB_OK)
        return wbi_fail_kind(
            err, rc, WBI_KIND_STATE_UNAVAILABLE,
            "cannot lock the ledger: %s; locks must work on the file system of the state directory",
            strerror(errno));
    if (fstatat(lock->dirfd, "ledger.lock", &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        st.st_ino != lock->ino || st.st_dev != lock->dev) {
        wbi_commit_unlock(lock);
        return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                             "ledger.lock was removed or replaced while in use; end every process "
                             "that uses this state directory, then start again");
    }
    return WB_OK;
}

void wbi_commit_unlock(struct wbi_commit_lock *lock)
{
    (void)try_byte(lock->fd, COMMIT_BYTE, F_UNLCK); /* cannot fail on what we hold */
}
