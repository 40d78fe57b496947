/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights as a loader leaves them: a case whose parameter conversion is not
 * none fills the checkpoint's tensors as ever, and its call has what the
 * oracle's layout.apply makes of each by the name CONVERSION.TENSOR.  What a
 * layout leaves undefined is noise.  A tensor that the loader refuses stays the
 * checkpoint's: it is for the oracle to refuse the call too.
 */
#ifndef MXO_FILL_LOADED_H
#define MXO_FILL_LOADED_H

#include "base/tensors.h"
#include "case/case_text.h"

/* Has the case a loader? */
int fill_has_loader(const test_case *c);

/* Put what the call has in the place of the checkpoint's tensors.  0, or -1
   and a sentence: there is no memory. */
int fill_load(const test_case *c, tensor_set *in, mxo_text why);

/* Their types and shapes alone: zeros. */
int fill_load_shapes(const test_case *c, tensor_set *in, mxo_text why);

/* As fill_load() into an empty set: the checkpoint's tensors are kept. */
int fill_load_copy(const test_case *c, const tensor_set *checkpoint,
                   tensor_set *in, mxo_text why);

#endif
