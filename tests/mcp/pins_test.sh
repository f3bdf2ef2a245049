#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What servers say about their tools, through the gateway: pins that hold when a server
# comes back, that decisions reach a gateway that runs (C3.7, C10); definitions that the
# protocol, or the client's revision of it, does not know; floods of news.
set -u
build=${WAYBILL_BUILD:-build/dev}
build=$(cd "$build" && pwd)
waybill=$build/waybill
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
trap 'exec 8>&-; [ -n "${pid:-}" ] && kill $pid 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/s"
unset TRACEPARENT TRACESTATE
cd "$work/ws" || exit 1
tools() { printf '[%s]' "$1" > "$work/s/tools"; }
# tool NAME DESCRIPTION [MORE]
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object"}%s}' "$1" "$2" "${3:-}"; }
modern='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
need() { grep -q -- "$2" out || { bad "$1"; tail -3 out | cut -c1-700; }; }
never() { grep -q -- "$2" out && { bad "$1"; grep -- "$2" out | cut -c1-700; }; }
serve() {
    rm -f pipe; mkfifo pipe
    "$waybill" serve < pipe > out 2> err &
    pid=$!
    exec 8> pipe
    id=0
    ask initialize '"protocolVersion":"2025-11-25","capabilities":{}'
}
# ask METHOD PARAMS: sends it and waits; `got` is the answer.
ask() {
    id=$((id + 1))
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s}}\n' $id "$1" "$2" >&8
    for _ in $(seq 400); do
        got=$(grep "\"id\":$id[,}]" out) && return
        sleep 0.05
    done
    bad "no answer to $1 $2"
}
call() { ask tools/call "\"name\":\"$1\",\"arguments\":${2:-{\}}"; }
has() { case $got in *"$2"*) ;; *) bad "$1: $(printf %s "$got" | cut -c1-600)" ;; esac }
lacks() { case $got in *"$2"*) bad "$1: $(printf %s "$got" | cut -c1-600)" ;; esac }
stop() {
    exec 8>&-
    wait $pid || bad "serve ended with $?: $(cat err)"
    pid=
}
asked() { grep -c "^$1" "$work/s/log"; }
# The server says that its tools changed; it was asked for them since.
reloads() {
    local before=$(asked tools/list)
    call s__reload
    for _ in $(seq 400); do [ "$(asked tools/list)" -gt "$before" ] && break; sleep 0.05; done
    sleep 0.3
}
shifty="\"command\":\"$build/mcp_shifty\",\"args\":[\"$work/s\"]"

# A server that dies comes back as another: nothing is called before its tools were checked.
config "{\"mcpServers\":{\"s\":{$shifty}}}"
good="$(tool x good),$(tool die d),$(tool reload r)"
tools "$good"
serve
call s__x; has "a first use is accepted" '"text":"ran"'
tools "$(tool x EVIL),$(tool die d),$(tool reload r),$(tool fresh f)"
call s__die; has "the server dies" outcome_unknown
for _ in $(seq 40); do
    call s__x
    case $got in *upstream_unavailable*) sleep 0.1 ;; *) break ;; esac
done
has "what changed while it was away is refused" 'has changed since it was accepted'
[ "$(asked 'tools/call x')" = 1 ] || bad "the server saw the call: $(cat "$work/s/log")"
call s__fresh; has "what is new is there" '"text":"ran"'
ask tools/list ''; lacks "a changed tool is listed" '"name":"s__x"'
has "a new one is not listed" '"name":"s__fresh"'
grep -q 'notifications/tools/list_changed' out || bad "the client does not hear of it"

# A decision holds in the gateway that runs, for the next call and the next list.
"$waybill" pins approve -q s/x || bad "approve"
call s__x; has "approved, it can be called" '"text":"ran"'
tools "$good"
reloads
call s__x; has "back to the first one: changed once more" 'has changed since'
"$waybill" pins approve -q s/x || bad "approve again"
ask tools/list ''; has "approved, it is listed" '"name":"s__x","description":"good"'
call s__x; has "and can be called" '"text":"ran"'
stop

# What changes while a call of it waits for a person is not called.
rm -r "$HOME/.local/state/waybill/pins"
config "{\"mcpServers\":{\"s\":{$shifty}},\"bindings\":[{\"principal\":\"local\",\"allow\":[\"*\"],\"approval\":{\"mcp::s::x\":\"ask\"}}]}"
: > "$work/s/log"
serve
ask tools/list ''
printf '{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"s__x","arguments":{},%s}}\n' "${modern%\}},\"waybill/invocation\":{\"conversationId\":\"other\"}}" >&8
for _ in $(seq 400); do approval=$("$waybill" approve list --json | grep -o 'approval_[0-9a-f]*') && break; sleep 0.05; done
tools "$(tool x EVIL),$(tool die d),$(tool reload r)"
reloads
"$waybill" approve -q yes "$approval" || bad "approve yes"
for _ in $(seq 400); do got=$(grep '"id":"w"' out) && break; sleep 0.05; done
has "changed while it waited" 'has changed since it was accepted'
[ "$(asked 'tools/call x')" = 0 ] || bad "it was called: $(cat "$work/s/log")"
stop
tools "$good"
config "{\"mcpServers\":{\"s\":{$shifty}}}"
"$waybill" tools list > /dev/null 2>&1

