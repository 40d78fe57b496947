/* SPDX-License-Identifier: Apache-2.0 */
/* quant.static: FP8 under one float that is given, elements split among
   threads.  docs/ops/quant.static.md */
#include "cpu.h"
#include "number.h"
#include "quant.h"

#include <string.h>

enum { GRAIN = 1 << 14 };

typedef struct static_job {
    cpu_quant quant;
    const mxo_tensor *x;
    uint8_t *q;
    float scale;
    int is_reciprocal;
} static_job;

static float load(const static_job *job, uint64_t i)
{
    const uint8_t *const x = cpu_data(job->x);
    uint16_t half;
    float single;

    if (job->quant.from == MXO_F32) {
        memcpy(&single, x + 4 * i, sizeof single);
        return single;
    }
    memcpy(&half, x + 2 * i, sizeof half);
    return job->quant.from == MXO_BF16 ? cpu_from_bf16(half)
                                       : cpu_from_f16(half);
}

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const static_job *job = arg;
    const float inverse = 1.0f / job->scale;

    for (uint64_t i = begin; i < end; i++) {
        const float x = load(job, i);
        const float q = job->is_reciprocal ? x * inverse : x / job->scale;

        /* A NaN keeps its sign; one that numbers make has none. */
        job->q[i] =
            cpu_quant_code(&job->quant, x != x   ? x
                                        : q != q ? cpu_float(0x7fc00000u)
                                                 : q);
    }
}

mxo_status cpu_quant_static(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    static_job job = {.x = call_in(call, "x")};
    const mxo_tensor *scale = call_in(call, "scale");
    const cpu_element *e = cpu_element_of(call_text(call, "element"));
    const uint64_t one = 1;

    MXO_TRY(cpu_known(call, "element from apply nan", why));
    if (e == NULL || job.x == NULL) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no quant.static to %s",
                        call_text(call, "element"));
    }
    cpu_quant_make(&job.quant, cpu_quant_rule_of("floor"), e,
                   cpu_float_dtype(call_text(call, "from")), CPU_BY_RULE);
    if (call_is(call, "nan", "max")) {
        job.quant.nan = CPU_NAN_LARGEST;
    }
    MXO_TRY(cpu_want(scale, "scale", MXO_F32, 1, &one, why));
    MXO_TRY(
        cpu_want(job.x, "x", job.quant.from, job.x->rank, job.x->shape, why));
    MXO_TRY(cpu_want(call_out(call, "q"), "q", e->dtype, job.x->rank,
                     job.x->shape, why));
    job.q = cpu_data(call_out(call, "q"));
    memcpy(&job.scale, cpu_data(scale), sizeof job.scale);
    job.is_reciprocal = call_is(call, "apply", "reciprocal");
    const uint64_t n = job.x->n_bytes / cpu_dtype_bytes(job.quant.from);

    cpu_split(ctx, n, GRAIN, span, &job);
    cpu_name_kernel(ctx, "quant_static", cpu_threads(ctx, n, GRAIN));
    return MXO_OK;
}
