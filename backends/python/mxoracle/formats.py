# SPDX-License-Identifier: Apache-2.0
"""Codes to numbers and back: E8M0, BF16, FP16, FP8, FP6, E2M1 and INT8.

Each function takes lists, bytes and memoryviews (and answers with lists),
numpy arrays (numpy arrays) or torch tensors (torch tensors).  Neither package
is needed, nor is ml_dtypes.  BF16 numbers in numpy are their bits, uint16.
"""
import ctypes
import math
import struct
import sys

_NAN = float("nan")


def _minifloat(exponent, mantissa, bias, infinities=False, fnuz=False,
               nan_top=False):
    """Values of all codes; sign on top."""
    bits = 1 + exponent + mantissa
    values = []
    for code in range(1 << bits):
        sign = -1.0 if code >> (bits - 1) else 1.0
        e = code >> mantissa & ((1 << exponent) - 1)
        m = code & ((1 << mantissa) - 1)
        top = e == (1 << exponent) - 1
        if fnuz and code == 1 << (bits - 1):
            values.append(_NAN)
        elif infinities and top:
            values.append(_NAN if m else sign * math.inf)
        elif nan_top and top and m == (1 << mantissa) - 1:
            values.append(_NAN)
        elif e == 0:
            values.append(sign * math.ldexp(m, 1 - bias - mantissa))
        else:
            values.append(sign * math.ldexp((1 << mantissa) + m,
                                            e - bias - mantissa))
    return values


TABLES = {
    "e2m1": _minifloat(2, 1, 1),
    "e2m3": _minifloat(2, 3, 1),
    "e3m2": _minifloat(3, 2, 3),
    "e4m3fn": _minifloat(4, 3, 7, nan_top=True),
    "e5m2": _minifloat(5, 2, 15, infinities=True),
    "e4m3fnuz": _minifloat(4, 3, 8, fnuz=True),
    "e5m2fnuz": _minifloat(5, 2, 16, fnuz=True),
    "int8": [(c - 256 if c > 127 else c) / 64 for c in range(256)],
    "e8m0": [math.ldexp(1.0, c - 127) for c in range(255)] + [_NAN],
}
TABLES["e4m3"] = TABLES["e4m3fn"]


def f32(x):
    """A Python float rounded to binary32, overflow to infinity."""
    return ctypes.c_float(x).value


def _module_of(x):
    for name in ("numpy", "torch"):
        module = sys.modules.get(name)
        kind = getattr(module, "ndarray" if name == "numpy" else "Tensor", None)
        if kind is not None and isinstance(x, kind):
            return name, module
    return None, None


