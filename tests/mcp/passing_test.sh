#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What servers offer besides tools, through the gateway (C10): each resource and prompt is its
# own server's, one that hangs or is dead costs the others nothing, whoever watches a resource
# hears of it for as long as somebody does.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
# library ARGUMENTS…: a server of the configuration
library() {
    local args
    args=$(printf ',"%s"' "$@")
    printf '{"command":"%s","args":[%s]}' "$build/mcp_library" "${args#,}"
}
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
# answer ID [SECONDS]: its line, into $line
answer() {
    for _ in $(seq $((${2:-10} * 20))); do
        line=$(grep -m1 "\"id\":\"$1\"" "$work/out") && return
        sleep 0.05
    done
    line=
    bad "no answer to $1"
}
need() { grep -q -- "$2" <<<"$line" || bad "$1: ${line:0:400}"; }
none() { ! grep -q -- "$2" <<<"$line" || bad "$1: ${line:0:400}"; }
seconds() { printf '%s' $(($(date +%s) - $1)); }

# Whose is a resource? Also one whose URI another's contains, or is contained in.
token="ghp_16C7e42F292c6912E7710c838347""Ae178B4a"
config "{\"mcpServers\":{\"gone\":{\"command\":\"sh\",\"args\":[\"-c\",\"echo lost $token >&2; exit 3\"]},
 \"a\":$(library name=a uris=fx://item/10,mem://x?note=fx://private template=a://t/{id}),
 \"b\":$(library name=b uris=fx://item/1,fx://private template=b://{+rest} era=modern)}}"
talk
for when in unlisted listed; do
    for case in fx://item/1=b fx://item/10=a fx://private=b a://t/5=a b://x/y=b; do
        rpc "$when-$case" resources/read "\"uri\":\"${case%=*}\""
        answer "$when-$case"
        need "$when: ${case%=*}" "\"text\":\"of ${case#*=}\""
    done
    rpc "$when-none" resources/read '"uri":"zz://none"'
    answer "$when-none"
    need "an unknown resource beside a dead server" '"code":-32002.*"uri":"zz://none"'
    rpc "$when-list" resources/list ''
    answer "$when-list"
    rpc "$when-templates" resources/templates/list ''
    answer "$when-templates"
done
need "templates of both" 'a://t/{id}.*b://{+rest}'
rpc keep resources/read "\"uri\":\"b://x\",$meta"
answer keep
need "kept as long as its server says" '"ttlMs":1000,'
rpc long resources/read "\"uri\":\"a://t/1\",$meta"
answer long
need "and not at all where it says nothing" '"ttlMs":0,'
# Numbers are longer in our spelling: what does not fit any more is refused, not cut.
numbers=$(head -c 900000 /dev/zero | sed 's/\x00/1e20,/g')1
rpc many prompts/get "\"name\":\"a__x\",\"arguments\":{\"n\":[$numbers]}"
answer many
need "params that grow too long" '"code":-32602,"message":"params are longer than 16 MiB"'
rpc secret prompts/get '"name":"gone__x"'
answer secret
need "why a server is dead" '"code":-32603.*lost \[redacted'
none "its words hold no secret" "$token"
rpc refer completion/complete '"ref":{"type":"ref/prompt","name":"nobodys"},"argument":{"name":"x","value":""}'
answer refer
need "nobody's prompt is completed by nobody" '"code":-32602'
rpc complete completion/complete '"ref":{"type":"ref/resource","uri":"a://t/{id}"},"argument":{"name":"x","value":""}'
answer complete
need "a template by its server" '"values":\["of a"\]'
hush
"$build/waybill" doctor --root "$work/ws" >"$work/out" 2>&1
line=$(grep '^server gone' "$work/out")
need "doctor says why" 'lost \[redacted'

