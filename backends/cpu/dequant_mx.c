/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx: an element times its block's scale, rounded once.  Every
 * dialect is a way of reading the scale byte, so a dialect becomes a table:
 * for E2M1 the 16 results under each scale byte, for 8-bit elements a factor.
 * The product is exact in float (at most four significant bits), so the one
 * rounding is the one into the destination.
 */
#include "cpu.h"
#include "element.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>

enum {
    STREAM_BYTES = 8 << 20, /* beyond any share of a cache */
    GRAIN_BLOCKS = 4096
};

/* How a dialect reads a scale byte. */
typedef struct dialect {
    const char *name;
    int zero_is_zero; /* byte 0 means 0, not 2^-127 */
    int nan_is_inf;   /* byte 255 means infinity, not NaN */
    int clamps;       /* infinities become the largest finite value */
    int scale_first;  /* the factor is rounded to the destination type */
} dialect;

static const dialect dialects[] = {
    {"ocp", 0, 0, 0, 0},
    {"triton35_torch", 1, 1, 0, 0},
    {"triton36_torch", 1, 1, 1, 0},
    {"triton35_kernel", 1, 0, 0, 1},
    {"triton36_kernel", 1, 0, 1, 1},
    {"triton_matmul", 1, 1, 0, 0},
    {"ldexp", 0, 1, 0, 0},
};

typedef struct dequant_job {
    cpu_context *ctx;
    const cpu_element *element;
    const dialect *dialect;
    uint32_t to;
    cpu_dequant4 lane;
    float factor[256];
    float value[256];
} dequant_job;

static float round_to(uint32_t to, float x)
{
    switch (to) {
    case MXO_BF16:
        return cpu_from_bf16(cpu_bf16_of(x));
    case MXO_F16:
        return cpu_from_f16(cpu_f16_of(x));
    default:
        return x;
    }
}

static float factor_of(const dialect *d, uint32_t to, int byte)
{
    float f = (float)cpu_pow2(byte - 127);

    if (byte == 0 && d->zero_is_zero) {
        f = 0;
    }
    if (byte == 255) {
        f = cpu_float(d->nan_is_inf ? 0x7f800000u : 0x7fc00000u);
    }
    return d->scale_first ? round_to(to, f) : f;
}

static uint32_t result_of(const dialect *d, uint32_t to, float product)
{
    static const uint32_t infinity[3] = {0x7f800000u, 0x7f80u, 0x7c00u};
    const int i = to == MXO_F32 ? 0 : to == MXO_BF16 ? 1 : 2;
    const uint32_t sign = to == MXO_F32 ? 0x80000000u : 0x8000u;
    uint32_t code = i == 0   ? cpu_bits32(product)
                    : i == 1 ? cpu_bf16_of(product)
                             : cpu_f16_of(product);

    if (product != product) {
        return infinity[i] | (i == 0 ? 0x400000u : i == 1 ? 0x40u : 0x200u);
    }
    if (d->clamps && (code & ~sign) == infinity[i]) {
        code--;
    }
    return code;
}

static void fill_table(cpu_table4 *table, const dequant_job *job, int planes)
{
    for (int s = 0; s < 256; s++) {
        for (int c = 0; c < 16; c++) {
            const uint32_t code = result_of(job->dialect, job->to,
                                            job->value[c] * job->factor[s]);
            if (job->to == MXO_F32 && planes) {
                for (int b = 0; b < 4; b++) {
                    table->u.plane32[s][b][c] = (uint8_t)(code >> 8 * b);
                }
            } else if (job->to == MXO_F32) {
                table->u.row32[s][c] = code;
            } else if (planes) {
                table->u.plane16[s][0][c] = (uint8_t)code;
                table->u.plane16[s][1][c] = (uint8_t)(code >> 8);
            } else {
                table->u.row16[s][c] = (uint16_t)code;
            }
        }
    }
}

static void span_4(void *arg, uint64_t begin, uint64_t end)
{
    const dequant_job *job = arg;
    const cpu_lane *lane = job->ctx->lane;
    const uint64_t out = job->to == MXO_F32 ? 128 : 64;
    cpu_dequant4 part = job->lane;

    part.q += begin * 16;
    part.scale += begin;
    part.y += begin * out;
    part.blocks = end - begin;
    (out == 128 ? lane->dequant4_32 : lane->dequant4_16)(&part);
}

