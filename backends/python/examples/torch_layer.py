# SPDX-License-Identifier: Apache-2.0
"""A torch MoE layer, and the dozen lines that put it before the judge.

docs/judging-python.md walks through this file.  --fixed: with what the judge
found mended.
"""
import sys

import mxoracle as mx
import torch

E2M1 = torch.tensor(mx.TABLES["e2m1"])
FIXED = "--fixed" in sys.argv[1:]


def swiglu(h, alpha=1.702, limit=7.0):
    """gpt-oss' unit on interleaved gate and up columns."""
    gate, up = h[..., 0::2], h[..., 1::2]
    if FIXED:
        gate, up = gate.nan_to_num(limit, torch.inf, -torch.inf), up.nan_to_num(
            -limit, torch.inf, -torch.inf)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)


def moe(x, ids, weights, w13, b13, w2, b2):
    """Dense weights [E, N, K]; each token through its experts, in turn."""
    rows = torch.zeros((*ids.shape, x.shape[1]), dtype=torch.float32)
    y = torch.zeros(x.shape, dtype=torch.float32)
    for e in ids.unique():
        token, slot = (ids == e).nonzero(as_tuple=True)
        h = x[token].float() @ w13[e].float().T
        h = h if b13 is None else h + b13[e].float()
        a = swiglu(h).bfloat16()
        z = a.float() @ w2[e].float().T
        z = z if b2 is None else z + b2[e].float()
        z = (z * weights[token, slot, None].bfloat16().float()).bfloat16()
        rows[token, slot] = z.float()
        y.index_add_(0, token, z.float())
    if FIXED:  # by slot, not by expert
        y = torch.zeros_like(y)
        for j in range(ids.shape[1]):
            y = y + rows[:, j]
    return y.bfloat16()


# --- the judge's side ------------------------------------------------------

def dense(codes, scale):
    """MXFP4 as the checkpoint has it to BF16: [E, N, K/2] to [E, N, K]."""
    factor = mx.decode(scale, "e8m0")
    if FIXED:
        factor = (scale.view(torch.uint8).int() << 23).view(torch.float32)
    factor = factor.repeat_interleave(32, -1)
    values = E2M1[mx.unpack_e2m1(codes).long()]
    return (values * factor[..., :values.shape[-1]]).bfloat16()


@mx.op("moe.layer", arrays="torch", profile="TRITON", bias=["none", "bf16"],
       distinct_ids=True)
def layer(x, topk_ids, topk_weights, w13, w13_scale, w13_bias, w2, w2_scale,
          w2_bias):
    return moe(x, topk_ids, topk_weights, dense(w13, w13_scale), w13_bias,
               dense(w2, w2_scale), w2_bias)


if __name__ == "__main__":
    mx.main()
