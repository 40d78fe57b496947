# SPDX-License-Identifier: Apache-2.0
"""torch's casts and torchao's MX formats on the CPU, judged by

    mxoracle run --exec "python3 backends/torch/subject.py"

See README.md beside it.
"""
import mxoracle as mx

try:
    import torch
    import torchao
    from torchao.prototype.mx_formats import mx_tensor, utils
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    VERSION = f"torch {torch.__version__}, torchao {torchao.__version__}"
    MISSING = None
    ELEMENTS = {"e2m1": torch.float4_e2m1fn_x2, "e2m3": "fp6_e2m3",
                "e3m2": "fp6_e3m2", "e4m3fn": torch.float8_e4m3fn,
                "e5m2": torch.float8_e5m2}
    MODES = {"floor": ScaleCalculationMode.FLOOR,
             "ceil": ScaleCalculationMode.CEIL,
             "even": ScaleCalculationMode.EVEN,
             "torchao_rceil": ScaleCalculationMode.RCEIL}
    KINDS = {"bf16": torch.bfloat16, "f16": torch.float16,
             "f32": torch.float32, "e4m3fn": torch.float8_e4m3fn,
             "e5m2": torch.float8_e5m2, "e4m3fnuz": torch.float8_e4m3fnuz,
             "e5m2fnuz": torch.float8_e5m2fnuz}
except ImportError as error:
    VERSION, MISSING = "none", f"{error}: pip install torch torchao"


def codes(t):
    return t.view(torch.uint8)


def quiet(y):
    """torch promises no payload of a NaN; the operation names one."""
    return torch.where(y.isnan(), torch.full_like(y, torch.nan), y)


@mx.op("quant.mx", arrays="torch", kernel="torchao to_mx",
       element=["e2m1", "e2m3", "e3m2", "e4m3fn", "e5m2"],
       from_=["bf16", "f32"], rule=["floor", "ceil", "even", "torchao_rceil"],
       rows=mx.size(least=1), cols=mx.size(multiple=32, least=32))
def quantise(x, element, rule):
    scale, q = mx_tensor.to_mx(x, ELEMENTS[element], 32, MODES[rule])
    return codes(q), codes(scale).view(x.shape[0], -1)


@mx.op("quant.engine", arrays="torch", kernel="torchao to_mx", element="e2m1",
       from_=["bf16", "f32"], rule=["torchao_floor", "torchao_ceil", "torchao_even", "torchao_rceil"],
       rows=mx.size(least=1), cols=mx.size(multiple=32, least=32))
def quantise_as_an_engine(x, rule):
    mode = ScaleCalculationMode[rule.removeprefix("torchao_").upper()]
    scale, q = mx_tensor.to_mx(x, ELEMENTS["e2m1"], 32, mode)
    return codes(q), codes(scale).view(x.shape[0], -1)


@mx.op("dequant.mx", arrays="torch", kernel="torchao to_dtype",
       element=["e2m1", "e2m3", "e3m2", "e4m3fn", "e5m2"],
       to=["bf16", "f32"], rows=mx.size(least=1),
       cols=mx.size(multiple=32, least=32))
def dequantise(q, scale, element, to):
    if element in ("e2m3", "e3m2"):
        q = q & 63  # torchao takes six bits; the judge's bytes have eight
    return mx_tensor.to_dtype(q, scale, ELEMENTS[element], 32, KINDS[to])


@mx.op("layout.apply", arrays="torch", kernel="torchao to_blocked",
       layout="flashinfer.128x4", experts=1, rows=mx.size(least=1),
       cols=mx.size(least=1))
def blocked(x, call):
    flat = utils.to_blocked(x[0])
    y = flat.view(call.outputs["y"].shape)
    return y, torch.ones_like(y)


@mx.op("format.convert", arrays="torch", kernel="Tensor.to",
       from_=["f32", "f64"], to=["bf16", "f16", "f32"], n=mx.size(least=1))
def convert(x, to):
    return quiet(x.to(KINDS[to]))


@mx.op("format.decode", arrays="torch", kernel="Tensor.to",
       format=["e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz"],
       to=["f32", "bf16", "f16"], n=mx.size(least=1))
def decode(code, format, to):
    return quiet(codes(code).view(KINDS[format]).to(KINDS[to]))


@mx.op("format.e8m0_decode", arrays="torch", kernel="Tensor.to",
       to=["f32", "bf16"], n=mx.size(least=1))
def decode_scale(code, to):
    return quiet(codes(code).view(torch.float8_e8m0fnu).to(KINDS[to]))


@mx.op("format.e8m0_encode", arrays="torch", kernel="Tensor.to",
       from_=["f32", "bf16"], rule="torch", n=mx.size(least=1))
def encode_scale(x):
    return codes(x.to(torch.float8_e8m0fnu))


@mx.op("act.glu", arrays="torch", kernel="torch.sigmoid", limit=...,
       dialect="gpt_oss_torch", from_="bf16", alpha=...,
       rows=mx.size(least=1), cols=mx.size(least=1))
def gpt_oss(x, alpha, limit):
    """The formula of gpt-oss' reference, one torch operation at a time."""
    gate, up = x[..., ::2], x[..., 1::2]
    if limit is not None:
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return (up + 1) * (gate * torch.sigmoid(gate * alpha))


if __name__ == "__main__":
    mx.main("torch", VERSION, MISSING)
