/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu: 16 bytes of input per thread and step (16 of gates and 16 of ups
 * where they lie apart).
 *
 * For results of 16 bits the first tier is binary32.  With c = -alpha * log2 e
 * as c_hi + c_lo, w = G * c_hi and the rest of G * c,
 *     E = 2^w * (1 + ln2 * rest),  y = G * (V + beta) * (1 / (1 + E)).
 * In units of u = 2^-24: 2^w 5, its correction 1, the sum 1, the reciprocal 3,
 * V + beta 1, two products 2: together 13, with the two fma below 15; the
 * margin is 16.  A bfloat16 gate times a c_hi of 16 bits is exact, but then
 * the rest is up to 2^-17 of w, below 126 where y is a normal number: its
 * square, that the correction lacks, is 4 u more, and the margin is 20.
 *
 * If y less and y plus the margin round alike, that is the answer.  It also is
 * the answer of a dialect whose own steps stray from the formula by less than
 * the rest of a wider margin (at most 6 u + |t| u).  What is not decided, or
 * not a normal number (a NaN or an infinity anywhere shows in y, or in y minus
 * y), waits until a thread's results are stored and is then computed anew by
 * the slow tiers.
 */
#ifndef GPU_GLU_H
#define GPU_GLU_H

#include "ops/glu_exact.h"
#include "ops/glu_steps.h"
#include "port/device.h"

/* An expert's own constants, in place of the unit's. */
typedef struct glu_constants {
    float alpha, beta, limit, scale;
    uint32_t tail;
} glu_constants;

typedef struct glu_args {
    const void *gate; /* or, interleaved, both */
    const void *up;
    void *y;
    uint64_t n;        /* steps: vectors of gates, or interleaved vectors */
    gpu_divisor row;   /* apart: vectors of gates in a row */
    uint32_t row_gap;  /* and of other things between two rows of gates */
    uint32_t gate_odd; /* interleaved: gates are the odd elements */
    uint32_t pick_gate, pick_up; /* their bytes of a pair of bfloat16 */
    float alpha, beta, limit;    /* limit: infinity if there is none */
    float scale, linear;         /* of dialects that have them */
    float limit_fast;            /* the same for the fast path */
    float c_hi, c_lo;            /* -alpha * log2 e; the second times ln 2 */
    double c, wide_beta;         /* the sum, and beta, for binary64 */
    float margin, slope; /* relative margin: margin + slope * max(w, 0) */
    uint32_t zero_ok;    /* a product of zero is the answer */
    glu_dialect rule;
    /* The scalar kernel alone: */
    uint32_t from, to, interleaved;
    uint64_t cols, outputs;
    const int32_t *pick;        /* rows of the input; NULL: in turn */
    const int32_t *expert;      /* of every tile of rows, */
    const glu_constants *table; /* and what experts have; NULL: one unit */
    uint32_t tile;
} glu_args;

/* Result of the fast path: the formula; the same within a dialect's margin;
   the silu alone, which the dialect rounds before it multiplies by V. */
enum { GLU_EXACT, GLU_STEPS, GLU_KEPT };
enum { GLU_UNROLLED = 4 }; /* steps in flight: 8 bits each of a mask */

#define GLU_PER_VECTOR(from) ((from) == GLU_F32 ? 4 : 8)
#define GLU_OUTPUTS(from, interleaved) \
    ((interleaved) ? GLU_PER_VECTOR(from) / 2 : GLU_PER_VECTOR(from))

/* The formula, where no other tier has it. */
GPU_FN uint32_t glu_exactly(const glu_args *a, int to, float g, float v)
{
    const float gate = glu_clamp_gate(a->rule.nan, a->limit, g);
    const float up = glu_clamp_up(a->rule.nan, a->limit, v);

    return glu_exact_slow(to, gate, up, a->alpha, a->beta);
}

