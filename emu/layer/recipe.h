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
#include <mxoracle/profile.h>
#include <mxoracle/quant.h>

typedef struct layer_quant {
    mxo_profile_choice op; /* MXO_P_QUANT_* */
    mxo_format element;
    const mxo_quant_rule *rule; /* NULL: none */
    int quark_hip;              /* qdq in 16 bits throughout */
    uint64_t group;
} layer_quant;

typedef struct layer_recipe {
    const mxo_profile *profile;
    mxo_dequant_rule weight_rule;
    mxo_profile_choice scale_at;
    mxo_profile_choice order;
    layer_quant quant; /* of what enters the GEMM */
    mxo_profile_choice bias_type;
    mxo_profile_choice bias; /* MXO_P_BIAS1_*, for both GEMMs */
    mxo_profile_choice gemm_out;  /* MXO_P_GEMM1_OUT_* */
    mxo_glu unit;
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

/* A choice; UNSUPPORTED with a sentence if it is unknown. */
mxo_status layer_choose(mxo_profile_choice *c, const mxo_call *call,
                        mxo_profile_field field, mxo_text why);

#endif
