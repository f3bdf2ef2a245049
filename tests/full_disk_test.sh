#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A disk that is full while calls without effects are answered: the rows behind the replies
# wait and are written once there is space; a command that ends before says what is missing.
# Then one that is read-only: nothing can be recorded, which is told and counted. `waybill
# doctor` finds both.
set -u
build=$PWD
skip() { echo "skipped: full disk ($*)"; exit 77; }
[ -x "$build/waybill" ] || skip "no waybill in $build"
command -v curl > /dev/null || skip "no curl"
top=$(mktemp -d)
mkdir -p "$top/home" "$top/room/.waybill"
[ "$(id -u)" = 0 ] && mount -t tmpfs -o size=2m,mode=0700 none "$top/room/.waybill" 2> /dev/null || {
    rm -rf "$top"
    skip "no tmpfs may be mounted here"
}
pid=
trap '[ -n "$pid" ] && kill $pid && wait $pid; umount "$top/room/.waybill"; rm -rf "$top"' EXIT
cd "$top/room" || exit 1
state=$top/room/.waybill
echo 'a small file' > small.txt
run() { env HOME="$top/home" WAYBILL_ROOT="$top/room" "$build/waybill" "$@"; }
failed=0
bad() { echo "failed: $*"; failed=1; }
until_true() { # WHAT COMMAND…
    local what=$1
    shift
    for _ in $(seq 200); do
        "$@" && return 0
        sleep 0.05
    done
    bad "never: $what"
}
fill() { dd if=/dev/zero of="$state/ballast" bs=4k 2> /dev/null; [ -s "$state/ballast" ]; }
rows() { run ledger list --limit 100 --json 2> /dev/null | grep -o '"tool":"ReadFile"' | wc -l; }

run call ReadFile --input '{"path":"small.txt"}' > "$top/out" 2> "$top/err" || bad "call: $(cat "$top/err")"
[ "$(rows)" = 1 ] || bad "$(rows) rows before the disk is full"
doctor() { # EXIT TEXT
    run doctor > "$top/out" 2>&1
    local code=$?
    [ $code = "$1" ] && grep -q "^ledger .*$2" "$top/out" || bad "doctor: exit $code, wanted $1: $2: $(cat "$top/out")"
}
doctor 0 'ok .*can be written'

# A command answers, and says at its end what is not there.
fill
run call ReadFile --input '{"path":"small.txt"}' > "$top/out" 2> "$top/err" || bad "call with a full disk: $(cat "$top/err")"
grep -q 'a small file' "$top/out" || bad "not answered: $(cat "$top/out")"
grep -q '1 call is not in the ledger: ledger: .*no space left' "$top/err" || bad "nothing is said: $(cat "$top/err")"
doctor 3 'broken .*no space left.*make room'

# A server keeps the rows, shows it, and writes them.
url() { sed -n 's/^listening on \(http:[^ ]*\).*/\1/p' "$top/log"; }
listens() { [ -n "$(url)" ]; }
serve() {
    : > "$top/log" # not that of the one before
    HOME=$top/home WAYBILL_ROOT=$top/room "$build/waybill" serve --http 127.0.0.1:0 --auth none > /dev/null 2> "$top/log" &
    pid=$!
    until_true "the server listens" listens
    base=$(url)
    base=${base%/mcp}
}
serve
ask() {
    curl -s "$base/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: ReadFile' \
        -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ReadFile","arguments":{"path":"small.txt"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}'
}
metric() { curl -s "$base/metrics" | sed -n "s/^ledger_$1 //p"; }
for _ in 1 2 3; do
    ask > "$top/out"
    grep -q 'a small file' "$top/out" || bad "the server did not answer: $(cat "$top/out")"
done
all_wait() { [ "$(metric writable)" = 0 ] && [ "$(metric rows_waiting)" = 3 ]; }
until_true "three rows wait" all_wait
rm "$state/ballast"
written() { [ "$(rows)" = 4 ]; }
until_true "the rows are written" written
[ "$(metric writable)" = 1 ] && [ "$(metric rows_lost_total)" = 0 ] || bad "$(curl -s "$base/metrics" | grep ledger)"
run ledger verify > "$top/out" 2>&1 || bad "verify: $(cat "$top/out")"
doctor 0 'ok .*can be written'

# Read-only: calls without effects are answered, told as not recorded, counted, and counted
# once more at the end.
kill $pid
wait $pid
pid=
grep -q 'not in the ledger' "$top/log" && bad "all was written: $(cat "$top/log")"
mount -o remount,ro "$state" || bad "no remount"
doctor 3 'broken .*read-only file system.*--state'
WAYBILL_STATE=$state/none/yet doctor 3 'broken .*none can be made: Read-only'
serve
for _ in 1 2; do
    ask > "$top/out"
    grep -q 'a small file' "$top/out" && grep -q 'Not recorded: .*read-only' "$top/out" || bad "read-only: $(cat "$top/out")"
done
[ "$(metric writable)" = 0 ] && [ "$(metric rows_lost_total)" = 2 ] || bad "$(curl -s "$base/metrics" | grep ledger)"
kill $pid
wait $pid
pid=
grep -q '2 calls are not in the ledger: the state directory is on a read-only' "$top/log" || bad "nothing is said at the end: $(cat "$top/log")"
exit $failed
