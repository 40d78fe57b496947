# SPDX-License-Identifier: Apache-2.0
# The judge: program mxoracle, its unit suites and its tests.
# Everything but main() is a library, so that unit suites and fuzz targets
# link what the program is made of.
noinst_LTLIBRARIES += libjudge.la
libjudge_la_SOURCES = \
	%reldir%/also.c \
	%reldir%/also.def \
	%reldir%/also.h \
	%reldir%/backends.c \
	%reldir%/backends.h \
	%reldir%/bench/bench.h \
	%reldir%/bench/copy.c \
	%reldir%/bench/gemm.c \
	%reldir%/bench/gemm.h \
	%reldir%/bench/job.c \
	%reldir%/bench/layer.c \
	%reldir%/bench/layer.h \
	%reldir%/bench/report.c \
	%reldir%/bench/report.h \
	%reldir%/bench/shapes.c \
	%reldir%/bench/summary.c \
	%reldir%/bound.c \
	%reldir%/bound.def \
	%reldir%/bound.h \
	%reldir%/cases/act.c \
	%reldir%/cases/bad_call.c \
	%reldir%/cases/bad_input.c \
	%reldir%/cases/constants.c \
	%reldir%/cases/dequant.c \
	%reldir%/cases/dispatch.c \
	%reldir%/cases/edges.c \
	%reldir%/cases/families.def \
	%reldir%/cases/format.c \
	%reldir%/cases/gemm.c \
	%reldir%/cases/layout.c \
	%reldir%/cases/mma.c \
	%reldir%/cases/layer.c \
	%reldir%/cases/layer_ways.c \
	%reldir%/cases/loaded.c \
	%reldir%/cases/quant.c \
	%reldir%/cases/route.c \
	%reldir%/cases/lone.c \
	%reldir%/cases/single.c \
	%reldir%/caseflaw.c \
	%reldir%/caseflaw.h \
	%reldir%/caseshape.c \
	%reldir%/caseshape.h \
	%reldir%/casetext.c \
	%reldir%/casetext.h \
	%reldir%/cli.c \
	%reldir%/cli.h \
	%reldir%/cmd_bench.c \
	%reldir%/cmd_gen.c \
	%reldir%/cmd_list.c \
	%reldir%/cmd_profiles.c \
	%reldir%/cmd_run.c \
	%reldir%/cmd_select.c \
	%reldir%/cmd_show.c \
	%reldir%/cmd_shrink.c \
	%reldir%/cmd_verify.c \
	%reldir%/cmd_worker.c \
	%reldir%/codes.c \
	%reldir%/codes.h \
	%reldir%/commands.def \
	%reldir%/compare.c \
	%reldir%/compare.h \
	%reldir%/crew.c \
	%reldir%/crew.h \
	%reldir%/derive.c \
	%reldir%/described.c \
	%reldir%/described.h \
	%reldir%/derive.h \
	%reldir%/diagnose.c \
	%reldir%/diagnose.h \
	%reldir%/dims.def \
	%reldir%/explain.c \
	%reldir%/explain_layer.c \
	%reldir%/explain_layer.h \
	%reldir%/fence.c \
	%reldir%/fence.h \
	%reldir%/fill.c \
	%reldir%/fill.h \
	%reldir%/fill_loaded.c \
	%reldir%/fill_loaded.h \
	%reldir%/fills.c \
	%reldir%/fills.h \
	%reldir%/fills_nudged.c \
	%reldir%/fills_ties.c \
	%reldir%/flaw.c \
	%reldir%/flaw.h \
	%reldir%/flaws.def \
	%reldir%/grid.c \
	%reldir%/grid.h \
	%reldir%/idempotence.c \
	%reldir%/idempotence.def \
	%reldir%/idempotence.h \
	%reldir%/judge.c \
	%reldir%/judge.h \
	%reldir%/layer_fault.c \
	%reldir%/layer_fault.h \
	%reldir%/layer_faults.def \
	%reldir%/listing.h \
	%reldir%/metamorph.c \
	%reldir%/metamorph.h \
	%reldir%/native.c \
	%reldir%/native.h \
	%reldir%/near.c \
	%reldir%/near.h \
	%reldir%/number.c \
	%reldir%/number.h \
	%reldir%/opinfo.c \
	%reldir%/opinfo.h \
	%reldir%/patience.c \
	%reldir%/patience.h \
	%reldir%/prng.c \
	%reldir%/prng.h \
	%reldir%/probe.c \
	%reldir%/probe.h \
	%reldir%/profile_cases.c \
	%reldir%/profile_cases.h \
	%reldir%/refusal.c \
	%reldir%/refusal.h \
	%reldir%/report.h \
	%reldir%/report_json.c \
	%reldir%/report_junit.c \
	%reldir%/report_tap.c \
	%reldir%/report_text.c \
	%reldir%/run_vectors.c \
	%reldir%/run_vectors.h \
	%reldir%/runopts.c \
	%reldir%/runopts.h \
	%reldir%/safetensors.c \
	%reldir%/safetensors.h \
	%reldir%/safetensors_write.c \
	%reldir%/say.c \
	%reldir%/say.h \
	%reldir%/second.c \
	%reldir%/second.h \
	%reldir%/convert/back.c \
	%reldir%/convert/checkpoint.c \
	%reldir%/convert/checkpoint.h \
	%reldir%/convert/choose.c \
	%reldir%/convert/cmd_convert.c \
	%reldir%/convert/digest.c \
	%reldir%/convert/forward.c \
	%reldir%/convert/job.c \
	%reldir%/convert/job.h \
	%reldir%/convert/layers.c \
	%reldir%/convert/layers.h \
	%reldir%/convert/mover.c \
	%reldir%/convert/mover.h \
	%reldir%/convert/names.def \
	%reldir%/convert/part.c \
	%reldir%/convert/sink.c \
	%reldir%/convert/sink.h \
	%reldir%/convert/sources.def \
	%reldir%/layout/cmd_diagnose.c \
	%reldir%/layout/cmd_explain.c \
	%reldir%/layout/explain.c \
	%reldir%/layout/explain.h \
	%reldir%/layout/mistake.c \
	%reldir%/layout/mistake.h \
	%reldir%/layout/mistakes.def \
	%reldir%/layout/page.c \
	%reldir%/layout/pair.c \
	%reldir%/layout/pair.h \
	%reldir%/layout/steps.c \
	%reldir%/layout/steps.h \
	%reldir%/layout/svg.c \
	%reldir%/select/answer.c \
	%reldir%/select/answer.h \
	%reldir%/select/answer_old.c \
	%reldir%/select/asking.h \
	%reldir%/select/caseconfig.c \
	%reldir%/select/caseconfig.h \
	%reldir%/select/cases.c \
	%reldir%/select/cases.h \
	%reldir%/select/hardware.def \
	%reldir%/select/matrix.c \
	%reldir%/select/models.def \
	%reldir%/select/mutants.c \
	%reldir%/select/mutants.h \
	%reldir%/select/options.c \
	%reldir%/select/options.h \
	%reldir%/select/platform.c \
	%reldir%/select/report.c \
	%reldir%/select/report.h \
	%reldir%/select/speed.c \
	%reldir%/select/speed.h \
	%reldir%/selftest.c \
	%reldir%/selftest.h \
	%reldir%/selftest_hunt.c \
	%reldir%/selftest_hunt.h \
	%reldir%/selftest_report.c \
	%reldir%/stage.c \
	%reldir%/stage.h \
	%reldir%/stage_half.c \
	%reldir%/stage_half.h \
	%reldir%/stages.c \
	%reldir%/stages.h \
	%reldir%/strbuf.c \
	%reldir%/strbuf.h \
	%reldir%/subject.c \
	%reldir%/subject.h \
	%reldir%/tally.c \
	%reldir%/tensors.c \
	%reldir%/tensors.h \
	%reldir%/tolerance.def \
	%reldir%/vectors/cell.c \
	%reldir%/vectors/cell.h \
	%reldir%/vectors/file.c \
	%reldir%/vectors/findings.c \
	%reldir%/vectors/findings.h \
	%reldir%/vectors/glue.c \
	%reldir%/vectors/glue.h \
	%reldir%/vectors/glue_step.h \
	%reldir%/vectors/glue_rows.c \
	%reldir%/vectors/glue_steps.c \
	%reldir%/vectors/invoke.c \
	%reldir%/vectors/invoke.h \
	%reldir%/vectors/map.c \
	%reldir%/vectors/map.def \
	%reldir%/vectors/map.h \
	%reldir%/vectors/report.c \
	%reldir%/vectors/report.h \
	%reldir%/vectors/rows.c \
	%reldir%/vectors/rows.h \
	%reldir%/vectors/rules.def \
	%reldir%/vectors/scope.c \
	%reldir%/vectors/scope.h \
	%reldir%/vectors/undeclared.c \
	%reldir%/vectors/undeclared.h \
	%reldir%/vectors/vector_compare.c \
	%reldir%/vectors/vector_compare.h \
	%reldir%/vectors/vectors.c \
	%reldir%/vectors/vectors.h \
	%reldir%/vectors/walk.c \
	%reldir%/vectors/walk.h \
	%reldir%/verdict.c \
	%reldir%/verdict.h \
	%reldir%/views.c \
	%reldir%/views.def \
	%reldir%/where.c \
	%reldir%/where.h \
	%reldir%/worker.c \
	%reldir%/worker.h
