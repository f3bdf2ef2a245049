// SPDX-License-Identifier: Apache-2.0
// schema_ajv.mjs --verdicts MODULES CASES.json: ajv's verdicts, in the form of bench_schema.
// schema_ajv.mjs MODULES CASES.json OURS.jsonl: ajv's times beside ours.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {resolve} from 'node:path';

const args = process.argv.slice(2);
const verdicts = args[0] === '--verdicts' && args.shift();
const [modules, casesFile, oursFile] = args;
const require = createRequire(resolve(modules, 'x.js'));
const options = {strict: false, validateFormats: false, logger: false};
const Ajv7 = require('ajv').default, Ajv2020 = require('ajv/dist/2020').default;
const isDraft7 = (s) => typeof s === 'object' && /draft-07/.test(s.$schema ?? '');
const fresh = (s) => isDraft7(s) ? new Ajv7(options) : new Ajv2020(options);
const cases = JSON.parse(readFileSync(casesFile, 'utf8'));

if (verdicts) {
  for (const c of cases) {
    const check = fresh(c.schema).compile(c.schema);
    console.log(`${c.name} ${c.instances.map((i) => check(i) ? 1 : 0).join('')}`);
  }
  process.exit(0);
}

let sink = 0;
function best(fn, budgetNs = 2e6, rounds = 15) {
  let n = 1, low = Infinity;
  for (let r = 0; r < rounds; r++) {
    const t0 = process.hrtime.bigint();
    for (let i = 0; i < n; i++) sink += fn() ? 1 : 0;
    const spent = Number(process.hrtime.bigint() - t0);
    low = Math.min(low, spent / n);
    if (spent < budgetNs) { n *= spent < budgetNs / 16 ? 16 : 2; r--; }
  }
  return low;
}

const ours = readFileSync(oursFile, 'utf8').trim().split('\n').map((l) => JSON.parse(l));
const rows = [];
const shared = [new Ajv7(options), new Ajv2020(options)];
let at = 0;
for (const c of cases) {
  const check = fresh(c.schema).compile(c.schema);
  const t0 = process.hrtime.bigint();
  shared[isDraft7(c.schema) ? 0 : 1].compile(structuredClone(c.schema));
  const compile = Number(process.hrtime.bigint() - t0);
  for (const v of c.timed) {
    const text = JSON.stringify(v), o = ours[at++];
    if (check(v) !== o.valid) { console.error(`verdicts differ: ${c.name} ${text}`); process.exitCode = 1; }
    rows.push({name: c.name, valid: o.valid, bytes: text.length, o, validate: best(() => check(v)),
      whole: best(() => check(JSON.parse(text))), compile});
  }
}
const mean = (f) => Math.exp(rows.reduce((a, r) => a + Math.log(f(r)), 0) / rows.length);
const f = (n) => n.toFixed(n < 100 ? 1 : 0).padStart(9);
console.log('case'.padEnd(52) + 'bytes  valid | validate ns: ours      ajv | from bytes ns: ours   ajv');
for (const r of rows)
  console.log(r.name.padEnd(50) + String(r.bytes).padStart(6) + (r.valid ? '    yes' : '     no') +
    ' |' + f(r.o.validate_ns).padStart(18) + f(r.validate) + ' |' + f(r.o.bytes_ns).padStart(20) + f(r.whole));
const v = [mean((r) => r.o.validate_ns), mean((r) => r.validate)];
const w = [mean((r) => r.o.bytes_ns), mean((r) => r.whole)];
const k = [mean((r) => r.o.compile_ns), mean((r) => r.compile)];
console.log(`geometric mean of ${rows.length}: validate ${v[0].toFixed(1)} ns, ajv ${v[1].toFixed(1)} ns: ` +
  `${(v[0] / v[1]).toFixed(2)}x ajv's time (bar 1.4)`);
console.log(`  from bytes to verdict ${w[0].toFixed(0)} ns, ajv ${w[1].toFixed(0)} ns: ${(w[1] / w[0]).toFixed(2)}x as fast (bar 3.5)`);
console.log(`  compile ${(k[0] / 1000).toFixed(2)} us (bar 20), ajv ${(k[1] / 1000).toFixed(0)} us: ${(k[1] / k[0]).toFixed(0)}x as fast`);
const pass = v[0] / v[1] <= 1.4 && w[1] / w[0] >= 3.5 && k[0] <= 20000;
console.log(pass ? 'schema: all bars met' : 'schema: a bar was missed');
