#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: both eras on both sides, both transports upstream: a client of each era
# calls through the relay, asks for progress, reads and lists.
set -u
build=${WAYBILL_BUILD:-build/dev}
work=$(mktemp -d)
"$build/mcp_demo_server" --http 127.0.0.1:0 2>"$work/log" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$work/log")
    [ -n "$url" ] && break
    sleep 0.05
done
[ -n "$url" ] || { echo "the demo server did not start"; exit 1; }

meta='"_meta":{"progressToken":9,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}'
rpc() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s}}\n' "$1" "$2" "$3"; }

# The lines of a client of an era.
talk() {
    if [ "$1" = legacy ]; then
        rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}'
        with='"_meta":{"progressToken":9}'
    else
        with=$meta
    fi
    rpc 1 tools/call "\"name\":\"echo\",\"arguments\":{\"message\":\"héllo\"},$with"
    rpc 2 tools/list "$with"
    rpc 3 resources/read "\"uri\":\"test://static-text\",$with"
    rpc 4 prompts/get "\"name\":\"test_prompt_with_arguments\",\"arguments\":{\"arg1\":\"a\",\"arg2\":\"b\"},$with"
    rpc 5 tools/call "\"name\":\"nosuch\",$with"
    rpc 6 tools/call "\"name\":\"test_tool_with_progress\",$with"
}

failed=0
need() { # what, pattern
    grep -q -- "$2" "$work/out" || { echo "$pair: no $1"; cat "$work/out"; failed=1; }
}
for client in legacy modern; do
    for era in legacy modern; do
        for up in "$build/mcp_demo_server" "$url"; do
            pair="$client client, $era upstream $up"
            talk $client | timeout 20 "$build/mcp_relay" --era $era "$up" >"$work/out" 2>"$work/err" ||
                { echo "$pair: relay failed"; cat "$work/err"; failed=1; }
            need "echo" '"id":1,"result":.*Echo: héllo'
            need "list" '"id":2,"result":.*"name":"test_simple_text"'
            need "resource" '"id":3,"result":.*static text resource'
            need "prompt" "\"id\":4,\"result\":.*arg1='a', arg2='b'"
            need "unknown tool" '"id":5,"error":{"code":-32602'
            need "progress" '"progressToken":9,"progress":50'
            need "last answer" '"id":6,"result"'
            if [ $client = modern ]; then
                need "caching hint" '"id":2,"result":{"resultType":"complete","ttlMs"'
            elif grep -q resultType "$work/out"; then
                echo "$pair: members of the other era"; failed=1
            fi
        done
    done
done
[ $failed = 0 ] && echo "all eight pairings hold"
exit $failed
