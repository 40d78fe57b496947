# SPDX-License-Identifier: Apache-2.0
# Golden vectors, installed under $(pkgdatadir)/vectors.  A new file is one
# more line in the list of its system.
vectors_aiterdir = $(pkgdatadir)/vectors/aiter
dist_vectors_aiter_DATA = \
	%reldir%/aiter/aiter.dynamic_mxfp4_quant__16x256.safetensors \
	%reldir%/aiter/aiter.dynamic_mxfp4_quant__3x64.safetensors \
	%reldir%/aiter/aiter.dynamic_mxfp4_quant__edge_7x64.safetensors \
	%reldir%/aiter/aiter.e8m0_to_f32__all256.safetensors \
	%reldir%/aiter/aiter.f32_to_mx_e8m0_scale__n2022.safetensors \
	%reldir%/aiter/aiter.f32_to_mxfp4__n4088.safetensors \
	%reldir%/aiter/aiter.mxfp4_to_f32__all256.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__ceil_16x256.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__ceil_3x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__edge_ceil_9x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__edge_even_9x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__edge_rounddown_9x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__edge_roundup_9x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__even_16x256.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__even_3x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__rounddown_16x256.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__rounddown_3x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__roundup_16x256.safetensors \
	%reldir%/aiter/aiter.per_1x32_f4_quant__roundup_3x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_mxfp8_quant__fn_16x256.safetensors \
	%reldir%/aiter/aiter.per_1x32_mxfp8_quant__fn_3x64.safetensors \
	%reldir%/aiter/aiter.per_1x32_mxfp8_quant__fnuz_16x256.safetensors \
	%reldir%/aiter/aiter.per_1x32_mxfp8_quant__fnuz_3x64.safetensors \
	%reldir%/aiter/aiter.per_tensor_quant__fn_16x256.safetensors \
	%reldir%/aiter/aiter.per_tensor_quant__fn_3x64.safetensors \
	%reldir%/aiter/aiter.per_tensor_quant__fnuz_16x256.safetensors \
	%reldir%/aiter/aiter.per_tensor_quant__fnuz_3x64.safetensors \
	%reldir%/aiter/aiter.pertoken_quant__fn_16x256.safetensors \
	%reldir%/aiter/aiter.pertoken_quant__fn_3x64.safetensors \
	%reldir%/aiter/aiter.pertoken_quant__fnuz_16x256.safetensors \
	%reldir%/aiter/aiter.pertoken_quant__fnuz_3x64.safetensors \
	%reldir%/aiter/aiter.quant_mxfp4_fused__a16w4_32x256.safetensors \
	%reldir%/aiter/aiter.quant_mxfp4_fused__a16w4_w_gu_32x256.safetensors \
	%reldir%/aiter/aiter.quant_mxfp4_fused__e8m0_w_48x128.safetensors \
	%reldir%/aiter/aiter.swiglu__lim10.0_n524.safetensors \
	%reldir%/aiter/aiter.swiglu__lim7.0_n524.safetensors \
	%reldir%/aiter/aiter.swiglu__limNone_n524.safetensors \
	%reldir%/aiter/aiter.triton.swiglu__a1.0_l10.0_r0_n524.safetensors \
	%reldir%/aiter/aiter.triton.swiglu__a1.0_lNone_r0_n524.safetensors \
	%reldir%/aiter/aiter.triton.swiglu__a1.702_l7.0_r1_n524.safetensors

