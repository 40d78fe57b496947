# SPDX-License-Identifier: Apache-2.0
# The judge: program mxoracle, its unit suites and its tests.
# Everything but main() is a library, so that unit suites and fuzz targets
# link what the program is made of.
# What draws calls and fills them: into libjudge, and into the module that
# Python loads, so it is compiled to be loaded.
noinst_LTLIBRARIES += libdraw.la
libdraw_la_SOURCES = \
	%reldir%/base/cli.c \
	%reldir%/base/cli.h \
	%reldir%/base/codes.c \
	%reldir%/base/codes.h \
	%reldir%/base/input.c \
	%reldir%/base/input.h \
	%reldir%/base/memory.c \
	%reldir%/base/memory.h \
	%reldir%/base/number.c \
	%reldir%/base/number.h \
	%reldir%/base/prng.c \
	%reldir%/base/prng.h \
	%reldir%/base/say.c \
	%reldir%/base/say.h \
	%reldir%/base/strbuf.c \
	%reldir%/base/strbuf.h \
	%reldir%/base/tensors.c \
	%reldir%/base/tensors.h \
	%reldir%/case/case_invalid.c \
	%reldir%/case/case_invalid.h \
	%reldir%/case/case_shape.c \
	%reldir%/case/case_shape.h \
	%reldir%/case/case_text.c \
	%reldir%/case/case_text.h \
	%reldir%/case/dims.def \
	%reldir%/case/families.def \
	%reldir%/case/family.c \
	%reldir%/case/family.h \
	%reldir%/case/cover.c \
	%reldir%/case/cover.h \
	%reldir%/case/grid.c \
	%reldir%/case/grid.h \
	%reldir%/case/invalid_calls.def \
	%reldir%/case/opinfo.c \
	%reldir%/case/opinfo.h \
	%reldir%/case/profile_fact.c \
	%reldir%/case/profile_fact.h \
	%reldir%/case/reach.c \
	%reldir%/case/reach.h \
	%reldir%/case/test_case.c \
	%reldir%/case/test_case.h \
	%reldir%/cases/act.c \
	%reldir%/cases/bad_call.c \
	%reldir%/cases/bad_input.c \
	%reldir%/cases/combined.c \
	%reldir%/cases/constants.c \
	%reldir%/cases/crossed.c \
	%reldir%/cases/dequant.c \
	%reldir%/cases/dispatch.c \
	%reldir%/cases/edges.c \
	%reldir%/cases/ends.c \
	%reldir%/cases/extents.c \
	%reldir%/cases/format.c \
	%reldir%/cases/gemm.c \
	%reldir%/cases/layer.c \
	%reldir%/cases/layer_ways.c \
	%reldir%/cases/layout.c \
	%reldir%/cases/loaded.c \
	%reldir%/cases/lone.c \
	%reldir%/cases/mma.c \
	%reldir%/cases/nan_rows.c \
	%reldir%/cases/nvfp4.c \
	%reldir%/cases/profiles.c \
	%reldir%/cases/quant.c \
	%reldir%/cases/rare.c \
	%reldir%/cases/route.c \
	%reldir%/cases/single.c \
	%reldir%/cases/sizes.c \
	%reldir%/cases/slips.c \
	%reldir%/cases/steps.c \
	%reldir%/cases/verges.c \
	%reldir%/data/fill.c \
	%reldir%/data/fill.h \
	%reldir%/data/fill_loaded.c \
	%reldir%/data/fill_loaded.h \
	%reldir%/data/fills.c \
	%reldir%/data/fills.h \
	%reldir%/data/fills_ids.c \
	%reldir%/data/fills_nudged.c \
	%reldir%/data/fills_random.c \
	%reldir%/data/fills_specials.c \
	%reldir%/data/fills_ties.c \
	%reldir%/data/kinds.def \
	%reldir%/draw/decode.c \
	%reldir%/draw/draw.h \
	%reldir%/draw/granule.c \
	%reldir%/draw/granule.h \
	%reldir%/draw/legal.c \
	%reldir%/draw/plan.c \
	%reldir%/draw/plan.h \
	%reldir%/draw/record.c \
	%reldir%/draw/value.c \
	%reldir%/draw/value.h
libdraw_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance
libdraw_la_CFLAGS = $(AM_CFLAGS) -static -fPIC $(OPENMP_CFLAGS)

