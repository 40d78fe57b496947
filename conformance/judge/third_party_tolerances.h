/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Others' tolerances (third_party_tolerances.def) on a failed output.  They
 * never decide.
 */
#ifndef MXO_ALSO_H
#define MXO_ALSO_H

#include "base/tensors.h"

/* Name of rule i; NULL behind the last. */
const char *tolerance_name(int i);

/* Append to the list "a,b" the rules that the text names: one rule, a family
   ("FlashInfer" is flashinfer_*; capitals do not matter), or "all".  0 if it
   names none. */
int tolerance_add(const char *text, char *list, size_t size);

/* Does rule i accept an output?  want and got have one type and shape. */
int tolerance_accepts(int i, const host_tensor *want, const host_tensor *got);

/* Names, with spaces, of the rules that accept all outputs of two sets that
   are floats; "" if there is no such output. */
void tolerance_names(const tensor_set *want, const tensor_set *got, char *text,
                     size_t size);

/* Those of the names that are in the list "a,b". */
void tolerance_choose(const char *names, const char *list, char *text,
                      size_t size);

#endif
