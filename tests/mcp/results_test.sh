#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C6, C7, C8.8, C10: what becomes of the results of an MCP server's tools: what is to be
# redacted is so before anything is made or kept of it, nothing passes for what was made
# here, no text stands twice, and an answer that cannot be read ends its call at once.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
trap 'rm -rf "$work"' EXIT
mkdir "$work/canned"
more= # of the configuration
tool='{"name":"t","inputSchema":{"type":"object"}}'
input='{}'
# try RESULT: calls the tool that gives it; `got` is what the caller sees, `row` the ledger's outcome.
try() {
    printf '%s' "$tool" >"$work/canned/tools"
    rm -f "$work/canned/t" "$work/canned/t.line"
    printf '%s' "$1" >"$work/canned/${2:-t}"
    rm -rf "$HOME/.local" "$work/ws/.waybill"
    config "{\"mcpServers\":{\"s\":{\"command\":\"$build/mcp_canned\",\"args\":[\"$work/canned\"],\"prefix\":\"\",\"era\":\"legacy\",\"timeoutMs\":20000}}$more}"
    got=$(timeout 30 "$build/waybill" call --root "$work/ws" t --input "$input" 2>&1)
    row=$("$build/waybill" ledger export --root "$work/ws" 2>&1)
    kept=$(cat "$work"/ws/.waybill/artifacts/* 2>/dev/null | tr -d "\0")
}
shows() { [[ $got == *"$2"* ]] || bad "$1: not '$2' in: $(cut -c1-400 <<<"$got")"; }
hides() { [[ $row == *outcome* ]] || bad "$1: no row";  [[ $got$row$kept != *"$2"* ]] || bad "$1: '$2' is shown or kept"; }

more=',"policies":{"tools":{"mcp::s::t":{"redact":["user.mail"]}}}'
mail='"structuredContent":{"user":{"mail":"PRIVATE","n":1}}'
for content in '' '{"type":"text","text":"hello"}' '{"type":"text","text":"a"},{"type":"text","text":"b"}' \
    '{"type":"image","data":"AAAA","mimeType":"image/png"}' \
    '{"type":"text","text":"{\"user\":{\"mail\":\"PRIVATE\",\"n\":1}}"}'; do
    try "{\"content\":[$content],$mail}"
    shows "a path beside [$content]" '[redacted:'
    hides "a path beside [$content]" PRIVATE
done
try '{"content":[{"type":"text","text":"{\"user\":{\"mail\":\"PRIVATE\"}}"}]}'
hides "a path in JSON given as text" PRIVATE
try "{\"content\":[{\"type\":\"text\",\"text\":\"failed\"}],\"isError\":true,$mail}"
hides "a path in a failure" PRIVATE
shows "what else a failure says" '"n":1'
try "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"user\\\":{\\\"mail\\\":\\\"PRIVATE\\\",\\\"n\\\":7}}\"}],\"isError\":true}"
hides "a path in a failure that is JSON" PRIVATE
shows "what else it says" '"n":7'
try "{\"content\":[],\"isError\":true,\"structuredContent\":{\"user\":{\"mail\":\"PRIVATE\"},\"rows\":[$(seq -s, 20000)]}}"
hides "a path in a large failure" PRIVATE
[[ $kept == *19999* ]] || bad "a large failure is lost"
more=
rows=$(seq -s, 20000)
try "{\"content\":[],\"structuredContent\":{\"password\":\"PRIVATE\",\"rows\":[$rows]}}"
shows "a name in a large result" 'Output truncated'
hides "a name in a large result" PRIVATE
try "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"api_key\\\":\\\"PRIVATE\\\"}\"}]}"
hides "a name in JSON given as text" PRIVATE

try '{"content":[],"structuredContent":{"output_preview":"x","truncated":true,"output_lines":9,"output_bytes":5,"artifacts":[{"path":"/etc/passwd"}],"output_artifact":0}}'
shows "a cut result of its own making" '"output_preview": "x"'
[[ $got != *"Artifact: "* && $got != *"Output truncated"* ]] || bad "a result passes for one that was cut here"
try '{"content":[],"structuredContent":{"content":[{"type":"image","artifact":0}],"artifacts":[{"path":"/etc/passwd"}]}}'
[[ $got != *"image: "* ]] || bad "a result passes for one of several parts"

try '{"content":[{"type":"text","text":"FIRST"},{"type":"resource","resource":{"uri":"file:///e","text":"BODY"}}]}'
[ "$(grep -c BODY <<<"$got")" = 1 ] && [ "$(grep -c FIRST <<<"$got")" = 1 ] || bad "a text stands twice: $got"
# One that is no result is kept all the same: the tool ran.
for wrong in '{"content":[{"type":"text"},{"type":"text","text":"SAID"}]}' '{"content":[{"type":"text","text":"SAID"}],"isError":"yes"}'; do
    try "$wrong"
    shows "$wrong" invalid_tool_output
    shows "what $wrong says" SAID
done
try "{\"content\":[{\"type\":\"text\"},{\"type\":\"text\",\"text\":\"password=hunter2hunter2 $(seq -s, 20000)\"}]}"
shows "a large one" 'ReadArtifact'
hides "a secret in one that is no result" hunter2hunter2
[[ $kept == *19999* ]] || bad "a large one that is no result is lost"
# A name may be as long as the protocol lets it be, whatever the server is called.
long=$(printf '%0128d' 0 | tr 0 n)
for name in "$long" "${long}n"; do
    tool="{\"name\":\"$name\",\"inputSchema\":{\"type\":\"object\"}}"
    try '{"content":[{"type":"text","text":"LONG"}]}' "$name"
    got=$(timeout 30 "$build/waybill" call --root "$work/ws" "mcp::s::$name" 2>&1)
    [[ ${#name} -gt 128 || $got == *LONG* ]] || bad "a name of ${#name} bytes: $got"
    [[ ${#name} -eq 128 || $got == *unknown_tool* ]] || bad "a name of ${#name} bytes: $got"
done
tool='{"name":"t","inputSchema":{"type":"object"}}'
# serves: what a client gets for the same result
serves() {
    got=$(printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}' \
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}' |
        timeout 30 "$build/waybill" serve --root "$work/ws" 2>&1 | grep '"id":1,')
}
# What cleaning removes hides no secret, in whatever block it is.
split='ghp_0123456789\u001b[31mabcdefghij\u001b[0mABCDEFGHIJ456789'
unseen='gh\u200bp_0123456789abcdefghijABCDEFGHIJ456789'
for result in "\"content\":[{\"type\":\"text\",\"text\":\"$split\"}]" "\"content\":[],\"structuredContent\":{\"a\":\"$unseen\"}" \
    "\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///e\",\"text\":\"$split\"}}]"; do
    try "{$result}"
    hides "a secret with a colour in $result" HIJ456789
    serves
    shows "a client of $result" '[redacted:github-token:'
    hides "a client of $result" HIJ456789
done
# A secret takes nothing from blocks that hold none.
picture='{"type":"image","data":"AAAA","mimeType":"image/png","annotations":{"priority":0.5},"_meta":{"x":1}}'
link='{"type":"resource_link","uri":"file:///e","name":"e","title":"E","size":5}'
try "{\"content\":[{\"type\":\"text\",\"text\":\"password: PRIVATE22x9\"},$picture,$link,{\"type\":\"resource_link\",\"uri\":\"file:///f\",\"name\":\"f\",\"password\":\"PRIVATE22x9\"}]}"
serves
shows "an image beside a secret" "$picture"
shows "a link beside a secret" "$link"
hides "a secret beside an image and in a link" PRIVATE22x9
# What stands beside a receipt is as clean as the receipt, and both keep their other members.
esc='\u001b[31m'
try "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"resource_link\",\"uri\":\"file:///e$esc\",\"name\":\"${esc}e\",\"title\":\"E\\u202e\",\"mimeType\":\"text/${esc}plain\",\"size\":5},{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///b$esc\",\"blob\":\"AAAA\"},\"x\":1}]}"
serves
shows "a link with colours" '{"type":"resource_link","uri":"file:///e","name":"e","title":"E<U+202E>","mimeType":"text/plain","size":5}'
shows "an embedded resource with colours" '{"type":"resource","resource":{"uri":"file:///b","blob":"AAAA"},"x":1}'
try "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"file:///e\",\"name\":\"${esc}e\",\"a\":1,\"${esc}a\":2}]}"
serves
shows "names that are one when they are clean" '{"type":"resource_link","uri":"file:///e","name":"e"}'
marks='"annotations":{"audience":["user"],"priority":0.5}'
for text in "${esc}red" "password: PRIVATE22x9"; do
    try "{\"content\":[{\"type\":\"text\",\"text\":\"$text\",$marks,\"_meta\":{\"t\":\"${esc}password: PRIVATE22x9\"}},{\"type\":\"text\",\"text\":\"b\",$marks}]}"
    serves
    shows "what two texts share" "$marks"
    [[ $got != *'"_meta":{"t"'* ]] || bad "what one text says of itself is said of both: $got"
    try "{\"content\":[{\"type\":\"text\",\"text\":\"$text\",$marks,\"_meta\":{\"t\":\"${esc}password: PRIVATE22x9\"}}]}"
    serves
    shows "what a text says of itself" "$marks,\"_meta\":{\"t\":\"password: [redacted:"
    hides "a secret beside a text" PRIVATE22x9
done
# What a server says to the client's machinery goes on as well, clean and without its secrets.
for text in "${esc}red" "password: PRIVATE22x9" plain; do
    for own in '"a":{"b":1}' "\"c\":\"${esc}c\"" '"password":"PRIVATE22x9"' "\"d\":\"pass${esc}word: PRIVATE22x9\""; do
        for fails in false true; do
            try "{\"content\":[{\"type\":\"text\",\"text\":\"$text\"}],\"isError\":$fails,\"_meta\":{\"v/x\":[1],$own}}"
            serves
            shows "its _meta ($own) beside $text" '"_meta":{"v/x":[1],"'
            hides "a secret in $own beside $text" PRIVATE22x9
            [[ $got != *u001b* ]] || bad "a colour in $own: $got"
        done
    done
done
shows "a secret there" '"d":"password: [redacted:'
# What stands beside a receipt has bounds, and what an upstream makes of them costs nothing.
many=$(seq -f '"k%g":0' -s, 40000)
for beside in "$many" "\"_meta\":{\"x\":\"$(head -c 70000 /dev/zero | tr '\0' y)\"}"; do
    try "{\"content\":[{\"type\":\"text\",\"text\":\"hi\",$beside}]}"
    serves
    shows "the text itself" '{"type":"text","text":"t completed\noutput: (1 line)\nhi"}'
done
# Paths of policy count from the output; a block stays one whatever they say.
more=',"policies":{"tools":{"t":{"redact":["name","type","resource"]}}}'
try '{"content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"file:///password=PRIVATE22x9","name":"e","size":5}]}'
more=
serves
shows "a link whose members policy names" '{"type":"resource_link","uri":"file:///password=[redacted:'
hides "a secret in that link" PRIVATE22x9
# What a failure shows beside its text is not lost, nor its secrets told.
try "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"${esc}failed\"},$picture,{\"type\":\"resource_link\",\"uri\":\"file:///f\",\"name\":\"f\",\"password\":\"PRIVATE22x9\",\"size\":5}]}"
serves
shows "the image of a failure" "$picture"
shows "the link of a failure" '"name":"f","password":"[redacted:'
hides "a secret in a failure's link" PRIVATE22x9
# A picture whose base64 looks like a secret is still that picture.
aws=$(printf 'AKIA%s' IOSFODNN7ABCDEFG)
try "{\"content\":[{\"type\":\"text\",\"text\":\"password: PRIVATE22x9\"},{\"type\":\"image\",\"data\":\"$aws\",\"mimeType\":\"image/png\",\"x\":1}]}"
serves
shows "an image like a secret" "{\"type\":\"image\",\"data\":\"$aws\",\"mimeType\":\"image/png\",\"x\":1}"
# A log message that is too large is told as one that was left out.
try "$(printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"'; head -c 17000000 /dev/zero | tr '\0' x; printf '"}}\n{"jsonrpc":"2.0","id":%%ID,"result":{"content":[]}}')" t.line
all=$(printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}' \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}' |
    timeout 30 "$build/waybill" serve --root "$work/ws" 2>/dev/null | cut -c1-300)
[[ $all == *'"level":"error","data":"[a message of more than 16 MiB was left out]"'* ]] || bad "a large log message is dropped without a word: $all"
# What is said meanwhile is shown at once: clean, and no colour hides a secret in it.
try '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"\u001b[2JL","data":{"a\u001b[0m":"'"$split"' \u202e"}}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%ID,"progress":1,"message":"\u001b[2Jdone '"$split"'"}}
{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}' t.line
got=$(printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}' \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"progressToken":"p"}}}' |
    timeout 30 "$build/waybill" serve --root "$work/ws" 2>/dev/null)
shows "a coloured log message" '"logger":"L","data":{"a":"[redacted:github-token:'
shows "what hides in it" '<U+202E>"}'
shows "coloured progress" '"message":"done [redacted:github-token:'
[[ $got != *u001b* && $got != *HIJ456789* ]] || bad "what is said meanwhile clears the screen or tells a secret: $got"
# Members that are not known here go with it, as clean; nothing becomes a known one, or is of another hop.
hop='"io.modelcontextprotocol/subscriptionId":1'
for also in '"_meta":{"v/x":[1],'$hop'},"extra":2' '"extra":"\u001b[2Ja","_meta":{"password":"PRIVATE22x9"}' '"_meta":{'$hop'}' '"\u001b[0mlevel":"x","\u001b[0mprogress":"x"' "\"extra\":\"$(head -c 20000 /dev/zero | tr '\0' y)\""; do
    try '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"D",'"$also"'}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%ID,"progress":1,'"$also"'}}
{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}' t.line
    got=$(printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}' \
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"progressToken":"p"}}}' |
        timeout 30 "$build/waybill" serve --root "$work/ws" 2>/dev/null)
    case $also in
    *v/x*) want='"_meta":{"v/x":[1]},"extra":2}' ;;
    *PRIV*) want='"extra":"a","_meta":{"password":"[redacted:' ;;
    *) want='}' ;;
    esac
    shows "a message's members" '"params":{"level":"error","data":"D"'"$([ "$want" = '}' ] || echo ,)$want"
    shows "a report's members" '"params":{"progressToken":"p","progress":1'"$([ "$want" = '}' ] || echo ,)$want"
    [[ $got != *u001b* && $got != *PRIVATE22x9* ]] || bad "what goes with $also: $got"
done
try '{"structuredContent":{"n":5}}'
serves
shows "a result without content has some" '"content":[{"type":"text"'
# Null is what some servers write for what they leave out, and 5.0 what some make of our 5.
for answer in '"id":%ID.0,"result":{"content":[{"type":"text","text":"all the same"}]}' '"id":%ID,"result":{"content":[{"type":"text","text":"all the same"}]},"error":null,"method":null' \
    '"id":%ID,"result":null,"error":{"code":1,"message":"all the same"}'; do
    try "{\"jsonrpc\":\"2.0\",$answer}" t.line
    shows "$answer" "all the same"
done
try '{"content":null,"structuredContent":{"n":5},"isError":null}'
shows "a result whose content is null" '"n": 5'
serves
shows "and so it has some" '"content":[{"type":"text"'
try '{"content":[{"type":"text","text":"hi"}],"isError":null,"_meta":null}'
shows "a result that says null of its failure" hi
serves
shows "which passes as it is" '"result":{"content":[{"type":"text","text":"hi"}],"isError":null,"_meta":null}'
try '{"content":[{"type":"text","text":"plain"},{"type":"weird","payload":"WHOLE"}]}'
shows "a block of an unknown type" 'other: weird'
[[ $kept == *'{"type":"weird","payload":"WHOLE"}'* ]] || bad "what it held is lost: $kept"
try '{"content":[],"structuredContent":{"env":{"DB_PASSWORD":"PRIVATE22x9"},"nextPageToken":"f3A9kQ72LmX0pRtZ81vYb6"}}'
hides "a name that ends in a telling word" PRIVATE22x9
shows "where a list goes on" f3A9kQ72LmX0pRtZ81vYb6
links=$(for i in $(seq 500); do printf ',{"type":"resource_link","uri":"file:///%s","name":"n"}' "$i"; done)
try "{\"content\":[{\"type\":\"text\",\"text\":\"here\"}$links]}"
shows "many parts" 'resource_link: file:///500, n'

# What does not fit is not quoted where it is redacted everywhere else.
tool='{"name":"t","inputSchema":{"type":"object","properties":{"password":{"type":"integer"},"n":{"type":"integer"}}},"outputSchema":{"type":"object","properties":{"token":{"type":"integer"}}}}'
input='{"password":"PRIVATE"}'
try '{"content":[]}'
shows "an input that does not fit" '"/password" must be an integer; got a value that is redacted'
hides "an input that does not fit" PRIVATE
input='{"n":"seven"}'
try '{"content":[]}'
shows "another input that does not fit" 'got a string ("seven")'
input='{}'
try '{"content":[],"structuredContent":{"token":"PRIVATE"}}'
shows "an output that does not fit" '"/token" must be an integer; got a value that is redacted'
hides "an output that does not fit" PRIVATE
try '{"content":[{"type":"text","text":"PAID"}],"structuredContent":{"token":"PRIVATE","receipt_no":"R-4711"}}'
shows "what an output that does not fit says" R-4711
shows "what is said beside it" PAID
hides "what is redacted in it" PRIVATE
try '{"content":[{"type":"text","text":"PAID R-4711"}]}'
shows "what is said without structuredContent" 'PAID R-4711'
try "{\"content\":[],\"structuredContent\":{\"token\":\"PRIVATE\",\"rows\":[$rows],\"receipt_no\":\"R-4711\"}}"
shows "a large output that does not fit" 'ReadArtifact'
[[ $kept == *R-4711* ]] || bad "a large output that does not fit is lost"
hides "what is redacted in it" PRIVATE
tool='{"name":"t","inputSchema":{"type":"object"}}'

# A failure says what its structuredContent says.
try '{"content":[],"isError":true,"structuredContent":{"code":"E42"}}'
shows "a failure without text" 'E42'
try '{"content":[{"type":"text","text":"no"}],"isError":true,"structuredContent":{"code":"E42"}}'
shows "a failure with text" 'E42'

# However a failure is cut, what is left shows no half of a secret, and what is left out can be read.
token=ghp_0123456789abcdefghijABCDEFGHIJ456789
try "{\"content\":[{\"type\":\"text\",\"text\":\"$(printf 'x%.0s' $(seq 175)) $token\"}],\"isError\":true}"
hides "a secret where a summary is cut" ghp_0123
try "{\"content\":[{\"type\":\"text\",\"text\":\"$(printf '{[(:;.%.0s' $(seq 150))THE END\"}],\"isError\":true}"
shows "a short failure that is rich in signs" 'THE END'
try "{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true,\"structuredContent\":{\"rows\":[$rows],\"code\":\"E42\"}}"
shows "a failure with a large structuredContent" 'ReadArtifact'
[[ $kept == *E42* ]] || bad "a large structuredContent of a failure is lost"

# A definition may have numbers beyond what doubles hold.
tool='{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":18446744073709551615}}}}'
try '{"content":[{"type":"text","text":"ran"}]}'
shows "a large number in a definition" 'ran'
tool='{"name":"t","inputSchema":{"type":"object"}}'

# C6.5: a failure is shown as clean as a success.
try '{"content":[{"type":"text","text":"bad \u001b[2J\u202eok"}],"isError":true}'
shows "a failure" 'bad '
[[ $got != *$'\e'* && $got != *$'\u202e'* ]] || bad "a failure clears the screen"
try '{"jsonrpc":"2.0","id":%ID,"error":{"code":-1,"message":"bad \u001b[2J\u202eok","data":{"x":"\u202e"}}}' t.line
[[ $got != *$'\e'* && $got != *$'\u202e'* ]] || bad "an error of the protocol clears the screen"

for result in '{"content":[{"type":"text","text":"half \ud83d"}]}' '{"content":[],"n":NaN}' '{"content":[],"n":1e400}' \
    '{"content":[],"content":[]}' "$(printf '{"content":[{"type":"text","text":"\\xff"}]}')"; do
    try "$result"
    shows "$result" 'the answer cannot be read: '
done
try '{"jsonrpc":"2.0","id":%ID,"error":"boom"}' t.line
shows "an error that is none" 'the answer cannot be read: '
try '{"jsonrpc":"2.0","id":%ID,"error":{}}' t.line
shows "a refusal without a word" 'the server refused t and did not say why'
[[ $got != *providerCode* ]] || bad "a code that the server did not give"
try '{"jsonrpc":"2.0","id":%ID,"error":{"code":"ENOENT","message":"gone"}}' t.line
shows "a code in words" 'providerCode: ENOENT'
try '{"jsonrpc":"2.0","id":%ID}' t.line # JSON.stringify of a result that is undefined
shows "an answer without a result" 'the answer cannot be read: '
try '{"id":%ID,"level":"info"}
{"jsonrpc":"2.0","id":%ID,"result":{"content":[{"type":"text","text":"after all"}]}}' t.line
shows "a line of a log with a number of its own" 'after all'
try "$(printf '\\xef\\xbb\\xbf{"id":%%ID,"result":{"content":[]}}')" t.line
shows "a message without its version" 'the answer cannot be read: '

# What is no message is passed over, and told once.
try 'Welcome!
{"jsonrpc":"2.0","id":%ID,"result":{"content":[{"type":"text","text":"after all"}]}}' t.line
shows "a line that is no message" 'after all'
told=$(printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}' \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}' |
    timeout 30 "$build/waybill" serve --root "$work/ws" 2>&1 >/dev/null | grep -c 'server s: it says what is no message')
[ "$told" = 1 ] || bad "lines that are no messages are told $told times"

# Memory stays flat whatever a command prints, also to one who is told of its progress (C5.2).
mkfifo "$work/in"
"$build/waybill" serve --root "$work/ws" <"$work/in" >"$work/out" 2>/dev/null &
pid=$!
exec 3>"$work/in"
rpc open initialize '"protocolVersion":"2025-11-25","capabilities":{}'
rpc flood tools/call '"name":"ExecCommand","arguments":{"cmd":"yes 0123456789012345678901234567890 | head -c 100000000","yield_time_ms":60000},"_meta":{"progressToken":"p"}'
got=$(wait_line "$work/out" '/"id":"flood"/p')
shows "a flood of output" 'exited with code 0'
grep -q '"progressToken":"p"' "$work/out" || bad "nothing was told of a flood"
peak=$(awk '/^VmHWM:/ {print $2}' /proc/$pid/status)
grep -q '^WAYBILL_SANITIZE:STRING=.' "$build/CMakeCache.txt" || [ "$peak" -lt 65536 ] || bad "a flood of output took $peak kB"
exec 3>&-
wait $pid || bad "serve ended with $?"

[ $failed = 0 ] && echo "results: redacted first, told once, never mistaken for our own"
exit $failed
