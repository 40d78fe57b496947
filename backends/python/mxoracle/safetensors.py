# SPDX-License-Identifier: Apache-2.0
"""Vector files: 8 bytes of header length, a JSON header, the tensors."""
import json
import math
import os
import stat
import struct
import sys

from .described import FILE_TAGS, SIZES
from .tensor import Tensor, product

# dtype by a file's tag: {"BF16": "bf16", ...}
DTYPES = {tag: name for name, tag in FILE_TAGS.items()}


class NotAVector(Exception):
    """A file that is none, with one sentence."""


def _swap(t):
    """Between host order and little endian."""
    if sys.byteorder == "little" or SIZES[t.dtype] == 1:
        return bytes(t.memory)
    step, raw = SIZES[t.dtype], bytearray(t.memory)
    for i in range(step // 2):
        raw[i::step], raw[step - 1 - i::step] = (raw[step - 1 - i::step],
                                                 raw[i::step])
    return bytes(raw)


def _tensor(name, row, data):
    try:
        dtype, shape = DTYPES[row["dtype"]], tuple(row["shape"])
        begin, end = row["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise NotAVector(f"{name} has no dtype, shape and offsets") from None
    counts = list(shape) + [begin, end]
    if any(type(n) is not int or n < 0 for n in counts):
        raise NotAVector(f"{name} has a size that is no count")
    if end > len(data) or begin > end or \
            end - begin != product(shape) * SIZES[dtype]:
        raise NotAVector(f"{name} has not the bytes of its shape")
    t = Tensor(name, dtype, shape, memoryview(bytearray(data[begin:end])))
    t.memory[:] = _swap(t)
    return t


def read(path):
    """{name: Tensor} and the metadata of a file."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a FIFO would be waited for
        raise NotAVector("it is no regular file")
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else math.inf
    if n > len(data) - 8:
        raise NotAVector("it is cut off, or no safetensors file")
    try:
        header = json.loads(data[8:8 + n])
        meta = header.pop("__metadata__", {})
        rows = list(header.items())
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise NotAVector("its header is no JSON object") from None
    if not isinstance(meta, dict) or \
            any(not isinstance(text, str) for text in meta.values()):
        raise NotAVector("its metadata are no texts")
    body = memoryview(data)[8 + n:]
    return {name: _tensor(name, row, body) for name, row in rows}, meta


def write(path, tensors, meta):
    """Through a file beside it: the whole file, or what was there before."""
    header, blobs, at = {"__metadata__": meta}, [], 0
    for t in tensors:
        raw = _swap(t)
        header[t.name] = {"dtype": FILE_TAGS[t.dtype], "shape": list(t.shape),
                          "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "wb") as f:
            f.write(struct.pack("<Q", len(head)) + head + b"".join(blobs))
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
