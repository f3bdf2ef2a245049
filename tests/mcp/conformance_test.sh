#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The official MCP conformance suite, both requirement sets, against a server of
# ours. MCP_URL names a running endpoint; without it the demo server is started.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${WAYBILL_BUILD:-build/dev}
place=$build/conformance
. "$here/gateway.sh"
npm_node
npm_need conformance
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
mkdir -p "$place"

pid=
if [ -z "${MCP_URL:-}" ]; then
    : >"$place/server.log" # an old line must not pass for the new one's
    "$build/mcp_demo_server" --http 127.0.0.1:0 2>"$place/server.log" &
    pid=$!
    trap 'kill $pid 2>/dev/null' EXIT
    for _ in $(seq 100); do
        MCP_URL=$(sed -n 's/^listening on //p' "$place/server.log")
        [ -n "$MCP_URL" ] && break
        sleep 0.05
    done
fi
[ -n "${MCP_URL:-}" ] || { echo "the server did not start"; exit 1; }

failed=0
check() { # revision, scored scenarios
    local log=$place/$1.log
    timeout 120 "$node" "$suite" server --url "$MCP_URL" --requirements "$1" -o "$place/$1" >"$log" 2>&1
    # Scenarios that do not count are listed again, indented, after the totals.
    local unscored scored_bad
    unscored=$(sed -n '/^Not scored/,$s/^  ✗ \([^ ]*\).*/\1/p' "$log")
    scored_bad=$(sed -n 's/^✗ \([^:]*\):.*/\1/p' "$log" | grep -vxF -- "${unscored:-none}")
    if ! grep -q '^Total:' "$log"; then
        echo "$1: the suite did not finish"; tail -5 "$log"; failed=1
    elif [ -n "$scored_bad" ]; then
        echo "$1: failing:"; echo "$scored_bad"; failed=1
    else
        echo "$1: every one of the $2 scored scenarios passes"
    fi
}
check 2025-11-25 30
check 2026-07-28 37
exit $failed
