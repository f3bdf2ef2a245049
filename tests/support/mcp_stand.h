/* SPDX-License-Identifier: Apache-2.0
 * tests/support/mcp_stand.h: an MCP server of src/mcp on a loop of its own, on stdio
 * or HTTP, for programs that give it their own table of functions. */
#ifndef WAYBILL_TESTS_MCP_STAND_H
#define WAYBILL_TESTS_MCP_STAND_H

#include "http/http.h"
#include "loop/loop.h"
#include "mcp/server.h"

struct mcp_stand {
    struct wbi_loop *loop; /* the program's own, if it needs one before */
    struct wbi_mcp_server *server;
    struct wbi_http *http;
    struct wbi_mcp_stdio *stdio;
    const char *name; /* of the server, and of who asks it */
    bool done;
};

/* Opens the server and where it listens: at address (its URL is printed on stderr), or,
 * without one, on stdio. Ignores SIGPIPE. */
WB_MUST_CHECK wb_rc mcp_stand_open(struct mcp_stand *s, const char *address,
                                   const struct wbi_mcp_options *options,
                                   const struct wbi_mcp_ops *ops, struct wbi_error *err);
/* Until the input ends. */
void mcp_stand_run(struct mcp_stand *s);
/* After every request has been answered, and whatever else used the loop is gone. */
void mcp_stand_free(struct mcp_stand *s);

#endif
