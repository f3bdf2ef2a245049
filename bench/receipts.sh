#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/receipts.sh [BUILD]: receipts of every output of the corpus at 1,000 and
# 2,500 tokens, measured by exact o200k counts and facts kept, beside a plain
# 50/50 cut and Codex's rule. Needs node, npm (gpt-tokenizer) and ../shared; skips
# by name what is missing.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$source_dir/build/release}
shared=${WAYBILL_VECTORS:-$source_dir/../shared}
corpus=${CORPUS:-$shared/corpus}
program=$(realpath -m "$build")/bench_receipts

[ -f "$corpus/index.json" ] || { echo "skipped: receipts (no ../shared)"; exit 0; }
[ -x "$program" ] || { echo "skipped: receipts (no $program)"; exit 0; }
modules=$("$source_dir/tools/npm_modules.sh" tokens) || exit 0

work=${RECEIPTS_TMP:-$(mktemp -d)}
[ -n "${RECEIPTS_TMP:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
ln -sfn "$modules" "$work/node_modules"
cp "$shared/tools/receipts/measure.mjs" "$work/measure.mjs"
node -e '
const d = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
for (const f of d.files) console.log([f.file, f.exit, f.command.replace(/\s+/g, " ")].join("\t"));
' "$corpus/index.json" >"$work/list.tsv"
for budget in 1000 2500; do
    mkdir -p "$work/ours-$budget"
    while IFS=$'\t' read -r file status command; do
        "$program" "$corpus/$file" "$budget" "$status" "$command" >"$work/ours-$budget/$file"
    done <"$work/list.tsv"
done
cd "$work"
CORPUS=$corpus node measure.mjs "ours 1000=$work/ours-1000" "ours 2500=$work/ours-2500" |
    grep -E '^(ours|50/50|Codex|files)'
"$program" --speed "$corpus"/*.txt | sort -t/ -k2 | awk '
    { clean += 1 / $3; choose += 1 / $6; n++ }
    END { printf "harmonic mean over %d files: clean %.0f MB/s, select %.0f MB/s\n", n, n / clean, n / choose }'
