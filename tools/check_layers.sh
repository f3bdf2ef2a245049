#!/bin/sh
# Who may include whom (docs/ARCHITECTURE.md). Fails on a forbidden include or a
# call that belongs to another room. One pass of awk over all sources.
set -eu
git ls-files --cached --others --exclude-standard 'src/*.c' 'src/*.h' | sort -u |
    grep -v -e '_test\.c$' -e '_test\.h$' | while read -r f; do [ -f "$f" ] && echo "$f"; done > .layers.tmp
status=0
xargs awk '
BEGIN {
    # Floor of each room: a room includes its own and lower floors only.
    n = split("waybill base json text,schema,path,loop config,catalog,store,artifact,guard,wire,event " \
              "run,ledger,control,http family mcp call builtin,serve api cli", floors, " ")
    for (i = 1; i <= n; i++) {
        m = split(floors[i], rooms, ",")
        for (k = 1; k <= m; k++) level[rooms[k]] = i
    }
    # Third-party headers and the one room that includes each.
    split("uv.h yyjson.h sqlite3.h pcre2.h llhttp.h libpq-fe.h curl/curl.h hiredis/hiredis.h", header, " ")
    split("loop json store text http store http guard", home, " ")
    for (i in header) only[header[i]] = home[i]
    banned = "(^|[^a-zA-Z_0-9.>])(malloc|calloc|realloc|free|strdup|strcpy|strcat|sprintf|strtok|atoi|sscanf|gets)\\("
    opening = "(^|[^a-zA-Z_0-9.>])(open|openat|openat2|creat|fopen|freopen|stat|lstat|fstatat|statx|access|faccessat" \
        "|realpath|readlink|readlinkat|rename|renameat|renameat2|unlink|unlinkat|remove|mkdir|mkdirat|rmdir" \
        "|link|linkat|symlink|symlinkat|opendir|fdopendir|scandir|ftw|nftw|glob|truncate|utimensat|mkfifo|mknod|chdir|chmod|fchmodat|chown" \
        "|mkstemp|mkostemp|mkdtemp)\\("
    # Rooms with files of their own: state, artifacts, configuration, sockets, what a
    # person names. Whatever lies beneath a workspace root is reached through path/.
    split("path store ledger artifact run config http control loop cli", files, " ")
    for (i in files) opens[files[i]] = 1
    opens["src/event/out.c"] = 1 # the file of --events
    opens["src/serve/token.c"] = opens["src/serve/pin_files.c"] = 1 # files of the user, in no workspace
    talk = "(^|[^a-zA-Z_0-9.>])(printf|fprintf|puts|exit|abort)\\("
}
function complain(text) { print "layers: " FILENAME ":" FNR ": " text; bad = 1 }
FNR == 1 {
    split(FILENAME, part, "/")
    room = part[2]
    library = room != "base" && room != "cli"
    if (!(room in level)) complain("room " room " has no floor in tools/check_layers.sh")
}
/^#include "/ {
    split($0, quoted, "\"")
    split(quoted[2], step, "/")
    other = step[1]
    if (!(other in level) || level[other] > level[room]) complain("includes " quoted[2] ", which is above " room)
    if (quoted[2] ~ /_int\.h$/ && other != room) complain("includes " quoted[2] ", private to " other)
    if (room == "cli" && other != "cli" && other != "waybill") complain("cli includes only include/waybill")
}
/^#include </ {
    split($0, angle, /[<>]/)
    if (angle[2] in only && only[angle[2]] != room) complain("only " only[angle[2]] " includes <" angle[2] ">")
}
library && !/^[ \t]*(\/| )\*/ {
    if ($0 ~ banned) complain("banned outside base: " $0)
    if ($0 ~ talk) complain("the library does not print or exit: " $0)
    if (!(room in opens) && !(FILENAME in opens) && $0 ~ opening) complain("files are opened, looked at and renamed through path/path.h: " $0)
}
END { exit bad }' < .layers.tmp || status=1
rm -f .layers.tmp
exit $status
