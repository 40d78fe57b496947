# SPDX-License-Identifier: Apache-2.0
# Each backend's own list. Backends see the ABI header and nothing else.
EXTRA_DIST += %reldir%/backends.def %reldir%/outputs.def %reldir%/signature.h %reldir%/signature_text.h
# What the judge links; each list below adds its own.
MXO_BACKEND_LIBS =
include backends/broken/broken.mk
include backends/cpu/cpu.mk
include backends/example/example.mk
include backends/gpu/gpu.mk
include backends/python/python.mk
