/* SPDX-License-Identifier: Apache-2.0 */
/* act.glu: the dialects as rows, and the plan of a call. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/glu.h"
#include "ops/glu_exact.h"
#include "ops/glu_steps.h"
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

/* What a row says that does not reach the kernel. */
enum { GLU_ALPHA_ONE, GLU_ALPHA_GIVEN, GLU_ALPHA_TYPED };
enum { GLU_BETA_ONE, GLU_BETA_GIVEN, GLU_BETA_SWITCH, GLU_BETA_NONE };

typedef struct glu_row {
    const char *name;
    glu_dialect d;
    uint8_t alpha;    /* multiplies the gate: 1, as given, rounded to from */
    uint8_t beta;     /* SWITCH: 0 or 1; 0 turns the tail into TIMES */
    uint8_t positive; /* a limit that is not above 0 does not clamp */
} glu_row;

#define DIALECT(exact, nan, clamp, silu, tail, kept, typed, through) \
    {                                                                \
        exact, GLU_NAN_##nan, GLU_CLAMP_##clamp, GLU_SILU_##silu,    \
            GLU_TAIL_##tail, kept, typed, through                    \
    }

static const glu_row glu_rows[] = {
    {"exact", DIALECT(1, PROPAGATE, BEFORE, RECIP, PLUS, 0, 0, 0),
     GLU_ALPHA_GIVEN, GLU_BETA_GIVEN, 0},
    {"vllm_swigluoai", DIALECT(0, LIMIT, BEFORE, LAST, PLUS, 0, 0, 0),
     GLU_ALPHA_GIVEN, GLU_BETA_ONE, 0},
    {"vllm_silu", DIALECT(0, PROPAGATE, NEVER, DIVIDE, TIMES, 1, 0, 0),
     GLU_ALPHA_ONE, GLU_BETA_NONE, 0},
    {"vllm_silu_clamp", DIALECT(0, LIMIT, ROUNDED, DIVIDE, TIMES, 1, 0, 0),
     GLU_ALPHA_ONE, GLU_BETA_NONE, 0},
    {"vllm_swiglustep", DIALECT(0, LOW, AFTER, RECIP, TIMES, 0, 0, 0),
     GLU_ALPHA_ONE, GLU_BETA_NONE, 0},
    {"vllm_swiglu_limit", DIALECT(0, PROPAGATE, BEFORE, DIVIDE, TIMES, 0, 0, 0),
     GLU_ALPHA_ONE, GLU_BETA_NONE, 1},
    {"trtllm", DIALECT(0, LIMIT, BEFORE, DIVIDE, PLUS, 0, 0, 0),
     GLU_ALPHA_GIVEN, GLU_BETA_GIVEN, 0},
    {"triton", DIALECT(0, LOW, BEFORE, DIVIDE, FMA, 0, 0, 0), GLU_ALPHA_GIVEN,
     GLU_BETA_ONE, 0},
    {"triton_torch", DIALECT(0, PROPAGATE, BEFORE, RECIP, PLUS, 0, 1, 0),
     GLU_ALPHA_TYPED, GLU_BETA_ONE, 0},
    {"aiter", DIALECT(0, PROPAGATE, BEFORE, RECIP, PLUS, 0, 0, 0),
     GLU_ALPHA_GIVEN, GLU_BETA_SWITCH, 0},
    {"aiter_triton", DIALECT(0, LIMIT, BEFORE, DIVIDE, FMA, 0, 0, 0),
     GLU_ALPHA_GIVEN, GLU_BETA_SWITCH, 0},
    {"gpt_oss_torch", DIALECT(0, PROPAGATE, BEFORE, RECIP, PLUS, 0, 1, 0),
     GLU_ALPHA_GIVEN, GLU_BETA_ONE, 0},
    {"deepgemm_mega", DIALECT(0, LOW, BEFORE, RECIP, TIMES, 0, 0, 1),
     GLU_ALPHA_ONE, GLU_BETA_NONE, 0},
};

#undef DIALECT

static const glu_row *glu_row_of(const mxo_call *call)
{
    for (size_t i = 0; i < sizeof glu_rows / sizeof glu_rows[0]; i++) {
        if (call_is(call, "dialect", glu_rows[i].name)) {
            return &glu_rows[i];
        }
    }
    return NULL;
}

