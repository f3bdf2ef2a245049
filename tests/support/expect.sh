#!/bin/sh
# Run a program and compare what it prints: expect.sh FILE PROGRAM ARG…
# WAYBILL_UPDATE=1 rewrites FILE.
expected=$1
shift
got=$("$@" 2>&1; echo "exit $?")
if [ -n "${WAYBILL_UPDATE:-}" ]; then
    printf '%s\n' "$got" > "$expected"
    exit 0
fi
if [ "$got" != "$(cat "$expected")" ]; then
    printf 'expected:\n%s\ngot:\n%s\n' "$(cat "$expected")" "$got"
    exit 1
fi
