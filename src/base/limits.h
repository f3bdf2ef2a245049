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
#define WBI_LIMIT_OWN_NAME 128u /* of a tool, without its server; MCP allows as many */
#define WBI_LIMIT_MODEL_NAME 64u
#define WBI_LIMIT_METADATA_ENTRIES 64u
#define WBI_LIMIT_METADATA (16u * WBI_KIB)
#define WBI_LIMIT_HEADERS_ENTRIES 64u
#define WBI_LIMIT_IDEMPOTENCY_KEY 255u

/* Outcome (C4) */
#define WBI_LIMIT_SUMMARY_CHARS 200u
#define WBI_LIMIT_DETAILS_CHARS 1000u
#define WBI_LIMIT_CAUSED_BY_COUNT 5

/* Memory */
#define WBI_LIMIT_CALL_ARENA (768u * WBI_MIB)
#define WBI_LIMIT_MESSAGE_ARENA (256u * WBI_MIB) /* one message of MCP, as it is read */
#define WBI_LIMIT_SMALL_ARENA (16u * WBI_MIB)
#define WBI_LIMIT_RECEIPT (4u * WBI_MIB)

/* SemVer (npm) */
#define WBI_LIMIT_SEMVER_TEXT 256u
#define WBI_LIMIT_SEMVER_RANGE 4096u

/* Configuration */
#define WBI_LIMIT_CONFIG_ARENA (64u * WBI_MIB)
#define WBI_LIMIT_CONFIG_TOOL_FILES 1024u
#define WBI_LIMIT_TRUST_FILE (1u * WBI_MIB)

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

/* File tools */
#define WBI_LIMIT_WORKSPACES 1024u   /* conversations with a root of their own */
#define WBI_LIMIT_WORK_ITEMS 10000u  /* of one state directory */
#define WBI_LIMIT_READ_LINES 100000u /* of one page */
#define WBI_LIMIT_READ_BYTES (8u * WBI_MIB)
#define WBI_LIMIT_READ_LINE (64u * WBI_KIB)  /* bytes kept of one line */
#define WBI_LIMIT_READ_SCAN (256u * WBI_MIB) /* whole files are counted and hashed up to this */
#define WBI_LIMIT_LIST_ENTRIES 10000u
#define WBI_LIMIT_LIST_BATCH 65536u /* names of one directory held at once */
#define WBI_LIMIT_WALK_DEPTH 128u
#define WBI_LIMIT_IGNORE_FILE (256u * WBI_KIB)
#define WBI_LIMIT_GLOB 1024u
#define WBI_LIMIT_GLOB_ALTERNATIVES 64u
#define WBI_LIMIT_SEARCH_MATCHES 10000u
#define WBI_LIMIT_SEARCH_FILE (64u * WBI_MIB)
#define WBI_LIMIT_SEARCH_LINE 2048u /* bytes kept of one line */
#define WBI_LIMIT_SEARCH_CONTEXT 50u
#define WBI_LIMIT_WRITE (64u * WBI_MIB)

/* Captured output of one process stream when it is kept in memory */
#define WBI_LIMIT_CAPTURE (8u * WBI_MIB)

/* Provider items (wire/) */
#define WBI_LIMIT_TURN_CALLS 4096u
#define WBI_LIMIT_HISTORY_CALLS 32768u /* calls and outputs together */

