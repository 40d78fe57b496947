# SPDX-License-Identifier: Apache-2.0
"""The emulator through the C ABI of <mxoracle/abi.h>: nothing is built.

libmxoracle is looked for in MXORACLE_LIBRARY (a file, or its folder), beside
this package, in the build folder of a checkout, below the prefix of an installed
tree, and where the system looks.  Its version is that of this package, or it is
refused.
"""
import ctypes
import ctypes.util
import glob
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double,
                    c_int, c_size_t, c_uint32, c_uint64, c_void_p)

from . import signature
from .described import SIZES, VERSION
from .tensor import Tensor, product

ABI_VERSION, MAX_RANK, OUTPUTS, ALIGNED = 2, 6, 32, 256
DTYPES = list(SIZES)  # dtype.def is in the order of the enumeration


class NoLibrary(ImportError):
    """There is no libmxoracle to be the judge."""


class Text(Structure):
    _fields_ = [("ptr", c_char_p), ("size", c_size_t)]


class Param(Structure):
    _fields_ = [("key", c_char_p), ("text", c_char_p), ("number", c_double)]


class CTensor(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_uint32), ("rank", c_uint32),
                ("shape", c_uint64 * MAX_RANK), ("n_bytes", c_uint64),
                ("offset", c_uint64), ("buffer", c_void_p),
                ("stride", c_uint64 * MAX_RANK)]


class CCall(Structure):
    _fields_ = [("struct_size", c_uint32), ("n_params", c_uint32),
                ("n_in", c_uint32), ("n_out", c_uint32), ("op", c_char_p),
                ("params", POINTER(Param)), ("inputs", POINTER(CTensor)),
                ("outputs", POINTER(CTensor)),
                ("workspace", POINTER(CTensor)), ("stream", c_void_p)]


def _function(*arguments, result=c_int):
    return CFUNCTYPE(result, *arguments)


class Backend(Structure):
    """The members up to run(), in the order of abi.h."""
    _fields_ = [
        ("abi_version", c_uint32), ("struct_size", c_uint32),
        ("name", c_char_p), ("version", c_char_p),
        ("ops", c_void_p), ("op_info", c_void_p),
        ("open", _function(POINTER(c_void_p), c_int, Text)),
        ("close", _function(c_void_p, result=None)),
        ("describe", c_void_p),
        ("alloc", _function(c_void_p, c_uint64, POINTER(c_void_p))),
        ("dealloc", _function(c_void_p, c_void_p, result=None)),
        ("upload", _function(c_void_p, c_void_p, c_uint64, c_void_p, c_uint64,
                             Text)),
        ("download", _function(c_void_p, c_void_p, c_void_p, c_uint64,
                               c_uint64, Text)),
        ("synchronize", _function(c_void_p, Text)),
        ("infer", _function(c_void_p, POINTER(CCall), POINTER(CTensor),
                            POINTER(c_uint32), Text)),
        ("run", _function(c_void_p, POINTER(CCall), Text))]


class LayoutRow(Structure):
    """The first member of mxo_layout_row."""
    _fields_ = [("id", c_char_p)]


def candidates():
    here = os.path.dirname(os.path.abspath(__file__))
    top = os.path.join(here, "..", "..", "..")
    given = os.environ.get("MXORACLE_LIBRARY")
    if given is not None:
        return [os.path.join(given, "libmxoracle.so")
                if os.path.isdir(given) else given]
    found = sorted(glob.glob(os.path.join(here, "libmxoracle.*")))
    if os.path.exists(os.path.join(top, "configure.ac")):
        found += [os.path.join(top, "build", ".libs", "libmxoracle.so")]
    found += sorted(glob.glob(os.path.join(top, "..", "lib*",
                                           "libmxoracle.so*")))
    found += filter(None, [ctypes.util.find_library("mxoracle")])
    return [f for f in found if os.path.sep not in f or os.path.exists(f)]


def load():
    """The library; NoLibrary with a sentence."""
    tried = candidates()
    if not tried:
        raise NoLibrary("libmxoracle is not found: name it in "
                        "MXORACLE_LIBRARY")
    try:
        library = ctypes.CDLL(tried[0])
        library.mxo_emulator.restype = POINTER(Backend)
        library.mxo_version.restype = c_char_p
        library.mxo_layout_at.restype = POINTER(LayoutRow)
    except (OSError, AttributeError) as error:
        raise NoLibrary(f"{tried[0]} is no libmxoracle: {error}") from None
    version = library.mxo_version().decode()
    if version != VERSION:
        raise NoLibrary(f"{tried[0]} is of version {version}, this package of "
                        f"{VERSION}")
    return library