/* A dialect's steps; waits: NULL, or the exponential may have to wait. */
GPU_FN uint32_t glu_steps(const glu_args *a, int from, int to, float g, float v,
                          int *waits)
{
    const glu_work k = {&a->rule, from,     to,       g,         v,    a->alpha,
                        a->beta,  a->limit, a->scale, a->linear, waits};

    return glu_by_steps(k);
}

/*
 * The slow tiers behind a call, so that their registers are not the kernel's.
 * Every kernel has its own copy: one that knows its dialects' kind calls what
 * that needs; one that does not has one call, which costs fewer registers.
 */
GPU_SLOW uint32_t glu_slow_exact(const glu_args *a, int to, float g, float v)
{
    return glu_exactly(a, to, g, v);
}

GPU_SLOW uint32_t glu_slow_steps(const glu_args *a, int from, int to, float g,
                                 float v)
{
    return glu_steps(a, from, to, g, v, NULL);
}

/* The nearest tier, for dialects by e^x alone: with the test the compiler
   leaves the other exponentials out. */
GPU_FN uint32_t glu_steps_near(const glu_args *a, int from, int to, float g,
                               float v, int *waits)
{
    if (a->rule.exp >= GLU_EXP_TWO || a->rule.silu >= GLU_SILU_TANH) {
        *waits = 1;
        return 0;
    }
    return glu_steps(a, from, to, g, v, waits);
}

GPU_SLOW uint32_t glu_near_steps(const glu_args *a, int from, int to, float g,
                                 float v, int *waits)
{
    return glu_steps_near(a, from, to, g, v, waits);
}

GPU_SLOW uint32_t glu_slow(const glu_args *a, int from, int to, float g,
                           float v)
{
    return a->rule.exact ? glu_exactly(a, to, g, v)
                         : glu_steps(a, from, to, g, v, NULL);
}

/* Element number i of an array, as binary32. */
GPU_FN float glu_scalar(int from, const void *p, uint64_t i)
{
    return from == GLU_F32 ? gpu_float(gpu_load_u32(p, i))
                           : glu_widen(from, gpu_load_u16(p, i));
}

/* Element j of a vector, as binary32. */
GPU_FN float glu_element(int from, gpu_u128 x, int j)
{
    if (from == GLU_F32) {
        return gpu_float(x.w[j & 3]);
    }
    const uint32_t w = x.w[j >> 1 & 3];

    if (from == GLU_BF16) {
        return gpu_float(j & 1 ? w & 0xffff0000u : w << 16);
    }
    return glu_widen(GLU_F16, j & 1 ? w >> 16 : w & 0xffffu);
}

/* A number between two bounds, unless it is wild. */
typedef struct glu_bounds {
    float low;
    float high;
    int wild;
} glu_bounds;

/* Tier 1 for 16 bits. */
GPU_FN glu_bounds glu_fast16(const glu_args *a, int from, int mode, float g,
                             float v)
{
    g = gpu_minf(g, a->limit_fast);
    v = gpu_maxf(gpu_minf(v, a->limit_fast), -a->limit_fast);
    const float w = g * a->c_hi;
    const float lost = from == GLU_BF16 ? 0 : gpu_fmaf(g, a->c_hi, -w);
    const float rest = from == GLU_BF16
                           ? g * a->c_lo
                           : gpu_fmaf(lost, 0x1.62e43p-1f, g * a->c_lo);
    const float power = gpu_ex2(w);
    const float e = gpu_fmaf(power, rest, power);
    const float product = mode == GLU_KEPT ? g : g * (v + a->beta);
    const float y = product * gpu_rcp(1.0f + e);
    const float margin = mode == GLU_EXACT
                             ? a->margin
                             : gpu_fmaf(gpu_maxf(w, 0), a->slope, a->margin);
    /* y has the product's sign or is NaN: this holds for zeros alone. */
    const int is_zero = y == -product && (mode == GLU_EXACT || a->zero_ok);
    glu_bounds out = {gpu_fmaf(y, -margin, y), gpu_fmaf(y, margin, y),
                      !(gpu_fabsf(y) >= 0x1p-110f || is_zero)};

    if (mode != GLU_EXACT) { /* no step of a dialect over- or underflows */
        out.wild |= !(w <= 30.0f && gpu_fabsf(g) >= 0x1p-60f);
    }
    if (mode == GLU_KEPT) { /* y does not know v */
        out.wild |= !(gpu_fabsf(v) < (float)GPU_INFINITY);
    }
    return out;
}

