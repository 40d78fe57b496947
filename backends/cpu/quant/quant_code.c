/* SPDX-License-Identifier: Apache-2.0 */
/* quant.scale, the rules' bytes alone, and quant.requant, codes divided by
   powers of two.  docs/ops/quant.scale.md, docs/ops/quant.requant.md */
#include "cpu.h"
#include "number.h"
#include "quant.h"

#include <string.h>

enum { GRAIN = 1 << 14 };

typedef struct scale_job {
    cpu_quant quant;
    const uint8_t *amax;
    uint8_t *scale;
} scale_job;

static void scale_span(void *arg, uint64_t begin, uint64_t end)
{
    const scale_job *job = arg;
    const uint32_t floor = job->quant.rule->amax_floor;

    for (uint64_t i = begin; i < end; i++) {
        uint32_t amax;

        memcpy(&amax, job->amax + 4 * i, sizeof amax);
        amax &= 0x7fffffffu;
        job->scale[i] =
            cpu_quant_byte(&job->quant, amax < floor ? floor : amax);
    }
}

mxo_status cpu_quant_scale_bytes(cpu_context *ctx, const mxo_call *call,
                                 mxo_text why)
{
    const cpu_quant_rule *rule = cpu_quant_rule_of(call_text(call, "rule"));
    const cpu_element *e = cpu_element_of(call_text(call, "element"));
    const mxo_tensor *amax = call_in(call, "amax");
    const mxo_tensor *scale = call_out(call, "scale");
    scale_job job = {.amax = NULL};

    MXO_TRY(cpu_known(call, "element rule", why));
    if (rule == NULL || e == NULL || amax == NULL) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no quant.scale by %s",
                        call_text(call, "rule"));
    }
    MXO_TRY(cpu_want(amax, "amax", MXO_F32, amax->rank, amax->shape, why));
    MXO_TRY(cpu_want(scale, "scale", MXO_E8M0, amax->rank, amax->shape, why));
    cpu_quant_make(&job.quant, rule, e, MXO_F32, CPU_BY_RULE);
    job.amax = cpu_data(amax);
    job.scale = cpu_data(scale);
    cpu_split(ctx, scale->n_bytes, GRAIN, scale_span, &job);
    cpu_name_kernel(ctx, "quant_scale",
                    cpu_threads(ctx, scale->n_bytes, GRAIN));
    return MXO_OK;
}

typedef struct requant_job {
    const uint8_t *q;
    const uint8_t *offset;
    uint8_t *y;
    uint8_t table[256][16];
} requant_job;

/* Half a quantum goes away from zero; -0 is dropped, and nothing else is. */
static void make_table(requant_job *job)
{
    const cpu_element *e = cpu_element_of("e2m1");
    cpu_quant quant;

    cpu_quant_make(&quant, cpu_quant_rule_of("floor"), e, MXO_F32, CPU_RNA);
    for (int offset = 0; offset < 256; offset++) {
        for (uint8_t code = 0; code < 16; code++) {
            const double x =
                (double)cpu_element_value(e, code) * cpu_pow2(-offset);
            job->table[offset][code] =
                (uint8_t)(code == 8 ? 0 : cpu_quant_code(&quant, (float)x));
        }
    }
}

/* Sixteen bytes of codes share an offset, whatever words they are in. */
static void requant_span(void *arg, uint64_t begin, uint64_t end)
{
    const requant_job *job = arg;

    for (uint64_t b = begin; b < end; b++) {
        const uint8_t *row = job->table[job->offset[b]];
        for (uint64_t i = 16 * b; i < 16 * b + 16; i++) {
            const uint8_t two = job->q[i];
            job->y[i] = (uint8_t)(row[two & 15] | row[two >> 4] << 4);
        }
    }
}

mxo_status cpu_quant_requant(cpu_context *ctx, const mxo_call *call,
                             mxo_text why)
{
    const mxo_tensor *q = call_in(call, "q");
    const mxo_tensor *offset = call_in(call, "offset");
    const uint32_t dtype = call_is(call, "container", "i32") ? MXO_I32 : MXO_U8;
    requant_job job;

    MXO_TRY(cpu_known(call, "container", why));
    if (q == NULL || offset == NULL || q->n_bytes != 16 * offset->n_bytes) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "quant.requant: an offset is for 32 codes");
    }
    MXO_TRY(cpu_want(q, "q", dtype, q->rank, q->shape, why));
    MXO_TRY(
        cpu_want(offset, "offset", MXO_U8, offset->rank, offset->shape, why));
    MXO_TRY(cpu_want(call_out(call, "y"), "y", dtype, q->rank, q->shape, why));
    job.q = cpu_data(q);
    job.offset = cpu_data(offset);
    job.y = cpu_data(call_out(call, "y"));
    make_table(&job);
    cpu_split(ctx, offset->n_bytes, GRAIN / 16, requant_span, &job);
    cpu_name_kernel(ctx, "quant_requant",
                    cpu_threads(ctx, offset->n_bytes, GRAIN / 16));
    return MXO_OK;
}
