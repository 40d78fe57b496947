# SPDX-License-Identifier: Apache-2.0
# Every #include against ci/rooms.list, and circles of files that cross folders, a
# source and its header taken as one file. Input: ci/rooms.list, then the names of
# all files of code with part=files, then "file:line:#include ..." with
# part=includes.
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }

function complain(text) { print "    " text; bad = 1 }

# a/b/../c is a/c.
function plain(path) {
    while (sub(/[^\/.]+\/\.\.\//, "", path)) {}
    return path
}

# The file that an include means: beside the file, in a folder above it, in
# another part or among the public headers; "" if there is none.
function meant(file, name,    at, n, i, parts) {
    for (at = folder(file); ; at = folder(at)) {
        if (plain(at "/" name) in is_file) {
            return plain(at "/" name)
        }
        if (at !~ /\//) {
            break
        }
    }
    n = split("emu/include emu conformance backends backends/broken", parts, " ")
    for (i = 1; i <= n; i++) {
        if ((parts[i] "/" name) in is_file) {
            return parts[i] "/" name
        }
    }
    return ""
}

# The word of ci/rooms.list under which a file may be included.
function word_of(file) {
    if (file !~ /^emu\/include\//) {
        return folder(file)
    }
    if (file ~ /\.def$/) {
        return "tables"
    }
    if (file ~ /\/(abi|fuzz)\.h$/) {
        return file ~ /abi\.h$/ ? "abi" : "fuzz"
    }
    return file ~ /\/mxoracle\.h$/ ? "open" : "library"
}

function check(where, room, word) {
    if (room == word || (room ~ /^emu\/include/ && word !~ /\//)) {
        return
    }
    if (word in at_library && (room, "library") in may) {
        word = "library"
    }
    if ((room, word) in may) {
        used[room, word] = 1
    } else {
        complain(where ", and " room " may not include " word " (ci/rooms.list)")
    }
}

function stem(path) { sub(/\.[a-z]+$/, "", path); return path }

# Tarjan: the circles that file takes part in.
function visit(v,    i, w, n, list, text, folders, n_folders) {
    number[v] = low[v] = ++count
    stack[++top] = v
    on_stack[v] = 1
    n = split(edges[v], list, " ")
    for (i = 1; i <= n; i++) {
        w = list[i]
        if (!(w in number)) {
            visit(w)
        }
        if (on_stack[w] && low[w] < low[v]) {
            low[v] = low[w]
        }
    }
    if (low[v] != number[v]) {
        return
    }
    do {
        w = stack[top--]
        on_stack[w] = 0
        text = text " " w
        if (!((v, folder(w)) in in_circle)) {
            in_circle[v, folder(w)] = 1
            n_folders++
        }
    } while (w != v)
    if (n_folders > 1) {
        complain("a circle of files crosses folders:" text)
    }
}

BEGIN {
    standard = "^<(std[a-z]+|string|limits|float|inttypes)\\.h>"
    at_library["abi"] = at_library["open"] = at_library["library"] = 1
    is_word["library"] = 1 # fuzz/library is a room
}

part == "rooms" {
    if (/^#/ || /^$/) {
        next
    }
    first = 1
    if (!/^ /) {
        room = substr($1, 1, length($1) - 1)
        is_room[room] = 1
        first = 2
    }
    for (i = first; i <= NF; i++) {
        allowed[room] = allowed[room] " " $i
    }
    next
}

part == "files" {
    is_file[$0] = 1
    if (!(folder($0) in is_room)) {
        complain($0 " is in a folder that ci/rooms.list does not name")
        is_room[folder($0)] = 1
    }
    next
}

!is_read {
    is_read = 1
    for (room in is_room) {
        n = split(allowed[room], list, " ")
        base = room
        sub(/\/.*/, "", base)
        for (i = 1; i <= n; i++) {
            word = list[i]
            if (!(word in is_word) && (base "/" word) in is_room) {
                word = base "/" word
            }
            may[room, word] = list[i]
        }
    }
}

{
    match($0, /^[^:]*:[0-9]*:/)
    where = substr($0, 1, RLENGTH - 1)
    file = where
    sub(/:.*/, "", file)
    name = substr($0, RLENGTH + 1)
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    room = folder(file)
    bare = name
    sub(/^[<"]/, "", bare)
    sub(/[>"].*/, "", bare)
    target = name ~ /^[<"]/ ? meant(file, bare) : "?"
    if (target == "?") { # a macro names the file
        next
    }
    if (target != "") {
        check(where ": " name, room, word_of(target))
        if (stem(file) != stem(target) && !((file, target) in seen)) {
            seen[file, target] = 1
            edges[stem(file)] = edges[stem(file)] " " stem(target)
        }
    } else if (name ~ /^"/) {
        check(where ": " name, room, bare) # the build makes it
    } else if ((room, "libc") in may) {
        used[room, "libc"] = 1
        if (name !~ standard) {
            complain(where ": " name ", and " room " may include C's own headers only (libc in ci/rooms.list)")
        }
    }
}

END {
    for (key in may) {
        split(key, pair, SUBSEP)
        if (!(key in used) && pair[2] != "pure" && pair[2] != "libc") {
            complain("ci/rooms.list lets " pair[1] " include " may[key] ", and no file there does")
        }
    }
    for (v in edges) {
        if (!(v in number)) {
            visit(v)
        }
    }
    exit bad
}
