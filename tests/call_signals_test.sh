#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SIGINT and SIGTERM to `waybill call`: the first cancels the call, which has its outcome
# in the ledger and leaves no process; the second ends it at once.
set -u
build=$PWD
[ -x "$build/waybill" ] || { echo "skipped: signals of call (no waybill in $build)"; exit 77; }
top=$(mktemp -d /tmp/waybill-signals-XXXXXX)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/home" "$top/work"
cd "$top/work" || exit 1
mkfifo word
run() { env HOME="$top/home" WAYBILL_ROOT="$top/work" "$build/waybill" "$@"; }
failed=0
expect() { # what, got, wanted
    [ "$2" = "$3" ] || { echo "failed: $1: $2 instead of $3"; failed=1; }
}
gone() { # the process that the tool told
    for _ in $(seq 200); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    echo "failed: process $1 is left"
    failed=1
}
last_kind() { run ledger list --limit 1 --json | sed -n 's/.*"error_kind":"\([a-z_]*\)".*/\1/p'; }

cat > slow.sh <<'X'
#!/bin/sh
cat > /dev/null
echo $$ > word
exec sleep 100
X
chmod +x slow.sh
run tools add slow --description 'Take long.' --effect Pure -- ./slow.sh 2>/dev/null
run config trust > /dev/null 2>&1
command='{"cmd":["./slow.sh"],"yield_time_ms":60000}'
for signal in INT TERM; do
    for tool in ExecCommand slow; do
        input='{}'
        [ $tool = ExecCommand ] && input=$command
        # exec: the signal is for the program, not for a shell around it
        env HOME="$top/home" WAYBILL_ROOT="$top/work" "$build/waybill" call $tool --input "$input" > out 2> err &
        pid=$!
        read -r inner < word
        kill -$signal $pid
        wait $pid
        expect "$tool, $signal: exit" $? 1
        expect "$tool, $signal: receipt" "$(head -n 1 out)" "Error: cancelled (not retryable)"
        expect "$tool, $signal: the ledger" "$(last_kind)" cancelled
        gone "$inner"
    done
done

# One that does not end when it is asked to.
cat > deaf.sh <<'X'
#!/bin/sh
trap ': > asked' TERM
echo $$ > word
while :; do sleep 100 & wait; done
X
chmod +x deaf.sh
env HOME="$top/home" WAYBILL_ROOT="$top/work" "$build/waybill" call ExecCommand \
    --input '{"cmd":["./deaf.sh"],"yield_time_ms":60000}' > out 2> err &
pid=$!
read -r inner < word
kill -INT $pid
for _ in $(seq 200); do
    [ -e asked ] && break
    sleep 0.05
done
expect "a deaf command is asked" "$(ls asked)" asked
kill -INT $pid
wait $pid
expect "twice: exit" $? 130
gone "$inner"
exit $failed
