#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `waybill connect`: shows first, writes after a yes, once; whatever else a file
# holds stays: comments, order, rights, links; the old file is kept.
set -u
waybill=$(cd "${WAYBILL_BUILD:-build/dev}" && pwd)/waybill
here=$(cd "$(dirname "$0")" && pwd)
. "$here/gateway.sh"
fresh_home
trap 'rm -rf "$work"' EXIT
unset CODEX_HOME
connect() { "$waybill" connect "$@" --root "$work/ws" >"$work/out" 2>"$work/err" </dev/null; }
said() { grep -q -- "$1" "$work/err" || bad "does not say $1: $(cat "$work/err")"; }

# Claude Code: JSON of the workspace.
json=$work/ws/.mcp.json
connect claude || bad "connect claude"
said 'nothing was written'
[ ! -e "$json" ] || bad "written without a yes"
connect claude --yes || bad "a first file"
grep -q '"waybill"' "$json" || bad "not in the first file"
printf '{"a":1,"mcpServers":{"other":{"command":"o","env":{"K":"v"}}},"z":[1,2.5,"\\u00e9"]}' >"$json"
chmod 640 "$json"
connect claude --yes || bad "merge"
! command -v python3 >/dev/null || python3 - "$json" "$waybill" "$work/ws" <<'END' || bad "merged wrongly: $(cat "$json")"
import json, os, sys
path, program, root = sys.argv[1:]
v = json.load(open(path))
assert list(v) == ['a', 'mcpServers', 'z'] and v['a'] == 1 and v['z'] == [1, 2.5, 'é']
assert v['mcpServers']['other'] == {'command': 'o', 'env': {'K': 'v'}}
ours = v['mcpServers']['waybill']
assert os.path.samefile(ours['command'], program) and ours['args'][:2] == ['serve', '--root'] and os.path.samefile(ours['args'][2], root)
END
[ "$(stat -c %a "$json")" = 640 ] || bad "the rights changed"
grep -q '"other":{"command":"o"' "$json.waybill-old" || bad "the old file is not kept"
before=$(cat "$json")
connect claude --yes || bad "a second time"
said 'already'
[ "$(cat "$json")" = "$before" ] || bad "a second time changed it"
# Another program or workspace: said; replaced after a yes, and nothing beside it.
other=$'{ "a":1,\n  "mcpServers" : {\n    "waybill": {\n      "command": "/old/waybill",\n      "args": ["serve", "--root", "/els}where"],\n      "env": {"K": "v"}\n    }  , "z":{}},"e":"\\u00e9" }'
printf '%s' "$other" >"$json"
connect claude || bad "another workspace, unasked"
said '/old/waybill serve --root /els}where'
said 'nothing was written'
[ "$(cat "$json")" = "$other" ] || bad "replaced without a yes"
connect claude --yes || bad "another workspace"
want=$'{ "a":1,\n  "mcpServers" : {\n    "waybill": {\n      "command": "PROGRAM",\n      "args": [\n        "serve",\n        "--root",\n        "ROOT"\n      ],\n      "env": {\n        "K": "v"\n      }\n    }  , "z":{}},"e":"\\u00e9" }'
want=${want/PROGRAM/$(realpath "$waybill")}
[ "$(cat "$json")" = "${want/ROOT/$(realpath "$work/ws")}" ] || bad "not just the entry was replaced: $(cat "$json")"
connect claude --yes || bad "claude, now it is ours"
said 'knows Waybill already'
printf '{"mcpServers":{"waybill":{"type":"http","url":"http://x/","headers":{"a":"b"},"k":1},"z":2}}' >"$json"
connect claude --yes || bad "a url"
grep -q '^{"mcpServers":{"waybill":{"command":"[^"]*","args":\["serve","--root","[^"]*"\],"k":1},"z":2}}$' "$json" || bad "a url is replaced: $(cat "$json")"
printf '{"mcpServers":{"waybill":{"type":"stdio","command":"stdio"}}}' >"$json"
connect claude --yes || bad "a type"
grep -q '"command":"/[^"]*","args":\[[^]]*\],"type":"stdio"}}}$' "$json" || bad "a type is kept: $(cat "$json")"
# What cannot be read is not replaced.
printf '{"a":1}\0{"b":2}' >"$json"
cp "$json" "$work/nul"
connect claude --yes && bad "a file with a NUL was taken"
said 'holds a NUL byte'
cmp -s "$json" "$work/nul" || bad "a file with a NUL was changed"
rm "$json"
mkdir "$json"
connect claude --yes
[ $? = 3 ] || bad "the status of what cannot be read"
! grep -q 'would become' "$work/err" || bad "a folder would become a file"
rmdir "$json"
ln -s "$work/nowhere/mcp.json" "$json"
connect claude --yes && bad "a link to nothing was taken"
said 'link to nothing'
[ -L "$json" ] || bad "a link to nothing was replaced"
rm "$json"
if [ "$(id -u)" != 0 ]; then
    echo '{"a":1}' >"$json"
    chmod 000 "$json"
    connect claude --yes && bad "a file that may not be read was taken"
    chmod 600 "$json"
    [ "$(cat "$json")" = '{"a":1}' ] || bad "a file that may not be read was replaced"
