#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The official JSON Schema test suite from npm (@json-schema-org/tests), through
# `waybill schema run`, where ../shared has no copy of it (schema/suite runs that
# one with its counts asserted). WAYBILL_NPM_SUITE=1 runs it in any case. The
# package takes the tests themselves from a repository, so the registry alone is
# not enough; the drafts it has are run.
set -u
source_dir=${WAYBILL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WAYBILL_BUILD:-$PWD}
waybill=${WAYBILL:-$build/waybill}
work=$build/npm-suite

skip() {
    echo "skipped: JSON Schema test suite from npm ($1)"
    exit 77
}

if [ -d "${WAYBILL_VECTORS:-$source_dir/../shared}/json-schema-test-suite" ] &&
    [ -z "${WAYBILL_NPM_SUITE:-}" ]; then
    skip "../shared has it"
fi
modules=$(bash "$source_dir/tools/npm_modules.sh" suite) || exit $?
package=$modules/json-schema-test-suite
mkdir -p "$work" && cd "$work" || exit 1
echo '{"private": true, "type": "module"}' >package.json

cat >lines.mjs <<'JS'
import { readdirSync, readFileSync, writeFileSync, existsSync } from 'node:fs';
const root = process.argv[2];
const base = [`${root}/tests`, root].find((d) => existsSync(`${d}/draft7`));
if (!base) process.exit(77);
const lines = [], wanted = [];
for (const [folder, draft] of [['draft2020-12', '2020-12'], ['draft7', '7']]) {
  if (!existsSync(`${base}/${folder}`)) continue;
  for (const file of readdirSync(`${base}/${folder}`).sort()) {
    if (!file.endsWith('.json')) continue;
    for (const group of JSON.parse(readFileSync(`${base}/${folder}/${file}`, 'utf8'))) {
      for (const test of group.tests) {
        const line = { id: wanted.length, schema: group.schema, instance: test.data };
        if (draft === '7') line.draft = '7';
        lines.push(JSON.stringify(line));
        wanted.push({ valid: test.valid, what: `${folder}/${file}: ${group.description}: ${test.description}` });
      }
    }
  }
}
writeFileSync('lines.jsonl', lines.join('\n') + '\n');
writeFileSync('wanted.json', JSON.stringify(wanted));
JS
node lines.mjs $package || skip "the package has no tests where they were"
"$waybill" schema run --remote "http://localhost:1234/=$package/remotes" <lines.jsonl >answers.jsonl
cat >compare.mjs <<'JS'
import { readFileSync } from 'node:fs';
const wanted = JSON.parse(readFileSync('wanted.json', 'utf8'));
const answers = readFileSync('answers.jsonl', 'utf8').trim().split('\n').map((l) => JSON.parse(l));
let wrong = wanted.length - answers.length;
for (const a of answers)
  if (a.valid !== wanted[a.id].valid) {
    wrong++;
    console.log(`${wanted[a.id].what}: ${JSON.stringify(a)}`);
  }
console.log(`@json-schema-org/tests: ${wanted.length} tests, ${wrong} wrong`);
process.exit(wrong === 0 && wanted.length > 300 ? 0 : 1);
JS
node compare.mjs
