#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10, C9.4: a server's question in the middle of a call. A call that waits for its caller
# holds nobody up, keeps its result until the caller comes for it, and a question that may be
# another call's is not lost with the first one; whatever is dropped, the server is told.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
trap 'exec 3>&-; stop_gateway; rm -rf "$work"' EXIT
rpc() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s}}\n' "$1" "$2" "$3" >&3; }
seen() { # what, pattern, file: waits for a line that has it
    for _ in $(seq 400); do grep -q -- "$2" "${3:-$work/out}" 2>/dev/null && return; sleep 0.05; done
    bad "$how: never $1"
    cut -c1-400 "${3:-$work/out}"
}
member() { grep -- "$1" "$work/out" | tail -1 | grep -o "\"$2\":\"[^\"]*\"" | head -1 | cut -d'"' -f4; }
tools='{"hold":{"parallel":true},"swap":{"parallel":true}}'
configure() { # era of the server
    : >"$work/seen"
    printf '{"mcpServers":{"a":{"command":"sh","args":["-c","tee -a %s/seen | %s/mcp_asker %s"],"probeMs":300,"tools":%s}}}\n' \
        "$work" "$build" "$1" "$tools" >"$HOME/.config/waybill/config.json"
}
open() { # era of the server
    configure "$1"
    rm -f "$work/in"
    mkfifo "$work/in"
    "$build/waybill" serve --root "$work/ws" >"$work/out" 2>"$work/err" <"$work/in" &
    pid=$!
    exec 3>"$work/in"
}
close() {
    exec 3>&-
    wait $pid || bad "$how: serve ended with $?: $(cat "$work/err")"
}
call() { rpc "$1" tools/call "\"name\":\"a__$2\",\"arguments\":{}${3:+,$3}"; }

how="older client"
open legacy
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}'
rpc 1 tools/list ''
seen "a list" '"id":1,"result"'
call 2 ask
seen "the question" '"id":"wb-[^"]*","method":"elicitation/create"'
first=$(member elicitation/create id)
call 3 echo
seen "a call beside a question" '"id":3,"result":.*"text":"echo"'
printf '{"jsonrpc":"2.0","id":"%s","result":{"action":"accept","content":{}}}\n' "$first" >&3
seen "the answer" '"id":2,"result":.*"text":"accepted"'
# The question of the younger call, which is taken for the older one's, moves when that ends.
call 4 hold
seen "it at the server" '"name":"hold"' "$work/seen"
call 5 swap
seen "the older one's end" '"id":4,"result":.*"text":"held"'
seen "its question taken back" '"notifications/cancelled","params":{"requestId":"wb-'
for _ in $(seq 400); do [ "$(grep -c elicitation/create "$work/out")" = 3 ] && break; sleep 0.05; done
second=$(member elicitation/create id)
grep -q "\"cancelled\".*\"$second\"" "$work/out" && bad "$how: no question is open"
printf '{"jsonrpc":"2.0","id":"%s","result":{"action":"accept","content":{}}}\n' "$second" >&3
seen "the younger one's end" '"id":5,"result":.*"text":"accepted"'
# A call that ends by itself: its question is over on both sides.
call 6 impatient
seen "its result" '"id":6,"result":.*"text":"went on"'
seen "an error for the server" '"id":"q3","error"' "$work/seen"
# Several left open at the end.
call 7 ask
call 8 ask
for _ in $(seq 400); do [ "$(grep -c elicitation/create "$work/out")" = 6 ] && break; sleep 0.05; done
printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n' >&3
seen "an error for the one cancelled" '"id":"q4","error"' "$work/seen"
fifth=$(grep elicitation/create "$work/out" | sed -n '5s/.*"id":"\(wb-[^"]*\)".*/\1/p')
seen "its question taken back" "\"notifications/cancelled\",\"params\":{\"requestId\":\"$fifth\"}"
[ "$(grep -c "{\"requestId\":\"$fifth\"}" "$work/out")" = 1 ] || bad "$how: a question is taken back twice"
printf '{"jsonrpc":"2.0","id":"%s","error":{"code":-1,"message":"no"}}\n' "$(member elicitation/create id)" >&3
seen "the refusal" '"id":8,"result":.*"text":"refused"'
call 9 ask
for _ in $(seq 400); do [ "$(grep -c elicitation/create "$work/out")" = 7 ] && break; sleep 0.05; done
printf '{"jsonrpc":"2.0","id":"%s"}\n' "$(member elicitation/create id)" >&3
seen "what comes of an answer that is none" '"id":9,"result":.*"text":"refused"'
call 10 wrong
seen "what comes of a question that is none" '"id":10,"result":.*"text":"refused"'
seen "why" '"error":{"code":-32602,"message":"params.requestedSchema must be an object"}' "$work/seen"
close

how="client of 2026-07-28"
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"roots":{}}}'
open legacy
call 1 impatient "$meta"
seen "its question" '"id":1,"result":{"resultType":"input_required"'
seen "an error for the server" '"id":"q1","error"' "$work/seen"
call 2 impatient "\"requestState\":\"$(member '"id":1' requestState)\",\"inputResponses\":{\"q1\":{\"action\":\"accept\"}},$meta"
seen "the result that was kept" '"id":2,"result":{"resultType":"complete".*"text":"went on"'
call 3 ask "$meta"
seen "the question" '"id":3,"result":{"resultType":"input_required"'
call 4 echo "$meta"
seen "a call beside a parked one" '"id":4,"result":.*"text":"echo"'
rpc 5 tools/call "\"name\":\"ListFiles\",\"arguments\":{},$meta"
seen "a built-in beside it" '"id":5,"result":{"resultType":"complete"'
call 6 ask "\"requestState\":\"$(member '"id":3' requestState)\",\"inputResponses\":{\"q1\":{\"action\":\"accept\",\"content\":{}}},$meta"
seen "its end" '"id":6,"result":.*"text":"accepted"'
# One that waits for its client does not get the question of another, whose client is there.
call 8 ask "$meta"
seen "one that waits" '"id":8,"result":{"resultType":"input_required"'
call 9 twice "$meta"
seen "both questions by the one that asks" '"id":9,"result":{"resultType":"input_required","inputRequests":{"q1":{.*"q2":{'
call 10 twice "\"requestState\":\"$(member '"id":9' requestState)\",\"inputResponses\":{\"q1\":{\"action\":\"accept\"},\"q2\":{\"action\":\"accept\"}},$meta"
seen "its end" '"id":10,"result":.*"text":"accepted"'
call 7 impatient "$meta"
seen "one that stays" '"id":7,"result":{"resultType":"input_required"'
close

