/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's part of a layer, as vLLM cuts it: experts in runs, the
 * intermediate size, which must be a multiple of the ranks, in whole blocks of
 * 32, rounded up per rank; the second bias belongs to rank 0 alone.
 */
#include "base/number.h"
#include "base/say.h"
#include "layers.h"

#include <string.h>

enum { BLOCK = 32 };

int layer_part_of(const moe_layer *l, const shard *s, layer_part *p,
                  mxo_text why)
{
    const uint64_t blocks = (l->inter / BLOCK + s->tp - 1) / s->tp;
    const uint64_t each = l->experts / s->ep;
    const uint64_t more = l->experts % s->ep;
    const uint64_t rest = s->ep_rank < more ? s->ep_rank : more;
    const uint64_t end = (s->tp_rank + 1) * blocks * BLOCK;

    p->first_expert = s->ep_rank * each + rest;
    p->experts = each + (s->ep_rank < more);
    p->first_inter = s->tp_rank * blocks * BLOCK;
    p->hidden = l->hidden;
    p->group = l->group;
    p->up_first = s->up_first;
    p->padded_hidden = round_up(l->hidden, s->round_hidden);
    p->padded_inter = round_up(blocks * BLOCK, s->round_inter);
    if (l->inter % s->tp != 0) {
        (void)say(MXO_E_SHAPE, why,
                  "layer %.200s: intermediate size %llu is no multiple of "
                  "tp = %llu",
                  l->prefix, (unsigned long long)l->inter,
                  (unsigned long long)s->tp);
        return -1;
    }
    if (p->experts == 0) {
        (void)say(MXO_E_SHAPE, why,
                  "layer %.200s: %llu experts leave none for this rank",
                  l->prefix, (unsigned long long)l->experts);
        return -1;
    }
    /* The last ranks may find nothing left: they hold zeros. */
    p->first_inter = p->first_inter < l->inter ? p->first_inter : l->inter;
    p->inter = (end < l->inter ? end : l->inter) - p->first_inter;
    return 0;
}

uint64_t part_rows(const layer_part *p, int i)
{
    return i < W2 ? 2 * p->padded_inter : p->padded_hidden;
}

uint64_t part_row_bytes(const layer_part *p, int i)
{
    const uint64_t cols = i < W2 ? p->padded_hidden : p->padded_inter;

    return i % W2 == 0 ? cols / 2 : i % W2 == 1 ? cols / p->group : 2;
}

/* Bytes of one row of tensor i in the whole layer. */
static uint64_t whole_row(const moe_layer *l, int i)
{
    const uint64_t cols = i < W2 ? l->hidden : l->inter;

    return i % W2 == 0   ? cols / 2
           : i % W2 == 1 ? cols / l->group
                         : bias_bytes(l->bias_dtype);
}

/* Gates and ups of a w13 whose rows lie on the last axis, or of its bias. */
static int transposed_runs(const moe_layer *l, const layer_part *p, int i,
                           uint64_t e, row_run run[2])
{
    const uint64_t rows = 2 * l->inter;
    const uint64_t bytes = whole_row(l, i);
    const uint64_t row = i == W13_BIAS ? bytes : 1; /* to the next one */
    const uint64_t apart = l->order == ROWS_IN_TURN ? 2 : 1;

    for (int half = 0; half < 2; half++) {
        const uint64_t first =
            (apart == 2 ? (uint64_t)half : (uint64_t)half * l->inter) +
            apart * p->first_inter;
        run[half] =
            (row_run){l->fused[i]->bytes + e * rows * bytes + first * row,
                      apart * row,
                      i == W13_BIAS ? 1 : rows,
                      p->inter,
                      bytes,
                      (uint64_t)(half ^ p->up_first) * p->padded_inter};
    }
    return 2;
}

static int w13_runs(const moe_layer *l, const layer_part *p, int i, uint64_t e,
                    row_run run[2])
{
    const uint64_t pitch = whole_row(l, i);
    const row_run whole = {NULL, pitch, 1, p->inter, pitch, 0};

    if (l->style->is_transposed) {
        return transposed_runs(l, p, i, e, run);
    }
    if (l->style->is_interleaved) {
        run[0] = whole;
        run[0].rows = 2 * p->inter;
        run[0].from = l->fused[i]->bytes +
                      (e * 2 * l->inter + 2 * p->first_inter) * pitch;
        return 1;
    }
    for (int half = 0; half < 2; half++) {
        const uint8_t *from =
            l->style->is_split
                ? l->split[e * 9 + (uint64_t)half * 3 + (uint64_t)i]->bytes
                : l->fused[i]->bytes +
                      (e * 2 + (uint64_t)half) * l->inter * pitch;
        run[half] = whole;
        run[half].from = from + p->first_inter * pitch;
        run[half].to_row = (uint64_t)(half ^ p->up_first) * p->padded_inter;
    }
    return 2;
}

int part_runs(const moe_layer *l, const layer_part *p, const shard *s, int i,
              uint64_t e, row_run run[2])
{
    const uint64_t expert = p->first_expert + e;
    const uint64_t pitch = whole_row(l, i);
    const uint64_t per_byte = i == W2 ? 2 : l->group;

    if (i < W2) {
        return w13_runs(l, p, i, expert, run);
    }
    if (i == W2_BIAS && s->tp_rank != 0) {
        return 0;
    }
    const uint8_t *from =
        l->style->is_split
            ? l->split[expert * 9 + 6 + (uint64_t)(i - W2)]->bytes
            : l->fused[i]->bytes + expert * l->hidden * pitch;

    run[0] = (row_run){from, pitch, 1, l->hidden, pitch, 0};
    if (i != W2_BIAS && l->style->is_transposed) {
        run[0].pitch = 1;
        run[0].step = l->hidden;
    }
    if (i != W2_BIAS) {
        run[0].from += p->first_inter / per_byte * run[0].step;
        run[0].bytes = p->inter / per_byte;
    }
    return 1;
}

/* Rows whose bytes lie apart, in tiles that a cache holds. */
static void gather_run(uint8_t *to, uint64_t pitch, const row_run *run)
{
    enum { TILE = 64 };

    for (uint64_t k = 0; k < run->bytes; k += TILE) {
        for (uint64_t r = 0; r < run->rows; r += TILE) {
            for (uint64_t c = k; c < k + TILE && c < run->bytes; c++) {
                for (uint64_t row = r; row < r + TILE && row < run->rows;
                     row++) {
                    to[row * pitch + c] =
                        run->from[row * run->pitch + c * run->step];
                }
            }
        }
    }
    checkpoint_forget(run->from, run->bytes * run->step);
}

void run_copy(uint8_t *to, uint64_t pitch, const row_run *run)
{
    if (run->step != 1) {
        gather_run(to, pitch, run);
        return;
    }
    if (run->pitch == pitch && run->bytes == pitch) {
        memcpy(to, run->from, (size_t)(run->rows * pitch));
    } else {
        for (uint64_t row = 0; row < run->rows; row++) {
            memcpy(to + row * pitch, run->from + row * run->pitch,
                   (size_t)run->bytes);
        }
    }
    checkpoint_forget(run->from, run->rows * run->pitch);
}
