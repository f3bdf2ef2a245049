/* SPDX-License-Identifier: Apache-2.0
 * store/dir.h: the state directory (I1) as a set of open descriptors.
 * Nothing in it is reached through a link; everything in it belongs to the
 * effective user; its instance id is recorded in the user's own state folder,
 * so that a directory somebody else made (a cloned repository's) is refused. */
#ifndef WBI_STORE_DIR_H
#define WBI_STORE_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/limits.h"

struct wbi_dir {
    int fd;           /* the directory itself */
    int run_fd;       /* run/: locks of live owners, control sockets */
    int artifacts_fd; /* artifacts/ */
    int user_fd;      /* instances/ of the user's state folder */
    bool read_only;   /* the file system lets nothing be written */
    bool is_users;    /* the user's own folder, where no workspace can put anything */
    char id[WBI_ID_SIZE];
    char path[WBI_LIMIT_PATH + 1]; /* without links, for SQLite */
};

/* What the user's folder remembers of the newest row it saw. */
struct wbi_witness {
    int64_t seq;
    uint8_t hash[WBI_SHA256_SIZE];
};

/* Opens path, making it (0700, with .gitignore, artifacts/ and run/) where it
 * does not exist. user_path: the user's state folder, made where missing; NULL
 * is refused. Failures are WB_ESTATE with what to do next, WB_EIO, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_dir_open(const char *path, const char *user_path, const struct wbi_ids *ids,
                                 struct wbi_dir *ret, struct wbi_error *err);
void wbi_dir_close(struct wbi_dir *dir);
/* There is nothing of that name, not even something that would be refused. */
bool wbi_dir_absent(const char *path);

/* name in dirfd is a regular file of ours with one name, or absent (then
 * *ret_exists is false). */
WB_MUST_CHECK wb_rc wbi_dir_check_file(int dirfd, const char *name, bool *ret_exists,
                                       struct wbi_error *err);

/* WB_ENOTFOUND when none was ever written (or it is unreadable). */
WB_MUST_CHECK wb_rc wbi_dir_witness_read(const struct wbi_dir *dir, struct wbi_witness *ret);
/* Replaced whole by a rename; not synced: it may lag, it never runs ahead, and
 * a failure only makes it lag more. */
wb_rc wbi_dir_witness_write(const struct wbi_dir *dir, const struct wbi_witness *w);

/* Descriptors 0 to 2 are never handed out, even if the process started without
 * them: somebody's printf must not end up in a database. Takes fd over. */
int wbi_fd_above_std(int fd);

#endif
