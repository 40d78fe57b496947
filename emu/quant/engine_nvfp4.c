/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.nvfp4_engine: blocks of 16 under an E4M3 byte as other engines make
 * them.  Each rule is one function that takes a block; what it needs of the
 * whole row or tensor is in the plan.
 */
#include "engine.h"

#include <string.h>

#define MAGNITUDE 0x7fffffffu
#define INFINITE 0x7f800000u
#define E4M3_NAN 0x7f
#define F32_NAN 0x7fc00000u
#define ONE 0x3f800000u
#define HALF 0x3f000000u
#define SIX 0x40c00000u
#define F32_2688 0x45280000u
#define F32_448 0x43e00000u
#define TWO_TO_M9 0x3b000000u

typedef struct plan {
    mxo_format type;
    uint32_t global;  /* of the tensor: given, or amax / 2688 */
    uint32_t inverse; /* of the row: 2688 / amax, ggml_cuda */
} plan;

typedef uint8_t block_step(const plan *p, uint8_t *code, const uint32_t *x);

static uint8_t ggml(const plan *p, uint8_t *code, const uint32_t *x)
{
    const uint32_t amax = engine_amax(x, MXO_NVFP4_BLOCK);
    const uint8_t byte = engine_ue4m3(mxo_f32_div(amax, SIX));
    const uint32_t unit =
        mxo_f32_add(engine_ue4m3_half(byte), engine_ue4m3_half(byte));

    (void)p;
    for (int i = 0; i < MXO_NVFP4_BLOCK; i++) {
        code[i] = engine_scan(unit, x[i]);
    }
    return byte;
}

/* The codes of a candidate byte, and what they cost. */
static uint32_t cuda_error(uint8_t byte, const uint32_t *v)
{
    const uint32_t scale = engine_e4m3_value(byte);
    const uint32_t r =
        byte == 0 ? 0 : mxo_f32_div(HALF, mxo_f32_mul(scale, HALF));
    uint32_t sum = 0;

    for (int i = 0; i < MXO_NVFP4_BLOCK; i++) {
        const uint8_t q =
            engine_e2m1(mxo_f32_mul(v[i], r) & MAGNITUDE, MXO_TIE_RNE);
        const uint32_t value = (uint32_t)mxo_format_convert(
            MXO_FMT_F32, MXO_FMT_E2M1, q, MXO_TIE_RNE, MXO_NAN_QUIET);
        const uint32_t d =
            mxo_f32_sub(v[i] & MAGNITUDE, mxo_f32_mul(value, scale));
        sum = mxo_f32_fma(d, d, sum);
    }
    return sum;
}

static uint8_t ggml_cuda(const plan *p, uint8_t *code, const uint32_t *x)
{
    static const int near[] = {0, -1, 1, -2, 2};
    uint32_t v[MXO_NVFP4_BLOCK];
    uint32_t least = 0;
    int best = -1;

    for (int i = 0; i < MXO_NVFP4_BLOCK; i++) {
        v[i] = mxo_f32_mul(x[i], p->inverse);
    }
    const uint32_t amax = engine_amax(v, MXO_NVFP4_BLOCK);
    const int first = amax == 0 ? 0 : engine_e4m3(mxo_f32_div(amax, SIX));

    for (int i = 0; i < 5; i++) {
        const int byte = first + near[i];
        if (byte < 0 || byte > 0x7e) {
            continue;
        }
        const uint32_t error = cuda_error((uint8_t)byte, v);
        if (best < 0 || mxo_f32_cmp(error, least) < 0) {
            best = byte;
            least = error;
        }
    }
    const uint32_t scale = engine_e4m3_value((uint8_t)best);
    const uint32_t r =
        best == 0 ? 0 : mxo_f32_div(HALF, mxo_f32_mul(scale, HALF));
    const uint32_t by = mxo_f32_mul(p->inverse, r);

    for (int i = 0; i < MXO_NVFP4_BLOCK; i++) {
        code[i] = engine_e2m1(mxo_f32_mul(x[i], by), MXO_TIE_RNE);
    }
    return (uint8_t)best;
}

