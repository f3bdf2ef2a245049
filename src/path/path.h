/* SPDX-License-Identifier: Apache-2.0
 * path/path.h: everything that happens beneath an execution root.
 * No other room opens, stats, lists or renames anything beneath a workspace
 * root. The kernel resolves (openat2 with RESOLVE_BENEATH); where it cannot, a
 * component walk does that never follows a link on its own. Nothing is decided
 * by comparing strings: an absolute path is accepted only when one of its
 * prefixes is the root directory itself, and the rest is resolved again
 * beneath the root's descriptor.
 *
 * Paths are bytes. Every function that takes an err fills it with a kind:
 *   execution_root_violation  the path leaves the root
 *   missing_file, existing_file, workdir_not_found
 *   forbidden                 a guarded name without a grant
 *   file_not_text             not a regular file (fifo, device, …)
 *   invalid_tool_input        NUL byte, too long, no file name
 *   low_disk_space, tool_execution_failed
 * Messages show the path as it was given, escaped, never the host's path.
 * All functions may be called from any thread; the root is immutable. */
#ifndef WBI_PATH_PATH_H
#define WBI_PATH_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

struct wbi_arena;
struct wbi_root;

enum wbi_root_flags {
    WBI_ROOT_WALK = 1u << 0,    /* use the component walk though openat2 exists (tests) */
    WBI_ROOT_NO_SYNC = 1u << 1, /* writes are atomic but not forced to the disk */
    WBI_ROOT_GRANT = 1u << 2    /* guarded names may be written */
};

/* ---- root ---- */

/* dir: host path of an existing directory, from configuration, never from a
 * call. Errors: workdir_not_found. The caller holds one reference. */
WB_MUST_CHECK wb_rc wbi_root_open(const char *dir, unsigned flags, struct wbi_error *err,
                                  struct wbi_root **ret);
/* A root further down, with the same flags (EnterWorkspace). All of one beneath a
 * guarded name is guarded. */
WB_MUST_CHECK wb_rc wbi_root_beneath(struct wbi_root *root, struct wbi_str path,
                                     struct wbi_error *err, struct wbi_root **ret);
/* A place that needs the grant like a guarded name, and all beneath it: an absolute
 * host path that need not exist. One that is not beneath the root, or is the root, is
 * no matter. Before the root is used; roots further down have it, too. */
WB_MUST_CHECK wb_rc wbi_root_guard(struct wbi_root *root, struct wbi_str place,
                                   struct wbi_error *err);
struct wbi_root *wbi_root_ref(struct wbi_root *root);
/* NULL is fine. */
void wbi_root_unref(struct wbi_root *root);
/* Lives as long as the root. The path is for people and records. */
int wbi_root_fd(const struct wbi_root *root);
/* True when the directory was removed: what has its name now is another one. */
bool wbi_root_gone(const struct wbi_root *root);
struct wbi_str wbi_root_path(const struct wbi_root *root);
unsigned wbi_root_flags(const struct wbi_root *root);

/* ---- reading ---- */

/* A regular file, opened without ever blocking; others are refused by what they
 * are. ret_st may be NULL. The caller closes ret_fd. */
WB_MUST_CHECK wb_rc wbi_path_open_read(struct wbi_root *root, struct wbi_str path,
                                       struct wbi_error *err, int *ret_fd, struct stat *ret_st);
WB_MUST_CHECK wb_rc wbi_path_open_dir(struct wbi_root *root, struct wbi_str path,
                                      struct wbi_error *err, int *ret_fd);
/* The same for a directory that commands or a conversation will work in: one that
 * is not there, or is none, is workdir_not_found. */
WB_MUST_CHECK wb_rc wbi_path_open_workdir(struct wbi_root *root, struct wbi_str path,
                                          struct wbi_error *err, int *ret_fd);
/* Follows links that stay beneath the root. */
WB_MUST_CHECK wb_rc wbi_path_stat(struct wbi_root *root, struct wbi_str path, struct wbi_error *err,
                                  struct stat *ret);
/* Where path really is, relative to the root, without links and dots; "." is
 * the root. The file must exist. Arena memory, NUL-terminated. */
WB_MUST_CHECK wb_rc wbi_path_real(struct wbi_root *root, struct wbi_str path,
                                  struct wbi_arena *arena, struct wbi_error *err,
                                  struct wbi_str *ret);
/* Whole file into the arena. max: bytes accepted, more is WB_ELIMIT. ret_st may
 * be NULL. A file that grows while it is read is cut at max, never over it. */
WB_MUST_CHECK wb_rc wbi_path_read_all(struct wbi_root *root, struct wbi_str path, size_t max,
                                      struct wbi_arena *arena, struct wbi_error *err,
                                      struct wbi_str *ret, struct stat *ret_st);
