# SPDX-License-Identifier: Apache-2.0
"""The operations of numpy_subject.py without any package, for small cases:

    mxoracle run --exec "python3 plain_subject.py"
"""
import math

import mxoracle as mx
from mxoracle import f32

import faults

E2M1 = mx.TABLES["e2m1"]


def bf16_to_float(bits):
    return mx.decode(bits, "bf16")


@mx.op("dequant.mx", arrays="tensor", rows=mx.size(most=64),
       cols=mx.size(most=256))
def dequant(q, scale, rows, cols):
    codes = mx.unpack_e2m1(q.view())
    if faults.planted("nibbles"):
        codes = [c for pair in zip(codes[1::2], codes[0::2]) for c in pair]
    factors, blocks = scale.values(), scale.shape[-1]
    return mx.to_bf16([E2M1[c] * factors[i // cols * blocks + i % cols // 32]
                       for i, c in enumerate(codes)])


def scale_byte(amax):
    """The exponent field less 2, at least 0; 255 beyond the numbers."""
    if amax != amax or math.isinf(amax):
        return 255
    return max(math.frexp(amax)[1] - 1 - 2 + 127, 0) if amax >= 2 ** -126 else 0


@mx.op("quant.mx", arrays="tensor", rows=mx.size(most=64),
       cols=mx.size(multiple=32, most=256))
def quantise(x):
    values, codes, scales = x.values(), [], []
    for at in range(0, len(values), 32):
        block = values[at:at + 32]
        nan = any(v != v for v in block)
        byte = 255 if nan else scale_byte(max(map(abs, block)))
        scales.append(byte)
        tie = "away" if faults.planted("ties") else "even"
        codes += [7] * 32 if byte == 255 else mx.encode(
            [math.ldexp(v, 127 - byte) for v in block], "e2m1", tie)
    return mx.pack_e2m1(codes), scales


def clamp(v, low, high, nan):
    return nan if v != v else min(max(v, low), high)


def quotient(a, b):
    """a / b in binary32; infinities and zeros as IEEE has them."""
    if b == 0:
        return math.copysign(math.inf, a) * math.copysign(1, b)
    return f32(a / b)


def gated(g, u, alpha, limit):
    if limit is not None and limit < math.inf:  # else no clamp
        nan_up = limit if faults.planted("nan") else -limit
        g, u = clamp(g, -math.inf, limit, limit), clamp(u, -limit, limit,
                                                        nan_up)
    t = f32(f32(alpha) * g)
    e = f32(math.exp(-t)) if -t < 200 else math.inf
    s = quotient(g, f32(1 + e)) if g == g else g
    if g == -math.inf:
        return math.nan
    return fma(s, u)


def fma(s, u):
    """s * u + s, rounded once; exact as a fraction."""
    if not (math.isfinite(s) and math.isfinite(u)) or s == 0:
        return s * u + s
    n, d = s.as_integer_ratio()
    m, c = u.as_integer_ratio()
    top, bottom = n * (m + c), d * c
    if top == 0:
        return 0.0
    return nearest(top, bottom)


def nearest(top, bottom):
    """top / bottom rounded once to binary32: to odd in binary64 first."""
    x = top / bottom
    a, b = x.as_integer_ratio()
    error = top * b - a * bottom
    if error != 0:
        toward = math.inf if error > 0 else -math.inf
        if math.frexp(x)[0] * 2 ** 53 % 2 == 0:
            x = nextafter(x, toward)
    return f32(x)


def nextafter(x, toward):
    """One step of binary64; Python has it from 3.9 on."""
    return math.nextafter(x, toward)


@mx.op("act.glu", arrays="tensor", dialect="triton", limit=...,
       alpha=mx.between(-8, 8), rows=mx.size(most=64), cols=mx.size(most=256))
def glu(x, alpha, limit):
    v = x.values()
    return mx.to_bf16([gated(v[i], v[i + 1], alpha, limit)
                       for i in range(0, len(v), 2)])


@mx.op("layout.apply", arrays="tensor", layout="flashinfer.128x4",
       rows=mx.size(most=300), cols=mx.size(most=16))
def tiles(x):
    experts, rows, cols = x.shape
    m, c = -(-rows // 128), -(-cols // 4)
    image = bytearray(experts * m * c * 512)
    source = x.view()
    for at in range(len(source)):
        e, r, k = at // cols // rows, at // cols % rows, at % cols
        to = ((e * m + r // 128) * c + k // 4) * 512 + k % 4
        inner = r % 128
        to += 4 * (inner if faults.planted("rows")
                   else inner % 32 * 4 + inner // 32)
        image[to] = source[at]
    return image, b"\1" * len(image)


def dot(codes, scale, a, bias):
    """A row of weights, each rounded to BF16, times a; sums in binary32."""
    total = 0.0
    for block in range(0, len(a), 32):
        byte = scale[block // 32]
        factor = math.inf if byte == 255 else 2.0 ** (byte - 127) if byte else 0
        for k in range(block, min(block + 32, len(a))):
            w = bf16_to_float(mx.to_bf16([E2M1[codes[k]] * factor]))[0]
            total = f32(total + f32(a[k] * w))
    return total if bias is None else f32(total + bias)


def rounded(x):
    return bf16_to_float(mx.to_bf16([x]))[0]


class Matrix:
    """Rows of one expert's weights."""

    def __init__(self, q, scale, bias, expert):
        self.rows, self.blocks = q.shape[1], scale.shape[2]
        half = q.shape[2]
        at = expert * self.rows
        self.codes = mx.unpack_e2m1(q.view()[at * half:(at + self.rows) * half])
        self.scale = scale.view()[at * self.blocks:]
        self.k = 2 * half
        self.bias = None if bias is None else bias.values()[at:at + self.rows]

    def times(self, a):
        return [dot(self.codes[r * self.k:(r + 1) * self.k],
                    self.scale[r * self.blocks:(r + 1) * self.blocks], a,
                    None if self.bias is None else self.bias[r])
                for r in range(self.rows)]


@mx.op("moe.layer", arrays="tensor", profile="TRITON",
       bias=["none", "bf16", "f32"], tokens=mx.size(most=3),
       topk=mx.size(most=2), hidden=mx.size(most=64), inter=mx.size(most=32))
def layer(x, topk_ids, topk_weights, w13, w13_scale, w13_bias, w2, w2_scale,
          w2_bias, hidden):
    values, ids, routing = x.values(), topk_ids.view(), topk_weights.view()
    slots, y = topk_ids.shape[1], []
    for t in range(x.shape[0]):
        a = values[t * hidden:(t + 1) * hidden]
        if faults.planted("tail") and hidden > 32:
            a[(hidden - 1) // 32 * 32:] = [0.0] * (hidden -
                                                   (hidden - 1) // 32 * 32)
        total = [0.0] * hidden
        for j in range(t * slots, (t + 1) * slots):
            if ids[j] < 0:
                continue
            h = Matrix(w13, w13_scale, w13_bias, ids[j]).times(a)
            act = [rounded(gated(h[i], h[i + 1], 1.702, 7.0))
                   for i in range(0, len(h), 2)]
            z = Matrix(w2, w2_scale, w2_bias, ids[j]).times(act)
            w = rounded(routing[j])
            total = [f32(s + rounded(f32(v * w))) for s, v in zip(total, z)]
        y += total
    return mx.to_bf16(y)


if __name__ == "__main__":
    mx.main("plain")
