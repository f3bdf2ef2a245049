# bash completion for waybill. Commands and options are those the binary itself
# names in its help, so this cannot fall behind it.
_waybill() {
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} command at=1 word

    # the command stands past the options that every command has
    while [ "$at" -lt "$COMP_CWORD" ]; do
        case ${COMP_WORDS[at]} in
        --root | --state | --config | --as | --events) at=$((at + 2)) ;;
        -*) at=$((at + 1)) ;;
        *) break ;;
        esac
    done
    command=${COMP_WORDS[at]}
    COMPREPLY=()
    # behind -- stands a command line of another program
    for ((word = at + 1; word < COMP_CWORD; word++)); do
        [ "${COMP_WORDS[word]}" = -- ] || continue
        if declare -F _command_offset > /dev/null; then
            _command_offset $((word + 1))
        elif [ $((word + 1)) = "$COMP_CWORD" ]; then
            COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur"))
        else
            COMPREPLY=($(compgen -f -- "$cur"))
        fi
        return
    done
    if [ "$COMP_CWORD" = "$at" ]; then
        COMPREPLY=($(compgen -W "$("$program" --help 2>/dev/null |
            sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p') help --help --version" -- "$cur"))
        return
    fi
    case $previous in
    --view)
        COMPREPLY=($(compgen -W "receipt canonical result envelope record" -- "$cur"))
        return ;;
    --provider)
        COMPREPLY=($(compgen -W "auto responses chat anthropic gemini mcp native" -- "$cur"))
        return ;;
    --content-type)
        COMPREPLY=($(compgen -W "Unknown Text List Object Image Binary" -- "$cur"))
        return ;;
    --root | --state)
        COMPREPLY=($(compgen -d -- "$cur"))
        return ;;
    esac
    case $cur in
    -*)
        COMPREPLY=($(compgen -W "$("$program" "$command" --help 2>/dev/null |
            grep -oE '(^|[ (])--?[a-z][a-z-]*' | tr -d ' (' | sort -u)" -- "$cur")) ;;
    *)
        if [ "$command" = call ] && [ "$COMP_CWORD" = $((at + 1)) ]; then
            COMPREPLY=($(compgen -W "$("$program" tools list --json 2>/dev/null |
                grep -oE '"modelName":"[^"]*"' | cut -d'"' -f4)" -- "$cur"))
        elif [ "$COMP_CWORD" = $((at + 1)) ]; then
            # the first word of every alternative of the usage line
            COMPREPLY=($(compgen -W "$("$program" "$command" --help 2>/dev/null |
                sed -n 's/\[--[^]]*\]//g; s/--[a-z-]* [^ ]*//g; s/^usage: waybill [a-z-]* //p' |
                tr '|' '\n' | sed -nE 's/^[[ ]*([a-z]+)([] ].*)?$/\1/p')" -- "$cur") \
                $(compgen -f -- "$cur"))
        else
            COMPREPLY=($(compgen -f -- "$cur"))
        fi ;;
    esac
}
complete -F _waybill waybill