/* The same for the loop thread: only a small file of a local file system, its path and
 * bytes in memory, so that opening and reading it does not wait. False for all else,
 * errors too. */
bool wbi_path_read_at_hand(struct wbi_root *root, struct wbi_str path, struct wbi_arena *arena,
                           struct wbi_str *ret, struct stat *ret_st);
/* As read(2) and pread(2) without EINTR; -1 and errno on failure. */
ssize_t wbi_path_read(int fd, void *p, size_t n);
ssize_t wbi_path_pread(int fd, void *p, size_t n, off_t at);

/* ---- directories, entry by entry ---- */

struct wbi_listing {
    int fd; /* not owned */
    unsigned n, at;
    bool failed; /* the kernel ended the listing with an error */
    _Alignas(8) char buf[32768];
};
struct wbi_listing_entry {
    struct wbi_str name; /* until the next call; "." and ".." are left out */
    unsigned char type;  /* DT_*; never DT_UNKNOWN unless the entry vanished */
};
void wbi_listing_init(struct wbi_listing *d, int fd);
/* False at the end. */
bool wbi_listing_next(struct wbi_listing *d, struct wbi_listing_entry *ret);
/* One name in an open directory, never following a link: -1 and errno. name is
 * NUL-terminated and without slashes (others: EINVAL). */
int wbi_path_open_child_dir(int dir_fd, const char *name);
int wbi_path_open_child_file(int dir_fd, const char *name, struct stat *ret_st);
int wbi_path_stat_child(int dir_fd, const char *name, struct stat *ret_st);
/* A file (0600) to read and write in a directory that is no link, relative to dir_fd. It has no
 * name, so nobody else reaches it and it is gone when it is closed. -1 and errno. */
int wbi_path_open_unnamed(int dir_fd, const char *dir);

/* ---- writing ---- */

/* A write is staged (complete, synced temporary file in the target's own
 * directory), then published (one rename) or discarded. Links are never written
 * through: the real place is found first and a hard-linked file is replaced by
 * a copy. Set-id bits are never kept. */
struct wbi_staged {
    int dir_fd; /* -1: nothing staged */
    bool synced;
    bool exclusive; /* the target did not exist */
    bool removal;   /* no new file: the target goes */
    bool swapped;
    ino_t ino;     /* of the new file; of the target of a removal */
    ino_t old_ino; /* of the file that is replaced, else 0 */
    char temp[48];
    char name[256];
};

enum wbi_write_flags {
    WBI_WRITE_NEW = 1u << 0,        /* the target must not exist */
    WBI_WRITE_MKDIRS = 1u << 1,     /* make missing directories */
    WBI_WRITE_EXEC = 1u << 2,       /* new files: 0777 instead of 0666, less the umask */
    WBI_WRITE_NO_EXEC = 1u << 3,    /* replaced files: take the execute bits away */
    WBI_WRITE_APPEND = 1u << 4,     /* data goes behind what the target holds */
    WBI_WRITE_GRANT = 1u << 5,      /* guarded names may be written */
    WBI_WRITE_NO_LINK = 1u << 6,    /* wbi_path_target: the name must not be a link */
    WBI_WRITE_OVER_FILE = 1u << 7,  /* wbi_path_target: a file on the way is to be a folder */
    WBI_WRITE_OVER_FOLDER = 1u << 8 /* wbi_path_stage_as: the target is a folder */
};

WB_MUST_CHECK wb_rc wbi_path_stage(struct wbi_root *root, struct wbi_str path, struct wbi_str data,
                                   unsigned flags, struct wbi_error *err, struct wbi_staged *ret);
/* ".waybill-tmp-" and 20 random hex digits. */
void wbi_path_temp_name(char temp[48]);
/* The same under a temporary name of the caller's choice (a journal knows it). */
WB_MUST_CHECK wb_rc wbi_path_stage_as(struct wbi_root *root, struct wbi_str path,
                                      struct wbi_str data, unsigned flags, const char *temp,
                                      struct wbi_error *err, struct wbi_staged *ret);
/* Stages the removal of a regular file; a link at the end is not followed and refused. */
WB_MUST_CHECK wb_rc wbi_path_stage_removal(struct wbi_root *root, struct wbi_str path,
                                           unsigned flags, const char *temp, struct wbi_error *err,
                                           struct wbi_staged *ret);
/* Stages an empty folder in the place of a regular file; wbi_path_put fills it, under its
 * temporary name. Discarding or settling leaves folders to the caller. */
WB_MUST_CHECK wb_rc wbi_path_stage_folder(struct wbi_root *root, struct wbi_str path,
                                          unsigned flags, const char *temp, struct wbi_error *err,
                                          struct wbi_staged *ret);
