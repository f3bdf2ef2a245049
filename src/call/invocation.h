/* SPDX-License-Identifier: Apache-2.0
 * call/invocation.h: what is asked (C2, S1). All slices live in the call's arena. */
#ifndef WBI_CALL_INVOCATION_H
#define WBI_CALL_INVOCATION_H

#include "base/clock.h"
#include "base/id.h"
#include "json/json.h"
#include "json/write.h"

struct wbi_secrets;

struct wbi_invocation {
    /* S1 */
    struct wbi_str tool_name;
    struct wbi_str version_range;
    const wbi_json *input; /* never NULL once decoded */
    struct wbi_str correlation_id;
    struct wbi_str causation_id;
    struct wbi_str idempotency_key;
    const wbi_json *headers;  /* object or NULL */
    const wbi_json *metadata; /* object or NULL */
    struct wbi_str deadline;  /* as given, RFC 3339 */
    int64_t deadline_ms;      /* wall clock; INT64_MAX when there is none */
    /* the runtime's own */
    struct wbi_str name_space; /* Responses items may give one beside the name */
    struct wbi_str call_id;    /* the provider's id, or the one given */
    struct wbi_str key_id;     /* the form of it that keys are made of, where it is another */
    struct wbi_str conversation_id;
    struct wbi_str turn_id;
    struct wbi_str principal;
    struct wbi_str provider;
    struct wbi_str model;
    struct wbi_str traceparent;
    struct wbi_str tracestate;
    uint32_t max_tokens; /* lower the receipt's budget; 0: no wish */
    bool native;         /* strict: no input repair */
    bool truncated;      /* cut by the model's output limit */
    bool stream;         /* the caller wants frames */
    bool canonical;      /* the caller wants the canonical result beside the receipt */
    bool passing;        /* nobody can name the conversation again once its process has ended */
    bool alone;          /* not even while it runs: this call is all of the conversation */
};

/* Read the S1 members of obj (native wire form) into inv; members inv already
 * holds are kept. Unknown members are refused by name. */
WB_MUST_CHECK wb_rc wbi_invocation_read(const wbi_json *obj, struct wbi_invocation *inv,
                                        struct wbi_error *err);
/* The id of a JSON-RPC request, with its JSON text, as the call's: people name a string by
 * its value. To keys "7" and 7 are two ids all the same. */
void wbi_invocation_rpc_id(struct wbi_invocation *inv, const wbi_json *id, struct wbi_str text);
/* C2.1–C2.3: lengths, control characters, secrets in ids and headers, size of metadata,
 * deadline. Gives a correlation id where none or a blank one was sent. */
WB_MUST_CHECK wb_rc wbi_invocation_check(struct wbi_invocation *inv, struct wbi_arena *arena,
                                         const struct wbi_ids *ids,
                                         const struct wbi_secrets *secrets, struct wbi_error *err);
/* The members of the record's `invocation`, as one object. input_json replaces
 * the input (it may be redacted); absent: the input as it is. */
void wbi_invocation_write(struct wbi_jw *w, const struct wbi_invocation *inv,
                          struct wbi_str input_json);

#endif
