#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: a server of both eras asks its clients in their own one. Its program, which is of one era
# from its first message, is started once, and a second time only when clients of both are there.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
trap 'exec 3>&-; stop_gateway; rm -rf "$work"' EXIT
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}'
seen() { # what, pattern
    for _ in $(seq 400); do grep -q -- "$2" "$work/out" 2>/dev/null && return; sleep 0.05; done
    bad "$how: never $1"
    cut -c1-400 "$work/out"
}
open() { # era of the server, what starts it, its file; exec: not seen is what it is told, but that it dies
    : >"$work/started"
    : >"$work/seen"
    config "{\"mcpServers\":{\"a\":{\"command\":\"sh\",\"args\":[\"-c\",\"echo >>$work/started; ${2-tee -a $work/seen |} $build/mcp_asker $1 ${3:-}\"],\"probeMs\":2000}}${more:-}}"
    rm -f "$work/in"
    mkfifo "$work/in"
    "$build/waybill" serve --root "$work/ws" >"$work/out" 2>"$work/err" <"$work/in" &
    pid=$!
    exec 3>"$work/in"
}
close() { # how many programs there were
    exec 3>&-
    wait $pid || bad "$how: serve ended with $?: $(cat "$work/err")"
    [ "$(wc -l <"$work/started")" = "$1" ] || bad "$how: $(wc -l <"$work/started") programs, not $1"
}
older() { rpc open initialize '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}'; }
questions() { sed -n 's/.*"id":"\(wb-[^"]*\)","method":"elicitation.*/\1/p' "$work/out"; }
older_ask() { # ID: a call that asks, and the answer
    local before id
    before=$(questions | wc -l)
    rpc "$1" tools/call '"name":"a__ask","arguments":{}'
    for _ in $(seq 400); do [ "$(questions | wc -l)" -gt "$before" ] && break; sleep 0.05; done
    id=$(questions | tail -1)
    printf '{"jsonrpc":"2.0","id":"%s","result":{"action":"accept","content":{}}}\n' "$id" >&3
    seen "the answer to $1" "\"id\":\"$1\",\"result\":.*\"text\":\"${2:-accepted}\""
}
newer_ask() { # ID
    rpc "$1" tools/call "\"name\":\"a__ask\",\"arguments\":{},$meta"
    seen "the question of $1" "\"id\":\"$1\",\"result\":.*\"input_required\""
}
initialized() { grep -c '"method":"initialize"' "$work/seen"; }

how="an older client alone"
open both
older
rpc 1 tools/list ''
seen "a list" '"id":"1","result".*a__ask'
older_ask 2
close 1
[ "$(initialized)" = 1 ] || bad "$how: it was not spoken to in its era"

how="an older client, then a newer one"
open both
older
rpc 1 tools/list ''
seen "a list" '"id":"1","result".*a__ask'
rpc 2 tools/list "$meta"
older_ask 6 # while the newer connection is being made
seen "a list for the newer" '"id":"2","result".*a__ask'
newer_ask 3
older_ask 4
rpc 5 tools/call "\"name\":\"a__echo\",\"arguments\":{},$meta"
seen "a call of the newer" '"id":"5","result"'
close 2
[ "$(initialized)" = 1 ] || bad "$how: $(initialized) were spoken to as older ones"

how="a newer client, then an older one"
open both
rpc 1 tools/call "\"name\":\"a__echo\",\"arguments\":{},$meta"
seen "a call of the newer" '"id":"1","result"'
older
older_ask 2
newer_ask 3
close 2

how="a client that cannot be asked"
open both
rpc open initialize '"protocolVersion":"2025-11-25","capabilities":{}'
rpc 1 tools/call '"name":"a__echo","arguments":{}'
seen "its answer" '"id":"1","result"'
rpc 2 tools/call "\"name\":\"a__echo\",\"arguments\":{},$meta"
seen "the answer of a newer one" '"id":"2","result"'
close 1
[ "$(initialized)" = 0 ] || bad "$how: the older era was tried for nothing"

# What a server of one era speaks is found out with the first program.
how="an older client of a newer server"
open modern
older
older_ask 1 answered
rpc 2 tools/call "\"name\":\"a__echo\",\"arguments\":{},$meta"
seen "a call of a newer client" '"id":"2","result"'
older_ask 3 answered
close 1

