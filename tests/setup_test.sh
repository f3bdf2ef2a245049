#!/bin/bash
# Which source the set-up derives for a newer suite, from the forms that machines keep their
# own in. Nothing is installed here; tools/try_setup.sh does the whole on fresh systems.
set -eu
eval "$(sed -n '/^derive_source()/,/^}/p' "$WAYBILL_SOURCE/tools/setup.sh")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# NAME FILE SUITE NEWER COMPONENT EXPECTED; the source is read from standard input
derives() {
    cat > "$work/$2"
    got=$(derive_source "$work/$2" "$3" "$4" "$5")
    [ "$got" = "$6" ] && return
    printf 'FAILED: %s\n expected: %s\n got: %s\n' "$1" "$6" "$got"
    failed=1
}

derives "one line, after security and another vendor" sources.list bookworm trixie main \
    'deb [arch=amd64 signed-by=/k.gpg] http://mirror.invalid/debian trixie main' <<'E'
# deb http://commented.invalid/debian bookworm main
deb http://mirror.invalid/security bookworm-security main
deb http://vendor.invalid/debian bookworm stable
deb [arch=amd64 signed-by=/k.gpg] http://mirror.invalid/debian bookworm contrib main non-free-firmware
deb http://second.invalid/debian bookworm main
E
derives "stanzas, with comments and one switched off" debian.sources bookworm trixie main \
    'Types: deb
URIs: http://mirror.invalid/debian
Suites: trixie
Components: main
Signed-By: /k.gpg' <<'E'
# See the manual.
Types: deb
URIs: http://security.invalid/debian
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.invalid/debian
Suites: bookworm
Components: main

Types: deb
# modernised
URIs: http://mirror.invalid/debian
Suites: bookworm-updates bookworm bookworm-backports
Components: contrib main
Signed-By: /k.gpg
E
derives "Ubuntu without universe" ubuntu.sources noble resolute universe \
    'Types: deb
URIs: http://mirror.invalid/ubuntu
Suites: resolute
Components: universe
Signed-By: /k.gpg' <<'E'
Types: deb
URIs: http://mirror.invalid/ubuntu
Suites: noble noble-updates noble-backports
Components: main restricted
Signed-By: /k.gpg
E
derives "no source of the suite" other.list bookworm trixie main '' <<'E'
deb http://vendor.invalid/apt bookworm stable
deb-src http://mirror.invalid/debian bookworm main
E
[ $failed = 0 ] && echo "sources are derived"
exit $failed
