# SPDX-License-Identifier: Apache-2.0
"""FlashInfer's MXFP4 layer for SM90 and its host functions, judged by

    mxoracle run --exec "python3 backends/flashinfer/subject.py"

--quantiser=torch|mxfp4|mxfp8   which function stands for quant.mx
--weights=raw                   rows as FlashInfer took them before 0.6.10
--tune                          the layer's tiles by FlashInfer's tuner

Without a CUDA device only what runs on the host is offered.  See README.md.
"""
import contextlib
import functools
import sys

import mxoracle as mx

try:
    import torch
    import flashinfer
    from flashinfer import fused_moe
    from flashinfer.fused_moe import core
    from flashinfer.quantization import fp4_quantization as fp4
    CUDA = torch.cuda.is_available()
    VERSION = flashinfer.__version__ + ("" if CUDA else ", host functions only")
    MISSING = None
except ImportError as error:
    CUDA, VERSION, fp4 = False, "0", None
    MISSING = f"{error}: pip install flashinfer-python"

NUMBERS = tuple(int("".join(c for c in part if c.isdigit()) or 0)
                for part in VERSION.split(",")[0].split(".")[:3])
SCALES = ("cutlass.sm90_scales_rev2" if NUMBERS >= (0, 6, 16)
          else "cutlass.sm90_scales_rev1")
PREPARE = None if MISSING else getattr(fused_moe, "prepare", None)
WORDS = dict(a[2:].split("=", 1) for a in sys.argv[1:]
             if a.startswith("--") and "=" in a)


def offer(present, *words, **declared):
    """mx.op, where this version has the function and this machine its device."""
    return mx.op(*words, **declared) if present else lambda function: function


def has(module, name):
    return MISSING is not None or hasattr(module, name)


# --- layouts -----------------------------------------------------------------

def shuffled(x, tile):
    return flashinfer.shuffle_matrix_a(x, tile)


def gated(x, tile):
    """Rows [up; gate] in turn, then dealt out; a cache of its own."""
    return x[core._maybe_get_cached_w3_w1_permute_indices({}, x, tile)]


def each(function, *more):
    return lambda x: torch.stack([function(e, *more) for e in x])


def layouts():
    if MISSING:
        return {SCALES: None}
    found = {
        SCALES: fused_moe.interleave_moe_scales_for_sm90_mixed_gemm,
        "trtllm.reorder_rows_for_gated_act_gemm":
            each(fused_moe.reorder_rows_for_gated_act_gemm),
        "trtllm.shuffle_matrix_a": each(shuffled, 128),
        "trtllm.shuffle_matrix_a/epilogue_tile_m=64": each(shuffled, 64),
        "trtllm.w3_w1": each(gated, 128),
        "trtllm.w3_w1/epilogue_tile_m=64": each(gated, 64)}
    if CUDA:
        found["flashinfer.128x4"] = lambda x: flashinfer.block_scale_interleave(
            x.cuda()).cpu()
        found["trtllm.shuffle_matrix_sf_a"] = each(
            lambda x: flashinfer.shuffle_matrix_sf_a(x.cuda(), 128).cpu())
    return found


LAYOUTS = layouts()


@mx.op("layout.apply", arrays="torch", kernel="flashinfer",
       layout=list(LAYOUTS), dtype=["u8", "bf16"] if NUMBERS >= (0, 6, 16)
       else "u8",
       experts=mx.size(least=1), rows=mx.size(least=1), cols=mx.size(least=1))
def arrange(x, layout, call):
    try:
        y = LAYOUTS[layout](x)
    except (AssertionError, ValueError) as error:  # its checks of the shape
        raise mx.Shape(str(error)) from None
    y = y.reshape(call.outputs["y"].shape)
    return y, torch.ones(y.shape, dtype=torch.uint8)


# --- numbers -----------------------------------------------------------------

@offer(has(PREPARE, "_humming_mxfp4_w4a8_rewrite_lut_cpu"),
       "quant.requant_table", arrays="torch",
       kernel="_humming_mxfp4_w4a8_rewrite_lut_cpu")
def rewritten(code, offset):
    """The table by which FP4 codes take up what their scale byte lost."""
    table = PREPARE._humming_mxfp4_w4a8_rewrite_lut_cpu()
    return table[offset.long()[:, None], code.long()[None, :]]


@offer(has(fp4, "_e2m1_and_ufp8sf_scale_to_float_cpu"),
       "dequant.mx", arrays="torch", to="f32", zero="positive", rule="ldexp",
       kernel="_e2m1_and_ufp8sf_scale_to_float_cpu",
       rows=mx.size(least=1), cols=mx.size(multiple=32, least=32))
