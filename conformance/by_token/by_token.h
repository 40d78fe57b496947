/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One large call of a backend that is believed, as several calls of fewer
 * tokens on several cores.  Only for a backend whose run() may be entered by
 * several threads and whose buffers are host memory: the emulator.
 */
#ifndef MXO_BY_TOKEN_H
#define MXO_BY_TOKEN_H

#include <mxoracle/abi.h>

/* Tokens of a call whose parts may be computed apart; 0: it is one piece. */
uint64_t by_token_count(const mxo_call *call);

/* Run in up to n_parts parts at once.  Bytes, status and sentence are those of
   table->run(): where a part fails, the whole call is run again. */
mxo_status by_token_run(const mxo_backend *table, void *ctx,
                        const mxo_call *call, unsigned n_parts, mxo_text why);

/* The same in as many parts as are worth while on the cores at hand. */
mxo_status by_token_run_all_cores(const mxo_backend *table, void *ctx,
                                  const mxo_call *call, mxo_text why);

#endif
