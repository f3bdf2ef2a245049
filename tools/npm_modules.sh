#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# npm_modules.sh SET: prints a node_modules folder with the packages of a set (for
# tests and benches only): $WAYBILL_NODE_MODULES if it has them all, else a folder
# beneath the user's cache that is filled once. Exit 77 and the reason on stderr
# where npm cannot help.
set -u
set_name=${1:?usage: npm_modules.sh SET}
case $set_name in
tokens) packages=(gpt-tokenizer) ;;
schema) packages=(ajv@8 @modelcontextprotocol/server-everything
                  @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory) ;;
proxies) packages=(mcp-proxy supergateway @modelcontextprotocol/server-everything) ;;
*) echo "npm_modules.sh: no set $set_name" >&2; exit 2 ;;
esac

skip() {
    echo "skipped: $set_name ($1)" >&2
    exit 77
}
complete() {
    local package
    for package in "${packages[@]}"; do
        case $package in ?*@*) package=${package%@*} ;; esac
        [ -e "$1/$package" ] || return 1
    done
}
found() {
    echo "$1"
    exit 0
}

[ -n "${WAYBILL_NODE_MODULES:-}" ] && complete "$WAYBILL_NODE_MODULES" && found "$WAYBILL_NODE_MODULES"
own=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/waybill-$set_name
mkdir -p "$own" 2>/dev/null || skip "cannot make $own"
exec 9>"$own/.lock" && flock 9 # tests run side by side
complete "$own/node_modules" && found "$own/node_modules"
command -v node >/dev/null && command -v npm >/dev/null || skip "no node or npm"
timeout 60 npm install --silent --no-audit --no-fund --prefix "$own" "${packages[@]}" \
    >/dev/null 2>&1 </dev/null 9>&-
complete "$own/node_modules" || skip "npm could not bring ${packages[*]}"
found "$own/node_modules"
