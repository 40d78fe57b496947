# SPDX-License-Identifier: Apache-2.0
# Wrong on purpose: what mxoracle selftest judges.
noinst_LTLIBRARIES += libbroken.la
MXO_BACKEND_LIBS += libbroken.la
libbroken_la_SOURCES = \
	%reldir%/async.c \
	%reldir%/backend.c \
	%reldir%/backend.h \
	%reldir%/broken.h \
	%reldir%/call_access.c \
	%reldir%/checks.def \
	%reldir%/double_double.c \
	%reldir%/faults.c \
	%reldir%/launch.c \
	%reldir%/launch.h \
	%reldir%/field.def \
	%reldir%/layer/finalize.c \
	%reldir%/layer/layer.c \
	%reldir%/layer/layer.h \
	%reldir%/layer/layer_constants.c \
	%reldir%/layer/layer_entries.c \
	%reldir%/layer/layer_faults.c \
	%reldir%/layer/layer_legal.c \
	%reldir%/layer/layer_loaded.c \
	%reldir%/layer/layer_nvfp4.c \
	%reldir%/layer/layer_order.c \
	%reldir%/layer/layer_quant.c \
	%reldir%/layer/layer_routed.c \
	%reldir%/layer/layer_steps.c \
	%reldir%/layer/layer_sum.c \
	%reldir%/layer/layer_unit.c \
	%reldir%/layer/layer_weights.c \
	%reldir%/layout/layout.c \
	%reldir%/layout/layout.h \
	%reldir%/layout/layout_convert.c \
	%reldir%/layout/layout_grouped.c \
	%reldir%/layout/layout_map.c \
	%reldir%/layout/layout_text.c \
	%reldir%/layout/layout_values.c \
	%reldir%/layout/layout_wrong.def \
	%reldir%/legal.c \
	%reldir%/mma/gemm.c \
	%reldir%/mma/mma.c \
	%reldir%/mma/mma.h \
	%reldir%/mma/mma_amd.c \
	%reldir%/mma/mma_op.c \
	%reldir%/mma/mma_units.c \
	%reldir%/mutants.def \
	%reldir%/number.c \
	%reldir%/ops.def \
	%reldir%/out_of_bounds_reads.def \
	%reldir%/quant/act.c \
	%reldir%/quant/act_quant.c \
	%reldir%/quant/act_situ.c \
	%reldir%/quant/act_steps.c \
	%reldir%/quant/act_wide.c \
	%reldir%/quant/act_steps.h \
	%reldir%/quant/codec.c \
	%reldir%/quant/dequant.c \
	%reldir%/quant/quant.c \
	%reldir%/quant/quant_float.c \
	%reldir%/quant/quant_qdq.c \
	%reldir%/quant/scale.c \
	%reldir%/route.c \
	%reldir%/size_faults.c \
	%reldir%/size_faults.def \
	%reldir%/sort.c \
	%reldir%/values.def
EXTRA_DIST += %reldir%/README.md
libbroken_la_LIBADD = -lm
libbroken_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libbroken_la_CFLAGS = $(AM_CFLAGS) -static
