#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/mcp.sh [BUILD]: tools/call echo through the gateway (every guard, redaction and
# the ledger on), beside what stands in its place: nothing, a relay that only copies
# bytes, a responder that only answers, and the npm proxies (skipped by name where npm
# cannot bring them). Cells are interleaved over ROUNDS (5), and of each the round with the
# most calls/s is shown: what else runs on the host can only take away, from anybody.
# HTTP clients are one thread that serves all connections, and ("threads") one thread each,
# as programs of their own would be.
# Beside the npm proxies a client that is none of ours asks, too, where ../shared has one, and
# everybody is measured twice: programs that keep running, whose compilers are warm, and the
# first calls of fresh ones.
# WAYBILL_BENCH_NPM=0 leaves the npm part out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath -m "${1:-$here/../build/release}")
rounds=${ROUNDS:-5}
calls=${CALLS:-20000}
load=$build/mcp_load
for program in waybill mcp_load mcp_echo mcp_floor mcp_relay; do
    [ -x "$build/$program" ] || { echo "skipped: mcp (no $build/$program)"; exit 0; }
done
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/home/.config/waybill" "$work/cells" "$work/effects/.config/waybill"
own_home=${HOME:-/tmp}
export HOME=$work/home
unset XDG_CONFIG_HOME XDG_STATE_HOME WAYBILL_ROOT WAYBILL_STATE

# One server, its tools under their own names; annotations are believed.
config() { # HOME NAME TRUSTED COMMAND ARG…
    local home=$1 name=$2 trusted=$3 command=$4 args=
    shift 4
    for word in "$@"; do args="$args${args:+,}\"$word\""; done
    printf '{"mcpServers":{"%s":{"command":"%s","args":[%s],"prefix":"","trusted":%s}}}\n' \
        "$name" "$command" "$args" "$trusted" > "$home/.config/waybill/config.json"
}
# A workspace without a past: every cell begins with an empty ledger.
fresh() {
    rm -rf "$work/ws"
    mkdir -p "$work/ws"
    echo 'Twelve lines make a small file.' > "$work/ws/small.txt"
}

