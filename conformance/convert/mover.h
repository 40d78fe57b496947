/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving the experts of a layer on a backend, through the ABI: a few experts
 * at a time, so that memory stays small whatever the checkpoint's size.
 */
#ifndef MXO_CONVERT_MOVER_H
#define MXO_CONVERT_MOVER_H

#include "layers.h"

/* A buffer of the backend, grown when needed. */
typedef struct mover_buffer {
    void *handle;
    uint64_t n_bytes;
} mover_buffer;

enum { MOVER_OUTPUTS = 16 };

typedef struct mover {
    const mxo_backend *table; /* borrowed */
    void *ctx;
    const char *conversion; /* with parameters; borrowed */
    mover_buffer in[LAYER_TENSORS];
    mover_buffer out[MOVER_OUTPUTS];
    uint8_t *staging; /* owned: one tensor of a few experts */
    uint64_t staging_bytes;
} mover;

int mover_open(mover *m, const mxo_backend *table, const char *conversion,
               mxo_text why);
void mover_close(mover *m);

/* Outputs of the conversion for n experts of a part.  Returns their number; -1
   and the vendor's refusal. */
int mover_infer(const mover *m, const layer_part *p, int biased, uint64_t n,
                mxo_tensor out[MOVER_OUTPUTS], mxo_text why);

/* Can n of the experts be moved without the others?  A layout may refuse so
   few, or pad behind the last one. */
int mover_takes(const mover *m, const layer_part *p, int biased, uint64_t n);

/* Room for the bytes of a tensor of n experts; NULL without memory. */
uint8_t *mover_staging(mover *m, uint64_t n_bytes, mxo_text why);
/* Hand the staged bytes to input i. */
int mover_upload(mover *m, int i, uint64_t n_bytes, mxo_text why);
/* Convert what was uploaded. */
int mover_forward(mover *m, const layer_part *p, int biased, uint64_t n,
                  mxo_text why);
/* Copy output number i (of mover_infer) into host memory. */
int mover_download(mover *m, int i, uint8_t *to, uint64_t n_bytes,
                   mxo_text why);
/* Take tensor i of n experts back from memory to the logical tensor; both are
   staged bytes, to has room for the padded tensor. dtype: of memory. */
int mover_back(mover *m, const layer_part *p, int i, uint32_t dtype, uint64_t n,
               const uint8_t *from, uint64_t from_bytes, uint8_t *to,
               mxo_text why);

#endif
