// SPDX-License-Identifier: Apache-2.0
// The official SDK's client against the gateway in front of real servers.
//   node sdk_client.mjs legacy|modern URL|PROGRAM [ARG…]
// MODULES: node_modules of the SDKs; TOKEN: bearer token; FILES: folder of the
// file server; PREFIXES: of the servers-everything. Prints what fails; exit 1.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const [era, ...target] = process.argv.slice(2);
const load = async (spec) => import(pathToFileURL(createRequire(path.join(process.env.MODULES, 'x.js')).resolve(spec)));
const http = target[0].startsWith('http:');
let failures = 0, checks = 0;
const check = (what, ok, got) => {
    checks++;
    if (ok) return;
    failures++;
    console.log(`FAILED: ${era} ${http ? 'http' : 'stdio'}: ${what}: ${JSON.stringify(got)?.slice(0, 600)}`);
};
const attempt = async (what, fn) => {
    try { await fn(); } catch (e) { check(what, false, String(e?.stack ?? e)); }
};

const asked = [];
const answers = {
    'elicitation/create': (r) => { asked.push(r.params); return { action: 'accept', content: { name: 'Ada' } }; },
    'sampling/createMessage': (r) => {
        asked.push(r.params);
        return { role: 'assistant', model: 'none', stopReason: 'endTurn', content: { type: 'text', text: 'sampled text' } };
    },
    'roots/list': () => ({ roots: [{ uri: 'file:///', name: 'all' }] }),
};
const updates = [];

async function connect() {
    const capabilities = { elicitation: {}, sampling: {}, roots: {} };
    const headers = { Authorization: `Bearer ${process.env.TOKEN}` };
    const info = { name: 'test', version: '1' };
    let client, transports;
    if (era === 'modern') {
        const sdk = await load('@modelcontextprotocol/client');
        transports = http ? sdk : await load('@modelcontextprotocol/client/stdio');
        client = new sdk.Client(info, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
        for (const m of Object.keys(answers)) client.setRequestHandler(m, answers[m]);
    } else {
        const sdk = await load('@modelcontextprotocol/sdk/client/index.js');
        const types = await load('@modelcontextprotocol/sdk/types.js');
        transports = http ? await load('@modelcontextprotocol/sdk/client/streamableHttp.js')
                          : await load('@modelcontextprotocol/sdk/client/stdio.js');
        client = new sdk.Client(info, { capabilities });
        client.setRequestHandler(types.ElicitRequestSchema, answers['elicitation/create']);
        client.setRequestHandler(types.CreateMessageRequestSchema, answers['sampling/createMessage']);
        client.setRequestHandler(types.ListRootsRequestSchema, answers['roots/list']);
        client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, (n) => { updates.push(n.params.uri); });
    }
    const transport = http
        ? new transports.StreamableHTTPClientTransport(new URL(target[0]), { requestInit: { headers } })
        : new transports.StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env, stderr: 'ignore' });
    await client.connect(transport);
    return { client, transport };
}

const text = (r) => (r?.content ?? []).map((c) => c.text ?? '').join('\n');

