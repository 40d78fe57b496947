/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for readers that take a path: in a folder of this process, removed
 * when it ends.
 */
#ifndef MXO_FUZZ_SCRATCH_H
#define MXO_FUZZ_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Of the folder itself for "". Borrowed, until the next call with that name;
   aborts where nothing can be written. At most eight names. */
const char *scratch_path(const char *name);
/* A file of these bytes. */
const char *scratch_file(const char *name, const void *bytes, size_t n);
/* A safetensors file of this header, right or not, with n_data bytes behind it
   that are coded by position. */
const char *scratch_tensors(const char *name, const char *header, size_t n,
                            size_t n_data);

#endif
