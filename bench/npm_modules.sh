#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# npm_modules.sh: prints a node_modules folder with ajv and the reference MCP
# servers: $WAYBILL_NODE_MODULES, bench/node_modules, or a folder of its own
# that is filled once. Exit 77 and the reason on stderr where npm cannot help.
set -u
here=$(cd "$(dirname "$0")" && pwd)
packages=(ajv@8 @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
          @modelcontextprotocol/server-memory)

complete() {
    [ -d "$1/ajv" ] && [ -e "$1/.bin/mcp-server-everything" ] &&
        [ -e "$1/.bin/mcp-server-filesystem" ] && [ -e "$1/.bin/mcp-server-memory" ]
}

for dir in "${WAYBILL_NODE_MODULES:-}" "$here/node_modules"; do
    if [ -n "$dir" ] && complete "$dir"; then
        echo "$dir"
        exit 0
    fi
done
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "skipped: ajv (no node or npm)" >&2
    exit 77
fi
own=${XDG_CACHE_HOME:-$HOME/.cache}/waybill-bench
mkdir -p "$own" || exit 77
if ! complete "$own/node_modules"; then
    if ! (cd "$own" && timeout 50 npm install --silent --no-audit --no-fund --prefix "$own" \
            "${packages[@]}" >/dev/null 2>&1) || ! complete "$own/node_modules"; then
        echo "skipped: ajv (npm could not install it)" >&2
        exit 77
    fi
fi
echo "$own/node_modules"
