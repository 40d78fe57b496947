/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mask of the defined elements of memory.  A map of bytes runs once more, over
 * a source of ones; other chains carry a tensor of ones along.
 */
#include "layout_chain.h"

#include <stdlib.h>
#include <string.h>

enum { ONES = 4096 };

static mxo_status move(cpu_context *ctx, const cpu_map *map, uint8_t *dst,
                       const uint8_t *src, mxo_text why)
{
    cpu_plan *plan = NULL;
    mxo_status status =
        cpu_plan_of(&plan, map, ctx->lane->transpose != NULL, why);

    if (status == MXO_OK) {
        status = cpu_move(ctx, plan, 1, dst, src, why);
    }
    cpu_plan_free(plan);
    return status;
}

typedef struct filling {
    const cpu_isa_ops *lane;
    int stream;
    uint8_t *dst;
} filling;

static void fill_span(void *job, uint64_t begin, uint64_t end)
{
    const filling *f = job;
    _Alignas(64) uint8_t ones[ONES];

    memset(ones, 1, sizeof ones);
    for (uint64_t n = 0; begin < end; begin += n) {
        n = end - begin < ONES ? end - begin : ONES;
        if (f->stream && n == ONES) {
            f->lane->stream(f->dst + begin, ones, ONES);
        } else {
            memcpy(f->dst + begin, ones, (size_t)n);
        }
    }
    if (f->stream) {
        f->lane->fence();
    }
}

void cpu_fill_ones(cpu_context *ctx, uint8_t *dst, uint64_t n)
{
    const cpu_isa_ops *lane = ctx->lane;
    filling f = {lane,
                 lane->stream != NULL && n >= CPU_STREAM_BYTES &&
                     (uintptr_t)dst % CPU_VECTOR == 0,
                 dst};

    cpu_split(ctx, n, ONES, fill_span, &f);
}

/* Every byte of an element as its first. */
static uint8_t *widen_mask(uint8_t *mask, uint64_t n, uint64_t from,
                           uint64_t to)
{
    uint8_t *wide = from == to ? mask : malloc((size_t)(n * to) + 1);

    for (uint64_t i = 0; wide != NULL && from != to && i < n; i++) {
        memset(wide + i * to, mask[i * from], (size_t)to);
    }
    if (wide != mask) {
        free(mask);
    }
    return wide;
}

/* The chain on a tensor of ones, pads of unknown contents as zeros. */
static mxo_status mask_of(cpu_context *ctx, const cpu_chain *c, uint8_t **mask,
                          mxo_text why)
{
    cpu_context unnamed = *ctx;
    uint64_t width = c->stage[0].map.elem_bits / 8;
    mxo_status status = MXO_OK;

    *mask = malloc((size_t)(c->stage[0].map.logical_bits / 8) + 1);
    if (*mask != NULL) {
        memset(*mask, 0xff, (size_t)(c->stage[0].map.logical_bits / 8));
    }
    for (int i = 0; i < c->n && *mask != NULL && status == MXO_OK; i++) {
        cpu_map known = c->stage[i].map;
        uint8_t *image = malloc((size_t)(known.physical_bits / 8) + 1);
        for (int w = 0; w < known.n_walls; w++) {
            known.wall[w].byte = known.wall[w].unknown ? 0 : 0xff;
        }
        *mask = widen_mask(*mask, cpu_map_elements(&known), width,
                           known.elem_bits / 8);
        width = known.elem_bits / 8;
        if (image != NULL && *mask != NULL) {
            status = move(&unnamed, &known, image, *mask, why);
        }
        free(*mask);
        *mask = image;
    }
    return status == MXO_OK && *mask == NULL
               ? cpu_fail(MXO_E_NOMEM, why, "no memory for valid")
               : status;
}

/* One map of bytes: its plan, reading ones.  0 if that is not what it is. */
static int mask_by_map(cpu_context *ctx, const cpu_chain *chain, uint8_t *valid,
                       mxo_status *status, mxo_text why)
{
    cpu_context unnamed = *ctx;
    cpu_chain c = *chain;
    cpu_plan *plan = NULL;
    uint64_t reach = 0;

    cpu_chain_fuse(&c);
    cpu_map *map = &c.stage[0].map;
    if (c.n != 1 || map->elem_bits != 8 || map->parts != 1) {
        return 0;
    }
    for (int w = 0; w < map->n_walls; w++) {
        map->wall[w].byte = map->wall[w].unknown ? 0 : 1;
    }
    *status = cpu_plan_of(&plan, map, ctx->lane->transpose != NULL, why);
    if (*status != MXO_OK || plan->kind == CPU_PLAN_UNITS) {
        cpu_plan_free(plan);
        return *status != MXO_OK;
    }
    cpu_plan_stand_still(plan, &reach);
    uint8_t *ones = malloc((size_t)reach + 1);
    if (ones == NULL) {
        *status = cpu_fail(MXO_E_NOMEM, why, "no memory for valid");
    } else {
        memset(ones, 1, (size_t)reach);
        *status = cpu_move(&unnamed, plan, 1, valid, ones, why);
    }
    free(ones);
    cpu_plan_free(plan);
    return 1;
}

mxo_status cpu_chain_valid(cpu_context *ctx, const cpu_chain *c, uint8_t *valid,
                           mxo_text why)
{
    const cpu_map *last = &c->stage[c->n - 1].map;
    const uint64_t n = last->physical_bits / last->elem_bits;
    uint8_t *mask = NULL;
    mxo_status status = MXO_OK;
    int unknown = 0;

    for (int i = 0; i < c->n; i++) {
        for (int w = 0; w < c->stage[i].map.n_walls; w++) {
            unknown |= c->stage[i].map.wall[w].unknown;
        }
    }
    if (!unknown) {
        cpu_fill_ones(ctx, valid, n);
        return status;
    }
    if (mask_by_map(ctx, c, valid, &status, why)) {
        return status;
    }
    status = mask_of(ctx, c, &mask, why);
    for (uint64_t i = 0; status == MXO_OK && i < n; i++) {
        valid[i] = mask[i * (last->elem_bits / 8)] == 0xff;
    }
    free(mask);
    return status;
}
