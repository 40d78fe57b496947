# SPDX-License-Identifier: Apache-2.0
# The oracle: libmxoracle, static and shared.
lib_LTLIBRARIES += libmxoracle.la
libmxoracle_la_SOURCES = \
	%reldir%/abi/backend_emu.c \
	%reldir%/abi/validate.c \
	%reldir%/abi/validate.h \
	%reldir%/act/eval.c \
	%reldir%/act/exp_table.h \
	%reldir%/act/exp_u20.c \
	%reldir%/act/f64.c \
	%reldir%/act/f64.h \
	%reldir%/act/glu.c \
	%reldir%/act/glu_quant.c \
	%reldir%/act/glu_steps.h \
	%reldir%/act/limbs.c \
	%reldir%/act/limbs.h \
	%reldir%/act/ln2.h \
	%reldir%/act/mul64.h \
	%reldir%/act/op.c \
	%reldir%/act/op.h \
	%reldir%/act/op_glu.c \
	%reldir%/act/op_glu_quant.c \
	%reldir%/act/op_unary.c \
	%reldir%/act/problem.h \
	%reldir%/act/situ.c \
	%reldir%/act/solve.c \
	%reldir%/act/wide.c \
	%reldir%/bounds/bound.c \
	%reldir%/bounds/bound.h \
	%reldir%/bounds/bound_gemm.c \
	%reldir%/bounds/bound_loss.c \
	%reldir%/bounds/bound_operand.c \
	%reldir%/bounds/bound_quantise.c \
	%reldir%/bounds/glu_span.c \
	%reldir%/bounds/glu_span.h \
	%reldir%/bounds/kernel_math.c \
	%reldir%/bounds/kernel_math.h \
	%reldir%/bounds/route_score_span.c \
	%reldir%/bounds/route_score_span.h \
	%reldir%/bounds/route_span.c \
	%reldir%/bounds/route_span.h \
	%reldir%/bounds/span.c \
	%reldir%/bounds/span.h \
	%reldir%/call.c \
	%reldir%/call.h \
	%reldir%/dequant/engine_nvfp4.c \
	%reldir%/dequant/group.c \
	%reldir%/dequant/mx.c \
	%reldir%/dequant/mx_table.c \
	%reldir%/dequant/nvfp4.c \
	%reldir%/dequant/product.c \
	%reldir%/dequant/product.h \
	%reldir%/dot/dot.h \
	%reldir%/dot/gemm.c \
	%reldir%/dot/operand.c \
	%reldir%/dot/operand.h \
	%reldir%/dot/order.c \
	%reldir%/dot/order.h \
	%reldir%/dot/q8_0.c \
	%reldir%/dot/sum.c \
	%reldir%/fast/act_sigmoid.c \
	%reldir%/fast/dot_block.c \
	%reldir%/fast/dot_plane.c \
	%reldir%/fast/layer_matmul.c \
	%reldir%/fast/layout_walk.c \
	%reldir%/fast/layout_walk.h \
	%reldir%/format/classify.c \
	%reldir%/format/convert.c \
	%reldir%/format/convert_code.c \
	%reldir%/format/decode.c \
	%reldir%/format/dialect.c \
	%reldir%/format/e8m0.c \
	%reldir%/format/e8m0_decode.c \
	%reldir%/format/e8m0_encode.c \
	%reldir%/format/encode.c \
	%reldir%/format/f32.c \
	%reldir%/format/lg2.c \
	%reldir%/format/rcp.c \
	%reldir%/format/rcp_hopper.c \
	%reldir%/format/real.c \
	%reldir%/format/ue4m3.c \
	%reldir%/layer/finish.c \
	%reldir%/layer/gemm.c \
	%reldir%/layer/layer.h \
	%reldir%/layer/loaded.c \
	%reldir%/layer/nvfp4.c \
	%reldir%/layer/nvfp4.h \
	%reldir%/layer/nvfp4_plan.c \
	%reldir%/layer/nvfp4_scalars.c \
	%reldir%/layer/op.c \
	%reldir%/layer/op.h \
	%reldir%/layer/op_routed.c \
	%reldir%/layer/order.c \
	%reldir%/layer/parts.c \
	%reldir%/layer/per_expert.c \
	%reldir%/layer/plain.c \
	%reldir%/layer/plain.h \
	%reldir%/layer/plan.c \
	%reldir%/layer/plan.h \
	%reldir%/layer/quantise.c \
	%reldir%/layer/recipe.c \
	%reldir%/layer/recipe.h \
	%reldir%/layer/sum.c \
	%reldir%/layer/unit.c \
	%reldir%/layout/bind.c \
	%reldir%/layout/chain.c \
	%reldir%/layout/chain.h \
	%reldir%/layout/conversion.c \
	%reldir%/layout/groups.c \
	%reldir%/layout/groups.h \
	%reldir%/layout/map.c \
	%reldir%/layout/memory.c \
	%reldir%/layout/move.c \
	%reldir%/layout/op_apply.c \
	%reldir%/layout/op_convert.c \
	%reldir%/layout/op_grouped.c \
	%reldir%/layout/op_groups.c \
	%reldir%/layout/op_index.c \
	%reldir%/layout/op_record.c \
	%reldir%/layout/op_tp_pad.c \
	%reldir%/layout/parse.h \
	%reldir%/layout/scan.c \
	%reldir%/layout/scan.h \
	%reldir%/layout/source.c \
	%reldir%/layout/step.c \
	%reldir%/layout/step.h \
	%reldir%/layout/values.c \
	%reldir%/layout/values.h \
	%reldir%/mma/chain.c \
	%reldir%/mma/chain.h \
	%reldir%/mma/op.c \
	%reldir%/mma/step.c \
	%reldir%/moe/finalize.c \
	%reldir%/moe/finalize.h \
	%reldir%/moe/op_finalize.c \
	%reldir%/moe/permute.c \
	%reldir%/moe/sort.c \
	%reldir%/moe/sort.h \
	%reldir%/moe/sort_aiter.c \
	%reldir%/moe/sort_deepgemm.c \
	%reldir%/moe/sort_triton.c \
	%reldir%/moe/sort_trtllm.c \
	%reldir%/moe/sort_vllm.c \
	%reldir%/profile/profile.c \
	%reldir%/quant/block.c \
	%reldir%/quant/engine.c \
	%reldir%/quant/engine.h \
	%reldir%/quant/engine_nvfp4.c \
	%reldir%/quant/engine_steps.c \
	%reldir%/quant/group.c \
	%reldir%/quant/layout.c \
	%reldir%/quant/layout.h \
	%reldir%/quant/mx.c \
	%reldir%/quant/mxfp4_to_nvfp4.c \
	%reldir%/quant/nvfp4.c \
	%reldir%/quant/nvfp4_block.c \
	%reldir%/quant/qdq.c \
	%reldir%/quant/quant.h \
	%reldir%/quant/requant.c \
	%reldir%/quant/requant_table.c \
	%reldir%/quant/rules.c \
	%reldir%/quant/scale.c \
	%reldir%/quant/scale_byte.c \
	%reldir%/quant/scaled.c \
	%reldir%/quant/static.c \
	%reldir%/quant/tensor.c \
	%reldir%/route/limits.c \
	%reldir%/route/limits.def \
	%reldir%/route/ln.c \
	%reldir%/route/op_topk.c \
	%reldir%/route/pick.c \
	%reldir%/route/route.h \
	%reldir%/route/score.c \
	%reldir%/route/token.c \
	%reldir%/route/weigh.c \
	%reldir%/select/after.c \
	%reldir%/select/backends.def \
	%reldir%/select/classes.def \
	%reldir%/select/conversions.def \
	%reldir%/select/convert.def \
	%reldir%/select/device.c \
	%reldir%/select/entries.c \
	%reldir%/select/lists.def \
	%reldir%/select/names.def \
	%reldir%/select/nvfp4.c \
	%reldir%/select/own.c \
	%reldir%/select/quants.def \
	%reldir%/select/roundup.def \
	%reldir%/select/routers.def \
	%reldir%/select/rules.c \
	%reldir%/select/rules.h \
	%reldir%/select/select.c \
	%reldir%/select/sizes.c \
	%reldir%/select/steps.def \
	%reldir%/select/support.c \
	%reldir%/select/text.c \
	%reldir%/select/words.c
