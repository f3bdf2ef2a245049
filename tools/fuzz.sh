#!/bin/sh
# Run every fuzz target for some seconds from its kept inputs: tools/fuzz.sh SECONDS
# A target that fails does not keep the next ones from running; what they said stands in
# build/fuzz/failed.log, with the place of the input that did it.
set -eu
seconds=${1:-60}
if ! command -v clang >/dev/null 2>&1 || ! echo 'int LLVMFuzzerTestOneInput(const char*d,long n){return 0;}' \
    | clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; then
    echo "skipped: fuzzing (clang with libFuzzer is not installed)"
    exit 0
fi
log=$(mktemp)
tools/build.sh fuzz > "$log" 2>&1 || { cat "$log"; exit 1; }
rm -f "$log"
failed=build/fuzz/failed.log
: > "$failed"
for target in tests/fuzz/fuzz_*.c; do
    name=$(basename "$target" .c)
    short=${name#fuzz_}
    work=$(mktemp -d)
    cp tests/fuzz/corpus/"$short"/* "$work"/ 2>/dev/null || true
    if ! build/fuzz/"$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$work/crash-" "$work" > "$work.log" 2>&1; then
        {
            echo "fuzz: $short FAILED; the input is in $work"
            grep -v '^#[0-9]*[[:space:]]\(NEW\|REDUCE\|pulse\|RELOAD\)' "$work.log" | tail -40
        } | tee -a "$failed"
        continue
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p; s/^Done \([0-9]*\) runs.*/\1/p' "$work.log" | tail -1)
    echo "fuzz: $short ok (${runs:-?} runs)"
    rm -rf "$work" "$work.log"
done
[ ! -s "$failed" ]
