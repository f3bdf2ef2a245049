#!/bin/bash
# The commands as data: each tests/cli/NAME.test is a conversation with a shell in
# a workspace of its own.
#   $ COMMAND          what is run (continued by lines that begin with "> ")
#     text             standard output
#     ! text           standard error
#     ? N              exit code, when it is not 0
# The file is played and must come out as it is. WAYBILL_UPDATE=1 rewrites it;
# arguments name single files. ROOT stands for the workspace.
set -u
build=$PWD
source=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$build/waybill" ] || { echo "skipped: commands (no waybill in $build)"; exit 77; }

play() {
    local file=$1 top line command=''
    top=$(mktemp -d /tmp/waybill-cli-XXXXXX)
    mkdir -p "$top/home" "$top/work"
    run() {
        local code
        (cd "$top/work" && env -i PATH="$build:/usr/local/bin:/usr/bin:/bin" HOME="$top/home" \
            LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
            bash -c "$command" > "$top/out" 2> "$top/err" < /dev/null)
        code=$?
        sed -e "s|$top/work|ROOT|g; s|$top/home|HOME|g; s|^|  |; s|^  \$||" "$top/out"
        [ -z "$(tail -c1 "$top/out" | tr -d '\n')" ] || echo '\'
        sed -e "s|$top/work|ROOT|g; s|$top/home|HOME|g; s|^|  ! |" "$top/err"
        [ $code = 0 ] || echo "  ? $code"
        command=''
    }
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        '> '*) command="$command
${line#> }"; printf '%s\n' "$line"; continue ;;
        esac
        [ -z "$command" ] || run
        case $line in
        '$ '*) command=${line#\$ }; printf '%s\n' "$line" ;;
        '  '* | '\') ;;
        '') [ -n "${quiet_blank:-}" ] || echo ;;
        *) printf '%s\n' "$line" ;;
        esac
    done < "$file"
    [ -z "$command" ] || run
    rm -rf "$top"
}

# Blank lines of output are written as blank lines and would be read as such:
# they are dropped on reading and written again by the run.
failed=0
count=0
for file in "${@:-$source/tests/cli/}"*; do
    case $file in *.test) ;; *) continue ;; esac
    count=$((count + 1))
    got=$(mktemp)
    quiet_blank=1 play "$file" | awk '/^[$#]/ && NR > 1 && last !~ /^#/ { print "" } { print; last = $0 }' > "$got"
    if [ -n "${WAYBILL_UPDATE:-}" ]; then
        cat "$got" > "$file"
    elif ! diff -u "$file" "$got" > "$got.diff"; then
        echo "$(basename "$file") came out otherwise:"
        cat "$got.diff"
        failed=1
    fi
    rm -f "$got" "$got.diff"
done
echo "commands: $count files played"
exit $failed
