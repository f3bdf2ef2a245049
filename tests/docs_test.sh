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
# Behind -- another program is meant.
offers waybill exec --tty -- ca | grep -qx cat || { echo "completion lacks the command of exec"; failed=1; }
offers waybill exec -- cat --st | grep -q . && { echo "completion gives a command options of its own"; failed=1; }
# That of zsh, with functions of our own in place of its completion system.
zsh_offers() { # words already typed, then the start of the next one
    zsh -f -c '
        _call_program() { shift; "$@" }
        _describe() { print -l -- "${(@)${(P)@[-1]}%%:*}" }
        compadd() { if [[ $1 == -a ]]; then print -l -- "${(@P)2}"; else print -l -- "$@"; fi }
        _files() { }
        _normal() { print -- "$CURRENT of $words" }
        complete_it() { local PREFIX=${words[-1]} CURRENT=$#words; source "$file" }
        file=$1; shift; words=("$@"); complete_it' zsh "$source/completions/_waybill" "$@"
}
if command -v zsh > /dev/null 2>&1; then
    for command in $commands; do
        zsh_offers waybill "${command%?}" | grep -qx -e "$command" || { echo "completion of zsh lacks $command"; failed=1; }
        for option in $(waybill "$command" --help | grep -oE '^  --[a-z-]+' | tr -d ' ') --root --json --help; do
            zsh_offers waybill --root . "$command" "$option" | grep -qx -e "$option" ||
                { echo "completion of zsh lacks $command $option"; failed=1; }
        done
    done
    zsh_offers waybill '' | grep -qx waybill && { echo "completion of zsh offers an example as a command"; failed=1; }
    zsh_offers waybill --root . -q ledger ver | grep -qx verify || { echo "completion of zsh after options"; failed=1; }
    [ "$(zsh_offers waybill exec -- cat --st)" = '2 of cat --st' ] || { echo "completion of zsh behind --"; failed=1; }
    zsh_offers waybill call Exec | grep -qx ExecCommand || { echo "completion of zsh lacks tools"; failed=1; }
else
    echo "skipped: completion of zsh (zsh is not installed)"
fi
# What a document shows as output ("```text") are lines that a test has seen.
for file in "$source"/docs/*.md; do
    while IFS= read -r line; do
        cat "$source"/tests/cli/*.test | grep -qF -e "$line" || cat "$source"/tests/cli/*.test | sed 's/\\n/\n/g' | grep -qF -e "$line" ||
            { echo "$(basename "$file"): no test shows: $line"; failed=1; }
    done < <(sed -n '/^```text$/,/^```$/p' "$file" | grep -v '^```')
done
# The files and floors of docs/ARCHITECTURE.md are those of the tree and of the checker.
map=$source/docs/ARCHITECTURE.md
for file in $(grep -oE '`[a-z]+/[a-z_]+\.[ch]`' "$map" | tr -d '`' | grep -v '^room/' | sort -u); do
    [ -f "$source/src/$file" ] || [ -f "$source/$file" ] || { echo "docs/ARCHITECTURE.md: there is no $file"; failed=1; }
done
told=$(sed -n 's/^| [0-9]* | \(`[a-z/` ]*`\) |.*/\1/p' "$map" | tr -d '`/' | tac | tr ' \n' ', ')
held=$(sed -n 's/.*split("waybill base/base/; /^base/{N;s/ " \\\n *"/ /;s/", floors.*//p}' "$source/tools/check_layers.sh")
[ "${told% }" = "$held" ] || { echo "docs/ARCHITECTURE.md has the floors '$told', the checker '$held'"; failed=1; }
for room in "$source"/src/*/; do
    grep -q "\`$(basename "$room")/\`" "$map" || { echo "docs/ARCHITECTURE.md: no $(basename "$room")/"; failed=1; }
done
# man 3 and the header of headers name each header, that one once.
for header in "$source"/include/waybill/*.h; do
    name=waybill/${header##*/}
    grep -qF "$name" "$source/docs/man/waybill.3" || { echo "docs/man/waybill.3 lacks $name"; failed=1; }
    [ "$name" = waybill/waybill.h ] || [ "$(grep -cF "\"$name\"" "$source/include/waybill/waybill.h")" = 1 ] ||
        { echo "waybill/waybill.h includes $name not once"; failed=1; }
done
# man 5 names each member of the configuration.
while read -r part member; do
    grep -E '^\.(B|BR) ' "$source/docs/man/waybill-config.5" | grep -qw -e "$member" ||
        { echo "docs/man/waybill-config.5 lacks $member ($part)"; failed=1; }
done < <(awk '/^    "[A-Za-z]+": \{/ { split($0, word, "\""); part = word[2] }
    part ~ /^(settings|tool|server|serverTool|binding)$/ && !/"(if|then|else)"/ && /^        "[A-Za-z]+": / {
        split($0, word, "\""); print part, word[2] }' "$source/src/config/schema.json")
twice=$(waybill --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | sort | uniq -d)
[ -z "$twice" ] || { echo "waybill --help lists twice:" $twice; failed=1; }
if command -v man > /dev/null 2>&1 && command -v groff > /dev/null 2>&1; then
    for file in "$source"/docs/man/*.[1-9]; do
        warnings=$(groff -man -ww -Tutf8 "$file" 2>&1 > /dev/null)
        [ -z "$warnings" ] || { echo "$file: $warnings"; failed=1; }
    done
fi
echo "documented: $(echo "$commands" | wc -w) commands"
exit $failed
