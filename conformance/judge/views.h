/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as a reader sees them: rows of views.def, indices and shapes. */
#ifndef MXO_VIEWS_H
#define MXO_VIEWS_H

#include "base/tensors.h"
#include "case/test_case.h"

/* "[3,17]" of element i. */
void view_index(const host_tensor *t, uint64_t i, char *text, size_t size);
/* Shape as "u8[3,48]". */
void view_shape(const host_tensor *t, char *text, size_t size);

/* How the elements of a tensor are to be read. */
typedef struct tensor_view {
    const char *op; /* pattern */
    const char *tensor;
    const char *format; /* "$element", "f32", "" as the dtype says */
    uint64_t block;     /* elements per scale along the last axis; 0: none */
    const char *scale;  /* tensor of the scales: an output or an input */
    const char *input;  /* input of the element; "" unknown */
} tensor_view;

/* The row for a tensor; a row that says nothing if there is none. */
const tensor_view *view_of(const char *op, const char *tensor);
/* Name of the format a view's elements are in. */
const char *view_format(const tensor_view *v, const test_case *c,
                        const host_tensor *t);
/* Codes per byte-sized element: 2 for packed E2M1, else 1. */
int view_pack(const tensor_view *v, const test_case *c, const host_tensor *t);

#endif
