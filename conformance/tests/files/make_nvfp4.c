/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVFP4 checkpoints for convert_nvfp4.test, of the bytes of a vendor's vector
 * (prepare_static_weights_for_trtllm_fp4_moe), sound and spoiled, and the
 * comparison of a converted one with what the vendor's code made of them.
 *
 *     make_nvfp4 KIND VECTOR OUT           modelopt, unsigned, either with
 *                                          _rank1, ct, fused, llama4, gpt_oss,
 *                                          other, mlx, mlx_global, or a fault
 *     make_nvfp4 is-vendors VECTOR FILE    its weights and block scales
 *     make_nvfp4 is-cutlass VECTOR FILE    weights as they came, scales in the
 *                                          tiles of layouts-flashinfer 2
 *     make_nvfp4 bits FILE TENSOR HEX ..   its binary32 numbers
 */
#include "base/say.h"
#include "convert/checkpoint.h"
#include "files/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { E = 2, I = 64, H = 128 };

/* Of the weights and of the input; of expert e; of gate, up and down. Numbers
   of profiles-nvidia 4.1; the largest input scales are those of the first
   expert's gate and down. */
static const uint32_t modelopt[2][E][3] = {
    {{0x3d3ef01c, 0x3d3ef01c, 0x3f800000},
     {0x40000000, 0x40000000, 0x3f000000}},
    {{0x3b4473c2, 0x3b000000, 0x3dc13608},
     {0x3a800000, 0x3b400000, 0x3d000000}},
};
/* The encode factors: 4, 2; 256, 512; 16, 32. */
static const uint32_t encode[2][E][3] = {
    {{0x40800000, 0x40800000, 0x40800000},
     {0x40000000, 0x40000000, 0x40800000}},
    {{0x43800000, 0x44000000, 0x41800000},
     {0x44000000, 0x44000000, 0x42000000}},
};

typedef struct maker {
    checkpoint vector;
    tensor_set *set;
    const char *kind;
    int is_unsigned; /* no scale has a sign */
} maker;

static int is(const maker *m, const char *kind)
{
    return strcmp(m->kind, kind) == 0;
}

static const checkpoint_tensor *of(const checkpoint *c, const char *name)
{
    const checkpoint_tensor *t = checkpoint_find(c, name);

    if (t == NULL) {
        printf("%s is missing\n", name);
        exit(1);
    }
    return t;
}

static void open_or_exit(const char *path, checkpoint *c)
{
    char text[400] = "";

    if (checkpoint_open(path, c, (mxo_text){text, sizeof text}) != 0) {
        printf("%s\n", text);
        exit(1);
    }
}

static uint8_t *add(maker *m, const char *name, uint32_t dtype, uint32_t rank,
                    uint64_t a, uint64_t b)
{
    const uint64_t shape[3] = {rank == 3 ? E : a, rank == 3 ? a : b, b};
    host_tensor *t;

    if (tensor_set_add(m->set, name, dtype, rank, shape, &t) != MXO_OK) {
        exit(99);
    }
    return t->data;
}

static void put_f32(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(x >> 8 * i);
    }
}

/* The vector's rows are ups, then gates; here those of one projection. */
static const uint8_t *rows_of(const maker *m, int e, int p, int is_scale)
{
    static const char *const names[2][2] = {
        {"in.gemm1_weights", "in.gemm2_weights"},
        {"in.gemm1_scales", "in.gemm2_scales"}};
    const checkpoint_tensor *t = of(&m->vector, names[is_scale][p == 2]);
    const uint64_t each = t->n_bytes / E;

    return t->bytes + (uint64_t)e * each + (p == 0 ? each / 2 : 0);
}

static void add_matrix(maker *m, const char *name, int e, int p, int is_scale)
{
    const int odd = e == 1 && p == 2;
    const uint64_t rows = odd && !is_scale && is(m, "unequal") ? H / 2
                          : p == 2                             ? H
                                                               : I;
    const uint64_t cols = (p == 2 ? I : H) / (is_scale ? 16u : 2u);
    const uint32_t dtype = !is_scale               ? MXO_U8
                           : odd && is(m, "mixed") ? MXO_E8M0
                                                   : MXO_E4M3;

    uint8_t *const to = add(m, name, dtype, 2, rows, cols);

    memcpy(to, rows_of(m, e, p, is_scale), (size_t)(rows * cols));
}

/* Block scales without a sign: bytes, of whatever type. */
static void drop_signs(const maker *m)
{
    for (uint32_t k = 0; k < m->set->n && m->is_unsigned; k++) {
        host_tensor *t = &m->set->t[k];
        for (uint64_t i = 0; strstr(t->name, "scale") != NULL &&
                             t->dtype != MXO_F32 && i < t->n_bytes;
             i++) {
            t->data[i] &= 0x7f;
        }
    }
}

