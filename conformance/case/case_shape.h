/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of a case's inputs, from its sizes and the dimensions that follow from
 * others (dims.def).
 */
#ifndef MXO_CASESHAPE_H
#define MXO_CASESHAPE_H

#include "test_case.h"

/* Does a rule decide the dimension, and what is it then? */
int case_dim_follows(const test_case *c, int dim);
uint64_t case_standard_dim(const test_case *c, int dim);
int case_dim_is_standard(const test_case *c, int dim);

/* Set a dimension, and the parameters that say how large it is. */
void case_resize(test_case *c, int dim, uint64_t n);

/* Shape of an input, extents that are not whole rounded up. */
void case_shape_up(const test_case *c, int i, uint64_t shape[MXO_MAX_RANK]);

/* Whether input i is present under these parameters. */
int case_has_input(const test_case *c, int i);
/* Whether a dimension is the extent of an input that is present. */
int case_uses_dim(const test_case *c, int dim);
/* dtype and shape of an input; -1 and a sentence if an extent is not whole. */
int case_input(const test_case *c, int i, uint32_t *dtype,
               uint64_t shape[MXO_MAX_RANK], mxo_text why);

#endif