noinst_LTLIBRARIES += libjudge.la
libjudge_la_SOURCES = \
	%reldir%/audit/cmd_audit.c \
	%reldir%/audit/rows.c \
	%reldir%/audit/rows.h \
	%reldir%/base/citation.c \
	%reldir%/base/citation.h \
	%reldir%/base/commands.def \
	%reldir%/base/grown.c \
	%reldir%/base/grown.h \
	%reldir%/base/options.c \
	%reldir%/base/options.def \
	%reldir%/base/options.h \
	%reldir%/base/progress.c \
	%reldir%/base/progress.h \
	%reldir%/base/stop.c \
	%reldir%/base/stop.h \
	%reldir%/device/call_before.c \
	%reldir%/device/call_before.h \
	%reldir%/device/other_runs.c \
	%reldir%/device/other_runs.h \
	%reldir%/device/refused_call.c \
	%reldir%/device/refused_call.h \
	%reldir%/device/waiting_runs.c \
	%reldir%/device/waiting_runs.h \
	%reldir%/bench/bench.h \
	%reldir%/bench/copy.c \
	%reldir%/bench/gemm.c \
	%reldir%/bench/gemm.h \
	%reldir%/bench/job.c \
	%reldir%/bench/job.h \
	%reldir%/bench/layer.c \
	%reldir%/bench/layer.h \
	%reldir%/bench/report.c \
	%reldir%/bench/report.h \
	%reldir%/bench/shapes.c \
	%reldir%/bench/summary.c \
	%reldir%/bench/timing.c \
	%reldir%/case/described.c \
	%reldir%/case/described.h \
	%reldir%/cli/campaign.c \
	%reldir%/cli/campaign.h \
	%reldir%/cli/cmd_baseline.c \
	%reldir%/cli/cmd_bench.c \
	%reldir%/cli/cmd_complete.c \
	%reldir%/cli/cmd_fuzz.c \
	%reldir%/cli/cmd_gen.c \
	%reldir%/cli/cmd_list.c \
	%reldir%/cli/cmd_report.c \
	%reldir%/cli/cmd_run.c \
	%reldir%/cli/cmd_serve.c \
	%reldir%/cli/cmd_show.c \
	%reldir%/cli/cmd_shrink.c \
	%reldir%/cli/cmd_verify.c \
	%reldir%/cli/cmd_worker.c \
	%reldir%/cli/complete_names.c \
	%reldir%/cli/complete_names.h \
	%reldir%/cli/completes.def \
	%reldir%/cli/listing.h \
	%reldir%/cli/lost.c \
	%reldir%/cli/lost.h \
	%reldir%/cli/run_vectors.c \
	%reldir%/cli/run_vectors.h \
	%reldir%/cli/runchoice.c \
	%reldir%/cli/runopts.c \
	%reldir%/cli/runopts.h \
	%reldir%/cli/subject_lines.c \
	%reldir%/cli/subject_lines.h \
	%reldir%/convert/back.c \
	%reldir%/convert/bias.c \
	%reldir%/convert/check.c \
	%reldir%/convert/check.h \
	%reldir%/convert/checkpoint.c \
	%reldir%/convert/checkpoint.h \
	%reldir%/convert/choose.c \
	%reldir%/convert/cmd_convert.c \
	%reldir%/convert/digest.c \
	%reldir%/convert/find_globals.c \
	%reldir%/convert/forward.c \
	%reldir%/convert/globals.c \
	%reldir%/convert/globals.def \
	%reldir%/convert/globals.h \
	%reldir%/convert/job.c \
	%reldir%/convert/job.h \
	%reldir%/convert/layers.c \
	%reldir%/convert/layers.h \
	%reldir%/convert/mover.c \
	%reldir%/convert/mover.h \
	%reldir%/convert/names.def \
	%reldir%/convert/options.c \
	%reldir%/convert/options.h \
	%reldir%/convert/part.c \
	%reldir%/convert/sink.c \
	%reldir%/convert/sink.h \
	%reldir%/convert/sources.def \
	%reldir%/convert/names.c \
	%reldir%/data/derive.c \
	%reldir%/data/derive.h \
	%reldir%/data/gemm_probe_inputs.c \
	%reldir%/data/gemm_probe_inputs.h \
	%reldir%/data/invalid_call.c \
	%reldir%/data/invalid_call.h \
	%reldir%/data/nearest_legal_shape.c \
	%reldir%/data/nearest_legal_shape.h \
	%reldir%/device/alike.c \
	%reldir%/device/alike.h \
	%reldir%/by_token/by_token.c \
	%reldir%/by_token/by_token.def \
	%reldir%/by_token/by_token.h \
	%reldir%/device/bystander.c \
	%reldir%/device/bystander.h \
	%reldir%/device/made_call.c \
	%reldir%/device/made_call.h \
	%reldir%/device/device_buffers.c \
	%reldir%/device/device_buffers.h \
	%reldir%/device/device_checks.c \
	%reldir%/device/device_sends.c \
	%reldir%/device/device_under_test.c \
	%reldir%/device/device_under_test.h \
	%reldir%/system/fence.c \
	%reldir%/system/fence.h \
	%reldir%/system/judge_bytes.c \
	%reldir%/system/judge_bytes.h \
	%reldir%/device/launch.c \
	%reldir%/device/launch_ways.c \
	%reldir%/device/launch.h \
	%reldir%/device/placement.c \
	%reldir%/device/placement.h \
	%reldir%/device/checked_run.h \
	%reldir%/device/reroute.c \
	%reldir%/device/reroute.h \
	%reldir%/device/subject_infer.c \
	%reldir%/device/subject_open.c \
	%reldir%/diagnose/diagnose.c \
	%reldir%/diagnose/diagnose.h \
	%reldir%/diagnose/diff_location.c \
	%reldir%/diagnose/diff_location.h \
	%reldir%/diagnose/explain.c \
	%reldir%/diagnose/explain_layer.c \
	%reldir%/diagnose/explain_layer.h \
	%reldir%/diagnose/explain_output.c \
	%reldir%/diagnose/explain_output.h \
	%reldir%/diagnose/explain_work.c \
	%reldir%/diagnose/explain_work.h \
	%reldir%/diagnose/layer_dispatch_fault.c \
	%reldir%/diagnose/layer_edit.h \
	%reldir%/diagnose/layer_fault.c \
	%reldir%/diagnose/layer_fault.h \
	%reldir%/diagnose/layer_faults.def \
	%reldir%/diagnose/layer_pad_fault.c \
	%reldir%/diagnose/layer_reach.c \
	%reldir%/diagnose/layer_reach.h \
	%reldir%/diagnose/layer_stage_half.c \
	%reldir%/diagnose/layer_stage_half.h \
	%reldir%/diagnose/layer_stages.c \
	%reldir%/diagnose/layer_stages.h \
	%reldir%/diagnose/output_mistakes.c \
	%reldir%/diagnose/output_mistakes.h \
	%reldir%/diagnose/read_as_sm90.c \
	%reldir%/diagnose/read_as_sm90.h \
	%reldir%/exec/call_json.c \
	%reldir%/exec/call_json.h \
	%reldir%/exec/channel.c \
	%reldir%/exec/channel.h \
	%reldir%/exec/clock_check.c \
	%reldir%/exec/clock_check.h \
	%reldir%/exec/greeting.c \
	%reldir%/exec/greeting.h \
	%reldir%/exec/libraries.c \
	%reldir%/exec/libraries.h \
	%reldir%/exec/memory.c \
	%reldir%/exec/memory.h \
	%reldir%/exec/noise.c \
	%reldir%/exec/noise.h \
	%reldir%/exec/proxy.c \
	%reldir%/exec/proxy.h \
	%reldir%/exec/proxy_launch.c \
	%reldir%/exec/proxy_posted.c \
	%reldir%/exec/proxy_transfer.c \
	%reldir%/exec/proxy_process.c \
	%reldir%/exec/proxy_process.h \
	%reldir%/files/json_walk.c \
	%reldir%/files/json_walk.h \
	%reldir%/files/safetensors.c \
	%reldir%/files/safetensors.h \
	%reldir%/files/safetensors_header.c \
	%reldir%/files/safetensors_header.h \
	%reldir%/files/safetensors_write.c \
	%reldir%/fuzz_converter/campaign.c \
	%reldir%/fuzz_converter/campaign.h \
	%reldir%/fuzz_converter/converter.c \
	%reldir%/fuzz_converter/converter.h \
	%reldir%/fuzz_converter/drawn.c \
	%reldir%/fuzz_converter/drawn.h \
	%reldir%/fuzz_converter/drawn_write.c \
	%reldir%/fuzz_converter/fault.c \
	%reldir%/fuzz_converter/fault.h \
	%reldir%/fuzz_converter/fault_compare.c \
	%reldir%/fuzz_converter/fields.def \
	%reldir%/fuzz_converter/fuzz_converter.c \
	%reldir%/fuzz_converter/fuzz_converter.h \
	%reldir%/fuzz_converter/ranks.c \
	%reldir%/fuzz_converter/ranks.h \
	%reldir%/fuzz_converter/words.def \
	%reldir%/gguf/block.c \
	%reldir%/gguf/block.h \
	%reldir%/gguf/check_block.c \
	%reldir%/gguf/check_layer.c \
	%reldir%/gguf/gguf.h \
	%reldir%/gguf/numbers.c \
	%reldir%/gguf/numbers.h \
	%reldir%/gguf/parse.c \
	%reldir%/gguf/parse.h \
	%reldir%/gguf/read.c \
	%reldir%/gguf/write.c \
	%reldir%/hunt/finding.c \
	%reldir%/hunt/finding.h \
	%reldir%/hunt/hunt.c \
	%reldir%/hunt/hunt.h \
	%reldir%/hunt/journal.c \
	%reldir%/hunt/seen.c \
	%reldir%/hunt/seen.h \
	%reldir%/hunt/state.c \
	%reldir%/hunt/state.h \
	%reldir%/judge/bound.c \
	%reldir%/judge/bound.def \
	%reldir%/judge/bound.h \
	%reldir%/judge/compare.c \
	%reldir%/judge/compare.h \
	%reldir%/judge/judge.c \
	%reldir%/judge/judge.h \
	%reldir%/judge/nan_blocks.c \
	%reldir%/judge/nan_blocks.def \
	%reldir%/judge/nan_blocks.h \
	%reldir%/judge/other_call.c \
	%reldir%/judge/other_call.h \
	%reldir%/judge/other_operation.c \
	%reldir%/judge/other_operation.def \
	%reldir%/judge/other_operation.h \
	%reldir%/judge/refusal.c \
	%reldir%/judge/refusal.h \
	%reldir%/judge/row_order.c \
	%reldir%/judge/row_order.def \
	%reldir%/judge/row_order.h \
	%reldir%/judge/third_party_tolerances.c \
	%reldir%/judge/third_party_tolerances.def \
	%reldir%/judge/third_party_tolerances.h \
	%reldir%/judge/tolerance.def \
	%reldir%/judge/verdict.c \
	%reldir%/judge/verdict.h \
	%reldir%/judge/views.c \
	%reldir%/judge/views.def \
	%reldir%/judge/views.h \
	%reldir%/layout/block_mistake.c \
	%reldir%/layout/block_mistake.h \
	%reldir%/layout/byte_mistake.c \
	%reldir%/layout/byte_mistake.h \
	%reldir%/layout/cmd_diagnose.c \
	%reldir%/layout/cmd_explain.c \
	%reldir%/layout/converted.c \
	%reldir%/layout/converted.h \
	%reldir%/layout/drawing.h \
	%reldir%/layout/explain.c \
	%reldir%/layout/explain.h \
	%reldir%/layout/layout_names.h \
	%reldir%/layout/memory_mistake.c \
	%reldir%/layout/memory_mistake.h \
	%reldir%/layout/mistake.c \
	%reldir%/layout/mistake.h \
	%reldir%/layout/mistakes.def \
	%reldir%/layout/page.c \
	%reldir%/layout/pair.c \
	%reldir%/layout/pair.h \
	%reldir%/layout/picture.c \
	%reldir%/layout/picture.h \
	%reldir%/layout/places.c \
	%reldir%/layout/places.h \
	%reldir%/layout/source_mistake.c \
	%reldir%/layout/source_mistake.h \
	%reldir%/layout/steps.c \
	%reldir%/layout/steps.h \
	%reldir%/layout/svg.c \
	%reldir%/layout/terminal.c \
	%reldir%/profiles/cmd_profiles.c \
	%reldir%/profiles/profile_cases.c \
	%reldir%/profiles/profile_cases.h \
	%reldir%/profiles/profile_names.h \
	%reldir%/report/baseline.c \
	%reldir%/report/baseline.h \
	%reldir%/report/causes.c \
	%reldir%/report/causes.h \
	%reldir%/report/changes.c \
	%reldir%/report/changes.h \
	%reldir%/report/html_changes.c \
	%reldir%/report/html_page.c \
	%reldir%/report/html_page.h \
	%reldir%/report/html_style.inc \
	%reldir%/report/journal.c \
	%reldir%/report/journal.h \
	%reldir%/report/record.c \
	%reldir%/report/record.h \
	%reldir%/report/record_line.c \
	%reldir%/report/report.h \
	%reldir%/report/report_file.c \
	%reldir%/report/report_file.h \
	%reldir%/report/report_html.c \
	%reldir%/report/report_json.c \
	%reldir%/report/report_junit.c \
	%reldir%/report/report_matrix.c \
	%reldir%/report/report_run.c \
	%reldir%/report/report_set.c \
	%reldir%/report/report_set.h \
	%reldir%/report/report_tap.c \
	%reldir%/report/report_text.c \
	%reldir%/report/stored.c \
	%reldir%/report/stored.h \
	%reldir%/report/tally.c \
	%reldir%/run/backends.c \
	%reldir%/run/backends.h \
	%reldir%/run/case_run.c \
	%reldir%/run/case_run.h \
	%reldir%/run/limits.c \
	%reldir%/run/limits_check.c \
	%reldir%/run/limits.h \
	%reldir%/run/metamorph.c \
	%reldir%/run/metamorph.h \
	%reldir%/run/mutant_device.c \
	%reldir%/run/mutant_device.h \
	%reldir%/run/native.c \
	%reldir%/run/native.h \
	%reldir%/run/open_judge.c \
	%reldir%/run/open_judge.h \
	%reldir%/run/process_pool.c \
	%reldir%/run/process_pool.h \
	%reldir%/run/requantise_check.c \
	%reldir%/run/requantise_check.def \
	%reldir%/run/requantise_check.h \
	%reldir%/run/shrink.c \
	%reldir%/run/shrink.h \
	%reldir%/run/variant_call.c \
	%reldir%/run/variant_call.h \
	%reldir%/run/worker.c \
	%reldir%/run/worker.h \
	%reldir%/run/past.c \
	%reldir%/run/past.h \
	%reldir%/run/worker_pool.c \
	%reldir%/run/worker_pool.h \
	%reldir%/select/answer.c \
	%reldir%/select/answer.h \
	%reldir%/select/answer_old.c \
	%reldir%/select/asking.h \
	%reldir%/select/caseconfig.c \
	%reldir%/select/caseconfig.h \
	%reldir%/select/cases.c \
	%reldir%/select/cases.h \
	%reldir%/select/cmd_select.c \
	%reldir%/select/hardware.def \
	%reldir%/select/matrix.c \
	%reldir%/select/models.def \
	%reldir%/select/mutants.c \
	%reldir%/select/mutants.h \
	%reldir%/select/options.c \
	%reldir%/select/options.h \
	%reldir%/select/platform.c \
	%reldir%/select/replay.c \
	%reldir%/select/replay.h \
	%reldir%/select/report.c \
	%reldir%/select/report.h \
	%reldir%/select/since.c \
	%reldir%/select/speed.c \
	%reldir%/select/speed.h \
	%reldir%/selftest/cmd_hunter.c \
	%reldir%/selftest/hunters.c \
	%reldir%/selftest/hunters.h \
	%reldir%/selftest/killers.def \
	%reldir%/selftest/mutate.c \
	%reldir%/selftest/mutate.h \
	%reldir%/selftest/mutate_classes.c \
	%reldir%/selftest/mutation.h \
	%reldir%/selftest/selftest.c \
	%reldir%/selftest/selftest.h \
	%reldir%/selftest/selftest_hunt.c \
	%reldir%/selftest/selftest_hunt.h \
	%reldir%/selftest/selftest_options.c \
	%reldir%/selftest/selftest_options.h \
	%reldir%/selftest/selftest_report.c \
	%reldir%/selftest/zoo.c \
	%reldir%/selftest/zoo.h \
	%reldir%/serve/kernel_state.c \
	%reldir%/serve/kernel_state.h \
	%reldir%/serve/process_state.c \
	%reldir%/serve/process_state.h \
	%reldir%/serve/reply.c \
	%reldir%/serve/reply.h \
	%reldir%/serve/serve.c \
	%reldir%/serve/serve.h \
	%reldir%/serve/serve_calls.c \
	%reldir%/serve/serve_memory.c \
	%reldir%/serve/server.h \
	%reldir%/system/cpu_timeout.c \
	%reldir%/system/cpu_timeout.h \
	%reldir%/system/libraries.c \
	%reldir%/system/libraries.h \
	%reldir%/system/mapped.c \
	%reldir%/system/mapped.h \
	%reldir%/system/new_file.c \
	%reldir%/system/new_file.h \
	%reldir%/system/process.c \
	%reldir%/system/process.h \
	%reldir%/system/system.c \
	%reldir%/system/system.h \
	%reldir%/vectors/file.c \
	%reldir%/vectors/filled.c \
	%reldir%/vectors/filled.h \
	%reldir%/vectors/findings.c \
	%reldir%/vectors/findings.h \
	%reldir%/vectors/invoke.c \
	%reldir%/vectors/invoke.h \
	%reldir%/vectors/lanes.c \
	%reldir%/vectors/lanes.h \
	%reldir%/vectors/map/glue.c \
	%reldir%/vectors/map/glue.h \
	%reldir%/vectors/map/glue_rows.c \
	%reldir%/vectors/map/glue_shapes.c \
	%reldir%/vectors/map/glue_step.h \
	%reldir%/vectors/map/glue_steps.c \
	%reldir%/vectors/map/map.c \
	%reldir%/vectors/map/map.def \
	%reldir%/vectors/map/map.h \
	%reldir%/vectors/map/rules.def \
	%reldir%/vectors/map/scope.c \
	%reldir%/vectors/map/scope.h \
	%reldir%/vectors/report.c \
	%reldir%/vectors/report.h \
	%reldir%/vectors/rows.c \
	%reldir%/vectors/rows.h \
	%reldir%/vectors/undeclared.c \
	%reldir%/vectors/undeclared.h \
	%reldir%/vectors/vector_compare.c \
	%reldir%/vectors/vector_compare.h \
	%reldir%/vectors/vectors.c \
	%reldir%/vectors/vectors.h \
	%reldir%/vectors/walk.c \
	%reldir%/vectors/wanted.c \
	%reldir%/vectors/wanted.h \
	%reldir%/vectors/walk.h
