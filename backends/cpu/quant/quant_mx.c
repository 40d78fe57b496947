/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx: blocks of 32 along the last axis, codes and E8M0 scales.  The
 * lanes see runs of whole blocks; this file cuts the tensor into such runs,
 * pads rows, and puts scales where tiled layouts want them.
 */
#include "cpu.h"
#include "quant.h"
#include "quant_any.h"

#include <string.h>

enum { RUN = 512, GRAIN_BLOCKS = 4096 };

typedef struct quant_job {
    cpu_context *ctx;
    cpu_quant quant;
    const uint8_t *x;
    uint8_t *q;
    uint8_t *scale;
    uint64_t rows;
    uint64_t cols;
    uint64_t padded;    /* columns after alignment */
    uint64_t tile_rows; /* 0: linear */
    uint64_t matrix;    /* rows tiled together */
} quant_job;

static uint64_t bytes_of_codes(const quant_job *job, uint64_t n)
{
    return job->quant.element->bits == 4 ? n / 2 : n;
}

static uint64_t groups(const quant_job *job)
{
    return (job->padded + 31) / 32;
}

/* Bytes of the tiled scales of one matrix. */
static uint64_t bytes_of_matrix(const quant_job *job)
{
    return cpu_round_up(job->matrix, job->tile_rows) *
           cpu_round_up(groups(job), 4);
}

/* Where the scales of a row begin; tiles hold four of them in a row. */
static uint8_t *row_scales(const quant_job *job, uint64_t r)
{
    const uint64_t rows = job->tile_rows;

    if (rows == 0) {
        return job->scale + r * groups(job);
    }
    const uint64_t tiles = (groups(job) + 3) / 4;
    const uint64_t at = r % job->matrix;
    const uint64_t in = at % rows;

    return job->scale + r / job->matrix * bytes_of_matrix(job) +
           at / rows * tiles * rows * 4 +
           (rows == 128 ? in % 32 * 16 + in / 32 * 4 : in * 4);
}

/* Store n scales of a row from group g on. */
static void put_scales(const quant_job *job, uint8_t *row, uint64_t g,
                       const uint8_t *scale, uint64_t n)
{
    const uint64_t step = job->tile_rows * 4;

    if (job->tile_rows == 0) {
        memcpy(row + g, scale, (size_t)n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        row[(g + i) / 4 * step + (g + i) % 4] = scale[i];
    }
}

static void run_lane(const quant_job *job, const cpu_quant_span *span)
{
    if (job->quant.lane_may) {
        job->ctx->lane->quant(span);
    } else {
        cpu_quant_portable(span);
    }
}

/* The last n < 32 elements of a row; returns their scale. */
static uint8_t short_block(const quant_job *job, uint64_t r, uint64_t g, int n)
{
    const uint64_t size = cpu_dtype_bytes(job->quant.from);
    uint8_t *q = job->q + r * bytes_of_codes(job, job->padded) +
                 bytes_of_codes(job, 32 * g);
    uint8_t code[32];

    const uint8_t scale = cpu_quant_block(
        &job->quant, code, job->x + (r * job->cols + 32 * g) * size, n);

    for (int i = 0; i < n; i++) {
        if (job->quant.element->bits == 8) {
            q[i] = code[i];
        } else if (i % 2 != 0) {
            q[i / 2] = (uint8_t)(code[i - 1] | code[i] << 4);
        }
    }
    return scale;
}

static void one_row(const quant_job *job, uint64_t r)
{
    const uint64_t size = cpu_dtype_bytes(job->quant.from);
    const uint64_t whole = job->cols / 32;
    uint8_t *q = job->q + r * bytes_of_codes(job, job->padded);
    uint8_t *const row = row_scales(job, r);
    uint8_t scale[RUN] = {0};

    for (uint64_t g = 0; g < whole; g += RUN) {
        const uint64_t n = whole - g < RUN ? whole - g : RUN;
        const cpu_quant_span span = {&job->quant,
                                     job->x + (r * job->cols + 32 * g) * size,
                                     q + bytes_of_codes(job, 32 * g), scale, n};

        run_lane(job, &span);
        put_scales(job, row, g, scale, n);
    }
    if (job->cols % 32 != 0) {
        scale[0] = short_block(job, r, whole, (int)(job->cols % 32));
        put_scales(job, row, whole, scale, 1);
    }
    if (job->padded > job->cols) {
        memset(q + bytes_of_codes(job, job->cols), 0,
               (size_t)bytes_of_codes(job, job->padded - job->cols));
        scale[0] = 0;
        for (uint64_t g = (job->cols + 31) / 32; g < groups(job); g++) {
            put_scales(job, row, g, scale, 1);
        }
    }
}

static void span_rows(void *arg, uint64_t begin, uint64_t end)
{
    for (uint64_t r = begin; r < end; r++) {
        one_row(arg, r);
    }
}

/* Nothing padded, nothing tiled: the tensor is one run. */
static void span_blocks(void *arg, uint64_t begin, uint64_t end)
{
    const quant_job *job = arg;
    const uint64_t size = cpu_dtype_bytes(job->quant.from);
    const cpu_quant_span span = {&job->quant, job->x + 32 * begin * size,
                                 job->q + bytes_of_codes(job, 32 * begin),
                                 job->scale + begin, end - begin};

    run_lane(job, &span);
}

static mxo_status read_rule(quant_job *job, const mxo_call *call, mxo_text why)
{
    static const char *const ties[] = {"rne", "rna", "rnz", "rz", "rule", NULL};
    const char *const name = call_text(call, "rule");
    const cpu_quant_rule *rule = cpu_quant_rule_of(name);
    const cpu_element *element = cpu_element_of(call_text(call, "element"));
    const uint32_t from = cpu_float_dtype(call_text(call, "from"));
    const int tie = cpu_choice(call, "tie", ties);

    if (element == NULL || from == MXO_N_DTYPES || tie < 0) {
        return cpu_fail(MXO_E_PARAM, why, "element, from or tie is unknown");
    }
    if (rule == NULL) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no rule %s", name);
    }
    cpu_quant_make(&job->quant, rule, element, from, (cpu_tie)tie);
    return MXO_OK;
}

