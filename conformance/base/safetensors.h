/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden vectors on disk: 8 bytes of header length, a JSON header, the bytes
 * of the tensors, all little endian.  Files come from strangers: no size in
 * the header is believed before it has been checked against the file's true
 * size, so memory is bounded by that size.
 */
#ifndef MXO_SAFETENSORS_H
#define MXO_SAFETENSORS_H

#include "tensors.h"

#include <jansson.h>

typedef struct safetensors {
    tensor_set tensors;
    json_t *metadata; /* owned; object of strings; NULL if there is none */
    uint64_t n_bytes; /* true size of the file */
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

/* Write path through a temporary file beside it: afterwards either the whole
   file is there or what was there before. metadata: object of strings. */
MXO_MUST_CHECK mxo_status safetensors_write(const char *path,
                                            const tensor_set *tensors,
                                            const json_t *metadata,
                                            mxo_text why);

/* Copy elements of a type between host order and little endian, in place. */
void safetensors_swap(uint32_t dtype, uint8_t *bytes, uint64_t n_bytes);

#endif
