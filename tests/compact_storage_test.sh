#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# S0 "Runtime Storage Contract" and "Truncation Should Be Stable Across
# Re-serialization" on a recorded call and its compacted history (C11, C12.3).
set -u
build=$PWD
[ -x "$build/waybill" ] || { echo "skipped: storage and compaction (no waybill in $build)"; exit 77; }
top=$(mktemp -d /tmp/waybill-storage-XXXXXX)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/home" "$top/work"
cd "$top/work" || exit 1
run() { env HOME="$top/home" WAYBILL_ROOT="$top/work" "$build/waybill" "$@"; }
failed=0
check() { # what, text, part
    case $2 in *"$3"*) ;; *) echo "failed: $1: no $3"; failed=1 ;; esac
}
call() { printf '{"type":"function_call","call_id":"c%s","name":"ExecCommand","arguments":"{\\"cmd\\":\\"echo FACT-%s; seq %s 20000\\"}"}' "$1" "$1" "$1"; }
history=
for i in 1 2 3 4; do
    out=$(call $i | run dispatch --provider responses)
    history="$history${history:+,}$(call $i),$out"
    [ $i = 1 ] && receipt=$out
done
history="[$history]"

# "Holon may continue storing richer internal records": original tool input,
# structured runtime output, audit-only details, latency and trust metadata
row=$(run ledger show c1 --json)
check "original tool input" "$row" '"input":{"cmd":"echo FACT-1; seq 1 20000"}'
check "structured runtime output" "$row" '"exit_status":0'
check "audit-only details" "$row" '"audit":{"containment":"'
check "trust" "$row" '"principal":"local"'
check "latency" "$row" '"timings":{"startedAt":"'
# "full output artifacts"
path=$(printf '%s' "$receipt" | sed 's/.*stdout artifact: \([^ ]*\) .*/\1/')
[ "$(wc -l < "$path")" = 20001 ] || { echo "failed: the artifact holds all of it"; failed=1; }
# "The canonical structured result is the stable runtime record."
# "Audit records should preserve both: the canonical result, the rendered receipt
# returned to the model, structured runtime-only details where useful"
check "canonical result" "$row" '"canonical":{"tool_name":"ExecCommand","status":"success"'
check "rendered receipt" "$row" '"receipt":"Process exited with code 0'

# "later prompt construction and context compaction should not accidentally
# re-expand it from runtime storage": what was cut from the receipt stays cut
minimum=$(printf '%s' "$history" | run compact --provider responses --budget 1 2>&1 > /dev/null | sed 's/minimum: //')
for budget in "$minimum" $((minimum + 1)) $((minimum * 3)) $((minimum * 8)); do
    out=$(printf '%s' "$history" | run compact --provider responses --budget "$budget") || { echo "failed: budget $budget"; failed=1; continue; }
    [ ${#out} -le ${#history} ] || { echo "failed: larger at $budget"; failed=1; }
    again=$(printf '%s' "$out" | run compact --provider responses --budget "$budget")
    [ "$again" = "$out" ] || { echo "failed: not stable at $budget"; failed=1; }
    back=$(printf '%s' "$out" | run compact --provider responses --budget 900000000)
    [ "$back" = "$out" ] || { echo "failed: re-expanded with room to spare"; failed=1; }
    # "The model-visible rendering is a derived receipt for prompt history, not the
    # sole source of truth": the row is as it was
    [ "$(run ledger show c1 --json)" = "$row" ] || { echo "failed: the record changed"; failed=1; }
    # "remain bounded unless the agent explicitly asks for a narrower slice through an
    # appropriate tool": the compacted result names it
    check "the way back at $budget" "$out" "$path"
done
check "the tool that reads the rest" "$(printf '%s' "$history" | run compact --provider responses --budget "$minimum")" "call c1; ReadArtifact {"
exit $failed
