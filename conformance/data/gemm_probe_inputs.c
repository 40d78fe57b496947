/* SPDX-License-Identifier: Apache-2.0 */
/* See gemm_probe_inputs.h. */
#include "gemm_probe_inputs.h"

#include "base/codes.h"
#include "base/prng.h"

#include <math.h>
#include <string.h>

/* Bytes that codes made here may have, or as many as the layer's own. */
#define MOST_BYTES ((uint64_t)64 << 20)
/* Products of a GEMM made here, unless the layer's own K has more: a subject in
   plain C takes half a second for them, and is asked twice or more. */
#define MOST_PRODUCTS ((uint64_t)1 << 26)

/* E8M0 bytes below 2 do not mean the same to everybody. */
enum { BLOCK = 32, ONE_BYTE = 127, LEAST_BYTE = 2, PIECE_BITS = 8 };
enum { CODE_ONE = 2, CODE_FOUR = 6, CODE_SIX = 7 };

/* Of activations: what a quantiser keeps that divides by the maximum, or takes
   a power of two of it.  Every 16th is the maximum. */
enum { FOUR = 4, SIX = 6, EVERY = 16 };

const probe_half probe_halves[2] = {
    {"moe.gemm1", "gemm", "act", "x", "x_scale", "w13", "w13_scale", "w13_bias",
     "w13_input_scale", "hidden", "hblocks", "inter", 2},
    {"moe.gemm2", "row", "sum", "act", "", "w2", "w2_scale", "w2_bias",
     "w2_input_scale", "inter", "iblocks", "hidden", 1},
};

