/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting of pairs (token, slot) by local expert.  A pair's number is
 * token * top_k + slot; experts are gone through one by one and pairs in
 * order, so the order inside an expert is that of the pairs.
 */
#ifndef MXO_EMU_MOE_SORT_H
#define MXO_EMU_MOE_SORT_H

#include "../call.h"

typedef enum sort_local {
    SORT_ALL,   /* the id itself */
    SORT_RANGE, /* id - offset, if that is one of n_local */
    SORT_MAP,   /* expert_map[id], negative: not here */
    SORT_MASK   /* expert_map[id] is 0: not here; else they are numbered */
} sort_local;

typedef struct sort_plan {
    const mxo_tensor *ids; /* i32[tokens, top_k] */
    const mxo_tensor *map; /* i32[num_experts], or NULL */
    sort_local local;
    uint64_t tokens;
    uint64_t top_k;
    uint64_t pairs;       /* tokens * top_k */
    uint64_t used;        /* pairs that take part */
    uint64_t num_experts; /* routed ones and shared ones */
    uint64_t n_local;     /* the same, of this rank */
    uint64_t n_shared;
    uint64_t offset;
    uint64_t block;
} sort_plan;

/* Local expert of a pair, negative if it has none here. */
int64_t mxo_sort_local(const sort_plan *p, uint64_t pair);
/* The first pair of local expert e from this one on; p->used if none. */
uint64_t mxo_sort_next(const sort_plan *p, uint64_t e, uint64_t from);
/* Blocks that so many rows fill. */
uint64_t mxo_sort_blocks(const sort_plan *p, uint64_t rows);

/* One per layout: outputs by name, then their contents. */
typedef struct sort_layout {
    const char *name;
    mxo_status (*infer)(const sort_plan *p, mxo_tensor *out, uint32_t *n_out,
                        mxo_text why);
    void (*run)(const sort_plan *p, const mxo_call *call);
} sort_layout;

extern const sort_layout mxo_sort_aiter;
extern const sort_layout mxo_sort_deepgemm;
extern const sort_layout mxo_sort_triton;
extern const sort_layout mxo_sort_trtllm;
extern const sort_layout mxo_sort_vllm;

/* Every element of an i32 or f32 output. */
void mxo_sort_fill(const mxo_tensor *t, uint32_t code);

#endif
