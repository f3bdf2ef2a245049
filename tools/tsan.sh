#!/bin/sh
# Under ThreadSanitizer: the tests that are programs and meet more than one thread, their own or
# the loop, the writer of the store and the pool behind it. A warning fails its test.
# tools/tsan.sh REGEX runs those.
set -eu
jobs=$(nproc)
TSAN_OPTIONS="${TSAN_OPTIONS:-} exitcode=66"
export TSAN_OPTIONS
mkdir -p build
tools/build.sh tsan > build/tsan.log 2>&1 || { cat build/tsan.log; exit 1; }
# Left out: the rooms that know no thread, scripts, and what puts its own malloc in place.
exec ctest --test-dir build/tsan --output-on-failure -j "$jobs" --timeout 1200 \
    -R "${1:-^(call|control|event|guard|http|ledger|loop|mcp|run|serve|store)/|race\$|^tests/[a-z0-9_]*\$|^examples/}" \
    -E 'alloc|nomem|_fault$|^tests/(cli|tour|install|docs|attack_list|receipts|receipt_tokens|compact_storage|compact_tokens|compact_recorded)$'
