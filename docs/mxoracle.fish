# SPDX-License-Identifier: Apache-2.0
# fish completion for mxoracle: all names come from the program itself.
function __mxoracle_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    if test (count $words) -lt 2; or test "$words[2]" = help
        mxoracle complete commands 2>/dev/null
    else if string match -q -- '--*=*' $current
        set -l option (string replace -r '^--([^=]*)=.*' '$1' -- $current)
        for value in (mxoracle complete values $words[2] $option 2>/dev/null)
            echo -- --$option=$value
        end
    else if string match -q -- '-*' $current
        mxoracle complete options $words[2] 2>/dev/null
    else
        if string match -qr -- '^--?[a-z-]+$' $words[-1]
            mxoracle complete values $words[2] (string replace -r '^--?' '' -- $words[-1]) 2>/dev/null
        end
        mxoracle complete arguments $words[2] "$current" 2>/dev/null
    end
end
complete -c mxoracle -a '(__mxoracle_complete)'
