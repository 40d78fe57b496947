# SPDX-License-Identifier: Apache-2.0
# bash completion for mxoracle: commands, options and names all come from the
# program itself.
_mxoracle_words() { # WORDS PREFIX
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}
_mxoracle_open() { # a word that ends in = or : goes on
    [[ "${#COMPREPLY[@]}" -ne 1 || "${COMPREPLY[0]}" != *[=:] ]] || compopt -o nospace
}
_mxoracle_argument() { # COMMAND CURRENT: readline cuts words at = and :
    local cut=${2%"${2##*[=:]}"}
    _mxoracle_words "$(mxoracle complete arguments "$1" "$2" 2>/dev/null)" "$2"
    [ ${#COMPREPLY[@]} -gt 0 ] || return
    compopt +o filenames
    COMPREPLY=("${COMPREPLY[@]#"$cut"}")
    _mxoracle_open
}
_mxoracle() {
    local line=${COMP_LINE:0:COMP_POINT} current command kind previous
    current=${line##* }
    command=${COMP_WORDS[1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        _mxoracle_words "$(mxoracle complete commands 2>/dev/null) --help --version" "$current"
        return
    fi
    case "$current" in
    --*=*)
        compopt +o filenames
        kind=${current%%=*}
        _mxoracle_words "$(mxoracle complete values "$command" "${kind#--}" 2>/dev/null)" "${current#*=}"
        [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "${current#*=}")
        return ;;
    -*)
        compopt +o filenames # '=' is no part of a file name to be quoted
        _mxoracle_words "$(mxoracle complete options "$command" 2>/dev/null)" "$current"
        _mxoracle_open
        return ;;
    esac
    if [ "$command" = help ]; then
        _mxoracle_words "$(mxoracle complete commands 2>/dev/null)" "$current"
        return
    fi
    previous=${line% *}
    previous=${previous##* }
    COMPREPLY=()
    case "$previous" in
    --*=*) ;;
    --*) _mxoracle_words "$(mxoracle complete values "$command" "${previous#--}" 2>/dev/null)" "$current" ;;
    -?) _mxoracle_words "$(mxoracle complete values "$command" "${previous#-}" 2>/dev/null)" "$current" ;;
    esac
    [ ${#COMPREPLY[@]} -gt 0 ] || _mxoracle_argument "$command" "$current"
    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _mxoracle mxoracle
