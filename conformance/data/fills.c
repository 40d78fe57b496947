/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common fill functions.  Values are made as doubles with few bits and then
 * encoded; products with powers of two are exact, so every platform makes the
 * same bytes.
 */
#include "fills.h"

#include <math.h>
#include <string.h>

enum { PATCH = 128 };

double fill_uniform(prng *rng)
{
    return (double)(prng_next(rng) >> 40) * 0x1p-24;
}

int fill_is_turned(uint64_t i)
{
    int odd = 0;

    for (i /= 64; i > 0; i /= 2) {
        odd ^= (int)(i & 1);
    }
    return odd;
}

void fill_put(host_tensor *t, uint64_t i, double x)
{
    const code_format *f = dtype_format(t->dtype);

    tensor_store(t, i,
                 f != NULL ? code_nearest(f, x)
                           : 0x11 * code_nearest(&code_formats[CODE_E2M1], x));
}

const code_format *fill_element(const test_case *c)
{
    static const char *const keys[] = {"element", "format", "to"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const code_format *f = code_format_by_name(case_value(c, keys[i]));
        if (f != NULL) {
            return f;
        }
    }
    return &code_formats[CODE_E2M1];
}

/* Codes there are in the parameter format, or in the dtype (at most 2^16). */
static uint64_t code_count(const test_case *c, const host_tensor *t)
{
    const code_format *f = code_format_by_name(case_value(c, "format"));

    if (f != NULL) {
        return UINT64_C(1) << f->bits;
    }
    return UINT64_C(1) << (dtype_bytes(t->dtype) == 1 ? 8 : 16);
}

void fill_counting(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t codes = code_count(c, t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, i % codes);
    }
}

/* Magnitude codes worth meeting, as positions in the format. */
static uint64_t corner_magnitude(const code_format *f, uint64_t which)
{
    const uint64_t one = UINT64_C(1) << f->mbits;
    const uint64_t last = code_last_finite(f);

    switch (which) {
    case 0:
        return 0;
    case 1: /* smallest subnormal */
        return 1;
    case 2: /* largest subnormal, smallest normal */
        return one - 1;
    case 3:
        return one;
    case 4:
        return last;
    case 5: /* infinity, or the first NaN */
        return last + 1;
    case 6: /* a NaN, signalling in IEEE formats */
        return last + 2;
    case 7: /* all ones */
        return (UINT64_C(1) << (f->bits - 1)) - 1;
    default:
        return code_nearest(f, ldexp(1, (int)which - 12)) + which % 3;
    }
}

static uint64_t draw_corner(const code_format *f, prng *rng)
{
    static const double values[] = {0.25, 0.5, 0.75, 1,   1.5,  2.5,
                                    3.5,  5,   6,    448, 57344};
    const uint64_t sign = UINT64_C(1) << (f->bits - 1);
    const uint64_t draw = prng_below(rng, 40);
    const uint64_t magnitude = draw < 24 ? corner_magnitude(f, draw)
                                         : code_nearest(f, values[draw % 11]);
    const uint64_t negative = prng_below(rng, 2) != 0 ? sign : 0;

    return (magnitude & (sign - 1)) | negative;
}

void fill_corner(host_tensor *t, uint64_t i, prng *rng)
{
    tensor_store(t, i, draw_corner(dtype_format(t->dtype), rng));
}

void fill_corners(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        fill_corner(t, i, rng);
    }
}

/* Values of ordinary size with every mantissa. */
static void put_moderate(host_tensor *t, uint64_t i, prng *rng)
{
    /* One draw per statement: C leaves the order of arguments open. */
    const double mantissa = 1 + fill_uniform(rng);
    const double x = ldexp(mantissa, (int)prng_below(rng, 9) - 6);

    fill_put(t, i, prng_below(rng, 2) != 0 ? -x : x);
}

/* Every third patch is wild, and never the only one: a NaN or a huge value
   decides a whole group, and a tensor of nothing else would tell little. */
static int is_wild(const host_tensor *t, uint64_t i, uint64_t start)
{
    return tensor_elems(t) > PATCH && (i / PATCH + start) % 3 == 0;
}

