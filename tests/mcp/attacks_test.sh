#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Attacks on the gateway by their number in the list (C10), over real HTTP and
# stdio. Others of the list: 69 and 70, 86 to 89, 95 in src/mcp/mcp_test.c, 71 to 78
# and 80 to 82 in chaos_test.sh, 79 in src/mcp/pins_test.c, 83, 84, 90 to 94 byte
# by byte in src/http/http_test.c.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
work=$(mktemp -d)
pid= other=
trap '[ -z "$pid$other" ] || kill $pid $other 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/home/.config/waybill" "$work/ws"
export HOME=$work/home
unset XDG_CONFIG_HOME XDG_STATE_HOME WAYBILL_ROOT WAYBILL_STATE http_proxy HTTP_PROXY
command -v curl >/dev/null || { echo "skipped: attacks (no curl)"; exit 77; }
failed=0 checks=0
bad() { echo "FAILED: row $row: $*"; failed=1; }

"$build/waybill" serve --root "$work/ws" --http 127.0.0.1:0 2>"$work/err" &
pid=$!
for _ in $(seq 200); do
    url=$(sed -n 's/^listening on //p' "$work/err")
    [ -n "$url" ] && break
    sleep 0.05
done
token=$(cat "$HOME/.local/state/waybill/http-token")
base=${url%/mcp} port=${url%/mcp}
port=${port##*:}

# post BODY-FILE [curl options]: status in `status`, body in $work/out.
post() {
    local file=$1
    shift
    status=$(curl -s -m 20 -o "$work/out" -w '%{http_code}' -X POST --data-binary "@$file" -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' "$@" "$url")
}
body() { printf '%b' "$1" >"$work/body"; }
want() { # what, statuses, text that the answer holds
    checks=$((checks + 1))
    [[ " $2 " == *" $status "* ]] || bad "$1: status $status, not $2: $(cut -c1-200 "$work/out")"
    [ -z "${3:-}" ] || grep -q -- "$3" "$work/out" || bad "$1: no $3 in $(cut -c1-300 "$work/out")"
}
modern='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
as_modern=(-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: ReadFile')
call() { # ARGUMENTS-JSON: in body, as a call of ReadFile
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ReadFile","arguments":%b,%s}}' "$1" "$modern" >"$work/body"
}

row=62 # texts that are no JSON; the whole list where it is there
for text in '{' '[1,]' "{'a':1}" '{"a":01}' '{"a":1}x' '\xff' '{"a":NaN}' '// c\n{}' '{"a":"\t"}' ''; do
    body "$text"
    post "$work/body"
    want "no JSON: $text" 400 '"code":-32700'
done
vectors=${WAYBILL_SOURCE:-.}/../shared/vectors/json-parsing
if [ -d "$vectors" ]; then
    for file in $(find "$vectors" -name 'n_*.json' -size -64k); do
        post "$file"
        want "$(basename "$file")" 400 '"code":-32700'
    done
else
    echo "skipped: the list of row 62 (no ../shared)"
fi

row=63 # names twice, at every depth
for text in '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}' '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}'; do
    body "$text"
    post "$work/body"
    want "a name twice" 400 '"code":-32700'
done

row=64 # depth
{ head -c 100000 /dev/zero | tr '\0' '['; } >"$work/body"
post "$work/body"
want "100,000 arrays" 400 '"code":-32700'

row=65 # numbers as ids and arguments: byte for byte, or refused
for id in 1e400 1.5 -0.0 1e3 "$(head -c 10000 /dev/zero | tr '\0' 9)"; do
    body '{"jsonrpc":"2.0","id":'"$id"',"method":"ping"}'
    post "$work/body"
    want "id ${id:0:20}" 400 '"error":{"code":-32[67]00'
done
for id in 9007199254740993 -9223372036854775808 0; do
    body '{"jsonrpc":"2.0","id":'"$id"',"method":"server/discover","params":{'"$modern"'}}'
    post "$work/body" -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: server/discover'
    want "id $id" 200 "\"id\":$id,"
done
for n in 1e400 1e-400 "$(head -c 10000 /dev/zero | tr '\0' 9)"; do
    call '{"path":"x","offset":'"$n"'}'
    post "$work/body" "${as_modern[@]}"
    want "argument ${n:0:20}" '200 400' '"isError":true\|"error"'
done

row=66 # characters
for text in '"\\ud800"' '"\xc0\xaf"' '"\xed\xa0\x80"'; do
    call '{"path":'"$text"'}'
    post "$work/body" "${as_modern[@]}"
    want "bad characters $text" 400 '"code":-32700'
done
printf '\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}' >"$work/body"
post "$work/body"
want "byte order mark" 400 '"code":-32700'
call '{"path":"a\\u0000b"}'
post "$work/body" "${as_modern[@]}"
want "NUL in a path" 200 '"isError":true'

row=67 # size and number
status=$(curl -s -m 20 -o "$work/out" -w '%{http_code}' -X POST -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
    -H 'Content-Length: 209715200' -H 'Expect:' --data-binary x "$url")
want "200 MiB announced" 413
head -c 20000000 /dev/zero | tr '\0' ' ' >"$work/body"
post "$work/body" -H 'Transfer-Encoding: chunked'
want "20 MB in chunks" 413
{ printf '{"jsonrpc":"2.0","id":1,"method":"ping","params":{'; seq -f '"k%.0f":0,' 1000000 | tr -d '\n'; printf '"z":0}}'; } >"$work/body"
post "$work/body"
want "a million names" '400 413'

row=68 # no requests
for text in '[]' '[{"jsonrpc":"2.0","id":1,"method":"ping"}]' '{"id":1,"method":"ping"}' '{"jsonrpc":"2.0","id":null,"method":"ping"}' \
    '{"jsonrpc":"2.0","id":{},"method":"ping"}' '{"jsonrpc":"2.0","id":1.5,"method":"ping"}' '{"jsonrpc":"1.0","id":1,"method":"ping"}' \
    '{"jsonrpc":"2.0","id":1,"method":7}' '{"jsonrpc":"2.0","id":1}' '"x"'; do
    body "$text"
    post "$work/body"
    want "$text" 400 '"code":-32600'
done
body '{"jsonrpc":"2.0","id":99,"result":{}}'
post "$work/body"
want "an answer nobody asked for" '202 400'

row=70 # half a message, then the end; a message in two lines
printf '{"jsonrpc":"2.0","id":1,"method":"pi' | timeout 20 "$build/waybill" serve --root "$work/ws" >"$work/out" 2>/dev/null
status=$?
want "half a message" 0
printf '{"jsonrpc":"2.0","id":1,\n"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n' |
    timeout 20 "$build/waybill" serve --root "$work/ws" >"$work/out" 2>/dev/null
status=$?
want "a message in two lines" 0 '"id":2'

row=85 # tokens
token_was=$token
body '{"jsonrpc":"2.0","id":1,"method":"ping"}'
for token in '' x "${token_was}0" "${token_was%?}" "${token_was^^}" 'eyJhbGciOiJub25lIn0.e30.'; do
    post "$work/body" -D "$work/head"
    want "token '${token:0:12}'" 401
    grep -qi '^www-authenticate: bearer' "$work/head" || bad "401 does not say how"
done
status=$(curl -s -o "$work/out" -w '%{http_code}' "$url?access_token=$token_was")
want "a token in the address" 401
# A new token holds after SIGHUP, and the old one no longer; a file that is wrong changes nothing.
hang_up() { # TOKEN, what is said of it
    printf '%s\n' "$1" >"$HOME/.local/state/waybill/http-token"
    kill -HUP $pid
    for _ in $(seq 200); do grep -q "$2" "$work/err" && return; sleep 0.05; done
    bad "SIGHUP: no word of \"$2\": $(cat "$work/err")"
}
hang_up another-token-of-the-user 'the token was read again'
token=$token_was
post "$work/body"
want "the token of before SIGHUP" 401
hang_up short 'the old token stays in force: a token has 16 to .*/http-token'
token=another-token-of-the-user
post "$work/body"
want "the token of after SIGHUP" 400 Mcp-Session-Id
# A pipe gives its token once; reading it again would wait forever.
mkfifo -m 600 "$work/pipe"
echo a-token-out-of-a-pipe >"$work/pipe" &
"$build/waybill" serve --root "$work/ws" --http 127.0.0.1:0 --token-file "$work/pipe" 2>"$work/piped.err" &
piped=$!
for word in 'listening on' 'policies and bindings were read again'; do
    for _ in $(seq 200); do grep -q "$word" "$work/piped.err" && break; sleep 0.05; done
    kill -HUP $piped
done
status=$(curl -s -m 20 -o "$work/out" -w '%{http_code}' -H 'Authorization: Bearer a-token-out-of-a-pipe' \
    "$(sed -n 's|^listening on \(.*\)/mcp|\1|p' "$work/piped.err")/metrics")
want "a token out of a pipe after SIGHUP" 200
kill $piped
wait $piped

row=87 # sessions of others
body '{"jsonrpc":"2.0","id":1,"method":"ping"}'
for session in guessed 00000000-0000-0000-0000-000000000000 '../../x'; do
    post "$work/body" -H "Mcp-Session-Id: $session"
    want "session $session" 404
done
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ReadFile","arguments":{"path":"x"},"requestState":"guessed","inputResponses":{},%s}}' "$modern" >"$work/body"
post "$work/body" "${as_modern[@]}"
want "a state that was never given" '200 400' '"error"\|"isError":true'

row=98 # commands come from local files only
for method in servers/add mcp/connect config/set tools/add; do
    body '{"jsonrpc":"2.0","id":1,"method":"'$method'","params":{"command":"touch","args":["'"$work"'/made"],'"$modern"'}}'
    post "$work/body" -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $method"
    want "$method" 404 '"code":-32601'
done
[ ! -e "$work/made" ] || bad "a command was run"

row=99 # nothing is served that a browser would run
status=$(curl -s -D "$work/head" -o "$work/out" -w '%{http_code}' -H "Authorization: Bearer $token" "$base/")
want "no pages" 404
grep -qi '^content-type: text/html' "$work/head" && bad "HTML is served"

row=100 # a form of another site
status=$(curl -s -o "$work/out" -w '%{http_code}' -H 'Origin: http://evil.example' -d 'a=b' "$url")
want "a form of another site" '401 403'
status=$(curl -s -o "$work/out" -w '%{http_code}' -H "Authorization: Bearer $token" -H 'Origin: null' -d 'a=b' "$url")
want "Origin null" 403

row=96 # where an upstream points to is not followed; 97: nor what it wants opened
for case in '302 Found' '401 Unauthorized'; do
    if ! command -v python3 >/dev/null; then echo "skipped: rows 96 and 97 (no python3)"; break; fi
    [ "$case" = '302 Found' ] || row=97
    rm -f "$work/port"
    python3 - "$case" "$port" "$work/made" >"$work/port" 2>/dev/null <<'END' &
import http.server, sys
case, port, made = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get('Content-Length', 0)))
        self.send_response(int(case.split()[0]))
        self.send_header('Location', f'http://127.0.0.1:{port}/seen')
        self.send_header('WWW-Authenticate', f'Bearer resource_metadata="http://127.0.0.1:{port}/seen?$(touch {made})"')
        self.send_header('Content-Length', '0')
        self.end_headers()
    do_GET = do_POST
    def log_message(self, *a): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
    other=$!
    for _ in $(seq 200); do [ -s "$work/port" ] && break; sleep 0.05; done
    printf '{"mcpServers":{"up":{"url":"http://127.0.0.1:%s/mcp"}}}\n' "$(cat "$work/port")" >"$HOME/.config/waybill/config.json"
    timeout 30 "$build/waybill" call up__x --root "$work/ws" >"$work/out" 2>&1
    status=$?
    want "an upstream that answers $case" 1 "HTTP status ${case%% *}"
    kill $other
    wait $other 2>/dev/null
    other=
done
curl -s -H "Authorization: Bearer $token" "$base/metrics" >/dev/null
[ ! -e "$work/made" ] || bad "a URL was given to a shell"
row=96
for target in file:///etc/passwd javascript:alert gopher://127.0.0.1/; do
    printf '{"mcpServers":{"up":{"url":"%s"}}}\n' "$target" >"$HOME/.config/waybill/config.json"
    timeout 30 "$build/waybill" call up__x --root "$work/ws" >"$work/out" 2>&1
    status=$?
    want "an upstream at $target" '1 2 3' 'http'
done
kill -TERM $pid
wait $pid || bad "the gateway did not survive: $?"
pid=
[ $failed = 0 ] && echo "attacks: $checks refused as they should be"
exit $failed
