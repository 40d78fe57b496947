/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden vectors on disk: safetensors files of few tensors, which are copied to
 * memory, and metadata.
 */
#ifndef MXO_SAFETENSORS_H
#define MXO_SAFETENSORS_H

#include "base/tensors.h"
#include "safetensors_header.h"

#include <jansson.h>

typedef struct safetensors {
    tensor_set tensors;
    safetensors_header header; /* its metadata; the tensors are above */
    uint64_t n_bytes;          /* true size of the file */
} safetensors;

/* SHAPE: not a safetensors file. DEVICE: cannot be opened or read. NOMEM. On
   any of them *file is empty and why holds one sentence (without the path). */
MXO_MUST_CHECK mxo_status safetensors_read(const char *path, safetensors *file,
                                           mxo_text why);
/* The same from bytes in memory. */
MXO_MUST_CHECK mxo_status safetensors_parse(const void *bytes, uint64_t n_bytes,
                                            safetensors *file, mxo_text why);
void safetensors_clear(safetensors *file);

/* Text of a metadata key; NULL if absent. Borrowed. */
const char *safetensors_meta(const safetensors *file, const char *key);

/* Write path: afterwards either the whole file is there or what was there
   before. metadata: object of strings. */
MXO_MUST_CHECK mxo_status safetensors_write(const char *path,
                                            const tensor_set *tensors,
                                            const json_t *metadata,
                                            mxo_text why);

/* Copy elements of a type between host order and little endian, in place. */
void safetensors_swap(uint32_t dtype, uint8_t *bytes, uint64_t n_bytes);

#endif