# Pages go on where they were, whoever answers first; what is no prompt costs no other.
config "{\"mcpServers\":{\"a\":$(library name=a prompts=200 slow=500),\"b\":$(library name=b prompts=200)}}"
talk
rpc page1 prompts/list ''
answer page1
need "the order is the configuration's" '"prompts":\[{"name":"a__p000"}'
cursor=$(sed -n 's/.*"nextCursor":"\([^"]*\)".*/\1/p' <<<"$line")
grep -o '"name":"[ab]__p...' <<<"$line" >"$work/names"
rpc page2 prompts/list "\"cursor\":\"$cursor\""
answer page2
grep -o '"name":"[ab]__p...' <<<"$line" >>"$work/names"
[ "$(sort -u "$work/names" | wc -l)" = 400 ] || bad "$(sort -u "$work/names" | wc -l) prompts of 400 on two pages"
for cursor in p p1. p.1 p0.9 p99999 p1.x q1; do
    rpc "cursor-$cursor" prompts/list "\"cursor\":\"$cursor\""
    answer "cursor-$cursor"
    need "a foreign cursor" '"code":-32602'
done
hush

# Names: the longest prefix counts; of two servers without one the first has the name.
config "{\"mcpServers\":{\"a\":$(library name=a),\"a__b\":$(library name=ab),
 \"c\":$(library name=c prompts=2 | sed 's/}$/,"prefix":""}/'),\"d\":$(library name=d prompts=3 | sed 's/}$/,"prefix":""}/')}}"
talk
for when in unlisted listed; do
    rpc "$when-long" prompts/get '"name":"a__b__p000"'
    answer "$when-long"
    need "the longest prefix" '"text":"p000 of ab"'
    rpc "$when-list" prompts/list ''
    answer "$when-list"
    need "each name once" '"prompts":\[{"name":"a__p000"},{"name":"a__b__p000"},{"name":"p000"},{"name":"p001"},{"name":"p002"}\]'
done
rpc first prompts/get '"name":"p001"'
answer first
need "a name of two is the first one's" '"text":"p001 of c"'
rpc second prompts/get '"name":"p002"'
answer second
need "a name of the second" '"text":"p002 of d"'
hush

# Shown and given alike: the first one's, also where another one's prefix says more of the name.
config "{\"mcpServers\":{\"c\":$(library name=c stem=a__p | sed 's/}$/,"prefix":""}/'),\"a\":$(library name=a)}}"
talk
rpc list prompts/list ''
answer list
need "one prompt" '"prompts":\[{"name":"a__p000"}\]'
rpc get prompts/get '"name":"a__p000"'
answer get
need "of the one that is shown" '"text":"a__p000 of c"'
hush

# A server that has tools only costs a client neither its methods nor those of the others.
for era in legacy modern; do
    config "{\"mcpServers\":{\"a\":$(library name=a bare=yes era=$era)}}"
    talk
    rpc read resources/read '"uri":"zz://none"'
    answer read
    need "$era: its resource is not found" '"code":-32002.*"uri":"zz://none"'
    rpc prompt prompts/get '"name":"a__x"'
    answer prompt
    need "$era: nor its prompt" '"code":-32602,"message":"there is no such prompt'
    rpc complete completion/complete '"ref":{"type":"ref/prompt","name":"a__x"},"argument":{"name":"x","value":""}'
    answer complete
    need "$era: nothing completes it" '"result":{"completion":{"values":\[\]}}'
    hush
done

# That a resource is not there has another code in each revision: the client's counts.
for era in legacy modern; do
    config "{\"mcpServers\":{\"a\":$(library name=a era=$era)}}"
    talk
    rpc older resources/read '"uri":"zz://none"'
    answer older
    need "a $era server, an older client" '"error":{"code":-32002'
    rpc newer resources/read "\"uri\":\"zz://none\",$meta"
    answer newer
    need "a $era server, a newer client" '"error":{"code":-32602'
    hush
done

# What a server says about our own headers and version is not about the client's.
config "{\"mcpServers\":{\"a\":$(library name=a refuse=-32020 era=modern),\"b\":$(library name=b refuse=-32022 era=modern),\"c\":$(library name=c refuse=-32050)}}"
talk
for case in a=-32603 b=-32603 c=-32050; do
    rpc "$case" prompts/get "\"name\":\"${case%=*}__p000\",$meta"
    answer "$case"
    need "the refusal of ${case%=*}" "\"code\":${case#*=},\"message\":\"no\""
done
hush

