# SPDX-License-Identifier: Apache-2.0
# Chains of conditional operators that are no table of at most three values:
# more than two conditions, or one between ? and : of another. Parentheses that
# are an arm belong to the chain.
# Usage: awk -f ci/conditions.awk FILE...
function open(is_arm) {
    depth++
    own[depth] = inner[depth] = most[depth] = waits[depth] = 0
    is_middle[depth] = 0
    arm[depth] = is_arm
}

# The chain of this depth ends: its conditions, with those in parentheses.
function close_chain(    n) {
    n = own[depth] > 0 ? own[depth] + inner[depth] : most[depth]
    if (n > 2) print FILENAME ":" begin[depth] ": " n " conditions in one chain"
    else if (is_middle[depth]) print FILENAME ":" begin[depth] ": a condition in an arm"
    own[depth] = inner[depth] = most[depth] = waits[depth] = is_middle[depth] = 0
}

function leave(mark,    n, was_middle, at) {
    if (depth == 1) { close_chain(); return }
    n = own[depth] > 0 ? own[depth] + inner[depth] : most[depth]
    if (!arm[depth]) { close_chain(); depth--; if (mark == "}") close_chain(); return }
    at = begin[depth]
    was_middle = is_middle[depth]
    depth--
    if (n == 0) return
    if (own[depth] == 0 && most[depth] == 0) begin[depth] = at
    inner[depth] += n
    if (n > most[depth]) most[depth] = n
    if (was_middle || waits[depth] > 0) is_middle[depth] = 1
}

FNR == 1 { depth = 0; open(0); in_comment = 0; before = "" }
{
    line = $0
    if (in_comment) {
        if (!(at = index(line, "*/"))) next
        line = substr(line, at + 2)
        in_comment = 0
    }
    while (match(line, /[^ \t]/)) {
        line = substr(line, RSTART)
        if (match(line, /^[A-Za-z0-9_]+/)) {
            before = "word"
        } else if (match(line, /^("([^"\\]|\\.)*"|'([^'\\]|\\.)*')/)) {
            before = "word"
        } else if (line ~ /^\/\//) {
            next
        } else if (line ~ /^\/\*/) {
            line = substr(line, 3)
            if (!(at = index(line, "*/"))) { in_comment = 1; next }
            line = substr(line, at + 2)
            continue
        } else {
            RLENGTH = line ~ /^::/ ? 2 : 1
            c = substr(line, 1, RLENGTH)
            if (c == "(" || c == "[" || c == "{") open(c == "(" && before ~ /^[?:]$/)
            else if (c == ")" || c == "]" || c == "}") leave(c)
            else if (c == ";" || c == ",") close_chain()
            else if (c == "?") {
                if (own[depth] == 0 && most[depth] == 0) begin[depth] = FNR
                if (waits[depth] > 0) is_middle[depth] = 1
                own[depth]++
                waits[depth]++
            } else if (c == ":" && waits[depth] > 0) waits[depth]--
            before = c
        }
        line = substr(line, RLENGTH + 1)
    }
}