/* Names (catalog/) */
#define WBI_LIMIT_NAMES 65536u
/* Running programs: arguments and environment, input waiting to be written */
#define WBI_LIMIT_ARGUMENTS 65536u
#define WBI_LIMIT_ARGUMENT_BYTES (2u * WBI_MIB)
#define WBI_LIMIT_PENDING_INPUT (1u * WBI_MIB)
#define WBI_LIMIT_STDIN (64u * WBI_MIB)
#define WBI_RUN_PIPE_BYTES (256u * WBI_KIB)
#define WBI_RUN_GRACE_MS 1000
#define WBI_RUN_LINGER_MS 300
#define WBI_RUN_LAST_WORDS 4096u /* of a stream when the other has spent the output limit */
/* Text: cleaning, redaction, previews */
#define WBI_LIMIT_TEXT_LINE (64u * WBI_KIB) /* redraws reach back this far in one line */
#define WBI_LIMIT_TEXT_COLUMNS 1000u        /* cursor moves to the right beyond the text */
#define WBI_LIMIT_SECRET_KNOWN 1024u        /* known values */
#define WBI_LIMIT_SECRET_KNOWN_MIN 8u       /* shorter known values are not masked */
#define WBI_LIMIT_SECRET_KNOWN_MAX (8u * WBI_KIB)
#define WBI_LIMIT_SECRET_PEM (16u * WBI_KIB)     /* a key block without an end mark */
#define WBI_LIMIT_SECRET_HOLD (64u * WBI_KIB)    /* an unfinished line held back by the stream */
#define WBI_LIMIT_SECRET_SEALED (256u * WBI_KIB) /* a Kubernetes Secret held back by it */
#define WBI_LIMIT_REDACT_SEGMENTS 32u
#define WBI_LIMIT_PREVIEW_RECORDS (32u * WBI_KIB) /* lines an index remembers */
#define WBI_LIMIT_PREVIEW_SHAPES (64u * WBI_KIB)  /* slots for kinds of lines */
#define WBI_LIMIT_PREVIEW_TOKENS 2048u            /* beyond, tokens are guessed by bytes */
#define WBI_LIMIT_PREVIEW_JSON (8u * WBI_MIB)     /* larger JSON is shown as lines */
/* State directory, ledger, control socket */
#define WBI_LIMIT_ROW_TEXT (64u * WBI_MIB)       /* all texts of one row together */
#define WBI_LIMIT_STORE_QUEUE (256u * WBI_MIB)   /* waiting for the writer */
#define WBI_LIMIT_STORE_BATCH 256u               /* operations in one commit */
#define WBI_LIMIT_STORE_BEHIND (1280u * WBI_KIB) /* rows nobody waits for; beyond, one waits */
#define WBI_STORE_LINGER_MS 5                    /* such rows gather for a commit */
#define WBI_STORE_RETRY_MS 1000                  /* after a failed commit, unless somebody waits */
#define WBI_STORE_LOCK_MADE_S 60                 /* a lock not held by then was left behind */
#define WBI_STORE_YIELD 32u                      /* such rows, then others may run */
#define WBI_STORE_YIELD_SELDOM 128u              /* the same while rows pile up */
#define WBI_LIMIT_STORE_KEY 512u
#define WBI_LIMIT_STORE_VALUE (16u * WBI_MIB)
#define WBI_LIMIT_STORE_LOCK_MS 10000  /* wait for another process's commit */
#define WBI_LIMIT_WAL_PAGES 500        /* checkpoint when idle above this */
#define WBI_LIMIT_WAL_PAGES_BUSY 1000  /* and in any case above this */
#define WBI_LIMIT_WAL_PAGES_LEFT 64    /* left to the next process, which reads each */
#define WBI_LIMIT_WAL_PAGES_ALARM 8192 /* 64 MiB: some reader blocks checkpoints */
#define WBI_LIMIT_READ_CHUNK_ROWS 256u /* no read transaction is longer */
#define WBI_LIMIT_READ_CHUNK (1u * WBI_MIB)
#define WBI_LIMIT_SCAN_ROWS 8192u /* of statistics, which copy nothing */
#define WBI_LIMIT_RUN_SCAN 4096u  /* names looked at in run/ */
#define WBI_LIMIT_CONTROL_LINE (4u * WBI_MIB)
#define WBI_LIMIT_CONTROL_PEERS 64u
#define WBI_LIMIT_CONTROL_METHODS 64u
/* Regular expressions: steps and depth as PCRE2 counts them */
#define WBI_LIMIT_REGEX_PATTERN (16u * WBI_KIB)
#define WBI_LIMIT_REGEX_NESTING 200u
#define WBI_LIMIT_REGEX_QUICK 20000u
#define WBI_LIMIT_REGEX_FULL 2000000u
#define WBI_LIMIT_REGEX_DEPTH 100000u
#define WBI_LIMIT_REGEX_HEAP_KIB (8u * 1024u)
#define WBI_LIMIT_REGEX_LOOKS ((size_t)1 << 29) /* bytes looked at before the time is */
#define WBI_LIMIT_REGEX_CPU_NS INT64_C(1000000000)

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
#define WBI_LIMIT_SCHEMA_REPAIR_VALUES 65536u
/* Guards and events (C8) */
#define WBI_LIMIT_GUARD_KEYS (4u * WBI_MIB) /* keys of one guard, a count */
#define WBI_LIMIT_GUARD_QUEUE 4096u         /* calls waiting for a slot, a count */
#define WBI_LIMIT_CIRCUIT_PROBES 32u
#define WBI_LIMIT_CIRCUIT_CALLS 1000u /* largest count window */
#define WBI_LIMIT_CACHE (32u * WBI_MIB)
#define WBI_LIMIT_CACHE_ENTRY (4u * WBI_MIB)
#define WBI_LIMIT_STORED_OUTCOME (8u * WBI_MIB)
#define WBI_LIMIT_STORED_RAW (1u * WBI_MIB) /* of it: the result of an MCP tool as it came */
#define WBI_LIMIT_APPROVALS 1024u
#define WBI_LIMIT_APPROVAL_TEXT (4u * WBI_KIB)
#define WBI_LIMIT_POLICY_RULES 1024u /* globs of one layer, bindings, patterns of one list */
#define WBI_LIMIT_POLICY_CACHE 1024u /* resolved (tool, principal) pairs kept */
#define WBI_LIMIT_CLAMPED 8u
#define WBI_LIMIT_TRACESTATE 512u
#define WBI_LIMIT_EVENT_LINE (64u * WBI_KIB)
#define WBI_LIMIT_EVENTS_WAITING (4u * WBI_MIB) /* lines a slow reader has not taken */
#define WBI_EVENTS_FLUSH_MS 1000                /* how long the end of a runtime waits for it */
#define WBI_LIMIT_FRAME (256u * WBI_KIB)
#define WBI_LIMIT_FRAMES_BUFFERED (1u * WBI_MIB)

