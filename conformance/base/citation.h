/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Citations as a reader can open them.  Tables say "layouts-vllm 4.8": page
 * and section; printed, that is docs/sources/layouts-vllm.md and the section.
 */
#ifndef MXO_CITATION_H
#define MXO_CITATION_H

#include "strbuf.h"

typedef enum citation_form {
    CITATION_PATH, /* docs/sources/layouts-vllm.md 4.8 */
    CITATION_LINK  /* [layouts-vllm](sources/layouts-vllm.md) 4.8 */
} citation_form;

/* Appends source with every page name spelled out; other words stay. */
void citation_add(strbuf *to, const char *source, citation_form form);

#endif
