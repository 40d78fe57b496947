/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisers as data.  A row of cpu_quant_rule holds what implementations
 * differ in; a cpu_quant is one row joined with one element format, ready for
 * a lane.  A lane decides only ordinary blocks: finite, amax well inside the
 * float range, nearest even.  Everything else goes to cpu_quant_block.
 */
#ifndef CPU_QUANT_H
#define CPU_QUANT_H

#include "element.h"

#include <stdint.h>

typedef enum cpu_tie { CPU_RNE, CPU_RNA, CPU_RNZ, CPU_RZ, CPU_BY_RULE } cpu_tie;

/* Effect of NaN elements on the block maximum. */
typedef enum cpu_amax {
    CPU_AMAX_POISON, /* the maximum is NaN */
    CPU_AMAX_SKIP,   /* dropped; NaN if nothing else is there */
    CPU_AMAX_ZERO    /* dropped; 0 if nothing else is there */
} cpu_amax;

/* The ratio t, whose exponent field makes the byte. */
typedef enum cpu_ratio {
    CPU_RATIO_AMAX,    /* amax */
    CPU_RATIO_DIVIDE,  /* amax / largest */
    CPU_RATIO_INVERSE, /* amax * (1 / largest) */
    CPU_RATIO_SHIFT,   /* amax * 2^-emax */
    CPU_RATIO_EXACT    /* amax / largest, not rounded: with CPU_UP_PTX */
} cpu_ratio;

/* From t to an exponent field. */
typedef enum cpu_up {
    CPU_UP_NEVER, /* the field */
    CPU_UP_BITS,  /* + 1 if a mantissa bit is set */
    CPU_UP_PTX,   /* ceiling of the number: 2^-127 and below give 0 */
    CPU_UP_HALF,  /* + 1 if rounding to the element's mantissa carries */
    CPU_UP_15     /* + 1 from a significand of 1.5 on */
} cpu_up;

/* Code of a NaN. */
typedef enum cpu_nan_code {
    CPU_NAN_OWN,       /* the format's NaN with its sign, else +largest */
    CPU_NAN_LARGEST,   /* +largest */
    CPU_NAN_SIGNED,    /* largest with its sign */
    CPU_NAN_ONES,      /* all bits but the sign */
    CPU_NAN_ZERO,      /* 0 */
    CPU_NAN_MINUS,     /* -largest */
    CPU_NAN_PLUS,      /* the format's NaN without a sign */
    CPU_NAN_ARITHMETIC /* the carry-and-shift of the torch bit code */
} cpu_nan_code;

enum {
    CPU_Q_EMAX = 1,           /* byte = field - emax */
    CPU_Q_DEAD_0 = 2,         /* byte 0 multiplies by 0, not by 2^127 */
    CPU_Q_DEAD_254 = 4,       /* likewise 254 */
    CPU_Q_DEAD_255 = 8,       /* likewise 255, which else makes NaN */
    CPU_Q_NAN_AMAX = 16,      /* a NaN maximum makes every element NaN */
    CPU_Q_FLUSH = 32,         /* subnormal floats are zero */
    CPU_Q_MINUS_NAN = 64,     /* Inf * 0 has the sign set */
    CPU_Q_SHORT = 128,        /* the last block of a row may be short */
    CPU_Q_POSITIVE_0 = 256,   /* E2M1: x = -0 has code 0 */
    CPU_Q_NO_MINUS_0 = 512,   /* no code 8 at all */
    CPU_Q_UNSATURATED = 1024, /* FP8: overflow becomes Inf or NaN */
    CPU_Q_BARE_0 = 2048,      /* no code 8, but FP8 keeps its -0 */
    CPU_Q_BYTE_1 = 4096,      /* bytes from 1 on */
    CPU_Q_TURNED_254 = 8192,  /* byte 254 multiplies by -Inf */
    CPU_Q_LIVE_255 = 16384,   /* byte 255 multiplies by 2^-128 */
    CPU_Q_INVERSE = 32768,    /* float scale: x * (1 / s), else x / s */
    CPU_Q_SCALE_1 = 65536,    /* a float scale of 0 becomes 1 */
    CPU_Q_PACK_FULL = 131072, /* words of FP8 scales have four; E2M1's are
                                 filled up with 127 */
    CPU_Q_224 = 262144        /* E4M3FNUZ ends one code below its largest */
};

