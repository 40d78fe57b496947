# SPDX-License-Identifier: Apache-2.0
# Each backend's own list. Backends see the ABI header, its tables and shared/.
EXTRA_DIST += %reldir%/backends.def %reldir%/shared/call_read.h \
	%reldir%/shared/codes.h %reldir%/shared/codes_call.h \
	%reldir%/shared/codes_dialect.h %reldir%/shared/dequant_dialect.h \
	%reldir%/shared/engines.h \
	%reldir%/shared/engines_call.h %reldir%/shared/functions.h \
	%reldir%/shared/functions_call.h %reldir%/shared/glu_quant.h \
	%reldir%/shared/mx_place.h \
	%reldir%/shared/mx_place_call.h %reldir%/shared/nvfp4_scalars.h \
	%reldir%/shared/outputs.def \
	%reldir%/shared/rcp_hopper.h %reldir%/shared/routed.h \
	%reldir%/shared/router.def %reldir%/shared/router.h \
	%reldir%/shared/router_choose.h %reldir%/shared/router_read.h \
	%reldir%/shared/router_score.h %reldir%/shared/signature.h \
	%reldir%/shared/signature_text.h %reldir%/shared/tables.h \
	%reldir%/shared/tables_call.h
# What the judge links; each list below adds its own.
MXO_BACKEND_LIBS =
include backends/broken/broken.mk
include backends/cpu/cpu.mk
include backends/example/example.mk
include backends/gpu/gpu.mk
include backends/python/python.mk
