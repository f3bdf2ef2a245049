#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/exec.sh [BUILD]: `waybill exec -- true` from a cold start beside a bare
# posix_spawn of the same and wrappers in node and python, interleaved, medians; with the
# state in memory, where syncing is free, and on disk: the difference is what the ledger's
# durable commits take. And resident memory while a command prints WAYBILL_BENCH_MIB (1024)
# MiB.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${1:-$source_dir/build/release}")
rounds=${ROUNDS:-41}
mib=${WAYBILL_BENCH_MIB:-1024}
[ -x "$build/waybill" ] || { echo "skipped: exec (no $build/waybill)"; exit 0; }
command -v python3 > /dev/null || { echo "skipped: exec (no python3)"; exit 0; }
top=$(mktemp -d)
memory=$(mktemp -d -p /dev/shm 2> /dev/null || true)
trap 'rm -rf "$top" ${memory:+"$memory"}' EXIT
mkdir -p "$top/home" "$top/work"
cd "$top/work"
HOME=$top/home python3 - "$build/waybill" "$rounds" "$mib" "$memory" <<'X'
import os, shutil, statistics, subprocess, sys, time
waybill, rounds, mib, memory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
null = os.open("/dev/null", os.O_RDWR)
ways = {
    "posix_spawn": ["/bin/true"],
    "waybill exec": [waybill, "exec", "--", "/bin/true"],
    "  in memory": [waybill, "exec", "--", "/bin/true"],
    "python3 wrapper": [sys.executable, "-c", "import subprocess,sys; sys.exit(subprocess.run(['/bin/true'],capture_output=True).returncode)"],
}
if shutil.which("node"):
    ways["node wrapper"] = [shutil.which("node"), "-e", "process.exit(require('child_process').spawnSync('/bin/true').status)"]
if not memory:
    del ways["  in memory"]
in_memory = dict(os.environ, WAYBILL_STATE=memory + "/state", HOME=memory)
def once(name):
    argv, environ = ways[name], in_memory if name == "  in memory" else os.environ
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    _, status = os.waitpid(pid, 0)
    assert status == 0, argv
    return (time.perf_counter() - began) * 1000
times = {name: [] for name in ways}
for name in ways:
    once(name)
for _ in range(rounds):
    for name in ways:
        times[name].append(once(name))
base = statistics.median(times["posix_spawn"])
for name in ways:
    m = statistics.median(times[name])
    print(f"{name:16} {m:7.2f} ms  {m - base:+7.2f} ms  {m / base:5.1f}x")
if memory:
    disk, free = (statistics.median(times[n]) for n in ("waybill exec", "  in memory"))
    print(f"durable commits of an exec (two): {disk - free:.2f} ms of it; target without them: 6 ms over")
began = time.perf_counter()
p = subprocess.Popen([waybill, "exec", "--", "sh", "-c", f"yes 'a line of output that is long enough' | head -c {mib * 1048576}"], stdout=subprocess.PIPE)
p.stdout.read()
_, status, usage = os.wait4(p.pid, 0)
took = time.perf_counter() - began
print(f"{mib} MiB of output: {usage.ru_maxrss / 1024:.1f} MiB resident at most, {mib / took:.0f} MiB/s captured, cleaned, redacted and kept")
X
