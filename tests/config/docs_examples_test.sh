#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every example of configuration in docs/ is accepted as it stands: blocks marked
# jsonc are members of waybill.json (or all of it), those marked "jsonc tool" are
# descriptors.
set -u
source_dir=${WAYBILL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
waybill=${WAYBILL:-${WAYBILL_BUILD:-$PWD}/waybill}
[ -x "$waybill" ] || { echo "skipped: examples in docs (no waybill)"; exit 77; }
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
export HOME=$top
unset XDG_STATE_HOME XDG_CONFIG_HOME

awk -v top="$top" '
    FNR == 1 { n = 0; inside = 0 }
    /^```jsonc/ && !inside {
        inside = 1
        name = FILENAME; sub(/.*\//, "", name); sub(/\.md$/, "", name)
        out = top "/" name "-" ++n ($0 ~ /tool/ ? ".tool" : ".config")
        next
    }
    /^```/ && inside { inside = 0; close(out); next }
    inside { print > out }
' "$source_dir"/docs/*.md

failed=0
count=0
"$waybill" config schema >"$top/schema.json" || exit 1
for file in "$top"/*.tool "$top"/*.config; do
    [ -e "$file" ] || continue
    count=$((count + 1))
    name=$(basename "$file")
    mkdir -p "$top/$name.d"
    case $file in
    *.tool) "$waybill" tools check --root "$top/$name.d" "$file" >"$top/said" 2>&1 || failed=1 ;;
    *)
        { grep -q '^{' "$file" && cat "$file" || { echo '{'; cat "$file"; echo '}'; }; } >"$top/$name.json"
        "$waybill" config check --root "$top/$name.d" --config "$top/$name.json" >"$top/said" 2>&1 || failed=1
        ;;
    esac
    [ "$failed" = 0 ] || { echo "$name:"; cat "$top/said"; exit 1; }
done
echo "examples in docs: $count accepted"
[ "$count" -ge 4 ]
