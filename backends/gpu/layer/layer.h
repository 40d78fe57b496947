/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer and its halves the plain way, on any device: one output per
 * thread, every row of activations against a row of weights in binary64.
 * This is what odd sizes, odd types and devices without tensor cores take,
 * and what exact sums need.
 */
#ifndef GPU_LAYER_H
#define GPU_LAYER_H

#include "layer/layer_sum.h"
#include "ops/dequant.h"
#include "ops/glu.h"
#include "port/device.h"

/* DOWN: BF16 without subnormals of binary32; SAT: without infinities; F64:
   operands as layer_operands() leaves them. */
enum {
    LAYER_BF16 = GLU_BF16,
    LAYER_F16 = GLU_F16,
    LAYER_F32 = GLU_F32,
    LAYER_DOWN,
    LAYER_CODES,
    LAYER_SAT,
    LAYER_F64
};
enum {
    LAYER_BIAS_NONE,
    LAYER_BIAS_ACC,
    LAYER_BIAS_ROUNDED,
    LAYER_BIAS_SUM,      /* in the sum, where its order has it */
    LAYER_BIAS_FLUSHED,  /* as ACC without subnormals */
    LAYER_BIAS_BEHIND,   /* to the rounded result, which is a float then */
    LAYER_BIAS_UNROUNDED /* as BEHIND, subnormals kept */
};
enum {
    LAYER_SUM_FMA,
    LAYER_SUM_PRODUCT,
    LAYER_SUM_SLOTS,
    LAYER_SUM_MOE,
    LAYER_SUM_CPU,
    LAYER_SUM_ATOMIC,
    LAYER_SUM_EXACT,
    LAYER_SUM_FLUSHED,   /* FMA without subnormals */
    LAYER_SUM_BY_EXPERT, /* SLOTS by the experts' numbers */
    LAYER_SUM_EXPERTS,   /* the same, rounded after every addition */
    LAYER_SUM_SCATTER    /* CPU or ATOMIC, by top-k */
};
/* Of weights, beside DEQUANT_...: operands are small by two or by 119 binary
   places; they are binary16. */
enum {
    LAYER_BEHIND_2 = 512,
    LAYER_BEHIND_119 = 1024,
    LAYER_TO_F16 = 2048,
    LAYER_CAPPED = 4096 /* a byte above 247 is 247 */
};
enum { LAYER_BLOCK = 32 };
/* Codes as a checkpoint has them, or as mxo.hopper_codes of layouts.def. */
enum { LAYER_LAID_PLAIN, LAYER_LAID_HOPPER };

/* The pairs of a token and a slot, in the order of topk_ids. */
typedef struct layer_pairs {
    const void *ids;     /* int32 */
    const void *map;     /* int32; NULL: ids are local */
    const void *weights; /* binary32 */
    uint64_t pairs;
    uint32_t topk;
    uint32_t narrow; /* weights are what layer_narrow() makes of them */
} layer_pairs;

/* One of the two GEMMs; rows of the result are pairs. */
typedef struct layer_gemm {
    const void *a;          /* activations */
    const uint8_t *a_scale; /* of LAYER_CODES */
    const uint8_t *w;       /* [experts, n, k / 2] */
    const double *wide;     /* NULL, or weights as numbers: [n, k] */
    const double *unit;     /* and the scales that they lack, or NULL */
    uint32_t laid;          /* how: LAYER_LAID_... */
    const uint8_t *scale;   /* [experts, n, ceil(k / 32)] */
    const void *bias;       /* [experts, n] */
    void *y;                /* [pairs, n] */
    uint64_t n, k;
    uint64_t pitch;  /* elements from one row of a to the next */
    uint32_t placed; /* rows of a are stored as layer_place() says */
    uint32_t a_type;
    uint32_t share;       /* pairs that share a row of a */
    uint32_t rule;        /* DEQUANT_..., a sum */
    uint32_t exact;       /* rounded once, whatever the data */
    uint32_t bias_type;   /* of the tensor */
    uint32_t bias_narrow; /* type for layer_narrow(), first of all */
    uint32_t bias_at;
    uint32_t mid; /* type that the sum is rounded to */
    uint32_t out; /* and behind the routing weight */
    uint32_t weigh;
} layer_gemm;

/* A launch of an answer that is needed only where another way has none: the
   word says whether. NULL: it is needed. */
GPU_FN int layer_is_needed(const uint32_t *when)
{
    return when == NULL || gpu_load_u32(when, 0) != 0;
}

/* Tensor cores cut a sum to a multiple of 2^-149, where the operands of one are
   2^shift too small: is this one, made good by 2^shift, so near to that? */
