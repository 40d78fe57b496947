/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisers where one step decides (data=verges): a row is ruled by one
 * number, the ends of the types' exponents and the numbers next to a rule's
 * boundaries; global scales by which a block's scale or an element is next to
 * a tie.  Beside them every element with every rule, odd rows and indices of
 * more than 16 bits.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define COUNT(n) (sizeof(n) / sizeof(n)[0])

static uint64_t cols_of(const host_tensor *t)
{
    return t->shape[t->rank - 1];
}

static double of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static uint32_t bits_of(double x)
{
    const float f = (float)x;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Maxima: zero; the ends of binary32, binary16 and their neighbours; 1, 6 and
   roots of 2, whose logarithms are a tie or next to one; six times a tie of
   E4M3. */
static const uint32_t maxima[] = {
    0,          1,          0x40,       0x00400000, 0x007fffff, 0x00800000,
    0x00800001, 0x00a00000, 0x00c00000, 0x00ffffff, 0x01000000, 0x01400000,
    0x01800000, 0x02000000, 0x7e000000, 0x7e7fffff, 0x7e800000, 0x7effffff,
    0x7f000000, 0x7f400000, 0x7f600000, 0x7f7fffff, 0x7f800000, 0x3f800000,
    0x3f800001, 0x3f7fffff, 0x40c00000, 0x40c00001, 0x40bfffff, 0x3fb504f2,
    0x3fb504f3, 0x3fb504f4, 0x403504f3, 0x40cc0000, 0x40cc0001, 0x40cbffff,
    0x40e40000, 0x40e3ffff, 0x44b504f3, 0x453504f3, 0x33800000, 0x34000000,
    0x38800000, 0x38900000, 0x39000000, 0x477fe000, 0x477ff000, 0x43e00000,
    0x43e80001, 0x3c000000};

/* Of a row: the maximum, at each place in turn, and fractions of it, zeros of
   both signs and, in every third row, a NaN below zero. */
static void fill_verge_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = cols_of(t);
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = i / cols;
        const uint64_t col = i % cols;
        const double most = of_bits(maxima[(r + col / 32 * 7) % COUNT(maxima)]);
        const uint64_t at = (col + r * 7) % 32;
        const double part = (double)(32 - at) / 32;

        fill_put(t, i, col % 2 == 0 ? most * part : -most * part);
        if (at == 29 || at == 30) {
            fill_put(t, i, col % 2 == 0 ? 0.0 : -0.0);
        } else if (col < 32 && at == 11 && r % 3 == 2) {
            tensor_store(t, i, dtype_sign(t->dtype) | dtype_nan(t->dtype));
        }
    }
}

static const double ties[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};

/* The nearest binary32 number, and its neighbours in turn. */
static uint32_t beside(double x, uint64_t turn)
{
    return bits_of(x) + (uint32_t)(turn % 3) - 1;
}

/* A block's maximum, short enough for any type, and its tie of E4M3. */
static double row_most(uint64_t r)
{
    return 1 + (double)(r * 5 % 8) / 8;
}

enum { GIVEN = 18, VERGE_ROWS = 96 };

/* Rows by turns: global scales of every kind; those by which the scale is next
   to a tie; and then elements, of binary32 or of E4M3. */
static uint32_t row_global(const test_case *c, uint64_t r)
{
    static const uint32_t given[GIVEN] = {
        0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00400000,
        0x80400000, 0xbf800000, 0xc5000000, 0x7f000000, 0x7e800000, 0x00800000,
        0x3f800001, 0x7b800000, 0xfb800000, 0x03800000, 0xbf800001, 0x7f7fffff};
    const int is_e4m3 = strcmp(case_value(c, "from"), "e4m3") == 0;
    const uint64_t step = r / 2;
    const double tie = (8.5 + (double)(r * 3 % 8)) / 8;
    const double half = 1.5 * ties[r % COUNT(ties)];

    if (r < GIVEN) {
        return given[r];
    }
    if (r % 2 == 0) {
        return beside(tie * 6 / row_most(r), r / 2);
    }
    return is_e4m3 ? beside(half / (half * (1 + (double)step / 1024)), r / 14)
                   : 0x3f800001 + (uint32_t)(r * 0x2f1b5) % 0x7f0000;
}

static void fill_verge_global(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, row_global(c, i));
    }
}

