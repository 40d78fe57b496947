/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.nvfp4: blocks along the last axis under global scales, bytes in rows or
 * in tiles.  quant_nvfp4.c has the rules.  docs/ops/quant.nvfp4.md
 */
#include "cpu.h"
#include "number.h"
#include "quant.h"
#include "quant_nvfp4.h"

#include <string.h>

enum { GRAIN = 512 };

typedef struct nvfp4_job {
    cpu_nvfp4 rule;
    cpu_quant mx; /* no global scale: quant.mx with an E8M0 byte */
    int is_mx;
    int is_inverted;
    uint32_t from; /* MXO_E4M3 too */
    const uint8_t *x;
    const uint8_t *global; /* NULL: 1 */
    int by_row;
    uint8_t *q;
    uint8_t *scale;
    uint64_t blocks; /* all of them */
    uint64_t per_row;
    uint64_t tile_rows; /* 0: linear */
    uint64_t n_scales;
} nvfp4_job;

static mxo_status read_rule(nvfp4_job *job, const mxo_call *call, mxo_text why)
{
    const char *math = call_text(call, "math");
    const int is_fast = call_is(call, "math", "fast");
    const int is_exact = call_is(call, "math", "exact");
    const int is_e4m3 = call_is(call, "from", "e4m3");
    const int is_e8m0 = call_is(call, "scale", "e8m0");
    const cpu_nvfp4 *rule =
        cpu_nvfp4_of(is_e4m3 && is_fast ? "from_e4m3" : math);

    job->from =
        is_e4m3 ? (uint32_t)MXO_E4M3 : cpu_float_dtype(call_text(call, "from"));
    if (rule == NULL || job->from == MXO_N_DTYPES) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no quant.nvfp4 by %s", math);
    }
    if ((is_e4m3 && !is_fast && !is_exact) ||
        (is_e8m0 && !is_fast && !call_is(call, "math", "ieee")) ||
        call_is(call, "math", "trtllm_gen") != (job->from == MXO_F32)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "quant.nvfp4: math=%s has no kernel from %s to %s",
                        math, call_text(call, "from"),
                        call_text(call, "scale"));
    }
    job->rule = *rule;
    job->rule.is_e8m0 = is_e8m0;
    job->rule.n = is_e8m0 ? CPU_NVFP4_MOST : CPU_NVFP4_BLOCK;
    if (call_is(call, "rcp", "rn")) {
        job->rule.rcp = cpu_nvfp4_inverse;
    }
    job->is_mx = is_e8m0 && !is_e4m3;
    cpu_quant_make(&job->mx, cpu_quant_rule_of("flashinfer"),
                   cpu_element_of("e2m1"), job->from, CPU_BY_RULE);
    return cpu_flag(call, "inverted", &job->is_inverted, why);
}

static mxo_status read_global(nvfp4_job *job, const mxo_call *call,
                              mxo_text why)
{
    const mxo_tensor *g = call_in(call, "global_scale");
    const uint64_t rows = job->per_row == 0 ? 0 : job->blocks / job->per_row;
    int has_global;

    MXO_TRY(cpu_flag(call, "global", &has_global, why));
    if (!has_global) {
        return MXO_OK;
    }
    const uint64_t n = g == NULL ? 0 : g->n_bytes / 4;

    if (n != 1 && (n == 0 || n != rows)) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "quant.nvfp4: global_scale is one number, or one per "
                        "row");
    }
    job->global = cpu_data(g);
    job->by_row = n != 1;
    return cpu_want(g, "global_scale", MXO_F32, g->rank, g->shape, why);
}

