/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explaining a difference: where it is, what the codes mean, which known
 * mistake makes exactly these bytes.  What an output's elements are is a row
 * of judge/views.def; the mistakes are tried on the oracle, through the ABI.
 */
#ifndef MXO_DIAGNOSE_H
#define MXO_DIAGNOSE_H

#include "base/strbuf.h"
#include "judge/judge.h"
#include "judge/views.h"

/* Lines about the output that differs first: counts, the first wrong element
   decoded, a window of both byte streams. */
void diagnose(const evidence *e, strbuf *lines);
/* Where the first output that differs is wrong, for a picture; see
   diff_location_map in diff_location.h.  The caller frees it. */
char *diagnose_map(const evidence *e);

/* The tensor that output `got` of a layout operation moved, and the name of
   the layout; NULL: it moved none. */
const host_tensor *explain_moved(const evidence *e, const host_tensor *got,
                                 char layout[160]);

/* The known mistake that gives exactly the actual output, or that not all were
   tried (explain_work.h); 0 if all were, and none does. */
int explain(const evidence *e, char *text, size_t size);

#endif
