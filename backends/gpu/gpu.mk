# SPDX-License-Identifier: Apache-2.0
# One kernel source, three compilations: the plugins mxo_cuda.so (nvcc) and
# mxo_hip.so (hipcc), and the CPU shim, linked in with warps of 32 and 64.
# Every unit is compiled alone: a kernel that changes rebuilds its own.
gpu_units = \
	%reldir%/host/backend.c \
	%reldir%/host/call_job.c \
	%reldir%/host/dense_call.c \
	%reldir%/host/plan_blocks.c \
	%reldir%/host/plan_codes.c \
	%reldir%/host/plan_dequant.c \
	%reldir%/host/plan_gemm.c \
	%reldir%/host/plan_glu.c \
	%reldir%/host/plan_glu_quant.c \
	%reldir%/layer_plan/plan_layer.c \
	%reldir%/host/plan_layouts.c \
	%reldir%/host/plan_group.c \
	%reldir%/host/plan_moe.c \
	%reldir%/host/plan_nvfp4.c \
	%reldir%/layer_plan/plan_nvfp4_layer.c \
	%reldir%/layer_plan/plan_products.c \
	%reldir%/host/plan_quant.c \
	%reldir%/host/plan_quant_group.c \
	%reldir%/host/plan_route.c \
	%reldir%/host/plan_routed.c \
	%reldir%/layer_plan/plan_few_tokens.c \
	%reldir%/layer_plan/plan_small_batch.c \
	%reldir%/host/plan_sort.c \
	%reldir%/host/stream.c
gpu_headers = \
	%reldir%/bench/flush_l2.h \
	%reldir%/host/call.h \
	%reldir%/host/call_job.h \
	%reldir%/host/dense_call.h \
	%reldir%/host/glu_choosers.h \
	%reldir%/layer_plan/layer_job.h \
	%reldir%/layer_plan/layer_read.h \
	%reldir%/layer_plan/plan_prefill.h \
	%reldir%/layer_plan/plan_recipe.h \
	%reldir%/layer_plan/plan_recipe_glu.h \
	%reldir%/layer_plan/plan_recipe_parts.h \
	%reldir%/layer_plan/plan_recipe_sum.h \
	%reldir%/layer_plan/plan_few_tokens.h \
	%reldir%/host/plans.h \
	%reldir%/host/stream.h \
	%reldir%/layer/gemm_ops.h \
	%reldir%/layer/layer.h \
	%reldir%/layer/layer_act.h \
	%reldir%/layer/layer_add.h \
	%reldir%/layer/layer_any.h \
	%reldir%/layer/layer_nvfp4.h \
	%reldir%/layer/layer_operands.h \
	%reldir%/layer/layer_order.h \
	%reldir%/layer/layer_sum.h \
	%reldir%/layer/layer_type.h \
	%reldir%/layer_fast/few_tokens.h \
	%reldir%/layer_fast/few_tokens_activations.h \
	%reldir%/layer_fast/few_tokens_epilogue.h \
	%reldir%/layer_fast/few_tokens_kernel.h \
	%reldir%/layer_fast/few_tokens_load.h \
	%reldir%/layer_fast/few_tokens_math.h \
	%reldir%/layer_fast/small_batch.h \
	%reldir%/layer_fast/small_batch_acts.h \
	%reldir%/layer_fast/small_batch_add.h \
	%reldir%/layer_fast/small_batch_epilogue.h \
	%reldir%/layer_fast/small_batch_math.h \
	%reldir%/layer_fast/small_batch_sort.h \
	%reldir%/layer/moe_ops.h \
	%reldir%/layer/quant_ops.h \
	%reldir%/layout/layout.h \
	%reldir%/layout/layout_gather.h \
	%reldir%/layout/layout_groups.h \
	%reldir%/layout/layout_index.h \
	%reldir%/layout/layout_lines.h \
	%reldir%/layout/layout_terms.h \
	%reldir%/layout/layout_values.h \
	%reldir%/layout/layout_walk.h \
	%reldir%/layout_plan/gather_cost.h \
	%reldir%/layout_plan/layout_chain.h \
	%reldir%/layout_plan/layout_fold.h \
	%reldir%/layout_plan/layout_map.h \
	%reldir%/layout_plan/layout_text.h \
	%reldir%/layout_plan/plan_convert.h \
	%reldir%/layout_plan/plan_gather.h \
	%reldir%/layout_plan/plan_groups.h \
	%reldir%/layout_plan/plan_index.h \
	%reldir%/layout_plan/plan_layout.h \
	%reldir%/layout_plan/plan_loaded.h \
	%reldir%/layout_plan/plan_lines.h \
	%reldir%/layout_plan/plan_move.h \
	%reldir%/layout_plan/plan_record.h \
	%reldir%/layout_plan/plan_terms.h \
	%reldir%/layout_plan/plan_tile.h \
	%reldir%/ops/dequant.h \
	%reldir%/ops/dense_rows.h \
	%reldir%/ops/dequant_rules.h \
	%reldir%/ops/glu.h \
	%reldir%/ops/glu_exact.h \
	%reldir%/ops/glu_power.h \
	%reldir%/ops/glu_quant.h \
	%reldir%/ops/glu_steps.h \
	%reldir%/ops/glu_wide_one.h \
	%reldir%/ops/moe_sort.h \
	%reldir%/ops/mx_any.h \
	%reldir%/ops/nvfp4.h \
	%reldir%/ops/nvfp4_ops.h \
	%reldir%/ops/quant.h \
	%reldir%/ops/quant_args.h \
	%reldir%/ops/quant_block.h \
	%reldir%/ops/quant_group.h \
	%reldir%/ops/quant_plain.h \
	%reldir%/ops/quant_rare.h \
	%reldir%/ops/route.h \
	%reldir%/ops/route_math.h \
	%reldir%/port/device.h \
	%reldir%/port/device_types.h \
	%reldir%/port/global_names.h \
	%reldir%/port/runtime.h
