# SPDX-License-Identifier: Apache-2.0
"""MXFP4 to BF16 in torch without a table and without a product: the fields of
the BF16 number are put together from those of the code and the scale byte.

    mxoracle run --exec "python3 torch_bits.py" -o dequant.mx

--fault=underflow: numbers below BF16's normal ones become zero, as they do in a
kernel that only ever adds exponents.
"""
import sys

import mxoracle as mx
import torch

FAULT = "--fault=underflow" in sys.argv[1:]


def dequant_bits(packed, scale):
    """[..., K/2] bytes and [..., K/32] scale bytes to [..., K] in BF16."""
    code = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).int()
    byte = scale.int().repeat_interleave(32, -1)
    sign, exponent, odd = code >> 3, code >> 1 & 3, code & 1
    # 0.5 is 1.0 one binade lower, and has no fraction; 0 has no binade at all.
    half = (exponent == 0) & (odd == 1)
    field = byte + exponent - 1
    fraction = torch.where(half, 0, odd << 6)
    below = (1 - field).clamp(0, 15)
    small = torch.zeros_like(field) if FAULT else (fraction | 128) >> below
    bits = torch.where(field > 0, field << 7 | fraction, small)
    bits = torch.where(field > 254, 0x7F80, bits)
    bits = torch.where(code & 7 == 0, 0, bits) | sign << 15
    bits = torch.where(byte == 255, 0x7FC0, bits)
    return bits.to(torch.uint16).view(torch.bfloat16)


# --- the judge's side --------------------------------------------------------

@mx.op("dequant.mx", arrays="torch")
def dequant(q, scale):
    return dequant_bits(q, scale.view(torch.uint8))


if __name__ == "__main__":
    mx.main()
