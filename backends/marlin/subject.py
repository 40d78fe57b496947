# SPDX-License-Identifier: Apache-2.0
"""The Marlin MoE GEMM as vLLM ships it, judged by

    mxoracle run --exec "python3 backends/marlin/subject.py"

See README.md beside it.
"""
import importlib.metadata
import importlib.util
import os

import mxoracle as mx

E2M1_TYPE = 562949953487106  # vllm.scalar_type: scalar_types.float4_e2m1f.id


def load():
    """The version in words; the extension alone, not the engine."""
    import torch
    spec = importlib.util.find_spec("vllm")
    if spec is None:
        raise ImportError("there is no vllm")
    folder = list(spec.submodule_search_locations)[0]
    try:
        torch.ops.load_library(os.path.join(folder, "_moe_C.abi3.so"))
    except OSError as error:
        raise ImportError(str(error)) from None
    return f"of vLLM {importlib.metadata.version('vllm')}"


try:
    VERSION, MISSING = load(), None
except ImportError as error:
    VERSION, MISSING = "none", f"{error}: pip install vllm==0.22.1"


def block_of(tokens, topk, experts):
    """Rows of a block as vLLM chooses them."""
    sizes = (8, 16, 32, 48, 64)
    return next((s for s in sizes if tokens * topk / experts / s < 0.9), 64)


def sorted_pairs(ids, experts):
    """Pairs by expert in blocks; negative ids as an expert that lives
    elsewhere, by the map that expert parallelism has."""
    import torch
    block = block_of(*ids.shape, experts)
    n = ids.numel() + (experts + 1) * (block - 1)
    n = -(-n // block) * block
    whole = torch.arange(experts + 1, dtype=torch.int32, device=ids.device)
    whole = whole.masked_fill(whole == experts, -1)
    rows, owners, count = (torch.empty(k, dtype=torch.int32, device=ids.device)
                           for k in (n, n // block, 1))
    torch.ops._moe_C.moe_align_block_size(
        torch.where(ids < 0, experts, ids), experts + 1, block, rows, owners,
        count, whole)
    return block, (rows, owners, count)


def gemm(a, w, scale, bias, ids, weights, n, k, topk, weigh):
    """Rows of every pair [pairs, n], zero where no expert is."""
    import torch
    experts = scale.shape[0]
    block, pairs = sorted_pairs(ids, experts)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    room = torch.zeros(sms * 4, dtype=torch.int32, device=a.device)
    out = torch.zeros((ids.numel(), n), dtype=a.dtype, device=a.device)
    words = w.view(torch.uint8).view(experts, -1).view(torch.int32)
    return torch.ops._moe_C.moe_wna16_marlin_gemm(
        a, out, words.view(experts, k // 16, 2 * n),
        None if bias is None else bias.view(experts, -1),
        scale.view(experts, -1, n), None, None, None, None, None, room, *pairs,
        weights, block, topk, weigh, E2M1_TYPE, a.shape[0], n, k, True, False,
        True, False, -1, -1, -1)


@mx.op("moe.gemm1", arrays="torch", device="cuda", profile="MARLIN",
       kernel="moe_wna16_marlin_gemm", conversion="marlin", stage="gemm",
       bias=["none", "bf16"], rows=["interleaved", "halves"],
       hidden=mx.size(multiple=128, least=128),
       inter=mx.size(multiple=128, least=128), experts=mx.size(most=512),
       tokens=mx.size(least=1), topk=mx.size(least=1))
def first(x, topk_ids, w13, w13_scale, w13_bias, hidden, inter):
    import torch
    weights = torch.ones(topk_ids.shape, device=x.device)
    y = gemm(x, w13, w13_scale, w13_bias, topk_ids, weights, 2 * inter, hidden,
             topk_ids.shape[1], False)
    return y.view(*topk_ids.shape, 2 * inter)


@mx.op("moe.gemm2", arrays="torch", device="cuda", profile="MARLIN",
       kernel="moe_wna16_marlin_gemm", conversion="marlin",
       stage=["row", "sum"], bias=["none", "bf16"],
       hidden=mx.size(multiple=128, least=128),
       inter=mx.size(multiple=128, least=128), experts=mx.size(most=512),
       tokens=mx.size(least=1), topk=mx.size(least=1))
def second(act, topk_ids, topk_weights, w2, w2_scale, w2_bias, hidden, inter,
           stage):
    import torch
    rows = gemm(act.view(-1, inter), w2, w2_scale, w2_bias, topk_ids,
                topk_weights, hidden, inter, 1, True)
    rows = rows.view(*topk_ids.shape, hidden)
    if stage == "row":
        return rows
    y = torch.empty_like(rows[:, 0])
    torch.ops._moe_C.moe_sum(rows, y)
    return y


if __name__ == "__main__":
    mx.main("marlin", VERSION, MISSING)
