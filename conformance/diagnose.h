/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explaining a difference: where it is, what the codes mean, which known
 * mistake makes exactly these bytes.  What an output's elements are is a row
 * of views.def; the mistakes are tried on the oracle, through the ABI.
 */
#ifndef MXO_DIAGNOSE_H
#define MXO_DIAGNOSE_H

#include "judge.h"
#include "strbuf.h"

/* "[3,17]" of element i. */
void diagnose_index(const host_tensor *t, uint64_t i, char *text, size_t size);
/* Shape as "u8[3,48]". */
void diagnose_shape(const host_tensor *t, char *text, size_t size);

/* Lines about the output that differs first: counts, the first wrong element
   decoded, a window of both byte streams. */
void diagnose(const evidence *e, strbuf *lines);

/* How the elements of a tensor are to be read. */
typedef struct tensor_view {
    const char *op; /* pattern */
    const char *tensor;
    const char *format; /* "$element", "f32", "" as the dtype says */
    uint64_t block;     /* elements per scale along the last axis; 0: none */
    const char *scale;  /* tensor of the scales: an output or an input */
    const char *input;  /* what the element was made from; "" unknown */
} tensor_view;

/* The row for a tensor; a row that says nothing if there is none. */
const tensor_view *view_of(const char *op, const char *tensor);
/* Name of the format a view's elements are in. */
const char *view_format(const tensor_view *v, const test_case *c,
                        const host_tensor *t);
/* Codes per byte-sized element: 2 for packed E2M1, else 1. */
int view_pack(const tensor_view *v, const test_case *c, const host_tensor *t);

/* The tensor that output `got` of a layout operation moved, and the name of
   the layout; NULL: it moved none. */
const host_tensor *explain_moved(const evidence *e, const host_tensor *got,
                                 char layout[160]);

/* The known mistake that gives exactly the actual output; 0 if none does. */
int explain(const evidence *e, char *text, size_t size);

#endif
