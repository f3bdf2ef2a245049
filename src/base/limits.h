/* SPDX-License-Identifier: Apache-2.0
 * base/limits.h: every cap in one place. Bytes unless the name says otherwise. */
#ifndef WBI_BASE_LIMITS_H
#define WBI_BASE_LIMITS_H

#define WBI_KIB (1024u)
#define WBI_MIB (1024u * 1024u)

/* JSON */
#define WBI_LIMIT_JSON_DEPTH 512u
#define WBI_LIMIT_JSON_TEXT (64u * WBI_MIB)
#define WBI_LIMIT_CONFIG_FILE (4u * WBI_MIB)

/* Invocation (C2) */
#define WBI_LIMIT_ID 256u
#define WBI_LIMIT_TOOL_NAME 512u
#define WBI_LIMIT_MODEL_NAME 64u
#define WBI_LIMIT_METADATA_ENTRIES 64u
#define WBI_LIMIT_METADATA (16u * WBI_KIB)
#define WBI_LIMIT_HEADERS_ENTRIES 64u
#define WBI_LIMIT_IDEMPOTENCY_KEY 255u

/* Outcome (C4) */
#define WBI_LIMIT_SUMMARY_CHARS 200u
#define WBI_LIMIT_ERROR_MESSAGE 4096u
#define WBI_LIMIT_DETAILS_CHARS 1000u
#define WBI_LIMIT_CAUSED_BY 5u

/* Memory */
#define WBI_LIMIT_CALL_ARENA (256u * WBI_MIB)
#define WBI_LIMIT_SMALL_ARENA (16u * WBI_MIB)
#define WBI_LIMIT_RECEIPT (4u * WBI_MIB)

/* SemVer (npm) */
#define WBI_LIMIT_SEMVER_TEXT 256u

/* Paths */
#define WBI_LIMIT_PATH 4095u

/* Captured output of one process stream when it is kept in memory */
#define WBI_LIMIT_CAPTURE (8u * WBI_MIB)

/* Guards and events (C8) */
#define WBI_LIMIT_GUARD_KEYS (4u * WBI_MIB) /* keys of one guard, a count */
#define WBI_LIMIT_GUARD_QUEUE 4096u         /* calls waiting for a slot, a count */
#define WBI_LIMIT_CIRCUIT_PROBES 32u
#define WBI_LIMIT_CIRCUIT_CALLS 1000u /* largest count window */
#define WBI_LIMIT_CACHE (32u * WBI_MIB)
#define WBI_LIMIT_CACHE_ENTRY (4u * WBI_MIB)
#define WBI_LIMIT_STORED_OUTCOME (8u * WBI_MIB)
#define WBI_LIMIT_APPROVALS 1024u
#define WBI_LIMIT_APPROVAL_TEXT (4u * WBI_KIB)
#define WBI_LIMIT_POLICY_RULES 1024u /* globs of one layer, bindings, patterns of one list */
#define WBI_LIMIT_POLICY_CACHE 1024u /* resolved (tool, principal) pairs kept */
#define WBI_LIMIT_CLAMPED 8u
#define WBI_LIMIT_TRACESTATE 512u
#define WBI_LIMIT_EVENT_LINE (64u * WBI_KIB)
#define WBI_LIMIT_FRAME (256u * WBI_KIB)
#define WBI_LIMIT_FRAMES_BUFFERED (1u * WBI_MIB)

#endif
