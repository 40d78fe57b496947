/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints for convert.test: small ones in the real names, damaged ones,
 * and comparisons that share no code with the converter.
 */
#include "base/say.h"
#include "convert/checkpoint.h"
#include "files/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { E = 4, H = 256, I = 128 };

static uint64_t state = 1;

static uint8_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(state >> 56);
}

static void add(tensor_set *set, const char *name, uint32_t dtype,
                uint32_t rank, const uint64_t *shape)
{
    host_tensor *t;

    if (tensor_set_add(set, name, dtype, rank, shape, &t) != MXO_OK) {
        exit(99);
    }
    for (uint64_t i = 0; i < t->n_bytes; i++) {
        /* A bias is finite, a scale below what any loader adds to. */
        const uint8_t byte = draw();
        t->data[i] = dtype == MXO_BF16               ? byte & 0x3f
                     : strstr(name, "scale") != NULL ? byte % 200
                                                     : byte;
    }
}

static int save(const char *path, const tensor_set *set)
{
    char text[300] = "";
    json_t *meta = json_pack("{s:s}", "format", "pt");
    const int bad =
        safetensors_write(path, set, meta, (mxo_text){text, 300}) != MXO_OK;

    json_decref(meta);
    if (bad) {
        fprintf(stderr, "%s\n", text);
    }
    return bad;
}

static void add_layer(tensor_set *set, int layer, const char *damage)
{
    char name[96];
    const int is_odd = strcmp(damage, "odd") == 0;
    const uint64_t experts = is_odd ? E - 1 : E;
    const uint64_t hidden = is_odd ? 384 : H;
    const uint64_t e2 = strcmp(damage, "experts") == 0 ? E - 1 : experts;
    const uint64_t inter = strcmp(damage, "granule") == 0 ? 48 : I;
    const uint64_t w13[] = {experts, 2 * inter, hidden / 32, 16};
    /* "turned" has as many bytes as it should. */
    const uint64_t s13_turned[] = {experts, hidden / 32, 2 * inter};
    const uint64_t s13_plain[] = {
        experts, 2 * inter, strcmp(damage, "scale") == 0 ? 1 : hidden / 32};
    const uint64_t *const s13 =
        strcmp(damage, "turned") == 0 ? s13_turned : s13_plain;
    const uint64_t w2[] = {e2, hidden, inter / 32, 16};
    const uint64_t s2[] = {e2, hidden, inter / 32};
    const char *const names[] = {"gate_up_proj_blocks", "gate_up_proj_scales",
                                 "gate_up_proj_bias",   "down_proj_blocks",
                                 "down_proj_scales",    "down_proj_bias"};
    const uint64_t *const shapes[] = {w13, s13, w13, w2, s2, w2};
    const uint32_t ranks[] = {4, 3, 2, 4, 3, 2};

    for (int i = 0; i < 6; i++) {
        const uint32_t of_bias =
            strcmp(damage, "bias-type") == 0 ? MXO_F16 : MXO_BF16;
        const uint32_t dtype = i % 3 == 2                     ? of_bias
                               : strcmp(damage, "dtype") == 0 ? MXO_I8
                                                              : MXO_U8;
        if ((i == 5 && strcmp(damage, "bias") == 0) ||
            (i == 0 && layer == 1 && strcmp(damage, "blocks") == 0)) {
            continue;
        }
        (void)snprintf(name, sizeof name, "m.%d.mlp.experts.%s", layer,
                       names[i]);
        add(set, name, dtype,
            strcmp(damage, "rank") == 0 && i == 0 ? 2 : ranks[i], shapes[i]);
    }
    const uint64_t other[] = {64, 33};
    (void)snprintf(name, sizeof name,
                   strcmp(damage, "stranger") == 0 ? "m.%d.mlp.experts.zero"
                                                   : "m.%d.attention",
                   layer);
    add(set, name, MXO_F16, 2, other);
}

/* How one expert's tensors are called, and their types. */
typedef struct split_names {
    const char *prefix;
    const char *projection[3];
    const char *weight;
    const char *scale;
    uint32_t weight_type;
    uint32_t scale_type;
} split_names;

static const split_names plain_names = {
    "m.experts", {"w1", "w3", "w2"}, "weight", "weight_scale", MXO_U8, MXO_U8};
static const split_names deepseek_names = {"layers.3.ffn.experts",
                                           {"w1", "w3", "w2"},
                                           "weight",
                                           "scale",
                                           MXO_I8,
                                           MXO_E8M0};
static const split_names kimi_names = {
    "model.layers.1.block_sparse_moe.experts",
    {"w1", "w3", "w2"},
    "weight_packed",
    "weight_scale",
    MXO_U8,
    MXO_U8};
