/* SPDX-License-Identifier: Apache-2.0 */
/* act.glu: the dialects as rows, and the plan of a call. */
#include "host/call.h"
#include "host/glu_choosers.h"
#include "host/plans.h"
#include "ops/glu.h"
#include "ops/glu_exact.h"
#include "ops/glu_steps.h"
#include "ops/glu_wide_one.h"
#include "port/runtime.h"

#define GLU_KERNELS(name, from, to, mode)            \
    GPU_ENTRY_DENSE(glu_##name##_pairs, glu_args, 5, \
                    glu_body(a, from, to, mode, 1))  \
    GPU_ENTRY_DENSE(glu_##name##_apart, glu_args, 4, \
                    glu_body(a, from, to, mode, 0))

GLU_KERNELS(exact_bf16, GLU_BF16, GLU_BF16, GLU_EXACT)
GLU_KERNELS(exact_f16, GLU_F16, GLU_F16, GLU_EXACT)
GLU_KERNELS(exact_f32, GLU_F32, GLU_F32, GLU_EXACT)
GLU_KERNELS(exact_f32_bf16, GLU_F32, GLU_BF16, GLU_EXACT)
GLU_KERNELS(exact_f32_f16, GLU_F32, GLU_F16, GLU_EXACT)
GLU_KERNELS(steps_bf16, GLU_BF16, GLU_BF16, GLU_STEPS)
GLU_KERNELS(steps_f16, GLU_F16, GLU_F16, GLU_STEPS)
GLU_KERNELS(kept_bf16, GLU_BF16, GLU_BF16, GLU_KEPT)
GLU_KERNELS(kept_f16, GLU_F16, GLU_F16, GLU_KEPT)
GPU_ENTRY(glu_any, glu_args, glu_one_by_one(a))
GPU_ENTRY(glu_wide_one, glu_wide_args, glu_wide_body(a))

/* The words of <mxoracle/glu.def>.  A name of two words is a clamp and what
   else it says. */
enum { GLU_INPUT_ARE, GLU_INPUT_BF16 };
enum { GLU_NAN_LAUNDER = GLU_NAN_LIMIT, GLU_NAN_LAUNDER_LOW = GLU_NAN_LOW };
enum {
    GLU_POSITIVE = 8, /* a limit that is not above 0 does not clamp */
    GLU_LIMIT_NEVER = GLU_CLAMP_NEVER,
    GLU_LIMIT_BEFORE = GLU_CLAMP_BEFORE,
    GLU_LIMIT_ROUNDED = GLU_CLAMP_ROUNDED,
    GLU_LIMIT_AFTER = GLU_CLAMP_AFTER,
    GLU_LIMIT_POSITIVE = GLU_CLAMP_BEFORE | GLU_POSITIVE,
    GLU_LIMIT_POSITIVE_ROUNDED = GLU_CLAMP_ROUNDED | GLU_POSITIVE,
    GLU_LIMIT_ALWAYS = GLU_CLAMP_BEFORE | 16,
    GLU_LIMIT_FINITE = GLU_CLAMP_BEFORE | 32
};
enum { GLU_ALPHA_ONE, GLU_ALPHA_PARAM, GLU_ALPHA_TYPED, GLU_ALPHA_FOLDED };
enum { GLU_BETA_ONE, GLU_BETA_PARAM, GLU_BETA_TWO_WAY };
enum { GLU_STEP_F32, GLU_STEP_TYPE };
enum { GLU_STORE_RN, GLU_STORE_DOWN };

typedef struct glu_row {
    const char *name;
    glu_dialect d;
    uint8_t alpha;    /* multiplies the gate: 1, as given, rounded to from */
    uint8_t beta;     /* TWO_WAY: 0 or 1; 0 turns the tail into TIMES */
    uint8_t positive; /* a limit that is not above 0 does not clamp */
} glu_row;