/* Blocks follow each other in x, and their codes in q. */
static int has_runs(const mxo_call *call, const mxo_tensor *x,
                    const cpu_element *e)
{
    static const char *const layouts[] = {"linear", "128x4", "8x4", NULL};
    const double axis = call_number(call, "axis");
    const uint64_t cols = x->shape[x->rank - 1];

    return cpu_choice(call, "sf_layout", layouts) >= 0 &&
           call_is(call, "q_layout", "linear") &&
           (axis == -1 || axis == (double)x->rank - 1) &&
           (e->bits != 4 || cols % 2 == 0);
}

static mxo_status read_shape(quant_job *job, const mxo_call *call,
                             const mxo_tensor *x, mxo_text why)
{
    static const char *const layouts[] = {"linear", "128x4", "8x4", NULL};
    static const uint64_t tile_rows[] = {0, 128, 8};
    const int layout = cpu_choice(call, "sf_layout", layouts);
    const double align = call_number(call, "align");

    if (align < 32 || align > 1 << 20 || (uint64_t)align % 32 != 0) {
        return cpu_fail(MXO_E_PARAM, why, "align is not a multiple of 32");
    }
    job->tile_rows = tile_rows[layout];
    job->cols = x->shape[x->rank - 1];
    job->rows = 1;
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        job->rows *= x->shape[i];
    }
    job->matrix = job->rows;
    if (call_is(call, "sf_batch", "each") && x->rank >= 2) {
        job->matrix = x->shape[x->rank - 2];
    }
    job->padded =
        align > 32 ? cpu_round_up(job->cols, (uint64_t)align) : job->cols;
    return MXO_OK;
}

static mxo_status read_tensors(quant_job *job, const mxo_call *call,
                               const mxo_tensor *x, mxo_text why)
{
    const cpu_element *e = job->quant.element;
    const mxo_tensor *q = call_out(call, "q");
    const mxo_tensor *scale = call_out(call, "scale");
    const uint64_t scales =
        job->tile_rows == 0 ? job->rows * groups(job)
        : job->rows == 0    ? 0
                            : job->rows / job->matrix * bytes_of_matrix(job);

    if (job->cols % 32 != 0 && (job->quant.flags & CPU_Q_SHORT) == 0) {
        return cpu_fail(MXO_E_SHAPE, why, "columns are not a multiple of 32");
    }
    uint64_t shape[MXO_MAX_RANK];

    MXO_TRY(cpu_want(x, "x", job->quant.from, x->rank, x->shape, why));
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = bytes_of_codes(job, job->padded);
    MXO_TRY(cpu_want(q, "q", e->dtype, x->rank, shape, why));
    shape[x->rank - 1] = groups(job);
    MXO_TRY(job->tile_rows == 0
                ? cpu_want(scale, "scale", MXO_E8M0, x->rank, shape, why)
                : cpu_want_bytes(scale, "scale", MXO_E8M0, scales, why));
    job->x = cpu_data(x);
    job->q = cpu_data(q);
    job->scale = cpu_data(scale);
    return MXO_OK;
}

mxo_status cpu_quant_mx(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    quant_job job = {.ctx = ctx};
    const mxo_tensor *x = call_in(call, "x");

    MXO_TRY(cpu_known(
        call, "element from rule tie axis sf_layout sf_batch q_layout align",
        why));
    MXO_TRY(read_rule(&job, call, why));
    if (x == NULL || x->rank == 0) {
        return cpu_fail(MXO_E_SHAPE, why, "x has no axis");
    }
    if (!has_runs(call, x, job.quant.element)) {
        return cpu_quant_any(ctx, call, &job.quant, why);
    }
    MXO_TRY(read_shape(&job, call, x, why));
    MXO_TRY(read_tensors(&job, call, x, why));
    const int one_run =
        job.tile_rows == 0 && job.padded == job.cols && job.cols % 32 == 0;
    const uint64_t n = one_run ? job.rows * (job.cols / 32) : job.rows;
    const uint64_t per_row = job.cols / 32 + 1;
    const uint64_t grain = one_run ? GRAIN_BLOCKS : GRAIN_BLOCKS / per_row + 1;

    if (!one_run && job.tile_rows != 0) {
        memset(job.scale, 0, (size_t)call_out(call, "scale")->n_bytes);
    }
    cpu_split(ctx, n, grain, one_run ? span_blocks : span_rows, &job);
    cpu_name_kernel(ctx, job.quant.lane_may ? "quant_mx" : "quant_mx_scalar",
                    cpu_threads(ctx, n, grain));
    return MXO_OK;
}
