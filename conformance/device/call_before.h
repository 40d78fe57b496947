/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of another operation beside the one that is judged: what a subject
 * keeps of one operation, and takes for that of another, is spoilt by it.  Its
 * own answer is fetched, as it stands behind another operation, too.
 */
#ifndef MXO_CALL_BEFORE_H
#define MXO_CALL_BEFORE_H

#include "device_buffers.h"

typedef struct call_before {
    op_call call;
    tensor_set *out;  /* shaped by the oracle; its answer */
    const char *name; /* its case */
    int legal_only;   /* the subject takes no such call that must be refused */
    int is_made;
    int is_answered; /* and not declined: out is its answer */
} call_before;

/* One of those beside the call, drawn by it; NULL: there is none. */
call_before *call_before_drawn(const stage *g);
/* Its tensors, with their bytes.  To be released, whatever the status is. */
mxo_status call_before_place(stage *g, subject *s, call_before *b,
                             mxo_text why);
/* Make it; the status is the backend's. */
mxo_status call_before_make(subject *s, call_before *b, mxo_text why);
/* Words behind what was seen first (checked_run.h), and its case. */
void call_before_add_words(const char *words, const call_before *b,
                           mxo_status status, run_checks *d, mxo_text why);

#endif