async function everything(c, p) {
    const call = (name, args, options) => era === 'modern'
        ? c.callTool({ name: `${p}__${name}`, arguments: args }, options)
        : c.callTool({ name: `${p}__${name}`, arguments: args }, undefined, options);
    await attempt(`${p} echo`, async () => {
        const r = await call('echo', { message: 'héllo' });
        check(`${p} echo passes untouched`, JSON.stringify(r.content) === '[{"type":"text","text":"Echo: héllo"}]', r);
    });
    await attempt(`${p} structured`, async () => { // the SDK checks it against the outputSchema
        const r = await call('get-structured-content', { location: 'New York' });
        check(`${p} structuredContent`, typeof r.structuredContent?.temperature === 'number', r);
    });
    await attempt(`${p} image`, async () => {
        const r = await call('get-tiny-image', {});
        check(`${p} image`, r.content.some((x) => x.type === 'image' && x.mimeType === 'image/png'), r);
    });
    await attempt(`${p} links`, async () => {
        const r = await call('get-resource-links', { count: 2 });
        check(`${p} links`, r.content.filter((x) => x.type === 'resource_link').length === 2, r);
    });
    await attempt(`${p} progress`, async () => { // the SDK tells its own rounds of input in between
        const seen = [];
        const r = await call('trigger-long-running-operation', { duration: 0.2, steps: 4 }, { onprogress: (x) => { if (!x.message?.startsWith('Fulfilling')) seen.push(x.progress); } });
        check(`${p} long work ends`, text(r).includes('completed'), r);
        check(`${p} progress rises`, seen.length > 0 && seen.every((x, i) => i === 0 || x > seen[i - 1]), seen);
    });
    await attempt(`${p} cancel`, async () => {
        const stop = new AbortController();
        const going = call('trigger-long-running-operation', { duration: 30, steps: 300 },
            { signal: stop.signal, onprogress: () => stop.abort() });
        check(`${p} a cancelled call rejects`, await going.then(() => false, () => true));
        // Over HTTP leaving is all that tells of it, and until it is noticed the call is open.
        if (era === 'modern' && http) await new Promise((done) => setTimeout(done, 1500));
    });
    await attempt(`${p} elicitation`, async () => {
        const before = asked.length, r = await call('trigger-elicitation-request', {});
        check(`${p} elicitation reaches the client and back`, asked.length === before + 1 && text(r).includes('Ada'), r);
    });
    await attempt(`${p} sampling`, async () => {
        const before = asked.length, r = await call('trigger-sampling-request', { prompt: 'hi', maxTokens: 10 });
        check(`${p} sampling reaches the client and back`, asked.length === before + 1 && text(r).includes('sampled text'), r);
    });
    await attempt(`${p} bad input`, async () => {
        const r = await call('get-sum', { a: 'x' });
        check(`${p} bad input is a result`, r.isError === true && /a/.test(text(r)), r);
    });
    await attempt(`${p} prompts`, async () => {
        const r = await c.getPrompt({ name: `${p}__args-prompt`, arguments: { city: 'Paris' } });
        check(`${p} prompt`, JSON.stringify(r.messages).includes('Paris'), r);
        const d = await c.complete({ ref: { type: 'ref/prompt', name: `${p}__completable-prompt` }, argument: { name: 'department', value: 'E' } });
        check(`${p} completion`, d.completion.values.includes('Engineering'), d);
    });
}

async function rest(c) {
    await attempt('lists', async () => {
        const { tools } = await c.listTools();
        for (const n of ['ExecCommand', 'fs__read_text_file', 'mem__create_entities', ...process.env.PREFIXES.split(' ').map((p) => `${p}__echo`)])
            check(`tool ${n}`, tools.some((t) => t.name === n), tools.map((t) => t.name));
        check('annotations pass', tools.find((t) => t.name === 'fs__read_text_file')?.annotations?.readOnlyHint === true, tools);
        check('resources', (await c.listResources()).resources.some((r) => r.uri.startsWith('demo://')));
        check('templates', (await c.listResourceTemplates()).resourceTemplates.some((r) => r.uriTemplate?.startsWith('demo://')));
        check('prompts', (await c.listPrompts()).prompts.some((x) => x.name.endsWith('__simple-prompt')));
    });
    await attempt('read', async () => {
        const r = await c.readResource({ uri: 'demo://resource/dynamic/text/1' });
        check('a resource of a template', r.contents[0].text?.includes('1'), r);
    });
    const call = (name, args) => c.callTool({ name, arguments: args });
    await attempt('files', async () => {
        const file = path.join(process.env.FILES, `${era}-${http}.txt`);
        const w = await call('fs__write_file', { path: file, content: 'written through\n' });
        check('file server writes', !w.isError, w);
        check('file server reads', text(await call('fs__read_text_file', { path: file })).includes('written through'));
        const bad = await call('fs__read_text_file', { path: '/etc/passwd' });
        check('its own refusal passes', bad.isError === true && /denied|outside/i.test(text(bad)), bad);
    });
    await attempt('memory', async () => {
        const name = `${era}-${http}`;
        const w = await call('mem__create_entities', { entities: [{ name, entityType: 'test', observations: ['seen'] }] });
        check('memory server writes', !w.isError, w);
        const g = await call('mem__read_graph', {});
        check('memory server reads', JSON.stringify(g.structuredContent ?? text(g)).includes(name), g);
    });
    await attempt('built-in', async () => {
        const r = await call('ExecCommand', { cmd: 'echo built in' });
        check('a built-in tool', text(r).includes('built in') && r._meta?.['waybill/call']?.status === 'success', r);
        const e = await call('nosuch', {}).then(() => null, (x) => x);
        check('an unknown tool is -32602', e?.code === -32602, e);
    });
}

const { client, transport } = await connect();
check('revision', (client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? '2025-11-25') === (era === 'modern' ? '2026-07-28' : '2025-11-25'));
await rest(client);
for (const p of process.env.PREFIXES.split(' ')) await everything(client, p);
if (http && era === 'legacy') await transport.terminateSession();
await client.close();
console.log(`${era} ${http ? 'http' : 'stdio'}: ${checks - failures} of ${checks}`);
process.exit(failures ? 1 : 0);
