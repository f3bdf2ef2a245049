#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/receipts_test.sh: by exact o200k counts over the corpus: the estimate of
# tokens is never more than 10 % under (nor is it of scripts and signs that are rare
# in it) and on average at most 15 % over, receipts stay within their budget and keep their facts (issue 6, "What must hold").
# Skips by name without ../shared, node or the npm module gpt-tokenizer.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
shared=${WAYBILL_VECTORS:-$here/../../shared}
program=$PWD/bench_receipts

skip() { echo "skipped: $1"; exit 77; }
[ -f "$shared/corpus/index.json" ] || skip "receipts (no ../shared)"
[ -x "$program" ] || skip "receipts (no bench_receipts)"
modules=$("$here/../tools/npm_modules.sh" tokens) || exit $?

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$modules" "$work/node_modules"
cat >"$work/check.mjs" <<'JS'
import fs from 'fs';
import { execFileSync } from 'child_process';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
const [corpus, program] = process.argv.slice(2);
const files = JSON.parse(fs.readFileSync(corpus + '/index.json', 'utf8')).files;
const count = s => countTokens(s, { disallowedSpecial: new Set() });
const run = (...args) => execFileSync(program, args, { maxBuffer: 1 << 26 }).toString();
const ansi = /\x1b\[[0-9;?]*[ -\/]*[@-~]/g;
const plain = s => s.replace(/\\u([0-9a-fA-F]{4})/g, (m, h) => String.fromCharCode(parseInt(h, 16)))
    .replace(/\\n/g, '\n').replace(/\\t/g, '\t').replace(/\\"/g, '"').replace(/\\\\/g, '\\');
let wrong = 0, sum = 0, n = 0;
const bad = text => { console.log(text); wrong++; };
for (const f of files) {
    const text = fs.readFileSync(`${corpus}/${f.file}`);
    if (text.includes(0))
        continue;
    const ratio = parseInt(run('--tokens', `${corpus}/${f.file}`)) / count(text.toString());
    if (ratio < 0.9)
        bad(`${f.file}: the estimate is ${ratio.toFixed(2)} of the exact count`);
    sum += ratio;
    n++;
}
if (sum / n > 1.15)
    bad(`the estimate is on average ${(sum / n).toFixed(2)} of the exact count`);
const scripts = { braille: [0x2800, 0x28ff], han: [0x4e00, 0x9fff], ethiopic: [0x1200, 0x135a], tibetan: [0xf40, 0xf6c],
    mathematics: [0x2200, 0x22ff], arrows: [0x2190, 0x21ff], blocks: [0x2580, 0x25ff], cherokee: [0x13a0, 0x13f4],
    hangul: [0xac00, 0xd7a3], phonetic: [0x250, 0x2af], cuneiform: [0x12000, 0x12399], cyrillic: [0x430, 0x44f],
    armenian: [0x531, 0x586], devanagari: [0x905, 0x939], thai: [0xe01, 0xe4e], marks: [33, 47], printable: [33, 126] };
for (const [name, [first, last]] of Object.entries(scripts)) {
    let text = '', x = 1;
    for (let i = 0; i < 3000; i++) {
        x = x * 48271 % 2147483647;
        text += String.fromCodePoint(first + x % (last - first + 1)) + (i % 80 === 79 ? '\n' : '');
    }
    fs.writeFileSync('script', text);
    const ratio = parseInt(run('--tokens', 'script')) / count(text);
    if (ratio < 0.9)
        bad(`${name}: the estimate is ${ratio.toFixed(2)} of the exact count`);
}
for (const [budget, least] of [[1000, 0.95], [2500, 0.98]]) {
    let kept = 0, facts = 0;
    for (const f of files) {
        const receipt = run(`${corpus}/${f.file}`, String(budget), String(f.exit), f.command);
        const shown = receipt.replace(ansi, ''), other = plain(shown);
        if (count(receipt) > budget)
            bad(`${f.file}: ${count(receipt)} tokens in a receipt of ${budget}`);
        for (const m of f.must_keep) {
            facts++;
            kept += shown.includes(m.text) || other.includes(m.text);
        }
    }
    if (kept < least * facts)
        bad(`receipts of ${budget} tokens keep ${kept} of ${facts} facts`);
}
process.exit(wrong ? 1 : 0);
JS
cd "$work" && node check.mjs "$(cd "$shared/corpus" && pwd)" "$program"
