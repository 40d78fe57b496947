/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of docs/exec-protocol.md for a table of functions: a plugin,
 * in the process that was started for it.
 */
#ifndef MXO_SERVE_SERVE_H
#define MXO_SERVE_SERVE_H

#include <mxoracle/abi.h>

/* The table, loaded when hello asks for it; status and sentence as
   backend_load(). */
typedef mxo_status serve_load(void *state, const mxo_backend **table,
                              mxo_text why);

/* Answer requests on the channel until it ends. 0, or -1: there is none. */
int serve(serve_load *load, void *state);

#endif
