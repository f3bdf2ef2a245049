#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `waybill tools --format` prints, checked by the compiler against the types
# of the providers' own SDKs. Skipped by name where npm or its registry is not
# there.
set -u
source_dir=${WAYBILL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WAYBILL_BUILD:-$PWD}
waybill=${WAYBILL:-$build/waybill}
work=$build/definition-types

skip() {
    echo "skipped: tool definitions against SDK types ($1)"
    exit 77
}

[ -x "$waybill" ] || skip "no waybill"
. "$source_dir/tests/wire/compiled.sh"
types_in "$work"
mkdir -p workspace/tools.d home || exit 1

cat >workspace/tools.d/all.json <<'JSON'
[
  {"name": "fs.write", "title": "Write", "description": "Write.", "version": "1.1.0", "command": ["true"],
   "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
                   "additionalProperties": false},
   "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}, "effect": "IdempotentWrite"},
  {"name": "any", "command": ["true"], "effect": "Pure", "deprecated": "use fs.write"},
  {"name": "lark", "inputKind": "text", "grammar": "start: \"a\"+", "description": "Letters.", "command": ["true"]},
  {"name": "re", "inputKind": "text", "grammar": {"syntax": "regex", "definition": "^[0-9]+$"}, "command": ["true"]},
  {"name": "free", "inputKind": "text", "command": ["true"]}
]
JSON
export HOME=$work/home
unset XDG_STATE_HOME XDG_CONFIG_HOME
"$waybill" config trust -q --root workspace || exit 1
{
    cat <<'TS'
import type { Tool as ResponsesTool } from 'openai/resources/responses/responses';
import type { ChatCompletionTool } from 'openai/resources/chat/completions';
import type { Tool as AnthropicTool } from '@anthropic-ai/sdk/resources/messages';
import type { Tool as GeminiTool } from '@google/genai';
import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js';
TS
    for pair in responses:ResponsesTool chat:ChatCompletionTool anthropic:AnthropicTool \
        gemini:GeminiTool mcp:McpTool; do
        printf 'export const %s: %s[] = ' "${pair%%:*}" "${pair#*:}"
        "$waybill" tools --root workspace --json --format "${pair%%:*}" || exit 1
        echo ';'
    done
} >definitions.ts || exit 1
# What the compiler must refuse, or the check above proves nothing.
{
    head -5 definitions.ts
    cat <<'TS'
export const a: ResponsesTool[] = [{"type":"function","name":"a","parameters":7,"strict":false}];
export const b: ChatCompletionTool[] = [{"type":"custom","custom":{"name":"a","format":{"type":"grammar"}}}];
export const c: AnthropicTool[] = [{"name":"a","input_schema":{"type":"array"}}];
export const d: GeminiTool[] = [{"functionDeclarations":{"name":"a"}}];
export const e: McpTool[] = [{"name":"a","inputSchema":{"type":"string"}}];
TS
} >refused.ts
hold_to_types definitions.ts 5 "all definitions"
