/* SPDX-License-Identifier: Apache-2.0
 * config/config_int.h: for this room only. */
#ifndef WBI_CONFIG_CONFIG_INT_H
#define WBI_CONFIG_CONFIG_INT_H

#include <sys/types.h>

#include "base/hash.h"
#include "config/config.h"

/* One file, read and parsed. The bytes are kept: trust is about exactly these. */
struct wbi_config_file {
    struct wbi_str name; /* beneath the root for a workspace's file, else the path */
    struct wbi_str text;
    const char *copy; /* for wbi_json_offset */
    const wbi_json *root;
    bool workspace;
    bool tool; /* a file of tools.d */
    dev_t device;
    ino_t inode;
    uid_t owner;
    mode_t mode;
};

/* Reads path beneath folder (AT_FDCWD: as it is) into file->text. A workspace's
 * file must be no link. WB_ENOTFOUND when there is none. file->name is set. */
WB_MUST_CHECK wb_rc wbi_config_file_read(struct wbi_arena *arena, int folder, const char *path,
                                         struct wbi_config_file *file, struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_config_file_parse(struct wbi_arena *arena, struct wbi_config_file *file,
                                          struct wbi_error *err);
/* err with the file's name and the place of v (a value of the file, or NULL). */
__attribute__((format(printf, 5, 6))) wb_rc wbi_config_fail(struct wbi_error *err,
                                                            const struct wbi_config_file *file,
                                                            const wbi_json *v, wb_rc rc,
                                                            const char *fmt, ...);
/* 1-based line of v in its file; 1 when it has no place. */
uint32_t wbi_config_line(const struct wbi_config_file *file, const wbi_json *v);

/* Names and kinds of what a file may hold, in config/shape.c. */
WB_MUST_CHECK wb_rc wbi_config_check(const struct wbi_config_file *file, struct wbi_error *err);
/* The accepted names, for messages and tests: NULL-terminated. */
extern const char *const wbi_config_members[];
extern const char *const wbi_config_settings[];

/* SHA-256 over the canonical list of names and content hashes of the
 * workspace's files among these. */
WB_MUST_CHECK wb_rc wbi_trust_hash(const struct wbi_config_file *files, size_t n,
                                   char ret_hex[WBI_SHA256_HEX], struct wbi_error *err);
/* What trust.json has for this root; absent when nothing. */
WB_MUST_CHECK wb_rc wbi_trust_lookup(struct wbi_arena *arena, struct wbi_str folder,
                                     struct wbi_str root, struct wbi_str *ret_hex,
                                     struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_trust_record(struct wbi_str folder, struct wbi_str root, const char *hex,
                                     int64_t wall_ms, struct wbi_error *err);

#endif