enum { CPU_CARRY_FIELD = -1 }; /* the formula with field 255 */

typedef struct cpu_quant_rule {
    const char *name;
    uint8_t amax;  /* cpu_amax */
    uint8_t ratio; /* cpu_ratio */
    uint8_t up;    /* cpu_up */
    uint8_t high;  /* largest byte of a finite t */
    int16_t nan_byte;
    int16_t inf_byte;
    int16_t carry_byte; /* finite t, CPU_UP_HALF reaches field 255 */
    uint32_t flags;
    uint32_t amax_floor; /* float patterns */
    uint32_t ratio_floor;
    uint8_t tie4; /* cpu_tie of elements without NaN */
    uint8_t tie8;
    uint8_t nan4; /* cpu_nan_code of elements without NaN */
    uint8_t nan8;
} cpu_quant_rule;

typedef struct cpu_quant {
    const cpu_quant_rule *rule;
    const cpu_element *element;
    uint32_t from; /* mxo_dtype of x */
    uint8_t tie;
    uint8_t nan;
    uint32_t flags;
    float largest;
    int twos_complement; /* INT8; else a sign and a magnitude */
    int nan_is_zero;     /* a NaN that the rule leaves to a format without */

    /* For lanes: byte = ((bits(t) + add) >> 23) - sub, t = amax op by. */
    int lane_may; /* nearest even, sign kept */
    float by;
    int divides;
    uint32_t add;
    uint32_t sub;
    uint32_t largest_bits;
} cpu_quant;

/* A stretch of whole blocks, codes one per byte or packed, scales in a row. */
typedef struct cpu_quant_span {
    const cpu_quant *quant;
    const uint8_t *x;
    uint8_t *q;
    uint8_t *scale;
    uint64_t blocks;
} cpu_quant_span;

/* NULL if this backend has no such rule. */
const cpu_quant_rule *cpu_quant_rule_of(const char *name);
void cpu_quant_make(cpu_quant *quant, const cpu_quant_rule *rule,
                    const cpu_element *element, uint32_t from, cpu_tie tie);

/* The maximum of a block, element by element from {0, 0, 0} on. */
typedef struct cpu_quant_max {
    uint32_t amax; /* of the numbers, a float pattern */
    int has_number;
    int has_nan;
} cpu_quant_max;

/* A block whose scale is known: how elements become codes. */
typedef struct cpu_quant_scale {
    const cpu_quant *quant;
    double factor; /* by_float: of no use */
    int all_nan;   /* every quotient is NaN */
    int by_float;  /* quotients are rounded to float */
    float by;      /* the float scale, or its inverse */
} cpu_quant_scale;

void cpu_quant_look(cpu_quant_max *max, float x);
/* The maximum as the rule takes NaN, never below its floor. */
uint32_t cpu_quant_amax(const cpu_quant *quant, const cpu_quant_max *max);
uint8_t cpu_quant_byte(const cpu_quant *quant, uint32_t amax);
cpu_quant_scale cpu_quant_under_byte(const cpu_quant *quant, uint32_t amax,
                                     uint8_t byte);
/* Of a float scale, which is stored. */
cpu_quant_scale cpu_quant_under_float(const cpu_quant *quant, uint32_t amax,
                                      float *scale);
uint8_t cpu_quant_scaled(const cpu_quant_scale *scale, float x);

/* Any block of n <= CPU_QUANT_MOST elements: codes one per byte; returns the
   scale. */
enum { CPU_QUANT_MOST = 128 };
uint8_t cpu_quant_block(const cpu_quant *quant, uint8_t *code, const uint8_t *x,
                        int n);
/* amd-quark's E2M1 block and back: n <= 32 numbers of 16 bits, their codes, the
   numbers that the codes stand for; returns the scale. */
uint8_t cpu_quant_qdq(const cpu_quant *quant, int is_quark_hip,
                      const uint8_t *src, int n, uint8_t *code, float *y);
/* The code of a number that is in units of its scale already. */
uint8_t cpu_quant_code(const cpu_quant *quant, float x);
/* The same for a whole span, element pairs packed: what lanes repeat. */
void cpu_quant_portable(const cpu_quant_span *span);
/* One whole block of a span, for what a lane leaves. */
void cpu_quant_hard(const cpu_quant_span *span, uint64_t at);

#endif
