#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The official suite against the gateway in front of the fixture upstream, whose
# tools, prompts and resources are shown under their own names (issue of C10).
set -u
build=${WAYBILL_BUILD:-build/dev}
build=$(cd "$build" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
mkdir -p "$work/home/.config/waybill" "$work/ws"
printf '{"mcpServers":{"demo":{"command":"%s/mcp_demo_server","prefix":""}}}\n' "$build" \
    > "$work/home/.config/waybill/config.json"
env -u XDG_CONFIG_HOME -u XDG_STATE_HOME HOME="$work/home" \
    "$build/waybill" serve --root "$work/ws" --http 127.0.0.1:0 --auth none 2>"$work/err" &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    MCP_URL=$(sed -n 's/^listening on //p' "$work/err")
    [ -n "$MCP_URL" ] && break
    sleep 0.05
done
export MCP_URL
[ -n "$MCP_URL" ] || { cat "$work/err"; exit 1; }
bash "$here/conformance_test.sh"
