/* SPDX-License-Identifier: Apache-2.0
 * path/path_int.h: inside the path room. Functions return a descriptor or a
 * negated errno unless they take an err. */
#ifndef WBI_PATH_PATH_INT_H
#define WBI_PATH_PATH_INT_H

#include <stdatomic.h>

#include "base/local.h"
#include "path/path.h"

#define WBI_ROOT_KEPT 8

struct wbi_root {
    atomic_uint refs;
    int fd;
    unsigned flags;
    atomic_bool no_openat2; /* learnt from the first ENOSYS */
    bool local;             /* a file system that opens files without asking anybody */
    bool guarded;           /* it is beneath a guarded name, so everything in it is */
    unsigned n_kept;
    struct wbi_str kept[WBI_ROOT_KEPT]; /* guarded places relative to the root, owned */
    dev_t dev;
    ino_t ino;
    _Atomic uint64_t regular[64]; /* hashes of paths that were regular files when looked at */
    size_t path_n;
    char path[];
};

#define WBI_PATH_BUF (WBI_LIMIT_PATH + 1)

enum wbi_resolve_flags {
    WBI_RESOLVE_NO_SYMLINKS = 1u << 0 /* a link anywhere is -ELOOP */
};

/* Opens rel (NUL-terminated, not absolute) beneath root_fd. oflags never has
 * O_CREAT. -EXDEV: leaves the root; -ELOOP: too many links. */
int wbi_resolve(struct wbi_root *root, const char *rel, int oflags, unsigned rflags);
/* The same by the component walk. */
int wbi_walk(int root_fd, const char *rel, int oflags, unsigned rflags);

/* path as given → NUL-terminated text relative to the root, "." for the root
 * itself. Refuses NUL, over-long and foreign absolute paths. */
wb_rc wbi_path_relative(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                        char out[WBI_PATH_BUF]);
/* The kernel's name for fd relative to the root; false where it has none. */
bool wbi_path_fd_name(const struct wbi_root *root, int fd, char out[WBI_PATH_BUF]);
/* err from a negated errno of an operation on path. */
wb_rc wbi_path_fail(struct wbi_error *err, int neg_errno, struct wbi_str path, const char *doing);

/* Is the real name one of the root's guarded places, or beneath one? */
bool wbi_root_keeps(const struct wbi_root *root, const char *real);

/* err for a link where only a file's own name will do. */
wb_rc wbi_path_fail_link(struct wbi_error *err, struct wbi_str path);

/* The directory that holds the last component, opened without links. */
struct wbi_target {
    int dir_fd;
    bool exists;
    struct stat st; /* of the target when it exists, not followed */
    char name[256];
    char real[WBI_PATH_BUF];
};
enum wbi_target_flags {
    WBI_TARGET_FOLLOW = 1u << 16 /* a link at the end is followed beneath the root */
};
/* flags: enum wbi_write_flags and enum wbi_target_flags. On success the caller
 * closes dir_fd. */
wb_rc wbi_target_open(struct wbi_root *root, struct wbi_str path, unsigned flags,
                      struct wbi_error *err, struct wbi_target *ret);

#endif
