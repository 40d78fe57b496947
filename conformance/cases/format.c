/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs.  Every code of the small formats in every dialect; encoders meet
 * every midpoint and both neighbours; wide formats meet random patterns.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>

#define ALL_ELEMENTS "e2m1|e2m3|e3m2|e4m3fn|e4m3fnuz|e5m2|e5m2fnuz"

/* exp and its kin: around the thresholds of overflow and underflow. */
static void fill_exp_range(const test_case *c, host_tensor *t, prng *rng)
{
    static const double centres[] = {0,      1,       -1,   88.72,
                                     -87.33, -103.97, 16.6, -16.6};
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double centre = centres[prng_below(rng, 8)];
        const double off = fill_uniform(rng) - 0.5;
        fill_put(t, i, centre + ldexp(off, -(int)prng_below(rng, 12)));
    }
}

/*
 * Few bits, so far from 1 that 1/2 + x/4 (the sigmoid without its next term,
 * -x^3/48) or x/2 + x^2/4 is halfway between two results, or one bit beside.
 */
static void fill_half_sums(const test_case *c, host_tensor *t, prng *rng)
{
    const code_format *to = code_format_by_name(case_value(c, "to"));
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t m = 1 + 2 * prng_below(rng, UINT64_C(1) << (i % 10));
        int bits = 0;

        while (m >> bits > 1) {
            bits++;
        }
        const int low =
            to->mbits - (i % 2 == 0 ? 0 : bits) + (int)prng_below(rng, 3) - 1;
        const double x = ldexp((double)m, -low);

        fill_put(t, i, prng_below(rng, 2) == 0 ? x : -x);
    }
}

/* Positive powers of two, their neighbours, and what lies between. */
static void fill_powers(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double m = i % 3 == 0 ? 1 : 1 + fill_uniform(rng);
        fill_put(t, i, ldexp(m, (int)(i % 277) - 149));
        const uint64_t code = tensor_load(t, i);
        const uint64_t draw = prng_below(rng, 4);
        tensor_store(t, i, code + (draw == 1) - (draw == 2 && code > 0));
    }
}

/* Whole numbers: of 2^x a power of two, or a tie below the least. */
static void fill_wholes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, (double)(i % 296) - 160);
    }
}

/* Below powers of two by few units of binary32, as far as a logarithm that is
   rounded may take them for these, and a unit farther. */
static void fill_below_powers(const test_case *c, host_tensor *t, prng *rng)
{
    enum { NEAR = 14, POWERS = 36 };
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double x = 1 - ldexp((double)(i % NEAR), -24);
        const int k = (int)(i / NEAR % POWERS) - 18;
        fill_put(t, i, ldexp(prng_below(rng, 2) != 0 ? -x : x, k));
    }
}

/* Every E4M3 number below the largest, what lies half way to the next, and both
   sides of that. */
static void fill_scale_halves(const test_case *c, host_tensor *t, prng *rng)
{
    const code_format *f = code_format_by_name("e4m3fn");
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t low = i / 4 % code_last_finite(f);
        const double x = code_value(f, low);
        const double half = (code_value(f, low + 1) - x) / 2;

        fill_put(t, i, i % 4 == 0 ? x : x + half);
        tensor_store(t, i, tensor_load(t, i) + (i % 4 == 2) - (i % 4 == 3));
    }
}