def _float_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def _bits_float(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def decode(codes, format):
    """Codes of a format as numbers (float32); bf16 and f16 from their bits."""
    name, module = _module_of(codes)
    if format in ("bf16", "f16"):
        return _decode_half(codes, format, name, module)
    table = TABLES[format]
    if name == "numpy":
        return module.array(table, module.float32)[codes]
    if name == "torch":
        return module.tensor(table, device=codes.device)[
            codes.view(module.uint8).long()]
    return [table[c] for c in codes]


def _decode_half(bits, format, name, module):
    if name == "numpy" and format == "bf16":
        return (bits.view(module.uint16).astype(module.uint32) << 16).view(
            module.float32)
    if name == "numpy":
        return bits.view(module.float16).astype(module.float32)
    if name == "torch":
        kind = module.bfloat16 if format == "bf16" else module.float16
        return bits.view(kind).float()
    if format == "bf16":
        return [_bits_float(b << 16) for b in bits]
    return [struct.unpack("<e", struct.pack("<H", b))[0] for b in bits]


def to_bf16(x):
    """Numbers rounded once to BF16, to nearest even; its bits, NaN 7fc0.

    numpy float32 and float64 arrays give uint16 arrays, torch tensors bfloat16
    tensors, sequences of floats lists of integers.
    """
    name, module = _module_of(x)
    if name == "numpy":
        return _numpy_bf16(module, x)
    if name == "torch":
        return (_torch_odd(module, x) if x.dtype == module.float64
                else x.float()).to(module.bfloat16)
    return [_plain_bf16(v) for v in x]


def _plain_bf16(x):
    if x != x:
        return 0x7fc0
    near = f32(x)
    bits = _float_bits(near)
    if near != x and not math.isinf(near):
        # Round to odd first: one rounding in all.
        if abs(near) > abs(x):
            bits -= 1
        bits |= 1
    elif math.isinf(near) and not math.isinf(x):
        return 0xff80 if x < 0 else 0x7f80
    return bits + 0x7fff + (bits >> 16 & 1) >> 16


def _numpy_bf16(np, x):
    with np.errstate(all="ignore"):
        near = x.astype(np.float32)
        bits = np.ascontiguousarray(near).view(np.uint32).astype(np.uint64)
        if x.dtype == np.float64:
            off = (near != x) & np.isfinite(near)
            bits = np.where(off & (abs(near) > abs(x)), bits - np.uint64(1),
                            bits)
            bits = np.where(off, bits | np.uint64(1), bits)
        half = bits + np.uint64(0x7fff) + (bits >> np.uint64(16) & np.uint64(1))
        out = (half >> np.uint64(16)).astype(np.uint16)
    return np.where(np.isnan(near), np.uint16(0x7fc0), out)


def _torch_odd(torch, x):
    """binary64 to binary32 by rounding to odd."""
    near = x.float()
    bits = near.view(torch.int32)
    off = (near.double() != x) & torch.isfinite(near)
    bits = torch.where(off & (near.double().abs() > x.abs()), bits - 1, bits)
    return torch.where(off, bits | 1, bits).view(torch.float32)


def _ladder(format):
    """Non-negative finite values in order of their codes."""
    half = TABLES[format][:len(TABLES[format]) // 2]
    return [v for v in half if v == v and not math.isinf(v)]


def _tie_up(i, tie):
    """Does a tie between the codes i and i + 1 go to the greater one?"""
    return tie == "away" or (tie == "even" and i & 1 == 1)


def encode(x, format, tie="even"):
    """Numbers to codes, rounded once, too large ones to the largest finite.

    tie: even, away or zero.  NaN becomes the format's NaN, or its largest code
    where it has none.  A zero keeps its sign where the format has two.
    """
    if format == "bf16":
        return to_bf16(x)
    name, module = _module_of(x)
    if format not in TABLES or format in ("e8m0", "int8"):
        raise ValueError(f"there is no rounding to {format} here")
    ladder = _ladder(format)
    sign_bit = len(TABLES[format]) // 2
    nans = [c for c, v in enumerate(TABLES[format]) if v != v]
    nan = nans[0] if nans else len(ladder) - 1
    if name == "numpy":
        return _numpy_encode(module, x, ladder, tie, sign_bit, nan)
    if name == "torch":
        import numpy
        codes = _numpy_encode(numpy, x.detach().cpu().double().numpy(), ladder,
                              tie, sign_bit, nan)
        return module.from_numpy(codes).to(x.device)
    return [_plain_encode(v, ladder, tie, sign_bit, nan) for v in x]


def _plain_encode(x, ladder, tie, sign_bit, nan):
    if x != x:
        return nan
    size, code = abs(x), 0
    for i in range(len(ladder) - 1):
        middle = (ladder[i] + ladder[i + 1]) / 2
        if size > middle or (size == middle and _tie_up(i, tie)):
            code = i + 1
    negative = math.copysign(1.0, x) < 0
    return code | (sign_bit if negative and (code or sign_bit != 128 or
                                             nan != 128) else 0)


def _numpy_encode(np, x, ladder, tie, sign_bit, nan):
    values = np.array(ladder)
    middles = (values[:-1] + values[1:]) / 2
    size = np.abs(x.astype(np.float64))
    below = np.searchsorted(middles, size, side="left")
    at = np.minimum(below, len(middles) - 1)
    up = {"even": at & 1 == 1, "away": True, "zero": False}[tie]
    code = below + ((size == middles[at]) & (below < len(middles)) & up)
    negative = np.signbit(x) & ((code > 0) | (nan != 128))
    code = np.where(negative, code | sign_bit, code)
    return np.where(np.isnan(x), nan, code).astype(np.uint8)


def unpack_e2m1(packed):
    """Two codes per byte, even index in the low nibble: the last axis doubles."""
    name, module = _module_of(packed)
    if name == "numpy":
        both = module.stack([packed & 15, packed >> 4], -1)
        return both.reshape(*packed.shape[:-1], 2 * packed.shape[-1])
    if name == "torch":
        return module.stack([packed & 15, packed >> 4], -1).flatten(-2)
    return [c for b in packed for c in (b & 15, b >> 4)]


def pack_e2m1(codes):
    """The way back; the last axis is even."""
    name, _ = _module_of(codes)
    if name is not None:
        return codes[..., 0::2] | codes[..., 1::2] << 4
    return [codes[i] | codes[i + 1] << 4 for i in range(0, len(codes), 2)]
