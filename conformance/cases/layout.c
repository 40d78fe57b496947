/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts.  Every element says where it was: bytes are coded by position, so
 * that any two near each other differ; tags spell the index itself, a byte or
 * a nibble of it at a time; indices walk over the whole range.  Each layout and
 * each conversion has its lines in layout.cases.
 */
#include "data/fills.h"

#include <stddef.h>
#include <string.h>

/* Byte k of the index of each element, "tagK"; wide elements hold all of it. */
static void fill_tag(const test_case *c, host_tensor *t, prng *rng)
{
    const unsigned k = (unsigned)(c->data[3] - '0');
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, dtype_bytes(t->dtype) > 1 ? i : i >> (8 * k) & 255);
    }
}

/* Hexadecimal digit k of the index of each nibble, "nibK". */
static void fill_nibbles(const test_case *c, host_tensor *t, prng *rng)
{
    const unsigned k = (unsigned)(c->data[3] - '0');
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t low = 2 * i >> (4 * k) & 15;
        const uint64_t high = (2 * i + 1) >> (4 * k) & 15;
        tensor_store(t, i, high << 4 | low);
    }
}

/* Powers of two (floats) or scale bytes, coded by position; neighbours differ
   by more than one. */
static void fill_powers(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->rank == 0 ? 1 : t->shape[t->rank - 1];
    const int is_float = t->dtype == MXO_F32 || t->dtype == MXO_BF16;
    const int shift = is_float ? dtype_format(t->dtype)->mbits : 0;
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 251);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t code = (start + i % cols * 7 + i / cols * 13) % 251;
        tensor_store(t, i, code << shift);
    }
}

/* How many rows group i of n has: now and then none, but not the first; of
   data=ordinary a share of those that are left, and all of them the last; of
   data=crowd all but one, which the first has, and the others none. */
static uint64_t draw_size(const test_case *c, prng *rng, uint64_t i, uint64_t n,
                          uint64_t left)
{
    const uint64_t kind = prng_below(rng, 4);
    const uint64_t some = prng_below(rng, left + 1);

    if (strcmp(c->data, "ordinary") == 0) {
        return i + 1 == n ? left : some % (2 * left / (n - i) + 1);
    }
    if (strcmp(c->data, "crowd") == 0) {
        return i == n / 2 ? left : i == 0 && left > 0;
    }
    if (i == 0) {
        return left < 2 ? left : 1 + some % (left - 1);
    }
    return kind == 0 ? 0 : some;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Sizes of groups, or ends, that fit the rows of x. */
static void fill_groups(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t gran = case_count(c, "gran", 1);
    const uint64_t ends_align = case_count(c, "ends_align", 0);
    const int in_place = strcmp(case_value(c, "rule"), "in_place") == 0;
    const uint64_t n = tensor_elems(t);
    uint64_t left = case_dim(c, "rows");
    uint64_t end = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t start = round_up(end, ends_align == 0 ? 1 : ends_align);
        if (in_place) {
            const uint64_t all = case_dim(c, "rows");
            left = start < all ? all - start : 0;
        }
        const uint64_t rows = draw_size(c, rng, i, n, left);
        const uint64_t short_by = prng_below(rng, gran);
        const uint64_t size = rows == 0 ? 0 : rows * gran - short_by;
        left -= rows;
        end = start + size;
        tensor_store(t, i, ends_align == 0 ? size : end);
    }
}

/* Groups of no row, of one and of two, as far as there are rows. */
static void fill_few_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_input = strcmp(t->name, "groups") == 0;
    const uint64_t align = case_count(c, "align", 1);
    const uint64_t rows =
        is_input ? case_dim(c, "rows") : case_count(c, "total", 0) / align;
    const uint64_t n = tensor_elems(t);
    uint64_t left = rows;

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t size = i % 3 < left ? i % 3 : left;
        left -= is_input ? size : size > 0;
        tensor_store(t, i, size);
    }
}

/* Positive numbers below the least normal one. */
static void fill_subnormal(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, 1 + prng_below(rng, 0x7fffff));
    }
}

