#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C10: how a server is opened, known and left by the gateway, where it is slow, changes or
# refuses. The servers are a few lines of Python; what they are asked goes to $work/log.
set -u
build=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
command -v python3 >/dev/null || skip "no python3"
fresh_home
trap 'exec 3>&-; stop_gateway; rm -rf "$work"' EXIT
seen() { # what, pattern, file: waits for a line that has it
    for _ in $(seq 400); do grep -q -- "$2" "${3:-$work/out}" 2>/dev/null && return; sleep 0.05; done
    bad "$how: never $1"
    cut -c1-400 "${3:-$work/out}"
}
cat >"$work/server.py" <<'END'
import http.server, json, os, signal, sys, time
mode, log = sys.argv[1], sys.argv[2] + "/log"
TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
MODERN = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
LEGACY = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
          "serverInfo": {"name": "x", "version": "1"}}
def note(text):
    with open(log, "a") as f: f.write(text + "\n")
def put(message):
    sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()
def text(say): return {"content": [{"type": "text", "text": say}]}
def no(code, say): return {"error": {"code": code, "message": say}}
def modern(m):
    if m["method"] == "server/discover": r = MODERN
    elif m["method"] == "tools/list": r = TOOLS
    elif m["method"] == "tools/call": r = text("modern")
    else: return no(-32601, "no")
    return {"result": dict({"resultType": "complete"}, **r)}
def legacy(m):
    if m["method"] == "initialize": return {"result": LEGACY}
    if m["method"] == "tools/list": return {"result": TOOLS}
    if m["method"] == "tools/call": return {"result": text("legacy")}
    return no(-32601, "no")
lists = 0
def formless(m):
    global lists
    lists += m["method"] == "tools/list"
    if m["method"] == "tools/call": put({"method": "notifications/tools/list_changed"})
    if m["method"] == "tools/list" and (lists > 1 or mode == "listless"): return {"result": {"tools": None}}
    return legacy(m)
def steps(token):
    for more in ({"progress": "x"}, {"progress": None}, {}, {"progress": 1, "total": "x"},
                 {"progress": 7, "total": None}, {"progress": 8, "total": 9}):
        put({"method": "notifications/progress", "params": dict(more, progressToken=token)})
        time.sleep(0.05)
def answer(m):
    if mode == "keyless": return no(-32603, "set FOO_KEY\nfirst")
    if mode == "steps" and m["method"] == "tools/call": steps(m["params"]["_meta"]["progressToken"])
    if mode in ("formless", "listless"): return formless(m)
    return (modern if mode in ("slow",) else legacy)(m)
def main():
    if mode == "stale" and not os.path.exists(log + ".told"):
        open(log + ".told", "w").close()
        sys.stderr.write("of the first\n")
        sys.stderr.flush()
    if mode == "slow": time.sleep(1)
    signal.signal(signal.SIGTERM, lambda *_: (note("TERM"), os._exit(0)))
    for line in sys.stdin:
        m = json.loads(line)
        note(m.get("method", "answer"))
        if mode == "stale" and m.get("method") == "tools/call": os._exit(3)
        if "method" in m and "id" in m: put(dict(answer(m), id=m["id"]))
    note("EOF")
    if mode == "tidy": time.sleep(0.3)
    if mode == "stays": time.sleep(60)
    note("end")
ready, sessions = False, 0
class Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def reply(self, status, message=None, session=None):
        body = json.dumps(dict(message, jsonrpc="2.0")).encode() if message else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if session: self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self): self.reply(405)
    def do_POST(self):
        global ready
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        note(m["method"])
        if mode == "http-forgets":
            self.forget(m)
        elif "id" not in m:
            time.sleep(0.3)
            ready = True
            self.reply(202)
        elif mode == "http-shifty":
            self.shift(m, open(sys.argv[2] + "/era").read().strip())
        elif mode == "http-regrets":
            # The tool has run, and what came of it looks like a refusal of an older server.
            if m["method"] != "tools/call": self.reply(200, dict(modern(m), id=m["id"]))
            elif "bare" in m["params"]["arguments"]: self.reply(400)
            else: self.reply(400, dict(no(-32000, "paid, but there is no receipt"), id=m["id"]))
        elif m["method"] == "initialize": self.reply(200, dict(legacy(m), id=m["id"]))
        elif not ready: self.reply(400, dict(no(-32600, "too early"), id=m["id"]))
        else: self.reply(200, dict(legacy(m), id=m["id"]))
    def shift(self, m, era):
        known = self.headers.get("MCP-Protocol-Version")
        if era == "modern" and known != "2026-07-28":
            e = no(-32022, "unsupported version")
            e["error"]["data"] = {"supported": ["2026-07-28"], "requested": known}
            self.reply(400, dict(e, id=m["id"]))
        elif era == "modern": self.reply(200, dict(modern(m), id=m["id"]))
        elif known == "2026-07-28": self.reply(400, dict(no(-32000, "no session"), id=None))
        else: self.reply(200, dict(legacy(m), id=m["id"]))
    # The first session is lost, of which each call hears when the file it names is there.
    def forget(self, m):
        global sessions
        mine, path = self.headers.get("Mcp-Session-Id"), m.get("params", {}).get("arguments", {}).get("until")
        if m["method"] == "initialize":
            sessions += 1
            self.reply(200, dict(legacy(m), id=m["id"]), str(sessions))
        elif mine == "1" and path:
            while not os.path.exists(path): time.sleep(0.02)
            self.reply(404)
        elif "id" not in m: self.reply(202)
        else: self.reply(200 if mine == str(sessions) else 404, dict(legacy(m), id=m["id"]))
