/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside moe.sort: a call as numbers, its pairs in order, and what a layout
 * adds to that.
 */
#ifndef CPU_MOE_SORT_H
#define CPU_MOE_SORT_H

#include "cpu.h"

typedef enum sort_kind { SORT_ALL, SORT_RANGE, SORT_MAP, SORT_MASK } sort_kind;

typedef struct sort_job {
    const mxo_call *call;
    sort_kind kind; /* choice of the local experts */
    const int32_t *ids;
    const int32_t *map;      /* NULL: none */
    const uint32_t *weights; /* bit patterns; NULL: none */
    uint64_t tokens;
    uint64_t slots;
    uint64_t pairs;
    uint64_t used;    /* pairs that take part */
    uint64_t experts; /* with the shared ones */
    uint64_t locals;
    uint64_t shared;
    int64_t offset;
    uint64_t block;
    int32_t *local;  /* number here of every expert, -1: elsewhere; owned */
    uint64_t *start; /* of each expert's pairs; owned */
    int32_t *pair;   /* in the order of experts; owned */
} sort_job;

typedef struct sort_layout {
    const char *name;
    int keeps_all; /* sorted by id, local or not */
    mxo_status (*check)(const sort_job *j, mxo_text why); /* its outputs too */
    void (*run)(const sort_job *j);
} sort_layout;

/* NULL for another name. */
const sort_layout *cpu_sort_layout(const char *name);
int32_t *cpu_sort_out(const sort_job *j, const char *name);
void cpu_sort_fill(int32_t *to, uint64_t n, int32_t value);
/* Blocks that so many rows fill. */
uint64_t cpu_sort_blocks(const sort_job *j, uint64_t rows);

#endif