libjudge_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance \
	-I$(top_srcdir)/backends -DMXO_PLUGIN_DIR='"$(pkglibdir)"' \
	-DMXO_VECTORS_DIR='"$(pkgdatadir)/vectors"' \
	$(JANSSON_CFLAGS)
libjudge_la_CFLAGS = $(AM_CFLAGS) -static $(OPENMP_CFLAGS)
libjudge_la_LIBADD = libdraw.la $(MXO_BACKEND_LIBS) $(JANSSON_LIBS) -lm

# The cases of bench.cases as C strings, those of layout.cases as a grid.
EXTRA_DIST += %reldir%/tests/house/commands.list \
	%reldir%/cases/bench.cases %reldir%/cases/layout.cases
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
mxoracle_SOURCES = %reldir%/cli/main.c
mxoracle_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/conformance
mxoracle_LDFLAGS = $(AM_LDFLAGS) -static
mxoracle_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

# Unit suites: unit/ROOM/test_NAME.c has the Check suite NAME. Those that try
# pairs, of faults, rules and entries, take as long as all others: a program of
# their own, pair_tests, that runs beside the first.
EXTRA_DIST += %reldir%/tests/device/bad_plugin.c %reldir%/tests/device/embed_plugin.c %reldir%/tests/device/hostile_plugin.c %reldir%/tests/device/hostile_subject.c %reldir%/tests/device/hostile.def %reldir%/tests/device/hostile_process.h %reldir%/tests/device/hostile_threads.h %reldir%/tests/device/hostile_ways.h %reldir%/tests/device/kept_answer.h %reldir%/tests/device/late_calls.h %reldir%/tests/device/moved_graph.h %reldir%/tests/device/refused_calls.h %reldir%/tests/device/state_plugin.c %reldir%/tests/device/two_operations.h %reldir%/tests/device/zoo_plugin.c %reldir%/tests/device/modes_preload.c %reldir%/tests/judge/fail_malloc.c %reldir%/digest/digest.c
if MXO_CHECK
check_PROGRAMS += unit_tests
unit_tests_SOURCES = \
	%reldir%/unit/act/test_act_dialects.c \
	%reldir%/unit/act/test_act_eval.c \
	%reldir%/unit/act/test_act_exp_u20.c \
	%reldir%/unit/act/test_act_f64.c \
	%reldir%/unit/act/test_act_fast.c \
	%reldir%/unit/act/test_act_glu.c \
	%reldir%/unit/act/test_act_glu_quant.c \
	%reldir%/unit/act/test_act_glu_span.c \
	%reldir%/unit/act/test_act_kernel_math.c \
	%reldir%/unit/act/test_act_limbs.c \
	%reldir%/unit/act/test_act_mul64.c \
	%reldir%/unit/act/test_act_ops.c \
	%reldir%/unit/act/test_act_wide.c \
	%reldir%/unit/base/test_cli.c \
	%reldir%/unit/base/test_mapped.c \
	%reldir%/unit/base/test_new_file.c \
	%reldir%/unit/base/test_number.c \
	%reldir%/unit/base/test_prng.c \
	%reldir%/unit/base/test_safetensors.c \
	%reldir%/unit/base/test_say.c \
	%reldir%/unit/base/test_system.c \
	%reldir%/unit/base/test_tensors.c \
	%reldir%/unit/case/test_case_text.c \
	%reldir%/unit/case/test_cover.c \
	%reldir%/unit/case/served.h \
	%reldir%/unit/case/test_grid.c \
	%reldir%/unit/case/test_opinfo.c \
	%reldir%/unit/case/test_reach.c \
	%reldir%/unit/data/test_derive.c \
	%reldir%/unit/data/test_draw.c \
	%reldir%/unit/data/test_fill.c \
	%reldir%/unit/data/test_fill_extents.c \
	%reldir%/unit/data/test_fill_ids.c \
	%reldir%/unit/data/test_gemm_probe_inputs.c \
	%reldir%/unit/device/test_channel.c \
	%reldir%/unit/device/test_fence.c \
	%reldir%/unit/device/test_other_operation.c \
	%reldir%/unit/device/test_reroute.c \
	%reldir%/unit/emu_call.c \
	%reldir%/unit/emu_call.h \
	%reldir%/unit/format/test_format_convert_code.c \
	%reldir%/unit/format/test_format_dialect.c \
	%reldir%/unit/format/test_format_e8m0.c \
	%reldir%/unit/format/test_format_f32.c \
	%reldir%/unit/format/test_format_lg2.c \
	%reldir%/unit/format/test_format_ops.c \
	%reldir%/unit/format/test_format_rcp_hopper.c \
	%reldir%/unit/format/test_format_real.c \
	%reldir%/unit/gemm/test_dequant_ops.c \
	%reldir%/unit/gemm/test_dequant_product.c \
	%reldir%/unit/gemm/test_dot.c \
	%reldir%/unit/gemm/test_gemm.c \
	%reldir%/unit/gemm/test_gemm_shapes.c \
	%reldir%/unit/gemm/test_mma.c \
	%reldir%/unit/gguf/test_gguf_block.c \
	%reldir%/unit/judge/test_bound.c \
	%reldir%/unit/judge/test_by_token.c \
	%reldir%/unit/judge/test_call_json.c \
	%reldir%/unit/judge/test_compare.c \
	%reldir%/unit/judge/test_cpu_timeout.c \
	%reldir%/unit/judge/test_diff_location.c \
	%reldir%/unit/judge/test_judge.c \
	%reldir%/unit/judge/test_judge_bytes.c \
	%reldir%/unit/judge/test_layer_dispatch_fault.c \
	%reldir%/unit/judge/test_layer_fault.c \
	%reldir%/unit/judge/test_limits.c \
	%reldir%/unit/judge/test_metamorph.c \
	%reldir%/unit/judge/test_nan_blocks.c \
	%reldir%/unit/judge/test_proxy.c \
	%reldir%/unit/judge/test_refusal.c \
	%reldir%/unit/judge/test_requantise_check.c \
	%reldir%/unit/judge/test_row_order.c \
	%reldir%/unit/judge/layer_fault_fixture.c \
	%reldir%/unit/judge/layer_fault_fixture.h \
	%reldir%/unit/judge/test_sweep.c \
	%reldir%/unit/judge/test_vectors.c \
	%reldir%/unit/judge/test_verdict.c \
	%reldir%/unit/layer/layer_fixture.c \
	%reldir%/unit/layer/layer_fixture.h \
	%reldir%/unit/layer/small_layer.c \
	%reldir%/unit/layer/small_layer.h \
	%reldir%/unit/layer/test_layer.c \
	%reldir%/unit/layer/test_layer_bound.c \
	%reldir%/unit/layer/test_layer_bound_mirror.c \
	%reldir%/unit/layer/test_layer_bound_part.c \
	%reldir%/unit/layer/test_layer_order.c \
	%reldir%/unit/layer/test_layer_parts.c \
	%reldir%/unit/layer/test_layer_per_expert.c \
	%reldir%/unit/layer/test_layer_plain.c \
	%reldir%/unit/layer/test_layer_refuse.c \
	%reldir%/unit/layer/test_layer_rounded_parts.c \
	%reldir%/unit/layer/test_layer_routed.c \
	%reldir%/unit/layer/test_layer_types.c \
	%reldir%/unit/layer/test_nvfp4_layer.c \
	%reldir%/unit/layer/test_nvfp4_scalars.c \
	%reldir%/unit/layer/test_profile.c \
	%reldir%/unit/layer/test_profile_facts.c \
	%reldir%/unit/layout/closed_form.c \
	%reldir%/unit/layout/closed_form.h \
	%reldir%/unit/layout/test_layout_aiter.c \
	%reldir%/unit/layout/test_layout_deepgemm.c \
	%reldir%/unit/layout/test_layout_engines.c \
	%reldir%/unit/layout/test_layout_grouped.c \
	%reldir%/unit/layout/test_layout_map.c \
	%reldir%/unit/layout/test_layout_mxo.c \
	%reldir%/unit/layout/test_layout_triton.c \
	%reldir%/unit/layout/test_layout_trtllm.c \
	%reldir%/unit/layout/test_layout_vllm.c \
	%reldir%/unit/layout/test_places.c \
	%reldir%/unit/main.c \
	%reldir%/unit/moe/test_moe_finalize.c \
	%reldir%/unit/moe/test_moe_sort.c \
	%reldir%/unit/moe/test_route_bounds.c \
	%reldir%/unit/moe/test_route_limits.c \
	%reldir%/unit/moe/test_route_ln.c \
	%reldir%/unit/moe/test_route_topk.c \
	%reldir%/unit/part.h \
	%reldir%/unit/quick_check.h \
	%reldir%/unit/quant/test_quant_block.c \
	%reldir%/unit/quant/test_quant_engine.c \
	%reldir%/unit/quant/test_quant_group.c \
	%reldir%/unit/quant/test_quant_layout.c \
	%reldir%/unit/quant/test_quant_mx.c \
	%reldir%/unit/quant/test_quant_nvfp4.c \
	%reldir%/unit/quant/test_quant_qdq.c \
	%reldir%/unit/quant/test_quant_requant.c \
	%reldir%/unit/quant/test_quant_rules.c \
	%reldir%/unit/quant/test_quant_scale.c \
	%reldir%/unit/quant/test_quant_scale_byte.c \
	%reldir%/unit/quant/test_quant_static.c \
	%reldir%/unit/select/test_select.c \
	%reldir%/unit/select/test_select_after.c \
	%reldir%/unit/select/test_select_product.c
