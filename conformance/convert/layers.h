/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of experts in a checkpoint, whatever its names are, and the
 * part of one that a rank holds: which bytes make up the six tensors of the
 * layer, expert by expert.
 */
#ifndef MXO_CONVERT_LAYERS_H
#define MXO_CONVERT_LAYERS_H

#include "checkpoint.h"

enum { W13, W13_SCALE, W13_BIAS, W2, W2_SCALE, W2_BIAS, LAYER_TENSORS };

/* Of w13: gates and ups. */
typedef enum row_order { ROWS_UNTOLD, ROWS_IN_TURN, ROWS_IN_HALVES } row_order;

typedef struct name_style {
    const char *id;
    int is_split;
    int is_interleaved; /* rows of w13: gate 0, up 0, gate 1, ... */
    int has_blocks;     /* weights have a last axis of 16 bytes */
    int is_transposed;  /* rows of weights and scales on the last axis */
    int is_stacked;     /* split, but all experts in one tensor */
    const char *fused[LAYER_TENSORS];
    const char *projection[3]; /* gate, up, down */
    const char *kind[3];       /* weight, scale, bias */
} name_style;

/* How the global scales of NVFP4 are called; see globals.def. */
typedef struct global_style {
    const char *scales;  /* as moe.nvfp4_scalars has it */
    const char *kind[2]; /* of the weights, of the input */
} global_style;

typedef struct moe_layer {
    char *prefix; /* owned */
    const name_style *style;
    const char *weight_dtype; /* U8 or I8: borrowed, of the first weight */
    const char *scale_dtype;  /* of the first scale; F8_E4M3: NVFP4 */
    const char *bias_dtype;   /* of the first bias; BF16 without one */
    uint64_t group;           /* elements of a scale: 32, of NVFP4 16 */
    row_order order;          /* of w13 in the checkpoint, by its names */
    uint64_t experts;
    uint64_t hidden;
    uint64_t inter;
    int biased;
    const checkpoint_tensor *fused[LAYER_TENSORS];
    const checkpoint_tensor **split; /* owned; [experts][3][3] */
    checkpoint_tensor *slice;        /* owned: of stacked tensors, the same */
    const checkpoint_tensor *stacked[9];
    const global_style *globals; /* of NVFP4; else NULL */
    /* Of one expert's: 0, or 1 of one number; of stacked experts' 1, or 0
       where they have none. */
    uint32_t global_rank;
    /* owned; [experts][3][2], or of all experts: w13, w13, w2, w2; of stacked
       ones gate, up and down */
    const checkpoint_tensor **global;
} moe_layer;

typedef struct layer_list {
    row_order asked; /* of layers whose names do not tell */
    size_t n;
    moe_layer *layer; /* owned */
    uint8_t *owned;   /* owned; 1 for each tensor of the checkpoint that a
                         layer has */
} layer_list;

/* A rank's part, and what sizes are rounded up to (1: nothing). */
typedef struct shard {
    uint64_t tp_rank;
    uint64_t tp;
    uint64_t ep_rank;
    uint64_t ep;
    uint64_t round_hidden;
    uint64_t round_inter;
    int up_first; /* w13 is to have ups, then gates */
} shard;

/* A layer's part on a rank. */
typedef struct layer_part {
    uint64_t first_expert;
    uint64_t experts;
    uint64_t first_inter; /* of the whole layer's */
    uint64_t inter;       /* live */
    uint64_t padded_inter;
    uint64_t hidden;
    uint64_t padded_hidden;
    uint64_t group; /* elements of a scale */
    int up_first;
} layer_part;

/* Rows of one expert's tensor: from the checkpoint to the logical tensor. */
typedef struct row_run {
    const uint8_t *from;
    uint64_t pitch; /* bytes between rows there */
    uint64_t step;  /* and between bytes of a row */
    uint64_t rows;
    uint64_t bytes; /* of a row that are taken */
    uint64_t to_row;
} row_run;

/* The constant spelling of a type of weights, scales, biases; NULL if it is
   none. */
