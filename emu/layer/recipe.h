/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile ready to be executed: every fact of <mxoracle/profile.h> that
 * the layer needs, with what the call overrides, as enumerators and numbers.
 */
#ifndef MXO_EMU_LAYER_RECIPE_H
#define MXO_EMU_LAYER_RECIPE_H

#include "../call.h"

#include <mxoracle/act.h>
#include <mxoracle/dequant.h>
#include <mxoracle/mma.h>
#include <mxoracle/profile.h>
#include <mxoracle/quant.h>

typedef struct layer_quant {
    mxo_profile_choice op; /* MXO_P_QUANT_* */
    mxo_format element;
    const mxo_quant_rule *rule; /* NULL: none */
    int quark_hip;              /* qdq in 16 bits throughout */
    uint64_t group;
    mxo_nvfp4_rule nvfp4;
    int reciprocal;  /* STATIC: times 1 / scale, not divided by it */
    uint32_t scale;  /* STATIC, NVFP4: the given scale, binary32 */
    uint32_t factor; /* multiplies the sums; 1.0: none */
} layer_quant;

/* How a row of weights meets a row of activations. */
typedef enum layer_accumulation {
    LAYER_EXACT,  /* exact sums: of a row, or of each block */
    LAYER_STEPS,  /* one of mxo_order, from operands in 16 bits */
    LAYER_BLOCKS, /* seq within a block, then the scale */
    LAYER_UNIT    /* steps of a matrix instruction */
} layer_accumulation;

typedef struct layer_order {
    mxo_profile_choice choice; /* MXO_P_ORDER_* */
    layer_accumulation way;
    int order;        /* mxo_order of STEPS */
    const char *unit; /* of UNIT */
    int by_weight;    /* scale_at=weight has a meaning */
    int by_block;     /* scale_at=block has one */
    int has_bias;     /* bias=order has a place */
} layer_order;

/* The row of an order; every choice has one. */
const layer_order *layer_order_of(mxo_profile_choice order);

typedef struct layer_recipe {
    const mxo_profile *profile;
    mxo_dequant_rule weight_rule;
    mxo_profile_choice scale_at;
    mxo_profile_choice order;
    int fma;            /* a product is not rounded before it is added */
    uint64_t splits;    /* parts of K */
    uint64_t parts;     /* of K that are rounded each by itself; 1: none is */
    uint64_t promote;   /* products of a unit between two promotions, or 0 */
    const mxo_mma *mma; /* row of the operands' type; NULL: no unit */
    layer_quant quant;  /* of what enters the GEMM */
    mxo_profile_choice bias_type;
    mxo_profile_choice bias;     /* MXO_P_BIAS1_*, for both GEMMs */
    mxo_profile_choice gemm_out; /* MXO_P_GEMM1_OUT_* */
    int behind; /* binary places by which weight_rule's operands are small */
    mxo_glu unit;
    mxo_profile_choice glu_out;
    mxo_profile_choice routing_at;
    mxo_profile_choice routing_type;
    mxo_profile_choice row_out; /* MXO_P_ROW_OUT_* */
    mxo_profile_choice sum;
    mxo_profile_choice out;
} layer_recipe;

/* A fact: the call's own word unless that is "profile". */
const char *layer_word(const mxo_call *call, mxo_profile_field field);

/* The first GEMM with its quantisation and bias; then the activation; the
   second GEMM up to an expert's row; the sum over experts.  UNSUPPORTED and
   the name of the entry if it is unknown, PARAM if entries contradict. */
mxo_status layer_read_gemm1(layer_recipe *r, const mxo_call *call,
                            mxo_text why);
mxo_status layer_read_glu(layer_recipe *r, const mxo_call *call, mxo_text why);
mxo_status layer_read_gemm2(layer_recipe *r, const mxo_call *call,
                            mxo_text why);
mxo_status layer_read_sum(layer_recipe *r, const mxo_call *call, mxo_text why);

/* The type of what leaves a GEMM whose sums are rounded to out: binary32 where
   a bias was added behind that. */
mxo_format layer_leaves(const layer_recipe *r, mxo_profile_choice out);
/* The operands' scale is put right with the routing weight (B12X). */
int layer_scales_late(const layer_recipe *r);

/* PARAM and a sentence if parts that are rounded to bf16 meet a bias or a type
   that they cannot have; out: of GEMM1_OUT or ROW_OUT. */
mxo_status layer_check_parts(const layer_recipe *r, const mxo_call *call,
                             mxo_profile_choice out, mxo_text why);

/* Treatment of a NaN by the clamp.  A layer without the parameter leaves it to
   the dialect. */
mxo_glu_nan layer_glu_nan(const mxo_call *call);

/* Number of a rule of quant.nvfp4 (mxo_nvfp4_math); -1: there is none. */
int layer_nvfp4_math(const char *rule);

/* The type that a choice of one of the out or type fields names. */
mxo_format layer_format(mxo_profile_choice type);

/* Scale and factor of a quantiser whose scale is an input. */
void layer_give_scale(layer_quant *q, uint32_t scale);

/* A choice; UNSUPPORTED with a sentence if it is unknown. */
mxo_status layer_choose(mxo_profile_choice *c, const mxo_call *call,
                        mxo_profile_field field, mxo_text why);

#endif
