#!/bin/sh
# No file over 800 lines, no function over 120 (docs/ARCHITECTURE.md).
set -eu
status=0
git ls-files --cached --others --exclude-standard '*.c' '*.h' | sort -u |
    while read -r f; do [ -f "$f" ] && echo "$f"; done > .sizes.tmp
xargs awk '
function close_file() { if (lines > 800) { printf "%s: %d lines\n", file, lines; bad = 1 } }
FNR == 1 { close_file(); file = FILENAME; inside = 0 }
{ lines = FNR }
/^{$/ { start = FNR; inside = 1 }
/^}$/ {
    if (inside && FNR - start - 1 > 120) {
        printf "%s:%d: function of %d lines\n", FILENAME, start, FNR - start - 1
        bad = 1
    }
    inside = 0
}
END { close_file(); exit bad }' < .sizes.tmp || status=1
rm -f .sizes.tmp
[ $status = 0 ] || echo "sizes: files have at most 800 lines, functions at most 120"
exit $status
