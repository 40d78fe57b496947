# SPDX-License-Identifier: Apache-2.0
# The oracle: libmxoracle, static and shared.
lib_LTLIBRARIES += libmxoracle.la
libmxoracle_la_SOURCES = \
	%reldir%/act/eval.c \
	%reldir%/act/exp_table.h \
	%reldir%/act/exp_u20.c \
	%reldir%/act/f64.c \
	%reldir%/act/f64.h \
	%reldir%/act/fast.c \
	%reldir%/act/glu.c \
	%reldir%/act/glu_quant.c \
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
	%reldir%/act/solve.c \
	%reldir%/act/wide.c \
	%reldir%/backend_emu.c \
	%reldir%/call.c \
	%reldir%/call.h \
	%reldir%/dequant/group.c \
	%reldir%/dequant/mx.c \
	%reldir%/dequant/mx_table.c \
	%reldir%/dequant/nvfp4.c \
	%reldir%/dequant/product.c \
	%reldir%/dequant/product.h \
	%reldir%/dot/block.c \
	%reldir%/dot/dot.h \
	%reldir%/dot/gemm.c \
	%reldir%/dot/order.c \
	%reldir%/dot/order.h \
	%reldir%/dot/sum.c \
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
	%reldir%/format/rcp.c \
	%reldir%/format/rcp_hopper.c \
	%reldir%/format/real.c \
	%reldir%/layout/bind.c \
	%reldir%/layout/chain.c \
	%reldir%/layout/chain.h \
	%reldir%/layout/conversion.c \
	%reldir%/layout/map.c \
	%reldir%/layout/memory.c \
	%reldir%/layout/move.c \
	%reldir%/layout/op_apply.c \
	%reldir%/layout/op_convert.c \
	%reldir%/layout/op_index.c \
	%reldir%/layout/parse.h \
	%reldir%/layout/scan.c \
	%reldir%/layout/scan.h \
	%reldir%/layout/source.c \
	%reldir%/layout/step.c \
	%reldir%/layout/step.h \
	%reldir%/layout/values.c \
	%reldir%/layout/values.h \
	%reldir%/mma/op.c \
	%reldir%/mma/step.c \
	%reldir%/ops.def \
	%reldir%/profile/aiter.def \
	%reldir%/profile/flashinfer.def \
	%reldir%/profile/profile.c \
	%reldir%/profile/profiles.def \
	%reldir%/profile/triton.def \
	%reldir%/profile/vllm.def \
	%reldir%/quant/block.c \
	%reldir%/quant/group.c \
	%reldir%/quant/layout.c \
	%reldir%/quant/layout.h \
	%reldir%/quant/mx.c \
	%reldir%/quant/nvfp4.c \
	%reldir%/quant/nvfp4_block.c \
	%reldir%/quant/qdq.c \
	%reldir%/quant/quant.h \
	%reldir%/quant/requant.c \
	%reldir%/quant/requant_table.c \
	%reldir%/quant/rules.c \
	%reldir%/quant/scale.c \
	%reldir%/quant/scale_byte.c \
	%reldir%/quant/static.c \
	%reldir%/quant/tensor.c \
	%reldir%/validate.c \
	%reldir%/validate.h
libmxoracle_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -export-symbols-regex '^mxo_'

pkginclude_HEADERS = \
	%reldir%/include/mxoracle/abi.h \
	%reldir%/include/mxoracle/act.h \
	%reldir%/include/mxoracle/conversions.def \
	%reldir%/include/mxoracle/dequant.def \
	%reldir%/include/mxoracle/dequant.h \
	%reldir%/include/mxoracle/dialect.def \
	%reldir%/include/mxoracle/dtype.def \
	%reldir%/include/mxoracle/e8m0.def \
	%reldir%/include/mxoracle/format.h \
	%reldir%/include/mxoracle/glu.def \
	%reldir%/include/mxoracle/layout.h \
	%reldir%/include/mxoracle/layouts.def \
	%reldir%/include/mxoracle/mma.def \
	%reldir%/include/mxoracle/mma.h \
	%reldir%/include/mxoracle/mxoracle.h \
	%reldir%/include/mxoracle/profile.h \
	%reldir%/include/mxoracle/profile_choice.def \
	%reldir%/include/mxoracle/profile_field.def \
	%reldir%/include/mxoracle/quant.h \
	%reldir%/include/mxoracle/values.def

pkgconfig_DATA = mxoracle.pc
EXTRA_DIST += %reldir%/mxoracle.pc.in
