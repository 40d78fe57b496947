/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that differ from a given one in what must not matter: the same layer
 * with its experts or tokens elsewhere, among others, or dealt out to several
 * machines.  Only inputs are made here; what their answers must be is said in
 * metamorph.c.
 */
#ifndef MXO_DERIVE_H
#define MXO_DERIVE_H

#include "base/tensors.h"
#include "case/case_text.h"

typedef enum derive_how {
    DERIVE_WHOLE,    /* the call as it is */
    DERIVE_REVERSED, /* entries of the axis in reverse order */
    DERIVE_LAST,     /* the last entry of the axis alone */
    DERIVE_PAIRS,    /* every second entry is the one before once more */
    DERIVE_GROWN,    /* twice as many entries and one, those behind: all ones,
                        which is NaN in every float and in E8M0 */
    DERIVE_SLICE,    /* experts first .. first+n-1 are here, others elsewhere */
    DERIVE_SHARD,    /* columns first .. first+n-1 of the intermediate */
    DERIVE_UNLOADED  /* no loader has touched the tensors */
} derive_how;

typedef struct derivation {
    derive_how how;
    const char *axis;
    uint64_t first; /* of a slice or shard */
    uint64_t n;
    const host_tensor *x; /* in place of the input x; NULL: as it was */
} derivation;

/*
 * The call made from case c and its inputs, both as in the checkpoint: what a
 * loader makes of the call's is not done yet.  A shard that begins within a
 * block of 32 begins with the block, and one that ends within a byte ends with
 * the byte, the codes of w2 that belong to another shard being zero; the
 * second bias is in the shard from column 0 alone.
 * 0, or -1 and a sentence.
 */
int derive_call(const derivation *d, const test_case *c, const tensor_set *in,
                test_case *made, tensor_set *inputs, mxo_text why);

#endif
