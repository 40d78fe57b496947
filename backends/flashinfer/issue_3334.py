# SPDX-License-Identifier: Apache-2.0
"""What gpt-oss met in FlashInfer's issue 3334, in torch and without a device:

    mxoracle run --exec "python3 backends/flashinfer/issue_3334.py" CASE

A layer of profile FLASHINFER_CUTLASS_MXFP4_BF16 whose kernel reads weights as
FlashInfer 0.6.10 interleaves them, while they are the checkpoint's.
--interleaved: they were brought there first, and the layer is right.
"""
import sys

import mxoracle as mx
import torch

RIGHT = "--interleaved" in sys.argv[1:]
E2M1 = torch.tensor(mx.TABLES["e2m1"])


def read(w):
    """Bytes [E, N, K/2] as the kernel takes them: rows 8 apart share a byte."""
    seen = torch.zeros_like(w)
    for column in range(w.shape[2]):
        at, half = column % 32, column % 2
        source = column - at + at // 16 * 16 + at % 4 // 2 * 4 + at % 16 // 4
        for s in (0, 1):
            for row in range(8):
                shared = w[:, 8 * s + row::16, column]
                k = source + 8 * s
                seen[:, row::16, k] |= (shared & 15) << 4 * half
                seen[:, row + 8::16, k] |= shared >> 4 << 4 * half
    return seen


def dense(codes, scale):
    factor = (scale.view(torch.uint8).int() << 23).view(torch.float32)
    codes = codes if RIGHT else read(codes)
    return (E2M1[mx.unpack_e2m1(codes).long()] *
            factor.repeat_interleave(32, -1))


def up_then_gate(t):
    return torch.cat([t[:, 1::2], t[:, 0::2]], 1).contiguous()


def swiglu(h):
    up, gate = h.chunk(2)
    up, gate = up.clamp(-7, 7), gate.clamp(max=7)
    return (gate * torch.sigmoid(1.702 * gate) * (up + 1)).bfloat16().float()


@mx.op("moe.layer", arrays="torch", profile="FLASHINFER_CUTLASS_MXFP4_BF16",
       hidden=mx.size(multiple=128, least=128),
       inter=mx.size(multiple=128, least=128))
def layer(x, topk_ids, topk_weights, w13, w13_scale, w2, w2_scale):
    first = dense(up_then_gate(w13), up_then_gate(w13_scale.view(torch.uint8)))
    second = dense(w2, w2_scale)
    y = torch.zeros(x.shape)
    for token, slot in (topk_ids >= 0).nonzero().tolist():
        e = topk_ids[token, slot]
        h = (first[e] @ x[token].float()).bfloat16().float()
        row = (second[e] @ swiglu(h)).bfloat16().float()
        weight = topk_weights[token, slot].double()  # the product is exact
        y[token] = (weight * row.double() + y[token].double()).float()
    return y.bfloat16()


if __name__ == "__main__":
    mx.main()
