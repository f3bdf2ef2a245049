/* SPDX-License-Identifier: Apache-2.0
 * serve/pin_files.h: pins in the user's state folder, one file for each server, 0600,
 * outside any workspace (I1). Servers of one name that two workspaces configure are two.
 * A file is replaced as a whole. Who opens a server's pins to write them has them alone
 * until they are closed. */
#ifndef WBI_SERVE_PIN_FILES_H
#define WBI_SERVE_PIN_FILES_H

#include "call/runtime.h"
#include "mcp/pins.h"

struct wbi_pin_files {
    struct wbi_str dir; /* ".../pins"; absent: nothing can be kept */
    const struct wbi_runtime *rt;
};

/* Tells one content of a server's file from another; all zero: there is none. */
struct wbi_pin_stamp {
    uint64_t inode;
    int64_t mtime_ns, size;
};

/* The pins of one server. */
struct wbi_pin_sheet;

/* Everything lives in arena; rt must outlive it. */
WB_MUST_CHECK wb_rc wbi_pin_files_open(struct wbi_arena *arena, const struct wbi_runtime *rt,
                                       struct wbi_pin_files *ret, struct wbi_error *err);
/* The workspace that configures the server; absent: the user does, or nobody. */
struct wbi_str wbi_pin_files_workspace(const struct wbi_pin_files *files, struct wbi_str server);

/* One pin of the user's servers or of this workspace's. */
struct wbi_pin {
    struct wbi_str server, tool;
    struct wbi_str workspace; /* absent: the server is the user's */
    const wbi_json *value;
};
/* Each of them, in the order of servers and tools. Slices are good during fn. */
WB_MUST_CHECK wb_rc wbi_pin_files_each(const struct wbi_pin_files *files,
                                       void (*fn)(void *arg, const struct wbi_pin *pin), void *arg,
                                       struct wbi_error *err);
/* What is there now. */
struct wbi_pin_stamp wbi_pin_files_stamp(const struct wbi_pin_files *files, struct wbi_str server);

/* arena and files must outlive it. On success wbi_pin_sheet_close must follow. */
WB_MUST_CHECK wb_rc wbi_pin_sheet_open(const struct wbi_pin_files *files, struct wbi_arena *arena,
                                       struct wbi_str server, bool to_write,
                                       struct wbi_pin_sheet **ret, struct wbi_error *err);
/* Keys begin with the server. What is put is kept by close, all of it or nothing. */
struct wbi_pin_store wbi_pin_sheet_store(struct wbi_pin_sheet *sheet);
/* Puts so far. */
size_t wbi_pin_sheet_puts(const struct wbi_pin_sheet *sheet);
/* Writes what was put, in one go; ret (or NULL) tells what the file is then. */
WB_MUST_CHECK wb_rc wbi_pin_sheet_close(struct wbi_pin_sheet *sheet, struct wbi_pin_stamp *ret,
                                        struct wbi_error *err);

#endif
