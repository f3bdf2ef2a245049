#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: the official SDK's clients of both eras, by stdio and HTTP, through the
# gateway to real servers: server-everything (as a program and by HTTP),
# server-filesystem, server-memory; and what becomes of a call whose client is cut off.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
. "$here/gateway.sh"
npm_node
npm_need sdk
fresh_home
export MODULES=$modules FILES=$work/files PREFIXES='ev evh' NODE_NO_WARNINGS=1
mkdir "$FILES"
m=$modules/@modelcontextprotocol

"$node" -r "$here/loopback.cjs" "$m/server-everything/dist/index.js" streamableHttp >/dev/null 2>"$work/upstream.err" &
upstream=$!
port=$(wait_line "$work/upstream.err" 's/^port //p') || { cat "$work/upstream.err"; exit 1; }
cat >"$HOME/.config/waybill/config.json" <<END
{"mcpServers": {
  "ev": {"command": "$node", "args": ["$m/server-everything/dist/index.js", "stdio"]},
  "evh": {"url": "http://127.0.0.1:$port/mcp"},
  "fs": {"command": "$node", "args": ["$m/server-filesystem/dist/index.js", "$FILES"]},
  "mem": {"command": "$node", "args": ["$m/server-memory/dist/index.js"], "env": {"MEMORY_FILE_PATH": "$work/memory.jsonl"}}}}
END
failed=0
start_gateway
export TOKEN=$token
for era in legacy modern; do
    timeout 60 "$node" "$here/sdk_client.mjs" $era "$url" || failed=1
    timeout 60 "$node" "$here/sdk_client.mjs" $era "$build/waybill" serve --root "$work/ws" || failed=1
done
timeout 60 "$node" "$here/sdk_resume.mjs" "$url" "$work/ws" || failed=1
[ $failed = 0 ] || sed 's/^/gateway: /' "$work/gateway.err"
exit $failed
