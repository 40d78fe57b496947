/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of the broken backend, for whoever links it in. */
#ifndef BROKEN_BACKEND_H
#define BROKEN_BACKEND_H

#include <mxoracle/abi.h>

const mxo_backend *broken_backend(void);

#endif
