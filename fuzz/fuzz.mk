# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: libFuzzer with --enable-fuzzing CC=clang, else standalone.c,
# which replays the corpus in make check with any compiler.
fuzz_programs = fuzz_baseline fuzz_casefile fuzz_casetext fuzz_checkpoint fuzz_diagnose \
	fuzz_gguf fuzz_layer fuzz_layers fuzz_layout fuzz_layout_text fuzz_number \
	fuzz_profile fuzz_protocol fuzz_quant fuzz_report fuzz_safetensors fuzz_select \
	fuzz_table
if MXO_FUZZING
noinst_PROGRAMS += $(fuzz_programs)
fuzz_driver =
fuzz_ldflags = $(AM_LDFLAGS) -static $(LIB_FUZZING_ENGINE)
else
check_PROGRAMS += $(fuzz_programs)
fuzz_driver = %reldir%/standalone.c
fuzz_ldflags = $(AM_LDFLAGS) -static
endif
# All of them and nothing else: fuzz/oss-fuzz/build.sh asks for it.
fuzz-targets: $(BUILT_SOURCES)
	$(MAKE) $(fuzz_programs)

fuzz_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance $(JANSSON_CFLAGS)
fuzz_ldadd = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

fuzz_baseline_SOURCES = %reldir%/fuzz_baseline.c %reldir%/scratch.c %reldir%/scratch.h \
	%reldir%/target.h $(fuzz_driver)
fuzz_baseline_CPPFLAGS = $(fuzz_cppflags)
fuzz_baseline_LDFLAGS = $(fuzz_ldflags)
fuzz_baseline_LDADD = $(fuzz_ldadd)
fuzz_casefile_SOURCES = %reldir%/fuzz_casefile.c %reldir%/scratch.c %reldir%/scratch.h \
	%reldir%/target.h $(fuzz_driver)
fuzz_casefile_CPPFLAGS = $(fuzz_cppflags)
fuzz_casefile_LDFLAGS = $(fuzz_ldflags)
fuzz_casefile_LDADD = $(fuzz_ldadd)
fuzz_casetext_SOURCES = %reldir%/fuzz_casetext.c %reldir%/target.h $(fuzz_driver)
fuzz_casetext_CPPFLAGS = $(fuzz_cppflags)
fuzz_casetext_LDFLAGS = $(fuzz_ldflags)
fuzz_casetext_LDADD = $(fuzz_ldadd)
fuzz_checkpoint_SOURCES = %reldir%/fuzz_checkpoint.c %reldir%/scratch.c %reldir%/scratch.h \
	%reldir%/target.h $(fuzz_driver)
fuzz_checkpoint_CPPFLAGS = $(fuzz_cppflags)
fuzz_checkpoint_LDFLAGS = $(fuzz_ldflags)
fuzz_checkpoint_LDADD = $(fuzz_ldadd)
fuzz_diagnose_SOURCES = %reldir%/fuzz_diagnose.c %reldir%/target.h $(fuzz_driver)
fuzz_diagnose_CPPFLAGS = $(fuzz_cppflags)
fuzz_diagnose_LDFLAGS = $(fuzz_ldflags)
fuzz_diagnose_LDADD = $(fuzz_ldadd)
fuzz_gguf_SOURCES = %reldir%/fuzz_gguf.c %reldir%/scratch.c %reldir%/scratch.h \
	%reldir%/target.h $(fuzz_driver)
fuzz_gguf_CPPFLAGS = $(fuzz_cppflags)
fuzz_gguf_LDFLAGS = $(fuzz_ldflags)
fuzz_gguf_LDADD = $(fuzz_ldadd)
fuzz_layer_SOURCES = %reldir%/fuzz_layer.c %reldir%/drawn.c %reldir%/drawn.h \
	%reldir%/target.h $(fuzz_driver)
fuzz_layer_CPPFLAGS = $(fuzz_cppflags)
fuzz_layer_LDFLAGS = $(fuzz_ldflags)
fuzz_layer_LDADD = $(fuzz_ldadd)
fuzz_layers_SOURCES = %reldir%/fuzz_layers.c %reldir%/scratch.c %reldir%/scratch.h \
	%reldir%/target.h $(fuzz_driver)
fuzz_layers_CPPFLAGS = $(fuzz_cppflags)
fuzz_layers_LDFLAGS = $(fuzz_ldflags)
fuzz_layers_LDADD = $(fuzz_ldadd)
fuzz_layout_SOURCES = %reldir%/fuzz_layout.c %reldir%/drawn.c %reldir%/drawn.h \
	%reldir%/judges.c %reldir%/judges.h %reldir%/target.h $(fuzz_driver)
fuzz_layout_CPPFLAGS = $(fuzz_cppflags)
fuzz_layout_LDFLAGS = $(fuzz_ldflags)
fuzz_layout_LDADD = $(fuzz_ldadd)
fuzz_layout_text_SOURCES = %reldir%/fuzz_layout_text.c %reldir%/judges.c \
	%reldir%/judges.h %reldir%/target.h $(fuzz_driver)
