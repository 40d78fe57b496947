/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that must be refused before anything is written: data=stray holds one
 * number that points nowhere, the first past the end, among good ones;
 * data=lost has a map whose every entry does, data=astray one with a single
 * such entry; data=under holds one number below all that mean something,
 * data=unfit one that is no scale, code or constant; data=over sizes that end
 * beyond what there is, by one.  Who reads what lies there gives an answer, and
 * that is the failure.
 */
#include "data/fills.h"

#include <stddef.h>
#include <string.h>

/* Numbers below end, and end itself in one place. */
static void put_stray(host_tensor *t, uint64_t end, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, end == 0 ? 0 : i % end);
    }
    if (n > 0) {
        tensor_store(t, prng_below(rng, n), end);
    }
}

static void fill_stray_id(const test_case *c, host_tensor *t, prng *rng)
{
    const int has_map = case_value(c, "map")[0] == '1';

    put_stray(t, case_dim(c, has_map ? "global" : "experts"), rng);
}

static void fill_stray_pair(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_count(c, "num_experts", 1), rng);
}

static void fill_stray_row(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_dim(c, "rows"), rng);
}

static void fill_stray_expert(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_dim(c, "experts"), rng);
}

static void fill_stray_word(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_dim(c, "vocabulary"), rng);
}

static uint64_t experts_of(const test_case *c)
{
    return strcmp(c->schema->info->name, "moe.sort") == 0
               ? case_count(c, "num_experts", 1)
               : case_dim(c, "experts");
}

/* Every entry is past the experts there are. */
static void fill_lost(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t end = experts_of(c);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, end + i);
    }
}

/* Numbers that point somewhere, and one number below them. */
static void put_under(host_tensor *t, uint64_t end, int64_t under, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    put_stray(t, end, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (tensor_load(t, i) == end) {
            tensor_store(t, i, (uint64_t)under);
        }
    }
}

/* One entry of a map: the first past the experts there are or, of an odd number
   of them, the last before -1, which is none. */
static void fill_astray(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t end = experts_of(c);

    put_under(t, end, end % 2 == 0 ? (int64_t)end : -2, rng);
}

/* -1 is no expert, and legal. */
static void fill_under_pair(const test_case *c, host_tensor *t, prng *rng)
{
    put_under(t, experts_of(c), -2, rng);
}

static void fill_under_row(const test_case *c, host_tensor *t, prng *rng)
{
    put_under(t, case_dim(c, "rows"), -1, rng);
}

static void fill_under_place(const test_case *c, host_tensor *t, prng *rng)
{
    put_under(t, case_dim(c, "rows"), -2, rng); /* -1: there is none */
}

static void fill_under_expert(const test_case *c, host_tensor *t, prng *rng)
{
    put_under(t, case_dim(c, "experts"), -1, rng);
}

static void fill_under_word(const test_case *c, host_tensor *t, prng *rng)
{
    put_under(t, case_dim(c, "vocabulary"), -1, rng);
}

static void fill_under_size(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    put_under(t, 2, -1, rng);
}

static const uint32_t unfit[] = {0, 0x80000000u, 0xbf800000u, 0x7f800000u,
                                 0x7fc00000u};

enum { N_UNFIT = sizeof unfit / sizeof unfit[0], N_SCALARS = 4 };

/* Ones, and in one input, which the number of experts says, one that is no
   positive number. */
static void fill_unfit_scalar(const test_case *c, host_tensor *t, prng *rng)
{
    static const char *const names[N_SCALARS] = {
        "w13_scale_2", "w2_scale_2", "w13_input_scale", "w2_input_scale"};
    const uint64_t experts = case_dim(c, "experts");
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0x3f800000u);
    }
    if (strcmp(t->name, names[experts % N_SCALARS]) == 0) {
        tensor_store(t, prng_below(rng, n),
                     unfit[experts / N_SCALARS % N_UNFIT]);
    }
}