static void add_global(maker *m, const char *name, int e, int p, int input,
                       const uint32_t numbers[2][E][3])
{
    const int last = e == 1 && p == 2;
    uint32_t x = numbers[input][e][p];

    if ((last && !input && is(m, "no-weight-global")) ||
        (last && input && is(m, "no-input-global")) || is(m, "no-globals")) {
        return;
    }
    x += is(m, "halves") && p == 1 && !input;
    x ^= is(m, "unsigned_ct") ? 0x7ffffb : 0;      /* not 1 / (1 / x) */
    x = last && input && is(m, "tiny_ct") ? 1 : x; /* 1 / x is infinite */
    if (last && input && is(m, "negative")) {
        x |= 0x80000000;
    }
    put_f32(add(m, name, MXO_F32,
                strstr(m->kind, "rank1") || strstr(m->kind, "ct"), 1, 0),
            x);
}

static void make_split(maker *m)
{
    static const char *const projections[3] = {"gate_proj", "up_proj",
                                               "down_proj"};
    static const char *const kinds[2][2] = {
        {"weight_scale_2", "input_scale"},
        {"weight_global_scale", "input_global_scale"}};
    const int ct = strstr(m->kind, "ct") != NULL;
    char name[128];

    for (int i = 0; i < E * 3; i++) {
        const int n =
            snprintf(name, sizeof name, "model.layers.3.mlp.experts.%d.%s.",
                     i / 3, projections[i % 3]);
        const size_t room = sizeof name - (size_t)n;
        (void)snprintf(name + n, room, ct ? "weight_packed" : "weight");
        add_matrix(m, name, i / 3, i % 3, 0);
        (void)snprintf(name + n, room, "weight_scale");
        add_matrix(m, name, i / 3, i % 3, 1);
        for (int k = 0; k < 2; k++) {
            (void)snprintf(name + n, room, "%s", kinds[ct][k]);
            add_global(m, name, i / 3, i % 3, k, ct ? encode : modelopt);
        }
    }
    if (is(m, "both")) {
        put_f32(add(m,
                    "model.layers.3.mlp.experts.1.up_proj.input_global_scale",
                    MXO_F32, 0, 1, 0),
                0x3f800000);
    }
}

/* One of the weights or block scales of all experts: gates, then ups. */
static void add_fused(maker *m, int w2, int is_scale)
{
    const uint64_t rows = w2 ? H : 2 * I;
    const uint64_t cols = (w2 ? I : H) / (is_scale ? 16u : 2u);
    char name[64];

    (void)snprintf(name, sizeof name, "m.experts.w%s_weight%s", w2 ? "2" : "13",
                   is_scale ? "_scale" : "");
    uint8_t *to = add(m, name, is_scale ? MXO_E4M3 : MXO_U8, 3, rows, cols);

    for (int e = 0; e < E; e++) {
        for (int p = w2 ? 2 : 0; p < (w2 ? 3 : 2); p++) {
            const uint64_t n = (p == 2 ? H : I) * cols;
            memcpy(to, rows_of(m, e, p, is_scale), (size_t)n);
            to += n;
        }
    }
}

static void make_fused(maker *m)
{
    static const char *const kinds[2] = {"weight_scale_2", "input_scale"};
    char name[64];

    for (int i = 0; i < 4; i++) {
        const int w2 = i / 2;
        const int k = i % 2;
        add_fused(m, w2, k);
        (void)snprintf(name, sizeof name, "m.experts.w%s_%s", w2 ? "2" : "13",
                       kinds[k]);
        const int is_flat = w2 || (k == 1 && is(m, "flat-input"));
        uint8_t *to =
            add(m, name, MXO_F32, is_flat ? 1 : 2, E, is_flat ? 0 : 2);
        for (int n = 0; n < (is_flat ? E : 2 * E); n++) {
            put_f32(to + (size_t)(4 * n),
                    w2 ? modelopt[k][n][2] : modelopt[k][n / 2][n % 2]);
        }
    }
}

/* MLX: words of codes, block scales as bytes, and where asked for a global
   scale that is a tensor's largest magnitude. */
