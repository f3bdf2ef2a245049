#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Same verdicts as ajv on the tool schemas of the reference MCP servers and on
# instances generated from them, valid and broken (issue 5). Skipped by name
# where npm cannot bring ajv and the servers.
set -u
source_dir=${WAYBILL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WAYBILL_BUILD:-$source_dir/build/dev}
modules=$("$source_dir/tools/npm_modules.sh" schema) || exit $?
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

node "$source_dir/bench/schema_cases.mjs" "$modules" "$work/cases.json" 200 || exit $?
"$build/bench_schema" --verdicts "$work/cases.json" >"$work/ours" || exit 1
node "$source_dir/bench/schema_ajv.mjs" --verdicts "$modules" "$work/cases.json" >"$work/ajv" || exit 1
if ! diff "$work/ours" "$work/ajv"; then
    echo "verdicts differ from ajv's"
    exit 1
fi
valid=$(cut -d' ' -f2 "$work/ours" | tr -cd 1 | wc -c)
invalid=$(cut -d' ' -f2 "$work/ours" | tr -cd 0 | wc -c)
echo "same verdicts as ajv: $(wc -l <"$work/ours") schemas, $valid valid and $invalid invalid instances"
[ "$valid" -gt 500 ] && [ "$invalid" -gt 500 ]
