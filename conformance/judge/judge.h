/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call on one backend: the answer of the oracle, the answer of the subject,
 * a verdict and its evidence.  Explanations are run/case_run.h's.
 */
#ifndef MXO_JUDGE_H
#define MXO_JUDGE_H

#include "case/case_text.h"
#include "compare.h"
#include "device/device_under_test.h"
#include "verdict.h"

typedef struct judge {
    subject oracle;
    subject subject;
    int promises;   /* limits declared: declining within them is red */
    int legal_only; /* declared: it takes no call that must be refused */
    int is_brief;   /* what is red is not explained */
    /* Does the subject take a case?  NULL: any. */
    int (*takes)(void *taker, const test_case *c);
    /* Bring a case within what it takes; 0: there is none.  NULL: as above. */
    int (*bring_within)(void *taker, subject *oracle, test_case *c);
    void *taker;                         /* borrowed */
    struct other_operations *operations; /* owned; NULL: none yet */
    char beside[OP_WORD]; /* the one operation to put beside cases; "": those
                             that they draw */
    /* Of the case in hand, the inputs before a loader had them; NULL: only
       those of the call are known. */
    const tensor_set *checkpoint;
} judge;

/* Exact results and what may be lost, or both ends, per element; see
   bound.h. */
typedef struct bound_set {
    uint64_t n;
    double *y;     /* owned, as the others; float64, nearest */
    double *limit; /* before the conversion to the output; NULL: ends */
    double *low;   /* ends in the output's type; NULL: limits */
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
    const run_checks *doubts;
    uint32_t output; /* the first output that differs */
    comparison diff; /* of that output */
    const compare_rule *rule;
    bound_set bound; /* of that output; y is NULL if bits are compared */
} evidence;

/* Findings of the two runs as a red verdict; 0 if there are none. */
int doubts_are_red(const run_checks *d, verdict *v);
/* Findings of two runs beside bytes, in a sentence; 0 if there are none. */
int judge_doubts(const run_checks *d, mxo_text why);

/* The oracle is opened too. Status and sentence are the subject's. */
mxo_status judge_open(judge *j, const mxo_backend *table, int device,
                      mxo_text why);
/* A subject that is open already, in a process of its own. */
mxo_status judge_attach(judge *j, const mxo_backend *table, void *ctx,
                        const subject_link *link, mxo_text why);
void judge_close(judge *j);

/* A call that was judged; whatever the evidence points to, it outlives. */
typedef struct judgement {
    evidence evidence;
    op_call call;
    mxo_param params[OP_MAX_PARAMS];
    run_checks doubts;
    int differs;      /* the evidence names an output that differs */
    int has_evidence; /* outputs were compared, and the verdict is red */
} judgement;

/* A case begins; 0: its subject is not there, and v says so. */
int judge_begins(const judge *j, verdict *v);

/* The verdict on given inputs, in the order of the operation.  The answers of
   the oracle and of the subject are added to empty sets.  v is filled in
   whatever happens; verdict_clear() it, and judgement_clear() the rest. */
void judge_answer(judge *j, const test_case *c, const tensor_set *in,
                  tensor_set *want, tensor_set *got, judgement *g, verdict *v);
void judgement_clear(judgement *g);

/* Are these the outputs of a legal call, by its rules?  0: what says which
   elements differ.  got may be brought into the oracle's order. */
int judge_accepts(judge *j, const test_case *c, const op_call *call,
                  const tensor_set *want, tensor_set *got, mxo_text what);

/* The verdict alone. */
void judge_inputs(judge *j, const test_case *c, const tensor_set *in,
                  verdict *v);

#endif