unit_tests_CPPFLAGS = $(AM_CPPFLAGS) -include unit/quick_check.h -D_GNU_SOURCE -DSUITES='"unit_suites.inc"' -I$(top_srcdir)/emu -I$(top_srcdir)/conformance $(JANSSON_CFLAGS) $(CHECK_CFLAGS)
# Check's macros are not written for these two.
unit_tests_CFLAGS = $(AM_CFLAGS) -Wno-conversion -Wno-pedantic
unit_tests_LDFLAGS = $(AM_LDFLAGS) -static
unit_tests_LDADD = libjudge.la libbroken.la libmxoracle.la $(JANSSON_LIBS) $(CHECK_LIBS)
if MXO_MPFR
unit_tests_SOURCES += \
	%reldir%/exhaustive/reference.c \
	%reldir%/exhaustive/reference.h \
	%reldir%/unit/act/test_act_mpfr.c
unit_tests_CPPFLAGS += -DMXO_WITH_MPFR
unit_tests_LDADD += -lmpfr -lgmp
endif
TESTS += %reldir%/unit/unit.test

check_PROGRAMS += pair_tests
pair_tests_SOURCES = \
	%reldir%/unit/judge/entries_alike.def \
	%reldir%/unit/judge/other_word.c \
	%reldir%/unit/judge/other_word.h \
	%reldir%/unit/judge/rules_alike.def \
	%reldir%/unit/judge/test_entries_apart.c \
	%reldir%/unit/judge/test_layer_stages.c \
	%reldir%/unit/judge/test_layer_stages_mutants.c \
	%reldir%/unit/judge/test_rules_apart.c \
	%reldir%/unit/main.c \
	%reldir%/unit/part.h \
	%reldir%/unit/quick_check.h