void fill_random_patches(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 3);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        if (is_wild(t, i, start)) {
            tensor_store(t, i, prng_next(rng));
        } else {
            put_moderate(t, i, rng);
        }
    }
}

void fill_corner_patches(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 3);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const int wild = is_wild(t, i, start);
        if (wild || prng_below(rng, 4) == 0) {
            fill_corner(t, i, rng);
        }
        if (!wild && !(fabs(dtype_value(t->dtype, tensor_load(t, i))) < 64)) {
            put_moderate(t, i, rng);
        }
    }
}

void fill_ordinary(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        /* Steps of 5 modulo 9: neighbouring blocks get unlike scales. */
        const int shift = (int)(i / 32 * 5 % 9) - 4;
        double x = -2;
        for (int k = 0; k < 4; k++) {
            x += fill_uniform(rng);
        }
        fill_put(t, i, code_scaled(x, shift));
    }
}

void fill_positive(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double mantissa = 1 + fill_uniform(rng);
        fill_put(t, i, code_scaled(mantissa, (int)prng_below(rng, 8) - 4));
    }
}

/* One step up or down in the code, at most. */
static void nudge(host_tensor *t, uint64_t i, prng *rng)
{
    const uint64_t draw = prng_below(rng, 6);
    const uint64_t code = tensor_load(t, i);

    if (draw == 0) {
        tensor_store(t, i, code + 1);
    } else if (draw == 1 && code != 0) {
        tensor_store(t, i, code - 1);
    }
}

static double with_sign(double x, prng *rng)
{
    return prng_below(rng, 2) != 0 ? -x : x;
}

void fill_thirds(const test_case *c, host_tensor *t, prng *rng)
{
    static const double few[] = {1.0 / 3, 0.2, 0.7, 2.0 / 3,
                                 0.1,     0.9, 0.4, 1.0 / 7};
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 8);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, few[(start + 3 * i) % 8]);
    }
}

void fill_ties(const test_case *c, host_tensor *t, prng *rng)
{
    const code_format *f = fill_element(c);
    const int is_int = f->special == '8';
    const double top = is_int ? 1.984375 : code_value(f, code_last_finite(f));
    const uint64_t span = is_int ? 127 : code_last_finite(f);
    const uint64_t n = tensor_elems(t);
    const int wide = dtype_bytes(t->dtype) > 2;
    uint64_t step = 0;
    int scale = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (i % 128 == 0) { /* 1 to 8 steps on, of 9: never where it was */
            step = (step + 1 + prng_below(rng, 8)) % 9;
            scale = (int)step - 4;
            scale += wide && prng_below(rng, 4) == 0 ? -20 : 0;
        }
        const uint64_t low = prng_below(rng, span);
        const double below = is_int ? (double)low / 64 : code_value(f, low);
        const double above =
            is_int ? (double)(low + 1) / 64 : code_value(f, low + 1);
        const double x = i % 16 == 0 ? top : below / 2 + above / 2;

        fill_put(t, i, with_sign(ldexp(x, scale), rng));
        if (i % 16 != 0) {
            nudge(t, i, rng);
        }
    }
}

/* Exponents a dtype can hold, subnormals included. */
static int draw_exponent(const code_format *f, prng *rng)
{
    const int low = 1 - f->bias - f->mbits;
    const int high = (int)(code_last_finite(f) >> f->mbits) - f->bias;
    const int extreme = (int)prng_below(rng, 4);

    if (extreme == 0) {
        return low + (int)prng_below(rng, (uint64_t)f->mbits + 4);
    }
    if (extreme == 1) {
        return high - (int)prng_below(rng, 8);
    }
    return low + (int)prng_below(rng, (uint64_t)(high - low + 1));
}

void fill_amax(const test_case *c, host_tensor *t, prng *rng)
{
    const code_format *f = dtype_format(t->dtype);
    const uint64_t n = tensor_elems(t);
    const uint64_t group = t->rank == 1 ? 1 : 16;
    double amax = 0;

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t block = i / group;
        if (i % group == 0) {
            const double m = 1 + (double)(block * 5 % 128) / 128;
            amax = ldexp(m, draw_exponent(f, rng));
            amax = block % 29 == 17 ? 0 : amax;
        }
        const int is_top = i % group == block % group;
        const double x = is_top ? amax : amax * fill_uniform(rng);
        fill_put(t, i, t->rank == 1 ? x : with_sign(x, rng));
    }
}