/* MLX: a NaN wins the maximum, and saturates. */
static uint8_t mlx_byte(const uint32_t *x, uint32_t s)
{
    for (int i = 0; i < MXO_NVFP4_BLOCK; i++) {
        s = (x[i] & MAGNITUDE) > 0x7f800000u ? F32_448 : s;
    }
    return engine_e4m3(s);
}

/* Quotients in the type of x; a global scale comes in behind them. */
static uint8_t mlx_by(const plan *p, uint8_t *code, const uint32_t *x,
                      uint32_t g)
{
    const uint32_t s =
        engine_divide(p->type, engine_amax(x, MXO_NVFP4_BLOCK), SIX);
    const uint8_t byte = mlx_byte(x, mxo_f32_mul(s, g));
    const uint32_t unit = engine_round(p->type, engine_e4m3_value(byte));

    for (int i = 0; i < MXO_NVFP4_BLOCK; i++) {
        code[i] = engine_scan(
            ONE, mxo_f32_mul(engine_divide(p->type, x[i], unit), g));
    }
    return byte;
}

static uint8_t mlx(const plan *p, uint8_t *code, const uint32_t *x)
{
    return mlx_by(p, code, x, ONE);
}

static uint8_t mlx_global(const plan *p, uint8_t *code, const uint32_t *x)
{
    return mlx_by(p, code, x, mxo_f32_div(F32_2688, p->global));
}

/* A zero quotient of either sign is code 0, a small negative one code 8, and
   NaN sorts behind every bound. */
static uint8_t modelopt_code(uint32_t v)
{
    if ((v & MAGNITUDE) > INFINITE) {
        return 7;
    }
    return (v & MAGNITUDE) == 0 ? 0 : engine_e2m1(v, MXO_TIE_RNE);
}

static uint8_t modelopt(const plan *p, uint8_t *code, const uint32_t *x)
{
    const uint32_t amax = engine_amax(x, MXO_NVFP4_BLOCK);
    uint32_t s = mxo_f32_div(amax, mxo_f32_mul(SIX, p->global));

    /* 0/0 of a tensor of zeros, or a NaN in it. */
    if ((s & MAGNITUDE) > INFINITE) {
        memset(code, 7, MXO_NVFP4_BLOCK);
        return E4M3_NAN;
    }
    s = s == 0 ? ONE : s;
    s = s < TWO_TO_M9 ? TWO_TO_M9 : s > F32_448 ? F32_448 : s;
    const uint8_t byte = engine_e4m3(s);
    const uint32_t unit = mxo_f32_mul(engine_e4m3_value(byte), p->global);

    for (int i = 0; i < MXO_NVFP4_BLOCK; i++) {
        code[i] = modelopt_code(mxo_f32_div(x[i], unit));
    }
    return byte;
}

/* Global scales that a rule gives beside codes and block scales. */
typedef enum global_kind { NO_GLOBAL, OF_TENSOR, OF_ROWS } global_kind;

static const struct {
    const char *name;
    block_step *step;
    global_kind gives;
    int typed; /* takes bf16 and f16 as they are */
} rules[] = {
    {"ggml", ggml, NO_GLOBAL, 0},
    {"ggml_cuda", ggml_cuda, OF_ROWS, 0},
    {"mlx", mlx, NO_GLOBAL, 1},
    {"mlx_global", mlx_global, NO_GLOBAL, 1},
    {"modelopt", modelopt, OF_TENSOR, 0},
};

static int rule_of(const mxo_call *call)
{
    int i = 0;

    while (!mxo_call_is(call, "rule", rules[i].name)) {
        i++;
    }
    return i;
}