fuzz_layout_text_CPPFLAGS = $(fuzz_cppflags)
fuzz_layout_text_LDFLAGS = $(fuzz_ldflags)
fuzz_layout_text_LDADD = $(fuzz_ldadd)
fuzz_number_SOURCES = %reldir%/fuzz_number.c %reldir%/target.h $(fuzz_driver)
fuzz_number_CPPFLAGS = $(fuzz_cppflags)
fuzz_number_LDFLAGS = $(fuzz_ldflags)
fuzz_number_LDADD = $(fuzz_ldadd)
fuzz_profile_SOURCES = %reldir%/fuzz_profile.c %reldir%/target.h $(fuzz_driver)
fuzz_profile_CPPFLAGS = $(fuzz_cppflags)
fuzz_profile_LDFLAGS = $(fuzz_ldflags)
fuzz_profile_LDADD = $(fuzz_ldadd)
fuzz_protocol_SOURCES = %reldir%/fuzz_protocol.c %reldir%/target.h $(fuzz_driver)
fuzz_protocol_CPPFLAGS = $(fuzz_cppflags)
fuzz_protocol_LDFLAGS = $(fuzz_ldflags)
fuzz_protocol_LDADD = $(fuzz_ldadd)
fuzz_quant_SOURCES = %reldir%/fuzz_quant.c %reldir%/drawn.c %reldir%/drawn.h \
	%reldir%/judges.c %reldir%/judges.h %reldir%/target.h $(fuzz_driver)
fuzz_quant_CPPFLAGS = $(fuzz_cppflags)
fuzz_quant_LDFLAGS = $(fuzz_ldflags)
fuzz_quant_LDADD = $(fuzz_ldadd)
fuzz_report_SOURCES = %reldir%/fuzz_report.c %reldir%/scratch.c %reldir%/scratch.h \
	%reldir%/target.h $(fuzz_driver)
fuzz_report_CPPFLAGS = $(fuzz_cppflags)
fuzz_report_LDFLAGS = $(fuzz_ldflags)
fuzz_report_LDADD = $(fuzz_ldadd)
fuzz_safetensors_SOURCES = %reldir%/fuzz_safetensors.c %reldir%/target.h $(fuzz_driver)
fuzz_safetensors_CPPFLAGS = $(fuzz_cppflags)
fuzz_safetensors_LDFLAGS = $(fuzz_ldflags)
fuzz_safetensors_LDADD = $(fuzz_ldadd)
fuzz_select_SOURCES = %reldir%/fuzz_select.c %reldir%/target.h $(fuzz_driver)
fuzz_select_CPPFLAGS = $(fuzz_cppflags)
fuzz_select_LDFLAGS = $(fuzz_ldflags)
fuzz_select_LDADD = $(fuzz_ldadd)
fuzz_table_SOURCES = %reldir%/fuzz_table.c %reldir%/target.h $(fuzz_driver)
fuzz_table_CPPFLAGS = $(fuzz_cppflags)
fuzz_table_LDFLAGS = $(fuzz_ldflags)
fuzz_table_LDADD = $(fuzz_ldadd)

TESTS += %reldir%/fuzz.test %reldir%/planted.test
EXTRA_DIST += %reldir%/planted.test %reldir%/planted/place.c \
	%reldir%/planted/place.h %reldir%/planted/mistake.c \
	%reldir%/planted/mistake.h %reldir%/planted/planted-faults \
	%reldir%/planted/planted.c %reldir%/planted/planted.def \
	%reldir%/planted/fuzz_planted.c %reldir%/planted/planted.py
EXTRA_DIST += %reldir%/fuzz.test %reldir%/standalone.c %reldir%/corpus \
	%reldir%/oss-fuzz

# Converters with known faults.
noinst_DATA += fuzz/planted.so
CLEANFILES += fuzz/planted.so
fuzz/planted.so: %reldir%/planted/planted.c %reldir%/planted/place.c \
		%reldir%/planted/place.h %reldir%/planted/mistake.c \
		%reldir%/planted/mistake.h %reldir%/planted/planted.def emu/include/mxoracle/abi.h
	@$(MKDIR_P) fuzz
	$(AM_V_CC)$(CC) $(AM_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared \
		-I$(top_srcdir)/emu/include $(AM_LDFLAGS) $(LDFLAGS) \
		-o $@ $(srcdir)/%reldir%/planted/planted.c \
		$(srcdir)/%reldir%/planted/mistake.c \
		$(srcdir)/%reldir%/planted/place.c

# For fuzzers of users' own code: static, as a fuzz target links it.
lib_LTLIBRARIES += libmxoracle-fuzz.la
libmxoracle_fuzz_la_SOURCES = \
	%reldir%/library/call.c \
	%reldir%/library/call.h \
	%reldir%/library/library.c
libmxoracle_fuzz_la_CPPFLAGS = $(fuzz_cppflags)
libmxoracle_fuzz_la_CFLAGS = $(AM_CFLAGS) -static
libmxoracle_fuzz_la_LDFLAGS = $(AM_LDFLAGS) -static
libmxoracle_fuzz_la_LIBADD = libjudge.la
pkgconfig_DATA += mxoracle-fuzz.pc

# For languages that load a library: the same draw, and its answers.
if MXO_SHARED
drawdir = $(pkglibdir)/draw
draw_LTLIBRARIES = libmxoracle-draw.la
libmxoracle_draw_la_SOURCES = %reldir%/library/calls.c %reldir%/library/calls.h
libmxoracle_draw_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance
libmxoracle_draw_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) -shared
libmxoracle_draw_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^mxo_draw_'
libmxoracle_draw_la_LIBADD = libdraw.la libmxoracle.la -lm
endif
EXTRA_DIST += %reldir%/mxoracle-fuzz.pc.in