static mxo_status read_outputs(nvfp4_job *job, const mxo_call *call,
                               const mxo_tensor *x, mxo_text why)
{
    const uint32_t dtype = job->rule.is_e8m0 ? MXO_E8M0 : MXO_E4M3;
    const uint64_t cols = x->shape[x->rank - 1];
    const uint64_t rows = job->per_row == 0 ? 0 : job->blocks / job->per_row;
    const mxo_tensor *q = call_out(call, "q");
    const mxo_tensor *scale = call_out(call, "scale");
    uint64_t shape[MXO_MAX_RANK];

    job->tile_rows = call_is(call, "sf_layout", "128x4") ? 128
                     : call_is(call, "sf_layout", "8x4") ? 8
                                                         : 0;
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = cols / 2;
    MXO_TRY(cpu_want(q, "q", MXO_U8, x->rank, shape, why));
    shape[x->rank - 1] = job->per_row;
    job->n_scales = job->tile_rows == 0 ? job->blocks
                                        : cpu_round_up(rows, job->tile_rows) *
                                              cpu_round_up(job->per_row, 4);
    MXO_TRY(job->tile_rows == 0
                ? cpu_want(scale, "scale", dtype, x->rank, shape, why)
                : cpu_want_bytes(scale, "scale", dtype, job->n_scales, why));
    job->q = cpu_data(q);
    job->scale = cpu_data(scale);
    return MXO_OK;
}

/* Place of a block's scale. */
static uint64_t scale_at(const nvfp4_job *job, uint64_t b)
{
    const uint64_t tall = job->tile_rows;

    if (tall == 0) {
        return b;
    }
    const uint64_t r = b / job->per_row;
    const uint64_t c = b % job->per_row;
    const uint64_t in = r % tall;
    const uint64_t tile = r / tall * ((job->per_row + 3) / 4) + c / 4;

    return tile * tall * 4 +
           (tall == 128 ? in % 32 * 16 + in / 32 * 4 : in * 4) + c % 4;
}

static float global_of(const nvfp4_job *job, uint64_t b)
{
    const uint64_t at = job->by_row ? b / job->per_row : 0;
    float g = 1;

    if (job->global != NULL) {
        memcpy(&g, job->global + 4 * at, sizeof g);
    }
    return job->is_inverted ? job->rule.rcp(g) : g;
}

static void load(const nvfp4_job *job, uint64_t at, float *x)
{
    const cpu_element *e = cpu_element_of("e4m3fn");
    const uint32_t n = (uint32_t)job->rule.n;

    if (job->from != MXO_E4M3) {
        cpu_widen(job->from, job->x + cpu_dtype_bytes(job->from) * at, n, x);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        x[i] = cpu_element_value(e, job->x[at + i]);
    }
}

static void span_blocks(void *arg, uint64_t begin, uint64_t end)
{
    const nvfp4_job *job = arg;
    const uint64_t n = (uint64_t)job->rule.n;
    uint8_t code[CPU_NVFP4_MOST];
    float x[CPU_NVFP4_MOST];

    for (uint64_t b = begin; b < end; b++) {
        const uint64_t at = b * n;

        load(job, at, x);
        job->scale[scale_at(job, b)] =
            job->is_mx
                ? cpu_quant_block(&job->mx, code,
                                  job->x + cpu_dtype_bytes(job->from) * at,
                                  (int)n)
                : cpu_nvfp4_block(&job->rule, global_of(job, b), x, code);
        for (uint64_t i = 0; i < n; i += 2) {
            job->q[(at + i) / 2] = (uint8_t)(code[i] | code[i + 1] << 4);
        }
    }
}

mxo_status cpu_quant_nvfp4(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    nvfp4_job job = {.x = NULL};

    MXO_TRY(
        cpu_known(call, "from scale math rcp inverted global sf_layout", why));
    MXO_TRY(read_rule(&job, call, why));
    if (x == NULL || x->rank == 0 ||
        x->shape[x->rank - 1] % (uint64_t)job.rule.n != 0) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "quant.nvfp4: the last axis is no multiple of %d",
                        job.rule.n);
    }
    MXO_TRY(cpu_want(x, "x", job.from, x->rank, x->shape, why));
    job.x = cpu_data(x);
    job.per_row = x->shape[x->rank - 1] / (uint64_t)job.rule.n;
    job.blocks = x->n_bytes / cpu_dtype_bytes(job.from) / (uint64_t)job.rule.n;
    MXO_TRY(read_global(&job, call, why));
    MXO_TRY(read_outputs(&job, call, x, why));
    if (job.n_scales != job.blocks) {
        memset(job.scale, 0, (size_t)job.n_scales);
    }
    cpu_split(ctx, job.blocks, GRAIN, span_blocks, &job);
    cpu_name_kernel(ctx, "quant_nvfp4", cpu_threads(ctx, job.blocks, GRAIN));
    return MXO_OK;
}
