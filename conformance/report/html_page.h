/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page of a run; see report_html.c. */
#ifndef MXO_HTML_PAGE_H
#define MXO_HTML_PAGE_H

#include "causes.h"
#include "changes.h"
#include "report.h"

/* Text with what HTML reads as markup escaped. */
void html_text(FILE *out, const char *text);
void html_open(FILE *out, const report_run *run, const tally *t);
/* Operations by backends: judged, red, not judged, required. */
void html_matrix(FILE *out, const report_run *run, const tally *t);
void html_causes(FILE *out, const cause_list *causes);
/* What has changed since an older run. */
void html_changes(FILE *out, const changes *c);
void html_bounds(FILE *out, const tally *t);
void html_left_out(FILE *out, const tally *t);
void html_environment(FILE *out, const report_run *run);

#endif
