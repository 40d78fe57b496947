# SPDX-License-Identifier: Apache-2.0
"""triton_kernels as vLLM ships it, judged by

    mxoracle run --exec "python3 backends/triton_kernels/subject.py"

--limits=vllm declares what vLLM guarantees to it and the three known faults
spare: sizes that are multiples of 128 and no repeated expert.  See README.md.
"""
import ast
import functools
import importlib.metadata
import importlib.util
import os
import sys

import mxoracle as mx

FUSED_MOE = ("model_executor", "layers", "fused_moe")
ANY_TOPK = "_patch_legacy_routing_for_nonpow2_topk"
ROUTING_FILES = (FUSED_MOE + ("experts", "gpt_oss_triton_kernels_moe.py"),
                 FUSED_MOE + ("gpt_oss_triton_kernels_moe.py",))


def vllm_folder():
    spec = importlib.util.find_spec("vllm")
    return spec.submodule_search_locations[0] if spec else None


def load():
    """The version in words; ImportError if there is no package."""
    import torch  # noqa: F401
    import triton  # noqa: F401
    if importlib.util.find_spec("triton_kernels") is None and vllm_folder():
        sys.path.append(os.path.join(vllm_folder(), "third_party"))
        import triton_kernels  # noqa: F401
        return f"of vLLM {importlib.metadata.version('vllm')}"
    import triton_kernels  # noqa: F401
    return importlib.metadata.version("triton_kernels")


def routing_file():
    paths = [os.path.join(vllm_folder() or "", *p) for p in ROUTING_FILES]
    return next((p for p in paths if os.path.exists(p)), None)


def topk_taken():
    """Powers of two, unless this vLLM patches the routing for others."""
    path = routing_file()
    if path is not None:
        with open(path, encoding="utf-8") as f:
            if f"def {ANY_TOPK}(" in f.read():
                return mx.size(least=1, most=16)
    return [1, 2, 4, 8, 16]


@functools.cache
def routing_of_vllm():
    """make_routing_data of the installed vLLM, without importing an engine.

    The functions are compiled from the installed file under its own name
    and lines: Triton reads a kernel's source there."""
    import torch
    import triton
    import triton.language as tl
    from triton_kernels.tensor import Bitmatrix
    path = routing_file()
    if path is None:
        raise ImportError("there is no gpt_oss_triton_kernels_moe.py of vLLM")
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    wanted = ("pack_bitmatrix", "make_routing_data", ANY_TOPK)
    tree.body = [node for node in tree.body
                 if getattr(node, "name", None) in wanted]
    # Both of vLLM's words for the generation that it ships.
    room = {"torch": torch, "triton": triton, "tl": tl, "BIT": None,
            "Bitmatrix": Bitmatrix, "use_legacy_triton_kernels": True,
            "triton_kernels_version": "3.5.1",
            "__name__": "gpt_oss_triton_kernels_moe"}
    exec(compile(tree, path, "exec"), room)
    if ANY_TOPK in room:
        room[ANY_TOPK]()
    return room["make_routing_data"]


try:
    VERSION, MISSING = load(), None
except ImportError as error:
    VERSION, MISSING = "none", f"{error}: pip install vllm==0.22.1"

# Hopper's scale layout needs tiles of 256 columns: below 129 the kernel does
# not compile (a static assertion), which says so itself.
NARROW = {"hidden": mx.size(multiple=32, least=160),
          "inter": mx.size(multiple=32, least=96)}
if "--limits=vllm" in sys.argv[1:]:
    NARROW = {"hidden": mx.size(multiple=128, least=256),
              "inter": mx.size(multiple=128, least=128), "distinct_ids": True}


def prepared(q, scale):
    """A weight in the kernel's order, as vLLM's loader makes it."""
    from triton_kernels.tensor import FP4, convert_layout, wrap_torch_tensor
    from triton_kernels.tensor_details import layout
    import triton_kernels.matmul_ogs_details.opt_flags as opt_flags
    opt_flags.update_opt_flags_constraints({"split_k": 1})
    value, value_options = layout.make_default_matmul_mxfp4_w_layout(mx_axis=1)
    order, order_options = layout.make_default_matmul_mxfp4_w_scale_layout(
        mx_axis=1, num_warps=8)
    q = convert_layout(wrap_torch_tensor(q.transpose(-2, -1), dtype=FP4),
                       value, **value_options)
    scale = convert_layout(wrap_torch_tensor(scale.transpose(-2, -1)), order,
                           **order_options)
    return q, scale


def codes(scale):
    import torch
    return scale.view(torch.uint8)


