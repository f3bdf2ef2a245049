// SPDX-License-Identifier: Apache-2.0
// The official SDK's client loses its connection in the middle of a call and has the answer all
// the same, of one execution: by Last-Event-ID.
//   node sdk_resume.mjs URL ROOT      MODULES: node_modules of the SDK; TOKEN: bearer token;
// ROOT: the gateway's workspace
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

const gateway = new URL(process.argv[2]), root = process.argv[3];
const load = async (spec) => import(pathToFileURL(createRequire(path.join(process.env.MODULES, 'x.js')).resolve(spec)));
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');

// A wire that can be cut; all of what passes is remembered.
const wires = new Set();
let asked = '';
const between = net.createServer((near) => {
    const far = net.connect(gateway.port, gateway.hostname);
    for (const [from, to] of [[near, far], [far, near]]) {
        wires.add(from);
        from.on('error', () => {});
        from.on('close', () => { to.destroy(); wires.delete(from); });
        from.pipe(to);
    }
    near.on('data', (bytes) => { asked += bytes; });
});
await new Promise((done) => between.listen(0, '127.0.0.1', done));
const cut = () => { for (const wire of wires) wire.destroy(); };

const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
client.onerror = () => {}; // the cut itself
await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${between.address().port}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } },
    reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 200, reconnectionDelayGrowFactor: 1.5, maxRetries: 5 },
}));
let reports = 0;
const onprogress = () => {
    if (reports++ > 0) return;
    cut();
    setTimeout(() => fs.writeFileSync(path.join(root, 'go'), ''), 300); // it ends while nobody listens, or soon after
};
const result = await client.callTool(
    { name: 'ExecCommand', arguments: { cmd: 'echo ran >> runs; echo first; until [ -e go ]; do sleep 0.05; done; echo last' } },
    undefined, { timeout: 30000, onprogress });
const text = result.content[0].text;
const runs = fs.readFileSync(path.join(root, 'runs'), 'utf8');
const faults = [];
if (reports === 0) faults.push('no progress was told');
if (!/last-event-id: \d+-\d+/i.test(asked)) faults.push('the client did not come back with Last-Event-ID');
if (!/code 0/.test(text) || !text.includes('last')) faults.push(`the answer is not whole: ${text}`);
if (runs !== 'ran\n') faults.push(`it did not run once: ${runs}`);
await client.close();
between.close();
cut();
for (const fault of faults) console.log(`FAILED: resume: ${fault}`);
process.exit(faults.length ? 1 : 0);