/* Gate and up of an output. */
typedef struct glu_two {
    float g;
    float v;
} glu_two;

/* Two outputs; halves of *differ are 0 where the bounds round alike. */
GPU_FN uint32_t glu_fast_pair(const glu_args *a, int from, int to, int mode,
                              const glu_two *in, uint32_t *differ)
{
    const glu_bounds p = glu_fast16(a, from, mode, in[0].g, in[0].v);
    const glu_bounds q = glu_fast16(a, from, mode, in[1].g, in[1].v);
    const uint32_t low = glu_round16(to, p.low, q.low);
    const uint32_t high = glu_round16(to, p.high, q.high);

    *differ = (low ^ high) | (p.wild ? 1u : 0) | (q.wild ? 0x10000u : 0);
    if (mode != GLU_KEPT) {
        return low;
    }
    const float limit = a->limit_fast;

    return glu_round16(to,
                       glu_widen(to, low & 0xffffu) *
                           gpu_maxf(gpu_minf(in[0].v, limit), -limit),
                       glu_widen(to, low >> 16) *
                           gpu_maxf(gpu_minf(in[1].v, limit), -limit));
}

/* Vectors of gates and of ups, or the same one twice. */
typedef struct glu_input {
    gpu_u128 gate;
    gpu_u128 up;
} glu_input;

/* Gates of step i begin with this vector of the array. */
GPU_FN uint64_t glu_vector(const glu_args *a, uint64_t i)
{
    return a->row_gap == 0
               ? i
               : i + (uint64_t)gpu_quotient((uint32_t)i, a->row) * a->row_gap;
}

GPU_FN glu_input glu_load(const glu_args *a, int from, int interleaved,
                          uint64_t i)
{
    const uint64_t at = interleaved ? i : glu_vector(a, i);
    glu_input x;

    x.gate = from == GLU_F32 ? gpu_load_u32x4(a->gate, at)
                             : gpu_load_u16x8(a->gate, at);
    x.up = x.gate;
    if (!interleaved) {
        x.up = from == GLU_F32 ? gpu_load_u32x4(a->up, at)
                               : gpu_load_u16x8(a->up, at);
    }
    return x;
}

/* Codes in the order of memory, two to a word but for binary32. */
GPU_FN void glu_store(const glu_args *a, int to, int outputs, uint64_t i,
                      gpu_u128 y)
{
    const int bytes = outputs * (to == GLU_F32 ? 4 : 2);

    if (bytes == 16) {
        if (to == GLU_F32) {
            gpu_store_u32x4(a->y, i, y);
        } else {
            gpu_store_u16x8(a->y, i, y);
        }
    } else if (bytes == 4) {
        gpu_store_u16x2(a->y, i, y.w[0]);
    } else if (to == GLU_F32) {
        gpu_store_u32x2(a->y, i, y.w[0], y.w[1]);
    } else {
        gpu_store_u16x4(a->y, i, y.w[0], y.w[1]);
    }
}

/*
 * Between the first tier for 16 bits and the slow ones: binary32's.  Its
 * answer is rounded once more, which is right unless it is a tie of the type,
 * or below binary16's normal numbers, where ties lie elsewhere.
 */