pair_tests_CPPFLAGS = $(AM_CPPFLAGS) -include unit/quick_check.h -D_GNU_SOURCE -DSUITES='"pair_suites.inc"' -I$(top_srcdir)/emu -I$(top_srcdir)/conformance $(JANSSON_CFLAGS) $(CHECK_CFLAGS)
pair_tests_CFLAGS = $(unit_tests_CFLAGS)
pair_tests_LDFLAGS = $(AM_LDFLAGS) -static
pair_tests_LDADD = libjudge.la libbroken.la libmxoracle.la $(JANSSON_LIBS) $(CHECK_LIBS)
TESTS += %reldir%/unit/pair.test

# The suite system once more, with POSIX's calls alone.
check_PROGRAMS += posix_tests
posix_tests_SOURCES = %reldir%/unit/main.c %reldir%/unit/base/test_system.c \
	%reldir%/system/system.c
posix_tests_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DMXO_POSIX_ONLY -DSUITES='"posix_suites.inc"' -I$(top_srcdir)/conformance $(CHECK_CFLAGS)
posix_tests_CFLAGS = $(unit_tests_CFLAGS)
posix_tests_LDADD = $(CHECK_LIBS)
TESTS += posix_tests

# The suites of a program are its sources of that name.
BUILT_SOURCES += unit_suites.inc pair_suites.inc posix_suites.inc
CLEANFILES += unit_suites.inc pair_suites.inc posix_suites.inc
suites_of = sed -n 's|.*/test_\(.*\)\.c$$|MXO_SUITE(\1)|p' >$@
unit_suites.inc: Makefile
	$(AM_V_GEN)printf '%s\n' $(unit_tests_SOURCES) | $(suites_of)