class Emulator:
    """The oracle.  One thread at a time."""

    def __init__(self):
        self.library = load()
        self.table = self.library.mxo_emulator().contents
        if self.table.abi_version != ABI_VERSION:
            raise NoLibrary("libmxoracle speaks another ABI")
        self._why = ctypes.create_string_buffer(512)
        self._text = Text(ctypes.cast(self._why, c_char_p), 512)
        self._ctx = c_void_p()
        self._check(self.table.open(byref(self._ctx), 0, self._text))
        self._room = {}

    def _check(self, status):
        if status != 0:
            raise signature.Refusal(
                self._why.value.decode(errors="replace"), status)

    def _buffer(self, which, n_bytes):
        """A buffer for inputs or outputs, grown where it is too small."""
        handle, room = self._room.get(which, (None, 0))
        if room >= n_bytes and handle:
            return handle
        if handle:
            self.table.dealloc(self._ctx, handle)
            self._room[which] = (None, 0)
        new = c_void_p()
        self._check(self.table.alloc(self._ctx, n_bytes + ALIGNED, byref(new)))
        self._room[which] = (new, n_bytes)
        return new

    def _call(self, op, texts, inputs):
        params = (Param * max(1, len(texts)))(*[
            Param(k.encode(), v.encode(), signature.number(v) or 0.0)
            for k, v in texts.items()])
        tensors = (CTensor * max(1, len(inputs)))()
        for c, t in zip(tensors, inputs):
            _describe(c, t)
        return CCall(ctypes.sizeof(CCall), len(texts), len(inputs), 0,
                     op.encode(), params, tensors, None)

    def _infer(self, call):
        out, n = (CTensor * OUTPUTS)(), c_uint32(OUTPUTS)
        self._check(self.table.infer(self._ctx, byref(call), out, byref(n),
                                     self._text))
        return out, n.value

    def run(self, op, texts, inputs):
        """Its answer: Tensors; Refusal."""
        call = self._call(op, texts, inputs)
        out, n = self._infer(call)
        _place(call.inputs, len(inputs), self._buffer(
            "in", sum(_rounded(t.n_bytes) for t in call.inputs[:len(inputs)])))
        _place(out, n, self._buffer(
            "out", sum(_rounded(t.n_bytes) for t in out[:n])))
        for c, t in zip(call.inputs[:len(inputs)], inputs):
            self._check(self.table.upload(self._ctx, c.buffer, c.offset,
                                          _address(t.memory), c.n_bytes,
                                          self._text))
        call.outputs, call.n_out = out, n
        self._check(self.table.run(self._ctx, byref(call), self._text))
        self._check(self.table.synchronize(self._ctx, self._text))
        return [self._fetch(c) for c in out[:n]]

    def _fetch(self, c):
        memory = bytearray(c.n_bytes)
        self._check(self.table.download(self._ctx, _address(memory), c.buffer,
                                        c.offset, c.n_bytes, self._text))
        return Tensor(c.name.decode(), DTYPES[c.dtype],
                      tuple(c.shape[:c.rank]), memoryview(memory))

    def layouts(self):
        """Names of all layouts."""
        names, i = [], 0
        while True:
            row = self.library.mxo_layout_at(c_uint32(i))
            if not row:
                return names
            names.append(row.contents.id.decode())
            i += 1


def _rounded(n):
    return (n + ALIGNED - 1) // ALIGNED * ALIGNED


def _describe(c, t):
    c.name, c.dtype, c.rank = t.name.encode(), DTYPES.index(t.dtype), len(t.shape)
    for i, extent in enumerate(t.shape):
        c.shape[i] = extent
    c.n_bytes = len(t.memory) if t.memory is not None else \
        product(t.shape) * SIZES[t.dtype]


def _place(tensors, n, buffer):
    at = 0
    for i in range(n):
        tensors[i].buffer, tensors[i].offset = buffer, at
        at += _rounded(tensors[i].n_bytes)


def _address(memory):
    """Of writable memory; it must stay alive while this is used."""
    return (ctypes.c_char * max(1, len(memory))).from_buffer(memory) \
        if len(memory) else None
