/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors the harness owns, in host memory and host byte order: what vectors
 * are read into, cases are filled into, and outputs are downloaded into.
 */
#ifndef MXO_TENSORS_H
#define MXO_TENSORS_H

#include "codes.h"

#include <mxoracle/abi.h>

enum { MXO_MAX_TENSORS = 64, MXO_NAME_SIZE = 64 };

typedef struct host_tensor {
    char name[MXO_NAME_SIZE];
    uint32_t dtype;
    uint32_t rank;
    uint64_t shape[MXO_MAX_RANK];
    uint64_t n_bytes;
    uint8_t *data; /* owned; 16-byte aligned; NULL if n_bytes is 0 */
} host_tensor;

typedef struct tensor_set {
    uint32_t n;
    host_tensor t[MXO_MAX_TENSORS];
} tensor_set;

/* Append a tensor with zeroed bytes. NOMEM, also where the set would take more
   than half of the machine's memory, or SHAPE when the set is full, the name
   too long, or the byte count overflows. */
MXO_MUST_CHECK mxo_status tensor_set_add(tensor_set *set, const char *name,
                                         uint32_t dtype, uint32_t rank,
                                         const uint64_t *shape,
                                         host_tensor **added);
/* Bytes of a dense tensor; UINT64_MAX: more than any memory has. */
uint64_t tensor_dense_bytes(uint32_t dtype, uint32_t rank,
                            const uint64_t *shape);
/* Most bytes of a set: half of the machine's memory. */
uint64_t tensor_room(void);
uint64_t tensor_set_bytes(const tensor_set *set);
host_tensor *tensor_set_find(const tensor_set *set, const char *name);
void tensor_set_clear(tensor_set *set);

uint64_t tensor_elems(const host_tensor *t);
/* Code i of an array of codes that have so many bytes each. */
uint64_t code_load(const uint8_t *data, uint32_t width, uint64_t i);
void code_store(uint8_t *data, uint32_t width, uint64_t i, uint64_t code);
/* Beyond the tensor there is 0, and nothing is stored: kinds of data are
   written for tensors that have what they put in. */
uint64_t tensor_load(const host_tensor *t, uint64_t i);
void tensor_store(host_tensor *t, uint64_t i, uint64_t code);

/* Rows of <mxoracle/dtype.def>. */
const char *dtype_name(uint32_t dtype);      /* "bf16" */
const char *dtype_file_name(uint32_t dtype); /* "BF16" */
uint32_t dtype_bytes(uint32_t dtype);
uint32_t dtype_by_name(const char *name);      /* aliases too */
uint32_t dtype_by_file_name(const char *name); /* MXO_N_DTYPES if unknown */
/* NULL if the dtype's patterns are integers. */
const code_format *dtype_format(uint32_t dtype);
/* Patterns: the sign alone; infinity, and the quiet NaN without a payload, or 0
   where the dtype has no infinity. */
uint64_t dtype_sign(uint32_t dtype);
uint64_t dtype_infinity(uint32_t dtype);
uint64_t dtype_nan(uint32_t dtype);
/* 1 if the pattern is a NaN of the dtype. */
int dtype_is_nan(uint32_t dtype, uint64_t code);
/* Exact value of a float or integer pattern, for people to read. */
double dtype_value(uint32_t dtype, uint64_t code);

#endif