fi
echo '{broken' >"$json"
connect claude --yes && bad "a broken file was taken"
[ "$(cat "$json")" = '{broken' ] || bad "a broken file was written"
echo '{"mcpServers":[]}' >"$json"
connect claude --yes && bad "mcpServers that is no object"

# Codex: TOML of the user, which may be a link into a folder of dot files.
toml=$HOME/.codex/config.toml
connect codex --yes || bad "a first TOML"
grep -q '^\[mcp_servers.waybill\]' "$toml" || bad "codex"
[ "$(stat -c %a "$toml")" = 600 ] || bad "a new file is private"
mkdir "$work/dots"
printf '# my settings\nmodel = "m" # kept\n# [mcp_servers.waybill] one day\n\n[mcp_servers.other]\ncommand = "o"' >"$work/dots/codex.toml"
cp "$work/dots/codex.toml" "$work/was"
rm "$toml"
ln -s "$work/dots/codex.toml" "$toml"
connect codex --yes || bad "connect codex"
[ -L "$toml" ] || bad "the link was replaced"
cmp -s "$work/was" "$work/dots/codex.toml.waybill-old" || bad "the old TOML is not kept"
head -c "$(stat -c %s "$work/was")" "$work/dots/codex.toml" | cmp -s - "$work/was" || bad "TOML before ours changed"
connect codex --yes || bad "codex twice"
said 'already'
[ "$(grep -c '^\[mcp_servers.waybill\]' "$toml")" = 1 ] || bad "twice in the file"
ours=$(grep -A2 '^\[mcp_servers.waybill\]' "$toml")
command=$(grep '^command = "/' <<<"$ours") args=$(grep '^args' <<<"$ours")
for name in '[mcp_servers."waybill"]' '[ mcp_servers . waybill ] # ours'; do
    printf 'a = 1\n%s\n# command = "no"\n%s # p\nenv = { command = "x" }\n%s' "$name" "${args/]/, \"--as\", \"me\"]}" "$command" >"$work/dots/codex.toml"
    connect codex --yes || bad "$name"
    said 'Codex knows Waybill already'
    # Another workspace, on several lines, and another program as it may be quoted too.
    printf 'a = 1\r\n%s\nstartup = """\ncommand = "t"\n"""\nargs = [ # of [old\n  "serve", "--root",\n  "/else\\"where",\n] # p\nk.command = 2\ncommand = '"'/old/waybill'"'\t# c\n\n[mcp_servers.waybill.env]\ncommand = "e"' "$name" >"$work/was"
    cp "$work/was" "$work/dots/codex.toml"
    connect codex || bad "$name, unasked"
    said '/old/waybill serve --root /else"where'
    said 'nothing was written'
    cmp -s "$work/was" "$work/dots/codex.toml" || bad "$name: replaced without a yes"
    connect codex --yes || bad "$name, another"
    printf 'a = 1\r\n%s\nstartup = """\ncommand = "t"\n"""\n%s # p\nk.command = 2\n%s\t# c\n\n[mcp_servers.waybill.env]\ncommand = "e"' "$name" "$args" "$command" >"$work/want"
    cmp "$work/want" "$work/dots/codex.toml" || bad "$name: not just the entry was replaced: $(cat "$work/dots/codex.toml")"
    connect codex --yes || bad "$name, now it is ours"
    said 'Codex knows Waybill already'
