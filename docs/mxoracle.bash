# SPDX-License-Identifier: Apache-2.0
# bash completion for mxoracle: names come from the program itself.
_mxoracle() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W \
            'run verify list show shrink gen explain diagnose convert profiles select bench selftest --help --version' -- "$current")
        return
    fi
    case "$current" in
    --backend=*)
        mapfile -t COMPREPLY < <(compgen -W \
            "$(mxoracle list --list-backends 2>/dev/null | awk '{ print $1 }')" -- "${current#*=}")
        return ;;
    --op=*)
        mapfile -t COMPREPLY < <(compgen -W \
            "$(mxoracle list --list-ops 2>/dev/null | awk '{ print $1 }')" -- "${current#*=}")
        return ;;
    -*)
        mapfile -t COMPREPLY < <(compgen -W \
            "$(mxoracle "$command" --help 2>/dev/null | grep -oE -- '--[a-z-]+=?' | sort -u)" -- "$current")
        return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _mxoracle mxoracle
