/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small layer for unit suites: one token, two experts, everything zero and
 * every scale 1.0 until a test sets what it needs.
 */
#ifndef MXO_UNIT_LAYER_FIXTURE_H
#define MXO_UNIT_LAYER_FIXTURE_H

#include "unit/emu_call.h"

enum { E = 2, H = 32, I = 32, ONE = 0x7f };

typedef struct layer {
    uint16_t x[H];
    uint8_t w13[E][2 * I][H / 2];
    uint8_t s13[E][2 * I][H / 32];
    uint16_t b13[E][2 * I];
    uint8_t w2[E][H][I / 2];
    uint8_t s2[E][H][I / 32];
    uint16_t b2[E][H];
    int32_t ids[8];
    int32_t map[8];
    uint32_t weights[8];
    uint16_t act[8][I];
    uint32_t given[2]; /* w13_input_scale, w2_input_scale */
    uint32_t half;     /* type of x, act and biases */
    int topk;
    int n_map;
} layer;

void layer_clear(layer *l);
/* E2M1 code at column k of a packed row. */
void layer_put(uint8_t *row, int k, unsigned code);

/* Start a call and give it its inputs. */
void layer_begin(emu_call *c, const layer *l, const char *params);
void layer_begin_first(emu_call *c, const layer *l, const char *params);
void layer_begin_second(emu_call *c, const layer *l, const char *params);
/* Run; element 0 of the output, as a pattern of its type. */
uint32_t layer_first(emu_call *c);

/* moe.layer, moe.gemm1 or moe.gemm2 with these parameters must give want in
   element 0. */
void expect_layer(const layer *l, const char *params, uint32_t want);
void expect_first(const layer *l, const char *params, uint32_t want);
void expect_second(const layer *l, const char *params, uint32_t want);

#endif
