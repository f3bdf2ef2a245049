#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: servers behind a gateway that is used for long. What cannot be had is told on stderr;
# what comes later than the client's list is told when it comes; a server that became another
# one is found out about; what was answered once is answered again in the same form (I4).
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
until_seen() { for _ in $(seq 600); do grep -q -- "$1" "$work/$2" && return; sleep 0.05; done; bad "$2: no $1"; cut -c1-400 "$work/$2"; }
ask() { rpc "$@"; until_seen "\"id\":\"$1\"" out; got=$(grep "\"id\":\"$1\"" "$work/out"); }
call() { ask "$1" tools/call "\"name\":\"$2\",\"arguments\":{}"; }
has() { case $got in *"$2"*) ;; *) bad "$1: $(cut -c1-500 <<<"$got")" ;; esac }
lacks() { case $got in *"$2"*) bad "$1: $(cut -c1-500 <<<"$got")" ;; esac }
# serve: one that has answered
serve() {
    talk
    until_seen '"id":"open"' out
}

# One that hangs is told of by who has waited for it; meanwhile the rest goes on.
config '{"mcpServers":{"hangs":{"command":"sleep","args":["60"]}}}'
"$build/waybill" tools list --root "$work/ws" >"$work/hung" 2>&1 &
hung=$!
for _ in $(seq 200); do pgrep -P $hung >/dev/null && break; sleep 0.02; done # it has read its configuration

# Servers that are not there are told of, once, with the reason; one without tools is none of them.
cat >"$work/toolless" <<'SERVER'
#!/bin/sh
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"n","version":"1"}}}\n' "$id" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}\n' "$id" ;;
    esac
done
SERVER
chmod +x "$work/toolless"
mkdir "$work/only"
ln -s "$build/mcp_chaos" "$work/only/only-here"
config "{\"mcpServers\":{\"missing\":{\"command\":\"no-such-program\"},\"late\":{\"command\":\"$work/late\"},
  \"only\":{\"command\":\"only-here\",\"args\":[\"fine\"],\"env\":{\"PATH\":\"$work/only\"}},
  \"toolless\":{\"command\":\"$work/toolless\"},\"fine\":{\"command\":\"$build/mcp_chaos\",\"args\":[\"fine\"]}}}"
serve
ask list tools/list ''
has "the healthy one" '"fine__t"'
has "one that is found in the PATH of its own" '"only__t"'
lacks "the late one" '"late__t"'
until_seen '^server missing: its tools are not there: program not found: no-such-program is not in PATH; name one elsewhere by its path$' err
until_seen '^server late: its tools are not there' err
grep -q toolless "$work/err" && bad "a server without tools is told as lost: $(cat "$work/err")"
grep -q list_changed "$work/out" && bad "news of nothing"
# Most clients list once: what comes later is told to them, without being asked for.
printf '#!/bin/sh\nexec "%s/mcp_chaos" fine\n' "$build" >"$work/late.new"
chmod +x "$work/late.new"
mv "$work/late.new" "$work/late"
until_seen 'notifications/tools/list_changed' out
ask again tools/list ''
has "it is there now" '"late__t"'
[ "$(grep -c '^server missing' "$work/err")" = 1 ] || bad "told more than once: $(cat "$work/err")"
hush

# What a server names its tools writes no line of its own on a terminal, and moves nothing there.
mkdir -p "$work/canned"
printf '{"name":"a\\nserver late: fine\\u001b[2J\\u202e","inputSchema":{"type":"object"}}' >"$work/canned/tools"
config "{\"mcpServers\":{\"odd\":{\"command\":\"$build/mcp_canned\",\"args\":[\"$work/canned\"],\"era\":\"legacy\"}}}"
serve
ask list tools/list ''
until_seen '^server odd: tools left out: 1: a?server late: fine?\[2J? (its name is no plain one)$' err
hush

# A server that spoke an older revision and comes back with 2026-07-28 alone.
cat >"$work/newer" <<SERVER
#!/bin/sh
[ -e "$work/began" ] || { : >"$work/began"; exec "$build/mcp_chaos" die; }
SERVER
cat >>"$work/newer" <<'SERVER'
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *server/discover*) r='"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"' ;;
    *tools/list*) r='"tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"' ;;
    *tools/call*) r='"content":[{"type":"text","text":"newer"}]' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}\n' "$id"; continue ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}\n' "$id" "$r"
done
SERVER
chmod +x "$work/newer"
config "{\"mcpServers\":{\"s\":{\"command\":\"$work/newer\",\"effects\":{\"*\":\"Pure\"}}}}"
serve
call first s__t
has "the older one dies" '"errorKind":"upstream_unavailable"'
for i in $(seq 40); do
    call "n$i" s__t
    [[ $got == *'"text":"newer"'* ]] && break
    sleep 0.1
done
has "the newer one is found" '"text":"newer"'
hush

# A program that hangs is not waited for in every later call: it is started again.
cat >"$work/stuck" <<SERVER
#!/bin/sh
stuck=$work/stopped
SERVER
cat >>"$work/stuck" <<'SERVER'
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) r='"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}' ;;
    *tools/list*) r='"tools":[{"name":"t","inputSchema":{"type":"object"}}]' ;;
    *tools/call*) [ -e "$stuck" ] || { : >"$stuck"; kill -STOP $$; }
        r='"content":[{"type":"text","text":"back"}]' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}\n' "$id"; continue ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":{%s}}\n' "$id" "$r"