/* x rounded to bfloat16 or binary16, to nearest even, by the bits. */
static float host_through(int type, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t m = bits & 0x7fffffffu;
    const int lg = (int)(m >> 23) - 127;
    /* binary16's subnormals have the unit 2^-24. */
    const int drop = type == GLU_BF16 ? 16 : lg < -14 ? -1 - lg : 13;

    if (type == GLU_F32 || m >= 0x7f800000u || m == 0) {
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

static float glu_limit(const mxo_call *call, const glu_row *row)
{
    const float infinite = __builtin_inff();
    const float limit = (float)call_number(call, "limit");

    if (call_is(call, "limit", "none") || (row->positive && !(limit > 0))) {
        return infinite;
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
    if (row->d.exact) {
        a->margin = (float)((a->from == GLU_BF16 ? 20 : 16) * u);
    } else {
        a->margin = (float)(23 * u);
        a->slope = row->alpha == GLU_ALPHA_ONE ? 0.0f : (float)(0.75 * u);
    }
    /* Elsewhere the sign of a zero follows other rules. */
    a->zero_ok = row->d.exact || row->d.kept || a->rule.tail == GLU_TAIL_PLUS;
    if (row->d.clamp == GLU_CLAMP_ROUNDED) {
        /* A clamped number of the type is the rounded limit. */
        a->limit_fast = host_through((int)a->to, a->limit);
    }
    /* A minimum of +0 and -0 may be either. */
    if (a->limit_fast == 0) {
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
    a->limit = glu_limit(call, row);
    if (row->d.clamp == GLU_CLAMP_NEVER) {
        a->limit = __builtin_inff();
    }
    if (!(a->limit >= 0)) {
        return gpu_fail(MXO_E_PARAM, why, "act.glu: the limit is below 0");
    }
    a->limit_fast = a->limit;
    a->alpha =
        row->alpha == GLU_ALPHA_ONE ? 1.0f : (float)call_number(call, "alpha");
    if (row->alpha == GLU_ALPHA_TYPED) {
        a->alpha = host_through((int)a->from, a->alpha);
    }
    a->beta = row->beta == GLU_BETA_ONE    ? 1.0f
              : row->beta == GLU_BETA_NONE ? 0.0f
                                           : (float)call_number(call, "beta");
    if (row->beta == GLU_BETA_SWITCH && a->beta != 1 && a->beta != 0) {
        return gpu_fail(MXO_E_PARAM, why, "act.glu: beta is 0 or 1 here");
    }
    if (row->beta == GLU_BETA_SWITCH && a->beta == 0) {
        a->rule.tail = GLU_TAIL_TIMES;
    }
    if (row->d.exact && a->beta == 0) {
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

static int glu_type(const mxo_call *call, const char *key)
{
    return call_is(call, key, "bf16")  ? GLU_BF16
           : call_is(call, key, "f16") ? GLU_F16
           : call_is(call, key, "f32") ? GLU_F32
                                       : -1;
}

/* Where gates and ups lie; outputs and cols of the result. */
static mxo_status glu_operands(const mxo_call *call, glu_args *a, mxo_text why)
{
    const int split = call_is(call, "layout", "split");
    const int gate_first = call_is(call, "order", "gate_up");
    const mxo_tensor *const x =
        find_tensor(call->in, call->n_in, split ? "gate" : "x");
    const uint64_t bytes = a->from == GLU_F32 ? 4 : 2;
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

    if (a->rule.exact) {
        return same ? (int)a->from : a->from == GLU_F32 ? 3 + (int)a->to : -1;
    }
    if (!same || a->from == GLU_F32 || a->rule.typed || a->rule.through_bf16 ||
        a->rule.clamp == GLU_CLAMP_AFTER) {
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

mxo_status plan_glu(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    glu_args *const a = PLAN_ARGS(plan, glu_args);
    const int from = glu_type(call, "from");
    const int to = glu_type(call, "to");
    uint8_t *y = NULL;

    if (from < 0 || to < 0 || !call_is(call, "per_expert", "none") ||
        !call_is(call, "bounds", "0") || call_number(call, "gather") != 0) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "act.glu on %s: no f64, per_expert, gather or bounds",
                        GPU_NAME);
    }
    a->from = (uint32_t)from;
    a->to = (uint32_t)to;
    mxo_status status = glu_numbers(call, a, why);
    if (status == MXO_OK) {
        status = glu_operands(call, a, why);
    }
    if (status == MXO_OK) {
        const gpu_want w = {
            types[to], 2, {a->cols == 0 ? 0 : a->outputs / a->cols, a->cols}};
        status = need_shaped(call, 1, "y", &w, &y, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    a->y = y;
    plan->kernel = glu_kernel(a);
    const uint64_t tile = (uint64_t)GPU_BLOCK * GLU_UNROLLED;
    plan->blocks = a->n != 0 ? (a->n + tile - 1) / tile
                             : (a->outputs + GPU_BLOCK - 1) / GPU_BLOCK;
    plan->waves = a->n != 0 ? 0 : 1;
    return MXO_OK;
}
