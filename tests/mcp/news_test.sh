#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: what a server says outside of any call reaches the gateway's client: changed
# lists and watched resources, from upstreams by stdio and HTTP, of either era.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
pid= server=
trap 'exec 3>&-; [ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$work"' EXIT
wait_for() { for _ in $(seq 200); do grep -q -- "$1" "$work/out" && return; sleep 0.05; done; bad "$how: no $1"; cut -c1-300 "$work/out"; }

# The server comes back at the same port: one that no connection of another program is
# given in between, so from below those the kernel hands out.
start_server() { # PORT
    "$build/mcp_demo_server" --http "127.0.0.1:$1" 2>"$work/log" 3>&- &
    server=$!
    for _ in $(seq 200); do
        url=$(sed -n 's/^listening on //p' "$work/log")
        [ -n "$url" ] && return
        kill -0 $server 2>/dev/null || return # taken
        sleep 0.05
    done
}
url=
for _ in $(seq 20); do
    port=$((10000 + RANDOM % 20000))
    start_server $port
    [ -n "$url" ] && break
done
mkfifo "$work/in"
for how in "legacy \"command\":\"$build/mcp_demo_server\"" "modern \"command\":\"$build/mcp_demo_server\"" \
    "legacy \"url\":\"$url\"" "modern \"url\":\"$url\""; do
    printf '{"mcpServers":{"demo":{%s,"era":"%s"}}}\n' "${how#* }" "${how%% *}" >"$HOME/.config/waybill/config.json"
    timeout 60 "$build/waybill" serve --root "$work/ws" >"$work/out" 2>"$work/err" <"$work/in" &
    pid=$!
    exec 3>"$work/in"
    rpc open initialize '"protocolVersion":"2025-11-25","capabilities":{}'
    rpc list tools/list ''
    wait_for '"id":"list"'
    # The stream is opened beside the calls: ask until it is heard.
    for i in $(seq 20); do
        rpc "call$i" tools/call '"name":"demo__test_trigger_prompt_change","arguments":{}'
        wait_for "\"id\":\"call$i\""
        for _ in 1 2 3 4; do grep -q prompts/list_changed "$work/out" && break 2; sleep 0.05; done
    done
    grep -q 'notifications/prompts/list_changed' "$work/out" || bad "$how: the change is not told"
    exec 3>&-
    wait $pid || bad "$how: serve ended with $?: $(cat "$work/err")"
done
# A listening stream that breaks off is opened again: the server goes and comes back.
how="a stream of 2026-07-28 that broke off"
timeout 60 "$build/waybill" serve --root "$work/ws" >"$work/out" 2>"$work/err" <"$work/in" &
pid=$!
exec 3>"$work/in"
rpc open initialize '"protocolVersion":"2025-11-25","capabilities":{}'
rpc list tools/list ''
wait_for '"id":"list"'
kill $server
wait $server 2>/dev/null
start_server $port
[ -n "$url" ] || bad "$how: the server did not come back: $(cat "$work/log")"
wait_for 'notifications/prompts/list_changed' # what was not heard may have changed
exec 3>&-
wait $pid || bad "$how: serve ended with $?: $(cat "$work/err")"
# A session that was opened is ended, also when nothing else is left to do.
how=goodbye
echo '{}' >"$HOME/.config/waybill/config.json"
"$build/waybill" serve --root "$work/ws" --http 127.0.0.1:0 --auth none --access-log "$work/access" 2>"$work/log2" &
other=$!
for _ in $(seq 200); do
    url=$(sed -n 's/^listening on //p' "$work/log2")
    [ -n "$url" ] && break
    sleep 0.05
done
printf '{"mcpServers":{"up":{"url":"%s","era":"legacy"}}}\n' "$url" >"$HOME/.config/waybill/config.json"
"$build/waybill" call up__ListFiles --root "$work/ws" --input '{}' >"$work/out" 2>&1 || bad "a call of a gateway through a gateway: $(cat "$work/out")"
kill $other
wait $other
grep -q '"method":"DELETE".*"status":20' "$work/access" || bad "the session is left behind: $(cat "$work/access")"
[ $failed = 0 ] && echo "news of four kinds of upstreams arrive"
# What a server says that changed is told, also where its list turns out to be the same.
how="a list that is the same"
mkdir "$work/s"
echo '[{"name":"reload","inputSchema":{"type":"object"}}]' >"$work/s/tools"
config "{\"mcpServers\":{\"s\":{\"command\":\"$build/mcp_shifty\",\"args\":[\"$work/s\"]}}}"
timeout 60 "$build/waybill" serve --root "$work/ws" >"$work/out" 2>"$work/err" <"$work/in" &
pid=$!
exec 3>"$work/in"
rpc open initialize '"protocolVersion":"2025-11-25","capabilities":{}'
rpc list tools/list ''
wait_for '"id":"list"'
for i in $(seq 20); do # one that comes upon the list itself is not
    rpc "call$i" tools/call '"name":"s__reload","arguments":{}'
    wait_for "\"id\":\"call$i\""
    for _ in 1 2 3 4 5 6 7 8; do grep -q tools/list_changed "$work/out" && break 2; sleep 0.05; done
done
grep -q 'notifications/tools/list_changed' "$work/out" || bad "$how: the change is not told"
exec 3>&-
wait $pid || bad "$how: serve ended with $?: $(cat "$work/err")"
exit $failed
