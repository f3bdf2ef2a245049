/* SPDX-License-Identifier: Apache-2.0
 * config/layers_int.h: a configuration from inside. */
#ifndef WBI_CONFIG_LAYERS_INT_H
#define WBI_CONFIG_LAYERS_INT_H

#include <stdatomic.h>

#include "config/config_int.h"

struct wbi_config {
    atomic_uint refs;
    struct wbi_arena *arena; /* all below lives in it */
    struct wbi_str root;
    struct wbi_str user_state;
    enum wbi_config_trust trust;

    struct wbi_config_file *files; /* the user's first, then the workspace's by name */
    size_t files_n;
    struct wbi_config_tool *tools;
    size_t tools_n;
    struct wbi_config_server *servers;
    size_t servers_n;
    struct wbi_config_part *bindings;
    size_t bindings_n;
    struct wbi_config_part policies[2]; /* at most one a file that may have it */
    size_t policies_n;
    struct wbi_config_part settings[2];
    size_t settings_n;
    struct wbi_config_ignored *ignored;
    size_t ignored_n;
};

/* config/load.c: reads, parses and checks every file into config->files. */
WB_MUST_CHECK wb_rc wbi_config_read_files(struct wbi_config *config,
                                          const struct wbi_places *places, struct wbi_error *err);

#endif
