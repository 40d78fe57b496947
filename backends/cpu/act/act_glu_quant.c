/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu_quant: a gated unit and the E4M3 quantiser of groups behind it, a
 * row at a time, by backends/common/glu/glu_quant.h.
 */
#include "../../common/glu/glu_quant.h"
#include "cpu.h"
#include "exact.h"
#include "glu_unit.h"
#include "number.h"
#include "quant/quant.h"

#include <math.h>

typedef struct gluq_job {
    cpu_context *ctx;
    const gluq_row *row;
    gluq_steps steps;
    cpu_glu_unit unit;
    cpu_quant quant; /* E4M3FN */
    uint32_t form;
    const uint8_t *gate;
    const uint8_t *up;
    const uint8_t *weight; /* float[rows], of the exact product */
    uint64_t rows, cols;
    uint64_t pitch; /* bytes from row to row of gate and up */
    uint64_t group, groups;
    uint64_t words; /* of a row of words, or rows of them */
    uint8_t *q;
    uint8_t *scale;
    uint8_t *y;
} gluq_job;

/* y 2^-500, rounded once; below the normal numbers a large number beside it
   makes the last bit, and what is left decides ties. */
static double shrink(dd y)
{
    const double quantum = cpu_pow2(-574);
    const double large = 0x1.8p52 * quantum;

    if (fabs(y.h) >= cpu_pow2(-522)) {
        return y.h * cpu_pow2(-500);
    }
    double s = y.h + large;
    const double rest = y.h - (s - large);

    s += rest == quantum / 2 && y.l > 0    ? quantum
         : rest == -quantum / 2 && y.l < 0 ? -quantum
                                           : 0;
    return copysign((s - large) * cpu_pow2(-500), y.h);
}

/* f e^-z for z from 300 on, where the sigmoid is e^-z. */
static double tail(double f, double z)
{
    const dd large = {f * cpu_pow2(500), 0};

    if (z > 1020) {
        return copysign(0.0, f);
    }
    const dd root = cpu_exp_precise(z / 4);
    const dd half = dd_mul(root, root);

    return shrink(dd_mul(dd_mul(large, half), half));
}

/* g sigmoid(g) (u w) rounded once to double; u w has 32 bits, and with g 40:
   all that is inexact is the exponential. */
static double exact_product(float g, float u, float w)
{
    const dd one = {1, 0};
    const double v = (double)u * (double)w + 0.0; /* -0 counts as +0 */
    const double f = (double)g * v;
    const double z = fabs((double)g);
    const dd whole = {f, 0};

    if (f == 0 || !isfinite(f) || !isfinite(z)) { /* classes and signs alone */
        const double sigmoid = g < 0 && isinf(g) ? 0.0 : 1.0;
        return (double)g * sigmoid * v;
    }
    if (z < 0x1p-60 || g > 70) {
        return g > 70 ? f : f / 2;
    }
    if (g < -300) {
        return tail(f, z);
    }
    const dd e = cpu_exp_precise(z);

    return dd_div(g < 0 ? dd_mul(whole, e) : whole, dd_add(one, e)).h;
}

/* Operands of the exact product: BF16, and a NaN is a limit. */
static float clamped(float x, float limit, int is_up)
{
    const float rounded = cpu_from_bf16(cpu_bf16_of(x));
    const float most = cpu_from_bf16(cpu_bf16_of(limit));

    if (rounded != rounded) {
        return isinf(most) ? rounded : is_up ? -most : most;
    }
    return rounded > most ? most : is_up && rounded < -most ? -most : rounded;
}

static void exact_run(const gluq_job *job, uint64_t r, uint64_t col, uint32_t n,
                      const float *gate, const float *up)
{
    const float limit = job->unit.base.limit;
    float w;

    memcpy(&w, job->weight + 4 * r, sizeof w);
    for (uint32_t i = 0; i < n; i++) {
        double y = exact_product(clamped(gate[i], limit, 0),
                                 clamped(up[i], limit, 1), w);

        y = y != y ? cpu_double(UINT64_C(0x7ff8) << 48) : y;
        memcpy(job->y + 8 * (r * job->cols + col + i), &y, sizeof y);
    }
}

