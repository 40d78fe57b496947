/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata of a converted file about a layer's tensors. */
#ifndef MXO_LAYOUT_CONVERTED_H
#define MXO_LAYOUT_CONVERTED_H

#include "convert/job.h"
#include "pair.h"

enum { CONVERTED_NAME = 640, CONVERTED_LAYOUT = 64 };

typedef struct converted_tensor {
    char name[CONVERTED_NAME];
    char layout[CONVERTED_LAYOUT]; /* CONVERSION.TENSOR */
    pair pair;                     /* without bytes */
    int has_extent;
} converted_tensor;

/* "w13", "w13_scale", ... of tensor i. */
const char *converted_role(int i);
/* Of a tensor of experts the bits count: may b have this shape, a's or a view
   of another rank, and this type, one as wide? */
int converted_has_shape(const checkpoint_tensor *a, const checkpoint_tensor *b);
int converted_has_width(const checkpoint_tensor *a, const checkpoint_tensor *b);
/* Tensor i of a layer object; 0 if it names no prefix and style. The result
   holds pointers to itself: it stays where it is. */
int converted_tensor_of(const json_t *layer, const char *conversion, int i,
                        converted_tensor *t);

#endif