libjudge_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance \
	-I$(top_srcdir)/backends -DMXO_PLUGIN_DIR='"$(pkglibdir)"' \
	-DMXO_VECTORS_DIR='"$(pkgdatadir)/vectors"' \
	$(JANSSON_CFLAGS)
libjudge_la_CFLAGS = $(AM_CFLAGS) -static $(OPENMP_CFLAGS)
libjudge_la_LIBADD = $(MXO_BACKEND_LIBS) $(JANSSON_LIBS) -lm

# The cases of bench.cases as C strings, those of layout.cases as a grid.
EXTRA_DIST += %reldir%/cases/bench.cases %reldir%/cases/layout.cases
BUILT_SOURCES += bench_cases.inc layout_cases.inc
CLEANFILES += bench_cases.inc layout_cases.inc
bench_cases.inc: %reldir%/cases/bench.cases
	$(AM_V_GEN)sed -e '/^#/d' -e '/^$$/d' -e 's/.*/"&",/' \
		$(top_srcdir)/%reldir%/cases/bench.cases >$@
layout_cases.inc: %reldir%/cases/layout.cases
	$(AM_V_GEN)sed -e '/^#/d' -e '/^$$/d' -e 's/.*/{2, 0, "&"},/' \
		$(top_srcdir)/%reldir%/cases/layout.cases >$@

