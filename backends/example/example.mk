# SPDX-License-Identifier: Apache-2.0
# The plugins that documentation and tests start from.
# Installed, too: an installed tree is all that a plugin needs.
exampledir = $(docdir)/example
dist_example_DATA = %reldir%/README.md %reldir%/example_plugin.c %reldir%/layer_plugin.c \
	%reldir%/one_layout.h \
	%reldir%/fuzz_swizzle.c \
	%reldir%/subject.c %reldir%/subject.py
noinst_DATA += plugins/mxo_example.so plugins/mxo_layer.so
CLEANFILES += plugins/mxo_example.so plugins/mxo_layer.so
plugins/mxo_example.so: %reldir%/example_plugin.c emu/include/mxoracle/abi.h
	@$(MKDIR_P) plugins
	$(AM_V_CC)$(CC) $(AM_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared \
		-I$(top_srcdir)/emu/include $(AM_LDFLAGS) $(LDFLAGS) \
		-o $@ $(srcdir)/%reldir%/example_plugin.c -lm
plugins/mxo_layer.so: %reldir%/layer_plugin.c emu/include/mxoracle/abi.h \
		emu/include/mxoracle/ops.def
	@$(MKDIR_P) plugins
	$(AM_V_CC)$(CC) $(AM_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared \
		-I$(top_srcdir)/emu/include $(AM_LDFLAGS) $(LDFLAGS) \
		-o $@ $(srcdir)/%reldir%/layer_plugin.c -lm
