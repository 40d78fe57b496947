# SPDX-License-Identifier: Apache-2.0
"""A tensor of a call: its bytes, and views of them without a copy."""
import array
import sys

from . import formats
from .described import SIZES

_NUMPY = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4",
          "i32": "i4", "u64": "u8", "i64": "i8", "f16": "f2", "f32": "f4",
          "f64": "f8", "bf16": "u2", "bool": "?"}
_CAST = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i",
         "u64": "Q", "i64": "q", "f32": "f", "f64": "d", "f16": "H",
         "bf16": "H", "bool": "B"}
_TORCH = {"u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16",
          "u32": "uint32", "i32": "int32", "u64": "uint64", "i64": "int64",
          "f16": "float16", "bf16": "bfloat16", "f32": "float32",
          "f64": "float64", "bool": "bool", "e4m3": "float8_e4m3fn",
          "e5m2": "float8_e5m2", "e8m0": "float8_e8m0fnu",
          "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz"}


class WrongAnswer(Exception):
    """The author's function answered with something that cannot be y."""


def product(shape):
    n = 1
    for extent in shape:
        n *= extent
    return n


class Tensor:
    """name, dtype ("bf16"), shape (a tuple) and memory (its bytes)."""

    def __init__(self, name, dtype, shape, memory):
        self.name, self.dtype, self.shape = name, dtype, tuple(shape)
        self.memory = memory

    def __repr__(self):
        return f"{self.name} {self.dtype}{list(self.shape)}"

    @property
    def size(self):
        return product(self.shape)

    def is_dense(self):
        return len(self.memory) == self.size * SIZES.get(self.dtype, 0)

    def view(self):
        """A flat memoryview: numbers, or codes where Python has no number."""
        return self.memory.cast(_CAST.get(self.dtype, "B"))

    def values(self):
        """A flat list of numbers, codes decoded."""
        if self.dtype in formats.TABLES or self.dtype in ("bf16", "f16"):
            return formats.decode(self.view(), self.dtype)
        return list(self.view())

    def numpy(self):
        """The array; BF16 as uint16, FP8 and E8M0 as uint8 codes."""
        import numpy
        kind = numpy.dtype(_NUMPY.get(self.dtype, "u1"))
        return numpy.frombuffer(self.memory, kind).reshape(self.shape)

    def torch(self, device=None):
        """The tensor in torch's own type, on the host without a copy."""
        import torch
        kind = getattr(torch, _TORCH[self.dtype], torch.uint8)
        if self.size == 0:
            return torch.empty(self.shape, dtype=kind, device=device)
        t = torch.frombuffer(self.memory, dtype=torch.uint8)
        t = t.view(kind).view(self.shape)
        return t if device is None else t.to(device)

    def jax(self):
        """jax's array on the judge's memory, by DLPack; BF16, which numpy's
        DLPack has not, is one copy."""
        import jax
        import jax.numpy as jnp
        bits = self.numpy()
        if self.size == 0:
            return jnp.zeros(self.shape, jnp.bfloat16 if self.dtype == "bf16"
                             else bits.dtype)
        a = jnp.from_dlpack(bits)
        if a.dtype != bits.dtype:
            raise TypeError(f"jax makes {a.dtype} of {self!r}: start with "
                            "JAX_ENABLE_X64=1")
        if self.dtype == "bf16":
            return jax.lax.bitcast_convert_type(a, jnp.bfloat16)
        return a

    def accept(self, answer):
        """A function that stores what the author's function returned;
        WrongAnswer at once if it is not of this type and shape.  Nothing is
        converted: a rounding would be the library's, and it is the function
        that is judged."""
        torch = sys.modules.get("torch")
        if torch is not None and not isinstance(answer, torch.Tensor) and \
                hasattr(answer, "__cuda_array_interface__"):
            answer = torch.as_tensor(answer, device="cuda")
        if torch is not None and isinstance(answer, torch.Tensor):
            return self._accept_torch(torch, answer)
        if isinstance(answer, (list, tuple)):
            return self._accept_list(answer)
        if "numpy" in sys.modules:
            return self._accept_numpy(sys.modules["numpy"], answer)
        return self._accept_buffer(answer)

    def _refuse(self, kind, shape):
        raise WrongAnswer(f"the function answers {self.name} as {kind}"
                          f"{list(shape)}, the call has {self!r}")

    def _accept_torch(self, torch, answer):
        want = getattr(torch, _TORCH[self.dtype], torch.uint8)
        if tuple(answer.shape) != self.shape or answer.dtype not in (
                {want, torch.uint8} if SIZES[self.dtype] == 1 else {want}):
            self._refuse(str(answer.dtype).replace("torch.", ""), answer.shape)
        if self.size == 0:
            return lambda: None
        mine = torch.frombuffer(self.memory, dtype=torch.uint8)
        theirs = answer.detach().contiguous().view(-1).view(torch.uint8)
        return lambda: mine.copy_(theirs)

    def _accept_numpy(self, np, answer):
        answer = np.asarray(answer)
        want = np.dtype(_NUMPY.get(self.dtype, "u1"))
        if answer.dtype.name == "bfloat16" and self.dtype == "bf16" or \
                answer.dtype.name.startswith("float8") and want.itemsize == 1:
            answer = np.ascontiguousarray(answer).view(want)
        if answer.shape != self.shape or answer.dtype != want:
            self._refuse(answer.dtype.name, answer.shape)
        return lambda: np.copyto(self.numpy(), answer)

    def _accept_list(self, answer):
        if len(answer) != self.size:
            raise WrongAnswer(f"the function answers {len(answer)} numbers as "
                              f"{self.name}, the call has {self!r}")
        code = _CAST.get(self.dtype, "B")
        try:
            data = memoryview(array.array(code, answer)).cast("B")
        except (TypeError, OverflowError, ValueError) as error:
            raise WrongAnswer(f"the answer is no list of {self!r}: "
                              f"{error}") from None
        return lambda: self.memory.__setitem__(slice(None), data)

    def _accept_buffer(self, answer):
        try:
            data = memoryview(answer).cast("B")
        except TypeError:
            raise WrongAnswer(f"the function answers {self.name} with a "
                              f"{type(answer).__name__}") from None
        if len(data) != len(self.memory):
            raise WrongAnswer(f"the function answers {len(data)} bytes, "
                              f"{self!r} has {len(self.memory)}")
        return lambda: self.memory.__setitem__(slice(None), data)
