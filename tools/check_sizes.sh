#!/bin/sh
# No file over 800 lines, no function over 120 (docs/ARCHITECTURE.md).
set -eu
git ls-files --cached --others --exclude-standard '*.c' '*.h' | while read -r f; do
    [ -f "$f" ] || continue
    awk -v f="$f" '
        /^[A-Za-z_].*\)$/ || /^[A-Za-z_].*\($/ || /^[A-Za-z_].*,$/ { candidate = FNR }
        /^{$/ { start = FNR; infn = 1 }
        /^}$/ { if (infn && FNR - start - 1 > 120) printf "%s:%d: function of %d lines\n", f, start, FNR - start - 1; infn = 0 }
        END { if (FNR > 800) printf "%s: %d lines\n", f, FNR }' "$f"
done > .sizes.tmp
if [ -s .sizes.tmp ]; then
    cat .sizes.tmp
    rm -f .sizes.tmp
    echo "sizes: files have at most 800 lines, functions at most 120"
    exit 1
fi
rm -f .sizes.tmp