how="both of 2026-07-28"
open modern
call 1 long "$meta"
seen "two questions with long names" '"id":1,"result":{"resultType":"input_required","inputRequests":{"a-key[^"]*-1":{.*"a-key[^"]*-2":{'
key=$(grep -o '"a-key[^"]*-1"' "$work/out" | head -1 | cut -d'"' -f2)
call 2 long "\"requestState\":\"$(member '"id":1' requestState)\",\"inputResponses\":{\"$key\":{\"action\":\"accept\",\"content\":{}},\"${key%1}2\":{\"action\":\"decline\"}},$meta"
seen "each with its answer" '"id":2,"result":.*"text":"both"'
call 3 roots "$meta"
seen "a question without params" '"id":3,.*"inputRequests":{"r":{"method":"roots/list"}}'
call 99 odd "$meta"
seen "a question that is no request" '"id":99,.*asks in a form that is no request.*"errorKind":"invalid_tool_output"'
call 98 wrong "$meta"
seen "a question that nobody can read" '"id":98,.*no request: params.requestedSchema must be an object.*"errorKind":"invalid_tool_output"'
call 4 roots "\"requestState\":\"$(member '"id":3' requestState)\",\"inputResponses\":{\"r\":{\"roots\":[]}},$meta"
seen "its answer" '"id":4,"result":.*"text":"answered"'
# A server is not at a call that waits for its caller: what it logs meanwhile is another one's.
call 5 roots "$meta"
seen "one that waits" '"id":5,.*"inputRequests"'
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{}'
call 6 echo
seen "the other one's end" '"id":6,"result":'
grep -q '"method":"notifications/message".*"at it"' "$work/out" || bad "$how: a message was not passed on"
# It asks nothing, but wants to see its state again: at once, and not for ever.
call 7 state "$meta"
seen "the state again" '"id":7,"result":.*"text":"resumed"'
call 8 forever "$meta"
seen "an end of it" '"id":8,"result":.*input that cannot be given'
[ "$(grep -c '"name":"forever"' "$work/seen")" = 9 ] || bad "$how: other than eight rounds"
# Answers that come before the questions: they count for those, once, and others are left out.
call 9 ask "\"inputResponses\":{\"f\":{\"action\":\"accept\",\"content\":{}},\"other\":{\"action\":\"accept\"}},$meta"
seen "no question where the answer is there" '"id":9,"result":.*"text":"answered"'
call 10 long "\"inputResponses\":{\"${key%1}2\":{\"action\":\"decline\"}},$meta"
seen "only the other question" '"id":10,"result":{"resultType":"input_required"'
grep '"id":10,' "$work/out" | grep -q "${key%1}2" && bad "$how: asked for what it was given"
call 11 long "\"requestState\":\"$(member '"id":10' requestState)\",\"inputResponses\":{\"$key\":{\"action\":\"accept\",\"content\":{}}},$meta"
seen "both answers at the server" '"id":11,"result":.*"text":"both"'
close
grep -q '"requestId":0' "$work/seen" && bad "$how: the server is told of the end of a call it does not know"

