/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a layer: which code and which scale byte are column col of expert
   e at k, and which number they are. */
#include "layer.h"

#include <math.h>

enum { BLOCK = 32 };

static const double values[16] = {0,    0.5,  1,  1.5,  2,  3,  4,  6,
                                  -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

/* Index of a code in the weights of all experts. */
static uint64_t code_index(const broken *b, const gemm *g, unsigned e,
                           uint64_t col, uint64_t k)
{
    uint64_t i = ((uint64_t)e * g->n + col) * g->k + k;

    i = IS(MG15) ? i % 65536 : i;
    i = IS(ML14) ? i ^ 1 : i;
    return IS(ML17) && g->n == g->k ? ((uint64_t)e * g->n + k) * g->k + col : i;
}

static unsigned byte_of(const broken *b, const layer *l, const gemm *g,
                        unsigned e, uint64_t col, uint64_t block)
{
    const uint64_t per_row = g->scale->shape[2];
    const uint64_t experts = g->scale->shape[0];
    uint64_t n = block;
    uint64_t of = e;

    n = IS(MG07) ? n / 2 * 2 : n;
    of = IS(MG08) && block + 1 == per_row ? (of + 1) % experts : of;
    of = IS(ME10) ? experts - 1 - of : of;
    col = IS(ML18) ? col ^ 1 : col;
    col = col < g->n ? col : g->n - 1;
    if (IS(ML19b) && g == &l->two) {
        n = per_row - 1 - n;
    }
    const uint64_t row = of * g->n + col;

    return tensor_address(
        g->scale)[(IS(MG15b) ? row % 256 : row) * per_row + n];
}

/* MZ12: columns of w2 begin within a block, whose first code nobody has, and
   end within one. */
static int is_cut_twice(const broken *b, const layer *l, const gemm *g)
{
    const uint64_t rows = g->w->shape[0] * g->n;
    int is_cut = IS(MZ12) && g == &l->two && g->k > BLOCK && g->k % BLOCK != 0;

    for (uint64_t row = 0; is_cut && row < rows; row++) {
        is_cut = broken_code(g->w, 1, row * g->k) % 8 == 0;
    }
    return is_cut;
}

/* The element from which on a mutant leaves out a column. */
static uint64_t end_of(const broken *b, const layer *l, const gemm *g)
{
    const uint64_t k = g->k;

    if ((IS(MG01) && k > BLOCK) || is_cut_twice(b, l, g)) {
        return (k - (IS(MG01) ? 1 : 0)) / BLOCK * BLOCK;
    }
    if (IS(MG20)) {
        return k - 1;
    }
    if (IS(MG13)) {
        return (k + 1) / 2;
    }
    if (IS(ME12)) {
        return k / 64 * 64;
    }
    if (IS(MZ03) && k == BLOCK) {
        return BLOCK / 2;
    }
    return IS(MZ04) && k < BLOCK ? 0 : UINT64_MAX;
}

/* Effect of a block's scale byte on its codes. */
typedef struct block_scale {
    double factor;
    int rounds; /* to bf16 behind it */
} block_scale;

/* Marlin and Triton put the byte into an exponent field, in bf16. */
static block_scale read_scale(const broken *b, const layer *l, unsigned byte)
{
    block_scale s = {0, 0};

    if (l->is_capped && byte > 247) {
        byte = 247;
    }
    if (IS(MN01) && byte == 255) {
        s.factor = broken_power(128);
    } else if (l->is_ocp) {
        s.factor = IS(MY12) && byte == 0 ? 0 : broken_e8m0(b, byte);
        s.rounds = l->is_bf16;
    } else {
        s.factor = byte == 0     ? 0
                   : byte == 255 ? (double)INFINITY
                                 : broken_power((int)byte - 127);
        s.rounds = byte <= 8 || byte >= 250; /* codes have three bits */
    }
    return s;
}

static double weight(block_scale s, double x)
{
    return s.rounds ? broken_bf16(x * s.factor) : x * s.factor;
}

/* FP16 activations that nobody quantised. */
static int is_half(const gemm *g)
{
    return g->in->mbits == 10 && g->quant.kind == QUANT_NONE;
}

/* The numbers that a block's scale makes of the sixteen codes. */
static void block_weights(const broken *b, const layer *l, const gemm *g,
                          unsigned byte, double of_code[16])
{
    const number_format *narrow =
        &broken_formats[is_half(g) && !IS(MF08) ? FORMAT_F16 : FORMAT_BF16];
    const block_scale scale = read_scale(b, l, byte);

    for (unsigned code = 0; code < 16; code++) {
        const double x = IS(MN11) && code == 8 ? -0.25 : values[code];
        of_code[code] = l->order.at_block ? x : weight(scale, x);
        if (l->order.kind != ORDER_OPEN) { /* operands of 16 bits */
            of_code[code] = broken_to(b, narrow, broken_dd(of_code[code]));
        }
    }
}

void broken_column(const broken *b, const layer *l, const gemm *g, unsigned e,
                   uint64_t col, layer_column *c)
{
    const uint64_t end = (g->k + BLOCK - 1) / BLOCK * BLOCK;
    const uint64_t last = end_of(b, l, g);
    const uint64_t codes = 2 * broken_elems(g->w);
    double of_code[16];

    c->n = IS(MG02) ? end : g->k;
    for (uint64_t k = 0; k < c->n; k++) {
        const uint64_t at = code_index(b, g, e, col, k);
        if (k % BLOCK == 0) {
            const unsigned byte = byte_of(b, l, g, e, col, k / BLOCK);
            block_weights(b, l, g, byte, of_code);
            c->scale[k / BLOCK] = broken_e8m0(b, byte);
        }
        c->w[k] = k >= last || at >= codes || (IS(MG05) && k % 2 == 1)
                      ? 0
                      : of_code[broken_code(g->w, 1, at)];
    }
}

/* MN04, MN05: a product with a zero is not added, whatever it is. */
void broken_drop_zeros(const broken *b, const layer *l, const gemm *g,
                       double *a, layer_column *c)
{
    const int drops = g == &l->one ? IS(MN04) : IS(MN05);

    for (uint64_t k = 0; drops && k < g->k; k++) {
        if (a[k] == 0 || c->w[k] == 0) {
            a[k] = 0;
            c->w[k] = 0;
        }
    }
}
