/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.unary: exp, sigmoid and silu of floats, correctly rounded, a lane at a
 * time.  Sigmoid and silu are gated units whose other operand is 1.  What lanes
 * do not have goes to act_functions.c.
 */
#include "cpu.h"
#include "number.h"

#include <string.h>

typedef struct unary_job {
    cpu_context *ctx;
    cpu_glu c;
    int is_exp;
    const uint8_t *x;
    uint8_t *y;
} unary_job;

static uint32_t one(const unary_job *job, float x)
{
    return job->is_exp ? cpu_exp_one(x, job->c.to)
                       : cpu_glu_one(&job->c, x, 1.0f);
}

/* Codes of a run, and where the lane gave up. */
static uint32_t lane_run(const unary_job *job, const float *x,
                         const float *ones, uint32_t n, void *out,
                         uint16_t *hard)
{
    const cpu_isa_ops *lane = job->ctx->lane;
    const cpu_glu_operands operands = {CPU_GLU_FLOATS, x, ones};

    if (!job->is_exp) {
        return job->c.to == MXO_F32
                   ? lane->glu32(&job->c, x, ones, n, out, hard)
                   : lane->glu16(&job->c, &operands, n, out, hard);
    }
    if (job->c.to == MXO_F32) {
        return lane->exp32(x, n, out, hard);
    }
    for (uint32_t i = 0; i < n; i++) {
        hard[i] = (uint16_t)i;
    }
    return n;
}

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const unary_job *job = arg;
    const uint64_t size = cpu_dtype_bytes(job->c.to);
    float x[CPU_RUN];
    float ones[CPU_RUN];
    uint32_t wide[CPU_RUN];
    uint16_t narrow[CPU_RUN];
    uint16_t hard[CPU_RUN];

    for (int i = 0; i < CPU_RUN; i++) {
        ones[i] = 1;
    }
    for (uint64_t at = begin; at < end; at += CPU_RUN) {
        const uint64_t left = end - at;
        const uint32_t n = left < CPU_RUN ? (uint32_t)left : CPU_RUN;
        void *out = size == 4 ? (void *)wide : (void *)narrow;

        memcpy(x, job->x + 4 * at, 4 * (size_t)n);
        for (uint32_t i = n; i % 16 != 0; i++) {
            x[i] = 1;
        }
        const uint32_t count =
            lane_run(job, x, ones, (n + 15) / 16 * 16, out, hard);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t code = one(job, x[hard[i]]);

            wide[size == 4 ? hard[i] : 0] = code;
            narrow[size == 4 ? 0 : hard[i]] = (uint16_t)code;
        }
        memcpy(job->y + size * at, out, (size_t)(size * n));
    }
}

mxo_status cpu_act_unary(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    static const char *const names[] = {"exp", "sigmoid", "silu", "silu_alpha",
                                        NULL};
    const int fn = cpu_choice(call, "fn", names);
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *y = call_out(call, "y");
    unary_job job = {.ctx = ctx, .is_exp = fn == 0};

    MXO_TRY(cpu_known(call, "fn alpha to ftz", why));
    job.c.to = cpu_float_dtype(call_text(call, "to"));
    job.c.no_mul = fn == 1;
    job.c.alpha = fn == 3 ? (float)call_number(call, "alpha") : 1.0f;
    job.c.limit = cpu_float(0x7f800000u);
    if (fn < 0 || job.c.to == MXO_N_DTYPES || !call_is(call, "ftz", "0") ||
        job.c.alpha - job.c.alpha != 0) {
        return cpu_functions(ctx, call, why);
    }
    if (x == NULL || x->rank > MXO_MAX_RANK) {
        return cpu_fail(MXO_E_SHAPE, why, "x is missing");
    }
    MXO_TRY(cpu_want(x, "x", MXO_F32, x->rank, x->shape, why));
    MXO_TRY(cpu_want(y, "y", job.c.to, x->rank, x->shape, why));
    job.x = cpu_data(x);
    job.y = cpu_data(y);
    cpu_split(ctx, x->n_bytes / 4, 16 * CPU_RUN, span, &job);
    cpu_name_kernel(ctx, "act_unary",
                    cpu_threads(ctx, x->n_bytes / 4, 16 * CPU_RUN));
    return MXO_OK;
}
