/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of glu.def and the single steps of a gated unit, for those who
 * take other ways through them: glu.c goes with one pair of operands,
 * glu_span.c with all pairs of a box.
 */
#ifndef MXO_EMU_ACT_GLU_STEPS_H
#define MXO_EMU_ACT_GLU_STEPS_H

#include <mxoracle/act.h>

#define ONE_F32 0x3f800000u
#define SIGN_F32 0x80000000u
#define LARGEST_F32 0x7f7fffffu
#define INFINITE_F32 0x7f800000u
#define LOG2_E 0x3fb8aa3bu /* RN32(log2 e) */

enum { INPUT_ARE, INPUT_BF16 };
enum {
    CLAMP_NEVER,
    CLAMP_BEFORE,
    CLAMP_ROUNDED,
    CLAMP_POSITIVE,
    CLAMP_POSITIVE_ROUNDED,
    CLAMP_AFTER,
    CLAMP_ALWAYS,
    CLAMP_FINITE
};
enum { ALPHA_ONE, ALPHA_PARAM, ALPHA_TYPED, ALPHA_FOLDED };
enum {
    SILU_DIVIDE,
    SILU_RECIP,
    SILU_LAST,
    SILU_TANH, /* from here on: SiTU */
    SILU_TANH_INVERSE,
    SILU_TANH_EXP2,
    SILU_TANH_SIGMOID
};
enum { EXP_RN, EXP_U20, EXP_TWO, EXP_TWICE };
enum { ROUND_F32, ROUND_TYPE };
enum { TAIL_TIMES, TAIL_PLUS, TAIL_FMA };
enum { BETA_ONE, BETA_PARAM, BETA_TWO_WAY };
enum { STORE_RN, STORE_DOWN };
enum { WIDE_NO, WIDE_STEPS };

typedef struct glu_rule {
    const char *name;
    uint8_t input;
    uint8_t nan;
    uint8_t clamp;
    uint8_t alpha;
    uint8_t silu;
    uint8_t exp;
    uint8_t step;
    uint8_t kept;
    uint8_t tail;
    uint8_t beta;
    uint8_t store;
    uint8_t wide;
    uint8_t kernel; /* KERNEL_* of kernel_math.h */
} glu_rule;

/* A call on its way through the steps; numbers are binary32 patterns. */
typedef struct glu_state {
    const mxo_glu *unit;
    const glu_rule *rule;
    uint32_t gate;
    uint32_t up;
    uint32_t alpha;
    uint32_t beta;
    uint32_t limit;
    uint32_t linear; /* SiTU's beta of the up half; 0: none */
    uint32_t scale;  /* trtllm_gen's scale_gate */
} glu_state;

/* Steps of SiTU (situ.c): of the gate; tanh as the row has it. */
uint32_t mxo_situ_tanh(const glu_state *s, uint32_t x);
/* x over a beta, as the row divides. */
uint32_t mxo_situ_over(const glu_state *s, uint32_t x, uint32_t beta);
/* 1 + e^-g, by the exponential the row has. */
uint32_t mxo_situ_denominator(const glu_state *s, uint32_t gate);
uint32_t mxo_situ(const glu_state *s);

/* The row of a dialect. */
const glu_rule *mxo_glu_rule_of(mxo_glu_dialect dialect);

/* Codes of unit->from on their way: read, converted, clamped.  Gate and up
   do not touch each other, and either may only grow with its code's value. */
void mxo_glu_start(glu_state *s, const mxo_glu *unit, uint64_t gate,
                   uint64_t up);

/* The result of one operation, in the precision of the row's steps. */
uint32_t mxo_glu_step(const glu_state *s, uint32_t x);
/* A binary32 number rounded to a narrower format. */
uint32_t mxo_glu_through(mxo_format format, uint32_t x);
/* e^x as the row has it. */
uint32_t mxo_glu_exp(const glu_state *s, uint32_t x);
/* min(x, limit), or what the rule makes of a NaN. */
uint32_t mxo_glu_clamp_gate(const glu_state *s, uint32_t x);
int mxo_glu_is_clamped(const glu_state *s);
/* A code of unit->to. */
uint64_t mxo_glu_store(const glu_state *s, uint32_t x);

#endif
