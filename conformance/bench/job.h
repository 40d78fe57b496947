/* SPDX-License-Identifier: Apache-2.0 */
/* A case set up to be timed, as its two files see it: job.c sets it up and
   checks it, timing.c takes samples. */
#ifndef MXO_BENCH_JOB_H
#define MXO_BENCH_JOB_H

#include "bench.h"
#include "layer.h"

#include "judge/bound.h"

#include <stdint.h>

enum { JOB_MAX_OUT = 16 };

struct bench_job {
    judge *j;
    const test_case *c;
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in;   /* of the case as written */
    tensor_set want; /* the emulator's answer to it */
    bound_set bound; /* of y where bounds decide; else y is NULL */
    double emu;      /* seconds it needed */
    uint64_t repeats;
    bench_layer layer; /* how a layer grows; zeros: it is none */
    uint64_t bytes;
    mxo_tensor big_in[MXO_MAX_TENSORS];
    mxo_tensor big_out[JOB_MAX_OUT];
    mxo_tensor workspace; /* as the subject wants it */
    mxo_call call;        /* the large form */
    int is_declined;      /* the subject does not take so much */
    char *copy_from;      /* owned; NULL if the device copies for itself */
    char *copy_to;
};

static inline const mxo_backend *table_of(const bench_job *job)
{
    return job->j->subject.table;
}

/* Does the subject time itself and a copy? */
int bench_has_own_clock(const bench_job *job);
/* The large form, once, to its end. 0, or -1 and a sentence. */
int bench_run_once(bench_job *job, mxo_text why);
/* Overwrite bytes of the first so many parts of the outputs. 0, or -1 and a
   sentence. */
int bench_spoil_outputs(bench_job *job, uint64_t parts, mxo_text why);
/* Whether the outputs of the large form are the judged ones. 0, or -1 and a
   sentence. */
int bench_check_large(bench_job *job, mxo_text why);
/* A tensor as the host's, its first dimension repeated. */
void bench_describe(mxo_tensor *t, const host_tensor *h, uint64_t repeats);

#endif