# A refusal is an answer to an elicitation, and to nothing else.
how="a refusal to a server of 2026-07-28"
open modern
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}}'
call 1 roots
seen "the question" '"method":"roots/list"'
printf '{"jsonrpc":"2.0","id":"%s","error":{"code":-1,"message":"no"}}\n' "$(member roots/list id)" >&3
seen "the end of the call" '"id":1,"result":.*the caller refused what the server asked'
grep -q 'inputResponses' "$work/seen" && bad "$how: it was given an answer"
call 2 long
seen "the other questions" '"method":"elicitation/create"'
for _ in $(seq 400); do [ "$(grep -c elicitation/create "$work/out")" = 2 ] && break; sleep 0.05; done
for id in $(grep elicitation/create "$work/out" | grep -o '"id":"[^"]*"' | cut -d'"' -f4); do
    printf '{"jsonrpc":"2.0","id":"%s","error":{"code":-1,"message":"no"}}\n' "$id" >&3
done
seen "an answer" '"id":2,"result":.*"text":"answered"'
grep -q '{"action":"cancel"}.*{"action":"cancel"}' "$work/seen" || bad "$how: no cancel"
close
how="clients that never come back"
open modern
for i in $(seq 257); do call $i roots "$meta"; done
seen "the last question" '"id":257,"result":{"resultType":"input_required"'
call 300 roots "\"requestState\":\"$(member '"id":1,' requestState)\",\"inputResponses\":{\"r\":{\"roots\":[]}},$meta"
seen "the first one given up" '"id":300,"error":{"code":-32602'
for i in 2 257; do
    call 30$i roots "\"requestState\":\"$(member "\"id\":$i," requestState)\",\"inputResponses\":{\"r\":{\"roots\":[]}},$meta"
    seen "number $i taken up" "\"id\":30$i,\"result\":.*\"text\":\"answered\""
done
close

# Parts of an ability: forms, URLs, tools in sampling. What a client lacks it is not asked.
asks_of() { # abilities of the client, those that the server is told, tools it is asked by, and those it is not
    local n=10 tool era end
    for era in legacy modern; do
        how="abilities $1, $era server"
        open $era
        for tool in $3 $4; do
            call $((++n)) "$tool" "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":$1}"
            case " $3 " in
            *" $tool "*) seen "asked by $tool" "\"id\":$n,\"result\":{\"resultType\":\"input_required\"" ;;
            *) # an older server is told, and goes on; a newer one knew it
                [ $era = modern ] && end='"error":{"code":-32021,.*"requiredCapabilities":{"' || end='"result":.*"text":"refused'
                seen "an end of $tool" "\"id\":$n,$end" ;;
            esac
        done
        [ $era = legacy ] || grep -qF "Capabilities\":$2" "$work/seen" || bad "$how: the server is told otherwise: $(cat "$work/seen")"
        close
    done
}
asks_of '{"elicitation":{}}' '{"elicitation":{"form":{}}}' ask 'visit sample'
asks_of '{"elicitation":{"url":{}},"sampling":{}}' '{"elicitation":{"url":{}},"sampling":{}}' visit 'ask sample'
asks_of '{"elicitation":{"url":{},"form":{}},"sampling":{"tools":{}}}' '{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}' 'ask visit sample' ''
how="client of 2025-06-18"
open legacy
rpc 0 initialize '"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"url":{}}}'
call 1 visit
seen "a refusal" '"id":1,"result":.*"text":"refused"'
call 2 ask
seen "a form" '"method":"elicitation/create".*"requestedSchema"'
exec 3>&- # nobody can answer any more
seen "the end without an answer" '"id":2,"result":.*"text":"refused"'
close