static void make_mlx(maker *m)
{
    static const uint32_t largest[3][E] = {{0x44a80000, 0x3f800000},
                                           {0x44a80000, 0x45a80000},
                                           {0x45280000, 0x44a80000}};
    static const char *const projections[3] = {"gate_proj", "up_proj",
                                               "down_proj"};
    char name[96];

    for (int i = 0; i < 9; i++) {
        const int p = i / 3;
        const int kind = i % 3;
        const uint64_t rows = p == 2 ? H : I;
        const uint64_t cols = p == 2 ? I : H;
        (void)snprintf(name, sizeof name, "m.mlp.experts.%s.%s", projections[p],
                       kind == 0   ? "weight"
                       : kind == 1 ? "scales"
                                   : "global_scale");
        if (kind == 2 && (is(m, "mlx") || (p == 2 && is(m, "mlx-lacks")))) {
            continue;
        }
        const uint64_t n = rows * cols / (kind == 0 ? 2 : 16);
        uint8_t *to = kind == 2   ? add(m, name, MXO_F32, 1, E, 0)
                      : kind == 0 ? add(m, name, MXO_U32, 3, rows, cols / 8)
                                  : add(m, name, MXO_U8, 3, rows, cols / 16);
        for (int e = 0; e < E; e++) {
            if (kind == 2) {
                put_f32(to + (size_t)(4 * e), largest[p][e]);
            } else {
                memcpy(to + (uint64_t)e * n, rows_of(m, e, p, kind), (size_t)n);
            }
        }
    }
}

/* What names say of an export of all experts in one tensor. */
typedef struct export
{
    const char *kind;
    const char *prefix;
    int in_turn;
    int is_biased;
}
export;

/* Weights or scales with the rows on the last axis, as ModelOpt keeps them. */
static void add_transposed(maker *m, const export *x, int w2, int is_scale)
{
    const uint64_t rows = w2 ? H : 2 * I;
    const uint64_t cols = (w2 ? I : H) / (is_scale ? 16u : 2u);
    const int untold = is_scale && w2 && is(m, "byte-scales");
    char name[96];

    (void)snprintf(name, sizeof name, "%s.%s_proj%s", x->prefix,
                   w2 ? "down" : "gate_up", is_scale ? "_weight_scale" : "");
    uint8_t *to =
        add(m, name, is_scale && !untold ? MXO_E4M3 : MXO_U8, 3,
            is(m, "upright") ? rows : cols, is(m, "upright") ? cols : rows);

    for (uint64_t i = 0; i < E * cols * rows; i++) {
        const uint64_t r = i % rows;
        const int p = w2 ? 2 : x->in_turn ? (int)(r % 2) : r >= I;
        const uint64_t row = w2 ? r : x->in_turn ? r / 2 : r % I;
        to[i] = rows_of(m, (int)(i / (rows * cols)), p,
                        is_scale)[row * cols + i / rows % cols];
    }
}

static void make_transposed(maker *m, const export *x)
{
    static const char *const kinds[2] = {"weight_scale_2", "input_scale"};
    char name[96];

    for (int i = 0; i < 4; i++) {
        const int w2 = i / 2;
        add_transposed(m, x, w2, i % 2);
        (void)snprintf(name, sizeof name, "%s.%s_proj_%s", x->prefix,
                       w2 ? "down" : "gate_up", kinds[i % 2]);
        put_f32(add(m, name, MXO_F32, (uint32_t)is(m, "two-globals"), 2, 0),
                modelopt[i % 2][0][w2 ? 2 : 0]);
        (void)snprintf(name, sizeof name, "%s.%s_proj_bias", x->prefix,
                       w2 ? "down" : "gate_up");
        if (i % 2 == 0 && x->is_biased) {
            memset(add(m, name, MXO_BF16, 2, E, w2 ? H : 2 * I), 0x3d,
                   (size_t)(2 * E * (w2 ? H : 2 * I)));
        }
    }
}

