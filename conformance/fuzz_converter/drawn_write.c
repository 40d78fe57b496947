/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a drawn checkpoint in real names; see drawn.h. */
#include "drawn.h"

#include "base/say.h"
#include "base/tensors.h"
#include "convert/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_ROOM = 256,
    PREFIX_ROOM = 128,
    PATH_ROOM = 4096,
    LARGEST_SCALE = 200
};

/* A checkpoint that is being written. */
typedef struct writer {
    const drawn *d;
    uint64_t seed;
    sink *file; /* owned; one for each file */
    uint64_t n_tensors;
    json_t *map; /* owned: tensor to file */
} writer;

static void file_name(const writer *w, uint64_t i, char name[NAME_ROOM])
{
    const uint64_t n = w->d->field[DRAWN_files];

    if (n == 1) {
        (void)snprintf(name, NAME_ROOM, "model.safetensors");
    } else {
        (void)snprintf(name, NAME_ROOM,
                       "model-%05" PRIu64 "-of-%05" PRIu64 ".safetensors",
                       i + 1, n);
    }
}

/* Tensors are dealt to the files in turn: a layer lies in several. */
static int add(writer *w, const char *name, uint32_t dtype, uint32_t rank,
               const uint64_t *shape)
{
    const uint64_t i = w->n_tensors++ % w->d->field[DRAWN_files];
    uint64_t n = dtype_bytes(dtype);
    char file[NAME_ROOM];

    for (uint32_t k = 0; k < rank; k++) {
        n *= shape[k];
    }
    file_name(w, i, file);
    json_object_set_new(w->map, name, json_string(file));
    return sink_add(&w->file[i], name, dtype_file_name(dtype), rank, shape,
                    n) == SIZE_MAX;
}

static uint32_t weight_type(const drawn *d)
{
    return d->field[DRAWN_signed] ? MXO_I8 : MXO_U8;
}

static uint32_t scale_type(const drawn *d)
{
    return d->field[DRAWN_e8m0] ? MXO_E8M0 : MXO_U8;
}

static uint32_t bias_type(const drawn *d)
{
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};

    return types[d->field[DRAWN_bias_type]];
}

static int add_fused(writer *w, const char *prefix)
{
    const uint64_t *f = w->d->field;
    const name_style *s = w->d->style;
    int bad = 0;

    for (int i = 0; i < LAYER_TENSORS; i++) {
        const uint64_t rows = i < W2 ? 2 * f[DRAWN_inter] : f[DRAWN_hidden];
        const uint64_t cols = i < W2 ? f[DRAWN_hidden] : f[DRAWN_inter];
        const int kind = i % W2;
        const int in_blocks = kind == 0 && s->has_blocks;
        const uint64_t per = in_blocks || kind == 1 ? 32 : 2;
        const uint64_t shape[4] = {f[DRAWN_experts], rows, cols / per, 16};
        char name[NAME_ROOM];
        (void)snprintf(name, sizeof name, "%s%s", prefix, s->fused[i]);
        if (kind != 2 || f[DRAWN_biased]) {
            bad |= add(w, name,
                       kind == 0   ? weight_type(w->d)
                       : kind == 1 ? scale_type(w->d)
                                   : bias_type(w->d),
                       kind == 2   ? 2
                       : in_blocks ? 4
                                   : 3,
                       shape);
        }
    }
    return bad;
}

static int add_split(writer *w, const char *prefix, uint64_t expert)
{
    const uint64_t *f = w->d->field;
    const name_style *s = w->d->style;
    int bad = 0;

    for (int i = 0; i < 9; i++) {
        const int is_down = i / 3 == 2;
        const uint64_t rows = f[is_down ? DRAWN_hidden : DRAWN_inter];
        const uint64_t cols = f[is_down ? DRAWN_inter : DRAWN_hidden];
        const int kind = i % 3;
        const uint64_t shape[2] = {rows, cols / (kind == 1 ? 32 : 2)};
        char name[NAME_ROOM];
        (void)snprintf(name, sizeof name, "%s.%" PRIu64 ".%s.%s", prefix,
                       expert, s->projection[i / 3], s->kind[kind]);
        if (kind != 2 || f[DRAWN_biased]) {
            bad |= add(w, name,
                       kind == 0   ? weight_type(w->d)
                       : kind == 1 ? scale_type(w->d)
                                   : bias_type(w->d),
                       kind == 2 ? 1 : 2, shape);
        }
    }
    return bad;
}

