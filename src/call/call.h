/* SPDX-License-Identifier: Apache-2.0
 * call/call.h: one call on its way. Lives in its own arena; known outside only
 * by its id, so that late work finds nothing instead of freed memory. */
#ifndef WBI_CALL_CALL_H
#define WBI_CALL_CALL_H

#include "base/clock.h"
#include "base/id.h"
#include "call/invocation.h"
#include "call/outcome.h"
#include "call/stage.h"
#include "catalog/tool.h"
#include "event/event.h"
#include "loop/alarm.h"
#include "loop/loop.h"

struct wbi_runtime;
struct wbi_calls;
struct wbi_admission;
struct wbi_frames;
struct wbi_redact_rules;
struct wbi_mcp_request;

/* Names one parked wait of one call; stale ones resume nothing. */
struct wbi_call_ref {
    uint64_t id;
    uint32_t park;
};

enum wbi_cancel_reason {
    WBI_CANCEL_NONE = 0,
    WBI_CANCEL_ASKED,    /* by the caller */
    WBI_CANCEL_DEADLINE, /* deadline or policy timeout */
    WBI_CANCEL_SHUTDOWN
};

/* What a stage left for the views; JSON texts are objects or arrays. */
struct wbi_call_facts {
    struct wbi_str policy_snapshot; /* absent: the empty snapshot */
    struct wbi_str artifacts;       /* JSON array of facts for the record */
    struct wbi_buf noted;           /* holds them while more are noted */
    struct wbi_str events;          /* JSON array */
    struct wbi_str trust;           /* JSON object */
    struct wbi_str audit;           /* JSON object: containment, counts, coercions */
    struct wbi_str item;            /* the provider's output item */
    struct wbi_str kept_raw;        /* of a stored outcome: the MCP result as it came, or absent */
    bool kept_loose;                /* its structuredContent is no object */
    struct wbi_str *redactions;     /* paths that were replaced */
    size_t redaction_count;
    struct wbi_str coercion;    /* "input_coercion" note for the receipt, or absent */
    struct wbi_str approved_by; /* who answered, if somebody was asked */
    uint32_t attempts;
    bool replayed;
    bool cached;
    bool cache_untold; /* while the record is made: policy hides cache metadata there */
};

/* What the name of a call without a tool means, as far as its principal may know. */
struct wbi_call_named {
    struct wbi_str qualified, model, origin;
};

struct wbi_call {
    uint64_t id;            /* process-wide, for refs */
    char name[WBI_ID_SIZE]; /* "call_…", the id in the ledger */
    struct wbi_arena *arena;
    struct wbi_runtime *runtime;
    struct wbi_calls *calls;
    const struct wbi_journey *journey;
    struct wbi_clock clock;

    struct wbi_invocation inv;
    struct wbi_catalog *catalog;   /* the snapshot the call started with, counted */
    const struct wbi_tool *found;  /* what RESOLVE would find, if its maker knows; else NULL */
    const struct wbi_tool *tool;   /* NULL before RESOLVE */
    struct wbi_call_named named;   /* where RESOLVE found no tool; else absent */
    struct wbi_complete *complete; /* what EXECUTE produced, NULL before */
    struct wbi_outcome outcome;
    const wbi_json *result_value; /* of outcome.result, where somebody has read it; or NULL */
    bool output_clean;            /* the tool's output holds nothing to redact, or no more */
    struct wbi_str canonical;     /* text of the canonical result, after RENDER */
    struct wbi_call_facts facts;
    void *record; /* struct wbi_record_texts, once made */
    struct wbi_event_call event;
    struct wbi_buf event_briefs; /* struct wbi_event_brief, one after another */
    struct wbi_str redacted_invocation;
    bool intended;                   /* its intent is in the ledger, or on its way there */
    bool asked;                      /* the ledger has it as waiting for an approval */
    struct wbi_str unrecorded;       /* that its outcome is not written down, and why; or absent */
    void *wire;                      /* struct wbi_wire_call of the item, or NULL */
    void *exec;                      /* state of the executor while it runs */
    struct wbi_admission *admission; /* what ADMIT found; NULL before */
    struct wbi_admission *ticket;    /* the same once it was admitted */
    void *step_state;                /* of the stage that is parked */

