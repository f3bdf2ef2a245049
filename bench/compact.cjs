// SPDX-License-Identifier: Apache-2.0
// compact.cjs: see compact.sh. Runs in the folder of the sessions' files.
const { spawnSync } = require("child_process");
const { countTokens } = require("gpt-tokenizer/cjs/encoding/o200k_base");
const waybill = process.argv[2];
const count = (v) => countTokens(typeof v === "string" ? v : JSON.stringify(v), { allowedSpecial: "all" });

const sh = (cmd) => ["ExecCommand", { cmd }];
const read = (path) => ["ReadFile", { path }];
const sessions = {
    "find and fix": [sh("ls -la src"), ...[1, 2, 3, 4, 5, 6, 7, 8].map((i) => read(`src/m${i}.c`)),
        sh("grep -rn value_7_1 src"), sh("cat src/missing.c"), read("src/nowhere.c"), sh("wc -l src/*"), read("src/m8.c"), sh("head -5 src/m1.c")],
    "long build": [...[1, 2, 3, 4, 5, 6].flatMap((i) => [sh(`seq 1 ${i * 300} | sed 's/^/cc -c file/'; echo "warning: W${i}" >&2`),
        sh(`for i in 1 2 3 4 5 6 7 8 9; do echo "test $i ok"; done; exit ${i % 3}`)]), sh("seq 1 400"), sh("seq 1 400"), sh("uname -s")],
    "same again": [...[1, 2, 3, 4, 5].flatMap((i) => [read("src/m5.c"), sh("cat src/m6.c"), sh(`echo run ${i}; seq 1 200`), read("src/gone.c")])],
};

// How each provider writes a call, and the user's first words.
const shapes = {
    responses: (id, name, args) => ({ type: "function_call", call_id: id, name, arguments: JSON.stringify(args) }),
    chat: (id, name, args) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }] }),
    anthropic: (id, name, args) => ({ role: "assistant", content: [{ type: "tool_use", id, name, input: args }] }),
    gemini: (id, name, args) => ({ role: "model", parts: [{ functionCall: { id, name, args } }] }),
};
function record(calls, provider) {
    const history = [provider === "gemini" ? { role: "user", parts: [{ text: "look into it" }] } : { role: "user", content: "look into it" }];
    record.n++;
    calls.forEach(([name, args], i) => {
        const item = shapes[provider](`${record.n}_${i}`, name, args);
        const run = spawnSync(waybill, ["dispatch", "--group", "--provider", provider], { input: JSON.stringify(item) + "\n", encoding: "utf8" });
        history.push(item, ...[JSON.parse(run.stdout.trim().split("\n").pop())].flat());
    });
    return history;
}
record.n = 0;

const outputs = (h) => h.filter((v) => v.type === "function_call_output");
// What must be kept of a result: its exit code, the kind of a failure, its hint, its artifacts; the newest two whole.
function facts(h) {
    const newest = outputs(h).slice(-2);
    return outputs(h).map((v) => {
        const kept = newest.includes(v) ? [v.output] : [], error = /^Error: (\w+)/.exec(v.output), hint = /^Next: (.*)$/m.exec(v.output);
        const exit = /exited with code (\d+)/.exec(v.output);
        if (error) kept.push(error[1]);
        if (hint) kept.push(hint[1]);
        if (exit) kept.push(`code ${exit[1]}`);
        for (const a of v.output.matchAll(/artifact: (\S+)/g)) kept.push(a[1]);
        return [v.call_id, kept];
    });
}
function keptShare(h, wanted) {
    const by = new Map(outputs(h).map((v) => [v.call_id, v.output]));
    let n = 0, kept = 0;
    for (const [id, list] of wanted) for (const fact of list) {
        n++;
        let text = by.get(id) || "";
        for (let same; (same = /^same result as the later call (\S+)/.exec(text));) text = by.get(same[1]) || "";
        kept += text.includes(fact) || (fact.startsWith("code ") && text.includes(`exited with status ${fact.slice(5)}`));
    }
    return n ? Math.round(kept * 100 / n) : 100;
}
const withTexts = (h, fn) => { let i = 0; return h.map((v) => v.type === "function_call_output" ? { ...v, output: fn(v.output, i++) } : v); };
// Newest N exact, the others a placeholder; the largest N that fits.
function masking(h, budget) {
    const n = outputs(h).length;
    for (let keep = n; keep >= 0; keep--) {
        const out = withTexts(h, (t, i) => i >= n - keep ? t : "[old tool result cleared]");
        if (count(out) <= budget) return out;
    }
    return null;
}
// Every result cut in the middle to the same size; the largest that fits.
function cutting(h, budget) {
    let low = 0, high = 200000, best = null;
    while (low < high) {
        const size = (low + high + 1) >> 1;
        const out = withTexts(h, (t) => t.length <= size ? t : t.slice(0, size >> 1) + "\n[...]\n" + t.slice(t.length - (size >> 1)));
        if (count(out) <= budget) { low = size; best = out; } else high = size - 1;
    }
    return best;
}
function compact(h, budget, provider = "responses") {
    const run = spawnSync(waybill, ["compact", "--provider", provider, "--budget", String(budget)], { input: JSON.stringify(h), encoding: "utf8" });
    if (run.status === 0) return { out: JSON.parse(run.stdout) };
    return { minimum: Number((/minimum: (\d+)/.exec(run.stderr) || [])[1]) || fail(run.stderr) };
}
function fail(why) { console.log(`failed: ${why}`); process.exit(1); }

console.log("| session | budget | compaction: tokens | facts | keep newest N: tokens | facts | head/tail: tokens | facts |");
console.log("|---|---|---|---|---|---|---|---|");
const cell = (h, wanted) => h ? `${count(h)} | ${keptShare(h, wanted)} %` : "does not fit | –";
let over = 0;
for (const [name, calls] of Object.entries(sessions)) {
    const h = record(calls, "responses"), wanted = facts(h), before = count(h);
    const least = compact(h, 1).minimum;
    for (const budget of [Math.round(before * 0.75), Math.round(before * 0.5), Math.round(before * 0.3), least]) {
        if (budget < least) continue;
        const { out } = compact(h, budget);
        if (!out || count(out) > budget) { over++; console.log(`over: ${name} at ${budget}`); continue; }
        console.log(`| ${name} (${before}) | ${budget}${budget === least ? " (minimum)" : ""} | ${cell(out, wanted)} | ${cell(masking(h, budget), wanted)} | ${cell(cutting(h, budget), wanted)} |`);
    }
    if (process.env.WAYBILL_COMPACT_EXAMPLES) console.log(outputs(compact(h, least).out).slice(0, 12).map((v) => v.output).join("\n"));
}
// The other providers: the budget held by exact count, down to the minimum.
for (const provider of ["chat", "anthropic", "gemini"]) {
    const h = record(sessions["find and fix"], provider), before = count(h), least = compact(h, 1, provider).minimum;
    for (const budget of [Math.round(before * 0.75), Math.round(before * 0.4), least]) {
        const { out } = compact(h, budget, provider);
        if (!out || count(out) > budget) { over++; console.log(`over: ${provider} at ${budget}`); }
    }
    console.error(`${provider}: ${before} tokens, held down to ${least}`);
}
process.exit(over ? 1 : 0);