vectors_deepgemmdir = $(pkgdatadir)/vectors/deepgemm
dist_vectors_deepgemm_DATA = \
	%reldir%/deepgemm/deepgemm.ceil_to_ue8m0__n1024.safetensors \
	%reldir%/deepgemm/deepgemm.mega_l1_epilogue__clamp10.0_6x128.safetensors \
	%reldir%/deepgemm/deepgemm.mega_l1_epilogue__clampNone_6x128.safetensors \
	%reldir%/deepgemm/deepgemm.per_block_cast_to_fp8__g128_ue0_130x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_block_cast_to_fp8__g128_ue1_130x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_block_cast_to_fp8__g32_ue0_64x40.safetensors \
	%reldir%/deepgemm/deepgemm.per_block_cast_to_fp8__g32_ue1_64x40.safetensors \
	%reldir%/deepgemm/deepgemm.per_channel_cast_to_fp8__g128_256x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_channel_cast_to_fp8__g32_64x40.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g128_ue0_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g128_ue0_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g128_ue0_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g128_ue1_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g128_ue1_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g128_ue1_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g32_ue0_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g32_ue0_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g32_ue0_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g32_ue1_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g32_ue1_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__g32_ue1_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp4__packed_4x160.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g128_ue0_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g128_ue0_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g128_ue0_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g128_ue1_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g128_ue1_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g128_ue1_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g32_ue0_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g32_ue0_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g32_ue0_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g32_ue1_3x200.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g32_ue1_4x256.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__g32_ue1_7x130.safetensors \
	%reldir%/deepgemm/deepgemm.per_token_cast_to_fp8__packed_5x512.safetensors \
	%reldir%/deepgemm/deepgemm.vllm_group128_fp8__5x384.safetensors \
	%reldir%/deepgemm/deepgemm.vllm_silu_mul_fp8_packed__clamp7.0_5x256.safetensors \
	%reldir%/deepgemm/deepgemm.vllm_silu_mul_fp8_packed__clampNone_5x256.safetensors \
	%reldir%/deepgemm/deepgemm.vllm_upcast_e8m0__all256.safetensors

vectors_flashinferdir = $(pkgdatadir)/vectors/flashinfer
dist_vectors_flashinfer_DATA = \
	%reldir%/flashinfer/flashinfer.mxfp4_quantize__130x160_bf16_v32_l0_None.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp4_quantize__1x32_bf16_v32_l2_None.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp4_quantize__6x64_e4m3_v32_l2_None.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp4_quantize__9x96_f16_v32_l1_None.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp4_quantize__special_bf16_v32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp4_quantize__special_f16_v32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__130x160_bf16_l0_a32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__1x32_bf16_l2_a32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__33x288_f16_l0_a32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__5x64_bf16_l2_a32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__6x160_bf16_l0_a256.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__6x160_bf16_l2_a256.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__7x96_f16_l2_a32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__9x96_bf16_l1_a32.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__special_bf16.safetensors \
	%reldir%/flashinfer/flashinfer.mxfp8_quantize__special_f16.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__12x128_bf16_v16_l2_row.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__12x128_bf16_v16_l2_row_exact.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__130x96_bf16_v16_l0_amax.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__130x96_bf16_v16_l0_amax_exact.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__1x32_bf16_v16_l2_amax.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__1x32_bf16_v16_l2_amax_exact.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__5x64_bf16_v16_l2_1.0.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__5x64_bf16_v16_l2_1.0_exact.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__7x64_e4m3_v16_l2_amax8.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__9x80_f16_v16_l1_amax.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__9x80_f16_v16_l1_amax_exact.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__special_bf16_v16.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__special_bf16_v16_exact.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__special_f16_v16.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__special_f16_v16_exact.safetensors \
	%reldir%/flashinfer/flashinfer.nvfp4_quantize__ties_gs2.safetensors \
	%reldir%/flashinfer/trtllm.gated_silu_bf16__4x2_64_limit_only.safetensors \
	%reldir%/flashinfer/trtllm.gated_silu_bf16__4x3_128_per_expert.safetensors \
	%reldir%/flashinfer/trtllm.gated_silu_bf16__5x2_64_gptoss.safetensors \
	%reldir%/flashinfer/trtllm.gated_silu_bf16__5x2_64_none.safetensors

