/* SPDX-License-Identifier: Apache-2.0
 * call/stages.h: the one place that states the order of the journey (C3).
 * X(ID, name, "what goes in -> what comes out")
 * A stage that refuses sends the call straight to PROJECT; what stands before
 * it is spent, what stands between is not. */
#ifndef WBI_CALL_STAGES_H
#define WBI_CALL_STAGES_H

/* clang-format off */
#define WBI_STAGE_MAP(X)                                                    \
    X(DECODE,    decode,    "item or invocation -> checked call")           \
    X(RESOLVE,   resolve,   "name and range -> one version of one tool")    \
    X(VALIDATE,  validate,  "input -> input that fits the schema")          \
    X(AUTHORIZE, authorize, "principal and tool -> allowed")                \
    X(ADMIT,     admit,     "policies -> a ticket, a replay or a hit")      \
    X(INTENT,    intent,    "call -> durable intent, if it has an effect")  \
    X(EXECUTE,   execute,   "input -> complete typed output")               \
    X(PROJECT,   project,   "complete output -> bounded canonical result")  \
    X(RENDER,    render,    "canonical result -> receipt")                  \
    X(ENCODE,    encode,    "receipt -> the provider's item")               \
    X(RECORD,    record,    "outcome -> durable row")
/* clang-format on */

enum wbi_stage {
#define X(id, name, text) WBI_STAGE_##id,
    WBI_STAGE_MAP(X)
#undef X
        WBI_STAGE_COUNT
};

/* "decode", … ; "done" for WBI_STAGE_COUNT. */
const char *wbi_stage_name(enum wbi_stage stage);

#endif
