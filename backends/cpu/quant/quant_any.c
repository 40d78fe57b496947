/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx along any axis, into any order, with any padding: block by block,
 * by backends/common/mx_place.h.
 */
#include "quant_any.h"

#include "../../common/mx_place_call.h"

#include <string.h>

enum { GRAIN = 64 };

typedef struct any_job {
    const cpu_quant *quant;
    mx_place place;
    const uint8_t *x;
    uint8_t *q;
    uint8_t *scale;
    uint8_t *valid; /* NULL: not wanted */
} any_job;

static void put_codes(const any_job *job, const mx_block *b,
                      const uint8_t *code)
{
    const mx_place *p = &job->place;
    const uint32_t n = mx_count(b, p->padded);

    for (uint32_t k = 0; k < n; k += p->packed ? 2 : 1) {
        job->q[mx_code_at(p, b, k)] =
            p->packed ? (uint8_t)(code[k] | code[k + 1] << 4) : code[k];
    }
}

static void one_block(const any_job *job, const mx_block *b)
{
    const size_t size = cpu_dtype_bytes(job->quant->from);
    const uint32_t n = mx_count(b, job->place.len);
    uint8_t x[32 * sizeof(float)];
    uint8_t code[32] = {0};

    for (uint32_t k = 0; k < n; k++) {
        memcpy(x + k * size, job->x + mx_element_at(&job->place, b, k) * size,
               size);
    }
    job->scale[b->at] = n == 0 /* padding */
                            ? 0
                            : cpu_quant_block(job->quant, code, x, (int)n);
    put_codes(job, b, code);
}

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const any_job *job = arg;

    for (uint64_t t = begin; t < end; t++) {
        const mx_block b = mx_block_of(&job->place, t);

        if (b.exists) {
            one_block(job, &b);
        } else {
            job->scale[b.at] = 0;
        }
        if (job->valid != NULL) {
            job->valid[b.at] = (uint8_t)b.exists;
        }
    }
}

mxo_status cpu_quant_any(cpu_context *ctx, const mxo_call *call,
                         const cpu_quant *quant, mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *q = call_out(call, "q");
    const mxo_tensor *scale = call_out(call, "scale");
    const mxo_tensor *valid = call_out(call, "scale_valid");
    const int packed = quant->element->bits == 4;
    any_job job = {.quant = quant};
    uint64_t shape[MXO_MAX_RANK];

    MXO_TRY(mx_place_make(call, &job.place, packed,
                          (quant->flags & CPU_Q_SHORT) != 0, why));
    MXO_TRY(cpu_want(x, "x", quant->from, x->rank, x->shape, why));
    memcpy(shape, x->shape, sizeof shape);
    shape[mx_axis(call, x)] = job.place.padded / (packed ? 2 : 1);
    MXO_TRY(cpu_want(q, "q", quant->element->dtype, x->rank, shape, why));
    const uint32_t rank = mx_scale_shape(call, &job.place, shape);

    MXO_TRY(cpu_want(scale, "scale", MXO_E8M0, rank, shape, why));
    if (job.place.sf.holes) {
        MXO_TRY(cpu_want(valid, "scale_valid", MXO_U8, rank, shape, why));
        job.valid = cpu_data(valid);
    }
    job.x = cpu_data(x);
    job.q = cpu_data(q);
    job.scale = cpu_data(scale);
    cpu_split(ctx, job.place.n, GRAIN, span, &job);
    cpu_name_kernel(ctx, "quant_any", cpu_threads(ctx, job.place.n, GRAIN));
    return MXO_OK;
}
