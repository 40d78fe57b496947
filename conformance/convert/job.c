/* SPDX-License-Identifier: Apache-2.0 */
/* What both directions share: the rest of the checkpoint, progress, stop. */
#include "job.h"

#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

volatile int job_interrupted;

int job_stopped(mxo_text why)
{
    if (job_interrupted) {
        (void)say(MXO_E_DEVICE, why, "interrupted: nothing was left behind");
    }
    return job_interrupted;
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double job_now(void)
{
    return now();
}

/* " 42%   12.30 of 29.10 GB  1.95 GB/s": 40 columns at most. */
void job_progress(const job *j, int last)
{
    static double shown;
    const double t = now();
    const double spent_s = t - j->start_s;
    const double n = (double)j->sink.n_bytes;
    const double share = n > 0 ? (double)j->sink.done / n : 1;

    if (j->quiet || !isatty(STDERR_FILENO) || spent_s < 2 ||
        (!last && t - shown < 0.1)) {
        return;
    }
    shown = t;
    (void)fprintf(stderr, "\r\033[K%3.0f%% %7.2f of %.2f GB %5.2f GB/s",
                  share * 100, (double)j->sink.done / 1e9, n / 1e9,
                  (double)j->sink.done / 1e9 / spent_s);
    (void)fputs(last ? "\r\033[K" : "", stderr);
}

uint64_t job_experts_at_a_time(const layer_part *p)
{
    const uint64_t most = (uint64_t)48 << 20; /* bytes of w13 */
    const uint64_t each = part_rows(p, W13) * part_row_bytes(p, W13);
    const uint64_t n = each == 0 ? 1 : most / each;

    return n < 1 ? 1 : n < p->experts ? n : p->experts;
}

int job_plan_rest(job *j, mxo_text why)
{
    j->first_rest = j->sink.n;
    for (size_t i = 0; i < j->in->n; i++) {
        const checkpoint_tensor *t = &j->in->tensor[i];
        if (j->layers.owned[i]) {
            continue;
        }
        if (sink_add(&j->sink, t->name, t->dtype, t->rank, t->shape,
                     t->n_bytes) == SIZE_MAX) {
            (void)say(MXO_E_NOMEM, why, "no memory");
            return -1;
        }
    }
    return 0;
}

int job_copy_rest(job *j, mxo_text why)
{
    const uint64_t piece = (uint64_t)16 << 20;

    for (size_t i = j->first_rest; i < j->sink.n; i++) {
        const checkpoint_tensor *t =
            checkpoint_find(j->in, j->sink.tensor[i].name);
        for (uint64_t at = 0; at < t->n_bytes; at += piece) {
            const uint64_t left = t->n_bytes - at;
            const uint64_t n = left < piece ? left : piece;
            if (job_stopped(why) ||
                sink_put(&j->sink, i, at, t->bytes + at, n, NULL, why) != 0) {
                return -1;
            }
            checkpoint_forget(t->bytes + at, n);
            job_progress(j, 0);
        }
    }
    return 0;
}

void job_clear(job *j)
{
    layers_clear(&j->layers);
    mover_close(&j->mover);
    sink_close(&j->sink);
    free(j->first_output);
    j->first_output = NULL;
    free(j->first_global);
    j->first_global = NULL;
}
