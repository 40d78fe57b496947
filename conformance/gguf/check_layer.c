/* SPDX-License-Identifier: Apache-2.0 */
/* Every layer is checked before a GGUF file is begun. */
#include "base/say.h"
#include "numbers.h"
#include "parse.h"

#include <stdlib.h>
#include <string.h>

/* The way back reads a text of so many numbers. */
enum { MOST_TOLD = 7800 };

/* The number in a prefix such as model.layers.3.mlp; else its place. */
uint64_t gguf_block_number(const moe_layer *l, uint64_t place)
{
    for (const char *p = l->prefix; p != NULL; p = strchr(p, '.')) {
        p += *p == '.';
        const size_t n = strspn(p, "0123456789");
        if (n > 0 && (p[n] == '.' || p[n] == '\0')) {
            return strtoull(p, NULL, 10);
        }
    }
    return place;
}

/* Two layers of one number would be one in GGUF. */
static int check_numbers(const layer_list *layers, mxo_text why)
{
    for (size_t i = 0; i < layers->n; i++) {
        if (gguf_block_number(&layers->layer[i], i) >= GGUF_BLOCKS) {
            (void)say(MXO_E_SHAPE, why,
                      "layer %.300s has a number that no block of GGUF has "
                      "here: over %d",
                      layers->layer[i].prefix, GGUF_BLOCKS - 1);
            return -1;
        }
        for (size_t k = 0; k < i; k++) {
            if (gguf_block_number(&layers->layer[i], i) ==
                gguf_block_number(&layers->layer[k], k)) {
                (void)say(MXO_E_SHAPE, why,
                          "layers %.150s and %.150s have one number, and GGUF "
                          "names blocks by it",
                          layers->layer[k].prefix, layers->layer[i].prefix);
                return -1;
            }
        }
    }
    return 0;
}

/* GGUF's scale bytes have no sign. */
static int check_signs(const checkpoint_tensor *t, mxo_text why)
{
    for (uint64_t i = 0; i < t->n_bytes; i++) {
        if (i % GGUF_STOP_EVERY == 0 && gguf_stopped(why)) {
            return -1;
        }
        if (t->bytes[i] >= 0x80) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s holds the scale byte %02x, whose sign gguf does "
                      "not keep",
                      t->name, t->bytes[i]);
            return -1;
        }
    }
    return 0;
}

static int check_factor(const moe_layer *l, uint64_t e, int projection,
                        int kind, mxo_text why)
{
    const uint32_t bits =
        gguf_factor_of(l->globals, gguf_bits_of(l, e, projection, kind));

    if (bits > 0 && bits < 0x7f800000U) {
        return 0;
    }
    (void)say(
        MXO_E_SHAPE, why,
        "%.300s holds %08x, whose factor in gguf is no number of binary32",
        layer_global_tensor(l, e, projection, kind)->name,
        (unsigned)gguf_bits_of(l, e, projection, kind));
    return -1;
}

/* A factor is a number; the way back reads so many others of a layer. */
static int check_factors(const moe_layer *l, mxo_text why)
{
    const uint64_t kinds = gguf_kinds(l->globals);
    const uint64_t n = l->experts * PROJECTIONS * kinds;

    if (layer_global_of(l, 0, GATE, 0) == NULL) {
        return 0;
    }
    if (gguf_is_told(l->globals) && n > MOST_TOLD) {
        (void)say(MXO_E_SHAPE, why,
                  "gguf takes %d global scales of %s at most: layer %.200s has "
                  "%llu",
                  MOST_TOLD, l->globals->scales, l->prefix,
                  (unsigned long long)n);
        return -1;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / kinds;
        if (check_factor(l, row / PROJECTIONS, (int)(row % PROJECTIONS),
                         (int)(i % kinds), why) != 0) {
            return -1;
        }
    }
    return 0;
}

/* NVFP4 in blocks of 64, and a factor of each expert. */
static int check_nvfp4(const moe_layer *l, mxo_text why)
{
    int bad = check_factors(l, why) != 0;

    if (!bad && (l->hidden % 64 != 0 || l->inter % 64 != 0)) {
        (void)say(MXO_E_SHAPE, why,
                  "gguf takes NVFP4 in blocks of 64: %.300s is of experts of "
                  "%llu x %llu",
                  layer_scale_name(l), (unsigned long long)l->inter,
                  (unsigned long long)l->hidden);
        return -1;
    }
    for (uint64_t i = 0;
         l->style->is_split && !bad && i < l->experts * PROJECTIONS; i++) {
        bad = check_signs(l->split[3 * i + 1], why) != 0;
    }
    if (!l->style->is_split && !bad) {
        bad = check_signs(l->fused[W13_SCALE], why) != 0 ||
              check_signs(l->fused[W2_SCALE], why) != 0;
    }
    return bad ? -1 : 0;
}

int gguf_check_layers(const layer_list *layers, mxo_text why)
{
    for (size_t i = 0; i < layers->n; i++) {
        const moe_layer *l = &layers->layer[i];
        if (layer_check_biases(l, "F32", why) != 0 ||
            (l->group == 16 && check_nvfp4(l, why) != 0)) {
            return -1;
        }
    }
    return layers_check_rows(layers, why) != 0 ? -1
                                               : check_numbers(layers, why);
}