GPU_FN int layer_is_lost(uint32_t shift, float sum)
{
    return shift != 0 && gpu_fabsf(sum) < gpu_float((27 + shift) << 23);
}

GPU_FN int layer_has_numbers(const layer_gemm *g)
{
    return LAYER_HAS_NUMBERS && g->wide != NULL;
}

/* Expert of a pair; negative: it lives elsewhere. */
GPU_FN int32_t layer_expert(const layer_pairs *p, uint64_t pair)
{
    const int32_t id = (int32_t)gpu_load_u32(p->ids, pair);

    return p->map == NULL || id < 0
               ? id
               : (int32_t)gpu_load_u32(p->map, (uint64_t)id);
}

/* x rounded to a type, as binary32. */
GPU_FN float layer_round(uint32_t type, float x)
{
    const int is_cut = type == LAYER_DOWN && gpu_fabsf(x) < 0x1p-126f;
    const uint32_t y =
        is_cut ? gpu_bits(x) & 0x80000000u : gpu_round_bf16(x, 0) << 16;

    /* Selected, not branched to: those who wait for one number count steps. */
    return type == LAYER_F32 || x != x ? x : gpu_float(y);
}

/* Element i of an array of a type; x has that type already. */
GPU_FN void layer_store(uint32_t type, void *y, uint64_t i, float x)
{
    const uint32_t bits = x != x ? 0x7fc00000u : gpu_bits(x);

    if (type == LAYER_F32) {
        gpu_store_u32(y, i, bits);
    } else {
        gpu_store_u16(y, i, bits >> 16);
    }
}

GPU_FN float layer_load(uint32_t type, const void *x, uint64_t i)
{
    return type == LAYER_F32 ? gpu_float(gpu_load_u32(x, i))
                             : gpu_float(gpu_load_u16(x, i) << 16);
}

/* 2^(byte - 128), for two times an element; NaN for 255. */
GPU_FN double layer_power(uint32_t byte)
{
    return byte == 255 ? gpu_double(0x7ff8000000000000ull)
                       : gpu_double((uint64_t)(byte + 895) << 52);
}

GPU_FN double layer_halves(uint32_t code)
{
    const double x = (double)dequant_halves(code & 7);

    return (code & 8) != 0 ? -x : x;
}

/* A weight that is brought back to its scale behind the sum. */
GPU_FN double layer_small(uint32_t rule, uint32_t byte, uint32_t code)
{
    const int low = (rule & LAYER_BEHIND_119) != 0;
    const uint32_t top = low && byte > 247 ? 247 : byte;
    const int e = (int)top - (low ? 247 : 130);
    const double power = byte == 0 ? 0.0
                         : byte == 255 && !low
                             ? GPU_INFINITY
                             : gpu_double((uint64_t)(1023 + e) << 52);
    const float x = (float)(layer_halves(code) * power);
    const int to = (rule & LAYER_TO_F16) != 0 ? GLU_F16 : GLU_BF16;
    const double y = (double)glu_through(to, x);

    return low && y == 0 ? 0.0 : y;
}

/* A weight whose scale byte the rules disagree about. */
GPU_SLOW double layer_rare(uint32_t rule, uint32_t byte, uint32_t code)
{
    const int f16 = (rule & LAYER_TO_F16) != 0;

    if ((rule & (LAYER_BEHIND_2 | LAYER_BEHIND_119)) != 0) {
        return layer_small(rule, byte, code);
    }
    if ((rule & LAYER_CAPPED) != 0) {
        const double x =
            layer_halves(code) * layer_power(byte < 247 ? byte : 247);
        return f16 ? (double)glu_through(GLU_F16, (float)x) : x;
    }
    if ((rule & DEQUANT_WRAP) != 0 && (code & 7) == 0) {
        return 0;
    }
    const uint32_t m = dequant_entry(rule, f16, byte, code & 7);

    return (double)glu_widen(f16 ? GLU_F16 : GLU_BF16,
                             m ^ (code << 12 & 0x8000u));
}

/* OCP's numbers are not rounded to any type. */
GPU_FN double layer_weight(uint32_t rule, uint32_t byte, double power,
                           uint32_t code)
{
    if (rule == 0 || (byte >= 2 && byte <= 252 && rule < LAYER_BEHIND_2)) {
        return layer_halves(code) * power;
    }
    return layer_rare(rule, byte, code);
}

/* Where element k of a row is stored for the tensor cores, in its chunk of
   128: fused.cuh says why. */
GPU_FN uint32_t layer_place(uint32_t k)
{
    return (k >> 3 & 3) * 32 + (k >> 1 & 1) * 16 + (k & 1) * 8 +
           (k >> 5 & 3) * 2 + (k >> 2 & 1);
}

