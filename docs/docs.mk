# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += %reldir%/mxoracle.1
bashcompletion_DATA = %reldir%/mxoracle.bash
EXTRA_DIST += $(bashcompletion_DATA) \
	%reldir%/adding-a-backend.md \
	%reldir%/adding-an-op.md \
	%reldir%/design \
	%reldir%/converting.md \
	%reldir%/formats.md \
	%reldir%/layouts \
	%reldir%/ops \
	%reldir%/profiles.md \
	%reldir%/reading-results.md \
	%reldir%/results \
	%reldir%/selection.md \
	%reldir%/vectors.md
