#!/bin/bash
# Every attack that the threat list gives a number has a test that bears it: in a
# test's name (a05_…, test_28_…_29_…), where it is entered into a program's table.
set -u
source=$(cd "$(dirname "$0")/.." && pwd)
numbers="$(seq 1 30) $(seq 36 45) $(seq 101 110)"

shown=$(find "$source/src" "$source/tests" -name '*_test.c' -exec grep -hE '^ +[A-Za-z_]*(\(| )' {} + |
    grep -oE '\b(a[0-9]{2,3}|test_[0-9]+)_[a-z0-9_]*' | sed 's/^a0*\([0-9]\)/_\1/' |
    grep -oE '_[0-9]+' | tr -d _ | sort -un)
missing=
for n in $numbers; do
    grep -qx "$n" <<< "$shown" || missing="$missing $n"
done
[ -z "$missing" ] || { echo "attacks without a test of their number:$missing"; exit 1; }
echo "attacks by number: $(wc -w <<< "$numbers") have tests"
