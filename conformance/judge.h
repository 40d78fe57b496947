/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case on one backend: inputs from the seed, the answer of the oracle,
 * the answer of the subject, a verdict.
 */
#ifndef MXO_JUDGE_H
#define MXO_JUDGE_H

#include "casetext.h"
#include "compare.h"
#include "subject.h"
#include "verdict.h"

typedef struct judge {
    subject oracle;
    subject subject;
    int is_brief; /* verdicts without explanation and diagnosis */
    /* Of the case in hand, the inputs before a loader had them; NULL: only
       those of the call are known. */
    const tensor_set *checkpoint;
} judge;

/* Exact results and what may be lost, or both ends, per element; see
   bound.h. */
typedef struct bound_set {
    uint64_t n;
    double *y;      /* owned, as the others; float64, nearest */
    double *limit;  /* before the conversion to the output; NULL: ends */
    double *low;    /* ends in the output's type; NULL: limits */
    double *high;
    uint8_t *fails; /* 1: beyond its bound */
    int has_signs;  /* a zero that is known has the sign of its end */
} bound_set;

/* Everything a diagnosis may look at. */
typedef struct evidence {
    judge *j;
    const test_case *c;
    const op_call *call;
    const tensor_set *want;
    const tensor_set *got;
    const distrust *doubts;
    uint32_t output; /* the first output that differs */
    comparison diff; /* of that output */
    const compare_rule *rule;
    bound_set bound; /* of that output; y is NULL if bits are compared */
} evidence;

/* What the two runs showed, as a red verdict; 0 if they showed nothing. */
int doubts_are_red(const distrust *d, verdict *v);
/* What two runs showed besides bytes, in a sentence; 0 if nothing. */
int judge_doubts(const distrust *d, mxo_text why);

/* The oracle is opened too. Status and sentence are the subject's. */
mxo_status judge_open(judge *j, const mxo_backend *table, int device,
                      mxo_text why);
void judge_close(judge *j);

/* v is filled in whatever happens; verdict_clear() it. */
void judge_case(judge *j, const test_case *c, uint64_t seed, verdict *v);

/* The same on given inputs, in the order of the operation. */
void judge_inputs(judge *j, const test_case *c, const tensor_set *in,
                  verdict *v);

/* The same, and the answers of the oracle and of the subject, each added to an
   empty set. */
void judge_answer(judge *j, const test_case *c, const tensor_set *in,
                  tensor_set *want, tensor_set *got, verdict *v);

#endif
