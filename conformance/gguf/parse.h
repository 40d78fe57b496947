/* SPDX-License-Identifier: Apache-2.0 */
/* A GGUF file as it is read: the header, and where experts' tensors lie. */
#ifndef MXO_GGUF_PARSE_H
#define MXO_GGUF_PARSE_H

#include "gguf.h"

#include "system/mapped.h"

enum { GATE, UP, DOWN, PROJECTIONS, NAME_ROOM = 512 };
/* What a projection has; numbers of each expert are factors. */
enum { WEIGHT, BIAS, SCALE, INPUT_SCALE, PARTS };

typedef struct gguf_tensor {
    uint64_t dim[4];
    uint32_t rank;
    uint32_t type;
    uint64_t offset;
    int present;
} gguf_tensor;

typedef struct gguf_block {
    gguf_tensor part[PARTS][PROJECTIONS];
    uint64_t experts;
    uint64_t hidden;
    uint64_t inter;
    uint64_t group; /* elements of a scale: 32, of NVFP4 16 */
    int biased;
    int is_fused; /* gate and up are one tensor */
    char prefix[NAME_ROOM];
    const name_style *style;
    const char *weight_dtype;
    const char *scale_dtype;
    const char *bias_dtype;
    row_order order;             /* of w13, where the style leaves it open */
    const global_style *globals; /* of NVFP4 */
    uint32_t global_rank;        /* as moe_layer has it */
    char *numbers; /* owned: the global scales that our own file tells, or
                      NULL */
} gguf_block;

/* Bytes of a tensor, experts' or not, in the data. */
typedef struct gguf_extent {
    uint64_t begin;
    uint64_t end;
    const char *name; /* borrowed from map */
    uint64_t n_name;
} gguf_extent;

typedef struct gguf {
    const char *path;
    mapped_file *file;  /* owned, or NULL */
    const uint8_t *map; /* its bytes */
    uint64_t n_bytes;
    uint64_t n_header; /* bytes that may be of the header */
    uint64_t at;
    int bad;
    unsigned seen; /* keys that are read: each is there once */
    uint64_t align;
    uint64_t data;
    const char *layers; /* text of GGUF_LAYERS, or NULL; borrowed from map */
    uint64_t n_layers;
    uint64_t
        n_parts; /* files that the model was cut into; 0: it does not say */
    gguf_extent *extent; /* owned: of every tensor */
    size_t n_extents;
    const char *stranger; /* a tensor of experts that is not read, or NULL;
                             borrowed from map */
    uint64_t n_stranger;
    gguf_block *block; /* owned; [GGUF_BLOCKS] */
    mxo_text why;
} gguf;

/* "gate", "up", "down"; "weight", "bias", "scale", "input_scale" */
extern const char *const gguf_names[PROJECTIONS];
extern const char *const gguf_parts[PARTS];

/* -1 and a sentence that begins with the path. */
int gguf_refuse(const gguf *g, const char *sentence);
/* Map the file and read its header; g->path, align, why are set. */
int gguf_open(gguf *g);
void gguf_close(gguf *g);
/* -1 and a sentence that begins with a tensor's name. */
int gguf_complain(const gguf *g, uint64_t block, int p, int part,
                  const char *sentence);
/* The same where a block's tensors are no layer; g->block[n].group is set, and
   its sizes then are. */
int gguf_check_block(const gguf *g, uint64_t n);
/* Has the block a part, by what our own file or its type says? */
int gguf_has_part(const gguf_block *b, int part);
/* Bits of a factor of expert e: of a projection's weights, or of its input. */
uint32_t gguf_factor(const gguf *g, const gguf_block *b, uint64_t e, int p,
                     int kind);
/* The same as the checkpoint had it. */
uint32_t gguf_global(const gguf *g, const gguf_block *b, uint64_t e, int p,
                     int kind);

#endif
