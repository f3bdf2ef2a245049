/* SPDX-License-Identifier: Apache-2.0
 * config/config.h: the settings in force, from the user's config.json and the
 * workspace's waybill.json and tools.d/ (I1). A loaded configuration is
 * immutable and counted; everything it hands out lives as long as it does.
 * The user's settings win. What a workspace brings counts only once the user
 * has trusted exactly these files; until then it may only tighten. */
#ifndef WBI_CONFIG_CONFIG_H
#define WBI_CONFIG_CONFIG_H

#include "base/clock.h"
#include "config/places.h"
#include "json/json.h"

struct wbi_config;

/* Reads and checks all files. On failure err has the reason, err->at the file
 * and, where it has one, line and column. WB_EINPUT for a file that is not
 * acceptable, WB_ESTATE for one that cannot be read, WB_ELIMIT, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_config_load(const struct wbi_places *places, struct wbi_config **ret,
                                    struct wbi_error *err);
/* All files that were read against config/schema.json; err as above. */
WB_MUST_CHECK wb_rc wbi_config_validate(const struct wbi_config *config, struct wbi_error *err);
/* One tool against its part of that schema. WB_EINPUT: *ret_where is what to
 * point at, a value of the tool's tree. */
WB_MUST_CHECK wb_rc wbi_config_check_tool(const wbi_json *tool, struct wbi_arena *arena,
                                          const wbi_json **ret_where, struct wbi_error *err);
/* Any thread. */
struct wbi_config *wbi_config_ref(struct wbi_config *config);
/* NULL is fine. Any thread. */
void wbi_config_unref(struct wbi_config *config);

enum wbi_config_trust {
    WBI_CONFIG_TRUSTED,   /* also where a workspace has no configuration */
    WBI_CONFIG_UNTRUSTED, /* never trusted */
    WBI_CONFIG_CHANGED    /* other files were trusted than are there now */
};
enum wbi_config_trust wbi_config_trust_state(const struct wbi_config *config);
/* "trusted", "untrusted", "changed". */
const char *wbi_config_trust_name(enum wbi_config_trust state);
/* Record the workspace's files, as they were when this was loaded, as trusted
 * (trust.json in the user's state folder, 0600). Takes effect at the next load.
 * WB_ESTATE without such a folder, WB_EIO when it cannot be written. */
WB_MUST_CHECK wb_rc wbi_config_trust(const struct wbi_config *config, const struct wbi_clock *clock,
                                     struct wbi_error *err);

/* A tool declared in configuration; name and version together are unique, and
 * all versions of a name come from one layer. */
struct wbi_config_tool {
    struct wbi_str name;
    const wbi_json *descriptor; /* an object */
    struct wbi_str file;
    uint32_t line;
    bool workspace; /* not from the user's own file */
};
size_t wbi_config_tools(const struct wbi_config *config, const struct wbi_config_tool **ret);

struct wbi_config_server {
    struct wbi_str name;
    const wbi_json *value; /* an object */
    struct wbi_str file;
    uint32_t line;
    bool workspace;
};
size_t wbi_config_servers(const struct wbi_config *config, const struct wbi_config_server **ret);

/* A member as one file has it. */
struct wbi_config_part {
    const wbi_json *value;
    struct wbi_str file;
    uint32_t line;
    bool workspace;
    bool tighten_only; /* of a workspace that is not trusted */
};
/* The `policies` objects; a later one wins over an earlier one, but one that may
 * only tighten stands last and is to be compared with all others. */
size_t wbi_config_policies(const struct wbi_config *config, const struct wbi_config_part **ret);
/* Elements of `bindings`, the user's first. Of a workspace that is not trusted
 * only those that deny. */
size_t wbi_config_bindings(const struct wbi_config *config, const struct wbi_config_part **ret);

/* The `settings` objects, the user's first: a member of an earlier one wins. */
size_t wbi_config_setting_parts(const struct wbi_config *config,
                                const struct wbi_config_part **ret);

/* Place err (file, line, column) at a value below part->value, or at the part
 * itself when v is NULL. */
void wbi_config_locate(const struct wbi_config *config, const struct wbi_config_part *part,
                       const wbi_json *v, struct wbi_error *err);

/* A member of `settings` by JSON Pointer ("/shell", "/env/allow"): the user's,
 * else the trusted workspace's, else NULL. */
const wbi_json *wbi_config_setting(const struct wbi_config *config, const char *pointer);
/* The same for a number under /budgets or /limits, with a default; a workspace
 * that is not trusted may lower it. Numbers that are no integer or below 0 were
 * refused at load. */
int64_t wbi_config_number(const struct wbi_config *config, const char *pointer, int64_t otherwise);

/* What was left out, and why; for people. */
struct wbi_config_ignored {
    struct wbi_str file;
    struct wbi_str what; /* name of a tool or server, else a member of the file */
    const char *reason;
    bool names_tools; /* it is a tool's or server's */
};
size_t wbi_config_ignored(const struct wbi_config *config, const struct wbi_config_ignored **ret);

/* Files that were read, in order: the user's, then the workspace's by name. */
size_t wbi_config_file_count(const struct wbi_config *config);
struct wbi_str wbi_config_file_name(const struct wbi_config *config, size_t i);

#endif
