/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers whose weights lie as mxo_hopper or mxo_hopper_gate_up leaves them:
 * tiles of 16 rows, in a tile blocks of 32 codes, in a block the rows, in a
 * row 16 bits for four codes.  Read back by that description, one code at a
 * time, into a call on the checkpoint's tensors.
 */
#include "layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 16, BLOCK = 32, TENSORS = 6, FIRST = 3 };
enum { CODES, SCALES, BIAS };

/* A matrix of one expert as the checkpoint has it, and whose it is. */
typedef struct source {
    const broken *b;
    const mxo_tensor *t;
    uint64_t n, k;
    int kind;
    int is_mixed; /* rows g0,u0,g1,u1,.. of [gate; up] */
} source;

/* Where a row of the checkpoint lies among the rows of the tiles. */
static uint64_t mixed(const source *s, uint64_t row)
{
    const broken *b = s->b;
    const uint64_t half = s->n / 2;

    if (!s->is_mixed || IS(LD04)) {
        return row;
    }
    return row < half ? 2 * row : 2 * (row - half) + 1;
}

/* The row of a tile, and its tile. */
static uint64_t lane_of(const source *s, uint64_t row, uint64_t *tile)
{
    const broken *b = s->b;
    const uint64_t whole = s->n / TILE;
    uint64_t lane = row % TILE;

    *tile = row / TILE;
    if (IS(LD05) && lane >= TILE - 2) {
        lane ^= 1;
    }
    return IS(LD06) && *tile == whole ? (lane + TILE - s->n % TILE) % TILE
                                      : lane;
}

static unsigned code_at(const source *s, uint64_t e, uint64_t row, uint64_t k)
{
    static const unsigned magnitude[] = {6, 3, 0, 9};
    static const unsigned sign[] = {15, 12, 14, 13};
    const broken *b = s->b;
    const uint64_t tiles = (s->n + TILE - 1) / TILE;
    uint64_t tile;
    const uint64_t lane = lane_of(s, mixed(s, row), &tile);
    const uint64_t line =
        ((e * tiles + tile) * (s->k / BLOCK) + k / BLOCK) * TILE + lane;
    const uint8_t *at = broken_bytes(s->t) + 16 * line + k % BLOCK / 4 * 2;
    const unsigned word = at[0] | (unsigned)at[1] << 8;

    if (IS(LD02)) {
        const uint64_t i = (e * s->n + row) * s->k + k;
        return broken_bytes(s->t)[i / 2] >> 4 * (i % 2) & 0xf;
    }
    return (word >> magnitude[k % 4] & 7) | (word >> sign[k % 4] & 1) << 3;
}

static uint8_t scale_at(const source *s, uint64_t e, uint64_t row, uint64_t at)
{
    const broken *b = s->b;
    const uint64_t tiles = (s->n + TILE - 1) / TILE;
    const uint64_t blocks = s->k / BLOCK;
    uint64_t tile;
    const uint64_t lane = lane_of(s, mixed(s, row), &tile);

    return broken_bytes(s->t)[IS(LD01)
                                  ? (e * s->n + row) * blocks + at
                                  : ((e * tiles + tile) * blocks + at) * TILE +
                                        lane];
}

static void read_codes(const source *s, uint64_t experts, uint8_t *to)
{
    for (uint64_t i = 0; i < experts * s->n * s->k; i += 2) {
        const uint64_t row = i / s->k;
        const unsigned low = code_at(s, row / s->n, row % s->n, i % s->k);
        const unsigned high = code_at(s, row / s->n, row % s->n, i % s->k + 1);
        to[i / 2] = (uint8_t)(low | high << 4);
    }
}

static void read_scales(const source *s, uint64_t experts, uint8_t *to)
{
    const uint64_t blocks = s->k / BLOCK;

    for (uint64_t i = 0; i < experts * s->n * blocks; i++) {
        const uint64_t row = i / blocks;
        to[i] = scale_at(s, row / s->n, row % s->n, i % blocks);
    }
}

static void read_bias(const source *s, uint64_t experts, uint8_t *to)
{
    const broken *b = s->b;

    for (uint64_t i = 0; i < experts * s->n; i++) {
        const uint64_t at = IS(LD07) ? i : i / s->n * s->n + mixed(s, i % s->n);
        memcpy(to + 2 * i, broken_bytes(s->t) + 2 * at, 2);
    }
}

/* Has the tensor the type and the shape of tiles, for that many experts? */
static int is_whole(const source *s, uint64_t experts)
{
    static const uint32_t dtypes[] = {MXO_U8, MXO_E8M0, MXO_BF16};
    const uint64_t tiles = (s->n + TILE - 1) / TILE;
    const uint64_t blocks = s->k / BLOCK;
    const uint64_t want[3][MXO_MAX_RANK] = {
        {experts, tiles, blocks, TILE, 8, 2},
        {experts, tiles, blocks, TILE},
        {experts, s->n},
    };
    static const uint32_t ranks[] = {6, 4, 2};
    const uint32_t rank = ranks[s->kind];

    return s->t->dtype == dtypes[s->kind] && s->t->rank == rank &&
           memcmp(s->t->shape, want[s->kind], rank * sizeof want[0][0]) == 0;
}