def dequantise(q, scale):
    """What e2m1_and_ufp8sf_scale_to_float does on devices before SM90."""
    return fp4._e2m1_and_ufp8sf_scale_to_float_cpu(
        q, scale.view(torch.uint8), None, 32, 0, False)


QUANTISER = WORDS.get("quantiser", "torch")
DECLARED = {
    "torch": {"element": "e2m1", "rule": "rceil_div", "tie": "rnz",
              "from_": ["bf16", "f16", "f32"], "device": None,
              "kernel": "_quantize_mxfp4_linear"},
    "mxfp4": {"element": "e2m1", "rule": "flashinfer",
              "from_": ["bf16", "f16"], "device": "cuda",
              "kernel": "fp4_quantize"},
    "mxfp8": {"element": "e4m3fn", "rule": "flashinfer",
              "from_": ["bf16", "f16"], "device": "cuda",
              "kernel": "mxfp8_quantize"}}
if QUANTISER not in DECLARED:
    sys.exit(f"there is no --quantiser={QUANTISER}: {' '.join(DECLARED)}")


@offer(QUANTISER != "torch" or has(PREPARE, "_quantize_mxfp4_linear"),
       "quant.mx", arrays="torch", rows=mx.size(least=1),
       cols=mx.size(multiple=32, least=32), **DECLARED[QUANTISER])
def quantise(x):
    if QUANTISER == "torch":
        return PREPARE._quantize_mxfp4_linear(x)
    if QUANTISER == "mxfp4":
        q, scale = flashinfer.fp4_quantize(x, None, 32, True, False)
    else:
        q, scale = flashinfer.mxfp8_quantize(x, False)
    return q, scale.view(torch.uint8).view(x.shape[0], -1)


# --- the layer ---------------------------------------------------------------

def up_then_gate(t, rows):
    """[up; gate], from gate and up in turn or from [gate; up]."""
    if t is None:
        return None
    if rows == "interleaved":
        return torch.cat([t[:, 1::2], t[:, 0::2]], 1).contiguous()
    half = t.shape[1] // 2
    return torch.cat([t[:, half:], t[:, :half]], 1).contiguous()


def in_order(q, scale):
    """A weight and its scales as the kernel of this version reads them."""
    if WORDS.get("weights") != "raw":
        q = fused_moe.interleave_moe_weights_for_sm90_mixed_gemm(q, "fp4")
    scale = fused_moe.interleave_moe_scales_for_sm90_mixed_gemm(
        scale.view(torch.uint8))
    return q, scale.view(torch.int32)


def bring_weights(w13, w13_scale, w13_bias, w2, w2_scale, w2_bias, rows):
    first = in_order(up_then_gate(w13, rows), up_then_gate(
        w13_scale.view(torch.uint8), rows))
    second = in_order(w2.contiguous(), w2_scale)
    return {"first": (*first, up_then_gate(w13_bias, rows)),
            "second": (*second, w2_bias)}


@functools.cache
def for_each(experts, value):
    return None if value is None else torch.full(
        (experts,), value, dtype=torch.float32, device="cuda")


def tuned():
    """As vLLM warms up with --tune; else the tiles that FlashInfer falls to."""
    return (flashinfer.autotune(True) if "--tune" in sys.argv[1:]
            else contextlib.nullcontext())


@offer(CUDA, "moe.layer", arrays="torch", device="cuda", prepare=bring_weights,
       kernel="cutlass_fused_moe", profile="FLASHINFER_CUTLASS_MXFP4_BF16",
       bias=["none", "bf16"], rows=["interleaved", "halves"], alpha=...,
       beta=..., limit=..., tokens=mx.size(least=1), topk=mx.size(least=1),
       hidden=mx.size(multiple=128, least=128),
       inter=mx.size(multiple=128, least=128), distinct_ids=True)
def layer(x, topk_ids, topk_weights, first, second, experts, alpha, beta,
          limit):
    """The call of vLLM's FlashInferExperts, BF16 activations."""
    units = [for_each(experts, v) for v in (alpha, beta, limit)]
    y = torch.empty_like(x)
    with tuned():
        fused_moe.cutlass_fused_moe(
            x, topk_ids, topk_weights, first[0], second[0], torch.bfloat16,
            [first[1], second[1]], fc1_expert_biases=first[2],
            fc2_expert_biases=second[2], swiglu_alpha=units[0],
            swiglu_beta=units[1], swiglu_limit=units[2], output=y,
            use_w4_group_scaling=True)
    return y


if __name__ == "__main__":
    mx.main("flashinfer", VERSION, MISSING)