static int is_named(const host_tensor *t, const char *name)
{
    return strcmp(t->name, name) == 0;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

uint64_t probe_columns(const probe_half *h, const tensor_set *in)
{
    const host_tensor *w = tensor_set_find(in, h->w);

    return w == NULL ? 0 : w->shape[1];
}

uint64_t probe_depth(const probe_half *h, const tensor_set *in)
{
    const host_tensor *w = tensor_set_find(in, h->w);

    return w == NULL ? 0 : 2 * w->shape[2];
}

static void store_number(host_tensor *t, uint64_t i, double x)
{
    const code_format *f = dtype_format(t->dtype);

    tensor_store(t, i, code_nearest(f, x));
}

static void store_nibble(host_tensor *t, uint64_t i, unsigned code)
{
    uint8_t *at = &t->data[i / 2];

    *at =
        (uint8_t)(i % 2 == 0 ? (*at & 0xf0u) | code : (*at & 15u) | code << 4);
}

/* Activation i of those that a quantiser keeps, as a number or a code. */
static void store_act(host_tensor *t, uint64_t i, uint64_t k, int sign)
{
    const int is_six = k % EVERY == 0;

    if (t->dtype == MXO_U8) {
        store_nibble(t, i, is_six ? CODE_SIX : CODE_FOUR);
    } else {
        store_number(t, i, sign * (is_six ? SIX : FOUR));
    }
}

/* Whether t is one of the matrices whose extents and bytes are made here. */
static int is_remade(const probe_half *h, const host_tensor *t, uint64_t n,
                     uint64_t k, uint64_t shape[MXO_MAX_RANK])
{
    memcpy(shape, t->shape, sizeof t->shape);
    if (is_named(t, h->in)) {
        shape[t->rank - 1] = t->dtype == MXO_U8 ? k / 2 : k;
    } else if (is_named(t, h->in_scale)) {
        shape[1] = ceil_div(k, BLOCK);
    } else if (is_named(t, h->w)) {
        shape[1] = n;
        shape[2] = k / 2;
    } else if (is_named(t, h->scale)) {
        shape[1] = n;
        shape[2] = ceil_div(k, BLOCK);
    } else if (is_named(t, h->bias)) {
        shape[1] = n;
    } else {
        return 0;
    }
    return 1;
}

/* A power of two near a scale, and not 1, under which what is left out would
   not show. */
static double near(const host_tensor *given)
{
    const double s = dtype_value(given->dtype, tensor_load(given, 0));
    int top;

    if (!isfinite(s) || s <= 0) {
        return 1;
    }
    (void)frexp(s, &top);
    return top == 1 ? 0.5 : ldexp(1, top - 1);
}

static void set_start(const probe_half *h, host_tensor *t,
                      const host_tensor *from, int is_made, probe_keep keep)
{
    const int is_near = is_named(t, h->given) && keep == PROBE_NEAR_GIVEN;
    const int is_one = is_named(t, h->given) || (is_named(t, "topk_weights") &&
                                                 keep != PROBE_KEEP_WEIGHTS);

    if (is_named(t, h->scale) || is_named(t, h->in_scale)) {
        memset(t->data, ONE_BYTE, (size_t)t->n_bytes);
    } else if (is_one) {
        for (uint64_t i = 0; i < tensor_elems(t); i++) {
            store_number(t, i, is_near ? near(from) : 1);
        }
    } else if (!is_made && t->n_bytes > 0) {
        memcpy(t->data, from->data, (size_t)t->n_bytes);
    }
}

/* The same tensors with matrices of n columns and depth k: zeros under scales
   of one. */
static int remake(tensor_set *to, const probe_half *h, const tensor_set *in,
                  uint64_t n, uint64_t k, probe_keep keep)
{
    for (uint32_t i = 0; i < in->n; i++) {
        const host_tensor *t = &in->t[i];
        uint64_t shape[MXO_MAX_RANK];
        host_tensor *added;
        const int is_made = is_remade(h, t, n, k, shape);
        if (tensor_set_add(to, t->name, t->dtype, t->rank, shape, &added) !=
            MXO_OK) {
            return -1;
        }
        if (added->n_bytes > 0) {
            set_start(h, added, t, is_made, keep);
        }
    }
    return 0;
}

/* Expert of a slot; -1: none here. */
static int64_t expert_of(const probe_half *h, const tensor_set *in,
                         uint64_t slot)
{
    const host_tensor *ids = tensor_set_find(in, "topk_ids");
    const host_tensor *map = tensor_set_find(in, "expert_map");
    const uint64_t experts = tensor_set_find(in, h->w)->shape[0];
    int64_t id = (int32_t)tensor_load(ids, slot);

    if (id >= 0 && map != NULL) {
        id = (uint64_t)id < tensor_elems(map)
                 ? (int32_t)tensor_load(map, (uint64_t)id)
                 : -1;
    }
    return id >= 0 && (uint64_t)id < experts ? id : -1;
}

/* Columns for every k: a multiple of those there are. */
static int unit_matrix(tensor_set *to, const probe_half *h,
                       const tensor_set *in, probe_keep keep)
{
    const uint64_t columns = probe_columns(h, in);
    const uint64_t k = probe_depth(h, in);

    if (columns == 0 || k == 0) {
        return -1;
    }
    const uint64_t n = columns * ceil_div(k, columns);

    if (remake(to, h, in, n, k, keep) != 0) {
        return -1;
    }
    host_tensor *w = tensor_set_find(to, h->w);

    for (uint64_t e = 0; e < w->shape[0]; e++) {
        for (uint64_t c = 0; c < k; c++) {
            store_nibble(w, (e * n + c) * k + c, CODE_ONE);
        }
    }
    return 0;
}

int probe_identity(tensor_set *to, const probe_half *h, const tensor_set *in,
                   probe_keep keep)
{
    const host_tensor *from = tensor_set_find(in, h->in);

    if (from == NULL || unit_matrix(to, h, in, keep) != 0) {
        return -1;
    }
    host_tensor *t = tensor_set_find(to, h->in);

    if (t->n_bytes > 0) {
        memcpy(t->data, from->data, (size_t)t->n_bytes);
    }
    return 0;
}

int probe_signs(tensor_set *to, const probe_half *h, const tensor_set *in)
{
    prng rng;

    if (unit_matrix(to, h, in, PROBE_KEEP_NONE) != 0) {
        return -1;
    }
    host_tensor *t = tensor_set_find(to, h->in);
    const uint64_t k = probe_depth(h, in);

    prng_seed(&rng, 1);
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        store_act(t, i, i % k, prng_next(&rng) % 2 == 0 ? 1 : -1);
    }
    return 0;
}