static const split_names quark_names = {"model.layers.1.mlp.experts",
                                        {"gate_proj", "up_proj", "down_proj"},
                                        "weight",
                                        "weight_scale",
                                        MXO_U8,
                                        MXO_U8};

/* A split checkpoint that is not as it should be, or has biases. */
enum { SOUND, ODD_SCALE, BIASED };

/* hole: an expert in between is missing; ODD_SCALE: the last has another type.
 */
static int make_split_as(const char *path, const split_names *names, int hole,
                         int what)
{
    tensor_set *set = calloc(1, sizeof *set);

    for (int e = 0; set != NULL && e < 3; e++) {
        for (int p = 0; p < 3 && e != hole; p++) {
            const int is_odd = what == ODD_SCALE && e == 2 && p == 2;
            char name[128];
            const uint64_t rows = p == 2 ? 128 : 64;
            const uint64_t cols = p == 2 ? 64 : 128;
            const uint64_t w[] = {rows, cols / 2};
            const uint64_t s[] = {rows, cols / 32};
            (void)snprintf(name, sizeof name, "%s.%d.%s.%s", names->prefix, e,
                           names->projection[p], names->weight);
            add(set, name, names->weight_type, 2, w);
            (void)snprintf(name, sizeof name, "%s.%d.%s.%s", names->prefix, e,
                           names->projection[p], names->scale);
            add(set, name, is_odd ? MXO_E4M3 : names->scale_type, 2, s);
            (void)snprintf(name, sizeof name, "%s.%d.%s.bias", names->prefix, e,
                           names->projection[p]);
            if (what == BIASED) {
                add(set, name, MXO_BF16, 1, &rows);
            }
        }
    }
    return set == NULL || save(path, set);
}

static int make_split(const char *path, int hole)
{
    return make_split_as(path, &plain_names, hole, SOUND);
}

/* The two layers of "gpt_oss" in two files and an index. */
static int make_sharded(const char *folder)
{
    json_t *map = json_object();
    int bad = mkdir(folder, 0777) != 0;

    for (int layer = 0; layer < 2 && !bad; layer++) {
        tensor_set *set = calloc(1, sizeof *set);
        char path[512];
        char file[32];
        (void)snprintf(file, sizeof file, "part-%d.safetensors", layer);
        (void)snprintf(path, sizeof path, "%s/%s", folder, file);
        if (set == NULL) {
            return 1;
        }
        add_layer(set, layer, "");
        bad = save(path, set);
        for (uint32_t i = 0; i < set->n; i++) {
            json_object_set_new(map, set->t[i].name, json_string(file));
        }
    }
    char path[512];
    json_t *index = json_pack("{s:o}", "weight_map", map);

    (void)snprintf(path, sizeof path, "%s/model.safetensors.index.json",
                   folder);
    return bad || json_dump_file(index, path, 0) != 0;
}

static int open_or_exit(const char *path, checkpoint *c)
{
    char text[400] = "";

    if (checkpoint_open(path, c, (mxo_text){text, sizeof text}) != 0) {
        printf("%s\n", text);
        exit(1);
    }
    return 1;
}

static int same(const char *a_path, const char *b_path)
{
    checkpoint a;
    checkpoint b;

    (void)open_or_exit(a_path, &a);
    (void)open_or_exit(b_path, &b);
    for (size_t i = 0; i < a.n && a.n == b.n; i++) {
        const checkpoint_tensor *x = &a.tensor[i];
        const checkpoint_tensor *y = &b.tensor[i];
        if (strcmp(x->name, y->name) != 0 || strcmp(x->dtype, y->dtype) != 0 ||
            x->rank != y->rank ||
            memcmp(x->shape, y->shape, sizeof x->shape) != 0 ||
            x->n_bytes != y->n_bytes ||
            memcmp(x->bytes, y->bytes, (size_t)x->n_bytes) != 0) {
            printf("%s differs\n", x->name);
            return 1;
        }
    }
    return a.n != b.n;
}

/* The experts of a quark file as MLX keeps them, or spoilt: a weight left out,
   scales of 16 elements, weights of 8 bits. */
