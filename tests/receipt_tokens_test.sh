#!/bin/bash
# Receipts of commands and pages never cost more than their budget, counted exactly
# (o200k, npm gpt-tokenizer) over ../shared/corpus (C6.1). Skips by name what is missing.
set -u
build=$PWD
source=$(cd "$(dirname "$0")/.." && pwd)
corpus=${WAYBILL_VECTORS:-$source/../shared}/corpus
[ -x "$build/waybill" ] || { echo "skipped: exact tokens (no waybill in $build)"; exit 77; }
[ -f "$corpus/index.json" ] || { echo "skipped: exact tokens (no ../shared)"; exit 0; }
modules=$("$source/tools/npm_modules.sh" tokens) || exit $?

top=$(mktemp -d /tmp/waybill-tokens-XXXXXX)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/home" "$top/work" "$top/receipts"
cd "$top/work" || exit 1
run() { env HOME="$top/home" WAYBILL_ROOT="$top/work" "$build/waybill" "$@"; }
for file in "$corpus"/*.txt; do
    name=$(basename "$file" .txt)
    for budget in 200 500 1000 2500; do
        run exec --max-tokens $budget -- cat "$file" > "$top/receipts/$budget.$name"
    done
    # both streams together
    for budget in 200 300 400 1000; do
        run exec --max-tokens $budget -- sh -c 'cat "$1"; cat "$1" >&2' sh "$file" > "$top/receipts/$budget.both.$name"
    done
done
for path in "$top"/work/.waybill/artifacts/*stdout.log; do
    run call ReadArtifact --input "{\"path\":\"$path\",\"max_output_tokens\":700}" > "$top/receipts/700.page.$(basename "$path")"
done
list=$(printf '"seq 1 %s",' 2000 3000 4000 5000 6000)
run call ExecCommandBatch --input "{\"commands\":[${list%,}],\"max_output_tokens\":1500}" > "$top/receipts/1500.batch"
# many commands, also more than the budget holds heads for
for count in 4 12; do
    for line in 'seq 5000' 'echo hello world' 'seq 3000; seq 300 >&2; exit 7' 'nonesuch --option' \
        'for i in $(seq 3000); do printf "x y "; done'; do
        list=$(yes "$(printf '%s' "$line" | sed 's/"/\\"/g; s/.*/"&"/')" | head -$count | paste -sd,)
        for budget in 200 300 1000 2500; do
            run call ExecCommandBatch --input "{\"commands\":[$list],\"max_output_tokens\":$budget}" \
                > "$top/receipts/$budget.$count.${line%% *}"
        done
    done
done

# lines that are hardly more than their ends
for budget in 500 1000 2500; do
    for share in 30 40 50 60; do
        run exec --max-tokens $budget -- seq 100 $((100 + budget * share / 100)) > "$top/receipts/$budget.short.$share"
    done
done

NODE_PATH=$modules node -e '
const { countTokens } = require("gpt-tokenizer/cjs/encoding/o200k_base");
const fs = require("fs"), dir = process.argv[1];
let over = 0, worst = 0, sum = 0, n = 0;
for (const name of fs.readdirSync(dir)) {
    const budget = Number(name.split(".")[0]), text = fs.readFileSync(dir + "/" + name, "utf8").replace(/\n$/, "");
    const tokens = countTokens(text, { allowedSpecial: "all" });
    n++; sum += tokens / budget; worst = Math.max(worst, tokens / budget);
    if (tokens > budget) { over++; console.log(`over: ${name}: ${tokens} of ${budget}`); }
}
console.log(`exact tokens: ${n} receipts, on average ${(sum / n * 100).toFixed(0)} % of the budget, at most ${(worst * 100).toFixed(0)} %`);
process.exit(over ? 1 : 0);
' "$top/receipts"
