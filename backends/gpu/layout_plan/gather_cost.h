/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of a vector's gathers: cycles of shared memory and instructions. */
#ifndef GPU_GATHER_COST_H
#define GPU_GATHER_COST_H

#include "layout/layout.h"
#include "layout/layout_gather.h"
#include "layout_plan/plan_gather.h"
#include "port/runtime.h"

/* Cycles that a warp of 32 needs for words at these bytes: same bank, other
   word, one cycle more. */
static uint32_t bank_cycles(const uint32_t byte[32])
{
    uint32_t words[32] = {0};
    uint8_t last[32] = {0}; /* lane of a bank's newest word */
    uint8_t before[32];     /* of the word there before a lane's */
    uint32_t most = 1;

    for (uint8_t i = 0; i < 32; i++) {
        const uint32_t word = byte[i] / 4;
        const uint32_t bank = word % 32;
        uint32_t left = words[bank];

        for (uint8_t k = last[bank]; left > 0 && byte[k] / 4 != word; left--) {
            k = before[k];
        }
        if (left == 0) {
            before[i] = last[bank];
            last[bank] = i;
            words[bank]++;
            most = words[bank] > most ? words[bank] : most;
        }
    }
    return most;
}

static uint32_t inner_bits(const tile_args *a, uint32_t i)
{
    uint32_t bits = a->from.bits;

    for (uint32_t k = 0; k < a->n_vector_digits; k++) {
        bits += i % a->vector[k].n.by * a->vector[k].bits;
        i /= a->vector[k].n.by;
    }
    return bits;
}

/* Cost of gathering the first warp's vectors. */
static uint32_t gather_cost(const tile_args *a, const gather_plan *g)
{
    const int column =
        g->kind == GATHER_COLUMN_BITS4 || g->kind == GATHER_COLUMN_PAIR5;
    const uint32_t step = g->kind == GATHER_4 ? 32 : 8;
    uint32_t vector[32];
    uint32_t byte[32];
    uint32_t cycles = 0;

    if (g->kind == GATHER_16) {
        return 16;
    }
    for (uint32_t k = 0; k < 32; k++) {
        vector[k] = inner_bits(a, k);
    }
    for (uint32_t i = 0; i < 4 && column; i++) {
        for (uint32_t k = 0; k < 32; k++) {
            byte[k] = vector[k] / 8 + a->piece[i];
        }
        cycles += bank_cycles(byte);
    }
    if (column) {
        return cycles;
    }
    for (uint32_t bit = 0; bit < 128; bit += step) {
        for (uint32_t k = 0; k < 32; k++) {
            byte[k] = (vector[k] + (uint32_t)g->low[bit]) / 8;
        }
        cycles += bank_cycles(byte);
    }
    return cycles;
}

/* Cost of storing the first warp's loads, for as many bytes. */
static uint32_t keep_cost(const tile_args *a)
{
    const uint32_t per_run = a->units.by;
    const uint32_t words = a->unit < 4 ? 1 : a->unit / 4;
    uint32_t byte[32];
    uint32_t cycles = 0;

    if (a->unit == 16 && a->pitch % 16 == 0) {
        return 4;
    }
    for (uint32_t word = 0; word < words; word++) {
        for (uint32_t k = 0; k < 32; k++) {
            byte[k] = k / per_run * a->pitch + k % per_run * a->unit + 4 * word;
        }
        cycles += bank_cycles(byte);
    }
    return cycles * 16 / a->unit;
}

#endif