def serve():
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Http)
    with open(sys.argv[2] + "/port.new", "w") as f: f.write(str(web.server_port))
    os.rename(sys.argv[2] + "/port.new", sys.argv[2] + "/port")
    web.serve_forever()
serve() if mode.startswith("http-") else main()
END
# start MODE MEMBERS: a gateway with this server, by HTTP where the mode says so, and its list
start() {
    local at="\"command\":\"python3\",\"args\":[\"$work/server.py\",\"$1\",\"$work\"]"
    how=$1
    : >"$work/log"
    if [[ $1 = http-* ]]; then
        rm -f "$work/port"
        [ -z "${upstream:-}" ] || kill $upstream
        python3 "$work/server.py" "$1" "$work" 3>&- &
        upstream=$!
        for _ in $(seq 400); do [ -s "$work/port" ] && break; sleep 0.05; done
        at="\"url\":\"http://127.0.0.1:$(cat "$work/port")/mcp\""
    fi
    config "{\"mcpServers\":{\"a\":{$at${2:+,$2}}}}"
    talk
    rpc list tools/list ''
    seen "a list" '"id":"list"'
}
call() { rpc "$1" tools/call '"name":"a__t","arguments":{}'; seen "the end of $1" "\"id\":\"$1\""; }
got() { grep "\"id\":\"$1\"" "$work/out" | grep -q -- "$2" || bad "$how: $1 is no $2: $(grep "\"id\":\"$1\"" "$work/out" | cut -c1-400)"; }

# It answers the probe when the older way has been tried already.
start slow '"probeMs":200'
got list '"a__t"'
call one
got one '"text":"modern"'
hush
grep -q initialize "$work/log" || bad "$how: it was not slow"

# It is left by the end of its input, and may end by itself; else by TERM.
start tidy '"era":"legacy"'
hush
[ "$(tail -n 2 "$work/log" | tr '\n' ' ')" = "EOF end " ] || bad "$how: $(cat "$work/log")"
start stays '"era":"legacy"'
hush
[ "$(tail -n 2 "$work/log" | tr '\n' ' ')" = "EOF TERM " ] || bad "$how: $(cat "$work/log")"

# What the first process said is no reason of the second one's death.
start stale '"era":"legacy"'
call one
got one 'of the first'
sleep 1
call two
got two 'has ended (status 3)'
grep '"id":"two"' "$work/out" | grep -q 'of the first' && bad "$how: an old complaint"
hush

# Nothing is asked before it has taken the notification that it is open.
start http-early
got list '"a__t"'
hush

# It is of another era by now, twice; each call is executed, where it was refused first.
echo modern >"$work/era"
start http-shifty
call one
got one '"text":"modern"'
echo legacy >"$work/era"
call two
got two '"text":"legacy"'
echo modern >"$work/era"
call three
got three '"text":"modern"'
hush

# What only looks like that is the answer: nothing is executed twice.
start http-regrets
call one
got one 'paid, but there is no receipt.*"errorKind":"tool_execution_failed"'
rpc two tools/call '"name":"a__t","arguments":{"bare":1}'
seen "the end of two" '"id":"two"'
got two 'HTTP status 400'
hush
n=$(grep -c tools/call "$work/log")
[ "$n" = 2 ] || bad "$how: two calls were executed $n times"

# Calls that hear late that their session is lost go on in the one that was opened meanwhile.
start http-forgets '"era":"legacy","effects":{"*":"Pure"}'
for i in 1 2 3; do rpc $i tools/call "\"name\":\"a__t\",\"arguments\":{\"until\":\"$work/until$i\"}"; done
for _ in $(seq 400); do [ "$(grep -c tools/call "$work/log")" = 3 ] && break; sleep 0.05; done
for i in 1 2 3; do
    touch "$work/until$i"
    seen "the end of $i" "\"id\":\"$i\""
    got $i '"text":"legacy"'
done
hush
n=$(grep -c '^initialize$' "$work/log")
[ "$n" = 2 ] || bad "$how: $n sessions, where one was lost"

# A list of wrong form is none, not an empty one.
start formless '"era":"legacy"'
call one
for _ in $(seq 400); do [ "$(grep -c tools/list "$work/log")" -ge 2 ] && break; sleep 0.05; done
sleep 0.2
rpc again tools/list ''
seen "the list again" '"id":"again"'
got again '"a__t"'
hush
start listless '"era":"legacy"'
seen "the reason" 'has no array "tools"' "$work/err"
hush

# Why it does not open, in its own words.
start keyless
seen "its reason" 'refused to initialize: set FOO_KEY first' "$work/err"
hush

# Progress of wrong form is none.
start steps '"era":"legacy"'
rpc one tools/call '"name":"a__t","arguments":{},"_meta":{"progressToken":"p"}'
seen "its end" '"id":"one"'
hush
told=$(grep -o '"progress":.*' "$work/out" | tr -d '\n')
[ "$told" = '"progress":7}}"progress":8,"total":9}}' ] || bad "$how: $told"

[ $failed = 0 ] && echo "upstream life: opened, known and left as they are"
exit $failed
