#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: servers on HTTP whose connections, streams and statuses are trouble: a call is sent
# once, and what it came to is what the server meant.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
"$build/mcp_fickle" >"$work/seen" &
upstream=$!
port=$(wait_line "$work/seen" 's/^port //p') || { echo "FAILED: no server"; exit 1; }
# Another, which goes while nobody is connected.
"$build/mcp_fickle" >"$work/other" &
other=$!
port2=$(wait_line "$work/other" 's/^port //p') || { echo "FAILED: no other server"; exit 1; }

# mode, what its call must come to
modes='
fine             "text":"fine"
closes           "errorKind":"outcome_unknown"
long-session     "text":"fine"
half-event       "text":"fine"
marked           "text":"fine"
busy-rest        "text":"fine"
lost-rest        "errorKind":"outcome_unknown"
no-method        the server refused no-method__t: go away.*"errorKind":"tool_execution_failed"
busy-news        "text":"fine"
refused-401      go away.*"errorKind":"unauthorized"
refused-403      go away.*"errorKind":"forbidden"
refused-429      go away.*retryAfterMs: 7000.*"errorKind":"rate_limited"
refused-503      go away.*retryAfterMs: 7000.*"errorKind":"upstream_unavailable"
date             retryAfterMs: 3[56][0-9]*\\n.*"errorKind":"rate_limited"
past-date        status 429 and no result\\nNext.*"errorKind":"rate_limited"
no-date          status 429 and no result\\nNext.*"errorKind":"rate_limited"
proxy-503        "errorKind":"outcome_unknown"
hangs            "errorKind":"timed_out"
own-headers      "text":"fine"
'
{
    printf '{"mcpServers":{'
    while read -r mode _; do
        [ -n "$mode" ] || continue
        time=20000
        [ "$mode" != hangs ] || time=500
        headers=
        [ "$mode" != own-headers ] || headers='"content-type":"application/json","Accept":"*/*","Mcp-session-ID":"x"'
        printf '"%s":{"url":"http://127.0.0.1:%s/%s","headers":{%s},"era":"legacy","timeoutMs":%s},' "$mode" "$port" "$mode" "$headers" $time
    done <<<"$modes"
    printf '"once":{"url":"http://127.0.0.1:%s/once","era":"legacy"},' "$port2"
    printf '"modern":{"url":"http://127.0.0.1:%s/modern","era":"modern"},' "$port"
    # The same of a tool that only reads.
    printf '"reads":{"url":"http://127.0.0.1:%s/closes","era":"legacy","effects":{"*":"Pure"}}}}\n' "$port"
} >"$HOME/.config/waybill/config.json"
call() { # SERVER [ARGUMENTS]
    rpc "$1" tools/call "\"name\":\"$1__t\",\"arguments\":{${2:-}}"
}
answer_to() { wait_line "$work/out" "/\"id\":\"$1\"/p" || bad "no answer to $1"; }
seen() { grep -c "^$1" "$work/seen"; }

talk
rpc list tools/list ''
answer_to list >/dev/null
while read -r mode _; do [ -z "$mode" ] || call "$mode"; done <<<"$modes"
count=0
while read -r mode want; do
    [ -n "$mode" ] || continue
    count=$((count + 1))
    answer=$(answer_to "$mode")
    grep -q -- "$want" <<<"$answer" || bad "$mode: not $want: ${answer:0:400}"
    n=$(seen "$mode POST tools/call")
    [ "$n" = 1 ] || bad "$mode: sent $n times"
done <<<"$modes"
call reads
answer=$(answer_to reads)
grep -q '"errorKind":"upstream_unavailable"' <<<"$answer" || bad "reads: ${answer:0:400}"
n=$(seen "closes POST tools/call")
[ "$n" = 2 ] || bad "reads: sent $((n - 1)) times"
# No header is left out, however large the arguments are: they are all there, or the call is
# not sent, and says why.
zeros=$(head -c 1000000 /dev/zero | sed 's/\x00/0,/g')0
call modern "\"x\":[$zeros]"
answer=$(answer_to modern)
grep -q '"text":"fine"' <<<"$answer" || bad "large arguments: ${answer:0:400}"
long=$(head -c 40000 /dev/zero | tr '\0' z)
rpc long tools/call "\"name\":\"modern__t\",\"arguments\":{\"h\":\"$long\"}"
answer=$(answer_to long)
grep -q 'longer than 32 KiB.*"errorKind":"tool_execution_failed"' <<<"$answer" || bad "a long header: ${answer:0:400}"
n=$(seen "modern POST tools/call")
[ "$n" = 1 ] || bad "a call without its headers was sent"
# Who was too busy for the stream of news is asked again.
wait_line "$work/seen" '/^busy-news listens/p' >/dev/null || bad "no news of a server that was busy"
# A server that is gone: nothing was sent, so nothing was done.
kill $other
wait $other 2>/dev/null
call once
answer=$(answer_to once)
grep -q '"errorKind":"upstream_unavailable"' <<<"$answer" || bad "once: ${answer:0:400}"
# What nobody waits for has an end too, at a server that never answers.
wait_line "$work/seen" '/^hangs gone notifications\/cancelled/p' >/dev/null || bad "a notification is open for ever"
hush
# Who is excepted from the proxy is reached without it, or not at all.
config "{\"mcpServers\":{\"inside\":{\"url\":\"http://127.0.0.2:1/fine\",\"era\":\"legacy\"}}}"
for who in '' 127.0.0.2 '*'; do
    before=$(wc -l <"$work/seen")
    http_proxy=http://127.0.0.1:$port NO_PROXY=$who "$build/waybill" call inside__t --root "$work/ws" >"$work/proxied" 2>&1
    after=$(wc -l <"$work/seen")
    case $who in
    '') [ "$after" != "$before" ] || bad "the proxy is not asked: $(cat "$work/proxied")" ;;
    *) [ "$after" = "$before" ] || bad "the proxy is asked though NO_PROXY is $who" ;;
    esac
done
[ $failed = 0 ] && echo "HTTP upstreams: $count kinds of trouble, one clear outcome each"
exit $failed
