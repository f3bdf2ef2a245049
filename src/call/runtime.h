/* SPDX-License-Identifier: Apache-2.0
 * call/runtime.h: everything one runtime owns. No global state: two runtimes in
 * one process share nothing. */
#ifndef WBI_CALL_RUNTIME_H
#define WBI_CALL_RUNTIME_H

#include <pthread.h>

#include "call/call.h"
#include "call/run.h"
#include "catalog/catalog.h"
#include "config/places.h"
#include "loop/loop.h"

struct wbi_config;
struct wbi_runner;
struct wbi_upkeep;
struct wbi_secrets;
struct wbi_redact_rules;
struct wbi_guards;
struct wbi_store;
struct wbi_ledger;
struct wbi_artifact_store;
struct wbi_control;
struct wbi_runtime_method;
struct wbi_root;
struct wbi_tasks;
struct wbi_workspaces;

struct wbi_runtime_options {
    struct wbi_str root; /* absent: found by the rules of I1 */
    struct wbi_str state;
    struct wbi_str config_file;  /* instead of the user's config.json */
    struct wbi_str principal;    /* of calls that name none; absent: "local" */
    struct wbi_str events;       /* a file, the number of a descriptor, or absent */
    struct wbi_str conversation; /* of calls that name none; absent: a new one */
    void *uv_loop;               /* the caller's, or NULL for an own one */
    bool bare;                   /* no files: no configuration, no state, no built-ins */
    bool no_ledger;
    bool as_trusted;    /* the workspace's files count, trusted or not: to check them */
    bool inherit_env;   /* commands get the caller's environment */
    bool direct;        /* commands are run for the person who started the process */
    bool inherit_stdin; /* commands read the process's standard input */
    /* Declares the built-in tools; above this room, so handed in. May be NULL. */
    wb_rc (*load_builtins)(struct wbi_runtime *rt, struct wbi_error *err);
    const struct wbi_clock *clock; /* NULL: the system's */
    const struct wbi_ids *ids;
};

struct wbi_approval;

struct wbi_runtime {
    struct wbi_clock clock;
    struct wbi_ids ids;
    struct wbi_ids_pool ids_pool;
    struct wbi_loop *loop;
    struct wbi_calls *calls;
    struct wbi_journey journey;
    struct wbi_secrets *secrets;
    const struct wbi_str *unmasked; /* variables with a secret too short or long to be redacted */
    size_t unmasked_n;
    struct wbi_arena *arena;           /* lives as long as the runtime */
    struct wbi_root *exec_root;        /* opened at the first use */
    struct wbi_workspaces *workspaces; /* conversations that are elsewhere */
    struct wbi_places places;
    struct wbi_config *config;  /* in force; NULL for a bare runtime */
    struct wbi_config *made_of; /* the one that tools and servers are of; any thread */
    struct wbi_runner *runner;
    struct wbi_redact_rules *redact_rules;
    struct wbi_guards *guards;
    struct wbi_keys *keys;   /* idempotency keys in the store; NULL without a ledger */
    struct wbi_store *store; /* opened at the first use */
    struct wbi_ledger *ledger;
    struct wbi_artifact_store *artifacts; /* opened at the first use */
    struct wbi_tasks *tasks;
    struct wbi_upkeep *upkeep;                  /* of the artifacts, while they are open */
    struct wbi_control *control;                /* NULL until the state directory is open */
    struct wbi_runtime_method *control_methods; /* of rooms above */
    int64_t opened_ms;
    uint64_t recorded;               /* outcomes handed to the ledger */
    uint64_t unrecorded;             /* outcomes that it did not take */
    struct wbi_error why_unrecorded; /* the newest of them */
    struct wbi_error why_unchecked;  /* what the store said last of keys and budgets */
    bool witnessing;                 /* a signed head is on its way to the witness */
    int64_t witnessed_ns;            /* when one last set out; 0: never */
    bool no_ledger;
    bool state_refused; /* the state directory, until somebody has done something */
    bool inherit_env, direct, inherit_stdin;
    bool passing; /* the conversation of calls that name none was made up here */
    struct wbi_str root, state, principal, conversation;

    struct wbi_catalog *catalog;           /* current snapshot */
    struct wbi_catalog_builder *additions; /* registered since it was made, or NULL */
    /* Asks elsewhere for a tool the catalog does not know, so that the call can be
     * parked under ref and resumed when that is answered; false: there is nobody
     * to ask. NULL: there never is. */
    bool (*find_more)(void *arg, struct wbi_str tool, struct wbi_call_ref ref);
    /* Origin and qualified name of what would be a tool from there, in arena; false: no
     * name of theirs. */
    bool (*qualify)(void *arg, struct wbi_str tool, struct wbi_arena *arena,
                    struct wbi_str *ret_origin, struct wbi_str *ret_qualified);
    /* Why a tool cannot be had from where it was asked for, in arena; false: because there
     * is no such tool. */
    bool (*why_missing)(void *arg, struct wbi_str tool, struct wbi_arena *arena,
                        struct wbi_str *ret_why);
    void *find_more_arg;
    struct wbi_name_servers servers; /* whose tools those are */