# Answers to questions are those of one hop: they do not go on as they came.
config "{\"mcpServers\":{\"a\":$(library name=a "record=$work/hops")}}"
talk
rpc hop prompts/get "\"name\":\"a__p000\",\"inputResponses\":{\"k\":{}},\"arguments\":{},$meta"
answer hop
need "it is given all the same" '"text":"p000 of a"'
# What is null was not given; strict servers refuse it.
rpc none prompts/get '"name":"a__p001","arguments":null'
answer none
need "arguments that are null" '"text":"p001 of a"'
echo '{"jsonrpc":"2.0","id":"void","method":"ping","params":null}' >&3
answer void
need "params that are null" '"id":"void","result":{}'
hush
grep -q '"params":{"name":"p001"}' "$work/hops" || bad "null is passed on: $(grep prompts/get "$work/hops")"
grep -q '"params":{"name":"p000","arguments":{}}' "$work/hops" || bad "passed on: $(grep prompts/get "$work/hops")"

# Log messages: a server of an older revision is told the level, and which of the calls of
# one conversation it speaks of need not be known.
config "{\"mcpServers\":{\"w\":$(library "record=$work/record" | sed 's/}$/,"tools":{"hold":{"parallel":true},"touch":{"parallel":true}}}/')}}"
talk
rpc list tools/list ''
answer list
rpc level logging/setLevel '"level":"debug"'
rpc hold tools/call '"name":"w__hold","arguments":{}'
rpc touch tools/call '"name":"w__touch","arguments":{"uri":"x"}'
answer touch
answer hold
grep -q '"method":"logging/setLevel","params":{"level":"debug"}' "$work/record" || bad "the server is not told the level"
[ "$(grep -c '"method":"notifications/message".*"touched"' "$work/out")" = 1 ] || bad "its message does not arrive once"
hush

# Calls that came before their tool was known need not be alone once it is.
talk
rpc first tools/call '"name":"w__touch","arguments":{"uri":"x"}'
rpc hold tools/call '"name":"w__hold","arguments":{}'
rpc touch tools/call '"name":"w__touch","arguments":{"uri":"x"}'
answer first
answer touch
answer hold
hush

# A call that waits to be alone and is cancelled no longer holds up those behind it.
talk
rpc list tools/list ''
answer list
rpc hold tools/call '"name":"w__hold","arguments":{}'
rpc die tools/call '"name":"w__die","arguments":{}'
rpc touch tools/call '"name":"w__touch","arguments":{"uri":"x"}'
printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"die"}}\n' >&3
answer touch
answer hold
hush

# A server that hangs: others' answers come, lists in 15 s, and then at once.
config "{\"mcpServers\":{\"h\":$(library name=h mute=prompts/),\"r\":$(library name=r mute=resources/ uris=r://1),\"b\":$(library name=b uris=b://1)}}"
talk
rpc read resources/read '"uri":"b://1"'
answer read
need "a read beside a server that hangs" 'of b'
rpc gone prompts/list ''
printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}\n' >&3
since=$(date +%s)
rpc prompts prompts/list '' # the other was the first to wait
rpc resources resources/list ''
answer resources 25
need "resources of the others" 'b://1'
[ "$(seconds "$since")" -le 20 ] || bad "a list took $(seconds "$since") s"
answer prompts
need "prompts of the others" 'b__p000'
since=$(date +%s)
rpc again resources/list ''
answer again
[ "$(seconds "$since")" -le 3 ] || bad "a server known to hang is waited for again"
! grep -q '"id":"gone"' "$work/out" || bad "a cancelled list is answered"
# Nothing that hangs keeps the gateway from its end.
rpc hangs prompts/get '"name":"h__p000"'
rpc reads resources/read '"uri":"r://1"'
sleep 0.3
kill -TERM "$(pgrep -P $pid)"
since=$(date +%s)
wait $pid
[ "$(seconds "$since")" -le 12 ] || bad "the end took $(seconds "$since") s"
exec 3>&-