gpu_device_headers = \
	%reldir%/layer_fast/fused.cuh \
	%reldir%/layer_fast/fused_end.cuh \
	%reldir%/layer_fast/fused_mma.cuh \
	%reldir%/layer_fast/fused_prepare.cuh \
	%reldir%/layer_fast/prefill.cuh \
	%reldir%/layer_fast/prefill_end.cuh \
	%reldir%/layer_fast/prefill_epilogue.cuh \
	%reldir%/layer_fast/prefill_gemm.cuh \
	%reldir%/layer_fast/prefill_math.cuh \
	%reldir%/layer_fast/prefill_mma.cuh \
	%reldir%/layer_fast/prefill_place.cuh \
	%reldir%/layer_fast/small_batch_gpu.cuh \
	%reldir%/layer_fast/sum_before.cuh \
	%reldir%/port/device_gpu.h \
	%reldir%/port/device_memory.h
gpu_device_units = \
	%reldir%/bench/yardstick.cu \
	%reldir%/layer_plan/plan_fused.cu \
	%reldir%/layer_plan/plan_prefill.cu \
	%reldir%/port/runtime_gpu.cu
EXTRA_DIST += $(gpu_device_headers) $(gpu_device_units) %reldir%/README.md

simt_headers = \
	%reldir%/port/simt.h \
	%reldir%/port/simt_blocks.h \
	%reldir%/port/simt_fiber.h \
	%reldir%/port/simt_small_batch.h
simt_lanes = \
	%reldir%/port/simt.c \
	%reldir%/port/simt_crowd.c \
	%reldir%/port/simt_fiber.c \
	%reldir%/port/simt_lanes.c
# Its lanes are contexts of the C library; where there are none, it is left out.
if MXO_SIMT
AM_CPPFLAGS += -DMXO_WITH_SIMT
noinst_LTLIBRARIES += libsimt32.la
MXO_BACKEND_LIBS += libsimt32.la
libsimt32_la_SOURCES = $(gpu_units) $(gpu_headers) $(simt_lanes) \
	$(simt_headers)
libsimt32_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir% -DSIMT_WARP=32
libsimt32_la_CFLAGS = $(AM_CFLAGS) $(MXO_CPU_FLAGS) -static

check_PROGRAMS += simt32_test
TESTS += simt32_test
simt32_test_SOURCES = %reldir%/test_simt.c $(simt_lanes) $(simt_headers)
simt32_test_CPPFLAGS = $(libsimt32_la_CPPFLAGS)
simt32_test_LDADD = -lm

check_PROGRAMS += near_test
TESTS += near_test
near_test_SOURCES = %reldir%/test_near.c $(simt_lanes) $(simt_headers)
near_test_CPPFLAGS = $(libsimt32_la_CPPFLAGS)
near_test_LDADD = -lm
endif
if MXO_SIMT64
AM_CPPFLAGS += -DMXO_WITH_SIMT64
noinst_LTLIBRARIES += libsimt64.la
MXO_BACKEND_LIBS += libsimt64.la
libsimt64_la_SOURCES = $(libsimt32_la_SOURCES)
libsimt64_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir% -DSIMT_WARP=64
libsimt64_la_CFLAGS = $(AM_CFLAGS) $(MXO_CPU_FLAGS) -static

check_PROGRAMS += simt64_test
TESTS += simt64_test
simt64_test_SOURCES = $(simt32_test_SOURCES)
simt64_test_CPPFLAGS = $(libsimt64_la_CPPFLAGS)
simt64_test_LDADD = -lm
endif
EXTRA_DIST += $(simt_lanes) $(simt_headers) %reldir%/test_simt.c %reldir%/test_near.c

