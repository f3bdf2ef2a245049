#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: the official suite's client scenarios that concern tools, with the gateway
# as the client of the suite's servers, by HTTP, in both eras. Those about OAuth
# are not offered (docs/mcp.md).
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
. "$here/gateway.sh"
npm_node
npm_need conformance
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export WAYBILL=$build/waybill
failed=0 passed=0
check() { # revision, scenarios
    local revision=$1
    shift
    for scenario; do
        timeout 60 "$node" "$suite" client --command "$node $here/drive_upstream.mjs" --scenario "$scenario" \
            --spec-version "$revision" >"$log" 2>&1
        if grep -q '^Passed: .* 0 failed' "$log" && ! grep -q 'OVERALL: FAILED' "$log"; then
            passed=$((passed + 1))
        else
            echo "FAILED: $revision $scenario"
            grep -E 'FAILURE|Error|Passed' "$log" | cut -c1-300
            failed=1
        fi
    done
}
check 2025-06-18 initialize tools_call
check 2025-11-25 initialize tools_call elicitation-sep1034-client-defaults sse-retry json-schema-2020-12-preservation
check 2026-07-28 tools_call request-metadata sep-2322-client-request-state http-standard-headers \
    http-custom-headers http-invalid-tool-headers json-schema-ref-no-deref \
    json-schema-2020-12-preservation
[ $failed = 0 ] && echo "all $passed client scenarios about tools pass"
exit $failed