def config(scale):
    from triton_kernels.matmul_ogs import FlexCtx, PrecisionConfig
    from triton_kernels.numerics import InFlexData
    return PrecisionConfig(weight_scale=scale,
                           flex_ctx=FlexCtx(rhs_data=InFlexData()))


def bring_weights(w13, w13_scale, w13_bias, w2, w2_scale, w2_bias):
    first, first_scale = prepared(w13, codes(w13_scale))
    second, second_scale = prepared(w2, codes(w2_scale))
    wide = [None if b is None else b.float() for b in (w13_bias, w2_bias)]
    return {"first": (first, wide[0], config(first_scale)),
            "second": (second, wide[1], config(second_scale))}


def swiglu_fused():
    from triton_kernels.matmul_ogs import FnSpecs, FusedActivation
    from triton_kernels.swiglu import swiglu_fn
    return FusedActivation(FnSpecs("swiglu", swiglu_fn, ("alpha", "limit")),
                           (1.702, 7.0), 2)


@mx.op("moe.layer", arrays="torch", device="cuda", prepare=bring_weights,
       kernel="matmul_ogs x2", profile="TRITON", bias=["none", "bf16", "f32"],
       glu_nan="launder", topk=topk_taken(), experts=mx.size(most=1024),
       **NARROW)
def layer(x, topk_ids, topk_weights, first, second):
    """The two calls of vLLM's triton_kernel_fused_experts."""
    import torch
    from triton_kernels.matmul_ogs import matmul_ogs
    tokens, slots = topk_ids.shape
    data, gather, scatter = routing_of_vllm()(topk_ids, topk_weights,
                                              first[0].shape[0])
    middle = torch.empty((1, tokens * slots, first[0].shape[-1] // 2),
                         dtype=x.dtype, device=x.device)
    y = torch.empty((1, *x.shape), dtype=x.dtype, device=x.device)
    matmul_ogs(x, *first[:2], data, gather_indx=gather,
               precision_config=first[2], fused_activation=swiglu_fused(),
               y=middle)
    matmul_ogs(middle.view(tokens * slots, -1), *second[:2], data,
               scatter_indx=scatter, precision_config=second[2],
               gammas=data.gate_scal, y=y)
    return y.view(*x.shape)


@mx.op("quant.mx", arrays="torch", device="cuda", kernel="_downcast_to_mxfp",
       element=["e2m1", "e4m3fn", "e5m2"], from_=["bf16", "f16", "f32"],
       rule=["triton35_kernel_up", "triton35_kernel_down"],
       cols=mx.size(multiple=2, least=2), rows=mx.size(least=1))
def quantise(x, element, rule):
    import torch
    from triton_kernels.numerics_details.mxfp import (
        DequantScaleRoundingMode as Mode, downcast_to_mxfp)
    kind = {"e2m1": torch.uint8, "e4m3fn": torch.float8_e4m3fn,
            "e5m2": torch.float8_e5m2}[element]
    mode = Mode.ROUND_UP if rule.endswith("up") else Mode.ROUND_DOWN
    return downcast_to_mxfp(x, kind, x.ndim - 1, mode)


@mx.op("dequant.mx", arrays="torch", device="cuda", kernel="_upcast_from_mxfp",
       element=["e2m1", "e4m3fn", "e5m2"], to=["bf16", "f16", "f32"],
       rule="triton35_kernel", rows=mx.size(least=1), cols=mx.size(least=2))
def dequantise(q, scale, to):
    import torch
    from triton_kernels.numerics_details.mxfp import upcast_from_mxfp
    kind = {"bf16": torch.bfloat16, "f16": torch.float16,
            "f32": torch.float32}[to]
    return upcast_from_mxfp(q, codes(scale), kind, q.ndim - 1)


@mx.op("route.topk", arrays="torch", device="cuda", kernel="_topk_forward",
       dialect="triton35_topk_softmax", from_="bf16", to="bf16",
       top_k=[1, 2, 4, 8], experts=mx.size(most=1024), tokens=mx.size(least=1))
def route(logits, top_k):
    from triton_kernels.topk import topk
    weights, ids, _ = topk(logits, top_k, apply_softmax=True)
    return ids.int(), weights


@mx.op("act.glu", arrays="torch", device="cuda", kernel="_swiglu",
       dialect="triton", from_="bf16", alpha=..., limit=...,
       nan="launder", rows=mx.size(least=1),
       cols=mx.size(least=1))
def swiglu(x, alpha, limit):
    from triton_kernels.swiglu import PrecisionConfig, swiglu as kernel
    return kernel(x, alpha, PrecisionConfig(limit=limit))


if __name__ == "__main__":
    mx.main("triton_kernels", VERSION, MISSING)
