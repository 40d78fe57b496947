/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin's signatures of operations compared with this judge's.  A plugin
 * that was built before an operation got another parameter checks its calls by
 * the older signature and declines every one of them.  It must be told from a
 * plugin that does not have the operation.
 */
#ifndef MXO_DESCRIBED_H
#define MXO_DESCRIBED_H

#include <mxoracle/abi.h>

/* Are the operations that it offers and describes described as here?  If not,
   a sentence that begins with name.  Without op_info nothing is asked. */
int described_as_here(const mxo_backend *b, const char *name, mxo_text why);

#endif