/* The same of the global scales of a layer or of one of its halves. */
static void fill_unfit_global(const test_case *c, host_tensor *t, prng *rng)
{
    static const char *const names[N_SCALARS] = {"g1_scale_c", "g2_alphas",
                                                 "a1_gscale", "g1_alphas"};
    const uint64_t experts = case_dim(c, "experts");
    const char *op = c->schema->info->name;
    const uint64_t which = strcmp(op, "moe.nvfp4_gemm1") == 0 ? 2 + experts % 2
                           : strcmp(op, "moe.nvfp4_gemm2") == 0 ? experts % 2
                                                                : experts % 4;
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0x3f800000u);
    }
    if (strcmp(t->name, names[which]) == 0) {
        tensor_store(t, prng_below(rng, n),
                     unfit[experts / N_SCALARS % N_UNFIT]);
    }
}

/* Exponents just below the largest there may be, and one that is above it, 255
   or, where nothing may be lost, too far below. */
static void fill_unfit_exponent(const test_case *c, host_tensor *t, prng *rng)
{
    enum { BIAS = 127, SPAN = 17, OWN = 128 };
    const int given = (int)case_number(c, "k_max");
    const int k_max = given == -OWN ? 0 : given;
    const uint64_t n = tensor_elems(t);
    const int unfit_exponent = case_value(c, "lossless")[0] == '1'
                                   ? k_max - SPAN - 1
                               : given == -OWN ? OWN
                                               : k_max + 1;

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, (uint64_t)(BIAS + k_max - (int)(i % 3)));
    }
    tensor_store(t, n - 1 - prng_below(rng, n > 1 ? n - 1 : 1),
                 (uint64_t)(BIAS + unfit_exponent));
}

/* Codes of E2M1, and one byte that is none. */
static void fill_unfit_code(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    put_stray(t, 16, rng);
}

/* The last code of a layout's that may be there, and the first that may not;
   of wide ones which bit is too many goes by the number of experts. */
static void put_unfit(const test_case *c, host_tensor *t, int is_back,
                      prng *rng)
{
    static const uint32_t wide[] = {0x3f800001u, 0x3f808000u, 0x3fc00000u,
                                    0xbf800000u};
    const uint64_t n = tensor_elems(t);
    uint64_t good = is_back ? 6 : 249;
    uint64_t bad = is_back ? 5 : 250;

    if (t->dtype == MXO_F32) {
        good = 0x3f800000u;
        bad = wide[(case_dim(c, "experts") - 1) % 4];
    } else if (t->dtype == MXO_E4M3) {
        good = 0x7f;
        bad = 0x80;
    }
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, good);
    }
    if (n > 0) { /* every 36th code of E4M3 is one, the rest of a record gaps */
        const uint64_t at = prng_below(rng, n);
        tensor_store(t, t->dtype == MXO_E4M3 ? at / 36 * 36 : at, bad);
    }
}

static void fill_unfit_layout(const test_case *c, host_tensor *t, prng *rng)
{
    put_unfit(c, t, strcmp(case_value(c, "dir"), "inverse") == 0, rng);
}

static void fill_unfit_row(const test_case *c, host_tensor *t, prng *rng)
{
    put_unfit(c, t, 0, rng);
}

/* Of a layer one tensor's scales, w2's or, of an odd number of experts, w13's:
   the other tensors are good. */
static void fill_unfit_layer(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_odd = case_dim(c, "experts") % 2 == 1;

    if (strcmp(t->name, is_odd ? "w13_scale" : "w2_scale") == 0) {
        put_unfit(c, t, 0, rng);
    } else {
        fill_index_coded(c, t, rng);
        for (uint64_t i = 0; t->dtype == MXO_E8M0 && i < tensor_elems(t); i++) {
            tensor_store(t, i, tensor_load(t, i) % 250);
        }
    }
}

/* All rows belong to groups, so that the bad code is in one. */
static void fill_halves(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t rows = case_dim(c, "rows") * case_count(c, "gran", 1);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, rows * (i + 1) / n - rows * i / n);
    }
}

/* Sizes that end one row beyond the buffer, whose groups begin at multiples of
   align, or without one beyond the input; their sum alone does not tell. */