GPU_FN uint32_t glu_narrow(const glu_args *a, int to, float g, float v,
                           int *waits)
{
    const float limit = a->limit_fast;
    const uint32_t y =
        glu_tier1(gpu_minf(g, limit), gpu_maxf(gpu_minf(v, limit), -limit),
                  a->c, a->wide_beta, waits);

    if (to == GLU_F32) {
        return y;
    }
    if (to == GLU_BF16) {
        *waits |= (y & 0xffffu) == 0x8000u;
    } else {
        *waits |= (y & 0x1fffu) == 0x1000u || (y & 0x7fffffffu) < 0x38800000u;
    }
    return glu_round16(to, gpu_float(y), 0) & 0xffffu;
}

GPU_FN uint32_t glu_exact_again(const glu_args *a, int to, float g, float v)
{
    int waits = a->margin >= 1 || to == GLU_F32;
    const uint32_t code = waits ? 0 : glu_narrow(a, to, g, v, &waits);

    return waits ? glu_slow_exact(a, to, g, v) : code;
}

GPU_FN uint32_t glu_steps_again(const glu_args *a, int from, int to, float g,
                                float v)
{
    int waits = 0;
    const uint32_t code = glu_near_steps(a, from, to, g, v, &waits);

    return waits ? glu_slow_steps(a, from, to, g, v) : code;
}

/* Output j of step i, by the slow tiers, over what was stored. */
GPU_FN void glu_again(const glu_args *a, int from, int to, int mode,
                      int interleaved, uint64_t i, int j)
{
    const uint64_t per = (uint64_t)GLU_PER_VECTOR(from);
    const uint64_t at = interleaved ? i * per + 2 * (uint64_t)j
                                    : glu_vector(a, i) * per + (uint64_t)j;
    const float g =
        glu_scalar(from, a->gate, at + (interleaved ? a->gate_odd : 0));
    const float v = glu_scalar(from, interleaved ? a->gate : a->up,
                               at + (interleaved ? 1 - a->gate_odd : 0));
    const uint64_t out =
        i * (uint64_t)GLU_OUTPUTS(from, interleaved) + (uint64_t)j;
    const uint32_t code = mode == GLU_EXACT
                              ? glu_exact_again(a, to, g, v)
                              : glu_steps_again(a, from, to, g, v);

    if (to == GLU_F32) {
        gpu_store_u32(a->y, out, code);
    } else {
        gpu_store_u16(a->y, out, code);
    }
}

/* Gate and up of output j. */
GPU_FN glu_two glu_operand(const glu_args *a, int from, int interleaved,
                           const glu_input *x, int j)
{
    const int odd = interleaved && a->gate_odd;
    const int at = interleaved ? 2 * j : j;
    glu_two out;

    if (interleaved && from == GLU_BF16) { /* one instruction for each */
        out.g = gpu_float(gpu_bytes(x->gate.w[j & 3], 0, a->pick_gate));
        out.v = gpu_float(gpu_bytes(x->gate.w[j & 3], 0, a->pick_up));
        return out;
    }
    const float first = glu_element(from, x->gate, at);
    const float second = glu_element(from, x->up, interleaved ? at + 1 : at);

    out.g = odd ? second : first;
    out.v = odd ? first : second;
    return out;
}

/* Stores what is decided; bit j of the result: output j is not. */
GPU_FN uint32_t glu_step(const glu_args *a, int from, int to, int mode,
                         int interleaved, uint64_t i, const glu_input *x)
{
    const int outputs = GLU_OUTPUTS(from, interleaved);
    gpu_u128 y = {{0, 0, 0, 0}};
    uint32_t waiting = a->margin >= 1 ? (1u << outputs) - 1 : 0;

    GPU_UNROLL
    for (int j = 0; j < outputs; j += 2) {
        const glu_two in[2] = {glu_operand(a, from, interleaved, x, j),
                               glu_operand(a, from, interleaved, x, j + 1)};
        if (to == GLU_F32) {
            int waits[2];
            y.w[j & 3] = glu_narrow(a, to, in[0].g, in[0].v, &waits[0]);
            y.w[(j & 3) + 1] = glu_narrow(a, to, in[1].g, in[1].v, &waits[1]);
            waiting |= (waits[0] ? 1u : 0) << j | (waits[1] ? 2u : 0) << j;
        } else {
            uint32_t differ;
            y.w[j / 2] = glu_fast_pair(a, from, to, mode, in, &differ);
            if (differ != 0) {
                waiting |= ((differ & 0xffffu) != 0 ? 1u : 0) << j |
                           (differ >> 16 != 0 ? 2u : 0) << j;
            }
        }
    }
    glu_store(a, to, outputs, i, y);
    return waiting;
}

