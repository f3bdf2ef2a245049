#!/bin/bash
# The binary and the library as they are built: position-independent, everything bound and
# read-only before main, no executable stack, stack protector, and of the library's symbols
# only the functions that include/waybill/ declares. The same of the release build where
# there is one, and that it calls the checked forms of the C library's functions.
set -eu
skip() {
    echo "skipped: $*"
    exit 77
}
for tool in readelf nm; do
    command -v $tool > /dev/null 2>&1 || skip "hardening ($tool is not installed)"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# FILE: what the program header and the dynamic section promise.
linked_hard() {
    readelf -Wh "$1" | grep -q 'Type: *DYN' || fail "$1 is not position-independent"
    readelf -Wl "$1" | grep -q 'GNU_RELRO' || fail "$1 has no read-only relocations"
    readelf -Wd "$1" | grep -qE 'BIND_NOW|FLAGS_1.*NOW' || fail "$1 binds late"
    readelf -Wl "$1" | grep 'GNU_STACK' | grep -q 'RW ' || fail "$1 has an executable stack"
    readelf -Wd "$1" | grep -q 'TEXTREL' && fail "$1 has relocations in its code"
    nm -D --undefined-only "$1" | grep -q '__stack_chk_fail' || fail "$1 has no stack protector"
    return 0
}

declared() {
    cat "$WAYBILL_SOURCE"/include/waybill/*.h | sed 's,/\*.*\*/,,' | grep -oE '\bwb_[a-z0-9_]+\(' |
        tr -d '(' | sort -u
}

# LIBRARY: its symbols are the functions the headers declare, no fewer and no more.
only_public() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u > "$work/exported"
    [ -s "$work/exported" ] || fail "$1 exports nothing"
    declared > "$work/declared"
    comm -23 "$work/exported" "$work/declared" > "$work/more"
    [ ! -s "$work/more" ] || fail "$1 exports what no public header declares: $(tr '\n' ' ' < "$work/more")"
    comm -13 "$work/exported" "$work/declared" > "$work/less"
    [ ! -s "$work/less" ] || fail "$1 does not export: $(tr '\n' ' ' < "$work/less")"
}

check() {
    linked_hard "$1/waybill"
    readelf -Wd "$1/waybill" | grep -q 'FLAGS_1.*PIE' || fail "$1/waybill is not a PIE"
    linked_hard "$1/libwaybill.so"
    only_public "$1/libwaybill.so"
}

fortified() {
    nm -D --undefined-only "$1" | grep -qE ' __[a-z]+_chk(@|$)' || fail "$1 is not fortified"
}

check "$WAYBILL_BUILD"
release=$WAYBILL_SOURCE/build/release
if [ -e "$release/waybill" ]; then
    [ "$release" = "$WAYBILL_BUILD" ] || check "$release"
    fortified "$release/waybill"
    fortified "$release/libwaybill.so"
else
    echo "skipped: the release build (make build makes it)"
fi
[ $failed = 0 ] && echo "hardened, $(wc -l < "$work/exported") public functions"
exit $failed
