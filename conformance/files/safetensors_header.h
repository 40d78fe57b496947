/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one reader of safetensors: 8 bytes of header length, a JSON header, the
 * bytes of the tensors, all little endian.  Files come from strangers: no size
 * in the header is believed before it was checked against the file's true
 * size, and memory is bounded by that of the header.
 */
#ifndef MXO_SAFETENSORS_HEADER_H
#define MXO_SAFETENSORS_HEADER_H

#include <mxoracle/abi.h>

#include <stddef.h>
#include <stdint.h>

typedef struct file_tensor {
    const char *name;  /* borrowed from the header */
    const char *dtype; /* as the format spells it; constant */
    uint32_t rank;
    uint64_t shape[MXO_MAX_RANK];
    uint64_t n_bytes;
    const uint8_t *bytes; /* borrowed from the file */
} file_tensor;

typedef struct safetensors_header {
    size_t n;
    file_tensor *tensor;  /* owned; in the order of their bytes */
    char *text;           /* owned: names, and the metadata */
    const char *metadata; /* in text: key, value, key, ...; an empty key is the
                             end.  NULL: none */
    uint64_t n_bytes;     /* of the header with its length */
} safetensors_header;

/* Of a whole file in memory.  SHAPE: not a safetensors file, NOMEM; *h is empty
   then and why holds one sentence (without the path). */
MXO_MUST_CHECK mxo_status safetensors_header_read(const uint8_t *bytes,
                                                  uint64_t n_bytes,
                                                  safetensors_header *h,
                                                  mxo_text why);
void safetensors_header_clear(safetensors_header *h);
/* Text of a key in metadata (NULL: none); NULL if absent.  Borrowed. */
const char *safetensors_text_of(const char *metadata, const char *key);

#endif