casesdir = $(pkgdatadir)/cases
dist_cases_DATA = %reldir%/cases/shrunk.cases

bin_PROGRAMS += mxoracle
mxoracle_SOURCES = %reldir%/main.c
mxoracle_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/conformance
mxoracle_LDFLAGS = $(AM_LDFLAGS) -static
mxoracle_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

# Unit suites: one Check suite per source file, listed in unit/suites.def, or in
# unit/stage_suites.def those of a second program, which runs beside the first.
EXTRA_DIST += %reldir%/unit/suites.def %reldir%/unit/stage_suites.def %reldir%/tests/bad_plugin.c %reldir%/digest/digest.c
if MXO_CHECK
check_PROGRAMS += unit_tests
unit_tests_SOURCES = \
	%reldir%/unit/main.c \
	%reldir%/unit/closed_form.c \
	%reldir%/unit/closed_form.h \
	%reldir%/unit/emu_call.c \
	%reldir%/unit/emu_call.h \
	%reldir%/unit/part.h \
	%reldir%/unit/test_act_eval.c \
	%reldir%/unit/test_act_exp_u20.c \
	%reldir%/unit/test_act_f64.c \
	%reldir%/unit/test_act_fast.c \
	%reldir%/unit/test_act_glu.c \
	%reldir%/unit/test_act_glu_quant.c \
	%reldir%/unit/test_act_glu_span.c \
	%reldir%/unit/test_act_kernel_math.c \
	%reldir%/unit/test_act_limbs.c \
	%reldir%/unit/test_act_mul64.c \
	%reldir%/unit/test_act_ops.c \
	%reldir%/unit/test_act_wide.c \
	%reldir%/unit/test_bound.c \
	%reldir%/unit/test_casetext.c \
	%reldir%/unit/test_cli.c \
	%reldir%/unit/test_compare.c \
	%reldir%/unit/test_dequant_ops.c \
	%reldir%/unit/test_dequant_product.c \
	%reldir%/unit/test_derive.c \
	%reldir%/unit/test_dot.c \
	%reldir%/unit/test_fence.c \
	%reldir%/unit/test_fill.c \
	%reldir%/unit/test_format_convert_code.c \
	%reldir%/unit/test_format_dialect.c \
	%reldir%/unit/test_format_e8m0.c \
	%reldir%/unit/test_format_f32.c \
	%reldir%/unit/test_format_lg2.c \
	%reldir%/unit/test_format_ops.c \
	%reldir%/unit/test_format_rcp_hopper.c \
	%reldir%/unit/test_format_real.c \
	%reldir%/unit/test_gemm.c \
	%reldir%/unit/test_gemm_shapes.c \
	%reldir%/unit/test_grid.c \
	%reldir%/unit/test_idempotence.c \
	%reldir%/unit/test_judge.c \
	%reldir%/unit/test_layout_aiter.c \
	%reldir%/unit/test_layout_deepgemm.c \
	%reldir%/unit/test_layout_grouped.c \
	%reldir%/unit/test_layout_map.c \
	%reldir%/unit/test_layout_mxo.c \
	%reldir%/unit/test_metamorph.c \
	%reldir%/unit/test_mma.c \
	%reldir%/unit/test_layout_triton.c \
	%reldir%/unit/test_layout_trtllm.c \
	%reldir%/unit/test_layout_vllm.c \
	%reldir%/unit/layer_fixture.c \
	%reldir%/unit/layer_fixture.h \
	%reldir%/unit/test_layer.c \
	%reldir%/unit/test_layer_fault.c \
	%reldir%/unit/test_layer_order.c \
	%reldir%/unit/small_layer.c \
	%reldir%/unit/small_layer.h \
	%reldir%/unit/test_layer_bound.c \
	%reldir%/unit/test_layer_bound_part.c \
	%reldir%/unit/test_layer_parts.c \
	%reldir%/unit/test_layer_per_expert.c \
	%reldir%/unit/test_layer_refuse.c \
	%reldir%/unit/test_layer_routed.c \
	%reldir%/unit/test_layer_types.c \
	%reldir%/unit/test_moe_finalize.c \
	%reldir%/unit/test_moe_sort.c \
	%reldir%/unit/test_number.c \
	%reldir%/unit/test_opinfo.c \
	%reldir%/unit/test_patience.c \
	%reldir%/unit/test_prng.c \
	%reldir%/unit/test_probe.c \
	%reldir%/unit/test_profile.c \
	%reldir%/unit/test_quant_block.c \
	%reldir%/unit/test_quant_group.c \
	%reldir%/unit/test_quant_layout.c \
	%reldir%/unit/test_quant_mx.c \
	%reldir%/unit/test_quant_nvfp4.c \
	%reldir%/unit/test_quant_qdq.c \
	%reldir%/unit/test_quant_requant.c \
	%reldir%/unit/test_quant_rules.c \
	%reldir%/unit/test_quant_scale.c \
	%reldir%/unit/test_quant_scale_byte.c \
	%reldir%/unit/test_quant_static.c \
	%reldir%/unit/test_refusal.c \
	%reldir%/unit/test_route_limits.c \
	%reldir%/unit/test_route_ln.c \
	%reldir%/unit/test_route_topk.c \
	%reldir%/unit/test_safetensors.c \
	%reldir%/unit/test_select.c \
	%reldir%/unit/test_select_after.c \
	%reldir%/unit/test_select_product.c \
	%reldir%/unit/test_sweep.c \
	%reldir%/unit/test_tensors.c \
	%reldir%/unit/test_vectors.c \
	%reldir%/unit/test_verdict.c \
	%reldir%/unit/test_where.c