done
printf '[mcp_servers.waybill]' >"$work/dots/codex.toml"
connect codex --yes || bad "a table without anything"
[ "$(cat "$toml")" = "$ours" ] || bad "a table without anything: $(cat "$toml")"
echo '[mcp_servers.waybill.env]' >"$work/dots/codex.toml"
connect codex --yes || bad "only a table below ours"
grep -q '^command = "/' "$toml" || bad "only a table below ours: $(cat "$toml")"
for by_hand in $'[mcp_servers]\nother.command = "o"\nwaybill = {command="x"}' $'mcp_servers.waybill.command = "x"' $'[mcp_servers.waybill]\nurl = "http://x/"'; do
    echo "$by_hand" >"$work/dots/codex.toml"
    connect codex --yes && bad "$by_hand"
    said 'by hand'
    [ "$(cat "$toml")" = "$by_hand" ] || bad "changed: $by_hand"
done
printf '[mcp_servers]\nwaybill = {%s, %s}\n' "$command" "$args" >"$work/dots/codex.toml"
connect codex --yes || bad "as one value"
said 'already'
printf 'notes = """\n[mcp_servers.waybill]\n"""\n' >"$work/dots/codex.toml"
connect codex --yes || bad "our name in a text"
[ "$(grep -c '^\[mcp_servers.waybill\]' "$toml")" = 2 ] || bad "a text passes for a table"
echo 'mcp_servers = { other = { command = "o" } }' >"$work/dots/codex.toml"
connect codex --yes && bad "a table that would contradict the file"
said 'by hand'
# What is broken is left as it is: our table could become a part of it. What only looks so is not.
for broken in 'model = "abc' 'model = "a\"' "a = '" $'a = 1\nx = [1, # 2]\n2' $'notes = """\nabc\n' '[mcp_servers' $'[mcp_servers # ]\n' '[a] b' 'a = ' 'some words' 'a = 1]' 'env = {a = 1'; do
    printf '%s' "$broken" >"$work/dots/codex.toml"
    connect codex --yes && bad "broken TOML was taken: $broken"
    said 'is no TOML'
    [ "$(cat "$toml")" = "$(printf '%s' "$broken")" ] || bad "broken TOML was changed: $broken"
done
said 'line 1 is no TOML: a bracket is not closed'
for sound in $'# three """ of them\n[mcp_servers.waybill]\ncommand = "c"' $'\xef\xbb\xbf[mcp_servers.waybill]' $'x = """a""""\n[mcp_servers.waybill] # y'; do
    printf '%s' "$sound" >"$work/dots/codex.toml"
    connect codex --yes || bad "sound TOML: $sound"
    [ "$(grep -c '\[mcp_servers.waybill\]' "$toml")" = 1 ] || bad "a second table: $(cat "$toml")"
done
printf 'args = [\n  "[mcp_servers.waybill]",\n]\n[[a."]"]]\nb = {c = [1, 2]}\n' >"$work/dots/codex.toml"
cp "$work/dots/codex.toml" "$work/was"
connect codex --yes || bad "our name in a list"
head -c "$(stat -c %s "$work/was")" "$toml" | cmp -s - "$work/was" || bad "our name in a list passes for a table: $(cat "$toml")"
CODEX_HOME=$work/elsewhere connect codex --yes || bad "CODEX_HOME"
[ -f "$work/elsewhere/config.toml" ] || bad "not in CODEX_HOME"

# Others get a snippet.
connect cursor || bad "a snippet"
grep -q '"mcpServers"' "$work/out" || bad "no snippet"
connect vscode || bad "a snippet for VS Code"
grep -q '"servers"' "$work/out" && ! grep -q mcpServers "$work/out" || bad "VS Code keeps its servers elsewhere: $(cat "$work/out")"
connect zed || bad "a snippet for Zed"
grep -q '"context_servers"' "$work/out" || bad "Zed keeps its servers elsewhere: $(cat "$work/out")"
connect && bad "no name"
[ $failed = 0 ] && echo "connect: files are kept as they were"
exit $failed
