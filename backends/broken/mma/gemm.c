/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.mx in float32, as a kernel does it: k ascending, one accumulator, where
 * the order is not declared (acc=f32): there every legal variant must be
 * accepted and every fault be seen.  And block by block (acc=block).
 */
#include "broken.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, TILE = 64, PARTS = 4 };

typedef struct gemm {
    const broken *b;
    const mxo_call *call;
    const mxo_tensor *a;
    const mxo_tensor *a_scale;
    const mxo_tensor *w;
    const mxo_tensor *w_scale;
    const mxo_tensor *bias;
    const mxo_tensor *y;
    const number_format *a_format;
    const number_format *w_format;
    int a_packed;
    int w_packed;
    int is_apart; /* acc=block: scales are not in the operands */
    uint64_t rows;
    uint64_t cols;
    uint64_t k;
    double *x; /* activations and weights as numbers; owned */
    double *z;
} gemm;

/* Number k of a row, without its scale. */
static double number(const gemm *g, const mxo_tensor *t, const number_format *f,
                     int packed, uint64_t row, uint64_t k)
{
    const broken *b = g->b;
    const uint64_t n = broken_elems(t) * (packed ? 2 : 1);
    uint64_t at = row * g->k + k;

    if (IS(G15) && packed) {
        at %= 2 * 65536;
    }
    if (IS(G15b)) {
        at = (row % 256) * g->k + k;
    }
    if (at >= n) {
        return 0;
    }
    return f->mbits > 3 ? broken_load(t, at)
                        : broken_decode(b, f, broken_code(t, packed, at));
}

static double scale(const gemm *g, const mxo_tensor *t, uint64_t row,
                    uint64_t k)
{
    const broken *b = g->b;
    uint64_t block = k / BLOCK;
    const uint64_t blocks = (g->k + BLOCK - 1) / BLOCK;

    if (t == NULL) {
        return 1;
    }
    if (IS(G07)) {
        block -= block % 2;
    }
    if (IS(G08) && t == g->w_scale && g->k % TILE != 0 &&
        k >= g->k - g->k % TILE) {
        row = row + 1 < t->shape[0] ? row + 1 : 0;
    }
    if (IS(G20)) {
        row = row / 16 * 16;
    }
    if (block >= blocks) {
        return 1;
    }
    return broken_e8m0(b, broken_code(t, 0, row * blocks + block));
}

/* x rounded to a format and back. */
static double through(const broken *b, const char *name, double x)
{
    const number_format *f = broken_format(name);
    const unsigned sign = 1u << (f->ebits + f->mbits);

    return broken_decode(
        b, f, broken_round(f, broken_dd(x)) | (signbit(x) ? sign : 0));
}

static double weight(const gemm *g, uint64_t c, uint64_t k)
{
    const broken *b = g->b;
    const double y = number(g, g->w, g->w_format, g->w_packed, c, k) *
                     (g->is_apart ? 1 : scale(g, g->w_scale, c, k));

    return IS(G21) ? through(b, "e4m3fn", y) : y;
}

/* Operand k of a row; beyond the row only G02 asks. */
static double operand(const gemm *g, const double *t, uint64_t rows,
                      uint64_t row, uint64_t k)
{
    const uint64_t at = row * g->k + k;

    return at < rows * g->k ? t[at] : 0;
}

static double product(const gemm *g, uint64_t r, uint64_t c, uint64_t k)
{
    const broken *b = g->b;
    const double p =
        operand(g, g->x, g->rows, r, k) * operand(g, g->z, g->cols, c, k);

    return IS(G22) ? through(b, "bf16", p) : p;
}

/* The sum of some products, in order, in float. */
static float run(const gemm *g, uint64_t r, uint64_t c, uint64_t first,
                 uint64_t end, float start)
{
    const broken *b = g->b;
    float sum = start;
    double wide = start;

    for (uint64_t i = first; i < end; i++) {
        const uint64_t k = IS(V22) ? end - 1 - (i - first) : i;
        const double p = product(g, r, c, k);
        const float rounded = (float)p;
        wide += p;
        sum = IS(V23) ? (float)(sum + p) : sum + rounded;
        if (IS(G23)) {
            sum = (float)through(b, "bf16", (double)sum);
        }
    }
    return IS(V20) ? (float)wide : sum;
}

static float halves(const gemm *g, uint64_t r, uint64_t c, uint64_t first,
                    uint64_t n)
{
    if (n < 2) {
        return n == 0 ? 0 : (float)product(g, r, c, first);
    }
    return halves(g, r, c, first, n / 2) +
           halves(g, r, c, first + n / 2, n - n / 2);
}

