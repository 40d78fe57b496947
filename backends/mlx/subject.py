# SPDX-License-Identifier: Apache-2.0
"""MLX's quantisers and quantised product on the CPU, judged by

    mxoracle run --exec "python3 backends/mlx/subject.py"

See README.md beside it.
"""
import mxoracle as mx

try:
    import importlib.metadata

    import mlx.core as mlx
    import numpy as np
    VERSION, MISSING = importlib.metadata.version("mlx"), None
    KINDS = {"f32": mlx.float32, "bf16": mlx.bfloat16, "f16": mlx.float16}
    mlx.set_default_device(mlx.cpu)
except ImportError as error:
    VERSION, MISSING = "none", f"{error}: pip install 'mlx[cpu]' numpy"

MX = {"rows": mx.size(least=1), "cols": mx.size(multiple=32, least=32)}
NV = {"rows": mx.size(least=1), "cols": mx.size(multiple=32, least=32)}
TYPES = ["f32", "bf16", "f16"]


def floats(x, kind):
    """The judge's BF16 numbers are their bits."""
    return mlx.array(x).view(mlx.bfloat16) if kind == "bf16" else mlx.array(x)


def bits(y):
    return np.array(y.view(mlx.uint16) if y.dtype == mlx.bfloat16 else y)


def words(q):
    """MLX's words are the judge's bytes, four at a time."""
    return mlx.array(np.ascontiguousarray(q).view(np.uint32))


def codes(w):
    return np.array(w).view(np.uint8)


@mx.op("quant.engine", kernel="mlx quantize", rule="mlx",
       element=["e2m1", "e4m3fn"], from_=TYPES, **MX)
def quantise(x, element, from_):
    w, scales = mlx.quantize(floats(x, from_), mode=mode_of(element))
    return codes(w), np.array(scales)


@mx.op("dequant.mx", kernel="mlx dequantize", rule="ldexp",
       element=["e2m1", "e4m3fn"], to=TYPES, **MX)
def dequantise(q, scale, element, to):
    return bits(mlx.dequantize(words(q), mlx.array(scale), dtype=KINDS[to],
                               mode=mode_of(element)))


@mx.op("quant.nvfp4_engine", kernel="mlx quantize",
       rule=["mlx", "mlx_global"], from_=TYPES, **NV)
def quantise_nvfp4(x, from_, global_scale=None):
    w, scales = mlx.quantize(floats(x, from_), mode="nvfp4",
                             global_scale=scalar(global_scale))
    return codes(w), np.array(scales)


@mx.op("dequant.nvfp4_engine", kernel="mlx dequantize",
       rule=["mlx", "mlx_global"], to=TYPES, **NV)
def dequantise_nvfp4(q, scale, to, global_scale=None):
    return bits(mlx.dequantize(words(q), mlx.array(scale), dtype=KINDS[to],
                               global_scale=scalar(global_scale),
                               mode="nvfp4").astype(KINDS[to]))


@mx.op("gemm.mx", kernel="mlx quantized_matmul", from_="f32", to="f32",
       acc="block", mul="round", element=["e2m1", "e4m3fn"],
       rows=mx.size(least=1),
       cols=mx.size(multiple=8, least=8), k=mx.size(multiple=32, least=32))
def multiply(a, w, w_scale, element):
    return np.array(mlx.quantized_matmul(
        mlx.array(a), words(w), mlx.array(w_scale), transpose=True,
        mode=mode_of(element)))


def mode_of(element):
    return "mxfp4" if element == "e2m1" else "mxfp8"


def scalar(x):
    return None if x is None else mlx.array(float(x[0]))


if __name__ == "__main__":
    mx.main("mlx", VERSION, MISSING)
