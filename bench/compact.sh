#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# compact.sh WAYBILL: records three sessions through `waybill dispatch`, compacts
# them at several budgets and prints the table of docs/compaction.md: exact tokens
# (o200k, npm gpt-tokenizer) and facts that must be kept, beside keep-newest-N
# masking and head/tail cutting at the same budget. Exit 1 when a budget is not
# held; 77 and the reason on stderr where something is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
waybill=$(readlink -f "${1:?usage: compact.sh WAYBILL}")
modules=$("$here/../tools/npm_modules.sh" tokens) || exit $?
top=$(mktemp -d /tmp/waybill-compact-XXXXXX)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/home" "$top/work/src"
cd "$top/work" || exit 1
for i in 1 2 3 4 5 6 7 8; do
    { echo "/* module $i */"; seq 1 $((i * 40)) | sed "s/.*/int value_${i}_&(void) { return &; }/"; } > "src/m$i.c"
done
export NODE_PATH=$modules
env HOME="$top/home" WAYBILL_ROOT="$top/work" node "$here/compact.cjs" "$waybill"
