/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.nvfp4_layer and its halves: sizes, ids and most choices are those of
 * moe.layer's plan; blocks are of 16, scales are E4M3, and global scales are
 * tensors.
 */
#ifndef MXO_EMU_LAYER_NVFP4_H
#define MXO_EMU_LAYER_NVFP4_H

#include "plan.h"

typedef struct nvfp4_plan {
    layer_plan layer;       /* two.out, two.row_out, one.unit and the like */
    mxo_nvfp4_rule quant;   /* of hidden states */
    mxo_nvfp4_rule requant; /* of the activation's output */
    int is_raw;             /* global_at=glu: the activation gets raw sums */
    int is_open;            /* order=any: the data must not depend on it */
    int is_seq;
    uint64_t q1, s1; /* offsets into the scratch: codes and bytes of x */
    uint64_t q2, s2; /* of the activation's output */
    uint64_t act;    /* binary32 patterns: [slots, inter], and */
    uint64_t y;      /* the operation's result */
    uint64_t n_y;
    mxo_format to; /* of the result */
} nvfp4_plan;

/* Sizes, shapes and recipe of a call; nothing is written. */
mxo_status nvfp4_make(nvfp4_plan *p, const mxo_call *call, const int has[2],
                      mxo_text why);
/* Ids and global scales, once there are data. */
mxo_status nvfp4_check_data(const nvfp4_plan *p, mxo_text why);
/* The activation of an expert: constants in the units of what it gets. */
mxo_glu nvfp4_unit_of(const nvfp4_plan *p, uint64_t expert);
/* Element i of a binary32 input, as a pattern. */
uint32_t nvfp4_global(const nvfp4_plan *p, const char *name, uint64_t i);

#endif
