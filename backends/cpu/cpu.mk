# SPDX-License-Identifier: Apache-2.0
# The native CPU backend. Each lane has its own flags, and only its own file.
noinst_LTLIBRARIES += libcpu.la
MXO_BACKEND_LIBS += libcpu.la
libcpu_la_SOURCES = \
	%reldir%/act.h \
	%reldir%/act_glu.c \
	%reldir%/act_unary.c \
	%reldir%/backend.c \
	%reldir%/call.c \
	%reldir%/cpu.h \
	%reldir%/dequant.h \
	%reldir%/dequant_mx.c \
	%reldir%/element.c \
	%reldir%/element.h \
	%reldir%/exact.c \
	%reldir%/exact.h \
	%reldir%/exact_log.c \
	%reldir%/exact_table.h \
	%reldir%/gemm.h \
	%reldir%/gemm_blas.c \
	%reldir%/gemm_block.c \
	%reldir%/gemm_block.h \
	%reldir%/gemm_mac.c \
	%reldir%/gemm_mx.c \
	%reldir%/gemm_order.c \
	%reldir%/gemm_order.h \
	%reldir%/gemm_plane.c \
	%reldir%/gemm_plane.h \
	%reldir%/gemm_plane_tile.c \
	%reldir%/gemm_read.c \
	%reldir%/gemm_read.h \
	%reldir%/gemm_rule.c \
	%reldir%/gemm_slice.c \
	%reldir%/gemm_slice.h \
	%reldir%/gemm_sum.c \
	%reldir%/glu_steps.c \
	%reldir%/glu_steps.h \
	%reldir%/glu_unit.c \
	%reldir%/glu_unit.h \
	%reldir%/lane.h \
	%reldir%/layer.h \
	%reldir%/layer_columns.c \
	%reldir%/layer_constants.c \
	%reldir%/layer_loaded.c \
	%reldir%/layer_pass.c \
	%reldir%/layer_pass.h \
	%reldir%/layer_plan.c \
	%reldir%/layer_profile.c \
	%reldir%/layer_quant.c \
	%reldir%/layer_recipe.c \
	%reldir%/layer_rows.c \
	%reldir%/layer_sum.c \
	%reldir%/layout.h \
	%reldir%/layout_apply.c \
	%reldir%/layout_blocks.c \
	%reldir%/layout_chain.c \
	%reldir%/layout_chain.h \
	%reldir%/layout_compose.c \
	%reldir%/layout_convert.c \
	%reldir%/layout_edge.c \
	%reldir%/layout_grouped.c \
	%reldir%/layout_inner.c \
	%reldir%/layout_map.c \
	%reldir%/layout_move.c \
	%reldir%/layout_move.h \
	%reldir%/layout_names.c \
	%reldir%/layout_plan.c \
	%reldir%/layout_plan.h \
	%reldir%/layout_slices.c \
	%reldir%/layout_tile.c \
	%reldir%/layout_tile.h \
	%reldir%/layout_units.c \
	%reldir%/layout_valid.c \
	%reldir%/layout_values.c \
	%reldir%/layout_values.h \
	%reldir%/layout_vectors.c \
	%reldir%/layout_weave.c \
	%reldir%/moe_finalize.c \
	%reldir%/moe_layer.c \
	%reldir%/moe_permute.c \
	%reldir%/moe_routed.c \
	%reldir%/moe_sort.c \
	%reldir%/moe_sort.h \
	%reldir%/moe_sort_layouts.c \
	%reldir%/number.h \
	%reldir%/portable.c \
	%reldir%/quant.h \
	%reldir%/quant_block.c \
	%reldir%/quant_mx.c \
	%reldir%/quant_rule.c \
	%reldir%/route.h \
	%reldir%/route_choose.c \
	%reldir%/route_rows.c \
	%reldir%/route_score.c \
	%reldir%/route_topk.c \
	%reldir%/route_weigh.c \
	%reldir%/split.c \
	%reldir%/weave.h
libcpu_la_CFLAGS = $(AM_CFLAGS) $(MXO_CPU_FLAGS) $(OPENMP_CFLAGS) -static
libcpu_la_LIBADD = $(OPENMP_LIBS)
EXTRA_DIST += %reldir%/README.md %reldir%/act_vec.h %reldir%/mac_avx2.h \
	%reldir%/mac_scales.h \
	%reldir%/mac_avx512.h %reldir%/quant_vec.h

if MXO_CPU_X86_64
noinst_LTLIBRARIES += libcpu_avx2.la libcpu_avx512.la libcpu_avx512both.la \
	libcpu_avx512vbmi.la libcpu_avx512vnni.la
libcpu_avx2_la_SOURCES = %reldir%/avx2.c %reldir%/vec_avx2.h
libcpu_avx2_la_CFLAGS = $(AM_CFLAGS) -mavx2 -mfma -mf16c -static
libcpu_avx512_la_SOURCES = %reldir%/avx512.c %reldir%/vec_avx512.h
libcpu_avx512_la_CFLAGS = $(AM_CFLAGS) -static -mavx2 -mfma -mf16c \
	-mavx512f -mavx512bw -mavx512dq -mavx512vl
libcpu_avx512both_la_SOURCES = %reldir%/avx512both.c \
	%reldir%/avx512cut.c %reldir%/avx512plane.c
libcpu_avx512both_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vbmi \
	-mavx512vnni
libcpu_avx512vbmi_la_SOURCES = %reldir%/avx512vbmi.c
libcpu_avx512vbmi_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vbmi -mgfni
libcpu_avx512vnni_la_SOURCES = %reldir%/avx512vnni.c
libcpu_avx512vnni_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vnni
libcpu_la_LIBADD += libcpu_avx2.la libcpu_avx512.la libcpu_avx512both.la \
	libcpu_avx512vbmi.la libcpu_avx512vnni.la
else
EXTRA_DIST += %reldir%/avx2.c %reldir%/avx512.c %reldir%/avx512both.c \
	%reldir%/avx512cut.c %reldir%/avx512plane.c \
	%reldir%/avx512vbmi.c %reldir%/avx512vnni.c %reldir%/vec_avx2.h %reldir%/vec_avx512.h
endif
if MXO_CPU_AARCH64
noinst_LTLIBRARIES += libcpu_neon.la
libcpu_neon_la_SOURCES = %reldir%/neon.c %reldir%/vec_neon.h
libcpu_neon_la_CFLAGS = $(AM_CFLAGS) -static
libcpu_la_LIBADD += libcpu_neon.la
else
EXTRA_DIST += %reldir%/neon.c %reldir%/vec_neon.h
endif

# The layout engine from inside.
if MXO_CHECK
check_PROGRAMS += cpu_layout_test
cpu_layout_test_SOURCES = \
	%reldir%/layout_chain.h \
	%reldir%/layout_tile.h \
	%reldir%/test_layout.c
cpu_layout_test_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
cpu_layout_test_CFLAGS = $(AM_CFLAGS) -Wno-conversion -Wno-pedantic
cpu_layout_test_LDADD = libcpu.la $(CHECK_LIBS) -lm
TESTS += cpu_layout_test
endif
