#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The official MCP conformance suite, both requirement sets and the scenarios of the
# older revision, against a server of ours. MCP_URL names a running endpoint; without it
# the demo server is started. CONFORMANCE_LACKS: scenarios that do not count and may fail;
# CONFORMANCE_ORDER: the requirement sets, each with how many scenarios it scores.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${WAYBILL_BUILD:-build/dev}
. "$here/gateway.sh"
npm_node
npm_need conformance
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
# Of its own: two of these may run at once, one of them behind the gateway.
place=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null; rm -rf "$place"' EXIT
if [ -z "${MCP_URL:-}" ]; then
    "$build/mcp_demo_server" --http 127.0.0.1:0 2>"$place/server.log" &
    pid=$!
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
    local ended=$?
    # Scenarios that do not count are listed again, indented, after the totals. Only tasks may
    # fail there, an extension that is not offered (docs/mcp.md).
    local unscored good bad beside
    unscored=$(sed -nE '/^Not scored/,$s/^  (✓|✗) ([^ ]*).*/\2/p' "$log")
    good=$(sed -n 's/^✓ \([^:]*\):.*/\1/p' "$log" | grep -cvxF -- "${unscored:-none}")
    bad=$(sed -n 's/^✗ \([^:]*\):.*/\1/p' "$log" | grep -vxF -- "${unscored:-none}")
    beside=$(sed -n '/^Not scored/,$s/^  ✗ \([^ ]*\).*/\1/p' "$log" | grep -v '^tasks-' |
        grep -vxF -- "${CONFORMANCE_LACKS:-none}")
    if ! grep -q '^Total:' "$log"; then
        echo "$1: the suite did not finish, it ended with $ended"; tail -5 "$log"; failed=1
    elif [ -n "$bad$beside" ]; then
        echo "$1: failing:"; echo "$bad" "$beside"; failed=1
    elif [ "$good" != "$2" ]; then
        echo "$1: $good scenarios were scored, not $2"; failed=1
    else
        echo "$1: every one of the $2 scored scenarios passes"
    fi
}
for set in ${CONFORMANCE_ORDER:-2025-11-25:30 2026-07-28:37}; do check "${set%:*}" "${set#*:}"; done
# The suite has no requirement set for 2025-06-18: everything that applies to it.
log=$place/2025-06-18.log
timeout 120 "$node" "$suite" server --url "$MCP_URL" --spec-version 2025-06-18 --suite all \
    -o "$place/2025-06-18" >"$log" 2>&1
if [ "$(grep -c '^✓' "$log")" -lt 26 ] || grep '^✗' "$log" || ! grep -q '^Total:.* 0 failed' "$log"; then
    echo "2025-06-18: not everything passes"; tail -5 "$log"; failed=1
else
    echo "2025-06-18: every one of the $(grep -c '^✓' "$log") scenarios passes"
fi
# What should be, and need not: the suite only warns.
warned=$(grep -rl '"status": "WARNING"' "$place" | sed 's|.*/\(2[^/]*\)/\([^/]*\)-20[^/]*/.*|\1 \2|')
[ -z "$warned" ] || { echo "warnings:"; echo "$warned"; failed=1; }
exit $failed
