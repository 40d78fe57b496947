/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of moe.layer, moe.gemm1 or moe.gemm2: sizes, recipes, scratch, which
 * (token, slot) belongs to which expert, and the operands of both GEMMs.
 */
#ifndef MXO_EMU_LAYER_PLAN_H
#define MXO_EMU_LAYER_PLAN_H

#include "../layout/chain.h"
#include "layer.h"

/* Offsets into the scratch tensor; 0 is a legal offset of nothing. */
typedef struct layer_scratch {
    uint64_t weighed; /* hidden states times routing weights */
    uint64_t q1, s1;  /* quantised input of the first GEMM */
    uint64_t q2, s2;  /* and of the second */
    uint64_t act;     /* the activation's output */
    uint64_t rows;    /* one row of binary32 per token and slot */
    uint64_t blocks;  /* a tile of activations */
    uint64_t wide;    /* a row of weights */
    uint64_t unit_a;  /* a tile of activations as a unit's codes */
    uint64_t unit_w;  /* a row of weights as such */
    uint64_t terms;   /* one per slot of a token */
    uint64_t slots;   /* likewise: its number, if it takes part */
    uint64_t act_hi;  /* of intervals: the other ends */
    uint64_t rows_hi;
    uint64_t magnitude; /* tiles beside blocks */
    uint64_t radius;
    uint64_t live;
    uint64_t least; /* one exponent per block of the activation's output */
    uint64_t ends;  /* one interval per slot of a token */
    uint64_t bytes;
} layer_scratch;

enum { LAYER_INPUTS = 20, LAYER_TENSORS = MXO_CONVERSION_TENSORS };

/* A tensor that goes back, one expert at a time. */
typedef struct layer_back {
    const mxo_tensor *from; /* as the call has it; NULL: it has none */
    mxo_tensor *to;         /* described with all experts, room for one */
    uint64_t extent[3];     /* of the latter */
    uint64_t at;            /* of the room, from the first on */
    layout_chain chain;
} layer_back;

/* A call whose weights are as a loader leaves them, and the same call on the
   checkpoint's tensors. */
typedef struct layer_loaded {
    const mxo_call *given;
    mxo_call call; /* the latter */
    mxo_tensor in[LAYER_INPUTS];
    const mxo_conversion_row *row; /* NULL: nothing has to be brought back */
    uint64_t experts, hidden, inter;
    layer_back tensor[LAYER_TENSORS];
    uint64_t bytes; /* of all rooms */
} layer_loaded;

typedef struct layer_plan {
    const mxo_call *call;
    const layer_loaded *loaded; /* NULL: all weights are at hand */
    layer_recipe one;           /* through the activation */
    layer_recipe two;           /* from the second GEMM on */
    uint64_t tokens, topk, hidden, inter, experts;
    int has_one, has_two; /* halves that the operation computes, */
    int has_glu, has_sum; /* and how far */
    int has_bounds;       /* the outputs are ends */
    layer_scratch at;
} layer_plan;

/* Tokens, top-k, experts and sizes, which do not overflow. */
mxo_status layer_read_sizes(layer_plan *p, mxo_text why);
/* Check and describe; nothing is written. */
mxo_status layer_read_loaded(layer_loaded *l, const mxo_call *call, int has_one,
                             int has_two, mxo_text why);
/* Has every value a way back? */
mxo_status layer_check_loaded(const layer_loaded *l, mxo_text why);
/* Where the call's scratch has room for an expert's tensors: from offset on. */
void layer_place_loaded(layer_loaded *l, uint64_t offset);
/* Bring an expert's tensors of one of the GEMMs back. */
void layer_bring_back(const layer_loaded *l, int second, uint64_t expert);

/* Sizes, shapes and recipes of a call; nothing is written. */
mxo_status layer_plan_make(layer_plan *p, const mxo_call *call, int has_one,
                           int has_two, mxo_text why);

/* Ids: is every one an expert, or absent where that is declared? */
mxo_status layer_check_ids(const layer_plan *p, mxo_text why);

/* Constants of the activation per expert: do their tensors fit, is there a
   place for each, and, once there are data, can every unit be evaluated? */
mxo_status layer_check_per_expert(const layer_plan *p, mxo_text why);
mxo_status layer_check_units(const layer_plan *p, mxo_text why);
/* The activation as an expert here has it. */
mxo_glu layer_unit_of(const layer_plan *p, uint64_t expert);

/* Room behind the scratch; returns its offset. */
uint64_t layer_take(layer_plan *p, uint64_t bytes);
void *layer_scratch_at(const layer_plan *p, uint64_t offset);

/* The tiles of all experts for one of the GEMMs, expert after expert, each
   with its weights at hand. */
void layer_each_tile(const layer_plan *p, int second,
                     void (*tile)(void *state, const layer_tile *tile),
                     void *state);

/* The GEMMs of a call: the first over the quantised input, the second over
   quantised activations, which start in from; either one over any a. */
layer_gemm layer_first_gemm(const layer_plan *p);
layer_gemm layer_second_gemm(const layer_plan *p, mxo_format from,
                             const void *act);
layer_gemm layer_open_gemm(const layer_plan *p, int second, mxo_dot_matrix a);

/* A code, or the code of a binary32 pattern, as element i of a tensor of a
   16-bit or 32-bit float format. */
void layer_store_code(mxo_format format, void *to, uint64_t i, uint64_t code);
void layer_store(mxo_format format, void *to, uint64_t i, uint32_t x);
/* The routing weight is multiplied with a row of the second GEMM. */
int layer_weighs_rows(const layer_recipe *two);
/* Likewise with the first GEMM's results. */
int layer_weighs_first(const layer_plan *p);
/* Routing weight of a slot in the type it is multiplied in. */
uint32_t layer_weight(const layer_plan *p, uint64_t slot);
/* The code of an activation, times its routing weight where that is the place
   for it. */
uint64_t layer_weigh_act(const layer_plan *p, uint64_t slot, uint64_t y);
/* Numbers of a token's slots that take part in the sum; returns how many. */
uint32_t layer_token_slots(const layer_plan *p, uint64_t token, uint64_t *slot);

/* Local expert of slot number i = token * topk + slot; -1: none. */
int64_t layer_expert(const layer_plan *p, uint64_t i);

#endif