/*
 * All loads are issued before the first is used, and the slow tiers come when
 * nothing else is left to do: a call in between would cost every step its
 * registers.
 */
GPU_FN void glu_body(const glu_args *a, int from, int to, int mode,
                     int interleaved)
{
    const uint64_t first =
        (uint64_t)gpu_block() * GPU_BLOCK * GLU_UNROLLED + gpu_thread();
    glu_input x[GLU_UNROLLED];
    uint32_t waiting = 0;

    GPU_UNROLL
    for (int k = 0; k < GLU_UNROLLED; k++) {
        const uint64_t i = first + (uint64_t)k * GPU_BLOCK;
        if (i < a->n) {
            x[k] = glu_load(a, from, interleaved, i);
        }
    }
    GPU_UNROLL
    for (int k = 0; k < GLU_UNROLLED; k++) {
        const uint64_t i = first + (uint64_t)k * GPU_BLOCK;
        if (i < a->n) {
            waiting |= glu_step(a, from, to, mode, interleaved, i, &x[k])
                       << (8 * k);
        }
    }
    GPU_LOOP
    while (waiting != 0) {
        const int bit = gpu_lg(waiting);
        waiting ^= 1u << bit;
        glu_again(a, from, to, mode, interleaved,
                  first + (uint64_t)(bit / 8) * GPU_BLOCK, bit % 8);
    }
}

/* The slow tiers with an expert's constants; table is NULL if all share them */
GPU_SLOW uint32_t glu_slow_of(const glu_args *a, const glu_constants *own,
                              int from, int to, float g, float v)
{
    if (own == NULL) {
        return glu_slow(a, from, to, g, v);
    }
    glu_args unit = *a;

    unit.alpha = own->alpha;
    unit.beta = own->beta;
    unit.limit = own->limit;
    unit.scale = own->scale;
    unit.rule.tail = (uint8_t)own->tail;
    return glu_slow(&unit, from, to, g, v);
}

/* Elements of an output's gate and up; own: its expert's constants or NULL. */
typedef struct glu_place {
    uint64_t gate, up;
    const glu_constants *own;
} glu_place;

GPU_FN glu_place glu_place_of(const glu_args *a, uint64_t i)
{
    const uint64_t row =
        a->pick == NULL ? i / a->cols : (uint64_t)a->pick[i / a->cols];
    const uint64_t flat = row * a->cols + i % a->cols;
    const uint64_t at =
        a->interleaved ? 2 * flat : flat + (a->row_gap ? row * a->cols : 0);
    const glu_place out = {
        at + (a->interleaved ? a->gate_odd : 0),
        at + (a->interleaved ? 1 - a->gate_odd : 0),
        a->table == NULL ? NULL : a->table + a->expert[row / a->tile]};

    return out;
}

/* Any shape and pair of types, one output per thread, by the slow tiers. */
GPU_FN void glu_one_by_one(const glu_args *a)
{
    const int from = (int)a->from;

    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->outputs; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const glu_place at = glu_place_of(a, i);
        const float g = glu_scalar(from, a->gate, at.gate);
        const float v =
            glu_scalar(from, a->interleaved ? a->gate : a->up, at.up);
        const uint32_t code = glu_slow_of(a, at.own, from, (int)a->to, g, v);
        if (a->to == GLU_F32) {
            gpu_store_u32(a->y, i, code);
        } else {
            gpu_store_u16(a->y, i, code);
        }
    }
}

#endif
