/* SPDX-License-Identifier: Apache-2.0
 * base/limits.h: every cap in one place. Bytes unless the name says otherwise. */
#ifndef WBI_BASE_LIMITS_H
#define WBI_BASE_LIMITS_H

#include <stdint.h>

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

/* Running programs: arguments and environment, input waiting to be written */
#define WBI_LIMIT_ARGUMENTS 65536u
#define WBI_LIMIT_ARGUMENT_BYTES (2u * WBI_MIB)
#define WBI_LIMIT_PENDING_INPUT (1u * WBI_MIB)
#define WBI_LIMIT_STDIN (64u * WBI_MIB)
#define WBI_RUN_PIPE_BYTES (256u * WBI_KIB)
#define WBI_RUN_GRACE_MS 1000
#define WBI_RUN_LINGER_MS 300

/* Artifacts (C5): defaults of the policy, and what one read may take */
#define WBI_ARTIFACT_STREAM_BYTES (UINT64_C(16) << 30)
#define WBI_ARTIFACT_CALL_BYTES (UINT64_C(24) << 30)
#define WBI_ARTIFACT_STORE_BYTES (UINT64_C(64) << 30)
#define WBI_ARTIFACT_FREE_BYTES (UINT64_C(256) << 20)
#define WBI_ARTIFACT_AGE_MS (INT64_C(14) * 24 * 3600 * 1000)
#define WBI_LIMIT_FACT (1u * WBI_MIB)
#define WBI_LIMIT_ORDER_INDEX (4u * WBI_MIB)
#define WBI_LIMIT_READ (4u * WBI_MIB)
#define WBI_LIMIT_GREP_LINE (64u * WBI_KIB)
#define WBI_LIMIT_GREP_CONTEXT 50u

#endif