vectors_hopperdir = $(pkgdatadir)/vectors/hopper
dist_vectors_hopper_DATA = \
	%reldir%/hopper/hopper.cvt_e4m3__n4034.safetensors \
	%reldir%/hopper/hopper.cvt_e5m2__n4010.safetensors \
	%reldir%/hopper/hopper.cvt_f16_fp8__n4096.safetensors \
	%reldir%/hopper/hopper.cvt_fp8_f16__all.safetensors \
	%reldir%/hopper/hopper.ex2_approx__sample_n4096.safetensors \
	%reldir%/hopper/hopper.ex2_approx_ftz__gridneg_n8192.safetensors \
	%reldir%/hopper/hopper.ex2_approx_ftz__gridpos_n8192.safetensors \
	%reldir%/hopper/hopper.ex2_approx_ftz__sample_n4096.safetensors \
	%reldir%/hopper/hopper.ex2_approx_ftz__worst_n1024.safetensors \
	%reldir%/hopper/hopper.expf_cuda13__sample_n4096.safetensors \
	%reldir%/hopper/hopper.expf_fast__sample_n4096.safetensors \
	%reldir%/hopper/hopper.mma_sync_bf16__k16_n560.safetensors \
	%reldir%/hopper/hopper.mma_sync_e4m3__k32_n1760.safetensors \
	%reldir%/hopper/hopper.mma_sync_e5m2__k32_n1760.safetensors \
	%reldir%/hopper/hopper.mma_sync_f16__k16_n560.safetensors \
	%reldir%/hopper/hopper.mma_sync_tf32__k8_n560.safetensors \
	%reldir%/hopper/hopper.rcp_approx__sample_n4096.safetensors \
	%reldir%/hopper/hopper.rcp_approx_ftz__grid_n16384.safetensors \
	%reldir%/hopper/hopper.rcp_approx_ftz__sample_n4096.safetensors \
	%reldir%/hopper/hopper.rcp_approx_ftz__worst_n1024.safetensors \
	%reldir%/hopper/hopper.tanh_approx__sample_n4096.safetensors \
	%reldir%/hopper/hopper.wgmma_bf16__k16_n1760.safetensors \
	%reldir%/hopper/hopper.wgmma_chain_bf16__k4096_cr.safetensors \
	%reldir%/hopper/hopper.wgmma_chain_e4m3__k4096_cr.safetensors \
	%reldir%/hopper/hopper.wgmma_chain_e5m2__k4096_cr.safetensors \
	%reldir%/hopper/hopper.wgmma_chain_f16__k4096_cr.safetensors \
	%reldir%/hopper/hopper.wgmma_chain_tf32__k4096_cr.safetensors \
	%reldir%/hopper/hopper.wgmma_e4m3__k32_n1760.safetensors \
	%reldir%/hopper/hopper.wgmma_e5m2__k32_n1760.safetensors \
	%reldir%/hopper/hopper.wgmma_f16__k16_n1760.safetensors \
	%reldir%/hopper/hopper.wgmma_tf32__k8_n1760.safetensors

