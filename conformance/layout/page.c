/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a layout in docs/layouts: generated, never edited. */
#include "explain.h"

#include <inttypes.h>
#include <string.h>

static void add_needs(const mxo_layout_row *row, strbuf *out)
{
    if (row->needs[0] == '\0') {
        strbuf_add(out, "Needs: whole tiles on the axes that the map does not "
                        "pad (no `^`).\n\n");
        return;
    }
    strbuf_add(out, "Needs, each to be 0, or the vendor's code refuses:\n\n"
                    "```\n");
    for (const char *p = row->needs; *p != '\0';) {
        const size_t n = strcspn(p, ";");
        strbuf_add(out, "%.*s\n", (int)n, p);
        p += n;
        p += strspn(p, "; ");
    }
    strbuf_add(out, "```\n\n");
}

void explain_page(const explained *e, strbuf *out)
{
    const mxo_layout_row *row = e->l.row;

    strbuf_add(out,
               "<!-- SPDX-License-Identifier: Apache-2.0; made by "
               "ci/layout-pages -->\n# %s\n\n%s.\n\n```\n%s\n```\n\n",
               row->id, row->summary, row->map);
    strbuf_add(out, "Elements of %s bits%s%s%s%s%s.\n\n", row->bits,
               strcmp(row->values, "keep") == 0 ? "" : "; values: ",
               strcmp(row->values, "keep") == 0 ? "" : row->values,
               row->params[0] == '\0' ? "" : "; parameters: `", row->params,
               row->params[0] == '\0' ? "" : "`");
    if (row->where[0] != '\0') {
        strbuf_add(out, "Derived: `%s`.\n\n", row->where);
    }
    add_needs(row, out);
    strbuf_add(out,
               "Source: %s. [Notation](../design/005-layout-notation.md), "
               "[all layouts](README.md).\n\n![%s](%s.svg)\n\n```\n",
               row->source, row->id, row->id);
    explain_text(e, 0, out);
    explain_grid(e, 80, out);
    explain_runs(e, 80, out);
    strbuf_add(out, "```\n");
}