/* As MLX has them: all experts in one tensor, codes in words. */
static int add_stacked(writer *w, const char *prefix)
{
    const uint64_t *f = w->d->field;
    const name_style *s = w->d->style;
    int bad = 0;

    for (int i = 0; i < 9; i++) {
        const int is_down = i / 3 == 2;
        const uint64_t cols = f[is_down ? DRAWN_inter : DRAWN_hidden];
        const int kind = i % 3;
        const uint64_t shape[3] = {f[DRAWN_experts],
                                   f[is_down ? DRAWN_hidden : DRAWN_inter],
                                   cols / (kind == 1 ? 32 : 8)};
        char name[NAME_ROOM];
        (void)snprintf(name, sizeof name, "%s.%s.%s", prefix,
                       s->projection[i / 3], s->kind[kind]);
        if (kind != 2 || f[DRAWN_biased]) {
            bad |= add(w, name,
                       kind == 0   ? MXO_U32
                       : kind == 1 ? MXO_U8
                                   : bias_type(w->d),
                       kind == 2 ? 2 : 3, shape);
        }
    }
    return bad;
}

/* Where a family keeps the experts of a layer. */
static void layer_prefix(const drawn *d, uint64_t layer, char text[PREFIX_ROOM])
{
    static const struct {
        const char *names;
        const char *before;
        const char *after;
    } rows[] = {
        {"gpt_oss", "model.layers.", ""},
        {"gpt_oss_original", "block.", ""},
        {"w1w3", "model.layers.", ".block_sparse_moe.experts"},
        {"w1w3_packed", "model.layers.", ".block_sparse_moe.experts"},
        {"deepseek_v4", "layers.", ".ffn.experts"},
    };
    const char *before = "model.layers.";
    const char *after = ".mlp.experts";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].names, d->style->id) == 0) {
            before = rows[i].before;
            after = rows[i].after;
        }
    }
    (void)snprintf(text, PREFIX_ROOM, "%s%" PRIu64 "%s", before, layer, after);
}

/* Tensors that are no experts: other types, odd sizes, a scalar. */
static int add_extra(writer *w)
{
    static const struct {
        const char *name;
        uint32_t dtype;
        uint32_t rank;
        uint64_t shape[2];
    } rows[] = {
        {"model.embed_tokens.weight", MXO_BF16, 2, {37, 5}},
        {"model.norm.weight", MXO_F32, 1, {33}},
        {"model.layers.0.mlp.router.weight", MXO_BF16, 2, {3, 31}},
        {"model.layers.0.self_attn.sinks", MXO_F16, 1, {7}},
        {"model.step", MXO_I64, 0, {0}},
        {"lm_head.weight", MXO_E4M3, 2, {5, 37}},
        {"model.mask", MXO_BOOL, 1, {3}},
        {"model.layers.0.mlp.shared_expert.weight", MXO_U8, 2, {9, 16}},
    };
    int bad = 0;

    for (uint64_t i = 0; i < w->d->field[DRAWN_extra]; i++) {
        bad |= add(w, rows[i].name, rows[i].dtype, rows[i].rank, rows[i].shape);
    }
    return bad;
}

static int add_all(writer *w)
{
    const uint64_t *f = w->d->field;
    int bad = 0;

    for (uint64_t layer = 0; layer < f[DRAWN_layers]; layer++) {
        char prefix[PREFIX_ROOM];
        layer_prefix(w->d, f[DRAWN_first] + layer, prefix);
        if (!w->d->style->is_split || w->d->style->is_stacked) {
            bad |=
                (w->d->style->is_stacked ? add_stacked : add_fused)(w, prefix);
            continue;
        }
        for (uint64_t e = 0; e < f[DRAWN_experts]; e++) {
            bad |= add_split(w, prefix, e);
        }
    }
    return bad | add_extra(w);
}

