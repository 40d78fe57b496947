/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts one after the other, each with its change of values. */
#ifndef CPU_LAYOUT_CHAIN_H
#define CPU_LAYOUT_CHAIN_H

#include "layout_plan.h"
#include "layout_values.h"

enum { CPU_STAGES = 4, CPU_CHAIN_TEXT = 256 };

typedef struct cpu_stage {
    const cpu_row *row;
    const cpu_values *values; /* before the move; NULL: kept */
    uint32_t logical;         /* types on both sides of the values */
    uint32_t physical;
    cpu_map map;
} cpu_stage;

typedef struct cpu_chain {
    int n;
    cpu_stage stage[CPU_STAGES];
} cpu_chain;

/* "a + b" on a tensor of this type and shape. */
mxo_status cpu_chain_of(cpu_chain *c, const char *text, uint32_t dtype,
                        const uint64_t extent[3], mxo_text why);
/* One layout whose memory has this type, seen as the padded tensor; live is
   what is wanted of it. */
mxo_status cpu_chain_back(cpu_chain *c, const char *text, uint32_t dtype,
                          const uint64_t padded[3], const uint64_t live[3],
                          mxo_text why);
/* dst and src are memory and the tensor, or the other way round. */
mxo_status cpu_chain_run(cpu_context *ctx, const cpu_chain *chain, int forward,
                         uint8_t *dst, const uint8_t *src, mxo_text why);
/* Has every element of the tensor an image?  Nothing is written. */
mxo_status cpu_chain_check(cpu_context *ctx, const cpu_chain *c,
                           const uint8_t *src, mxo_text why);
/* The same expert by expert, if that is possible and keeps threads busy. */
int cpu_chain_slices(const cpu_context *ctx, const cpu_chain *c, int forward);
mxo_status cpu_chain_run_slices(cpu_context *ctx, const cpu_chain *c,
                                int forward, uint8_t *dst, const uint8_t *src,
                                mxo_text why);
/* Stages whose maps are one, made one. */
void cpu_chain_fuse(cpu_chain *c);
/* 1 for each element of memory that is defined. */
mxo_status cpu_chain_valid(cpu_context *ctx, const cpu_chain *c, uint8_t *valid,
                           mxo_text why);
/* n bytes of 1. */
void cpu_fill_ones(cpu_context *ctx, uint8_t *dst, uint64_t n);
/* One map for both; -1 if the digits do not fall into each other. */
int cpu_compose(cpu_map *out, const cpu_map *first, const cpu_map *second);

/* The chain of tensor number tensor of the conversion that name names; a
   sentence if there is none. */
mxo_status cpu_conversion_chain(const char *name, int tensor, char *text,
                                mxo_text why);
/* Does the loader of that name take a layer with a w13 of this shape? */
mxo_status cpu_conversion_takes(const char *name, const uint64_t w13[3],
                                int has_bias, mxo_text why);
/* Does it leave anything of tensor number tensor? */
int cpu_conversion_leaves(const char *name, int tensor);
/* "CONVERSION.TENSOR/...": tensor's number, -1 if name is no such thing. */
int cpu_conversion_tensor(const char *name);

#endif