# All pins of a list in one file.
[ "$(find "$HOME/.local/state/waybill/pins" -name '*.json' | wc -l)" = 1 ] || bad "a file for each tool"
rm -r "$HOME/.local/state/waybill/pins"

# Servers of one name in two workspaces are two.
config '{}'
for w in one two; do
    mkdir -p "$work/$w/s"
    printf '[%s]' "$(tool x "$w")" > "$work/$w/s/tools"
    printf '{"mcpServers":{"s":{"command":"%s","args":["%s"]}}}' "$build/mcp_shifty" "$work/$w/s" > "$work/$w/waybill.json"
    "$waybill" config trust -q --root "$work/$w" || bad "trust in $w"
    "$waybill" call s__x --root "$work/$w" > out 2>&1; need "a first use in $w" '^ran'
done
printf '[%s]' "$(tool x EVIL)" > "$work/one/s/tools"
"$waybill" call s__x --root "$work/one" > out 2>&1
need "what changed in one" "has changed since it was accepted.*pins show s/x --root $work/one\`"
"$waybill" call s__x --root "$work/two" > out 2>&1; need "is as it was in two" '^ran'
"$waybill" pins list --root "$work/one" > out; need "a pin of a workspace" "s *x *changed .*$work/one"
never "one of another" "$work/two"
"$waybill" pins list > out; never "seen from elsewhere" "$work/one"
"$waybill" pins approve s/x > out 2>&1 && bad "approved from elsewhere"
need "where to look" 'no server s is configured here; name the workspace of one with --root'
"$waybill" pins approve -q s --root "$work/one" || bad "approve in one"
"$waybill" call s__x --root "$work/one" > out 2>&1; need "approved" '^ran'

# Whole servers are approved at once; the list is in order. One that nobody has asked yet has none.
config "{\"mcpServers\":{\"s\":{$shifty,\"pins\":\"approval\"},\"a\":{$shifty,\"pins\":\"approval\"}}}"
for what in a a/x; do
    "$waybill" pins approve $what 2> out && bad "approved what was not seen: $what"
    need "why $what has no pin" "^waybill pins: nothing waits for approval at $what: its tools were not seen yet; .waybill tools list. asks for them\$" out
done
"$waybill" tools list > /dev/null 2>&1
"$waybill" pins list > out
[ "$(awk 'NR > 1 {print $1 "/" $2}' out)" = "$(awk 'NR > 1 {print $1 "/" $2}' out | LC_ALL=C sort)" ] || bad "no order: $(cat out)"
# Nobody sees a tool that waits for approval: that it does is told.
"$waybill" doctor > out 2>&1
need "what waits, to who asks" '^server a *warning *tools that wait for approval: 3: .*x (it was not approved yet).*`waybill pins`'
serve
ask tools/list ''; lacks "a tool that waits is listed" '"name":"a__x"'
grep -q '^server a: tools that wait for approval: 3: .*x (it was not approved yet)' err || bad "what waits is not told: $(cat err)"
call a__x; has "nothing unseen" 'was not approved yet'
# What was refused stays so, listed again or approved with its server, until it differs or is named.
"$waybill" pins reject -q a/die || bad "reject"
"$waybill" tools list > /dev/null 2>&1
"$waybill" pins list > list; grep -q '^a *die *refused' list || bad "refused, then forgotten: $(cat list)"
"$waybill" pins approve -q a --hash 00 2>/dev/null && bad "a hash for a whole server"
"$waybill" pins approve -q a || bad "approve a server"
"$waybill" pins approve -q a 2>/dev/null && bad "approved what does not wait"
"$waybill" doctor > list 2>&1
grep -q '^server a .*wait for approval' list && bad "what is decided waits still: $(cat list)"
call a__x; has "approved as a whole" '"text":"ran"'
call a__die; has "but for what was refused" 'of server a was refused;'
tools "$(tool x EVIL),$(tool die other),$(tool reload r)"
"$waybill" tools list > /dev/null 2>&1
"$waybill" pins list > list; grep -q '^a *die *new' list || bad "another definition does not wait: $(cat list)"
"$waybill" pins reject -q a/die || bad "reject the other"
"$waybill" pins approve -q a/die || bad "approve what was refused, by its name"
"$waybill" pins list > list; grep -q '^a *die *accepted' list || bad "not accepted: $(cat list)"
tools "$good"
call s__x; has "but no other" 'was not approved yet'
stop
rm -r "$HOME/.local/state/waybill/pins"

