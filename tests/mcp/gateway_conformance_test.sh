#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The official suite against the gateway in front of a fixture upstream, whose tools, prompts
# and resources are shown under their own names (issue of C10): our own one, and, where it is
# there, the one that is shared with the specification. That one knows what the suite wants of
# either era only in that era, so it also shows that each client is served in its own.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
. "$here/gateway.sh"
npm_node
fresh_home
shared=$here/../../../shared/tools/mcp/conf-fixture.mjs

run() { # WHAT COMMAND ARG NAME: the suite behind a gateway of its own
    config "{\"mcpServers\":{\"$4\":{\"command\":\"$2\",\"args\":[$3],\"prefix\":\"\"}}}"
    rm -rf "$work/ws"
    mkdir "$work/ws"
    start_gateway --auth none
    export MCP_URL=$url
    echo "$1:"
    bash "$here/conformance_test.sh" || failed=1
    stop_gateway
}
run "our fixture" "$build/mcp_demo_server" '' demo
if [ -f "$shared" ]; then
    export CONFORMANCE_LACKS=http-custom-header-server-validation # it has no tool for it
    run "the shared fixture" "$node" "\"$(realpath "$shared")\"" shared
    export CONFORMANCE_ORDER='2026-07-28:37 2025-11-25:30'
    run "the shared fixture, newer clients first" "$node" "\"$(realpath "$shared")\"" shared
else
    echo "skipped: the shared fixture (no ../shared)"
fi
exit $failed