    /* driver */
    enum wbi_stage stage;
    uint32_t park;
    bool parked;
    bool resumed; /* resumed while its stage was still running */
    bool driving;
    bool took_time; /* its stage has been parked, or found that it has much to do */
    bool settled;
    bool starts_later; /* in the loop's next turn: the stack of this one is deep */
    struct wbi_post begin;
    bool overruled; /* cancelled and the grace time is over: late work is dropped */
    uint32_t holds;
    enum wbi_cancel_reason cancel;
    bool late; /* its limit has passed: a result is dropped from there on */
    int64_t started_ns;
    int64_t stage_started_ns;
    int64_t stage_ns[WBI_STAGE_COUNT];
    int64_t ended_ns; /* when the outcome was decided: durations end here */
    int64_t started_wall_ms;
    int64_t limit_ns;       /* monotonic moment at which the call times out; INT64_MAX none */
    struct wbi_alarm alarm; /* of its limit, then of the grace time */

    /* of the runtime */
    uint64_t ticket_number;
    void (*on_done)(struct wbi_call *call, void *arg);
    void *on_done_arg;
    /* for a caller who asked for frames (frames.h); NULL otherwise */
    void (*on_frame)(struct wbi_call *call, struct wbi_str frame, void *arg);
    bool (*hold_frames)(void *arg); /* whether all but the last must wait now; may be NULL */
    void *on_frame_arg;             /* of both */
    int64_t heartbeat_ms;           /* 0: no heartbeats */
    struct wbi_frames *frames;
    const struct wbi_redact_rules *rules; /* of its tool and principal, once asked for */
    /* raw output of a command as it comes; may be NULL */
    void (*on_output)(const char *stream, const char *bytes, size_t n, void *arg);
    void *on_output_arg;
    bool asked_for_more;         /* its tool was looked for outside the catalog */
    struct wbi_mcp_request *mcp; /* whom it answers, until it has; NULL: came another way */

    /* The last member: a new call is zero up to here. */
    struct wbi_error rejected; /* set before the start: why it must not run */
};

/* The wall clock at a moment of the call: dated from its start, so that a clock that is set
 * meanwhile leaves moments in their order. */
static inline int64_t wbi_call_wall_ms(const struct wbi_call *call, int64_t now_ns)
{
    return call->started_wall_ms + (now_ns - call->started_ns) / WBI_NS_PER_MS;
}

/* Refuse the call: sets the outcome's error, returns WBI_STEP_REFUSED. */
__attribute__((format(printf, 3, 4))) enum wbi_step
wbi_call_fail(struct wbi_call *call, enum wbi_kind kind, const char *fmt, ...);
/* The same from an error of a lower room; kind is used where err has none. */
enum wbi_step wbi_call_fail_error(struct wbi_call *call, enum wbi_kind kind,
                                  const struct wbi_error *err);
/* The kind of such an error, where it has one, and whether to try again, into fault. */
void wbi_fault_of_error(struct wbi_fault *fault, const struct wbi_error *err);
/* The same with everything given; narrowed by wbi_call_narrow_retry. */
enum wbi_step wbi_call_fail_fault(struct wbi_call *call, const struct wbi_fault *fault);
/* C8.1: once an attempt has begun, a write may have happened, whatever went wrong then: only
 * a keyed idempotent one may be tried again, or one whose tool knows that nothing was done. */
void wbi_call_narrow_retry(const struct wbi_call *call, struct wbi_fault *fault);

/* Keep the call's memory while something still points into it. */
void wbi_call_hold(struct wbi_call *call);
void wbi_call_release(struct wbi_call *call);

/* Park: the ref to resume with. Call it in run() before returning PARKED. */
struct wbi_call_ref wbi_call_park(struct wbi_call *call);
/* Loop thread. True when the call was parked under this ref and goes on. */
bool wbi_call_resume(struct wbi_calls *calls, struct wbi_call_ref ref);
/* The call, if it is parked under ref. */
struct wbi_call *wbi_call_find(struct wbi_calls *calls, struct wbi_call_ref ref);

#endif
