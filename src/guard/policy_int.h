/* SPDX-License-Identifier: Apache-2.0
 * guard/policy_int.h: rules between their reading and their use. */
#ifndef WBI_GUARD_POLICY_INT_H
#define WBI_GUARD_POLICY_INT_H

#include "guard/policy.h"

enum policy_layer { LAYER_ENVIRONMENT = 0, LAYER_PRINCIPAL, LAYER_TOOL, LAYERS };

/* One object of values in the file. Bit i of `present`: item i is given; of
 * `taken_away`: it is given as null. */
struct wbi_policy_rule {
    struct wbi_policy_rule *next;
    struct wbi_str pattern; /* lower case; absent in the environment layer */
    struct wbi_str glob;    /* the same as the file has it */
    struct wbi_str file;
    bool tighten_only;
    bool met; /* by some tool and principal so far */
    uint32_t present, taken_away;
    uint32_t held; /* items that held for some of them; where it may only tighten */
    struct wbi_policy_values values;
};

struct wbi_policy_rules {
    struct wbi_policy_rule *first[LAYERS], *last[LAYERS];
};

/* Read the whole `policies` object. Everything is copied into arena. */
WB_MUST_CHECK wb_rc wbi_policy_read(struct wbi_arena *arena, const wbi_json *policies,
                                    struct wbi_str file, bool tighten_only,
                                    struct wbi_policy_rules *ret, struct wbi_error *err);

/* Glob against names without regard to ASCII case; pattern in lower case. */
bool wbi_policy_matches(struct wbi_str pattern, struct wbi_str name);
struct wbi_str wbi_policy_lower(struct wbi_arena *arena, struct wbi_str s);

/* Where a reader stands, for messages. */
struct wbi_policy_place {
    char path[160];
    size_t n;
    struct wbi_error *err;
};
/* Append "/token"; returns the length to go back to. */
size_t wbi_policy_enter(struct wbi_policy_place *at, struct wbi_str token);
void wbi_policy_leave(struct wbi_policy_place *at, size_t n);
__attribute__((format(printf, 2, 3))) wb_rc wbi_policy_bad(struct wbi_policy_place *at,
                                                           const char *fmt, ...);
/* Every member of o must be one of `known` (NULL-terminated). */
WB_MUST_CHECK wb_rc wbi_policy_known(struct wbi_policy_place *at, const wbi_json *o,
                                     const char *const *known);
/* An array of strings, copied in lower case or as it is. */
WB_MUST_CHECK wb_rc wbi_policy_strings(struct wbi_policy_place *at, struct wbi_arena *arena,
                                       const wbi_json *v, bool lower, struct wbi_str **ret,
                                       size_t *ret_n);

#endif
