# SPDX-License-Identifier: Apache-2.0
"""The operations, read from the judge's own ops.def.

A checkout reads the file under emu/include; a wheel and an installed tree have
a copy beside this one.  There is no second transcription to fall behind.
"""
import os
import re
from collections import namedtuple

Param = namedtuple("Param", "key domain default")
Field = namedtuple("Field", "name key dtype axes conditions")
Operation = namedtuple("Operation", "name params inputs outputs summary text")

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*)|([(),])')


def _def_file(name):
    here = os.path.dirname(os.path.abspath(__file__))
    top = os.path.join(here, "..", "..", "..")
    folders = [os.path.join(here, "def")]
    if os.path.exists(os.path.join(top, "configure.ac")):
        folders = [top, os.path.join(top, "emu", "include", "mxoracle"),
                   os.path.join(top, "backends", "common")]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                return f.read()
    raise FileNotFoundError(
        f"{name} of mxoracle is missing beside {here}: install the package "
        "with pip or make install, or use it inside the source tree")


def _version():
    """That of the judge beside it."""
    text = _def_file("configure.ac")
    return re.search(r"AC_INIT\(\[mxoracle\], \[([^]]+)\]", text).group(1)


def _logical_lines(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
    return text.splitlines()


def _macros(lines):
    """{name: (parameters or None, body)} of the #define lines, in order."""
    found = {}
    for line in lines:
        m = re.match(r"\s*#\s*define\s+(\w+)(\(([^)]*)\))?\s*(.*)", line)
        if m:
            names = m.group(3)
            formal = None if m.group(2) is None else [
                n.strip() for n in names.split(",")]
            found[m.group(1)] = (formal, m.group(4))
    return found


def _arguments(text, at):
    """Arguments of a macro call whose bracket opens at text[at], and the end."""
    depth, quoted, parts, start = 0, False, [], at + 1
    for i in range(at, len(text)):
        c = text[i]
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0:
                return parts + [text[start:i]], i + 1
        elif c == "," and depth == 1:
            parts.append(text[start:i])
            start = i + 1
    raise ValueError("a bracket of ops.def is not closed")


def _string(text, macros, actual=None):
    """The string that literals and macros beside each other make."""
    out, i = [], 0
    while i < len(text):
        m = _TOKEN.search(text, i)
        if m is None:
            break
        i = m.end()
        if m.group(1) is not None:
            out.append(m.group(1))
        elif m.group(2) in (actual or {}):
            out.append(_string(actual[m.group(2)], macros))
        elif m.group(2) in macros:
            formal, body = macros[m.group(2)]
            given = {}
            if formal is not None:
                args, i = _arguments(text, text.index("(", i))
                given = dict(zip(formal, args))
            if formal == ["..."]: # texts that follow one another
                given = {"__VA_ARGS__": ' " " '.join(args)}
            out.append(_string(body, macros, given))
    return "".join(out)


def _param(entry):
    key, rest = entry.split(":", 1)
    domain, default = rest.split("=", 1)
    return Param(key, domain, default)


def _field(entry):
    head, *conditions = entry.split("?")
    name, _, rest = head.partition(":")
    name, _, key = name.partition("@")
    dtype, _, axes = rest.partition("[")
    return Field(name, key, dtype, [a for a in axes.rstrip("]").split(",") if a],
                 [c.split("=", 1) for c in conditions])


def operations():
    """{name: Operation} of every operation the judge knows."""
    text = "\n".join(_logical_lines(_def_file("ops.def")))
    macros = _macros(text.splitlines())
    body = "\n".join(x for x in text.splitlines()
                     if not x.lstrip().startswith("#"))
    found, at = {}, body.find("MXO_OP(")
    while at >= 0:
        args, end = _arguments(body, at + len("MXO_OP"))
        name, params, inputs, outputs, summary = (
            _string(a, macros) for a in args[1:])
        found[name] = Operation(
            name, [_param(e) for e in params.split()],
            [_field(e) for e in inputs.split()], outputs.split(), summary,
            (params, inputs, outputs))
        at = body.find("MXO_OP(", end)
    return found


def outputs():
    """{operation: Fields} of what can be said of outputs in the notation."""
    text = "\n".join(_logical_lines(_def_file("outputs.def")))
    found, at = {}, text.find("MXO_OUTPUTS(")
    while at >= 0:
        args, end = _arguments(text, at + len("MXO_OUTPUTS"))
        name, fields = (_string(a, {}) for a in args)
        found[name] = [_field(e) for e in fields.split()]
        at = text.find("MXO_OUTPUTS(", end)
    return found


def dtypes():
    """{name: bytes per element} and {alias: name} of element types."""
    text = _def_file("dtype.def")
    row = re.compile(r'MXO_DTYPE\((\w+), "(\w+)", "(\w+)", (\d), (\d)\)')
    rows = row.findall(text)
    ids = {r[0]: r[1] for r in rows}
    alias = re.findall(r'MXO_DTYPE_ALIAS\("(\w+)", (\w+)\)', text)
    return ({r[1]: int(r[3]) for r in rows}, {a: ids[i] for a, i in alias},
            {r[1]: r[2] for r in rows})


VERSION = _version()
OPERATIONS = operations()
OUTPUTS = outputs()
SIZES, ALIASES, FILE_TAGS = dtypes()