static int stack(const char *from, const char *to, const char *fault)
{
    tensor_set *set = calloc(1, sizeof *set);
    checkpoint c;

    (void)open_or_exit(from, &c);
    for (int i = 0; set != NULL && i < 3 && strcmp(fault, "biased") == 0; i++) {
        const uint64_t shape[] = {3, i == 2 ? 128 : 64};
        char name[128];
        (void)snprintf(name, sizeof name, "%s.%s.bias", quark_names.prefix,
                       quark_names.projection[i]);
        add(set, name, MXO_BF16, 2, shape);
    }
    for (int i = 0; set != NULL && i < 6; i++) {
        const char *projection = quark_names.projection[i / 2];
        const int is_scale = i % 2;
        const int wide = is_scale ? strcmp(fault, "group16") == 0
                                  : strcmp(fault, "bits8") == 0;
        const uint64_t cols = i / 2 == 2 ? 64 : 128;
        const uint64_t shape[] = {3, i / 2 == 2 ? 128 : 64,
                                  (cols / (is_scale ? 32 : 8)) << wide};
        char name[128];

        if (i == 2 && strcmp(fault, "lacks") == 0) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%s.%s.%s", quark_names.prefix,
                       projection, is_scale ? "scales" : "weight");
        add(set, name, is_scale ? MXO_U8 : MXO_U32, 3, shape);
        uint8_t *bytes = set->t[set->n - 1].data;
        for (int e = 0; e < 3 && !wide; e++) {
            (void)snprintf(name, sizeof name, "%s.%d.%s.%s", quark_names.prefix,
                           e, projection,
                           is_scale ? quark_names.scale : quark_names.weight);
            const checkpoint_tensor *t = checkpoint_find(&c, name);
            memcpy(bytes + (uint64_t)e * t->n_bytes, t->bytes,
                   (size_t)t->n_bytes);
        }
    }
    return set == NULL || save(to, set);
}

/* Whether every tensor of a is one of b's: name, type, shape and bytes. */
static int part_of(const char *a_path, const char *b_path)
{
    checkpoint a;
    checkpoint b;

    (void)open_or_exit(a_path, &a);
    (void)open_or_exit(b_path, &b);
    for (size_t i = 0; i < a.n; i++) {
        const checkpoint_tensor *x = &a.tensor[i];
        const checkpoint_tensor *y = checkpoint_find(&b, x->name);
        if (y == NULL || strcmp(x->dtype, y->dtype) != 0 ||
            x->rank != y->rank ||
            memcmp(x->shape, y->shape, sizeof x->shape) != 0 ||
            x->n_bytes != y->n_bytes ||
            memcmp(x->bytes, y->bytes, (size_t)x->n_bytes) != 0) {
            printf("%s differs\n", x->name);
            return 1;
        }
    }
    return a.n == 0;
}

/* Byte k of row r of expert e of a tensor with rows of n bytes. */
static uint8_t at(const checkpoint_tensor *t, uint64_t rows, uint64_t n,
                  uint64_t e, uint64_t r, uint64_t k)
{
    return t->bytes[(e * rows + r) * n + k];
}

static int shards(char **path)
{
    checkpoint c[4];
    const checkpoint_tensor *w13[4];
    const checkpoint_tensor *w2[4];
    const checkpoint_tensor *b2[4];
    int bad = 0;

    for (int i = 0; i < 4; i++) {
        (void)open_or_exit(path[i], &c[i]);
        w13[i] = checkpoint_find(&c[i], "m.0.mlp.experts.gate_up_proj_blocks");
        w2[i] = checkpoint_find(&c[i], "m.0.mlp.experts.down_proj_blocks");
        b2[i] = checkpoint_find(&c[i], "m.0.mlp.experts.down_proj_bias");
    }
    for (uint64_t e = 0; e < E; e++) {
        for (uint64_t r = 0; r < 2 * I; r++) {
            const int rank = r >= I;
            bad |= at(w13[0], 2 * I, H / 2, e, r, 7) !=
                   at(w13[1 + rank], I, H / 2, e, r % I, 7);
        }
        for (uint64_t k = 0; k < I / 2; k++) {
            const int rank = k >= I / 4;
            bad |= at(w2[0], H, I / 2, e, 5, k) !=
                   at(w2[1 + rank], H, I / 4, e, 5, k % (I / 4));
        }
        bad |= e >= 2 &&
               at(w2[0], H, I / 2, e, 9, 3) != at(w2[3], H, I / 2, e - 2, 9, 3);
    }
    bad |= memcmp(b2[0]->bytes, b2[1]->bytes, (size_t)b2[0]->n_bytes) != 0;
    for (uint64_t i = 0; i < b2[2]->n_bytes; i++) {
        bad |= b2[2]->bytes[i] != 0;
    }
    return bad;
}

/* A copy with byte 7f where the first layer's first scales, of a hidden size
   and rows that were rounded up to twice as much, have their pad. */
static int pad(const char *from, const char *to)
{
    static const char name[] = "m.0.mlp.experts.gate_up_proj_scales";
    checkpoint c;

    (void)open_or_exit(from, &c);
    const checkpoint_tensor *t = checkpoint_find(&c, name);
    uint8_t *copy = malloc((size_t)c.file[0].n_bytes);

    if (t == NULL || copy == NULL) {
        free(copy);
        return 1;
    }
    memcpy(copy, c.file[0].map, (size_t)c.file[0].n_bytes);
    for (uint64_t i = 0; i < t->n_bytes; i++) {
        const uint64_t cols = t->shape[2];
        const uint64_t row = i / cols % t->shape[1];
        if (row >= 2 * I || i % cols >= H / 32) {
            copy[(size_t)(t->bytes - c.file[0].map) + i] = 0x7f;
        }
    }
    FILE *f = fopen(to, "wb");
    const size_t n =
        f == NULL ? 0 : fwrite(copy, 1, (size_t)c.file[0].n_bytes, f);

    free(copy);
    return f == NULL || fclose(f) != 0 || n != c.file[0].n_bytes;
}