/* Sizes whose groups fit the buffer of layout.groups. */
static void fill_sizes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t align = case_count(c, "align", 1);
    const uint64_t total = case_count(c, "total", 0);
    const uint64_t n = tensor_elems(t);
    uint64_t end = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t start = round_up(end, align);
        const uint64_t size =
            draw_size(c, rng, i, n, start < total ? total - start : 0);
        end = start + size;
        tensor_store(t, i, size);
    }
}

/* Indices: edges, the ends of the range, beyond it, and draws. */
static void fill_positions(const test_case *c, host_tensor *t, prng *rng)
{
    /* 2^k - 1, 2^k, 2^k + 1: 2^31 and 2^32 elements or bytes, in units of
       elements of four bytes down to bits */
    static const int powers[] = {29, 30, 31, 32, 33, 34, 35};
    const uint64_t units = case_count(c, "experts", 0) *
                           case_count(c, "rows", 0) * case_count(c, "cols", 0);
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t high = prng_below(rng, 1u << 30);
        const uint64_t low = prng_below(rng, 1u << 30);
        const uint64_t draw = high << 30 | low;
        if (i < 3 * sizeof powers / sizeof powers[0]) {
            tensor_store(t, i, (UINT64_C(1) << powers[i / 3]) + i % 3 - 1);
        } else if (i % 8 == 1) {
            tensor_store(t, i, i % 16 == 1 ? 0 : UINT64_MAX);
        } else if (i % 2 == 0 || units == 0) {
            tensor_store(t, i, draw % ((i % 4 == 0 ? 2 : 9) * units + 64));
        } else {
            tensor_store(t, i, units - 1 - draw % (units < 64 ? units : 64));
        }
    }
}

/* Dimensions and ranks. */
static void fill_small(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_rank = strcmp(t->name, "tp") == 0;

    (void)c;
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, 1 + prng_below(rng, is_rank ? 16 : 8192));
    }
}

static const fill_row fills[] = {
    {"layout.apply", "x", "random", fill_random},
    {"layout.apply", "x", "coded", fill_index_coded},
    {"layout.apply", "x", "powers", fill_powers},
    {"layout.apply", "x", "tag0", fill_tag},
    {"layout.apply", "x", "tag1", fill_tag},
    {"layout.apply", "x", "tag2", fill_tag},
    {"layout.apply", "x", "nib0", fill_nibbles},
    {"layout.apply", "x", "nib1", fill_nibbles},
    {"layout.apply", "x", "nib2", fill_nibbles},
    {"layout.apply", "x", "nib3", fill_nibbles},
    {"layout.convert", "*_input_scale", "faint", fill_subnormal},
    {"layout.convert", "*", "faint", fill_random},
    {"layout.convert", "*", "random", fill_random},
    {"layout.convert", "*", "coded", fill_index_coded},
    {"layout.grouped", "groups", "few", fill_few_rows},
    {"layout.grouped", "groups", "*", fill_groups},
    {"layout.grouped", "x", "powers", fill_powers},
    {"layout.grouped", "x", "few", fill_powers},
    {"layout.grouped", "x", "ordinary", fill_powers},
    {"layout.grouped", "x", "crowd", fill_powers},
    {"layout.groups", "sizes", "few", fill_few_rows},
    {"layout.groups", "sizes", "random", fill_sizes},
    {"layout.groups", "sizes", "ordinary", fill_sizes},
    {"layout.groups", "sizes", "crowd", fill_sizes},
    {"layout.index", "at", "random", fill_positions},
    {"layout.record", "scale", "corners", fill_corners},
    {"layout.record", "codes", "corners", fill_random},
    {"layout.record", "*", "random", fill_random},
    {"layout.tp_pad", "*", "random", fill_small},
    {NULL, NULL, NULL, NULL},
};

#define BYTES "layout=vllm.as_is,dtype=u8,"
#define PACKED_UE8M0 \
    "layout=deepgemm.mn_major_tma_aligned_packed_ue8m0,dtype=f32,"
#define EIGHT "ggml.mxfp4_x8|ggml.ik_mxfp4_r8"
#define RECORDS ",data=random|corners"

