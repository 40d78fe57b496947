# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += %reldir%/mxoracle.1
bashcompletion_DATA = %reldir%/mxoracle.bash
EXTRA_DIST += $(bashcompletion_DATA) \
	%reldir%/formats.md \
	%reldir%/design \
	%reldir%/ops \
	%reldir%/vectors.md
