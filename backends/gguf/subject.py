# SPDX-License-Identifier: Apache-2.0
"""The MXFP4 blocks of the gguf package (numpy), judged by

    mxoracle run --exec "python3 backends/gguf/subject.py"

See README.md beside it.
"""
import mxoracle as mx

try:
    import importlib.metadata

    import numpy as np
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize, quantize
    VERSION, MISSING = importlib.metadata.version("gguf"), None
except ImportError as error:
    VERSION, MISSING = "none", f"{error}: pip install gguf"

BYTES = 17  # of a block: the scale byte, 16 bytes of two codes each


def to_blocks(q, scale):
    """Neighbours in a byte to gguf's halves: element i beside i + 16."""
    codes = mx.unpack_e2m1(q).reshape(-1, 32)
    halves = codes[:, :16] | codes[:, 16:] << 4
    return np.concatenate([scale.reshape(-1, 1), halves], axis=1).reshape(
        q.shape[0], -1)


def from_blocks(blocks, rows):
    blocks = blocks.reshape(-1, BYTES)
    codes = np.concatenate([blocks[:, 1:] & 15, blocks[:, 1:] >> 4], axis=1)
    return (mx.pack_e2m1(codes).reshape(rows, -1),
            np.ascontiguousarray(blocks[:, 0]).reshape(rows, -1))


@mx.op("quant.mx", kernel="gguf.quants.MXFP4", rule="ggml", from_="bf16",
       rows=mx.size(least=1), cols=mx.size(multiple=32, least=32))
def quantise_as_ggml(x):
    """log2 in binary32 is exact enough for a BF16 maximum, not for every F32."""
    return from_blocks(quantize(mx.decode(x, "bf16"),
                                GGMLQuantizationType.MXFP4), x.shape[0])


@mx.op("quant.engine", kernel="gguf.quants.MXFP4", rule="gguf_py",
       from_=["bf16", "f32"], rows=mx.size(least=1),
       cols=mx.size(multiple=32, least=32))
def quantise(x, from_):
    """What the package does, whatever ggml's C would do."""
    values = mx.decode(x, "bf16") if from_ == "bf16" else x
    return from_blocks(quantize(values, GGMLQuantizationType.MXFP4),
                       x.shape[0])


@mx.op("dequant.mx", kernel="gguf.quants.MXFP4", rule="ggml", to="f32",
       zero="positive",
       rows=mx.size(least=1), cols=mx.size(multiple=32, least=32))
def dequantise(q, scale):
    return dequantize(to_blocks(q, scale), GGMLQuantizationType.MXFP4)


if __name__ == "__main__":
    mx.main("gguf", VERSION, MISSING)
