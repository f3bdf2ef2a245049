#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10 under load, everything on (token, guards, ledger): (1) 64 clients whose ids
# collide: no answer reaches another's call. (2) Mixed calls of which 1 % go wrong on
# either side: memory, descriptors and children stay flat. A small part by default,
# a million calls and ten minutes with WAYBILL_SOAK=1.
set -u
build=${WAYBILL_BUILD:-build/dev}
build=$(cd "$build" && pwd)
calls=20000 seconds=15 slack=2048
[ -n "${WAYBILL_SOAK:-}" ] && calls=1000000 seconds=600
# A sanitizer slows all down and keeps what was freed for a while.
if grep -q -e __asan_init -e __tsan_init "$build/waybill"; then
    slack=65536
    [ -n "${WAYBILL_SOAK:-}" ] || calls=4000 seconds=10
fi
export WAYBILL_SEED=${WAYBILL_SEED:-$RANDOM}
echo "WAYBILL_SEED=$WAYBILL_SEED, $calls calls, then $seconds seconds"
work=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill "$pid" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/home/.config/waybill" "$work/ws"
export HOME=$work/home
unset XDG_CONFIG_HOME XDG_STATE_HOME WAYBILL_ROOT WAYBILL_STATE
cat > "$HOME/.config/waybill/config.json" << EOF
{"mcpServers": {
    "good": {"command": "$build/mcp_echo", "trusted": true},
    "bad": {"command": "$build/mcp_echo", "args": ["--faults", "10"], "trusted": true, "timeoutMs": 500},
    "demo": {"command": "$build/mcp_demo_server", "effects": {"big": "Pure", "slow": "Pure"}}}}
EOF
echo 'a small file' > "$work/ws/small.txt"
printf 'soak-token-0123456789abcdef0123456789' > "$work/token"
chmod 600 "$work/token"

"$build/waybill" serve --root "$work/ws" --http 127.0.0.1:0 --token-file "$work/token" 2> "$work/log" &
pid=$!
port=
for _ in $(seq 400); do
    port=$(sed -n 's/^listening on http:\/\/[^:]*:\([0-9]*\).*/\1/p' "$work/log" 2>/dev/null)
    [ -n "$port" ] && break
    sleep 0.05
done
[ -n "$port" ] || { echo "the gateway did not start"; cat "$work/log"; exit 1; }
load=("$build/mcp_load" --http "$port" --pid "$pid" --token "$(cat "$work/token")" --clients 64)
failed=0

echo "64 clients, colliding ids:"
"${load[@]}" --calls "$calls" --warm 64 --seconds 6000 --call good__echo '{"message":"%s"}' '"%s"' ||
    { echo "FAILED: colliding ids"; failed=1; }

echo "mixed, 1 % faults:"
echo_call=(--call good__echo '{"message":"%s"}' '"%s"')
"${load[@]}" --calls 100000000 --warm 64 --seconds "$seconds" --faults 10 --flat "$slack" \
    "${echo_call[@]}" "${echo_call[@]}" "${echo_call[@]}" \
    --call bad__echo '{"message":"%s"}' '' \
    --call ReadFile '{"path":"small.txt"}' 'a small file' \
    --call ReadFile '{"path":"missing.txt"}' '' \
    --call demo__big '{"bytes":100000}' 'xxxx' \
    --call demo__slow '{"ms":20}' 'slept' \
    --call no_such_tool '{}' '' ||
    { echo "FAILED: mixed load"; failed=1; }

kill -TERM "$pid"
wait "$pid" || { echo "FAILED: the gateway ended with $?"; failed=1; }
pid=
"$build/waybill" ledger verify --root "$work/ws" > "$work/verify" 2>&1 ||
    { echo "FAILED: the ledger"; cat "$work/verify"; failed=1; }
exit $failed
