/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.qdq: E2M1 blocks as amd-quark's two kernels make them, and back to 16
 * bits.  The layer's emulation takes the same blocks.  docs/ops/quant.qdq.md
 */
#include "cpu.h"
#include "number.h"
#include "quant.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32, GRAIN = 512 };

/* x rounded to the source's 16 bits. */
static float through(uint32_t type, float x)
{
    return type == MXO_F16 ? cpu_from_f16(cpu_f16_of(x))
                           : cpu_from_bf16(cpu_bf16_of(x));
}

/* A scale byte as a number of 16 bits; FP16 has no such range. */
static float narrow_scale(uint32_t type, uint8_t byte, int zero_is_0)
{
    const float wide =
        byte == 255 ? cpu_float(0x7f800000u) : (float)cpu_pow2(byte - 127);

    return byte == 0 && zero_is_0 ? 0 : through(type, wide);
}

/* The exponent of the maximum's own 16 bits after half of the first mantissa
   bit was added; zero, infinity and NaN give 254. */
static uint8_t quark_byte(uint32_t type, const float *x, int n)
{
    const int mbits = type == MXO_F16 ? 10 : 7;
    const int bias = type == MXO_F16 ? 15 : 127;
    float most = -1;

    for (int i = 0; i < n; i++) {
        const float a = fabsf(x[i]);
        most = a > most ? a : most;
    }
    if (most < 0) {
        return 254; /* NaN alone */
    }
    const int code = type == MXO_F16 ? cpu_f16_of(most) : cpu_bf16_of(most);
    const int field = (code + (1 << (mbits - 2))) >> mbits;
    const int byte = field - bias + 125;

    return (uint8_t)(field == 0 || field > 2 * bias ? 254
                     : byte < 0                     ? 0
                                                    : byte);
}

static uint8_t quark_block(const cpu_quant *quant, const uint8_t *src, int n,
                           uint8_t *code)
{
    const uint32_t type = quant->from;
    float x[BLOCK];

    cpu_widen(type, src, (uint32_t)n, x);
    const uint8_t byte = quark_byte(type, x, n);
    const float scale = narrow_scale(type, byte, 0);

    for (int i = 0; i < n; i++) { /* the GPU's NaN is positive */
        const float q = through(type, x[i] / scale);
        code[i] = cpu_quant_code(quant, q != q ? (float)NAN : q);
    }
    return byte;
}

uint8_t cpu_quant_qdq(const cpu_quant *quant, int is_quark_hip,
                      const uint8_t *src, int n, uint8_t *code, float *y)
{
    const uint8_t byte = is_quark_hip ? quark_block(quant, src, n, code)
                                      : cpu_quant_block(quant, code, src, n);
    const float scale = narrow_scale(quant->from, byte, !is_quark_hip);

    for (int i = 0; i < n; i++) {
        const float product =
            cpu_element_value(quant->element, code[i]) * scale;
        y[i] = through(quant->from, product);
    }
    return byte;
}

typedef struct qdq_job {
    cpu_quant quant;
    int is_quark_hip;
    const uint8_t *x;
    uint8_t *y;
    uint8_t *q;
    uint8_t *scale;
} qdq_job;

static void qdq_span(void *arg, uint64_t begin, uint64_t end)
{
    const qdq_job *job = arg;
    const int is_f16 = job->quant.from == MXO_F16;
    uint8_t code[BLOCK];
    float back[BLOCK];

    for (uint64_t b = begin; b < end; b++) {
        job->scale[b] =
            cpu_quant_qdq(&job->quant, job->is_quark_hip,
                          job->x + 2 * BLOCK * b, BLOCK, code, back);
        for (uint64_t i = 0; i < BLOCK; i++) {
            const uint16_t half =
                is_f16 ? cpu_f16_of(back[i]) : cpu_bf16_of(back[i]);
            memcpy(job->y + 2 * (BLOCK * b + i), &half, sizeof half);
        }
        for (uint64_t i = 0; i < BLOCK / 2; i++) {
            job->q[BLOCK / 2 * b + i] =
                (uint8_t)(code[2 * i] | code[2 * i + 1] << 4);
        }
    }
}

mxo_status cpu_quant_qdq_op(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *q = call_out(call, "q");
    const mxo_tensor *y = call_out(call, "y");
    const mxo_tensor *scale = call_out(call, "scale");
    const uint32_t from = cpu_float_dtype(call_text(call, "from"));
    qdq_job job = {.is_quark_hip = call_is(call, "rule", "quark_hip")};
    uint64_t shape[MXO_MAX_RANK];

    MXO_TRY(cpu_known(call, "from rule", why));
    if (x == NULL || x->rank == 0 || x->shape[x->rank - 1] % BLOCK != 0) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "quant.qdq: the last axis is no multiple of 32");
    }
    memcpy(shape, x->shape, sizeof shape);
    MXO_TRY(cpu_want(x, "x", from, x->rank, shape, why));
    MXO_TRY(cpu_want(y, "y", from, x->rank, shape, why));
    shape[x->rank - 1] = x->shape[x->rank - 1] / 2;
    MXO_TRY(cpu_want(q, "q", MXO_U8, x->rank, shape, why));
    shape[x->rank - 1] = x->shape[x->rank - 1] / BLOCK;
    MXO_TRY(cpu_want(scale, "scale", MXO_E8M0, x->rank, shape, why));
    cpu_quant_make(
        &job.quant,
        cpu_quant_rule_of(job.is_quark_hip ? "floor" : "quark_triton"),
        cpu_element_of("e2m1"), from, CPU_BY_RULE);
    job.x = cpu_data(x);
    job.y = cpu_data(y);
    job.q = cpu_data(q);
    job.scale = cpu_data(scale);
    cpu_split(ctx, scale->n_bytes, GRAIN, qdq_span, &job);
    cpu_name_kernel(ctx, "quant_qdq", cpu_threads(ctx, scale->n_bytes, GRAIN));
    return MXO_OK;
}
