// SPDX-License-Identifier: Apache-2.0
// A model on loopback for a harness to talk to: it calls the tools it was told
// to, one a turn, and then says "done". What it was offered and what came back is
// written to LOG as JSON Lines.
//   node fake_model.mjs LOG NAME=ARGUMENTS…
import http from 'node:http';
import fs from 'node:fs';

const [log, ...wanted] = process.argv.slice(2);
const calls = wanted.map((w) => [w.slice(0, w.indexOf('=')), w.slice(w.indexOf('=') + 1)]);
let turn = 0;

// Harnesses put the tools of a server into a namespace, or its name in front.
const flat = (tools, namespace) => (tools ?? []).flatMap((t) =>
    t.type === 'namespace' ? flat(t.tools, t.name) : [{ name: t.name, namespace }]);

function events(item, id) {
    const response = { id, object: 'response', output: [] };
    const usage = { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1,
        output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 };
    return [
        { type: 'response.created', response: { ...response, status: 'in_progress' } },
        { type: 'response.output_item.added', output_index: 0, item },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
    ].map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join('');
}

function next(body) {
    const call = calls[turn++];
    if (!call)
        return { type: 'message', id: `msg_${turn}`, role: 'assistant', content: [{ type: 'output_text', text: 'done', annotations: [] }] };
    const tool = flat(body.tools).find((t) => t.name === call[0] || t.name?.endsWith(`__${call[0]}`)) ?? { name: call[0] };
    return { type: 'function_call', id: `fc_${turn}`, call_id: `call_${turn}`, name: tool.name,
        ...(tool.namespace ? { namespace: tool.namespace } : {}), arguments: call[1] };
}

const server = http.createServer((req, res) => {
    const parts = [];
    req.on('data', (p) => parts.push(p));
    req.on('end', () => {
        if (req.method !== 'POST' || !req.url.includes('/responses')) {
            res.writeHead(200, { 'content-type': 'application/json' });
            return res.end('{"object":"list","data":[],"models":[]}');
        }
        const body = JSON.parse(Buffer.concat(parts).toString());
        const outputs = (body.input ?? []).filter((x) => x.type === 'function_call_output');
        fs.appendFileSync(log, JSON.stringify({ tools: flat(body.tools), outputs }) + '\n');
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.end(events(next(body), `resp_${turn}`));
    });
});
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
setTimeout(() => process.exit(0), 120000);
