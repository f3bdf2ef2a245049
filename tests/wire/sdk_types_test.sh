#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The outputs of the golden pairs, which wire/golden proves to be ours byte for
# byte, checked by the compiler against the types of the providers' own SDKs.
# Skipped by name where npm or its registry is not there.
set -u
source_dir=${WAYBILL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=${WAYBILL_BUILD:-${TMPDIR:-/tmp}}/sdk-types

. "$source_dir/tests/wire/compiled.sh"
types_in "$work"

cat >generate.mjs <<'JS'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
const [golden] = process.argv.slice(2);
const types = {
  responses: ['ResponseInputItem', 'ResponseInputItem[]'],
  chat: ['ChatCompletionToolMessageParam', 'ChatCompletionToolMessageParam[]'],
  anthropic: ['ToolResultBlockParam', 'MessageParam'],
  gemini: ['Part', 'Content'],
};
const lines = [
  "import type { ResponseInputItem } from 'openai/resources/responses/responses';",
  "import type { ChatCompletionToolMessageParam } from 'openai/resources/chat/completions';",
  "import type { ToolResultBlockParam, MessageParam } from '@anthropic-ai/sdk/resources/messages';",
  "import type { Part, Content } from '@google/genai';",
];
let n = 0;
for (const [provider, [one, many]] of Object.entries(types)) {
  for (const file of readdirSync(`${golden}/${provider}`).sort()) {
    const pair = JSON.parse(readFileSync(`${golden}/${provider}/${file}`, 'utf8'));
    const add = (type, value) =>
      lines.push(`/* ${provider}/${file} */`, `export const x${n++}: ${type} = ${JSON.stringify(value)};`);
    for (const output of pair.output ?? [])
      if (output.type !== 'waybill.error') add(one, output);
    if (pair.group) add(many, pair.group);
  }
}
writeFileSync('outputs.ts', lines.join('\n') + '\n');
/* What the compiler must refuse, or the check above proves nothing. */
writeFileSync('refused.ts', lines.slice(0, 4).join('\n') + `
export const a: ResponseInputItem = {"type":"function_call_output","call_id":"a","output":7};
export const b: ChatCompletionToolMessageParam = {"role":"tool","tool_call_id":"a","content":[{"type":"image_url"}]};
export const c: ToolResultBlockParam = {"type":"tool_result","tool_use_id":"a","is_error":"yes"};
export const d: Part = {"functionResponse":{"name":"a","response":"text"}};
`);
console.log(`${n} outputs`);
JS
node generate.mjs "$source_dir/tests/golden/wire" || exit 1
hold_to_types outputs.ts 4 "all outputs"
