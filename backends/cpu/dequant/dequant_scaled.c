/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.group and dequant.nvfp4: elements under binary32 scales.  A product
 * of two is rounded to binary32 and then to the result's type; the product of
 * three is exact in double and rounded once.
 */
#include "cpu.h"
#include "element.h"
#include "number.h"

#include <string.h>

enum { GRAIN = 1 << 13, NVFP4_BLOCK = 16 };

typedef struct scaled_job {
    const cpu_element *element;
    const uint8_t *q;
    const uint8_t *scale;
    uint8_t *y;
    uint32_t to;
    int positive; /* a zero has no sign */
    double global;
    uint64_t n, rows, cols;
    uint64_t height, width; /* of a group */
    uint64_t down, across;  /* groups of a matrix */
} scaled_job;

static uint8_t code_at(const scaled_job *job, uint64_t i)
{
    return job->element->bits == 8
               ? job->q[i]
               : (uint8_t)(job->q[i / 2] >> 4 * (i % 2) & 15);
}

static void put(const scaled_job *job, uint64_t i, float y)
{
    const uint32_t word = y != y ? 0x7fc00000u : cpu_bits32(y);
    const uint16_t half = job->to == MXO_F16 ? cpu_f16_of(y) : cpu_bf16_of(y);

    if (job->to == MXO_F32) {
        memcpy(job->y + 4 * i, &word, sizeof word);
    } else {
        memcpy(job->y + 2 * i, &half, sizeof half);
    }
}

static void group_span(void *arg, uint64_t begin, uint64_t end)
{
    const scaled_job *job = arg;

    for (uint64_t i = begin; i < end; i++) {
        const uint64_t r = i / job->cols % job->rows;
        const uint64_t c = i % job->cols;
        const uint64_t matrix = i / job->cols / job->rows;
        const uint64_t at =
            (matrix * job->down + r / job->height) * job->across +
            c / job->width;
        const float x = cpu_element_value(job->element, code_at(job, i));
        float scale;

        memcpy(&scale, job->scale + 4 * at, sizeof scale);
        put(job, i, (job->positive && x == 0 ? 0.0f : x) * scale);
    }
}

/* Elements of a group along an axis; 0 is the whole of it. */
static uint64_t group_size(double given, uint64_t axis)
{
    return given > 0 ? (uint64_t)given : axis + (axis == 0);
}

static mxo_status read_groups(scaled_job *job, const mxo_call *call,
                              const mxo_tensor *q, mxo_text why)
{
    const double height = call_number(call, "group_rows");
    const double width = call_number(call, "group_cols");

    if (q == NULL || q->rank < 2) {
        return cpu_fail(MXO_E_SHAPE, why, "dequant.group: q needs two axes");
    }
    if (height < 0 || width < 0) {
        return cpu_fail(MXO_E_PARAM, why,
                        "dequant.group: a group size is negative");
    }
    job->rows = q->shape[q->rank - 2];
    job->cols = q->shape[q->rank - 1] * (job->element->bits == 4 ? 2 : 1);
    job->height = group_size(height, job->rows);
    job->width = group_size(width, job->cols);
    job->down = (job->rows + job->height - 1) / job->height;
    job->across = (job->cols + job->width - 1) / job->width;
    return MXO_OK;
}