/* 32 ordinary numbers of a row, and as many that are next to nothing. */
static double verge_element(uint64_t r, uint64_t col)
{
    const double most = row_most(r);
    const double part = (double)(16 - col % 16) / 16;
    const double sign = col % 3 == 1 ? -1 : 1;

    if (col >= 48 && r % 3 == 0) {
        return 0;
    }
    if (col % 16 == 14) {
        return col % 32 == 14 ? 0.0 : -0.0;
    }
    return sign * most * part * (col < 32 ? 1 : col < 48 ? 0x1p-125 : 0x1p-130);
}

static void fill_verge_blocks(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = cols_of(t);
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = i / cols;
        const uint64_t col = i % cols;
        const double tie = ties[col % COUNT(ties)];
        const double global = of_bits(row_global(c, r));

        fill_put(t, i, verge_element(r, col));
        if (r < GIVEN || r % 2 == 0 || col >= 32) {
            continue;
        }
        if (t->dtype == MXO_E4M3) {
            fill_put(t, i, col % 16 == 0 ? 1.5 : ties[r % COUNT(ties)] / 4);
        } else if (t->dtype == MXO_F32) {
            tensor_store(t, i,
                         col % 16 == 0 ? bits_of(6 / global)
                                       : beside(tie / global, col));
        }
    }
}

static void fill_verge_scale(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x00400000, 1,          0x00800000,
                                    0xbf800000, 0x7fc00000, 0x7f7fffff,
                                    0x80000000, 0x3eaaaaab};

    (void)rng;
    tensor_store(t, 0, bits[case_dim(c, "rows") % COUNT(bits)]);
}

static void fill_verge_bytes(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t bytes[] = {0, 110, 1, 111, 2, 127, 109, 126};
    const int is_low = case_dim(c, "rows") == 2;
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bytes[i % COUNT(bytes)] & (is_low ? 15 : 255));
    }
}

/* A NaN of either sign whose payload has one bit, or two, beside the first. */
static uint64_t verge_nan(const host_tensor *t, uint64_t i)
{
    const unsigned mbits = (unsigned)dtype_format(t->dtype)->mbits;
    const uint64_t one = 1;
    const uint64_t payload = one << i % mbits | (i % 2 == 0 ? one : 0);
    const uint64_t sign = i / 3 % 2 == 1 ? dtype_sign(t->dtype) : 0;

    return sign | dtype_nan(t->dtype) | payload;
}

/* Full mantissas that lie so low that next to every random word decides, and
   NaN between them. */
static void fill_verge_low(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double own = (double)prng_below(rng, 1 << 30) * 0x1p-30;
        const double part = i % 8 == 7 ? 2 - 0x1p-23 : 1 + own;
        const double x = ldexp(i % 8 == 3 ? -part : part, -(int)(i % 96));

        if (i % 4 == 1) {
            tensor_store(t, i, verge_nan(t, i / 4));
        } else if (t->dtype == MXO_F64) {
            uint64_t bits;
            memcpy(&bits, &x, sizeof bits);
            tensor_store(t, i, bits | 1);
        } else {
            fill_put(t, i, x);
        }
    }
}

/* Numbers of which a function is nearer to a tie of binary32 than of 2^45
   others: of exp, exp2, tanh, the sigmoid, silu; then one whose tanh in
   binary64 the fourth term of a series decides; then ties, where half of them
   is the result; then ends of binary64's exponentials. */
static void fill_verge_hard(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {
        0x3d1a274e, 0xc13d6631, 0x3f5bc24c, 0xbffc842d, 0xbda7d6c2, 0xbed8750d,
        0x413cd272, 0xc1532d8e, 0xbffff475, 0x3e89645a, 0xbc21e457, 0xc0c7b05f,
        0xbe150cd4, 0xbf325d3b, 0xbeb018d6, 0xc0807096, 0x3fa053d1, 0x414ef299,
        0xbcc6739c, 0xc01b967d, 0x4116eb30, 0xbc1b298c, 0x402f1176, 0xc13c8811,
        0xbe8f45a6, 0x3cf75b06, 0x3d10b23a, 0x3db441e7, 0x3f27a556, 0x397a69bb,
        0x3f808000, 0x3f818000, 0x3f801000, 0x3f803000, 0x44304000, 0xc4304000,
        0xc4390000, 0x447a2000, 0xc485d000, 0x3b7f2e85, 0x3b7f15d9, 0x3b799268,
        0x397fffff, 0x397ffffe, 1,          3};
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bits[i % COUNT(bits)]);
    }
}

