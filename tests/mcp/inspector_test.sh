#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: the official inspector's command line, both eras, by stdio and HTTP,
# against the gateway in front of the fixture upstream.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
. "$here/gateway.sh"
npm_node
npm_need inspector
fresh_home
inspector=$modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
printf '{"mcpServers":{"demo":{"command":"%s/mcp_demo_server"}}}\n' "$build" >"$HOME/.config/waybill/config.json"
failed=0
bad() { echo "FAILED: $*"; cut -c1-600 "$work/out"; failed=1; }
start_gateway
by_http=(--header "Authorization: Bearer $token" --server-url "$url" --transport http)
by_stdio=("$build/waybill" serve --root "$work/ws")
inspect() { # era, transport, method and its options
    local era=$1 way=$2
    shift 2
    if [ "$way" = http ]; then set -- "${by_http[@]}" "$@"; else set -- "${by_stdio[@]}" "$@"; fi
    timeout 60 "$node" "$inspector" --cli --protocol-era "$era" "$@" >"$work/out" 2>"$work/err" || bad "$era $way: status $? of $* $(cat "$work/err")"
}
need() { grep -q -- "$1" "$work/out" || bad "$where: no $1"; }
for era in legacy modern; do
    for way in stdio http; do
        where="$era $way"
        inspect $era $way --method tools/call --tool-name demo__echo --tool-arg message=hi
        need '"text": "Echo: hi"'
    done
    where="$era http"
    inspect $era http --method tools/list
    need '"name": "demo__echo"'
    need '"name": "ExecCommand"'
    [ $era = modern ] || continue # the rest is the same, and each look takes a second
    inspect $era http --method resources/read --uri test://static-text
    need 'static text resource'
    inspect $era http --method prompts/get --prompt-name demo__test_prompt_with_arguments --prompt-args arg1=a arg2=b
    need "arg1='a'"
    inspect $era http --method resources/templates/list
    need 'test://template/'
done
[ $failed = 0 ] && echo "inspector: both eras, stdio and HTTP"
exit $failed