static float parts(const gemm *g, uint64_t r, uint64_t c)
{
    const broken *b = g->b;
    const uint64_t part = (g->k + PARTS - 1) / PARTS;
    float sum = 0;

    for (uint64_t p = 0; p < PARTS; p++) {
        const uint64_t first = p * part < g->k ? p * part : g->k;
        const uint64_t end = first + part < g->k ? first + part : g->k;
        if (!IS(G13) || p != 2) {
            sum += run(g, r, c, first, end, 0);
        }
    }
    return sum;
}

static float sum_of(const gemm *g, uint64_t r, uint64_t c)
{
    const broken *b = g->b;
    uint64_t end = g->k;

    if (IS(V21) || IS(G13)) {
        return parts(g, r, c);
    }
    if (IS(V24)) {
        return halves(g, r, c, 0, g->k);
    }
    if (IS(G01) && end > BLOCK) {
        end = (end - 1) / BLOCK * BLOCK;
    }
    if (IS(G01b)) {
        end = end / TILE * TILE;
    }
    if (IS(G02)) {
        end = (end + TILE - 1) / TILE * TILE;
    }
    return run(g, r, c, 0, end, 0);
}

static float bias_of(const gemm *g, uint64_t c)
{
    const broken *b = g->b;
    uint64_t at = c;
    float x;

    if (g->bias == NULL || IS(B01)) {
        return 0;
    }
    if (IS(B06)) {
        at = c % 2 == 0 && c + 1 < g->cols ? c + 1 : c - c % 2;
    }
    if (IS(B07)) {
        at = (c + 1) % g->cols;
    }
    x = (float)broken_load(g->bias, at);
    if (IS(B04)) {
        x *= 2;
    }
    if (IS(B08)) {
        x = (float)through(b, "bf16", (double)x);
    }
    return x;
}

/* Both scales of block n of an output. */
static double scales(const gemm *g, uint64_t r, uint64_t c, uint64_t k)
{
    const broken *b = g->b;

    return (IS(G25) ? 1 : scale(g, g->a_scale, r, k)) *
           scale(g, g->w_scale, c, k);
}

/* sum + p, rounded once. */
static float fused(const broken *b, float sum, double p)
{
    const number_format *f = &broken_formats[FORMAT_F32];
    const dd exact = broken_sum(sum, p);

    if (!isfinite(exact.hi) || exact.hi == 0) {
        return (float)exact.hi;
    }
    const float size =
        (float)broken_decode(b, f, broken_round(f, exact) & 0x7fffffffu);

    return exact.hi < 0 ? -size : size;
}

static float by_blocks(const gemm *g, uint64_t r, uint64_t c)
{
    const broken *b = g->b;
    const int fuses = call_is(g->call, "mul", "fma") && !IS(G26);
    float sum = call_is(g->call, "bias", "sum") ? bias_of(g, c) : 0;

    for (uint64_t first = 0; first < g->k; first += BLOCK) {
        float part = 0;
        double wide = 0;

        for (uint64_t k = first; k < first + BLOCK && k < g->k; k++) {
            const double p = product(g, r, c, k);
            part = fuses ? fused(b, part, p) : part + (float)p;
            wide += p;
        }
        const double p =
            (IS(G24) ? wide : (double)part) * scales(g, r, c, first);
        sum = fuses ? fused(b, sum, p) : sum + (float)p;
    }
    return sum;
}

/* The sum of magnitudes, in two doubles. */
static void write_sum_abs(const gemm *g, const mxo_tensor *to)
{
    const broken *b = g->b;

    for (uint64_t i = 0; i < g->rows * g->cols; i++) {
        const uint64_t r = i / g->cols;
        const uint64_t c = i % g->cols;
        dd sum = broken_dd(IS(G28) ? fabs((double)bias_of(g, c)) : 0);

        for (uint64_t k = 0; k < g->k; k++) {
            const double by = g->is_apart && !IS(G29) ? scales(g, r, c, k) : 1;
            const double p = product(g, r, c, k) * by;
            const dd next = broken_sum(sum.hi, IS(G27) ? p : fabs(p));
            sum = (dd){next.hi, sum.lo + next.lo};
        }
        broken_store(b, to, i, broken_dd(sum.hi + sum.lo));
    }
}