static const fill_row fills[] = {
    {"format.decode", "code", "random", fill_counting},
    {"format.classify", "code", "random", fill_counting},
    {"format.e8m0_decode", "code", "random", fill_counting},
    {"format.e8m0_encode", "x", "powers", fill_powers},
    {"format.e8m0_encode", "x", "corners", fill_corners},
    {"format.ue4m3", "code", "random", fill_counting},
    {"format.ue4m3", "x", "random", fill_random_patches},
    {"format.ue4m3", "x", "ties", fill_scale_halves},
    {"format.ue4m3", "x", "corners", fill_corners},
    {"format.ue4m3", "x", "ordinary", fill_ordinary},
    {"format.encode", "x", "ties", fill_ties},
    {"format.encode", "x", "corners", fill_corners},
    {"format.encode", "x", "ordinary", fill_ordinary},
    {"format.encode", "x", "powers", fill_below_powers},
    {"format.convert", "x", "ties", fill_ties},
    {"format.convert", "x", "corners", fill_corners},
    {"format.convert", "x", "ordinary", fill_ordinary},
    {"math.lg2", "x", "powers", fill_powers},
    {"math.lg2", "x", "ordinary", fill_positive},
    {"math.rcp", "x", "powers", fill_powers},
    {"math.rcp", "x", "corners", fill_corners},
    {"math.rcp", "x", "ordinary", fill_ordinary},
    {"act.unary", "x", "powers", fill_wholes},
    {"act.unary", "x", "thresholds", fill_exp_range},
    {"act.unary", "x", "ties", fill_half_sums},
    {"act.unary", "x", "corners", fill_corners},
    {"act.unary", "x", "ordinary", fill_ordinary},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {1, 0, "format.decode:format=e2m1|e4m3fn,n=256"},
    {2, 0, "format.decode:format=" ALL_ELEMENTS "|int8,to=*,n=256"},
    {2, 0, "format.decode:format=e2m1,packed=1,to=*,n=128"},
    {2, 0, "format.decode:format=e4m3fn|e5m2,nan=ones,to=*,n=256"},
    {2, 0, "format.decode:format=e2m1|e4m3fn|e5m2,zero=positive,n=256"},
    {2, 0, "format.decode:format=*,to=*,nan=*,zero=*,n=257"},
    {2, 0, "format.decode:format=e2m1,packed=1,to=*,nan=*,zero=*,n=129"},
    {2, 0, "format.classify:format=*,n=256"},
    {1, 0, "format.e8m0_decode:rule=ocp,n=256"},
    {2, 0, "format.e8m0_decode:rule=*,to=*,n=256"},
    {2, 0, "format.e8m0_encode:rule=*,from=*,sat=*,n=997,data=powers|corners"},
    {3, 0, "format.e8m0_encode:rule=*,from=*,sat=*,n=9973"},
    {1, 0, "format.encode:format=e2m1|e4m3fn,n=1024,data=ties"},
    {2, 0,
     "format.encode:format=*,from=f32|bf16,tie=rne|rz|rna|rnz,sat=*,"
     "n=1021,data=ties"},
    {2, 0, "format.encode:format=e2m1,from=f32|bf16,packed=1,n=1022,data=ties"},
    {2, 0, "format.encode:format=*,from=*,n=509,data=random|corners"},
    {2, 0,
     "format.encode:format=*,tie=sr,bits=1|8|13|32,n=1021,"
     "data=random|ties"},
    {2, 0,
     "format.encode:format=e2m1,dialect=*,tie=rne|rnz,n=509,"
     "data=random|ties|corners"},
    {2, 0,
     "format.encode:format=e4m3fn|e4m3fnuz|e5m2,dialect=cuda|ml_dtypes|hip|"
     "hip_host|microxcaling,sat=*,n=509,data=random|ties|corners"},
    {2, 0,
     "format.encode:format=e2m1,from=bf16|f16,dialect=*,tie=rne|rnz,n=509,"
     "data=ties|corners"},
    {2, 0,
     "format.encode:format=e2m1,packed=1,dialect=*,tie=rne|rnz|sr,n=510,"
     "data=ties"},
    {3, 0,
     "format.encode:format=*,from=*,tie=rne|rz|rna|rnz,sat=*,"
     "dialect=*,n=4093,data=random|ties|corners|ordinary"},
    {1, 0, "format.convert:n=1024"},
    {2, 0,
     "format.convert:from=*,to=bf16|f16,tie=*,nan=*,n=1021,"
     "data=random|ties|corners"},
    {2, 0, "format.convert:from=f64,to=f32,tie=*,n=509,data=random|ties"},
    {3, 0, "format.convert:from=*,to=*,tie=*,nan=*,n=8191"},
    {1, 0, "format.ue4m3:n=256"},
    {1, 0, "format.ue4m3:dir=encode,n=509,data=random|corners|ordinary|ties"},
    {1, 0, "math.lg2:n=256,data=ordinary"},
    {2, 0, "math.lg2:ftz=*,n=509,data=random|powers|ordinary"},
    {1, 0, "math.rcp:n=1024,data=ordinary"},
    {2, 0, "math.rcp:mode=*,n=4093,data=random|powers|corners|ordinary"},
    {3, 0, "math.rcp:mode=*,n=65521"},
    {1, 0, "act.unary:n=1024,data=ordinary"},
    {2, 0,
     "act.unary:fn=exp|sigmoid|silu,to=*,n=1021,"
     "data=random|thresholds|corners|ordinary"},
    {2, 0, "act.unary:fn=silu_alpha,alpha=1.702|-2.5|0,n=1021,data=ordinary"},
    {2, 0, "act.unary:fn=sigmoid|silu|exp|tanh,to=*,n=509,data=ties"},
    {2, 0, "act.unary:fn=exp_u20,n=4093,data=thresholds"},
    {2, 0, "act.unary:fn=*,ftz=*,n=509,data=random|thresholds|ordinary"},
    {2, 0, "act.unary:fn=exp2,to=*,ftz=*,n=296,data=powers"},
    {2, 0,
     "format.encode:dialect=microxcaling,format=*,from=f32,tie=rne|rz|rna,"
     "n=504,data=powers"},
    {3, 0, "act.unary:fn=*,to=*,n=65521,data=random|thresholds"},
    {0, 0, NULL},
};

const case_family cases_format = {"format", fills, grid};