static const grid_row grid[] = {
    {1, 0, "layout.apply:experts=1|3,rows=128|130|31,cols=4|5|90,data=coded"},
    {2, 0,
     "layout.apply:dir=inverse,experts=2,rows=256,cols=8,keep_rows=0|130,"
     "keep_cols=0|5"},
    {2, 0, "layout.apply:dtype=*,experts=2,rows=130,cols=5"},
    {2, 0, /* every pattern, zeros and NaN among them, whose value changes */
     "layout.apply:layout=vllm.bias_f32|vllm.bias_f32_deinterleaved|"
     "vllm.bias_f32_interleaved,dtype=bf16,experts=1,rows=65540,cols=1,"
     "data=tag0"},
    {2, 0,
     "layout.apply:layout=quark.mxfp4_17_scale,dtype=e8m0,experts=2,rows=64,"
     "cols=8,data=tag0"},
    {2, 0, /* 8 MiB and more: stores past the caches, threads in parts */
     "layout.apply:layout=deepgemm.interleave_weights|ggml.mxfp4_scale|"
     "aiter.e8m0_shuffle|aiter.shuffle_scale_f4|triton.strided_repack_k_to_n|"
     "aiter.interleave_gate_up_rows|marlin.scale,experts=3,rows=3072,"
     "cols=1024"},
    {2, 0,
     "layout.apply:layout=aiter.e8m0_shuffle|aiter.interleave_gate_up_rows,"
     "dir=inverse,experts=3,rows=3072,cols=1024"},
    {2, 0, /* by tiles, and by runs that begin within a line */
     "layout.apply:layout=cutlass.sm90_deinterleave_scales_rev1|"
     "triton.strided_repack_k_to_n|humming.bias,experts=3,rows=1000,"
     "cols=3000"},
    {1, 0,
     "layout.convert:conversion=identity|trtllm_gptoss,experts=3,inter=128,"
     "hidden=128,data=coded"},
    {2, 0, "layout.convert:experts=1,inter=128,hidden=384,input_scale=*"},
    {2, 0,
     "layout.convert:conversion=identity,experts=2,inter=32,hidden=96,"
     "input_scale=1,data=faint"},
    {2, 0, /* refused: groups are rows of one matrix */
     "layout.grouped:experts=3,rows=12,cols=5,n=2,data=powers"},
    {2, 0,
     "layout.convert:conversion=identity,experts=2,inter=32,hidden=96,bias=*,"
     "scale=*,"
     "input_scale=*"},
    {1, 0,
     "layout.grouped:experts=1,rows=1|37|300,cols=5|16,n=1|4,data=powers"},
    {1, 0,
     "layout.grouped:layout=deepgemm.mn_major_tma_aligned_packed_ue8m0,"
     "dtype=f32,rule=in_place,ends_align=32,experts=1,rows=160|9,cols=6|4,n=3,"
     "data=powers"},
    {1, 0,
     "layout.grouped:layout=deepgemm.mn_major_tma_aligned_packed_ue8m0,"
     "dtype=f32,rule=repeat,gran=128,align=1,blocks=200,experts=1|2,rows=2,"
     "cols=4|1,data=powers"},
    {1, 0,
     "layout.grouped:layout=deepgemm.k_grouped_packed_ue8m0,dtype=f32,"
     "align=4,gran=32|128,ends_align=0|128,experts=1,rows=15|5,cols=8|12,n=3,"
     "data=powers"},
    {2, 12,
     "layout.grouped:layout=vllm.as_is,dtype=u8,rule=compact,gran=1|3|32,"
     "align=2|8|64,ends_align=0|1|5,experts=1,rows=1|2|64|129,cols=1|7,"
     "n=1|2|9,data=powers"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,rule=repeat,gran=1|2|7,"
     "experts=3,rows=4,cols=9,data=powers"},
    {1, 0, "layout.groups:align=1|32|128,total=1024|160,n=1|3|8"},
    {2, 0, /* buffers that are full, of one group or of shares */
     "layout.groups:align=1|32|128,total=160|1024,n=2|17,"
     "data=ordinary|crowd"},
    {2, 0, "layout.groups:align=1|128,total=66003,n=33|128|300,data=ordinary"},
    {2, 0,
     "layout.grouped:" BYTES "align=1|8,experts=1,rows=1|2|37,cols=5,"
     "n=1|2|17,data=ordinary|crowd"},
    {2, 0, /* many groups, rows and columns at once */
     "layout.grouped:experts=1,rows=300,cols=288,n=20,data=ordinary|crowd"},
    {2, 0,
     "layout.grouped:" BYTES "gran=1|3,align=4,experts=1,rows=333,cols=301,"
     "n=33,data=ordinary|crowd|few"},
    {2, 0,
     "layout.grouped:" PACKED_UE8M0 "align=4,experts=1,rows=333,cols=300,n=33,"
     "data=ordinary|crowd"},
    {2, 0,
     "layout.grouped:" PACKED_UE8M0 "rule=in_place,ends_align=4,experts=1,"
     "rows=333,cols=260,n=33,data=ordinary"},
    {2, 0,
     "layout.grouped:layout=deepgemm.k_grouped_packed_ue8m0,dtype=f32,gran=32,"
     "align=4,experts=1,rows=333,cols=264,n=33,data=ordinary"},
    {2, 0,
     "layout.grouped:" BYTES "rule=repeat,gran=2,experts=20,rows=70,cols=301,"
     "data=powers"},
    {2, 0,
     "layout.grouped:" PACKED_UE8M0 "rule=repeat,gran=3,align=1,experts=20,"
     "rows=70,cols=261,data=powers"},
    /* one record, a few, and many of them in rows of many experts */
    {2, 0,
     "layout.record:record=ggml.mxfp4|quark.mxfp4_17,experts=1,rows=1,cols=16,"
     "groups=1" RECORDS},
    {2, 0,
     "layout.record:record=ggml.mxfp4|quark.mxfp4_17,experts=1,rows=1,cols=32,"
     "groups=2" RECORDS},
    {2, 0,
     "layout.record:record=ggml.mxfp4|quark.mxfp4_17,experts=20,rows=70,"
     "cols=272,groups=17" RECORDS},
    {2, 0,
     "layout.record:record=ggml.mxfp4_x4,experts=1,rows=4,cols=16,groups="
     "1" RECORDS},
    {2, 0,
     "layout.record:record=ggml.mxfp4_x4,experts=20,rows=68,cols=272,groups="
     "17" RECORDS},
    {2, 0,
     "layout.record:record=" EIGHT
     ",experts=1,rows=8,cols=16,groups=1" RECORDS},
    {2, 0,
     "layout.record:record=" EIGHT
     ",experts=20,rows=72,cols=272,groups=17" RECORDS},
    {2, 0,
     "layout.record:record=ggml.nvfp4,scale=e4m3,experts=1,rows=1,cols=32,"
     "groups=4" RECORDS},
    {2, 0,
     "layout.record:record=ggml.nvfp4,scale=e4m3,experts=20,rows=70,cols=288,"
     "groups=36" RECORDS},
    {2, 0,
     "layout.record:record=ggml.cuda_nvfp4,scale=e4m3,experts=1,rows=1,"
     "cols=8,groups=1" RECORDS},
    {2, 0,
     "layout.record:record=ggml.cuda_nvfp4,scale=e4m3,experts=20,rows=70,"
     "cols=288,groups=36" RECORDS},
    {2, 0,
     "layout.record:record=ggml.cuda_mxfp4,experts=1,rows=1,cols=16,groups="
     "1" RECORDS},
    {2, 0,
     "layout.record:record=ggml.cuda_mxfp4,experts=20,rows=70,cols=304,"
     "groups=19" RECORDS},
    {2, 0,
     "layout.record:record=ggml.q8_0,codes=i8,scale=f16,experts=1,rows=1,"
     "cols=32,groups=1" RECORDS},
    {2, 0,
     "layout.record:record=ggml.q8_0,codes=i8,scale=f16,experts=20,rows=70,"
     "cols=544,groups=17" RECORDS},
    {1, 0, "layout.index:rows=5760|1,cols=90|1,n=97"},
    {2, 0,
     "layout.index:dir=*,experts=128,rows=65537|131072,cols=511|512,n=997"},
#include "layout_cases.inc"
    {0, 0, NULL},
};

const case_family cases_layout = {"layout", fills, grid};