/* Artifacts (C5): defaults of the policy, and what one read may take */
#define WBI_ARTIFACT_STREAM_BYTES (UINT64_C(16) << 30)
#define WBI_ARTIFACT_CALL_BYTES (UINT64_C(24) << 30)
#define WBI_ARTIFACT_STORE_BYTES (UINT64_C(64) << 30)
#define WBI_ARTIFACT_FREE_BYTES (UINT64_C(256) << 20)
#define WBI_ARTIFACT_AGE_MS (INT64_C(14) * 24 * 3600 * 1000)
#define WBI_LIMIT_FACT (1u * WBI_MIB)
#define WBI_LIMIT_READ (4u * WBI_MIB)
#define WBI_LIMIT_GREP_LINE (64u * WBI_KIB)
#define WBI_LIMIT_GREP_CONTEXT 50u

/* Cleaned output kept in memory before it goes to a file */
#define WBI_LIMIT_SHOWN_MEMORY (1u * WBI_MIB)
/* Event loop */
#define WBI_LOOP_EAGER_NS 20000 /* it looks for the next event before it sleeps */

/* HTTP server */
#define WBI_LIMIT_HTTP_HEAD (32u * WBI_KIB)
#define WBI_LIMIT_HTTP_TARGET (4u * WBI_KIB)
#define WBI_LIMIT_HTTP_FIELDS 64u
#define WBI_LIMIT_HTTP_AGAIN 1024u /* a head that is compared with the next one */
#define WBI_LIMIT_HTTP_BODY (16u * WBI_MIB)
#define WBI_LIMIT_HTTP_CONNECTIONS 1024u
#define WBI_LIMIT_HTTP_STREAM (1u * WBI_MIB)   /* unread part of a stream */
#define WBI_LIMIT_HTTP_AHEAD (64u * WBI_KIB)   /* bytes of requests to come */
#define WBI_LIMIT_HTTP_KEPT (256u * WBI_KIB)   /* of an output buffer between answers */
#define WBI_LIMIT_HTTP_ANSWER (112u * WBI_MIB) /* and what its stream may leave unread */
#define WBI_HTTP_SEND_CROWD 32u   /* connections with which a thread may send for the loop */
#define WBI_HTTP_SEND_APART 8u    /* answers of one turn that are worth waking a thread */
#define WBI_HTTP_SEND_AT_ONCE 32u /* and that need not wait for its end */
#define WBI_HTTP_SEND_BATCH 64u   /* and that one system call sends; a power of two */
#define WBI_HTTP_HEADER_MS 10000
#define WBI_HTTP_BODY_MS 30000
#define WBI_HTTP_IDLE_MS 75000
#define WBI_HTTP_WRITE_MS 30000
#define WBI_HTTP_LINGER_MS 1000

