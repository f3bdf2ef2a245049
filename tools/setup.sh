#!/bin/sh
# Set up a Debian 12/13 or Ubuntu 24.04+ machine for building Waybill.
# Run by `make`; does nothing when everything is already there.
set -eu

PACKAGES="gcc g++ make clang cmake ninja-build pkg-config git curl ca-certificates
 libuv1-dev libsqlite3-dev libpcre2-dev libssl-dev libcmocka-dev"
# Debian has these since 13, Ubuntu since 25.04.
NEWER="libyyjson-dev libllhttp-dev"
# Checkers that make `make lint` complete; without them it says what it skipped.
EXTRA="clang-format clang-tidy cppcheck libclang-rt-14-dev libclang-rt-dev valgrind lcov"

say() { printf '%s\n' "setup: $*" >&2; }

have() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

missing() {
    for p in "$@"; do
        have "$p" || printf '%s ' "$p"
    done
}

may_be_root() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

known() { apt-cache show "$1" >/dev/null 2>&1; }

# FILE SUITE NEWER COMPONENT: FILE's source of the suite as one of the newer suite.
derive_source() {
    case $1 in
    *.sources)
        grep -v '^#' "$1" | awk -v RS= -v suite="$2" -v newer="$3" -v component="$4" '
            $0 ~ "(^|\n)Suites:([^\n]* )?" suite "( |\n|$)" && /(^|\n)Components:[^\n]* main( |\n|$)/ &&
                !/(^|\n)Enabled: *no/ {
                gsub(/Suites:[^\n]*/, "Suites: " newer)
                gsub(/Components:[^\n]*/, "Components: " component)
                print
                exit
            }' ;;
    *)
        sed -nE "/^deb +(\\[.*\\] +)?[^ ]+ +$2 +(.* )?main( |\$)/{s/ $2 .*/ $3 $4/p;q}" "$1" ;;
    esac
}

# A source for a suite that has $NEWER, derived from this machine's own source: same
# mirror and key, everything in it pinned away but these packages and their libraries.
add_newer_suite() {
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    case $suite in
    bookworm) newer=trixie component=main libs="libyyjson0 libllhttp9.2" ;;
    noble) newer=resolute component=universe libs="libyyjson0 libllhttp9.3" ;;
    *) newer= ;;
    esac
    tmp=$(mktemp -d)
    for src in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources \
        /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
        [ -n "$newer" ] && [ -f "$src" ] || continue
        derive_source "$src" "$suite" "$newer" "$component" > "$tmp/source"
        [ ! -s "$tmp/source" ] || break
    done
    if [ ! -s "$tmp/source" ]; then
        rm -rf "$tmp"
        say "apt knows no $NEWER, and no source to derive a newer suite from was found;"
        say "enable the component that has them (on Ubuntu: universe), or install them by hand, then try again"
        exit 3
    fi
    {
        printf 'Package: *\nPin: release n=%s\nPin-Priority: -1\n\n' "$newer"
        printf 'Package: %s %s\nPin: release n=%s\nPin-Priority: 100\n' "$NEWER" "$libs" "$newer"
    } > "$tmp/pref"
    as_root install -m 0644 "$tmp/pref" "/etc/apt/preferences.d/waybill-$newer"
    as_root install -m 0644 "$tmp/source" "/etc/apt/sources.list.d/waybill-$newer.${src##*.}"
    rm -rf "$tmp"
    as_root apt-get update -q
}

# Of the checkers, those that this release has.
missing_checkers() {
    for p in $(missing $EXTRA); do
        known "$p" && printf '%s ' "$p"
    done
    return 0
}

need=$(missing $PACKAGES $NEWER)
if [ -z "$need" ] && { [ -e .setup-done ] || [ -z "$(missing_checkers)" ]; }; then
    exit 0
fi
command -v apt-get >/dev/null 2>&1 || {
    say "this is not a Debian or Ubuntu machine; install the equivalents of:"
    say "$PACKAGES $NEWER"
    exit 3
}
if ! may_be_root; then
    if [ -z "$need" ]; then
        say "this user may not install checkers; make lint will skip: $(missing_checkers)"
        : > .setup-done 2>/dev/null || true
        exit 0
    fi
    say "packages are missing and this user may not install them: $need"
    say "run this, then try again:  su -c \"cd '$PWD' && sh tools/setup.sh\""
    exit 3
fi

as_root apt-get update -q
need=$(missing $PACKAGES)
if [ -n "$need" ]; then
    as_root apt-get install -y -q --no-install-recommends $need
fi
if [ -n "$(missing $NEWER)" ]; then
    for p in $NEWER; do
        known "$p" || { add_newer_suite; break; }
    done
    as_root apt-get install -y -q --no-install-recommends $(missing $NEWER)
fi
for p in $(missing_checkers); do
    as_root apt-get install -y -q --no-install-recommends "$p" || say "skipped $p (checker only)"
done
: > .setup-done 2>/dev/null || true