pair_suites.inc: Makefile
	$(AM_V_GEN)printf '%s\n' $(pair_tests_SOURCES) | $(suites_of)
posix_suites.inc: Makefile
	$(AM_V_GEN)printf '%s\n' $(posix_tests_SOURCES) | $(suites_of)
endif

check_PROGRAMS += load_plugin
load_plugin_SOURCES = %reldir%/tests/device/load_plugin.c

check_PROGRAMS += make_checkpoint
make_checkpoint_SOURCES = %reldir%/tests/files/make_checkpoint.c
make_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance $(JANSSON_CFLAGS)
make_checkpoint_LDFLAGS = $(AM_LDFLAGS) -static
make_checkpoint_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

# Blobs with one fault each; it links nothing of ours.
check_PROGRAMS += plant_layout_faults
plant_layout_faults_SOURCES = \
	%reldir%/tests/layout/plant_layout_faults.c \
	%reldir%/tests/layout/planted_layouts.c \
	%reldir%/tests/layout/planted_layouts.h

check_PROGRAMS += compare_ranks
compare_ranks_SOURCES = %reldir%/tests/files/compare_ranks.c
compare_ranks_CPPFLAGS = $(make_checkpoint_CPPFLAGS)
compare_ranks_LDFLAGS = $(AM_LDFLAGS) -static
compare_ranks_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm
check_PROGRAMS += make_biases
make_biases_SOURCES = %reldir%/tests/files/make_biases.c
make_biases_CPPFLAGS = $(make_checkpoint_CPPFLAGS)
make_biases_LDFLAGS = $(AM_LDFLAGS) -static
make_biases_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm
check_PROGRAMS += make_nvfp4
make_nvfp4_SOURCES = %reldir%/tests/files/make_nvfp4.c
make_nvfp4_CPPFLAGS = $(make_checkpoint_CPPFLAGS)
make_nvfp4_LDFLAGS = $(AM_LDFLAGS) -static
make_nvfp4_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