/* One live code in a row of w2.  What it meets is an activation of any size,
   and a matrix unit may cut the sum of two such products where float32 would
   round it: one is what every order and every unit gets right.  Each stretch
   goes on where an expert's rows ended in the one before. */
void fill_one_live(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t k = 2 * t->shape[t->rank - 1];
    const uint64_t rows = k == 0 ? 0 : tensor_elems(t) / t->shape[t->rank - 1];
    const uint64_t start =
        prng_below(rng, 1000) + c->stretch * t->shape[t->rank - 2];

    for (uint64_t r = 0; r < rows; r++) {
        const uint64_t col = (start + r) % k;
        const uint64_t code = 1 + prng_below(rng, 7) + 8 * (r % 2);

        tensor_store(t, r * (k / 2) + col / 2, code << 4 * (col % 2));
    }
}

void fill_index_coded(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->rank == 0 ? 1 : t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 61);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        /* Mod 61 steps of 7 and 13: no two near neighbours are equal. */
        const uint64_t code = (start + i % cols * 7 + i / cols * 13) % 61;
        tensor_store(t, i, 0x60 + code);
    }
}

void fill_scale_corners(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0x02, 0x06, 0x6c, 0x7e, 0x7f,
                                    0x80, 0x8e, 0xfc, 0xfd, 0xfe, 0xff};
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bytes[prng_below(rng, sizeof bytes)]);
    }
}

void fill_scale_ordinary(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0x77 + prng_below(rng, 16));
    }
}

void fill_scale_typical(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 116 + prng_below(rng, 8));
    }
}

void fill_normal(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = t->dtype == MXO_U8 ? 0 : tensor_elems(t);

    fill_random(c, t, rng); /* stays where numbers are packed codes */
    for (uint64_t i = 0; i < n; i++) {
        double x = -6;
        for (int k = 0; k < 12; k++) {
            x += fill_uniform(rng);
        }
        fill_put(t, i, x);
    }
}

/* Element i of a row of k; at is i mod k. */
static double cancelling(uint64_t i, uint64_t k, uint64_t at, prng *rng)
{
    const uint64_t row = i / k;
    const int far = (int)prng_below(rng, 40);
    const double x = (double)(prng_below(rng, 127) + 129);
    const double sign = prng_below(rng, 2) != 0 ? -1 : 1;

    if (at < 32) {
        if (at == 0) {
            return 1;
        }
        if (at == 1) {
            return 0x1p-24;
        }
        if (at == 2) {
            return ldexp(1, -54 - (int)(row % 6) * 4);
        }
        return 0;
    }
    return at + 32 < k ? sign * ldexp(x, far - (row % 2 != 0 ? 27 : 60)) : 0;
}

void fill_cancelling(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t k = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t minus = dtype_sign(t->dtype);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = i % k;
        const double x = cancelling(i, k, at, rng);
        if (at >= 64 && at / 32 % 2 == 0) {
            tensor_store(t, i, tensor_load(t, i - 32) ^ minus);
        } else {
            fill_put(t, i, x);
        }
    }
}

void fill_twins(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = i % row;
        const uint64_t code = prng_below(rng, 256);
        const uint64_t first = (1 + prng_below(rng, 2)) * 17;
        const int is_twin = at >= 32 && at / 16 % 2 == 0;
        tensor_store(t, i,
                     is_twin  ? tensor_load(t, i - 16)
                     : at < 2 ? first
                              : code);
    }
}

void fill_scale_twins(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = i % row;
        const uint64_t far = i / row % 3 == 0 ? 40 : 15;
        const uint64_t byte = 110 + prng_below(rng, far);
        const int is_twin = at >= 2 && at % 2 == 0;
        tensor_store(t, i, is_twin ? tensor_load(t, i - 1) : byte);
    }
}
