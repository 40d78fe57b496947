/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle run --vectors PATH...: "verify" with a backend as the subject. */
#ifndef MXO_RUN_VECTORS_H
#define MXO_RUN_VECTORS_H

#include "runopts.h"
#include "vectors/vectors.h"

/* Returns the exit status. */
int run_vectors(const run_options *o);
/* The same, of these backends: paths are the arguments of o. */
int vectors_on(const run_options *o, const backend_list *chosen,
               const vector_options *options);

#endif
