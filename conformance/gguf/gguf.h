/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expert tensors of a checkpoint as a GGUF file of llama.cpp, and back:
 * version 3, tensor type 39 (MXFP4) or 40 (NVFP4), biases and factors as F32.
 */
#ifndef MXO_GGUF_H
#define MXO_GGUF_H

#include "convert/layers.h"

enum { MEGA = 1000000 }; /* bytes of a step of progress */

enum {
    GGUF_VERSION = 3,
    GGUF_F32 = 0,
    GGUF_MXFP4 = 39,
    GGUF_NVFP4 = 40,
    GGUF_ALIGN = 32,
    GGUF_UINT16 = 2,
    GGUF_UINT32 = 4,
    GGUF_STRING = 8,
    GGUF_ARRAY = 9,
    GGUF_BLOCKS = 4096,       /* of a model, at most */
    GGUF_STOP_EVERY = 1 << 20 /* bytes or blocks that are only looked at */
};

#define GGUF_LAYERS "mxoracle.layers"

/* 0; -1 and a sentence: what is there cannot be taken; 1 and a sentence: it was
   not written.  path appears whole or not at all.  It may not be one of the
   files of the checkpoint.  asked: the order of gate and up rows where no name
   tells it.  stop_requested() ends it; is_shown: with a status line. */
int gguf_from_checkpoint(const char *from, const char *path, row_order asked,
                         int is_shown, mxo_text why);
/* The same for the way back: a safetensors file of the experts alone. */
int gguf_read(const char *from, const char *path, int is_shown, mxo_text why);
/* The number of a layer's block: that in its prefix, else its place. */
uint64_t gguf_block_number(const moe_layer *l, uint64_t place);
/* Can GGUF hold them? 0, or -1 and a sentence. */
int gguf_check_layers(const layer_list *layers, mxo_text why);
/* Stop here? Then with a sentence. */
int gguf_stopped(mxo_text why);

#endif
