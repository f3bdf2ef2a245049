/* SPDX-License-Identifier: Apache-2.0
 * config/places.h: where things are (I1). The environment is asked through a
 * getter, so that a test or an embedding program can answer for it. */
#ifndef WBI_CONFIG_PLACES_H
#define WBI_CONFIG_PLACES_H

#include "base/arena.h"
#include "base/error.h"

struct wbi_root;

struct wbi_env {
    const char *(*get)(void *arg, const char *name); /* NULL when unset */
    void *arg;
};
/* getenv; not while another thread changes the environment. */
struct wbi_env wbi_env_process(void);

/* What the caller says (--root, --state, --config); absent where it says nothing. */
struct wbi_places_wish {
    struct wbi_str root;
    struct wbi_str state;
    struct wbi_str config;
    struct wbi_str workdir; /* absent: the process's own */
};

/* Absolute paths, each ended by a NUL; nothing is created. */
struct wbi_places {
    struct wbi_str root;        /* an existing directory, links resolved */
    struct wbi_str state;       /* may not exist yet */
    struct wbi_str user_config; /* the user's folders; absent when neither HOME */
    struct wbi_str user_state;  /* nor the XDG variable is set */
    struct wbi_str config_file; /* the user's settings; absent without a folder */
    bool config_given;          /* by the caller: then it must exist */
    bool as_trusted;            /* judge the workspace's files as if they were trusted */
};

/* root: wish, WAYBILL_ROOT, the nearest ancestor of the working directory with
 * waybill.json, .waybill or .git, the working directory. state: wish,
 * WAYBILL_STATE, ROOT/.waybill if that can be written or is one this user has used,
 * the user's state folder.
 * WB_ESTATE when a place cannot be used, WB_ELIMIT for paths that are too long. */
WB_MUST_CHECK wb_rc wbi_places_find(struct wbi_arena *arena, const struct wbi_places_wish *wish,
                                    const struct wbi_env *env, struct wbi_places *ret,
                                    struct wbi_error *err);

/* Where Waybill and its user keep things needs a grant wherever it is: beneath the home
 * directory as a root, these are settings that loosen and what is trusted. */
WB_MUST_CHECK wb_rc wbi_places_guard(const struct wbi_places *p, struct wbi_root *root,
                                     struct wbi_error *err);

/* What keeps a directory that is not there from being made, by the nearest one above it
 * that is: an errno, or 0. */
int wbi_places_why_not(struct wbi_str path);

#endif