check_PROGRAMS += spoil_checkpoint
spoil_checkpoint_SOURCES = %reldir%/tests/files/spoil_checkpoint.c
spoil_checkpoint_CPPFLAGS = $(make_checkpoint_CPPFLAGS)
spoil_checkpoint_LDFLAGS = $(AM_LDFLAGS) -static
spoil_checkpoint_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

# Does verify see one wrong bit?  Every output of every shipped vector.
check_PROGRAMS += flip_vectors
flip_vectors_SOURCES = %reldir%/tests/vectors/flip_vectors.c
flip_vectors_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conformance $(JANSSON_CFLAGS)
flip_vectors_LDFLAGS = $(AM_LDFLAGS) -static
flip_vectors_LDADD = libjudge.la libmxoracle.la $(JANSSON_LIBS) -lm

# The lanes of sanitizers and distcheck leave these to ci/nightly: they run the
# program often, for what others ask of it as well, or do not run it.
repeating_tests = $(all_repeating_tests)
all_repeating_tests = \
	%reldir%/tests/vectors/legal_vectors.test \
	%reldir%/tests/fuzzing/fuzzing_page.test \
	%reldir%/tests/judge/layer_alone.test \
	%reldir%/tests/judge/profiles.test \
	%reldir%/tests/house/layout_pages.test \
	%reldir%/tests/house/headers.test \
	%reldir%/tests/house/help.test \
	%reldir%/tests/house/narrow.test \
	%reldir%/tests/judge/reports.test \
	%reldir%/tests/judge/progress.test \
	%reldir%/tests/house/docs.test