/* The same of the logarithm, and what it has no number for. */
static void fill_verge_log(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {
        0x3feddffd, 0x3f0f0703, 0x3fcaa397, 0x3fff32b8, 0x4049b40e, 0x402c68df,
        0x3fb4dbe5, 0xff800000, 0x7f800000, 0x7fc00001, 0x80000000, 0,
        0x00000001, 0x807fffff, 0xbf800000, 0x3f800000};
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bits[i % COUNT(bits)]);
    }
}

static void fill_verge_words(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t low = i % 3 == 0 ? 0 : prng_below(rng, 1 << 12);
        tensor_store(t, i, 0xffffffff - low);
    }
}

/* Gates and ups over all exponents of small numbers, at the ends of an
   exponential in each type, and beyond them. */
static void fill_verge_gated(const test_case *c, host_tensor *t, prng *rng)
{
    static const double given[] = {
        0.0,   -0.0,   -86.5,   -87.4,    -88.1, -88.4,  -88.6, -88.75, -103.5,
        87.5,  88.2,   88.8,    61,       -700,  -744,   -750,  -1100,  -1999,
        1e300, -1e300, 1e-300,  1,        -1,    2,      7,     1e38,   -1e38,
        -51.8, -52.0,  0x1p-60, 0x1p-130, 170,   -126.5, -127.5};
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = i * 37 + i / 59;
        const int lg = (int)(at % 34) - 31;
        const double part = 1 + (double)(at * 11 % 256) / 256;

        fill_put(t, i,
                 i % 3 == 2 ? given[at % COUNT(given)]
                            : ldexp(i % 2 == 0 ? part : -part, lg));
    }
}

/* Gates of 64, whose sigmoid is 1, and ups by which a group's maximum is 448
   times a power of two, or next to it, and elements are next to ties. */
static void fill_verge_groups(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = cols_of(t);
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = i / cols;
        const uint64_t col = i % cols;
        const uint32_t fine = (uint32_t)(r < 6 ? r : r * 0x2f1b3);
        const uint32_t most = 0x40e00000 + fine + ((uint32_t)(r % 4) << 23);
        const float scale = (float)(64 * of_bits(most)) / 448.0F;
        const double tie = 32 * (8.5 + (double)(col % 8)) / 8;

        if (col < cols / 2) {
            fill_put(t, i, 64);
        } else if (t->dtype == MXO_F32) {
            tensor_store(t, i,
                         col % 32 == 0 ? most
                                       : beside(tie * (double)scale / 64, col));
        } else {
            fill_put(t, i, ldexp(col % 32 == 0 ? 7 : tie / 64, (int)(r % 4)));
        }
    }
}

static const fill_row fills[] = {
    {"act.glu", "x", "verges", fill_verge_gated},
    {"act.glu", "gate", "verges", fill_verge_gated},
    {"act.glu", "up", "verges", fill_verge_gated},
    {"act.glu_quant", "x", "verges", fill_verge_groups},
    {"act.glu_quant", "gate", "verges", fill_verge_gated},
    {"act.glu_quant", "up", "verges", fill_verge_gated},
    {"act.unary", "x", "verges", fill_verge_hard},
    {"format.encode", "x", "verges", fill_verge_low},
    {"format.encode", "rand", "verges", fill_verge_words},
    {"math.lg2", "x", "verges", fill_verge_log},
    {"quant.engine", "x", "verges", fill_verge_rows},
    {"quant.group", "x", "verges", fill_verge_rows},
    {"quant.mx", "x", "verges", fill_verge_rows},
    {"quant.mxfp4_to_nvfp4", "scale", "verges", fill_verge_bytes},
    {"quant.nvfp4", "global_scale", "verges", fill_verge_global},
    {"quant.nvfp4", "x", "verges", fill_verge_blocks},
    {"quant.nvfp4_engine", "x", "verges", fill_verge_rows},
    {"quant.q8_0", "x", "verges", fill_verge_rows},
    {"quant.qdq", "x", "verges", fill_verge_rows},
    {"quant.static", "scale", "verges", fill_verge_scale},
    {"quant.static", "x", "verges", fill_corners},
    {NULL, NULL, NULL, NULL},
};

#define SHORT_RULES                                                           \
    "aiter_dynamic|triton35_up|triton35_down|triton35_kernel_up|triton36_up|" \
    "triton36_down"

