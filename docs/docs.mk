# SPDX-License-Identifier: Apache-2.0
# The page lists the options that the program itself lists.
man_MANS = mxoracle.1
mxoracle.1: $(top_srcdir)/%reldir%/mxoracle.1.in \
		$(top_srcdir)/ci/man-page mxoracle$(EXEEXT)
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/ci/man-page ./mxoracle$(EXEEXT) \
		$(top_srcdir)/%reldir%/mxoracle.1.in >$@-t && mv $@-t $@
CLEANFILES += mxoracle.1 mxoracle.1-t
bashcompletion_DATA = %reldir%/mxoracle.bash
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = %reldir%/_mxoracle
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = %reldir%/mxoracle.fish
EXTRA_DIST += $(bashcompletion_DATA) %reldir%/mxoracle.1.in \
	%reldir%/adding-a-backend.md \
	%reldir%/adding-an-op.md \
	%reldir%/data.md \
	%reldir%/debugging.md \
	%reldir%/design \
	%reldir%/converting.md \
	%reldir%/exec-protocol.md \
	%reldir%/formats.md \
	%reldir%/fuzzing.md \
	%reldir%/judging-python.md \
	%reldir%/layouts \
	%reldir%/log \
	%reldir%/systems.md \
	%reldir%/trust.md \
	%reldir%/unknown.md \
	%reldir%/ops \
	%reldir%/profiles.md \
	%reldir%/reading-results.md \
	%reldir%/reports.md \
	%reldir%/reports.schema.json \
	%reldir%/results \
	%reldir%/selection.md \
	%reldir%/sources \
	%reldir%/vectors.md \
	%reldir%/verdicts

# The pages, installed as they lie here, so that relative links hold.
install-data-local:
	cd $(top_srcdir)/%reldir% && find . -name '*.md' -o -name '*.svg' -o \
		-name '*.json' | while read -r page; do \
		$(MKDIR_P) "$(DESTDIR)$(docdir)/docs/$$(dirname "$$page")" && \
		$(INSTALL_DATA) "$$page" "$(DESTDIR)$(docdir)/docs/$$page" || exit 1; \
	done
# The examples lie beside them, not in a tree of sources.
install-data-hook:
	cd "$(DESTDIR)$(docdir)" && for page in example/README.md docs/*.md; do \
		sed 's|\](\.\./\.\./docs/|](../docs/|g; s|\](\.\./backends/example/|](../example/|g' \
			"$$page" >page.new && { cmp -s page.new "$$page" || \
			$(INSTALL_DATA) page.new "$$page"; } || exit 1; \
	done && rm -f page.new
uninstall-local:
	rm -rf "$(DESTDIR)$(docdir)/docs"
