// SPDX-License-Identifier: Apache-2.0
// schema_cases.mjs MODULES OUT.json [COUNT]: the tool schemas of the reference
// MCP servers under MODULES (npm's folder), each with COUNT generated instances,
// valid and invalid, and two instances for timing. Same seed, same file.
import {spawn} from 'node:child_process';
import {writeFileSync, mkdtempSync, existsSync} from 'node:fs';
import {join} from 'node:path';
import {tmpdir} from 'node:os';

const [modules, out, count = '40'] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'waybill-'));
const servers = [['everything', ['stdio']], ['filesystem', [scratch]], ['memory', []]];

let seed = 20251115;
const random = () => ((seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 8) / 2 ** 24;
const pick = (list) => list[Math.floor(random() * list.length)];

function listTools(name, args) {
  const bin = join(modules, '.bin', `mcp-server-${name}`);
  if (!existsSync(bin)) return Promise.resolve([]);
  return new Promise((resolve) => {
    const child = spawn(bin, args, {stdio: ['pipe', 'pipe', 'ignore']});
    let text = '';
    const done = (tools) => { clearTimeout(timer); child.kill(); resolve(tools); };
    const timer = setTimeout(() => done([]), 20000);
    const send = (m) => child.stdin.write(JSON.stringify({jsonrpc: '2.0', ...m}) + '\n');
    child.on('error', () => done([]));
    child.stdout.on('data', (d) => {
      text += d;
      for (let at; (at = text.indexOf('\n')) >= 0; text = text.slice(at + 1)) {
        let m;
        try { m = JSON.parse(text.slice(0, at)); } catch { continue; }
        if (m.id === 1) {
          send({method: 'notifications/initialized'});
          send({id: 2, method: 'tools/list'});
        } else if (m.id === 2) done(m.result?.tools ?? []);
      }
    });
    send({id: 1, method: 'initialize', params: {protocolVersion: '2025-06-18', capabilities: {},
      clientInfo: {name: 'bench', version: '1'}}});
  });
}

const words = ['', 'a', 'path/to/file.txt', 'Zürich', 'read', '😀 emoji', '2026-11-15T06:00:00Z', 'x'.repeat(90)];
const anything = () => pick([null, true, false, 0, -1, 3.5, 1e21, 7, 'text', '', [], {}, [1, 'a'], {a: 1}]);

function valid(s, depth = 0) {
  if (s === true || s === undefined) return anything();
  if (s.const !== undefined) return s.const;
  if (s.enum) return pick(s.enum);
  const choice = s.anyOf ?? s.oneOf;
  if (choice) return valid(pick(choice), depth + 1);
  switch (Array.isArray(s.type) ? pick(s.type) : s.type) {
  case 'object': {
    const o = {};
    for (const [k, v] of Object.entries(s.properties ?? {}))
      if (s.required?.includes(k) || random() < 0.6) o[k] = valid(v, depth + 1);
    return o;
  }
  case 'array': {
    const n = Math.max(s.minItems ?? 0, Math.floor(random() * 4));
    return Array.from({length: n}, () => valid(s.items, depth + 1));
  }
  case 'string': {
    let w = pick(words);
    while ([...w].length < (s.minLength ?? 0)) w += 'y';
    return s.maxLength === undefined ? w : [...w].slice(0, s.maxLength).join('');
  }
  case 'integer': return Math.floor((s.minimum ?? 0) + random() * ((s.maximum ?? 100) - (s.minimum ?? 0)));
  case 'number': return pick([s.minimum ?? 0, s.maximum ?? 12.25, ((s.minimum ?? 0) + (s.maximum ?? 9)) / 2]);
  case 'boolean': return random() < 0.5;
  case 'null': return null;
  default: return anything();
  }
}

// What a model sends: every member there, texts of usual length, a few items.
const texts = ['src/schema/run.c', 'The quick brown fox jumps over the lazy dog.', 'Release notes for 2.4',
  '/home/user/projects/waybill/docs/schema.md', 'Ada Lovelace', 'knows', 'Berlin, Tuesday 09:30'];

function usual(s) {
  if (s.const !== undefined) return s.const;
  if (s.enum) return pick(s.enum);
  if (s.anyOf ?? s.oneOf) return usual((s.anyOf ?? s.oneOf)[0]);
  if (s.type === 'object')
    return Object.fromEntries(Object.entries(s.properties ?? {}).map(([k, v]) => [k, usual(v)]));
  if (s.type === 'array') return Array.from({length: 3}, () => usual(s.items ?? {type: 'string'}));
  if (s.type === 'string') return pick(texts);
  return valid(s);
}

// One member, somewhere, has the wrong type; or one is missing.
function broken(v) {
  const copy = structuredClone(v), places = [];
  const walk = (o) => Object.keys(o).forEach((k) => {
    places.push([o, k]);
    if (o[k] !== null && typeof o[k] === 'object') walk(o[k]);
  });
  walk(copy);
  if (places.length === 0) return [];
  const [o, k] = pick(places);
  if (!Array.isArray(o) && random() < 0.3) delete o[k];
  else o[k] = typeof o[k] === 'object' ? 'text' : {};
  return copy;
}

function mutate(v) {
  if (v === null || typeof v !== 'object' || random() < 0.15) return anything();
  const copy = Array.isArray(v) ? [...v] : {...v};
  const keys = Object.keys(copy);
  const kind = random();
  if (kind < 0.2) copy[Array.isArray(copy) ? copy.length : pick(['extra', 'pa', 'names'])] = anything();
  else if (keys.length === 0) return anything();
  else if (kind < 0.4 && !Array.isArray(copy)) delete copy[pick(keys)];
  else { const k = pick(keys); copy[k] = mutate(copy[k]); }
  return copy;
}

const cases = [];
for (const [name, args] of servers)
  for (const tool of await listTools(name, args))
    for (const part of ['inputSchema', 'outputSchema']) {
      const schema = tool[part];
      if (!schema) continue;
      const instances = [];
      for (let i = 0; i < +count; i++) {
        const v = valid(schema);
        instances.push(i % 2 ? mutate(v) : v);
      }
      const full = usual(schema), timed = [full, broken(full)];
      cases.push({name: `${name}/${tool.name}/${part === 'inputSchema' ? 'in' : 'out'}`, schema, instances, timed});
    }
if (cases.length === 0) { console.error('no server answered'); process.exit(77); }
writeFileSync(out, JSON.stringify(cases));
console.error(`${cases.length} schemas, ${cases.length * +count} instances`);
process.exit(0);
