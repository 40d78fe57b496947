/* SPDX-License-Identifier: Apache-2.0 */
/* What both directions share: the rest of the checkpoint, progress, stop. */
#include "job.h"

#include "base/cli.h"
#include "base/progress.h"
#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_LINE = 128 };

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

/* "42% 29.1 GB 1.95 GB/s 0:12 left 0:20": below 40 columns. */
static void progress_text(const job *j, double spent_s, char *line, size_t size)
{
    const double n = (double)j->sink.n_bytes;
    const double share = n > 0 ? (double)j->sink.done / n : 1;
    const double rate = (double)j->sink.done / 1e6 / spent_s;
    char spent[PROGRESS_CLOCK];
    char left[PROGRESS_CLOCK];

    progress_clock(spent, sizeof spent, spent_s);
    progress_clock(left, sizeof left,
                   share > 0 ? spent_s * (1 - share) / share : 0);
    (void)snprintf(line, size, "%.0f%% %.3g GB %.3g %s/s %s left %s",
                   share * 100, n / 1e9, rate < 999.5 ? rate : rate / 1000,
                   rate < 999.5 ? "MB" : "GB", spent, left);
}

void job_progress(const job *j, int last)
{
    static double shown;
    const double t = now();
    const double spent_s = t - j->start_s;
    char line[LONGEST_LINE];

    if (j->quiet || !isatty(STDERR_FILENO) || spent_s < 2 ||
        (!last && t - shown < 0.1)) {
        return;
    }
    shown = t;
    progress_text(j, spent_s, line, sizeof line);
    (void)fprintf(stderr, "\r\033[K%.*s", cli_columns(stderr) - 1, line);
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
