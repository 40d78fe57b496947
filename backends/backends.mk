# SPDX-License-Identifier: Apache-2.0
# Each backend's own list. Backends see the ABI header and nothing else.
EXTRA_DIST += %reldir%/backends.def