vectors_numericsdir = $(pkgdatadir)/vectors/numerics
dist_vectors_numerics_DATA = \
	%reldir%/numerics/numerics.convert__f32_n8488.safetensors \
	%reldir%/numerics/numerics.decode__e2m1.safetensors \
	%reldir%/numerics/numerics.decode__e2m3.safetensors \
	%reldir%/numerics/numerics.decode__e3m2.safetensors \
	%reldir%/numerics/numerics.decode__e4m3fn.safetensors \
	%reldir%/numerics/numerics.decode__e4m3fnuz.safetensors \
	%reldir%/numerics/numerics.decode__e5m2.safetensors \
	%reldir%/numerics/numerics.decode__e5m2fnuz.safetensors \
	%reldir%/numerics/numerics.decode__e8m0.safetensors \
	%reldir%/numerics/numerics.decode__int8.safetensors \
	%reldir%/numerics/numerics.dequant.mxfp4__all.safetensors \
	%reldir%/numerics/numerics.dot__bf16_cancel_n4_k512.safetensors \
	%reldir%/numerics/numerics.dot__bf16_full_n4_k64.safetensors \
	%reldir%/numerics/numerics.dot__bf16_typical_n6_k2880.safetensors \
	%reldir%/numerics/numerics.dot__bf16_wide_n4_k96.safetensors \
	%reldir%/numerics/numerics.dot__mxfp4_full_n4_k32.safetensors \
	%reldir%/numerics/numerics.dot__mxfp4_typical_n4_k1536.safetensors \
	%reldir%/numerics/numerics.dot__mxfp8_full_n4_k160.safetensors \
	%reldir%/numerics/numerics.dot__mxfp8_typical_n4_k2880.safetensors \
	%reldir%/numerics/numerics.encode__e2m1_n739.safetensors \
	%reldir%/numerics/numerics.encode__e2m3_n1219.safetensors \
	%reldir%/numerics/numerics.encode__e3m2_n1219.safetensors \
	%reldir%/numerics/numerics.encode__e4m3fn_n3119.safetensors \
	%reldir%/numerics/numerics.encode__e4m3fnuz_n3139.safetensors \
	%reldir%/numerics/numerics.encode__e5m2_n3059.safetensors \
	%reldir%/numerics/numerics.encode__e5m2fnuz_n3139.safetensors \
	%reldir%/numerics/numerics.encode__e8m0_n1568.safetensors \
	%reldir%/numerics/numerics.mma_step__ampere_bf16_half_n64.safetensors \
	%reldir%/numerics/numerics.mma_step__blackwell_e4m3_n64.safetensors \
	%reldir%/numerics/numerics.mma_step__cdna3_bf16_n64.safetensors \
	%reldir%/numerics/numerics.mma_step__cdna3_f16_n64.safetensors \
	%reldir%/numerics/numerics.mma_step__hopper_bf16_n64.safetensors \
	%reldir%/numerics/numerics.mma_step__hopper_e4m3_n64.safetensors \
	%reldir%/numerics/numerics.mma_step__hopper_e5m2_n64.safetensors \
	%reldir%/numerics/numerics.mma_step__hopper_f16_n64.safetensors \
	%reldir%/numerics/numerics.mxquant__e2m1_b64.safetensors \
	%reldir%/numerics/numerics.mxquant__e2m3_b64.safetensors \
	%reldir%/numerics/numerics.mxquant__e3m2_b64.safetensors \
	%reldir%/numerics/numerics.mxquant__e4m3fn_b64.safetensors \
	%reldir%/numerics/numerics.mxquant__e5m2_b64.safetensors \
	%reldir%/numerics/numerics.scale__e2m1_n1085.safetensors \
	%reldir%/numerics/numerics.scale__e2m3_n1085.safetensors \
	%reldir%/numerics/numerics.scale__e3m2_n1085.safetensors \
	%reldir%/numerics/numerics.scale__e4m3fn_n1085.safetensors \
	%reldir%/numerics/numerics.scale__e4m3fnuz_n1085.safetensors \
	%reldir%/numerics/numerics.scale__e5m2_n1085.safetensors \
	%reldir%/numerics/numerics.scale__int8_n1001.safetensors \
	%reldir%/numerics/numerics.sigmoid_silu__n2866.safetensors \
	%reldir%/numerics/numerics.swiglu__p0_n852.safetensors \
	%reldir%/numerics/numerics.swiglu__p1_n852.safetensors \
	%reldir%/numerics/numerics.swiglu__p2_n852.safetensors \
	%reldir%/numerics/numerics.swiglu__p3_n852.safetensors

vectors_regressdir = $(pkgdatadir)/vectors/regress
dist_vectors_regress_DATA = \
	%reldir%/regress/quant.mx__odd_columns_padded.safetensors