    /* A call begins to wait for a yes; may be answered or cancelled from inside. NULL: nobody
     * is told. */
    void (*on_asked)(void *arg, const struct wbi_approval *approval);
    void *on_asked_arg;

    size_t running; /* tools at work, also for calls that are over */
    bool stopping;
};

WB_MUST_CHECK wb_rc wbi_runtime_new(const struct wbi_runtime_options *o, struct wbi_runtime **ret,
                                    struct wbi_error *err);
/* Cancels what runs, waits for calls and for tools still at work, frees
 * everything. Loop thread. */
void wbi_runtime_free(struct wbi_runtime *rt);

/* An empty call in a fresh arena, for the caller to fill. */
WB_MUST_CHECK wb_rc wbi_runtime_call_new(struct wbi_runtime *rt, struct wbi_call **ret);
/* A call that was never started. */
void wbi_runtime_call_drop(struct wbi_call *call);
/* Take it on its way; on_done comes exactly once, on the loop thread, maybe
 * before this returns. The call is good until on_done returns, longer with
 * wbi_call_hold. On failure the call is dropped and on_done never comes. */
WB_MUST_CHECK wb_rc wbi_runtime_submit(struct wbi_call *call,
                                       void (*on_done)(struct wbi_call *call, void *arg),
                                       void *arg);

/* Where tools are added; calls submitted from now on see them. The runtime's. */
WB_MUST_CHECK wb_rc wbi_runtime_additions(struct wbi_runtime *rt, struct wbi_catalog_builder **ret,
                                          struct wbi_error *err);
/* Add a tool; calls submitted from now on see it. */
WB_MUST_CHECK wb_rc wbi_runtime_add_tool(struct wbi_runtime *rt, const wbi_json *descriptor,
                                         const struct wbi_tool_binding *binding,
                                         struct wbi_error *err);
/* Forget all tools of an origin (absent: none); what is added next takes their place. */
WB_MUST_CHECK wb_rc wbi_runtime_drop_tools(struct wbi_runtime *rt, struct wbi_str origin,
                                           struct wbi_error *err);
/* The current snapshot, with everything added so far; not counted. */
WB_MUST_CHECK wb_rc wbi_runtime_catalog(struct wbi_runtime *rt, struct wbi_catalog **ret,
                                        struct wbi_error *err);

/* Whether calls are written down at all. */
bool wbi_runtime_keeps_ledger(const struct wbi_runtime *rt);
/* Whether there is a ledger already, without making one. */
bool wbi_runtime_ledger_exists(const struct wbi_runtime *rt);
/* Open the state directory and the ledger in it, once. WB_ESTATE with a next
 * step when it cannot be used. */
WB_MUST_CHECK wb_rc wbi_runtime_open_ledger(struct wbi_runtime *rt, struct wbi_error *err);

/* An outcome is in the ledger: now and then that is signed (ledger/checkpoint.h). */
void wbi_runtime_recorded(struct wbi_runtime *rt);
/* One is not, and why. */
void wbi_runtime_unrecorded(struct wbi_runtime *rt, const struct wbi_error *why);
struct wbi_store_health;
/* Of the store, if it is open; `lost` also counts what never got there. */
void wbi_runtime_ledger_health(struct wbi_runtime *rt, struct wbi_store_health *ret);

/* The workspace; calls work beneath what wbi_workspace_root gives. Not counted. */
WB_MUST_CHECK wb_rc wbi_runtime_root(struct wbi_runtime *rt, struct wbi_root **ret,
                                     struct wbi_error *err);
/* Open the artifact store, and the registry of tasks on it, once. */
WB_MUST_CHECK wb_rc wbi_runtime_open_artifacts(struct wbi_runtime *rt, struct wbi_error *err);

/* Where a call's projector keeps large values; NULL when nothing can be kept. */
const struct wbi_sink *wbi_runtime_sink(struct wbi_call *call);
/* What was kept joins what is kept already, in the record of the call (C4.6). */
struct wbi_artifact;
WB_MUST_CHECK wb_rc wbi_runtime_note_artifact(struct wbi_call *call, struct wbi_str path,
                                              const struct wbi_artifact *a, struct wbi_error *err);

#endif
