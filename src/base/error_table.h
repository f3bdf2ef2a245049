/* SPDX-License-Identifier: Apache-2.0
 * base/error_table.h: the one table of errors (C4.7).
 * kind: what the model should do next. category and code: the Result surface.
 * retryable is an upper bound; guards narrow it by effect and key.
 * X(ID, "kind", CATEGORY, "Code", retryable, jsonrpc, http, exit, "default hint") */
#ifndef WBI_BASE_ERROR_TABLE_H
#define WBI_BASE_ERROR_TABLE_H

#include <stdbool.h>

#include "base/slice.h"

/* clang-format off */
#define WBI_ERROR_TABLE(X) \
    X(INVALID_TOOL_INPUT, "invalid_tool_input", CONTRACT, "SchemaInvalid", false, -32602, 400, 1, \
      "provide input that matches the published tool schema") \
    X(UNKNOWN_TOOL, "unknown_tool", CONTRACT, "ToolNotFound", false, -32602, 404, 1, \
      "call one of the listed tools") \
    X(UNSUPPORTED_VERSION, "unsupported_version", CONTRACT, "UnsupportedVersion", false, -32602, 400, 1, \
      "omit the version range or ask for an available version") \
    X(INVALID_TOOL_OUTPUT, "invalid_tool_output", CONTRACT, "OutputInvalid", false, -32603, 502, 1, \
      "the tool ran; check its effect before calling it again") \
    X(MALFORMED_CALL, "malformed_call", CONTRACT, "MalformedCall", false, -32602, 400, 1, \
      "send one complete call in the provider's own shape") \
    X(TRUNCATED_MUTATION_TOOL_CALL, "truncated_mutation_tool_call", CONTRACT, "TruncatedCall", true, -32600, 400, 1, \
      "nothing was executed; send the call again in smaller pieces") \
    X(IDEMPOTENCY_KEY_REUSED, "idempotency_key_reused", CONTRACT, "IdempotencyKeyReused", false, -32602, 422, 1, \
      "use a new key for another input") \
    X(INVALID_PATCH, "invalid_patch_syntax", CONTRACT, "PatchInvalid", false, -32602, 400, 1, \
      "send a patch in one of the two accepted forms") \
    X(UNAUTHORIZED, "unauthorized", AUTH, "Unauthorized", false, -32001, 401, 1, \
      "supply the missing credential") \
    X(FORBIDDEN, "forbidden", AUTH, "Forbidden", false, -32001, 403, 1, \
      "ask for the tool to be allowed, or use another one") \
    X(APPROVAL_DENIED, "approval_denied", AUTH, "ApprovalDenied", false, -32001, 403, 1, \
      "do not repeat the call; ask the user how to go on") \
    X(EXECUTION_ROOT_VIOLATION, "execution_root_violation", AUTH, "ExecutionRootViolation", false, -32001, 403, 1, \
      "omit workdir or use a relative path inside the active workspace") \
    X(TIMED_OUT, "timed_out", POLICY, "Timeout", true, -32002, 504, 1, \
      "allow more time or ask for less work") \
    X(RATE_LIMITED, "rate_limited", POLICY, "RateLimited", true, -32003, 429, 1, \
      "wait for the time given, then call again") \
    X(CIRCUIT_OPEN, "circuit_open", POLICY, "CircuitOpen", true, -32003, 503, 1, \
      "the tool failed repeatedly; wait for the time given or use another one") \
    X(BUDGET_EXCEEDED, "budget_exceeded", POLICY, "BudgetExceeded", false, -32003, 429, 1, \
      "the budget is spent until its window turns") \
    X(CONCURRENCY_LIMITED, "concurrency_limited", POLICY, "ConcurrencyLimited", true, -32003, 429, 1, \
      "wait for running calls to end, then call again") \
    X(CALL_IN_FLIGHT, "call_in_flight", POLICY, "InFlight", true, -32003, 409, 1, \
      "the same call is still running; ask again later") \
    X(CANCELLED, "cancelled", EXECUTION, "Cancelled", false, -32800, 499, 1, \
      "the call was stopped on request; what it had produced is kept") \
    X(TOOL_EXECUTION_FAILED, "tool_execution_failed", EXECUTION, "ToolFailed", false, -32603, 502, 1, \
      "read the message, correct the cause, then call again") \
    X(UPSTREAM_UNAVAILABLE, "upstream_unavailable", EXECUTION, "UpstreamUnavailable", true, -32603, 502, 1, \
      "the tool's server cannot be reached; try again later") \
    X(COMMAND_SPAWN_FAILED, "command_spawn_failed", EXECUTION, "SpawnFailed", false, -32603, 500, 1, \
      "check that the program exists and may be executed") \
    X(WORKDIR_NOT_FOUND, "workdir_not_found", EXECUTION, "WorkdirNotFound", false, -32603, 404, 1, \
      "omit workdir or name an existing directory") \
    X(FILE_NOT_FOUND, "missing_file", EXECUTION, "FileNotFound", false, -32603, 404, 1, \
      "list the directory to see what exists") \
    X(FILE_EXISTS, "existing_file", EXECUTION, "FileExists", false, -32603, 409, 1, \
      "choose another path or replace the file with its expected hash") \
    X(FILE_CHANGED, "file_changed", EXECUTION, "FileChanged", false, -32603, 409, 1, \
      "read the file again, then repeat the change on what it holds now") \
    X(FILE_UNREADABLE, "file_not_text", EXECUTION, "FileNotText", false, -32603, 415, 1, \
      "use a command made for its format, or list it if it is a directory") \
    X(CONTEXT_NOT_FOUND, "context_not_found", EXECUTION, "ContextNotFound", false, -32603, 409, 1, \
      "read the region again and send a patch with its present text") \
    X(AMBIGUOUS_CONTEXT, "ambiguous_context", EXECUTION, "AmbiguousContext", false, -32603, 409, 1, \
      "add more surrounding lines so that one place matches") \
    X(TASK_NOT_FOUND, "task_not_found", EXECUTION, "TaskNotFound", false, -32603, 404, 1, \
      "list the tasks to see their ids") \
    X(TASK_NOT_RUNNING, "task_not_running", EXECUTION, "TaskNotRunning", false, -32603, 409, 1, \
      "the task has ended; read its output instead") \
    X(ARTIFACT_NOT_FOUND, "artifact_not_found", EXECUTION, "ArtifactNotFound", false, -32603, 404, 1, \
      "list the artifacts to see what is kept") \
    X(ARTIFACT_EXPIRED, "artifact_expired", EXECUTION, "ArtifactExpired", false, -32603, 410, 1, \
      "the output is no longer kept; run the call again if it is needed") \
    X(WORK_ITEM_NOT_FOUND, "unknown_work_item", EXECUTION, "WorkItemNotFound", false, -32603, 404, 1, \
      "list the work items to see their ids") \
    X(LOW_DISK_SPACE, "low_disk_space", SYSTEM, "LowDiskSpace", true, -32603, 507, 1, \
      "make room, then call again") \
    X(OUTPUT_PERSISTENCE_FAILED, "output_persistence_failed", SYSTEM, "PersistenceFailed", false, -32603, 500, 1, \
      "the command ran but its output could not be kept whole") \
    X(OUTCOME_UNKNOWN, "outcome_unknown", SYSTEM, "OutcomeUnknown", false, -32603, 500, 1, \
      "check whether the effect happened before calling again") \
    X(STATE_UNAVAILABLE, "state_unavailable", SYSTEM, "StateUnavailable", true, -32603, 503, 3, \
      "the ledger cannot be written; see `waybill doctor`") \
    X(INTERNAL_ERROR, "internal_error", SYSTEM, "Internal", false, -32603, 500, 70, \
      "this is a fault of Waybill; the call may be tried once more")
/* clang-format on */

enum wbi_category {
    WBI_CATEGORY_CONTRACT = 1,
    WBI_CATEGORY_POLICY,
    WBI_CATEGORY_AUTH,
    WBI_CATEGORY_EXECUTION,
    WBI_CATEGORY_SYSTEM
};

enum wbi_kind {
    WBI_KIND_NONE = 0,
#define X(id, kind, category, code, retryable, rpc, http, exit, hint) WBI_KIND_##id,
    WBI_ERROR_TABLE(X)
#undef X
        WBI_KIND_COUNT
};

struct wbi_kind_row {
    const char *kind;
    enum wbi_category category;
    const char *code;
    bool retryable;
    int jsonrpc;
    int http;
    int exit_code;
    const char *hint;
};

/* Row of a kind; WBI_KIND_NONE and values out of range give internal_error. */
const struct wbi_kind_row *wbi_kind_row(enum wbi_kind kind);
/* WBI_KIND_NONE when the name is not in the table. */
enum wbi_kind wbi_kind_by_name(struct wbi_str name);
/* "ContractError", … */
const char *wbi_category_name(enum wbi_category category);

#endif
