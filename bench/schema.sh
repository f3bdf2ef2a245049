#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# schema.sh [BUILD]: our validator beside ajv, same run, same real tool schemas.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-${WAYBILL_BUILD:-$here/../build/release}}
modules=$("$here/../tools/npm_modules.sh" schema) || exit $?
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
node "$here/schema_cases.mjs" "$modules" "$work/cases.json" 2 || exit $?
"$build/bench_schema" "$work/cases.json" >"$work/ours.jsonl" || exit 1
node "$here/schema_ajv.mjs" "$modules" "$work/cases.json" "$work/ours.jsonl"