vectors_tritondir = $(pkgdatadir)/vectors/triton
dist_vectors_triton_DATA = \
	%reldir%/triton/triton.mx.dequant_matmul_bf16__all16x256.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_down_bf16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_down_bf16_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_down_f16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_down_f32_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_down_f32_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_down_f32_short_e2m1_4x2.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_down_f32_tail_e2m1_6x50.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_bf16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_bf16_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_f16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_f32_axis-2_e2m1_2x64x5.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_f32_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_f32_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_f32_short_e2m1_4x2.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.5_up_f32_tail_e2m1_6x50.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_down_bf16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_down_bf16_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_down_f16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_down_f32_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_down_f32_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_down_f32_short_e2m1_4x2.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_down_f32_tail_e2m1_6x50.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_bf16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_bf16_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_f16_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_f32_axis-2_e2m1_2x64x5.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_f32_e2m1_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_f32_e4m3_42x64.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_f32_short_e2m1_4x2.safetensors \
	%reldir%/triton/triton.mx.downcast_torch__tk3.6_up_f32_tail_e2m1_6x50.safetensors \
	%reldir%/triton/triton.mx.downcast_torch_nonfinite__tk3.5_up_f32_e2m1_8x32.safetensors \
	%reldir%/triton/triton.mx.downcast_torch_nonfinite__tk3.6_up_f32_e2m1_8x32.safetensors \
	%reldir%/triton/triton.mx.upcast_kernel__tk3.5_all16x256.safetensors \
	%reldir%/triton/triton.mx.upcast_kernel__tk3.6_all16x256.safetensors \
	%reldir%/triton/triton.mx.upcast_torch__tk3.5_all16x256.safetensors \
	%reldir%/triton/triton.mx.upcast_torch__tk3.6_all16x256.safetensors \
	%reldir%/triton/triton.swiglu_kernel_special__alpha0.5_limit0.01_4x32.safetensors \
	%reldir%/triton/triton.swiglu_kernel_special__alpha1.0_limit1.2_3x64.safetensors \
	%reldir%/triton/triton.swiglu_kernel_special__alpha1.702_limit7.0_6x128.safetensors \
	%reldir%/triton/triton.swiglu_torch__bf16_alpha0.5_limit0.01_4x32.safetensors \
	%reldir%/triton/triton.swiglu_torch__bf16_alpha1.0_limit1.2_3x64.safetensors \
	%reldir%/triton/triton.swiglu_torch__bf16_alpha1.702_limit7.0_6x128.safetensors \
	%reldir%/triton/triton.swiglu_torch__bf16_alpha1.702_limitNone_4x64.safetensors \
	%reldir%/triton/triton.swiglu_torch__f32_alpha0.5_limit0.01_4x32.safetensors \
	%reldir%/triton/triton.swiglu_torch__f32_alpha1.0_limit1.2_3x64.safetensors \
	%reldir%/triton/triton.swiglu_torch__f32_alpha1.702_limit7.0_6x128.safetensors \
	%reldir%/triton/triton.swiglu_torch__f32_alpha1.702_limitNone_4x64.safetensors