/* Results of a row. */
static void run_units(const gluq_job *job, uint64_t r)
{
    const cpu_isa_ops *lane = job->ctx->lane;
    const uint64_t size = cpu_dtype_bytes(job->unit.from);
    const uint64_t out = cpu_dtype_bytes(job->unit.base.to);
    float gate[CPU_RUN], up[CPU_RUN];

    for (uint64_t col = 0; col < job->cols; col += CPU_RUN) {
        const uint64_t left = job->cols - col;
        const uint32_t n = left < CPU_RUN ? (uint32_t)left : CPU_RUN;
        const uint64_t at = r * job->pitch + col * size;
        cpu_codes codes;

        lane->widen(job->unit.from, job->gate + at, n, gate);
        lane->widen(job->unit.from, job->up + at, n, up);
        for (uint32_t i = n; i % 16 != 0; i++) {
            gate[i] = up[i] = 1;
        }
        if (job->weight != NULL) {
            exact_run(job, r, col, n, gate, up);
            continue;
        }
        cpu_glu_run(&job->unit, &job->unit.base, lane, gate, up, n, &codes);
        memcpy(job->y + (r * job->cols + col) * out, &codes, n * out);
    }
}

/* Result i as a float. */
static float result(const gluq_job *job, uint64_t i)
{
    const uint64_t size = cpu_dtype_bytes(job->unit.base.to);
    double wide;
    float y;

    if (job->weight != NULL) {
        memcpy(&wide, job->y + 8 * i, sizeof wide);
        return (float)wide;
    }
    cpu_widen(job->unit.base.to, job->y + size * i, 1, &y);
    return y;
}

static void put_scale(const gluq_job *job, uint64_t r, uint64_t g,
                      uint32_t bits)
{
    const uint64_t at = r * job->groups + g;
    const uint64_t word = job->form == GLUQ_WORDS_DOWN ? g / 4 * job->words + r
                                                       : r * job->words + g / 4;

    uint32_t all;

    if (job->form >= GLUQ_WORDS) {
        memcpy(&all, job->scale + 4 * word, sizeof all);
        all |= (bits >> 23) << 8 * (g % 4);
        memcpy(job->scale + 4 * word, &all, sizeof all);
    } else if (job->form == GLUQ_E8M0) {
        job->scale[at] = (uint8_t)(bits >> 23);
    } else {
        memcpy(job->scale + 4 * at, &bits, sizeof bits);
    }
}

static void run_group(const gluq_job *job, uint64_t r, uint64_t g)
{
    const uint64_t first = r * job->cols + g * job->group;
    float amax = 0;

    for (uint64_t i = first; i < first + job->group; i++) {
        const float y = fabsf(result(job, i));
        amax = y > amax ? y : amax;
    }
    const uint32_t bits = gluq_scale(&job->steps, amax);
    const cpu_quant_scale by_byte =
        cpu_quant_under_byte(&job->quant, 0, (uint8_t)(bits >> 23));

    put_scale(job, r, g, bits);
    for (uint64_t i = first; i < first + job->group; i++) {
        const float y = result(job, i);
        const float x = job->row->by_byte ? y : y / cpu_float(bits);
        const float quiet = x != x ? cpu_float(0x7fc00000u) : x;

        job->q[i] = job->row->by_byte ? cpu_quant_scaled(&by_byte, quiet)
                                      : cpu_quant_code(&job->quant, quiet);
    }
}

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const gluq_job *job = arg;

    for (uint64_t r = begin; r < end; r++) {
        run_units(job, r);
        for (uint64_t g = 0; g < job->groups; g++) {
            run_group(job, r, g);
        }
    }
}

static mxo_status read_unit(gluq_job *job, const mxo_call *call, mxo_text why)
{
    const double limit = call_number(call, "limit");
    const int no_limit = call_is(call, "limit", "none");
    const char *const name = call_text(call, "dialect");

    job->row = gluq_row_of(name);
    job->unit.from = cpu_float_dtype(call_text(call, "from"));
    if (job->row == NULL || job->unit.from == MXO_N_DTYPES) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no dialect %s", name);
    }
    if (!no_limit && !(limit >= 0)) {
        return cpu_fail(MXO_E_PARAM, why, "a limit is not negative");
    }
    (void)cpu_glu_dialect(&job->unit,
                          job->row->unit == NULL ? "exact" : job->row->unit);
    job->unit.base.nan = CPU_NAN_LOW_LIMIT;
    job->unit.base.alpha = job->unit.base.beta = 1;
    job->unit.base.limit = no_limit ? INFINITY : (float)limit;
    job->unit.base.to = job->row->keeps ? job->unit.from : (uint32_t)MXO_BF16;
    return MXO_OK;
}