unit_tests_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DSUITES='"suites.def"' -I$(top_srcdir)/emu -I$(top_srcdir)/conformance $(JANSSON_CFLAGS) $(CHECK_CFLAGS)
# Check's macros are not written for these two.
unit_tests_CFLAGS = $(AM_CFLAGS) -Wno-conversion -Wno-pedantic
unit_tests_LDFLAGS = $(AM_LDFLAGS) -static
unit_tests_LDADD = libjudge.la libbroken.la libmxoracle.la $(JANSSON_LIBS) $(CHECK_LIBS)
if MXO_MPFR
unit_tests_SOURCES += \
	%reldir%/exhaustive/reference.c \
	%reldir%/exhaustive/reference.h \
	%reldir%/unit/test_act_mpfr.c
unit_tests_CPPFLAGS += -DMXO_WITH_MPFR
unit_tests_LDADD += -lmpfr -lgmp
endif
TESTS += unit_tests

check_PROGRAMS += stage_tests
stage_tests_SOURCES = \
	%reldir%/unit/main.c \
	%reldir%/unit/part.h \
	%reldir%/unit/test_stages.c \
	%reldir%/unit/test_stages_mutants.c
stage_tests_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DSUITES='"stage_suites.def"' -I$(top_srcdir)/emu -I$(top_srcdir)/conformance $(JANSSON_CFLAGS) $(CHECK_CFLAGS)
stage_tests_CFLAGS = $(unit_tests_CFLAGS)
stage_tests_LDFLAGS = $(AM_LDFLAGS) -static
stage_tests_LDADD = libjudge.la libbroken.la libmxoracle.la $(JANSSON_LIBS) $(CHECK_LIBS)
TESTS += stage_tests
endif

