#!/bin/sh
# What CI runs: two compilers, sanitizers, lint, a few seconds of every fuzz
# target. Ends with ctest's summary. The seed of random tests is printed.
set -eu
jobs=$(nproc)
timeout=600
[ -z "${WAYBILL_SOAK:-}" ] || timeout=7200 # the whole length of a test may be an hour
WAYBILL_SEED=${WAYBILL_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export WAYBILL_SEED
echo "random tests use WAYBILL_SEED=$WAYBILL_SEED"

step() { printf '\n== %s\n' "$*"; }
quiet() {
    log=$(mktemp)
    if ! "$@" > "$log" 2>&1; then
        cat "$log"
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

step "lint"
tools/lint.sh
step "build with gcc"
quiet tools/build.sh dev
step "release build"
quiet tools/build.sh release waybill waybill_shared waybill_static
step "build with clang"
quiet tools/build.sh clang
step "build with address and undefined behaviour sanitizers"
quiet tools/build.sh asan
# A part that fails does not hide what the next ones would find.
failed=
part() {
    "$@" || failed="$failed
  $*"
}
step "tests under sanitizers"
part ctest --test-dir build/asan --output-on-failure -j "$jobs" --timeout "$timeout"
step "fuzz, a few seconds each"
part tools/fuzz.sh "${FUZZ_SECONDS:-3}"
step "tests (a sample with clang, then all with gcc)"
part quiet ctest --test-dir build/clang --output-on-failure -j "$jobs" -E '^(tests|fuzz)/' --timeout "$timeout"
part ctest --test-dir build/dev --output-on-failure -j "$jobs" --timeout "$timeout"
[ -z "$failed" ] || {
    cat build/fuzz/failed.log 2>/dev/null || true
    echo "failed:$failed"
    exit 1
}
