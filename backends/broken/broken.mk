# SPDX-License-Identifier: Apache-2.0
# Wrong on purpose: what mxoracle selftest judges.
noinst_LTLIBRARIES += libbroken.la
MXO_BACKEND_LIBS += libbroken.la
libbroken_la_SOURCES = \
	%reldir%/act.c \
	%reldir%/act_quant.c \
	%reldir%/backend.c \
	%reldir%/backend.h \
	%reldir%/behind.def \
	%reldir%/broken.h \
	%reldir%/checks.def \
	%reldir%/codec.c \
	%reldir%/dequant.c \
	%reldir%/faults.c \
	%reldir%/field.def \
	%reldir%/gemm.c \
	%reldir%/finalize.c \
	%reldir%/late.c \
	%reldir%/legal.c \
	%reldir%/layout.c \
	%reldir%/layout.h \
	%reldir%/layout_convert.c \
	%reldir%/layout_grouped.c \
	%reldir%/layout_map.c \
	%reldir%/layout_text.c \
	%reldir%/layout_wrong.def \
	%reldir%/layer.c \
	%reldir%/layer.h \
	%reldir%/layer_constants.c \
	%reldir%/layer_faults.c \
	%reldir%/layer_loaded.c \
	%reldir%/layer_order.c \
	%reldir%/layer_quant.c \
	%reldir%/layer_routed.c \
	%reldir%/layer_steps.c \
	%reldir%/layer_unit.c \
	%reldir%/layer_weights.c \
	%reldir%/mma.c \
	%reldir%/mma.h \
	%reldir%/mma_amd.c \
	%reldir%/mma_op.c \
	%reldir%/mma_units.c \
	%reldir%/mutants.def \
	%reldir%/number.c \
	%reldir%/ops.def \
	%reldir%/outputs.def \
	%reldir%/quant.c \
	%reldir%/quant_float.c \
	%reldir%/quant_qdq.c \
	%reldir%/reading.c \
	%reldir%/route.c \
	%reldir%/scale.c \
	%reldir%/sort.c \
	%reldir%/twofold.c
EXTRA_DIST += %reldir%/README.md
libbroken_la_LIBADD = -lm
libbroken_la_CFLAGS = $(AM_CFLAGS) -static
