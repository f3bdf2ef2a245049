/* SPDX-License-Identifier: Apache-2.0
 * serve/pin_files.h: pins in the user's state folder, one file each, 0600, outside
 * any workspace (I1). A file is replaced as a whole. */
#ifndef WBI_SERVE_PIN_FILES_H
#define WBI_SERVE_PIN_FILES_H

#include "mcp/pins.h"

struct wbi_pin_files {
    struct wbi_str dir; /* ".../pins"; absent: nothing can be kept */
};

/* user_state: the user's state folder, or absent. Everything lives in arena. */
WB_MUST_CHECK wb_rc wbi_pin_files_open(struct wbi_arena *arena, struct wbi_str user_state,
                                       struct wbi_pin_files *ret, struct wbi_error *err);
/* arg is files, which must outlive it. */
struct wbi_pin_store wbi_pin_files_store(struct wbi_pin_files *files);
/* Each pin: its key ("server/tool") and value (JSON). Slices are good during fn. */
WB_MUST_CHECK wb_rc wbi_pin_files_each(const struct wbi_pin_files *files,
                                       void (*fn)(void *arg, struct wbi_str key,
                                                  const wbi_json *value),
                                       void *arg, struct wbi_error *err);
/* Forget a pin: the next sight is a first one. WB_ENOTFOUND when there is none. */
WB_MUST_CHECK wb_rc wbi_pin_files_drop(const struct wbi_pin_files *files, struct wbi_str key,
                                       struct wbi_error *err);

#endif
