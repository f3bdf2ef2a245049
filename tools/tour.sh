#!/bin/bash
# A walk through real calls, with public commands only, in a workspace made for it:
# tools/tour.sh WAYBILL. Every line of output is what the command printed.
set -u
waybill=$(realpath "${1:-build/release/waybill}")
[ -x "$waybill" ] || { echo "tour: no $waybill; run \`make build\` first" >&2; exit 1; }
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/bin" "$top/home" "$top/work/tools.d"
ln -s "$waybill" "$top/bin/waybill"
export PATH="$top/bin:$PATH" HOME="$top/home"
unset XDG_CONFIG_HOME XDG_STATE_HOME WAYBILL_ROOT WAYBILL_STATE
cd "$top/work"
failed=0

say() { printf '\n# %s\n' "$*"; }
run() { # EXPECTED-STATUS COMMAND
    printf '$ %s\n' "$2"
    bash -c "$2" 2>&1
    local status=$?
    [ $status = "$1" ] || { echo "tour: that ended with $status instead of $1" >&2; failed=1; }
}

say "A tool is one JSON file: an argument array, JSON on stdin, JSON or text on stdout."
cat > tools.d/wordcount.json <<'X'
{
  "name": "wordcount",
  "description": "Count the words of a text.",
  "version": "1.0.0",
  "effect": "Pure",
  "inputSchema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
  "command": ["sh", "-c", "sed 's/.*\"text\":\"//; s/\"}$//' | tr -cs 'a-z' '\\n' | sort | uniq -c | sort -rn | head -3"],
  "output": "text"
}
X
run 0 'cat tools.d/wordcount.json'

say "Files of a workspace count only once you trust them as they are."
run 0 'waybill config check'
run 0 'waybill config trust'
run 0 'waybill tools list'

say "Call it. This is the receipt: what a model reads."
run 0 "waybill call wordcount --input '{\"text\": \"the cat saw the dog and the bird\"}'"

say "The same outcome for programs: the canonical result, and the Result of the invocation."
run 0 "waybill call wordcount --input '{\"text\": \"one two two\"}' --view canonical"
run 0 "waybill call wordcount --input '{\"text\": \"one two two\"}' --view result --correlation-id tour-1"

say "Errors say what was wrong and what to do next. Exit code 1."
run 1 "waybill call wordcount --input '{\"txt\": \"oops\"}'"

say "Items as model providers send them; answers in the provider's own shape, in call order."
run 0 "printf '%s\n' '{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"wordcount\",\"input\":{\"text\":\"a b a\"}}' '{\"type\":\"function_call\",\"call_id\":\"fc_1\",\"name\":\"nosuch\",\"arguments\":\"{}\"}' | waybill dispatch"

say "A conversation that lost an answer is made legal again."
run 0 "echo '[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"wordcount\",\"input\":{}}]}]' | waybill repair --provider anthropic"

say "Small things that stand on their own."
run 0 "echo '{\"b\": 1.0, \"a\": [2e2]}' | waybill json canonical; echo"
run 0 "waybill semver pick '^1.2' 1.2.0 1.10.3 2.0.0"
run 0 "waybill doctor"
exit $failed