check_PROGRAMS += load_plugin
load_plugin_SOURCES = %reldir%/tests/load_plugin.c

# Does verify see one wrong bit?  Every output of every shipped vector.
check_PROGRAMS += make_checkpoint
make_checkpoint_SOURCES = %reldir%/tests/make_checkpoint.c
make_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance $(JANSSON_CFLAGS)
make_checkpoint_LDFLAGS = $(AM_LDFLAGS) -static
make_checkpoint_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

check_PROGRAMS += flip_vectors
flip_vectors_SOURCES = %reldir%/tests/flip_vectors.c
flip_vectors_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance $(JANSSON_CFLAGS)
flip_vectors_LDFLAGS = $(AM_LDFLAGS) -static
flip_vectors_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

# Shell tests, TAP on standard output; one line each.  The longest first, that
# none is left running alone at the end; the others sorted.
dist_check_SCRIPTS = \
	%reldir%/tests/selftest.test \
	%reldir%/tests/selftest_legal.test \
	%reldir%/tests/legal_vectors.test \
	%reldir%/tests/bench.test \
	%reldir%/tests/cli.test \
	%reldir%/tests/convert.test \
	%reldir%/tests/diagnose.test \
	%reldir%/tests/docs.test \
	%reldir%/tests/explain.test \
	%reldir%/tests/field.test \
	%reldir%/tests/flip.test \
	%reldir%/tests/gen.test \
	%reldir%/tests/layer_alone.test \
	%reldir%/tests/layout_pages.test \
	%reldir%/tests/headers.test \
	%reldir%/tests/hostile.test \
	%reldir%/tests/memory.test \
	%reldir%/tests/plugin.test \
	%reldir%/tests/plugins.test \
	%reldir%/tests/profiles.test \
	%reldir%/tests/run_vectors.test \
	%reldir%/tests/select.test \
	%reldir%/tests/stages.test \
	%reldir%/tests/vectors.test
TESTS += $(dist_check_SCRIPTS)

# All 2^32 inputs of exp, sigmoid and silu against MPFR: make check-exhaustive
# JOBS=N resumes where it was stopped.  exhaustive_static runs on machines
# that have no MPFR.
if MXO_MPFR
EXTRA_PROGRAMS += exhaustive exhaustive_static
exhaustive_SOURCES = \
	%reldir%/exhaustive/exhaustive.c \
	%reldir%/exhaustive/reference.c \
	%reldir%/exhaustive/reference.h
exhaustive_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
exhaustive_LDFLAGS = $(AM_LDFLAGS) -static
exhaustive_LDADD = libmxoracle.la -lmpfr -lgmp
exhaustive_static_SOURCES = $(exhaustive_SOURCES)
exhaustive_static_CPPFLAGS = $(exhaustive_CPPFLAGS)
exhaustive_static_LDFLAGS = $(AM_LDFLAGS) -all-static
exhaustive_static_LDADD = $(exhaustive_LDADD)
CLEANFILES += exhaustive$(EXEEXT) exhaustive_static$(EXEEXT)
check-exhaustive: exhaustive$(EXEEXT)
	./exhaustive$(EXEEXT) $(JOBS:%=--jobs=%) exhaustive.state
else
check-exhaustive:
	@echo "check-exhaustive needs MPFR: apt-get install libmpfr-dev" >&2
	@exit 1
endif