static void fill_over_size(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_input = strcmp(t->name, "groups") == 0;
    const uint64_t align = case_count(c, "align", 1);
    const uint64_t n = tensor_elems(t);
    const uint64_t room = !is_input ? case_count(c, "total", 0)
                          : case_count(c, "blocks", 0) > 0
                              ? align * case_count(c, "blocks", 0)
                              : 0;
    const uint64_t most = room > 0 ? room : case_dim(c, "rows");
    const int is_apart = room > 0 && n > 1 && most > align;

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0);
    }
    if (n > 0) {
        tensor_store(t, n - 1, is_apart ? most - align + 1 : most + 1);
    }
    if (is_apart) {
        tensor_store(t, 0, 1);
    }
}

/* Experts of rows or tiles, each in turn; the last alone where that might leave
   it without a row, as constants of such an expert count for nothing. */
static void fill_unfit_expert(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t experts = case_dim(c, "experts");
    const int is_each =
        tensor_elems(t) >= experts && strcmp(case_value(c, "gather"), "1") != 0;

    (void)rng;
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i,
                     experts == 0 ? 0
                     : is_each    ? i % experts
                                  : experts - 1);
    }
}

/* Ones, and of the last expert one constant that is no number or, a limit,
   below zero; which, the number of experts says. */
static void fill_unfit_constant(const test_case *c, host_tensor *t, prng *rng)
{
    static const char *const names[] = {"limit", "alpha", "beta"};
    static const uint32_t no_limit[] = {0x7fc00000u, 0xbf800000u, 0xff800000u};
    const uint64_t experts = case_dim(c, "experts");
    const int is_all = strcmp(case_value(c, "per_expert"), "all") == 0;
    const uint64_t which = is_all ? experts % 3 : 0;
    const uint64_t of_limit = (is_all ? experts / 3 : experts) % 3;

    (void)rng;
    for (uint64_t i = 0; i < experts; i++) {
        tensor_store(t, i, 0x3f800000u);
    }
    if (strcmp(t->name, names[which]) == 0) {
        tensor_store(t, experts - 1, no_limit[which == 0 ? of_limit : 0]);
    }
}

static const fill_row fills[] = {
    {"moe.layer", "topk_ids", "stray", fill_stray_id},
    {"moe.gemm*", "topk_ids", "stray", fill_stray_id},
    {"moe.nvfp4_*", "topk_ids", "stray", fill_stray_id},
    {"moe.nvfp4_*", "expert_map", "lost", fill_lost},
    {"moe.sort", "topk_ids", "under", fill_under_pair},
    {"moe.sort", "expert_map", "astray", fill_astray},
    {"moe.finalize", "index", "under", fill_under_place},
    {"moe.finalize", "topk_ids", "astray", fill_astray},
    {"route.topk", "tid2eid", "under", fill_under_expert},
    {"route.topk", "input_ids", "under", fill_under_word},
    {"act.glu", "row", "stray", fill_stray_row},
    {"act.glu", "row", "under", fill_under_row},
    {"act.glu", "expert", "stray", fill_stray_expert},
    {"act.glu", "expert", "under", fill_under_expert},
    {"act.glu", "expert", "unfit", fill_unfit_expert},
    {"act.glu", "limit", "unfit", fill_unfit_constant},
    {"act.glu", "alpha", "unfit", fill_unfit_constant},
    {"act.glu", "beta", "unfit", fill_unfit_constant},
    {"layout.groups", "sizes", "over", fill_over_size},
    {"layout.grouped", "groups", "over", fill_over_size},
    {"layout.groups", "sizes", "under", fill_under_size},
    {"layout.grouped", "groups", "under", fill_under_size},
    {"layout.apply", "x", "unfit", fill_unfit_layout},
    {"layout.grouped", "x", "unfit", fill_unfit_row},
    {"layout.grouped", "groups", "unfit", fill_halves},
    {"layout.convert", "*", "unfit", fill_unfit_layer},
    {"moe.nvfp4_scalars", "*", "unfit", fill_unfit_scalar},
    {"moe.nvfp4_*", "a1_gscale", "unfit", fill_unfit_global},
    {"moe.nvfp4_*", "g1_scale_c", "unfit", fill_unfit_global},
    {"moe.nvfp4_*", "g?_alphas", "unfit", fill_unfit_global},
    {"moe.nvfp4_*", "topk_ids", "unfit", fill_distinct_ids},
    {"quant.mxfp4_to_nvfp4", "scale", "unfit", fill_unfit_exponent},
    {"quant.requant_table", "code", "unfit", fill_unfit_code},
    {"moe.layer*", "expert_map", "lost", fill_lost},
    {"moe.gemm*", "expert_map", "lost", fill_lost},
    {"moe.sort", "topk_ids", "stray", fill_stray_pair},
    {"moe.sort", "expert_map", "lost", fill_lost},
    {"moe.finalize", "index", "stray", fill_stray_row},
    {"route.topk", "tid2eid", "stray", fill_stray_expert},
    {"route.topk", "input_ids", "lost", fill_stray_word},
    {NULL, NULL, NULL, NULL},
};