libmxoracle_la_CFLAGS = $(AM_CFLAGS)
# Exported is what the installed headers declare, nothing else.
libmxoracle_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -export-symbols mxoracle.sym
EXTRA_libmxoracle_la_DEPENDENCIES = mxoracle.sym
# Once more for make coverage, which is asked of the emulator alone.
EXTRA_LTLIBRARIES = libcovered.la
libcovered_la_SOURCES = $(libmxoracle_la_SOURCES)
libcovered_la_CFLAGS = $(AM_CFLAGS) --coverage -static
mxoracle.sym: $(pkginclude_HEADERS) %reldir%/exported-symbols
	$(AM_V_GEN)sh $(srcdir)/%reldir%/exported-symbols $(srcdir)/%reldir%/include/mxoracle >$@.tmp
	$(AM_V_at)mv $@.tmp $@
CLEANFILES += mxoracle.sym
EXTRA_DIST += %reldir%/exported-symbols

pkginclude_HEADERS = \
	%reldir%/include/mxoracle/abi.h \
	%reldir%/include/mxoracle/act.h \
	%reldir%/include/mxoracle/conversions.def \
	%reldir%/include/mxoracle/dequant.def \
	%reldir%/include/mxoracle/dequant.h \
	%reldir%/include/mxoracle/dialect.def \
	%reldir%/include/mxoracle/dtype.def \
	%reldir%/include/mxoracle/e8m0.def \
	%reldir%/include/mxoracle/engine.def \
	%reldir%/include/mxoracle/format.h \
	%reldir%/include/mxoracle/fuzz.h \
	%reldir%/include/mxoracle/glu.def \
	%reldir%/include/mxoracle/layout.h \
	%reldir%/include/mxoracle/layouts.def \
	%reldir%/include/mxoracle/mma.def \
	%reldir%/include/mxoracle/mma.h \
	%reldir%/include/mxoracle/mxoracle.h \
	%reldir%/include/mxoracle/ops.def \
	%reldir%/include/mxoracle/profile.h \
	%reldir%/include/mxoracle/profiles.def \
	%reldir%/include/mxoracle/quant.h \
	%reldir%/include/mxoracle/rcp_hopper.def \
	%reldir%/include/mxoracle/route.def \
	%reldir%/include/mxoracle/route.h \
	%reldir%/include/mxoracle/select.def \
	%reldir%/include/mxoracle/select.h \
	%reldir%/include/mxoracle/select_nvfp4.h \
	%reldir%/include/mxoracle/select_types.h \
	%reldir%/include/mxoracle/values.def

# Tables that a table or header above includes.
profiletablesdir = $(pkgincludedir)/profile
profiletables_HEADERS = \
	%reldir%/include/mxoracle/profile/aiter.def \
	%reldir%/include/mxoracle/profile/choice.def \
	%reldir%/include/mxoracle/profile/field.def \
	%reldir%/include/mxoracle/profile/flashinfer.def \
	%reldir%/include/mxoracle/profile/triton.def \
	%reldir%/include/mxoracle/profile/vllm.def
selecttablesdir = $(pkgincludedir)/select
selecttables_HEADERS = %reldir%/include/mxoracle/select/texts.def

pkgconfig_DATA = mxoracle.pc
cmakedir = $(libdir)/cmake/mxoracle
cmake_DATA = mxoracle-config.cmake
EXTRA_DIST += %reldir%/mxoracle.pc.in %reldir%/mxoracle-config.cmake.in
