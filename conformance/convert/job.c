/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by both directions: the rest of the checkpoint, progress, stop. */
#include "job.h"

#include "base/say.h"
#include "base/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int job_stopped(const job *j, mxo_text why)
{
    if (!j->is_stoppable || !stop_requested()) {
        return 0;
    }
    (void)say(MXO_E_DEVICE, why, "stopped by %s: %s", stop_reason(),
              j->sink.expected != NULL ? "not everything was compared"
                                       : "nothing was left behind");
    return 1;
}

int job_put(job *j, size_t i, uint64_t offset, const uint8_t *bytes,
            uint64_t n_bytes, const uint8_t *valid, mxo_text why)
{
    uint64_t at = 0;
    int bad = 0;

    do {
        const uint64_t left = n_bytes - at;
        const uint64_t n = left < JOB_PIECE ? left : JOB_PIECE;

        bad = job_stopped(j, why) ||
              sink_put(&j->sink, i, offset + at, bytes + at, n,
                       valid == NULL ? NULL : valid + at, why) != 0;
        at += n;
    } while (!bad && at < n_bytes);
    return bad ? -1 : 0;
}

/* Sizes are told in megabytes, small ones in kilobytes. */
static uint64_t unit_of(const job *j)
{
    return j->sink.n_bytes >= 10000000 ? 1000000 : 1000;
}

void job_progress_begin(job *j, int is_wanted)
{
    progress_begin(&j->progress, j->sink.n_bytes / unit_of(j), is_wanted);
    j->progress.unit = unit_of(j) == 1000 ? " kB" : " MB";
    progress_tick(&j->progress);
}

void job_progress(job *j)
{
    const double spent_s = clock_s() - j->progress.start_s;
    const double rate = spent_s > 0 ? (double)j->sink.done / 1e6 / spent_s : 0;
    char text[32];

    (void)snprintf(text, sizeof text, "%.3g %s/s",
                   rate < 999.5 ? rate : rate / 1000,
                   rate < 999.5 ? "MB" : "GB");
    progress_show(&j->progress, j->sink.done / unit_of(j), j->sink.n_red, text);
}

void job_progress_end(job *j)
{
    progress_end(&j->progress);
}

uint64_t job_experts_at_a_time(const job *j, const layer_part *p)
{
    const uint64_t most = j->is_slow ? 0 : (uint64_t)48 << 20; /* of w13 */
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
            if (job_stopped(j, why) ||
                sink_put(&j->sink, i, at, t->bytes + at, n, NULL, why) != 0) {
                return -1;
            }
            checkpoint_forget(t->bytes + at, n);
            job_progress(j);
        }
    }
    return 0;
}

void job_clear(job *j)
{
    layers_clear(&j->layers);
    mover_close(&j->mover);
    sink_close(&j->sink);
    free(j->back_part);
    j->back_part = NULL;
    free(j->first_output);
    j->first_output = NULL;
    free(j->first_global);
    j->first_global = NULL;
}
