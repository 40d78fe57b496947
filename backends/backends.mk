# SPDX-License-Identifier: Apache-2.0
# Each backend's own list. Backends see the ABI header, its tables and common/.
EXTRA_DIST += %reldir%/backends.def %reldir%/common/call_read.h \
	%reldir%/common/codes.h %reldir%/common/codes_call.h \
	%reldir%/common/codes_dialect.h %reldir%/common/dequant_dialect.h \
	%reldir%/common/engine_blocks.h %reldir%/common/engine_blocks_call.h \
	%reldir%/common/engine_steps.h %reldir%/common/engines.h \
	%reldir%/common/engines_call.h %reldir%/common/functions.h \
	%reldir%/common/functions_call.h %reldir%/common/functions_log.h \
	%reldir%/common/glu/glu_quant.h %reldir%/common/glu/glu_wide.h \
	%reldir%/common/glu/glu_wide_call.h \
	%reldir%/common/mx_place.h \
	%reldir%/common/mx_place_call.h %reldir%/common/nvfp4_scalars.h \
	%reldir%/common/outputs.def \
	%reldir%/common/rcp_hopper.h %reldir%/common/routed.h \
	%reldir%/common/router.def %reldir%/common/router.h \
	%reldir%/common/router_choose.h %reldir%/common/router_read.h \
	%reldir%/common/router_score.h %reldir%/common/signature.h \
	%reldir%/common/signature_text.h %reldir%/common/tables.h \
	%reldir%/common/tables_call.h
# What the judge links; each list below adds its own.
MXO_BACKEND_LIBS =
include backends/broken/broken.mk
include backends/cpu/cpu.mk
include backends/example/example.mk
include backends/gpu/gpu.mk
include backends/python/python.mk
