/* SPDX-License-Identifier: Apache-2.0
 * mcp/rpc.h: JSON-RPC 2.0 messages as MCP allows them: one message a text, no
 * batches, ids strings or 64-bit integers, never null. */
#ifndef WBI_MCP_RPC_H
#define WBI_MCP_RPC_H

#include "json/json.h"

#define WBI_RPC_PARSE (-32700)
#define WBI_RPC_INVALID (-32600)
#define WBI_RPC_NO_METHOD (-32601)
#define WBI_RPC_PARAMS (-32602)
#define WBI_RPC_INTERNAL (-32603)
#define WBI_RPC_NO_RESOURCE (-32002) /* before 2026-07-28 */
#define WBI_RPC_HEADER (-32020)
#define WBI_RPC_CAPABILITY (-32021)
#define WBI_RPC_VERSION (-32022)
#define WBI_RPC_URL_ELICITATION (-32042) /* before 2026-07-28 */

enum wbi_rpc_kind { WBI_RPC_REQUEST = 1, WBI_RPC_NOTIFICATION, WBI_RPC_RESULT, WBI_RPC_ERROR };

struct wbi_rpc {
    enum wbi_rpc_kind kind;
    const wbi_json *id;     /* NULL for notifications */
    struct wbi_str id_text; /* the id as JSON; absent without one, and for a real */
    struct wbi_str method;
    const wbi_json *params; /* object, or NULL */
    const wbi_json *result; /* of a RESULT */
    const wbi_json *error;  /* object, of an ERROR */
};

/* WB_EINPUT with *ret_code set (-32700 or -32600) for what is no message; then
 * ret->id_text is the id to answer to, where one can be read, and ret->kind what a message
 * of JSON-RPC 2.0 was to be. */
WB_MUST_CHECK wb_rc wbi_rpc_read(struct wbi_arena *arena, struct wbi_str text, struct wbi_rpc *ret,
                                 int *ret_code, struct wbi_error *err);

/* An id that was an integer when it was sent, and comes back as a real (7.0): of answers only,
 * whose ids we have given. */
bool wbi_rpc_whole(const wbi_json *id, uint64_t *ret);

/* Messages on one line, without a line end; json arguments are JSON texts, and
 * absent ones are left out. An answer begins with its id. */
void wbi_rpc_put_id(struct wbi_buf *out, struct wbi_str id);
/* What follows the id in an answer made here; absent for an absent one. */
struct wbi_str wbi_rpc_after_id(struct wbi_str answer, struct wbi_str id);
void wbi_rpc_put_result(struct wbi_buf *out, struct wbi_str id, struct wbi_str result);
void wbi_rpc_put_error(struct wbi_buf *out, struct wbi_str id, int code, struct wbi_str message,
                       struct wbi_str data);
void wbi_rpc_put_call(struct wbi_buf *out, struct wbi_str id_or_none, const char *method,
                      struct wbi_str params);
/* JSON has line ends only between tokens: make them spaces. */
void wbi_rpc_one_line(struct wbi_buf *b, size_t from);

#endif
