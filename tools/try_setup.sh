#!/bin/bash
# Try `make run` and `make test` on a machine that has nothing yet: a fresh root folder
# of a Debian or Ubuntu release, a fresh clone of what is committed here.
#   tools/try_setup.sh SUITE [root|sudo|plain]…
# root: as root. sudo: an ordinary user with sudo. plain: one without, who must be told
# the command to run; it is run, then the user goes on. All three without a name.
#   MIRROR, KEYRING  where SUITE comes from; else this machine's own Debian source
#   TRY_DIR          where the root folders are made (2 GiB each; else /var/tmp/waybill-try)
#   TRY_TEST=0       leave `make test` out
# The folders are removed but for TRY_DIR/SUITE, which the next time starts from.
set -eu
suite=${1:?usage: tools/try_setup.sh SUITE [root|sudo|plain]…}
shift
dir=${TRY_DIR:-/var/tmp/waybill-try}
port=${PORT:-17717}
source=$(git rev-parse --show-toplevel)
base=$dir/$suite
user=builder

say() { printf '%s\n' "try: $suite: $*"; }
fail() {
    say "FAILED: $*"
    exit 1
}
[ "$(id -u)" = 0 ] || fail "root is needed to make root folders"
for tool in debootstrap unshare curl; do
    command -v $tool > /dev/null 2>&1 || { say "skipped ($tool is not installed)"; exit 77; }
done

own_mirror() {
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)*\([^ ]*\) .*/\2/p' \
        /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2> /dev/null | head -n 1
}

# Debian keeps everything in main; Ubuntu has most of it in universe. A debootstrap older
# than the suite has no script for it: all recent suites of a distribution share one.
bootstrap() {
    mirror=${MIRROR:-$(own_mirror)}
    components=main script=
    case $mirror in
    *ubuntu*) components=main,universe script=gutsy ;;
    esac
    [ -e "/usr/share/debootstrap/scripts/$suite" ] && script=
    debootstrap --variant=minbase --include=make,git,ca-certificates --components=$components \
        ${KEYRING:+--keyring="$KEYRING"} "$suite" "$base.part" "$mirror" \
        ${script:+/usr/share/debootstrap/scripts/$script} > "$base.log" 2>&1 ||
        { tail -n 5 "$base.log"; fail "debootstrap"; }
    chroot "$base.part" useradd --create-home --shell /bin/bash $user
    mv "$base.part" "$base"
}

# A command in a root folder, with mounts and processes of its own that end with it (the first
# one stays root: who changes users is no longer killed with unshare): inside ROOT USER COMMAND
inside() {
    exec unshare --mount --pid --fork --kill-child --propagation private sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys" &&
        mount -t tmpfs -o mode=1777 tmpfs "$1/tmp" &&
        chroot "$1" setpriv --reuid="$2" --regid="$2" --init-groups env -i HOME="$(
            [ "$2" = root ] && echo /root || echo "/home/$2")" USER="$2" PORT="$4" \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            sh -c "cd && { [ ! -d waybill ] || cd waybill; } && $3"
        exit $?
    ' inside "$1" "$2" "$3" "$port" < /dev/null
}

# `make run` until the gateway answers; prints the seconds it took.
gateway_answers() {
    local started=$SECONDS pid
    if curl -s -m 2 -o /dev/null "http://127.0.0.1:$port/"; then
        fail "another program has port $port"
    fi
    (inside "$1" "$2" "make run") > "$3" 2>&1 &
    pid=$!
    until curl -fs -m 2 -o /dev/null "http://127.0.0.1:$port/healthz"; do
        if ! kill -0 $pid 2> /dev/null; then
            tail -n 20 "$3"
            fail "make run ended before it answered"
        fi
        sleep 0.2
    done
    kill -KILL $pid
    wait $pid 2> /dev/null || true
    say "$case: make run answers after $((SECONDS - started)) s"
}

told_what_to_run() {
    local log=$1.told command
    if (inside "$1" $user "make run") > "$log" 2>&1; then
        fail "make run of a user without sudo succeeded on a bare machine"
    fi
    command=$(sed -n 's/^setup: run this, then try again:  //p' "$log")
    [ -n "$command" ] || { cat "$log"; fail "make run does not say what to run"; }
    say "plain: told to run: $command"
    (inside "$1" root "$command") > "$1.setup" 2>&1 || { tail -n 20 "$1.setup"; fail "the command told"; }
}

# Where a newer suite was needed, the packages pinned came from it and nothing else.
only_what_is_pinned() {
    local pins pinned from
    pins=$(ls "$1"/etc/apt/preferences.d/waybill-* 2> /dev/null) || return 0
    pinned=$(sed -n 's/^Package: \(lib.*\)/\1/p' "$pins" | tr ' ' '\n' | sort | tr '\n' ' ')
    from=$( (inside "$1" root "apt list --installed 2>/dev/null") |
        sed -n "s,^\([^/]*\)/\(stable\|${pins##*-}\)\,now .*,\1,p" | sort | tr '\n' ' ')
    [ "$from" = "$pinned" ] || fail "from the newer suite: $from"
    say "$case: from the newer suite alone: $from"
}

try() {
    case=$1
    root=$base-$case
    who=$user
    [ "$case" = root ] && who=root
    rm -rf --one-file-system "$root"
    cp -a "$base" "$root"
    home=$root/home/$user
    [ "$who" = root ] && home=$root/root
    git clone -q --no-hardlinks "file://$source" "$home/waybill"
    chown -R --reference="$home" "$home/waybill"
    case $case in
    sudo)
        (inside "$root" root "apt-get update -q && apt-get install -y -q --no-install-recommends sudo") \
            > "$root.sudo" 2>&1 || fail "installing sudo"
        echo "$user ALL=(ALL) NOPASSWD: ALL" > "$root/etc/sudoers.d/$user" ;;
    plain) told_what_to_run "$root" ;;
    esac
    gateway_answers "$root" "$who" "$root.run"
    gateway_answers "$root" "$who" "$root.again"
    grep -qE '^(Hit|Get|Reading package)' "$root.again" && fail "the second run sets up again"
    only_what_is_pinned "$root"
    if [ "${TRY_TEST:-1}" != 0 ]; then
        local started=$SECONDS
        (inside "$root" "$who" "make test") > "$root.test" 2>&1 || {
            tail -n 40 "$root.test"
            fail "make test as $case; the log is $root.test"
        }
        say "$case: make test: $(grep 'tests passed' "$root.test" | tail -n 1) ($((SECONDS - started)) s)"
    fi
    rm -rf --one-file-system "$root"
}

mkdir -p "$dir"
[ -d "$base" ] || bootstrap
[ $# -gt 0 ] || set -- root sudo plain
for one in "$@"; do
    try "$one"
done
say "all well ($*)"
