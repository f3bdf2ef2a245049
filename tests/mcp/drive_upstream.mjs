// SPDX-License-Identifier: Apache-2.0
// Run by the conformance suite as "the client under test": starts the gateway
// with the suite's URL as its only upstream and uses everything it offers, so
// that the suite sees Waybill's client at work.
//   WAYBILL=… node drive_upstream.mjs URL
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const url = process.argv.at(-1);
const modern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'waybill-'));
fs.mkdirSync(path.join(home, '.config/waybill'), { recursive: true });
fs.writeFileSync(path.join(home, '.config/waybill/config.json'),
    JSON.stringify({ mcpServers: { up: { url, timeoutMs: 15000 } } }));

const gateway = spawn(process.env.WAYBILL, ['serve', '--root', home],
    { env: { PATH: process.env.PATH, HOME: home }, stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let serial = 0;
const send = (m) => gateway.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n');
const request = (method, params = {}) => new Promise((resolve) => {
    waiting.set(++serial, resolve);
    send({ id: serial, method, params });
});

// A person who accepts every form as it is proposed.
const accept = (params) => ({ action: 'accept', content: Object.fromEntries(
    Object.entries(params.requestedSchema?.properties ?? {}).map(([k, v]) =>
        [k, v.default ?? (v.type === 'boolean' ? true : v.type === 'string' ? 'x' : 1)])) });
readline.createInterface({ input: gateway.stdout }).on('line', (line) => {
    const m = JSON.parse(line);
    if (m.method === 'elicitation/create') return send({ id: m.id, result: accept(m.params) });
    if (m.method && m.id !== undefined) return send({ id: m.id, error: { code: -32601, message: 'no' } });
    waiting.get(m.id)?.(m.result ?? { error: m.error });
    waiting.delete(m.id);
});

const example = (schema) => Object.fromEntries(Object.entries(schema?.properties ?? {}).map(([k, v]) =>
    [k, v.default ?? { string: 'x', number: 2, integer: 2, boolean: true, array: [], object: {} }[v.type] ?? 'x']));
const own = (list) => (list ?? []).filter((x) => x.name.startsWith('up__'));

await request('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'd', version: '1' } });
send({ method: 'notifications/initialized' });
const tools = own((await request('tools/list')).tools);
if (context.toolCalls) {
    // null where the tool's schema wants a boolean is refused here: left out, as a client may
    const given = (args) => Object.fromEntries(Object.entries(args).filter(([, v]) => v !== null));
    for (const c of context.toolCalls) await request('tools/call', { name: `up__${c.name}`, arguments: given(c.arguments) });
} else {
    await Promise.all(tools.map((t) => request('tools/call', { name: t.name, arguments: example(t.inputSchema) })));
    const echo = tools.find((t) => t.inputSchema.properties?.schema?.type === 'object');
    if (echo) await request('tools/call', { name: echo.name, arguments: { schema: tools.find((t) => t !== echo)?.inputSchema } });
}
if (modern) {
    for (const r of (await request('resources/list')).resources ?? [])
        if (!r.uri.startsWith('waybill:')) await request('resources/read', { uri: r.uri });
    for (const p of own((await request('prompts/list')).prompts)) await request('prompts/get', { name: p.name, arguments: {} });
}
gateway.stdin.end();
gateway.on('exit', (code) => {
    fs.rmSync(home, { recursive: true, force: true });
    process.exit(code ?? 1);
});
