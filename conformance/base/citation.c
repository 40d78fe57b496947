/* SPDX-License-Identifier: Apache-2.0 */
/* See citation.h. */
#include "citation.h"

#include <ctype.h>
#include <string.h>

static const char *const pages[] = {
    "activation-vllm",
    "bugs",
    "engines",
    "hopper-measured",
    "layouts-aiter",
    "layouts-deepgemm",
    "layouts-flashinfer",
    "layouts-triton",
    "layouts-vllm",
    "numerics",
    "profiles-nvidia",
    "profiles-other",
    "selection",
    "selection-2026-09",
    "triton-kernels-h200",
};

enum { N_PAGES = sizeof pages / sizeof *pages };

static size_t word_length(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '-') {
        n++;
    }
    return n;
}

/* A page's name counts only before a section: "numerics 6.1". */
static int is_citation(const char *word, size_t n)
{
    if (word[n] != ' ' || !isdigit((unsigned char)word[n + 1])) {
        return 0;
    }
    for (int i = 0; i < N_PAGES; i++) {
        if (strlen(pages[i]) == n && strncmp(pages[i], word, n) == 0) {
            return 1;
        }
    }
    return 0;
}

void citation_add(strbuf *to, const char *source, citation_form form)
{
    while (*source != '\0') {
        const size_t n = word_length(source);
        if (n == 0) {
            strbuf_add(to, "%c", *source++);
            continue;
        }
        if (!is_citation(source, n)) {
            strbuf_add(to, "%.*s", (int)n, source);
        } else if (form == CITATION_PATH) {
            strbuf_add(to, "docs/sources/%.*s.md", (int)n, source);
        } else {
            strbuf_add(to, "[%.*s](sources/%.*s.md)", (int)n, source, (int)n,
                       source);
        }
        source += n;
    }
}