const char *layer_weight_dtype(const char *text);
/* Do such types belong to the weights and scales of that style? */
int layer_has_types(const name_style *s, const char *weight_dtype,
                    const char *scale_dtype);
/* How many tensors of a checkpoint hold tensor i of the six. */
uint64_t layer_n_tensors(const name_style *s, int i, uint64_t experts);
const char *layer_scale_dtype(const char *text);
const char *layer_bias_dtype(const char *text);
/* Bytes of a number; and one number from type to type, 0 where it does not come
   back from there as it is. */
uint64_t bias_bytes(const char *dtype);
int bias_convert(const char *to_dtype, uint8_t *to, const char *from_dtype,
                 const uint8_t *from);
/* 0, or -1 and a sentence: a bias has a number that does not. */
int layer_check_biases(const moe_layer *l, const char *to, mxo_text why);
const name_style *layer_style(const char *id);
const name_style *layer_style_at(int i); /* NULL: there are no more */
/* The name of one of three kinds of a split projection of an expert. */
void layer_split_name(const name_style *s, const char *prefix, uint64_t e,
                      int projection, int kind, char *name, size_t room);
/* "U8[4,256,8]" of a type and shape; "U8 or F8_E8M0" of types. */
void layer_describe(char text[96], const char *dtype, uint32_t rank,
                    const uint64_t *shape);
/* Of the first scale, for a sentence. */
const char *layer_scale_name(const moe_layer *l);
uint64_t layer_group(const char *scale_dtype);
const global_style *layer_global_style(const char *scales);
/* Length of the layer's prefix where t is its first weight in FP4; else 0. */
size_t layer_begins(const checkpoint *c, const name_style *s,
                    const checkpoint_tensor *t);
/* How many tensors hold a layer's global scales, and the name of one. */
uint64_t layer_globals(const moe_layer *l);
void layer_global_name(const moe_layer *l, const global_style *s, uint64_t i,
                       char *name, size_t room);
/* Where the scale of the weights (kind 0) or of the input (1) of an expert's
   gate, up or down is, and its four bytes; NULL: MLX has none. */
const checkpoint_tensor *layer_global_tensor(const moe_layer *l, uint64_t e,
                                             int projection, int kind);
const uint8_t *layer_global_of(const moe_layer *l, uint64_t e, int projection,
                               int kind);
/* 0, or -1 and a sentence: one is missing, misshapen, or no positive number. */
int layer_find_globals(const checkpoint *c, moe_layer *l, mxo_text why);

/* 0, or -1 and a sentence: a layer is incomplete or its sizes disagree, or a
   tensor is left over that only such a layer has. asked: see layer_list. */
int layers_find(const checkpoint *c, row_order asked, layer_list *list,
                mxo_text why);
/* "in_turn", "halves"; ROWS_UNTOLD for NULL and other words. */
row_order row_order_of(const char *word);
/* How a layer's names have the rows of w13; asked: where they do not tell. */
row_order layer_row_order(const moe_layer *l, row_order asked);
/* Are the rows of every layer in a known order, and asked for only where names
   do not tell?  0, or -1 and a sentence. */
int layers_check_rows(const layer_list *list, mxo_text why);
/* 0, or -1 and a sentence: a tensor belongs to a layer of experts that ... */
int layers_check_left_over(const checkpoint *c, const layer_list *list,
                           const char *which, mxo_text why);
void layers_clear(layer_list *list);

int layer_part_of(const moe_layer *l, const shard *s, layer_part *p,
                  mxo_text why);
/* Rows and bytes of a row of tensor i, padded, for one expert. */
uint64_t part_rows(const layer_part *p, int i);
uint64_t part_row_bytes(const layer_part *p, int i);
/* The runs of tensor i of expert e (of the part); returns how many. */
int part_runs(const moe_layer *l, const layer_part *p, const shard *s, int i,
              uint64_t e, row_run run[2]);
/* The bytes of a run, in rows of pitch bytes. */
void run_copy(uint8_t *to, uint64_t pitch, const row_run *run);

#endif