# Exactness: no contraction, no fast math.  The CUDA runtime is linked
# statically, so that the plugin loads where there is no driver.  C++14: C++17's
# <cmath> is much to read, five times for each unit.  nvcc's -O1 is the host's
# part alone.
GPU_CPPFLAGS = -I$(top_srcdir)/emu/include -I$(top_srcdir)/%reldir%
GPU_NVCCFLAGS = -std=c++14 -O1 -fmad=false \
	-Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra
GPU_HIPFLAGS = -std=c++14 -O3 -ffp-contract=off -fPIC \
	-fvisibility=hidden -Wall -Wextra
# The units, those first that take longest; last those without kernels, which
# the host's compiler has alone.
gpu_kernel_names = host/plan_layouts host/plan_glu host/plan_blocks \
	layer_plan/plan_layer host/plan_codes host/plan_quant host/plan_gemm \
	layer_plan/plan_nvfp4_layer host/plan_route host/plan_quant_group \
	host/plan_nvfp4 host/plan_dequant host/plan_glu_quant host/plan_moe \
	host/plan_sort host/plan_group host/backend host/dense_call \
	layer_plan/plan_products
gpu_host_names = host/call_job host/plan_routed host/stream port/runtime_gpu
cuda_hopper_names = layer_plan/plan_prefill layer_plan/plan_fused \
	layer_plan/plan_small_batch layer_plan/plan_few_tokens
hip_objects = $(gpu_kernel_names:%=plugins/hip/%.o) \
	$(gpu_host_names:%=plugins/hip/%.o)
cuda_hopper_objects = $(cuda_hopper_names:%=plugins/cuda/%.o)
cuda_host_objects = $(gpu_host_names:%=plugins/cuda/%.o)
cuda_objects = $(cuda_hopper_objects) $(gpu_kernel_names:%=plugins/cuda/%.o) \
	plugins/cuda/bench/yardstick.o $(cuda_host_objects)
mxopluginsdir = $(pkglibdir)
mxoplugins_DATA =

# A unit is compiled once: for 9.0a where it has Hopper's own instructions, else
# as PTX for 8.0, from which the code for 9.0 is assembled as well (README.md).
if MXO_CUDA
cuda_hopper = -gencode arch=compute_90a,code=sm_90a
cuda_arch = -gencode arch=compute_80,code=[sm_90,compute_80]
cuda_language = cu
$(cuda_hopper_objects): cuda_arch = $(cuda_hopper)
plugins/cuda/host/plan_quant.o: cuda_arch = $(cuda_hopper) \
	-gencode arch=compute_80,code=compute_80
$(cuda_host_objects): cuda_language = c++
mxoplugins_DATA += plugins/mxo_cuda.so
CLEANFILES += plugins/mxo_cuda.so $(cuda_objects) $(cuda_objects:.o=.d)
-include $(cuda_objects:.o=.d)
cuda_unit = $(MKDIR_P) $(@D) && $(NVCC) -x $(cuda_language) \
	$(if $(NVCC_ARCH),$(NVCC_ARCH),$(cuda_arch)) $(GPU_NVCCFLAGS) \
	$(NVCCFLAGS) $(GPU_CPPFLAGS) -MD -MP -c -o $@
plugins/cuda/%.o: $(top_srcdir)/%reldir%/%.c
	$(AM_V_GEN)$(cuda_unit) $<
plugins/cuda/%.o: $(top_srcdir)/%reldir%/%.cu
	$(AM_V_GEN)$(cuda_unit) $<
plugins/mxo_cuda.so: $(cuda_objects)
	$(AM_V_GEN)$(NVCC) -shared -cudart static --no-device-link -o $@ \
		$(cuda_objects)
endif

# Without a device hipcc complains on standard error though all is well.
if MXO_HIP
mxoplugins_DATA += plugins/mxo_hip.so
CLEANFILES += plugins/mxo_hip.so $(hip_objects) $(hip_objects:.o=.d) \
	$(hip_objects:=.log) plugins/hip.log
-include $(hip_objects:.o=.d)
hip_unit = $(MKDIR_P) $(@D) && { $(HIPCC) -x hip $(GPU_HIPFLAGS) $(HIP_ARCH) \
	$(GPU_CPPFLAGS) -MD -MP -c -o $@ $< 2>$@.log || \
	{ cat $@.log >&2; exit 1; }; }
plugins/hip/%.o: $(top_srcdir)/%reldir%/%.c
	$(AM_V_GEN)$(hip_unit)
plugins/hip/%.o: $(top_srcdir)/%reldir%/%.cu
	$(AM_V_GEN)$(hip_unit)
plugins/mxo_hip.so: $(hip_objects)
	$(AM_V_GEN)$(HIPCC) $(HIP_ARCH) -shared -o $@ $(hip_objects) \
		2>plugins/hip.log || { cat plugins/hip.log >&2; exit 1; }
endif
