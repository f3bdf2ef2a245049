#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# README.md is true: its commands are played in a workspace of their own and print what it shows.
# "$ cat FILE" makes the file. A line "…" stands for any lines; ids, the place of the workspace
# and how many lines its name leaves room for are not compared.
set -u
build=$PWD
source=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$build/waybill" ] || { echo "skipped: README (no waybill in $build)"; exit 77; }
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/home" "$top/bin" "$top/work/tools.d" "$top/shown"

# What it shows: shown/N.command and shown/N.output.
awk -v top="$top/shown" '
    /^```/ { inside = !inside && $0 == "```"; out = ""; next }
    inside && /^\$ / { n++; print substr($0, 3) > (top "/" n ".command"); out = top "/" n ".output"; printf "" > out; next }
    inside && out != "" { print > out }' "$source/README.md"

# The build of its first example; the compiler says what it says there.
cd "$top/work" || exit 1
printf '#!/bin/sh\nfor i in $(seq 1 150); do echo "note: compiling unit $i of 300"; done\n' >build-first-half
printf '#!/bin/sh\nfor i in $(seq 151 300); do echo "note: compiling unit $i of 300"; done\n' >build-second-half
{ printf '#!/bin/sh\ncat >&2 <<X\n'; sed '1,/^stderr:/d' "$top/shown/1.output"; printf 'X\n'; } >"$top/bin/cc"
chmod +x build-first-half build-second-half "$top/bin/cc"

plain() { sed -E "s|$top/work|/home/you/project|g; s/call_[0-9a-f]{20}/call_N/g; s/\([0-9]+ lines?\)$/(N lines)/; /^\[output truncated/s/[0-9]+/9/g"; }
# same WANT GOT: line by line; "…" skips to the line that follows it.
same() {
    awk 'NR == FNR { want[++n] = $0; next }
        { if (want[i + 1] == "…" ) { if (want[i + 2] == $0) i += 2; next }
          if (want[i + 1] != $0) { print "expected: " want[i + 1]; print "got:      " $0; bad = 1; exit }
          i++ }
        END { if (!bad && i < n) print "expected also: " want[i + 1]; exit bad || i < n }' "$1" "$2"
}
failed=0
count=$(ls "$top"/shown/*.command | wc -l)
for n in $(seq "$count"); do
    command=$(cat "$top/shown/$n.command")
    case $command in 'cat '*) [ -e "${command#cat }" ] || cp "$top/shown/$n.output" "${command#cat }" ;; esac
    env -i PATH="$top/bin:$build:/usr/local/bin:/usr/bin:/bin" HOME="$top/home" LC_ALL=C.UTF-8 \
        ASAN_OPTIONS="${ASAN_OPTIONS:-}" bash -c "$command" >"$top/out" 2>&1 </dev/null
    plain <"$top/out" >"$top/got"
    plain <"$top/shown/$n.output" >"$top/want"
    same "$top/want" "$top/got" || { echo "README.md shows otherwise: $command"; failed=1; }
done
[ "$count" -ge 6 ] || { echo "README.md shows only $count commands"; failed=1; }
echo "README: $count commands played"
exit $failed
