#!/bin/sh
# Who may include whom (docs/ARCHITECTURE.md). Fails on a forbidden include or a
# call that belongs to another room.
set -eu
bad=0
complain() { echo "layers: $*"; bad=1; }

# Floor of each room: a room includes its own and lower floors only.
floor() {
    case $1 in
    base) echo 0 ;;
    json) echo 1 ;;
    text|schema|path|loop) echo 2 ;;
    config|catalog|store|artifact|guard|wire|event) echo 3 ;;
    run|ledger|control|http) echo 4 ;;
    family) echo 5 ;;
    mcp) echo 6 ;;
    call) echo 7 ;;
    builtin|serve) echo 8 ;;
    api) echo 9 ;;
    cli) echo 10 ;;
    waybill) echo 0 ;;
    *) echo 99 ;;
    esac
}

for f in $(git ls-files --cached --others --exclude-standard 'src/*.c' 'src/*.h' 'src/**/*.c' 'src/**/*.h' | sort -u); do
    [ -f "$f" ] || continue
    case $f in *_test.c) continue ;; esac
    room=$(echo "$f" | cut -d/ -f2)
    own=$(floor "$room")
    [ "$own" = 99 ] && complain "$f: room $room has no floor in tools/check_layers.sh"
    for include in $(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$f"); do
        other=${include%%/*}
        level=$(floor "$other")
        [ "$level" -gt "$own" ] && complain "$f: includes $include, which is above $room"
        case $include in
        *_int.h) [ "$other" = "$room" ] || complain "$f: includes $include, private to $other" ;;
        esac
        if [ "$room" = cli ]; then
            case $other in cli|waybill) ;; *) complain "$f: cli includes only include/waybill" ;; esac
        fi
    done
    for pair in uv.h:loop yyjson.h:json sqlite3.h:store pcre2.h:text llhttp.h:http \
                libpq-fe.h:store curl/curl.h:http hiredis/hiredis.h:guard; do
        header=${pair%%:*}
        home=${pair##*:}
        if [ "$room" != "$home" ] && grep -q "^#include <$header>" "$f"; then
            complain "$f: only $home includes <$header>"
        fi
    done
    if [ "$room" != base ] && [ "$room" != cli ]; then
        if grep -nE '(^|[^a-zA-Z_0-9.>])(malloc|calloc|realloc|free|strdup|strcpy|strcat|sprintf|strtok|atoi|sscanf|gets)\(' "$f" | grep -v '^\s*[0-9]*:\s*[/ ]\*' >/tmp/waybill-banned.$$ 2>/dev/null; then
            while read -r line; do complain "$f:$line: banned outside base"; done < /tmp/waybill-banned.$$
        fi
        rm -f /tmp/waybill-banned.$$
        if grep -nE '(^|[^a-zA-Z_0-9.>])(printf|fprintf|puts|exit|abort)\(' "$f" >/tmp/waybill-talk.$$ 2>/dev/null; then
            while read -r line; do complain "$f:$line: the library does not print or exit"; done < /tmp/waybill-talk.$$
        fi
        rm -f /tmp/waybill-talk.$$
    fi
done
[ $bad = 0 ] || exit 1