mxo_status infer_quant_nvfp4_engine(const mxo_call *call,
                                    mxo_tensor *out_tensor, uint32_t *n_out,
                                    mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *global = mxo_call_in(call, "global_scale");
    const int rule = rule_of(call);

    if (x->rank != 2 || x->shape[1] % MXO_NVFP4_BLOCK != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: x needs rows of whole blocks of 16", call->op);
    }
    if (global != NULL && mxo_tensor_elems(global) != 1) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: global_scale needs one element",
                        call->op);
    }
    const uint64_t codes[2] = {x->shape[0], x->shape[1] / 2};
    const uint64_t scales[2] = {x->shape[0], x->shape[1] / MXO_NVFP4_BLOCK};
    const uint64_t n[1] = {rules[rule].gives == OF_ROWS ? x->shape[0] : 1};

    mxo_out(out_tensor, 0, "q", MXO_U8, 2, codes);
    mxo_out(out_tensor, 1, "scale", MXO_E4M3, 2, scales);
    *n_out = 2;
    if (rules[rule].gives != NO_GLOBAL) {
        mxo_out(out_tensor, 2, "global", MXO_F32, 1, n);
        *n_out = 3;
    }
    return MXO_OK;
}

/* Largest magnitude of n elements from number first on, without NaN. */
static uint32_t amax_of(const mxo_tensor *x, uint64_t first, uint64_t n)
{
    uint32_t amax = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint32_t v = quant_load(x, first + i);
        const uint32_t a = engine_amax(&v, 1);
        amax = a > amax ? a : amax;
    }
    return amax;
}

/* torch.amax: one NaN makes that of the tensor NaN. */
static uint32_t tensor_amax(const mxo_tensor *x)
{
    const uint64_t n = mxo_tensor_elems(x);

    for (uint64_t i = 0; i < n; i++) {
        if ((quant_load(x, i) & MAGNITUDE) > INFINITE) {
            return F32_NAN;
        }
    }
    return amax_of(x, 0, n);
}

static void one_row(const mxo_call *call, int rule, const plan *p, uint64_t row)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const uint64_t blocks = x->shape[1] / MXO_NVFP4_BLOCK;
    uint32_t v[MXO_NVFP4_BLOCK];
    uint8_t code[MXO_NVFP4_BLOCK];

    for (uint64_t b = row * blocks; b < (row + 1) * blocks; b++) {
        for (uint64_t i = 0; i < MXO_NVFP4_BLOCK; i++) {
            v[i] = quant_load(x, b * MXO_NVFP4_BLOCK + i);
        }
        mxo_store(mxo_call_out(call, "scale"), b, rules[rule].step(p, code, v));
        for (uint64_t i = 0; i < MXO_NVFP4_BLOCK; i++) {
            mxo_store_nibble(mxo_tensor_data(mxo_call_out(call, "q")),
                             b * MXO_NVFP4_BLOCK + i, code[i]);
        }
    }
}

mxo_status run_quant_nvfp4_engine(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *global = mxo_call_in(call, "global_scale");
    const mxo_tensor *out = mxo_call_out(call, "global");
    const int rule = rule_of(call);
    plan p = {mxo_call_format(call, "from"), ONE, ONE};

    (void)why;
    if (!rules[rule].typed) {
        p.type = MXO_FMT_F32;
    }
    if (global != NULL) {
        p.global = (uint32_t)mxo_load(global, 0);
    }
    if (rules[rule].gives == OF_TENSOR) {
        p.global = mxo_f32_div(tensor_amax(x), F32_2688);
        mxo_store(out, 0, p.global);
    }
    for (uint64_t r = 0; r < x->shape[0]; r++) {
        if (rules[rule].gives == OF_ROWS) {
            const uint32_t s =
                mxo_f32_div(amax_of(x, r * x->shape[1], x->shape[1]), F32_2688);
            p.inverse = s == 0 ? 0 : mxo_f32_div(ONE, s);
            mxo_store(out, r, s);
        }
        one_row(call, rule, &p, r);
    }
    return MXO_OK;
}