/* Byte i of a number of that type which is finite, and one of BF16. */
static uint8_t bias_byte(const char *dtype, uint64_t i, uint8_t byte)
{
    if (strcmp(dtype, "F32") == 0) {
        return i % 4 < 2 ? 0 : i % 4 == 3 ? byte & 0xbf : byte;
    }
    return i % 2 ? byte & 0xbf : strcmp(dtype, "F16") == 0 ? byte & 0xf8 : byte;
}

/* Codes are drawn over all values, scales below what a loader may add to, a
   bias is finite. */
static void fill(const writer *w, const sink_tensor *t, uint8_t *bytes)
{
    const int is_scale = strstr(t->name, "scale") != NULL;
    const int is_bias =
        strcmp(t->dtype, "BF16") == 0 || strstr(t->name, "bias") != NULL;
    const int is_truth = strcmp(t->dtype, "BOOL") == 0;
    prng random;

    prng_seed(&random, seed_of(w->seed, "checkpoint", t->name));
    for (uint64_t i = 0; i < t->n_bytes; i++) {
        const uint8_t byte = (uint8_t)(prng_next(&random) >> 56);
        if (is_scale) {
            bytes[i] = (uint8_t)(byte % LARGEST_SCALE);
        } else if (is_bias) {
            bytes[i] = bias_byte(t->dtype, i, byte);
        } else if (is_truth) {
            bytes[i] = byte & 1;
        } else {
            bytes[i] = byte;
        }
    }
}

static int write_file(const writer *w, sink *s, const char *path, mxo_text why)
{
    json_t *meta = json_pack("{s:s}", "format", "pt");
    int bad = sink_create(s, path, meta, why);

    for (size_t i = 0; i < s->n && !bad; i++) {
        uint8_t *bytes = malloc((size_t)s->tensor[i].n_bytes + 1);
        bad = bytes == NULL;
        if (!bad) {
            fill(w, &s->tensor[i], bytes);
            bad = sink_put(s, i, 0, bytes, s->tensor[i].n_bytes, NULL, why);
        }
        free(bytes);
    }
    json_decref(meta);
    return bad || sink_finish(s, why) != 0;
}

static int write_json(const char *folder, const char *name, json_t *value,
                      mxo_text why)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const int bad = json_dump_file(value, path, JSON_INDENT(1)) != 0;

    json_decref(value);
    if (bad) {
        (void)say(MXO_E_DEVICE, why, "%.300s cannot be written", path);
    }
    return bad;
}

static json_t *config_of(const drawn *d)
{
    const uint64_t *f = d->field;

    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:{s:s}}", "model_type",
                     d->style->id, "num_hidden_layers",
                     (json_int_t)(f[DRAWN_first] + f[DRAWN_layers]),
                     "num_local_experts", (json_int_t)f[DRAWN_experts],
                     "hidden_size", (json_int_t)f[DRAWN_hidden],
                     "intermediate_size", (json_int_t)f[DRAWN_inter],
                     "quantization_config", "quant_method", "mxfp4");
}

int drawn_write(const drawn *d, uint64_t seed, const char *folder, mxo_text why)
{
    const uint64_t n = d->field[DRAWN_files];
    writer w = {d, seed, calloc((size_t)n, sizeof(sink)), 0, json_object()};
    int bad = w.file == NULL || add_all(&w);

    for (uint64_t i = 0; i < n && !bad; i++) {
        char name[NAME_ROOM];
        char path[PATH_ROOM];
        file_name(&w, i, name);
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        bad = w.file[i].n > 0 && write_file(&w, &w.file[i], path, why);
    }
    for (uint64_t i = 0; w.file != NULL && i < n; i++) {
        sink_close(&w.file[i]);
    }
    if (!bad && n > 1) {
        bad = write_json(folder, "model.safetensors.index.json",
                         json_pack("{s:O}", "weight_map", w.map), why);
    }
    bad = bad || write_json(folder, "config.json", config_of(d), why);
    json_decref(w.map);
    free(w.file);
    return bad ? -1 : 0;
}
