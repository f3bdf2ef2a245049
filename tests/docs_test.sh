#!/bin/bash
# The man page says what the binary says, and the completion offers every command
# and option. WAYBILL_UPDATE=1 writes the page anew.
set -u
build=$PWD
source=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$build/waybill" ] || { echo "skipped: man page and completion (no waybill in $build)"; exit 77; }
failed=0
page=$source/docs/man/waybill.1
if [ -n "${WAYBILL_UPDATE:-}" ]; then
    bash "$source/tools/gen_man.sh" "$build/waybill" > "$page"
elif ! bash "$source/tools/gen_man.sh" "$build/waybill" | diff -u "$page" -; then
    echo "docs/man/waybill.1 is not current: WAYBILL_UPDATE=1 bash tests/docs_test.sh (in the build folder)"
    failed=1
fi
plain=$(sed 's/\\-/-/g' "$page")

PATH=$build:$PATH
. "$source/completions/waybill.bash"
offers() { # words already typed, then the start of the next one
    COMP_WORDS=("$@")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _waybill
    printf '%s\n' "${COMPREPLY[@]}"
}
commands=$(waybill --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -v '^waybill$')
for command in $commands; do
    offers waybill "${command%?}" | grep -qx -e "$command" || { echo "completion lacks $command"; failed=1; }
    case $plain in *".SS waybill $command"*) ;; *) echo "man page lacks $command"; failed=1 ;; esac
    for option in $(waybill "$command" --help | grep -oE '^  --[a-z-]+' | tr -d ' ') --root --json --help; do
        offers waybill "$command" "$option" | grep -qx -e "$option" || { echo "completion lacks $command $option"; failed=1; }
        case $plain in *"$option"*) ;; *) echo "man page lacks $option"; failed=1 ;; esac
    done
done
for words in 'config trust' 'ledger stats' 'ledger export' 'tasks stop' 'tools check' 'schema lint' \
    'artifact verify' 'approve no' 'pins reject' 'semver compare' 'envelope wrap' 'patch check'; do
    word=${words#* }
    # shellcheck disable=SC2086 # two words
    offers waybill ${words%?} | grep -qx "$word" || { echo "completion lacks $words"; failed=1; }
done
offers waybill --root . -q led | grep -qx ledger || { echo "completion after options"; failed=1; }
offers waybill --root . ledger ver | grep -qx verify || { echo "completion after options"; failed=1; }
# The examples of compaction are lines that a test has seen.
while IFS= read -r line; do
    grep -qxF "  $line" "$source/tests/cli/compact.test" || { echo "docs/compaction.md: no test shows: $line"; failed=1; }
done < <(sed -n '/^```text$/,/^```$/p' "$source/docs/compaction.md" | grep -v '^```')
if command -v man > /dev/null 2>&1 && command -v groff > /dev/null 2>&1; then
    for file in "$source"/docs/man/*.[1-9]; do
        warnings=$(groff -man -ww -Tutf8 "$file" 2>&1 > /dev/null)
        [ -z "$warnings" ] || { echo "$file: $warnings"; failed=1; }
    done
fi
echo "documented: $(echo "$commands" | wc -w) commands"
exit $failed
