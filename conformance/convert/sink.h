/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where converted bytes go: a new file that appears whole or not at all, or a
 * file that exists and must hold them already.
 */
#ifndef MXO_CONVERT_SINK_H
#define MXO_CONVERT_SINK_H

#include "checkpoint.h"
#include "system/new_file.h"

#include <jansson.h>

/* Bytes of a tensor that is not as it should be, and the first of them. */
typedef struct sink_wrong {
    uint64_t n;
    uint64_t at;
    uint8_t want;
    uint8_t got;
} sink_wrong;

/* A tensor of the result; names are owned. */
typedef struct sink_tensor {
    char *name;
    const char *dtype;
    uint32_t rank;
    uint64_t shape[MXO_MAX_RANK];
    uint64_t n_bytes;
    uint64_t at;      /* in the data of the file */
    uint64_t done;    /* bytes */
    sink_wrong wrong; /* while checking */
} sink_tensor;

typedef struct sink {
    size_t n;
    sink_tensor *tensor;        /* owned */
    new_file out;               /* unless it is checked */
    uint64_t data;              /* where the tensors begin */
    const checkpoint *expected; /* checking: what must hold the bytes */
    uint64_t n_bytes;           /* of all tensors */
    uint64_t done;
    /* While checking: */
    uint64_t n_wrong; /* bytes */
    uint64_t n_red;   /* tensors that have such */
    size_t first_red; /* whose first wrong byte was found first */
    void (*on_compared)(void *state); /* a tensor is; NULL: nobody asks */
    void *state;                      /* borrowed */
} sink;

/* Append a tensor; its index, or SIZE_MAX without memory. */
size_t sink_add(sink *s, const char *name, const char *dtype, uint32_t rank,
                const uint64_t *shape, uint64_t n_bytes);
/* All tensors are known: does the disk have room for them?  0, or -1 and a
   sentence. */
int sink_has_room(const sink *s, const char *path, mxo_text why);
/* All tensors are known: write the header to a temporary file beside path. */
int sink_create(sink *s, const char *path, const json_t *metadata,
                mxo_text why);
/* Or compare with a checkpoint: names, types and shapes first. */
int sink_expect(sink *s, const checkpoint *c, mxo_text why);
/* Bytes at offset in tensor i; where valid is 0 they mean nothing. */
int sink_put(sink *s, size_t i, uint64_t offset, const uint8_t *bytes,
             uint64_t n_bytes, const uint8_t *valid, mxo_text why);
/* Was every byte of tensor i compared? */
int sink_is_compared(const sink *s, size_t i);
/* Everything is there: the file takes its place. */
int sink_finish(sink *s, mxo_text why);
/* Forget everything; what is not finished is removed. */
void sink_close(sink *s);

#endif
