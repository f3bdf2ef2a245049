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
#define WBI_LIMIT_NAME 255u
#define WBI_LIMIT_PATH_RETRIES 128u
#define WBI_LIMIT_PATH_LINKS 40u

/* Patches */
#define WBI_LIMIT_PATCH_TEXT (16u * WBI_MIB)
#define WBI_LIMIT_PATCH_FILES 500u
#define WBI_LIMIT_PATCH_HUNKS 10000u
#define WBI_LIMIT_PATCH_TARGET (32u * WBI_MIB) /* file that is patched */
#define WBI_LIMIT_PATCH_CANDIDATES 10u
#define WBI_LIMIT_PATCH_PREVIEW_LINES 80u
#define WBI_LIMIT_PATCH_PREVIEW (8u * WBI_KIB)
#define WBI_LIMIT_PATCH_PREVIEW_LINE 300u
#define WBI_LIMIT_PATCH_DIAGNOSTICS 100u

/* Captured output of one process stream when it is kept in memory */
#define WBI_LIMIT_CAPTURE (8u * WBI_MIB)

#endif