/* Offset of a scale of row r of so many, in layer number layer. */
static uint64_t offset_of(const char *kind, int layer, uint64_t r,
                          uint64_t rows)
{
    if (strcmp(kind, "same") == 0) {
        return 0;
    }
    if (strcmp(kind, "sorted") == 0) {
        return r * 16 / rows;
    }
    /* "two": one layer of each order */
    return strcmp(kind, "halves") == 0 ||
                   (strcmp(kind, "two") == 0 && layer == 1)
               ? r / (rows / 2) * 2
               : r % 2 * 2;
}

/* Layers whose gates have other scales than their ups, in some order. */
static int make_rows(const char *kind, const char *names, const char *path)
{
    const int is_fused = strcmp(names, "w13") == 0;
    const uint64_t inter = strcmp(kind, "few") == 0 ? 32 : I;
    const uint64_t shapes[4][4] = {{E, 2 * inter, H / 32, 16},
                                   {E, 2 * inter, H / 32, 0},
                                   {E, H, inter / 32, 16},
                                   {E, H, inter / 32, 0}};
    static const char *const suffixes[2][4] = {
        {".mlp.experts.gate_up_proj_blocks", ".mlp.experts.gate_up_proj_scales",
         ".mlp.experts.down_proj_blocks", ".mlp.experts.down_proj_scales"},
        {".w13_weight", ".w13_weight_scale", ".w2_weight", ".w2_weight_scale"}};
    tensor_set *set = calloc(1, sizeof *set);

    for (int i = 0; set != NULL && i < 8; i++) {
        const uint64_t *s = shapes[i % 4];
        const uint64_t plain[3] = {s[0], s[1], i % 2 == 0 ? s[2] * 16 : s[2]};
        char name[96];
        (void)snprintf(name, sizeof name, "m.%d%s", i / 4,
                       suffixes[is_fused][i % 4]);
        add(set, name, MXO_U8, i % 2 == 0 && !is_fused ? 4 : 3,
            is_fused ? plain : s);
        uint8_t *byte = set->t[set->n - 1].data;
        for (uint64_t k = 0; i % 4 == 1 && k < s[0] * s[1] * s[2]; k++) {
            byte[k] = (uint8_t)(110 + draw() % 4 +
                                offset_of(kind, i / 4, k / s[2] % s[1], s[1]));
        }
    }
    return set == NULL || save(path, set);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "pad") == 0) {
        return pad(argv[2], argv[3]);
    }
    if (argc == 5 && strcmp(argv[1], "stack") == 0) {
        return stack(argv[2], argv[3], argv[4]);
    }
    if (argc == 6 && strcmp(argv[1], "shards") == 0) {
        return shards(argv + 2);
    }
    if (argc == 4 && strcmp(argv[1], "same") == 0) {
        return same(argv[2], argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "part") == 0) {
        return part_of(argv[2], argv[3]);
    }
    if (argc == 5 && strcmp(argv[1], "rows") == 0) {
        return make_rows(argv[2], argv[3], argv[4]);
    }
    if (argc != 3) {
        return 99;
    }
    if (strcmp(argv[1], "split") == 0) {
        return make_split(argv[2], -1);
    }
    if (strcmp(argv[1], "hole") == 0) {
        return make_split(argv[2], 1);
    }
    if (strcmp(argv[1], "deepseek") == 0) {
        return make_split_as(argv[2], &deepseek_names, -1, SOUND);
    }
    if (strcmp(argv[1], "kimi") == 0) {
        return make_split_as(argv[2], &kimi_names, -1, SOUND);
    }
    if (strcmp(argv[1], "quark") == 0) {
        return make_split_as(argv[2], &quark_names, -1, SOUND);
    }
    if (strcmp(argv[1], "biased") == 0) {
        return make_split_as(argv[2], &quark_names, -1, BIASED);
    }
    if (strcmp(argv[1], "mixed") == 0) {
        return make_split_as(argv[2], &deepseek_names, -1, ODD_SCALE);
    }
    if (strcmp(argv[1], "sharded") == 0) {
        return make_sharded(argv[2]);
    }
    tensor_set *set = calloc(1, sizeof *set);

    for (int layer = 0; set != NULL && layer < 2; layer++) {
        add_layer(set, layer, argv[1]);
    }
    return set == NULL || save(argv[2], set);
}
