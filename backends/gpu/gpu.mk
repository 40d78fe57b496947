# SPDX-License-Identifier: Apache-2.0
# One kernel source, three compilations: the plugins mxo_cuda.so (nvcc) and
# mxo_hip.so (hipcc), and the CPU shim, linked in with warps of 32 and 64.
gpu_shared = \
	%reldir%/alone.inc \
	%reldir%/alone_carry.inc \
	%reldir%/alone_end.inc \
	%reldir%/alone_load.inc \
	%reldir%/alone_math.inc \
	%reldir%/backend.inc \
	%reldir%/call.inc \
	%reldir%/cool.inc \
	%reldir%/decode.inc \
	%reldir%/decode_acts.inc \
	%reldir%/decode_end.inc \
	%reldir%/decode_math.inc \
	%reldir%/decode_sort.inc \
	%reldir%/decode_add.inc \
	%reldir%/dequant.inc \
	%reldir%/device.h \
	%reldir%/glu.inc \
	%reldir%/glu_exact.inc \
	%reldir%/glu_steps.inc \
	%reldir%/layer.inc \
	%reldir%/layer_act.inc \
	%reldir%/layer_add.inc \
	%reldir%/layer_sum.inc \
	%reldir%/layout.inc \
	%reldir%/layout_chain.inc \
	%reldir%/layout_fold.inc \
	%reldir%/layout_gather.inc \
	%reldir%/layout_groups.inc \
	%reldir%/layout_index.inc \
	%reldir%/layout_lines.inc \
	%reldir%/layout_map.inc \
	%reldir%/layout_terms.inc \
	%reldir%/layout_text.inc \
	%reldir%/layout_values.inc \
	%reldir%/layout_walk.inc \
	%reldir%/plan_alone.inc \
	%reldir%/plan_convert.inc \
	%reldir%/plan_decode.inc \
	%reldir%/plan_dequant.inc \
	%reldir%/plan_gather.inc \
	%reldir%/plan_glu.inc \
	%reldir%/plan_groups.inc \
	%reldir%/plan_index.inc \
	%reldir%/plan_layer.inc \
	%reldir%/plan_layout.inc \
	%reldir%/plan_lines.inc \
	%reldir%/plan_move.inc \
	%reldir%/plan_quant.inc \
	%reldir%/plan_terms.inc \
	%reldir%/plan_recipe.inc \
	%reldir%/plan_tile.inc \
	%reldir%/quant.inc \
	%reldir%/quant_plain.inc \
	%reldir%/quant_rare.inc \
	%reldir%/runtime.h
gpu_device_only = \
	%reldir%/decode_gpu.inc \
	%reldir%/device_gpu.h \
	%reldir%/device_memory.h \
	%reldir%/fused.inc \
	%reldir%/fused_end.inc \
	%reldir%/fused_mma.inc \
	%reldir%/fused_prepare.inc \
	%reldir%/plan_fused.inc \
	%reldir%/plugin.cu \
	%reldir%/runtime_gpu.h \
	%reldir%/yardstick.inc
EXTRA_DIST += $(gpu_device_only) %reldir%/README.md

simt_shared = \
	%reldir%/simt.h \
	%reldir%/simt_crowd.inc \
	%reldir%/simt_decode.h \
	%reldir%/simt_lanes.inc
noinst_LTLIBRARIES += libsimt32.la libsimt64.la
MXO_BACKEND_LIBS += libsimt32.la libsimt64.la
libsimt32_la_SOURCES = %reldir%/simt.c $(simt_shared) $(gpu_shared)
libsimt32_la_CPPFLAGS = $(AM_CPPFLAGS) -DSIMT_WARP=32
libsimt32_la_CFLAGS = $(AM_CFLAGS) $(MXO_CPU_FLAGS)
libsimt64_la_SOURCES = $(libsimt32_la_SOURCES)
libsimt64_la_CPPFLAGS = $(AM_CPPFLAGS) -DSIMT_WARP=64
libsimt64_la_CFLAGS = $(AM_CFLAGS) $(MXO_CPU_FLAGS)

check_PROGRAMS += simt32_test simt64_test
TESTS += simt32_test simt64_test
simt32_test_SOURCES = \
	%reldir%/device.h \
	%reldir%/runtime.h \
	%reldir%/test_simt.c \
	$(simt_shared)
simt32_test_CPPFLAGS = $(libsimt32_la_CPPFLAGS)
simt32_test_LDADD = -lm
simt64_test_SOURCES = $(simt32_test_SOURCES)
simt64_test_CPPFLAGS = $(libsimt64_la_CPPFLAGS)
simt64_test_LDADD = -lm

check_PROGRAMS += near_test
TESTS += near_test
near_test_SOURCES = \
	%reldir%/device.h \
	%reldir%/glu_exact.inc \
	%reldir%/runtime.h \
	%reldir%/test_near.c \
	$(simt_shared)
near_test_CPPFLAGS = $(libsimt32_la_CPPFLAGS)
near_test_LDADD = -lm

# Exactness: no contraction, no fast math.  The CUDA runtime is linked
# statically, so that the plugin loads where there is no driver.
GPU_CPPFLAGS = -I$(top_srcdir)/emu/include -I$(top_srcdir)/%reldir%
GPU_NVCCFLAGS = -std=c++17 -O3 -fmad=false -cudart static -shared \
	-Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra
GPU_HIPFLAGS = -x hip -std=c++17 -O3 -ffp-contract=off -fPIC -shared \
	-fvisibility=hidden -Wall -Wextra
gpu_sources = $(gpu_shared) $(gpu_device_only) \
	backends/signature.h \
	backends/signature_text.h \
	emu/include/mxoracle/abi.h \
	emu/include/mxoracle/conversions.def \
	emu/include/mxoracle/dtype.def \
	emu/include/mxoracle/layouts.def \
	emu/include/mxoracle/ops.def \
	emu/include/mxoracle/values.def
mxopluginsdir = $(pkglibdir)
mxoplugins_DATA =

if MXO_CUDA
mxoplugins_DATA += plugins/mxo_cuda.so
CLEANFILES += plugins/mxo_cuda.so
plugins/mxo_cuda.so: $(gpu_sources)
	@$(MKDIR_P) plugins
	$(AM_V_GEN)$(NVCC) $(NVCC_ARCH) $(GPU_NVCCFLAGS) $(GPU_CPPFLAGS) \
		-o $@ $(top_srcdir)/%reldir%/plugin.cu
endif

# Without a device hipcc complains on standard error though all is well.
if MXO_HIP
mxoplugins_DATA += plugins/mxo_hip.so
CLEANFILES += plugins/mxo_hip.so plugins/hip.log
plugins/mxo_hip.so: $(gpu_sources)
	@$(MKDIR_P) plugins
	$(AM_V_GEN)$(HIPCC) $(HIP_ARCH) $(GPU_HIPFLAGS) $(GPU_CPPFLAGS) \
		-o $@ $(top_srcdir)/%reldir%/plugin.cu 2>plugins/hip.log || \
		{ cat plugins/hip.log >&2; exit 1; }
endif
