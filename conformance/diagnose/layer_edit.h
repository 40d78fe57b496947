/* SPDX-License-Identifier: Apache-2.0 */
/* What the edits of layer_fault.h have in common, and those of other files. */
#ifndef MXO_LAYER_EDIT_H
#define MXO_LAYER_EDIT_H

#include "layer_fault.h"

/* Experts and slots that are tried one by one. */
enum { LAYER_EDIT_MOST = 64 };

/* Element i of the edited tensor from the tensor as it was. */
typedef uint64_t layer_element(const layer_call *call, const host_tensor *was,
                               uint64_t i);

/* All the tensors named, or none: each must be there, but for those with a
   question mark behind them. */
layer_edit layer_edit_all(layer_call *call, const char *on, unsigned which,
                          layer_element *from);
/* The same for each expert, which is call->which. */
layer_edit layer_edit_expert(layer_call *call, const char *on, unsigned which,
                             layer_element *from);

/* Every edit of single elements: edit_NAME() by element_NAME(). */
#define LAYER_EDIT(name)                                                     \
    layer_edit edit_##name(layer_call *call, const char *on, unsigned which) \
    {                                                                        \
        return layer_edit_all(call, on, which, element_##name);              \
    }

/* Edits that take another element. */
#define LAYER_TAKE(name, at)                                           \
    static uint64_t element_##name(const layer_call *call,             \
                                   const host_tensor *was, uint64_t i) \
    {                                                                  \
        (void)call;                                                    \
        return tensor_load(was, at);                                   \
    }                                                                  \
    LAYER_EDIT(name)

/* Every edit of layer_faults.def; several rows may have one. */
#define MXO_LAYER_FAULT(edit, on, says)                             \
    layer_edit edit_##edit(layer_call *call, const char *on_tensor, \
                           unsigned which);
/* NOLINTNEXTLINE(readability-redundant-declaration) */
#include "layer_faults.def"
#undef MXO_LAYER_FAULT

#endif
