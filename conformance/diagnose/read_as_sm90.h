/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights that stayed in the checkpoint's order, as a kernel reads them that
 * wants FlashInfer's interleaved order for SM90 (layouts-flashinfer 3.1, 3.2):
 * vLLM's fault of 2026-05, which no error showed.
 */
#ifndef MXO_READ_AS_SM90_H
#define MXO_READ_AS_SM90_H

#include "base/tensors.h"

/* How the rows stand; the kernel has those of w13 as [up; gate]. */
typedef enum row_order {
    ROWS_PLAIN,       /* w2 */
    ROWS_INTERLEAVED, /* gate, up, gate, up .. */
    ROWS_HALVES,      /* [gate; up] */
} row_order;

/* Byte i of codes [experts, rows, bytes] as the kernel takes it, rows in the
   order they have; the byte as it is where the sizes are none of the layout's.
   Revision 1: FlashInfer 0.6.10 to 0.6.15, 2: from 0.6.16 on. */
uint64_t read_as_sm90(const host_tensor *t, uint64_t i, row_order order,
                      int revision);

#endif
