# SPDX-License-Identifier: Apache-2.0
# The native CPU backend. Each lane has its own flags, and only its own file.
noinst_LTLIBRARIES += libcpu.la
MXO_BACKEND_LIBS += libcpu.la
libcpu_la_SOURCES = \
	%reldir%/ops.def \
	%reldir%/act/act.h \
	%reldir%/act/act_functions.c \
	%reldir%/act/act_glu.c \
	%reldir%/act/act_glu_quant.c \
	%reldir%/act/act_unary.c \
	%reldir%/act/exact.c \
	%reldir%/act/exact.h \
	%reldir%/act/exact_log.c \
	%reldir%/act/exact_table.h \
	%reldir%/act/glu_steps.c \
	%reldir%/act/glu_steps.h \
	%reldir%/act/glu_unit.c \
	%reldir%/act/glu_unit.h \
	%reldir%/backend.c \
	%reldir%/call.c \
	%reldir%/cpu.h \
	%reldir%/dequant/dequant.h \
	%reldir%/dequant/dequant_mx.c \
	%reldir%/dequant/dequant_scaled.c \
	%reldir%/dequant/tables.c \
	%reldir%/element.c \
	%reldir%/element.h \
	%reldir%/format/format_blocks.c \
	%reldir%/format/format_codes.c \
	%reldir%/format/format_engines.c \
	%reldir%/gemm/gemm.h \
	%reldir%/gemm/gemm_blas.c \
	%reldir%/gemm/gemm_block.c \
	%reldir%/gemm/gemm_block.h \
	%reldir%/gemm/gemm_digit_plane.c \
	%reldir%/gemm/gemm_digit_plane.h \
	%reldir%/gemm/gemm_digit_plane_tile.c \
	%reldir%/gemm/gemm_finish.c \
	%reldir%/gemm/gemm_finish.h \
	%reldir%/gemm/gemm_mac.c \
	%reldir%/gemm/gemm_mx.c \
	%reldir%/gemm/gemm_order.c \
	%reldir%/gemm/gemm_order.h \
	%reldir%/gemm/gemm_read.c \
	%reldir%/gemm/gemm_read.h \
	%reldir%/gemm/gemm_rule.c \
	%reldir%/gemm/gemm_slice.c \
	%reldir%/gemm/gemm_slice.h \
	%reldir%/gemm/gemm_sum.c \
	%reldir%/isa/isa_ops.h \
	%reldir%/isa/portable.c \
	%reldir%/layer/layer.h \
	%reldir%/layer/layer_columns.c \
	%reldir%/layer/layer_constants.c \
	%reldir%/layer/layer_loaded.c \
	%reldir%/layer/layer_parts.c \
	%reldir%/layer/layer_pass.c \
	%reldir%/layer/layer_pass.h \
	%reldir%/layer/layer_plan.c \
	%reldir%/layer/layer_profile.c \
	%reldir%/layer/layer_quant.c \
	%reldir%/layer/layer_recipe.c \
	%reldir%/layer/layer_rows.c \
	%reldir%/layer/layer_sum.c \
	%reldir%/layer/moe_layer.c \
	%reldir%/layer/moe_nvfp4.c \
	%reldir%/layer/moe_nvfp4.h \
	%reldir%/layer/moe_nvfp4_plan.c \
	%reldir%/layer/moe_routed.c \
	%reldir%/layout/layout.h \
	%reldir%/layout/layout_apply.c \
	%reldir%/layout/layout_blocks.c \
	%reldir%/layout/layout_chain.c \
	%reldir%/layout/layout_chain.h \
	%reldir%/layout/layout_compose.c \
	%reldir%/layout/layout_convert.c \
	%reldir%/layout/layout_edge.c \
	%reldir%/layout/layout_grouped.c \
	%reldir%/layout/layout_inner.c \
	%reldir%/layout/layout_join.c \
	%reldir%/layout/layout_map.c \
	%reldir%/layout/layout_move.c \
	%reldir%/layout/layout_move.h \
	%reldir%/layout/layout_names.c \
	%reldir%/layout/layout_plan.c \
	%reldir%/layout/layout_record.c \
	%reldir%/layout/layout_plan.h \
	%reldir%/layout/layout_slices.c \
	%reldir%/layout/layout_tile.c \
	%reldir%/layout/layout_tile.h \
	%reldir%/layout/layout_transpose.c \
	%reldir%/layout/layout_units.c \
	%reldir%/layout/layout_valid.c \
	%reldir%/layout/layout_values.c \
	%reldir%/layout/layout_values.h \
	%reldir%/layout/layout_vectors.c \
	%reldir%/layout/vector_transpose.h \
	%reldir%/moe/moe_finalize.c \
	%reldir%/moe/moe_permute.c \
	%reldir%/moe/moe_sort.c \
	%reldir%/moe/moe_sort.h \
	%reldir%/moe/moe_sort_layouts.c \
	%reldir%/moe/nvfp4_scalars.c \
	%reldir%/number.h \
	%reldir%/quant/quant.h \
	%reldir%/quant/quant_any.c \
	%reldir%/quant/quant_any.h \
	%reldir%/quant/quant_block.c \
	%reldir%/quant/quant_code.c \
	%reldir%/quant/quant_group.c \
	%reldir%/quant/quant_mx.c \
	%reldir%/quant/quant_nvfp4.c \
	%reldir%/quant/quant_nvfp4.h \
	%reldir%/quant/quant_nvfp4_op.c \
	%reldir%/quant/quant_qdq.c \
	%reldir%/quant/quant_rule.c \
	%reldir%/quant/quant_static.c \
	%reldir%/route/route_math.h \
	%reldir%/route/route_topk.c \
	%reldir%/split.c \
	%reldir%/strides.c \
	%reldir%/strides.h
