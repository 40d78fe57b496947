/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of other operations beside the one that is judged, one of each in
 * other_operation.def: which is drawn by the case, so that over a grid each
 * stands behind all others.  They are made on data, and their own answers have
 * to be right, as they then stand behind the operation of the case.
 */
#ifndef MXO_OTHER_OPERATION_H
#define MXO_OTHER_OPERATION_H

#include "device/call_before.h"
#include "judge.h"

typedef struct other_operations other_operations;

typedef struct other_operation {
    test_case c;
    char name[SUBJECT_TEXT]; /* its text */
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in;
    tensor_set want;  /* the oracle's answer */
    tensor_set right; /* the subject's, behind itself */
    tensor_set got;   /* the subject's, behind the case */
    call_before before;
    int is_proven; /* right is the subject's answer */
    int is_bad;    /* it has none */
} other_operation;

/* The most beside one call; what is in a list is borrowed. */
enum { OTHER_MOST = 20 };
typedef struct other_list {
    int n;
    other_operation *at[OTHER_MOST];
    call_before *before[OTHER_MOST]; /* of these */
} other_list;

/* Which rows of other_operation.def stand before a case whose inputs have so
   many bytes: their number.  Where the subject lacks one the next is taken. */
int other_operation_draw(const test_case *c, uint64_t n_bytes,
                         int row[OTHER_MOST]);

/* Those that the case draws, or j->beside alone; none: it is not worth its
   time. */
void other_operations_for(judge *j, const test_case *c, const tensor_set *in,
                          other_list *list);

/* Behind the case, once: twice in a row, without any call between.  0: what
   it declines, fails or answers wrongly then is no call to stand beside
   others. */
int other_operation_prove(judge *j, other_operation *o);

/* Was the answer beside the case right?  0: what says which elements differ. */
int other_operation_is_right(judge *j, other_operation *o, mxo_text what);

void other_operations_free(other_operations **o);

#endif