# cell NAME AT_ONCE COMMAND…: one measurement, kept under its name.
cell() {
    local name=$1 clients=$2
    shift 2
    timeout 120 "$@" 2> "$work/err" >> "$work/cells/$name@$clients" ||
        echo "$name, $clients at once: $(head -1 "$work/err")"
}
heading() {
    printf '%-42s %4s %9s %9s %9s %9s %9s %7s\n' "$1" "" p50 p99 calls/s "CPU/call" "of loop" RSS
}
# The best of a cell's rounds: calls refused p50 p99 rate cpu loop kids rss.
best() { sort -rn -k5 "$work/cells/$1@$2" 2>/dev/null | head -1; }
value() { best "$1" "$2" | cut -d' ' -f"$3"; }
row() { # NAME AT_ONCE
    best "$1" "$2" | awk -v name="$1" -v n="$2" '{printf "%-42s %4d %6.1f us %6.0f us %9d %6.1f us %6.1f us %4.1f MB%s\n", name, n, $3, $4, $5, $6, $7, $9, ($2 > 0 ? "  " $2 " refused" : "")}'
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {if (a > 0 && b > 0) printf "%.2f", a / b; else print "-"}'; }

# start NAME COMMAND…: a server on HTTP that says where it listens; sets port and pid.
start() {
    local log=$work/log.$1
    rm -f "$log"
    shift
    "$@" 2> "$log" > /dev/null &
    pid=$!
    pids+=("$pid")
    port=
    for _ in $(seq 400); do
        port=$(sed -n 's/^listening on http:\/\/[^:]*:\([0-9]*\).*/\1/p' "$log" 2>/dev/null | head -1)
        [ -n "$port" ] && return 0
        sleep 0.05
    done
    echo "did not start: $*"
    return 1
}
stop() { kill "$1" 2>/dev/null; wait "$1" 2>/dev/null; }

pin=
command -v taskset > /dev/null 2>&1 && pin='taskset -c 0'
waybill=("$build/waybill" serve --root "$work/ws")
config "$work/home" echo true "$build/mcp_echo"
config "$work/effects" echo false "$build/mcp_echo"

# ---- stdio ----
for _ in $(seq "$rounds"); do
    for n in 1 8 64; do
        for where in "one core" "all cores"; do
            on=
            [ "$where" = "one core" ] && on=$pin
            args=(--calls "$calls" --clients "$n" --seconds 20)
            cell "stdio, $where: direct" $n $on "$load" "${args[@]}" -- "$build/mcp_echo"
            cell "stdio, $where: raw relay" $n $on "$load" "${args[@]}" -- "$build/mcp_floor" --relay "$build/mcp_echo"
            cell "stdio, $where: MCP relay" $n $on "$load" "${args[@]}" -- "$build/mcp_relay" "$build/mcp_echo"
            fresh
            cell "stdio, $where: waybill" $n $on "$load" "${args[@]}" -- "${waybill[@]}"
        done
    done
    rm -rf "$work/durable"
    mkdir "$work/durable"
    HOME=$work/effects cell "stdio, all cores: waybill, durable" 8 "$load" --calls 2000 --warm 100 \
        --clients 8 --seconds 10 -- "$build/waybill" serve --root "$work/durable"
done
heading "tools/call echo, C upstream"
for where in "one core" "all cores"; do
    for n in 1 8 64; do
        for who in direct "raw relay" "MCP relay" waybill; do row "stdio, $where: $who" $n; done
    done
done
row "stdio, all cores: waybill, durable" 8

# ---- HTTP ----
http_cell() { # NAME AT_ONCE COMMAND… -- OPTION…
    local name=$1 n=$2 command=()
    shift 2
    while [ "$1" != -- ]; do command+=("$1"); shift; done
    shift
    fresh
    start cell "${command[@]}" || return
    cell "HTTP: $name" "$n" "$load" --calls "$calls" --clients "$n" --seconds 20 --http "$port" --pid "$pid" "$@"
    stop "$pid"
}
gateway=("${waybill[@]}" --http 127.0.0.1:0 --auth none)
read_file=(--call ReadFile '{"path":"small.txt"}' 'Twelve lines')
for _ in $(seq "$rounds"); do
    for n in 1 8 64; do
        http_cell "floor responder" $n "$build/mcp_floor" --http 0 --
        http_cell waybill $n "${gateway[@]}" --
        http_cell "waybill, built-in ReadFile" $n "${gateway[@]}" -- "${read_file[@]}"
        http_cell "floor responder, threads" $n "$build/mcp_floor" --http 0 -- --threads
        http_cell "waybill, threads" $n "${gateway[@]}" -- --threads
        http_cell "waybill, built-in ReadFile, threads" $n "${gateway[@]}" -- "${read_file[@]}" --threads
    done
done
for n in 1 8 64; do
    for how in "" ", threads"; do
        for who in "floor responder" waybill "waybill, built-in ReadFile"; do row "HTTP: $who$how" $n; done
    done
done

# ---- start ----
mkdir -p "$work/many/.config/waybill/tools.d"
for i in $(seq 100); do
    printf '{"name":"tool_%d","description":"Number %d of a hundred.","command":["/bin/true"],"inputSchema":{"type":"object","properties":{"path":{"type":"string"},"count":{"type":"integer","minimum":0}},"required":["path"]}}\n' "$i" "$i" \
        > "$work/many/.config/waybill/tools.d/tool_$i.json"
done
fresh # of the home that starts them: another's state would be refused, and not opened
ms=$(HOME=$work/many $pin "$load" --starts 21 "${read_file[@]}" -- "${waybill[@]}" 2>&1)

# ---- npm ----
other=
build_other() {
    local source=$here/../../shared/tools/mcp/mcpload.c
    [ -f "$source" ] || { echo "skipped: another's client (no ../shared/tools/mcp/mcpload.c)"; return; }
    cc -O2 -pthread -o "$work/other" "$source" && other=$work/other
}
# As cell writes them; what it does not measure is 0.
other_cell() { # NAME AT_ONCE PORT CALLS WARM SECONDS
    [ -n "$other" ] || return
    "$other" --http "$3" --conc "$2" --calls "$4" --warm "$5" --cap-s "$6" 2> /dev/null |
        sed -nE 's/.*"calls":([0-9]+),"errors":([0-9]+),.*"cps":([0-9.]+),.*"p50_us":([0-9]+),.*"p99_us":([0-9]+),.*/\1 \2 \4 \5 \3 0 0 0 0/p' \
            >> "$work/cells/$1@$2"
}
# Proxies hold a child a session: one session for all, so that 64 clients do not start 64 children.
# Everybody gets the same time, not the same number of calls, and waits while others have theirs.
peers() { # "NAME|PORT|PID"…
    local peer name port pid how
    for _ in $(seq "$rounds"); do
        for n in 1 8 64; do
            for peer in "$@"; do
                IFS='|' read -r name port pid <<< "$peer"
                for how in "" ", threads"; do
                    cell "$name$how" $n "$load" --calls 400000 --warm 400 --clients $n --shared --seconds 2 \
                        --http "$port" --pid "$pid" ${how:+--threads}
                done
                other_cell "$name, another's client" $n "$port" 400000 600 2
            done
        done
    done
    for peer in "$@"; do
        for how in "" ", threads"; do
            for n in 1 8 64; do row "${peer%%|*}$how" $n; done
        done
        stop "${peer##*|}"
    done
}
open_port() { for _ in $(seq 400); do (exec 3<> "/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0; sleep 0.05; done; return 1; }
free_port() { node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
# Adds "NAME|PORT|PID" to field when a program of Node's listens.
enter() { # NAME PORT COMMAND…
    local name=$1 port=$2
    shift 2
    "$@" > /dev/null 2>&1 &
    pids+=("$!")
    open_port "$port" && field+=("$name|$port|$!")
}
# A fresh program each: 100 calls, then the 4,000 that count (6 s at most), from a thread a client.
first_calls() { # NAME COMMAND…: one that takes the port where it says PORT
    local name="$1, first calls" n free field
    shift
    for n in 1 8 16 64; do
        fresh
        field=()
        free=$(free_port)
        enter "$name" "$free" "${@//PORT/$free}"
        [ ${#field[@]} = 1 ] || continue
        sleep 1.5 # Node listens before it has read all of its code
        if [ -n "$other" ]; then
            other_cell "$name" $n "$free" 4000 100 6
        else
            cell "$name" $n "$load" --calls 4000 --warm 100 --clients $n --shared --seconds 6 \
                --http "$free" --pid "${field[0]##*|}" --threads
        fi
        stop "${field[0]##*|}"
    done
}
first_part() { # MODULES
    local who n
    config "$work/home" echo true "$build/mcp_echo"
    for _ in $(seq "$rounds"); do
        first_calls waybill "${waybill[@]}" --http 127.0.0.1:PORT --auth none
        first_calls "npm mcp-proxy" "$1/.bin/mcp-proxy" --host 127.0.0.1 --port PORT --server stream -- "$build/mcp_echo"
        first_calls "npm supergateway" "$1/.bin/supergateway" --stdio "$build/mcp_echo" \
            --outputTransport streamableHttp --stateful --port PORT --logLevel none
        first_calls "floor responder" "$build/mcp_floor" --http PORT
    done
    heading "tools/call echo, the first 4,000 calls"
    for who in waybill "npm mcp-proxy" "npm supergateway" "floor responder"; do
        for n in 1 8 16 64; do row "$who, first calls" $n; done
    done
}
npm_part() {
    local modules everything label command words free field
    modules=$(HOME=$own_home "$here/../tools/npm_modules.sh" proxies) || return
    everything=$modules/@modelcontextprotocol/server-everything/dist/index.js
    export NODE_OPTIONS="--require $here/mcp_loopback.cjs"
    for upstream in "C upstream:$build/mcp_echo:" "server-everything:$(command -v node):$everything stdio"; do
        IFS=: read -r label command words <<< "$upstream"
        heading "tools/call echo, $label"
        # shellcheck disable=SC2086 # words are words
        config "$work/home" "$(basename "$command")" true "$command" $words
        fresh
        field=()
        start cell "${gateway[@]}" && field+=("$label: waybill|$port|$pid")
        free=$(free_port)
        # shellcheck disable=SC2086
        enter "$label: npm mcp-proxy" "$free" "$modules/.bin/mcp-proxy" --host 127.0.0.1 --port "$free" \
            --server stream -- "$command" $words
        free=$(free_port)
        enter "$label: npm supergateway" "$free" "$modules/.bin/supergateway" --stdio "$command $words" \
            --outputTransport streamableHttp --stateful --port "$free" --logLevel none
        if [ "$label" = "C upstream" ]; then # what there is to be had at all
            free=$(free_port)
            enter "$label: floor responder" "$free" "$build/mcp_floor" --http "$free"
        fi
        if [ "$label" = server-everything ]; then
            free=$(free_port)
            enter "$label: direct" "$free" env PORT="$free" node "$everything" streamableHttp
        fi
        peers "${field[@]}"
    done
    first_part "$modules"
}
[ "${WAYBILL_BENCH_NPM:-1}" = 0 ] || { build_other; npm_part; }

# ---- against the targets ----
echo
one=$(ratio "$(value "stdio, one core: waybill" 1 3)" "$(value "stdio, one core: raw relay" 1 3)")
two=$(ratio "$(value "stdio, all cores: waybill" 1 3)" "$(value "stdio, all cores: raw relay" 1 3)")
echo "stdio round trip, one core: $one x the raw relay (target 2)"
echo "stdio round trip, all cores: $two x the raw relay (target 1.15)"
echo "HTTP at 64 connections: $(value "HTTP: waybill" 64 7) us CPU of the loop's thread, $(value "HTTP: waybill" 64 6) us of the process (targets 10 and 20; the floor responder $(value "HTTP: floor responder" 64 6))"
for how in "" ", threads"; do
    for n in 1 8 64; do
        floor="HTTP: floor responder$how" built="HTTP: waybill, built-in ReadFile$how"
        echo "built-in tool over HTTP$how, $n at once: $(ratio "$(value "$floor" $n 5)" "$(value "$built" $n 5)") x fewer calls/s than the floor responder, $(ratio "$(value "$built" $n 7)" "$(value "$floor" $n 7)") x its CPU (target 2.5)"
    done
done
largest() { cat "$work"/cells/*waybill* 2>/dev/null | sort -n -k9 | tail -1 | cut -d' ' -f9; }
echo "resident, the most of any cell, those of half a minute of load too: $(largest) MB (target 16)"
for who in mcp-proxy supergateway; do
    for n in 1 8 16 64; do
        [ -s "$work/cells/npm $who, first calls@$n" ] || continue
        own=$(value "waybill, first calls" $n 5) theirs=$(value "npm $who, first calls" $n 5)
        floor=$(value "floor responder, first calls" $n 5)
        echo "first 4,000 calls of fresh programs, $n at once, beside npm $who: $(ratio "$own" "$theirs") x (target 20; the floor responder $(ratio "$floor" "$theirs") x)"
    done
done
most() { for n in 1 8 64; do value "$1" $n 5; done | sort -n | tail -1; }
beside() { # HOW WHO CLIENTS: of Waybill and of the floor responder, in their own loads (most) or at so many
    local value=value
    [ "$3" = most ] && value=most
    printf '%s x (target 20; the floor responder %s x)\n' \
        "$(ratio "$($value "C upstream: waybill$1" "$3" 5)" "$($value "C upstream: npm $2$1" "$3" 5)")" \
        "$(ratio "$($value "C upstream: floor responder$1" "$3" 5)" "$($value "C upstream: npm $2$1" "$3" 5)")"
}
for how in "" ", threads" ", another's client"; do
    for who in mcp-proxy supergateway; do
        [ -s "$work/cells/C upstream: npm $who$how@64" ] || continue
        echo "most calls/s of each$how, beside npm $who: $(beside "$how" $who most)"
        for n in 1 8 64; do
            echo "calls/s$how, $n at once, beside npm $who: $(beside "$how" $who $n)"
        done
    done
done
echo "start to the first call's answer, 100 tools configured: $ms ms (target 10)"