/*
 * Eight codes as four pairs for the tensor cores, numbers i and i + 4: E2M1's
 * three bits under BF16's exponent, where they are the number times 2^-126,
 * and the sign where BF16 has it.  A nibble times 2^12 + 2^6 has both.
 */
GPU_FN void layer_spread(uint32_t codes, uint32_t *y)
{
    const uint32_t high = codes >> 8;

    y[0] = (codes & 0x000f000fu) * 0x1040u & 0x81c081c0u;
    y[1] = (codes & 0x00f000f0u) * 0x0104u & 0x81c081c0u;
    y[2] = (high & 0x000f000fu) * 0x1040u & 0x81c081c0u;
    y[3] = (high & 0x00f000f0u) * 0x0104u & 0x81c081c0u;
}

/* Of mxo.hopper_codes the same: every sixteen bits have four codes, signs in
   bits 15, 12, 14 and 13, the others in 8-6, 5-3, 2-0 and 11-9. */
GPU_FN void layer_spread_hopper(uint32_t codes, uint32_t *y)
{
    y[0] = codes & 0x81c081c0u;
    y[1] = codes << 3 & 0x81c081c0u;
    y[2] = (codes & 0x40074007u) * 0x42u & 0x81c081c0u;
    y[3] = (codes >> 3 & 0x01c001c0u) | (codes << 2 & 0x80008000u);
}

GPU_FN void layer_spread_of(uint32_t laid, uint32_t codes, uint32_t *y)
{
    if (laid == LAYER_LAID_HOPPER) {
        layer_spread_hopper(codes, y);
    } else {
        layer_spread(codes, y);
    }
}

/* Element i of all weights, in its low four bits. */
GPU_FN uint32_t layer_code(const layer_gemm *g, uint64_t i)
{
    if (g->laid == LAYER_LAID_PLAIN) {
        return (uint32_t)g->w[i / 2] >> 4 * (i & 1);
    }
    const uint8_t *const four = g->w + i / 4 * 2;
    const uint32_t x = four[0] | (uint32_t)four[1] << 8;
    const uint32_t sign = 0xdecfu >> 4 * (i & 3) & 15;
    const uint32_t other = 0x9036u >> 4 * (i & 3) & 15;

    return (x >> other & 7) | (x >> sign & 1) << 3;
}

/* A row of a times a row of w, in steps that the caller's fold takes. */
typedef struct layer_row {
    const layer_gemm *g;
    uint64_t a; /* first element of the row of a */
    uint64_t w; /* number of the row of w */
    uint64_t a_row;
} layer_row;

GPU_FN double layer_operand(const layer_row *r, uint64_t k)
{
    const layer_gemm *const g = r->g;
    const uint64_t i =
        r->a +
        (g->placed ? (k & ~(uint64_t)127) + layer_place((uint32_t)k & 127) : k);

    if (g->a_type == LAYER_F64) {
        return ((const double *)g->a)[i];
    }
    if (g->a_type != LAYER_CODES) {
        return (double)layer_load(g->a_type, g->a, i);
    }
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const uint32_t byte = ((const uint8_t *)g->a)[i / 2];

    return layer_halves(byte >> 4 * (k & 1)) *
           layer_power(g->a_scale[r->a_row * blocks + k / LAYER_BLOCK]);
}

/* A product of two elements; k is even, odd says which of the two. */
typedef struct layer_block {
    uint64_t first, end; /* elements */
    uint32_t byte;
    double power;
} layer_block;

GPU_FN layer_block layer_block_at(const layer_row *r, uint64_t b)
{
    const layer_gemm *const g = r->g;
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    layer_block k;

    k.first = b * LAYER_BLOCK;
    k.end = k.first + LAYER_BLOCK < g->k ? k.first + LAYER_BLOCK : g->k;
    k.byte = layer_has_numbers(g) ? 127 : g->scale[r->w * blocks + b];
    k.power = layer_power(k.byte);
    return k;
}

GPU_FN double layer_product(const layer_row *r, const layer_block *b,
                            uint64_t k)
{
    if (layer_has_numbers(r->g)) {
        return layer_operand(r, k) * r->g->wide[r->w * r->g->k + k];
    }
    return layer_operand(r, k) *
           layer_weight(r->g->rule, b->byte, b->power,
                        layer_code(r->g, r->w * r->g->k + k));
}

/* x as it is, rounded to bfloat16 (1) or to binary16 (2). */
GPU_FN float layer_narrow(uint32_t to, float x)
{
    return to == 0   ? x
           : to == 1 ? layer_round(LAYER_BF16, x)
                     : glu_through(GLU_F16, x);
}