vectors_vllmdir = $(pkgdatadir)/vectors/vllm
dist_vectors_vllm_DATA = \
	%reldir%/vllm/cpu.amx_brgemm__m7_k160.safetensors \
	%reldir%/vllm/cpu.amx_brgemm__m7_k32.safetensors \
	%reldir%/vllm/cpu.amx_brgemm__m7_k64.safetensors \
	%reldir%/vllm/cpu.amx_brgemm__m7_k96.safetensors \
	%reldir%/vllm/cpu.clamp_sigmoid_and_mul__n4096_a1.0_l10.0.safetensors \
	%reldir%/vllm/cpu.clamp_sigmoid_and_mul__n4096_a1.702_l7.0.safetensors \
	%reldir%/vllm/cpu.dequant_table__all256x16.safetensors \
	%reldir%/vllm/cpu.exp_u20__n4096.safetensors \
	%reldir%/vllm/cpu.silu_and_mul__n4096.safetensors \
	%reldir%/vllm/humming.process_mxfp4_table__all.safetensors \
	%reldir%/vllm/humming.process_mxfp4_w4a8_weight__n64_g4.safetensors \
	%reldir%/vllm/marlin.moe_gemm_identity__k128_n128_s252.safetensors \
	%reldir%/vllm/marlin.moe_gemm_identity__k64_n128_s255.safetensors \
	%reldir%/vllm/torch.e8m0_from_bf16__step16.safetensors \
	%reldir%/vllm/torch.e8m0_upcast__all256.safetensors \
	%reldir%/vllm/vllm.dequant_mxfp4__table_bf16.safetensors \
	%reldir%/vllm/vllm.dequant_mxfp4__table_f16.safetensors \
	%reldir%/vllm/vllm.dequant_mxfp4__table_triton_bf16.safetensors \
	%reldir%/vllm/vllm.dequant_mxfp4__table_triton_f16.safetensors \
	%reldir%/vllm/vllm.dequant_mxfp8_to_bf16__3x64.safetensors \
	%reldir%/vllm/vllm.dequant_mxfp8_to_bf16__5x160.safetensors \
	%reldir%/vllm/vllm.mxfp8_e4m3_quantize_torch__3x64_linear.safetensors \
	%reldir%/vllm/vllm.mxfp8_e4m3_quantize_torch__3x64_swizzled.safetensors \
	%reldir%/vllm/vllm.mxfp8_e4m3_quantize_torch__5x160_linear.safetensors \
	%reldir%/vllm/vllm.mxfp8_e4m3_quantize_torch__5x160_swizzled.safetensors \
	%reldir%/vllm/vllm.quant_dequant_mxfp4__bf16_64.safetensors \
	%reldir%/vllm/vllm.quant_dequant_mxfp4__f16_64.safetensors \
	%reldir%/vllm/vllm.quant_dequant_mxfp4__nonfinite_bf16.safetensors \
	%reldir%/vllm/vllm.quant_dequant_mxfp4__nonfinite_f16.safetensors \
	%reldir%/vllm/vllm.quant_dequant_mxfp4__triton_bf16_64.safetensors \
	%reldir%/vllm/vllm.quant_dequant_mxfp4__triton_f16_64.safetensors \
	%reldir%/vllm/vllm.silu_and_mul__bf16_2x33.safetensors \
	%reldir%/vllm/vllm.silu_and_mul__bf16_4x48.safetensors \
	%reldir%/vllm/vllm.silu_and_mul__bf16_sweep4096.safetensors \
	%reldir%/vllm/vllm.silu_and_mul__f16_2x33.safetensors \
	%reldir%/vllm/vllm.silu_and_mul__f16_4x48.safetensors \
	%reldir%/vllm/vllm.silu_and_mul__f32_2x33.safetensors \
	%reldir%/vllm/vllm.silu_and_mul__f32_4x48.safetensors \
	%reldir%/vllm/vllm.silu_and_mul_with_clamp__bf16_2x33_l10.0.safetensors \
	%reldir%/vllm/vllm.silu_and_mul_with_clamp__bf16_4x48_l10.0.safetensors \
	%reldir%/vllm/vllm.silu_and_mul_with_clamp__f16_2x33_l10.0.safetensors \
	%reldir%/vllm/vllm.silu_and_mul_with_clamp__f16_4x48_l10.0.safetensors \
	%reldir%/vllm/vllm.silu_and_mul_with_clamp__f32_2x33_l10.0.safetensors \
	%reldir%/vllm/vllm.silu_and_mul_with_clamp__f32_4x48_l10.0.safetensors \
	%reldir%/vllm/vllm.silu_mul_per_token_group_quant_fp8_colmajor__128x128_f32_c7.safetensors \
	%reldir%/vllm/vllm.silu_mul_per_token_group_quant_fp8_colmajor__128x128_ue8m0_noclamp.safetensors \
	%reldir%/vllm/vllm.silu_mul_quant_fp8_packed__3x128_g32_c10.safetensors \
	%reldir%/vllm/vllm.silu_mul_quant_fp8_packed__5x256_g128_noclamp.safetensors \
	%reldir%/vllm/vllm.swiglu_limit_func__bf16_2x33_l0.0.safetensors \
	%reldir%/vllm/vllm.swiglu_limit_func__bf16_2x33_l10.0.safetensors \
	%reldir%/vllm/vllm.swiglu_limit_func__bf16_4x48_l0.0.safetensors \
	%reldir%/vllm/vllm.swiglu_limit_func__bf16_4x48_l10.0.safetensors \
	%reldir%/vllm/vllm.swigluoai_and_mul__bf16_2x33_a1.702_l7.0.safetensors \
	%reldir%/vllm/vllm.swigluoai_and_mul__bf16_4x48_a1.702_l7.0.safetensors \
	%reldir%/vllm/vllm.swigluoai_and_mul__bf16_sweep4096.safetensors \
	%reldir%/vllm/vllm.swigluoai_and_mul__f16_2x33_a1.702_l7.0.safetensors \
	%reldir%/vllm/vllm.swigluoai_and_mul__f16_4x48_a1.702_l7.0.safetensors \
	%reldir%/vllm/vllm.swigluoai_and_mul__f32_2x33_a1.702_l7.0.safetensors \
	%reldir%/vllm/vllm.swigluoai_and_mul__f32_4x48_a1.702_l7.0.safetensors \
	%reldir%/vllm/vllm.swiglustep_and_mul__bf16_2x33_l7.0.safetensors \
	%reldir%/vllm/vllm.swiglustep_and_mul__bf16_4x48_l7.0.safetensors \
	%reldir%/vllm/vllm.upcast_e8m0_to_fp32__all256.safetensors

vectorsdir = $(pkgdatadir)/vectors
dist_vectors_DATA = %reldir%/README.md