static const export *export_of(const char *kind)
{
    static const export rows[] = {
        {"llama4", "l.feed_forward.experts", 0, 0},
        {"gpt_oss", "l.mlp.experts", 1, 1},
        {"other", "l.mlp.experts", 1, 0},
        {"other_halves", "l.mlp.experts", 0, 0},
        {"upright", "l.feed_forward.experts", 0, 0},
        {"byte-scales", "l.feed_forward.experts", 0, 0},
        {"two-globals", "l.feed_forward.experts", 0, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].kind, kind) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static int make(const char *kind, const char *vector, const char *path)
{
    char text[300] = "";
    maker m = {.kind = kind + (strncmp(kind, "unsigned-", 9) == 0 ? 9 : 0),
               .is_unsigned = strncmp(kind, "unsigned", 8) == 0,
               .set = calloc(1, sizeof *m.set)};
    json_t *meta = json_pack("{s:s}", "format", "pt");

    open_or_exit(vector, &m.vector);
    if (m.set == NULL) {
        return 99;
    }
    if (is(&m, "fused") || is(&m, "flat-input")) {
        make_fused(&m);
    } else if (strncmp(m.kind, "mlx", 3) == 0) {
        make_mlx(&m);
    } else if (export_of(m.kind) != NULL) {
        make_transposed(&m, export_of(m.kind));
    } else {
        make_split(&m);
    }
    drop_signs(&m);
    memset(add(&m, "lm_head.weight", MXO_BF16, 2, 3, 5), 0x3e, 30);
    const int bad =
        safetensors_write(path, m.set, meta, (mxo_text){text, 300}) != MXO_OK;

    json_decref(meta);
    return bad;
}

/* What a fused export calls such a tensor. */
static const char *exported(const char *last)
{
    static const char *const names[4][2] = {
        {"w13_weight", "gate_up_proj"},
        {"w13_weight_scale", "gate_up_proj_weight_scale"},
        {"w2_weight", "down_proj"},
        {"w2_weight_scale", "down_proj_weight_scale"}};
    int i = 0;

    while (strcmp(names[i][0], last) != 0) {
        i++;
    }
    return names[i][1];
}

/* Does a tensor of that last name have these bytes? */
static int has_bytes(const checkpoint *c, const char *last, const uint8_t *want,
                     uint64_t n)
{
    for (size_t k = 0; k < c->n; k++) {
        const checkpoint_tensor *t = &c->tensor[k];
        const char *dot = strrchr(t->name, '.');
        if (dot != NULL && (strcmp(dot + 1, last) == 0 ||
                            strcmp(dot + 1, exported(last)) == 0)) {
            return t->n_bytes == n && memcmp(t->bytes, want, (size_t)n) == 0;
        }
    }
    return 0;
}

/* Scales of rows x cols in tiles of 128 x 4, by the formula of
   layouts-flashinfer 2; rows and columns fill whole tiles. */
static void tile_scales(uint8_t *to, const uint8_t *from, uint64_t rows,
                        uint64_t cols)
{
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < cols; c++) {
            to[(r / 128 * (cols / 4) + c / 4) * 512 + r % 32 * 16 +
               r % 128 / 32 * 4 + c % 4] = from[r * cols + c];
        }
    }
}

/* What CUTLASS takes of the vector's input, which already has ups, then gates,
   or what the vendor's code made for trtllm-gen. */
static int is_made(int is_cutlass, const char *vector, const char *path)
{
    static const char *const inputs[4] = {"in.gemm1_weights",
                                          "in.gemm2_weights", "in.gemm1_scales",
                                          "in.gemm2_scales"};
    static const char *const outputs[4] = {
        "out.gemm1_weights", "out.gemm2_weights", "out.gemm1_scales",
        "out.gemm2_scales"};
    static const char *const made[4] = {"w13_weight", "w2_weight",
                                        "w13_weight_scale", "w2_weight_scale"};
    static const uint64_t cols[2] = {H / 16, I / 16};
    uint8_t tiled[E * 2 * I * H / 16];
    checkpoint v;
    checkpoint c;
    int bad = 0;

    open_or_exit(vector, &v);
    open_or_exit(path, &c);
    for (int i = 0; i < 4; i++) {
        const checkpoint_tensor *in =
            of(&v, is_cutlass ? inputs[i] : outputs[i]);
        const uint64_t each = in->n_bytes / E;
        for (uint64_t e = 0; is_cutlass && i >= 2 && e < E; e++) {
            tile_scales(tiled + e * each, in->bytes + e * each,
                        each / cols[i - 2], cols[i - 2]);
        }
        if (!has_bytes(&c, made[i], is_cutlass && i >= 2 ? tiled : in->bytes,
                       in->n_bytes)) {
            printf("%s is not as %s\n", made[i],
                   is_cutlass ? "CUTLASS takes it" : "the vendor's");
            bad = 1;
        }
    }
    return bad;
}

static int is_bits(char **word, int n)
{
    checkpoint c;

    open_or_exit(word[0], &c);
    const checkpoint_tensor *t = of(&c, word[1]);

    if (t->n_bytes != 4 * (uint64_t)(n - 2)) {
        printf("%s has another size\n", word[1]);
        return 1;
    }
    for (int i = 0; i < n - 2; i++) {
        const uint8_t *b = t->bytes + (size_t)(4 * i);
        char hex[9];
        (void)snprintf(hex, sizeof hex, "%02x%02x%02x%02x", b[3], b[2], b[1],
                       b[0]);
        if (strcmp(hex, word[2 + i]) != 0) {
            printf("%s[%d] is %s, not %s\n", word[1], i, hex, word[2 + i]);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && strcmp(argv[1], "bits") == 0) {
        return is_bits(argv + 2, argc - 2);
    }
    if (argc != 4) {
        return 99;
    }
    const int is_cutlass = strcmp(argv[1], "is-cutlass") == 0;

    return is_cutlass || strcmp(argv[1], "is-vendors") == 0
               ? is_made(is_cutlass, argv[2], argv[3])
               : make(argv[1], argv[2], argv[3]);
}