/* dispatch */
#define WBI_LIMIT_ANSWERS (8u * WBI_MIB) /* given, kept in memory for repeats */

/* MCP: messages, sessions, upstreams */
#define WBI_LIMIT_MCP_MESSAGE (16u * WBI_MIB)
#define WBI_LIMIT_MCP_OUT (64u * WBI_MIB) /* unread on one stdio connection */
#define WBI_LIMIT_MCP_ID 256u
#define WBI_LIMIT_MCP_SESSIONS 256u
#define WBI_LIMIT_MCP_SESSION_ID 4096u       /* that a server gives: some are signed tokens */
#define WBI_LIMIT_MCP_IN_FLIGHT 1024u        /* requests of one session */
#define WBI_LIMIT_MCP_STREAMS 4u             /* GET streams of one session */
#define WBI_LIMIT_MCP_LISTENERS 256u         /* subscriptions/listen of all */
#define WBI_LIMIT_MCP_TRAIL (256u * WBI_KIB) /* messages of one call, for who reads on later */
#define WBI_LIMIT_MCP_TRAILS (8u * WBI_MIB)  /* of all, answers too */
#define WBI_LIMIT_MCP_KEPT 16u               /* answers of one session */
#define WBI_LIMIT_MCP_SUBSCRIPTIONS 256u     /* resources of one session or stream */
#define WBI_LIMIT_MCP_ASKS 16u               /* open questions of one request */
#define WBI_LIMIT_MCP_HEADER_DEPTH 16u       /* of arguments that headers repeat */
#define WBI_LIMIT_MCP_PARKED 256u            /* calls waiting for a client's answers */
#define WBI_LIMIT_MCP_PAGE 250u              /* items of a list, a count */
#define WBI_LIMIT_MCP_URI (8u * WBI_KIB)
#define WBI_MCP_SESSION_IDLE_MS (INT64_C(30) * 60 * 1000)
#define WBI_MCP_PARKED_MS (INT64_C(10) * 60 * 1000)
#define WBI_MCP_SENT_MS 60000  /* that an answer is kept, in case it did not arrive */
#define WBI_MCP_SLOW_MS 5000   /* after which a call over HTTP is answered by a stream */
#define WBI_MCP_PROGRESS_MS 10 /* least time between two reports */
#define WBI_MCP_KEEP_ALIVE_MS 15000
#define WBI_MCP_TTL_MS 60000
#define WBI_LIMIT_UPSTREAM_IN_FLIGHT 4096u
#define WBI_LIMIT_UPSTREAM_UNREAD (32u * WBI_MIB) /* waits to be read by a program */
#define WBI_LIMIT_UPSTREAM_ITEMS 10000u           /* of one list, a count */
#define WBI_LIMIT_UPSTREAM_PAGES 1000u
#define WBI_LIMIT_UPSTREAM_CURSOR (64u * WBI_KIB)
#define WBI_LIMIT_UPSTREAM_ROUNDS 8u             /* of questions inside one call */
#define WBI_LIMIT_UPSTREAM_STDERR (8u * WBI_KIB) /* newest bytes kept */
#define WBI_UPSTREAM_START_MS 30000
#define WBI_UPSTREAM_PROBE_MS 5000
#define WBI_UPSTREAM_DOUBTS 6        /* times the probe's: for one that may hang to say something */
#define WBI_UPSTREAM_SILENT_MS 500   /* for a process that has closed its output to end */
#define WBI_UPSTREAM_PARTING_MS 1500 /* for a process whose input has ended to end */
#define WBI_UPSTREAM_CALL_MS 300000
#define WBI_UPSTREAM_LISTS_MS 15000 /* for the lists of all servers together */
#define WBI_UPSTREAM_BACKOFF_MS 250
#define WBI_UPSTREAM_BYE_MS 500        /* for telling servers that their sessions end */
#define WBI_UPSTREAM_NOTE_MS 10000     /* for the end of a request that nobody waits for */
#define WBI_LIMIT_UPSTREAM_NOTES 128u  /* such requests open at once at one server */
#define WBI_UPSTREAM_RETRY_MS 1000     /* before a broken stream is taken up */
#define WBI_LIMIT_UPSTREAM_BREAKS 100u /* of a stream that brings nothing */
#define WBI_UPSTREAM_BACKOFF_MAX_MS 30000

#endif
