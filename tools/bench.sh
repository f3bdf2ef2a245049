#!/bin/sh
# All measurements in one table: tools/bench.sh BUILD. Comparisons of latency are
# pinned to one core: waking another one costs more than what is measured.
set -eu
build=${1:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pin=
command -v taskset > /dev/null 2>&1 && pin='taskset -c 0'

title() { printf '\n== %s\n' "$*"; }
have() { [ -x "$build/$1" ] || { echo "skipped: $1 (not built)"; return 1; }; }

echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores, Linux $(uname -r)"

title "JSON: read and write a typical tool call, against yyjson alone"
have bench_json && $pin "$build/bench_json"

title "a call of an empty tool, from request to result (target: under 5 us, fixed allocations)"
have bench_call && $pin "$build/bench_call"

title "start of the binary (target: at most 1 ms over an empty program)"
if have bench_start && command -v cc > /dev/null 2>&1; then
    echo 'int main(void) { return 0; }' > "$work/empty.c"
    cc -O2 -o "$work/empty" "$work/empty.c"
    echo '{"name": "ReadFile", "input": {"path": "src/main.c"}}' > "$work/small.json"
    $pin "$build/bench_start" "$work/empty" "$build/waybill" "$work/small.json"
fi

title "dispatch over a pipe (target: within 3 times the floor)"
have bench_dispatch && $pin "$build/bench_dispatch"

# The other rooms' programs, each in its own words.
for program in "$build"/bench_*; do
    name=$(basename "$program")
    case $name in
    bench_json | bench_call | bench_start | bench_dispatch | bench_receipts) continue ;;
    esac
    [ -f "$program" ] && [ -x "$program" ] || continue
    title "${name#bench_}"
    (cd "$work" && timeout 120 "$OLDPWD/$program") || echo "$name ended with status $?"
done
for script in bench/*.sh; do
    [ -f "$script" ] || continue
    title "$(basename "$script" .sh)"
    bash "$script" "$build" || echo "$script ended with status $?"
done