/* Blocks of K that a number of this type needs. */
static uint64_t pieces_of(uint32_t dtype)
{
    const code_format *f = dtype_format(dtype);

    return ceil_div((uint64_t)f->mbits + 1, PIECE_BITS);
}

/* A block of a row of weights, in units of half its scale times four: none
   beside the sixes. */
static void put_piece(host_tensor *w, uint64_t at, unsigned units,
                      unsigned sign)
{
    static const unsigned worth[] = {12, 8, 6, 4, 3, 2, 1};

    for (uint64_t i = 0; i < BLOCK; i++) {
        unsigned code = 0;
        if (i % EVERY == 0 || units == 0) {
            continue;
        }
        while (worth[code] > units) {
            code++;
        }
        units -= worth[code];
        store_nibble(w, at + i, (7 - code) | sign);
    }
}

/* Column row of w (counted over all experts) becomes x, from block first on. */
static void put_number(host_tensor *w, host_tensor *scale, uint64_t row,
                       uint64_t first, uint64_t pieces, double x)
{
    const uint64_t k = 2 * w->shape[2];
    double rest = isinf(x) ? 0x1p127 : fabs(x);
    int top;

    if (isnan(x) || rest == 0) {
        return;
    }
    (void)frexp(rest, &top); /* below 2^top */
    for (uint64_t p = 0; p < pieces; p++) {
        const int fits = top - (int)(p + 1) * PIECE_BITS + ONE_BYTE - 1;
        const int byte = fits < LEAST_BYTE ? LEAST_BYTE : fits;
        const double unit = ldexp(1, byte - ONE_BYTE + 1);
        const unsigned units = (unsigned)(rest / unit);

        rest -= units * unit;
        scale->data[row * scale->shape[2] + first + p] = (uint8_t)byte;
        put_piece(w, row * k + (first + p) * BLOCK, units, x < 0 ? 8 : 0);
    }
}

/* Row of all columns of an expert for one of its tokens. */
static void put_row(tensor_set *to, const probe_half *h, uint64_t expert,
                    uint64_t first, const host_tensor *rows, uint64_t slot)
{
    const uint64_t n = rows->shape[2];

    for (uint64_t c = 0; c < n; c++) {
        put_number(tensor_set_find(to, h->w), tensor_set_find(to, h->scale),
                   expert * n + c, first, pieces_of(rows->dtype),
                   dtype_value(rows->dtype, tensor_load(rows, slot * n + c)));
    }
}

/* Fours and sixes in blocks first .. end - 1 of row r of the activations. */
static void put_fours(host_tensor *t, uint64_t r, uint64_t k, uint64_t first,
                      uint64_t end)
{
    for (uint64_t i = first * BLOCK; i < end * BLOCK; i++) {
        store_act(t, r * k + i, i, 1);
    }
}

/* K for all tokens and a block that stays free, lest a GEMM that loses its last
   one spoils what is asked through it; or as much of it as may be. */
static uint64_t depth_for(const probe_half *h, const tensor_set *in,
                          uint64_t slots, uint64_t blocks)
{
    const uint64_t own = probe_depth(h, in);
    const uint64_t bytes = tensor_set_find(in, h->w)->n_bytes;
    const uint64_t times = ceil_div((blocks + 1) * BLOCK, own);
    const uint64_t products = slots * probe_columns(h, in) * own;
    uint64_t most = times;

    if (bytes > 0 && MOST_BYTES / bytes < most) {
        most = MOST_BYTES / bytes;
    }
    if (products > 0 && MOST_PRODUCTS / products < most) {
        most = MOST_PRODUCTS / products;
    }
    return own * (most < 1 ? 1 : most);
}

/* Slots of the same token and expert before this one: where every slot has
   activations of its own, they differ. */