mxo_status cpu_dequant_group(cpu_context *ctx, const mxo_call *call,
                             mxo_text why)
{
    const mxo_tensor *q = call_in(call, "q");
    scaled_job job = {.element = cpu_element_of(call_text(call, "element"))};
    uint64_t shape[MXO_MAX_RANK];

    MXO_TRY(cpu_known(call, "element group_rows group_cols to zero", why));
    job.to = cpu_float_dtype(call_text(call, "to"));
    if (job.element == NULL || job.to == MXO_N_DTYPES) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no dequant.group of %s",
                        call_text(call, "element"));
    }
    MXO_TRY(read_groups(&job, call, q, why));
    memcpy(shape, q->shape, sizeof shape);
    MXO_TRY(cpu_want(q, "q", job.element->dtype, q->rank, shape, why));
    shape[q->rank - 1] = job.cols;
    MXO_TRY(cpu_want(call_out(call, "y"), "y", job.to, q->rank, shape, why));
    shape[q->rank - 2] = job.down;
    shape[q->rank - 1] = job.across;
    MXO_TRY(cpu_want(call_in(call, "scale"), "scale", MXO_F32, q->rank, shape,
                     why));
    job.q = cpu_data(q);
    job.scale = cpu_data(call_in(call, "scale"));
    job.y = cpu_data(call_out(call, "y"));
    job.positive = call_is(call, "zero", "positive");
    job.n = call_out(call, "y")->n_bytes / cpu_dtype_bytes(job.to);
    cpu_split(ctx, job.n, GRAIN, group_span, &job);
    cpu_name_kernel(ctx, "dequant_group", cpu_threads(ctx, job.n, GRAIN));
    return MXO_OK;
}

/* Of 2 + 4 + 24 bits.  Rounding to odd first makes the second rounding the
   only one. */
static void nvfp4_span(void *arg, uint64_t begin, uint64_t end)
{
    const scaled_job *job = arg;
    const cpu_element *e4m3 = cpu_element_of("e4m3fn");

    for (uint64_t i = begin; i < end; i++) {
        const uint64_t at =
            i / job->cols * job->across + i % job->cols / NVFP4_BLOCK;
        const double x =
            (double)cpu_element_value(job->element, code_at(job, i));
        const double scale =
            (double)cpu_element_value(e4m3, job->scale[at] & 0x7f);
        const double y = x * scale * job->global;

        put(job, i, job->to == MXO_F32 ? (float)y : cpu_float_odd(y));
    }
}

mxo_status cpu_dequant_nvfp4(cpu_context *ctx, const mxo_call *call,
                             mxo_text why)
{
    const mxo_tensor *q = call_in(call, "q");
    const mxo_tensor *global = call_in(call, "global_scale");
    scaled_job job = {.element = cpu_element_of("e2m1")};
    uint64_t shape[MXO_MAX_RANK];
    const uint64_t one = 1;
    float g;

    MXO_TRY(cpu_known(call, "to", why));
    if (q == NULL || q->rank == 0) {
        return cpu_fail(MXO_E_SHAPE, why, "dequant.nvfp4: q needs an axis");
    }
    job.to = cpu_float_dtype(call_text(call, "to"));
    job.cols = 2 * q->shape[q->rank - 1];
    job.across = (job.cols + NVFP4_BLOCK - 1) / NVFP4_BLOCK;
    memcpy(shape, q->shape, sizeof shape);
    MXO_TRY(cpu_want(q, "q", MXO_U8, q->rank, shape, why));
    MXO_TRY(cpu_want(global, "global_scale", MXO_F32, 1, &one, why));
    shape[q->rank - 1] = job.cols;
    MXO_TRY(cpu_want(call_out(call, "y"), "y", job.to, q->rank, shape, why));
    shape[q->rank - 1] = job.across;
    MXO_TRY(cpu_want(call_in(call, "scale"), "scale", MXO_E4M3, q->rank, shape,
                     why));
    memcpy(&g, cpu_data(global), sizeof g);
    job.global = (double)g;
    job.q = cpu_data(q);
    job.scale = cpu_data(call_in(call, "scale"));
    job.y = cpu_data(call_out(call, "y"));
    job.n = call_out(call, "y")->n_bytes / cpu_dtype_bytes(job.to);
    cpu_split(ctx, job.n, GRAIN, nvfp4_span, &job);
    cpu_name_kernel(ctx, "dequant_nvfp4", cpu_threads(ctx, job.n, GRAIN));
    return MXO_OK;
}
