#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: Codex CLI, told of Waybill by `waybill connect`, with a model on loopback
# that calls tools: a built-in one and one of a server; by stdio and HTTP.
# What the model gets back is what Waybill said.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
. "$here/gateway.sh"
npm_node
npm_need codex
codex=$(find "$modules/@openai" -type f -name codex -path '*/bin/*' -o -type f -name codex -path '*vendor*' | head -1)
[ -n "$codex" ] || skip "no program for this machine"
chmod +x "$codex" 2>/dev/null
"$codex" --version >/dev/null 2>&1 || skip "it does not run here"
fresh_home
export CODEX_HOME=$work/home/.codex
printf '{"mcpServers":{"demo":{"command":"%s/mcp_demo_server","trusted":true,"effects":{"*":"Pure"}}}}\n' "$build" \
    >"$HOME/.config/waybill/config.json"
mkdir -p "$CODEX_HOME"

# settings MODEL-PORT: everything but the MCP server, which connect adds.
settings() {
    cat >"$CODEX_HOME/config.toml" <<END
# kept by connect
model = "none"
model_provider = "fake"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "read-only"

[analytics]
enabled = false

[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:$1/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
END
}

session() { # what is told to the configuration's end
    rm -f "$work/log" "$work/model.out"
    "$node" "$here/fake_model.mjs" "$work/log" 'demo__echo={"message":"from codex"}' \
        'ExecCommand={"cmd":"echo built in"}' 'demo__nosuch={}' >"$work/model.out" 2>&1 &
    upstream=$!
    port=$(wait_line "$work/model.out" 's/^port //p') || { cat "$work/model.out"; exit 1; }
    settings "$port"
    "$@"
    (cd "$work/ws" && timeout 60 "$codex" exec --skip-git-repo-check --json 'call the tools' </dev/null \
        >"$work/codex.out" 2>"$work/codex.err") || bad "$way: codex ended with $?: $(tail -3 "$work/codex.err")"
    kill $upstream
    wait $upstream 2>/dev/null
    upstream=
    grep -q 'Echo: from codex' "$work/log" || bad "$way: the upstream's answer: $(tail -c 600 "$work/log")"
    grep -q 'exited with code 0' "$work/log" || bad "$way: the receipt of a built-in: $(tail -c 600 "$work/log")"
    grep -q '"name":"demo__echo"' "$work/log" || bad "$way: the tools are not offered"
}

by_stdio() { "$build/waybill" connect codex --yes --root "$work/ws" >/dev/null 2>&1 || bad "connect"; approve; }
by_http() {
    printf '\n[mcp_servers.waybill]\nurl = "%s"\nbearer_token_env_var = "WAYBILL_TOKEN"\n' "$url" >>"$CODEX_HOME/config.toml"
    approve
}
# Unattended, Codex refuses tools that may change something unless told otherwise.
approve() { printf 'default_tools_approval_mode = "approve"\n' >>"$CODEX_HOME/config.toml"; }

way=stdio
session by_stdio
grep -q '^# kept by connect' "$CODEX_HOME/config.toml" || bad "connect lost a comment"
way=http
start_gateway
export WAYBILL_TOKEN=$token
session by_http
[ $failed = 0 ] && echo "codex: stdio and HTTP"
exit $failed