static uint64_t repeats(const probe_half *h, const tensor_set *in,
                        uint64_t slot, uint64_t topk)
{
    const int64_t expert = expert_of(h, in, slot);
    uint64_t n = 0;

    if (tensor_set_find(in, h->in)->rank < 3) {
        return 0;
    }
    for (uint64_t i = slot / topk * topk; i < slot; i++) {
        n += expert >= 0 && expert_of(h, in, i) == expert;
    }
    return n;
}

/* How often a token has the same expert at most. */
static uint64_t most_repeats(const probe_half *h, const tensor_set *in,
                             uint64_t slots, uint64_t topk)
{
    uint64_t most = 0;

    for (uint64_t slot = 0; slot < slots; slot++) {
        const uint64_t n = repeats(h, in, slot, topk);
        most = n > most ? n : most;
    }
    return most + 1;
}

int probe_rows(tensor_set *to, const probe_half *h, const tensor_set *in,
               const host_tensor *rows, probe_keep keep)
{
    const uint64_t topk = rows->shape[1];
    const uint64_t slots = rows->shape[0] * topk;
    const uint64_t pieces = pieces_of(rows->dtype);

    if (probe_depth(h, in) == 0 || slots == 0 ||
        rows->shape[2] != probe_columns(h, in)) {
        return -1;
    }
    const uint64_t times = most_repeats(h, in, slots, topk);
    const uint64_t k = depth_for(h, in, slots, rows->shape[0] * times * pieces);
    const uint64_t room = k / BLOCK / pieces;

    if (remake(to, h, in, rows->shape[2], k, keep) != 0) {
        return -1;
    }
    host_tensor *a = tensor_set_find(to, h->in);
    const uint64_t each = a->rank == 3 ? 1 : topk; /* slots of a row of them */

    for (uint64_t slot = 0; slot < slots; slot++) {
        const int64_t expert = expert_of(h, in, slot);
        const uint64_t place = slot / topk * times + repeats(h, in, slot, topk);
        if (place < room && slot % each == 0) {
            put_fours(a, slot / each, k, place * pieces, (place + 1) * pieces);
        }
        if (place < room && expert >= 0) {
            put_row(to, h, (uint64_t)expert, place * pieces, rows, slot);
        }
    }
    return 0;
}

/* A slot with an expert whose row shows row r of the activations; -1: none. */
static int64_t slot_of(const probe_half *h, const tensor_set *in,
                       const host_tensor *rows, uint64_t r, uint64_t per_token)
{
    const uint64_t each = rows->shape[1] / per_token;

    for (uint64_t slot = r * each; slot < (r + 1) * each; slot++) {
        if (expert_of(h, in, slot) >= 0) {
            return (int64_t)slot;
        }
    }
    return -1;
}

int probe_quantised(tensor_set *to, const probe_half *h, const tensor_set *in,
                    const host_tensor *rows)
{
    for (uint32_t i = 0; i < in->n; i++) {
        const host_tensor *t = &in->t[i];
        host_tensor *added;
        if (tensor_set_add(to, t->name, t->dtype, t->rank, t->shape, &added) !=
            MXO_OK) {
            return -1;
        }
        if (t->n_bytes > 0) {
            memcpy(added->data, t->data, (size_t)t->n_bytes);
        }
    }
    host_tensor *a = tensor_set_find(to, h->in);
    host_tensor *given = tensor_set_find(to, h->given);
    const uint64_t k = probe_depth(h, in);
    const uint64_t n = rows->shape[2];
    const uint64_t per_token = a->rank == 3 ? rows->shape[1] : 1;

    if (given != NULL) {
        store_number(given, 0, 1);
    }
    for (uint64_t r = 0; r < rows->shape[0] * per_token; r++) {
        const int64_t slot = slot_of(h, in, rows, r, per_token);
        for (uint64_t c = 0; slot >= 0 && c < k; c++) {
            const uint64_t code = tensor_load(rows, (uint64_t)slot * n + c);
            const double x = dtype_value(rows->dtype, code);
            if (isfinite(x)) {
                store_number(a, r * k + c, x);
            }
        }
    }
    return 0;
}