# Scopes and credentials of the configuration count.
config "{\"mcpServers\":{\"s\":{$shifty,\"tools\":{\"x\":{\"scopes\":[\"repo:write\"]},\"die\":{\"credentials\":[\"NO_SUCH_TOKEN\"]}}}},
 \"bindings\":[{\"principal\":\"*\",\"allow\":[\"*\"],\"scopes\":[\"repo:read\"]}]}"
serve
ask tools/list ''; lacks "a tool without its scope is listed" '"name":"s__x"'
lacks "a tool without its credential is listed" '"name":"s__die"'
has "others are" '"name":"s__reload"'
call s__x; has "a scope that was not granted" forbidden
call s__die; has "a credential that is not set" '"isError":true'
lacks "it ran" outcome_unknown
stop
config "{\"mcpServers\":{\"s\":{$shifty}}}"

# What no revision allows is left out, what only 2026-07-28 knows is told to it alone.
tools "$(tool ok o),{\"name\":\"none\"},{\"name\":\"yes\",\"inputSchema\":true},{\"name\":\"any\",\"inputSchema\":{}},
 {\"name\":\"text\",\"inputSchema\":{\"type\":\"string\"}},{\"name\":\"far\",\"inputSchema\":{\"type\":\"object\",\"\$ref\":\"http://127.0.0.1:1/s\"}},7,
 $(tool odd o ',"annotations":"x","icons":[7],"_meta":[],"execution":7,"title":7,"outputSchema":true'),
 $(tool arr a ',"outputSchema":{"type":"array"}'),$(tool free f ',"outputSchema":{"minProperties":0}'),
 {\"name\":\"bool\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":true,\"b\":false}}}"
printf '[7,{"title":"no name"},{"name":"p"},{"name":"q","description":null,"arguments":[{"name":"a","description":null,"required":null}]},
 {"name":"r","arguments":[{"name":"a","description":7}]}]' > "$work/s/prompts"
printf '["fx://a",{"name":"no uri"},{"uri":"fx://b","name":"b"},{"uri":"fx://c","name":"c","mimeType":null,"size":null}]' > "$work/s/resources"
serve
ask tools/list ''
for name in none yes any text far; do lacks "$name is listed" "\"name\":\"s__$name\""; done
has "a good one" '"name":"s__ok"'
has "wrong members are left out" '{"name":"s__odd","description":"o","inputSchema":{"type":"object"}}'
has "a schema of an array is left out" '{"name":"s__arr","description":"a","inputSchema":{"type":"object"}}'
has "a schema of anything, too" '{"name":"s__free","description":"f","inputSchema":{"type":"object"}}'
has "schemas that are no objects" '"properties":{"a":{},"b":{"not":{}}}'
ask tools/list "${modern%?},\"io.modelcontextprotocol/logLevel\":\"loud\"}"
has "a level that is none" '"code":-32602'
ask tools/list "$modern"
has "2026-07-28 hears of arrays" '"outputSchema":{"type":"array"}'
has "and of true" '"properties":{"a":true,"b":false}'
ask prompts/list ''; has "a prompt" '"name":"s__p"'; lacks "one without a name" 'no name'
has "null is nothing" '{"name":"s__q","arguments":[{"name":"a"}]}'; lacks "arguments of a wrong form" '"s__r"'
ask resources/list ''; has "a resource" '"fx://b"'; lacks "one without a uri" 'no uri'; has "null is nothing" '{"uri":"fx://c","name":"c"}'; lacks "a text" 'fx://a'
printf '{"content":[],"structuredContent":[1,"two"]}' > "$work/s/result"
call s__arr; lacks "an array for the older era" structuredContent
has "its text instead" '"content":[{"type":"text","text":"[1,\"two\"]"}]'
call s__ok; lacks "also of a tool without a schema" structuredContent
ask tools/call "\"name\":\"s__arr\",\"arguments\":{},$modern"
has "the array for the newer one" '"structuredContent":[1,"two"]'
stop
for name in none yes any text far; do grep -q "left out.*$name (" err || bad "no trace of $name: $(cat err)"; done
"$waybill" doctor > out 2>&1; need "doctor tells" 'left out.*none (its inputSchema'
rm "$work/s/result"

# Somebody who says again and again that tools changed is asked less and less.
tools "$good"
touch "$work/s/restless"
: > "$work/s/log"
serve
ask tools/list ''; sleep 2
stop
n=$(asked tools/list)
[ "$n" -ge 2 ] && [ "$n" -le 12 ] || bad "asked $n times in 2 s"
rm "$work/s/restless"

# What is not passed on untouched keeps links and what the server says to the client's machinery;
# input that was repaired is told of.
tools "$good,{\"name\":\"n\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}}"
config "{\"mcpServers\":{\"s\":{$shifty,\"tools\":{\"x\":{\"budgetTokens\":300}}}}}"
printf '{"content":[{"type":"text","text":"%s"},{"type":"resource_link","uri":"fx://l","name":"l"}],"_meta":{"own":{"a":1},"waybill/call":7}}' \
    "$(yes 'one line of many' | head -2000 | tr '\n' ' ')" > "$work/s/result"
serve
call s__x; has "a link beside the receipt" '{"type":"resource_link","uri":"fx://l","name":"l"}'
has "the server's own members" '"_meta":{"own":{"a":1},"waybill/call":{"id":"call_'
rm "$work/s/result"
call s__n '{"a":5}'; has "untouched" '"result":{"content":[{"type":"text","text":"ran"}]}'
call s__n '{"a":"5"}'; has "what was made of the input" 'input_coercion: /a'
call s__die
call s__x; has "a server that is down" 'upstream_unavailable (retryable)'
stop

# Names of tools that are not known yet: the longest name of a server, and one called mcp.
config "{\"mcpServers\":{\"a\":{$shifty},\"a__b\":{$shifty},\"mcp\":{$shifty}}}"
for name in a__b__x mcp__x mcp__a__x mcp__mcp__x; do
    "$waybill" call $name > out 2>&1; need "$name, cold" '^ran'
done

# A server that cannot be had costs itself, not the gateway.
config "{\"mcpServers\":{\"s\":{$shifty},\"v\":{\"command\":\"true\",\"env\":{\"T\":\"\${NO_SUCH_VARIABLE}\"}},
 \"h\":{\"url\":\"http://127.0.0.1:1/\",\"headers\":{\"X-Key\":\"\${TWO_LINES}\"}},
 \"e\":{\"type\":\"sse\",\"url\":\"http://127.0.0.1:1/sse\"}}}"
export TWO_LINES=$'a\nb'
serve
call s__x; has "the others serve" '"text":"ran"'
call h__x; has "what is no header is told" 'X-Key'
call v__x; has "its own tools say why" 'NO_SUCH_VARIABLE'
stop
grep -q 'server v: .*NO_SUCH_VARIABLE' err || bad "it is not told: $(cat err)"
"$waybill" doctor > out 2>&1; need "doctor tells the variable" 'NO_SUCH_VARIABLE'; need "and sse" 'sse'

# Over HTTP: headers of a tool that is not known yet; codes and labels of the metrics.
if command -v curl > /dev/null; then
    tools "{\"name\":\"h\",\"inputSchema\":{\"type\":\"object\",\"required\":[\"o\"],\"properties\":{\"o\":{\"type\":\"object\",\"properties\":{\"z\":{\"type\":\"integer\",\"x-mcp-header\":\"Zed\"}}}}}}"
    config "{\"mcpServers\":{\"s\":{$shifty}}}"
    "$waybill" serve --http 127.0.0.1:0 --auth none 2> err &
    pid=$!
    for _ in $(seq 400); do url=$(sed -n 's/^listening on //p' err); [ -n "$url" ] && break; sleep 0.05; done
    post() { # header, arguments
        curl -s -m 20 -X POST "$url" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
            -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: s__h' -H "$1" -w '\n%{http_code}\n' \
            -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"s__h\",\"arguments\":$2,$modern}}" > out
    }
    post 'Mcp-Param-Zed: 6' '{"o":{"z":5}}'; need "a wrong header, cold" '"code":-32020'; need "its status" '^400'
    grep -q 'tools/call h' "$work/s/log" && bad "it was called"
    post 'Mcp-Param-Zed: 6' '{"o":{"z":5}}'; need "a wrong header, warm" '"code":-32020'
    post 'Mcp-Param-Zed: 5.0' '{"o":{"z":5}}'; need "the same number" '"text":"ran"'
    post 'X-A: b' '{}'; need "no argument" 'invalid_tool_input'
    curl -s -m 20 "${url%/mcp}/metrics" > out
    need "the call's own code" 'tool_errors_total{tool="mcp::s::h",origin="mcp::s",code="RequiredMissing"} 1'
    need "calls under way by tool" 'concurrency_in_use{tool="mcp::s::h",origin="mcp::s"} 0'
    kill $pid; wait $pid || bad "serve over HTTP ended with $?: $(cat err)"
    pid=
fi

[ $failed = 0 ] && echo "definitions hold"
exit $failed