# Who watches: over HTTP, two sessions and a listening stream, servers of both eras.
post() { # SESSION ID METHOD PARAMS [curl options]
    local session=$1 id=$2 method=$3 params=$4
    shift 4
    curl -s -m 20 -X POST -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' ${session:+-H "Mcp-Session-Id: $session"} "$@" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"$method\",\"params\":{$params}}" "$url"
}
session() {
    post '' 1 initialize '"protocolVersion":"2025-11-25","capabilities":{}' -D "$work/head" >/dev/null
    sed -n 's/^Mcp-Session-Id: \([^\r]*\).*/\1/ip' "$work/head"
}
stream() { curl -s -N -H "Authorization: Bearer $token" -H 'Accept: text/event-stream' -H "Mcp-Session-Id: $1" "$url" >"$2" 2>/dev/null & }
wait_record() { # COUNT PATTERN
    for _ in $(seq 600); do
        [ "$(grep -c -- "$2" "$work/record" 2>/dev/null)" -ge "$1" ] && return
        sleep 0.05
    done
    bad "$era: the server was not told $1 times: $2"
}
wait_news() { # FILE COUNT URI
    for _ in $(seq 600); do
        [ "$(grep -c "resources/updated.*\"$3\"" "$1")" -ge "$2" ] && return
        sleep 0.05
    done
    bad "$era: $1 has not $2 news of $3"
}
command -v curl >/dev/null || { echo "skipped: watching (no curl)"; exit $failed; }
for era in legacy modern; do
    : >"$work/record"
    config "{\"mcpServers\":{\"w\":$(library name=w era=$era uris=w://1,w://2 "record=$work/record")}}"
    start_gateway
    one=$(session)
    two=$(session)
    stream "$one" "$work/news1"
    stream "$two" "$work/news2"
    touch_it() { post "$one" 9 tools/call "\"name\":\"w__touch\",\"arguments\":{\"uri\":\"$1\"}" >/dev/null; }
    if [ $era = legacy ]; then
        on='"method":"resources/subscribe"' off='"method":"resources/unsubscribe"'
    else
        on='"subscriptions/listen".*"resourceSubscriptions":\["w://1"\]' off='"subscriptions/listen".*"resourcesListChanged":true},'
    fi
    post "$one" 2 resources/subscribe '"uri":"w://1"' >/dev/null # before anything was listed
    wait_record 1 "$on"
    post "$two" 2 resources/subscribe '"uri":"w://1"' >/dev/null
    post "$two" 3 resources/subscribe '"uri":"w://1"' >/dev/null
    touch_it w://1
    wait_news "$work/news1" 1 w://1
    wait_news "$work/news2" 1 w://1
    post "$two" 4 resources/unsubscribe '"uri":"w://1"' >/dev/null
    touch_it w://1
    wait_news "$work/news1" 2 w://1
    [ "$(grep -c resources/updated "$work/news2")" = 1 ] || bad "$era: news after unsubscribing"
    post "$one" 5 tools/call '"name":"w__die","arguments":{}' >/dev/null # it is asked again after a new start
    wait_record 2 "$on"
    wait_news "$work/news1" 3 w://1 # and what was missed is told
    touch_it w://1
    wait_news "$work/news1" 4 w://1
    before=$(grep -c -- "$off" "$work/record")
    curl -s -X DELETE -H "Authorization: Bearer $token" -H "Mcp-Session-Id: $one" "$url"
    wait_record $((before + 1)) "$off"
    # A listening stream of 2026-07-28 watches, too, and its end is an end.
    curl -s -N -X POST -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: subscriptions/listen' \
        -d "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"resourceSubscriptions\":[\"w://1\"]},$meta}}" \
        "$url" >"$work/news3" 2>/dev/null &
    listener=$!
    wait_record 3 "$on"
    one=$two
    touch_it w://1
    wait_news "$work/news3" 1 w://1
    before=$(grep -c -- "$off" "$work/record")
    kill $listener
    wait_record $((before + 1)) "$off"
    grep -q '"method":"resources/subscribe"' "$work/record" && [ $era = modern ] && bad "a server of 2026-07-28 is asked to subscribe"
    stop_gateway
done