# Processes that are spoilt, limited or stopped: alike with and without optional
# parts, and mostly time that others take, so that both lanes leave them out, too.
process_tests = $(all_process_tests)
all_process_tests = \
	%reldir%/tests/judge/stopped.test \
	%reldir%/tests/device/state.test \
	%reldir%/tests/device/hostile_subjects.test \
	%reldir%/tests/device/hostile_process.test \
	%reldir%/tests/device/hostile.test \
	%reldir%/tests/device/modes.test \
	%reldir%/tests/files/memory_of_lists.test \
	%reldir%/tests/files/memory_of_headers.test
# Shell tests, TAP on standard output; one line each.  The longest first, that
# none is left running alone at the end; the others by name.
dist_check_SCRIPTS = \
	%reldir%/tests/judge/selftest.test \
	%reldir%/tests/vectors/run_vectors.test \
	%reldir%/tests/device/plugin.test \
	%reldir%/tests/house/adding_op.test \
	%reldir%/tests/judge/bench.test \
	%reldir%/tests/files/audit.test \
	%reldir%/tests/judge/cli.test \
	%reldir%/tests/house/commands.test \
	%reldir%/tests/house/consumer.test \
	%reldir%/tests/files/convert.test \
	%reldir%/tests/files/convert_biases.test \
	%reldir%/tests/files/convert_lies.test \
	%reldir%/tests/files/convert_nvfp4.test \
	%reldir%/tests/layout/diagnose.test \
	%reldir%/tests/layout/diagnose_faults.test \
	%reldir%/tests/device/exec.test \
	%reldir%/tests/layout/explain.test \
	%reldir%/tests/judge/field.test \
	%reldir%/tests/judge/gate.test \
	%reldir%/tests/vectors/flip.test \
	%reldir%/tests/fuzzing/fuzz_converter.test \
	%reldir%/tests/fuzzing/fuzz_library.test \
	%reldir%/tests/fuzzing/fuzz_run.test \
	%reldir%/tests/files/gen.test \
	%reldir%/tests/house/exports.test \
	%reldir%/tests/judge/memory.test \
	%reldir%/tests/judge/short_of_memory.test \
	%reldir%/tests/device/plugins.test \
	%reldir%/tests/device/python.test \
	%reldir%/tests/fuzzing/python_fuzz.test \
	%reldir%/tests/judge/page.test \
	%reldir%/tests/judge/select.test \
	%reldir%/tests/vectors/spoilt_shapes.test \
	%reldir%/tests/judge/stages.test \
	%reldir%/tests/house/systems.test \
	%reldir%/tests/vectors/vectors.test
EXTRA_DIST += $(all_repeating_tests) $(all_process_tests)
EXTRA_DIST += %reldir%/unit/pair.test %reldir%/unit/unit.test
TESTS += $(repeating_tests) $(process_tests) $(dist_check_SCRIPTS)

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
