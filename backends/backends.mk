# SPDX-License-Identifier: Apache-2.0
# Each backend's own list. Backends see the ABI header, its tables and these headers.
EXTRA_DIST += %reldir%/backends.def %reldir%/call_read.h %reldir%/codes.h \
	%reldir%/codes_call.h %reldir%/codes_dialect.h %reldir%/engines.h %reldir%/engines_call.h %reldir%/functions.h \
	%reldir%/functions_call.h %reldir%/outputs.def %reldir%/rcp_hopper.h \
	%reldir%/routed.h %reldir%/router.def %reldir%/router.h \
	%reldir%/router_choose.h %reldir%/router_read.h %reldir%/router_score.h \
	%reldir%/signature.h %reldir%/signature_text.h
# What the judge links; each list below adds its own.
MXO_BACKEND_LIBS =
include backends/broken/broken.mk
include backends/cpu/cpu.mk
include backends/example/example.mk
include backends/gpu/gpu.mk
include backends/python/python.mk