#define MXO_GLU(id, name, input, nan, clamp, alpha, silu, exp, step, kept,  \
                tail, beta, store, wide, kernel, source)                    \
    {name,                                                                  \
     {0, GLU_NAN_##nan, GLU_LIMIT_##clamp & 7, GLU_SILU_##silu,             \
      GLU_TAIL_##tail, GLU_STEP_##kept, GLU_STEP_##step, GLU_INPUT_##input, \
      GLU_EXP_##exp, GLU_LIMIT_##clamp == GLU_LIMIT_ALWAYS,                 \
      GLU_LIMIT_##clamp == GLU_LIMIT_FINITE,                                \
      GLU_ALPHA_##alpha == GLU_ALPHA_FOLDED, GLU_STORE_##store},            \
     GLU_ALPHA_##alpha,                                                     \
     GLU_BETA_##beta,                                                       \
     (GLU_LIMIT_##clamp & GLU_POSITIVE) != 0},

/* The first row is the one that is not steps. */
static const glu_row glu_rows[] = {
#include <mxoracle/glu.def>
};
#undef MXO_GLU

static const glu_row *glu_row_of(const mxo_call *call)
{
    for (size_t i = 0; i < sizeof glu_rows / sizeof glu_rows[0]; i++) {
        if (call_is(call, "dialect", glu_rows[i].name)) {
            return &glu_rows[i];
        }
    }
    return NULL;
}

enum { GLU_F64 = GLU_F32 + 1 }; /* of glu_wide_one alone */

/* x rounded to bfloat16 or binary16, to nearest even, by the bits. */
static float host_through(int type, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t m = bits & 0x7fffffffu;
    const int lg = (int)(m >> 23) - 127;
    /* binary16's subnormals have the unit 2^-24. */
    const int drop = type == GLU_BF16 ? 16 : lg < -14 ? -1 - lg : 13;

    if (type >= GLU_F32 || m >= 0x7f800000u || m == 0) {
        return x;
    }
    if (drop > 24) {
        bits &= 0x80000000u;
    } else if (drop == 24) { /* half a unit or less than one */
        bits = (bits & 0x80000000u) | (m > 0x33000000u ? 0x33800000u : 0);
    } else {
        const uint32_t unit = 1u << drop;
        bits += unit / 2 - 1 + (bits >> drop & 1);
        bits &= ~(unit - 1);
    }
    if (type == GLU_F16 && (bits & 0x7fffffffu) >= 0x47800000u) {
        bits = (bits & 0x80000000u) | 0x7f800000u;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A limit that the row does not have, or none, is infinity. */
static float glu_limit(const mxo_call *call, const glu_row *row)
{
    const float limit = (float)call_number(call, "limit");

    if (call_is(call, "limit", "none")) {
        return row->d.finite ? GLU_LARGEST : __builtin_inff();
    }
    if (row->positive && limit <= 0) {
        return __builtin_inff();
    }
    return row->d.through_bf16 ? host_through(GLU_BF16, limit) : limit;
}

/* Constants of the fast path; a margin of 1 sends everything to the slow one */
static void glu_fill_fast(glu_args *a, const glu_row *row)
{
    const double u = 0x1p-24;
    const double c = -(double)a->alpha * 1.4426950408889634;

    a->wide_beta = (double)a->beta;
    a->c = c;
    a->c_hi = (float)c;
    if (a->from == GLU_BF16) { /* 16 bits, so that a gate times it is exact */
        uint32_t bits;
        memcpy(&bits, &a->c_hi, sizeof bits);
        bits = (bits + 0x80) & ~0xffu;
        memcpy(&a->c_hi, &bits, sizeof bits);
    }
    a->c_lo = (float)((c - (double)a->c_hi) * 0.69314718055994531);
    if (a->rule.exact) {
        a->margin = (float)((a->from == GLU_BF16 ? 20 : 16) * u);
    } else {
        a->margin = (float)(23 * u);
        a->slope = row->alpha == GLU_ALPHA_ONE ? 0.0f : (float)(0.75 * u);
    }
    /* Elsewhere the sign of a zero follows other rules. */
    a->zero_ok = a->rule.exact || row->d.kept || a->rule.tail == GLU_TAIL_PLUS;
    if (row->d.clamp == GLU_CLAMP_ROUNDED) {
        /* A clamped number of the type is the rounded limit. */
        a->limit_fast = host_through((int)a->to, a->limit);
    }
    /* A minimum of +0 and -0 may be either; and no margin was shown for what
       is not e^x, an infinite limit that clamps, or a kept silu's sum. */
    if (a->limit_fast == 0 || row->d.exp != GLU_EXP_RN || row->d.always ||
        row->d.finite || row->d.folded || row->d.silu >= GLU_SILU_TANH ||
        row->d.down || (row->d.kept && row->d.tail != GLU_TAIL_TIMES)) {
        a->margin = 1;
    }
}

mxo_status glu_numbers(const mxo_call *call, glu_args *a, mxo_text why)
{
    const glu_row *const row = glu_row_of(call);

    if (row == NULL) {
        return gpu_fail(MXO_E_UNSUPPORTED, why, "act.glu on %s has no %s",
                        GPU_NAME, call_text(call, "dialect"));
    }
    const double alpha = call_number(call, "alpha");
    const double beta = call_number(call, "beta");

    if (alpha != alpha || beta != beta) {
        return gpu_fail(MXO_E_PARAM, why,
                        "act.glu: alpha and beta are numbers");
    }
    a->rule = row->d;
    a->rule.exact = row == glu_rows;
    a->limit = glu_limit(call, row);
    if (a->limit != a->limit) {
        return gpu_fail(MXO_E_PARAM, why, "act.glu: a limit is a number");
    }
    if (row->d.clamp == GLU_CLAMP_NEVER) {
        a->limit = __builtin_inff();
    }
    if (!(a->limit >= 0)) {
        return gpu_fail(MXO_E_PARAM, why, "act.glu: the limit is below 0");
    }
    a->limit_fast = a->limit;
    a->alpha =
        row->alpha == GLU_ALPHA_ONE ? 1.0f : (float)call_number(call, "alpha");
    if (row->alpha == GLU_ALPHA_TYPED && a->to != GLU_F64) {
        a->alpha = host_through((int)a->from, a->alpha);
    }
    a->scale = (float)call_number(call, "scale_gate");
    if (row->d.folded && !(a->scale >= 0 && a->scale - a->scale == 0)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "act.glu: scale_gate is a positive number");
    }
    a->scale = a->scale == 0 ? 1.0f : a->scale;
    a->linear = call_is(call, "linear_beta", "none")
                    ? 0.0f
                    : (float)call_number(call, "linear_beta");
    if (row->alpha == GLU_ALPHA_FOLDED) {
        const float turns = a->alpha * GLU_LOG2E_F32;
        a->alpha = turns * a->scale;
    }
    a->beta = row->d.tail == GLU_TAIL_TIMES && row->d.silu < GLU_SILU_TANH
                  ? 0.0f
              : row->beta == GLU_BETA_ONE ? 1.0f
                                          : (float)call_number(call, "beta");
    if (row->beta == GLU_BETA_TWO_WAY && a->beta != 1 && a->beta != 0) {
        return gpu_fail(MXO_E_PARAM, why, "act.glu: beta is 0 or 1 here");
    }
    if (row->beta == GLU_BETA_TWO_WAY && a->beta == 0) {
        a->rule.tail = GLU_TAIL_TIMES;
    }
    if (a->rule.exact && a->beta == 0) {
        a->beta = 0; /* never -0: V + beta = 0 counts as +0 */
    }
    if (!call_is(call, "nan", "dialect")) {
        a->rule.nan = call_is(call, "nan", "launder")     ? GLU_NAN_LIMIT
                      : call_is(call, "nan", "propagate") ? GLU_NAN_PROPAGATE
                                                          : GLU_NAN_LOW;
    }
    glu_fill_fast(a, row);
    return MXO_OK;
}

mxo_status glu_per_expert(const mxo_call *call, const glu_args *base,
                          const glu_own *own, uint64_t n, glu_constants *to,
                          mxo_text why)
{
    static const char *const keys[] = {"dialect",   "nan",  "linear_beta",
                                       "alpha",     "beta", "limit",
                                       "scale_gate"};
    const float *const vectors[] = {own->alpha, own->beta, own->limit,
                                    own->scale};
    mxo_param params[7];
    mxo_call one = *call;

    for (int i = 0; i < 7; i++) {
        params[i].key = keys[i];
        params[i].text = call_text(call, keys[i]);
        params[i].number = call_number(call, keys[i]);
    }
    one.params = params;
    one.n_params = 7;
    for (uint64_t e = 0; e < n; e++) {
        glu_args a = *base;
        for (int i = 0; i < 4; i++) {
            if (vectors[i] != NULL) {
                params[3 + i].text = "";
                params[3 + i].number = (double)vectors[i][e];
            }
        }
        MXO_TRY(glu_numbers(&one, &a, why));
        to[e].alpha = a.alpha;
        to[e].beta = a.beta;
        to[e].limit = a.limit;
        to[e].scale = a.scale;
        to[e].tail = a.rule.tail;
    }
    return MXO_OK;
}

static int glu_type(const mxo_call *call, const char *key)
{
    if (call_is(call, key, "bf16")) {
        return GLU_BF16;
    }
    if (call_is(call, key, "f16")) {
        return GLU_F16;
    }
    if (call_is(call, key, "f32")) {
        return GLU_F32;
    }
    if (call_is(call, key, "f64")) {
        return GLU_F64;
    }
    return -1;
}

/* Where gates and ups lie; outputs and cols of the result. */
static mxo_status glu_operands(const mxo_call *call, glu_args *a, mxo_text why)
{
    const int split = call_is(call, "layout", "split");
    const int gate_first = call_is(call, "order", "gate_up");
    const mxo_tensor *const x = call_in(call, split ? "gate" : "x");
    const uint64_t bytes = a->from == GLU_F64 ? 8 : a->from == GLU_F32 ? 4 : 2;
    uint8_t *up = NULL;

    if (x == NULL || x->rank != 2) {
        return gpu_fail(MXO_E_SHAPE, why, "act.glu needs %s of two dimensions",
                        split ? "gate" : "x");
    }
    a->interleaved = (uint32_t)call_is(call, "layout", "interleaved");
    a->gate_odd = !gate_first;
    a->pick_gate = gate_first ? 0x1044 : 0x3244;
    a->pick_up = gate_first ? 0x3244 : 0x1044;
    a->cols = split ? x->shape[1] : x->shape[1] / 2;
    a->outputs = x->shape[0] * a->cols;
    a->gate = tensor_address(x);
    a->up = a->gate;
    if (split) {
        const gpu_want w = want_beside(x, x->dtype, x->shape[1]);
        const mxo_status status = need_shaped(call, 0, "up", &w, &up, why);
        a->up = up;
        return status;
    }
    if (!a->interleaved) {
        const uint8_t *const first = tensor_address(x);
        const uint8_t *const second = first + a->cols * bytes;
        a->gate = gate_first ? first : second;
        a->up = gate_first ? second : first;
        a->row_gap = 1;
    }
    return MXO_OK;
}

/* Row of the kernels below, or -1: one by one. */
static int glu_kernel_row(const glu_args *a)
{
    const int same = a->from == a->to;

    if (a->pick != NULL || a->table != NULL) {
        return -1;
    }
    if (a->rule.exact) {
        return same ? (int)a->from : a->from == GLU_F32 ? 3 + (int)a->to : -1;
    }
    if (!same || a->from == GLU_F32 || a->rule.typed || a->rule.through_bf16 ||
        a->rule.clamp == GLU_CLAMP_AFTER || a->margin >= 1) {
        return -1;
    }
    return (a->rule.kept ? 7 : 5) + (int)a->from;
}

/* The vector kernel where whole vectors fit; row_gap becomes vectors. */
static const gpu_kernel *glu_kernel(glu_args *a)
{
#define BOTH(name)                                                   \
    {                                                                \
        KERNEL(glu_##name##_apart, 0), KERNEL(glu_##name##_pairs, 0) \
    }
    static const gpu_kernel kernels[][2] = {
        BOTH(exact_bf16),     BOTH(exact_f16),     BOTH(exact_f32),
        BOTH(exact_f32_bf16), BOTH(exact_f32_f16), BOTH(steps_bf16),
        BOTH(steps_f16),      BOTH(kept_bf16),     BOTH(kept_f16),
    };
#undef BOTH
    static const gpu_kernel any = KERNEL(glu_any, 0);
    const uint64_t per = (uint64_t)GLU_PER_VECTOR(a->from);
    const uint64_t unit = a->interleaved ? per / 2 : per;
    const uint64_t whole =
        a->interleaved || a->row_gap == 0 ? a->outputs : a->cols;
    const int row = glu_kernel_row(a);

    if (row < 0 || whole % unit != 0 || a->outputs / unit >= 1u << 31) {
        return &any;
    }
    a->n = a->outputs / unit;
    if (a->row_gap != 0) {
        a->row_gap = (uint32_t)(a->cols / per);
        a->row = divisor_of(a->row_gap);
    }
    return &kernels[row][a->interleaved];
}

/* From or to binary64, after the same checks. */
static mxo_status glu_plan_wide(const mxo_call *call, gpu_plan *plan,
                                mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(glu_wide_one, 0);
    const glu_args at = *PLAN_ARGS(plan, glu_args);
    glu_wide_args *const w = PLAN_ARGS(plan, glu_wide_args);
    uint32_t dtype[2];

    w->at = at;
    w->limit_alone = (uint32_t)call_is(call, "per_expert", "limit");
    plan->kernel = &kernel;
    plan->blocks = (at.outputs + GPU_BLOCK - 1) / GPU_BLOCK;
    plan->waves = 1;
    return glu_wide_read(call, &w->unit, dtype, why);
}

mxo_status plan_glu(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32, MXO_F64};
    glu_args *const a = PLAN_ARGS(plan, glu_args);
    const int from = glu_type(call, "from");
    const int to = glu_type(call, "to");
    uint8_t *y = NULL;

    if (from < 0 || to < 0 || !call_is(call, "bounds", "0")) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "act.glu on %s: bounds are not given", GPU_NAME);
    }
    if (from == GLU_F64 && !call_is(call, "dialect", "exact")) {
        return gpu_fail(MXO_E_PARAM, why,
                        "act.glu: only the dialect exact takes binary64");
    }
    a->from = (uint32_t)from;
    a->to = (uint32_t)to;

    const double tile = call_number(call, "tile");
    uint32_t gather = 0;

    if (!(tile >= 1 && tile <= 1 << 30)) {
        return gpu_fail(MXO_E_PARAM, why, "act.glu: tile is at least 1");
    }
    MXO_TRY(call_flag(call, "gather", &gather, why));
    MXO_TRY(glu_numbers(call, a, why));
    MXO_TRY(glu_operands(call, a, why));
    if (gather || !call_is(call, "per_expert", "none")) {
        MXO_TRY(glu_choosers(call, a, plan->scratch, why));
    }
    const gpu_want w = {
        types[to], 2, {a->cols == 0 ? 0 : a->outputs / a->cols, a->cols}};
    MXO_TRY(need_shaped(call, 1, "y", &w, &y, why));
    a->y = y;
    if (glu_wide_takes(call)) {
        return glu_plan_wide(call, plan, why);
    }
    plan->kernel = glu_kernel(a);
    const uint64_t each = (uint64_t)GPU_BLOCK * GLU_UNROLLED;
    plan->blocks = a->n != 0 ? (a->n + each - 1) / each
                             : (a->outputs + GPU_BLOCK - 1) / GPU_BLOCK;
    plan->waves = a->n != 0 ? 0 : 1;
    return MXO_OK;
}
