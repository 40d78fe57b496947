# SPDX-License-Identifier: Apache-2.0
"""The draw of `mxoracle fuzz` by ctypes: the same bytes are the same call.

libmxoracle-draw is looked for beside libmxoracle, and in mxoracle/draw below
it.  fuzz/library/calls.h is the other side.
"""
import ctypes
import glob
import os
from ctypes import (POINTER, Structure, byref, c_char_p, c_int, c_size_t,
                    c_uint32, c_uint64, c_void_p)

from .library import DTYPES, CCall, NoLibrary, Text, candidates
from .tensor import Tensor

SLOTS = ("base", "seed", "data")  # then dimensions, then parameters


class Head(Structure):
    _fields_ = [("text", c_char_p), ("whole", c_char_p), ("why", c_char_p),
                ("seed", c_uint64), ("record_bytes", c_uint32),
                ("version", c_uint32), ("call", CCall)]


def _load():
    tried = []
    for beside in candidates():
        folder = os.path.dirname(beside)
        tried += [os.path.join(folder, *more, "libmxoracle-draw.so")
                  for more in ((), ("mxoracle", "draw"))]
    tried += sorted(glob.glob("/usr/lib/*/mxoracle/draw/libmxoracle-draw.so"))
    found = [path for path in tried if os.path.exists(path)]
    if not found:
        raise NoLibrary("libmxoracle-draw.so, which draws the cases, is not "
                        "beside libmxoracle")
    try:
        library = ctypes.CDLL(found[0])
        for name, result, arguments in (
                ("open", POINTER(Head), [c_char_p, Text]),
                ("close", None, [c_void_p]),
                ("seed", None, [c_void_p, c_uint64]),
                ("random", None, [c_void_p, c_char_p]),
                ("mutate", None, [c_void_p, c_char_p, c_uint64]),
                ("pack", None, [c_void_p, POINTER(c_uint32), c_uint32,
                                c_char_p]),
                ("decode", c_int, [c_void_p, c_char_p, c_size_t]),
                ("parse", c_int, [c_void_p, c_char_p, c_uint64]),
                ("answer", c_int, [c_void_p])):
            function = getattr(library, f"mxo_draw_{name}")
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise NoLibrary(f"{found[0]} draws no cases: {error}") from None
    return library


class Draw:
    """Calls of one operation.  One thread at a time."""

    _library = None

    def __init__(self, wanted):
        if Draw._library is None:
            Draw._library = _load()
        why = ctypes.create_string_buffer(1024)
        self._at = self._library.mxo_draw_open(
            wanted.encode(), Text(ctypes.cast(why, c_char_p), 1024))
        if not self._at:
            raise ValueError(why.value.decode(errors="replace"))
        self._head = self._at.contents
        self.record = ctypes.create_string_buffer(self._head.record_bytes)

    def __del__(self):
        if getattr(self, "_at", None):
            self._library.mxo_draw_close(self._at)

    def start(self, seed):
        self._library.mxo_draw_seed(self._at, seed)

    def random(self):
        """The next call at random; False if it is one to be refused."""
        self._library.mxo_draw_random(self._at, self.record)
        return self.decode(self.record)

    def mutate(self, record, seed):
        """A record with one slot changed."""
        room = ctypes.create_string_buffer(
            bytes(record)[:len(self.record)], len(self.record))
        self._library.mxo_draw_mutate(self._at, room, seed)
        return room.raw

    def pack(self, slots):
        """A record of slots: SLOTS, then dimensions, then parameters."""
        self._library.mxo_draw_pack(
            self._at, (c_uint32 * len(slots))(*slots), len(slots), self.record)
        return self.record

    def decode(self, record):
        return self._library.mxo_draw_decode(self._at, record,
                                             len(record)) == 0

    def parse(self, text, seed):
        """Is it a call that the emulator takes?  It is the one at hand."""
        return self._library.mxo_draw_parse(self._at, text.encode(), seed) == 0

    @property
    def text(self):
        return self._head.text.decode()

    @property
    def whole(self):
        return self._head.whole.decode()

    @property
    def seed(self):
        return self._head.seed

    @property
    def why(self):
        return self._head.why.decode(errors="replace")

    def answer(self):
        """Inputs and right outputs of the call at hand, or None where the
        emulator refuses its values."""
        if self._library.mxo_draw_answer(self._at) != 0:
            return None
        call = self._head.call
        return ([_tensor(t) for t in call.inputs[:call.n_in]],
                [_tensor(t) for t in call.outputs[:call.n_out]])


def _tensor(t):
    memory = bytearray(t.n_bytes)
    if memory:
        ctypes.memmove((ctypes.c_char * len(memory)).from_buffer(memory),
                       t.buffer, len(memory))
    return Tensor(t.name.decode(), DTYPES[t.dtype],
                  tuple(t.shape[:t.rank]), memoryview(memory))
