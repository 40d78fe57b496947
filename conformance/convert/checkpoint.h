/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint as it lies on disk: one safetensors file, or a folder or index
 * file that names several.  Files are mapped, never read whole; no size in a
 * header is believed before it was checked against the file's true size.
 */
#ifndef MXO_CONVERT_CHECKPOINT_H
#define MXO_CONVERT_CHECKPOINT_H

#include "files/safetensors_header.h"
#include "system/mapped.h"

#include <mxoracle/abi.h>

typedef file_tensor checkpoint_tensor;

typedef struct checkpoint_file {
    mapped_file *mapped; /* owned */
    const uint8_t *map;  /* its bytes */
    uint64_t n_bytes;
    safetensors_header header; /* its names and metadata */
} checkpoint_file;

typedef struct checkpoint {
    size_t n_files;
    checkpoint_file *file; /* owned */
    size_t n;
    checkpoint_tensor *tensor; /* owned; sorted by name */
} checkpoint;

/* 0, or -1 and a sentence that names the file; *c is empty then. */
int checkpoint_open(const char *path, checkpoint *c, mxo_text why);
void checkpoint_close(checkpoint *c);
/* Is path one of its files? */
int checkpoint_holds(const checkpoint *c, const char *path);
/* -1 and a sentence if a file was written to since it was opened: what was
   read of it may be of two versions. */
int checkpoint_is_unchanged(const checkpoint *c, mxo_text why);

/* NULL if there is none. */
const checkpoint_tensor *checkpoint_find(const checkpoint *c, const char *name);
/* Metadata keys of a converted file: no two files of a checkpoint that have one
   say different things. */
#define META_LAYOUT "mxoracle.layout"
#define META_LAYERS "mxoracle.layers"
/* Metadata of the first file that has the key; NULL. */
const char *checkpoint_meta(const checkpoint *c, const char *key);
/* These bytes will not be needed again. */
void checkpoint_forget(const uint8_t *bytes, uint64_t n_bytes);

#endif
