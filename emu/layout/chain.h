/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts one after the other.  A chain is never executed step by step: an
 * index is carried through all its maps, so no intermediate tensor exists.
 * Only the last of them may split bytes.
 *
 * Its name is that of one layout, or CONVERSION.TENSOR (trtllm_gptoss.w13),
 * followed by /parameter=value.
 */
#ifndef MXO_EMU_LAYOUT_CHAIN_H
#define MXO_EMU_LAYOUT_CHAIN_H

#include "step.h"

enum { CHAIN_STEPS = 4, CHAIN_TEXT = 256 };

typedef struct layout_chain {
    int n;
    layout_step step[CHAIN_STEPS];
} layout_chain;

/* Bind a chain to a logical tensor. */
mxo_status chain_bind(layout_chain *c, const char *name, uint32_t dtype,
                      const uint64_t extent[3], mxo_text why);
/* Tensor number i of a conversion. */
mxo_status chain_bind_tensor(layout_chain *c, const mxo_conversion_row *row,
                             const char *name, int i, uint32_t dtype,
                             const uint64_t extent[3], mxo_text why);
/* Bind to memory of this dtype, seen as the padded tensor; what is kept of
   rows and columns is the logical tensor. */
mxo_status chain_bind_back(layout_chain *c, const char *name, uint32_t dtype,
                           const uint64_t seen[3], const uint64_t kept[3],
                           mxo_text why);

/* dtype and shape of what it gives, and of what it took. */
const layout_step *chain_last(const layout_chain *c);
/* A tensor of a conversion as it is left: a bias stays a matrix, everything
   else has the shape of its last step. */
void chain_describe(const layout_chain *c, int is_bias, mxo_tensor *t,
                    uint32_t i, const char *name);

/* Row of a conversion by name, or a sentence. */
mxo_status conversion_row(const char *name, const mxo_conversion_row **row,
                          mxo_text why);
/* The loader's own conditions on the layer as a whole. */
mxo_status conversion_check(const mxo_conversion_row *row, uint64_t experts,
                            uint64_t hidden, uint64_t inter, int has_bias,
                            mxo_text why);
/* Does the loader leave tensor number i in place of the checkpoint's? */
int conversion_leaves(const mxo_conversion_row *row, int i);

/* Whether every value of x has one there; chain_forward asks it, too. */
mxo_status chain_check_forward(const layout_chain *c, const mxo_tensor *x,
                               mxo_text why);
mxo_status chain_forward(const layout_chain *c, const mxo_tensor *x,
                         const mxo_tensor *y, const mxo_tensor *valid,
                         mxo_text why);
mxo_status chain_back(const layout_chain *c, const mxo_tensor *x,
                      const mxo_tensor *y, const uint64_t kept[3],
                      mxo_text why);

/* The way back in two: whether every value of x has one there, and then some
   experts alone, to the beginning of y.  No map moves an element from one
   expert to another. */
typedef struct layout_experts {
    uint64_t first;
    uint64_t n;
} layout_experts;

mxo_status chain_check_back(const layout_chain *c, const mxo_tensor *x,
                            const uint64_t kept[3], mxo_text why);
void chain_take_back(const layout_chain *c, const mxo_tensor *x,
                     const mxo_tensor *y, const uint64_t kept[3],
                     layout_experts experts);

#endif
