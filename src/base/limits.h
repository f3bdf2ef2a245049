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

/* Regular expressions: steps and depth as PCRE2 counts them */
#define WBI_LIMIT_REGEX_PATTERN (16u * WBI_KIB)
#define WBI_LIMIT_REGEX_NESTING 200u
#define WBI_LIMIT_REGEX_QUICK 20000u
#define WBI_LIMIT_REGEX_FULL 2000000u
#define WBI_LIMIT_REGEX_DEPTH 100000u
#define WBI_LIMIT_REGEX_HEAP_KIB (8u * 1024u)

/* JSON Schema */
#define WBI_LIMIT_SCHEMA_SUBSCHEMAS 100000u
#define WBI_LIMIT_SCHEMA_DOCUMENTS 256u
#define WBI_LIMIT_SCHEMA_PATTERNS 4096u
#define WBI_LIMIT_SCHEMA_ARENA (128u * WBI_MIB)
#define WBI_LIMIT_SCHEMA_URI 4096u
#define WBI_LIMIT_SCHEMA_FRAMES 4096u
#define WBI_LIMIT_SCHEMA_STEPS 20000000u
#define WBI_LIMIT_SCHEMA_STEPS_PER_VALUE 16u
#define WBI_LIMIT_SCHEMA_ERRORS 32u
#define WBI_LIMIT_SCHEMA_RAW_ERRORS 1024u
#define WBI_LIMIT_SCHEMA_FOUND 120u
#define WBI_LIMIT_SCHEMA_FINDINGS 256u

#endif