# What nobody can tell of is not promised: no server, one that has said so, a list that has both.
refused='"code":-32602,"message":"no server here can tell'
listen() { # URIS: the first message of the stream
    curl -s -N -m 2 -X POST -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: subscriptions/listen' \
        -d "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"resourceSubscriptions\":[$1]},$meta}}" \
        "$url" 2>/dev/null | grep -m1 '^data: '
}
config '{}'
start_gateway
one=$(session)
got=$(post "$one" 2 resources/subscribe '"uri":"w://1"')
[[ $got == *"$refused"* ]] || bad "a subscription without a server: $got"
got=$(post "$one" 3 resources/subscribe '"uri":"waybill://artifact/a.log"')
[[ $got == *'"result":{}'* ]] || bad "a subscription to what never changes: $got"
got=$(listen '"w://1","waybill://artifact/a.log"')
[[ $got == *'"resourceSubscriptions":["waybill://artifact/a.log"]'* ]] || bad "a promise nobody keeps: $got"
stop_gateway
mkdir -p "$work/canned"
echo '{"name":"t","inputSchema":{"type":"object"}}' >"$work/canned/tools"
config "{\"mcpServers\":{\"c\":{\"command\":\"$build/mcp_canned\",\"args\":[\"$work/canned\"],\"era\":\"legacy\"}}}"
start_gateway
one=$(session)
post "$one" 2 tools/list '' >/dev/null
got=$(post "$one" 3 resources/subscribe '"uri":"w://1"')
[[ $got == *"$refused"* ]] || bad "a subscription at a server that has none: $got"
got=$(listen '"w://1"')
[[ $got == *'"resourceSubscriptions":[]'* ]] || bad "a promise of a server that makes none: $got"
stop_gateway

# Artifacts are read by whoever may call ReadArtifact, and by nobody else (C3.4).
config '{}'
artifact=$("$build/waybill" exec --root "$work/ws" -- seq 1 30000 | sed -n 's|.*artifacts/\([^ ]*\.log\).*|\1|p' | head -1)
[ -n "$artifact" ] || bad "no artifact was made"
for allow in '"ReadArtifact","ListFiles"' '"ListFiles"'; do
    config "{\"bindings\":[{\"principal\":\"*\",\"allow\":[$allow]}]}"
    talk
    rpc list resources/list ''
    rpc read resources/read "\"uri\":\"waybill://artifact/$artifact\""
    answer list
    if [ "$allow" = '"ListFiles"' ]; then
        none "artifacts are listed" 'waybill://'
        answer read
        need "artifacts are read" '"code":-32002'
    else
        need "artifacts are not listed" "waybill://artifact/$artifact"
        answer read
        need "artifacts are not read" '"text":"1\\n2'
    fi
    hush
done

# An image is an image, and that there are new ones is told.
config "{\"mcpServers\":{\"demo\":{\"command\":\"$build/mcp_demo_server\"}}}"
talk
rpc image tools/call '"name":"demo__test_image_content","arguments":{}'
answer image
artifact=$(ls "$work/ws/.waybill/artifacts" | grep image | head -1)
rpc list resources/list ''
answer list
need "an image is listed as one" "waybill://artifact/$artifact\",\"name\":\"[^\"]*\",\"mimeType\":\"image/png\""
rpc read resources/read "\"uri\":\"waybill://artifact/$artifact\""
answer read
need "and read as one" '"mimeType":"image/png","blob":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="'
for _ in $(seq 600); do grep -q 'resources/list_changed' "$work/out" && break; sleep 0.05; done
grep -q 'resources/list_changed' "$work/out" || bad "new artifacts are not told"
hush

# Another Waybill behind this one has artifacts of its own, by URIs that look like ours.
mkdir "$work/inner"
config "{\"mcpServers\":{\"w\":{\"command\":\"$build/waybill\",\"args\":[\"serve\",\"--root\",\"$work/inner\"],\"env\":{\"HOME\":\"$work/inner\"}}}}"
talk
rpc print tools/call '"name":"w__ExecCommand","arguments":{"cmd":"seq 100000"}'
answer print
artifact=$(ls "$work/inner/.waybill/artifacts" | grep stdout | head -1)
rpc list resources/list ''
answer list
need "the other's artifacts are not listed" "waybill://artifact/$artifact"
rpc read resources/read "\"uri\":\"waybill://artifact/$artifact\""
answer read
need "nor read" '"text":"1\\n2'
rpc nobodys resources/read '"uri":"waybill://artifact/call_0-stdout.log"'
answer nobodys
need "nobody's artifact" '"code":-32002'
hush
[ $failed = 0 ] && echo "resources and prompts are passed on, each to its own"
exit $failed