/* Nothing is added where no bias is given: a sum of -0 stays one. */
static float add_bias(const gemm *g, uint64_t c, float x)
{
    if (g->bias == NULL || (g->is_apart && call_is(g->call, "bias", "sum"))) {
        return x; /* or it began with it */
    }
    if (call_is(g->call, "bias", "to")) {
        const char *to = call_text(g->call, "to");
        return (float)through(g->b, to, (double)x) +
               (float)through(g->b, to, (double)bias_of(g, c));
    }
    return x + bias_of(g, c);
}

static float element(const gemm *g, uint64_t r, uint64_t c)
{
    const broken *b = g->b;
    float x =
        add_bias(g, c, g->is_apart ? by_blocks(g, r, c) : sum_of(g, r, c));

    if (IS(T05)) {
        x *= 1 + (float)((int)((r * 31 + c * 17) % 9) - 4) / 64;
    }
    if (IS(T06) && r % 2 == 1) {
        x *= c % 2 == 0 ? 2 : 0.5f;
    }
    if (IS(T08) && r + 1 == g->rows && c == g->cols / 2) {
        x = NAN;
    }
    return x;
}

/* Whether the mutant leaves this output unwritten. */
static int is_unwritten(const gemm *g, uint64_t c)
{
    const broken *b = g->b;

    return IS(G03) && g->cols > BLOCK && c >= g->cols / BLOCK * BLOCK;
}

static int is_zero(const gemm *g, uint64_t r)
{
    const broken *b = g->b;

    return (IS(G04) && g->cols < 64) || (IS(G11) && r >= 4) ||
           (IS(G12) && g->rows <= 32) || (IS(G17) && r >= 64) || IS(T01) ||
           (IS(T02) && r == g->rows / 2) || (IS(T03) && r % 10 == 3) ||
           (IS(T03b) && r % 100 < 18);
}

static void write_outputs(const gemm *g)
{
    const broken *b = g->b;

    for (uint64_t i = 0; i < g->rows * g->cols; i++) {
        const uint64_t at = IS(V22) ? g->rows * g->cols - 1 - i : i;
        const uint64_t r = at / g->cols;
        const uint64_t c = at % g->cols;
        if (!is_unwritten(g, c)) {
            const float x = is_zero(g, r) ? 0 : element(g, r, c);
            broken_store(b, g->y, at, broken_dd((double)x));
        }
    }
}

static void read_operands(const gemm *g)
{
    for (uint64_t i = 0; i < g->rows * g->k; i++) {
        g->x[i] =
            number(g, g->a, g->a_format, g->a_packed, i / g->k, i % g->k) *
            (g->is_apart ? 1 : scale(g, g->a_scale, i / g->k, i % g->k));
    }
    for (uint64_t i = 0; i < g->cols * g->k; i++) {
        g->z[i] = weight(g, i / g->k, i % g->k);
    }
}

mxo_status broken_gemm_mx(const broken *b, const mxo_call *call, mxo_text why)
{
    gemm g = {.b = b,
              .call = call,
              .a = call_in(call, "a"),
              .a_scale = call_in(call, "a_scale"),
              .w = call_in(call, "w"),
              .w_scale = call_in(call, "w_scale"),
              .bias = call_in(call, "bias"),
              .y = call_out(call, "y"),
              .a_format = broken_format(call_text(call, "from")),
              .w_format = broken_format(call_text(call, "element")),
              .a_packed = call_is(call, "from", "e2m1"),
              .w_packed = call_is(call, "element", "e2m1")};

    if (!(call_is(call, "acc", "f32") || call_is(call, "acc", "block")) ||
        call_number(call, "splits") != 1 || g.y->dtype == MXO_F64) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "acc=f32 and acc=block, to f32 and below only");
    }
    g.is_apart = call_is(call, "acc", "block");
    g.rows = g.y->shape[0];
    g.cols = g.y->shape[1];
    g.k = g.a->shape[1] * (g.a_packed ? 2 : 1);
    g.x = calloc(g.rows * g.k + 1, sizeof *g.x);
    g.z = calloc(g.cols * g.k + 1, sizeof *g.z);
    const int full = g.x == NULL || g.z == NULL;

    if (!full) {
        read_operands(&g);
        write_outputs(&g);
        if (call_out(call, "sum_abs") != NULL) {
            write_sum_abs(&g, call_out(call, "sum_abs"));
        }
    }
    free(g.x);
    free(g.z);
    return full ? broken_fail(MXO_E_NOMEM, why, "no memory for operands")
                : MXO_OK;
}
