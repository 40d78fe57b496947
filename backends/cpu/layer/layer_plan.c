/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and tensors of a call of the layer, and which slot is whose. */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

/* So that counts fit 32 bits and bytes of any intermediate 63. */
enum { MOST = INT32_MAX / 64 };

static mxo_status want(const layer *l, const char *name, uint32_t dtype,
                       const uint64_t *shape, uint32_t rank, mxo_text why)
{
    return cpu_want(call_in(l->call, name), name, dtype, rank, shape, why);
}

/* One GEMM's weights, scales and bias. */
static mxo_status read_gemm(layer *l, layer_gemm *g, const char *const *name,
                            mxo_text why)
{
    const uint64_t codes[3] = {l->experts, g->n, g->k / 2};
    const uint64_t scales[3] = {l->experts, g->n, cpu_blocks_of(g->k)};
    const uint64_t one[1] = {1};

    MXO_TRY(want(l, name[0], MXO_U8, codes, 3, why));
    MXO_TRY(want(l, name[1], MXO_E8M0, scales, 3, why));
    if (g->place != LAYER_BIAS_NONE) {
        MXO_TRY(want(l, name[2], cpu_float_dtype(call_text(l->call, "bias")),
                     codes, 2, why));
        g->bias = call_in(l->call, name[2]);
    }
    g->quant.undo = 1;
    if (cpu_layer_is_given(&g->quant)) {
        MXO_TRY(want(l, name[3], MXO_F32, one, 1, why));
        memcpy(&g->quant.scale, cpu_data(call_in(l->call, name[3])),
               sizeof g->quant.scale);
        g->quant.undo = g->quant.op == LAYER_BY_SCALE ? g->quant.scale
                                                      : 1.0f / g->quant.scale;
    }
    if (g->quant.op == LAYER_BY_NVFP4 && g->k % CPU_NVFP4_BLOCK != 0) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "quant.nvfp4 has blocks of 16, no short ones");
    }
    g->codes = cpu_data(call_in(l->call, name[0]));
    g->scale = cpu_data(call_in(l->call, name[1]));
    return MXO_OK;
}

static mxo_status read_input(const layer *l, mxo_text why)
{
    const int is_packed = call_is(l->call, "from", "e2m1");
    const uint64_t x[2] = {l->tokens, is_packed ? l->hidden / 2 : l->hidden};
    const uint64_t scale[2] = {l->tokens, cpu_blocks_of(l->hidden)};
    const uint64_t act[3] = {l->tokens, l->topk, l->inter};
    const uint32_t from = cpu_float_dtype(call_text(l->call, "from"));

    if (!l->has_one) {
        return want(l, "act", from, act, 3, why);
    }
    MXO_TRY(want(l, "x", is_packed ? MXO_U8 : from, x, 2, why));
    return is_packed ? want(l, "x_scale", MXO_E8M0, scale, 2, why) : MXO_OK;
}

static mxo_status read_tensors(layer *l, mxo_text why)
{
    static const char *const first[] = {"w13", "w13_scale", "w13_bias",
                                        "w13_input_scale"};
    static const char *const second[] = {"w2", "w2_scale", "w2_bias",
                                         "w2_input_scale"};
    const uint64_t slots[2] = {l->tokens, l->topk};
    const mxo_tensor *map = call_in(l->call, "expert_map");

    MXO_TRY(want(l, "topk_ids", MXO_I32, slots, 2, why));
    if (l->has_two) {
        MXO_TRY(want(l, "topk_weights", MXO_F32, slots, 2, why));
    }
    if (map != NULL) {
        MXO_TRY(want(l, "expert_map", MXO_I32, map->shape, 1, why));
    }
    MXO_TRY(read_input(l, why));
    if (l->has_one) {
        MXO_TRY(read_gemm(l, &l->one, first, why));
    }
    return l->has_two ? read_gemm(l, &l->two, second, why) : MXO_OK;
}

static mxo_status read_output(const layer *l, mxo_text why)
{
    const layer_type type = l->has_sum   ? l->out
                            : l->has_two ? cpu_layer_leaves(&l->two)
                                         : cpu_layer_leaves(&l->one);
    const uint32_t dtype =
        l->has_glu && !l->has_two ? l->unit.base.to : cpu_layer_dtype(type);
    const uint64_t sum[2] = {l->tokens, l->hidden};
    const uint64_t row[3] = {l->tokens, l->topk,
                             l->has_two   ? l->hidden
                             : l->has_glu ? l->inter
                                          : 2 * l->inter};

    return cpu_want(call_out(l->call, "y"), "y", dtype, l->has_sum ? 2 : 3,
                    l->has_sum ? sum : row, why);
}

