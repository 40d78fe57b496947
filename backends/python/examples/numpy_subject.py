# SPDX-License-Identifier: Apache-2.0
"""Five operations in numpy, judged by

    mxoracle run --exec "python3 numpy_subject.py"

With --fault=NAME one of them is wrong on purpose; see faults.py beside it.
"""
import mxoracle as mx
import numpy as np

import faults

WEIGHT = np.array(mx.TABLES["e2m1"], np.float32)


def scale_of(byte):
    """The byte in the exponent field of a float32: 0 is zero, 255 infinity."""
    return (byte.astype(np.uint32) << 23).view(np.float32)


def rounded(x):
    """binary32 rounded to BF16, as binary32 again."""
    return mx.decode(mx.to_bf16(x), "bf16")


@mx.op("dequant.mx", to=["bf16", "f32"])
def dequant(q, scale, to):
    codes = mx.unpack_e2m1(q)
    if faults.planted("nibbles"):
        codes = mx.unpack_e2m1(q >> 4 | q << 4)
    factors = mx.decode(scale, "e8m0").astype(np.float64)
    spread = np.repeat(factors, 32, axis=-1)[..., :codes.shape[-1]]
    y = mx.decode(codes, "e2m1") * spread
    with np.errstate(over="ignore"):
        return mx.to_bf16(y) if to == "bf16" else y.astype(np.float32)


@mx.op("quant.mx", from_=["bf16", "f32"], rule=["floor", "rceil_exact"],
       cols=mx.size(multiple=32))
def quantise(x, rule, from_):
    values = mx.decode(x, "bf16") if from_ == "bf16" else x
    blocks = values.reshape(-1, 32).astype(np.float64)
    amax = np.abs(blocks).max(axis=1)
    finite = np.where(np.isfinite(amax), amax, 1.0)
    fraction, exponent = np.frexp(finite / 6 if rule == "rceil_exact"
                                  else finite)
    up = fraction > 0.5 if rule == "rceil_exact" else -2
    byte = np.clip(exponent - 1 + 127 + up, 0, 254)
    # The exponent field of a subnormal float32 is 0, and so is that of zero.
    byte = np.where(finite < 2.0 ** -126, 0, byte) if rule == "floor" else byte
    byte = np.where(finite == 0, 0, byte)
    byte = np.where(np.isfinite(amax), byte, 255).astype(np.uint8)
    with np.errstate(invalid="ignore"):
        codes = mx.encode(blocks * np.exp2(127.0 - byte)[:, None], "e2m1",
                          "away" if faults.planted("ties") else "even")
    codes = np.where((byte == 255)[:, None], 7, codes).astype(np.uint8)
    packed = mx.pack_e2m1(codes).reshape(x.shape[0], -1)
    return packed, byte.reshape(x.shape[0], -1)


def gated(gate, up, alpha, limit):
    """triton's swiglu in binary32: fma(s, u, s), s = g / (1 + e)."""
    with np.errstate(all="ignore"):
        if limit is not None and limit < np.inf:  # else no clamp
            limit = np.float32(limit)
            nan_up = limit if faults.planted("nan") else -limit
            g = np.where(gate < limit, gate, limit)
            u = np.where(np.isnan(up), nan_up, np.clip(up, -limit, limit))
        else:
            g, u = gate, up
        t = np.float32(alpha) * g
        e = np.exp(-t.astype(np.float64)).astype(np.float32)
        s = g / (np.float32(1) + e)
        # The product of two binary32 numbers is exact in binary64, the sum
        # with a third is rounded to odd, so that the last rounding is the one.
        product = s.astype(np.float64) * u
        return odd_sum(product, s.astype(np.float64)).astype(np.float32)


def odd_sum(a, b):
    """a + b in binary64, rounded to odd."""
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)
    even = total.view(np.int64) & 1 == 0
    off = np.isfinite(total) & (error != 0) & even
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(off, np.nextafter(total, toward), total)


@mx.op("act.glu", dialect="triton", from_=["bf16", "f32"],
       to=["bf16", "f32"], alpha=mx.between(-8, 8), limit=...)
def glu(x, from_, to, alpha, limit):
    values = mx.decode(x, "bf16") if from_ == "bf16" else x
    y = gated(values[:, 0::2], values[:, 1::2], alpha, limit)
    return mx.to_bf16(y) if to == "bf16" else y


@mx.op("layout.apply", layout="flashinfer.128x4")
def tiles(x):
    """Scales in tiles of 128 x 4, pads zero and defined."""
    experts, rows, cols = x.shape
    m, c = -(-rows // 128), -(-cols // 4)
    whole = np.zeros((experts, m * 128, c * 4), np.uint8)
    whole[:, :rows, :cols] = x
    if faults.planted("rows"):
        y = whole.reshape(experts, m, 32, 4, c, 4).transpose(0, 1, 4, 2, 3, 5)
    else:
        y = whole.reshape(experts, m, 4, 32, c, 4).transpose(0, 1, 4, 3, 2, 5)
    return y, np.ones_like(y)


def weights(q, scale):
    """[n, k] in binary32, each rounded to BF16."""
    with np.errstate(invalid="ignore", over="ignore"):
        factor = np.repeat(scale_of(scale), 32, axis=-1)[:, :2 * q.shape[1]]
        return rounded(WEIGHT[mx.unpack_e2m1(q)] * factor)


def row_times(w, a, bias):
    with np.errstate(all="ignore"):
        y = w @ a
        return y if bias is None else y + bias


def bias_of(bias, kind, e):
    if bias is None:
        return None
    return mx.decode(bias[e], "bf16") if kind == "bf16" else bias[e]


@mx.op("moe.gemm1", profile="TRITON", stage="gemm",
       bias=["none", "bf16", "f32"])
def first_gemm(x, topk_ids, w13, w13_scale, w13_bias, bias):
    y = np.zeros(topk_ids.shape + (w13.shape[1],), np.float32)
    shown = mx.decode(x, "bf16")
    for t, j in np.argwhere(topk_ids >= 0):
        e = topk_ids[t, j]
        y[t, j] = row_times(weights(w13[e], w13_scale[e]), shown[t],
                            bias_of(w13_bias, bias, e))
    if faults.planted("many"):
        y[8:] = 0
    return y


@mx.op("moe.layer", profile="TRITON", bias=["none", "bf16", "f32"])
def layer(x, topk_ids, topk_weights, w13, w13_scale, w13_bias, w2, w2_scale,
          w2_bias, bias):
    rows = np.zeros(topk_ids.shape + (x.shape[1],), np.float32)
    shown = mx.decode(x, "bf16")
    routing = rounded(topk_weights)
    for e in np.unique(topk_ids[topk_ids >= 0]):
        first, second = weights(w13[e], w13_scale[e]), weights(
            w2[e], w2_scale[e])
        for t, j in np.argwhere(topk_ids == e):
            a = shown[t].copy()
            if faults.planted("tail") and len(a) > 32:
                first[:, (len(a) - 1) // 32 * 32:] = 0
            h = row_times(first, a, bias_of(w13_bias, bias, e))
            act = rounded(gated(h[0::2], h[1::2], 1.702, 7.0))
            z = row_times(second, act, bias_of(w2_bias, bias, e))
            with np.errstate(all="ignore"):
                rows[t, j] = rounded(z * routing[t, j])
    y = np.zeros((x.shape[0], x.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for j in range(rows.shape[1]):
            y = y + rows[:, j]
    return mx.to_bf16(y)


if __name__ == "__main__":
    mx.main("numpy")
