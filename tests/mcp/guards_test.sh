#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Guards around the gateway and its upstreams: trace context and progress on both
# sides (C8.9, C10), approvals of calls that came by `serve` (C3.4), a reload while
# it serves.
set -u
build=${WAYBILL_BUILD:-build/dev}
build=$(cd "$build" && pwd)
waybill=$build/waybill
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
trap 'exec 8>&-; [ -n "${pid:-}" ] && kill $pid 2>/dev/null; rm -rf "$work"' EXIT
unset TRACEPARENT TRACESTATE
cd "$work/ws" || exit 1
rpc() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s}}\n' "$1" "$2" "$3"; }
need() { grep -q -- "$2" "$3" || { bad "$1"; cut -c1-600 "$3"; }; }
until_seen() { # what, pattern, file
    for _ in $(seq 400); do grep -q -- "$2" "$3" 2>/dev/null && return; sleep 0.05; done
    bad "never: $1"; cut -c1-600 "$3"
}
trace=0af7651916cd43dd8448eb211c80319c
parent=00-$trace-b7ad6b7169203331-01

# What goes to the server passes through tee, so that it can be looked at.
config "{\"tools\":[{\"name\":\"show\",\"effect\":\"Pure\",\"command\":[\"sh\",\"-c\",\"echo \\\"\$TRACEPARENT|\$TRACESTATE\\\"\"]},
  {\"name\":\"own\",\"effect\":\"Pure\",\"env\":{\"TRACEPARENT\":\"mine\"},\"command\":[\"sh\",\"-c\",\"echo \$TRACEPARENT\"]}],
 \"mcpServers\":{\"demo\":{\"command\":\"sh\",\"args\":[\"-c\",\"tee -a $work/seen | $build/mcp_demo_server\"],\"effects\":{\"*\":\"Pure\"}}},
 \"bindings\":[{\"principal\":\"local\",\"allow\":[\"*\"],\"approval\":{\"mcp::demo::test_simple_text\":\"ask\"}}]}"

# A span of the call's own in the caller's trace, by environment and by _meta.
"$waybill" call show --traceparent $parent --header tracestate=a=1 >out
need "a local tool gets the trace" "00-$trace-[0-9a-f]*-01" out
grep -q b7ad6b7169203331 out && bad "the caller's span was passed on"
"$waybill" call show --header traceparent=$parent --header tracestate=a=1 >out
need "and the state" "00-$trace-[0-9a-f]*-01|a=1" out
"$waybill" call show --traceparent 00-$trace-0000000000000000-01 >out
need "a bad one begins a new trace" '00-[0-9a-f]\{32\}-[0-9a-f]\{16\}-03|$' out
grep -q $trace out && bad "a bad traceparent was used"
"$waybill" call own --traceparent $parent >out
need "a tool's own environment wins" '^mine$' out
"$waybill" call ExecCommand --traceparent $parent --input '{"cmd":"echo $TRACEPARENT"}' >out
need "commands get it, too" "^00-$trace-[0-9a-f]*-01" out
TRACEPARENT=$parent "$waybill" exec -- sh -c 'echo $TRACEPARENT' >out
need "exec leaves the environment alone" "^$parent\$" out
"$waybill" call demo__echo --input '{"message":"x"}' --traceparent $parent >out 2>&1
need "an upstream gets it in _meta" "\"method\":\"tools/call\".*\"traceparent\":\"00-$trace-[0-9a-f]*-01\"" "$work/seen"
grep -q b7ad6b7169203331 "$work/seen" && bad "the caller's span went upstream"

# Progress of an upstream becomes frames.
"$waybill" call demo__test_tool_with_progress --stream >out 2>&1
need "progress" '"sequence":0,"event":"partial","data":{"progress":0,"total":100}' out
need "more of it" '"sequence":2,"event":"partial","data":{"progress":100,"total":100}' out
need "the last frame" '"sequence":3,"event":"completed"' out

# Through serve: _meta of a client passes as it is; approvals are answered from outside.
mkfifo pipe
: > "$work/seen"
"$waybill" serve < pipe > out 2> err &
pid=$!
exec 8> pipe
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{}' >&8
rpc 1 tools/call "\"name\":\"demo__echo\",\"arguments\":{\"message\":\"x\"},\"_meta\":{\"traceparent\":\"$parent\",\"vendor\":7}" >&8
until_seen "the first answer" '"id":1,"result"' out
need "the client's trace" "\"traceparent\":\"$parent\"" "$work/seen"
need "the client's own members" '"vendor":7' "$work/seen"
# What is not valid begins a new trace, upstream as in the events; a state has no trace but its own.
traced() { # what, id, members of _meta, members that must reach the server
    : > "$work/seen"
    rpc "$2" tools/call "\"name\":\"demo__echo\",\"arguments\":{\"message\":\"x\"},\"_meta\":{$3\"vendor\":7}" >&8
    until_seen "the answer: $1" "\"id\":$2,\"result\"" out
    need "$1" "\"_meta\":{$4,\"io.model" "$work/seen"
}
new='"vendor":7,"traceparent":"00-[0-9a-f]\{32\}-[0-9a-f]\{16\}-03"'
traced "a bad traceparent" 11 '"traceparent":"00-zz","tracestate":"a=1",' "$new"
grep -q '00-zz\|a=1' "$work/seen" && bad "a bad traceparent went upstream"
traced "one that is no string" 12 '"traceparent":7,"tracestate":"a=1",' "$new"
traced "a state alone" 13 '"tracestate":"a=1",' "$new"
traced "both of the client" 14 "\"traceparent\":\"$parent\",\"tracestate\":\"a=1\"," "\"traceparent\":\"$parent\",\"tracestate\":\"a=1\",\"vendor\":7"
traced "a bad state" 15 "\"traceparent\":\"$parent\",\"tracestate\":\"=\"," "\"traceparent\":\"$parent\",\"vendor\":7"
for answer in yes no; do
    rpc "\"$answer\"" tools/call '"name":"demo__test_simple_text","arguments":{}' >&8
    for _ in $(seq 400); do
        id=$("$waybill" approve list --json | grep -o 'approval_[0-9a-f]*') && break
        sleep 0.05
    done
    "$waybill" approve -q $answer "$id" || bad "approve $answer"
    "$waybill" approve -q $answer "$id" 2>/dev/null && bad "an approval was answered twice"
    until_seen "the answer after $answer" "\"id\":\"$answer\"" out
done
need "yes lets it run" '"id":"yes","result":.*simple text' out
need "no refuses it" '"id":"no","result":.*approval_denied.*"isError":true' out
[ -z "$(find "$work/ws" -name '*approv*')" ] || bad "approvals are kept in the workspace"

# Over HTTP the request's own headers count where _meta has no trace; of two parents neither does.
start_gateway
meta='"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}'
asked() { # members of _meta, headers…: what the tool `show` was given
    local body
    body=$(rpc 1 tools/call "\"name\":\"show\",\"_meta\":{$1$meta}")
    shift
    curl -s "$url" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Mcp-Name: show' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Mcp-Method: tools/call' "$@" -d "$body" >out
}
asked '' -H "traceparent: $parent" -H 'tracestate: a=1' -H 'tracestate: b=2'
need "the trace of the HTTP request" "\\\\n00-$trace-[0-9a-f]*-01|a=1,b=2\"" out
grep -q b7ad6b7169203331 out && bad "the span of the HTTP request was passed on"
asked '' -H "traceparent: $parent" -H "traceparent: $parent"
grep -q $trace out && bad "one of two traces was chosen"
asked "\"traceparent\":\"${parent/0af7/1af7}\"," -H "traceparent: $parent" -H 'tracestate: a=1'
need "_meta comes first" "\\\\n00-${trace/0af7/1af7}-[0-9a-f]*-01|\"" out
stop_gateway

# Resources, prompts, logs, progress and refusals of a server lose their secrets as results of tools
# do; what holds none passes member for member (C8.8).
half=ghp_ # in two pieces, so that no scanner takes this file for a leak
config "{\"mcpServers\":{\"leaky\":{\"command\":\"$build/mcp_chaos\",\"args\":[\"leaks\",\"like ${half}16C7e42F292c6912E7710c838347Ae178B4a\"]}},
 \"policies\":{\"tools\":{\"mcp::leaky::resources/*\":{\"redact\":[\"contents[*].mail\"]}}}}"
{ rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{}'
  rpc 1 resources/read '"uri":"test://secret"'
  rpc 2 resources/read '"uri":"test://clean"'
  rpc 3 resources/read '"uri":"test://refused"'
  rpc 4 prompts/get '"name":"leaky__p"'
  rpc 5 tools/call '"name":"leaky__t","arguments":{},"_meta":{"progressToken":"p"}'
  rpc 6 tools/list ''; } |
    "$waybill" serve > leaks 2> leaks.err || bad "serve with a leaky server: $(cat leaks.err)"
grep -q 'ghp_16C7\|hunter2\|"token":"abc"\|ann@example' leaks && bad "a secret of the server came through: $(cut -c1-400 leaks)"
need "a resource" '"id":1,"result":{"contents":\[{"uri":"test://secret","text":"key \[redacted:' leaks
need "what else it holds stays" '"odd":1,"_meta":{"a":1,"waybill/redactions":\["contents\[0\].text","contents\[1\].mail"\]}' leaks
need "a clean one, untouched" '"id":2,"result":{"odd":1.5,"contents":\[{"text":"A","uri":"test://clean"}\]}' leaks
need "a refusal" '"id":3,"error":{"code":-32002,"message":"no \[redacted:.*"token":"\[redacted:.*"uri":"test://refused"' leaks
need "a prompt" '"id":4,"result":.*"text":"use \[redacted:.*"waybill/redactions":\["messages\[0\].content.text"\]' leaks
need "the name of a log" '"logger":"like \[redacted:' leaks
need "a log message" '"data":{"said":"log \[redacted:[^"]*","password":"\[redacted:' leaks
need "progress" '"progressToken":"p".*"message":"step \[redacted:' leaks
need "a description" '"leaky__t".*"description":"like \[redacted:' leaks
need "the call itself" '"id":5,"result":.*"text":"fine"' leaks

# An artifact is cut when its secrets are gone: half of one nobody would know.
config '{}'
"$waybill" exec -- sh -c "head -c 1048549 /dev/zero | tr '\0' x; printf ' '; echo ${half}16C7e42F292c6912E7710c838347Ae178B4a" >/dev/null
{ rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{}'
  rpc 1 resources/list ''; } | "$waybill" serve >out 2>&1
uri=$(grep -o 'waybill://artifact/[^"]*' out | head -1)
{ rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{}'
  rpc 1 resources/read "\"uri\":\"$uri\""; } | "$waybill" serve >out 2>&1
tail -c 300 out >end
need "the end of what is shown" 'xxx \[redacted.*\\n\[[0-9]* bytes in all; ReadArtifact reads the rest\]"' end
grep -q "$half" out && bad "half a secret is shown: $(cat end)"

# 2026-07-28: a call goes on after a question and is cancelled by the id of the retry; the server
# hears of it, the client gets no answer, and nothing is left running.
config "{\"mcpServers\":{\"slow\":{\"command\":\"sh\",\"args\":[\"-c\",\"tee -a $work/slow | $build/mcp_chaos asks-and-hangs\"]}}}"
modern='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}'
mkfifo retry
"$waybill" serve < retry > asked 2> asked.err &
asking=$!
exec 9> retry
rpc 1 tools/call "\"name\":\"slow__t\",\"arguments\":{},$modern" >&9
until_seen "the question" '"id":1,"result":.*"input_required"' asked
key=$(grep -o '"inputRequests":{"[^"]*"' asked | cut -d'"' -f4)
token=$(grep -o '"requestState":"[^"]*"' asked | cut -d'"' -f4)
rpc 2 tools/call "\"name\":\"slow__t\",\"arguments\":{},\"requestState\":\"$token\",\"inputResponses\":{\"$key\":{\"action\":\"accept\",\"content\":{}}},$modern" >&9
until_seen "the answer at the server" '"id":"e1".*"action":"accept"' "$work/slow"
printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"%s",%s}}\n' "no \\\"longer\\\" wanted $(head -c 2000 /dev/zero | tr '\0' x)" "$modern" >&9
until_seen "the server is told, and why" 'notifications/cancelled","params":{"requestId":[0-9]*,"reason":"no \\"longer\\" wanted[ x]*"}}' "$work/slow"
[ "$(grep notifications/cancelled "$work/slow" | wc -c)" -lt 1300 ] || bad "a long reason goes on whole"
exec 9>&-
for _ in $(seq 400); do kill -0 $asking 2>/dev/null || break; sleep 0.05; done
kill -0 $asking 2>/dev/null && { bad "a call that was cancelled keeps the gateway"; kill $asking; }
wait $asking || bad "serve with a slow server: $(cat asked.err)"
grep -q '"id":2' asked && bad "a cancelled call was answered: $(grep '"id":2' asked | cut -c1-200)"
"$waybill" ledger list --json > rows
[ "$(grep -o '"tool":"slow__t"' rows | wc -l)" = 1 ] || bad "question and retry are one call: $(cat rows)"
need "which ended as cancelled" '"tool":"slow__t","status":"error","error_kind":"cancelled"' rows

# A reload: wrong files change nothing and are told, right ones hold, and the client hears of it.
config '{"policies":{"environment":{"timeoutMs":0}}}'
kill -HUP $pid
until_seen "why the old ones stay" 'the old policies stay in force: .*config.json: 1:29: ' err
rpc 5 tools/call '"name":"ReadFile","arguments":{"path":"nosuch"}' >&8
until_seen "a call under the old ones" '"id":5,"result"' out
need "which allow it" '"id":5,"result":.*nosuch' out
config '{"bindings":[{"principal":"local","allow":["*"],"deny":["ReadFile"]}]}'
kill -HUP $pid
until_seen "the reload" 'policies and bindings were read again' err
until_seen "the client is told" '"method":"notifications/tools/list_changed"' out
rpc 6 tools/call '"name":"ReadFile","arguments":{"path":"nosuch"}' >&8
rpc 7 tools/list '' >&8
until_seen "the list" '"id":7,"result"' out
need "the new binding holds" '"id":6,"result":.*forbidden' out
grep '"id":7' out | grep -q '"name":"ReadFile"' && bad "a denied tool is listed"
exec 8>&-
wait $pid || bad "serve ended with $?"
pid=
[ $failed = 0 ] && echo "guards hold around the gateway"
exit $failed