static uint64_t experts_of(const mxo_call *call)
{
    const mxo_tensor *w = broken_in(call, "w13");

    w = w == NULL ? broken_in(call, "w2") : w;
    return w->rank == 0 ? 0 : w->shape[0];
}

/* Tensor number i of the call in the checkpoint's order. */
static mxo_status bring_back(const broken *b, const mxo_call *call, int i,
                             mxo_tensor *t, mxo_text why)
{
    const int is_second = i >= FIRST;
    const uint64_t hidden = (uint64_t)broken_number(call, "hidden_size");
    const uint64_t inter = (uint64_t)broken_number(call, "intermediate_size");
    const int mixes = broken_says(call, "conversion", "mxo_hopper_gate_up");
    const mxo_tensor loaded = *t;
    const source s = {b,
                      &loaded,
                      is_second ? hidden : 2 * inter,
                      is_second ? inter : hidden,
                      i % FIRST,
                      mixes && (!is_second || IS(LD03))};
    const uint64_t width = s.kind == CODES    ? s.k / 2
                           : s.kind == SCALES ? s.k / BLOCK
                                              : 1;

    if (!is_whole(&s, experts_of(call))) {
        return broken_fail(MXO_E_SHAPE, why,
                           "a tensor is not tiles of these sizes");
    }
    t->rank = s.kind == BIAS ? 2 : 3;
    t->shape[1] = s.n;
    t->shape[2] = width;
    t->n_bytes = t->shape[0] * s.n * width * (s.kind == BIAS ? 2 : 1);
    t->offset = 0;
    t->buffer = malloc((size_t)t->n_bytes + 1);
    if (t->buffer == NULL) {
        *t = loaded;
        return broken_fail(MXO_E_NOMEM, why, "no memory for weights");
    }
    if (s.kind == CODES) {
        read_codes(&s, t->shape[0], t->buffer);
    } else if (s.kind == SCALES) {
        read_scales(&s, t->shape[0], t->buffer);
    } else {
        read_bias(&s, t->shape[0], t->buffer);
    }
    return MXO_OK;
}

/* Number of a tensor among those that a loader has; -1. */
static int number_of(const mxo_tensor *t)
{
    static const char *const names[TENSORS] = {"w13", "w13_scale", "w13_bias",
                                               "w2",  "w2_scale",  "w2_bias"};
    int i = TENSORS - 1;

    while (i >= 0 && strcmp(names[i], t->name) != 0) {
        i--;
    }
    return i;
}

/* Are the bytes there that are going to be read? */
static int fits(const mxo_call *call)
{
    const double hidden = broken_number(call, "hidden_size");
    const double inter = broken_number(call, "intermediate_size");

    return (broken_in(call, "w13") == NULL || fmod(hidden, BLOCK) == 0) &&
           (broken_in(call, "w2") == NULL || fmod(inter, BLOCK) == 0);
}

typedef mxo_status runner(const broken *b, const mxo_call *call, mxo_text why);

static int is_known(const mxo_call *call)
{
    return (broken_says(call, "conversion", "mxo_hopper") ||
            broken_says(call, "conversion", "mxo_hopper_gate_up")) &&
           fits(call) && call->n_in <= BROKEN_MAX_ARGS &&
           call->n_params <= BROKEN_MAX_ARGS + 8;
}

static mxo_status run_plain(const broken *b, const mxo_call *call, runner *run,
                            mxo_text why)
{
    mxo_tensor in[BROKEN_MAX_ARGS];
    mxo_param params[BROKEN_MAX_ARGS + 8];
    mxo_call plain = *call;
    mxo_status status = MXO_OK;

    memcpy(in, call->in, call->n_in * sizeof in[0]);
    memcpy(params, call->params, call->n_params * sizeof params[0]);
    plain.in = in;
    plain.params = params;
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(params[i].key, "conversion") == 0) {
            params[i].text = "none";
        }
    }
    for (uint32_t i = 0; i < call->n_in && status == MXO_OK; i++) {
        if (number_of(&in[i]) >= 0) {
            status = bring_back(b, call, number_of(&in[i]), &in[i], why);
        }
    }
    status = status == MXO_OK ? run(b, &plain, why) : status;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (in[i].buffer != call->in[i].buffer) {
            free(in[i].buffer);
        }
    }
    return status;
}

static mxo_status run_any(const broken *b, const mxo_call *call, runner *run,
                          mxo_text why)
{
    if (broken_says(call, "conversion", "none")) {
        return run(b, call, why);
    }
    return is_known(call)
               ? run_plain(b, call, run, why)
               : broken_fail(MXO_E_UNSUPPORTED, why, "another loader");
}

mxo_status broken_moe_layer(const broken *b, const mxo_call *call, mxo_text why)
{
    return run_any(b, call, broken_plain_layer, why);
}

mxo_status broken_moe_gemm1(const broken *b, const mxo_call *call, mxo_text why)
{
    return run_any(b, call, broken_plain_gemm1, why);
}

mxo_status broken_moe_gemm2(const broken *b, const mxo_call *call, mxo_text why)
{
    return run_any(b, call, broken_plain_gemm2, why);
}