static mxo_status read_sizes(layer *l, mxo_text why)
{
    const mxo_tensor *ids = call_in(l->call, "topk_ids");
    const mxo_tensor *w = call_in(l->call, l->has_one ? "w13" : "w2");

    if (ids == NULL || ids->rank != 2 || w == NULL || w->rank != 3 ||
        (l->has_one && w->shape[1] % 2 != 0)) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "topk_ids is a matrix, weights are three dimensions");
    }
    for (int i = 0; i < 3; i++) {
        if (w->shape[i] > MOST || ids->shape[i % 2] > MOST) {
            return cpu_fail(MXO_E_UNSUPPORTED, why,
                            "the cpu backend has no sizes beyond %d", MOST);
        }
    }
    l->tokens = ids->shape[0];
    l->topk = ids->shape[1];
    l->slots = l->tokens * l->topk;
    l->experts = w->shape[0];
    l->hidden = l->has_one ? 2 * w->shape[2] : w->shape[1];
    l->inter = l->has_one ? w->shape[1] / 2 : 2 * w->shape[2];
    l->one.n = 2 * l->inter;
    l->one.k = l->two.n = l->hidden;
    l->two.k = l->inter;
    if (l->topk == 0 || l->experts == 0 || l->slots > MOST) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "tokens, top-k or experts are none or too many");
    }
    return l->has_one && l->has_two && l->inter % 2 != 0
               ? cpu_fail(MXO_E_SHAPE, why,
                          "an odd intermediate size cannot be packed")
               : MXO_OK;
}

mxo_status cpu_layer_read(layer *l, mxo_text why)
{
    MXO_TRY(read_sizes(l, why));
    MXO_TRY(cpu_layer_read_recipe(l, why));
    MXO_TRY(read_tensors(l, why));
    if (l->has_one) {
        MXO_TRY(cpu_layer_read_constants(l, why));
    }
    return read_output(l, why);
}

static int32_t int_at(const mxo_tensor *t, size_t i)
{
    int32_t v;

    memcpy(&v, (const uint8_t *)cpu_data(t) + 4 * i, sizeof v);
    return v;
}

/* The expert of a slot, -1 if it lives elsewhere. */
static mxo_status find_expert(layer *l, size_t i, mxo_text why)
{
    const mxo_tensor *map = call_in(l->call, "expert_map");
    int32_t id = int_at(call_in(l->call, "topk_ids"), i);

    if (id >= 0 && (uint64_t)id >= (map == NULL ? l->experts : map->shape[0])) {
        return cpu_fail(MXO_E_PARAM, why, "topk_ids[%llu] is %d: no expert",
                        (unsigned long long)i, (int)id);
    }
    id = map != NULL && id >= 0 ? int_at(map, (size_t)id) : id;
    if (id >= 0 && (uint64_t)id >= l->experts) {
        return cpu_fail(MXO_E_PARAM, why,
                        "expert_map sends topk_ids[%llu] to %d: no expert",
                        (unsigned long long)i, (int)id);
    }
    l->expert[i] = id < 0 ? -1 : id;
    return MXO_OK;
}

static mxo_status read_absent(layer *l, mxo_text why)
{
    const char *word = cpu_layer_word(l->call, LAYER_ABSENT);

    if (strcmp(word, "refuse") == 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s has no value for an expert that lives elsewhere",
                        call_text(l->call, "profile"));
    }
    l->absent_is_zero = strcmp(word, "zero") == 0;
    return l->absent_is_zero || strcmp(word, "skip") == 0
               ? MXO_OK
               : cpu_fail(MXO_E_UNSUPPORTED, why,
                          "the profile %s does not say absent",
                          call_text(l->call, "profile"));
}

mxo_status cpu_layer_group(layer *l, mxo_text why)
{
    size_t absent = 0;

    l->expert = malloc((l->slots + 1) * sizeof *l->expert);
    l->pair = malloc((l->slots + 1) * sizeof *l->pair);
    l->first = calloc(l->experts + 2, sizeof *l->first);
    if (l->expert == NULL || l->pair == NULL || l->first == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for the slots");
    }
    /* first[e + 2] counts, first[e + 1] is where e's next slot goes. */
    for (size_t i = 0; i < l->slots; i++) {
        MXO_TRY(find_expert(l, i, why));
        if (l->expert[i] >= 0) {
            l->first[l->expert[i] + 2]++;
        } else {
            absent++;
        }
    }
    for (size_t e = 0; e < l->experts; e++) {
        l->first[e + 2] += l->first[e + 1];
    }
    for (size_t i = 0; i < l->slots; i++) {
        if (l->expert[i] >= 0) {
            l->pair[l->first[l->expert[i] + 1]++] = (uint32_t)i;
        }
    }
    return absent > 0 && l->has_sum ? read_absent(l, why) : MXO_OK;
}

void cpu_layer_close(layer *l)
{
    free(l->expert);
    free(l->pair);
    free(l->first);
}