libcpu_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_la_CFLAGS = $(AM_CFLAGS) $(MXO_CPU_FLAGS) $(OPENMP_CFLAGS) -static
libcpu_la_LIBADD = $(OPENMP_LIBS)
EXTRA_DIST += %reldir%/README.md %reldir%/act/act_vec.h %reldir%/isa/mac_avx2.h \
	%reldir%/isa/mac_scales.h \
	%reldir%/isa/mac_avx512.h %reldir%/quant/quant_vec.h

if MXO_CPU_X86_64
noinst_LTLIBRARIES += libcpu_avx2.la libcpu_avx512.la libcpu_avx512both.la \
	libcpu_avx512vbmi.la libcpu_avx512vnni.la
libcpu_avx2_la_SOURCES = %reldir%/isa/avx2.c %reldir%/isa/avx2digit_plane.c \
	%reldir%/isa/avx2settle.c %reldir%/isa/avx2digit_few.h \
	%reldir%/isa/vec_avx2.h %reldir%/isa/vec_double_avx2.h
libcpu_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_avx2_la_CFLAGS = $(AM_CFLAGS) -mavx2 -mfma -mf16c -static
libcpu_avx512_la_SOURCES = %reldir%/isa/avx512.c %reldir%/isa/vec_avx512.h \
	%reldir%/isa/vec_double_avx512.h
libcpu_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_avx512_la_CFLAGS = $(AM_CFLAGS) -static -mavx2 -mfma -mf16c \
	-mavx512f -mavx512bw -mavx512dq -mavx512vl
libcpu_avx512both_la_SOURCES = %reldir%/isa/avx512both.c \
	%reldir%/isa/avx512cut.c %reldir%/isa/avx512digit_plane.c
libcpu_avx512both_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_avx512both_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vbmi \
	-mavx512vnni
libcpu_avx512vbmi_la_SOURCES = %reldir%/isa/avx512vbmi.c
libcpu_avx512vbmi_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_avx512vbmi_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vbmi -mgfni
libcpu_avx512vnni_la_SOURCES = %reldir%/isa/avx512vnni.c
libcpu_avx512vnni_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_avx512vnni_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vnni
libcpu_la_LIBADD += libcpu_avx2.la libcpu_avx512.la libcpu_avx512both.la \
	libcpu_avx512vbmi.la libcpu_avx512vnni.la
if MXO_CPU_AMX
noinst_LTLIBRARIES += libcpu_amx.la
libcpu_amx_la_SOURCES = %reldir%/isa/amx_digit_plane.c
libcpu_amx_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_amx_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vbmi -mamx-tile \
	-mamx-int8
libcpu_la_LIBADD += libcpu_amx.la
endif
else
EXTRA_DIST += %reldir%/isa/amx_digit_plane.c %reldir%/isa/avx2.c %reldir%/isa/avx2digit_plane.c \
	%reldir%/isa/avx2settle.c \
	%reldir%/isa/avx512.c %reldir%/isa/avx512both.c \
	%reldir%/isa/avx512cut.c %reldir%/isa/avx512digit_plane.c \
	%reldir%/isa/avx512vbmi.c %reldir%/isa/avx512vnni.c %reldir%/isa/vec_avx2.h %reldir%/isa/vec_avx512.h \
	%reldir%/isa/vec_double_avx2.h %reldir%/isa/vec_double_avx512.h
endif
if MXO_CPU_AARCH64
noinst_LTLIBRARIES += libcpu_neon.la
libcpu_neon_la_SOURCES = %reldir%/isa/neon.c %reldir%/isa/vec_neon.h %reldir%/isa/vec_double_neon.h
libcpu_neon_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
libcpu_neon_la_CFLAGS = $(AM_CFLAGS) -static
libcpu_la_LIBADD += libcpu_neon.la
else
EXTRA_DIST += %reldir%/isa/neon.c %reldir%/isa/vec_neon.h %reldir%/isa/vec_double_neon.h
endif

# The layout engine from inside.
if MXO_CHECK
check_PROGRAMS += cpu_layout_test
cpu_layout_test_SOURCES = \
	%reldir%/layout/layout_chain.h \
	%reldir%/layout/layout_tile.h \
	%reldir%/test_layout.c
cpu_layout_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir% $(CHECK_CFLAGS)
cpu_layout_test_CFLAGS = $(AM_CFLAGS) -Wno-conversion -Wno-pedantic
cpu_layout_test_LDADD = libcpu.la $(CHECK_LIBS) -lm
TESTS += cpu_layout_test
endif

# Ties of act.glu in binary64.
check_PROGRAMS += cpu_glu_wide_test
TESTS += cpu_glu_wide_test
cpu_glu_wide_test_SOURCES = %reldir%/test_glu_wide.c

# Each lane's gated units beside the scalar code.
check_PROGRAMS += cpu_glu_lanes_test
TESTS += cpu_glu_lanes_test
cpu_glu_lanes_test_SOURCES = %reldir%/act/test_glu_lanes.c
cpu_glu_lanes_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
cpu_glu_lanes_test_LDADD = libcpu.la -lm
