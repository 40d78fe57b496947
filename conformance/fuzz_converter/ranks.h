/* SPDX-License-Identifier: Apache-2.0 */
/* Right conversions of the ranks beside the one that a converter was asked for:
   which of them does its tensor hold? */
#ifndef MXO_FUZZ_CONVERTER_RANKS_H
#define MXO_FUZZ_CONVERTER_RANKS_H

#include "convert/checkpoint.h"

enum { RANKS_MOST = 16 };

typedef struct rank_file {
    int is_experts; /* another expert-parallel rank, else tensor-parallel */
    uint64_t rank;
    uint64_t asked;
    checkpoint file;
} rank_file;

typedef struct rank_files {
    int n;
    rank_file rank[RANKS_MOST];
} rank_files;

/* Tensor i of a layer, whose bytes are no right ones: "it holds the rows of
   tensor-parallel rank 1, not of rank 0"; 0: it is no other rank's. */
int ranks_name(const rank_files *r, const checkpoint_tensor *actual, int i,
               char *text, size_t size);
void ranks_clear(rank_files *r);

#endif
