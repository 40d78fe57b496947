/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed since an older run, as part of a page; see html_page.h. */
#include "html_page.h"

#include <inttypes.h>

enum { LISTED = 100 };

static const char *status_name(verdict_status status)
{
    return status == N_VERDICTS ? "not there" : verdict_name(status);
}

static void say_row(FILE *out, const change *c)
{
    fputs("<tr><th scope=row>", out);
    html_text(out, c->backend);
    fputs("</th><td><code>", out);
    html_text(out, c->case_text);
    fputs("</code></td><td>", out);
    if (!c->has_no_seed) {
        fprintf(out, "%" PRIu64, c->seed);
    }
    if (c->kind == CHANGE_SLOWER) {
        fprintf(out, "</td><td>%.3g ms</td><td>%.3g ms</td><td>", c->was_ms,
                c->ms);
    } else {
        fprintf(out, "</td><td>%s</td><td>%s</td><td>", status_name(c->was),
                status_name(c->is));
    }
    html_text(out, c->reason);
    fputs("</td></tr>", out);
}

static void say_kind(FILE *out, const changes *c, change_kind kind)
{
    uint64_t n = 0;

    fprintf(out,
            "<details%s><summary><strong%s>%" PRIu64 "</strong> %s</summary>"
            "<div class=scroll tabindex=0 role=region aria-label=\"%s\">"
            "<table class=words><thead><tr><th scope=col>backend</th>"
            "<th scope=col>case</th><th scope=col>seed</th><th scope=col>was"
            "</th><th scope=col>is</th><th scope=col>reason</th></tr></thead>"
            "<tbody>",
            kind == CHANGE_NEWLY_RED ? " open" : "",
            kind == CHANGE_NEWLY_RED || kind == CHANGE_RED_OTHERWISE
                ? " class=red"
                : "",
            c->count[kind], change_title(kind), change_title(kind));
    for (size_t i = 0; i < c->n && n < LISTED; i++) {
        if (c->item[i].kind == kind) {
            say_row(out, &c->item[i]);
            n++;
        }
    }
    fputs("</tbody></table></div>", out);
    if (c->count[kind] > n) {
        fprintf(out, "<p>and %" PRIu64 " more</p>", c->count[kind] - n);
    }
    fputs("</details>", out);
}

void html_changes(FILE *out, const changes *c)
{
    fputs("<h2>Since an older run</h2><p>Held against ", out);
    html_text(out, c->against);
    if (c->n_files > 1) {
        fprintf(out, " and %d more", c->n_files - 1);
    }
    fprintf(out, ": %s.</p>",
            c->n == 0 ? "nothing has changed" : "these have changed");
    for (int kind = 0; kind < N_CHANGES; kind++) {
        if (c->count[kind] > 0) {
            say_kind(out, c, (change_kind)kind);
        }
    }
}
