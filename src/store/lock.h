/* SPDX-License-Identifier: Apache-2.0
 * store/lock.h: locks between processes, which the kernel drops when a holder
 * dies. The commit lock is fair: who has waited goes before who comes back. */
#ifndef WBI_STORE_LOCK_H
#define WBI_STORE_LOCK_H

#include <sys/stat.h>

#include "base/clock.h"
#include "store/dir.h"

struct wbi_commit_lock {
    int fd; /* -1: not open */
    int dirfd;
    dev_t dev;
    ino_t ino;
};

/* Opens (makes) ledger.lock. */
WB_MUST_CHECK wb_rc wbi_commit_lock_open(const struct wbi_dir *dir, struct wbi_commit_lock *ret,
                                         struct wbi_error *err);
void wbi_commit_lock_close(struct wbi_commit_lock *lock);
/* Waits at most WBI_LIMIT_STORE_LOCK_MS: WB_EAGAIN then. WB_ESTATE when the
 * lock file was removed or replaced meanwhile. */
WB_MUST_CHECK wb_rc wbi_commit_lock(struct wbi_commit_lock *lock, struct wbi_error *err);
void wbi_commit_unlock(struct wbi_commit_lock *lock);

/* A living process as the rows name it: "own_<id>:<boot>:<pid>:<start>". Its
 * lock file run/own_<id>.lock is held as long as it lives. */
#define WBI_OWNER_SIZE 112
struct wbi_owner {
    int fd; /* -1: none */
    int run_fd;
    char instance[WBI_ID_SIZE]; /* own_<id>: also the name of the control socket */
    char text[WBI_OWNER_SIZE];
};
WB_MUST_CHECK wb_rc wbi_owner_open(const struct wbi_dir *dir, const struct wbi_ids *ids,
                                   struct wbi_owner *ret, struct wbi_error *err);
void wbi_owner_close(struct wbi_owner *owner);
/* owner: the whole text or only the instance. A process whose lock cannot be
 * examined counts as alive: closing the calls of a live one would be a lie. */
bool wbi_owner_alive(int run_fd, struct wbi_str owner);
/* The boot that an owner's text names: monotonic times of one boot can be compared. */
struct wbi_str wbi_owner_boot(struct wbi_str owner);
/* Removes locks and sockets of dead owners. */
void wbi_owner_sweep(int run_fd);

#endif
