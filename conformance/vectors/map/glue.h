/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small steps between a vendor's tensor and a canonical one, written in
 * map.def as "BASE>step(arguments)>step".  They move, pack and select
 * elements; none of them computes what is being judged.
 *
 * BASE       a tensor by name; mantissas(T): four binary32 patterns from 1.0
 *            upwards per element of T; positions(T): 0, 1, .. for T's elements
 * view(a,b|c)  split axis 0 into a x b, keep axis 1 as c, ...; * = the rest
 * merge        the last two axes become one
 * part(a,i,n): the i-th of n parts of axis a
 * cast(u8)     the same bits under another type of the size
 * rows         all axes but the last become one
 * perm(1,0)    new axis i is old axis perm[i]
 * pad(r,c,v)   round the last two axes up to multiples; pads hold v and count
 * valid        1 where an element counts, 0 in pads
 * diagonal     element [i,i] of the last two axes
 * where(T)     elements count where T is not 0
 * cols(a,b)    a, .., b - 1 of the last axis
 * pack4 unpack4  nibbles, even index low
 * bytes        elements as little-endian bytes;  words(T): the way back, as
 *            many and of the type of T
 * shaped(T,r,c)  in the shape of T, its last two axes rounded up to multiples
 *              of r and c (1 if left out)
 * take(T)      rows (axis 0) by index
 * head(T)      the first elements, as many as T has, in T's shape
 * filled(v)    every element the binary32 number 0, 1 or inf
 * identity     bf16 rows as a product with the identity shows them: sums
 *              from +0, and 0 times Inf or NaN is NaN in the other columns
 * wide         bf16 as binary32
 * delta2(T)    difference of patterns to those of T, two bits each
 */
#ifndef MXO_VECTORS_GLUE_H
#define MXO_VECTORS_GLUE_H

#include "scope.h"

enum { GLUE_RANK = 8 };

typedef struct glue {
    uint32_t dtype;
    uint32_t rank;
    uint64_t shape[GLUE_RANK];
    uint64_t n;     /* elements */
    uint8_t *data;  /* owned, host order */
    uint8_t *valid; /* owned, one byte per element; NULL: all count */
} glue;

/* Where base names are looked up: outputs of the operation, or the file. */
typedef struct glue_source {
    scope *s;
    const tensor_set *outputs; /* NULL while inputs are bound */
} glue_source;

/* expr has been expanded. On any status but OK *g is empty. */
MXO_MUST_CHECK mxo_status glue_eval(const glue_source *source, piece expr,
                                    glue *g, mxo_text why);
void glue_clear(glue *g);
uint64_t glue_load(const glue *g, uint64_t i);

#endif
