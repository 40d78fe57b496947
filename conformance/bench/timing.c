/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a case that is set up: of the backend, its rival and a copy in
   turn.  See bench.h. */
#include "gemm.h"
#include "job.h"

#include <stdio.h>
#include <string.h>

enum { MIN_SAMPLES = 3, EMU_RUNS = 3 };

/* An emulator that needs longer than these seconds is timed once. */
static const double emu_is_slow = 0.5;

typedef struct samples {
    double op[BENCH_MAX_SAMPLES];
    double rival[BENCH_MAX_SAMPLES];
    double copy[BENCH_MAX_SAMPLES];
} samples;

int bench_has_own_clock(const bench_job *job)
{
    return table_of(job)->time != NULL && table_of(job)->time_copy != NULL;
}

int bench_run_once(bench_job *job, mxo_text why)
{
    const mxo_backend *b = table_of(job);
    void *ctx = job->j->subject.ctx;
    const mxo_status status = b->run(ctx, &job->call, why);

    job->is_declined = status == MXO_E_UNSUPPORTED;
    return status == MXO_OK && b->synchronize(ctx, why) == MXO_OK ? 0 : -1;
}

/* Seconds of one run, by the subject's clock or by ours. */
static int sample_run(bench_job *job, double *seconds, mxo_text why)
{
    if (bench_has_own_clock(job)) {
        return table_of(job)->time(job->j->subject.ctx, &job->call, 1, seconds,
                                   why) == MXO_OK
                   ? 0
                   : -1;
    }
    const double start = bench_now();
    const int status = bench_run_once(job, why);

    *seconds = bench_now() - start;
    return status;
}

/* And of copying as many bytes. */
static int sample_copy(bench_job *job, int threads, double *seconds,
                       mxo_text why)
{
    if (bench_has_own_clock(job)) {
        return table_of(job)->time_copy(job->j->subject.ctx, job->bytes / 2, 1,
                                        seconds, why) == MXO_OK
                   ? 0
                   : -1;
    }
    *seconds = bench_copy(job->copy_to, job->copy_from, job->bytes / 2,
                          threads < 1 ? 1 : threads);
    return 0;
}

/* A program without buffers of its own times its device, and need not bring
   back what that has made. */
static int shows_what_it_times(const bench_job *job)
{
    const subject_link *link = job->j->subject.link;

    return link == NULL || link->has_runs || !bench_has_own_clock(job);
}

/* One run on outputs that are not there yet: who keeps its answer while nothing
   is sent would be timed for that. */
static int sample_anew(bench_job *job, double *seconds, mxo_text why)
{
    if (shows_what_it_times(job) && bench_spoil_outputs(job, 1, why) != 0) {
        return -1;
    }
    return sample_run(job, seconds, why);
}

/* Sample i of everything. */
static int sample(bench_job *job, bench_job *rival, int threads, samples *s,
                  int i, mxo_text why)
{
    int status = sample_anew(job, &s->op[i], why);

    if (status == 0 && rival != NULL) {
        status = sample_anew(rival, &s->rival[i], why);
    }
    return status == 0 ? sample_copy(job, threads, &s->copy[i], why) : status;
}

/* What is timed is the work, to its end: once more, on outputs that are not
   there yet. */
static int check_timed(bench_job *job, mxo_text why)
{
    char what[384];
    double unused;

    if (!shows_what_it_times(job)) {
        return 0;
    }
    if (bench_spoil_outputs(job, job->repeats, why) != 0 ||
        sample_run(job, &unused, why) != 0) {
        return -1;
    }
    if (bench_check_large(job, (mxo_text){what, sizeof what}) == 0) {
        return 0;
    }
    (void)snprintf(why.ptr, why.size, "when it is timed, %s", what);
    return -1;
}

/* Seconds of the emulator for the case as written, times the repeats. */
static double emulator_time(bench_job *job)
{
    const subject *oracle = &job->j->oracle;
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor out[JOB_MAX_OUT];
    mxo_call call = job->call;
    double best = job->emu;

    for (uint32_t i = 0; i < call.n_in; i++) {
        bench_describe(&in[i], &job->in.t[i], 1);
        in[i].buffer = job->in.t[i].data;
    }
    for (uint32_t i = 0; i < call.n_out; i++) {
        bench_describe(&out[i], &job->want.t[i], 1);
        out[i].buffer = job->want.t[i].data;
    }
    call.in = in;
    call.out = out;
    for (int run = 0; run < EMU_RUNS && job->emu < emu_is_slow; run++) {
        const double start = bench_now();
        (void)oracle->table->run(oracle->ctx, &call, (mxo_text){NULL, 0});
        const double s = bench_now() - start;
        best = s < best ? s : best;
    }
    return best * (double)job->repeats;
}

static void set_threads(bench_job *job, int threads)
{
    const mxo_backend *const b = table_of(job);

    if (b->set_threads != NULL) {
        b->set_threads(job->j->subject.ctx, threads);
    }
}

static void name_kernel(bench_job *job, mxo_text name)
{
    const mxo_backend *const b = table_of(job);

    if (b->kernel != NULL) {
        b->kernel(job->j->subject.ctx, name);
    }
}

/* Fields of a row beside its times. */
static void describe_row(bench_job *job, bench_job *rival, int threads,
                         const bench_options *o, bench_row *row)
{
    row->threads = table_of(job)->set_threads != NULL ? threads : 0;
    row->repeats = job->repeats;
    row->bytes = job->bytes;
    row->elements = bench_elements(job->c) * job->repeats;
    row->macs = bench_macs(job->c) * job->repeats;
    name_kernel(job, (mxo_text){row->kernel, sizeof row->kernel});
    if (rival != NULL) {
        row->rival_name = table_of(rival)->name;
        name_kernel(rival,
                    (mxo_text){row->rival_kernel, sizeof row->rival_kernel});
    }
    if (!o->no_gemm && !bench_has_own_clock(job)) {
        gemm_rate_row(row, job->c, &job->in, threads < 1 ? 1 : threads);
    }
    row->emu = emulator_time(job);
    if (job->layer.experts > 0) {
        bench_layer_rate(&job->layer, job->c,
                         &(rival == NULL ? job : rival)->j->subject, row);
    }
}

int bench_time(bench_job *job, bench_job *rival, int threads,
               const bench_options *o, bench_row *row, mxo_text why)
{
    samples s;
    int n = 0;

    memset(row, 0, sizeof *row);
    set_threads(job, threads);
    if (rival != NULL) {
        set_threads(rival, threads);
    }
    if (sample(job, rival, threads, &s, 0, why) != 0) {
        return -1;
    }
    const double start = bench_now();
    while (n < o->samples && n < BENCH_MAX_SAMPLES &&
           (n < MIN_SAMPLES || bench_now() - start < o->box_s)) {
        if (sample(job, rival, threads, &s, n, why) != 0) {
            return -1;
        }
        n++;
    }
    if (check_timed(job, why) != 0 ||
        (rival != NULL && check_timed(rival, why) != 0)) {
        return -1;
    }
    describe_row(job, rival, threads, o, row);
    if (rival != NULL) {
        bench_compare(row, s.op, s.rival, n);
    }
    bench_summarise(row, s.op, s.copy, n);
    return 0;
}