static const grid_row grid[] = {
    {2, 0, "quant.mx:element=*,rule=*,from=f32,rows=2,cols=96,data=ties|amax"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn|e5m2,rule=*,tie=rne|rna|rnz|rz,from=f32,"
     "rows=2,cols=96,data=ties"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn|e5m2,rule=*,from=*,rows=50,cols=32,"
     "data=verges"},
    {2, 0,
     "quant.mx:element=e4m3fn|e5m2,rule=aiter_torch_rounddown|"
     "aiter_torch_even|aiter_dynamic,tie=rz|rna|rnz,from=f32,rows=50,cols=32,"
     "data=verges"},
    {2, 0,
     "quant.mx:element=e2m3|e4m3fn|e5m2|int8,rule=" SHORT_RULES
     ",rows=2,cols=31|33|35|63,data=ordinary"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn,sf_layout=aiter_linear|aiter|aiter_a16w4,"
     "align=128|256,rows=64,cols=96|160,data=amax"},
    {2, 0, "quant.engine:rule=*,from=*,rows=50,cols=32,data=verges"},
    {2, 0,
     "quant.engine:rule=mlx,element=e4m3fn,from=*,rows=50,cols=32,"
     "data=random|corners|verges"},
    {2, 0, "quant.nvfp4_engine:rule=*,from=*,rows=50,cols=32|64,data=verges"},
    {2, 0, "quant.qdq:rule=*,from=*,rows=50,cols=32,data=verges"},
    {2, 0, "quant.q8_0:rows=50,cols=32,data=verges"},
    {2, 0,
     "quant.group:rule=*,element=e4m3fn|e2m1,from=*,pow2=*,group_cols=16,"
     "rows=50,cols=32,data=verges"},
    {2, 0,
     "quant.group:rule=*,element=e2m1|e4m3fn,scale=packed|packed_mn,pow2=1,"
     "group_cols=32,rows=5,cols=160|640,data=ordinary"},
    {2, 0,
     "quant.nvfp4:from=bf16|f16|e4m3,math=fast|ieee|vllm|exact,rcp=*,"
     "inverted=*,gscales=96,rows=96,cols=64,data=verges"},
    {2, 0,
     "quant.nvfp4:from=e4m3,scale=e8m0,rcp=*,inverted=*,gscales=96,rows=96,"
     "cols=64,data=verges"},
    {2, 0,
     "quant.nvfp4:from=f32,math=trtllm_gen,rcp=*,inverted=*,gscales=96,"
     "rows=96,cols=64,data=verges"},
    {2, 0,
     "quant.static:element=*,from=*,apply=*,rows=1|2|3|4|5|6|7|8,cols=48,"
     "data=verges"},
    {2, 0,
     "quant.static:element=*,from=*,apply=*,nan=*,rows=3,cols=96,data=random"},
    {2, 0,
     "quant.mxfp4_to_nvfp4:lossless=*,k_max=-128|0|127,rows=3,cols=96,"
     "data=verges"},
    {2, 0, "quant.mxfp4_to_nvfp4:k_max=-108,rows=2,cols=96,data=verges"},
    {2, 0, "quant.group:group_rows=0,group_cols=0,rows=300,cols=32"},
    {2, 0, "quant.group:group_cols=1,rows=2,cols=33000,data=ordinary"},
    {2, 0,
     "quant.group:rule=vllm_group,group_cols=1,pow2=1,scale=packed|packed_mn,"
     "rows=2,cols=132000,data=ordinary"},
    {2, 0,
     "quant.nvfp4:sf_layout=linear|128x4,rows=65600,cols=16,data=ordinary"},
    {2, 0, "quant.requant:rows=65600,cols=32"},
    {2, 0, "quant.engine:rule=torchao_even,rows=65600,cols=32,data=ordinary"},
    {2, 0, "quant.mxfp4_to_nvfp4:k_max=127,rows=65600,cols=32,data=random"},
    {2, 0, "dequant.nvfp4_engine:rows=65600,cols=16,data=random"},
    {2, 0, "dequant.nvfp4:rows=65600,cols=16,data=random"},
    {2, 0, "format.decode:packed=1,zero=*,nan=*,to=*,n=64"},
    {2, 0,
     "format.encode:format=*,from=*,tie=sr,bits=32|31|8|1,sat=*,n=384,"
     "data=verges"},
    {2, 0,
     "format.encode:dialect=*,format=*,from=*,tie=rne|rz|sr,sat=*,n=192,"
     "data=verges"},
    {2, 0,
     "format.encode:dialect=*,format=e2m1,packed=1,tie=rne|rnz,n=192,data="
     "verges"},
    {2, 0, "dequant.mx_table:codes=40,scales=256"},
    {2, 0, "quant.requant_table:codes=16,offsets=256"},
    {2, 0, "dequant.group:group_cols=1,rows=66000,cols=1,data=random"},
    {2, 0, "dequant.mx:element=e4m3fn,rows=65600,cols=32,data=random"},
    {2, 0, "format.encode:tie=rne|sr,n=66000,data=random"},
    {2, 0, "format.encode:packed=1,n=131100,data=random"},
    {2, 0, "format.decode:packed=*,n=66000,data=random"},
    {2, 0, "format.convert:from=*,n=66000,data=random"},
    {2, 0, "format.classify:n=66000"},
    {2, 0, "format.e8m0_decode:n=66000"},
    {2, 0, "format.e8m0_encode:n=66000,data=random"},
    {2, 0, "format.ue4m3:dir=*,n=66000"},
    {2, 0, "quant.scale:n=66000"},
    {2, 0, "quant.mx_exponent:n=66000,data=random"},
    {2, 0, "quant.scaled:rows=1,cols=66048,data=ordinary"},
    {2, 0, "quant.q8_0:rows=1,cols=66048,data=ordinary"},
    {2, 0, "quant.static:rows=1,cols=66000,data=ordinary"},
    {2, 0, "act.unary:fn=exp,n=66000,data=ordinary"},
    {2, 0, "act.unary:fn=*,to=*,n=46,data=verges"},
    {2, 0, "act.unary:fn=silu_alpha,alpha=0|-0.5,to=*,n=46,data=verges"},
    {2, 0, "math.lg2:ftz=*,n=30,data=verges"},
    {2, 0, "act.glu:rows=1,cols=66000,data=ordinary"},
    {2, 0, "act.glu_quant:rows=1,cols=66048,data=ordinary"},
    {2, 0,
     "act.glu:dialect=*,from=*,to=f32|f64|bf16,alpha=1|1.702,rows=5,cols=97,"
     "data=verges"},
    {2, 0,
     "act.glu:dialect=situ|situ_vllm|situ_aiter|situ_flashinfer|situ_mega|"
     "situ_b12x,beta=3,linear_beta=0.7|-25,from=f32,to=f32,rows=5,cols=97,"
     "data=verges|ordinary"},
    {2, 0,
     "act.glu:dialect=trtllm_gen,from=f32,to=f32,scale_gate=0.3|0.0037|3,alpha="
     "1.702|0.7,"
     "beta=0.5,rows=3,cols=65,data=ordinary"},
    {2, 0,
     "act.glu:dialect=triton_torch|gpt_oss_torch|vllm_clamp_torch,"
     "limit=3.478125,from=bf16|f16,to=f32,rows=3,cols=65,data=limits"},
    {2, 0,
     "act.glu:dialect=trtllm_gen,from=f32,to=f32,layout=split,"
     "per_expert=limit|all,experts=5,rows=65,cols=64,data=slips"},
    {2, 0,
     "act.glu:per_expert=limit,experts=300,rows=66000,cols=1,data=disjoint"},
    {2, 0,
     "act.glu:dialect=exact|triton,from=f64|f32,to=f64,layout=*,order=*,"
     "rows=3,cols=17,data=verges"},
    {2, 0,
     "act.glu:dialect=exact,from=f64,to=f64,alpha=1|inf|-inf|1e300,"
     "beta=0|-0|1e300|-1e300,limit=none,rows=5,cols=97,data=verges"},
    {2, 0,
     "act.glu:dialect=exact,from=f32|bf16,to=f32|bf16,beta=-0,rows=3,cols=64,"
     "data=corners"},
    {2, 0,
     "act.glu_quant:dialect=*,from=*,group=32,scale=f32|e8m0,pow2=*,rows=40,"
     "cols=64,data=verges"},
    {2, 0,
     "act.glu_quant:dialect=*,from=*,group=32,limit=6.789,rows=5,cols=64,"
     "data=limits"},
    {2, 0, "math.rcp:mode=*,n=66000,data=random"},
    {0, 0, NULL},
};

const case_family cases_verges = {"verges", fills, grid};