/* A new file under its own name at once, synced: for a folder that nobody reads yet. */
WB_MUST_CHECK wb_rc wbi_path_put(struct wbi_root *root, struct wbi_str path, struct wbi_str data,
                                 unsigned flags, struct wbi_error *err);
/* Reversible publishing for several files at once: swap puts the new file in
 * place and keeps the old one under the temporary name, unswap takes it back,
 * settle drops the old one and ends the staging (no directory sync; see
 * wbi_path_sync_staged). swap fails with file_changed when another file has
 * taken the target's place since staging. */
WB_MUST_CHECK wb_rc wbi_path_swap(struct wbi_staged *s, struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_path_unswap(struct wbi_staged *s, struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_path_sync_staged(struct wbi_staged *s, struct wbi_error *err);
void wbi_path_settle(struct wbi_staged *s);
/* Ends the staging whatever it returns. */
WB_MUST_CHECK wb_rc wbi_path_publish(struct wbi_staged *s, struct wbi_error *err);
/* Removes the temporary file; fine after publish and on a zero-filled struct
 * with dir_fd -1. */
void wbi_path_discard(struct wbi_staged *s);
/* stage and publish. */
WB_MUST_CHECK wb_rc wbi_path_write(struct wbi_root *root, struct wbi_str path, struct wbi_str data,
                                   unsigned flags, struct wbi_error *err);
/* Makes the directory and the missing ones above it. */
WB_MUST_CHECK wb_rc wbi_path_mkdirs(struct wbi_root *root, struct wbi_str path, unsigned flags,
                                    struct wbi_error *err);
/* Both names beneath the root, links not followed at the end; WBI_WRITE_NEW
 * refuses an existing target. */
WB_MUST_CHECK wb_rc wbi_path_rename(struct wbi_root *root, struct wbi_str from, struct wbi_str to,
                                    unsigned flags, struct wbi_error *err);
/* Two names of one folder change places, whatever they name; both must exist. */
WB_MUST_CHECK wb_rc wbi_path_exchange(struct wbi_root *root, struct wbi_str path,
                                      struct wbi_str other, unsigned flags, struct wbi_error *err);
/* A file or link, not a directory. */
WB_MUST_CHECK wb_rc wbi_path_unlink(struct wbi_root *root, struct wbi_str path, unsigned flags,
                                    struct wbi_error *err);
/* What is under a name, not following a link at its end; false when nothing. */
bool wbi_path_lstat(struct wbi_root *root, struct wbi_str path, struct stat *ret);
/* An empty directory. */
WB_MUST_CHECK wb_rc wbi_path_rmdir(struct wbi_root *root, struct wbi_str path, unsigned flags,
                                   struct wbi_error *err);
/* A new file of mode 0600 open for reading and writing, and an existing one;
 * both locked (flock, exclusive). WB_EAGAIN when another process holds it. The
 * caller closes ret_fd, which unlocks. */
WB_MUST_CHECK wb_rc wbi_path_create_locked(struct wbi_root *root, struct wbi_str path,
                                           struct wbi_error *err, int *ret_fd);
WB_MUST_CHECK wb_rc wbi_path_open_locked(struct wbi_root *root, struct wbi_str path,
                                         struct wbi_error *err, int *ret_fd);
/* Whole text at the file's end; with sync, forced to the disk. */
WB_MUST_CHECK wb_rc wbi_path_append_fd(int fd, struct wbi_str text, bool sync,
                                       struct wbi_error *err);
/* fsync of the directory that holds path, unless the root does not sync. */
WB_MUST_CHECK wb_rc wbi_path_sync_dir(struct wbi_root *root, struct wbi_str path,
                                      struct wbi_error *err);
/* Would a write to path be accepted? Finds the real place: every link resolved,
 * every guarded name checked, in directories that may not exist yet. The real
 * relative path goes into the arena. A link at the end is followed, or with
 * WBI_WRITE_NO_LINK refused wherever it leads (file_not_text): what is done to
 * a name is not to be done to the file that another name has. */
WB_MUST_CHECK wb_rc wbi_path_target(struct wbi_root *root, struct wbi_str path, unsigned flags,
                                    struct wbi_arena *arena, struct wbi_error *err,
                                    struct wbi_str *ret);

/* ---- names ---- */

/* True when a component of path is a guarded name, whatever its case. */
bool wbi_path_guarded(struct wbi_str path);
/* path for a message: control bytes, invalid UTF-8 and invisible characters
 * escaped, the middle cut out when long. Returns out. */
#define WBI_PATH_SHOWN 200
const char *wbi_path_show(struct wbi_str path, char out[WBI_PATH_SHOWN]);
/* One character of path at *at, which is moved behind it, escaped where it could mislead
 * (\xNN, \u{N}). Returns the bytes written; not NUL-terminated. */
size_t wbi_path_show_one(struct wbi_str path, size_t *at, char out[16]);

#endif