how="a server that dies of the older era"
open frail exec
older
older_ask 1 answered
older_ask 2 answered
close 2

how="both clients of an older server"
open legacy
older
older_ask 1
newer_ask 2
close 1

how="a newer server that an older client comes to late"
open modern
newer_ask 1
older
older_ask 2 answered
older_ask 3 answered
rpc 4 tools/call "\"name\":\"a__echo\",\"arguments\":{},$meta"
seen "the newer client's call" '"id":"4","result"'
close 2 # tried once whether it is older, too

# A program that can run only once serves everybody, as one.
once="exec flock -n $work/lock"
how="a program that runs once, an older client first"
open both "$once"
older
older_ask 1
rpc 2 tools/list "$meta"
seen "a list for the newer" '"id":"2","result".*a__ask'
rpc 3 tools/call "\"name\":\"a__echo\",\"arguments\":{},$meta"
seen "a call of the newer" '"id":"3","result":.*"text":"echo"'
older_ask 4
newer_ask 5
close 3 # one that ends when it is asked is asked in the other way, too
how="a program that runs once, a newer client first"
open both "$once"
rpc 1 tools/call "\"name\":\"a__echo\",\"arguments\":{},$meta"
seen "a call of the newer" '"id":"1","result"'
older
rpc 2 tools/call '"name":"a__echo","arguments":{}'
seen "a call of the older" '"id":"2","result":{"content"'
rpc 3 tools/call '"name":"a__echo","arguments":{}'
seen "another one" '"id":"3","result":{"content"'
grep -q upstream_unavailable "$work/out" && bad "$how: $(grep upstream_unavailable "$work/out" | cut -c1-300)"
close 3

# What a second program lists otherwise than the first is called over that one: its pin was checked.
how="a second program that changed"
echo good >"$work/told"
open both '' "$work/told"
rpc 1 tools/list "$meta"
seen "a list" '"id":"1","result".*a__told'
echo EVIL >"$work/told"
older
rpc 2 tools/call '"name":"a__echo","arguments":{}'
seen "what is the same, in the client's era" '"id":"2","result":{"content":\[{"type":"text","text":"echo"}\]}'
rpc 3 tools/call '"name":"a__told","arguments":{}'
seen "an answer" '"id":"3","result":{'
grep '"id":"3"' "$work/out" | grep -q echo && bad "$how: it was called: $(grep '"id":"3"' "$work/out")"
close 2

# A call that has waited starts while the second program is asked what it lists by now.
how="a call that begins while a list is looked at again"
more=',"bindings":[{"principal":"local","allow":["*"],"approval":{"mcp::a::echo":"ask"}}]'
waybill() { "$build/waybill" "$@" --root "$work/ws"; }
echo good >"$work/told"
open both exec "$work/told $work/pipe"
rpc 1 tools/list "$meta"
seen "a list" '"id":"1","result".*a__told'
older
older_ask 2
rpc 3 tools/call '"name":"a__echo","arguments":{},"_meta":{"waybill/invocation":{"conversationId":"own"}}'
for _ in $(seq 400); do approval=$(waybill approve list --json | grep -o 'approval_[0-9a-f]*') && break; sleep 0.05; done
mkfifo "$work/pipe"
echo other >"$work/told"
rpc 4 tools/call "\"name\":\"a__die\",\"arguments\":{},$meta"
seen "the end of the first program" '"id":"4","result":.*outcome_unknown'
for n in $(seq 5 45); do
    rpc $n tools/list "$meta"
    seen "a list" "\"id\":\"$n\",\"result\""
    grep -q 'wait for approval: .*told' "$work/err" && break
    sleep 0.1
done
exec 4>"$work/pipe" # the second program is asked
waybill approve -q yes "$approval" || bad "$how: approve"
for _ in $(seq 400); do waybill ledger export | grep -q '"kind":"intent".*"tool":"a__echo"' && break; sleep 0.05; done
rm "$work/pipe"
exec 4>&-
seen "the answer" '"id":"3","result":{"content":\[{"type":"text","text":"echo"}\]}'
close 3
exit $failed
