/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator as a backend: the oracle behind the same table as its subjects.
 */
#ifndef MXORACLE_MXORACLE_H
#define MXORACLE_MXORACLE_H

#include <mxoracle/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief The emulator behind the backend ABI.
 *
 * Every operation of <mxoracle/ops.def>, infer() and op_info included. Buffers
 * are host memory. open() takes any device number.
 *
 * Errors   run() leaves every output untouched unless it returns MXO_OK.
 * Threads  pure and re-entrant: contexts share nothing.
 */
MXO_EXPORT const mxo_backend *mxo_emulator(void);

/** @brief Version of the library, "0.2.0". */
MXO_EXPORT const char *mxo_version(void);

#ifdef __cplusplus
}
#endif
#endif