how="a question with a secret, a colour and what cannot be seen" # C6.5, C8.8
open legacy
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}'
call 1 spell
seen "the question as it may be read" '"message":"Go<U+202E> on with \[redacted:github-token:[0-9a-f]*\]?".*"password":{"type":"string","title":"\[redacted:github-token:[0-9a-f]*\]","enum":\["a"\]}'
grep -q ghp_0123456789 "$work/out" && bad "$how: it is told"
printf '{"jsonrpc":"2.0","id":"%s","result":{"action":"accept","content":{"password":"a"}}}\n' "$(member elicitation/create id)" >&3
seen "the answer" '"id":1,"result":.*"text":"accepted"'
close

how="a question that is taken back"
open legacy
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}'
call 1 withdraw
seen "the question" '"id":"wb-[^"]*","method":"elicitation/create"'
seen "its end" "\"notifications/cancelled\",\"params\":{\"requestId\":\"$(member elicitation/create id)\"}"
printf '{"jsonrpc":"2.0","id":"%s","result":{"action":"accept","content":{}}}\n' "$(member elicitation/create id)" >&3
call 2 release # waits: the first one is at work again, and alone
rpc 3 ping ''
seen "an answer" '"id":3,"result"'
grep -q '"name":"release"' "$work/seen" && bad "$how: it still counts as waiting for its caller"
printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n' >&3
seen "the second one's end" '"id":2,"result":.*"text":"released"'
grep -q '"id":"q1"' "$work/seen" && bad "$how: the server got an answer to it"
close
kept=$tools
tools='{"withdraw":{"parallel":true},"release":{"parallel":true}}'
open legacy
rpc 0 tools/list "$meta"
seen "a list" '"id":0,"result"'
call 1 withdraw "$meta"
seen "it at the server" '"name":"withdraw"' "$work/seen"
call 2 release "$meta"
seen "its result without a question" '"id":1,"result":{"resultType":"complete".*"text":"held"'
close
tools=$kept

how="done elsewhere"
open legacy
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}}'
call 1 visit
seen "the question" '"method":"elicitation/create".*"elicitationId":"e"'
call 2 link
seen "the error" '"id":2,"error":{"code":-32042'
grep -q '"url":"https://localhost/","message":"Go<U+202E> with \[redacted:github-token:[0-9a-f]*\]"' "$work/out" || bad "$how: the error as it may be read: $(grep -o 'elicitations.*' "$work/out")"
call 3 done
seen "its end" '"id":3,"result":.*"text":"said"'
for id in e link; do
    [ "$(grep -c "\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"$id\"}" "$work/out")" = 1 ] || bad "$how: the client is not told of $id"
done
grep -q '"elicitationId":"other"' "$work/out" && bad "$how: the client hears of what it was not asked"
call 4 done
seen "the end of the other" '"id":4,"result":.*"text":"said"'
[ "$(grep -c elicitation/complete "$work/out")" = 2 ] || bad "$how: told twice"
exec 3>&-
close

how="an error for the client's own machinery"
open legacy
call 1 link "$meta"
seen "a result" '"id":1,"result":{"resultType":"complete".*refused a__link: go there.*"isError":true'
rpc 0 initialize '"protocolVersion":"2025-11-25","capabilities":{}'
call 2 link
seen "the error itself" '"id":2,"error":{"code":-32042,"message":"go there"'
close

# Over HTTP each request of 2026-07-28 is a conversation of its own: on a shared connection a
# question that may be either's is nobody's, unless both name the same one.
how="two clients of 2026-07-28 over HTTP"
configure legacy
start_gateway
post() { # tool, more members of _meta, more members of params
    curl -sS -m 20 "$url" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: a__$1" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a__$1\",\"arguments\":{},${meta%\}}${2:+,$2}}${3:+,$3}}}" 2>/dev/null
}
beside_held() { # more members of _meta for both: what a question becomes while another client waits
    : >"$work/seen"
    : >"$work/first"
    post hold "$1" >"$work/first" &
    held=$!
    seen "the first one's call at the server" '"name":"hold"' "$work/seen"
    post swap "$1" >"$work/second"
    wait $held
}
beside_held ''
grep -q '"text":"held"' "$work/first" || bad "$how: the first one got $(cat "$work/first")"
grep -q '"text":"refused"' "$work/second" || bad "$how: the second one got $(cat "$work/second")"
beside_held '"waybill/invocation":{"conversationId":"ours"}'
cat "$work/first" "$work/second" | grep -q '"input_required"' || bad "$how: none is asked in a conversation that both name"
stop_gateway
[ $failed = 0 ] && echo "questions find their calls, and calls their answers"
exit $failed