#define SMALL "tokens=3,topk=2,experts=4,hidden=64,inter=64"
/* Each number that is no scale, in each of four tensors and of two. */
#define OF_EACH "experts=4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23"
#define OF_TWO "experts=4|5|8|9|12|13|16|17|20|21"
static const grid_row grid[] = {
    {1, 0, "moe.layer:profile=exact|MARLIN|TRITON," SMALL ",data=stray"},
    {2, 0, "moe.gemm1:profile=exact|TRITON,stage=*," SMALL ",data=stray"},
    {2, 0, "moe.gemm2:profile=exact|TRITON,stage=*," SMALL ",data=stray"},
    {2, 0,
     "moe.layer:profile=exact|MARLIN|TRITON,map=1,global=9," SMALL
     ",data=stray|lost"},
    {2, 0, "moe.gemm1:map=1,global=9," SMALL ",data=stray|lost"},
    {2, 0,
     "moe.layer_routed:map=1,global=9,tokens=3,top_k=2,experts=4,hidden=64,"
     "inter=64,data=lost"},
    {2, 0, "moe.sort:layout=*,tokens=5,top_k=2,data=stray"},
    {2, 0, "moe.sort:layout=*,local=map,tokens=5,top_k=2,experts=8,data=lost"},
    {2, 0,
     "moe.finalize:source=permuted,tokens=3,slots=2,rows=6,cols=8,data=stray"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,table=1,tokens=3,experts=8,"
     "slots=2,vocabulary=5,top_k=2,data=stray|lost"},
    {2, 0,
     "moe.sort:layout=*,local=map,tokens=5,top_k=2,experts=8,data=astray"},
    {2, 0,
     "moe.sort:layout=*,local=map,tokens=5,top_k=2,experts=7,num_experts=7,"
     "data=astray"},
    {2, 0, "moe.sort:layout=*,tokens=5,top_k=2,data=under"},
    {2, 0,
     "moe.finalize:source=permuted,tokens=3,slots=2,rows=6,cols=8,data=under"},
    {2, 0,
     "moe.finalize:source=permuted,map=1,experts=1|2,tokens=3,slots=2,rows=6,"
     "cols=8,data=stray|under"},
    {2, 0,
     "moe.finalize:map=1,experts=4,tokens=3,slots=2,rows=6,cols=8,"
     "data=astray"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,table=1,tokens=3,experts=8,"
     "slots=2,vocabulary=5,top_k=2,data=under"},
    {2, 0, "act.glu:gather=1,rows=5,cols=8,picks=7,data=stray|under"},
    {2, 0,
     "act.glu:per_expert=limit|all,rows=5,cols=8,experts=3,data=stray|under"},
    {2, 0, "act.glu:per_expert=limit,rows=9,cols=8,experts=3|4|5,data=unfit"},
    {2, 0, "act.glu:per_expert=all,rows=9,cols=8,experts=3|4|5|6|9,data=unfit"},
    {2, 0, "layout.groups:n=1|5|40,align=1|128,data=over"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,rule=compact,align=4,"
     "blocks=0|2,experts=1,rows=9,cols=3,n=1|4,data=over"},
    {2, 0, "layout.groups:n=1|5|40,data=under"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,rule=compact,experts=1,rows=9,"
     "cols=3,n=4,data=under"},
    {2, 0,
     "moe.nvfp4_gemm1:stage=*,tokens=3,topk=2,experts=4,hidden=64,"
     "inter=64,data=stray"},
    {2, 0,
     "moe.nvfp4_gemm2:stage=*,tokens=3,topk=2,experts=4,hidden=64,"
     "inter=64,data=stray"},
    {2, 0,
     "moe.nvfp4_layer:tokens=3,topk=2,experts=4,hidden=64,inter=64,"
     "data=stray"},
    {2, 0,
     "moe.nvfp4_layer:map=1,global=9,tokens=3,topk=2,experts=4,hidden=64,"
     "inter=64,data=stray|lost"},
    {2, 0, "moe.nvfp4_scalars:" OF_EACH ",projections=2,data=unfit"},
    {2, 0,
     "moe.nvfp4_layer:profile=FLASHINFER_TRTLLM_NVFP4|FLASHINFER_CUTLASS_NVFP4,"
     "tokens=3,topk=2," OF_EACH ",hidden=64,inter=32,data=unfit"},
    {2, 0,
     "moe.nvfp4_gemm1:tokens=3,topk=2," OF_TWO
     ",hidden=64,inter=32,data=unfit"},
    {2, 0,
     "moe.nvfp4_gemm2:tokens=3,topk=2," OF_TWO
     ",hidden=64,inter=32,data=unfit"},
    {2, 0,
     "quant.mxfp4_to_nvfp4:k_max=-128|-5|0|127,rows=3|40,cols=96,data=unfit"},
    {2, 0,
     "quant.mxfp4_to_nvfp4:k_max=-128|0|127,lossless=1,rows=3|40,cols=96,"
     "data=unfit"},
    {2, 0, "quant.requant_table:codes=1|5|70,offsets=3,data=unfit"},
    {2, 0,
     "layout.convert:conversion=marlin_fp8,experts=1|2|8|9,inter=64,hidden=128,"
     "bias=*,data=unfit"},
    {2, 0,
     "layout.apply:layout=marlin.scale_a8|marlin_fp8.w2_scale|"
     "marlin.process_scales_a8,dtype=e8m0,dir=*,experts=1|9,rows=96,cols=5,"
     "data=unfit"},
    {2, 0,
     "layout.apply:layout=ggml.nvfp4_scale,dtype=e4m3,dir=inverse,"
     "experts=1|9,rows=5,cols=72,keep_cols=8,data=unfit"},
    {2, 0,
     "layout.apply:layout=deepgemm.pack_ue8m0_to_int|"
     "deepgemm.mn_major_tma_aligned_packed_ue8m0|"
     "deepgemm.k_grouped_packed_ue8m0,dtype=f32,experts=1|2|3|4|8,rows=12,"
     "cols=36,data=unfit"},
    {2, 0,
     "layout.apply:layout=deepgemm.vllm_upcast_e8m0,dtype=f32,dir=inverse,"
     "experts=1|2|3|4|8,rows=12,cols=36,data=unfit"},
    {2, 0,
     "layout.apply:layout=vllm.bias_f32|vllm.bias_f32_deinterleaved|"
     "vllm.bias_f32_interleaved|trtllm_gptoss.w13_bias,dtype=f32,dir=inverse,"
     "experts=1|2|6,rows=128,cols=1,data=unfit"},
    {2, 0,
     "layout.grouped:layout=deepgemm.mn_major_tma_aligned_packed_ue8m0,"
     "dtype=f32,rule=compact,experts=1,rows=9,cols=4,n=3,data=unfit"},
    {2, 0,
     "layout.grouped:layout=deepgemm.mn_major_tma_aligned_packed_ue8m0,"
     "dtype=f32,rule=repeat,gran=128,align=1,experts=1|2|3|4,rows=2,cols=4,"
     "data=unfit"},
    {0, 0, NULL},
};

const case_family cases_bad_input = {"bad_input", fills, grid};
