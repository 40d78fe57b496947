# SPDX-License-Identifier: Apache-2.0
# The judge: program mxoracle, its unit suites and its tests.
bin_PROGRAMS += mxoracle
mxoracle_SOURCES = \
	%reldir%/cli.c \
	%reldir%/cli.h \
	%reldir%/cmd_list.c \
	%reldir%/commands.def \
	%reldir%/main.c \
	%reldir%/tensors.c \
	%reldir%/tensors.h
mxoracle_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/conformance $(JANSSON_CFLAGS)
mxoracle_LDFLAGS = $(AM_LDFLAGS) -static
mxoracle_LDADD = libmxoracle.la $(JANSSON_LIBS)

# Unit suites: one Check suite per source file, listed in unit/suites.def.
EXTRA_DIST += %reldir%/unit/suites.def
if MXO_CHECK
check_PROGRAMS += unit_tests
unit_tests_SOURCES = \
	%reldir%/unit/main.c \
	%reldir%/unit/test_format_real.c
unit_tests_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/emu -I$(top_srcdir)/conformance $(CHECK_CFLAGS)
# Check's macros are not written for these two.
unit_tests_CFLAGS = $(AM_CFLAGS) -Wno-conversion -Wno-pedantic
unit_tests_LDFLAGS = $(AM_LDFLAGS) -static
unit_tests_LDADD = libmxoracle.la $(CHECK_LIBS)
TESTS += unit_tests
endif

# Shell tests, TAP on standard output; one line each. Sorted.
dist_check_SCRIPTS = \
	%reldir%/tests/headers.test
TESTS += $(dist_check_SCRIPTS)