done
SERVER
chmod +x "$work/stuck"
config "{\"mcpServers\":{\"s\":{\"command\":\"$work/stuck\",\"probeMs\":100,\"effects\":{\"*\":\"Pure\"},\"tools\":{\"t\":{\"timeoutMs\":300}}}}}"
serve
call hung s__t
has "it runs out of time" '"errorKind":"timed_out"'
for i in $(seq 40); do
    call "h$i" s__t
    [[ $got == *'"text":"back"'* ]] && break
    sleep 0.7 # nothing is open meanwhile
done
has "it is back" '"text":"back"'
hush

# An answer from the cache, or of a key that was used, has the form of the first.
config "{\"mcpServers\":{\"d\":{\"command\":\"$build/mcp_demo_server\",\"effects\":{\"*\":\"Pure\",\"test_simple_text\":\"IdempotentWrite\"}}},
  \"policies\":{\"tools\":{\"mcp::d::*\":{\"cache\":{\"ttlMs\":600000}}}}}"
serve
for tool in test_image_content test_multiple_content_types; do
    call "$tool-1" d__$tool
    once=${got#*\"result\":}
    has "the first answer" '"type":"image"'
    call "$tool-2" d__$tool
    [ "${got#*\"result\":}" = "$once" ] || bad "$tool from the cache: $(cut -c1-400 <<<"$got")"
done
key='"name":"d__test_simple_text","arguments":{},"_meta":{"waybill/invocation":{"idempotencyKey":"k"}}'
ask key-1 tools/call "$key"
once=${got#*\"result\":}
has "the first answer of a key" '"text":"This is a simple text'
hush
serve
ask key-2 tools/call "$key"
[ "${got#*\"result\":}" = "$once" ] || bad "a replay by another process: $(cut -c1-400 <<<"$got")"
hush

# C2.5: a name means one tool, whether a server has told its tools yet, later or never.
local_tool() { printf '{"name":"%s","command":["echo","the local %s"],"effect":"Pure"}' "$1" "$1"; }
config "{\"mcpServers\":{\"fine\":{\"command\":\"$build/mcp_chaos\",\"args\":[\"fine\"]},
  \"bare\":{\"command\":\"$build/mcp_chaos\",\"args\":[\"fine\"],\"prefix\":\"\"},
  \"dead\":{\"command\":\"no-such-program\"}},
  \"tools\":[$(local_tool fine__t),$(local_tool mcp__fine__t),$(local_tool fine__other),$(local_tool t),$(local_tool dead__t)]}"
runs() { got=$("$build/waybill" call --root "$work/ws" "$1" 2>&1); has "$1" "$2"; }
for name in fine__t mcp__fine__t mcp::fine::t; do
    runs "$name" 'fine__t completed'
    lacks "$name" 'the local'
done
runs local::fine__t 'the local fine__t'
runs fine__other 'there is no tool "fine__other"; that would be a server'"'"'s, the local tool is "fine__other_'
runs t 'the local t'
runs dead__t 'the server "dead" of dead__t has not told its tools: program not found'
serve
call before t
has "before the servers have told" 'the local t'
ask list tools/list ''
call after t
has "after" 'the local t'
call bare mcp__bare__t
lacks "the tool of the server without a prefix" 'the local'
hush
# C3.2: a tool of a server has the version that the server gives itself, and is pinned by it; what
# is no SemVer is matched as it is.
cat >"$work/versioned" <<'SERVER'
#!/bin/sh
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"'$1'"}}' ;;
    *'"tools/list"'*) r='"result":{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) r='"result":{"content":[{"type":"text","text":"hi"}]}' ;;
    *'"id":'*) r='"error":{"code":-32601,"message":"what?"}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done
SERVER
chmod +x "$work/versioned"
mkdir "$work/behind"
config "{\"mcpServers\":{\"a\":{\"command\":\"$work/versioned\",\"args\":[\"1.4.2\"]},
  \"b\":{\"command\":\"$work/versioned\",\"args\":[\"2025.11b\"]},
  \"c\":{\"command\":\"$work/versioned\",\"args\":[\"call me first\"]},
  \"d\":{\"command\":\"$build/waybill\",\"args\":[\"serve\",\"--root\",\"$work/behind\",\"--config\",\"$work/empty.json\"],\"era\":\"modern\"}}}"
echo '{}' >"$work/empty.json"
resolves() { # TOOL RANGE VERSION: what a call with that range gets
    got=$("$build/waybill" call --root "$work/ws" "$1" --tool-version "$2" --view result 2>&1)
    has "$1 in $2" "$3"
}
resolves a__t '*' '"resolvedVersion":"1.4.2"'
resolves a__t ^1.4 '"resolvedVersion":"1.4.2"'
resolves a__t ^1.5 'no version of a__t fits \"^1.5\"; available: 1.4.2'
resolves b__t 2025.11b '"resolvedVersion":"2025.11b"'
resolves b__t '*' '"code":"UnsupportedVersion"'
resolves c__t '*' '"resolvedVersion":"1.0.0"' # no text for a model to read
resolves d__TaskList '*' "\"resolvedVersion\":\"$("$build/waybill" --version | cut -d' ' -f2)\""
got=$("$build/waybill" call --root "$work/ws" b__t --view result 2>&1)
has "without a range" '"resolvedVersion":"2025.11b"'
wait $hung || bad "tools list beside a server that hangs ended with $?"
got=$(cat "$work/hung")
has "why its tools are missing" 'waybill tools: server hangs: its tools are not there: it does not answer in time'
has "the others are there" 'ExecCommand'
[ $failed = 0 ] && echo "servers come, go and change; what is told of them is told once"
exit $failed