static mxo_status read_inputs(gluq_job *job, const mxo_call *call, mxo_text why)
{
    const int is_split = job->row->unit == NULL;
    const mxo_tensor *x = call_in(call, is_split ? "gate" : "x");
    const mxo_tensor *up = call_in(call, "up");
    const mxo_tensor *weight = call_in(call, "topk_weight");
    const uint64_t size = cpu_dtype_bytes(job->unit.from);

    if (x == NULL || x->rank != 2 || (!is_split && x->shape[1] % 2 != 0)) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "%s has two axes, and gates beside ups",
                        is_split ? "gate" : "x");
    }
    MXO_TRY(cpu_want(x, "x", job->unit.from, 2, x->shape, why));
    job->rows = x->shape[0];
    job->pitch = x->shape[1] * size;
    job->cols = is_split ? x->shape[1] : x->shape[1] / 2;
    job->gate = cpu_data(x);
    job->up = job->gate + job->cols * size;
    if (is_split) {
        MXO_TRY(cpu_want(up, "up", job->unit.from, 2, x->shape, why));
        MXO_TRY(cpu_want(weight, "topk_weight", MXO_F32, 1, x->shape, why));
        job->up = cpu_data(up);
        job->weight = cpu_data(weight);
    }
    return MXO_OK;
}

static mxo_status read_steps(gluq_job *job, const mxo_call *call, mxo_text why)
{
    const double group = call_number(call, "group");
    int by_power;

    while (job->form < GLUQ_WORDS_DOWN &&
           !call_is(call, "scale", gluq_forms[job->form])) {
        job->form++;
    }
    MXO_TRY(cpu_flag(call, "pow2", &by_power, why));
    if (!(group >= 1) || group > 0x1p40 || job->cols % (uint64_t)group != 0) {
        return cpu_fail(MXO_E_SHAPE, why, "columns are not whole groups");
    }
    if (!by_power && (job->form != GLUQ_F32 || !job->row->keeps)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "pow2=0 is for dialect=vllm_colmajor with scale=f32");
    }
    job->group = (uint64_t)group;
    job->groups = job->cols / job->group;
    job->steps = (gluq_steps){(uint32_t)by_power, job->row->inverse,
                              job->row->floor_first, job->row->floor_last};
    cpu_quant_make(&job->quant, cpu_quant_rule_of("floor"),
                   cpu_element_of("e4m3fn"), MXO_F32, CPU_RNE);
    job->quant.flags |= CPU_Q_LIVE_255;
    return MXO_OK;
}

static mxo_status read_outputs(gluq_job *job, const mxo_call *call,
                               mxo_text why)
{
    const mxo_tensor *q = call_out(call, "q");
    const mxo_tensor *scale = call_out(call, "scale");
    const mxo_tensor *y = call_out(call, "y");
    const uint64_t words = (job->groups + 3) / 4;
    const uint64_t full[2] = {job->rows, job->cols};
    const uint64_t plain[2] = {job->rows, job->groups};
    const uint64_t packed[2] = {job->rows, words};
    const uint64_t down[2] = {words, cpu_round_up(job->rows, 4)};
    const uint32_t type = job->form == GLUQ_F32    ? MXO_F32
                          : job->form == GLUQ_E8M0 ? MXO_E8M0
                                                   : MXO_I32;
    const uint32_t to =
        job->weight != NULL ? (uint32_t)MXO_F64 : job->unit.base.to;

    MXO_TRY(cpu_want(q, "q", MXO_E4M3, 2, full, why));
    MXO_TRY(cpu_want(y, "y", to, 2, full, why));
    MXO_TRY(cpu_want(scale, "scale", type, 2,
                     job->form < GLUQ_WORDS    ? plain
                     : job->form == GLUQ_WORDS ? packed
                                               : down,
                     why));
    job->words = scale->shape[1];
    job->q = cpu_data(q);
    job->scale = cpu_data(scale);
    job->y = cpu_data(y);
    return MXO_OK;
}

mxo_status cpu_act_glu_quant(cpu_context *ctx, const mxo_call *call,
                             mxo_text why)
{
    gluq_job job = {.ctx = ctx};

    MXO_TRY(cpu_known(call, "dialect from scale group pow2 limit", why));
    MXO_TRY(read_unit(&job, call, why));
    MXO_TRY(read_inputs(&job, call, why));
    MXO_TRY(read_steps(&job, call, why));
    MXO_TRY(read_outputs(&job, call, why));
    if (job.form >= GLUQ_WORDS) {
        memset(job.scale, 0, (size_t)call_out(call, "scale")->n_bytes);
    }
    cpu_split(ctx, job.rows, 1, span, &job);
    cpu_name_kernel(ctx, "act_glu_quant", cpu_threads(ctx, job.rows, 1));
    return MXO_OK;
}
