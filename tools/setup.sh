#!/bin/sh
# Set up a Debian 12/13 or Ubuntu 24.04+ machine for building Waybill.
# Run by `make`; does nothing when everything is already there.
set -eu

PACKAGES="gcc g++ make clang cmake ninja-build pkg-config git curl ca-certificates
 libuv1-dev libsqlite3-dev libpcre2-dev libssl-dev libcmocka-dev"
# yyjson and llhttp entered Debian with release 13.
NEWER="libyyjson-dev libllhttp-dev"
NEWER_LIBS="libyyjson0 libllhttp9.2"
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
        sudo DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

known() { apt-cache show "$1" >/dev/null 2>&1; }

# A source for the next suite, derived from this machine's own Debian source:
# same mirror and key, everything in it pinned away but the packages named.
add_newer_suite() {
    src=$(grep -lsE '^(Suites:.*bookworm|deb .*bookworm)' \
        /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1)
    if [ -z "$src" ]; then
        say "apt knows no $NEWER, and no Debian source to derive a newer suite from was found;"
        say "enable the component that has them (on Ubuntu: universe), or install them by hand, then try again"
        exit 3
    fi
    tmp=$(mktemp -d)
    case $src in
    *.sources)
        awk -v RS= '/Suites:[^\n]*bookworm([ \n]|$)/ {
            gsub(/Suites:[^\n]*/, "Suites: trixie"); print; exit }' "$src" \
            | grep -v '^#' > "$tmp/waybill-trixie.sources"
        dest=/etc/apt/sources.list.d/waybill-trixie.sources ;;
    *)
        grep -E '^deb .* bookworm ' "$src" | head -n 1 \
            | sed 's/ bookworm / trixie /' > "$tmp/waybill-trixie.list"
        dest=/etc/apt/sources.list.d/waybill-trixie.list ;;
    esac
    {
        printf 'Package: *\nPin: release n=trixie\nPin-Priority: -1\n\n'
        printf 'Package: %s %s\nPin: release n=trixie\nPin-Priority: 100\n' "$NEWER" "$NEWER_LIBS"
    } > "$tmp/waybill-trixie.pref"
    as_root install -m 0644 "$tmp/waybill-trixie.pref" /etc/apt/preferences.d/waybill-trixie
    as_root install -m 0644 "$tmp"/waybill-trixie.[sl]* "$dest"
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
