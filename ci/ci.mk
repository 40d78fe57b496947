# SPDX-License-Identifier: Apache-2.0
# Every step of continuous integration is a script that also runs on a laptop.
EXTRA_DIST += \
	%reldir%/analyzer.list \
	%reldir%/bench-gate \
	%reldir%/build \
	%reldir%/campaign \
	%reldir%/check-analyzer \
	%reldir%/check-citations \
	%reldir%/check-deps \
	%reldir%/check-ops \
	%reldir%/check-style \
	%reldir%/check-tidy \
	%reldir%/conditions.awk \
	%reldir%/coverage \
	%reldir%/digest \
	%reldir%/includes.awk \
	%reldir%/judge \
	%reldir%/killers \
	%reldir%/lane-distcheck \
	%reldir%/lane-oss-fuzz \
	%reldir%/lane-drawn \
	%reldir%/lane-hip-targets \
	%reldir%/lane-portable \
	%reldir%/lane-sanitizers \
	%reldir%/lane-torch \
	%reldir%/layout-pages \
	%reldir%/man-page \
	%reldir%/mutant-coverage \
	%reldir%/mutation-score \
	%reldir%/nightly \
	%reldir%/package \
	%reldir%/part \
	%reldir%/rooms.list \
	%reldir%/setup \
	%reldir%/site \
	%reldir%/systems-page \
	%reldir%/test \
	%reldir%/try

# Without unit suites distcheck compiles none: so that no header of theirs is
# forgotten, every file that git knows must be there.
distcheck-hook:
	@! git -C $(top_srcdir) ls-files 2>/dev/null | grep -v '^\.gitignore$$\|^\.ci/' | \
	    (cd $(distdir) && while read -r file; do test -e "$$file" || echo "not in the tarball: $$file"; done) | grep .

# Lines of emu/, and branches of emu/select, where a decision is a branch, that
# these tests reach, and no more of make check; of layers, which cost most and
# repeat what their parts do, fewer cases. The ceilings are from below. The
# programs are those of the build, linked with an emulator that counts.
if MXO_CHECK
EXTRA_PROGRAMS += covered/unit_tests covered/mxoracle
covered_unit_tests_SOURCES =
covered_unit_tests_LDFLAGS = $(unit_tests_LDFLAGS) --coverage
covered_unit_tests_LDADD = $(unit_tests_OBJECTS) $(unit_tests_LDADD:libmxoracle.la=libcovered.la)
EXTRA_covered_unit_tests_DEPENDENCIES = $(unit_tests_OBJECTS) libjudge.la libbroken.la libcovered.la
covered_mxoracle_SOURCES =
covered_mxoracle_LDFLAGS = $(mxoracle_LDFLAGS) --coverage
covered_mxoracle_LDADD = $(mxoracle_OBJECTS) $(mxoracle_LDADD:libmxoracle.la=libcovered.la)
EXTRA_covered_mxoracle_DEPENDENCIES = $(mxoracle_OBJECTS) libjudge.la libcovered.la
lcov_branches = $(LCOV) -q --rc lcov_branch_coverage=1
covered = $(AM_TESTS_ENVIRONMENT) top_builddir=covered; CK_FORK=no; export CK_FORK; \
	hold() { "$$@" >covered/said 2>&1 && ! grep '^not ok' covered/said || { grep -A 5 '^not ok' covered/said; exit 1; }; }
coverage: all
	$(MAKE) CFLAGS=-O1 covered/unit_tests$(EXEEXT) covered/mxoracle$(EXEEXT)
	find emu -name '*.gcda' -exec rm -f {} +
	$(covered); hold covered/unit_tests; hold $(top_srcdir)/conformance/tests/judge/select.test
	covered/mxoracle run -q -b emu --level=1
	covered/mxoracle run -q -b emu --shard=1/20 -o '[!m]*' -o 'm[am]*' -o 'moe.[fgps]*'
	covered/mxoracle run -q -b emu --shard=1/200 -o 'moe.*layer*'
	$(lcov_branches) --capture --directory emu --output-file coverage.info
	$(lcov_branches) --extract coverage.info '*/emu/*' --output-file coverage-emu.info
	$(lcov_branches) --extract coverage.info '*/emu/select/*' --output-file coverage-select.info
	-test -z "$(GENHTML)" || $(GENHTML) -q coverage-emu.info --output-directory coverage-html
	$(LCOV) --summary coverage-emu.info 2>&1 | tee coverage.txt
	$(AWK) '/lines/ { sub("%", "", $$2); rate = $$2 } \
	    END { if (rate < 95) { print "emu/ line coverage " rate " % is below 95 %"; exit 1 } }' coverage.txt
	$(LCOV) --rc lcov_branch_coverage=1 --summary coverage-select.info 2>&1 | tee coverage.txt
	$(AWK) '/branches/ { sub("%", "", $$2); rate = $$2 } \
	    END { if (rate < 95) { print "emu/select branch coverage " rate " % is below 95 %"; exit 1 } }' coverage.txt
endif