static void span_8(void *arg, uint64_t begin, uint64_t end)
{
    const dequant_job *job = arg;
    const uint64_t size = cpu_dtype_bytes(job->to);

    for (uint64_t i = begin * 32; i < end * 32; i++) {
        const float product =
            job->value[job->lane.q[i]] * job->factor[job->lane.scale[i / 32]];
        const uint32_t code = result_of(job->dialect, job->to, product);
        const uint16_t half = (uint16_t)code;

        if (size == 4) {
            memcpy(job->lane.y + 4 * i, &code, 4);
        } else {
            memcpy(job->lane.y + 2 * i, &half, 2);
        }
    }
}

static mxo_status read_rule(dequant_job *job, const mxo_call *call,
                            mxo_text why)
{
    job->element = cpu_element_of(cpu_text(call, "element"));
    job->to = cpu_float_dtype(cpu_text(call, "to"));
    if (job->element == NULL || job->to == MXO_N_DTYPES) {
        return cpu_fail(MXO_E_PARAM, why, "element or to is unknown");
    }
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        if (cpu_is(call, "rule", dialects[i].name)) {
            job->dialect = &dialects[i];
        }
    }
    if (job->dialect == NULL) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no rule %s",
                        cpu_text(call, "rule"));
    }
    for (int i = 0; i < 256; i++) {
        job->factor[i] = factor_of(job->dialect, job->to, i);
        job->value[i] = cpu_element_value(job->element, (uint8_t)i);
    }
    return MXO_OK;
}

static mxo_status read_tensors(dequant_job *job, const mxo_call *call,
                               uint64_t *blocks, mxo_text why)
{
    const mxo_tensor *q = cpu_in(call, "q");
    const mxo_tensor *scale = cpu_in(call, "scale");
    const mxo_tensor *y = cpu_out(call, "y");
    const uint64_t pack = job->element->bits == 4 ? 2 : 1;

    if (q == NULL || q->rank != 2 || q->shape[1] > UINT64_MAX / 2) {
        return cpu_fail(MXO_E_SHAPE, why, "q is not a matrix");
    }
    const uint64_t codes[2] = {q->shape[0], q->shape[1]};
    const uint64_t full[2] = {codes[0], codes[1] * pack};
    const uint64_t groups[2] = {codes[0], full[1] / 32};
    const double axis = cpu_number(call, "axis");
    if (axis != -1 && axis != 1) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has blocks along the last axis only");
    }
    if (full[1] % 32 != 0) {
        return cpu_fail(MXO_E_SHAPE, why, "columns are not a multiple of 32");
    }
    mxo_status status = cpu_want(q, "q", job->element->dtype, 2, codes, why);
    if (status == MXO_OK) {
        status = cpu_want(scale, "scale", MXO_E8M0, 2, groups, why);
    }
    if (status == MXO_OK) {
        status = cpu_want(y, "y", job->to, 2, full, why);
    }
    if (status == MXO_OK) {
        job->lane.q = cpu_data(q);
        job->lane.scale = cpu_data(scale);
        job->lane.y = cpu_data(y);
        job->lane.stream = y->n_bytes >= STREAM_BYTES;
        *blocks = groups[0] * groups[1];
    }
    return status;
}

mxo_status cpu_dequant_mx(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    dequant_job job = {.ctx = ctx};
    uint64_t blocks = 0;
    mxo_status status = cpu_known(call, "element to rule axis", why);

    if (status == MXO_OK) {
        status = read_rule(&job, call, why);
    }
    if (status == MXO_OK) {
        status = read_tensors(&job, call, &blocks, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    const int threads = cpu_threads(ctx, blocks, GRAIN_BLOCKS);
    if (job.element->bits == 8) {
        cpu_split(ctx, blocks, GRAIN_BLOCKS, span_8, &job);
        cpu_name_kernel(ctx, "dequant_mx8", threads);
        return MXO_OK;
    }
    cpu_table4 table;
    fill_table(&table, &job, ctx->lane->planes);
    job.lane.table = &table;
    cpu_split(ctx, blocks, GRAIN_BLOCKS, span_4, &job);
    cpu_name_kernel(ctx, "dequant_mx", threads);
    return MXO_OK;
}