/* Bias of a row of weights. */
GPU_FN float layer_bias(const layer_gemm *g, uint64_t w)
{
    const float x = g->bias_type == LAYER_F16
                        ? gpu_from_f16(gpu_load_u16(g->bias, w))
                        : layer_load(g->bias_type, g->bias, w);

    return layer_narrow(g->bias_narrow, x);
}

/* Initial value of an exact sum. */
GPU_FN double layer_start(const layer_row *r)
{
    return r->g->bias_at == LAYER_BIAS_SUM ? (double)layer_bias(r->g, r->w) : 0;
}

/* A product, or its magnitude. */
GPU_FN double layer_term(const layer_row *r, const layer_block *b, uint64_t k,
                         int is_abs)
{
    const double p = layer_product(r, b, k);

    return is_abs && p < 0 ? -p : p;
}

/* Every product of a row, as integers of fixed weight. */
GPU_FN void layer_dot_limbs(const layer_row *r, double start, int is_abs,
                            layer_limbs *sum)
{
    for (int i = 0; i < LAYER_LIMBS; i++) {
        sum->limb[i] = 0;
    }
    layer_limbs_add(sum, start);
    for (uint64_t at = 0; at * LAYER_BLOCK < r->g->k; at++) {
        const layer_block b = layer_block_at(r, at);
        for (uint64_t k = b.first; k < b.end; k++) {
            layer_limbs_add(sum, layer_term(r, &b, k, is_abs));
        }
    }
}

GPU_FN layer_total layer_dot_total(const layer_row *r, double start, int is_abs)
{
    layer_total sum = {start, 0, 0};

    for (uint64_t at = 0; at * LAYER_BLOCK < r->g->k; at++) {
        const layer_block b = layer_block_at(r, at);
        for (uint64_t k = b.first; k < b.end; k++) {
            layer_total_add(&sum, layer_term(r, &b, k, is_abs));
        }
    }
    return sum;
}

GPU_SLOW uint32_t layer_dot_lossless(const layer_row *r, double start, int to)
{
    layer_limbs sum;

    layer_dot_limbs(r, start, 0, &sum);
    return layer_limbs_round(&sum, to);
}

/* The sum rounded once to a type, whatever the data. */
GPU_FN uint32_t layer_dot_exact(const layer_row *r, int to)
{
    const double start = layer_start(r);
    const layer_total sum = layer_dot_total(r, start, 0);

    return layer_total_is_answer(&sum) ? layer_total_round(&sum, to)
                                       : layer_dot_lossless(r, start, to);
}

/* Row `pair` of the activations against row n of an expert's weights. */
GPU_SLOW float layer_dot(const layer_gemm *g, uint64_t pair, uint64_t w)
{
    const uint64_t a_row = pair / g->share;
    const layer_row r = {g, a_row * g->pitch, w, a_row};
    double sum = 0;

    if (g->exact) {
        return gpu_float(layer_dot_exact(&r, GLU_F32));
    }
    for (uint64_t at = 0; at * LAYER_BLOCK < g->k; at++) {
        const layer_block b = layer_block_at(&r, at);
        for (uint64_t k = b.first; k < b.end; k++) {
            sum += layer_product(&r, &b, k);
        }
    }
    return (float)sum;
}

/* From the sum to what the GEMM hands on. */
GPU_FN float layer_finish(const layer_gemm *g, float sum, float bias,
                          float weight)
{
    float y = g->bias_at == LAYER_BIAS_ACC ? sum + bias : sum;

    y = layer_round(g->mid, y);
    if (g->bias_at == LAYER_BIAS_ROUNDED) {
        y = layer_round(g->mid, y + bias);
    }
    return g->weigh ? layer_round(g->out, y * weight) : y;
}

GPU_FN float layer_weight_of(const layer_pairs *p, uint64_t pair)
{
    const float w = gpu_float(gpu_load_u32(p->weights, pair));

    return layer_narrow(p->narrow, w);
}

typedef struct layer_glu_args {
    layer_pairs p;
    glu_args glu;         /* gate, up, types and numbers; y has cols columns */
    const uint32_t *when; /* layer_is_needed() */
    uint32_t saturates;
    uint32_t weigh; /* by the routing weight, behind everything */
} layer_glu_args;

typedef struct layer_sum_args {
    layer_pairs p;
    const void *rows;     /* [pairs, cols] */
    void *y;              /* [tokens, cols] */
    const uint32_t *when; /* layer_is_needed() */
    uint64_t cols;
    uint64_t outputs;
    gpu_divisor columns; /* the same cols */
    uint32_t row_type, out;
    uint32_t step; /* rows were rounded to it: the type of single steps */
    uint32_t sum;
    uint32_t weigh; /* the weight takes part in the sum */
    uint32_t keeps; /* experts elsewhere count as a row of zeros */
} layer_sum_args;

#endif
